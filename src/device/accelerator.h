/* SPDX-License-Identifier: BSD-3-Clause */
/* Accelerator: one in software, whose memory is the host's and whose engines take as long as is said. */
#ifndef HOP_DEVICE_ACCELERATOR_H
#define HOP_DEVICE_ACCELERATOR_H

#include "device/device.h"

/* bytes/s out of its memory, into it and within it are told by where a copy goes: [begin, begin + bytes) is the
 * accelerator's, once it is known. 0: as fast as the processor copies. */
struct hop_accelerator {
    double read_Bps, write_Bps, latency_s;
    const char *begin;
    uint64_t bytes;
};
/* A host device whose copies take their time; one engine: copies of one thread follow each other. The accelerator must
 * outlive it. */
enum hop_status hop_accelerator_open(struct hop_accelerator *accelerator, struct hop_device **device,
                                     struct hop_diag *diag);

#endif
