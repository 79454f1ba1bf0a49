/* SPDX-License-Identifier: BSD-3-Clause */
/* Places that ranks can have: the devices of a topology, node by node, and how many ranks each takes. */
#include "map/map.h"

struct finder {
    const struct hop_topology *topology;
    const struct hop_map_options *options;
    struct hop_map_places *places;
    uint32_t *node_of; /* by server, HOP_NONE: not met */
    struct hop_diag *diag;
};

static const char lone[] = "localhost"; /* the node of a machine that is no cluster */

const char *hop_map_places_what(const struct hop_map_places *places)
{
    return places->gpus ? "GPUs" : "NICs";
}

enum hop_status hop_map_places_placement(const struct hop_map_places *places, const uint32_t *place, uint32_t ranks,
                                         struct hop_placement **placement, struct hop_diag *diag)
{
    const char **devices = malloc(((size_t)ranks + 1) * sizeof *devices);
    for (uint32_t r = 0; r < ranks && devices; r++)
        devices[r] = hop_topology_node(places->topology, places->device[place[r]])->name;
    enum hop_status status = devices ? hop_placement_of(devices, ranks, placement, diag) : hop_fail_memory(diag);
    free(devices);
    return status;
}

static bool is_name(const char *name, const char *text, size_t length)
{
    return strncmp(name, text, length) == 0 && name[length] == '\0';
}

bool hop_map_place_is(const struct hop_map_places *places, uint32_t place, const char *name, size_t length)
{
    return is_name(hop_topology_node(places->topology, places->device[place])->name, name, length) ||
           is_name(places->names[places->node[place]], name, length);
}

static uint32_t count_kind(const struct hop_topology *topology, enum hop_node_kind kind)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++)
        count += hop_topology_node(topology, n)->kind == kind;
    return count;
}

static bool make_room(struct hop_map_places *p, uint32_t count)
{
    size_t size = ((size_t)count + 1) * sizeof(uint32_t);
    p->device = hop_arena_alloc(&p->arena, size);
    p->host = hop_arena_alloc(&p->arena, size);
    p->node = hop_arena_alloc(&p->arena, size);
    p->local = hop_arena_alloc(&p->arena, size);
    p->room = hop_arena_alloc(&p->arena, size);
    p->first = hop_arena_alloc(&p->arena, size + sizeof(uint32_t));
    p->node_room = hop_arena_alloc(&p->arena, size);
    p->used = hop_arena_alloc(&p->arena, 2 * size);
    p->names = hop_arena_alloc(&p->arena, ((size_t)count + 1) * sizeof *p->names);
    return !p->arena.failed;
}

/* The node that a device is on, new ones in the order of appearance. */
static uint32_t node_of(struct finder *f, uint32_t device)
{
    uint32_t server = hop_topology_server_of(f->topology, device), *node = &f->node_of[server];
    if (*node == HOP_NONE) {
        const char *name = hop_topology_server_name(f->topology, server);
        *node = f->places->node_count++;
        f->places->names[*node] = *name ? name : lone;
    }
    return *node;
}

/* Node by node, in the order of the topology within each. */
static bool sort_by_node(struct hop_map_places *p)
{
    uint32_t *device = hop_arena_copy(&p->arena, p->device, (size_t)p->count * sizeof *device);
    uint32_t *node = hop_arena_copy(&p->arena, p->node, (size_t)p->count * sizeof *node);
    uint32_t *next = hop_arena_alloc(&p->arena, ((size_t)p->node_count + 1) * sizeof *next);
    if (p->arena.failed)
        return false;
    for (uint32_t i = 0; i < p->count; i++)
        p->first[node[i] + 1]++;
    for (uint32_t n = 0; n < p->node_count; n++)
        p->first[n + 1] += p->first[n];
    memcpy(next, p->first, (size_t)p->node_count * sizeof *next);
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t at = next[node[i]]++;
        p->device[at] = device[i];
        p->node[at] = node[i];
    }
    return true;
}

/* Devices are numbered by their bus ids where all of a node's have one, as CUDA does under
 * CUDA_DEVICE_ORDER=PCI_BUS_ID. */
static void number_locals(struct finder *f, uint32_t node)
{
    struct hop_map_places *p = f->places;
    uint32_t first = p->first[node], end = p->first[node + 1];
    bool bus = true;
    for (uint32_t i = first; i < end; i++)
        bus = bus && hop_topology_node(f->topology, p->device[i])->bus_id;
    for (uint32_t i = first; i < end; i++) {
        p->local[i] = bus ? 0 : i - first;
        for (uint32_t j = first; bus && j < end; j++) {
            int order = strcmp(hop_topology_node(f->topology, p->device[j])->bus_id,
                               hop_topology_node(f->topology, p->device[i])->bus_id);
            p->local[i] += order < 0 || (order == 0 && j < i);
        }
    }
}

static const char *name_at(const void *context, uint32_t index)
{
    const struct finder *f = context;
    return index < f->places->node_count
               ? f->places->names[index]
               : hop_topology_node(f->topology, f->places->device[index - f->places->node_count])->name;
}

