/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matrix Market files (Boisvert, Pozo, Remington 1996): what rank i - 1 sends to rank j - 1 is entry (i, j).
 *
 *     %%MatrixMarket matrix coordinate real general        or: array, integer, pattern (1 byte each), symmetric
 *     % a comment
 *     4 4 2                                                 rows, columns, entries; of an array: rows, columns
 *     1 2 4096                                              of an array: all numbers, column by column
 *     4 1 1e6
 *
 * Of a symmetric matrix only the lower triangle stands there. Entries that come again add up, the diagonal is left out.
 */
#include "traffic/traffic.h"

#include <inttypes.h>
#include <stdio.h>

struct reader {
    struct hop_fields lines;
    enum hop_memory memory;
    struct hop_traffic *traffic;
    bool array, pattern, symmetric;
    uint32_t ranks;
    uint64_t entries; /* that the size line promises */
};

/* ---- banner ---- */

struct choice {
    const char *word;
    bool taken;
};

/* The next word of the banner is one of up to four; the index of which. */
static unsigned choose(struct reader *r, const char *what, const struct choice *choices, unsigned count)
{
    char expected[96] = "", text[HOP_FIELD_SIZE];
    struct hop_field word = hop_fields_word(&r->lines);
    unsigned i = 0;
    while (i < count && !hop_field_is_any_case(word, choices[i].word))
        i++;
    if (i < count && choices[i].taken)
        return i;
    for (unsigned k = 0; k < count; k++) {
        size_t length = strlen(expected);
        if (choices[k].taken)
            (void)snprintf(expected + length, sizeof expected - length, "%s%s", length ? " or " : "", choices[k].word);
    }
    if (i == count)
        hop_fields_refuse(&r->lines, word, what, expected);
    else
        hop_fields_fail(&r->lines, word.text, HOP_ERR_INVALID, "a matrix that is %s holds no numbers of bytes\n%s",
                        hop_field_show(word, text), expected);
    return 0;
}

static void read_banner(struct reader *r)
{
    static const struct choice objects[] = {{"matrix", true}}, formats[] = {{"coordinate", true}, {"array", true}},
                               fields[] = {{"real", true}, {"integer", true}, {"pattern", true}, {"complex", false}},
                               symmetries[] = {{"general", true},
                                               {"symmetric", true},
                                               {"hermitian", false},
                                               {"skew-symmetric", false}};
    (void)hop_fields_next(&r->lines);
    struct hop_field word = hop_fields_word(&r->lines);
    if (!hop_field_is_any_case(word, "%%MatrixMarket"))
        hop_fields_refuse(&r->lines, word, "banner of a Matrix Market file",
                          "%%MatrixMarket matrix coordinate real general");
    (void)choose(r, "object", objects, HOP_COUNT(objects));
    r->array = choose(r, "format", formats, HOP_COUNT(formats)) == 1;
    struct hop_fields before = r->lines;
    r->pattern = choose(r, "kind of number", fields, HOP_COUNT(fields)) == 2;
    if (r->array && r->pattern)
        hop_fields_refuse(&before, hop_fields_word(&before), "kind of number in an array", "real or integer");
    r->symmetric = choose(r, "symmetry", symmetries, HOP_COUNT(symmetries)) == 1;
    hop_fields_end(&r->lines, "the end of the banner");
}

/* ---- lines below it ---- */

/* The next line that is neither empty nor a comment; false: past the last. */
static bool next_line(struct reader *r)
{
    while (hop_fields_next(&r->lines)) {
        struct hop_fields look = r->lines;
        struct hop_field word = hop_fields_word(&look);
        if (word.length > 0 && *r->lines.start != '%')
            return true;
    }
    return false;
}

/* Behind the last line. */
static void refuse_end(const struct reader *r)
{
    hop_failure_place(r->lines.failure, "%.180s:%" PRIu32 ":1", r->lines.source->name, r->lines.number + 1);
}

