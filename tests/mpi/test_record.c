/* SPDX-License-Identifier: BSD-3-Clause */
/* Recorded calls held together: who met whom, who waited how long, and what schedule that is. Times are ours. */
#include "mpi/engine/record.h"

#include "test.h"

enum { ROOM = 256, RANKS = 4, WORLD = 70, OTHER = 71, WINDOW = 72 };

/* Items rank by rank, and what is made of them. */
static struct {
    struct hop_mpi_record record;
    struct hop_mpi_record_rank rank[RANKS];
    struct hop_item items[ROOM];
    uint32_t first[RANKS + 1], count;
    struct hop_buffer json, text;
} made;

static int begin(void **state)
{
    (void)state;
    memset(&made, 0, sizeof made);
    made.record.library = "a test";
    return 0;
}

static int end(void **state)
{
    (void)state;
    hop_arena_finish(&made.record.arena);
    hop_buffer_finish(&made.json);
    hop_buffer_finish(&made.text);
    return 0;
}

/* From here on items are the next rank's, which ended then. */
static void rank(uint64_t end_ns)
{
    made.first[made.record.ranks] = made.count;
    made.rank[made.record.ranks++].end_ns = end_ns;
}

static void item(struct hop_item one)
{
    made.items[made.count++] = one;
    made.rank[made.record.ranks - 1].count++;
}

static void call_by(uint32_t thread, enum hop_mpi_call call, uint64_t begin_ns, uint64_t end_ns, uint8_t flags)
{
    item((struct hop_item){
        .kind = ITEM_CALL, .flags = flags, .call = (uint16_t)call, .tag = thread, .where = begin_ns, .size = end_ns});
}

static void call(enum hop_mpi_call number, uint64_t begin_ns, uint64_t end_ns)
{
    call_by(1, number, begin_ns, end_ns, 0);
}

static void message(enum hop_item_kind kind, int peer, uint32_t tag, uint64_t where, uint64_t size, uint8_t flags)
{
    item((struct hop_item){
        .kind = (uint8_t)kind, .flags = flags, .peer = peer, .tag = tag, .where = where, .size = size});
}

/* The count items of the rank from its number `from` on. */
static void done(uint32_t from, int count)
{
    item((struct hop_item){.kind = ITEM_DONE, .peer = count - 1, .where = from});
}

static void together(enum hop_mpi_call number, uint64_t where, uint64_t ranks)
{
    item((struct hop_item){.kind = ITEM_TOGETHER, .call = (uint16_t)number, .peer = -1, .where = where, .size = ranks});
}

static void part(int peer, uint64_t size, uint8_t flags)
{
    item((struct hop_item){.kind = ITEM_PART, .flags = flags, .peer = peer, .tag = 1, .own_ns = 1, .size = size});
}

static void match(void)
{
    made.record.rank = made.rank;
    made.record.items = made.items;
    made.record.first = made.first;
    made.first[made.record.ranks] = made.count;
    assert_true(hop_record_match(&made.record));
    assert_true(hop_record_waiting(&made.record, &made.json, &made.text));
}

static void says(const char *text)
{
    if (!strstr(made.json.text, text))
        fail_msg("'%s' is not in %s", text, made.json.text);
}

static void waits(const char *who, const char *rest)
{
    char text[256];
    (void)snprintf(text, sizeof text, "%s,%s}", who, rest);
    says(text);
}

#define NS(late_sender, late_receiver, collective)                                                                     \
    "\"late_sender_seconds\":" late_sender ",\"late_receiver_seconds\":" late_receiver                                 \
    ",\"collective_seconds\":" collective

/* ---- waiting ---- */

static void a_receive_waits_for_its_sender(void **state)
{
    (void)state;
    rank(200);
    call(CALL_MPI_Send, 100, 110);
    message(ITEM_SEND, 1, 3, WORLD, 1000, 0);
    rank(200);
    call(CALL_MPI_Recv, 40, 130);
    message(ITEM_RECEIVE, 0, 3, WORLD, 0, 0);
    match();
    waits("\"name\":\"MPI_Recv\",\"seconds\":9e-08", NS("6e-08", "0", "0"));
    waits("\"name\":\"MPI_Send\",\"seconds\":1e-08", NS("0", "0", "0"));
    waits("\"rank\":1,\"seconds\":9e-08", NS("6e-08", "0", "0"));
    says("{\"rank\":1,\"on\":0,\"seconds\":6e-08}]");
}

