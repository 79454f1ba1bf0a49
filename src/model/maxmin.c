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

enum { SWEEP_STEPS = 16, INLINE = 3 };

enum flow_state { IDLE, HELD, OPEN };

/* A flow that a link holds has the link's level for a rate. */
struct flow {
    double ceiling_Bps; /* also its rate if no link holds it */
    uint32_t count, wanted;
    uint32_t bottleneck;
    uint32_t first; /* its links: ways[first .. first + link_count) */
    uint32_t link_count;
    uint32_t sweep; /* in which it was last noted */
    enum flow_state state;
    bool pending; /* wanted differs from count, perhaps */
};

/* A flow on a link, in the link's list. */
struct entry {
    uint32_t flow;
    uint32_t way; /* which of ways[] and places[] this is */
};

/* A flow that the link holds, with all that the link's level needs to move: flows lie anywhere in memory. */
struct held {
    uint32_t other[INLINE]; /* links; what is left over is the idle link; other[0] is HOP_NONE: too many, see ways[] */
    uint32_t count;
};

/* What a sweep reads and writes most. */
struct link {
    double room_Bps; /* its capacity less what flows have that others hold */
    double rising;   /* how many flows it holds or are open */
    double key;      /* in the queue; INFINITY: not there */
    double most_Bps; /* no flow that others hold has more */
};

/* The rest of it, and the flows on it. */
struct list {
    struct entry *entries; /* [0 .. held): the flows that it holds */
    struct held *flows;    /* [0 .. held): the same */
    uint32_t *holders;     /* of all flows: a link, the idle link: open, HOP_NONE: its ceiling */
    uint32_t held, count;  /* entries */
    uint32_t queued;       /* position in the queue plus one */
    uint32_t sweep;        /* in which its level last changed */
    double capacity_Bps;
    double open;  /* how many flows */
    bool capped;  /* there was a flow with a ceiling */
    bool several; /* there was a flow that stands for several */
};

struct waiting {
    double key;
    uint32_t link;
};

struct hop_maxmin {
    struct hop_arena *arena;
    double slack;
    struct link *links;
    double *levels_Bps; /* per link */
    struct list *lists;
    uint32_t link_count; /* and behind them the idle link, of which nothing changes */
    struct flow *flows;
    uint32_t flow_count;
    uint32_t *ways;   /* links of all flows */
    uint32_t *places; /* where the flow stands in the list of that link */
    uint32_t way_count;
    struct waiting *queue; /* links, a heap by key */
    uint32_t queue_length;
    uint32_t *pending, pending_count;
    uint32_t *noted, noted_count;       /* flows that were opened; room for all */
    uint32_t *levelled, levelled_count; /* links whose level changed */
    uint32_t sweep;
};

struct hop_maxmin *hop_maxmin_create(uint32_t link_count, const double *capacity_Bps, double slack,
                                     struct hop_arena *arena)
{
    struct hop_maxmin *m = hop_arena_alloc(arena, sizeof *m);
    size_t count = (size_t)link_count + 1;
    if (!m)
        return NULL;
    m->arena = arena;
    m->link_count = link_count;
    m->slack = slack;
    m->links = hop_arena_alloc(arena, count * sizeof *m->links);
    m->queue = hop_arena_alloc(arena, count * sizeof *m->queue);
    m->levelled = hop_arena_alloc(arena, count * sizeof *m->levelled);
    m->lists = hop_arena_alloc(arena, count * sizeof *m->lists);
    m->levels_Bps = hop_arena_alloc(arena, count * sizeof *m->levels_Bps);
    if (arena->failed)
        return NULL;
    for (uint32_t l = 0; l < link_count; l++) {
        m->lists[l].capacity_Bps = capacity_Bps[l];
        m->links[l] = (struct link){.room_Bps = capacity_Bps[l], .key = INFINITY};
    }
    m->links[link_count] = (struct link){.room_Bps = INFINITY, .key = 0};
    return m;
}

