/* SPDX-License-Identifier: BSD-3-Clause */
/* Topologies, schedules, traffic, placements, measurements and tables: reading, building and writing them (calls.h). */
#include "calls.h"

#define DATA HOPCAST_SOURCE "/data/"
#define CORPUS HOPCAST_SOURCE "/tests/fuzz/corpus/"
#define PARSED(text) "-", (text), strlen(text)

/* ---- what several cases need ---- */

static struct hop_topology *load(const char *source)
{
    struct hop_topology *topology = NULL;
    NEED(hop_topology_load(source, &topology, DIAG) == HOP_OK);
    return topology;
}

static struct hop_schedule *parse(const char *text)
{
    struct hop_schedule *schedule = NULL;
    NEED(hop_schedule_parse(PARSED(text), &schedule, DIAG) == HOP_OK);
    return schedule;
}

struct hop_topology *calls_machine(void)
{
    static struct hop_topology *made;
    return made = made ? made : load("t2");
}

struct hop_schedule *calls_schedule(void)
{
    static struct hop_schedule *made;
    return made = made ? made : parse(SCHEDULE);
}

struct hop_measurements *calls_measured(void)
{
    static struct hop_measurements *made;
    if (!made)
        NEED(hop_measurements_load(DATA "measurements/pcie-2016.csv", &made, DIAG) == HOP_OK);
    return made;
}

static struct hop_traffic *sent(void)
{
    static struct hop_traffic *made;
    if (!made)
        NEED(hop_traffic_of_schedule(calls_schedule(), &made, DIAG) == HOP_OK);
    return made;
}

static const char *const devices[] = {"gpu0", "gpu1", "gpu2", "gpu3"};
static const struct hop_ranks ranks = {devices, 4};

/* ---- topologies ---- */

static void read_topology(const char *source)
{
    struct hop_topology *topology = NULL;
    if (CALL(hop_topology_load(source, &topology, DIAG)))
        SAY(hop_topology_to_json(topology));
    hop_topology_destroy(topology);
}

static void topology_builtin(void)
{
    read_topology("t2");
}

static void topology_fabric(void)
{
    read_topology("fat-tree:leaves=2,spines=1,hosts=2");
}

static void topology_torus(void)
{
    read_topology("apenet:2x2x1");
}

static void topology_dragonfly(void)
{
    read_topology("dragonfly:groups=3,routers=2,hosts=1");
}

static void topology_nccl(void)
{
    read_topology(DATA "topologies/nccl-two-switch.xml");
}

static void topology_smi(void)
{
    read_topology(DATA "topologies/smi-two-socket-pairs.txt");
}

static void topology_rocm(void)
{
    read_topology(DATA "topologies/rocm-xgmi-square.txt");
}

static void topology_cluster(void)
{
    read_topology(DATA "clusters/two-dgx-a100.json");
}

static void topology_json(void)
{
    read_topology(DATA "machines/wrx90-8gpu-2switch.json");
}

static void topology_load_with(void)
{
    const struct hop_beside beside = {
        .routes = DATA "topologies/ibnetdiscover-rails.lfts", .gpu = "H100", .cpu = "EPYC 9575F"};
    struct hop_topology *topology = NULL;
    if (CALL(hop_topology_load_with(DATA "topologies/ibnetdiscover-rails.txt", &beside, &topology, DIAG)))
        SAY(hop_topology_to_json(topology));
    hop_topology_destroy(topology);
}

static void topology_parse(void)
{
    char *text = hop_topology_to_json(calls_machine());
    struct hop_topology *topology = NULL;
    if (CALL(hop_topology_parse(PARSED(text), &topology, DIAG)))
        SAY(hop_topology_to_json(topology));
    hop_topology_destroy(topology);
    free(text);
}

