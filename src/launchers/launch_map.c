/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mapping in the forms of launchers. Names are checked once, here; launch_openmpi.c, launch_mpich.c, launch_slurm.c,
 * launch_vllm.c and launch_devices.c each know one launcher's syntax (docs/launch.md says where it comes from).
 */
#include "launchers/launch_plan.h"

static const struct hop_launch_writer *const writers[] = {
    &hop_launch_rankfile, &hop_launch_hostfile, &hop_launch_machinefile, &hop_launch_devices,
    &hop_launch_slurm,    &hop_launch_openmpi,  &hop_launch_mpich,       &hop_launch_vllm,
};

const struct hop_launch_form *hop_launch_form_at(size_t index)
{
    return index < HOP_COUNT(writers) ? &writers[index]->form : NULL;
}

static enum hop_status find_writer(const char *name, const struct hop_launch_writer **writer, struct hop_diag *diag)
{
    struct hop_buffer names = {0};
    for (size_t i = 0; i < HOP_COUNT(writers); i++) {
        *writer = writers[i];
        if (strcmp(writers[i]->form.name, name) == 0)
            break;
        hop_buffer_printf(&names, "%s%s", i ? ", " : "", writers[i]->form.name);
        *writer = NULL;
    }
    enum hop_status status = HOP_OK;
    if (!*writer)
        status = names.failed
                     ? hop_fail_memory(diag)
                     : hop_fail(diag, HOP_ERR_INVALID, "launchers read no form '%.50s'\none of %s", name, names.text);
    hop_buffer_finish(&names);
    return status;
}

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
    size_t i = 0, length;
    while ((length = hop_text_shown(text + i)))
        i += length;
    if (i > 0 && text[i] == '\0')
        return HOP_OK;
    hop_fail(launch->diag, HOP_ERR_INVALID, "the %s %s\none line of printable characters", what,
             i == 0 && text[0] == '\0' ? "is empty" : "has a line break or another control character");
    hop_diag_place(launch->diag, "%s", what);
    return HOP_ERR_INVALID;
}

/* ---- the call ---- */

static bool has_core(const struct hop_seat *seat)
{
    return seat->package != HOP_NONE && seat->in_package != HOP_NONE && seat->processor != HOP_NONE;
}

static enum hop_status check_ranks(const struct hop_launch_plan *launch, const struct hop_launch_form *form)
{
    if (!launch->devices && form->names_devices) {
        hop_fail(launch->diag, HOP_ERR_INVALID, "%s wants GPUs, and not every rank has one\na mapping onto GPUs",
                 form->name);
        hop_diag_place(launch->diag, "%s", form->name);
        return HOP_ERR_INVALID;
    }
    if (launch->cores || !form->names_cores)
        return HOP_OK;
    hop_fail(launch->diag, HOP_ERR_INVALID,
             "a %s names the core of every rank, and no cores are known\n"
             "a mapping with cores; without them the lines of other forms do without a %s",
             form->name, form->name);
    hop_diag_place(launch->diag, "%s", form->name);
    return HOP_ERR_INVALID;
}

static enum hop_status write_form(struct hop_launch_plan *launch, const struct hop_launch_writer *writer)
{
    enum hop_status status = check_hosts(launch);
    if (status == HOP_OK)
        status = check_text(launch, "program", launch->program);
    if (status == HOP_OK)
        status = check_text(launch, "directory", launch->directory);
    if (status == HOP_OK)
        status = check_ranks(launch, &writer->form);
    return status == HOP_OK ? writer->write(launch) : status;
}

enum hop_status hop_map_launch(const struct hop_map_result *result, const char *form,
                               const struct hop_launch_names *names, char **text, struct hop_diag *diag)
{
    static const struct hop_launch_names none = {0};
    const struct hop_launch_writer *writer;
    HOP_CHECK(find_writer(form, &writer, diag));
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
    enum hop_status status = launch.arena.failed ? HOP_OK : write_form(&launch, writer);
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
