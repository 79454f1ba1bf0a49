/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fidelity packet: packet-hops a second on one core, and beside it what the fluid prediction of the same schedule
 * takes.
 *
 * A packet-hop is one packet sent over one link; after a root complex a packet goes on in smaller ones.
 */
#include "hopcast/hopcast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TARGET 10.0 /* million packet-hops a second */
enum { RUNS = 3 };

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
    fprintf(stderr, "bench_packet: %s: %s (%s)\n", diag->place, diag->what, diag->expected);
    exit(1);
}

/* Every GPU sends to every other one. */
static struct hop_schedule *make_alltoall(const struct hop_topology *topology, uint64_t bytes)
{
    enum { MOST = 64 };
    struct hop_diag diag = {0};
    const char *devices[MOST];
    struct hop_ranks ranks = {devices, 0};
    struct hop_schedule *schedule;
    for (uint32_t n = 0; n < hop_topology_node_count(topology) && ranks.count < MOST; n++) {
        if (hop_topology_node(topology, n)->kind == HOP_NODE_GPU)
            devices[ranks.count++] = hop_topology_node(topology, n)->name;
    }
    need(hop_make_alltoall(&ranks, HOP_ALLTOALL_SHIFT, bytes, &schedule, &diag), &diag);
    return schedule;
}

/* The fastest of some runs; *events of one. */
static double run_s(struct hop_network *network, const struct hop_schedule *schedule,
                    const struct hop_packet_options *packet, uint64_t *events)
{
    struct hop_diag diag = {0};
    struct hop_simulate_options options = {
        .detail = HOP_DETAIL_NONE, .fidelity = packet ? HOP_FIDELITY_PACKET : HOP_FIDELITY_FLUID, .packet = packet};
    struct hop_simulation *simulation;
    double least_s = INFINITY, makespan_s;
    need(hop_simulation_create(network, schedule, &options, &simulation, &diag), &diag);
    for (int i = 0; i < RUNS; i++) {
        if (!packet)
            hop_network_remember(network, 0);
        double start_s = cpu_seconds();
        need(hop_simulation_run(simulation, &makespan_s, &diag), &diag);
        least_s = fmin(least_s, cpu_seconds() - start_s);
    }
    *events = hop_timeline_events(hop_simulation_timeline(simulation));
    hop_simulation_destroy(simulation);
    return least_s;
}

static void line(const char *source, uint64_t bytes, const char *what, const struct hop_packet_options *packet)
{
    struct hop_diag diag = {0};
    struct hop_topology *topology;
    struct hop_network *network;
    uint64_t hops, events;
    need(hop_topology_load(source, &topology, &diag), &diag);
    need(hop_network_create(topology, NULL, &network, &diag), &diag);
    struct hop_schedule *schedule = make_alltoall(topology, bytes);
    double packet_s = run_s(network, schedule, packet, &hops), fluid_s = run_s(network, schedule, NULL, &events);
    double speed = (double)hops / packet_s / 1e6;
    printf("%-9s alltoall %5.2f MiB %-26s %9llu packet-hops in %6.3f s: %6.2f M/s, target %g  %-6s  fluid %8.3f ms\n",
           source, (double)bytes / 1048576, what, (unsigned long long)hops, packet_s, speed, TARGET,
           speed >= TARGET ? "held" : "missed", 1e3 * fluid_s);
    fflush(stdout);
    hop_schedule_destroy(schedule);
    hop_network_destroy(network);
    hop_topology_destroy(topology);
}

int main(void)
{
    const uint64_t mib = (uint64_t)1 << 20;
    line("t1", mib, "shared", &(struct hop_packet_options){0});
    line("t2", mib, "shared", &(struct hop_packet_options){0});
    line("t2", mib, "fifo", &(struct hop_packet_options){.queues = HOP_PACKET_FIFO});
    line("t2", mib, "per-transfer", &(struct hop_packet_options){.queues = HOP_PACKET_PER_TRANSFER});
    line("t2", mib, "shared, credits 200 ns late", &(struct hop_packet_options){.credit_delay_s = 200e-9});
    line("cs-storm", mib / 4, "shared", &(struct hop_packet_options){0});
    line("dgx-a100", mib / 4, "shared", &(struct hop_packet_options){0});
    printf("\n");
    return EXIT_SUCCESS;
}
