/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurements from TransferBench (ROCm): tests, the p2p matrices and the summary of a2a.
 *
 *     Test 1:
 *      Executor: GPU 00 |   56.299 GB/s |    4.768 ms |    268435456 bytes | 56.309  GB/s (sum)
 *          Transfer 00  |   56.309 GB/s |    4.767 ms |    268435456 bytes | G0 -> G000:004 -> G1
 *
 *     Bytes Per Direction 67108864
 *     Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)
 *      SRC+EXE\DST    CPU 00       GPU 00    GPU 01
 *       GPU 00  ->     23.83       108.95     64.58
 *
 * Newer versions draw frames in place of the bars. A test is a group, each transfer with its own rate. A cell of a one-way matrix ran alone; of a two-way matrix the
 * rows "->" and "<-" are the two copies of a group. The summary of a2a is one group; it is passed over where the test
 * that it sums up stands above. CPU n is hostn, GPU n gpun. What reads or writes several memories, or none, is no copy:
 * the test that it is in is passed over, as are copies within a device.
 */
#include "import/lines.h"
#include "measurements/measurements.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#define GB 1e9

enum { DEVICES_MAX = 256, TRANSFERS_MAX = 65536, NAME_SIZE = 16 };

struct transfer {
    char from[NAME_SIZE], to[NAME_SIZE];
    uint64_t bytes;
    double rate;     /* GB/s */
    const char *how; /* what copies */
    uint32_t line, column;
};

enum table { NO_TABLE, ONE_WAY, TWO_WAY, SUMMARY };

struct reading {
    struct hop_lines lines;
    struct hop_row_builder b;
    struct transfer *transfers; /* of the test in hand; an array of the measurements' arena */
    uint32_t count;
    int test;    /* its number, -1: none */
    uint32_t spoilt; /* the line of a transfer of it that is no copy, 0: none */
    uint32_t passed;
    /* matrices */
    enum table table;
    char columns[DEVICES_MAX][NAME_SIZE];
    uint32_t column_count;
    double there[DEVICES_MAX]; /* two ways: the row "->" */
    char row[NAME_SIZE];       /* its device; "": none */
    bool summed_up;            /* the summary that follows is of a test that was read */
    bool pulled, dma;
    uint64_t bytes;
};

static bool good(const struct reading *r)
{
    return hop_measurements_good(r->b.made);
}

static void refuse(struct reading *r, uint32_t column, const char *what, const char *expected)
{
    hop_lines_refuse(&r->lines, HOP_ERR_SYNTAX, column, "%s\n%s", what, expected);
}

/* ---- tests ---- */

static void end_test(struct reading *r)
{
    if (r->count > 0 && !r->spoilt)
        hop_rows_group(&r->b, "test %d", r->test);
    for (uint32_t i = 0; i < r->count && !r->spoilt && good(r); i++) {
        const struct transfer *t = &r->transfers[i];
        r->b.line = t->line;
        r->b.column = t->column;
        hop_rows_add(&r->b, (const char *[]){t->from, t->to}, t->bytes, t->rate * GB, "%s; %s",
                     r->count > 1 ? "own rate" : "alone", t->how);
    }
    if (r->count > 0 && r->spoilt)
        hop_measurements_leave_out(r->b.made, r->spoilt,
                                   "tests with a transfer that is no copy from one memory to another, left out");
    r->summed_up = r->summed_up || r->count > 0;
    r->count = 0;
    r->spoilt = 0;
    r->test = -1;
}

/* "G0", "F7", "C1": the memory of a GPU or of a NUMA node. */
static bool read_memory(const struct hop_word *word, char name[NAME_SIZE])
{
    const char kind = (char)toupper((unsigned char)word->text[0]);
    const struct hop_word number = {word->text + 1, word->length - 1, word->column};
    bool gpu = kind == 'G' || kind == 'F';
    int value = word->length > 1 ? hop_word_number(&number, "") : -1;
    if (value < 0 || value > 9999 || (!gpu && kind != 'C' && kind != 'B' && kind != 'U'))
        return false;
    (void)snprintf(name, NAME_SIZE, "%s%d", gpu ? "gpu" : "host", value);
    return true;
}

