/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads of links under two placements, as a drawing: the machine as picture.h places it, once before and once after,
 * beside each other, or below each other where that is too wide for a page. The more a link has to carry, the darker
 * and wider it is; on paper without colours, too.
 */
#include <math.h>
#include <stdio.h>

#include "report/loads.h"
#include "report/picture.h"

#define PAGE_WIDTH 2400.0 /* two machines side by side, at most */
#define NODES_DRAWN 100
#define ARCS_LABELLED 12 /* of links between devices, the fullest */
#define FOOT 76.0
#define SHADES 6

/* From hardly anything to the largest load. */
static const char *const shades[SHADES] = {"#f2c14e", "#f29e38", "#ea7325", "#d9481c", "#b3201f", "#7a0b22"};
static const char idle_shade[] = "#cbd5e1";

struct drawing {
    struct hop_loads_view view;
    const struct hop_link_load *loads;
    struct hop_picture picture;
    struct hop_buffer out;
    double most_s;
    bool after;         /* which of the two is being drawn */
    bool sizing;        /* neither: boxes get their widths */
    double arc_least_s; /* what a link between devices must carry to be labelled */
};

static double load_of(const struct drawing *d, uint32_t link)
{
    return d->after ? d->view.links[link].after_s : d->view.links[link].before_s;
}

static unsigned shade_of(const struct drawing *d, double load_s)
{
    return (unsigned)fmin(load_s / d->most_s * SHADES, SHADES - 1); /* not negative */
}

static double stroke_of(const struct drawing *d, double load_s)
{
    return 1.2 + 5.8 * load_s / d->most_s;
}

/* ---- which switches off the trees are drawn ---- */

static uint32_t other_end(const struct hop_link *link, uint32_t node)
{
    return link->ends[link->ends[0] == node];
}

static bool is_switch(const struct drawing *d, uint32_t node)
{
    const struct hop_topology *topology = d->view.topology;
    return !hop_node_is_device(hop_topology_node(topology, node)->kind) && !hop_is_top(topology, node) &&
           hop_topology_upstream(topology, node) == HOP_NONE;
}

/* Links with load that join a node to others that are drawn; those to other switches of this kind apart. */
static void count_joined(const struct drawing *d, uint32_t node, uint32_t *nodes, uint32_t *switches)
{
    uint32_t count;
    const uint32_t *list = hop_topology_links_of(d->view.topology, node, &count);
    *nodes = *switches = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = other_end(hop_topology_link(d->view.topology, list[i]), node);
        if (d->view.hidden[other] || hop_load_larger_s(d->view.links[list[i]]) == 0)
            continue;
        *nodes += !is_switch(d, other);
        *switches += is_switch(d, other);
    }
}

/* First switches next to what is drawn, then those that join several of them; no further, lest a large fabric hides the
 * machines. */
static void show_switches(struct drawing *d)
{
    uint32_t count = hop_topology_node_count(d->view.topology), found = 0, nodes, switches;
    uint32_t *list = hop_arena_alloc(&d->view.arena, count * sizeof *list);
    for (unsigned round = 0; list && round < 2; round++) {
        found = 0;
        for (uint32_t n = 0; n < count; n++) {
            if (!d->view.hidden[n] || !is_switch(d, n))
                continue;
            count_joined(d, n, &nodes, &switches);
            if (round == 0 ? nodes > 0 : switches > 1)
                list[found++] = n;
        }
        for (uint32_t i = 0; i < found; i++)
            d->view.hidden[list[i]] = false;
    }
}

/* ---- one of the two ---- */

static void draw_link(struct drawing *d, uint32_t index)
{
    const struct hop_topology *topology = d->view.topology;
    const struct hop_link *link = hop_topology_link(topology, index);
    const struct hop_link_load *a = &d->loads[2 * index], *b = &d->loads[2 * index + 1];
    struct hop_link_text words = hop_describe_link(topology, link);
    double load_s = load_of(d, index);
    hop_svg(&d->out, "<path d='");
    hop_picture_draw_path(&d->picture, &d->out, index);
    if (load_s > 0)
        hop_svg(&d->out, "' stroke='%s' stroke-width='%.1f'>", shades[shade_of(d, load_s)], stroke_of(d, load_s));
    else
        hop_svg(&d->out, "' stroke='%s' stroke-width='1' stroke-dasharray='3 3'>", idle_shade);
    hop_svg(&d->out, "<title>%s -- %s: %s %s, %s %s</title></path>\n", hop_topology_node(topology, link->ends[0])->name,
            hop_topology_node(topology, link->ends[1])->name, SECONDS(d->after ? a->after_s : a->before_s),
            words.direction[0], SECONDS(d->after ? b->after_s : b->before_s), words.direction[1]);
}

/* Where a link's number stands: beside the line, where nothing else is. */
struct spot {
    double x, y;
    const char *anchor;
};

