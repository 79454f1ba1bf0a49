/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A topology as a self-contained SVG drawing, laid out as picture.h says.
 *
 * Links that look alike (kind, generation, width, count, capacities) are one look: one colour, one stroke width, one
 * entry in the legend; only links of a rare look carry a label of their own. Lengths are in pixels.
 */
#include "report/picture.h"

#include <math.h>
#include <stdio.h>

#define LABELLED_LINKS 3 /* a look with at most so many links is labelled where they are drawn */
#define LEGEND_LOOKS 12
#define PAGE_MOST 2600.0

struct look {
    const struct hop_link *link; /* one of them */
    uint32_t links, first;       /* how many; the first of them in the order of looks */
    unsigned ordinal;            /* among the looks of its kind, commonest first */
};

struct drawing {
    const struct hop_topology *topology;
    struct hop_picture picture;
    struct hop_buffer out;
    struct look *looks;
    uint32_t *look_of; /* per link */
    uint32_t look_count;
    struct hop_arena arena;
    double height;     /* grows with the legend */
    uint32_t left_out; /* servers */
};

/* PCIe links differ most from each other; other kinds tell themselves apart by their width. */
static const char *const pcie_colours[] = {"#475569", "#0891b2", "#d97706", "#7c3aed", "#be123c"};

static const struct hop_node *node_at(const struct drawing *d, uint32_t node)
{
    return hop_topology_node(d->topology, node);
}

/* ---- looks ---- */

static int compare_links(const void *a, const void *b)
{
    const struct hop_link *x = *(const struct hop_link *const *)a, *y = *(const struct hop_link *const *)b;
    int order = hop_compare_looks(x, y);
    return order ? order : HOP_ORDER(x, y); /* of one array */
}

/* By kind, the commonest of a kind first. */
static int compare_looks(const void *a, const void *b)
{
    const struct look *x = a, *y = b;
    int order = HOP_ORDER(x->link->kind, y->link->kind);
    order = order ? order : HOP_ORDER(y->links, x->links);
    return order ? order : HOP_ORDER(x->first, y->first);
}

static void find_looks(struct drawing *d)
{
    uint32_t links = hop_topology_link_count(d->topology);
    const struct hop_link **sorted = hop_arena_alloc(&d->arena, links * sizeof *sorted);
    d->looks = hop_arena_alloc(&d->arena, links * sizeof *d->looks);
    d->look_of = hop_arena_alloc(&d->arena, links * sizeof *d->look_of);
    if (d->arena.failed)
        return;
    for (uint32_t i = 0; i < links; i++)
        sorted[i] = hop_topology_link(d->topology, i);
    qsort(sorted, links, sizeof *sorted, compare_links);
    for (uint32_t i = 0; i < links; i++) {
        if (i == 0 || hop_compare_looks(sorted[i - 1], sorted[i]) != 0)
            d->looks[d->look_count++] = (struct look){.link = sorted[i], .first = i};
        d->looks[d->look_count - 1].links++;
    }
    qsort(d->looks, d->look_count, sizeof *d->looks, compare_looks);
    for (uint32_t l = 0; l < d->look_count; l++) {
        struct look *look = &d->looks[l];
        look->ordinal = l > 0 && look->link->kind == look[-1].link->kind ? look[-1].ordinal + 1 : 0;
        for (uint32_t i = look->first; i < look->first + look->links; i++)
            d->look_of[sorted[i] - hop_topology_link(d->topology, 0)] = l;
    }
}

static const char *look_colour(const struct look *look)
{
    unsigned last = HOP_COUNT(pcie_colours) - 1;
    return look->link->kind == HOP_LINK_PCIE ? pcie_colours[look->ordinal < last ? look->ordinal : last]
                                             : hop_link_colour(look->link->kind);
}

/* ---- drawing ---- */

static void draw_link(struct drawing *d, uint32_t index)
{
    const struct hop_link *link = hop_topology_link(d->topology, index);
    const struct look *look = &d->looks[d->look_of[index]];
    struct hop_link_text words = hop_describe_link(d->topology, link);
    hop_svg(&d->out, "<path d='");
    hop_picture_draw_path(&d->picture, &d->out, index);
    hop_svg(&d->out, "' stroke='%s' stroke-width='%.1f'", look_colour(look), hop_link_stroke(look->link));
    if (hop_picture_way(&d->picture, index) == HOP_LINK_ARC_BELOW)
        hop_svg(&d->out, " stroke-opacity='0.8'");
    hop_svg(&d->out, "><title>%s -- %s: %s, %s</title></path>\n", node_at(d, link->ends[0])->name,
            node_at(d, link->ends[1])->name, words.what, words.rate);
}

