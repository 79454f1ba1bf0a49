/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurements from nvbandwidth, its text or its JSON (--json).
 *
 *     Running device_to_device_memcpy_read_ce.
 *     memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
 *                0         1
 *      0       N/A     26.34
 *      1     26.35       N/A
 *
 * Which way the bytes go is decided by the name of the test case, not by the arrow of the title: the GPU of the row
 * runs the copy; a read brings the bytes from the GPU of the column, a write takes them there. What is not measured but
 * runs meanwhile is in the background; in copy engine tests it moves twice the bytes. A copy kernel that copies both
 * ways (SM tests that are bidirectional) prints the sum of the two.
 *
 * The sizes are not printed: 64 MiB is nvbandwidth's default. Where only the lines `SUM NAME VALUE` of a test case are
 * left (grep -E 'Device|SUM'), every cell is the mean: the devices that are listed say how many cells there were, else the
 * machine's GPUs where they are known.
 */
#include "base/json.h"
#include "measurements/measurements.h"
#include "import/lines.h"

#include <math.h>
#include <stdio.h>

#define GB 1e9
#define DEFAULT_BYTES ((uint64_t)64 << 20)

enum { GPUS_MAX = 512, NAME_MAX_LENGTH = 80 };

/* What a test case measures; `down` is from the host to GPUs, or from one GPU to the others. */
enum pattern {
    HOST_ONE,    /* host and a GPU */
    HOST_ALL,    /* host and a GPU while all others do the same */
    PAIR,        /* two GPUs */
    ONE_AND_ALL, /* a GPU and all others, the sum */
    NOT_A_TRANSFER
};

struct test {
    char name[NAME_MAX_LENGTH];
    enum pattern pattern;
    bool down;
    bool two_way;
    bool kernel; /* copied by a kernel, not by copy engines */
    bool pulled; /* by the GPU that receives */
};

struct cell {
    double value; /* GB/s, NAN: none */
    uint32_t line, column;
};

struct reading {
    struct hop_lines lines;
    struct hop_row_builder b;
    struct test test;
    const char *gpus[GPUS_MAX]; /* their names */
    uint64_t bytes;
    uint32_t count;      /* GPUs: columns of the matrix in hand */
    struct cell *cells, *first; /* arrays of the measurements' arena */
    bool has_first;  /* first holds the part of a two-way matrix that comes first */
    uint32_t passed; /* line of a test case that is not read, 0: none */
    uint32_t devices; /* that were listed */
    bool printed;     /* a matrix of the test case: its sum says no more */
    bool mean;        /* the cells in hand are the mean of a sum */
};

/* ---- test cases ---- */