static struct spot spot_of(const struct drawing *d, uint32_t index)
{
    const struct hop_link *link = hop_topology_link(d->view.topology, index);
    const struct hop_box *a = &d->picture.boxes[link->ends[0]], *b = &d->picture.boxes[link->ends[1]];
    const struct hop_box *high = a->y < b->y ? a : b, *low = a->y < b->y ? b : a;
    enum hop_link_way way = hop_picture_way(&d->picture, index);
    double aside = stroke_of(d, load_of(d, index)) / 2 + 3, middle = (a->x + b->x) / 2, x;
    double depth = 0.75 * hop_picture_arc_depth(a->x - b->x, way);
    switch (way) {
    case HOP_LINK_IN_TREE:
        return (struct spot){a->x + aside, a->y - 8, "start"};
    case HOP_LINK_BESIDE:
        x = (a->x + b->x + (a->x < b->x ? a->width - b->width : b->width - a->width) / 2) / 2;
        return (struct spot){x, a->y + a->height / 2 - aside - 2, "middle"};
    case HOP_LINK_IN_CHIP:
        return (struct spot){middle, a->y + a->height + HOP_PICTURE_ROW_GAP / 4 + aside + 8, "middle"};
    case HOP_LINK_ARC_ABOVE:
        return (struct spot){middle, a->y - depth - aside - 2, "middle"};
    case HOP_LINK_ARC_BELOW:
        return (struct spot){middle, a->y + a->height + depth + aside + 6, "middle"};
    case HOP_LINK_TO_BAR_ABOVE:
        return (struct spot){d->picture.ports[2 * index + hop_box_is_bar(a)] + aside, low->y - 8, "start"};
    case HOP_LINK_TO_BAR_BELOW: /* at the end that is no bar */
        return (struct spot){d->picture.ports[2 * index + hop_box_is_bar(a)] + aside, high->y + high->height + 14,
                             "start"};
    default: /* on its left: what goes on to lower bars is on its right */
        if (hop_picture_straight(&d->picture, index, &x))
            return (struct spot){x - aside, low->y - 8, "end"};
        return (struct spot){middle, (high->y + high->height + low->y) / 2 + 4, "middle"};
    }
}

static void draw_number(struct drawing *d, uint32_t index)
{
    double load_s = load_of(d, index);
    struct spot spot = spot_of(d, index);
    char text[40];
    if (hop_picture_way(&d->picture, index) == HOP_LINK_ARC_BELOW && load_s < d->arc_least_s)
        return;
    (void)hop_show_seconds(load_s, text, sizeof text - 1);
    if (hop_load_is_most(load_s, d->after ? d->view.most.after_s : d->view.most.before_s))
        (void)strcat(text, "*");
    hop_svg_label(&d->out, spot.x, spot.y, spot.anchor, text);
}

/* Meshes have more arcs than there is room for numbers. */
static void find_arc_least(struct drawing *d)
{
    uint32_t links = hop_topology_link_count(d->view.topology), count = 0;
    double *arcs = hop_arena_alloc(&d->view.arena, links * sizeof *arcs);
    for (uint32_t l = 0; arcs && l < links; l++) {
        if (hop_picture_has_link(&d->picture, l) && hop_picture_way(&d->picture, l) == HOP_LINK_ARC_BELOW)
            arcs[count++] = load_of(d, l);
    }
    if (count > 0)
        qsort(arcs, count, sizeof *arcs, hop_ascending_double);
    d->arc_least_s = count > ARCS_LABELLED ? arcs[count - ARCS_LABELLED] : 0;
}

static void draw_head(struct drawing *d)
{
    hop_svg(&d->out, "<text x='%.1f' y='56' font-size='14' font-weight='bold' fill='" INK_TITLE "'>%s: %s</text>\n",
            HOP_PICTURE_MARGIN, d->after ? "after" : "before",
            SECONDS(d->after ? d->view.most.after_s : d->view.most.before_s));
}

/* Links from light to dark, so that the fullest are never hidden by others. */
static void draw_links(struct drawing *d)
{
    uint32_t links = hop_topology_link_count(d->view.topology);
    hop_svg(&d->out, "<g fill='none'>\n");
    for (unsigned shade = 0; shade <= SHADES; shade++) {
        for (uint32_t l = 0; l < links; l++) {
            double load_s = load_of(d, l);
            unsigned own = load_s > 0 ? 1 + shade_of(d, load_s) : 0;
            if (own == shade && hop_picture_has_link(&d->picture, l))
                draw_link(d, l);
        }
    }
    hop_buffer_puts(&d->out, "</g>\n");
}

static void draw_side(struct drawing *d, bool after)
{
    const struct hop_topology *topology = d->view.topology;
    d->after = after;
    find_arc_least(d);
    bool beside = 2 * d->picture.width <= PAGE_WIDTH;
    hop_svg(&d->out, "<g transform='translate(%.1f %.1f)'>\n", after && beside ? d->picture.width : 0,
            after && !beside ? d->picture.height : 0);
    draw_head(d);
    hop_picture_draw_panels(&d->picture, &d->out);
    draw_links(d);
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) {
        if (!d->view.hidden[n])
            hop_picture_draw_box(&d->picture, &d->out, n);
    }
    for (uint32_t l = 0; l < hop_topology_link_count(topology); l++) {
        if (hop_picture_has_link(&d->picture, l) && load_of(d, l) > 0)
            draw_number(d, l);
    }
    hop_buffer_puts(&d->out, "</g>\n");
}

