/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions of a CUDA device: finds the kernel, cuts the vectors, sizes the grid.
 *
 * The grid is no larger than what runs at once; each thread goes on through the vectors by its size.
 */
#include "device/cuda.h"

#include <stdio.h>

#include "base/base.h"
#include "device/cuda_reduce.h"

_Static_assert((int)HOP_CUDA_PLACES == (int)HOP_REDUCTION_PLACES,
               "the kernels take as many places as the table promises");

static const char *const reduce_names[] = {
#define NAME(code, name) [code] = name,
    HOP_REDUCE_LIST(NAME)
#undef NAME
};

static const struct {
    const char *name;
    unsigned bytes;
} types[] = {
#define TYPE(code, name, bytes) [code] = {name, bytes},
    HOP_TYPE_LIST(TYPE)
#undef TYPE
};

/* ---- kernels ---- */

/* HOPCAST_CUDA_KERNELS: a file that nvcc made of cuda_reduce.cu elsewhere. */
static enum hop_status load_file(struct hop_cuda_device *device, const char *path, struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_source_load_bytes(path, &source, diag);
    if (status != HOP_OK)
        return status;
    status = HOP_CUDA(device, diag, cuModuleLoadData, &device->kernels, source.text);
    hop_source_finish(&source);
    return status;
}

void hop_cuda_kernels_load(struct hop_cuda_device *device)
{
    struct hop_diag *diag = &device->no_kernels;
    const char *path = getenv("HOPCAST_CUDA_KERNELS");
    if (path && path[0]) {
        (void)load_file(device, path, diag);
    } else if (hop_cuda_has_image) {
        (void)HOP_CUDA(device, diag, cuModuleLoadData, &device->kernels, hop_cuda_image);
    } else {
        (void)hop_fail(diag, HOP_ERR_UNSUPPORTED, "built without nvcc: copies work, reductions on a GPU do not");
        hop_diag_place(diag, "cuda %u", device->ordinal);
        hop_diag_expect(diag, "a build of hopcast that found nvcc (the CUDA toolkit), or HOPCAST_CUDA_KERNELS naming "
                              "the kernels of one");
    }
}

/* The number of blocks is asked for once, here. */
static enum hop_status find_kernel(struct hop_cuda_device *device, const struct hop_reduction *reduction,
                                   const struct hop_cuda_kernel **kernel, struct hop_diag *diag)
{
    struct hop_cuda_kernel *found = &device->kernel[reduction->reduce][reduction->type];
    struct hop_cuda_function *function;
    char name[64];
    int blocks = 0;
    *kernel = found;
    if (found->function)
        return HOP_OK;
    (void)snprintf(name, sizeof name, "hop_reduce_%s_%s", reduce_names[reduction->reduce], types[reduction->type].name);
    enum hop_status status = HOP_CUDA(device, diag, cuModuleGetFunction, &function, device->kernels, name);
    if (status == HOP_OK)
        status =
            HOP_CUDA(device, diag, cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, function, HOP_CUDA_THREADS, 0);
    if (status == HOP_OK)
        *found = (struct hop_cuda_kernel){function, (blocks > 0 ? (unsigned)blocks : 1) *
                                                        (device->processors ? device->processors : 1)};
    return status;
}

/* ---- the work ---- */

static enum hop_status check(const struct hop_cuda_device *device, const struct hop_reduction *reduction,
                             struct hop_diag *diag)
{
    const char *what = NULL;
    if (device->no_kernels.status != HOP_OK) {
        if (diag)
            *diag = device->no_kernels;
        return device->no_kernels.status;
    }
    if ((unsigned)reduction->reduce >= HOP_REDUCE_COUNT || (unsigned)reduction->type >= HOP_TYPE_COUNT)
        what = "no such operator or element type";
    else if (reduction->input_count - 1 >= HOP_REDUCTION_PLACES || reduction->output_count - 1 >= HOP_REDUCTION_PLACES)
        what = "a reduction has 1 to 64 inputs and 1 to 64 outputs";
    if (!what)
        return HOP_OK;
    (void)hop_fail(diag, HOP_ERR_INVALID, "%s", what);
    hop_diag_place(diag, "cuda %u", device->ordinal);
    return HOP_ERR_INVALID;
}

