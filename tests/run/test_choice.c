/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Choice of copy mechanisms: assignments worked out by hand from the rule, simulations of many ranks, and every order
 * in which events can come with few.
 */
#include "test.h"

#include "run/choice.h"

/* ---- by hand ---- */

/* All data is there, and no late copy is under way. */
static bool is_quiet(const struct hop_choice *c)
{
    return hop_choice_stage_ended(c) && c->pending[HOP_PEER] == 0 && c->pending[HOP_STAGED] == 0;
}

static struct hop_choice choice;
static const char letters[] = "PS";

static void expect_next(const char *token, const char *where)
{
    struct hop_assignment next;
    bool again = token[1] == '>';
    unsigned rank = 0;
    char letter = 0;
    assert_int_equal(sscanf(token + (again ? 2 : 1), "%u%c", &rank, &letter), 2);
    if (!hop_choice_next(&choice, &next))
        fail_msg("nothing to do at: %s", where);
    if (next.rank != rank || letters[next.mechanism] != letter || next.again != again)
        fail_msg("%s%u%c at: %s", next.again ? ">>" : ">", next.rank, letters[next.mechanism], where);
}

/*
 * a3: rank 3 arrives. c3P: its peer copy completes; x3P: there is none that could; f3: it is forgotten. >3S: next comes
 * rank 3, staged; >>3S: once more. '.': nothing is to be done. '!': a stall. '=': the stage has ended, and not before.
 * begin, stageN.
 */
static void play(const char *script)
{
    struct hop_assignment next;
    char token[16];
    for (const char *at = script; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        assert_true(length < sizeof token);
        memcpy(token, at, length);
        token[length] = '\0';
        enum hop_mechanism mechanism = token[length - 1] == 'S' ? HOP_STAGED : HOP_PEER;
        unsigned number = (unsigned)atoi(token + strcspn(token, "0123456789"));
        if (token[0] == '>')
            expect_next(token, at);
        else if (strcmp(token, "begin") == 0)
            hop_choice_begin(&choice);
        else if (strncmp(token, "stage", 5) == 0)
            hop_choice_stage(&choice, number);
        else if (token[0] == 'a')
            hop_choice_arrived(&choice, number);
        else if (token[0] == 'f')
            hop_choice_forget(&choice, number);
        else if (token[0] == '!')
            hop_choice_stalled(&choice);
        else if ((token[0] == 'c' || token[0] == 'x') &&
                 hop_choice_completed(&choice, number, mechanism) != (token[0] == 'c'))
            fail_msg("unexpected answer to: %s", at);
        else if (token[0] == '.' && hop_choice_next(&choice, &next))
            fail_msg("%s%u%c, not nothing, at: %s", next.again ? ">>" : ">", next.rank, letters[next.mechanism], at);
        if (hop_choice_stage_ended(&choice) != (token[0] == '=') && choice.copies > 0 && at[length] == '\0')
            fail_msg("wrong end: %s", script);
        if (token[0] == '=' && !hop_choice_stage_ended(&choice))
            fail_msg("not ended at: %s", at);
        at += length;
    }
}

static void fresh(const char *script)
{
    memset(&choice, 0, sizeof choice);
    play(script);
}

static void the_first_two_arrivals_get_one_mechanism_each(void **state)
{
    (void)state;
    fresh("begin stage3 . a2 >2P . a0 >0S . a1 .");
    /* Peer has one completion and may be given two more when the second rank comes: it still gets the other one. */
    fresh("begin stage4 a0 >0P . c0P . a1 >1S . a2 >2P . a3 >3P .");
}

static void completions_of_one_mechanism_double_its_share(void **state)
{
    (void)state;
    /* k = 1, 2, 3: two, four, eight copies. */
    fresh("begin stage16 a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12 a13 a14 a15 >0P >1S ."
          " c0P >2P >3P . c2P >4P >5P >6P >7P . c3P >8P >9P >10P >11P >12P >13P >14P >15P .");
    fresh("begin stage8 a0 a1 a2 a3 a4 a5 a6 a7 >0P >1S . c1S >2S >3S . c3S >4S >5S >6S >7S .");
    /* They add up while nobody comes: one of two left, and four. */
    fresh("begin stage9 a0 >0P a1 >1S c0P . a2 >2P . c2P . a3 a4 a5 a6 a7 a8 >3P >4P >5P >6P >7P .");
}

