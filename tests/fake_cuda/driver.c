/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stand-in for the drivers of GPUs, for tests on machines without one: HOPCAST_CUDA_LIBRARY or HOPCAST_HIP_LIBRARY names
 * it, and it has the functions of both.
 *
 * It does what the driver's documentation says of the functions that hopcast calls, and refuses what that refuses:
 * calls without a current context or after a fork, addresses that are not mapped, handles opened in the process that
 * made them, memory and events of devices that this one has no access to. What the documentation calls undefined ends the
 * process: memory that is freed while others have it open, events that are used after their maker destroyed them.
 *
 *     devices         eight, four on each of two sockets; the driver's order is not that of their bus ids
 *     device memory   memfd mappings, so that other processes can map them too; their addresses carry a bit that makes
 *                     the processor fault, because device memory is not for it to touch
 *     stream          a thread with a queue; before each piece of work it may sleep, so that what does not wait is seen
 *     event           two counters in shared memory: records made, records that have been reached
 *     kernel          the real source, run on the processor (kernels.cc)
 *
 * Environment, read by cuInit:
 *
 *     HOPCAST_FAKE_CUDA_FAIL     "cuMemAlloc:2=2": the second call of it returns 2; "work:3=700": the third piece of
 *                                work fails, and the context with it; several after commas
 *     HOPCAST_FAKE_CUDA_SEED     of the delays
 *     HOPCAST_FAKE_CUDA_DELAY    microseconds at most, default 200
 *     HOPCAST_FAKE_CUDA_LATE     microseconds that one piece of work in 16 begins late, whatever waits for it; default 0
 *     HOPCAST_FAKE_CUDA_REFUSED  pairs without access, "0>1,1>0": device 0, by its bus id, has none to memory of 1;
 *                                "sockets": none to the other socket
 *     HOPCAST_FAKE_CUDA_STREAMS  that a device may have, default 8: there is a queue for each
 *     HOPCAST_FAKE_CUDA_EVENTS   that a process may have at a time, default 100000
 *     HOPCAST_FAKE_CUDA_SHARED   how many of those may be shared between processes, default 100000
 *     CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES   "4,5": those of the driver's order, in this one
 *
 * fake_cuda_live() counts the objects not given back, fake_cuda_call() the calls of each function, fake_cuda_failed() names
 * the last function that failed because it was told to, and fake_cuda_pinned() is the memory of the host that was
 * registered first of all that is.
 */
#include "device/gpu_driver.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

#define API __attribute__((visibility("default")))
#define DEVICE_BIT ((uintptr_t)1 << 62)
#define MEMORY_BYTES ((size_t)1 << 30)
#define PAGE 4096
enum { DEVICES = 8, SOCKET = 4, PROCESSORS = 2, FAULTS = 8, DEPTH = 16, FUNCTIONS = 64 };

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    UNMAPPABLE = 205,
    PEER_UNSUPPORTED = 217,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    PEER_ALREADY_ENABLED = 704,
    HOST_ALREADY_REGISTERED = 712,
    HOST_NOT_REGISTERED = 713,
    MISALIGNED_ADDRESS = 716,
};

/* ---- objects ---- */

struct hop_gpu_context {
    int device, retained;
    size_t used_bytes;
    bool peer[DEVICES];
    atomic_int error; /* sticky */
};
static struct hop_gpu_context contexts[DEVICES]; /* by bus ids */
static const unsigned char buses[DEVICES] = {0x07, 0x0f, 0x47, 0x4e, 0x87, 0x90, 0xb7, 0xbd};
static int visible[DEVICES], visible_count; /* the devices that this process sees, in the driver's order */
static bool refused[DEVICES][DEVICES];
static _Thread_local struct hop_gpu_context *stack[DEPTH];
static _Thread_local int depth;

enum range_kind { ALLOCATED, IMPORTED, HOST };
struct range {
    struct range *next;
    struct hop_gpu_context *context;
    enum range_kind kind;
    uintptr_t address;
    size_t size;
    int file, opened;
    ino_t inode;
    atomic_int *importers; /* shared: behind the memory */
};

struct marks { /* of an event, in shared memory */
    atomic_ullong recorded, reached;
    atomic_bool destroyed; /* by its maker */
    double reached_s;
};
struct hop_gpu_event {
    struct hop_gpu_context *context;
    struct marks *marks;
    int file; /* -1: not for other processes */
    bool imported;
    unsigned flags;
    atomic_int references; /* the user's, and the work's in which it stands */
};

enum work_kind { COPY, SET, KERNEL, RECORD, WAIT };
struct work {
    struct work *next;
    enum work_kind kind;
    uintptr_t to, from;
    size_t size;
    void *staged; /* freed at the end */
    unsigned char value;
    struct hop_gpu_function *function;
    struct hop_gpu_reduction reduction;
    unsigned blocks, threads;
    struct hop_gpu_event *event;
    unsigned long long mark;
};
struct hop_gpu_stream {
    struct hop_gpu_stream *next;
    struct hop_gpu_context *context;
    pthread_t thread;
    struct work *first, *last;
    pthread_cond_t queued;
    bool busy, stopping;
    unsigned random;
};

