/* SPDX-License-Identifier: BSD-3-Clause */
/* How sure a fit is of its values and predictions: ranges, what links inherit, and no prediction worse than before. */
#include "calibrate/fit_test.h"

#include <unistd.h>

/* ---- ranges ---- */

/* Of many machines, each measured once with noise, the share whose true values lie within their ranges; and those of a
 * machine whose rows went one way: links that no row took have the values of those that rows took. */
static void nine_of_ten_truths_lie_in_their_ranges(void **unused)
{
    static struct text rows, measured;
    unsigned inside = 0, values = 0, rounds = REPEATED(60u, 12u);
    (void)unused;
    for (unsigned round = 0; round < rounds; round++) {
        struct hop_topology *truth = build(&two_switches, false), *nominal = build(&two_switches, false);
        double pcie = between(1.2e10, 5e10), tau = between(0.05, 0.3);
        char text[64];
        set_capacities(truth, HOP_LINK_PCIE, pcie);
        (void)snprintf(text, sizeof text, "tau=%.17g", tau);
        set(truth, text);
        rows.size = 0;
        put(&rows, HEADER);
        put_peers(&rows, 4);
        measure(truth, &rows, 0.01, &measured);
        struct found f = fit(&measured, nominal, 0);
        const struct hop_fit_parameter *c = parameter(f.result, "capacity of PCIe links"),
                                       *t = parameter(f.result, "tau of crossings");
        assert_true(c->low <= c->value && c->value <= c->high && c->high - c->low < 0.05 * c->value);
        inside += (c->low <= pcie && pcie <= c->high) + (t->low <= tau && tau <= t->high);
        values += 2;
        finish(f);
        hop_topology_destroy(truth);
        hop_topology_destroy(nominal);
    }
    print_message("%u of %u true values in their ranges\n", inside, values);
    assert_true(inside >= 0.78 * values); /* 0.9, less what so few can scatter */
}

/* What was held out lies in its range nine times out of ten, which is no wider than the noise makes it; and the machine file keeps
 * what remained. */
static void what_was_held_out_lies_in_its_range(void **unused)
{
    static struct text rows, measured;
    struct hop_topology *truth = build(&two_sockets, false), *nominal = build(&two_sockets, false);
    (void)unused;
    set_capacities(truth, HOP_LINK_PCIE, 2e10);
    rows.size = 0;
    put(&rows, HEADER);
    put_peers(&rows, gpus_of(&two_sockets));
    measure(truth, &rows, 0.03, &measured);
    struct found f = fit(&measured, nominal, REPEATED(5, 2));
    const struct hop_compare_summary *held = &f.result->comparison->candidates[2];
    const struct hop_parameter *error = hop_topology_parameter(f.result->topology, "model_error_alone");
    print_message("%u of %u in range, %.3f wide\n", held->in_range, held->ranges, held->wide);
    assert_true(held->ranges > 20 && held->in_range >= 0.8 * held->ranges);
    assert_true(held->wide > 1.04 && held->wide < 1.25); /* noise is even, from -3 to 3 % or 3 % deviation */
    assert_true(error->low > 0.88 && error->low < 0.99 && error->high > 1.01 && error->high < 1.12);
    assert_string_equal(error->origin, "calibrated");
    finish(f);
    f = fit(&measured, nominal, 0); /* its own errors */
    assert_true(hop_topology_parameter(f.result->topology, "model_error_alone")->high > 1.01);
    finish(f);
    hop_topology_destroy(truth);
    hop_topology_destroy(nominal);
}

