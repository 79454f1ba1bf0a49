/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Topology: what is wired to what.
 *
 *            root0 ---- host0          nodes: devices (gpu, host memory, nic, nvme, fpga),
 *           /     \                    and what joins them (switch, root complex, socket, ...)
 *      switch0   switch1               links: full duplex, a capacity each way
 *       /   \     /   \
 *    gpu0  gpu1 gpu2  gpu3
 *
 * A topology is built (create, add nodes and links, finish) or read (file, built-in name, live
 * machine); finish checks it and derives domains and capacities. A finished topology only changes
 * by hop_topology_set. Nodes and links are known by index, in the order of their addition.
 *
 * A directed link is link * 2 + direction: direction 0 goes from ends[0] to ends[1]. On a PCIe or
 * memory link ends[0] is the downstream end, so direction 0 is `up`, direction 1 `down`.
 *
 * A link of kind chip joins two switches that are parts (virtual switches) of one chip: transfers between their devices go inside,
 * not over the uplinks. The parts of a chip are joined pairwise: a route takes at most one such link, and none to go up elsewhere.
 */
#ifndef HOPCAST_TOPOLOGY_H
#define HOPCAST_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hopcast/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_NONE UINT32_MAX /* no index */

/* enumerator, name in files, what it is; devices first */
#define HOP_NODE_KIND_LIST(X)                                                                      \
    X(HOP_NODE_GPU, "gpu", "accelerator")                                                          \
    X(HOP_NODE_HOST, "host", "host memory")                                                        \
    X(HOP_NODE_NIC, "nic", "network interface")                                                    \
    X(HOP_NODE_NVME, "nvme", "storage device")                                                     \
    X(HOP_NODE_FPGA, "fpga", "FPGA or other endpoint")                                             \
    X(HOP_NODE_SWITCH, "switch", "switch inside a server")                                         \
    X(HOP_NODE_ROOT, "root", "PCIe root complex")                                                  \
    X(HOP_NODE_SOCKET, "socket", "fabric inside a CPU socket")                                     \
    X(HOP_NODE_FABRIC, "fabric", "switch of a network fabric")

enum hop_node_kind {
#define HOP_NODE_KIND_ENUM(code, name, text) code,
    HOP_NODE_KIND_LIST(HOP_NODE_KIND_ENUM)
#undef HOP_NODE_KIND_ENUM
        HOP_NODE_KIND_COUNT
};

/* enumerator, name in files, the domain family that it belongs to */
#define HOP_LINK_KIND_LIST(X)                                                                      \
    X(HOP_LINK_PCIE, "pcie", "pcie")                                                               \
    X(HOP_LINK_MEMORY, "memory", "pcie")                                                           \
    X(HOP_LINK_SOCKET, "socket", "pcie")                                                           \
    X(HOP_LINK_CHIP, "chip", "pcie")                                                               \
    X(HOP_LINK_NVLINK, "nvlink", "nvlink")                                                         \
    X(HOP_LINK_XGMI, "xgmi", "xgmi")                                                               \
    X(HOP_LINK_C2C, "c2c", "c2c")                                                                  \
    X(HOP_LINK_INFINIBAND, "infiniband", "infiniband")                                             \
    X(HOP_LINK_ETHERNET, "ethernet", "ethernet")                                                   \
    X(HOP_LINK_TORUS, "torus", "torus")

enum hop_link_kind {
#define HOP_LINK_KIND_ENUM(code, name, family) code,
    HOP_LINK_KIND_LIST(HOP_LINK_KIND_ENUM)
#undef HOP_LINK_KIND_ENUM
        HOP_LINK_KIND_COUNT
};

/* A source engine holds one transfer from its start to its end. */
#define HOP_ENGINES_DEFAULT (-1) /* gpu, nvme, fpga: one on PCIe; everything else unlimited */
#define HOP_ENGINES_UNLIMITED 0

/* A network card that moves packets between memory and network itself, as APEnet+ does (Ammendola et al. 2013, sections 3 and 4). It
 * has an engine a way; each moves one packet after the other. */
