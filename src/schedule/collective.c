/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives as messages: one function an algorithm, put together in a table.
 *
 *     ring          n - 1 rounds, everyone sends to the next: reduce-scatter sums parts, allgather hands them on
 *     direct        everyone sends to everyone it has to, one message each, in shifted order
 *     doubling      round k: everyone and its partner at distance 2^k swap everything
 *     binomial      a tree: whoever has it sends to one at half the distance, the largest subtree first
 *     chain         the vector in n parts through all members in turn, pipelined
 *     dissemination round k: everyone tells the one 2^k ahead
 */
#include "schedule/collective.h"

#define NONE UINT32_MAX

/* What an algorithm works on. */
struct making {
    const struct hop_collective *collective;
    uint32_t n;
    struct hop_steps *steps;
    struct hop_diag *diag;
    enum hop_status status; /* sticky */
};

uint64_t hop_part_bytes(uint64_t bytes, uint32_t n, uint32_t p)
{
    return bytes / n + (p < bytes % n);
}

/* ---- steps ---- */

/* Appends; dependencies that are NONE are left out. Returns the step's index, NONE when it failed. */
static uint32_t add_step(struct making *making, struct hop_step step, const uint32_t *after, uint32_t after_count)
{
    struct hop_steps *steps = making->steps;
    if (making->status != HOP_OK)
        return NONE;
    if (steps->count >= HOP_COLLECTIVE_STEPS || after_count >= HOP_COLLECTIVE_STEPS ||
        steps->after_count >= UINT32_MAX / 2 - after_count) {
        making->status = hop_fail(making->diag, HOP_ERR_LIMIT, "a collective of %u ranks takes more than %u messages",
                                  making->n, HOP_COLLECTIVE_STEPS);
        hop_diag_expect(making->diag, "fewer ranks, or an algorithm with fewer messages");
        return NONE;
    }
    if (!hop_grow(&steps->steps, &steps->capacity, steps->count + 1, sizeof *steps->steps) ||
        !hop_grow(&steps->after, &steps->after_capacity, steps->after_count + after_count, sizeof *steps->after)) {
        making->status = hop_fail_memory(making->diag);
        return NONE;
    }
    step.first_after = steps->after_count;
    for (uint32_t i = 0; i < after_count; i++) {
        if (after[i] != NONE)
            steps->after[steps->after_count++] = after[i];
    }
    step.after_count = steps->after_count - step.first_after;
    steps->steps[steps->count] = step;
    return steps->count++;
}

/* One part from a member to another; NONE when the part is empty. */
static uint32_t send_part(struct making *making, uint32_t from, uint32_t to, uint32_t part, bool sums, uint32_t after)
{
    uint64_t bytes = hop_part_bytes(making->collective->bytes, making->n, part);
    struct hop_step step = {.from = from, .to = to, .bytes = bytes, .part = part, .part_count = 1, .sums = sums};
    return bytes ? add_step(making, step, &after, 1) : NONE;
}

/* All of the vector. */
static uint32_t send_all(struct making *making, uint32_t from, uint32_t to, bool sums, const uint32_t *after,
                         uint32_t after_count)
{
    uint64_t bytes = making->collective->bytes;
    struct hop_step step = {.from = from, .to = to, .bytes = bytes, .part_count = making->n, .sums = sums};
    return bytes ? add_step(making, step, after, after_count) : NONE;
}

/* A member's own part of an allgather or a gather, which is all that it puts in. */
static uint32_t send_own(struct making *making, uint32_t from, uint32_t to, uint32_t part, uint32_t after)
{
    uint64_t bytes = making->collective->bytes;
    struct hop_step step = {.from = from, .to = to, .bytes = bytes, .part = part, .part_count = 1};
    return bytes ? add_step(making, step, &after, 1) : NONE;
}

/* Room for `count` step numbers, all NONE. */
static uint32_t *make_numbers(struct making *making, size_t count)
{
    uint32_t *numbers = making->status == HOP_OK ? malloc((count + 1) * sizeof *numbers) : NULL;
    if (!numbers && making->status == HOP_OK)
        making->status = hop_fail_memory(making->diag);
    for (size_t i = 0; numbers && i < count; i++)
        numbers[i] = NONE;
    return numbers;
}

