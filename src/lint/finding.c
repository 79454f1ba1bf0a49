/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rule found, kept in the report. */
#include "lint/lint.h"

/* The buffer's text in the report's arena. */
static const char *keep(struct hop_lint *l, struct hop_buffer *buffer)
{
    struct hop_arena *arena = &l->report->arena;
    arena->failed |= buffer->failed;
    const char *kept = hop_arena_string(arena, buffer->text ? buffer->text : "", buffer->length);
    hop_buffer_finish(buffer);
    return kept;
}

void hop_lint_add(struct hop_lint *l, enum hop_lint_rule rule, enum hop_lint_severity severity,
                  struct hop_lint_text *text, const char *advice)
{
    struct hop_lint_report *r = l->report;
    if (l->more)
        hop_buffer_printf(&text->subject, " (and the same in %u more server%s)", l->more, l->more == 1 ? "" : "s");
    struct hop_lint_finding finding = {rule,
                                       severity,
                                       keep(l, &text->subject),
                                       keep(l, &text->evidence),
                                       keep(l, &text->effect),
                                       hop_arena_string(&r->arena, advice, strlen(advice))};
    r->by_severity[severity]++;
    if (r->count < HOP_LINT_FINDINGS_MAX && HOP_GROW(&r->arena, r->findings, r->count + 1))
        r->findings[r->count++] = finding;
}
