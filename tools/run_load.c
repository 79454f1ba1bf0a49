/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast run: the topology, and the schedule that is run: read and put on devices, or made of a collective. */
#include <string.h>
#include <unistd.h>

#include "run.h"

/* What --on or --emulate names; NULL: neither was given. */
static const struct hop_topology *machine(const struct run_loaded *l)
{
    return l->emulated ? l->emulated : l->topology;
}

/* ---- a collective ---- */

enum { OPERATIONS_MADE = 10000000 }; /* no schedule of more is made */

static void check_collective(const struct run_options *o)
{
    enum hop_collective_kind kind = o->collective.kind;
    const char *name = hop_collective_name(kind);
    bool reduces =
        kind == HOP_COLLECTIVE_ALLREDUCE || kind == HOP_COLLECTIVE_REDUCE || kind == HOP_COLLECTIVE_REDUCE_SCATTER;
    bool rooted = kind == HOP_COLLECTIVE_BROADCAST || kind == HOP_COLLECTIVE_REDUCE || kind == HOP_COLLECTIVE_GATHER ||
                  kind == HOP_COLLECTIVE_SCATTER;
    if (tool_given(&o->given, "root") && !rooted)
        tool_bad_usage(&tool_run, "%s has no root: --root goes with broadcast, reduce, gather and scatter", name);
    if (tool_given(&o->given, "operator") && !reduces)
        tool_bad_usage(&tool_run, "%s reduces nothing: --operator goes with allreduce, reduce and reduce-scatter",
                       name);
    if (kind == HOP_COLLECTIVE_BARRIER && (tool_given(&o->given, "type") || tool_given(&o->given, "in-place") ||
                                           tool_given(&o->given, "bytes") || tool_given(&o->given, "segment")))
        tool_bad_usage(&tool_run, "a barrier has no data: --bytes, --segment, --type and --in-place go with other "
                                  "collectives");
    if (o->map && o->devices)
        tool_bad_usage(&tool_run, "--map and --devices both say where the ranks are: one at a time");
}

/* The devices of a collective's ranks: by --map one for each, as a placement file says or in the order in which the
 * topology has them, else those listed, the topology's, or one, "host0". */
static void find_devices(const struct run_options *o, struct run_loaded *l)
{
    struct tool_map map = tool_map_load(o->map);
    struct hop_placement *placement = map.file;
    const struct hop_topology *topology = machine(l);
    uint32_t ranks = o->ranks;
    if (!o->map) {
        devices_find(&tool_run, topology, o->devices, &l->devices);
        return;
    }
    if (placement) {
        uint32_t count = hop_placement_count(placement);
        ranks = ranks ? ranks : count;
        if (ranks > count)
            tool_bad_usage(&tool_run, "--map %s says where %u ranks are, and there are %u", o->map, count, ranks);
        if (topology)
            tool_try(hop_placement_check(placement, topology, ranks, &tool_diag));
    } else {
        struct device_list all = {0};
        if (!topology)
            tool_bad_usage(&tool_run, "--map %s needs --on TOPOLOGY or --emulate TOPOLOGY", o->map);
        devices_of(&tool_run, topology, &all);
        ranks = ranks ? ranks : all.count;
        tool_try(hop_placement_make(topology, ranks, map.order, &placement, &tool_diag));
        (void)tool_have(placement);
    }
    for (uint32_t r = 0; r < ranks; r++) {
        const char *device = hop_placement_device(placement, r);
        devices_add(&tool_run, device, strlen(device), &l->devices);
    }
}

static void describe(const struct run_options *o, const char *by, const char *table, const char *rounded,
                     struct run_loaded *l)
{
    char size[32] = "";
    if (o->collective.kind != HOP_COLLECTIVE_BARRIER)
        hop_format_bytes(o->collective.vector_bytes, size, sizeof size);
    (void)snprintf(l->what, sizeof l->what, "%s by %.60s%s%.100s%s%s%s%s", hop_collective_name(o->collective.kind), by,
                   table ? ", from " : "", table ? table : "", size[0] ? ", " : "", size,
                   *rounded ? ", " : "", rounded);
}

/* Ranks fill the devices in order, as evenly as they can. */
static void make_collective(struct run_options *o, struct run_loaded *l)
{
    char by[HOP_ALGORITHM_NAME_SIZE];
    check_collective(o);
    find_devices(o, l);
    uint32_t count = l->devices.count, ranks = o->ranks ? o->ranks : count;
    if (ranks > HOP_RANKS_MAX)
        tool_bad_usage(&tool_run, "%u devices, and %d ranks at most: -n or --devices says which", count, HOP_RANKS_MAX);
    const struct hop_ranks all = {devices_spread(&l->devices, ranks, 0), ranks};
    if (o->collective.kind == HOP_COLLECTIVE_BARRIER)
        o->collective.vector_bytes = 0;
    const char *rounded = tool_round_collective(&o->collective, ranks);
    o->collective.callers = o->request.plan.bound;
    const char *table = tool_choose_algorithm(&o->collective, ranks);
    uint64_t most = o->collective.operations_most = o->preparations_most ? o->preparations_most / ranks + 1 : 0;
    enum hop_status status = hop_make_collective_by(&all, &o->collective, by, &l->schedule, &tool_diag);
    if (status == HOP_ERR_LIMIT && most > 0 && most < OPERATIONS_MADE)
        hop_diag_expect(&tool_diag, RUN_WORK_EXPECTED, (unsigned long long)most, ranks, RUN_TIMEOUTS);
    tool_try(status);
    describe(o, by, table, rounded, l);
    o->ranks = ranks;
    o->request.collective = &o->collective;
    o->request.plan.pipelined = true;
    o->request.plan.collective = hop_collective_name(o->collective.kind);
    o->request.plan.definition = &o->collective;
    o->request.plan.definition_ranks = ranks;
}

