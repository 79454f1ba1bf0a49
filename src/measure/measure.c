/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measuring: ranks run round after round until the time is up.
 *
 * The ranks are processes of their own; what rank 0 measured, and whether another round begins, lies in memory that
 * they share with their parent:
 *
 *     board | samples of round 0 | samples of round 1 | ...
 *
 * The first launch of a round touches the memory that its program has just got, and is not recorded. Emulated links do
 * not care (their times are those of the links), and are slow: there every launch is.
 */
#include "measure/measure.h"
#include "base/clock.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

enum { LAUNCHES = 4 };
#define TIME_S 20.0
#define SAMPLES_SIZE_MAX ((size_t)1 << 30)

struct board {
    uint32_t rounds; /* recorded launches: a sample of every row in each */
    atomic_bool enough; /* written by rank 0, read by all past the next barrier */
    double elapsed_s;
};

struct session {
    const struct hop_measuring *m;
    struct board *board;
    double *samples; /* [round][row] */
    uint32_t rounds_most;
};

/* ---- in a rank ---- */

/* A row's time counts from the start of the first of its case. */
static void take_samples(const struct hop_measuring *m, const struct hop_measured_op *times, const uint32_t *index_of,
                         double *samples)
{
    for (uint32_t c = 0; c < m->case_count; c++) {
        const struct hop_measure_case *its = &m->cases[c];
        double start_s = INFINITY;
        for (uint32_t r = its->first; r < its->first + its->count; r++)
            start_s = hop_min(start_s, times[index_of[r]].start_s);
        for (uint32_t r = its->first; r < its->first + its->count; r++)
            samples[r] = times[index_of[r]].end_s - start_s;
    }
}

static enum hop_status launch_once(struct hop_team *team, struct hop_program *program, const struct session *s,
                                   const uint32_t *index_of, struct hop_diag *diag)
{
    const struct hop_measured_op *times;
    enum hop_status status = hop_program_run(program, diag);
    if (status == HOP_OK)
        status = hop_program_times(program, &times, diag);
    if (status == HOP_OK && hop_team_rank(team) == 0)
        take_samples(s->m, times, index_of, s->samples + (size_t)s->board->rounds++ * s->m->op_count);
    return status;
}

/* Rank 0 decides whether there is another round; the barrier that begins every launch makes it known. */
static void decide(const struct session *s, double elapsed_s, bool stopping)
{
    struct board *board = s->board;
    double limit_s = s->m->options->time_s > 0 ? s->m->options->time_s : TIME_S;
    board->elapsed_s = elapsed_s;
    board->enough = stopping || board->rounds + LAUNCHES > s->rounds_most ||
                    (elapsed_s >= limit_s && board->rounds >= HOP_MEASURE_SAMPLES_LEAST);
    if (s->m->options->progress && !board->enough)
        s->m->options->progress(hop_min(elapsed_s / limit_s, 0.99), s->m->options->context);
}

static enum hop_status run_round(struct hop_team *team, const struct session *s, uint32_t round, uint32_t *index_of,
                                 double begun_s, struct hop_diag *diag)
{
    struct hop_schedule *schedule;
    struct hop_program *program = NULL;
    struct hop_program_options options = s->m->options->program;
    options.machine = s->m->options->topology;
    bool emulated = s->m->public.emulated;
    options.record = true;
    options.pipelined = false;
    enum hop_status status = hop_measure_round(s->m, round, &schedule, index_of, diag);
    if (status != HOP_OK)
        return status;
    status = hop_program_create(team, schedule, &options, &program, diag);
    if (status == HOP_OK)
        status = hop_program_fill(program, round + 1, diag);
    if (status == HOP_OK && !emulated)
        status = hop_program_run(program, diag);
    for (unsigned i = 0; i < (emulated ? 1 : LAUNCHES) && status == HOP_OK; i++)
        status = launch_once(team, program, s, index_of, diag);
    if (status == HOP_OK && hop_team_rank(team) == 0)
        decide(s, hop_now_s() - begun_s, hop_team_stopping(team));
    if (status == HOP_OK)
        status = hop_team_barrier(team, diag);
    hop_program_destroy(program);
    hop_schedule_destroy(schedule);
    return status;
}

