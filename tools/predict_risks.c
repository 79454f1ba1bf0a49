/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast predict: what a schedule puts at risk that no model predicts. */
#include "predict.h"

#include <stdlib.h>

enum { RISKS_SHOWN = 4 };

/* "gpu0, gpu1, ..." */
static void print_names(const struct prediction *p, const uint32_t *nodes, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < HOP_LINT_NAMES_MAX; i++)
        printf("%s%s", i ? ", " : "", hop_topology_node(p->topology, nodes[i])->name);
    if (count > HOP_LINT_NAMES_MAX)
        printf(", ...");
}

static void print_risk(const struct prediction *p, const struct hop_lint_risk *risk)
{
    char start[32], end[32];
    const struct hop_link *uplink = hop_topology_link(p->topology, risk->what.uplink / 2);
    hop_show_seconds(risk->start_s, start, sizeof start);
    hop_show_seconds(risk->end_s, end, sizeof end);
    printf("risk: posted-write collapse ");
    if (risk->periods > 1)
        printf("for %s between %s and %s", SECONDS(risk->exposed_s), start, end);
    else
        printf("from %s to %s", start, end);
    printf(": ");
    print_names(p, risk->what.senders, risk->what.sender_count);
    printf(" behind %s write to %u roots (", hop_topology_node(p->topology, uplink->ends[0])->name,
           risk->what.root_count);
    print_names(p, risk->what.roots, risk->what.root_count);
    printf(")\n");
}

void predict_show_risks(const struct prediction *p)
{
    struct hop_lint_risk *risks;
    uint32_t count;
    if (hop_lint_timeline(p->timeline, &risks, &count, NULL) != HOP_OK)
        return;
    for (uint32_t i = 0; i < count && i < RISKS_SHOWN; i++)
        print_risk(p, &risks[i]);
    if (count > RISKS_SHOWN)
        printf("  ... and behind %u more switches; --json has them all\n", count - RISKS_SHOWN);
    if (count)
        printf("  where such writes were measured, the last flow got 1.35 GB/s of a fair 20 on one machine, 5.8 to "
               "6.75 of "
               "26 on another,\n  and there all of it after updates: the cause is not known, no model has it "
               "(docs/lint.md)\n");
    free(risks);
}
