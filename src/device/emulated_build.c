/* SPDX-License-Identifier: BSD-3-Clause */
/* An emulation and its machine: checked, laid out, filled. See emulated_links.h. */
#include <math.h>

#include "base/base.h"
#include "base/clock.h"
#include "device/emulated_links.h"

enum {
    DEFAULT_COPIES = 256,
    DEFAULT_BUFFER = 8,
    DEFAULT_CHUNK = 4096,
    DEFAULT_SLOWER = 1000,
    MOST_SLOTS = 1 << 24,  /* in all */
    MOST_BUFFER = 1 << 20, /* chunks */
    MOST_PIECES = 16,
    MOST_CHUNK = 1 << 24 /* bytes */
};
#define MOST_WAIT_S 3600.0 /* of a chunk on a link, and of a latency, by the clock on the wall */

static double slower_of(const struct hop_emulation_options *o)
{
    return o->slower == 0 ? DEFAULT_SLOWER : o->slower;
}

static uint64_t chunk_of(const struct hop_emulation_options *o)
{
    return o->chunk_bytes ? o->chunk_bytes : DEFAULT_CHUNK;
}

static uint32_t copies_of(const struct hop_emulation_options *o)
{
    return o->copies ? o->copies : DEFAULT_COPIES;
}

/* ---- checks ---- */

static enum hop_status check_options(const struct hop_emulation_options *o, struct hop_diag *diag)
{
    if (!(slower_of(o) >= 1 && slower_of(o) <= 1e9))
        return hop_fail(diag, HOP_ERR_INVALID, "an emulation %g times as slow, expected 1 to 1e9", o->slower);
    if (chunk_of(o) > MOST_CHUNK)
        return hop_fail(diag, HOP_ERR_INVALID, "chunks of %llu bytes, expected at most %d",
                        (unsigned long long)o->chunk_bytes, MOST_CHUNK);
    return HOP_OK;
}

static enum hop_status check_link(const struct hop_emulation_options *o, uint32_t i, struct hop_diag *diag)
{
    const struct hop_emulated_link *link = &o->links[i];
    double longest_s = MOST_WAIT_S / slower_of(o);
    if (!(link->rate_Bps > 0 && isfinite(link->rate_Bps) && (double)chunk_of(o) / link->rate_Bps <= longest_s))
        return hop_fail(diag, HOP_ERR_INVALID, "emulated link %u carries %g bytes/s, %g times as slow", i,
                        link->rate_Bps, slower_of(o));
    if (!(link->latency_s >= 0 && link->latency_s <= longest_s))
        return hop_fail(diag, HOP_ERR_INVALID, "emulated link %u has a latency of %g s, expected 0 to %g s", i,
                        link->latency_s, longest_s);
    if (link->buffer_chunks == 1 || link->buffer_chunks > MOST_BUFFER)
        return hop_fail(diag, HOP_ERR_INVALID, "emulated link %u has a buffer of %u chunks, expected 2 to %d", i,
                        link->buffer_chunks, MOST_BUFFER);
    return HOP_OK;
}

/* What a user may set; that there are the links of ways and their sources, the caller vouches for. */
static enum hop_status check(const struct hop_emulation_options *o, struct hop_diag *diag)
{
    HOP_CHECK(check_options(o, diag));
    for (uint32_t i = 0; i < o->link_count; i++)
        HOP_CHECK(check_link(o, i, diag));
    for (uint32_t i = 0; i < o->way_count; i++) {
        double pieces = o->ways[i].pieces;
        if (pieces != 0 && !(pieces >= 1 && pieces <= MOST_PIECES))
            return hop_fail(diag, HOP_ERR_INVALID, "emulated way %u cuts chunks into %g pieces, expected 1 to %d", i,
                            pieces, MOST_PIECES);
    }
    return HOP_OK;
}

/* ---- layout ---- */

