/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduction on the processor: what its plain and its vector kernels share. */
#ifndef HOP_DEVICE_REDUCE_HOST_H
#define HOP_DEVICE_REDUCE_HOST_H

#include "device/device.h"

/* Reduces the elements from .. to - 1 of a reduction with two inputs or more. */
typedef void hop_fold(const struct hop_reduction *reduction, uint64_t from, uint64_t to);

hop_fold *hop_fold_plain(enum hop_reduce reduce, enum hop_type type);
/* Integers that the others leave to it. vectors: with AVX2. */
hop_fold *hop_fold_whole(enum hop_reduce reduce, enum hop_type type, bool vectors);
/* past: writes past the caches, for what is too large for them. NULL: this processor has no AVX2 and F16C. */
hop_fold *hop_fold_avx2(enum hop_reduce reduce, enum hop_type type, bool past);
/* Copies past the caches and returns how many bytes from the beginning; the rest is the caller's. */
uint64_t hop_copy_avx2(char *to, const char *from, uint64_t bytes);

/* A copy on the calling thread; the two are the same or do not overlap. */
void hop_copy_on_host(void *to, const void *from, uint64_t bytes);

/* For tests and measurements: only plain kernels; from how many bytes read and written on past the caches, 0: the
 * usual number. */
void hop_reduce_on_host_choose(bool plain, uint64_t past_bytes);

#endif
