/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs: what a collective algorithm is given, and the short words that it says moves with.
 *
 * All data is seen in one vector of `total` elements, cut into parts; a spot says where the vector's element 0 would
 * lie in a member's buffer. So a member that holds its part only, at the start of a buffer, has a spot that far before
 * it (modulo 2^64), and every algorithm says "elements [offset, offset + count)" wherever they are.
 *
 *     the vector   | part 0 | part 1 | part 2 | part 3 |
 *     member 2's             base . . | part 2 |            its "in" of an allgather
 *
 * A member owns parts: of n members among themselves, member i owns part i; as the leader of a group, those of the
 * group.
 */
#ifndef HOP_COLLECTIVE_JOB_H
#define HOP_COLLECTIVE_JOB_H

#include "collective/collective_moves.h"

struct hop_spot {
    uint32_t buffer;
    uint64_t base;
};

struct hop_job {
    struct hop_moves *moves;
    uint32_t n;                      /* members; at least 2: of one, the caller copies in to out */
    const uint32_t *ranks;           /* of each member */
    const struct hop_spot *in, *out; /* of each member */
    uint32_t root;                   /* a member */
    uint64_t total;                  /* elements of the vector */
    uint64_t start;                  /* of the vector of all, whose part it is */
    uint32_t parts;                  /* it is cut into */
    const uint32_t *owned_first,
        *owned;       /* member i owns parts owned[owned_first[i] .. owned_first[i + 1]), ascending; NULL: part i */
    uint64_t segment; /* elements of a pipeline's segment; 0: not said */
    const struct hop_job *rings; /* parts of the vector, each with its own order of members; */
    uint32_t ring_count;         /* 0: it is whole */
    const char *level;           /* of such a part, for hop_moves */
    const uint32_t *grid;        /* of a torus: members along each of HOP_COLLECTIVE_GRID dimensions; NULL: not said */
};

typedef void hop_algorithm_maker(struct hop_job *job);

/* Elements in front of part p, p up to n. */
static inline uint64_t hop_part_start(uint64_t total, uint32_t n, uint32_t p)
{
    uint64_t more = total % n;
    return total / n * p + (p < more ? p : more);
}

/* Consecutive elements of the vector; `before`: how many the runs before it have. */
struct hop_part_run {
    uint64_t offset, count, before;
};
/* What members first (below n), first + 1, ... (modulo n) own, in a list that lasts until the next call; returns its length. */
uint32_t hop_job_runs(struct hop_job *job, uint32_t first, uint32_t members, const struct hop_part_run **runs);
/* Elements that a member owns. */
uint64_t hop_job_share(struct hop_job *job, uint32_t member);

/* How a copy is made and called: PHASE[ROUND].r of who performs it, and .to of the other end where `pair`. */
struct hop_style {
    const char *phase;
    uint32_t round; /* HOP_MOVE_NONE: none */
    bool pull, pair, sums, in_turn;
};
#define HOP_ROUND(number, ...) ((struct hop_style){.round = (number), .phase = __VA_ARGS__})
#define HOP_PHASE(...) HOP_ROUND(HOP_MOVE_NONE, __VA_ARGS__)

struct hop_at hop_job_at(const struct hop_job *job, uint32_t member, struct hop_spot spot, uint64_t offset);
/* Elements [offset, offset + count) from one member's spot to another's. */
void hop_job_copy(struct hop_job *job, struct hop_style style, uint32_t from, struct hop_spot source, uint32_t to,
                  struct hop_spot target, uint64_t offset, uint64_t count);
/* What members first, first + 1, ... own. */
void hop_job_copy_share(struct hop_job *job, struct hop_style style, uint32_t from, struct hop_spot source, uint32_t to,
                        struct hop_spot target, uint32_t first, uint32_t members);
/* Two spots of a member into one of its own, element by element; equal ones may be the same spot. */
void hop_job_reduce_two(struct hop_job *job, const char *phase, uint32_t round, uint32_t member, struct hop_spot first,
                        struct hop_spot second, struct hop_spot target, uint64_t offset, uint64_t count);

/* Runs f on the vector, segment by segment. */
typedef void hop_range_maker(struct hop_job *job, uint64_t offset, uint64_t count);
void hop_job_segments(struct hop_job *job, hop_range_maker *f);
/* A copy of a spots array with one changed; NULL: out of memory. */
struct hop_spot *hop_job_spots(struct hop_job *job, const struct hop_spot *spots, uint32_t member,
                               struct hop_spot spot);
/* An allreduce, allgather or reduce-scatter from two others: to the root, which is member 0, and from there. */
void hop_job_to_and_from(struct hop_job *job, hop_algorithm_maker *to, hop_algorithm_maker *from, bool through_scratch);

/* The job of a collective among all ranks: `bytes` in elements of `moves`, in and out as hopcast/collective.h lays them
 * out. Fails for a vector too long to number its elements. */
bool hop_job_begin(struct hop_job *job, struct hop_moves *moves, enum hop_collective_kind kind, uint64_t bytes,
                   uint32_t root, bool in_place);

/* Cuts it into rings, each with its row of ranks in `orders`. (collective_ring.c) */
void hop_job_cut_rings(struct hop_job *job, uint32_t rings, const uint32_t *orders);

/* Round k, from 0 to n - 2, of a ring's reduce-scatter and of its allgather: everyone sends to the next what it summed, or got, in the
 * last. Sums of what a member owns end in `results`; everyone begins with what it owns, at `own`. (collective_ring.c) */
void hop_ring_scatter_round(struct hop_job *job, const struct hop_spot *results, uint32_t k);
void hop_ring_gather_round(struct hop_job *job, const struct hop_spot *own, uint32_t k);

/* ---- algorithms ---- */

/* One of them: a struct in the file of its functions, and a line in collective_algorithms.c. */
struct hop_algorithm_about {
    enum hop_algorithm algorithm;
    const char *summary;
    hop_algorithm_maker *make[HOP_COLLECTIVE_COUNT]; /* NULL: that collective cannot be made by it */
    unsigned first;  /* bits of collectives: what is made by it where nothing else is said */
    unsigned cuts;   /* that it makes segment by segment */
    unsigned square; /* in which every rank has a message for every other one, or as many */
};
#define HOP_OF(collective) (1u << HOP_COLLECTIVE_##collective)
#define HOP_MAKE(collective) [HOP_COLLECTIVE_##collective]

/* collective_algorithms.c. Its function; NULL: that collective cannot be made by it. */
hop_algorithm_maker *hop_collective_maker(enum hop_collective_kind kind, enum hop_algorithm algorithm);
/* The i-th that makes a collective, the default one first; NULL: past the last. */
const struct hop_algorithm_about *hop_collective_at(enum hop_collective_kind kind, size_t index);
/* Whether it goes segment by segment. */
bool hop_collective_cuts(enum hop_collective_kind kind, enum hop_algorithm algorithm);
/* Of an algorithm that goes through every pair of n ranks, and where none of n parts is empty takes as many moves at
 * least: how many these are; of others 0. */
uint64_t hop_collective_pairs(enum hop_collective_kind kind, enum hop_algorithm algorithm, uint64_t n);

/* A barrier is an allgather of one byte each into scratch: who has all bytes knows that all have come. */
void hop_job_flags(struct hop_job *job, struct hop_job *flags);

#endif
