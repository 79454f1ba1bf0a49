/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wait until, and test: what variables of this PE have become by what others wrote. One of them, all, any or some;
 * compared with one value, or each with its own (vector); those whose status is not 0 are left out.
 */
#include "base/random.h"
#include "shmem/world.h"

/* Where a search for one of n begins: calls that find one of several find each of them some time. */
static size_t anywhere(size_t n)
{
    static _Thread_local uint64_t random;
    return n > 1 ? hop_draw(&random) % n : 0;
}

#define OF_TYPE(TYPE, NAME, ...)                                                                                       \
    static bool NAME##_holds(const TYPE *at, int cmp, TYPE value, const char *who)                                     \
    {                                                                                                                  \
        TYPE now = __atomic_load_n(at, __ATOMIC_ACQUIRE);                                                              \
        switch (cmp) {                                                                                                 \
        case SHMEM_CMP_EQ:                                                                                             \
            return now == value;                                                                                       \
        case SHMEM_CMP_NE:                                                                                             \
            return now != value;                                                                                       \
        case SHMEM_CMP_GT:                                                                                             \
            return now > value;                                                                                        \
        case SHMEM_CMP_GE:                                                                                             \
            return now >= value;                                                                                       \
        case SHMEM_CMP_LT:                                                                                             \
            return now < value;                                                                                        \
        case SHMEM_CMP_LE:                                                                                             \
            return now <= value;                                                                                       \
        default:                                                                                                       \
            hop_shmem_die(who, "%d is no comparison\nSHMEM_CMP_EQ, NE, GT, GE, LT or LE", cmp);                        \
        }                                                                                                              \
    }                                                                                                                  \
    /* How many of those that count hold, at most `most`, and which, from that place on; *counted: how many count. */  \
    static size_t NAME##_which(const TYPE *ivars, size_t n, size_t from, size_t *indices, size_t most,                 \
                               const int *status, int cmp, const TYPE *values, size_t step, size_t *counted,           \
                               const char *who)                                                                        \
    {                                                                                                                  \
        size_t held = 0;                                                                                               \
        *counted = 0;                                                                                                  \
        for (size_t k = 0; k < n && held < most; k++) {                                                                \
            size_t i = k < n - from ? from + k : k - (n - from);                                                       \
            if (status && status[i])                                                                                   \
                continue;                                                                                              \
            ++*counted;                                                                                                \
            if (!NAME##_holds(&ivars[i], cmp, values[i * step], who))                                                  \
                continue;                                                                                              \
            if (indices)                                                                                               \
                indices[held] = i;                                                                                     \
            held++;                                                                                                    \
        }                                                                                                              \
        return held;                                                                                                   \
    }                                                                                                                  \
    static int NAME##_all(const TYPE *ivars, size_t n, const int *status, int cmp, const TYPE *values, size_t step,    \
                          bool waits, const char *who)                                                                 \
    {                                                                                                                  \
        struct hop_shmem_wait wait = {0};                                                                              \
        size_t counted;                                                                                                \
        while (NAME##_which(ivars, n, 0, NULL, SIZE_MAX, status, cmp, values, step, &counted, who) < counted) {        \
            if (!waits) {                                                                                              \
                hop_shmem_polled(false);                                                                               \
                return 0;                                                                                              \
            }                                                                                                          \
            hop_shmem_turn(&wait);                                                                                     \
        }                                                                                                              \
        return 1;                                                                                                      \
    }                                                                                                                  \
    static size_t NAME##_some(const TYPE *ivars, size_t n, size_t *indices, size_t most, const int *status, int cmp,   \
                              const TYPE *values, size_t step, bool waits, const char *who)                            \
    {                                                                                                                  \
        struct hop_shmem_wait wait = {0};                                                                              \
        size_t counted, held;                                                                                          \
        while ((held = NAME##_which(ivars, n, most == 1 ? anywhere(n) : 0, indices, most, status, cmp, values, step,   \
                                    &counted, who)) == 0 &&                                                            \
               counted > 0 && waits)                                                                                   \
            hop_shmem_turn(&wait);                                                                                     \
        if (!waits)                                                                                                    \
            hop_shmem_polled(held > 0 || counted == 0);                                                                \
        return held;                                                                                                   \
    }                                                                                                                  \
    static size_t NAME##_any(const TYPE *ivars, size_t n, const int *status, int cmp, const TYPE *values, size_t step, \
                             bool waits, const char *who)                                                              \
    {                                                                                                                  \
        size_t index = SIZE_MAX;                                                                                       \
        return NAME##_some(ivars, n, &index, 1, status, cmp, values, step, waits, who) ? index : SIZE_MAX;             \
    }                                                                                                                  \
    HOP_SHMEM_API(void, NAME##_wait_until, (TYPE * ivar, int cmp, TYPE value))                                         \
    {                                                                                                                  \
        struct hop_shmem_wait wait = {0};                                                                              \
        while (!NAME##_holds(ivar, cmp, value, __func__))                                                              \
            hop_shmem_turn(&wait);                                                                                     \
    }                                                                                                                  \
    HOP_SHMEM_API(void, NAME##_wait, (TYPE * ivar, TYPE value))                                                        \
    {                                                                                                                  \
        pshmem_##NAME##_wait_until(ivar, SHMEM_CMP_NE, value);                                                         \
    }                                                                                                                  \
    HOP_SHMEM_API(int, NAME##_test, (TYPE * ivar, int cmp, TYPE value))                                                \
    {                                                                                                                  \
        bool holds = NAME##_holds(ivar, cmp, value, __func__);                                                         \
        hop_shmem_polled(holds);                                                                                       \
        return holds;                                                                                                  \
    }                                                                                                                  \
    WITH_VALUES(TYPE, NAME, , TYPE value, &value, 0)                                                                   \
    WITH_VALUES(TYPE, NAME, _vector, const TYPE *values, values, 1)
#define WITH_VALUES(TYPE, NAME, VECTOR, VALUE, VALUES, STEP)                                                           \
    HOP_SHMEM_API(void, NAME##_wait_until_all##VECTOR, (TYPE * ivars, size_t n, const int *status, int cmp, VALUE))    \
    {                                                                                                                  \
        (void)NAME##_all(ivars, n, status, cmp, VALUES, STEP, true, __func__);                                         \
    }                                                                                                                  \
    HOP_SHMEM_API(int, NAME##_test_all##VECTOR, (TYPE * ivars, size_t n, const int *status, int cmp, VALUE))           \
    {                                                                                                                  \
        return NAME##_all(ivars, n, status, cmp, VALUES, STEP, false, __func__);                                       \
    }                                                                                                                  \
    HOP_SHMEM_API(size_t, NAME##_wait_until_any##VECTOR, (TYPE * ivars, size_t n, const int *status, int cmp, VALUE))  \
    {                                                                                                                  \
        return NAME##_any(ivars, n, status, cmp, VALUES, STEP, true, __func__);                                        \
    }                                                                                                                  \
    HOP_SHMEM_API(size_t, NAME##_test_any##VECTOR, (TYPE * ivars, size_t n, const int *status, int cmp, VALUE))        \
    {                                                                                                                  \
        return NAME##_any(ivars, n, status, cmp, VALUES, STEP, false, __func__);                                       \
    }                                                                                                                  \
    HOP_SHMEM_API(size_t, NAME##_wait_until_some##VECTOR,                                                              \
                  (TYPE * ivars, size_t n, size_t *indices, const int *status, int cmp, VALUE))                        \
    {                                                                                                                  \
        return NAME##_some(ivars, n, indices, SIZE_MAX, status, cmp, VALUES, STEP, true, __func__);                    \
    }                                                                                                                  \
    HOP_SHMEM_API(size_t, NAME##_test_some##VECTOR,                                                                    \
                  (TYPE * ivars, size_t n, size_t *indices, const int *status, int cmp, VALUE))                        \
    {                                                                                                                  \
        return NAME##_some(ivars, n, indices, SIZE_MAX, status, cmp, VALUES, STEP, false, __func__);                   \
    }
SHMEM_INTERNAL_AMO_TYPES(OF_TYPE, 0)
OF_TYPE(short, short, 0)
OF_TYPE(unsigned short, ushort, 0)

HOP_SHMEM_API(void, wait_until, (long *ivar, int cmp, long value))
{
    pshmem_long_wait_until(ivar, cmp, value);
}

HOP_SHMEM_API(void, wait, (long *ivar, long value))
{
    pshmem_long_wait_until(ivar, SHMEM_CMP_NE, value);
}

HOP_SHMEM_API(uint64_t, signal_wait_until, (uint64_t * sig_addr, int cmp, uint64_t value))
{
    struct hop_shmem_wait wait = {0};
    uint64_t now = 0; /* the value that satisfied it, not what it became meanwhile */
    while (!uint64_holds((now = __atomic_load_n(sig_addr, __ATOMIC_ACQUIRE), &now), cmp, value, __func__))
        hop_shmem_turn(&wait);
    return now;
}
