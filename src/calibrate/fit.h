/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside fitting: knobs, each one value for several places of a topology, and what the measurements cost under them.
 *
 *     knobs.c    which knobs there are, how they are split, how their values get into the topology
 *     loss.c     what each group costs, and which groups a knob touches
 *     turn.c     turns them (matrix.c)
 *     select.c   adds those that the data asks for
 *     chips.c    adds links inside switch chips
 *     ways.c     moves limits as a whole, adds ports of root complexes
 *     fit.c      a fit from beginning to end, and without what is held out
 *     fit_result.c  how sure its values are
 *     residuals.c   what remains of the errors
 *     candidates.c  measurements that might be made
 *     suggest.c  which of them would determine most
 *     design.c   the best choice of observations, whatever they are of
 *     curve.c    how well a fit predicts, by how many measurements it has
 */
#ifndef HOP_CALIBRATE_FIT_H
#define HOP_CALIBRATE_FIT_H

#include "compare/compare.h"
#include "compare/expect.h"
#include "hopcast/calibrate.h"
#include "hopcast/model.h"

enum hop_knob_kind {
    HOP_KNOB_CAPACITY, /* bytes/s of directed links; of bonded links each one's */
    HOP_KNOB_DUPLEX,   /* share of its capacity that a directed link keeps while the other direction is full */
    HOP_KNOB_CROSSING, /* 1 - tau of pairs of root complexes */
    HOP_KNOB_LATENCY,  /* seconds: parameter copy_latency */
    HOP_KNOB_HOST,     /* parameter host_duplex */
    HOP_KNOB_STREAM,   /* bytes/s: parameter ceiling_network */
};

struct hop_knob {
    enum hop_knob_kind kind;
    char what[80];           /* for people: "capacity of PCIe links, up" */
    const uint32_t *members; /* directed links; pairs: place of a in roots * root_count + place of b, a <= b; else 0 */
    uint32_t count;
    uint32_t parent;         /* a part of that knob, which loses these members when this one is added; HOP_NONE: new */
    double value, given;
    double nominal;          /* what the topology was given with */
    double gain;             /* cost that it took away when it was added, 0: it was there from the start */
    double lift;             /* of a two-way share that is proposed: by which the capacities that it is of grow; 0: not */
    double deviation, low,
        high; /* of the value: one standard deviation and a 90 % interval, as soon as they are known */
};
struct hop_knob_range {
    double low, high;
};

/* What an evaluation of the measurements says. */
struct hop_fit_costs {
    double *group; /* what each costs */
    double *row;   /* log(predicted / measured rate) of each, NAN: it does not count */
};

enum { HOP_KNOBS_MAX = 96, HOP_FIT_KINDS = 64 };

/* Once its work has failed, nothing below does anything but return, and what it returns says nothing. */
struct hop_fitting {
    struct hop_failure *failure;
    const struct hop_measurements *measurements;
    const struct hop_topology *given;
    struct hop_topology *topology; /* ours: knobs are turned in it */
    struct hop_expect *expect;
    const char *model;
    uint32_t kinds; /* of rows that a value must be determined by to be added */
    struct hop_arena arena;
    const uint8_t *train; /* per measurement: it counts; NULL: all do */
    bool blind;           /* nobody has seen the measured values */
    uint32_t groups, directed;
    uint8_t *counts;   /* per group: rows of it count */
    uint8_t *kind;     /* per row, below HOP_FIT_KINDS: what kind of measurement it is */
    uint8_t *measured; /* per directed link: a row that counts takes it */
    uint8_t
        *reached; /* the same, or it is like one (kind, generation, width) that is measured, which it inherits from */
    uint8_t *on_link; /* [group * directed + link]: a copy of the group takes it */
    uint8_t *takes;   /* [row * directed + link]: that copy takes it */
    uint8_t *timed;   /* per directed link: HOP_ONE_WAY, HOP_BOTH_WAYS: how rows that count and were timed take it */
    uint8_t *
        two_way; /* per directed link: it may have the two-way share of links like it; see hop_fit_is_timed_two_way, too */
    uint8_t *on_pair; /* [(group * root_count + a) * root_count + b], a <= b: a copy crosses between the two */
    uint32_t *roots, root_count; /* nodes */
    uint8_t *far;                /* [a * root_count + b]: over a link between sockets */
    double *share;        /* per directed link: of its capacity, while the other direction is full; 0: as given */
    struct hop_fit_costs now, trial, other,
        unfitted;    /* now, under values in hand, under the topology as it was given */
    double *times_s; /* scratch */
    struct hop_knob knobs[HOP_KNOBS_MAX];
    uint32_t knob_count;
    struct hop_fit_seen *seen; /* gains of proposals so far */
    uint32_t seen_count;
    double scatter;        /* error of a group by which a fit may be worse than none */
    double most_alone_Bps; /* rate of the fastest lone copy over PCIe, 0: none */
};
static inline bool hop_fit_good(const struct hop_fitting *f)
{
    return f->failure->status == HOP_OK && !f->arena.failed;
}

