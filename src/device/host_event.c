/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of the host. A record lies in a page of shared memory: the number of the last record asked for, and the
 * counter of those that have ended. Whoever maps the page may look, and sleep on the counter.
 */
#include "device/host.h"

#include <stdio.h>

#include "base/base.h"

_Static_assert(sizeof(struct hop_event_record) == 64, "a cache line");

static struct hop_event_record *record_at(const struct hop_event_page *page, uint32_t slot)
{
    return (struct hop_event_record *)page->shared.memory + slot;
}

static uint32_t slot_of(const struct hop_event *event)
{
    return (uint32_t)(event->record - record_at(event->page, 0));
}

static uint32_t last_record(const struct hop_event_record *record)
{
    return atomic_load_explicit(&record->recorded, memory_order_acquire);
}

static bool has_ended(const struct hop_event_record *record)
{
    return hop_counter_reached(&record->ended, last_record(record));
}

/* ---- pages ---- */

static struct hop_event_page *keep_page(struct hop_host *host, const struct hop_shared *shared, bool imported)
{
    struct hop_event_page *page = malloc(sizeof *page);
    if (page) {
        *page = (struct hop_event_page){.shared = *shared, .imported = imported, .next = host->pages};
        host->pages = page;
    }
    return page;
}

/* A record that nobody uses; one that was given up before it ended is passed over. HOP_EVENTS: none. */
static uint32_t find_free(const struct hop_event_page *page)
{
    uint32_t slot = 0;
    while (slot < HOP_EVENTS && (page->used >> slot & 1 || !has_ended(record_at(page, slot))))
        slot++;
    return slot;
}

static enum hop_status find_page(struct hop_host *host, struct hop_event_page **page, uint32_t *slot,
                                 struct hop_diag *diag)
{
    for (struct hop_event_page *p = host->pages; p; p = p->next) {
        if (p->shared.named && (*slot = find_free(p)) < HOP_EVENTS) {
            *page = p;
            return HOP_OK;
        }
    }
    struct hop_shared shared;
    enum hop_status status = hop_shared_create(HOP_EVENTS * sizeof(struct hop_event_record), &shared, diag);
    if (status != HOP_OK)
        return status;
    *slot = 0;
    *page = keep_page(host, &shared, false);
    if (*page)
        return HOP_OK;
    hop_shared_finish(&shared);
    return hop_fail_memory(diag);
}

static enum hop_status import_page(struct hop_host *host, const char *name, struct hop_event_page **page,
                                   struct hop_diag *diag)
{
    for (*page = host->pages; *page; *page = (*page)->next) {
        if ((*page)->imported && strcmp((*page)->shared.name, name) == 0)
            return HOP_OK;
    }
    struct hop_shared shared;
    enum hop_status status = hop_shared_attach(name, &shared, diag);
    if (status != HOP_OK)
        return status;
    if (shared.size != HOP_EVENTS * sizeof(struct hop_event_record))
        status = hop_fail(diag, HOP_ERR_INVALID, "shared memory %s holds no events", name);
    else if (!(*page = keep_page(host, &shared, true)))
        status = hop_fail_memory(diag);
    if (status != HOP_OK)
        hop_shared_finish(&shared);
    return status;
}

void hop_host_events_withdraw(struct hop_host *host)
{
    for (struct hop_event_page *page = host->pages; page; page = page->next)
        hop_shared_withdraw(&page->shared);
}

/* ---- events ---- */

