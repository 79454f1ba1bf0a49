/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Levels: within groups, among leaders, within groups.
 *
 *                     before           among leaders    behind
 *     allreduce       reduce           allreduce        broadcast
 *     reduce          reduce           reduce
 *     broadcast                        broadcast        broadcast
 *     gather          gather           gather
 *     scatter                          scatter          scatter
 *     allgather       gather           allgather        broadcast
 *     reduce-scatter  reduce           reduce-scatter   scatter
 *
 * A level whose groups have one member each vanishes, and one with a single group ends the hierarchy.
 */
#include "collective/collective_levels.h"

#define NONE HOP_MOVE_NONE
#define NOTHING HOP_COLLECTIVE_COUNT

static const struct plan {
    enum hop_collective_kind before, behind;
} plans[HOP_COLLECTIVE_COUNT] = {
    [HOP_COLLECTIVE_ALLREDUCE] = {HOP_COLLECTIVE_REDUCE, HOP_COLLECTIVE_BROADCAST},
    [HOP_COLLECTIVE_REDUCE] = {HOP_COLLECTIVE_REDUCE, NOTHING},
    [HOP_COLLECTIVE_BROADCAST] = {NOTHING, HOP_COLLECTIVE_BROADCAST},
    [HOP_COLLECTIVE_GATHER] = {HOP_COLLECTIVE_GATHER, NOTHING},
    [HOP_COLLECTIVE_SCATTER] = {NOTHING, HOP_COLLECTIVE_SCATTER},
    [HOP_COLLECTIVE_ALLGATHER] = {HOP_COLLECTIVE_GATHER, HOP_COLLECTIVE_BROADCAST},
    [HOP_COLLECTIVE_REDUCE_SCATTER] = {HOP_COLLECTIVE_REDUCE, HOP_COLLECTIVE_SCATTER},
    [HOP_COLLECTIVE_ALLTOALL] = {NOTHING, NOTHING},
    [HOP_COLLECTIVE_BARRIER] = {HOP_COLLECTIVE_GATHER, HOP_COLLECTIVE_BROADCAST},
};

static const char *const level_names[HOP_LEVELS] = {"device.", "node.", "net."};

bool hop_levels_inside(enum hop_collective_kind kind, enum hop_algorithm algorithm)
{
    const struct plan *plan = &plans[kind];
    return (plan->before != NOTHING || plan->behind != NOTHING) &&
           (plan->before == NOTHING || hop_collective_has(plan->before, algorithm)) &&
           (plan->behind == NOTHING || hop_collective_has(plan->behind, algorithm));
}

/* The groups of a job's members at a level: those of group g are members[first[g] .. first[g + 1]), ascending. */
struct groups {
    uint32_t count, *first, *members, *leader; /* leader: a member */
};

static bool find_groups(struct hop_job *job, const uint32_t *group, struct groups *groups)
{
    struct hop_moves *m = job->moves;
    uint32_t n = job->n, *number = hop_moves_room(m, m->ranks, sizeof *number); /* 1 + a group's */
    uint32_t *at = hop_moves_room(m, n, sizeof *at);
    groups->count = 0;
    groups->first = hop_moves_room(m, (uint64_t)n + 1, sizeof *groups->first);
    groups->members = hop_moves_room(m, n, sizeof *groups->members);
    groups->leader = hop_moves_room(m, n, sizeof *groups->leader);
    if (!hop_moves_ok(m))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *mine = &number[group[job->ranks[i]]];
        if (*mine == 0) {
            *mine = ++groups->count;
            groups->leader[*mine - 1] = i;
        }
        groups->first[*mine]++;
    }
    groups->leader[number[group[job->ranks[job->root]]] - 1] = job->root;
    for (uint32_t g = 0; g < groups->count; g++) {
        groups->first[g + 1] += groups->first[g];
        at[g] = groups->first[g];
    }
    for (uint32_t i = 0; i < n; i++)
        groups->members[at[number[group[job->ranks[i]]] - 1]++] = i;
    return true;
}

