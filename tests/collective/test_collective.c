/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives as messages, for 1 to 17 members and sizes that are no multiple of them: what every member ends with
 * follows from the declared dependencies alone, and bytes and critical paths agree with closed forms.
 */
#include "test.h"

#include "collective/collective.h"
#include "hopcast/collective.h"
#include "hopcast/trace.h"

enum { MEMBERS = 17, SIZES = 6 };
/* Of part p of n: they differ by at most one, the larger ones first, and add up. */
static uint64_t part_bytes(uint64_t bytes, uint32_t n, uint32_t p)
{
    return bytes / n + (p < bytes % n);
}

static const uint64_t sizes[SIZES] = {0, 1, 5, 16, 1000003, 1u << 20};

static struct hop_steps expand(enum hop_collective_kind kind, enum hop_algorithm algorithm, uint32_t n, uint32_t root,
                               uint64_t bytes)
{
    struct hop_collective collective = {kind, algorithm, n, root, bytes};
    struct hop_steps steps = {0};
    CHECK(hop_collective_expand(&collective, &steps, D));
    return steps;
}

static bool is_power(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

static uint32_t log2_up(uint32_t n)
{
    uint32_t rounds = 0;
    while (1u << rounds < n)
        rounds++;
    return rounds;
}

/* ---- the data, followed ---- */

/* How often each member's input is in what a step, or a member, holds of a part. */
struct held {
    uint16_t of[MEMBERS];
};

static void put(struct held *held, const struct held *more, bool sums)
{
    if (!sums)
        *held = *more;
    else
        for (uint32_t m = 0; m < MEMBERS; m++)
            held->of[m] = (uint16_t)(held->of[m] + more->of[m]);
}

/* What a member puts in: of a vector, every part; of a share of its own (allgather, gather), the part of its number; of
 * a root's vector, every part there. */
static void begin(const struct hop_collective *c, uint32_t member, struct held *parts)
{
    bool share = c->kind == HOP_COLLECTIVE_ALLGATHER || c->kind == HOP_COLLECTIVE_GATHER;
    bool rooted = c->kind == HOP_COLLECTIVE_BROADCAST || c->kind == HOP_COLLECTIVE_SCATTER;
    memset(parts, 0, MEMBERS * sizeof *parts);
    for (uint32_t p = 0; p < c->members; p++)
        parts[p].of[member] = (!share || p == member) && (!rooted || member == c->root);
}

/* The first byte of a part stands for it: where that lies in the vector of all parts. */
static uint64_t first_byte(const struct hop_collective *c, uint32_t part)
{
    uint64_t start = 0;
    for (uint32_t p = 0; p < part; p++)
        start += part_bytes(c->vector_bytes, c->members, p);
    return start;
}

/* Adds what the steps bring; a join brings all that it waited for. */
static void bring(const struct hop_collective *c, struct held *parts, const struct held (*carried)[MEMBERS],
                  const struct hop_collective_step *steps, const uint32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_collective_step *step = &steps[list[i]];
        for (uint32_t p = 0; p < c->members; p++) {
            uint64_t at = first_byte(c, p);
            if (step->from == step->to || (step->offset <= at && at < step->offset + step->bytes))
                put(&parts[p], &carried[list[i]][p], step->sums);
        }
    }
}

/* What every member holds in the end: its own input and all that came, each message carrying what its own dependencies
 * brought and nothing else. */
static void follow(const struct hop_collective *c, const struct hop_steps *made, struct held (*final)[MEMBERS])
{
    struct held(*carried)[MEMBERS] = calloc(made->count + 1, sizeof *carried);
    uint32_t *into = calloc(made->count + 1, sizeof *into);
    for (uint32_t s = 0; s < made->count; s++) {
        const struct hop_collective_step *step = &made->steps[s];
        for (uint32_t i = 0; i < step->after_count; i++) {
            uint32_t before = made->after[step->first_after + i];
            assert_true(before < s);
            assert_int_equal(made->steps[before].to, step->from);
        }
        begin(c, step->from, carried[s]);
        if (step->from == step->to) /* a join only gathers; the member's own input is added when it sends */
            memset(carried[s], 0, sizeof carried[s]);
        bring(c, carried[s], carried, made->steps, made->after + step->first_after, step->after_count);
    }
    for (uint32_t m = 0; m < c->members; m++) {
        uint32_t count = 0;
        for (uint32_t s = 0; s < made->count; s++) {
            if (made->steps[s].to == m && made->steps[s].from != m)
                into[count++] = s;
        }
        begin(c, m, final[m]);
        bring(c, final[m], carried, made->steps, into, count);
    }
    free(into);
    free(carried);
}

