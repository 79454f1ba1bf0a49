/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Incremental progressive filling.
 *
 * In progressive filling all rates rise together; a link that fills up stops its flows at its *level*. A flow that comes or
 * goes changes nothing below the lowest level among its links, and above it only what it can reach: the level of a
 * link depends on flows that lower links hold, never on higher ones. So the sweep below visits links in ascending order of level,
 * but only those with something new on them:
 *
 *     link:  load of flows that other links hold (fixed) | flows that it holds itself, at its level | open flows
 *
 *     level it would have now:  (capacity - fixed) / (held + open)
 *
 * A flow is open while it is not known which link holds it. The queue's key of a link is the level that it would have now or, if that
 * is higher than before, its old level, for there its flows stop being held. When a link is first in the queue, everything below is
 * final, and:
 *
 *     its level rises  ->  the flows that it holds rise with it where their other links have room, else become open
 *     a flow held elsewhere has more than its level  ->  becomes open
 *     an open flow's ceiling is lower  ->  is held by its ceiling
 *     else  ->  its level is final: it holds all its open flows; those that it held move to the new level
 *
 * and all links of the flows concerned get new keys. A flow that rises runs ahead of the sweep: what it has may be more than a link
 * visited later allows, which then finds it above its level. Otherwise keys rise from step to step, and each step makes a link or a flow
 * final. So the sweep ends; should rounding break that, after SWEEP_STEPS visits per link all is filled from scratch, where no flow
 * is held at first.
 */
#include "model/maxmin.h"

#include <math.h>

#include "base/heap.h"

enum { SWEEP_STEPS = 16, LINE = 64, INLINE = 4, MORE = 255 };

enum flow_state { IDLE, HELD, OPEN };

/* A flow that a link holds has the link's level for a rate. */
struct flow {
    double was_Bps;     /* when the sweep began */
    double ceiling_Bps; /* also its rate if no link holds it */
    uint32_t count, wanted;
    uint32_t bottleneck;
    uint32_t first; /* its links: ways[first .. first + link_count) */
    uint32_t link_count;
    uint32_t sweep; /* in which it was last noted */
    enum flow_state state;
    bool pending; /* wanted differs from count, perhaps */
};

/* A flow on a link, in the link's list, with all that the link's level needs to move: flows lie anywhere in memory. */
struct entry {
    uint32_t flow;
    uint32_t way; /* which of ways[] and places[] this is */
    uint32_t count;
    uint8_t others; /* links; MORE: see ways[] */
    bool capped;    /* there is a ceiling */
    uint32_t other[INLINE];
};

/* A cache line: the sweep goes through links in no order. */
struct link {
    _Alignas(LINE) double capacity_Bps;
    double fixed_Bps, level_Bps, key;
    double held, open; /* how many flows */
    double most_Bps;   /* no flow that others hold has more */
    uint32_t queued;   /* position in the queue plus one, 0: not there */
    uint32_t sweep;    /* in which its level last changed */
};

/* The flows on a link. */
struct list {
    struct entry *entries; /* [0 .. held): the flows that it holds */
    uint32_t held, count;
    double was_Bps; /* level when the sweep began that changed it */
};

_Static_assert(sizeof(struct link) == LINE, "a cache line");

struct hop_maxmin {
    struct hop_arena *arena;
    double slack;
    struct link *links;
    struct list *lists; /* per link */
    uint32_t link_count;
    struct flow *flows;
    uint32_t flow_count;
    uint32_t *ways;   /* links of all flows */
    uint32_t *places; /* where the flow stands in the list of that link */
    uint32_t way_count;
    uint32_t *queue; /* links, a binary heap by key */
    uint32_t queue_length;
    uint32_t *pending, pending_count;
    uint32_t *noted, noted_count;       /* flows that were opened; room for all */
    uint32_t *levelled, levelled_count; /* links whose level changed */
    struct hop_maxmin_change *changes;  /* room for all */
    uint32_t sweep;
};

