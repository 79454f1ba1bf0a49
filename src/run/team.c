/* SPDX-License-Identifier: BSD-3-Clause */
/* Team: ranks meet, and part. */
#include "run/team.h"
#include "base/random.h"
#include "base/unnamed.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x686f707465616d31) /* "hopteam1" */
#define TIMEOUT_S 10.0
#define START_S 60.0 /* that all have to start under mpirun */
enum { SPINS = 20000, SPINS_CROWDED = 4 };

enum hop_status hop_session_create(uint32_t size, char session[HOP_SESSION_SIZE], struct hop_diag *diag)
{
    struct hop_shared shared;
    if (size == 0 || size > HOP_RANKS_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "%u ranks; a team has 1 to %u", size, HOP_RANKS_MAX);
    (void)hop_shared_sweep();
    enum hop_status status = hop_shared_create(hop_board_size(size), &shared, diag);
    if (status != HOP_OK)
        return status;
    struct hop_board *board = shared.memory;
    board->size = size;
    board->magic = MAGIC;
    memcpy(session, shared.name, HOP_SESSION_SIZE);
    hop_shared_leave_named(&shared); /* the name goes when the last rank has joined */
    hop_shared_finish(&shared);
    return HOP_OK;
}

static void configure(struct hop_team *team, const struct hop_team_options *options)
{
    team->timeout_s = options->timeout_s > 0 ? options->timeout_s : TIMEOUT_S;
    team->stop = options->stop;
    team->gently = options->gently;
    team->idle = options->idle;
    team->idle_context = options->context;
}

double hop_team_crowd(uint32_t ranks, bool *each_has_one)
{
    cpu_set_t cpus;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) > 1)
        processors = CPU_COUNT(&cpus);
    *each_has_one = ranks <= (uint32_t)processors;
    return hop_max((double)ranks / hop_max((double)processors, 1), 1);
}

static void count_crowd(struct hop_team *team)
{
    bool each_has_one;
    team->crowd = hop_team_crowd(team->local_size, &each_has_one);
    team->spins = each_has_one && !team->group ? SPINS : SPINS_CROWDED; /* the group's threads have work, too */
    team->looked_at = team->local;
}

enum hop_status hop_team_room(uint64_t bytes, const char *what, struct hop_diag *diag)
{
    struct statvfs info;
    if (statvfs("/dev/shm", &info) != 0 || bytes <= (uint64_t)info.f_bavail * info.f_frsize)
        return HOP_OK; /* what is not known shows when it is taken */
    return hop_fail(diag, HOP_ERR_MEMORY,
                    "no %" PRIu64 " bytes of shared memory for %s: %" PRIu64 " are free\n"
                    "smaller buffers, fewer ranks, or a larger /dev/shm",
                    bytes, what, (uint64_t)info.f_bavail * info.f_frsize);
}

/* Attaches to the board and waits until all have. */
static enum hop_status meet(struct hop_team *team, const char *session, struct hop_diag *diag)
{
    HOP_CHECK(hop_shared_attach(session, &team->shared, diag));
    struct hop_board *board = team->shared.memory;
    if (team->shared.size < sizeof *board || board->magic != MAGIC || board->size != team->local_size ||
        team->shared.size < hop_board_size(board->size))
        return hop_fail(diag, HOP_ERR_INVALID, "%s is no session of %u ranks", session, team->local_size);
    team->board = board;
    struct hop_team_member *self = hop_team_self(team);
    int absent = HOP_MEMBER_ABSENT;
    self->pid = (long)getpid();
    self->thread = (long)gettid();
    self->started = hop_process_started(self->pid);
    if (!atomic_compare_exchange_strong(&self->phase, &absent, HOP_MEMBER_PRESENT)) {
        team->board = NULL;
        return hop_fail(diag, HOP_ERR_INVALID, "rank %u joins %s twice", team->rank, session);
    }
    if (atomic_fetch_add(&board->joined, 1) + 1 == board->size) {
        team->shared.named = true;
        hop_shared_withdraw(&team->shared);
    }
    struct hop_team_wait wait = {0};
    while (atomic_load(&board->joined) < board->size) {
        hop_board_watch_joining(board, team->rank_of, &team->joining, team->timeout_s);
        if (!hop_team_turn(team, &wait))
            return hop_team_fail(team, diag);
    }
    return HOP_OK;
}

