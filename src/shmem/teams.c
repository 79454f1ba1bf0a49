/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Teams: PEs with a stride between them, each a team of `run`; sets of PEs, which are teams without a handle; contexts.
 *
 * A team is split off by all PEs of its parent, which pass the name of its session on. A set is known to its own PEs only,
 * at its first use: then its first PE leaves the name in boxes of the others, where nobody else writes. Where PEs are on several
 * machines, those of a team or set tell each other by messages.
 */
#include "shmem/world.h"

#include <math.h>
#include <stdatomic.h>

struct box {
    atomic_uint full;
    int start, log_stride, size;
    char session[HOP_SESSION_SIZE];
};

static struct {
    struct shmem_internal_team world, shared;
    struct shmem_internal_team *teams; /* and sets */
    struct shmem_internal_ctx *contexts;
    pthread_mutex_t lock;
    struct box **boxes; /* per PE where its boxes are, one for each PE; NULL: several machines */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- making ---- */

/* session NULL: by messages. */
static enum hop_status join(struct shmem_internal_team *team, const char *session, struct hop_diag *diag)
{
    const struct hop_team_options options = {.timeout_s = INFINITY}; /* PEs may compute for as long as they like */
    uint32_t *pes = calloc(team->size, sizeof *pes);
    if (!pes)
        return hop_fail_memory(diag);
    for (uint32_t pe = 0; pe < team->size; pe++)
        pes[pe] = (uint32_t)hop_shmem_team_pe(team, pe);
    enum hop_status status =
        session ? hop_team_join(session, team->pe, &options, &team->team, diag)
                : hop_team_join_some(hop_shmem.team, pes, team->size, team->pe, &options, &team->team, diag);
    if (status == HOP_OK)
        team->team->whole = hop_shmem.team;
    if (status == HOP_OK)
        status = hop_regions_borrow(team->team, hop_shmem.team, pes, diag);
    free(pes);
    return status;
}

static void keep(struct shmem_internal_team *team)
{
    (void)pthread_mutex_lock(&all.lock);
    team->next = all.teams;
    all.teams = team;
    (void)pthread_mutex_unlock(&all.lock);
}

static struct shmem_internal_team *create(int start, int stride, bool of_machine, uint32_t size, uint32_t pe,
                                          const char *who)
{
    struct shmem_internal_team *team = calloc(1, sizeof *team);
    if (!team)
        hop_shmem_die(who, "out of memory");
    *team = (struct shmem_internal_team){
        .start = start, .stride = stride, .of_machine = of_machine, .size = size, .pe = pe, .log_stride = -1};
    (void)pthread_mutex_init(&team->own_turn, NULL);
    team->turn = &team->own_turn;
    team->handle = team;
    return team;
}

static void part(struct shmem_internal_team *team)
{
    hop_plans_destroy(&team->plans);
    if (team->team)
        (void)hop_team_finish(team->team, NULL);
    hop_team_destroy(team->team);
    (void)pthread_mutex_destroy(&team->own_turn);
}

static void destroy(struct shmem_internal_team *team)
{
    part(team);
    free(team);
}

/* The place of a PE of the world, or where of_machine says so of this machine, among start, start + stride ...;
 * UINT32_MAX: it is not among them. */
static uint32_t place_of(int start, int stride, bool of_machine, uint32_t size, int pe)
{
    const struct hop_team *world = hop_shmem.team;
    if (of_machine && world->node_of[pe] != world->node_of[world->rank])
        return UINT32_MAX;
    pe = of_machine ? (int)world->local_of[pe] : pe;
    if (pe == start && size > 0)
        return 0;
    bool fits = stride != 0 && (pe - start) % stride == 0 && (pe - start) / stride >= 0;
    return fits && (uint32_t)((pe - start) / stride) < size ? (uint32_t)((pe - start) / stride) : UINT32_MAX;
}

/* All PEs of the parent call it, each with the team that it will be in: start, stride and size among the parent's; size 0:
 * in none. */
static struct shmem_internal_team *split(struct shmem_internal_team *parent, int start, int stride, uint32_t size,
                                         const char *who)
{
    typedef char session_name[HOP_SESSION_SIZE];
    session_name mine = "", *others = calloc(parent->size, sizeof *others);
    int first = parent->start + parent->stride * start, step = parent->stride * stride;
    uint32_t place = place_of(first, step, parent->of_machine, size, (int)hop_shmem.pe);
    bool by_messages = hop_shmem.team->group != NULL;
    if (!others)
        hop_shmem_die(who, "out of memory");
    (void)pthread_mutex_lock(parent->turn);
    if (place == 0 && !by_messages)
        HOP_SHMEM_NEED(who, hop_session_create(size, mine, &diag_));
    if (!by_messages)
        HOP_SHMEM_NEED(who, hop_team_gather(parent->team, mine, others, sizeof mine, &diag_));
    (void)pthread_mutex_unlock(parent->turn);
    struct shmem_internal_team *team =
        place == UINT32_MAX ? NULL : create(first, step, parent->of_machine, size, place, who);
    if (team) {
        HOP_SHMEM_NEED(who, join(team, by_messages ? NULL : others[start], &diag_));
        keep(team);
    }
    free(others);
    return team;
}

/* ---- sets of PEs ---- */

static void pass_on(const struct shmem_internal_team *set, const char *session)
{
    struct hop_shmem_wait wait = {0};
    for (uint32_t pe = 1; pe < set->size; pe++) {
        struct box *box = &all.boxes[hop_shmem_team_pe(set, pe)][hop_shmem.pe];
        while (atomic_load_explicit(&box->full, memory_order_acquire))
            hop_shmem_turn(&wait);
        box->start = set->start;
        box->log_stride = set->log_stride;
        box->size = (int)set->size;
        memcpy(box->session, session, sizeof box->session);
        atomic_store_explicit(&box->full, 1, memory_order_release);
    }
}

static void take_up(const struct shmem_internal_team *set, char session[HOP_SESSION_SIZE], const char *who)
{
    struct hop_shmem_wait wait = {0};
    struct box *box = &all.boxes[hop_shmem.pe][set->start];
    while (!atomic_load_explicit(&box->full, memory_order_acquire))
        hop_shmem_turn(&wait);
    if (box->start != set->start || box->log_stride != set->log_stride || box->size != (int)set->size)
        hop_shmem_die(who,
                      "PE %d calls a collective of %d PEs from %d on, a stride of 2^%d apart, while this one is in "
                      "one of %u from %d on, 2^%d apart\nthe same set on all of its PEs",
                      set->start, box->size, box->start, box->log_stride, set->size, set->start, set->log_stride);
    memcpy(session, box->session, sizeof box->session);
    atomic_store_explicit(&box->full, 0, memory_order_release);
}

struct shmem_internal_team *hop_shmem_set(int start, int log_stride, int size, const char *who)
{
    if (!hop_shmem.pes)
        hop_shmem_die(who, "the library is not initialised\nshmem_init before");
    bool strides = log_stride >= 0 && log_stride < 31 && start >= 0 && size >= 1;
    if (!strides || (int64_t)start + ((int64_t)(size - 1) << log_stride) >= (int64_t)hop_shmem.pes)
        hop_shmem_die(who, "%d PEs from %d on, a stride of 2^%d apart, are not among the %u\nPEs that there are", size,
                      start, log_stride, hop_shmem.pes);
    uint32_t place = place_of(start, 1 << log_stride, false, (uint32_t)size, (int)hop_shmem.pe);
    if (place == UINT32_MAX)
        hop_shmem_die(who, "this PE is not one of %d from %d on, a stride of 2^%d apart\na call of these alone", size,
                      start, log_stride);
    if ((uint32_t)size == hop_shmem.pes)
        return &all.world;
    (void)pthread_mutex_lock(&all.lock);
    struct shmem_internal_team *set = all.teams;
    while (set && (set->log_stride != log_stride || set->start != start || set->size != (uint32_t)size))
        set = set->next;
    (void)pthread_mutex_unlock(&all.lock);
    if (set)
        return set;
    char session[HOP_SESSION_SIZE];
    set = create(start, 1 << log_stride, false, (uint32_t)size, place, who);
    set->log_stride = log_stride;
    if (all.boxes && place == 0) {
        HOP_SHMEM_NEED(who, hop_session_create(set->size, session, &diag_));
        pass_on(set, session);
    } else if (all.boxes) {
        take_up(set, session, who);
    }
    HOP_SHMEM_NEED(who, join(set, all.boxes ? session : NULL, &diag_));
    keep(set);
    return set;
}

/* ---- handles ---- */

/* What SHMEM_DEBUG asks. */
static bool is_team(const struct shmem_internal_team *team)
{
    (void)pthread_mutex_lock(&all.lock);
    const struct shmem_internal_team *known = all.teams;
    while (known && known != team)
        known = known->next;
    (void)pthread_mutex_unlock(&all.lock);
    return known != NULL;
}

static bool is_context(const struct shmem_internal_ctx *ctx)
{
    (void)pthread_mutex_lock(&all.lock);
    const struct shmem_internal_ctx *known = all.contexts;
    while (known && known != ctx)
        known = known->next;
    (void)pthread_mutex_unlock(&all.lock);
    return known != NULL;
}

struct shmem_internal_team *hop_shmem_team(shmem_team_t team, const char *who)
{
    if (!hop_shmem.pes)
        hop_shmem_die(who, "the library is not initialised\nshmem_init before");
    if (team == SHMEM_TEAM_WORLD)
        return &all.world;
    if (team == SHMEM_TEAM_SHARED)
        return &all.shared;
    if (hop_shmem.debug && team != SHMEM_TEAM_INVALID && !is_team(team))
        hop_shmem_die(who, "%p is no team\nwhat shmem_team_split_strided gave, and was not destroyed", (void *)team);
    if (team == SHMEM_TEAM_INVALID)
        hop_shmem_die(who, "the team is SHMEM_TEAM_INVALID\na team that this PE is in");
    return team;
}

int hop_shmem_ctx_pe(shmem_ctx_t ctx, int pe, const char *who)
{
    if (ctx == SHMEM_CTX_INVALID)
        hop_shmem_die(who, "the context is SHMEM_CTX_INVALID\na context that shmem_ctx_create gave");
    if (hop_shmem.debug && !is_context(ctx))
        hop_shmem_die(who, "%p is no context\nwhat shmem_ctx_create gave, and was not destroyed", (void *)ctx);
    if ((uint32_t)pe >= ctx->team->size)
        hop_shmem_die(who, "the context's team has no PE %d\n0 to %u", pe, ctx->team->size - 1);
    return hop_shmem_team_pe(ctx->team, (uint32_t)pe);
}

HOP_SHMEM_API(int, team_my_pe, (shmem_team_t team))
{
    return team == SHMEM_TEAM_INVALID ? -1 : (int)hop_shmem_team(team, __func__)->pe;
}

HOP_SHMEM_API(int, team_n_pes, (shmem_team_t team))
{
    return team == SHMEM_TEAM_INVALID ? -1 : (int)hop_shmem_team(team, __func__)->size;
}

HOP_SHMEM_API(void *, team_ptr, (shmem_team_t team, const void *dest, int pe))
{
    if (team == SHMEM_TEAM_INVALID)
        return NULL;
    const struct shmem_internal_team *of = hop_shmem_team(team, __func__);
    return (uint32_t)pe < of->size ? pshmem_ptr(dest, hop_shmem_team_pe(of, (uint32_t)pe)) : NULL;
}

HOP_SHMEM_API(int, team_get_config, (shmem_team_t team, long config_mask, shmem_team_config_t *config))
{
    if (team == SHMEM_TEAM_INVALID || !config)
        return -1;
    if (config_mask & SHMEM_TEAM_NUM_CONTEXTS)
        *config = hop_shmem_team(team, __func__)->config;
    return 0;
}

HOP_SHMEM_API(int, team_translate_pe, (shmem_team_t src_team, int src_pe, shmem_team_t dest_team))
{
    if (src_team == SHMEM_TEAM_INVALID || dest_team == SHMEM_TEAM_INVALID)
        return -1;
    const struct shmem_internal_team *from = hop_shmem_team(src_team, __func__),
                                     *to = hop_shmem_team(dest_team, __func__);
    if ((uint32_t)src_pe >= from->size)
        return -1;
    int pe = hop_shmem_team_pe(from, (uint32_t)src_pe);
    uint32_t place = place_of(to->start, to->stride, to->of_machine, to->size, pe);
    return place == UINT32_MAX ? -1 : (int)place;
}

static void configure(struct shmem_internal_team *team, const shmem_team_config_t *config, long mask)
{
    if (team && config && mask & SHMEM_TEAM_NUM_CONTEXTS)
        team->config = *config;
}

HOP_SHMEM_API(int, team_split_strided,
              (shmem_team_t parent_team, int start, int stride, int size, const shmem_team_config_t *config,
               long config_mask, shmem_team_t *new_team))
{
    *new_team = SHMEM_TEAM_INVALID;
    if (parent_team == SHMEM_TEAM_INVALID)
        return -1;
    struct shmem_internal_team *parent = hop_shmem_team(parent_team, __func__);
    int64_t last = (int64_t)start + (int64_t)stride * (size - 1);
    if (size < 1 || start < 0 || start >= (int64_t)parent->size || last < 0 || last >= (int64_t)parent->size ||
        (stride == 0 && size > 1))
        return -1;
    struct shmem_internal_team *team = split(parent, start, stride, (uint32_t)size, __func__);
    configure(team, config, config_mask);
    *new_team = team;
    return 0;
}

HOP_SHMEM_API(int, team_split_2d,
              (shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config, long xaxis_mask,
               shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask,
               shmem_team_t *yaxis_team))
{
    *xaxis_team = *yaxis_team = SHMEM_TEAM_INVALID;
    if (parent_team == SHMEM_TEAM_INVALID || xrange < 1)
        return -1;
    struct shmem_internal_team *parent = hop_shmem_team(parent_team, __func__);
    int width = (uint32_t)xrange < parent->size ? xrange : (int)parent->size, size = (int)parent->size;
    int x = (int)parent->pe % width, row = (int)parent->pe - x;
    *xaxis_team = split(parent, row, 1, (uint32_t)(row + width <= size ? width : size - row), __func__);
    *yaxis_team = split(parent, x, width, (uint32_t)((size - x + width - 1) / width), __func__);
    configure(*xaxis_team, xaxis_config, xaxis_mask);
    configure(*yaxis_team, yaxis_config, yaxis_mask);
    return 0;
}

/* ---- contexts ---- */

static int create_context(shmem_team_t team, long options, shmem_ctx_t *ctx, const char *who)
{
    struct shmem_internal_ctx *made = team == SHMEM_TEAM_INVALID ? NULL : calloc(1, sizeof *made);
    *ctx = made;
    if (!made)
        return -1;
    made->team = hop_shmem_team(team, who);
    made->options = options;
    (void)pthread_mutex_lock(&all.lock);
    made->next = all.contexts;
    all.contexts = made;
    (void)pthread_mutex_unlock(&all.lock);
    return 0;
}

HOP_SHMEM_API(int, ctx_create, (long options, shmem_ctx_t *ctx))
{
    return create_context(SHMEM_TEAM_WORLD, options, ctx, __func__);
}

HOP_SHMEM_API(int, team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t *ctx))
{
    return create_context(team, options, ctx, __func__);
}

