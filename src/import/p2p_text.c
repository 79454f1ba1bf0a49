/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the matrices of p2pBandwidthLatencyTest. */
#include "import/p2p_text.h"
#include "import/smi_text.h"

#include <math.h>

#define DETECT_LIMIT ((size_t)64 << 10)
#define LABEL_MAX 200

struct reading {
    struct hop_lines lines;
    struct hop_p2p *p2p;
    struct hop_diag *diag;
    bool counted; /* the number of GPUs is settled */
};

bool hop_p2p_detect(const struct hop_source *source)
{
    static const char *const marks[] = {"P2P (Peer-to-Peer) GPU Bandwidth Latency Test", "P2P=Disabled Bandwidth",
                                        "P2P=Enabled Bandwidth"};
    size_t size = source->size < DETECT_LIMIT ? source->size : DETECT_LIMIT;
    for (size_t i = 0; i < HOP_COUNT(marks); i++) {
        if (memmem(source->text, size, marks[i], strlen(marks[i])))
            return true;
    }
    return false;
}

static enum hop_status refuse(struct reading *r, uint32_t column, const char *expected)
{
    hop_diag_expect(r->diag, "%s", expected);
    hop_lines_place(&r->lines, column, r->diag);
    return HOP_ERR_SYNTAX;
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
        char c = *at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit == 16)
            break;
        number = number * 16 + digit;
    }
    *value = number;
    return digits > 0 && number <= most;
}

