/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads of links under two placements, as a text tree: beside each node, what the link above it has to carry before and
 * after.
 */
#include <math.h>
#include <stdio.h>

#include "report/draw.h"
#include "report/loads.h"

enum {
    WIDTH_MIN = 60,
    NODES_SHOWN = 120,
    LINKS_SHOWN = 16, /* of a kind, off the tree */
    NOTE_MAX = 24,
    NUMBER_WIDTH = 9,
    NUMBERS_WIDTH = 1 + 2 * (NUMBER_WIDTH + 1) + 4, /* "    2.5 ms*->    600 us  " */
    BAR_MIN = 10
};

struct printer {
    struct hop_loads_view view;
    struct hop_buffer out;
    unsigned width, label, note, bar; /* columns */
    bool ascii, colour;
    bool brief; /* names below a top go without their machine's */
    struct hop_tree_rows rows;
    struct off_link *links; /* off the tree, by kind, fullest first */
    uint32_t link_count;
};

/* ---- columns ---- */

static void add_cell(struct printer *p, const char *text, unsigned width)
{
    hop_add_cell(&p->out, text, width, (struct hop_cell_style){p->ascii, p->ascii ? "~" : "…"});
}

static void add_line(struct printer *p, const char *format, ...) HOP_PRINTF(2, 3);
static void add_line(struct printer *p, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add_cell(p, text, p->width);
    hop_end_line(&p->out);
}

/* ---- loads ---- */

static void add_number(struct printer *p, double load_s, double most_s)
{
    hop_buffer_printf(&p->out, "%*s%s", NUMBER_WIDTH, load_s > 0 ? SECONDS(load_s) : "-",
                      hop_load_is_most(load_s, most_s) ? "*" : " ");
}

static void add_run(struct printer *p, unsigned columns, const char *piece, const char *ascii, const char *colour)
{
    if (columns == 0)
        return;
    if (p->colour)
        hop_buffer_printf(&p->out, "\033[%sm", colour);
    hop_add_run(&p->out, p->ascii ? ascii : piece, columns);
    if (p->colour)
        hop_buffer_puts(&p->out, "\033[0m");
}

/* What both have, then what only one has; whatever is not nothing has a column. */
static void add_bar(struct printer *p, struct hop_link_load load)
{
    double most_s = hop_load_larger_s(p->view.most), both_s = hop_min(load.before_s, load.after_s);
    unsigned all = (unsigned)ceil(hop_load_larger_s(load) / most_s * p->bar * (1 - 1e-12));
    unsigned both = (unsigned)ceil(both_s / most_s * p->bar * (1 - 1e-12));
    double share = load.after_s / most_s;
    add_run(p, both, "█", "#", share > 0.75 ? "31" : share > 0.4 ? "33" : "32");
    if (load.before_s > load.after_s)
        add_run(p, all - both, "▒", "-", "2");
    else
        add_run(p, all - both, "▓", "+", "31");
}

/* Numbers and bar, at the end of a line that has its label. */
static void add_load(struct printer *p, struct hop_link_load load)
{
    if (hop_load_larger_s(load) > 0) {
        hop_buffer_puts(&p->out, " ");
        add_number(p, load.before_s, p->view.most.before_s);
        hop_buffer_puts(&p->out, "-> ");
        add_number(p, load.after_s, p->view.most.after_s);
        hop_buffer_puts(&p->out, " ");
        add_bar(p, load);
    }
    hop_end_line(&p->out);
}

/* Of the note, with what stands before it. */
static unsigned note_columns(const struct printer *p)
{
    return p->note > 0 ? p->note + 2 : 0;
}

/* ---- the tree ---- */

/* "gpu0" of "node0.gpu0", where space is short and the top of the tree says the rest. */
static const char *row_name(const struct printer *p, const struct hop_tree_row *row)
{
    return p->brief && row->depth > 0 ? hop_topology_name_in_server(p->view.topology, row->node)
                                      : hop_topology_node(p->view.topology, row->node)->name;
}

static void row_label(const struct printer *p, const struct hop_tree_row *row, struct hop_buffer *label)
{
    hop_add_branches(label, row->depth, row->open, p->ascii);
    if (row->node == HOP_NONE)
        hop_buffer_printf(label, "%u more %s without load", row->last, row->last == 1 ? "node" : "nodes");
    else
        hop_buffer_puts(label, row_name(p, row));
}

