/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps: the first sends of all sources, their second sends, and so on, by the times at which they start. As a table
 * for the terminal, and as a drawing in which a step's sends are arrows below the trees of the machine, coloured by the
 * highest thing that they pass; lines are as thick as the step's sends over them are many. Lengths in drawings are in
 * pixels.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "report/passing.h"
#include "report/picture.h"

enum { SOURCES_SHOWN = 64, WAITS_SHOWN = 8, STEPS_DRAWN = 48 };

struct send {
    const struct hop_op *op;
    const struct hop_route *route;
    struct hop_span span;
    uint32_t index, step; /* in the schedule; of its source */
};

struct steps {
    struct hop_timeline *timeline;
    const struct hop_topology *topology;
    const struct hop_schedule *schedule;
    struct send *sends; /* by source, then step */
    uint32_t count, steps, sources;
    bool sizes; /* sends differ in size */
    struct hop_buffer out;
    struct hop_arena arena;
};

static int compare_sends(const void *a, const void *b)
{
    const struct send *x = a, *y = b;
    int order = HOP_ORDER(x->route->from, y->route->from);
    order = order ? order : HOP_ORDER(x->span.start_s, y->span.start_s);
    return order ? order : HOP_ORDER(x->index, y->index);
}

static void find_steps(struct steps *s, struct hop_timeline *timeline)
{
    *s = (struct steps){
        .timeline = timeline, .topology = hop_timeline_topology(timeline), .schedule = hop_timeline_schedule(timeline)};
    uint32_t ops = hop_schedule_count(s->schedule);
    s->sends = hop_arena_alloc(&s->arena, ops * sizeof *s->sends);
    for (uint32_t i = 0; s->sends && i < ops; i++) {
        const struct hop_op *op = hop_schedule_op(s->schedule, i);
        const struct hop_route *route = hop_timeline_route(timeline, i);
        if (op->kind != HOP_OP_COPY || !route)
            continue;
        s->sends[s->count++] = (struct send){op, route, hop_timeline_span(timeline, i), i, 0};
        s->sizes = s->sizes || op->bytes != s->sends[0].op->bytes;
    }
    if (s->count > 0)
        qsort(s->sends, s->count, sizeof *s->sends, compare_sends);
    for (uint32_t i = 0; i < s->count; i++) {
        bool first = i == 0 || s->sends[i].route->from != s->sends[i - 1].route->from;
        s->sources += first;
        s->sends[i].step = first ? 0 : s->sends[i - 1].step + 1;
        s->steps = s->sends[i].step >= s->steps ? s->sends[i].step + 1 : s->steps;
    }
}

/* ---- table ---- */

static bool waits(const struct hop_op *op)
{
    return op->after_count + op->after_start_count > 0;
}

/* Exact where that is short, else three digits. */
static void size_text(uint64_t bytes, char *text, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    unsigned unit = 0;
    hop_format_bytes(bytes, text, size);
    if (strlen(text) <= 7)
        return;
    for (; value >= 999.5 && unit + 1 < HOP_COUNT(units); unit++)
        value /= 1024;
    (void)snprintf(text, size, "%.3g%s", value, units[unit]);
}

static void cell_text(const struct steps *s, const struct send *send, char *text, size_t size)
{
    const struct hop_op *op = send->op;
    char bytes[32] = "";
    if (s->sizes)
        size_text(op->bytes, bytes, sizeof bytes);
    (void)snprintf(text, size, "%s%s%s%s", op->to.device, s->sizes ? " " : "", bytes, waits(op) ? " *" : "");
}

static const char *ordinal_ending(uint32_t n)
{
    if (n % 100 >= 11 && n % 100 <= 13)
        return "th";
    return n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
}

static void add_cell(struct hop_buffer *out, const char *text, unsigned width)
{
    hop_add_cell(out, text, width, (struct hop_cell_style){0});
}

