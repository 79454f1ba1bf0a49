/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast run: the topology, and the schedule that is run: read and put on devices, or made of a collective. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

/* What --on or --emulate names; NULL: neither was given. */
static const struct hop_topology *machine(const struct run_loaded *l)
{
    return l->emulated ? l->emulated : l->topology;
}

/* ---- a collective ---- */

static int check_collective(const struct run_options *o)
{
    enum hop_collective_kind kind = o->collective.kind;
    const char *name = hop_collective_name(kind);
    bool reduces =
        kind == HOP_COLLECTIVE_ALLREDUCE || kind == HOP_COLLECTIVE_REDUCE || kind == HOP_COLLECTIVE_REDUCE_SCATTER;
    bool rooted = kind == HOP_COLLECTIVE_BROADCAST || kind == HOP_COLLECTIVE_REDUCE || kind == HOP_COLLECTIVE_GATHER ||
                  kind == HOP_COLLECTIVE_SCATTER;
    if (tool_given(&o->given, "root") && !rooted)
        return tool_bad_usage(&tool_run, "%s has no root: --root goes with broadcast, reduce, gather and scatter",
                              name);
    if (tool_given(&o->given, "operator") && !reduces)
        return tool_bad_usage(&tool_run,
                              "%s reduces nothing: --operator goes with allreduce, reduce and reduce-scatter", name);
    if (kind == HOP_COLLECTIVE_BARRIER && (tool_given(&o->given, "type") || tool_given(&o->given, "in-place")))
        return tool_bad_usage(&tool_run, "a barrier has no data: --type and --in-place go with other collectives");
    if (o->map && o->devices)
        return tool_bad_usage(&tool_run, "--map and --devices both say where the ranks are: one at a time");
    return TOOL_OK;
}

static enum hop_status take_placement(const struct hop_placement *placement, uint32_t ranks, struct run_loaded *l)
{
    for (uint32_t r = 0; r < ranks; r++) {
        const char *device = hop_placement_device(placement, r);
        if (devices_add(&tool_run, device, strlen(device), &l->devices) != TOOL_OK)
            return HOP_ERR_INVALID;
    }
    return HOP_OK;
}

/* A device for each rank, as a placement file says. */
static int map_to_file(struct run_options *o, const struct hop_placement *placement, struct run_loaded *l)
{
    struct hop_diag diag;
    uint32_t count = hop_placement_count(placement), ranks = o->ranks ? o->ranks : count;
    if (ranks > count)
        return tool_bad_usage(&tool_run, "--map %s says where %u ranks are, and there are %u", o->map, count, ranks);
    if (machine(l) && hop_placement_check(placement, machine(l), ranks, &diag) != HOP_OK)
        return tool_fail(&diag);
    return take_placement(placement, ranks, l) == HOP_OK ? TOOL_OK : TOOL_BAD;
}

/* The topology's devices, packed or cyclic. */
static int map_in_order(struct run_options *o, enum hop_placement_order order, struct run_loaded *l)
{
    struct hop_placement *made;
    struct hop_diag diag;
    if (!machine(l))
        return tool_bad_usage(&tool_run, "--map %s needs --on TOPOLOGY or --emulate TOPOLOGY", o->map);
    struct device_list all = {0};
    int status = devices_of(&tool_run, machine(l), &all);
    uint32_t ranks = o->ranks ? o->ranks : all.count;
    devices_finish(&all);
    if (status != TOOL_OK)
        return status;
    if (hop_placement_make(machine(l), ranks, order, &made, &diag) != HOP_OK)
        return tool_fail(&diag);
    status = take_placement(made, ranks, l) == HOP_OK ? TOOL_OK : TOOL_BAD;
    hop_placement_destroy(made);
    return status;
}

/* The devices of a collective's ranks: by --map one for each, else those listed, the topology's, or one, "host0". */
static int find_devices(struct run_options *o, struct run_loaded *l)
{
    struct tool_map map = {0};
    if (!o->map)
        return devices_find(&tool_run, machine(l), o->devices, &l->devices);
    int status = tool_map_load(o->map, &map);
    THEN(status, map.file ? map_to_file(o, map.file, l) : map_in_order(o, map.order, l));
    tool_map_finish(&map);
    return status;
}

static void describe(const struct run_options *o, const char *by, struct run_loaded *l)
{
    char size[32] = "";
    if (o->collective.kind != HOP_COLLECTIVE_BARRIER)
        hop_format_bytes(o->collective.bytes, size, sizeof size);
    (void)snprintf(l->what, sizeof l->what, "%s by %.60s%s%.100s%s%s", hop_collective_name(o->collective.kind), by,
                   l->choice.table ? ", from " : "", l->choice.table ? l->choice.table : "", size[0] ? ", " : "", size);
}