static void print_row(struct printer *p, const struct hop_tree_row *row)
{
    struct hop_buffer label = {0};
    row_label(p, row, &label);
    p->out.failed = p->out.failed || label.failed;
    if (!label.failed && row->node == HOP_NONE) {
        add_cell(p, label.text, p->width);
        hop_end_line(&p->out);
    } else if (!label.failed) {
        uint32_t up = hop_topology_upstream(p->view.topology, row->node);
        add_cell(p, label.text, p->label);
        add_cell(p, "", note_columns(p) - p->note);
        add_cell(p, hop_loads_note(&p->view, row->node), p->note);
        if (up != HOP_NONE)
            add_load(p, p->view.links[up]);
        else
            hop_end_line(&p->out);
    }
    hop_buffer_finish(&label);
}

static void print_left_out(struct printer *p)
{
    const struct hop_loads_view *view = &p->view;
    if (view->left_out > 0)
        add_line(p, "and %u more %s (%u %s): at most %s -> %s", view->left_out, view->left_out == 1 ? "tree" : "trees",
                 view->nodes_left_out, view->nodes_left_out == 1 ? "node" : "nodes",
                 SECONDS(view->most_left_out.before_s), SECONDS(view->most_left_out.after_s));
    if (view->idle > 0)
        add_line(p, "and %u %s without load (%u %s)", view->idle, view->idle == 1 ? "tree" : "trees", view->nodes_idle,
                 view->nodes_idle == 1 ? "node" : "nodes");
}

/* ---- links off the tree ---- */

struct off_link {
    enum hop_link_kind kind;
    double larger_s;
    uint32_t index;
    bool shown; /* has a line of its own */
};

static int compare_off(const void *a, const void *b)
{
    const struct off_link *x = a, *y = b;
    int order = HOP_ORDER(x->kind, y->kind);
    order = order ? order : HOP_ORDER(y->larger_s, x->larger_s);
    return order ? order : HOP_ORDER(x->index, y->index);
}

static void off_label(const struct printer *p, uint32_t index, char *label, size_t size)
{
    const struct hop_link *link = hop_topology_link(p->view.topology, index);
    (void)snprintf(label, size, "  %s -- %s", hop_topology_node(p->view.topology, link->ends[0])->name,
                   hop_topology_node(p->view.topology, link->ends[1])->name);
}

static void print_rest(struct printer *p, const struct off_link *links, uint32_t count)
{
    struct hop_link_load most = {0, 0};
    for (uint32_t i = 0; i < count; i++)
        most = hop_load_most(most, p->view.links[links[i].index]);
    if (count > 0 && hop_load_larger_s(most) > 0)
        add_line(p, "  and %u more: at most %s -> %s", count, SECONDS(most.before_s), SECONDS(most.after_s));
    else if (count > 0)
        add_line(p, "  and %u more without load", count);
}

/* The links of the first one's kind; returns how many they are. */
static uint32_t print_kind(struct printer *p, const struct off_link *links, uint32_t count)
{
    uint32_t shown = 0, end = 0;
    char label[320];
    for (; end < count && links[end].kind == links[0].kind; end++)
        shown += links[end].shown;
    hop_buffer_printf(&p->out, "\n%s links:", hop_link_kind_name(links[0].kind));
    if (shown == 0) {
        hop_buffer_printf(&p->out, " %u without load\n", end);
        return end;
    }
    hop_buffer_puts(&p->out, "\n");
    for (uint32_t i = 0; i < shown; i++) {
        off_label(p, links[i].index, label, sizeof label);
        add_cell(p, label, p->label + note_columns(p));
        add_load(p, p->view.links[links[i].index]);
    }
    print_rest(p, links + shown, end - shown);
    return end;
}

/* ---- widths ---- */

static bool collect(struct printer *p)
{
    const struct hop_topology *topology = p->view.topology;
    uint32_t links = hop_topology_link_count(topology);
    p->rows = (struct hop_tree_rows){.hidden = p->view.hidden, .arena = &p->view.arena};
    hop_collect_rows(&p->rows, topology);
    p->links = hop_arena_alloc(&p->view.arena, links * sizeof *p->links);
    if (p->view.arena.failed)
        return false;
    for (uint32_t l = 0; l < links; l++) {
        const struct hop_link *link = hop_topology_link(topology, l);
        if (!hop_in_tree(link))
            p->links[p->link_count++] = (struct off_link){link->kind, hop_load_larger_s(p->view.links[l]), l, false};
    }
    qsort(p->links, p->link_count, sizeof *p->links, compare_off);
    for (uint32_t i = 0, rank = 0; i < p->link_count; i++) {
        struct off_link *link = &p->links[i];
        rank = i > 0 && link->kind == link[-1].kind ? rank + 1 : 0;
        link->shown = rank < LINKS_SHOWN && link->larger_s > 0;
    }
    return true;
}

