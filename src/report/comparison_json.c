/* SPDX-License-Identifier: BSD-3-Clause */
/* A comparison as JSON, docs/comparison.schema.json. */
#include "base/json_write.h"
#include "hopcast/compare.h"

static void put_within(struct hop_buffer *out, const double within[3])
{
    hop_json_put(out, "within_5:%g,within_10:%g,within_15:%g", within[0], within[1], within[2]);
}

static void put_errors(struct hop_buffer *out, const struct hop_compare_errors *errors)
{
    hop_json_put(out, "{count:%u,median:%g,p90:%g,worst:%g", errors->count, errors->median, errors->p90, errors->worst);
    put_within(out, errors->within);
    hop_json_put(out, "}");
}

static void put_effect(struct hop_buffer *out, const struct hop_comparison *c, const struct hop_compare_effect *effect)
{
    hop_json_put(out, "\n  {effect:%s,errors:[", effect->name);
    for (uint32_t i = 0; i < c->candidate_count; i++)
        put_errors(out, &effect->errors[i]);
    hop_json_put(out, "]}");
}

static void put_candidate(struct hop_buffer *out, const struct hop_comparison *c, const struct hop_compare_summary *s)
{
    hop_json_put(out,
                 "\n  {name:%s,count:%u,mean_error:%g,mean_absolute_error:%g,median_absolute_error:%g,"
                 "p90_absolute_error:%g,worst_error:%g,worst_transfer:%s",
                 s->name, s->count, s->mean_error, s->mean_absolute_error, s->median_absolute_error,
                 s->p90_absolute_error, s->worst_error, s->count ? c->rows[s->worst_row].of->transfer : NULL);
    put_within(out, s->within);
    hop_json_put(out, "worst_group_error:%g,worst_group:%s,groups:", s->worst_group_error,
                 s->count ? c->groups[s->worst_group].name : NULL);
    put_errors(out, &s->groups);
    if (s->ranges)
        hop_json_put(out, "ranges:%u,in_range:%u,wide:%g", s->ranges, s->in_range, s->wide);
    hop_json_put(out, "}");
}

static void put_row(struct hop_buffer *out, const struct hop_comparison *c, const struct hop_compare_row *row)
{
    hop_json_put(out, "\n    {transfer:%s,from:%s,to:%s,compared:%s,bytes:%llu,reference_s:%g,candidate_s:[",
                 row->of->transfer, row->of->from, row->of->to, row->rate ? "rate" : "time",
                 (unsigned long long)row->bytes, row->reference_s);
    for (uint32_t i = 0; i < c->candidate_count; i++)
        hop_json_put(out, "%g", row->candidate_s[i]);
    hop_json_put(out, "],errors:[");
    for (uint32_t i = 0; i < c->candidate_count; i++)
        hop_json_put(out, "%g", hop_compare_error(row, i));
    hop_json_put(out, "]}");
}

static void put_ranges(struct hop_buffer *out, const struct hop_comparison *c, const struct hop_compare_group *group)
{
    hop_json_put(out, "ranges:[");
    for (uint32_t i = 0; i < c->candidate_count; i++) {
        const struct hop_compare_range *r = &group->ranges[i];
        hop_json_put(out, "{value_s:%g,low_s:%g,high_s:%g,reference_s:%g,contending:%hhu}", r->value_s, r->low_s,
                     r->high_s, r->reference_s, r->contending);
    }
    hop_json_put(out, "],");
}

static void put_group(struct hop_buffer *out, const struct hop_comparison *c, const struct hop_compare_group *group)
{
    hop_json_put(out, "\n  {group:%s,effect:%s,collapse:%hhu,mean_absolute_errors:[", group->name, group->effect,
                 group->collapse);
    for (uint32_t i = 0; i < c->candidate_count; i++)
        hop_json_put(out, "%g", group->mean_absolute_error[i]);
    hop_json_put(out, "],");
    if (group->algorithm)
        hop_json_put(out, "algorithm:%s,", group->algorithm);
    if (group->ranges)
        put_ranges(out, c, group);
    hop_json_put(out, "transfers:[");
    for (uint32_t r = 0; r < group->count; r++)
        put_row(out, c, &c->rows[group->first + r]);
    hop_json_put(out, "]}");
}

char *hop_comparison_to_json(const struct hop_comparison *comparison)
{
    struct hop_buffer out = {0};
    hop_json_put(&out, "{hopcast_comparison:1,\nreference:%s,left_out:%u,\ncandidates:[", comparison->reference,
                 comparison->left_out);
    for (uint32_t i = 0; i < comparison->candidate_count; i++)
        put_candidate(&out, comparison, &comparison->candidates[i]);
    hop_json_put(&out, "],\neffects:[");
    for (uint32_t e = 0; e < comparison->effect_count; e++)
        put_effect(&out, comparison, &comparison->effects[e]);
    hop_json_put(&out, "],\ngroups:[");
    for (uint32_t g = 0; g < comparison->group_count; g++)
        put_group(&out, comparison, &comparison->groups[g]);
    hop_json_put(&out, "]}\n");
    return hop_buffer_take(&out);
}