/* Labels of links with a rare look: in the tree above the child, between neighbours over and under the line. */
static void draw_link_label(struct drawing *d, uint32_t index)
{
    const struct hop_link *link = hop_topology_link(d->topology, index);
    const struct hop_box *a = &d->picture.boxes[link->ends[0]], *b = &d->picture.boxes[link->ends[1]];
    struct hop_link_text words = hop_describe_link(d->topology, link);
    if (d->looks[d->look_of[index]].links > LABELLED_LINKS)
        return;
    double room = fabs(a->x - b->x) - (a->width + b->width) / 2;
    double need = fmax(hop_text_columns(words.what), hop_text_columns(words.rate)) * HOP_SMALL_ADVANCE;
    double middle = (a->x + b->x + (a->x < b->x ? a->width - b->width : b->width - a->width) / 2) / 2;
    enum hop_link_way way = hop_picture_way(&d->picture, index);
    if (way == HOP_LINK_IN_TREE && need < a->width + HOP_PICTURE_COLUMN_GAP) {
        hop_svg_label(&d->out, a->x + 6, a->y - 19, "start", words.what);
        hop_svg_label(&d->out, a->x + 6, a->y - 8, "start", words.rate);
    } else if (way == HOP_LINK_BESIDE && need < room) {
        hop_svg_label(&d->out, middle, a->y + a->height / 2 - 6, "middle", words.what);
        hop_svg_label(&d->out, middle, a->y + a->height / 2 + 13, "middle", words.rate);
    } else if (way == HOP_LINK_IN_CHIP) {
        hop_svg_label(&d->out, middle, a->y + a->height + HOP_PICTURE_ROW_GAP / 4 + 11, "middle", words.rate);
    } else if (way == HOP_LINK_ARC_ABOVE || way == HOP_LINK_ARC_BELOW) {
        double depth = 0.75 * hop_picture_arc_depth(a->x - b->x, way);
        hop_svg_label(&d->out, middle, way == HOP_LINK_ARC_ABOVE ? a->y - depth - 5 : a->y + a->height + depth + 11,
                      "middle", words.rate);
    }
}

/* ---- title and legend ---- */

static void draw_title(struct drawing *d)
{
    hop_svg_title(&d->out, HOP_PICTURE_MARGIN, 32, d->picture.width, hop_topology_name(d->topology));
    hop_svg(&d->out, "<text x='%.1f' y='50' font-size='11' fill='" INK_PALE "'>", HOP_PICTURE_MARGIN);
    hop_add_kinds(&d->out, d->topology);
    hop_buffer_printf(&d->out, "; %u links", hop_topology_link_count(d->topology));
    if (d->left_out)
        hop_buffer_printf(&d->out, "; %u server%s like one that is drawn %s left out", d->left_out,
                          d->left_out > 1 ? "s" : "", d->left_out > 1 ? "are" : "is");
    hop_buffer_puts(&d->out, "</text>\n");
}

/* Where the next entry of the legend goes; a line that is full ends. */
static void legend_advance(struct drawing *d, double *x, double need)
{
    if (*x + need > d->picture.width - HOP_PICTURE_MARGIN && *x > HOP_PICTURE_MARGIN) {
        *x = HOP_PICTURE_MARGIN;
        d->height += 22;
    }
}

static void draw_node_legend(struct drawing *d)
{
    bool used[HOP_NODE_KIND_COUNT] = {false};
    double x = HOP_PICTURE_MARGIN;
    for (uint32_t n = 0; n < hop_topology_node_count(d->topology); n++)
        used[node_at(d, n)->kind] = true;
    for (unsigned kind = 0; kind < HOP_NODE_KIND_COUNT; kind++) {
        const char *name = hop_node_kind_name(kind);
        double need = 40 + hop_text_columns(name) * 6.4;
        if (!used[kind])
            continue;
        legend_advance(d, &x, need);
        hop_svg(&d->out,
                "<rect x='%.1f' y='%.1f' width='14' height='12' rx='3' fill='%s' stroke='%s'/>"
                "<text x='%.1f' y='%.1f' font-size='11' fill='" INK "'>%s</text>\n",
                x, d->height - 10, hop_node_fill(kind), hop_node_stroke(kind), x + 20, d->height, name);
        x += need;
    }
}