/* Steps first .. end - 1 of all sources. */
static void add_block(struct steps *s, unsigned name, unsigned cell, uint32_t first, uint32_t end)
{
    struct hop_buffer *out = &s->out;
    char text[200];
    add_cell(out, "source", name);
    for (uint32_t k = first; k < end; k++) {
        (void)snprintf(text, sizeof text, "%u%s", k + 1, ordinal_ending(k + 1));
        add_cell(out, text, cell);
    }
    hop_end_line(out);
    uint32_t shown = 0;
    for (uint32_t i = 0, next; i < s->count; i = next) {
        for (next = i + 1; next < s->count && s->sends[next].route->from == s->sends[i].route->from; next++)
            ;
        if (next - i <= first || ++shown > SOURCES_SHOWN)
            continue;
        add_cell(out, hop_topology_node(s->topology, s->sends[i].route->from)->name, name);
        for (uint32_t k = first; k < end && i + k < next; k++) {
            cell_text(s, &s->sends[i + k], text, sizeof text);
            add_cell(out, text, cell);
        }
        hop_end_line(out);
    }
    if (shown > SOURCES_SHOWN)
        hop_buffer_printf(out, "... and %u more sources\n", shown - SOURCES_SHOWN);
}

static void add_waits(struct steps *s)
{
    struct hop_buffer *out = &s->out;
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct hop_op *op = s->sends[i].op;
        if (!waits(op) || ++count > WAITS_SHOWN)
            continue;
        hop_buffer_printf(out, "* %s waits for", op->name);
        for (uint32_t d = 0; d < op->after_count; d++)
            hop_buffer_printf(out, "%s %s", d ? "," : "", hop_schedule_op(s->schedule, op->after[d])->name);
        for (uint32_t d = 0; d < op->after_start_count; d++)
            hop_buffer_printf(out, "%s the start of %s", op->after_count + d ? "," : "",
                              hop_schedule_op(s->schedule, op->after_start[d])->name);
        hop_buffer_puts(out, "\n");
    }
    if (count > WAITS_SHOWN)
        hop_buffer_printf(out, "* and %u more\n", count - WAITS_SHOWN);
}

char *hop_timeline_to_steps(struct hop_timeline *timeline, unsigned width)
{
    struct steps s;
    unsigned name = 6, cell = 4;
    char text[200];
    find_steps(&s, timeline);
    for (uint32_t i = 0; i < s.count; i++) {
        unsigned source = hop_text_columns(hop_topology_node(s.topology, s.sends[i].route->from)->name);
        cell_text(&s, &s.sends[i], text, sizeof text);
        unsigned columns = hop_text_columns(text);
        name = source > name ? source : name;
        cell = columns > cell ? columns : cell;
    }
    name += 2;
    cell += 2;
    width = width ? width : 100;
    uint32_t block = width > name + cell ? (width - name) / cell : 1;
    for (uint32_t first = 0; first < s.steps; first += block)
        add_block(&s, name, cell, first, first + block < s.steps ? first + block : s.steps);
    add_waits(&s);
    if (s.count == 0)
        hop_buffer_puts(&s.out, "(no sends)\n");
    return hop_take_report(&s.out, &s.arena);
}

/* ---- drawing ---- */

#define MARGIN 24.0
#define TITLE_HEIGHT 56.0
#define COLUMN 66.0 /* from device to device */
#define BOX_WIDTH 54.0
#define BOX_HEIGHT 20.0
#define ROW 44.0
#define PANEL_TITLE 24.0
#define PANEL_GAP 20.0
#define PANEL_LEAST 340.0 /* what the titles of a panel and of the page are wide */
#define PAGE_LEAST 860.0
#define PAGE_WIDTH 1240.0
#define LEFT_DEEPER 1.15

struct spot {
    double x, y; /* centre, upper edge */
};

