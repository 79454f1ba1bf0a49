/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce among processes that share one GPU, or have one each: every algorithm and every way to copy, against staging
 * through the host; and copies between each two GPUs. bench/gpu.sh builds and runs it; each part prints markdown, line by line
 * as it comes.
 *
 *     gpu_allreduce table RANKS SECONDS GPUS   1 KiB to 256 MiB of f32, in the order in which they matter; no size begins
 *                                          that would not end in the time or find no room
 *     gpu_allreduce types GPUS             the other types at one size, whether they are right
 *     gpu_allreduce pairs GPUS             64 MiB from each GPU to each other one, straight and staged, by the devices' times
 *
 * Host staging is what Open MPI does for buffers of a GPU: copy out into registered host memory, allreduce there
 * (two-shot of our host back end, by the same processes), copy in.
 *
 * All ways are prepared for a size and then take turns, in an order that turns with the round; a turn is as many
 * launches as fill TURN_S, from the first rank's begin to the last one's end, and of the rounds the median counts.
 * static stages the share (a quarter, half, three quarters) that was fastest in a round of its own. Results are
 * compared on every rank with sums worked out on the processor, bit for bit: the numbers are small and whole.
 *
 * The limit is the device's memory: every rank's vector is read once and every result written once, 2 x ranks x bytes,
 * at the rate of a large copy within the device, of which bytes read and written both count.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <time.h>

#include "device/device.h"
#include "hopcast/collective.h"
#include "hopcast/run.h"

#define CUDA (&hop_device_cuda)
#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define TURN_S 5e-3
enum { RANKS_MOST = 16, ROUNDS = 5, SLOW_ROUNDS = 3, PERIOD = 17, ONE_SHOT = 5, STATIC = 2, WAYS = 8, SHARES = 3 };

/* ---- what is compared ---- */

struct way {
    const char *title, *algorithm;
    enum hop_copies copies;
    bool always; /* also where memory does not do for all */
};
static const struct way ways[WAYS] = {
    {"gsb, peer", "gsb", HOP_COPIES_PEER, true},      {"gsb, staged", "gsb", HOP_COPIES_STAGED, false},
    {"gsb, static", "gsb", HOP_COPIES_STATIC, false}, {"gsb, dynamic", "gsb", HOP_COPIES_DYNAMIC, false},
    {"btb", "btb", HOP_COPIES_PEER, false},           {"one-shot", "one-shot", HOP_COPIES_PEER, true},
    {"two-shot", "two-shot", HOP_COPIES_PEER, true},  {"ring", "ring", HOP_COPIES_PEER, false}};
static const struct hop_copies_mix shares[SHARES] = {{1, 4, 512 * KIB}, {2, 4, 512 * KIB}, {3, 4, 512 * KIB}};

/* What ranks show each other. */
struct board {
    double begun_s[RANKS_MOST], ended_s[RANKS_MOST];
    uint64_t wrong[RANKS_MOST];
    double copy_Bps, memory_bytes, go_on, staging;
};

struct bench {
    uint32_t ranks, gpus; /* rank r has GPU r modulo gpus, in the order of bus ids */
    double seconds, started_s;
    struct board *board;
};

struct rank {
    const struct bench *bench;
    struct hop_team *team;
    uint32_t rank;
    struct hop_device *device; /* held all the time, so that programs find the driver warm */
    float *numbers;            /* registered, PIECE of them */
};
enum { PIECE = 1 << 20 };

/* One way at one size; way NULL: staging through the host. */
struct contender {
    const struct way *way;
    struct hop_schedule *schedule;
    struct hop_program *program;
    void *in, *out; /* host: of the program */
    void *registered;
    double rounds_s[ROUNDS], median_s;
    uint32_t launches;
};

static struct hop_diag diag;

static void must(enum hop_status status)
{
    if (status == HOP_OK)
        return;
    fprintf(stderr, "gpu_allreduce: %s: %s (%s)\n", diag.place, diag.what, diag.expected);
    exit(1);
}

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

static const char *size_text(uint64_t bytes, char text[32])
{
    if (bytes >= MIB)
        (void)snprintf(text, 32, "%llu MiB", (unsigned long long)(bytes / MIB));
    else
        (void)snprintf(text, 32, "%llu KiB", (unsigned long long)(bytes / KIB));
    return text;
}

/* ---- numbers ---- */

