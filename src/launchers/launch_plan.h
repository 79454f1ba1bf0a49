/* SPDX-License-Identifier: BSD-3-Clause */
/* What the writers of launchers' files share: who sits where, names checked, lists that hold on every node. */
#ifndef HOP_LAUNCHERS_LAUNCH_PLAN_H
#define HOP_LAUNCHERS_LAUNCH_PLAN_H

#include "base/base.h"
#include "hopcast/map.h"

/* Set to 1 in a rank's environment, it makes devices.sh bind the rank to its core. */
#define HOP_LAUNCH_BIND "HOPCAST_BIND_CORE"

/* The file of the form `devices`, through which others start the program. */
#define HOP_LAUNCH_SCRIPT "devices.sh"

#define HOP_LAUNCH_ALPHANUMERIC "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

struct hop_launch_plan {
    const struct hop_map_result *result;
    const char *const *hosts; /* by node */
    const char *program, *directory;
    uint32_t used_nodes; /* that have ranks */
    bool cores, devices; /* every rank has one */
    struct hop_arena arena;
    struct hop_buffer out; /* failed, or the arena: out of memory */
    struct hop_diag *diag;
};

/* ---- writers: each appends its whole text ---- */

struct hop_launch_writer {
    struct hop_launch_form form;
    enum hop_status (*write)(struct hop_launch_plan *launch);
};
extern const struct hop_launch_writer hop_launch_rankfile, hop_launch_hostfile,
    hop_launch_openmpi,                       /* launch_openmpi.c */
    hop_launch_machinefile, hop_launch_mpich, /* launch_mpich.c */
    hop_launch_devices,                       /* launch_devices.c */
    hop_launch_slurm,                         /* launch_slurm.c */
    hop_launch_vllm;                          /* launch_vllm.c */

/* ---- for them ---- */

/* The host of a rank. */
const char *hop_launch_host(const struct hop_launch_plan *launch, uint32_t rank);
/* The path of another form's file, as a shell reads it. */
void hop_launch_add_file(struct hop_launch_plan *launch, const char *file);
/* " sh ./devices.sh ./a.out", or without the script. */
void hop_launch_add_program(struct hop_launch_plan *launch, bool through_script);
/* Whether the ranks of every node follow each other, nobody else's in between. */
bool hop_launch_in_blocks(const struct hop_launch_plan *launch);

/* A launcher's list is read from its beginning on every node, by the node's first rank, its second one, ... It can say
 * what a node's list is where those of the others are the same or shorter: then it is the longest; else it is empty. */
enum hop_launch_item { HOP_LAUNCH_PROCESSOR, HOP_LAUNCH_DEVICE };
struct hop_launch_list {
    uint32_t *items, length;
};
bool hop_launch_common(struct hop_launch_plan *launch, enum hop_launch_item item, struct hop_launch_list *list);
/* " -bind-to user:1,0" with name " -bind-to user:"; nothing for an empty list. */
void hop_launch_add_list(struct hop_launch_plan *launch, const char *name, const struct hop_launch_list *list);

#endif
