/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generated fabrics: a source such as "fat-tree:leaves=4,spines=2,hosts=8" is a generator's name and its options. A
 * generator declares its options in a table, which make_fabric.c reads them into, then builds nodes, links and rows.
 */
#ifndef HOP_FABRIC_MAKE_FABRIC_H
#define HOP_FABRIC_MAKE_FABRIC_H

#include "topology/build.h"

enum hop_maker_type {
    HOP_MAKER_WHOLE,
    HOP_MAKER_FACTOR,
    HOP_MAKER_RATE,
    HOP_MAKER_SECONDS,
    HOP_MAKER_KIND,
    HOP_MAKER_SIZE,
    HOP_MAKER_CHOICE
};

struct hop_maker_option {
    const char *name;
    enum hop_maker_type type;
    double low, high; /* of a whole number or a factor */
    bool given;
    double value;        /* SI units; a link kind; the number of a choice */
    const char *choices; /* words with a space between */
};
enum { HOP_MAKER_OPTIONS = 12 }; /* of one generator, the common ones included */

struct hop_fabric_maker {
    const struct hop_generator *generator;
    struct hop_build *build;
    char shape[48]; /* what stands before the options: "4x4x4" */
    struct hop_maker_option options[HOP_MAKER_OPTIONS];
    uint32_t option_count;
    const struct hop_card *card; /* of NICs; NULL: they have none */
    struct hop_link link; /* what every link is, unless the generator says otherwise */
};

struct hop_generator {
    const char *name;
    const char *example;
    bool has_shape;
    enum hop_link_kind kind; /* of the links, by default */
    struct hop_maker_option options[HOP_MAKER_OPTIONS];
    void (*build)(struct hop_fabric_maker *maker);
};
extern const struct hop_generator hop_generator_fat_tree;  /* make_fat_tree.c */
extern const struct hop_generator hop_generator_dragonfly; /* make_dragonfly.c */
extern const struct hop_generator hop_generator_torus;     /* make_torus.c */
extern const struct hop_generator hop_generator_apenet;    /* make_apenet.c */

/* Whether a source names a generator; and what it makes. */
bool hop_topology_is_generated(const char *source);
void hop_topology_generate(const char *source, struct hop_build *build);
/* The generator whose name is nearest to what stands before the colon, NULL when there is none. */
const char *hop_topology_nearest_generator(const char *source);

/* ---- for generators ---- */

bool hop_maker_given(const struct hop_fabric_maker *maker, const char *option);
/* Of an option that was not given: otherwise. */
double hop_maker_value(const struct hop_fabric_maker *maker, const char *option, double otherwise);
/* Before building: refuses what would pass the limits on nodes and links. */
void hop_maker_check(struct hop_fabric_maker *maker, uint64_t hosts, uint64_t switches, uint64_t links);
/* Memory of the topology that is made, zeroed; NULL, and the build has failed. */
void *hop_maker_alloc(struct hop_fabric_maker *maker, size_t size);
/* How the one fabric that is made forwards; the context is copied, what it points to must be the topology's. */
void hop_maker_rule(struct hop_fabric_maker *maker, hop_fabric_rule *rule, const void *context, size_t size);
/* Nodes; the index of the first. */
uint32_t hop_maker_nodes(struct hop_fabric_maker *maker, enum hop_node_kind kind, const char *name,
                         uint32_t count); /* name0, ... */
uint32_t hop_maker_switch(struct hop_fabric_maker *maker, const char *name);
/* A copy of `link` between two nodes; its index. */
uint32_t hop_maker_join(struct hop_fabric_maker *maker, uint32_t from, uint32_t to, const struct hop_link *link);

#endif
