/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Byte matrices: row r holds what rank r sends to rank 0, 1, 2, ...
 *
 *     n x n numbers        or with names for the columns, for the rows, or for both:
 *
 *     0,4096,0                     ,r0,r1,r2         the corner may be empty, hold a word, or be missing
 *     4096,0,1MiB                r0,0,4096,0
 *     0,1MiB,0                   r1,4096,0,1MiB
 *                                r2,0,1MiB,0
 *
 * Read twice: first the shape, from the number of lines and from what can be no number, then the numbers. Names say
 * nothing but that they must not contradict the order of the ranks.
 */
#include "traffic/traffic.h"

#include <inttypes.h>

/* A line, as far as the shape depends on it. */
struct line {
    uint32_t number, cells;
    bool word;  /* its first cell is no number */
    bool words; /* nor is any other */
    bool plain; /* all others are, and there are some if the first is not */
};

struct reader {
    const struct hop_source *source;
    struct hop_failure *failure;
    struct hop_cells cells;
    enum hop_memory memory;
    struct hop_traffic *traffic;
    uint32_t lines;
    struct line first, second, last;
    bool header, labels; /* names above the columns, before the rows */
    uint32_t ranks;
    struct hop_names known; /* the names read first, with their ranks */
    struct hop_arena arena;
    uint32_t base; /* of names that are numbers: the first one's */
};

static struct line look(const struct hop_cells *cells)
{
    struct line line = {.number = cells->lines.number, .cells = cells->count, .words = true, .plain = true};
    line.word = cells->count > 0 && !hop_cell_is_number(cells->cells[0]);
    for (uint32_t i = 1; i < cells->count; i++) {
        bool number = hop_cell_is_number(cells->cells[i]);
        line.words = line.words && !number;
        line.plain = line.plain && number;
    }
    line.plain = line.plain && !(line.word && cells->count == 1);
    return line;
}

/* Whether a line belongs to a schedule (.hop, GOAL) or to another well-known form of text. */
static bool is_foreign(const struct hop_cells *cells)
{
    static const char *const begins[] = {"work", "num_ranks", "//", "/*"};
    struct hop_field first = cells->cells[0];
    const char *start = cells->lines.start;
    bool foreign = memmem(start, (size_t)(cells->lines.end - start), "->", 2) != NULL;
    foreign = foreign || (first.length > 0 && memchr("{[<", *first.text, 3));
    for (size_t i = 0; i < HOP_COUNT(begins) && !foreign; i++)
        foreign = hop_field_is(first, begins[i]);
    return foreign;
}

static bool is_row(const struct line *line)
{
    return line->plain || !line->word;
}

bool hop_matrix_detect(const struct hop_cells *first, const struct hop_cells *second)
{
    struct line one = look(first);
    if (is_foreign(first) || is_row(&one) || !second)
        return is_row(&one) && !is_foreign(first);
    struct line two = look(second);
    return is_row(&two) && !is_foreign(second);
}

/* ---- the shape ---- */

static void place(const struct reader *r, const struct line *line)
{
    hop_failure_place(r->failure, "%.180s:%" PRIu32 ":1", r->source->name, line->number);
}

static void check_length(const struct reader *r, const struct line *line, const struct line *before)
{
    if (line->cells != before->cells)
        hop_failure_set(r->failure, HOP_ERR_SYNTAX,
                        "the row has %" PRIu32 " cell%s\n%" PRIu32 ", as line %" PRIu32 " has", line->cells,
                        line->cells == 1 ? "" : "s", before->cells, before->number);
    place(r, line);
}

/* Counts the lines, and keeps what the shape depends on. */
static void survey(struct reader *r)
{
    hop_cells_begin(&r->cells, r->source, r->failure);
    while (hop_cells_next(&r->cells)) {
        r->last = look(&r->cells);
        r->lines++;
        if (r->lines == 1)
            r->first = r->last;
        else if (r->lines == 2)
            r->second = r->last;
        else
            check_length(r, &r->last, &r->second);
    }
    hop_cells_finish(&r->cells);
}

/* The first line has names if its first cell is a word and either all others are, or the second line begins with a
 * number, or the number of lines wants it (names of the ranks 0 1 2 over rows that begin with words). Without a corner
 * it is a cell shorter than the rows. */
static void find_names(struct reader *r)
{
    const struct line *one = &r->first, *two = &r->second;
    bool square = r->lines == one->cells && one->cells == two->cells;
    r->header = r->lines > 1 &&
                ((one->word && (one->words || !two->word || square)) || (two->word && two->cells == one->cells + 1));
    uint32_t rows = r->lines - r->header, cells = r->header ? two->cells : one->cells;
    /* Rows may be named by numbers only below a header, where the number of lines tells. */
    r->labels = r->header ? two->word || cells == rows + 1 : one->word;
}

