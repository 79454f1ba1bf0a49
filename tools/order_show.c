/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast order: shows an answer, and writes the files that were asked for. */
#include "order.h"
#include "ranks.h"

#include <math.h>
#include <string.h>

enum { OVERLOADS_SHOWN = 3, GAIN_OPS = 2000 };
#define CLEAN_MAX (1 + 1e-9)

/* What all of it needs. */
struct show {
    const struct order_request *request;
    const struct order_input *input;
    FILE *out;
    struct hop_network *network;
    struct hop_gain *gain;                 /* of the best order; NULL: not known */
    const struct hop_order_robust *robust; /* NULL: not asked for */
};

/* ---- words ---- */

static const char *objective_words(enum hop_order_objective objective)
{
    return objective == HOP_ORDER_MEAN ? "mean end" : objective == HOP_ORDER_MARKED ? "last marked end" : "makespan";
}

/* A share in per cent that is never rounded to 0 or 100 unless it is. */
static const char *share_text(double part, double whole)
{
    double share = whole > 0 ? 100 * part / whole : 0;
    return part < whole && share > 99.95 ? "over 99.9 %"
                                         : tool_text(part > 0 && share < 0.05 ? "%.1g %%" : "%.1f %%", share);
}

/* ---- playing orders ---- */

/* " above the limit: board0->switch0 1.20, gpu1->board0 1.05"; nothing where all is clean. */
static void print_overloads(struct show *show, const struct hop_schedule *schedule, double fullest)
{
    struct hop_overload overloads[OVERLOADS_SHOWN];
    struct hop_timeline *timeline = NULL;
    if (fullest <= CLEAN_MAX)
        return;
    fprintf(show->out, "  not clean");
    uint32_t count = 0;
    if (schedule && hop_simulate(show->network, schedule, NULL, &timeline, NULL) == HOP_OK)
        count = tool_counted(hop_timeline_overloads(timeline, overloads, OVERLOADS_SHOWN));
    for (uint32_t i = 0; i < count && i < OVERLOADS_SHOWN; i++) {
        fprintf(show->out, "%s %s %.0f %%", i ? "," : ":", LINK(show->input->topology, overloads[i].link),
                100 * overloads[i].load);
    }
    if (count > OVERLOADS_SHOWN)
        fprintf(show->out, " and %u more", count - OVERLOADS_SHOWN);
    hop_timeline_destroy(timeline);
}

/* Whether an operation counts: of that name, or a part of what had it. */
static bool counts(const struct show *show, const char *name)
{
    const struct hop_order_options *o = &show->request->options;
    for (uint32_t i = 0; i < o->marked_count; i++) {
        const char *marked = hop_schedule_op(show->input->schedule, o->marked[i])->name;
        size_t length = strlen(marked);
        if (strncmp(name, marked, length) == 0 && (name[length] == '\0' || name[length] == '.'))
            return true;
    }
    return o->objective != HOP_ORDER_MARKED;
}

static double objective_of(const struct show *show, const struct hop_timeline *timeline)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(timeline);
    double last_s = 0, sum_s = 0;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        double end_s = hop_timeline_span(timeline, i).end_s;
        sum_s += end_s;
        if (counts(show, hop_schedule_op(schedule, i)->name))
            last_s = fmax(last_s, end_s);
    }
    return show->request->options.objective == HOP_ORDER_MEAN ? sum_s / hop_schedule_count(schedule) : last_s;
}

static double value_of(const struct hop_timeline *timeline, void *show)
{
    return objective_of(show, timeline);
}

/* What the best order gains over the given one whatever else may hold, where both are quick to play; NULL: unknown. */
static struct hop_gain *find_gain(struct show *show, const struct hop_order_result *r)
{
    const struct hop_schedule *given = r->candidate_count ? r->candidates[0].schedule : NULL;
    const struct hop_gain_options options = {.network = show->network, .value_s = value_of, .context = show};
    struct hop_gain *gain;
    if (!given || !r->best || given == r->best || hop_schedule_count(r->best) > GAIN_OPS)
        return NULL;
    return hop_gain_find(show->input->topology, given, r->best, &options, &gain, NULL) == HOP_OK ? gain : NULL;
}

/* ---- parts of an answer ---- */

static void print_models(const struct show *show)
{
    fprintf(show->out, "%s", hop_topology_name(show->input->topology));
    tool_print_models(show->out, show->input->topology, show->network, NULL);
    fprintf(show->out, "\n");
}