/* Two GPUs and host memory below one root complex. */
static void topology_build(void)
{
    struct hop_topology *topology = MAKE(hop_topology_create("built"));
    static const enum hop_node_kind kinds[] = {HOP_NODE_ROOT, HOP_NODE_GPU, HOP_NODE_GPU, HOP_NODE_HOST, HOP_NODE_ROOT};
    static const char *const names[] = {"root0", "gpu0", "gpu1", "host0", "root1"};
    bool good = topology;
    for (uint32_t i = 0; i < 5 && good; i++) {
        const struct hop_node node = hop_node_default(kinds[i], names[i]);
        good = CALL(hop_topology_add_node(topology, &node, NULL, DIAG));
    }
    for (uint32_t i = 1; i < 5 && good; i++) {
        struct hop_link link = hop_link_default(i == 3   ? HOP_LINK_MEMORY
                                                : i == 4 ? HOP_LINK_SOCKET
                                                         : HOP_LINK_PCIE,
                                                i, 0);
        link.generation = 3, link.width = 16, link.capacity_Bps[0] = link.capacity_Bps[1] = i > 2 ? 2e10 : 0;
        good = CALL(hop_topology_add_link(topology, &link, NULL, DIAG));
    }
    good = good && CALL(hop_topology_add_crossing(topology, 0, 4, 0.25, DIAG));
    good = good && MAKE(hop_topology_add_note(topology, "made by %s", "hand") == HOP_OK ? topology : NULL);
    good = good && CALL(hop_topology_set_models(topology, "pcie", DIAG));
    if (good && CALL(hop_topology_finish(topology, DIAG)))
        WRITE(hop_topology_to_json(topology));
    hop_topology_destroy(topology);
}

static void topology_add_route(void)
{
    struct hop_topology *topology = hop_topology_create("routes");
    static const char *const names[] = {"switch0", "nic0", "nic1"};
    NEED(topology != NULL);
    for (uint32_t i = 0; i < 3; i++) {
        const struct hop_node node = hop_node_default(i ? HOP_NODE_NIC : HOP_NODE_FABRIC, names[i]);
        NEED(hop_topology_add_node(topology, &node, NULL, DIAG) == HOP_OK);
    }
    for (uint32_t i = 1; i < 3; i++) {
        struct hop_link link = hop_link_default(HOP_LINK_INFINIBAND, i, 0);
        link.capacity_Bps[0] = link.capacity_Bps[1] = 1e10;
        NEED(hop_topology_add_link(topology, &link, NULL, DIAG) == HOP_OK);
    }
    if (CALL(hop_topology_add_route(topology, 0, 1, 0, DIAG)) &&
        CALL(hop_topology_add_route(topology, 0, 2, 1, DIAG)) && CALL(hop_topology_finish(topology, DIAG)))
        WRITE(hop_topology_to_json(topology));
    hop_topology_destroy(topology);
}

/* What fails changes nothing. */
static void set(const char *assignment)
{
    struct hop_topology *topology = load("t2");
    char *before = hop_topology_to_json(topology);
    if (!CALL(hop_topology_set(topology, assignment, DIAG))) {
        SAME(before, hop_topology_to_json(topology));
        before = NULL;
    } else {
        SAY(hop_topology_to_json(topology));
    }
    free(before);
    hop_topology_destroy(topology);
}

static void topology_set(void)
{
    set("tau=0.2");
}

static void topology_set_link(void)
{
    set("gpu0--board0.duplex=20GB/s");
}

static void topology_set_parameter(void)
{
    struct hop_topology *topology = load("t2");
    if (CALL(hop_topology_set_parameter(topology, "tau", 0.3, "said so", 0.01, DIAG)) &&
        CALL(hop_topology_set_range(topology, "tau", 0.2, 0.4, DIAG)))
        SAY(hop_topology_to_json(topology));
    hop_topology_destroy(topology);
}

static void topology_look(void)
{
    struct hop_topology *topology = calls_machine();
    uint32_t node = 0, count = 0;
    struct hop_link_channel *circle = NULL;
    if (CALL(hop_topology_device(topology, "gpu3", &node, DIAG)) &&
        CALL(hop_topology_nearest_host(topology, node, &node, DIAG)))
        calls_sayf("%u", node);
    if (CALL(hop_topology_find_circle(topology, HOP_RING_NONE, &circle, &count, DIAG)))
        calls_sayf("%u", count);
    free(circle);
}

static void topology_find_circle(void)
{
    struct hop_topology *topology = load("torus:3x3,link=1GB/s,latency=100ns");
    uint32_t count = 0;
    struct hop_link_channel *circle = NULL;
    if (CALL(hop_topology_find_circle(topology, HOP_RING_NONE, &circle, &count, DIAG)))
        calls_sayf("%u from %u", count, circle ? circle[0].link : 0);
    free(circle);
    hop_topology_destroy(topology);
}

