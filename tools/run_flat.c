/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast run: a topology for the report where none is given. Every device of the schedule hangs on one switch; what
 * a copy takes alone is what the fastest one of this run took.
 */
#include "run.h"

#include <math.h>
#include <string.h>

/* The highest rates of a copy between devices and of the traffic within one; 1 byte/s where there was none. */
static void find_rates(const struct hop_schedule *schedule, const struct hop_measured_op *times, double *copy_Bps,
                       double *memory_Bps)
{
    *copy_Bps = *memory_Bps = 1;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        double seconds = times[i].end_s - times[i].start_s;
        bool between = op->kind != HOP_OP_REDUCE && strcmp(op->from.device, op->to.device) != 0;
        double traffic = (double)op->bytes * (op->kind == HOP_OP_REDUCE ? op->input_count + op->output_count + 1 : 2);
        if (!(seconds > 0) || op->kind == HOP_OP_WORK)
            continue;
        if (between)
            *copy_Bps = fmax(*copy_Bps, (double)op->bytes / seconds);
        else
            *memory_Bps = fmax(*memory_Bps, traffic / seconds);
    }
}

static enum hop_status add_device(struct hop_topology *topology, const char *name, uint32_t centre, double rate_Bps,
                                  struct hop_diag *diag)
{
    struct hop_node node = {.name = name,
                            .kind = HOP_NODE_GPU,
                            .numa = -1,
                            .engines = HOP_ENGINES_DEFAULT,
                            .accelerator_engines = 1,
                            .tau = NAN};
    struct hop_link link = {.ends = {0, centre},
                            .kind = HOP_LINK_NVLINK,
                            .capacity_Bps = {rate_Bps, rate_Bps},
                            .duplex_Bps = {NAN, NAN},
                            .latency_s = 0};
    if (hop_topology_find(topology, name) != HOP_NONE)
        return HOP_OK;
    enum hop_status status = hop_topology_add_node(topology, &node, &link.ends[0], diag);
    return status == HOP_OK ? hop_topology_add_link(topology, &link, NULL, diag) : status;
}

enum hop_status run_flat(const struct hop_schedule *schedule, const struct hop_measured_op *times,
                         struct hop_topology **topology, struct hop_diag *diag)
{
    struct hop_topology *made = hop_topology_create("this machine");
    struct hop_node centre = {.name = "memory",
                              .kind = HOP_NODE_SWITCH,
                              .numa = -1,
                              .engines = HOP_ENGINES_DEFAULT,
                              .accelerator_engines = HOP_ENGINES_DEFAULT,
                              .tau = NAN};
    double copy_Bps, memory_Bps;
    uint32_t middle;
    if (!made)
        return HOP_ERR_MEMORY;
    find_rates(schedule, times, &copy_Bps, &memory_Bps);
    enum hop_status status = hop_topology_add_node(made, &centre, &middle, diag);
    for (uint32_t i = 0; i < hop_schedule_count(schedule) && status == HOP_OK; i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        if (op->from.device)
            status = add_device(made, op->from.device, middle, copy_Bps, diag);
        if (status == HOP_OK && op->to.device)
            status = add_device(made, op->to.device, middle, copy_Bps, diag);
    }
    if (status == HOP_OK)
        status = hop_topology_add_note(made, "alone means as fast as the fastest copy or reduction of this run");
    if (status == HOP_OK)
        status = hop_topology_finish(made, diag);
    if (status == HOP_OK)
        status = hop_topology_set_parameter(made, "reduce_rate", memory_Bps, "the fastest of this run", NAN, diag);
    if (status == HOP_OK)
        *topology = made;
    else
        hop_topology_destroy(made);
    return status;
}
