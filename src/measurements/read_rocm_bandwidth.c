/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurements from rocm-bandwidth-test: its matrices of all pairs, and its tables of one pair by size.
 *
 *     RocmBandwidthTest Version: 2.6.0
 *     Device: 0,  NAME                                   a CPU
 *     Device: 1,  NAME,  GPU-9f50716172fd5d40,  0d:0.0   a GPU
 *     Unidirectional copy peak bandwidth GB/s            or average
 *     D/D       0           1
 *     0         N/A         13.377
 *     1         14.310      404.438
 *
 * A one-way cell is a copy from the device of the row to that of the column, which ran alone. A two-way cell is the sum
 * of both ways at once, printed twice: half of it each. CPUs are host0, host1, ... and GPUs gpu0, gpu1, ... in their
 * order. Copies within a device are passed over; sizes are not printed.
 *
 *     ================    Unidirectional Benchmark Result    ================
 *     ================ Src Device Id: 0 Src Device Type: Cpu ================
 *     ================ Dst Device Id: 4 Dst Device Type: Gpu ================
 *     Data Size      Avg Time(us)   Avg BW(GB/s)   Min Time(us)   Peak BW(GB/s)
 *     512 MB         18722.762      28.675         18722.482      28.675
 *
 * A group for each size, at the average. There is no list of devices here: they are called device0, device4.
 */
#include "import/lines.h"
#include "measurements/measurements.h"

#include <math.h>
#include <stdio.h>

#define GB 1e9

enum { DEVICES_MAX = 256 };

struct reading {
    struct hop_lines lines;
    struct hop_row_builder b;
    char names[DEVICES_MAX][16]; /* by index; "": not listed */
    uint32_t gpus, hosts;
    bool matrix, two_way, average; /* what the title says that was read last */
    uint32_t columns[DEVICES_MAX], count, rows;
    char ends[2][24]; /* of a table of one pair; "": not said yet */
};

static void refuse(struct reading *r, uint32_t word, const char *what, const char *expected)
{
    hop_lines_refuse(&r->lines, HOP_ERR_SYNTAX, r->lines.words[word].column, "%s\n%s", what, expected);
}

/* "Device: 1,  NAME,  GPU-9f50716172fd5d40,  0d:0.0"; only a GPU has a bus number. */
static bool read_device(struct reading *r)
{
    const struct hop_word *words = r->lines.words, *last = &words[r->lines.count - 1];
    char text[8] = "";
    if (r->lines.count < 2 || !hop_word_is(&words[0], "Device:") || words[1].length < 2 || words[1].length > 4)
        return false;
    (void)snprintf(text, sizeof text, "%.*s", (int)words[1].length - 1, words[1].text);
    int index = hop_word_number(&(struct hop_word){text, words[1].length - 1, 1}, "");
    bool gpu = memchr(last->text, ':', last->length) && memchr(last->text, '.', last->length);
    if (index < 0 || index >= DEVICES_MAX)
        return false;
    if (index == 0) /* of another run */
        r->gpus = r->hosts = 0;
    (void)snprintf(r->names[index], sizeof r->names[index], gpu ? "gpu%u" : "host%u", gpu ? r->gpus : r->hosts);
    r->gpus += gpu;
    r->hosts += !gpu;
    return true;
}

static bool read_title(struct reading *r)
{
    bool one_way = hop_lines_hold(&r->lines, "Unidirectional copy "),
         peak = hop_lines_hold(&r->lines, " peak bandwidth");
    if ((!one_way && !hop_lines_hold(&r->lines, "directional copy ")) ||
        (!peak && !hop_lines_hold(&r->lines, " average bandwidth")))
        return false;
    r->matrix = true;
    r->two_way = !one_way;
    r->average = !peak;
    r->count = r->rows = 0;
    return true;
}

/* "Unidirectional Benchmark Result", "Src Device Id: 0 Src Device Type: Cpu" */
static bool read_pair(struct reading *r)
{
    const struct hop_lines *lines = &r->lines;
    if (hop_lines_hold(lines, "directional Benchmark Result")) {
        r->two_way = !hop_lines_hold(lines, "Unidirectional");
        r->ends[0][0] = r->ends[1][0] = '\0';
        r->matrix = false;
        return true;
    }
    for (uint32_t i = 0; i + 3 < lines->count; i++) {
        bool source = hop_word_is(&lines->words[i], "Src");
        int index = hop_word_number(&lines->words[i + 3], "");
        if ((source || hop_word_is(&lines->words[i], "Dst")) && hop_word_is(&lines->words[i + 1], "Device") &&
            hop_word_is(&lines->words[i + 2], "Id:") && index >= 0) {
            (void)snprintf(r->ends[!source], sizeof r->ends[0], "device%d", index);
            return true;
        }
    }
    return false;
}

