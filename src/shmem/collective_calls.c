/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of teams, and of sets of PEs by their older names: barriers, broadcast, collect, alltoall, reductions and
 * scans.
 *
 * What `make` has as a schedule runs as one (team_plans.c). Parts of different lengths and strided ones are put to where they
 * belong. What no schedule adds up (long double, complex numbers) is gathered, and added up by each PE in the same order.
 */
#include "shmem/world.h"

#include <complex.h>

typedef struct shmem_internal_team team_type;

/* ---- what they do ---- */

static void broadcast(team_type *team, void *dest, const void *source, uint64_t bytes, int root, bool to_root,
                      const char *who)
{
    if (root < 0 || (uint32_t)root >= team->size)
        hop_shmem_die(who, "the root is PE %d of the team\n0 to %u", root, team->size - 1);
    const struct hop_plan_shape shape = {
        .kind = HOP_COLLECTIVE_BROADCAST, .type = HOP_TYPE_U8, .root = (uint32_t)root, .vector_bytes = bytes};
    if (bytes > 0 && team->size > 1)
        hop_shmem_run(team, &shape, dest, source, who);
    if (to_root && team->pe == (uint32_t)root && dest != source)
        memmove(dest, source, bytes);
}

static void *room(uint64_t bytes, const char *who)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        hop_shmem_die(who, "out of memory");
    return memory;
}

