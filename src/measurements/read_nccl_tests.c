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
 * A group for each line, out of place; every copy takes the printed time. NCCL chooses the schedules of all other
 * collectives and prints none: where they are asked for, a row is the time of a whole collective, else they are passed
 * over. Where the name is not printed it is looked for in what stands before (the command line): any word that ends in
 * _perf. A bus bandwidth of 2 (n - 1) / n of the algorithm's is that of an all_reduce of n > 2 ranks.
 *
 * Ranks become gpuD by their device number, on several hosts nodeN.gpuD in the order of the hosts. Where ranks of one
 * host share a device number but not a bus number, each process saw only some GPUs: D is the place by bus number.
 * Where no ranks are printed there are as many as the command says (-np, -t, -g), or as the machine has GPUs.
 */
#include "hopcast/collective.h"
#include "import/lines.h"
#include "measurements/measurements.h"

#include <math.h>
#include <stdio.h>

#define DETECT_LIMIT ((size_t)256 << 10)

enum { RANKS_MAX = 4096 };

enum pattern { RING, ALL_TO_ALL, GATHER, SCATTER, UNKNOWN, NAMELESS };
static const char *const collectives[] = {"sendrecv_perf", "alltoall_perf", "gather_perf", "scatter_perf"};

/* Whose copies are not known. */
static const struct {
    const char *name;
    enum hop_collective_kind kind;
} others[] = {{"all_reduce_perf", HOP_COLLECTIVE_ALLREDUCE},
              {"all_gather_perf", HOP_COLLECTIVE_ALLGATHER},
              {"reduce_scatter_perf", HOP_COLLECTIVE_REDUCE_SCATTER},
              {"broadcast_perf", HOP_COLLECTIVE_BROADCAST},
              {"reduce_perf", HOP_COLLECTIVE_REDUCE}};
enum { OTHERS = HOP_COUNT(others) };

struct rank {
    struct hop_word host, bus; /* in the source */
    uint32_t host_number, gpu;
    uint32_t line, column;
    const char *name;
};

struct reading {
    struct hop_lines lines;
    struct hop_row_builder b;
    enum pattern pattern;
    char collective[40];
    unsigned other;     /* which of those, OTHERS: of neither */
    struct rank *ranks; /* an array of the measurements' arena */
    uint32_t count;
    const char *const *names;          /* of the ranks, for rows of a collective */
    uint32_t processes, threads, gpus; /* as the command or the head of the output say, 0: they do not */
    bool named;      /* the ranks have their names */
    uint32_t tail;   /* words of a row from the first time on, 0: no header yet */
    bool has_root;   /* the word before the time is the root */
    uint32_t passed; /* line of a collective that is not read, 0: none */
    char passed_name[40];
};

static const char accepted[] = "sendrecv_perf, alltoall_perf, gather_perf or scatter_perf, whose copies are known; "
                               "`hopcast compare --on TOPOLOGY` predicts the other collectives";

#define REFUSE(r, line, column, ...)                                                                                   \
    hop_measurements_refuse((r)->b.made, HOP_ERR_INVALID, (line), (column), __VA_ARGS__)

/* ---- which collective ---- */

static void name_collective(struct reading *r, const struct hop_word *word)
{
    (void)snprintf(r->collective, sizeof r->collective, "%.*s", (int)word->length, word->text);
    r->pattern = UNKNOWN;
    r->other = 0;
    for (unsigned c = 0; c < HOP_COUNT(collectives); c++) {
        if (strcmp(collectives[c], r->collective) == 0)
            r->pattern = (enum pattern)c;
    }
    while (r->other < OTHERS && strcmp(others[r->other].name, r->collective) != 0)
        r->other++;
}

/* The number behind an option, "-g 8" or "-g8", among words; 0: there is none. */
static uint32_t option(const struct hop_lines *lines, uint32_t first, uint32_t end, const char *name)
{
    for (uint32_t i = first; i < end; i++) {
        int value = hop_word_number(&lines->words[i], name);
        if (i + 1 < end && hop_word_is(&lines->words[i], name))
            value = hop_word_number(&lines->words[i + 1], "");
        if (value > 0 && value <= RANKS_MAX)
            return (uint32_t)value;
    }
    return 0;
}

/* "mpirun -np 2 ./all_reduce_perf -t 1 -g 4", in a line whose word `at` is the test */
static void read_command(struct reading *r, uint32_t at)
{
    const struct hop_lines *lines = &r->lines;
    uint32_t np = option(lines, 0, at, "-np");
    r->processes = np ? np : option(lines, 0, at, "-n");
    r->threads = option(lines, at + 1, lines->count, "-t");
    r->gpus = option(lines, at + 1, lines->count, "-g");
}

