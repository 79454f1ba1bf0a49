/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of this library and of an MPI between the same processes, which that MPI's mpirun started.
 *
 *     mpirun -n RANKS bench_collectives_NAME COLLECTIVE,... BYTES,... SECONDS
 *
 * prints a table's lines, one for each collective and size; bench/collectives runs all of it and adds the head. BYTES
 * are those of the longest vector of a rank, all floats (allgather: of what it gets); where that is cut into parts, at
 * least 4 B each. SECONDS are for one line.
 *
 * First the fastest of our algorithms is found in a short trial, once in the caller's memory and once in the program's, then
 * they and MPI take turns: each round times a batch of MPI's calls, a batch of ours on the same vectors, bound
 * (hop_program_bind), and a batch of ours in the program's own buffers, in an order that changes from round to round. A batch lasts from the first rank's beginning to the
 * last one's end. What is printed: medians, and the median and quartiles of the rounds' ratios. Results are compared
 * before and after, with other data.
 *
 * Large allreduces are also held against memory: the same rounds time a loop of all ranks at once, each of which reads
 * and writes as many bytes of its own as the vector has, by ordinary stores and by stores past the caches.
 */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hopcast/hopcast.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif
#ifdef OMPI_MAJOR_VERSION
#define MPI_NAME "Open MPI"
#else
#define MPI_NAME "MPICH"
#endif

enum { ROUNDS = 201, FEWEST_ROUNDS = 5, TRIALS = 9, RANKS = 64, SIZES = 32 };
#define PATIENCE 6 /* times SECONDS: then fewer rounds will do */
#define BATCH_S 0.002
#define TRIAL_S 0.05                     /* of an algorithm */
#define LIMIT_BYTES (UINT64_C(16) << 20) /* from here on an allreduce is held against memory */

/* What a batch repeats. */
enum work { MPI, BOUND, OURS, STORES, STREAMS, WORKS };

struct candidate {
    enum hop_collective_kind kind;
    const char *algorithm;
    bool together;     /* all ranks on one device: they read and write each other's vectors; else each on its own */
    uint64_t to_bytes; /* up to here it may win */
};

#define ALWAYS UINT64_MAX
#define SMALL ((uint64_t)256 << 10)
static const struct candidate candidates[] = {
    {HOP_COLLECTIVE_ALLREDUCE, "one-shot", false, SMALL},
    {HOP_COLLECTIVE_ALLREDUCE, "one-shot", true, SMALL},
    {HOP_COLLECTIVE_ALLREDUCE, "two-shot", true, ALWAYS},
    {HOP_COLLECTIVE_ALLREDUCE, "direct", false, ALWAYS},
    {HOP_COLLECTIVE_ALLREDUCE, "doubling", false, SMALL},
    {HOP_COLLECTIVE_ALLREDUCE, "gsb", true, SMALL},
    {HOP_COLLECTIVE_BROADCAST, "direct", false, ALWAYS},
    {HOP_COLLECTIVE_BROADCAST, "gsb", true, ALWAYS},
    {HOP_COLLECTIVE_BROADCAST, "binomial", false, ALWAYS},
    {HOP_COLLECTIVE_BROADCAST, "btb", true, ALWAYS},
    {HOP_COLLECTIVE_ALLGATHER, "direct", false, ALWAYS},
    {HOP_COLLECTIVE_ALLGATHER, "gsb", true, ALWAYS},
    {HOP_COLLECTIVE_ALLGATHER, "bruck", false, SMALL},
    {HOP_COLLECTIVE_REDUCE_SCATTER, "one-shot", true, ALWAYS},
    {HOP_COLLECTIVE_REDUCE_SCATTER, "direct", false, ALWAYS},
    {HOP_COLLECTIVE_ALLTOALL, "direct", false, ALWAYS},
    {HOP_COLLECTIVE_ALLTOALL, "gsb", true, ALWAYS},
    {HOP_COLLECTIVE_REDUCE, "one-shot", true, ALWAYS},
    {HOP_COLLECTIVE_REDUCE, "one-shot", false, SMALL},
    {HOP_COLLECTIVE_REDUCE, "binomial", false, ALWAYS},
    {HOP_COLLECTIVE_REDUCE, "gsb", true, SMALL},
    {HOP_COLLECTIVE_GATHER, "direct", false, ALWAYS},
    {HOP_COLLECTIVE_GATHER, "gsb", true, ALWAYS},
    {HOP_COLLECTIVE_GATHER, "binomial", false, SMALL},
    {HOP_COLLECTIVE_SCATTER, "direct", false, ALWAYS},
    {HOP_COLLECTIVE_SCATTER, "gsb", true, ALWAYS},
    {HOP_COLLECTIVE_SCATTER, "binomial", false, SMALL},
    {HOP_COLLECTIVE_BARRIER, "dissemination", false, ALWAYS},
};

