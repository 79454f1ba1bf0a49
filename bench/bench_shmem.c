/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * OpenSHMEM's speed: one line a measurement, "NAME VALUE", by PE 0. The program is the same for every library (1.4), so that
 * bench/shmem compiles it once for each, and lets them take turns.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 11, SMALL = 20000, TRIPS = 2000, LARGE = 4 << 20, WORDS = 1024 };

static int me, pes;
static long counter;
static double values[TURNS];

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

static void tell(const char *name, double each)
{
    qsort(values, TURNS, sizeof *values, ascending);
    if (me == 0)
        printf("%s %.6g\n", name, values[TURNS / 2] / each * 1e9);
}

/* Nanoseconds each: PE 0 does it, the others wait; all: every PE does. */
#define MEASURE(NAME, EACH, ALL, ...)                                                                                  \
    for (int turn = 0; turn < TURNS; turn++) {                                                                         \
        shmem_barrier_all();                                                                                           \
        double begun = now_s();                                                                                        \
        if ((ALL) || me == 0) {                                                                                        \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
        values[turn] = now_s() - begun;                                                                                \
        shmem_barrier_all();                                                                                           \
    }                                                                                                                  \
    tell(NAME, EACH)

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    pes = shmem_n_pes();
    int other = (me + 1) % pes;
    long *words = shmem_malloc(WORDS * sizeof *words), *sums = shmem_malloc(WORDS * sizeof *sums), value = 1, sum = 0;
    char *there = shmem_malloc(LARGE), *here = malloc(LARGE), *copy = malloc(LARGE);
    volatile long *mapped = shmem_ptr(words, other);
    static long sync[SHMEM_REDUCE_SYNC_SIZE], work[WORDS / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE];
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        sync[i] = SHMEM_SYNC_VALUE;
    memset(words, 0, WORDS * sizeof *words);
    memset(here, 1, LARGE);
    memset(copy, 1, LARGE);
    MEASURE("store", SMALL, 0, for (int i = 0; i < SMALL && mapped; i++) mapped[i % WORDS] = i);
    MEASURE("load", SMALL, 0, for (int i = 0; i < SMALL && mapped; i++) sum += mapped[i % WORDS]);
    MEASURE("put8", SMALL, 0, for (int i = 0; i < SMALL; i++) shmem_long_put(&words[i % WORDS], &value, 1, other));
    MEASURE("p", SMALL, 0, for (int i = 0; i < SMALL; i++) shmem_long_p(&words[i % WORDS], i, other));
    MEASURE("get8", SMALL, 0, for (int i = 0; i < SMALL; i++) {
        shmem_long_get(&value, &words[i % WORDS], 1, other);
        sum += value;
    });
    MEASURE("g", SMALL, 0, for (int i = 0; i < SMALL; i++) sum += shmem_long_g(&words[i % WORDS], other));
    MEASURE("put_nbi8", SMALL, 0, for (int i = 0; i < SMALL; i++)
                                      shmem_putmem_nbi(&words[i % WORDS], &value, sizeof value, other);
            shmem_quiet());
    MEASURE("fetch_add", SMALL, 0,
            for (int i = 0; i < SMALL; i++) sum += shmem_long_atomic_fetch_add(&counter, 1, other));
    MEASURE("memcpy4M", 1, 0, memcpy(copy, here, LARGE));
    MEASURE("put4M", 1, 0, shmem_putmem(there, here, LARGE, other); shmem_quiet());
    MEASURE("get4M", 1, 0, shmem_getmem(here, there, LARGE, other));
    MEASURE("barrier", 200, 1, for (int i = 0; i < 200; i++) shmem_barrier_all());
    MEASURE("sum8", 200, 1, for (int i = 0; i < 200; i++)
                                shmem_long_sum_to_all(sums, words, 1, 0, 0, pes, work, sync);
            shmem_barrier_all());
    MEASURE("sum8K", 100, 1, for (int i = 0; i < 100; i++)
                                 shmem_long_sum_to_all(sums, words, WORDS, 0, 0, pes, work, sync);
            shmem_barrier_all());
    for (int i = 0; i < 2; i++)
        words[i] = 0;
    shmem_barrier_all();
    volatile long *mine = words;
    long round = 0;
    MEASURE("swap_mapped", TRIPS, 1, for (int i = 0; i < TRIPS && me < 2 && mapped; i++, round++) {
        if (me == 0)
            mapped[0] = round + 1;
        while (mine[0] <= round)
            ;
        if (me == 1)
            mapped[0] = round + 1;
    });
    words[1] = round = 0;
    shmem_barrier_all();
    MEASURE("swap", TRIPS, 1, for (int i = 0; i < TRIPS && me < 2; i++, round++) {
        if (me == 0)
            shmem_long_p(&words[1], round + 1, 1);
        shmem_long_wait_until(&words[1], SHMEM_CMP_GT, round);
        if (me == 1)
            shmem_long_p(&words[1], round + 1, 0);
    });
    if (sum == 42)
        printf("unlikely\n");
    fflush(stdout);
    shmem_finalize();
    return 0;
}
