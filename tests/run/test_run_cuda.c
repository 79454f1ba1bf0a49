/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running on the device `cuda`, with a stand-in for the driver (fake_cuda/driver.c): collectives against their
 * definition through streams and events that end when they like, each rank with delays of its own, on one device and on
 * two; what the stand-in still holds once a program is gone; and calls that fail, and ranks that die.
 *
 * Ranks are processes here, each with a driver of its own.
 */
#include "run/hooks.h"
#include "run/program.h"
#include "run_test.h"

#include <dlfcn.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/shared.h"

enum { MOST_CASES = 1024 };

/* ---- the stand-in ---- */

static char kernels[] = "/tmp/hopcast-run-kernels-XXXXXX";

/* Where the library was built without nvcc, the stand-in takes a file that begins like a fat binary. */
static int choose_the_stand_in(void **state)
{
    static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba, 0, 0, 0, 0};
    int file = mkstemp(kernels);
    (void)state;
    bool fine = file >= 0 && write(file, magic, sizeof magic) == (ssize_t)sizeof magic && close(file) == 0;
    return fine && setenv("HOPCAST_CUDA_LIBRARY", TEST_FAKE_CUDA, 1) == 0 &&
                   setenv("HOPCAST_CUDA_KERNELS", kernels, 1) == 0 &&
                   setenv("HOPCAST_HIP_LIBRARY", TEST_FAKE_CUDA, 1) == 0 &&
                   setenv("HOPCAST_HIP_KERNELS", kernels, 1) == 0 && setenv("HOPCAST_FAKE_CUDA_DELAY", "60", 1) == 0
               ? 0
               : -1;
}

static int forget_the_stand_in(void **state)
{
    (void)state;
    return unlink(kernels);
}

/* A machine of some kind: the stand-in's variables, "" for none. */
struct machine {
    const char *refused, *late, *events, *shared;
    bool hidden; /* each rank sees one device, that of its number in the order of bus ids */
};

/* Before the driver is first used: every rank has delays of its own. */
static void prepare_driver(const struct hop_team *team, unsigned seed, const struct machine *machine)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%u", seed * 1000 + hop_team_rank(team));
    (void)setenv("HOPCAST_FAKE_CUDA_SEED", text, 1);
    if (!machine)
        return;
    const char *const variables[][2] = {{"HOPCAST_FAKE_CUDA_REFUSED", machine->refused},
                                        {"HOPCAST_FAKE_CUDA_LATE", machine->late},
                                        {"HOPCAST_FAKE_CUDA_EVENTS", machine->events},
                                        {"HOPCAST_FAKE_CUDA_SHARED", machine->shared}};
    for (size_t v = 0; v < sizeof variables / sizeof variables[0]; v++) {
        if (variables[v][1])
            (void)setenv(variables[v][0], variables[v][1], 1);
    }
    (void)snprintf(text, sizeof text, "%u", hop_team_rank(team) ^ 1); /* as the stand-in's driver counts them */
    if (machine->hidden)
        (void)setenv("CUDA_VISIBLE_DEVICES", text, 1);
}

