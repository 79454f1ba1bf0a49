/* SPDX-License-Identifier: BSD-3-Clause */
/* What a mapping came to: the seats of ranks, the scores of both sides, what there is to know. */
#include "map/map.h"

#include "base/clock.h"
#include "base/numa.h"
#include "schedule/schedule.h"
#include "topology/route.h"

const char *hop_map_solver_name(enum hop_map_solver solver)
{
    static const char *const names[] = {"auto", "exact", "scotch", "exchange"};
    return (unsigned)solver < HOP_COUNT(names) ? names[solver] : "?";
}

bool hop_map_has_scotch(void)
{
    return hop_assign_has_scotch();
}

double hop_map_gain(const struct hop_map_result *result)
{
    double before = result->before.metric[result->metric], after = result->after.metric[result->metric];
    return before > 0 && after > 0 ? before / after : 1;
}

/* ---- telling ---- */

static bool name_placement(struct hop_map_work *work, struct hop_map_result *result)
{
    struct hop_placement *placement = NULL;
    bool fine =
        hop_map_did(work, hop_map_places_placement(&work->places, work->place, work->ranks, &placement, work->diag));
    result->placement = placement;
    return fine;
}

/* NULL: it has none, or that of a fabric. */
static const char *pci_id(const struct hop_node *node)
{
    return node->bus_id && hop_pci_address(node->bus_id) != UINT64_MAX ? node->bus_id : NULL;
}

/* The bus id, else a label that is a name ("mlx5_0") and no description. */
static const char *nic_name(const struct hop_node *nic)
{
    return pci_id(nic) ? pci_id(nic) : nic->label && hop_placement_is_nic(nic->label) ? nic->label : NULL;
}

/* The strings stay the topology's until they are copied. */
static void seat_buses(struct hop_map_work *work, struct hop_map_made *made, struct hop_seat *seats)
{
    const struct hop_topology *t = work->topology;
    uint32_t *nics = hop_arena_alloc(&work->arena, ((size_t)hop_topology_node_count(t) + 1) * sizeof *nics);
    work->arena.failed |= nics && !hop_own_nics(t, nics);
    for (uint32_t r = 0; r < work->ranks && !work->arena.failed && !made->arena.failed; r++) {
        const struct hop_node *device = hop_topology_node(t, seats[r].device);
        bool gpu = device->kind == HOP_NODE_GPU;
        uint32_t own = gpu ? nics[seats[r].device] : seats[r].device;
        const char *bus = gpu ? pci_id(device) : NULL;
        const char *nic = own == HOP_NONE ? NULL : nic_name(hop_topology_node(t, own));
        if (bus)
            seats[r].bus_id = hop_arena_string(&made->arena, bus, strlen(bus));
        if (nic)
            seats[r].nic = hop_arena_string(&made->arena, nic, strlen(nic));
    }
}

static bool seat_ranks(struct hop_map_work *work, struct hop_map_made *made)
{
    const struct hop_map_places *p = &work->places;
    struct hop_seat *seats = hop_arena_alloc(&made->arena, (size_t)work->ranks * sizeof *seats);
    struct hop_map_node *nodes = hop_arena_alloc(&made->arena, (size_t)p->node_count * sizeof *nodes);
    uint32_t *devices = hop_arena_alloc(&made->arena, work->size);
    if (!hop_map_got(work, &made->arena))
        return false;
    for (uint32_t n = 0; n < p->node_count; n++) {
        nodes[n].name = hop_arena_string(&made->arena, p->names[n], strlen(p->names[n]));
        for (uint32_t i = p->first[n]; i < p->first[n + 1]; i++)
            nodes[n].devices += p->room[i] > 0;
        nodes[n].all_devices = p->first[n + 1] - p->first[n];
    }
    for (uint32_t r = 0; r < work->ranks; r++) {
        uint32_t at = work->place[r], node = p->node[at];
        seats[r] = (struct hop_seat){.node = node,
                                     .local_rank = nodes[node].ranks++,
                                     .device = p->device[at],
                                     .local_device = p->gpus ? p->local[at] : HOP_NONE,
                                     .core = HOP_NONE,
                                     .package = HOP_NONE,
                                     .in_package = HOP_NONE,
                                     .processor = HOP_NONE};
        devices[r] = p->device[work->before[r]];
    }
    seat_buses(work, made, seats);
    made->result.before_devices = devices;
    made->result.seats = seats;
    made->result.nodes = nodes;
    made->result.node_count = p->node_count;
    return hop_map_got(work, &made->arena) && hop_map_got(work, &work->arena) &&
           (!work->options->cores || !(work->options->phases & HOP_MAP_CORES) || hop_map_cores(work, seats));
}

