/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * R-MAT: edges, and searches of sampled degrees.
 *
 * Of the vertices with k ones let L be the mean number of ends, q the part of them that no frontier has met as long as
 * their vertex is not reached, f[a] what rank a's frontier has of all ends that have not met, and f their sum. Then an
 * unreached vertex has Poisson(L q f[a]) edges to a's frontier, for each a by itself. It is reached where their sum is
 * not 0, and a tells of it where its own is not. A rank also tells of what was reached before, each vertex once: of the
 * frontier itself (L q f[a], too), and of the level before, whose other ends, L q of them, all are in the frontier.
 * Then q becomes q (1 - f), and the ends that have not met (1 - f)^2 of what they were.
 */
#include "rmat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 31, TURNS = 3 };
enum { FEW = 200 }; /* ends of a frontier that are drawn one by one */
#define ONE 0.24

/* ---- edges ---- */

uint64_t rmat_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint32_t factor(const struct rmat *g, uint32_t turn)
{
    return (uint32_t)(rmat_mix(g->seed + turn) | 1);
}

/* Another number of as many bits for each, so that vertices of many edges do not stand together. */
static uint32_t scramble(const struct rmat *g, uint32_t vertex)
{
    const uint32_t mask = (UINT32_C(1) << g->scale) - 1, half = (g->scale + 1) / 2;
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        vertex = (vertex * factor(g, turn)) & mask;
        vertex ^= vertex >> half;
    }
    return vertex;
}

/* Ones of the number that scramble made this of. */
static uint32_t ones_of(const struct rmat *g, uint32_t vertex)
{
    const uint32_t mask = (UINT32_C(1) << g->scale) - 1, half = (g->scale + 1) / 2;
    for (uint32_t turn = TURNS; turn-- > 0;) {
        uint32_t inverse = 1;
        for (int digits = 1; digits < 32; digits *= 2)
            inverse *= 2 - factor(g, turn) * inverse;
        vertex ^= vertex >> half;
        vertex = (vertex * inverse) & mask;
    }
    return (uint32_t)__builtin_popcount(vertex);
}

/* Quarters by 0.57, 0.19, 0.19 and 0.05, as Graph500 has them. */
struct rmat_edge rmat_draw(const struct rmat *graph, uint64_t number)
{
    uint32_t ends[2] = {0, 0};
    for (uint32_t bit = 0; bit < graph->scale; bit++) {
        const double u = (double)(rmat_mix(rmat_mix(graph->seed ^ number << 6) + bit) >> 11) * 0x1p-53;
        ends[0] |= (uint32_t)(u >= 0.76) << bit;
        ends[1] |= (uint32_t)((u >= 0.57 && u < 0.76) || u >= 0.95) << bit;
    }
    return (struct rmat_edge){{scramble(graph, ends[0]), scramble(graph, ends[1])}};
}

/* ---- numbers that are drawn ---- */

/* Vertices by their ones. untold[a]: the probability that rank a has not told of one. */
struct group {
    double (*count)[CLASSES], (*untold)[CLASSES]; /* [rank] */
};
struct search {
    const struct rmat *graph;
    uint32_t ranks;
    uint64_t drawn;
    double mean[CLASSES];
    double (*unreached)[CLASSES];         /* [rank] */
    struct group frontier, before, fresh; /* fresh: the frontier to come */
    double *ends, *met, *f;               /* [rank]: of the frontier: all; that met the level before; f[a] */
    double f_sum, q, left;                /* left: ends that have not met */
    uint64_t *told;
};

static double uniform(struct search *s)
{
    return ((double)(rmat_mix(rmat_mix(s->graph->seed) ^ s->drawn++) >> 11) + 0.5) * 0x1p-53;
}

static double poisson(struct search *s, double mean)
{
    if (mean > 50) {
        const double gaussian = sqrt(-2 * log(uniform(s))) * cos(2 * 3.14159265358979323846 * uniform(s));
        return fmax(0, round(mean + sqrt(mean) * gaussian));
    }
    double count = 0;
    for (double product = uniform(s); product > exp(-mean); product *= uniform(s))
        count++;
    return count;
}

