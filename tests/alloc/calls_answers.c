/* SPDX-License-Identifier: BSD-3-Clause */
/* What is asked of topologies and schedules: predictions, orders, placements, comparisons, fits; and their writers (calls.h). */
#include "calls.h"

#define PARSED(text) "-", (text), strlen(text)

static struct hop_schedule *parse(const char *text)
{
    struct hop_schedule *schedule = NULL;
    NEED(hop_schedule_parse(PARSED(text), &schedule, DIAG) == HOP_OK);
    return schedule;
}

static struct hop_topology *load(const char *source)
{
    struct hop_topology *topology = NULL;
    NEED(hop_topology_load(source, &topology, DIAG) == HOP_OK);
    return topology;
}

static struct hop_network *network_of(const struct hop_topology *topology, const char *models)
{
    struct hop_network *network = NULL;
    NEED(hop_network_create(topology, models, &network, DIAG) == HOP_OK);
    return network;
}

static const struct hop_simulate_options detailed = {.size = sizeof detailed, .detail = HOP_DETAIL_SEGMENTS};

/* The schedule on the machine, never to be given back. */
static struct hop_timeline *predicted(void)
{
    static struct hop_timeline *made;
    if (!made)
        NEED(hop_simulate(network_of(calls_machine(), NULL), calls_schedule(), &detailed, &made, DIAG) == HOP_OK);
    return made;
}

/* ---- models and simulations ---- */

static void network(void)
{
    struct hop_network *made = NULL;
    const struct hop_share *shares;
    double rates_Bps[3];
    if (CALL(hop_network_create(calls_machine(), "pcie", &made, DIAG))) {
        struct hop_topology *t = calls_machine();
        uint32_t routes[3];
        for (uint32_t i = 0; i < 3; i++)
            NEED(hop_router_find(hop_network_router(made), hop_topology_find(t, "gpu0"),
                                 hop_topology_find(t, i == 0   ? "gpu1"
                                                      : i == 1 ? "gpu4"
                                                               : "host0"),
                                 &routes[i], DIAG) == HOP_OK);
        const struct hop_flow flows[] = {{routes[0], 1}, {routes[1], 2}, {routes[2], 1}};
        if (CALL(hop_network_rates(made, flows, 3, &shares, DIAG)))
            calls_sayf("%.17g %.17g %.17g", shares[0].rate_Bps, shares[1].rate_Bps, shares[2].rate_Bps);
        if (CALL(hop_network_rates_of(made, routes, 3, rates_Bps, DIAG)))
            calls_sayf("%.17g %.17g %.17g", rates_Bps[0], rates_Bps[1], rates_Bps[2]);
        WRITE(hop_network_models(made));
    }
    hop_network_destroy(made);
}

static void simulate_on(const char *source, const char *models, const char *text,
                        const struct hop_simulate_options *options)
{
    struct hop_topology *topology = load(source);
    struct hop_schedule *schedule = parse(text);
    struct hop_network *made = NULL;
    struct hop_timeline *timeline = NULL;
    if (CALL(hop_network_create(topology, models, &made, DIAG)) &&
        CALL(hop_simulate(made, schedule, options, &timeline, DIAG)))
        SAY(hop_timeline_to_json(timeline, NULL, true));
    hop_timeline_destroy(timeline);
    hop_network_destroy(made);
    hop_schedule_destroy(schedule);
    hop_topology_destroy(topology);
}

static void simulate_pcie(void)
{
    simulate_on("t2", NULL, SCHEDULE "; e: gpu0 -> gpu5 1MiB via staged 256KiB after b; w: work gpu2 5us after c",
                &detailed);
}

static void simulate_credit(void)
{
    simulate_on("t2", "credit", SCHEDULE, &detailed);
}

static void simulate_fair(void)
{
    simulate_on("dgx-1", NULL, SCHEDULE, &detailed);
}

static void simulate_infiniband(void)
{
    simulate_on("fat-tree:leaves=2,spines=1,hosts=2", "infiniband", "node0 -> node2 1MiB; node1 -> node2 1MiB",
                &detailed);
}

