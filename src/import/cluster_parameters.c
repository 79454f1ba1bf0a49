/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Machine files may set parameters, a cluster has one value of each. Where all machines agree the cluster has their
 * value. Where they do not, links keep the capacities and latencies of their own file, and roots their tau, now said
 * in full, and nobody blocks others (head_of_line); what else holds for a whole topology (ceilings, LogGP) is refused. A fabric that says nothing of its own
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

static bool is_latency_of_links(const char *name)
{
    static const char *const names[] = {"link_latency", "pcie_latency", "accelerator_latency", "network_latency"};
    for (size_t i = 0; i < HOP_COUNT(names); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

/* What a member must say in full where its value is not the cluster's; false: that cannot be said. */
static bool keep(struct hop_cluster_member *member, const struct hop_parameter *parameter)
{
    if (gives_capacity(parameter))
        member->reason = parameter->name;
    else if (is_latency_of_links(parameter->name))
        member->keep_latency = true;
    else if (strcmp(parameter->name, "tau") == 0)
        member->keep_tau = true;
    else
        return strcmp(parameter->name, "head_of_line") == 0; /* gives way */
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

static bool is_said(const struct hop_parameter *parameter, const struct hop_parameter *normal)
{
    return parameter->value != normal->value || strcmp(parameter->origin, normal->origin) != 0;
}

/* A latency of 0 that is said is another than none that is. */
static bool differs(const struct hop_parameter *a, const struct hop_parameter *b, const struct hop_parameter *normal)
{
    return a->value != b->value || (strcmp(a->name, "link_latency") == 0 && is_said(a, normal) != is_said(b, normal));
}

/* What can be said link by link or root by root: the value of the machines, if they agree, else the default. */
static const struct hop_parameter *agree_locally(struct hop_cluster *cluster, size_t index,
                                                 const struct hop_parameter *normal)
{
    struct hop_cluster_member *members = cluster->members;
    const struct hop_parameter *chosen = value_of(&members[0], index);
    for (uint32_t i = 1; i + 1 < cluster->member_count; i++) {
        if (differs(value_of(&members[i], index), chosen, normal))
            chosen = normal;
    }
    for (uint32_t i = 0; i < cluster->member_count; i++) {
        if (differs(value_of(&members[i], index), chosen, normal))
            (void)keep(&members[i], normal);
    }
    return chosen;
}

/* What holds for the whole: the machines must agree, and the fabric with them where it says something. What is only
 * assumed gives way. */
static const struct hop_parameter *agree_wholly(struct hop_cluster *cluster, size_t index,
                                                const struct hop_parameter *normal, const struct hop_json *document)
{
    const struct hop_cluster_member *said = NULL;
    const struct hop_parameter *assumed = NULL;
    for (uint32_t i = 0; i < cluster->member_count; i++) {
        const struct hop_cluster_member *member = &cluster->members[i];
        const struct hop_parameter *own = value_of(member, index);
        bool fabric = i + 1 == cluster->member_count;
        if (strncmp(own->origin, "assumed", 7) == 0) {
            assumed = own;
        } else if (!said || (fabric && value_of(said, index)->value == normal->value)) {
            said = fabric && said && own->value == normal->value ? said : member;
        } else if (own->value != value_of(said, index)->value && !(fabric && own->value == normal->value)) {
            conflict(said, member, index, document);
        }
    }
    return assumed && (!said || !is_said(value_of(said, index), normal)) ? assumed : value_of(said, index);
}

/* One parameter. */
static void agree(struct hop_cluster *cluster, size_t index, const struct hop_parameter *normal,
                  const struct hop_json *document)
{
    struct hop_cluster_member probe = {0};
    const struct hop_parameter *chosen =
        keep(&probe, normal) ? agree_locally(cluster, index, normal) : agree_wholly(cluster, index, normal, document);
    if (hop_cluster_ok(cluster) && is_said(chosen, normal)) {
        struct hop_topology *built = cluster->build->topology;
        struct hop_failure *failure = &cluster->build->failure;
        failure->status = hop_topology_set_parameter(built, chosen->name, chosen->value, chosen->origin,
                                                     chosen->uncertainty, failure->diag);
        if (failure->status == HOP_OK)
            failure->status = hop_topology_set_range(built, chosen->name, chosen->low, chosen->high, failure->diag);
    }
}

static const char *models_of(const struct hop_cluster_member *member)
{
    const char *models = hop_topology_models(member->topology);
    return models ? models : "";
}

/* The models that all machines ask for, and behind them those of the fabric. Names of domains mean nothing in a cluster. */
static void agree_on_models(struct hop_cluster *cluster)
{
    const struct hop_cluster_member *members = cluster->members, *fabric = &members[cluster->member_count - 1];
    const char *machines = models_of(&members[0]), *network = models_of(fabric);
    bool same = true;
    for (uint32_t i = 0; i < cluster->member_count; i++)
        same = same && !strchr(models_of(&members[i]), '=') &&
               (&members[i] == fabric || strcmp(models_of(&members[i]), machines) == 0);
    if (!same)
        hop_build_note(cluster->build,
                       "its machines ask for different models: the cluster asks for none (--model chooses)");
    const char *both = hop_build_text(cluster->build, "%s%s%s", machines, *machines && *network ? "," : "", network);
    if (same && hop_cluster_ok(cluster))
        cluster->build->failure.status =
            hop_topology_set_models(cluster->build->topology, both, cluster->build->failure.diag);
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
    if (hop_cluster_ok(cluster))
        agree_on_models(cluster);
    hop_topology_destroy(fresh.topology);
    for (uint32_t i = 0; i < cluster->member_count; i++) {
        if (cluster->members[i].reason)
            hop_build_note(cluster->build,
                           "capacities of %.80s are kept as that file derives them: its parameter %s is not the "
                           "cluster's",
                           cluster->members[i].what, cluster->members[i].reason);
    }
}
