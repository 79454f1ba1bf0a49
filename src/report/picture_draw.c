/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws what a picture has placed: boxes, paths, panels. */
#include "report/picture.h"

#include <math.h>

#define BOX_HEIGHT 38.0

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

const char *hop_link_colour(enum hop_link_kind kind)
{
    return link_colours[kind];
}

const char *hop_node_fill(enum hop_node_kind kind)
{
    return node_colours[kind].fill;
}

const char *hop_node_stroke(enum hop_node_kind kind)
{
    return node_colours[kind].stroke;
}

void hop_picture_draw_panels(const struct hop_picture *d, struct hop_buffer *out)
{
    for (uint32_t n = 0; n < hop_topology_node_count(d->topology); n++) {
        const struct hop_box *box = &d->boxes[n];
        if (box->place != HOP_PLACE_TREE || box->row != 0 || (d->hidden && d->hidden[n]))
            continue;
        hop_svg(out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' rx='10' fill='#f8fafc' stroke='#e2e8f0'/>\n",
                box->left - 12, d->first_y - 12, box->right - box->left + 24,
                d->device_y + BOX_HEIGHT - d->first_y + 24);
        if (hop_topology_node(d->topology, n)->numa >= 0 && box->x - box->width / 2 - box->left > 50)
            hop_svg(out, "<text x='%.1f' y='%.1f' font-size='10' fill='#94a3b8'>numa %d</text>\n", box->left,
                    d->first_y + 4, hop_topology_node(d->topology, n)->numa);
    }
}

/* The place of a child among its siblings, as an x on its parent's lower edge. */
static double parent_port(const struct hop_picture *d, const struct hop_link *link)
{
    const struct hop_box *child = &d->boxes[link->ends[0]], *parent = &d->boxes[link->ends[1]];
    double reach = parent->right - parent->left, room = parent->width - 24;
    return reach > 0 && room > 0 ? parent->x + (child->x - parent->x) / reach * room : parent->x;
}

/* From a point to another, leaving and arriving at right angles at so far a height. */
static void add_curve(struct hop_buffer *out, double x, double y, double first, double second, double to_x, double to_y)
{
    hop_buffer_printf(out, "M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", x, y, x, first, to_x, second, to_x, to_y);
}

static void draw_tree_link(const struct hop_picture *d, struct hop_buffer *out, const struct hop_link *link)
{
    const struct hop_box *child = &d->boxes[link->ends[0]], *parent = &d->boxes[link->ends[1]];
    double from = parent->y + parent->height, band = from + HOP_PICTURE_ROW_GAP;
    /* Curved down to the next row, then straight: its column is its own. */
    add_curve(out, parent_port(d, link), from, from + HOP_PICTURE_ROW_GAP * 0.55, band - HOP_PICTURE_ROW_GAP * 0.65,
              child->x, band - 8);
    hop_buffer_printf(out, "V%.1f", child->y);
}

bool hop_picture_straight(const struct hop_picture *d, uint32_t index, double *x)
{
    const struct hop_link *link = hop_topology_link(d->topology, index);
    const struct hop_box *a = &d->boxes[link->ends[0]], *b = &d->boxes[link->ends[1]];
    const struct hop_box *low = a->y <= b->y ? b : a;
    double left = fmax(a->x - a->width / 2, b->x - b->width / 2),
           right = fmin(a->x + a->width / 2, b->x + b->width / 2);
    if (!hop_box_is_bar(a) || !hop_box_is_bar(b) || right - left <= 20)
        return false;
    *x = (left + right) / 2 + fmin(16.0 * low->row, (right - left) / 2 - 8);
    return true;
}

static void draw_other(const struct hop_picture *d, struct hop_buffer *out, uint32_t index)
{
    const struct hop_link *link = hop_topology_link(d->topology, index);
    const struct hop_box *a = &d->boxes[link->ends[0]], *b = &d->boxes[link->ends[1]];
    const struct hop_box *high = a->y <= b->y ? a : b, *low = a->y <= b->y ? b : a;
    double from = high->y + high->height, to = fmax(low->y, from + 30), x;
    if (hop_picture_straight(d, index, &x))
        hop_buffer_printf(out, "M%.1f %.1fV%.1f", x, from, to);
    else
        add_curve(out, high->x, from, (from + to) / 2, (from + to) / 2, low->x, to);
}