static void simulate_loggp(void)
{
    struct hop_topology *topology = load("fat-tree:leaves=2,spines=1,hosts=2");
    struct hop_schedule *goal = NULL, *schedule = NULL;
    struct hop_placement *placement = NULL;
    struct hop_network *made = NULL;
    struct hop_timeline *timeline = NULL;
    NEED(hop_schedule_load(HOPCAST_SOURCE "/data/schedules/ring4.goal", &goal, DIAG) == HOP_OK &&
         hop_placement_make(topology, 4, HOP_PLACEMENT_PACKED, &placement, DIAG) == HOP_OK &&
         hop_placement_apply(placement, goal, &schedule, DIAG) == HOP_OK);
    if (CALL(hop_network_create(topology, "loggp", &made, DIAG)) &&
        CALL(hop_simulate(made, schedule, &detailed, &timeline, DIAG)))
        WRITE(hop_timeline_to_json(timeline, NULL, true));
    hop_timeline_destroy(timeline);
    hop_network_destroy(made);
    hop_placement_destroy(placement);
    hop_schedule_destroy(schedule);
    hop_schedule_destroy(goal);
    hop_topology_destroy(topology);
}

static void simulate_packets(void)
{
    static const struct hop_fault broken = {.kind = HOP_FAULT_LINK, .at_s = 1e-5, .link = 0, .both = true};
    static const struct hop_packet_options packet = {.size = sizeof packet, .faults = &broken, .fault_count = 1};
    const struct hop_simulate_options options = {
        .size = sizeof options, .detail = HOP_DETAIL_SEGMENTS, .fidelity = HOP_FIDELITY_PACKET, .packet = &packet};
    simulate_on("torus:4x4,link=1GB/s,latency=100ns", NULL,
                "a: node0 -> node1 64KiB; b: node2 -> node3 64KiB; c: node1 -> node5 32KiB", &options);
}

static void simulation(void)
{
    struct hop_network *made = network_of(calls_machine(), NULL);
    struct hop_simulation *prepared = NULL;
    double makespan_s;
    if (CALL(hop_simulation_create(made, calls_schedule(), &detailed, &prepared, DIAG)) &&
        CALL(hop_simulation_run(prepared, &makespan_s, DIAG)) && CALL(hop_simulation_run(prepared, &makespan_s, DIAG)))
        calls_sayf("%.17g %.17g", makespan_s, hop_timeline_makespan_s(hop_simulation_timeline(prepared)));
    hop_simulation_destroy(prepared);
    hop_network_destroy(made);
}

static struct hop_timeline *fresh(struct hop_network **made)
{
    struct hop_timeline *timeline = NULL;
    *made = network_of(calls_machine(), NULL);
    NEED(hop_simulate(*made, calls_schedule(), &detailed, &timeline, DIAG) == HOP_OK);
    return timeline;
}

/* What a timeline works out when it is asked. */
static void timeline_look(void)
{
    struct hop_network *made;
    struct hop_timeline *timeline = fresh(&made);
    struct hop_overload full[8];
    struct hop_loss losses[8];
    uint32_t first;
    COUNT(hop_timeline_losses(timeline, 1, losses, 8));
    COUNT(hop_timeline_never_two_way(timeline, &first));
    COUNT(hop_timeline_overloads(timeline, full, 8));
    hop_timeline_destroy(timeline);
    hop_network_destroy(made);
}

#define WRITE_NEW(...)                                                                                                 \
    do {                                                                                                               \
        struct hop_network *made;                                                                                      \
        struct hop_timeline *timeline = fresh(&made);                                                                  \
        WRITE(__VA_ARGS__);                                                                                            \
        hop_timeline_destroy(timeline);                                                                                \
        hop_network_destroy(made);                                                                                     \
    } while (0)