static int number(uint32_t rank, uint64_t i, unsigned salt)
{
    return (int)((i + 5 * (uint64_t)rank + salt) % PERIOD) - 8;
}

static uint32_t find_buffer(struct hop_program *program, const char *name)
{
    const char *found;
    uint64_t bytes;
    uint32_t b = 0;
    while (hop_program_buffer(program, b, &found, &bytes) && strcmp(found, name) != 0)
        b++;
    return b;
}

static void write_numbers(const struct rank *r, struct contender *c, uint64_t bytes, unsigned salt)
{
    uint64_t count = bytes / sizeof(float);
    uint32_t in = find_buffer(c->program, "in");
    for (uint64_t at = 0; at < count; at += PIECE) {
        uint64_t n = count - at < PIECE ? count - at : PIECE;
        for (uint64_t i = 0; i < n; i++)
            r->numbers[i] = (float)number(r->rank, at + i, salt);
        must(hop_program_write(c->program, in, at * sizeof(float), r->numbers, n * sizeof(float), &diag));
    }
}

static uint64_t wrong_numbers(const struct rank *r, struct contender *c, uint64_t bytes, unsigned salt)
{
    uint64_t count = bytes / sizeof(float), wrong = 0;
    uint32_t out = find_buffer(c->program, "out");
    float sums[PERIOD] = {0};
    for (uint64_t i = 0; i < PERIOD; i++) {
        for (uint32_t rank = 0; rank < r->bench->ranks; rank++)
            sums[i] += (float)number(rank, i, salt);
    }
    for (uint64_t at = 0; at < count; at += PIECE) {
        uint64_t n = count - at < PIECE ? count - at : PIECE;
        must(hop_program_read(c->program, out, at * sizeof(float), r->numbers, n * sizeof(float), &diag));
        for (uint64_t i = 0; i < n; i++)
            wrong += memcmp(&r->numbers[i], &sums[(at + i) % PERIOD], sizeof(float)) != 0;
    }
    return wrong;
}

/* ---- staging through the host ---- */

static void copy(const struct rank *r, void *to, const void *from, uint64_t bytes)
{
    struct hop_device_copy work = {.to = to, .from = from, .bytes = bytes, .way = HOP_NO_WAY};
    must(CUDA->copy(r->device, HOP_STREAM_NOW, &work, &diag));
}

struct vectors { /* of the device, for staging */
    void *in, *out;
};

static void launch_staged(const struct rank *r, struct contender *c, const struct vectors *v, uint64_t bytes)
{
    copy(r, c->in, v->in, bytes);
    must(hop_program_run(c->program, &diag));
    copy(r, v->out, c->out, bytes);
}

/* ---- contenders ---- */

static void prepare(const struct rank *r, struct contender *c, uint64_t bytes, enum hop_type type,
                    const struct hop_copies_mix *mix)
{
    char names[RANKS_MOST][16];
    const char *devices[RANKS_MOST];
    for (uint32_t i = 0; i < r->bench->ranks; i++) {
        (void)snprintf(names[i], sizeof names[i], "gpu%u", i % r->bench->gpus);
        devices[i] = c->way ? names[i] : "host0";
    }
    struct hop_ranks ranks = {devices, r->bench->ranks};
    struct hop_collective_options collective = {.kind = HOP_COLLECTIVE_ALLREDUCE,
                                                .algorithm = c->way ? c->way->algorithm : "two-shot",
                                                .vector_bytes = bytes,
                                                .reduce = HOP_REDUCE_SUM,
                                                .type = type};
    struct hop_program_options options = {.device = c->way ? "cuda" : "host",
                                          .copies = c->way ? c->way->copies : HOP_COPIES_PEER,
                                          .mix = mix,
                                          .pipelined = true};
    must(hop_make_collective(&ranks, &collective, &c->schedule, &diag));
    must(hop_program_create(r->team, c->schedule, &options, &c->program, &diag));
    if (c->way)
        return;
    c->in = hop_program_address(c->program, find_buffer(c->program, "in"));
    c->out = hop_program_address(c->program, find_buffer(c->program, "out"));
    char *low = c->in < c->out ? c->in : c->out, *high = c->in < c->out ? c->out : c->in;
    must(CUDA->register_host(r->device, low, (uint64_t)(high - low) + bytes, &diag));
    c->registered = low;
}

