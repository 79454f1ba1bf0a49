/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the output of `rocm-smi --showtopo`; infer.c makes a tree of it.
 *
 *     ==== Weight between two GPUs ====          optional: 15 for each xGMI link on the way
 *            GPU0         GPU1                   the header and the rows are alike in all three blocks
 *     GPU0   0            15
 *     GPU1   15           0
 *     ==== Hops between two GPUs ====            optional: 1 over xGMI, 2 within a NUMA node, 3 between two
 *     ==== Link Type between two GPUs ====       PCIE or XGMI
 *     ==== Numa Nodes ====                       optional
 *     GPU[0]  : (Topology) Numa Node: 0
 *
 * The hops are 1 for any two GPUs of an xGMI hive, joined directly or not; only the weight tells these apart. (AMD,
 * MI200 system optimization; amdkfd topology.)
 */
#include "import/infer.h"
#include "import/smi_text.h"

#include <stdio.h>

#define DETECT_LIMIT ((size_t)64 << 10)
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
    struct hop_diag *diag;
    struct hop_arena arena;
    struct hop_relations relations;
    struct hop_related devices[HOP_RELATIONS_LIMIT];
    struct measure *measures; /* count x count */
    bool seen[BLOCKS];
    uint32_t distant; /* pairs of a hive without a link of their own */
};

static enum hop_status refuse(struct listing *listing, uint32_t column, enum hop_status status)
{
    hop_lines_place(&listing->lines, column, listing->diag);
    return status;
}

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

static enum hop_status add_device(struct listing *listing, const struct hop_word *word)
{
    uint32_t i = listing->relations.count;
    char name[32];
    int number = hop_word_number(word, "GPU");
    if (i == HOP_RELATIONS_LIMIT) {
        hop_fail(listing->diag, HOP_ERR_LIMIT, "the table has too many devices\nat most %u", HOP_RELATIONS_LIMIT);
        return refuse(listing, word->column, HOP_ERR_LIMIT);
    }
    bool twice = false;
    for (uint32_t k = 0; k < i; k++)
        twice = twice || hop_word_is(word, listing->devices[k].title);
    if (number < 0 || twice) {
        hop_fail(listing->diag, HOP_ERR_SYNTAX, twice ? "two columns are called '%.*s'" : "a column is called '%.*s'",
                 (int)(word->length < 40 ? word->length : 40), word->text);
        hop_diag_expect(listing->diag, "GPU0, GPU1, ...");
        return refuse(listing, word->column, HOP_ERR_SYNTAX);
    }
    (void)snprintf(name, sizeof name, "gpu%d", number);
    listing->devices[i] = (struct hop_related){.kind = HOP_NODE_GPU, .numa = -1};
    listing->devices[i].title = hop_word_copy(&listing->arena, word);
    listing->devices[i].name = hop_arena_string(&listing->arena, name, strlen(name));
    listing->relations.count++;
    return listing->arena.failed ? hop_fail_memory(listing->diag) : HOP_OK;
}

/* The first header names the devices, later ones must name the same. */
static enum hop_status read_header(struct listing *listing)
{
    const struct hop_lines *lines = &listing->lines;
    enum hop_status status = HOP_OK;
    uint32_t *count = &listing->relations.count;
    if (*count == 0) {
        for (uint32_t i = 0; i < lines->count && status == HOP_OK; i++)
            status = add_device(listing, &lines->words[i]);
        listing->measures = hop_arena_alloc(&listing->arena, (size_t)*count * *count * sizeof *listing->measures);
        if (status == HOP_OK && !listing->measures)
            status = hop_fail_memory(listing->diag);
        for (size_t i = 0; status == HOP_OK && i < (size_t)*count * *count; i++)
            listing->measures[i] = (struct measure){.weight = -1, .hops = -1};
        return status;
    }
    bool same = lines->count == *count;
    for (uint32_t i = 0; same && i < *count; i++)
        same = hop_word_is(&lines->words[i], listing->devices[i].title);
    if (same)
        return HOP_OK;
    hop_fail(listing->diag, HOP_ERR_SYNTAX,
             "the columns differ from those of the block before\nthe same %u GPUs in every block", *count);
    return refuse(listing, lines->words[0].column, HOP_ERR_SYNTAX);
}

