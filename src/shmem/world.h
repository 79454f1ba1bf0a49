/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * World: the PEs of an OpenSHMEM program, and where each one's symmetric memory is in this process.
 *
 *     symmetric address of this PE -> segment (heap or data) and offset -> the same offset in the other PE's segment
 *
 * The heap is shared memory reserved at the start; the data of the program (its global variables) is copied into shared
 * memory, which then lies in its place. So a put is a copy by the processor and an atomic is the processor's own.
 *
 * What a caller does wrong ends the program, as the interface has no statuses: with the place, what is wrong and what was
 * expected, and the other PEs end, too.
 */
#ifndef HOP_SHMEM_WORLD_H
#define HOP_SHMEM_WORLD_H

#include <pthread.h>
#define SHMEM_INTERNAL_PLAIN_ONLY /* the generic names are macros */
#include <shmem.h>

#include "base/base.h"
#include "run/plans.h"

enum { HOP_SHMEM_HEAP, HOP_SHMEM_DATA, HOP_SHMEM_SEGMENTS };

/* The symmetric memory of this PE; what the others have of it lies at here[pe] in this process, NULL: it does not. */
struct hop_shmem_segment {
    uintptr_t begin; /* on this PE */
    size_t bytes;
    char **here;
};

struct hop_shmem_world {
    uint32_t pe, pes; /* pes 0: not running */
    struct hop_shmem_segment segments[HOP_SHMEM_SEGMENTS];
    struct hop_team *team;
    pthread_mutex_t turn; /* the team, which one thread at a time uses */
    bool alone;           /* no launcher started this process */
    uint32_t spaces;      /* memory spaces (spaces.h) */
    bool explains;        /* says how transfers between memories go, and why */
    bool debug;           /* compares what PEs say in collectives */
};
extern struct hop_shmem_world hop_shmem;

/* Whether a PE is on another machine. */
static inline bool hop_shmem_is_far(int pe)
{
    return hop_shmem.team->node_of[pe] != hop_shmem.team->node_of[hop_shmem.pe];
}

/* ---- the end (world.c) ---- */

/* Says what is wrong, by the function's name, and ends all PEs. */
_Noreturn void hop_shmem_die(const char *who, const char *format, ...) HOP_PRINTF(2, 3);
/* Ends this PE, since another one is lost, or with what a call of the library said. */
_Noreturn void hop_shmem_fail(const char *who, const struct hop_diag *diag);
#define HOP_SHMEM_NEED(who, call)                                                                                      \
    do {                                                                                                               \
        struct hop_diag diag_;                                                                                         \
        if ((call) != HOP_OK)                                                                                          \
            hop_shmem_fail((who), &diag_);                                                                             \
    } while (0)

/* ---- teams (teams.c) ---- */

/* PEs start, start + stride ... of the world, or of those on this machine. */
struct shmem_internal_team {
    int start, stride;
    bool of_machine;
    uint32_t size, pe;
    shmem_team_t handle;
    shmem_team_config_t config;
    struct hop_team *team; /* of its members */
    pthread_mutex_t *turn, own_turn;
    struct hop_plans plans;
    uint64_t ahead; /* bytes since all of them are known to have met; several machines */
    int log_stride; /* made for a set of PEs; -1: it is a team */
    struct shmem_internal_team *next;
};
struct shmem_internal_ctx {
    struct shmem_internal_team *team;
    long options;
    struct shmem_internal_ctx *next;
};

void hop_shmem_teams_create(void);
void hop_shmem_teams_destroy(void);
/* Of a handle; ends the program where that is no team. */
struct shmem_internal_team *hop_shmem_team(shmem_team_t team, const char *who);
/* PE_start, logPE_stride and PE_size; made when they are first used, by its PEs alone. */
struct shmem_internal_team *hop_shmem_set(int start, int log_stride, int size, const char *who);
static inline int hop_shmem_team_pe(const struct shmem_internal_team *team, uint32_t pe)
{
    int at = team->start + team->stride * (int)pe;
    return team->of_machine ? (int)hop_shmem.team->rank_of[at] : at;
}
/* The PE of the world that a context means. */
int hop_shmem_ctx_pe(shmem_ctx_t ctx, int pe, const char *who);
static inline int hop_shmem_on(shmem_ctx_t ctx, int pe, const char *who)
{
    return ctx == SHMEM_CTX_DEFAULT ? pe : hop_shmem_ctx_pe(ctx, pe, who);
}

