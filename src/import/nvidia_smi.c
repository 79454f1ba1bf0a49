/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the table of `nvidia-smi topo -m` in all its dialects; infer.c makes a tree of it.
 *
 *             GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity    the header: may be coloured, cells may run together
 *     GPU0     X      NV4     PIX     0-31            0                a row per column, X on the diagonal
 *     GPU1    NV4      X      SYS     32-63           1
 *     NIC0    PIX     SYS      X                                       affinity may be blank
 *
 *     NIC Legend:                                                      absent from old drivers: the columns are
 *       NIC0: mlx5_0                                                   called mlx5_0 there, and SYS is called SOC
 *
 * The table is found by its header line in whatever text stands around it.
 */
#include "import/infer.h"
#include "import/smi_text.h"

#include <stdio.h>

#define DETECT_LIMIT ((size_t)64 << 10) /* bytes in which the table must begin to be detected */

struct table {
    struct hop_lines lines;
    struct hop_diag *diag;
    struct hop_arena arena;
    struct hop_relations relations;
    struct hop_related devices[HOP_RELATIONS_LIMIT];
    const char *cpu[HOP_RELATIONS_LIMIT], *numa[HOP_RELATIONS_LIMIT]; /* affinity as written, NULL: blank */
    bool has_row[HOP_RELATIONS_LIMIT];
    bool has_cpu, has_numa; /* affinity columns */
    bool old;               /* the SOC dialect */
    uint32_t second_table;  /* line, 0: none */
};

static const char *const known_labels =
    "X, PIX, PXB, PHB, NODE, SYS (SOC in old drivers), NV and a number of links, or N/A";

/* A cell's text; false when it is none of the known ones. relation X is said by *self. */
static bool parse_label(const struct hop_word *word, struct hop_pair *pair, bool *self)
{
    static const struct {
        const char *text;
        enum hop_relation relation;
    } labels[] = {{"PIX", HOP_RELATION_PIX},     {"PXB", HOP_RELATION_PXB},  {"PHB", HOP_RELATION_PHB},
                  {"NODE", HOP_RELATION_NODE},   {"SYS", HOP_RELATION_SYS},  {"SOC", HOP_RELATION_SYS},
                  {"N/A", HOP_RELATION_UNKNOWN}, {"X", HOP_RELATION_UNKNOWN}};
    *pair = (struct hop_pair){0};
    *self = hop_word_is(word, "X");
    for (size_t i = 0; i < HOP_COUNT(labels); i++) {
        if (hop_word_is(word, labels[i].text)) {
            pair->relation = (uint8_t)labels[i].relation;
            return true;
        }
    }
    int links = hop_word_number(word, "NV");
    pair->links = (uint16_t)(links > 0 && links <= 1024 ? links : 0);
    return pair->links > 0;
}

static bool is_label(const struct hop_word *word)
{
    struct hop_pair pair;
    bool self;
    return parse_label(word, &pair, &self);
}

/* ---- header ---- */

/* Device names run together in some headers: "GPU0GPU1mlx5_0". The first of them. */
static struct hop_word first_name(const struct hop_word *word)
{
    struct hop_word name = *word;
    if (word->length > 3 && (memcmp(word->text, "GPU", 3) == 0 || memcmp(word->text, "NIC", 3) == 0)) {
        uint32_t end = 3;
        while (end < word->length && word->text[end] >= '0' && word->text[end] <= '9')
            end++;
        if (end > 3)
            name.length = end;
    }
    return name;
}

static bool has_digit(const struct hop_word *word)
{
    for (uint32_t i = 0; i < word->length; i++) {
        if (word->text[i] >= '0' && word->text[i] <= '9')
            return true;
    }
    return false;
}

