/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tune: direct or through host memory?
 *
 * A copy between two GPUs can go straight (p2p) or in two steps, into the host memory nearest to its source and out of
 * it again (staged), whole or in packets whose steps overlap. Which is faster depends on the pair, on the size, and,
 * under load, on what all the others do. Each candidate is a schedule, and what it takes is what hop_simulate says.
 *
 *     hop_tune_paths     a pair alone, for every pair of GPUs and every size
 *     hop_tune_mix       a whole schedule: all direct, all staged, or some of each
 *
 * And: which algorithm? hop_tune_collective compares all that make a collective, over sizes, by predicting or by
 * measuring them; what wins goes into a table that people can read, and `auto` looks it up.
 *
 * And: packets of which size? A transfer of several steps, such as device to host, host to host, host to device, is
 * cut into packets whose steps overlap. hop_stages_choose is told what each step takes by size, and says by a closed
 * form which packets and which overlap are fastest; it is quick enough to be asked before a transfer.
 *
 * Sizes are in bytes, times in seconds; a time that is NAN means that there is no such way.
 */
#ifndef HOPCAST_TUNE_H
#define HOPCAST_TUNE_H

#include "hopcast/collective.h"
#include "hopcast/gain.h"
#include "hopcast/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_TUNE_GPUS 128      /* at most so many take part */
#define HOP_TUNE_SIZES 64      /* and so many sizes, and packet sizes */
#define HOP_TUNE_PACKETS 16384 /* packet sizes that cut a lone copy into more are passed over */
#define HOP_TUNE_EXACT 12      /* of so many free transfers every choice is tried, if max_evaluations allows it */

struct hop_tune_options {
    size_t size;              /* see hop_version */
    const uint64_t *sizes;    /* bytes of a copy, ascending; NULL: 64 KiB to 256 MiB, each 4 times the last */
    uint32_t size_count;
    const uint64_t *packets;  /* bytes of a packet, ascending; NULL: 128 KiB to 8 MiB, each twice the last.
                               * Unpacketised is always tried */
    uint32_t packet_count;
    uint32_t max_evaluations; /* schedules that hop_tune_mix simulates, and some for each packet size; 0: 5,000, and a
                               * search that is not exact ends after 300,000 operations of them */
    void (*progress)(double done, void *context); /* share that is done, 0 to 1; may be NULL */
    void *context;
    /* Of hop_tune_mix alone: */
    bool keep_limits;  /* only choices count in which no link is ever above its limit (hop_timeline_overloads) */
    bool staged_alone; /* every copy that can be staged is: only the size of packets is chosen */
    bool no_gain;      /* mix->gain is not looked for */
    bool (*stop)(void *context); /* asked before each schedule but the first and now and then in one; true: the best so far is
                                  * the answer. May be NULL */
};

/* ---- pairs ---- */

/* A copy of one size, with the machine to itself. */
struct hop_tune_point {
    uint64_t bytes;
    double direct_s, staged_s;
    uint64_t packet_bytes; /* of the fastest staged copy, of equals the largest; 0: unpacketised */
    struct hop_gain_range
        gain; /* of the faster way over the other, by all models that apply; models 0: there is one way */
};

/* Ordered pairs whose three routes (direct, into host memory, out of it) are alike link by link, sharing included. */
struct hop_tune_class {
    const uint32_t (*pairs)[2];     /* nodes from and to; the first pair stands for all */
    uint32_t pair_count;
    const char *way;                /* what the direct route goes over: "nvlink", "2 switches", "root complex" ... */
    const char *host;               /* the host memory that the first pair is staged through, NULL: none is in reach */
    const struct hop_tune_point *points; /* one a size */
    uint64_t crossover_bytes;       /* from about (1 %) so many bytes on the other way wins than for the smallest size;
                                     * 0: one wins at all sizes */
};

struct hop_tuned_paths {
    const uint64_t *sizes;
    uint32_t size_count;
    const struct hop_tune_class *classes; /* in the order of their first pairs */
    uint32_t class_count;
    uint32_t gpu_count;
};

/* The GPUs of the network's topology, at least two. options may be NULL. The caller frees the result with
 * hop_tune_paths_destroy; the topology must outlive it. */
HOP_API enum hop_status hop_tune_paths(struct hop_network *network, const struct hop_tune_options *options,
                                       struct hop_tuned_paths **paths, struct hop_diag *diag);