static void assert_all_once(const struct held *held, uint32_t n)
{
    for (uint32_t m = 0; m < n; m++)
        assert_int_equal(held->of[m], 1);
}

static void assert_only(const struct held *held, uint32_t n, uint32_t member)
{
    for (uint32_t m = 0; m < n; m++)
        assert_int_equal(held->of[m], m == member);
}

/* What the collective promises about part p at member m. */
static void assert_promise(const struct hop_collective *c, uint32_t m, uint32_t p, const struct held *held)
{
    switch (c->kind) {
    case HOP_COLLECTIVE_ALLREDUCE:
        assert_all_once(held, c->members);
        break;
    case HOP_COLLECTIVE_REDUCE_SCATTER:
        if (p == m)
            assert_all_once(held, c->members);
        break;
    case HOP_COLLECTIVE_REDUCE:
        if (m == c->root)
            assert_all_once(held, c->members);
        break;
    case HOP_COLLECTIVE_ALLGATHER:
        assert_only(held, c->members, p);
        break;
    case HOP_COLLECTIVE_GATHER:
        if (m == c->root)
            assert_only(held, c->members, p);
        break;
    case HOP_COLLECTIVE_BROADCAST:
        assert_only(held, c->members, c->root);
        break;
    case HOP_COLLECTIVE_SCATTER:
        if (p == m)
            assert_only(held, c->members, c->root);
        break;
    default:
        fail();
    }
}

static void each_collective_gives_every_member_what_it_promises(void **state)
{
    (void)state;
    unsigned checked = 0;
    for (unsigned kind = 0; kind < HOP_COLLECTIVE_COUNT; kind++) {
        if (kind == HOP_COLLECTIVE_ALLTOALL || kind == HOP_COLLECTIVE_BARRIER)
            continue; /* below */
        for (unsigned algorithm = 1; algorithm < HOP_ALGORITHM_COUNT; algorithm++) {
            if (!hop_collective_has(kind, algorithm))
                continue;
            for (uint32_t n = 1; n <= MEMBERS; n++) {
                for (uint32_t i = 0; i < SIZES; i++) {
                    struct hop_collective c = {kind, algorithm, n, (n * 7 + i) % n, sizes[i]};
                    struct hop_steps made = expand(kind, algorithm, n, c.root, c.vector_bytes);
                    struct held final[MEMBERS][MEMBERS];
                    follow(&c, &made, final);
                    for (uint32_t m = 0; m < n; m++) {
                        for (uint32_t p = 0; p < n; p++) {
                            if (part_bytes(c.vector_bytes, n, p) > 0) { /* an empty part may stay behind */
                                assert_promise(&c, m, p, &final[m][p]);
                                checked++;
                            }
                        }
                    }
                    hop_steps_finish(&made);
                }
            }
        }
    }
    assert_true(checked > 10000);
}

static void alltoall_sends_every_pair_its_part_once(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= MEMBERS; n++) {
        for (uint32_t i = 0; i < SIZES; i++) {
            struct hop_steps made = expand(HOP_COLLECTIVE_ALLTOALL, HOP_ALGORITHM_DIRECT, n, 0, sizes[i]);
            uint64_t moved[MEMBERS][MEMBERS] = {{0}};
            for (uint32_t s = 0; s < made.count; s++) {
                const struct hop_collective_step *step = &made.steps[s];
                assert_int_equal(step->after_count, 0);
                assert_int_equal(moved[step->from][step->to], 0);
                moved[step->from][step->to] = step->bytes;
            }
            for (uint32_t from = 0; from < n; from++) {
                uint64_t sent = 0;
                for (uint32_t to = 0; to < n; to++) {
                    assert_int_equal(moved[from][to], from == to ? 0 : part_bytes(sizes[i], n, to));
                    sent += moved[from][to];
                }
                assert_int_equal(sent + part_bytes(sizes[i], n, from), sizes[i]);
            }
            hop_steps_finish(&made);
        }
    }
}

