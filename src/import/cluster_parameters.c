/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Machine files may set parameters, a cluster has one value of each. Where all machines agree the cluster has their
 * value. Where they do not, links keep the capacities and latencies of their own file, and roots their tau, now said
 * in full; what only holds for a whole topology (ceilings, LogGP) is refused. A fabric that says nothing of its own
 * follows the machines.
 */
#include "import/cluster.h"

static bool gives_capacity(const struct hop_parameter *parameter)
{
    static const char *const others[] = {"pcie_payload", "pcie_header", "nvlink_efficiency"};
    for (size_t i = 0; i < HOP_COUNT(others); i++) {
        if (strcmp(parameter->name, others[i]) == 0)
            return true;
    }
    return strcmp(parameter->unit, "B/s") == 0 && strncmp(parameter->name, "ceiling_", 8) != 0;
}

/* What a member must say in full where its value is not the cluster's; false: that cannot be said. */
static bool keep(struct hop_cluster_member *member, const struct hop_parameter *parameter)
{
    if (gives_capacity(parameter))
        member->reason = parameter->name;
    else if (strcmp(parameter->name, "link_latency") == 0)
        member->keep_latency = true;
    else if (strcmp(parameter->name, "tau") == 0)
        member->keep_tau = true;
    else
        return false;
    return true;
}

static const struct hop_parameter *value_of(const struct hop_cluster_member *member, size_t index)
{
    return hop_topology_parameter_at(member->topology, index);
}

static void conflict(const struct hop_cluster_member *a, const struct hop_cluster_member *b, size_t index,
                     const struct hop_json *document)
{
    hop_json_fail(
        document, HOP_ERR_INVALID,
        "the parameter %s is %g in %.60s and %g in %.60s\none value for the whole cluster: set the same in both "
        "files",
        value_of(a, index)->name, value_of(a, index)->value, a->what, value_of(b, index)->value, b->what);
}

/* One parameter: the value of the machines, if they agree, else the default; the fabric's own where only it has one. */
static void agree(struct hop_cluster *cluster, size_t index, const struct hop_parameter *normal,
                  const struct hop_json *document)
{
    struct hop_cluster_member *members = cluster->members, *fabric = &members[cluster->member_count - 1];
    const struct hop_parameter *chosen = value_of(&members[0], index), *own = value_of(fabric, index);
    uint32_t machines = cluster->member_count - 1, other = 1;
    while (other < machines && value_of(&members[other], index)->value == chosen->value)
        other++;
    if (other < machines)
        chosen = normal;
    struct hop_cluster_member probe = {0};
    bool local = keep(&probe, normal);
    if (!local && other < machines)
        conflict(&members[0], &members[other], index, document);
    if (!local && own->value != normal->value && own->value != chosen->value) {
        if (chosen->value != normal->value)
            conflict(&members[0], fabric, index, document);
        chosen = own;
    }
    for (uint32_t i = 0; i < cluster->member_count && local; i++) {
        if (value_of(&members[i], index)->value != chosen->value)
            (void)keep(&members[i], normal);
    }
    if (hop_cluster_ok(cluster) && (chosen->value != normal->value || strcmp(chosen->origin, normal->origin) != 0)) {
        struct hop_topology *built = cluster->build->topology;
        struct hop_failure *failure = &cluster->build->failure;
        failure->status = hop_topology_set_parameter(built, chosen->name, chosen->value, chosen->origin,
                                                     chosen->uncertainty, failure->diag);
        if (failure->status == HOP_OK)
            failure->status = hop_topology_set_range(built, chosen->name, chosen->low, chosen->high, failure->diag);
    }
}

void hop_cluster_agree(struct hop_cluster *cluster, const struct hop_json *document)
{
    struct hop_build fresh;
    const struct hop_parameter *normal;
    hop_build_begin(&fresh, "", cluster->build->failure.diag);
    if (!hop_build_ok(&fresh)) {
        cluster->build->failure.status = HOP_ERR_MEMORY;
        return;
    }
    for (size_t i = 0; hop_cluster_ok(cluster) && (normal = hop_topology_parameter_at(fresh.topology, i)) != NULL; i++)
        agree(cluster, i, normal, document);
    hop_topology_destroy(fresh.topology);
    for (uint32_t i = 0; i < cluster->member_count; i++) {
        if (cluster->members[i].reason)
            hop_build_note(cluster->build,
                           "capacities of %.80s are kept as that file derives them: its parameter %s is not the "
                           "cluster's",
                           cluster->members[i].what, cluster->members[i].reason);
    }
}