static void topology_write(void)
{
    struct hop_topology *topology = calls_machine();
    WRITE(hop_topology_to_json(topology));
    WRITE(hop_topology_to_tree(topology));
    WRITE(hop_topology_to_dot(topology));
    WRITE(hop_topology_to_svg(topology));
}

static void topology_loads(void)
{
    static struct hop_link_load loads[512];
    struct hop_topology *topology = calls_machine();
    NEED(2 * hop_topology_link_count(topology) < 512);
    loads[0] = (struct hop_link_load){0.5, 0.25};
    loads[3] = (struct hop_link_load){0.1, 0.75};
    WRITE(hop_topology_to_loads(topology, loads, NULL));
    WRITE(hop_topology_to_loads_svg(topology, loads, NULL));
}

static void router(void)
{
    struct hop_topology *topology = calls_machine();
    struct hop_router *made = MAKE(hop_router_create(topology));
    uint32_t route = 0;
    for (uint32_t i = 1; made && i < 8; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "gpu%u", i);
        if (CALL(hop_router_find(made, hop_topology_find(topology, "gpu0"), hop_topology_find(topology, name), &route,
                                 DIAG)))
            calls_sayf("%u: %u links", route, hop_router_route(made, route)->link_count);
    }
    hop_router_destroy(made);
}

/* ---- schedules ---- */

static void read_schedule(const char *path)
{
    struct hop_schedule *schedule = NULL;
    if (CALL(hop_schedule_load(path, &schedule, DIAG)))
        SAY(hop_schedule_to_text(schedule));
    hop_schedule_destroy(schedule);
}

static void schedule_text(void)
{
    read_schedule(DATA "schedules/halo3-fastest.hop");
}

static void schedule_goal(void)
{
    read_schedule(DATA "schedules/ring4.goal");
}

static void schedule_parse(void)
{
    struct hop_schedule *schedule = NULL;
    if (CALL(hop_schedule_parse(
            PARSED("# a remark\n" SCHEDULE "\nr: reduce sum f32 gpu1:x, gpu1:y -> gpu1:x 4KiB after a\n"), &schedule,
            DIAG)))
        SAY(hop_schedule_to_text(schedule));
    hop_schedule_destroy(schedule);
}

static void schedule_json(void)
{
    char *text = hop_schedule_to_json(calls_schedule());
    struct hop_schedule *schedule = NULL;
    if (CALL(hop_schedule_parse(PARSED(text), &schedule, DIAG)))
        SAY(hop_schedule_to_text(schedule));
    hop_schedule_destroy(schedule);
    free(text);
}

/* A corpus' file: a byte, whose lowest two bits are the number of ranks less one, and traces of equal length. */
struct traces {
    char bytes[1 << 16], names[4][32];
    const char *name[4];
    const void *data[4];
    size_t sizes[4];
    uint32_t ranks;
};

static const struct traces *read_traces(const char *path)
{
    static struct traces t;
    FILE *file = fopen(path, "rb");
    NEED(file != NULL);
    size_t size = fread(t.bytes, 1, sizeof t.bytes, file);
    (void)fclose(file);
    t.ranks = 1 + (unsigned char)t.bytes[0] % 4;
    size_t piece = (t.bytes[0] & 4) != 0 ? (size - 1) / t.ranks : 0;
    for (uint32_t r = 0; r < t.ranks; r++) {
        (void)snprintf(t.names[r], sizeof t.names[r], "calls.%u.et", r);
        t.name[r] = t.names[r];
        t.data[r] = t.bytes + 1 + r * piece;
        t.sizes[r] = piece ? piece : size - 1;
    }
    return &t;
}

/* The same as files in the current folder. */
static void write_traces(const char *path)
{
    const struct traces *t = read_traces(path);
    for (uint32_t r = 0; r < t->ranks; r++) {
        FILE *file = fopen(t->name[r], "wb");
        NEED(file && fwrite(t->data[r], 1, t->sizes[r], file) == t->sizes[r] && fclose(file) == 0);
    }
}