static void dismiss(const struct rank *r, struct contender *c)
{
    if (c->registered)
        CUDA->unregister_host(r->device, c->registered);
    hop_program_destroy(c->program);
    hop_schedule_destroy(c->schedule);
}

/* ---- times ---- */

static void meet(const struct rank *r)
{
    must(hop_team_barrier(r->team, &diag));
}

/* Of one launch, of so many in a row; the same on all ranks. */
static double time_launches(const struct rank *r, struct contender *c, const struct vectors *v, uint64_t bytes,
                            uint32_t launches)
{
    struct board *board = r->bench->board;
    double begun_s = INFINITY, ended_s = 0;
    meet(r);
    board->begun_s[r->rank] = now_s();
    for (uint32_t i = 0; i < launches; i++) {
        if (c->way)
            must(hop_program_run(c->program, &diag));
        else
            launch_staged(r, c, v, bytes);
    }
    board->ended_s[r->rank] = now_s();
    meet(r);
    for (uint32_t i = 0; i < r->bench->ranks; i++) {
        begun_s = fmin(begun_s, board->begun_s[i]);
        ended_s = fmax(ended_s, board->ended_s[i]);
    }
    return (ended_s - begun_s) / launches;
}

/* Two launches to warm up, the second says how many make a turn. */
static double warm_up(const struct rank *r, struct contender *c, const struct vectors *v, uint64_t bytes)
{
    (void)time_launches(r, c, v, bytes, 1);
    double once_s = time_launches(r, c, v, bytes, 1);
    c->launches = once_s > 0 && once_s < TURN_S ? (uint32_t)fmin(TURN_S / once_s + 1, 500) : 1;
    return once_s;
}

static void prepare_static(const struct rank *r, struct contender *c, const struct vectors *v, uint64_t bytes)
{
    struct contender tried[SHARES];
    unsigned best = 0;
    for (unsigned s = 0; s < SHARES; s++) {
        tried[s] = (struct contender){.way = c->way};
        prepare(r, &tried[s], bytes, HOP_TYPE_F32, &shares[s]);
        (void)warm_up(r, &tried[s], v, bytes);
        tried[s].median_s = time_launches(r, &tried[s], v, bytes, tried[s].launches);
        unsigned worse = tried[s].median_s < tried[best].median_s ? best : s;
        best = worse == best ? s : best;
        if (s > 0)
            dismiss(r, &tried[worse]);
    }
    *c = tried[best];
}

static uint64_t check(const struct rank *r, struct contender *c, const struct vectors *v, uint64_t bytes, unsigned salt)
{
    struct board *board = r->bench->board;
    uint64_t wrong = 0;
    write_numbers(r, c, bytes, salt);
    if (!c->way) /* by way of the device, as it is timed */
        copy(r, v->in, c->in, bytes);
    meet(r);
    (void)time_launches(r, c, v, bytes, 1);
    if (!c->way)
        copy(r, c->out, v->out, bytes);
    board->wrong[r->rank] = wrong_numbers(r, c, bytes, salt);
    meet(r);
    for (uint32_t i = 0; i < r->bench->ranks; i++)
        wrong += board->wrong[i];
    meet(r);
    return wrong;
}

/* ---- a size ---- */

static double time_left_s(const struct rank *r)
{
    return r->bench->seconds - (now_s() - r->bench->started_s);
}

static void print_row(const struct rank *r, struct contender *list, unsigned count, uint64_t bytes, const char *wrong)
{
    const struct contender *one_shot = NULL;
    double staged_s = list[count - 1].way ? NAN : list[count - 1].median_s; /* no room in shared memory: not measured */
    double best_s = INFINITY, limit_s = 2.0 * r->bench->ranks * (double)bytes / r->bench->board->copy_Bps;
    char text[32];
    printf("| %s |", size_text(bytes, text));
    for (unsigned w = 0; w < WAYS; w++) {
        const struct contender *c = NULL;
        for (unsigned i = 0; i < count; i++)
            c = list[i].way == &ways[w] ? &list[i] : c;
        if (c)
            printf(" %.1f |", c->median_s * 1e6);
        else
            printf(" |");
        one_shot = c && w == ONE_SHOT ? c : one_shot;
        best_s = c ? fmin(best_s, c->median_s) : best_s;
    }
    printf(" %.1f | %.1f | %.1f | %.0f %% | %s |\n", staged_s * 1e6, staged_s / one_shot->median_s, staged_s / best_s,
           100 * limit_s / one_shot->median_s, wrong);
    (void)fflush(stdout);
}

