/* SPDX-License-Identifier: BSD-3-Clause */
/* Places the nodes and links of a topology for drawings; see picture.h. */
#include "report/picture.h"

#include <math.h>

#define TITLE_HEIGHT 76.0
#define BOX_HEIGHT 38.0
#define TOP_GAP 46.0 /* between two trees */
#define BAR_HEIGHT 30.0
#define BAR_GAP 40.0
#define LANES 64

static const struct hop_node *node_at(const struct hop_picture *d, uint32_t node)
{
    return hop_topology_node(d->topology, node);
}

static bool is_hidden(const struct hop_picture *d, uint32_t node)
{
    return d->hidden && d->hidden[node];
}

bool hop_picture_has_link(const struct hop_picture *d, uint32_t link)
{
    const uint32_t *ends = hop_topology_link(d->topology, link)->ends;
    return !is_hidden(d, ends[0]) && !is_hidden(d, ends[1]);
}

static double preferred_width(const struct hop_picture *d, uint32_t n, double lowest, double highest)
{
    const struct hop_node *node = node_at(d, n);
    const char *caption = d->caption ? d->caption(n, d->context) : node->label;
    double label = caption ? hop_text_columns(caption) * HOP_SMALL_ADVANCE : 0;
    return fmin(fmax(fmax(hop_text_columns(node->name) * HOP_NAME_ADVANCE, label) + 14, lowest), highest);
}

/* A node without children gets the next column. */
static void place_column(struct hop_picture *d, uint32_t node)
{
    struct hop_box *box = &d->boxes[node];
    bool device = hop_node_is_device(node_at(d, node)->kind);
    box->width = device ? d->device_width : preferred_width(d, node, 70, 150);
    box->left = d->cursor;
    box->right = d->cursor + box->width;
    box->x = d->cursor + box->width / 2;
    d->cursor = box->right + HOP_PICTURE_COLUMN_GAP;
    d->width = fmax(d->width, box->right + 12 + HOP_PICTURE_MARGIN);
    if (device)
        box->place = HOP_PLACE_DEVICE;
}

/* A tree, children from left to right; it has at most 64 levels. */
static void place_tree(struct hop_picture *d, uint32_t node, uint32_t depth)
{
    struct hop_box *box = &d->boxes[node];
    uint32_t first = HOP_NONE, last = HOP_NONE, child;
    box->place = HOP_PLACE_TREE;
    box->row = depth;
    if (!hop_node_is_device(node_at(d, node)->kind) && depth + 1 > d->rows)
        d->rows = depth + 1;
    for (uint32_t at = 0; (child = hop_next_child(d->topology, node, &at)) != HOP_NONE;) {
        if (is_hidden(d, child))
            continue;
        place_tree(d, child, depth + 1);
        first = first == HOP_NONE ? child : first;
        last = child;
    }
    if (first == HOP_NONE) {
        place_column(d, node);
        return;
    }
    box->left = d->boxes[first].left;
    box->right = d->boxes[last].right;
    box->x = (box->left + box->right) / 2;
    box->width = fmin(preferred_width(d, node, 70, 150), box->right - box->left);
    d->cursor += HOP_PICTURE_COLUMN_GAP / 2;
}

/* Trees first, then devices that are in none; what is left are bars, or nothing joins them to anything. */
static void place_forest(struct hop_picture *d)
{
    uint32_t nodes = hop_topology_node_count(d->topology);
    d->cursor = HOP_PICTURE_MARGIN + 12;
    for (uint32_t n = 0; n < nodes; n++) {
        if (hop_node_is_device(node_at(d, n)->kind) && !is_hidden(d, n))
            d->device_width = fmax(d->device_width, preferred_width(d, n, 62, 118));
    }
    for (uint32_t n = 0; n < nodes; n++) {
        if (!hop_is_top(d->topology, n) || is_hidden(d, n))
            continue;
        place_tree(d, n, 0);
        d->cursor += TOP_GAP - 1.5 * HOP_PICTURE_COLUMN_GAP;
    }
    for (uint32_t n = 0; n < nodes; n++) {
        const struct hop_node *node = node_at(d, n);
        if (hop_topology_upstream(d->topology, n) != HOP_NONE || hop_is_top(d->topology, n) || is_hidden(d, n))
            continue;
        if (hop_node_is_device(node->kind))
            place_column(d, n);
        else
            d->boxes[n].place = node->kind == HOP_NODE_SOCKET ? HOP_PLACE_ABOVE : HOP_PLACE_BELOW;
    }
}