static void parse_chakra(const char *path)
{
    const struct traces *t = read_traces(path);
    struct hop_schedule *schedule = NULL;
    if (CALL(hop_schedule_parse_chakra(t->name, t->data, t->sizes, t->ranks, NULL, &schedule, DIAG)))
        SAY(hop_schedule_to_text(schedule));
    hop_schedule_destroy(schedule);
}

static void chakra_collectives(void)
{
    parse_chakra(CORPUS "chakra/collectives-0");
}

static void chakra_messages(void)
{
    parse_chakra(CORPUS "chakra/messages");
}

static void chakra_groups(void)
{
    parse_chakra(CORPUS "chakra/groups");
}

static void chakra_compute(void)
{
    parse_chakra(CORPUS "chakra/compute");
}

static void chakra_gzip(void)
{
    parse_chakra(CORPUS "chakra/gzip");
}

static void schedule_load_chakra(void)
{
    struct hop_schedule *schedule = NULL;
    struct hop_trace_options options = {.size = sizeof options};
    write_traces(CORPUS "chakra/messages");
    if (CALL(hop_trace_options_parse("allreduce=ring,alltoall=direct", &options, DIAG)) &&
        CALL(hop_schedule_load_chakra("calls", &options, &schedule, DIAG)))
        SAY(hop_schedule_to_text(schedule));
    hop_schedule_destroy(schedule);
    schedule = NULL;
    if (CALL(hop_schedule_load_with("calls.0.et", &options, &schedule, DIAG)))
        SAY(hop_schedule_to_text(schedule));
    hop_schedule_destroy(schedule);
}

static void schedule_build(void)
{
    struct hop_schedule *made = MAKE(hop_schedule_create("built")), *schedule = NULL;
    if (!made)
        return;
    DO(hop_schedule_add_comment(made, "by %s", "hand"));
    struct hop_op op = hop_op_default(HOP_OP_COPY);
    op.from.device = "gpu0", op.to.device = "gpu1", op.bytes = 1000, op.name = "first";
    DO(hop_schedule_add(made, &op));
    const uint32_t first = 0;
    for (int i = 0; i < 10; i++)
        DO(hop_schedule_copy(made, "gpu1", "gpu2", 5000, &first, 1));
    enum hop_status failure = hop_schedule_failure(made, NULL);
    if (failure == HOP_OK) {
        if (CALL(hop_schedule_finish(made, &schedule, DIAG)))
            SAY(hop_schedule_to_text(schedule));
        hop_schedule_destroy(schedule);
    } else {
        (void)CALL(hop_schedule_finish(made, &schedule, DIAG));
        hop_schedule_destroy(schedule);
    }
}

static bool count_bytes(void *context, const char *text, size_t size)
{
    (void)text;
    *(size_t *)context += size;
    return true;
}

static void schedule_write(void)
{
    struct hop_schedule *schedule = calls_schedule();
    char *text = NULL;
    size_t size = 0;
    WRITE(hop_schedule_to_text(schedule));
    WRITE(hop_schedule_to_json(schedule));
    if (CALL(hop_schedule_to_goal(schedule, 1e9, &text, DIAG)))
        SAY(text);
    if (MAKE(hop_schedule_write_text(schedule, count_bytes, &size) ? schedule : NULL))
        calls_sayf("%zu", size);
}

static void schedule_look(void)
{
    struct hop_schedule *many = NULL;
    NEED(hop_tune_make("alltoall:8", calls_machine(), 1024, &many, DIAG) == HOP_OK);
    COUNT(hop_schedule_find(many, hop_schedule_op(many, 40)->name));
    COUNT(hop_schedule_run_ranks(many));
    hop_schedule_destroy(many);
    struct hop_schedule *schedule = parse(
                            "a: gpu0 -> gpu5 4MiB via staged 1MiB; b: gpu0:x -> gpu1:x 1MiB; c: gpu2:y -> gpu1:x 1MiB"),
                        *lowered = NULL;
    double chain_s = 0;
    bool race = false;
    if (CALL(hop_schedule_work_chain_s(schedule, &chain_s, DIAG)))
        calls_sayf("%g", chain_s);
    if (CALL(hop_schedule_find_race(schedule, &race, DIAG)))
        calls_sayf("race %d", race);
    if (CALL(hop_schedule_lower(schedule, calls_machine(), &lowered, DIAG)))
        SAY(hop_schedule_to_text(lowered));
    hop_schedule_destroy(lowered);
    if (CALL(hop_order_chunk(schedule, 3, &lowered, DIAG))) {
        SAY(hop_schedule_to_text(lowered));
        hop_schedule_destroy(lowered);
    }
    hop_schedule_destroy(schedule);
}

