/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A topology as a self-contained SVG drawing.
 *
 *     above   sockets as bars over their root complexes, arcs between tops that are not neighbours
 *     row 0   tops of the PCIe trees, side by side, neighbours joined by straight lines
 *     ...     switches, each centred over what is below it
 *     row n   all devices; a device has a column of its own, so that no link meets a box that is not its end
 *     below   arcs between devices (NVLink, xGMI), switches without PCIe (NVSwitch, fabrics) as wide bars
 *
 * Links that look alike (kind, generation, width, count, capacities) are one look: one colour, one stroke width, one
 * entry in the legend; only links of a rare look carry a label of their own. Lengths are in pixels.
 */
#include "report/report.h"

#include <math.h>
#include <stdio.h>

#define MARGIN 28.0
#define TITLE_HEIGHT 76.0
#define BOX_HEIGHT 38.0
#define ROW_GAP 66.0
#define COLUMN_GAP 10.0
#define TOP_GAP 46.0 /* between two trees */
#define BAR_HEIGHT 30.0
#define BAR_GAP 40.0
#define NAME_ADVANCE 7.6 /* of a character, generous: fonts differ */
#define SMALL_ADVANCE 5.9
#define LABELLED_LINKS 3 /* a look with at most so many links is labelled where they are drawn */
#define LEGEND_LOOKS 12
#define LANES 64

enum place { PLACE_TREE, PLACE_DEVICE, PLACE_ABOVE, PLACE_BELOW };

struct box {
    double x, y, width, height; /* centre, upper edge */
    double left, right;         /* of everything under it */
    enum place place;
    uint32_t row;   /* PLACE_TREE: depth; bars: lane, counted away from the trees */
    uint32_t layer; /* bars: links to the nearest node that is none; 0: not a bar, or not reached */
};

struct look {
    const struct hop_link *link; /* one of them */
    uint32_t links;
    unsigned ordinal; /* among the looks of its kind, commonest first */
};

struct drawing {
    const struct hop_topology *topology;
    struct hop_buffer out;
    struct box *boxes;
    double *ports; /* per link end (2 * link + end): x where an arc or a link to a bar leaves a node's edge */
    struct look *looks;
    uint32_t *look_of; /* per link */
    uint32_t look_count;
    uint32_t rows; /* of the trees above the devices */
    uint32_t lanes_above, lanes_below;
    double device_width, cursor;
    double arcs_above, arcs_below;
    double first_y, device_y, bars_y; /* upper edges of row 0, of the devices, of the first lane below */
    double width, height;
};

struct colours {
    const char *fill, *stroke;
};
static const struct colours node_colours[HOP_NODE_KIND_COUNT] = {
    [HOP_NODE_GPU] = {"#d3ecc8", "#4b8b1e"},    [HOP_NODE_HOST] = {"#fdf0cf", "#b7791f"},
    [HOP_NODE_NIC] = {"#d3e6f8", "#1f6fb2"},    [HOP_NODE_NVME] = {"#f8dbe6", "#b83280"},
    [HOP_NODE_FPGA] = {"#e8ddf7", "#6b46c1"},   [HOP_NODE_SWITCH] = {"#e6eaf0", "#64748b"},
    [HOP_NODE_ROOT] = {"#fbdcc4", "#c2620a"},   [HOP_NODE_SOCKET] = {"#f6e7da", "#a16207"},
    [HOP_NODE_FABRIC] = {"#d8efee", "#0f766e"},
};
static const char *const link_colours[HOP_LINK_KIND_COUNT] = {
    [HOP_LINK_PCIE] = "#475569",       [HOP_LINK_MEMORY] = "#b7a06a",   [HOP_LINK_SOCKET] = "#c2620a",
    [HOP_LINK_NVLINK] = "#4b8b1e",     [HOP_LINK_XGMI] = "#c81e4a",     [HOP_LINK_C2C] = "#7c3aed",
    [HOP_LINK_INFINIBAND] = "#1f6fb2", [HOP_LINK_ETHERNET] = "#0f766e", [HOP_LINK_TORUS] = "#92400e",
    [HOP_LINK_CHIP] = "#0891b2",
};
/* PCIe links differ most from each other; other kinds tell themselves apart by their width. */
static const char *const pcie_colours[] = {"#475569", "#0891b2", "#d97706", "#7c3aed", "#be123c"};

static const struct hop_node *node_at(const struct drawing *d, uint32_t node)
{
    return hop_topology_node(d->topology, node);
}

/* ---- texts ---- */

