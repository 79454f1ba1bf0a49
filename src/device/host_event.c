/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of the host. A record lies in a page of shared memory: the number of the last record asked for, and the
 * counter of those that have ended. Whoever maps the page may look, and sleep on the counter.
 */
#include <stdio.h>

#include "base/base.h"
#include "device/host.h"

/* ---- handles ---- */

_Static_assert(sizeof(struct hop_host_handle) <= sizeof(struct hop_device_handle), "a handle holds it");

void hop_host_handle_write(const char *kind, const struct hop_shared *shared, uint32_t slot,
                           struct hop_device_handle *handle)
{
    struct hop_host_handle content = {.slot = slot};
    (void)snprintf(content.kind, sizeof content.kind, "%s", kind);
    (void)snprintf(content.name, sizeof content.name, "%s", shared->name);
    *handle = (struct hop_device_handle){{0}};
    memcpy(handle->bytes, &content, sizeof content);
}

enum hop_status hop_host_handle_read(const struct hop_device_handle *handle, const char *kind,
                                     struct hop_host_handle *content, struct hop_diag *diag)
{
    memcpy(content, handle->bytes, sizeof *content);
    if (memcmp(content->kind, kind, sizeof content->kind) == 0 && memchr(content->name, '\0', sizeof content->name) &&
        hop_shared_is_ours(content->name))
        return HOP_OK;
    return hop_fail(diag, HOP_ERR_INVALID,
                    "what was to be imported is no handle of the host's\nthe bytes of one that a host device exported "
                    "as %s",
                    strcmp(kind, HOP_HOST_EVENT) == 0 ? "an event" : "memory");
}

/* ---- pages ---- */

struct record {
    _Atomic uint32_t recorded; /* number of the last record asked for */
    struct hop_counter ended;  /* of the last one that ended */
    uint32_t padding[13];      /* a cache line each */
};
_Static_assert(sizeof(struct record) == 64, "a cache line");

enum { EVENTS = 256 }; /* a page is an open file until it is withdrawn */

struct host_event {
    struct hop_host_page *page;
    struct record *record;
};

struct hop_host_page {
    struct hop_shared shared; /* EVENTS records */
    bool imported;
    uint32_t used;                    /* own: events handed out */
    struct host_event events[EVENTS]; /* of all records */
    struct hop_host_page *next;
};

static struct host_event *of(struct hop_event *event)
{
    return (struct host_event *)(void *)event;
}

static uint32_t last_record(const struct record *record)
{
    return atomic_load_explicit(&record->recorded, memory_order_acquire);
}

/* Takes the shared memory. */
static enum hop_status add_page(struct hop_host *host, struct hop_shared *shared, bool imported,
                                struct hop_host_page **page, struct hop_diag *diag)
{
    struct hop_host_page *made = malloc(sizeof *made);
    if (!made) {
        hop_shared_finish(shared);
        return hop_fail_memory(diag);
    }
    *made = (struct hop_host_page){.shared = *shared, .imported = imported, .next = host->pages};
    for (uint32_t slot = 0; slot < EVENTS; slot++)
        made->events[slot] = (struct host_event){made, (struct record *)shared->memory + slot};
    *page = host->pages = made;
    return HOP_OK;
}

void hop_host_events_withdraw(struct hop_host *host)
{
    for (struct hop_host_page *page = host->pages; page; page = page->next)
        hop_shared_withdraw(&page->shared);
}

void hop_host_events_finish(struct hop_host *host)
{
    while (host->pages) {
        struct hop_host_page *page = host->pages;
        host->pages = page->next;
        hop_shared_finish(&page->shared);
        free(page);
    }
}

/* ---- events ---- */

enum hop_status hop_host_create_event(struct hop_device *device, struct hop_event **event, struct hop_diag *diag)
{
    struct hop_host *host = (struct hop_host *)device;
    struct hop_host_page *page = host->pages;
    struct hop_shared shared;
    while (page && !(page->shared.named && page->used < EVENTS))
        page = page->next;
    enum hop_status status = page ? HOP_OK : hop_shared_create(EVENTS * sizeof(struct record), &shared, diag);
    if (status == HOP_OK && !page)
        status = add_page(host, &shared, false, &page, diag);
    if (status != HOP_OK)
        return status;
    *event = (struct hop_event *)(void *)&page->events[page->used++];
    return HOP_OK;
}