struct hop_gpu_module {
    int unused;
};
struct hop_gpu_function {
    fake_kernel *kernel;
    unsigned element;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of everything but what is atomic */
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;    /* a stream has done all its work */
static struct range *ranges;
static struct hop_gpu_stream *streams;
static int live, events, shared_events;
static bool initialized, forked; /* here, and by a process that this one comes from */
static unsigned seed, delay_us = 200, late_us;
static int events_most = 100000, shared_most = 100000, streams_most = 8;
static struct fault {
    char name[48];
    int countdown, code;
} faults[FAULTS];
static struct calls {
    const char *name;
    unsigned made;
} calls[FUNCTIONS];
static const char *failed;

API int fake_cuda_live(void);
API const char *fake_cuda_call(unsigned function, unsigned *made);
API const char *fake_cuda_failed(void);
API void *fake_cuda_pinned(void);

API int fake_cuda_live(void)
{
    (void)pthread_mutex_lock(&mutex);
    int count = live;
    (void)pthread_mutex_unlock(&mutex);
    return count;
}

/* In the order of their first calls; NULL past the last. */
API const char *fake_cuda_call(unsigned function, unsigned *made)
{
    *made = function < FUNCTIONS ? calls[function].made : 0;
    return function < FUNCTIONS ? calls[function].name : NULL;
}

API const char *fake_cuda_failed(void)
{
    return failed;
}

API void *fake_cuda_pinned(void)
{
    uintptr_t pinned = 0;
    (void)pthread_mutex_lock(&mutex);
    for (const struct range *r = ranges; r; r = r->next)
        pinned = r->kind == HOST ? r->address : pinned;
    (void)pthread_mutex_unlock(&mutex);
    return (void *)pinned;
}

static void alive(int more)
{
    (void)pthread_mutex_lock(&mutex);
    live += more;
    (void)pthread_mutex_unlock(&mutex);
}

static void undefined(const char *what)
{
    (void)fprintf(stderr, "stand-in for the driver: undefined: %s\n", what);
    abort();
}

/* ---- what every call begins with ---- */

static int injected(const char *name)
{
    int code = SUCCESS, place = 0;
    (void)pthread_mutex_lock(&mutex);
    while (place + 1 < FUNCTIONS && calls[place].name && calls[place].name != name)
        place++;
    calls[place].name = name;
    calls[place].made++;
    for (int i = 0; i < FAULTS; i++) {
        if (faults[i].countdown > 0 && strcmp(faults[i].name, name) == 0 && --faults[i].countdown == 0)
            code = faults[i].code;
    }
    if (code != SUCCESS)
        failed = name;
    (void)pthread_mutex_unlock(&mutex);
    return code;
}

static int begin(const char *name)
{
    return initialized ? injected(name) : NOT_INITIALIZED;
}

static int begin_in_context(const char *name)
{
    int code = begin(name);
    if (code != SUCCESS)
        return code;
    if (depth == 0)
        return INVALID_CONTEXT;
    return atomic_load(&stack[depth - 1]->error);
}

#define BEGIN(name)                                                                                                    \
    do {                                                                                                               \
        int begun = begin(name);                                                                                       \
        if (begun != SUCCESS)                                                                                          \
            return begun;                                                                                              \
    } while (0)
#define BEGIN_IN_CONTEXT(name)                                                                                         \
    do {                                                                                                               \
        int begun = begin_in_context(name);                                                                            \
        if (begun != SUCCESS)                                                                                          \
            return begun;                                                                                              \
    } while (0)

static struct hop_gpu_context *current(void)
{
    return stack[depth - 1];
}

static void read_faults(const char *text)
{
    for (int i = 0; i < FAULTS && text && *text; i++) {
        if (sscanf(text, "%47[^:]:%d=%d", faults[i].name, &faults[i].countdown, &faults[i].code) != 3)
            abort();
        text = strchr(text, ',');
        text = text ? text + 1 : NULL;
    }
}

static unsigned read_number(const char *variable, unsigned otherwise)
{
    const char *text = getenv(variable);
    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void read_refused(const char *text)
{
    for (int a = 0; a < DEVICES; a++) {
        for (int b = 0; b < DEVICES; b++)
            refused[a][b] = text && strcmp(text, "sockets") == 0 && a / SOCKET != b / SOCKET;
    }
    for (unsigned a, b; text && sscanf(text, "%u>%u", &a, &b) == 2;
         text = strchr(text, ',') ? strchr(text, ',') + 1 : "")
        refused[a % DEVICES][b % DEVICES] = true;
}

/* The driver's order has each two neighbours the other way round. */
static void read_visible(void)
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES") ? getenv("CUDA_VISIBLE_DEVICES") : getenv("HIP_VISIBLE_DEVICES");
    visible_count = 0;
    for (int i = 0; !text && i < DEVICES; i++)
        visible[visible_count++] = i ^ 1;
    while (text && *text >= '0' && *text < '0' + DEVICES && visible_count < DEVICES) {
        visible[visible_count++] = (*text - '0') ^ 1;
        text += text[1] == ',' ? 2 : 1;
    }
}

static void forget(void)
{
    initialized = false;
    forked = true;
}

API int cuInit(unsigned flags);
API int cuInit(unsigned flags)
{
    if (flags != 0)
        return INVALID_VALUE;
    if (initialized || forked)
        return initialized ? SUCCESS : NOT_INITIALIZED;
    seed = read_number("HOPCAST_FAKE_CUDA_SEED", 1);
    delay_us = read_number("HOPCAST_FAKE_CUDA_DELAY", 200);
    late_us = read_number("HOPCAST_FAKE_CUDA_LATE", 0);
    streams_most = (int)read_number("HOPCAST_FAKE_CUDA_STREAMS", 8);
    events_most = (int)read_number("HOPCAST_FAKE_CUDA_EVENTS", 100000);
    shared_most = (int)read_number("HOPCAST_FAKE_CUDA_SHARED", 100000);
    read_refused(getenv("HOPCAST_FAKE_CUDA_REFUSED"));
    read_visible();
    read_faults(getenv("HOPCAST_FAKE_CUDA_FAIL"));
    for (int i = 0; i < DEVICES; i++)
        contexts[i].device = i;
    (void)pthread_atfork(NULL, NULL, forget);
    initialized = true;
    return injected("cuInit");
}

API int cuGetErrorName(int code, const char **text);
API int cuGetErrorName(int code, const char **text)
{
    static const struct {
        int code;
        const char *name;
    } names[] = {{1, "CUDA_ERROR_INVALID_VALUE"},       {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                 {3, "CUDA_ERROR_NOT_INITIALIZED"},     {201, "CUDA_ERROR_INVALID_CONTEXT"},
                 {400, "CUDA_ERROR_INVALID_HANDLE"},    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                 {716, "CUDA_ERROR_MISALIGNED_ADDRESS"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].code == code) {
            *text = names[i].name;
            return SUCCESS;
        }
    }
    *text = NULL;
    return INVALID_VALUE;
}

API int cuGetErrorString(int code, const char **text);
API int cuGetErrorString(int code, const char **text)
{
    *text = "as the stand-in for the driver says";
    return code >= 0 ? SUCCESS : INVALID_VALUE;
}

/* ---- devices and contexts ---- */

API int cuDeviceGetCount(int *count);
API int cuDeviceGetCount(int *count)
{
    BEGIN("cuDeviceGetCount");
    *count = visible_count;
    return SUCCESS;
}

API int cuDeviceGet(int *device, int ordinal);
API int cuDeviceGet(int *device, int ordinal)
{
    BEGIN("cuDeviceGet");
    if (ordinal < 0 || ordinal >= visible_count)
        return INVALID_DEVICE;
    *device = ordinal;
    return SUCCESS;
}

API int cuDeviceGetName(char *name, int size, int device);
API int cuDeviceGetName(char *name, int size, int device)
{
    BEGIN("cuDeviceGetName");
    if (device < 0 || device >= visible_count)
        return INVALID_DEVICE;
    (void)snprintf(name, (size_t)size, "Stand-in %d", visible[device]);
    return SUCCESS;
}

API int cuDeviceGetPCIBusId(char *text, int size, int device);
API int cuDeviceGetPCIBusId(char *text, int size, int device)
{
    BEGIN("cuDeviceGetPCIBusId");
    if (!text || size < 13 || device < 0 || device >= visible_count)
        return INVALID_VALUE;
    (void)snprintf(text, (size_t)size, "0000:%02X:00.0", buses[visible[device]]);
    return SUCCESS;
}

API int cuDeviceCanAccessPeer(int *can, int device, int peer);
API int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    BEGIN("cuDeviceCanAccessPeer");
    if (device < 0 || device >= visible_count || peer < 0 || peer >= visible_count)
        return INVALID_DEVICE;
    *can = device != peer && !refused[visible[device]][visible[peer]];
    return SUCCESS;
}