static void a_mechanism_that_is_not_ahead_gets_one_copy(void **state)
{
    (void)state;
    /* Differences after each: P +1, S 0, S +1, P 0, P +1. */
    fresh("begin stage10 a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 >0P >1S . c0P >2P >3P . c1S >4S . c4S >5S >6S ."
          " c2P >7P . c3P >8P >9P .");
    /* P +1, P +2, S -1. */
    fresh("begin stage9 a0 a1 a2 a3 a4 a5 a6 a7 a8 >0P >1S . c0P >2P >3P . c2P >4P >5P >6P >7P . c1S >8S .");
}

static void assignments_wait_for_arrivals_in_their_order(void **state)
{
    (void)state;
    fresh("begin stage6 a5 >5P a3 >3S . c5P . a4 >4P . c4P . a0 >0P . a2 >2P . c3S . a1 >1P .");
}

static void the_last_copy_is_sent_again_if_its_mechanism_never_completed_one(void **state)
{
    (void)state;
    fresh("begin stage3 a0 a1 a2 >0P >1S . c0P >2P . c2P >>1P . c1P = x1S x1P =");
    assert_int_equal(choice.resent, 1);
    assert_true(is_quiet(&choice));
    /* Not while two are pending, nor if its mechanism has one, earlier in the launch. */
    fresh("begin stage4 a0 a1 a2 a3 >0P >1S . c0P >2P >3P . c3P . c2P >>1P .");
    fresh("begin stage3 a0 a1 a2 >0P >1S . c1S >2S . c0P . c2S =");
    assert_int_equal(choice.resent, 0);
}

static void a_peer_copy_cannot_be_dropped_and_ends_late(void **state)
{
    (void)state;
    fresh("begin stage3 a0 a1 a2 >0P >1S . c1S >2S . c2S >>0S . c0S x0S =");
    assert_int_equal(choice.state[0], HOP_COPY_HS_CMP);
    assert_false(is_quiet(&choice));
    play("c0P =");
    assert_true(is_quiet(&choice));
    assert_int_equal(choice.done[HOP_PEER], 1);
    /* Or first: then the one sent again is dropped. */
    fresh("begin stage2 a0 a1 >0P >1S . c1S >>0S . c0P = x0S =");
    assert_int_equal(choice.state[0], HOP_COPY_IPC_CMP);
    assert_true(is_quiet(&choice));
}

static void what_completes_while_it_is_sent_again_counts_once(void **state)
{
    (void)state;
    /* Staged, just when the leader has it sent again: the peer copy never begins. */
    fresh("begin stage2 a0 a1 >0P >1S c0P >>1P c1S = x1P x1S =");
    assert_int_equal(choice.state[1], HOP_COPY_HS_CMP);
    assert_true(is_quiet(&choice));
    assert_int_equal(choice.done[HOP_STAGED], 1);
    assert_int_equal(choice.done[HOP_PEER], 1);
}

static void a_peer_copy_that_never_began_is_forgotten(void **state)
{
    (void)state;
    fresh("begin stage2 a0 a1 >0P >1S c1S >>0S f0 . c0S = x0P f0 f1 =");
    assert_true(is_quiet(&choice));
    assert_int_equal(choice.done[HOP_PEER], 0);
    /* A late one too; its rank can begin another. What nothing overtook is not forgotten. */
    fresh("begin stage2 a0 a1 >0P >1S c1S >>0S c0S = begin stage2 f0 a0 >0P f0 . c0P . a1 >1S");
    fresh("begin stage1 a0 >0P f0 . c0P =");
}

