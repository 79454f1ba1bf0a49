/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two timelines beside each other, on one scale of time: above, every source's transfers as bars, coloured by the
 * highest thing that they pass; below, the links that have most to carry in either, as how full they are at each time.
 * Lengths are in pixels.
 */
#include <math.h>
#include <stdio.h>

#include "report/passing.h"
#include "report/picture.h"
#include "timeline/timeline.h"

enum { ROWS_DRAWN = 96, LANES_MOST = 6, LINKS_DRAWN = 8 };

#define MARGIN 20.0
#define LABELS 120.0 /* the names of rows */
#define PANEL 500.0  /* of time */
#define SHARES 44.0  /* behind a link */
#define HEAD 66.0
#define ROW 16.0
#define STRIP 24.0
#define GAP 40.0 /* between the sends and the links: the axis */
#define FOOT 44.0

struct side {
    struct hop_timeline *timeline;
    const char *title;
    struct hop_axis axis;
    struct hop_buffer strips[LINKS_DRAWN]; /* paths */
    double last_s[LINKS_DRAWN], last[LINKS_DRAWN], sum_s[LINKS_DRAWN];
};

struct beside {
    const struct hop_topology *topology;
    const char *what;
    struct side sides[2];
    uint32_t *lanes, *row; /* of each node: how many of its sends move at once, at most; its first row */
    uint32_t rows, left_out;
    uint32_t links[LINKS_DRAWN], link_count;
    double end_s, strips_y;
    bool levels[HOP_PASSING_COUNT];
    struct hop_buffer out;
    struct hop_arena arena;
};

/* ---- rows ---- */

struct start {
    double start_s;
    uint32_t op;
};

static int by_start(const void *a, const void *b)
{
    const struct start *x = a, *y = b;
    return x->start_s != y->start_s ? HOP_ORDER(x->start_s, y->start_s) : HOP_ORDER(x->op, y->op);
}

/* Calls `each` with every transfer and the lane of its source, by start; what has no lane left shares the last. */
static void each_send(struct beside *b, struct side *side,
                      void (*each)(struct beside *, struct side *, uint32_t, uint32_t))
{
    const struct hop_schedule *s = hop_timeline_schedule(side->timeline);
    uint32_t count = 0, nodes = hop_topology_node_count(b->topology);
    struct start *starts = malloc((hop_schedule_count(s) + (size_t)1) * sizeof *starts);
    double *ends = calloc((nodes + (size_t)1) * LANES_MOST, sizeof *ends);
    for (uint32_t i = 0; starts && i < hop_schedule_count(s); i++) {
        if (hop_timeline_route(side->timeline, i) && !hop_timeline_is_mark(side->timeline, i))
            starts[count++] = (struct start){hop_timeline_span(side->timeline, i).start_s, i};
    }
    if (starts)
        qsort(starts, count, sizeof *starts, by_start);
    for (uint32_t i = 0; starts && ends && i < count; i++) {
        double *of = ends + (size_t)hop_timeline_route(side->timeline, starts[i].op)->from * LANES_MOST;
        uint32_t lane = 0;
        while (lane + 1 < LANES_MOST && of[lane] > starts[i].start_s * (1 + 1e-9))
            lane++;
        of[lane] = hop_timeline_span(side->timeline, starts[i].op).end_s;
        each(b, side, starts[i].op, lane);
    }
    b->out.failed = b->out.failed || !starts || !ends;
    free(starts);
    free(ends);
}

static void count_lane(struct beside *b, struct side *side, uint32_t op, uint32_t lane)
{
    uint32_t node = hop_timeline_route(side->timeline, op)->from;
    b->lanes[node] = lane + 1 > b->lanes[node] ? lane + 1 : b->lanes[node];
}

static void place_rows(struct beside *b)
{
    for (uint32_t n = 0; n < hop_topology_node_count(b->topology); n++) {
        b->row[n] = HOP_NONE;
        if (b->lanes[n] && b->rows + b->lanes[n] <= ROWS_DRAWN) {
            b->row[n] = b->rows;
            b->rows += b->lanes[n];
        }
        b->left_out += b->lanes[n] && b->row[n] == HOP_NONE;
    }
}

/* ---- sends ---- */

