/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mapping in the forms of launchers. Names are checked once, here; launch_openmpi.c, launch_mpich.c, launch_slurm.c
 * and launch_devices.c each know one launcher's syntax (docs/launch.md says where it comes from).
 */
#include "export/launch.h"

struct form {
    const char *name, *file;
    enum hop_status (*write)(struct hop_launch_plan *launch);
};

static const struct form forms[HOP_LAUNCH_FORMAT_COUNT] = {
    [HOP_LAUNCH_RANKFILE] = {"rankfile", "rankfile", hop_launch_rankfile},
    [HOP_LAUNCH_HOSTFILE] = {"hostfile", "hostfile", hop_launch_hostfile},
    [HOP_LAUNCH_MACHINEFILE] = {"machinefile", "machinefile", hop_launch_machinefile},
    [HOP_LAUNCH_DEVICES] = {"devices", "devices.sh", hop_launch_devices},
    [HOP_LAUNCH_SLURM] = {"slurm", "slurm.sh", hop_launch_slurm},
    [HOP_LAUNCH_OPENMPI] = {"openmpi", "openmpi.sh", hop_launch_openmpi},
    [HOP_LAUNCH_MPICH] = {"mpich", "mpich.sh", hop_launch_mpich},
};

const char *hop_launch_format_name(enum hop_launch_format format)
{
    return (unsigned)format < HOP_LAUNCH_FORMAT_COUNT ? forms[format].name : NULL;
}

const char *hop_launch_file_name(enum hop_launch_format format)
{
    return (unsigned)format < HOP_LAUNCH_FORMAT_COUNT ? forms[format].file : NULL;
}

/* ---- names ---- */

#define ALPHANUMERIC "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* What host names and addresses of IPv4 need. The launchers' files give a meaning to other characters: "a:2", "+n0",
 * "n[1-3]", "user@a", "# ...". */
