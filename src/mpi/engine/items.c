/* SPDX-License-Identifier: BSD-3-Clause */
/* Items of types as bytes at a place: where they are, where they lie so; else copied, packed and unpacked. */
#include "mpi/engine/run_collective.h"

#include "mpi/device_memory.h"
#include "mpi/say.h"

#include <stdio.h>
#include <unistd.h>

void hop_collective_die(const struct hop_mpi_job *job, const char *what)
{
    hop_mpi_tell("rank %d: %s; the job ends", job->rank, what);
    job->give_up("a failed collective of hopcast's");
    _exit(1);
}

struct packing {
    const struct hop_mpi_shim_collectives *mpi;
    const struct hop_mpi_items *items;
    int64_t size, extent;
    bool plain, dense; /* each item is as its bytes are; blocks follow each other */
    int64_t count;     /* of all blocks */
    size_t total;      /* bytes */
};

static int64_t count_of(const struct hop_mpi_items *items, int64_t block)
{
    return items->counts ? hop_mpi_entry(items->counts, items->large, block) : items->count;
}

static int64_t displacement(const struct hop_mpi_items *items, int64_t block)
{
    return !items->displacements ? block * items->count : hop_mpi_entry(items->displacements, items->large, block);
}

static struct packing look_at(const struct hop_mpi_job *job, const struct hop_mpi_items *items)
{
    struct packing p = {.mpi = job->mpi->collectives, .items = items};
    p.size = p.mpi->size(items->type, &p.plain);
    p.extent = p.plain ? p.size : p.mpi->extent(items->type);
    p.dense = true;
    for (int64_t b = 0; b < items->blocks; b++) {
        p.dense = p.dense && displacement(items, b) == displacement(items, 0) + p.count;
        p.count += count_of(items, b);
    }
    p.total = (size_t)(p.count * p.size);
    return p;
}

static char *block_of(const struct packing *p, int64_t block)
{
    return (char *)p->items->address + displacement(p->items, block) * p->extent;
}

static void copy(const struct hop_mpi_job *job, void *to, const void *from, size_t bytes)
{
    if (hop_mpi_memory_of(to) == MEMORY_HOST && hop_mpi_memory_of(from) == MEMORY_HOST)
        memcpy(to, from, bytes);
    else if (!hop_mpi_device_copy(to, from, bytes))
        hop_collective_die(job, "the driver does not copy between the device's memory and the host's");
}

static void move(const struct hop_mpi_job *job, const struct packing *p, char *bytes, uintptr_t comm, bool in,
                 int *error)
{
    int64_t blocks = p->dense ? 1 : p->items->blocks;
    size_t length;
    for (int64_t b = 0; b < blocks; b++, bytes += length) {
        int64_t each = p->dense ? p->count : count_of(p->items, b);
        int failed = 0;
        length = (size_t)(each * p->size);
        if (length == 0)
            continue;
        if (p->plain)
            copy(job, in ? bytes : block_of(p, b), in ? block_of(p, b) : bytes, length);
        else if (in)
            failed = p->mpi->pack(block_of(p, b), each, p->items->type, bytes, length, comm);
        else
            failed = p->mpi->unpack(bytes, length, block_of(p, b), each, p->items->type, comm);
        *error = *error ? *error : failed;
    }
}

static char *room(const struct hop_mpi_job *job, struct hop_comm_state *state, int which, size_t bytes)
{
    char *memory = hop_comm_room(state, which, bytes ? bytes : 1);
    if (!memory)
        hop_collective_die(job, "out of memory in a collective");
    return memory;
}

/* NULL: items have to be brought to another place. */
static char *in_place(const struct packing *p)
{
    char *first = p->plain && p->dense ? block_of(p, 0) : NULL;
    return first && hop_mpi_memory_of(first) == MEMORY_HOST ? first : NULL;
}

static bool overlap(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    return a && b && a < b + b_bytes && b < a + a_bytes;
}

/* What is put in where it is not 0 counts as 1. */
static void make_truth(char *to, const char *from, size_t bytes, enum hop_type type)
{
#define TRUTH(width)                                                                                                   \
    for (size_t i = 0; i < bytes / (width / 8); i++)                                                                   \
    ((uint##width##_t *)(void *)to)[i] = ((const uint##width##_t *)(const void *)from)[i] != 0
    switch (hop_type_bytes(type)) {
    case 1:
        TRUTH(8);
        break;
    case 2:
        TRUTH(16);
        break;
    case 4:
        TRUTH(32);
        break;
    default:
        TRUTH(64);
    }
#undef TRUTH
}

/* The root of a broadcast, whose items stay as they are, and may not be written to. */
static bool gives(const struct hop_comm_state *state, const struct hop_mpi_wanted *wanted)
{
    return wanted->shape.kind == HOP_COLLECTIVE_BROADCAST && state->ranks->own == (int)wanted->shape.root;
}

const void *hop_items_in(const struct hop_mpi_job *job, struct hop_comm_state *state,
                         const struct hop_mpi_wanted *wanted, int *error)
{
    if (wanted->in.blocks == 0)
        return NULL;
    struct packing in = look_at(job, &wanted->in), out = {0};
    char *address = in_place(&in);
    if (wanted->out.blocks > 0 && !wanted->discards)
        out = look_at(job, &wanted->out);
    bool shared = out.mpi && address && overlap(address, in.total, in_place(&out), out.total);
    if (address && !shared && !wanted->truth)
        return address;
    char *own = room(job, state, 0, in.total);
    if (!address || !wanted->truth)
        move(job, &in, own, wanted->comm, true, error);
    if (wanted->truth)
        make_truth(own, address ? address : own, in.total, wanted->shape.type);
    return own;
}

void *hop_items_out(const struct hop_mpi_job *job, struct hop_comm_state *state, const struct hop_mpi_wanted *wanted,
                    int *error)
{
    if (wanted->out.blocks == 0)
        return NULL;
    struct packing out = look_at(job, &wanted->out);
    char *address = wanted->discards ? NULL : in_place(&out);
    if (address)
        return address;
    address = room(job, state, 1, out.total);
    if (gives(state, wanted))
        move(job, &out, address, wanted->comm, true, error);
    return address;
}

void hop_items_end(const struct hop_mpi_job *job, const struct hop_comm_state *state,
                   const struct hop_mpi_wanted *wanted, const void *result, int *error)
{
    if (wanted->out.blocks == 0 || wanted->discards || *error || gives(state, wanted))
        return;
    struct packing out = look_at(job, &wanted->out);
    if (result != in_place(&out))
        move(job, &out, (char *)(uintptr_t)result, wanted->comm, false, error);
}