static void draw_link_legend(struct drawing *d)
{
    double x = HOP_PICTURE_MARGIN;
    for (uint32_t l = 0; l < d->look_count && l < LEGEND_LOOKS; l++) {
        const struct look *look = &d->looks[l];
        struct hop_link_text words = hop_describe_link(d->topology, look->link);
        char text[256];
        (void)snprintf(text, sizeof text, "%s, %s (%u %s)", words.what, words.rate, look->links,
                       look->links == 1 ? "link" : "links");
        double need = 64 + hop_text_columns(text) * 6.2;
        legend_advance(d, &x, need);
        hop_svg(&d->out,
                "<path d='M%.1f %.1fh28' stroke='%s' stroke-width='%.1f'/><text x='%.1f' y='%.1f' font-size='11' "
                "fill='" INK "'>%s</text>\n",
                x, d->height - 4, look_colour(look), hop_link_stroke(look->link), x + 36, d->height, text);
        x += need;
    }
    if (d->look_count > LEGEND_LOOKS) {
        legend_advance(d, &x, 330);
        hop_svg(&d->out, "<text x='%.1f' y='%.1f' font-size='11' fill='" INK "'>and %u more: %s</text>\n", x, d->height,
                d->look_count - LEGEND_LOOKS, "each link's tooltip says what it is");
    }
}

static void draw(struct drawing *d)
{
    uint32_t links = hop_topology_link_count(d->topology);
    hop_picture_draw_panels(&d->picture, &d->out);
    hop_svg(&d->out, "<g fill='none'>\n");
    for (uint32_t i = 0; i < links; i++) {
        if (hop_picture_has_link(&d->picture, i))
            draw_link(d, i);
    }
    hop_buffer_puts(&d->out, "</g>\n");
    for (uint32_t n = 0; n < hop_topology_node_count(d->topology); n++) {
        if (!d->picture.hidden || !d->picture.hidden[n])
            hop_picture_draw_box(&d->picture, &d->out, n);
    }
    for (uint32_t i = 0; i < links; i++) {
        if (hop_picture_has_link(&d->picture, i))
            draw_link_label(d, i);
    }
    draw_title(d);
    d->height += 48;
    draw_node_legend(d);
    d->height += 24;
    draw_link_legend(d);
    d->height += 20;
}

/* The nodes of a server. */
struct members {
    uint32_t first, count;
};

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static uint32_t next_of(const struct hop_topology *topology, uint32_t server, uint32_t n)
{
    while (hop_topology_server_of(topology, n) != server)
        n++;
    return n;
}

/* Whether two servers have the same nodes, one after the other. */
static bool are_alike(const struct hop_topology *topology, const struct members *of, uint32_t a, uint32_t b)
{
    uint32_t m = of[a].first, n = of[b].first;
    for (uint32_t i = 0; of[a].count == of[b].count && i < of[a].count; i++, m++, n++) {
        const struct hop_node *x = hop_topology_node(topology, m = next_of(topology, a, m)),
                              *y = hop_topology_node(topology, n = next_of(topology, b, n));
        if (x->kind != y->kind || !same_text(x->label, y->label) ||
            strcmp(hop_topology_name_in_server(topology, m), hop_topology_name_in_server(topology, n)) != 0)
            return false;
    }
    return of[a].count == of[b].count;
}

/* Of servers that are alike only the first is drawn, where all together are wider than a page. false: all are. */
static bool leave_out(struct drawing *d)
{
    uint32_t servers = hop_topology_server_count(d->topology), nodes = hop_topology_node_count(d->topology);
    bool *hidden = hop_arena_alloc(&d->arena, nodes * sizeof *hidden);
    uint32_t *like = hop_arena_alloc(&d->arena, (servers + (size_t)1) * sizeof *like);
    struct members *of = hop_arena_alloc(&d->arena, (servers + (size_t)1) * sizeof *of);
    if (!hidden || !like || !of)
        return false;
    for (uint32_t n = nodes; n-- > 0;) {
        uint32_t server = hop_topology_server_of(d->topology, n);
        if (server < servers)
            of[server] = (struct members){n, of[server].count + 1};
    }
    for (uint32_t s = 0; s < servers; s++) {
        while (like[s] < s && !are_alike(d->topology, of, like[s], s))
            like[s]++;
        d->left_out += like[s] < s;
    }
    for (uint32_t n = 0; n < nodes; n++) {
        uint32_t server = hop_topology_server_of(d->topology, n);
        hidden[n] = server < servers && like[server] < server;
    }
    if (d->left_out)
        d->picture = (struct hop_picture){.topology = d->topology, .arena = &d->arena, .hidden = hidden};
    return d->left_out > 0;
}

char *hop_topology_to_svg(const struct hop_topology *topology)
{
    struct drawing d = {.topology = topology, .picture = {.topology = topology, .arena = &d.arena}};
    find_looks(&d);
    bool made = hop_picture_make(&d.picture);
    if (made && d.picture.width > PAGE_MOST && leave_out(&d))
        made = hop_picture_make(&d.picture);
    if (made) {
        d.picture.width = fmax(d.picture.width, HOP_PICTURE_LEAST);
        d.height = d.picture.height;
        draw(&d);
        hop_svg_page(&d.out, d.picture.width, d.height);
    }
    return hop_take_report(&d.out, &d.arena);
}
