/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurements that somebody might make on a topology: copies between its GPUs and with host memory, and the form in which they are
 * handed out. */
#include "calibrate/fit.h"

#include <stdio.h>

enum { DEVICES_MAX = 16 };

struct devices {
    const char *names[DEVICES_MAX];
    bool hosted; /* all of them reach host memory */
    uint32_t count;
    struct hop_buffer out;
};

static void put_copy(struct devices *d, const char *from, const char *to, const char *group, uint32_t a, uint32_t b)
{
    hop_buffer_printf(&d->out, "%s,%s,,%s-%u-%u,1,\n", from, to, group, a, b);
}

/* Copies with host memory of so many devices, a stride apart from the first on: in (1), out (2), or both ways (3). */
static void put_hosts(struct devices *d, uint32_t first, uint32_t count, uint32_t stride, unsigned ways,
                      const char *group)
{
    uint32_t number = count > 1 ? count : first;
    for (uint32_t i = first, k = 0; i < d->count && k < count; i += stride, k++) {
        if (ways & 1)
            put_copy(d, "host", d->names[i], group, number, count > 1 ? d->count + stride : 0);
        if (ways & 2)
            put_copy(d, d->names[i], "host", group, number, count > 1 ? d->count + stride : 0);
    }
}

static void put_candidates(struct devices *d)
{
    static const char *const ways[] = {"", "host-to", "to-host", "host-both"};
    uint32_t n = d->count;
    hop_buffer_puts(&d->out, "from,to,bytes,concurrent_group,measured_GBps,notes\n");
    for (uint32_t a = 0; a < n; a++) {
        for (unsigned way = 1; way <= 3 && d->hosted; way++)
            put_hosts(d, a, 1, 1, way, ways[way]);
        for (uint32_t b = 0; b < n; b++) {
            if (a == b)
                continue;
            put_copy(d, d->names[a], d->names[b], "alone", a, b);
            put_copy(d, d->names[a], d->names[b], "out-of", a, a);
            put_copy(d, d->names[b], d->names[a], "into", a, a);
            put_copy(d, d->names[a], d->names[b], "shift", (b + n - a) % n, n);
            if (a < b) {
                put_copy(d, d->names[a], d->names[b], "both-ways", a, b);
                put_copy(d, d->names[b], d->names[a], "both-ways", a, b);
            }
        }
    }
    for (unsigned way = 1; way <= 3 && d->hosted; way++) {
        for (uint32_t count = 2; count < 2 * n; count *= 2) {
            put_hosts(d, 0, count < n ? count : n, 1, way, ways[way]);
            if (2 * count <= n)
                put_hosts(d, 0, count, n / count, way, ways[way]);
        }
    }
}

struct hop_measurements *hop_fit_candidates(const struct hop_topology *topology, struct hop_failure *failure)
{
    struct devices d = {.hosted = true};
    struct hop_measurements *made = NULL;
    for (uint32_t n = 0; n < hop_topology_node_count(topology) && d.count < DEVICES_MAX; n++) {
        uint32_t host = HOP_NONE;
        if (hop_topology_node(topology, n)->kind != HOP_NODE_GPU)
            continue;
        d.names[d.count++] = hop_topology_node(topology, n)->name;
        if (failure->status == HOP_OK)
            failure->status = hop_topology_nearest_host(topology, n, &host, failure->diag);
        d.hosted = d.hosted && host != HOP_NONE;
    }
    if (d.count < 2)
        hop_failure_set(failure, HOP_ERR_INVALID, "topology %s has %u GPUs\ntwo at least", hop_topology_name(topology),
                        d.count);
    else
        put_candidates(&d);
    if (d.out.failed)
        hop_failure_set(failure, HOP_ERR_MEMORY, "out of memory");
    if (failure->status == HOP_OK)
        failure->status = hop_measurements_parse("candidates", d.out.text, d.out.length, &made, failure->diag);
    hop_buffer_finish(&d.out);
    return made;
}

char *hop_suggestion_to_csv(const struct hop_suggestion *s)
{
    struct hop_buffer out = {0};
    hop_buffer_puts(&out, "from,to,bytes,concurrent_group,measured_GBps,notes\n");
    for (uint32_t i = 0; i < s->count; i++) {
        struct hop_measurement_group rows = hop_measurements_group(s->candidates, s->groups[i]);
        for (uint32_t r = 0; r < rows.count; r++) {
            const struct hop_measurement *m = hop_measurements_at(s->candidates, rows.rows[r]);
            hop_buffer_printf(&out, "%s,%s,,%s,,\n", m->from, m->to, rows.name);
        }
    }
    return hop_buffer_take(&out);
}
