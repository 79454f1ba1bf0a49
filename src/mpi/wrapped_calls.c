/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers, made of the table in mpi/calls.h. Arguments pass as words of 64 bits, in which every MPI's numbers,
 * pointers and handles are as they came: the calling conventions of x86-64 and AArch64 give each argument a register or
 * a slot of that size, whatever its type.
 *
 * Both names of a call are wrapped: Open MPI's Fortran calls PMPI_Send, MPICH's MPI_Send. Only the outermost call of a
 * thread counts, so that a call counts once, however it was reached. They are weak, as those of an MPI are.
 */
#include "mpi/mpi_layer.h"

#include "base/clock.h"
#include "mpi/device_memory.h"
#include "mpi/mpi_engine.h"
#include "mpi/ticks.h"
#include "mpi/say.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef uintptr_t word;

_Static_assert(sizeof(word) == 8, "arguments are words of 64 bits");

static void *next[HOP_MPI_CALL_COUNT][2]; /* MPI_, PMPI_ */
static __thread int depth __attribute__((tls_model("initial-exec")));
static __thread unsigned calls __attribute__((tls_model("initial-exec")));
static bool paused; /* MPI_Pcontrol(0) */

/* The last calls that the engine left to the MPI for good: alike but for their buffers, they go there straight. One is a
 * line of the cache, which is cold at each turn where ranks share a processor. */
enum { LEFTS = 64, LEFT_WORDS = 6, LEFT_MOST = 8 /* arguments */, LEFT_PARTS = 16 };
static __thread struct left {
    unsigned epoch; /* 0: nothing */
    unsigned call;  /* with which of its names */
    void *address;  /* of the MPI's; NULL: there is more to do than to call it */
    word words[LEFT_WORDS];
} lefts[LEFTS] __attribute__((aligned(64), tls_model("initial-exec")));
static __thread struct {
    int parts, counts[LEFT_PARTS]; /* in the array of counts, where it has one */
} left_counts[LEFTS] __attribute__((tls_model("initial-exec")));

static void *find_next(enum hop_mpi_call call, bool inner)
{
    char name[64];
    void *found = __atomic_load_n(&next[call][inner], __ATOMIC_ACQUIRE);
    if (found)
        return found;
    (void)snprintf(name, sizeof name, "%s%s", inner ? "P" : "", hop_mpi_rows[call].name);
    found = hop_layer_next(name);
    if (!found) {
        hop_mpi_tell("no MPI in this process has %s", name);
        _exit(127); /* as where a symbol is not found */
    }
    __atomic_store_n(&next[call][inner], found, __ATOMIC_RELEASE);
    return found;
}

#define CAST(type) ((int(*) type)address)
static int do_call(void *address, unsigned arity, const word *a)
{
    switch (arity) {
    case 0:
        return CAST((void))();
    case 1:
        return CAST((word))(a[0]);
    case 2:
        return CAST((word, word))(a[0], a[1]);
    case 3:
        return CAST((word, word, word))(a[0], a[1], a[2]);
    case 4:
        return CAST((word, word, word, word))(a[0], a[1], a[2], a[3]);
    case 5:
        return CAST((word, word, word, word, word))(a[0], a[1], a[2], a[3], a[4]);
    case 6:
        return CAST((word, word, word, word, word, word))(a[0], a[1], a[2], a[3], a[4], a[5]);
    default: /* what stands behind those that a call has, nobody reads */
        return CAST((word, word, word, word, word, word, word, word, word, word, word, word, word))(
            a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12]);
    }
}

static void leave(const int *entered)
{
    depth -= *entered;
}

/* A C++ exception of an error handler leaves by here, too. */
static int do_inside(void *address, unsigned arity, const word *a)
{
    __attribute__((cleanup(leave))) int entered = 1;
    depth += entered;
    return do_call(address, arity, a);
}

