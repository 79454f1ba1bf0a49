/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle's machine and paths, and the model pcie (Martinasso et al. 2016) step by step. Every question ("who is on
 * this link?", "does it lose later?") is asked again of all transfers and all links each time.
 */
#include "oracle/oracle.h"

#undef NDEBUG /* it checks itself in every build */
#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- the machine ---- */

void oracle_tree_clear(struct oracle_tree *tree, double tau)
{
    memset(tree, 0, sizeof *tree);
    tree->tau = tau;
    tree->crossing_packets = 2.75;
}

int oracle_tree_add(struct oracle_tree *tree, int parent, enum oracle_kind kind, double up, double down)
{
    int node = tree->count++;
    assert(node < ORACLE_NODES && parent < node);
    tree->parent[node] = parent;
    tree->kind[node] = kind;
    tree->up[node] = up;
    tree->down[node] = down;
    return node;
}

void oracle_tree_join(struct oracle_tree *tree, int from, int to, double capacity, double capacity_back)
{
    int socket = tree->sockets++;
    assert(socket < ORACLE_SOCKETS);
    tree->socket_end[socket][0] = from;
    tree->socket_end[socket][1] = to;
    tree->socket_capacity[socket][0] = capacity;
    tree->socket_capacity[socket][1] = capacity_back;
}

static bool is_up(int link)
{
    return link < ORACLE_NODES;
}

static bool is_socket(int link)
{
    return link >= 2 * ORACLE_NODES;
}

static int socket_link(int socket, int direction)
{
    return 2 * ORACLE_NODES + 2 * socket + direction;
}

double oracle_capacity(const struct oracle_tree *tree, int link)
{
    if (is_socket(link))
        return tree->socket_capacity[(link - 2 * ORACLE_NODES) / 2][link % 2];
    return is_up(link) ? tree->up[link] : tree->down[link - ORACLE_NODES];
}

int oracle_tail(const struct oracle_tree *tree, int link)
{
    if (is_socket(link))
        return tree->socket_end[(link - 2 * ORACLE_NODES) / 2][link % 2];
    return is_up(link) ? link : tree->parent[link - ORACLE_NODES];
}

int oracle_head(const struct oracle_tree *tree, int link)
{
    if (is_socket(link))
        return tree->socket_end[(link - 2 * ORACLE_NODES) / 2][1 - link % 2];
    return is_up(link) ? tree->parent[link] : link - ORACLE_NODES;
}

static bool is_memory_link(const struct oracle_tree *tree, int link)
{
    return tree->kind[oracle_tail(tree, link)] == ORACLE_MEMORY || tree->kind[oracle_head(tree, link)] == ORACLE_MEMORY;
}

/* ---- paths ---- */

static int top_of(const struct oracle_tree *tree, int node)
{
    while (tree->parent[node] >= 0)
        node = tree->parent[node];
    return node;
}

static bool is_above(const struct oracle_tree *tree, int upper, int node)
{
    while (node >= 0 && node != upper)
        node = tree->parent[node];
    return node == upper;
}

/* How many socket links lie between two tops: all distances relaxed until none changes. */
static int socket_distance(const struct oracle_tree *tree, int from, int to)
{
    int distance[ORACLE_NODES];
    for (int n = 0; n < tree->count; n++)
        distance[n] = n == from ? 0 : ORACLE_NODES;
    for (int round = 0; round < tree->count; round++) {
        for (int s = 0; s < 2 * tree->sockets; s++) {
            int a = oracle_tail(tree, socket_link(s / 2, s % 2)), b = oracle_head(tree, socket_link(s / 2, s % 2));
            if (distance[a] + 1 < distance[b])
                distance[b] = distance[a] + 1;
        }
    }
    return distance[to];
}