HOP_API void hop_tune_paths_destroy(struct hop_tuned_paths *paths); /* NULL is allowed */
/* The faster way, p2p where they are equal (within 1e-9) or where there is none; *factor (may be NULL): how many times
 * as fast as the other one, NAN: there is no other. */
HOP_API enum hop_via hop_tune_winner(const struct hop_tune_point *point, double *factor);

/* ---- patterns ---- */

/* Patterns that are worth a look, by index; NULL past the last. */
HOP_API const char *hop_tune_pattern(size_t index);
/* A pattern (hopcast/pattern.h) between the GPUs of a topology, the first ones where it names fewer ranks. HOP_ERR_NOT_FOUND:
 * no such pattern; HOP_ERR_INVALID: it needs more GPUs. */
HOP_API enum hop_status hop_tune_make(const char *pattern, const struct hop_topology *topology, uint64_t bytes,
                                      struct hop_schedule **schedule, struct hop_diag *diag);

struct hop_tuned_mix {
    uint32_t transfers;            /* copies that have both ways; the others keep the one they have */
    double direct_s, staged_s;     /* makespan if all of them go that way; staged: at the best of the packet sizes; NAN: they
                                    * cannot, or links would be above their limits, or it was stopped before */
    uint64_t staged_packet_bytes;  /* 0: unpacketised */
    double mix_s;                  /* the shortest makespan found; never longer than the two above */
    uint64_t mix_packet_bytes;
    const bool *staged;            /* of each operation in the mix */
    uint32_t staged_count;         /* how many of `transfers` are staged in the mix */
    bool exact;                    /* every choice was tried, at staged_packet_bytes, on a topology that
                                    * lacks nothing (hop_topology_lacks) */
    uint32_t evaluations;          /* schedules simulated, */
    uint32_t stuck;                /* of these some that cannot run (HOP_ERR_DEADLOCK) and were dropped */
    const struct hop_schedule *best; /* the mix as a schedule: predicting it gives mix_s */
    const struct hop_gain *gain;     /* of the mix over all direct, by all models that apply; NULL: some copies have no
                                      * direct way, or no copy is staged */
};

/* The ways of a schedule's copies; what it says about them (via) is not looked at, other operations stay as they are.
 * At packet sizes that cut no copy into more than 32 packets, or, if there are none, the largest. options may be NULL,
 * sizes are not used. */
HOP_API enum hop_status hop_tune_mix(struct hop_network *network, const struct hop_schedule *schedule,
                                     const struct hop_tune_options *options, struct hop_tuned_mix **mix,
                                     struct hop_diag *diag);
HOP_API void hop_tune_mix_destroy(struct hop_tuned_mix *mix); /* NULL is allowed */

/* ---- algorithms ---- */

/* A way to make a collective. */
struct hop_tune_candidate {
    const char *algorithm;  /* as hop_collective_options takes it */
    uint64_t segment_bytes; /* 0: not cut */
    const char *refused;    /* why it cannot be made at any size, NULL: it can */
};

/* Predicted: all three are the makespan. Measured: the median of the rounds and their quartiles. NAN: not made. */
struct hop_tune_time {
    double time_s, low_s, high_s;
};

struct hop_tune_size {
    uint64_t vector_bytes;             /* see HOP_COLLECTIVE_LIST */
    uint64_t asked_bytes;              /* that it was rounded down from (hop_collective_round) */
    const struct hop_tune_time *times; /* one a candidate */
    uint32_t winner;                   /* a candidate; of equals the first */
    uint32_t second;                   /* the fastest that has another algorithm; HOP_NONE: none */
    /* predicted; of the winner: */
    uint32_t link;      /* the directed link that is in use longest, HOP_NONE: none is */
    double link_busy;   /* and for what share of the time */
    enum hop_rule rule; /* what its operations lost most time to; HOP_RULE_FULL: nothing */
    struct hop_gain_range
        gain; /* over the second, by all models that apply; models 0: measured, or there is no second */
};

/* From a vector of so many bytes on, up to the next one's, that candidate wins. */
struct hop_tune_span {
    uint64_t from_vector_bytes; /* 0 in the first */
    uint32_t candidate;
    uint32_t size; /* the first size in it */
};

struct hop_tuned_collective {
    enum hop_collective_kind kind;
    uint32_t ranks;
    bool measured;
    const struct hop_tune_candidate *candidates; /* an algorithm's segments follow each other, the first: not cut */
    uint32_t candidate_count;
    const struct hop_tune_size *sizes; /* ascending */
    uint32_t size_count;
    const struct hop_tune_span *spans; /* ascending; neighbours differ */
    uint32_t span_count;
};

