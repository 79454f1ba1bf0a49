/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurements from nccl-tests and rccl-tests, where the copies behind a collective are known.
 *
 *     # Collective test starting: sendrecv_perf
 *     #  Rank  0 Group  0 Pid  17 on   nodeA device  0 [0x07] NVIDIA ...
 *     #  size  count  type  redop  root   time   algbw  busbw #wrong   time  algbw  busbw #wrong
 *        1024    256  float   sum    -1  10.50    0.10   0.10      0  10.50   0.10   0.10    N/A
 *
 *     sendrecv_perf    rank i to rank i + 1, in a ring: size bytes each
 *     alltoall_perf    every rank to every other: size / ranks each
 *     gather_perf      every rank to the root, scatter_perf the root to every rank: size / ranks each
 *
 * A group for each line, out of place; every copy takes the printed time. All other collectives are passed over, for
 * NCCL chooses their schedules and prints none: a bus bandwidth is computed from their time, and no link's. Where the name is not printed it is looked for in what stands before
 * (the command line): any word that ends in _perf.
 *
 * Ranks become gpuD by their device number, on several hosts nodeN.gpuD in the order of the hosts. Where ranks of one
 * host share a device number but not a bus number, each process saw only some GPUs: D is the place by bus number.
 */
#include "measurements/measurements.h"
#include "import/lines.h"

#include <math.h>
#include <stdio.h>

#define DETECT_LIMIT ((size_t)256 << 10)

enum { RANKS_MAX = 4096 };

enum pattern { RING, ALL_TO_ALL, GATHER, SCATTER, UNKNOWN, NAMELESS };
static const char *const collectives[] = {"sendrecv_perf", "alltoall_perf", "gather_perf", "scatter_perf"};

struct rank {
    struct hop_word host, bus; /* in the source */
    uint32_t host_number, gpu;
    uint32_t line, column;
    char name[32];
};

struct reading {
    struct hop_lines lines;
    struct hop_row_builder b;
    enum pattern pattern;
    char collective[40];
    struct rank *ranks; /* an array of the measurements' arena */
    uint32_t count;
    bool named;      /* the ranks have their names */
    uint32_t tail;   /* words of a row from the first time on, 0: no header yet */
    bool has_root;   /* the word before the time is the root */
    uint32_t passed; /* line of a collective that is not read, 0: none */
    char passed_name[40];
};

static const char accepted[] = "sendrecv_perf, alltoall_perf, gather_perf or scatter_perf, whose copies are known";

#define REFUSE(r, line, column, ...)                                                                                   \
    hop_measurements_refuse((r)->b.made, HOP_ERR_INVALID, (line), (column), __VA_ARGS__)

/* ---- which collective ---- */

static void look_for_name(struct reading *r)
{
    for (uint32_t i = 0; i < r->lines.count; i++) {
        struct hop_word word = r->lines.words[i];
        const char *slash = memrchr(word.text, '/', word.length);
        if (slash) { /* the last part of a path */
            word.length -= (uint32_t)(slash + 1 - word.text);
            word.text = slash + 1;
        }
        if (word.length < 6 || word.length >= sizeof r->collective ||
            memcmp(word.text + word.length - 5, "_perf", 5) != 0)
            continue;
        (void)snprintf(r->collective, sizeof r->collective, "%.*s", (int)word.length, word.text);
        r->pattern = UNKNOWN;
        for (unsigned c = 0; c < HOP_COUNT(collectives); c++) {
            if (strcmp(collectives[c], r->collective) == 0)
                r->pattern = (enum pattern)c;
        }
        return;
    }
}

/* ---- ranks ---- */

/* "# Rank 0 Group 0 Pid 17 on HOST device 0 [0x07] NAME"; old versions have no group. */
static bool is_rank(const struct hop_lines *lines, uint32_t *at)
{
    for (uint32_t i = 0; i + 5 < lines->count && i < 4; i++) {
        if (hop_word_is(&lines->words[i], "Rank") && hop_word_number(&lines->words[i + 1], "") >= 0) {
            *at = i;
            return hop_lines_hold(lines, " device ") && hop_lines_hold(lines, " on ");
        }
    }
    return false;
}