enum hop_card_way {
    HOP_CARD_HOST_READ,   /* from host memory, to be sent */
    HOP_CARD_DEVICE_READ, /* from an accelerator's memory (or any other device's), to be sent */
    HOP_CARD_HOST_WRITE,  /* what came, into host memory */
    HOP_CARD_DEVICE_WRITE,
    HOP_CARD_WAYS
};
struct hop_card_engine {
    double processor_s; /* for each packet, of the card's one processor, which all four engines share; then */
    double request_s;   /* from a request to the first byte; then */
    double
        window_bytes; /* asked for at once, the next when these have come; 0: without end, so that only latency is left */
    double
        window_processor_s; /* for each window, of that processor, beside the read, once it is free; 0 without windows */
    double rate_Bps; /* at which the packet's bytes come or go; INFINITY: at once */
};
struct hop_card {
    struct hop_card_engine ways[HOP_CARD_WAYS];
    double buffer_bytes;   /* for packets that were read, an engine; 0: as those of links */
    double put_s;          /* software of a put until the card has it, */
    double completion_s;   /* and from then until the next put can begin; */
    double device_completion_s; /* so much more out of device memory, once it has been read */
    double copy_s;         /* a copy between device and host memory, beside its bytes: where puts are staged */
    const char *processor; /* NULL: its own; cards with a processor of the same name share it */
};

struct hop_node {
    const char *name;        /* unique: letters, digits, '_', '-', '.', ':' is not allowed */
    enum hop_node_kind kind;
    const char *label;       /* what it is, for people ("NVIDIA A100-SXM4-40GB"), or NULL */
    const char *bus_id;      /* PCI address or fabric GUID, or NULL */
    int numa;                /* NUMA node, -1 unknown */
    int engines;             /* how many transfers it sends at once over PCIe; see above */
    int accelerator_engines; /* the same over accelerator links and networks; by default unlimited */
    double tau;              /* root complex: loss of a transfer that crosses it, NAN: parameter `tau` */
    const struct hop_card
        *card; /* nic: how it moves packets; NULL: as fast as its links carry them. Copied when added */
};

struct hop_link {
    uint32_t ends[2];        /* node indices; PCIe and memory: downstream end first */
    enum hop_link_kind kind;
    double capacity_Bps[2];  /* per direction; 0: derive it, PCIe from generation and width, others from `parameter` */
    const char *parameter;   /* named parameter that gives the capacity of one link; NULL: the kind's default */
    double duplex_Bps
        [2]; /* what a direction carries while the other one is full, too; NAN: the capacity, x `pcie_duplex` or `network_duplex` */
    double latency_s;        /* seconds; NAN: parameter `link_latency` */
    unsigned generation;     /* PCIe or NVLink generation, 0 unknown */
    unsigned width;          /* PCIe lanes, 0 unknown */
    unsigned count;          /* bonded links, 0 is read as 1; the capacity is that of all of them */
    const char *origin;      /* where the capacity comes from; set by finish when derived */
    double low_Bps[2], high_Bps[2]; /* per direction: a 90 % interval of the capacity; 0: none is known */
    bool inherited[2]; /* per direction: what was fitted was measured on other links of its kind, not on this one */
    double duplex_low_Bps
        [2]; /* per direction: the other one was measured while this one was busy, never this one, which then carries
                               * as much at least, its capacity at most; 0: that is not so */
    unsigned
        dimension; /* of a torus, from 1, in the order in which routes correct them; 0: the link is part of no ring */
    bool
        cut_through; /* packets go on at its far end while they still come, where the next link is no faster (fidelity packet) */
    bool dateline; /* of the links of a ring, the one that joins its last position to its first */
};

/* A named value. Everything that a source does not say is one of these. */
struct hop_parameter {
    const char *name;
    double value;
    const char *unit;
    const char *origin;
    double uncertainty;      /* one standard deviation, same unit; NAN unknown */
    double low, high; /* what it may be for all that is known, low <= value <= high; both the value: it was told */
};

/* A maximal connected set of links of one family (see HOP_LINK_KIND_LIST), ruled by one model. */
struct hop_domain {
    const char *name;        /* the family's name, numbered when there are several: "pcie", "pcie1" */
    const char *family;
    uint32_t link_count;
    const uint32_t *links;   /* link indices, ascending */
};

struct hop_topology;

/* ---- reading ---- */

/* Reads SOURCE: a built-in machine's name, "live" (this machine), "-" (standard input), or a file in any dialect
 * (detected from its content). The caller owns the result and frees it with hop_topology_destroy. */
HOP_API enum hop_status hop_topology_load(const char *source, struct hop_topology **topology, struct hop_diag *diag);

/* What is said beside a source; NULL: nothing. */
struct hop_beside {
    const char *
        routes; /* forwarding tables of a fabric in ibnetdiscover's output, as `dump_lfts` and `ibroute` print them ("-" for
                         * one of the two: standard input): ways in the fabric are those of the tables */
    const char *
        gpu; /* what the GPUs are, as nvidia-smi prints it ("H100"), in place of what the source says: generations and */
    const char
        *cpu; /* what the processors are ("EPYC 9575F"): rates that captures leave out follow (docs/uncalibrated.md) */
};
/* The same with more than the source says. */
HOP_API enum hop_status hop_topology_load_with(const char *source, const struct hop_beside *beside,
                                               struct hop_topology **topology, struct hop_diag *diag);

