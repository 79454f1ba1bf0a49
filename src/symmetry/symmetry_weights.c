/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a symmetry must keep, boiled down for the search (symmetry_search.c).
 *
 * Every pair of devices gets a weight: a hash of its routes both ways as sequences of link colours, of their ceilings,
 * of the edges between the two, and of the links that both share on their ways to others. The colour of a link is a
 * hash of what it is. So a symmetry keeps weights; but a permutation that keeps
 * weights must still be tried on the routes themselves, by mapping them link by link.
 *
 * Mapping all n^2 routes would be most of the work, and few are needed. Routes that together cover all links
 * fix the map of links and show that it is an automorphism of the graph of used links. Take another
 * route, from i to j: if no other walk from i to j has the same colours, its image is the only such walk
 * from p(i) to p(j), and the route between these, whose weight says that it has these colours, is that walk. On a tree
 * this holds for every route.
 */
#include "symmetry/symmetry_sketch.h"

enum {
    WALK_STEPS_MAX = 100000000, /* links looked at for other walks; beyond, routes are mapped instead */
    SHARE_STEPS = 64            /* pairs counted that share a link, times n^2 */
};

/* ---- colours and weights ---- */

static uint64_t bits_of(double value)
{
    uint64_t bits;
    value = value == 0 ? 0 : value; /* -0 is 0 */
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t chain(uint64_t hash, uint64_t value)
{
    return hop_draw_from(hash ^ hop_draw_from(value));
}

static uint64_t colour_of_node(const struct hop_symmetry_sketch *s, uint32_t number)
{
    uint32_t index = s->node_index[number];
    const struct hop_node *node = hop_topology_node(s->input->topology, index);
    uint64_t hash = chain(chain(node->kind, (uint64_t)node->engines), (uint64_t)node->accelerator_engines);
    uint32_t roots[2];
    double tau;
    if (node->kind == HOP_NODE_ROOT && hop_topology_crossing(s->input->topology, 0, roots, &tau))
        hash = chain(hash, index); /* see nodes_alike in symmetry.c */
    return node->kind == HOP_NODE_ROOT ? chain(hash, bits_of(hop_topology_tau(s->input->topology, index))) : hash;
}

static uint64_t colour_of_link(const struct hop_symmetry_sketch *s, uint32_t directed)
{
    const struct hop_link *link = hop_topology_link(s->input->topology, s->link_index[directed / 2]);
    unsigned direction = directed & 1;
    bool upright = link->kind == HOP_LINK_PCIE || link->kind == HOP_LINK_MEMORY;
    uint64_t hash = chain(link->kind, upright ? 1 + direction : 0);
    hash = chain(hash, bits_of(link->capacity_Bps[direction]));
    hash = chain(hash, bits_of(link->capacity_Bps[1 - direction]));
    hash = chain(hash, bits_of(link->duplex_Bps[direction]));
    hash = chain(hash, bits_of(link->duplex_Bps[1 - direction]));
    hash = chain(hash, bits_of(link->latency_s));
    hash = chain(hash, colour_of_node(s, s->ends[directed]));
    return chain(hash, colour_of_node(s, s->ends[directed ^ 1]));
}

static uint64_t way_of(const struct hop_symmetry_sketch *s, uint32_t pair)
{
    uint64_t hash = s->first[pair + 1] - s->first[pair];
    for (uint32_t k = s->first[pair]; k < s->first[pair + 1]; k++)
        hash = hop_draw_from(hash ^ s->colours[s->links[k]]);
    return hash;
}

/* All that is said of a pair in one direction. */
static uint64_t forward_of(const struct hop_symmetry_sketch *s, uint32_t pair)
{
    return chain(s->ways[pair] + bits_of(s->ceilings_Bps[pair]), s->exchange[pair]);
}

static void colour(struct hop_symmetry_sketch *s)
{
    for (uint32_t d = 0; d < 2 * s->link_count; d++)
        s->colours[d] = colour_of_link(s, d);
    for (uint32_t pair = 0; pair < s->n * s->n; pair++)
        s->ways[pair] = way_of(s, pair);
}

/* The devices whose routes leave (side 0) or arrive (side 1) over a directed link, as bits of the set number
 * 2 * directed + side. */
struct users {
    uint64_t *sets;
    uint32_t words; /* per set */
    uint32_t most;  /* of the members of a set that is looked at: larger ones would take too long */
};

static uint32_t size_of(const struct users *users, uint32_t set)
{
    uint32_t size = 0;
    for (uint32_t w = 0; w < users->words; w++)
        size += (uint32_t)__builtin_popcountll(users->sets[(size_t)set * users->words + w]);
    return size;
}

static void collect_users(const struct hop_symmetry_sketch *s, struct users *users)
{
    for (uint32_t i = 0; i < s->n; i++) {
        for (uint32_t j = 0; j < s->n; j++) {
            uint32_t pair = i * s->n + j;
            for (uint32_t k = s->first[pair]; k < s->first[pair + 1]; k++) {
                size_t set = (size_t)2 * s->links[k] * users->words;
                users->sets[set + i / 64] |= (uint64_t)1 << i % 64;
                users->sets[set + users->words + j / 64] |= (uint64_t)1 << j % 64;
            }
        }
    }
}

/* The largest size for which all sets up to it have few enough pairs together: the same for the machine however
 * numbered. A set of more than half of the devices is as good as its complement. */
static void limit_users(const struct hop_symmetry_sketch *s, struct users *users)
{
    uint64_t count[HOP_SYMMETRY_DEVICES + 1] = {0}, steps = 0, most = (uint64_t)SHARE_STEPS * s->n * s->n;
    for (uint32_t set = 0; set < 4 * s->link_count; set++) {
        uint32_t size = size_of(users, set);
        count[size < s->n - size ? size : s->n - size]++;
    }
    for (users->most = 0; users->most < s->n; users->most++) {
        uint64_t size = users->most + 1;
        steps += count[size] * size * size;
        if (steps > most)
            return;
    }
}

/* Adds to the weights of all pairs that a link has in common. */
static void share(struct hop_symmetry_sketch *s, const struct users *users)
{
    uint16_t members[HOP_SYMMETRY_DEVICES];
    for (uint32_t set = 0; set < 4 * s->link_count; set++) {
        uint32_t size = size_of(users, set), count = 0;
        bool member = size <= s->n - size; /* or else the complement */
        if ((member ? size : s->n - size) > users->most)
            continue;
        const uint64_t *bits = users->sets + (size_t)set * users->words;
        for (uint32_t i = 0; i < s->n; i++) {
            if ((bits[i / 64] >> i % 64 & 1) == member)
                members[count++] = (uint16_t)i;
        }
        uint64_t hash = chain(s->colours[set / 2], 2 * (set & 1) + member);
        for (uint32_t a = 0; a < count; a++) {
            for (uint32_t b = 0; b < count; b++)
                s->weights[members[a] * s->n + members[b]] += hash;
        }
    }
}

static void weigh(struct hop_symmetry_sketch *s, struct users *users)
{
    collect_users(s, users);
    limit_users(s, users);
    share(s, users);
    for (uint32_t i = 0; i < s->n; i++) {
        uint64_t *own = &s->weights[i * s->n + i];
        *own = chain(*own, chain(colour_of_node(s, i), s->exchange[i * s->n + i]));
        for (uint32_t j = 0; j < s->n; j++) {
            uint64_t *weight = &s->weights[i * s->n + j];
            if (i != j)
                *weight = chain(chain(*weight, forward_of(s, i * s->n + j)), forward_of(s, j * s->n + i));
        }
    }
}

/* ---- needed routes ---- */

/* Walks of a given sequence of colours from one node: how many end where, 2 meaning several. */
struct walks {
    uint32_t *first_out, *out; /* directed links that leave node v: out[first_out[v] .. first_out[v + 1]) */
    uint32_t *front[2], count[2];
    uint8_t *ways[2]; /* by node; zero off the front */
    uint64_t steps;
};

static void list_out(const struct hop_symmetry_sketch *s, struct walks *walks)
{
    for (uint32_t d = 0; d < 2 * s->link_count; d++)
        walks->first_out[s->ends[d] + 1]++;
    for (uint32_t v = 0; v < s->node_count; v++)
        walks->first_out[v + 1] += walks->first_out[v];
    for (uint32_t d = 2 * s->link_count; d-- > 0;)
        walks->out[--walks->first_out[s->ends[d] + 1]] = d;
    /* first_out[v + 1] is now where those of v begin */
    memmove(walks->first_out, walks->first_out + 1, s->node_count * sizeof *walks->first_out);
    walks->first_out[s->node_count] = 2 * s->link_count;
}

static void clear_front(struct walks *walks, unsigned side)
{
    while (walks->count[side])
        walks->ways[side][walks->front[side][--walks->count[side]]] = 0;
}

/* Walks from `from` in the colours of a pair's route: ways[returned side]. The caller clears that side. */
static unsigned count_walks(const struct hop_symmetry_sketch *s, struct walks *walks, uint32_t from, uint32_t pair)
{
    unsigned side = 0;
    walks->front[0][walks->count[0]++] = from;
    walks->ways[0][from] = 1;
    for (uint32_t k = s->first[pair]; k < s->first[pair + 1]; k++) {
        uint64_t colour = s->colours[s->links[k]];
        unsigned next = 1 - side;
        for (uint32_t f = 0; f < walks->count[side]; f++) {
            uint32_t node = walks->front[side][f];
            for (uint32_t o = walks->first_out[node]; o < walks->first_out[node + 1]; o++) {
                uint32_t d = walks->out[o], to = s->ends[d ^ 1];
                if (s->colours[d] != colour)
                    continue;
                if (walks->ways[next][to] == 0)
                    walks->front[next][walks->count[next]++] = to;
                unsigned ways = walks->ways[next][to] + walks->ways[side][node];
                walks->ways[next][to] = ways > 2 ? 2 : (uint8_t)ways;
            }
            walks->steps += 1 + walks->first_out[node + 1] - walks->first_out[node];
        }
        clear_front(walks, side);
        side = next;
    }
    return side;
}

/* Marks the routes from one device that are not the only walk of their colours. */
static void mark_ambiguous(const struct hop_symmetry_sketch *s, struct walks *walks, uint32_t from, bool *done,
                           bool *needed)
{
    memset(done, 0, s->n * sizeof *done);
    for (uint32_t j = 0; j < s->n; j++) {
        uint32_t pair = from * s->n + j;
        if (done[j] || s->first[pair] == s->first[pair + 1])
            continue;
        if (walks->steps > WALK_STEPS_MAX) {
            needed[pair] = true;
            continue;
        }
        unsigned side = count_walks(s, walks, from, pair);
        for (uint32_t k = j; k < s->n; k++) {
            if (s->ways[from * s->n + k] != s->ways[pair])
                continue;
            done[k] = true;
            if (walks->ways[side][k] != 1)
                needed[from * s->n + k] = true;
        }
        clear_front(walks, side);
    }
}

static bool find_needed(struct hop_symmetry_sketch *s)
{
    struct walks walks = {0};
    uint32_t pairs = s->n * s->n, directed = 2 * s->link_count;
    bool *covered = hop_arena_alloc(&s->arena, s->link_count), *done = hop_arena_alloc(&s->arena, s->n);
    bool *needed = hop_arena_alloc(&s->arena, pairs);
    walks.first_out = hop_arena_alloc(&s->arena, (s->node_count + 2) * sizeof(uint32_t));
    walks.out = hop_arena_alloc(&s->arena, directed * sizeof(uint32_t));
    for (unsigned side = 0; side < 2; side++) {
        walks.front[side] = hop_arena_alloc(&s->arena, s->node_count * sizeof(uint32_t));
        walks.ways[side] = hop_arena_alloc(&s->arena, s->node_count);
    }
    s->needed = hop_arena_alloc(&s->arena, pairs * sizeof *s->needed);
    if (s->arena.failed)
        return false;
    list_out(s, &walks);
    for (uint32_t pair = 0; pair < pairs; pair++) {
        for (uint32_t k = s->first[pair]; k < s->first[pair + 1]; k++) {
            uint32_t link = s->links[k] / 2;
            needed[pair] = needed[pair] || !covered[link];
            covered[link] = true;
        }
    }
    for (uint32_t i = 0; i < s->n; i++)
        mark_ambiguous(s, &walks, i, done, needed);
    for (uint32_t pair = 0; pair < pairs; pair++) {
        if (needed[pair])
            s->needed[s->needed_count++] = pair;
    }
    return true;
}

bool hop_symmetry_weigh(struct hop_symmetry_sketch *s)
{
    const struct hop_symmetry_input *input = s->input;
    size_t pairs = (size_t)s->n * s->n, directed = 2 * s->link_count;
    struct users users = {.words = (s->n + 63) / 64};
    s->exchange = hop_arena_alloc(&s->arena, pairs * sizeof *s->exchange);
    s->ways = hop_arena_alloc(&s->arena, pairs * sizeof *s->ways);
    s->weights = hop_arena_alloc(&s->arena, pairs * sizeof *s->weights);
    s->colours = hop_arena_alloc(&s->arena, directed * sizeof *s->colours);
    users.sets = hop_arena_alloc(&s->arena, 2 * directed * users.words * sizeof *users.sets);
    if (s->arena.failed)
        return false;
    for (uint32_t e = 0; e < input->edge_count; e++) /* a sum: the order of edges is of no account */
        s->exchange[input->edges[e].from * s->n + input->edges[e].to] += hop_draw_from(input->edges[e].label);
    colour(s);
    weigh(s, &users);
    return find_needed(s);
}