static void timeline_write(void)
{
    static const char *const titles[2] = {"before", "after"};
    WRITE_NEW(hop_timeline_to_gantt(timeline, NULL));
    WRITE_NEW(hop_timeline_to_trace(timeline));
    WRITE_NEW(hop_timeline_explain(timeline, 1));
    WRITE_NEW(hop_timeline_to_json(timeline, NULL, true));
    WRITE_NEW(hop_timeline_to_steps(timeline, 100));
    WRITE_NEW(hop_timeline_to_steps_svg(timeline));
    WRITE_NEW(hop_timelines_to_svg(timeline, predicted(), "order", titles));
}

static void timeline_measured(void)
{
    struct hop_network *made = network_of(calls_machine(), NULL);
    const struct hop_measured_op times[4] = {{0, 0, 1e-3, 0, HOP_VIA_P2P, false},
                                             {1e-3, 1e-3, 2e-3, 0, HOP_VIA_P2P, false},
                                             {0, 0, 3e-3, 1, HOP_VIA_P2P, false},
                                             {0, 0, 2e-3, 3, HOP_VIA_P2P, false}};
    struct hop_timeline *timeline = NULL;
    if (CALL(hop_timeline_measured(made, calls_schedule(), times, &timeline, DIAG)))
        SAY(hop_timeline_to_json(timeline, NULL, true));
    hop_timeline_destroy(timeline);
    hop_network_destroy(made);
}

/* ---- what else may hold ---- */

static void uncertainty(void)
{
    struct hop_uncertainty *found = NULL;
    if (CALL(hop_uncertainty_find(predicted(), NULL, &found, DIAG)))
        calls_sayf("%.17g %.17g %.17g, %u causes, %u models: %s", found->value_s, found->low_s, found->high_s,
                   found->cause_count, found->model_count, found->models);
    hop_uncertainty_destroy(found);
}

static void scenarios(void)
{
    const struct hop_timeline *const timelines[] = {predicted()};
    const struct hop_scenario_options options = {.size = sizeof options, .other_models = true, .ranges = true};
    struct hop_scenarios *found = NULL;
    struct hop_network *made = NULL;
    if (CALL(hop_scenarios_find(timelines, 1, &options, &found, DIAG))) {
        for (uint32_t i = 0; hop_scenarios_at(found, i); i++)
            calls_sayf("%s", hop_scenarios_at(found, i)->name);
        for (uint32_t i = 0; hop_scenarios_at(found, i); i++) {
            made = NULL;
            if (CALL(hop_scenarios_network(found, i, &made, DIAG)))
                SAY(hop_network_models(made));
            hop_network_destroy(made);
        }
    }
    hop_scenarios_destroy(found);
}

static void gain(void)
{
    struct hop_schedule *after =
        parse("a: gpu0 -> gpu1 1MiB; b: gpu0 -> gpu2 2MiB; c: gpu1 -> gpu2 1MiB after b; d: gpu3 -> gpu1 1MiB");
    struct hop_gain *found = NULL;
    if (CALL(hop_gain_find(calls_machine(), calls_schedule(), after, NULL, &found, DIAG)))
        for (uint32_t i = 0; i < found->case_count; i++)
            calls_sayf("%s %.17g %.17g", found->cases[i].scenario.name, found->cases[i].before_s,
                       found->cases[i].after_s);
    hop_gain_destroy(found);
    hop_schedule_destroy(after);
}

/* ---- orders ---- */

static void say_schedule(const struct hop_schedule *schedule)
{
    if (schedule)
        SAY(hop_schedule_to_text(schedule));
}

static void order_search(void)
{
    struct hop_order_options options = {.size = sizeof options, .threads = 1, .max_nodes = 5000, .seed = 1};
    struct hop_order_result *result = NULL;
    if (CALL(hop_order_search(calls_machine(), calls_schedule(), &options, &result, DIAG))) {
        const struct hop_order_report report = {calls_machine(), calls_schedule(), &options, 0, NULL, NULL};
        calls_sayf("%.17g %.17g %d %llu", result->value_s, result->bound_s, result->proved,
                   (unsigned long long)result->nodes);
        say_schedule(result->best);
        result->elapsed_s = 0;
        WRITE(hop_order_result_to_json(&report, result));
    }
    hop_order_result_destroy(result);
}

