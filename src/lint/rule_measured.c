/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lint with measurements. Only rows between devices that the topology has, over PCIe alone and with a known rate are
 * looked at.
 *
 * - A device whose undisturbed rows all stay below half of what their ways could carry: its link is slower than the
 *   topology says.
 * - A row faster than its way: the narrowest link of that way carries more than the topology says.
 * - An undisturbed pair below one switch at half or less of what both its ends reach elsewhere: its traffic goes
 *   through the root complex and back, as access control services (ACS) make it, or peer-to-peer is off.
 *
 * Undisturbed are rows that ran alone, or in a group of which no two share a link: many sources print one mean for a
 * group.
 */
#include "lint/lint.h"

#include <math.h>

#define HALF 0.55 /* half, and what measurements scatter */
#define ABOVE 1.05

struct row {
    const struct hop_measurement *of;
    uint32_t route, from, to;
    bool undisturbed;
};

struct readings {
    struct row *rows;
    uint32_t count;
    double *best_Bps; /* by node: the highest rate of its rows */
    uint32_t *best_row;
    double *share; /* by node: the highest rate over what the way could carry, of undisturbed rows */
};

/* ---- reading ---- */

static bool share_a_link(const struct hop_route *a, const struct hop_route *b)
{
    for (uint32_t i = 0; i < a->link_count; i++) {
        for (uint32_t k = 0; k < b->link_count; k++) {
            if (a->links[i] == b->links[k])
                return true;
        }
    }
    return false;
}

/* Rows first and later are those of a group that can be judged at all. */
static void find_undisturbed(const struct hop_lint *l, struct readings *r, uint32_t first)
{
    for (uint32_t i = first; i < r->count; i++) {
        for (uint32_t k = i + 1; k < r->count; k++) {
            if (share_a_link(hop_lint_route_at(l, r->rows[i].route), hop_lint_route_at(l, r->rows[k].route)))
                return;
        }
    }
    for (uint32_t i = first; i < r->count; i++)
        r->rows[i].undisturbed = true;
}

static void note_best(struct readings *r, uint32_t node, uint32_t row, double share)
{
    double rate = r->rows[row].of->rate_Bps;
    if (rate > r->best_Bps[node]) {
        r->best_Bps[node] = rate;
        r->best_row[node] = row;
    }
    if (r->rows[row].undisturbed)
        r->share[node] = hop_max(r->share[node], share);
}

static const char *a_device(const struct hop_lint *l)
{
    uint32_t node = 0;
    while (node + 1 < l->node_count && !hop_node_is_device(hop_topology_node(l->topology, node)->kind))
        node++;
    return hop_lint_name(l, node);
}

/* false: a failure, or not one device of the rows is in the topology. */
static bool read_rows(struct hop_lint *l, struct readings *r)
{
    const struct hop_measurements *from = l->options->measurements;
    uint32_t total = hop_measurements_count(from), known = 0;
    size_t nodes = (size_t)l->node_count + 1;
    r->rows = hop_arena_alloc(&l->arena, ((size_t)total + 1) * sizeof *r->rows);
    r->best_Bps = hop_arena_alloc(&l->arena, nodes * sizeof *r->best_Bps);
    r->share = hop_arena_alloc(&l->arena, nodes * sizeof *r->share);
    r->best_row = hop_arena_alloc(&l->arena, nodes * sizeof *r->best_row);
    if (l->arena.failed)
        return false;
    for (uint32_t g = 0; g < hop_measurements_group_count(from) && l->status == HOP_OK; g++) {
        struct hop_measurement_group group = hop_measurements_group(from, g);
        uint32_t first = r->count;
        bool complete = group.count <= 1024; /* what is compared in pairs */
        for (uint32_t i = 0; i < group.count; i++) {
            const struct hop_measurement *m = hop_measurements_at(from, group.rows[i]);
            struct row row = {m, HOP_NONE, hop_topology_find(l->topology, m->from),
                              hop_topology_find(l->topology, m->to), false};
            bool found = row.from != HOP_NONE && row.to != HOP_NONE && row.from != row.to;
            known += found;
            row.route = found ? hop_lint_route(l, row.from, row.to) : HOP_NONE;
            if (row.route == HOP_NONE || isnan(m->rate_Bps))
                complete = false;
            else if (hop_lint_route_is_pcie(l, hop_lint_route_at(l, row.route)))
                r->rows[r->count++] = row;
        }
        if (complete)
            find_undisturbed(l, r, first);
    }
    for (uint32_t i = 0; i < r->count; i++) {
        double share = r->rows[i].of->rate_Bps / hop_lint_route_at(l, r->rows[i].route)->capacity_Bps;
        note_best(r, r->rows[i].from, i, share);
        note_best(r, r->rows[i].to, i, share);
    }
    if (known == 0 && l->status == HOP_OK) {
        l->status =
            hop_fail(l->diag, HOP_ERR_INVALID,
                     "none of the measured devices is in the topology %s\ndevices that `hopcast topology` shows, "
                     "such as %s",
                     hop_topology_name(l->topology), a_device(l));
        hop_diag_place(l->diag, "%s", hop_measurements_name(from));
    }
    return l->status == HOP_OK;
}