static void a_mechanism_without_completions_is_avoided_in_the_next_stage(void **state)
{
    (void)state;
    /* Staged has three completions, peer none: 2^3 copies, and none by peer though one of it ends meanwhile. */
    fresh("begin stage3 a0 a1 a2 >0P >1S c1S >2S . c2S >>0S . c0S ="
          " stage4 a0 >0S a1 >1S a2 >2S . c0P . a3 >3S . c0S c1S c2S . c3S =");
    assert_true(choice.slow[HOP_PEER] && !choice.slow[HOP_STAGED]);
    /* In the next launch nothing is known, but a rank whose peer copy is late cannot begin another one. */
    fresh("begin stage2 a0 a1 >0P >1S c1S >>0S . c0S = begin stage3 a0 >0S a1 >1P . a2 . c0S >2S .");
}

static void the_example_of_the_manual_holds(void **state)
{
    (void)state;
    fresh("begin stage8 a0 a1 a2 a3 a4 a5 a6 a7 >0P >1S . c0P >2P >3P . c2P >4P >5P >6P >7P . c3P . c4P . c5P . c6P ."
          " c7P >>1P . c1P =");
    assert_int_equal(choice.done[HOP_PEER], 8);
    play("stage1 a0 >0P c0P =");
    assert_true(choice.slow[HOP_STAGED]);
    fresh("begin stage9 a0 a1 a2 a3 a4 a5 a6 a7 a8 >0P >1S . c0P >2P >3P . c2P >4P >5P >6P >7P . c1S >8S .");
}

static void the_next_stage_begins_with_what_is_known(void **state)
{
    (void)state;
    /* Staged 3, peer 1: 2^2 copies and one. */
    fresh("begin stage4 a0 a1 a2 a3 >0P >1S c1S >2S >3S c2S c0P . c3S ="
          " stage8 a0 a1 a2 a3 a4 a5 a6 a7 >0S >1S >2S >3S >4P .");
    /* Peer 2, staged 1: two and one. */
    fresh("begin stage3 a0 a1 a2 >0P >1S c0P >2P . c1S . c2P = stage4 a0 a1 a2 a3 >0P >1P >2S .");
    /* A copy that ends late counts: peer 2, staged 3. */
    fresh("begin stage4 a0 a1 a2 a3 >0P >1S c0P >2P >3P . c1S . ! >>2S . c2S >>3S . c3S ="
          " stage8 a0 a1 a4 a5 a6 a7 >0S >1S >4S >5S >6P . c2P >7P . a2 .");
    /* The next launch knows nothing. */
    fresh("begin stage1 a0 >0P c0P = begin stage2 a0 >0P . c0P . a1 >1S >>1P .");
    fresh("begin stage2 a0 a1 >0P >1S c0P >>1P . c1P = begin stage2 a1 a0 >1P >0S . c1P >>0P . c0P =");
}

static void a_lone_copy_is_sent_again_only_after_a_stall(void **state)
{
    (void)state;
    fresh("begin stage1 a7 >7P . c7P =");
    assert_int_equal(choice.resent, 0);
    fresh("begin stage1 a7 >7P . ! >>7S . c7S =");
    fresh("begin stage1 a7 >7P . ! >>7S . ! . c7P = x7S =");
    fresh("begin stage1 ! . a7 >7P .");
}

static void what_a_stalled_mechanism_holds_goes_the_other_way(void **state)
{
    (void)state;
    /* Peer stalls with two copies after one completion. Staged may be given one for its first completion, two for its
     * second, and uses one of them. */
    fresh(
        "begin stage6 a0 a1 a2 a3 a4 a5 >0P >1S c0P >2P >3P . c1S >4S . c4S >5S . ! . c5S . ! >>2S >>3S . c3S . c2S =");
    assert_int_equal(choice.resent, 2);
    assert_int_equal(choice.pending[HOP_PEER], 2);
    /* Staged stalls with the last one, though it has one completion: it is dropped. */
    fresh("begin stage5 a0 a1 a2 a3 a4 >0P >1S c1S >2S >3S . c0P >4P . c4P . c3S . ! >>2P . c2P = x2S =");
    /* An avoided mechanism is taken back when the other one stalls. */
    fresh("begin stage2 a0 a1 >0P >1S c0P >>1P . c1P = stage3 a0 a1 a2 >0P >1P >2P . ! >>0S . c0S >>1S . c1S >>2S . "
          "c2S =");
    /* While both have copies pending there is something to wait for. */
    fresh("begin stage4 a0 a1 a2 >0P >1S . ! . c0P >2P . ! . a3 >3P .");
}

