/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators: found, set up, freed. */
#include "mpi/engine/comm_state.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#define JOIN_S 60.0       /* that a rank may take to join the others, who are all in the same call */
enum { TEAMS_AFTER = 2 }; /* times that a shape is the library's before it is ours: a schedule takes a while to make */

static struct {
    pthread_mutex_t lock;
    struct hop_comm_state *first;
    struct hop_comm_state *last;   /* asked for */
    struct hop_comm_state *parting; /* whose communicators are gone here: other ranks may be in the last collective */
    struct hop_comm_state *unused;  /* gone everywhere */
    bool ended;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- finding ---- */

static struct hop_comm_state *take(void)
{
    (void)pthread_mutex_lock(&all.lock);
    struct hop_comm_state *state = all.unused;
    if (state)
        all.unused = state->next;
    (void)pthread_mutex_unlock(&all.lock);
    if (state)
        *state = (struct hop_comm_state){0};
    return state ? state : calloc(1, sizeof *state);
}

/* Ranks of a job that this one started, or was started by, go by variables of their own. */
static bool is_of_one_job(const struct hop_mpi_ranks *ranks)
{
    bool own = true;
    for (int r = 0; ranks->world && r < ranks->size && own; r++)
        own = ranks->world[r] != HOP_MPI_ELSEWHERE;
    return own;
}

static struct hop_comm_state *make(const struct hop_comm_rules *rules, struct hop_mpi_ranks *ranks, uintptr_t comm)
{
    struct hop_comm_state *state = take();
    if (!state)
        return NULL;
    bool few = ranks->inter || ranks->size < 2;
    state->ranks = ranks;
    state->handle = rules->job->mpi->comm_at((uintptr_t)&comm, 0);
    state->orderly = rules->orderly && !few && is_of_one_job(ranks);
    int machines = few ? 0 : hop_machines_of(rules->machine, ranks);
    state->machines = machines > 1 && machines < ranks->size;
    state->travels = rules->table ? hop_mpi_table_travels(rules->table, (uint32_t)ranks->size) : HOP_MPI_TRAVELS_MOST;
    state->never =
        (machines != 1 && !state->machines) || (machines == 1 && ranks->size > HOP_RANKS_MAX) ||
        (rules->table && !rules->orderly && !hop_mpi_table_has(rules->table, (uint32_t)ranks->size, state->machines));
    (void)pthread_mutex_lock(&all.lock);
    state->next = all.first;
    state->at = &all.first;
    if (all.first)
        all.first->at = &state->next;
    all.first = state;
    (void)pthread_mutex_unlock(&all.lock);
    __atomic_store_n(&state->comm, comm, __ATOMIC_RELEASE);
    return state;
}

__attribute__((noinline)) static struct hop_comm_state *find(const struct hop_comm_rules *rules, uintptr_t comm)
{
    struct hop_mpi_ranks *ranks = rules->job->mpi->ranks(comm);
    if (ranks && !ranks->own_state)
        ranks->own_state = make(rules, ranks, comm);
    if (ranks)
        __atomic_store_n(&all.last, ranks->own_state, __ATOMIC_RELEASE);
    return ranks ? ranks->own_state : NULL;
}

struct hop_comm_state *hop_comm_state_of(const struct hop_comm_rules *rules, uintptr_t comm)
{
    struct hop_comm_state *last = __atomic_load_n(&all.last, __ATOMIC_ACQUIRE);
    if (last && __atomic_load_n(&last->comm, __ATOMIC_ACQUIRE) == comm)
        return last;
    return find(rules, comm);
}

/* ---- choosing ---- */

static uint32_t place_of(const struct hop_plan_shape *shape)
{
    uint64_t hash = shape->vector_bytes * 31 + shape->kind;
    hash = ((hash * 31 + shape->reduce) * 31 + shape->type) * 31 + shape->root;
    return (uint32_t)((hash * UINT64_C(0x9e3779b97f4a7c15)) >> 56) % HOP_SEEN;
}

/* All ranks of the communicator have seen the same. */
bool hop_comm_is_worth_it(const struct hop_comm_rules *rules, struct hop_comm_state *state,
                          const struct hop_plan_shape *shape)
{
    uint32_t *seen = &state->seen[place_of(shape)];
    *seen += *seen <= TEAMS_AFTER;
    return !rules->table || *seen > TEAMS_AFTER;
}

const char *hop_comm_choose(const struct hop_comm_rules *rules, struct hop_comm_state *state,
                            const struct hop_mpi_wanted *wanted)
{
    const struct hop_plan_shape *shape = &wanted->shape;
    if (!rules->table)
        return rules->by ? rules->by : hop_algorithm_name(HOP_ALGORITHM_DEFAULT);
    if (state->chosen[shape->kind].bytes != shape->vector_bytes + 1) {
        state->chosen[shape->kind].bytes = shape->vector_bytes + 1;
        state->chosen[shape->kind].by =
            hop_mpi_table_find(rules->table, shape->kind, (uint32_t)state->ranks->size, state->machines, shape->vector_bytes);
    }
    return state->chosen[shape->kind].by;
}

/* ---- a team ---- */

static void go_on(void *mpi)
{
    ((const struct hop_mpi_shim *)mpi)->progress();
}

/* Ranks may see one name of shared memory, and still not each other, as in containers. */
static bool sees_all(const struct hop_team *team)
{
    bool sees = true;
    for (uint32_t l = 0; l < team->local_size && sees; l++)
        sees = hop_process_lives(team->board->members[l].pid, team->board->members[l].started);
    return sees;
}

static bool attaches(const char *session)
{
    struct hop_shared shared;
    bool fine = session[0] && hop_shared_attach(session, &shared, NULL) == HOP_OK;
    if (fine)
        hop_shared_finish(&shared);
    return fine;
}

/* Which not all ranks joined. */
static void drop_session(const char *session)
{
    struct hop_shared left = {.named = true};
    (void)snprintf(left.name, sizeof left.name, "%s", session);
    hop_shared_withdraw(&left);
}

static void set_up(const struct hop_mpi_shim *mpi, struct hop_comm_state *state, uintptr_t comm)
{
    const struct hop_team_options options = {
        .size = sizeof options, .timeout_s = JOIN_S, .idle = go_on, .context = (void *)(uintptr_t)mpi};
    char session[HOP_SESSION_SIZE] = "";
    struct hop_team *team = NULL;
    if (state->ranks->own == 0 && hop_session_create((uint32_t)state->ranks->size, session, NULL) != HOP_OK)
        session[0] = '\0';
    bool fine = mpi->comm_broadcast(comm, session, sizeof session) == 0 && mpi->comm_all_agree(comm, attaches(session));
    fine =
        fine && hop_team_join(session, (uint32_t)state->ranks->own, &options, &team, NULL) == HOP_OK && sees_all(team);
    if (!mpi->comm_all_agree(comm, fine)) {
        hop_team_destroy(team);
        team = NULL;
        if (session[0] && state->ranks->own == 0)
            drop_session(session);
    }
    if (team)
        team->timeout_s = INFINITY; /* ranks may compute for as long as they like */
    state->team = team;
    state->never = !team;
}

struct hop_team *hop_comm_team(const struct hop_comm_rules *rules, struct hop_comm_state *state, uintptr_t comm)
{
    if (!state->settled)
        set_up(rules->job->mpi, state, comm);
    state->settled = true;
    return state->team;
}

/* Whatever the table says of the ranks of one machine, who are not asked by themselves. */
static bool set_up_here(const struct hop_comm_rules *rules, struct hop_comm_state *state)
{
    if (state->levels.count[state->levels.own] == 1)
        return true;
    state->here = hop_comm_state_of(rules, state->levels.here);
    if (state->here)
        state->here->never = state->here->ranks->size > HOP_RANKS_MAX;
    return state->here && !state->here->never && hop_comm_team(rules, state->here, state->levels.here);
}

static void free_levels(const struct hop_comm_rules *rules, struct hop_comm_state *state)
{
    if (state->here)
        hop_comm_free(rules, state->levels.here);
    state->here = NULL;
    hop_two_levels_free(&state->levels, rules->job->mpi);
}

bool hop_comm_levels(const struct hop_comm_rules *rules, struct hop_comm_state *state, uintptr_t comm)
{
    const struct hop_mpi_shim *mpi = rules->job->mpi;
    if (state->settled)
        return !state->never;
    state->settled = true;
    state->never = !hop_two_levels_make(&state->levels, mpi, rules->machine, state->ranks, comm);
    if (!state->never && !mpi->comm_all_agree(comm, set_up_here(rules, state))) {
        free_levels(rules, state);
        state->never = true;
    }
    return !state->never;
}

static void part(struct hop_comm_state *state)
{
    hop_plans_destroy(&state->plans);
    hop_team_destroy(state->team);
    state->team = NULL;
    state->never = true;
}

void hop_comm_give_up(struct hop_comm_state *state)
{
    part(state);
}

char *hop_comm_room(struct hop_comm_state *state, int which, size_t bytes)
{
    if (state->room_bytes[which] < bytes) {
        free(state->room[which]);
        state->room[which] = malloc(bytes);
        state->room_bytes[which] = state->room[which] ? bytes : 0;
    }
    return state->room[which];
}

/* ---- the end ---- */

static void destroy(struct hop_comm_state *state)
{
    part(state);
    for (size_t i = 0; i < sizeof state->room / sizeof *state->room; i++)
        free(state->room[i]);
    (void)pthread_mutex_lock(&all.lock);
    state->next = all.unused;
    all.unused = state;
    (void)pthread_mutex_unlock(&all.lock);
}

/* Those from which all ranks have parted. */
static struct hop_comm_state *take_parted(void)
{
    struct hop_comm_state *gone = NULL;
    (void)pthread_mutex_lock(&all.lock);
    for (struct hop_comm_state **at = &all.parting, *state; (state = *at);) {
        if (state->team && !hop_team_part(state->team)) {
            at = &state->next;
            continue;
        }
        *at = state->next;
        state->next = gone;
        gone = state;
    }
    (void)pthread_mutex_unlock(&all.lock);
    return gone;
}

static void destroy_parted(void)
{
    for (struct hop_comm_state *state = take_parted(), *next; state; state = next) {
        next = state->next;
        destroy(state);
    }
}

/* Without asking the MPI, which would get to know one that goes. NULL: it has none. */
static struct hop_comm_state *find_known(uintptr_t handle)
{
    (void)pthread_mutex_lock(&all.lock);
    struct hop_comm_state *state = all.first;
    while (state && (state->handle != handle || !__atomic_load_n(&state->comm, __ATOMIC_ACQUIRE)))
        state = state->next;
    (void)pthread_mutex_unlock(&all.lock);
    return state;
}

/* It waits for nobody, since an MPI does not either: ranks free when they like. */
void hop_comm_free(const struct hop_comm_rules *rules, uintptr_t comm)
{
    struct hop_comm_state *state = find_known(rules->job->mpi->comm_at((uintptr_t)&comm, 0));
    if (!state)
        return;
    __atomic_store_n(&state->comm, 0, __ATOMIC_RELEASE);
    state->ranks->own_state = NULL;
    free_levels(rules, state);
    (void)pthread_mutex_lock(&all.lock);
    *state->at = state->next;
    if (state->next)
        state->next->at = state->at;
    state->next = all.parting;
    all.parting = state;
    (void)pthread_mutex_unlock(&all.lock);
    destroy_parted();
}

/* Other ranks may be in its last collective: it stays until the end. */
void hop_comm_dropped(void *state)
{
    if (!all.ended)
        __atomic_store_n(&((struct hop_comm_state *)state)->comm, 0, __ATOMIC_RELEASE);
}

void hop_comm_end(const struct hop_comm_rules *rules)
{
    all.ended = true;
    while (all.first) {
        struct hop_comm_state *state = all.first;
        all.first = state->next;
        hop_two_levels_free(&state->levels, rules->job->mpi);
        destroy(state);
    }
    destroy_parted();
    while (all.parting) { /* which some rank never freed */
        struct hop_comm_state *state = all.parting;
        all.parting = state->next;
        destroy(state);
    }
    while (all.unused) {
        struct hop_comm_state *state = all.unused;
        all.unused = state->next;
        free(state);
    }
    all.last = NULL;
}