static void put_row(struct hop_lint *l, struct hop_buffer *out, const struct row *row)
{
    hop_buffer_printf(out, "%s (line %u) %s -> %s %s", row->of->transfer, row->of->line, row->of->from, row->of->to,
                      hop_lint_rate(l, row->of->rate_Bps));
}

/* ---- devices ---- */

/* The generation up to 5 and width, from 16 down to least_width, whose payload rate fits a measured rate best from
 * above. */
static void put_nearest_link(struct hop_lint *l, struct hop_buffer *out, double rate_Bps, unsigned least_width)
{
    static const unsigned widths[] = {16, 8, 4, 2, 1};
    double payload = hop_topology_parameter(l->topology, "pcie_payload")->value,
           header = hop_topology_parameter(l->topology, "pcie_header")->value, closest = INFINITY;
    unsigned generation = 0, width = 0;
    for (size_t w = 0; w < HOP_COUNT(widths) && widths[w] >= least_width; w++) {
        for (unsigned g = 1; g <= 5; g++) {
            double carries = hop_pcie_rate_Bps(g, widths[w], payload, header);
            if (carries >= 0.98 * rate_Bps && carries < 0.99 * closest) {
                closest = carries;
                generation = g;
                width = widths[w];
            }
        }
    }
    if (generation)
        hop_buffer_printf(out, "; gen%u x%u carries %s", generation, width, hop_lint_rate(l, closest));
}

static void slow_devices(struct hop_lint *l, struct readings *r)
{
    struct hop_lint_text text = {0};
    uint32_t *slow = hop_arena_alloc(&l->arena, ((size_t)l->node_count + 1) * sizeof *slow), count = 0, fastest = 0;
    for (uint32_t n = 0; slow && n < l->node_count; n++) {
        if (hop_topology_node(l->topology, n)->kind != HOP_NODE_GPU || !(r->share[n] > 0) || r->share[n] >= HALF)
            continue;
        if (count == 0 || r->best_Bps[n] > r->best_Bps[fastest])
            fastest = n;
        slow[count++] = n;
    }
    if (count == 0)
        return;
    const struct row *row = &r->rows[r->best_row[fastest]];
    hop_buffer_puts(&text.subject, hop_lint_names(l, slow, count));
    hop_buffer_puts(&text.evidence, "the fastest row is ");
    put_row(l, &text.evidence, row);
    hop_buffer_printf(&text.evidence, "; this way should carry %s",
                      hop_lint_rate(l, hop_lint_route_at(l, row->route)->capacity_Bps));
    put_nearest_link(l, &text.evidence, row->of->rate_Bps, 1);
    const struct hop_link *link = hop_lint_upstream(l, slow[0]);
    if (link && link->parameter)
        hop_buffer_printf(&text.evidence, "; the source does not say what these links are (parameter %s)",
                          link->parameter);
    hop_buffer_puts(&text.effect,
                    "predictions over these links are too fast; if they should carry more, so are they too slow");
    hop_lint_add(
        l, HOP_LINT_MEASURED_SLOW, HOP_LINT_WARNING, &text,
        "look at `lspci -vv` LnkSta under load: a riser, a bad slot or a link that trained low; say the real rate "
        "with --set LINK.capacity=RATE, or calibrate");
}

/* ---- ways that carry more than the topology says ---- */

/* Links that one parameter sets are one case. */
static bool same_case(const struct hop_lint *l, uint32_t a, uint32_t b)
{
    const char *x = hop_topology_link(l->topology, a)->parameter, *y = hop_topology_link(l->topology, b)->parameter;
    return a == b || (x && y && strcmp(x, y) == 0);
}

