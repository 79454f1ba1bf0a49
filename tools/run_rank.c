/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast run: one rank. The first launch is checked, the second one, on memory that has been used, is recorded; the
 * repeated ones are timed. Emulated links have no such difference, but take long: there the first one is recorded. When
 * all have parted, rank 0 shows what came of it: nobody waits for it any more, so that it may take as long as whoever
 * reads what it prints. */
#include "base/clock.h"
#include "base/replace.h"
#include "run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/definition.h"
#include "run/hooks.h"

enum { SAMPLES_MOST = 1 << 21 }; /* of operations, in all launches that are kept */

/* What ranks find out; what is shown follows from it. */
struct found {
    struct hop_measured_op *ops;     /* rank 0's */
    struct hop_measured_op *samples; /* rank 0's, of the repeated launches that are kept */
    uint32_t kept;
    double *times_s; /* of repeated launches */
    uint64_t wrong;
    struct hop_diag first_wrong;
};

/* A rank that fails tells the others why; the launcher prints it. */
static int give_up(struct hop_team *team, const struct hop_diag *diag)
{
    if (hop_team_lost(team) < 0)
        hop_team_abort(team, diag);
    return diag->status == HOP_ERR_LOST || diag->status == HOP_ERR_STOPPED ? TOOL_NEGATIVE : TOOL_BAD;
}

static enum hop_status keep_times(struct hop_program *plan, const struct run_request *r, struct hop_measured_op *to,
                                  struct hop_diag *diag)
{
    const struct hop_measured_op *ops;
    uint32_t count = hop_schedule_count(r->schedule);
    enum hop_status status = hop_program_times(plan, &ops, diag);
    if (status == HOP_OK && count > 0 && to)
        memcpy(to, ops, count * sizeof *ops);
    return status;
}

/* How many of the repeated launches are kept operation by operation: the first. */
static uint32_t kept_most(const struct run_request *r)
{
    uint64_t most = SAMPLES_MOST / ((uint64_t)hop_schedule_count(r->schedule) + 1) + 1;
    most = most < HOP_SAMPLES_MAX ? most : HOP_SAMPLES_MAX;
    return run_times_each(r) ? (uint32_t)(r->repeat < most ? r->repeat : most) : 0;
}

/* Memory as a caller has it, for every buffer that is to be bound. */
static enum hop_status bind_all(struct hop_program *plan, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    struct hop_binding binding = {0};
    const char *name;
    uint64_t bytes;
    for (; status == HOP_OK && hop_program_buffer(plan, binding.buffer, &name, &bytes); binding.buffer++) {
        if (!hop_program_binds(plan, binding.buffer))
            continue;
        binding.address = calloc(bytes + 1, 1);
        if (!binding.address)
            tool_out_of_memory();
        status = hop_program_bind(plan, &binding, 1, diag);
    }
    return status;
}

static void drop_plan(struct hop_program *plan)
{
    const char *name;
    uint64_t bytes;
    for (uint32_t b = 0; plan && hop_program_buffer(plan, b, &name, &bytes); b++) {
        if (hop_program_binds(plan, b))
            free(hop_program_address(plan, b));
    }
    hop_program_destroy(plan);
}

static enum hop_status make_plan(struct hop_team *team, const struct run_request *r, bool record,
                                 struct hop_program **plan, struct hop_diag *diag)
{
    struct hop_program_options options = r->plan;
    struct hop_run_hooks hooks = {{r->delay_s[0], r->delay_s[1]}, r->fault};
    options.record = record;
    enum hop_status status = hop_program_create_hooked(team, r->schedule, &options, &hooks, plan, diag);
    if (status == HOP_OK)
        status = bind_all(*plan, diag);
    return status == HOP_OK ? hop_program_fill(*plan, r->seed, diag) : status;
}