/* The same as hop_topology_load from memory; name stands for the file in diagnostics. A cluster file names others, which are read. */
HOP_API enum hop_status hop_topology_parse(const char *name, const char *text, size_t size, struct hop_topology **topology,
                                           struct hop_diag *diag);

/* Built-in machines by index: name and one line about it, false past the last. */
HOP_API bool hop_topology_builtin(size_t index, const char **name, const char **summary);

/* ---- building ---- */

/* An empty topology; name is copied. NULL when out of memory. */
HOP_API struct hop_topology *hop_topology_create(const char *name);
HOP_API void hop_topology_destroy(struct hop_topology *topology); /* NULL is allowed */

/* A node with every optional field at its default. */
HOP_API struct hop_node hop_node_default(enum hop_node_kind kind, const char *name);
/* A link with every optional field at its default. */
HOP_API struct hop_link hop_link_default(enum hop_link_kind kind, uint32_t from, uint32_t to);

/* Strings are copied. index (may be NULL) receives the new node's or link's index. Refused: a duplicate or
 * malformed name, unknown ends, a self link, values that are negative, not finite or (capacities) below 1 byte/s. A second link of
 * one kind between two nodes is refused by finish. */
HOP_API enum hop_status hop_topology_add_node(struct hop_topology *topology, const struct hop_node *node, uint32_t *index,
                                              struct hop_diag *diag);
HOP_API enum hop_status hop_topology_add_link(struct hop_topology *topology, const struct hop_link *link, uint32_t *index,
                                              struct hop_diag *diag);
/* A row of a destination-based routing table, as an InfiniBand forwarding table has: what goes to the device `to` leaves the fabric
 * switch `at` over `link`, one of its links. Before finish. Where a fabric has no rows at all, finish makes them: fewest links,
 * spread over the ways in the order of the destinations. */
HOP_API enum hop_status hop_topology_add_route(struct hop_topology *topology, uint32_t at, uint32_t to, uint32_t link,
                                               struct hop_diag *diag);
/* The loss of transfers between two root complexes, either way, in place of what the roots themselves say. Before or after finish; the
 * last one counts. */
HOP_API enum hop_status hop_topology_add_crossing(struct hop_topology *topology, uint32_t root, uint32_t other_root, double tau,
                                                  struct hop_diag *diag);
/* A remark for people: what an importer inferred, skipped or doubts. */
HOP_API enum hop_status hop_topology_add_note(struct hop_topology *topology, const char *format, ...) HOP_PRINTF(2, 3);

/* The models that are right for this machine unless somebody says otherwise, as hop_network_create takes them ("pcie",
 * "DOMAIN=NAME,..."); NULL or "": none, each domain gets the model that measurements of its kind speak for. A published machine asks
 * for its published model this way. Before or after finish; the last one counts. Whether there are such models is checked by
 * hop_network_create. */
HOP_API enum hop_status hop_topology_set_models(struct hop_topology *topology, const char *models, struct hop_diag *diag);

/* Checks every invariant (PCIe is a forest, devices are leaves of it, no capacity is zero, ...) and derives
 * capacities and domains. Call it once, after the last addition. */
HOP_API enum hop_status hop_topology_finish(struct hop_topology *topology, struct hop_diag *diag);

/* Sets "NAME=VALUE" on a finished topology: a parameter ("tau=0.2", "pcie_payload=128"), or
 * "LINK.capacity=12GB/s" (both directions), "A->B.capacity=..." (one), the same with duplex ("none": the default), "LINK.latency=1us", "NODE.engines=2" or
 * "NODE.accelerator_engines=2" ("unlimited"), "ROOT.tau=0.1", "ROOT--ROOT.tau=0.1", or "models=..." (hop_topology_set_models); LINK is "A--B", with ":KIND" behind it where links of several kinds join the two. Derived capacities follow.
 * HOP_ERR_INVALID, too, where a parameter would change nothing, since every link or root complex has a value of its own. */
HOP_API enum hop_status hop_topology_set(struct hop_topology *topology, const char *assignment, struct hop_diag *diag);

/* Sets a parameter by name with its origin. */
HOP_API enum hop_status hop_topology_set_parameter(struct hop_topology *topology, const char *name, double value,
                                                   const char *origin, double uncertainty, struct hop_diag *diag);