static void barrier_lets_nobody_leave_before_all_have_entered(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= MEMBERS; n++) {
        struct hop_steps made = expand(HOP_COLLECTIVE_BARRIER, HOP_ALGORITHM_DEFAULT, n, 0, 0);
        uint32_t *tells = calloc(made.count + 1, sizeof *tells), known[MEMBERS];
        for (uint32_t m = 0; m < n; m++)
            known[m] = 1u << m;
        for (uint32_t s = 0; s < made.count; s++) {
            const struct hop_collective_step *step = &made.steps[s];
            tells[s] = 1u << step->from;
            for (uint32_t i = 0; i < step->after_count; i++) {
                assert_int_equal(made.steps[made.after[step->first_after + i]].to, step->from);
                tells[s] |= tells[made.after[step->first_after + i]];
            }
            known[step->to] |= tells[s];
        }
        for (uint32_t m = 0; m < n; m++)
            assert_int_equal(known[m], (1u << n) - 1);
        assert_int_equal(made.count, n * log2_up(n));
        free(tells);
        hop_steps_finish(&made);
    }
}

/* ---- closed forms ---- */

static uint64_t sent_by(const struct hop_steps *made, uint32_t member)
{
    uint64_t sent = 0;
    for (uint32_t s = 0; s < made->count; s++)
        sent += made->steps[s].from == member ? made->steps[s].bytes : 0;
    return sent;
}

/* The longest chain of messages; joins take no step. */
static uint32_t critical_path(const struct hop_steps *made)
{
    uint32_t *depth = calloc(made->count + 1, sizeof *depth), longest = 0;
    for (uint32_t s = 0; s < made->count; s++) {
        const struct hop_collective_step *step = &made->steps[s];
        for (uint32_t i = 0; i < step->after_count; i++) {
            uint32_t before = depth[made->after[step->first_after + i]];
            depth[s] = before > depth[s] ? before : depth[s];
        }
        depth[s] += step->from != step->to;
        longest = depth[s] > longest ? depth[s] : longest;
    }
    free(depth);
    return longest;
}

/* bytes each member sends (equal ones, size n x 1000) and the number of messages one after the other */
static void assert_costs(enum hop_collective_kind kind, enum hop_algorithm algorithm, uint32_t n, uint64_t sent,
                         uint32_t path)
{
    struct hop_steps made = expand(kind, algorithm, n, 0, 1000ull * n);
    for (uint32_t m = 0; m < n; m++)
        assert_int_equal(sent_by(&made, m), sent);
    assert_int_equal(critical_path(&made), path);
    hop_steps_finish(&made);
}

static void symmetric_collectives_send_and_take_what_their_closed_forms_say(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= MEMBERS; n++) {
        uint64_t part = 1000, all = part * n;
        assert_costs(HOP_COLLECTIVE_ALLREDUCE, HOP_ALGORITHM_RING, n, 2 * (n - 1) * part, 2 * (n - 1));
        assert_costs(HOP_COLLECTIVE_ALLREDUCE, HOP_ALGORITHM_DIRECT, n, 2 * (n - 1) * part, n > 1 ? 2 : 0);
        if (is_power(n))
            assert_costs(HOP_COLLECTIVE_ALLREDUCE, HOP_ALGORITHM_DOUBLING, n, log2_up(n) * all, log2_up(n));
        assert_costs(HOP_COLLECTIVE_REDUCE_SCATTER, HOP_ALGORITHM_RING, n, (n - 1) * part, n - 1);
        assert_costs(HOP_COLLECTIVE_REDUCE_SCATTER, HOP_ALGORITHM_DIRECT, n, (n - 1) * part, n > 1);
        assert_costs(HOP_COLLECTIVE_ALLGATHER, HOP_ALGORITHM_RING, n, (n - 1) * part, n - 1);
        assert_costs(HOP_COLLECTIVE_ALLGATHER, HOP_ALGORITHM_DIRECT, n, (n - 1) * part, n > 1);
        assert_costs(HOP_COLLECTIVE_ALLTOALL, HOP_ALGORITHM_DIRECT, n, (n - 1) * part, n > 1);
        assert_costs(HOP_COLLECTIVE_BARRIER, HOP_ALGORITHM_DISSEMINATION, n, log2_up(n), log2_up(n));
    }
}