static struct hop_team *new_team(uint32_t rank, uint32_t size)
{
    struct hop_team *team = calloc(1, sizeof *team);
    if (!team)
        return NULL;
    team->rank = rank;
    team->size = size;
    team->node_of = calloc(size, sizeof *team->node_of);
    team->local_of = calloc(size, sizeof *team->local_of);
    team->rank_of = calloc(size, sizeof *team->rank_of);
    team->watches = calloc(size, sizeof *team->watches);
    team->far_pid = calloc(size, sizeof *team->far_pid);
    if (team->node_of && team->local_of && team->rank_of && team->watches && team->far_pid)
        return team;
    hop_team_destroy(team);
    return NULL;
}

static enum hop_status hand_over(struct hop_team *team, enum hop_status status, struct hop_team **out)
{
    if (status == HOP_OK)
        *out = team;
    else
        hop_team_destroy(team);
    return status;
}

enum hop_status hop_team_join(const char *session, uint32_t rank, const struct hop_team_options *options,
                              struct hop_team **team, struct hop_diag *diag)
{
    struct hop_team_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    options = &own;
    struct hop_shared shared;
    HOP_CHECK(hop_shared_attach(session, &shared, diag));
    const struct hop_board *board = shared.memory;
    uint32_t size = shared.size >= sizeof *board && board->magic == MAGIC ? board->size : 0;
    hop_shared_finish(&shared);
    if (rank >= size)
        return hop_fail(diag, HOP_ERR_INVALID, "rank %u joins %s, a session of %u ranks", rank, session, size);
    struct hop_team *made = new_team(rank, size);
    if (!made)
        return hop_fail_memory(diag);
    for (uint32_t r = 0; r < size; r++)
        made->local_of[r] = made->rank_of[r] = r;
    made->nodes = 1;
    made->local = rank;
    made->local_size = size;
    configure(made, options);
    count_crowd(made);
    return hand_over(made, meet(made, session, diag), team);
}

/* ---- over a group ---- */

/* Ranks of one place are one node; nodes are numbered as they appear. */
static void number_nodes(struct hop_team *team, const uint32_t *place)
{
    for (uint32_t r = 0; r < team->size; r++) {
        uint32_t same = 0;
        while (same < r && place[same] != place[r])
            same++;
        team->node_of[r] = same < r ? team->node_of[same] : team->nodes++;
    }
    for (uint32_t r = 0; r < team->size; r++) {
        uint32_t before = 0;
        for (uint32_t o = 0; o < r; o++)
            before += team->node_of[o] == team->node_of[r];
        team->local_of[r] = before;
        if (team->node_of[r] == team->node_of[team->rank])
            team->rank_of[team->local_size++] = r;
    }
    team->local = team->local_of[team->rank];
    count_crowd(team);
}

/* A team's number is who its ranks are and how many teams one of them had before, at most; until they have agreed on that,
 * JOINING. */
#define JOINING UINT32_MAX
static void begin_joining(struct hop_team *team, struct hop_group *group)
{
    uint64_t hash = team->size;
    for (uint32_t r = 0; r < team->size; r++)
        hash = hop_draw_from(hash ^ (uint64_t)hop_team_in_group(team, r));
    team->group = group;
    team->channel = hash << 32 | JOINING;
}

struct joining {
    char session[HOP_SESSION_SIZE];
    uint32_t channels;
};

/* The first rank of each machine makes its session. */
static enum hop_status meet_by_messages(struct hop_team *team, struct hop_diag *diag)
{
    struct joining mine = {.channels = __atomic_load_n(&team->group->channels, __ATOMIC_RELAXED)};
    struct joining *all = calloc(team->size, sizeof *all);
    enum hop_status status = all ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK && team->local == 0)
        status = hop_session_create(team->local_size, mine.session, diag);
    if (status == HOP_OK)
        status = hop_team_gather(team, &mine, all, sizeof mine, diag);
    for (uint32_t r = 0; r < team->size && status == HOP_OK; r++)
        mine.channels = all[r].channels > mine.channels ? all[r].channels : mine.channels;
    if (status == HOP_OK) {
        team->channel = (team->channel & ~(uint64_t)JOINING) | mine.channels;
        __atomic_store_n(&team->group->channels, mine.channels + 1, __ATOMIC_RELAXED);
        status = meet(team, all[team->rank_of[0]].session, diag);
    }
    if (status == HOP_OK && team->nodes == 1)
        team->group = NULL;
    free(all);
    return status;
}

