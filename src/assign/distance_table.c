/* SPDX-License-Identifier: BSD-3-Clause */
/* Iterated local search: thrown about at random, by little and then by more, descended again, kept if no worse. */
#include "assign/distance_table.h"

#include "assign/seats.h"
#include "base/random.h"

enum { N = HOP_SMALL, POLL_STEPS = 1 << 16, REFRESH_KICKS = 1 << 10 };
#define GAIN 1e-12 /* of the most that an assignment can cost: less is rounding */

struct table {
    const struct hop_assign *problem;
    struct hop_small small;
    bool group_rooms;
    struct seating {
        double value;
        double cost[N][N];
        uint8_t place[N];
        int8_t left[N];            /* of a place */
        int8_t group_left[N];      /* of a group, by its first place */
        uint8_t first[N], next[N]; /* items of a place, N: no more */
    } now, best;
    uint64_t rng;
    double least_gain;
};

/* ---- state ---- */

static void refresh(struct table *t)
{
    double twice = 0;
    for (uint32_t i = 0; i < t->small.items; i++) {
        double *row = t->now.cost[i];
        memset(row, 0, t->small.places * sizeof *row);
        for (uint32_t layer = 0; layer < t->small.layers; layer++) {
            for (uint32_t k = 0; k < t->small.items; k++) {
                const double *distance = t->small.distance[layer][t->now.place[k]];
                double weight = t->small.weight[layer][i][k];
                for (uint32_t p = 0; weight > 0 && p < t->small.places; p++)
                    row[p] += weight * distance[p];
            }
        }
        twice += row[t->now.place[i]];
    }
    t->now.value = twice / 2;
}

static void fill(struct table *t, const uint32_t *place)
{
    hop_small_make(t->problem, &t->small);
    t->group_rooms = t->problem->places->group_room != NULL;
    for (uint32_t p = 0; p < t->small.places; p++) {
        t->now.left[p] = (int8_t)t->small.room[p];
        t->now.group_left[p] = (int8_t)t->small.group_room[p];
        t->now.first[p] = N;
    }
    for (uint32_t i = 0; i < t->small.items; i++) {
        t->now.place[i] = (uint8_t)place[i];
        t->now.next[i] = t->now.first[place[i]];
        t->now.first[place[i]] = (uint8_t)i;
        t->now.left[place[i]]--;
        t->now.group_left[t->small.group[place[i]]]--;
    }
    refresh(t);
}

/* Whether an item may go from one place to another without anybody going from there. */
static bool has_room(const struct table *t, uint32_t from, uint32_t to)
{
    return t->now.left[to] > 0 &&
           (!t->group_rooms || t->now.group_left[t->small.group[to]] > 0 || t->small.group[to] == t->small.group[from]);
}

static void relink(struct table *t, uint32_t item, uint32_t to)
{
    uint8_t *link = &t->now.first[t->now.place[item]];
    while (*link != item)
        link = &t->now.next[*link];
    *link = t->now.next[item];
    t->now.next[item] = t->now.first[to];
    t->now.first[to] = (uint8_t)item;
    t->now.place[item] = (uint8_t)to;
}

/* Partners' costs follow an item, and another one that goes the other way (N: nobody). */
static void change_costs(struct table *t, uint32_t layer, uint32_t item, uint32_t other, uint32_t to)
{
    const double *old = t->small.distance[layer][t->now.place[item]], *new = t->small.distance[layer][to];
    double step[N];
    for (uint32_t p = 0; p < t->small.places; p++)
        step[p] = new[p] - old[p];
    for (uint32_t k = 0; k < t->small.items; k++) {
        double weight = t->small.weight[layer][item][k] - (other < N ? t->small.weight[layer][other][k] : 0);
        double *row = t->now.cost[k];
        if (weight == 0)
            continue;
        for (uint32_t p = 0; p < t->small.places; p++)
            row[p] += weight * step[p];
    }
}

static void change(struct table *t, uint32_t item, uint32_t other, uint32_t to, double gain)
{
    uint32_t from = t->now.place[item];
    for (uint32_t layer = 0; layer < t->small.layers; layer++)
        change_costs(t, layer, item, other, to);
    t->now.value -= gain;
    relink(t, item, to);
    if (other < N) {
        relink(t, other, from);
    } else {
        t->now.left[from]++;
        t->now.left[to]--;
        t->now.group_left[t->small.group[from]]++;
        t->now.group_left[t->small.group[to]]--;
    }
}

/* ---- descending ---- */

