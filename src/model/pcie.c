/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model `pcie`: the PCIe congestion model of Martinasso et al. 2016 (section V, algorithm 1), for any forest.
 *
 *     B   up links, deepest first: equal scaling when the arriving sum exceeds the link (equation 6)
 *     C   down links and socket links, root first: super communications (flows that enter the switch by one link) are capped at
 *         capacity (1/n -+ tau) (equation 7); at a root complex always, elsewhere when the link is oversubscribed
 *     D   head-of-line blocking: everything on a link moves at the pace of its slowest later conflict (equation 8)
 *     D'  what the blocked ones give up goes to the others on the same links (equation 9)
 *
 * Step A, one transfer at a time per source, belongs to the source engine (simulate). Factors are kept as bytes/s, so that
 * links may differ in capacity; with equal links this is the paper's model. Ours beyond the paper:
 * (1 - tau)/n where 1/n - tau <= 0 (rule root-floor), and narrow-link: flows of a single
 * super communication that enter a narrower link are scaled to it.
 *
 * A link that carries a single transfer, with room for all that comes, takes nothing away, unless it leaves a root complex: only the
 * other ones in use, the busy ones, are looked at.
 *
 * Layout: the (flow, position) pairs on busy links are `entry` numbers, each flow's in a row; each link has a list of its entries.
 */
#include "model/model.h"

#include <float.h>
#include <math.h>

enum { WORD = 64 };

struct entry {
    uint32_t flow;
    uint32_t position;   /* in the flow's leg */
    uint32_t next;       /* on the same link */
    uint32_t from;       /* local link it comes from; links->count: it starts here */
    double rate;         /* rho' after this link, bytes/s */
    double later;        /* D: lowest rate of its flow in a later conflict, INFINITY: none */
    uint32_t later_link; /* where */
    bool lost;           /* in conflict here, and got less */
};

struct flow {
    uint32_t first, end; /* entries */
    double rate;         /* arriving at the next link; at last rho' */
    double cap;          /* D: the lowest m of its links; INFINITY: not blocked */
    uint32_t cap_link, cap_flow;
    double gain;        /* D' */
    enum hop_rule rule; /* of its last loss in B and C */
    uint32_t link;
};

struct state {
    struct hop_arena *arena;
    const struct hop_links *links;
    uint32_t words;
    bool uniform;                   /* all links have one capacity */
    uint64_t *leaving;              /* bit sets of links: those out of a root complex, */
    uint64_t *used, *shared, *busy; /* in use, with two transfers or more, busy */
    uint32_t *head;                 /* per link: first entry, HOP_NONE: none */
    uint32_t *group; /* per link that flows come from, and last for the source: its group on the link in hand */
    struct entry *entries;
    struct flow *flows;
    struct group {
        uint32_t from;
        double sum; /* R */
        double tau; /* largest of its members that crossed */
        bool crossed;
        double scale; /* R' / R */
        enum hop_rule rule;
    } * groups;
};

static void *create(const struct hop_links *links, struct hop_arena *arena)
{
    struct state *s = hop_arena_alloc(arena, sizeof *s);
    if (!s)
        return NULL;
    s->arena = arena;
    s->links = links;
    s->words = (links->count + WORD - 1) / WORD;
    s->leaving = hop_arena_alloc(arena, s->words * 4 * sizeof *s->leaving);
    s->head = hop_arena_alloc(arena, links->count * sizeof *s->head);
    s->group = hop_arena_alloc(arena, (links->count + 1) * sizeof *s->group);
    if (arena->failed)
        return NULL;
    s->used = s->leaving + s->words;
    s->shared = s->used + s->words;
    s->busy = s->shared + s->words;
    s->uniform = true;
    for (uint32_t l = 0; l < links->count; l++) {
        s->leaving[l / WORD] |= (uint64_t)(links->role[l] == HOP_ROLE_ROOT_OUT) << l % WORD;
        s->uniform = s->uniform && links->capacity_Bps[l] == links->capacity_Bps[0];
    }
    memset(s->group, 0xff, (links->count + 1) * sizeof *s->group);
    return s;
}

/* Walks a bit set of links in processing order. */
#define FOR_EACH_LINK(s, set, link)                                                                                    \
    for (uint32_t word_ = 0; word_ < (s)->words; word_++)                                                              \
        for (uint64_t bits_ = (s)->set[word_]; bits_; bits_ &= bits_ - 1)                                              \
            for (uint32_t link = word_ * WORD + (uint32_t)__builtin_ctzll(bits_), once_ = 1; once_; once_ = 0)

