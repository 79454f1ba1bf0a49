/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast topology --lint: what is likely wrong or slow on a machine. */
#include "topology.h"

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
    for (int s = HOP_LINT_ERROR; total && s >= HOP_LINT_INFO; s--) {
        uint32_t count = hop_lint_severity_count(report, (enum hop_lint_severity)s);
        printf("%u %s%s%s", count, hop_lint_severity_name((enum hop_lint_severity)s), count == 1 ? "" : "s",
               s > HOP_LINT_INFO ? ", " : "\n");
    }
    if (total == 0)
        printf("nothing found\n");
}

int topology_print_lint(const struct hop_topology *topology, const char *measurements, bool json)
{
    struct hop_measurements *measured = NULL;
    struct hop_lint_report *report;
    if (measurements)
        measured = tool_load_measurements(measurements, NULL);
    tool_try(hop_lint_run(topology, &(struct hop_lint_options){.measurements = measured}, &report, &tool_diag));
    hop_measurements_destroy(measured);
    if (json)
        tool_write_text(NULL, hop_lint_report_to_json(report));
    else
        print_report(topology, report);
    bool found =
        hop_lint_severity_count(report, HOP_LINT_WARNING) + hop_lint_severity_count(report, HOP_LINT_ERROR) > 0;
    hop_lint_destroy(report);
    return found ? TOOL_NEGATIVE : TOOL_OK;
}
