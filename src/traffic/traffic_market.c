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
    struct hop_diag *diag;
    enum hop_memory memory;
    struct hop_traffic *traffic;
    bool array, pattern, symmetric;
    uint32_t ranks;
    uint64_t entries; /* that the size line promises */
};

/* ---- banner ---- */

/* A word of the banner, whose case does not matter. */
static bool is(struct hop_field word, const char *text)
{
    bool same = strlen(text) == word.length;
    for (size_t i = 0; i < word.length && same; i++) {
        char c = word.text[i];
        same = (c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c) == text[i];
    }
    return same;
}

struct choice {
    const char *word;
    bool taken;
};

/* The next word of the banner is one of up to four; the index of which. */
static enum hop_status choose(struct reader *r, const char *what, const struct choice *choices, unsigned count,
                              unsigned *chosen)
{
    char expected[96] = "", text[HOP_FIELD_SIZE];
    struct hop_field word = hop_fields_word(&r->lines);
    unsigned i = 0;
    while (i < count && !is(word, choices[i].word))
        i++;
    if (i < count && choices[i].taken) {
        *chosen = i;
        return HOP_OK;
    }
    size_t length = 0;
    for (unsigned k = 0; k < count; k++) {
        if (choices[k].taken)
            length += (size_t)snprintf(expected + length, sizeof expected - length, "%s%s", length ? " or " : "",
                                       choices[k].word);
    }
    if (i == count)
        return hop_fields_refuse(&r->lines, word, what, expected);
    hop_fail(r->diag, HOP_ERR_INVALID, "a matrix that is %s holds no numbers of bytes\n%s", hop_field_show(word, text),
             expected);
    return hop_fields_at(&r->lines, word.text, HOP_ERR_INVALID);
}

