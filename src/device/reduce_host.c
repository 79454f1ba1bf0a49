/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions and copies on the processor: which kernel does them.
 *
 * What is too large for the caches is written past them: a store that misses would first read what it overwrites, a
 * quarter of the memory traffic of two inputs and an output.
 */
#include "device/reduce_host.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/base.h"

/* Bytes read and written from which on results go past the caches: several ranks share a cache of tens of MiB.
 * (Processors are asked for its size in vain: under a hypervisor some tell that of a whole socket.) */
#define PAST ((uint64_t)16 << 20)
static _Atomic uint64_t past_from = PAST;
static atomic_bool only_plain;

static bool goes_past(uint64_t bytes)
{
    return bytes >= atomic_load_explicit(&past_from, memory_order_relaxed);
}

void hop_reduce_on_host_choose(bool plain, uint64_t past_bytes)
{
    atomic_store(&only_plain, plain);
    atomic_store(&past_from, past_bytes ? past_bytes : PAST);
}

void hop_copy_on_host(void *to, const void *from, uint64_t bytes)
{
    uint64_t done = 0;
    if (to == from || bytes == 0)
        return;
    if (bytes >= 4096 && goes_past(2 * bytes) && !atomic_load_explicit(&only_plain, memory_order_relaxed))
        done = hop_copy_avx2(to, from, bytes);
    memcpy((char *)to + done, (const char *)from + done, bytes - done);
}

enum hop_type hop_reduction_kernel(enum hop_reduce reduce, enum hop_type type)
{
    if (!hop_reduce_suits(reduce, type))
        return HOP_TYPE_COUNT;
    if (reduce == HOP_REDUCE_AND || reduce == HOP_REDUCE_OR || reduce == HOP_REDUCE_XOR)
        return HOP_TYPE_U8;
    bool wraps = reduce == HOP_REDUCE_SUM || reduce == HOP_REDUCE_PROD;
    return !wraps                 ? type
           : type == HOP_TYPE_U8  ? HOP_TYPE_I8
           : type == HOP_TYPE_U16 ? HOP_TYPE_I16
           : type == HOP_TYPE_U32 ? HOP_TYPE_I32
           : type == HOP_TYPE_U64 ? HOP_TYPE_I64
                                  : type;
}

struct hop_reduction hop_reduction_by_kernel(const struct hop_reduction *reduction)
{
    struct hop_reduction same = *reduction;
    same.type = hop_reduction_kernel(reduction->reduce, reduction->type);
    same.count *= hop_type_bytes(reduction->type) / hop_type_bytes(same.type);
    return same;
}

static bool writes_an_input(const struct hop_reduction *r)
{
    for (uint32_t o = 0; o < r->output_count; o++) {
        for (uint32_t i = 0; i < r->input_count; i++) {
            if (r->outputs[o] == r->inputs[i])
                return true;
        }
    }
    return false;
}

/* What an output writes over has been read just before where it is an input: it is in the cache. */
static hop_fold *choose(const struct hop_reduction *r, uint64_t bytes)
{
    hop_fold *fold = NULL;
    if (!atomic_load_explicit(&only_plain, memory_order_relaxed)) {
        bool past = goes_past(bytes * (r->input_count + r->output_count)) && !writes_an_input(r);
        fold = hop_fold_avx2(r->reduce, r->type, past);
    }
    return fold ? fold : hop_fold_plain(r->reduce, r->type);
}

static void copy_to_all(const struct hop_reduction *r, uint64_t bytes)
{
    for (uint32_t o = 0; o < r->output_count; o++)
        hop_copy_on_host(r->outputs[o], r->inputs[0], bytes);
}

enum hop_status hop_reduce_on_host(const struct hop_reduction *reduction, struct hop_diag *diag)
{
    assert(hop_reduce_suits(reduction->reduce, reduction->type));
    const struct hop_reduction own = hop_reduction_by_kernel(reduction), *r = &own;
    if (r->input_count - 1u >= HOP_REDUCTION_PLACES || r->output_count - 1u >= HOP_REDUCTION_PLACES)
        return hop_fail(diag, HOP_ERR_LIMIT, "a reduction of %u inputs to %u outputs\n1 to %d of each", r->input_count,
                        r->output_count, HOP_REDUCTION_PLACES);
    if (r->count == 0)
        return HOP_OK;
    uint64_t bytes = r->count * hop_type_bytes(r->type);
    if (r->input_count == 1)
        copy_to_all(r, bytes);
    else if (r->count < 4)
        hop_fold_plain(r->reduce, r->type)(r, 0, r->count);
    else
        choose(r, bytes)(r, 0, r->count);
    return HOP_OK;
}
