/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rule found, kept in the report. */
#include "lint/lint.h"

const char *hop_lint_keep(struct hop_arena *arena, struct hop_buffer *buffer)
{
    arena->failed |= buffer->failed;
    const char *kept = hop_arena_string(arena, buffer->text ? buffer->text : "", buffer->length);
    hop_buffer_finish(buffer);
    return kept ? kept : "";
}

void hop_lint_add(struct hop_lint *l, enum hop_lint_rule rule, enum hop_lint_severity severity,
                  struct hop_lint_text *text, const char *advice)
{
    struct hop_lint_report *r = l->report;
    if (l->more)
        hop_buffer_printf(&text->subject, " (and the same in %u more server%s)", l->more, l->more == 1 ? "" : "s");
    struct hop_lint_finding finding = {rule,
                                       severity,
                                       hop_lint_keep(&r->arena, &text->subject),
                                       hop_lint_keep(&r->arena, &text->evidence),
                                       hop_lint_keep(&r->arena, &text->effect),
                                       hop_arena_string(&r->arena, advice, strlen(advice))};
    r->by_severity[severity]++;
    if (r->count < HOP_LINT_FINDINGS_MAX && HOP_GROW(&r->arena, r->findings, r->count + 1))
        r->findings[r->count++] = finding;
}