/* Of n things, each with probability p: where these or those that are left are few, by Poisson. */
static double binomial(struct search *s, double n, double p)
{
    if (p > 0.5)
        return n - binomial(s, n, 1 - p);
    if (n * p > 50) {
        const double gaussian = sqrt(-2 * log(uniform(s))) * cos(2 * 3.14159265358979323846 * uniform(s));
        return fmin(n, fmax(0, round(n * p + sqrt(n * p * (1 - p)) * gaussian)));
    }
    if (n > 1000)
        return fmin(n, poisson(s, n * p));
    double count = 0;
    for (double i = 0; i < n; i++)
        count += uniform(s) < p;
    return count;
}

/* ---- a level ---- */

static double not_0(double mean)
{
    return -expm1(-mean);
}

static double sum(const double *of, uint32_t count)
{
    double total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += of[i];
    return total;
}

/* What one end of the frontier meets: an unreached vertex, by the ends that it has, or none. */
static void find_one(struct search *s, double *met)
{
    double at = uniform(s) * s->left;
    for (uint32_t b = 0; b < s->ranks; b++) {
        for (uint32_t k = 0; k <= s->graph->scale; k++) {
            at -= s->unreached[b][k] * s->mean[k] * s->q;
            if (at >= 0)
                continue;
            s->unreached[b][k]--;
            s->fresh.count[b][k]++;
            met[b]++;
            return;
        }
    }
}

/* What all of them meet, for all vertices of a rank and class at once. */
static void find_all(struct search *s, double *met)
{
    for (uint32_t b = 0; b < s->ranks; b++) {
        for (uint32_t k = 0; k <= s->graph->scale; k++) {
            const double mean = s->mean[k] * s->q * s->f_sum, found = binomial(s, s->unreached[b][k], not_0(mean));
            s->unreached[b][k] -= found;
            s->fresh.count[b][k] = found;
            met[b] += found > 0 ? found + poisson(s, found * fmax(0, mean / not_0(mean) - 1)) : 0;
        }
    }
}

/* The frontier to come, and its ends by rank. */
static void reach(struct search *s, double *ends, double *met)
{
    const double left = sum(s->ends, s->ranks) - sum(s->met, s->ranks);
    memset(met, 0, s->ranks * sizeof *met);
    memset(s->fresh.count, 0, s->ranks * sizeof *s->fresh.count);
    for (double end = 0; left <= FEW && end < left; end++)
        find_one(s, met);
    if (left > FEW)
        find_all(s, met);
    for (uint32_t b = 0; b < s->ranks; b++) {
        ends[b] = met[b];
        for (uint32_t k = 0; k <= s->graph->scale; k++)
            ends[b] += poisson(s, s->fresh.count[b][k] * s->mean[k] * s->q * (1 - s->f_sum));
    }
    for (uint32_t a = 0; a < s->ranks; a++) {
        for (uint32_t k = 0; k <= s->graph->scale; k++) {
            const double mean = s->mean[k] * s->q;
            const double reached = not_0(mean * s->f_sum), by_others = not_0(mean * (s->f_sum - s->f[a]));
            s->fresh.untold[a][k] = reached > 0 ? exp(-mean * s->f[a]) * by_others / reached : 1;
        }
    }
}

/* Vertices of rank b that a tells of, as many as are expected. */
static double tells(const struct search *s, uint32_t a, uint32_t b, double back)
{
    double told = 0;
    for (uint32_t k = 0; k <= s->graph->scale; k++) {
        const double mean = s->mean[k] * s->q;
        told += s->fresh.count[b][k] * (1 - s->fresh.untold[a][k]);
        told += s->frontier.count[b][k] * s->frontier.untold[a][k] * not_0(mean * s->f[a]);
        told += s->before.count[b][k] * s->before.untold[a][k] * not_0(mean * back);
    }
    return told;
}