/* ---- addresses (address.c) ---- */

/* SIZE_MAX, which nothing has: they are too many. */
static inline size_t hop_shmem_bytes(size_t elements, size_t size)
{
    return elements > SIZE_MAX / size ? SIZE_MAX : elements * size;
}

/* Where all PEs have their parts of a region in this process, from malloc; NULL: it is on another machine. */
char **hop_shmem_parts(const struct hop_region *region);
/* NULL: it is not symmetric. */
const struct hop_shmem_segment *hop_shmem_segment_of(const void *address, size_t bytes);
/* Ends the program unless it finds the address, in the segment of data say. */
char *hop_shmem_seek(const void *address, size_t bytes, int pe, const char *who);
/* Where so many bytes behind a symmetric address are, of that PE; NULL: the processor does not reach them from here
 * (far.h). */
static inline char *hop_shmem_at(const void *address, size_t bytes, int pe, const char *who)
{
    const struct hop_shmem_segment *heap = &hop_shmem.segments[HOP_SHMEM_HEAP];
    uintptr_t offset = (uintptr_t)address - heap->begin;
    if ((uint32_t)pe < hop_shmem.pes && offset < heap->bytes && bytes <= heap->bytes - offset && heap->here[pe])
        return heap->here[pe] + offset;
    return hop_shmem_seek(address, bytes, pe, who);
}

/* ---- memory (heap.c, data.c) ---- */

void hop_shmem_heap_create(void);
void hop_shmem_heap_destroy(void);
/* The program's global variables become shared memory, and stay so. */
void hop_shmem_data_create(void);
void hop_shmem_data_destroy(void);

/* ---- waiting (world.c) ---- */

struct hop_shmem_wait {
    struct hop_team_wait team;
};
/* One turn of a wait for what another PE does; ends this one where another is lost. */
void hop_shmem_turn(struct hop_shmem_wait *wait);
/* The program asked for what another PE does, and does so again where that was in vain. */
void hop_shmem_polled(bool holds);
/* The same where a message is waited for: spends no time. */
void hop_shmem_look(void);

/* ---- collectives that run as schedules (team_plans.c) ---- */

/* All members call it. dest and source may be the same of a reduction, which is then in place; of a broadcast only the
 * root has a source, and only the others have a dest. */
void hop_shmem_run(struct shmem_internal_team *team, const struct hop_plan_shape *what, void *dest, const void *source,
                   const char *who);
void hop_shmem_sync_team(struct shmem_internal_team *team, const char *who);

/* A function under its two names: the profiler's one is the function, and the other one may be replaced. */
#define HOP_SHMEM_API(RESULT, NAME, PARAMETERS)                                                                        \
    RESULT shmem_##NAME PARAMETERS __attribute__((weak, alias("pshmem_" #NAME)));                                      \
    RESULT pshmem_##NAME PARAMETERS

/* The same on the default context and on any: `pe`, the last parameter, is then the PE of the world; behind the others'
 * parentheses stands what is done. */
#define HOP_SHMEM_UNPACK(...) __VA_ARGS__
#define HOP_SHMEM_ON_BOTH(RESULT, NAME, PARAMETERS, ...)                                                               \
    HOP_SHMEM_API(RESULT, NAME, (HOP_SHMEM_UNPACK PARAMETERS, int pe))                                                 \
    {                                                                                                                  \
        __VA_ARGS__;                                                                                                   \
    }                                                                                                                  \
    HOP_SHMEM_API(RESULT, ctx_##NAME, (shmem_ctx_t ctx, HOP_SHMEM_UNPACK PARAMETERS, int pe))                          \
    {                                                                                                                  \
        pe = hop_shmem_on(ctx, pe, __func__);                                                                          \
        __VA_ARGS__;                                                                                                   \
    }

#endif