/* The deepest position of a binomial tree: each bit of a position is a message on its way. */
static uint32_t most_bits(uint32_t n)
{
    uint32_t most = 0;
    for (uint32_t v = 0; v < n; v++) {
        uint32_t bits = (uint32_t)__builtin_popcount(v);
        most = bits > most ? bits : most;
    }
    return most;
}

static void rooted_collectives_send_and_take_what_their_closed_forms_say(void **state)
{
    (void)state;
    const struct {
        enum hop_collective_kind kind;
        enum hop_algorithm algorithm;
    } rows[] = {{HOP_COLLECTIVE_BROADCAST, HOP_ALGORITHM_BINOMIAL},
                {HOP_COLLECTIVE_BROADCAST, HOP_ALGORITHM_CHAIN},
                {HOP_COLLECTIVE_REDUCE, HOP_ALGORITHM_BINOMIAL},
                {HOP_COLLECTIVE_GATHER, HOP_ALGORITHM_DIRECT},
                {HOP_COLLECTIVE_SCATTER, HOP_ALGORITHM_DIRECT}};
    for (uint32_t n = 1; n <= MEMBERS; n++) {
        for (size_t i = 0; i < HOP_COUNT(rows); i++) {
            uint64_t all = 1000ull * n, total = 0;
            uint32_t root = n / 2;
            struct hop_steps made = expand(rows[i].kind, rows[i].algorithm, n, root, all);
            for (uint32_t m = 0; m < n; m++)
                total += sent_by(&made, m);
            bool tree = rows[i].algorithm == HOP_ALGORITHM_BINOMIAL;
            bool parts = rows[i].kind == HOP_COLLECTIVE_SCATTER || rows[i].kind == HOP_COLLECTIVE_GATHER;
            uint64_t expected = parts ? (n - 1) * 1000ull : (n - 1) * all;
            assert_int_equal(total, expected);
            uint32_t direct = n > 1;
            assert_int_equal(critical_path(&made), tree                                       ? most_bits(n)
                                                   : rows[i].algorithm == HOP_ALGORITHM_CHAIN ? n - 1
                                                                                              : direct);
            if (tree && rows[i].kind == HOP_COLLECTIVE_BROADCAST)
                assert_int_equal(sent_by(&made, root), log2_up(n) * all);
            hop_steps_finish(&made);
        }
    }
}

/* Else all parts would share the link, arrive together, and nothing would overlap. */
static void each_member_of_a_chain_sends_one_part_behind_the_other(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= MEMBERS; n++) {
        for (uint32_t i = 0; i < SIZES; i++) {
            struct hop_steps made = expand(HOP_COLLECTIVE_BROADCAST, HOP_ALGORITHM_CHAIN, n, n - 1, sizes[i]);
            uint32_t last[MEMBERS] = {0}; /* 1 + step */
            assert_int_equal(made.count, (sizes[i] < n ? sizes[i] : n) * (n - 1));
            for (uint32_t s = 0; s < made.count; s++) {
                assert_int_equal(made.steps[s].behind, last[made.steps[s].from]);
                last[made.steps[s].from] = s + 1;
            }
            hop_steps_finish(&made);
        }
    }
}

static void bytes_are_kept_for_sizes_that_do_not_divide(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= MEMBERS; n++) {
        for (uint32_t i = 0; i < SIZES; i++) {
            uint64_t parts = 0, total = 0;
            for (uint32_t p = 0; p < n; p++)
                parts += part_bytes(sizes[i], n, p);
            assert_int_equal(parts, sizes[i]);
            struct hop_steps made = expand(HOP_COLLECTIVE_ALLREDUCE, HOP_ALGORITHM_RING, n, 0, sizes[i]);
            for (uint32_t m = 0; m < n; m++) {
                /* every part but its own is sent to be summed; every sum but the next member's is handed on */
                uint64_t kept = part_bytes(sizes[i], n, m) + part_bytes(sizes[i], n, (m + 1) % n);
                assert_int_equal(sent_by(&made, m), n > 1 ? 2 * sizes[i] - kept : 0);
                total += sent_by(&made, m);
            }
            assert_int_equal(total, 2 * (n - 1) * sizes[i]);
            hop_steps_finish(&made);
        }
    }
}

