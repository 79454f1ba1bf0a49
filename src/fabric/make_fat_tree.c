/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fat trees of two levels (leaves and spines) or three (pods of leaves and spines, and cores above).
 *
 * Three levels of switches of one radix, k = radix / 2: 2k pods of k leaves and k spines, k hosts a leaf. Spine a of
 * every pod is joined to the cores a k .. a k + k - 1.
 *
 * Destination d goes up over uplink d mod k at a leaf and (d / k) mod k at a spine; with S spines of two levels, over
 * d mod S. All sources use the same way down to d, and any k destinations in a row leave over k links.
 */
#include "fabric/make_fabric.h"

#include <stdio.h>

struct fat_tree {
    uint32_t pods, leaves, spines;                            /* leaves and spines of one pod */
    uint32_t hosts;                                           /* of one leaf */
    uint32_t cores;                                           /* of one spine; 0: two levels */
    uint32_t first_host, first_leaf, first_spine, first_core; /* nodes */
    uint32_t host_links, leaf_links, spine_links;             /* first links: host by host, leaf by leaf, ... */
};

/* The two ways to say a shape exclude each other. */
static void read_shape(struct hop_fabric_maker *maker, struct fat_tree *t)
{
    static const char *const explicit[] = {"leaves", "spines", "hosts"};
    bool radix = hop_maker_given(maker, "radix");
    for (size_t i = 0; i < HOP_COUNT(explicit); i++) {
        if (hop_maker_given(maker, explicit[i]) == radix)
            hop_build_fail(maker->build, HOP_ERR_INVALID, "%s is %s\n%s", explicit[i],
                           radix ? "given beside radix" : "missing", maker->generator->example);
    }
    if (!radix && hop_maker_given(maker, "levels"))
        hop_build_fail(maker->build, HOP_ERR_INVALID, "levels is given without radix\n%s", maker->generator->example);
    uint32_t k = (uint32_t)hop_maker_value(maker, "radix", 0) / 2;
    if (radix && hop_maker_value(maker, "radix", 0) != 2 * k)
        hop_build_fail(maker->build, HOP_ERR_INVALID, "radix=%.0f\nan even number of ports, half of them upwards",
                       hop_maker_value(maker, "radix", 0));
    bool three = hop_maker_value(maker, "levels", 2) == 3;
    t->pods = three ? 2 * k : 1;
    t->leaves = radix ? (three ? k : 2 * k) : (uint32_t)hop_maker_value(maker, "leaves", 0);
    t->spines = radix ? k : (uint32_t)hop_maker_value(maker, "spines", 0);
    t->hosts = radix ? k : (uint32_t)hop_maker_value(maker, "hosts", 0);
    t->cores = three ? k : 0;
}

/* Links between switches: as those of hosts, several of them bonded, or lowered to what oversubscription leaves. */
static struct hop_link uplink(struct hop_fabric_maker *maker, const struct fat_tree *t, char *origin, size_t size)
{
    struct hop_link link = maker->link;
    if (!hop_maker_given(maker, "oversubscription")) {
        link.count = (uint32_t)hop_maker_value(maker, "up", 1);
        link.capacity_Bps[0] = link.capacity_Bps[1] = link.capacity_Bps[0] * link.count;
        return link;
    }
    if (hop_maker_given(maker, "up"))
        hop_build_fail(maker->build, HOP_ERR_INVALID,
                       "up is given beside oversubscription\none of them: both say what the uplinks carry");
    double factor = hop_maker_value(maker, "oversubscription", 1);
    double rate = hop_maker_value(maker, "link", hop_parameter_value(maker->build->topology, "network"));
    link.capacity_Bps[0] = link.capacity_Bps[1] = t->hosts * rate / (factor * t->spines);
    (void)snprintf(origin, size, "%u hosts of %.6g GB/s on %u uplinks, oversubscribed %g times", t->hosts, rate / 1e9,
                   t->spines, factor);
    link.origin = origin;
    return link;
}

