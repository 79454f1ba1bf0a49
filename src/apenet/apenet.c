/* SPDX-License-Identifier: BSD-3-Clause */
/* The card's calls: opening and closing, memory, puts, events. */
#include "apenet/apenet.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum {
    LINK_PACKETS = 8,
    LINK_PACKETS_MOST = 1024,
    TX_BYTES = 32 << 10,
    PUTS = 128,
    PUTS_MOST = 1 << 16,
    BUFFERS = 256,
    BUFFERS_MOST = 1 << 20,
    MAPPINGS = 64
};
#define WAIT_NS UINT64_C(1000000000) /* at a time */

/* ---- opening ---- */

static void fill_in(struct hop_apenet_options *own, uint32_t size)
{
    if (own->shape[0] == 0 && own->shape[1] == 0 && own->shape[2] == 0) {
        own->shape[0] = size;
        own->shape[1] = own->shape[2] = 1;
    }
    own->link_packets = own->link_packets ? own->link_packets : LINK_PACKETS;
    own->tx_bytes = own->tx_bytes ? own->tx_bytes : TX_BYTES;
    own->puts = own->puts ? own->puts : PUTS;
    own->buffers = own->buffers ? own->buffers : BUFFERS;
    own->mappings = own->mappings ? own->mappings : MAPPINGS;
    own->process = own->process ? own->process : (uint32_t)getpid();
}

static enum hop_status check_shape(const struct hop_apenet_options *o, const struct hop_team *team,
                                   struct hop_diag *diag)
{
    uint64_t product = 1;
    for (int a = 0; a < HOP_APENET_AXES && product <= team->size; a++)
        product *= o->shape[a];
    if (product != team->size)
        return hop_fail(diag, HOP_ERR_INVALID, "a torus of %ux%ux%u for %u ranks\nas many positions as ranks",
                        o->shape[0], o->shape[1], o->shape[2], team->size);
    if (o->rings != HOP_RING_DATELINE && o->rings != HOP_RING_BUBBLE && o->rings != HOP_RING_NONE)
        return hop_fail(diag, HOP_ERR_INVALID, "rings are %d\nan enumerator of enum hop_ring_protection",
                        (int)o->rings);
    if (o->rings == HOP_RING_NONE && team->nodes > 1)
        return hop_fail(diag, HOP_ERR_UNSUPPORTED,
                        "rings without protection on several machines, where a circle would not be seen\n"
                        "dateline or bubble, or one machine");
    return HOP_OK;
}

static enum hop_status check_limit(const char *what, uint32_t value, uint32_t least, uint32_t most,
                                   struct hop_diag *diag)
{
    return value >= least && value <= most
               ? HOP_OK
               : hop_fail(diag, HOP_ERR_LIMIT, "%s: %u\n%u to %u", what, value, least, most);
}

static enum hop_status check_options(const struct hop_apenet_options *o, const struct hop_team *team,
                                     struct hop_diag *diag)
{
    HOP_CHECK(check_shape(o, team, diag));
    HOP_CHECK(check_limit("packets in the buffer behind a link", o->link_packets, o->rings == HOP_RING_BUBBLE ? 2 : 1,
                          LINK_PACKETS_MOST, diag));
    HOP_CHECK(check_limit("bytes of packets to send", o->tx_bytes, HOP_APENET_PACKET_BYTES, INT32_MAX, diag));
    HOP_CHECK(check_limit("puts at a time", o->puts, 1, PUTS_MOST, diag));
    HOP_CHECK(check_limit("buffers", o->buffers, 1, BUFFERS_MOST, diag));
    return check_limit("mappings", o->mappings, 1, BUFFERS_MOST, diag);
}

static enum hop_status agree(struct hop_team *team, const struct hop_apenet_options *o, struct hop_diag *diag)
{
    const struct hop_agreement items[] = {
        {.what = "torus along x", .value = o->shape[0]},         {.what = "torus along y", .value = o->shape[1]},
        {.what = "torus along z", .value = o->shape[2]},         {.what = "protection of rings", .value = o->rings},
        {.what = "room behind links", .value = o->link_packets}, {.what = "number of puts", .value = o->puts}};
    return hop_team_agree(team, items, HOP_COUNT(items), diag);
}