/* ---- patterns and collectives ---- */

#define MADE(...)                                                                                                      \
    do {                                                                                                               \
        struct hop_schedule *schedule = NULL;                                                                          \
        if (CALL(__VA_ARGS__))                                                                                         \
            SAY(hop_schedule_to_text(schedule));                                                                       \
        hop_schedule_destroy(schedule);                                                                                \
    } while (0)

static bool say_graph(const struct hop_schedule *graph, void *context)
{
    *(uint64_t *)context += hop_schedule_count(graph);
    return true;
}

static void patterns(void)
{
    const struct hop_grid grid = {.dimensions = 2, .extent = {2, 2}, .wrap = true};
    const struct hop_random random = {.transfers = 6, .seed = 1, .min_bytes = 1, .max_bytes = 100, .depend = 0.5};
    uint32_t count = 0;
    MADE(hop_make_halo(&ranks, &grid, 4096, &schedule, DIAG));
    MADE(hop_make_stencil(&ranks, &grid, 4096, 2, 1e-6, &schedule, DIAG));
    MADE(hop_make_alltoall(&ranks, HOP_ALLTOALL_XOR, 4096, &schedule, DIAG));
    MADE(hop_make_ring(&ranks, 3, 4096, &schedule, DIAG));
    MADE(hop_make_scatter(&ranks, 1, 4096, &schedule, DIAG));
    MADE(hop_make_gather(&ranks, 1, 4096, &schedule, DIAG));
    MADE(hop_make_random(&ranks, &random, &schedule, DIAG));
    MADE(hop_pattern_schedule("halo:2x2,wrap", &ranks, 4096, &schedule, DIAG));
    MADE(hop_tune_make("ring:4", calls_machine(), 4096, &schedule, DIAG));
    if (CALL(hop_pattern_ranks("halo:2x2", 8, &count, DIAG)))
        calls_sayf("%u ranks", count);
    if (CALL(hop_pattern_parts("halo:2x2", 8, &count, DIAG)))
        calls_sayf("%u parts", count);
}

static void graphs(void)
{
    uint64_t count = 0, sum = 0;
    const struct hop_ranks three = {devices, 3};
    if (CALL(hop_make_graphs(&three, calls_machine(), 2, 4096, say_graph, &sum, &count, DIAG)))
        calls_sayf("%llu graphs, %llu", (unsigned long long)count, (unsigned long long)sum);
}

static void pattern_traffic(void)
{
    struct hop_traffic *traffic = NULL;
    if (CALL(hop_pattern_traffic("stencil:2x2,weight=3", HOP_MEMORY_DEVICE, &traffic, DIAG)))
        SAY(hop_traffic_to_text(traffic));
    hop_traffic_destroy(traffic);
}

/* Every algorithm of every collective. */
static void collectives(void)
{
    const char *name, *summary;
    bool levels;
    for (int kind = 0; kind < HOP_COLLECTIVE_COUNT; kind++) {
        for (size_t i = 0; hop_collective_algorithm((enum hop_collective_kind)kind, i, &name, &summary, &levels); i++) {
            const struct hop_collective_options options = {.size = sizeof options,
                                                           .kind = (enum hop_collective_kind)kind,
                                                           .algorithm = name,
                                                           .vector_bytes = 4096};
            MADE(hop_make_collective(&ranks, &options, &schedule, DIAG));
        }
    }
}

static void collective_by(void)
{
    char by[HOP_ALGORITHM_NAME_SIZE] = "";
    static const uint32_t nodes[] = {0, 0, 1, 1};
    const struct hop_collective_options options = {.size = sizeof options,
                                                   .kind = HOP_COLLECTIVE_ALLREDUCE,
                                                   .vector_bytes = 4096,
                                                   .nodes = nodes,
                                                   .algorithm = "gsb-ring"};
    MADE(hop_make_collective_by(&ranks, &options, by, &schedule, DIAG));
}

/* ---- traffic and placements ---- */

