/* SPDX-License-Identifier: BSD-3-Clause */
/* Placements: read, made from a topology, applied to a schedule. */
#include "hopcast/placement.h"

#include "base/fields.h"
#include "base/numa.h"
#include "schedule/schedule.h"

#include <stdio.h>

#define PLACEMENT_RANK_LIMIT (1u << 20)
#define PLACEMENT_CPU_LIMIT (1u << 16)

struct hop_placement {
    struct hop_arena arena;
    struct placed {
        struct hop_rank_place at; /* device NULL while it is not known */
        uint32_t line;            /* where it was read */
    } * ranks;
    uint32_t count;
    const char *name; /* of the file, NULL: it was made */
};

void hop_placement_destroy(struct hop_placement *placement)
{
    if (!placement)
        return;
    hop_arena_finish(&placement->arena);
    free(placement);
}

uint32_t hop_placement_count(const struct hop_placement *placement)
{
    return placement->count;
}

const char *hop_placement_device(const struct hop_placement *placement, uint32_t rank)
{
    return placement->ranks[rank].at.device;
}

const struct hop_rank_place *hop_placement_at(const struct hop_placement *placement, uint32_t rank)
{
    return &placement->ranks[rank].at;
}

/* The strings are the placement's. */
static bool set(struct hop_placement *placement, uint32_t rank, const struct hop_rank_place *at, uint32_t line)
{
    if (placement->arena.failed || !HOP_GROW(&placement->arena, placement->ranks, rank + 1))
        return false;
    placement->count = rank < placement->count ? placement->count : rank + 1;
    placement->ranks[rank] = (struct placed){*at, line};
    return true;
}

/* ---- reading ---- */

static uint32_t read_rank(struct hop_fields *lines, struct hop_field word)
{
    uint32_t value = 0;
    bool digits = true;
    char text[HOP_FIELD_SIZE];
    for (size_t i = 0; i < word.length && digits; i++) {
        digits = word.text[i] >= '0' && word.text[i] <= '9';
        value = value < PLACEMENT_RANK_LIMIT ? value * 10 + (uint32_t)(word.text[i] - '0') : value;
    }
    if (!digits || value >= PLACEMENT_RANK_LIMIT)
        hop_fields_fail(lines, word.text, digits ? HOP_ERR_LIMIT : HOP_ERR_SYNTAX,
                        "'%s' is no rank\na line such as '0 node0.gpu0', the rank up to %u", hop_field_show(word, text),
                        PLACEMENT_RANK_LIMIT - 1);
    return value;
}

bool hop_placement_is_nic(const char *name)
{
    return hop_pci_address(name) != UINT64_MAX || (*name && !name[strcspn(name, " \t\n#,;:/\"'()=")]);
}

/* What stands behind a key's '='; false: the word begins with another key. */
static bool is_keyed(struct hop_field word, const char *key, struct hop_field *value)
{
    size_t length = strlen(key);
    if (word.length <= length || memcmp(word.text, key, length) != 0)
        return false;
    *value = (struct hop_field){word.text + length, word.length - length};
    return true;
}

/* A word behind the device: where that is on the machine, as `hopcast map -o` found it. */
static void read_where(struct hop_fields *lines, struct hop_field word, struct hop_rank_place *at,
                       struct hop_arena *arena)
{
    struct hop_field value = {0};
    uint64_t cpu = 0;
    const char **text = is_keyed(word, "bus=", &value) ? &at->bus_id : is_keyed(word, "nic=", &value) ? &at->nic : NULL;
    const char *kept = text ? hop_arena_string(arena, value.text, value.length) : NULL;
    if (text && kept &&
        (*text || (text == &at->bus_id ? hop_pci_address(kept) == UINT64_MAX : !hop_placement_is_nic(kept))))
        hop_fields_refuse(lines, value,
                          *text              ? "first such word"
                          : text == &at->nic ? "NIC"
                                             : "PCI address",
                          "once, bus=0000:4e:00.0 and nic=0000:4b:00.0 or nic=mlx5_2");
    else if (text)
        *text = kept;
    else if (!is_keyed(word, "cpu=", &value))
        hop_fields_fail(lines, word.text, HOP_ERR_SYNTAX,
                        "'%.*s' behind the device\none rank and one device a line, then bus=, nic= or cpu=, no more",
                        (int)(word.length < 60 ? word.length : 60), word.text);
    else if (!hop_field_whole(value, &cpu) || cpu >= PLACEMENT_CPU_LIMIT || at->cpu != HOP_NONE)
        hop_fields_refuse(lines, value, "processor's number", "once, the operating system's, such as cpu=12");
    else
        at->cpu = (uint32_t)cpu;
}