static enum hop_status allocate(struct hop_apenet *card, struct hop_diag *diag)
{
    const struct hop_apenet_options *o = &card->options;
    card->tx_capacity = o->tx_bytes / HOP_APENET_PACKET_BYTES;
    card->answer_capacity = card->size * o->puts;
    card->processes = calloc(card->size, sizeof *card->processes);
    card->faces = calloc(card->team->local_size, sizeof *card->faces);
    card->gone = calloc(card->size, sizeof *card->gone);
    card->arrivals = calloc(card->size, sizeof *card->arrivals);
    card->sending = calloc(o->puts, sizeof *card->sending);
    card->queue = calloc(o->puts, sizeof *card->queue);
    card->tx = calloc(card->tx_capacity, sizeof *card->tx);
    card->answers = calloc(card->answer_capacity, sizeof *card->answers);
    bool room = card->processes && card->faces && card->gone && card->arrivals && card->sending && card->queue &&
                card->tx && card->answers;
    HOP_CHECK(hop_apenet_memory_create(&card->memory, o->buffers, o->mappings, diag));
    return room ? HOP_OK : hop_fail_memory(diag);
}

/* What the others of the machine see of this card. */
static enum hop_status share(struct hop_apenet *card, struct hop_diag *diag)
{
    struct hop_team *team = card->team;
    const size_t slots = (size_t)HOP_APENET_DIRECTIONS * HOP_APENET_CHANNELS * card->options.link_packets;
    void *own;
    HOP_CHECK(
        hop_team_allocate(team, sizeof(struct hop_apenet_face) + slots * sizeof(struct hop_apenet_slot), &own, diag));
    card->face = own;
    const struct hop_region *region = &team->regions[hop_region_of(team, own, 0) - 1];
    for (uint32_t l = 0; l < team->local_size; l++)
        card->faces[l] = (struct hop_apenet_face *)hop_region_part(region, l);
    return hop_team_gather(team, &card->options.process, card->processes, sizeof *card->processes, diag);
}

/* No thread of the card touches the team any more. */
static void leave_team(struct hop_apenet *card)
{
    hop_apenet_router_end(card);
    hop_apenet_mail_end(card);
    if (card->team->guest == card)
        card->team->guest = NULL;
}

/* The team goes, and its ranks' memory with it. */
static void lose_team(void *context)
{
    struct hop_apenet *card = context;
    struct hop_diag why;
    leave_team(card);
    atomic_store(&card->face->closed, true);
    card->team = NULL;
    (void)hop_fail(&why, HOP_ERR_LOST, "the card's team was destroyed\nhop_apenet_close before hop_team_destroy");
    hop_apenet_fail(card, HOP_APENET_LOST, &why);
}

static void destroy(struct hop_apenet *card)
{
    if (card->team)
        leave_team(card);
    hop_apenet_memory_destroy(&card->memory);
    free(card->processes);
    free(card->faces);
    free(card->gone);
    free(card->arrivals);
    free(card->sending);
    free(card->queue);
    free(card->tx);
    free(card->answers);
    free(card->events.ring);
    (void)pthread_mutex_destroy(&card->lock);
    free(card);
}

static enum hop_status start(struct hop_apenet *card, struct hop_diag *diag)
{
    HOP_CHECK(agree(card->team, &card->options, diag));
    HOP_CHECK(share(card, diag));
    card->number = card->team->programs++;
    hop_apenet_links_create(card);
    HOP_CHECK(hop_apenet_mail_begin(card, diag));
    HOP_CHECK(hop_apenet_router_begin(card, diag));
    card->team->guest = card;
    card->team->leave = lose_team;
    return hop_team_barrier(card->team, diag);
}

enum hop_status hop_apenet_open(struct hop_team *team, const struct hop_apenet_options *options,
                                struct hop_apenet **out, struct hop_diag *diag)
{
    struct hop_apenet_options own = {0};
    struct hop_diag unasked;
    diag = diag ? diag : &unasked;
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    if (team->guest)
        return hop_fail(diag, HOP_ERR_INVALID, "a card of this team is still open\none card a rank at a time");
    fill_in(&own, team->size);
    HOP_CHECK(check_options(&own, team, diag));
    struct hop_apenet *card = calloc(1, sizeof *card);
    if (!card)
        return hop_fail_memory(diag);
    *card = (struct hop_apenet){.team = team, .options = own, .rank = team->rank, .size = team->size, .takes = -1};
    card->torus = (struct hop_apenet_torus){{own.shape[0], own.shape[1], own.shape[2]}, own.rings};
    (void)pthread_mutex_init(&card->lock, NULL);
    enum hop_status status = allocate(card, diag);
    if (status == HOP_OK)
        status = start(card, diag);
    else
        hop_team_abort(team, diag); /* the others would wait */
    if (status == HOP_OK)
        *out = card;
    else
        destroy(card);
    return status;
}

