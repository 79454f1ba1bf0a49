/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device `cuda` on a real GPU: is it right, and how fast. bench/gpu.sh builds and runs it; each part prints
 * markdown.
 *
 *     gpu_device check         every kernel against the processor, bit for bit
 *     gpu_device memory        copies inside the device, and kernels against them
 *     gpu_device host [FOLDER] copies between host and device: one way, both ways, several processes; those together
 *                              also as measurements (link.csv) and schedules, for hopcast compare and calibrate
 *     gpu_device latency       what a call, a launch, an event take
 *     gpu_device processes     handles between two processes, copies and events through them
 *
 * Times are wall clock, from the first call to the end of a synchronisation, over repetitions of 20 ms and more; of 7
 * such samples the median. GB/s are 1e9 bytes a second; inside the device bytes read and bytes written both count. The
 * driver does not survive fork: a part that needs several processes opens the device in its children only.
 */
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device/device.h"

#define CUDA (&hop_device_cuda)
#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
enum { SAMPLES = 7, PROCESSES = 8, PATIENCE_S = 100 };
#define SAMPLE_S 20e-3

static const unsigned type_bytes[HOP_TYPE_COUNT] = {8, 4, 2, 2, 4, 8};
static const char *const type_names[HOP_TYPE_COUNT] = {"f64", "f32", "f16", "bf16", "i32", "i64"};

/* ---- calls that must succeed ---- */

static struct hop_diag diag;

static void must(enum hop_status status)
{
    if (status == HOP_OK)
        return;
    fprintf(stderr, "gpu_device: %s: %s (%s)\n", diag.place, diag.what, diag.expected);
    exit(1);
}

static struct hop_device *open_device(void)
{
    struct hop_device_options options = {0};
    struct hop_device *device = NULL;
    must(CUDA->open(&options, &device, &diag));
    return device;
}

static void *allocate(struct hop_device *device, uint64_t bytes)
{
    void *address = NULL;
    must(CUDA->allocate(device, bytes, &address, &diag));
    return address;
}

static void copy(struct hop_device *device, unsigned stream, void *to, const void *from, uint64_t bytes)
{
    struct hop_device_copy work = {to, from, bytes, HOP_NO_WAY, NULL};
    must(CUDA->copy(device, stream, &work, &diag));
}

static void synchronize(struct hop_device *device, unsigned stream)
{
    must(CUDA->synchronize(device, stream, &diag));
}

/* Ordinary memory, touched; registered: made fast. */
static void *host_memory(struct hop_device *device, uint64_t bytes, bool registered)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        fprintf(stderr, "gpu_device: no %llu bytes of memory\n", (unsigned long long)bytes);
        exit(1);
    }
    memset(memory, 1, bytes);
    if (registered)
        must(CUDA->register_host(device, memory, bytes, &diag));
    return memory;
}

/* ---- times ---- */

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef void job(void *context, unsigned times); /* does it so many times and waits for the end */

static double seconds_of(job *run, void *context)
{
    double samples[SAMPLES];
    unsigned times = 1;
    run(context, 2); /* kernels are loaded, pages mapped */
    for (;;) {
        double started = now_s();
        run(context, times);
        if (now_s() - started >= SAMPLE_S || times >= 1u << 20)
            break;
        times *= 2;
    }
    for (int i = 0; i < SAMPLES; i++) {
        double started = now_s();
        run(context, times);
        samples[i] = (now_s() - started) / times;
    }
    qsort(samples, SAMPLES, sizeof samples[0], by_size);
    return samples[SAMPLES / 2];
}

static const char *size_text(uint64_t bytes)
{
    static char text[4][32];
    static unsigned turn;
    char *chosen = text[turn++ % 4];
    if (bytes >= MIB)
        (void)snprintf(chosen, sizeof text[0], "%llu MiB", (unsigned long long)(bytes / MIB));
    else if (bytes >= KIB)
        (void)snprintf(chosen, sizeof text[0], "%llu KiB", (unsigned long long)(bytes / KIB));
    else
        (void)snprintf(chosen, sizeof text[0], "%llu B", (unsigned long long)bytes);
    return chosen;
}