static void read_rank(struct reading *r, uint32_t at)
{
    const struct hop_lines *lines = &r->lines;
    const struct hop_word *number = &lines->words[at + 1];
    uint32_t on = at + 2;
    if (r->tail > 0) { /* the ranks of another run */
        r->count = 0;
        r->named = false;
        r->tail = 0;
    }
    while (on < lines->count && !hop_word_is(&lines->words[on], "on"))
        on++;
    int device = on + 3 < lines->count && hop_word_is(&lines->words[on + 2], "device")
                     ? hop_word_number(&lines->words[on + 3], "")
                     : -1;
    if (device < 0 || device > 9999) {
        REFUSE(r, lines->line, number->column,
               "this rank's host and device are not said\n# Rank 0 Group 0 Pid 17 on HOST device 0 [0x07] NAME");
    } else if (hop_word_number(number, "") != (int)r->count) {
        bool again = hop_word_number(number, "") < (int)r->count;
        REFUSE(r, lines->line, number->column,
               again ? "rank %.*s stands here a second time: every process ran alone\none run over all ranks: "
                       "nccl-tests built with MPI=1"
                     : "rank %.*s is not the next one\nranks 0, 1, 2, ... in order",
               (int)(number->length < 10 ? number->length : 10), number->text);
    } else if (r->count == RANKS_MAX) {
        REFUSE(r, lines->line, number->column, "too many ranks\nat most 4096");
    } else if (HOP_GROW(&r->b.made->arena, r->ranks, r->count + 1)) {
        r->ranks[r->count++] = (struct rank){.host = lines->words[on + 1],
                                             .bus = on + 4 < lines->count ? lines->words[on + 4] : (struct hop_word){0},
                                             .gpu = (uint32_t)device,
                                             .line = lines->line,
                                             .column = number->column};
    }
}

static bool same_word(const struct hop_word *a, const struct hop_word *b)
{
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

static int compare_bus(const struct rank *a, const struct rank *b)
{
    uint32_t length = a->bus.length < b->bus.length ? a->bus.length : b->bus.length;
    int order = length > 0 ? memcmp(a->bus.text, b->bus.text, length) : 0;
    return order != 0 ? order : (a->bus.length > b->bus.length) - (a->bus.length < b->bus.length);
}

/* Whether two ranks of a host have one device number but different buses. */
static bool is_hidden(const struct reading *r, uint32_t host)
{
    for (uint32_t i = 0; i < r->count; i++) {
        for (uint32_t k = 0; k < i && r->ranks[i].host_number == host; k++) {
            if (r->ranks[k].host_number == host && r->ranks[k].gpu == r->ranks[i].gpu &&
                compare_bus(&r->ranks[k], &r->ranks[i]) != 0)
                return true;
        }
    }
    return false;
}

static void number_by_bus(struct reading *r, uint32_t host)
{
    for (uint32_t i = 0; i < r->count; i++) {
        uint32_t before = 0;
        if (r->ranks[i].host_number != host)
            continue;
        for (uint32_t k = 0; k < r->count; k++)
            before += r->ranks[k].host_number == host && compare_bus(&r->ranks[k], &r->ranks[i]) < 0;
        r->ranks[i].gpu = before;
    }
}

static void name_ranks(struct reading *r)
{
    uint32_t hosts = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        uint32_t k = 0;
        while (k < i && !same_word(&r->ranks[k].host, &r->ranks[i].host))
            k++;
        r->ranks[i].host_number = k < i ? r->ranks[k].host_number : hosts++;
    }
    for (uint32_t host = 0; host < hosts; host++) {
        if (is_hidden(r, host))
            number_by_bus(r, host);
    }
    for (uint32_t i = 0; i < r->count && hop_measurements_good(r->b.made); i++) {
        struct rank *rank = &r->ranks[i];
        if (hosts > 1)
            (void)snprintf(rank->name, sizeof rank->name, "node%u.gpu%u", rank->host_number, rank->gpu);
        else
            (void)snprintf(rank->name, sizeof rank->name, "gpu%u", rank->gpu);
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(r->ranks[k].name, rank->name) == 0) {
                REFUSE(r, rank->line, rank->column, "ranks %u and %u are both on %s\na GPU for each rank", k, i,
                       rank->name);
                break;
            }
        }
    }
    r->named = true;
}

/* ---- the table ---- */

static bool read_header(struct reading *r)
{
    const struct hop_lines *lines = &r->lines;
    for (uint32_t i = 2; i + 1 < lines->count; i++) {
        if (!hop_word_is(&lines->words[i], "time") || !hop_word_is(&lines->words[i + 1], "algbw"))
            continue;
        if (!hop_lines_hold(lines, "size"))
            return false;
        r->tail = lines->count - i;
        r->has_root = hop_word_is(&lines->words[i - 1], "root");
        return true;
    }
    return false;
}

static void add_copy(struct reading *r, uint32_t from, uint32_t to, uint64_t bytes, double time_s)
{
    hop_rows_add(&r->b, (const char *[]){r->ranks[from].name, r->ranks[to].name}, bytes, (double)bytes / time_s,
                 "mean-of-group; out of place, %u ranks", r->count);
}