/* Too many orders for all to be tried. */
static void order_search_large(void)
{
    struct hop_order_options options = {
        .size = sizeof options, .threads = 1, .max_nodes = 300, .seed = 1, .no_waits = false};
    struct hop_order_result *result = NULL;
    struct hop_schedule *schedule = NULL;
    NEED(hop_tune_make("alltoall:5", calls_machine(), 1 << 20, &schedule, DIAG) == HOP_OK);
    if (CALL(hop_order_search(calls_machine(), schedule, &options, &result, DIAG))) {
        calls_sayf("%.17g %.17g", result->value_s, result->bound_s);
        say_schedule(result->best);
    }
    hop_order_result_destroy(result);
    hop_schedule_destroy(schedule);
}

static void order_checkpoint(void)
{
    struct hop_order_options options = {.size = sizeof options,
                                        .threads = 1,
                                        .max_nodes = 200,
                                        .seed = 1,
                                        .checkpoint = "calls.order",
                                        .checkpoint_s = 1e-9};
    (void)remove("calls.order");
    for (int i = 0; i < 2; i++) {
        struct hop_order_result *result = NULL;
        if (CALL(hop_order_search(calls_machine(), calls_schedule(), &options, &result, DIAG)))
            calls_sayf("%.17g", result->value_s);
        hop_order_result_destroy(result);
    }
}

static void order_robust(void)
{
    struct hop_order_options options = {.size = sizeof options, .threads = 1, .max_nodes = 1000, .seed = 1};
    struct hop_order_robust *robust = NULL;
    struct hop_schedule *few = parse("a: gpu0 -> gpu1 1MiB; b: gpu0 -> gpu2 2MiB; c: gpu4 -> gpu2 1MiB");
    if (CALL(hop_order_robust(calls_machine(), few, &options, few, &robust, DIAG))) {
        calls_sayf("%.17g %.17g %u", robust->nominal_regret, robust->robust_regret, robust->case_count);
        say_schedule(robust->best);
    }
    hop_order_robust_destroy(robust);
    hop_schedule_destroy(few);
}

static void order_enumerate(void)
{
    struct hop_order_options options = {.size = sizeof options, .threads = 1, .seed = 1};
    struct hop_order_distribution *all = NULL;
    if (CALL(hop_order_enumerate(calls_machine(), calls_schedule(), &options, &all, DIAG))) {
        const struct hop_order_report report = {calls_machine(), calls_schedule(), &options, 0, NULL, NULL};
        all->elapsed_s = 0;
        WRITE(hop_order_distribution_to_json(&report, all));
        WRITE(hop_order_distribution_to_histogram(all, NULL));
        WRITE(hop_order_distribution_to_svg(all));
    }
    hop_order_distribution_destroy(all);
}

/* ---- placements and plans ---- */

static void map_by(struct hop_map_options *options)
{
    struct hop_traffic *traffic = NULL;
    struct hop_map_result *result = NULL;
    char *text = NULL;
    options->size = sizeof *options;
    NEED(hop_pattern_traffic("halo:2x2,bytes=1MiB", HOP_MEMORY_DEVICE, &traffic, DIAG) == HOP_OK);
    if (CALL(hop_map(calls_machine(), traffic, options, &result, DIAG))) {
        for (uint32_t r = 0; r < result->ranks; r++)
            calls_sayf("%u on %u", r, result->seats[r].device);
        calls_sayf("%.17g %.17g %s", result->after.metric[options->metric], result->bound, result->method);
        result->elapsed_s = 0;
        WRITE(hop_map_result_to_json(calls_machine(), traffic, result, NULL));
        const char *const forms[] = {"rankfile", "openmpi", "slurm"};
        for (int i = 0; options->cores && i < 3; i++) {
            if (CALL(hop_map_launch(result, forms[i], NULL, &text, DIAG)))
                SAY(text);
        }
    }
    hop_map_result_destroy(result);
    hop_traffic_destroy(traffic);
}