static void draw_send(struct beside *b, struct side *side, uint32_t op, uint32_t lane)
{
    const struct hop_op *o = hop_schedule_op(hop_timeline_schedule(side->timeline), op);
    const struct hop_route *route = hop_timeline_route(side->timeline, op);
    struct hop_span span = hop_timeline_span(side->timeline, op);
    enum hop_passing level = hop_passing_of(b->topology, route);
    double left = hop_axis_x(&side->axis, span.start_s), width = hop_axis_x(&side->axis, span.end_s) - left;
    double y = HEAD + (b->row[route->from] + lane) * ROW;
    const char *to = hop_topology_node(b->topology, route->to)->name;
    char size[32];
    if (b->row[route->from] == HOP_NONE)
        return;
    b->levels[level] = true;
    hop_svg(&b->out,
            "<rect x='%.2f' y='%.1f' width='%.2f' height='%.1f' rx='2' fill='%s' stroke='#ffffff' stroke-width='0.6'>"
            "<title>%s: %s to %s, %s, from %s to %s</title></rect>\n",
            left, y + 1, fmax(width, 0.5), ROW - 2, hop_passings[level].colour, o->name, o->from.device, o->to.device,
            hop_format_bytes(o->bytes, size, sizeof size), SECONDS(span.start_s), SECONDS(span.end_s));
    if (width > 6.0 * hop_text_columns(to))
        hop_svg(&b->out, "<text x='%.1f' y='%.1f' text-anchor='middle' font-size='9' fill='#ffffff'>%s</text>\n",
                left + width / 2, y + ROW - 4.5, to);
}

/* ---- links ---- */

static double need_of(const struct beside *b, uint32_t directed)
{
    double capacity = hop_topology_link(b->topology, directed / 2)->capacity_Bps[directed & 1], most = 0;
    for (unsigned i = 0; i < 2; i++)
        most = fmax(most, (double)hop_timeline_link_use(b->sides[i].timeline, directed).bytes / capacity);
    return most;
}

/* Those that need most, in either, to carry all. */
static void choose_links(struct beside *b)
{
    for (uint32_t l = 0; l < 2 * hop_topology_link_count(b->topology); l++) {
        double need_s = need_of(b, l);
        uint32_t at = b->link_count;
        while (at > 0 && need_s > need_of(b, b->links[at - 1]))
            at--;
        if (need_s <= 0 || at == LINKS_DRAWN)
            continue;
        b->link_count += b->link_count < LINKS_DRAWN;
        memmove(b->links + at + 1, b->links + at, (b->link_count - 1 - at) * sizeof *b->links);
        b->links[at] = l;
    }
}

struct visit {
    const struct beside *b;
    struct side *side;
};

static void go_to(const struct visit *v, uint32_t k, double at_s, double load)
{
    struct side *side = v->side;
    double base = v->b->strips_y + (k + 1) * STRIP - 3;
    if (side->strips[k].length == 0)
        hop_svg(&side->strips[k], "M%.2f %.1f", side->axis.left, base);
    hop_svg(&side->strips[k], "H%.2fV%.2f", hop_axis_x(&side->axis, at_s), base - (STRIP - 6) * fmin(load, 1.1));
    side->sum_s[k] += side->last[k] * (at_s - side->last_s[k]);
    side->last_s[k] = at_s;
    side->last[k] = load;
}

static void take_load(double at_s, uint32_t directed, const struct hop_link_flow *flows, uint32_t count, void *context)
{
    const struct visit *v = context;
    for (uint32_t k = 0; k < v->b->link_count; k++) {
        if (v->b->links[k] != directed)
            continue;
        double load = hop_timeline_load(v->side->timeline, directed, flows, count);
        v->side->strips[k].failed = v->side->strips[k].failed || isnan(load);
        go_to(v, k, at_s, load);
    }
}

static void go_on(double at_s, void *context)
{
    (void)at_s;
    (void)context;
}

static void draw_strips(struct beside *b, struct side *side)
{
    struct visit visit = {b, side};
    double makespan_s = hop_timeline_makespan_s(side->timeline);
    b->out.failed = b->out.failed || !hop_timeline_each_load(side->timeline, take_load, go_on, &visit);
    for (uint32_t k = 0; k < b->link_count; k++) {
        double base = b->strips_y + (k + 1) * STRIP - 3;
        go_to(&visit, k, makespan_s, 0);
        hop_svg(&b->out, "<path d='M%.1f %.1fh%.1f' stroke='#e2e8f0'/><path d='", side->axis.left, base - STRIP + 6,
                hop_axis_x(&side->axis, makespan_s) - side->axis.left);
        b->out.failed = b->out.failed || side->strips[k].failed;
        hop_buffer_puts(&b->out, side->strips[k].text ? side->strips[k].text : "");
        hop_svg(&b->out, "Z' fill='#ea7325' fill-opacity='0.75'/>\n");
        hop_svg(&b->out, "<text x='%.1f' y='%.1f' font-size='10' fill='" INK_PALE "'>%.0f %%</text>\n",
                hop_axis_x(&side->axis, makespan_s) + 4, base - 4,
                makespan_s > 0 ? 100 * side->sum_s[k] / makespan_s : 0);
        hop_buffer_finish(&side->strips[k]);
    }
}

/* ---- the page ---- */