/* Says between which values a parameter lies, in its own unit. Whoever sets the parameter afterwards says both again. */
HOP_API enum hop_status hop_topology_set_range(struct hop_topology *topology, const char *name, double low, double high,
                                               struct hop_diag *diag);

/* ---- looking ---- */

HOP_API const char *hop_topology_name(const struct hop_topology *topology);
/* The models that it asks for (hop_topology_set_models), NULL: none. */
HOP_API const char *hop_topology_models(const struct hop_topology *topology);
HOP_API uint32_t hop_topology_node_count(const struct hop_topology *topology);
HOP_API uint32_t hop_topology_link_count(const struct hop_topology *topology);
HOP_API uint32_t hop_topology_domain_count(const struct hop_topology *topology);
HOP_API const struct hop_node *hop_topology_node(const struct hop_topology *topology, uint32_t index);
HOP_API const struct hop_link *hop_topology_link(const struct hop_topology *topology, uint32_t index);
HOP_API const struct hop_domain *hop_topology_domain(const struct hop_topology *topology, uint32_t index);
/* The domain of a link. */
HOP_API uint32_t hop_topology_link_domain(const struct hop_topology *topology, uint32_t link);
/* What the machine has and its source left out, so that nothing is proved of the machine by what is found on this topology
 * (a file for NCCL that lists no GPUs, say); NULL: nothing that is known. */
HOP_API const char *hop_topology_lacks(const struct hop_topology *topology);
/* Remarks by index, NULL past the last. */
HOP_API const char *hop_topology_note(const struct hop_topology *topology, size_t index);
/* The i-th parameter: every named default, overridden or not; NULL past the last. */
HOP_API const struct hop_parameter *hop_topology_parameter_at(const struct hop_topology *topology, size_t index);
/* A parameter by name, NULL when there is none. */
HOP_API const struct hop_parameter *hop_topology_parameter(const struct hop_topology *topology, const char *name);

/* The node of that name, HOP_NONE when there is none. */
HOP_API uint32_t hop_topology_find(const struct hop_topology *topology, const char *name);
/* The device name nearest to a misspelt one (edit distance), NULL when none is near. */
HOP_API const char *hop_topology_nearest(const struct hop_topology *topology, const char *name);
/* Finds a device. HOP_ERR_NOT_FOUND: no node has the name, or one that is no device; the diagnostic has no place, and
 * names a device that is there: the nearest name, or the first GPU. node may be NULL. */
HOP_API enum hop_status hop_topology_device(const struct hop_topology *topology, const char *name, uint32_t *node,
                                            struct hop_diag *diag);
/* Whether transfers may start and end there. */
HOP_API bool hop_node_is_device(enum hop_node_kind kind);
/* The link from a node towards its root, HOP_NONE at the top or off PCIe. */
HOP_API uint32_t hop_topology_upstream(const struct hop_topology *topology, uint32_t node);
/* The links of a node, ascending. */
HOP_API const uint32_t *hop_topology_links_of(const struct hop_topology *topology, uint32_t node, uint32_t *count);
/* The loss of a transfer that crosses a root complex (node's tau, or the parameter). */
HOP_API double hop_topology_tau(const struct hop_topology *topology, uint32_t root);
/* Pairs of root complexes with a loss of their own, by index; false past the last. */
HOP_API bool hop_topology_crossing(const struct hop_topology *topology, uint32_t index, uint32_t roots[2], double *tau);
/* The loss of a transfer that enters the host side through one root complex and leaves it through another (or the same): that of
 * the pair, else the last root's. */
HOP_API double hop_topology_tau_between(const struct hop_topology *topology, uint32_t first_root, uint32_t last_root);
/* *host: the host memory nearest to a device (fewest links, then lowest index), HOP_NONE when there is none in reach.
 * Fails for want of memory alone. */
HOP_API enum hop_status hop_topology_nearest_host(const struct hop_topology *topology, uint32_t device, uint32_t *host,
                                                  struct hop_diag *diag);
/* Servers are numbered in the order of their first device. A device's server is called what the names of all devices that
 * PCIe joins have in common, up to a point: "node3" of node3.gpu0 and node3.nic0. Where that is nothing it is what stands
 * before the first point of its own name, and "" where there is none or it only says what the device is, as in gpu.0. */
HOP_API uint32_t hop_topology_server_count(const struct hop_topology *topology);
/* The server that a node is in; HOP_NONE: in none, as switches of a fabric are. */
HOP_API uint32_t hop_topology_server_of(const struct hop_topology *topology, uint32_t node);
HOP_API const char *hop_topology_server_name(const struct hop_topology *topology, uint32_t server);
/* A node's name without that of its server: "gpu0" of node3.gpu0. */
HOP_API const char *hop_topology_name_in_server(const struct hop_topology *topology, uint32_t node);
/* "A->B", for a directed link. Returns buffer. */
HOP_API char *hop_topology_link_name(const struct hop_topology *topology, uint32_t directed, char *buffer, size_t size);

