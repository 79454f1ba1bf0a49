/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lint: what is likely wrong or slow on a machine, each finding with its evidence, its effect and what to do
 * (docs/lint.md).
 *
 *     hop_lint_run(topology, NULL, &report, &diag);
 *     for (uint32_t i = 0; i < hop_lint_count(report); i++)
 *         puts(hop_lint_at(report, i)->evidence);
 *
 * An info says how the machine is built or what was assumed; a warning that something is slower than it should be, or
 * may become so; an error that something cannot work.
 */
#ifndef HOPCAST_LINT_H
#define HOPCAST_LINT_H

#include "hopcast/measurements.h"
#include "hopcast/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_LINT_FINDINGS_MAX 1000u    /* of one report; those beyond are counted */
#define HOP_LINT_ROUTES_MAX (1u << 16) /* looked at for one report; servers beyond are passed over, it says so */
#define HOP_LINT_NAMES_MAX 16u         /* members of a collapse that are named */

enum hop_lint_severity { HOP_LINT_INFO, HOP_LINT_WARNING, HOP_LINT_ERROR };

/* enumerator, name in files, what it finds */
#define HOP_LINT_RULE_LIST(X)                                                                                          \
    X(HOP_LINT_UNREACHABLE, "unreachable", "two devices of one server without a way between them")                     \
    X(HOP_LINT_LINK_BELOW_CAPABILITY, "link-below-capability", "a PCIe link slower than both of its ends can be")      \
    X(HOP_LINT_LINK_BELOW_TWIN, "link-below-twin", "a PCIe link slower than that of a device of the same model")       \
    X(HOP_LINT_BRIDGE_EMULATED, "bridge-emulated", "bridges that claim 2.5 GT/s x1, as those of virtual machines do")  \
    X(HOP_LINT_UPLINK_NARROW, "uplink-narrow", "a switch whose uplink is slower than a link below it")                 \
    X(HOP_LINT_UPLINK_SHARED, "uplink-shared", "GPUs that share a switch's uplink")                                    \
    X(HOP_LINT_NIC_NARROW, "nic-narrow", "a NIC behind a link slower than its port")                                   \
    X(HOP_LINT_NIC_FAR, "nic-far", "GPUs whose nearest NIC is on another socket or NUMA node")                         \
    X(HOP_LINT_NVLINK_MISSING, "nvlink-missing", "a GPU with fewer NVLinks than others of its model")                  \
    X(HOP_LINT_MEMORY_MISSING, "memory-missing", "a socket with GPUs and without host memory")                         \
    X(HOP_LINT_SOCKETS_UNEVEN, "sockets-uneven", "sockets with unlike numbers of GPUs")                                \
    X(HOP_LINT_PEERS_ACROSS_SOCKETS, "peers-across-sockets", "GPU pairs whose peer traffic crosses sockets")           \
    X(HOP_LINT_POSTED_WRITE_COLLAPSE, "posted-write-collapse",                                                         \
      "GPUs behind one uplink that can write to several roots")                                                        \
    X(HOP_LINT_PEERS_REDIRECTED, "peers-redirected", "pairs below one switch, measured as if sent through the root")   \
    X(HOP_LINT_MEASURED_SLOW, "measured-slow", "a device measured far below its link")                                 \
    X(HOP_LINT_MEASURED_FAST, "measured-fast", "a way measured faster than its links: the topology is wrong")          \
    X(HOP_LINT_ASSUMED, "assumed", "defaults, not facts, that decide predictions")

enum hop_lint_rule {
#define HOP_LINT_RULE_ENUM(code, name, text) code,
    HOP_LINT_RULE_LIST(HOP_LINT_RULE_ENUM)
#undef HOP_LINT_RULE_ENUM
        HOP_LINT_RULE_COUNT
};
HOP_API const char *hop_lint_rule_name(enum hop_lint_rule rule);
HOP_API const char *hop_lint_severity_name(enum hop_lint_severity severity); /* "info", "warning", "error" */

/* Texts are sentences without a final full stop, never NULL. */
struct hop_lint_finding {
    enum hop_lint_rule rule;
    enum hop_lint_severity severity;
    const char *subject;  /* the nodes or links */
    const char *evidence; /* what the source or the measurements say */
    const char *effect;   /* what a user sees, in numbers where they can be predicted */
    const char *advice;
};

struct hop_lint_options {
    size_t size;                                 /* see hop_version */
    const struct hop_measurements *measurements; /* NULL: none; rules that need them say nothing */
    const char *models;                          /* that predict effects, see hop_network_create */
};

struct hop_lint_report;

/* Looks at a finished topology, which it only reads. options may be NULL. The caller frees the report. Measurements
 * none of whose devices the topology has are HOP_ERR_INVALID; rows with a device that it does not have are passed
 * over. */
HOP_API enum hop_status hop_lint_run(const struct hop_topology *topology, const struct hop_lint_options *options,
                                     struct hop_lint_report **report, struct hop_diag *diag);
HOP_API void hop_lint_destroy(struct hop_lint_report *report); /* NULL is allowed */

/* Errors first, then warnings, then infos; of one severity in the order of the rules. Valid as long as the report. */
HOP_API uint32_t hop_lint_count(const struct hop_lint_report *report);
HOP_API const struct hop_lint_finding *hop_lint_at(const struct hop_lint_report *report, uint32_t index);
/* How many findings of a severity there are, those beyond HOP_LINT_FINDINGS_MAX included. */
HOP_API uint32_t hop_lint_severity_count(const struct hop_lint_report *report, enum hop_lint_severity severity);
/* Whether every pair of devices was looked at; false: only those of the first servers, see HOP_LINT_ROUTES_MAX. */
HOP_API bool hop_lint_complete(const struct hop_lint_report *report);
/* docs/lint.schema.json: a new string that the caller frees, NULL when out of memory. */
HOP_API char *hop_lint_report_to_json(const struct hop_lint_report *report);

/* ---- the collapse of posted writes ---- */

/*
 * Two or more GPUs below one switch that write, over the switch's one uplink to its root complex, to GPUs of two or
 * more other root complexes: on some machines such writes fell to a fraction of their fair share. The cause is not
 * known, so no model predicts it; it is told as a risk where it was seen: with roots of another socket, or four GPUs or
 * more below the switch. One sending GPU, one root that all write to, and several senders into one switch do not show
 * it, nor do switches of two GPUs on one socket. Links known to be older than generation 5, where it was never seen, are
 * left out.
 */
struct hop_lint_collapse_risk {
    uint32_t uplink; /* directed link, from the switch to its root complex */
    uint32_t sender_count, root_count;
    uint32_t senders[HOP_LINT_NAMES_MAX], roots[HOP_LINT_NAMES_MAX]; /* nodes, ascending; the first of them */
};

/* An uplink that is at risk during a timeline; senders and roots are those of all its periods. */
struct hop_lint_risk {
    struct hop_lint_collapse_risk what;
    double start_s, end_s; /* of the first and of the last period */
    double exposed_s;      /* all periods together */
    uint32_t periods;      /* at least 1 */
};
/* Detail ends or more: the risks of a timeline, ascending by uplink, a new array that the caller frees; NULL when there
 * are none. */
HOP_API enum hop_status hop_lint_timeline(const struct hop_timeline *timeline, struct hop_lint_risk **risks,
                                          uint32_t *count, struct hop_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