/* "CPU Affinity", "NUMA Affinity" or "GPU NUMA ID" at word i. */
static bool is_affinity(const struct hop_lines *lines, uint32_t i)
{
    if (i + 1 >= lines->count)
        return false;
    const struct hop_word *first = &lines->words[i], *second = first + 1;
    return (hop_word_is(second, "Affinity") && (hop_word_is(first, "CPU") || hop_word_is(first, "NUMA"))) ||
           (hop_word_is(first, "GPU") && hop_word_is(second, "NUMA"));
}

/* How many words at the start of a line name devices, if the line is a header; else 0. */
static uint32_t header_words(const struct hop_lines *lines)
{
    uint32_t i = 0;
    if (lines->count < 1)
        return 0;
    struct hop_word name = first_name(&lines->words[0]);
    bool several = name.length < lines->words[0].length;
    if (hop_word_number(&name, "GPU") < 0)
        return 0;
    while (i < lines->count && !is_affinity(lines, i)) {
        const struct hop_word *word = &lines->words[i++];
        char c = word->text[0];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter || !has_digit(word) || is_label(word))
            return 0;
    }
    return i > 1 || several || i < lines->count ? i : 0;
}

static enum hop_status add_device(struct table *table, const struct hop_word *name)
{
    uint32_t i = table->relations.count, nics = 0;
    char node[32];
    if (i == HOP_RELATIONS_LIMIT) {
        hop_fail(table->diag, HOP_ERR_LIMIT, "the table has too many devices\nat most %u", HOP_RELATIONS_LIMIT);
        hop_lines_place(&table->lines, name->column, table->diag);
        return HOP_ERR_LIMIT;
    }
    struct hop_related *device = &table->devices[i];
    for (uint32_t k = 0; k < i; k++) {
        nics += table->devices[k].kind == HOP_NODE_NIC;
        if (hop_word_is(name, table->devices[k].title)) {
            hop_fail(table->diag, HOP_ERR_SYNTAX, "two columns are called %s\none column for each device",
                     table->devices[k].title);
            hop_lines_place(&table->lines, name->column, table->diag);
            return HOP_ERR_SYNTAX;
        }
    }
    int gpu = hop_word_number(name, "GPU");
    if (gpu >= 0)
        (void)snprintf(node, sizeof node, "gpu%d", gpu);
    else
        (void)snprintf(node, sizeof node, "nic%u", nics);
    *device = (struct hop_related){.kind = gpu >= 0 ? HOP_NODE_GPU : HOP_NODE_NIC, .numa = -1};
    device->title = hop_word_copy(&table->arena, name);
    device->name = hop_arena_string(&table->arena, node, strlen(node));
    if (hop_word_number(name, "NIC") < 0 && gpu < 0)
        device->label = device->title;
    table->relations.count++;
    return table->arena.failed ? hop_fail_memory(table->diag) : HOP_OK;
}

static enum hop_status read_header(struct table *table, uint32_t words)
{
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < words && status == HOP_OK; i++) {
        struct hop_word rest = table->lines.words[i];
        while (rest.length > 0 && status == HOP_OK) {
            struct hop_word name = first_name(&rest);
            status = add_device(table, &name);
            rest.text += name.length;
            rest.length -= name.length;
            rest.column += name.length;
        }
    }
    for (uint32_t i = words; i + 1 < table->lines.count; i++) {
        if (!hop_word_is(&table->lines.words[i + 1], "Affinity"))
            continue;
        table->has_cpu = table->has_cpu || hop_word_is(&table->lines.words[i], "CPU");
        table->has_numa = table->has_numa || hop_word_is(&table->lines.words[i], "NUMA");
    }
    return status;
}