static int run_rank(struct hop_team *team, void *context)
{
    const struct session *s = context;
    struct hop_diag diag = {0};
    uint32_t *index_of = calloc(s->m->op_count, sizeof *index_of);
    enum hop_status status = index_of ? HOP_OK : hop_fail_memory(&diag);
    double begun_s = hop_now_s();
    for (uint32_t round = 0; status == HOP_OK && (round == 0 || !s->board->enough); round++)
        status = run_round(team, s, round, index_of, begun_s, &diag);
    free(index_of);
    if (hop_team_rank(team) == 0 && s->m->options->progress)
        s->m->options->progress(1, s->m->options->context);
    if (status != HOP_OK && hop_team_lost(team) < 0)
        hop_team_abort(team, &diag);
    return status != HOP_OK;
}

/* ---- around them ---- */

static void run_session(struct hop_measuring *m)
{
    size_t row_bytes = m->op_count * sizeof(double), most = HOP_SAMPLES_MAX;
    most = row_bytes * most > SAMPLES_SIZE_MAX ? SAMPLES_SIZE_MAX / row_bytes : most;
    size_t size = 64 + row_bytes * most;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        hop_failure_set(&m->failure, HOP_ERR_MEMORY, "out of memory");
        return;
    }
    struct session s = {m, memory, (double *)(void *)((char *)memory + 64), (uint32_t)most};
    struct hop_launch_options launch = m->options->launch;
    int result = 0;
    launch.ranks = m->public.device_count;
    launch.gently = true; /* the round that runs is finished */
    m->failure.status = hop_launch(&launch, run_rank, &s, &result, m->failure.diag);
    if (result != 0)
        hop_failure_set(&m->failure, HOP_ERR_IO, "measuring ended early");
    m->public.rounds = s.board->rounds;
    m->public.elapsed_s = s.board->elapsed_s;
    m->samples = hop_arena_alloc(&m->arena, row_bytes * m->public.rounds + 1);
    for (size_t i = 0; m->samples && i < (size_t)m->op_count * m->public.rounds; i++)
        m->samples[i] = s.samples[i % m->public.rounds * m->op_count + i / m->public.rounds];
    (void)munmap(memory, size);
}

/* ---- from samples to rows, and to whether the machine held still ---- */

static void count_row(struct hop_measuring *m, uint32_t r, struct hop_measure_row *row, double *samples)
{
    const double *own = m->samples + (size_t)r * m->public.rounds;
    *row = *m->ops[r].row;
    row->drifts = hop_samples_drift(own, m->public.rounds);
    memcpy(samples, own, m->public.rounds * sizeof *samples);
    hop_samples_summarise(samples, m->public.rounds, &row->time_s);
    row->unsteady = row->drifts || row->time_s.mad > HOP_UNSTEADY_MAD * row->time_s.median;
    m->public.outliers += row->time_s.outliers;
    m->public.unsteady += row->unsteady;
}

/* What reductions and copies within a device say of its memory. */
static void find_memory(struct hop_measuring *m, const struct hop_measure_row *rows, double *rates)
{
    struct hop_sample_summary summary;
    uint32_t count = 0;
    m->public.memory_Bps = m->public.memory_spread_Bps = NAN;
    for (uint32_t r = 0; r < m->op_count && count < HOP_SAMPLES_MAX; r++) {
        if (rows[r].traffic_bytes > 0)
            rates[count++] = (double)rows[r].traffic_bytes / rows[r].time_s.median;
    }
    if (count == 0)
        return;
    hop_samples_summarise(rates, count, &summary);
    m->public.memory_Bps = summary.median;
    m->public.memory_spread_Bps = summary.mad;
}

void hop_measure_count(struct hop_measuring *m)
{
    struct hop_measure_row *rows = hop_arena_alloc(&m->arena, m->op_count * sizeof *rows);
    double *scratch = hop_arena_alloc(&m->arena, HOP_SAMPLES_MAX * sizeof *scratch);
    if (!rows || !scratch)
        return;
    for (uint32_t r = 0; r < m->op_count; r++)
        count_row(m, r, &rows[r], scratch);
    find_memory(m, rows, scratch);
    m->public.rows = rows;
    m->public.row_count = m->op_count;
    m->public.samples = m->samples;
    m->public.too_noisy = m->public.unsteady > HOP_UNSTEADY_ROWS * m->op_count;
}