/* Whether shared memory has room for staging: four vectors of each rank, and some. */
static bool can_stage(const struct rank *r, uint64_t bytes)
{
    struct statvfs info;
    if (r->rank == 0)
        r->bench->board->staging = statvfs("/dev/shm", &info) == 0 && (double)info.f_bavail * (double)info.f_frsize >
                                                                          5.0 * r->bench->ranks * (double)bytes;
    meet(r);
    bool can = r->bench->board->staging != 0;
    meet(r);
    return can;
}

/* The contenders of a size: as many as the memory allows, which takes four vectors of each; staging last. */
static unsigned prepare_all(const struct rank *r, struct contender *list, const struct vectors *v, uint64_t bytes)
{
    bool all = 4.0 * r->bench->ranks * (double)bytes * (WAYS + 1) < 0.7 * r->bench->board->memory_bytes;
    unsigned count = 0;
    for (unsigned w = 0; w < WAYS; w++) {
        if (!all && !ways[w].always)
            continue;
        list[count] = (struct contender){.way = &ways[w]};
        if (w == STATIC)
            prepare_static(r, &list[count++], v, bytes);
        else
            prepare(r, &list[count++], bytes, HOP_TYPE_F32, NULL);
    }
    if (!can_stage(r, bytes))
        return count;
    list[count] = (struct contender){.way = NULL};
    prepare(r, &list[count++], bytes, HOP_TYPE_F32, NULL);
    return count;
}

static uint64_t measure_size(const struct rank *r, uint64_t bytes)
{
    struct contender list[WAYS + 1];
    struct vectors v;
    uint64_t wrong = 0;
    double sum_s = 0;
    char remark[64] = "equal", text[32];
    if (r->rank == 0)
        fprintf(stderr, "gpu_allreduce: %u ranks, %s, %.0f s left\n", r->bench->ranks, size_text(bytes, text),
                time_left_s(r));
    must(CUDA->allocate(r->device, bytes, &v.in, &diag));
    must(CUDA->allocate(r->device, bytes, &v.out, &diag));
    unsigned count = prepare_all(r, list, &v, bytes);
    for (unsigned i = 0; i < count; i++) {
        uint64_t own = check(r, &list[i], &v, bytes, i);
        if (own && r->rank == 0)
            printf("%llu numbers are WRONG: %s\n", (unsigned long long)own,
                   list[i].way ? list[i].way->title : "staging");
        wrong += own;
        sum_s += warm_up(r, &list[i], &v, bytes);
    }
    unsigned rounds = sum_s > 0.5 ? SLOW_ROUNDS : ROUNDS;
    for (unsigned turn = 0; turn < rounds * count; turn++) {
        unsigned round = turn / count;
        struct contender *c = &list[(turn + round) % count];
        c->rounds_s[round] = time_launches(r, c, &v, bytes, c->launches);
    }
    for (unsigned i = 0; i < count; i++) {
        list[i].median_s = median(list[i].rounds_s, rounds);
        wrong += check(r, &list[i], &v, bytes, 7 + i);
    }
    if (wrong)
        (void)snprintf(remark, sizeof remark, "%llu DIFFER", (unsigned long long)wrong);
    if (r->rank == 0)
        print_row(r, list, count, bytes, remark);
    for (unsigned i = 0; i < count; i++)
        dismiss(r, &list[i]);
    CUDA->free(r->device, v.in);
    CUDA->free(r->device, v.out);
    return wrong;
}

/* ---- a rank ---- */