static enum hop_status add_event(struct hop_host *host, struct hop_event_page *page, uint32_t slot,
                                 struct hop_event **event, struct hop_diag *diag)
{
    struct hop_event *made = malloc(sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    *made = (struct hop_event){.page = page, .record = record_at(page, slot), .next = host->events};
    if (made->next)
        made->next->previous = made;
    host->events = made;
    *event = made;
    return HOP_OK;
}

enum hop_status hop_host_create_event(struct hop_device *device, struct hop_event **event, struct hop_diag *diag)
{
    struct hop_host *host = (struct hop_host *)device;
    struct hop_event_page *page = NULL;
    uint32_t slot = 0;
    enum hop_status status = find_page(host, &page, &slot, diag);
    if (status == HOP_OK)
        status = add_event(host, page, slot, event, diag);
    if (status == HOP_OK)
        page->used |= (uint64_t)1 << slot;
    return status;
}

void hop_host_destroy_event(struct hop_device *device, struct hop_event *event)
{
    struct hop_host *host = (struct hop_host *)device;
    if (!event)
        return;
    if (!event->page->imported)
        event->page->used &= ~((uint64_t)1 << slot_of(event));
    if (event->next)
        event->next->previous = event->previous;
    if (event->previous)
        event->previous->next = event->next;
    else
        host->events = event->next;
    free(event);
}

enum hop_status hop_host_export_event(struct hop_device *device, struct hop_event *event,
                                      struct hop_device_handle *handle, struct hop_diag *diag)
{
    (void)device;
    if (!event->page->shared.named)
        return hop_fail(diag, HOP_ERR_INVALID, "an event that is not this device's, or withdrawn, cannot be exported");
    hop_host_handle_write(HOP_HOST_EVENT, &event->page->shared, slot_of(event), handle);
    return HOP_OK;
}

enum hop_status hop_host_import_event(struct hop_device *device, const struct hop_device_handle *handle,
                                      struct hop_event **event, struct hop_diag *diag)
{
    struct hop_host *host = (struct hop_host *)device;
    struct hop_host_handle content;
    struct hop_event_page *page = NULL;
    enum hop_status status = hop_host_handle_read(handle, HOP_HOST_EVENT, &content, diag);
    if (status == HOP_OK && content.slot >= HOP_EVENTS)
        status = hop_fail(diag, HOP_ERR_INVALID, "the handle names event %u of %d", content.slot, HOP_EVENTS);
    if (status == HOP_OK)
        status = import_page(host, content.name, &page, diag);
    return status == HOP_OK ? add_event(host, page, content.slot, event, diag) : status;
}

/* On a stream that has never worked it ends at once, as on HOP_STREAM_NOW. */
enum hop_status hop_host_record(struct hop_device *device, unsigned stream, struct hop_event *event,
                                struct hop_diag *diag)
{
    struct hop_host *host = (struct hop_host *)device;
    struct hop_host_work *work;
    struct hop_event_record *record = event->record;
    if (event->page->imported)
        return hop_fail(diag, HOP_ERR_INVALID, "an imported event cannot be recorded");
    enum hop_status status = hop_host_prepare(host, stream, false, &work, diag);
    if (status != HOP_OK)
        return status;
    uint32_t sequence = atomic_load_explicit(&record->recorded, memory_order_relaxed) + 1;
    atomic_store_explicit(&record->recorded, sequence, memory_order_release);
    if (!work) {
        hop_counter_advance(&record->ended, sequence);
        return HOP_OK;
    }
    work->task = HOP_HOST_RECORD;
    work->counter = &record->ended;
    work->sequence = sequence;
    hop_host_queue(host, stream);
    return HOP_OK;
}

enum hop_status hop_host_query(struct hop_device *device, struct hop_event *event, bool *ended, struct hop_diag *diag)
{
    enum hop_status status = hop_host_check((struct hop_host *)device, diag);
    if (status == HOP_OK)
        *ended = has_ended(event->record);
    return status;
}

enum hop_status hop_host_await(struct hop_device *device, unsigned stream, struct hop_event *event,
                               struct hop_diag *diag)
{
    struct hop_host *host = (struct hop_host *)device;
    struct hop_host_work *work;
    enum hop_status status = hop_host_prepare(host, stream, true, &work, diag);
    if (status != HOP_OK || has_ended(event->record))
        return status;
    if (!work) {
        const atomic_bool *stop = event->page->imported ? &host->leaving : &host->failed;
        (void)hop_counter_wait(&event->record->ended, last_record(event->record), stop);
        return hop_host_check(host, diag);
    }
    work->task = HOP_HOST_AWAIT;
    work->counter = &event->record->ended;
    work->sequence = last_record(event->record);
    work->foreign = event->page->imported;
    hop_host_queue(host, stream);
    return HOP_OK;
}

void hop_host_events_finish(struct hop_host *host)
{
    while (host->events)
        hop_host_destroy_event(&host->device, host->events);
    while (host->pages) {
        struct hop_event_page *page = host->pages;
        host->pages = page->next;
        hop_shared_finish(&page->shared);
        free(page);
    }
}
