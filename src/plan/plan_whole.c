/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole plan: placement and order first, then what is chosen for them. */
#include "plan/plan.h"

#include "base/clock.h"

/* ---- the plan of an earlier run ---- */

static uint64_t key_of(void)
{
    return hop_plan_hash_text(0, "plan");
}

/* What is kept of it besides its value, its algorithm's name, places and schedule. */
enum { STEP, CLEAN, WAITS, COPIES, STAGED, PACKET, SEGMENT, RINGS, ISLANDS, NAME_LENGTH, NUMBERS };

static void keep_plan(const struct hop_plan_further *f)
{
    static const struct hop_plan_algorithm none;
    const struct hop_plan_result *r = &f->made->result;
    const struct hop_plan_rung *plan = &r->rungs[r->rung];
    const struct hop_plan_algorithm *by = r->algorithm_count ? &r->algorithms[r->algorithm] : &none;
    const struct hop_plan_answer *kept = hop_plan_answers_find(&f->call->answers, key_of());
    const uint64_t numbers[NUMBERS] = {[STEP] = plan->step,           [CLEAN] = plan->clean,
                                       [WAITS] = plan->waits,         [COPIES] = r->ways.copies,
                                       [STAGED] = r->ways.staged,     [PACKET] = r->ways.packet_bytes,
                                       [SEGMENT] = by->segment_bytes, [RINGS] = by->rings,
                                       [ISLANDS] = by->islands,       [NAME_LENGTH] = strlen(by->name)};
    if (kept && !(plan->value_s < hop_text_number(kept->text, NULL)))
        return;
    char *schedule = hop_schedule_to_text(plan->schedule);
    struct hop_buffer text = {0};
    hop_plan_put_value(&text, plan->value_s);
    for (uint32_t i = 0; i < NUMBERS; i++)
        hop_plan_put_whole(&text, numbers[i]);
    hop_buffer_puts(&text, by->name);
    hop_plan_put_whole(&text, hop_placement_count(plan->placement));
    for (uint32_t rank = 0; rank < hop_placement_count(plan->placement); rank++)
        hop_plan_put_whole(&text, hop_topology_find(f->topology, hop_placement_device(plan->placement, rank)));
    hop_buffer_puts(&text, schedule ? schedule : "");
    if (schedule && !text.failed)
        hop_plan_answers_add(&f->call->answers, &(struct hop_plan_answer){key_of(), text.text, text.length});
    hop_buffer_finish(&text);
    free(schedule);
}

/* Places and, behind them, the schedule. */
static enum hop_status read_plan(const struct hop_plan_further *f, struct hop_plan_reading *in,
                                 struct hop_plan_rung *plan, struct hop_diag *diag)
{
    uint32_t nodes = hop_topology_node_count(f->topology), ranks = (uint32_t)hop_plan_get_whole(in, nodes);
    const char **devices = malloc((ranks + (size_t)1) * sizeof *devices);
    struct hop_placement *placement = NULL;
    struct hop_schedule *schedule = NULL;
    for (uint32_t r = 0; r < ranks && devices; r++)
        devices[r] = hop_topology_node(f->topology, (uint32_t)hop_plan_get_whole(in, nodes - 1))->name;
    enum hop_status status = devices ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK && !in->failed)
        status = hop_placement_of(devices, ranks, &placement, diag);
    if (status == HOP_OK && !in->failed)
        status =
            hop_schedule_parse(hop_schedule_name(f->exchange), in->at, (size_t)(in->end - in->at), &schedule, diag);
    plan->placement = placement;
    plan->schedule = schedule;
    free(devices);
    return status;
}

/* It takes the place of the step that gave it, and of those behind. */
static enum hop_status go_back(struct hop_plan_further *f, const struct hop_plan_rung *plan, struct hop_diag *diag)
{
    struct hop_plan_made *made = f->made;
    struct hop_plan_result *r = &made->result;
    const struct hop_map_result *mapping;
    while (r->rung_count > 1 && made->rungs[r->rung_count - 1].step >= plan->step)
        hop_plan_rung_finish(&made->rungs[--r->rung_count]);
    r->rung = r->rung_count++;
    made->rungs[r->rung] = *plan;
    r->value_s = plan->value_s;
    r->placement = plan->placement;
    r->best = plan->schedule;
    r->ways.taken = plan->step >= HOP_PLAN_WAYS;
    if (!r->ways.taken)
        r->direct_s = plan->value_s;
    if (plan->step == HOP_PLAN_SHAPE) /* of which only the bound over all algorithms says something */
        r->proved = r->proved_with_waits = r->proved_without_waits =
            r->any_way_s > 0 && !(plan->value_s > r->any_way_s * (1 + HOP_PLAN_TOLERANCE));
    r->bound_s = hop_min(r->bound_s, r->direct_s);
    r->without_s = hop_min(r->without_s, r->direct_s);
    r->any_way_s = hop_min(r->any_way_s, r->value_s);
    hop_gain_destroy((struct hop_gain *)r->ways.gain);
    r->ways.gain = NULL;
    r->note = "an earlier run found this plan, which the checkpoint had";
    HOP_CHECK(hop_plan_compare(f->call, f->topology, made->rungs, &made->rungs[r->rung], diag));
    HOP_CHECK(hop_plan_seat(f, plan->placement, &mapping, diag));
    hop_map_result_destroy((struct hop_map_result *)r->mapping);
    r->mapping = mapping;
    return HOP_OK;
}

