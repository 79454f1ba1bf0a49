/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct or staged, as JSON: docs/tune_paths.schema.json. */
#include "hopcast/tune.h"
#include "report/report.h"

#include <inttypes.h>
#include <math.h>

struct writer {
    struct hop_buffer out;
    const struct hop_topology *topology;
};

static void put_number(struct writer *w, const char *key, double value)
{
    hop_buffer_printf(&w->out, ",\"%s\":", key);
    hop_buffer_json_number(&w->out, value); /* null when there is none */
}

static void put_string(struct writer *w, const char *key, const char *text)
{
    hop_buffer_printf(&w->out, ",\"%s\":", key);
    hop_buffer_json_string(&w->out, text);
}

/* 0: whole copies; without a time there are none. */
static void put_packet(struct writer *w, const char *key, uint64_t bytes, bool is_there)
{
    if (is_there)
        hop_buffer_printf(&w->out, ",\"%s\":%" PRIu64, key, bytes);
    else
        hop_buffer_printf(&w->out, ",\"%s\":null", key);
}

static void put_models(struct writer *w, const struct hop_network *network)
{
    hop_buffer_puts(&w->out, ",\n\"model\":{");
    for (uint32_t d = 0; d < hop_topology_domain_count(w->topology); d++) {
        hop_buffer_puts(&w->out, d ? "," : "");
        hop_buffer_json_string(&w->out, hop_topology_domain(w->topology, d)->name);
        hop_buffer_puts(&w->out, ":");
        hop_buffer_json_string(&w->out, hop_network_model(network, d));
    }
    hop_buffer_puts(&w->out, "}");
}

/* ---- pairs ---- */

static void put_point(struct writer *w, const struct hop_tune_point *point)
{
    double factor;
    bool staged = hop_tune_winner(point, &factor) == HOP_VIA_STAGED;
    bool none = isnan(point->direct_s) && isnan(point->staged_s);
    hop_buffer_printf(&w->out, "{\"bytes\":%" PRIu64, point->bytes);
    put_number(w, "direct_s", point->direct_s);
    put_number(w, "staged_s", point->staged_s);
    put_packet(w, "packet_bytes", point->packet_bytes, !isnan(point->staged_s));
    put_string(w, "winner", none ? NULL : hop_via_name(staged ? HOP_VIA_STAGED : HOP_VIA_P2P));
    put_number(w, "factor", factor);
    hop_buffer_puts(&w->out, "}");
}

static void put_class(struct writer *w, const struct hop_tune_class *class, uint32_t sizes)
{
    hop_buffer_puts(&w->out, "{\"way\":");
    hop_buffer_json_string(&w->out, class->way);
    put_string(w, "host", class->host);
    hop_buffer_puts(&w->out, ",\"pairs\":[");
    for (uint32_t p = 0; p < class->pair_count; p++) {
        hop_buffer_puts(&w->out, p ? ",[" : "[");
        hop_buffer_json_string(&w->out, hop_topology_node(w->topology, class->pairs[p][0])->name);
        hop_buffer_puts(&w->out, ",");
        hop_buffer_json_string(&w->out, hop_topology_node(w->topology, class->pairs[p][1])->name);
        hop_buffer_puts(&w->out, "]");
    }
    hop_buffer_puts(&w->out, "]");
    put_packet(w, "crossover_bytes", class->crossover_bytes, class->crossover_bytes > 0);
    hop_buffer_puts(&w->out, ",\"points\":[");
    for (uint32_t s = 0; s < sizes; s++) {
        hop_buffer_puts(&w->out, s ? ",\n   " : "\n   ");
        put_point(w, &class->points[s]);
    }
    hop_buffer_puts(&w->out, "]}");
}

/* ---- patterns ---- */

static void put_mix(struct writer *w, const struct hop_tune_named_mix *named)
{
    const struct hop_tuned_mix *mix = named->mix;
    bool first = true;
    hop_buffer_puts(&w->out, "{\"name\":");
    hop_buffer_json_string(&w->out, named->name);
    hop_buffer_printf(&w->out, ",\"transfers\":%u", mix->transfers);
    put_number(w, "direct_s", mix->direct_s);
    put_number(w, "staged_s", mix->staged_s);
    put_packet(w, "staged_packet_bytes", mix->staged_packet_bytes, !isnan(mix->staged_s));
    put_number(w, "mix_s", mix->mix_s);
    put_number(w, "gain", mix->direct_s / mix->mix_s);
    hop_buffer_puts(&w->out, ",\"staged\":[");
    for (uint32_t i = 0; i < hop_schedule_count(named->schedule); i++) {
        if (!mix->staged[i])
            continue;
        hop_buffer_puts(&w->out, first ? "" : ",");
        hop_buffer_json_string(&w->out, hop_schedule_op(named->schedule, i)->name);
        first = false;
    }
    hop_buffer_puts(&w->out, "]");
    put_packet(w, "mix_packet_bytes", mix->mix_packet_bytes, !first);
    hop_buffer_printf(&w->out, ",\"exact\":%s,\"evaluations\":%u,\n\"best\":", mix->exact ? "true" : "false",
                      mix->evaluations);
    char *best = hop_schedule_to_json(mix->best);
    if (best)
        hop_buffer_puts(&w->out, best);
    else
        w->out.failed = true;
    free(best);
    hop_buffer_puts(&w->out, "}");
}

char *hop_tune_to_json(const struct hop_network *network, const struct hop_tuned_paths *paths,
                       const struct hop_tune_named_mix *mixes, uint32_t mix_count)
{
    struct writer w = {.topology = hop_network_topology(network)};
    hop_buffer_puts(&w.out, "{\"hopcast_tune_paths\":1,\n\"topology\":");
    hop_buffer_json_string(&w.out, hop_topology_name(w.topology));
    put_models(&w, network);
    hop_buffer_puts(&w.out, ",\n\"classes\":[");
    for (uint32_t c = 0; paths && c < paths->class_count; c++) {
        hop_buffer_puts(&w.out, c ? ",\n  " : "\n  ");
        put_class(&w, &paths->classes[c], paths->size_count);
    }
    hop_buffer_puts(&w.out, "],\n\"patterns\":[");
    for (uint32_t m = 0; m < mix_count; m++) {
        hop_buffer_puts(&w.out, m ? ",\n" : "\n");
        put_mix(&w, &mixes[m]);
    }
    hop_buffer_puts(&w.out, "]}\n");
    return hop_buffer_take(&w.out);
}
