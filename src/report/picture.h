/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the nodes and links of a topology lie in a drawing:
 *
 *     above   sockets as bars over their root complexes, arcs between tops that are not neighbours
 *     row 0   tops of the PCIe trees, side by side, neighbours joined by straight lines
 *     ...     switches, each centred over what is below it
 *     row n   all devices; a device has a column of its own, so that no link meets a box that is not its end
 *     below   arcs between devices (NVLink, xGMI), switches without PCIe (NVSwitch, fabrics) as wide bars
 *
 * Lengths are in pixels.
 */
#ifndef HOP_REPORT_PICTURE_H
#define HOP_REPORT_PICTURE_H

#include "report/draw.h"

#define HOP_PICTURE_LEAST 720.0 /* what a page with its legend is wide */
#define HOP_PICTURE_MARGIN 28.0
#define HOP_PICTURE_ROW_GAP 66.0
#define HOP_PICTURE_COLUMN_GAP 10.0
#define HOP_NAME_ADVANCE 7.6 /* of a character, generous: fonts differ */
#define HOP_SMALL_ADVANCE 5.9

enum hop_place_kind { HOP_PLACE_TREE, HOP_PLACE_DEVICE, HOP_PLACE_ABOVE, HOP_PLACE_BELOW };

struct hop_box {
    double x, y, width, height; /* centre, upper edge */
    double left, right;         /* of everything under it */
    enum hop_place_kind place;
    uint32_t row;   /* in a tree: depth; bars: lane, counted away from the trees */
    uint32_t layer; /* bars: links to the nearest node that is none; 0: not a bar, or not reached */
};

/* How a link is drawn. */
enum hop_link_way {
    HOP_LINK_IN_TREE,
    HOP_LINK_BESIDE, /* between neighbours */
    HOP_LINK_IN_CHIP,
    HOP_LINK_ARC_ABOVE,
    HOP_LINK_ARC_BELOW,
    HOP_LINK_TO_BAR_ABOVE,
    HOP_LINK_TO_BAR_BELOW,
    HOP_LINK_ELSEWHERE
};

struct hop_picture {
    /* what is drawn */
    const struct hop_topology *topology;
    const bool *hidden; /* nodes that are left out, with all below them; NULL: none */
    struct hop_arena *arena;
    /* The second line of a box; NULL: the node's label. */
    const char *(*caption)(uint32_t node, void *context);
    void *context;
    /* where */
    struct hop_box *boxes;
    double *ports; /* per link end (2 * link + end): x where an arc or a link to a bar leaves a node's edge */
    double width, height, first_y;
    /* while it is made */
    uint32_t rows; /* of the trees above the devices */
    uint32_t lanes_above, lanes_below;
    double device_width, cursor;
    double arcs_above, arcs_below;
    double device_y, bars_y; /* upper edges of the devices, of the first lane below */
};

/* Its first part is filled in already. false: out of memory. */
bool hop_picture_make(struct hop_picture *picture);
/* Whether both ends of a link are drawn. */
bool hop_picture_has_link(const struct hop_picture *picture, uint32_t link);
enum hop_link_way hop_picture_way(const struct hop_picture *picture, uint32_t link);
bool hop_box_is_bar(const struct hop_box *box);
/* A link elsewhere, between two bars that overlap, is a straight line down: its x. false: it is curved. */
bool hop_picture_straight(const struct hop_picture *picture, uint32_t link, double *x);
/* How far an arc over some distance reaches. */
double hop_picture_arc_depth(double distance, enum hop_link_way way);

/* ---- drawing (picture_draw.c) ---- */

/* A pale panel behind each tree. */
void hop_picture_draw_panels(const struct hop_picture *picture, struct hop_buffer *out);
/* The data of a link's path. */
void hop_picture_draw_path(const struct hop_picture *picture, struct hop_buffer *out, uint32_t link);
void hop_picture_draw_box(const struct hop_picture *picture, struct hop_buffer *out, uint32_t node);
/* The colours of a kind of link and of node. */
const char *hop_link_colour(enum hop_link_kind kind);
const char *hop_node_fill(enum hop_node_kind kind);
const char *hop_node_stroke(enum hop_node_kind kind);
#endif
