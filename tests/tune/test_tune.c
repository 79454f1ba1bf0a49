/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Direct or staged: lone pairs against closed forms (bytes over capacity plus latency; the pipeline of
 * hop_stages_choose, one step into host memory and one out of it), classes against each of their pairs, whole schedules
 * against every choice of their copies, played here as texts.
 */
#include "test.h"

#include <math.h>

#include "hopcast/simulate.h"
#include "hopcast/tune.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GB 1e9

static void near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-9 * fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

/* ---- machines ---- */

static uint32_t add(struct hop_topology *t, enum hop_node_kind kind, const char *name)
{
    struct hop_node node = hop_node_default(kind, name);
    uint32_t index;
    CHECK(hop_topology_add_node(t, &node, &index, D));
    return index;
}

static void join(struct hop_topology *t, enum hop_link_kind kind, uint32_t from, uint32_t to, double capacity_Bps,
                 double latency_s)
{
    struct hop_link link = hop_link_default(kind, from, to);
    link.capacity_Bps[0] = link.capacity_Bps[1] = capacity_Bps;
    link.latency_s = latency_s;
    CHECK(hop_topology_add_link(t, &link, NULL, D));
}

/* What the closed forms need. */
struct shape {
    double pcie_Bps, socket_Bps, memory_Bps, latency_s;
};

/*
 *     host0 -- socket0 ---- root1 -- switch1 -- gpu2, gpu3     the two roots are joined by a link of their own,
 *                 \         /                                  which direct copies take; memory is reached past it
 *                  root0 --'
 *                    \-- switch0 -- gpu0, gpu1
 */
static struct hop_topology *make_machine(const struct shape *shape)
{
    struct hop_topology *t = hop_topology_create("slow-socket");
    uint32_t socket = add(t, HOP_NODE_SOCKET, "socket0"), host = add(t, HOP_NODE_HOST, "host0"), roots[2];
    join(t, HOP_LINK_MEMORY, host, socket, shape->memory_Bps, shape->latency_s);
    for (uint32_t r = 0; r < 2; r++) {
        char name[16];
        (void)snprintf(name, sizeof name, "root%u", r);
        roots[r] = add(t, HOP_NODE_ROOT, name);
        join(t, HOP_LINK_SOCKET, roots[r], socket, 100 * GB, 0);
        (void)snprintf(name, sizeof name, "switch%u", r);
        uint32_t at = add(t, HOP_NODE_SWITCH, name);
        join(t, HOP_LINK_PCIE, at, roots[r], shape->pcie_Bps, 0);
        for (uint32_t g = 2 * r; g < 2 * r + 2; g++) {
            (void)snprintf(name, sizeof name, "gpu%u", g);
            join(t, HOP_LINK_PCIE, add(t, HOP_NODE_GPU, name), at, shape->pcie_Bps, shape->latency_s);
        }
    }
    join(t, HOP_LINK_SOCKET, roots[0], roots[1], shape->socket_Bps, 0);
    CHECK(hop_topology_finish(t, D));
    CHECK(hop_topology_set(t, "tau=0", D));
    return t;
}

static struct hop_network *network_of(const struct hop_topology *t, const char *models)
{
    struct hop_network *network;
    CHECK(hop_network_create(t, models, &network, D));
    return network;
}

static struct hop_tuned_paths *paths_of(struct hop_network *network, const struct hop_tune_options *options)
{
    struct hop_tuned_paths *paths;
    CHECK(hop_tune_paths(network, options, &paths, D));
    return paths;
}

static const struct hop_tune_class *class_of(const struct hop_network *network, const struct hop_tuned_paths *paths,
                                             const char *from, const char *to)
{
    uint32_t a = find_node(hop_network_topology(network), from), b = find_node(hop_network_topology(network), to);
    for (uint32_t c = 0; c < paths->class_count; c++) {
        for (uint32_t p = 0; p < paths->classes[c].pair_count; p++) {
            if (paths->classes[c].pairs[p][0] == a && paths->classes[c].pairs[p][1] == b)
                return &paths->classes[c];
        }
    }
    fail_msg("%s -> %s is in no class", from, to);
    return NULL;
}

/* ---- lone pairs ---- */

/* One read and one write that overlap, in the best of these packets. */
static struct hop_stages_way pipelined(uint64_t bytes, const uint64_t *packets, uint32_t count, double in_Bps,
                                       double out_Bps, double each_s)
{
    const struct hop_stage steps[] = {{.name = "read", .latency_s = each_s, .rate_Bps = in_Bps},
                                      {.name = "write", .latency_s = each_s, .rate_Bps = out_Bps}};
    const struct hop_stages_options options = {.packets = packets, .packet_count = count};
    struct hop_stages_choice choice;
    CHECK(hop_stages_choose(&(struct hop_stages){steps, 2}, bytes, &options, &choice, D));
    return choice.best;
}