/* The rate of a copy within the device, by a copy and by a kernel: the faster. */
static void measure_copy(const struct rank *r)
{
    uint64_t bytes = r->bench->board->memory_bytes > 8e9 ? 512 * MIB : 16 * MIB;
    double samples[2][7];
    void *from, *to;
    must(CUDA->allocate(r->device, bytes, &from, &diag));
    must(CUDA->allocate(r->device, bytes, &to, &diag));
    const void *inputs[1] = {from};
    struct hop_reduction kernel = {HOP_REDUCE_SUM, HOP_TYPE_F32, bytes / sizeof(float), inputs, &to, 1, 1};
    struct hop_device_copy work = {.to = to, .from = from, .bytes = bytes, .way = HOP_NO_WAY};
    for (int i = -1; i < 7; i++) {
        for (int way = 0; way < 2; way++) {
            double begun_s = now_s();
            for (int k = 0; k < 8; k++) {
                must(way ? CUDA->reduce(r->device, HOP_STREAM_COMPUTE, &kernel, &diag)
                         : CUDA->copy(r->device, HOP_STREAM_COMPUTE, &work, &diag));
            }
            must(CUDA->synchronize(r->device, HOP_STREAM_COMPUTE, &diag));
            if (i >= 0)
                samples[way][i] = (now_s() - begun_s) / 8;
        }
    }
    r->bench->board->copy_Bps = 2.0 * (double)bytes / fmin(median(samples[0], 7), median(samples[1], 7));
    CUDA->free(r->device, from);
    CUDA->free(r->device, to);
}

static void begin(struct rank *r, struct hop_team *team, const struct bench *bench)
{
    struct hop_device_options options = {.index = hop_team_rank(team) % bench->gpus};
    struct hop_device_properties properties;
    *r = (struct rank){.bench = bench, .team = team, .rank = hop_team_rank(team)};
    must(CUDA->open(&options, &r->device, &diag));
    r->numbers = mmap(NULL, PIECE * sizeof(float), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (r->numbers == MAP_FAILED)
        exit(1);
    must(CUDA->register_host(r->device, r->numbers, PIECE * sizeof(float), &diag));
    CUDA->properties(r->device, &properties);
    if (r->rank == 0)
        bench->board->memory_bytes = (double)properties.memory_bytes;
    meet(r);
}

/* What matters most comes first, should time run out. */
static const uint64_t sizes[] = {16 * MIB, KIB,     64 * MIB,  MIB,     256 * MIB,
                                 64 * KIB, 4 * MIB, 256 * KIB, 4 * KIB, 16 * KIB};

static int table(struct hop_team *team, void *context)
{
    const struct bench *bench = context;
    struct rank r;
    uint64_t wrong = 0, largest = 0;
    double longest_s = 0;
    begin(&r, team, bench);
    if (r.rank == 0) {
        measure_copy(&r);
        printf("%u processes, us; copies within the device run at %.0f GB/s (read and written)\n\n| f32 |",
               bench->ranks, bench->board->copy_Bps / 1e9);
        for (unsigned w = 0; w < WAYS; w++)
            printf(" %s |", ways[w].title);
        printf(" host staging | one-shot faster by | best faster by | one-shot: of the memory's limit | results |\n|");
        for (unsigned w = 0; w < WAYS + 6; w++)
            printf("---|");
        printf("\n");
        (void)fflush(stdout);
    }
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        double begun_s = now_s();
        if (r.rank == 0) { /* a larger one takes four times as long once bytes count */
            double room = 32.0 * bench->ranks * (double)sizes[s];
            bench->board->go_on =
                time_left_s(&r) > (sizes[s] > largest ? 4 : 1.2) * longest_s && room < bench->board->memory_bytes;
        }
        meet(&r);
        bool go_on = bench->board->go_on != 0;
        meet(&r); /* all have read it */
        if (!go_on)
            continue;
        wrong += measure_size(&r, sizes[s]);
        longest_s = fmax(longest_s, now_s() - begun_s);
        largest = sizes[s] > largest ? sizes[s] : largest;
    }
    CUDA->close(r.device);
    return wrong != 0;
}

/* hop_program_check compares with the operations executed in a row by the processor. */
static int types(struct hop_team *team, void *context)
{
    static const enum hop_type list[] = {HOP_TYPE_F64,  HOP_TYPE_F32, HOP_TYPE_F16,
                                         HOP_TYPE_BF16, HOP_TYPE_I32, HOP_TYPE_I64};
    struct rank r;
    uint64_t all = 0;
    begin(&r, team, context);
    for (size_t t = 0; t < sizeof list / sizeof list[0]; t++) {
        if (r.rank == 0)
            printf("| %s |", hop_type_name(list[t]));
        for (unsigned w = 0; w < WAYS; w++) {
            struct contender c = {.way = &ways[w]};
            uint64_t wrong = 0;
            prepare(&r, &c, 100003 * hop_type_bytes(list[t]), list[t], w == STATIC ? &shares[1] : NULL);
            must(hop_program_fill(c.program, w + 1, &diag));
            meet(&r);
            must(hop_program_run(c.program, &diag));
            must(hop_program_check(c.program, w + 1, &wrong, &diag));
            dismiss(&r, &c);
            all += wrong;
            if (r.rank == 0)
                printf(wrong ? " DIFFERS |" : " equal |");
        }
        if (r.rank == 0)
            printf("\n");
        (void)fflush(stdout);
    }
    CUDA->close(r.device);
    return all != 0;
}