static inline double rate_of(const struct hop_maxmin *m, const struct flow *flow)
{
    if (flow->state != HELD)
        return 0;
    return flow->bottleneck == HOP_NONE ? flow->ceiling_Bps : m->levels_Bps[flow->bottleneck];
}

double hop_maxmin_rate(const struct hop_maxmin *m, uint32_t flow)
{
    return rate_of(m, &m->flows[flow]);
}

double hop_maxmin_level(const struct hop_maxmin *m, uint32_t link)
{
    return m->levels_Bps[link];
}

uint32_t hop_maxmin_held(const struct hop_maxmin *m, uint32_t link, uint32_t i)
{
    return i < m->lists[link].held ? m->lists[link].entries[i].flow : HOP_NONE;
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

static void place(struct hop_maxmin *m, uint32_t at, struct waiting waiting)
{
    m->queue[at] = waiting;
    m->lists[waiting.link].queued = at + 1;
}

#define KEY_BEFORE(m, a, b) ((a).key < (b).key)
#define PLACE(m, heap, at, waiting) place(m, at, waiting)
HOP_HEAP(queue, 4, struct hop_maxmin *, struct waiting, KEY_BEFORE, PLACE);

static void drop(struct hop_maxmin *m, uint32_t index)
{
    uint32_t at = m->lists[index].queued - 1;
    struct waiting last = m->queue[--m->queue_length];
    m->links[index].key = INFINITY;
    if (last.link == index)
        return;
    queue_up(m, m->queue, at, last);
    queue_down(m, m->queue, m->queue_length, m->lists[last.link].queued - 1, last);
}

/* The level that the link would have now. */
static inline double level_of(const struct link *link)
{
    return link->rising > 0 ? hop_max(0, link->room_Bps) / link->rising : INFINITY;
}

static inline double key_of(const struct hop_maxmin *m, uint32_t index)
{
    double level = level_of(&m->links[index]);
    return m->lists[index].held > 0 && m->levels_Bps[index] < level ? m->levels_Bps[index] : level;
}

/* Something is new on the link. A key that rose is put right when the link comes first. */
static void touch(struct hop_maxmin *m, uint32_t index)
{
    struct link *link = &m->links[index];
    double key = key_of(m, index);
    if (key >= link->key)
        return;
    uint32_t at = link->key == INFINITY ? m->queue_length++ : m->lists[index].queued - 1;
    link->key = key;
    queue_up(m, m->queue, at, (struct waiting){key, index});
}

/* ---- flows ---- */

/* Exchanges a flow's entry (of ways[way]) with the one at `to`. */
static inline void swap_entry(struct hop_maxmin *m, struct list *list, uint32_t way, uint32_t to)
{
    uint32_t from = m->places[way], holder = list->holders[to];
    struct entry other = list->entries[to];
    list->entries[to] = list->entries[from];
    list->entries[from] = other;
    list->holders[to] = list->holders[from];
    list->holders[from] = holder;
    m->places[way] = to;
    m->places[other.way] = from;
}

/* The flow of ways[way] is one of those that this link holds from now on; or it is the last time. */
static inline void take(struct hop_maxmin *m, struct list *list, const struct flow *flow, uint32_t way)
{
    uint32_t at = list->held++, other = 0;
    struct held *held = &list->flows[at];
    swap_entry(m, list, way, at);
    held->count = flow->count;
    for (uint32_t e = flow->first; e < flow->first + flow->link_count; e++) {
        if (e != way && other < INLINE)
            held->other[other++] = m->ways[e];
    }
    for (; other < INLINE; other++)
        held->other[other] = m->link_count;
    if (flow->link_count > INLINE + 1)
        held->other[0] = HOP_NONE;
}

static inline void release(struct hop_maxmin *m, struct list *list, uint32_t way)
{
    list->flows[m->places[way]] = list->flows[--list->held];
    swap_entry(m, list, way, list->held);
}

static inline void note(struct hop_maxmin *m, uint32_t index)
{
    struct flow *flow = &m->flows[index];
    if (flow->sweep == m->sweep)
        return;
    flow->sweep = m->sweep;
    m->noted[m->noted_count++] = index; /* room for all flows is there */
}

static inline void set_level(struct hop_maxmin *m, uint32_t index, double level_Bps)
{
    struct list *list = &m->lists[index];
    if (list->sweep != m->sweep) {
        list->sweep = m->sweep;
        m->levelled[m->levelled_count++] = index;
    }
    m->levels_Bps[index] = level_Bps;
}

/* Takes a flow's load off its links. */
static void lift(struct hop_maxmin *m, const struct flow *flow)
{
    double rate_Bps = rate_of(m, flow);
    for (uint32_t e = flow->first; e < flow->first + flow->link_count; e++) {
        struct link *link = &m->links[m->ways[e]];
        if (flow->state == HELD && m->ways[e] != flow->bottleneck) {
            link->room_Bps += flow->count * rate_Bps;
            continue;
        }
        link->rising -= flow->count;
        if (flow->state == OPEN)
            m->lists[m->ways[e]].open -= flow->count;
        else
            release(m, &m->lists[m->ways[e]], e);
    }
}

/* A flow that was lifted is open. */
static inline void load(struct hop_maxmin *m, const struct flow *flow)
{
    for (uint32_t e = flow->first; e < flow->first + flow->link_count; e++) {
        struct list *list = &m->lists[m->ways[e]];
        list->open += flow->count;
        list->several = list->several || flow->count > 1;
        list->holders[m->places[e]] = m->link_count;
        m->links[m->ways[e]].rising += flow->count;
    }
}

static void open_flow(struct hop_maxmin *m, uint32_t index)
{
    struct flow *flow = &m->flows[index];
    note(m, index);
    lift(m, flow);
    flow->state = OPEN;
    load(m, flow);
    for (uint32_t e = flow->first; e < flow->first + flow->link_count; e++)
        touch(m, m->ways[e]);
}

/* An open flow is held from now on. Its links are in the queue and their keys do not fall. */
static void hold(struct hop_maxmin *m, uint32_t index, double rate_Bps, uint32_t bottleneck)
{
    struct flow *flow = &m->flows[index];
    flow->state = HELD;
    flow->bottleneck = bottleneck;
    for (uint32_t e = flow->first; e < flow->first + flow->link_count; e++) {
        struct link *link = &m->links[m->ways[e]];
        struct list *list = &m->lists[m->ways[e]];
        list->open -= flow->count;
        list->holders[m->places[e]] = bottleneck;
        if (m->ways[e] == bottleneck) {
            take(m, list, flow, e);
        } else {
            link->rising -= flow->count;
            link->room_Bps -= flow->count * rate_Bps;
            link->most_Bps = hop_max(link->most_Bps, rate_Bps);
        }
    }
}

/* The other links of the i-th flow that a link holds; the link itself may be among them. */
static inline const uint32_t *links_of(const struct hop_maxmin *m, const struct list *list, uint32_t i, uint32_t *count)
{
    *count = INLINE;
    if (list->flows[i].other[0] != HOP_NONE)
        return list->flows[i].other;
    const struct flow *flow = &m->flows[list->entries[i].flow];
    *count = flow->link_count;
    return &m->ways[flow->first];
}

/* The i-th flow that a link holds moves with the link's level, together by more_Bps. */
static inline void move(struct hop_maxmin *m, uint32_t index, uint32_t i, double more_Bps, double to_Bps)
{
    uint32_t count;
    const uint32_t *links = links_of(m, &m->lists[index], i, &count);
    for (uint32_t l = 0; l < count; l++) {
        if (links[l] == index)
            continue;
        struct link *link = &m->links[links[l]];
        link->room_Bps -= more_Bps;
        link->most_Bps = hop_max(link->most_Bps, to_Bps);
        if (link->room_Bps < link->key * link->rising) /* its key falls; no number: nothing rises there */
            touch(m, links[l]);
    }
}

/* ---- the sweep ---- */

/* Whether all other links of the i-th flow that a link holds leave it this higher rate. */
static inline bool may_rise(const struct hop_maxmin *m, uint32_t index, uint32_t i, double more_Bps, double to_Bps)
{
    uint32_t count;
    const struct list *list = &m->lists[index];
    const uint32_t *links = links_of(m, list, i, &count);
    if (list->capped && m->flows[list->entries[i].flow].ceiling_Bps < to_Bps)
        return false;
    for (uint32_t l = 0; l < count; l++) {
        const struct link *link = &m->links[links[l]];
        if (links[l] != index && link->room_Bps - more_Bps < link->rising * to_Bps)
            return false;
    }
    return true;
}

/* The link's level rises: flows that it holds rise with it where they can, the others become open. Some may so get more than other
 * links of theirs will turn out to allow; these open them again when they find that somebody else's flow has more than their level. */
static void raise(struct hop_maxmin *m, uint32_t index, double level)
{
    const struct list *list = &m->lists[index];
    double old = m->levels_Bps[index];
    for (uint32_t i = list->held; i-- > 0;) { /* a flow that is opened changes places with the last */
        double more = list->flows[i].count * (level - old);
        if (may_rise(m, index, i, more, level))
            move(m, index, i, more, level);
        else
            open_flow(m, list->entries[i].flow);
    }
    set_level(m, index, level);
}

/* What the flows that others hold have in sum, and the most that one of them has. */
static double add_up(const struct hop_maxmin *m, const struct list *list, double *most_Bps)
{
    double sum = 0, most = 0;
    for (uint32_t i = list->held; i < list->count; i++) {
        uint32_t holder = list->holders[i];
        double rate_Bps = holder == HOP_NONE ? m->flows[list->entries[i].flow].ceiling_Bps : m->levels_Bps[holder];
        sum += list->several ? m->flows[list->entries[i].flow].count * rate_Bps : rate_Bps;
        most = hop_max(most, rate_Bps);
    }
    *most_Bps = most;
    return sum;
}

/* Whether the link can take this level; if not, what stood in the way was put right. Adds the loads up afresh, so that rounding
 * errors do not pile up. */
static bool fits(struct hop_maxmin *m, uint32_t index, double level)
{
    struct link *link = &m->links[index];
    const struct list *list = &m->lists[index];
    bool fits = true;
    double limit = level * (1 + m->slack);
    if (list->open == 0 && link->most_Bps <= limit)
        return true;
    double sum = add_up(m, list, &link->most_Bps);
    if (link->most_Bps > limit || (list->open > 0 && list->capped)) {
        for (uint32_t i = list->count; i-- > list->held;) {
            uint32_t f = list->entries[i].flow;
            const struct flow *flow = &m->flows[f];
            if (flow->state == OPEN && flow->ceiling_Bps < level)
                hold(m, f, flow->ceiling_Bps, HOP_NONE);
            else if (flow->state == HELD && rate_of(m, flow) > limit)
                open_flow(m, f);
            else
                continue;
            fits = false;
        }
        sum = add_up(m, list, &link->most_Bps);
    }
    link->room_Bps = list->capacity_Bps - sum;
    return fits;
}

static void visit(struct hop_maxmin *m, uint32_t index)
{
    struct link *link = &m->links[index];
    double level = level_of(link), old = m->levels_Bps[index];
    bool stays = false;
    if (m->lists[index].held > 0) {
        if (level > old * (1 + m->slack)) {
            raise(m, index, level);
            return;
        }
        stays = level >= old * (1 - m->slack);
        if (stays && m->lists[index].open == 0 && link->most_Bps <= old * (1 + m->slack)) {
            drop(m, index);
            return;
        }
        level = stays ? old : level;
    }
    if (!fits(m, index, level))
        return;
    const struct list *list = &m->lists[index];
    uint32_t before = list->held;
    for (uint32_t i = before; list->open > 0 && i < list->count;
         i++) { /* a flow that is held changes places with the first */
        if (list->holders[i] == m->link_count)
            hold(m, list->entries[i].flow, level, index);
    }
    if (!stays) {
        for (uint32_t i = 0; i < before; i++)
            move(m, index, i, list->flows[i].count * (level - old), level);
        set_level(m, index, level);
    }
    drop(m, index);
}

/* Everything afresh: all flows open. */
static void start_over(struct hop_maxmin *m)
{
    while (m->queue_length)
        drop(m, m->queue[m->queue_length - 1].link);
    for (uint32_t l = 0; l < m->link_count; l++) {
        m->links[l].room_Bps = m->lists[l].capacity_Bps;
        m->links[l].rising = m->lists[l].open = m->lists[l].held = 0;
    }
    for (uint32_t f = 0; f < m->flow_count; f++) {
        struct flow *flow = &m->flows[f];
        if (flow->count == 0)
            continue;
        note(m, f);
        flow->state = OPEN;
        load(m, flow);
    }
    for (uint32_t l = 0; l < m->link_count; l++)
        touch(m, l);
}

static void sweep(struct hop_maxmin *m)
{
    uint64_t steps = 0, limit = (uint64_t)SWEEP_STEPS * (m->link_count + m->noted_count + 64);
    while (m->queue_length) {
        uint32_t first = m->queue[0].link;
        struct link *link = &m->links[first];
        double key = key_of(m, first);
        if (++steps == limit)
            start_over(m);
        else if (key == INFINITY)
            drop(m, first);
        else if (key > link->key) {
            link->key = key;
            queue_down(m, m->queue, m->queue_length, 0, (struct waiting){key, first});
        } else
            visit(m, first);
    }
}

/* ---- changes ---- */

static bool define(struct hop_maxmin *m, uint32_t index, const uint32_t *links, uint32_t count, double ceiling_Bps)
{
    if (!HOP_GROW(m->arena, m->flows, index + 1) || !HOP_GROW(m->arena, m->noted, index + 1) ||
        !HOP_GROW(m->arena, m->ways, m->way_count + count) || !HOP_GROW(m->arena, m->places, m->way_count + count))
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
        if (!HOP_GROW(m->arena, list->entries, list->count + 1) || !HOP_GROW(m->arena, list->flows, list->count + 1) ||
            !HOP_GROW(m->arena, list->holders, list->count + 1))
            return false;
        m->places[e] = list->count;
        list->entries[list->count++] = (struct entry){index, e};
        list->capped = list->capped || flow->ceiling_Bps < INFINITY;
    }
    return true;
}

