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
 * Layout: the (flow, position) pairs are `entry` numbers; each link has a list of its entries.
 */
#include "model/model.h"

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
    uint32_t first; /* entry of the first link */
    double rate;    /* arriving at the next link; at last rho' */
    double cap;     /* D: the lowest m of its links; INFINITY: not blocked */
    uint32_t cap_link, cap_flow;
    double gain;        /* D' */
    enum hop_rule rule; /* of its last loss in B and C */
    uint32_t link;
};

struct state {
    const struct hop_links *links;
    uint32_t words;
    uint64_t *used;  /* bit set of links in use */
    uint32_t *head;  /* per link: first entry, HOP_NONE: none */
    uint32_t *group; /* per link that flows come from, and last for the source: its group on the link in hand */
    struct entry *entries;
    uint32_t entry_capacity;
    struct flow *flows;
    uint32_t flow_capacity;
    struct group {
        uint32_t from;
        double sum; /* R */
        double tau; /* largest of its members that crossed */
        bool crossed;
        double scale; /* R' / R */
        enum hop_rule rule;
    } * groups;
    uint32_t group_capacity;
};

static void destroy(void *opaque)
{
    struct state *s = opaque;
    if (!s)
        return;
    free(s->used);
    free(s->head);
    free(s->group);
    free(s->entries);
    free(s->flows);
    free(s->groups);
    free(s);
}

static void *create(const struct hop_links *links)
{
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->links = links;
    s->words = (links->count + WORD - 1) / WORD;
    s->used = calloc(s->words, sizeof *s->used);
    s->head = malloc(links->count * sizeof *s->head);
    s->group = malloc((links->count + 1) * sizeof *s->group);
    if (!s->used || !s->head || !s->group) {
        destroy(s);
        return NULL;
    }
    memset(s->group, 0xff, (links->count + 1) * sizeof *s->group);
    return s;
}

/* Walks the links in use in processing order. */
#define FOR_EACH_LINK(s, link)                                                                                         \
    for (uint32_t word_ = 0; word_ < (s)->words; word_++)                                                              \
        for (uint64_t bits_ = (s)->used[word_]; bits_; bits_ &= bits_ - 1)                                             \
            for (uint32_t link = word_ * WORD + (uint32_t)__builtin_ctzll(bits_), once_ = 1; once_; once_ = 0)

#define FOR_EACH_ENTRY(s, link, e) for (uint32_t e = (s)->head[link]; e != HOP_NONE; e = (s)->entries[e].next)

static bool lay_out(struct state *s, const struct hop_leg *legs, uint32_t count)
{
    uint32_t total = 0;
    for (uint32_t f = 0; f < count; f++)
        total += legs[f].link_count;
    if (!hop_grow(&s->entries, &s->entry_capacity, total, sizeof *s->entries) ||
        !hop_grow(&s->flows, &s->flow_capacity, count, sizeof *s->flows) ||
        !hop_grow(&s->groups, &s->group_capacity, count, sizeof *s->groups))
        return false;
    memset(s->used, 0, s->words * sizeof *s->used);
    uint32_t entry = total;
    for (uint32_t f = count; f-- > 0;) { /* backwards, so that each link's list ascends */
        const struct hop_leg *leg = &legs[f];
        for (uint32_t i = leg->link_count; i-- > 0;) {
            uint32_t link = leg->links[i];
            uint64_t bit = (uint64_t)1 << (link % WORD);
            entry--;
            uint32_t next = s->used[link / WORD] & bit ? s->head[link] : HOP_NONE;
            s->entries[entry] =
                (struct entry){.flow = f, .position = i, .next = next, .from = i ? leg->links[i - 1] : s->links->count};
            s->head[link] = entry;
            s->used[link / WORD] |= bit;
        }
        s->flows[f] = (struct flow){.first = entry,
                                    .rate = hop_min(leg->cap_Bps, s->links->capacity_Bps[leg->links[0]]),
                                    .cap = INFINITY,
                                    .rule = leg->cap_Bps < s->links->capacity_Bps[leg->links[0]] ? HOP_RULE_OTHER_DOMAIN
                                                                                                 : HOP_RULE_FULL,
                                    .link = HOP_NONE};
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
        struct entry *entries = &s->entries[s->flows[f].first];
        double lowest = INFINITY;
        uint32_t link = HOP_NONE;
        for (uint32_t i = legs[f].link_count; i-- > 0;) {
            entries[i].later = lowest;
            entries[i].later_link = link;
            if (entries[i].lost && entries[i].rate < lowest) {
                lowest = entries[i].rate;
                link = legs[f].links[i];
                any = any || i > 0;
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
    FOR_EACH_LINK(s, link)
    {
        uint32_t transfers = 0, slowest = HOP_NONE;
        double m = INFINITY;
        FOR_EACH_ENTRY(s, link, e)
        {
            transfers += legs[s->entries[e].flow].count;
            if (s->entries[e].later < m) {
                m = s->entries[e].later;
                slowest = e;
            }
        }
        if (transfers < 2 || slowest == HOP_NONE)
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
    FOR_EACH_LINK(s, link)
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
    FOR_EACH_LINK(s, link)
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

const struct hop_model hop_model_pcie = {
    .name = "pcie",
    .summary = "PCIe congestion with head-of-line blocking (Martinasso et al. 2016)",
    .needs_tree = true,
    .loses_crossing = true,
    .create = create,
    .destroy = destroy,
    .rates = rates,
};