/* The first send returned before there was a receive: it did not wait. */
static void a_send_waits_for_its_receiver(void **state)
{
    (void)state;
    rank(200);
    call(CALL_MPI_Send, 0, 20);
    message(ITEM_SEND, 1, 0, WORLD, 8, 0);
    call(CALL_MPI_Ssend, 30, 100);
    message(ITEM_SEND, 1, 0, WORLD, 8, 0);
    rank(200);
    call(CALL_MPI_Irecv, 50, 52);
    message(ITEM_RECEIVE, 0, 0, WORLD, 0, ITEM_LATER);
    call(CALL_MPI_Recv, 80, 101);
    message(ITEM_RECEIVE, 0, 0, WORLD, 0, 0);
    match();
    waits("\"name\":\"MPI_Send\",\"seconds\":2e-08", NS("0", "0", "0"));
    waits("\"name\":\"MPI_Ssend\",\"seconds\":7e-08", NS("0", "5e-08", "0"));
    waits("\"name\":\"MPI_Recv\",\"seconds\":2.1e-08", NS("0", "0", "0"));
}

/* For the last of those whose messages it waits for, and nothing that its request does not wait for. */
static void a_wait_waits_for_the_last(void **state)
{
    (void)state;
    rank(200);
    call(CALL_MPI_Irecv, 0, 1);
    message(ITEM_RECEIVE, 1, 0, WORLD, 0, ITEM_LATER); /* item 1 */
    call(CALL_MPI_Irecv, 1, 2);
    message(ITEM_RECEIVE, 2, 0, WORLD, 0, ITEM_LATER); /* item 3 */
    call(CALL_MPI_Irecv, 2, 3);
    message(ITEM_RECEIVE, 2, 0, WORLD, 0, ITEM_LATER); /* item 5 */
    call(CALL_MPI_Waitall, 10, 100);
    done(1, 1);
    done(3, 1);
    for (int r = 1; r < 3; r++) {
        rank(200);
        call(CALL_MPI_Send, 30 + 40u * (unsigned)(r == 1), 90);
        message(ITEM_SEND, 0, 0, WORLD, 8, 0);
    }
    call(CALL_MPI_Send, 150, 160);
    message(ITEM_SEND, 0, 0, WORLD, 8, 0);
    match();
    waits("\"name\":\"MPI_Waitall\",\"seconds\":9e-08", NS("6e-08", "0", "0"));
    says("{\"rank\":0,\"on\":1,\"seconds\":6e-08}]");
}

static void a_probe_waits_for_the_next_message(void **state)
{
    (void)state;
    rank(200);
    call(CALL_MPI_Send, 0, 10);
    message(ITEM_SEND, 1, 0, WORLD, 8, 0);
    call(CALL_MPI_Send, 60, 70);
    message(ITEM_SEND, 1, 0, WORLD, 8, 0);
    rank(200);
    call(CALL_MPI_Recv, 5, 12);
    message(ITEM_RECEIVE, 0, 0, WORLD, 0, 0);
    call(CALL_MPI_Probe, 20, 75);
    message(ITEM_PROBED, 0, 0, WORLD, 0, 0);
    call(CALL_MPI_Recv, 76, 80);
    message(ITEM_RECEIVE, 0, 0, WORLD, 0, 0);
    match();
    waits("\"name\":\"MPI_Probe\",\"seconds\":5.5e-08", NS("4e-08", "0", "0"));
    assert_int_equal(made.record.alone, 0);
}

