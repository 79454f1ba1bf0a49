/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders as JSON, docs/order.schema.json: the answer of a search, or the distribution over all orders. */
#include "hopcast/simulate.h"
#include "report/report.h"

#include <inttypes.h>
#include <math.h>

enum { OVERLOADS_MAX = 64 };

struct writer {
    struct hop_buffer out;
    const struct hop_order_report *about;
    struct hop_network *network;
};

static void put(struct writer *w, const char *key, double value)
{
    hop_buffer_printf(&w->out, ",\n\"%s\":", key);
    hop_buffer_json_number(&w->out, value); /* null when there is none */
}

static void put_flag(struct writer *w, const char *key, bool value)
{
    hop_buffer_printf(&w->out, ",\n\"%s\":%s", key, value ? "true" : "false");
}

static void put_rank(struct writer *w, int rank)
{
    put(w, "lost_rank", rank < 0 ? NAN : rank);
}

/* ---- what was asked ---- */

static void put_models(struct writer *w)
{
    const struct hop_topology *topology = w->about->topology;
    hop_buffer_puts(&w->out, ",\n\"model\":{");
    for (uint32_t d = 0; d < hop_topology_domain_count(topology); d++) {
        hop_buffer_puts(&w->out, d ? "," : "");
        hop_buffer_json_string(&w->out, hop_topology_domain(topology, d)->name);
        hop_buffer_puts(&w->out, ":");
        hop_buffer_json_string(&w->out, hop_network_model(w->network, d));
    }
    hop_buffer_puts(&w->out, "}");
}

static const char *objective_name(enum hop_order_objective objective)
{
    return objective == HOP_ORDER_MEAN ? "mean" : objective == HOP_ORDER_MARKED ? "marked" : "makespan";
}

static void put_head(struct writer *w, const char *mode)
{
    const struct hop_order_report *about = w->about;
    hop_buffer_printf(&w->out, "{\"hopcast_order\":1,\n\"mode\":\"%s\",\n\"schedule\":", mode);
    hop_buffer_json_string(&w->out, hop_schedule_name(about->schedule));
    hop_buffer_puts(&w->out, ",\n\"topology\":");
    hop_buffer_json_string(&w->out, hop_topology_name(about->topology));
    put_models(w);
    hop_buffer_printf(&w->out, ",\n\"objective\":\"%s\",\n\"marked\":[", objective_name(about->options->objective));
    for (uint32_t i = 0; i < about->options->marked_count; i++) {
        hop_buffer_puts(&w->out, i ? "," : "");
        hop_buffer_json_string(&w->out, hop_schedule_op(about->schedule, about->options->marked[i])->name);
    }
    hop_buffer_printf(&w->out, "],\n\"chunks\":%u", about->chunks ? about->chunks : 1);
    put_flag(w, "allow_unclean", about->options->allow_unclean);
    put_flag(w, "no_waits", about->options->no_waits);
}

/* ---- orders ---- */

/* The links above their limits when a schedule is played: only asked of one that is known not to be clean. */
static void put_overloads(struct writer *w, const struct hop_schedule *schedule)
{
    struct hop_overload overloads[OVERLOADS_MAX];
    struct hop_timeline *timeline = NULL;
    uint32_t count = 0;
    if (hop_simulate(w->network, schedule, NULL, &timeline, NULL) == HOP_OK)
        count = hop_timeline_overloads(timeline, overloads, OVERLOADS_MAX);
    hop_buffer_puts(&w->out, ",\"overloads\":[");
    for (uint32_t i = 0; i < count && i < OVERLOADS_MAX; i++) {
        char name[160];
        hop_buffer_printf(&w->out, "%s{\"link\":", i ? "," : "");
        hop_buffer_json_string(&w->out,
                               hop_topology_link_name(w->about->topology, overloads[i].link, name, sizeof name));
        hop_buffer_puts(&w->out, ",\"load\":");
        hop_buffer_json_number(&w->out, overloads[i].load);
        hop_buffer_puts(&w->out, "}");
    }
    hop_buffer_puts(&w->out, "]");
    hop_timeline_destroy(timeline);
}

/* ,"fullest":..,"clean":..,"overloads":[..] */
static void put_load(struct writer *w, double fullest, const struct hop_schedule *schedule)
{
    bool clean = fullest <= 1 + 1e-9;
    hop_buffer_puts(&w->out, ",\"fullest\":");
    hop_buffer_json_number(&w->out, fullest);
    hop_buffer_printf(&w->out, ",\"clean\":%s", clean ? "true" : "false");
    if (clean || !schedule)
        hop_buffer_puts(&w->out, ",\"overloads\":[]");
    else
        put_overloads(w, schedule);
}

static void put_schedule(struct writer *w, const struct hop_schedule *schedule)
{
    hop_buffer_puts(&w->out, ",\n\"best\":");
    if (!schedule) {
        hop_buffer_puts(&w->out, "null");
        return;
    }
    char *text = hop_schedule_to_json(schedule);
    w->out.failed = w->out.failed || !text;
    if (!text)
        return;
    size_t length = strlen(text);
    hop_buffer_add(&w->out, text, length && text[length - 1] == '\n' ? length - 1 : length);
    free(text);
}