struct hop_maxmin *hop_maxmin_create(uint32_t link_count, const double *capacity_Bps, double slack,
                                     struct hop_arena *arena)
{
    struct hop_maxmin *m = hop_arena_alloc(arena, sizeof *m);
    size_t count = (size_t)link_count + 1;
    unsigned char *room = hop_arena_alloc(arena, count * sizeof *m->links + LINE);
    if (!m || !room)
        return NULL;
    m->arena = arena;
    m->link_count = link_count;
    m->slack = slack;
    m->links = (struct link *)(room + LINE - (uintptr_t)room % LINE);
    m->queue = hop_arena_alloc(arena, count * sizeof *m->queue);
    m->levelled = hop_arena_alloc(arena, count * sizeof *m->levelled);
    m->lists = hop_arena_alloc(arena, count * sizeof *m->lists);
    if (arena->failed)
        return NULL;
    for (uint32_t l = 0; l < link_count; l++)
        m->links[l] = (struct link){.capacity_Bps = capacity_Bps[l]};
    return m;
}

static inline double rate_of(const struct hop_maxmin *m, const struct flow *flow)
{
    if (flow->state != HELD)
        return 0;
    return flow->bottleneck == HOP_NONE ? flow->ceiling_Bps : m->links[flow->bottleneck].level_Bps;
}

double hop_maxmin_rate(const struct hop_maxmin *m, uint32_t flow)
{
    return rate_of(m, &m->flows[flow]);
}

uint32_t hop_maxmin_bottleneck(const struct hop_maxmin *m, uint32_t flow)
{
    return m->flows[flow].bottleneck;
}

struct hop_share hop_maxmin_share(const struct hop_maxmin *m, uint32_t flow)
{
    const struct flow *f = &m->flows[flow];
    struct hop_share share = {rate_of(m, f), HOP_RULE_CEILING, HOP_NONE, HOP_NONE};
    if (f->bottleneck == HOP_NONE)
        return share;
    const struct list *list = &m->lists[f->bottleneck];
    share.rule = HOP_RULE_FULL;
    if (f->count == 1 && list->count == 1)
        return share;
    share.rule = HOP_RULE_FAIR_SHARE;
    share.link = f->bottleneck;
    for (uint32_t i = 0; i < list->count && share.blocker == HOP_NONE; i++)
        share.blocker = list->entries[i].flow == flow ? HOP_NONE : list->entries[i].flow;
    return share;
}

/* ---- the queue ---- */

static void place(struct hop_maxmin *m, uint32_t at, uint32_t link)
{
    m->queue[at] = link;
    m->links[link].queued = at + 1;
}

#define KEY_BEFORE(m, a, b) ((m)->links[a].key < (m)->links[b].key)
#define PLACE(m, heap, at, link) place(m, at, link)
HOP_HEAP(queue, 2, struct hop_maxmin *, uint32_t, KEY_BEFORE, PLACE);

static void drop(struct hop_maxmin *m, uint32_t index)
{
    uint32_t at = m->links[index].queued - 1, last = m->queue[--m->queue_length];
    m->links[index].queued = 0;
    if (last == index)
        return;
    queue_up(m, m->queue, at, last);
    queue_down(m, m->queue, m->queue_length, m->links[last].queued - 1, last);
}

/* The level that the link would have now. */
static inline double level_of(const struct link *link)
{
    double flows = link->held + link->open;
    return flows > 0 ? hop_max(0, link->capacity_Bps - link->fixed_Bps) / flows : INFINITY;
}

static inline double key_of(const struct link *link)
{
    double level = level_of(link);
    return link->held > 0 && link->level_Bps < level ? link->level_Bps : level;
}

/* Something is new on the link. A key that rose is put right when the link comes first. */
static inline void touch(struct hop_maxmin *m, uint32_t index)
{
    struct link *link = &m->links[index];
    double key = key_of(link);
    if (link->queued) {
        if (key < link->key) {
            link->key = key;
            queue_up(m, m->queue, link->queued - 1, index);
        }
    } else if (key < INFINITY) {
        link->key = key;
        queue_up(m, m->queue, m->queue_length++, index);
    }
}