bool hop_box_is_bar(const struct hop_box *box)
{
    return box->place == HOP_PLACE_ABOVE || box->place == HOP_PLACE_BELOW;
}

static uint32_t other_end(const struct hop_link *link, uint32_t node)
{
    return link->ends[link->ends[0] == node];
}

/* Lanes of one layer: how far to the right each is taken. */
struct lanes {
    uint32_t layer, first, count;
    double taken[LANES];
};

/* A bar spans what it joins, in the first lane of its layer with room. */
static void place_bar(struct hop_picture *d, uint32_t node, struct lanes *lanes)
{
    struct hop_box *box = &d->boxes[node];
    uint32_t links, lane = 0;
    const uint32_t *list = hop_topology_links_of(d->topology, node, &links);
    double left = INFINITY, right = 0, low = INFINITY, high = 0;
    for (uint32_t i = 0; i < links; i++) {
        const struct hop_box *other = &d->boxes[other_end(hop_topology_link(d->topology, list[i]), node)];
        if (!hop_picture_has_link(d, list[i]) || other->layer + 1 != box->layer ||
            (other->layer == 0 && hop_box_is_bar(other)))
            continue;
        left = fmin(left, other->left);
        right = fmax(right, other->right);
        low = fmin(low, other->x - other->width / 2);
        high = fmax(high, other->x + other->width / 2);
    }
    box->width = fmax(high - low, preferred_width(d, node, 62, 260));
    box->x = fmax((low + high) / 2, HOP_PICTURE_MARGIN + box->width / 2);
    box->left = fmin(left, box->x - box->width / 2);
    box->right = fmax(right, box->x + box->width / 2);
    if (lanes->layer != box->layer || lanes->count == LANES)
        *lanes = (struct lanes){.layer = box->layer, .first = lanes->first + lanes->count};
    while (lane < lanes->count && lanes->taken[lane] + HOP_PICTURE_COLUMN_GAP > box->x - box->width / 2)
        lane++;
    if (lane == lanes->count)
        lanes->count++;
    lanes->taken[lane] = box->x + box->width / 2;
    box->row = lanes->first + lane;
    d->width = fmax(d->width, box->x + box->width / 2 + HOP_PICTURE_MARGIN);
}