enum hop_status hop_host_export_event(struct hop_device *device, struct hop_event *event,
                                      struct hop_device_handle *handle, struct hop_diag *diag)
{
    (void)device;
    if (!of(event)->page->shared.named)
        return hop_fail(diag, HOP_ERR_INVALID, "an event that is not this device's, or withdrawn, cannot be exported");
    uint32_t slot = (uint32_t)(of(event) - of(event)->page->events);
    hop_host_handle_write(HOP_HOST_EVENT, &of(event)->page->shared, slot, handle);
    return HOP_OK;
}

static enum hop_status import_page(struct hop_host *host, const char *name, struct hop_host_page **page,
                                   struct hop_diag *diag)
{
    struct hop_shared shared;
    for (*page = host->pages; *page; *page = (*page)->next) {
        if ((*page)->imported && strcmp((*page)->shared.name, name) == 0)
            return HOP_OK;
    }
    enum hop_status status = hop_shared_attach(name, &shared, diag);
    if (status == HOP_OK && shared.size == EVENTS * sizeof(struct record))
        return add_page(host, &shared, true, page, diag);
    if (status == HOP_OK) {
        hop_shared_finish(&shared);
        status = hop_fail(diag, HOP_ERR_INVALID, "shared memory %s holds no events", name);
    }
    return status;
}

enum hop_status hop_host_import_event(struct hop_device *device, const struct hop_device_handle *handle,
                                      struct hop_event **event, struct hop_diag *diag)
{
    struct hop_host_handle content;
    struct hop_host_page *page = NULL;
    enum hop_status status = hop_host_handle_read(handle, HOP_HOST_EVENT, &content, diag);
    if (status == HOP_OK && content.slot >= EVENTS)
        status = hop_fail(diag, HOP_ERR_INVALID, "the handle names event %u of %d", content.slot, EVENTS);
    if (status == HOP_OK)
        status = import_page((struct hop_host *)device, content.name, &page, diag);
    if (status == HOP_OK)
        *event = (struct hop_event *)(void *)&page->events[content.slot];
    return status;
}

enum hop_status hop_host_record(struct hop_device *device, unsigned stream, struct hop_event *event,
                                struct hop_diag *diag)
{
    struct record *record = of(event)->record;
    if (of(event)->page->imported)
        return hop_fail(diag, HOP_ERR_INVALID, "an imported event cannot be recorded");
    uint32_t before = last_record(record);
    const struct hop_host_work work = {.task = HOP_HOST_RECORD, .counter = &record->ended, .sequence = before + 1};
    enum hop_status status = hop_host_check((struct hop_host *)device, stream, diag);
    if (status != HOP_OK)
        return status;
    atomic_store_explicit(&record->recorded, before + 1, memory_order_release);
    return hop_host_submit((struct hop_host *)device, stream, &work, diag);
}

enum hop_status hop_host_query(struct hop_device *device, struct hop_event *event, bool *ended, struct hop_diag *diag)
{
    enum hop_status status = hop_host_check((struct hop_host *)device, HOP_STREAM_NOW, diag);
    if (status == HOP_OK)
        *ended = hop_counter_reached(&of(event)->record->ended, last_record(of(event)->record));
    return status;
}

enum hop_status hop_host_await(struct hop_device *device, unsigned stream, struct hop_event *event,
                               struct hop_diag *diag)
{
    struct record *record = of(event)->record;
    const struct hop_host_work work = {.task = HOP_HOST_AWAIT,
                                       .foreign = of(event)->page->imported,
                                       .counter = &record->ended,
                                       .sequence = last_record(record)};
    if (hop_counter_reached(&record->ended, work.sequence)) {
        HOP_SHARED_HEAR();
        return hop_host_check((struct hop_host *)device, stream, diag);
    }
    return hop_host_submit((struct hop_host *)device, stream, &work, diag);
}