/* ---- check ---- */

/* Any bits are an element of any type; half of the values of f32 and f64 are made ordinary, so that sums are too. */
static void fill(unsigned char *bytes, uint64_t count, enum hop_type type, unsigned *seed)
{
    for (uint64_t i = 0; i < count; i++) {
        unsigned a = *seed = *seed * 1664525u + 1013904223u, b = a * 2654435761u ^ a >> 7;
        double wide = ((double)a - 2147483648.0) * 1e-6;
        float narrow = (float)wide;
        uint64_t bits = (uint64_t)b << 32 | a;
        if (type == HOP_TYPE_F64 && (a >> 30 & 1))
            memcpy(&bits, &wide, 8);
        if (type == HOP_TYPE_F32 && (a >> 30 & 1))
            memcpy(&bits, &narrow, 4);
        memcpy(bytes + i * type_bytes[type], &bits, type_bytes[type]);
    }
}

static bool is_nan(const unsigned char *element, enum hop_type type)
{
    uint64_t bits = 0;
    memcpy(&bits, element, type_bytes[type]);
    switch (type) {
    case HOP_TYPE_F64:
        return (bits & INT64_MAX) > (uint64_t)0x7ff << 52;
    case HOP_TYPE_F32:
        return (bits & INT32_MAX) > 0x7f800000u;
    case HOP_TYPE_F16:
        return (bits & 0x7fff) > 0x7c00;
    case HOP_TYPE_BF16:
        return (bits & 0x7fff) > 0x7f80;
    default:
        return false;
    }
}

struct checked {
    struct hop_device *device;
    unsigned char *host[HOP_REDUCTION_PLACES], *expected, *found; /* of `room` bytes each */
    void *memory[HOP_REDUCTION_PLACES];
    uint64_t room;
    unsigned places, seed;
};

/* Elements that differ. Vector i begins shift elements late, every second one `unlike` more; in place: into input 0. */
static uint64_t differing(struct checked *c, enum hop_reduce reduce, enum hop_type type, uint64_t count,
                          uint32_t inputs, unsigned shift, unsigned unlike)
{
    const void *on_host[HOP_REDUCTION_PLACES], *on_device[HOP_REDUCTION_PLACES];
    const unsigned size = type_bytes[type];
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < inputs; i++) {
        uint64_t offset = (uint64_t)(shift + (i & 1) * unlike) * size;
        fill(c->host[i] + offset, count, type, &c->seed);
        copy(c->device, 0, c->memory[i], c->host[i], offset + count * size);
        on_host[i] = c->host[i] + offset;
        on_device[i] = (char *)c->memory[i] + offset;
    }
    synchronize(c->device, 0);
    void *expected = c->expected + shift * size, *output = (void *)(uintptr_t)on_device[0];
    must(hop_reduce_on_host(&(struct hop_reduction){reduce, type, count, on_host, &expected, inputs, 1}, &diag));
    must(CUDA->reduce(c->device, HOP_STREAM_NOW,
                      &(struct hop_reduction){reduce, type, count, on_device, &output, inputs, 1}, &diag));
    copy(c->device, HOP_STREAM_NOW, c->found, output, count * size);
    for (uint64_t i = 0; i < count; i++) {
        const unsigned char *a = (unsigned char *)expected + i * size, *b = c->found + i * size;
        wrong += memcmp(a, b, size) != 0 && !(is_nan(a, type) && is_nan(b, type));
    }
    return wrong;
}