static bool has(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

static struct test test_named(const char *name, size_t length)
{
    struct test test = {.pattern = NOT_A_TRANSFER};
    (void)snprintf(test.name, sizeof test.name, "%.*s", (int)(length < NAME_MAX_LENGTH ? length : NAME_MAX_LENGTH - 1),
                   name);
    const char *n = test.name;
    test.two_way = has(n, "_bidirectional");
    test.kernel = has(n, "_sm");
    test.pulled = has(n, "_read");
    if (has(n, "latency") || has(n, "multinode") || has(n, "multicast") || has(n, "local_copy"))
        return test;
    if (has(n, "host_to_device_") || has(n, "device_to_host_")) {
        test.pattern = HOST_ONE;
        test.down = has(n, "host_to_device_");
    } else if (has(n, "host_to_all_") || has(n, "all_to_host_")) {
        test.pattern = HOST_ALL;
        test.down = has(n, "host_to_all_");
    } else if (has(n, "device_to_device_") && (has(n, "_read") || has(n, "_write"))) {
        test.pattern = PAIR;
        test.down = has(n, "_write");
    } else if ((has(n, "one_to_all_") || has(n, "all_to_one_")) && (has(n, "_read") || has(n, "_write"))) {
        test.pattern = ONE_AND_ALL; /* reads swap the ends: all_to_one_read moves bytes from the one to all */
        test.down = has(n, "one_to_all_") == has(n, "_write");
    }
    return test;
}

static bool good(const struct reading *r)
{
    return hop_measurements_good(r->b.made);
}

static uint32_t rows_of(const struct reading *r)
{
    return r->test.pattern == PAIR ? r->count : 1;
}

/* ---- matrices to rows ---- */

static void add(struct reading *r, const char *from, const char *to, uint64_t bytes, double value, const char *notes)
{
    hop_rows_add(&r->b, (const char *[]){from, to}, bytes, value * GB, "%s; %llu MiB, %s%s%s", notes,
                 (unsigned long long)(bytes >> 20), r->test.kernel ? "copy kernel" : "copy engine",
                 r->test.pulled ? ", pulled by the receiver" : "",
                 r->mean ? ", mean over the GPUs of a printed sum" : "");
}

/* A flow and what runs against it. */
static void add_measured(struct reading *r, const char *from, const char *to, double value, bool alone)
{
    char notes[80];
    if (!r->test.two_way) {
        add(r, from, to, r->bytes, value, alone ? "alone" : "measured while the others run");
    } else if (r->test.kernel) {
        (void)snprintf(notes, sizeof notes, "half of printed two-way sum %.10g", value);
        add(r, from, to, r->bytes / 2, value / 2, notes);
        add(r, to, from, r->bytes / 2, value / 2, notes);
    } else {
        add(r, from, to, r->bytes, value, "measured while the copy the other way runs");
        add(r, to, from, 2 * r->bytes, NAN, "background");
    }
}

static void add_background(struct reading *r, const char *from, const char *to)
{
    uint64_t bytes = r->test.kernel && r->test.two_way ? r->bytes : 2 * r->bytes;
    add(r, from, to, bytes, NAN, "background");
    if (r->test.two_way)
        add(r, to, from, bytes, NAN, "background");
}

static void emit_host(struct reading *r, uint32_t gpu, double value)
{
    bool down = r->test.down;
    hop_rows_group(&r->b, "%s:%s", r->test.name, r->gpus[gpu]);
    add_measured(r, down ? "host" : r->gpus[gpu], down ? r->gpus[gpu] : "host", value, r->test.pattern == HOST_ONE);
    for (uint32_t other = 0; other < r->count && r->test.pattern == HOST_ALL; other++) {
        if (other != gpu)
            add_background(r, down ? "host" : r->gpus[other], down ? r->gpus[other] : "host");
    }
}

static void emit_one_and_all(struct reading *r, uint32_t gpu, double value)
{
    char notes[80];
    bool down = r->test.down;
    hop_rows_group(&r->b, "%s:%s", r->test.name, r->gpus[gpu]);
    (void)snprintf(notes, sizeof notes, "mean-of-group; printed sum %.10g", value);
    for (uint32_t other = 0; other < r->count; other++) {
        if (other != gpu)
            add(r, r->gpus[down ? gpu : other], r->gpus[down ? other : gpu], r->bytes, value / (r->count - 1), notes);
    }
}

/* A cell of two GPUs; out: of two-way copies whose two rates are printed in matrices of their own, the first of which brings
 * the bytes from the column, the second rate; NAN: there is one matrix. */
static void emit_pair(struct reading *r, uint32_t row, uint32_t column, double value, double out)
{
    static const char both[] = "measured while the copy the other way runs";
    bool from_row = r->test.down || !isnan(out);
    const char *from = r->gpus[from_row ? row : column], *to = r->gpus[from_row ? column : row];
    if (r->test.two_way || !isnan(out))
        hop_rows_group(&r->b, "%s:%s-%s:cell%u.%u", r->test.name, from, to, row, column);
    else
        hop_rows_group(&r->b, "%s:%s>%s", r->test.name, from, to);
    if (isnan(out)) {
        add_measured(r, from, to, value, true);
        return;
    }
    add(r, to, from, r->bytes, value, both);
    add(r, from, to, r->bytes, out, both);
}

static void emit_cell(struct reading *r, uint32_t row, uint32_t column, const struct cell *first)
{
    const struct cell *cell = &r->cells[(size_t)row * r->count + column];
    if (isnan(cell->value) || (r->test.pattern == PAIR && row == column) || (first && isnan(first->value)))
        return;
    r->b.line = cell->line;
    r->b.column = cell->column;
    if (first)
        emit_pair(r, row, column, first->value, cell->value);
    else if (r->test.pattern == PAIR)
        emit_pair(r, row, column, cell->value, NAN);
    else if (r->test.pattern == ONE_AND_ALL)
        emit_one_and_all(r, column, cell->value);
    else
        emit_host(r, column, cell->value);
}

/* The matrix in hand, which is whole. part: 1 or 2 of a pair of matrices, 0: it stands alone. */
static void emit(struct reading *r, unsigned part)
{
    if (part == 1) {
        struct cell *swap = r->first;
        r->first = r->cells;
        r->cells = swap;
        r->has_first = true;
        return;
    }
    if (part == 2 && !r->has_first)
        return;
    for (uint32_t row = 0; row < rows_of(r) && good(r); row++) {
        for (uint32_t column = 0; column < r->count && good(r); column++)
            emit_cell(r, row, column, part == 2 ? &r->first[(size_t)row * r->count + column] : NULL);
    }
    r->has_first = false;
}

static bool reserve(struct reading *r, uint32_t count)
{
    struct hop_arena *arena = &r->b.made->arena;
    if (count != r->count || !hop_arena_has(r->cells, (size_t)count * count))
        r->has_first = false;
    r->count = count;
    return HOP_GROW(arena, r->cells, (size_t)count * count) && HOP_GROW(arena, r->first, (size_t)count * count);
}

/* ---- text ---- */

static void read_row(struct reading *r, uint32_t row)
{
    struct hop_lines *lines = &r->lines;
    if (!hop_lines_next(lines) || hop_word_number(&lines->words[0], "") != (int)row || lines->count != r->count + 1) {
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, lines->count > 0 ? lines->words[0].column : 1,
                         "row %u of the matrix of %s is not here\na row number and a cell for each column", row,
                         r->test.name);
        return;
    }
    for (uint32_t i = 0; i < r->count; i++) {
        const struct hop_word *word = &lines->words[i + 1];
        struct cell *cell = &r->cells[(size_t)row * r->count + i];
        *cell = (struct cell){NAN, lines->line, word->column};
        if (!hop_word_rate(word, &cell->value)) {
            hop_lines_refuse(lines, HOP_ERR_SYNTAX, word->column,
                             "the cell of row %u and column %u says '%.*s'\na number, or N/A", row, i,
                             HOP_WORD_SHOWN(word));
            return;
        }
    }
}