/* ---- a schedule ---- */

/* With a topology ranks go there packed, unless it is said otherwise, as for a prediction. */
static void place(const struct run_options *o, struct run_loaded *l)
{
    if (o->map && hop_schedule_ranks(l->schedule) == 0)
        tool_bad_usage(&tool_run, "the schedule names no rank, such as rank0, that --map %s could put on a device",
                       o->map);
    if (machine(l)) {
        l->schedule = tool_place(o->map, machine(l), l->schedule);
    } else if (o->map) {
        struct tool_map map = tool_map_load(o->map);
        if (!map.file)
            tool_bad_usage(&tool_run, "--map %s needs --on TOPOLOGY or --emulate TOPOLOGY", o->map);
        tool_try(hop_placement_apply(map.file, l->schedule, &l->schedule, &tool_diag));
    }
}

/* What is neither a file nor a collective was meant to be one of them. */
static void check_source(const char *source)
{
    if (strcmp(source, "-") == 0 || access(source, F_OK) == 0)
        return;
    const char *nearest = tool_nearest_word(TOOL_COLLECTIVES, source);
    (void)hop_fail(&tool_diag, HOP_ERR_IO, "'%.180s' is neither a file nor a collective%s", source,
                   nearest ? tool_text(" (is %s meant?)", nearest) : "");
    tool_expect_schedule("a schedule's file, or allreduce, reduce, broadcast, allgather, reduce-scatter, alltoall, "
                         "gather, scatter or barrier",
                         source);
    tool_fail(&tool_diag);
}

/* A schedule that says that it is a collective, as what `hopcast make` writes does, is held to it, wherever it comes
 * from and whatever has become of it since. */
static void find_definition(struct run_options *o, const struct run_loaded *l)
{
    static struct hop_collective_options what;
    uint32_t ranks, has = tool_counted(hop_schedule_run_ranks(l->schedule));
    if (!hop_schedule_collective(l->schedule, &what, &ranks) || what.kind == HOP_COLLECTIVE_BARRIER)
        return;
    if (ranks < has) {
        (void)hop_fail(&tool_diag, HOP_ERR_INVALID,
                       "the schedule says that it is %s among %u rank%s, and has %u\nwhat its first comment says, or "
                       "no such comment",
                       hop_collective_name(what.kind), ranks, ranks == 1 ? "" : "s", has);
        tool_fail(&tool_diag);
    }
    o->request.plan.definition = &what;
    o->request.plan.definition_ranks = ranks;
}

static void load_schedule(struct run_options *o, struct run_loaded *l)
{
    static const char *const of_collectives[] = {"algorithm", "bytes",   "operator", "type",
                                                 "root",      "segment", "in-place", "devices"};
    for (size_t i = 0; i < HOP_COUNT(of_collectives); i++) {
        if (tool_given(&o->given, of_collectives[i]))
            tool_bad_usage(&tool_run, "--%s goes with a collective, such as allreduce", of_collectives[i]);
    }
    l->schedule = tool_read_schedule(o->schedules.at[0], NULL);
    find_definition(o, l);
    place(o, l);
    if (machine(l))
        devices_check_all(machine(l), l->schedule);
    (void)snprintf(l->what, sizeof l->what, "%.200s", *o->schedules.at[0] == 'e' ? "schedule" : o->schedules.at[0] + 1);
}

/* ---- both ---- */

void run_load(struct run_options *o, struct run_loaded *l)
{
    const char *source = o->schedules.at[0] + 1;
    bool is_text = *o->schedules.at[0] == 'e';
    bool collective = !is_text && tool_collective(source, strlen(source), &o->collective.kind);
    if (!collective && !is_text)
        check_source(source);
    l->topology = o->topology ? tool_load_topology(o->topology, &o->sets) : NULL;
    l->emulated = o->emulate ? tool_load_topology(o->emulate, &o->sets) : NULL;
    if (collective)
        make_collective(o, l);
    else
        load_schedule(o, l);
    struct run_request *r = &o->request;
    r->schedule = l->schedule;
    r->what = l->what;
    r->topology = machine(l);
    r->plan.machine = l->topology;
    r->plan.emulate = l->emulated;
}
