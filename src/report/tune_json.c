/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct or staged, as JSON: docs/tune_paths.schema.json. */
#include <math.h>

#include "base/json_write.h"
#include "hopcast/tune.h"
#include "report/report.h"

/* 0: whole copies; without a time there are none. */
static void put_packet(struct hop_buffer *out, const char *key, uint64_t bytes, bool is_there)
{
    hop_json_put(out, is_there ? "%s:%llu" : "%s:null", key, (unsigned long long)bytes);
}

/* ---- pairs ---- */

static void put_point(struct hop_buffer *out, const struct hop_tune_point *point)
{
    double factor;
    bool staged = hop_tune_winner(point, &factor) == HOP_VIA_STAGED;
    bool none = isnan(point->direct_s) && isnan(point->staged_s);
    hop_json_put(out, "\n   {bytes:%llu,direct_s:%g,staged_s:%g", (unsigned long long)point->bytes, point->direct_s,
                 point->staged_s);
    put_packet(out, "packet_bytes", point->packet_bytes, !isnan(point->staged_s));
    hop_json_put(out, "winner:%s,factor:%g", none ? NULL : hop_via_name(staged ? HOP_VIA_STAGED : HOP_VIA_P2P), factor);
    hop_put_gain_range(out, "by_model", &point->gain);
    hop_json_put(out, "}");
}

static void put_class(struct hop_buffer *out, const struct hop_topology *topology, const struct hop_tune_class *class,
                      uint32_t sizes)
{
    hop_json_put(out, "\n  {way:%s,host:%s,pairs:[", class->way, class->host);
    for (uint32_t p = 0; p < class->pair_count; p++)
        hop_json_put(out, "[%s,%s]", hop_topology_node(topology, class->pairs[p][0])->name,
                     hop_topology_node(topology, class->pairs[p][1])->name);
    hop_json_put(out, "]");
    put_packet(out, "crossover_bytes", class->crossover_bytes, class->crossover_bytes > 0);
    hop_json_put(out, "points:[");
    for (uint32_t s = 0; s < sizes; s++)
        put_point(out, &class->points[s]);
    hop_json_put(out, "]}");
}

/* ---- patterns ---- */

static void put_mix(struct hop_buffer *out, const struct hop_tune_named_mix *named)
{
    const struct hop_tuned_mix *mix = named->mix;
    bool any = false;
    hop_json_put(out, "\n{name:%s,transfers:%u,direct_s:%g,staged_s:%g", named->name, mix->transfers, mix->direct_s,
                 mix->staged_s);
    put_packet(out, "staged_packet_bytes", mix->staged_packet_bytes, !isnan(mix->staged_s));
    hop_json_put(out, "mix_s:%g,gain:%g,staged:[", mix->mix_s, mix->direct_s / mix->mix_s);
    for (uint32_t i = 0; i < hop_schedule_count(named->schedule); i++) {
        if (mix->staged[i])
            hop_json_put(out, "%s", hop_schedule_op(named->schedule, i)->name);
        any = any || mix->staged[i];
    }
    hop_json_put(out, "]");
    put_packet(out, "mix_packet_bytes", mix->mix_packet_bytes, any);
    hop_put_gain(out, "by_model", mix->gain);
    hop_json_put(out, "\nexact:%hhu,evaluations:%u,stuck:%u,\nbest:", mix->exact, mix->evaluations, mix->stuck);
    hop_json_embed(out, hop_schedule_to_json(mix->best));
    hop_json_put(out, "\n}");
}

char *hop_tune_to_json(const struct hop_network *network, const struct hop_tuned_paths *paths,
                       const struct hop_tune_named_mix *mixes, uint32_t mix_count)
{
    struct hop_buffer out = {0};
    const struct hop_topology *topology = hop_network_topology(network);
    hop_json_put(&out, "{hopcast_tune_paths:1,\ntopology:%s,\nmodel:", hop_topology_name(topology));
    hop_put_models(&out, network, HOP_FIDELITY_FLUID);
    hop_json_put(&out, "\nclasses:[");
    for (uint32_t c = 0; paths && c < paths->class_count; c++)
        put_class(&out, topology, &paths->classes[c], paths->size_count);
    hop_json_put(&out, "],\npatterns:[");
    for (uint32_t m = 0; m < mix_count; m++)
        put_mix(&out, &mixes[m]);
    hop_json_put(&out, "]}\n");
    return hop_buffer_take(&out);
}