/* By what copies: a CPU, a copy engine or a kernel; the source's, or the receiver's. */
static const char *const ways[3][2] = {{"copied by a CPU", "copied by a CPU; pulled by the receiver"},
                                       {"copy engine", "copy engine; pulled by the receiver"},
                                       {"copy kernel", "copy kernel; pulled by the receiver"}};

/* "G000:004", "GPU00:004", "D001.*:001" or "CPU00:004": its name, and its row of `ways`; NULL: it is none. */
static const char *const *read_executor(const struct hop_word *word, char name[NAME_SIZE])
{
    char kind = word->text[0];
    uint32_t letters = 0, digits = 0;
    while (letters < word->length && isupper((unsigned char)word->text[letters]))
        letters++;
    while (letters + digits < word->length && isdigit((unsigned char)word->text[letters + digits]))
        digits++;
    const struct hop_word number = {word->text + letters, digits, 1};
    int value = digits ? hop_word_number(&number, "") : -1;
    if (letters == 0 || value < 0 || value > 9999 || (kind != 'C' && kind != 'G' && kind != 'D'))
        return NULL;
    (void)snprintf(name, NAME_SIZE, "%s%d", kind == 'C' ? "host" : "gpu", value);
    return ways[kind == 'C' ? 0 : kind == 'D' ? 1 : 2];
}

/* "Transfer 00  56.309 GB/s  4.767 ms  268435456 bytes  G0 -> G000:004 -> G1", what stands between cells left out */
static void read_transfer(struct reading *r)
{
    const struct hop_word *words = r->lines.words;
    struct transfer made = {.line = r->lines.line, .column = words[2].column};
    char executor[NAME_SIZE] = "";
    if (!hop_word_rate(&words[2], &made.rate) || !hop_word_whole(&words[6], &made.bytes)) {
        refuse(r, words[2].column, "this transfer has no rate or no bytes",
               "Transfer 00 | 56.3 GB/s | 4.77 ms | 268435456 bytes | G0 -> G000:004 -> G1");
        return;
    }
    bool plain = r->lines.count == 13 && hop_word_is(&words[9], "->") && hop_word_is(&words[11], "->") &&
                 read_memory(&words[8], made.from) && read_memory(&words[12], made.to);
    const char *const *how = plain ? read_executor(&words[10], executor) : NULL;
    if (how && (strcmp(executor, made.from) == 0 || strcmp(executor, made.to) == 0)) /* else by way of a third device */
        made.how = how[strcmp(executor, made.from) != 0];
    if (made.how && strcmp(made.from, made.to) == 0)
        return; /* within a device */
    if (r->count >= TRANSFERS_MAX)
        refuse(r, 1, "too many transfers in a test", "at most 65536");
    else if (HOP_GROW(&r->b.made->arena, r->transfers, r->count + 1))
        r->transfers[r->count++] = made;
    if (!made.how || isnan(made.rate) || made.bytes == 0 || made.bytes > HOP_BYTES_MAX) {
        r->spoilt = r->spoilt ? r->spoilt : made.line;
        r->passed = r->passed ? r->passed : made.line;
    }
}

/* ---- matrices ---- */

/* A name in two words, "GPU 00" or "CPU 01", at a place of the line. */
static bool read_name(const struct hop_lines *lines, uint32_t at, char name[NAME_SIZE])
{
    bool gpu = at + 1 < lines->count && hop_word_is(&lines->words[at], "GPU");
    int number = at + 1 < lines->count ? hop_word_number(&lines->words[at + 1], "") : -1;
    if (number < 0 || number > 9999 || (!gpu && !hop_word_is(&lines->words[at], "CPU")))
        return false;
    (void)snprintf(name, NAME_SIZE, "%s%d", gpu ? "gpu" : "host", number);
    return true;
}

/* "SRC+EXE\DST  CPU 00  GPU 00 ...", "SRC\DST  GPU 00 ...  STotal  Actual" */
static void read_columns(struct reading *r)
{
    r->column_count = 0;
    for (uint32_t at = 1; r->column_count < DEVICES_MAX && read_name(&r->lines, at, r->columns[r->column_count]);
         at += 2)
        r->column_count++;
    if (r->column_count == 0)
        refuse(r, r->lines.words[0].column, "this matrix names no devices", "SRC\\DST  CPU 00  GPU 00  GPU 01 ...");
}