static void links_that_were_not_measured_inherit(void **unused)
{
    struct text rows = {.size = 0}, measured;
    struct hop_topology *truth = build(&two_switches, false), *nominal = build(&two_switches, false);
    (void)unused;
    set_capacities(truth, HOP_LINK_PCIE, 2e10);
    put(&rows, HEADER);
    put_move(&rows, "a", 0, 1); /* lone copies below one switch, one way */
    put_move(&rows, "b", 0, 2);
    measure(truth, &rows, 0, &measured);
    struct found f = fit(&measured, nominal, 0);
    const struct hop_fit_parameter *c = parameter(f.result, "capacity of PCIe links");
    uint32_t inherited = 0;
    for (uint32_t l = 0; l < hop_topology_link_count(f.result->topology); l++) {
        const struct hop_link *link = hop_topology_link(f.result->topology, l);
        for (unsigned d = 0; d < 2 && link->kind == HOP_LINK_PCIE; d++) {
            inherited += link->inherited[d];
            assert_true(fabs(link->capacity_Bps[d] / c->value - 1) < 1e-9);
            assert_true(link->low_Bps[d] <= link->capacity_Bps[d] && link->capacity_Bps[d] <= link->high_Bps[d]);
        }
    }
    for (uint32_t l = 0; l < hop_topology_link_count(f.result->topology); l++) {
        const struct hop_link *link = hop_topology_link(f.result->topology, l);
        for (unsigned d = 0; d < 2 && link->inherited[d]; d++) /* less sure than what was measured */
            assert_true(link->low_Bps[d] < 0.92 * c->low && link->high_Bps[d] > 1.09 * c->high);
    }
    assert_int_equal(c->place_count, 12);
    assert_int_equal(c->inherited_count,
                     12 - 5); /* two out, two in, and up and down between the switches: one of each */
    assert_int_equal(inherited, c->inherited_count);
    char *json = hop_topology_to_json(f.result->topology);
    struct hop_topology *again = NULL;
    CHECK(hop_topology_parse("again", json, strlen(json), &again, D));
    for (uint32_t l = 0; l < hop_topology_link_count(again); l++) {
        const struct hop_link *a = hop_topology_link(again, l), *b = hop_topology_link(f.result->topology, l);
        assert_true(a->inherited[0] == b->inherited[0] && a->inherited[1] == b->inherited[1]);
        assert_true(fabs(a->low_Bps[0] - b->low_Bps[0]) <= 1e-9 * b->low_Bps[0]);
    }
    free(json);
    hop_topology_destroy(again);
    finish(f);
    hop_topology_destroy(truth);
    hop_topology_destroy(nominal);
}

/* Copies fill the memory of one node by writing, those of all others cross it alone: the others have the limit, too, inherited, with a
 * range from half of it to what was given; where all was filled, none is inherited. */
static void a_limit_is_measured_where_rows_fill_it(void **unused)
{
    static struct text rows, measured;
    static const struct plan wide = {2, 4, 1, false, false, false};
    (void)unused;
    for (unsigned all = 0; all < 2; all++) {
        struct hop_topology *truth = build(&wide, false), *nominal = build(&wide, false);
        set_capacities(truth, HOP_LINK_PCIE, 2e10);
        set_capacities(truth, HOP_LINK_MEMORY, 5e10);
        set(truth, "tau=0");
        rows.size = 0;
        put(&rows, HEADER);
        for (unsigned g = 0; g < 8; g++) {
            put(&rows, "gpu%u,host%u,1000000000,to%u,1,\nhost%u,gpu%u,1000000000,from%u,1,\n", g, g / 4, g, g / 4, g,
                g);
            for (unsigned most = 2; most < 4 && (all || g < 4); most++) {
                if (g % 4 > most)
                    continue;
                put(&rows, "gpu%u,host%u,1000000000,%uto%u,1,\n", g, g / 4, most + 1, g / 4);
                if (all)
                    put(&rows, "host%u,gpu%u,1000000000,%ufrom%u,1,\n", g / 4, g, most + 1, g / 4);
            }
        }
        measure(truth, &rows, 0.002, &measured);
        struct found f = fit(&measured, nominal, 0);
        const struct hop_topology *t = f.result->topology;
        const struct hop_parameter *shared = hop_topology_parameter(t, "host_memory");
        uint32_t limited = 0, inherited = 0, told = 0;
        for (uint32_t l = 0; l < hop_topology_link_count(t); l++) {
            const struct hop_link *link = hop_topology_link(t, l);
            bool first = strcmp(hop_topology_node(t, link->ends[0])->name, "host0") == 0;
            for (unsigned d = 0; d < 2 && link->kind == HOP_LINK_MEMORY; d++) {
                if (link->capacity_Bps[d] == 1e12) /* as it was given */
                    continue;
                limited++;
                inherited += link->inherited[d];
                assert_true(fabs(link->capacity_Bps[d] / 5e10 - 1) < 0.03);
                assert_true(link->inherited[d] == !(all || (first && d == 1)));
                if (link->inherited[d])
                    assert_true(link->low_Bps[d] < 2.6e10 && link->high_Bps[d] >= 1e12);
                else /* where all have it, it is their parameter's */
                    assert_true((all ? shared->low : link->low_Bps[d]) > 4.5e10 &&
                                (all ? shared->high : link->high_Bps[d]) < 5.5e10);
            }
        }
        for (uint32_t i = 0; i < f.result->parameter_count; i++)
            told += strstr(f.result->parameters[i].name, "memory") ? f.result->parameters[i].inherited_count : 0;
        assert_true(limited >= 1 && told == inherited && (all ? limited == 4 : inherited > 0));
        finish(f);
        hop_topology_destroy(truth);
        hop_topology_destroy(nominal);
    }
}

