/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders of ranks along parallel rings: each ring carries a part of the bytes from every rank to its next one. Two ranks of
 * a ring change places, or a part of it is turned round, again and again; what loads links more evenly stays. Loads are powers of shares, summed: no
 * model is asked.
 */
#include "base/random.h"
#include "model/network.h"
#include "plan/plan.h"

enum { RANKS_MOST = 64, EVEN = 3 /* loads are squared so often */, WAY = 16 /* links, about, of a step */ };
#define WORK 1e7 /* links whose loads are summed */

struct rings {
    uint32_t ranks, links, rings;
    uint32_t *first, *link; /* of each pair of ranks; its links */
    double *share;          /* of a second that a byte takes there */
    uint32_t *orders;
    double *load;
    uint32_t used;
    struct hop_arena arena;
};

static enum hop_status list_ways(struct rings *r, struct hop_network *network, const uint32_t *devices,
                                 struct hop_diag *diag)
{
    struct hop_router *router = hop_network_router(network);
    r->first = hop_arena_alloc(&r->arena, ((size_t)r->ranks * r->ranks + 1) * sizeof *r->first);
    r->load = hop_arena_alloc(&r->arena, (r->links + (size_t)1) * sizeof *r->load);
    for (uint32_t pair = 0, route; pair < r->ranks * r->ranks && !r->arena.failed; pair++) {
        uint32_t from = devices[pair / r->ranks], to = devices[pair % r->ranks];
        r->first[pair] = r->used;
        if (from != to)
            HOP_CHECK(hop_router_find(router, from, to, &route, diag));
        uint32_t count = from != to ? hop_router_route(router, route)->link_count : 0;
        for (uint32_t i = 0; i < count && HOP_GROW(&r->arena, r->link, r->used + (size_t)1) &&
                             HOP_GROW(&r->arena, r->share, r->used + (size_t)1);
             i++, r->used++) {
            double wire;
            HOP_CHECK(hop_network_wire(network, route, i, &wire, diag));
            uint32_t link = hop_router_route(router, route)->links[i];
            r->link[r->used] = link;
            r->share[r->used] =
                1e9 * wire / hop_topology_link(hop_network_topology(network), link / 2)->capacity_Bps[link & 1];
        }
        r->first[pair + 1] = r->used;
    }
    return r->arena.failed ? hop_fail_memory(diag) : HOP_OK;
}

static void put_ring(struct rings *r, uint32_t ring, double sign)
{
    const uint32_t *order = r->orders + (size_t)ring * r->ranks;
    for (uint32_t i = 0; i < r->ranks; i++) {
        uint32_t pair = order[i] * r->ranks + order[i + 1 < r->ranks ? i + 1 : 0];
        for (uint32_t w = r->first[pair]; w < r->first[pair + 1]; w++)
            r->load[r->link[w]] += sign * r->share[w];
    }
}

static double unevenness(const struct rings *r)
{
    double sum = 0;
    for (uint32_t l = 0; l < r->links; l++) {
        double power = r->load[l];
        for (unsigned i = 0; i < EVEN; i++)
            power *= power;
        sum += power;
    }
    return sum;
}

/* Two ranks of a ring change places, or all from one to the other are turned round; done again, it is as before. */
static void change(struct rings *r, uint32_t ring, uint32_t a, uint32_t b, bool turn)
{
    uint32_t *order = r->orders + (size_t)ring * r->ranks;
    put_ring(r, ring, -1);
    for (; a < b; a = turn ? a + 1 : b, b--) {
        uint32_t kept = order[a];
        order[a] = order[b];
        order[b] = kept;
    }
    put_ring(r, ring, 1);
}

static void search(struct rings *r, uint64_t seed)
{
    for (uint32_t i = 0; i < r->rings * r->ranks; i++)
        r->orders[i] = i % r->ranks;
    for (uint32_t i = 0; i < r->rings; i++)
        put_ring(r, i, 1);
    double best = unevenness(r);
    const uint32_t most = (uint32_t)(WORK / (r->links + (double)r->ranks * WAY));
    for (uint32_t i = 0; i < most; i++) {
        uint32_t ring = (uint32_t)(hop_draw(&seed) % r->rings), b = (uint32_t)(hop_draw(&seed) % r->ranks),
                 a = (uint32_t)(hop_draw(&seed) % (b + 1));
        bool turn = hop_draw(&seed) & 1;
        change(r, ring, a, b, turn);
        double now = unevenness(r);
        if (now <= best)
            best = now;
        else
            change(r, ring, a, b, turn);
    }
}

enum hop_status hop_plan_rings(struct hop_network *network, const uint32_t *devices, uint32_t ranks, uint32_t rings,
                               uint64_t seed, uint32_t *orders, bool *found, struct hop_diag *diag)
{
    struct rings r = {.ranks = ranks,
                      .rings = rings,
                      .orders = orders,
                      .links = 2 * hop_topology_link_count(hop_network_topology(network))};
    *found = ranks <= RANKS_MOST;
    if (!*found)
        return HOP_OK;
    enum hop_status status = list_ways(&r, network, devices, diag);
    if (status == HOP_OK)
        search(&r, seed);
    hop_arena_finish(&r.arena);
    return status;
}