static enum hop_status find_header(struct table *table)
{
    struct hop_lines *lines = &table->lines;
    while (hop_lines_next(lines)) {
        uint32_t words = header_words(lines);
        if (words > 0)
            return read_header(table, words);
        if (lines->count > 1 && hop_word_number(&lines->words[0], "GPU") >= 0 && is_label(&lines->words[1])) {
            hop_fail(table->diag, HOP_ERR_SYNTAX,
                     "a row stands before the header line of the table\nthe whole output of `nvidia-smi topo -m`, its "
                     "first line with GPU0, GPU1, ... included");
            hop_lines_place(lines, lines->words[0].column, table->diag);
            return HOP_ERR_SYNTAX;
        }
    }
    hop_fail(table->diag, HOP_ERR_SYNTAX,
             "there is no table here\nthe output of `nvidia-smi topo -m`: a line with GPU0, GPU1, ..., then a row for "
             "each device");
    hop_lines_place(lines, 1, table->diag);
    return HOP_ERR_SYNTAX;
}

/* ---- rows ---- */

static enum hop_status read_cell(struct table *table, uint32_t row, uint32_t column)
{
    const struct hop_word *word = &table->lines.words[1 + column];
    struct hop_pair *pair = &table->relations.pairs[(size_t)row * table->relations.count + column];
    bool self;
    if (!parse_label(word, pair, &self)) {
        hop_fail(table->diag, HOP_ERR_SYNTAX, "the cell of %s and %s says '%.*s'\n%s", table->devices[row].title,
                 table->devices[column].title, (int)(word->length < 40 ? word->length : 40), word->text, known_labels);
        goto refused;
    }
    if (self != (row == column)) {
        hop_fail(table->diag, HOP_ERR_SYNTAX, self ? "X stands where %s meets %s" : "no X stands where %s meets %s",
                 table->devices[row].title, table->devices[column].title);
        hop_diag_expect(table->diag,
                        "X where a device meets itself and nowhere else: rows in the order of the columns");
        goto refused;
    }
    if (pair->links > 0 && (table->devices[row].kind != HOP_NODE_GPU || table->devices[column].kind != HOP_NODE_GPU)) {
        hop_fail(table->diag, HOP_ERR_SYNTAX, "NVLink joins %s and %s\nNVLink between GPUs only",
                 table->devices[row].title, table->devices[column].title);
        goto refused;
    }
    pair->line = table->lines.line;
    pair->column = word->column;
    table->old = table->old || hop_word_is(word, "SOC");
    return HOP_OK;
refused:
    hop_lines_place(&table->lines, word->column, table->diag);
    return HOP_ERR_SYNTAX;
}

/* The field-th of the fields that tabs divide, without blanks around it. */
static struct hop_word tab_field(const char *text, const char *end, uint32_t field)
{
    while (field-- > 0 && text < end) {
        const char *tab = memchr(text, '\t', (size_t)(end - text));
        text = tab ? tab + 1 : end;
    }
    const char *stop = memchr(text, '\t', (size_t)(end - text));
    if (!stop)
        stop = end;
    while (text < stop && (unsigned char)*text <= ' ')
        text++;
    while (stop > text && (unsigned char)stop[-1] <= ' ')
        stop--;
    return (struct hop_word){text, (uint32_t)(stop - text), 0};
}

static const char *affinity_text(struct table *table, const struct hop_word *word)
{
    if (word->length == 0 || hop_word_is(word, "N/A"))
        return NULL;
    return hop_arena_string(&table->arena, word->text, word->length);
}

/* What follows the cells of a row. Tabs keep blank fields apart; with spaces the order has to do. */
static void read_affinity(struct table *table, uint32_t row)
{
    const struct hop_lines *lines = &table->lines;
    uint32_t next = 1 + table->relations.count;
    const struct hop_word *last = &lines->words[next - 1];
    const char *rest = last->text + last->length, *end = lines->text + lines->length;
    const char *tab = memchr(rest, '\t', (size_t)(end - rest));
    bool tabs = tab && (next >= lines->count || lines->words[next].text > tab);
    uint32_t field = 0;
    for (unsigned numa = 0; numa < 2; numa++) {
        struct hop_word word = {0};
        if (!(numa ? table->has_numa : table->has_cpu))
            continue;
        if (tabs)
            word = tab_field(tab + 1, end, field);
        else if (next + field < lines->count)
            word = lines->words[next + field];
        *(numa ? &table->numa[row] : &table->cpu[row]) = affinity_text(table, &word);
        if (numa)
            table->devices[row].numa = hop_word_number(&word, "");
        field++;
    }
}