/* ---- ring ---- */

/* got[m] is what member m received last and hands on. Member r begins with part r - 1, so that it ends with part r. */
static void ring_scatter(struct making *making, uint32_t *got)
{
    uint32_t n = making->n;
    uint32_t *next = make_numbers(making, n);
    for (uint32_t k = 0; k + 1 < n && making->status == HOP_OK; k++) {
        for (uint32_t r = 0; r < n; r++)
            next[(r + 1) % n] = send_part(making, r, (r + 1) % n, (r + 2 * n - k - 1) % n, true, got[r]);
        memcpy(got, next, n * sizeof *got);
    }
    free(next);
}

/* Member r begins with part r, which it has when got[r] is through. own: a part is all that a member puts in. */
static void ring_gather(struct making *making, uint32_t *got, bool own)
{
    uint32_t n = making->n;
    uint32_t *next = make_numbers(making, n);
    for (uint32_t k = 0; k + 1 < n && making->status == HOP_OK; k++) {
        for (uint32_t r = 0; r < n; r++) {
            uint32_t part = (r + n - k) % n, to = (r + 1) % n;
            next[to] = own ? send_own(making, r, to, part, got[r]) : send_part(making, r, to, part, false, got[r]);
        }
        memcpy(got, next, n * sizeof *got);
    }
    free(next);
}

static void ring_allreduce(struct making *making)
{
    uint32_t *got = make_numbers(making, making->n);
    if (got) {
        ring_scatter(making, got);
        ring_gather(making, got, false);
    }
    free(got);
}

static void ring_reduce_scatter(struct making *making)
{
    uint32_t *got = make_numbers(making, making->n);
    if (got)
        ring_scatter(making, got);
    free(got);
}

static void ring_allgather(struct making *making)
{
    uint32_t *got = make_numbers(making, making->n);
    if (got)
        ring_gather(making, got, true);
    free(got);
}

/* ---- direct ---- */

static void direct_alltoall(struct making *making)
{
    uint32_t n = making->n;
    for (uint32_t r = 0; r < n && making->status == HOP_OK; r++) {
        for (uint32_t i = 1; i < n; i++)
            (void)send_part(making, r, (r + i) % n, (r + i) % n, false, NONE);
    }
}

static void direct_reduce_scatter(struct making *making)
{
    uint32_t n = making->n;
    for (uint32_t r = 0; r < n && making->status == HOP_OK; r++) {
        for (uint32_t i = 1; i < n; i++)
            (void)send_part(making, r, (r + i) % n, (r + i) % n, true, NONE);
    }
}

static void direct_allgather(struct making *making)
{
    uint32_t n = making->n;
    for (uint32_t r = 0; r < n && making->status == HOP_OK; r++) {
        for (uint32_t i = 1; i < n; i++)
            (void)send_own(making, r, (r + i) % n, r, NONE);
    }
}

/* A reduce-scatter, at every member a join of what it received, an allgather of the sums. */
static void direct_allreduce(struct making *making)
{
    uint32_t n = making->n, *got = make_numbers(making, n);
    direct_reduce_scatter(making);
    uint32_t messages = making->steps->count;
    uint32_t *first = make_numbers(making, (size_t)n + 1), *into = make_numbers(making, messages);
    if (got && first && into) {
        memset(first, 0, ((size_t)n + 1) * sizeof *first);
        for (uint32_t s = 0; s < messages; s++)
            first[making->steps->steps[s].to + 1]++;
        for (uint32_t r = 0; r < n; r++)
            first[r + 1] += first[r];
        for (uint32_t s = 0, r; s < messages; s++) {
            r = making->steps->steps[s].to;
            into[first[r]++] = s; /* first[r] is now where member r ends, thus where r + 1 begins */
        }
        for (uint32_t r = 0, begin = 0; r < n; begin = first[r++]) {
            struct hop_step join = {.from = r, .to = r, .part = r, .part_count = 1, .sums = true};
            if (first[r] > begin)
                got[r] = add_step(making, join, into + begin, first[r] - begin);
        }
        for (uint32_t r = 0; r < n && making->status == HOP_OK; r++) {
            for (uint32_t i = 1; i < n; i++)
                (void)send_part(making, r, (r + i) % n, r, false, got[r]);
        }
    }
    free(got);
    free(first);
    free(into);
}

