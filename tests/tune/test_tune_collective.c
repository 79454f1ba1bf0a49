/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which algorithm: winners against trying everything here through the public API, a crossover against its closed form
 * (ring: 2 (n - 1) rounds of 1/n of the bytes, doubling: log2 n rounds of all of them), measured ones with a measure of
 * our own and with real bytes (form only). Tables of algorithms: what is read, what is refused and where, round
 * trips, and which row counts. Tables of copies that are measured read back.
 */
#include "test.h"

#include <math.h>

#include "hopcast/run.h"
#include "hopcast/simulate.h"
#include "hopcast/tune.h"
#include "run/copies_table.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

static const struct hop_collective_options allreduce = {
    .kind = HOP_COLLECTIVE_ALLREDUCE, .reduce = HOP_REDUCE_SUM, .type = HOP_TYPE_F32};

/* ---- machines ---- */

static uint32_t add(struct hop_topology *t, enum hop_node_kind kind, const char *name)
{
    struct hop_node node = hop_node_default(kind, name);
    uint32_t index;
    CHECK(hop_topology_add_node(t, &node, &index, D));
    return index;
}

static const char *const star_gpus[] = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7"};

/* GPUs on a switch that lets all of them through at full speed; a copy takes latency_s and bytes / capacity_Bps. */
static struct hop_topology *make_star(uint32_t gpus, double capacity_Bps, double latency_s)
{
    struct hop_topology *t = hop_topology_create("star");
    uint32_t centre = add(t, HOP_NODE_SWITCH, "switch0");
    for (uint32_t g = 0; g < gpus; g++) {
        struct hop_link link = hop_link_default(HOP_LINK_NVLINK, add(t, HOP_NODE_GPU, star_gpus[g]), centre);
        link.capacity_Bps[0] = link.capacity_Bps[1] = capacity_Bps;
        link.latency_s = latency_s / 2;
        CHECK(hop_topology_add_link(t, &link, NULL, D));
    }
    CHECK(hop_topology_finish(t, D));
    CHECK(hop_topology_set(t, "reduce_rate=1000000000GB/s", D));
    return t;
}

static struct hop_network *make_network(struct hop_topology *topology)
{
    struct hop_network *network;
    CHECK(hop_network_create(topology, NULL, &network, D));
    return network;
}

static uint32_t find(const struct hop_tuned_collective *tuned, const char *algorithm, uint64_t segment)
{
    for (uint32_t c = 0; c < tuned->candidate_count; c++) {
        if (strcmp(tuned->candidates[c].algorithm, algorithm) == 0 && tuned->candidates[c].segment_bytes == segment)
            return c;
    }
    return HOP_NONE;
}

/* ---- predicted ---- */

static void the_crossover_of_ring_and_doubling_is_where_their_closed_forms_meet(void **state)
{
    (void)state;
    static const char *const names[] = {"ring", "doubling"};
    static const uint64_t sizes[] = {4, 64, 1024, 16384, 262144, 4 << 20, 64 << 20};
    for (uint32_t n = 4; n <= 8; n *= 2) {
        double capacity_Bps = 10e9, latency_s = 5e-6, rounds = n == 4 ? 2 : 3;
        struct hop_topology *t = make_star(n, capacity_Bps, latency_s);
        struct hop_network *network = make_network(t);
        struct hop_tune_collective_options options = {
            .algorithms = names, .algorithm_count = 2, .sizes = sizes, .size_count = 7};
        struct hop_ranks ranks = {star_gpus, n};
        struct hop_tuned_collective *tuned;
        CHECK(hop_tune_collective(network, &ranks, &allreduce, &options, &tuned, D));
        for (uint32_t s = 0; s < tuned->size_count; s++) {
            double bytes = (double)tuned->sizes[s].vector_bytes;
            double doubling_s = rounds * (latency_s + bytes / capacity_Bps);
            double ring_s = 2.0 * (n - 1) * (latency_s + bytes / n / capacity_Bps);
            assert_true(fabs(tuned->sizes[s].times[1].time_s / doubling_s - 1) < 1e-3);
            if (bytes >= 4 * n) /* fewer elements than ranks go fewer ways */
                assert_true(fabs(tuned->sizes[s].times[0].time_s / ring_s - 1) < 1e-3);
        }
        /* 2 (n - 1) (L + M / n B) = r (L + M / B) */
        double meet = (2.0 * (n - 1) - rounds) * latency_s * capacity_Bps / (rounds - 2.0 * (n - 1) / n);
        assert_int_equal(tuned->span_count, 2);
        assert_string_equal(tuned->candidates[tuned->spans[0].candidate].algorithm, "doubling");
        assert_string_equal(tuned->candidates[tuned->spans[1].candidate].algorithm, "ring");
        assert_true(fabs((double)tuned->spans[1].from_vector_bytes / meet - 1) <
                    0.021); /* 1 % of searching, 1 % of rounding */
        hop_tuned_collective_destroy(tuned);
        hop_network_destroy(network);
        hop_topology_destroy(t);
    }
}

