/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan as JSON, docs/plan.schema.json. */
#include "hopcast/plan.h"

#include <math.h>

#include "base/json_write.h"
#include "report/report.h"

static const char *const steps[] = {"given", "algorithm", "order",   "placement", "after",   "both",
                                    "shape", "ways",      "packets", "again",     "together"};

static void put_places(struct hop_buffer *out, const char *key, const struct hop_placement *placement)
{
    hop_json_put(out, "\n%s:[", key);
    for (uint32_t r = 0; r < hop_placement_count(placement); r++)
        hop_json_put(out, "%s", hop_placement_device(placement, r));
    hop_json_put(out, "]");
}

static void put_rung(struct hop_buffer *out, const struct hop_plan_rung *rung)
{
    hop_json_put(out, "\n{step:%s,name:%s,value_s:%g,clean:%hhu,waits:%hhu", steps[rung->step], rung->name,
                 rung->value_s, rung->clean, rung->waits);
    put_places(out, "placement", rung->placement);
    hop_put_gain(out, "by_model", rung->gain);
    hop_json_put(out, "}");
}

static void put_algorithms(struct hop_buffer *out, const struct hop_plan_result *r)
{
    hop_json_put(out, "\nalgorithm:%s,\nalgorithms:[", r->algorithm_count ? r->algorithms[r->algorithm].name : NULL);
    for (uint32_t i = 0; i < r->algorithm_count; i++) {
        const struct hop_plan_algorithm *a = &r->algorithms[i];
        hop_json_put(out, "\n{name:%s,segment_bytes:%llu,rings:%u,islands:%u,given_s:%g,value_s:%g,bound_s:%g}",
                     a->name, (unsigned long long)a->segment_bytes, a->rings, a->islands, a->given_s, a->value_s,
                     a->bound_s > 0 ? a->bound_s : NAN);
    }
    hop_json_put(out, "]");
}

static void put_ways(struct hop_buffer *out, const struct hop_plan_ways *w)
{
    static const char *const ways[] = {"best", "p2p", "staged"};
    hop_json_put(out, "\nways:{way:%s,copies:%u,staged:%u,packet_bytes:%llu,taken:%hhu", ways[w->way], w->copies,
                 w->staged, (unsigned long long)w->packet_bytes, w->taken);
    hop_put_gain(out, "by_model", w->gain);
    hop_json_put(out, "}");
}

static void put_robust(struct hop_buffer *out, const struct hop_plan_robust *robust)
{
    hop_put_robust(out, robust ? &robust->order : NULL);
    if (!robust)
        return;
    hop_json_put(out, "\nfrom:%s", robust->name);
    put_places(out, "placement", robust->placement);
    hop_json_put(out, "}");
}

char *hop_plan_result_to_json(const struct hop_topology *topology, const char *what, const struct hop_plan_result *r)
{
    struct hop_buffer out = {0};
    char words[256];
    hop_json_put(&out,
                 "{hopcast_plan:1,\ntopology:%s,\nwhat:%s,\nranks:%u,\nvalue_s:%g,\ndirect_s:%g,\nbound_s:%g,\n"
                 "bound_without_waits_s:%g,\nbound_any_way_s:%g,\nproved:%hhu,\nproved_without_waits:%hhu,\nproved_"
                 "with_waits:%hhu,\n"
                 "about:%s,\ncomplete:%hhu,\nnote:%s,\nladder:[",
                 hop_topology_name(topology), what, hop_placement_count(r->placement), r->value_s, r->direct_s,
                 r->bound_s > 0 ? r->bound_s : NAN, r->without_s > 0 ? r->without_s : NAN,
                 r->any_way_s > 0 ? r->any_way_s : NAN, r->proved, r->proved_without_waits, r->proved_with_waits,
                 hop_plan_words(r, words, sizeof words), r->complete, r->note);
    for (uint32_t i = 0; i < r->rung_count; i++)
        put_rung(&out, &r->rungs[i]);
    hop_json_put(&out, "]");
    put_ways(&out, &r->ways);
    put_robust(&out, r->robust);
    put_algorithms(&out, r);
    put_places(&out, "placement", r->placement);
    hop_json_put(&out,
                 "\nplacements:%g,\nclasses:%g,\nmachine_symmetries:%g,\nexchange_symmetries:%g,\nbounded:%g,\n"
                 "searched:%g,\nnodes:%llu,\nrecalled:%llu,\nlost_rank:%g,\nelapsed_s:%g,\nbest:",
                 r->placements, r->classes > 0 ? r->classes : NAN, r->machine_symmetries, r->exchange_symmetries,
                 r->bounded, r->searched, (unsigned long long)r->nodes, (unsigned long long)r->recalled,
                 r->lost_rank < 0 ? NAN : (double)r->lost_rank, r->elapsed_s);
    if (r->best)
        hop_json_embed(&out, hop_schedule_to_json(r->best));
    else
        hop_json_put(&out, "null");
    hop_json_put(&out, "}\n");
    return hop_buffer_take(&out);
}