/* ---- many ranks in simulated time ---- */

enum { COPIES_MAX = 256, NEVER = INT32_MAX };

/* A copy takes ticks[m], more or less by up to `spread`. Serial: a mechanism does one at a time, else all side by side.
 * From stalls[m] completions on it does nothing more. */
struct setting {
    uint32_t copies;
    int ticks[HOP_MECHANISM_COUNT], spread;
    bool serial;
    uint32_t stalls[HOP_MECHANISM_COUNT];
};

struct result {
    uint32_t by[HOP_MECHANISM_COUNT], resent, stalls;
    long end;
};

struct service {
    long ends[HOP_MECHANISM_COUNT][COPIES_MAX]; /* 0: none */
    long free[HOP_MECHANISM_COUNT];
};

static void issue_all(const struct setting *setting, struct service *service, long now)
{
    struct hop_assignment a;
    while (hop_choice_next(&choice, &a)) {
        int jitter = setting->spread ? (int)random_below(2 * (uint32_t)setting->spread + 1) - setting->spread : 0;
        long start = setting->serial && service->free[a.mechanism] > now ? service->free[a.mechanism] : now;
        service->free[a.mechanism] = service->ends[a.mechanism][a.rank] = start + setting->ticks[a.mechanism] + jitter;
        if (a.again && a.mechanism == HOP_PEER)
            service->ends[HOP_STAGED][a.rank] = 0;
    }
}

static bool first_to_end(const struct setting *setting, const struct service *service, uint32_t *rank,
                         enum hop_mechanism *mechanism)
{
    long best = 0;
    for (uint32_t r = 0; r < setting->copies; r++) {
        for (enum hop_mechanism m = 0; m < HOP_MECHANISM_COUNT; m++) {
            long end = service->ends[m][r];
            if (end == 0 || choice.done[m] >= setting->stalls[m] || (best && end >= best))
                continue;
            best = end;
            *rank = r;
            *mechanism = m;
        }
    }
    return best > 0;
}

/* All ranks are there from the start. */
static struct result simulate(const struct setting *setting)
{
    static struct service service;
    struct result result = {0};
    enum hop_mechanism m = HOP_PEER;
    uint32_t rank = 0;
    memset(&service, 0, sizeof service);
    memset(&choice, 0, sizeof choice);
    hop_choice_begin(&choice);
    hop_choice_stage(&choice, setting->copies);
    for (uint32_t r = 0; r < setting->copies; r++)
        hop_choice_arrived(&choice, r);
    for (issue_all(setting, &service, 0); !hop_choice_stage_ended(&choice); issue_all(setting, &service, result.end)) {
        if (!first_to_end(setting, &service, &rank, &m)) {
            assert_true(++result.stalls < 10);
            hop_choice_stalled(&choice);
            continue;
        }
        result.end = service.ends[m][rank];
        service.ends[m][rank] = 0;
        (void)hop_choice_completed(&choice, rank, m);
    }
    for (uint32_t r = 0; r < setting->copies; r++)
        result.by[choice.state[r] == HOP_COPY_HS_CMP ? HOP_STAGED : HOP_PEER]++;
    result.resent = choice.resent;
    return result;
}

