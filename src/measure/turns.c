/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several ways of doing something, measured in turns, so that what else goes on in the machine meets all of them.
 *
 *     round 0:  way 0  way 1  way 2        each turn: make the program, one launch to warm up, one to see how long it
 *     round 1:  way 1  way 2  way 0        takes, then as many in a row as fill the time of a turn
 *     ...
 *
 * A program lives for a turn only: ways may need much memory each. A way that is far behind after two rounds takes no further
 * turns. All ranks see the same times, and so come to the same decisions; rank 0 writes them where the launcher sees them.
 */
#include <math.h>
#include <sys/mman.h>

#include "run/team.h"

#define ROUND_S 3e-3
#define FAR_BEHIND 3.0 /* times as slow as the fastest */
enum { ROUNDS = 7, TRIAL_ROUNDS = 2, LAUNCHES_MAX = 100000 };

struct measuring {
    const struct hop_run_way *ways;
    uint32_t count, rounds;
    double round_s;
    double *times_s; /* shared; way by way; 0: no turn was taken */
};

struct turn {
    double begun_s, ended_s;
};

/* From the first rank's beginning to the last one's end. */
static enum hop_status run_launches(struct hop_team *team, struct hop_program *program, uint32_t launches,
                                    struct turn *all, double *took_s, struct hop_diag *diag)
{
    struct turn own;
    enum hop_status status = hop_team_barrier(team, diag);
    own.begun_s = hop_now_s();
    for (uint32_t i = 0; i < launches && status == HOP_OK; i++)
        status = hop_program_run(program, diag);
    own.ended_s = hop_now_s();
    if (status == HOP_OK)
        status = hop_team_gather(team, &own, all, sizeof own, diag);
    if (status != HOP_OK)
        return status;
    for (uint32_t r = 0; r < hop_team_size(team); r++) {
        own.begun_s = hop_min(own.begun_s, all[r].begun_s);
        own.ended_s = hop_max(own.ended_s, all[r].ended_s);
    }
    *took_s = own.ended_s - own.begun_s;
    return HOP_OK;
}

static enum hop_status take_turn(struct hop_team *team, const struct measuring *m, const struct hop_run_way *way,
                                 struct turn *all, double *launch_s, struct hop_diag *diag)
{
    struct hop_program_options options = way->program;
    struct hop_program *program;
    double took_s = 0;
    options.record = false;
    enum hop_status status = hop_program_create(team, way->schedule, &options, &program, diag);
    if (status != HOP_OK)
        return status;
    status = hop_program_fill(program, 1, diag);
    for (int i = 0; i < 2 && status == HOP_OK; i++)
        status = run_launches(team, program, 1, all, &took_s, diag);
    double fit = hop_min(m->round_s / hop_max(took_s, 1e-9), LAUNCHES_MAX);
    uint32_t launches = fit < 1 ? 1 : (uint32_t)fit;
    if (status == HOP_OK)
        status = run_launches(team, program, launches, all, &took_s, diag);
    *launch_s = took_s / launches / (options.emulate && options.slower > 0 ? options.slower : 1);
    hop_program_destroy(program);
    return status;
}

/* fastest_s: of each way. */
static bool is_far_behind(const double *fastest_s, uint32_t count, uint32_t way)
{
    double best_s = fastest_s[way];
    for (uint32_t w = 0; w < count; w++)
        best_s = hop_min(best_s, fastest_s[w]);
    return fastest_s[way] > FAR_BEHIND * best_s;
}

static enum hop_status take_turns(struct hop_team *team, const struct measuring *m, struct turn *all, double *fastest_s,
                                  struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < m->rounds * m->count && status == HOP_OK; i++) {
        uint32_t round = i / m->count, way = (i + round) % m->count;
        double launch_s;
        if (round >= TRIAL_ROUNDS && is_far_behind(fastest_s, m->count, way))
            continue;
        status = take_turn(team, m, &m->ways[way], all, &launch_s, diag);
        if (status != HOP_OK)
            return status;
        fastest_s[way] = round ? hop_min(fastest_s[way], launch_s) : launch_s;
        if (hop_team_rank(team) == 0)
            m->times_s[(size_t)way * m->rounds + round] = launch_s;
    }
    return status;
}

static int measure(struct hop_team *team, void *context)
{
    const struct measuring *m = context;
    struct turn *all = calloc(hop_team_size(team), sizeof *all);
    double *fastest_s = calloc(m->count, sizeof *fastest_s);
    struct hop_diag diag;
    enum hop_status status = all && fastest_s ? take_turns(team, m, all, fastest_s, &diag) : hop_fail_memory(&diag);
    free(all);
    free(fastest_s);
    if (status != HOP_OK && hop_team_lost(team) < 0)
        hop_team_abort(team, &diag);
    return status == HOP_OK ? 0 : 1;
}

/* The median and the quartiles of the turns it took. */
static void sum_up(const struct measuring *m, uint32_t way, struct hop_run_way *result)
{
    double *times_s = m->times_s + (size_t)way * m->rounds;
    uint32_t taken = 0;
    while (taken < m->rounds && times_s[taken] > 0)
        taken++;
    if (taken == 0)
        return;
    qsort(times_s, taken, sizeof *times_s, hop_ascending_double);
    result->median_s = (times_s[(taken - 1) / 2] + times_s[taken / 2]) / 2;
    result->low_s = times_s[taken / 4];
    result->high_s = times_s[taken - 1 - taken / 4];
}

enum hop_status hop_measure_ways(struct hop_run_way *ways, uint32_t count, const struct hop_ways_options *options,
                                 struct hop_diag *diag)
{
    struct hop_ways_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    options = &own;
    struct measuring m = {.ways = ways,
                          .count = count,
                          .rounds = options->rounds ? options->rounds : ROUNDS,
                          .round_s = options->round_s > 0 ? options->round_s : ROUND_S};
    size_t size = (size_t)count * m.rounds * sizeof *m.times_s;
    int result;
    if (count == 0 || size / sizeof *m.times_s / m.rounds != count)
        return hop_fail(diag, HOP_ERR_INVALID, "%u ways are to be measured in %u rounds", count, m.rounds);
    m.times_s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (m.times_s == MAP_FAILED)
        return hop_fail_memory(diag);
    enum hop_status status = hop_launch(&options->launch, measure, &m, &result, diag);
    if (status == HOP_OK && result != 0)
        status = hop_fail(diag, HOP_ERR_INVALID, "a rank failed while it was measuring");
    for (uint32_t w = 0; w < count && status == HOP_OK; w++)
        sum_up(&m, w, &ways[w]);
    (void)munmap(m.times_s, size);
    return status;
}
