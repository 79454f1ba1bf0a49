/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Desks: what a PE orders of another one's device.
 *
 *     desk of a PE   | bell | orders of PE 0 | orders of PE 1 | ...      in memory that all have mapped
 *     slots of a PE  | slot 0 | slot 1 | ...                            an order is about one of them
 *
 * Who orders fills its own order, rings, and waits for the order's counter; the thread at the desk does one after the
 * other.
 */
#include "base/clock.h"
#include "base/thread.h"
#include "device/host.h"
#include "shmem/spaces.h"

enum { SPINS = 2000, SPINS_CROWDED = 64 };
#define SPIN_NS UINT64_C(200000) /* where each PE has a processor: waking up takes as long as many a copy */
#define SLEEP_NS UINT64_C(20000000)

struct order {
    _Alignas(64) atomic_bool posted;
    bool writes;
    uint32_t space;
    uint64_t offset, bytes;
    struct hop_counter done;
    uint32_t ordered; /* the PE's that orders */
};
struct desk {
    struct hop_counter bell;
    atomic_bool closed;
    struct order orders[];
};

static struct {
    struct desk **desks; /* per PE */
    char **slots;
    pthread_t thread;
    bool open;
} all;

/* ---- serving ---- */

static bool serve(struct order *order, uint32_t from, uint32_t slot)
{
    if (!atomic_load_explicit(&order->posted, memory_order_acquire))
        return false;
    struct hop_diag diag;
    hop_shmem_space *space = hop_shmem_space_numbered(order->space);
    char *host = all.slots[from] + slot * HOP_SHMEM_SLOT_BYTES;
    if (!space || order->offset > space->config.sheap_size || order->bytes > space->config.sheap_size - order->offset)
        hop_shmem_die("serving", "PE %u orders %llu bytes at %llu of space %u, which are not there", from,
                      (unsigned long long)order->bytes, (unsigned long long)order->offset, order->space);
    char *there = space->begin + order->offset;
    enum hop_status status = order->writes ? hop_shmem_space_serve(space, there, host, order->bytes, &diag)
                                           : hop_shmem_space_serve(space, host, there, order->bytes, &diag);
    if (status != HOP_OK)
        hop_shmem_fail("serving", &diag);
    atomic_store_explicit(&order->posted, false, memory_order_relaxed);
    hop_counter_ring(&order->done);
    return true;
}

/* Whether a wait that began then is better slept. */
static bool is_time_to_sleep(unsigned turns, uint64_t *begun_ns)
{
    if (turns < (hop_shmem.team->crowd > 1 ? SPINS_CROWDED : SPINS))
        return false;
    if (*begun_ns == 0)
        *begun_ns = hop_now_ns();
    return hop_shmem.team->crowd > 1 || hop_now_ns() - *begun_ns > SPIN_NS;
}

static void *work(void *context)
{
    struct desk *desk = context;
    uint64_t begun_ns = 0;
    for (unsigned idle = 0;;) {
        uint32_t heard = atomic_load(&desk->bell.value);
        bool served = false;
        for (uint32_t i = 0; i < hop_shmem.pes * HOP_SHMEM_SLOTS; i++)
            served = serve(&desk->orders[i], i / HOP_SHMEM_SLOTS, i % HOP_SHMEM_SLOTS) || served;
        idle = served ? 0 : idle + 1;
        begun_ns = served ? 0 : begun_ns;
        if (!served && atomic_load(&desk->closed))
            return NULL;
        if (!served && is_time_to_sleep(idle, &begun_ns))
            hop_counter_sleep(&desk->bell, heard, hop_now_ns() + SLEEP_NS);
        else if (!served)
            hop_relax();
    }
}

/* ---- ordering ---- */

static struct order *order_at(int pe, uint32_t slot)
{
    return &all.desks[pe]->orders[hop_shmem.pe * HOP_SHMEM_SLOTS + slot];
}