static void tell_fast(struct hop_lint *l, const struct row *fastest, uint32_t link_index, uint32_t rows)
{
    struct hop_lint_text text = {0};
    struct hop_buffer advice = {0};
    const struct hop_link *link = hop_topology_link(l->topology, link_index);
    char name[160];
    hop_topology_link_name(l->topology, 2 * link_index, name, sizeof name);
    hop_buffer_puts(&text.subject, link->parameter ? link->parameter : name);
    hop_buffer_printf(&text.evidence, "%u row%s faster than %s should be (%s), most of all ", rows,
                      rows == 1 ? " is" : "s are", name, hop_lint_link(l, link));
    put_row(l, &text.evidence, fastest);
    if (link->kind == HOP_LINK_PCIE)
        put_nearest_link(l, &text.evidence, fastest->of->rate_Bps, 16);
    hop_buffer_puts(&text.effect, "predictions are too slow where such a link limits");
    hop_buffer_printf(&advice, "--set %s=RATE, or calibrate a machine file with these measurements",
                      link->parameter ? link->parameter : "LINK.capacity");
    l->arena.failed |= advice.failed;
    hop_lint_add(l, HOP_LINT_MEASURED_FAST, HOP_LINT_WARNING, &text, advice.text ? advice.text : "");
    hop_buffer_finish(&advice);
}

static void fast_ways(struct hop_lint *l, const struct readings *r)
{
    enum { CASES = 64 };
    struct {
        uint32_t link, rows;
        const struct row *fastest;
    } cases[CASES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        const struct row *row = &r->rows[i];
        const struct hop_route *way = hop_lint_route_at(l, row->route);
        if (row->of->rate_Bps <= ABOVE * way->capacity_Bps)
            continue;
        uint32_t link = hop_lint_narrowest(l, way) / 2, at = 0;
        while (at < count && !same_case(l, cases[at].link, link))
            at++;
        if (at == CASES)
            continue;
        if (at == count) {
            cases[count].link = link;
            cases[count].rows = 0;
            cases[count++].fastest = row;
        }
        cases[at].rows++;
        if (row->of->rate_Bps > cases[at].fastest->of->rate_Bps)
            cases[at].fastest = row;
    }
    for (uint32_t i = 0; i < count; i++)
        tell_fast(l, cases[i].fastest, cases[i].link, cases[i].rows);
}

/* ---- pairs ---- */

static void redirected_pairs(struct hop_lint *l, const struct readings *r)
{
    enum { SHOWN = 6 };
    struct hop_lint_text text = {0};
    uint32_t count = 0;
    double reached = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        const struct row *row = &r->rows[i];
        const struct hop_route *way = hop_lint_route_at(l, row->route);
        double could = hop_min(r->best_Bps[row->from], r->best_Bps[row->to]);
        if (!row->undisturbed || hop_topology_node(l->topology, row->from)->kind != HOP_NODE_GPU ||
            hop_topology_node(l->topology, row->to)->kind != HOP_NODE_GPU || hop_lint_route_passes_root(l, way) ||
            row->of->rate_Bps > HALF * could)
            continue;
        if (count++ >= SHOWN)
            continue;
        hop_buffer_printf(&text.subject, "%s%s -> %s", count > 1 ? ", " : "", row->of->from, row->of->to);
        hop_buffer_puts(&text.evidence, count > 1 ? "; " : "below one switch, without others on their links: ");
        put_row(l, &text.evidence, row);
        reached = hop_max(reached, could);
    }
    if (count == 0)
        return;
    if (count > SHOWN) {
        hop_buffer_printf(&text.subject, " and %u more", count - SHOWN);
        hop_buffer_printf(&text.evidence, "; %u more rows", count - SHOWN);
    }
    hop_buffer_printf(&text.evidence, "; the same GPUs reach %s with others", hop_lint_rate(l, reached));
    hop_buffer_puts(
        &text.effect,
        "neighbours below a switch get half or less, and load its uplink twice, as if sent to the root complex and "
        "back");
    hop_lint_add(
        l, HOP_LINT_PEERS_REDIRECTED, HOP_LINT_WARNING, &text,
        "`lspci -vvv` should show ACSCtl without ReqRedir+: switch ACS off in the BIOS or with setpci (not where "
        "virtual machines share the devices), and see whether the driver allows peer-to-peer (`nvidia-smi topo -p2p "
        "w`)");
}

void hop_lint_rule_measured(struct hop_lint *l)
{
    struct readings readings = {0};
    if (!l->options->measurements || !read_rows(l, &readings))
        return;
    slow_devices(l, &readings);
    fast_ways(l, &readings);
    redirected_pairs(l, &readings);
}