/* The matrix below a title, whose line was just read. */
static void read_matrix(struct reading *r)
{
    struct hop_lines *lines = &r->lines;
    unsigned part = 0;
    if (hop_lines_hold(lines, "Read1 ") || hop_lines_hold(lines, "Write1 "))
        part = 1;
    else if (hop_lines_hold(lines, "Read2 ") || hop_lines_hold(lines, "Write2 "))
        part = 2;
    else if (hop_lines_hold(lines, "Total "))
        return;
    bool more = hop_lines_next(lines);
    for (uint32_t i = 0; i < lines->count || !more; i++) {
        if (!more || lines->count > GPUS_MAX || hop_word_number(&lines->words[i], "") != (int)i) {
            hop_lines_refuse(lines, HOP_ERR_SYNTAX, more ? lines->words[i < lines->count ? i : 0].column : 1,
                             "the header line of the matrix of %s is not here\nGPU numbers 0 1 2 ..., 512 at most",
                             r->test.name);
            return;
        }
    }
    if (!reserve(r, lines->count))
        return;
    for (uint32_t row = 0; row < rows_of(r) && good(r); row++)
        read_row(r, row);
    if (good(r))
        emit(r, part);
}

static void begin_test(struct reading *r, const char *name, size_t length, uint32_t line)
{
    r->test = test_named(name, length);
    r->has_first = r->printed = false;
    if (r->test.pattern == NOT_A_TRANSFER && r->passed == 0)
        r->passed = line;
}

/* The GPUs of the machine, where the output lists none. */
static void take_machine(struct reading *r)
{
    const struct hop_measurements_options *o = &r->b.made->options;
    if (!o->gpus || o->gpu_count > GPUS_MAX)
        return;
    for (r->devices = 0; r->devices < o->gpu_count; r->devices++)
        r->gpus[r->devices] = hop_measurements_text(r->b.made, "%s", o->gpus[r->devices]);
    hop_measurements_leave_out(r->b.made, 0, "sums without a list of devices: taken to be of all GPUs of the topology");
}

/* "Device 0: NAME"; those of a second run begin again. */
static void read_device(struct reading *r)
{
    const struct hop_word *word = &r->lines.words[1];
    char text[16];
    (void)snprintf(text, sizeof text, "%.*s", (int)(word->length < 16 ? word->length - 1 : 15), word->text);
    int number = hop_word_number(&(struct hop_word){text, (uint32_t)strlen(text), 1}, "");
    if (number < 0)
        return;
    if (number > 0 && (uint32_t)number != r->devices)
        hop_lines_refuse(&r->lines, HOP_ERR_INVALID, word->column,
                         "device %d is not the next one\ndevices 0, 1, 2, ... in order, 512 at most", number);
    else
        r->devices = (uint32_t)number + 1;
}

/* "SUM NAME VALUE" of a test case whose matrix is not there. Of two-way copies there are sums of both ways, whose names
 * end in _read1 and _read2, and one of all. */
