/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the timeline room: what a timeline holds. Who executes a schedule fills it and then calls hop_timeline_index.
 *
 * Transfers on one route move alike, so rates are recorded per route in use (a class), not per transfer:
 *
 *     log:   class 3  [0, 36.1 ms) 3.7 GB/s head-of-line     class 5  [0, 36.1 ms) ...    class 3  [36.1, 65 ms) ...
 *     span:  transfer c: class 3, ready 0, start 0, flows from 0, ends 65 ms
 *
 * A transfer's segments are its class's records between its start and its end.
 *
 * Under model loggp nothing has a rate and no links are shared: each operation has its own pieces (serial.c).
 */
#ifndef HOP_TIMELINE_H
#define HOP_TIMELINE_H

#include "base/base.h"
#include "hopcast/run.h"
#include "hopcast/timeline.h"

struct hop_record {
    uint32_t class_index;
    uint32_t count; /* transfers that move */
    double start_s, end_s;
    double rate_Bps;
    enum hop_rule rule;
    uint32_t link, blocker; /* directed link, operation; HOP_NONE: none */
};

struct hop_class {
    uint32_t route;   /* of the network's router */
    double alone_Bps; /* rate with the network to itself */
    const struct hop_route *way;
};

struct hop_op_times {
    struct hop_span span;
    double flow_s;       /* copies: when bytes begin to move */
    uint32_t waited_for; /* the operation whose end let the source engine take it */
};

/* Model loggp. */
struct hop_piece {
    double start_s, end_s;
    enum hop_rule rule; /* what held it, HOP_RULE_FULL: nothing, it is at work */
    uint32_t blocker;
};
struct hop_process {
    int32_t rank; /* -1: none */
    const char *device;
    double finish_s;
};
struct hop_serial {
    struct hop_process *processes;
    uint32_t process_count;
    double *alone_s;  /* per operation; detail ends or more */
    uint32_t *first;  /* per operation, into pieces; count + 1 of them; detail segments */
    struct hop_piece *pieces;
    uint32_t piece_count, piece_capacity;
};

struct hop_timeline {
    const struct hop_topology *topology;
    const struct hop_network *network;
    const struct hop_schedule *original, *schedule;
    struct hop_schedule *lowered; /* schedule, when it is the timeline's own */
    enum hop_detail detail;
    double makespan_s;
    uint64_t events;
    uint64_t work; /* that a simulation took: see hop_simulate_options */
    struct hop_op_times *times; /* per operation */
    uint32_t *class_of;         /* per operation, HOP_NONE: no copy */
    struct hop_class *classes;
    uint32_t class_count;
    double reduce_rate, sum_rate; /* of memory: copies, reductions */
    double startup_s; /* fidelity packet: of every copy */
    enum hop_fidelity fidelity;
    struct hop_record *log;
    uint32_t log_count, log_capacity;
    struct hop_delivery *deliveries; /* per operation, with faults; NULL: there are none */
    struct hop_fault_note {
        double at_s;
        const char *text;
    } * fault_notes;
    uint32_t fault_note_count;
    struct hop_arena faults;          /* of these, their texts and routes that are not the router's */
    struct hop_measured_op *measured; /* by a run: of each operation; NULL: predicted */
    bool is_serial; /* model loggp: serial holds it all, and there are no classes */
    struct hop_serial serial;

    /* derived by hop_timeline_index */
    struct hop_arena derived;
    uint32_t *first_record; /* per class, into records; class_count + 1 of them */
    uint32_t *records;      /* indices into log, ascending in time */
    double *bounds;         /* ends of intervals: bounds[i] .. bounds[i + 1] */
    uint32_t bound_count;
    uint32_t *by_flow; /* copies by the time at which their bytes begin to move */
    uint32_t copies;
    struct hop_link_use *use; /* per directed link */
    struct {
        uint32_t interval, next; /* next: into by_flow */
        uint32_t *active, count;
        uint32_t *record; /* per class: position in records */
    } cursor;
};

/* After a run with segments: records by class, interval bounds, copies by start, link use (index.c, use.c). */
enum hop_status hop_timeline_index(struct hop_timeline *timeline, struct hop_diag *diag);
bool hop_timeline_measure_use(struct hop_timeline *timeline); /* false: out of memory */
/* flows.c: instant after instant, ascending: the links whose transfers change then, in any order, with all that move over
 * them from then on, in the order in which they began; behind the last of an instant `after`. False: out of memory. */
struct hop_link_flow {
    uint32_t op, place; /* place: of the link in its route */
    double rate_Bps;
};
typedef void hop_link_visitor(double at_s, uint32_t directed, const struct hop_link_flow *flows, uint32_t count,
                              void *context);
typedef void hop_instant_visitor(double at_s, void *context);
bool hop_timeline_each_load(const struct hop_timeline *timeline, hop_link_visitor *each, hop_instant_visitor *after,
                            void *context);
/* Of a directed link under these transfers, 1 being its capacity; predicted timelines. NAN: out of memory. */
double hop_timeline_load(const struct hop_timeline *timeline, uint32_t directed, const struct hop_link_flow *flows,
                         uint32_t count);
/* serial.c: as hop_timeline_segments. */
uint32_t hop_serial_segments(const struct hop_serial *serial, uint32_t op, struct hop_segment *segments,
                             uint32_t capacity);
void hop_serial_finish(struct hop_serial *serial);
/* Adds to what hop_timeline_fault_note hands out. false: out of memory. */
bool hop_timeline_tell_fault(struct hop_timeline *timeline, double at_s, const char *text);
/* Drops what a timeline holds of a run. */
void hop_timeline_forget(struct hop_timeline *timeline);

/* Its rates of memory, from its topology; what a reduction or a copy within a device takes by them, alone. */
void hop_timeline_read_rates(struct hop_timeline *timeline);
double hop_timeline_local_s(const struct hop_timeline *timeline, const struct hop_op *op);

#endif
