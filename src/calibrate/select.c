/* SPDX-License-Identifier: BSD-3-Clause */
/* Which knobs the measurements ask for: of all proposals the one that takes away most cost, if it takes away enough. */
#include "calibrate/fit.h"

#include <math.h>

enum { SEEN_MAX = 4096 };
#define LIFT_TRIED 20.0  /* gain of a two-way share above which it needs no lift */
#define GAIN_MARGIN 0.02 /* of two proposals that gain as much, the first */
#define PART_LEAST 0.04  /* by which a single link's or pair's value differs from the others' */
#define NUDGE 0.05       /* scaled: how far a first look goes */
#define GUESS_LEAST 0.6  /* of the gain that counts: what a first look must promise */
#define SPOILT 0.005     /* error by which a group counts as worse */
#define SCATTER 2.5      /* times the median error of groups: what a fit may be off */
#define SCATTER_LEAST 0.02

/* A part of one link or of one pair. */
static bool is_single(const struct hop_knob *knob)
{
    return knob->parent != HOP_NONE && knob->count <= (knob->kind == HOP_KNOB_CROSSING ? 1 : 2);
}

/* How a proposal is looked at: the values of its neighbourhood, and what the rows' errors are there. */
struct slopes {
    double below, above; /* scaled distances from its value, 0: there is no room */
};

/* What the rows that a proposal touches would cost at a distance, each error going on in a straight line. */
static double guess_at(const struct hop_fitting *f, const struct hop_knob *proposal, const struct slopes *s, double far)
{
    double nudge = far < 0 ? s->below : s->above, sum = 0;
    const struct hop_fit_costs *there = far < 0 ? &f->other : &f->trial;
    for (uint32_t g = 0; g < f->groups; g++) {
        struct hop_measurement_group rows = hop_measurements_group(f->measurements, g);
        double weight = hop_fit_touches(f, proposal, g) ? hop_fit_weight(f, g) : 0;
        for (uint32_t i = 0; i < rows.count && weight > 0; i++) {
            double error = f->now.row[rows.rows[i]];
            if (!isnan(error))
                sum += weight * hop_fit_cost_of(error + (there->row[rows.rows[i]] - error) * far / nudge);
        }
    }
    return sum;
}

/* The scaled distance to where a proposal seems best, from one look below and one above; 0: it does not seem to gain
 * enough anywhere. */
static double guess(struct hop_fitting *f, const struct hop_knob *proposal, double before)
{
    static const double far[] = {-1.4, -1, -0.7, -0.5, -0.35, -0.2, -0.1, -0.05, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1};
    double x = hop_knob_scaled(proposal, proposal->value), best = before - GUESS_LEAST * HOP_GAIN_LEAST, at = 0;
    double low = hop_knob_clamp(f, proposal, hop_knob_unscaled(proposal, x - NUDGE)),
           high = hop_knob_clamp(f, proposal, hop_knob_unscaled(proposal, x + NUDGE));
    struct slopes s = {hop_knob_scaled(proposal, low) - x, hop_knob_scaled(proposal, high) - x};
    if (s.above > 0)
        (void)hop_fit_try(f, proposal, high);
    hop_knob_set(f, proposal, low);
    if (s.below < 0)
        hop_fit_evaluate(f, proposal, &f->other);
    hop_knob_set(f, proposal, proposal->value);
    for (size_t i = 0; i < HOP_COUNT(far) && hop_fit_good(f); i++) {
        double cost = (far[i] < 0 ? s.below : s.above) == 0 ? INFINITY : guess_at(f, proposal, &s, far[i]);
        at = cost < best ? far[i] : at;
        best = hop_min(best, cost);
    }
    return at;
}

/* The best value of a proposal and its cost; NAN: none seems worth a look. */
static double best_value(struct hop_fitting *f, const struct hop_knob *proposal, double before, double *cost)
{
    static const double around[] = {0.4, 0.7, 1, 1.4};
    double values[HOP_VALUES_MAX], x = hop_knob_scaled(proposal, proposal->value);
    if (proposal->parent == HOP_NONE) { /* nothing may feel it where it is */
        uint32_t count = hop_fit_values(f, proposal, values);
        return hop_fit_search(f, proposal, values, count, cost);
    }
    double far = guess(f, proposal, before);
    if (far == 0)
        return NAN;
    for (size_t i = 0; i < HOP_COUNT(around); i++)
        values[i] = hop_knob_unscaled(proposal, x + around[i] * far);
    values[HOP_COUNT(around)] = proposal->value;
    return hop_fit_search(f, proposal, values, HOP_COUNT(around) + 1, cost);
}