/* ---- flows ---- */

/* Exchanges a flow's entry (of ways[way]) with the one at `to`. */
static inline void swap_entry(struct hop_maxmin *m, struct list *list, uint32_t way, uint32_t to)
{
    uint32_t from = m->places[way];
    struct entry other = list->entries[to];
    list->entries[to] = list->entries[from];
    list->entries[from] = other;
    m->places[way] = to;
    m->places[other.way] = from;
}

static inline void note(struct hop_maxmin *m, uint32_t index)
{
    struct flow *flow = &m->flows[index];
    if (flow->sweep == m->sweep)
        return;
    flow->sweep = m->sweep;
    flow->was_Bps = rate_of(m, flow);
    if (flow->state == HELD && flow->bottleneck != HOP_NONE && m->links[flow->bottleneck].sweep == m->sweep)
        flow->was_Bps = m->lists[flow->bottleneck].was_Bps; /* it has moved with the link's level */
    m->noted[m->noted_count++] = index; /* room for all flows is there */
}

static inline void set_level(struct hop_maxmin *m, uint32_t index, double level_Bps)
{
    struct link *link = &m->links[index];
    if (link->sweep != m->sweep) {
        link->sweep = m->sweep;
        m->lists[index].was_Bps = link->level_Bps;
        m->levelled[m->levelled_count++] = index;
    }
    link->level_Bps = level_Bps;
}

/* Takes a flow's load off its links. */
static void lift(struct hop_maxmin *m, const struct flow *flow)
{
    double rate_Bps = rate_of(m, flow);
    for (uint32_t e = flow->first; e < flow->first + flow->link_count; e++) {
        struct link *link = &m->links[m->ways[e]];
        if (flow->state == OPEN) {
            link->open -= flow->count;
        } else if (m->ways[e] == flow->bottleneck) {
            link->held -= flow->count;
            struct list *list = &m->lists[m->ways[e]];
            swap_entry(m, list, e, --list->held);
        } else
            link->fixed_Bps -= flow->count * rate_Bps;
    }
}

static void open_flow(struct hop_maxmin *m, uint32_t index)
{
    struct flow *flow = &m->flows[index];
    note(m, index);
    lift(m, flow);
    flow->state = OPEN;
    for (uint32_t e = flow->first; e < flow->first + flow->link_count; e++) {
        m->links[m->ways[e]].open += flow->count;
        touch(m, m->ways[e]);
    }
}

/* An open flow is held from now on. Its links are in the queue and their keys do not fall. */
static void hold(struct hop_maxmin *m, uint32_t index, double rate_Bps, uint32_t bottleneck)
{
    struct flow *flow = &m->flows[index];
    flow->state = HELD;
    flow->bottleneck = bottleneck;
    for (uint32_t e = flow->first; e < flow->first + flow->link_count; e++) {
        struct link *link = &m->links[m->ways[e]];
        link->open -= flow->count;
        if (m->ways[e] == bottleneck) {
            link->held += flow->count;
            struct list *list = &m->lists[bottleneck];
            swap_entry(m, list, e, list->held++);
        } else {
            link->fixed_Bps += flow->count * rate_Bps;
            link->most_Bps = hop_max(link->most_Bps, rate_Bps);
        }
    }
}

/* The links of an entry's flow; the entry's own may be among them. */
static inline const uint32_t *links_of(const struct hop_maxmin *m, const struct entry *entry, uint32_t *count)
{
    if (entry->others != MORE) {
        *count = entry->others;
        return entry->other;
    }
    *count = m->flows[entry->flow].link_count;
    return &m->ways[m->flows[entry->flow].first];
}

