/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of puts of a network card as schedules, and what packets take that go by them. */
#include "tune/tune.h"

#include "hopcast/simulate.h"
#include "model/network.h"
#include "topology/card.h"

#include <math.h>
#include <stdio.h>

enum { COUNT_MOST = 4096, PIECES_MOST = 65536, PIECE = 65536, BUFFERS = 2 };
#define ROW_BYTES (UINT64_C(4) << 20)  /* rows that are compared: of so many bytes ... */
enum { ROW_LEAST = 8, ROW_MOST = 64 }; /* ... and so many puts */

#define SIMULATED_MOST (UINT64_C(1) << 30) /* bytes of a put whose rows are simulated, some seconds of it */

/* A row in the making. Operations; HOP_NONE: none yet. */
struct row {
    const struct hop_topology *topology;
    const struct hop_puts *puts;
    struct hop_schedule *schedule;
    const struct hop_card *card;
    const char *from_host, *to_host; /* the memories through which it is staged; the ends where they are host memory */
    bool from_device, to_device;
    uint32_t thread;          /* what the thread did last */
    uint32_t written;         /* the last copy into device memory */
    uint32_t buffer[BUFFERS]; /* read by the card: it is free */
    uint32_t next_buffer, buffers;
};

const char *hop_put_method_name(enum hop_put_method method)
{
    static const char *const names[] = {"direct", "staged", "pipelined"};
    return (unsigned)method < HOP_PUT_METHODS ? names[method] : "unknown";
}

static uint32_t add(struct row *r, struct hop_op *op, const uint32_t *after, uint32_t count)
{
    uint32_t known[4], used = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (after[i] != HOP_NONE)
            known[used++] = after[i];
    }
    op->after = known;
    op->after_count = used;
    return hop_schedule_add(r->schedule, op);
}

/* The thread computes on CPU 0; what the card does by itself stands on others. */
static uint32_t add_work(struct row *r, uint16_t cpu, double duration_s, uint32_t after, uint32_t also)
{
    struct hop_op op = {
        .kind = HOP_OP_WORK, .cpu = cpu, .from = {.device = r->from_host, .rank = -1}, .duration_s = duration_s};
    return add(r, &op, (uint32_t[]){after, also}, 2);
}

static uint32_t add_copy(struct row *r, const char *from, const char *to, uint64_t bytes, uint32_t after, uint32_t also)
{
    struct hop_op op = {.kind = HOP_OP_COPY,
                        .from = {.device = from, .rank = -1},
                        .to = {.device = to, .rank = -1},
                        .bytes = bytes,
                        .by = -1};
    return add(r, &op, (uint32_t[]){after, also}, 2);
}

/* What the card's engine needs to read a put out of device memory, as if nothing held it up. */
static double device_read_s(const struct row *r)
{
    const struct hop_card_engine *engine = &r->card->ways[HOP_CARD_DEVICE_READ];
    double bytes = (double)r->puts->bytes;
    return hop_max(engine->processor_s + engine->request_s + bytes / engine->rate_Bps,
                   bytes / hop_card_rate_Bps(engine, hop_packet_bytes(r->topology)));
}

/* A put is software, and then the card's work. The thread goes on after the software; out of device memory, where the card drives the
 * protocol, it goes on when the engine has read the put. What the packets do then goes on beside the next put. */
static void put_directly(struct row *r)
{
    uint32_t called = add_work(r, 0, r->card->put_s, r->thread, HOP_NONE), read = called;
    (void)add_copy(r, r->puts->from, r->puts->to, r->puts->bytes, called, HOP_NONE);
    if (r->from_device)
        read = add_work(r, 1, device_read_s(r), called, HOP_NONE);
    r->thread =
        add_work(r, 0, r->card->completion_s + (r->from_device ? r->card->device_completion_s : 0), read, HOP_NONE);
}

/* A piece through a staging buffer, of a put whose copies out of device memory were called for. With one buffer, its thread
 * waits until the card has read it. */