API int cuDeviceGetAttribute(int *value, int attribute, int device);
API int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    BEGIN("cuDeviceGetAttribute");
    if (device < 0 || device >= visible_count)
        return INVALID_DEVICE;
    switch (attribute) { /* CUDA's numbers, and HIP's */
    case 16:
    case 63:
        *value = PROCESSORS;
        return SUCCESS;
    case 40:
        *value = 2;
        return SUCCESS;
    case 41:
    case 125:
        *value = 1;
        return SUCCESS;
    case 134:
        *value = visible[device] / SOCKET;
        return SUCCESS;
    default:
        return INVALID_VALUE;
    }
}

API int cuDeviceTotalMem_v2(size_t *bytes, int device);
API int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    BEGIN("cuDeviceTotalMem");
    (void)device;
    *bytes = MEMORY_BYTES;
    return SUCCESS;
}

API int cuDevicePrimaryCtxRetain(struct hop_gpu_context **context, int device);
API int cuDevicePrimaryCtxRetain(struct hop_gpu_context **context, int device)
{
    BEGIN("cuDevicePrimaryCtxRetain");
    if (device < 0 || device >= visible_count)
        return INVALID_DEVICE;
    (void)pthread_mutex_lock(&mutex);
    contexts[visible[device]].retained++;
    live++;
    (void)pthread_mutex_unlock(&mutex);
    *context = &contexts[visible[device]];
    return SUCCESS;
}

API int cuDevicePrimaryCtxRelease_v2(int device);
API int cuDevicePrimaryCtxRelease_v2(int device)
{
    BEGIN("cuDevicePrimaryCtxRelease");
    if (device < 0 || device >= visible_count)
        return INVALID_DEVICE;
    (void)pthread_mutex_lock(&mutex);
    int held = contexts[visible[device]].retained;
    contexts[visible[device]].retained -= held > 0;
    live -= held > 0;
    (void)pthread_mutex_unlock(&mutex);
    return held > 0 ? SUCCESS : INVALID_CONTEXT;
}

API int cuCtxPushCurrent_v2(struct hop_gpu_context *context);
API int cuCtxPushCurrent_v2(struct hop_gpu_context *context)
{
    BEGIN("cuCtxPushCurrent");
    if (!context || depth == DEPTH)
        return INVALID_VALUE;
    (void)pthread_mutex_lock(&mutex);
    bool retained = context->retained > 0;
    (void)pthread_mutex_unlock(&mutex);
    if (!retained)
        return INVALID_CONTEXT;
    stack[depth++] = context;
    return SUCCESS;
}

API int cuCtxPopCurrent_v2(struct hop_gpu_context **context);
API int cuCtxPopCurrent_v2(struct hop_gpu_context **context)
{
    BEGIN("cuCtxPopCurrent");
    if (depth == 0)
        return INVALID_CONTEXT;
    *context = stack[--depth];
    return SUCCESS;
}

API int cuCtxGetCurrent(struct hop_gpu_context **context);
API int cuCtxGetCurrent(struct hop_gpu_context **context)
{
    BEGIN("cuCtxGetCurrent");
    *context = depth > 0 ? current() : NULL;
    return SUCCESS;
}

/* In place of the one on top; NULL takes that away. */
API int cuCtxSetCurrent(struct hop_gpu_context *context);
API int cuCtxSetCurrent(struct hop_gpu_context *context)
{
    BEGIN("cuCtxSetCurrent");
    depth -= depth > 0;
    return context ? cuCtxPushCurrent_v2(context) : SUCCESS;
}

API int cuCtxGetDevice(int *device);
API int cuCtxGetDevice(int *device)
{
    BEGIN_IN_CONTEXT("cuCtxGetDevice");
    for (*device = 0; *device < visible_count && visible[*device] != current()->device;)
        ++*device;
    return SUCCESS;
}

API int cuCtxEnablePeerAccess(struct hop_gpu_context *peer, unsigned flags);
API int cuCtxEnablePeerAccess(struct hop_gpu_context *peer, unsigned flags)
{
    BEGIN_IN_CONTEXT("cuCtxEnablePeerAccess");
    if (flags != 0)
        return INVALID_VALUE;
    if (!peer || peer == current())
        return INVALID_CONTEXT;
    if (refused[current()->device][peer->device])
        return PEER_UNSUPPORTED;
    (void)pthread_mutex_lock(&mutex);
    bool enabled = current()->peer[peer->device];
    current()->peer[peer->device] = true;
    (void)pthread_mutex_unlock(&mutex);
    return enabled ? PEER_ALREADY_ENABLED : SUCCESS;
}

/* ---- streams ---- */

static void event_drop(struct hop_gpu_event *event)
{
    if (atomic_fetch_sub(&event->references, 1) > 1)
        return;
    (void)munmap(event->marks, PAGE);
    if (event->file >= 0)
        (void)close(event->file);
    free(event);
}

