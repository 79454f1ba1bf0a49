/* SPDX-License-Identifier: BSD-3-Clause */
/* The load of every link over a run: the starts and ends of all records, swept in time. */
#include "timeline/timeline.h"

struct change {
    double time_s;
    uint32_t record;
    bool begins;
};

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->time_s != y->time_s)
        return x->time_s < y->time_s ? -1 : 1;
    return x->begins != y->begins  ? x->begins - y->begins
           : x->record < y->record ? -1
                                   : x->record > y->record; /* ends first */
}

/* Walks all records' starts and ends in time, keeping every link's load. */
bool hop_timeline_measure_use(struct hop_timeline *t)
{
    uint32_t links = 2 * hop_topology_link_count(t->topology);
    t->use = calloc((size_t)links + 1, sizeof *t->use);
    double *load = calloc((size_t)links + 1, sizeof *load), *since = calloc((size_t)links + 1, sizeof *since);
    uint32_t *users = calloc((size_t)links + 1, sizeof *users);
    struct change *changes = malloc((2 * (size_t)t->log_count + 1) * sizeof *changes);
    bool fine = t->use && load && since && users && changes;
    uint32_t count = 0;
    for (uint32_t i = 0; fine && i < t->log_count; i++) {
        if (t->log[i].end_s <= t->log[i].start_s)
            continue;
        changes[count++] = (struct change){t->log[i].start_s, i, true};
        changes[count++] = (struct change){t->log[i].end_s, i, false};
    }
    if (fine)
        qsort(changes, count, sizeof *changes, by_time);
    for (uint32_t i = 0; fine && i < count; i++) {
        const struct hop_record *record = &t->log[changes[i].record];
        const struct hop_route *way = t->classes[record->class_index].way;
        double rate = record->count * record->rate_Bps;
        bool settled = i + 1 == count || changes[i + 1].time_s > changes[i].time_s;
        for (uint32_t l = 0; l < way->link_count; l++) {
            uint32_t link = way->links[l];
            if (changes[i].begins) {
                if (users[link]++ == 0)
                    since[link] = changes[i].time_s;
                load[link] += rate;
            } else {
                load[link] -= rate;
                if (--users[link] == 0) {
                    t->use[link].busy_s += changes[i].time_s - since[link];
                    load[link] = 0;
                }
            }
        }
        if (!settled || !changes[i].begins)
            continue;
        /* All changes of this instant are in: take the peak of every link that any of them loaded. */
        for (uint32_t j = i + 1; j-- > 0 && changes[j].time_s == changes[i].time_s;) {
            const struct hop_route *other = t->classes[t->log[changes[j].record].class_index].way;
            for (uint32_t l = 0; changes[j].begins && l < other->link_count; l++) {
                uint32_t link = other->links[l];
                double capacity = hop_topology_link(t->topology, link / 2)->capacity_Bps[link & 1];
                t->use[link].peak = hop_max(t->use[link].peak, load[link] / capacity);
            }
        }
    }
    for (uint32_t op = 0; fine && op < hop_schedule_count(t->schedule); op++) {
        const struct hop_route *way = t->class_of[op] == HOP_NONE ? NULL : t->classes[t->class_of[op]].way;
        for (uint32_t l = 0; way && l < way->link_count; l++)
            t->use[way->links[l]].bytes += hop_schedule_op(t->schedule, op)->bytes;
    }
    free(load);
    free(since);
    free(users);
    free(changes);
    if (!fine) {
        free(t->use);
        t->use = NULL;
    }
    return fine;
}
