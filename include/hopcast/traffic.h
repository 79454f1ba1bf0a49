/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic: how many bytes every rank sends to every other one, from host memory and from device memory apart.
 *
 * It is what a profile of a program gives (the byte matrix, Faraji 2018, sections 2.5 and 6.3) and what a mapping
 * needs:
 *
 *     flows      (from, to) -> host bytes and messages, device bytes and messages; ascending by from, then to;
 *                a pair that moves nothing has none, and no rank sends to itself
 *
 * Read from a file of several forms (docs/traffic.md), summed up from a schedule, or made of a pattern (hopcast/pattern.h).
 */
#ifndef HOPCAST_TRAFFIC_H
#define HOPCAST_TRAFFIC_H

#include "hopcast/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_TRAFFIC_RANKS (1u << 16) /* at most */
#define HOP_TRAFFIC_FLOWS (1u << 25) /* at most: alltoall of 5,792 ranks */

enum hop_memory { HOP_MEMORY_DEVICE, HOP_MEMORY_HOST, HOP_MEMORY_COUNT };

struct hop_traffic_flow {
    uint32_t from, to;                    /* ranks */
    uint64_t bytes[HOP_MEMORY_COUNT];
    uint64_t messages[HOP_MEMORY_COUNT];  /* 0: not known, of a part of the bytes at least */
};

struct hop_traffic;

/* ---- building ---- */

/* Without flows. HOP_ERR_INVALID: no ranks, or more than HOP_TRAFFIC_RANKS. */
HOP_API enum hop_status hop_traffic_create(uint32_t ranks, struct hop_traffic **traffic, struct hop_diag *diag);
HOP_API void hop_traffic_destroy(struct hop_traffic *traffic); /* NULL is allowed */
/* Adds to what is there; 0 bytes and what a rank sends to itself are left out. HOP_ERR_INVALID: no such rank, or the
 * bytes (of both memories) or the messages of all flows add up to more than 2^63. */
HOP_API enum hop_status hop_traffic_add(struct hop_traffic *traffic, uint32_t from, uint32_t to, enum hop_memory memory,
                                        uint64_t bytes, uint64_t messages, struct hop_diag *diag);
/* Adds another one's flows, of at most as many ranks. On failure nothing is added. */
HOP_API enum hop_status hop_traffic_merge(struct hop_traffic *traffic, const struct hop_traffic *other,
                                          struct hop_diag *diag);

/* ---- reading ---- */

/* A file, "-" being standard input, whose form is detected:
 *
 *     a profile         text with the columns from,to,host_bytes,device_bytes[,host_messages,device_messages];
 *                       a comment `# ranks N` above them says how many there are, silent ones included
 *     a byte matrix     n rows of n numbers (commas, semicolons, tabs or blanks between), with or without labels
 *     Matrix Market     coordinate or array; real, integer or pattern; general or symmetric
 *     JSON              what libhopcast_mpi writes (docs/mpi.md)
 *
 * The bytes of matrices are of `memory`; the others say themselves. Sizes may have units (4KiB); real numbers are
 * rounded to whole bytes; what comes twice adds up. Refused, with line and column: not square, negative, not a number,
 * more than 0 but rounded to it, a label twice, too many. */
HOP_API enum hop_status hop_traffic_load(const char *path, enum hop_memory memory, struct hop_traffic **traffic,
                                         struct hop_diag *diag);
HOP_API enum hop_status hop_traffic_parse(const char *name, const char *text, size_t size, enum hop_memory memory,
                                          struct hop_traffic **traffic, struct hop_diag *diag);
/* True if a text looks like one of these, errors in it aside, and not like a schedule. It is true where memory lacks, too,
 * which reading the text then says. */
HOP_API bool hop_traffic_detect(const char *text, size_t size);

/* ---- making ---- */

/* What a schedule's copies and messages move between ranks. Ranks are those of its places; where no copy or message
 * says one, the devices in the order of their appearance, host memory apart (it belongs to no rank and is refused
 * then). Bytes are host's where both ends lie on a device named host (the part behind the last '.', digits aside), else
 * device's. */
HOP_API enum hop_status hop_traffic_of_schedule(const struct hop_schedule *schedule, struct hop_traffic **traffic,
                                                struct hop_diag *diag);
/* Every flow as a copy "r0.to1" (of host memory "r0.to1.host"), all at once, rank after rank, each rank's in the order
 * of the flows, those of device memory first. devices[r] and hosts[r] are rank r's; hosts may be NULL: then host bytes
 * are left out. NULL entries are refused where there is traffic. Places say their ranks, so several may share a
 * device. */
HOP_API enum hop_status hop_traffic_to_schedule(const struct hop_traffic *traffic, const char *const *devices,
                                                const char *const *hosts, struct hop_schedule **schedule,
                                                struct hop_diag *diag);

/* ---- looking and writing ---- */

HOP_API uint32_t hop_traffic_ranks(const struct hop_traffic *traffic);
HOP_API uint32_t hop_traffic_count(const struct hop_traffic *traffic);
HOP_API const struct hop_traffic_flow *hop_traffic_flows(const struct hop_traffic *traffic);
HOP_API uint64_t hop_traffic_bytes(const struct hop_traffic *traffic, enum hop_memory memory); /* the sum */
/* A profile, as hop_traffic_load reads it. A new string that the caller frees; NULL: out of memory. */
HOP_API char *hop_traffic_to_text(const struct hop_traffic *traffic);

#ifdef __cplusplus
}
#endif
#endif