/* So many chunks that a lone copy is never held back by the round trip of credit. */
static double buffer_chunks(const struct hop_emulation_options *o, const struct hop_emulated_link *link)
{
    double chunks = link->buffer_chunks ? link->buffer_chunks : DEFAULT_BUFFER;
    return chunks + ceil(link->latency_s * link->rate_Bps / (double)chunk_of(o));
}

/* The most pieces of a chunk: that many slots may share the credit of one. */
static uint32_t most_pieces(const struct hop_emulation_options *o)
{
    double most = 1;
    for (uint32_t i = 0; i < o->way_count; i++)
        most = hop_max(most, o->ways[i].pieces);
    return (uint32_t)ceil(most);
}

/* Counts, and room for all. */
static enum hop_status lay_out(const struct hop_emulation_options *o, struct hop_emulated_machine *m,
                               struct hop_diag *diag)
{
    double slots = 0, hops = 0;
    for (uint32_t i = 0; i < o->link_count; i++)
        slots += buffer_chunks(o, &o->links[i]) * most_pieces(o);
    for (uint32_t i = 0; i < o->way_count; i++)
        hops += o->ways[i].link_count;
    if (slots > MOST_SLOTS || hops > MOST_SLOTS)
        return hop_fail(diag, HOP_ERR_LIMIT,
                        "the emulated machine's buffers or ways are too many\n"
                        "at most %d chunks in all, those that travel during latencies among them",
                        MOST_SLOTS);
    m->link_count = o->link_count;
    m->slot_count = (uint32_t)slots;
    size_t posts = m->e->copy_count;
    bool fine = HOP_GROW(&m->arena, m->links, o->link_count + 1u) && HOP_GROW(&m->arena, m->lanes, (size_t)hops + 1) &&
                HOP_GROW(&m->arena, m->slots, (size_t)slots + 1) && HOP_GROW(&m->arena, m->hops, (size_t)hops + 1) &&
                HOP_GROW(&m->arena, m->ways, o->way_count + 1u) &&
                HOP_GROW(&m->arena, m->sources, o->source_count + 1u) &&
                HOP_GROW(&m->arena, m->events, posts + 2 * (size_t)o->link_count);
    return fine ? HOP_OK : hop_fail_memory(diag);
}

/* ---- filling ---- */

static const struct hop_emulated_queue empty = {HOP_EMULATED_NONE, HOP_EMULATED_NONE};

static int compare_lanes(const void *a, const void *b)
{
    const struct hop_emulated_lane *x = a, *y = b;
    if (x->output != y->output)
        return x->output < y->output ? -1 : 1;
    return (x->input > y->input) - (x->input < y->input);
}

static struct hop_emulated_lane lane_of(const struct hop_emulation_options *o, const struct hop_emulated_way *way,
                                        uint32_t hop)
{
    uint32_t source = way->source == UINT32_MAX ? o->source_count : way->source;
    return (struct hop_emulated_lane){
        .input = hop ? way->links[hop - 1] : o->link_count + source, .output = way->links[hop], .queue = empty};
}

/* All hops' lanes, sorted by the link they lead to, each once. */
static void fill_lanes(struct hop_emulated_machine *m, const struct hop_emulation_options *o)
{
    uint32_t count = 0, unique = 0;
    for (uint32_t i = 0; i < o->way_count; i++) {
        for (uint32_t k = 0; k < o->ways[i].link_count; k++)
            m->lanes[count++] = lane_of(o, &o->ways[i], k);
    }
    if (count)
        qsort(m->lanes, count, sizeof *m->lanes, compare_lanes);
    for (uint32_t i = 0; i < count; i++) {
        if (unique == 0 || compare_lanes(&m->lanes[unique - 1], &m->lanes[i]) != 0)
            m->lanes[unique++] = m->lanes[i];
    }
    m->lane_count = unique;
    for (uint32_t i = unique; i-- > 0;) {
        m->links[m->lanes[i].output].lane_first = i;
        m->links[m->lanes[i].output].lane_count++;
    }
}