/* A function of this process's driver, once it is loaded. */
static bool find_in_driver(const char *name, void *function)
{
    void *library = dlopen(TEST_FAKE_CUDA, RTLD_NOW | RTLD_NOLOAD);
    void *found = library ? dlsym(library, name) : NULL;
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* What was made of this process's driver and not given back; -1: unknown. */
static int live_objects(void)
{
    int (*live)(void);
    return find_in_driver("fake_cuda_live", &live) ? live() : -1;
}

/* GPUs of one processor, at those buses. */
static struct hop_topology *machine_of(const char *const *buses, unsigned count)
{
    char text[4096];
    struct hop_topology *topology;
    int used =
        snprintf(text, sizeof text,
                 "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"175\" "
                 "modelid=\"1\">");
    for (unsigned i = 0; i < count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "<pci busid=\"0000:%s:00.0\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\">"
                         "<gpu dev=\"%u\" sm=\"80\"/></pci>",
                         buses[i], i);
    used += snprintf(text + used, sizeof text - (size_t)used, "</cpu></system>");
    CHECK(hop_topology_parse("machine.xml", text, (size_t)used, &topology, D));
    return topology;
}

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

static const struct hop_copies_mix half_staged = {1, 2, 256};

/* Small packets, so that even these copies are of several. */
static struct hop_program_options ways(enum hop_copies copies, bool pipelined)
{
    return (struct hop_program_options){.copies = copies,
                                        .mix = copies == HOP_COPIES_STATIC ? &half_staged : NULL,
                                        .packet_bytes = copies == HOP_COPIES_STATIC ? 0 : 256,
                                        .pipelined = pipelined};
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
    for (uint32_t i = 0; i < soaked(4 * count, count); i++) {
        uint32_t n = soaked(2 + i % 7, i == 0 ? 6 : 3);
        struct many *many = all_algorithms(n, i % 2 ? "cuda" : "hip", 1);
        many->machine = &machines[i % count];
        for (uint32_t c = 0; c < many->count; c++)
            many->cases[c].options.machine = topology;
        keep(many, soaked(1, 5), soaked(0, i % 5));
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

/* ---- what goes wrong ---- */

/* No fault here is noticed by the time. */
enum { TIMEOUT_S = 60, NOTICED = 4, FUNCTIONS = 64, SLOWLY = 20 };
static const char no_fault[] = "no fault";

/* What rank 1 says of its driver, in memory that all share: whose call failed, and how many there were. */
struct told {
    char failed[64]; /* before it gave anything back */
    struct {
        char name[64];
        unsigned made;
    } calls[FUNCTIONS];
};

struct trial {
    struct hop_schedule *schedule;
    struct hop_program_options options;
    struct hop_run_hooks hooks;
    const char *fault; /* of the driver of rank 1 */
    const struct machine *machine;
    struct told *told;
};

static void tell_failed(struct told *told)
{
    const char *(*failed)(void);
    if (told && find_in_driver("fake_cuda_failed", &failed))
        (void)snprintf(told->failed, sizeof told->failed, "%s", failed() ? failed() : "");
}

static void tell_calls(struct told *told)
{
    const char *(*call)(unsigned, unsigned *), *name;
    unsigned made;
    for (unsigned f = 0; told && f < FUNCTIONS && find_in_driver("fake_cuda_call", &call) && (name = call(f, &made));
         f++) {
        (void)snprintf(told->calls[f].name, sizeof told->calls[f].name, "%s", name);
        told->calls[f].made = made;
    }
}

/* Memory of our own for what is bound, which the process's end gives back. */
static enum hop_status bind_all(struct hop_program *program)
{
    enum hop_status status = HOP_OK;
    const char *name;
    uint64_t bytes;
    for (uint32_t b = 0; status == HOP_OK && hop_program_buffer(program, b, &name, &bytes); b++) {
        struct hop_binding binding = {b, hop_program_binds(program, b) ? calloc(1, bytes + 1) : NULL};
        status = binding.address ? hop_program_bind(program, &binding, 1, NULL) : HOP_OK;
    }
    return status;
}

static enum hop_status fill_run_and_check(struct hop_team *team, struct hop_program *program, bool pipelined)
{
    uint64_t wrong = 0;
    struct hop_diag diag = {0};
    enum hop_status status = bind_all(program);
    if (status == HOP_OK)
        status = hop_program_fill(program, 1, &diag);
    if (status != HOP_OK && hop_team_lost(team) < 0)
        hop_team_abort(team, &diag);
    if (status == HOP_OK && pipelined)
        status = hop_team_barrier(team, NULL);
    if (status == HOP_OK)
        status = hop_program_run(program, NULL);
    if (status == HOP_OK)
        status = hop_program_check(program, 1, &wrong, &diag);
    for (unsigned i = 0; i < soaked(11, 3) && status == HOP_OK; i++)
        status = hop_program_run(program, NULL);
    return status == HOP_OK && wrong ? HOP_ERR_INVALID : status;
}

/* Ends by itself with NOTICED where something failed. */
static int run_until_it_fails(struct hop_team *team, void *context)
{
    const struct trial *trial = context;
    bool faulty = hop_team_rank(team) == 1;
    struct hop_program *program;
    prepare_driver(team, 7, trial->machine);
    if (trial->fault && trial->fault != no_fault && faulty)
        (void)setenv("HOPCAST_FAKE_CUDA_FAIL", trial->fault, 1);
    enum hop_status status =
        hop_program_create_hooked(team, trial->schedule, &trial->options, &trial->hooks, &program, NULL);
    if (status == HOP_OK) {
        status = fill_run_and_check(team, program, trial->options.pipelined);
        tell_failed(faulty ? trial->told : NULL);
        hop_program_destroy(program);
    } else {
        tell_failed(faulty ? trial->told : NULL);
    }
    tell_calls(faulty ? trial->told : NULL);
    return status == HOP_OK ? 0 : NOTICED;
}

static struct told *shared_told(void)
{
    struct told *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(told != MAP_FAILED);
    return told;
}

static void assert_clean(const char *what)
{
    if (waitpid(-1, NULL, WNOHANG) != -1)
        fail_msg("%s: a process is left", what);
    (void)hop_shared_sweep(); /* of those that died while names were still up */
    if (count_names(getpid()) != 0)
        fail_msg("%s: names are left", what);
}

/* Whoever hangs is killed by the launcher, after seconds; by this clock they are so long that no busy machine makes
 * anybody look as if it hung. */
static uint64_t slow_clock(void *context)
{
    (void)context;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec) / SLOWLY;
}

/* Calls that nobody needs: attributes that older drivers do not know, kernels where nothing is reduced. */
static bool may_fail_unheard(const char *fault)
{
    static const struct {
        const char *name;
        unsigned nth; /* and those behind */
    } calls[] = {{"cuDeviceGetAttribute", 4}, {"cuModuleLoadData", 1}, {"cuCtxPopCurrent", 1}};
    char name[64];
    unsigned nth = 0;
    assert_int_equal(sscanf(fault, "%63[^:]:%u", name, &nth), 2);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(name, calls[i].name) == 0 && nth >= calls[i].nth)
            return true;
    }
    return false;
}