static void direct_gather(struct making *making)
{
    uint32_t n = making->n, root = making->collective->root;
    for (uint32_t i = 1; i < n; i++)
        (void)send_own(making, (root + i) % n, root, (root + i) % n, NONE);
}

static void direct_scatter(struct making *making)
{
    uint32_t n = making->n, root = making->collective->root;
    for (uint32_t i = 1; i < n; i++)
        (void)send_part(making, root, (root + i) % n, (root + i) % n, false, NONE);
}

/* ---- doubling and dissemination ---- */

enum { ROUNDS = 32 }; /* of a 32-bit number of members */

/* Rounds at distance 1, 2, 4, ...; partners swap (to = r ^ distance) or everyone tells the one ahead. A message waits
 * for all that its sender received in the rounds before. */
static void by_distance(struct making *making, bool swap)
{
    uint32_t n = making->n, round = 0;
    uint32_t *got = make_numbers(making, (size_t)n * ROUNDS); /* of each member, round by round */
    for (uint64_t distance = 1; got && distance < n && making->status == HOP_OK; distance *= 2, round++) {
        for (uint32_t r = 0; r < n; r++) {
            uint32_t to = swap ? r ^ (uint32_t)distance : (uint32_t)((r + distance) % n);
            const uint32_t *after = got + (size_t)r * ROUNDS;
            struct hop_step token = {.from = r, .to = to, .bytes = 1};
            got[(size_t)to * ROUNDS + round] =
                swap ? send_all(making, r, to, true, after, round) : add_step(making, token, after, round);
        }
    }
    free(got);
}

static void doubling_allreduce(struct making *making)
{
    if ((making->n & (making->n - 1)) != 0) {
        making->status =
            hop_fail(making->diag, HOP_ERR_INVALID, "allreduce by doubling cannot be made for %u ranks", making->n);
        hop_diag_expect(making->diag, "a power of two; ring and direct take any number");
        return;
    }
    by_distance(making, true);
}

static void dissemination_barrier(struct making *making)
{
    by_distance(making, false);
}

/* ---- trees and chains ---- */

/* The member at a position counted from the root. */
static uint32_t from_root(const struct making *making, uint64_t position)
{
    return (uint32_t)((making->collective->root + position) % making->n);
}

static uint64_t widest(uint32_t n)
{
    uint64_t distance = 1;
    while (distance * 2 < n)
        distance *= 2;
    return distance;
}

/* The largest subtree first, and one after the other: sent at once, all would arrive when the last one does. */
static void binomial_broadcast(struct making *making)
{
    uint32_t n = making->n, *got = make_numbers(making, n), *last = make_numbers(making, n);
    for (uint64_t distance = widest(n); got && last && distance > 0; distance /= 2) {
        for (uint64_t v = 0; v + distance < n; v += 2 * distance) {
            uint32_t step = send_all(making, from_root(making, v), from_root(making, v + distance), false, &got[v], 1);
            if (step != NONE && last[v] != NONE)
                making->steps->steps[step].behind = last[v] + 1;
            got[v + distance] = step;
            last[v] = step != NONE ? step : last[v];
        }
    }
    free(got);
    free(last);
}

/* The broadcast's tree upwards: a member sends once it has all from below. */
static void binomial_reduce(struct making *making)
{
    uint32_t n = making->n, round = 0;
    uint32_t *got = make_numbers(making, (size_t)n * ROUNDS);
    for (uint64_t distance = 1; got && distance < n; distance *= 2, round++) {
        for (uint64_t v = 0; v + distance < n; v += 2 * distance)
            got[v * ROUNDS + round] = send_all(making, from_root(making, v + distance), from_root(making, v), true,
                                               got + (v + distance) * ROUNDS, round);
    }
    free(got);
}

