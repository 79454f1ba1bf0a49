/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model loggp: events a second on a ring allreduce and on linear alltoalls, whose time should grow with the messages.
 *
 *     bench_messages                     a table
 *     bench_messages FILE L o g G O S    one schedule (ns, bytes), for loggopsim.sh: finish times, seconds, events
 *
 * An event is what LogGOPSim counts as one: an operation, and once more each message.
 */
#include "hopcast/hopcast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANKS = 1024, CHUNK = 1024 };
#define TARGET 6.0 /* million events a second: three times LogGOPSim's 1.7 to 2.2 */

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void need(enum hop_status status, const struct hop_diag *diag)
{
    if (status == HOP_OK)
        return;
    printf("%s: %s (%s)\n", diag->place, diag->what, diag->expected);
    exit(1);
}

static void message(struct hop_schedule *schedule, enum hop_op_kind kind, uint32_t from, uint32_t to,
                    const uint32_t *after)
{
    char names[2][16];
    struct hop_op op = hop_op_default(kind);
    (void)snprintf(names[0], sizeof names[0], "rank%u", from);
    (void)snprintf(names[1], sizeof names[1], "rank%u", to);
    op.from.device = names[0];
    op.to.device = names[1];
    op.bytes = CHUNK;
    op.after = after;
    op.after_count = after != NULL;
    (void)hop_schedule_add(schedule, &op);
}

/* Each rank passes on what it has received, 2 (n - 1) times. */
static struct hop_schedule *make_ring(uint32_t n)
{
    struct hop_schedule *schedule = hop_schedule_create("ring");
    struct hop_diag diag = {0};
    for (uint32_t r = 0; r < n; r++) {
        for (uint32_t step = 0; step < 2 * (n - 1); step++) {
            uint32_t last = hop_schedule_count(schedule) - 1;
            message(schedule, HOP_OP_SEND, r, (r + 1) % n, step ? &last : NULL);
            message(schedule, HOP_OP_RECEIVE, (r + n - 1) % n, r, NULL);
        }
    }
    need(hop_schedule_finish(schedule, &schedule, &diag), &diag);
    return schedule;
}

static struct hop_schedule *make_alltoall(uint32_t n)
{
    struct hop_schedule *schedule = hop_schedule_create("alltoall");
    struct hop_diag diag = {0};
    for (uint32_t r = 0; r < n; r++) {
        for (uint32_t step = 1; step < n; step++) {
            message(schedule, HOP_OP_SEND, r, (r + step) % n, NULL);
            message(schedule, HOP_OP_RECEIVE, (r + n - step) % n, r, NULL);
        }
    }
    need(hop_schedule_finish(schedule, &schedule, &diag), &diag);
    return schedule;
}

struct result {
    double compile_s, run_s, makespan_s;
    uint64_t events;
};

/* The faster of two runs. */
static struct result run(const struct hop_topology *topology, const struct hop_schedule *schedule, bool print)
{
    struct hop_diag diag = {0};
    struct hop_network *network;
    struct hop_simulation *simulation;
    struct hop_simulate_options options = {.detail = HOP_DETAIL_NONE};
    struct result result = {.run_s = INFINITY};
    need(hop_network_create(topology, "loggp", &network, &diag), &diag);
    double start_s = cpu_seconds();
    need(hop_simulation_create(network, schedule, &options, &simulation, &diag), &diag);
    result.compile_s = cpu_seconds() - start_s;
    for (unsigned i = 0; i < 2; i++) {
        start_s = cpu_seconds();
        need(hop_simulation_run(simulation, &result.makespan_s, &diag), &diag);
        result.run_s = fmin(result.run_s, cpu_seconds() - start_s);
    }
    struct hop_timeline *timeline = hop_simulation_timeline(simulation);
    result.events = hop_timeline_events(timeline);
    for (uint32_t i = 0; print && i < hop_timeline_process_count(timeline); i++) {
        int32_t rank;
        (void)hop_timeline_process_name(timeline, i, &rank);
        printf("Host %d: %.15g\n", (int)rank, nearbyint(hop_timeline_process_finish_s(timeline, i) * 1e12) / 1e3);
    }
    hop_simulation_destroy(simulation);
    hop_network_destroy(network);
    return result;
}

static void line(const struct hop_topology *topology, const char *name, uint32_t ranks, struct hop_schedule *schedule)
{
    struct result result = run(topology, schedule, false);
    double speed = (double)result.events / result.run_s / 1e6;
    printf("%-10s %6u ranks %10llu events  compiled in %6.3f s, run in %6.3f s: %6.2f M events/s, target %g  %s\n",
           name, ranks, (unsigned long long)result.events, result.compile_s, result.run_s, speed, TARGET,
           speed >= TARGET ? "held" : "missed");
    hop_schedule_destroy(schedule);
}

static int run_file(struct hop_topology *topology, char **argv)
{
    static const char *const names[] = {"loggp_L", "loggp_o", "loggp_g", "loggp_G", "loggp_O", "loggp_S"};
    struct hop_diag diag = {0};
    struct hop_schedule *schedule;
    for (size_t i = 0; i < 6; i++)
        need(hop_topology_set_parameter(topology, names[i], atof(argv[2 + i]) / (i < 5 ? 1e9 : 1), "argument", NAN,
                                        &diag),
             &diag);
    double start_s = cpu_seconds();
    need(hop_schedule_load(argv[1], &schedule, &diag), &diag);
    double load_s = cpu_seconds() - start_s;
    struct result result = run(topology, schedule, true);
    printf("Maximum: %.15g\n", nearbyint(result.makespan_s * 1e12) / 1e3);
    printf("load %.3f compile %.3f run %.3f events %llu\n", load_s, result.compile_s, result.run_s,
           (unsigned long long)result.events);
    hop_schedule_destroy(schedule);
    return 0;
}

int main(int argc, char **argv)
{
    struct hop_diag diag = {0};
    struct hop_topology *topology;
    int status = 0;
    need(hop_topology_load("hgx-h100", &topology, &diag), &diag);
    if (argc == 8) {
        status = run_file(topology, argv);
    } else {
        line(topology, "ring", RANKS, make_ring(RANKS));
        for (uint32_t n = 128; n <= RANKS; n *= 2)
            line(topology, "alltoall", n, make_alltoall(n));
    }
    hop_topology_destroy(topology);
    return status;
}