/* ---- jobs within groups and among leaders ---- */

/* What those members own, ascending. */
static uint32_t list_parts(const struct hop_job *job, const uint32_t *members, uint32_t count, uint32_t *parts)
{
    uint32_t used = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = members[k];
        for (uint32_t p = job->owned ? job->owned_first[i] : i; p < (job->owned ? job->owned_first[i + 1] : i + 1); p++)
            parts[used++] = job->owned ? job->owned[p] : p;
    }
    qsort(parts, used, sizeof *parts, hop_ascending_u32);
    return used;
}

/* The job of `count` members of another one, heads[k] being its member k, who owns what the members of its group own,
 * or (groups NULL) what it owns itself. */
static struct hop_job job_of(struct hop_job *job, const uint32_t *heads, uint32_t count, const struct groups *groups,
                             const struct hop_spot *in, const struct hop_spot *out)
{
    struct hop_moves *m = job->moves;
    struct hop_job made = *job;
    uint32_t *ranks = hop_moves_room(m, count, sizeof *ranks), *owned = hop_moves_room(m, job->parts, sizeof *owned);
    uint32_t *first = hop_moves_room(m, (uint64_t)count + 1, sizeof *first);
    struct hop_spot *ins = hop_moves_room(m, count, sizeof *ins), *outs = hop_moves_room(m, count, sizeof *outs);
    for (uint32_t k = 0; hop_moves_ok(m) && k < count; k++) {
        uint32_t i = heads[k];
        ranks[k] = job->ranks[i];
        ins[k] = in[i];
        outs[k] = out[i];
        first[k + 1] = first[k] + (groups ? list_parts(job, groups->members + groups->first[k],
                                                       groups->first[k + 1] - groups->first[k], owned + first[k])
                                          : list_parts(job, &i, 1, owned + first[k]));
    }
    made.n = count;
    made.ranks = ranks;
    made.in = ins;
    made.out = outs;
    made.owned_first = first;
    made.owned = owned;
    return made;
}

static uint32_t find(const uint32_t *members, uint32_t count, uint32_t member)
{
    uint32_t i = 0;
    while (i + 1 < count && members[i] != member)
        i++;
    return i;
}

static struct hop_job group_job(struct hop_job *job, const struct groups *groups, uint32_t g, const struct hop_spot *in,
                                const struct hop_spot *out)
{
    const uint32_t *members = groups->members + groups->first[g];
    uint32_t count = groups->first[g + 1] - groups->first[g];
    struct hop_job made = job_of(job, members, count, NULL, in, out);
    made.root = find(members, count, groups->leader[g]);
    return made;
}

static struct hop_job leaders_job(struct hop_job *job, const struct groups *groups, const struct hop_spot *in,
                                  const struct hop_spot *out)
{
    struct hop_job made = job_of(job, groups->leader, groups->count, groups, in, out);
    made.root = find(groups->leader, groups->count, job->root);
    return made;
}

/* ---- where leaders keep what is between ---- */

/* Of each leader, what goes in among leaders and what comes out there; others are not looked at.
 * A group of one needs no place between: its member has its own. */
