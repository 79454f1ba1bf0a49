/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the matrices of p2pBandwidthLatencyTest. */
#include "import/p2p_text.h"
#include "import/lines.h"

#include <math.h>

#define LABEL_MAX 200

struct reading {
    struct hop_lines lines;
    struct hop_p2p *p2p;
    struct hop_failure failure;
    bool counted; /* the number of GPUs is settled */
};

bool hop_p2p_detect(const struct hop_source *source)
{
    static const char *const marks[] = {"P2P (Peer-to-Peer) GPU Bandwidth Latency Test", "P2P=Disabled Bandwidth",
                                        "P2P=Enabled Bandwidth"};
    for (size_t i = 0; i < HOP_COUNT(marks); i++) {
        if (hop_source_mentions(source, marks[i]))
            return true;
    }
    return false;
}

/* ---- devices ---- */

/* The hexadecimal number behind a text of the line. */
static bool hex_behind(const struct hop_lines *lines, const char *text, unsigned most, unsigned *value)
{
    const char *end = lines->text + lines->length, *at = memmem(lines->text, lines->length, text, strlen(text));
    if (!at)
        return false;
    at += strlen(text);
    while (at < end && *at == ' ')
        at++;
    unsigned number = 0, digits = 0;
    for (; at < end && digits < 8; at++, digits++) {
        if (hop_text_digit(*at) == 16)
            break;
        number = number * 16 + hop_text_digit(*at);
    }
    *value = number;
    return digits > 0 && number <= most;
}

static void read_device(struct reading *r)
{
    struct hop_lines *lines = &r->lines;
    struct hop_p2p *p2p = r->p2p;
    struct hop_word number = lines->words[1];
    if (number.text[number.length - 1] == ',')
        number.length--;
    if (r->counted || number.length == 0 || hop_word_number(&number, "") != (int)p2p->count) {
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, lines->words[1].column,
                         r->counted
                             ? "a device line behind the matrices\none run's output: devices 0, 1, ..., then the "
                               "matrices"
                             : "this is not the line of device %u\none run's output: devices 0, 1, ..., then the "
                               "matrices",
                         p2p->count);
        return;
    }
    if (p2p->count == HOP_P2P_LIMIT) {
        hop_lines_refuse(lines, HOP_ERR_LIMIT, 1, "too many devices\nat most 512");
        return;
    }
    struct hop_p2p_device *device = &p2p->devices[p2p->count];
    const char *label = number.text + number.length, *end = memmem(lines->text, lines->length, "pciBusID:", 9);
    if (!end || label >= end || !hex_behind(lines, "pciBusID:", 0xff, &device->bus) ||
        !hex_behind(lines, "pciDeviceID:", 0x1f, &device->slot)) {
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, lines->words[1].column,
                         "device %u lacks its name or its bus number\nDevice: 0, NAME, pciBusID: 4f, pciDeviceID: 0, "
                         "pciDomainID:0",
                         p2p->count);
        return;
    }
    if (!hex_behind(lines, "pciDomainID:", 0xffffffff, &device->domain))
        device->domain = 0;
    while (label < end && (*label == ',' || *label == ' '))
        label++;
    while (end > label && (end[-1] == ',' || end[-1] == ' '))
        end--;
    size_t length = (size_t)(end - label);
    char *kept = hop_arena_string(&p2p->arena, label, length < LABEL_MAX ? length : LABEL_MAX);
    for (char *c = kept; c && *c; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    device->label = kept;
    p2p->count++;
    p2p->has_devices = true;
}

/* ---- matrices ---- */

static void settle_count(struct reading *r, uint32_t count)
{
    struct hop_p2p *p2p = r->p2p;
    if (r->counted)
        return;
    p2p->count = count;
    size_t cells = (size_t)count * count;
    p2p->access = hop_arena_alloc(&p2p->arena, cells ? cells : 1);
    if (p2p->access)
        memset(p2p->access, -1, cells);
    else
        hop_failure_set(&r->failure, HOP_ERR_MEMORY, "out of memory");
    r->counted = true;
}

/* "Device=0 CAN Access Peer Device=1"; anything else like it is not for us. */
static void read_access(struct reading *r)
{
    const struct hop_lines *lines = &r->lines;
    struct hop_p2p *p2p = r->p2p;
    int row = hop_word_number(&lines->words[0], "Device="),
        column = hop_word_number(&lines->words[lines->count - 1], "Device=");
    bool can = hop_word_is(&lines->words[1], "CAN"), cannot = hop_word_is(&lines->words[1], "CANNOT");
    if (!p2p->has_devices || row < 0 || column < 0 || !(can || cannot) || (uint32_t)row >= p2p->count ||
        (uint32_t)column >= p2p->count)
        return;
    settle_count(r, p2p->count);
    if (p2p->access)
        p2p->access[(size_t)row * p2p->count + (size_t)column] = can;
}

/* The matrix whose title the line is, HOP_P2P_MATRICES: none that is kept. */
static enum hop_p2p_matrix title_of(const struct hop_lines *lines)
{
    if (hop_lines_hold(lines, "P2P Connectivity Matrix"))
        return HOP_P2P_CONNECTIVITY;
    bool one = hop_lines_hold(lines, "Unidirectional"), two = hop_lines_hold(lines, "Bidirectional");
    bool enabled = hop_lines_hold(lines, "P2P=Enabled"), disabled = hop_lines_hold(lines, "P2P=Disabled");
    if (!hop_lines_hold(lines, "Bandwidth") || !hop_lines_hold(lines, "Matrix") || one == two || enabled == disabled)
        return HOP_P2P_MATRICES;
    if (one && hop_lines_hold(lines, "(P2P Reads)"))
        return HOP_P2P_ONE_WAY_READS;
    return one ? enabled ? HOP_P2P_ONE_WAY : HOP_P2P_ONE_WAY_DISABLED
               : (enabled ? HOP_P2P_TWO_WAY : HOP_P2P_TWO_WAY_DISABLED);
}