/* What several schedules take: one time each, NAN: not known. hop_measure_ways (hopcast/run.h) can tell. */
typedef enum hop_status hop_tune_measure(const struct hop_schedule *const *schedules, uint32_t count,
                                         struct hop_tune_time *times, void *context, struct hop_diag *diag);

struct hop_tune_collective_options {
    size_t size;                   /* see hop_version */
    const char *const *algorithms; /* NULL: every one, and hierarchies where ranks share devices or there are several
                                    * nodes. One that cannot be made is no error as long as another can */
    uint32_t algorithm_count;
    const uint64_t *sizes;    /* bytes, ascending; each is rounded by hop_collective_round, and passed over where that leaves
                               * nothing, or the size before it; NULL: 4 B to 256 MiB, times 4 each */
    uint32_t size_count;
    const uint64_t *segments; /* bytes, ascending, of what goes segment by segment; NULL: 64 KiB, 256 KiB, 1 MiB, 4 MiB.
                               * Not cut is always tried; those that cut a size into more than
                               * HOP_TUNE_SEGMENTS pieces are passed over */
    uint32_t segment_count;
    hop_tune_measure *measure; /* NULL: hop_simulate says what a schedule takes */
    void *measure_context;
    void (*progress)(double done, void *context); /* share that is done, 0 to 1; may be NULL */
    void *context;
    /* Asked now and then where schedules are simulated, with the same context; true: those that are not yet have no time (NAN),
     * and where none has, there is no winner. May be NULL. */
    bool (*stop)(void *context);
};

#define HOP_TUNE_SEGMENTS 64    /* pieces that a pipeline's vector is cut into, at most */
#define HOP_TUNE_RANKS 16384
#define HOP_TUNE_CANDIDATES 512 /* algorithms times sizes of segments */

/* collective: algorithm, vector_bytes and segment_bytes are not looked at. The network may be NULL if `measure` is said.
 * options may be NULL. Predicted spans begin where the later winner overtakes the earlier one, found to 2 % between
 * two sizes; measured ones at the size where they first won. The caller frees the result with
 * hop_tuned_collective_destroy; tuned NULL: only checks what is asked for. */
HOP_API enum hop_status hop_tune_collective(struct hop_network *network, const struct hop_ranks *ranks,
                                            const struct hop_collective_options *collective,
                                            const struct hop_tune_collective_options *options,
                                            struct hop_tuned_collective **tuned, struct hop_diag *diag);
HOP_API void hop_tuned_collective_destroy(struct hop_tuned_collective *tuned); /* NULL is allowed */

/* ---- tables of algorithms ---- */

/*
 *     # t2, 8 GPUs, pcie: model pcie; predicted
 *     # sizes: whole vectors, as nccl-tests prints them
 *     # collective     ranks       from  algorithm         segment
 *     allreduce            8         0B  doubling                -   # 4.2 us at 4B; one-shot 1.31 times that
 *     allreduce            8   115.2KiB  ring                    -
 *     broadcast            8         0B  chain               64KiB
 *
 * docs/tune_collective.md has the format.
 */
#define HOP_ALGORITHM_ROWS (1u << 16)
#define HOP_ALGORITHM_NOTES (1u << 10)     /* lines of remarks at the head */
#define HOP_ALGORITHM_RANKS (1u << 20)

struct hop_algorithm_row {
    enum hop_collective_kind collective;
    uint32_t ranks;         /* 1 to HOP_ALGORITHM_RANKS */
    uint64_t from_vector_bytes; /* up to the next row's of the same collective and ranks */
    const char *remark;     /* NULL: none */
    uint32_t line;          /* where it was read, 0: added */
    const char *algorithm;  /* as hop_collective_options takes it, not "default" */
    uint64_t segment_bytes; /* 0: not cut */
};

struct hop_algorithm_table;

HOP_API struct hop_algorithm_table *hop_algorithm_table_create(void); /* empty; NULL: out of memory */
/* path "-": standard input. A table without rows is refused. */
HOP_API enum hop_status hop_algorithm_table_load(const char *path, struct hop_algorithm_table **table,
                                                 struct hop_diag *diag);
HOP_API enum hop_status hop_algorithm_table_parse(const char *name, const char *text, size_t size,
                                                  struct hop_algorithm_table **table, struct hop_diag *diag);