static void widen(unsigned *width, unsigned columns)
{
    *width = columns > *width ? columns : *width;
}

/* The widest label of the links off the tree that have a line. */
static unsigned off_columns(const struct printer *p)
{
    unsigned columns = 0;
    for (uint32_t i = 0; i < p->link_count; i++) {
        char label[320];
        off_label(p, p->links[i].index, label, sizeof label);
        widen(&columns, p->links[i].shown ? hop_text_columns(label) : 0);
    }
    return columns;
}

static void find_label(struct printer *p)
{
    p->label = 0;
    for (uint32_t i = 0; i < p->rows.count; i++) {
        const struct hop_tree_row *row = &p->rows.row[i];
        if (row->node != HOP_NONE)
            widen(&p->label, 3 * row->depth + hop_text_columns(row_name(p, row)));
    }
}

/* Names and notes get what they need as long as bars keep some room. */
static void find_widths(struct printer *p)
{
    unsigned rest = p->width - NUMBERS_WIDTH - BAR_MIN, off = off_columns(p);
    for (uint32_t n = 0; n < hop_topology_node_count(p->view.topology); n++)
        widen(&p->note, p->view.hidden[n] ? 0 : hop_text_columns(hop_loads_note(&p->view, n)));
    p->note = p->note > NOTE_MAX ? NOTE_MAX : p->note;
    find_label(p);
    p->brief = p->label + note_columns(p) > rest;
    find_label(p);
    unsigned left = rest > p->label + 2 ? rest - p->label - 2 : 0, most = left > rest / 2 ? left : rest / 2;
    p->note = p->note > most ? most : p->note;
    widen(&p->label, off > note_columns(p) ? off - note_columns(p) : 0);
    p->label = p->label > rest - note_columns(p) ? rest - note_columns(p) : p->label;
    p->bar = p->width - p->label - note_columns(p) - NUMBERS_WIDTH;
}

/* ---- all of it ---- */

static void print_header(struct printer *p)
{
    add_line(p, "%s: fullest link %s before, %s after", hop_topology_name(p->view.topology),
             SECONDS(p->view.most.before_s), SECONDS(p->view.most.after_s));
    hop_buffer_printf(&p->out, "\n%*s%*s    %*s\n", (int)(p->label + note_columns(p) + 1), "", NUMBER_WIDTH, "before",
                      NUMBER_WIDTH, "after");
}

static void print_legend(struct printer *p)
{
    double most_s = hop_load_larger_s(p->view.most);
    if (most_s == 0)
        return;
    hop_buffer_puts(&p->out, "\n");
    add_line(p, "%s before and after  %s before only  %s after only  * fullest", p->ascii ? "#" : "█",
             p->ascii ? "-" : "▒", p->ascii ? "+" : "▓");
    add_line(p, "a bar of %u columns is %s", p->bar, SECONDS(most_s));
}

static void print_all(struct printer *p)
{
    find_widths(p);
    print_header(p);
    for (uint32_t i = 0; i < p->rows.count; i++)
        print_row(p, &p->rows.row[i]);
    print_left_out(p);
    for (uint32_t i = 0; i < p->link_count;)
        i += print_kind(p, p->links + i, p->link_count - i);
    print_legend(p);
}

char *hop_topology_to_loads(const struct hop_topology *topology, const struct hop_link_load *loads,
                            const struct hop_loads_options *options)
{
    struct printer p = {0};
    p.out.failed = !hop_loads_view_make(&p.view, topology, loads, options, NODES_SHOWN) || !collect(&p);
    p.ascii = p.view.options.ascii;
    p.colour = p.view.options.colour;
    p.width = hop_report_width(p.view.options.width, WIDTH_MIN);
    if (!p.out.failed)
        print_all(&p);
    return hop_take_report(&p.out, &p.view.arena);
}
