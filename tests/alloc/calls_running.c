/* SPDX-License-Identifier: BSD-3-Clause */
/* What runs schedules and measures: teams, programs, groups, cards (calls.h). Ranks are threads of this process. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"

#define PARSED(text) "-", (text), strlen(text)

static const char *const devices[] = {"gpu0", "gpu1"};

/* The body as the only rank of a team. */
static void as_rank(hop_rank_body *body, void *context)
{
    const struct hop_launch_options how = {.size = sizeof how, .ranks = 1, .threads = true, .timeout_s = 60};
    int result = 1;
    enum hop_status status = hop_launch(&how, body, context, &result, DIAG); /* a rank that lacked memory is lost */
    NEED((status == HOP_OK && result == 0) || status == HOP_ERR_MEMORY);
}

static int nothing(struct hop_team *team, void *context)
{
    (void)team, (void)context;
    return 0;
}

static void launch(void)
{
    const struct hop_launch_options how = {.size = sizeof how, .ranks = 2, .threads = true, .timeout_s = 60};
    int result = 1;
    if (CALL(hop_launch(&how, nothing, NULL, &result, DIAG)))
        calls_sayf("%d", result);
}

static void session(void)
{
    char name[HOP_SESSION_SIZE];
    struct hop_team *team = NULL;
    const struct hop_team_options options = {.size = sizeof options, .timeout_s = 60};
    if (CALL(hop_session_create(1, name, DIAG)) && CALL(hop_team_join(name, 0, &options, &team, DIAG)) &&
        CALL(hop_team_barrier(team, DIAG)))
        (void)CALL(hop_team_finish(team, DIAG));
    hop_team_destroy(team);
}

/* Memory that it has already, with a name. */
static void register_memory(struct hop_team *team)
{
    char name[64];
    (void)snprintf(name, sizeof name, "/hopcast-calls-%d", (int)getpid());
    int file = shm_open(name, O_RDWR | O_CREAT, 0600);
    NEED(file >= 0 && ftruncate(file, 4096) == 0);
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    NEED(memory != MAP_FAILED);
    if (CALL(hop_team_register(team, name, memory, 4096, DIAG)))
        (void)CALL(hop_team_free(team, memory, DIAG));
    (void)munmap(memory, 4096);
    (void)close(file);
    (void)shm_unlink(name);
}

static int use_team(struct hop_team *team, void *context)
{
    void *memory = NULL;
    const struct hop_agreement items[] = {{"number", 7, false}};
    (void)context;
    (void)(CALL(hop_team_barrier(team, DIAG)) && CALL(hop_team_agree(team, items, 1, DIAG)));
    if (CALL(hop_team_allocate(team, 5000, &memory, DIAG)))
        (void)CALL(hop_team_free(team, memory, DIAG));
    register_memory(team);
    return 0;
}

static void team(void)
{
    as_rank(use_team, NULL);
}

struct job {
    const struct hop_schedule *schedule;
    struct hop_program_options options;
};

static int run_program(struct hop_team *team, void *context)
{
    struct job *job = context;
    struct hop_program *program = NULL;
    const struct hop_measured_op *times;
    uint64_t wrong = 1;
    char bytes[64] = "";
    bool good = CALL(hop_program_create(team, job->schedule, &job->options, &program, DIAG));
    static char memory[2][1 << 16];
    for (uint32_t i = 0; good && i < 2 && job->options.bound && hop_program_binds(program, i); i++) {
        const struct hop_binding binding = {i, memory[i]};
        good = CALL(hop_program_bind(program, &binding, 1, DIAG));
    }
    good = good && CALL(hop_program_fill(program, 7, DIAG)) && CALL(hop_program_run(program, DIAG)) &&
           CALL(hop_program_check(program, 7, &wrong, DIAG));
    if (good) {
        calls_sayf("%llu wrong", (unsigned long long)wrong);
        if (CALL(hop_program_read(program, 0, 0, bytes, sizeof bytes, DIAG)) &&
            CALL(hop_program_write(program, 0, 0, bytes, sizeof bytes, DIAG)) && job->options.record &&
            CALL(hop_program_times(program, &times, DIAG)))
            calls_sayf("by %u", times[0].rank);
    }
    hop_program_destroy(program);
    return 0;
}

static void run_schedule(const char *text, struct hop_program_options options)
{
    struct hop_schedule *schedule = NULL;
    NEED(hop_schedule_parse(PARSED(text), &schedule, DIAG) == HOP_OK);
    as_rank(run_program, &(struct job){schedule, options});
    hop_schedule_destroy(schedule);
}

#define RUN "a: 0@gpu0:x -> 0@gpu0:y 4KiB; r: reduce sum f32 0@gpu0:x, 0@gpu0:y -> 0@gpu0:y 4KiB after a"