/* ---- loss.c ---- */

/* Links, pairs and arrays of a fitting whose measurements, topology and expect are filled in. */
void hop_fit_prepare(struct hop_fitting *f);
/* How a row takes a directed link, 0: not at all; a trace says nothing of the time, so it may be both. */
enum { HOP_ONE_WAY = 1, HOP_BOTH_WAYS = 2 };
unsigned hop_fit_ways(const struct hop_fitting *f, uint32_t group, uint32_t row, uint32_t directed);
/* Goes on with another topology, of which as many links as before have the shares that are kept. The one before is the caller's. */
void hop_fit_take_topology(struct hop_fitting *f, struct hop_topology *topology);
bool hop_fit_touches(const struct hop_fitting *f, const struct hop_knob *knob, uint32_t group); /* NULL: all do */
/* What the groups that a knob touches (NULL: all) cost under the topology as it is; of others, costs keeps what it has. */
void hop_fit_evaluate(struct hop_fitting *f, const struct hop_knob *knob, struct hop_fit_costs *costs);
/* What the groups that a knob touches (NULL: all) cost together. */
double hop_fit_sum(const struct hop_fitting *f, const struct hop_knob *knob, const struct hop_fit_costs *costs);
/* Whether a directed link, or one like it in this direction, was timed while the other one was busy. */
bool hop_fit_is_timed_two_way(const struct hop_fitting *f, uint32_t directed);
/* What a row of such an error costs, and how much it weighs beside others: near zero errors count with their square. */
/* By which the error of a row is multiplied before it costs: 1, or less where its samples spread by more than that unit. */
double hop_fit_trust(const struct hop_fitting *f, uint32_t row);
double hop_fit_cost_of(double error);
double hop_fit_curvature(double error);
/* The share of a row in the cost of its group. */
double hop_fit_weight(const struct hop_fitting *f, uint32_t group);

/* ---- knobs.c ---- */

void hop_knob_set(struct hop_fitting *f, const struct hop_knob *knob, double value);
/* Sets a parameter of the whole machine: calibrated, or as it was given. */
void hop_knob_set_parameter(struct hop_fitting *f, const char *name, double value);
/* The least and the most that a knob may be. */
struct hop_knob_range hop_knob_bounds(const struct hop_fitting *f, const struct hop_knob *knob);
double hop_knob_clamp(const struct hop_fitting *f, const struct hop_knob *knob, double value);
/* Puts what limits links between sockets (capacity, two-way share) where root complexes send out to their sockets, makes the former
 * wide and lets crossings lose nothing. The knob of that capacity; NULL: there is no place for it, and nothing has changed. */
struct hop_knob *hop_knobs_move_out(struct hop_fitting *f);
/* A limit of every copy over a network for itself. */
void hop_knobs_add_stream(struct hop_fitting *f);
const char *hop_knob_parameter(enum hop_knob_kind kind); /* of one that is a parameter */
bool hop_knob_is_network(const struct hop_fitting *f, const struct hop_knob *knob); /* capacity of network links */
bool hop_knob_is_device(const struct hop_fitting *f, const struct hop_knob *knob);  /* of a link that leads to a device */
/* Knobs that every machine starts with. */
void hop_knobs_begin(struct hop_fitting *f);
/* Knobs that might be added: parts of those that there are, and limits that nothing spoke of so far. Memory is the
 * fitting's. */