/* ---- closing ---- */

/* Until all puts of this rank have ended. */
static void settle(struct hop_apenet *card)
{
    (void)pthread_mutex_lock(&card->lock);
    card->closing = true;
    while (card->unended > 0) {
        uint32_t heard = atomic_load(&card->news.value);
        (void)pthread_mutex_unlock(&card->lock);
        hop_counter_sleep(&card->news, heard, hop_now_ns() + WAIT_NS);
        (void)pthread_mutex_lock(&card->lock);
    }
    (void)pthread_mutex_unlock(&card->lock);
}

enum hop_status hop_apenet_close(struct hop_apenet *card, struct hop_diag *diag)
{
    if (!card)
        return HOP_OK;
    struct hop_team *team = card->team;
    struct hop_apenet_face *face = card->face;
    hop_apenet_memory_empty(&card->memory);
    settle(card);
    enum hop_status status = team ? hop_team_barrier(team, diag) : hop_apenet_failure(card, diag);
    if (team) {
        hop_apenet_router_end(card);
        atomic_store(&face->closed, true);
    }
    destroy(card);
    return status == HOP_OK ? hop_team_free(team, face, diag) : status;
}

/* ---- who is where ---- */

void hop_apenet_position(const struct hop_apenet *card, uint32_t rank, uint32_t position[3])
{
    hop_apenet_coordinates(&card->torus, rank, position);
}

uint32_t hop_apenet_process(const struct hop_apenet *card, uint32_t rank)
{
    return rank < card->size ? card->processes[rank] : 0;
}

enum hop_status hop_apenet_gather(struct hop_apenet *card, const void *mine, size_t bytes, void *all,
                                  struct hop_diag *diag)
{
    if (bytes > HOP_APENET_GATHER_BYTES_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "%zu bytes of each rank\nat most %d", bytes, HOP_APENET_GATHER_BYTES_MAX);
    return card->team ? hop_team_gather(card->team, mine, all, bytes, diag) : hop_apenet_failure(card, diag);
}

/* ---- memory ---- */

static enum hop_status open_gpu(struct hop_apenet_gpu *gpu, const struct hop_device_options *options,
                                struct hop_diag *diag)
{
    uint32_t count;
    HOP_CHECK(gpu->ops->count(&count, diag));
    if (options->index >= count)
        return hop_fail(diag, HOP_ERR_INVALID, "there is no %s device %u\n0 to %u", gpu->ops->facts.name,
                        options->index, count - 1);
    HOP_CHECK(gpu->ops->open(options, &gpu->own, diag));
    enum hop_status status = gpu->ops->open(options, &gpu->served, diag);
    if (status != HOP_OK)
        gpu->ops->close(gpu->own);
    return status;
}

enum hop_status hop_apenet_gpu(struct hop_apenet *card, const char *device, uint32_t index, int *number,
                               struct hop_diag *diag)
{
    const struct hop_device_options options = {.index = index};
    const struct hop_device_facts *facts;
    struct hop_apenet_memory *memory = &card->memory;
    struct hop_apenet_gpu *gpu = &memory->gpus[memory->gpu_count < HOP_APENET_GPUS_MAX ? memory->gpu_count : 0];
    if (memory->gpu_count == HOP_APENET_GPUS_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "a card has at most %d GPUs", HOP_APENET_GPUS_MAX);
    HOP_CHECK(hop_device_named(device, &facts, diag));
    gpu->ops = hop_device_ops_of(facts);
    gpu->pages.shift = HOP_APENET_GPU_SHIFT;
    HOP_CHECK(open_gpu(gpu, &options, diag));
    (void)pthread_mutex_init(&gpu->lock, NULL);
    *number = atomic_fetch_add(&memory->gpu_count, 1);
    return HOP_OK;
}

static struct hop_apenet_gpu *gpu_at(struct hop_apenet *card, int gpu, struct hop_diag *diag)
{
    if (gpu >= 0 && gpu < card->memory.gpu_count)
        return &card->memory.gpus[gpu];
    (void)hop_fail(diag, HOP_ERR_INVALID, "there is no GPU %d\nwhat hop_apenet_gpu gave", gpu);
    return NULL;
}

