/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A topology as a text tree, the way lstopo users know it. The PCIe forest is walked once into rows, so that columns
 * can be aligned; what lies off the forest follows, then the links off the tree: links of one kind to one hub share a
 * line, a mesh becomes a matrix.
 */
#include "report/draw.h"

#include <ctype.h>
#include <stdio.h>

#define LINK_TEXT_MAX 320
#define NAME_TEXT_MAX 136
#define MATRIX_NODES 32 /* beyond this a matrix is wider than a terminal */

static const char *node_name(const struct hop_topology *topology, uint32_t node)
{
    return hop_topology_node(topology, node)->name;
}

static const char *kind_text(enum hop_node_kind kind)
{
    static const char *const texts[] = {
#define NODE_TEXT(code, name, text) text,
        HOP_NODE_KIND_LIST(NODE_TEXT)
#undef NODE_TEXT
    };
    return texts[kind];
}

/* "gen4 x16 28.81 GB/s" */
static void link_text(const struct hop_topology *topology, const struct hop_link *link, char *text, size_t size)
{
    struct hop_link_text words = hop_describe_link(topology, link);
    (void)snprintf(text, size, "%s %s", words.what, words.rate);
}

/* ---- header ---- */

enum { DOMAINS_LISTED = 12 };

/* "18 pcie (198 links), nvlink (72 links)": the domains of each family, in the order of their first ones. */
static void add_families(struct hop_buffer *out, const struct hop_topology *topology)
{
    uint32_t domains = hop_topology_domain_count(topology);
    for (uint32_t d = 0; d < domains; d++) {
        const struct hop_domain *first = hop_topology_domain(topology, d);
        uint32_t before = 0, count = 0, links = 0;
        while (strcmp(hop_topology_domain(topology, before)->family, first->family) != 0)
            before++;
        for (uint32_t i = d; i < domains && before == d; i++) {
            const struct hop_domain *domain = hop_topology_domain(topology, i);
            bool same = strcmp(domain->family, first->family) == 0;
            count += same;
            links += same ? domain->link_count : 0;
        }
        if (count == 1)
            hop_buffer_printf(out, "%s%s (%u %s)", d ? ", " : "", first->name, links, links == 1 ? "link" : "links");
        else if (count > 1)
            hop_buffer_printf(out, "%s%u %s (%u links in all)", d ? ", " : "", count, first->family, links);
    }
}

static void print_header(struct hop_buffer *out, const struct hop_topology *topology)
{
    hop_buffer_puts(out, hop_topology_name(topology));
    hop_buffer_puts(out, hop_topology_node_count(topology) ? ": " : "");
    hop_add_kinds(out, topology);
    uint32_t domains = hop_topology_domain_count(topology);
    hop_buffer_puts(out, domains == 1 ? "; domain " : domains ? "; domains " : "; no links");
    if (domains > DOMAINS_LISTED)
        add_families(out, topology);
    for (uint32_t d = 0; d < domains && domains <= DOMAINS_LISTED; d++) {
        const struct hop_domain *domain = hop_topology_domain(topology, d);
        hop_buffer_printf(out, "%s%s (%u %s)", d ? ", " : "", domain->name, domain->link_count,
                          domain->link_count == 1 ? "link" : "links");
    }
    hop_buffer_puts(out, "\n\n");
}

/* ---- runs of names ---- */

/* Whether two names differ in one number alone, which is one more in the second: where it starts plus one,
 * 0: they do not. * Numbers that begin with 0 are of one width. */
static size_t step_between(const char *previous, const char *name)
{
    size_t start = 0;
    while (previous[start] && previous[start] == name[start])
        start++;
    while (start > 0 && isdigit((unsigned char)name[start - 1]))
        start--;
    size_t before = strspn(previous + start, "0123456789"), after = strspn(name + start, "0123456789");
    if (before == 0 || after == 0 || before > 9 || after > 9 ||
        strcmp(previous + start + before, name + start + after) != 0)
        return 0;
    bool plain = (previous[start] != '0' || before == 1) && (name[start] != '0' || after == 1);
    if (!plain && before != after)
        return 0;
    return strtol(name + start, NULL, 10) == strtol(previous + start, NULL, 10) + 1 ? start + 1 : 0;
}

/* ---- the forest ---- */

static bool add_row(struct hop_tree_rows *rows, struct hop_tree_row row)
{
    if (!HOP_GROW(rows->arena, rows->row, rows->count + 1))
        return false;
    rows->row[rows->count++] = row;
    return true;
}

static bool is_hidden(const struct hop_tree_rows *rows, uint32_t node)
{
    return rows->hidden && rows->hidden[node];
}