static void open_checked(struct checked *c, uint64_t room, unsigned places)
{
    *c = (struct checked){.device = open_device(), .room = room, .places = places, .seed = 1};
    for (unsigned i = 0; i < places; i++) {
        c->host[i] = host_memory(c->device, room, true);
        c->memory[i] = allocate(c->device, room);
    }
    c->expected = host_memory(c->device, room, true);
    c->found = host_memory(c->device, room, true);
}

static uint64_t check_small(struct checked *c, enum hop_reduce reduce, enum hop_type type, uint64_t *elements)
{
    static const uint64_t counts[] = {1, 3, 7, 8, 9, 31, 255, 1000, 4097, 100003};
    static const uint32_t inputs[] = {1, 2, 3, 4, 5, 8, 9, 16, 64};
    uint64_t wrong = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (size_t k = 0; k < sizeof inputs / sizeof inputs[0]; k++) {
            for (unsigned way = 0; way < 3; way++) {
                wrong += differing(c, reduce, type, counts[i], inputs[k], way ? 1 : 0, way == 2);
                *elements += counts[i];
            }
        }
    }
    return wrong;
}

static int check(void)
{
    struct checked c;
    uint64_t wrong = 0, cases = 0;
    open_checked(&c, 100003 * 8 + 64, HOP_REDUCTION_PLACES);
    printf("| type | sum | prod | min | max | elements each |\n|---|---|---|---|---|---|\n");
    for (int type = 0; type < HOP_TYPE_COUNT; type++) {
        uint64_t elements = 0;
        printf("| %s |", type_names[type]);
        for (int reduce = 0; reduce < HOP_REDUCE_COUNT; reduce++) {
            elements = 0;
            uint64_t differ = check_small(&c, (enum hop_reduce)reduce, (enum hop_type)type, &elements);
            if (differ)
                printf(" %llu differ |", (unsigned long long)differ);
            else
                printf(" equal |");
            (void)fflush(stdout);
            wrong += differ;
            cases++;
        }
        printf(" %llu |\n", (unsigned long long)elements);
    }
    CUDA->close(c.device);
    open_checked(&c, 64 * MIB, 3); /* more than one turn of the grid */
    for (int type = 0; type < HOP_TYPE_COUNT; type++) {
        uint64_t count = (64 * MIB - 64) / type_bytes[type] - 3;
        uint64_t differ = differing(&c, HOP_REDUCE_SUM, (enum hop_type)type, count, 3, 1, 0);
        printf("\nsum of 3 %s vectors of %llu elements: %s", type_names[type], (unsigned long long)count,
               differ ? "DIFFERS" : "equal");
        wrong += differ;
    }
    CUDA->close(c.device);
    printf("\n\n%llu kernels, %llu elements differ (bit for bit; any NaN equals any other)\n",
           (unsigned long long)cases, (unsigned long long)wrong);
    return wrong != 0;
}

/* ---- memory ---- */

struct moved {
    struct hop_device *device;
    unsigned stream;
    void *to;
    const void *from;
    uint64_t bytes;
};

static void move(void *context, unsigned times)
{
    const struct moved *m = context;
    for (unsigned i = 0; i < times; i++)
        copy(m->device, m->stream, m->to, m->from, m->bytes);
    synchronize(m->device, m->stream);
}

struct reduced {
    struct hop_device *device;
    struct hop_reduction work;
};

static void reduce_again(void *context, unsigned times)
{
    const struct reduced *r = context;
    for (unsigned i = 0; i < times; i++)
        must(CUDA->reduce(r->device, HOP_STREAM_COMPUTE, &r->work, &diag));
    synchronize(r->device, HOP_STREAM_COMPUTE);
}

static double copy_rate(struct hop_device *device, void *to, const void *from, uint64_t bytes)
{
    struct moved m = {device, 0, to, from, bytes};
    return 2.0 * (double)bytes / seconds_of(move, &m) / 1e9;
}

