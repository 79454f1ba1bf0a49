/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups without a launcher: the group of one, what the environment asks for, and MPIs that misbehave
 * (tests/group/fake.c). Groups of several ranks are tested by tests/group/launch.sh.
 */
#include "base/clock.h"
#include "group/group.h"
#include "test.h"
#include "test_clock.h"

#include <dirent.h>
#include <math.h>
#include <unistd.h>

/* The call fails with that status, and its diagnostic says so with these words in it. */
#define REFUSED(code, words, call)                                                                                     \
    do {                                                                                                               \
        struct hop_diag diag_ = {0};                                                                                   \
        enum hop_status refused_ = (call);                                                                             \
        if (refused_ != (code) || diag_.status != refused_ || !strstr(diag_.what, words))                              \
            fail_msg("%s: status %d, diagnostic %d '%s' (%s)", #call, refused_, diag_.status, diag_.what,              \
                     diag_.expected);                                                                                  \
    } while (0)

#define ENDLESS_S 1e5 /* a test that waits so long is ended by ctest */

static const char *const variables[] = {
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK",
    "HOPCAST_MPI",          "HOPCAST_MPI_PATH",     "FAKE"};

/* As if no launcher had started this test. */
static int plain(void **state)
{
    (void)state;
    for (size_t i = 0; i < HOP_COUNT(variables); i++)
        (void)unsetenv(variables[i]);
    return 0;
}

static void set(const char *variable, const char *value)
{
    assert_int_equal(setenv(variable, value, 1), 0);
}

static void launched_by_openmpi(const char *size)
{
    set("OMPI_COMM_WORLD_RANK", "0");
    set("OMPI_COMM_WORLD_SIZE", size);
}

/* Under the MPI of tests/group/fake.c. */
static void started_by_fake(const char *mode)
{
    launched_by_openmpi("2");
    set("HOPCAST_MPI_PATH", TEST_SHIMS "/fake");
    set("FAKE", mode);
}

static struct hop_group *fake(const char *mode, double timeout_s)
{
    struct hop_group *group = NULL;
    const struct hop_group_options options = {.timeout_s = timeout_s};
    started_by_fake(mode);
    CHECK(hop_group_create(&options, &group, D));
    assert_int_equal(hop_group_size(group), 2);
    assert_string_equal(hop_group_carrier(group), "openmpi");
    return group;
}

static unsigned threads(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    (void)closedir(folder);
    return count;
}

static bool mpi_is_loaded(void)
{
    struct hop_source maps;
    assert_int_equal(hop_source_load("/proc/self/maps", &maps, NULL), HOP_OK);
    bool loaded = strstr(maps.text, "/libmpi") || strstr(maps.text, "/libmpich") || strstr(maps.text, "/hopcast-");
    hop_source_finish(&maps);
    return loaded;
}

/* ---- the group of one ---- */

static void check_group_of_one(void)
{
    struct hop_group *group = NULL;
    struct hop_group_message message;
    unsigned before = threads();
    CHECK(hop_group_create(NULL, &group, D));
    assert_int_equal(hop_group_rank(group), 0);
    assert_int_equal(hop_group_size(group), 1);
    assert_string_equal(hop_group_carrier(group), "none");
    assert_int_equal(threads(), before);
    CHECK(hop_group_send(group, 0, 7, "seven", 5, D));
    CHECK(hop_group_send(group, 0, HOP_GROUP_TAG_MAX, NULL, 0, D));
    assert_true(hop_group_receive(group, 0, &message));
    assert_int_equal(message.from, 0);
    assert_int_equal(message.tag, 7);
    assert_int_equal(message.size_bytes, 5);
    assert_string_equal(message.bytes, "seven");
    free(message.bytes);
    assert_true(hop_group_receive(group, 10, &message));
    assert_int_equal(message.tag, HOP_GROUP_TAG_MAX);
    assert_int_equal(message.size_bytes, 0);
    assert_non_null(message.bytes);
    free(message.bytes);
    assert_false(hop_group_receive(group, 0, &message));
    CHECK(hop_group_barrier(group, D));
    assert_int_equal(hop_group_lost(group, NULL), -1);
    CHECK(hop_group_send(group, 0, 1, "dropped", 7, D));
    CHECK(hop_group_finish(group, D));
    hop_group_leave(group);
    hop_group_destroy(group);
    assert_false(mpi_is_loaded());
}

