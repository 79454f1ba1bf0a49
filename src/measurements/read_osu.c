/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurements from the OSU micro-benchmarks: osu_bw, osu_bibw, osu_mbw_mr, osu_latency.
 *
 *     # OSU MPI-CUDA Multiple Bandwidth / Message Rate Test v7.2
 *     # [ pairs: 4 ] [ window size: 64 ]
 *     # Size                  MB/s        Messages/s          MB: 1e6 bytes
 *     1048576             12075.90          11516.47
 *
 * A group for each size. Where the ranks ran is not printed: they are called rank0, rank1, ...; of p pairs, rank i
 * sends to rank p + i. Tables of other tests are passed over.
 */
#include "measurements/measurements.h"
#include "import/lines.h"

#include <math.h>
#include <stdio.h>

#define PAIRS_MAX 4096
#define MB 1e6

enum test { BANDWIDTH, TWO_WAY, PAIRS, LATENCY, OTHER };

struct reading {
    struct hop_lines lines;
    struct hop_row_builder b;
    enum test test;
    uint32_t pairs;
    char buffers[40]; /* "buffers D D" where it is said */
    uint32_t passed;  /* line of a test that is not read, 0: none */
};

/* What follows "# OSU MPI...", without a device type ("-CUDA", "-ROCM") in it. */
static enum test test_of(const struct hop_lines *lines)
{
    static const struct {
        const char *title;
        enum test test;
    } titles[] = {{" Bandwidth Test v", BANDWIDTH},
                  {" Bi-Directional Bandwidth Test v", TWO_WAY},
                  {" Multiple Bandwidth / Message Rate Test v", PAIRS},
                  {" Latency Test v", LATENCY}};
    const char *at = memmem(lines->text, lines->length, "OSU MPI", 7), *end = lines->text + lines->length;
    for (at += 7; at < end && *at == '-';) {
        for (at++; at < end && *at != ' ' && *at != '-';)
            at++;
    }
    for (size_t i = 0; i < HOP_COUNT(titles); i++) {
        size_t length = strlen(titles[i].title);
        if ((size_t)(end - at) >= length && memcmp(at, titles[i].title, length) == 0)
            return titles[i].test;
    }
    return OTHER;
}

/* "# [ pairs: 4 ] [ window size: 64 ]" */
static void read_pairs(struct reading *r)
{
    for (uint32_t i = 0; i + 1 < r->lines.count; i++) {
        if (!hop_word_is(&r->lines.words[i], "pairs:"))
            continue;
        int pairs = hop_word_number(&r->lines.words[i + 1], "");
        if (pairs < 1 || pairs > PAIRS_MAX)
            hop_lines_refuse(&r->lines, HOP_ERR_SYNTAX, r->lines.words[i + 1].column,
                             "this is no number of pairs\n1 to 4096");
        else
            r->pairs = (uint32_t)pairs;
    }
}

/* "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)" */
static void read_buffers(struct reading *r)
{
    char sides[2] = {0};
    for (uint32_t i = 0, n = 0; i < r->lines.count && n < 2; i++) {
        const struct hop_word *word = &r->lines.words[i];
        if (word->length == 3 && word->text[0] == '(' && word->text[2] == ')')
            sides[n++] = word->text[1];
    }
    if (sides[1])
        (void)snprintf(r->buffers, sizeof r->buffers, "; buffers %c and %c", sides[0], sides[1]);
}

static void read_comment(struct reading *r)
{
    if (hop_lines_hold(&r->lines, "OSU MPI")) {
        r->test = test_of(&r->lines);
        r->pairs = 0;
        r->buffers[0] = '\0';
        if (r->test == OTHER && r->passed == 0)
            r->passed = r->lines.line;
    } else if (hop_lines_hold(&r->lines, "pairs:")) {
        read_pairs(r);
    } else if (hop_lines_hold(&r->lines, "Send Buffer on")) {
        read_buffers(r);
    }
}