static void read_line(struct hop_fields *lines, struct hop_placement *placement)
{
    struct hop_field word = hop_fields_word(lines), device;
    struct hop_place place = {.rank = -1};
    struct hop_rank_place at = {.cpu = HOP_NONE};
    if (word.length == 0)
        return;
    uint32_t rank = read_rank(lines, word);
    if (rank < placement->count && placement->ranks[rank].at.device)
        hop_fields_fail(lines, word.text, HOP_ERR_INVALID,
                        "rank %u is placed twice\nevery rank once; the first is in line %u", rank,
                        placement->ranks[rank].line);
    device = hop_fields_word(lines);
    enum hop_status status = hop_place_parse(device.text, device.length, &place, &placement->arena, NULL);
    if (device.length == 0)
        hop_fields_fail(lines, device.text, HOP_ERR_SYNTAX,
                        "rank %u has no device\na device's name, such as gpu0 or node0.gpu3", rank);
    if (hop_failure_none(lines->failure, status != HOP_ERR_MEMORY) &&
        (status != HOP_OK || place.rank != -1 || place.buffer || !hop_place_check(&place)))
        hop_fields_fail(lines, device.text, HOP_ERR_SYNTAX,
                        "'%.*s' is no device\na device's name, such as gpu0 or node0.gpu3",
                        (int)(device.length < 60 ? device.length : 60), device.text);
    at.device = hop_arena_string(&placement->arena, device.text, device.length);
    for (word = hop_fields_word(lines); word.length > 0 && lines->failure->status == HOP_OK;
         word = hop_fields_word(lines))
        read_where(lines, word, &at, &placement->arena);
    if (lines->failure->status == HOP_OK && !set(placement, rank, &at, lines->number))
        hop_failure_set(lines->failure, HOP_ERR_MEMORY, "out of memory");
}

/* Every rank up to the last is there. */
static void check_complete(const struct hop_placement *placement, struct hop_failure *failure)
{
    uint32_t rank = 0;
    while (rank < placement->count && placement->ranks[rank].at.device)
        rank++;
    if (placement->count == 0)
        hop_failure_set(failure, HOP_ERR_INVALID,
                        "no rank is placed\na line for every rank from 0 on, such as '0 node0.gpu0'");
    if (rank < placement->count)
        hop_failure_set(failure, HOP_ERR_INVALID,
                        "rank %u is not placed, but rank %u is\n"
                        "a line for every rank from 0 on, such as '0 node0.gpu0'",
                        rank, placement->count - 1);
}

/* Takes the source. */
static enum hop_status read_source(struct hop_source *source, struct hop_placement **placement, struct hop_diag *diag)
{
    struct hop_placement *made = calloc(1, sizeof *made);
    struct hop_failure failure = {diag, made ? HOP_OK : hop_fail_memory(diag)};
    struct hop_fields lines;
    hop_fields_begin(&lines, source, &failure);
    while (hop_fields_next(&lines))
        read_line(&lines, made);
    if (made) {
        made->name = hop_arena_string(&made->arena, source->name, strlen(source->name));
        check_complete(made, &failure);
    }
    if (made && made->arena.failed)
        hop_failure_set(&failure, HOP_ERR_MEMORY, "out of memory");
    hop_failure_place(&failure, "%.180s:%u:1", source->name, lines.number ? lines.number : 1);
    hop_source_finish(source);
    if (failure.status == HOP_OK)
        *placement = made;
    else
        hop_placement_destroy(made);
    return failure.status;
}

