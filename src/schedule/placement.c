/* SPDX-License-Identifier: BSD-3-Clause */
/* Placements: read, made from a topology, applied to a schedule. */
#include "hopcast/placement.h"

#include "schedule/schedule.h"

#include <stdio.h>

#define PLACEMENT_RANK_LIMIT (1u << 20)

struct hop_placement {
    struct hop_arena arena;
    const char **devices; /* by rank, NULL while it is not known */
    uint32_t *lines;      /* by rank: where it was read */
    uint32_t count, capacity, line_capacity;
    const char *name; /* of the file, NULL: it was made */
};

void hop_placement_destroy(struct hop_placement *placement)
{
    if (!placement)
        return;
    free(placement->devices);
    free(placement->lines);
    hop_arena_finish(&placement->arena);
    free(placement);
}

uint32_t hop_placement_count(const struct hop_placement *placement)
{
    return placement->count;
}

const char *hop_placement_device(const struct hop_placement *placement, uint32_t rank)
{
    return placement->devices[rank];
}

static bool set(struct hop_placement *placement, uint32_t rank, const char *device, size_t length, uint32_t line)
{
    if (!hop_grow(&placement->devices, &placement->capacity, rank + 1, sizeof *placement->devices) ||
        !hop_grow(&placement->lines, &placement->line_capacity, rank + 1, sizeof *placement->lines))
        return false;
    for (; placement->count <= rank; placement->count++) {
        placement->devices[placement->count] = NULL;
        placement->lines[placement->count] = 0;
    }
    placement->lines[rank] = line;
    return (placement->devices[rank] = hop_arena_string(&placement->arena, device, length)) != NULL;
}

/* ---- reading ---- */

struct reader {
    const struct hop_source *source;
    struct hop_placement *placement;
    struct hop_diag *diag;
    uint32_t line;
    const char *start, *end; /* of the line, without its comment */
};

