/* SPDX-License-Identifier: BSD-3-Clause */
/* Team: ranks meet, and part. */
#include "run/team.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x686f707465616d31) /* "hopteam1" */
#define TIMEOUT_S 10.0
#define ATTEND_S 0.1
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
    team->spins = each_has_one ? SPINS : SPINS_CROWDED;
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

enum hop_status hop_team_gather(struct hop_team *team, const void *mine, void *all, size_t size, struct hop_diag *diag)
{
    if (!team->group)
        return hop_team_exchange(team, mine, all, size, diag);
    memcpy((char *)all + team->rank * size, mine, size);
    for (uint32_t to = 0; to < team->size; to++) {
        enum hop_status status =
            to == team->rank ? HOP_OK : hop_group_send(team->group, (int)to, HOP_TAG_GATHER, mine, size, diag);
        if (status != HOP_OK)
            return status;
    }
    for (uint32_t left = team->size - 1; left > 0;) {
        struct hop_group_message message;
        if (!hop_group_receive_wanted(team->group, HOP_TAG_GATHER, NULL, NULL, ATTEND_S, &message)) {
            if (!hop_team_attend(team))
                return hop_team_fail(team, diag);
            continue;
        }
        if (message.size_bytes == size) {
            memcpy((char *)all + (size_t)message.from * size, message.bytes, size);
            left--;
        }
        free(message.bytes);
    }
    return hop_team_barrier(team, diag); /* a fast rank's next message must not be taken for this one's */
}

/* Ranks of one place are one node; nodes are numbered as they appear. */
static void number_nodes(struct hop_team *team, const char *places, uint32_t node_size)
{
    for (uint32_t r = 0; r < team->size; r++) {
        uint32_t same = 0;
        while (same < r && (node_size ? same / node_size != r / node_size
                                      : memcmp(places + (size_t)same * HOP_SLOT_BYTES,
                                               places + (size_t)r * HOP_SLOT_BYTES, HOP_SLOT_BYTES) != 0))
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

enum hop_status hop_team_join_group(struct hop_group *group, uint32_t node_size, const struct hop_team_options *options,
                                    struct hop_team **team, struct hop_diag *diag)
{
    struct hop_team_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    options = &own;
    int ranks = hop_group_size(group);
    if (ranks > (int)HOP_RANKS_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "%d ranks; a team has at most %u", ranks, HOP_RANKS_MAX);
    struct hop_team *made = new_team((uint32_t)hop_group_rank(group), (uint32_t)ranks);
    char *all = calloc((size_t)ranks, HOP_SLOT_BYTES), mine[HOP_SLOT_BYTES] = "", session[HOP_SESSION_SIZE] = "";
    enum hop_status status = made && all ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK) {
        made->group = group;
        configure(made, options); /* from here on it may be stopped */
        (void)gethostname(mine, HOST_NAME_MAX);
        memcpy(mine + NODE_SIZE_AT, &node_size, sizeof node_size);
        status = hop_team_gather(made, mine, all, sizeof mine, diag);
    }
    if (status == HOP_OK)
        status = agree_on_nodes(all, made->size, diag);
    if (status == HOP_OK) {
        number_nodes(made, all, node_size);
        count_crowd(made);
        if (made->local == 0)
            status = hop_session_create(made->local_size, session, diag);
    }
    if (status == HOP_OK) {
        memset(mine, 0, sizeof mine);
        memcpy(mine, session, sizeof session);
        status = hop_team_gather(made, mine, all, sizeof mine, diag);
    }
    if (status == HOP_OK)
        status = meet(made, all + (size_t)made->rank_of[0] * HOP_SLOT_BYTES, diag);
    if (status == HOP_OK)
        made->group = made->nodes > 1 ? group : NULL;
    free(all);
    if (!made)
        return status;
    return hand_over(made, status, team);
}

/* ---- parting ---- */

enum hop_status hop_team_finish(struct hop_team *team, struct hop_diag *diag)
{
    if (team->finished)
        return HOP_OK;
    enum hop_status status = hop_team_barrier(team, diag);
    if (status == HOP_OK)
        atomic_store(&hop_team_self(team)->phase, HOP_MEMBER_FINISHED);
    team->finished = status == HOP_OK;
    return status;
}

void hop_team_destroy(struct hop_team *team)
{
    if (!team)
        return;
    if (team->board && !team->finished)
        atomic_store(&hop_team_self(team)->phase, HOP_MEMBER_LEFT);
    hop_shared_finish(&team->shared);
    if (team->failed)
        (void)hop_shared_sweep(); /* of ranks that were lost */
    free(team->node_of);
    free(team->local_of);
    free(team->rank_of);
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
