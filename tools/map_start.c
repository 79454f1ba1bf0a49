/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast map: the placement to compare with. Those that are made by rule know how many ranks a device and a node
 * take and what is excluded; where ranks are kept is the mapping's business.
 *
 *     cyclic    the first place of every node, then the second of every one that has it, ...
 *     random    places drawn one after the other
 */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "map.h"

/* A device, once for every rank that it takes. */
struct slot {
    const char *device;
    uint32_t node, number; /* number: among those of its node */
};

struct slots {
    struct slot *slot;
    uint32_t count;
    uint32_t *load; /* of a node: its slots, and then the ranks that were put there */
};

/* ---- slots ---- */

static bool is_excluded(const struct hop_map_options *options, const struct hop_topology *topology, uint32_t device)
{
    const char *server = hop_topology_server_name(topology, hop_topology_server_of(topology, device));
    for (uint32_t i = 0; i < options->excluded_count; i++) {
        const char *name = options->excluded[i];
        if (strcmp(name, *server ? server : "localhost") == 0 ||
            strcmp(name, hop_topology_node(topology, device)->name) == 0)
            return true;
    }
    return false;
}

static struct slots find_slots(const struct map_request *request, const struct map_input *input)
{
    const struct hop_topology *t = input->topology;
    const struct hop_map_options *o = &request->options;
    uint32_t nodes = hop_topology_node_count(t), each = o->ranks_per_device ? o->ranks_per_device : 1;
    uint32_t ranks = hop_traffic_ranks(input->traffic);
    each = each < ranks ? each : ranks;
    enum hop_node_kind kind = HOP_NODE_NIC;
    struct slots slots = {.load = tool_alloc(nodes, sizeof *slots.load)};
    for (uint32_t n = 0; n < nodes; n++)
        kind = hop_topology_node(t, n)->kind == HOP_NODE_GPU ? HOP_NODE_GPU : kind;
    for (uint32_t n = 0; n < nodes; n++) {
        const char *device = hop_topology_node(t, n)->name;
        if (hop_topology_node(t, n)->kind != kind || is_excluded(o, t, n))
            continue;
        uint32_t node = hop_topology_server_of(t, n);
        TOOL_GROW(slots.slot, slots.count + each);
        for (uint32_t k = 0; k < each; k++)
            slots.slot[slots.count++] = (struct slot){device, node, slots.load[node]++};
    }
    memset(slots.load, 0, nodes * sizeof *slots.load);
    return slots;
}

/* ---- taking them ---- */

/* Whether the slot's node still takes a rank, which then is there. */
static bool take(const struct map_request *request, struct slots *slots, const struct slot *slot)
{
    uint32_t limit = request->options.ranks_per_node;
    if (limit && slots->load[slot->node] == limit)
        return false;
    slots->load[slot->node]++;
    return true;
}

static int by_round(const void *a, const void *b)
{
    const struct slot *x = a, *y = b;
    return x->number != y->number ? (x->number < y->number ? -1 : 1) : (x->node > y->node) - (x->node < y->node);
}

/* Brings one of the slots from `first` on there. */
static void draw(struct slots *slots, uint32_t first, uint64_t *seed)
{
    uint32_t pick = first + (uint32_t)(hop_draw(seed) % (slots->count - first));
    struct slot drawn = slots->slot[pick];
    slots->slot[pick] = slots->slot[first];
    slots->slot[first] = drawn;
}

/* NULL where there is too little room, which the mapping says. */
static struct hop_placement *make(const struct map_request *request, const struct map_input *input, uint64_t *seed)
{
    struct slots slots = find_slots(request, input);
    struct hop_placement *made;
    struct hop_buffer text = {0};
    uint32_t ranks = hop_traffic_ranks(input->traffic), placed = 0;
    if (!seed)
        qsort(slots.slot, slots.count, sizeof *slots.slot, by_round);
    for (uint32_t s = 0; s < slots.count && placed < ranks; s++) {
        if (seed)
            draw(&slots, s, seed);
        if (take(request, &slots, &slots.slot[s]))
            hop_buffer_printf(&text, "%u %s\n", placed++, slots.slot[s].device);
    }
    char *lines = tool_have(hop_buffer_take(&text));
    if (placed < ranks)
        return NULL;
    tool_try(hop_placement_parse(request->start, lines, strlen(lines), &made, &tool_diag));
    return tool_have(made);
}

/* ---- what was asked for ---- */

void map_read_start(const struct map_request *request, struct map_input *input)
{
    const char *choice = request->start;
    uint64_t seed = 1;
    if (!choice)
        return;
    if (strncmp(choice, "random", 6) == 0 && (choice[6] == '\0' || choice[6] == '=')) {
        if (choice[6])
            seed = tool_whole(&tool_map_command, "--start random=SEED", choice + 7, 0, UINT64_MAX);
        input->start = make(request, input, &seed);
    } else if (strcmp(choice, "cyclic") == 0) {
        input->start = make(request, input, NULL);
    } else if (strcmp(choice, "packed") == 0) {
        input->start = NULL;
    } else {
        enum hop_status read = hop_placement_load(choice, &input->start, &tool_diag);
        if (read == HOP_ERR_IO)
            hop_diag_expect(&tool_diag, "packed, cyclic, random=SEED, or a file with a line for every rank");
        tool_try(read);
    }
}
