/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Seats for items that may not sit everywhere: a flow from items over places to nodes,
 *
 *     item --(its row)--> place --(room)--> node --(room)--> out
 *
 * made larger by one item at a time along the shortest augmenting path (Ford and Fulkerson 1956), on which items that
 * have a place already may get another one. What a search without success has reached leads nowhere, then and later
 * (Hall 1935: the items reached are more than the room that all of their places have), so no later search goes there.
 */
#include "map/map_keep.h"

/* Vertices: items, then places, then nodes. */
struct flow {
    const struct hop_map_seating *s;
    size_t words;
    uint32_t *place;                  /* of an item, HOP_NONE: none yet */
    uint32_t *first, *next;           /* of a place: the items that sit there, as a list */
    uint32_t *place_load, *node_load; /* how many they are */
    uint32_t *parent, *queue;         /* of the search; parent HOP_NONE: not seen */
    uint32_t dead, end;               /* of the queue: what failed before, all */
};

static bool is_open(const struct flow *f, uint32_t place)
{
    uint32_t node = f->s->places->node[place];
    return f->place_load[place] < f->s->room[place] && f->node_load[node] < f->s->node_room[node];
}

static void leave(struct flow *f, uint32_t item)
{
    uint32_t place = f->place[item], *link = &f->first[place];
    while (*link != item)
        link = &f->next[*link];
    *link = f->next[item];
    f->place_load[place]--;
    f->node_load[f->s->places->node[place]]--;
}

static void sit(struct flow *f, uint32_t item, uint32_t place)
{
    if (f->place[item] != HOP_NONE)
        leave(f, item);
    f->place[item] = place;
    f->next[item] = f->first[place];
    f->first[place] = item;
    f->place_load[place]++;
    f->node_load[f->s->places->node[place]]++;
}

/* Where nobody has to move: the place that is wanted, else the first that is open. */
static bool sit_at_once(struct flow *f, uint32_t item, uint32_t wanted)
{
    const uint64_t *row = f->s->rows + item * f->words;
    if (wanted != HOP_NONE && hop_map_bit(row, wanted) && is_open(f, wanted)) {
        sit(f, item, wanted);
        return true;
    }
    for (size_t w = 0; w < f->words; w++) {
        for (uint64_t bits = row[w]; bits; bits &= bits - 1) {
            uint32_t place = (uint32_t)w * 64 + (uint32_t)__builtin_ctzll(bits);
            if (!is_open(f, place))
                continue;
            sit(f, item, place);
            return true;
        }
    }
    return false;
}

/* ---- searching ---- */

static void see(struct flow *f, uint32_t vertex, uint32_t from)
{
    if (f->parent[vertex] != HOP_NONE)
        return;
    f->parent[vertex] = from;
    f->queue[f->end++] = vertex;
}

/* All that can be reached from a vertex: what is not full ahead, and, backwards, what may be given up. */
static void spread(struct flow *f, uint32_t vertex)
{
    const struct hop_map_places *p = f->s->places;
    uint32_t first_place = f->s->items, first_node = first_place + p->count;
    if (vertex < first_place) {
        for (size_t w = 0; w < f->words; w++) {
            for (uint64_t bits = f->s->rows[vertex * f->words + w]; bits; bits &= bits - 1) {
                uint32_t place = (uint32_t)w * 64 + (uint32_t)__builtin_ctzll(bits);
                if (f->s->room[place])
                    see(f, first_place + place, vertex);
            }
        }
    } else if (vertex < first_node) {
        uint32_t place = vertex - first_place;
        if (f->place_load[place] < f->s->room[place])
            see(f, first_node + p->node[place], vertex);
        for (uint32_t i = f->first[place]; i != HOP_NONE; i = f->next[i])
            see(f, i, vertex);
    } else {
        uint32_t node = vertex - first_node;
        for (uint32_t i = p->first[node]; i < p->first[node + 1]; i++) {
            if (f->place_load[i] > 0)
                see(f, first_place + i, vertex);
        }
    }
}

/* Back along the path: each item on it takes the place that comes behind it. */
static void augment(struct flow *f, uint32_t node)
{
    for (uint32_t vertex = node, from; f->parent[vertex] != vertex; vertex = from) {
        from = f->parent[vertex];
        if (from < f->s->items)
            sit(f, from, vertex - f->s->items);
    }
}

static bool search(struct flow *f, uint32_t item)
{
    uint32_t first_node = f->s->items + f->s->places->count;
    f->end = f->dead;
    see(f, item, item);
    for (uint32_t next = f->dead; next < f->end; next++) {
        uint32_t vertex = f->queue[next];
        if (vertex >= first_node && f->node_load[vertex - first_node] < f->s->node_room[vertex - first_node]) {
            augment(f, vertex);
            for (uint32_t q = f->dead; q < f->end; q++)
                f->parent[f->queue[q]] = HOP_NONE;
            return true;
        }
        spread(f, vertex);
    }
    f->dead = f->end;
    return false;
}

/* ---- all of it ---- */

static bool make(struct flow *f)
{
    size_t items = f->s->items, places = f->s->places->count, nodes = f->s->places->node_count;
    f->words = (places + 63) / 64;
    f->place = malloc((2 * items + 1) * sizeof *f->place);
    f->first = malloc((places + 1) * sizeof *f->first);
    f->place_load = calloc(places + nodes + 1, sizeof *f->place_load);
    f->parent = malloc(2 * (items + places + nodes) * sizeof *f->parent);
    if (!f->place || !f->first || !f->place_load || !f->parent)
        return false;
    f->next = f->place + items;
    f->node_load = f->place_load + places;
    f->queue = f->parent + (items + places + nodes);
    memset(f->place, 0xff, items * sizeof *f->place);
    memset(f->first, 0xff, places * sizeof *f->first);
    memset(f->parent, 0xff, (items + places + nodes) * sizeof *f->parent);
    return true;
}

/* The items that failed and all that they reached. */
static uint32_t list_blocked(const struct flow *f, uint32_t *blocked)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->s->items && f->dead > 0; i++) {
        if (f->parent[i] != HOP_NONE)
            blocked[count++] = i;
    }
    return count;
}

enum hop_status hop_map_seat(const struct hop_map_seating *seating, uint32_t *place, uint32_t *blocked, uint32_t *count,
                             uint32_t *short_of, struct hop_diag *diag)
{
    struct flow f = {.s = seating};
    enum hop_status status = make(&f) ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK) {
        *short_of = 0;
        for (uint32_t i = 0; i < seating->items; i++)
            *short_of += !sit_at_once(&f, i, place[i]) && !search(&f, i);
        *count = list_blocked(&f, blocked);
        if (*count == 0)
            memcpy(place, f.place, seating->items * sizeof *place);
    }
    free(f.parent);
    free(f.place_load);
    free(f.first);
    free(f.place);
    return status;
}
