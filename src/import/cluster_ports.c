/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which NIC is in which slot of the fabric. First the NICs that `ports` puts into a slot, then those that it puts at a
 * switch, each into the first free slot there, then all others in their order into the free slots in theirs. A key of
 * `ports` is a NIC's name, or a pattern: `*` stands for characters other than the point, `[0-3]` for a number.
 */
#include "import/cluster.h"

#include <ctype.h>

enum { STARS_MAX = 4 };

/* ---- patterns ---- */

static bool is_pattern(const char *key)
{
    return strpbrk(key, "*[") != NULL;
}

/* The number that both texts have at their beginning is between low and high. */
static bool in_range(const char **pattern, const char **text)
{
    char *end;
    unsigned long low = strtoul(*pattern + 1, &end, 10), high = low;
    if (*end == '-')
        high = strtoul(end + 1, &end, 10);
    if (*end != ']' || !isdigit((unsigned char)**text))
        return false;
    *pattern = end + 1;
    char *after;
    unsigned long number = strtoul(*text, &after, 10);
    *text = after;
    return number >= low && number <= high;
}

static bool matches(const char *pattern, const char *text)
{
    for (;;) {
        if (*pattern == '*') {
            do {
                if (matches(pattern + 1, text))
                    return true;
            } while (*text && *text++ != '.');
            return false;
        }
        if (*pattern == '[') {
            if (!in_range(&pattern, &text))
                return false;
        } else if (*pattern != *text) {
            return false;
        } else if (!*pattern) {
            return true;
        } else {
            pattern++;
            text++;
        }
    }
}

static void check_pattern(const struct hop_json *at)
{
    unsigned stars = 0;
    bool good = true;
    for (const char *c = at->key; *c && good; c++) {
        stars += *c == '*';
        if (*c != '[')
            continue;
        size_t low = strspn(c + 1, "0123456789"), dash = c[1 + low] == '-',
               high = dash ? strspn(c + 2 + low, "0123456789") : 1;
        good = low > 0 && low < 9 && high > 0 && high < 9 && c[1 + low + dash + (dash ? high : 0)] == ']';
    }
    if (!good || stars > STARS_MAX)
        hop_json_fail(
            at, HOP_ERR_SYNTAX,
            "this pattern has %s\na NIC such as node0.nic1, or a pattern: node*.nic1, node[0-3].nic1, at most "
            "%d *",
            good ? "too many *" : "a [ without a range", STARS_MAX);
}

/* ---- what `ports` says ---- */

static const char *nic_name(const void *context, uint32_t index)
{
    const struct hop_cluster *cluster = context;
    return cluster->build->topology->nodes[cluster->nics[index].topology_node].name;
}

static const char *fabric_name(const void *context, uint32_t index)
{
    return ((const struct hop_topology *)context)->nodes[index].name;
}

/* Whether a node of the fabric stands for a port of a machine. */
static bool is_slot(const struct hop_topology *fabric, uint32_t node)
{
    uint32_t count;
    (void)hop_topology_links_of(fabric, node, &count);
    return fabric->nodes[node].kind == HOP_NODE_NIC && count > 0;
}

/* null, a slot or a switch. */
static enum hop_wish read_wish(const struct hop_cluster *cluster, const struct hop_json *at, uint32_t *target)
{
    const struct hop_topology *fabric = hop_cluster_fabric(cluster);
    *target = HOP_NONE;
    if (json_is_null(at->value))
        return HOP_WISH_NOWHERE;
    bool before = hop_cluster_ok(cluster);
    const char *name = hop_json_name(at);
    if (before && !name)
        hop_diag_expect(cluster->build->failure.diag,
                        "the name of a slot or of a switch of the fabric, or null: not connected");
    if (!name)
        return HOP_WISH_NOWHERE;
    *target = hop_topology_find(fabric, name);
    if (*target != HOP_NONE && fabric->nodes[*target].kind == HOP_NODE_FABRIC)
        return HOP_WISH_SWITCH;
    if (*target != HOP_NONE && is_slot(fabric, *target))
        return HOP_WISH_SLOT;
    uint32_t nearest = hop_text_nearest(name, fabric_name, fabric, fabric->node_count);
    bool near = nearest != UINT32_MAX;
    hop_json_fail(at, HOP_ERR_NOT_FOUND,
                  "the fabric has no slot and no switch '%.63s'\n%s%s%sa switch, a NIC in the fabric that stands for a "
                  "slot, or null",
                  name, near ? "'" : "", near ? fabric_name(fabric, nearest) : "", near ? "'? " : "");
    return HOP_WISH_NOWHERE;
}