static void map_exact(void)
{
    static const char *const keep[] = {"0=gpu1"}, *const excluded[] = {"gpu3"};
    map_by(&(struct hop_map_options){.keep = keep,
                                     .keep_count = 1,
                                     .excluded = excluded,
                                     .excluded_count = 1,
                                     .metric = HOP_MAP_BANDWIDTH,
                                     .solver = HOP_MAP_EXACT,
                                     .cores = "package:2 core:8 pu:1"});
}

static void map_exchange(void)
{
    map_by(&(struct hop_map_options){.metric = HOP_MAP_CONGESTION, .solver = HOP_MAP_EXCHANGE, .no_simulation = true});
}

static void map_simulated(void)
{
    map_by(&(struct hop_map_options){.metric = HOP_MAP_SIMULATED, .max_operations = 500});
}

static void say_plan(const struct hop_plan_result *result)
{
    struct hop_plan_result timeless = *result;
    timeless.elapsed_s = 0;
    say_schedule(result->best);
    WRITE(hop_plan_result_to_json(calls_machine(), "a plan", &timeless));
}

static void plan_with(const char *text, struct hop_plan_options *options)
{
    struct hop_schedule *schedule = parse(text);
    struct hop_plan_result *result = NULL;
    options->size = sizeof *options, options->threads = 1, options->seed = 1;
    if (CALL(hop_plan(calls_machine(), schedule, options, &result, DIAG))) {
        say_plan(result);
    }
    hop_plan_result_destroy(result);
    hop_schedule_destroy(schedule);
}

#define EXCHANGE                                                                                                       \
    "a: rank0 -> rank1 1MiB; b: rank1 -> rank2 2MiB; c: rank2 -> rank0 1MiB after a; d: rank0 -> rank2 4MiB"

static void plan_any_way(void)
{
    plan_with(EXCHANGE, &(struct hop_plan_options){.max_nodes = 200});
}

static void plan_direct(void)
{
    plan_with(EXCHANGE, &(struct hop_plan_options){.max_nodes = 300, .way = HOP_PLAN_DIRECT});
}

static void plan_staged(void)
{
    plan_with(EXCHANGE, &(struct hop_plan_options){.max_nodes = 100, .way = HOP_PLAN_STAGED, .keep_placement = true});
}

static void plan_robust(void)
{
    plan_with("a: rank0 -> rank1 1MiB; b: rank0 -> rank2 2MiB",
              &(struct hop_plan_options){.max_nodes = 100, .robust = true, .keep_placement = true});
}

static void plan_checkpoint(void)
{
    (void)remove("calls.plan");
    for (int i = 0; i < 2; i++)
        plan_with(EXCHANGE,
                  &(struct hop_plan_options){
                      .max_nodes = 100, .way = HOP_PLAN_DIRECT, .checkpoint = "calls.plan", .checkpoint_s = 1e-9});
}

static void plan_collective(void)
{
    const struct hop_collective_options what = {
        .size = sizeof what, .kind = HOP_COLLECTIVE_ALLREDUCE, .vector_bytes = 1 << 20};
    const struct hop_plan_options options = {
        .size = sizeof options, .max_nodes = 100, .threads = 1, .way = HOP_PLAN_DIRECT};
    struct hop_plan_result *result = NULL;
    if (CALL(hop_plan_collective(calls_machine(), 3, &what, &options, &result, DIAG)))
        say_plan(result);
    hop_plan_result_destroy(result);
}

/* ---- tuning ---- */

static const uint64_t sizes[] = {1 << 16, 1 << 22}, packets[] = {1 << 18};

