/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the output of `rocm-smi --showtopo`, blocks of weights, hops and link types between GPUs and a list of their
 * NUMA nodes; infer.c makes a tree of it. Link types and NUMA nodes are trusted. Hops are 1 for any two GPUs of an
 * xGMI hive, so that only the weight, 15 for each link on the way, tells whether they are joined; switches are not
 * shown. (AMD, MI200 system optimization; amdkfd topology.)
 */
#include "import/importer.h"
#include "import/infer.h"
#include "import/lines.h"

#include <stdio.h>

#define XGMI_WEIGHT 15 /* of one xGMI link */

enum block { WEIGHT, HOPS, LINK_TYPE, BLOCKS };
static const char *const block_words[BLOCKS] = {"Weight", "Hops", "Link"};

struct measure {
    int weight, hops; /* -1: not said */
    bool xgmi;
    uint32_t line, column;
};

struct listing {
    struct hop_lines lines;
    struct hop_build *build;
    struct hop_relations relations;
    struct hop_related devices[HOP_RELATIONS_LIMIT];
    struct measure *measures; /* count x count */
    bool seen[BLOCKS];
    uint32_t distant; /* pairs of a hive without a link of their own */
};

/* The block that a title line opens, BLOCKS: none. */
static enum block title_of(const struct hop_lines *lines)
{
    for (uint32_t i = 0; i + 3 < lines->count; i++) {
        uint32_t between = hop_word_is(&lines->words[i], "Link") ? i + 2 : i + 1;
        for (unsigned b = 0; b < BLOCKS; b++) {
            if (hop_word_is(&lines->words[i], block_words[b]) && hop_word_is(&lines->words[between], "between"))
                return (enum block)b;
        }
    }
    return BLOCKS;
}

static void add_device(struct listing *listing, const struct hop_word *word)
{
    uint32_t i = listing->relations.count;
    int number = hop_word_number(word, "GPU");
    if (i == HOP_RELATIONS_LIMIT) {
        hop_lines_refuse(&listing->lines, HOP_ERR_LIMIT, word->column, "the table has too many devices\nat most %u",
                         HOP_RELATIONS_LIMIT);
        return;
    }
    bool twice = false;
    for (uint32_t k = 0; k < i; k++)
        twice = twice || hop_word_is(word, listing->devices[k].title);
    if (number < 0 || twice)
        hop_lines_refuse(&listing->lines, HOP_ERR_SYNTAX, word->column, "%s called '%.*s'\nGPU0, GPU1, ...",
                         twice ? "two columns are" : "a column is", HOP_WORD_SHOWN(word));
    listing->devices[i] = (struct hop_related){.kind = HOP_NODE_GPU,
                                               .numa = -1,
                                               .title = hop_build_text(listing->build, "GPU%d", number),
                                               .name = hop_build_text(listing->build, "gpu%d", number)};
    listing->relations.count++;
}

/* The first header names the devices, later ones must name the same. */
static void read_header(struct listing *listing)
{
    const struct hop_lines *lines = &listing->lines;
    uint32_t *count = &listing->relations.count;
    if (*count == 0) {
        for (uint32_t i = 0; i < lines->count && hop_build_ok(listing->build); i++)
            add_device(listing, &lines->words[i]);
        size_t cells = (size_t)*count * *count;
        listing->measures = hop_build_alloc(listing->build, cells * sizeof *listing->measures);
        for (size_t i = 0; listing->measures && i < cells; i++)
            listing->measures[i] = (struct measure){.weight = -1, .hops = -1};
        return;
    }
    bool same = lines->count == *count;
    for (uint32_t i = 0; same && i < *count; i++)
        same = hop_word_is(&lines->words[i], listing->devices[i].title);
    if (!same)
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, lines->words[0].column,
                         "the columns differ from those of the block before\nthe same %u GPUs in every block", *count);
}

