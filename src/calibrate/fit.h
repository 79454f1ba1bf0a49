/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside fitting: knobs, each one value for several places of a topology, and what the measurements cost under them.
 *
 *     knobs.c    which knobs there are, how they are split, how their values get into the topology
 *     loss.c     what each group costs, and which groups a knob touches
 *     turn.c     turns them
 *     select.c   adds those that the data asks for
 *     chips.c    adds links inside switch chips
 *     fit.c      a fit from beginning to end, and without what is held out
 *     fit_result.c  how sure its values are
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
};

enum { HOP_KNOBS_MAX = 96 };

/* Once its work has failed, nothing below does anything but return, and what it returns says nothing. */
struct hop_fitting {
    struct hop_failure *failure;
    const struct hop_measurements *measurements;
    const struct hop_topology *given;
    struct hop_topology *topology; /* ours: knobs are turned in it */
    struct hop_expect *expect;
    const char *model;
    struct hop_arena arena;
    const uint8_t *train; /* per measurement: it counts; NULL: all do */
    uint32_t groups, directed;
    uint8_t *on_link; /* [group * directed + link]: a copy of the group takes it */
    uint8_t *on_pair; /* [(group * root_count + a) * root_count + b], a <= b: a copy crosses between the two */
    uint32_t *roots, root_count; /* nodes */
    uint8_t *far;                /* [a * root_count + b]: over a link between sockets */
    double *share;        /* per directed link: of its capacity, while the other direction is full; 0: as given */
    double *cost, *trial; /* per group: now, and under the value in hand */
    double *times_s;      /* scratch */
    double *errors;       /* log(predicted / measured rate) of the rows that the last costs are of */
    uint32_t error_count;
    struct hop_knob knobs[HOP_KNOBS_MAX];
    uint32_t knob_count;
    struct hop_fit_seen *seen; /* gains of proposals so far */
    uint32_t seen_count;
    double most_alone_Bps; /* rate of the fastest lone copy over PCIe, 0: none */
};
static inline bool hop_fit_good(const struct hop_fitting *f)
{
    return f->failure->status == HOP_OK && !f->arena.failed;
}

/* ---- loss.c ---- */

/* Links, pairs and arrays of a fitting whose measurements, topology and expect are filled in. */
void hop_fit_prepare(struct hop_fitting *f);
bool hop_fit_touches(const struct hop_fitting *f, const struct hop_knob *knob, uint32_t group); /* NULL: all do */
/* What the groups that a knob touches (NULL: all) cost under the topology as it is; others keep what costs has. The errors
 * of their rows become the fitting's. */
void hop_fit_costs(struct hop_fitting *f, const struct hop_knob *knob, double *costs);
/* What the groups that a knob touches (NULL: all) cost together. */
double hop_fit_sum(const struct hop_fitting *f, const struct hop_knob *knob, const double *costs);

/* ---- knobs.c ---- */

void hop_knob_set(struct hop_fitting *f, const struct hop_knob *knob, double value);
/* Sets a parameter of the whole machine: calibrated, or as it was given. */
void hop_knob_set_parameter(struct hop_fitting *f, const char *name, double value);
/* The least and the most that a knob may be. */
struct hop_knob_range {
    double low, high;
};
struct hop_knob_range hop_knob_bounds(const struct hop_fitting *f, const struct hop_knob *knob);
double hop_knob_clamp(const struct hop_fitting *f, const struct hop_knob *knob, double value);
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

/* Sets a knob; f->trial then holds what its groups cost, whose sum is returned. */
double hop_fit_try(struct hop_fitting *f, const struct hop_knob *knob, double value);
/* The best value of a knob and its cost; the topology has it afterwards, f->cost does not. */
double hop_fit_search(struct hop_fitting *f, const struct hop_knob *knob, double *best_cost);
/* Turns every knob, until a pass over all of them gains nothing. */
void hop_fit_turn_all(struct hop_fitting *f);

/* ---- select.c ---- */

bool hop_fit_add_best(struct hop_fitting *f); /* adds the best proposal; false: none was worth it */

/* ---- chips.c ---- */

/* A copy, with a chip link between two nodes behind its other links (NULL: none); NULL: that failed. */
struct hop_topology *hop_fit_topology(const struct hop_topology *topology, const uint32_t *chip,
                                      struct hop_failure *failure);
/* Whether a node hangs under another, at any depth, or is it. */
bool hop_fit_is_below(const struct hop_topology *topology, uint32_t node, uint32_t top);
/* The rate of a group that is one copy which counts, 0: it is none. */
double hop_fit_alone(const struct hop_fitting *f, uint32_t group);
/* The most that a lone copy over PCIe between two devices, or with host memory, gets; 0: there is none. */
double hop_fit_most_alone(const struct hop_fitting *f);
/* Adds chip links, the one that gains most first, as long as groups ask for one; false: none did. */
bool hop_fit_join_chips(struct hop_fitting *f);

/* ---- fit_result.c ---- */

struct hop_fitted {
    struct hop_fit_result public; /* first */
    struct hop_arena arena;
};
void hop_fit_write_parameters(struct hop_fitting *f, struct hop_fitted *r);

#endif