/* A node and all below it; finish has checked that trees have at most 64 levels. */
static void add_rows(struct hop_tree_rows *rows, const struct hop_topology *topology, uint32_t node, unsigned depth,
                     uint64_t open)
{
    uint32_t shown = 0, left_out = 0, child;
    if (!add_row(rows, (struct hop_tree_row){node, depth, open, node}))
        return;
    for (uint32_t at = 0; (child = hop_next_child(topology, node, &at)) != HOP_NONE;) {
        shown += !is_hidden(rows, child);
        left_out += is_hidden(rows, child) ? hop_count_below(topology, child) : 0;
    }
    for (uint32_t at = 0; (child = hop_next_child(topology, node, &at)) != HOP_NONE;) {
        if (!is_hidden(rows, child))
            add_rows(rows, topology, child, depth + 1,
                     --shown > 0 || left_out > 0 ? open | (uint64_t)1 << depth : open);
    }
    if (left_out > 0)
        add_row(rows, (struct hop_tree_row){HOP_NONE, depth + 1, open, left_out});
}

uint32_t hop_count_below(const struct hop_topology *topology, uint32_t node)
{
    uint32_t count = 1, child;
    for (uint32_t at = 0; (child = hop_next_child(topology, node, &at)) != HOP_NONE;)
        count += hop_count_below(topology, child);
    return count;
}

void hop_collect_rows(struct hop_tree_rows *rows, const struct hop_topology *topology)
{
    for (unsigned top = 2; top-- > 0;) { /* first what has trees below it */
        for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) {
            if (hop_topology_upstream(topology, n) == HOP_NONE && hop_is_top(topology, n) == top && !is_hidden(rows, n))
                add_rows(rows, topology, n, 0, 0);
        }
    }
}

static const char *description(const struct hop_node *node)
{
    return node->label && node->label[0] ? node->label : kind_text(node->kind);
}

static void upstream_text(const struct hop_topology *topology, uint32_t node, char *text, size_t size)
{
    uint32_t up = hop_topology_upstream(topology, node);
    text[0] = '\0';
    if (up != HOP_NONE)
        link_text(topology, hop_topology_link(topology, up), text, size);
}

/* "node0..node1023" for a run. */
static void name_text(const struct hop_topology *topology, const struct hop_tree_row *row, char *text, size_t size)
{
    (void)snprintf(text, size, "%s%s%s", node_name(topology, row->node), row->last == row->node ? "" : "..",
                   row->last == row->node ? "" : node_name(topology, row->last));
}

/* Whether all there is to say of a node is its name and what it is. */
static bool is_plain(const struct hop_topology *topology, const struct hop_tree_rows *rows, uint32_t i)
{
    const struct hop_node *node = hop_topology_node(topology, rows->row[i].node);
    return rows->row[i].depth == 0 && node->numa < 0 && !node->bus_id &&
           (i + 1 == rows->count || rows->row[i + 1].depth == 0);
}

/* Long runs of plain nodes that are numbered become one row each: the hosts and switches of a fabric. */
static void fold_rows(struct hop_tree_rows *rows, const struct hop_topology *topology)
{
    enum { LONG = 4 };
    uint32_t kept = 0;
    for (uint32_t i = 0, end; i < rows->count; i = end) {
        size_t where = 0;
        for (end = i + 1; end < rows->count && is_plain(topology, rows, i) && is_plain(topology, rows, end); end++) {
            const struct hop_node *before = hop_topology_node(topology, rows->row[end - 1].node),
                                  *node = hop_topology_node(topology, rows->row[end].node);
            size_t step = step_between(before->name, node->name);
            if (step == 0 || (where != 0 && step != where) || strcmp(description(before), description(node)) != 0)
                break;
            where = step;
        }
        if (end - i < LONG)
            end = i + 1;
        struct hop_tree_row row = rows->row[i];
        row.last = rows->row[end - 1].node;
        rows->row[kept++] = row;
    }
    rows->count = kept;
}

void hop_add_branches(struct hop_buffer *out, unsigned depth, uint64_t open, bool ascii)
{
    static const char *const texts[2][4] = {{"   ", "│  ", "└─ ", "├─ "}, {"   ", "|  ", "`- ", "|- "}};
    for (unsigned d = 0; d < depth; d++)
        hop_buffer_puts(out, texts[ascii][2 * (d + 1 == depth) + (open >> d & 1)]);
}

/* A row's name, what it is, its link, its NUMA node, its address. */
enum { COLUMNS = 5 };
struct cells {
    const char *text[COLUMNS];
    char name[NAME_TEXT_MAX], link[LINK_TEXT_MAX], numa[16];
};

static void fill_cells(const struct hop_topology *topology, const struct hop_tree_row *row, struct cells *cells)
{
    const struct hop_node *node = hop_topology_node(topology, row->node);
    *cells = (struct cells){
        .text = {cells->name, description(node), cells->link, cells->numa, node->bus_id ? node->bus_id : ""}};
    if (node->numa >= 0)
        (void)snprintf(cells->numa, sizeof cells->numa, "numa %d", node->numa);
    name_text(topology, row, cells->name, sizeof cells->name);
    upstream_text(topology, row->node, cells->link, sizeof cells->link);
}