/* Escaped and cut to so many characters; what XML or UTF-8 does not allow becomes '?'. */
static void add_text(struct hop_buffer *out, const char *text, unsigned limit)
{
    unsigned count = 0;
    for (const char *c = text; *c;) {
        unsigned length = hop_text_utf8(c);
        char piece[5] = "?";
        if (length > 1 || (length == 1 && (unsigned char)*c >= 0x20 && *c != 0x7f))
            memcpy(piece, c, length);
        c += length ? length : 1;
        if (++count == limit && *c) {
            hop_buffer_puts(out, "…");
            return;
        }
        hop_buffer_xml(out, piece);
    }
}

/* "12.44 GB/s", "12.00 GB/s up, 10.00 GB/s down, 1 us" */
static void rate_text(const struct hop_link_text *words, char *text, size_t size)
{
    char other[80] = "";
    if (!words->even)
        (void)snprintf(other, sizeof other, " %s, %s %s", words->direction[0], words->rate[1], words->direction[1]);
    (void)snprintf(text, size, "%s%s%s%s", words->rate[0], other, words->latency[0] ? ", " : "", words->latency);
}

/* Centred text; halo: readable over lines. */
static void add_label(struct drawing *d, double x, double y, const char *anchor, const char *text)
{
    hop_buffer_printf(
        &d->out,
        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"9.5\" fill=\"#334155\" stroke=\"#ffffff\" "
        "stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\">",
        x, y, anchor);
    add_text(&d->out, text, UINT32_MAX);
    hop_buffer_puts(&d->out, "</text>\n");
}

/* ---- looks ---- */

struct indexed_link {
    const struct hop_link *link;
    uint32_t index, look;
};

static int compare_links(const void *a, const void *b)
{
    const struct indexed_link *x = a, *y = b;
    int order = hop_compare_looks(x->link, y->link);
    return order ? order : HOP_ORDER(x->index, y->index);
}

struct ranked_look {
    struct look look;
    uint32_t was;
};

/* By kind, the commonest of a kind first. */
static int compare_ranked(const void *a, const void *b)
{
    const struct ranked_look *x = a, *y = b;
    int order = HOP_ORDER(x->look.link->kind, y->look.link->kind);
    order = order ? order : HOP_ORDER(y->look.links, x->look.links);
    return order ? order : HOP_ORDER(x->was, y->was);
}

static bool find_looks(struct drawing *d)
{
    uint32_t links = hop_topology_link_count(d->topology);
    struct indexed_link *sorted = malloc(((size_t)links + 1) * sizeof *sorted);
    struct ranked_look *ranked = calloc((size_t)links + 1, sizeof *ranked);
    uint32_t *now = malloc(((size_t)links + 1) * sizeof *now);
    bool done = sorted && ranked && now;
    if (!done)
        goto end;
    for (uint32_t i = 0; i < links; i++)
        sorted[i] = (struct indexed_link){hop_topology_link(d->topology, i), i, 0};
    qsort(sorted, links, sizeof *sorted, compare_links);
    for (uint32_t i = 0; i < links; i++) {
        if (i == 0 || hop_compare_looks(sorted[i - 1].link, sorted[i].link) != 0) {
            ranked[d->look_count] = (struct ranked_look){{sorted[i].link, 0, 0}, d->look_count};
            d->look_count++;
        }
        sorted[i].look = d->look_count - 1;
        ranked[d->look_count - 1].look.links++;
    }
    qsort(ranked, d->look_count, sizeof *ranked, compare_ranked);
    for (uint32_t l = 0; l < d->look_count; l++) {
        bool first = l == 0 || ranked[l].look.link->kind != ranked[l - 1].look.link->kind;
        ranked[l].look.ordinal = first ? 0 : ranked[l - 1].look.ordinal + 1;
        d->looks[l] = ranked[l].look;
        now[ranked[l].was] = l;
    }
    for (uint32_t i = 0; i < links; i++)
        d->look_of[sorted[i].index] = now[sorted[i].look];
end:
    free(sorted);
    free(ranked);
    free(now);
    return done;
}

static const char *look_colour(const struct look *look)
{
    unsigned last = HOP_COUNT(pcie_colours) - 1;
    return look->link->kind == HOP_LINK_PCIE ? pcie_colours[look->ordinal < last ? look->ordinal : last]
                                             : link_colours[look->link->kind];
}

/* ---- places ---- */