static void print_kernels(struct hop_device *device, void *const *memory, double limit, enum hop_type type)
{
    static const struct {
        uint32_t inputs, outputs;
    } shapes[] = {{1, 1}, {2, 1}, {4, 1}, {8, 1}, {16, 1}, {2, 2}, {4, 4}, {8, 8}, {16, 16}};
    static const uint64_t sizes[] = {64 * KIB, MIB, 16 * MIB, 64 * MIB, 256 * MIB};
    printf("\nsum of %s, n inputs to m outputs (GB/s, share of the limit)\n\n| n to m |", type_names[type]);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        printf(" %s |", size_text(sizes[i]));
    printf("\n|---|---|---|---|---|---|\n");
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        printf("| %u to %u |", shapes[k].inputs, shapes[k].outputs);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            struct reduced r = {device,
                                {HOP_REDUCE_SUM, type, sizes[i] / type_bytes[type], (const void *const *)memory,
                                 memory + 16, shapes[k].inputs, shapes[k].outputs}};
            double moved = (double)(shapes[k].inputs + shapes[k].outputs) * (double)sizes[i];
            double rate = moved / seconds_of(reduce_again, &r) / 1e9;
            printf(" %.0f (%.0f %%) |", rate, 100 * rate / limit);
            (void)fflush(stdout);
        }
        printf("\n");
    }
}

static int memory(void)
{
    struct hop_device *device = open_device();
    struct hop_device_properties properties;
    void *places[32], *large[2];
    CUDA->properties(device, &properties);
    printf("%s, %llu MiB, %u copy streams\n\n| copy inside the device | GB/s |\n|---|---|\n", properties.name,
           (unsigned long long)(properties.memory_bytes / MIB), properties.copy_streams);
    double limit = 0;
    large[0] = allocate(device, 1024 * MIB);
    large[1] = allocate(device, 1024 * MIB);
    for (uint64_t size = 64 * KIB; size <= 1024 * MIB; size *= 4) {
        limit = copy_rate(device, large[1], large[0], size);
        printf("| %s | %.0f |\n", size_text(size), limit);
    }
    printf("\nlimit, the copy of 1 GiB: %.0f GB/s; less than the cache holds may go faster\n", limit);
    CUDA->free(device, large[0]);
    CUDA->free(device, large[1]);
    for (int i = 0; i < 32; i++)
        places[i] = allocate(device, 256 * MIB);
    print_kernels(device, places, limit, HOP_TYPE_F32);
    print_kernels(device, places, limit, HOP_TYPE_F16);
    CUDA->close(device);
    return 0;
}

/* ---- several processes ---- */

/* In memory that all processes of a part share. */
struct together {
    atomic_uint arrived[64]; /* one for each meeting */
    atomic_uint said;
    double rate[PROCESSES];
    struct hop_device_handle memory, event;
};

