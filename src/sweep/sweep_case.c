/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One case after another.
 *
 * Every rank works on copies of the topologies. Assignments of the next block go onto the same copy if they name the
 * same things in the same order, for then they overwrite all that the last ones changed; else onto a new copy.
 */
#include "sweep/sweep.h"

/* ---- topologies ---- */

static const char *line_end(const char *line)
{
    return line + strcspn(line, "\n");
}

static bool have_same_names(const char *a, const char *b)
{
    while (*a && *b) {
        size_t length = strcspn(a, "=\n");
        if (length != strcspn(b, "=\n") || memcmp(a, b, length) != 0)
            return false;
        a = line_end(a) + 1;
        b = line_end(b) + 1;
    }
    return *a == *b;
}

static enum hop_status renew(struct hop_sweep_topology *machine, struct hop_diag *diag)
{
    struct hop_topology *copy;
    enum hop_status status = hop_topology_parse("topology", machine->json, strlen(machine->json), &copy, diag);
    if (status != HOP_OK)
        return status;
    hop_topology_destroy(machine->copy);
    machine->copy = copy;
    return HOP_OK;
}

static enum hop_status assign(struct hop_topology *topology, const char *settings, struct hop_diag *diag)
{
    char line[512];
    for (const char *from = settings; *from; from = line_end(from) + 1) {
        size_t length = (size_t)(line_end(from) - from);
        if (length >= sizeof line)
            return hop_fail(diag, HOP_ERR_LIMIT, "an assignment of more than %zu bytes", sizeof line - 1);
        memcpy(line, from, length);
        line[length] = '\0';
        enum hop_status status = hop_topology_set(topology, line, diag);
        if (status != HOP_OK) {
            if (diag && !diag->place[0])
                hop_diag_place(diag, "--set %.80s", line);
            return status;
        }
    }
    return HOP_OK;
}

static enum hop_status apply(struct hop_sweep *sweep, const struct hop_sweep_key *key, struct hop_diag *diag)
{
    struct hop_sweep_topology *machine = &sweep->topologies[key->topology];
    if (machine->copy && machine->settings && strcmp(machine->settings, key->settings) == 0)
        return HOP_OK;
    char *settings = strdup(key->settings);
    enum hop_status status = settings ? HOP_OK : hop_fail_memory(diag);
    bool overwrites = machine->copy && machine->settings && have_same_names(machine->settings, key->settings);
    if (status == HOP_OK && !overwrites)
        status = renew(machine, diag);
    if (status == HOP_OK)
        status = assign(machine->copy, key->settings, diag);
    free(machine->settings);
    machine->settings = status == HOP_OK ? settings : NULL; /* NULL: in between */
    if (status != HOP_OK)
        free(settings);
    return status;
}

/* ---- cases ---- */

static void drop_network(struct hop_sweep_evaluator *e)
{
    hop_network_destroy(e->network);
    e->network = NULL;
}

enum hop_status hop_sweep_begin(struct hop_sweep_evaluator *e, const struct hop_sweep_key *key, struct hop_diag *diag)
{
    drop_network(e); /* before its topology changes */
    enum hop_status status = apply(e->sweep, key, diag);
    if (status == HOP_OK)
        status = hop_network_create(e->sweep->topologies[key->topology].copy, key->models, &e->network, diag);
    e->networks += status == HOP_OK;
    return status;
}

void hop_sweep_end(struct hop_sweep_evaluator *e)
{
    drop_network(e);
    hop_arena_finish(&e->arena);
    e->spans = NULL;
}

static bool moves_bytes(enum hop_op_kind kind)
{
    return kind == HOP_OP_COPY || kind == HOP_OP_SEND || kind == HOP_OP_RECEIVE;
}

/* A staged copy runs from the first of its parts to the last. */
static void find_slowest(struct hop_sweep_evaluator *e, const struct hop_timeline *timeline,
                         const struct hop_schedule *given, struct hop_sweep_outcome *outcome)
{
    const struct hop_schedule *lowered = hop_timeline_schedule(timeline);
    uint32_t count = hop_schedule_count(given);
    for (uint32_t i = 0; i < count; i++)
        e->spans[i] = (struct hop_span){.end_s = -1};
    for (uint32_t i = 0; i < hop_schedule_count(lowered); i++) {
        uint32_t parent = hop_schedule_op(lowered, i)->parent;
        struct hop_span span = hop_timeline_span(timeline, i), *whole = &e->spans[parent == HOP_NONE ? i : parent];
        whole->ready_s = whole->end_s < 0 ? span.ready_s : hop_min(whole->ready_s, span.ready_s);
        whole->end_s = hop_max(whole->end_s, span.end_s);
    }
    for (uint32_t i = 0; i < count; i++) {
        double took_s = e->spans[i].end_s - e->spans[i].ready_s;
        if (moves_bytes(hop_schedule_op(given, i)->kind) &&
            (outcome->slowest == HOP_NONE || took_s > outcome->slowest_s)) {
            outcome->slowest = i;
            outcome->slowest_s = took_s;
        }
    }
}

