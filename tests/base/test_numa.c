/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/base.h"
#include "base/numa.h"
#include "test.h"

static void a_pci_address_is_the_same_however_it_is_written(void **state)
{
    static const char *const same[] = {"0000:1b:00.0", "1B:00.0", "00000000:1b:00", "1b:0", "0:1B:0.0"};
    static const char *const none[] = {
        "", "1b", "1b:", ":1b", "1b:20.0", "100:00.0", "1b:00.8", "0000:1b:00.0:1", "gpu0", "1b:00.0x"};
    (void)state;
    for (size_t i = 0; i < HOP_COUNT(same); i++)
        assert_int_equal(hop_pci_address(same[i]), 0x1b00);
    for (size_t i = 0; i < HOP_COUNT(none); i++)
        assert_true(hop_pci_address(none[i]) == UINT64_MAX);
    assert_true(hop_pci_address(NULL) == UINT64_MAX);
    assert_true(hop_pci_address("0001:00:00.0") > hop_pci_address("0000:ff:1f.7")); /* in their order */
    assert_int_equal(hop_pci_address("10000:e1:02.5"), 0x10000e115);
}

static void a_list_of_processors_is_a_set(void **state)
{
    cpu_set_t set;
    (void)state;
    assert_true(hop_numa_list("0-3,8,1020-5000\n", &set));
    assert_int_equal(CPU_COUNT(&set), 9);
    assert_true(CPU_ISSET(8, &set) && CPU_ISSET(1023, &set) && !CPU_ISSET(4, &set));
    assert_false(hop_numa_list("", &set) || hop_numa_list("3-1", &set) || hop_numa_list("1,x", &set));
}

/* Node 0 there is on every machine that has nodes; on one without it nothing changes. */
static void a_thread_that_is_bound_and_released_is_as_it_was(void **state)
{
    cpu_set_t before, bound, after;
    struct hop_numa_binding binding;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    hop_numa_bind(0, &binding);
    assert_int_equal(sched_getaffinity(0, sizeof bound, &bound), 0);
    CPU_AND(&after, &bound, &before);
    assert_true(CPU_EQUAL(&after, &bound) && CPU_COUNT(&bound) > 0); /* where it may run anyhow */
    hop_numa_release(&binding);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&after, &before));
    hop_numa_bind(1023, &binding); /* there is none */
    hop_numa_bind(-1, &binding);
    assert_false(binding.bound || binding.preferred);
    assert_int_equal(hop_numa_of_pci(0xfffffff8), -1);
}

TEST_GROUP(numa)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pci_address_is_the_same_however_it_is_written),
        cmocka_unit_test(a_list_of_processors_is_a_set),
        cmocka_unit_test(a_thread_that_is_bound_and_released_is_as_it_was),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
