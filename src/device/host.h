/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host as a device, inside: what its files share, the lower one first, and what a back end that wraps it may change.
 *
 *     host_counter.c   what threads and processes wait for
 *     host_stream.c    streams: a thread each, started by the first work queued
 *     host_event.c     events: counters in shared pages; handles
 *     host.c           the table; memory: one shared segment an allocation
 */
#ifndef HOP_DEVICE_HOST_H
#define HOP_DEVICE_HOST_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/shared.h"
#include "device/device.h"

/* Does copies and reductions in place of the processor, on whatever thread; the device's, queued or not, are its. What
 * fails on a stream fails the device: what is queued is dropped, and all calls of the data path say why. */
struct hop_host_copier {
    enum hop_status (*copy)(void *context, const struct hop_device_copy *copy, struct hop_diag *diag);
    enum hop_status (*reduce)(void *context, const struct hop_reduction *reduction, struct hop_diag *diag);
    void *context;
};
struct hop_host_copier hop_emulated_copier(struct hop_emulation *emulation); /* emulated.c */
/* copier NULL: the processor does, or emulated links where the options have them. */
enum hop_status hop_host_open(const struct hop_device_options *options, const struct hop_host_copier *copier,
                              struct hop_device **device, struct hop_diag *diag);

/* ---- counters (host_counter.c) ---- */

/* Grows, also across 2^32; zeroed it is 0. It may lie in memory that processes share, at different addresses. */
struct hop_counter {
    _Atomic uint32_t value, sleepers;
};
bool hop_counter_reached(const struct hop_counter *counter, uint32_t value);
/* To `value` unless it is further already; wakes who waits. */
void hop_counter_advance(struct hop_counter *counter, uint32_t value);
/* By one, which async-signal-safe code may do, too. */
void hop_counter_ring(struct hop_counter *counter);
/* While it is that value, until a time of hop_now_ns at most (UINT64_MAX: none), or less. */
void hop_counter_sleep(struct hop_counter *counter, uint32_t value, uint64_t until_ns);
/* Until it is reached; false: `stop` came first, which is looked at now and then. stop NULL: however long it takes. */
bool hop_counter_wait(struct hop_counter *counter, uint32_t value, const atomic_bool *stop);

/* ---- streams (host_stream.c) ---- */

enum hop_host_task { HOP_HOST_COPY, HOP_HOST_REDUCE, HOP_HOST_RECORD, HOP_HOST_AWAIT, HOP_HOST_STOP };
struct hop_host_work {
    enum hop_host_task task;
    bool foreign;                /* await: an event of another device, whose process may be gone */
    uint32_t sequence;           /* record and await: of the event */
    struct hop_counter *counter; /* the event's */
    union {
        struct hop_device_copy copy;
        const struct hop_reduction *reduction;
    };
};

/* Work that is queued, with what it points to. Most of it passes from one processor to another in one cache line. */
struct hop_host_slot {
    _Alignas(64) struct hop_host_work work;
    struct hop_reduction reduction;
    const void *inputs[HOP_REDUCTION_PLACES];
    void *outputs[HOP_REDUCTION_PLACES];
};

enum { HOP_HOST_RING = 64 };
/* Work number i lies in ring[i % HOP_HOST_RING] until it is done. */
struct hop_host_stream {
    struct hop_host *host;
    pthread_t thread;
    bool started;
    struct hop_counter queued, done;
    struct hop_host_slot ring[HOP_HOST_RING];
};

struct hop_host {
    struct hop_device device;
    struct hop_host_copier copier;
    unsigned copy_streams;
    bool emulated;
    struct hop_shared *blocks; /* memory, allocated and imported */
    uint32_t block_count, block_capacity;
    struct hop_host_page *pages;
    atomic_bool leaving; /* waits for other devices' events end */
    atomic_bool failed;  /* all waits end, work is dropped; failure says why */
    atomic_flag failing;
    struct hop_diag failure;
    struct hop_host_stream streams[HOP_DEVICE_STREAMS];
};

/* A copy on this thread, unless the device has failed. */
enum hop_status hop_host_copy_now(struct hop_host *host, const struct hop_device_copy *copy, struct hop_diag *diag);
/* Now, for HOP_STREAM_NOW and records on a stream that has had no work; else it is queued, and its stream starts. */
enum hop_status hop_host_submit(struct hop_host *host, unsigned stream, const struct hop_host_work *work,
                                struct hop_diag *diag);
/* Whether there is such a stream, and the device has not failed. */
enum hop_status hop_host_check(struct hop_host *host, unsigned stream, struct hop_diag *diag);
enum hop_status hop_host_synchronize(struct hop_device *device, unsigned stream, struct hop_diag *diag);
void hop_host_streams_finish(struct hop_host *host);

/* ---- events, handles (host_event.c) ---- */

/* What is put into a handle. */
struct hop_host_handle {
    char kind[8]; /* HOP_HOST_MEMORY, HOP_HOST_EVENT */
    char name[HOP_SHARED_NAME_SIZE];
    uint32_t slot;
};
#define HOP_HOST_MEMORY "hostmem"
#define HOP_HOST_EVENT "hostevt"
void hop_host_handle_write(const char *kind, const struct hop_shared *shared, uint32_t slot,
                           struct hop_device_handle *handle);
/* Whether it is one of that kind, well formed. */
enum hop_status hop_host_handle_read(const struct hop_device_handle *handle, const char *kind,
                                     struct hop_host_handle *content, struct hop_diag *diag);

enum hop_status hop_host_create_event(struct hop_device *device, struct hop_event **event, struct hop_diag *diag);
enum hop_status hop_host_export_event(struct hop_device *device, struct hop_event *event,
                                      struct hop_device_handle *handle, struct hop_diag *diag);
enum hop_status hop_host_import_event(struct hop_device *device, const struct hop_device_handle *handle,
                                      struct hop_event **event, struct hop_diag *diag);
enum hop_status hop_host_record(struct hop_device *device, unsigned stream, struct hop_event *event,
                                struct hop_diag *diag);
enum hop_status hop_host_query(struct hop_device *device, struct hop_event *event, bool *ended, struct hop_diag *diag);
enum hop_status hop_host_await(struct hop_device *device, unsigned stream, struct hop_event *event,
                               struct hop_diag *diag);
void hop_host_events_withdraw(struct hop_host *host);
void hop_host_events_finish(struct hop_host *host);

#endif
