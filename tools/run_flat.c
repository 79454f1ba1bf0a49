/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast run: a topology for the report where none is given. Every device of the schedule hangs on one switch; what
 * a copy takes alone is what the fastest one of this run took.
 */
#include <math.h>
#include <string.h>

#include "run.h"
#include "topology/build.h"

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

static void add_device(struct hop_build *build, const char *name, uint32_t centre, double rate_Bps)
{
    struct hop_node node = hop_node_default(HOP_NODE_GPU, name);
    node.accelerator_engines = 1;
    if (!name || !hop_build_ok(build) || hop_topology_find(build->topology, name) != HOP_NONE)
        return;
    struct hop_link link = hop_link_default(HOP_LINK_NVLINK, hop_build_node(build, &node), centre);
    link.capacity_Bps[0] = link.capacity_Bps[1] = rate_Bps;
    link.latency_s = 0;
    (void)hop_build_link(build, &link);
}

enum hop_status run_flat(const struct hop_schedule *schedule, const struct hop_measured_op *times,
                         struct hop_topology **topology, struct hop_diag *diag)
{
    struct hop_build build;
    struct hop_topology *made = NULL;
    struct hop_node memory = hop_node_default(HOP_NODE_SWITCH, "memory");
    double copy_Bps, memory_Bps;
    find_rates(schedule, times, &copy_Bps, &memory_Bps);
    hop_build_begin(&build, "this machine", diag);
    uint32_t centre = hop_build_node(&build, &memory);
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        add_device(&build, hop_schedule_op(schedule, i)->from.device, centre, copy_Bps);
        add_device(&build, hop_schedule_op(schedule, i)->to.device, centre, copy_Bps);
    }
    hop_build_note(&build, "alone means as fast as the fastest copy or reduction of this run");
    hop_build_parameter(&build, "reduce_rate", memory_Bps, "the fastest of this run");
    enum hop_status status = hop_build_end(&build, &made);
    if (status == HOP_OK)
        status = hop_topology_finish(made, diag);
    if (status == HOP_OK)
        *topology = made;
    else
        hop_topology_destroy(made);
    return status;
}