/* A member sends a part behind the one before: sent at once, all would arrive when the last one does. */
static void chain_broadcast(struct making *making)
{
    uint32_t n = making->n, *last = make_numbers(making, n); /* each member's last message */
    for (uint32_t p = 0; p < n && making->status == HOP_OK; p++) {
        uint32_t got = NONE;
        for (uint32_t v = 0; v + 1 < n; v++) {
            got = send_part(making, from_root(making, v), from_root(making, (uint64_t)v + 1), p, false, got);
            if (got != NONE && last[v] != NONE)
                making->steps->steps[got].behind = last[v] + 1;
            last[v] = got != NONE ? got : last[v];
        }
    }
    free(last);
}

/* ---- the table ---- */

/* The first of a collective is its default. */
static const struct {
    enum hop_collective_kind kind;
    enum hop_algorithm algorithm;
    void (*make)(struct making *making);
} makers[] = {
    {HOP_COLLECTIVE_ALLREDUCE, HOP_ALGORITHM_RING, ring_allreduce},
    {HOP_COLLECTIVE_ALLREDUCE, HOP_ALGORITHM_DOUBLING, doubling_allreduce},
    {HOP_COLLECTIVE_ALLREDUCE, HOP_ALGORITHM_DIRECT, direct_allreduce},
    {HOP_COLLECTIVE_ALLGATHER, HOP_ALGORITHM_RING, ring_allgather},
    {HOP_COLLECTIVE_ALLGATHER, HOP_ALGORITHM_DIRECT, direct_allgather},
    {HOP_COLLECTIVE_REDUCE_SCATTER, HOP_ALGORITHM_RING, ring_reduce_scatter},
    {HOP_COLLECTIVE_REDUCE_SCATTER, HOP_ALGORITHM_DIRECT, direct_reduce_scatter},
    {HOP_COLLECTIVE_ALLTOALL, HOP_ALGORITHM_DIRECT, direct_alltoall},
    {HOP_COLLECTIVE_BROADCAST, HOP_ALGORITHM_BINOMIAL, binomial_broadcast},
    {HOP_COLLECTIVE_BROADCAST, HOP_ALGORITHM_CHAIN, chain_broadcast},
    {HOP_COLLECTIVE_REDUCE, HOP_ALGORITHM_BINOMIAL, binomial_reduce},
    {HOP_COLLECTIVE_GATHER, HOP_ALGORITHM_DIRECT, direct_gather},
    {HOP_COLLECTIVE_SCATTER, HOP_ALGORITHM_DIRECT, direct_scatter},
    {HOP_COLLECTIVE_BARRIER, HOP_ALGORITHM_DISSEMINATION, dissemination_barrier},
};

static const char *const collective_names[] = {
#define COLLECTIVE_NAME(code, name) name,
    HOP_COLLECTIVE_LIST(COLLECTIVE_NAME)
#undef COLLECTIVE_NAME
};
static const char *const algorithm_names[] = {
#define ALGORITHM_NAME(code, name) name,
    HOP_ALGORITHM_LIST(ALGORITHM_NAME)
#undef ALGORITHM_NAME
};

const char *hop_collective_name(enum hop_collective_kind kind)
{
    return (unsigned)kind < HOP_COLLECTIVE_COUNT ? collective_names[kind] : "?";
}

const char *hop_algorithm_name(enum hop_algorithm algorithm)
{
    return (unsigned)algorithm < HOP_ALGORITHM_COUNT ? algorithm_names[algorithm] : "?";
}

/* Its row in the table, HOP_COUNT(makers): none. */
static size_t find_maker(enum hop_collective_kind kind, enum hop_algorithm algorithm)
{
    size_t i = 0;
    while (i < HOP_COUNT(makers) &&
           (makers[i].kind != kind || (algorithm != HOP_ALGORITHM_DEFAULT && makers[i].algorithm != algorithm)))
        i++;
    return i;
}

bool hop_collective_has(enum hop_collective_kind kind, enum hop_algorithm algorithm)
{
    return find_maker(kind, algorithm) < HOP_COUNT(makers);
}