static void read_cell(struct listing *listing, enum block block, uint32_t row, uint32_t column)
{
    const struct hop_word *word = &listing->lines.words[column + 1];
    struct measure *measure = &listing->measures[(size_t)row * listing->relations.count + column];
    int number = hop_word_number(word, "");
    bool xgmi = hop_word_is(word, "XGMI"),
         known = block == LINK_TYPE ? xgmi || hop_word_is(word, "PCIE") : number >= 0 || hop_word_is(word, "N/A");
    if (row == column ? number != 0 : !known)
        hop_lines_refuse(&listing->lines, HOP_ERR_SYNTAX, word->column, "the cell of %s and %s says '%.*s'\n%s",
                         listing->devices[row].title, listing->devices[column].title, HOP_WORD_SHOWN(word),
                         row == column        ? "0 where a GPU meets itself"
                         : block == LINK_TYPE ? "PCIE or XGMI"
                                              : "a number, or N/A");
    if (block == WEIGHT)
        measure->weight = number;
    if (block == HOPS)
        measure->hops = number;
    if (block == LINK_TYPE)
        measure->xgmi = xgmi;
    measure->line = listing->lines.line; /* the last block is the link type, which stays */
    measure->column = word->column;
}

static void read_row(struct listing *listing, enum block block, uint32_t row)
{
    const struct hop_lines *lines = &listing->lines;
    uint32_t count = listing->relations.count, cells = lines->count - 1;
    for (uint32_t column = 0; column < count && column < cells; column++)
        read_cell(listing, block, row, column);
    if (cells != count)
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, cells > count ? lines->words[count + 1].column : lines->length + 1,
                         "the row of %s has %u cells\n%u cells, as the header names %u GPUs",
                         listing->devices[row].title, cells, count, count);
}

static void read_block(struct listing *listing, enum block block)
{
    struct hop_lines *lines = &listing->lines;
    uint32_t row = 0, *count = &listing->relations.count;
    if (listing->seen[block])
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, lines->words[0].column,
                         "there is a second block of this kind\nthe output of one `rocm-smi --showtopo`");
    listing->seen[block] = true;
    bool more = hop_lines_next(lines);
    if (more)
        read_header(listing);
    while (more && row < *count && (more = hop_lines_next(lines)) &&
           hop_word_is(&lines->words[0], listing->devices[row].title))
        read_row(listing, block, row++);
    if (*count == 0)
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, hop_lines_column(lines, more),
                         "the header line is missing%s\na line with GPU0, GPU1, ...",
                         more ? "" : ": the text ends here");
    else if (row < *count)
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, hop_lines_column(lines, more),
                         "a row is missing%s\nthe row of %s, one row for each of %u GPUs",
                         more ? "" : ": the text ends here", listing->devices[row].title, *count);
}

/* "GPU[3]  : (Topology) Numa Node: 1", "GPU 3 : (Topology) Numa Node: 1"; anything else is not for us. */
static void read_numa(struct listing *listing)
{
    const struct hop_lines *lines = &listing->lines;
    uint32_t count = lines->count;
    if (count < 5 || lines->words[0].length < 3 || memcmp(lines->words[0].text, "GPU", 3) != 0 ||
        !hop_word_is(&lines->words[count - 3], "Numa") || !hop_word_is(&lines->words[count - 2], "Node:"))
        return;
    struct hop_word number = lines->words[0].length > 3 ? lines->words[0] : lines->words[1];
    if (number.text[number.length - 1] == ']')
        number.length--;
    int gpu = hop_word_number(&number, lines->words[0].length > 3 ? "GPU[" : "");
    int numa = hop_word_number(&lines->words[count - 1], "");
    for (uint32_t i = 0; i < listing->relations.count; i++) {
        struct hop_word title = {listing->devices[i].title, (uint32_t)strlen(listing->devices[i].title), 0};
        if (gpu >= 0 && hop_word_number(&title, "GPU") == gpu)
            listing->devices[i].numa = numa;
    }
}

static void read_text(struct listing *listing)
{
    struct hop_lines *lines = &listing->lines;
    while (hop_lines_next(lines)) {
        enum block block = title_of(lines);
        if (block != BLOCKS)
            read_block(listing, block);
        else
            read_numa(listing);
    }
    if (!listing->seen[LINK_TYPE])
        hop_lines_refuse(
            lines, HOP_ERR_SYNTAX, lines->length + 1,
            "the block of link types is missing\nthe whole output of `rocm-smi --showtopo`, with 'Link Type "
            "between two GPUs'");
}