static enum hop_status read_banner(struct reader *r)
{
    static const struct choice objects[] = {{"matrix", true}}, formats[] = {{"coordinate", true}, {"array", true}},
                               fields[] = {{"real", true}, {"integer", true}, {"pattern", true}, {"complex", false}},
                               symmetries[] = {{"general", true},
                                               {"symmetric", true},
                                               {"hermitian", false},
                                               {"skew-symmetric", false}};
    unsigned object = 0, format = 0, field = 0, symmetry = 0;
    (void)hop_fields_next(&r->lines);
    struct hop_field word = hop_fields_word(&r->lines);
    if (!is(word, "%%matrixmarket"))
        return hop_fields_refuse(&r->lines, word, "banner of a Matrix Market file",
                                 "%%MatrixMarket matrix coordinate real general");
    enum hop_status status = choose(r, "object", objects, HOP_COUNT(objects), &object);
    if (status == HOP_OK)
        status = choose(r, "format", formats, HOP_COUNT(formats), &format);
    struct hop_fields before = r->lines;
    if (status == HOP_OK)
        status = choose(r, "kind of number", fields, HOP_COUNT(fields), &field);
    if (status == HOP_OK && format == 1 && field == 2)
        return hop_fields_refuse(&before, hop_fields_word(&before), "kind of number in an array", "real or integer");
    if (status == HOP_OK)
        status = choose(r, "symmetry", symmetries, HOP_COUNT(symmetries), &symmetry);
    r->array = format == 1;
    r->pattern = field == 2;
    r->symmetric = symmetry == 1;
    return status == HOP_OK ? hop_fields_end(&r->lines, "the end of the banner") : status;
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
static enum hop_status refuse_end(const struct reader *r, const char *expected)
{
    hop_diag_expect(r->diag, "%s", expected);
    hop_diag_place(r->diag, "%.180s:%" PRIu32 ":1", r->lines.source->name, r->lines.number + 1);
    return HOP_ERR_SYNTAX;
}

static enum hop_status read_size(struct reader *r)
{
    uint32_t columns = 0;
    if (!next_line(r)) {
        hop_fail(r->diag, HOP_ERR_SYNTAX, "the size line is missing");
        return refuse_end(r, r->array ? "rows and columns, such as 8 8" : "rows, columns and entries, such as 8 8 24");
    }
    enum hop_status status = hop_fields_count(&r->lines, "number of rows", 1, HOP_TRAFFIC_RANKS, &r->ranks);
    if (status == HOP_OK)
        status = hop_fields_count(&r->lines, "number of columns", 1, UINT32_MAX, &columns);
    if (status == HOP_OK && columns != r->ranks) {
        hop_fail(r->diag, HOP_ERR_INVALID,
                 "the matrix is not square: %" PRIu32 " row%s of %" PRIu32
                 " number%s\nas many rows as columns, one for every rank",
                 r->ranks, r->ranks == 1 ? "" : "s", columns, columns == 1 ? "" : "s");
        return hop_fields_at(&r->lines, r->lines.start, HOP_ERR_INVALID);
    }
    if (status == HOP_OK && !r->array)
        status =
            hop_cell_whole(&r->lines, hop_fields_word(&r->lines), "number of entries", (uint64_t)1 << 32, &r->entries);
    if (r->array)
        r->entries = (uint64_t)r->ranks * (r->symmetric ? (uint64_t)r->ranks + 1 : 2 * (uint64_t)r->ranks) / 2;
    return status == HOP_OK ? hop_fields_end(&r->lines, "the end of the size line") : status;
}

/* ---- entries ---- */

/* Row and column from 0. */
static enum hop_status add(struct reader *r, struct hop_field word, uint32_t row, uint32_t column)
{
    uint64_t bytes = 1;
    enum hop_status status = r->pattern ? HOP_OK : hop_cell_bytes(&r->lines, word, &bytes);
    if (status != HOP_OK)
        return status;
    status = hop_traffic_add(r->traffic, row, column, r->memory, bytes, 0, r->diag);
    if (status == HOP_OK && r->symmetric)
        status = hop_traffic_add(r->traffic, column, row, r->memory, bytes, 0, r->diag);
    return status == HOP_OK ? HOP_OK : hop_fields_at(&r->lines, word.text, status);
}

static enum hop_status read_entry(struct reader *r)
{
    uint32_t row = 0, column = 0;
    struct hop_field word = {r->lines.start, 0};
    enum hop_status status = hop_fields_count(&r->lines, "row", 1, r->ranks, &row);
    if (status == HOP_OK)
        status = hop_fields_count(&r->lines, "column", 1, r->ranks, &column);
    if (status != HOP_OK)
        return status;
    if (r->symmetric && column > row) {
        hop_fail(r->diag, HOP_ERR_INVALID,
                 "entry (%" PRIu32 ", %" PRIu32
                 ") is above the diagonal\nthe lower triangle of a symmetric matrix: the row at least the column",
                 row, column);
        return hop_fields_at(&r->lines, r->lines.start, HOP_ERR_INVALID);
    }
    if (!r->pattern)
        word = hop_fields_word(&r->lines);
    status = add(r, word, row - 1, column - 1);
    return status == HOP_OK ? hop_fields_end(&r->lines, "an entry a line") : status;
}

/* The numbers of a line of an array, the first of which is the one after `*done`. */
static enum hop_status read_numbers(struct reader *r, uint32_t *row, uint32_t *column, uint64_t *done)
{
    enum hop_status status = HOP_OK;
    struct hop_field word = hop_fields_word(&r->lines);
    for (; status == HOP_OK && word.length > 0 && *done < r->entries; (*done)++) {
        status = add(r, word, *row, *column);
        if (++*row == r->ranks) {
            ++*column;
            *row = r->symmetric ? *column : 0;
        }
        word = *done + 1 < r->entries ? hop_fields_word(&r->lines) : (struct hop_field){NULL, 0};
    }
    return status;
}

static enum hop_status read_entries(struct reader *r)
{
    enum hop_status status = HOP_OK;
    uint32_t row = 0, column = 0;
    uint64_t done = 0;
    while (status == HOP_OK && done < r->entries && next_line(r)) {
        if (r->array) {
            status = read_numbers(r, &row, &column, &done);
        } else {
            status = read_entry(r);
            done++;
        }
    }
    if (status != HOP_OK)
        return status;
    if (done < r->entries) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "%" PRIu64 ", as the size line says", r->entries);
        hop_fail(r->diag, HOP_ERR_SYNTAX, "the file ends after %" PRIu64 " entr%s", done, done == 1 ? "y" : "ies");
        return refuse_end(r, expected);
    }
    char expected[64];
    (void)snprintf(expected, sizeof expected, "%" PRIu64 " entr%s, as the size line says", r->entries,
                   r->entries == 1 ? "y" : "ies");
    status = hop_fields_end(&r->lines, expected);
    return status == HOP_OK && next_line(r) ? hop_fields_end(&r->lines, expected) : status;
}

enum hop_status hop_traffic_read_market(const struct hop_source *source, enum hop_memory memory,
                                        struct hop_traffic *traffic, struct hop_diag *diag)
{
    struct reader r = {.diag = diag, .memory = memory, .traffic = traffic};
    hop_fields_begin(&r.lines, source, diag);
    enum hop_status status = read_banner(&r);
    if (status == HOP_OK)
        status = read_size(&r);
    if (status != HOP_OK)
        return status;
    hop_traffic_widen(traffic, r.ranks);
    return read_entries(&r);
}