static void before(const struct hop_mpi_row *row, const word *a)
{
    if (row->kind == KIND_FINALIZE)
        hop_layer_end();
    else if (row->kind == KIND_SESSION_END)
        hop_layer_session_end();
    else if (row->kind == KIND_ABORT)
        hop_layer_break_off("MPI_Abort");
    else if (row->kind == KIND_PCONTROL)
        __atomic_store_n(&paused, (int)a[0] == 0, __ATOMIC_RELAXED);
    else if (row->kind == KIND_COMM_FREE)
        hop_layer_comm_free(a[0]);
    else if (row->kind == KIND_FREE)
        hop_layer_request_free(a[0]);
}

/* What a handler, an operation or an attribute of the program's calls inside another call. */
static void within(const struct hop_mpi_row *row, const word *a)
{
    if (row->kind == KIND_ABORT)
        hop_layer_break_off("MPI_Abort");
    else if (row->kind == KIND_COMM_FREE && hop_layer_is_on())
        hop_layer_comm_free(a[0]);
}

/* The calls that matter while the layer is off. */
static void after(const struct hop_mpi_row *row, const word *a)
{
    if (row->kind == KIND_INIT)
        hop_layer_begin();
    else if (row->kind == KIND_SESSION)
        hop_layer_session();
    else if (row->kind == KIND_SESSION_COMM)
        hop_layer_session_comm(a[4]);
}

static inline __attribute__((always_inline)) bool is_buffer(char role)
{
    return role == 's' || role == 'r';
}

static void keep_left(enum hop_mpi_call call, bool inner, void *address, unsigned arity, const word *a, unsigned epoch)
{
    const struct hop_mpi_row *row = &hop_mpi_rows[call];
    const word *counts = hop_role(row, a, hop_has_role(row, 'v') ? 'v' : 'k');
    int parts = counts ? hop_layer_ranks(*hop_role(row, a, 'c')) : 0;
    struct left left = {.epoch = epoch, .call = 2 * call + inner};
    unsigned words = 0;
    for (unsigned i = 0; i < arity; i++) {
        if (!is_buffer(row->roles[i]) && words < LEFT_WORDS)
            left.words[words] = a[i];
        words += !is_buffer(row->roles[i]);
    }
    if (words > LEFT_WORDS || arity > LEFT_MOST || parts > LEFT_PARTS || (counts && row->large))
        return;
    if (counts)
        memcpy(left_counts[call % LEFTS].counts, (const void *)*counts, (size_t)parts * sizeof(int));
    left_counts[call % LEFTS].parts = parts;
    left.address = __atomic_load_n(&hop_layer_quick, __ATOMIC_ACQUIRE) ? address : NULL;
    lefts[call % LEFTS] = left;
}

/* NULL: it was not. With constant roles some comparisons of registers. */
static inline __attribute__((always_inline)) const struct left *was_left(enum hop_mpi_call call, bool inner,
                                                                         unsigned arity, const word *a,
                                                                         const char *roles)
{
    const struct left *left = &lefts[call % LEFTS];
    if (arity > LEFT_MOST || left->call != 2 * call + inner ||
        left->epoch != __atomic_load_n(&hop_layer_epoch, __ATOMIC_ACQUIRE))
        return NULL;
    word other = 0;
    unsigned words = 0;
#pragma GCC unroll 8
    for (unsigned i = 0; i < LEFT_MOST; i++) {
        if (i < arity && !is_buffer(roles[i]) && words < LEFT_WORDS)
            other |= left->words[words++] ^ a[i];
    }
#pragma GCC unroll 8
    for (unsigned i = 0; i < LEFT_MOST; i++) {
        for (int p = 0; i < arity && (roles[i] == 'v' || roles[i] == 'k') && other == 0 &&
                        p < left_counts[call % LEFTS].parts;
             p++)
            other = (word)(left_counts[call % LEFTS].counts[p] ^ ((const int *)a[i])[p]);
    }
    return other == 0 ? left : NULL;
}