/* ---- refusals ---- */

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct hop_steps steps = {0};
    struct hop_diag diag = {0};
    struct hop_collective long_one = {HOP_COLLECTIVE_ALLGATHER, HOP_ALGORITHM_RING, 6, 0, (uint64_t)1 << 60};
    assert_int_equal(hop_collective_expand(&long_one, &steps, &diag), HOP_ERR_LIMIT);
    assert_non_null(strstr(diag.what, "6 ranks"));
    struct hop_collective odd = {HOP_COLLECTIVE_ALLTOALL, HOP_ALGORITHM_BINOMIAL, 4, 0, 8};
    assert_int_equal(hop_collective_expand(&odd, &steps, &diag), HOP_ERR_INVALID);
    struct hop_collective outside = {HOP_COLLECTIVE_REDUCE, HOP_ALGORITHM_DEFAULT, 4, 4, 8};
    assert_int_equal(hop_collective_expand(&outside, &steps, &diag), HOP_ERR_INVALID);
    struct hop_collective large = {HOP_COLLECTIVE_ALLTOALL, HOP_ALGORITHM_DEFAULT, 1u << 20, 0, 1u << 30};
    assert_int_equal(hop_collective_expand(&large, &steps, &diag), HOP_ERR_LIMIT);
    assert_null(steps.steps);
}

static void algorithms_are_chosen_by_name(void **state)
{
    (void)state;
    struct hop_trace_options options = {0};
    CHECK(hop_trace_options_parse("allreduce=doubling,reduce-scatter=direct", &options, D));
    assert_int_equal(options.algorithm[HOP_COLLECTIVE_ALLREDUCE], HOP_ALGORITHM_DOUBLING);
    assert_int_equal(options.algorithm[HOP_COLLECTIVE_REDUCE_SCATTER], HOP_ALGORITHM_DIRECT);
    assert_int_equal(options.algorithm[HOP_COLLECTIVE_ALLTOALL], HOP_ALGORITHM_DEFAULT);
    CHECK(hop_trace_options_parse("allreduce=default", &options, D));
    assert_int_equal(options.algorithm[HOP_COLLECTIVE_ALLREDUCE], HOP_ALGORITHM_DEFAULT);
    static const char *const wrong[] = {"",
                                        "ring",
                                        "allreduce",
                                        "allreduce=",
                                        "allreduce=tree",
                                        "alltoall=ring",
                                        "all-reduce=ring",
                                        "allreduce=ring,",
                                        "barrier=direct,allreduce=ring"};
    for (size_t i = 0; i < HOP_COUNT(wrong); i++) {
        struct hop_trace_options before = options;
        struct hop_diag diag = {0};
        assert_int_equal(hop_trace_options_parse(wrong[i], &options, &diag), HOP_ERR_INVALID);
        assert_true(diag.what[0] && diag.expected[0]);
        assert_memory_equal(&before, &options, sizeof options);
    }
    struct hop_diag diag = {0};
    (void)hop_trace_options_parse("allreduce=tree", &options, &diag);
    assert_string_equal(diag.expected,
                        "default, ring, doubling, rabenseifner, direct, binomial, one-shot, two-shot, gsb, btb, "
                        "bucket");
}

static void every_collective_has_a_default(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < HOP_COLLECTIVE_COUNT; kind++) {
        assert_int_not_equal(hop_collective_default(kind), HOP_ALGORITHM_DEFAULT);
        assert_true(hop_collective_has(kind, HOP_ALGORITHM_DEFAULT));
    }
}

TEST_GROUP(collective)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_collective_gives_every_member_what_it_promises),
        cmocka_unit_test(alltoall_sends_every_pair_its_part_once),
        cmocka_unit_test(barrier_lets_nobody_leave_before_all_have_entered),
        cmocka_unit_test(symmetric_collectives_send_and_take_what_their_closed_forms_say),
        cmocka_unit_test(rooted_collectives_send_and_take_what_their_closed_forms_say),
        cmocka_unit_test(each_member_of_a_chain_sends_one_part_behind_the_other),
        cmocka_unit_test(bytes_are_kept_for_sizes_that_do_not_divide),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(algorithms_are_chosen_by_name),
        cmocka_unit_test(every_collective_has_a_default),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