static void a_lone_copy_takes_latency_and_bytes_over_capacity(void **state)
{
    (void)state;
    const struct shape shape = {25 * GB, 5 * GB, 50 * GB, 3e-6};
    struct hop_topology *t = make_machine(&shape);
    struct hop_network *network = network_of(t, "fair");
    struct hop_tuned_paths *paths = paths_of(network, NULL);
    const struct hop_tune_class *same = class_of(network, paths, "gpu0", "gpu1"),
                                *other = class_of(network, paths, "gpu1", "gpu2");
    assert_int_equal(paths->size_count, 7);
    for (uint32_t s = 0; s < 7; s++) {
        uint64_t bytes = (64 * KIB) << 2 * s;
        assert_true(paths->sizes[s] == bytes && same->points[s].bytes == bytes);
        near(same->points[s].direct_s, 6e-6 + (double)bytes / (25 * GB));
        near(other->points[s].direct_s, 6e-6 + (double)bytes / (5 * GB));
    }
    hop_tune_paths_destroy(paths);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

static void a_lone_staged_copy_is_the_pipeline_of_the_paper_at_its_best_packet(void **state)
{
    (void)state;
    static const uint64_t packets[] = {128 * KIB, 256 * KIB, 512 * KIB, MIB, 2 * MIB, 4 * MIB, 8 * MIB};
    static const struct shape shapes[] = {{25 * GB, 5 * GB, 50 * GB, 0},
                                          {25 * GB, 5 * GB, 50 * GB, 3e-6},
                                          {25 * GB, 5 * GB, 9 * GB, 11e-6},
                                          {12 * GB, 30 * GB, 50 * GB, 40e-6}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct hop_topology *t = make_machine(&shapes[i]);
        struct hop_network *network = network_of(t, "fair");
        struct hop_tuned_paths *paths = paths_of(network, NULL);
        double step_s = 2 * shapes[i].latency_s, rate = fmin(shapes[i].pcie_Bps, shapes[i].memory_Bps);
        for (uint32_t c = 0; c < paths->class_count; c++) {
            for (uint32_t s = 0; s < paths->size_count; s++) {
                const struct hop_tune_point *point = &paths->classes[c].points[s];
                struct hop_stages_way best = pipelined(point->bytes, packets, 7, rate, rate, step_s);
                near(point->staged_s, best.time_s);
                assert_int_equal(point->packet_bytes, best.packet_bytes);
            }
        }
        hop_tune_paths_destroy(paths);
        hop_network_destroy(network);
        hop_topology_destroy(t);
    }
}

static void the_slower_of_two_steps_paces_the_pipeline(void **state)
{
    (void)state;
    const uint64_t sizes[] = {64 * MIB}, packets[] = {4 * MIB};
    const struct hop_tune_options options = {.sizes = sizes, .size_count = 1, .packets = packets, .packet_count = 1};
    const struct shape shape = {25 * GB, 5 * GB, 50 * GB, 5e-6};
    struct hop_topology *t = make_machine(&shape);
    CHECK(hop_topology_set(t, "host0->socket0.capacity=7GB/s", D));
    struct hop_network *network = network_of(t, "fair");
    struct hop_tuned_paths *paths = paths_of(network, &options);
    near(paths->classes[0].points[0].staged_s, pipelined(64 * MIB, packets, 1, 25 * GB, 7 * GB, 10e-6).time_s);
    hop_tune_paths_destroy(paths);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

static void staged_wins_past_a_slow_socket_and_direct_below_one_switch(void **state)
{
    (void)state;
    const struct shape shape = {25 * GB, 5 * GB, 50 * GB, 0};
    struct hop_topology *t = make_machine(&shape);
    struct hop_network *network = network_of(t, "fair");
    struct hop_tuned_paths *paths = paths_of(network, NULL);
    const struct hop_tune_class *same = class_of(network, paths, "gpu3", "gpu2"),
                                *other = class_of(network, paths, "gpu3", "gpu0");
    double factor;
    assert_int_equal(paths->class_count, 2);
    assert_int_equal(same->pair_count, 4);
    assert_int_equal(other->pair_count, 8);
    assert_string_equal(same->way, "1 switch");
    assert_string_equal(other->way, "sockets");
    assert_string_equal(other->host, "host0");
    for (uint32_t s = 0; s < paths->size_count; s++) {
        assert_int_equal(hop_tune_winner(&same->points[s], &factor), HOP_VIA_P2P);
        assert_true(factor > 1 && factor <= 2 + 1e-9);
        assert_int_equal(hop_tune_winner(&other->points[s], &factor), HOP_VIA_STAGED);
        assert_true(factor >= 2.5 - 1e-9 &&
                    factor < 5); /* whole: 5 times the rate, twice the bytes; in packets towards 5 */
    }
    assert_int_equal(same->crossover_bytes, 0);
    assert_int_equal(other->crossover_bytes, 0);
    near(factor, 5.0 * 2048 / 2049); /* the largest size in the smallest packets */
    hop_tune_paths_destroy(paths);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

/* Two latencies in place of one, and 2 D / 25 GB/s in place of D / 5 GB/s. */
static void the_crossover_is_where_the_times_are_equal(void **state)
{
    (void)state;
    const struct shape shape = {25 * GB, 5 * GB, 50 * GB, 20e-6};
    const uint64_t packets[] = {1024 * MIB}; /* never tried: no copy is that long */
    const struct hop_tune_options options = {.packets = packets, .packet_count = 1};
    struct hop_topology *t = make_machine(&shape);
    struct hop_network *network = network_of(t, "fair");
    struct hop_tuned_paths *paths = paths_of(network, &options);
    const struct hop_tune_class *other = class_of(network, paths, "gpu0", "gpu2");
    double equal = 40e-6 / (1 / (5 * GB) - 2 / (25 * GB));
    assert_true((double)other->crossover_bytes >= equal * (1 - 1e-9) && (double)other->crossover_bytes <= equal * 1.01);
    assert_int_equal(hop_tune_winner(&other->points[0], NULL), HOP_VIA_P2P);
    assert_int_equal(hop_tune_winner(&other->points[6], NULL), HOP_VIA_STAGED);
    hop_tune_paths_destroy(paths);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

/* ---- playing texts ---- */

static double play(struct hop_network *network, const char *text)
{
    struct hop_schedule *schedule;
    struct hop_timeline *timeline;
    CHECK(hop_schedule_parse("played", text, strlen(text), &schedule, D));
    CHECK(hop_simulate(network, schedule, NULL, &timeline, D));
    double makespan_s = hop_timeline_makespan_s(timeline);
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(schedule);
    return makespan_s;
}

static double play_pair(struct hop_network *network, const uint32_t *pair, uint64_t bytes, const char *via)
{
    char text[256];
    const struct hop_topology *t = hop_network_topology(network);
    (void)snprintf(text, sizeof text, "a: %s -> %s %llu via %s", hop_topology_node(t, pair[0])->name,
                   hop_topology_node(t, pair[1])->name, (unsigned long long)bytes, via);
    return play(network, text);
}

/* Every pair of a class, played, is its first pair; every ordered pair is in one class. */
static void pairs_of_a_class_are_alike(void **state)
{
    (void)state;
    static const char *const machines[] = {"t2", "cs-storm", "helios", "dgx-1", "dgx-a100", "pcie-8gpu-2root"};
    static const char *const models[] = {NULL, "credit", "server"};
    const uint64_t sizes[] = {5 * MIB};
    const struct hop_tune_options options = {.sizes = sizes, .size_count = 1};
    for (size_t m = 0; m < 3 * sizeof machines / sizeof machines[0]; m++) {
        struct hop_topology *t = load_topology(machines[m / 3]);
        if (m / 3 == 0) /* one board less fast than the others, one way */
            CHECK(hop_topology_set(t, "board1->switch0.capacity=3GB/s", D));
        struct hop_network *network = network_of(t, models[m % 3]);
        struct hop_tuned_paths *paths = paths_of(network, &options);
        uint32_t count = 0;
        for (uint32_t c = 0; c < paths->class_count; c++) {
            const struct hop_tune_class *class = &paths->classes[c];
            char via[48] = "staged";
            if (class->points[0].packet_bytes)
                (void)snprintf(via, sizeof via, "staged %llu", (unsigned long long)class->points[0].packet_bytes);
            for (uint32_t p = 0; p < class->pair_count; p++, count++) {
                near(play_pair(network, class->pairs[p], 5 * MIB, "p2p"), class->points[0].direct_s);
                near(play_pair(network, class->pairs[p], 5 * MIB, via), class->points[0].staged_s);
            }
        }
        assert_int_equal(count, paths->gpu_count * (paths->gpu_count - 1));
        if (m / 3 > 0) /* and there are few of them */
            assert_true(paths->class_count <= 8);
        hop_tune_paths_destroy(paths);
        hop_network_destroy(network);
        hop_topology_destroy(t);
    }
}

static void the_classes_of_t2_are_board_switch_and_root(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("t2");
    struct hop_network *network = network_of(t, NULL);
    struct hop_tuned_paths *paths = paths_of(network, NULL);
    static const char *const ways[] = {"1 switch", "3 switches", "root complex"};
    static const uint32_t counts[] = {8, 16, 32};
    assert_int_equal(paths->class_count, 3);
    for (uint32_t c = 0; c < 3; c++) {
        assert_string_equal(paths->classes[c].way, ways[c]);
        assert_int_equal(paths->classes[c].pair_count, counts[c]);
    }
    /* Across the root complex direct copies lose tau, staged ones do not: (N + 1) P against 1.21 N P. */
    const struct hop_tune_class *root = &paths->classes[2];
    near(root->points[6].direct_s / root->points[6].staged_s, 1.21 * 2048 / 2049);
    assert_true(root->crossover_bytes > 1 / 0.21 * (128 << 10) * 0.9 &&
                root->crossover_bytes < 1 / 0.21 * (128 << 10) * 1.1);
    hop_tune_paths_destroy(paths);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

static void without_host_memory_there_is_only_direct(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("t1");
    struct hop_network *network = network_of(t, NULL);
    struct hop_tuned_paths *paths = paths_of(network, NULL);
    double factor;
    for (uint32_t c = 0; c < paths->class_count; c++) {
        assert_null(paths->classes[c].host);
        assert_true(isnan(paths->classes[c].points[0].staged_s));
        assert_int_equal(hop_tune_winner(&paths->classes[c].points[0], &factor), HOP_VIA_P2P);
        assert_true(isnan(factor));
    }
    struct hop_schedule *schedule;
    struct hop_tuned_mix *mix;
    CHECK(hop_tune_make("pairs", t, MIB, &schedule, D));
    CHECK(hop_tune_mix(network, schedule, NULL, &mix, D));
    assert_true(mix->transfers == 0 && isnan(mix->staged_s) && mix->mix_s == mix->direct_s && mix->staged_count == 0);
    hop_tune_mix_destroy(mix);
    hop_schedule_destroy(schedule);
    hop_tune_paths_destroy(paths);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

/* gpu0 - host0 - gpu1 over C2C, and gpu2 beside gpu0: no way from gpu0 to gpu1 but through memory. */
static struct hop_topology *islands(void)
{
    struct hop_topology *t = hop_topology_create("islands");
    uint32_t gpu0 = add(t, HOP_NODE_GPU, "gpu0"), host = add(t, HOP_NODE_HOST, "host0"),
             gpu1 = add(t, HOP_NODE_GPU, "gpu1"), gpu2 = add(t, HOP_NODE_GPU, "gpu2");
    join(t, HOP_LINK_C2C, gpu0, host, 10 * GB, 0);
    join(t, HOP_LINK_C2C, gpu1, host, 10 * GB, 0);
    join(t, HOP_LINK_C2C, gpu2, gpu0, 10 * GB, 0);
    CHECK(hop_topology_finish(t, D));
    return t;
}

static void where_there_is_no_direct_way_copies_are_staged(void **state)
{
    (void)state;
    const char *text = "a: gpu0 -> gpu1 8MiB; b: gpu0 -> gpu2 8MiB";
    struct hop_topology *t = islands();
    struct hop_network *network = network_of(t, NULL);
    struct hop_tuned_paths *paths = paths_of(network, NULL);
    struct hop_schedule *schedule;
    struct hop_tuned_mix *mix;
    double factor;
    const struct hop_tune_class *only = class_of(network, paths, "gpu0", "gpu1");
    assert_true(isnan(only->points[0].direct_s));
    assert_string_equal(only->way, "no way");
    assert_int_equal(hop_tune_winner(&only->points[0], &factor), HOP_VIA_STAGED);
    assert_true(isnan(factor));
    near(only->points[6].staged_s, 2049.0 * 128 * 1024 / (10 * GB));
    const struct hop_tune_class *none = class_of(network, paths, "gpu1", "gpu2"); /* neither way */
    assert_true(isnan(none->points[0].direct_s) && isnan(none->points[0].staged_s));
    CHECK(hop_schedule_parse("x", text, strlen(text), &schedule, D));
    CHECK(hop_tune_mix(network, schedule, NULL, &mix, D));
    assert_true(isnan(mix->direct_s) && mix->transfers == 0 && mix->staged[0] && !mix->staged[1]);
    near(mix->mix_s, 33.0 * 256 * 1024 / (10 * GB)); /* 8 MiB in no more than 32 packets */
    assert_int_equal(mix->mix_packet_bytes, 256 * KIB);
    hop_tune_mix_destroy(mix);
    hop_schedule_destroy(schedule);
    hop_tune_paths_destroy(paths);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

/* Without peer copies an exchange below one switch sends both copies up and down the one uplink, one across sockets a
 * copy each way over two uplinks: the near pair is slower than the far one, as users of collective libraries report. */
static void without_peer_copies_near_pairs_are_slower_than_far_ones(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("pcie-8gpu-2root");
    CHECK(hop_topology_set(t, "link_latency=0s", D));
    CHECK(hop_topology_set(t, "copy_latency=0s", D));
    struct hop_network *network = network_of(t, "fair");
    double step = 64.0 * MIB / 64,
           root = hop_topology_link(t, hop_topology_upstream(t, find_node(t, "leaf0")))->capacity_Bps[0];
    double near_s = play(network, "a: gpu0 -> gpu1 64MiB via staged 1MiB; b: gpu1 -> gpu0 64MiB via staged 1MiB");
    double far_s = play(network, "a: gpu0 -> gpu4 64MiB via staged 1MiB; b: gpu4 -> gpu0 64MiB via staged 1MiB");
    near(near_s, 65 * step / (root / 2));        /* two copies share the uplink in both of its directions */
    near(far_s, step / root + 64 * step / 16e9); /* the socket link paces */
    assert_true(near_s > 1.1 * far_s);
    assert_true(play(network, "a: gpu0 -> gpu1 64MiB; b: gpu1 -> gpu0 64MiB") < 0.5 * near_s + 1e-6);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

/* ---- patterns ---- */

struct edge {
    uint32_t from, to;
    uint64_t bytes;
};

/* A choice as a text; packet 0: whole. */
static void write_choice(const struct edge *edges, uint32_t count, uint32_t mask, uint64_t packet, char *text,
                         size_t size)
{
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        int length = snprintf(text + used, size - used, "c%u: gpu%u -> gpu%u %llu%s", i, edges[i].from, edges[i].to,
                              (unsigned long long)edges[i].bytes, mask >> i & 1 ? " via staged" : "");
        used += (size_t)length;
        if ((mask >> i & 1) && packet)
            used += (size_t)snprintf(text + used, size - used, " %llu", (unsigned long long)packet);
        used += (size_t)snprintf(text + used, size - used, "\n");
        assert_true(used < size);
    }
}

static uint32_t draw_edges(struct edge *edges, uint32_t count, uint32_t gpus)
{
    for (uint32_t i = 0; i < count; i++) {
        edges[i].from = random_below(gpus);
        edges[i].to = (edges[i].from + 1 + random_below(gpus - 1)) % gpus;
        edges[i].bytes = MIB * (1 + random_below(8));
    }
    return count;
}

static double best_of_all(struct hop_network *network, const struct edge *edges, uint32_t count, uint64_t packet)
{
    double best = INFINITY;
    char text[4096];
    for (uint32_t mask = 0; mask < 1u << count; mask++) {
        write_choice(edges, count, mask, packet, text, sizeof text);
        best = fmin(best, play(network, text));
    }
    return best;
}

static struct hop_tuned_mix *mix_of(struct hop_network *network, const struct edge *edges, uint32_t count,
                                   const struct hop_tune_options *options, struct hop_schedule **schedule)
{
    char text[4096];
    struct hop_tuned_mix *mix;
    write_choice(edges, count, 0, 0, text, sizeof text);
    CHECK(hop_schedule_parse("drawn", text, strlen(text), schedule, D));
    CHECK(hop_tune_mix(network, *schedule, options, &mix, D));
    return mix;
}

/* What every mix must be, whatever was searched. */
static void check_mix(struct hop_network *network, const struct hop_schedule *schedule, const struct hop_tuned_mix *mix)
{
    uint32_t staged = 0;
    assert_true(mix->mix_s <= mix->direct_s && mix->mix_s <= mix->staged_s);
    char *text = hop_schedule_to_text(mix->best);
    assert_true(play(network, text) == mix->mix_s); /* the very same */
    free(text);
    assert_int_equal(hop_schedule_count(mix->best), hop_schedule_count(schedule));
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(mix->best, i);
        assert_int_equal(op->via == HOP_VIA_STAGED, mix->staged[i]);
        assert_int_equal(op->packet_bytes, mix->staged[i] ? mix->mix_packet_bytes : 0);
        staged += mix->staged[i];
    }
    assert_int_equal(staged, mix->staged_count);
}

/* On T2 staging pays across the root complex only for what model pcie lets a crossing lose (tau): fair, which knows
 * nothing of it, says that the direct copy is faster. Below one switch all agree. */
static void what_one_model_alone_promises_is_no_reliable_gain(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {64 * MIB};
    const struct hop_tune_options options = {.sizes = sizes, .size_count = 1};
    struct hop_topology *t = load_topology("t2");
    CHECK(hop_topology_set(t, "link_latency=5us", D)); /* so that a packet costs something */
    struct hop_network *pcie = network_of(t, "pcie"), *fair = network_of(t, "fair");
    struct hop_tuned_paths *paths = paths_of(pcie, &options), *by_fair = paths_of(fair, &options);
    const struct hop_tune_point *near_by = &class_of(pcie, paths, "gpu0", "gpu1")->points[0],
                                *across = &class_of(pcie, paths, "gpu0", "gpu4")->points[0];
    double factor;
    assert_int_equal(hop_tune_winner(near_by, NULL), HOP_VIA_P2P);
    assert_int_equal(near_by->gain.verdict, HOP_GAIN_FASTER);
    assert_int_equal(hop_tune_winner(across, &factor), HOP_VIA_STAGED);
    assert_int_equal(across->gain.verdict, HOP_GAIN_UNSURE);
    near(across->gain.high, factor);
    assert_int_equal(hop_tune_winner(&class_of(fair, by_fair, "gpu0", "gpu4")->points[0], NULL), HOP_VIA_P2P);
    hop_tune_paths_destroy(by_fair);
    hop_tune_paths_destroy(paths);
    hop_network_destroy(fair);

    struct edge edges[6];
    struct hop_schedule *schedule;
    uint32_t staged = 0;
    for (uint32_t i = 0; i < 8; i++) {
        struct hop_tuned_mix *mix = mix_of(pcie, edges, draw_edges(edges, 5, 8), NULL, &schedule);
        if (mix->gain) {
            near(mix->gain->cases[0].before_s, mix->direct_s);
            near(mix->gain->cases[0].after_s, mix->mix_s);
            assert_string_equal(mix->gain->cases[0].scenario.name, "pcie");
        }
        assert_true((mix->gain != NULL) == (mix->staged_count > 0));
        staged += mix->staged_count > 0;
        hop_tune_mix_destroy(mix);
        hop_schedule_destroy(schedule);
    }
    assert_true(staged > 0);
    hop_network_destroy(pcie);
    hop_topology_destroy(t);
}

static void of_few_copies_no_choice_is_faster_than_the_mix(void **state)
{
    (void)state;
    static const char *const machines[] = {"t2", "helios", "pcie-8gpu-2root"};
    static const char *const models[] = {NULL, "credit"};
    const uint64_t never[] = {1024 * MIB}, packet[] = {MIB / 2};
    uint32_t mixed = 0;
    for (uint32_t i = 0; i < 36; i++) {
        struct hop_topology *t = load_topology(machines[i % 3]);
        if (i % 2)
            CHECK(hop_topology_set(t, "link_latency=2us", D));
        struct hop_network *network = network_of(t, models[i / 18]);
        struct edge edges[6];
        struct hop_schedule *schedule;
        uint32_t count = draw_edges(edges, 2 + i % 5, 8);
        const struct hop_tune_options whole = {.packets = never, .packet_count = 1},
                                      packets = {.packets = packet, .packet_count = 1};
        double whole_s = best_of_all(network, edges, count, 0), packets_s = best_of_all(network, edges, count, MIB / 2);

        struct hop_tuned_mix *mix = mix_of(network, edges, count, &whole, &schedule);
        assert_true(mix->exact && mix->transfers == count && mix->mix_packet_bytes == 0);
        near(mix->mix_s, whole_s);
        check_mix(network, schedule, mix);
        hop_tune_mix_destroy(mix);
        hop_schedule_destroy(schedule);

        mix = mix_of(network, edges, count, &packets, &schedule);
        double at = mix->staged_packet_bytes ? packets_s : whole_s; /* every choice was tried at that */
        assert_true(mix->exact && mix->mix_s <= at * (1 + 1e-9));
        assert_true(mix->mix_s >= fmin(packets_s, whole_s) * (1 - 1e-9));
        check_mix(network, schedule, mix);
        mixed += mix->staged_count > 0 && mix->staged_count < mix->transfers;
        hop_tune_mix_destroy(mix);
        hop_schedule_destroy(schedule);
        hop_network_destroy(network);
        hop_topology_destroy(t);
    }
    print_message("%u of 36 mixes stage some of their copies\n", mixed);
    assert_true(mixed >= 4);
}

/* The search for many copies, on few, where every choice can be played. */
static void local_search_is_near_the_best_choice(void **state)
{
    (void)state;
    const uint64_t never[] = {1024 * MIB};
    uint32_t best = 0;
    double worst = 1;
    for (uint32_t i = 0; i < 24; i++) {
        struct hop_topology *t = load_topology(i % 2 ? "helios" : "pcie-8gpu-2root");
        struct hop_network *network = network_of(t, NULL);
        struct edge edges[8];
        struct hop_schedule *schedule;
        uint32_t count = draw_edges(edges, 8, 8);
        const struct hop_tune_options options = {.packets = never, .packet_count = 1, .max_evaluations = 255};
        struct hop_tuned_mix *mix = mix_of(network, edges, count, &options, &schedule);
        double ratio = mix->mix_s / best_of_all(network, edges, count, 0);
        assert_true(!mix->exact && mix->evaluations <= 255 + 4);
        assert_true(ratio >= 1 - 1e-9);
        check_mix(network, schedule, mix);
        best += ratio < 1 + 1e-9;
        worst = fmax(worst, ratio);
        hop_tune_mix_destroy(mix);
        hop_schedule_destroy(schedule);
        hop_network_destroy(network);
        hop_topology_destroy(t);
    }
    print_message("local search found the best of 256 choices in %u of 24 cases, at worst %.3f times its time\n", best,
                  worst);
    assert_true(best >= 16 && worst < 1.25);
}

static void a_search_keeps_to_its_evaluations_and_finds_the_same_again(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("t2");
    struct hop_network *network = network_of(t, NULL);
    struct hop_schedule *schedule;
    double last_s = INFINITY;
    CHECK(hop_tune_make("alltoall,order=shift", t, 4 * MIB, &schedule, D));
    assert_int_equal(hop_schedule_count(schedule), 56);
    for (uint32_t limit = 1; limit < REPEATED(300, 30); limit *= 6) {
        const struct hop_tune_options options = {.max_evaluations = limit};
        struct hop_tuned_mix *mix, *again;
        CHECK(hop_tune_mix(network, schedule, &options, &mix, D));
        CHECK(hop_tune_mix(network, schedule, &options, &again, D));
        assert_true(mix->evaluations <= limit + 18); /* twice all packet sizes, and all direct */
        assert_true(mix->mix_s <= last_s * (1 + 1e-9));
        last_s = mix->mix_s;
        check_mix(network, schedule, mix);
        char *one = hop_schedule_to_text(mix->best), *two = hop_schedule_to_text(again->best);
        assert_string_equal(one, two);
        free(one);
        free(two);
        hop_tune_mix_destroy(mix);
        hop_tune_mix_destroy(again);
    }
    hop_schedule_destroy(schedule);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

static void what_is_no_copy_between_devices_stays(void **state)
{
    (void)state;
    const char *text = "a: gpu0 -> gpu4 8MiB via staged 1MiB\nb: host0 -> gpu3 2MiB\n"
                       "c: reduce sum f32 gpu4:x gpu4:y -> gpu4:x 8MiB after a\nd: work gpu1 1ms after-start c\n"
                       "e: 1@gpu4:z+4096 -> 2@gpu0:w 4MiB at 1us after c\nf: send gpu0 -> gpu5 1MiB tag 3\n"
                       "g: receive gpu0 -> gpu5 1MiB tag 3\nqueue ready\n";
    struct hop_topology *t = load_topology("t2");
    struct hop_network *network = network_of(t, NULL);
    struct hop_schedule *schedule;
    struct hop_tuned_mix *mix;
    CHECK(hop_schedule_parse("x", text, strlen(text), &schedule, D));
    CHECK(hop_tune_mix(network, schedule, NULL, &mix, D));
    assert_int_equal(mix->transfers, 2);
    assert_true(mix->exact);
    check_mix(network, schedule, mix);
    assert_true(hop_schedule_queue_ready(mix->best));
    struct hop_schedule *direct;
    const char *all_direct = "a: gpu0 -> gpu4 8MiB\nb: host0 -> gpu3 2MiB\n"
                             "c: reduce sum f32 gpu4:x gpu4:y -> gpu4:x 8MiB after a\nd: work gpu1 1ms after-start c\n"
                             "e: 1@gpu4:z+4096 -> 2@gpu0:w 4MiB at 1us after c\nf: send gpu0 -> gpu5 1MiB tag 3\n"
                             "g: receive gpu0 -> gpu5 1MiB tag 3\nqueue ready\n";
    near(mix->direct_s, play(network, all_direct));
    /* apart from the ways, the mix is the schedule */
    CHECK(hop_schedule_parse("x", all_direct, strlen(all_direct), &direct, D));
    for (uint32_t i = 0; i < hop_schedule_count(direct); i++) {
        const struct hop_op *a = hop_schedule_op(direct, i), *b = hop_schedule_op(mix->best, i);
        assert_string_equal(a->name, b->name);
        assert_true(a->kind == b->kind && a->bytes == b->bytes && a->at_s == b->at_s &&
                    a->after_count == b->after_count && a->after_start_count == b->after_start_count &&
                    a->from.rank == b->from.rank && a->from.offset_bytes == b->from.offset_bytes);
    }
    hop_schedule_destroy(direct);
    hop_tune_mix_destroy(mix);
    hop_schedule_destroy(schedule);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

static void patterns_are_what_their_names_say(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t count;
        const char *first[3]; /* "from to" of the first copies */
    } expected[] = {{"neighbours", 8, {"gpu0 gpu1", "gpu1 gpu0", "gpu2 gpu3"}},
                    {"pairs", 8, {"gpu0 gpu4", "gpu4 gpu0", "gpu1 gpu5"}},
                    {"ring,rounds=1", 8, {"gpu0 gpu1", "gpu1 gpu2", "gpu2 gpu3"}},
                    {"halo:2x2x2,order=column", 24, {"gpu0 gpu1", "gpu0 gpu2", "gpu0 gpu4"}},
                    {"alltoall,order=shift", 56, {"gpu0 gpu1", "gpu0 gpu2", "gpu0 gpu3"}}};
    struct hop_topology *t = load_topology("t2");
    const char *name;
    size_t i = 0;
    for (; (name = hop_tune_pattern(i)) != NULL; i++) {
        struct hop_schedule *schedule;
        assert_string_equal(name, expected[i].name);
        CHECK(hop_tune_make(name, t, 3 * MIB, &schedule, D));
        assert_int_equal(hop_schedule_count(schedule), expected[i].count);
        for (uint32_t k = 0; k < 3; k++) {
            char text[64];
            const struct hop_op *op = hop_schedule_op(schedule, k);
            (void)snprintf(text, sizeof text, "%s %s", op->from.device, op->to.device);
            assert_string_equal(text, expected[i].first[k]);
            assert_int_equal(op->bytes, 3 * MIB);
        }
        hop_schedule_destroy(schedule);
    }
    assert_int_equal(i, 5);
    hop_topology_destroy(t);
    const struct shape shape = {25 * GB, 5 * GB, 50 * GB, 0};
    struct hop_schedule *none = NULL;
    struct hop_diag diag;
    t = make_machine(&shape);
    assert_int_equal(hop_tune_make("halo:2x2x2", t, MIB, &none, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.what, "4 GPUs"));
    assert_int_equal(hop_tune_make("rings", t, MIB, &none, &diag), HOP_ERR_NOT_FOUND);
    assert_non_null(strstr(diag.expected, "ring:8?"));
    assert_int_equal(hop_tune_make("halo", t, MIB, &none, &diag), HOP_ERR_INVALID);
    assert_string_equal(diag.expected, "halo:2x2x2,order=column");
    assert_null(none);
    hop_topology_destroy(t);
}

/* ---- bad input ---- */

static void refused(struct hop_network *network, const struct hop_tune_options *options, enum hop_status status,
                    const char *what)
{
    struct hop_tuned_paths *paths = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_tune_paths(network, options, &paths, &diag), status);
    assert_null(paths);
    assert_non_null(strstr(diag.what, what));
    assert_true(strlen(diag.expected) > 0);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    const uint64_t falling[] = {4 * MIB, MIB}, zero[] = {0}, many[65] = {1};
    struct hop_topology *t = load_topology("t2"), *nics = load_topology("ib-9node");
    struct hop_network *network = network_of(t, NULL), *loggp = network_of(t, "loggp"),
                       *fabric = network_of(nics, NULL);
    refused(network, &(struct hop_tune_options){.sizes = falling, .size_count = 2}, HOP_ERR_INVALID, "1048576");
    refused(network, &(struct hop_tune_options){.sizes = zero, .size_count = 1}, HOP_ERR_INVALID, "0 bytes");
    refused(network, &(struct hop_tune_options){.packets = falling, .packet_count = 2}, HOP_ERR_INVALID, "packet");
    refused(network, &(struct hop_tune_options){.packets = many, .packet_count = 65}, HOP_ERR_LIMIT, "65");
    refused(network, &(struct hop_tune_options){.sizes = many, .size_count = 0}, HOP_ERR_LIMIT, "0 sizes");
    refused(loggp, NULL, HOP_ERR_INVALID, "loggp");
    refused(fabric, NULL, HOP_ERR_INVALID, "0 GPUs");
    struct hop_schedule *schedule;
    struct hop_tuned_mix *mix = NULL;
    struct hop_diag diag;
    const char *text = "a: gpu0 -> gpu1 1MiB\nb: gpu0 -> gpu99 1MiB\n";
    CHECK(hop_schedule_parse("wrong.hop", text, strlen(text), &schedule, D));
    assert_int_equal(hop_tune_mix(network, schedule, NULL, &mix, &diag), HOP_ERR_NOT_FOUND);
    assert_null(mix);
    assert_string_equal(diag.place, "wrong.hop:2:12");
    hop_schedule_destroy(schedule);
    hop_network_destroy(network);
    hop_network_destroy(loggp);
    hop_network_destroy(fabric);
    hop_topology_destroy(t);
    hop_topology_destroy(nics);
}

static void a_choice_that_cannot_run_is_dropped(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("dgx-1");
    struct hop_network *network = network_of(t, NULL);
    struct hop_schedule *schedule;
    struct hop_tuned_mix *mix;
    /* By NVLink and by PCIe they have an engine each; staged they have one, in which a stands before what it waits for. */
    const char text[] = "a: gpu0 -> gpu1 8MiB after b\nb: gpu0 -> gpu5 8MiB\n";
    CHECK(hop_schedule_parse("circle", text, strlen(text), &schedule, D));
    CHECK(hop_tune_mix(network, schedule, NULL, &mix, D));
    assert_true(isfinite(mix->direct_s) && isnan(mix->staged_s) && mix->mix_s <= mix->direct_s);
    assert_in_range(mix->stuck, 1, mix->evaluations - 1);
    char *best = hop_schedule_to_text(mix->best);
    assert_true(play(network, best) == mix->mix_s);
    free(best);
    hop_tune_mix_destroy(mix);
    hop_schedule_destroy(schedule);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

static bool at_once(void *context)
{
    ++*(unsigned *)context;
    return true;
}

/* All that is simulated asks whether to go on. */
static void what_is_stopped_at_once_says_so(void **state)
{
    (void)state;
    enum { RANKS = 4, COPIES = 600 };
    static const char *const devices[RANKS] = {"gpu0", "gpu1", "gpu2", "gpu3"};
    const struct hop_ranks ranks = {devices, RANKS};
    const struct hop_collective_options collective = {.kind = HOP_COLLECTIVE_ALLREDUCE};
    struct hop_schedule *schedule = hop_schedule_create("long");
    struct hop_tuned_collective *tuned;
    struct hop_timeline *timeline;
    struct hop_topology *t = load_topology("t2");
    struct hop_network *network = network_of(t, NULL);
    struct hop_gain *gain;
    unsigned asked = 0;
    for (uint32_t i = 0; i < COPIES; i++)
        (void)hop_schedule_copy(schedule, "gpu0", devices[1 + i % (RANKS - 1)], 1 << 20, NULL, 0);
    CHECK(hop_schedule_finish(schedule, &schedule, D));
    const struct hop_simulate_options simulate = {.stop = at_once, .context = &asked};
    assert_int_equal(hop_simulate(network, schedule, &simulate, &timeline, NULL), HOP_ERR_STOPPED);
    const struct hop_gain_options gains = {.stop = at_once, .context = &asked};
    assert_int_equal(hop_gain_find(t, schedule, schedule, &gains, &gain, NULL), HOP_ERR_STOPPED);
    const struct hop_tune_collective_options algorithms = {.stop = at_once, .context = &asked};
    CHECK(hop_tune_collective(network, &ranks, &collective, &algorithms, &tuned, D));
    assert_true(tuned->size_count > 0 && tuned->sizes[0].winner == HOP_NONE && asked >= 3);
    hop_tuned_collective_destroy(tuned);
    hop_schedule_destroy(schedule);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

TEST_GROUP(tune)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lone_copy_takes_latency_and_bytes_over_capacity),
        cmocka_unit_test(a_lone_staged_copy_is_the_pipeline_of_the_paper_at_its_best_packet),
        cmocka_unit_test(the_slower_of_two_steps_paces_the_pipeline),
        cmocka_unit_test(staged_wins_past_a_slow_socket_and_direct_below_one_switch),
        cmocka_unit_test(the_crossover_is_where_the_times_are_equal),
        cmocka_unit_test(pairs_of_a_class_are_alike),
        cmocka_unit_test(the_classes_of_t2_are_board_switch_and_root),
        cmocka_unit_test(without_host_memory_there_is_only_direct),
        cmocka_unit_test(where_there_is_no_direct_way_copies_are_staged),
        cmocka_unit_test(without_peer_copies_near_pairs_are_slower_than_far_ones),
        cmocka_unit_test(what_one_model_alone_promises_is_no_reliable_gain),
        cmocka_unit_test(of_few_copies_no_choice_is_faster_than_the_mix),
        cmocka_unit_test(local_search_is_near_the_best_choice),
        cmocka_unit_test(a_search_keeps_to_its_evaluations_and_finds_the_same_again),
        cmocka_unit_test(what_is_no_copy_between_devices_stays),
        cmocka_unit_test(patterns_are_what_their_names_say),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(a_choice_that_cannot_run_is_dropped),
        cmocka_unit_test(what_is_stopped_at_once_says_so),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