static void traffic_build(void)
{
    struct hop_traffic *traffic = NULL;
    bool good = CALL(hop_traffic_create(4, &traffic, DIAG));
    for (uint32_t i = 0; good && i < 12; i++)
        good = CALL(hop_traffic_add(traffic, i / 3, (i / 3 + 1 + i % 3) % 4, HOP_MEMORY_HOST, 100 + i, 1, DIAG));
    if (good) {
        char *before = hop_traffic_to_text(traffic);
        good = CALL(hop_traffic_merge(traffic, sent(), DIAG));
        if (good)
            free(before);
        else
            SAME(before, hop_traffic_to_text(traffic));
    }
    if (good)
        WRITE(hop_traffic_to_text(traffic));
    hop_traffic_destroy(traffic);
}

static void read_traffic(const char *path)
{
    struct hop_traffic *traffic = NULL;
    if (CALL(hop_traffic_load(path, HOP_MEMORY_DEVICE, &traffic, DIAG)))
        SAY(hop_traffic_to_text(traffic));
    hop_traffic_destroy(traffic);
}

static void traffic_profile(void)
{
    read_traffic(DATA "traffic/halo8-profile.csv");
}

static void traffic_matrix(void)
{
    read_traffic(DATA "traffic/pipeline6-matrix.csv");
}

static void traffic_market(void)
{
    read_traffic(DATA "traffic/ring8-symmetric.mtx");
}

static void traffic_parse(void)
{
    char *text = hop_traffic_to_text(sent());
    struct hop_traffic *traffic = NULL;
    if (CALL(hop_traffic_parse(PARSED(text), HOP_MEMORY_DEVICE, &traffic, DIAG)))
        SAY(hop_traffic_to_text(traffic));
    hop_traffic_destroy(traffic);
    free(text);
}

static void traffic_and_schedules(void)
{
    struct hop_traffic *traffic = NULL;
    if (CALL(hop_traffic_of_schedule(calls_schedule(), &traffic, DIAG)))
        SAY(hop_traffic_to_text(traffic));
    hop_traffic_destroy(traffic);
    MADE(hop_traffic_to_schedule(sent(), devices, NULL, &schedule, DIAG));
    WRITE(hop_traffic_to_svg(sent(), "sent"));
}

static void say_placement(const struct hop_placement *placement)
{
    for (uint32_t r = 0; r < hop_placement_count(placement); r++)
        calls_sayf("%u on %s", r, hop_placement_device(placement, r));
}

static void placements(void)
{
    struct hop_placement *placement = NULL;
    if (CALL(hop_placement_of(devices, 4, &placement, DIAG)))
        say_placement(placement);
    hop_placement_destroy(placement);
    placement = NULL;
    if (CALL(hop_placement_make(calls_machine(), 4, HOP_PLACEMENT_CYCLIC, &placement, DIAG)))
        say_placement(placement);
    hop_placement_destroy(placement);
    placement = NULL;
    if (CALL(hop_placement_load(CORPUS "placement/where", &placement, DIAG)))
        say_placement(placement);
    hop_placement_destroy(placement);
}

static void placement_apply(void)
{
    struct hop_placement *placement = NULL, *lifted = NULL;
    struct hop_schedule *ranked = parse("rank0 -> rank1 1MiB; rank1 -> rank2 2MiB"), *lift = NULL;
    if (CALL(hop_placement_parse(PARSED("0 gpu0\n1 gpu4\n2 gpu5\n"), &placement, DIAG)) &&
        CALL(hop_placement_check(placement, calls_machine(), 3, DIAG)))
        MADE(hop_placement_apply(placement, ranked, &schedule, DIAG));
    if (CALL(hop_placement_lift(calls_schedule(), &lift, &lifted, DIAG))) {
        SAY(hop_schedule_to_text(lift));
        say_placement(lifted);
    }
    hop_placement_destroy(placement);
    hop_placement_destroy(lifted);
    hop_schedule_destroy(ranked);
    hop_schedule_destroy(lift);
}

/* ---- measurements ---- */

static void say_measurements(const struct hop_measurements *m)
{
    for (uint32_t i = 0; i < hop_measurements_count(m); i++) {
        const struct hop_measurement *row = hop_measurements_at(m, i);
        calls_sayf("%s %s %s %s %s %.17g %.17g", row->transfer, row->from, row->to, row->group, row->notes,
                   row->rate_Bps, row->time_s);
    }
    for (uint32_t i = 0; hop_measurements_note(m, i); i++)
        calls_sayf("%s", hop_measurements_note(m, i));
}