/* By the engine where it does such calls, else by the MPI. */
static int perform(enum hop_mpi_call call, bool inner, void *address, unsigned arity, const word *a)
{
    int error = 0;
    __attribute__((cleanup(leave))) int entered = 1;
    depth += entered;
    if (hop_layer_takes[call] && !was_left(call, inner, arity, a, hop_mpi_rows[call].roles)) {
        unsigned epoch = __atomic_load_n(&hop_layer_epoch, __ATOMIC_ACQUIRE);
        enum hop_mpi_whose whose = hop_layer_instead(call, a, &error);
        if (whose == HOP_MPI_OURS)
            return error;
        if (whose == HOP_MPI_LEFT)
            keep_left(call, inner, address, arity, a, epoch);
    }
    return do_call(address, arity, a);
}

static int count(enum hop_mpi_call call, bool inner, void *address, unsigned arity, const word *given,
                 const struct hop_mpi_caller *caller)
{
    const struct hop_mpi_row *row = &hop_mpi_rows[call];
    bool counts = hop_layer_counts(), records = hop_layer_records();
    depth++;
    calls++;
    if ((calls & (calls - 1)) == 0)
        hop_layer_look();
    before(row, given);
    uint64_t begin = hop_memory_ticks = counts ? hop_ticks() : 0;
    const word *a = counts ? hop_layer_receiving(row, given) : given;
    a = records ? hop_layer_enter(call, a) : a;
    depth--;
    if (!counts && !records)
        return perform(call, inner, address, arity, a);
    int error = perform(call, inner, address, arity, a);
    uint64_t ticks = hop_ticks() - begin, end_ns = records ? hop_now_ns() : 0, bytes = 0;
    bool pause = __atomic_load_n(&paused, __ATOMIC_RELAXED);
    if (error || !hop_layer_is_on())
        return error;
    depth++;
    if (row->kind == KIND_SESSION)
        hop_layer_session();
    if (counts)
        hop_layer_describe(row, a);
    if (counts && !pause) {
        bytes = hop_layer_count(row, a);
        hop_counts_call(call, caller, bytes, ticks);
    }
    if (counts)
        hop_layer_received(row, a, pause);
    if (records)
        hop_layer_leave(call, a, end_ns, pause);
    depth--;
    return 0;
}

/* Kinds that are more than moved data to the layer. */
#define BIT(kind) (UINT64_C(1) << (kind))
static const uint64_t SPECIAL = BIT(KIND_INIT) | BIT(KIND_FINALIZE) | BIT(KIND_SESSION) | BIT(KIND_SESSION_END) |
                                BIT(KIND_SESSION_COMM) | BIT(KIND_ABORT) | BIT(KIND_PCONTROL) | BIT(KIND_COMM_FREE);

__attribute__((noinline)) static int go_through(enum hop_mpi_call call, bool inner, unsigned arity, const word *a,
                                                const struct hop_mpi_caller *caller)
{
    void *address = find_next(call, inner);
    if (depth > 0) {
        within(&hop_mpi_rows[call], a);
        return do_call(address, arity, a);
    }
    if (hop_layer_is_on())
        return count(call, inner, address, arity, a, caller);
    depth++;
    if (hop_mpi_rows[call].kind == KIND_INIT)
        hop_layer_prepare();
    else if (hop_mpi_rows[call].kind == KIND_SESSION_END)
        hop_layer_session_end();
    depth--;
    int error = do_inside(address, arity, a);
    depth++;
    if (!error)
        after(&hop_mpi_rows[call], a);
    depth--;
    return error;
}

/* Without counting, the engine is asked, and nothing else is done. */
static int through(enum hop_mpi_call call, bool inner, unsigned arity, const word *a,
                   const struct hop_mpi_caller *caller)
{
    void *address = __atomic_load_n(&next[call][inner], __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&hop_layer_quick, __ATOMIC_ACQUIRE) && address && depth == 0 &&
        !(SPECIAL >> hop_mpi_rows[call].kind & 1))
        return perform(call, inner, address, arity, a);
    return go_through(call, inner, arity, a, caller);
}

/* Where the MPI has a call for which nothing at all is to be done; NULL: there is something. As short as can be: an
 * allreduce of a few bytes takes a quarter of a microsecond. */