static void read_size(struct reader *r)
{
    if (!next_line(r)) {
        hop_failure_set(r->lines.failure, HOP_ERR_SYNTAX, "the size line is missing\n%s",
                        r->array ? "rows and columns, such as 8 8" : "rows, columns and entries, such as 8 8 24");
        refuse_end(r);
        return;
    }
    r->ranks = hop_fields_count(&r->lines, "number of rows", 1, HOP_TRAFFIC_RANKS);
    uint32_t columns = hop_fields_count(&r->lines, "number of columns", 1, UINT32_MAX);
    if (columns != r->ranks)
        hop_fields_fail(&r->lines, r->lines.start, HOP_ERR_INVALID,
                        "the matrix is not square: %" PRIu32 " row%s of %" PRIu32 " number%s\n"
                        "as many rows as columns, one for every rank",
                        r->ranks, r->ranks == 1 ? "" : "s", columns, columns == 1 ? "" : "s");
    if (r->array)
        r->entries = (uint64_t)r->ranks * (r->symmetric ? (uint64_t)r->ranks + 1 : 2 * (uint64_t)r->ranks) / 2;
    else
        r->entries = hop_cell_whole(&r->lines, hop_fields_word(&r->lines), "number of entries", (uint64_t)1 << 32);
    hop_fields_end(&r->lines, "the end of the size line");
}

/* ---- entries ---- */

/* Row and column from 0. */
static void add(struct reader *r, struct hop_field word, uint32_t row, uint32_t column)
{
    struct hop_failure *failure = r->lines.failure;
    uint64_t bytes = r->pattern ? 1 : hop_cell_bytes(&r->lines, word);
    if (failure->status == HOP_OK)
        hop_fields_check(&r->lines, word.text,
                         hop_traffic_add(r->traffic, row, column, r->memory, bytes, 0, failure->diag));
    if (failure->status == HOP_OK && r->symmetric)
        hop_fields_check(&r->lines, word.text,
                         hop_traffic_add(r->traffic, column, row, r->memory, bytes, 0, failure->diag));
}

static void read_entry(struct reader *r)
{
    struct hop_field word = {r->lines.start, 0};
    uint32_t row = hop_fields_count(&r->lines, "row", 1, r->ranks);
    uint32_t column = hop_fields_count(&r->lines, "column", 1, r->ranks);
    if (r->symmetric && column > row)
        hop_fields_fail(&r->lines, r->lines.start, HOP_ERR_INVALID,
                        "entry (%" PRIu32 ", %" PRIu32 ") is above the diagonal\n"
                        "the lower triangle of a symmetric matrix: the row at least the column",
                        row, column);
    if (!r->pattern)
        word = hop_fields_word(&r->lines);
    add(r, word, row - 1, column - 1);
    hop_fields_end(&r->lines, "an entry a line");
}

/* The numbers of a line of an array, the first of which is the one after `*done`. */
static void read_numbers(struct reader *r, uint32_t *row, uint32_t *column, uint64_t *done)
{
    struct hop_field word = hop_fields_word(&r->lines);
    for (; r->lines.failure->status == HOP_OK && word.length > 0 && *done < r->entries; (*done)++) {
        add(r, word, *row, *column);
        if (++*row == r->ranks) {
            ++*column;
            *row = r->symmetric ? *column : 0;
        }
        word = *done + 1 < r->entries ? hop_fields_word(&r->lines) : (struct hop_field){NULL, 0};
    }
}

static void read_entries(struct reader *r)
{
    uint32_t row = 0, column = 0;
    uint64_t done = 0;
    char expected[64];
    while (done < r->entries && next_line(r)) {
        if (r->array)
            read_numbers(r, &row, &column, &done);
        else
            read_entry(r);
        done += !r->array;
    }
    if (done < r->entries) {
        hop_failure_set(r->lines.failure, HOP_ERR_SYNTAX,
                        "the file ends after %" PRIu64 " entr%s\n%" PRIu64 ", as the size line says", done,
                        done == 1 ? "y" : "ies", r->entries);
        refuse_end(r);
    }
    (void)snprintf(expected, sizeof expected, "%" PRIu64 " entr%s, as the size line says", r->entries,
                   r->entries == 1 ? "y" : "ies");
    hop_fields_end(&r->lines, expected);
    if (next_line(r))
        hop_fields_end(&r->lines, expected);
}

void hop_traffic_read_market(const struct hop_source *source, enum hop_memory memory, struct hop_traffic *traffic,
                             struct hop_failure *failure)
{
    struct reader r = {.memory = memory, .traffic = traffic};
    hop_fields_begin(&r.lines, source, failure);
    read_banner(&r);
    if (failure->status == HOP_OK)
        read_size(&r);
    hop_traffic_widen(traffic, r.ranks);
    if (failure->status == HOP_OK)
        read_entries(&r);
}
