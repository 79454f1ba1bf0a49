/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle's model credit: rounds of a forward pass (every link water-fills the packet level of its classes under
 * what it may carry) and a backward pass (what it may carry follows from the slowest of its next outputs). Rates are in
 * units of the largest capacity in use in here.
 */
#include "oracle/oracle.h"

#include <math.h>

enum { ROUNDS = 300 };

static const double settled = 1e-7;

struct state {
    const struct oracle_tree *tree;
    const struct oracle_transfer *transfers;
    struct oracle_paths paths;
    double unit;                                /* the largest capacity in use */
    double open[ORACLE_LINKS];                  /* C_l: the share of its capacity that a link may carry */
    double rate[ORACLE_TRANSFERS][ORACLE_PATH]; /* leaving each link */
};

/* The classes of a link: the transfers that enter it from one and the same link. */
struct classes {
    int count;
    int entry[ORACLE_TRANSFERS];
    double wire[ORACLE_TRANSFERS], packets[ORACLE_TRANSFERS];
};

static double wire_weight(const struct oracle_tree *tree, bool crossed)
{
    return crossed ? 1 / (1 - tree->tau) : 1;
}

static double packet_weight(const struct oracle_tree *tree, bool crossed)
{
    return crossed ? tree->crossing_packets : 1;
}

/* Of the links that any transfer takes. */
static double largest_capacity(const struct oracle_tree *tree, const struct oracle_paths *paths)
{
    double largest = 0;
    for (int i = 0; i < paths->links; i++)
        largest = fmax(largest, oracle_capacity(tree, paths->order[i]));
    return largest;
}

static double arriving(const struct state *s, int f, int i)
{
    return i > 0 ? s->rate[f][i - 1] : 1;
}

static double capacity_of(const struct state *s, int link)
{
    return oracle_capacity(s->tree, link) / s->unit;
}

static void find_classes(const struct state *s, int link, struct classes *classes)
{
    classes->count = 0;
    for (int f = 0; f < s->paths.count; f++) {
        int i = s->paths.position[f][link], g = 0;
        if (i < 0)
            continue;
        int entry = oracle_entry(&s->paths, s->transfers, f, i);
        while (g < classes->count && classes->entry[g] != entry)
            g++;
        if (g == classes->count) {
            classes->entry[classes->count++] = entry;
            classes->wire[g] = classes->packets[g] = 0;
        }
        classes->wire[g] += wire_weight(s->tree, s->paths.crossed[f][i]) * arriving(s, f, i);
        classes->packets[g] += packet_weight(s->tree, s->paths.crossed[f][i]) * arriving(s, f, i);
    }
}

/* The level s with sum over classes of wire * min(1, s / packets) = budget; the class that enters from `unbounded` has
 * no demand of its own: it takes wire * s / packets however much that is. INFINITY: everything fits. */
static double packet_level(const struct classes *classes, double budget, int unbounded)
{
    bool waits[ORACLE_TRANSFERS], changed = true;
    double level = INFINITY;
    for (int g = 0; g < classes->count; g++)
        waits[g] = true;
    while (changed) {
        double left = budget, slope = 0;
        for (int g = 0; g < classes->count; g++) {
            if (waits[g])
                slope += classes->wire[g] / classes->packets[g];
            else
                left -= classes->wire[g];
        }
        if (slope <= 0)
            return INFINITY;
        level = left / slope;
        changed = false;
        for (int g = 0; g < classes->count; g++) {
            if (waits[g] && classes->entry[g] != unbounded && classes->packets[g] <= level) {
                waits[g] = false;
                changed = true;
            }
        }
    }
    return level;
}

static void forward(struct state *s)
{
    for (int k = 0; k < s->paths.links; k++) {
        int link = s->paths.order[k];
        struct classes classes;
        find_classes(s, link, &classes);
        double level = packet_level(&classes, s->open[link] * capacity_of(s, link), ORACLE_LINKS);
        for (int f = 0; f < s->paths.count; f++) {
            int i = s->paths.position[f][link], g = 0;
            if (i < 0)
                continue;
            while (classes.entry[g] != oracle_entry(&s->paths, s->transfers, f, i))
                g++;
            s->rate[f][i] = arriving(s, f, i) * fmin(1, level / classes.packets[g]);
        }
    }
}

/* The wire load leaving a link, in its own capacity. */
static double load_of(const struct state *s, int link)
{
    double load = 0;
    for (int f = 0; f < s->paths.count; f++) {
        int i = s->paths.position[f][link];
        if (i >= 0)
            load += wire_weight(s->tree, s->paths.crossed[f][i]) * s->rate[f][i];
    }
    return load / capacity_of(s, link);
}

/* The pace that the next output `next` allows a link, as a multiple of its present one. */
static double pace_at(const struct state *s, int link, int next)
{
    struct classes classes;
    find_classes(s, next, &classes);
    double level = packet_level(&classes, s->open[next] * capacity_of(s, next), link);
    int g = 0;
    while (classes.entry[g] != link)
        g++;
    return level / classes.packets[g];
}

static double target_of(const struct state *s, int link)
{
    double pace = INFINITY;
    for (int f = 0; f < s->paths.count; f++) {
        int i = s->paths.position[f][link];
        if (i >= 0 && i + 1 < s->paths.length[f])
            pace = fmin(pace, pace_at(s, link, s->paths.link[f][i + 1]));
    }
    return fmin(1, load_of(s, link) * pace);
}

/* The largest |target - C| met on the way. */
static double backward(struct state *s, double step)
{
    double largest = 0;
    for (int k = s->paths.links; k-- > 0;) {
        int link = s->paths.order[k];
        double difference = target_of(s, link) - s->open[link];
        largest = fmax(largest, fabs(difference));
        s->open[link] += step * difference;
    }
    return largest;
}

int oracle_credit(const struct oracle_tree *tree, const struct oracle_transfer *transfers, int count, double *rates)
{
    struct state s = {.tree = tree, .transfers = transfers};
    double last[ORACLE_TRANSFERS], unrest = INFINITY;
    int round = 0;
    oracle_paths_of(tree, transfers, count, &s.paths);
    s.unit = largest_capacity(tree, &s.paths);
    for (int l = 0; l < ORACLE_LINKS; l++)
        s.open[l] = 1;
    for (int f = 0; f < count; f++)
        last[f] = INFINITY;
    while (round < ROUNDS && unrest >= settled) {
        round++;
        forward(&s);
        unrest = backward(&s, round <= 4 ? 1 : round <= 60 ? 0.7 : 0.4);
        for (int f = 0; f < count; f++) {
            double final = s.rate[f][s.paths.length[f] - 1];
            unrest = fmax(unrest, fmax(fabs(final - last[f]), s.rate[f][0] - final));
            last[f] = final;
        }
    }
    for (int f = 0; f < count; f++)
        rates[f] = last[f] * s.unit;
    return round;
}

double oracle_wire_load(const struct oracle_tree *tree, const struct oracle_paths *paths, const double *rates, int link)
{
    double load = 0;
    for (int f = 0; f < paths->count; f++) {
        int i = paths->position[f][link];
        if (i >= 0)
            load += wire_weight(tree, paths->crossed[f][i]) * rates[f];
    }
    return load / oracle_capacity(tree, link);
}