/* ---- how sure ---- */

static void values_are_as_near_as_they_claim(void **unused)
{
    (void)unused;
    enum { REPEATS = REPEATED(50, 5) };
    static struct text rows, measured;
    struct hop_topology *truth = build(&two_switches, false), *nominal = build(&two_switches, false);
    unsigned near_pcie = 0, near_tau = 0;
    set_capacities(truth, HOP_LINK_PCIE, 2.5e10);
    set(truth, "tau=0.1");
    rows.size = 0;
    put(&rows, HEADER);
    put_peers(&rows, 4);
    for (unsigned i = 0; i < REPEATS; i++) {
        measure(truth, &rows, 0.01, &measured);
        struct found f = fit(&measured, nominal, 0);
        const struct hop_fit_parameter *pcie = parameter(f.result, "capacity of PCIe links");
        const struct hop_fit_parameter *tau = parameter(f.result, "tau of crossings");
        near_pcie += fabs(pcie->value - 2.5e10) <= 3 * pcie->uncertainty;
        near_tau += fabs(tau->value - 0.1) <= 3 * tau->uncertainty;
        assert_true(pcie->uncertainty < 0.02 * pcie->value && tau->uncertainty < 0.02); /* not by claiming nothing */
        assert_true(pcie->group_count > 0 && pcie->named_count > 0 && pcie->place_count == 12);
        finish(f);
    }
    if (near_pcie < REPEATS * 9 / 10 || near_tau < REPEATS * 9 / 10)
        fail_msg("PCIe %u, tau %u of %u", near_pcie, near_tau, REPEATS);
    hop_topology_destroy(truth);
    hop_topology_destroy(nominal);
}

/* ---- no worse than before ---- */

/* How far a group lies off, as a logarithm of what was measured over what is predicted. */
static double off(const struct hop_compare_range *range)
{
    return log(range->reference_s / range->value_s);
}

/* No group is predicted worse than on the topology that the fit began with by more than its range is wide, unless that was far off. */
static void must_not_spoil(const struct found *f, const struct hop_topology *given)
{
    const struct hop_compare_options options = {.ranges = true};
    struct hop_comparison *before, *now;
    CHECK(hop_compare_models(f->measurements, given, (const char *const[]){"server"}, 1, &options, &before, D));
    CHECK(hop_compare_models(f->measurements, f->result->topology, (const char *const[]){"server"}, 1, &options, &now,
                             D));
    for (uint32_t g = 0; g < now->group_count; g++) {
        const struct hop_compare_range *b = before->groups[g].ranges, *n = now->groups[g].ranges;
        double wide = off(n) > 0 ? log(n->high_s / n->value_s) : log(n->value_s / n->low_s);
        if (!isnan(b->value_s) && !now->groups[g].collapse && fabs(off(b)) < 0.5 &&
            fabs(off(n)) > fabs(off(b)) + wide * 1.000001)
            fail_msg("%s: %.3f off, %.3f before, range %.3f", now->groups[g].name, off(n), off(b), wide);
    }
    hop_comparison_destroy(before);
    hop_comparison_destroy(now);
}

/* All copies are slower than the topology says, and one that is measured again is just as fast as that: what the fit made worse is
 * among what it says it may be off by, rare as it is. */
static void no_fit_predicts_worse_than_none(void **unused)
{
    static struct text rows, measured;
    (void)unused;
    for (unsigned folds = 0; folds <= 4; folds += 4) {
        struct hop_topology *truth = build(&two_switches, false), *nominal = build(&two_switches, false);
        set_capacities(truth, HOP_LINK_PCIE, 2.5e10);
        rows.size = 0;
        put(&rows, HEADER);
        put_peers(&rows, 4);
        put_hosts(&rows, 4);
        measure(truth, &rows, 0.01, &measured);
        put(&measured, "gpu0,gpu1,1000000000,again,32,\n");
        struct found f = fit(&measured, nominal, folds);
        must_not_spoil(&f, nominal);
        assert_true(hop_topology_parameter(f.result->topology, "model_error_alone")->low < 0.85);
        finish(f);
        hop_topology_destroy(truth);
        hop_topology_destroy(nominal);
    }
}