/* What every rank says of its place: the host's name and, behind it, node_size. */
enum { NODE_SIZE_AT = HOP_SLOT_BYTES / 2 };
_Static_assert(HOST_NAME_MAX < NODE_SIZE_AT, "a host's name fits");

static enum hop_status agree_on_nodes(const char *places, uint32_t ranks, struct hop_diag *diag)
{
    uint32_t first, own;
    memcpy(&first, places + NODE_SIZE_AT, sizeof first);
    for (uint32_t r = 1; r < ranks; r++) {
        memcpy(&own, places + (size_t)r * HOP_SLOT_BYTES + NODE_SIZE_AT, sizeof own);
        if (own != first)
            return hop_fail(diag, HOP_ERR_INVALID,
                            "rank %u has another size of a node than rank 0: %u, not %u\nthe same on all ranks", r, own,
                            first);
    }
    return HOP_OK;
}

/* By the hosts' names, or by numbers. */
static enum hop_status find_nodes(struct hop_team *team, uint32_t node_size, struct hop_diag *diag)
{
    char *all = calloc(team->size, HOP_SLOT_BYTES), mine[HOP_SLOT_BYTES] = "";
    uint32_t *place = calloc(team->size, sizeof *place);
    enum hop_status status = all && place ? HOP_OK : hop_fail_memory(diag);
    (void)gethostname(mine, HOST_NAME_MAX);
    memcpy(mine + NODE_SIZE_AT, &node_size, sizeof node_size);
    if (status == HOP_OK)
        status = hop_team_gather(team, mine, all, sizeof mine, diag);
    if (status == HOP_OK)
        status = agree_on_nodes(all, team->size, diag);
    for (uint32_t r = 0; r < team->size && status == HOP_OK; r++) {
        place[r] = node_size ? r / node_size : 0;
        while (!node_size && place[r] < r &&
               memcmp(all + (size_t)place[r] * HOP_SLOT_BYTES, all + (size_t)r * HOP_SLOT_BYTES, HOP_SLOT_BYTES) != 0)
            place[r]++;
    }
    if (status == HOP_OK)
        number_nodes(team, place);
    free(all);
    free(place);
    return status;
}

enum hop_status hop_team_join_group(struct hop_group *group, uint32_t node_size, const struct hop_team_options *options,
                                    struct hop_team **team, struct hop_diag *diag)
{
    struct hop_team_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    int ranks = hop_group_size(group);
    if (ranks > (int)HOP_RANKS_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "%d ranks; a team has at most %u", ranks, HOP_RANKS_MAX);
    struct hop_team *made = new_team((uint32_t)hop_group_rank(group), (uint32_t)ranks);
    if (!made)
        return hop_fail_memory(diag);
    begin_joining(made, group);
    configure(made, &own); /* from here on it may be stopped */
    enum hop_status status = find_nodes(made, node_size, diag);
    return hand_over(made, status == HOP_OK ? meet_by_messages(made, diag) : status, team);
}

enum hop_status hop_team_join_some(const struct hop_team *of, const uint32_t *ranks, uint32_t size, uint32_t rank,
                                   const struct hop_team_options *options, struct hop_team **team,
                                   struct hop_diag *diag)
{
    struct hop_team *made = new_team(rank, size);
    uint32_t *place = calloc(size, sizeof *place);
    if (made)
        made->group_rank = calloc(size, sizeof *made->group_rank);
    if (!made || !place || !made->group_rank) {
        free(place);
        return hand_over(made, hop_fail_memory(diag), team);
    }
    for (uint32_t r = 0; r < size; r++) {
        made->group_rank[r] = (uint32_t)hop_team_in_group(of, ranks[r]);
        place[r] = of->node_of[ranks[r]];
    }
    begin_joining(made, of->group);
    configure(made, options);
    number_nodes(made, place);
    free(place);
    return hand_over(made, meet_by_messages(made, diag), team);
}

/* ---- as this process was started ---- */

static enum hop_status read_node_size(uint32_t *node_size, struct hop_diag *diag)
{
    const char *text = getenv("HOPCAST_NODE_SIZE");
    char *end = NULL;
    double size = text && *text ? hop_text_number(text, &end) : 0;
    if (end && (end == text || *end || !(size >= 0 && size <= HOP_RANKS_MAX && size == (uint32_t)size)))
        return hop_fail(diag, HOP_ERR_INVALID, "HOPCAST_NODE_SIZE=%s is no number of ranks\n0 to %u", text,
                        HOP_RANKS_MAX);
    *node_size = (uint32_t)size;
    return HOP_OK;
}