/* Those of a team, or one alone. */
static void drop_contexts(const struct shmem_internal_team *team, const struct shmem_internal_ctx *one)
{
    (void)pthread_mutex_lock(&all.lock);
    for (struct shmem_internal_ctx **at = &all.contexts; *at;) {
        struct shmem_internal_ctx *ctx = *at;
        if (ctx != one && ctx->team != team) {
            at = &ctx->next;
            continue;
        }
        *at = ctx->next;
        free(ctx);
    }
    (void)pthread_mutex_unlock(&all.lock);
}

HOP_SHMEM_API(void, ctx_destroy, (shmem_ctx_t ctx))
{
    if (ctx == SHMEM_CTX_DEFAULT)
        hop_shmem_die(__func__, "the default context stays until the end\na context that shmem_ctx_create gave");
    if (ctx != SHMEM_CTX_INVALID)
        drop_contexts(NULL, ctx);
}

HOP_SHMEM_API(int, ctx_get_team, (shmem_ctx_t ctx, shmem_team_t *team))
{
    *team = SHMEM_TEAM_INVALID;
    if (ctx == SHMEM_CTX_INVALID)
        return -1;
    *team = ctx == SHMEM_CTX_DEFAULT ? SHMEM_TEAM_WORLD : ctx->team->handle;
    return 0;
}