static void build_links(struct hop_fabric_maker *maker, struct fat_tree *t, const struct hop_link *up)
{
    uint32_t leaves = t->pods * t->leaves, spines = t->pods * t->spines;
    t->host_links = maker->build->topology->link_count;
    for (uint32_t d = 0; d < leaves * t->hosts; d++)
        hop_maker_join(maker, t->first_host + d, t->first_leaf + d / t->hosts, &maker->link);
    t->leaf_links = maker->build->topology->link_count;
    for (uint32_t leaf = 0; leaf < leaves; leaf++) {
        for (uint32_t a = 0; a < t->spines; a++)
            hop_maker_join(maker, t->first_leaf + leaf, t->first_spine + leaf / t->leaves * t->spines + a, up);
    }
    t->spine_links = maker->build->topology->link_count;
    for (uint32_t spine = 0; spine < spines; spine++) {
        for (uint32_t c = 0; c < t->cores; c++)
            hop_maker_join(maker, t->first_spine + spine, t->first_core + spine % t->spines * t->cores + c, up);
    }
}

/* The links that a switch, by its number on its level, sends the d-th host's messages over. */
static uint32_t leaf_link(const struct fat_tree *t, uint32_t leaf, uint32_t d)
{
    return d / t->hosts == leaf ? t->host_links + d : t->leaf_links + leaf * t->spines + d % t->spines;
}

static uint32_t spine_link(const struct fat_tree *t, uint32_t spine, uint32_t d)
{
    uint32_t leaf = d / t->hosts;
    return leaf / t->leaves == spine / t->spines ? t->leaf_links + leaf * t->spines + spine % t->spines
                                                 : t->spine_links + spine * t->cores + leaf % t->cores;
}

static uint32_t core_link(const struct fat_tree *t, uint32_t core, uint32_t d)
{
    uint32_t pod = d / t->hosts / t->leaves;
    return t->spine_links + (pod * t->spines + core / t->cores) * t->cores + core % t->cores;
}

static uint32_t next_link(const void *tree, uint32_t node, uint32_t d)
{
    const struct fat_tree *t = tree;
    return node < t->first_spine  ? leaf_link(t, node - t->first_leaf, d)
           : node < t->first_core ? spine_link(t, node - t->first_spine, d)
                                  : core_link(t, node - t->first_core, d);
}

static void build_fat_tree(struct hop_fabric_maker *maker)
{
    struct fat_tree t = {0};
    char origin[128];
    read_shape(maker, &t);
    struct hop_link up = uplink(maker, &t, origin, sizeof origin);
    uint64_t leaves = (uint64_t)t.pods * t.leaves, spines = (uint64_t)t.pods * t.spines, hosts = leaves * t.hosts;
    uint64_t cores = (uint64_t)t.spines * t.cores;
    hop_maker_check(maker, hosts, leaves + spines + cores, hosts + leaves * t.spines + spines * t.cores);
    if (!hop_build_ok(maker->build))
        return;
    t.first_host = hop_maker_nodes(maker, HOP_NODE_NIC, "node", (uint32_t)hosts);
    t.first_leaf = hop_maker_nodes(maker, HOP_NODE_FABRIC, "leaf", (uint32_t)leaves);
    t.first_spine = hop_maker_nodes(maker, HOP_NODE_FABRIC, "spine", (uint32_t)spines);
    t.first_core = hop_maker_nodes(maker, HOP_NODE_FABRIC, "core", (uint32_t)cores);
    build_links(maker, &t, &up);
    hop_maker_rule(maker, next_link, &t, sizeof t);
}

const struct hop_generator hop_generator_fat_tree = {
    .name = "fat-tree",
    .example = "fat-tree:leaves=L,spines=S,hosts=H (of each leaf), or fat-tree:radix=R,levels=2 or 3",
    .kind = HOP_LINK_INFINIBAND,
    .options = {{.name = "leaves", .low = 1, .high = 65536},
                {.name = "spines", .low = 1, .high = 65536},
                {.name = "hosts", .low = 1, .high = 65536},
                {.name = "up", .low = 1, .high = 1024},
                {.name = "radix", .low = 2, .high = 1024},
                {.name = "levels", .low = 2, .high = 3},
                {.name = "oversubscription", .type = HOP_MAKER_FACTOR, .low = 0.01, .high = 1000}},
    .build = build_fat_tree,
};