#define FOR_EACH_ENTRY(s, link, e) for (uint32_t e = (s)->head[link]; e != HOP_NONE; e = (s)->entries[e].next)

/* Which links are used, shared and busy, and what every flow starts with; returns how many entries that can make at most. */
static uint32_t mark_links(struct state *s, const struct hop_leg *legs, uint32_t count)
{
    const double *capacity = s->links->capacity_Bps;
    uint32_t total = 0;
    for (uint32_t w = 0; w < s->words; w++)
        s->used[w] = s->shared[w] = s->busy[w] = 0;
    for (uint32_t f = 0; f < count; f++) {
        const struct hop_leg *leg = &legs[f];
        const uint64_t several = leg->count > 1 ? UINT64_MAX : 0;
        const double rate = hop_min(leg->cap_Bps, capacity[leg->links[0]]);
        s->flows[f] =
            (struct flow){.rate = rate,
                          .cap = INFINITY,
                          .rule = leg->cap_Bps < capacity[leg->links[0]] ? HOP_RULE_OTHER_DOMAIN : HOP_RULE_FULL,
                          .link = HOP_NONE};
        for (uint32_t i = 0; i < leg->link_count; i++) {
            const uint32_t word = leg->links[i] / WORD;
            const uint64_t bit = (uint64_t)1 << leg->links[i] % WORD;
            s->shared[word] |= bit & (s->used[word] | several);
            s->used[word] |= bit;
        }
        for (uint32_t i = 0; !s->uniform && i < leg->link_count; i++) { /* too narrow */
            if (rate > capacity[leg->links[i]] * (1 + HOP_RATE_TOLERANCE))
                s->busy[leg->links[i] / WORD] |= (uint64_t)1 << leg->links[i] % WORD;
        }
        total += leg->link_count;
    }
    for (uint32_t w = 0; w < s->words; w++)
        s->busy[w] |= s->shared[w] | (s->used[w] & s->leaving[w]);
    return total;
}

static bool lay_out(struct state *s, const struct hop_leg *legs, uint32_t count)
{
    if (!HOP_GROW(s->arena, s->flows, count) || !HOP_GROW(s->arena, s->groups, count))
        return false;
    uint32_t entry = mark_links(s, legs, count), *head = s->head;
    if (!HOP_GROW(s->arena, s->entries, entry))
        return false;
    FOR_EACH_LINK(s, busy, link)
    head[link] = HOP_NONE;
    for (uint32_t f = count; f-- > 0;) { /* backwards, so that each link's list ascends */
        const struct hop_leg *leg = &legs[f];
        s->flows[f].end = entry;
        for (uint32_t i = leg->link_count; i-- > 0;) {
            const uint32_t link = leg->links[i];
            if (!(s->busy[link / WORD] >> link % WORD & 1))
                continue;
            struct entry *made = &s->entries[--entry]; /* rates come later */
            made->flow = f;
            made->position = i;
            made->next = head[link];
            made->from = i ? leg->links[i - 1] : s->links->count;
            made->lost = false;
            head[link] = entry;
        }
        s->flows[f].first = entry;
    }
    return true;
}

/* The entry's flow leaves the link with scale times what it arrived with. */
static void leave(struct state *s, struct entry *e, uint32_t link, double scale, enum hop_rule rule, bool conflict)
{
    struct flow *flow = &s->flows[e->flow];
    if (scale < 1) {
        flow->rate *= scale;
        flow->rule = rule;
        flow->link = link;
        e->lost = conflict;
    }
    e->rate = flow->rate;
}

/* B */
static void arbitrate_up(struct state *s, const struct hop_leg *legs, uint32_t link)
{
    double capacity = s->links->capacity_Bps[link], sum = 0;
    uint32_t transfers = 0;
    FOR_EACH_ENTRY(s, link, e)
    {
        sum += legs[s->entries[e].flow].count * s->flows[s->entries[e].flow].rate;
        transfers += legs[s->entries[e].flow].count;
    }
    bool conflict = sum > capacity * (1 + HOP_RATE_TOLERANCE);
    double scale = conflict ? capacity / sum : 1;
    enum hop_rule rule = transfers > 1 ? HOP_RULE_UP_SHARE : HOP_RULE_NARROW_LINK;
    FOR_EACH_ENTRY(s, link, e)
    leave(s, &s->entries[e], link, scale, rule, conflict);
}