static void pause_a_little(struct hop_gpu_stream *stream)
{
    stream->random = stream->random * 1664525u + 1013904223u;
    if (late_us > 0 && (stream->random >> 12 & 15) == 0)
        (void)usleep(late_us);
    if (delay_us > 0 && (stream->random >> 16 & 1))
        (void)usleep((stream->random >> 17) % (delay_us + 1));
}

static void fail_context(struct hop_gpu_context *context, int code)
{
    int none = SUCCESS;
    (void)atomic_compare_exchange_strong(&context->error, &none, code);
}

/* The processor's address of bytes that kernels of this context may use; 0: none. */
static uintptr_t kernel_address(const struct hop_gpu_context *context, uintptr_t address, size_t size)
{
    uintptr_t found = 0;
    if (!(address & DEVICE_BIT))
        return 0;
    address &= ~DEVICE_BIT;
    (void)pthread_mutex_lock(&mutex);
    for (const struct range *r = ranges; r; r = r->next) {
        if (r->kind != HOST && address >= r->address && size <= r->size && address - r->address <= r->size - size &&
            (r->context == context || context->peer[r->context->device]))
            found = address;
    }
    (void)pthread_mutex_unlock(&mutex);
    return found;
}

static int run_kernel(const struct hop_gpu_context *context, struct work *work)
{
    struct hop_gpu_reduction *r = &work->reduction;
    const size_t element = work->function->element;
    for (unsigned i = 0; i < r->input_count + r->output_count; i++) {
        const void **place = i < r->input_count ? &r->inputs[i] : (const void **)&r->outputs[i - r->input_count];
        uintptr_t address = kernel_address(context, (uintptr_t)*place, r->count * element);
        if (!address)
            return ILLEGAL_ADDRESS;
        if (address % element != 0 || (r->vectors && (address + r->head * element) % HOP_GPU_VECTOR_BYTES != 0))
            return MISALIGNED_ADDRESS;
        *place = (const void *)address;
    }
    fake_kernel_run(work->function->kernel, work->blocks, work->threads, r);
    return SUCCESS;
}

static void perform(struct hop_gpu_stream *stream, struct work *work)
{
    struct hop_gpu_context *context = stream->context;
    int code = injected("work");
    pause_a_little(stream);
    if (atomic_load(&context->error) != SUCCESS)
        return;
    if (code == SUCCESS && work->kind == COPY)
        memmove((void *)work->to, (const void *)work->from, work->size);
    else if (code == SUCCESS && work->kind == SET)
        memset((void *)work->to, work->value, work->size);
    else if (code == SUCCESS && work->kind == KERNEL)
        code = run_kernel(context, work);
    while (work->kind == WAIT && atomic_load(&work->event->marks->reached) < work->mark &&
           atomic_load(&context->error) == SUCCESS)
        (void)usleep(20);
    if (code != SUCCESS)
        fail_context(context, code);
    else if (work->kind == RECORD) {
        struct timespec now;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        unsigned long long reached = atomic_load(&work->event->marks->reached);
        work->event->marks->reached_s = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
        while (reached < work->mark &&
               !atomic_compare_exchange_weak(&work->event->marks->reached, &reached, work->mark))
            ;
    }
}

static void *serve(void *argument)
{
    struct hop_gpu_stream *stream = argument;
    (void)pthread_mutex_lock(&mutex);
    for (;;) {
        while (!stream->first && !stream->stopping)
            (void)pthread_cond_wait(&stream->queued, &mutex);
        struct work *work = stream->first;
        if (!work)
            break;
        stream->first = work->next;
        stream->busy = true;
        (void)pthread_mutex_unlock(&mutex);
        perform(stream, work);
        if (work->event)
            event_drop(work->event);
        free(work->staged);
        free(work);
        (void)pthread_mutex_lock(&mutex);
        stream->busy = false;
        if (!stream->first)
            (void)pthread_cond_broadcast(&idle);
    }
    (void)pthread_mutex_unlock(&mutex);
    return NULL;
}

static int enqueue(struct hop_gpu_stream *stream, const struct work *work)
{
    struct work *queued = malloc(sizeof *queued);
    if (!queued)
        abort();
    *queued = *work;
    queued->next = NULL;
    if (queued->event)
        (void)atomic_fetch_add(&queued->event->references, 1);
    (void)pthread_mutex_lock(&mutex);
    if (stream->first)
        stream->last->next = queued;
    else
        stream->first = queued;
    stream->last = queued;
    (void)pthread_cond_signal(&stream->queued);
    (void)pthread_mutex_unlock(&mutex);
    return SUCCESS;
}

static int drain(struct hop_gpu_stream *stream)
{
    (void)pthread_mutex_lock(&mutex);
    while (stream->first || stream->busy)
        (void)pthread_cond_wait(&idle, &mutex);
    (void)pthread_mutex_unlock(&mutex);
    return atomic_load(&stream->context->error);
}

/* The mutex being held. */
static bool is_working(const struct hop_gpu_context *context)
{
    bool working = false;
    for (const struct hop_gpu_stream *s = streams; s; s = s->next)
        working = working || (s->context == context && (s->first || s->busy));
    return working;
}

/* A stream of the current context. */
static bool is_stream(const struct hop_gpu_stream *stream)
{
    bool found = false;
    (void)pthread_mutex_lock(&mutex);
    for (const struct hop_gpu_stream *s = streams; s; s = s->next)
        found = found || (s == stream && s->context == current());
    (void)pthread_mutex_unlock(&mutex);
    return found;
}

API int cuStreamCreate(struct hop_gpu_stream **stream, unsigned flags);
API int cuStreamCreate(struct hop_gpu_stream **stream, unsigned flags)
{
    BEGIN_IN_CONTEXT("cuStreamCreate");
    if (flags != HOP_GPU_STREAM_NON_BLOCKING)
        return INVALID_VALUE;
    struct hop_gpu_stream *made = calloc(1, sizeof *made);
    int others = 0;
    (void)pthread_mutex_lock(&mutex);
    for (const struct hop_gpu_stream *s = streams; s; s = s->next)
        others += s->context == current();
    (void)pthread_mutex_unlock(&mutex);
    if (!made || others >= streams_most) {
        free(made);
        return OUT_OF_MEMORY;
    }
    made->context = current();
    (void)pthread_cond_init(&made->queued, NULL);
    (void)pthread_mutex_lock(&mutex);
    made->random = seed += 7919;
    made->next = streams;
    streams = made;
    live++;
    (void)pthread_mutex_unlock(&mutex);
    if (pthread_create(&made->thread, NULL, serve, made) != 0)
        abort();
    *stream = made;
    return SUCCESS;
}