/* Up until the destination is below, or to the top; over socket links, each time one that comes nearer; then down. */
static int path_of(const struct oracle_tree *tree, struct oracle_transfer transfer, int *links)
{
    int length = 0, at = transfer.from;
    assert(transfer.from != transfer.to);
    while (!is_above(tree, at, transfer.to) && tree->parent[at] >= 0) {
        assert(length < ORACLE_PATH);
        links[length++] = at;
        at = tree->parent[at];
    }
    while (!is_above(tree, at, transfer.to)) {
        int top = top_of(tree, transfer.to), next = -1;
        for (int s = 0; s < 2 * tree->sockets && next < 0; s++) {
            int link = socket_link(s / 2, s % 2);
            if (oracle_tail(tree, link) == at &&
                socket_distance(tree, oracle_head(tree, link), top) < socket_distance(tree, at, top))
                next = link;
        }
        assert(next >= 0 && length < ORACLE_PATH);
        links[length++] = next;
        at = oracle_head(tree, next);
    }
    while (at != transfer.to) {
        int child = 0;
        while (tree->parent[child] != at || !is_above(tree, child, transfer.to))
            child++;
        assert(length < ORACLE_PATH);
        links[length++] = ORACLE_NODES + child;
        at = child;
    }
    return length;
}

/* Through a root complex, from one of its ports to another: the link to its memory is no port. */
static bool crosses_before(const struct oracle_tree *tree, const int *links, int i)
{
    return i > 0 && tree->kind[oracle_tail(tree, links[i])] == ORACLE_ROOT && !is_memory_link(tree, links[i]) &&
           !is_memory_link(tree, links[i - 1]);
}

int oracle_entry(const struct oracle_paths *paths, const struct oracle_transfer *transfers, int transfer, int i)
{
    return i > 0 ? paths->link[transfer][i - 1] : -1 - transfers[transfer].from;
}

static bool in_order(const struct oracle_paths *paths, int link)
{
    for (int i = 0; i < paths->links; i++) {
        if (paths->order[i] == link)
            return true;
    }
    return false;
}

/* Whether all that comes before this link on any path already stands in the order. */
static bool may_follow(const struct oracle_paths *paths, int link)
{
    for (int f = 0; f < paths->count; f++) {
        for (int i = 0; i < paths->position[f][link]; i++) {
            if (!in_order(paths, paths->link[f][i]))
                return false;
        }
    }
    return true;
}

static void sort_links(struct oracle_paths *paths)
{
    bool more = true, added = true;
    while (more) {
        assert(added); /* else the paths run in a circle */
        more = added = false;
        for (int f = 0; f < paths->count; f++) {
            for (int i = 0; i < paths->length[f]; i++) {
                if (in_order(paths, paths->link[f][i]))
                    continue;
                more = true;
                if (may_follow(paths, paths->link[f][i])) {
                    paths->order[paths->links++] = paths->link[f][i];
                    added = true;
                }
            }
        }
    }
}

void oracle_paths_of(const struct oracle_tree *tree, const struct oracle_transfer *transfers, int count,
                     struct oracle_paths *paths)
{
    assert(count <= ORACLE_TRANSFERS);
    paths->count = count;
    paths->links = 0;
    for (int f = 0; f < count; f++) {
        paths->length[f] = path_of(tree, transfers[f], paths->link[f]);
        memset(paths->position[f], -1, sizeof paths->position[f]);
        for (int i = 0; i < paths->length[f]; i++)
            paths->position[f][paths->link[f][i]] = (signed char)i;
        for (int i = 0; i < paths->length[f]; i++)
            paths->crossed[f][i] = crosses_before(tree, paths->link[f], i) || (i > 0 && paths->crossed[f][i - 1]);
    }
    sort_links(paths);
}

/* ---- steps B and C ---- */

static double arriving_sum(const struct oracle_pcie *r, int link)
{
    double sum = 0;
    for (int f = 0; f < r->paths.count; f++) {
        int i = r->paths.position[f][link];
        if (i >= 0)
            sum += r->arriving[f][i];
    }
    return sum;
}

