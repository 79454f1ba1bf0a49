/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An InfiniBand fabric as its own tools print it: ibnetdiscover.c reads nodes, ports and LIDs and makes a topology of
 * them; lfts.c reads forwarding tables, which speak of LIDs and port numbers, and adds them as routing rows.
 */
#ifndef HOP_IMPORT_IB_FABRIC_H
#define HOP_IMPORT_IB_FABRIC_H

#include "import/lines.h"
#include "topology/build.h"

#define HOP_IB_NODES_LIMIT (1u << 20)
#define HOP_IB_PORTS_LIMIT (1u << 22)
#define HOP_IB_PORT_MAX 254u   /* the highest port number of a switch */
#define HOP_IB_LID_MAX 0xbfffu /* the highest unicast LID */
#define HOP_IB_NO_PORT 255u    /* in a forwarding table: goes nowhere */

enum hop_ib_kind { HOP_IB_SWITCH, HOP_IB_CA, HOP_IB_ROUTER };

struct hop_ib_node {
    enum hop_ib_kind kind;
    const char *id; /* "S-0002c90200404148": kind and GUID, as ports name their peers */
    const char *description;
    uint64_t guid;
    uint32_t lid; /* of a switch, 0: none */
    unsigned lmc, port_limit;
    uint32_t first_port, port_count;
    uint32_t line;
    bool left_out;          /* nothing of it is in the topology */
    uint32_t topology_node; /* of a switch, HOP_NONE: left out */
};

struct hop_ib_port {
    uint32_t node;
    unsigned number;
    const char *peer_id;
    unsigned peer_number;
    uint32_t peer; /* a port */
    uint64_t guid; /* of a channel adapter's port */
    uint32_t lid;
    unsigned lmc;
    uint32_t peer_lid;
    unsigned width; /* lanes, 0 unknown */
    int speed;      /* index of a rate, -1 unknown */
    uint32_t line, column;
    uint32_t topology_node; /* of a channel adapter's port, HOP_NONE: left out */
    uint32_t link;          /* of the topology, HOP_NONE: none */
};

/* Whose LID it is: a switch (port HOP_NONE) or a port. */
struct hop_ib_owner {
    uint32_t node, port; /* node HOP_NONE: nobody's */
};

struct hop_ib_fabric {
    struct hop_build *build;
    struct hop_lines lines;
    struct hop_ib_node *nodes;
    uint32_t node_count;
    struct hop_ib_port *ports; /* a node's ports lie together */
    uint32_t port_count;
    struct hop_names ids;        /* node by id */
    struct hop_ib_owner *owners; /* by LID, HOP_IB_LID_MAX + 1 of them */
};

/* Whether a text is ibnetdiscover's output, or forwarding tables alone. */
bool hop_ib_is_fabric(const struct hop_source *source);

/* Reads a fabric and, where routes is not NULL, the forwarding tables of its switches. */
void hop_ib_read(const struct hop_source *source, const struct hop_source *routes, struct hop_build *build);

/* lfts.c: reads tables from the line that stands in fabric->lines to their end. */
void hop_ib_read_tables(struct hop_ib_fabric *fabric);
bool hop_ib_is_table(const struct hop_lines *lines); /* whether this line opens a table */

#endif
