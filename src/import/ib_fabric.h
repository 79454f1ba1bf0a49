/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An InfiniBand fabric as its own tools print it: ibnetdiscover.c reads nodes, ports and LIDs and makes a topology of
 * them; lfts.c reads forwarding tables, which speak of LIDs and port numbers, and adds them as routing rows.
 */
#ifndef HOP_IMPORT_IB_FABRIC_H
#define HOP_IMPORT_IB_FABRIC_H

#include "topology/topology.h"

#define HOP_IB_NODES_LIMIT (1u << 20)
#define HOP_IB_PORTS_LIMIT (1u << 22)
#define HOP_IB_PORT_MAX 254u   /* the highest port number of a switch */
#define HOP_IB_LID_MAX 0xbfffu /* the highest unicast LID */
#define HOP_IB_NO_PORT 255u    /* in a forwarding table: goes nowhere */

/* ---- lines ---- */

/* Reads line by line, and within a line from left to right. */
struct hop_ib_text {
    const struct hop_source *source;
    size_t next;   /* where the next line begins */
    uint32_t line; /* number of this line, 1-based */
    const char *start, *end;
    const char *at; /* what of the line was read */
};
void hop_ib_text_init(struct hop_ib_text *text, const struct hop_source *source);
bool hop_ib_next_line(struct hop_ib_text *text); /* false: the end */
void hop_ib_skip_blanks(struct hop_ib_text *text);
bool hop_ib_take(struct hop_ib_text *text, const char *word); /* blanks, then these characters; else nothing is read */
bool hop_ib_take_number(struct hop_ib_text *text, unsigned base, uint64_t high, uint64_t *value);
/* Skips to just behind the first `word` that follows; false: there is none, nothing is read. */
bool hop_ib_skip_to(struct hop_ib_text *text, const char *word);
/* Fills the place: where reading stands. Returns HOP_ERR_SYNTAX. */
enum hop_status hop_ib_malformed(const struct hop_ib_text *text, struct hop_diag *diag, const char *what,
                                 const char *expected);
void hop_ib_place(const struct hop_ib_text *text, uint32_t line, uint32_t column, struct hop_diag *diag);

/* ---- the fabric ---- */

enum hop_ib_kind { HOP_IB_SWITCH, HOP_IB_CA, HOP_IB_ROUTER };

struct hop_ib_node {
    enum hop_ib_kind kind;
    const char *id; /* "S-0002c90200404148": kind and GUID, as ports name their peers */
    const char *description;
    uint64_t guid;
    uint32_t lid; /* of a switch, 0: none */
    unsigned lmc;
    unsigned port_limit;
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
    struct hop_arena arena;
    struct hop_ib_node *nodes;
    uint32_t node_count, node_capacity;
    struct hop_ib_port *ports; /* a node's ports lie together */
    uint32_t port_count, port_capacity;
    struct hop_names ids;        /* node by id */
    struct hop_ib_owner *owners; /* by LID, HOP_IB_LID_MAX + 1 of them */
    struct hop_topology *topology;
};

/* Whether a text is ibnetdiscover's output, or forwarding tables alone. */
bool hop_ib_is_fabric(const struct hop_source *source);

/* Reads a fabric and, where routes is not NULL, the forwarding tables of its switches; unfinished. */
enum hop_status hop_ib_read(const struct hop_source *source, const struct hop_source *routes,
                            struct hop_topology **topology, struct hop_diag *diag);

/* lfts.c: reads tables from the line that text stands on to its end. */
enum hop_status hop_ib_read_tables(struct hop_ib_fabric *fabric, struct hop_ib_text *text, struct hop_diag *diag);
bool hop_ib_is_table(const struct hop_ib_text *text); /* whether this line opens a table */

#endif