HOP_API void hop_algorithm_table_destroy(struct hop_algorithm_table *table); /* NULL is allowed */
/* A line of remarks at the head; a row, at its place in the order (texts are copied). Refused: what no reader takes, a
 * second row for the same. */
HOP_API enum hop_status hop_algorithm_table_note(struct hop_algorithm_table *table, const char *text,
                                                 struct hop_diag *diag);
HOP_API enum hop_status hop_algorithm_table_add(struct hop_algorithm_table *table, const struct hop_algorithm_row *row,
                                                struct hop_diag *diag);
/* All spans, with remarks. */
HOP_API enum hop_status hop_algorithm_table_add_tuned(struct hop_algorithm_table *table,
                                                      const struct hop_tuned_collective *tuned, struct hop_diag *diag);
/* Rows and notes by index, rows by collective, ranks and size; NULL past the last. */
HOP_API const struct hop_algorithm_row *hop_algorithm_table_row(const struct hop_algorithm_table *table,
                                                                uint32_t index);
HOP_API const char *hop_algorithm_table_get_note(const struct hop_algorithm_table *table, uint32_t index);
/* What reads back to the same; the caller frees it; NULL: out of memory. */
HOP_API char *hop_algorithm_table_to_text(const struct hop_algorithm_table *table);
/* The row that counts: of the collective's, those whose ranks are nearest (the fewer of two equally near), of these the
 * one with the largest from_bytes that is not above, or the smallest there is. HOP_ERR_NOT_FOUND: no row for that
 * collective. The row is the table's. */
HOP_API enum hop_status hop_algorithm_table_find(const struct hop_algorithm_table *table, enum hop_collective_kind kind,
                                                 uint32_t ranks, uint64_t vector_bytes,
                                                 const struct hop_algorithm_row **row,
                                                 struct hop_diag *diag);

/* ---- staged transfers ---- */

/*
 * The multilevel model of Aggarwal et al. 2011 (SHMEM+), equations 11 to 15. D bytes go through all steps of a
 * transfer in N = ceil(D / P) packets of P bytes. Steps are joined into groups: those of one group follow each other,
 * packet after packet, and different groups overlap. With g the time of a packet in each group, every packet charged
 * in full (P bytes, or D where that is less),
 *
 *     T = sum of all g + (N - 1) max g
 *
 * What that takes for granted: steps of different groups do not slow each other down, and what lies between two of them
 * has room for all packets. hop_simulate knows better where they share links.
 */
#define HOP_STAGES_MAX 8       /* steps of a transfer */
#define HOP_STAGE_TIMES 64     /* sizes at which a step was measured, and packet sizes */
#define HOP_STAGE_NAME_SIZE 32 /* bytes of a step's name, its end included */
#define HOP_STAGES_REASON_SIZE 400

struct hop_stage_time {
    uint64_t bytes;
    double time_s;
};
/* What a step takes by size, as measured or as latency and rate. Between two measured sizes it is on the line that
 * joins them; below the least as much as there, which is an upper bound; above the largest it is not known. */
struct hop_stage {
    const char *name;                   /* for reasons and tables, such as "read" */
    const struct hop_stage_time *times; /* ascending in bytes; NULL: latency_s + bytes / rate_Bps */
    uint32_t time_count;
    double latency_s, rate_Bps;
};
/* The steps of a transfer, in their order; the caller's own, or read from a table. */
struct hop_stages {
    const struct hop_stage *stages;
    uint32_t count; /* 1 to HOP_STAGES_MAX */
};

/* A choice of which steps overlap: bit i is set where step i and step i + 1 belong to different groups, and so overlap.
 * With three steps 2 is the paper's: the third overlaps the first two; 3: all overlap; 0: none. */
typedef uint32_t hop_stages_overlap;

struct hop_stages_options {
    size_t size; /* see hop_version */
    /* Bytes of a packet, ascending; NULL: the sizes at which steps were measured, or, where none was, 64 KiB to 16 MiB,
     * each twice the last. The whole in one packet is always tried. */
    const uint64_t *packets;
    uint32_t packet_count; /* HOP_STAGE_TIMES at most */
    const hop_stages_overlap *overlaps; /* that are possible; NULL: every one */
    uint32_t overlap_count;
};