HOP_API const char *hop_node_kind_name(enum hop_node_kind kind);
HOP_API const char *hop_link_kind_name(enum hop_link_kind kind);

/* Payload rate in bytes/s of a PCIe link: lanes x transfer rate x line code x payload / (payload + overhead).
 * generation 1 to 6; 0 for anything else. (PCI Express Base Specification; Neugebauer et al., SIGCOMM 2018, section 3.) */
HOP_API double hop_pcie_rate_Bps(unsigned generation, unsigned width, double payload_bytes, double header_bytes);

/* ---- routes ---- */

/* The way of a transfer. Accelerator links (NVLink, xGMI, C2C) are taken when they join the two ends without
 * another device between; else links inside the server: the fewest, then the widest bottleneck, then the lowest
 * indices; else a network fabric between the two, from NIC to NIC as its routing tables say, the pair of NICs chosen
 * by the same rules, among equals each device's own: the i-th GPU of a server takes the i-th of the NICs nearest to it. Devices never forward, but a NIC joins PCIe and a network fabric. */
struct hop_route {
    uint32_t from, to;       /* nodes */
    uint32_t link_count;
    const uint32_t *links;   /* directed links in the order of travel */
    double latency_s;        /* sum over the links */
    double capacity_Bps;     /* the lowest of the links' capacities */
    double ceiling_Bps;      /* the most that one transfer gets, whatever the links carry; INFINITY: no ceiling is known */
};

/* Ceilings are parameters by the level that a route over PCIe reaches: ceiling_switch (several switches), ceiling_root (crosses a root
 * complex), ceiling_socket (takes a socket link); and ceiling_network of every route over a network. */

/* Remembers routes between calls, as indices from 0 in the order in which they were first asked for. One thread at a time. */
struct hop_router;
HOP_API struct hop_router *hop_router_create(const struct hop_topology *topology); /* NULL: out of memory */
HOP_API void hop_router_destroy(struct hop_router *router);
/* The route's index; HOP_ERR_NO_ROUTE names the two devices. The topology must outlive the router. */
HOP_API enum hop_status hop_router_find(struct hop_router *router, uint32_t from, uint32_t to, uint32_t *route,
                                        struct hop_diag *diag);
/* How many routes there are. */
HOP_API uint32_t hop_router_count(const struct hop_router *router);
HOP_API const struct hop_route *hop_router_route(const struct hop_router *router, uint32_t route);

/* ---- cards ---- */

/* "host_read", "device_read", "host_write", "device_write". */
HOP_API const char *hop_card_way_name(enum hop_card_way way);
/* What an engine moves of a long transfer in packets of so many bytes (parameter `packet_payload`), bytes/s: a packet over
 * processor_s + request_s x its part of a window + its bytes / rate_Bps, or over its part of window_processor_s where that is more.
 * Routes through a card have the least of theirs as ceiling. */
HOP_API double hop_card_rate_Bps(const struct hop_card_engine *engine, double packet_bytes);

/* ---- circles ---- */

/* What keeps the packets of a ring of links from waiting for each other's buffers in a circle. */
enum hop_ring_protection {
    HOP_RING_DATELINE, /* two virtual channels a link of the ring: who passes its dateline goes on in the second */
    HOP_RING_BUBBLE,   /* a packet enters a ring only where it leaves room for another one */
    HOP_RING_NONE      /* nothing */
};
/* The buffer behind a directed link, or one of its two. */
struct hop_link_channel {
    uint32_t link, channel;
};
/* Buffers of network links that wait for each other in a circle, whatever a protection does, where each endpoint of a fabric sends to
 * each other one; each waits for the next, the last for the first. count 0: there is no such circle, and no packets can block each
 * other for good (the argument: src/topology/channels.c). The array is the caller's, who frees it. */
HOP_API enum hop_status hop_topology_find_circle(const struct hop_topology *topology,
                                                 enum hop_ring_protection protection, struct hop_link_channel **circle,
                                                 uint32_t *count, struct hop_diag *diag);

/* ---- writing ---- */

/* Native JSON (docs/topology.schema.json). A new string that the caller frees; NULL: out of memory, or a generated fabric
 * with more rows than any file may have (docs/fabrics.md). */
HOP_API char *hop_topology_to_json(const struct hop_topology *topology);

#ifdef __cplusplus
}
#endif
#endif