static enum hop_status read_cell(struct listing *listing, enum block block, uint32_t row, uint32_t column)
{
    const struct hop_word *word = &listing->lines.words[column + 1];
    struct measure *measure = &listing->measures[(size_t)row * listing->relations.count + column];
    int number = hop_word_number(word, "");
    bool xgmi = hop_word_is(word, "XGMI"),
         known = block == LINK_TYPE ? xgmi || hop_word_is(word, "PCIE") : number >= 0 || hop_word_is(word, "N/A");
    if (row == column ? number != 0 : !known) {
        hop_fail(listing->diag, HOP_ERR_SYNTAX, "the cell of %s and %s says '%.*s'\n%s", listing->devices[row].title,
                 listing->devices[column].title, (int)(word->length < 40 ? word->length : 40), word->text,
                 row == column        ? "0 where a GPU meets itself"
                 : block == LINK_TYPE ? "PCIE or XGMI"
                                      : "a number, or N/A");
        return refuse(listing, word->column, HOP_ERR_SYNTAX);
    }
    if (block == WEIGHT)
        measure->weight = number;
    if (block == HOPS)
        measure->hops = number;
    if (block == LINK_TYPE)
        measure->xgmi = xgmi;
    measure->line = listing->lines.line; /* the last block is the link type, which stays */
    measure->column = word->column;
    return HOP_OK;
}