/* Forms the super communications of a link; returns how many, and the sum of all arriving rates. */
static uint32_t form_groups(struct state *s, const struct hop_leg *legs, uint32_t link, double *sum,
                            uint32_t *transfers)
{
    uint32_t n = 0;
    *sum = 0;
    *transfers = 0;
    FOR_EACH_ENTRY(s, link, e)
    {
        const struct entry *entry = &s->entries[e];
        const struct hop_leg *leg = &legs[entry->flow];
        uint32_t from = entry->from;
        if (s->group[from] == HOP_NONE) {
            s->group[from] = n;
            s->groups[n++] = (struct group){.from = from, .scale = 1};
        }
        struct group *group = &s->groups[s->group[from]];
        double rate = leg->count * s->flows[entry->flow].rate;
        group->sum += rate;
        *sum += rate;
        *transfers += leg->count;
        if (entry->position >= leg->crossed) {
            group->crossed = true;
            group->tau = hop_max(group->tau, leg->tau);
        }
    }
    return n;
}

/* R' of each group. */
static void cap_groups(struct state *s, double capacity, uint32_t n, uint32_t transfers)
{
    double tau = 0; /* of the crossing groups together: the others gain by the largest */
    for (uint32_t g = 0; g < n; g++)
        tau = hop_max(tau, s->groups[g].tau);
    for (uint32_t g = 0; g < n; g++) {
        struct group *group = &s->groups[g];
        double share = group->crossed ? 1.0 / n - group->tau : hop_min(1, 1.0 / n + tau);
        bool by_tau = group->crossed && group->tau > 0 && (n > 1 || transfers == 1);
        group->rule = by_tau ? HOP_RULE_ROOT_CROSSING : transfers > 1 ? HOP_RULE_DOWN_SHARE : HOP_RULE_NARROW_LINK;
        if (share <= 0) {
            share = (1 - group->tau) / n;
            group->rule = HOP_RULE_ROOT_FLOOR;
        }
        double cap = capacity * share;
        if (cap < group->sum * (1 - HOP_RATE_TOLERANCE))
            group->scale = cap / group->sum;
    }
}

static bool is_narrower(const struct state *s, uint32_t link, uint32_t from)
{
    return from < s->links->count && s->links->capacity_Bps[link] < s->links->capacity_Bps[from];
}

/* C */
static void arbitrate_down(struct state *s, const struct hop_leg *legs, uint32_t link)
{
    double capacity = s->links->capacity_Bps[link], sum;
    uint32_t transfers, n = form_groups(s, legs, link, &sum, &transfers);
    bool conflict = sum > capacity * (1 + HOP_RATE_TOLERANCE);
    if (s->links->role[link] == HOP_ROLE_ROOT_OUT || (n > 1 && conflict)) {
        cap_groups(s, capacity, n, transfers);
    } else if (conflict && is_narrower(s, link, s->groups[0].from)) {
        s->groups[0].scale = capacity / sum;
        s->groups[0].rule = transfers > 1 ? HOP_RULE_DOWN_SHARE : HOP_RULE_NARROW_LINK;
    }
    FOR_EACH_ENTRY(s, link, e)
    {
        const struct group *group = &s->groups[s->group[s->entries[e].from]];
        leave(s, &s->entries[e], link, group->scale, group->rule, conflict);
    }
    for (uint32_t g = 0; g < n; g++)
        s->group[s->groups[g].from] = HOP_NONE;
}

/* For each entry, the lowest rate that its flow gets in a later conflict. Returns whether there is any. */
static bool find_later_losses(struct state *s, const struct hop_leg *legs, uint32_t count)
{
    bool any = false;
    for (uint32_t f = 0; f < count; f++) {
        double lowest = INFINITY;
        uint32_t link = HOP_NONE;
        for (uint32_t e = s->flows[f].end; e-- > s->flows[f].first;) {
            struct entry *entry = &s->entries[e];
            entry->later = lowest;
            entry->later_link = link;
            if (entry->lost && entry->rate < lowest) {
                lowest = entry->rate;
                link = legs[f].links[entry->position];
                any = any || e > s->flows[f].first;
            }
        }
    }
    return any;
}