enum hop_algorithm hop_collective_default(enum hop_collective_kind kind)
{
    size_t i = find_maker(kind, HOP_ALGORITHM_DEFAULT);
    return i < HOP_COUNT(makers) ? makers[i].algorithm : HOP_ALGORITHM_DEFAULT;
}

enum hop_status hop_collective_expand(const struct hop_collective *collective, struct hop_steps *steps,
                                      struct hop_diag *diag)
{
    size_t maker = find_maker(collective->kind, collective->algorithm);
    if (maker == HOP_COUNT(makers)) {
        hop_fail(diag, HOP_ERR_INVALID, "no %s can be made by %s", hop_collective_name(collective->kind),
                 hop_algorithm_name(collective->algorithm));
        hop_diag_expect(diag, "such as %s", hop_algorithm_name(hop_collective_default(collective->kind)));
        return HOP_ERR_INVALID;
    }
    if (collective->members == 0 || collective->root >= collective->members)
        return hop_fail(diag, HOP_ERR_INVALID, "a collective of %u ranks has the root %u", collective->members,
                        collective->root);
    struct hop_steps made = {0};
    struct making making = {collective, collective->members, &made, diag, HOP_OK};
    makers[maker].make(&making);
    if (making.status == HOP_OK)
        *steps = made;
    else
        hop_steps_finish(&made);
    return making.status;
}

void hop_steps_finish(struct hop_steps *steps)
{
    free(steps->steps);
    free(steps->after);
    *steps = (struct hop_steps){0};
}

/* ---- choosing ---- */

static uint32_t find_name(const char *const *names, uint32_t count, const char *text, size_t length)
{
    uint32_t i = 0;
    while (i < count && (strlen(names[i]) != length || memcmp(names[i], text, length) != 0))
        i++;
    return i;
}

/* One "allreduce=ring". */
static enum hop_status choose(const char *text, size_t length, struct hop_trace_options *options, struct hop_diag *diag)
{
    const char *equals = memchr(text, '=', length);
    size_t left = equals ? (size_t)(equals - text) : length;
    uint32_t kind = find_name(collective_names, HOP_COLLECTIVE_COUNT, text, left);
    if (!equals || kind == HOP_COLLECTIVE_COUNT) {
        hop_fail(diag, HOP_ERR_INVALID, "'%.*s' names no collective and its algorithm",
                 (int)(length < 60 ? length : 60), text);
        hop_diag_expect(diag, "such as allreduce=ring,alltoall=direct; collectives are allreduce, allgather, "
                              "reduce-scatter, alltoall, broadcast, reduce, gather, scatter, barrier");
        return HOP_ERR_INVALID;
    }
    size_t right = length - left - 1;
    uint32_t algorithm = find_name(algorithm_names, HOP_ALGORITHM_COUNT, equals + 1, right);
    if (algorithm == HOP_ALGORITHM_COUNT || !hop_collective_has((enum hop_collective_kind)kind, algorithm)) {
        char known[160] = "default";
        for (size_t i = 0, used = 7; i < HOP_COUNT(makers); i++) {
            if (makers[i].kind == kind) {
                const char *name = algorithm_names[makers[i].algorithm];
                memcpy(known + used, ", ", 2);
                memcpy(known + used + 2, name, strlen(name) + 1);
                used += 2 + strlen(name);
            }
        }
        hop_fail(diag, HOP_ERR_INVALID, "no %s can be made by '%.*s'", collective_names[kind],
                 (int)(right < 60 ? right : 60), equals + 1);
        hop_diag_expect(diag, "%s", known);
        return HOP_ERR_INVALID;
    }
    options->algorithm[kind] = (enum hop_algorithm)algorithm;
    return HOP_OK;
}

enum hop_status hop_trace_options_parse(const char *text, struct hop_trace_options *options, struct hop_diag *diag)
{
    struct hop_trace_options chosen = *options;
    for (;;) {
        size_t length = strcspn(text, ",");
        enum hop_status status = choose(text, length, &chosen, diag);
        if (status != HOP_OK)
            return status;
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    *options = chosen;
    return HOP_OK;
}