/* A device's or a node's name takes its room away. */
static enum hop_status exclude(struct finder *f, const char *name)
{
    struct hop_map_places *p = f->places;
    bool found = false;
    for (uint32_t i = 0; i < p->count; i++) {
        if (!hop_map_place_is(p, i, name, strlen(name)))
            continue;
        p->room[i] = 0;
        found = true;
    }
    if (found)
        return HOP_OK;
    uint32_t near = hop_text_nearest(name, name_at, f, p->node_count + p->count);
    hop_fail(f->diag, HOP_ERR_INVALID, "'%s', to be excluded, is no device that ranks can have, nor a node of %s", name,
             hop_topology_name(f->topology));
    if (near != UINT32_MAX)
        hop_diag_expect(f->diag, "perhaps %s", name_at(f, near));
    else
        hop_diag_expect(f->diag, "one of the %s, such as %s, or %s", hop_map_places_what(p),
                        hop_topology_node(f->topology, p->device[0])->name, p->names[0]);
    return HOP_ERR_INVALID;
}

static enum hop_status check_room(const struct finder *f, uint32_t ranks)
{
    const struct hop_map_places *p = f->places;
    uint64_t room = 0;
    uint32_t excluded = 0, each = f->options->ranks_per_device ? f->options->ranks_per_device : 1;
    for (uint32_t n = 0; n < p->node_count; n++)
        room += p->node_room[n];
    for (uint32_t i = 0; i < p->count; i++)
        excluded += p->room[i] == 0;
    if (ranks <= room)
        return HOP_OK;
    uint32_t usable = p->count - excluded;
    const char *one = p->gpus ? "GPU" : "NIC";
    return hop_fail(
        f->diag, HOP_ERR_INVALID,
        "%u rank%s, but room for %llu on %s: %u %s%s, %u rank%s on each%s\nfewer ranks, %sor more on each %s", ranks,
        ranks == 1 ? "" : "s", (unsigned long long)room, hop_topology_name(f->topology), usable,
        usable == 1 ? one : hop_map_places_what(p),
        !excluded     ? ""
        : usable == 1 ? " that is not excluded"
                      : " that are not excluded",
        each, each == 1 ? "" : "s", f->options->ranks_per_node ? ", a limit for each node" : "",
        excluded ? "fewer exclusions, " : "",
        f->options->ranks_per_node ? "node or device (--ranks-per-node, --ranks-per-device)"
                                   : "device (--ranks-per-device)");
}

static enum hop_status find(struct finder *f, uint32_t ranks)
{
    struct hop_map_places *p = f->places;
    const struct hop_topology *t = f->topology;
    uint32_t gpus = count_kind(t, HOP_NODE_GPU);
    enum hop_node_kind kind = gpus ? HOP_NODE_GPU : HOP_NODE_NIC;
    uint32_t total = gpus ? gpus : count_kind(t, HOP_NODE_NIC);
    uint32_t each = f->options->ranks_per_device ? f->options->ranks_per_device : 1;
    p->gpus = gpus > 0;
    if (total == 0) {
        return hop_fail(f->diag, HOP_ERR_INVALID,
                        "%s has neither GPUs nor NICs\na topology with devices that ranks can have",
                        hop_topology_name(t));
    }
    f->node_of = hop_arena_alloc(&p->arena, ((size_t)hop_topology_server_count(t) + 1) * sizeof *f->node_of);
    if (!make_room(p, total))
        return hop_fail_memory(f->diag);
    memset(f->node_of, 0xff, hop_topology_server_count(t) * sizeof *f->node_of); /* HOP_NONE */
    for (uint32_t n = 0; n < hop_topology_node_count(t); n++) {
        const struct hop_node *node = hop_topology_node(t, n);
        if (node->kind != kind)
            continue;
        p->device[p->count] = n;
        p->node[p->count++] = node_of(f, n);
    }
    if (!sort_by_node(p))
        return hop_fail_memory(f->diag);
    for (uint32_t n = 0; n < p->node_count; n++)
        number_locals(f, n);
    for (uint32_t i = 0; i < total; i++) {
        HOP_CHECK(hop_topology_nearest_host(t, p->device[i], &p->host[i], f->diag));
        p->room[i] = each;
    }
    for (uint32_t i = 0; i < f->options->excluded_count; i++) {
        enum hop_status status = exclude(f, f->options->excluded[i]);
        if (status != HOP_OK)
            return status;
    }
    for (uint32_t n = 0; n < p->node_count; n++) {
        uint32_t limit = f->options->ranks_per_node, room = 0;
        for (uint32_t i = p->first[n]; i < p->first[n + 1]; i++)
            room += p->room[i];
        p->node_room[n] = limit && limit < room ? limit : room;
    }
    return check_room(f, ranks);
}

enum hop_status hop_map_places_find(const struct hop_topology *topology, const struct hop_map_options *options,
                                    uint32_t ranks, struct hop_map_places *places, struct hop_diag *diag)
{
    struct finder f = {.topology = topology, .options = options, .places = places, .diag = diag};
    *places = (struct hop_map_places){.topology = topology};
    enum hop_status status = find(&f, ranks);
    places->ranks = (struct hop_graph){.count = ranks};
    places->frame = hop_map_frame(places, places->room, places->node_room);
    places->who = (struct hop_assign){.graph = &places->ranks, .places = &places->frame};
    return status;
}