static enum hop_status at(const struct reader *r, const char *where, enum hop_status status)
{
    hop_diag_place(r->diag, "%s:%u:%u", r->source->name, r->line, (unsigned)(where - r->start) + 1);
    return status;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of the line from *next on; false: none is left. */
static bool next_word(const struct reader *r, const char **next, const char **word, size_t *length)
{
    const char *c = *next;
    while (c < r->end && is_blank(*c))
        c++;
    *word = c;
    while (c < r->end && !is_blank(*c))
        c++;
    *length = (size_t)(c - *word);
    *next = c;
    return *length > 0;
}

static enum hop_status read_rank(const struct reader *r, const char *word, size_t length, uint32_t *rank)
{
    uint32_t value = 0;
    bool digits = true;
    for (size_t i = 0; i < length && digits; i++) {
        digits = word[i] >= '0' && word[i] <= '9';
        value = value < PLACEMENT_RANK_LIMIT ? value * 10 + (uint32_t)(word[i] - '0') : value;
    }
    if (digits && value < PLACEMENT_RANK_LIMIT) {
        *rank = value;
        return HOP_OK;
    }
    enum hop_status status = digits ? HOP_ERR_LIMIT : HOP_ERR_SYNTAX;
    hop_fail(r->diag, status, "'%.*s' is no rank\na line such as '0 node0.gpu0', the rank up to %u",
             (int)(length < 40 ? length : 40), word, PLACEMENT_RANK_LIMIT - 1);
    return at(r, word, status);
}

static enum hop_status read_line(struct reader *r)
{
    const char *next = r->start, *word, *device, *extra;
    size_t length, device_length, extra_length;
    uint32_t rank = 0;
    if (!next_word(r, &next, &word, &length))
        return HOP_OK;
    enum hop_status status = read_rank(r, word, length, &rank);
    if (status != HOP_OK)
        return status;
    if (rank < r->placement->count && r->placement->devices[rank]) {
        hop_fail(r->diag, HOP_ERR_INVALID, "rank %u is placed twice\nevery rank once; the first is in line %u", rank,
                 r->placement->lines[rank]);
        return at(r, word, HOP_ERR_INVALID);
    }
    struct hop_place place = {.rank = -1};
    bool there = next_word(r, &next, &device, &device_length);
    status = hop_place_parse(device, device_length, &place, &r->placement->arena, r->diag);
    if (!there || status != HOP_OK || place.rank != -1 || place.buffer || !hop_place_check(&place)) {
        if (there)
            hop_fail(r->diag, HOP_ERR_SYNTAX, "'%.*s' is no device", (int)(device_length < 60 ? device_length : 60),
                     device);
        else
            hop_fail(r->diag, HOP_ERR_SYNTAX, "rank %u has no device", rank);
        hop_diag_expect(r->diag, "a device's name, such as gpu0 or node0.gpu3");
        return at(r, device, HOP_ERR_SYNTAX);
    }
    if (next_word(r, &next, &extra, &extra_length)) {
        hop_fail(r->diag, HOP_ERR_SYNTAX, "unexpected '%.*s'\none rank and one device a line",
                 (int)(extra_length < 60 ? extra_length : 60), extra);
        return at(r, extra, HOP_ERR_SYNTAX);
    }
    return set(r->placement, rank, device, device_length, r->line) ? HOP_OK : hop_fail_memory(r->diag);
}

static enum hop_status check_complete(const struct reader *r)
{
    const struct hop_placement *placement = r->placement;
    uint32_t rank = 0;
    while (rank < placement->count && placement->devices[rank])
        rank++;
    if (rank == placement->count && rank > 0)
        return HOP_OK;
    if (placement->count == 0)
        hop_fail(r->diag, HOP_ERR_INVALID, "no rank is placed");
    else
        hop_fail(r->diag, HOP_ERR_INVALID, "rank %u is not placed, but rank %u is", rank, placement->count - 1);
    hop_diag_expect(r->diag, "a line for every rank from 0 on, such as '0 node0.gpu0'");
    hop_diag_place(r->diag, "%s:%u:1", r->source->name, r->line ? r->line : 1);
    return HOP_ERR_INVALID;
}

static enum hop_status read_source(const struct hop_source *source, struct hop_placement **placement,
                                   struct hop_diag *diag)
{
    struct reader r = {.source = source, .diag = diag, .placement = calloc(1, sizeof *r.placement)};
    enum hop_status status = r.placement ? HOP_OK : hop_fail_memory(diag);
    const char *end = source->text + source->size;
    for (r.start = source->text; status == HOP_OK && r.start < end;) {
        const char *newline = memchr(r.start, '\n', (size_t)(end - r.start)), *line_end = newline ? newline : end;
        const char *comment = memchr(r.start, '#', (size_t)(line_end - r.start));
        r.end = comment ? comment : line_end;
        r.line++;
        status = read_line(&r);
        r.start = line_end < end ? line_end + 1 : end;
    }
    if (status == HOP_OK)
        status = check_complete(&r);
    if (status == HOP_OK) {
        r.placement->name = hop_arena_string(&r.placement->arena, source->name, strlen(source->name));
        status = r.placement->name ? HOP_OK : hop_fail_memory(diag);
    }
    if (status == HOP_OK)
        *placement = r.placement;
    else
        hop_placement_destroy(r.placement);
    return status;
}

enum hop_status hop_placement_parse(const char *name, const char *text, size_t size, struct hop_placement **placement,
                                    struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_source_copy(name, text, size, &source, diag);
    if (status != HOP_OK)
        return status;
    status = read_source(&source, placement, diag);
    hop_source_finish(&source);
    return status;
}

enum hop_status hop_placement_load(const char *path, struct hop_placement **placement, struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_source_load(path, &source, diag);
    if (status != HOP_OK)
        return status;
    status = read_source(&source, placement, diag);
    hop_source_finish(&source);
    return status;
}

/* ---- making ---- */

/* A device and where it stands: its cluster node in order of appearance, and its number there. */
struct spot {
    const char *device;
    uint32_t node, number;
};

static int packed(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;
    return x->node != y->node ? (x->node < y->node ? -1 : 1) : (x->number > y->number) - (x->number < y->number);
}

static int cyclic(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;
    return x->number != y->number ? (x->number < y->number ? -1 : 1) : (x->node > y->node) - (x->node < y->node);
}

static uint32_t count_kind(const struct hop_topology *topology, enum hop_node_kind kind)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++)
        count += hop_topology_node(topology, n)->kind == kind;
    return count;
}