static void fail_no_nic(const struct hop_cluster *cluster, const struct hop_json *at)
{
    bool pattern = is_pattern(at->key);
    uint32_t nearest = pattern ? UINT32_MAX : hop_text_nearest(at->key, nic_name, cluster, cluster->nic_count);
    if (nearest != UINT32_MAX)
        hop_json_fail(at, HOP_ERR_NOT_FOUND, "there is no NIC '%.63s'\n'%s'? a NIC of the cluster's nodes", at->key,
                      nic_name(cluster, nearest));
    hop_json_fail(at, HOP_ERR_NOT_FOUND, "%s '%.63s'\na NIC of the cluster's nodes, the first is '%s'",
                  pattern ? "no NIC matches" : "there is no NIC", at->key, nic_name(cluster, 0));
}

static void read_port(struct hop_cluster *cluster, const struct hop_json *at)
{
    uint32_t target, found = 0;
    bool pattern = is_pattern(at->key);
    check_pattern(at);
    enum hop_wish wish = read_wish(cluster, at, &target);
    uint32_t exact = pattern ? HOP_NONE : hop_topology_find(cluster->build->topology, at->key);
    for (uint32_t i = 0; i < cluster->nic_count && hop_cluster_ok(cluster); i++) {
        struct hop_cluster_nic *nic = &cluster->nics[i];
        if (pattern ? !matches(at->key, nic_name(cluster, i)) : nic->topology_node != exact)
            continue;
        found++;
        if (pattern && nic->by_name)
            continue; /* its name says more */
        if (pattern && nic->key)
            hop_json_fail(at, HOP_ERR_INVALID,
                          "'%s' matches this pattern and '%.63s'\none pattern for a NIC; its own name goes before "
                          "patterns",
                          nic_name(cluster, i), nic->key);
        nic->wish = wish;
        nic->target = target;
        nic->key = at->key;
        nic->by_name = !pattern;
    }
    if (found == 0)
        fail_no_nic(cluster, at);
}

static void read_ports(struct hop_cluster *cluster, const struct hop_json *ports)
{
    const char *key;
    json_t *value;
    if (!json_is_object(ports->value))
        hop_json_object(ports, NULL, 0, NULL); /* which says so */
    json_object_foreach((json_t *)ports->value, key, value)
    {
        const struct hop_json port = hop_json_member(ports, key, true);
        if (hop_cluster_ok(cluster))
            read_port(cluster, &port);
    }
}

/* ---- slots ---- */

static void occupy(struct hop_cluster *cluster, uint32_t nic, uint32_t slot)
{
    cluster->nics[nic].slot = slot;
    cluster->nic_in[slot] = nic;
}

static void take_slot(struct hop_cluster *cluster, uint32_t index, const struct hop_json *ports)
{
    const struct hop_cluster_nic *nic = &cluster->nics[index];
    uint32_t other = cluster->nic_in[nic->target];
    const struct hop_json at = hop_json_member(ports, nic->key, true);
    if (other == HOP_NONE)
        occupy(cluster, index, nic->target);
    else
        hop_json_fail(&at, HOP_ERR_INVALID, "'%s' and '%s' are both put into the slot '%s'\none NIC in every slot",
                      nic_name(cluster, other), nic_name(cluster, index),
                      hop_cluster_fabric(cluster)->nodes[nic->target].name);
}