void hop_picture_draw_path(const struct hop_picture *d, struct hop_buffer *out, uint32_t index)
{
    enum hop_link_way way = hop_picture_way(d, index);
    const struct hop_link *link = hop_topology_link(d->topology, index);
    const struct hop_box *a = &d->boxes[link->ends[0]], *b = &d->boxes[link->ends[1]];
    const struct hop_box *left = a->x < b->x ? a : b, *right = a->x < b->x ? b : a;
    double depth = hop_picture_arc_depth(a->x - b->x, way), from = d->ports[2 * index], to = d->ports[2 * index + 1];
    double under_a = a->y + a->height, under_b = b->y + b->height;
    switch (way) {
    case HOP_LINK_IN_TREE:
        draw_tree_link(d, out, link);
        break;
    case HOP_LINK_BESIDE:
        hop_buffer_printf(out, "M%.1f %.1fH%.1f", left->x + left->width / 2, a->y + a->height / 2,
                          right->x - right->width / 2);
        break;
    case HOP_LINK_IN_CHIP: /* below the switches, in the band that leads to the next row */
        add_curve(out, a->x, under_a, under_a + HOP_PICTURE_ROW_GAP / 3, under_b + HOP_PICTURE_ROW_GAP / 3, b->x,
                  under_b);
        break;
    case HOP_LINK_ARC_ABOVE:
        add_curve(out, from, a->y, a->y - depth, b->y - depth, to, b->y);
        break;
    case HOP_LINK_ARC_BELOW:
        add_curve(out, from, under_a, under_a + depth, under_b + depth, to, under_b);
        break;
    case HOP_LINK_TO_BAR_ABOVE:
    case HOP_LINK_TO_BAR_BELOW: {
        const struct hop_box *high = a->y < b->y ? a : b, *low = a->y < b->y ? b : a;
        hop_buffer_printf(out, "M%.1f %.1fV%.1f", d->ports[2 * index + hop_box_is_bar(a)], high->y + high->height,
                          low->y);
        break;
    }
    default:
        draw_other(d, out, index);
    }
}

void hop_picture_draw_box(const struct hop_picture *d, struct hop_buffer *out, uint32_t n)
{
    const struct hop_node *node = hop_topology_node(d->topology, n);
    const struct hop_box *box = &d->boxes[n];
    const char *caption = d->caption ? d->caption(n, d->context) : node->label;
    bool bar = hop_box_is_bar(box), label = caption && caption[0] && !bar;
    double room = box->width - 8, need = hop_text_columns(node->name) * HOP_NAME_ADVANCE;
    hop_svg(out,
            "<g><title>%s: %s%s%s%s%s</title><rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' rx='5' fill='%s' "
            "stroke='%s' stroke-width='1.2'/><text x='%.1f' y='%.1f' text-anchor='middle' font-size='12' "
            "font-weight='bold' fill='#1e293b'>%.*s</text>",
            node->name, hop_node_kind_name(node->kind), node->label ? ", " : "", node->label ? node->label : "",
            node->bus_id ? ", " : "", node->bus_id ? node->bus_id : "", box->x - box->width / 2, box->y, box->width,
            box->height, hop_node_fill(node->kind), hop_node_stroke(node->kind), box->x,
            box->y + (label ? 16 : box->height / 2 + 4), (int)fmax(room / HOP_NAME_ADVANCE, 3), node->name);
    if (label)
        hop_svg(out, "<text x='%.1f' y='%.1f' text-anchor='middle' font-size='10' fill='#475569'>%.*s</text>", box->x,
                box->y + 30, (int)fmax(room / HOP_SMALL_ADVANCE, 3), caption);
    else if (bar && caption)
        hop_svg(out, "<text x='%.1f' y='%.1f' font-size='10' fill='#475569'>%.*s</text>", box->x + need / 2 + 8,
                box->y + box->height / 2 + 4, (int)fmax((room - need - 16) / 2 / HOP_SMALL_ADVANCE, 3), caption);
    hop_buffer_puts(out, "</g>\n");
}