/* Nobody hangs, not even in giving the program back, so nobody has to be killed; the call is named, and nothing is left. What
 * gives back may fail unheard, with the right bytes. */
static void fail_at(struct trial *trial, const char *fault, const char *named, uint32_t n)
{
    struct hop_launch_options options = {.ranks = n, .timeout_s = TIMEOUT_S};
    struct hop_diag diag = {0};
    int result = -1;
    trial->fault = fault;
    memset(trial->told, 0, sizeof *trial->told);
    enum hop_status status = hop_launch(&options, run_until_it_fails, trial, &result, &diag);
    const char *failed = trial->told->failed;
    assert_clean(fault);
    if (fault == no_fault && status != HOP_OK)
        fail_msg("without a fault: %s (%s)", diag.what, diag.place);
    if (status == HOP_OK && failed[0] && !may_fail_unheard(fault))
        fail_msg("%s: nothing happened", fault);
    if (status != HOP_OK && !strstr(diag.what, named))
        fail_msg("%s: said is: %s (%s)", fault, diag.what, diag.place);
    if (result != (status == HOP_OK ? 0 : NOTICED))
        fail_msg("%s: a rank ended with %d (%s)", fault, result, diag.what);
}

struct program {
    const char *what; /* a schedule for four ranks, or NULL, for three: */
    enum hop_collective_kind kind;
    const char *algorithm;
    uint32_t placement;
    struct hop_program_options options;
    struct machine machine;
};

/* A program's functions, each failing in turn: of its calls the first and one more, or, in soak, up to 20. Names that
 * `done` has are left out; those tried are added. */
static void fail_in_turn(const struct program *program, char *done, size_t done_size)
{
    struct wanted w = {program->kind, 3, 0, 500, HOP_TYPE_F32, HOP_REDUCE_SUM, false};
    struct told counted;
    uint32_t ranks = program->what ? 4 : w.n;
    struct trial trial = {.options = program->options, .machine = &program->machine, .told = shared_told()};
    if (program->what)
        CHECK(hop_schedule_parse("program", program->what, strlen(program->what), &trial.schedule, D));
    else
        CHECK(make_collective(&w, program->algorithm, 0, program->placement, &trial.schedule, D));
    fail_at(&trial, no_fault, "", ranks);
    counted = *trial.told;
    for (unsigned f = 0; f < FUNCTIONS && counted.calls[f].name[0]; f++) {
        const char *name = counted.calls[f].name;
        unsigned made = counted.calls[f].made,
                 step = soaked((made + 19) / 20, made < 2 ? 1 : 1 + random_below(made - 1));
        char fault[80], word[72];
        (void)snprintf(word, sizeof word, "%s ", name);
        if (strcmp(name, "work") == 0 || (soaked(0, 1) && strstr(done, word)))
            continue;
        (void)strncat(done, word, done_size - strlen(done) - 1);
        for (unsigned nth = 1, tried = 0; nth <= made && tried < soaked(20, 2); nth += step, tried++) {
            (void)snprintf(fault, sizeof fault, "%s:%u=1", name, nth);
            fail_at(&trial, fault, name, ranks);
        }
    }
    hop_schedule_destroy(trial.schedule);
    (void)munmap(trial.told, sizeof *trial.told);
}