struct page {
    struct steps *s;
    struct hop_picture
        picture;   /* of the devices that take part and what is above them; panels are as it, but narrower */
    double across; /* of the picture's widths */
    bool *hidden;
    uint32_t *load;       /* per directed link, of one step */
    uint32_t *arrivals;   /* per node and side, of one step */
    double width, height; /* of a panel */
    bool levels[HOP_PASSING_COUNT];
};

static struct spot spot_of(const struct page *p, uint32_t node)
{
    const struct hop_box *box = &p->picture.boxes[node];
    uint32_t row = box->place == HOP_PLACE_DEVICE ? p->picture.rows : box->row;
    return (struct spot){8 + (box->x - HOP_PICTURE_MARGIN - 12) * p->across, PANEL_TITLE + row * ROW};
}

static double arc_depth(double distance)
{
    return 16 + 5.5 * sqrt(fabs(distance));
}

/* Every panel is as high as the widest arc of all steps needs. */
static bool place(struct page *p)
{
    const struct steps *s = p->s;
    double deepest = 16;
    p->hidden = hop_arena_alloc(&p->s->arena, hop_topology_node_count(s->topology) * sizeof *p->hidden);
    p->picture = (struct hop_picture){.topology = s->topology, .hidden = p->hidden, .arena = &p->s->arena};
    if (!p->hidden)
        return false;
    memset(p->hidden, true, hop_topology_node_count(s->topology) * sizeof *p->hidden);
    for (uint32_t i = 0; i < s->count; i++) {
        hop_show_up(s->topology, p->hidden, s->sends[i].route->from);
        hop_show_up(s->topology, p->hidden, s->sends[i].route->to);
    }
    if (!hop_picture_make(&p->picture))
        return false;
    p->across = COLUMN / (p->picture.device_width + HOP_PICTURE_COLUMN_GAP);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct hop_route *route = s->sends[i].route;
        double distance = spot_of(p, route->from).x - spot_of(p, route->to).x;
        deepest = fmax(deepest, 0.75 * LEFT_DEEPER * arc_depth(distance));
    }
    p->width = fmax((p->picture.width - 2 * (HOP_PICTURE_MARGIN + 12)) * p->across + 16, PANEL_LEAST);
    p->height = PANEL_TITLE + p->picture.rows * ROW + BOX_HEIGHT + deepest + 16;
    return true;
}

static void draw_tree_link(struct page *p, uint32_t index)
{
    const struct hop_link *link = hop_topology_link(p->s->topology, index);
    const struct spot child = spot_of(p, link->ends[0]), parent = spot_of(p, link->ends[1]);
    uint32_t up = p->load[2 * index], down = p->load[2 * index + 1], most = up > down ? up : down;
    bool left = child.x < parent.x;
    if (!hop_in_tree(link) || !hop_picture_has_link(&p->picture, index))
        return;
    hop_svg(&p->s->out,
            "<path d='M%.1f %.1fL%.1f %.1f' stroke='%s' stroke-width='%.1f'><title>%s: %u up, %u down</title></path>",
            child.x, child.y, parent.x, parent.y + BOX_HEIGHT, most ? INK_PALE : "#dbe2ea",
            fmin(1.2 + (most ? 1.1 * (most - 1) : 0), 9), hop_topology_node(p->s->topology, link->ends[0])->name, up,
            down);
    if (most > 1)
        hop_svg(&p->s->out,
                "<text x='%.1f' y='%.1f' text-anchor='%s' font-size='9' fill='" INK "' stroke='#ffffff' "
                "stroke-width='3' paint-order='stroke'>%u&#8593; %u&#8595;</text>",
                (child.x + parent.x) / 2 + (left ? -7 : 7), (child.y + parent.y + BOX_HEIGHT) / 2 - 3,
                left ? "end" : "start", up, down);
}

