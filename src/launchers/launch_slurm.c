/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SLURM: a script that lists a host a task in SLURM_HOSTFILE and calls srun with --distribution=arbitrary. Its lists
 * of processors and devices, map_cpu and map_gpu, are read anew on every node, by local task; where the nodes' lists
 * differ, devices.sh does it. A task that is alone on its node sees all devices whatever map_gpu says, so there the
 * script is needed, too.
 */
#include "launchers/launch_plan.h"

/* How many devices the job must have on a node so that the numbers of those in use are theirs: all that it has,
 * excluded ones among them. Where that is not known, up to the last one used. */
static uint32_t devices_of(const struct hop_map_result *result, uint32_t node)
{
    const struct hop_map_node *own = &result->nodes[node];
    uint32_t devices = own->all_devices > own->devices ? own->all_devices : own->devices;
    for (uint32_t r = 0; r < result->ranks; r++) {
        if (result->seats[r].node == node && result->seats[r].local_device >= devices)
            devices = result->seats[r].local_device + 1;
    }
    return devices;
}

/* What asks for the whole nodes: explicit bindings are honoured only there, and the devices' numbers count all. */
static void add_head(struct hop_launch_plan *launch)
{
    const struct hop_map_result *result = launch->result;
    const char *separator = "";
    uint32_t fewest = UINT32_MAX, most = 0;
    hop_buffer_printf(
        &launch->out,
        "#!/bin/sh\n# %u rank%s on %u node%s, by SLURM. Run it in a job that has these nodes and all their "
        "devices to itself:\n#     salloc --nodes=%u --exclusive --nodelist=",
        result->ranks, result->ranks == 1 ? "" : "s", launch->used_nodes, launch->used_nodes == 1 ? "" : "s",
        launch->used_nodes);
    for (uint32_t n = 0; n < result->node_count; n++) {
        if (result->nodes[n].ranks == 0)
            continue;
        hop_buffer_printf(&launch->out, "%s%s", separator, launch->hosts[n]);
        separator = ",";
        uint32_t devices = launch->devices ? devices_of(result, n) : 0;
        fewest = devices < fewest ? devices : fewest;
        most = devices > most ? devices : most;
    }
    if (launch->devices && fewest == most)
        hop_buffer_printf(&launch->out, " --gres=gpu:%u", most);
    hop_buffer_puts(&launch->out, " sh slurm.sh\n");
    if (fewest != most)
        hop_buffer_printf(
            &launch->out,
            "# The nodes differ: %u to %u GPUs, and one --gres asks for as many on each. Ask for all GPUs of "
            "each node as your site does it.\n",
            fewest, most);
}

static void add_hosts(struct hop_launch_plan *launch)
{
    hop_buffer_puts(&launch->out, "hop_hosts=$(mktemp) || exit 1\n"
                                  "trap 'rm -f \"$hop_hosts\"' EXIT\n"
                                  "cat >\"$hop_hosts\" <<'END_OF_HOSTS'\n");
    for (uint32_t r = 0; r < launch->result->ranks; r++)
        hop_buffer_printf(&launch->out, "%s\n", hop_launch_host(launch, r));
    hop_buffer_puts(&launch->out, "END_OF_HOSTS\n");
}

static bool any_alone(const struct hop_map_result *result)
{
    for (uint32_t n = 0; n < result->node_count; n++) {
        if (result->nodes[n].ranks == 1)
            return true;
    }
    return false;
}

/* Whether two ranks have the same core, which srun refuses unless it is told. */
static bool share_cores(struct hop_launch_plan *launch)
{
    const struct hop_map_result *result = launch->result;
    uint64_t *places = hop_arena_alloc(&launch->arena, result->ranks * sizeof *places);
    bool shared = false;
    for (uint32_t r = 0; places && r < result->ranks; r++)
        places[r] = (uint64_t)result->seats[r].node << 32 | result->seats[r].processor;
    if (places)
        qsort(places, result->ranks, sizeof *places, hop_ascending_u64);
    for (uint32_t r = 1; places && launch->cores && r < result->ranks; r++)
        shared |= places[r] == places[r - 1];
    return shared;
}

static enum hop_status write_slurm(struct hop_launch_plan *launch)
{
    struct hop_launch_list processors = {0}, devices = {0};
    bool script_binds = launch->cores && !hop_launch_common(launch, HOP_LAUNCH_PROCESSOR, &processors);
    bool script_shows =
        launch->devices && (any_alone(launch->result) || !hop_launch_common(launch, HOP_LAUNCH_DEVICE, &devices));
    add_head(launch);
    add_hosts(launch);
    hop_buffer_printf(&launch->out,
                      "SLURM_HOSTFILE=$hop_hosts%s srun --nodes=%u --ntasks=%u --distribution=arbitrary%s%s",
                      script_binds ? " " HOP_LAUNCH_BIND "=1" : "", launch->used_nodes, launch->result->ranks,
                      share_cores(launch) ? " --overcommit" : "", script_binds ? " --cpu-bind=none" : "");
    hop_launch_add_list(launch, " --cpu-bind=map_cpu:", &processors);
    hop_launch_add_list(launch, " --gpu-bind=map_gpu:", &devices);
    hop_launch_add_program(launch, script_binds || script_shows);
    return HOP_OK;
}

const struct hop_launch_writer hop_launch_slurm = {
    .form = {.name = "slurm", .file = "slurm.sh", .what = "a script with the srun line"}, .write = write_slurm};