enum hop_status hop_placement_parse(const char *name, const char *text, size_t size, struct hop_placement **placement,
                                    struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_source_copy(name, text, size, &source, diag);
    return status == HOP_OK ? read_source(&source, placement, diag) : status;
}

enum hop_status hop_placement_load(const char *path, struct hop_placement **placement, struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_source_load(path, &source, diag);
    return status == HOP_OK ? read_source(&source, placement, diag) : status;
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
    return x->node != y->node ? HOP_ORDER(x->node, y->node) : HOP_ORDER(x->number, y->number);
}

static int cyclic(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;
    return x->number != y->number ? HOP_ORDER(x->number, y->number) : HOP_ORDER(x->node, y->node);
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

enum hop_status hop_placement_of(const char *const *devices, uint32_t ranks, struct hop_placement **placement,
                                 struct hop_diag *diag)
{
    struct hop_placement *made = calloc(1, sizeof *made);
    bool fine = made;
    for (uint32_t r = 0; r < ranks && fine; r++) {
        struct hop_rank_place at = {hop_arena_string(&made->arena, devices[r], strlen(devices[r])), NULL, NULL,
                                    HOP_NONE};
        fine = set(made, r, &at, 0);
    }
    if (!fine) {
        hop_placement_destroy(made);
        return hop_fail_memory(diag);
    }
    *placement = made;
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
    struct spot *spots = calloc((size_t)count + 1, sizeof *spots);
    const char **devices = calloc((size_t)ranks + 1, sizeof *devices);
    enum hop_status status = spots && devices ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK)
        status = find_spots(topology, gpus ? HOP_NODE_GPU : HOP_NODE_NIC, spots, diag);
    if (status == HOP_OK)
        qsort(spots, count, sizeof *spots, order == HOP_PLACEMENT_CYCLIC ? cyclic : packed);
    for (uint32_t i = 0; status == HOP_OK && i < ranks; i++)
        devices[i] = spots[i].device;
    if (status == HOP_OK)
        status = hop_placement_of(devices, ranks, placement, diag);
    free(devices);
    free(spots);
    return status;
}

/* ---- applying ---- */

enum hop_status hop_placement_check(const struct hop_placement *placement, const struct hop_topology *topology,
                                    uint32_t ranks, struct hop_diag *diag)
{
    for (uint32_t rank = 0; rank < placement->count && rank < ranks; rank++) {
        if (hop_topology_device(topology, placement->ranks[rank].at.device, NULL, diag) == HOP_OK)
            continue;
        if (placement->name)
            hop_diag_place(diag, "%s:%u:1", placement->name, placement->ranks[rank].line);
        return HOP_ERR_NOT_FOUND;
    }
    return HOP_OK;
}

uint32_t hop_schedule_ranks(const struct hop_schedule *schedule)
{
    const struct hop_place *place;
    int32_t last = -1;
    for (uint32_t i = 0; i < schedule->count; i++) {
        for (uint32_t p = 0; (place = hop_op_place(&schedule->ops[i], p)) != NULL; p++) {
            int32_t rank = hop_placeholder_rank(place->device);
            last = rank > last ? rank : last;
        }
    }
    return (uint32_t)(last + 1);
}

struct placing {
    const struct hop_placement *placement;
    const struct hop_schedule *from;
    struct hop_schedule *placed; /* which keeps the first failure */
    struct renamed {
        const char *from, *to;
    } * renamed; /* by rank: names found before, as the two schedules keep them */
};