/* The mean size of the errors of a group, 0: none of its rows counts. */
static double error_of_group(const struct hop_fitting *f, const struct hop_fit_costs *costs, uint32_t group)
{
    struct hop_measurement_group rows = hop_measurements_group(f->measurements, group);
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows.count; i++) {
        double error = costs->row[rows.rows[i]];
        sum += isnan(error) ? 0 : fabs(error);
        count += !isnan(error);
    }
    return count ? sum / count : 0;
}

/* Whether the trial makes a group worse than it is now, and than it was before the fit by more than a fit may be off. */
static bool spoils(const struct hop_fitting *f, const struct hop_knob *proposal)
{
    for (uint32_t g = 0; g < f->groups; g++) {
        double trial = hop_fit_touches(f, proposal, g) ? error_of_group(f, &f->trial, g) : 0;
        if (trial > error_of_group(f, &f->now, g) + SPOILT && trial > error_of_group(f, &f->unfitted, g) + f->scatter)
            return true;
    }
    return false;
}

/* How a row takes one of these links, or, `reverse`, the other direction of one. */
static unsigned ways_of(const struct hop_fitting *f, uint32_t group, uint32_t row, const struct hop_knob *links,
                        unsigned reverse)
{
    unsigned ways = 0;
    for (uint32_t i = 0; i < links->count; i++)
        ways |= hop_fit_ways(f, group, row, links->members[i] ^ reverse);
    return ways;
}

enum { ASKS = 1, COMPARES = 2, SETTLES = 4 };

/* What a row has to say of a proposal: whether it may ask for it, whether it shows what that differs from, and whether it tells
 * what a direction carries from what is left of that while the other one is busy. */
static unsigned role_of(const struct hop_fitting *f, const struct hop_knob *proposal, uint32_t group, uint32_t row)
{
    const struct hop_knob *parent = proposal->parent == HOP_NONE ? NULL : &f->knobs[proposal->parent];
    if (proposal->kind != HOP_KNOB_CAPACITY && proposal->kind != HOP_KNOB_DUPLEX)
        return ASKS | COMPARES | SETTLES;
    unsigned own = ways_of(f, group, row, proposal, 0), around = parent ? ways_of(f, group, row, parent, 0) : 0;
    if (proposal->kind == HOP_KNOB_DUPLEX)
        return (own & HOP_BOTH_WAYS ? ASKS : 0) | (own & HOP_ONE_WAY || around & HOP_BOTH_WAYS ? COMPARES : 0) |
               SETTLES;
    around |= ways_of(f, group, row, proposal, 1);
    return (own ? ASKS : 0) | (own || around ? COMPARES : 0) | (own & HOP_ONE_WAY ? SETTLES : 0);
}

/* How many kinds of rows determine a proposal: those that cost less under the trial, and those that are held against them
 * and cost no more. 0: none asks for it, or it could be a two-way share as well as a capacity. */
static unsigned kinds_determining(const struct hop_fitting *f, const struct hop_knob *proposal)
{
    double asked[HOP_FIT_KINDS] = {0}, gain[HOP_FIT_KINDS] = {0};
    unsigned asking = 0, compared = 0, settled = 0, roles[HOP_FIT_KINDS] = {0};
    for (uint32_t g = 0; g < f->groups; g++) {
        struct hop_measurement_group rows = hop_measurements_group(f->measurements, g);
        double weight = hop_fit_weight(f, g);
        for (uint32_t i = 0; i < rows.count; i++) {
            uint32_t r = rows.rows[i], kind = f->kind[r];
            unsigned role = isnan(f->now.row[r]) ? 0 : role_of(f, proposal, g, r);
            double less = role == 0 || !hop_fit_touches(f, proposal, g)
                              ? 0
                              : weight * (hop_fit_cost_of(f->now.row[r]) - hop_fit_cost_of(f->trial.row[r]));
            roles[kind] |= role;
            asked[kind] += role & ASKS ? less : 0;
            gain[kind] += less;
        }
    }
    for (unsigned k = 0; k < HOP_FIT_KINDS; k++) {
        bool asks = asked[k] > HOP_IMPROVED, holds = gain[k] > -HOP_IMPROVED;
        asking += asks;
        compared += !asks && (roles[k] & COMPARES) && holds;
        settled += (roles[k] & SETTLES) && holds;
    }
    return asking && settled ? asking + compared : 0;
}