static void fill_ways(struct hop_emulated_machine *m, const struct hop_emulation_options *o)
{
    uint32_t hops = 0;
    for (uint32_t i = 0; i < o->way_count; i++) {
        const struct hop_emulated_way *way = &o->ways[i];
        m->ways[i] = (struct hop_way_state){.hop_first = hops,
                                            .hop_count = way->link_count,
                                            .crossing = way->crossing,
                                            .source = way->source,
                                            .stretch = 1 / (1 - way->tau),
                                            .pieces = way->pieces == 0 ? 1 : way->pieces};
        for (uint32_t k = 0; k < way->link_count; k++) {
            struct hop_emulated_lane key = lane_of(o, way, k);
            const struct hop_emulated_lane *lane = bsearch(&key, m->lanes, m->lane_count, sizeof key, compare_lanes);
            m->hops[hops++] = (uint32_t)(lane - m->lanes);
        }
    }
}

static void fill_links(struct hop_emulated_machine *m, const struct hop_emulation_options *o)
{
    uint32_t slots = 0, pieces = most_pieces(o);
    for (uint32_t i = 0; i < o->link_count; i++) {
        struct hop_link_state *link = &m->links[i];
        uint32_t chunks = (uint32_t)buffer_chunks(o, &o->links[i]);
        link->byte_ps = 1e12 * m->e->slower / o->links[i].rate_Bps;
        link->latency_ps = (uint64_t)llround(1e12 * m->e->slower * o->links[i].latency_s);
        link->buffer_bytes = link->room_bytes = chunks * m->chunk_bytes;
        link->slot_first = link->slot_free = slots;
        link->slot_count = chunks * pieces;
        link->sending = link->leaving = HOP_EMULATED_NONE;
        link->flight = empty;
        link->next_woken = i;
        slots += link->slot_count;
        for (uint32_t k = link->slot_first; k < slots; k++)
            m->slots[k].next = k + 1 < slots ? k + 1 : HOP_EMULATED_NONE;
    }
}

static enum hop_status fill(struct hop_emulated_machine *m, const struct hop_emulation_options *options,
                            struct hop_diag *diag)
{
    m->e->way_count = options->way_count;
    m->e->copy_count = copies_of(options);
    m->e->slower = slower_of(options);
    m->e->memory_Bps = options->memory_Bps;
    m->e->epoch_ns = hop_now_ns();
    m->copies = m->e->copies;
    m->chunk_bytes = chunk_of(options);
    m->woken = HOP_EMULATED_NONE;
    HOP_CHECK(lay_out(options, m, diag));
    fill_links(m, options);
    fill_lanes(m, options);
    fill_ways(m, options);
    for (uint32_t i = 0; i < options->source_count; i++)
        m->sources[i] = (struct hop_source_state){empty, HOP_EMULATED_NONE};
    return HOP_OK;
}

enum hop_status hop_emulation_create(const struct hop_emulation_options *options, struct hop_shared *emulation,
                                     struct hop_emulated_machine **machine, struct hop_diag *diag)
{
    HOP_CHECK(check(options, diag));
    size_t size = sizeof(struct hop_emulation) + copies_of(options) * sizeof(struct hop_emulated_copy);
    HOP_CHECK(hop_shared_create(size, emulation, diag));
    struct hop_emulated_machine *m = calloc(1, sizeof *m);
    if (m)
        m->e = emulation->memory;
    enum hop_status status = m ? fill(m, options, diag) : hop_fail_memory(diag);
    if (status == HOP_OK) {
        *machine = m;
    } else {
        hop_emulated_machine_destroy(m);
        hop_shared_finish(emulation);
    }
    return status;
}

void hop_emulated_machine_destroy(struct hop_emulated_machine *machine)
{
    if (machine)
        hop_arena_finish(&machine->arena);
    free(machine);
}