/* INFINITY: it cannot be made. */
static double take(struct hop_network *network, const struct hop_ranks *ranks, struct hop_collective_options options)
{
    struct hop_schedule *schedule;
    struct hop_timeline *timeline;
    if (hop_make_collective(ranks, &options, &schedule, NULL) != HOP_OK)
        return INFINITY;
    CHECK(hop_simulate(network, schedule, NULL, &timeline, D));
    double time_s = hop_timeline_makespan_s(timeline);
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(schedule);
    return time_s;
}

static void spans_agree_with_sizes(struct hop_network *network, const struct hop_ranks *ranks,
                                   const struct hop_tuned_collective *tuned, struct hop_collective_options options)
{
    uint32_t span = 0;
    assert_int_equal(tuned->spans[0].from_vector_bytes, 0);
    for (uint32_t s = 0; s < tuned->size_count; s++) {
        if (span + 1 < tuned->span_count && tuned->spans[span + 1].size == s)
            span++;
        assert_int_equal(tuned->spans[span].candidate, tuned->sizes[s].winner);
        assert_true(tuned->spans[span].from_vector_bytes <= tuned->sizes[s].vector_bytes);
    }
    assert_int_equal(span, tuned->span_count - 1);
    for (uint32_t i = 1; i < tuned->span_count; i++) {
        uint64_t from = tuned->spans[i].from_vector_bytes, before = (uint64_t)((double)from / 1.021) / 4 * 4;
        double took_s[2][2];
        assert_true(from > tuned->sizes[tuned->spans[i].size - 1].vector_bytes);
        assert_int_not_equal(tuned->spans[i].candidate, tuned->spans[i - 1].candidate);
        for (uint32_t k = 0; k < 2; k++) { /* the earlier one, the later one; a little before, and there */
            const struct hop_tune_candidate *c = &tuned->candidates[tuned->spans[i - 1 + k].candidate];
            options.algorithm = c->algorithm;
            options.segment_bytes = c->segment_bytes;
            options.vector_bytes = before;
            took_s[k][0] = take(network, ranks, options);
            options.vector_bytes = from;
            took_s[k][1] = take(network, ranks, options);
        }
        assert_true(took_s[0][0] <= took_s[1][0] * (1 + 1e-9));
        assert_true(took_s[1][1] < took_s[0][1]);
    }
}