static void place_failure(const struct placing *p, uint32_t index, uint32_t column)
{
    char place[192];
    if (p->placed->failure.status != HOP_OK)
        hop_failure_place(&p->placed->failure, "%s", hop_schedule_place(p->from, index, column, place, sizeof place));
}

static void put_place(const struct placing *p, uint32_t index, struct hop_place *place)
{
    bool known = place->rank >= 0 && (uint32_t)place->rank < p->placement->count;
    struct renamed *renamed = known ? &p->renamed[place->rank] : NULL;
    if (renamed && renamed->from == place->device && !place->buffer) {
        place->device = renamed->to;
        return;
    }
    int32_t rank = hop_placeholder_rank(place->device);
    if (rank >= 0 && (uint32_t)rank >= p->placement->count) {
        hop_failure_set(&p->placed->failure, HOP_ERR_INVALID,
                        "'%s' names rank %d, which has no device\n"
                        "a placement of every rank: this one has ranks 0 to %u",
                        p->from->ops[index].name, rank, p->placement->count ? p->placement->count - 1 : 0);
        place_failure(p, index, place->column);
        return;
    }
    const char *old = place->device;
    place->device = hop_schedule_intern(p->placed, rank >= 0 ? p->placement->ranks[rank].at.device : old);
    place->buffer = hop_schedule_intern(p->placed, place->buffer);
    if (renamed)
        *renamed = (struct renamed){old, place->device};
}

static const struct hop_place *put_places(const struct placing *p, uint32_t index, const struct hop_place *places,
                                          uint32_t count)
{
    struct hop_place *list = count ? hop_arena_copy(&p->placed->arena, places, count * sizeof *list) : NULL;
    for (uint32_t i = 0; list && i < count; i++)
        put_place(p, index, &list[i]);
    return list;
}

static void put_op(const struct placing *p, uint32_t index)
{
    const struct hop_op *old = &p->from->ops[index];
    struct hop_failure *failure = &p->placed->failure;
    struct hop_arena *arena = &p->placed->arena;
    struct hop_op op = *old;
    const struct hop_place *astray;
    put_place(p, index, &op.from);
    put_place(p, index, &op.to);
    op.inputs = put_places(p, index, old->inputs, op.input_count);
    op.outputs = put_places(p, index, old->outputs, op.output_count);
    op.name = hop_arena_string(arena, op.name, strlen(op.name));
    op.after = hop_arena_numbers(arena, op.after, op.after_count);
    op.after_start = hop_arena_numbers(arena, op.after_start, op.after_start_count);
    if (failure->status != HOP_OK || hop_schedule_append(p->placed, &op) == HOP_NONE)
        return;
    if (op.kind == HOP_OP_REDUCE && !hop_op_one_device(&op, &astray, failure->diag)) {
        failure->status = HOP_ERR_INVALID;
        place_failure(p, index, astray->column);
    } else if (hop_op_goes_nowhere(&op)) {
        hop_failure_set(failure, HOP_ERR_INVALID,
                        "'%s' goes from %s to %s, which are both on %s\n"
                        "a device other than the rank's, or another rank",
                        op.name, old->from.device, old->to.device, op.to.device);
        place_failure(p, index, op.to.column);
    }
}

enum hop_status hop_placement_apply(const struct hop_placement *placement, const struct hop_schedule *schedule,
                                    struct hop_schedule **placed, struct hop_diag *diag)
{
    struct placing p = {.placement = placement,
                        .from = schedule,
                        .placed = hop_schedule_create_like(schedule),
                        .renamed = calloc((size_t)placement->count + 1, sizeof *p.renamed)};
    bool room =
        p.placed && p.renamed && hop_grow(&p.placed->ops, &p.placed->capacity, schedule->count, sizeof *p.placed->ops);
    for (uint32_t i = 0; room && i < schedule->count && p.placed->failure.status == HOP_OK; i++)
        put_op(&p, i);
    free(p.renamed);
    return hop_schedule_end(p.placed, room ? HOP_OK : hop_fail_memory(diag), placed, diag);
}
