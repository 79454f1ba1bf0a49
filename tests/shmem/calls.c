/* SPDX-License-Identifier: BSD-3-Clause */
/* OpenSHMEM's calls among a few PEs, each against what one process computes by itself; briefly: of three types, once. calls
 * [briefly [PEs of a machine]], else HOPCAST_NODE_SIZE, else all. Exit status 1: some were wrong. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 37, TURNS = 60 };

static int wrong, me, pes;
#define CHECK(holds)                                                                                                   \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            fprintf(stderr, "PE %d of %d, line %d: %s does not hold\n", me, pes, __LINE__, #holds);                    \
            wrong++;                                                                                                   \
        }                                                                                                              \
    } while (0)

/* What PE p has at i, small enough that sums and products of few PEs are exact in every type. */
static int value(int p, int i)
{
    return 1 + (p * 3 + i) % 3;
}

/* ---- every type: put, get, one element, strides, collectives ---- */

#define TRY_TYPE(TYPE, NAME, ...)                                                                                      \
    static void try_##NAME(void)                                                                                       \
    {                                                                                                                  \
        static TYPE data[4 * N];                                                                                       \
        TYPE *heap = shmem_malloc((size_t)pes * N * sizeof(TYPE)), *own = shmem_malloc(N * sizeof(TYPE)), local[N];    \
        int next = (me + 1) % pes, last = (me + pes - 1) % pes, ok = 1;                                                \
        for (int i = 0; i < N; i++)                                                                                    \
            own[i] = local[i] = (TYPE)value(me, i);                                                                    \
        memset(data, 0, sizeof data);                                                                                  \
        shmem_barrier_all();                                                                                           \
        shmem_##NAME##_put(data, local, N, next);                                                                      \
        shmem_##NAME##_iput(data + N, local, 2, 3, 5, next);                                                           \
        shmem_##NAME##_p(&data[4 * N - 1], local[7], next);                                                            \
        shmem_barrier_all();                                                                                           \
        for (int i = 0; i < N; i++)                                                                                    \
            ok = ok && data[i] == (TYPE)value(last, i);                                                                \
        for (int i = 0; i < 5; i++)                                                                                    \
            ok = ok && data[N + 2 * i] == (TYPE)value(last, 3 * i) && data[N + 2 * i + 1] == (TYPE)0;                  \
        ok = ok && data[4 * N - 1] == (TYPE)value(last, 7) && shmem_##NAME##_g(&own[5], next) == (TYPE)value(next, 5); \
        memset(local, 0, sizeof local);                                                                                \
        shmem_##NAME##_get_nbi(local, own, N, last);                                                                   \
        shmem_quiet();                                                                                                 \
        for (int i = 0; i < N; i++)                                                                                    \
            ok = ok && local[i] == (TYPE)value(last, i);                                                               \
        shmem_##NAME##_fcollect(SHMEM_TEAM_WORLD, heap, own, N);                                                       \
        for (int p = 0; p < pes; p++)                                                                                  \
            for (int i = 0; i < N; i++)                                                                                \
                ok = ok && heap[p * N + i] == (TYPE)value(p, i);                                                       \
        shmem_barrier_all();                                                                                           \
        shmem_##NAME##_broadcast(SHMEM_TEAM_WORLD, data, own, N, pes - 1);                                             \
        for (int i = 0; i < N; i++)                                                                                    \
            ok = ok && data[i] == (TYPE)value(pes - 1, i);                                                             \
        shmem_barrier_all();                                                                                           \
        shmem_##NAME##_max_reduce(SHMEM_TEAM_WORLD, data, own, N);                                                     \
        shmem_##NAME##_sum_reduce(SHMEM_TEAM_WORLD, own, own, N);                                                      \
        for (int i = 0; i < N; i++) {                                                                                  \
            int most = 0, sum = 0;                                                                                     \
            for (int p = 0; p < pes; p++) {                                                                            \
                most = value(p, i) > most ? value(p, i) : most;                                                        \
                sum += value(p, i);                                                                                    \
            }                                                                                                          \
            ok = ok && data[i] == (TYPE)most && own[i] == (TYPE)sum;                                                   \
        }                                                                                                              \
        if (!ok)                                                                                                       \
            fprintf(stderr, "PE %d of %d: something is wrong of " #NAME "\n", me, pes);                                \
        wrong += !ok;                                                                                                  \
        shmem_free(own);                                                                                               \
        shmem_free(heap);                                                                                              \
    }
SHMEM_INTERNAL_RMA_TYPES(TRY_TYPE, 0)
#define CALL(TYPE, NAME, ...) try_##NAME();

/* ---- atomics: every PE does the same to PE 0's ---- */

#define TRY_ATOMICS(TYPE, NAME, ...)                                                                                   \
    static void add_##NAME(void)                                                                                       \
    {                                                                                                                  \
        static TYPE sum, most;                                                                                         \
        TYPE had, now;                                                                                                 \
        sum = most = 0;                                                                                                \
        shmem_barrier_all();                                                                                           \
        for (int i = 0; i < TURNS; i++) {                                                                              \
            shmem_##NAME##_atomic_add(&sum, (TYPE)2, 0);                                                               \
            shmem_##NAME##_atomic_inc(&sum, 0);                                                                        \
            (void)shmem_##NAME##_atomic_fetch_add(&sum, (TYPE)-1, 0);                                                  \
        }                                                                                                              \
        now = shmem_##NAME##_atomic_fetch(&most, 0); /* the greatest, by compare and swap */                           \
        while (now < (TYPE)me && (had = shmem_##NAME##_atomic_compare_swap(&most, now, (TYPE)me, 0)) != now)           \
            now = had;                                                                                                 \
        shmem_barrier_all();                                                                                           \
        CHECK(shmem_##NAME##_g(&sum, 0) == (TYPE)(2 * TURNS * pes) && shmem_##NAME##_g(&most, 0) == (TYPE)(pes - 1));  \
    }
SHMEM_INTERNAL_AMO_TYPES(TRY_ATOMICS, 0)
#define CALL_ATOMICS(TYPE, NAME, ...) add_##NAME();

/* ---- the rest ---- */

static void try_signals(void)
{
    static uint64_t signal, all[64];
    static int data[N];
    int ours[N], next = (me + 1) % pes, last = (me + pes - 1) % pes;
    signal = 0;
    memset(all, 0, sizeof all);
    shmem_barrier_all();
    for (int i = 0; i < N; i++)
        ours[i] = value(me, i);
    shmem_int_put_signal(data, ours, N, &signal, 7, SHMEM_SIGNAL_SET, next);
    CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 7) == 7);
    for (int i = 0; i < N; i++)
        CHECK(data[i] == value(last, i));
    for (int p = 0; p < pes; p++)
        shmem_signal_add(&all[me], (uint64_t)p + 1, p);
    shmem_uint64_wait_until_all(all, (size_t)pes, NULL, SHMEM_CMP_EQ, (uint64_t)me + 1);
    CHECK(shmem_uint64_test_any(all, (size_t)pes, NULL, SHMEM_CMP_NE, (uint64_t)me + 1) == SIZE_MAX);
}

static void try_lock(int turns)
{
    static long lock, count;
    count = 0;
    shmem_barrier_all();
    for (int i = 0; i < turns; i++) {
        if (i % 2 == 0)
            shmem_set_lock(&lock);
        else
            while (shmem_test_lock(&lock))
                ;
        shmem_long_p(&count, shmem_long_g(&count, 0) + 1, 0);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    CHECK(shmem_long_g(&count, 0) == (long)turns * pes);
}

/* The PEs of odd number, backwards; parts of different lengths; a set of PEs by its older name. */
static void try_teams(void)
{
    static int parts[64 * 64], mine[64], sum, sync[2], work[1];
    static long psync[SHMEM_SYNC_SIZE];
    shmem_team_t odd;
    int count = pes / 2, start = count * 2 - 1;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, count ? start : 0, -2, count ? count : 1, NULL, 0, &odd) == 0);
    for (int i = 0; i < 64; i++)
        mine[i] = me;
    (void)sync;
    if (count > 0 && odd != SHMEM_TEAM_INVALID) {
        int at = 0, place = shmem_team_my_pe(odd);
        CHECK(me == start - 2 * place && shmem_team_translate_pe(odd, place, SHMEM_TEAM_WORLD) == me);
        CHECK(shmem_int_collect(odd, parts, mine, (size_t)me + 1) == 0);
        for (int p = start; p > 0; p -= 2)
            for (int i = 0; i <= p; i++)
                CHECK(parts[at++] == p);
    }
    CHECK((odd != SHMEM_TEAM_INVALID) == (me % 2 == 1 || count == 0));
    shmem_barrier_all();
    if (me >= 1) {
        mine[0] = me;
        shmem_int_sum_to_all(&sum, mine, 1, 1, 0, pes - 1, work, psync);
        CHECK(sum == pes * (pes - 1) / 2);
    }
    shmem_barrier_all();
    shmem_team_destroy(odd);
}

static void try_heap(void)
{
    char *a = shmem_malloc(1000), *b = shmem_align(1 << 16, 5000), *c = shmem_calloc(10, 10);
    CHECK(a && b && c && (uintptr_t)b % (1 << 16) == 0 && c[99] == 0);
    memset(a, me, 1000);
    a = shmem_realloc(a, 100000);
    CHECK(a[999] == me);
    CHECK(shmem_ptr(&wrong, me) == &wrong && shmem_ptr(&(int){0}, 0) == NULL);
    CHECK(shmem_malloc((size_t)1 << 50) == NULL);
    shmem_free(c);
    shmem_free(b);
    shmem_free(a);
}

/* The PEs of this one's machine, by shmem_ptr, by SHMEM_TEAM_SHARED, and as it was told. */
static void try_machine(const char *text)
{
    static int sum, one = 1;
    int size = text && atoi(text) ? atoi(text) : pes, first = me / size * size,
        end = first + size < pes ? first + size : pes;
    for (int p = 0; p < pes; p++) {
        int place = shmem_team_translate_pe(SHMEM_TEAM_WORLD, p, SHMEM_TEAM_SHARED);
        CHECK((place >= 0) == (p >= first && p < end) && (shmem_ptr(&sum, p) != NULL) == (place >= 0));
        CHECK(place < 0 || shmem_team_translate_pe(SHMEM_TEAM_SHARED, place, SHMEM_TEAM_WORLD) == p);
        CHECK(shmem_addr_accessible(&sum, p));
    }
    CHECK(shmem_team_n_pes(SHMEM_TEAM_SHARED) == end - first && shmem_team_my_pe(SHMEM_TEAM_SHARED) == me - first);
    CHECK(shmem_int_sum_reduce(SHMEM_TEAM_SHARED, &sum, &one, 1) == 0 && sum == end - first);
    shmem_barrier_all();
}

/* More than may be under way, in order, large and small: the last of each overtakes nothing. */
static void try_much(void)
{
    enum { BYTES = (20 << 20) + 5, MANY = 3000 };
    static long at[MANY], got[MANY / 2], told;
    int next = (me + 1) % pes, last = (me + pes - 1) % pes;
    unsigned char *there = shmem_malloc(BYTES), *here = malloc(BYTES);
    size_t differ = 0;
    for (size_t i = 0; i < BYTES; i++)
        here[i] = (unsigned char)(i % 251 + (size_t)me);
    told = 0;
    shmem_barrier_all();
    shmem_putmem_nbi(there, here, BYTES, next);
    for (long i = 0; i < MANY; i++)
        shmem_long_p(&at[i], i + me, next);
    shmem_fence();
    shmem_long_atomic_inc(&told, next);
    shmem_long_wait_until(&told, SHMEM_CMP_EQ, 1);
    for (size_t i = 0; i < BYTES; i++)
        differ += there[i] != (unsigned char)(i % 251 + (size_t)last);
    for (long i = 0; i < MANY; i++)
        differ += at[i] != i + last;
    shmem_barrier_all();
    shmem_getmem(here, there, BYTES, next);
    shmem_long_iget(got, at, 1, 2, MANY / 2, next);
    for (long i = 0; i < MANY / 2; i++)
        differ += got[i] != 2 * i + me;
    for (size_t i = 0; i < BYTES; i++)
        differ += here[i] != (unsigned char)(i % 251 + (size_t)me);
    CHECK(differ == 0);
    free(here);
    shmem_free(there);
}

int main(int argc, char **argv)
{
    int brief = argc > 1 && strcmp(argv[1], "briefly") == 0;
    for (int round = 0; round < 2 - brief; round++) { /* a program may begin again */
        int provided;
        CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0 && provided == SHMEM_THREAD_MULTIPLE);
        me = shmem_my_pe();
        pes = shmem_n_pes();
        if (brief) {
            CALL(, schar) CALL(, int) CALL(, longdouble) CALL_ATOMICS(, uint) CALL_ATOMICS(, long)
        } else {
            SHMEM_INTERNAL_RMA_TYPES(CALL, 0)
            SHMEM_INTERNAL_AMO_TYPES(CALL_ATOMICS, 0)
        }
        try_signals();
        try_heap();
        try_lock(brief ? 30 : 200);
        try_teams();
        try_machine(argc > 2 ? argv[2] : getenv("HOPCAST_NODE_SIZE"));
        try_much();
        shmem_finalize();
    }
    return wrong != 0;
}