static void a_call_of_the_driver_that_fails_ends_all_ranks_and_is_named(void **state)
{
    static const struct program programs[] = {
        {.kind = HOP_COLLECTIVE_ALLREDUCE, .algorithm = "ring", .placement = 2, .options = {.copies = HOP_COPIES_PEER}},
        {.kind = HOP_COLLECTIVE_ALLREDUCE,
         .algorithm = "gsb",
         .placement = 2,
         .options = {.copies = HOP_COPIES_STAGED}},
        {.kind = HOP_COLLECTIVE_ALLREDUCE,
         .algorithm = "gsb",
         .placement = 2,
         .options = {.copies = HOP_COPIES_DYNAMIC, .packet_bytes = 256, .record = true},
         .machine = {.refused = "0>1"}},
        {.kind = HOP_COLLECTIVE_ALLREDUCE,
         .algorithm = "ring",
         .options = {.copies = HOP_COPIES_DYNAMIC, .pipelined = true}},
        {.kind = HOP_COLLECTIVE_BROADCAST, .algorithm = "direct", .options = {.pipelined = true, .bound = true}},
        {.what = "a: gpu0 -> gpu1 70KB; b: gpu1 -> gpu2 70KB via staged 16KiB; c: gpu2 -> gpu4 3B after a b; "
                 "d: gpu4 -> gpu1 0B after c",
         .options = {.record = true},
         .machine = {.refused = "sockets", .shared = "1"}},
    };
    char done[4096] = "";
    (void)state;
    random_restart();
    hop_clock_set(slow_clock, NULL);
    for (size_t p = 0; p < sizeof programs / sizeof programs[0]; p++) {
        struct program program = programs[p];
        program.options.device = "cuda";
        fail_in_turn(&program, done, sizeof done);
    }
    hop_clock_set(NULL, NULL);
}

/* ---- which device ---- */

static int find_devices(struct hop_team *team, void *context)
{
    static const char *const names[] = {"gpu2", "gpu0", "gpu1"};
    static const char *const places[] = {"4E", "07", "87"}; /* as the topology has them */
    const struct trial *trial = context;
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
    struct trial trial = {.options = {.device = "cuda", .machine = topology}};
    (void)state;
    CHECK(hop_schedule_parse("places", copies, sizeof copies - 1, &trial.schedule, D));
    launch(3, false, find_devices, &trial);
    hop_topology_destroy(topology);
    hop_schedule_destroy(trial.schedule);
}

static void refuse(const char *schedule, const struct machine *machine, const char *what)
{
    struct hop_launch_options options = {.ranks = 2, .timeout_s = TIMEOUT_S};
    struct trial trial = {.options = {.device = "cuda"}, .machine = machine};
    struct hop_diag diag = {0};
    int result = -1;
    CHECK(hop_schedule_parse("refused", schedule, strlen(schedule), &trial.schedule, D));
    assert_int_not_equal(hop_launch(&options, run_until_it_fails, &trial, &result, &diag), HOP_OK);
    if (!strstr(diag.what, what))
        fail_msg("said is: %s", diag.what);
    hop_schedule_destroy(trial.schedule);
}