static enum hop_status read_row(struct table *table, uint32_t row)
{
    const struct hop_lines *lines = &table->lines;
    uint32_t columns = table->relations.count;
    if (table->has_row[row]) {
        hop_fail(table->diag, HOP_ERR_SYNTAX, "there is a second row of %s\none row for each of the %u columns",
                 table->devices[row].title, columns);
        hop_lines_place(lines, lines->words[0].column, table->diag);
        return HOP_ERR_SYNTAX;
    }
    table->has_row[row] = true;
    for (uint32_t i = 0; i < columns && i + 1 < lines->count; i++) {
        enum hop_status status = read_cell(table, row, i);
        if (status != HOP_OK)
            return status;
    }
    if (lines->count - 1 < columns || (lines->count - 1 > columns && is_label(&lines->words[columns + 1]) &&
                                       !hop_word_is(&lines->words[columns + 1], "N/A"))) {
        bool fewer = lines->count - 1 < columns;
        hop_fail(table->diag, HOP_ERR_SYNTAX,
                 "the row of %s has %s cells than the header has columns\n%u cells, as the header names %u devices",
                 table->devices[row].title, fewer ? "fewer" : "more", columns, columns);
        hop_lines_place(lines, fewer ? lines->length + 1 : lines->words[columns + 1].column, table->diag);
        return HOP_ERR_SYNTAX;
    }
    read_affinity(table, row);
    return table->arena.failed ? hop_fail_memory(table->diag) : HOP_OK;
}

static uint32_t find_device(const struct table *table, const struct hop_word *title)
{
    for (uint32_t i = 0; i < table->relations.count; i++) {
        if (hop_word_is(title, table->devices[i].title))
            return i;
    }
    return HOP_NONE;
}

static enum hop_status read_rows(struct table *table)
{
    struct hop_lines *lines = &table->lines;
    uint32_t count = table->relations.count;
    for (uint32_t rows = 0; rows < count; rows++) {
        bool more = hop_lines_next(lines);
        uint32_t row = more ? find_device(table, &lines->words[0]) : HOP_NONE;
        if (row == HOP_NONE) {
            uint32_t missing = 0;
            while (table->has_row[missing])
                missing++;
            hop_fail(table->diag, HOP_ERR_SYNTAX, "the row of %s is missing%s\n%u rows, one for each column",
                     table->devices[missing].title, more ? "" : ": the text ends here", count);
            hop_lines_place(lines, more ? lines->words[0].column : lines->length + 1, table->diag);
            return HOP_ERR_SYNTAX;
        }
        enum hop_status status = read_row(table, row);
        if (status != HOP_OK)
            return status;
    }
    return HOP_OK;
}

/* ---- what follows the table ---- */

static enum hop_status read_legends(struct table *table)
{
    struct hop_lines *lines = &table->lines;
    bool nics = false;
    while (hop_lines_next(lines)) {
        struct hop_word title = lines->words[0];
        if (lines->count < 2)
            continue;
        if (header_words(lines) > 0 && table->second_table == 0)
            table->second_table = lines->line;
        if (table->second_table)
            continue;
        table->old = table->old || (hop_word_is(&title, "SOC") && hop_word_is(&lines->words[1], "="));
        nics = nics || (hop_word_is(&title, "NIC") && hop_word_is(&lines->words[1], "Legend:"));
        if (!nics || title.text[title.length - 1] != ':')
            continue;
        title.length--;
        uint32_t device = find_device(table, &title);
        if (device != HOP_NONE && table->devices[device].kind == HOP_NODE_NIC)
            table->devices[device].label = hop_word_copy(&table->arena, &lines->words[1]);
    }
    return table->arena.failed ? hop_fail_memory(table->diag) : HOP_OK;
}