/* By how much addresses miss a multiple of 16 bytes; alike: all by the same. */
struct offset {
    unsigned bytes;
    bool alike, whole; /* whole: in elements */
};

static void look_at(struct offset *offset, const void *address, unsigned element)
{
    unsigned bytes = (unsigned)((uintptr_t)address % HOP_CUDA_VECTOR_BYTES);
    offset->alike = offset->alike && bytes == offset->bytes;
    offset->whole = offset->whole && bytes % element == 0;
}

static enum hop_status describe(const struct hop_cuda_device *device, const struct hop_reduction *reduction,
                                struct hop_cuda_reduction *work, struct hop_diag *diag)
{
    const unsigned element = types[reduction->type].bytes, of_vector = HOP_CUDA_VECTOR_BYTES / element;
    struct offset offset = {(unsigned)((uintptr_t)reduction->inputs[0] % HOP_CUDA_VECTOR_BYTES), true, true};
    *work = (struct hop_cuda_reduction){
        .count = reduction->count, .input_count = reduction->input_count, .output_count = reduction->output_count};
    for (uint32_t i = 0; i < reduction->input_count; i++) {
        work->inputs[i] = reduction->inputs[i];
        look_at(&offset, reduction->inputs[i], element);
    }
    for (uint32_t i = 0; i < reduction->output_count; i++) {
        work->outputs[i] = reduction->outputs[i];
        look_at(&offset, reduction->outputs[i], element);
    }
    if (!offset.whole) {
        (void)hop_fail(diag, HOP_ERR_INVALID, "an address of a reduction of %s is not a multiple of %u bytes",
                       types[reduction->type].name, element);
        hop_diag_place(diag, "cuda %u", device->ordinal);
        return HOP_ERR_INVALID;
    }
    if (offset.alike) {
        uint64_t head = offset.bytes ? (HOP_CUDA_VECTOR_BYTES - offset.bytes) / element : 0;
        work->head = head < work->count ? head : work->count;
        work->vectors = (work->count - work->head) / of_vector;
    }
    return HOP_OK;
}

/* As many threads as there are vectors or single elements, whichever are more. */
static unsigned blocks_for(const struct hop_cuda_reduction *work, unsigned of_vector, unsigned most)
{
    uint64_t single = work->count - work->vectors * of_vector;
    uint64_t threads = work->vectors > single ? work->vectors : single;
    uint64_t blocks = threads / HOP_CUDA_THREADS + (threads % HOP_CUDA_THREADS != 0);
    return blocks < most ? (unsigned)blocks : most;
}

enum hop_status hop_cuda_reduce(struct hop_device *base, unsigned stream, const struct hop_reduction *reduction,
                                struct hop_diag *diag)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    const struct hop_cuda_kernel *kernel;
    struct hop_cuda_stream *found;
    struct hop_cuda_reduction work;
    enum hop_status status = check(device, reduction, diag);
    if (status == HOP_OK)
        status = describe(device, reduction, &work, diag);
    if (status == HOP_OK)
        status = hop_cuda_stream_find(device, stream, &found, diag);
    if (status == HOP_OK)
        status = hop_cuda_enter(device, diag);
    if (status != HOP_OK)
        return status;
    if (work.count == 0)
        return hop_cuda_leave(device, HOP_OK);
    status = find_kernel(device, reduction, &kernel, diag);
    if (status == HOP_OK) {
        unsigned of_vector = HOP_CUDA_VECTOR_BYTES / types[reduction->type].bytes;
        status = HOP_CUDA(device, diag, cuLaunchKernel, kernel->function, blocks_for(&work, of_vector, kernel->blocks),
                          1, 1, HOP_CUDA_THREADS, 1, 1, 0, found, (void *[]){&work}, NULL);
    }
    return hop_cuda_leave(device, hop_cuda_queued(device, stream, status, diag));
}