/* D: m of every link with two transfers or more caps all transfers on it. Returns whether any is blocked. */
static bool block_head_of_line(struct state *s, const struct hop_leg *legs, uint32_t count)
{
    bool any = false;
    if (!find_later_losses(s, legs, count))
        return false;
    FOR_EACH_LINK(s, shared, link)
    {
        uint32_t slowest = HOP_NONE;
        double m = INFINITY;
        FOR_EACH_ENTRY(s, link, e)
        {
            if (s->entries[e].later < m) {
                m = s->entries[e].later;
                slowest = e;
            }
        }
        if (slowest == HOP_NONE)
            continue;
        any = true;
        FOR_EACH_ENTRY(s, link, e)
        {
            struct flow *flow = &s->flows[s->entries[e].flow];
            if (m < flow->cap) {
                flow->cap = m;
                flow->cap_link = s->entries[slowest].later_link;
                flow->cap_flow = s->entries[slowest].flow;
            }
        }
    }
    return any;
}

/* D' */
static void hand_on_gains(struct state *s, const struct hop_leg *legs)
{
    FOR_EACH_LINK(s, shared, link)
    {
        double given = 0;
        uint32_t takers = 0;
        FOR_EACH_ENTRY(s, link, e)
        {
            const struct entry *entry = &s->entries[e];
            const struct flow *flow = &s->flows[entry->flow];
            uint32_t count = legs[entry->flow].count;
            if (isinf(flow->cap))
                takers += count;
            else if (entry->rate > flow->cap)
                given += count * (entry->rate - flow->cap);
        }
        if (given == 0 || takers == 0)
            continue;
        FOR_EACH_ENTRY(s, link, e)
        {
            struct flow *flow = &s->flows[s->entries[e].flow];
            if (isinf(flow->cap))
                flow->gain += given / takers;
        }
    }
}

static double narrowest(const struct state *s, const struct hop_leg *leg)
{
    double capacity = leg->cap_Bps;
    for (uint32_t i = 0; i < leg->link_count; i++)
        capacity = hop_min(capacity, s->links->capacity_Bps[leg->links[i]]);
    return capacity;
}

/* Another flow on that link, for the explanation. */
static uint32_t other_on(const struct state *s, uint32_t link, uint32_t flow)
{
    FOR_EACH_ENTRY(s, link, e)
    {
        if (s->entries[e].flow != flow)
            return s->entries[e].flow;
    }
    return HOP_NONE;
}

static struct hop_share share_of(const struct state *s, const struct hop_leg *leg, uint32_t f)
{
    const struct flow *flow = &s->flows[f];
    if (flow->cap < flow->rate * (1 - HOP_RATE_TOLERANCE)) {
        return (struct hop_share){flow->cap, HOP_RULE_HEAD_OF_LINE, s->links->directed[flow->cap_link], flow->cap_flow};
    }
    double rate = flow->rate;
    if (flow->gain > 0)
        rate = hop_min(narrowest(s, leg), rate + flow->gain);
    struct hop_share share = {rate, flow->rule, HOP_NONE, HOP_NONE};
    if (flow->link != HOP_NONE) {
        share.link = s->links->directed[flow->link];
        share.blocker = other_on(s, flow->link, f);
    }
    return share;
}

static bool rates(void *opaque, const struct hop_leg *legs, uint32_t count, struct hop_share *shares)
{
    struct state *s = opaque;
    if (!lay_out(s, legs, count))
        return false;
    FOR_EACH_LINK(s, busy, link)
    {
        if (s->links->role[link] == HOP_ROLE_UP)
            arbitrate_up(s, legs, link);
        else
            arbitrate_down(s, legs, link);
    }
    if (block_head_of_line(s, legs, count))
        hand_on_gains(s, legs);
    for (uint32_t f = 0; f < count; f++)
        shares[f] = share_of(s, &legs[f], f);
    return true;
}

static const struct hop_parameter_rule parameters[] = {
    {.name = "tau",
     .value = 1 - 1 / 1.21,
     .unit = "1",
     .origin = "measured on a CS-Storm socket (Martinasso et al. 2016, section VII)",
     .most = 1 - DBL_EPSILON / 2,
     .expected = "0 <= tau < 1"},
};
const struct hop_parameter_table hop_pcie_parameters = {parameters, HOP_COUNT(parameters)};

const struct hop_model hop_model_pcie = {
    .facts = {.name = "pcie",
              .summary = "PCIe congestion with head-of-line blocking (Martinasso et al. 2016)",
              .cost = 1},
    .family = HOP_RULES_PCIE,
    .loses_crossing = true,
    .create = create,
    .rates = rates,
};