static inline __attribute__((always_inline)) void *straight(enum hop_mpi_call call, bool inner, unsigned arity,
                                                            const word *a, enum hop_mpi_kind kind, const char *roles)
{
    bool may_be_ours = kind == KIND_BARRIER || (kind >= KIND_BCAST && kind <= KIND_REDUCE_SCATTER);
    const struct left *left = may_be_ours ? was_left(call, inner, arity, a, roles) : NULL;
    if (left)
        return left->address;
    if (SPECIAL >> kind & 1 || !__atomic_load_n(&hop_layer_quick, __ATOMIC_ACQUIRE) || hop_layer_takes[call])
        return NULL;
    return __atomic_load_n(&next[call][inner], __ATOMIC_ACQUIRE);
}

#define TAKES_0 void
#define TAKES_1 word a0
#define TAKES_2 TAKES_1, word a1
#define TAKES_3 TAKES_2, word a2
#define TAKES_4 TAKES_3, word a3
#define TAKES_5 TAKES_4, word a4
#define TAKES_6 TAKES_5, word a5
#define TAKES_7 TAKES_6, word a6
#define TAKES_8 TAKES_7, word a7
#define TAKES_9 TAKES_8, word a8
#define TAKES_10 TAKES_9, word a9
#define TAKES_11 TAKES_10, word a10
#define TAKES_12 TAKES_11, word a11
#define TAKES_13 TAKES_12, word a12
#define GIVES_0 0
#define CALLED_0
#define GIVES_1 a0
#define CALLED_1 GIVES_1
#define GIVES_2 GIVES_1, a1
#define CALLED_2 GIVES_2
#define GIVES_3 GIVES_2, a2
#define CALLED_3 GIVES_3
#define GIVES_4 GIVES_3, a3
#define CALLED_4 GIVES_4
#define GIVES_5 GIVES_4, a4
#define CALLED_5 GIVES_5
#define GIVES_6 GIVES_5, a5
#define CALLED_6 GIVES_6
#define GIVES_7 GIVES_6, a6
#define CALLED_7 GIVES_7
#define GIVES_8 GIVES_7, a7
#define CALLED_8 GIVES_8
#define GIVES_9 GIVES_8, a8
#define CALLED_9 GIVES_9
#define GIVES_10 GIVES_9, a9
#define CALLED_10 GIVES_10
#define GIVES_11 GIVES_10, a10
#define CALLED_11 GIVES_11
#define GIVES_12 GIVES_11, a11
#define CALLED_12 GIVES_12
#define GIVES_13 GIVES_12, a12
#define CALLED_13 GIVES_13

#define WRAPPER(arity, name, call, inner, kind, roles)                                                                 \
    __attribute__((weak, visibility("default"))) int name(TAKES_##arity);                                              \
    int name(TAKES_##arity)                                                                                            \
    {                                                                                                                  \
        const word looked_at[13] = {GIVES_##arity};                                                                    \
        void *address = straight(call, inner, arity, looked_at, KIND_##kind, roles "        ");                        \
        if (address)                                                                                                   \
            return CAST((TAKES_##arity))(CALLED_##arity);                                                              \
        const word arguments[13] = {GIVES_##arity};                                                                    \
        const struct hop_mpi_caller caller = {__builtin_return_address(0), __builtin_dwarf_cfa()};                     \
        return through(call, inner, arity, arguments, &caller);                                                        \
    }
#define WRAP(arity, name, kind, roles)                                                                                 \
    _Static_assert(sizeof(roles) == (arity) + 1, "a role an argument: " #name);                                        \
    WRAPPER(arity, name, CALL_##name, false, kind, roles)                                                              \
    WRAPPER(arity, P##name, CALL_##name, true, kind, roles)
HOP_MPI_CALLS(WRAP)

/* Ended without MPI_Finalize. */
__attribute__((destructor)) static void ended(void)
{
    depth++;
    hop_layer_break_off("no MPI_Finalize");
    depth--;
}
