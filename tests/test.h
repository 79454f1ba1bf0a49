/* SPDX-License-Identifier: BSD-3-Clause */
/* What several tests share: what cmocka needs, calls that must succeed, topologies that must load, looking at them. */
#ifndef HOP_TEST_H
#define HOP_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hopcast/topology.h"

#define OWN_TOPOLOGIES TEST_SOURCE_DIR "/data/topologies/"
/* Public files that are no part of the project: present on some machines only. */
#define PUBLIC_TOPOLOGIES TEST_SOURCE_DIR "/../shared/topologies/"

/* Under AddressSanitizer all is several times as slow, and memory is touched in the same ways by fewer repetitions. */
#ifdef __SANITIZE_ADDRESS__
#define REPEATED(normally, sanitized) (sanitized)
#else
#define REPEATED(normally, sanitized) (normally)
#endif

/* The long form belongs to `make soak`. */
static inline unsigned soaked(unsigned long_form, unsigned short_form)
{
    return getenv("HOPCAST_SOAK") ? long_form : short_form;
}

/*
 * A file's tests are a group, named like the file, of its room's program (main.c):
 *
 *     TEST_GROUP(placement)                                  tests/schedule/test_placement.c
 *     {
 *         const struct CMUnitTest tests[] = {cmocka_unit_test(errors_have_a_place), ...};
 *         return RUN_TESTS(tests, set_up, tear_down);        or 77: skipped
 *     }
 */
struct test_group {
    const char *name;
    int (*run)(void);
    struct test_group *next;
};
void test_register(struct test_group *group);
int test_run(const char *group, const struct CMUnitTest *tests, size_t count, CMFixtureFunction set_up,
             CMFixtureFunction tear_down);
#define TEST_GROUP(group_name)                                                                                         \
    static int run_group(void);                                                                                        \
    static struct test_group test_group_ = {#group_name, run_group, NULL};                                             \
    __attribute__((constructor)) static void register_group(void)                                                      \
    {                                                                                                                  \
        test_register(&test_group_);                                                                                   \
    }                                                                                                                  \
    static int run_group(void)
#define RUN_TESTS(tests, set_up, tear_down)                                                                            \
    test_run(test_group_.name, (tests), sizeof(tests) / sizeof *(tests), (set_up), (tear_down))

/* The call, whose diagnostic is D, must succeed. */
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        struct hop_diag diag_ = {0};                                                                                   \
        enum hop_status status_ = (call);                                                                              \
        if (status_ != HOP_OK)                                                                                         \
            fail_msg("%s: %s: %s (%s)", #call, diag_.place, diag_.what, diag_.expected);                               \
    } while (0)
#define D (&diag_)

static inline void skip_without_public_topologies(void)
{
    if (access(PUBLIC_TOPOLOGIES, R_OK) != 0) {
        print_message("skipped: there is no folder ../shared/topologies\n");
        skip();
    }
}

/* A built-in machine or a file. */
static inline struct hop_topology *load_topology(const char *source)
{
    struct hop_topology *topology = NULL;
    CHECK(hop_topology_load(source, &topology, D));
    return topology;
}

/* name stands for the file in diagnostics. */
static inline struct hop_topology *parse_topology(const char *name, const char *text)
{
    struct hop_topology *topology = NULL;
    struct hop_diag diag = {0};
    if (hop_topology_parse(name, text, strlen(text), &topology, &diag) != HOP_OK)
        fail_msg("%s: %s (%s)\n%s", diag.place, diag.what, diag.expected, text);
    return topology;
}

static inline uint32_t find_node(const struct hop_topology *topology, const char *name)
{
    uint32_t node = hop_topology_find(topology, name);
    if (node == HOP_NONE)
        fail_msg("there is no %s in %s", name, hop_topology_name(topology));
    return node;
}

static inline uint32_t count_kind(const struct hop_topology *topology, enum hop_node_kind kind)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++)
        count += hop_topology_node(topology, n)->kind == kind;
    return count;
}

static inline bool has_note(const struct hop_topology *topology, const char *part)
{
    for (size_t i = 0; hop_topology_note(topology, i); i++) {
        if (strstr(hop_topology_note(topology, i), part))
            return true;
    }
    return false;
}

/* xorshift64 with a fixed seed: every run draws the same numbers. A test that restarts it draws the same numbers
 * whatever was drawn before it. */
#define RANDOM_SEED UINT64_C(88172645463325252)
static uint64_t random_state_ = RANDOM_SEED;

static inline void random_restart(void)
{
    random_state_ = RANDOM_SEED;
}

static inline uint32_t random_below(uint32_t limit)
{
    random_state_ ^= random_state_ << 13;
    random_state_ ^= random_state_ >> 7;
    random_state_ ^= random_state_ << 17;
    return (uint32_t)(random_state_ >> 33) % limit;
}

#endif