static void add_rows(struct reading *r, uint64_t bytes, double value)
{
    struct hop_row_builder *b = &r->b;
    static const char *const ends[] = {"rank0", "rank1", "rank0"}; /* there, and back */
    unsigned long long size = bytes;
    switch (r->test) {
    case BANDWIDTH:
        hop_rows_group(b, "osu_bw:%llu B", size);
        hop_rows_add(b, ends, bytes, value * MB, "alone%s", r->buffers);
        break;
    case TWO_WAY:
        hop_rows_group(b, "osu_bibw:%llu B", size);
        for (unsigned back = 0; back < 2; back++)
            hop_rows_add(b, ends + back, bytes, value * MB / 2, "half of printed two-way sum %.10g MB/s%s", value,
                         r->buffers);
        break;
    case PAIRS:
        hop_rows_group(b, "osu_mbw_mr:%u pairs:%llu B", r->pairs, size);
        for (uint32_t i = 0; i < r->pairs; i++) {
            char names[2][16];
            (void)snprintf(names[0], sizeof names[0], "rank%u", i);
            (void)snprintf(names[1], sizeof names[1], "rank%u", r->pairs + i);
            hop_rows_add(b, (const char *[]){names[0], names[1]}, bytes, value * MB / r->pairs,
                         "mean-of-group; sum %.10g MB/s%s", value, r->buffers);
        }
        break;
    default:
        b->timed = true;
        hop_rows_group(b, "osu_latency:%llu B", size);
        hop_rows_add(b, ends, bytes, (double)bytes / (value * 1e-6), "alone; latency %.10g us%s", value, r->buffers);
        b->timed = false;
    }
}

static void read_line(struct reading *r)
{
    const struct hop_word *words = r->lines.words;
    uint64_t bytes = 0;
    double value = 0;
    if (words[0].text[0] == '#') {
        read_comment(r);
        return;
    }
    if (r->test == OTHER || r->lines.count < 2 || !hop_word_whole(&words[0], &bytes))
        return; /* a line of something else in the log */
    if (!hop_word_decimal(&words[1], &value) || value > 1e12) {
        hop_lines_refuse(&r->lines, HOP_ERR_SYNTAX, words[1].column, "this is no value\n%s behind the size",
                         r->test == LATENCY ? "a latency in microseconds" : "a bandwidth in MB/s");
        return;
    }
    if (r->test == PAIRS && r->pairs == 0) {
        hop_lines_refuse(&r->lines, HOP_ERR_SYNTAX, words[0].column,
                         "the number of pairs is not said\na line # [ pairs: 4 ] [ window size: 64 ]");
        return;
    }
    r->b.line = r->lines.line;
    r->b.column = words[1].column;
    if (bytes > 0 && bytes <= HOP_BYTES_MAX && value >= 1e-6)
        add_rows(r, bytes, value);
}

static void read_osu(const struct hop_source *source, struct hop_measurements *m)
{
    struct reading *r = hop_arena_alloc(&m->arena, sizeof *r);
    if (!r)
        return;
    r->b.made = m;
    r->test = OTHER;
    hop_lines_init(&r->lines, source);
    r->lines.failure = &m->failure;
    while (hop_lines_next(&r->lines))
        read_line(r);
    if (!hop_measurements_good(m) || m->count > 0)
        return;
    hop_measurements_refuse(m, HOP_ERR_INVALID, r->passed ? r->passed : r->lines.line, 1,
                            "%s\nthe output of osu_bw, osu_bibw, osu_mbw_mr or osu_latency",
                            r->passed ? "this OSU benchmark is not one whose transfers are known"
                                      : "the table of this OSU benchmark is missing");
}

static bool detect_osu(const struct hop_source *source)
{
    return hop_source_mentions(source, "# OSU MPI");
}

const struct hop_measurements_reader hop_reader_osu = {detect_osu, read_osu};
