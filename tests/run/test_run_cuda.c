/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running on the device `cuda`, with a stand-in for the driver (fake_cuda/driver.c): collectives against their
 * definition through streams and events that end when they like, each rank with delays of its own, on one device and on
 * two; which device is whose, and what lies near it; and what the stand-in still holds once a program is gone.
 */
#include <fcntl.h>
#include <math.h>
#include <sys/syscall.h>

#include "base/numa.h"
#include "gpu_test.h"

enum { MOST_CASES = 1024 };

/* ---- collectives ---- */

struct one {
    struct wanted wanted;
    char what[256];
    struct hop_schedule *schedule;
    struct hop_program_options options;
    struct hop_run_hooks hooks;
};

struct many {
    struct one cases[MOST_CASES];
    uint32_t count, launches;
    unsigned seed;
    const struct machine *machine;
    const char *device;
    void (*between)(void);
};

static void add(struct many *many, struct wanted w, const char *algorithm, uint64_t segment, uint32_t placement,
                struct hop_program_options options)
{
    struct hop_diag diag;
    assert_true(many->count < MOST_CASES);
    struct one *c = &many->cases[many->count++];
    options.device = many->device;
    *c = (struct one){.wanted = w, .options = options};
    (void)snprintf(c->what, sizeof c->what, "%s by %s, %u ranks, %llu of %s, placement %u, copies %d%s%s",
                   hop_collective_name(w.kind), algorithm, w.n, (unsigned long long)w.count, hop_type_name(w.type),
                   placement, (int)options.copies, w.in_place ? ", in place" : "",
                   options.pipelined ? ", pipelined" : "");
    enum hop_status status = make_collective(&w, algorithm, segment, placement, &c->schedule, &diag);
    if (status != HOP_OK && segment) /* only some can be cut */
        status = make_collective(&w, algorithm, 0, placement, &c->schedule, &diag);
    if (status != HOP_OK)
        fail_msg("%s: %s", c->what, diag.what);
}

/* Each case: launches with data of their own, one that the library checks by itself, and nothing left of the program. */
static int run_cases(struct hop_team *team, void *context)
{
    const struct many *many = context;
    int wrong = 0;
    prepare_driver(team, many->seed, many->machine);
    for (uint32_t c = 0; c < many->count; c++) {
        const struct one *one = &many->cases[c];
        uint64_t differ = 0;
        struct hop_program *program;
        TRY(hop_program_create_hooked(team, one->schedule, &one->options, &one->hooks, &program, D));
        for (uint32_t launch = 0; launch < many->launches; launch++)
            wrong |=
                launch_and_compare(team, program, &one->wanted, one->what, c * 1000 + launch, many->between, false);
        TRY(hop_program_fill(program, c, D));
        TRY(hop_team_barrier(team, D)); /* pipelined launches do not wait for others to have filled */
        TRY(hop_program_run(program, D));
        TRY(hop_program_check(program, c, &differ, D));
        if (differ != 0)
            fprintf(stderr, "%s: %llu bytes are not as in a row\n", one->what, (unsigned long long)differ);
        REQUIRE(differ == 0);
        REQUIRE(live_objects() > 0);
        hop_program_destroy(program);
        REQUIRE(live_objects() == 0);
    }
    return wrong;
}

static void run_and_finish(struct many *many, uint32_t n)
{
    launch(n, false, run_cases, many);
    for (uint32_t c = 0; c < many->count; c++)
        hop_schedule_destroy(many->cases[c].schedule);
    free(many);
    assert_int_equal(count_names(getpid()), 0);
}

static struct many *new_cases(uint32_t launches, unsigned seed)
{
    struct many *many = calloc(1, sizeof *many);
    assert_non_null(many);
    many->launches = launches;
    many->seed = seed;
    many->device = "cuda";
    return many;
}

