/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the table of `nvidia-smi topo -m` in all its dialects, in whatever text stands around it; infer.c makes a tree
 * of it.
 *
 *             GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity   the header: may be coloured, or run together
 *     GPU0     X      NV4     PIX     0-31            0                a row per column, X on the diagonal
 *
 * Relations and NVLinks are trusted; PCIe speeds are not said and assumed, and affinity only helps where NVLink hides
 * a relation. Old drivers have no legend of NICs and call SYS SOC.
 */
#include "import/importer.h"
#include "import/infer.h"
#include "import/lines.h"

#include <stdio.h>

struct table {
    struct hop_lines lines;
    struct hop_build *build;
    struct hop_relations relations;
    struct hop_related devices[HOP_RELATIONS_LIMIT];
    const char *cpu[HOP_RELATIONS_LIMIT], *numa[HOP_RELATIONS_LIMIT]; /* affinity as written, NULL: blank */
    bool has_row[HOP_RELATIONS_LIMIT];
    bool has_cpu, has_numa; /* affinity columns */
    bool old;               /* the SOC dialect */
    uint32_t second_table;  /* line, 0: none */
};

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

static uint32_t find_device(const struct table *table, const struct hop_word *title)
{
    for (uint32_t i = 0; i < table->relations.count; i++) {
        if (hop_word_is(title, table->devices[i].title))
            return i;
    }
    return HOP_NONE;
}

static void add_device(struct table *table, const struct hop_word *name)
{
    uint32_t i = table->relations.count, nics = 0;
    int gpu = hop_word_number(name, "GPU");
    if (i == HOP_RELATIONS_LIMIT) {
        hop_lines_refuse(&table->lines, HOP_ERR_LIMIT, name->column, "the table has too many devices\nat most %u",
                         HOP_RELATIONS_LIMIT);
        return;
    }
    if (find_device(table, name) != HOP_NONE)
        hop_lines_refuse(&table->lines, HOP_ERR_SYNTAX, name->column,
                         "two columns are called %.*s\none column for each device", HOP_WORD_SHOWN(name));
    for (uint32_t k = 0; k < i; k++)
        nics += table->devices[k].kind == HOP_NODE_NIC;
    table->devices[i] = (struct hop_related){
        .kind = gpu >= 0 ? HOP_NODE_GPU : HOP_NODE_NIC,
        .numa = -1,
        .title = hop_build_text(table->build, "%.*s", (int)(name->length < 63 ? name->length : 63), name->text),
        .name = gpu >= 0 ? hop_build_text(table->build, "gpu%d", gpu) : hop_build_text(table->build, "nic%u", nics)};
    if (hop_word_number(name, "NIC") < 0 && gpu < 0)
        table->devices[i].label = table->devices[i].title;
    table->relations.count++;
}

