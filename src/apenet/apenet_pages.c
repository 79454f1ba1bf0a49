/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Page tables: virtual page to where the card reaches it, found in constant time (a hash table without gaps, so that a
 * search ends at the first free place). What is a physical address on the card's bus is, in software, an address for
 * the card's thread: the processor's for pages of the host, the driver's for those of a GPU.
 */
#include "apenet/apenet.h"
#include "base/random.h"

enum { CAPACITY_FIRST = 64 };

static uint32_t home_of(const struct hop_apenet_pages *pages, uint64_t number)
{
    return (uint32_t)hop_draw_from(number) & (pages->capacity - 1);
}

/* Where the page is, or would be. */
static uint32_t seek(const struct hop_apenet_pages *pages, uint64_t number)
{
    uint32_t at = home_of(pages, number);
    while (pages->slots[at].users > 0 && pages->slots[at].number != number)
        at = (at + 1) & (pages->capacity - 1);
    return at;
}

/* At most half is used. */
static bool make_room(struct hop_apenet_pages *pages, uint64_t more)
{
    struct hop_apenet_pages grown = {.shift = pages->shift, .used = pages->used, .capacity = pages->capacity};
    if (pages->used + more > UINT32_MAX / 4)
        return false;
    if (grown.capacity == 0)
        grown.capacity = CAPACITY_FIRST;
    while (grown.capacity < 2 * (pages->used + more))
        grown.capacity *= 2;
    if (grown.capacity == pages->capacity)
        return true;
    grown.slots = calloc(grown.capacity, sizeof *grown.slots);
    if (!grown.slots)
        return false;
    for (uint32_t i = 0; i < pages->capacity; i++) {
        if (pages->slots[i].users > 0)
            grown.slots[seek(&grown, pages->slots[i].number)] = pages->slots[i];
    }
    free(pages->slots);
    *pages = grown;
    return true;
}

bool hop_apenet_pages_add(struct hop_apenet_pages *pages, uint64_t address, uint64_t bytes)
{
    uint64_t first = address >> pages->shift, last = (address + bytes - 1) >> pages->shift;
    if (!make_room(pages, last - first + 1))
        return false;
    for (uint64_t number = first; number <= last; number++) {
        struct hop_apenet_page *page = &pages->slots[seek(pages, number)];
        pages->used += page->users == 0;
        page->number = number;
        page->physical = (void *)(uintptr_t)(number << pages->shift);
        page->users++;
    }
    return true;
}

/* What stands behind a free place and belongs before it moves there. */
static void close_gap(struct hop_apenet_pages *pages, uint32_t gap)
{
    const uint32_t mask = pages->capacity - 1;
    for (uint32_t at = (gap + 1) & mask; pages->slots[at].users > 0; at = (at + 1) & mask) {
        uint32_t home = home_of(pages, pages->slots[at].number);
        if (((at - home) & mask) < ((at - gap) & mask))
            continue;
        pages->slots[gap] = pages->slots[at];
        pages->slots[at].users = 0;
        gap = at;
    }
}

void hop_apenet_pages_remove(struct hop_apenet_pages *pages, uint64_t address, uint64_t bytes)
{
    uint64_t first = address >> pages->shift, last = (address + bytes - 1) >> pages->shift;
    for (uint64_t number = first; number <= last; number++) {
        uint32_t at = seek(pages, number);
        if (--pages->slots[at].users == 0) {
            pages->used--;
            close_gap(pages, at);
        }
    }
}

char *hop_apenet_pages_find(const struct hop_apenet_pages *pages, uint64_t address)
{
    if (pages->capacity == 0)
        return NULL;
    const struct hop_apenet_page *page = &pages->slots[seek(pages, address >> pages->shift)];
    return page->users > 0 ? (char *)page->physical + (address & (((uint64_t)1 << pages->shift) - 1)) : NULL;
}

void hop_apenet_pages_finish(struct hop_apenet_pages *pages)
{
    free(pages->slots);
    pages->slots = NULL;
    pages->capacity = pages->used = 0;
}
