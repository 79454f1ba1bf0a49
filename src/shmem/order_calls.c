/* SPDX-License-Identifier: BSD-3-Clause */
/* Order and completion: what is near has ended when its call returns, so that the processor's order is all there is to keep;
 * what is far is asked for. */
#include "shmem/far.h"

static void keep_order(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void complete(void)
{
    hop_shmem_far_quiet();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

HOP_SHMEM_API(void, fence, (void))
{
    keep_order();
}

HOP_SHMEM_API(void, ctx_fence, (shmem_ctx_t ctx))
{
    (void)ctx;
    keep_order();
}

HOP_SHMEM_API(void, quiet, (void))
{
    complete();
}

HOP_SHMEM_API(void, ctx_quiet, (shmem_ctx_t ctx))
{
    (void)ctx;
    complete();
}

HOP_SHMEM_API(void, pe_quiet, (const int *target_pes, size_t npes))
{
    (void)target_pes;
    (void)npes;
    complete();
}

HOP_SHMEM_API(void, ctx_pe_quiet, (shmem_ctx_t ctx, const int *target_pes, size_t npes))
{
    (void)ctx;
    (void)target_pes;
    (void)npes;
    complete();
}