/* The rank's results, or of a schedule that is no collective each of its buffers: DIR/rank3.out */
static enum hop_status save_buffer(struct hop_program *plan, const char *path, uint32_t index, uint64_t at,
                                   uint64_t bytes, struct hop_diag *diag)
{
    enum { PIECE = 1 << 20 };
    struct hop_replacing file;
    char *piece = malloc(PIECE);
    enum hop_status status = piece ? HOP_OK : hop_fail_memory(diag);
    bool begun = status == HOP_OK && hop_replacing_begin(&file, path), whole = begun;
    for (uint64_t done = 0, part; done < bytes && whole && status == HOP_OK; done += part) {
        part = bytes - done < PIECE ? bytes - done : PIECE;
        status = hop_program_read(plan, index, at + done, piece, part, diag);
        whole = status == HOP_OK && hop_replacing_write(&file, piece, part);
    }
    free(piece);
    if (begun)
        whole = hop_replacing_end(&file, whole);
    if (status == HOP_OK && !whole)
        status = hop_fail(diag, hop_status_of_error(errno), "cannot write '%s': %s", path, strerror(errno));
    return status;
}

static enum hop_status save(struct hop_team *team, struct hop_program *plan, const struct run_request *r,
                            struct hop_diag *diag)
{
    const struct hop_collective_options *what = r->plan.definition;
    enum hop_status status = HOP_OK;
    const char *name;
    uint64_t bytes, result = 0;
    for (uint32_t b = 0; status == HOP_OK && hop_program_buffer(plan, b, &name, &bytes); b++) {
        char path[4096];
        uint64_t at = 0;
        if (what)
            at = hop_definition_result(what, r->plan.definition_ranks, hop_team_rank(team), &result);
        if (what && (result == 0 || strcmp(name, what->in_place ? "data" : "out") != 0))
            continue;
        (void)snprintf(path, sizeof path, "%s/rank%u.%.64s", r->save, hop_team_rank(team), name);
        for (char *c = path + strlen(r->save) + 1; *c; c++)
            *c = *c == '/' ? '_' : *c;
        status = save_buffer(plan, path, b, at, what ? result : bytes, diag);
    }
    return status;
}

/* Once, of the first plan. */
static void print_note(struct hop_team *team, const struct hop_program *plan)
{
    if (plan && hop_program_note(plan) && hop_team_rank(team) == 0)
        tool_warn("note: %s", hop_program_note(plan));
}

/* Its bytes are wanted, or, where no repeated one is timed operation by operation, the times of the one behind it. */
static bool needs_first(const struct run_request *r)
{
    return r->check || r->save || kept_most(r) == 0;
}

static enum hop_status first_launch(struct hop_team *team, const struct run_request *r, struct found *found,
                                    struct hop_diag *diag)
{
    struct hop_program *plan = NULL;
    enum hop_status status = make_plan(team, r, true, &plan, diag);
    print_note(team, plan);
    if (status == HOP_OK)
        status = hop_program_run(plan, diag);
    if (status == HOP_OK && r->check)
        status = hop_program_check(plan, r->seed, &found->wrong, &found->first_wrong);
    if (status == HOP_OK && r->save)
        status = save(team, plan, r, diag);
    if (status == HOP_OK && !r->plan.emulate)
        status = hop_team_barrier(team, diag); /* some have compared more than others */
    if (status == HOP_OK && !r->plan.emulate && kept_most(r) == 0)
        status = hop_program_run(plan, diag);
    if (status != HOP_OK && r->check && found->first_wrong.what[0])
        *diag = found->first_wrong;
    if (status == HOP_OK)
        status = keep_times(plan, r, found->ops, diag);
    drop_plan(plan);
    return status;
}

/* Where operations are timed, the launches begin together; else they follow each other as a caller's would. */
static enum hop_status repeated(struct hop_team *team, const struct run_request *r, struct found *found,
                                struct hop_diag *diag)
{
    struct hop_program *plan = NULL;
    size_t count = hop_schedule_count(r->schedule);
    uint32_t most = kept_most(r);
    enum hop_status status = make_plan(team, r, most > 0, &plan, diag);
    if (!needs_first(r))
        print_note(team, plan);
    for (uint64_t i = 0; i < r->warmup && status == HOP_OK; i++)
        status = hop_program_run(plan, diag);
    if (status == HOP_OK)
        status = hop_team_barrier(team, diag);
    for (uint64_t i = 0; i < r->repeat && status == HOP_OK; i++) {
        double begun_s = hop_now_s();
        status = hop_program_run(plan, diag);
        found->times_s[i] = (hop_now_s() - begun_s) / (r->plan.emulate ? r->plan.slower : 1);
        if (status == HOP_OK && i < most)
            status = keep_times(plan, r, found->samples ? found->samples + i * count : NULL, diag);
    }
    found->kept = most;
    drop_plan(plan);
    return status;
}