static void add_cell(struct reading *r, const char *from, const char *to, double rate)
{
    bool cpu = (r->pulled ? to : from)[0] == 'h';
    hop_rows_add(&r->b, (const char *[]){from, to}, r->bytes, rate * GB, "%s; %s",
                 r->table == ONE_WAY   ? "alone"
                 : r->table == TWO_WAY ? "measured while the copy the other way runs"
                                       : "own rate",
                 ways[cpu      ? 0
                      : r->dma ? 1
                               : 2][r->pulled]);
}

static void take_cell(struct reading *r, const char *row, bool back, uint32_t c, double rate)
{
    const char *column = r->columns[c];
    if (r->table == TWO_WAY && !back)
        r->there[c] = rate;
    if (strcmp(row, column) == 0 || isnan(rate) || (r->table == TWO_WAY && (!back || isnan(r->there[c]))))
        return;
    if (r->table == ONE_WAY)
        hop_rows_group(&r->b, "one-way:%s>%s", row, column);
    else if (r->table == TWO_WAY)
        hop_rows_group(&r->b, "two-way:%s-%s", row, column);
    add_cell(r, row, column, back ? r->there[c] : rate);
    if (back)
        add_cell(r, column, row, rate);
}

/* "GPU 00  ->  23.83  108.95", "GPU 00  <-  ...", "GPU 00  N/A  47.056 ...  326.317  316.469" */
static void read_cells(struct reading *r)
{
    const struct hop_lines *lines = &r->lines;
    char row[NAME_SIZE];
    if (!read_name(lines, 0, row)) {
        r->table = r->table == SUMMARY ? NO_TABLE : r->table; /* "RTotal ..." */
        return;
    }
    bool back = r->table == TWO_WAY && lines->count > 2 && hop_word_is(&lines->words[2], "<-");
    bool there = lines->count > 2 && hop_word_is(&lines->words[2], "->");
    uint32_t first = r->table == SUMMARY ? 2 : 3;
    if (r->table != SUMMARY && !there && !back)
        return; /* least, most, deviation */
    if (lines->count < first + r->column_count) {
        refuse(r, lines->words[0].column, "this row has fewer cells than the matrix has columns",
               "a cell for each column");
        return;
    }
    if (there)
        memcpy(r->row, row, sizeof row);
    if (back && strcmp(r->row, row) != 0) {
        refuse(r, lines->words[2].column, "the row of the copies there is missing", "a row '->' before a row '<-'");
        return;
    }
    for (uint32_t c = 0; c < r->column_count && good(r); c++) {
        const struct hop_word *word = &lines->words[first + c];
        double rate;
        if (!hop_word_rate(word, &rate)) {
            refuse(r, word->column, "this is no cell of a matrix", "a bandwidth in GB/s, or N/A");
            return;
        }
        r->b.line = lines->line;
        r->b.column = word->column;
        take_cell(r, row, back, c, rate);
    }
}

/* "Bytes Per Direction N", "- Copying N bytes ...", "Summary: [N bytes per Transfer]" */
static void read_bytes(struct reading *r)
{
    const struct hop_lines *lines = &r->lines;
    bool said = hop_lines_hold(lines, "Bytes Per Direction") || hop_lines_hold(lines, "- Copying ") ||
                hop_lines_hold(lines, " bytes per Transfer]");
    for (uint32_t i = 0; i < lines->count && said; i++) {
        struct hop_word word = lines->words[i];
        uint64_t bytes;
        bool bracket = word.text[0] == '[';
        word.text += bracket;
        word.length -= bracket;
        if (hop_word_whole(&word, &bytes) && bytes <= HOP_BYTES_MAX) {
            r->bytes = bytes;
            return;
        }
    }
}