static int rank, ranks;
static struct hop_team *team;

struct bench {
    enum hop_collective_kind kind;
    uint64_t bytes, in_bytes, out_bytes; /* of the line; of a rank's vectors */
    float *in, *out, *bound, *memory;    /* the caller's; bound: where ours puts what it gets; memory: for the loops */
    const struct candidate *used[WORKS]; /* BOUND, OURS */
    struct hop_schedule *schedules[WORKS];
    struct hop_program *program, *binding; /* in its own buffers, in the caller's */
    float *plan_in, *plan_out;
    unsigned calls[WORKS]; /* of a batch; 0: not measured */
};

/* ---- help ---- */

static void give_up(const char *what)
{
    fprintf(stderr, "bench_collectives, rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void need(enum hop_status status, const struct hop_diag *diag)
{
    char text[1024];
    if (status == HOP_OK)
        return;
    (void)snprintf(text, sizeof text, "%s: %s (%s)", diag->place, diag->what, diag->expected);
    give_up(text);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value that a share of all lies below; sorts them. */
static double quantile(double *values, unsigned count, double share)
{
    qsort(values, count, sizeof *values, compare);
    return values[(unsigned)lround((count - 1) * share)];
}

static float *room(uint64_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 4096, bytes))
        give_up("no memory");
    memset(memory, 0, bytes);
    return memory;
}

/* ---- our side ---- */

/* A rank that gets or gives nothing has no such buffer: NULL. */
static float *find_buffer(const struct bench *b, const char *name)
{
    return hop_program_address(b->program, hop_program_find(b->program, name));
}

/* Where it begins in `data`: an allgather in place, say, would have its own part in the middle; only broadcasts do so. */
static void bind(const struct bench *b, bool in_place)
{
    struct hop_diag diag = {0};
    struct hop_binding bindings[2];
    uint32_t count = 0, in = hop_program_find(b->binding, in_place ? "data" : "in"),
             out = in_place ? UINT32_MAX : hop_program_find(b->binding, "out");
    if (in != UINT32_MAX)
        bindings[count++] = (struct hop_binding){in, in_place && rank != 0 ? b->bound : b->in};
    if (out != UINT32_MAX)
        bindings[count++] = (struct hop_binding){out, b->bound};
    need(hop_program_bind(b->binding, bindings, count, &diag), &diag);
}

static void make_schedule(struct bench *b, enum work work, const struct candidate *candidate)
{
    struct hop_diag diag = {0};
    char names[RANKS][16];
    const char *devices[RANKS];
    for (int r = 0; r < ranks; r++) {
        (void)snprintf(names[r], sizeof names[r], "host%d", candidate->together ? 0 : r);
        devices[r] = names[r];
    }
    struct hop_ranks who = {devices, (uint32_t)ranks};
    struct hop_collective_options what = {.kind = b->kind,
                                          .algorithm = candidate->algorithm,
                                          .vector_bytes = b->bytes,
                                          .type = HOP_TYPE_F32,
                                          .in_place = b->kind == HOP_COLLECTIVE_BROADCAST};
    b->used[work] = candidate;
    need(hop_make_collective(&who, &what, &b->schedules[work], &diag), &diag);
}

static void make_plan(struct bench *b, enum work work, const struct candidate *candidate)
{
    struct hop_diag diag = {0};
    bool broadcasts = b->kind == HOP_COLLECTIVE_BROADCAST, binds = work == BOUND;
    struct hop_program_options how = {.pipelined = true, .bound = binds};
    make_schedule(b, work, candidate);
    need(hop_program_create(team, b->schedules[work], &how, binds ? &b->binding : &b->program, &diag), &diag);
    if (binds) {
        bind(b, broadcasts);
        return;
    }
    b->plan_in = find_buffer(b, broadcasts ? "data" : "in");
    b->plan_out = find_buffer(b, broadcasts ? "data" : "out");
}

static void drop_plan(struct bench *b, enum work work)
{
    hop_program_destroy(work == BOUND ? b->binding : b->program);
    hop_schedule_destroy(b->schedules[work]);
}

static bool gives(const struct bench *b) /* this rank puts something in */
{
    return (b->kind != HOP_COLLECTIVE_BROADCAST && b->kind != HOP_COLLECTIVE_SCATTER) || rank == 0;
}

static bool gets(const struct bench *b)
{
    return (b->kind != HOP_COLLECTIVE_REDUCE && b->kind != HOP_COLLECTIVE_GATHER) || rank == 0;
}

/* ---- batches ---- */

static void call_mpi(const struct bench *b)
{
    int in = (int)(b->in_bytes / sizeof(float)), out = (int)(b->out_bytes / sizeof(float));
    switch (b->kind) {
    case HOP_COLLECTIVE_ALLREDUCE:
        MPI_Allreduce(b->in, b->out, in, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
    case HOP_COLLECTIVE_BROADCAST:
        MPI_Bcast(b->out, out, MPI_FLOAT, 0, MPI_COMM_WORLD);
        break;
    case HOP_COLLECTIVE_ALLGATHER:
        MPI_Allgather(b->in, in, MPI_FLOAT, b->out, in, MPI_FLOAT, MPI_COMM_WORLD);
        break;
    case HOP_COLLECTIVE_REDUCE_SCATTER:
        MPI_Reduce_scatter_block(b->in, b->out, out, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
    case HOP_COLLECTIVE_GATHER:
        MPI_Gather(b->in, in, MPI_FLOAT, b->out, in, MPI_FLOAT, 0, MPI_COMM_WORLD);
        break;
    case HOP_COLLECTIVE_SCATTER:
        MPI_Scatter(b->in, out, MPI_FLOAT, b->out, out, MPI_FLOAT, 0, MPI_COMM_WORLD);
        break;
    case HOP_COLLECTIVE_BARRIER:
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    case HOP_COLLECTIVE_ALLTOALL:
        MPI_Alltoall(b->in, in / ranks, MPI_FLOAT, b->out, in / ranks, MPI_FLOAT, MPI_COMM_WORLD);
        break;
    default:
        MPI_Reduce(b->in, b->out, in, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
    }
}

static void call_ours(struct hop_program *program)
{
    struct hop_diag diag;
    need(hop_program_run(program, &diag), &diag);
}

/* Reads and writes as many bytes as the vector has. past: the caches. */
#ifdef __x86_64__
__attribute__((target("avx2"))) static void call_loop(const struct bench *b, bool past)
{
    const float *from = b->memory;
    float *to = b->memory + b->bytes / sizeof(float);
    for (uint64_t i = 0; i < b->bytes / sizeof(float); i += 16) {
        __m256 first = _mm256_load_ps(from + i), second = _mm256_load_ps(from + i + 8);
        if (past) {
            _mm256_stream_ps(to + i, first);
            _mm256_stream_ps(to + i + 8, second);
        } else {
            _mm256_store_ps(to + i, first);
            _mm256_store_ps(to + i + 8, second);
        }
    }
    _mm_sfence();
}
#else
static void call_loop(const struct bench *b, bool past)
{
    (void)past;
    memcpy((char *)b->memory + b->bytes, b->memory, b->bytes);
}
#endif

static void call(const struct bench *b, enum work work)
{
    switch (work) {
    case MPI:
        call_mpi(b);
        break;
    case BOUND:
        call_ours(b->binding);
        break;
    case OURS:
        call_ours(b->program);
        break;
    default:
        call_loop(b, work == STREAMS);
    }
}

/* Seconds of a call, from the first rank's beginning to the last one's end; the same number on all. */
static double time_batch(const struct bench *b, enum work work, unsigned calls)
{
    double mine[2], all[2];
    MPI_Barrier(MPI_COMM_WORLD);
    mine[0] = -now_s();
    for (unsigned i = 0; i < calls; i++)
        call(b, work);
    mine[1] = now_s();
    MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return (all[1] + all[0]) / calls;
}

/* How many calls take BATCH_S. */
static unsigned count_calls(const struct bench *b, enum work work)
{
    unsigned calls = 1;
    (void)time_batch(b, work, 1);
    for (;;) {
        double each_s = time_batch(b, work, calls);
        if (each_s * calls >= BATCH_S / 2 || calls >= 1u << 16)
            return each_s * calls >= BATCH_S ? calls : 1 + (unsigned)(BATCH_S / each_s);
        calls *= 4;
    }
}

/* ---- results ---- */

/* Small whole numbers, so that sums are exact in any order. */
static void fill(float *vector, uint64_t bytes, uint32_t seed)
{
    uint32_t state = seed * 747796405u + (uint32_t)rank * 2891336453u + 1;
    for (uint64_t i = 0; i < bytes / sizeof(float); i++) {
        state = state * 1664525u + 1013904223u;
        vector[i] = (float)(int)(state >> 25);
    }
}

/* Both sides with the same data: MPI's result is the reference. */
static void check(const struct bench *b, uint32_t seed)
{
    char text[128];
    bool broadcasts = b->kind == HOP_COLLECTIVE_BROADCAST;
    float *given = broadcasts ? b->out : b->in;
    fill(given, broadcasts ? b->out_bytes : b->in_bytes, seed);
    if (broadcasts && rank == 0)
        memcpy(b->in, b->out, b->in_bytes); /* what ours gives */
    if (!broadcasts)
        memset(b->out, 0xff, b->out_bytes);
    if (gives(b) && b->plan_in)
        memcpy(b->plan_in, given, b->in_bytes);
    if (gets(b) && b->plan_out && !(broadcasts && rank == 0))
        memset(b->plan_out, 0xff, b->out_bytes);
    memset(b->bound, 0xff, b->out_bytes);
    call_mpi(b);
    call_ours(b->program);
    call_ours(b->binding);
    bool wrong = gets(b) && b->plan_out && memcmp(b->out, b->plan_out, b->out_bytes) != 0;
    wrong = wrong || (gets(b) && !(broadcasts && rank == 0) && memcmp(b->out, b->bound, b->out_bytes) != 0);
    (void)snprintf(text, sizeof text, "%s of %llu bytes by %s or %s differs from MPI's", hop_collective_name(b->kind),
                   (unsigned long long)b->bytes, b->used[BOUND]->algorithm, b->used[OURS]->algorithm);
    if (wrong)
        give_up(text);
}

/* ---- a line ---- */

static void size_text(uint64_t bytes, char text[32])
{
    if (bytes >= 1 << 20)
        (void)snprintf(text, 32, "%llu MiB", (unsigned long long)(bytes >> 20));
    else if (bytes >= 1 << 10)
        (void)snprintf(text, 32, "%llu KiB", (unsigned long long)(bytes >> 10));
    else
        (void)snprintf(text, 32, "%llu B", (unsigned long long)bytes);
}

static void begin(struct bench *b, enum hop_collective_kind kind, uint64_t bytes)
{
    uint64_t parts = (uint64_t)ranks * sizeof(float), n = (uint64_t)ranks;
    bool gathers = kind == HOP_COLLECTIVE_ALLGATHER || kind == HOP_COLLECTIVE_GATHER;
    bool scatters = kind == HOP_COLLECTIVE_REDUCE_SCATTER || kind == HOP_COLLECTIVE_SCATTER;
    if (kind == HOP_COLLECTIVE_BARRIER)
        bytes = 0;
    else if (gathers || scatters || kind == HOP_COLLECTIVE_ALLTOALL)
        bytes = bytes < parts ? parts : bytes / parts * parts;
    *b = (struct bench){.kind = kind, .bytes = bytes, .in_bytes = bytes, .out_bytes = bytes};
    if (gathers)
        b->in_bytes = bytes / n;
    if (scatters)
        b->out_bytes = bytes / n;
    b->in = room(b->in_bytes);
    b->out = room(b->out_bytes);
    b->bound = room(b->out_bytes);
    if (kind == HOP_COLLECTIVE_ALLREDUCE && bytes >= LIMIT_BYTES)
        b->memory = room(2 * bytes);
}

static void end(struct bench *b)
{
    drop_plan(b, BOUND);
    drop_plan(b, OURS);
    free(b->in);
    free(b->out);
    free(b->bound);
    free(b->memory);
}

/* The fastest in a trial of a few batches. */
static const struct candidate *choose(struct bench *b, enum work work)
{
    const struct candidate *best = NULL;
    double best_s = INFINITY;
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        const struct candidate *each = &candidates[i];
        if (each->kind != b->kind || b->bytes > each->to_bytes)
            continue;
        double least_s = INFINITY;
        make_plan(b, work, each);
        unsigned calls = count_calls(b, work);
        double taken_s = 0;
        for (unsigned k = 0; k < TRIALS && (k < 2 || taken_s < TRIAL_S); k++) {
            double each_s = time_batch(b, work, calls);
            least_s = fmin(least_s, each_s);
            taken_s += each_s * calls;
        }
        drop_plan(b, work);
        if (least_s < best_s) {
            best_s = least_s;
            best = each;
        }
    }
    if (!best)
        give_up("no algorithm");
    return best;
}

/* In the caller's memory, and in the program's where that is another one. */
static void name_algorithms(const struct bench *b, char *text, size_t size)
{
    const struct candidate *bound = b->used[BOUND], *ours = b->used[OURS];
    int used = snprintf(text, size, "%s%s", bound->algorithm, bound->together ? ", in place" : "");
    if (ours != bound)
        (void)snprintf(text + used, size - (size_t)used, "; %s%s", ours->algorithm, ours->together ? ", in place" : "");
}

static void print(const struct bench *b, unsigned rounds, double times[WORKS][ROUNDS])
{
    char size[32], limit[48] = "", algorithms[96];
    double ratio[ROUNDS], bound[ROUNDS], of_limit[ROUNDS], us[WORKS] = {0};
    for (unsigned r = 0; r < rounds; r++) {
        ratio[r] = times[MPI][r] / times[OURS][r];
        bound[r] = times[MPI][r] / times[BOUND][r];
        if (b->calls[STORES])
            of_limit[r] = fmin(times[STORES][r], times[STREAMS][r]) / times[OURS][r];
    }
    for (int w = 0; w < WORKS; w++) {
        if (b->calls[w])
            us[w] = quantile(times[w], rounds, 0.5) * 1e6;
    }
    if (b->calls[STORES]) {
        double median = quantile(of_limit, rounds, 0.5);
        (void)snprintf(limit, sizeof limit, "%.2f", median);
    }
    size_text(b->bytes, size);
    name_algorithms(b, algorithms, sizeof algorithms);
    double median = quantile(bound, rounds, 0.5);
    printf("| " MPI_NAME " | %d | %s | %s | %s | %.3g | %.3g | %.2f (%.2f-%.2f) | %.3g | %.2f | %s |\n", ranks,
           hop_collective_name(b->kind), size, algorithms, us[MPI], us[BOUND], median, quantile(bound, rounds, 0.25),
           quantile(bound, rounds, 0.75), us[OURS], quantile(ratio, rounds, 0.5), limit);
    (void)fflush(stdout);
}

/* Progress: the least times, of which a busy machine says more than by medians. */
static void tell(const struct bench *b, unsigned rounds, double times[WORKS][ROUNDS])
{
    static const char *const names[WORKS] = {"MPI", "bound", "ours", "stores", "past caches"};
    fprintf(stderr, MPI_NAME " %d ranks %s %llu B, %u rounds, least us:", ranks, hop_collective_name(b->kind),
            (unsigned long long)b->bytes, rounds);
    for (int w = 0; w < WORKS; w++) {
        if (b->calls[w])
            fprintf(stderr, " %s %.4g", names[w], quantile(times[w], rounds, 0) * 1e6);
    }
    fputc('\n', stderr);
}

static void line(enum hop_collective_kind kind, uint64_t bytes, double limit_s)
{
    static double times[WORKS][ROUNDS];
    struct bench b;
    unsigned rounds = 0;
    begin(&b, kind, bytes);
    for (enum work w = BOUND; w <= OURS; w++)
        make_plan(&b, w, choose(&b, w));
    check(&b, 1);
    for (int w = 0; w < WORKS; w++)
        b.calls[w] = w <= OURS || b.memory ? count_calls(&b, (enum work)w) : 0;
    double begun_s = now_s();
    for (int more = 1; more;) {
        for (unsigned i = 0; i < WORKS; i++) {
            enum work w = (enum work)((i + rounds) % WORKS);
            if (b.calls[w])
                times[w][rounds] = time_batch(&b, w, b.calls[w]);
        }
        rounds++;
        double taken_s = now_s() - begun_s;
        more = rounds < ROUNDS && taken_s < (rounds < FEWEST_ROUNDS ? PATIENCE : 1) * limit_s;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    check(&b, 2);
    if (rank == 0) {
        print(&b, rounds, times);
        tell(&b, rounds, times);
    }
    end(&b);
}

/* ---- the command ---- */

static bool find_kind(const char *name, enum hop_collective_kind *kind)
{
    for (unsigned k = 0; k < HOP_COLLECTIVE_COUNT; k++) {
        *kind = (enum hop_collective_kind)k;
        if (strcmp(hop_collective_name(*kind), name) == 0)
            return true;
    }
    return false;
}

static void join(void)
{
    struct hop_diag diag = {0};
    char session[HOP_SESSION_SIZE] = "";
    struct hop_team_options options = {.timeout_s = 60};
    if (rank == 0)
        need(hop_session_create((uint32_t)ranks, session, &diag), &diag);
    MPI_Bcast(session, sizeof session, MPI_CHAR, 0, MPI_COMM_WORLD);
    need(hop_team_join(session, (uint32_t)rank, &options, &team, &diag), &diag);
}

int main(int argc, char **argv)
{
    struct hop_diag diag = {0};
    uint64_t sizes[SIZES];
    unsigned count = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4 || ranks > RANKS)
        give_up("usage: mpirun -n RANKS bench_collectives COLLECTIVE,... BYTES,... SECONDS");
#ifdef __x86_64__
    if (!__builtin_cpu_supports("avx2"))
        give_up("this processor has no AVX2");
#endif
    for (char *each = strtok(argv[2], ","); each && count < SIZES; each = strtok(NULL, ","))
        sizes[count++] = strtoull(each, NULL, 10);
    join();
    for (char *each = strtok(argv[1], ","); each; each = strtok(NULL, ",")) {
        enum hop_collective_kind kind;
        if (!find_kind(each, &kind))
            give_up("unknown collective");
        for (unsigned s = 0; s < count; s++)
            line(kind, sizes[s], atof(argv[3]));
    }
    need(hop_team_finish(team, &diag), &diag);
    hop_team_destroy(team);
    MPI_Finalize();
    return 0;
}