/* A flow that its link holds moves with the link's level. */
static inline void move(struct hop_maxmin *m, uint32_t index, const struct entry *entry, double from_Bps, double to_Bps)
{
    uint32_t count;
    const uint32_t *links = links_of(m, entry, &count);
    double more = entry->count * (to_Bps - from_Bps);
    for (uint32_t i = 0; i < count; i++) {
        if (links[i] == index)
            continue;
        struct link *link = &m->links[links[i]];
        link->fixed_Bps += more;
        link->most_Bps = hop_max(link->most_Bps, to_Bps);
        touch(m, links[i]);
    }
}

/* ---- the sweep ---- */

/* Whether all other links of a flow that its link holds leave it this higher rate. */
static inline bool may_rise(const struct hop_maxmin *m, uint32_t index, const struct entry *entry, double from_Bps,
                            double to_Bps)
{
    uint32_t count;
    const uint32_t *links = links_of(m, entry, &count);
    double more = entry->count * (to_Bps - from_Bps);
    if (entry->capped && m->flows[entry->flow].ceiling_Bps < to_Bps)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct link *link = &m->links[links[i]];
        if (links[i] != index &&
            link->capacity_Bps - link->fixed_Bps - more < (link->held + link->open) * to_Bps)
            return false;
    }
    return true;
}

/* The link's level rises: flows that it holds rise with it where they can, the others become open. Some may so get more than other
 * links of theirs will turn out to allow; these open them again when they find that somebody else's flow has more than their level. */
static void raise(struct hop_maxmin *m, uint32_t index, double level)
{
    const struct list *list = &m->lists[index];
    double old = m->links[index].level_Bps;
    for (uint32_t i = list->held; i-- > 0;) { /* a flow that is opened changes places with the last */
        const struct entry *entry = &list->entries[i];
        if (may_rise(m, index, entry, old, level))
            move(m, index, entry, old, level);
        else
            open_flow(m, entry->flow);
    }
    set_level(m, index, level);
}

/* Flows lie anywhere in memory: asks for those of entries first .. end - 1 at once, before they are gone through. */
static inline void expect(const struct hop_maxmin *m, const struct list *list, uint32_t first, uint32_t end)
{
#if defined(__GNUC__)
    for (uint32_t i = end; i-- > first;)
        __builtin_prefetch(&m->flows[list->entries[i].flow]);
#else
    (void)m, (void)list, (void)first, (void)end;
#endif
}

/* Whether the link can take this level; if not, what stood in the way was put right. Adds the loads up afresh, so that rounding
 * errors do not pile up. */
static bool fits(struct hop_maxmin *m, uint32_t index, double level)
{
    struct link *link = &m->links[index];
    const struct list *list = &m->lists[index];
    bool fits = true;
    double fixed = 0, most = 0;
    if (link->open == 0 && link->most_Bps <= level * (1 + m->slack))
        return true;
    expect(m, list, list->held, list->count);
    for (uint32_t i = list->count; i-- > list->held;) {
        uint32_t f = list->entries[i].flow;
        struct flow *flow = &m->flows[f];
        if (flow->state == OPEN && flow->ceiling_Bps < level) {
            hold(m, f, flow->ceiling_Bps, HOP_NONE);
            fits = false;
        } else if (flow->state == HELD && rate_of(m, flow) > level * (1 + m->slack)) {
            open_flow(m, f);
            fits = false;
        }
        if (flow->state == HELD) {
            fixed += flow->count * rate_of(m, flow);
            most = hop_max(most, rate_of(m, flow));
        }
    }
    link->fixed_Bps = fixed;
    link->most_Bps = most;
    return fits;
}