/* The title of a matrix. */
static bool read_title(struct reading *r)
{
    const struct hop_lines *lines = &r->lines;
    bool one_way = hop_lines_hold(lines, "Unidirectional copy peak bandwidth GB/s [");
    read_bytes(r);
    if (one_way || hop_lines_hold(lines, "Bidirectional copy peak bandwidth GB/s [")) {
        r->table = one_way ? ONE_WAY : TWO_WAY;
        r->summed_up = false;
        r->pulled = hop_lines_hold(lines, "[Remote read");
        r->dma = hop_lines_hold(lines, "GPU-Executor: DMA");
        r->column_count = 0;
        r->row[0] = '\0';
        return true;
    }
    if (lines->count > 2 && hop_word_is(&lines->words[0], "SRC\\DST") && r->table == NO_TABLE) {
        r->table = SUMMARY;
        r->dma = r->pulled = false;
        read_columns(r);
        if (r->summed_up)
            r->table = NO_TABLE;
        else if (good(r))
            hop_rows_group(&r->b, "all to all");
        r->summed_up = false;
        return true;
    }
    return false;
}

static void read_line(struct reading *r)
{
    const struct hop_word *words = r->lines.words;
    char number[16];
    if (r->lines.count == 2 && hop_word_is(&words[0], "Test") && words[1].length > 1 && words[1].length < 11 &&
        words[1].text[words[1].length - 1] == ':') {
        end_test(r);
        (void)snprintf(number, sizeof number, "%.*s", (int)words[1].length - 1, words[1].text);
        r->test = hop_word_number(&(struct hop_word){number, words[1].length - 1, 1}, "");
        r->table = NO_TABLE;
    } else if (r->test >= 0 && r->lines.count > 7 && hop_word_is(&words[0], "Transfer") &&
               hop_word_is(&words[3], "GB/s")) {
        read_transfer(r);
    } else if (hop_word_is(&words[0], "Summary:")) {
        end_test(r);
        r->table = NO_TABLE;
        read_bytes(r);
    } else if (!read_title(r) && r->table != NO_TABLE) {
        if (r->column_count == 0)
            read_columns(r);
        else
            read_cells(r);
    } else if (hop_word_is(&words[0], "Aggregate")) {
        end_test(r);
    }
}

/* Between cells stand bars, commas ("GPU 00 ->,  23.83, N/A,") or, from version 1.65 on, the lines of a frame, which
 * separate words as blanks do. */
static void drop_separators(struct hop_lines *lines)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < lines->count; i++) {
        struct hop_word word = lines->words[i];
        word.length -= word.text[word.length - 1] == ',';
        if (word.length > 0 && !hop_word_is(&word, "|"))
            lines->words[kept++] = word;
    }
    lines->count = kept;
}

static void read_transferbench(const struct hop_source *source, struct hop_measurements *m)
{
    struct reading *r = hop_arena_alloc(&m->arena, sizeof *r);
    if (!r)
        return;
    r->b.made = m;
    r->test = -1;
    hop_lines_init(&r->lines, source);
    r->lines.failure = &m->failure;
    while (hop_lines_next(&r->lines)) {
        drop_separators(&r->lines);
        if (r->lines.count > 0)
            read_line(r);
    }
    end_test(r);
    if (good(r) && m->count == 0)
        hop_measurements_refuse(
            m, HOP_ERR_INVALID, r->passed ? r->passed : r->lines.line, 1,
            "%s\ncopies between two memories: tests such as 'G0 -> G000:004 -> G1', the presets p2p "
            "and a2a",
            r->passed ? "this transfer is no copy from one memory to another" : "there is no copy between two devices");
}

static bool detect_transferbench(const struct hop_source *source)
{
    static const char *const marks[] = {"TransferBench v",
                                        " Executor: GPU ",
                                        " Executor: DMA ",
                                        " Executor: CPU ",
                                        "SRC+EXE\\DST",
                                        "SRC\\EXE+DST",
                                        "directional copy peak bandwidth GB/s ["};
    bool found = false;
    for (size_t i = 0; i < HOP_COUNT(marks); i++)
        found = found || hop_source_mentions(source, marks[i]);
    return found;
}

const struct hop_measurements_reader hop_reader_transferbench = {detect_transferbench, read_transferbench};