/* The plan that an earlier run came to, if it is better: what was stopped within, or had more time, need not be found again. */
static enum hop_status take_plan(struct hop_plan_further *f, struct hop_diag *diag)
{
    const struct hop_plan_answer *kept = hop_plan_answers_find(&f->call->answers, key_of());
    struct hop_plan_result *r = &f->made->result;
    uint64_t n[NUMBERS];
    if (!kept)
        return HOP_OK;
    struct hop_plan_reading in = {kept->text, kept->text + kept->size, false, false};
    struct hop_plan_rung plan = {.value_s = hop_plan_get_value(&in)};
    for (uint32_t i = 0; i < NUMBERS; i++)
        n[i] = hop_plan_get_whole(&in, i == STEP ? HOP_PLAN_STEPS - 1 : UINT64_MAX);
    const char *algorithm = hop_plan_get_bytes(&in, n[NAME_LENGTH]);
    if (in.failed || (r->best && !(plan.value_s < r->value_s)) ||
        (f->options->cut_s > 0 && !(plan.value_s < f->options->cut_s)))
        return HOP_OK;
    plan.step = (enum hop_plan_step)n[STEP];
    plan.name = hop_plan_step_name(plan.step);
    plan.clean = n[CLEAN];
    plan.waits = n[WAITS];
    enum hop_status status = read_plan(f, &in, &plan, diag);
    if (status != HOP_OK || in.failed) {
        hop_plan_rung_finish(&plan);
        return status;
    }
    r->ways.copies = (uint32_t)n[COPIES];
    r->ways.staged = (uint32_t)n[STAGED];
    r->ways.packet_bytes = n[PACKET];
    for (uint32_t i = 0; i < r->algorithm_count; i++) {
        struct hop_plan_algorithm *one = (struct hop_plan_algorithm *)&r->algorithms[i]; /* the arena's */
        if (strlen(one->name) == n[NAME_LENGTH] && memcmp(one->name, algorithm, n[NAME_LENGTH]) == 0 &&
            one->segment_bytes == n[SEGMENT] && one->rings == n[RINGS] && one->islands == n[ISLANDS]) {
            r->algorithm = i;
            one->value_s = plan.value_s;
        }
    }
    return go_back(f, &plan, diag);
}

/* ---- the whole ---- */

enum hop_status hop_plan_go_further(struct hop_plan_further *f, struct hop_diag *diag)
{
    struct hop_plan_result *r = &f->made->result;
    r->direct_s = r->value_s;
    r->rung = r->rung_count - 1;
    r->ways.way = f->options->way;
    if (r->best)
        HOP_CHECK(hop_plan_ways(f, diag));
    HOP_CHECK(take_plan(f, diag));
    if (r->best)
        keep_plan(f);
    if (r->best && f->options->robust)
        HOP_CHECK(hop_plan_robust_find(f, diag));
    r->complete = r->complete && !f->stopped;
    if (f->call->stuck) {
        struct hop_buffer note = {0};
        hop_buffer_printf(&note, "%s%s" HOP_MAP_STUCK, r->note ? r->note : "", r->note ? "; " : "", f->call->stuck);
        r->note = hop_arena_string(&f->made->arena, note.text ? note.text : "", note.length);
        note.failed = note.failed || !r->note;
        hop_buffer_finish(&note);
        if (note.failed)
            return hop_fail_memory(diag);
    }
    r->elapsed_s = hop_now_s() - f->begun_s;
    return HOP_OK;
}

static enum hop_status plan_exchange(struct hop_plan_call *call, const struct hop_topology *topology,
                                     const struct hop_schedule *exchange, const struct hop_plan_options *own,
                                     struct hop_plan_result **found, struct hop_diag *diag)
{
    struct hop_plan_options first = *own;
    double begun_s = hop_now_s();
    hop_plan_leave_share(&first);
    HOP_CHECK(hop_plan_direct(call, topology, exchange, &first, own->max_nodes, found, diag));
    struct hop_plan_further further = {.call = call,
                                       .topology = topology,
                                       .exchange = exchange,
                                       .options = own,
                                       .made = (struct hop_plan_made *)*found, /* its first member */
                                       .begun_s = begun_s};
    further.left = own->max_nodes - first.max_nodes + further.made->left;
    return call->rank == 0 ? hop_plan_go_further(&further, diag) : HOP_OK;
}

enum hop_status hop_plan(const struct hop_topology *topology, const struct hop_schedule *exchange,
                         const struct hop_plan_options *options, struct hop_plan_result **result, struct hop_diag *diag)
{
    struct hop_plan_options own = {.seed = 1};
    struct hop_plan_call call;
    struct hop_schedule *staged = NULL;
    struct hop_diag ignored;
    struct hop_plan_result *found = NULL;
    diag = diag ? diag : &ignored;
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    HOP_CHECK(hop_plan_stage(&own, exchange, &staged, diag));
    enum hop_status status = hop_plan_call_begin(&call, topology, &own, hop_plan_hash_exchange(exchange), diag);
    if (status == HOP_OK)
        status = plan_exchange(&call, topology, staged ? staged : exchange, &own, &found, diag);
    hop_schedule_destroy(staged);
    status = hop_plan_call_end(&call, status, found, diag);
    bool keeps = status == HOP_OK && call.rank == 0;
    *result = keeps ? found : NULL;
    if (!keeps)
        hop_plan_result_destroy(found);
    return status;
}