static void put_piece(struct row *r, uint64_t bytes, uint32_t copies)
{
    bool waits = r->puts->method == HOP_PUT_STAGED;
    uint32_t *buffer = &r->buffer[r->next_buffer], filled = *buffer;
    r->next_buffer = (r->next_buffer + 1) % r->buffers;
    if (r->from_device)
        filled = add_copy(r, r->puts->from, r->from_host, bytes, copies, *buffer);
    uint32_t called = add_work(r, 0, r->card->put_s, r->thread, filled);
    uint32_t moved = add_copy(r, r->from_host, r->to_host, bytes, called, HOP_NONE);
    *buffer = add_work(r, (uint16_t)(1 + (buffer - r->buffer)),
                       (double)bytes / r->card->ways[HOP_CARD_HOST_READ].rate_Bps, called, HOP_NONE);
    r->thread = add_work(r, 0, r->card->completion_s, waits ? *buffer : called, HOP_NONE);
    if (r->to_device)
        r->written = add_copy(r, r->to_host, r->puts->to, bytes, moved, r->written);
}

static void put_staged(struct row *r)
{
    uint64_t piece = r->puts->method == HOP_PUT_STAGED ? r->puts->bytes
                     : r->puts->piece_bytes            ? r->puts->piece_bytes
                                                       : PIECE;
    uint32_t copies = HOP_NONE;
    if (r->from_device)
        copies = r->thread = add_work(r, 0, r->card->copy_s, r->thread, HOP_NONE);
    for (uint64_t done = 0; done < r->puts->bytes; done += piece)
        put_piece(r, r->puts->bytes - done < piece ? r->puts->bytes - done : piece, copies);
}

/* Of a device: its node, and the memory beside it; NULL: there is none. */
static enum hop_status find_end(const struct hop_topology *topology, const char *name, uint32_t *node,
                                const char **host, struct hop_diag *diag)
{
    uint32_t memory;
    HOP_CHECK(hop_topology_device(topology, name, node, diag));
    HOP_CHECK(hop_topology_nearest_host(topology, *node, &memory, diag));
    *host = memory == HOP_NONE ? NULL : hop_topology_node(topology, memory)->name;
    return HOP_OK;
}

static enum hop_status check_memory(const struct row *r, struct hop_diag *diag)
{
    bool needed = r->puts->method != HOP_PUT_DIRECT;
    const char *lacking = !r->from_host ? r->puts->from : needed && !r->to_host ? r->puts->to : NULL;
    if (!lacking)
        return HOP_OK;
    return hop_fail(diag, HOP_ERR_INVALID, "%s has no host memory in reach\na device beside host memory", lacking);
}

/* The card by which the route leaves its server. */
static enum hop_status find_card(struct row *r, uint32_t from, uint32_t to, struct hop_diag *diag)
{
    uint32_t index;
    struct hop_router *router = hop_router_create(r->topology);
    if (!router)
        return hop_fail_memory(diag);
    enum hop_status status = hop_router_find(router, from, to, &index, diag);
    const struct hop_route *route = status == HOP_OK ? hop_router_route(router, index) : NULL;
    for (uint32_t i = 0; route && i < route->link_count && !r->card; i++) {
        const struct hop_link *link = hop_topology_link(r->topology, route->links[i] / 2);
        r->card = hop_topology_node(r->topology, link->ends[!(route->links[i] & 1)])->card;
    }
    hop_router_destroy(router);
    if (status == HOP_OK && !r->card)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "no card with engines is on the way from %s to %s\na topology such as apenet:2, or a nic with "
                        "\"card\"",
                        r->puts->from, r->puts->to);
    return status;
}

static enum hop_status check(const struct hop_puts *puts, struct hop_diag *diag)
{
    uint64_t piece = puts->piece_bytes ? puts->piece_bytes : PIECE;
    if (!puts->from || !puts->to)
        return hop_fail(diag, HOP_ERR_INVALID, "puts without ends\na device from which, and one to which");
    if ((unsigned)puts->method > HOP_PUT_PIPELINED)
        return hop_fail(diag, HOP_ERR_INVALID, "there is no such method of puts\nan enumerator of enum hop_put_method");
    if (puts->bytes == 0 || puts->bytes > HOP_BYTES_MAX)
        return hop_fail(diag, HOP_ERR_INVALID, "puts of %llu bytes\n1 byte to 1 EiB", (unsigned long long)puts->bytes);
    if (puts->count == 0 || puts->count > COUNT_MOST)
        return hop_fail(diag, HOP_ERR_INVALID, "%u puts\n1 to %d", puts->count, COUNT_MOST);
    if (puts->method == HOP_PUT_PIPELINED && (puts->bytes - 1) / piece + 1 > PIECES_MOST / puts->count)
        return hop_fail(diag, HOP_ERR_LIMIT, "pieces of %llu bytes are too many\nat most %d in a row of puts",
                        (unsigned long long)piece, PIECES_MOST);
    return HOP_OK;
}