static void check_shape(struct reader *r)
{
    uint32_t rows = r->lines - r->header, cells = r->header ? r->second.cells : r->first.cells;
    uint32_t columns = cells - r->labels;
    if (!r->header && r->lines > 1)
        check_length(r, &r->second, &r->first);
    if (r->header && r->first.cells != columns && r->first.cells != cells) {
        hop_failure_set(r->failure, HOP_ERR_SYNTAX,
                        "%" PRIu32 " names stand above %" PRIu32 " columns\na name for every column", r->first.cells,
                        columns);
        place(r, &r->first);
    }
    if (rows != columns)
        hop_failure_set(r->failure, HOP_ERR_INVALID,
                        "the matrix is not square: %" PRIu32 " row%s of %" PRIu32 " number%s\n"
                        "as many rows as columns, one for every rank; a profile has a line "
                        "'from,to,host_bytes,device_bytes' above its rows",
                        rows, rows == 1 ? "" : "s", columns, columns == 1 ? "" : "s");
    if (rows > HOP_TRAFFIC_RANKS)
        hop_failure_set(r->failure, HOP_ERR_LIMIT, "the matrix has %" PRIu32 " rows\nat most %u ranks", rows,
                        HOP_TRAFFIC_RANKS);
    place(r, &r->last);
    r->ranks = rows;
}

/* ---- names ---- */

static void refuse_name(const struct reader *r, struct hop_field cell, const char *expected, uint32_t rank)
{
    char text[HOP_FIELD_SIZE];
    hop_fields_fail(&r->cells.lines, cell.text, HOP_ERR_INVALID, "'%s' stands for rank %" PRIu32 "\n%s",
                    hop_field_show(cell, text), rank, expected);
}

static bool has_room(const struct reader *r, bool room)
{
    if (!room)
        hop_failure_set(r->failure, HOP_ERR_MEMORY, "out of memory");
    return room;
}

/* A name that is a number says its rank; they may count from 1. */
static bool is_in_order(struct reader *r, struct hop_field cell, uint32_t rank)
{
    uint64_t value;
    if (!hop_field_whole(cell, &value))
        return true;
    if (rank == 0 && value == 1)
        r->base = 1;
    return value == (uint64_t)rank + r->base;
}

/* The name of a rank: above its column, before its row, or, where both stand there, the same or one of its own. */
static void take_name(struct reader *r, struct hop_field cell, uint32_t rank, bool again)
{
    const char *name = hop_arena_string(&r->arena, cell.text, cell.length);
    if (!has_room(r, name) || cell.length == 0)
        return;
    uint32_t known = hop_names_get(&r->known, name);
    if (again && known == rank)
        return;
    if (again && known != UINT32_MAX)
        refuse_name(r, cell, "rows in the order of the columns, every rank once", rank);
    if (!is_in_order(r, cell, rank))
        refuse_name(r, cell, "ranks in ascending order, from 0 or from 1", rank);
    if (known != UINT32_MAX)
        refuse_name(r, cell, "every rank once: another has this name", rank);
    else
        (void)has_room(r, hop_names_put(&r->known, name, rank));
}

/* ---- numbers ---- */

static void read_row(struct reader *r, uint32_t rank)
{
    const struct hop_cells *cells = &r->cells;
    if (r->labels)
        take_name(r, cells->cells[0], rank, r->header);
    for (uint32_t to = 0; to < r->ranks && r->failure->status == HOP_OK; to++) {
        struct hop_field cell = cells->cells[to + r->labels];
        uint64_t bytes = hop_cell_bytes(&cells->lines, cell);
        if (r->failure->status == HOP_OK)
            hop_fields_check(&cells->lines, cell.text,
                             hop_traffic_add(r->traffic, rank, to, r->memory, bytes, 0, r->failure->diag));
    }
}

static void read_rows(struct reader *r)
{
    hop_cells_begin(&r->cells, r->source, r->failure);
    if (r->header && hop_cells_next(&r->cells)) {
        for (uint32_t i = 0; i < r->ranks; i++)
            take_name(r, r->cells.cells[r->first.cells - r->ranks + i], i, false);
    }
    for (uint32_t rank = 0; rank < r->ranks && hop_cells_next(&r->cells); rank++)
        read_row(r, rank);
    hop_cells_finish(&r->cells);
}

void hop_traffic_read_matrix(const struct hop_source *source, enum hop_memory memory, struct hop_traffic *traffic,
                             struct hop_failure *failure)
{
    struct reader r = {.source = source, .failure = failure, .memory = memory, .traffic = traffic};
    survey(&r);
    find_names(&r);
    check_shape(&r);
    if (failure->status == HOP_OK) {
        hop_traffic_widen(traffic, r.ranks);
        read_rows(&r);
    }
    hop_names_finish(&r.known);
    hop_arena_finish(&r.arena);
}
