/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls counted by place: nothing is lost when tables grow or are full, when many threads count at once and when
 * threads come and go; and sums over ranks are those of a plain loop. */
#include "mpi/site_sums.h"
#include "mpi/ticks.h"

#include <pthread.h>

#include "test.h"

enum { PLACES = 6000, THREADS = 4, RANKS = 7 };

static struct hop_mpi_caller at_place(uintptr_t place)
{
    return (struct hop_mpi_caller){(const void *)(place << 4), NULL};
}

static void count(enum hop_mpi_call call, uintptr_t place, uint64_t bytes)
{
    struct hop_mpi_caller caller = at_place(place);
    hop_counts_call(call, &caller, bytes, 3);
}

struct sum {
    uint64_t calls, bytes, ticks, places;
    enum hop_mpi_call call;
};

static void add(void *context, const struct hop_mpi_site *site)
{
    struct sum *sum = context;
    if (site->call != sum->call)
        return;
    sum->calls += site->calls;
    sum->bytes += site->bytes;
    sum->ticks += site->ticks;
    sum->places++;
}

static struct sum sum_of(enum hop_mpi_call call)
{
    struct sum sum = {.call = call};
    hop_counts_sites(add, &sum);
    return sum;
}

static int begin(void **state)
{
    (void)state;
    hop_ticks_begin();
    return hop_counts_begin(RANKS) ? 0 : 1;
}

/* More places than a table has room for: some are told together, with all that they did. */
static void places_beyond_the_table_are_counted_together(void **state)
{
    (void)state;
    uint64_t bytes = 0;
    for (uintptr_t place = 1; place <= PLACES; place++) {
        for (unsigned again = 0; again <= place % 3; again++) {
            count(CALL_MPI_Send, place, place);
            bytes += place;
        }
        if (place == 100)
            assert_int_equal(sum_of(CALL_MPI_Send).places, 100);
    }
    struct sum sum = sum_of(CALL_MPI_Send);
    assert_int_equal(sum.calls, 2 * PLACES);
    assert_int_equal(sum.bytes, bytes);
    assert_int_equal(sum.ticks, 3 * sum.calls);
    assert_true(sum.places > 2000 && sum.places < PLACES);
}

static void *in_thread(void *number)
{
    uintptr_t own = (uintptr_t)number;
    struct hop_mpi_message message = {.peer = (int)own % RANKS, .class = CLASS_POINT, .bytes = own};
    for (unsigned i = 0; i < 3000; i++) {
        count(CALL_MPI_Recv, i % 200 + 1, own);
        hop_counts_message(&message, 1);
    }
    return NULL;
}

static void run_threads(uintptr_t first, unsigned together)
{
    pthread_t threads[THREADS];
    for (uintptr_t t = 0; t < together; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, in_thread, (void *)(first + t)), 0);
    for (unsigned t = 0; t < together; t++)
        assert_int_equal(pthread_join(threads[t], NULL), 0);
}

/* Four at once, then one after the other: these go on in the places of those. */
static void threads_lose_nothing(void **state)
{
    (void)state;
    uint64_t before[CLASS_COUNT][SIZE_BINS] = {0}, after[CLASS_COUNT][SIZE_BINS] = {0};
    hop_counts_sizes(before);
    run_threads(1, THREADS);
    for (uintptr_t t = 0; t < 6; t++)
        run_threads(5 + t, 1);
    hop_counts_sizes(after);
    struct sum sum = sum_of(CALL_MPI_Recv);
    assert_int_equal(sum.calls, 10 * 3000);
    assert_int_equal(sum.bytes, 55 * 3000);
    assert_true(sum.places <= THREADS * 200);
    assert_int_equal(after[CLASS_POINT][1] - before[CLASS_POINT][1], 3000); /* of 1 byte, 2 to 3, 4 to 7, 8 to 10 */
    assert_int_equal(after[CLASS_POINT][2] - before[CLASS_POINT][2], 2 * 3000);
    assert_int_equal(after[CLASS_POINT][3] - before[CLASS_POINT][3], 4 * 3000);
    assert_int_equal(after[CLASS_POINT][4] - before[CLASS_POINT][4], 3 * 3000);
    assert_int_equal(hop_counts_peer(1)[CLASS_POINT].bytes[MEMORY_HOST], (1 + 8) * 3000);
    struct hop_mpi_sites own;
    hop_sites_own(&own, 1e-9);
    uint32_t places = 0;
    for (uint32_t i = 0; i < own.count; i++)
        places += own.items[i].call == CALL_MPI_Recv;
    assert_int_equal(places, 200);
    free(own.items);
}

/* Of 40,000 rows, which are put together on the way. */
static void ranks_are_summed_up(void **state)
{
    (void)state;
    enum { ROWS = 8000, KINDS = 50 };
    struct hop_mpi_sites all = {0};
    struct hop_mpi_site_sum *rows = calloc(ROWS, sizeof *rows);
    struct hop_mpi_sum wanted[KINDS] = {0};
    for (unsigned rank = 0; rank < 5; rank++) {
        for (unsigned i = 0; i < ROWS; i++) {
            unsigned kind = (i * 7 + rank) % KINDS;
            double seconds = (i + 1) * 0x1p-10 * (rank + 1);
            rows[i] = (struct hop_mpi_site_sum){
                .call = kind % 3, .sum = {.calls = i, .bytes = kind, .ranks = 1, seconds, seconds, seconds}};
            rows[i].place.offset = kind / 3;
            (void)snprintf(rows[i].place.module, sizeof rows[i].place.module, "module %u", kind % 2);
            wanted[kind].calls += i;
            wanted[kind].ranks++;
            wanted[kind].seconds += seconds;
            wanted[kind].least_s =
                wanted[kind].ranks == 1 || seconds < wanted[kind].least_s ? seconds : wanted[kind].least_s;
            wanted[kind].most_s = seconds > wanted[kind].most_s ? seconds : wanted[kind].most_s;
        }
        hop_sites_add(&all, rows, ROWS);
    }
    hop_sites_finish(&all);
    assert_false(all.failed);
    assert_int_equal(all.count, KINDS);
    for (uint32_t i = 0; i < all.count; i++) {
        const struct hop_mpi_sum *sum = &all.items[i].sum, *right = &wanted[sum->bytes / sum->ranks];
        assert_int_equal(sum->calls, right->calls);
        assert_int_equal(sum->ranks, right->ranks);
        assert_true(sum->seconds == right->seconds && sum->least_s == right->least_s && sum->most_s == right->most_s);
        assert_true(i == 0 || sum->seconds <= all.items[i - 1].sum.seconds);
    }
    free(all.items);
    free(rows);
}

/* A place is an offset in a file, by which its function is found again. */
static void a_place_is_told(void **state)
{
    (void)state;
    struct hop_mpi_place place;
    hop_site_describe((const char *)(uintptr_t)a_place_is_told + 5, &place);
    assert_non_null(strstr(place.module, "test_mpi"));
    assert_true(place.offset > 0);
    hop_site_describe(NULL, &place);
    assert_string_equal(place.module, "?");
    assert_false(hop_site_is_binding((const void *)(uintptr_t)a_place_is_told));
}

TEST_GROUP(counts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_beyond_the_table_are_counted_together),
        cmocka_unit_test(threads_lose_nothing),
        cmocka_unit_test(ranks_are_summed_up),
        cmocka_unit_test(a_place_is_told),
    };
    return RUN_TESTS(tests, begin, NULL);
}