static bool place_between(struct hop_job *job, enum hop_collective_kind kind, const struct groups *groups,
                          struct hop_spot **in, struct hop_spot **out, bool shared)
{
    const struct plan *plan = &plans[kind];
    struct hop_spot held = {hop_moves_scratch(job->moves, "held"), 0},
                    result = {hop_moves_scratch(job->moves, "sent"), 0};
    *in = hop_job_spots(job, job->in, 0, job->in[0]);
    *out = hop_job_spots(job, job->out, 0, job->out[0]);
    if (!*in || !*out)
        return false;
    for (uint32_t g = 0; g < groups->count; g++) {
        uint32_t i = groups->leader[g];
        if (groups->first[g + 1] - groups->first[g] == 1)
            continue;
        bool gathers = plan->before == HOP_COLLECTIVE_GATHER, scatters = plan->behind == HOP_COLLECTIVE_SCATTER;
        bool everywhere = kind == HOP_COLLECTIVE_ALLGATHER;
        if (gathers && (everywhere || i == job->root))
            (*in)[i] = job->out[i]; /* parts are collected where all will be */
        else if (plan->before != NOTHING)
            (*in)[i] = held;
        if (scatters) /* the group's parts stay where they were reduced, or where the root has them */
            (*out)[i] = plan->before != NOTHING || i == job->root ? (*in)[i] : result;
        else if (plan->behind != NOTHING && shared && !everywhere)
            (*out)[i] = result; /* gsb would copy it there first */
    }
    return true;
}

static void make_groups(struct hop_job *job, const struct groups *groups, enum hop_collective_kind kind,
                        enum hop_algorithm algorithm, const struct hop_spot *in, const struct hop_spot *out)
{
    for (uint32_t g = 0; g < groups->count && hop_moves_ok(job->moves); g++) {
        if (groups->first[g + 1] - groups->first[g] == 1)
            continue;
        struct hop_job group = group_job(job, groups, g, in, out);
        if (hop_moves_ok(job->moves))
            hop_collective_maker(kind, algorithm)(&group);
    }
}

/* What happens within groups reads or writes the leaders' places between, and the others' own. */
static void make_level(struct hop_job *job, enum hop_collective_kind kind, const struct hop_levels *levels,
                       uint32_t level, const struct groups *groups);

static void make_from(struct hop_job *job, enum hop_collective_kind kind, const struct hop_levels *levels,
                      uint32_t level)
{
    struct hop_moves *m = job->moves;
    struct groups groups;
    for (; level + 1 < levels->count; level++) {
        if (!find_groups(job, levels->group[level], &groups))
            return;
        if (groups.count == 1)
            break;
        if (groups.count < job->n) {
            make_level(job, kind, levels, level, &groups);
            return;
        }
    }
    hop_moves_look(m, hop_collective_pairs(kind, levels->algorithm[level], job->n));
    m->level = level_names[level];
    if (hop_moves_ok(m))
        hop_collective_maker(kind, levels->algorithm[level])(job);
    m->level = "";
}

static void make_level(struct hop_job *job, enum hop_collective_kind kind, const struct hop_levels *levels,
                       uint32_t level, const struct groups *groups)
{
    struct hop_moves *m = job->moves;
    enum hop_algorithm algorithm = levels->algorithm[level];
    struct hop_spot *in, *out;
    m->level = level_names[level];
    if (!place_between(job, kind, groups, &in, &out, algorithm == HOP_ALGORITHM_GSB))
        return;
    if (plans[kind].before != NOTHING)
        make_groups(job, groups, plans[kind].before, algorithm, job->in, in);
    struct hop_job leaders = leaders_job(job, groups, in, out);
    if (hop_moves_ok(m))
        make_from(&leaders, kind, levels, level + 1);
    m->level = level_names[level];
    if (plans[kind].behind != NOTHING)
        make_groups(job, groups, plans[kind].behind, algorithm, out, job->out);
    m->level = "";
}

void hop_levels_make(struct hop_job *job, enum hop_collective_kind kind, const struct hop_levels *levels)
{
    make_from(job, kind, levels, 0);
}

bool hop_collective_algorithm(enum hop_collective_kind kind, size_t index, const char **name, const char **summary,
                              bool *levels)
{
    const struct hop_algorithm_about *about =
        (unsigned)kind < HOP_COLLECTIVE_COUNT ? hop_collective_at(kind, index) : NULL;
    if (!about)
        return false;
    *name = hop_algorithm_name(about->algorithm);
    *summary = about->summary;
    *levels = hop_levels_inside(kind, about->algorithm);
    return true;
}
