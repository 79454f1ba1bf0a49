/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurements from bandwidthTest (CUDA samples), its tables or its lines (--csv).
 *
 *      Device 0: NAME
 *      Host to Device Bandwidth, 1 Device(s)
 *      PINNED Memory Transfers
 *        Transfer Size (Bytes)        Bandwidth(GB/s)
 *        32000000                     24.6
 *
 *     bandwidthTest-H2D-Pinned, Bandwidth = 24.6 GB/s, Time = 0.00130 s, Size = 32000000 bytes, NumDevsUsed = 1
 *
 * A group for each size, way and device, which copies alone. Of several devices the sum is printed, though one copied
 * after the other: each gets the mean. GB is 1e9 bytes; what the versions of 2012 to 2019 call MB/s is bytes in a
 * millisecond over 1024. Copies within a device are passed over.
 */
#include "import/lines.h"
#include "measurements/measurements.h"

#include <stdio.h>

#define GB 1e9
#define MB 1.024e6

enum { DEVICES_MAX = 512 };

struct reading {
    struct hop_lines lines;
    struct hop_row_builder b;
    uint32_t devices[DEVICES_MAX], count; /* of the run in hand */
    bool listed;                          /* whether no more belong to it */
    bool down, known;                     /* the table's copies come from the host; are between host and device */
    bool pageable;
    uint32_t said;   /* devices that the table is of */
    double unit;     /* bytes/s, 0: no header yet */
    uint32_t passed; /* line of a table that is not read, 0: none */
};

static void refuse(struct reading *r, uint32_t word, const char *what, const char *expected)
{
    hop_lines_refuse(&r->lines, HOP_ERR_SYNTAX, r->lines.words[word].column, "%s\n%s", what, expected);
}

/* " Device 0: NAME" */
static bool read_device(struct reading *r)
{
    const struct hop_word *words = r->lines.words;
    char text[16];
    if (r->lines.count < 2 || !hop_word_is(&words[0], "Device") || words[1].length < 2 || words[1].length > 5 ||
        words[1].text[words[1].length - 1] != ':')
        return false;
    (void)snprintf(text, sizeof text, "%.*s", (int)words[1].length - 1, words[1].text);
    int number = hop_word_number(&(struct hop_word){text, words[1].length - 1, 1}, "");
    if (number < 0)
        return false;
    r->count = r->listed ? 0 : r->count;
    r->listed = false;
    if (r->count == DEVICES_MAX)
        refuse(r, 0, "too many devices", "at most 512");
    else
        r->devices[r->count++] = (uint32_t)number;
    return true;
}

static void add_rows(struct reading *r, uint32_t word, uint64_t bytes, double rate_Bps)
{
    const char *memory = r->pageable ? "pageable" : "pinned";
    uint32_t devices = r->count ? r->count : 1;
    r->listed = true;
    if (r->said != devices) {
        refuse(r, word, "the value is not of the devices that are listed above", "a line 'Device 0: NAME' for each");
        return;
    }
    if (bytes == 0 || bytes > HOP_BYTES_MAX || !(rate_Bps >= 1e3 && rate_Bps <= 1e15)) {
        hop_measurements_leave_out(r->b.made, r->lines.line, "copies of no bytes, or of a bandwidth of 0.0, left out");
        return;
    }
    r->b.line = r->lines.line;
    r->b.column = r->lines.words[word].column;
    for (uint32_t d = 0; d < devices; d++) {
        char name[16];
        (void)snprintf(name, sizeof name, "gpu%u", r->count ? r->devices[d] : 0);
        hop_rows_group(&r->b, "%s-%s:%s:%llu B", r->down ? "H2D" : "D2H", memory, name, (unsigned long long)bytes);
        hop_rows_add(&r->b, (const char *[]){r->down ? "host" : name, r->down ? name : "host"}, bytes,
                     rate_Bps / devices, "alone; %s memory%s", memory,
                     devices > 1 ? ", mean over the devices of a printed sum" : "");
    }
}

/* "Host to Device Bandwidth, 1 Device(s)" */
static bool read_title(struct reading *r)
{
    const struct hop_word *words = r->lines.words;
    if (r->lines.count < 6 || !hop_word_is(&words[1], "to") || !hop_word_is(&words[3], "Bandwidth,"))
        return false;
    int devices = hop_word_number(&words[4], "");
    r->down = hop_word_is(&words[0], "Host") && hop_word_is(&words[2], "Device");
    r->known = r->down || (hop_word_is(&words[0], "Device") && hop_word_is(&words[2], "Host"));
    r->said = devices < 1 ? 0 : (uint32_t)devices;
    r->unit = 0;
    r->pageable = false;
    r->passed = r->known || r->passed ? r->passed : r->lines.line;
    return true;
}

/* "Transfer Size (Bytes)        Bandwidth(GB/s)" */
static void read_header(struct reading *r)
{
    const struct hop_word *last = &r->lines.words[r->lines.count - 1];
    r->unit = hop_lines_hold(&r->lines, "(MB/s)") ? MB : hop_lines_hold(&r->lines, "(GB/s)") ? GB : 0;
    if (r->unit == 0)
        refuse(r, r->lines.count - 1,
               hop_word_is(last, "(Bytes)") ? "the unit of the bandwidths is missing"
                                            : "this is no unit of bandwidths that is known",
               "Bandwidth(GB/s) or Bandwidth(MB/s)");
}