static void leave_links(struct hop_maxmin *m, const struct flow *flow)
{
    for (uint32_t e = flow->first; e < flow->first + flow->link_count; e++) {
        struct list *list = &m->lists[m->ways[e]];
        struct entry last = list->entries[--list->count];
        list->entries[m->places[e]] = last;
        list->holders[m->places[e]] = list->holders[list->count];
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
    if (flow->count)
        load(m, flow);
    for (uint32_t e = flow->first; e < flow->first + flow->link_count; e++)
        touch(m, m->ways[e]);
    return true;
}

bool hop_maxmin_settle(struct hop_maxmin *m, struct hop_maxmin_changes *changes)
{
    m->sweep++;
    m->noted_count = m->levelled_count = 0;
    for (uint32_t i = 0; i < m->pending_count; i++) {
        if (!change(m, m->pending[i]))
            return false;
    }
    m->pending_count = 0;
    sweep(m);
    *changes = (struct hop_maxmin_changes){m->levelled, m->noted, m->levelled_count, m->noted_count};
    return true;
}

void hop_maxmin_clear(struct hop_maxmin *m)
{
    for (uint32_t w = 0; w < m->way_count; w++) {
        struct list *list = &m->lists[m->ways[w]];
        m->links[m->ways[w]] = (struct link){.room_Bps = list->capacity_Bps, .key = INFINITY};
        list->held = list->count = 0;
        list->open = 0;
        list->capped = list->several = false;
    }
    m->flow_count = m->way_count = m->pending_count = m->queue_length = 0;
}