enum hop_status hop_apenet_gpu_allocate(struct hop_apenet *card, int gpu, uint64_t bytes, void **address,
                                        struct hop_diag *diag)
{
    struct hop_apenet_gpu *of = gpu_at(card, gpu, diag);
    if (!of)
        return HOP_ERR_INVALID;
    (void)pthread_mutex_lock(&of->lock);
    enum hop_status status = of->ops->allocate(of->own, bytes, address, diag);
    if (status == HOP_OK)
        of->ops->withdraw(of->own, *address); /* no other process imports it */
    (void)pthread_mutex_unlock(&of->lock);
    return status;
}

void hop_apenet_gpu_free(struct hop_apenet *card, int gpu, void *address)
{
    struct hop_apenet_gpu *of = gpu_at(card, gpu, NULL);
    if (!of || !address)
        return;
    (void)pthread_mutex_lock(&of->lock);
    of->ops->free(of->own, address);
    (void)pthread_mutex_unlock(&of->lock);
}

enum hop_status hop_apenet_gpu_copy(struct hop_apenet *card, int gpu, void *to, const void *from, uint64_t bytes,
                                    struct hop_diag *diag)
{
    const struct hop_device_copy copy = {.to = to, .from = from, .bytes = bytes, .way = HOP_NO_WAY};
    struct hop_apenet_gpu *of = gpu_at(card, gpu, diag);
    if (!of)
        return HOP_ERR_INVALID;
    (void)pthread_mutex_lock(&of->lock);
    enum hop_status status = of->ops->copy(of->own, HOP_STREAM_NOW, &copy, diag);
    (void)pthread_mutex_unlock(&of->lock);
    return status;
}

enum hop_status hop_apenet_register(struct hop_apenet *card, void *address, uint64_t bytes, int place,
                                    struct hop_diag *diag)
{
    return hop_apenet_memory_register(&card->memory, (uintptr_t)address, bytes, place, card->processes[card->rank],
                                      diag);
}

enum hop_status hop_apenet_unregister(struct hop_apenet *card, void *address, struct hop_diag *diag)
{
    return hop_apenet_memory_unregister(&card->memory, (uintptr_t)address, diag);
}

/* ---- puts ---- */

static uint32_t free_place(const struct hop_apenet *card)
{
    uint32_t s = 0;
    while (s < card->options.puts && card->sending[s].state != HOP_APENET_FREE)
        s++;
    return s;
}

/* With the lock held, which it gives up while it waits. */
static enum hop_status find_place(struct hop_apenet *card, uint32_t *place, struct hop_diag *diag)
{
    while (!card->failed && !card->closing && (*place = free_place(card)) == card->options.puts) {
        uint32_t heard = atomic_load(&card->news.value);
        (void)pthread_mutex_unlock(&card->lock);
        hop_counter_sleep(&card->news, heard, hop_now_ns() + WAIT_NS);
        (void)pthread_mutex_lock(&card->lock);
    }
    if (card->failed && diag)
        *diag = card->failure;
    if (card->failed)
        return card->failure.status;
    if (card->closing)
        return hop_fail(diag, HOP_ERR_INVALID, "the card is being closed");
    enum hop_status status = hop_apenet_promise(card);
    if (status == HOP_ERR_LIMIT)
        return hop_fail(diag, status, "too many events wait\nhop_apenet_poll or hop_apenet_wait");
    return status == HOP_OK ? HOP_OK : hop_fail_memory(diag);
}

static void enqueue(struct hop_apenet *card, uint32_t place, const struct hop_apenet_put *put,
                    const struct hop_apenet_source *source)
{
    struct hop_apenet_sending *sending = &card->sending[place];
    *sending = (struct hop_apenet_sending){
        .state = HOP_APENET_CUT, .put = *put, .source = *source, .id = ++card->generation * card->options.puts + place};
    card->unended++;
    if (hop_apenet_are_cut_off(card, card->rank, put->rank)) {
        hop_apenet_end_put(card, sending, HOP_APENET_LOST, 0);
        return;
    }
    sending->state = HOP_APENET_QUEUED;
    card->queue[(card->queue_first + card->queue_count++) % card->options.puts] = place;
}