static void read_sum(struct reading *r)
{
    const struct hop_lines *lines = &r->lines;
    struct hop_word name = lines->words[1];
    unsigned part = 0;
    double sum;
    char last = name.text[name.length - 1];
    if (r->printed || (name.length > 6 && memcmp(name.text + name.length - 6, "_total", 6) == 0))
        return;
    if (last == '1' || last == '2') {
        part = (unsigned)(last - '0');
        while (name.length > 1 && name.text[--name.length] != '_')
            ;
    }
    struct test test = test_named(name.text, name.length);
    if (strcmp(test.name, r->test.name) != 0)
        begin_test(r, name.text, name.length, lines->line);
    if (r->test.pattern == NOT_A_TRANSFER)
        return;
    if (lines->count < 3) {
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, name.column, "there is no sum behind this name\na number in GB/s");
        return;
    }
    if (r->devices == 0)
        take_machine(r);
    bool pairs = r->test.pattern == PAIR || r->test.pattern == ONE_AND_ALL;
    if (r->devices < (pairs ? 2u : 1u)) {
        hop_lines_refuse(
            lines, HOP_ERR_INVALID, 1,
            "of how many GPUs this is the sum is not said\nthe lines 'Device 0: NAME' above it, as in "
            "nvbandwidth | grep -E 'Device|SUM', or `hopcast compare --on TOPOLOGY`, whose GPUs they are; the whole "
            "output says the rate of each");
        return;
    }
    if (!hop_word_decimal(&lines->words[2], &sum)) {
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, lines->words[2].column, "this is no sum\na number in GB/s");
        return;
    }
    if (!reserve(r, r->devices))
        return;
    double mean = sum / (rows_of(r) > 1 ? (double)r->count * (r->count - 1) : r->count);
    for (size_t i = 0; i < (size_t)rows_of(r) * r->count; i++)
        r->cells[i] = (struct cell){mean >= 1e-6 && mean <= 1e6 ? mean : NAN, lines->line, lines->words[2].column};
    r->mean = true;
    emit(r, r->test.pattern == PAIR && r->test.two_way ? part : 0);
    r->mean = false;
}

static void read_text(struct reading *r)
{
    struct hop_lines *lines = &r->lines;
    r->test.pattern = NOT_A_TRANSFER;
    while (hop_lines_next(lines)) {
        if (lines->count == 2 && hop_word_is(&lines->words[0], "Running")) {
            struct hop_word name = lines->words[1];
            if (name.text[name.length - 1] == '.')
                name.length--;
            begin_test(r, name.text, name.length, lines->line);
        } else if (r->test.pattern != NOT_A_TRANSFER && hop_lines_hold(lines, "bandwidth (GB/s)")) {
            r->printed = true;
            read_matrix(r);
        } else if (lines->count > 1 && lines->count < 4 && hop_word_is(&lines->words[0], "SUM")) {
            read_sum(r);
        } else if (lines->count > 2 && hop_word_is(&lines->words[0], "Device") && r->devices < GPUS_MAX &&
                   lines->words[1].text[lines->words[1].length - 1] == ':') {
            read_device(r);
        }
    }
}

/* ---- JSON ---- */

static void read_json_row(struct reading *r, const struct hop_json *row, uint32_t at, uint32_t number)
{
    size_t count = hop_json_array(row, 1);
    if (count != r->count)
        hop_json_fail(row, HOP_ERR_INVALID, "this row has %zu cells, the first %u\none cell for each GPU", count,
                      r->count);
    for (size_t i = 0; i < count && good(r); i++) {
        const struct hop_json value = hop_json_element(row, i);
        struct cell *cell = &r->cells[(size_t)at * r->count + i];
        *cell = (struct cell){NAN, number, 1};
        const char *text = json_is_string(value.value) ? json_string_value(value.value) : NULL;
        struct hop_word word = {text, text ? (uint32_t)json_string_length(value.value) : 0, 1};
        if (json_is_number(value.value) && json_number_value(value.value) >= 1e-6 &&
            json_number_value(value.value) <= 1e6)
            cell->value = json_number_value(value.value);
        else if (!json_is_number(value.value) && (!text || word.length == 0 || !hop_word_rate(&word, &cell->value)))
            hop_json_fail(&value, HOP_ERR_INVALID, "this is no cell of a matrix\na number, or \"N/A\"");
    }
}

