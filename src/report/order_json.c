/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders as JSON, docs/order.schema.json: the answer of a search, or the distribution over all orders. */
#include <math.h>

#include "base/json_write.h"
#include "hopcast/simulate.h"
#include "report/report.h"

enum { OVERLOADS_MAX = 64 };

struct writer {
    struct hop_buffer out;
    const struct hop_order_report *about;
    struct hop_network *network;
};

static const char *objective_name(enum hop_order_objective objective)
{
    return objective == HOP_ORDER_MEAN ? "mean" : objective == HOP_ORDER_MARKED ? "marked" : "makespan";
}

/* What was asked. */
static bool begin(struct writer *w, const struct hop_order_report *about, const char *mode)
{
    const struct hop_order_options *options = about->options;
    *w = (struct writer){.about = about};
    if (hop_network_create(about->topology, options->models, &w->network, NULL) != HOP_OK)
        return false;
    hop_json_put(&w->out, "{hopcast_order:1,\nmode:%s,\nschedule:%s,\ntopology:%s,\nmodel:", mode,
                 hop_schedule_name(about->schedule), hop_topology_name(about->topology));
    hop_put_models(&w->out, w->network, HOP_FIDELITY_FLUID);
    hop_json_put(&w->out, "\nobjective:%s,\nmarked:[", objective_name(options->objective));
    for (uint32_t i = 0; i < options->marked_count; i++)
        hop_json_put(&w->out, "%s", hop_schedule_op(about->schedule, options->marked[i])->name);
    hop_json_put(&w->out, "],\nchunks:%u,\nallow_unclean:%hhu,\nno_waits:%hhu", about->chunks ? about->chunks : 1,
                 options->allow_unclean, options->no_waits);
    return true;
}

static char *finish(struct writer *w, const struct hop_schedule *best)
{
    if (best) {
        hop_json_put(&w->out, "\nbest:");
        hop_json_embed(&w->out, hop_schedule_to_json(best));
    } else {
        hop_json_put(&w->out, "\nbest:null");
    }
    hop_json_put(&w->out, "}\n");
    hop_network_destroy(w->network);
    return hop_buffer_take(&w->out);
}

/* The links above their limits when a schedule is played: only asked of one that is known not to be clean. */
static void put_overloads(struct writer *w, const struct hop_schedule *schedule)
{
    struct hop_overload overloads[OVERLOADS_MAX];
    struct hop_timeline *timeline = NULL;
    uint32_t count = 0;
    if (hop_simulate(w->network, schedule, NULL, &timeline, NULL) == HOP_OK)
        count = hop_timeline_overloads(timeline, overloads, OVERLOADS_MAX);
    w->out.failed = w->out.failed || !timeline || count == HOP_NONE;
    for (uint32_t i = 0; i < count && i < OVERLOADS_MAX && !w->out.failed; i++) {
        char name[160];
        hop_json_put(&w->out, "{link:%s,load:%g}",
                     hop_topology_link_name(w->about->topology, overloads[i].link, name, sizeof name),
                     overloads[i].load);
    }
    hop_timeline_destroy(timeline);
}

static void put_load(struct writer *w, double fullest, const struct hop_schedule *schedule)
{
    bool clean = fullest <= 1 + 1e-9;
    hop_json_put(&w->out, "fullest:%g,clean:%hhu,overloads:[", fullest, clean);
    if (!clean && schedule)
        put_overloads(w, schedule);
    hop_json_put(&w->out, "]");
}

char *hop_order_result_to_json(const struct hop_order_report *about, const struct hop_order_result *r)
{
    struct writer w;
    if (!begin(&w, about, "search"))
        return NULL;
    hop_json_put(&w.out,
                 "\norders:%g,\nvalue_s:%g,\nbound_s:%g,\nfloor_s:%g,\nproved:%hhu,\nproved_without_waits:%hhu,\n"
                 "proved_with_waits:%hhu,\ncomplete:%hhu,\nwaits:%hhu,\noptima:%g,\nlost_rank:%g,\nnodes:%llu,\nsets:%"
                 "llu,\nelapsed_s:%g,\ncandidates:[",
                 r->orders, r->value_s, r->bound_s, r->floor_s, r->proved, r->proved_without_waits,
                 r->proved_with_waits, r->complete, r->waits, about->options->count && r->optima > 0 ? r->optima : NAN,
                 r->lost_rank < 0 ? NAN : (double)r->lost_rank, (unsigned long long)r->nodes,
                 (unsigned long long)r->sets, r->elapsed_s);
    for (uint32_t i = 0; i < r->candidate_count; i++) {
        const struct hop_order_candidate *c = &r->candidates[i];
        hop_json_put(&w.out, "\n  {name:%s,value_s:%g,makespan_s:%g", c->name, c->value_s,
                     isfinite(c->value_s) ? c->makespan_s : NAN);
        put_load(&w, c->fullest, c->schedule);
        hop_json_put(&w.out, "}");
    }
    hop_json_put(&w.out, "]");
    hop_put_gain(&w.out, "by_model", about->gain);
    hop_put_robust(&w.out, about->robust);
    if (about->robust)
        hop_json_put(&w.out, "}");
    return finish(&w, r->best);
}

/* ---- all orders ---- */

static void put_played(struct writer *w, const char *key, const struct hop_played_order *order)
{
    if (!order->schedule) {
        hop_json_put(&w->out, "\n%s:null", key);
        return;
    }
    hop_json_put(&w->out, "\n%s:{value_s:%g", key, order->value_s);
    put_load(w, order->fullest, order->schedule);
    hop_json_put(&w->out, "}");
}

char *hop_order_distribution_to_json(const struct hop_order_report *about, const struct hop_order_distribution *d)
{
    struct writer w;
    if (!begin(&w, about, "all"))
        return NULL;
    hop_json_put(&w.out,
                 "\norders:%g,\nclean:%g,\nstuck:%g,\ncomplete:%hhu,\nlost_rank:%g,\nwalked:%g,\nsymmetries:%g,\n"
                 "nodes:%llu,\nsets:%llu,\nelapsed_s:%g",
                 d->orders, d->clean, d->stuck, d->complete, d->lost_rank < 0 ? NAN : (double)d->lost_rank, d->walked,
                 d->symmetries, (unsigned long long)d->nodes, (unsigned long long)d->sets, d->elapsed_s);
    put_played(&w, "given", &d->given);
    hop_json_put(&w.out, "\ngiven_rank:%g", d->given_rank);
    put_played(&w, "fastest", &d->fastest);
    put_played(&w, "fastest_clean", &d->fastest_clean);
    put_played(&w, "slowest", &d->slowest);
    hop_json_put(&w.out, "\ndeciles_s:[");
    for (unsigned i = 0; i <= 10 && d->count; i++)
        hop_json_put(&w.out, "%g", hop_order_quantile(d, i / 10.0));
    hop_json_put(&w.out, "],\ncounts:[");
    for (size_t i = 0; i < d->count; i++)
        hop_json_put(&w.out, "\n[%g,%g,%g]", d->counts[i].value_s, d->counts[i].orders, d->counts[i].clean);
    hop_json_put(&w.out, "]");
    return finish(&w, about->options->allow_unclean ? d->fastest.schedule : d->fastest_clean.schedule);
}