/* Where puts read all mappings, one of them has to end. */
static enum hop_status take_source(struct hop_apenet *card, const struct hop_apenet_put *put,
                                   struct hop_apenet_source *source, struct hop_diag *diag)
{
    enum hop_status status;
    for (;;) {
        uint32_t heard = atomic_load(&card->news.value);
        status = hop_apenet_memory_take(&card->memory, (uintptr_t)put->source, put->bytes, put->place, source, diag);
        if (status != HOP_ERR_LIMIT)
            return status;
        hop_counter_sleep(&card->news, heard, hop_now_ns() + WAIT_NS);
    }
}

enum hop_status hop_apenet_put(struct hop_apenet *card, const struct hop_apenet_put *put, uint64_t *id,
                               struct hop_diag *diag)
{
    struct hop_apenet_source source;
    uint32_t place = 0;
    if (put->rank >= card->size)
        return hop_fail(diag, HOP_ERR_INVALID, "there is no rank %u\n0 to %u", put->rank, card->size - 1);
    HOP_CHECK(take_source(card, put, &source, diag));
    (void)pthread_mutex_lock(&card->lock);
    enum hop_status status = find_place(card, &place, diag);
    if (status == HOP_OK)
        enqueue(card, place, put, &source);
    if (status == HOP_OK && id)
        *id = card->sending[place].id;
    (void)pthread_mutex_unlock(&card->lock);
    if (status == HOP_OK)
        hop_counter_ring(&card->face->bell);
    else
        hop_apenet_memory_release(&card->memory, &source);
    return status;
}

/* ---- events ---- */

const char *hop_apenet_error_text(enum hop_apenet_error error)
{
    static const char *const texts[] = {[HOP_APENET_FINE] = "none",
                                        [HOP_APENET_UNREGISTERED] = "no buffer is registered there",
                                        [HOP_APENET_OUT_OF_BOUNDS] = "the buffer ends before the message does",
                                        [HOP_APENET_WRONG_PROCESS] = "the buffer is another process's",
                                        [HOP_APENET_TORN_DOWN] = "the buffer was unregistered meanwhile",
                                        [HOP_APENET_NO_ROOM] = "too many events wait at the receiver",
                                        [HOP_APENET_UNREADABLE] = "the memory could not be read or written",
                                        [HOP_APENET_LOST] = "a card on the way is gone",
                                        [HOP_APENET_DEADLOCK] = "packets block each other in a circle"};
    return (size_t)error < HOP_COUNT(texts) ? texts[error] : "unknown error";
}

bool hop_apenet_poll(struct hop_apenet *card, struct hop_apenet_event *event)
{
    struct hop_apenet_events *events = &card->events;
    (void)pthread_mutex_lock(&card->lock);
    bool there = events->count > 0;
    if (there) {
        *event = events->ring[events->first];
        events->first = (events->first + 1) % events->capacity;
        events->count--;
    }
    (void)pthread_mutex_unlock(&card->lock);
    return there;
}

bool hop_apenet_wait(struct hop_apenet *card, double timeout_s, struct hop_apenet_event *event)
{
    const double until_s = hop_now_s() + timeout_s;
    for (;;) {
        uint32_t heard = atomic_load(&card->news.value);
        double left_s = until_s - hop_now_s();
        if (hop_apenet_poll(card, event))
            return true;
        if (!(left_s > 0))
            return false;
        hop_counter_sleep(&card->news, heard, hop_now_ns() + (uint64_t)(hop_min(left_s, 1) * 1e9));
    }
}

/* ---- looking ---- */

enum hop_status hop_apenet_failure(struct hop_apenet *card, struct hop_diag *diag)
{
    (void)pthread_mutex_lock(&card->lock);
    enum hop_status status = card->failed ? card->failure.status : HOP_OK;
    if (card->failed && diag)
        *diag = card->failure;
    (void)pthread_mutex_unlock(&card->lock);
    return status;
}

void hop_apenet_count(struct hop_apenet *card, struct hop_apenet_counts *counts)
{
    struct hop_apenet_memory *memory = &card->memory;
    (void)pthread_mutex_lock(&memory->lock);
    *counts = (struct hop_apenet_counts){.packets_sent = atomic_load(&card->sent),
                                         .packets_received = atomic_load(&card->received),
                                         .packets_forwarded = atomic_load(&card->forwarded),
                                         .packets_dropped = atomic_load(&card->dropped),
                                         .entries_scanned = memory->scanned,
                                         .pages_looked_up = memory->looked_up,
                                         .mappings_made = memory->made,
                                         .mappings_found = memory->found,
                                         .mappings_evicted = memory->evicted};
    (void)pthread_mutex_unlock(&memory->lock);
}