/* "D\D 0 1 2 ..." */
static void read_header(struct reading *r)
{
    struct hop_lines *lines = &r->lines;
    bool more = hop_lines_next(lines);
    if (!more || !hop_word_is(&lines->words[0], "D\\D"))
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, more ? lines->words[0].column : 1,
                         "the header line of this matrix is missing\na line D\\D 0 1 ... behind the title");
    uint32_t columns = lines->count - 1, devices = r->p2p->count;
    if (columns == 0 || columns > HOP_P2P_LIMIT || (devices > 0 && columns != devices))
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, lines->words[0].column,
                         "this matrix has %u columns, %s %u\none column for each device", columns,
                         devices > 0 ? "but the devices are" : "at most", devices > 0 ? devices : HOP_P2P_LIMIT);
    for (uint32_t i = 0; i < columns && r->failure.status == HOP_OK; i++) {
        const struct hop_word *word = &lines->words[i + 1];
        if (hop_word_number(word, "") != (int)i)
            hop_lines_refuse(lines, HOP_ERR_SYNTAX, word->column,
                             "column %u of this matrix is called '%.*s'\ncolumns 0, 1, 2, ...", i,
                             HOP_WORD_SHOWN(word));
    }
    if (r->failure.status == HOP_OK)
        settle_count(r, columns);
}

static void read_row(struct reading *r, struct hop_p2p_cell *cells, uint32_t row)
{
    struct hop_lines *lines = &r->lines;
    uint32_t count = r->p2p->count;
    bool more = hop_lines_next(lines), mine = more && hop_word_number(&lines->words[0], "") == (int)row;
    if (!mine || lines->count != count + 1) {
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, hop_lines_column(lines, more),
                         mine ? "row %u of this matrix has %u cells\na row of as many cells as the header names"
                              : "row %u of this matrix is missing\na row of as many cells as the header names",
                         row, lines->count - 1);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_word *word = &lines->words[i + 1];
        struct hop_p2p_cell *cell = &cells[(size_t)row * count + i];
        *cell = (struct hop_p2p_cell){NAN, lines->line, word->column};
        double value;
        if (!hop_word_rate(word, &value))
            hop_lines_refuse(lines, HOP_ERR_SYNTAX, word->column,
                             "the cell of row %u and column %u says '%.*s'\na number", row, i, HOP_WORD_SHOWN(word));
        cell->value = row != i ? value : NAN;
    }
}

static void read_matrix(struct reading *r, enum hop_p2p_matrix matrix)
{
    struct hop_p2p *p2p = r->p2p;
    if (p2p->matrix[matrix])
        hop_lines_refuse(&r->lines, HOP_ERR_SYNTAX, r->lines.words[0].column,
                         "there is a second matrix of this title\nthe output of one run");
    read_header(r);
    if (r->failure.status != HOP_OK)
        return;
    size_t count = (size_t)p2p->count * p2p->count;
    struct hop_p2p_cell *cells = hop_arena_alloc(&p2p->arena, count * sizeof *cells);
    p2p->matrix[matrix] = cells;
    for (uint32_t row = 0; cells && row < p2p->count && r->failure.status == HOP_OK; row++)
        read_row(r, cells, row);
    for (size_t i = 0; cells && matrix == HOP_P2P_CONNECTIVITY && i < count; i++) {
        if (i % (p2p->count + 1) != 0)
            p2p->access[i] = cells[i].value > 0;
    }
}

static void read_lines(struct reading *r)
{
    struct hop_lines *lines = &r->lines;
    while (hop_lines_next(lines)) {
        enum hop_p2p_matrix matrix = title_of(lines);
        if (matrix != HOP_P2P_MATRICES)
            read_matrix(r, matrix);
        else if (lines->count > 2 && hop_word_is(&lines->words[0], "Device:"))
            read_device(r);
        else if (lines->count > 2)
            read_access(r);
    }
    if (r->p2p->count == 0)
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, 1,
                         "there are neither devices nor matrices\nthe whole output of p2pBandwidthLatencyTest");
    settle_count(r, r->p2p->count);
    if (r->p2p->arena.failed)
        hop_failure_set(&r->failure, HOP_ERR_MEMORY, "out of memory");
}

enum hop_status hop_p2p_read(const struct hop_source *source, uint32_t lines, struct hop_p2p *p2p,
                             struct hop_diag *diag)
{
    struct reading *r = calloc(1, sizeof *r);
    memset(p2p, 0, sizeof *p2p);
    if (!r)
        return hop_fail_memory(diag);
    r->p2p = p2p;
    r->failure.diag = diag;
    hop_lines_init(&r->lines, source);
    r->lines.line = lines;
    r->lines.failure = &r->failure;
    p2p->from_row = memmem(source->text, source->size, "(P2P Writes)", 12) != NULL;
    read_lines(r);
    enum hop_status status = r->failure.status;
    free(r);
    return status;
}

void hop_p2p_finish(struct hop_p2p *p2p)
{
    hop_arena_finish(&p2p->arena);
}
