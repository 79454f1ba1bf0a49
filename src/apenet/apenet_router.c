/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Router: the thread that is the card. It goes round its buffers, moves what can move, and sleeps until a bell rings;
 * now and then it looks who is gone, and where it stands still, whether it does so in a circle.
 *
 * Packets whose way leads to a card that is gone are dropped, so that they are in nobody's way; who sent them knows
 * the way, too.
 */
#include "apenet/apenet.h"
#include "base/thread.h"

enum { SPINS = 2000, SPINS_CROWDED = 32 };
#define SLEEP_NS UINT64_C(20000000)
#define LOOK_NS UINT64_C(50000000)
#define STILL_NS UINT64_C(30000000) /* before a circle is looked for */

/* ---- who is gone ---- */

static void lose(struct hop_apenet *card, uint32_t rank)
{
    const struct hop_apenet_event event = {.kind = HOP_APENET_GONE, .error = HOP_APENET_LOST, .rank = rank};
    (void)pthread_mutex_lock(&card->lock);
    card->gone[rank] = true;
    card->gone_count++;
    for (uint32_t s = 0; s < card->options.puts; s++) {
        struct hop_apenet_sending *sending = &card->sending[s];
        uint32_t to = sending->put.rank;
        if ((sending->state == HOP_APENET_QUEUED || sending->state == HOP_APENET_CUT) &&
            hop_apenet_are_cut_off(card, card->rank, to))
            hop_apenet_end_put(card, sending, HOP_APENET_LOST, 0);
    }
    hop_apenet_post(card, &event, false);
    (void)pthread_mutex_unlock(&card->lock);
    hop_apenet_end_arrivals(card);
}

/* A loss in the group ends all messages between machines. */
static bool is_gone(const struct hop_apenet *card, uint32_t rank, bool group_lost)
{
    const struct hop_team *team = card->team;
    if (team->node_of[rank] != team->node_of[team->rank])
        return group_lost;
    uint32_t local = team->local_of[rank];
    int phase = atomic_load(&team->board->members[local].phase);
    return phase == HOP_MEMBER_FINISHED || phase == HOP_MEMBER_LEFT || atomic_load(&card->faces[local]->closed) ||
           hop_team_is_gone(team, local);
}

static void look(struct hop_apenet *card)
{
    bool group_lost = card->team->group && hop_group_lost(card->team->group, NULL) >= 0;
    for (uint32_t r = 0; r < card->size; r++) {
        if (r != card->rank && !card->gone[r] && is_gone(card, r, group_lost))
            lose(card, r);
    }
    if (card->failed)
        return;
    if (hop_now_ns() - card->moved_ns > STILL_NS)
        (void)hop_apenet_find_circle(card);
    if (atomic_load_explicit(&card->face->verdict, memory_order_acquire) == 2) {
        hop_apenet_fail(card, HOP_APENET_DEADLOCK, &card->face->why);
        hop_apenet_end_arrivals(card);
    }
}

/* ---- moving ---- */

static uint32_t destination(const struct hop_apenet *card, const struct hop_apenet_head *head)
{
    const uint32_t position[HOP_APENET_AXES] = {head->position[0], head->position[1], head->position[2]};
    return hop_apenet_rank_at(&card->torus, position);
}

/* One that came in a direction and its channel, or begins here. false: there is no room; *wants says for what. */
static bool move(struct hop_apenet *card, const struct hop_apenet_head *head, const void *bytes, unsigned before,
                 unsigned channel, unsigned *wants)
{
    unsigned direction = hop_apenet_direction(&card->torus, card->rank, destination(card, head));
    if (direction == HOP_APENET_HERE) {
        hop_apenet_receive(card, head, bytes);
        return true;
    }
    if (card->gone[card->links[direction].to]) {
        atomic_fetch_add_explicit(&card->dropped, 1, memory_order_relaxed);
        return true;
    }
    unsigned next = hop_apenet_channel(&card->torus, card->rank, direction, before, channel);
    *wants = direction * HOP_APENET_CHANNELS + next;
    if (hop_apenet_room(card, direction, next) < hop_apenet_need(&card->torus, direction, before))
        return false;
    hop_apenet_push(card, direction, next, head, bytes);
    if (before != HOP_APENET_HERE)
        atomic_fetch_add_explicit(&card->forwarded, 1, memory_order_relaxed);
    return true;
}