static enum hop_status read_block(struct listing *listing, enum block block)
{
    struct hop_lines *lines = &listing->lines;
    uint32_t row = 0;
    if (listing->seen[block]) {
        hop_fail(listing->diag, HOP_ERR_SYNTAX,
                 "there is a second block of this kind\nthe output of one `rocm-smi --showtopo`");
        return refuse(listing, lines->words[0].column, HOP_ERR_SYNTAX);
    }
    listing->seen[block] = true;
    bool more = hop_lines_next(lines);
    enum hop_status status = HOP_OK;
    if (more) {
        status = read_header(listing);
        more = status == HOP_OK && hop_lines_next(lines);
    }
    for (; more && status == HOP_OK && row < listing->relations.count; row++) {
        if (!hop_word_is(&lines->words[0], listing->devices[row].title))
            break;
        uint32_t column = 0;
        for (; status == HOP_OK && column < listing->relations.count && column + 1 < lines->count; column++)
            status = read_cell(listing, block, row, column);
        if (status == HOP_OK && lines->count != listing->relations.count + 1) {
            hop_fail(listing->diag, HOP_ERR_SYNTAX, "the row of %s has %u cells\n%u cells, as the header names %u GPUs",
                     listing->devices[row].title, lines->count - 1, listing->relations.count, listing->relations.count);
            return refuse(listing, column + 1 < lines->count ? lines->words[column + 1].column : lines->length + 1,
                          HOP_ERR_SYNTAX);
        }
        if (row + 1 < listing->relations.count)
            more = hop_lines_next(lines);
    }
    if (status != HOP_OK || (listing->relations.count > 0 && row == listing->relations.count))
        return status;
    hop_fail(listing->diag, HOP_ERR_SYNTAX, "%s is missing%s",
             listing->relations.count == 0 ? "the header line" : "a row", more ? "" : ": the text ends here");
    if (listing->relations.count > 0)
        hop_diag_expect(listing->diag, "the row of %s, one row for each of %u GPUs", listing->devices[row].title,
                        listing->relations.count);
    else
        hop_diag_expect(listing->diag, "a line with GPU0, GPU1, ...");
    return refuse(listing, more ? lines->words[0].column : lines->length + 1, HOP_ERR_SYNTAX);
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

static enum hop_status read_text(struct listing *listing)
{
    struct hop_lines *lines = &listing->lines;
    while (hop_lines_next(lines)) {
        enum block block = title_of(lines);
        enum hop_status status = HOP_OK;
        if (block != BLOCKS)
            status = read_block(listing, block);
        else
            read_numa(listing);
        if (status != HOP_OK)
            return status;
    }
    if (listing->seen[LINK_TYPE])
        return HOP_OK;
    hop_fail(listing->diag, HOP_ERR_SYNTAX,
             "the block of link types is missing\nthe whole output of `rocm-smi --showtopo`, with 'Link Type between "
             "two GPUs'");
    return refuse(listing, lines->length + 1, HOP_ERR_SYNTAX);
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
    for (uint32_t i = 0; i < n; i++) {
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

static enum hop_status add_notes(const struct listing *listing, struct hop_topology *topology)
{
    enum hop_status status = HOP_OK;
    uint32_t links = 0, unknown = 0, n = listing->relations.count;
    for (uint32_t i = 0; i < n; i++) {
        unknown += listing->devices[i].numa < 0;
        for (uint32_t j = i + 1; j < n; j++)
            links += listing->relations.pairs[(size_t)i * n + j].links > 0;
    }
    if (links > 0)
        status =
            hop_topology_add_note(topology, "xGMI generation and bonded links are not said: one link for each pair, at "
                                            "parameter xgmi_gfx90a (--set xgmi_gfx90a=48GB/s for MI300)");
    if (status == HOP_OK && listing->distant > 0)
        status = hop_topology_add_note(topology,
                                       "%u pairs of an xGMI hive have no link of their own (weight above %d): their "
                                       "transfers are routed over PCIe here",
                                       listing->distant, XGMI_WEIGHT);
    if (status == HOP_OK && unknown > 0)
        status = hop_topology_add_note(topology, "NUMA nodes are not said for %u GPUs: %s", unknown,
                                       listing->seen[HOPS]
                                           ? "PCIE pairs of 3 hops and more are taken as different NUMA nodes"
                                           : "one root complex is assumed");
    if (status == HOP_OK)
        status = hop_topology_add_note(topology,
                                       "the listing does not show PCIe switches: GPUs of a NUMA node are taken to have "
                                       "root ports of their own");
    return status;
}

static enum hop_status infer(struct listing *listing, struct hop_topology **topology)
{
    struct hop_relations *relations = &listing->relations;
    static const char *const names[] = {"XGMI", "PCIE", "PCIE", "of one NUMA node", "PCIE", "of different NUMA nodes"};
    memcpy(relations->relation_names, names, sizeof names);
    relations->file = listing->lines.source->name;
    relations->link_kind = HOP_LINK_XGMI;
    relations->pcie_generation = 4;
    relations->pairs =
        hop_arena_alloc(&listing->arena, (size_t)relations->count * relations->count * sizeof *relations->pairs);
    if (!relations->pairs)
        return hop_fail_memory(listing->diag);
    relate(listing);
    struct hop_topology *built;
    enum hop_status status = hop_relations_infer(relations, &built, listing->diag);
    if (status != HOP_OK)
        return status;
    if (add_notes(listing, built) != HOP_OK) {
        hop_topology_destroy(built);
        return hop_fail_memory(listing->diag);
    }
    *topology = built;
    return HOP_OK;
}

static enum hop_status read_rocm_smi(const struct hop_source *source, struct hop_topology **topology,
                                     struct hop_diag *diag)
{
    struct listing *listing = calloc(1, sizeof *listing);
    if (!listing)
        return hop_fail_memory(diag);
    hop_lines_init(&listing->lines, source);
    listing->diag = diag;
    listing->relations.devices = listing->devices;
    enum hop_status status = read_text(listing);
    if (status == HOP_OK)
        status = infer(listing, topology);
    hop_arena_finish(&listing->arena);
    free(listing);
    return status;
}

static bool detect_rocm_smi(const struct hop_source *source)
{
    size_t size = source->size < DETECT_LIMIT ? source->size : DETECT_LIMIT;
    static const char *const marks[] = {"Weight between two GPUs", "Hops between two GPUs",
                                        "Link Type between two GPUs", "ROCm System Management Interface"};
    for (size_t i = 0; i < HOP_COUNT(marks); i++) {
        if (memmem(source->text, size, marks[i], strlen(marks[i])))
            return true;
    }
    return false;
}

const struct hop_importer hop_importer_rocm_smi = {"rocm-smi", "the output of `rocm-smi --showtopo`", detect_rocm_smi,
                                                   read_rocm_smi};