/* The best order: its steps, its timeline, its drawing. */
static void show_best(const struct show *show, const struct hop_schedule *best)
{
    struct hop_timeline *timeline;
    const struct order_request *r = show->request;
    const struct hop_gantt_options options = {
        .width = tool_columns(), .colour = tool_colour(show->out), .ascii = r->ascii};
    tool_try(hop_simulate(show->network, best, NULL, &timeline, &tool_diag));
    if (!r->json) {
        fprintf(show->out, "\n");
        tool_print(show->out, hop_timeline_to_steps(timeline, options.width));
    }
    if (r->gantt) {
        fprintf(show->out, "\n");
        tool_print(show->out, hop_timeline_to_gantt(timeline, &options));
    }
    if (r->svg)
        tool_write_text(r->svg, hop_timeline_to_steps_svg(timeline));
    hop_timeline_destroy(timeline);
}

/* Quoted where the shell needs it. */
static void print_word(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+@%-";
    if (*word && strspn(word, plain) == strlen(word)) {
        fprintf(out, " %s", word);
        return;
    }
    fprintf(out, " '");
    for (; *word; word++)
        fprintf(out, *word == '\'' ? "'\\''" : "%c", *word);
    fprintf(out, "'");
}

/* Not standard output, and asked for at all. */
static bool is_file(const char *path)
{
    return path && strcmp(path, "-") != 0;
}

/* What was written, and how to look closer. */
static void print_written(const struct show *show)
{
    const struct order_request *r = show->request;
    bool to_file = is_file(r->output);
    if (to_file || is_file(r->svg) || is_file(r->histogram))
        fprintf(show->out, "\n");
    if (to_file) {
        fprintf(show->out, "written: %s; look closer with\n  hopcast predict", r->output);
        print_word(show->out, r->output);
        fprintf(show->out, " --on");
        print_word(show->out, r->input.machine);
        for (uint32_t i = 0; i < r->input.sets.count; i++) {
            fprintf(show->out, " --set");
            print_word(show->out, r->input.sets.at[i]);
        }
        if (r->options.models) {
            fprintf(show->out, " --model");
            print_word(show->out, r->options.models);
        }
        fprintf(show->out, "\n");
    }
    if (is_file(r->svg))
        fprintf(show->out, "written: %s, the steps drawn over the machine\n", r->svg);
    if (is_file(r->histogram))
        fprintf(show->out, "written: %s, the distribution\n", r->histogram);
}

bool order_write(const struct order_request *request, const struct order_input *input,
                 const struct hop_schedule *schedule, const char *about)
{
    char remark[600];
    (void)snprintf(remark, sizeof remark, "hopcast order %.400s%s%s", input->title, about[0] ? ": " : "", about);
    return tool_keep_remarked(request->output, schedule, remark);
}

static struct show begin(const struct order_request *request, const struct order_input *input)
{
    bool elsewhere = (request->output && !is_file(request->output)) || (request->svg && !is_file(request->svg)) ||
                     (request->histogram && !is_file(request->histogram));
    return (struct show){
        request, input, elsewhere ? stderr : stdout, tool_network(input->topology, request->options.models),
        NULL,    NULL};
}

/* ---- a search ---- */

/* Why a search ended before it was through. */
static const char *stop_words(const struct order_request *r, const struct hop_order_result *result)
{
    if (result->lost_rank >= 0)
        return "a lost process";
    if (ranks_stop)
        return "a signal";
    if (r->options.max_nodes && result->nodes >= r->options.max_nodes)
        return "--max-nodes";
    if (r->options.time_limit_s > 0 && result->elapsed_s >= r->options.time_limit_s)
        return "--time-limit";
    return NULL;
}

static double gap_of(double value_s, double bound_s)
{
    return bound_s > 0 ? fmax(0, value_s / bound_s - 1) : INFINITY;
}

/* "1.5 % above the least possible" with the bound */
static void print_gap(const struct show *show, double value_s, double bound_s)
{
    double gap = gap_of(value_s, bound_s);
    if (bound_s > 0)
        fprintf(show->out, "at most %s %% above the least possible (no order takes less than %s)",
                PERCENT(gap, gap < 1e-3 ? 1 : 3), SECONDS(bound_s));
    else
        fprintf(show->out, "nothing is proved about how far it is from the least possible");
}