static enum hop_status join_as_launched(const char *session, const char *rank, const struct hop_team_options *options,
                                        struct hop_team **team, struct hop_diag *diag)
{
    (void)hop_unnamed_use(hop_unnamed_is(session)); /* as its launcher does */
    enum hop_status status = hop_team_join(session, (uint32_t)strtoul(rank, NULL, 10), options, team, diag);
    /* A program that this one starts is not this rank. */
    (void)unsetenv(HOP_LAUNCH_SESSION);
    (void)unsetenv(HOP_LAUNCH_RANK);
    return status;
}

enum hop_status hop_team_start(const struct hop_team_options *options, struct hop_group **group, struct hop_team **team,
                               struct hop_diag *diag)
{
    const char *session = getenv(HOP_LAUNCH_SESSION), *rank = getenv(HOP_LAUNCH_RANK);
    char alone[HOP_SESSION_SIZE];
    uint32_t node_size = 0;
    if (session && rank)
        return join_as_launched(session, rank, options, team, diag);
    HOP_CHECK(read_node_size(&node_size, diag));
    HOP_CHECK(hop_group_create(&(struct hop_group_options){.start_s = START_S}, group, diag));
    if (hop_group_size(*group) > 1)
        return hop_team_join_group(*group, node_size, options, team, diag);
    HOP_CHECK(hop_session_create(1, alone, diag));
    return hop_team_join(alone, 0, options, team, diag);
}

/* ---- parting ---- */

enum hop_status hop_team_finish(struct hop_team *team, struct hop_diag *diag)
{
    if (team->finished)
        return HOP_OK;
    if (team->guest)
        return hop_fail(diag, HOP_ERR_INVALID, "a card of this team is still open\nhop_apenet_close before");
    enum hop_status status = hop_team_barrier(team, diag);
    if (status == HOP_OK)
        atomic_store(&hop_team_self(team)->phase, HOP_MEMBER_FINISHED);
    team->finished = status == HOP_OK;
    return status;
}

enum hop_status hop_team_leave(struct hop_team *team, struct hop_diag *diag)
{
    struct hop_team_wait wait = {0};
    const unsigned all = ++team->left * team->local_size;
    atomic_store(&hop_team_self(team)->leaves, true);
    (void)atomic_fetch_add(&team->board->leavers, 1);
    while ((int)(atomic_load(&team->board->leavers) - all) < 0) {
        if (!hop_team_turn(team, &wait))
            return hop_team_fail(team, diag);
    }
    return HOP_OK;
}

bool hop_team_part(struct hop_team *team)
{
    if (!team->parting)
        (void)atomic_fetch_add(&team->board->parted, 1);
    team->parting = true;
    if (!team->finished && atomic_load(&team->board->parted) == team->local_size) {
        atomic_store(&hop_team_self(team)->phase, HOP_MEMBER_FINISHED);
        team->finished = true;
    }
    return team->finished;
}

void hop_team_begin_again(struct hop_team *team)
{
    hop_regions_finish(team);
    team->regions = NULL;
    team->region_count = 0;
    team->finished = false;
    team->begun_again = true;
    atomic_store(&hop_team_self(team)->leaves, false);
    atomic_store(&hop_team_self(team)->phase, HOP_MEMBER_PRESENT);
}

void hop_team_destroy(struct hop_team *team)
{
    if (!team)
        return;
    if (team->guest)
        team->leave(team->guest);
    if (team->board && !team->finished)
        atomic_store(&hop_team_self(team)->phase, HOP_MEMBER_LEFT);
    hop_shared_finish(&team->shared);
    if (team->failed)
        (void)hop_shared_sweep(); /* of ranks that were lost */
    free(team->node_of);
    free(team->local_of);
    free(team->rank_of);
    free(team->group_rank);
    free(team->watches);
    free(team->far_pid);
    hop_regions_finish(team);
    free(team);
}

uint32_t hop_team_rank(const struct hop_team *team)
{
    return team->rank;
}

uint32_t hop_team_size(const struct hop_team *team)
{
    return team->size;
}

uint32_t hop_team_node(const struct hop_team *team, uint32_t rank)
{
    return rank < team->size ? team->node_of[rank] : 0;
}
