/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Servers: which nodes stand in one box, and its name.
 *
 *     node0.gpu0 --pcie-- node0.switch0 --pcie-- node0.nic0        server node0
 *     gpu0 --pcie-- switch0                                        the one server without a name
 *
 * What the names of all devices that PCIe joins have in common, up to a point, is the name of their server. Where they have
 * nothing in common, and of a device on its own, it is what stands before the first point of its name. A name that only
 * says what the device is, as in gpu.0, is none.
 */
#include "topology/servers.h"

#include "topology/topology.h"

/* What links of PCIe join, by its lowest node. */
struct box {
    const char *text; /* the first device's name */
    size_t length;    /* of it that is the server's */
    uint32_t devices;
};

size_t hop_server_length(const char *device)
{
    const char *point = strchr(device, '.');
    return point ? (size_t)(point - device) : 0;
}

/* The length up to the last point before `end`. */
static size_t shorten(const char *text, size_t end)
{
    while (end > 0 && text[--end] != '.') {
    }
    return end;
}

static void take_device(struct box *box, const struct hop_node *node)
{
    if (box->devices++ == 0)
        *box = (struct box){node->name, shorten(node->name, strlen(node->name)), 1};
    while (box->length > 0 && (strncmp(box->text, node->name, box->length) != 0 || node->name[box->length] != '.'))
        box->length = shorten(box->text, box->length);
}

/* How much of a node's name is its server's. */
static size_t length_of(const struct box *box, const struct hop_node *node)
{
    const char *kind = hop_node_kind_name(node->kind);
    bool common = box->devices > 1 && box->length > 0 && strncmp(box->text, node->name, box->length) == 0 &&
                  node->name[box->length] == '.';
    size_t length = common ? box->length : hop_server_length(node->name);
    return length == strlen(kind) && memcmp(node->name, kind, length) == 0 ? 0 : length;
}

static uint32_t *join_boxes(const struct hop_topology *topology)
{
    uint32_t *set = malloc(((size_t)topology->node_count + 1) * sizeof *set);
    for (uint32_t n = 0; set && n < topology->node_count; n++)
        set[n] = n;
    for (uint32_t i = 0; set && i < topology->link_count; i++) {
        const struct hop_link *link = &topology->links[i];
        if (strcmp(hop_link_family(link->kind), "pcie") == 0)
            hop_set_join(set, link->ends[0], link->ends[1]);
    }
    return set;
}

/* The number of a node's server by its name; a new one where a device has it. */
static uint32_t number(struct hop_topology *topology, struct hop_names *names, const struct box *box, uint32_t n)
{
    const struct hop_node *node = &topology->nodes[n];
    char text[64] = "";
    memcpy(text, node->name, length_of(box, node));
    uint32_t server = hop_names_get(names, text);
    if (server != UINT32_MAX || !hop_node_is_device(node->kind))
        return server;
    const char *name = hop_arena_string(&topology->arena, text, strlen(text));
    if (!name || !hop_names_put(names, name, topology->server_count))
        return HOP_NONE;
    topology->servers[topology->server_count] = name;
    return topology->server_count++;
}

enum hop_status hop_servers_build(struct hop_topology *topology, struct hop_diag *diag)
{
    size_t nodes = topology->node_count;
    struct hop_names names = {0};
    uint32_t *set = join_boxes(topology);
    struct box *boxes = calloc(nodes, sizeof *boxes);
    topology->server_of = hop_arena_alloc(&topology->arena, nodes * sizeof *topology->server_of);
    topology->servers = hop_arena_alloc(&topology->arena, nodes * sizeof *topology->servers);
    bool fine = set && boxes && !topology->arena.failed;
    for (uint32_t n = 0; fine && n < nodes; n++) {
        if (hop_node_is_device(topology->nodes[n].kind))
            take_device(&boxes[hop_set_find(set, n)], &topology->nodes[n]);
    }
    for (unsigned devices = 2; devices-- > 0;) { /* first these, then what else is in their servers */
        for (uint32_t n = 0; fine && n < nodes; n++) {
            enum hop_node_kind kind = topology->nodes[n].kind;
            if (hop_node_is_device(kind) != devices)
                continue;
            topology->server_of[n] =
                kind == HOP_NODE_FABRIC ? HOP_NONE : number(topology, &names, &boxes[hop_set_find(set, n)], n);
            fine = !devices || topology->server_of[n] != HOP_NONE;
        }
    }
    free(set);
    free(boxes);
    hop_names_finish(&names);
    return fine ? HOP_OK : hop_fail_memory(diag);
}

uint32_t hop_topology_server_count(const struct hop_topology *topology)
{
    return topology->server_count;
}

uint32_t hop_topology_server_of(const struct hop_topology *topology, uint32_t node)
{
    return topology->server_of[node];
}

const char *hop_topology_server_name(const struct hop_topology *topology, uint32_t server)
{
    return topology->servers[server];
}

const char *hop_topology_name_in_server(const struct hop_topology *topology, uint32_t node)
{
    const char *name = topology->nodes[node].name;
    uint32_t server = topology->server_of[node];
    size_t length = server == HOP_NONE ? 0 : strlen(topology->servers[server]);
    return length > 0 && strncmp(name, topology->servers[server], length) == 0 && name[length] == '.'
               ? name + length + 1
               : name;
}