static void tune_paths(void)
{
    struct hop_network *made = network_of(calls_machine(), NULL);
    const struct hop_tune_options options = {.size = sizeof options,
                                             .sizes = sizes,
                                             .size_count = 2,
                                             .packets = packets,
                                             .packet_count = 1,
                                             .max_evaluations = 30};
    struct hop_tuned_paths *paths = NULL;
    struct hop_tuned_mix *mix = NULL;
    if (CALL(hop_tune_paths(made, &options, &paths, DIAG)))
        WRITE(hop_tune_to_json(made, paths, NULL, 0));
    if (CALL(hop_tune_mix(made, calls_schedule(), &options, &mix, DIAG))) {
        const struct hop_tune_named_mix named = {"mix", calls_schedule(), mix};
        WRITE(hop_tune_to_json(made, NULL, &named, 1));
    }
    hop_tune_paths_destroy(paths);
    hop_tune_mix_destroy(mix);
    hop_network_destroy(made);
}

static const char *const devices[] = {"gpu0", "gpu1", "gpu2", "gpu3"};

static void tune_collective(void)
{
    struct hop_network *made = network_of(calls_machine(), NULL);
    const struct hop_ranks ranks = {devices, 4};
    const struct hop_collective_options what = {.size = sizeof what, .kind = HOP_COLLECTIVE_BROADCAST};
    const struct hop_tune_collective_options options = {
        .size = sizeof options, .sizes = sizes, .size_count = 2, .segments = packets, .segment_count = 1};
    struct hop_tuned_collective *tuned = NULL;
    struct hop_algorithm_table *table = hop_algorithm_table_create();
    if (CALL(hop_tune_collective(made, &ranks, &what, &options, &tuned, DIAG)) &&
        CALL(hop_algorithm_table_add_tuned(table, tuned, DIAG))) {
        const struct hop_tuned_collective *const all[] = {tuned};
        WRITE(hop_tuned_collectives_to_json(made, all, 1));
        SAY(hop_algorithm_table_to_text(table));
    }
    hop_algorithm_table_destroy(table);
    hop_tuned_collective_destroy(tuned);
    hop_network_destroy(made);
}

static void tune_stages(void)
{
    struct hop_network *made = network_of(calls_machine(), NULL);
    static const char *const places[] = {"gpu0", "host0", "gpu4"};
    struct hop_stages *stages = NULL;
    if (CALL(hop_stages_predict(made, places, 3, sizes, 2, &stages, DIAG)))
        SAY(hop_stages_to_text(stages));
    hop_stages_destroy(stages);
    hop_network_destroy(made);
}

static void tune_puts(void)
{
    struct hop_topology *topology = load("apenet:2x1x1");
    struct hop_network *made = network_of(topology, NULL);
    const struct hop_puts puts = {
        .size = sizeof puts, .from = "gpu0", .to = "gpu1", .bytes = 32 << 10, .count = 2, .method = HOP_PUT_PIPELINED};
    struct hop_put_row row = {.from = puts.from, .to = puts.to, .bytes = puts.bytes};
    struct hop_schedule *schedule = NULL;
    if (CALL(hop_puts_schedule(topology, &puts, &schedule, DIAG)))
        SAY(hop_schedule_to_text(schedule));
    for (int m = 0; m < HOP_PUT_METHODS; m++)
        row.times[m] = (struct hop_put_times){NAN, NAN, NAN};
    if (CALL(hop_puts_times(made, &puts, &row.times[HOP_PUT_PIPELINED], DIAG))) {
        WRITE(hop_puts_to_json(&row, 1));
        WRITE(hop_puts_to_svg(&row, 1, "puts"));
    }
    hop_schedule_destroy(schedule);
    hop_network_destroy(made);
    hop_topology_destroy(topology);
}

/* ---- sweeps ---- */

static bool say_result(uint32_t index, const struct hop_sweep_result *result, void *context)
{
    (void)context;
    calls_sayf("%u: %d %.17g %s", index, result->status, result->makespan_s, result->diag ? result->diag->what : "");
    return true;
}

