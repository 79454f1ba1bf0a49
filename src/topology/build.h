/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A topology under construction, as importers, generators and built-in machines use it: the first failure sticks, what
 * is added after it is not, and hop_build_end asks once.
 */
#ifndef HOP_TOPOLOGY_BUILD_H
#define HOP_TOPOLOGY_BUILD_H

#include "topology/topology.h"

struct hop_build {
    struct hop_topology *topology;
    struct hop_failure failure;
    struct hop_arena arena; /* for what the construction needs until its end */
    const char *gpu, *cpu;  /* what the devices are called, before what the source says; NULL: nothing was said */
};

void hop_build_begin(struct hop_build *build, const char *name, struct hop_diag *diag);
void hop_build_rename(struct hop_build *build, const char *name);
static inline bool hop_build_ok(const struct hop_build *build)
{
    return build->failure.status == HOP_OK;
}
/* Hands the topology over, or destroys it; frees the arena. */
enum hop_status hop_build_end(struct hop_build *build, struct hop_topology **topology);
#define hop_build_fail(build, ...) hop_failure_set(&(build)->failure, __VA_ARGS__)

/* Each returns the index of what was added, HOP_NONE after a failure. A child hangs below link->ends[1]. */
uint32_t hop_build_node(struct hop_build *build, const struct hop_node *node);
uint32_t hop_build_child(struct hop_build *build, const struct hop_node *node, const struct hop_link *link);
uint32_t hop_build_link(struct hop_build *build, const struct hop_link *link);
/* All NVSwitches of a machine, as one node. */
uint32_t hop_build_nvswitch(struct hop_build *build, unsigned number, const char *label);
void hop_build_route(struct hop_build *build, uint32_t at, uint32_t to, uint32_t link);
void hop_build_parameter(struct hop_build *build, const char *name, double value, const char *origin);
/* The same of what is only assumed, with the range that it lies in. */
void hop_build_assume(struct hop_build *build, const char *name, double value, double low, double high,
                      const char *origin);
/* What no source tells of a machine or network that nobody measured, latencies and the loss of crossings, each with its
 * range and where that comes from. */
void hop_build_assume_rest(struct hop_build *build);
/* What the source left out of the machine, once. */
void hop_build_lack(struct hop_build *build, const char *what);
void hop_build_note(struct hop_build *build, const char *format, ...) HOP_PRINTF(2, 3);
/* "12 THINGS", unless there are none. */
void hop_build_count(struct hop_build *build, unsigned count, const char *things);

/* From the arena, zeroed. NULL: out of memory, which is a failure. */
void *hop_build_alloc(struct hop_build *build, size_t size);
/* p[0 .. need) are there, from the arena. false: after a failure, or out of memory, which is one. */
#define HOP_BUILD_GROW(build, array, need)                                                                             \
    hop_build_has((build), hop_build_ok(build) && HOP_GROW(&(build)->arena, (array), (need)))
bool hop_build_has(struct hop_build *build, bool memory);
/* Never NULL. */
const char *hop_build_text(struct hop_build *build, const char *format, ...) HOP_PRINTF(2, 3);

#endif