static void read_measurements(const char *path)
{
    struct hop_measurements *m = NULL;
    if (CALL(hop_measurements_load(path, &m, DIAG)))
        say_measurements(m);
    hop_measurements_destroy(m);
}

static void measurements_csv(void)
{
    read_measurements(DATA "measurements/infiniband-2011.csv");
}

static void measurements_bandwidth_test(void)
{
    read_measurements(CORPUS "measurements/bandwidth-test.txt");
}

static void measurements_nvbandwidth(void)
{
    read_measurements(CORPUS "measurements/nvbandwidth.json");
}

static void measurements_nvbandwidth_sums(void)
{
    read_measurements(CORPUS "measurements/nvbandwidth-sums.txt");
}

static void measurements_transferbench(void)
{
    read_measurements(CORPUS "measurements/transferbench.txt");
}

static void measurements_p2p(void)
{
    read_measurements(CORPUS "measurements/p2p-writes.txt");
}

static void measurements_rocm(void)
{
    read_measurements(CORPUS "measurements/rocm-bandwidth.txt");
}

static void measurements_prediction(void)
{
    read_measurements(CORPUS "measurements/prediction.json");
}

static void measurements_osu(void)
{
    read_measurements(CORPUS "measurements/osu.txt");
}

static void measurements_nccl_tests(void)
{
    struct hop_measurements *m = NULL;
    const struct hop_measurements_options options = {
        .size = sizeof options, .gpus = devices, .gpu_count = 4, .collectives = true};
    if (CALL(hop_measurements_read(CORPUS "measurements/nccl-tests-collective.txt", NULL, 0, &options, &m, DIAG)))
        say_measurements(m);
    hop_measurements_destroy(m);
}

static void measurements_parse(void)
{
    struct hop_measurements *m = NULL;
    if (CALL(hop_measurements_parse(PARSED("transfer,from,to,bytes,measured_s\na,gpu0,gpu1,1MiB,0.001\n"), &m, DIAG)))
        say_measurements(m);
    hop_measurements_destroy(m);
}

static void measurements_load_all(void)
{
    static const char *const paths[] = {DATA "measurements/pcie-2016.csv", CORPUS "measurements/plain.csv"};
    struct hop_measurements *m = NULL;
    if (CALL(hop_measurements_load_all(paths, 2, &m, DIAG)))
        say_measurements(m);
    hop_measurements_destroy(m);
}

/* ---- tables and small texts ---- */

static void say_table(const struct hop_algorithm_table *table)
{
    SAY(hop_algorithm_table_to_text(table));
}

static void algorithm_table(void)
{
    struct hop_algorithm_table *table = MAKE(hop_algorithm_table_create());
    struct hop_algorithm_row row = {
        .collective = HOP_COLLECTIVE_ALLREDUCE, .ranks = 8, .algorithm = "ring", .remark = "said so"};
    const struct hop_algorithm_row *found = NULL;
    bool good = table && CALL(hop_algorithm_table_note(table, "a remark", DIAG));
    for (uint64_t i = 0; good && i < 12; i++) {
        char *before = hop_algorithm_table_to_text(table);
        row.from_vector_bytes = i * 1024;
        good = CALL(hop_algorithm_table_add(table, &row, DIAG));
        if (good)
            free(before);
        else
            SAME(before, hop_algorithm_table_to_text(table));
    }
    if (good && CALL(hop_algorithm_table_find(table, HOP_COLLECTIVE_ALLREDUCE, 8, 5000, &found, DIAG)))
        WRITE(hop_algorithm_table_to_text(table));
    hop_algorithm_table_destroy(table);
}

static void algorithm_table_read(void)
{
    struct hop_algorithm_table *table = NULL;
    if (CALL(hop_algorithm_table_load(CORPUS "algorithm_table/levels.txt", &table, DIAG)))
        say_table(table);
    hop_algorithm_table_destroy(table);
    table = NULL;
    if (CALL(hop_algorithm_table_parse(PARSED("# remark\n# sizes: whole vectors, as nccl-tests prints them\nallreduce "
                                              "8 0 doubling - # 4 us\nallreduce 8 100KiB ring -\n"),
                                       &table, DIAG)))
        say_table(table);
    hop_algorithm_table_destroy(table);
}

