/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether an emulation's credit, slots and bytes add up: a census of every buffer. See emulated_links.h. */
#include "device/emulated_links.h"

struct census {
    uint64_t bytes;
    uint32_t slots;
};

static void count_queue(const struct hop_emulation_view *v, const struct hop_emulated_queue *queue,
                        struct census *census)
{
    for (uint32_t i = queue->head; i != HOP_EMULATED_NONE && census->slots <= v->e->slot_count; i = v->slots[i].next) {
        census->bytes += v->slots[i].bytes;
        census->slots++;
    }
}

/* What lies in the buffer at a link's far end. */
static struct census count_buffer(const struct hop_emulation_view *v, uint32_t index)
{
    const struct hop_link_state *link = &v->links[index];
    struct census census = {0};
    count_queue(v, &link->flight, &census);
    if (link->sending != HOP_EMULATED_NONE) {
        census.bytes += v->slots[link->sending].bytes;
        census.slots++;
    }
    for (uint32_t i = 0; i < v->e->lane_count; i++) {
        const struct hop_emulated_lane *lane = &v->lanes[i];
        if (lane->input == index)
            count_queue(v, &lane->queue, &census);
        uint32_t leaving = v->links[lane->output].leaving;
        bool first = i == v->links[lane->output].lane_first; /* each link once */
        if (first && leaving != HOP_EMULATED_NONE && hop_emulated_link_of(v, &v->slots[leaving]) == index) {
            census.bytes += v->slots[leaving].bytes;
            census.slots++;
        }
    }
    return census;
}

const char *hop_emulation_check(const struct hop_emulation_view *view)
{
    for (uint32_t i = 0; i < view->e->link_count; i++) {
        const struct hop_link_state *link = &view->links[i];
        struct census census = count_buffer(view, i);
        uint32_t left = 0;
        for (uint32_t k = link->slot_free; k != HOP_EMULATED_NONE && left <= link->slot_count; k = view->slots[k].next)
            left++;
        if (census.bytes > link->buffer_bytes || link->room_bytes > link->buffer_bytes)
            return "a buffer holds more than its credit";
        if (census.bytes + link->room_bytes != link->buffer_bytes)
            return "credit is lost or made";
        if (census.slots + left != link->slot_count)
            return "slots are lost or made";
        if (link->turn >= link->lane_count && link->lane_count)
            return "a turn of nobody";
    }
    for (uint32_t i = 0; i < view->e->copy_count; i++) {
        const struct hop_emulated_copy *copy = &view->copies[i];
        if (hop_copy_state(atomic_load(&copy->owner)) != HOP_COPY_TAKEN)
            continue;
        if (copy->sent > copy->bytes || atomic_load(&copy->arrived) > copy->sent)
            return "more arrives than was sent";
    }
    return NULL;
}