/* The devices of that kind, in the order of the topology. */
static enum hop_status find_spots(const struct hop_topology *topology, enum hop_node_kind kind, struct spot *spots,
                                  struct hop_diag *diag)
{
    uint32_t *sizes = calloc((size_t)hop_topology_server_count(topology) + 1, sizeof *sizes), count = 0;
    if (!sizes)
        return hop_fail_memory(diag);
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) {
        const struct hop_node *device = hop_topology_node(topology, n);
        uint32_t server = hop_topology_server_of(topology, n);
        if (device->kind == kind)
            spots[count++] = (struct spot){device->name, server, sizes[server]++};
    }
    free(sizes);
    return HOP_OK;
}

enum hop_status hop_placement_make(const struct hop_topology *topology, uint32_t ranks, enum hop_placement_order order,
                                   struct hop_placement **placement, struct hop_diag *diag)
{
    uint32_t gpus = count_kind(topology, HOP_NODE_GPU), count = gpus ? gpus : count_kind(topology, HOP_NODE_NIC);
    if (ranks > count)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "%u ranks, but %s has %u %s\na device for every rank, or a map that gives several the same one",
                        ranks, hop_topology_name(topology), count,
                        gpus    ? "GPUs"
                        : count ? "NICs"
                                : "GPUs or NICs");
    struct hop_placement *made = calloc(1, sizeof *made);
    struct spot *spots = calloc((size_t)count + 1, sizeof *spots);
    enum hop_status status = made && spots ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK)
        status = find_spots(topology, gpus ? HOP_NODE_GPU : HOP_NODE_NIC, spots, diag);
    if (status == HOP_OK)
        qsort(spots, count, sizeof *spots, order == HOP_PLACEMENT_CYCLIC ? cyclic : packed);
    for (uint32_t i = 0; status == HOP_OK && i < ranks; i++) {
        if (!set(made, i, spots[i].device, strlen(spots[i].device), 0))
            status = hop_fail_memory(diag);
    }
    free(spots);
    if (status == HOP_OK)
        *placement = made;
    else
        hop_placement_destroy(made);
    return status;
}

/* ---- applying ---- */

enum hop_status hop_placement_check(const struct hop_placement *placement, const struct hop_topology *topology,
                                    uint32_t ranks, struct hop_diag *diag)
{
    for (uint32_t rank = 0; rank < placement->count && rank < ranks; rank++) {
        const char *device = placement->devices[rank];
        uint32_t node = hop_topology_find(topology, device);
        if (node != HOP_NONE && hop_node_is_device(hop_topology_node(topology, node)->kind))
            continue;
        if (node == HOP_NONE)
            hop_fail(diag, HOP_ERR_NOT_FOUND, "topology %s has no device '%s'", hop_topology_name(topology), device);
        else
            hop_fail(diag, HOP_ERR_NOT_FOUND, "'%s' is a %s, not a device", device,
                     hop_node_kind_name(hop_topology_node(topology, node)->kind));
        const char *nearest = node == HOP_NONE ? hop_topology_nearest(topology, device) : NULL;
        hop_diag_expect(diag, "%s%s%s `hopcast topology SOURCE` shows all devices", nearest ? "'" : "",
                        nearest ? nearest : "a device, such as gpu0;", nearest ? "'?" : "");
        if (placement->name)
            hop_diag_place(diag, "%s:%u:1", placement->name, placement->lines[rank]);
        return HOP_ERR_NOT_FOUND;
    }
    return HOP_OK;
}

static void count_rank(const struct hop_place *place, uint32_t *ranks)
{
    int32_t rank = hop_placeholder_rank(place->device);
    if (rank >= 0 && (uint32_t)rank + 1 > *ranks)
        *ranks = (uint32_t)rank + 1;
}

uint32_t hop_schedule_ranks(const struct hop_schedule *schedule)
{
    uint32_t ranks = 0;
    for (uint32_t i = 0; i < schedule->count; i++) {
        count_rank(&schedule->ops[i].from, &ranks);
        count_rank(&schedule->ops[i].to, &ranks);
        for (uint32_t p = 0; p < schedule->ops[i].input_count; p++)
            count_rank(&schedule->ops[i].inputs[p], &ranks);
        for (uint32_t p = 0; p < schedule->ops[i].output_count; p++)
            count_rank(&schedule->ops[i].outputs[p], &ranks);
    }
    return ranks;
}

struct placing {
    const struct hop_placement *placement;
    const struct hop_schedule *from;
    struct hop_schedule *placed;
    struct hop_diag *diag;
    struct renamed {
        const char *from, *to;
    } * renamed; /* by rank: names found before, as the two schedules keep them */
};

