/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/engine/tune_turns.h"

#include <string.h>

#include "base/base.h"
#include "base/clock.h"

#define TURN_S 2e-3
enum { CALLS_MOST = 1000 };

static int do_ours(const struct hop_trial *t)
{
    const struct hop_mpi_shim_collectives *mpi = t->tune->job->mpi->collectives;
    uintptr_t in = (uintptr_t)t->in, out = (uintptr_t)t->out, comm = t->comm, byte = mpi->byte,
              part = t->bytes / (unsigned)t->ranks;
    uintptr_t floats = t->bytes / sizeof(float), single = mpi->single, sum = mpi->sum;
    const struct {
        enum hop_mpi_call call;
        uintptr_t arguments[8];
    } calls[HOP_COLLECTIVE_COUNT + 1] = {
        [HOP_COLLECTIVE_ALLREDUCE] = {CALL_MPI_Allreduce, {in, out, floats, single, sum, comm}},
        [HOP_COLLECTIVE_ALLGATHER] = {CALL_MPI_Allgather, {in, part, byte, out, part, byte, comm}},
        [HOP_COLLECTIVE_REDUCE_SCATTER] = {CALL_MPI_Reduce_scatter_block,
                                           {in, out, floats / (unsigned)t->ranks, single, sum, comm}},
        [HOP_COLLECTIVE_ALLTOALL] = {CALL_MPI_Alltoall, {in, part, byte, out, part, byte, comm}},
        [HOP_COLLECTIVE_BROADCAST] = {CALL_MPI_Bcast, {out, t->bytes, byte, 0, comm}},
        [HOP_COLLECTIVE_REDUCE] = {CALL_MPI_Reduce, {in, out, floats, single, sum, 0, comm}},
        [HOP_COLLECTIVE_GATHER] = {CALL_MPI_Gather, {in, part, byte, out, part, byte, 0, comm}},
        [HOP_COLLECTIVE_SCATTER] = {CALL_MPI_Scatter, {in, part, byte, out, part, byte, 0, comm}},
        [HOP_COLLECTIVE_BARRIER] = {CALL_MPI_Barrier, {comm}},
        [HOP_MPI_TABLE_NEIGHBOURS] = {CALL_MPI_Neighbor_alltoall, {in, t->bytes, byte, out, t->bytes, byte, comm}},
    };
    int error = 0;
    return t->tune->ours(calls[t->kind].call, calls[t->kind].arguments, &error) == HOP_MPI_OURS ? error : -1;
}

static int do_library(const struct hop_trial *t)
{
    const struct hop_mpi_shim_collectives *mpi = t->tune->job->mpi->collectives;
    if (t->kind == HOP_MPI_TABLE_NEIGHBOURS)
        return mpi->neighbours(t->in, t->out, t->bytes, t->comm);
    return mpi->perform((enum hop_collective_kind)t->kind, t->in, t->out, t->bytes, 0, t->comm, mpi->single, mpi->sum);
}

bool hop_trial_over(const struct hop_trial *t)
{
    return !t->tune->job->mpi->comm_all_agree(t->comm, hop_now_s() < t->until_s);
}

static bool do_call(const struct hop_trial *t, const char *by)
{
    t->tune->go_by(by);
    return (by ? do_ours(t) : do_library(t)) == 0;
}

/* Programs send what is new, to where they have worked on what came before, and seldom twice from one place; unless it
 * is said that they do it again. */
double hop_turn(const struct hop_trial *t, struct hop_turn_way way, uint32_t calls)
{
    const struct hop_mpi_shim *mpi = t->tune->job->mpi;
    struct hop_trial own = *t, barrier = *t;
    uint64_t sum_ns = 0;
    bool fine = true;
    barrier.kind = HOP_COLLECTIVE_BARRIER;
    barrier.bytes = 0;
    uint32_t first = calls / 4; /* what the other side's turn left cold is warm then */
    for (uint32_t i = 0; i < first + calls && fine; i++) {
        own.in = t->in + (t->again ? 0 : i % 2 * t->bytes);
        own.out = t->out + (t->again ? 0 : i % 2 * t->bytes);
        uint64_t begin_ns = hop_now_ns();
        fine = do_call(&own, way.by);
        sum_ns += i < first ? 0 : hop_now_ns() - begin_ns;
        if (!t->again) {
            memset(own.in, 0x3f, t->bytes);
            memset(own.out, 0x3f, t->bytes);
        }
        fine = do_call(&barrier, way.barrier) && fine;
    }
    double mean_s = mpi->collectives->mean((double)sum_ns * 1e-9 / calls, t->comm);
    return mpi->comm_all_agree(t->comm, fine) ? mean_s : -1;
}

uint32_t hop_turn_calls(double twice_s)
{
    return (uint32_t)hop_max(1, hop_min(CALLS_MOST, 2 * TURN_S / hop_max(twice_s, 1e-9)));
}

bool hop_take_turns(const struct hop_trial *t, struct hop_turn_way first, struct hop_turn_way second, uint32_t calls,
                    uint32_t pairs, struct hop_ratios *ratios)
{
    for (uint32_t end = ratios->count + pairs; ratios->count < end; ratios->count++) {
        struct hop_trial own = *t;
        bool swapped = ratios->count % 2;
        own.again = ratios->count / 2 % 2;
        double one_s = hop_turn(&own, swapped ? second : first, calls),
               other_s = hop_turn(&own, swapped ? first : second, calls);
        double first_s = swapped ? other_s : one_s, second_s = swapped ? one_s : other_s;
        if (first_s <= 0 || second_s < 0)
            return false;
        ratios->of[ratios->count] = second_s / first_s;
    }
    return true;
}

double hop_turn_brief(const struct hop_trial *t, struct hop_turn_way way)
{
    double once_s = hop_turn(t, way, 3); /* the first of which may make a schedule */
    uint32_t calls = hop_turn_calls(4 * once_s);
    double one_s = once_s < 0 ? -1 : hop_turn(t, way, calls), other_s = one_s < 0 ? -1 : hop_turn(t, way, calls);
    return other_s < 0 ? -1 : hop_min(one_s, other_s);
}