static void read_header(struct table *table, uint32_t words)
{
    for (uint32_t i = 0; i < words; i++) {
        struct hop_word rest = table->lines.words[i];
        while (rest.length > 0 && hop_build_ok(table->build)) {
            struct hop_word name = first_name(&rest);
            add_device(table, &name);
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
}

static bool is_row(const struct hop_lines *lines)
{
    return lines->count > 1 && hop_word_number(&lines->words[0], "GPU") >= 0 && is_label(&lines->words[1]);
}

static void find_header(struct table *table)
{
    struct hop_lines *lines = &table->lines;
    while (hop_lines_next(lines)) {
        uint32_t words = header_words(lines);
        if (words > 0) {
            read_header(table, words);
            return;
        }
        if (is_row(lines))
            hop_lines_refuse(lines, HOP_ERR_SYNTAX, lines->words[0].column,
                             "a row stands before the header line of the table\nthe whole output of `nvidia-smi topo "
                             "-m`, its first line with GPU0, GPU1, ... included");
    }
    hop_lines_refuse(lines, HOP_ERR_SYNTAX, 1,
                     "there is no table here\nthe output of `nvidia-smi topo -m`: a line with GPU0, GPU1, ..., then a "
                     "row for each device");
}

/* ---- rows ---- */

static void read_cell(struct table *table, uint32_t row, uint32_t column)
{
    const struct hop_word *word = &table->lines.words[1 + column];
    const char *here = table->devices[row].title, *there = table->devices[column].title;
    struct hop_pair *pair = &table->relations.pairs[(size_t)row * table->relations.count + column];
    bool self, known = parse_label(word, pair, &self);
    if (!known)
        hop_lines_refuse(
            &table->lines, HOP_ERR_SYNTAX, word->column,
            "the cell of %s and %s says '%.*s'\nX, PIX, PXB, PHB, NODE, SYS (SOC in old drivers), NV and a "
            "number of links, or N/A",
            here, there, HOP_WORD_SHOWN(word));
    if (self != (row == column))
        hop_lines_refuse(
            &table->lines, HOP_ERR_SYNTAX, word->column,
            "%s stands where %s meets %s\nX where a device meets itself and nowhere else: rows in the order "
            "of the columns",
            self ? "X" : "no X", here, there);
    if (pair->links > 0 && (table->devices[row].kind != HOP_NODE_GPU || table->devices[column].kind != HOP_NODE_GPU))
        hop_lines_refuse(&table->lines, HOP_ERR_SYNTAX, word->column,
                         "NVLink joins %s and %s\nNVLink between GPUs only", here, there);
    pair->line = table->lines.line;
    pair->column = word->column;
    table->old = table->old || hop_word_is(word, "SOC");
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
    return hop_build_text(table->build, "%.*s", (int)word->length, word->text);
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

static void read_row(struct table *table, uint32_t row)
{
    const struct hop_lines *lines = &table->lines;
    uint32_t columns = table->relations.count, cells = lines->count - 1;
    const struct hop_word *extra = &lines->words[columns + 1];
    if (table->has_row[row])
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, lines->words[0].column,
                         "there is a second row of %s\none row for each of the %u columns", table->devices[row].title,
                         columns);
    table->has_row[row] = true;
    for (uint32_t i = 0; i < columns && i < cells; i++)
        read_cell(table, row, i);
    bool more = cells > columns && is_label(extra) && !hop_word_is(extra, "N/A");
    if (cells < columns || more)
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, more ? extra->column : lines->length + 1,
                         "the row of %s has %s cells than the header has columns\n%u cells, as the header names %u "
                         "devices",
                         table->devices[row].title, more ? "more" : "fewer", columns, columns);
    if (hop_build_ok(table->build))
        read_affinity(table, row);
}

static void read_rows(struct table *table)
{
    struct hop_lines *lines = &table->lines;
    uint32_t count = table->relations.count, missing = 0;
    table->relations.pairs = hop_build_alloc(table->build, (size_t)count * count * sizeof *table->relations.pairs);
    for (uint32_t rows = 0; rows < count && hop_build_ok(table->build); rows++) {
        bool more = hop_lines_next(lines);
        uint32_t row = more ? find_device(table, &lines->words[0]) : HOP_NONE;
        if (row != HOP_NONE) {
            read_row(table, row);
            continue;
        }
        while (table->has_row[missing])
            missing++;
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, hop_lines_column(lines, more),
                         "the row of %s is missing%s\n%u rows, one for each column", table->devices[missing].title,
                         more ? "" : ": the text ends here", count);
    }
}

/* ---- what follows the table ---- */

static void read_legends(struct table *table)
{
    struct hop_lines *lines = &table->lines;
    bool nics = false;
    while (hop_lines_next(lines)) {
        struct hop_word title = lines->words[0];
        const struct hop_word *second = &lines->words[1];
        if (lines->count < 2)
            continue;
        if (header_words(lines) > 0 && table->second_table == 0)
            table->second_table = lines->line;
        if (table->second_table)
            continue;
        table->old = table->old || (hop_word_is(&title, "SOC") && hop_word_is(second, "="));
        nics = nics || (hop_word_is(&title, "NIC") && hop_word_is(second, "Legend:"));
        if (!nics || title.text[title.length - 1] != ':')
            continue;
        title.length--;
        uint32_t device = find_device(table, &title);
        if (device != HOP_NONE && table->devices[device].kind == HOP_NODE_NIC)
            table->devices[device].label =
                hop_build_text(table->build, "%.*s", (int)(second->length < 63 ? second->length : 63), second->text);
    }
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

static void infer(struct table *table)
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
    hop_relations_read_names(relations, table->lines.source, table->build);
    hop_relations_infer(relations, table->build);
    if (table->old)
        hop_build_note(table->build, "the labels are those of an old driver (SOC, no NODE): PHB may hide that root "
                                     "complexes of one socket differ");
    if (table->second_table)
        hop_build_note(table->build, "a second table, at line %u, was not read", table->second_table);
}

static void read_nvidia_smi(const struct hop_source *source, struct hop_build *build)
{
    static void (*const steps[])(struct table *) = {find_header, read_rows, read_legends, infer};
    struct table *table = hop_build_alloc(build, sizeof *table);
    if (!table)
        return;
    hop_lines_init(&table->lines, source);
    table->lines.failure = &build->failure;
    table->build = build;
    table->relations.devices = table->devices;
    for (size_t i = 0; i < HOP_COUNT(steps) && hop_build_ok(build); i++)
        steps[i](table);
}

static bool detect_nvidia_smi(const struct hop_source *source)
{
    struct hop_source head = {source->name, source->text, source->size < 65536 ? source->size : 65536};
    struct hop_lines lines;
    bool found = false;
    hop_lines_init(&lines, &head);
    while (!found && hop_lines_next(&lines))
        found = header_words(&lines) > 0 || is_row(&lines);
    return found;
}

const struct hop_importer hop_importer_nvidia_smi = {
    .marks = {"nvidia-smi topo"}, .detect = detect_nvidia_smi, .read = read_nvidia_smi};