static double gain_of_swap(const struct table *t, uint32_t i, uint32_t j)
{
    uint32_t p = t->now.place[i], q = t->now.place[j];
    const double *a = t->now.cost[i], *b = t->now.cost[j];
    double gain = a[p] - a[q] + b[q] - b[p] - 2 * t->small.weight[0][i][j] * t->small.distance[0][p][q];
    return t->small.layers > 1 ? gain - 2 * t->small.weight[1][i][j] * t->small.distance[1][p][q] : gain;
}

/* The best move or swap of an item, if one gains. */
static bool improve(struct table *t, uint32_t item, uint64_t *steps)
{
    const double *row = t->now.cost[item];
    uint32_t from = t->now.place[item], to = 0, with = N;
    double best = t->least_gain;
    for (uint64_t bits = t->small.may[item] & ~(UINT64_C(1) << from); bits; bits &= bits - 1) {
        uint32_t p = (uint32_t)__builtin_ctzll(bits);
        double alone = row[from] - row[p];
        ++*steps;
        if (alone <= 0)
            continue; /* then the other one of a swap that gains finds it */
        bool room = has_room(t, from, p);
        if (room && alone > best) {
            best = alone;
            to = p;
            with = N;
        }
        for (uint32_t j = t->now.first[p]; j < N && !room; j = t->now.next[j]) {
            double gain = t->small.may[j] >> from & 1 ? gain_of_swap(t, item, j) : 0;
            if (gain > best) {
                best = gain;
                to = p;
                with = j;
            }
        }
    }
    if (best <= t->least_gain)
        return false;
    change(t, item, with, to, best);
    return true;
}

static void descend(struct table *t, uint64_t *steps)
{
    for (uint32_t i = 0, idle = 0; idle < t->small.items; i = i + 1 < t->small.items ? i + 1 : 0)
        idle = improve(t, i, steps) ? 0 : idle + 1;
}

/* ---- kicking ---- */

/* An item goes anywhere that it may; whoever is in its way takes its place. */
static void throw(struct table * t)
{
    uint32_t item = hop_draw_below(&t->rng, t->small.items), to = hop_draw_below(&t->rng, t->small.places);
    uint32_t from = t->now.place[item];
    if (to == from || !(t->small.may[item] >> to & 1))
        return;
    if (has_room(t, from, to)) {
        change(t, item, N, to, t->now.cost[item][from] - t->now.cost[item][to]);
        return;
    }
    uint32_t other = t->now.first[to];
    if (other == N)
        return; /* its group is full */
    for (uint32_t skip = hop_draw_below(&t->rng, 4); skip > 0 && t->now.next[other] < N; skip--)
        other = t->now.next[other];
    if (t->small.may[other] >> from & 1)
        change(t, item, other, to, gain_of_swap(t, item, other));
}

static void copy(const struct table *t, struct seating *to, const struct seating *from)
{
    memcpy(to->cost, from->cost, t->small.items * sizeof *from->cost);
    to->value = from->value;
    memcpy(to->place, from->place, sizeof *from - offsetof(struct seating, place));
}

static bool over(const struct table *t, struct hop_table_search *search, uint64_t *polled)
{
    if (search->steps >= *polled && t->problem->poll) {
        *polled = search->steps + POLL_STEPS;
        search->stopped = !t->problem->poll(t->problem->context, t->best.value, 0);
    }
    return search->stopped || search->steps >= search->max_steps;
}

static void iterate(struct table *t, struct hop_table_search *search)
{
    uint64_t polled = 0;
    uint32_t most = t->small.items / 2 > 3 ? t->small.items / 2 : 3, strength = 2;
    descend(t, &search->steps);
    copy(t, &t->best, &t->now);
    for (uint32_t kicks = 1; !over(t, search, &polled); kicks++) {
        for (uint32_t k = 0; k < strength; k++)
            throw(t);
        if (kicks % REFRESH_KICKS == 0)
            refresh(t);
        search->steps++;
        descend(t, &search->steps);
        strength = strength < most ? strength + 1 : 2;
        if (t->now.value < t->best.value - t->least_gain)
            strength = 2;
        if (t->now.value <= t->best.value)
            copy(t, &t->best, &t->now);
        else
            copy(t, &t->now, &t->best);
    }
}

bool hop_table_exchange(const struct hop_assign *problem, struct hop_table_search *search, uint32_t *place)
{
    struct table *t = calloc(1, sizeof *t);
    if (!t)
        return false;
    t->problem = problem;
    t->rng = problem->seed;
    fill(t, place);
    t->least_gain = GAIN * hop_assign_most(problem);
    iterate(t, search);
    for (uint32_t i = 0; i < t->small.items; i++)
        place[i] = t->best.place[i];
    free(t);
    return true;
}