static void a_plain_start_is_a_group_of_one_without_mpi(void **state)
{
    (void)state;
    set("HOPCAST_MPI_PATH", "/nonexistent");
    check_group_of_one();
    hop_group_destroy(NULL);
}

static void one_launched_rank_is_a_group_of_one_without_mpi(void **state)
{
    (void)state;
    set("HOPCAST_MPI_PATH", "/nonexistent");
    launched_by_openmpi("1");
    check_group_of_one();
    (void)plain(NULL);
    set("HOPCAST_MPI_PATH", "/nonexistent");
    set("PMI_RANK", "0");
    set("PMI_SIZE", "1");
    check_group_of_one();
}

static void none_overrules_the_launcher(void **state)
{
    (void)state;
    set("HOPCAST_MPI_PATH", "/nonexistent");
    set("HOPCAST_MPI", "none");
    launched_by_openmpi("4");
    check_group_of_one();
}

static void messages_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct hop_group *group = NULL;
    struct hop_group_message message;
    CHECK(hop_group_create(NULL, &group, D));
    REFUSED(HOP_ERR_INVALID, "rank 1", hop_group_send(group, 1, 0, "x", 1, &diag_));
    REFUSED(HOP_ERR_INVALID, "rank -1", hop_group_send(group, -1, 0, "x", 1, &diag_));
    REFUSED(HOP_ERR_INVALID, "tag", hop_group_send(group, 0, -1, "x", 1, &diag_));
    REFUSED(HOP_ERR_INVALID, "tag", hop_group_send(group, 0, HOP_GROUP_TAG_MAX + 1, "x", 1, &diag_));
    REFUSED(HOP_ERR_LIMIT, "1 GiB", hop_group_send(group, 0, 0, "x", HOP_GROUP_MESSAGE_BYTES_MAX + 1, &diag_));
    CHECK(hop_group_send(group, 0, 1, "a", 1, D));
    group->inbox.bytes = HOP_GROUP_WAITING_BYTES_MAX; /* as if a message that large waited */
    REFUSED(HOP_ERR_LIMIT, "wait", hop_group_send(group, 0, 2, "b", 1, &diag_));
    group->inbox.bytes = 1;
    CHECK(hop_group_send(group, 0, 3, "c", 1, D));
    for (int tag = 1; tag <= 3; tag += 2) {
        assert_true(hop_group_receive(group, 0, &message));
        assert_int_equal(message.tag, tag);
        free(message.bytes);
    }
    assert_false(hop_group_receive(group, 0, &message));
    hop_group_destroy(group);
}

static void waiting_for_nothing_takes_its_time_unless_stopped(void **state)
{
    (void)state;
    volatile sig_atomic_t stop = 0;
    const struct hop_group_options options = {.stop = &stop};
    struct hop_group *group = NULL;
    struct hop_group_message message;
    CHECK(hop_group_create(&options, &group, D));
    double start_s = hop_now_s();
    assert_false(hop_group_receive(group, 0.2, &message));
    assert_true(hop_now_s() - start_s >= 0.2);
    stop = 1;
    assert_false(hop_group_receive(group, ENDLESS_S, &message));
    hop_group_destroy(group);
}

static void a_timeout_is_a_time(void **state)
{
    (void)state;
    struct hop_group *group = NULL;
    const double bad[] = {-1.0, INFINITY, NAN};
    for (size_t i = 0; i < HOP_COUNT(bad); i++) {
        const struct hop_group_options options = {.timeout_s = bad[i]};
        REFUSED(HOP_ERR_INVALID, "timeout", hop_group_create(&options, &group, &diag_));
    }
    assert_null(group);
}

/* ---- what the environment asks for ---- */

static void check_missing(const char *title, const char *shim, const char *package)
{
    struct hop_group *group = NULL;
    struct hop_diag diag = {0};
    set("HOPCAST_MPI_PATH", "/nonexistent");
    assert_int_equal(hop_group_create(NULL, &group, &diag), HOP_ERR_UNSUPPORTED);
    assert_null(group);
    assert_non_null(strstr(diag.what, title));
    assert_non_null(strstr(diag.what, shim));
    assert_non_null(strstr(diag.what, "/nonexistent"));
    assert_non_null(strstr(diag.expected, package));
    assert_false(mpi_is_loaded());
}