static void equal_mechanisms_share_the_copies(void **state)
{
    (void)state;
    for (int serial = 0; serial < 2; serial++) {
        struct setting setting = {64, {1000, 1000}, 200, serial, {NEVER, NEVER}};
        enum { RUNS = 400 };
        uint32_t by_peer = 0, counts[65] = {0}, low = 0, high = 64;
        for (uint32_t i = 0; i < RUNS; i++) {
            uint32_t peer = simulate(&setting).by[HOP_PEER];
            by_peer += peer;
            counts[peer]++;
        }
        assert_in_range(by_peer, 64 * RUNS * 45 / 100, 64 * RUNS * 55 / 100);
        for (uint32_t below = counts[0]; below <= RUNS / 10;) /* docs/copies.md has these */
            below += counts[++low];
        for (uint32_t above = counts[64]; above <= RUNS / 10;)
            above += counts[--high];
        print_message("equally fast, %s: %u to %u of 64 by peer in the middle 80 %% of %d launches\n",
                      serial ? "one copy at a time" : "side by side", low, high, RUNS);
    }
}

static void a_faster_mechanism_takes_most_copies(void **state)
{
    (void)state;
    for (enum hop_mechanism fast = 0; fast < HOP_MECHANISM_COUNT; fast++) {
        for (int serial = 0; serial < 2; serial++) {
            struct setting setting = {64, {4000, 4000}, 200, serial, {NEVER, NEVER}};
            setting.ticks[fast] = 1000;
            struct result result = simulate(&setting);
            assert_true(result.by[fast] >= 48);
            print_message("%s four times as fast, %s: %u of 64\n", fast == HOP_PEER ? "peer" : "staged",
                          serial ? "one copy at a time" : "side by side", result.by[fast]);
        }
    }
}

static void a_mechanism_that_never_completes_costs_one_copy(void **state)
{
    (void)state;
    for (enum hop_mechanism dead = 0; dead < HOP_MECHANISM_COUNT; dead++) {
        struct setting setting = {64, {1000, 1000}, 0, true, {NEVER, NEVER}};
        setting.stalls[dead] = 0;
        struct result result = simulate(&setting);
        /* No patience is needed, and all copies follow each other on the other one. */
        assert_int_equal(result.by[dead], 0);
        assert_int_equal(result.resent, 1);
        assert_int_equal(result.stalls, 0);
        assert_int_equal(result.end, 64 * 1000);
    }
}

static void a_mechanism_that_stalls_on_the_way_does_not_hold_up_the_rest(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        enum hop_mechanism dead = random_below(2);
        struct setting setting = {1 + random_below(COPIES_MAX), {1000, 1000}, 0, random_below(2), {NEVER, NEVER}};
        setting.ticks[random_below(2)] = 100 + (int)random_below(4000);
        setting.stalls[dead] = random_below(setting.copies);
        struct result result = simulate(&setting);
        assert_true(result.by[dead] <= setting.stalls[dead]);
        assert_int_equal(result.by[HOP_PEER] + result.by[HOP_STAGED], setting.copies);
        assert_true(result.stalls <= 1);
    }
}

/* ---- every order of events ---- */

/*
 * A launch of two stages among up to five ranks: at any moment a rank may arrive, a copy end, the leader take its next
 * assignment, the caller report a stall, and one mechanism stop for good. Shown for all that can be reached: nothing
 * goes on for ever, and where nothing more can happen all data is there.
 */
enum { RANKS_MAX = 5, STAGES = 2, KEY_SIZE = 48 };

struct world {
    struct hop_choice choice;
    uint8_t stage, dead;                                                /* dead: 1 + a mechanism, 0: none */
    uint16_t issued[HOP_MECHANISM_COUNT], granted[HOP_MECHANISM_COUNT]; /* this stage, counted here */
};

struct table {
    uint8_t (*keys)[KEY_SIZE];
    uint8_t *colours; /* 0 free, 1 on the path, 2 done */
    uint32_t slots, used;
};

static struct {
    uint32_t ranks;
    bool any_order; /* else ranks arrive in their order */
    bool patient;   /* a stall is told when nothing else can happen, and copies may turn out not to have begun */
    uint8_t copies[STAGES];
    struct table seen;
    uint64_t steps;
} search;

static void put(uint8_t **at, const void *data, size_t size)
{
    memcpy(*at, data, size);
    *at += size;
}

