/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPICH's Hydra: a machinefile in the order of the ranks, "host:N" for N that follow each other.
 *
 * -bind-to user:0,1 lists processors as the operating system numbers them, from the beginning for every line of the
 * machinefile. So it can say a mapping where each host has one line and all of them the same list; else devices.sh
 * binds.
 */
#include "launchers/launch_plan.h"

static enum hop_status write_machinefile(struct hop_launch_plan *launch)
{
    const struct hop_map_result *result = launch->result;
    for (uint32_t r = 0, end; r < result->ranks; r = end) {
        for (end = r + 1; end < result->ranks && result->seats[end].node == result->seats[r].node;)
            end++;
        hop_buffer_printf(&launch->out, "%s:%u\n", hop_launch_host(launch, r), end - r);
    }
    return HOP_OK;
}

const struct hop_launch_writer hop_launch_machinefile = {
    .form = {.name = "machinefile", .file = "machinefile", .what = "MPICH: hosts in the order of ranks"},
    .write = write_machinefile};

static enum hop_status write_mpich(struct hop_launch_plan *launch)
{
    struct hop_launch_list processors = {0};
    bool script_binds = launch->cores &&
                        !(hop_launch_in_blocks(launch) && hop_launch_common(launch, HOP_LAUNCH_PROCESSOR, &processors));
    hop_buffer_printf(&launch->out, "mpirun -n %u -f ", launch->result->ranks);
    hop_launch_add_file(launch, hop_launch_machinefile.form.file);
    hop_launch_add_list(launch, " -bind-to user:", &processors);
    if (script_binds)
        hop_buffer_puts(&launch->out, " -genv " HOP_LAUNCH_BIND " 1");
    hop_launch_add_program(launch, launch->devices || script_binds);
    return HOP_OK;
}

const struct hop_launch_writer hop_launch_mpich = {
    .form = {.name = "mpich", .file = "mpich.sh", .what = "an mpirun line of MPICH"}, .write = write_mpich};
