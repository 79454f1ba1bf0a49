/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers between memories: which of them are where, and the steps that follow. What is one copy of one device is
 * done at once; what takes two steps goes through the slots, in packets that the model chose.
 */
#include <stdio.h>

#include "shmem/far.h"
#include "shmem/spaces.h"

struct move {
    bool puts;
    hop_shmem_space *there, *here; /* NULL: memory of the host */
    char *symmetric, *local;       /* mapped: symmetric is where it is mapped here */
    bool mapped, far;              /* far: the PE is on another machine */
    size_t bytes;
    int pe;
    const char *who;
};

static pthread_mutex_t slots = PTHREAD_MUTEX_INITIALIZER; /* one transfer in packets at a time */

/* A copy of this PE's, by the device that has one of the two; by the processor where none has. */
static void copy(const struct move *m, hop_shmem_space *space, void *to, const void *from, size_t bytes)
{
    if (space)
        hop_shmem_space_copy(space, to, from, bytes, m->who);
    else
        memcpy(to, from, bytes);
}

/* ---- one copy ---- */

/* Where the other side is for a copy of this PE's device; NULL: it does not reach it. */
static char *reached(const struct move *m)
{
    if (m->pe == (int)hop_shmem.pe || m->mapped)
        return m->symmetric;
    if (!m->there)
        return hop_shmem_at(m->symmetric, m->bytes, m->pe, m->who);
    char *part = m->there->direct[m->pe];
    return part ? part + (m->symmetric - m->there->begin) : NULL;
}

static bool is_one_copy(const struct move *m)
{
    return reached(m) && (!m->there || !m->here || m->there == m->here);
}

static void move_at_once(const struct move *m)
{
    hop_shmem_space *device = m->here ? m->here : m->there;
    char *there = reached(m);
    copy(m, device, m->puts ? there : m->local, m->puts ? m->local : there, m->bytes);
}

/* Between two devices of this PE. */
static void move_within(const struct move *m)
{
    hop_shmem_space *from = m->puts ? m->here : m->there, *to = m->puts ? m->there : m->here;
    const char *source = m->puts ? m->local : m->symmetric;
    char *dest = m->puts ? m->symmetric : m->local;
    for (size_t done = 0; done < m->bytes; done += HOP_SHMEM_SLOT_BYTES) {
        size_t bytes = m->bytes - done < HOP_SHMEM_SLOT_BYTES ? m->bytes - done : HOP_SHMEM_SLOT_BYTES;
        copy(m, from, hop_shmem_slot(0), source + done, bytes);
        copy(m, to, dest + done, hop_shmem_slot(0), bytes);
    }
}

/* ---- packets ---- */

/* How many. */
static uint32_t steps_of(const struct move *m, enum hop_shmem_step steps[3])
{
    uint32_t count = 0;
    if (m->puts && (m->here || !m->far))
        steps[count++] = m->here ? HOP_SHMEM_READ : HOP_SHMEM_COPY;
    if (!m->puts)
        steps[count++] = HOP_SHMEM_SERVED_READ;
    if (m->far)
        steps[count++] = HOP_SHMEM_NETWORK;
    if (m->puts && m->there)
        steps[count++] = HOP_SHMEM_SERVED_WRITE;
    if (!m->puts && (m->here || !m->far))
        steps[count++] = m->here ? HOP_SHMEM_WRITE : HOP_SHMEM_COPY;
    return count;
}

static void choose(const struct move *m, shmemx_choice_t *choice)
{
    enum hop_shmem_step steps[3];
    uint32_t count = steps_of(m, steps);
    hop_shmem_space *space = m->there && m->there->profile ? m->there : m->here;
    *choice = (shmemx_choice_t){.reason = "memory of hosts alone"};
    if (!space || !space->profile)
        return;
    size_t most = m->far && hop_shmem_far_piece() < HOP_SHMEM_SLOT_BYTES ? hop_shmem_far_piece() : HOP_SHMEM_SLOT_BYTES;
    hop_shmem_choose(space, steps, count, m->bytes, most, choice);
}

static size_t packet_at(const struct move *m, size_t packet, uint64_t number)
{
    size_t begin = number * packet;
    return m->bytes - begin < packet ? m->bytes - begin : packet;
}

static void move_in_packets(const struct move *m, size_t packet, bool overlaps)
{
    uint64_t count = (m->bytes + packet - 1) / packet, offset = (uint64_t)(m->symmetric - m->there->begin);
    uint64_t ahead = overlaps ? HOP_SHMEM_SLOTS : 1; /* packets between this PE's step and the desk's */
    (void)pthread_mutex_lock(&slots);
    for (uint64_t i = 0; i < count + ahead; i++) {
        /* Of a put packet i - ahead is waited for, of a get it is taken, too, before packet i has its slot. */
        uint32_t slot = (uint32_t)(i % ahead);
        if (i >= ahead)
            hop_shmem_order_wait(m->pe, slot);
        if (i >= ahead && !m->puts)
            copy(m, m->here, m->local + (i - ahead) * packet, hop_shmem_slot(slot), packet_at(m, packet, i - ahead));
        if (i >= count)
            continue;
        if (m->puts)
            copy(m, m->here, hop_shmem_slot(slot), m->local + i * packet, packet_at(m, packet, i));
        hop_shmem_order(m->pe, slot, m->puts, m->there, offset + i * packet, packet_at(m, packet, i));
    }
    (void)pthread_mutex_unlock(&slots);
}