char *hop_shmem_slot(uint32_t slot)
{
    return all.slots[hop_shmem.pe] + slot * HOP_SHMEM_SLOT_BYTES;
}

void hop_shmem_order(int pe, uint32_t slot, bool writes, const hop_shmem_space *space, uint64_t offset, size_t bytes)
{
    struct order *order = order_at(pe, slot);
    order->writes = writes;
    order->space = space->number;
    order->offset = offset;
    order->bytes = bytes;
    order->ordered++;
    atomic_store_explicit(&order->posted, true, memory_order_release);
    hop_counter_ring(&all.desks[pe]->bell);
}

/* As it is the only one of its slot, the counter has come to what was ordered. */
void hop_shmem_order_wait(int pe, uint32_t slot)
{
    struct order *order = order_at(pe, slot);
    struct hop_shmem_wait wait = {0};
    uint64_t begun_ns = 0;
    for (unsigned turns = 0; !hop_counter_reached(&order->done, order->ordered); turns++) {
        if (!is_time_to_sleep(turns, &begun_ns)) {
            hop_relax();
            continue;
        }
        hop_counter_sleep(&order->done, atomic_load(&order->done.value), hop_now_ns() + SLEEP_NS);
        hop_shmem_turn(&wait); /* looks whether it is still there */
    }
}

/* ---- opening ---- */

/* For the newest space's desk; where a driver does not, copies are slower. */
static void register_slots(void)
{
    hop_shmem_space *space = hop_shmem_space_first();
    for (uint32_t pe = 0; pe < hop_shmem.pes; pe++) {
        if (all.slots[pe])
            (void)space->ops->register_host(space->served, all.slots[pe], HOP_SHMEM_SLOTS * HOP_SHMEM_SLOT_BYTES, NULL);
    }
}

static char **parts_of_last_region(void)
{
    struct hop_team *team = hop_shmem.team;
    char **parts = calloc(hop_shmem.pes, sizeof *parts);
    if (!parts)
        hop_shmem_die("shmemx_space_create", "out of memory");
    for (uint32_t pe = 0; pe < hop_shmem.pes; pe++) {
        if (!hop_shmem_is_far((int)pe))
            parts[pe] = hop_region_part(&team->regions[team->region_count - 1], team->local_of[pe]);
    }
    return parts;
}

void hop_shmem_desk_open(void)
{
    static const char who[] = "shmemx_space_create";
    size_t bytes = sizeof(struct desk) + hop_shmem.pes * HOP_SHMEM_SLOTS * sizeof(struct order);
    struct hop_shared slots;
    void *own;
    if (all.open) {
        register_slots();
        return;
    }
    (void)pthread_mutex_lock(&hop_shmem.turn);
    HOP_SHMEM_NEED(who, hop_team_allocate(hop_shmem.team, bytes, &own, &diag_));
    all.desks = (struct desk **)parts_of_last_region();
    HOP_SHMEM_NEED(who, hop_shared_reserve(HOP_SHMEM_SLOTS * HOP_SHMEM_SLOT_BYTES, &slots, &diag_));
    HOP_SHMEM_NEED(who, hop_region_add(hop_shmem.team, &slots, slots.memory, slots.size, &diag_));
    all.slots = parts_of_last_region();
    (void)pthread_mutex_unlock(&hop_shmem.turn);
    if (hop_thread_start(&all.thread, work, all.desks[hop_shmem.pe]) != 0)
        hop_shmem_die(who, "cannot start the thread that serves other PEs");
    all.open = true;
    register_slots();
}

void hop_shmem_desk_close(void)
{
    if (!all.open)
        return;
    atomic_store(&all.desks[hop_shmem.pe]->closed, true);
    hop_counter_ring(&all.desks[hop_shmem.pe]->bell);
    (void)pthread_join(all.thread, NULL);
    free(all.desks);
    free(all.slots);
    memset(&all, 0, sizeof all);
}