/* All that what follows depends on; the counts of copies granted are left out (they are checked on the way). */
static void make_key(const struct world *w, uint8_t *key)
{
    const struct hop_choice *c = &w->choice;
    uint8_t *at = key, small[] = {w->stage,
                                  w->dead,
                                  (uint8_t)c->arrived,
                                  (uint8_t)c->assigned,
                                  (uint8_t)c->completed,
                                  (uint8_t)c->done[0],
                                  (uint8_t)c->done[1],
                                  (uint8_t)c->pending[0],
                                  (uint8_t)c->pending[1],
                                  c->tried[0],
                                  c->tried[1],
                                  c->slow[0],
                                  c->slow[1],
                                  (uint8_t)c->next};
    memset(key, 0, KEY_SIZE);
    put(&at, small, sizeof small);
    for (int m = 0; m < HOP_MECHANISM_COUNT; m++)
        put(&at, &(uint16_t){(uint16_t)c->may[m]}, 2);
    for (uint32_t i = 0; i < c->arrived; i++)
        *at++ = (uint8_t)c->order[i];
    put(&at, c->state, search.ranks);
    put(&at, c->flight, search.ranks);
    assert_true(at <= key + KEY_SIZE);
}

static uint32_t slot_of(const struct table *table, const uint8_t *key)
{
    uint64_t hash = 1469598103934665603u;
    for (int i = 0; i < KEY_SIZE; i++)
        hash = (hash ^ key[i]) * 1099511628211u;
    uint32_t slot = (uint32_t)(hash >> 20) & (table->slots - 1);
    while (table->colours[slot] && memcmp(table->keys[slot], key, KEY_SIZE) != 0)
        slot = (slot + 1) & (table->slots - 1);
    return slot;
}

static void make_table(struct table *table, uint32_t slots)
{
    *table = (struct table){calloc(slots, KEY_SIZE), calloc(slots, 1), slots, 0};
    assert_non_null(table->keys);
    assert_non_null(table->colours);
}

static void grow(struct table *table)
{
    struct table larger;
    make_table(&larger, table->slots * 2);
    for (uint32_t i = 0; i < table->slots; i++) {
        if (!table->colours[i])
            continue;
        uint32_t slot = slot_of(&larger, table->keys[i]);
        memcpy(larger.keys[slot], table->keys[i], KEY_SIZE);
        larger.colours[slot] = table->colours[i];
    }
    larger.used = table->used;
    free(table->keys);
    free(table->colours);
    *table = larger;
}

static bool holds(const struct hop_choice *c, uint32_t rank, enum hop_mechanism m)
{
    return c->flight[rank] & (m == HOP_STAGED ? 2 : 1 | 4);
}

static bool ended(const struct hop_choice *c, uint32_t rank)
{
    return c->state[rank] == HOP_COPY_IPC_CMP || c->state[rank] == HOP_COPY_HS_CMP;
}

static void check_counts(const struct world *w)
{
    const struct hop_choice *c = &w->choice;
    uint32_t held[HOP_MECHANISM_COUNT] = {0}, completed = 0;
    for (uint32_t rank = 0; rank < search.ranks; rank++) {
        completed += ended(c, rank);
        for (enum hop_mechanism m = 0; m < HOP_MECHANISM_COUNT; m++)
            held[m] += holds(c, rank, m);
        assert_false(ended(c, rank) && holds(c, rank, HOP_STAGED)); /* its data is there: it is dropped */
    }
    assert_int_equal(held[HOP_PEER], c->pending[HOP_PEER]);
    assert_int_equal(held[HOP_STAGED], c->pending[HOP_STAGED]);
    assert_int_equal(completed, c->completed);
    assert_true(c->completed <= c->assigned && c->assigned <= c->arrived && c->arrived <= c->copies);
    assert_false(c->slow[HOP_PEER] && c->slow[HOP_STAGED]);
}

/* The thesis' numbers, counted apart from the program's: 2^k or one for each completion. */
static void count_grant(struct world *w, enum hop_mechanism m)
{
    int ahead = (int)w->choice.done[m] - (int)w->choice.done[1 - m];
    w->granted[m] = (uint16_t)(w->granted[m] + (ahead > 0 ? 1 << ahead : 1));
}