static double preferred_width(const struct hop_node *node, double lowest, double highest)
{
    double label = node->label ? hop_text_columns(node->label) * SMALL_ADVANCE : 0;
    return fmin(fmax(fmax(hop_text_columns(node->name) * NAME_ADVANCE, label) + 14, lowest), highest);
}

/* A node without children gets the next column. */
static void place_column(struct drawing *d, uint32_t node)
{
    struct box *box = &d->boxes[node];
    bool device = hop_node_is_device(node_at(d, node)->kind);
    box->width = device ? d->device_width : preferred_width(node_at(d, node), 70, 150);
    box->left = d->cursor;
    box->right = d->cursor + box->width;
    box->x = d->cursor + box->width / 2;
    d->cursor = box->right + COLUMN_GAP;
    d->width = fmax(d->width, box->right + 12 + MARGIN);
    if (device)
        box->place = PLACE_DEVICE;
}

/* A tree, children from left to right; it has at most 64 levels. */
static bool place_tree(struct drawing *d, uint32_t node, uint32_t depth)
{
    struct box *box = &d->boxes[node];
    uint32_t count = hop_children(d->topology, node, NULL);
    box->place = PLACE_TREE;
    box->row = depth;
    if (!hop_node_is_device(node_at(d, node)->kind) && depth + 1 > d->rows)
        d->rows = depth + 1;
    if (count == 0) {
        place_column(d, node);
        return true;
    }
    uint32_t *children = malloc(count * sizeof *children);
    if (!children)
        return false;
    hop_children(d->topology, node, children);
    bool placed = true;
    for (uint32_t i = 0; i < count && placed; i++)
        placed = place_tree(d, children[i], depth + 1);
    box->left = d->boxes[children[0]].left;
    box->right = d->boxes[children[count - 1]].right;
    box->x = (box->left + box->right) / 2;
    box->width = fmin(preferred_width(node_at(d, node), 70, 150), box->right - box->left);
    d->cursor += COLUMN_GAP / 2;
    free(children);
    return placed;
}

/* Trees first, then devices that are in none; what is left are bars, or nothing joins them to anything. */
static bool place_forest(struct drawing *d)
{
    uint32_t nodes = hop_topology_node_count(d->topology);
    d->cursor = MARGIN + 12;
    for (uint32_t n = 0; n < nodes; n++) {
        if (hop_node_is_device(node_at(d, n)->kind))
            d->device_width = fmax(d->device_width, preferred_width(node_at(d, n), 62, 118));
    }
    for (uint32_t n = 0; n < nodes; n++) {
        if (!hop_is_top(d->topology, n))
            continue;
        if (!place_tree(d, n, 0))
            return false;
        d->cursor += TOP_GAP - 1.5 * COLUMN_GAP;
    }
    for (uint32_t n = 0; n < nodes; n++) {
        const struct hop_node *node = node_at(d, n);
        if (hop_topology_upstream(d->topology, n) != HOP_NONE || hop_is_top(d->topology, n))
            continue;
        if (hop_node_is_device(node->kind))
            place_column(d, n);
        else
            d->boxes[n].place = node->kind == HOP_NODE_SOCKET ? PLACE_ABOVE : PLACE_BELOW;
    }
    return true;
}

