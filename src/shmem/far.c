/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Far: PEs of other machines are asked by messages of the group, and a thread of theirs does it (serve.c). Memory is told by
 * segment and offset, since it may lie at another address there.
 *
 *     put in pieces     piece, piece ... mark      ->   done in this order; the mark is answered
 *     get               ask, ask ...               ->   a piece each, a few under way
 *
 * So many bytes at most are under way to a PE without an answer to a mark behind them, whatever it does meanwhile.
 */
#include "shmem/far.h"
#include "shmem/spaces.h"

#include <sched.h>

#define UNANSWERED_BYTES ((size_t)8 << 20) /* to one PE */
#define ALL_BYTES ((size_t)512 << 20)      /* to all of them */
enum { PIECES = 8, LETTER_COST = 256 };
#define LOOK_S 0.1

static struct {
    pthread_mutex_t lock;
    struct mark {
        size_t sent;    /* bytes since the last mark */
        uint32_t asked; /* marks without an answer */
    } * marks;          /* per PE; NULL: one machine */
    uint64_t gets;
    size_t window, piece;
} far = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- messages ---- */

/* To the segment, or the space, and the offset of the address. */
static struct hop_shmem_letter letter_to(enum hop_shmem_wish wish, const void *address, size_t bytes, int pe,
                                         const char *who)
{
    const struct hop_shmem_segment *segment = hop_shmem_segment_of(address, bytes);
    const hop_shmem_space *space = segment ? NULL : hop_shmem_space_of(address);
    if ((!segment && !space) || !far.marks)
        hop_shmem_die(who, "memory at %p of PE %d is not reached from here\nsymmetric memory", address, pe);
    return (struct hop_shmem_letter){
        .wish = wish,
        .segment = segment ? (uint32_t)(segment - hop_shmem.segments) : HOP_SHMEM_SEGMENTS + space->number,
        .offset = (uintptr_t)address - (segment ? segment->begin : (uintptr_t)space->begin),
        .bytes = bytes};
}

static void tell(int pe, const struct hop_shmem_letter *letter, const void *bytes, size_t size, const char *who)
{
    HOP_SHMEM_NEED(
        who, hop_group_send_two(hop_shmem.team->group, pe, HOP_TAG_ASK, letter, sizeof *letter, bytes, size, &diag_));
}

static struct hop_group_message receive(int tag, hop_message_wanted *wanted, const void *context)
{
    struct hop_group_message message;
    while (!hop_group_receive_wanted(hop_shmem.team->group, tag, wanted, context, LOOK_S, &message)) {
        hop_shmem_look();
        (void)sched_yield();
    }
    return message;
}

/* ---- what nobody waits for ---- */

static bool is_from(const struct hop_group_message *message, const void *context)
{
    return message->from == *(const int *)context;
}

/* With the lock held, as the next two: waits for an answer to a mark. */
static void confirm(int pe)
{
    free(receive(HOP_TAG_MARK, is_from, &pe).bytes);
    far.marks[pe].asked--;
}

static void mark(int pe, const char *who)
{
    const struct hop_shmem_letter letter = {.wish = HOP_SHMEM_MARK};
    tell(pe, &letter, NULL, 0, who);
    far.marks[pe].sent = 0;
    far.marks[pe].asked++;
}

static void send(int pe, const struct hop_shmem_letter *letter, const void *bytes, size_t size, const char *who)
{
    far.marks[pe].sent += size + LETTER_COST;
    tell(pe, letter, bytes, size, who);
    if (far.marks[pe].sent < far.window / 2)
        return;
    if (far.marks[pe].asked > 0)
        confirm(pe);
    mark(pe, who);
}

void hop_shmem_far_put(void *dest, const void *source, size_t bytes, int pe, const char *who)
{
    if (bytes == 0)
        return;
    struct hop_shmem_letter letter = letter_to(HOP_SHMEM_PUT, dest, bytes, pe, who);
    (void)pthread_mutex_lock(&far.lock);
    for (size_t done = 0; done < bytes; done += letter.bytes, letter.offset += letter.bytes) {
        letter.bytes = bytes - done < far.piece ? bytes - done : far.piece;
        send(pe, &letter, (const char *)source + done, letter.bytes, who);
    }
    (void)pthread_mutex_unlock(&far.lock);
}

size_t hop_shmem_far_piece(void)
{
    return far.piece;
}

void hop_shmem_far_quiet(void)
{
    static const char who[] = "shmem_quiet";
    if (!far.marks)
        return;
    (void)pthread_mutex_lock(&far.lock);
    for (uint32_t pe = 0; pe < hop_shmem.pes; pe++) {
        if (far.marks[pe].sent > 0)
            mark((int)pe, who);
    }
    for (uint32_t pe = 0; pe < hop_shmem.pes; pe++) {
        while (far.marks[pe].asked > 0)
            confirm((int)pe);
    }
    (void)pthread_mutex_unlock(&far.lock);
}