static void check_assignment(const struct world *before, struct world *w, const struct hop_assignment *a)
{
    const struct hop_choice *c = &before->choice;
    assert_true(a->rank < search.ranks);
    assert_false(holds(c, a->rank, a->mechanism));
    assert_false(ended(c, a->rank));
    if (a->again) {
        assert_true(holds(c, a->rank, 1 - a->mechanism));
        assert_true(c->assigned == c->arrived);
        assert_true(c->slow[1 - a->mechanism] ||
                    (c->completed + 1 == c->copies && c->done[1 - a->mechanism] == 0 && c->done[a->mechanism] > 0));
        return;
    }
    assert_int_equal(c->state[a->rank], HOP_COPY_RTS);
    assert_false(c->slow[a->mechanism]);
    w->issued[a->mechanism]++;
    assert_true(w->issued[a->mechanism] <= w->granted[a->mechanism]);
    if (before->stage == 0 && c->assigned == 1) /* the first two, one each */
        assert_int_equal(before->issued[a->mechanism], 0);
}

static bool explore(const struct world *world);

/* Whether the event led anywhere else. */
static bool follow(struct world *before, struct world *after)
{
    uint8_t old[KEY_SIZE], new[KEY_SIZE];
    make_key(before, old);
    make_key(after, new);
    search.steps++;
    return memcmp(old, new, KEY_SIZE) != 0 && explore(after);
}

static bool may_arrive(const struct hop_choice *c, uint32_t rank)
{
    if (c->arrived == c->copies || c->state[rank] != HOP_COPY_INIT)
        return false;
    return search.any_order || rank == 0 || c->state[rank - 1] != HOP_COPY_INIT;
}

static void open_stage(struct world *w)
{
    hop_choice_stage(&w->choice, search.copies[w->stage]);
    for (enum hop_mechanism m = 0; m < HOP_MECHANISM_COUNT; m++) {
        w->issued[m] = w->granted[m] = 0;
        count_grant(w, m);
    }
}

/* The rank hears of the new assignment too late, its staged copy being through; or before its peer copy has begun. */
static bool try_too_late(struct world *before, struct world *w, const struct hop_assignment *next)
{
    if (next->mechanism == HOP_PEER) {
        assert_true(hop_choice_completed(&w->choice, next->rank, HOP_STAGED));
        assert_true(ended(&w->choice, next->rank));
        count_grant(w, HOP_STAGED);
    } else {
        hop_choice_forget(&w->choice, next->rank);
        assert_false(holds(&w->choice, next->rank, HOP_PEER));
    }
    return follow(before, w);
}

/* Everything that can happen next; whether anything can. */
static bool try_events(struct world *w)
{
    bool moved = false;
    struct world after;
    struct hop_assignment next;
    if (hop_choice_stage_ended(&w->choice) && w->stage + 1 < STAGES) {
        after = *w;
        after.stage++;
        open_stage(&after);
        moved |= follow(w, &after);
    }
    for (uint32_t rank = 0; rank < search.ranks; rank++) {
        for (enum hop_mechanism m = 0; m < HOP_MECHANISM_COUNT; m++) {
            if (!holds(&w->choice, rank, m) || w->dead == m + 1)
                continue;
            after = *w;
            assert_true(hop_choice_completed(&after.choice, rank, m));
            count_grant(&after, m);
            moved |= follow(w, &after);
        }
        if (may_arrive(&w->choice, rank)) {
            after = *w;
            hop_choice_arrived(&after.choice, rank);
            moved |= follow(w, &after);
        }
    }
    after = *w;
    if (hop_choice_next(&after.choice, &next)) {
        check_assignment(w, &after, &next);
        moved |= follow(w, &after);
        moved |= next.again && search.patient && try_too_late(w, &after, &next);
    }
    if (search.patient && moved)
        return moved;
    after = *w;
    hop_choice_stalled(&after.choice);
    for (enum hop_mechanism m = 0; m < HOP_MECHANISM_COUNT; m++) /* a stall may grant one */
        after.granted[m] = (uint16_t)(after.granted[m] + (after.choice.may[m] > w->choice.may[m]));
    moved |= follow(w, &after);
    return moved;
}