/* Why no more is proved. */
static void print_stop(const struct show *show, const struct hop_order_result *r)
{
    const char *stopped = stop_words(show->request, r);
    if (stopped && !r->complete)
        fprintf(show->out, "; %s by %s",
                r->proved_without_waits ? "the search for orders with waits was stopped" : "stopped", stopped);
    else if (!r->proved_without_waits && show->request->options.gap > 0 &&
             gap_of(r->value_s, r->bound_s) <= show->request->options.gap)
        fprintf(show->out, "; good enough for --gap");
    else if (!r->proved_without_waits)
        fprintf(show->out, "; %s",
                show->request->options.max_nodes ? "stopped by --max-nodes"
                                                 : "the search gave up, with --time-limit it goes on until then");
}

static void print_proof(const struct show *show, const struct hop_order_result *r)
{
    bool at_floor = r->value_s <= r->floor_s * CLEAN_MAX;
    if (hop_topology_lacks(show->input->topology)) {
        fprintf(show->out, "not proved: the topology is a skeleton, the machine has more links\n");
        return;
    }
    if (at_floor) {
        fprintf(show->out, "proved: no order takes less, with waits or without");
    } else if (r->proved_with_waits) {
        fprintf(show->out, "proved: no order takes less, without waits or with waits until another transfer ends");
    } else if (r->proved_without_waits) {
        fprintf(show->out, "proved: no order without waits takes less");
        if (!show->request->options.no_waits && r->bound_s > 0)
            fprintf(show->out, ", with waits until another transfer ends none less than %s", SECONDS(r->bound_s));
    } else {
        fprintf(show->out, "not proved: ");
        print_gap(show, r->value_s, r->bound_s);
    }
    if (!at_floor && !r->proved_with_waits)
        print_stop(show, r);
    fprintf(show->out, "\n");
    if (r->optima > 0)
        fprintf(show->out, "%s of %s orders are as good\n", COUNT(r->optima), COUNT(r->orders));
    else if (show->request->options.count)
        fprintf(show->out, "the best orders were not counted: %s\n",
                r->waits                  ? "it is one with waits"
                : r->proved_without_waits ? "the search was stopped"
                                          : "the best is not proved");
}

/* "as fast: given, xor" and "shift takes 2.17 times as long, shift+barriers 2.24" */
static void print_gains(const struct show *show, const struct hop_order_result *r)
{
    for (unsigned worse = 0; worse < 2 && r->value_s > 0; worse++) {
        bool any = false;
        for (uint32_t i = 0; i < r->candidate_count; i++) {
            const struct hop_order_candidate *c = &r->candidates[i];
            bool worse_one = c->value_s > r->value_s * CLEAN_MAX;
            bool out = c->fullest > CLEAN_MAX && !show->request->options.allow_unclean && !worse_one;
            if (c->schedule == r->best || !isfinite(c->value_s) || worse_one != worse || out)
                continue;
            if (worse)
                fprintf(show->out, any ? ", %s %.3g" : "%s takes %.3g times as long", c->name, c->value_s / r->value_s);
            else
                fprintf(show->out, "%s %s", any ? "," : "as fast:", c->name);
            any = true;
        }
        if (any)
            fprintf(show->out, "\n");
    }
}

static void print_candidates(struct show *show, const struct hop_order_result *r)
{
    bool both = r->objective != HOP_ORDER_MAKESPAN;
    fprintf(show->out, "\n%-16s", "order");
    if (both)
        fprintf(show->out, " %12s ms", objective_words(r->objective));
    fprintf(show->out, " %12s %9s  %s\n", "makespan ms", "to best", "fullest link");
    for (uint32_t i = 0; i < r->candidate_count; i++) {
        const struct hop_order_candidate *c = &r->candidates[i];
        if (!isfinite(c->value_s))
            continue;
        fprintf(show->out, "%-16s", c->name);
        if (both)
            fprintf(show->out, " %*.4f", (int)strlen(objective_words(r->objective)) > 12 ? 18 : 15, c->value_s * 1e3);
        fprintf(show->out, " %12.4f", c->makespan_s * 1e3);
        if (isfinite(r->value_s) && r->value_s > 0)
            fprintf(show->out, " %8.3fx", c->value_s / r->value_s);
        else
            fprintf(show->out, " %9s", "");
        fprintf(show->out, " %8.1f %%", 100 * c->fullest);
        print_overloads(show, c->schedule, c->fullest);
        fprintf(show->out, "\n");
    }
    bool any = false;
    for (uint32_t i = 0; i < r->candidate_count; i++) {
        if (isfinite(r->candidates[i].value_s))
            continue;
        fprintf(show->out, "%s%s",
                any ? ", " : "never end, for dependencies wait for each other: ", r->candidates[i].name);
        any = true;
    }
    if (any)
        fprintf(show->out, "\n");
}