/* ---- rank 0, alone ---- */

static enum hop_status predict(const struct run_request *r, struct hop_network *network, struct run_result *result,
                               struct hop_diag *diag)
{
    struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS};
    enum hop_status status = hop_simulate(network, r->schedule, &options, &result->predicted, diag);
    if (status == HOP_OK)
        result->predicted_s = hop_timeline_makespan_s(result->predicted);
    return status;
}

static int show(const struct run_request *r, const struct found *found)
{
    uint32_t count = hop_schedule_count(r->schedule);
    struct hop_sample_summary *took_s = tool_alloc((size_t)count + 1, sizeof *took_s);
    struct hop_measured_op *ops = tool_alloc((size_t)count + 1, sizeof *ops);
    hop_launches_summarise(found->kept ? found->samples : found->ops, count, found->kept ? found->kept : 1, ops,
                           took_s);
    struct run_result result = {.ops = ops,
                                .took_s = took_s,
                                .predicted_s = NAN,
                                .wrong = found->wrong,
                                .first_wrong = found->first_wrong,
                                .times_s = found->times_s,
                                .time_count = r->repeat};
    struct hop_network *network = NULL;
    struct hop_diag diag;
    enum hop_status status = r->topology ? HOP_OK : run_flat(r->schedule, ops, &result.flat, &diag);
    if (status == HOP_OK)
        status = hop_network_create(r->topology ? r->topology : result.flat, r->models, &network, &diag);
    if (status == HOP_OK)
        status = hop_timeline_measured(network, r->schedule, ops, &result.timeline, &diag);
    if (status == HOP_OK && r->predict)
        status = predict(r, network, &result, &diag);
    int answer = status == HOP_OK ? TOOL_OK : tool_say(&diag);
    if (answer == TOOL_OK)
        run_show(r, &result);
    answer = tool_finish(answer);
    hop_timeline_destroy(result.predicted);
    hop_timeline_destroy(result.timeline);
    hop_network_destroy(network);
    hop_topology_destroy(result.flat);
    return answer;
}

/* ---- all ---- */

static int run_all(struct hop_team *team, const struct run_request *r, struct found *found)
{
    struct hop_diag diag = {0};
    const struct hop_agreement same[] = {{"number of launches", r->repeat, false},
                                         {"number of launches before", r->warmup, false},
                                         {"seed", r->seed, false},
                                         {"wish to check the bytes", r->check, false}};
    enum hop_status status = hop_team_agree(team, same, HOP_COUNT(same), &diag);
    if (status == HOP_OK && needs_first(r))
        status = first_launch(team, r, found, &diag);
    if (status == HOP_OK && r->repeat > 0)
        status = repeated(team, r, found, &diag);
    if (status == HOP_OK && found->first_wrong.what[0])
        tool_warn("wrong: %s; expected %s", found->first_wrong.what, found->first_wrong.expected);
    if (status == HOP_OK)
        status = hop_team_finish(team, &diag);
    if (status != HOP_OK)
        return give_up(team, &diag);
    int answer = hop_team_rank(team) == 0 ? show(r, found) : TOOL_OK;
    return answer == TOOL_OK && found->wrong > 0 ? TOOL_NEGATIVE : answer;
}

int run_rank(struct hop_team *team, void *context)
{
    const struct run_request *r = context;
    struct found found = {.ops = calloc((size_t)hop_schedule_count(r->schedule) + 1, sizeof *found.ops),
                          .times_s = calloc(r->repeat + 1, sizeof *found.times_s)};
    uint32_t kept = hop_team_rank(team) == 0 ? kept_most(r) : 0;
    if (kept)
        found.samples = calloc((size_t)kept * hop_schedule_count(r->schedule) + 1, sizeof *found.samples);
    if (!found.ops || !found.times_s || (kept && !found.samples))
        tool_out_of_memory();
    int answer = run_all(team, r, &found);
    free(found.ops);
    free(found.samples);
    free(found.times_s);
    return answer;
}