static void program(void)
{
    run_schedule(RUN, (struct hop_program_options){.size = sizeof(struct hop_program_options), .record = true});
}

static void program_engines(void)
{
    run_schedule(RUN, (struct hop_program_options){.size = sizeof(struct hop_program_options),
                                                   .engines = 1,
                                                   .pipelined = true,
                                                   .copies = HOP_COPIES_STAGED});
}

static void program_emulated(void)
{
    run_schedule("a: 0@gpu0:x -> 0@gpu1:y 4KiB",
                 (struct hop_program_options){
                     .size = sizeof(struct hop_program_options), .emulate = calls_machine(), .slower = 1});
}

static void program_bound(void)
{
    const struct hop_ranks ranks = {devices, 1};
    const struct hop_collective_options what = {
        .size = sizeof what, .kind = HOP_COLLECTIVE_ALLREDUCE, .vector_bytes = 4096, .callers = true};
    struct hop_schedule *schedule = NULL;
    NEED(hop_make_collective(&ranks, &what, &schedule, DIAG) == HOP_OK);
    as_rank(run_program,
            &(struct job){schedule, {.size = sizeof(struct hop_program_options), .bound = true, .definition = &what}});
    hop_schedule_destroy(schedule);
}

/* ---- measuring, by processes ---- */

static void measure(void)
{
    const uint64_t size = 4096;
    const struct hop_measure_options options = {.size = sizeof options,
                                                .topology = calls_machine(),
                                                .devices = 2,
                                                .sizes = &size,
                                                .size_count = 1,
                                                .time_s = 1e-6,
                                                .kinds = 1 << HOP_MEASURE_PAIRS,
                                                .program = {.size = sizeof options.program},
                                                .launch = {.size = sizeof options.launch}};
    struct hop_measure_result *result = NULL;
    if (CALL(hop_measure(&options, &result, DIAG))) {
        calls_sayf("%u rows", result->row_count);
    }
    hop_measure_result_destroy(result);
}

/* What is measured differs each time; its writers are asked about a result that does not. */
static void measure_write(void)
{
    const double samples[] = {1e-6, 1e-6, 1e-6};
    const struct hop_measure_row row = {
        .kind = HOP_MEASURE_PAIRS,
        .name = "a",
        .from = "gpu0",
        .to = "gpu1",
        .level = HOP_LEVEL_SWITCH,
        .bytes = 4096,
        .time_s = {.count = 3, .median = 1e-6, .low = 1e-6, .high = 1e-6, .confidence = 0.75}};
    const struct hop_measure_result result = {.topology = calls_machine(),
                                              .rows = &row,
                                              .row_count = 1,
                                              .device_count = 2,
                                              .samples = samples,
                                              .rounds = 3,
                                              .memory_Bps = NAN,
                                              .memory_spread_Bps = NAN};
    WRITE(hop_measure_to_csv(&result));
    WRITE(hop_measure_to_raw(&result));
    WRITE(hop_measure_to_json(&result));
    const struct hop_measured_op medians[4] = {{0, 0, 1e-3, 0, HOP_VIA_P2P, false},
                                               {1e-3, 1e-3, 2e-3, 0, HOP_VIA_P2P, false},
                                               {0, 0, 3e-3, 1, HOP_VIA_P2P, false},
                                               {0, 0, 2e-3, 3, HOP_VIA_P2P, false}};
    const struct hop_sample_summary took_s[4] = {row.time_s, row.time_s, row.time_s, row.time_s};
    WRITE(hop_launches_to_csv(calls_schedule(), medians, took_s));
}

static void amb_write(void)
{
    struct hop_amb_row row = {.host = "none",
                              .device = "ring:2",
                              .size_bytes = 4096,
                              .device_bytes = 8192,
                              .min_s = 1e-6,
                              .avg_s = 2e-6,
                              .max_s = 3e-6,
                              .iterations = 1};
    const struct hop_amb_result result = {.job = {.carrier = "openmpi", .ranks = 2, .hosts = 1},
                                          .device = "host",
                                          .iterations = 1,
                                          .rows = &row,
                                          .row_count = 1};
    WRITE(hop_amb_to_json(&result));
}

static void measure_flat(void)
{
    struct hop_topology *topology = NULL;
    if (CALL(hop_measure_flat(3, &topology, DIAG)))
        SAY(hop_topology_to_json(topology));
    hop_topology_destroy(topology);
}

static void measure_ways(void)
{
    struct hop_schedule *schedule = NULL;
    NEED(hop_schedule_parse(PARSED("a: 0@gpu0:x -> 1@gpu1:x 4KiB"), &schedule, DIAG) == HOP_OK);
    struct hop_run_way way = {.schedule = schedule, .program = {.size = sizeof way.program}};
    const struct hop_ways_options options = {.size = sizeof options,
                                             .launch = {.size = sizeof options.launch, .ranks = 2, .threads = true},
                                             .rounds = 1,
                                             .round_s = 1e-6};
    if (CALL(hop_measure_ways(&way, 1, &options, DIAG)))
        calls_sayf("%d", way.median_s > 0);
    hop_schedule_destroy(schedule);
}