/* A start that returned before the post did not wait; the complete behind it did. A post waits for nobody. */
static void epochs_wait_for_post_and_complete(void **state)
{
    enum { POSTED = 1, COMPLETED = 2 };
    const uint64_t starts[] = {0, 10, 20, 60, 70, 100, 105, 110}, posts[] = {35, 36, 37, 64, 90, 91, 92, 130};
    (void)state;
    rank(200);
    for (int i = 0; i < 8; i += 4) {
        call(CALL_MPI_Win_start, starts[i], starts[i + 1]);
        message(ITEM_PROBED, 1, POSTED, WINDOW, 0, 0);
        call(CALL_MPI_Win_complete, starts[i + 2], starts[i + 3]);
        message(ITEM_RECEIVE, 1, POSTED, WINDOW, 0, 0);
        message(ITEM_SEND, 1, COMPLETED, WINDOW, 0, ITEM_EAGER);
    }
    rank(200);
    for (int i = 0; i < 8; i += 4) {
        call(CALL_MPI_Win_post, posts[i], posts[i + 1]);
        message(ITEM_SEND, 0, POSTED, WINDOW, 0, ITEM_EAGER);
        call(CALL_MPI_Win_wait, posts[i + 2], posts[i + 3]);
        message(ITEM_RECEIVE, 0, COMPLETED, WINDOW, 0, 0);
    }
    match();
    waits("\"name\":\"MPI_Win_start\",\"seconds\":4e-08", NS("2e-08", "0", "0"));
    waits("\"name\":\"MPI_Win_complete\",\"seconds\":4.5e-08", NS("1.5e-08", "0", "0"));
    waits("\"name\":\"MPI_Win_post\",\"seconds\":2e-09", NS("0", "0", "0"));
    waits("\"name\":\"MPI_Win_wait\",\"seconds\":6.5e-08", NS("1.3e-08", "0", "0"));
    assert_int_equal(made.record.alone, 0);
}

/* All for the last, and the last for nobody. */
static void a_barrier_waits_for_all(void **state)
{
    (void)state;
    for (uint64_t r = 0; r < 3; r++) {
        rank(200);
        call(CALL_MPI_Barrier, (r * 50) % 70, 80); /* 0, 50, 30 */
        together(CALL_MPI_Barrier, WORLD, 3);
    }
    match();
    waits("\"rank\":0,\"seconds\":8e-08", NS("0", "0", "5e-08"));
    waits("\"rank\":1,\"seconds\":3e-08", NS("0", "0", "0"));
    waits("\"rank\":2,\"seconds\":5e-08", NS("0", "0", "2e-08"));
    says("{\"rank\":0,\"on\":1,\"seconds\":5e-08},\n      {\"rank\":2,\"on\":1,\"seconds\":2e-08}]");
}

/* For the root, who waits for nobody. */
static void a_broadcast_waits_for_its_root(void **state)
{
    (void)state;
    for (int r = 0; r < 3; r++) {
        rank(200);
        call(CALL_MPI_Bcast, r == 1 ? 60 : 10, 80);
        together(CALL_MPI_Bcast, WORLD, 3);
        if (r == 1) {
            part(0, 100, 0);
            part(2, 100, 0);
        }
    }
    match();
    waits("\"rank\":0,\"seconds\":7e-08", NS("0", "0", "5e-08"));
    waits("\"rank\":1,\"seconds\":2e-08", NS("0", "0", "0"));
    waits("\"rank\":2,\"seconds\":7e-08", NS("0", "0", "5e-08"));
}

/* ---- who meets whom ---- */

