/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions of collectives: see definition.h. */
#include "run/definition.h"

#include "collective/collective.h"

/* ---- sizes ---- */

static uint64_t part_bytes(const struct hop_collective_options *what, uint32_t ranks, uint32_t p)
{
    uint64_t width = hop_type_bytes(what->type), count = what->vector_bytes / width;
    return (count / ranks + (p < count % ranks)) * width;
}

uint64_t hop_definition_part(const struct hop_collective_options *what, uint32_t ranks, uint32_t p)
{
    uint64_t width = hop_type_bytes(what->type), count = what->vector_bytes / width, more = count % ranks;
    return (count / ranks * p + (p < more ? p : more)) * width;
}

uint64_t hop_definition_result(const struct hop_collective_options *what, uint32_t ranks, uint32_t rank,
                               uint64_t *bytes)
{
    bool root = rank == what->root;
    *bytes = 0;
    switch (what->kind) {
    case HOP_COLLECTIVE_ALLREDUCE:
    case HOP_COLLECTIVE_ALLGATHER:
    case HOP_COLLECTIVE_BROADCAST:
        *bytes = what->vector_bytes;
        break;
    case HOP_COLLECTIVE_REDUCE:
    case HOP_COLLECTIVE_GATHER:
        *bytes = root ? what->vector_bytes : 0;
        break;
    case HOP_COLLECTIVE_SCATTER:
        *bytes = part_bytes(what, ranks, rank);
        return what->in_place && root ? hop_definition_part(what, ranks, rank) : 0;
    case HOP_COLLECTIVE_REDUCE_SCATTER:
        *bytes = part_bytes(what, ranks, rank);
        break;
    case HOP_COLLECTIVE_ALLTOALL:
        *bytes = part_bytes(what, ranks, rank) * ranks;
        break;
    default:
        break;
    }
    return 0;
}

uint64_t hop_definition_input(const struct hop_collective_options *what, uint32_t ranks, uint32_t rank, uint64_t *bytes)
{
    bool root = rank == what->root,
         rooted = what->kind == HOP_COLLECTIVE_BROADCAST || what->kind == HOP_COLLECTIVE_SCATTER;
    bool apart = what->kind == HOP_COLLECTIVE_ALLGATHER || (what->kind == HOP_COLLECTIVE_GATHER && root);
    *bytes = what->kind == HOP_COLLECTIVE_BARRIER || (rooted && !root) ? 0
             : hop_collective_gathers(what->kind)                      ? part_bytes(what, ranks, rank)
                                                                       : what->vector_bytes;
    return what->in_place && apart ? hop_definition_part(what, ranks, rank) : 0;
}

void hop_definition_extend(struct hop_layout *layout, const struct hop_collective_options *what, uint32_t ranks)
{
    for (uint32_t b = 0; b < layout->buffer_count; b++) {
        struct hop_run_buffer *buffer = &layout->buffers[b];
        uint64_t in, out, end = hop_definition_input(what, ranks, buffer->rank, &in) + in;
        uint64_t result = hop_definition_result(what, ranks, buffer->rank, &out) + out, least = 0;
        if (strcmp(buffer->name, "data") == 0)
            least = end > result ? end : result;
        else if (strcmp(buffer->name, "in") == 0)
            least = end;
        else if (strcmp(buffer->name, "out") == 0)
            least = result;
        buffer->bytes = least > buffer->bytes ? least : buffer->bytes;
    }
}

/* The numbers are 1 to 4. */
bool hop_definition_is_exact(const struct hop_collective_options *what, uint32_t ranks)
{
    static const unsigned bits[HOP_TYPE_COUNT] = {
        [HOP_TYPE_F64] = 53, [HOP_TYPE_F32] = 24, [HOP_TYPE_F16] = 11, [HOP_TYPE_BF16] = 8};
    if (!hop_collective_reduces(what->kind) || what->reduce == HOP_REDUCE_MIN || what->reduce == HOP_REDUCE_MAX ||
        hop_type_is_whole(what->type))
        return true;
    return what->reduce == HOP_REDUCE_SUM ? 4.0 * ranks <= (double)(UINT64_C(1) << bits[what->type])
                                          : 2 * ranks <= bits[what->type];
}