/* NUMA affinity tells more than CPU affinity, but only one of them may be compared. */
static void choose_affinity(struct table *table)
{
    bool numa = true;
    for (uint32_t i = 0; i < table->relations.count; i++)
        numa = numa && (table->numa[i] || table->devices[i].kind != HOP_NODE_GPU);
    for (uint32_t i = 0; i < table->relations.count; i++)
        table->devices[i].affinity = numa ? table->numa[i] : table->cpu[i];
}

static enum hop_status add_notes(const struct table *table, struct hop_topology *topology)
{
    enum hop_status status = HOP_OK;
    if (table->old)
        status = hop_topology_add_note(topology,
                                       "the labels are those of an old driver (SOC, no NODE): PHB may hide that root "
                                       "complexes of one socket differ");
    if (status == HOP_OK && table->second_table)
        status = hop_topology_add_note(topology, "a second table, at line %u, was not read", table->second_table);
    return status;
}

static enum hop_status infer(struct table *table, struct hop_topology **topology)
{
    struct hop_relations *relations = &table->relations;
    static const char *const names[] = {"N/A", "PIX", "PXB", "PHB", "NODE", "SYS"};
    memcpy(relations->relation_names, names, sizeof names);
    if (table->old)
        relations->relation_names[HOP_RELATION_SYS] = "SOC";
    relations->file = table->lines.source->name;
    relations->link_kind = HOP_LINK_NVLINK;
    relations->pcie_generation = table->old ? 3 : 4;
    choose_affinity(table);
    struct hop_topology *built;
    enum hop_status status = hop_relations_infer(relations, &built, table->diag);
    if (status != HOP_OK)
        return status;
    if (add_notes(table, built) != HOP_OK) {
        hop_topology_destroy(built);
        return hop_fail_memory(table->diag);
    }
    *topology = built;
    return HOP_OK;
}

static bool holds(const struct hop_source *source, const char *text)
{
    size_t size = source->size < DETECT_LIMIT ? source->size : DETECT_LIMIT;
    return memmem(source->text, size, text, strlen(text)) != NULL;
}

static enum hop_status read_nvidia_smi(const struct hop_source *source, struct hop_topology **topology,
                                       struct hop_diag *diag)
{
    enum hop_status status;
    struct table *table = calloc(1, sizeof *table);
    if (!table)
        return hop_fail_memory(diag);
    hop_lines_init(&table->lines, source);
    table->diag = diag;
    table->relations.devices = table->devices;
    status = find_header(table);
    if (status != HOP_OK)
        goto done;
    uint32_t count = table->relations.count;
    table->relations.pairs = hop_arena_alloc(&table->arena, (size_t)count * count * sizeof *table->relations.pairs);
    status = table->arena.failed ? hop_fail_memory(diag) : read_rows(table);
    if (status == HOP_OK)
        status = read_legends(table);
    if (status == HOP_OK)
        status = infer(table, topology);
done:
    hop_arena_finish(&table->arena);
    free(table);
    return status;
}

static bool detect_nvidia_smi(const struct hop_source *source)
{
    struct hop_source head = {source->name, source->text, source->size < DETECT_LIMIT ? source->size : DETECT_LIMIT};
    bool found = holds(source, "nvidia-smi topo");
    struct hop_lines *lines = found ? NULL : malloc(sizeof *lines);
    if (!lines)
        return found;
    hop_lines_init(lines, &head);
    while (!found && hop_lines_next(lines))
        found = header_words(lines) > 0 ||
                (lines->count > 1 && hop_word_number(&lines->words[0], "GPU") >= 0 && is_label(&lines->words[1]));
    free(lines);
    return found;
}

const struct hop_importer hop_importer_nvidia_smi = {"nvidia-smi", "the table of `nvidia-smi topo -m`",
                                                     detect_nvidia_smi, read_nvidia_smi};