static void print_none(struct show *show, const struct hop_order_result *r)
{
    const char *stopped = stop_words(show->request, r);
    print_models(show);
    if (stopped && !r->complete)
        fprintf(show->out, "no clean order was found until it was stopped by %s\n", stopped);
    else if (isinf(r->bound_s) && !hop_topology_lacks(show->input->topology))
        fprintf(show->out, "no order %sis clean, proved: each loads a link above its limit\n",
                show->request->options.no_waits ? "without waits " : "");
    else
        fprintf(show->out, "no clean order was found: what was looked at loads a link above its limit\n");
    fprintf(show->out, "--allow-unclean takes orders that load links above their limits; --model credit knows none%s\n",
            show->request->options.no_waits ? "; without --no-waits sources may wait for each other" : "");
    print_candidates(show, r);
}

static void print_result(struct show *show, const void *result)
{
    const struct hop_order_result *r = result;
    if (!r->best) {
        print_none(show, r);
        return;
    }
    print_models(show);
    fprintf(show->out, "best of %s orders: %s %s", COUNT(r->orders), objective_words(r->objective),
            SECONDS(r->value_s));
    fprintf(show->out, "%s\n", r->waits ? ", sources wait for each other" : "");
    print_proof(show, r);
    print_gains(show, r);
    print_candidates(show, r);
    if (show->gain)
        fprintf(show->out, "the best over the given order: %s\n",
                hop_gain_words(&show->gain->range, (char[112]){0}, 112));
    if (show->robust)
        tool_print_regrets(show->out, show->robust, "order");
}

/* ---- both ---- */

static struct hop_order_report report_of(const struct show *show)
{
    return (struct hop_order_report){show->input->topology,
                                     show->input->schedule,
                                     &show->request->options,
                                     (uint32_t)show->request->chunks,
                                     show->gain,
                                     show->robust};
}

/* As JSON, or by `print`, with the best order (NULL: none counts). */
static int show_found(struct show *show, const struct hop_schedule *best, char *json,
                      void (*print)(struct show *show, const void *found), const void *found)
{
    const struct order_request *r = show->request;
    if (r->json)
        tool_print(show->out == stdout ? tool_plain_output() : show->out, json);
    else
        print(show, found);
    if (best && (!r->json || r->svg))
        show_best(show, best);
    if (best && !r->json)
        print_written(show);
    return best ? TOOL_OK : TOOL_NEGATIVE;
}

int order_show_result(const struct order_request *request, const struct order_input *input,
                      const struct hop_order_result *r, const struct hop_order_robust *robust)
{
    struct show show = begin(request, input);
    const struct hop_schedule *best = robust ? robust->best : r->best;
    char about[160];
    if (best && request->output) { /* first of all: who stopped us may not wait */
        if (robust)
            (void)snprintf(about, sizeof about, "of least regret, %s %% over %u cases",
                           PERCENT(robust->robust_regret, 3), robust->case_count);
        else
            (void)snprintf(about, sizeof about, "%s %s, %s", objective_words(r->objective), SECONDS(r->value_s),
                           r->proved                 ? "proved to be the best"
                           : r->proved_without_waits ? "proved, waits aside"
                                                     : "not proved to be the best");
        if (!order_write(request, input, best, about))
            tool_end(TOOL_BAD);
    }
    show.gain = find_gain(&show, r);
    show.robust = robust;
    const struct hop_order_report report = report_of(&show);
    int status = show_found(&show, best, request->json ? hop_order_result_to_json(&report, r) : NULL, print_result, r);
    hop_gain_destroy(show.gain);
    return status;
}

/* ---- all orders ---- */

static void print_deciles(const struct show *show, const struct hop_order_distribution *d)
{
    fprintf(show->out, "\n%-11s", "orders, %");
    for (int i = 0; i <= 10; i++)
        fprintf(show->out, " %7d", 10 * i);
    fprintf(show->out, "\n%-11s", "at most, ms");
    for (int i = 0; i <= 10; i++)
        fprintf(show->out, " %7.4g", 1e3 * hop_order_quantile(d, i / 10.0));
    fprintf(show->out, "\n");
}