static struct together *together_make(void)
{
    void *memory = mmap(NULL, sizeof(struct together), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(1);
    return memory;
}

static void meet(struct together *all, unsigned *meeting, unsigned processes)
{
    atomic_uint *arrived = &all->arrived[(*meeting)++];
    atomic_fetch_add(arrived, 1);
    while (atomic_load(arrived) < processes)
        (void)sched_yield();
}

typedef void part(struct together *all, unsigned rank, unsigned processes, const void *context);

/* 0: all of them ended well. One that fails ends the others, who would wait for it. */
static int in_processes(part *run, struct together *all, unsigned processes, const void *context)
{
    pid_t children[PROCESSES];
    int failed = 0;
    (void)fflush(stdout);
    for (unsigned rank = 0; rank < processes; rank++) {
        children[rank] = fork();
        if (children[rank] == 0) {
            (void)alarm(PATIENCE_S);
            run(all, rank, processes, context);
            (void)fflush(stdout);
            _exit(0);
        }
    }
    for (unsigned ended = 0; ended < processes; ended++) {
        int status = -1;
        if (waitpid(-1, &status, 0) > 0 && status == 0)
            continue;
        for (unsigned rank = 0; !failed && rank < processes; rank++)
            (void)(children[rank] > 0 && kill(children[rank], SIGKILL));
        failed = 1;
    }
    return failed;
}

/* ---- host ---- */

enum direction { TO_DEVICE, FROM_DEVICE, BOTH, MIXED /* every second process the other way */ };
struct traffic {
    enum direction direction;
    uint64_t bytes;
    bool registered;
};

/* For a fixed time after a common start, so that all are at work together. */
static void run_traffic(struct together *all, unsigned rank, unsigned processes, const void *context)
{
    const struct traffic *t = context;
    struct hop_device *device = open_device();
    void *host[2] = {host_memory(device, t->bytes, t->registered), host_memory(device, t->bytes, t->registered)};
    void *memory[2] = {allocate(device, t->bytes), allocate(device, t->bytes)};
    bool to = t->direction == TO_DEVICE || t->direction == BOTH || (t->direction == MIXED && rank % 2 == 0);
    bool from = t->direction == BOTH || !to;
    unsigned meeting = 0;
    uint64_t rounds = 0;
    if (to)
        copy(device, 0, memory[0], host[0], t->bytes);
    if (from)
        copy(device, 1, host[1], memory[1], t->bytes);
    synchronize(device, 0);
    synchronize(device, 1);
    meet(all, &meeting, processes);
    double started = now_s(), ended;
    do {
        for (int i = 0; i < 4; i++) {
            if (to)
                copy(device, 0, memory[0], host[0], t->bytes);
            if (from)
                copy(device, 1, host[1], memory[1], t->bytes);
        }
        synchronize(device, 0);
        synchronize(device, 1);
        rounds += 4;
        ended = now_s();
    } while (ended - started < 0.4);
    all->rate[rank] = (double)rounds * (double)t->bytes * (to && from ? 2 : 1) / (ended - started) / 1e9;
    meet(all, &meeting, processes);
    CUDA->close(device);
}

/* Every process's copies as one copy of a group that start together, since its rate is that of all the time. */
static void write_group(const char *folder, const struct traffic *traffic, unsigned processes, const double *rates)
{
    static const char *const names[] = {"to-device", "from-device", "both-ways", "half-each-way"};
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/link.csv", folder);
    FILE *rows = fopen(path, "a");
    (void)snprintf(path, sizeof path, "%s/%s-%u.hop", folder, names[traffic->direction], processes);
    FILE *schedule = fopen(path, "w");
    for (unsigned rank = 0; rows && schedule && rank < processes; rank++) {
        bool to = traffic->direction == TO_DEVICE || traffic->direction == BOTH ||
                  (traffic->direction == MIXED && rank % 2 == 0);
        bool from = traffic->direction == BOTH || !to;
        double rate = rates[rank] / (to && from ? 2 : 1);
        for (int way = 0; way < 2; way++) {
            if (!(way ? from : to))
                continue;
            const char *source = way ? "gpu0" : "host0", *target = way ? "host0" : "gpu0";
            fprintf(rows, "%s,%s,%llu,%s-%u,%.3f,process %u\n", source, target, (unsigned long long)traffic->bytes,
                    names[traffic->direction], processes, rate, rank);
            fprintf(schedule, "%s%u: %s -> %s %llu\n", way ? "out" : "in", rank, source, target,
                    (unsigned long long)traffic->bytes);
        }
    }
    if (rows)
        (void)fclose(rows);
    if (schedule)
        (void)fclose(schedule);
}

static void begin_rows(const char *folder)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/link.csv", folder);
    FILE *rows = fopen(path, "w");
    if (!rows)
        return;
    fprintf(rows, "from,to,bytes,concurrent_group,measured_GBps,notes\n");
    (void)fclose(rows);
}