static void visit(struct hop_maxmin *m, uint32_t index)
{
    struct link *link = &m->links[index];
    double level = level_of(link), old = link->level_Bps;
    bool stays = false;
    if (link->held > 0) {
        if (level > old * (1 + m->slack)) {
            raise(m, index, level);
            return;
        }
        stays = level >= old * (1 - m->slack);
        if (stays && link->open == 0 && link->most_Bps <= old * (1 + m->slack)) {
            drop(m, index);
            return;
        }
        level = stays ? old : level;
    }
    if (!fits(m, index, level))
        return;
    const struct list *list = &m->lists[index];
    uint32_t before = list->held;
    for (uint32_t i = before; link->open > 0 && i < list->count; i++) { /* a flow that is held changes places with the first */
        if (m->flows[list->entries[i].flow].state == OPEN)
            hold(m, list->entries[i].flow, level, index);
    }
    if (!stays) {
        for (uint32_t i = 0; i < before; i++)
            move(m, index, &list->entries[i], old, level);
        set_level(m, index, level);
    }
    drop(m, index);
}

/* Everything afresh: all flows open. */
static void start_over(struct hop_maxmin *m)
{
    while (m->queue_length)
        drop(m, m->queue[m->queue_length - 1]);
    for (uint32_t l = 0; l < m->link_count; l++)
        m->links[l].fixed_Bps = m->links[l].held = m->links[l].open = m->lists[l].held = 0;
    for (uint32_t f = 0; f < m->flow_count; f++) {
        struct flow *flow = &m->flows[f];
        if (flow->count == 0)
            continue;
        note(m, f);
        flow->state = OPEN;
        for (uint32_t e = flow->first; e < flow->first + flow->link_count; e++)
            m->links[m->ways[e]].open += flow->count;
    }
    for (uint32_t l = 0; l < m->link_count; l++)
        touch(m, l);
}

static void sweep(struct hop_maxmin *m)
{
    uint64_t steps = 0, limit = (uint64_t)SWEEP_STEPS * (m->link_count + m->noted_count + 64);
    while (m->queue_length) {
        uint32_t first = m->queue[0];
        struct link *link = &m->links[first];
        double key = key_of(link);
        if (++steps == limit)
            start_over(m);
        else if (key == INFINITY)
            drop(m, first);
        else if (key > link->key) {
            link->key = key;
            queue_down(m, m->queue, m->queue_length, 0, first);
        } else
            visit(m, first);
    }
}

/* ---- changes ---- */

static bool define(struct hop_maxmin *m, uint32_t index, const uint32_t *links, uint32_t count, double ceiling_Bps)
{
    if (!HOP_GROW(m->arena, m->flows, index + 1) || !HOP_GROW(m->arena, m->noted, index + 1) ||
        !HOP_GROW(m->arena, m->changes, index + 1) || !HOP_GROW(m->arena, m->ways, m->way_count + count) ||
        !HOP_GROW(m->arena, m->places, m->way_count + count))
        return false;
    for (; m->flow_count <= index; m->flow_count++)
        m->flows[m->flow_count] = (struct flow){.bottleneck = HOP_NONE};
    struct flow *flow = &m->flows[index];
    if (flow->link_count)
        return true;
    flow->first = m->way_count;
    flow->link_count = count;
    flow->ceiling_Bps = ceiling_Bps;
    for (uint32_t i = 0; i < count; i++)
        m->ways[m->way_count++] = links[i];
    return true;
}

static bool join_links(struct hop_maxmin *m, uint32_t index)
{
    const struct flow *flow = &m->flows[index];
    for (uint32_t e = flow->first; e < flow->first + flow->link_count; e++) {
        struct list *list = &m->lists[m->ways[e]];
        if (!HOP_GROW(m->arena, list->entries, list->count + 1))
            return false;
        m->places[e] = list->count;
        struct entry *entry = &list->entries[list->count++];
        *entry = (struct entry){.flow = index, .way = e, .count = flow->count, .capped = flow->ceiling_Bps < INFINITY};
        if (flow->link_count > INLINE + 1) {
            entry->others = MORE;
            continue;
        }
        for (uint32_t other = flow->first; other < flow->first + flow->link_count; other++) {
            if (other != e)
                entry->other[entry->others++] = m->ways[other];
        }
    }
    return true;
}