API int cuStreamDestroy_v2(struct hop_gpu_stream *stream);
API int cuStreamDestroy_v2(struct hop_gpu_stream *stream)
{
    struct hop_gpu_stream **place = &streams;
    BEGIN("cuStreamDestroy");
    if (depth == 0 || !is_stream(stream))
        return INVALID_HANDLE;
    (void)pthread_mutex_lock(&mutex);
    stream->stopping = true;
    (void)pthread_cond_signal(&stream->queued);
    (void)pthread_mutex_unlock(&mutex);
    (void)pthread_join(stream->thread, NULL);
    (void)pthread_mutex_lock(&mutex);
    while (*place != stream)
        place = &(*place)->next;
    *place = stream->next;
    live--;
    (void)pthread_mutex_unlock(&mutex);
    (void)pthread_cond_destroy(&stream->queued);
    free(stream);
    return SUCCESS;
}

API int cuStreamSynchronize(struct hop_gpu_stream *stream);
API int cuStreamSynchronize(struct hop_gpu_stream *stream)
{
    BEGIN_IN_CONTEXT("cuStreamSynchronize");
    return is_stream(stream) ? drain(stream) : INVALID_HANDLE;
}

/* ---- memory ---- */

/* The range that holds all of the bytes, by the processor's address. */
static struct range *range_of(enum range_kind kind, uintptr_t address, size_t size)
{
    struct range *found = NULL;
    (void)pthread_mutex_lock(&mutex);
    for (struct range *r = ranges; r && !found; r = r->next) {
        if (r->kind == kind && address >= r->address && size <= r->size && address - r->address <= r->size - size)
            found = r;
    }
    (void)pthread_mutex_unlock(&mutex);
    return found;
}

static void range_add(const struct range *range)
{
    struct range *added = malloc(sizeof *added);
    if (!added)
        abort();
    (void)pthread_mutex_lock(&mutex);
    *added = *range;
    added->next = ranges;
    ranges = added;
    live++;
    (void)pthread_mutex_unlock(&mutex);
}

static void range_remove(struct range *range)
{
    struct range **place = &ranges;
    (void)pthread_mutex_lock(&mutex);
    while (*place != range)
        place = &(*place)->next;
    *place = range->next;
    live--;
    (void)pthread_mutex_unlock(&mutex);
    if (range->kind != HOST) {
        (void)munmap((void *)range->address, range->size + PAGE);
        (void)close(range->file);
    }
    free(range);
}

static int map(int file, size_t size, struct range *range)
{
    struct stat status;
    size = (size + PAGE - 1) / PAGE * PAGE;
    void *address = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (address == MAP_FAILED || fstat(file, &status) != 0)
        return OUT_OF_MEMORY;
    *range = (struct range){.context = current(),
                            .address = (uintptr_t)address,
                            .size = size,
                            .file = file,
                            .opened = 1,
                            .importers = (atomic_int *)(void *)((char *)address + size),
                            .inode = status.st_ino};
    return SUCCESS;
}

API int cuMemAlloc_v2(hop_gpu_address *address, size_t bytes);
API int cuMemAlloc_v2(hop_gpu_address *address, size_t bytes)
{
    struct range range;
    BEGIN_IN_CONTEXT("cuMemAlloc");
    if (bytes == 0)
        return INVALID_VALUE;
    (void)pthread_mutex_lock(&mutex);
    bool fits = bytes <= MEMORY_BYTES - current()->used_bytes;
    current()->used_bytes += fits ? bytes : 0;
    (void)pthread_mutex_unlock(&mutex);
    if (!fits)
        return OUT_OF_MEMORY;
    int file = memfd_create("fake_cuda", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)(bytes + 2 * PAGE)) != 0 || map(file, bytes, &range) != SUCCESS)
        return OUT_OF_MEMORY;
    memset((void *)range.address, 0xa5, bytes < 4 * PAGE ? bytes : 4 * PAGE); /* nobody said it was zeroed */
    range.kind = ALLOCATED;
    range_add(&range);
    *address = range.address | DEVICE_BIT;
    return SUCCESS;
}

API int cuMemFree_v2(hop_gpu_address address);
API int cuMemFree_v2(hop_gpu_address address)
{
    BEGIN_IN_CONTEXT("cuMemFree");
    struct range *range = range_of(ALLOCATED, address & ~DEVICE_BIT, 1);
    if (!range || range->address != (address & ~DEVICE_BIT))
        return INVALID_VALUE;
    if (atomic_load(range->importers) > 0)
        undefined("memory is freed that another process has open");
    (void)pthread_mutex_lock(&mutex);
    while (is_working(range->context))
        (void)pthread_cond_wait(&idle, &mutex);
    range->context->used_bytes -= range->size;
    (void)pthread_mutex_unlock(&mutex);
    range_remove(range);
    return SUCCESS;
}

/* The processor's address of device memory of any device, 0: not mapped here. */
static uintptr_t device_address(uintptr_t address, size_t size)
{
    address &= ~DEVICE_BIT;
    return range_of(ALLOCATED, address, size) || range_of(IMPORTED, address, size) ? address : 0;
}

/* The kind of memory alone: a device's, also by the processor's address of it; what else there is, is nobody's. */
API int cuPointerGetAttribute(void *data, int attribute, hop_gpu_address address);
API int cuPointerGetAttribute(void *data, int attribute, hop_gpu_address address)
{
    enum { MEMORY_TYPE = 2, MEMORY_TYPE_DEVICE = 2 };
    BEGIN("cuPointerGetAttribute");
    if (attribute != MEMORY_TYPE || !device_address(address, 1))
        return INVALID_VALUE;
    *(unsigned *)data = MEMORY_TYPE_DEVICE;
    return SUCCESS;
}

