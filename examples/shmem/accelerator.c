/* SPDX-License-Identifier: BSD-3-Clause */
/* Accelerator: the program that runs on it, and the two words by which the PE speaks with it. */
#define _GNU_SOURCE
#include "accelerator.h"

#include <math.h>
#include <time.h>

enum { LOADED = 1, STOP = UINT32_MAX, NAP_NS = 1000000 };
#define LATE_S 1e-3

double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

/* ---- the program: of the accelerator's memory it knows all, of the PE's nothing ---- */

static void work(struct job *job, const uint8_t *images, uint8_t *similarities)
{
    uint32_t features[FEATURES];
    for (uint32_t i = 0; i < job->count; i++) {
        features_of(images + (size_t)i * IMAGE_BYTES, features);
        uint32_t similarity = similarity_of(features, job->query);
        memcpy(similarities + (size_t)i * sizeof similarity, &similarity, sizeof similarity);
    }
}

/* A circuit of that rate is done when its time has come. */
static void work_in_time(const struct accelerator *at)
{
    double end_s = now_s() + (at->rate > 0 ? at->job->count / at->rate : INFINITY);
    work(at->job, at->images, at->similarities);
    double left_s = end_s - now_s();
    at->job->late = left_s < -LATE_S;
    if (left_s > 0 && at->rate > 0)
        (void)nanosleep(&(struct timespec){(time_t)left_s, (long)((left_s - (double)(time_t)left_s) * 1e9)}, NULL);
}

static void *program(void *loaded)
{
    const struct accelerator *at = loaded;
    memset(at->images, 0, at->image_bytes); /* else the first images would wait for the system's pages */
    __atomic_store_n(&at->job->done, LOADED, __ATOMIC_RELEASE);
    for (uint32_t last = 0, go; (go = __atomic_load_n(&at->job->go, __ATOMIC_ACQUIRE)) != STOP; last = go) {
        if (go == last) {
            nap();
            continue;
        }
        work_in_time(at);
        __atomic_store_n(&at->job->done, go, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* ---- the PE's side ---- */

bool accelerator_open(struct accelerator *accelerator, const shmemx_space_config_t *kind, uint32_t images,
                      uint32_t used, size_t result_bytes, double rate)
{
    const struct job none = {0};
    shmemx_space_config_t config = *kind;
    config.sheap_size = sizeof none + (size_t)images * IMAGE_BYTES + result_bytes + 4096;
    *accelerator = (struct accelerator){.image_bytes = (size_t)used * IMAGE_BYTES, .rate = rate};
    shmemx_space_create(config, &accelerator->space);
    if (accelerator->space == SHMEMX_SPACE_INVALID)
        return false;
    accelerator->job = shmemx_space_malloc(accelerator->space, sizeof none);
    accelerator->images = shmemx_space_malloc(accelerator->space, (size_t)images * IMAGE_BYTES);
    accelerator->similarities = shmemx_space_malloc(accelerator->space, result_bytes);
    if (!accelerator->job || !accelerator->images || !accelerator->similarities)
        return false;
    shmem_putmem(accelerator->job, &none, sizeof none, shmem_my_pe());
    if (pthread_create(&accelerator->program, NULL, program, accelerator) != 0)
        return false;
    (void)accelerator_wait(accelerator, LOADED);
    return true;
}

void accelerator_close(struct accelerator *accelerator)
{
    accelerator_go(accelerator, STOP);
    (void)pthread_join(accelerator->program, NULL);
    shmemx_space_destroy(accelerator->space);
}

void accelerator_go(const struct accelerator *accelerator, uint32_t number)
{
    shmem_putmem(&accelerator->job->go, &number, sizeof number, shmem_my_pe());
}

bool accelerator_wait(const struct accelerator *accelerator, uint32_t number)
{
    uint32_t words[2]; /* done and late */
    for (;;) {
        shmem_getmem(words, &accelerator->job->done, sizeof words, shmem_my_pe());
        if (words[0] == number)
            return words[1] != 0;
        nap();
    }
}