/* ---- meaning ---- */

static enum hop_relation relation_of(const struct listing *listing, uint32_t i, uint32_t j,
                                     const struct measure *measure)
{
    int mine = listing->devices[i].numa, other = listing->devices[j].numa;
    if (mine >= 0 && other >= 0)
        return mine == other ? HOP_RELATION_PHB : HOP_RELATION_SYS;
    if (measure->xgmi)
        return HOP_RELATION_UNKNOWN;
    return measure->hops > 2 ? HOP_RELATION_SYS : HOP_RELATION_PHB;
}

static void relate(struct listing *listing)
{
    uint32_t n = listing->relations.count;
    listing->relations.pairs = hop_build_alloc(listing->build, (size_t)n * n * sizeof *listing->relations.pairs);
    for (uint32_t i = 0; listing->relations.pairs && i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            const struct measure *measure = &listing->measures[(size_t)i * n + j];
            struct hop_pair *pair = &listing->relations.pairs[(size_t)i * n + j];
            if (i == j)
                continue;
            pair->relation = (uint8_t)relation_of(listing, i, j, measure);
            pair->links = measure->xgmi && measure->hops <= 1 && measure->weight <= XGMI_WEIGHT;
            pair->line = measure->line;
            pair->column = measure->column;
            listing->distant += i < j && measure->xgmi && pair->links == 0;
        }
    }
}

static void add_notes(struct listing *listing)
{
    uint32_t links = 0, unknown = 0, n = listing->relations.count;
    for (uint32_t i = 0; i < n; i++) {
        unknown += listing->devices[i].numa < 0;
        for (uint32_t j = i + 1; j < n; j++)
            links += listing->relations.pairs[(size_t)i * n + j].links > 0;
    }
    if (links > 0 && !listing->build->gpu && !listing->devices[0].label)
        hop_build_note(listing->build, "xGMI generation and bonded links are not said: one link for each pair, at "
                                       "parameter xgmi_gfx90a (--set xgmi_gfx90a=48GB/s for MI300)");
    if (listing->distant > 0)
        hop_build_note(
            listing->build,
            "%u pairs of an xGMI hive have no link of their own (weight above %d): their transfers are routed "
            "over PCIe here",
            listing->distant, XGMI_WEIGHT);
    if (unknown > 0)
        hop_build_note(listing->build, "NUMA nodes are not said for %u GPUs: %s", unknown,
                       listing->seen[HOPS] ? "PCIE pairs of 3 hops and more are taken as different NUMA nodes"
                                           : "one root complex is assumed");
    hop_build_note(listing->build, "the listing does not show PCIe switches: GPUs of a NUMA node are taken to have "
                                   "root ports of their own");
}

static void infer(struct listing *listing)
{
    struct hop_relations *relations = &listing->relations;
    static const char *const names[] = {"XGMI", "PCIE", "PCIE", "of one NUMA node", "PCIE", "of different NUMA nodes"};
    memcpy(relations->relation_names, names, sizeof names);
    relations->file = listing->lines.source->name;
    relations->link_kind = HOP_LINK_XGMI;
    relations->pcie_generation = 4;
    hop_relations_read_names(relations, listing->lines.source, listing->build);
    hop_relations_infer(relations, listing->build);
}

static void read_rocm_smi(const struct hop_source *source, struct hop_build *build)
{
    static void (*const steps[])(struct listing *) = {read_text, relate, infer, add_notes};
    struct listing *listing = hop_build_alloc(build, sizeof *listing);
    if (!listing)
        return;
    hop_lines_init(&listing->lines, source);
    listing->lines.failure = &build->failure;
    listing->build = build;
    listing->relations.devices = listing->devices;
    for (size_t i = 0; i < HOP_COUNT(steps) && hop_build_ok(build); i++)
        steps[i](listing);
}

const struct hop_importer hop_importer_rocm_smi = {.marks = {"Weight between two GPUs", "Hops between two GPUs",
                                                             "Link Type between two GPUs",
                                                             "ROCm System Management Interface"},
                                                   .read = read_rocm_smi};