API int cuMemsetD8Async(hop_gpu_address address, unsigned char value, size_t bytes, struct hop_gpu_stream *stream);
API int cuMemsetD8Async(hop_gpu_address address, unsigned char value, size_t bytes, struct hop_gpu_stream *stream)
{
    BEGIN_IN_CONTEXT("cuMemsetD8Async");
    uintptr_t to = address & DEVICE_BIT ? device_address(address, bytes) : 0;
    if (!to)
        return INVALID_VALUE;
    if (!is_stream(stream))
        return INVALID_HANDLE;
    return enqueue(stream, &(struct work){.kind = SET, .to = to, .size = bytes, .value = value});
}

/* One end of a copy. */
struct end {
    uintptr_t address;
    bool pageable;
};

static bool find_end(uintptr_t address, size_t size, struct end *end)
{
    *end = (struct end){address, false};
    if (address & DEVICE_BIT)
        end->address = device_address(address, size);
    else
        end->pageable = !range_of(HOST, address, size);
    return end->address != 0;
}

API int cuMemcpyAsync(hop_gpu_address to, hop_gpu_address from, size_t bytes, struct hop_gpu_stream *stream);
API int cuMemcpyAsync(hop_gpu_address to, hop_gpu_address from, size_t bytes, struct hop_gpu_stream *stream)
{
    struct end target, source;
    BEGIN_IN_CONTEXT("cuMemcpyAsync");
    if (!find_end(to, bytes, &target) || !find_end(from, bytes, &source))
        return INVALID_VALUE;
    if (!is_stream(stream))
        return INVALID_HANDLE;
    struct work work = {.kind = COPY, .to = target.address, .from = source.address, .size = bytes};
    if (source.pageable) { /* taken before the call returns */
        work.staged = malloc(bytes);
        if (!work.staged)
            abort();
        memcpy(work.staged, (const void *)source.address, bytes);
        work.from = (uintptr_t)work.staged;
    }
    int code = enqueue(stream, &work);
    return target.pageable ? drain(stream) : code; /* there before the call returns */
}

API int cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags);
API int cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags)
{
    BEGIN_IN_CONTEXT("cuMemHostRegister");
    if (!address || bytes == 0 || flags > 15)
        return INVALID_VALUE;
    if (range_of(HOST, (uintptr_t)address, 1))
        return HOST_ALREADY_REGISTERED;
    range_add(&(struct range){.context = current(), .kind = HOST, .address = (uintptr_t)address, .size = bytes});
    return SUCCESS;
}

API int cuMemHostUnregister(void *address);
API int cuMemHostUnregister(void *address)
{
    BEGIN_IN_CONTEXT("cuMemHostUnregister");
    struct range *range = range_of(HOST, (uintptr_t)address, 1);
    if (!range || range->address != (uintptr_t)address)
        return HOST_NOT_REGISTERED;
    range_remove(range);
    return SUCCESS;
}

/* ---- between processes ---- */

struct ipc {
    char kind[8];
    pid_t process;
    int file, device; /* by its bus id */
    ino_t inode;
    size_t size;
};

static struct hop_gpu_ipc ipc_write(const char *kind, int file, ino_t inode, size_t size)
{
    struct ipc ipc = {.process = getpid(), .file = file, .device = current()->device, .inode = inode, .size = size};
    struct hop_gpu_ipc written = {{0}};
    (void)snprintf(ipc.kind, sizeof ipc.kind, "%s", kind);
    memcpy(written.bytes, &ipc, sizeof ipc);
    return written;
}

/* A descriptor of what another process made. */
static int ipc_open(const char *kind, const struct hop_gpu_ipc *handle, struct ipc *ipc, int *file)
{
    char path[64];
    struct stat status;
    memcpy(ipc, handle->bytes, sizeof *ipc);
    if (memcmp(ipc->kind, kind, strlen(kind) + 1) != 0)
        return INVALID_HANDLE;
    if (ipc->process == getpid())
        return INVALID_CONTEXT;
    int seen = 0;
    while (seen < visible_count && visible[seen] != ipc->device)
        seen++;
    if (seen == visible_count)
        return INVALID_DEVICE;
    if (refused[current()->device][ipc->device])
        return PEER_UNSUPPORTED;
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)ipc->process, ipc->file);
    *file = open(path, O_RDWR | O_CLOEXEC);
    if (*file < 0)
        return UNMAPPABLE;
    if (fstat(*file, &status) != 0 || status.st_ino != ipc->inode) {
        (void)close(*file);
        return INVALID_HANDLE;
    }
    return SUCCESS;
}

API int cuIpcGetMemHandle(struct hop_gpu_ipc *handle, hop_gpu_address address);
API int cuIpcGetMemHandle(struct hop_gpu_ipc *handle, hop_gpu_address address)
{
    BEGIN_IN_CONTEXT("cuIpcGetMemHandle");
    struct range *range = range_of(ALLOCATED, address & ~DEVICE_BIT, 1);
    if (!range || range->address != (address & ~DEVICE_BIT))
        return INVALID_VALUE;
    *handle = ipc_write("memory", range->file, range->inode, range->size);
    return SUCCESS;
}

API int cuIpcOpenMemHandle_v2(hop_gpu_address *address, struct hop_gpu_ipc handle, unsigned flags);
API int cuIpcOpenMemHandle_v2(hop_gpu_address *address, struct hop_gpu_ipc handle, unsigned flags)
{
    struct range range, *opened = NULL;
    struct ipc ipc;
    int file;
    BEGIN_IN_CONTEXT("cuIpcOpenMemHandle");
    if (flags != HOP_GPU_IPC_LAZY_PEER_ACCESS)
        return INVALID_VALUE;
    int code = ipc_open("memory", &handle, &ipc, &file);
    if (code != SUCCESS)
        return code;
    (void)pthread_mutex_lock(&mutex);
    for (struct range *r = ranges; r && !opened; r = r->next) {
        if (r->kind == IMPORTED && r->inode == ipc.inode && r->context == current())
            opened = r;
    }
    if (opened)
        opened->opened++;
    (void)pthread_mutex_unlock(&mutex);
    if (opened) {
        (void)close(file);
        *address = opened->address | DEVICE_BIT;
        return SUCCESS;
    }
    code = map(file, ipc.size, &range);
    if (code != SUCCESS)
        return UNMAPPABLE;
    range.kind = IMPORTED;
    atomic_fetch_add(range.importers, 1);
    range_add(&range);
    *address = range.address | DEVICE_BIT;
    return SUCCESS;
}