/* By communicator, tag and order; not by when the other one came. */
static void messages_meet_in_order(void **state)
{
    (void)state;
    rank(200);
    call(CALL_MPI_Startall, 0, 10);
    message(ITEM_SEND, 1, 5, WORLD, 1, ITEM_LATER); /* 1 */
    message(ITEM_SEND, 1, 5, OTHER, 2, ITEM_LATER);
    message(ITEM_SEND, 1, 5, WORLD, 3, ITEM_LATER);
    message(ITEM_SEND, 1, 6, WORLD, 4, ITEM_LATER);
    message(ITEM_SEND, 1, 5, WORLD, 5, ITEM_LATER);
    message(ITEM_SEND, 0, 5, WORLD, 6, ITEM_LATER);
    rank(200);
    call(CALL_MPI_Startall, 0, 10);
    message(ITEM_RECEIVE, 0, 6, WORLD, 0, ITEM_LATER); /* 8 */
    message(ITEM_RECEIVE, 0, 5, WORLD, 0, ITEM_LATER);
    message(ITEM_RECEIVE, 0, 5, WORLD, 0, ITEM_OFF);
    message(ITEM_RECEIVE, 0, 5, WORLD, 0, ITEM_LATER);
    message(ITEM_RECEIVE, 0, 5, OTHER, 0, ITEM_LATER);
    message(ITEM_RECEIVE, -1, 5, WORLD, 0, ITEM_UNKNOWN);
    match();
    static const uint32_t partner[] = {HOP_NONE, 9, 12, 11,       8, HOP_NONE, HOP_NONE,
                                       HOP_NONE, 4, 1,  HOP_NONE, 3, 2,        HOP_NONE};
    assert_memory_equal(made.record.partner, partner, sizeof partner);
    assert_int_equal(made.record.to_itself, 1);
    assert_int_equal(made.record.alone, 2); /* the third send, and the receive that nobody knows */
}

/* The k-th of each communicator; one of which a rank's part is missing is none. */
static void collectives_meet_in_order(void **state)
{
    (void)state;
    for (int r = 0; r < 2; r++) {
        rank(200);
        call(CALL_MPI_Startall, 0, 10);
        together(CALL_MPI_Barrier, r ? OTHER : WORLD, 2);
        together(CALL_MPI_Barrier, r ? WORLD : OTHER, 2);
        together(CALL_MPI_Barrier, WORLD, 2);
        if (r)
            together(CALL_MPI_Barrier, WORLD, 2);
    }
    match();
    static const uint32_t partner[] = {HOP_NONE, 0, 2, 1, HOP_NONE, 2, 0, 1, HOP_NONE};
    assert_memory_equal(made.record.partner, partner, sizeof partner);
    assert_int_equal(made.record.collectives, 3);
    assert_int_equal(made.record.alone, 1);
}

/* ---- the schedule ---- */

static char written[8192];

static void write_schedule(void)
{
    char path[] = "/tmp/hopcast-record-XXXXXX.hop";
    struct hop_diag diag = {.what = ""};
    int taken = mkstemps(path, 4);
    assert_true(taken >= 0);
    match();
    assert_int_equal(hop_record_write(&made.record, path, &diag), HOP_OK);
    FILE *file = fopen(path, "r"); /* another one than was made, in its place */
    assert_non_null(file);
    written[fread(written, 1, sizeof written - 1, file)] = '\0';
    (void)fclose(file);
    (void)close(taken);
    (void)unlink(path);
}

/* What the first lines say, and the others of two ranks. */
static void writes(const char *measured, const char *moved, const char *rest)
{
    char expected[4096];
    (void)snprintf(expected, sizeof expected,
                   "# recorded by libhopcast_mpi.so: 2 ranks of a test\n"
                   "# measured %s s, from the first MPI_Init's end to the last MPI_Finalize\n# %s\nqueue ready\n%s",
                   measured, moved, rest);
    write_schedule();
    assert_string_equal(written, expected);
}

/* What goes on beside, and what is waited for; what recording took is no computation. */
static void gaps_and_requests(void **state)
{
    (void)state;
    rank(5000);
    call(CALL_MPI_Isend, 1000, 1100);
    message(ITEM_SEND, 1, 7, WORLD, 64, ITEM_LATER); /* item 1 */
    call(CALL_MPI_Irecv, 1150, 1160);
    made.items[made.count - 1].own_ns = 50;
    message(ITEM_RECEIVE, 1, 7, OTHER, 0, ITEM_LATER); /* item 3 */
    call(CALL_MPI_Waitall, 3160, 4000);
    done(1, 1);
    done(3, 1);
    rank(4500);
    call(CALL_MPI_Sendrecv, 0, 2000);
    message(ITEM_SEND, 0, 7, OTHER, 32, 0);
    message(ITEM_RECEIVE, 0, 7, WORLD, 0, 0);
    writes("0.000005000",
           "2 messages of 96 bytes, and 0 of barriers, epochs and answers\n"
           "# recording took 0.000000050 s, calls that MPI_Pcontrol left out 0.000000000 s",
           "r0.0.work: work rank0 1us\n"
           "r0.0.Isend: send rank0 -> rank1 64B tag 7 after r0.0.work\n"
           "r0.1.Irecv: receive rank1 -> rank0 32B tag 8 after r0.0.work\n"
           "r0.2.work: work rank0 2us after r0.0.work\n"
           "r0.2.Waitall: work rank0 0s after r0.2.work r0.0.Isend r0.1.Irecv\n"
           "r0.3.work: work rank0 1us after r0.2.Waitall\n"
           "r1.0.Sendrecv: send rank1 -> rank0 32B tag 8\n"
           "r1.0.Sendrecv.1: receive rank0 -> rank1 64B tag 7\n"
           "r1.1.work: work rank1 2.5us after r1.0.Sendrecv r1.0.Sendrecv.1\n");
}