static void stages(void)
{
    struct hop_stages *stages = NULL;
    const uint64_t sizes[] = {1 << 20, 4 << 20};
    struct hop_stages_gather gather = {.nodes = 2, .devices = 2, .bytes = 1 << 20};
    struct hop_stages_choice choice;
    static struct hop_stages_way ways[64];
    uint32_t count = 0;
    if (CALL(hop_stages_load(DATA "steps/novo-g-transfer.steps", &stages, DIAG)) &&
        CALL(hop_stages_choose(stages, 1 << 20, NULL, &choice, DIAG)) &&
        CALL(hop_stages_ways(stages, 1 << 20, NULL, ways, &count, DIAG)))
        WRITE(hop_stages_to_text(stages));
    hop_stages_destroy(stages);
    stages = NULL;
    if (CALL(hop_stages_parse(PARSED("steps  read network\n1MiB 1ms 2ms\n2MiB 2ms 3ms\n4MiB 3ms 4ms\n"), &stages,
                              DIAG)) &&
        CALL(hop_stages_gather(stages, &gather, DIAG)))
        WRITE(hop_stages_to_json(stages, NULL, sizes, 2, &gather, 1));
    hop_stages_destroy(stages);
}

static void units(void)
{
    uint64_t bytes;
    double value;
    struct hop_fault broken;
    const struct hop_device_facts *device;
    (void)(CALL(hop_parse_bytes("4MiB", 4, &bytes, DIAG)) && CALL(hop_parse_seconds("4ms", 3, &value, DIAG)) &&
           CALL(hop_parse_rate("4GB/s", 5, &value, DIAG)) && CALL(hop_device_named("host", &device, DIAG)));
    (void)CALL(hop_fault_read(calls_machine(), "link gpu0--board0 at 10us", &broken, DIAG));
    DO(hop_traffic_detect("0,1\n1,0\n", 8));
}

const struct calls_case calls_of_nouns[] = {
    CASE(topology_builtin),
    CASE(topology_fabric),
    CASE(topology_torus),
    CASE(topology_dragonfly),
    CASE(topology_nccl),
    CASE(topology_smi),
    CASE(topology_rocm),
    CASE(topology_cluster),
    CASE(topology_json),
    CASE(topology_load_with),
    CASE(topology_parse),
    CASE(topology_build),
    CASE(topology_add_route),
    CASE(topology_set),
    CASE(topology_set_link),
    CASE(topology_set_parameter),
    CASE(topology_look),
    CASE(topology_find_circle),
    CASE(topology_write),
    CASE(topology_loads),
    CASE(router),
    CASE(schedule_text),
    CASE(schedule_goal),
    CASE(schedule_parse),
    CASE(schedule_json),
    CASE(schedule_load_chakra),
    CASE(chakra_groups),
    CASE(chakra_compute),
    CASE(chakra_gzip),
    CASE(chakra_collectives),
    CASE(chakra_messages),
    CASE(schedule_build),
    CASE(schedule_write),
    CASE(schedule_look),
    CASE(patterns),
    CASE(graphs),
    CASE(pattern_traffic),
    CASE(collectives),
    CASE(collective_by),
    CASE(traffic_build),
    CASE(traffic_profile),
    CASE(traffic_matrix),
    CASE(traffic_market),
    CASE(traffic_parse),
    CASE(traffic_and_schedules),
    CASE(placements),
    CASE(placement_apply),
    CASE(measurements_csv),
    CASE(measurements_bandwidth_test),
    CASE(measurements_nvbandwidth),
    CASE(measurements_nvbandwidth_sums),
    CASE(measurements_transferbench),
    CASE(measurements_p2p),
    CASE(measurements_rocm),
    CASE(measurements_prediction),
    CASE(measurements_osu),
    CASE(measurements_nccl_tests),
    CASE(measurements_parse),
    CASE(measurements_load_all),
    CASE(algorithm_table),
    CASE(algorithm_table_read),
    CASE(stages),
    CASE(units),
    {NULL, NULL, false},
};