/* All algorithms of allreduce by all ways to copy; of the others each algorithm once. */
static struct many *all_algorithms(uint32_t n, const char *device, uint32_t placements)
{
    struct many *many = new_cases(2, n);
    many->device = device;
    uint32_t turn = n;
    char algorithm[64];
    for (unsigned kind = 0; kind < HOP_COLLECTIVE_COUNT; kind++) {
        for (size_t a = 0; algorithm_at((enum hop_collective_kind)kind, a, algorithm); a++) {
            uint32_t count = kind == HOP_COLLECTIVE_ALLREDUCE ? HOP_COPIES_DYNAMIC + 1 : 1;
            for (uint32_t copies = 0; copies < count; copies++, turn++) {
                const uint64_t sizes[] = {257, 3 * n + 1, 1, 1000, n - 1, 0};
                struct wanted w = {.kind = (enum hop_collective_kind)kind,
                                   .n = n,
                                   .root = turn % n,
                                   .count = sizes[turn % 6],
                                   .type = (enum hop_type)(turn % HOP_TYPE_COUNT),
                                   .reduce = operator_for((enum hop_type)(turn % HOP_TYPE_COUNT), turn / 2),
                                   .in_place = turn / 3 % 2};
                add(many, w, algorithm, turn % 4 ? 0 : 40, placements == 1 ? 2 : turn % placements,
                    ways((enum hop_copies)(count > 1 ? copies : turn % (HOP_COPIES_DYNAMIC + 1)), turn / 2 % 2));
            }
        }
    }
    return many;
}

/* Leaves each so many'th case, from that one on. */
static void keep(struct many *many, uint32_t every, uint32_t first)
{
    uint32_t kept = 0;
    for (uint32_t c = 0; c < many->count; c++) {
        if (c % every == first)
            many->cases[kept++] = many->cases[c];
        else
            hop_schedule_destroy(many->cases[c].schedule);
    }
    many->count = kept;
}

/* All of them on three ranks; of other numbers of ranks a sample, but in soak. */
static void every_algorithm_gives_what_the_collective_is_defined_to(void **state)
{
    (void)state;
    const uint32_t sizes[] = {3, 5, 2, 4, 1};
    for (uint32_t i = 0; i < soaked(5, REPEATED(3, 1)); i++) {
        struct many *many = all_algorithms(sizes[i], i % 2 ? "hip" : "cuda", 3);
        keep(many, soaked(1, i == 0 ? 1 : 4), 0);
        run_and_finish(many, sizes[i]);
    }
}

/* Pairs without access, one way or both, devices that a process does not see, streams that are late for milliseconds, and
 * drivers that share no more than a few events: the same results, on a device each. */
static void so_it_does_on_machines_that_refuse(void **state)
{
    static const struct machine machines[] = {{.refused = "sockets", .shared = "3"},
                                              {.refused = "0>1,2>3,3>2,4>0", .late = "2000"},
                                              {.hidden = true},
                                              {.shared = "0"},
                                              {.refused = "1>0,0>2", .events = "400", .late = "500"}};
    static const char *const buses[] = {"07", "0f", "47", "4e", "87", "90", "b7", "bd"};
    const uint32_t count = sizeof machines / sizeof machines[0];
    struct hop_topology *topology = machine_of(buses, 8);
    (void)state;
    for (uint32_t i = 0; i < soaked(4 * count, count); i += soaked(1, REPEATED(1, 2))) {
        uint32_t n = soaked(2 + i % 7, i == 0 ? 6 : 3);
        struct many *many = all_algorithms(n, i % 2 ? "cuda" : "hip", 1);
        many->machine = &machines[i % count];
        for (uint32_t c = 0; c < many->count; c++)
            many->cases[c].options.machine = topology;
        uint32_t every = soaked(1, REPEATED(5, 9)); /* a sample */
        keep(many, every, i % every);
        run_and_finish(many, n);
    }
    hop_topology_destroy(topology);
}

/* Now and then a rank stands still for a moment, so that others run ahead as far as they may. */
static void dawdle(void)
{
    static uint64_t random;
    random = scramble(random ? random : (uint64_t)getpid());
    const struct timespec nap = {0, (long)(random >> 8) % 300000};
    if (random % 4 == 0)
        (void)nanosleep(&nap, NULL);
}

static void no_launch_reads_what_an_earlier_one_left(void **state)
{
    static const char *const algorithms[] = {"gsb", "btb", "one-shot", "two-shot", "ring", "gsb-btb"};
    (void)state;
    for (unsigned seed = 1; seed <= soaked(6, REPEATED(3, 1)); seed++) {
        uint32_t n = 2 + seed % 3;
        struct many *many = new_cases(soaked(12, 6), seed);
        many->between = dawdle;
        for (size_t a = 0; a < sizeof algorithms / sizeof algorithms[0]; a++) {
            for (uint32_t way = 0; way < 3; way++) {
                const enum hop_copies copies[] = {HOP_COPIES_PEER, HOP_COPIES_STAGED, HOP_COPIES_DYNAMIC};
                struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, n, 0, 300, HOP_TYPE_I64, HOP_REDUCE_SUM, (a + way) % 2};
                add(many, w, algorithms[a], 0, (uint32_t)(a + seed) % 3, ways(copies[way], true));
            }
        }
        run_and_finish(many, n);
    }
}