struct hop_knob *hop_knobs_propose(struct hop_fitting *f, uint32_t *count);
/* Adds a proposal, taking its members from its parent. */
void hop_knobs_add(struct hop_fitting *f, const struct hop_knob *proposal);

/* ---- turn.c ---- */

#define HOP_GAIN_LEAST 4.0  /* cost that an added knob must take away: 2 % of error in 10 groups, 8 % in one */
#define HOP_GAIN_OF_ONE 6.0 /* where only one group asks for a limit */
#define HOP_IMPROVED 0.25   /* cost by which a group counts as asking for it */

/* Values on a scale on which equal steps are alike: logarithms; of a latency 10 us. */
double hop_knob_scaled(const struct hop_knob *knob, double value);
double hop_knob_unscaled(const struct hop_knob *knob, double scaled);
/* Sets a knob; f->trial then holds what its groups cost, whose sum is returned. */
double hop_fit_try(struct hop_fitting *f, const struct hop_knob *knob, double value);
/* The best of some values of a knob or between them, and its cost; the topology has it afterwards, f->now does not. */
double hop_fit_search(struct hop_fitting *f, const struct hop_knob *knob, double *values, uint32_t count,
                      double *best_cost);
enum { HOP_VALUES_MAX = 64 };
/* Values all over a knob's range, those that would put single rows right among them; how many. */
uint32_t hop_fit_values(struct hop_fitting *f, const struct hop_knob *knob, double values[HOP_VALUES_MAX]);
/* How much the errors of rows change by the scaled value of each knob: [row * knob_count + knob]. */
void hop_fit_slopes(struct hop_fitting *f, double *slopes);
/* The two sides of the equation for a step of all scaled values (turn.c): knob_count x knob_count, and knob_count. */
void hop_fit_normal(const struct hop_fitting *f, const double *slopes, double *matrix, double *right);
/* Turns all knobs together; the first time each alone before. */
void hop_fit_turn_all(struct hop_fitting *f, bool first);

/* Goes back to knobs that were, and their values. */
void hop_fit_put_knobs(struct hop_fitting *f, const struct hop_knob *knobs, uint32_t count);

/* ---- select.c ---- */

bool hop_fit_add_best(struct hop_fitting *f); /* adds the best proposal; false: none was worth it */

/* ---- chips.c ---- */

/* A copy, with links behind its other ones between pairs of nodes: between switches of kind chip, between root complexes as wide as
 * those to their socket. NULL: that failed. */
struct hop_topology *hop_fit_topology(const struct hop_topology *topology, const uint32_t (*joined)[2], uint32_t links,
                                      struct hop_failure *failure);
/* Whether a node hangs under another, at any depth, or is it. */
bool hop_fit_is_below(const struct hop_topology *topology, uint32_t node, uint32_t top);
/* The rate of a group that is one copy which counts, 0: it is none. */
double hop_fit_alone(const struct hop_fitting *f, uint32_t group);
/* The most that a lone copy over PCIe between two devices, or with host memory, gets; 0: there is none. */
double hop_fit_most_alone(const struct hop_fitting *f);
enum { HOP_CHIPS_TRIED = 256 };
/* Switches that the copies of badly predicted groups (blind: of all) might pass inside a chip. */
uint32_t hop_fit_list_chips(const struct hop_fitting *f, uint32_t pairs[HOP_CHIPS_TRIED][2]);
/* What groups would cost with a chip link more: f->trial; the topology is as before. */
void hop_fit_try_chip(struct hop_fitting *f, const uint32_t pair[2]);
/* Adds chip links, the one that gains most first, as long as groups ask for one; false: none did. */
bool hop_fit_join_chips(struct hop_fitting *f);

/* ---- ways.c ---- */