/* ---- around the two ---- */

static void draw_legend(struct drawing *d, double y)
{
    double x = HOP_PICTURE_MARGIN;
    hop_svg(&d->out, "<path d='M%.1f %.1fh28' stroke='%s' stroke-dasharray='3 3'/>", x, y - 4, idle_shade);
    hop_svg_text(&d->out, x + 34, y, "start", 11, "nothing");
    x += 96;
    for (unsigned shade = 0; shade < SHADES; shade++) {
        double up_to_s = d->most_s * (shade + 1) / SHADES;
        hop_svg(&d->out, "<path d='M%.1f %.1fh28' stroke='%s' stroke-width='%.1f'/>", x, y - 4, shades[shade],
                stroke_of(d, up_to_s));
        hop_svg_text(&d->out, x + 34, y, "start", 11, SECONDS(up_to_s));
        x += 100;
    }
}

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

static void draw_foot(struct drawing *d, double y)
{
    struct hop_buffer hidden = {0}, left = {0};
    struct hop_link_load most = {0, 0};
    uint32_t links = 0, trees = d->view.left_out;
    for (uint32_t l = 0; l < hop_topology_link_count(d->view.topology); l++) {
        if (hop_picture_has_link(&d->picture, l) || hop_load_larger_s(d->view.links[l]) == 0)
            continue;
        links++;
        most = hop_load_most(most, d->view.links[l]);
    }
    if (d->most_s > 0)
        draw_legend(d, y + 8);
    hop_buffer_puts(&hidden, "at a link: what its fuller direction needs; * the fullest");
    if (d->view.nodes_hidden > 0)
        hop_buffer_printf(&hidden, "; %u node%s without load %s not drawn", d->view.nodes_hidden,
                          plural(d->view.nodes_hidden), d->view.nodes_hidden == 1 ? "is" : "are");
    if (trees > 0)
        hop_buffer_printf(&left, "%u more tree%s (%u node%s) and ", trees, plural(trees), d->view.nodes_left_out,
                          plural(d->view.nodes_left_out));
    if (links > 0 || trees > 0)
        hop_buffer_printf(&left, "%u link%s with load %s not drawn: at most %s before, %s after", links, plural(links),
                          links == 1 && trees == 0 ? "is" : "are", SECONDS(most.before_s), SECONDS(most.after_s));
    d->out.failed = d->out.failed || hidden.failed || left.failed;
    hop_svg_text(&d->out, HOP_PICTURE_MARGIN, y + 28, "start", 11, hidden.text ? hidden.text : "");
    if (left.text)
        hop_svg_text(&d->out, HOP_PICTURE_MARGIN, y + 46, "start", 11, left.text);
    hop_buffer_finish(&hidden);
    hop_buffer_finish(&left);
}

/* Both drawings have boxes of one width: as the longer of the two wants it. */
static const char *caption(uint32_t node, void *context)
{
    const struct drawing *d = context;
    const struct hop_loads_options *o = &d->view.options;
    const char *note = o->note_of ? o->note_of(node, d->after, o->context) : hop_loads_note(&d->view, node);
    if (o->note_of && d->sizing) {
        unsigned columns = note ? hop_text_columns(note) : 0;
        note = o->note_of(node, true, o->context);
        if (columns > (note ? hop_text_columns(note) : 0))
            note = o->note_of(node, false, o->context);
    }
    return note && note[0] ? note : NULL;
}

static void draw_page(struct drawing *d)
{
    bool beside = 2 * d->picture.width <= PAGE_WIDTH;
    double width = beside ? 2 * d->picture.width : d->picture.width;
    double height = beside ? d->picture.height : 2 * d->picture.height;
    char title[160];
    (void)snprintf(title, sizeof title, "What the links of %.120s have to carry", hop_topology_name(d->view.topology));
    hop_svg_title(&d->out, HOP_PICTURE_MARGIN, 30, width, title);
    draw_side(d, false);
    draw_side(d, true);
    draw_foot(d, height + 20);
    hop_svg_page(&d->out, width, height + FOOT);
}

char *hop_topology_to_loads_svg(const struct hop_topology *topology, const struct hop_link_load *loads,
                                const struct hop_loads_options *options)
{
    struct drawing d = {.loads = loads, .sizing = true};
    d.out.failed = !hop_loads_view_make(&d.view, topology, loads, options, NODES_DRAWN);
    if (!d.out.failed) {
        show_switches(&d);
        d.most_s = hop_load_larger_s(d.view.most);
        d.picture = (struct hop_picture){
            .topology = topology, .hidden = d.view.hidden, .arena = &d.view.arena, .caption = caption, .context = &d};
        d.out.failed = !hop_picture_make(&d.picture);
        d.picture.width = fmax(d.picture.width, HOP_PICTURE_LEAST);
        d.sizing = false;
    }
    if (!d.out.failed)
        draw_page(&d);
    return hop_take_report(&d.out, &d.view.arena);
}