/* A GPU that several ranks share costs nothing in any metric, so nothing spreads them. */
static void note_idle(struct hop_map_work *work)
{
    const struct hop_map_places *p = &work->places;
    uint32_t *load = hop_arena_alloc(&work->arena, p->count * sizeof *load), idle = 0, shared = 0;
    for (uint32_t r = 0; load && r < work->ranks; r++)
        load[work->place[r]]++;
    for (uint32_t i = 0; load && i < p->count; i++) {
        idle += p->room[i] && load[i] == 0;
        shared += load[i] > 1;
    }
    if (idle && shared)
        hop_map_note(work,
                     "some devices have several ranks and others none: sharing one costs nothing in these metrics; "
                     "what is kept can spread ranks");
}

static void join_notes(const struct hop_map_work *work, struct hop_map_made *made)
{
    struct hop_buffer text = {0};
    for (unsigned i = 0; work->notes[i]; i++)
        hop_buffer_printf(&text, "%s%s", i ? "; " : "", work->notes[i]);
    if (work->stuck)
        hop_buffer_printf(&text, "%s" HOP_MAP_STUCK, work->notes[0] ? "; " : "", work->stuck);
    if (text.length && !text.failed)
        made->result.note = hop_arena_string(&made->arena, text.text, text.length);
    made->arena.failed |= text.failed;
    hop_buffer_finish(&text);
}

#define SHOW_SHARE 0.05 /* of the limit, longer: */
#define SHOW_MOST_S 0.25

/* Whether a limit leaves no more time for what is shown. */
static bool is_late(void *context)
{
    const struct hop_map_work *work = context;
    double limit_s = work->options->time_limit_s;
    return limit_s > 0 && hop_now_s() - work->begun_s >= limit_s + hop_min(SHOW_MOST_S, SHOW_SHARE * limit_s);
}

/* What every model makes of it. */
static bool find_gain(struct hop_map_work *work, struct hop_map_result *result)
{
    const struct hop_gain_options options = {.models = work->options->models,
                                             .max_effort = hop_map_effort(work->options->time_limit_s),
                                             .stop = is_late,
                                             .context = work};
    struct hop_schedule *before, *after;
    struct hop_gain *gain;
    uint32_t operations = work->play ? hop_map_play_operations(work->play) : 0;
    if (operations == 0 || operations > HOP_MAP_EXCHANGE_MOST)
        return true;
    if (!hop_map_did(work, hop_map_play_copy(work->play, work->before, &before, work->diag)))
        return false;
    result->exchange = before;
    if (!hop_map_did(work, hop_map_play_copy(work->play, work->place, &after, work->diag)))
        return false;
    enum hop_status status = hop_gain_find(work->topology, before, after, &options, &gain, work->diag);
    result->gain = status == HOP_OK ? gain : NULL;
    hop_schedule_destroy(after);
    return hop_map_did(work, status == HOP_ERR_STOPPED ? HOP_OK : status);
}

bool hop_map_tell(struct hop_map_work *work, struct hop_map_made *made)
{
    struct hop_map_result *result = &made->result;
    struct hop_map_solved last = work->last;
    bool fine = hop_map_score(work, work->place, &made->arena, &result->after) &&
                hop_map_score(work, work->before, &made->arena, &result->before) && seat_ranks(work, made) &&
                name_placement(work, result) && find_gain(work, result);
    note_idle(work);
    join_notes(work, made);
    result->metric = work->options->metric;
    result->solver = work->options->solver;
    result->method = last.method;
    result->ranks = work->ranks;
    bool whole = !hop_topology_lacks(work->topology) && !(work->coarse && hop_map_is_sum(work->options->metric));
    result->proved = last.proved && whole;
    result->bound = whole ? last.bound : 0;
    result->complete = !work->stopped;
    result->simulated = work->simulated;
    result->elapsed_s = hop_now_s() - work->begun_s;
    return fine && hop_map_got(work, &made->arena);
}

void hop_map_result_destroy(struct hop_map_result *result)
{
    if (!result)
        return;
    struct hop_map_made *made = (struct hop_map_made *)result; /* its first member */
    hop_placement_destroy((struct hop_placement *)result->placement);
    hop_schedule_destroy((struct hop_schedule *)result->exchange);
    hop_gain_destroy((struct hop_gain *)result->gain);
    hop_arena_finish(&made->arena);
    free(made);
}