static void a_missing_shim_is_named_with_what_to_install(void **state)
{
    launched_by_openmpi("4");
    check_missing("Open MPI", "hopcast-openmpi.so", "libopenmpi-dev");
    (void)plain(state);
    set("PMI_RANK", "3");
    set("PMI_SIZE", "4");
    check_missing("MPICH", "hopcast-mpich.so", "libmpich-dev");
    (void)plain(state);
    set("PMIX_RANK", "0");
    check_missing("Open MPI", "hopcast-openmpi.so", "libopenmpi-dev");
    set("HOPCAST_MPI", "mpich");
    check_missing("HOPCAST_MPI", "hopcast-mpich.so", "libmpich-dev");
}

static void an_unknown_mpi_is_refused(void **state)
{
    (void)state;
    struct hop_group *group = NULL;
    set("HOPCAST_MPI", "lam");
    REFUSED(HOP_ERR_INVALID, "lam", hop_group_create(NULL, &group, &diag_));
}

static void a_shim_of_another_version_is_refused(void **state)
{
    (void)state;
    struct hop_group *group = NULL;
    launched_by_openmpi("2");
    set("HOPCAST_MPI_PATH", TEST_SHIMS "/old");
    REFUSED(HOP_ERR_UNSUPPORTED, "another version", hop_group_create(NULL, &group, &diag_));
}

static void a_shim_that_does_not_load_is_named(void **state)
{
    (void)state;
    char folder[] = "/tmp/hop_group_XXXXXX", path[64];
    struct hop_group *group = NULL;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/hopcast-openmpi.so", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("no library\n", file);
    assert_int_equal(fclose(file), 0);
    launched_by_openmpi("2");
    set("HOPCAST_MPI_PATH", folder);
    REFUSED(HOP_ERR_UNSUPPORTED, path, hop_group_create(NULL, &group, &diag_));
    (void)unlink(path);
    (void)rmdir(folder);
}

/* ---- MPIs that misbehave ---- */

static void an_mpi_that_fails_to_start_is_quoted(void **state)
{
    (void)state;
    struct hop_group *group = NULL;
    launched_by_openmpi("2");
    set("HOPCAST_MPI_PATH", TEST_SHIMS "/fake");
    set("FAKE", "refuse");
    REFUSED(HOP_ERR_IO, "fake error 11", hop_group_create(NULL, &group, &diag_));
    assert_null(group);
}

static void the_launcher_of_another_mpi_is_noticed(void **state)
{
    (void)state;
    struct hop_group *group = NULL;
    launched_by_openmpi("4");
    set("HOPCAST_MPI_PATH", TEST_SHIMS "/fake");
    set("FAKE", "alone");
    REFUSED(HOP_ERR_INVALID, "4 ranks, but openmpi sees 1", hop_group_create(NULL, &group, &diag_));
}

static int wait_for_loss(struct hop_group *group, struct hop_diag *diag)
{
    int lost = -1;
    while (lost < 0) {
        (void)usleep(10000);
        lost = hop_group_lost(group, diag);
    }
    return lost;
}

#define CUT_OFF "has not come back"

/* Under the fake's mode a rank is said to be lost, after min_s at least, and why. Then nothing waits any more. */
static int find_loss(const char *mode, double timeout_s, double min_s, struct hop_diag *loss)
{
    struct hop_group_message message;
    double start_s = hop_now_s();
    struct hop_group *group = fake(mode, timeout_s);
    (void)hop_group_send(group, 1, 0, "hello", 5, NULL);
    int lost = wait_for_loss(group, loss);
    double took_s = hop_now_s() - start_s;
    if (took_s < min_s)
        fail_msg("%s: rank %d is lost after %g s: %s", mode, lost, took_s, loss->what);
    assert_int_equal(loss->status, lost == 0 ? HOP_ERR_IO : HOP_ERR_LOST); /* 0 is this process */
    REFUSED(loss->status, loss->what, hop_group_barrier(group, &diag_));
    REFUSED(loss->status, loss->what, hop_group_finish(group, &diag_));
    assert_false(hop_group_receive(group, ENDLESS_S, &message));
    hop_group_leave(group);
    hop_group_destroy(group);
    return lost;
}