/* Hints, which nothing here goes faster by. */
HOP_SHMEM_API(void, ctx_session_start,
              (shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask))
{
    (void)ctx;
    (void)options;
    (void)config;
    (void)config_mask;
}

HOP_SHMEM_API(void, ctx_session_stop, (shmem_ctx_t ctx))
{
    (void)ctx;
}

HOP_SHMEM_API(void, team_destroy, (shmem_team_t team))
{
    if (team == SHMEM_TEAM_INVALID)
        return;
    struct shmem_internal_team *gone = hop_shmem_team(team, __func__);
    if (gone == &all.world || gone == &all.shared)
        hop_shmem_die(__func__, "SHMEM_TEAM_WORLD and SHMEM_TEAM_SHARED stay until the end\na team that was split off");
    drop_contexts(gone, NULL);
    (void)pthread_mutex_lock(&all.lock);
    struct shmem_internal_team **at = &all.teams;
    while (*at && *at != gone)
        at = &(*at)->next;
    if (*at)
        *at = gone->next;
    (void)pthread_mutex_unlock(&all.lock);
    destroy(gone);
}

/* ---- beginning and end ---- */

static void make_boxes(void)
{
    void *own;
    struct hop_team *team = hop_shmem.team;
    HOP_SHMEM_NEED("shmem_init", hop_team_allocate(team, hop_shmem.pes * sizeof(struct box), &own, &diag_));
    all.boxes = (struct box **)hop_shmem_parts(&team->regions[team->region_count - 1]);
}