static void print_played(struct show *show, const char *name, const struct hop_played_order *order, double fastest_s)
{
    if (!order->schedule)
        return;
    fprintf(show->out, "%-16s", name);
    if (!isfinite(order->value_s)) {
        fprintf(show->out, "  never ends: its dependencies wait for each other\n");
        return;
    }
    fprintf(show->out, " %12.4f", order->value_s * 1e3);
    if (fastest_s > 0)
        fprintf(show->out, " %10.3fx", order->value_s / fastest_s);
    else
        fprintf(show->out, " %11s", "");
    fprintf(show->out, " %8.1f %%", 100 * order->fullest);
    print_overloads(show, order->schedule, order->fullest);
    fprintf(show->out, "\n");
}

static void print_numbers(struct show *show, const struct hop_order_distribution *d)
{
    const struct hop_histogram_options options = {.width = tool_columns(), .ascii = show->request->ascii};
    double fastest_s = d->count ? d->counts[0].value_s : 0;
    print_models(show);
    fprintf(show->out, "%s of %s orders%s; %s of them are clean (%s)\n", objective_words(d->objective),
            COUNT(d->orders), d->complete ? "" : ", before it was stopped", COUNT(d->clean),
            share_text(d->clean, d->orders));
    if (d->stuck > 0)
        fprintf(show->out, "%s more never end: their dependencies wait for each other\n", COUNT(d->stuck));
    if (d->count == 0)
        return;
    fprintf(show->out, "\n");
    tool_print(show->out, hop_order_distribution_to_histogram(d, &options));
    print_deciles(show, d);
    fprintf(show->out, "\n%-16s %12s %11s  %s\n", "order", "ms", "to fastest", "fullest link");
    bool same = d->fastest.fullest <= CLEAN_MAX;
    print_played(show, same ? "fastest, clean" : "fastest", &d->fastest, fastest_s);
    if (!same)
        print_played(show, "fastest clean", &d->fastest_clean, fastest_s);
    print_played(show, "given", &d->given, fastest_s);
    fprintf(show->out, "%-16s %12.4f %10s%c\n", "median", 1e3 * hop_order_quantile(d, 0.5),
            FIXED(hop_order_quantile(d, 0.5) / fastest_s, 3), fastest_s > 0 ? 'x' : ' ');
    print_played(show, "slowest", &d->slowest, fastest_s);
    if (!d->given.schedule || !isfinite(d->given.value_s))
        return;
    if (d->given_rank > 0)
        fprintf(show->out, "the given order comes after %s faster one%s (%s)\n", COUNT(d->given_rank),
                d->given_rank > 1 ? "s" : "", share_text(d->given_rank, d->orders));
    else
        fprintf(show->out, "no order is faster than the given one\n");
}

/* The fastest that counts. */
static const struct hop_played_order *best_of(const struct order_request *request,
                                              const struct hop_order_distribution *d)
{
    return request->options.allow_unclean ? &d->fastest : &d->fastest_clean;
}

static void print_distribution(struct show *show, const void *distribution)
{
    print_numbers(show, distribution);
    if (best_of(show->request, distribution)->schedule)
        fprintf(show->out, "\nthe fastest%s order:\n", show->request->options.allow_unclean ? "" : " clean");
    else
        fprintf(show->out, "no order is clean; --allow-unclean takes the others\n");
}

int order_show_distribution(const struct order_request *request, const struct order_input *input,
                            const struct hop_order_distribution *d)
{
    struct show show = begin(request, input);
    char about[160];
    const struct hop_played_order *best = best_of(request, d);
    if (best->schedule && request->output) {
        (void)snprintf(about, sizeof about, "%s %s, the fastest%s of all orders", objective_words(d->objective),
                       SECONDS(best->value_s), request->options.allow_unclean ? "" : " clean one");
        if (!order_write(request, input, best->schedule, about))
            tool_end(TOOL_BAD);
    }
    if (request->histogram)
        tool_write_text(request->histogram, hop_order_distribution_to_svg(d));
    const struct hop_order_report report = report_of(&show);
    return show_found(&show, best->schedule, request->json ? hop_order_distribution_to_json(&report, d) : NULL,
                      print_distribution, d);
}
