/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI 4: a rankfile where cores are known, "rank 0=host slot=PACKAGE:CORE" by hwloc's logical numbers, the core
 * counted in its package. A rankfile must name cores ("slot=*" binds to the first one), so without them the ranks'
 * order is the hostfile's, a line a rank, read by --map-by seq; on one node any order will do.
 */
#include "launchers/launch_plan.h"

static enum hop_status write_rankfile(struct hop_launch_plan *launch)
{
    for (uint32_t r = 0; r < launch->result->ranks; r++) {
        const struct hop_seat *seat = &launch->result->seats[r];
        hop_buffer_printf(&launch->out, "rank %u=%s slot=%u:%u\n", r, hop_launch_host(launch, r), seat->package,
                          seat->in_package);
    }
    return HOP_OK;
}

const struct hop_launch_writer hop_launch_rankfile = {.form = {.name = "rankfile",
                                                               .file = "rankfile",
                                                               .what = "Open MPI: the host and core of every rank",
                                                               .names_cores = true},
                                                      .write = write_rankfile};

static bool needs_sequence(const struct hop_launch_plan *launch)
{
    return !launch->cores && launch->used_nodes > 1;
}

static enum hop_status write_hostfile(struct hop_launch_plan *launch)
{
    const struct hop_map_result *result = launch->result;
    for (uint32_t r = 0; needs_sequence(launch) && r < result->ranks; r++)
        hop_buffer_printf(&launch->out, "%s\n", hop_launch_host(launch, r));
    for (uint32_t n = 0; !needs_sequence(launch) && n < result->node_count; n++) {
        uint32_t ranks = result->nodes[n].ranks;
        if (ranks > 0)
            hop_buffer_printf(&launch->out, "%s slots=%u max_slots=%u\n", launch->hosts[n], ranks, ranks);
    }
    return HOP_OK;
}

const struct hop_launch_writer hop_launch_hostfile = {
    .form = {.name = "hostfile", .file = "hostfile", .what = "Open MPI: hosts and their slots"},
    .write = write_hostfile};

static enum hop_status write_openmpi(struct hop_launch_plan *launch)
{
    hop_buffer_printf(&launch->out, "mpirun -n %u --hostfile ", launch->result->ranks);
    hop_launch_add_file(launch, hop_launch_hostfile.form.file);
    if (launch->cores) {
        hop_buffer_puts(&launch->out, " --rankfile ");
        hop_launch_add_file(launch, hop_launch_rankfile.form.file);
    } else if (needs_sequence(launch)) {
        hop_buffer_puts(&launch->out, " --map-by seq");
    }
    hop_launch_add_program(launch, launch->devices);
    return HOP_OK;
}

const struct hop_launch_writer hop_launch_openmpi = {
    .form = {.name = "openmpi", .file = "openmpi.sh", .what = "an mpirun line of Open MPI"}, .write = write_openmpi};
