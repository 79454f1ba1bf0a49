/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * devices.sh: a script between the launcher and the program, that shows each rank its device alone. Which rank it is,
 * every launcher says in a variable of its own; where several are there, the launcher nearest to the program counts: a
 * batch script has SLURM_PROCID, and mpirun in it sets its own.
 */
#include "launchers/launch_plan.h"

static const char head[] = "#!/bin/sh\n"
                           "# Starts a program so that each rank sees the device that it was mapped to, and no other:\n"
                           "#     mpirun ... sh devices.sh PROGRAM [ARGUMENT...]\n";
static const char bind_head[] =
    "# With " HOP_LAUNCH_BIND "=1 a rank is bound to its core, too, for launchers that cannot do so themselves.\n";
static const char rank_lines[] = "\n"
                                 "die() {\n"
                                 "    echo \"devices.sh: $*\" >&2\n"
                                 "    exit 2\n"
                                 "}\n"
                                 "[ $# -gt 0 ] || die \"no program; usage: sh devices.sh PROGRAM [ARGUMENT...]\"\n"
                                 "hop_rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-${SLURM_PROCID:-}}}}\n"
                                 "case $hop_rank in\n";
static const char bind_lines[] =
    "if [ \"${" HOP_LAUNCH_BIND ":-0}\" = 1 ]; then\n"
    "    command -v taskset >/dev/null || die \"" HOP_LAUNCH_BIND " is set, and there is no taskset (util-linux)\"\n"
    "    exec taskset -c \"$hop_core\" \"$@\"\n"
    "fi\n";

static enum hop_status write_devices(struct hop_launch_plan *launch)
{
    struct hop_buffer *out = &launch->out;
    uint32_t ranks = launch->result->ranks;
    if (!launch->devices && !launch->cores) {
        hop_fail(launch->diag, HOP_ERR_INVALID,
                 "the ranks have neither devices nor cores\na mapping onto GPUs, or one with cores");
        hop_diag_place(launch->diag, "devices");
        return HOP_ERR_INVALID;
    }
    hop_buffer_puts(out, head);
    if (launch->cores)
        hop_buffer_puts(out, bind_head);
    hop_buffer_puts(out, rank_lines);
    for (uint32_t r = 0; r < ranks; r++) {
        const struct hop_seat *seat = &launch->result->seats[r];
        hop_buffer_printf(out, "%u)", r);
        if (launch->devices)
            hop_buffer_printf(out, " hop_device=%u", seat->local_device);
        if (launch->cores)
            hop_buffer_printf(out, " hop_core=%u", seat->processor);
        hop_buffer_printf(out, " ;; # %s\n", hop_launch_host(launch, r));
    }
    hop_buffer_puts(out, "'') die \"which rank is this? None of OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK and "
                         "SLURM_PROCID is set; start it by mpirun or srun\" ;;\n");
    hop_buffer_printf(out, "*) die \"rank '$hop_rank' is not among those mapped, 0 to %u\" ;;\nesac\n", ranks - 1);
    if (launch->devices)
        hop_buffer_puts(out, "export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=\"$hop_device\" "
                             "HIP_VISIBLE_DEVICES=\"$hop_device\"\n");
    if (launch->cores)
        hop_buffer_puts(out, bind_lines);
    hop_buffer_puts(out, "exec \"$@\"\n");
    return HOP_OK;
}

const struct hop_launch_writer hop_launch_devices = {.form = {.name = "devices",
                                                              .file = HOP_LAUNCH_SCRIPT,
                                                              .what = "a script that shows each rank its device",
                                                              .names_either = true},
                                                     .write = write_devices};
