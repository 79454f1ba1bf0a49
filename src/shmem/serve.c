/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Serve: a thread of every PE does what PEs of other machines ask for, one request after the other as they come. Atomics are
 * the processor's, as those of PEs of this machine are, so that both agree.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "shmem/far.h"
#include "shmem/spaces.h"

#define LOOK_S 1.0
#define NOTICE_S 0.5 /* that calls that wait have to find out first that a PE is lost */
#define FULL_S 1e-4 /* between two tries where too much waits to be sent */

static pthread_t thread;
static const char who[] = "serving others";

static hop_shmem_space *space_of(const struct hop_shmem_letter *letter)
{
    return letter->segment < HOP_SHMEM_SEGMENTS ? NULL : hop_shmem_space_numbered(letter->segment - HOP_SHMEM_SEGMENTS);
}

/* What another PE says of memory here is looked at. */
static char *place_of(const struct hop_shmem_letter *letter, int from)
{
    const struct hop_shmem_segment *segment =
        letter->segment < HOP_SHMEM_SEGMENTS ? &hop_shmem.segments[letter->segment] : NULL;
    const hop_shmem_space *space = space_of(letter);
    uint64_t bytes = segment ? segment->bytes : space ? space->config.sheap_size : 0;
    if (letter->offset > bytes || letter->bytes > bytes - letter->offset)
        hop_shmem_die(who,
                      "PE %d wants %llu bytes at %llu of segment %u, which has %llu\nthe same program and "
                      "SHMEM_SYMMETRIC_SIZE on all PEs",
                      from, (unsigned long long)letter->bytes, (unsigned long long)letter->offset, letter->segment,
                      (unsigned long long)bytes);
    return (segment ? (char *)segment->begin : space ? space->begin : NULL) + letter->offset;
}

/* A device copies what is in its memory. */
static void copy(const struct hop_shmem_letter *letter, void *to, const void *from)
{
    struct hop_diag diag;
    hop_shmem_space *space = space_of(letter);
    if (space && hop_shmem_space_serve(space, to, from, letter->bytes, &diag) != HOP_OK)
        hop_shmem_fail(who, &diag);
}

static void answer(int to, int tag, const void *head, size_t head_bytes, const void *bytes, size_t size)
{
    struct hop_diag diag;
    enum hop_status status;
    while ((status = hop_group_send_two(hop_shmem.team->group, to, tag, head, head_bytes, bytes, size, &diag)) ==
           HOP_ERR_LIMIT)
        hop_sleep_s(FULL_S);
    if (status != HOP_OK)
        hop_shmem_fail(who, &diag);
}

/* One element is stored at once, behind what came before it, for who waits for it. */
#define STORE(TYPE)                                                                                                    \
    do {                                                                                                               \
        TYPE value;                                                                                                    \
        memcpy(&value, from, sizeof value);                                                                            \
        __atomic_store_n((TYPE *)to, value, __ATOMIC_RELEASE);                                                         \
    } while (0)
static void put(void *to, const char *from, size_t bytes)
{
    switch (bytes > 0 && (uintptr_t)to % bytes == 0 ? bytes : 0) {
    case 1:
        STORE(uint8_t);
        break;
    case 2:
        STORE(uint16_t);
        break;
    case 4:
        STORE(uint32_t);
        break;
    case 8:
        STORE(uint64_t);
        break;
    default:
        memcpy(to, from, bytes);
        break;
    }
}

static void get(const struct hop_shmem_letter *letter, int from)
{
    char *place = place_of(letter, from), *room = space_of(letter) ? malloc(letter->bytes + 1) : NULL;
    if (space_of(letter) && !room)
        hop_shmem_die(who, "out of memory");
    if (room)
        copy(letter, room, place);
    answer(from, HOP_TAG_ANSWER, &letter->id, sizeof letter->id, room ? room : place, letter->bytes);
    free(room);
}

static void act(const struct hop_shmem_letter *letter, int from)
{
    char *at = place_of(letter, from);
    if (space_of(letter))
        hop_shmem_die(who, "PE %d asks for an atomic on memory of a space\nmemory of the host", from);
    uint64_t had =
        hop_shmem_near_amo((enum hop_shmem_amo)letter->op, at, letter->bytes, letter->value, letter->condition);
    if (letter->id)
        answer(from, HOP_TAG_ANSWER, &letter->id, sizeof letter->id, &had, sizeof had);
}

/* A PE ends all of them. */
static _Noreturn void leave(int status)
{
    (void)fflush(NULL);
    (void)hop_group_finish(hop_shmem.team->group, NULL);
    _exit(status);
}

/* False: it was the last. */
static bool serve_one(const struct hop_group_message *message)
{
    struct hop_shmem_letter letter;
    if (message->size_bytes < sizeof letter)
        hop_shmem_die(who, "PE %d sent %zu bytes", message->from, message->size_bytes);
    memcpy(&letter, message->bytes, sizeof letter);
    switch ((enum hop_shmem_wish)letter.wish) {
    case HOP_SHMEM_PUT:
        if (letter.bytes != message->size_bytes - sizeof letter)
            hop_shmem_die(who, "PE %d puts %zu bytes, not %llu", message->from, message->size_bytes - sizeof letter,
                          (unsigned long long)letter.bytes);
        if (space_of(&letter))
            copy(&letter, place_of(&letter, message->from), message->bytes + sizeof letter);
        else
            put(place_of(&letter, message->from), message->bytes + sizeof letter, letter.bytes);
        break;
    case HOP_SHMEM_GET:
        get(&letter, message->from);
        break;
    case HOP_SHMEM_ACT:
        act(&letter, message->from);
        break;
    case HOP_SHMEM_MARK:
        answer(message->from, HOP_TAG_MARK, NULL, 0, NULL, 0);
        break;
    case HOP_SHMEM_END:
        leave((int)letter.value);
    case HOP_SHMEM_STOP:
        return false;
    }
    return true;
}

/* A PE that computes or asks in vain must end, too. */
static _Noreturn void end_lost(void)
{
    struct hop_diag diag;
    hop_sleep_s(NOTICE_S);
    (void)hop_team_fail(hop_shmem.team, &diag);
    hop_shmem_fail(who, &diag);
}

/* Until it is told to stop. */
static void *serve(void *group)
{
    struct hop_group_message message;
    for (bool goes_on = true; goes_on;) {
        if (hop_group_receive_wanted(group, HOP_TAG_ASK, NULL, NULL, LOOK_S, &message)) {
            goes_on = serve_one(&message);
            free(message.bytes);
        } else if (hop_group_lost(group, NULL) >= 0) {
            end_lost();
        }
    }
    return NULL;
}

void hop_shmem_serve_begin(void)
{
    int error = hop_thread_start(&thread, serve, hop_shmem.team->group);
    if (error)
        hop_shmem_die("shmem_init", "cannot start a thread: %s", strerror(error));
}

void hop_shmem_serve_end(void)
{
    (void)pthread_join(thread, NULL);
}