static void tell(struct search *s)
{
    const double met = sum(s->met, s->ranks);
    for (uint32_t a = 0; a < s->ranks; a++) {
        for (uint32_t b = 0; b < s->ranks; b++) {
            const double told = a == b ? 0 : tells(s, a, b, met > 0 ? s->met[a] / met : 0);
            s->told[a * s->ranks + b] = (uint64_t)llround(told);
        }
        for (uint32_t k = 0; k <= s->graph->scale; k++)
            s->frontier.untold[a][k] *= exp(-s->mean[k] * s->q * s->f[a]);
    }
}

/* What the frontier has of all ends that are left. */
static void share(struct search *s)
{
    for (uint32_t a = 0; a < s->ranks; a++)
        s->f[a] = s->left > 0 ? (s->ends[a] - s->met[a]) / s->left : 0;
    s->f_sum = sum(s->f, s->ranks);
    for (uint32_t a = 0; a < s->ranks && s->f_sum > 1; a++)
        s->f[a] /= s->f_sum;
    s->f_sum = fmin(s->f_sum, 1);
}

static void turn(struct search *s)
{
    const struct group oldest = s->before;
    s->before = s->frontier;
    s->frontier = s->fresh;
    s->fresh = oldest;
    s->q *= 1 - s->f_sum;
    s->left *= (1 - s->f_sum) * (1 - s->f_sum);
}

/* ---- a search ---- */

static int allocate(struct search *s)
{
    const size_t n = s->ranks;
    struct group *groups[] = {&s->frontier, &s->before, &s->fresh};
    int fine = 1;
    for (int g = 0; g < 3; g++) {
        groups[g]->count = calloc(n, sizeof *s->unreached);
        groups[g]->untold = calloc(n, sizeof *s->unreached);
        fine = fine && groups[g]->count && groups[g]->untold;
    }
    s->unreached = calloc(n, sizeof *s->unreached);
    s->ends = calloc(5 * n, sizeof *s->ends); /* and met, f, and both of the next level */
    s->told = calloc(n * n, sizeof *s->told);
    s->met = s->ends ? s->ends + n : NULL;
    s->f = s->ends ? s->ends + 2 * n : NULL;
    return fine && s->unreached && s->ends && s->told;
}

static void finish(struct search *s)
{
    struct group *groups[] = {&s->frontier, &s->before, &s->fresh};
    for (int g = 0; g < 3; g++) {
        free(groups[g]->count);
        free(groups[g]->untold);
    }
    free(s->unreached);
    free(s->ends);
    free(s->told);
}

/* All vertices but the root, which is the first frontier. */
static void begin(struct search *s, uint32_t chunk, uint32_t root)
{
    const struct rmat *g = s->graph;
    const uint32_t owner = root / chunk, ones = ones_of(g, root);
    s->left = 2.0 * g->degree * pow(2, g->scale);
    s->q = 1;
    for (uint32_t k = 0; k <= g->scale; k++)
        s->mean[k] = s->left * pow(ONE, k) * pow(1 - ONE, g->scale - k);
    for (uint32_t v = 0; v < UINT32_C(1) << g->scale; v++)
        s->unreached[v / chunk][ones_of(g, v)] += v != root;
    s->frontier.count[owner][ones] = 1;
    for (uint32_t a = 0; a < s->ranks; a++)
        s->frontier.untold[a][ones] = 1;
    s->ends[owner] = poisson(s, s->mean[ones]);
}

static double go(struct search *s, rmat_level *level, void *context)
{
    double *next = s->ends + 3 * s->ranks, edges = 0;
    while (sum(s->ends, s->ranks) > 0) {
        share(s);
        reach(s, next, next + s->ranks);
        tell(s);
        level(s->ends, s->told, context);
        edges += sum(s->ends, s->ranks) / 2;
        memcpy(s->ends, next, 2 * s->ranks * sizeof *next);
        turn(s);
    }
    return edges;
}

double rmat_search(const struct rmat *graph, uint32_t ranks, uint32_t chunk, uint32_t root, rmat_level *level,
                   void *context)
{
    struct search s = {.graph = graph, .ranks = ranks, .drawn = (uint64_t)root << 32};
    const int fine = allocate(&s);
    if (fine)
        begin(&s, chunk, root);
    const double edges = fine ? go(&s, level, context) : -1;
    finish(&s);
    return edges;
}