void hop_shmem_teams_create(void)
{
    struct hop_team *team = hop_shmem.team;
    if (!team->group)
        make_boxes();
    all.world = (struct shmem_internal_team){.stride = 1,
                                             .size = hop_shmem.pes,
                                             .pe = hop_shmem.pe,
                                             .handle = SHMEM_TEAM_WORLD,
                                             .team = team,
                                             .turn = &hop_shmem.turn,
                                             .log_stride = -1};
    all.shared = all.world;
    all.shared.handle = SHMEM_TEAM_SHARED;
    if (!team->group)
        return;
    all.shared.of_machine = true;
    all.shared.size = team->local_size;
    all.shared.pe = team->local;
    all.shared.turn = &all.shared.own_turn;
    (void)pthread_mutex_init(&all.shared.own_turn, NULL);
    HOP_SHMEM_NEED("shmem_init", join(&all.shared, NULL, &diag_));
}

void hop_shmem_teams_destroy(void)
{
    while (all.teams) {
        struct shmem_internal_team *team = all.teams;
        all.teams = team->next;
        destroy(team);
    }
    while (all.contexts)
        drop_contexts(NULL, all.contexts);
    if (all.shared.of_machine)
        part(&all.shared);
    else
        hop_plans_destroy(&all.shared.plans);
    hop_plans_destroy(&all.world.plans);
    free(all.boxes);
    all.boxes = NULL;
}