static void print_forest(struct hop_buffer *out, const struct hop_topology *topology, struct hop_arena *arena)
{
    struct hop_tree_rows rows = {.arena = arena};
    unsigned widths[COLUMNS] = {0};
    struct cells cells;
    hop_collect_rows(&rows, topology);
    fold_rows(&rows, topology);
    for (uint32_t i = 0; i < rows.count; i++) {
        fill_cells(topology, &rows.row[i], &cells);
        for (unsigned c = 0; c < COLUMNS; c++) {
            unsigned own = hop_text_columns(cells.text[c]) + (c == 0 ? 3 * rows.row[i].depth : 0);
            widths[c] = own > widths[c] ? own : widths[c];
        }
    }
    for (uint32_t i = 0; i < rows.count; i++) {
        fill_cells(topology, &rows.row[i], &cells);
        hop_add_branches(out, rows.row[i].depth, rows.row[i].open, false);
        hop_add_cell(out, cells.name, widths[0] + 2 - 3 * rows.row[i].depth, (struct hop_cell_style){0});
        for (unsigned c = 1; c < COLUMNS; c++)
            hop_add_cell(out, cells.text[c], widths[c] ? widths[c] + 2 : 0, (struct hop_cell_style){0});
        hop_end_line(out);
    }
}

/* ---- links off the tree ---- */

/* A link as it is listed: its hub is the end that others share, the switch when it joins a device and a switch. */
struct spoke {
    const struct hop_link *link;
    uint32_t index, hub, rim;
};

static struct spoke spoke_of(const struct hop_topology *topology, uint32_t index)
{
    const struct hop_link *link = hop_topology_link(topology, index);
    bool first = hop_node_is_device(hop_topology_node(topology, link->ends[1])->kind) &&
                 !hop_node_is_device(hop_topology_node(topology, link->ends[0])->kind);
    return (struct spoke){link, index, link->ends[!first], link->ends[first]};
}

static int compare_spokes(const void *a, const void *b)
{
    const struct spoke *x = a, *y = b;
    int order = HOP_ORDER(x->link->kind, y->link->kind);
    order = order ? order : HOP_ORDER(x->hub, y->hub);
    order = order ? order : hop_compare_looks(x->link, y->link);
    return order ? order : HOP_ORDER(x->index, y->index);
}

/* "gpu0..gpu7 nic2", runs of three and more names shortened. */
static void print_names(struct hop_buffer *out, const struct hop_topology *topology, const struct spoke *spokes,
                        uint32_t count)
{
    for (uint32_t i = 0; i < count;) {
        uint32_t last = i;
        for (size_t where = 0; last + 1 < count; last++) {
            size_t step =
                step_between(node_name(topology, spokes[last].rim), node_name(topology, spokes[last + 1].rim));
            if (step == 0 || (where != 0 && step != where))
                break;
            where = step;
        }
        if (last < i + 2)
            last = i;
        hop_buffer_printf(out, "%s%s", i ? " " : "", node_name(topology, spokes[i].rim));
        if (last > i)
            hop_buffer_printf(out, "..%s", node_name(topology, spokes[last].rim));
        i = last + 1;
    }
}

static void print_list(struct hop_buffer *out, const struct hop_topology *topology, const struct spoke *spokes,
                       uint32_t count)
{
    for (uint32_t i = 0, next; i < count; i = next) {
        char text[LINK_TEXT_MAX];
        next = i + 1;
        while (next < count && spokes[next].hub == spokes[i].hub &&
               hop_compare_looks(spokes[next].link, spokes[i].link) == 0)
            next++;
        hop_buffer_puts(out, "  ");
        print_names(out, topology, spokes + i, next - i);
        link_text(topology, spokes[i].link, text, sizeof text);
        hop_buffer_printf(out, " -- %s  %s%s\n", node_name(topology, spokes[i].hub), text, next > i + 1 ? " each" : "");
    }
}

struct matrix {
    uint32_t nodes[MATRIX_NODES];
    uint32_t count;
    unsigned cell[MATRIX_NODES][MATRIX_NODES]; /* bonded links */
    const struct hop_link
        *of_count[1025]; /* a link of so many bonded ones; 1024 is the limit of hop_topology_add_link */
};

static uint32_t matrix_index(struct matrix *matrix, uint32_t node)
{
    uint32_t i = 0;
    while (i < matrix->count && matrix->nodes[i] != node)
        i++;
    if (i == matrix->count && i < MATRIX_NODES)
        matrix->nodes[matrix->count++] = node;
    return i;
}