/* Who asks again at once waits; who computes meanwhile does not. */
static void asking_again(void **state)
{
    (void)state;
    rank(4000);
    call_by(1, CALL_MPI_Test, 0, 100, ITEM_POLL);
    call_by(1, CALL_MPI_Test, 1099, 1200, ITEM_POLL);
    call_by(1, CALL_MPI_Test, 2200, 2300, 0);
    rank(4000);
    call_by(1, CALL_MPI_Recv, 0, 4000, ITEM_PAUSED);
    writes("0.000004000",
           "0 messages of 0 bytes, and 0 of barriers, epochs and answers\n"
           "# recording took 0.000000000 s, calls that MPI_Pcontrol left out 0.000004000 s",
           "r0.2.work: work rank0 1us\n"
           "r0.3.work: work rank0 1.7us after r0.2.work\n");
}

/* A put ends at the fence, which is a barrier behind it; an allreduce's blocks return when all have come. */
static void fences_and_allreduces(void **state)
{
    (void)state;
    for (int r = 0; r < 2; r++) {
        rank(0);
        if (r == 0) {
            call(CALL_MPI_Put, 0, 0);
            message(ITEM_PUT, 1, 0, WINDOW, 16, 0);
        }
        call(CALL_MPI_Win_fence, 0, 0);
        message(ITEM_SYNC, -1, 0, WINDOW, 0, 0);
        together(CALL_MPI_Win_fence, WINDOW, 2);
        call(CALL_MPI_Allreduce, 0, 0);
        together(CALL_MPI_Allreduce, WORLD, 2);
        part(1 - r, 4 + 4u * (unsigned)r, 0);
        part(1 - r, 8 - 4u * (unsigned)r, ITEM_SECOND);
    }
    writes("0.000000000", "5 messages of 40 bytes, and 2 of barriers, epochs and answers",
           "r0.0.Put: rank0 -> rank1 16B\n"
           "r0.1.Win_fence: send rank0 -> rank1 1B tag 1 after r0.0.Put\n"
           "r0.1.Win_fence.1: receive rank1 -> rank0 1B tag 1 after r0.0.Put\n"
           "r0.2.Allreduce: send rank0 -> rank1 4B after r0.1.Win_fence r0.1.Win_fence.1\n"
           "r0.2.Allreduce.1: receive rank1 -> rank0 8B after r0.1.Win_fence r0.1.Win_fence.1\n"
           "r0.2.Allreduce.2: reduce sum u8 rank0 rank0 -> rank0 8B after r0.2.Allreduce.1\n"
           "r0.2.Allreduce.3: receive rank1 -> rank0 4B after r0.1.Win_fence r0.1.Win_fence.1\n"
           "r0.2.Allreduce.4: send rank0 -> rank1 8B after r0.2.Allreduce.2\n"
           "r0.2.Allreduce.5: work rank0 0s after r0.2.Allreduce r0.2.Allreduce.2 r0.2.Allreduce.3 "
           "r0.2.Allreduce.4\n"
           "r1.0.Win_fence: receive rank0 -> rank1 1B tag 1\n"
           "r1.0.Win_fence.1: send rank1 -> rank0 1B tag 1\n"
           "r1.1.Allreduce: send rank1 -> rank0 8B after r1.0.Win_fence r1.0.Win_fence.1\n"
           "r1.1.Allreduce.1: receive rank0 -> rank1 4B after r1.0.Win_fence r1.0.Win_fence.1\n"
           "r1.1.Allreduce.2: reduce sum u8 rank1 rank1 -> rank1 4B after r1.1.Allreduce.1\n"
           "r1.1.Allreduce.3: receive rank0 -> rank1 8B after r1.0.Win_fence r1.0.Win_fence.1\n"
           "r1.1.Allreduce.4: send rank1 -> rank0 4B after r1.1.Allreduce.2\n"
           "r1.1.Allreduce.5: work rank1 0s after r1.1.Allreduce r1.1.Allreduce.2 r1.1.Allreduce.3 "
           "r1.1.Allreduce.4\n");
}