static void winners_are_what_trying_everything_finds(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {28, 4 * KIB, 256 * KIB, 3 * MIB + 4}, segments[] = {64 * KIB, 1 * MIB};
    struct hop_topology *t = load_topology("t2");
    CHECK(hop_topology_set(t, "link_latency=1us", D));
    struct hop_network *network = make_network(t);
    struct hop_ranks ranks = {star_gpus, 7};
    uint32_t changes = 0;
    for (unsigned kind = 0; kind < HOP_COLLECTIVE_BARRIER; kind++) {
        struct hop_tune_collective_options list = {
            .sizes = sizes, .size_count = 4, .segments = segments, .segment_count = 2};
        struct hop_collective_options options = allreduce;
        struct hop_tuned_collective *tuned;
        options.kind = (enum hop_collective_kind)kind;
        CHECK(hop_tune_collective(network, &ranks, &options, &list, &tuned, D));
        assert_int_equal(tuned->size_count, 4);
        assert_false(tuned->measured);
        for (uint32_t s = 0; s < 4; s++) {
            double best_s = INFINITY;
            const char *name, *summary;
            bool levels;
            for (size_t a = 0; hop_collective_algorithm(options.kind, a, &name, &summary, &levels); a++) {
                for (uint32_t g = 0; g < 3 && strcmp(name, "bucket") != 0; g++) { /* which is for tori */
                    options.algorithm = name;
                    options.vector_bytes = hop_collective_round(options.kind, options.type, ranks.count, sizes[s]);
                    options.segment_bytes = g ? segments[g - 1] : 0;
                    if (options.segment_bytes >= options.vector_bytes)
                        continue;
                    double time_s = take(network, &ranks, options);
                    uint32_t c = find(tuned, name, options.segment_bytes);
                    if (isfinite(time_s))
                        assert_true(tuned->sizes[s].times[c].time_s == time_s);
                    best_s = fmin(best_s, time_s);
                }
            }
            const struct hop_tune_size *size = &tuned->sizes[s];
            assert_true(isfinite(best_s));
            if (size->second != HOP_NONE) { /* what the network's models say lies in the range of all */
                double gain = size->times[size->second].time_s / size->times[size->winner].time_s;
                assert_int_equal(size->gain.models, 3);
                assert_true(size->gain.low <= gain * (1 + 1e-9) && gain <= size->gain.high * (1 + 1e-9));
            }
            assert_true(size->times[size->winner].time_s <= best_s * (1 + 1e-9));
            assert_true(size->second == HOP_NONE || strcmp(tuned->candidates[size->second].algorithm,
                                                           tuned->candidates[size->winner].algorithm) != 0);
            assert_true(size->link == HOP_NONE || (size->link_busy > 0 && size->link_busy <= 1 + 1e-9));
        }
        spans_agree_with_sizes(network, &ranks, tuned, options);
        changes += tuned->span_count - 1;
        hop_tuned_collective_destroy(tuned);
    }
    assert_true(changes >= 3); /* else nothing was shown about crossovers */
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

static void a_barrier_has_one_size(void **state)
{
    (void)state;
    struct hop_topology *t = make_star(4, 1e9, 1e-6);
    struct hop_network *network = make_network(t);
    struct hop_collective_options options = {.kind = HOP_COLLECTIVE_BARRIER};
    struct hop_ranks ranks = {star_gpus, 4};
    struct hop_tuned_collective *tuned;
    CHECK(hop_tune_collective(network, &ranks, &options, NULL, &tuned, D));
    assert_int_equal(tuned->size_count, 1);
    assert_int_equal(tuned->span_count, 1);
    assert_string_equal(tuned->candidates[tuned->spans[0].candidate].algorithm, "dissemination");
    /* two rounds of one byte */
    assert_true(fabs(tuned->sizes[0].times[tuned->sizes[0].winner].time_s - 2 * (1e-6 + 1e-9)) < 1e-9);
    hop_tuned_collective_destroy(tuned);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

/* ---- measured, by a measure of our own ---- */

/* So many operations, so many microseconds; low and high beside them. */
static enum hop_status count_operations(const struct hop_schedule *const *schedules, uint32_t count,
                                        struct hop_tune_time *times, void *context, struct hop_diag *diag)
{
    (void)diag;
    ++*(uint32_t *)context;
    for (uint32_t i = 0; i < count; i++) {
        double time_s = 1e-6 * hop_schedule_count(schedules[i]);
        times[i] = (struct hop_tune_time){time_s, 0.9 * time_s, 1.1 * time_s};
    }
    return HOP_OK;
}

static struct hop_tuned_collective *tune_by_count(const struct hop_ranks *ranks, enum hop_collective_kind kind)
{
    static const uint64_t sizes[] = {1, 7, 9, 1002};
    struct hop_collective_options options = allreduce;
    uint32_t calls = 0;
    struct hop_tune_collective_options list = {
        .sizes = sizes, .size_count = 4, .measure = count_operations, .measure_context = &calls};
    struct hop_tuned_collective *tuned;
    options.kind = kind;
    CHECK(hop_tune_collective(NULL, ranks, &options, &list, &tuned, D));
    assert_int_equal(calls, tuned->size_count); /* all of a size at once */
    return tuned;
}

static void measured_winners_are_who_was_fastest(void **state)
{
    (void)state;
    struct hop_ranks ranks = {star_gpus, 5};
    struct hop_tuned_collective *tuned = tune_by_count(&ranks, HOP_COLLECTIVE_ALLREDUCE);
    assert_true(tuned->measured);
    assert_int_equal(tuned->size_count, 3); /* rounded down to elements, which leaves nothing of 1 */
    assert_int_equal(tuned->sizes[0].vector_bytes, 4);
    assert_int_equal(tuned->sizes[1].vector_bytes, 8);
    assert_int_equal(tuned->sizes[2].vector_bytes, 1000);
    assert_int_equal(tuned->sizes[2].asked_bytes, 1002);
    for (uint32_t s = 0; s < 3; s++) {
        const struct hop_tune_size *size = &tuned->sizes[s];
        for (uint32_t c = 0; c < tuned->candidate_count; c++)
            assert_false(size->times[c].time_s < size->times[size->winner].time_s);
        assert_int_equal(size->link, HOP_NONE);
    }
    for (uint32_t i = 1; i < tuned->span_count; i++) /* no crossover is sought */
        assert_int_equal(tuned->spans[i].from_vector_bytes, tuned->sizes[tuned->spans[i].size].vector_bytes);
    hop_tuned_collective_destroy(tuned);
}

static void hierarchies_are_tried_where_there_are_levels(void **state)
{
    (void)state;
    static const char *const shared[] = {"gpu0", "gpu0", "gpu1", "gpu1"};
    static const char *const apart[] = {"a.gpu0", "a.gpu1", "b.gpu0", "b.gpu1"};
    static const char *const all[] = {"a.gpu0", "a.gpu0", "a.gpu1", "b.gpu0"};
    struct hop_ranks four = {star_gpus, 4}, one = {shared, 2}, two = {shared, 4}, nodes = {apart, 4}, three = {all, 4};
    struct hop_tuned_collective *t = tune_by_count(&four, HOP_COLLECTIVE_ALLREDUCE);
    assert_int_equal(find(t, "gsb-btb", 0), HOP_NONE);
    hop_tuned_collective_destroy(t);
    t = tune_by_count(&one, HOP_COLLECTIVE_ALLREDUCE);
    assert_int_equal(find(t, "gsb-btb", 0), HOP_NONE);
    hop_tuned_collective_destroy(t);
    t = tune_by_count(&two, HOP_COLLECTIVE_ALLREDUCE);
    assert_int_not_equal(find(t, "gsb-btb", 0), HOP_NONE);
    assert_int_not_equal(find(t, "btb-ring", 0), HOP_NONE);
    assert_int_equal(find(t, "gsb-btb-ring", 0), HOP_NONE);
    hop_tuned_collective_destroy(t);
    t = tune_by_count(&nodes, HOP_COLLECTIVE_REDUCE); /* no device is shared: its level is one name for all */
    assert_int_not_equal(find(t, "gsb-btb-binomial", 0), HOP_NONE);
    assert_int_not_equal(find(t, "gsb-gsb-gsb", 0), HOP_NONE);
    assert_int_equal(find(t, "btb-btb-binomial", 0), HOP_NONE);
    hop_tuned_collective_destroy(t);
    t = tune_by_count(&three, HOP_COLLECTIVE_ALLREDUCE);
    assert_int_not_equal(find(t, "btb-gsb-ring", 0), HOP_NONE);
    hop_tuned_collective_destroy(t);
    t = tune_by_count(&three, HOP_COLLECTIVE_BARRIER);
    assert_int_not_equal(find(t, "gsb-btb-bruck", 0), HOP_NONE);
    hop_tuned_collective_destroy(t);
    t = tune_by_count(&three, HOP_COLLECTIVE_ALLTOALL);
    assert_int_equal(find(t, "gsb-gsb-direct", 0), HOP_NONE);
    hop_tuned_collective_destroy(t);
}

static void what_cannot_be_made_is_said(void **state)
{
    (void)state;
    static const char *const names[] = {"ring", "bruck"}, *const none[] = {"bruck", "chain"};
    static const uint64_t descending[] = {8, 4}, some[] = {4};
    struct hop_ranks ranks = {star_gpus, 4};
    uint32_t calls = 0;
    struct hop_tune_collective_options list = {.algorithms = names,
                                               .algorithm_count = 2,
                                               .sizes = some,
                                               .size_count = 1,
                                               .measure = count_operations,
                                               .measure_context = &calls};
    struct hop_tuned_collective *tuned;
    struct hop_diag diag;
    CHECK(hop_tune_collective(NULL, &ranks, &allreduce, &list, &tuned, D));
    uint32_t bruck = find(tuned, "bruck", 0);
    assert_non_null(strstr(tuned->candidates[bruck].refused, "no allreduce can be made by 'bruck'"));
    assert_null(tuned->candidates[find(tuned, "ring", 0)].refused);
    assert_true(isnan(tuned->sizes[0].times[bruck].time_s));
    assert_int_equal(tuned->sizes[0].second, HOP_NONE);
    hop_tuned_collective_destroy(tuned);
    list.algorithms = none;
    assert_int_equal(hop_tune_collective(NULL, &ranks, &allreduce, &list, &tuned, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.what, "no allreduce can be made by 'bruck'"));
    assert_non_null(strstr(diag.expected, "ring, doubling"));
    list.algorithms = names;
    list.sizes = descending;
    list.size_count = 2;
    assert_int_equal(hop_tune_collective(NULL, &ranks, &allreduce, &list, &tuned, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.what, "4 bytes among the sizes"));
    list.size_count = 0;
    assert_int_equal(hop_tune_collective(NULL, &ranks, &allreduce, &list, &tuned, &diag), HOP_ERR_LIMIT);
    list.size_count = 1;
    list.measure = NULL;
    assert_int_equal(hop_tune_collective(NULL, &ranks, &allreduce, &list, &tuned, &diag), HOP_ERR_INVALID);
    ranks.count = 0;
    list.measure = count_operations;
    assert_int_equal(hop_tune_collective(NULL, &ranks, &allreduce, &list, &tuned, &diag), HOP_ERR_LIMIT);
}

/* ---- tables ---- */

static const char example[] = "# t2, 8 GPUs; predicted\n"
                              "#\n"
                              "# sizes: whole vectors, as nccl-tests prints them\n"
                              "# collective     ranks       from  algorithm            segment\n"
                              "allreduce            4         0B  gsb-btb                    -\n"
                              "allreduce            8         0B  doubling                   -   # 4.2 us\n"
                              "allreduce            8     100KiB  ring                       -\n"
                              "allreduce           16       1MiB  two-shot                   -\n"
                              "broadcast            8         0B  chain                  64KiB   # not # sure\n";

static struct hop_algorithm_table *parse(const char *text)
{
    struct hop_algorithm_table *table;
    CHECK(hop_algorithm_table_parse("t", text, strlen(text), &table, D));
    return table;
}

static void a_table_is_read_and_written(void **state)
{
    (void)state;
    struct hop_algorithm_table *table = parse(example);
    assert_string_equal(hop_algorithm_table_get_note(table, 0), "t2, 8 GPUs; predicted");
    assert_string_equal(hop_algorithm_table_get_note(table, 1), "");
    assert_null(hop_algorithm_table_get_note(table, 2));
    const struct hop_algorithm_row *row = hop_algorithm_table_row(table, 1);
    assert_int_equal(row->collective, HOP_COLLECTIVE_ALLREDUCE);
    assert_int_equal(row->ranks, 8);
    assert_int_equal(row->from_vector_bytes, 0);
    assert_string_equal(row->algorithm, "doubling");
    assert_int_equal(row->segment_bytes, 0);
    assert_string_equal(row->remark, "4.2 us");
    assert_int_equal(row->line, 6);
    row = hop_algorithm_table_row(table, 4);
    assert_int_equal(row->segment_bytes, 65536);
    assert_string_equal(row->remark, "not # sure");
    assert_null(hop_algorithm_table_row(table, 5));
    char *text = hop_algorithm_table_to_text(table);
    assert_string_equal(text, example);
    free(text);
    hop_algorithm_table_destroy(table);
    /* In any order, with tabs, lines of Windows, no newline at the end, another name for broadcast. */
    table = parse("# sizes: whole vectors, as nccl-tests prints them\r\n\r\n\tbcast\t2 1KiB chain 8\r\n# below a row: no note\nallreduce 2 0 ring -#x");
    assert_string_equal(hop_algorithm_table_row(table, 0)->algorithm, "ring");
    assert_string_equal(hop_algorithm_table_row(table, 0)->remark, "x");
    assert_int_equal(hop_algorithm_table_row(table, 1)->segment_bytes, 8);
    assert_null(hop_algorithm_table_get_note(table, 0));
    hop_algorithm_table_destroy(table);
}

static void what_is_wrong_is_said_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place, *what, *expected;
    } cases[] = {
        {"", "t:1:1", "no rows", "allreduce 8 64KiB ring -"},
        {"# nothing\n\n", "t:2:1", "no rows", ""},
        {"\nallreduc 8 0 ring -", "t:2:1", "'allreduc' is no collective", "allreduce, or another"},
        {"any 8 0 ring -", "t:1:1", "'any' is no collective", ""},
        {"allreduce", "t:1:10", "the number of ranks is missing", "1 to 1048576"},
        {"allreduce 0 0 ring -", "t:1:11", "'0' is no number of ranks", "1 to"},
        {"allreduce 1048577 0 ring -", "t:1:11", "is no number of ranks", "1 to"},
        {"allreduce 99999999999999999999 0 ring -", "t:1:11", "is no number of ranks", ""},
        {"allreduce 8 # 0 ring -", "t:1:13", "the size that the row begins at is missing", "16KiB"},
        {"allreduce 8 3KiX ring -", "t:1:13", "3KiX", ""},
        {"allreduce 8 0", "t:1:14", "the algorithm is missing", "gsb-btb"},
        {"allreduce 8 0 rong -", "t:1:15", "no allreduce can be made by 'rong'", "ring"},
        {"allreduce 8 0 default -", "t:1:15", "'default' is no algorithm", "ring"},
        {"allreduce 8 0 auto=x -", "t:1:15", "auto=x", ""},
        {"allreduce 8 0 ring-ring -", "t:1:15", "ring cannot be inside", "binomial, gsb, btb"},
        {"alltoall 8 0 gsb-gsb -", "t:1:14", "alltoall is not made in levels", "pairwise"},
        {"allreduce 8 0 ring", "t:1:19", "the size of segments is missing", "bytes"},
        {"allreduce 8 0 ring 4KiB", "t:1:20", "does not go segment by segment", "chain"},
        {"broadcast 8 0 chain 0", "t:1:21", "'0' is no size of segments", "- for none"},
        {"broadcast 8 0 chain x", "t:1:21", "x", ""},
        {"allreduce 8 0 ring - more", "t:1:22", "unexpected 'more'", "remarks after a #"},
        {"allreduce 8 0 ring -\nallreduce 4 0 ring -\n  allreduce 8 0B gsb -", "t:3:3",
         "a second row for allreduce, 8 ranks, from 0B", "the first is in line 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hop_algorithm_table *table = NULL;
        struct hop_diag diag;
        if (hop_algorithm_table_parse("t", cases[i].text, strlen(cases[i].text), &table, &diag) == HOP_OK)
            fail_msg("read: %s", cases[i].text);
        if (strcmp(diag.place, cases[i].place) != 0 || !strstr(diag.what, cases[i].what) ||
            !strstr(diag.expected, cases[i].expected))
            fail_msg("%s: %s: %s (%s)", cases[i].text, diag.place, diag.what, diag.expected);
    }
    struct hop_algorithm_table *table = NULL;
    struct hop_diag diag;
    static const char old[] = "# collective     ranks       from  algorithm            segment\nallgather 8 0 ring -\n";
    assert_int_equal(hop_algorithm_table_parse("t", old, strlen(old), &table, &diag), HOP_ERR_INVALID);
    assert_string_equal(diag.place, "t:1:1");
    assert_non_null(strstr(diag.what, "were of a rank's part"));
    assert_int_not_equal(hop_algorithm_table_parse("t", "allreduce 8 0 ring\0x -", 23, &table, &diag), HOP_OK);
    assert_int_not_equal(hop_algorithm_table_load("/nowhere/table", &table, &diag), HOP_OK);
    assert_non_null(strstr(diag.place, "/nowhere/table"));
}

static void rows_that_no_reader_takes_are_not_added(void **state)
{
    (void)state;
    struct hop_algorithm_table *table = hop_algorithm_table_create();
    struct hop_algorithm_row row = {.collective = HOP_COLLECTIVE_ALLREDUCE, .ranks = 2, .algorithm = "ring"}, bad;
    struct hop_diag diag;
    CHECK(hop_algorithm_table_add(table, &row, D));
    assert_int_equal(hop_algorithm_table_add(table, &row, &diag), HOP_ERR_INVALID); /* a second one */
    bad = row, bad.ranks = 0;
    assert_int_equal(hop_algorithm_table_add(table, &bad, &diag), HOP_ERR_INVALID);
    bad = row, bad.ranks = 3, bad.algorithm = "default";
    assert_int_equal(hop_algorithm_table_add(table, &bad, &diag), HOP_ERR_INVALID);
    bad.algorithm = NULL;
    assert_int_equal(hop_algorithm_table_add(table, &bad, &diag), HOP_ERR_INVALID);
    bad.algorithm = "chain";
    assert_int_equal(hop_algorithm_table_add(table, &bad, &diag), HOP_ERR_INVALID);
    bad.algorithm = "ring", bad.segment_bytes = 4096;
    assert_int_equal(hop_algorithm_table_add(table, &bad, &diag), HOP_ERR_INVALID);
    bad = row, bad.ranks = 3, bad.collective = HOP_COLLECTIVE_COUNT;
    assert_int_equal(hop_algorithm_table_add(table, &bad, &diag), HOP_ERR_INVALID);
    assert_null(hop_algorithm_table_row(table, 1));
    hop_algorithm_table_destroy(table);
}

static void which_row_counts(void **state)
{
    (void)state;
    static const struct {
        enum hop_collective_kind kind;
        uint32_t ranks;
        uint64_t bytes;
        const char *algorithm;
    } cases[] = {
        {HOP_COLLECTIVE_ALLREDUCE, 8, 0, "doubling"},
        {HOP_COLLECTIVE_ALLREDUCE, 8, 100 * KIB - 1, "doubling"},
        {HOP_COLLECTIVE_ALLREDUCE, 8, 100 * KIB, "ring"},
        {HOP_COLLECTIVE_ALLREDUCE, 8, HOP_BYTES_MAX, "ring"},
        {HOP_COLLECTIVE_ALLREDUCE, 1, MIB, "gsb-btb"},
        {HOP_COLLECTIVE_ALLREDUCE, 6, MIB, "gsb-btb"}, /* as near as 8: the fewer */
        {HOP_COLLECTIVE_ALLREDUCE, 7, MIB, "ring"},
        {HOP_COLLECTIVE_ALLREDUCE, 12, 0, "doubling"},
        {HOP_COLLECTIVE_ALLREDUCE, 13, MIB, "two-shot"},
        {HOP_COLLECTIVE_ALLREDUCE, 1000, 0, "two-shot"}, /* below the smallest: that one */
        {HOP_COLLECTIVE_BROADCAST, 3, 0, "chain"},
    };
    struct hop_algorithm_table *table = parse(example);
    const struct hop_algorithm_row *row;
    struct hop_diag diag;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK(hop_algorithm_table_find(table, cases[i].kind, cases[i].ranks, cases[i].bytes, &row, D));
        assert_string_equal(row->algorithm, cases[i].algorithm);
    }
    assert_int_equal(hop_algorithm_table_find(table, HOP_COLLECTIVE_GATHER, 8, 0, &row, &diag), HOP_ERR_NOT_FOUND);
    assert_non_null(strstr(diag.what, "gather"));
    hop_algorithm_table_destroy(table);
}