static bool is_above_capacity(double sum, double capacity)
{
    return sum > capacity * (1 + ORACLE_TOLERANCE);
}

void oracle_rule_c(const double *sums, const bool *crossed, int groups, double capacity, double tau, double *out)
{
    double share = 1.0 / groups;
    bool any = false;
    for (int g = 0; g < groups; g++)
        any = any || crossed[g];
    for (int g = 0; g < groups; g++) {
        double cap = share;
        if (any && crossed[g])
            cap = share - tau > 0 ? share - tau : (1 - tau) / groups;
        else if (any)
            cap = share + tau;
        out[g] = fmin(capacity * cap, sums[g]);
    }
}

static void scale_all(struct oracle_pcie *r, int link, double scale)
{
    for (int f = 0; f < r->paths.count; f++) {
        int i = r->paths.position[f][link];
        if (i >= 0)
            r->leaving[f][i] = r->arriving[f][i] * scale;
    }
}

/* Super communications: the transfers that enter from one and the same link. */
static int find_groups(const struct oracle_pcie *r, const struct oracle_transfer *transfers, int link, int *group_of,
                       double *sums, bool *crossed)
{
    int groups = 0, entry[ORACLE_TRANSFERS];
    for (int f = 0; f < r->paths.count; f++) {
        int i = r->paths.position[f][link], g = 0;
        if (i < 0)
            continue;
        while (g < groups && entry[g] != oracle_entry(&r->paths, transfers, f, i))
            g++;
        if (g == groups) {
            entry[groups++] = oracle_entry(&r->paths, transfers, f, i);
            sums[g] = 0;
            crossed[g] = false;
        }
        group_of[f] = g;
        sums[g] += r->arriving[f][i];
        crossed[g] = crossed[g] || r->paths.crossed[f][i];
    }
    return groups;
}

static void step_b(const struct oracle_tree *tree, struct oracle_pcie *r, int link)
{
    double sum = arriving_sum(r, link), capacity = oracle_capacity(tree, link);
    scale_all(r, link, is_above_capacity(sum, capacity) ? capacity / sum : 1);
}

/* The link that the first transfer on `link` comes from; down links always have one. */
static int link_before(const struct oracle_paths *paths, int link)
{
    for (int f = 0; f < paths->count; f++) {
        if (paths->position[f][link] > 0)
            return paths->link[f][paths->position[f][link] - 1];
    }
    return link;
}

static void step_c(const struct oracle_tree *tree, const struct oracle_transfer *transfers, struct oracle_pcie *r,
                   int link)
{
    int group_of[ORACLE_TRANSFERS];
    double sums[ORACLE_TRANSFERS], out[ORACLE_TRANSFERS];
    bool crossed[ORACLE_TRANSFERS];
    int groups = find_groups(r, transfers, link, group_of, sums, crossed);
    double sum = arriving_sum(r, link), capacity = oracle_capacity(tree, link);
    bool at_root = tree->kind[oracle_tail(tree, link)] == ORACLE_ROOT && !is_memory_link(tree, link);
    if (at_root || (groups >= 2 && is_above_capacity(sum, capacity))) {
        oracle_rule_c(sums, crossed, groups, capacity, tree->tau, out);
        for (int f = 0; f < r->paths.count; f++) {
            int i = r->paths.position[f][link];
            if (i >= 0)
                r->leaving[f][i] = r->arriving[f][i] * out[group_of[f]] / sums[group_of[f]];
        }
    } else {
        /* One group: a link narrower than the one before scales it; an equal one passes on what step C let through before. */
        bool narrower = groups == 1 && capacity < oracle_capacity(tree, link_before(&r->paths, link));
        scale_all(r, link, narrower && is_above_capacity(sum, capacity) ? capacity / sum : 1);
    }
}