#define SHARED TEST_SOURCE_DIR "/../shared/"

static void no_fit_to_public_measurements_predicts_worse_than_none(void **unused)
{
    static const char *const machines[][2] = {
        {"aurora-6pvc-node", TEST_SOURCE_DIR "/data/accuracy/aurora-6pvc-node.json"},
        {"host-duplex-single-gpu", TEST_SOURCE_DIR "/data/accuracy/host-duplex-single-gpu.json"},
        {"hacc-4host-cx5-100g-leaf", TEST_SOURCE_DIR "/data/accuracy/hacc-4host-cx5-100g-leaf.json"},
        {"h800-8gpu-nvbandwidth", SHARED "topologies/smi-8x-h100-sxm-no-nic.txt"}};
    (void)unused;
    for (size_t i = 0; i < REPEATED(sizeof machines / sizeof *machines, 2); i++) {
        char path[512];
        struct found f = {NULL, NULL};
        (void)snprintf(path, sizeof path, SHARED "measurements/%s.csv", machines[i][0]);
        if (access(path, R_OK) != 0) {
            print_message("no %s: skipped\n", path);
            skip();
        }
        struct hop_topology *given = load_topology(machines[i][1]);
        CHECK(hop_measurements_load(path, &f.measurements, D));
        CHECK(hop_calibrate_fit(f.measurements, given, NULL, &f.result, D));
        must_not_spoil(&f, given);
        finish(f);
        hop_topology_destroy(given);
    }
}

/* The rows of one way to use links, of all that a file has. */
static void keep_rows(const char *path, const char *const wanted[3], struct text *kept)
{
    char line[512];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    kept->size = 0;
    for (unsigned n = 0; fgets(line, sizeof line, file); n++) {
        if (n == 0 || (wanted[0] && strstr(line, wanted[0])) || strstr(line, wanted[1]) || strstr(line, wanted[2]))
            put(kept, "%s", line);
    }
    (void)fclose(file);
}

/* Copies with host memory, alone and in one direction while the other one is busy: how fast the other direction is then was never
 * measured, is off by a factor of 2, and lies in its range all the same. */
static void what_was_timed_one_way_only_has_an_honest_range_the_other_way(void **unused)
{
    static const char path[] = SHARED "measurements/meluxina-4xa100-nvbandwidth.csv";
    static const char *const modes[] = {"host-interleaved:d2h-under-h2d", "host-interleaved:h2d-under-d2h"};
    static struct text rows;
    (void)unused;
    if (access(path, R_OK) != 0) {
        print_message("no %s: skipped\n", path);
        skip();
    }
    for (unsigned timed = 0; timed < REPEATED(2, 1); timed++) {
        struct hop_topology *given = load_topology(SHARED "topologies/smi-4x-a100-nv4-mesh-4-nic.txt");
        const struct hop_compare_options options = {.ranges = true};
        struct hop_comparison *c;
        keep_rows(path, (const char *const[]){modes[timed], "host-interleaved:d2h:", "host-interleaved:h2d:"}, &rows);
        struct found f = fit(&rows, given, 2);
        keep_rows(path, (const char *const[]){NULL, modes[!timed], modes[!timed]}, &rows);
        struct hop_measurements *others = parse(&rows);
        CHECK(hop_compare_models(others, f.result->topology, (const char *const[]){"server"}, 1, &options, &c, D));
        print_message("%u of %u in their ranges, %.2f wide\n", c->candidates[0].in_range, c->candidates[0].ranges,
                      c->candidates[0].wide);
        assert_int_equal(c->candidates[0].ranges, 4);
        assert_int_equal(c->candidates[0].in_range, 4);
        hop_comparison_destroy(c);
        hop_measurements_destroy(others);
        finish(f);
        hop_topology_destroy(given);
    }
}

TEST_GROUP(fit_ranges)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nine_of_ten_truths_lie_in_their_ranges),
        cmocka_unit_test(what_was_held_out_lies_in_its_range),
        cmocka_unit_test(links_that_were_not_measured_inherit),
        cmocka_unit_test(a_limit_is_measured_where_rows_fill_it),
        cmocka_unit_test(no_fit_predicts_worse_than_none),
        cmocka_unit_test(no_fit_to_public_measurements_predicts_worse_than_none),
        cmocka_unit_test(what_was_timed_one_way_only_has_an_honest_range_the_other_way),
        cmocka_unit_test(values_are_as_near_as_they_claim),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