static void add_cell(struct reading *r, const char *row, const char *column, uint64_t bytes, double value)
{
    const char *which = r->average ? "average of several" : "best of several";
    char size[32] = "";
    if (bytes > 0)
        (void)snprintf(size, sizeof size, ":%llu B", (unsigned long long)bytes);
    if (!r->two_way) {
        hop_rows_group(&r->b, "one-way:%s>%s%s", row, column, size);
        hop_rows_add(&r->b, (const char *[]){row, column}, bytes, value * GB, "alone; %s", which);
        return;
    }
    hop_rows_group(&r->b, "two-way:%s-%s%s", row, column, size);
    for (unsigned back = 0; back < 2; back++)
        hop_rows_add(&r->b, (const char *[]){back ? column : row, back ? row : column}, bytes, value * GB / 2,
                     "half of printed two-way sum %.10g; %s", value, which);
}

/* "512 MB  18722.762  28.675  18722.482  28.675", the unit a power of 1024 */
static void read_size(struct reading *r)
{
    static const char *const units[] = {"B", "KB", "MB", "GB"};
    const struct hop_word *words = r->lines.words;
    unsigned unit = 0;
    double value;
    int size = hop_word_number(&words[0], "");
    while (unit < HOP_COUNT(units) && r->lines.count > 1 && !hop_word_is(&words[1], units[unit]))
        unit++;
    if (r->lines.count != 6 || unit == HOP_COUNT(units) || size < 1)
        return; /* another line of the log */
    if (!hop_word_rate(&words[3], &value)) {
        refuse(r, 3, "this is no bandwidth", "GB/s, in the column Avg BW");
        return;
    }
    r->b.line = r->lines.line;
    r->b.column = words[3].column;
    r->average = true;
    if (!isnan(value) && strcmp(r->ends[0], r->ends[1]) != 0)
        add_cell(r, r->ends[0], r->ends[1], (uint64_t)size << 10 * unit, value);
}

static void read_columns(struct reading *r)
{
    const struct hop_lines *lines = &r->lines;
    for (uint32_t i = 1; i < lines->count; i++) {
        int index = hop_word_number(&lines->words[i], "");
        bool ascending = r->count == 0 || index > (int)r->columns[r->count - 1];
        if (index < 0 || index >= DEVICES_MAX || !r->names[index][0] || !ascending) {
            refuse(r, i, "this column is of no device that is listed above, or not in their order",
                   "a line 'Device: 0,  NAME' for each");
            return;
        }
        r->columns[r->count++] = (uint32_t)index;
    }
}

static void read_row(struct reading *r)
{
    const struct hop_lines *lines = &r->lines;
    int index = hop_word_number(&lines->words[0], "");
    if (index != (int)r->columns[r->rows] || lines->count != r->count + 1) {
        refuse(r, 0, "a row of this matrix is not here, or not whole", "a row for each device, a cell for each column");
        return;
    }
    r->b.line = lines->line;
    for (uint32_t c = 0; c < r->count && hop_measurements_good(r->b.made); c++) {
        const struct hop_word *word = &lines->words[c + 1];
        double value;
        if (!hop_word_rate(word, &value))
            refuse(r, c + 1, "this is no cell of a matrix", "a bandwidth in GB/s, or N/A");
        r->b.column = word->column;
        bool once = c != r->rows && (!r->two_way || c > r->rows); /* two ways are printed in both triangles */
        if (once && !isnan(value))
            add_cell(r, r->names[index], r->names[r->columns[c]], 0, value);
    }
    r->matrix = ++r->rows < r->count;
}

static void read_rocm_bandwidth(const struct hop_source *source, struct hop_measurements *m)
{
    struct reading *r = hop_arena_alloc(&m->arena, sizeof *r);
    if (!r)
        return;
    r->b.made = m;
    hop_lines_init(&r->lines, source);
    r->lines.failure = &m->failure;
    while (hop_lines_next(&r->lines)) {
        if (read_device(r) || read_title(r) || read_pair(r))
            continue;
        if (!r->matrix && r->ends[0][0] && r->ends[1][0])
            read_size(r);
        else if (!r->matrix)
            continue;
        else if (r->count > 0)
            read_row(r);
        else if (hop_word_is(&r->lines.words[0], "D/D"))
            read_columns(r);
    }
    if (hop_measurements_good(m) && m->count == 0)
        hop_measurements_refuse(m, HOP_ERR_INVALID, r->lines.line, 1,
                                "there is no bandwidth between two devices\nthe matrices of rocm-bandwidth-test -a or "
                                "-A, or its tables of one pair");
}

static bool detect_rocm_bandwidth(const struct hop_source *source)
{
    return hop_source_mentions(source, "RocmBandwidthTest Version:");
}

const struct hop_measurements_reader hop_reader_rocm_bandwidth = {detect_rocm_bandwidth, read_rocm_bandwidth};