static bool begin(struct writer *w, const struct hop_order_report *about)
{
    *w = (struct writer){.about = about};
    return hop_network_create(about->topology, about->options->models, &w->network, NULL) == HOP_OK;
}

static char *finish(struct writer *w)
{
    hop_buffer_puts(&w->out, "}\n");
    hop_network_destroy(w->network);
    return hop_buffer_take(&w->out);
}

char *hop_order_result_to_json(const struct hop_order_report *about, const struct hop_order_result *r)
{
    struct writer w;
    if (!begin(&w, about))
        return NULL;
    put_head(&w, "search");
    put(&w, "orders", r->orders);
    put(&w, "value_s", r->value_s);
    put(&w, "bound_s", r->bound_s);
    put(&w, "floor_s", r->floor_s);
    put_flag(&w, "proved", r->proved);
    put_flag(&w, "complete", r->complete);
    put_flag(&w, "waits", r->waits);
    put(&w, "optima", about->options->count && r->optima > 0 ? r->optima : NAN);
    put_rank(&w, r->lost_rank);
    hop_buffer_printf(&w.out, ",\n\"nodes\":%" PRIu64 ",\n\"sets\":%" PRIu64, r->nodes, r->sets);
    put(&w, "elapsed_s", r->elapsed_s);
    hop_buffer_puts(&w.out, ",\n\"candidates\":[");
    for (uint32_t i = 0; i < r->candidate_count; i++) {
        const struct hop_order_candidate *c = &r->candidates[i];
        hop_buffer_printf(&w.out, "%s\n  {\"name\":", i ? "," : "");
        hop_buffer_json_string(&w.out, c->name);
        hop_buffer_puts(&w.out, ",\"value_s\":");
        hop_buffer_json_number(&w.out, c->value_s);
        hop_buffer_puts(&w.out, ",\"makespan_s\":");
        hop_buffer_json_number(&w.out, isfinite(c->value_s) ? c->makespan_s : NAN);
        put_load(&w, c->fullest, c->schedule);
        hop_buffer_puts(&w.out, "}");
    }
    hop_buffer_puts(&w.out, "]");
    put_schedule(&w, r->best);
    return finish(&w);
}

/* ---- all orders ---- */

static void put_played(struct writer *w, const char *key, const struct hop_played_order *order)
{
    hop_buffer_printf(&w->out, ",\n\"%s\":", key);
    if (!order->schedule) {
        hop_buffer_puts(&w->out, "null");
        return;
    }
    hop_buffer_puts(&w->out, "{\"value_s\":");
    hop_buffer_json_number(&w->out, order->value_s);
    put_load(w, order->fullest, order->schedule);
    hop_buffer_puts(&w->out, "}");
}

char *hop_order_distribution_to_json(const struct hop_order_report *about, const struct hop_order_distribution *d)
{
    struct writer w;
    if (!begin(&w, about))
        return NULL;
    put_head(&w, "all");
    put(&w, "orders", d->orders);
    put(&w, "clean", d->clean);
    put(&w, "stuck", d->stuck);
    put_flag(&w, "complete", d->complete);
    put_rank(&w, d->lost_rank);
    put(&w, "walked", d->walked);
    put(&w, "symmetries", d->symmetries);
    hop_buffer_printf(&w.out, ",\n\"nodes\":%" PRIu64 ",\n\"sets\":%" PRIu64, d->nodes, d->sets);
    put(&w, "elapsed_s", d->elapsed_s);
    put_played(&w, "given", &d->given);
    put(&w, "given_rank", d->given_rank);
    put_played(&w, "fastest", &d->fastest);
    put_played(&w, "fastest_clean", &d->fastest_clean);
    put_played(&w, "slowest", &d->slowest);
    hop_buffer_puts(&w.out, ",\n\"deciles_s\":[");
    for (unsigned i = 0; i <= 10 && d->count; i++) {
        hop_buffer_puts(&w.out, i ? "," : "");
        hop_buffer_json_number(&w.out, hop_order_quantile(d, i / 10.0));
    }
    hop_buffer_puts(&w.out, "],\n\"counts\":[");
    for (size_t i = 0; i < d->count; i++) {
        hop_buffer_puts(&w.out, i ? ",\n[" : "\n[");
        hop_buffer_json_number(&w.out, d->counts[i].value_s);
        hop_buffer_puts(&w.out, ",");
        hop_buffer_json_number(&w.out, d->counts[i].orders);
        hop_buffer_puts(&w.out, ",");
        hop_buffer_json_number(&w.out, d->counts[i].clean);
        hop_buffer_puts(&w.out, "]");
    }
    hop_buffer_puts(&w.out, "]");
    put_schedule(&w, about->options->allow_unclean ? d->fastest.schedule : d->fastest_clean.schedule);
    return finish(&w);
}