/* So many messages of so many bytes in all, of four ranks. */
static void moves(const char *what)
{
    write_schedule();
    if (!strstr(written, what))
        fail_msg("'%s' is not in %s", what, written);
}

static void four_broadcast(uint64_t to_the_last)
{
    for (int r = 0; r < 4; r++) {
        rank(0);
        call(CALL_MPI_Bcast, 0, 0);
        together(CALL_MPI_Bcast, WORLD, 4);
        for (int to = 0; r == 2 && to < 4; to++) {
            if (to != r)
                part(to, to == 3 ? to_the_last : 100, 0);
        }
    }
}

/* The root, rank 2, sends to two ranks, of which one sends on. */
static void a_broadcast_as_a_tree(void **state)
{
    (void)state;
    made.record.algorithms[HOP_COLLECTIVE_BROADCAST] = HOP_ALGORITHM_BINOMIAL;
    four_broadcast(100);
    moves("# 3 messages of 300 bytes");
    assert_non_null(strstr(written, "r2.0.Bcast: send rank2 -> rank0 100B\n"));
    assert_non_null(strstr(written, "r0.0.Bcast.1: send rank0 -> rank1 100B after r0.0.Bcast\n"));
}

static void unequal_parts_have_no_algorithm(void **state)
{
    (void)state;
    made.record.algorithms[HOP_COLLECTIVE_BROADCAST] = HOP_ALGORITHM_BINOMIAL;
    four_broadcast(101);
    moves("# 3 messages of 301 bytes");
    assert_non_null(strstr(written, "r2.0.Bcast.2: send rank2 -> rank3 101B\n"));
}

/* Vectors of 10 bytes by recursive doubling: twice to each other one. */
static void an_allreduce_by_doubling(void **state)
{
    (void)state;
    static const uint64_t blocks[] = {3, 3, 2, 2};
    made.record.algorithms[HOP_COLLECTIVE_ALLREDUCE] = HOP_ALGORITHM_DOUBLING;
    for (int r = 0; r < 4; r++) {
        rank(0);
        call(CALL_MPI_Allreduce, 0, 0);
        together(CALL_MPI_Allreduce, WORLD, 4);
        for (int turn = 0; turn < 2; turn++) {
            for (int to = 0; to < 4; to++) {
                if (to != r)
                    part(to, blocks[turn ? r : to], turn ? ITEM_SECOND : 0);
            }
        }
    }
    moves("# 8 messages of 80 bytes");
}

/* To rank 1, which has 5 bytes itself; the gather by the rule. */
static void a_reduction_and_a_gather(void **state)
{
    (void)state;
    made.record.algorithms[HOP_COLLECTIVE_REDUCE] = HOP_ALGORITHM_BINOMIAL;
    for (int r = 0; r < 4; r++) {
        rank(0);
        for (int gather = 0; gather < 2; gather++) {
            call(gather ? CALL_MPI_Gather : CALL_MPI_Reduce, 0, 0);
            together(gather ? CALL_MPI_Gather : CALL_MPI_Reduce, WORLD, 4);
            if (r != 1)
                part(1, 5, 0);
            else if (gather)
                item((struct hop_item){.kind = ITEM_KEPT, .size = 5});
        }
    }
    moves("# 6 messages of 30 bytes");
    assert_null(strstr(written, "r1.0.Reduce: rank1:in"));
    assert_non_null(strstr(written, "reduce sum u8 rank1 rank1 -> rank1 5B"));
    assert_non_null(strstr(written, "r1.1.Gather: rank1:in -> rank1:out 5B"));
    assert_int_equal(made.record.collectives, 2);
    /* Three of the gather; of the reduction, one goes by way of another. */
    unsigned to_root = 0;
    for (const char *at = written; (at = strstr(at, ": send ")); at++) {
        const char *to = strstr(at, "-> ");
        to_root += to && strncmp(to, "-> rank1 ", 9) == 0;
    }
    assert_int_equal(to_root, 3 + 2);
}