static void add_copies(struct reading *r, uint64_t size, uint32_t root, double time_s)
{
    uint32_t n = r->count;
    bool rooted = r->pattern == GATHER || r->pattern == SCATTER;
    hop_rows_group(&r->b, rooted ? "%s:%llu B:root %u" : "%s:%llu B", r->collective, (unsigned long long)size, root);
    for (uint32_t i = 0; i < n && hop_measurements_good(r->b.made); i++) {
        if (r->pattern == RING)
            add_copy(r, i, (i + 1) % n, size, time_s);
        else if (r->pattern == GATHER && i != root)
            add_copy(r, i, root, size / n, time_s);
        else if (r->pattern == SCATTER && i != root)
            add_copy(r, root, i, size / n, time_s);
        for (uint32_t k = 0; k < n && r->pattern == ALL_TO_ALL; k++) {
            if (i != k)
                add_copy(r, i, k, size / n, time_s);
        }
    }
}

static void read_row(struct reading *r)
{
    const struct hop_lines *lines = &r->lines;
    const struct hop_word *time = &lines->words[lines->count - r->tail], *size = &lines->words[0];
    uint64_t bytes = strtoull(size->text, NULL, 10);
    double time_us = 0;
    int root = r->has_root ? hop_word_number(time - 1, "") : 0;
    if (!hop_word_decimal(time, &time_us) || time_us > 1e12) {
        REFUSE(r, lines->line, time->column, "'%.*s' is no time\nmicroseconds", HOP_WORD_SHOWN(time));
        return;
    }
    double algorithm = 0, bus = 0;
    if (r->pattern == NAMELESS && hop_word_decimal(time + 1, &algorithm) && hop_word_decimal(time + 2, &bus) &&
        bus > 1.05 * algorithm && algorithm >= 1) {
        REFUSE(
            r, lines->line, time[2].column,
            "a bus bandwidth above the algorithm's is that of an all_reduce: computed from the time of a schedule of "
            "many copies, which are not printed, and not measured on a link\n%s",
            accepted);
        return;
    }
    if (r->pattern == NAMELESS) {
        REFUSE(r, lines->line, 1,
               "which collective this is stands nowhere above\na line '# Collective test starting: sendrecv_perf', or "
               "the command line above the output");
        return;
    }
    if (r->pattern == UNKNOWN) {
        if (r->passed == 0)
            (void)snprintf(r->passed_name, sizeof r->passed_name, "%s", r->collective);
        r->passed = r->passed ? r->passed : lines->line;
        return;
    }
    if (!r->named)
        name_ranks(r);
    if (r->count < 2)
        REFUSE(
            r, lines->line, 1,
            "%s among %u ranks moves nothing between GPUs\ntwo or more lines '# Rank 0 ... on HOST device 0 ...' above",
            r->collective, r->count);
    if ((r->pattern == GATHER || r->pattern == SCATTER) && (!r->has_root || root < 0 || (uint32_t)root >= r->count))
        REFUSE(r, lines->line, time->column, "the root of this %s is not said\na root among the ranks", r->collective);
    r->b.line = lines->line;
    r->b.column = time->column;
    uint64_t least = r->pattern == RING ? 1 : r->count;
    if (hop_measurements_good(r->b.made) && bytes >= least && bytes <= HOP_BYTES_MAX && time_us >= 1e-3)
        add_copies(r, bytes, (uint32_t)(root < 0 ? 0 : root), time_us * 1e-6);
}

static bool is_row(const struct reading *r)
{
    const struct hop_word *size = &r->lines.words[0];
    return r->tail > 0 && r->lines.count >= r->tail + 3 && size->length <= 19 &&
           strspn(size->text, "0123456789") >= size->length;
}

static void read_lines(struct reading *r)
{
    struct hop_lines *lines = &r->lines;
    uint32_t at;
    while (hop_lines_next(lines)) {
        if (is_rank(lines, &at))
            read_rank(r, at);
        else if (is_row(r))
            read_row(r);
        else if (!read_header(r))
            look_for_name(r);
    }
}

static void read_nccl_tests(const struct hop_source *source, struct hop_measurements *m)
{
    struct reading *r = hop_arena_alloc(&m->arena, sizeof *r);
    if (!r)
        return;
    r->b.made = m;
    r->pattern = NAMELESS;
    hop_lines_init(&r->lines, source);
    r->lines.failure = &m->failure;
    read_lines(r);
    if (m->count > 0 || m->arena.failed)
        return;
    if (r->passed)
        REFUSE(r, r->passed, 1, "%s says how fast a schedule of many copies was, not which copies they were\n%s",
               r->passed_name, accepted);
    else
        REFUSE(r, r->lines.line ? r->lines.line : 1, 1, "there is no line of results\n%s", accepted);
}

static bool detect_nccl_tests(const struct hop_source *source)
{
    size_t size = source->size < DETECT_LIMIT ? source->size : DETECT_LIMIT;
    return (memmem(source->text, size, "algbw", 5) && memmem(source->text, size, "busbw", 5)) ||
           memmem(source->text, size, "# Collective test starting:", 27);
}

const struct hop_measurements_reader hop_reader_nccl_tests = {detect_nccl_tests, read_nccl_tests};