/* Nobody waits for anybody but for the bytes: a packet of a copy that another mechanism has done meanwhile must be thrown away,
 * however late it comes. */
static void nor_does_a_packet_that_comes_late_write_into_a_later_launch(void **state)
{
    static const enum hop_collective_kind kinds[] = {HOP_COLLECTIVE_SCATTER, HOP_COLLECTIVE_BROADCAST,
                                                     HOP_COLLECTIVE_GATHER};
    static const char *const algorithms[] = {"gsb", "gsb-gsb", "gsb-btb"};
    static const struct machine late = {.late = "3000"};
    (void)state;
    for (unsigned seed = 1; seed <= soaked(20, 1); seed++) {
        struct many *many = new_cases(30, seed);
        many->between = dawdle;
        many->machine = &late;
        for (unsigned i = 0; i < 9; i++) {
            struct wanted w = {kinds[i / 3], 3, seed % 3, 11, HOP_TYPE_I64, HOP_REDUCE_SUM, i % 2};
            add(many, w, algorithms[i % 3], 0, i % 2 * 2, ways(HOP_COPIES_DYNAMIC, true));
        }
        run_and_finish(many, 3);
    }
}

static void copies_end_when_one_mechanism_lags_or_stalls_altogether(void **state)
{
    static const double delays[][2] = {{INFINITY, 0}, {0, INFINITY}, {2e-3, 0}, {0, 2e-3}, {5e-4, 1e-3}};
    (void)state;
    static const struct machine refusing = {.refused = "0>1,1>0", .late = "1000"};
    for (unsigned seed = 1; seed <= soaked(12, 3); seed++) {
        struct many *many = new_cases(2, seed);
        many->machine = seed % 3 ? NULL : &refusing;
        for (size_t d = 0; d < sizeof delays / sizeof delays[0]; d++) {
            struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, 4, 0, 300, HOP_TYPE_F32, HOP_REDUCE_SUM, false};
            struct hop_program_options options = ways(HOP_COPIES_DYNAMIC, d % 2);
            add(many, w, seed % 2 ? "gsb" : "btb", 0, (uint32_t)d % 3, options);
            memcpy(many->cases[many->count - 1].hooks.delay_s, delays[d], sizeof delays[d]);
        }
        run_and_finish(many, 4);
    }
}

/* ---- which device ---- */

static int find_devices(struct hop_team *team, void *context)
{
    static const char *const names[] = {"gpu2", "gpu0", "gpu1"};
    static const char *const places[] = {"4E", "07", "87"}; /* as the topology has them */
    const struct one *trial = context;
    struct hop_device_properties properties;
    struct hop_program *program;
    const struct machine machine = {.refused = "sockets"};
    prepare_driver(team, 3, &machine);
    (void)setenv("CUDA_VISIBLE_DEVICES", "6,5,2,1", 1); /* 0000:bd, 87, 4e and 07 */
    TRY(hop_program_create(team, trial->schedule, &trial->options, &program, D));
    program->ops->properties(program->device, &properties);
    for (uint32_t i = 0; i < 3; i++) {
        const char *name =
            program->layout.buffers[0].rank == hop_team_rank(team) ? program->layout.buffers[0].device : "";
        REQUIRE(strcmp(name, names[i]) != 0 || strncmp(properties.place + 5, places[i], 2) == 0);
    }
    REQUIRE(hop_program_note(program) && strstr(hop_program_note(program), "1 of 2 operations"));
    REQUIRE(strstr(hop_program_note(program), "such as gpu0 and gpu1:"));
    TRY(hop_program_fill(program, 1, D));
    TRY(hop_program_run(program, D));
    uint64_t wrong = 0;
    TRY(hop_program_check(program, 1, &wrong, D));
    REQUIRE(wrong == 0);
    hop_program_destroy(program);
    return 0;
}

/* In the topology gpu0 is at 07, gpu1 at 87, gpu2 at 4E: neither the order of the driver nor that of the bus ids. */
static void a_device_is_the_one_at_the_bus_id_that_the_topology_says(void **state)
{
    static const char copies[] = "a: gpu2 -> gpu0 70KB\nb: gpu0 -> gpu1 70KB\n";
    struct hop_topology *topology = machine_of((const char *const[]){"07", "87", "4e"}, 3);
    struct one trial = {.options = {.device = "cuda", .machine = topology}};
    (void)state;
    CHECK(hop_schedule_parse("places", copies, sizeof copies - 1, &trial.schedule, D));
    launch(3, false, find_devices, &trial);
    hop_topology_destroy(topology);
    hop_schedule_destroy(trial.schedule);
}

