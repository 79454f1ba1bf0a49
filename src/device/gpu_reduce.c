/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions of a GPU: finds the kernel, cuts the vectors, sizes the grid.
 *
 * The grid is no larger than what runs at once; each thread goes on through the vectors by its size.
 */
#include "device/gpu.h"

#include <stdio.h>

#include "device/gpu_reduce.h"

_Static_assert((int)HOP_GPU_PLACES == (int)HOP_REDUCTION_PLACES,
               "the kernels take as many places as the table promises");

/* ---- kernels ---- */

/* The environment may name a file that the compiler made of gpu_reduce.cu elsewhere. */
void hop_gpu_kernels_load(struct hop_gpu_device *device)
{
    const struct hop_gpu_dialect *dialect = device->driver->dialect;
    struct hop_gpu_call call = {.device = device, .diag = &device->no_kernels};
    const char *path = getenv(dialect->kernels_variable);
    struct hop_source source = {0};
    if (path && path[0]) {
        call.status = hop_source_load_bytes(path, &source, call.diag);
        (void)HOP_GPU(&call, cuModuleLoadData, &device->kernels, source.text);
        hop_source_finish(&source);
    } else if (*dialect->has_image) {
        (void)HOP_GPU(&call, cuModuleLoadData, &device->kernels, dialect->image);
    } else {
        hop_gpu_refuse(&call, HOP_ERR_UNSUPPORTED,
                       "built without %s: copies work, reductions on a GPU do not\n"
                       "a build of hopcast that found it, or %s naming the kernels of one",
                       dialect->compiler, dialect->kernels_variable);
    }
}

/* The number of blocks is asked for once, here. */
static const struct hop_gpu_kernel *find_kernel(struct hop_gpu_call *call, const struct hop_reduction *reduction)
{
    struct hop_gpu_device *device = call->device;
    struct hop_gpu_kernel *found = &device->kernel[reduction->reduce][reduction->type];
    struct hop_gpu_function *function;
    char name[64];
    int blocks = 0;
    if (found->function)
        return found;
    (void)snprintf(name, sizeof name, "hop_reduce_%s_%s", hop_reduce_name(reduction->reduce),
                   hop_type_name(reduction->type));
    (void)HOP_GPU(call, cuModuleGetFunction, &function, device->kernels, name);
    if (HOP_GPU(call, cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, function, HOP_GPU_THREADS, 0))
        *found = (struct hop_gpu_kernel){function, (blocks > 0 ? (unsigned)blocks : 1) *
                                                       (device->processors ? device->processors : 1)};
    return found;
}

/* ---- the work ---- */

static void check(struct hop_gpu_call *call, const struct hop_reduction *reduction)
{
    if (!hop_reduce_suits(reduction->reduce, reduction->type))
        hop_gpu_refuse(call, HOP_ERR_INVALID, "no such operator or element type");
    else if (reduction->input_count - 1 >= HOP_REDUCTION_PLACES || reduction->output_count - 1 >= HOP_REDUCTION_PLACES)
        hop_gpu_refuse(call, HOP_ERR_INVALID, "a reduction has 1 to 64 inputs and 1 to 64 outputs");
    if (call->status != HOP_OK || call->device->no_kernels.status == HOP_OK)
        return;
    call->status = call->device->no_kernels.status;
    if (call->diag)
        *call->diag = call->device->no_kernels;
}

/* By how much addresses miss a multiple of 16 bytes; alike: all by the same. */
struct offset {
    unsigned bytes;
    bool alike, whole; /* whole: in elements */
};

static void look_at(struct offset *offset, const void *address, unsigned element)
{
    unsigned bytes = (unsigned)((uintptr_t)address % HOP_GPU_VECTOR_BYTES);
    offset->alike = offset->alike && bytes == offset->bytes;
    offset->whole = offset->whole && bytes % element == 0;
}

static struct hop_gpu_reduction describe(struct hop_gpu_call *call, const struct hop_reduction *reduction,
                                         unsigned element)
{
    struct offset offset = {(unsigned)((uintptr_t)reduction->inputs[0] % HOP_GPU_VECTOR_BYTES), true, true};
    struct hop_gpu_reduction work = {
        .count = reduction->count, .input_count = reduction->input_count, .output_count = reduction->output_count};
    for (uint32_t i = 0; i < reduction->input_count; i++)
        look_at(&offset, work.inputs[i] = reduction->inputs[i], element);
    for (uint32_t i = 0; i < reduction->output_count; i++)
        look_at(&offset, work.outputs[i] = reduction->outputs[i], element);
    if (!offset.whole)
        hop_gpu_refuse(call, HOP_ERR_INVALID, "an address of a reduction of %s is not a multiple of %u bytes",
                       hop_type_name(reduction->type), element);
    if (offset.alike) {
        uint64_t head = offset.bytes ? (HOP_GPU_VECTOR_BYTES - offset.bytes) / element : 0;
        work.head = head < work.count ? head : work.count;
        work.vectors = (work.count - work.head) / (HOP_GPU_VECTOR_BYTES / element);
    }
    return work;
}

/* As many threads as there are vectors or single elements, whichever are more. */
static unsigned blocks_for(const struct hop_gpu_reduction *work, unsigned of_vector, unsigned most)
{
    uint64_t single = work->count - work->vectors * of_vector;
    uint64_t threads = work->vectors > single ? work->vectors : single;
    uint64_t blocks = threads / HOP_GPU_THREADS + (threads % HOP_GPU_THREADS != 0);
    return blocks < most ? (unsigned)blocks : most;
}

enum hop_status hop_gpu_reduce(struct hop_device *base, unsigned stream, const struct hop_reduction *wanted,
                               struct hop_diag *diag)
{
    struct hop_gpu_call call = hop_gpu_begin(base, diag);
    check(&call, wanted);
    if (call.status != HOP_OK)
        return hop_gpu_end(&call);
    const struct hop_reduction same = hop_reduction_by_kernel(wanted), *reduction = &same;
    unsigned element = (unsigned)hop_type_bytes(reduction->type), of_vector = HOP_GPU_VECTOR_BYTES / element;
    struct hop_gpu_reduction work = describe(&call, reduction, element);
    struct hop_gpu_stream *on = hop_gpu_stream(&call, stream);
    const struct hop_gpu_kernel *kernel = call.status == HOP_OK ? find_kernel(&call, reduction) : NULL;
    if (call.status == HOP_OK && work.count > 0) {
        (void)HOP_GPU(&call, cuLaunchKernel, kernel->function, blocks_for(&work, of_vector, kernel->blocks), 1, 1,
                      HOP_GPU_THREADS, 1, 1, 0, on, (void *[]){&work}, NULL);
        hop_gpu_queued(&call, stream);
    }
    return hop_gpu_end(&call);
}