static void a_device_that_is_not_there_and_a_reduction_that_reaches_too_far_are_refused(void **state)
{
    static const struct machine hidden = {.hidden = true};
    (void)state;
    refuse("a: gpu9 -> gpu0 1KB\n", NULL, "gpu9: of cuda devices the driver shows 8");
    refuse("a: gpu0 -> gpu1 1KB\n", &hidden, "gpu1: of cuda devices the driver shows 1");
    refuse("r: reduce sum f32 0@gpu0:a 1@gpu0:b -> 0@gpu0:c 1KiB\n", &hidden,
           "has no access to"); /* each has another one */
}

/* What it had queued never ends, and others' streams wait for that: they must not wait for their streams. */
static void a_device_that_breaks_while_others_wait_for_its_events_does_not_make_them_hang(void **state)
{
    static const enum hop_copies copies[] = {HOP_COPIES_PEER, HOP_COPIES_STAGED, HOP_COPIES_DYNAMIC};
    static const char *const algorithms[] = {"gsb", "btb", "ring"};
    (void)state;
    struct told *told = shared_told();
    hop_clock_set(slow_clock, NULL);
    for (unsigned i = 0; i < 9; i++) {
        struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, 3, 0, 500, HOP_TYPE_F32, HOP_REDUCE_SUM, false};
        struct trial trial = {.options = ways(copies[i % 3], i % 2), .told = told};
        char fault[80];
        trial.options.device = "cuda";
        CHECK(make_collective(&w, algorithms[i / 3], 0, 0, &trial.schedule, D));
        (void)snprintf(fault, sizeof fault, "work:%u=700", 6 + 5 * i);
        fail_at(&trial, fault, "ILLEGAL_ADDRESS", w.n);
        hop_schedule_destroy(trial.schedule);
    }
    hop_clock_set(NULL, NULL);
    (void)munmap(told, sizeof *told);
}

static void a_rank_that_is_killed_ends_the_others(void **state)
{
    static const char *const algorithms[] = {"gsb", "btb", "ring", "two-shot"};
    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, 3, 0, 500, HOP_TYPE_F32, HOP_REDUCE_SUM, false};
        struct trial trial = {.options = ways((enum hop_copies)(i % (HOP_COPIES_DYNAMIC + 1)), i % 2)};
        struct hop_launch_options options = {.ranks = w.n, .timeout_s = TIMEOUT_S};
        struct hop_diag diag = {0};
        char fault[128], named[96];
        int result;
        CHECK(make_collective(&w, algorithms[i % 4], 0, i / 4, &trial.schedule, D));
        const struct hop_op *op = hop_schedule_op(trial.schedule, random_below(hop_schedule_count(trial.schedule)));
        int rank = op->by >= 0 ? op->by : op->kind == HOP_OP_REDUCE ? op->to.rank : op->from.rank;
        (void)snprintf(fault, sizeof fault, "kill %d %s", rank, op->name);
        (void)snprintf(named, sizeof named, "rank %d ", rank);
        trial.options.device = "cuda";
        trial.hooks.fault = fault;
        assert_int_not_equal(hop_launch(&options, run_until_it_fails, &trial, &result, &diag), HOP_OK);
        if (strncmp(diag.what, named, strlen(named)) != 0 || strstr(diag.what, "has not moved"))
            fail_msg("%s: another rank is blamed, or another reason given: %s", fault, diag.what);
        assert_clean(fault);
        hop_schedule_destroy(trial.schedule);
    }
}

TEST_GROUP(run_cuda)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_gives_what_the_collective_is_defined_to),
        cmocka_unit_test(so_it_does_on_machines_that_refuse),
        cmocka_unit_test(a_device_is_the_one_at_the_bus_id_that_the_topology_says),
        cmocka_unit_test(a_device_that_is_not_there_and_a_reduction_that_reaches_too_far_are_refused),
        cmocka_unit_test(no_launch_reads_what_an_earlier_one_left),
        cmocka_unit_test(nor_does_a_packet_that_comes_late_write_into_a_later_launch),
        cmocka_unit_test(copies_end_when_one_mechanism_lags_or_stalls_altogether),
        cmocka_unit_test(a_call_of_the_driver_that_fails_ends_all_ranks_and_is_named),
        cmocka_unit_test(a_device_that_breaks_while_others_wait_for_its_events_does_not_make_them_hang),
        cmocka_unit_test(a_rank_that_is_killed_ends_the_others),
    };
    return RUN_TESTS(tests, choose_the_stand_in, forget_the_stand_in);
}