/* Gives root complexes a port of their own to the others of their socket, where that costs less; whether one got it. */
bool hop_fit_add_ports(struct hop_fitting *f);
/* Whether limits of links between sockets were moved to the ways out of root complexes, where that costs less. */
bool hop_fit_move_ways_out(struct hop_fitting *f);

/* ---- fit.c ---- */

/* What a fit begins with: its topology, schedules, the knobs of every machine. train: per measurement whether it counts, NULL: all do.
 * blind: as if nobody had seen the measured values. NULL: that failed, as below. */
struct hop_fitting *hop_fit_begin(const struct hop_measurements *measurements, const struct hop_topology *topology,
                                  const struct hop_fit_options *options, const uint8_t *train, bool blind,
                                  struct hop_failure *failure);
/* A whole fit. */
struct hop_fitting *hop_fit_once(const struct hop_measurements *measurements, const struct hop_topology *topology,
                                 const struct hop_fit_options *options, const uint8_t *train,
                                 struct hop_failure *failure);
struct hop_fitting *hop_fit_settle(struct hop_fitting *f); /* itself; NULL: its work has failed, and it is freed */
void hop_fit_finish(struct hop_fitting *f);                /* NULL is allowed */
void hop_fit_take_options(struct hop_fit_options *own, const struct hop_fit_options *given,
                          struct hop_failure *failure);

/* ---- candidates.c, suggest.c ---- */

/* Copies between the GPUs of a topology and with host memory, alone and together; NULL: that failed. */
struct hop_measurements *hop_fit_candidates(const struct hop_topology *topology, struct hop_failure *failure);
/* Suggests those groups that say most beside those that are known (per measurement whether it is; NULL: none is). Options are taken. */
enum hop_status hop_fit_suggest_more(const struct hop_topology *topology, const struct hop_measurements *all,
                                     const uint8_t *known, const struct hop_fit_options *options, uint32_t count,
                                     struct hop_suggestion **suggestion, struct hop_diag *diag);

/* ---- residuals.c ---- */

/* How far a group, or a copy of a trace, lies off its prediction beyond the range that the fit's values give it. */
struct hop_remain {
    uint32_t group, fold; /* which held it out */
    bool trace, contending;
    double beyond[2]; /* logarithms, at least 0: faster, slower than predicted */
};
struct hop_remains {
    struct hop_remain *list;
    uint32_t count;
    double *scratch;
    struct hop_arena arena;
};
struct hop_span_of_errors {
    double down, up; /* logarithms, at least 0 */
};
/* Those of a candidate, whose ranges are there. fold_of: per row of the comparison, NULL: none held it out. */
void hop_fit_add_remains(struct hop_remains *r, const struct hop_comparing *c, uint32_t candidate,
                         const uint8_t *fold_of);
/* So that ranges of predictions are made of the fit's values only. */
void hop_fit_know_no_error(struct hop_fitting *f);
/* Writes the ranges of both parameters into the fit's topology, by `inflation` wider, and widens the ranges of the candidate by what
 * the other folds say. Frees the remains. */
void hop_fit_settle_errors(struct hop_fitting *f, struct hop_remains *r, struct hop_comparing *c, uint32_t candidate,
                           double inflation);
/* A fit that predicts a group worse than before (the first two candidates) is unsure by as much: widens both ranges where need be, and
 * names groups that nothing predicts, before or after. */
void hop_fit_own_up(struct hop_fitting *f, const struct hop_comparing *c, struct hop_fit_result *result);

/* ---- fit_result.c ---- */

struct hop_fitted {
    struct hop_fit_result public; /* first */
    struct hop_arena arena;
};
/* Finds the ranges of all values, and writes them into the fit's topology. */
void hop_fit_find_ranges(struct hop_fitting *f);
void hop_fit_write_parameters(struct hop_fitting *f, struct hop_fitted *r);

/* A parameter as it was found, with its range, where that is one. */
void hop_fit_publish(struct hop_fitting *f, const char *name, double value, double low, double high, double deviation);

/* fit_share.c: what all that follow from a parameter were found to have in common becomes the parameter's value, from which they
 * follow again. Last of all, since knobs set each by itself. */
void hop_fit_share(struct hop_fitting *f);

#endif
