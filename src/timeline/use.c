/* SPDX-License-Identifier: BSD-3-Clause */
/* The load of every link over a run: the starts and ends of all records, swept in time. */
#include "timeline/timeline.h"

struct change {
    double time_s;
    uint32_t record;
    bool begins;
};

struct load {
    double rate_Bps, since_s;
    uint32_t users;
};

/* Ends first. */
static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    int order = HOP_ORDER(x->time_s, y->time_s);
    order = order ? order : HOP_ORDER(x->begins, y->begins);
    return order ? order : HOP_ORDER(x->record, y->record);
}

static uint32_t list_changes(const struct hop_timeline *t, struct change *changes)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->log_count; i++) {
        if (t->log[i].end_s <= t->log[i].start_s)
            continue;
        changes[count++] = (struct change){t->log[i].start_s, i, true};
        changes[count++] = (struct change){t->log[i].end_s, i, false};
    }
    qsort(changes, count, sizeof *changes, by_time);
    return count;
}

static const struct hop_route *way_of(const struct hop_timeline *t, const struct change *change)
{
    return t->classes[t->log[change->record].class_index].way;
}

static void apply(struct hop_timeline *t, struct load *loads, const struct change *change)
{
    const struct hop_record *record = &t->log[change->record];
    const struct hop_route *way = way_of(t, change);
    double rate_Bps = record->count * record->rate_Bps;
    for (uint32_t l = 0; l < way->link_count; l++) {
        struct load *load = &loads[way->links[l]];
        load->rate_Bps += change->begins ? rate_Bps : -rate_Bps;
        if (change->begins && load->users++ == 0) {
            load->since_s = change->time_s;
        } else if (!change->begins && --load->users == 0) {
            t->use[way->links[l]].busy_s += change->time_s - load->since_s;
            load->rate_Bps = 0;
        }
    }
}

/* All changes of an instant are in, the last one given: takes the peak of every link that any of them loaded. */
static void take_peaks(struct hop_timeline *t, const struct load *loads, const struct change *changes, uint32_t last)
{
    for (uint32_t i = last + 1; i-- > 0 && changes[i].time_s == changes[last].time_s;) {
        const struct hop_route *way = way_of(t, &changes[i]);
        for (uint32_t l = 0; changes[i].begins && l < way->link_count; l++) {
            uint32_t link = way->links[l];
            double capacity = hop_topology_link(t->topology, link / 2)->capacity_Bps[link & 1];
            t->use[link].peak = hop_max(t->use[link].peak, loads[link].rate_Bps / capacity);
        }
    }
}

bool hop_timeline_measure_use(struct hop_timeline *t)
{
    size_t links = 2 * (size_t)hop_topology_link_count(t->topology);
    struct load *loads = calloc(links + 1, sizeof *loads);
    struct change *changes = malloc((2 * (size_t)t->log_count + 1) * sizeof *changes);
    t->use = hop_arena_alloc(&t->derived, links * sizeof *t->use);
    bool fine = t->use && loads && changes;
    uint32_t count = fine ? list_changes(t, changes) : 0;
    for (uint32_t i = 0; i < count; i++) {
        apply(t, loads, &changes[i]);
        if (changes[i].begins && (i + 1 == count || changes[i + 1].time_s > changes[i].time_s))
            take_peaks(t, loads, changes, i);
    }
    for (uint32_t op = 0; fine && op < hop_schedule_count(t->schedule); op++) {
        const struct hop_route *way = t->class_of[op] == HOP_NONE ? NULL : t->classes[t->class_of[op]].way;
        for (uint32_t l = 0; way && l < way->link_count; l++)
            t->use[way->links[l]].bytes += hop_timeline_delivery(t, op).delivered_bytes;
    }
    free(loads);
    free(changes);
    return fine;
}