/* As much to ranks that are as far apart is one item. */
static void parts_go_to_some_ranks(void **state)
{
    (void)state;
    const struct hop_item some = {.kind = ITEM_PART, .peer = 1, .tag = 3, .own_ns = 2},
                          one = {.peer = 4, .tag = 1, .own_ns = 1};
    for (uint32_t r = 0; r < 10; r++) {
        assert_int_equal(hop_part_goes_to(&some, r), r == 1 || r == 3 || r == 5);
        assert_int_equal(hop_part_goes_to(&one, r), r == 4);
    }
    for (int r = 0; r < 4; r++) { /* from rank 3 to 0 and 2 */
        rank(0);
        call(CALL_MPI_Neighbor_allgather, 0, 0);
        together(CALL_MPI_Neighbor_allgather, WORLD, 4);
        if (r == 3)
            item((struct hop_item){.kind = ITEM_PART, .peer = 0, .tag = 2, .own_ns = 2, .size = 9});
    }
    moves("# 2 messages of 18 bytes");
    assert_non_null(strstr(written, "r3.0.Neighbor_allgather.1: send rank3 -> rank2 9B\n"));
    assert_non_null(strstr(written, "r2.0.Neighbor_allgather: receive rank3 -> rank2 9B\n"));
}

/* One that is buffered, and one that ends when its receive has its message. */
static void sends_of_other_modes(void **state)
{
    (void)state;
    rank(0);
    call(CALL_MPI_Bsend, 0, 0);
    message(ITEM_SEND, 1, 4, WORLD, 70, ITEM_EAGER);
    call(CALL_MPI_Issend, 0, 0);
    message(ITEM_SEND, 1, 4, WORLD, 80, ITEM_ANSWERED | ITEM_LATER);
    call(CALL_MPI_Wait, 0, 0);
    done(3, 1);
    call(CALL_MPI_Send, 0, 0);
    message(ITEM_SEND, 1, 4, WORLD, 90, 0);
    rank(0);
    for (int i = 0; i < 3; i++) {
        call(CALL_MPI_Recv, 0, 0);
        message(ITEM_RECEIVE, 0, 4, WORLD, 0, 0);
    }
    writes("0.000000000", "3 messages of 240 bytes, and 1 of barriers, epochs and answers",
           "r0.0.Bsend: send rank0 -> rank1 70B tag 4 eager\n"
           "r0.1.Issend: send rank0 -> rank1 80B tag 4 after r0.0.Bsend\n"
           "r0.1.answer.1: receive rank1 -> rank0 0B tag 5 after r0.1.Issend\n"
           "r0.3.Send: send rank0 -> rank1 90B tag 4 after r0.0.Bsend r0.1.answer.1\n"
           "r1.0.Recv: receive rank0 -> rank1 70B tag 4\n"
           "r1.1.Recv: receive rank0 -> rank1 80B tag 4 after r1.0.Recv\n"
           "r1.1.answer.1: send rank1 -> rank0 0B tag 5 after r1.1.Recv\n"
           "r1.2.Recv: receive rank0 -> rank1 90B tag 4 after r1.1.Recv\n");
}

/* ---- what a rank keeps ---- */

