/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timeline: when each operation starts and ends, and why. Predicted and measured ones are one type.
 *
 * Three levels of detail: none (the makespan), ends (start and end of each operation), segments
 * (the pieces of constant rate in between, each with what limits it). A timeline refers to its topology and
 * schedule, which must outlive it.
 */
#ifndef HOPCAST_TIMELINE_H
#define HOPCAST_TIMELINE_H

#include "hopcast/model.h"
#include "hopcast/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a prediction was made: see hopcast/simulate.h. */
enum hop_fidelity { HOP_FIDELITY_FLUID, HOP_FIDELITY_PACKET };

enum hop_detail { HOP_DETAIL_NONE, HOP_DETAIL_ENDS, HOP_DETAIL_SEGMENTS };

/* A piece of an operation's life at one rate. */
struct hop_segment {
    double start_s, end_s;
    double rate_Bps;      /* 0 while it waits */
    double factor;        /* congestion factor: rate / capacity of its route's narrowest link */
    enum hop_rule rule;
    uint32_t link;        /* directed link that limits it, HOP_NONE: none */
    uint32_t blocker;     /* operation that it waits behind or shares with, HOP_NONE: none */
};

/* An operation's times. */
struct hop_span {
    double ready_s; /* dependencies and earliest start met */
    double start_s; /* its source engine took it */
    double end_s;
};

struct hop_timeline;
HOP_API void hop_timeline_destroy(struct hop_timeline *timeline); /* NULL is allowed */

HOP_API const struct hop_topology *hop_timeline_topology(const struct hop_timeline *timeline);
/* The schedule as executed, that is after hop_schedule_lower: indices below are its. */
HOP_API const struct hop_schedule *hop_timeline_schedule(const struct hop_timeline *timeline);
/* The schedule as given; `parent` of an operation above is an index into it. */
HOP_API const struct hop_schedule *hop_timeline_original(const struct hop_timeline *timeline);
/* Whether an operation as executed only keeps the books of a message: the mark that a send or receive is posted, or a
 * receive that ended
 * as soon as its message had arrived. Reports for people leave these out. */
HOP_API bool hop_timeline_is_mark(const struct hop_timeline *timeline, uint32_t op);
/* The network whose models granted the rates; of a measured timeline, that says what copies take alone. */
HOP_API const struct hop_network *hop_timeline_network(const struct hop_timeline *timeline);
HOP_API enum hop_detail hop_timeline_detail(const struct hop_timeline *timeline);
/* By hop_timeline_measured, not predicted. */
HOP_API bool hop_timeline_is_measured(const struct hop_timeline *timeline);
/* Fluid, unless hop_simulate was asked for packets. */
HOP_API enum hop_fidelity hop_timeline_fidelity(const struct hop_timeline *timeline);
HOP_API double hop_timeline_makespan_s(const struct hop_timeline *timeline);
HOP_API uint64_t hop_timeline_events(const struct hop_timeline *timeline);
/* Detail ends or more. */
HOP_API struct hop_span hop_timeline_span(const struct hop_timeline *timeline, uint32_t op);
/* The route that a copy takes, NULL for other operations. */
HOP_API const struct hop_route *hop_timeline_route(const struct hop_timeline *timeline, uint32_t op);
/* What a copy takes with the machine to itself (its model's answer, latency included); the duration of other operations. */
HOP_API double hop_timeline_alone_s(const struct hop_timeline *timeline, uint32_t op);

/* Detail segments: the segments of an operation from its ready time to its end, in order, neighbours
 * that differ in nothing merged. Writes up to capacity of them and returns how many there are. */
HOP_API uint32_t hop_timeline_segments(const struct hop_timeline *timeline, uint32_t op, struct hop_segment *segments,
                                       uint32_t capacity);

/* What delayed an operation beyond its time alone: the loss of a segment is its length less what its bytes take alone, negative
 * under rule gain. Time alone and all losses add up to the time from ready to end. */
struct hop_loss {
    enum hop_rule rule;
    uint32_t link;    /* HOP_NONE: none */
    uint32_t blocker; /* the one that cost most under this rule on this link, HOP_NONE: none */
    double lost_s;
};
/* Detail segments: losses by rule and link, the largest first. Writes up to capacity of them and returns how many there are;
 * HOP_NONE: out of memory. */
HOP_API uint32_t hop_timeline_losses(const struct hop_timeline *timeline, uint32_t op, struct hop_loss *losses, uint32_t capacity);

/* Detail segments: the intervals between changes; every transfer that moves in the i-th is passed to each, in the order in which they
 * began to, with what it gets. The timeline keeps its place
 * between calls: ascending intervals are cheap, going back starts over, and one thread at a time. */
HOP_API uint32_t hop_timeline_interval_count(const struct hop_timeline *timeline);
typedef void hop_active_visitor(uint32_t op, const struct hop_segment *segment, void *context);
HOP_API void hop_timeline_interval(struct hop_timeline *timeline, uint32_t interval, double *start_s, double *end_s,
                                   hop_active_visitor *each, void *context);

/* The load of a directed link over the whole timeline: bytes carried, seconds in use, and the highest sum of rates
 * over its capacity (above 1: the model oversubscribed it). Detail segments; under detail ends hop_simulate gives the bytes alone. */
struct hop_link_use {
    uint64_t bytes;
    double busy_s;
    double peak; /* 1 is the capacity */
};
HOP_API struct hop_link_use hop_timeline_link_use(const struct hop_timeline *timeline, uint32_t directed);

/* A directed link above its limit at some time (see hop_network_fullest), and how full it was then: 1 is the limit. */
struct hop_overload {
    uint32_t link;
    double load;
};
/* Detail segments, predicted: the links above their limits, the fullest first. Writes up to capacity of them and
 * returns how many there are; HOP_NONE: out of memory. */
HOP_API uint32_t hop_timeline_overloads(struct hop_timeline *timeline, struct hop_overload *overloads,
                                        uint32_t capacity);

/* What became of a copy's bytes that was simulated with faults (hop_packet_options): those that arrived and those that never do are all of
 * them. resent_bytes: sent again, each time counted. Without faults everything is delivered. */
struct hop_delivery {
    uint64_t delivered_bytes, resent_bytes, lost_bytes;
    const char *reason; /* why bytes are lost; NULL: none are */
};
HOP_API struct hop_delivery hop_timeline_delivery(const struct hop_timeline *timeline, uint32_t op);
/* What faults did, in order of time, for people; NULL past the last. */
HOP_API const char *hop_timeline_fault_note(const struct hop_timeline *timeline, uint32_t index, double *at_s);

/* Model loggp: the processes (ranks in their order, then devices without a rank as they appear in the schedule) and
 * when the last of
 * each one's CPUs is free. 0 processes under any other model. */
HOP_API uint32_t hop_timeline_process_count(const struct hop_timeline *timeline);
/* Its device; *rank (may be NULL) receives its rank, -1 if it has none. */
HOP_API const char *hop_timeline_process_name(const struct hop_timeline *timeline, uint32_t process, int32_t *rank);
HOP_API double hop_timeline_process_finish_s(const struct hop_timeline *timeline, uint32_t process);

#ifdef __cplusplus
}
#endif
#endif