static void draw_side(struct beside *b, struct side *side)
{
    double makespan_s = hop_timeline_makespan_s(side->timeline), bottom = HEAD + b->rows * ROW;
    double end = hop_axis_x(&side->axis, makespan_s);
    hop_svg(&b->out, "<text x='%.1f' y='%.1f' font-size='13' font-weight='bold' fill='" INK_TITLE "'>%s: %s</text>\n",
            side->axis.left, HEAD - 10, side->title, SECONDS(makespan_s));
    hop_svg(&b->out, "<path d='M%.2f %.1fV%.1f' stroke='" INK_MARK "' stroke-dasharray='4 3'/>\n", end, HEAD - 4,
            b->strips_y + b->link_count * STRIP);
    each_send(b, side, draw_send);
    hop_axis_draw(&b->out, &side->axis, bottom + 4, bottom + 20, hop_show_seconds);
    draw_strips(b, side);
}

static void draw_name(struct beside *b, double y, const char *name)
{
    hop_svg(&b->out, "<text x='%.1f' y='%.1f' text-anchor='end' font-size='10' fill='" INK "'>%.*s</text>\n",
            MARGIN + LABELS - 6, y, (int)hop_svg_fits(MARGIN + LABELS - 8, 10), name);
}

static void draw_names(struct beside *b)
{
    char name[160];
    for (uint32_t n = 0; n < hop_topology_node_count(b->topology); n++) {
        if (b->row[n] != HOP_NONE)
            draw_name(b, HEAD + b->row[n] * ROW + ROW - 4, hop_topology_node(b->topology, n)->name);
    }
    for (uint32_t k = 0; k < b->link_count; k++)
        draw_name(b, b->strips_y + (k + 1) * STRIP - 8,
                  hop_topology_link_name(b->topology, b->links[k], name, sizeof name));
}

static void draw_legend(struct beside *b, double y)
{
    double x = MARGIN;
    for (unsigned level = 0; level < HOP_PASSING_COUNT; level++) {
        if (!b->levels[level])
            continue;
        hop_svg(&b->out, "<rect x='%.1f' y='%.1f' width='22' height='10' rx='2' fill='%s'/>", x, y - 9,
                hop_passings[level].colour);
        hop_svg_text(&b->out, x + 28, y, "start", 11, hop_passings[level].text);
        x += 44 + 6.2 * (double)strlen(hop_passings[level].text);
    }
    hop_svg(&b->out,
            "<text x='%.1f' y='%.1f' font-size='11' fill='" INK_PALE
            "'>below: the links that have most to carry, how full "
            "they are, the line being their capacity; %%: on average",
            MARGIN, y + 18);
    if (b->left_out)
        hop_buffer_printf(&b->out, "; %u more sources are not drawn", b->left_out);
    hop_buffer_puts(&b->out, "</text>\n");
}

static void draw_page(struct beside *b)
{
    double left = MARGIN + LABELS, height = HEAD + b->rows * ROW + GAP + b->link_count * STRIP;
    double times[2] = {hop_timeline_makespan_s(b->sides[0].timeline), hop_timeline_makespan_s(b->sides[1].timeline)};
    b->strips_y = height - b->link_count * STRIP;
    for (unsigned i = 0; i < 2; i++)
        b->sides[i].axis =
            (struct hop_axis){left + i * (PANEL + SHARES + MARGIN), PANEL, 0, b->end_s > 0 ? b->end_s : 1, 6};
    double width = left + 2 * (PANEL + SHARES) + 2 * MARGIN;
    char title[300], gain[48] = "";
    if (times[0] > 0 && times[1] > 0)
        (void)snprintf(gain, sizeof gain, "%.2f times as fast: ", times[0] / times[1]);
    (void)snprintf(title, sizeof title, "%s%.120s on %.80s", gain, b->what, hop_topology_name(b->topology));
    hop_svg_title(&b->out, MARGIN, 28, width, title);
    draw_names(b);
    draw_side(b, &b->sides[0]);
    draw_side(b, &b->sides[1]);
    draw_legend(b, height + 20);
    hop_svg_page(&b->out, width, height + FOOT + MARGIN);
}

char *hop_timelines_to_svg(struct hop_timeline *before, struct hop_timeline *after, const char *what,
                           const char *const titles[2])
{
    struct beside b = {.topology = hop_timeline_topology(before),
                       .what = what,
                       .sides = {{.timeline = before, .title = titles[0]}, {.timeline = after, .title = titles[1]}}};
    uint32_t nodes = hop_topology_node_count(b.topology);
    b.end_s = fmax(hop_timeline_makespan_s(before), hop_timeline_makespan_s(after));
    b.lanes = hop_arena_alloc(&b.arena, (nodes + (size_t)1) * sizeof *b.lanes);
    b.row = hop_arena_alloc(&b.arena, (nodes + (size_t)1) * sizeof *b.row);
    if (!b.arena.failed) {
        memset(b.lanes, 0, nodes * sizeof *b.lanes);
        each_send(&b, &b.sides[0], count_lane);
        each_send(&b, &b.sides[1], count_lane);
        place_rows(&b);
        choose_links(&b);
        draw_page(&b);
    }
    return hop_take_report(&b.out, &b.arena);
}