/* Ranks fill the devices in order, as evenly as they can. */
static int make_collective(struct run_options *o, struct run_loaded *l)
{
    struct hop_diag diag;
    char by[HOP_ALGORITHM_NAME_SIZE];
    int status = check_collective(o);
    THEN(status, find_devices(o, l));
    if (status != TOOL_OK)
        return status;
    uint32_t count = l->devices.count, ranks = o->ranks ? o->ranks : count;
    if (ranks > HOP_RANKS_MAX)
        return tool_bad_usage(&tool_run, "%u devices, and %d ranks at most: -n or --devices says which", count,
                              HOP_RANKS_MAX);
    const char **devices = devices_spread(&l->devices, ranks, 0);
    if (!devices)
        return tool_out_of_memory();
    const struct hop_ranks all = {devices, ranks};
    if (o->collective.kind == HOP_COLLECTIVE_BARRIER)
        o->collective.bytes = 0;
    if (tool_choose_algorithm(&o->collective, ranks, &l->choice, &diag) != HOP_OK ||
        hop_make_collective_by(&all, &o->collective, by, &l->schedule, &diag) != HOP_OK)
        status = tool_fail(&diag);
    else
        describe(o, by, l);
    free(devices);
    o->ranks = ranks;
    o->request.collective = &o->collective;
    o->request.plan.pipelined = true;
    o->request.plan.collective = hop_collective_name(o->collective.kind);
    return status;
}

/* ---- a schedule ---- */

/* With a topology ranks go there packed, unless it is said otherwise, as for a prediction. */
static int place(const struct run_options *o, struct run_loaded *l)
{
    struct tool_map map = {0};
    struct hop_diag diag;
    if (o->map && hop_schedule_ranks(l->schedule) == 0)
        return tool_bad_usage(&tool_run,
                              "the schedule names no rank, such as rank0, that --map %s could put on a device", o->map);
    int status = tool_map_load(o->map, &map);
    if (status == TOOL_OK && machine(l))
        status = tool_map_apply(&map, machine(l), l->schedule, &l->placed);
    else if (status == TOOL_OK && map.file)
        status = hop_placement_apply(map.file, l->schedule, &l->placed, &diag) == HOP_OK ? TOOL_OK : tool_fail(&diag);
    else if (status == TOOL_OK && o->map)
        status = tool_bad_usage(&tool_run, "--map %s needs --on TOPOLOGY or --emulate TOPOLOGY", o->map);
    tool_map_finish(&map);
    return status;
}

/* What is neither a file nor a collective was meant to be one of them. */
static int refuse_source(const char *source)
{
    struct hop_diag diag = {.status = HOP_ERR_IO};
    const char *nearest = tool_nearest_collective(source);
    (void)snprintf(diag.what, sizeof diag.what, "'%.180s' is neither a file nor a collective%s%s%s", source,
                   nearest ? " (is " : "", nearest ? nearest : "", nearest ? " meant?)" : "");
    (void)snprintf(diag.expected, sizeof diag.expected,
                   "a schedule's file, or allreduce, reduce, broadcast, allgather, reduce-scatter, alltoall, gather, "
                   "scatter or barrier");
    return tool_fail(&diag);
}

static int load_schedule(struct run_options *o, struct run_loaded *l)
{
    static const char *const of_collectives[] = {"algorithm", "bytes",   "operator", "type",
                                                 "root",      "segment", "in-place", "devices"};
    for (size_t i = 0; i < sizeof of_collectives / sizeof of_collectives[0]; i++) {
        if (tool_given(&o->given, of_collectives[i]))
            return tool_bad_usage(&tool_run, "--%s goes with a collective, such as allreduce", of_collectives[i]);
    }
    struct hop_diag diag;
    int status = tool_read_schedule(o->schedules.at[0], NULL, &l->schedule);
    THEN(status, place(o, l));
    if (status == TOOL_OK && machine(l) && !devices_have_all(machine(l), l->placed ? l->placed : l->schedule, &diag))
        status = tool_fail(&diag);
    (void)snprintf(l->what, sizeof l->what, "%.200s", *o->schedules.at[0] == 'e' ? "schedule" : o->schedules.at[0] + 1);
    return status;
}

/* ---- both ---- */

int run_load(struct run_options *o, struct run_loaded *l)
{
    int status = TOOL_OK;
    const char *source = o->schedules.at[0] + 1;
    bool is_text = *o->schedules.at[0] == 'e';
    bool collective = !is_text && tool_collective(source, strlen(source), &o->collective.kind);
    if (!collective && !is_text && strcmp(source, "-") != 0 && access(source, F_OK) != 0)
        return refuse_source(source);
    if (o->topology)
        status = tool_load_topology(o->topology, &o->sets, &l->topology);
    if (status == TOOL_OK && o->emulate)
        status = tool_load_topology(o->emulate, &o->sets, &l->emulated);
    THEN(status, collective ? make_collective(o, l) : load_schedule(o, l));
    if (status != TOOL_OK)
        return status;
    struct run_request *r = &o->request;
    r->schedule = l->placed ? l->placed : l->schedule;
    r->what = l->what;
    r->topology = machine(l);
    r->plan.emulate = l->emulated;
    return TOOL_OK;
}

void run_loaded_finish(struct run_loaded *l)
{
    hop_schedule_destroy(l->placed);
    hop_schedule_destroy(l->schedule);
    hop_topology_destroy(l->topology);
    hop_topology_destroy(l->emulated);
    devices_finish(&l->devices);
}