static void copies_tune(void)
{
    const uint64_t size = 4096, packet = 1024;
    const enum hop_collective_kind kind = HOP_COLLECTIVE_ALLGATHER;
    const struct hop_copies_tune_options options = {
        .size = sizeof options,
        .ways = {.size = sizeof options.ways,
                 .launch = {.size = sizeof options.ways.launch, .ranks = 2, .threads = true},
                 .rounds = 1,
                 .round_s = 1e-6},
        .program = {.size = sizeof options.program},
        .devices = devices,
        .collectives = &kind,
        .collective_count = 1,
        .sizes = &size,
        .size_count = 1,
        .packets = &packet,
        .packet_count = 1};
    char *text = NULL, *json = NULL;
    if (CALL(hop_copies_tune(&options, "here", &text, &json, DIAG)))
        calls_sayf("%d %d", text != NULL, json != NULL);
    free(text);
    free(json);
}

/* ---- groups and cards ---- */

static void group(void)
{
    struct hop_group *made = NULL;
    struct hop_group_message message = {0};
    if (CALL(hop_group_create(NULL, &made, DIAG))) {
        struct hop_team *joined = NULL;
        if (CALL(hop_group_send(made, 0, 3, "hello", 6, DIAG))) {
            DO(hop_group_receive(made, 0, &message));
            free(message.bytes);
        }
        (void)CALL(hop_group_barrier(made, DIAG));
        if (CALL(hop_team_join_group(made, 0, NULL, &joined, DIAG)))
            (void)CALL(hop_team_finish(joined, DIAG));
        hop_team_destroy(joined);
        (void)CALL(hop_group_finish(made, DIAG));
    }
    hop_group_destroy(made);
}

static void team_start(void)
{
    struct hop_group *made = NULL;
    struct hop_team *joined = NULL;
    if (CALL(hop_team_start(NULL, &made, &joined, DIAG)))
        (void)CALL(hop_team_finish(joined, DIAG));
    hop_team_destroy(joined);
    hop_group_destroy(made);
}

static int use_card(struct hop_team *team, void *context)
{
    static char from[4096], to[4096];
    struct hop_apenet *card = NULL;
    uint64_t id = 0;
    int gpu = 0;
    void *memory = NULL;
    uint32_t mine = 5, all = 0;
    (void)context;
    if (!CALL(hop_apenet_open(team, NULL, &card, DIAG)))
        return 0;
    if (CALL(hop_apenet_gpu(card, NULL, 0, &gpu, DIAG)) &&
        CALL(hop_apenet_gpu_allocate(card, gpu, 4096, &memory, DIAG))) {
        (void)CALL(hop_apenet_gpu_copy(card, gpu, memory, from, 4096, DIAG));
        DO(hop_apenet_gpu_free(card, gpu, memory));
    }
    (void)CALL(hop_apenet_gather(card, &mine, sizeof mine, &all, DIAG));
    if (CALL(hop_apenet_register(card, to, sizeof to, HOP_APENET_HOST, DIAG))) {
        const struct hop_apenet_put put = {.rank = 0,
                                           .process = hop_apenet_process(card, 0),
                                           .address = (uint64_t)(uintptr_t)to,
                                           .source = from,
                                           .bytes = 4096,
                                           .place = HOP_APENET_HOST};
        struct hop_apenet_event event = {0};
        if (CALL(hop_apenet_put(card, &put, &id, DIAG))) {
            for (int i = 0; i < 2; i++) {
                DO(hop_apenet_wait(card, 30, &event));
                if (event.error)
                    calls_sayf("%s", hop_apenet_error_text(event.error));
            }
        }
        DO(hop_apenet_poll(card, &event));
        (void)CALL(hop_apenet_failure(card, DIAG));
        (void)CALL(hop_apenet_unregister(card, to, DIAG));
    }
    (void)CALL(hop_apenet_close(card, DIAG));
    return 0;
}

static void card(void)
{
    as_rank(use_card, NULL);
}

const struct calls_case calls_of_running[] = {
    CASE(launch),        CASE(session),          CASE(team),
    CASE(program),       CASE(program_engines),  CASE(program_emulated),
    CASE(program_bound), CASE(measure),          CASE(measure_write),
    CASE(amb_write),     CASE(measure_flat),     CASE(measure_ways),
    CASE(copies_tune),   {"group", group, true}, {"team_start", team_start, true},
    CASE(card),          {NULL, NULL, false},
};