/* ---- what is to be measured ---- */

static void find_devices(struct hop_measuring *m)
{
    const struct hop_topology *t = m->options->topology;
    uint32_t wanted = m->options->devices, most = wanted ? wanted : HOP_MEASURE_DEVICES_MAX;
    for (uint32_t n = 0; n < hop_topology_node_count(t) && m->public.device_count < most; n++) {
        if (hop_topology_node(t, n)->kind == HOP_NODE_GPU)
            m->devices[m->public.device_count++] = hop_topology_node(t, n)->name;
    }
    char expected[32] = "at least one";
    if (wanted)
        (void)snprintf(expected, sizeof expected, "%u of them", wanted);
    if (m->public.device_count == 0 || m->public.device_count < wanted)
        hop_failure_set(&m->failure, HOP_ERR_INVALID, "topology %s has %u GPUs\n%s", hop_topology_name(t),
                        m->public.device_count, expected);
}

static void find_sizes(struct hop_measuring *m)
{
    static const uint64_t host[] = {64, 4 << 10, 64 << 10, 1 << 20, 8 << 20},
                          queued[] = {64, 64 << 10, 1 << 20, 16 << 20, 64 << 20},
                          emulated[] = {256 << 10, 1 << 20, 4 << 20};
    const struct hop_measure_options *o = m->options;
    const struct hop_device_facts *device = NULL;
    if (m->failure.status == HOP_OK)
        m->failure.status = hop_device_named(o->program.device, &device, m->failure.diag);
    if (m->failure.status != HOP_OK)
        return;
    const uint64_t *sizes = o->sizes ? o->sizes : o->program.emulate ? emulated : device->on_processors ? host : queued;
    m->size_count = o->sizes             ? o->size_count
                    : o->program.emulate ? (uint32_t)HOP_COUNT(emulated)
                                         : (uint32_t)HOP_COUNT(host);
    bool good = m->size_count >= 1 && m->size_count <= HOP_MEASURE_SIZES_MAX;
    for (uint32_t s = 0; good && s < m->size_count; s++) {
        m->sizes[s] = sizes[s];
        good = sizes[s] > (s ? sizes[s - 1] : 0);
    }
    if (!good)
        hop_failure_set(&m->failure, HOP_ERR_INVALID,
                        "the sizes to measure cannot be used\n1 to %d sizes above 0 that ascend",
                        HOP_MEASURE_SIZES_MAX);
}

enum hop_status hop_measure(const struct hop_measure_options *options, struct hop_measure_result **result,
                            struct hop_diag *diag)
{
    struct hop_measure_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    options = &own;
    if (options->devices > HOP_MEASURE_DEVICES_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "%u devices are too many to measure\nat most %d", options->devices,
                        HOP_MEASURE_DEVICES_MAX);
    struct hop_measuring *m = calloc(1, sizeof *m);
    if (!m)
        return hop_fail_memory(diag);
    m->options = options;
    m->failure.diag = diag;
    m->public.topology = options->topology;
    m->public.emulated = options->program.emulate != NULL;
    m->router = hop_router_create(options->topology);
    m->arena.failed |= !m->router;
    find_devices(m);
    find_sizes(m);
    if (hop_measuring_good(m))
        hop_measure_choose(m);
    if (hop_measuring_good(m))
        run_session(m);
    if (hop_measuring_good(m))
        hop_measure_count(m);
    if (m->arena.failed)
        hop_failure_set(&m->failure, HOP_ERR_MEMORY, "out of memory");
    enum hop_status status = m->failure.status;
    if (status != HOP_OK)
        hop_measure_result_destroy(&m->public);
    else
        *result = &m->public;
    return status;
}

void hop_measure_result_destroy(struct hop_measure_result *result)
{
    struct hop_measuring *m = (struct hop_measuring *)result;
    if (!m)
        return;
    hop_router_destroy(m->router);
    hop_arena_finish(&m->arena);
    free(m);
}
