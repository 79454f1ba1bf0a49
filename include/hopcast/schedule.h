/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedule: what moves, in what order.
 *
 * Operations with dependencies, one a line in the text form (.hop; docs: hop(5)):
 *
 *     a: gpu0 -> gpu2 300MiB
 *     b: gpu1 -> gpu4 300MiB after a
 *     c: gpu3 -> gpu2 300MiB at 1.5ms via staged 2MiB
 *     d: reduce sum f32 gpu2:x gpu2:y -> gpu2:x 300MiB after a c
 *     e: work gpu2 30us after d
 *     f: gpu2 -> gpu5 1MiB after-start e
 *     g: send gpu0 -> gpu1 4KiB tag 7
 *     h: receive gpu0 -> gpu1 4KiB tag 7
 *     i: 0@gpu0:sum -> 1@gpu0:out 4KiB by 1          (rank 1 performs the copy, not rank 0)
 *     j: reduce sum f32 0@gpu0:in 1@gpu0:in -> 0@gpu0:out 1@gpu0:out 4KiB
 *     queue ready
 *
 * The order of the operations matters: a device's source engine takes its transfers in that order.
 * Printing and parsing again gives the same schedule. Devices are names here; simulating or
 * running resolves them against a topology.
 */
#ifndef HOPCAST_SCHEDULE_H
#define HOPCAST_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hopcast/element.h"
#include "hopcast/status.h"
#include "hopcast/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hop_op_kind {
    HOP_OP_COPY,   /* bytes from one place to another */
    HOP_OP_REDUCE, /* inputs on one device combined into one or several outputs there */
    HOP_OP_WORK,   /* a device computes for a time */
    HOP_OP_SEND,   /* `from` hands a message for `to` over; it ends when `from` may go on */
    HOP_OP_RECEIVE /* `to` takes a message from `from`; it ends when the message is there and taken */
};

/* The k-th send from one place to another under a tag is matched by the k-th receive there of the same places and tag. A message of
 * up to parameter `loggp_S` bytes, or a send that says so, leaves as soon as it is sent (eager), a larger one once its
 * receive waits for it (rendezvous). A receive from any source or of any tag takes what comes first of what it may take, as
 * MPI has it; which send that is, model loggp says, by whose times such schedules are matched under the other models, too. */

enum hop_via { HOP_VIA_P2P, HOP_VIA_STAGED, HOP_VIA_AUTO };

/* Where bytes lie: [rank@]device[:buffer[+offset]]. */
struct hop_place {
    const char *device;   /* never NULL */
    const char *buffer;   /* or NULL: only running needs it */
    uint64_t offset_bytes;
    int32_t rank;         /* -1: not said; that of a placeholder "rank3" is 3 */
    uint32_t column;      /* in its line of the text, 1-based; 0 unknown */
};

struct hop_op {
    const char *name;              /* unique; NULL on addition: "t0", "t1", ... is chosen */
    enum hop_op_kind kind : 8;
    enum hop_via via : 8;          /* copy */
    enum hop_reduce reduce : 4;    /* reduce: the operator */
    enum hop_type type : 4;        /* reduce: the element type */
    bool eager : 1;                /* send: leaves at once, whatever its size */
    bool any_source : 1;           /* receive: `from` (then a copy of `to`) may be any */
    bool any_tag : 1;              /* receive: so may the tag */
    uint16_t cpu, nic;             /* send, receive, work: which of its process's (work has no nic); a CPU does one work at
                                    * a time; only model loggp asks for those of messages */
    struct hop_place from;         /* copy, send, receive: the source; reduce, work: the device (= to for reduce) */
    struct hop_place to;           /* copy, reduce, send, receive: the destination */
    uint64_t bytes;                /* all but work */
    double duration_s;             /* work */
    double at_s;                   /* earliest start, 0: none */
    uint64_t packet_bytes;         /* staged: size of a packet, 0: one packet */
    const struct hop_place *inputs;/* reduce */
    const struct hop_place *outputs;/* reduce: outputs beyond `to`, which get the same result */
    const uint32_t *after;         /* operations that must have ended */
    const uint32_t *after_start;   /* operations that must have started */
    uint32_t input_count;
    uint32_t output_count;
    uint32_t after_count;
    uint32_t after_start_count;
    uint32_t tag;                  /* send, receive */
    uint32_t line;                 /* in the text, 1-based; 0 unknown */
    int32_t by;                    /* copy, reduce: the rank that performs it, whose device's copy engine works; -1: that of the source */
    uint32_t parent;               /* lowered: the operation of the original that it comes from; else HOP_NONE */
};

struct hop_schedule;

/* ---- reading and writing ---- */

/* Reads .hop text, schedule JSON or a GOAL text (detected) from a file, "-" being standard input. A text without
 * operations is an empty
 * schedule. */
HOP_API enum hop_status hop_schedule_load(const char *path, struct hop_schedule **schedule, struct hop_diag *diag);
/* The same from memory; name stands for the file in diagnostics. In .hop text ';' ends a line too. */
HOP_API enum hop_status hop_schedule_parse(const char *name, const char *text, size_t size, struct hop_schedule **schedule,
                                           struct hop_diag *diag);
/* The .hop text in pieces of about a MiB, one after the other given to `write`, which returns whether to go on. Returns
 * that of the last one, false also when out of memory. */