/* Multiplies those capacities that a two-way share is of, what a link carries alone, which then predict better. Returns what
 * all groups cost. */
static double lift_capacities(struct hop_fitting *f, const struct hop_knob *share, double factor)
{
    hop_fit_evaluate(f, NULL, &f->trial);
    double cost = hop_fit_sum(f, NULL, &f->trial);
    for (uint32_t k = 0; k < f->knob_count; k++) {
        struct hop_knob *knob = &f->knobs[k];
        bool same = false;
        for (uint32_t i = 0; i < knob->count && knob->kind == HOP_KNOB_CAPACITY && !same; i++)
            same = bsearch(&knob->members[i], share->members, share->count, sizeof *share->members, hop_ascending_u32);
        if (!same)
            continue;
        double before = knob->value, lifted = hop_knob_clamp(f, knob, before * factor);
        hop_knob_set(f, knob, lifted);
        hop_fit_evaluate(f, NULL, &f->trial);
        double other = hop_fit_sum(f, NULL, &f->trial);
        knob->value = other < cost ? lifted : before;
        cost = hop_min(cost, other);
        hop_knob_set(f, knob, knob->value);
    }
    return cost;
}

/* Where one capacity stands for links that are busy in one direction and in both, near the one or between, a share gains
 * nothing unless the capacity grows with it. Whether both together gain more than `gain`, which then is what they do, the
 * proposal having the share. */
static bool appraise_lifted(struct hop_fitting *f, struct hop_knob *proposal, double *gain)
{
    static const struct {
        double share, lift;
    } tried[] = {{0.95, 1 / 0.95}, {0.85, 1 / 0.85}, {0.7, 1 / 0.7}, {0.85, 1.08}, {0.7, 1.2}};
    struct hop_knob knobs[HOP_KNOBS_MAX];
    double given = proposal->value, before = hop_fit_sum(f, NULL, &f->now);
    bool better = false;
    memcpy(knobs, f->knobs, sizeof knobs);
    for (size_t i = 0; i < HOP_COUNT(tried) && hop_fit_good(f); i++) {
        hop_knob_set(f, proposal, tried[i].share);
        double gained = before - lift_capacities(f, proposal, tried[i].lift);
        hop_fit_evaluate(f, NULL, &f->trial);
        if (gained > hop_max(*gain, HOP_GAIN_LEAST) && kinds_determining(f, proposal) >= f->kinds &&
            !spoils(f, proposal)) {
            *gain = gained;
            proposal->value = tried[i].share;
            proposal->lift = tried[i].lift;
            better = true;
        }
        hop_knob_set(f, proposal, given);
        memcpy(f->knobs, knobs, sizeof knobs);
        for (uint32_t k = 0; k < f->knob_count; k++)
            hop_knob_set(f, &f->knobs[k], f->knobs[k].value);
    }
    return better;
}

/* What a proposal gains when it is turned to its best value, which it gets; the topology is left as it was. */
static void appraise(struct hop_fitting *f, struct hop_knob *proposal)
{
    double cost, given = proposal->value, before = hop_fit_sum(f, proposal, &f->now);
    uint32_t asking = 0, alone = 0; /* groups that it makes better; of one row */
    bool limit = proposal->parent == HOP_NONE;
    proposal->gain = 0;
    if (before < HOP_GAIN_LEAST)
        return;
    double lifted = 0;
    bool share = proposal->kind == HOP_KNOB_DUPLEX && limit;
    double best = best_value(f, proposal, before, &cost);
    if (isnan(best))
        return;
    if (share && before - cost < LIFT_TRIED) {
        hop_knob_set(f, proposal, given);
        lifted = hop_max(before - cost, 0);
        if (appraise_lifted(f, proposal, &lifted)) {
            proposal->gain = lifted;
            return;
        }
        hop_knob_set(f, proposal, best);
    }
    hop_fit_evaluate(f, proposal, &f->trial);
    for (uint32_t g = 0; g < f->groups; g++) {
        bool trace = f->expect->groups[g].trace;
        if (!hop_fit_touches(f, proposal, g) || f->trial.group[g] > f->now.group[g] - (trace ? 1 : HOP_IMPROVED))
            continue;
        asking += trace && proposal->count > 2 ? 2 : 1; /* a trace is one run, and says too little of single links */
        alone += trace || hop_measurements_group(f->measurements, g).count == 1;
    }
    hop_knob_set(f, proposal, given);
    double gain = before - cost;
    bool enough = (asking > 1 || (limit && gain >= HOP_GAIN_OF_ONE)) && kinds_determining(f, proposal) >= f->kinds;
    /* A link that is wider than its siblings shows so when it has the machine to itself, and so does a device's own that is
     * narrower: beside others it may be slowed down by what they share. */
    if (proposal->kind == HOP_KNOB_CAPACITY && is_single(proposal) && (best > given || hop_knob_is_device(f, proposal)))
        enough = enough && alone > 0;
    /* One link among many differs by more than what runs differ by. */
    if (is_single(proposal))
        enough = enough && asking > 2 && fabs(log(best / given)) > PART_LEAST;
    if (gain >= HOP_GAIN_LEAST && enough && !spoils(f, proposal)) {
        proposal->gain = gain;
        proposal->value = best;
    }
}