static bool may_take(struct hop_apenet *card)
{
    int takes = atomic_load_explicit(&card->takes, memory_order_relaxed);
    return takes < 0 || (takes > 0 && atomic_compare_exchange_strong(&card->takes, &takes, takes - 1));
}

/* As many as came before it was looked at. */
static bool empty_link(struct hop_apenet *card, unsigned direction, unsigned channel)
{
    struct hop_apenet_channel *own = &card->face->channels[direction][channel];
    uint32_t count = 0;
    unsigned wants = 0;
    struct hop_apenet_slot *slot;
    while (count < card->options.link_packets && (slot = hop_apenet_first(card, direction, channel)) != NULL &&
           may_take(card)) {
        if (!move(card, &slot->head, slot->bytes, direction, channel, &wants)) {
            uint64_t popped = atomic_load_explicit(&own->popped, memory_order_relaxed);
            atomic_store(&own->wants, popped << 8 | (wants + 1));
            break;
        }
        hop_apenet_pop(card, direction, channel);
        count++;
    }
    return count > 0;
}

static bool empty_links(struct hop_apenet *card)
{
    bool moved = false;
    for (unsigned d = 0; d < HOP_APENET_DIRECTIONS; d++) {
        for (unsigned c = 0; card->links[d].there && c < HOP_APENET_CHANNELS; c++)
            moved = empty_link(card, d, c) || moved;
    }
    return moved;
}

static bool send_answers(struct hop_apenet *card)
{
    bool moved = false;
    unsigned wants;
    while (card->answer_count > 0 && move(card, &card->answers[card->answer_first], NULL, HOP_APENET_HERE, 0, &wants)) {
        card->answer_first = (card->answer_first + 1) % card->answer_capacity;
        card->answer_count--;
        moved = true;
    }
    return moved;
}

static bool send_packets(struct hop_apenet *card)
{
    bool moved = false;
    unsigned wants;
    while (card->tx_count > 0) {
        const struct hop_apenet_slot *slot = &card->tx[card->tx_first];
        if (!move(card, &slot->head, slot->bytes, HOP_APENET_HERE, 0, &wants))
            break;
        card->tx_first = (card->tx_first + 1) % card->tx_capacity;
        card->tx_count--;
        moved = true;
    }
    return moved;
}

/* A card in a deadlock does nothing any more. */
static bool step(struct hop_apenet *card)
{
    bool moved = false;
    if (card->failed)
        return false;
    moved = empty_links(card) || moved;
    moved = send_answers(card) || moved;
    for (uint32_t n = 0; n < card->tx_capacity && hop_apenet_cut(card); n++)
        moved = true;
    return send_packets(card) || moved;
}

/* ---- the thread ---- */

static void *work(void *context)
{
    struct hop_apenet *card = context;
    const unsigned spins = card->team->crowd > 1 || card->size > 2 ? SPINS_CROWDED : SPINS;
    for (unsigned idle = 0; !atomic_load(&card->stops);) {
        uint32_t heard = atomic_load(&card->face->bell.value);
        uint64_t now_ns = hop_now_ns();
        bool moved = step(card);
        idle = moved ? 0 : idle + 1;
        if (moved)
            card->moved_ns = now_ns;
        if (now_ns - card->looked_ns > LOOK_NS) {
            card->looked_ns = now_ns;
            look(card);
        }
        if (idle > spins)
            hop_counter_sleep(&card->face->bell, heard, now_ns + SLEEP_NS);
        else if (!moved)
            hop_relax();
    }
    return NULL;
}

enum hop_status hop_apenet_router_begin(struct hop_apenet *card, struct hop_diag *diag)
{
    card->moved_ns = card->looked_ns = hop_now_ns();
    int error = hop_thread_start(&card->router, work, card);
    if (error)
        return hop_fail(diag, HOP_ERR_LIMIT, "cannot start the card's thread: %s", strerror(error));
    card->routes = true;
    return HOP_OK;
}

void hop_apenet_router_end(struct hop_apenet *card)
{
    atomic_store(&card->stops, true);
    if (!card->routes)
        return;
    hop_counter_ring(&card->face->bell);
    (void)pthread_join(card->router, NULL);
    card->routes = false;
}