static void sweep(void)
{
    static const char *const assignments[] = {"tau=0.2"};
    const struct hop_sweep_options options = {.size = sizeof options, .result = say_result};
    struct hop_sweep *made = NULL;
    struct hop_sweep_summary summary;
    uint32_t topology, schedule;
    bool good = CALL(hop_sweep_create(&made, DIAG)) &&
                CALL(hop_sweep_add_topology(made, calls_machine(), &topology, DIAG)) &&
                CALL(hop_sweep_add_schedule(made, calls_schedule(), &schedule, DIAG));
    for (uint32_t i = 0; good && i < 10; i++) {
        const struct hop_sweep_case one = {.schedule = schedule,
                                           .topology = topology,
                                           .assignments = assignments,
                                           .assignment_count = i % 2,
                                           .resize = true,
                                           .bytes = 1000 * (i + 1),
                                           .models = i > 5 ? "credit" : NULL};
        good = CALL(hop_sweep_add(made, &one, DIAG));
        calls_sayf("%u", good ? hop_sweep_count(made) : 0);
    }
    if (good && CALL(hop_sweep_run(made, &options, &summary, DIAG)))
        calls_sayf("%u done", summary.done);
    hop_sweep_destroy(made);
}

/* A case that fails is a result like others, but for one that lacks memory. */
static void sweep_on(void)
{
    struct hop_schedule *wrong = parse("gpu0 -> gpu99 1KiB");
    const struct hop_sweep_options options = {.size = sizeof options, .result = say_result, .keep_going = true};
    struct hop_sweep *made = NULL;
    struct hop_sweep_summary summary;
    uint32_t topology, schedule[2];
    NEED(hop_sweep_create(&made, DIAG) == HOP_OK &&
         hop_sweep_add_topology(made, calls_machine(), &topology, DIAG) == HOP_OK &&
         hop_sweep_add_schedule(made, calls_schedule(), &schedule[0], DIAG) == HOP_OK &&
         hop_sweep_add_schedule(made, wrong, &schedule[1], DIAG) == HOP_OK);
    for (uint32_t i = 0; i < 4; i++)
        NEED(hop_sweep_add(made, &(struct hop_sweep_case){.schedule = schedule[i % 2], .topology = topology}, DIAG) ==
             HOP_OK);
    if (CALL(hop_sweep_run(made, &options, &summary, DIAG)))
        calls_sayf("%u done, %u failed", summary.done, summary.failed);
    hop_sweep_destroy(made);
    hop_schedule_destroy(wrong);
}

/* ---- measurements ---- */

static void compare_models(void)
{
    static const char *const models[] = {NULL, "credit"};
    const struct hop_compare_options options = {.size = sizeof options, .ranges = true};
    struct hop_comparison *comparison = NULL;
    if (CALL(hop_compare_models(calls_measured(), calls_machine(), models, 2, &options, &comparison, DIAG))) {
        WRITE(hop_comparison_to_json(comparison));
        WRITE(hop_comparison_to_histogram(comparison, NULL));
        WRITE(hop_comparison_to_svg(comparison));
    }
    hop_comparison_destroy(comparison);
}

static void compare_timings(void)
{
    const struct hop_measurements *const others[] = {calls_measured()};
    struct hop_comparison *comparison = NULL;
    if (CALL(hop_compare_timings(calls_measured(), others, 1, NULL, &comparison, DIAG)))
        SAY(hop_comparison_to_json(comparison));
    hop_comparison_destroy(comparison);
}

static void calibrate_fit(void)
{
    const struct hop_fit_options options = {
        .size = sizeof options, .folds = 2, .compare = {.size = sizeof options.compare}};
    struct hop_fit_result *fit = NULL;
    if (CALL(hop_calibrate_fit(calls_measured(), calls_machine(), &options, &fit, DIAG))) {
        SAY(hop_topology_to_json(fit->topology));
        WRITE(hop_fit_result_to_json(fit));
    }
    hop_fit_result_destroy(fit);
}

static void calibrate_suggest(void)
{
    const struct hop_fit_options options = {.size = sizeof options, .compare = {.size = sizeof options.compare}};
    struct hop_suggestion *suggestion = NULL;
    if (CALL(hop_calibrate_suggest(calls_machine(), calls_measured(), NULL, &options, 2, &suggestion, DIAG)))
        WRITE(hop_suggestion_to_csv(suggestion));
    hop_suggestion_destroy(suggestion);
}