static bool overlap(const char *a, uint64_t a_bytes, const char *b, uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

/* Of so many bytes for each PE, or from each. A source within dest, which the specification forbids and programs
 * have all the same, is read as it was. */
static void exchange(team_type *team, enum hop_collective_kind kind, void *dest, const void *source, uint64_t bytes,
                     const char *who)
{
    const struct hop_plan_shape shape = {
        .kind = kind, .type = HOP_TYPE_U8, .vector_bytes = bytes * team->size};
    uint64_t in = kind == HOP_COLLECTIVE_ALLTOALL ? shape.vector_bytes : bytes;
    if (bytes == 0)
        return;
    if (team->size == 1) {
        memmove(dest, source, bytes);
        return;
    }
    void *was = NULL;
    if (overlap(dest, shape.vector_bytes, source, in))
        source = was = memcpy(room(in, who), source, in);
    hop_shmem_run(team, &shape, dest, source, who);
    free(was);
}

/* The lengths tell where each part belongs, and that all PEs are here. */
static void collect(team_type *team, void *dest, const void *source, uint64_t bytes, const char *who)
{
    uint64_t *lengths = room(team->size * sizeof *lengths, who), before = 0;
    exchange(team, HOP_COLLECTIVE_ALLGATHER, lengths, &bytes, sizeof bytes, who);
    for (uint32_t pe = 0; pe < team->pe; pe++)
        before += lengths[pe];
    for (uint32_t i = 0; i < team->size && bytes > 0; i++) {
        int pe = hop_shmem_team_pe(team, (team->pe + i) % team->size);
        pshmem_putmem((char *)dest + before, source, bytes, pe);
    }
    free(lengths);
    pshmem_quiet();
    hop_shmem_sync_team(team, who);
}

static void exchange_strided(team_type *team, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t size,
                             size_t n, const char *who)
{
    hop_shmem_sync_team(team, who);
    for (uint32_t i = 0; i < team->size && n > 0; i++) {
        uint32_t pe = (team->pe + i) % team->size;
        const char *from = source + (ptrdiff_t)(pe * n * size) * sst;
        char *to = dest + (ptrdiff_t)(team->pe * n * size) * dst;
        for (size_t k = 0; k < n; k++)
            pshmem_putmem(to + (ptrdiff_t)(k * size) * dst, from + (ptrdiff_t)(k * size) * sst, size,
                          hop_shmem_team_pe(team, pe));
    }
    pshmem_quiet();
    hop_shmem_sync_team(team, who);
}

/* of: what adds the second to the first, n elements each; NULL: there is a schedule for it. */
typedef void add_function(void *sum, const void *part, size_t n);
static void reduce(team_type *team, enum hop_reduce op, enum hop_type type, add_function *add, size_t size, void *dest,
                   const void *source, size_t n, const char *who)
{
    const struct hop_plan_shape shape = {
        .kind = HOP_COLLECTIVE_ALLREDUCE, .reduce = op, .type = type, .vector_bytes = n * size};
    if (n == 0)
        return;
    if (team->size > 1 && type != HOP_TYPE_COUNT) {
        hop_shmem_run(team, &shape, dest, source, who);
        return;
    }
    char *parts = room(team->size * n * size, who);
    exchange(team, HOP_COLLECTIVE_ALLGATHER, parts, source, n * size, who);
    for (uint32_t pe = 1; pe < team->size; pe++)
        add(parts, parts + pe * n * size, n);
    memcpy(dest, parts, n * size);
    free(parts);
}

/* Those before this PE, and this one itself where it is inclusive; the first one's exclusive sum is 0. */
static void scan(team_type *team, add_function *add, size_t size, bool inclusive, void *dest, const void *source,
                 size_t n, const char *who)
{
    char *parts = room(team->size * n * size, who);
    uint32_t count = team->pe + inclusive;
    exchange(team, HOP_COLLECTIVE_ALLGATHER, parts, source, n * size, who);
    for (uint32_t pe = 1; pe < count; pe++)
        add(parts, parts + pe * n * size, n);
    if (count > 0)
        memcpy(dest, parts, n * size);
    else
        memset(dest, 0, n * size);
    free(parts);
}

/* ---- barriers ---- */

HOP_SHMEM_API(void, sync_all, (void))
{
    hop_shmem_sync_team(hop_shmem_team(SHMEM_TEAM_WORLD, __func__), __func__);
}

HOP_SHMEM_API(void, barrier_all, (void))
{
    pshmem_quiet();
    hop_shmem_sync_team(hop_shmem_team(SHMEM_TEAM_WORLD, __func__), __func__);
}

HOP_SHMEM_API(int, team_sync, (shmem_team_t team))
{
    if (team == SHMEM_TEAM_INVALID)
        return -1;
    hop_shmem_sync_team(hop_shmem_team(team, __func__), __func__);
    return 0;
}

HOP_SHMEM_API(void, sync, (int PE_start, int logPE_stride, int PE_size, long *pSync))
{
    (void)pSync;
    hop_shmem_sync_team(hop_shmem_set(PE_start, logPE_stride, PE_size, __func__), __func__);
}

HOP_SHMEM_API(void, barrier, (int PE_start, int logPE_stride, int PE_size, long *pSync))
{
    (void)pSync;
    pshmem_quiet();
    hop_shmem_sync_team(hop_shmem_set(PE_start, logPE_stride, PE_size, __func__), __func__);
}

/* ---- moving ---- */

/* Anything serves here, but not in every library. */
static void both_symmetric(const void *dest, const void *source, const char *who)
{
    (void)hop_shmem_at(dest, 1, (int)hop_shmem.pe, who);
    (void)hop_shmem_at(source, 1, (int)hop_shmem.pe, who);
}

#define TEAM hop_shmem_team(team, __func__)
#define VALID(CALL)                                                                                                    \
    {                                                                                                                  \
        if (team == SHMEM_TEAM_INVALID)                                                                                \
            return -1;                                                                                                 \
        if (hop_shmem.debug && n > 0)                                                                                  \
            both_symmetric(dest, source, __func__);                                                                    \
        CALL;                                                                                                          \
        return 0;                                                                                                      \
    }
#define MOVING(TYPE, SIZE, BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS)                                          \
    HOP_SHMEM_API(int, BROADCAST, (shmem_team_t team, TYPE * dest, const TYPE *source, size_t n, int root))            \
    VALID(broadcast(TEAM, dest, source, hop_shmem_bytes(n, SIZE), root, true, __func__))                               \
    HOP_SHMEM_API(int, COLLECT, (shmem_team_t team, TYPE * dest, const TYPE *source, size_t n))                        \
    VALID(collect(TEAM, dest, source, hop_shmem_bytes(n, SIZE), __func__))                                             \
    HOP_SHMEM_API(int, FCOLLECT, (shmem_team_t team, TYPE * dest, const TYPE *source, size_t n))                       \
    VALID(exchange(TEAM, HOP_COLLECTIVE_ALLGATHER, dest, source, hop_shmem_bytes(n, SIZE), __func__))                  \
    HOP_SHMEM_API(int, ALLTOALL, (shmem_team_t team, TYPE * dest, const TYPE *source, size_t n))                       \
    VALID(exchange(TEAM, HOP_COLLECTIVE_ALLTOALL, dest, source, hop_shmem_bytes(n, SIZE), __func__))                   \
    HOP_SHMEM_API(int, ALLTOALLS,                                                                                      \
                  (shmem_team_t team, TYPE * dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t n))        \
    VALID(exchange_strided(TEAM, (char *)dest, (const char *)source, dst, sst, SIZE, n, __func__))
#define OF_TYPE(TYPE, NAME, ...)                                                                                       \
    MOVING(TYPE, sizeof(TYPE), NAME##_broadcast, NAME##_collect, NAME##_fcollect, NAME##_alltoall, NAME##_alltoalls)
SHMEM_INTERNAL_RMA_TYPES(OF_TYPE, 0)
MOVING(void, 1, broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem)

#define SET hop_shmem_set(PE_start, logPE_stride, PE_size, __func__)
#define OF_SET int PE_start, int logPE_stride, int PE_size, long *pSync
#define ON_SET(CALL)                                                                                                   \
    {                                                                                                                  \
        (void)pSync;                                                                                                   \
        CALL;                                                                                                          \
    }
#define OF_BITS(BITS)                                                                                                  \
    HOP_SHMEM_API(void, broadcast##BITS, (void *dest, const void *source, size_t n, int root, OF_SET))                 \
    ON_SET(broadcast(SET, dest, source, hop_shmem_bytes(n, BITS / 8), root, false, __func__))                          \
    HOP_SHMEM_API(void, collect##BITS, (void *dest, const void *source, size_t n, OF_SET))                             \
    ON_SET(collect(SET, dest, source, hop_shmem_bytes(n, BITS / 8), __func__))                                         \
    HOP_SHMEM_API(void, fcollect##BITS, (void *dest, const void *source, size_t n, OF_SET))                            \
    ON_SET(exchange(SET, HOP_COLLECTIVE_ALLGATHER, dest, source, hop_shmem_bytes(n, BITS / 8), __func__))              \
    HOP_SHMEM_API(void, alltoall##BITS, (void *dest, const void *source, size_t n, OF_SET))                            \
    ON_SET(exchange(SET, HOP_COLLECTIVE_ALLTOALL, dest, source, hop_shmem_bytes(n, BITS / 8), __func__))               \
    HOP_SHMEM_API(void, alltoalls##BITS,                                                                               \
                  (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, OF_SET))                    \
    ON_SET(exchange_strided(SET, dest, source, dst, sst, BITS / 8, n, __func__))
OF_BITS(32)
OF_BITS(64)

/* ---- reductions ---- */

#define WHOLE(TYPE)                                                                                                    \
    (sizeof(TYPE) == 1   ? ((TYPE)-1 < (TYPE)1 ? HOP_TYPE_I8 : HOP_TYPE_U8)                                            \
     : sizeof(TYPE) == 2 ? ((TYPE)-1 < (TYPE)1 ? HOP_TYPE_I16 : HOP_TYPE_U16)                                          \
     : sizeof(TYPE) == 4 ? ((TYPE)-1 < (TYPE)1 ? HOP_TYPE_I32 : HOP_TYPE_U32)                                          \
                         : ((TYPE)-1 < (TYPE)1 ? HOP_TYPE_I64 : HOP_TYPE_U64))
/* The element of schedules that a type of C is; HOP_TYPE_COUNT: none. */
static const enum hop_type type_of_float = HOP_TYPE_F32, type_of_double = HOP_TYPE_F64,
                           type_of_longdouble = HOP_TYPE_COUNT, type_of_complexf = HOP_TYPE_COUNT,
                           type_of_complexd = HOP_TYPE_COUNT;
#define WHOLE_TYPE(TYPE, NAME) static const enum hop_type type_of_##NAME = WHOLE(TYPE);
WHOLE_TYPE(char, char)
WHOLE_TYPE(signed char, schar)
WHOLE_TYPE(short, short)
WHOLE_TYPE(int, int)
WHOLE_TYPE(long, long)
WHOLE_TYPE(long long, longlong)
WHOLE_TYPE(unsigned char, uchar)
WHOLE_TYPE(unsigned short, ushort)
WHOLE_TYPE(unsigned int, uint)
WHOLE_TYPE(unsigned long, ulong)
WHOLE_TYPE(unsigned long long, ulonglong)
#define WHOLE_TYPE_OF(TYPE, NAME, ...) WHOLE_TYPE(TYPE, NAME)
SHMEM_INTERNAL_SIZED_TYPES(WHOLE_TYPE_OF, 0)
WHOLE_TYPE(ptrdiff_t, ptrdiff)

#define ADD_sum(a, b) ((a) + (b))
#define ADD_prod(a, b) ((a) * (b))
#define ADD_min(a, b) ((b) < (a) ? (b) : (a))
#define ADD_max(a, b) ((b) > (a) ? (b) : (a))
#define ADD_and(a, b) ((a) & (b))
#define ADD_or(a, b) ((a) | (b))
#define ADD_xor(a, b) ((a) ^ (b))
#define REDUCE_sum HOP_REDUCE_SUM
#define REDUCE_prod HOP_REDUCE_PROD
#define REDUCE_min HOP_REDUCE_MIN
#define REDUCE_max HOP_REDUCE_MAX
#define REDUCE_and HOP_REDUCE_AND
#define REDUCE_or HOP_REDUCE_OR
#define REDUCE_xor HOP_REDUCE_XOR
#define REDUCTION(TYPE, NAME, OP, ...)                                                                                 \
    static void NAME##_##OP(void *sum, const void *part, size_t n)                                                     \
    {                                                                                                                  \
        TYPE *to = sum;                                                                                                \
        const TYPE *from = part;                                                                                       \
        for (size_t i = 0; i < n; i++)                                                                                 \
            to[i] = (TYPE)ADD_##OP(to[i], from[i]);                                                                    \
    }                                                                                                                  \
    HOP_SHMEM_API(int, NAME##_##OP##_reduce, (shmem_team_t team, TYPE * dest, const TYPE *source, size_t n))           \
    VALID(reduce(TEAM, REDUCE_##OP, type_of_##NAME, NAME##_##OP, sizeof(TYPE), dest, source, n, __func__))
SHMEM_INTERNAL_BITS_REDUCE_TYPES(REDUCTION, and)
SHMEM_INTERNAL_BITS_REDUCE_TYPES(REDUCTION, or)
SHMEM_INTERNAL_BITS_REDUCE_TYPES(REDUCTION, xor)
SHMEM_INTERNAL_RMA_TYPES(REDUCTION, min)
SHMEM_INTERNAL_RMA_TYPES(REDUCTION, max)
SHMEM_INTERNAL_SUM_TYPES(REDUCTION, sum)
SHMEM_INTERNAL_SUM_TYPES(REDUCTION, prod)

#define OLD_REDUCTION(TYPE, NAME, OP, ...)                                                                             \
    HOP_SHMEM_API(void, NAME##_##OP##_to_all, (TYPE * dest, const TYPE *source, int n, int PE_start, int logPE_stride, \
                                               int PE_size, TYPE *pWrk, long *pSync))                                  \
    ON_SET((void)pWrk; reduce(SET, REDUCE_##OP, type_of_##NAME, NAME##_##OP, sizeof(TYPE), dest, source,               \
                              n > 0 ? (size_t)n : 0, __func__))
#define OLD_BITS(TYPE, NAME, OP, ...)                                                                                  \
    HOP_SHMEM_API(void, NAME##_##OP##_to_all, (TYPE * dest, const TYPE *source, int n, int PE_start, int logPE_stride, \
                                               int PE_size, TYPE *pWrk, long *pSync))                                  \
    ON_SET((void)pWrk; reduce(SET, REDUCE_##OP, type_of_##NAME, NULL, sizeof(TYPE), dest, source,                      \
                              n > 0 ? (size_t)n : 0, __func__))
SHMEM_INTERNAL_OLD_BITS_TYPES(OLD_BITS, and)
SHMEM_INTERNAL_OLD_BITS_TYPES(OLD_BITS, or)
SHMEM_INTERNAL_OLD_BITS_TYPES(OLD_BITS, xor)
SHMEM_INTERNAL_OLD_MINMAX_TYPES(OLD_REDUCTION, min)
SHMEM_INTERNAL_OLD_MINMAX_TYPES(OLD_REDUCTION, max)
SHMEM_INTERNAL_OLD_SUM_TYPES(OLD_REDUCTION, sum)
SHMEM_INTERNAL_OLD_SUM_TYPES(OLD_REDUCTION, prod)

#define SCAN(TYPE, NAME, ...)                                                                                          \
    HOP_SHMEM_API(int, NAME##_sum_inscan, (shmem_team_t team, TYPE * dest, const TYPE *source, size_t n))              \
    VALID(scan(TEAM, NAME##_sum, sizeof(TYPE), true, dest, source, n, __func__))                                       \
    HOP_SHMEM_API(int, NAME##_sum_exscan, (shmem_team_t team, TYPE * dest, const TYPE *source, size_t n))              \
    VALID(scan(TEAM, NAME##_sum, sizeof(TYPE), false, dest, source, n, __func__))
SHMEM_INTERNAL_SUM_TYPES(SCAN, 0)