static bool is_bar(const struct box *box)
{
    return box->place == PLACE_ABOVE || box->place == PLACE_BELOW;
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
static void place_bar(struct drawing *d, uint32_t node, struct lanes *lanes)
{
    struct box *box = &d->boxes[node];
    uint32_t links, lane = 0;
    const uint32_t *list = hop_topology_links_of(d->topology, node, &links);
    double left = INFINITY, right = 0, low = INFINITY, high = 0;
    for (uint32_t i = 0; i < links; i++) {
        const struct box *other = &d->boxes[other_end(hop_topology_link(d->topology, list[i]), node)];
        if (other->layer + 1 != box->layer || (other->layer == 0 && is_bar(other)))
            continue;
        left = fmin(left, other->left);
        right = fmax(right, other->right);
        low = fmin(low, other->x - other->width / 2);
        high = fmax(high, other->x + other->width / 2);
    }
    box->width = fmax(high - low, preferred_width(node_at(d, node), 62, 260));
    box->x = fmax((low + high) / 2, MARGIN + box->width / 2);
    box->left = fmin(left, box->x - box->width / 2);
    box->right = fmax(right, box->x + box->width / 2);
    if (lanes->layer != box->layer || lanes->count == LANES)
        *lanes = (struct lanes){.layer = box->layer, .first = lanes->first + lanes->count};
    while (lane < lanes->count && lanes->taken[lane] + COLUMN_GAP > box->x - box->width / 2)
        lane++;
    if (lane == lanes->count)
        lanes->count++;
    lanes->taken[lane] = box->x + box->width / 2;
    box->row = lanes->first + lane;
    d->width = fmax(d->width, box->x + box->width / 2 + MARGIN);
}

/* Bars layer by layer, the first next to the trees and devices. */
static bool place_bars(struct drawing *d)
{
    uint32_t nodes = hop_topology_node_count(d->topology), count = 0;
    uint32_t *queue = malloc(((size_t)nodes + 1) * sizeof *queue);
    struct lanes above = {0}, below = {0};
    if (!queue)
        return false;
    /* Pass 0 enters the bars next to placed nodes, then the queue enters their neighbours. */
    for (uint32_t i = 0; i < nodes + count; i++) {
        uint32_t from = i < nodes ? i : queue[i - nodes], links;
        if (i < nodes && is_bar(&d->boxes[from]))
            continue;
        const uint32_t *list = hop_topology_links_of(d->topology, from, &links);
        for (uint32_t l = 0; l < links; l++) {
            uint32_t to = other_end(hop_topology_link(d->topology, list[l]), from);
            if (!is_bar(&d->boxes[to]) || d->boxes[to].layer)
                continue;
            d->boxes[to].layer = d->boxes[from].layer + 1;
            queue[count++] = to;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        place_bar(d, queue[i], d->boxes[queue[i]].place == PLACE_ABOVE ? &above : &below);
    for (uint32_t n = 0; n < nodes; n++) {
        if (is_bar(&d->boxes[n]) && d->boxes[n].layer == 0) {
            place_column(d, n);
            d->boxes[n].place = PLACE_DEVICE;
        }
    }
    d->lanes_above = above.first + above.count;
    d->lanes_below = below.first + below.count;
    free(queue);
    return true;
}

/* ---- ways ---- */

enum way { WAY_TREE, WAY_SIDE, WAY_CHIP, WAY_ARC_ABOVE, WAY_ARC_BELOW, WAY_BAR_ABOVE, WAY_BAR_BELOW, WAY_OTHER };

static enum way way_of(const struct drawing *d, const struct hop_link *link)
{
    const struct box *a = &d->boxes[link->ends[0]], *b = &d->boxes[link->ends[1]];
    bool top_a = a->place == PLACE_TREE && a->row == 0, top_b = b->place == PLACE_TREE && b->row == 0;
    if (hop_in_tree(link))
        return WAY_TREE;
    if ((top_a && top_b) || (a->place == PLACE_ABOVE && b->place == PLACE_ABOVE && a->row == b->row)) {
        /* Nothing fits between neighbours. */
        double gap = a->x < b->x ? b->left - a->right : a->left - b->right;
        return gap < TOP_GAP + 2 * COLUMN_GAP ? WAY_SIDE : WAY_ARC_ABOVE;
    }
    if (link->kind == HOP_LINK_CHIP && a->place == PLACE_TREE && b->place == PLACE_TREE && a->row == b->row)
        return WAY_CHIP;
    if (a->place == PLACE_DEVICE && b->place == PLACE_DEVICE)
        return WAY_ARC_BELOW;
    if ((top_a && b->place == PLACE_ABOVE) || (top_b && a->place == PLACE_ABOVE))
        return WAY_BAR_ABOVE;
    if ((a->place == PLACE_DEVICE && b->place == PLACE_BELOW) || (b->place == PLACE_DEVICE && a->place == PLACE_BELOW))
        return WAY_BAR_BELOW;
    return WAY_OTHER;
}

/* Longer arcs reach further, so that those from one side nest; those above are flat, lest the title floats away. */
static double arc_depth(double distance, enum way way)
{
    return 16 + (way == WAY_ARC_ABOVE ? 3.5 : 7) * sqrt(fabs(distance));
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

static bool place_ports(struct drawing *d)
{
    uint32_t links = hop_topology_link_count(d->topology), count = 0;
    struct port *ports = malloc((2 * (size_t)links + 1) * sizeof *ports);
    if (!ports)
        return false;
    for (uint32_t i = 0; i < 2 * links; i++) {
        const struct hop_link *link = hop_topology_link(d->topology, i / 2);
        uint32_t node = link->ends[i % 2];
        const struct box *box = &d->boxes[node], *other = &d->boxes[link->ends[!(i % 2)]];
        enum way way = way_of(d, link);
        d->ports[i] = box->x;
        if (way == WAY_ARC_ABOVE || way == WAY_ARC_BELOW || (way == WAY_BAR_BELOW && !is_bar(box)))
            ports[count++] = (struct port){node, i, way == WAY_BAR_BELOW ? 1 : other->x < box->x ? 0 : 2, other->x};
    }
    qsort(ports, count, sizeof *ports, compare_ports);
    for (uint32_t i = 0, next; i < count; i = next) {
        next = i + 1;
        while (next < count && ports[next].node == ports[i].node)
            next++;
        const struct box *box = &d->boxes[ports[i].node];
        double step = next - i > 1 ? fmin(9, (box->width - 16) / (next - i - 1)) : 0;
        for (uint32_t p = i; p < next; p++)
            d->ports[ports[p].end] = box->x + step * (p - i - (next - i - 1) / 2.0);
    }
    free(ports);
    return true;
}

/* Heights, once every x is known. */
static void place_rows(struct drawing *d)
{
    uint32_t nodes = hop_topology_node_count(d->topology), links = hop_topology_link_count(d->topology);
    for (uint32_t i = 0; i < links; i++) {
        const struct hop_link *link = hop_topology_link(d->topology, i);
        enum way way = way_of(d, link);
        double depth = 0.75 * arc_depth(d->boxes[link->ends[0]].x - d->boxes[link->ends[1]].x, way) + 14;
        if (way == WAY_ARC_ABOVE)
            d->arcs_above = fmax(d->arcs_above, depth);
        else if (way == WAY_ARC_BELOW)
            d->arcs_below = fmax(d->arcs_below, depth);
    }
    d->first_y = TITLE_HEIGHT + d->arcs_above + d->lanes_above * (BAR_HEIGHT + BAR_GAP);
    d->device_y = d->first_y + d->rows * (BOX_HEIGHT + ROW_GAP);
    d->bars_y = d->device_y + BOX_HEIGHT + d->arcs_below + BAR_GAP + 10;
    d->height = d->lanes_below ? d->bars_y + d->lanes_below * (BAR_HEIGHT + BAR_GAP) - BAR_GAP
                               : d->device_y + BOX_HEIGHT + d->arcs_below;
    for (uint32_t n = 0; n < nodes; n++) {
        struct box *box = &d->boxes[n];
        box->height = is_bar(box) ? BAR_HEIGHT : BOX_HEIGHT;
        if (box->place == PLACE_TREE)
            box->y = d->first_y + box->row * (BOX_HEIGHT + ROW_GAP);
        else if (box->place == PLACE_DEVICE)
            box->y = d->device_y;
        else if (box->place == PLACE_BELOW)
            box->y = d->bars_y + box->row * (BAR_HEIGHT + BAR_GAP);
        else
            box->y = d->first_y - (box->row + 1) * (BAR_HEIGHT + BAR_GAP);
    }
    d->width = fmax(d->width, 720);
}

/* ---- drawing ---- */

/* A pale panel behind each tree. */
static void draw_panels(struct drawing *d)
{
    for (uint32_t n = 0; n < hop_topology_node_count(d->topology); n++) {
        const struct box *box = &d->boxes[n];
        if (box->place != PLACE_TREE || box->row != 0)
            continue;
        hop_buffer_printf(&d->out,
                          "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"10\" fill=\"#f8fafc\" "
                          "stroke=\"#e2e8f0\"/>\n",
                          box->left - 12, d->first_y - 12, box->right - box->left + 24,
                          d->device_y + BOX_HEIGHT - d->first_y + 24);
        if (node_at(d, n)->numa >= 0 && box->x - box->width / 2 - box->left > 50)
            hop_buffer_printf(&d->out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" fill=\"#94a3b8\">numa %d</text>\n",
                              box->left, d->first_y + 4, node_at(d, n)->numa);
    }
}

/* The place of a child among its siblings, as an x on its parent's lower edge. */
static double parent_port(const struct drawing *d, const struct hop_link *link)
{
    const struct box *child = &d->boxes[link->ends[0]], *parent = &d->boxes[link->ends[1]];
    double reach = parent->right - parent->left, room = parent->width - 24;
    return reach > 0 && room > 0 ? parent->x + (child->x - parent->x) / reach * room : parent->x;
}

static void draw_tree_link(struct drawing *d, const struct hop_link *link)
{
    const struct box *child = &d->boxes[link->ends[0]], *parent = &d->boxes[link->ends[1]];
    double from = parent->y + parent->height, band = from + ROW_GAP, x = parent_port(d, link);
    /* Curved down to the next row, then straight: its column is its own. */
    hop_buffer_printf(&d->out, "M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1fV%.1f", x, from, x, from + ROW_GAP * 0.55,
                      child->x, band - ROW_GAP * 0.65, child->x, band - 8, child->y);
}

/* Straight down where the two overlap, each lane at its own x; curved where they do not. */
static void draw_other(struct drawing *d, const struct hop_link *link)
{
    const struct box *a = &d->boxes[link->ends[0]], *b = &d->boxes[link->ends[1]];
    const struct box *high = a->y <= b->y ? a : b, *low = a->y <= b->y ? b : a;
    double from = high->y + high->height, to = fmax(low->y, from + 30);
    double left = fmax(a->x - a->width / 2, b->x - b->width / 2),
           right = fmin(a->x + a->width / 2, b->x + b->width / 2);
    if (is_bar(a) && is_bar(b) && right - left > 20) {
        double x = (left + right) / 2 + fmin(16.0 * low->row, (right - left) / 2 - 8);
        hop_buffer_printf(&d->out, "M%.1f %.1fV%.1f", x, from, to);
        return;
    }
    hop_buffer_printf(&d->out, "M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", high->x, from, high->x, (from + to) / 2,
                      low->x, (from + to) / 2, low->x, to);
}

static void draw_path(struct drawing *d, uint32_t index, enum way way)
{
    const struct hop_link *link = hop_topology_link(d->topology, index);
    const struct box *a = &d->boxes[link->ends[0]], *b = &d->boxes[link->ends[1]];
    const struct box *left = a->x < b->x ? a : b, *right = a->x < b->x ? b : a;
    double depth = arc_depth(a->x - b->x, way), from = d->ports[2 * index], to = d->ports[2 * index + 1];
    switch (way) {
    case WAY_TREE:
        draw_tree_link(d, link);
        break;
    case WAY_SIDE:
        hop_buffer_printf(&d->out, "M%.1f %.1fH%.1f", left->x + left->width / 2, a->y + a->height / 2,
                          right->x - right->width / 2);
        break;
    case WAY_CHIP: /* below the switches, in the band that leads to the next row */
        hop_buffer_printf(&d->out, "M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", a->x, a->y + a->height, a->x,
                          a->y + a->height + ROW_GAP / 3, b->x, b->y + b->height + ROW_GAP / 3, b->x, b->y + b->height);
        break;
    case WAY_ARC_ABOVE:
        hop_buffer_printf(&d->out, "M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", from, a->y, from, a->y - depth, to,
                          b->y - depth, to, b->y);
        break;
    case WAY_ARC_BELOW:
        hop_buffer_printf(&d->out, "M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", from, a->y + a->height, from,
                          a->y + a->height + depth, to, b->y + b->height + depth, to, b->y + b->height);
        break;
    case WAY_BAR_ABOVE:
    case WAY_BAR_BELOW: {
        const struct box *high = a->y < b->y ? a : b, *low = a->y < b->y ? b : a;
        hop_buffer_printf(&d->out, "M%.1f %.1fV%.1f", d->ports[2 * index + is_bar(a)], high->y + high->height, low->y);
        break;
    }
    default:
        draw_other(d, link);
    }
}

static void draw_link(struct drawing *d, uint32_t index)
{
    const struct hop_link *link = hop_topology_link(d->topology, index);
    const struct look *look = &d->looks[d->look_of[index]];
    struct hop_link_text words = hop_describe_link(link);
    char rate[128];
    rate_text(&words, rate, sizeof rate);
    hop_buffer_puts(&d->out, "<path d=\"");
    draw_path(d, index, way_of(d, link));
    hop_buffer_printf(&d->out, "\" stroke=\"%s\" stroke-width=\"%.1f\"%s><title>%s -- %s: %s, %s</title></path>\n",
                      look_colour(look), hop_link_stroke(look->link),
                      way_of(d, link) == WAY_ARC_BELOW ? " stroke-opacity=\"0.8\"" : "",
                      node_at(d, link->ends[0])->name, node_at(d, link->ends[1])->name, words.what, rate);
}

/* Labels of links with a rare look: in the tree above the child, between neighbours over and under the line. */
static void draw_link_label(struct drawing *d, uint32_t index)
{
    const struct hop_link *link = hop_topology_link(d->topology, index);
    const struct box *a = &d->boxes[link->ends[0]], *b = &d->boxes[link->ends[1]];
    struct hop_link_text words = hop_describe_link(link);
    char rate[128];
    if (d->looks[d->look_of[index]].links > LABELLED_LINKS)
        return;
    rate_text(&words, rate, sizeof rate);
    double room = fabs(a->x - b->x) - (a->width + b->width) / 2;
    double need = fmax(hop_text_columns(words.what), hop_text_columns(rate)) * SMALL_ADVANCE;
    double middle = (a->x + b->x + (a->x < b->x ? a->width - b->width : b->width - a->width) / 2) / 2;
    enum way way = way_of(d, link);
    if (way == WAY_TREE && need < a->width + COLUMN_GAP) {
        add_label(d, a->x + 6, a->y - 19, "start", words.what);
        add_label(d, a->x + 6, a->y - 8, "start", rate);
    } else if (way == WAY_SIDE && need < room) {
        add_label(d, middle, a->y + a->height / 2 - 6, "middle", words.what);
        add_label(d, middle, a->y + a->height / 2 + 13, "middle", rate);
    } else if (way == WAY_CHIP) {
        add_label(d, middle, a->y + a->height + ROW_GAP / 4 + 11, "middle", rate);
    } else if (way == WAY_ARC_ABOVE || way == WAY_ARC_BELOW) {
        double depth = 0.75 * arc_depth(a->x - b->x, way);
        add_label(d, middle, way == WAY_ARC_ABOVE ? a->y - depth - 5 : a->y + a->height + depth + 11, "middle", rate);
    }
}

static void draw_box(struct drawing *d, uint32_t n)
{
    const struct hop_node *node = node_at(d, n);
    const struct box *box = &d->boxes[n];
    const struct colours *colours = &node_colours[node->kind];
    bool label = node->label && node->label[0] && !is_bar(box);
    double room = box->width - 8;
    hop_buffer_printf(&d->out, "<g><title>%s: %s", node->name, hop_node_kind_name(node->kind));
    if (node->label) {
        hop_buffer_puts(&d->out, ", ");
        add_text(&d->out, node->label, UINT32_MAX);
    }
    if (node->bus_id) {
        hop_buffer_puts(&d->out, ", ");
        add_text(&d->out, node->bus_id, UINT32_MAX);
    }
    hop_buffer_printf(&d->out,
                      "</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"5\" fill=\"%s\" "
                      "stroke=\"%s\" stroke-width=\"1.2\"/>",
                      box->x - box->width / 2, box->y, box->width, box->height, colours->fill, colours->stroke);
    hop_buffer_printf(&d->out,
                      "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"12\" font-weight=\"bold\" "
                      "fill=\"#1e293b\">",
                      box->x, box->y + (label ? 16 : box->height / 2 + 4));
    add_text(&d->out, node->name, (unsigned)fmax(room / NAME_ADVANCE, 3));
    hop_buffer_puts(&d->out, "</text>");
    if (label) {
        hop_buffer_printf(&d->out,
                          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"10\" fill=\"#475569\">",
                          box->x, box->y + 30);
        add_text(&d->out, node->label, (unsigned)fmax(room / SMALL_ADVANCE, 3));
        hop_buffer_puts(&d->out, "</text>");
    } else if (is_bar(box) && node->label) {
        hop_buffer_printf(&d->out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" fill=\"#475569\">",
                          box->x + hop_text_columns(node->name) * NAME_ADVANCE / 2 + 8, box->y + box->height / 2 + 4);
        add_text(&d->out, node->label,
                 (unsigned)fmax((room - hop_text_columns(node->name) * NAME_ADVANCE - 16) / 2 / SMALL_ADVANCE, 3));
        hop_buffer_puts(&d->out, "</text>");
    }
    hop_buffer_puts(&d->out, "</g>\n");
}

/* ---- title and legend ---- */

static void draw_title(struct drawing *d)
{
    hop_buffer_printf(&d->out, "<text x=\"%.1f\" y=\"32\" font-size=\"18\" font-weight=\"bold\" fill=\"#0f172a\">",
                      MARGIN);
    add_text(&d->out, hop_topology_name(d->topology), 120);
    hop_buffer_printf(&d->out, "</text>\n<text x=\"%.1f\" y=\"50\" font-size=\"11\" fill=\"#64748b\">", MARGIN);
    hop_add_kinds(&d->out, d->topology);
    hop_buffer_printf(&d->out, "; %u links</text>\n", hop_topology_link_count(d->topology));
}

/* Where the next entry of the legend goes; a line that is full ends. */
static void legend_advance(struct drawing *d, double *x, double need)
{
    if (*x + need > d->width - MARGIN && *x > MARGIN) {
        *x = MARGIN;
        d->height += 22;
    }
}

static void draw_node_legend(struct drawing *d)
{
    bool used[HOP_NODE_KIND_COUNT] = {false};
    double x = MARGIN;
    for (uint32_t n = 0; n < hop_topology_node_count(d->topology); n++)
        used[node_at(d, n)->kind] = true;
    for (unsigned kind = 0; kind < HOP_NODE_KIND_COUNT; kind++) {
        const char *name = hop_node_kind_name(kind);
        double need = 40 + hop_text_columns(name) * 6.4;
        if (!used[kind])
            continue;
        legend_advance(d, &x, need);
        hop_buffer_printf(&d->out,
                          "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"12\" rx=\"3\" fill=\"%s\" stroke=\"%s\"/>"
                          "<text x=\"%.1f\" y=\"%.1f\" font-size=\"11\" fill=\"#334155\">%s</text>\n",
                          x, d->height - 10, node_colours[kind].fill, node_colours[kind].stroke, x + 20, d->height,
                          name);
        x += need;
    }
}

static void draw_link_legend(struct drawing *d)
{
    double x = MARGIN;
    for (uint32_t l = 0; l < d->look_count && l < LEGEND_LOOKS; l++) {
        const struct look *look = &d->looks[l];
        struct hop_link_text words = hop_describe_link(look->link);
        char rate[128], text[256];
        rate_text(&words, rate, sizeof rate);
        (void)snprintf(text, sizeof text, "%s, %s (%u %s)", words.what, rate, look->links,
                       look->links == 1 ? "link" : "links");
        double need = 64 + hop_text_columns(text) * 6.2;
        legend_advance(d, &x, need);
        hop_buffer_printf(&d->out,
                          "<path d=\"M%.1f %.1fh28\" stroke=\"%s\" stroke-width=\"%.1f\"/><text x=\"%.1f\" y=\"%.1f\" "
                          "font-size=\"11\" fill=\"#334155\">%s</text>\n",
                          x, d->height - 4, look_colour(look), hop_link_stroke(look->link), x + 36, d->height, text);
        x += need;
    }
    if (d->look_count > LEGEND_LOOKS) {
        legend_advance(d, &x, 330);
        hop_buffer_printf(
            &d->out,
            "<text x=\"%.1f\" y=\"%.1f\" font-size=\"11\" fill=\"#334155\">and %u more: each link's tooltip "
            "says what it is</text>\n",
            x, d->height, d->look_count - LEGEND_LOOKS);
    }
}

static void draw(struct drawing *d)
{
    uint32_t links = hop_topology_link_count(d->topology);
    draw_panels(d);
    hop_buffer_puts(&d->out, "<g fill=\"none\">\n");
    for (uint32_t i = 0; i < links; i++)
        draw_link(d, i);
    hop_buffer_puts(&d->out, "</g>\n");
    for (uint32_t n = 0; n < hop_topology_node_count(d->topology); n++)
        draw_box(d, n);
    for (uint32_t i = 0; i < links; i++)
        draw_link_label(d, i);
    draw_title(d);
    d->height += 48;
    draw_node_legend(d);
    d->height += 24;
    draw_link_legend(d);
    d->height += 20;
}

char *hop_topology_to_svg(const struct hop_topology *topology)
{
    uint32_t nodes = hop_topology_node_count(topology), links = hop_topology_link_count(topology);
    struct drawing d = {.topology = topology};
    struct hop_buffer whole = {0};
    d.boxes = calloc((size_t)nodes + 1, sizeof *d.boxes);
    d.ports = calloc(2 * (size_t)links + 1, sizeof *d.ports);
    d.looks = calloc((size_t)links + 1, sizeof *d.looks);
    d.look_of = calloc((size_t)links + 1, sizeof *d.look_of);
    whole.failed = !d.boxes || !d.ports || !d.looks || !d.look_of || !find_looks(&d) || !place_forest(&d) ||
                   !place_bars(&d) || !place_ports(&d);
    if (!whole.failed) {
        place_rows(&d);
        draw(&d); /* before its frame: the legend decides how high the drawing is */
        hop_buffer_printf(
            &whole,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
            d.width, d.height, d.width, d.height);
        whole.failed |= d.out.failed;
        if (d.out.text)
            hop_buffer_add(&whole, d.out.text, d.out.length);
        hop_buffer_puts(&whole, "</svg>\n");
    }
    hop_buffer_finish(&d.out);
    free(d.boxes);
    free(d.ports);
    free(d.looks);
    free(d.look_of);
    return hop_buffer_take(&whole);
}