static void a_table_of_what_was_tuned_gives_the_winners(void **state)
{
    (void)state;
    struct hop_topology *t = make_star(8, 10e9, 2e-6);
    struct hop_network *network = make_network(t);
    struct hop_ranks ranks = {star_gpus, 8};
    struct hop_algorithm_table *table = hop_algorithm_table_create(), *again;
    struct hop_tuned_collective *tuned;
    CHECK(hop_tune_collective(network, &ranks, &allreduce, NULL, &tuned, D));
    assert_int_equal(tuned->size_count, 14); /* 4 B to 256 MiB */
    CHECK(hop_algorithm_table_add_tuned(table, tuned, D));
    char *text = hop_algorithm_table_to_text(table);
    CHECK(hop_algorithm_table_parse("again", text, strlen(text), &again, D));
    for (uint32_t s = 0; s < tuned->size_count; s++) {
        const struct hop_tune_size *size = &tuned->sizes[s];
        const struct hop_algorithm_row *row;
        CHECK(hop_algorithm_table_find(again, HOP_COLLECTIVE_ALLREDUCE, 8, size->vector_bytes, &row, D));
        assert_string_equal(row->algorithm, tuned->candidates[size->winner].algorithm);
        assert_int_equal(row->segment_bytes, tuned->candidates[size->winner].segment_bytes);
        assert_non_null(row->remark);
    }
    free(text);
    hop_algorithm_table_destroy(again);
    hop_algorithm_table_destroy(table);
    hop_tuned_collective_destroy(tuned);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

/* ---- with real bytes: form, no times ---- */

static const char *const one_device[] = {"host0", "host0", "host0"};

static void ways_are_measured_in_turns(void **state)
{
    (void)state;
    static const char *const names[] = {"ring", "gsb", "one-shot"};
    struct hop_ranks ranks = {one_device, 3};
    struct hop_run_way ways[3] = {0};
    struct hop_schedule *schedules[3];
    struct hop_ways_options options = {.launch = {.ranks = 3, .threads = true}, .rounds = 3, .round_s = 1e-4};
    for (uint32_t i = 0; i < 3; i++) {
        struct hop_collective_options collective = allreduce;
        collective.algorithm = names[i];
        collective.vector_bytes = 1000;
        CHECK(hop_make_collective(&ranks, &collective, &schedules[i], D));
        ways[i].schedule = schedules[i];
        ways[i].program.pipelined = true;
    }
    for (int threads = 0; threads < 2; threads++) {
        options.launch.threads = threads;
        CHECK(hop_measure_ways(ways, 3, &options, D));
        for (uint32_t i = 0; i < 3; i++) {
            assert_true(ways[i].low_s > 0 && ways[i].low_s <= ways[i].median_s && ways[i].median_s <= ways[i].high_s);
            ways[i].median_s = 0;
        }
    }
    struct hop_diag diag;
    ways[1].program.device = "toaster";
    assert_int_not_equal(hop_measure_ways(ways, 3, &options, &diag), HOP_OK);
    assert_non_null(strstr(diag.what, "toaster"));
    for (uint32_t i = 0; i < 3; i++)
        hop_schedule_destroy(schedules[i]);
}

static void a_table_of_copies_is_measured_and_taken(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1000, 1012, 8192}, packets[] = {512, 2048};
    struct hop_copies_tune_options options = {
        .ways = {.launch = {.ranks = 3, .threads = true}, .rounds = 1, .round_s = 1e-4},
        .devices = one_device,
        .sizes = sizes,
        .size_count = 3,
        .packets = packets,
        .packet_count = 2};
    struct hop_table table = {.kind = &hop_copies_kind};
    char *text, path[] = "/tmp/hopcast-test-copies-XXXXXX";
    CHECK(hop_copies_tune(&options, "of a test", &text, NULL, D));
    CHECK(hop_table_parse(&table, "t", text, strlen(text), D));
    assert_int_equal(table.count, 9);
    assert_string_equal(table.notes[0], "of a test");
    for (uint32_t i = 0; i < 6; i++) {
        const struct hop_copies_row *row = hop_copies_row_at(&table, i);
        assert_int_equal(row->ranks, 3);
        assert_int_equal(row->of, 2);
        assert_true(row->staged == 0 || row->packet_bytes == 512 || row->packet_bytes == 2048);
        assert_non_null(strstr(row->remark, "all peer"));
    }
    assert_int_equal(hop_copies_row_at(&table, 0)->collective, HOP_COLLECTIVE_ALLREDUCE);
    assert_int_equal(hop_copies_row_at(&table, 0)->from_bytes, 1000); /* what a copy has: the whole vector */
    assert_int_equal(hop_copies_row_at(&table, 1)->from_bytes, 1012);
    assert_int_equal(hop_copies_row_at(&table, 3)->collective, HOP_COLLECTIVE_ALLGATHER);
    assert_int_equal(hop_copies_row_at(&table, 3)->from_bytes, 996); /* handed out: all three parts */
    for (uint32_t i = 6; i < 9; i++) {                /* the first collective's once more */
        const struct hop_copies_row *any = hop_copies_row_at(&table, i), *first = hop_copies_row_at(&table, i - 3);
        assert_int_equal(any->collective, HOP_COPIES_ANY);
        assert_int_equal(any->from_bytes, first->from_bytes);
        assert_int_equal(any->staged, first->staged);
        assert_int_equal(any->packet_bytes, first->packet_bytes);
        assert_string_equal(any->remark, "as allgather");
    }
    hop_table_finish(&table);

    /* A run takes it. */
    FILE *file = fdopen(mkstemp(path), "w");
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
    struct hop_ranks ranks = {one_device, 3};
    struct hop_collective_options collective = {
        .kind = HOP_COLLECTIVE_ALLGATHER, .algorithm = "gsb", .vector_bytes = 12000, .type = HOP_TYPE_F32};
    struct hop_run_way way = {.program = {.copies = HOP_COPIES_STATIC, .table = path, .collective = "allgather"}};
    struct hop_schedule *schedule;
    CHECK(hop_make_collective(&ranks, &collective, &schedule, D));
    way.schedule = schedule;
    CHECK(hop_measure_ways(&way, 1, &options.ways, D));
    way.program.collective = "reduce"; /* was not measured */
    CHECK(hop_measure_ways(&way, 1, &options.ways, D));
    way.program.collective = NULL;
    CHECK(hop_measure_ways(&way, 1, &options.ways, D));
    hop_schedule_destroy(schedule);
    unlink(path);
    free(text);

    struct hop_diag diag;
    options.ways.launch.ranks = 1;
    assert_int_equal(hop_copies_tune(&options, NULL, &text, NULL, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.what, "1 ranks"));
}

TEST_GROUP(tune_collective)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_crossover_of_ring_and_doubling_is_where_their_closed_forms_meet),
        cmocka_unit_test(winners_are_what_trying_everything_finds),
        cmocka_unit_test(a_barrier_has_one_size),
        cmocka_unit_test(measured_winners_are_who_was_fastest),
        cmocka_unit_test(hierarchies_are_tried_where_there_are_levels),
        cmocka_unit_test(what_cannot_be_made_is_said),
        cmocka_unit_test(a_table_is_read_and_written),
        cmocka_unit_test(what_is_wrong_is_said_with_its_place),
        cmocka_unit_test(rows_that_no_reader_takes_are_not_added),
        cmocka_unit_test(which_row_counts),
        cmocka_unit_test(a_table_of_what_was_tuned_gives_the_winners),
        cmocka_unit_test(ways_are_measured_in_turns),
        cmocka_unit_test(a_table_of_copies_is_measured_and_taken),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
