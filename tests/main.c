/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the groups of tests that it is linked with, one after another.
 *
 *     test_ROOM [--list] [GROUP] [PATTERN]
 *
 * PATTERN is a test's name, as the shell matches names. Exit status: 0 all passed, 1 not, 2 nothing has that name, 77
 * the group was skipped.
 */
#include "test.h"

#include <fnmatch.h>

enum { SKIPPED = 77 };

static struct test_group *groups;
static const char *pattern = "*";
static bool listing;
static size_t chosen;

void test_register(struct test_group *group)
{
    struct test_group **at = &groups;
    while (*at && strcmp((*at)->name, group->name) < 0)
        at = &(*at)->next;
    group->next = *at;
    *at = group;
}

int test_run(const char *group, const struct CMUnitTest *tests, size_t count, CMFixtureFunction set_up,
             CMFixtureFunction tear_down)
{
    struct CMUnitTest *some = calloc(count, sizeof *some);
    size_t matching = 0;
    int failed = 0;
    for (size_t i = 0; some && i < count; i++) {
        if (fnmatch(pattern, tests[i].name, 0) == 0)
            some[matching++] = tests[i];
    }
    chosen += matching;
    for (size_t i = 0; listing && i < matching; i++)
        printf("%s %s\n", group, some[i].name);
    if (!listing && matching > 0)
        failed = _cmocka_run_group_tests(group, some, matching, set_up, tear_down);
    free(some);
    return failed;
}

static const struct test_group *find(const char *name)
{
    const struct test_group *group = groups;
    while (group && strcmp(group->name, name) != 0)
        group = group->next;
    return group;
}

int main(int argc, char **argv)
{
    listing = argc > 1 && strcmp(argv[1], "--list") == 0;
    char **argument = argv + 1 + listing;
    const struct test_group *one = *argument ? find(*argument) : NULL;
    argument += one != NULL;
    if (*argument)
        pattern = *argument++;
    int failed = 0, skipped = 0;
    for (const struct test_group *group = one ? one : groups; group && !*argument; group = one ? NULL : group->next) {
        int result = group->run();
        skipped += result == SKIPPED;
        failed |= result != 0 && result != SKIPPED;
    }
    if (chosen == 0 && skipped == 0) {
        fprintf(stderr, "usage: %s [--list] [GROUP] [PATTERN]\nNo group and no test is called so.\n", argv[0]);
        return 2;
    }
    return failed ? 1 : one && skipped ? SKIPPED : 0;
}