/* The first free slot at a switch. */
static void take_at_switch(struct hop_cluster *cluster, uint32_t index, const struct hop_json *ports)
{
    const struct hop_cluster_nic *nic = &cluster->nics[index];
    const struct hop_topology *fabric = hop_cluster_fabric(cluster);
    const struct hop_json at = hop_json_member(ports, nic->key, true);
    uint32_t count, best = HOP_NONE, slots = 0;
    const uint32_t *links = hop_topology_links_of(fabric, nic->target, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_link *link = &fabric->links[links[i]];
        uint32_t slot = link->ends[link->ends[0] == nic->target];
        if (fabric->nodes[slot].kind != HOP_NODE_NIC)
            continue;
        slots++;
        if (cluster->nic_in[slot] == HOP_NONE && slot < best)
            best = slot;
    }
    if (best != HOP_NONE)
        occupy(cluster, index, best);
    else
        hop_json_fail(&at, HOP_ERR_INVALID, "no slot is left at '%s' for '%s'\nat most %u NICs at that switch",
                      fabric->nodes[nic->target].name, nic_name(cluster, index), slots);
}

static void take_others(struct hop_cluster *cluster, const struct hop_json *at)
{
    const struct hop_topology *fabric = hop_cluster_fabric(cluster);
    uint32_t slot = 0, slots = 0, wanted = 0;
    for (uint32_t n = 0; n < fabric->node_count; n++)
        slots += is_slot(fabric, n);
    for (uint32_t n = 0; n < cluster->nic_count; n++)
        wanted += cluster->nics[n].wish != HOP_WISH_NOWHERE;
    for (uint32_t i = 0; i < cluster->nic_count; i++) {
        if (cluster->nics[i].wish != HOP_WISH_ANY)
            continue;
        while (slot < fabric->node_count && (!is_slot(fabric, slot) || cluster->nic_in[slot] != HOP_NONE))
            slot++;
        if (slot < fabric->node_count)
            occupy(cluster, i, slot);
        else
            hop_json_fail(at, HOP_ERR_INVALID,
                          "%u NICs are to be connected, and the fabric has %u slots\na larger fabric, fewer nodes, or "
                          "null in `ports` for NICs that are not connected: \"node*.nic1\": null",
                          wanted, slots);
    }
}

/* Every node must be connected. */
static void check_nodes(const struct hop_cluster *cluster, const struct hop_json *ports)
{
    bool connected = true;
    for (uint32_t i = 0; i < cluster->nic_count; i++) {
        bool first = i == 0 || cluster->nics[i].node != cluster->nics[i - 1].node;
        bool last = i + 1 == cluster->nic_count || cluster->nics[i].node != cluster->nics[i + 1].node;
        connected = (connected && !first) || cluster->nics[i].slot != HOP_NONE;
        if (last && !connected)
            hop_json_fail(ports, HOP_ERR_INVALID,
                          "no NIC of '%s' is connected\nat least one NIC of every node in the fabric",
                          cluster->nodes[cluster->nics[i].node].name);
    }
}

void hop_cluster_connect(struct hop_cluster *cluster, const struct hop_json *ports, const struct hop_json *fabric)
{
    if (ports->value)
        read_ports(cluster, ports);
    for (uint32_t i = 0; i < cluster->nic_count && hop_cluster_ok(cluster); i++) {
        if (cluster->nics[i].wish == HOP_WISH_SLOT)
            take_slot(cluster, i, ports);
    }
    for (uint32_t i = 0; i < cluster->nic_count && hop_cluster_ok(cluster); i++) {
        if (cluster->nics[i].wish == HOP_WISH_SWITCH)
            take_at_switch(cluster, i, ports);
    }
    if (hop_cluster_ok(cluster))
        take_others(cluster, fabric);
    if (hop_cluster_ok(cluster))
        check_nodes(cluster, ports);
}
