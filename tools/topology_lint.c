/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast topology --lint: what is likely wrong or slow on a machine. */
#include "topology.h"

#include <stdlib.h>
#include <string.h>

enum { INDENT = 2, LABEL = 10 };

static void print_text(const char *label, const char *text)
{
    unsigned width = tool_columns();
    printf("%*s%-*s", INDENT, "", LABEL, label);
    tool_print_wrapped(text, INDENT + LABEL, width < 60 ? 60 : width > 140 ? 140 : width);
}

static void print_finding(const struct hop_lint_finding *finding)
{
    printf("%s %s: %s\n", hop_lint_severity_name(finding->severity), hop_lint_rule_name(finding->rule),
           finding->subject);
    print_text("evidence", finding->evidence);
    print_text("effect", finding->effect);
    print_text("advice", finding->advice);
    printf("\n");
}

static void print_report(const struct hop_topology *topology, const struct hop_lint_report *report)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < hop_lint_count(report); i++)
        print_finding(hop_lint_at(report, i));
    for (int s = HOP_LINT_INFO; s <= HOP_LINT_ERROR; s++)
        total += hop_lint_severity_count(report, (enum hop_lint_severity)s);
    if (total > hop_lint_count(report))
        printf("... and %u more findings\n", total - hop_lint_count(report));
    if (!hop_lint_complete(report))
        printf("note: too many pairs of devices; only those of the first servers were looked at\n");
    printf("%s: ", hop_topology_name(topology));
    if (total == 0)
        printf("nothing found\n");
    else
        printf("%u error%s, %u warning%s, %u info%s\n", hop_lint_severity_count(report, HOP_LINT_ERROR),
               hop_lint_severity_count(report, HOP_LINT_ERROR) == 1 ? "" : "s",
               hop_lint_severity_count(report, HOP_LINT_WARNING),
               hop_lint_severity_count(report, HOP_LINT_WARNING) == 1 ? "" : "s",
               hop_lint_severity_count(report, HOP_LINT_INFO),
               hop_lint_severity_count(report, HOP_LINT_INFO) == 1 ? "" : "s");
}

int topology_print_lint(const struct hop_topology *topology, const char *measurements, bool json)
{
    struct hop_diag diag;
    struct hop_measurements *measured = NULL;
    struct hop_lint_report *report;
    if (measurements && hop_measurements_load(measurements, &measured, &diag) != HOP_OK)
        return tool_fail(&diag);
    enum hop_status status =
        hop_lint_run(topology, &(struct hop_lint_options){.measurements = measured}, &report, &diag);
    hop_measurements_destroy(measured);
    if (status != HOP_OK)
        return tool_fail(&diag);
    bool found =
        hop_lint_severity_count(report, HOP_LINT_WARNING) + hop_lint_severity_count(report, HOP_LINT_ERROR) > 0;
    int result = TOOL_OK;
    if (json) {
        char *text = hop_lint_report_to_json(report);
        result = text ? tool_write(NULL, text) : tool_out_of_memory();
        free(text);
    } else {
        print_report(topology, report);
    }
    hop_lint_destroy(report);
    return result == TOOL_OK && found ? TOOL_NEGATIVE : result;
}