static void check_loss(const char *mode, double timeout_s, double min_s, int rank, const char *why)
{
    struct hop_diag loss = {0};
    int lost = find_loss(mode, timeout_s, min_s, &loss);
    if (lost != rank || !strstr(loss.what, why))
        fail_msg("%s: rank %d is lost: %s", mode, lost, loss.what);
}

/* A busy machine may keep our own carrier waiting for a short timeout, which is a loss, too: then a longer one. */
static void check_silence(double timeout_s)
{
    struct hop_diag loss = {0};
    char why[64];
    int lost = find_loss("silent", timeout_s, 0.99 * timeout_s, &loss);
    if (lost == 0 && strstr(loss.what, CUT_OFF) && timeout_s < 60) {
        check_silence(2 * timeout_s);
        return;
    }
    (void)snprintf(why, sizeof why, "rank 1 was not heard of for %g s", timeout_s);
    if (lost != 1 || !strstr(loss.what, why))
        fail_msg("rank %d is lost: %s", lost, loss.what);
}

static void a_silent_rank_is_lost_after_the_timeout(void **state)
{
    (void)state;
    check_silence(0.5);
    check_silence(2.0);
}

static void a_broken_connection_is_a_loss(void **state)
{
    (void)state;
    check_loss("broken", ENDLESS_S, 0, 1, "the connection to rank 1 broke");
}

static void an_mpi_that_fails_cuts_the_own_rank_off(void **state)
{
    (void)state;
    check_loss("failed", ENDLESS_S, 0, 0, "fake error 13");
}

static void an_mpi_that_never_returns_keeps_nobody(void **state)
{
    (void)state;
    check_loss("hang", 1.0, 0.99, 0, CUT_OFF);
}

static void a_start_that_never_ends_keeps_nobody(void **state)
{
    (void)state;
    volatile sig_atomic_t stop = 0;
    struct hop_group_options options = {.timeout_s = ENDLESS_S, .stop = &stop, .start_s = 0.2};
    struct hop_group *group;
    started_by_fake("stuck");
    REFUSED(HOP_ERR_LOST, "rank 0: openmpi has not started for 0.2 s", hop_group_create(&options, &group, &diag_));
    stop = 1;
    options.start_s = 0; /* the timeout */
    REFUSED(HOP_ERR_STOPPED, "rank 0 was stopped", hop_group_create(&options, &group, &diag_));
}

static void a_set_stop_ends_every_wait(void **state)
{
    (void)state;
    volatile sig_atomic_t stop = 0;
    struct hop_group *group = fake("silent", ENDLESS_S);
    group->stop = &stop;
    stop = 1;
    REFUSED(HOP_ERR_STOPPED, "stopped", hop_group_barrier(group, &diag_));
    REFUSED(HOP_ERR_STOPPED, "stopped", hop_group_finish(group, &diag_));
    hop_group_destroy(group); /* and leaves */
}

TEST_GROUP(group)
{
#define TEST(name) cmocka_unit_test_setup(name, plain)
    const struct CMUnitTest tests[] = {
        TEST(a_plain_start_is_a_group_of_one_without_mpi),
        TEST(one_launched_rank_is_a_group_of_one_without_mpi),
        TEST(none_overrules_the_launcher),
        TEST(messages_that_cannot_be_are_refused),
        TEST(waiting_for_nothing_takes_its_time_unless_stopped),
        TEST(a_timeout_is_a_time),
        TEST(a_missing_shim_is_named_with_what_to_install),
        TEST(an_unknown_mpi_is_refused),
        TEST(a_shim_of_another_version_is_refused),
        TEST(a_shim_that_does_not_load_is_named),
        TEST(an_mpi_that_fails_to_start_is_quoted),
        TEST(the_launcher_of_another_mpi_is_noticed),
        TEST(a_silent_rank_is_lost_after_the_timeout),
        TEST(a_broken_connection_is_a_loss),
        TEST(an_mpi_that_fails_cuts_the_own_rank_off),
        TEST(an_mpi_that_never_returns_keeps_nobody),
        TEST(a_start_that_never_ends_keeps_nobody),
        TEST(a_set_stop_ends_every_wait),
    };
    start_test_clock();
    return RUN_TESTS(tests, NULL, NULL);
}