static bool is_host(const char *host)
{
    return strspn(host, ALPHANUMERIC) > 0 && host[strspn(host, ALPHANUMERIC "._-")] == '\0';
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
            status = hop_fail(launch->diag, HOP_ERR_INVALID, "'%.100s' is no host name", host ? host : "");
            hop_diag_expect(launch->diag, "letters, digits, '.', '-' and '_', a letter or a digit first");
        } else if (other != UINT32_MAX) {
            status = hop_fail(launch->diag, HOP_ERR_INVALID, "nodes '%.100s' and '%.100s' are the same host '%.100s'",
                              result->nodes[other].name, result->nodes[n].name, host);
            hop_diag_expect(launch->diag, "a host for every node, in the order of the nodes");
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

/* As one word of a shell: what needs it in single quotes. */
static void add_word(struct hop_buffer *out, const char *text)
{
    if (text[strspn(text, ALPHANUMERIC "._-+,:@%/=")] == '\0') {
        hop_buffer_puts(out, text);
        return;
    }
    hop_buffer_puts(out, "'");
    for (; *text; text++) {
        if (*text == '\'')
            hop_buffer_puts(out, "'\\''");
        else
            hop_buffer_add(out, text, 1);
    }
    hop_buffer_puts(out, "'");
}

/* ---- for the writers ---- */

const char *hop_launch_host(const struct hop_launch_plan *launch, uint32_t rank)
{
    return launch->hosts[launch->result->seats[rank].node];
}

void hop_launch_add_file(struct hop_launch_plan *launch, enum hop_launch_format format)
{
    size_t length = strlen(launch->directory);
    struct hop_buffer path = {0};
    if (launch->directory[0] == '-') /* no option */
        hop_buffer_puts(&path, "./");
    hop_buffer_printf(&path, "%s%s%s", launch->directory, launch->directory[length - 1] == '/' ? "" : "/",
                      hop_launch_file_name(format));
    char *text = hop_buffer_take(&path);
    if (text)
        add_word(&launch->out, text);
    else
        launch->out.failed = true;
    free(text);
}

void hop_launch_add_program(struct hop_launch_plan *launch, bool through_script)
{
    if (through_script) {
        hop_buffer_puts(&launch->out, " sh ");
        hop_launch_add_file(launch, HOP_LAUNCH_DEVICES);
    }
    hop_buffer_printf(&launch->out, " %s\n", launch->program);
}

bool hop_launch_in_blocks(const struct hop_launch_plan *launch)
{
    const struct hop_map_result *result = launch->result;
    uint32_t blocks = 1;
    for (uint32_t r = 1; r < result->ranks; r++)
        blocks += result->seats[r].node != result->seats[r - 1].node;
    return blocks == launch->used_nodes;
}

static uint32_t item_of(const struct hop_seat *seat, enum hop_launch_item item)
{
    return item == HOP_LAUNCH_DEVICE ? seat->local_device : seat->processor;
}

enum hop_status hop_launch_common(const struct hop_launch_plan *launch, enum hop_launch_item item, uint32_t **list,
                                  uint32_t *length)
{
    const struct hop_map_result *result = launch->result;
    uint32_t *common = malloc(result->ranks * sizeof *common), longest = 0;
    uint32_t *next = calloc(result->node_count, sizeof *next); /* of each node: how many of its ranks came */
    bool same = true;
    if (!common || !next) {
        free(common);
        free(next);
        return hop_fail_memory(launch->diag);
    }
    for (uint32_t r = 0; r < result->ranks; r++) {
        const struct hop_seat *seat = &result->seats[r];
        uint32_t place = next[seat->node]++;
        if (place == longest)
            common[longest++] = item_of(seat, item);
        same = same && common[place] == item_of(seat, item);
    }
    free(next);
    if (!same) {
        free(common);
        common = NULL;
        longest = 0;
    }
    *list = common;
    *length = longest;
    return HOP_OK;
}

void hop_launch_add_list(struct hop_launch_plan *launch, const char *name, const uint32_t *list, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        hop_buffer_printf(&launch->out, "%s%u", i == 0 ? name : ",", list[i]);
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
    return status == HOP_OK ? forms[format].write(launch) : status;
}

enum hop_status hop_map_launch(const struct hop_map_result *result, enum hop_launch_format format,
                               const struct hop_launch_names *names, char **text, struct hop_diag *diag)
{
    static const struct hop_launch_names none = {0};
    const char **own = NULL;
    if ((unsigned)format >= HOP_LAUNCH_FORMAT_COUNT)
        return hop_fail(diag, HOP_ERR_INVALID, "there is no form %d of launchers", (int)format);
    names = names ? names : &none;
    struct hop_launch_plan launch = {
        .result = result, .hosts = names->hosts, .cores = true, .devices = true, .diag = diag};
    launch.program = names->program ? names->program : "./a.out";
    launch.directory = names->directory ? names->directory : ".";
    if (!launch.hosts) {
        own = calloc(result->node_count, sizeof *own);
        if (!own)
            return hop_fail_memory(diag);
        for (uint32_t n = 0; n < result->node_count; n++)
            own[n] = result->nodes[n].name;
        launch.hosts = own;
    }
    for (uint32_t n = 0; n < result->node_count; n++)
        launch.used_nodes += result->nodes[n].ranks > 0;
    for (uint32_t r = 0; r < result->ranks; r++) {
        launch.cores = launch.cores && has_core(&result->seats[r]);
        launch.devices = launch.devices && result->seats[r].local_device != HOP_NONE;
    }
    enum hop_status status = write_form(&launch, format);
    free(own);
    if (status != HOP_OK) {
        hop_buffer_finish(&launch.out);
        return status;
    }
    char *taken = hop_buffer_take(&launch.out);
    if (!taken)
        return hop_fail_memory(diag);
    *text = taken;
    return HOP_OK;
}