static int print_traffic(const char *folder, const char *what, struct traffic traffic, unsigned processes)
{
    struct together *all = together_make();
    double sum = 0, least = INFINITY, most = 0;
    int failed = in_processes(run_traffic, all, processes, &traffic);
    for (unsigned i = 0; i < processes; i++) {
        sum += all->rate[i];
        least = all->rate[i] < least ? all->rate[i] : least;
        most = all->rate[i] > most ? all->rate[i] : most;
    }
    if (failed)
        printf("| %s | %u | %s | failed | |\n", what, processes, size_text(traffic.bytes));
    else
        printf("| %s | %u | %s | %.2f | %.2f to %.2f |\n", what, processes, size_text(traffic.bytes), sum, least, most);
    if (!failed && folder)
        write_group(folder, &traffic, processes, all->rate);
    (void)munmap(all, sizeof *all);
    return failed;
}

static int host(const char *folder)
{
    static const unsigned processes[] = {1, 2, 4, 8};
    static const char *const names[] = {"host to device", "device to host", "both ways", "half each way"};
    int failed = 0;
    if (folder)
        begin_rows(folder);
    printf("| copies | processes | of | GB/s, all | of one process |\n|---|---|---|---|---|\n");
    for (uint64_t size = 4 * KIB; size <= 64 * MIB; size *= 16) {
        for (int d = TO_DEVICE; d <= FROM_DEVICE; d++)
            failed |= print_traffic(NULL, names[d], (struct traffic){(enum direction)d, size, true}, 1);
    }
    for (int d = TO_DEVICE; d <= FROM_DEVICE; d++)
        failed |= print_traffic(NULL, d ? "device to host, not registered" : "host to device, not registered",
                                (struct traffic){(enum direction)d, 16 * MIB, false}, 1);
    for (size_t i = 0; i < sizeof processes / sizeof processes[0]; i++) {
        for (int d = TO_DEVICE; d <= MIXED; d++) {
            if (d != MIXED || processes[i] > 1)
                failed |=
                    print_traffic(folder, names[d], (struct traffic){(enum direction)d, 16 * MIB, true}, processes[i]);
        }
    }
    return failed;
}

/* ---- latency ---- */

struct small {
    struct hop_device *device;
    struct hop_event *event;
    void *memory, *other;
    struct hop_reduction work;
};

static void launch_and_wait(void *context, unsigned times)
{
    const struct small *s = context;
    for (unsigned i = 0; i < times; i++)
        must(CUDA->reduce(s->device, HOP_STREAM_NOW, &s->work, &diag));
}

static void launch(void *context, unsigned times)
{
    const struct small *s = context;
    for (unsigned i = 0; i < times; i++)
        must(CUDA->reduce(s->device, HOP_STREAM_COMPUTE, &s->work, &diag));
    synchronize(s->device, HOP_STREAM_COMPUTE);
}

static void copy_and_wait(void *context, unsigned times)
{
    const struct small *s = context;
    for (unsigned i = 0; i < times; i++)
        copy(s->device, HOP_STREAM_NOW, s->memory, s->other, 8);
}

static void record_and_query(void *context, unsigned times)
{
    const struct small *s = context;
    for (unsigned i = 0; i < times; i++) {
        bool ended = false;
        must(CUDA->record(s->device, 0, s->event, &diag));
        while (!ended)
            must(CUDA->query(s->device, s->event, &ended, &diag));
    }
}

static void query_ended(void *context, unsigned times)
{
    const struct small *s = context;
    bool ended;
    for (unsigned i = 0; i < times; i++)
        must(CUDA->query(s->device, s->event, &ended, &diag));
}

/* A record here and an await there, and back. */
static void cross(void *context, unsigned times)
{
    const struct small *s = context;
    for (unsigned i = 0; i < times; i++) {
        for (unsigned stream = 0; stream < 2; stream++) {
            must(CUDA->record(s->device, stream ? HOP_STREAM_COMPUTE : 0, s->event, &diag));
            must(CUDA->await(s->device, stream ? 0 : HOP_STREAM_COMPUTE, s->event, &diag));
        }
    }
    synchronize(s->device, 0);
    synchronize(s->device, HOP_STREAM_COMPUTE);
}

