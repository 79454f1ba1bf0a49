/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mapping in the forms of launchers. Names are checked once, here; launch_openmpi.c, launch_mpich.c, launch_slurm.c
 * and launch_devices.c each know one launcher's syntax (docs/launch.md says where it comes from).
 */
#include "export/launch_plan.h"

static enum hop_status (*const writers[HOP_LAUNCH_FORMAT_COUNT])(struct hop_launch_plan *launch) = {
    [HOP_LAUNCH_RANKFILE] = hop_launch_rankfile,
    [HOP_LAUNCH_HOSTFILE] = hop_launch_hostfile,
    [HOP_LAUNCH_MACHINEFILE] = hop_launch_machinefile,
    [HOP_LAUNCH_DEVICES] = hop_launch_devices,
    [HOP_LAUNCH_SLURM] = hop_launch_slurm,
    [HOP_LAUNCH_OPENMPI] = hop_launch_openmpi,
    [HOP_LAUNCH_MPICH] = hop_launch_mpich,
};

/* ---- names ---- */

/* What host names and addresses of IPv4 need. The launchers' files give a meaning to other characters: "a:2", "+n0",
 * "n[1-3]", "user@a", "# ...". */
static bool is_host(const char *host)
{
    return strspn(host, HOP_LAUNCH_ALPHANUMERIC) > 0 && host[strspn(host, HOP_LAUNCH_ALPHANUMERIC "._-")] == '\0';
}

static enum hop_status check_hosts(const struct hop_launch_plan *launch)
{
    const struct hop_map_result *result = launch->result;
    struct hop_names seen = {0};
    enum hop_status status = HOP_OK;
    for (uint32_t n = 0; n < result->node_count && status == HOP_OK; n++) {
        const char *host = launch->hosts[n];
        if (result->nodes[n].ranks == 0)
            continue;
        uint32_t other = host ? hop_names_get(&seen, host) : UINT32_MAX;
        if (!host || !is_host(host)) {
            status = hop_fail(launch->diag, HOP_ERR_INVALID,
                              "'%.100s' is no host name\nletters, digits, '.', '-' and '_', a letter or a digit first",
                              host ? host : "");
        } else if (other != UINT32_MAX) {
            status = hop_fail(launch->diag, HOP_ERR_INVALID,
                              "nodes '%.100s' and '%.100s' are the same host '%.100s'\na host for every node, in the "
                              "order of the nodes",
                              result->nodes[other].name, result->nodes[n].name, host);
        } else if (!hop_names_put(&seen, host, n)) {
            status = hop_fail_memory(launch->diag);
        }
        if (status == HOP_ERR_INVALID)
            hop_diag_place(launch->diag, "node %.150s", result->nodes[n].name);
    }
    hop_names_finish(&seen);
    return status;
}

/* A line to paste is one line. */
static enum hop_status check_text(const struct hop_launch_plan *launch, const char *what, const char *text)
{
    size_t i = 0;
    while ((unsigned char)text[i] >= ' ' && text[i] != 127)
        i++;
    if (i > 0 && text[i] == '\0')
        return HOP_OK;
    hop_fail(launch->diag, HOP_ERR_INVALID,
             i == 0 && text[0] == '\0' ? "the %s is empty" : "the %s has a line break or another control character",
             what);
    hop_diag_place(launch->diag, "%s", what);
    hop_diag_expect(launch->diag, "one line of printable characters");
    return HOP_ERR_INVALID;
}

/* ---- the call ---- */

static bool has_core(const struct hop_seat *seat)
{
    return seat->package != HOP_NONE && seat->in_package != HOP_NONE && seat->processor != HOP_NONE;
}

static enum hop_status write_form(struct hop_launch_plan *launch, enum hop_launch_format format)
{
    enum hop_status status = check_hosts(launch);
    if (status == HOP_OK)
        status = check_text(launch, "program", launch->program);
    if (status == HOP_OK)
        status = check_text(launch, "directory", launch->directory);
    return status == HOP_OK ? writers[format](launch) : status;
}

enum hop_status hop_map_launch(const struct hop_map_result *result, enum hop_launch_format format,
                               const struct hop_launch_names *names, char **text, struct hop_diag *diag)
{
    static const struct hop_launch_names none = {0};
    if ((unsigned)format >= HOP_LAUNCH_FORMAT_COUNT)
        return hop_fail(diag, HOP_ERR_INVALID, "there is no form %d of launchers", (int)format);
    names = names ? names : &none;
    struct hop_launch_plan launch = {
        .result = result, .hosts = names->hosts, .cores = true, .devices = true, .diag = diag};
    launch.program = names->program ? names->program : "./a.out";
    launch.directory = names->directory ? names->directory : ".";
    const char **own = hop_arena_alloc(&launch.arena, result->node_count * sizeof *own);
    for (uint32_t n = 0; own && n < result->node_count; n++)
        own[n] = result->nodes[n].name;
    launch.hosts = launch.hosts ? launch.hosts : own;
    for (uint32_t n = 0; n < result->node_count; n++)
        launch.used_nodes += result->nodes[n].ranks > 0;
    for (uint32_t r = 0; r < result->ranks; r++) {
        launch.cores = launch.cores && has_core(&result->seats[r]);
        launch.devices = launch.devices && result->seats[r].local_device != HOP_NONE;
    }
    enum hop_status status = launch.arena.failed ? HOP_OK : write_form(&launch, format);
    if (status == HOP_OK) {
        launch.out.failed |= launch.arena.failed;
        char *taken = hop_buffer_take(&launch.out);
        *text = taken ? taken : *text;
        status = taken ? HOP_OK : hop_fail_memory(diag);
    }
    hop_buffer_finish(&launch.out);
    hop_arena_finish(&launch.arena);
    return status;
}