static enum hop_status fail_at(const struct placing *p, uint32_t index, uint32_t column, enum hop_status status)
{
    char place[192];
    hop_diag_place(p->diag, "%s", hop_schedule_place(p->from, index, column, place, sizeof place));
    return status;
}

static enum hop_status put_place(const struct placing *p, uint32_t index, struct hop_place *place)
{
    bool known = place->rank >= 0 && (uint32_t)place->rank < p->placement->count;
    struct renamed *renamed = known ? &p->renamed[place->rank] : NULL;
    if (renamed && renamed->from == place->device && !place->buffer) {
        place->device = renamed->to;
        return HOP_OK;
    }
    int32_t rank = hop_placeholder_rank(place->device);
    if (rank >= 0 && (uint32_t)rank >= p->placement->count) {
        hop_fail(p->diag, HOP_ERR_INVALID,
                 "'%s' names rank %d, which has no device\na placement of every rank: this one has ranks 0 to %u",
                 p->from->ops[index].name, rank, p->placement->count ? p->placement->count - 1 : 0);
        return fail_at(p, index, place->column, HOP_ERR_INVALID);
    }
    const char *old = place->device;
    place->device = hop_schedule_intern(p->placed, rank >= 0 ? p->placement->devices[rank] : old);
    place->buffer = hop_schedule_intern(p->placed, place->buffer);
    if (renamed)
        *renamed = (struct renamed){old, place->device};
    return place->device ? HOP_OK : hop_fail_memory(p->diag);
}

static enum hop_status put_places(const struct placing *p, uint32_t index, const struct hop_place **places,
                                  uint32_t count)
{
    if (count == 0)
        return HOP_OK;
    struct hop_place *list = hop_arena_copy(&p->placed->arena, *places, count * sizeof *list);
    enum hop_status status = list ? HOP_OK : hop_fail_memory(p->diag);
    for (uint32_t i = 0; i < count && status == HOP_OK; i++)
        status = put_place(p, index, &list[i]);
    *places = list;
    return status;
}

static enum hop_status put_op(const struct placing *p, uint32_t index)
{
    const struct hop_op *old = &p->from->ops[index];
    struct hop_op op = *old;
    struct hop_arena *arena = &p->placed->arena;
    enum hop_status status = put_place(p, index, &op.from);
    if (status == HOP_OK)
        status = put_place(p, index, &op.to);
    if (status == HOP_OK)
        status = put_places(p, index, &op.inputs, op.input_count);
    if (status == HOP_OK)
        status = put_places(p, index, &op.outputs, op.output_count);
    if (status != HOP_OK)
        return status;
    const struct hop_place *astray;
    if (op.kind == HOP_OP_REDUCE && !hop_op_one_device(&op, &astray, p->diag))
        return fail_at(p, index, astray->column, HOP_ERR_INVALID);
    if (hop_op_goes_nowhere(&op)) {
        hop_fail(p->diag, HOP_ERR_INVALID,
                 "'%s' goes from %s to %s, which are both on %s\na device other than the rank's, or another rank",
                 op.name, old->from.device, old->to.device, op.to.device);
        return fail_at(p, index, op.to.column, HOP_ERR_INVALID);
    }
    op.name = hop_arena_string(arena, op.name, strlen(op.name));
    op.after = hop_arena_copy(arena, op.after, op.after_count * sizeof *op.after);
    op.after_start = hop_arena_copy(arena, op.after_start, op.after_start_count * sizeof *op.after_start);
    (void)hop_schedule_append(p->placed, &op);
    return HOP_OK;
}

enum hop_status hop_placement_apply(const struct hop_placement *placement, const struct hop_schedule *schedule,
                                    struct hop_schedule **placed, struct hop_diag *diag)
{
    struct placing p = {.placement = placement,
                        .from = schedule,
                        .placed = hop_schedule_create_like(schedule),
                        .diag = diag,
                        .renamed = calloc((size_t)placement->count + 1, sizeof *p.renamed)};
    enum hop_status status = p.placed && p.renamed ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK) {
        bool room = hop_grow(&p.placed->ops, &p.placed->capacity, schedule->count, sizeof *p.placed->ops);
        status = room ? HOP_OK : hop_fail_memory(diag);
    }
    for (uint32_t i = 0; status == HOP_OK && i < schedule->count; i++)
        status = put_op(&p, i);
    free(p.renamed);
    return hop_schedule_end(p.placed, status, placed, diag);
}