static enum hop_status read_device(struct reading *r)
{
    struct hop_lines *lines = &r->lines;
    struct hop_p2p *p2p = r->p2p;
    struct hop_word number = lines->words[1];
    if (number.text[number.length - 1] == ',')
        number.length--;
    if (r->counted || number.length == 0 || hop_word_number(&number, "") != (int)p2p->count) {
        hop_fail(r->diag, HOP_ERR_SYNTAX,
                 r->counted ? "a device line behind the matrices" : "this is not the line of device %u", p2p->count);
        return refuse(r, lines->words[1].column, "one run's output: devices 0, 1, ..., then the matrices");
    }
    if (p2p->count == HOP_P2P_LIMIT) {
        hop_fail(r->diag, HOP_ERR_LIMIT, "too many devices");
        (void)refuse(r, 1, "at most 512");
        return HOP_ERR_LIMIT;
    }
    struct hop_p2p_device *device = &p2p->devices[p2p->count];
    const char *label = number.text + number.length, *end = memmem(lines->text, lines->length, "pciBusID:", 9);
    if (!end || label >= end || !hex_behind(lines, "pciBusID:", 0xff, &device->bus) ||
        !hex_behind(lines, "pciDeviceID:", 0x1f, &device->slot)) {
        hop_fail(r->diag, HOP_ERR_SYNTAX, "device %u lacks its name or its bus number", p2p->count);
        return refuse(r, lines->words[1].column, "Device: 0, NAME, pciBusID: 4f, pciDeviceID: 0, pciDomainID:0");
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
    return kept ? HOP_OK : hop_fail_memory(r->diag);
}

/* ---- matrices ---- */

static enum hop_status settle_count(struct reading *r, uint32_t count)
{
    struct hop_p2p *p2p = r->p2p;
    if (r->counted)
        return HOP_OK;
    p2p->count = count;
    size_t cells = (size_t)count * count;
    p2p->access = hop_arena_alloc(&p2p->arena, cells ? cells : 1);
    if (!p2p->access)
        return hop_fail_memory(r->diag);
    memset(p2p->access, -1, cells);
    r->counted = true;
    return HOP_OK;
}

/* "Device=0 CAN Access Peer Device=1"; anything else like it is not for us. */
static enum hop_status read_access(struct reading *r)
{
    const struct hop_lines *lines = &r->lines;
    struct hop_p2p *p2p = r->p2p;
    int row = hop_word_number(&lines->words[0], "Device="),
        column = hop_word_number(&lines->words[lines->count - 1], "Device=");
    bool can = hop_word_is(&lines->words[1], "CAN"), cannot = hop_word_is(&lines->words[1], "CANNOT");
    if (!p2p->has_devices || row < 0 || column < 0 || !(can || cannot) || (uint32_t)row >= p2p->count ||
        (uint32_t)column >= p2p->count)
        return HOP_OK;
    enum hop_status status = settle_count(r, p2p->count);
    if (status == HOP_OK)
        p2p->access[(size_t)row * p2p->count + (size_t)column] = can;
    return status;
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
static enum hop_status read_header(struct reading *r)
{
    struct hop_lines *lines = &r->lines;
    bool more = hop_lines_next(lines);
    if (!more || !hop_word_is(&lines->words[0], "D\\D")) {
        hop_fail(r->diag, HOP_ERR_SYNTAX, "the header line of this matrix is missing");
        return refuse(r, more ? lines->words[0].column : 1, "a line D\\D 0 1 ... behind the title");
    }
    uint32_t columns = lines->count - 1;
    if (columns == 0 || columns > HOP_P2P_LIMIT || (r->p2p->count > 0 && columns != r->p2p->count)) {
        hop_fail(r->diag, HOP_ERR_SYNTAX, "this matrix has %u columns, %s %u", columns,
                 r->p2p->count > 0 ? "but the devices are" : "at most", r->p2p->count > 0 ? r->p2p->count : 512);
        return refuse(r, lines->words[0].column, "one column for each device");
    }
    for (uint32_t i = 0; i < columns; i++) {
        if (hop_word_number(&lines->words[i + 1], "") != (int)i) {
            hop_fail(r->diag, HOP_ERR_SYNTAX, "column %u of this matrix is called '%.*s'", i,
                     (int)(lines->words[i + 1].length < 40 ? lines->words[i + 1].length : 40),
                     lines->words[i + 1].text);
            return refuse(r, lines->words[i + 1].column, "columns 0, 1, 2, ...");
        }
    }
    return settle_count(r, columns);
}

static enum hop_status read_row(struct reading *r, struct hop_p2p_cell *cells, uint32_t row)
{
    struct hop_lines *lines = &r->lines;
    uint32_t count = r->p2p->count;
    bool more = hop_lines_next(lines);
    if (!more || hop_word_number(&lines->words[0], "") != (int)row || lines->count != count + 1) {
        bool mine = more && hop_word_number(&lines->words[0], "") == (int)row;
        hop_fail(r->diag, HOP_ERR_SYNTAX,
                 mine ? "row %u of this matrix has %u cells" : "row %u of this matrix is missing", row,
                 lines->count - 1);
        return refuse(r, more ? lines->words[0].column : lines->length + 1,
                      "a row of as many cells as the header names");
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_word *word = &lines->words[i + 1];
        struct hop_p2p_cell *cell = &cells[(size_t)row * count + i];
        *cell = (struct hop_p2p_cell){NAN, lines->line, word->column};
        double value = 0;
        if (!hop_word_decimal(word, &value) && !hop_word_is(word, "N/A") && !hop_word_is(word, "inf") &&
            !hop_word_is(word, "nan")) {
            hop_fail(r->diag, HOP_ERR_SYNTAX, "the cell of row %u and column %u says '%.*s'", row, i,
                     (int)(word->length < 40 ? word->length : 40), word->text);
            return refuse(r, word->column, "a number");
        }
        if (row != i && value >= 1e-6 && value <= 1e6)
            cell->value = value;
    }
    return HOP_OK;
}

static enum hop_status read_matrix(struct reading *r, enum hop_p2p_matrix matrix)
{
    struct hop_p2p *p2p = r->p2p;
    if (p2p->matrix[matrix]) {
        hop_fail(r->diag, HOP_ERR_SYNTAX, "there is a second matrix of this title");
        return refuse(r, r->lines.words[0].column, "the output of one run");
    }
    enum hop_status status = read_header(r);
    if (status != HOP_OK)
        return status;
    struct hop_p2p_cell *cells = hop_arena_alloc(&p2p->arena, (size_t)p2p->count * p2p->count * sizeof *cells);
    if (!cells)
        return hop_fail_memory(r->diag);
    p2p->matrix[matrix] = cells;
    for (uint32_t row = 0; row < p2p->count && status == HOP_OK; row++)
        status = read_row(r, cells, row);
    for (size_t i = 0; status == HOP_OK && matrix == HOP_P2P_CONNECTIVITY && i < (size_t)p2p->count * p2p->count; i++) {
        if (i % (p2p->count + 1) != 0)
            p2p->access[i] = cells[i].value > 0;
    }
    return status;
}

static enum hop_status read_lines(struct reading *r)
{
    struct hop_lines *lines = &r->lines;
    enum hop_status status = HOP_OK;
    while (status == HOP_OK && hop_lines_next(lines)) {
        enum hop_p2p_matrix matrix = title_of(lines);
        if (matrix != HOP_P2P_MATRICES)
            status = read_matrix(r, matrix);
        else if (lines->count > 2 && hop_word_is(&lines->words[0], "Device:"))
            status = read_device(r);
        else if (lines->count > 2)
            status = read_access(r);
    }
    if (status == HOP_OK && r->p2p->count == 0) {
        hop_fail(r->diag, HOP_ERR_SYNTAX, "there are neither devices nor matrices");
        status = refuse(r, 1, "the whole output of p2pBandwidthLatencyTest");
    }
    return status == HOP_OK ? settle_count(r, r->p2p->count) : status;
}

enum hop_status hop_p2p_read(const struct hop_source *source, struct hop_p2p *p2p, struct hop_diag *diag)
{
    struct reading *r = calloc(1, sizeof *r);
    memset(p2p, 0, sizeof *p2p);
    if (!r)
        return hop_fail_memory(diag);
    r->p2p = p2p;
    r->diag = diag;
    hop_lines_init(&r->lines, source);
    p2p->from_row = memmem(source->text, source->size, "(P2P Writes)", 12) != NULL;
    enum hop_status status = read_lines(r);
    free(r);
    return status;
}

void hop_p2p_finish(struct hop_p2p *p2p)
{
    hop_arena_finish(&p2p->arena);
}