/* "PINNED Memory Transfers" */
static void read_memory(struct reading *r)
{
    r->pageable = hop_word_is(&r->lines.words[0], "PAGEABLE");
    if (!r->pageable && !hop_word_is(&r->lines.words[0], "PINNED"))
        refuse(r, 0, "this is no kind of memory that is known", "PINNED or PAGEABLE Memory Transfers");
}

/* A size and a bandwidth; what begins as a number below a header is meant as one. */
static void read_row(struct reading *r)
{
    const struct hop_word *words = r->lines.words;
    double value;
    uint64_t bytes;
    const char *digits = words[0].text + (words[0].length > 1 && words[0].text[0] == '-');
    if (*digits < '0' || *digits > '9')
        return;
    if (!hop_word_whole(&words[0], &bytes))
        refuse(r, 0, "this is no size", "bytes, such as 32000000");
    else if (r->lines.count != 2 || !hop_word_decimal(&words[1], &value))
        refuse(r, r->lines.count > 1 ? 1 : 0, "there is no bandwidth behind this size",
               "a number behind the size, and no more");
    else
        add_rows(r, 1, bytes, value * r->unit);
}

static void read_table(struct reading *r)
{
    if (hop_lines_hold(&r->lines, "Memory Transfers"))
        read_memory(r);
    else if (hop_lines_hold(&r->lines, "Transfer Size (Bytes)"))
        read_header(r);
    else if (r->unit > 0 && r->known)
        read_row(r);
}

/* The word behind "NAME =", 0: there is none. */
static uint32_t behind(const struct hop_lines *lines, const char *name)
{
    for (uint32_t i = 0; i + 2 < lines->count; i++) {
        if (hop_word_is(&lines->words[i], name) && hop_word_is(&lines->words[i + 1], "="))
            return i + 2;
    }
    return 0;
}

/* "bandwidthTest-H2D-Pinned, Bandwidth = 24.6 GB/s, Time = 0.00130 s, Size = 32000000 bytes, NumDevsUsed = 1" */
static void read_line(struct reading *r)
{
    const struct hop_lines *lines = &r->lines;
    uint32_t value_at = behind(lines, "Bandwidth"), size_at = behind(lines, "Size"),
             said = behind(lines, "NumDevsUsed");
    double value;
    r->down = hop_lines_hold(lines, "-H2D-");
    if (!r->down && !hop_lines_hold(lines, "-D2H-")) {
        r->passed = r->passed ? r->passed : lines->line;
        return;
    }
    uint64_t bytes;
    int devices = said ? hop_word_number(&lines->words[said], "") : -1;
    if (!value_at || !size_at || !hop_word_whole(&lines->words[size_at], &bytes) || devices < 1 ||
        !hop_word_decimal(&lines->words[value_at], &value)) {
        refuse(r, 0, "this line of bandwidthTest is not whole",
               "Bandwidth = 24.6 GB/s, Time = 0.00130 s, Size = 32000000 "
               "bytes, NumDevsUsed = 1");
        return;
    }
    const struct hop_word *unit = &lines->words[value_at + 1];
    if (!hop_word_is(unit, "MB/s,") && !hop_word_is(unit, "GB/s,")) {
        refuse(r, value_at + 1, "this is no unit of bandwidths that is known", "GB/s or MB/s");
        return;
    }
    r->pageable = hop_lines_hold(lines, "-Paged");
    r->said = (uint32_t)devices;
    add_rows(r, value_at, bytes, value * (hop_word_is(unit, "MB/s,") ? MB : GB));
}

static void read_bandwidth_test(const struct hop_source *source, struct hop_measurements *m)
{
    struct reading *r = hop_arena_alloc(&m->arena, sizeof *r);
    if (!r)
        return;
    r->b.made = m;
    hop_lines_init(&r->lines, source);
    r->lines.failure = &m->failure;
    while (hop_lines_next(&r->lines)) {
        if (r->lines.words[0].length > 14 && memcmp(r->lines.words[0].text, "bandwidthTest-", 14) == 0)
            read_line(r);
        else if (!read_device(r) && !read_title(r))
            read_table(r);
    }
    if (hop_measurements_good(m) && m->count == 0)
        hop_measurements_refuse(m, HOP_ERR_INVALID, r->passed ? r->passed : r->lines.line, 1,
                                "%s\ntables of bandwidthTest from host to device or from device to host",
                                r->passed ? "copies within a device say nothing about a link"
                                          : "there is no bandwidth between host and device");
}

static bool detect_bandwidth_test(const struct hop_source *source)
{
    return hop_source_mentions(source, "[CUDA Bandwidth Test]") || hop_source_mentions(source, "bandwidthTest-") ||
           hop_source_mentions(source, "to Device Bandwidth, ") || hop_source_mentions(source, "to Host Bandwidth, ");
}

const struct hop_measurements_reader hop_reader_bandwidth_test = {detect_bandwidth_test, read_bandwidth_test};