static void arrive(const struct oracle_tree *tree, struct oracle_pcie *r, int link)
{
    for (int f = 0; f < r->paths.count; f++) {
        int i = r->paths.position[f][link];
        if (i == 0)
            r->arriving[f][i] = oracle_capacity(tree, link);
        else if (i > 0)
            r->arriving[f][i] = r->leaving[f][i - 1];
    }
}

/* ---- step D ---- */

static bool loses_in_conflict(const struct oracle_tree *tree, const struct oracle_pcie *r, int f, int i)
{
    int link = r->paths.link[f][i];
    return is_above_capacity(arriving_sum(r, link), oracle_capacity(tree, link)) &&
           r->leaving[f][i] < r->arriving[f][i] * (1 - ORACLE_TOLERANCE);
}

/* The lowest rho' that a transfer on this link gets at a later link where it is in conflict and loses; INFINITY: none.
 */
static double lowest_later(const struct oracle_tree *tree, const struct oracle_pcie *r, int link)
{
    double lowest = INFINITY;
    int here = 0;
    for (int f = 0; f < r->paths.count; f++) {
        int position = r->paths.position[f][link];
        if (position < 0)
            continue;
        here++;
        for (int i = position + 1; i < r->paths.length[f]; i++) {
            if (loses_in_conflict(tree, r, f, i))
                lowest = fmin(lowest, r->leaving[f][i]);
        }
    }
    return here >= 2 ? lowest : INFINITY;
}

static void gain(const struct oracle_pcie *r, const double *limit, int link, double *gained)
{
    double given_up = 0;
    int unblocked = 0;
    for (int f = 0; f < r->paths.count; f++) {
        int i = r->paths.position[f][link];
        if (i >= 0 && r->blocked[f])
            given_up += r->leaving[f][i] - fmin(r->leaving[f][i], limit[f]);
        else if (i >= 0)
            unblocked++;
    }
    for (int f = 0; f < r->paths.count; f++) {
        if (!r->blocked[f] && r->paths.position[f][link] >= 0)
            gained[f] += given_up / unblocked;
    }
}

static double narrowest(const struct oracle_tree *tree, const struct oracle_pcie *r, int f)
{
    double lowest = INFINITY;
    for (int i = 0; i < r->paths.length[f]; i++)
        lowest = fmin(lowest, oracle_capacity(tree, r->paths.link[f][i]));
    return lowest;
}

static void step_d(const struct oracle_tree *tree, struct oracle_pcie *r)
{
    double limit[ORACLE_TRANSFERS], gained[ORACLE_TRANSFERS] = {0};
    for (int f = 0; f < r->paths.count; f++) {
        limit[f] = INFINITY;
        for (int i = 0; i < r->paths.length[f]; i++)
            limit[f] = fmin(limit[f], lowest_later(tree, r, r->paths.link[f][i]));
        r->blocked[f] = limit[f] < INFINITY;
        r->after_d[f] = fmin(r->after_c[f], limit[f]);
    }
    for (int k = 0; k < r->paths.links; k++)
        gain(r, limit, r->paths.order[k], gained);
    for (int f = 0; f < r->paths.count; f++)
        r->rate[f] = r->blocked[f] ? r->after_d[f] : fmin(narrowest(tree, r, f), r->after_c[f] + gained[f]);
}

void oracle_pcie(const struct oracle_tree *tree, const struct oracle_transfer *transfers, int count,
                 struct oracle_pcie *result)
{
    oracle_paths_of(tree, transfers, count, &result->paths);
    for (int k = 0; k < result->paths.links; k++) {
        int link = result->paths.order[k];
        arrive(tree, result, link);
        if (is_up(link))
            step_b(tree, result, link);
        else
            step_c(tree, transfers, result, link);
    }
    for (int f = 0; f < count; f++) {
        int last = result->paths.length[f] - 1;
        result->after_c[f] = result->leaving[f][last];
        while (!is_up(result->paths.link[f][last]))
            last--;
        result->after_b[f] = result->leaving[f][last];
    }
    step_d(tree, result);
}
