/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the schedule room: the structure, places, and the readers. */
#ifndef HOP_SCHEDULE_H
#define HOP_SCHEDULE_H

#include <pthread.h>

#include "base/base.h"
#include "hopcast/schedule.h"

#define HOP_OP_LIMIT (1u << 26)        /* operations of one schedule */
#define HOP_OP_MEMORY 350u /* bytes that one takes, about: 3.1 million of a ring among 1,024 ranks 337 each */
#define HOP_PLACE_RANK_LIMIT 999999999 /* nine digits: what a place can say */
#define HOP_OP_NAME_LIMIT 127u         /* bytes of an operation's name */
#define HOP_COMMENT_LIMIT 400u         /* bytes of a comment that is kept, */
#define HOP_COMMENTS_KEPT 16u          /* and how many are */
#define HOP_PACKET_LIMIT (1u << 20)    /* packets of one staged copy */

/* Told before it is made: refused are more operations than the limit (HOP_OP_LIMIT or less), and than memory has room
 * for. at_least: there may be more. */
enum hop_status hop_schedule_check_count(const char *what, bool at_least, uint64_t count, uint64_t limit,
                                         struct hop_diag *diag);

/* The names of operations, a table of their hashes. They are put in when one is looked for, which most readers of millions
 * never do, and forgotten when the schedule is finished; the lock is for threads that look at one schedule. */
struct hop_schedule_index {
    pthread_mutex_t lock;
    struct hop_schedule_slot {
        uint32_t hash, op; /* op: one more than its number, 0: free */
    } * slots;
    uint32_t size, used; /* slots: a power of two */
    uint32_t count;      /* operations that are in */
};

struct hop_schedule {
    struct hop_arena arena;
    const char *name;
    const char *file; /* for diagnostics: the input that it was read from, else the name */
    struct hop_failure failure; /* the first one of what was added */
    struct hop_diag diag;       /* of it */
    bool queue_ready;
    struct hop_op *ops;
    uint32_t count, capacity;
    struct hop_schedule_index *index;
    struct hop_names strings; /* interned device and buffer names */
    const char **interned;
    uint32_t interned_count;
    const char **comments;
    uint32_t comment_count;
};

/* A comment at the head of what is read, without blanks around it; one that is empty, too long or no text is left out. */
void hop_schedule_keep_comment(struct hop_schedule *schedule, const char *text, size_t length);

/* place.c. The place's strings are copied into the arena; the diagnostic's place stays empty. */
enum hop_status hop_place_parse(const char *text, size_t length, struct hop_place *place, struct hop_arena *arena,
                                struct hop_diag *diag);
/* Whether its names can be written and read back. */
bool hop_place_check(const struct hop_place *place);
void hop_place_print(const struct hop_place *place, struct hop_buffer *buffer);
/* The rank that a placeholder device stands for, "rank12": 12; -1: it is no placeholder. */
int32_t hop_placeholder_rank(const char *device);
/* Whether a placement's file can name a NIC so: a PCI address, or a word such as mlx5_0. */
bool hop_placement_is_nic(const char *name);

static inline bool hop_op_is_message(const struct hop_op *op)
{
    return op->kind == HOP_OP_SEND || op->kind == HOP_OP_RECEIVE;
}

/* Whether which send a receive takes is a matter of times. */
static inline bool hop_op_takes_any(const struct hop_op *op)
{
    return op->any_source || op->any_tag;
}

/* The same of "rank12.host", the host memory of a rank. */
int32_t hop_placeholder_host_rank(const char *device);
/* The i-th place of an operation in a schedule: source and destination (which all have, be they the same), inputs,
 * outputs; NULL past the last. */
const struct hop_place *hop_op_place(const struct hop_op *op, uint32_t i);
/* Whether a name is one of host memory: host, host1, node0.host1. */
bool hop_device_is_host(const char *device);
/* Whether a copy (of a rank's bytes onto themselves) or a message has one place at both ends: nothing would move. */
bool hop_op_goes_nowhere(const struct hop_op *op);
/* Whether a reduction's places are on one device, or may be once placeholders are placed; fills the diagnostic
 * otherwise and says which place is not. */
bool hop_op_one_device(const struct hop_op *op, const struct hop_place **astray, struct hop_diag *diag);
/* Whether `by` is -1 or the rank of a place that the operation has; fills the diagnostic otherwise. */
bool hop_op_by_check(const struct hop_op *op, struct hop_diag *diag);
/* Of a copy: the place whose device's copy engine works, that of the rank that performs it. */
const struct hop_place *hop_op_engine_place(const struct hop_op *op);
/* Whether it works in one device's memory and on no link: a reduction, or a copy within a device. */
bool hop_op_is_local(const struct hop_op *op);
/* What that reads and writes there. */
double hop_op_traffic_bytes(const struct hop_op *op);

/* Whether that text can be an operation's name; fills the diagnostic otherwise. */
bool hop_op_name_check(const char *name, size_t length, struct hop_diag *diag);

/* For readers of millions of operations: appends what is well formed already; its strings and lists stay as they are,
 * in the schedule's arena, device and buffer names being interned. A name must be new. */
uint32_t hop_schedule_append(struct hop_schedule *schedule, const struct hop_op *op);
/* An operation of that name will be added soon: in a table of millions its place is far away. */
void hop_schedule_expect(const struct hop_schedule *schedule, const char *name);
/* Without operations: the other's name, file, comments and queue. NULL: out of memory. */
struct hop_schedule *hop_schedule_create_like(const struct hop_schedule *other);
/* A schedule of its own with the same operations. */
enum hop_status hop_schedule_clone(const struct hop_schedule *from, struct hop_schedule **clone, struct hop_diag *diag);
/* hop_schedule_finish, or, where the status is that of a failure elsewhere, which it returns, the schedule's end. */
enum hop_status hop_schedule_end(struct hop_schedule *made, enum hop_status status, struct hop_schedule **schedule,
                                 struct hop_diag *diag);
/* Says of a failure that the diagnostic was filled with that it is at that column of an operation; the status. */
enum hop_status hop_schedule_blame(const struct hop_schedule *schedule, uint32_t index, uint32_t column,
                                   struct hop_diag *diag, enum hop_status status);
/* The one copy of a device's or buffer's name; NULL (and the arena failed): out of memory, or for NULL. */
const char *hop_schedule_intern(struct hop_schedule *schedule, const char *text);

/* match.c. partner[i], for each operation: the receive of a send, the send of a receive, else HOP_NONE. Refuses
 * messages
 * that nothing matches and pairs of two sizes. */
enum hop_status hop_schedule_match(const struct hop_schedule *schedule, uint32_t *partner, struct hop_diag *diag);

/* lower.c. Whether the fluid models cannot take the operation as it is: staged copies and messages. */
bool hop_op_needs_lowering(const struct hop_op *op);

/* Their names, for readers that look for one. */
static inline const char *hop_reduce_listed(const void *context, uint32_t index)
{
    return (void)context, hop_reduce_name((enum hop_reduce)index);
}

static inline const char *hop_type_listed(const void *context, uint32_t index)
{
    return (void)context, hop_type_name((enum hop_type)index);
}

static inline const char *hop_via_listed(const void *context, uint32_t index)
{
    return (void)context, hop_via_name((enum hop_via)index);
}

/* The reader of the text form: an unfinished schedule, which keeps the first failure; NULL: out of memory. */
struct hop_schedule *hop_schedule_read_text(const struct hop_source *source);
/* HOP_OK, or there is none. */
enum hop_status hop_schedule_read_json(const struct hop_source *source, struct hop_schedule **schedule,
                                       struct hop_diag *diag);

#endif