/* Bars layer by layer, the first next to the trees and devices. */
static void place_bars(struct hop_picture *d)
{
    uint32_t nodes = hop_topology_node_count(d->topology), count = 0;
    uint32_t *queue = hop_arena_alloc(d->arena, nodes * sizeof *queue);
    struct lanes above = {0}, below = {0};
    if (!queue)
        return;
    /* Pass 0 enters the bars next to placed nodes, then the queue enters their neighbours. */
    for (uint32_t i = 0; i < nodes + count; i++) {
        uint32_t from = i < nodes ? i : queue[i - nodes], links;
        if (i < nodes && (hop_box_is_bar(&d->boxes[from]) || is_hidden(d, from)))
            continue;
        const uint32_t *list = hop_topology_links_of(d->topology, from, &links);
        for (uint32_t l = 0; l < links; l++) {
            uint32_t to = other_end(hop_topology_link(d->topology, list[l]), from);
            if (!hop_box_is_bar(&d->boxes[to]) || d->boxes[to].layer || is_hidden(d, to))
                continue;
            d->boxes[to].layer = d->boxes[from].layer + 1;
            queue[count++] = to;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        place_bar(d, queue[i], d->boxes[queue[i]].place == HOP_PLACE_ABOVE ? &above : &below);
    for (uint32_t n = 0; n < nodes; n++) {
        if (hop_box_is_bar(&d->boxes[n]) && d->boxes[n].layer == 0) {
            place_column(d, n);
            d->boxes[n].place = HOP_PLACE_DEVICE;
        }
    }
    d->lanes_above = above.first + above.count;
    d->lanes_below = below.first + below.count;
}

/* ---- ways ---- */

enum hop_link_way hop_picture_way(const struct hop_picture *d, uint32_t index)
{
    const struct hop_link *link = hop_topology_link(d->topology, index);
    const struct hop_box *a = &d->boxes[link->ends[0]], *b = &d->boxes[link->ends[1]];
    bool top_a = a->place == HOP_PLACE_TREE && a->row == 0, top_b = b->place == HOP_PLACE_TREE && b->row == 0;
    if (hop_in_tree(link))
        return HOP_LINK_IN_TREE;
    if ((top_a && top_b) || (a->place == HOP_PLACE_ABOVE && b->place == HOP_PLACE_ABOVE && a->row == b->row)) {
        /* Nothing fits between neighbours. */
        double gap = a->x < b->x ? b->left - a->right : a->left - b->right;
        return gap < TOP_GAP + 2 * HOP_PICTURE_COLUMN_GAP ? HOP_LINK_BESIDE : HOP_LINK_ARC_ABOVE;
    }
    if (link->kind == HOP_LINK_CHIP && a->place == HOP_PLACE_TREE && b->place == HOP_PLACE_TREE && a->row == b->row)
        return HOP_LINK_IN_CHIP;
    if (a->place == HOP_PLACE_DEVICE && b->place == HOP_PLACE_DEVICE)
        return HOP_LINK_ARC_BELOW;
    if ((top_a && b->place == HOP_PLACE_ABOVE) || (top_b && a->place == HOP_PLACE_ABOVE))
        return HOP_LINK_TO_BAR_ABOVE;
    if ((a->place == HOP_PLACE_DEVICE && b->place == HOP_PLACE_BELOW) ||
        (b->place == HOP_PLACE_DEVICE && a->place == HOP_PLACE_BELOW))
        return HOP_LINK_TO_BAR_BELOW;
    return HOP_LINK_ELSEWHERE;
}

/* Longer arcs reach further, so that those from one side nest; those above are flat, lest the title floats away. */
double hop_picture_arc_depth(double distance, enum hop_link_way way)
{
    return 16 + (way == HOP_LINK_ARC_ABOVE ? 3.5 : 7) * sqrt(fabs(distance));
}

struct port {
    uint32_t node, end;
    int group; /* 0 to the left, 1 down, 2 to the right */
    double x;  /* of the other end */
};

/* At the edge of a node, from left to right: near to far on the left, then down, then far to near: arcs do not cross
 * where they leave. */
static int compare_ports(const void *a, const void *b)
{
    const struct port *x = a, *y = b;
    int order = HOP_ORDER(x->node, y->node);
    order = order ? order : HOP_ORDER(x->group, y->group);
    order = order ? order : HOP_ORDER(y->x, x->x);
    return order ? order : HOP_ORDER(x->end, y->end);
}

static void place_ports(struct hop_picture *d)
{
    uint32_t links = hop_topology_link_count(d->topology), count = 0;
    struct port *ports = hop_arena_alloc(d->arena, 2 * (size_t)links * sizeof *ports);
    for (uint32_t i = 0; ports && i < 2 * links; i++) {
        const struct hop_link *link = hop_topology_link(d->topology, i / 2);
        if (!hop_picture_has_link(d, i / 2))
            continue;
        uint32_t node = link->ends[i % 2];
        const struct hop_box *box = &d->boxes[node], *other = &d->boxes[link->ends[!(i % 2)]];
        enum hop_link_way way = hop_picture_way(d, i / 2);
        d->ports[i] = box->x;
        if (way == HOP_LINK_ARC_ABOVE || way == HOP_LINK_ARC_BELOW ||
            (way == HOP_LINK_TO_BAR_BELOW && !hop_box_is_bar(box)))
            ports[count++] = (struct port){node, i,
                                           way == HOP_LINK_TO_BAR_BELOW ? 1
                                           : other->x < box->x          ? 0
                                                                        : 2,
                                           other->x};
    }
    if (count > 0)
        qsort(ports, count, sizeof *ports, compare_ports);
    for (uint32_t i = 0, next; i < count; i = next) {
        next = i + 1;
        while (next < count && ports[next].node == ports[i].node)
            next++;
        const struct hop_box *box = &d->boxes[ports[i].node];
        double step = next - i > 1 ? fmin(9, (box->width - 16) / (next - i - 1)) : 0;
        for (uint32_t p = i; p < next; p++)
            d->ports[ports[p].end] = box->x + step * (p - i - (next - i - 1) / 2.0);
    }
}

/* Heights, once every x is known. */
static void place_rows(struct hop_picture *d)
{
    uint32_t nodes = hop_topology_node_count(d->topology), links = hop_topology_link_count(d->topology);
    for (uint32_t i = 0; i < links; i++) {
        const struct hop_link *link = hop_topology_link(d->topology, i);
        if (!hop_picture_has_link(d, i))
            continue;
        enum hop_link_way way = hop_picture_way(d, i);
        double depth = 0.75 * hop_picture_arc_depth(d->boxes[link->ends[0]].x - d->boxes[link->ends[1]].x, way) + 14;
        if (way == HOP_LINK_ARC_ABOVE)
            d->arcs_above = fmax(d->arcs_above, depth);
        else if (way == HOP_LINK_ARC_BELOW)
            d->arcs_below = fmax(d->arcs_below, depth);
    }
    d->first_y = TITLE_HEIGHT + d->arcs_above + d->lanes_above * (BAR_HEIGHT + BAR_GAP);
    d->device_y = d->first_y + d->rows * (BOX_HEIGHT + HOP_PICTURE_ROW_GAP);
    d->bars_y = d->device_y + BOX_HEIGHT + d->arcs_below + BAR_GAP + 10;
    d->height = d->lanes_below ? d->bars_y + d->lanes_below * (BAR_HEIGHT + BAR_GAP) - BAR_GAP
                               : d->device_y + BOX_HEIGHT + d->arcs_below;
    for (uint32_t n = 0; n < nodes; n++) {
        struct hop_box *box = &d->boxes[n];
        box->height = hop_box_is_bar(box) ? BAR_HEIGHT : BOX_HEIGHT;
        if (box->place == HOP_PLACE_TREE)
            box->y = d->first_y + box->row * (BOX_HEIGHT + HOP_PICTURE_ROW_GAP);
        else if (box->place == HOP_PLACE_DEVICE)
            box->y = d->device_y;
        else if (box->place == HOP_PLACE_BELOW)
            box->y = d->bars_y + box->row * (BAR_HEIGHT + BAR_GAP);
        else
            box->y = d->first_y - (box->row + 1) * (BAR_HEIGHT + BAR_GAP);
    }
}

bool hop_picture_make(struct hop_picture *d)
{
    size_t nodes = hop_topology_node_count(d->topology), links = hop_topology_link_count(d->topology);
    d->boxes = hop_arena_alloc(d->arena, nodes * sizeof *d->boxes);
    d->ports = hop_arena_alloc(d->arena, 2 * links * sizeof *d->ports);
    if (d->arena->failed)
        return false;
    place_forest(d);
    place_bars(d);
    place_ports(d);
    place_rows(d);
    return !d->arena->failed;
}