/* ---- another machine ---- */

/* What is put waits for nothing but room; what is got comes piece by piece. */
static void move_far(const struct move *m, size_t packet)
{
    (void)pthread_mutex_lock(&slots);
    for (uint64_t i = 0; i * packet < m->bytes; i++) {
        size_t bytes = packet_at(m, packet, i);
        char *local = m->local + i * packet, *slot = m->here ? hop_shmem_slot(0) : local;
        if (m->puts && m->here)
            copy(m, m->here, slot, local, bytes);
        if (m->puts)
            hop_shmem_far_put(m->symmetric + i * packet, slot, bytes, m->pe, m->who);
        else
            hop_shmem_far_get(slot, m->symmetric + i * packet, bytes, m->pe, m->who);
        if (!m->puts && m->here)
            copy(m, m->here, local, slot, bytes);
    }
    (void)pthread_mutex_unlock(&slots);
}

/* ---- which ---- */

/* A space in the host's memory is mapped by all. */
static void take_for_host(struct move *m)
{
    if (m->here && m->here->config.memkind == SHMEMX_MEM_HOST)
        m->here = NULL;
    if (!m->there || m->far || m->there->config.memkind != SHMEMX_MEM_HOST)
        return;
    m->symmetric = reached(m);
    m->mapped = true;
    m->there = NULL;
}

static bool find(struct move *m)
{
    m->there = hop_shmem_space_of(m->symmetric);
    m->here = hop_shmem_space_of(m->local);
    if (!m->there && !m->here)
        return false;
    if ((uint32_t)m->pe >= hop_shmem.pes)
        hop_shmem_die(m->who, "there is no PE %d\n0 to %u", m->pe, hop_shmem.pes - 1);
    m->far = hop_shmem_is_far(m->pe);
    const hop_shmem_space *spaces[] = {m->there, m->here};
    const char *const addresses[] = {m->symmetric, m->local};
    for (int i = 0; i < 2; i++) {
        if (spaces[i] && m->bytes > spaces[i]->config.sheap_size - (size_t)(addresses[i] - spaces[i]->begin))
            hop_shmem_die(m->who, "%zu bytes at %p reach beyond the space of %zu bytes", m->bytes, addresses[i],
                          spaces[i]->config.sheap_size);
    }
    take_for_host(m);
    return true;
}

static void tell(const struct move *m, const shmemx_choice_t *choice)
{
    static const char *const kinds[] = {"host", "accelerator", "cuda", "hip"};
    (void)fprintf(stderr, "hopcast-shmem: PE %u, %s of %zu bytes %s PE %d: %s here, %s there: %s\n", hop_shmem.pe,
                  m->puts ? "put" : "get", m->bytes, m->puts ? "to" : "from", m->pe,
                  m->here ? kinds[m->here->config.memkind] : "host",
                  m->there ? kinds[m->there->config.memkind] : "host", choice->reason);
}

bool hop_shmem_space_move(bool puts, void *symmetric, void *local, size_t bytes, int pe, const char *who)
{
    struct move m = {.puts = puts, .symmetric = symmetric, .local = local, .bytes = bytes, .pe = pe, .who = who};
    shmemx_choice_t choice;
    if (!find(&m))
        return false;
    if (bytes == 0)
        return true;
    if (!m.far && is_one_copy(&m)) {
        move_at_once(&m);
    } else if (pe == (int)hop_shmem.pe) {
        (void)pthread_mutex_lock(&slots);
        move_within(&m);
        (void)pthread_mutex_unlock(&slots);
    } else {
        choose(&m, &choice);
        if (hop_shmem.explains)
            tell(&m, &choice);
        if (m.far)
            move_far(&m, choice.packet_bytes ? choice.packet_bytes : bytes);
        else
            move_in_packets(&m, choice.packet_bytes ? choice.packet_bytes : bytes, choice.overlaps);
    }
    return true;
}

bool hop_shmem_space_explain(bool puts, const void *symmetric, const void *local, size_t bytes, int pe,
                             shmemx_choice_t *choice)
{
    struct move m = {.puts = puts,
                     .symmetric = (char *)(uintptr_t)symmetric,
                     .local = (char *)(uintptr_t)local,
                     .bytes = bytes,
                     .pe = pe,
                     .who = "shmemx_explain"};
    if (bytes == 0 || !find(&m) || (!m.far && is_one_copy(&m)) || pe == (int)hop_shmem.pe)
        return false;
    choose(&m, choice);
    return true;
}