/* ---- what lies near it ---- */

enum { NODES = 1024, NODE_OF_ADDRESS = 3 };

/* What new memory of this thread prefers, -1: any node; -2: the system does not say. */
static int preferred_node(void)
{
    unsigned long nodes[NODES / 64] = {0};
    int mode = 0;
    if (syscall(SYS_get_mempolicy, &mode, nodes, (unsigned long)NODES, NULL, 0ul) != 0)
        return -2;
    for (int node = 0; mode == 1 && node < NODES; node++) {
        if (nodes[node / 64] >> node % 64 & 1)
            return node;
    }
    return -1;
}

/* The processors of a node among those that this thread may use; false: there are none of either. */
static bool processors_of(int node, cpu_set_t *there)
{
    char path[64], line[4096] = "";
    cpu_set_t mine;
    (void)snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, line, sizeof line - 1);
    if (file >= 0)
        (void)close(file);
    if (length <= 0 || !hop_numa_list(line, there) || sched_getaffinity(0, sizeof mine, &mine) != 0)
        return false;
    CPU_AND(there, there, &mine);
    return CPU_COUNT(there) > 0;
}

/* A staged copy comes here, through the memory that this rank pinned first. */
static int look_where_it_lies(struct hop_team *team, void *context)
{
    const struct one *trial = context;
    void *(*pinned)(void);
    struct hop_program *program;
    struct hop_device_properties properties;
    cpu_set_t before, there, bound, after;
    int node = -1, memory_before = preferred_node(), expected = (int)hop_team_rank(team); /* gpu0 and gpu4 */
    bool known = processors_of(expected, &there);
    REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
    prepare_driver(team, 5, NULL);
    TRY(hop_program_create(team, trial->schedule, &trial->options, &program, D));
    program->ops->properties(program->device, &properties);
    REQUIRE(properties.numa == expected);
    REQUIRE(sched_getaffinity(0, sizeof bound, &bound) == 0);
    REQUIRE(program->binding.bound == known && CPU_EQUAL(&bound, known ? &there : &before));
    REQUIRE(find_in_driver("fake_cuda_pinned", &pinned) && pinned());
    if (known && memory_before != -2) {
        REQUIRE(preferred_node() == expected);
        REQUIRE(syscall(SYS_get_mempolicy, &node, NULL, 0ul, pinned(), (unsigned long)NODE_OF_ADDRESS) == 0);
        REQUIRE(node == expected);
    }
    hop_program_destroy(program);
    REQUIRE(preferred_node() == memory_before);
    REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&after, &before));
    return 0;
}

/* The stand-in's gpu0 to gpu3 are near node 0, the others near node 1, which this machine need not have. */
static void a_rank_and_the_memory_that_copies_come_through_lie_near_its_device(void **state)
{
    static const char copies[] = "a: gpu0 -> gpu4 70KB via staged\nb: gpu4 -> gpu0 70KB via staged\n";
    struct one trial = {.options = {.device = "cuda"}};
    cpu_set_t there;
    (void)state;
    if (!processors_of(0, &there)) {
        print_message("skipped: there is no NUMA node 0 with processors for this process\n");
        skip();
    }
    CHECK(hop_schedule_parse("near", copies, sizeof copies - 1, &trial.schedule, D));
    launch(2, false, look_where_it_lies, &trial);
    hop_schedule_destroy(trial.schedule);
}

TEST_GROUP(run_cuda)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_gives_what_the_collective_is_defined_to),
        cmocka_unit_test(so_it_does_on_machines_that_refuse),
        cmocka_unit_test(a_device_is_the_one_at_the_bus_id_that_the_topology_says),
        cmocka_unit_test(a_rank_and_the_memory_that_copies_come_through_lie_near_its_device),
        cmocka_unit_test(no_launch_reads_what_an_earlier_one_left),
        cmocka_unit_test(nor_does_a_packet_that_comes_late_write_into_a_later_launch),
        cmocka_unit_test(copies_end_when_one_mechanism_lags_or_stalls_altogether),
    };
    return RUN_TESTS(tests, choose_the_stand_in, forget_the_stand_in);
}