static void draw_node(struct page *p, uint32_t n)
{
    const struct spot spot = spot_of(p, n);
    const struct hop_node *node = hop_topology_node(p->s->topology, n);
    bool device = hop_node_is_device(node->kind);
    double room = BOX_WIDTH - 6, need = hop_text_columns(node->name) * 6.2;
    double font = fmin(11, fmax(5, 11 * room / need));
    hop_svg(&p->s->out,
            "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' rx='4' fill='%s' stroke='%s'/>"
            "<text x='%.1f' y='%.1f' text-anchor='middle' font-size='%.1f' fill='#1e293b'>%.*s</text>\n",
            spot.x - BOX_WIDTH / 2, spot.y, BOX_WIDTH, BOX_HEIGHT, device ? "#eef6e9" : "#f1f5f9",
            device ? "#4b8b1e" : "#94a3b8", spot.x, spot.y + 14, font,
            need > 2 * room ? (int)hop_svg_fits(room, font) : INT_MAX, node->name);
}

/*
 * From the middle of a device's lower edge to the near side of the other's; arrows that arrive on one side stand apart.
 */
static void draw_arrow(struct page *p, const struct send *send)
{
    const struct hop_route *route = send->route;
    const struct hop_op *op = send->op;
    const struct spot from = spot_of(p, route->from), to = spot_of(p, route->to);
    bool right = to.x > from.x;
    double apart = fmin(6 + 5.0 * p->arrivals[2 * route->to + right]++, BOX_WIDTH / 2 - 3);
    double x = to.x + (right ? -apart : apart), y = from.y + BOX_HEIGHT;
    double depth = arc_depth(to.x - from.x) * (right ? 1 : LEFT_DEEPER); /* a pair's arrows do not hide each other */
    enum hop_passing level = hop_passing_of(p->s->topology, route);
    char size[32];
    p->levels[level] = true;
    hop_svg(&p->s->out, "<path d='M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f' fill='none' stroke='%s' stroke-width='1.8'",
            from.x, y, from.x, y + depth, x, y + depth, x, y + 5, hop_passings[level].colour);
    if (waits(op))
        hop_svg(&p->s->out, " stroke-dasharray='6 3'");
    hop_svg(&p->s->out, " marker-end='url(#arrow%d)'><title>%s: %s to %s, %s, from %s to %s%s</title></path>\n",
            (int)level, op->name, op->from.device, op->to.device, hop_format_bytes(op->bytes, size, sizeof size),
            SECONDS(send->span.start_s), SECONDS(send->span.end_s), waits(op) ? ", after others" : "");
}

static void draw_panel(struct page *p, uint32_t step, double x, double y)
{
    const struct steps *s = p->s;
    uint32_t links = hop_topology_link_count(s->topology), nodes = hop_topology_node_count(s->topology);
    double first_s = INFINITY, last_s = 0, end_s = 0;
    memset(p->load, 0, 2 * (size_t)links * sizeof *p->load);
    memset(p->arrivals, 0, 2 * (size_t)nodes * sizeof *p->arrivals);
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->sends[i].step != step)
            continue;
        const struct send *send = &s->sends[i];
        for (uint32_t l = 0; l < send->route->link_count; l++)
            p->load[send->route->links[l]]++;
        first_s = fmin(first_s, send->span.start_s);
        last_s = fmax(last_s, send->span.start_s);
        end_s = fmax(end_s, send->span.end_s);
    }
    hop_svg(&p->s->out,
            "<g transform='translate(%.1f %.1f)'>\n<rect width='%.1f' height='%.1f' rx='8' fill='none' "
            "stroke='#e2e8f0'/>\n<text x='10' y='16' font-size='12' font-weight='bold' fill='" INK_TITLE
            "'>step %u</text>\n<text x='64' y='16' font-size='10' fill='" INK_PALE "'>",
            x, y, p->width, p->height, step + 1);
    if (last_s > first_s)
        hop_buffer_printf(&p->s->out, "starts %s to %s, ", SECONDS(first_s), SECONDS(last_s));
    hop_buffer_printf(&p->s->out, "ends by %s</text>\n", SECONDS(end_s));
    for (uint32_t l = 0; l < links; l++)
        draw_tree_link(p, l);
    for (uint32_t n = 0; n < nodes; n++) {
        if (!p->hidden[n])
            draw_node(p, n);
    }
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->sends[i].step == step)
            draw_arrow(p, &s->sends[i]);
    }
    hop_buffer_puts(&p->s->out, "</g>\n");
}