static int latency(void)
{
    double started = now_s();
    struct small s = {.device = open_device()};
    double opened = now_s() - started;
    const void *inputs[2];
    s.memory = allocate(s.device, 1024);
    s.other = allocate(s.device, 1024);
    inputs[0] = s.memory;
    inputs[1] = s.other;
    s.work = (struct hop_reduction){HOP_REDUCE_SUM, HOP_TYPE_F32, 8, inputs, &s.memory, 2, 1};
    must(CUDA->create_event(s.device, &s.event, &diag));
    const struct {
        const char *what;
        job *run;
    } rows[] = {{"reduction of 32 bytes, with waiting", launch_and_wait},
                {"the same, queued one after the other", launch},
                {"copy of 8 bytes inside the device, with waiting", copy_and_wait},
                {"event recorded and queried until it has ended", record_and_query},
                {"query of an event that has ended", query_ended},
                {"stream to stream and back by events, queued", cross}};
    printf("| what | us |\n|---|---|\n| opening the device, kernels loaded | %.0f |\n", opened * 1e6);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        printf("| %s | %.2f |\n", rows[i].what, seconds_of(rows[i].run, &s) * 1e6);
    void *page = host_memory(s.device, 4 * KIB, true);
    struct moved m = {s.device, HOP_STREAM_NOW, s.memory, page, 8};
    printf("| copy of 8 bytes, host to device, with waiting | %.2f |\n", seconds_of(move, &m) * 1e6);
    m = (struct moved){s.device, HOP_STREAM_NOW, page, s.memory, 8};
    printf("| copy of 8 bytes, device to host, with waiting | %.2f |\n", seconds_of(move, &m) * 1e6);
    void *whole = host_memory(s.device, 64 * MIB, false);
    started = now_s();
    must(CUDA->register_host(s.device, whole, 64 * MIB, &diag));
    printf("| registering 64 MiB of host memory | %.0f |\n", (now_s() - started) * 1e6);
    started = now_s();
    void *block = allocate(s.device, 256 * MIB);
    printf("| allocating 256 MiB, zeroed | %.0f |\n", (now_s() - started) * 1e6);
    started = now_s();
    CUDA->free(s.device, block);
    printf("| freeing it | %.0f |\n", (now_s() - started) * 1e6);
    CUDA->close(s.device);
    return 0;
}

/* ---- processes ---- */

enum { TURNS = 2000 };
#define SHARED_BYTES (256 * MIB)

static void wait_for(atomic_uint *said, unsigned value)
{
    while (atomic_load(said) < value)
        (void)sched_yield();
}

/* Turn by turn: 0 queues a small kernel and records, 1 has its stream wait for that and waits itself. */
static double turns(struct together *all, unsigned rank, struct hop_device *device, struct hop_event *event,
                    const struct hop_reduction *work)
{
    double started = now_s();
    for (unsigned i = 0; i < TURNS; i++) {
        if (rank == 0) {
            must(CUDA->reduce(device, HOP_STREAM_COMPUTE, work, &diag));
            must(CUDA->record(device, HOP_STREAM_COMPUTE, event, &diag));
            atomic_store(&all->said, 2 * i + 1);
            wait_for(&all->said, 2 * i + 2);
        } else {
            wait_for(&all->said, 2 * i + 1);
            must(CUDA->await(device, HOP_STREAM_NOW, event, &diag));
            atomic_store(&all->said, 2 * i + 2);
        }
    }
    return (now_s() - started) / TURNS;
}

