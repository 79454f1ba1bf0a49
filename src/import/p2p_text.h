/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of the CUDA sample p2pBandwidthLatencyTest, as its matrices: read for the measurements that it holds
 * (measurements/read_p2p.c) and for the wiring that they suggest (p2p_matrix.c).
 *
 *     Device: 0, NAME, pciBusID: 4f, pciDeviceID: 0, pciDomainID:0
 *     Device=0 CAN Access Peer Device=1
 *     P2P Connectivity Matrix
 *          D\D     0     1                         1: the GPU of the row reaches that of the column
 *          0       1     1
 *     Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
 *        D\D     0      1                          the diagonal is a copy inside a GPU and not kept
 *          0 1536.38  20.56
 *
 * Matrices of latencies are passed over, and so is every line that is none of these.
 */
#ifndef HOP_IMPORT_P2P_TEXT_H
#define HOP_IMPORT_P2P_TEXT_H

#include "base/base.h"

#define HOP_P2P_LIMIT 512u /* GPUs */

enum hop_p2p_matrix {
    HOP_P2P_CONNECTIVITY,
    HOP_P2P_ONE_WAY_DISABLED, /* one copy, staged through host memory */
    HOP_P2P_ONE_WAY,
    HOP_P2P_ONE_WAY_READS, /* run by the GPU that receives */
    HOP_P2P_TWO_WAY_DISABLED,
    HOP_P2P_TWO_WAY,
    HOP_P2P_MATRICES
};

struct hop_p2p_device {
    const char *label; /* as the driver calls it; NULL: there are no device lines */
    unsigned domain, bus, slot;
};

struct hop_p2p_cell {
    double value; /* as printed; NAN: not printed, zero, or on the diagonal */
    uint32_t line, column;
};

struct hop_p2p {
    struct hop_arena arena;
    uint32_t count;
    struct hop_p2p_device devices[HOP_P2P_LIMIT];
    struct hop_p2p_cell *matrix[HOP_P2P_MATRICES]; /* count x count, row by row; NULL: absent */
    int8_t *access;                                /* count x count: 1 has peer access, 0 has not, -1 not said */
    bool has_devices;                              /* device lines */
    bool from_row; /* one way is from the GPU of the row to that of the column (reads: the other way round); else from
                      the column to the row, as in the versions before "(P2P Writes)" */
};

bool hop_p2p_detect(const struct hop_source *source);
/* The output of one run, which begins behind so many lines of its file. Finish it in any case. */
#define HOP_P2P_BANNER "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]"
enum hop_status hop_p2p_read(const struct hop_source *source, uint32_t lines, struct hop_p2p *p2p,
                             struct hop_diag *diag);
void hop_p2p_finish(struct hop_p2p *p2p);
static inline const struct hop_p2p_cell *hop_p2p_at(const struct hop_p2p *p2p, enum hop_p2p_matrix matrix, uint32_t row,
                                                    uint32_t column)
{
    return &p2p->matrix[matrix][(size_t)row * p2p->count + column];
}
/* Whether the copies between two GPUs are known to be staged through host memory even where peer access is on. */
static inline bool hop_p2p_staged(const struct hop_p2p *p2p, uint32_t row, uint32_t column)
{
    return p2p->access && p2p->access[(size_t)row * p2p->count + column] == 0;
}

#endif