API int cuIpcCloseMemHandle(hop_gpu_address address);
API int cuIpcCloseMemHandle(hop_gpu_address address)
{
    BEGIN_IN_CONTEXT("cuIpcCloseMemHandle");
    struct range *range = range_of(IMPORTED, address & ~DEVICE_BIT, 1);
    if (!range || range->address != (address & ~DEVICE_BIT))
        return INVALID_VALUE;
    (void)pthread_mutex_lock(&mutex);
    bool last = --range->opened == 0;
    (void)pthread_mutex_unlock(&mutex);
    if (last) {
        atomic_fetch_sub(range->importers, 1);
        range_remove(range);
    }
    return SUCCESS;
}

/* ---- events ---- */

static int event_make(int file, unsigned flags, struct hop_gpu_event **event)
{
    struct hop_gpu_event *made = calloc(1, sizeof *made);
    void *marks = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);
    if (!made || marks == MAP_FAILED)
        abort();
    made->context = current();
    made->marks = marks;
    made->file = file;
    made->flags = flags;
    atomic_init(&made->references, 1);
    (void)pthread_mutex_lock(&mutex);
    live++;
    events++;
    shared_events += file >= 0;
    (void)pthread_mutex_unlock(&mutex);
    *event = made;
    return SUCCESS;
}

static bool has_room(bool shared)
{
    (void)pthread_mutex_lock(&mutex);
    bool room = events < events_most && !(shared && shared_events >= shared_most);
    (void)pthread_mutex_unlock(&mutex);
    return room;
}

API int cuEventCreate(struct hop_gpu_event **event, unsigned flags);
API int cuEventCreate(struct hop_gpu_event **event, unsigned flags)
{
    bool shared = flags & HOP_GPU_EVENT_INTERPROCESS;
    int file = -1;
    BEGIN_IN_CONTEXT("cuEventCreate");
    if (shared && !(flags & HOP_GPU_EVENT_DISABLE_TIMING))
        return INVALID_VALUE;
    if (!has_room(shared))
        return OUT_OF_MEMORY;
    if (shared)
        file = memfd_create("fake_cuda_event", MFD_CLOEXEC);
    if (shared && (file < 0 || ftruncate(file, PAGE) != 0))
        return OUT_OF_MEMORY;
    return event_make(file, flags, event);
}

/* Of an imported event: as long as its maker has it. */
static void must_last(const struct hop_gpu_event *event)
{
    if (event->imported && atomic_load(&event->marks->destroyed))
        undefined("an event is used that its maker destroyed");
}

API int cuEventDestroy_v2(struct hop_gpu_event *event);
API int cuEventDestroy_v2(struct hop_gpu_event *event)
{
    BEGIN("cuEventDestroy");
    if (!event)
        return INVALID_HANDLE;
    must_last(event);
    if (!event->imported)
        atomic_store(&event->marks->destroyed, true);
    (void)pthread_mutex_lock(&mutex);
    live--;
    events--;
    shared_events -= event->file >= 0;
    (void)pthread_mutex_unlock(&mutex);
    event_drop(event);
    return SUCCESS;
}

API int cuEventRecord(struct hop_gpu_event *event, struct hop_gpu_stream *stream);
API int cuEventRecord(struct hop_gpu_event *event, struct hop_gpu_stream *stream)
{
    BEGIN_IN_CONTEXT("cuEventRecord");
    if (!is_stream(stream) || event->context != stream->context)
        return INVALID_HANDLE;
    unsigned long long mark = atomic_fetch_add(&event->marks->recorded, 1) + 1;
    return enqueue(stream, &(struct work){.kind = RECORD, .event = event, .mark = mark});
}

API int cuEventQuery(struct hop_gpu_event *event);
API int cuEventQuery(struct hop_gpu_event *event)
{
    BEGIN_IN_CONTEXT("cuEventQuery");
    must_last(event);
    return atomic_load(&event->marks->reached) >= atomic_load(&event->marks->recorded) ? SUCCESS : NOT_READY;
}

API int cuEventElapsedTime(float *ms, struct hop_gpu_event *start, struct hop_gpu_event *end);
API int cuEventElapsedTime(float *ms, struct hop_gpu_event *start, struct hop_gpu_event *end)
{
    struct hop_gpu_event *const both[] = {start, end};
    BEGIN_IN_CONTEXT("cuEventElapsedTime");
    for (int i = 0; i < 2; i++) {
        if (!both[i] || both[i]->flags & HOP_GPU_EVENT_DISABLE_TIMING || atomic_load(&both[i]->marks->recorded) == 0)
            return INVALID_HANDLE;
        if (atomic_load(&both[i]->marks->reached) < atomic_load(&both[i]->marks->recorded))
            return NOT_READY;
    }
    *ms = (float)(1e3 * (end->marks->reached_s - start->marks->reached_s));
    return SUCCESS;
}

API int cuStreamWaitEvent(struct hop_gpu_stream *stream, struct hop_gpu_event *event, unsigned flags);
API int cuStreamWaitEvent(struct hop_gpu_stream *stream, struct hop_gpu_event *event, unsigned flags)
{
    BEGIN_IN_CONTEXT("cuStreamWaitEvent");
    if (!is_stream(stream) || flags != 0)
        return INVALID_HANDLE;
    must_last(event);
    return enqueue(stream, &(struct work){.kind = WAIT, .event = event, .mark = atomic_load(&event->marks->recorded)});
}

API int cuIpcGetEventHandle(struct hop_gpu_ipc *handle, struct hop_gpu_event *event);
API int cuIpcGetEventHandle(struct hop_gpu_ipc *handle, struct hop_gpu_event *event)
{
    struct stat status;
    BEGIN_IN_CONTEXT("cuIpcGetEventHandle");
    if (!(event->flags & HOP_GPU_EVENT_INTERPROCESS) || fstat(event->file, &status) != 0)
        return INVALID_HANDLE;
    *handle = ipc_write("event", event->file, status.st_ino, PAGE);
    return SUCCESS;
}