/* What a transfer takes in packets of one size, at its best overlap. */
struct hop_stages_way {
    uint64_t packet_bytes; /* 0: whole */
    uint64_t packets;
    hop_stages_overlap overlap;     /* of equals the one of fewest groups, of these the first given */
    double time_s;                  /* NAN: what a step takes is not known */
    double steps_s[HOP_STAGES_MAX]; /* of a packet; NAN: not known */
    uint32_t slowest;               /* the first step of the group that takes longest */
    bool guessed;                   /* a step was measured at other sizes only */
};

struct hop_stages_choice {
    struct hop_stages_way best;          /* the fastest; of equals (within 1e-9) the one of fewest packets */
    struct hop_stages_way whole;         /* in one packet */
    char reason[HOP_STAGES_REASON_SIZE]; /* a sentence for people, with the time and what comes next to it */
};

/* What a step takes for so many bytes; NAN: not known. */
HOP_API double hop_stage_time_s(const struct hop_stage *stage, uint64_t bytes);
/* The closed form; packet_bytes 0: whole. NAN: not known. */
HOP_API double hop_stages_time_s(const struct hop_stages *stages, hop_stages_overlap overlap, uint64_t bytes,
                                 uint64_t packet_bytes);
/* The best packets and overlap for a transfer of `bytes` (1 or more). options may be NULL. Nothing is allocated.
 * HOP_ERR_INVALID: steps or options make no sense; HOP_ERR_NOT_FOUND: no packet's times are known. */
HOP_API enum hop_status hop_stages_choose(const struct hop_stages *stages, uint64_t bytes,
                                          const struct hop_stages_options *options, struct hop_stages_choice *choice,
                                          struct hop_diag *diag);
/* All that hop_stages_choose compares: whole first, then by packet sizes below `bytes`. `ways` has room for
 * HOP_STAGE_TIMES + 1. */
HOP_API enum hop_status hop_stages_ways(const struct hop_stages *stages, uint64_t bytes,
                                        const struct hop_stages_options *options, struct hop_stages_way *ways,
                                        uint32_t *count, struct hop_diag *diag);
/* "read, network | write": what stands left and right of a bar overlaps. Returns buffer; HOP_STAGES_REASON_SIZE bytes
 * suffice. */
HOP_API char *hop_stages_show_overlap(const struct hop_stages *stages, hop_stages_overlap overlap, char *buffer,
                                      size_t size);

/* What `bytes` from each of n x g devices take to the host memory of node 0, each node having g of them (equations 5 to
 * 10). R, the first of the steps, brings a device's bytes into its host's memory, C, the second, from host to host.
 *
 *     approach 1   the root gets from one device after the other    g [(n - 1) (R + C) + R]
 *     approach 2   every node puts, device by device                g [R + (n - 1) C]
 *     approach 3   every node collects its devices', then puts      g R + (n - 1) C of g times the bytes */
struct hop_stages_gather {
    uint32_t nodes, devices;
    uint64_t bytes;                  /* of each device */
    double read_s, put_s, put_all_s; /* R; C of a device's bytes, of all of a node's; NAN: not known */
    double time_s[3];                /* by approach; NAN: not known */
    uint32_t best;                   /* 0 to 2; of equals the first */
    bool guessed;                    /* a step was measured at other sizes only */
    char reason[HOP_STAGES_REASON_SIZE];
};
/* Fills all but the first three members of `gather`. Errors as hop_stages_choose. */
HOP_API enum hop_status hop_stages_gather(const struct hop_stages *stages, struct hop_stages_gather *gather,
                                          struct hop_diag *diag);

/*
 * Tables of steps, a line a size:
 *
 *     steps     read  network   write
 *     512KiB  1.17ms   0.37ms  3.01ms
 *     1MiB       2ms   0.73ms  4.99ms
 *
 * "-": not measured; a size "any": LATENCY+RATE, as in 10us+12GB/s, of steps without times. docs/stages.md has the
 * format. The caller frees what these make with hop_stages_destroy.
 */
HOP_API enum hop_status hop_stages_load(const char *path, struct hop_stages **stages, struct hop_diag *diag);
HOP_API enum hop_status hop_stages_parse(const char *name, const char *text, size_t size, struct hop_stages **stages,
                                         struct hop_diag *diag);
/* What reads back to the same; the caller frees it; NULL: out of memory. */
HOP_API char *hop_stages_to_text(const struct hop_stages *stages);
/* The steps from each place to the next (2 to HOP_STAGES_MAX + 1 devices), each alone on the network, as hop_simulate
 * predicts it at these sizes (ascending, HOP_STAGE_TIMES at most). */
