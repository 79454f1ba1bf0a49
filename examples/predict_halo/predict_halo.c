/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long does a halo exchange take between the eight GPUs of a machine, and what holds its slowest transfer back?
 *
 *     predict_halo [TOPOLOGY]      a built-in machine's name, a file, or live; by default t2
 *
 * Builds outside the project's tree: with CMake (CMakeLists.txt beside this file) or with make and pkg-config
 * (Makefile).
 */
#include <hopcast/hopcast.h>

#include <stdio.h>
#include <stdlib.h>

static const char *const devices[] = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7"};

/* A 2 x 2 x 2 process grid, 4 MiB to every face neighbour. */
static enum hop_status make(struct hop_schedule **schedule, struct hop_diag *diag)
{
    const struct hop_ranks ranks = {devices, 8};
    const struct hop_grid grid = {.dimensions = 3, .extent = {2, 2, 2}};
    return hop_make_halo(&ranks, &grid, 4 << 20, schedule, diag);
}

/* Prints when each transfer ends, then why the last one ended so late. */
static enum hop_status print(struct hop_timeline *timeline)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(timeline);
    uint32_t last = 0;
    char time[32];
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        double end_s = hop_timeline_span(timeline, i).end_s;
        printf("%-4s %s -> %s  %s\n", op->name, op->from.device, op->to.device,
               hop_show_seconds(end_s, time, sizeof time));
        if (end_s > hop_timeline_span(timeline, last).end_s)
            last = i;
    }
    printf("makespan %s\n\n", hop_show_seconds(hop_timeline_makespan_s(timeline), time, sizeof time));
    char *why = hop_timeline_explain(timeline, last);
    if (!why)
        return HOP_ERR_MEMORY;
    fputs(why, stdout);
    free(why);
    return HOP_OK;
}

/* The place is empty when the input has none, such as a name on the command line. */
static void complain(const struct hop_diag *diag)
{
    fprintf(stderr, "predict_halo: %s%s%s\n", diag->place, diag->place[0] ? ": " : "", diag->what);
    if (diag->expected[0])
        fprintf(stderr, "  expected: %s\n", diag->expected);
}

int main(int argc, char **argv)
{
    struct hop_topology *topology = NULL;
    struct hop_schedule *schedule = NULL;
    struct hop_network *network = NULL;
    struct hop_timeline *timeline = NULL;
    struct hop_diag diag = {0};

    enum hop_status status = hop_topology_load(argc > 1 ? argv[1] : "t2", &topology, &diag);
    if (status == HOP_OK)
        status = make(&schedule, &diag);
    if (status == HOP_OK)
        status = hop_network_create(topology, NULL, &network, &diag);
    if (status == HOP_OK)
        status = hop_simulate(network, schedule, NULL, &timeline, &diag);
    if (status != HOP_OK)
        complain(&diag);
    else
        status = print(timeline);

    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    hop_schedule_destroy(schedule);
    hop_topology_destroy(topology);
    return status == HOP_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
