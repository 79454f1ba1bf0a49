/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulate: the executor that predicts, at one of two fidelities.
 *
 * fluid    transfers move at rates that the network's models grant; rates change when a transfer starts or ends.
 * packet   transfers are cut into packets, which queue for links under credit-based flow control (docs/packet.md).
 *          Models are not asked; a timeline then gives one segment a transfer, its mean rate and what held it, without
 *          a blocker, and its events are packet-hops.
 */
#ifndef HOPCAST_SIMULATE_H
#define HOPCAST_SIMULATE_H

#include "hopcast/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the input buffer at a link's far end is organised; fidelity packet. */
enum hop_packet_queues {
    HOP_PACKET_SHARED,      /* a queue an output, all out of one pool of credits */
    HOP_PACKET_FIFO,        /* one queue: the first packet holds up all behind it */
    HOP_PACKET_PER_TRANSFER /* a queue and credits for each transfer: nobody holds up another one */
};

/* What breaks during a simulation of packets; docs/packet.md says what follows from it. */
enum hop_fault_kind {
    HOP_FAULT_LINK,   /* a link is dead from then on */
    HOP_FAULT_CREDIT, /* the buffers behind a link have room for one full packet less from then on */
    HOP_FAULT_RESET   /* a node, such as a card, loses what it holds, and takes and sends nothing for a time */
};
struct hop_fault {
    enum hop_fault_kind kind;
    double at_s, lasts_s; /* 0 to 1e6 s; lasts_s: of a reset */
    uint32_t link;        /* directed */
    bool both;            /* HOP_FAULT_LINK: the other direction, too */
    uint32_t node;        /* HOP_FAULT_RESET */
};
/* Reads "link A--B at TIME" (both directions), "link A->B at TIME", "credit A->B at TIME" or "reset NODE at TIME for TIME", with
 * links named as for hop_topology_set. HOP_ERR_SYNTAX, or HOP_ERR_NOT_FOUND where the topology has no such link or node; the
 * diagnostic has no place. */
HOP_API enum hop_status hop_fault_read(const struct hop_topology *topology, const char *text, struct hop_fault *fault,
                                       struct hop_diag *diag);

/* Of fidelity packet; all zero is the default. */
struct hop_packet_options {
    size_t size;            /* see hop_version */
    uint64_t payload_bytes; /* of a packet, 16 to 65536; 0: the topology's packet_payload, or, where nobody set it,
                             * pcie_payload */
    uint64_t buffer_bytes;  /* of an input buffer, beyond what its link sends during its latency and the credits' delay;
                             * from two payloads; 0: 32 payloads */
    double credit_delay_s;  /* from a packet's leaving a buffer to the credits' being back at the sender; 0 to 1 s */
    double startup_s;       /* from a source engine's taking a transfer to its first packet; 0 to 1 s */
    uint64_t read_bytes;    /* host memory is read by the devices: most bytes of a transfer from there that are under way
                             * at once, from a payload; 0: two payloads a link of its route and what the slowest link
                             * sends during the route's latency */
    enum hop_packet_queues queues;
    enum hop_ring_protection rings; /* of a torus */
    const struct hop_fault *faults; /* up to 1,024, in any order */
    uint32_t fault_count;
};

struct hop_simulate_options {
    size_t size; /* see hop_version */
    enum hop_detail detail;
    bool sources_unlimited; /* step A off: a source starts every ready transfer at once */
    /* Called now and then with the share of operations that ended; may be NULL. */
    void (*progress)(double done, void *context);
    void *context;
    enum hop_fidelity fidelity;
    const struct hop_packet_options *packet; /* fidelity packet; NULL: the default. Used by hop_simulation_create only */
    /* Fidelity fluid, models with links: ends with HOP_ERR_LIMIT once it has taken so much, in units of about 10 ns that are counted, not
     * timed, so that it is the same on every machine; 0: no limit. */
    uint64_t max_work;
    /* Asked now and then, with the context of `progress`; true: HOP_ERR_STOPPED. May be NULL. */
    bool (*stop)(void *context);
};

/* Fidelity packet refuses model loggp, and what would take more than 2e10 packet-hops; where routes form circles,
 * packets can block each other for good, which is HOP_ERR_DEADLOCK: the diagnostic names the links of the circle. With faults
 * that is no error: hop_timeline_delivery says what did not arrive, and hop_timeline_fault_note why. */

/* Simulates once. Devices, routes and deadlocks between dependencies and source queues are checked first; places in the diagnostic
 * are the schedule's. options may be NULL (detail segments). The timeline is the caller's; network and schedule must outlive it. */
HOP_API enum hop_status hop_simulate(struct hop_network *network, const struct hop_schedule *schedule,
                                     const struct hop_simulate_options *options, struct hop_timeline **timeline,
                                     struct hop_diag *diag);

/* For many simulations of one schedule: prepare once, run often, without allocation once the network remembers every active set. */
struct hop_simulation;
HOP_API enum hop_status hop_simulation_create(struct hop_network *network, const struct hop_schedule *schedule,
                                              const struct hop_simulate_options *options,
                                              struct hop_simulation **simulation, struct hop_diag *diag);
HOP_API void hop_simulation_destroy(struct hop_simulation *simulation); /* NULL is allowed */
/* The makespan in seconds. */
HOP_API enum hop_status hop_simulation_run(struct hop_simulation *simulation, double *makespan_s, struct hop_diag *diag);
/* The last run's timeline, the simulation's own until the next run. */
HOP_API struct hop_timeline *hop_simulation_timeline(struct hop_simulation *simulation);

#ifdef __cplusplus
}
#endif
#endif