static uint64_t key_of(const struct hop_knob *knob)
{
    uint64_t hash = (uint64_t)knob->kind * 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < knob->count; i++)
        hash = (hash ^ knob->members[i]) * 0x100000001b3u;
    return hash;
}

/* Gains seen so far: they rarely grow, so a proposal is only appraised anew when its old gain is the largest. */
struct hop_fit_seen {
    uint64_t key;
    double gain;
};

/* NULL: there is no room for one more. */
static double *seen_gain(struct hop_fitting *f, const struct hop_knob *knob)
{
    uint64_t key = key_of(knob);
    for (uint32_t i = 0; i < f->seen_count; i++) {
        if (f->seen[i].key == key)
            return &f->seen[i].gain;
    }
    if (f->seen_count == SEEN_MAX || !HOP_GROW(&f->arena, f->seen, f->seen_count + 1))
        return NULL;
    f->seen[f->seen_count] = (struct hop_fit_seen){key, INFINITY};
    return &f->seen[f->seen_count++].gain;
}

static bool add_best_seen(struct hop_fitting *f, bool singles)
{
    uint32_t count;
    struct hop_knob *proposals = hop_knobs_propose(f, &count), *best = NULL, *next = NULL;
    do {
        double most = best ? best->gain : HOP_GAIN_LEAST;
        next = NULL;
        for (uint32_t p = 0; p < count; p++) {
            double *gain = seen_gain(f, &proposals[p]);
            if (is_single(&proposals[p]) == singles && &proposals[p] != best && proposals[p].gain == 0 && gain &&
                *gain > most) {
                most = *gain;
                next = &proposals[p];
            }
        }
        if (!next)
            break;
        appraise(f, next);
        *seen_gain(f, next) = next->gain;
        if (next->gain == 0)
            next->gain = -1; /* done with, in this round */
        else if (!best || next->gain > best->gain * (1 + GAIN_MARGIN))
            best = next;
    } while (hop_fit_good(f));
    if (best)
        hop_knobs_add(f, best);
    if (best && best->lift > 0)
        (void)lift_capacities(f, best, best->lift);
    return best != NULL;
}

/* How far a fit may be off, from how far it is. */
static void find_scatter(struct hop_fitting *f)
{
    double *errors = f->times_s;
    uint32_t count = 0;
    for (uint32_t g = 0; g < f->groups; g++) {
        if (f->counts[g])
            errors[count++] = error_of_group(f, &f->now, g);
    }
    qsort(errors, count, sizeof *errors, hop_ascending_double);
    f->scatter = hop_max(SCATTER_LEAST, count ? SCATTER * errors[count / 2] : 0);
}

/* What many links share comes before what one does alone, and nothing is given up on the word of old gains. */
bool hop_fit_add_best(struct hop_fitting *f)
{
    find_scatter(f);
    for (unsigned singles = 0; singles < 2 && f->knob_count < HOP_KNOBS_MAX && hop_fit_good(f); singles++) {
        bool fresh = f->seen_count == 0;
        if (add_best_seen(f, singles))
            return true;
        if (fresh)
            continue;
        f->seen_count = 0;
        if (add_best_seen(f, singles))
            return true;
    }
    return false;
}