/* ---- what is waited for ---- */

static bool is_answer(const struct hop_group_message *message, const void *context)
{
    return message->size_bytes >= sizeof(uint64_t) && memcmp(message->bytes, context, sizeof(uint64_t)) == 0;
}

/* Blocks of a piece at most; more of small ones are under way. */
static void get_pieces(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n, int pe,
                       const char *who)
{
    const size_t ahead = block > far.piece / PIECES ? PIECES : (size_t)PIECES * PIECES;
    const uint64_t id = __atomic_add_fetch(&far.gets, 1, __ATOMIC_RELAXED);
    for (size_t asked = 0, had = 0; had < n; had++) {
        for (; asked < n && asked - had < ahead; asked++) {
            struct hop_shmem_letter letter = letter_to(HOP_SHMEM_GET, source + (ptrdiff_t)asked * sst, block, pe, who);
            letter.id = id;
            tell(pe, &letter, NULL, 0, who);
        }
        struct hop_group_message message = receive(HOP_TAG_ANSWER, is_answer, &id);
        memcpy(dest + (ptrdiff_t)had * dst, message.bytes + sizeof id, block);
        free(message.bytes);
    }
}

void hop_shmem_far_get(void *dest, const void *source, size_t bytes, int pe, const char *who)
{
    if (bytes == 0)
        return;
    (void)letter_to(HOP_SHMEM_GET, source, bytes, pe, who); /* all of it is symmetric */
    size_t whole = bytes / far.piece, step = far.piece, rest = bytes % step;
    get_pieces(dest, source, (ptrdiff_t)step, (ptrdiff_t)step, step, whole, pe, who);
    get_pieces((char *)dest + whole * step, (const char *)source + whole * step, 0, 0, rest, rest > 0, pe, who);
}

void hop_shmem_far_get_blocks(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n,
                              int pe, const char *who)
{
    if (block > 0 && block <= far.piece)
        get_pieces(dest, source, dst, sst, block, n, pe, who);
    for (size_t i = 0; i < n && block > far.piece; i++)
        hop_shmem_far_get(dest + (ptrdiff_t)i * dst, source + (ptrdiff_t)i * sst, block, pe, who);
}

uint64_t hop_shmem_far_amo(enum hop_shmem_amo op, void *at, size_t bytes, uint64_t value, uint64_t condition,
                           bool fetches, int pe, const char *who)
{
    struct hop_shmem_letter letter = letter_to(HOP_SHMEM_ACT, at, bytes, pe, who);
    uint64_t had = 0;
    letter.op = op;
    letter.value = value;
    letter.condition = condition;
    if (!fetches) {
        (void)pthread_mutex_lock(&far.lock);
        send(pe, &letter, NULL, 0, who);
        (void)pthread_mutex_unlock(&far.lock);
        return 0;
    }
    letter.id = __atomic_add_fetch(&far.gets, 1, __ATOMIC_RELAXED);
    tell(pe, &letter, NULL, 0, who);
    struct hop_group_message message = receive(HOP_TAG_ANSWER, is_answer, &letter.id);
    memcpy(&had, message.bytes + sizeof letter.id, sizeof had);
    free(message.bytes);
    return had;
}

/* ---- beginning and end ---- */

void hop_shmem_far_create(void)
{
    if (!hop_shmem.team->group)
        return;
    far.window = ALL_BYTES / hop_shmem.pes < UNANSWERED_BYTES ? ALL_BYTES / hop_shmem.pes : UNANSWERED_BYTES;
    far.piece = far.window / PIECES;
    far.marks = calloc(hop_shmem.pes, sizeof *far.marks);
    if (!far.marks)
        hop_shmem_die("shmem_init", "out of memory");
    hop_shmem_serve_begin();
}

void hop_shmem_far_exit(int status)
{
    const struct hop_shmem_letter letter = {.wish = HOP_SHMEM_END, .value = (uint64_t)(unsigned)status};
    for (uint32_t pe = 0; pe < hop_shmem.pes && far.marks; pe++) {
        if (pe != hop_shmem.pe)
            tell((int)pe, &letter, NULL, 0, "shmem_global_exit");
    }
}

void hop_shmem_far_destroy(void)
{
    if (!far.marks)
        return;
    const struct hop_shmem_letter letter = {.wish = HOP_SHMEM_STOP};
    tell((int)hop_shmem.pe, &letter, NULL, 0, "shmem_finalize");
    hop_shmem_serve_end();
    free(far.marks);
    far.marks = NULL;
}