static void look_for_name(struct reading *r)
{
    const struct hop_lines *lines = &r->lines;
    for (uint32_t i = 0; i < lines->count; i++) {
        struct hop_word word = lines->words[i];
        const char *slash = memrchr(word.text, '/', word.length);
        if (slash) { /* the last part of a path */
            word.length -= (uint32_t)(slash + 1 - word.text);
            word.text = slash + 1;
        }
        if (word.length < 6 || word.length >= sizeof r->collective ||
            memcmp(word.text + word.length - 5, "_perf", 5) != 0)
            continue;
        name_collective(r, &word);
        read_command(r, i);
        return;
    }
    if (hop_lines_hold(lines, "nThread ") && hop_lines_hold(lines, " nGpus ")) {
        r->threads = option(lines, 0, lines->count, "nThread");
        r->gpus = option(lines, 0, lines->count, "nGpus");
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
    } else if (hop_failure_none(&r->b.made->failure, HOP_GROW(&r->b.made->arena, r->ranks, r->count + 1))) {
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

/* Two ranks of a host on one GPU: by its name, or by a whole PCI address; by the bus number alone they may be in two PCI
 * domains. */
static void check_pair(struct reading *r, uint32_t i, uint32_t k)
{
    const struct rank *rank = &r->ranks[i], *other = &r->ranks[k];
    bool name = strcmp(other->name, rank->name) == 0,
         bus = other->host_number == rank->host_number && rank->bus.length > 2 && same_word(&other->bus, &rank->bus);
    if (name || (bus && memchr(rank->bus.text, ':', rank->bus.length)))
        REFUSE(r, rank->line, rank->column, "ranks %u and %u are both on %.*s\na GPU for each rank", k, i,
               name ? (int)strlen(rank->name) : (int)rank->bus.length, name ? rank->name : rank->bus.text);
    else if (bus)
        hop_measurements_leave_out(r->b.made, rank->line,
                                   "ranks with the bus number of another rank, taken to be in another PCI domain");
}

/* Where the output lists none. */
static void take_ranks(struct reading *r)
{
    const struct hop_measurements_options *o = &r->b.made->options;
    uint64_t said =
        (uint64_t)(r->processes ? r->processes : 1) * (r->threads ? r->threads : 1) * (r->gpus ? r->gpus : 1);
    uint64_t count = said > 1 ? said : o->gpu_count;
    if (o->gpus && count > o->gpu_count)
        REFUSE(r, r->lines.line, 1, "there are %llu ranks and %u GPUs\na topology with a GPU for each rank",
               (unsigned long long)count, o->gpu_count);
    else if (count > RANKS_MAX)
        REFUSE(r, r->lines.line, 1, "too many ranks\nat most 4096");
    if (!hop_measurements_good(r->b.made) || !o->gpus ||
        !hop_failure_none(&r->b.made->failure, HOP_GROW(&r->b.made->arena, r->ranks, count + 1)))
        return;
    for (r->count = 0; r->count < count; r->count++)
        r->ranks[r->count] = (struct rank){
            .host = {"", 0, 1}, .bus = {"", 0, 1}, .name = hop_measurements_text(r->b.made, "%s", o->gpus[r->count])};
    if (said > 1)
        hop_measurements_leave_out(r->b.made, 0, "no list of ranks: as many as the command says, on the first GPUs");
    else
        hop_measurements_leave_out(r->b.made, 0, "no list of ranks: taken to be all GPUs of the topology");
}

static void list_names(struct reading *r)
{
    const char **names = hop_arena_alloc(&r->b.made->arena, ((size_t)r->count + 1) * sizeof *names);
    for (uint32_t i = 0; names && i < r->count; i++)
        names[i] = r->ranks[i].name;
    r->names = names;
}

static void name_ranks(struct reading *r)
{
    uint32_t hosts = 0;
    if (r->count == 0)
        take_ranks(r);
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
        if (!rank->name && hosts > 1)
            rank->name = hop_measurements_text(r->b.made, "node%u.gpu%u", rank->host_number, rank->gpu);
        else if (!rank->name)
            rank->name = hop_measurements_text(r->b.made, "gpu%u", rank->gpu);
        for (uint32_t k = 0; k < i && hop_measurements_good(r->b.made); k++)
            check_pair(r, i, k);
    }
    list_names(r);
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

/* A whole collective, of which the schedule is not known. */
static void add_collective(struct reading *r, uint64_t size, uint32_t root, double time_s)
{
    static const char *const ends[] = {"", ""};
    bool rooted = others[r->other].kind == HOP_COLLECTIVE_BROADCAST || others[r->other].kind == HOP_COLLECTIVE_REDUCE;
    struct hop_row_builder b = r->b;
    hop_rows_group(&b, rooted ? "%s:%llu B:root %u" : "%s:%llu B", r->collective, (unsigned long long)size, root);
    b.collective = hop_collective_name(others[r->other].kind);
    b.devices = r->names;
    b.ranks = r->count;
    b.root = root;
    b.timed = true;
    if (hop_measurements_good(b.made))
        hop_rows_add(&b, r->count ? (const char *[]){r->names[0], r->names[r->count - 1]} : ends, size,
                     (double)size / time_s, "out of place, %u ranks", r->count);
}

/* By the factor between the two bandwidths, which is 2 (n - 1) / n for an all_reduce, and for no other above 1. */
static void guess_collective(struct reading *r, const struct hop_word *time)
{
    static const struct hop_word all_reduce = {"all_reduce_perf", 15, 1};
    double algorithm = 0, bus = 0;
    bool above = hop_word_decimal(time + 1, &algorithm) && hop_word_decimal(time + 2, &bus) && bus > 1.05 * algorithm &&
                 algorithm >= 1;
    if (!above) {
        REFUSE(r, r->lines.line, 1,
               "which collective this is stands nowhere above\na line '# Collective test starting: sendrecv_perf', or "
               "the command line above the output");
    } else if (r->b.made->options.collectives) {
        name_collective(r, &all_reduce);
        hop_measurements_leave_out(
            r->b.made, 0,
            "no name of the test: taken as all_reduce_perf, since the bus bandwidth is above the "
            "algorithm's");
    } else {
        REFUSE(
            r, r->lines.line, time[2].column,
            "a bus bandwidth above the algorithm's is that of an all_reduce: computed from the time of a schedule of "
            "many copies, which are not printed, and not measured on a link\n%s",
            accepted);
    }
}

/* Whether it is one that is read; what is passed over is remembered. */
static bool is_read(struct reading *r)
{
    if (r->pattern != UNKNOWN || (r->other < OTHERS && r->b.made->options.collectives))
        return true;
    if (r->passed == 0)
        (void)snprintf(r->passed_name, sizeof r->passed_name, "%s", r->collective);
    r->passed = r->passed ? r->passed : r->lines.line;
    hop_measurements_leave_out(r->b.made, r->lines.line, "results of collectives whose copies are not known, left out");
    return false;
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
    if (r->pattern == NAMELESS)
        guess_collective(r, time);
    if (!hop_measurements_good(r->b.made) || !is_read(r))
        return;
    if (!r->named)
        name_ranks(r);
    if (r->count < 2 && hop_measurements_good(r->b.made))
        REFUSE(r, lines->line, 1,
               "%s among %u ranks moves nothing between GPUs\ntwo or more lines '# Rank 0 ... on HOST device 0 ...' "
               "above, or --on TOPOLOGY, whose GPUs they are",
               r->collective, r->count);
    bool gathers = r->pattern == GATHER || r->pattern == SCATTER;
    if (gathers && (!r->has_root || root < 0 || (uint32_t)root >= r->count))
        REFUSE(r, lines->line, time->column, "the root of this %s is not said\na root among the ranks", r->collective);
    if (!hop_measurements_good(r->b.made))
        return;
    r->b.line = lines->line;
    r->b.column = time->column;
    root = root < 0 || (uint32_t)root >= r->count ? 0 : root;
    if (bytes < (r->pattern == RING ? 1 : r->count) || bytes > HOP_BYTES_MAX || time_us < 1e-3)
        hop_measurements_leave_out(r->b.made, lines->line,
                                   "results that move no byte between two ranks, or took no time, left out");
    else if (r->pattern == UNKNOWN)
        add_collective(r, bytes, (uint32_t)root, time_us * 1e-6);
    else
        add_copies(r, bytes, (uint32_t)root, time_us * 1e-6);
}

/* A size, and behind it as many columns as the header has from the first time on; a line that begins as one is cut. */
static bool is_row(const struct reading *r)
{
    const struct hop_lines *lines = &r->lines;
    const struct hop_word *size = &lines->words[0];
    uint64_t number;
    if (r->tail == 0 || size->length > 19 || strspn(size->text, "0123456789") < size->length)
        return false;
    if (lines->count < r->tail + 3 && (lines->count < 2 || hop_word_whole(&lines->words[1], &number)))
        REFUSE(r, lines->line, size->column, "this line of results is cut: %u of its columns are here\n%u or more",
               lines->count, r->tail + 3);
    return lines->count >= r->tail + 3;
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
    r->other = OTHERS;
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