static void owner(struct together *all, struct hop_device *device, unsigned *meeting)
{
    void *memory = allocate(device, SHARED_BYTES), *own = allocate(device, 1024);
    const void *inputs[2] = {own, own};
    struct hop_reduction work = {HOP_REDUCE_SUM, HOP_TYPE_F32, 8, inputs, &own, 2, 1};
    struct hop_event *event;
    must(CUDA->create_event(device, &event, &diag));
    must(CUDA->reduce(device, HOP_STREAM_COMPUTE, &work, &diag));
    double started = now_s();
    must(CUDA->export_memory(device, memory, &all->memory, &diag));
    printf("| exporting memory | %.1f us |\n", (now_s() - started) * 1e6);
    must(CUDA->export_event(device, event, &all->event, &diag));
    (void)fflush(stdout);
    meet(all, meeting, 2);
    double turn = turns(all, 0, device, event, &work);
    printf("| kernel and record here, await and synchronise there, and a flag back | %.1f us |\n", turn * 1e6);
    (void)fflush(stdout);
    meet(all, meeting, 2); /* the other one measures alone */
    meet(all, meeting, 2);
}

static void user(struct together *all, struct hop_device *device, unsigned *meeting)
{
    struct hop_event *event;
    void *memory, *again, *own = allocate(device, SHARED_BYTES);
    meet(all, meeting, 2);
    double started = now_s();
    must(CUDA->import_memory(device, &all->memory, &memory, &diag));
    double imported = now_s();
    must(CUDA->import_memory(device, &all->memory, &again, &diag));
    double twice = now_s();
    must(CUDA->import_event(device, &all->event, &event, &diag));
    double events = now_s();
    (void)turns(all, 1, device, event, NULL);
    meet(all, meeting, 2);
    printf("| importing 256 MiB, the first time | %.1f us |\n", (imported - started) * 1e6);
    printf("| importing it again | %.1f us |\n", (twice - imported) * 1e6);
    printf("| importing an event | %.1f us |\n", (events - twice) * 1e6);
    printf("| copy of 128 MiB, own memory to own | %.0f GB/s |\n",
           copy_rate(device, own, (char *)own + SHARED_BYTES / 2, SHARED_BYTES / 2));
    printf("| copy of 256 MiB, the peer's memory to own | %.0f GB/s |\n", copy_rate(device, own, memory, SHARED_BYTES));
    printf("| copy of 256 MiB, own memory to the peer's | %.0f GB/s |\n", copy_rate(device, memory, own, SHARED_BYTES));
    const void *inputs[2] = {own, memory};
    struct reduced r = {device, {HOP_REDUCE_SUM, HOP_TYPE_F32, SHARED_BYTES / 4, inputs, &own, 2, 1}};
    printf("| sum of own and the peer's memory, f32, 256 MiB each | %.0f GB/s |\n",
           3.0 * (double)SHARED_BYTES / seconds_of(reduce_again, &r) / 1e9);
    started = now_s();
    CUDA->free(device, again);
    CUDA->free(device, memory);
    printf("| releasing it | %.1f us |\n", (now_s() - started) * 1e6);
    (void)fflush(stdout);
    meet(all, meeting, 2);
}

static void run_pair(struct together *all, unsigned rank, unsigned processes, const void *context)
{
    struct hop_device *device = open_device();
    unsigned meeting = 0;
    (void)processes;
    (void)context;
    (rank == 0 ? owner : user)(all, device, &meeting);
    CUDA->close(device);
}

static int processes(void)
{
    printf("| between two processes on one GPU | |\n|---|---|\n");
    return in_processes(run_pair, together_make(), 2, NULL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } parts[] = {{"check", check}, {"memory", memory}, {"latency", latency}, {"processes", processes}};
    if ((argc == 2 || argc == 3) && strcmp(argv[1], "host") == 0)
        return host(argv[2]);
    for (size_t i = 0; argc == 2 && i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(argv[1], parts[i].name) == 0)
            return parts[i].run();
    }
    fprintf(stderr, "usage: gpu_device check | memory | host [FOLDER] | latency | processes\n");
    return 2;
}
