/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Says what the mapping gave each rank: mapped [RANK:WORD ...]
 *
 *     hidden=LIST   the rank's CUDA_VISIBLE_DEVICES, set before anything else
 *     before=N      it has a context on device N before MPI_Init
 *     chooses=N     it chooses device N after that, as cudaSetDevice does
 *
 * A line a rank: the device on which the CUDA runtime would work in the first thread, in one that started before
 * MPI_Init, in two that started after it and in one of the driver's; processors; what of the environment is ours. The
 * runtime works on the current context's device, else on device 0, "0!" here.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

struct context;

static struct {
    int (*init)(unsigned flags);
    int (*current)(struct context **context);
    int (*set)(struct context *context);
    int (*device)(int *device);
    int (*bus)(char *text, int size, int device);
    int (*retain)(struct context **context, int device);
} cuda;

static void find(void *driver, const char *name, void *slot)
{
    void *found = driver ? dlsym(driver, name) : NULL;
    memcpy(slot, &found, sizeof found);
}

static void load(void)
{
    const char *named = getenv("HOPCAST_CUDA_LIBRARY");
    void *driver = dlopen(named ? named : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver && getenv("HOPCAST_HIP_LIBRARY")) /* the stand-in is both */
        driver = dlopen(getenv("HOPCAST_HIP_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    find(driver, "cuInit", &cuda.init);
    find(driver, "cuCtxGetCurrent", &cuda.current);
    find(driver, "cuCtxSetCurrent", &cuda.set);
    find(driver, "cuCtxGetDevice", &cuda.device);
    find(driver, "cuDeviceGetPCIBusId", &cuda.bus);
    find(driver, "cuDevicePrimaryCtxRetain", &cuda.retain);
    if (cuda.init && cuda.init(0) != 0)
        cuda.init = NULL;
}

struct seen {
    char bus[32];
};

static void look(struct seen *seen)
{
    struct context *context = NULL;
    int device = 0;
    (void)snprintf(seen->bus, sizeof seen->bus, "none");
    if (!cuda.init || cuda.current(&context) != 0)
        return;
    if (context && cuda.device(&device) == 0)
        (void)cuda.bus(seen->bus, (int)sizeof seen->bus, device);
    else
        (void)snprintf(seen->bus, sizeof seen->bus, "0!");
}

/* As cudaSetDevice. */
static void choose(int device)
{
    struct context *context = NULL;
    if (!cuda.init || cuda.retain(&context, device) != 0 || cuda.set(context) != 0)
        (void)fprintf(stderr, "device %d cannot be chosen\n", device);
}

static void *in_thread(void *seen)
{
    look(seen);
    return NULL;
}

static int in_standard_thread(void *seen)
{
    look(seen);
    return 0;
}

static pthread_barrier_t after_init;

static void *in_old_thread(void *seen)
{
    (void)pthread_barrier_wait(&after_init);
    MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    look(seen);
    return NULL;
}

/* "3:hidden=2,5" among the words; NULL: nothing for this rank. */
static const char *word_of(char **words, const char *rank, const char *key)
{
    char begins[64];
    int length = snprintf(begins, sizeof begins, "%s:%s=", rank, key);
    for (; *words; words++) {
        if (strncmp(*words, begins, (size_t)length) == 0)
            return *words + length;
    }
    return NULL;
}

static void list_processors(char *text, size_t size)
{
    cpu_set_t set;
    size_t used = 0;
    (void)sched_getaffinity(0, sizeof set, &set);
    text[0] = '\0';
    for (int i = 0; i < CPU_SETSIZE && used + 8 < size; i++) {
        if (CPU_ISSET(i, &set))
            used += (size_t)snprintf(text + used, size - used, "%s%d", used ? "," : "", i);
    }
}

int main(int count, char **words)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
    const char *hidden = word_of(words, rank ? rank : "0", "hidden"),
               *before = word_of(words, rank ? rank : "0", "before"),
               *chooses = word_of(words, rank ? rank : "0", "chooses");
    struct seen first, old, new, standard;
    char processors[256];
    pthread_t threads[2];
    thrd_t third;
    int level, own;
    if (hidden)
        (void)setenv("CUDA_VISIBLE_DEVICES", hidden, 1);
    if (before) {
        load();
        choose(atoi(before));
    }
    (void)pthread_barrier_init(&after_init, NULL, 2);
    (void)pthread_create(&threads[0], NULL, in_old_thread, &old);
    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    load();
    if (chooses)
        choose(atoi(chooses));
    look(&first);
    (void)pthread_barrier_wait(&after_init);
    (void)pthread_join(threads[0], NULL);
    (void)pthread_create(&threads[1], NULL, in_thread, &new);
    (void)pthread_join(threads[1], NULL);
    (void)thrd_create(&third, in_standard_thread, &standard);
    (void)thrd_join(third, NULL);
    list_processors(processors, sizeof processors);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    (void)printf("rank %d first %s old %s new %s standard %s processors %s nic %s visible %s\n", own, first.bus,
                 old.bus, new.bus, standard.bus, processors,
                 getenv("UCX_NET_DEVICES") ? getenv("UCX_NET_DEVICES") : "-",
                 getenv("CUDA_VISIBLE_DEVICES") ? getenv("CUDA_VISIBLE_DEVICES") : "-");
    (void)fflush(stdout);
    MPI_Finalize();
    return 0;
}