API int cuIpcOpenEventHandle(struct hop_gpu_event **event, struct hop_gpu_ipc handle);
API int cuIpcOpenEventHandle(struct hop_gpu_event **event, struct hop_gpu_ipc handle)
{
    struct ipc ipc;
    int file;
    BEGIN_IN_CONTEXT("cuIpcOpenEventHandle");
    int code = ipc_open("event", &handle, &ipc, &file);
    if (code == SUCCESS && !has_room(true)) {
        (void)close(file);
        code = OUT_OF_MEMORY;
    }
    if (code == SUCCESS) {
        code = event_make(file, HOP_GPU_EVENT_DISABLE_TIMING, event);
        (*event)->imported = true;
    }
    return code;
}

/* ---- kernels ---- */

API int cuModuleLoadData(struct hop_gpu_module **module, const void *image);
API int cuModuleLoadData(struct hop_gpu_module **module, const void *image)
{
    static const unsigned char fat_binary[4] = {0x50, 0xed, 0x55, 0xba};
    BEGIN_IN_CONTEXT("cuModuleLoadData");
    if (!image)
        return INVALID_VALUE;
    if (memcmp(image, fat_binary, sizeof fat_binary) != 0 && memcmp(image, "__CLANG_OFFLOAD_BUNDLE__", 24) != 0)
        return INVALID_IMAGE;
    *module = calloc(1, sizeof **module);
    if (!*module)
        return OUT_OF_MEMORY;
    alive(1);
    return SUCCESS;
}

API int cuModuleUnload(struct hop_gpu_module *module);
API int cuModuleUnload(struct hop_gpu_module *module)
{
    BEGIN("cuModuleUnload");
    if (!module)
        return INVALID_HANDLE;
    alive(-1);
    free(module);
    return SUCCESS;
}

API int cuModuleGetFunction(struct hop_gpu_function **function, struct hop_gpu_module *module, const char *name);
API int cuModuleGetFunction(struct hop_gpu_function **function, struct hop_gpu_module *module, const char *name)
{
    enum { KERNELS = 64 };
    static struct hop_gpu_function functions[KERNELS];
    static int known;
    const char *type = strrchr(name, '_');
    BEGIN_IN_CONTEXT("cuModuleGetFunction");
    fake_kernel *kernel = fake_kernel_find(name);
    if (!module || !kernel || !type)
        return NOT_FOUND;
    (void)pthread_mutex_lock(&mutex);
    int place = 0;
    while (place < known && functions[place].kernel != kernel)
        place++;
    if (place == known) {
        unsigned element = strstr(type, "64") ? 8 : strstr(type, "32") ? 4 : strstr(type, "16") ? 2 : 1;
        functions[known++] = (struct hop_gpu_function){kernel, element};
        while (is_working(current())) /* loading a kernel waits for the context */
            (void)pthread_cond_wait(&idle, &mutex);
    }
    (void)pthread_mutex_unlock(&mutex);
    *function = &functions[place];
    return SUCCESS;
}

API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct hop_gpu_function *function, int threads,
                                                    size_t shared_bytes);
API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct hop_gpu_function *function, int threads,
                                                    size_t shared_bytes)
{
    BEGIN_IN_CONTEXT("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    if (!function || threads <= 0 || shared_bytes != 0)
        return INVALID_VALUE;
    *blocks = 2;
    return SUCCESS;
}

API int cuLaunchKernel(struct hop_gpu_function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                       struct hop_gpu_stream *stream, void **parameters, void **extra);
API int cuLaunchKernel(struct hop_gpu_function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                       struct hop_gpu_stream *stream, void **parameters, void **extra)
{
    BEGIN_IN_CONTEXT("cuLaunchKernel");
    if (!grid_x || grid_y != 1 || grid_z != 1 || !block_x || block_x > 1024 || block_y != 1 || block_z != 1 ||
        shared_bytes || !parameters || extra)
        return INVALID_VALUE;
    if (!function || !is_stream(stream))
        return INVALID_HANDLE;
    struct work work = {.kind = KERNEL, .function = function, .blocks = grid_x, .threads = block_x};
    memcpy(&work.reduction, parameters[0], sizeof work.reduction);
    return enqueue(stream, &work);
}

/* ---- the other dialect: names for the same, and what has other parameters ---- */

#define ADAPTED(name) "fake_cuda_as_" name
#define SAME(name, cuda, hip, parameters) __asm__(".globl " hip "\n.set " hip ", " cuda);
HOP_GPU_FUNCTIONS(SAME)

static _Thread_local int last_error; /* of what a program may ask of a pointer, which HIP keeps until it is read */

API int hipPointerGetAttribute(void *data, int attribute, hop_gpu_address pointer);
API int hipPointerGetAttribute(void *data, int attribute, hop_gpu_address pointer)
{
    int code = cuPointerGetAttribute(data, attribute, pointer);
    last_error = code != SUCCESS ? code : last_error;
    return code;
}

API int hipPeekAtLastError(void);
API int hipPeekAtLastError(void)
{
    return last_error;
}

API int hipGetLastError(void);
API int hipGetLastError(void)
{
    int code = last_error;
    last_error = SUCCESS;
    return code;
}

API const char *hipGetErrorName(int code);
API const char *hipGetErrorName(int code)
{
    const char *text;
    return cuGetErrorName(code, &text) == SUCCESS ? text : NULL;
}

API const char *hipGetErrorString(int code);
API const char *hipGetErrorString(int code)
{
    const char *text;
    return cuGetErrorString(code, &text) == SUCCESS ? text : NULL;
}

API int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, struct hop_gpu_stream *stream);
API int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, struct hop_gpu_stream *stream)
{
    return kind == 4 ? cuMemcpyAsync((uintptr_t)to, (uintptr_t)from, bytes, stream) : INVALID_VALUE;
}

API int hipIpcOpenMemHandle(void **address, struct hop_gpu_ipc handle, unsigned flags);
API int hipIpcOpenMemHandle(void **address, struct hop_gpu_ipc handle, unsigned flags)
{
    hop_gpu_address opened = 0;
    int code = flags == 0 ? cuIpcOpenMemHandle_v2(&opened, handle, HOP_GPU_IPC_LAZY_PEER_ACCESS) : INVALID_VALUE;
    *address = (void *)(uintptr_t)opened;
    return code;
}