static void leave_links(struct hop_maxmin *m, const struct flow *flow)
{
    for (uint32_t e = flow->first; e < flow->first + flow->link_count; e++) {
        struct list *list = &m->lists[m->ways[e]];
        struct entry last = list->entries[--list->count];
        list->entries[m->places[e]] = last;
        m->places[last.way] = m->places[e];
    }
}

bool hop_maxmin_set(struct hop_maxmin *m, uint32_t index, uint32_t count, const uint32_t *links, uint32_t link_count,
                    double ceiling_Bps)
{
    if ((index >= m->flow_count || m->flows[index].link_count == 0) &&
        !define(m, index, links, link_count, ceiling_Bps))
        return false;
    struct flow *flow = &m->flows[index];
    flow->wanted = count;
    if (flow->pending)
        return true;
    if (!HOP_GROW(m->arena, m->pending, m->pending_count + 1))
        return false;
    flow->pending = true;
    m->pending[m->pending_count++] = index;
    return true;
}

/* false: out of memory; the flow is as it was. */
static bool change(struct hop_maxmin *m, uint32_t index)
{
    struct flow *flow = &m->flows[index];
    flow->pending = false;
    if (flow->wanted == flow->count)
        return true;
    if (flow->count == 0 && !join_links(m, index))
        return false;
    note(m, index);
    if (flow->count)
        lift(m, flow);
    if (flow->wanted == 0)
        leave_links(m, flow);
    flow->count = flow->wanted;
    flow->state = flow->count ? OPEN : IDLE;
    if (flow->count == 0)
        flow->bottleneck = HOP_NONE;
    for (uint32_t e = flow->first; e < flow->first + flow->link_count; e++) {
        if (flow->count)
            m->lists[m->ways[e]].entries[m->places[e]].count = flow->count;
        m->links[m->ways[e]].open += flow->count;
        touch(m, m->ways[e]);
    }
    return true;
}

/* Flows whose link's level changed, then those that were opened and are held by no such link. */
static uint32_t list_changes(struct hop_maxmin *m)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->levelled_count; i++) {
        const struct link *link = &m->links[m->levelled[i]];
        const struct list *list = &m->lists[m->levelled[i]];
        if (link->level_Bps == list->was_Bps)
            continue;
        for (uint32_t e = 0; e < list->held; e++)
            m->changes[count++] = (struct hop_maxmin_change){link->level_Bps, list->entries[e].flow};
    }
    for (uint32_t i = 0; i < m->noted_count; i++) {
        const struct flow *flow = &m->flows[m->noted[i]];
        uint32_t held_by = flow->bottleneck;
        if (held_by != HOP_NONE && m->links[held_by].sweep == m->sweep &&
            m->links[held_by].level_Bps != m->lists[held_by].was_Bps)
            continue;
        double rate_Bps = rate_of(m, flow);
        if (rate_Bps != flow->was_Bps)
            m->changes[count++] = (struct hop_maxmin_change){rate_Bps, m->noted[i]};
    }
    return count;
}

bool hop_maxmin_settle(struct hop_maxmin *m, const struct hop_maxmin_change **changes, uint32_t *count)
{
    m->sweep++;
    m->noted_count = m->levelled_count = 0;
    for (uint32_t i = 0; i < m->pending_count; i++) {
        if (!change(m, m->pending[i]))
            return false;
    }
    m->pending_count = 0;
    sweep(m);
    *count = list_changes(m);
    *changes = m->changes;
    return true;
}

void hop_maxmin_clear(struct hop_maxmin *m)
{
    for (uint32_t w = 0; w < m->way_count; w++) {
        struct link *link = &m->links[m->ways[w]];
        *link = (struct link){.capacity_Bps = link->capacity_Bps, .sweep = link->sweep};
        m->lists[m->ways[w]].held = m->lists[m->ways[w]].count = 0;
    }
    m->flow_count = m->way_count = m->pending_count = m->queue_length = 0;
}