/* Two-way tests of two GPUs append three matrices: the two ways and their sum. */
static void read_json_matrix(struct reading *r, const struct hop_json *matrix, uint32_t number)
{
    size_t count = hop_json_array(matrix, 1);
    const struct hop_json first = hop_json_element(matrix, 0);
    size_t columns = hop_json_array(&first, 1);
    if (columns > GPUS_MAX)
        hop_json_fail(&first, HOP_ERR_LIMIT, "more than 512 GPUs");
    if (!good(r) || !reserve(r, (uint32_t)columns))
        return;
    uint32_t rows = rows_of(r);
    bool three = r->test.pattern == PAIR && r->test.two_way && count == 3 * (size_t)rows;
    if (count != rows && !three)
        hop_json_fail(matrix, HOP_ERR_INVALID, "%s has %zu rows\n%u row%s, as there are %u columns", r->test.name,
                      count, rows, rows == 1 ? "" : "s", r->count);
    for (uint32_t part = 0; part < (three ? 2u : 1u); part++) {
        for (uint32_t row = 0; row < rows && good(r); row++) {
            const struct hop_json at = hop_json_element(matrix, part * rows + row);
            read_json_row(r, &at, row, number);
        }
        if (good(r))
            emit(r, three ? part + 1 : 0);
    }
}

static void read_json_test(struct reading *r, const struct hop_json *at, uint32_t number)
{
    const struct hop_json key = hop_json_member(at, "name", false),
                          matrix = hop_json_member(at, "bandwidth_matrix", false);
    if (!key.value)
        hop_json_fail(at, HOP_ERR_INVALID, "the key 'name' is missing\na test case of nvbandwidth");
    const char *name = hop_json_name(&key);
    if (!name)
        return;
    begin_test(r, name, strlen(name), number);
    if (r->test.pattern != NOT_A_TRANSFER && matrix.value) /* absent where it was waived */
        read_json_matrix(r, &matrix, number);
}

static void read_json(struct reading *r, const struct hop_source *source)
{
    struct hop_json document;
    hop_json_load(source, &document, &r->b.made->failure);
    const struct hop_json root = hop_json_member(&document, "nvbandwidth", false),
                          tests = hop_json_member(&root, "testcases", false);
    if (!tests.value)
        hop_json_fail(&document, HOP_ERR_INVALID,
                      "/nvbandwidth/testcases is missing\nwhat `nvbandwidth --json` prints");
    size_t count = hop_json_array(&tests, 1);
    for (size_t i = 0; i < count && good(r); i++) {
        const struct hop_json at = hop_json_element(&tests, i);
        read_json_test(r, &at, (uint32_t)i + 1);
    }
    hop_json_finish(&document);
}

static void read_nvbandwidth(const struct hop_source *source, struct hop_measurements *m)
{
    struct reading *r = hop_arena_alloc(&m->arena, sizeof *r);
    if (!r)
        return;
    r->b.made = m;
    r->bytes = DEFAULT_BYTES;
    for (unsigned gpu = 0; gpu < GPUS_MAX; gpu++)
        r->gpus[gpu] = hop_measurements_text(m, "gpu%u", gpu);
    hop_lines_init(&r->lines, source);
    r->lines.failure = &m->failure;
    if (hop_json_detect(source))
        read_json(r, source);
    else
        read_text(r);
    if (!good(r) || m->count > 0)
        return;
    hop_measurements_refuse(
        m, HOP_ERR_INVALID, r->passed ? r->passed : 1, 1,
        "no test case of nvbandwidth here says how fast a transfer was\nhost_to_device_memcpy_ce, "
        "device_to_device_memcpy_read_ce and the like with a matrix; not latencies, local copies or multinode ones");
}

static bool detect_nvbandwidth(const struct hop_source *source)
{
    static const char *const marks[] = {"nvbandwidth Version:", "memcpy CE CPU(row)", "memcpy SM CPU(row)",
                                        "memcpy CE GPU(row)",   "memcpy SM GPU(row)", "SUM host_to_",
                                        "SUM device_to_",       "SUM all_to_",        "SUM one_to_"};
    if (hop_json_detect(source)) {
        const char *at = source->text + strspn(source->text, " \t\r\n");
        at += 1 + strspn(at + 1, " \t\r\n");
        return strncmp(at, "\"nvbandwidth\"", 13) == 0;
    }
    for (size_t i = 0; i < HOP_COUNT(marks); i++) {
        if (hop_source_mentions(source, marks[i]))
            return true;
    }
    return false;
}

const struct hop_measurements_reader hop_reader_nvbandwidth = {detect_nvbandwidth, read_nvbandwidth};