HOP_API bool hop_schedule_write_text(const struct hop_schedule *schedule,
                                     bool (*write)(void *context, const char *text, size_t size), void *context);
/* New strings that the caller frees; NULL: out of memory. */
HOP_API char *hop_schedule_to_text(const struct hop_schedule *schedule);
HOP_API char *hop_schedule_to_json(const struct hop_schedule *schedule);
/* GOAL text (a block of calc, send and recv a rank), a new string that the caller frees. Ranks are those of the
 * places, or, where a place has none, the devices in order of appearance. A copy becomes a send and a recv; who waits
 * for it waits for the one on its own rank. A reduction becomes a calc of bytes x (inputs + outputs) / reduce_rate_Bps,
 * a copy within a rank one of 2 x bytes / reduce_rate_Bps; both are refused at a rate of 0, as is what GOAL cannot say:
 * earliest starts, staged copies, dependencies between ranks without a message. Who performs a copy (by) is left out:
 * GOAL has no copy engines. */
HOP_API enum hop_status hop_schedule_to_goal(const struct hop_schedule *schedule, double reduce_rate_Bps, char **text,
                                             struct hop_diag *diag);

/* ---- building ---- */

/* A schedule under construction keeps its first failure: later additions do nothing, and hop_schedule_finish reports it.
 * So neither hop_schedule_create (NULL: out of memory) nor what is called before hop_schedule_finish needs a look. */
HOP_API struct hop_schedule *hop_schedule_create(const char *name);
HOP_API void hop_schedule_destroy(struct hop_schedule *schedule); /* NULL is allowed */

/* An operation of that kind with every field at its default. */
HOP_API struct hop_op hop_op_default(enum hop_op_kind kind);
/* Appends; everything is copied; returns its index, HOP_NONE after a failure. Dependencies may name operations that
 * are yet to come: hop_schedule_finish checks them. */
HOP_API uint32_t hop_schedule_add(struct hop_schedule *schedule, const struct hop_op *op);
/* The short form for generators: a copy of bytes after the operations listed. */
HOP_API uint32_t hop_schedule_copy(struct hop_schedule *schedule, const char *from, const char *to, uint64_t bytes,
                                   const uint32_t *after, uint32_t after_count);
/* ready true: every source engine takes the transfer that became ready first (ties: schedule order), not the first of the schedule
 * (imported traces). */
HOP_API void hop_schedule_set_queue_ready(struct hop_schedule *schedule, bool ready);
/* A comment line for the head of the text form. One that begins with HOP_COMMENT_NOTE is said beside every prediction, too. */
#define HOP_COMMENT_NOTE "note: "
HOP_API void hop_schedule_add_comment(struct hop_schedule *schedule, const char *format, ...) HOP_PRINTF(2, 3);
/* The first failure so far, HOP_OK: there is none. */
HOP_API enum hop_status hop_schedule_failure(const struct hop_schedule *made, struct hop_diag *diag);
/* After the last addition: the first failure, or checks names and dependencies; a cycle is named in the diagnostic. The
 * schedule that was made is handed over as *schedule (which may be &made), on failure destroyed. */
HOP_API enum hop_status hop_schedule_finish(struct hop_schedule *made, struct hop_schedule **schedule,
                                            struct hop_diag *diag);

/* ---- looking ---- */

HOP_API const char *hop_schedule_name(const struct hop_schedule *schedule);
HOP_API uint32_t hop_schedule_count(const struct hop_schedule *schedule);
HOP_API const struct hop_op *hop_schedule_op(const struct hop_schedule *schedule, uint32_t index);
/* Finds the least time that the schedule takes where copies, messages and reductions take none: that of its longest chain of works, each with
 * what it waits for, or all works of one CPU, where these take longer. Refused as by hop_schedule_lower: messages without a partner, receives
 * from any source or of any tag. */
HOP_API enum hop_status hop_schedule_work_chain_s(const struct hop_schedule *schedule, double *chain_s,
                                                  struct hop_diag *diag);
HOP_API bool hop_schedule_queue_ready(const struct hop_schedule *schedule);
/* Returns a note that stands beside every prediction: the i-th comment that begins with HOP_COMMENT_NOTE, without that, or NULL
 * past the last. It lives as long as the schedule. */
HOP_API const char *hop_schedule_note(const struct hop_schedule *schedule, uint32_t index);
/* The operation of that name, HOP_NONE when there is none. */
HOP_API uint32_t hop_schedule_find(const struct hop_schedule *schedule, const char *name);
/* "file:line:column" of an operation (column 0: of its line) for diagnostics; returns buffer. */
HOP_API char *hop_schedule_place(const struct hop_schedule *schedule, uint32_t index, uint32_t column, char *buffer,
                                 size_t size);

/* Resolves what depends on the machine: a staged copy becomes, per packet, a copy into the host memory nearest to its
 * source and one from there; auto is p2p where a route between the devices exists, else staged. A send becomes the
 * copy of its
 * message, its receive a work of no length after that copy; messages without a partner are refused. Every
 * operation gets its `parent`. Operations keep their order. A new schedule; the topology is only read. */
HOP_API enum hop_status hop_schedule_lower(const struct hop_schedule *schedule, const struct hop_topology *topology,
                                           struct hop_schedule **lowered, struct hop_diag *diag);

HOP_API const char *hop_via_name(enum hop_via via);

#ifdef __cplusplus
}
#endif
#endif