static void calibrate_curve(void)
{
    const struct hop_fit_options options = {.size = sizeof options, .compare = {.size = sizeof options.compare}};
    const uint32_t counts[] = {1};
    struct hop_curve_point points[HOP_CURVE_POINTS_MAX];
    uint32_t count = 0;
    if (CALL(hop_calibrate_curve(calls_measured(), calls_machine(), &options, counts, 1, 1, points, &count, DIAG)))
        WRITE(hop_curve_to_svg(points, count, "curve"));
}

static void calibrate_penalties(void)
{
    static struct hop_measurements *m;
    struct hop_penalty_result *penalties = NULL;
    if (!m)
        NEED(hop_measurements_load(HOPCAST_SOURCE "/data/measurements/infiniband-2011.csv", &m, DIAG) == HOP_OK);
    if (CALL(hop_calibrate_penalties(m, NULL, &penalties, DIAG)))
        WRITE(hop_penalty_result_to_json(penalties));
    hop_penalty_result_destroy(penalties);
}

static void lint(void)
{
    struct hop_topology *topology = load(HOPCAST_SOURCE "/data/topologies/nccl-two-switch.xml");
    struct hop_lint_report *report = NULL;
    if (CALL(hop_lint_run(topology, NULL, &report, DIAG)))
        WRITE(hop_lint_report_to_json(report));
    hop_lint_destroy(report);
    hop_topology_destroy(topology);
}

static void lint_measured(void)
{
    const struct hop_lint_options options = {.size = sizeof options, .measurements = calls_measured()};
    struct hop_lint_report *report = NULL;
    if (CALL(hop_lint_run(calls_machine(), &options, &report, DIAG)))
        WRITE(hop_lint_report_to_json(report));
    hop_lint_destroy(report);
}

static void lint_timeline(void)
{
    struct hop_network *made = network_of(calls_machine(), NULL);
    struct hop_schedule *schedule =
        parse("gpu0 -> gpu4 1MiB; gpu1 -> host0 1MiB; gpu0 -> gpu5 1MiB; gpu1 -> gpu5 1MiB");
    struct hop_timeline *timeline = NULL;
    struct hop_lint_risk *risks = NULL;
    uint32_t count = 0;
    NEED(hop_simulate(made, schedule, &detailed, &timeline, DIAG) == HOP_OK);
    if (CALL(hop_lint_timeline(timeline, &risks, &count, DIAG)))
        calls_sayf("%u risks", count);
    free(risks);
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(schedule);
    hop_network_destroy(made);
}

const struct calls_case calls_of_answers[] = {
    CASE(network),
    CASE(simulate_pcie),
    CASE(simulate_credit),
    CASE(simulate_fair),
    CASE(simulate_infiniband),
    CASE(simulate_loggp),
    CASE(simulate_packets),
    CASE(simulation),
    CASE(timeline_look),
    CASE(timeline_write),
    CASE(timeline_measured),
    CASE(uncertainty),
    CASE(scenarios),
    CASE(gain),
    CASE(order_search),
    CASE(order_search_large),
    CASE(order_checkpoint),
    CASE(order_robust),
    CASE(order_enumerate),
    CASE(map_exact),
    CASE(map_exchange),
    CASE(map_simulated),
    CASE(plan_any_way),
    CASE(plan_direct),
    CASE(plan_staged),
    CASE(plan_robust),
    CASE(plan_checkpoint),
    CASE(plan_collective),
    CASE(tune_paths),
    CASE(tune_collective),
    CASE(tune_stages),
    CASE(tune_puts),
    CASE(sweep),
    CASE(sweep_on),
    CASE(compare_models),
    CASE(compare_timings),
    CASE(calibrate_fit),
    CASE(calibrate_suggest),
    CASE(calibrate_curve),
    CASE(calibrate_penalties),
    CASE(lint),
    CASE(lint_measured),
    CASE(lint_timeline),
    {NULL, NULL, false},
};