/* ---- between two GPUs ---- */

/* GB/s of the fastest of some launches, by the devices' own times; *via: how it went. */
static double copy_between(struct hop_team *team, uint32_t from, uint32_t to, enum hop_copies copies, enum hop_via *via)
{
    enum { LAUNCHES = 5 };
    char text[96];
    struct hop_schedule *schedule;
    struct hop_program *program;
    const struct hop_measured_op *times;
    struct hop_program_options options = {.device = "cuda", .copies = copies, .packet_bytes = 2 * MIB, .record = true};
    double least_s = INFINITY;
    int length = snprintf(text, sizeof text, "a: %u@gpu%u:x -> %u@gpu%u:y 64MiB", from, from, to, to);
    must(hop_schedule_parse("pair", text, (size_t)length, &schedule, &diag));
    must(hop_program_create(team, schedule, &options, &program, &diag));
    for (int i = 0; i < LAUNCHES; i++) {
        must(hop_program_run(program, &diag));
        must(hop_program_times(program, &times, &diag));
        least_s = i ? fmin(least_s, times[0].end_s - times[0].start_s) : least_s; /* the first one warms up */
        *via = times[0].via;
    }
    hop_program_destroy(program);
    hop_schedule_destroy(schedule);
    return 64 * (double)MIB / least_s * 1e-9;
}

static int pairs(struct hop_team *team, void *context)
{
    const struct bench *bench = context;
    for (uint32_t from = 0; from < bench->gpus; from++) {
        for (uint32_t to = 0; to < bench->gpus; to++) {
            enum hop_via straight, staged;
            if (from == to)
                continue;
            double rate = copy_between(team, from, to, HOP_COPIES_PEER, &straight),
                   through = copy_between(team, from, to, HOP_COPIES_STAGED, &staged);
            if (hop_team_rank(team) != 0)
                continue;
            if (straight == HOP_VIA_STAGED)
                printf("| gpu%u | gpu%u | no access | %.2f |\n", from, to, through);
            else
                printf("| gpu%u | gpu%u | %.2f | %.2f |\n", from, to, rate, through);
            (void)fflush(stdout);
        }
    }
    return 0;
}

static int run(struct bench *bench, hop_rank_body *body)
{
    struct hop_launch_options options = {.ranks = bench->ranks, .timeout_s = 60};
    int result = 1;
    bench->board = mmap(NULL, sizeof *bench->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (bench->board == MAP_FAILED)
        return 1;
    bench->started_s = now_s();
    must(hop_launch(&options, body, bench, &result, &diag));
    return result;
}

int main(int argc, char **argv)
{
    struct bench bench = {.gpus = argc > 2 ? (uint32_t)strtoul(argv[argc - 1], NULL, 10) : 1};
    bool some = bench.gpus >= 1 && bench.gpus <= RANKS_MOST;
    if (argc == 5 && strcmp(argv[1], "table") == 0) {
        bench.ranks = (uint32_t)strtoul(argv[2], NULL, 10);
        bench.seconds = strtod(argv[3], NULL);
        if (some && bench.ranks >= 1 && bench.ranks <= RANKS_MOST)
            return run(&bench, table);
    }
    if (argc == 3 && some && strcmp(argv[1], "pairs") == 0) {
        bench.ranks = bench.gpus;
        printf("| from | to | GB/s straight | staged |\n|---|---|---|---|\n");
        return run(&bench, pairs);
    }
    if (argc == 3 && some && strcmp(argv[1], "types") == 0) {
        bench.ranks = 5;
        printf("5 processes, 100,003 elements\n\n| |");
        for (unsigned w = 0; w < WAYS; w++)
            printf(" %s |", ways[w].title);
        printf("\n|---|---|---|---|---|---|---|---|---|\n");
        return run(&bench, types);
    }
    fprintf(stderr, "usage: gpu_allreduce table RANKS SECONDS GPUS | types GPUS | pairs GPUS   (1 to %d each)\n",
            RANKS_MOST);
    return 2;
}