static uint64_t count_bytes(const struct hop_schedule *schedule)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        uint64_t more = op->kind == HOP_OP_COPY || op->kind == HOP_OP_SEND ? op->bytes : 0;
        bytes = bytes > UINT64_MAX - more ? UINT64_MAX : bytes + more;
    }
    return bytes;
}

enum hop_status hop_sweep_evaluate(struct hop_sweep_evaluator *e, const struct hop_sweep_entry *entry,
                                   struct hop_sweep_outcome *outcome, struct hop_diag *diag)
{
    const struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS, .sources_unlimited = e->sources_unlimited};
    const struct hop_schedule *schedule = NULL;
    struct hop_timeline *timeline = NULL;
    *outcome = (struct hop_sweep_outcome){.slowest = HOP_NONE};
    enum hop_status status = hop_sweep_sized(e->sweep, entry, &schedule, diag);
    if (status == HOP_OK && !HOP_GROW(&e->arena, e->spans, (size_t)hop_schedule_count(schedule) + 1))
        status = hop_fail_memory(diag);
    if (status == HOP_OK)
        status = hop_simulate(e->network, schedule, &options, &timeline, diag);
    outcome->status = status;
    if (status != HOP_OK)
        return status;
    outcome->makespan_s = hop_timeline_makespan_s(timeline);
    outcome->events = hop_timeline_events(timeline);
    outcome->bytes = count_bytes(schedule);
    find_slowest(e, timeline, schedule, outcome);
    hop_timeline_destroy(timeline);
    return HOP_OK;
}

/* ---- what is found early ---- */

/* Models that were tried on a topology already need no network again. */
static enum hop_status check_key(struct hop_sweep_evaluator *e, const struct hop_sweep_key *key,
                                 struct hop_names *tried, struct hop_arena *arena, struct hop_diag *diag)
{
    struct hop_buffer text = {0};
    hop_buffer_printf(&text, "%u%s%s", key->topology, key->models ? " " : "", key->models ? key->models : "");
    char *name = text.failed ? NULL : hop_arena_string(arena, text.text, text.length);
    hop_buffer_finish(&text);
    if (!name)
        return hop_fail_memory(diag);
    if (hop_names_get(tried, name) == UINT32_MAX)
        return hop_names_put(tried, name, 0) ? hop_sweep_begin(e, key, diag) : hop_fail_memory(diag);
    drop_network(e);
    return apply(e->sweep, key, diag);
}

static bool has_device(const struct hop_topology *topology, const char *name)
{
    uint32_t node = hop_topology_find(topology, name);
    return node != HOP_NONE && hop_node_is_device(hop_topology_node(topology, node)->kind);
}

/* Names only; the words for what is wrong are the simulation's. */
static enum hop_status check_devices(struct hop_sweep_evaluator *e, const struct hop_sweep_entry *entry,
                                     struct hop_diag *diag)
{
    const struct hop_sweep_key *key = &e->sweep->keys[entry->key];
    const struct hop_topology *topology = e->sweep->topologies[key->topology].copy;
    const struct hop_schedule *schedule = e->sweep->schedules[entry->schedule].given;
    bool found = true;
    for (uint32_t i = 0; i < hop_schedule_count(schedule) && found; i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        found = (!op->from.device || has_device(topology, op->from.device)) &&
                (!op->to.device || has_device(topology, op->to.device));
    }
    struct hop_sweep_outcome outcome;
    enum hop_status status = found ? HOP_OK : hop_sweep_begin(e, key, diag);
    return found || status != HOP_OK ? status : hop_sweep_evaluate(e, entry, &outcome, diag);
}

enum hop_status hop_sweep_check(struct hop_sweep_evaluator *e, uint32_t *culprit, struct hop_diag *diag)
{
    struct hop_sweep *sweep = e->sweep;
    struct hop_names tried = {0};
    struct hop_arena arena = {0};
    uint8_t *seen = hop_arena_alloc(&arena, (size_t)sweep->schedule_count * sweep->topology_count / 8 + 1);
    enum hop_status status = seen ? HOP_OK : hop_fail_memory(diag);
    for (uint32_t i = 0; i < sweep->entry_count && status == HOP_OK; i++) {
        const struct hop_sweep_entry *entry = &sweep->entries[i];
        const struct hop_sweep_key *key = &sweep->keys[entry->key];
        size_t pair = (size_t)entry->schedule * sweep->topology_count + key->topology;
        *culprit = i;
        if (i == 0 || entry->key != entry[-1].key)
            status = check_key(e, key, &tried, &arena, diag);
        if (status == HOP_OK && !(seen[pair / 8] >> pair % 8 & 1)) {
            seen[pair / 8] |= (uint8_t)(1 << pair % 8);
            status = check_devices(e, entry, diag);
        }
    }
    hop_names_finish(&tried);
    hop_arena_finish(&arena);
    return status;
}
