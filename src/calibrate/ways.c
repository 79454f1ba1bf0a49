/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What no step of one value leads to, tried as a whole and kept where measurements cost less:
 *
 *     ways out  copies between sockets are slowed down where they leave their root complex, not on the link between the sockets;
 *               what was fitted to the latter moves there
 *     ports     one root complex reaches the others of its socket by a port of its own, which takes its turn beside all that comes
 *               from the socket's fabric: a link joins it with each of them
 */
#include "calibrate/fit.h"

#include <math.h>

#define BAD_COST 4.0      /* of a group that is 10 % off */
#define PORTS_OF_ONE 16.0 /* gain that only one group asks for, as of a chip link */
enum { PORTS_MAX = 16 };

/* ---- ports ---- */

/* The fabric of the socket that a root complex hangs at, HOP_NONE: none. */
static uint32_t socket_of(const struct hop_topology *topology, uint32_t root)
{
    uint32_t count;
    const uint32_t *links = hop_topology_links_of(topology, root, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_link *link = hop_topology_link(topology, links[i]);
        uint32_t end = link->ends[link->ends[0] == root];
        if (hop_topology_node(topology, end)->kind == HOP_NODE_SOCKET)
            return end;
    }
    return HOP_NONE;
}

/* Pairs of a root complex with the others of its socket; none where it has one other at most, whose turn would be the same. */
static uint32_t list_ports(const struct hop_fitting *f, uint32_t root, uint32_t pairs[PORTS_MAX][2])
{
    uint32_t count = 0, socket = socket_of(f->topology, root);
    for (uint32_t r = 0; r < f->root_count && socket != HOP_NONE && count < PORTS_MAX; r++) {
        if (f->roots[r] != root && socket_of(f->topology, f->roots[r]) == socket) {
            pairs[count][0] = root;
            pairs[count++][1] = f->roots[r];
        }
    }
    return count > 1 ? count : 0;
}

/* What all groups gain by the ports of a root complex, if enough of them ask for it, else 0; the topology is as before. */
static double try_ports(struct hop_fitting *f, uint32_t root)
{
    uint32_t pairs[PORTS_MAX][2], count = list_ports(f, root, pairs), asking = 0;
    struct hop_topology *present = f->topology,
                        *other = count ? hop_fit_topology(present, pairs, count, f->failure) : NULL;
    double gain = 0;
    if (!other)
        return 0;
    f->topology = other;
    hop_fit_evaluate(f, NULL, &f->trial);
    f->topology = present;
    hop_topology_destroy(other);
    for (uint32_t g = 0; g < f->groups; g++) {
        gain += f->now.group[g] - f->trial.group[g];
        asking += f->trial.group[g] < f->now.group[g] - HOP_IMPROVED;
    }
    return asking > 1 || gain > PORTS_OF_ONE ? gain : 0;
}

bool hop_fit_add_ports(struct hop_fitting *f)
{
    uint32_t best = 0, pairs[PORTS_MAX][2];
    double most = HOP_GAIN_OF_ONE;
    for (uint32_t r = 0; r < f->root_count && hop_fit_good(f); r++) {
        double gain = try_ports(f, f->roots[r]);
        best = gain > most ? r : best;
        most = hop_max(most, gain);
    }
    if (most == HOP_GAIN_OF_ONE || !hop_fit_good(f))
        return false;
    uint32_t count = list_ports(f, f->roots[best], pairs);
    struct hop_topology *before = f->topology, *made = hop_fit_topology(before, pairs, count, f->failure);
    if (!made)
        return false;
    hop_fit_take_topology(f, made);
    hop_topology_destroy(before);
    return true;
}

/* ---- ways out ---- */

/* What a trial starts from. */
struct before {
    struct hop_topology *topology;
    struct hop_knob knobs[HOP_KNOBS_MAX];
    uint32_t count;
    double *share, cost;
};

static void keep(struct hop_fitting *f, struct before *b)
{
    size_t bytes = f->directed * sizeof *b->share;
    b->topology = hop_fit_topology(f->topology, NULL, 0, f->failure);
    b->count = f->knob_count;
    b->share = hop_arena_alloc(&f->arena, bytes + 1);
    b->cost = hop_fit_sum(f, NULL, &f->now);
    memcpy(b->knobs, f->knobs, sizeof b->knobs);
    if (b->share)
        memcpy(b->share, f->share, bytes);
}

/* Without the links that were added, all else as it is. */
static void drop_links(struct hop_fitting *f, const struct before *b)
{
    static const char *const chosen[] = {"head_of_line", "host_pull"};
    struct hop_topology *present = f->topology, *plain = hop_fit_topology(f->given, NULL, 0, f->failure);
    if (!plain)
        return;
    f->topology = plain;
    for (size_t i = 0; i < HOP_COUNT(chosen); i++)
        hop_knob_set_parameter(f, chosen[i], hop_topology_parameter(present, chosen[i])->value);
    hop_topology_destroy(present);
    hop_fit_take_topology(f, plain);
    hop_fit_put_knobs(f, b->knobs, b->count);
}

/* Goes back, unless what was tried has gained enough; whether it has. */
static bool decide(struct hop_fitting *f, struct before *b)
{
    bool better = hop_fit_good(f) && hop_fit_sum(f, NULL, &f->now) < b->cost - HOP_GAIN_LEAST;
    if (!better && hop_fit_good(f)) {
        struct hop_topology *tried = f->topology;
        f->share = b->share;
        f->directed = 2 * hop_topology_link_count(b->topology);
        hop_fit_take_topology(f, b->topology);
        b->topology = tried;
        hop_fit_put_knobs(f, b->knobs, b->count);
    }
    hop_topology_destroy(b->topology);
    return better;
}

bool hop_fit_move_ways_out(struct hop_fitting *f)
{
    struct before before = {0};
    double values[HOP_VALUES_MAX], cost;
    bool bad = false;
    for (uint32_t g = 0; g < f->groups && hop_fit_good(f); g++)
        bad = bad || f->now.group[g] > BAD_COST;
    if (!bad || !hop_fit_good(f))
        return false;
    keep(f, &before);
    drop_links(f, &before);
    struct hop_knob *way = hop_knobs_move_out(f);
    if (!way)
        return decide(f, &before);
    uint32_t count = hop_fit_values(f, way, values);
    way->value = hop_fit_search(f, way, values, count, &cost);
    hop_fit_evaluate(f, NULL, &f->now);
    hop_fit_turn_all(f, true);
    if (hop_fit_join_chips(f) | hop_fit_add_ports(f))
        hop_fit_turn_all(f, true);
    return decide(f, &before);
}
