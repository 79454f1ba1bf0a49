/* SPDX-License-Identifier: BSD-3-Clause */
/* Picks what drawings of loads show; see loads.h. */
#include "report/loads.h"

const char *hop_loads_note(const struct hop_loads_view *view, uint32_t node)
{
    const char *note = view->options.note ? view->options.note(node, view->options.context) : NULL;
    return note ? note : "";
}

double hop_load_larger_s(struct hop_link_load load)
{
    return hop_max(load.before_s, load.after_s);
}

struct hop_link_load hop_load_most(struct hop_link_load a, struct hop_link_load b)
{
    return (struct hop_link_load){hop_max(a.before_s, b.before_s), hop_max(a.after_s, b.after_s)};
}

bool hop_load_is_most(double load_s, double most_s)
{
    return load_s > 0 && load_s >= most_s * (1 - 1e-9);
}

static bool is_loaded(const struct hop_loads_view *view, uint32_t link)
{
    return hop_load_larger_s(view->links[link]) > 0;
}

static bool in_forest(const struct hop_topology *topology, uint32_t node)
{
    return hop_topology_upstream(topology, node) != HOP_NONE || hop_is_top(topology, node);
}

/* Everything with a note, and both ends of links that carry something, switches that are in no tree aside. */
static void show_busy(struct hop_loads_view *view)
{
    const struct hop_topology *topology = view->topology;
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) {
        if (hop_loads_note(view, n)[0])
            hop_show_up(topology, view->hidden, n);
    }
    for (uint32_t l = 0; l < hop_topology_link_count(topology); l++) {
        const struct hop_link *link = hop_topology_link(topology, l);
        for (unsigned e = 0; e < 2 && is_loaded(view, l); e++) {
            if (in_forest(topology, link->ends[e]) ||
                hop_node_is_device(hop_topology_node(topology, link->ends[e])->kind))
                hop_show_up(topology, view->hidden, link->ends[e]);
        }
    }
}

static void find_tops(struct hop_loads_view *view)
{
    for (uint32_t n = 0; n < hop_topology_node_count(view->topology); n++) {
        uint32_t node = n, up;
        while ((up = hop_topology_upstream(view->topology, node)) != HOP_NONE)
            node = hop_topology_link(view->topology, up)->ends[1];
        view->top[n] = node;
    }
}

static void count_idle(struct hop_loads_view *view)
{
    const struct hop_topology *topology = view->topology;
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) {
        bool counts = in_forest(topology, n) || hop_node_is_device(hop_topology_node(topology, n)->kind);
        if (!view->hidden[n] || view->top[n] != n || !counts)
            continue;
        view->idle++;
        view->nodes_idle += hop_count_below(topology, n);
    }
}

/* ---- too many ---- */

struct tree {
    uint32_t top, nodes;
    double weight_s; /* of the fullest link with an end in it */
};

static int compare_trees(const void *a, const void *b)
{
    const struct tree *x = a, *y = b;
    int order = HOP_ORDER(y->weight_s, x->weight_s);
    return order ? order : HOP_ORDER(x->top, y->top);
}

/* By top: how many nodes are shown, and the fullest link. */
static void weigh(const struct hop_loads_view *view, struct tree *trees)
{
    for (uint32_t n = 0; n < hop_topology_node_count(view->topology); n++) {
        trees[n].top = n;
        trees[view->top[n]].nodes += !view->hidden[n];
    }
    for (uint32_t l = 0; l < hop_topology_link_count(view->topology); l++) {
        for (unsigned e = 0; e < 2; e++) {
            struct tree *tree = &trees[view->top[hop_topology_link(view->topology, l)->ends[e]]];
            tree->weight_s = hop_max(tree->weight_s, hop_load_larger_s(view->links[l]));
        }
    }
}

/* The fullest trees that fit, at least one, stay. */
static void leave_out(struct hop_loads_view *view, uint32_t most)
{
    const struct hop_topology *topology = view->topology;
    uint32_t nodes = hop_topology_node_count(topology), count = 0, shown = 0;
    struct tree *trees = hop_arena_alloc(&view->arena, nodes * sizeof *trees);
    bool *dropped = hop_arena_alloc(&view->arena, nodes * sizeof *dropped);
    if (view->arena.failed)
        return;
    weigh(view, trees);
    for (uint32_t n = 0; n < nodes; n++) {
        if (trees[n].nodes > 0)
            trees[count++] = trees[n];
    }
    qsort(trees, count, sizeof *trees, compare_trees);
    for (uint32_t t = 0; t < count; t++) {
        bool fits = t == 0 || (view->left_out == 0 && shown + trees[t].nodes <= most);
        shown += fits ? trees[t].nodes : 0;
        dropped[trees[t].top] = !fits;
        view->left_out += !fits;
        view->nodes_left_out += fits ? 0 : hop_count_below(topology, trees[t].top);
    }
    for (uint32_t l = 0; l < hop_topology_link_count(topology); l++) {
        const struct hop_link *link = hop_topology_link(topology, l);
        if (dropped[view->top[link->ends[0]]] || dropped[view->top[link->ends[1]]])
            view->most_left_out = hop_load_most(view->most_left_out, view->links[l]);
    }
    for (uint32_t n = 0; n < nodes; n++)
        view->hidden[n] = view->hidden[n] || dropped[view->top[n]];
}

/* Of trees that are left out none is counted. */
static void count_hidden(struct hop_loads_view *view)
{
    const struct hop_topology *topology = view->topology;
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++)
        view->nodes_hidden +=
            view->hidden[n] && (in_forest(topology, n) || hop_node_is_device(hop_topology_node(topology, n)->kind));
    view->nodes_hidden -= view->nodes_left_out;
}

/* ---- all of it ---- */

static void add_up(struct hop_loads_view *view, const struct hop_link_load *loads)
{
    for (uint32_t l = 0; l < hop_topology_link_count(view->topology); l++) {
        view->links[l] = hop_load_most(loads[2 * l], loads[2 * l + 1]);
        view->most = hop_load_most(view->most, view->links[l]);
    }
}

bool hop_loads_view_make(struct hop_loads_view *view, const struct hop_topology *topology,
                         const struct hop_link_load *loads, const struct hop_loads_options *options, uint32_t most)
{
    size_t count = hop_topology_node_count(topology), links = hop_topology_link_count(topology);
    view->topology = topology;
    view->links = hop_arena_alloc(&view->arena, links * sizeof *view->links);
    view->hidden = hop_arena_alloc(&view->arena, count * sizeof *view->hidden);
    view->top = hop_arena_alloc(&view->arena, count * sizeof *view->top);
    if (hop_options_take(&view->options, sizeof view->options, options, NULL) != HOP_OK || view->arena.failed)
        return false;
    memset(view->hidden, true, count * sizeof *view->hidden);
    add_up(view, loads);
    find_tops(view);
    show_busy(view);
    count_idle(view);
    leave_out(view, most);
    count_hidden(view);
    return !view->arena.failed;
}