static void draw_legend(struct page *p, double y)
{
    double x = MARGIN;
    for (unsigned level = 0; level < HOP_PASSING_COUNT; level++) {
        if (!p->levels[level])
            continue;
        hop_svg(&p->s->out,
                "<path d='M%.1f %.1fh26' stroke='%s' stroke-width='1.8' marker-end='url(#arrow%u)'/>"
                "<text x='%.1f' y='%.1f' font-size='11' fill='" INK "'>%s</text>\n",
                x, y - 4, hop_passings[level].colour, level, x + 38, y, hop_passings[level].text);
        x += 60 + 6.2 * (double)strlen(hop_passings[level].text);
    }
}

static void draw_page(struct page *p)
{
    struct steps *s = p->s;
    struct hop_buffer *out = &s->out;
    uint32_t steps = s->steps < STEPS_DRAWN ? s->steps : STEPS_DRAWN;
    uint32_t across = (uint32_t)fmax(1, floor((PAGE_WIDTH - MARGIN) / (p->width + PANEL_GAP)));
    across = across > steps ? (steps ? steps : 1) : across;
    uint32_t down = steps ? (steps + across - 1) / across : 0;
    double width = fmax(2 * MARGIN + across * (p->width + PANEL_GAP) - PANEL_GAP, PAGE_LEAST);
    char title[300];
    double legend_y = TITLE_HEIGHT + down * (p->height + PANEL_GAP) + 16;
    hop_buffer_puts(out, "<defs>\n");
    for (unsigned level = 0; level < HOP_PASSING_COUNT; level++)
        hop_svg(out,
                "<marker id='arrow%u' viewBox='0 0 8 8' refX='6' refY='4' markerWidth='5' markerHeight='5' "
                "orient='auto'><path d='M0 0L8 4L0 8z' fill='%s'/></marker>\n",
                level, hop_passings[level].colour);
    hop_svg(out,
            "</defs>\n<text x='%.1f' y='44' font-size='11' fill='" INK_PALE "'>step k: the k-th sends of %u sources; "
            "lines as thick as the sends of the step are many; dashed: waits for others",
            MARGIN, s->sources);
    if (steps < s->steps)
        hop_buffer_printf(out, "; %u of %u steps are drawn", steps, s->steps);
    hop_buffer_puts(out, "</text>\n");
    (void)snprintf(title, sizeof title, "%s, %.120s on %.120s", SECONDS(hop_timeline_makespan_s(s->timeline)),
                   hop_schedule_name(s->schedule), hop_topology_name(s->topology));
    hop_svg_title(out, MARGIN, 26, width, title);
    for (uint32_t k = 0; k < steps; k++)
        draw_panel(p, k, MARGIN + k % across * (p->width + PANEL_GAP),
                   TITLE_HEIGHT + k / across * (p->height + PANEL_GAP)); /* integers */
    draw_legend(p, legend_y);
    hop_svg_page(out, width, legend_y + 20);
}

char *hop_timeline_to_steps_svg(struct hop_timeline *timeline)
{
    struct steps s;
    find_steps(&s, timeline);
    struct page p = {.s = &s};
    p.load = hop_arena_alloc(&s.arena, 2 * (size_t)hop_topology_link_count(s.topology) * sizeof *p.load);
    p.arrivals = hop_arena_alloc(&s.arena, 2 * (size_t)hop_topology_node_count(s.topology) * sizeof *p.arrivals);
    if (place(&p))
        draw_page(&p);
    return hop_take_report(&s.out, &s.arena);
}