HOP_API enum hop_status hop_stages_predict(struct hop_network *network, const char *const *places, uint32_t place_count,
                                           const uint64_t *sizes, uint32_t size_count, struct hop_stages **stages,
                                           struct hop_diag *diag);
HOP_API void hop_stages_destroy(struct hop_stages *stages); /* NULL is allowed; not for the caller's own */

/* ---- puts of a network card ---- */

/* How a put whose source or destination is device memory gets there (Ammendola et al. 2013, section 5). */
enum hop_put_method {
    HOP_PUT_DIRECT,   /* the card reads and writes device memory itself */
    HOP_PUT_STAGED,   /* copied to host memory, put from there into host memory, copied from there */
    HOP_PUT_PIPELINED /* the same, piece by piece through two buffers */
};
struct hop_puts {
    size_t size;           /* see hop_version */
    const char *from, *to; /* devices of the topology behind cards with engines (hop_node.card) */
    uint64_t bytes;        /* of each */
    uint32_t count;        /* one after the other, as many as the card takes; 1 to 4,096 */
    enum hop_put_method method;
    uint64_t piece_bytes; /* pipelined; 0: 64 KiB */
};
/* The schedule of a row of puts, as one thread issues them. A put is software (put_s), the card's own work, and software
 * (completion_s), which does not wait for it: the next one follows. Out of device memory it waits until the card's engine has read
 * the put, and takes device_completion_s more; what the packets do then goes on beside the next one. Where puts are staged, the thread waits for each copy out of device memory (copy_s, and
 * its bytes), and a staging buffer is free again when the card has read it. Copies into device memory are the receiver's, who
 * is not held up. */
HOP_API enum hop_status hop_puts_schedule(const struct hop_topology *topology, const struct hop_puts *puts,
                                          struct hop_schedule **schedule, struct hop_diag *diag);

struct hop_put_times {
    double latency_s; /* from the call to the last byte's arrival, of one: half a round trip */
    double gap_s;     /* from one to the next in a long row; for short ones the host's overhead, as LogP has it */
    double rate_Bps;  /* bytes / gap_s */
};
/* What puts of one size between two devices take, by method; NAN: not asked for. */
enum { HOP_PUT_METHODS = HOP_PUT_PIPELINED + 1 };
struct hop_put_row {
    const char *from, *to;
    uint64_t bytes;
    struct hop_put_times times[HOP_PUT_METHODS];
};
/* "direct", "staged", "pipelined". */
HOP_API const char *hop_put_method_name(enum hop_put_method method);
/* Simulates packets of one put and of rows of them (count is not looked at). HOP_ERR_LIMIT: above 1 GiB a put. times NULL: only
 * checks whether it can. */
HOP_API enum hop_status hop_puts_times(struct hop_network *network, const struct hop_puts *puts,
                                       struct hop_put_times *times, struct hop_diag *diag);

/* ---- writing ---- */

/* docs/tune_puts.schema.json; and what rows move over sizes, a line a pair and method, as SVG under a title. New strings that the
 * caller frees, NULL: out of memory. */
HOP_API char *hop_puts_to_json(const struct hop_put_row *rows, uint32_t count);
HOP_API char *hop_puts_to_svg(const struct hop_put_row *rows, uint32_t count, const char *title);

/* All ways for each of the sizes, and gathers that are filled: docs/tune_stages.schema.json. A new string that the
 * caller frees, NULL: out of memory, or hop_stages_ways refuses what it is given. */
HOP_API char *hop_stages_to_json(const struct hop_stages *stages, const struct hop_stages_options *options,
                                 const uint64_t *sizes, uint32_t size_count, const struct hop_stages_gather *gathers,
                                 uint32_t gather_count);

/* docs/tune_collective.schema.json; a new string that the caller frees, NULL: out of memory. network NULL: measured. */
HOP_API char *hop_tuned_collectives_to_json(const struct hop_network *network,
                                            const struct hop_tuned_collective *const *tuned, uint32_t count);

struct hop_tune_named_mix {
    const char *name;
    const struct hop_schedule *schedule; /* as given to hop_tune_mix */
    const struct hop_tuned_mix *mix;
};

/* docs/tune_paths.schema.json; a new string that the caller frees, NULL: out of memory. paths may be NULL. */
HOP_API char *hop_tune_to_json(const struct hop_network *network, const struct hop_tuned_paths *paths,
                               const struct hop_tune_named_mix *mixes, uint32_t mix_count);

#ifdef __cplusplus
}
#endif
#endif