static bool explore(const struct world *world)
{
    struct world w = *world;
    uint8_t key[KEY_SIZE];
    check_counts(&w);
    make_key(&w, key);
    if (search.seen.used * 2 > search.seen.slots)
        grow(&search.seen);
    uint32_t slot = slot_of(&search.seen, key);
    if (search.seen.colours[slot] == 1)
        fail_msg("events that go round in a circle");
    if (search.seen.colours[slot] == 2)
        return true;
    memcpy(search.seen.keys[slot], key, KEY_SIZE);
    search.seen.colours[slot] = 1;
    search.seen.used++;
    if (!try_events(&w)) {
        assert_true(hop_choice_stage_ended(&w.choice));
        assert_int_equal(w.stage, STAGES - 1);
        assert_true(w.dead == HOP_PEER + 1 || is_quiet(&w.choice));
    }
    for (uint8_t m = 0; !w.dead && m < HOP_MECHANISM_COUNT; m++) { /* which is no progress */
        struct world after = w;
        after.dead = (uint8_t)(m + 1);
        follow(&w, &after);
    }
    search.seen.colours[slot_of(&search.seen, key)] = 2;
    return true;
}

static void explore_all(uint32_t first, uint32_t second, bool any_order, bool patient)
{
    struct world w = {0};
    search.ranks = first > second ? first : second;
    search.any_order = any_order;
    search.patient = patient;
    search.copies[0] = (uint8_t)first;
    search.copies[1] = (uint8_t)second;
    search.steps = 0;
    make_table(&search.seen, 1 << 16);
    hop_choice_begin(&w.choice);
    open_stage(&w);
    explore(&w);
    assert_true(search.steps >= search.seen.used - 1);
    free(search.seen.keys);
    free(search.seen.colours);
}

static void whatever_the_order_of_events_all_copies_complete(void **state)
{
    (void)state;
    for (int patient = 0; patient < 2; patient++) {
        for (uint32_t n = 0; n <= 3; n++) {
            for (uint32_t m = 0; m <= 3; m++)
                explore_all(n, m, true, patient);
        }
        explore_all(4, 0, true, patient);
#ifndef __SANITIZE_ADDRESS__ /* minutes there; memory is touched in the same ways by the small ones */
        explore_all(5, 0, true, patient);
        explore_all(4, 4, false, patient);
        explore_all(5, 2, false, patient);
#endif
    }
}

TEST_GROUP(choice)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_two_arrivals_get_one_mechanism_each),
        cmocka_unit_test(completions_of_one_mechanism_double_its_share),
        cmocka_unit_test(a_mechanism_that_is_not_ahead_gets_one_copy),
        cmocka_unit_test(assignments_wait_for_arrivals_in_their_order),
        cmocka_unit_test(the_last_copy_is_sent_again_if_its_mechanism_never_completed_one),
        cmocka_unit_test(a_peer_copy_cannot_be_dropped_and_ends_late),
        cmocka_unit_test(what_completes_while_it_is_sent_again_counts_once),
        cmocka_unit_test(a_peer_copy_that_never_began_is_forgotten),
        cmocka_unit_test(a_mechanism_without_completions_is_avoided_in_the_next_stage),
        cmocka_unit_test(the_example_of_the_manual_holds),
        cmocka_unit_test(the_next_stage_begins_with_what_is_known),
        cmocka_unit_test(a_lone_copy_is_sent_again_only_after_a_stall),
        cmocka_unit_test(what_a_stalled_mechanism_holds_goes_the_other_way),
        cmocka_unit_test(equal_mechanisms_share_the_copies),
        cmocka_unit_test(a_faster_mechanism_takes_most_copies),
        cmocka_unit_test(a_mechanism_that_never_completes_costs_one_copy),
        cmocka_unit_test(a_mechanism_that_stalls_on_the_way_does_not_hold_up_the_rest),
        cmocka_unit_test(whatever_the_order_of_events_all_copies_complete),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