static enum hop_status begin_row(const struct hop_topology *topology, const struct hop_puts *puts, struct row *row,
                                 struct hop_diag *diag)
{
    struct row r = {
        .topology = topology, .puts = puts, .thread = HOP_NONE, .written = HOP_NONE, .buffer = {HOP_NONE, HOP_NONE}};
    uint32_t from, to;
    HOP_CHECK(check(puts, diag));
    HOP_CHECK(find_end(topology, puts->from, &from, &r.from_host, diag));
    HOP_CHECK(find_end(topology, puts->to, &to, &r.to_host, diag));
    HOP_CHECK(find_card(&r, from, to, diag));
    r.from_device = hop_topology_node(topology, from)->kind != HOP_NODE_HOST;
    r.to_device = hop_topology_node(topology, to)->kind != HOP_NODE_HOST;
    HOP_CHECK(check_memory(&r, diag));
    r.from_host = r.from_device ? r.from_host : puts->from;
    r.to_host = r.to_device ? r.to_host : puts->to;
    r.buffers = puts->method == HOP_PUT_PIPELINED ? BUFFERS : 1;
    *row = r;
    return HOP_OK;
}

enum hop_status hop_puts_schedule(const struct hop_topology *topology, const struct hop_puts *puts,
                                  struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct hop_puts own = {0};
    struct row r;
    HOP_CHECK(hop_options_take(&own, sizeof own, puts, diag));
    HOP_CHECK(begin_row(topology, &own, &r, diag));
    r.schedule = hop_schedule_create("puts");
    for (uint32_t i = 0; i < own.count; i++) {
        if (own.method == HOP_PUT_DIRECT || (!r.from_device && !r.to_device))
            put_directly(&r);
        else
            put_staged(&r);
    }
    return hop_schedule_finish(r.schedule, schedule, diag);
}

/* When the last byte of a row is there. */
static enum hop_status simulate(struct hop_network *network, const struct hop_puts *puts, double *end_s,
                                struct hop_diag *diag)
{
    struct hop_schedule *schedule;
    struct hop_timeline *timeline = NULL;
    const struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS, .fidelity = HOP_FIDELITY_PACKET};
    HOP_CHECK(hop_puts_schedule(hop_network_topology(network), puts, &schedule, diag));
    enum hop_status status = hop_simulate(network, schedule, &options, &timeline, diag);
    *end_s = 0;
    for (uint32_t i = 0; status == HOP_OK && i < hop_schedule_count(schedule); i++) {
        if (hop_schedule_op(schedule, i)->kind == HOP_OP_COPY)
            *end_s = hop_max(*end_s, hop_timeline_span(timeline, i).end_s);
    }
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(schedule);
    return status;
}

enum hop_status hop_puts_times(struct hop_network *network, const struct hop_puts *puts, struct hop_put_times *times,
                               struct hop_diag *diag)
{
    struct hop_puts own = {0};
    double one_s, row_s, rows_s;
    HOP_CHECK(hop_options_take(&own, sizeof own, puts, diag));
    if (own.bytes > SIMULATED_MOST)
        return hop_fail(diag, HOP_ERR_LIMIT, "puts of %llu bytes, each packet of which is simulated\nat most 1GiB",
                        (unsigned long long)own.bytes);
    uint64_t row = ROW_BYTES / (own.bytes ? own.bytes : 1);
    const uint32_t first = (uint32_t)(row < ROW_LEAST ? ROW_LEAST : row > ROW_MOST ? ROW_MOST : row);
    struct row longest;
    own.count = 2 * first;
    HOP_CHECK(begin_row(hop_network_topology(network), &own, &longest, diag));
    if (!times)
        return HOP_OK;
    HOP_CHECK(simulate(network, &own, &rows_s, diag));
    own.count = first;
    HOP_CHECK(simulate(network, &own, &row_s, diag));
    own.count = 1;
    HOP_CHECK(simulate(network, &own, &one_s, diag));
    *times = (struct hop_put_times){.latency_s = one_s, .gap_s = (rows_s - row_s) / first};
    times->rate_Bps = (double)own.bytes / times->gap_s;
    return HOP_OK;
}