static void a_full_log_keeps_what_it_has(void **state)
{
    (void)state;
    struct hop_item items[2] = {{.kind = ITEM_CALL, .flags = ITEM_POLL, .tag = 1, .where = 10, .size = 20},
                                {.kind = ITEM_SEND}};
    uint32_t count;
    hop_log_begin(3 * sizeof *items);
    assert_int_equal(hop_log_add(items, 1), 0);
    assert_true(hop_log_extend_poll(0, 30, 40, 0));
    assert_false(hop_log_extend_poll(HOP_NONE, 50, 60, 0));                 /* another call was between */
    assert_false(hop_log_extend_poll(0, 40 + HOP_RECORD_POLL_NS, 2000, 0)); /* computed meanwhile */
    assert_int_equal(hop_log_add(items, 1), 1);
    items[0].where = 77;
    assert_int_equal(hop_log_add(items, 2), HOP_NONE);
    assert_int_equal(hop_log_full_ns(), 77);
    assert_int_equal(hop_log_add(items, 1), HOP_NONE);
    struct hop_item *all = hop_log_take(&count);
    assert_int_equal(count, 2);
    assert_int_equal(all[0].size, 40);
    free(all);
}

/* The latest of a handle first, each once. */
static void requests_may_share_a_handle(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        hop_requests_add(&(struct hop_request){.handle = i == 1 ? 9 : 8, .first = i});
    static const struct {
        uintptr_t handle;
        uint32_t first;
    } expected[] = {{8, 2}, {8, 0}, {8, HOP_NONE}, {9, 1}, {9, HOP_NONE}};
    for (size_t i = 0; i < HOP_COUNT(expected); i++) {
        struct hop_request *request = hop_requests_take(expected[i].handle, hop_requests_count());
        assert_int_equal(request ? request->first : HOP_NONE, expected[i].first);
        hop_requests_drop(request);
    }
}

/* A call that began before another thread's request came does not take that. */
static void a_call_ends_what_was_there_before(void **state)
{
    (void)state;
    hop_requests_add(&(struct hop_request){.handle = 8, .first = 0});
    uint64_t before = hop_requests_count();
    hop_requests_add(&(struct hop_request){.handle = 8, .first = 1});
    struct hop_request *request = hop_requests_take(8, before);
    assert_non_null(request);
    assert_int_equal(request->first, 0);
    hop_requests_drop(request);
    assert_null(hop_requests_take(8, before));
    hop_requests_drop(hop_requests_take(8, hop_requests_count()));
}

TEST_GROUP(record)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_receive_waits_for_its_sender, begin, end),
        cmocka_unit_test_setup_teardown(a_send_waits_for_its_receiver, begin, end),
        cmocka_unit_test_setup_teardown(a_wait_waits_for_the_last, begin, end),
        cmocka_unit_test_setup_teardown(a_probe_waits_for_the_next_message, begin, end),
        cmocka_unit_test_setup_teardown(epochs_wait_for_post_and_complete, begin, end),
        cmocka_unit_test_setup_teardown(a_barrier_waits_for_all, begin, end),
        cmocka_unit_test_setup_teardown(a_broadcast_waits_for_its_root, begin, end),
        cmocka_unit_test_setup_teardown(messages_meet_in_order, begin, end),
        cmocka_unit_test_setup_teardown(collectives_meet_in_order, begin, end),
        cmocka_unit_test_setup_teardown(gaps_and_requests, begin, end),
        cmocka_unit_test_setup_teardown(asking_again, begin, end),
        cmocka_unit_test_setup_teardown(fences_and_allreduces, begin, end),
        cmocka_unit_test_setup_teardown(a_broadcast_as_a_tree, begin, end),
        cmocka_unit_test_setup_teardown(unequal_parts_have_no_algorithm, begin, end),
        cmocka_unit_test_setup_teardown(an_allreduce_by_doubling, begin, end),
        cmocka_unit_test_setup_teardown(a_reduction_and_a_gather, begin, end),
        cmocka_unit_test_setup_teardown(sends_of_other_modes, begin, end),
        cmocka_unit_test_setup_teardown(parts_go_to_some_ranks, begin, end),
        cmocka_unit_test(a_full_log_keeps_what_it_has),
        cmocka_unit_test(requests_may_share_a_handle),
        cmocka_unit_test(a_call_ends_what_was_there_before),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
