/* SPDX-License-Identifier: BSD-3-Clause */
/* Mapping: what all phases do with the work they share. */
#include "base/clock.h"
#include "map/map.h"

#include <math.h>

void hop_map_note(struct hop_map_work *work, const char *note)
{
    unsigned i = 0;
    while (i + 2 < HOP_MAP_NOTES && work->notes[i] && work->notes[i] != note)
        i++;
    work->notes[i] = work->notes[i] ? work->notes[i] : note;
}

bool hop_map_goes_on(struct hop_map_work *work, double value, double bound)
{
    double now_s = hop_now_s();
    if (work->stopped || work->status != HOP_OK)
        return false;
    if (work->options->time_limit_s > 0 && now_s - work->begun_s >= work->options->time_limit_s)
        work->stopped = true;
    if (work->options->progress && now_s - work->told_s > 0.1) {
        work->told_s = now_s;
        const struct hop_map_progress progress = {work->phase, value, work->options->metric, bound,
                                                  now_s - work->begun_s};
        work->stopped = !work->options->progress(&progress, work->options->context) || work->stopped;
    }
    return !work->stopped;
}

static bool is_over(void *work)
{
    return !hop_map_goes_on(work, ((struct hop_map_work *)work)->best, 0);
}

bool hop_map_simulate(struct hop_map_work *work, const uint32_t *place, bool stops, double *makespan_s, double *mean_s)
{
    bool start = memcmp(place, work->before, work->size) == 0;
    work->simulated += hop_map_play_operations(work->play);
    enum hop_status status =
        hop_map_play_run(work->play, place, stops ? is_over : NULL, work, makespan_s, mean_s, work->diag);
    if (status == HOP_ERR_STOPPED || (status == HOP_ERR_DEADLOCK && !start)) {
        work->stuck += status == HOP_ERR_DEADLOCK;
        *makespan_s = *mean_s = INFINITY;
        status = HOP_OK;
    }
    return hop_map_did(work, status);
}

bool hop_map_refuse(struct hop_map_work *work, const char *what, const char *expected)
{
    return hop_map_did(work, hop_fail(work->diag, HOP_ERR_INVALID, "%s\n%s", what, expected));
}

static bool poll(void *context, double best, double bound)
{
    struct hop_map_work *work = context;
    return work->own_values ? hop_map_goes_on(work, hop_min(best, work->best), bound)
                            : hop_map_goes_on(work, work->best, 0);
}

struct hop_assign hop_map_problem(struct hop_map_work *work, const struct hop_graph *graph,
                                  const struct hop_places *places, const uint64_t *allowed)
{
    return (struct hop_assign){.graph = graph,
                               .places = places,
                               .allowed = allowed,
                               .seed = work->options->seed,
                               .poll = poll,
                               .context = work};
}
