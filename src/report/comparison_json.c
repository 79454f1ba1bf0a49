/* SPDX-License-Identifier: BSD-3-Clause */
/* A comparison as JSON, docs/comparison.schema.json. */
#include "hopcast/compare.h"
#include "report/report.h"

#include <inttypes.h>

static const char *const within[] = {"within_5", "within_10", "within_15"};

static void number(struct hop_buffer *out, const char *key, double value)
{
    hop_buffer_printf(out, ",\"%s\":", key);
    hop_buffer_json_number(out, value);
}

static void string(struct hop_buffer *out, const char *key, const char *text)
{
    hop_buffer_printf(out, ",\"%s\":", key);
    hop_buffer_json_string(out, text);
}

static void put_errors(struct hop_buffer *out, const struct hop_compare_errors *errors)
{
    hop_buffer_printf(out, "{\"count\":%u", errors->count);
    number(out, "median", errors->median);
    number(out, "p90", errors->p90);
    number(out, "worst", errors->worst);
    for (unsigned i = 0; i < 3; i++)
        number(out, within[i], errors->within[i]);
    hop_buffer_puts(out, "}");
}

static void put_effect(struct hop_buffer *out, const struct hop_comparison *c, const struct hop_compare_effect *effect)
{
    hop_buffer_puts(out, "  {\"effect\":");
    hop_buffer_json_string(out, effect->name);
    hop_buffer_puts(out, ",\"errors\":[");
    for (uint32_t i = 0; i < c->candidate_count; i++) {
        hop_buffer_puts(out, i ? "," : "");
        put_errors(out, &effect->errors[i]);
    }
    hop_buffer_puts(out, "]}");
}

static void put_candidate(struct hop_buffer *out, const struct hop_comparison *c, const struct hop_compare_summary *s)
{
    hop_buffer_puts(out, "{\"name\":");
    hop_buffer_json_string(out, s->name);
    hop_buffer_printf(out, ",\"count\":%u", s->count);
    number(out, "mean_error", s->mean_error);
    number(out, "mean_absolute_error", s->mean_absolute_error);
    number(out, "median_absolute_error", s->median_absolute_error);
    number(out, "p90_absolute_error", s->p90_absolute_error);
    number(out, "worst_error", s->worst_error);
    string(out, "worst_transfer", s->count ? c->rows[s->worst_row].of->transfer : NULL);
    for (unsigned i = 0; i < HOP_COUNT(within); i++)
        number(out, within[i], s->within[i]);
    number(out, "worst_group_error", s->worst_group_error);
    string(out, "worst_group", s->count ? c->groups[s->worst_group].name : NULL);
    hop_buffer_puts(out, ",\"groups\":");
    put_errors(out, &s->groups);
    hop_buffer_puts(out, "}");
}

static void put_row(struct hop_buffer *out, const struct hop_comparison *c, const struct hop_compare_row *row)
{
    hop_buffer_puts(out, "{\"transfer\":");
    hop_buffer_json_string(out, row->of->transfer);
    string(out, "from", row->of->from);
    string(out, "to", row->of->to);
    hop_buffer_printf(out, ",\"compared\":\"%s\"", row->rate ? "rate" : "time");
    hop_buffer_printf(out, ",\"bytes\":%" PRIu64, row->bytes);
    number(out, "reference_s", row->reference_s);
    hop_buffer_puts(out, ",\"candidate_s\":[");
    for (uint32_t i = 0; i < c->candidate_count; i++) {
        hop_buffer_puts(out, i ? "," : "");
        hop_buffer_json_number(out, row->candidate_s[i]);
    }
    hop_buffer_puts(out, "],\"errors\":[");
    for (uint32_t i = 0; i < c->candidate_count; i++) {
        hop_buffer_puts(out, i ? "," : "");
        hop_buffer_json_number(out, hop_compare_error(row, i));
    }
    hop_buffer_puts(out, "]}");
}

static void put_group(struct hop_buffer *out, const struct hop_comparison *c, const struct hop_compare_group *group)
{
    hop_buffer_puts(out, "  {\"group\":");
    hop_buffer_json_string(out, group->name);
    string(out, "effect", group->effect);
    hop_buffer_printf(out, ",\"collapse\":%s", group->collapse ? "true" : "false");
    hop_buffer_puts(out, ",\"mean_absolute_errors\":[");
    for (uint32_t i = 0; i < c->candidate_count; i++) {
        hop_buffer_puts(out, i ? "," : "");
        hop_buffer_json_number(out, group->mean_absolute_error[i]);
    }
    hop_buffer_puts(out, "],\"transfers\":[");
    for (uint32_t r = 0; r < group->count; r++) {
        hop_buffer_puts(out, r ? ",\n    " : "\n    ");
        put_row(out, c, &c->rows[group->first + r]);
    }
    hop_buffer_puts(out, "]}");
}

char *hop_comparison_to_json(const struct hop_comparison *comparison)
{
    struct hop_buffer out = {0};
    hop_buffer_puts(&out, "{\"hopcast_comparison\":1,\n\"reference\":");
    hop_buffer_json_string(&out, comparison->reference);
    hop_buffer_printf(&out, ",\"left_out\":%u,\n\"candidates\":[", comparison->left_out);
    for (uint32_t i = 0; i < comparison->candidate_count; i++) {
        hop_buffer_puts(&out, i ? ",\n  " : "\n  ");
        put_candidate(&out, comparison, &comparison->candidates[i]);
    }
    hop_buffer_puts(&out, "],\n\"effects\":[");
    for (uint32_t e = 0; e < comparison->effect_count; e++) {
        hop_buffer_puts(&out, e ? ",\n" : "\n");
        put_effect(&out, comparison, &comparison->effects[e]);
    }
    hop_buffer_puts(&out, "],\n\"groups\":[");
    for (uint32_t g = 0; g < comparison->group_count; g++) {
        hop_buffer_puts(&out, g ? ",\n" : "\n");
        put_group(&out, comparison, &comparison->groups[g]);
    }
    hop_buffer_puts(&out, "]}\n");
    return hop_buffer_take(&out);
}