/* A mesh: not too few links nor too many nodes, all of one kind, and the number of bonded links says everything else.
 */
static bool fill_matrix(struct matrix *matrix, const struct hop_topology *topology, const struct spoke *spokes,
                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (hop_topology_node(topology, spokes[i].rim)->kind != hop_topology_node(topology, spokes[i].hub)->kind)
            return false;
        if (matrix_index(matrix, spokes[i].rim) == MATRIX_NODES || matrix_index(matrix, spokes[i].hub) == MATRIX_NODES)
            return false;
    }
    if (matrix->count < 4 || count < matrix->count)
        return false;
    qsort(matrix->nodes, matrix->count, sizeof matrix->nodes[0], hop_ascending_u32);
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_link *link = spokes[i].link, **known = &matrix->of_count[link->count];
        if (link->capacity_Bps[0] != link->capacity_Bps[1] || (*known && hop_compare_looks(*known, link) != 0))
            return false;
        *known = link;
        uint32_t a = matrix_index(matrix, spokes[i].rim), b = matrix_index(matrix, spokes[i].hub);
        if (matrix->cell[a][b])
            return false; /* two links between one pair */
        matrix->cell[a][b] = matrix->cell[b][a] = link->count;
    }
    return true;
}

static void print_matrix(struct hop_buffer *out, const struct hop_topology *topology, const struct matrix *matrix)
{
    unsigned width = 3;
    for (uint32_t i = 0; i < matrix->count; i++) {
        unsigned own = hop_text_columns(node_name(topology, matrix->nodes[i]));
        width = own > width ? own : width;
    }
    hop_buffer_printf(out, "  %*s", (int)width, "");
    for (uint32_t i = 0; i < matrix->count; i++)
        hop_buffer_printf(out, "  %*s", (int)width, node_name(topology, matrix->nodes[i]));
    hop_buffer_puts(out, "\n");
    for (uint32_t i = 0; i < matrix->count; i++) {
        hop_buffer_printf(out, "  %*s", (int)width, node_name(topology, matrix->nodes[i]));
        for (uint32_t j = 0; j < matrix->count; j++) {
            char cell[16] = ".";
            if (matrix->cell[i][j])
                (void)snprintf(cell, sizeof cell, "x%u", matrix->cell[i][j]);
            hop_buffer_printf(out, "  %*s", (int)width, i == j ? "-" : cell);
        }
        hop_buffer_puts(out, "\n");
    }
    for (unsigned n = 1; n < HOP_COUNT(matrix->of_count); n++) {
        char text[LINK_TEXT_MAX];
        if (!matrix->of_count[n])
            continue;
        link_text(topology, matrix->of_count[n], text, sizeof text);
        hop_buffer_printf(out, "  x%u: %s\n", n, text);
    }
}

static void print_links(struct hop_buffer *out, const struct hop_topology *topology, struct hop_arena *arena)
{
    uint32_t links = hop_topology_link_count(topology), count = 0;
    struct spoke *spokes = hop_arena_alloc(arena, links * sizeof *spokes);
    struct matrix *matrix = hop_arena_alloc(arena, sizeof *matrix);
    if (arena->failed)
        return;
    for (uint32_t i = 0; i < links; i++) {
        if (!hop_in_tree(hop_topology_link(topology, i)))
            spokes[count++] = spoke_of(topology, i);
    }
    qsort(spokes, count, sizeof *spokes, compare_spokes);
    for (uint32_t i = 0, next; i < count; i = next) {
        next = i + 1;
        while (next < count && spokes[next].link->kind == spokes[i].link->kind)
            next++;
        hop_buffer_printf(out, "\n%s links:\n", hop_link_kind_name(spokes[i].link->kind));
        *matrix = (struct matrix){0};
        if (fill_matrix(matrix, topology, spokes + i, next - i))
            print_matrix(out, topology, matrix);
        else
            print_list(out, topology, spokes + i, next - i);
    }
}

char *hop_topology_to_tree(const struct hop_topology *topology)
{
    struct hop_buffer out = {0};
    struct hop_arena arena = {0};
    const char *note;
    print_header(&out, topology);
    if (hop_topology_lacks(topology)) {
        hop_buffer_puts(&out, "A SKELETON, which lacks ");
        hop_buffer_puts(&out, hop_topology_lacks(topology));
        hop_buffer_puts(&out, "\n");
    }
    print_forest(&out, topology, &arena);
    print_links(&out, topology, &arena);
    for (size_t i = 0; (note = hop_topology_note(topology, i)); i++) {
        hop_buffer_puts(&out, i ? "  " : "\nnotes:\n  ");
        hop_buffer_puts(&out, note);
        hop_buffer_puts(&out, "\n");
    }
    return hop_take_report(&out, &arena);
}
