/* SPDX-License-Identifier: BSD-3-Clause */
/* Lint: runs the rules and keeps what they find. */
#include "lint/lint.h"

#include "base/json_write.h"

const char *hop_lint_rule_name(enum hop_lint_rule rule)
{
    static const char *const names[] = {
#define RULE_NAME(code, name, text) name,
        HOP_LINT_RULE_LIST(RULE_NAME)
#undef RULE_NAME
    };
    return names[rule];
}

const char *hop_lint_severity_name(enum hop_lint_severity severity)
{
    static const char *const names[] = {"info", "warning", "error"};
    return names[severity];
}

/* ---- findings ---- */

/* Errors first; findings of one severity and rule stay in the order of their subjects in the topology. */
static void sort_findings(struct hop_lint_report *r)
{
    for (uint32_t i = 1; i < r->count; i++) { /* few, and nearly in order */
        struct hop_lint_finding finding = r->findings[i];
        uint32_t at = i;
        for (; at > 0; at--) {
            const struct hop_lint_finding *before = &r->findings[at - 1];
            if (before->severity > finding.severity ||
                (before->severity == finding.severity && before->rule <= finding.rule))
                break;
            r->findings[at] = *before;
        }
        r->findings[at] = finding;
    }
}

/* ---- a run ---- */

static bool source_lacks_speeds(const struct hop_topology *topology)
{
    const char *note;
    for (size_t i = 0; (note = hop_topology_note(topology, i)); i++) {
        if (strstr(note, "inks of unknown speed") || strstr(note, "inks of unknown width"))
            return true;
    }
    return false;
}

static void run_rules(struct hop_lint *l)
{
    static void (*const of_server[])(struct hop_lint *, uint32_t) = {hop_lint_rule_sockets, hop_lint_rule_links,   hop_lint_rule_sharing,
                                                                 hop_lint_rule_nics,    hop_lint_rule_nvlinks, hop_lint_rule_collapse};
    static void (*const of_all[])(struct hop_lint *) = {hop_lint_rule_remarks, hop_lint_rule_measured, hop_lint_rule_assumed};
    for (uint32_t s = 0; s < l->server_count; s++) {
        l->more = l->alike[l->servers[s]] - 1;
        for (size_t i = 0; i < HOP_COUNT(of_server) && l->status == HOP_OK && !l->arena.failed; i++)
            of_server[i](l, l->servers[s]);
    }
    l->more = 0;
    for (size_t i = 0; i < HOP_COUNT(of_all) && l->status == HOP_OK && !l->arena.failed; i++)
        of_all[i](l);
}

enum hop_status hop_lint_run(const struct hop_topology *topology, const struct hop_lint_options *options,
                             struct hop_lint_report **report, struct hop_diag *diag)
{
    struct hop_lint_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    struct hop_lint l = {.topology = topology,
                         .options = &own,
                         .report = calloc(1, sizeof *l.report),
                         .node_count = hop_topology_node_count(topology),
                         .link_count = hop_topology_link_count(topology),
                         .routes_left = HOP_LINT_ROUTES_MAX,
                         .defaults = hop_topology_create("defaults"),
                         .speeds_missing = source_lacks_speeds(topology),
                         .diag = diag};
    if (!l.report || !l.defaults) {
        hop_topology_destroy(l.defaults);
        hop_lint_destroy(l.report);
        return hop_fail_memory(diag);
    }
    l.report->topology =
        hop_arena_string(&l.report->arena, hop_topology_name(topology), strlen(hop_topology_name(topology)));
    l.status = hop_network_create(topology, own.models, &l.network, diag);
    if (l.status == HOP_OK) {
        l.router = hop_network_router(l.network);
        l.arena.failed |= !hop_lint_find_machine(&l);
        run_rules(&l);
    }
    if (l.status == HOP_OK && (l.arena.failed || l.report->arena.failed))
        l.status = hop_fail_memory(diag);
    hop_network_destroy(l.network);
    hop_topology_destroy(l.defaults);
    hop_arena_finish(&l.arena);
    if (l.status != HOP_OK) {
        hop_lint_destroy(l.report);
        return l.status;
    }
    l.report->complete = l.routes_left > 0;
    sort_findings(l.report);
    *report = l.report;
    return HOP_OK;
}

void hop_lint_destroy(struct hop_lint_report *report)
{
    if (!report)
        return;
    hop_arena_finish(&report->arena);
    free(report);
}

uint32_t hop_lint_count(const struct hop_lint_report *report)
{
    return report->count;
}

const struct hop_lint_finding *hop_lint_at(const struct hop_lint_report *report, uint32_t index)
{
    return &report->findings[index];
}

uint32_t hop_lint_severity_count(const struct hop_lint_report *report, enum hop_lint_severity severity)
{
    return report->by_severity[severity];
}

bool hop_lint_complete(const struct hop_lint_report *report)
{
    return report->complete;
}

/* ---- JSON, docs/lint.schema.json ---- */

char *hop_lint_report_to_json(const struct hop_lint_report *report)
{
    struct hop_buffer out = {0};
    hop_json_put(&out, "{hopcast_lint:1,topology:%s,errors:%u,warnings:%u,infos:%u,complete:%hhu,\nfindings:[",
                 report->topology, report->by_severity[HOP_LINT_ERROR], report->by_severity[HOP_LINT_WARNING],
                 report->by_severity[HOP_LINT_INFO], report->complete);
    for (uint32_t i = 0; i < report->count; i++) {
        const struct hop_lint_finding *finding = &report->findings[i];
        hop_json_put(&out, "\n  {rule:%s,severity:%s,subject:%s,evidence:%s,effect:%s,advice:%s}",
                     hop_lint_rule_name(finding->rule), hop_lint_severity_name(finding->severity), finding->subject,
                     finding->evidence, finding->effect, finding->advice);
    }
    hop_json_put(&out, "]}\n");
    return hop_buffer_take(&out);
}
