/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ordering: how long all orders take. Times are of the whole answer from a schedule in memory, on one thread.
 *
 * Every figure is checked before it is timed: a wrong result fails, a missed target of time does not. Times are processor times, so
 * that other load on the machine counts little; calls alternate with short batches of orders played by SimGrid, where there is one, and a
 * ratio is the median over the pairs.
 */
#include "bench_order.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 15, SENDS = 24, BATCH = 100 /* orders for SimGrid between two calls */ };
#define ORDERS 1679616.0
#define UNIT_S 25.2829e-3 /* 300 MiB alone on t2 */

static bool wrong;

/* ---- printing ---- */

static void line(const char *what, double value, double target, const char *unit)
{
    printf("%-64s %9.2f %-2s  %9g %-2s  %s\n", what, value, unit, target, unit, value <= target ? "held" : "missed");
    fflush(stdout);
}

__attribute__((format(printf, 2, 3))) static void expect(bool held, const char *format, ...)
{
    va_list list;
    if (held)
        return;
    wrong = true;
    va_start(list, format);
    printf("WRONG: ");
    vprintf(format, list);
    printf("\n");
    va_end(list);
}

static void must(enum hop_status status, const struct hop_diag *diag)
{
    if (status == HOP_OK)
        return;
    fprintf(stderr, "bench_order: %s: %s (%s)\n", diag->place, diag->what, diag->expected);
    exit(2);
}

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, ascending);
    return values[count / 2];
}

static uint32_t random_below(uint32_t limit)
{
    static uint64_t state = 88172645463325252u; /* xorshift64 */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % limit;
}

/* ---- the halo exchange ---- */

/* 2 x 2 x 2 on the eight GPUs, 300 MiB or 50 to 500 MiB each. */
static void make_halo(const struct hop_topology *topology, bool equal, struct bench_send sends[SENDS])
{
    uint32_t gpus[8], count = 0;
    for (uint32_t n = 0; n < hop_topology_node_count(topology) && count < 8; n++) {
        if (hop_topology_node(topology, n)->kind == HOP_NODE_GPU)
            gpus[count++] = n;
    }
    for (uint32_t i = 0; i < SENDS; i++) {
        uint64_t bytes = equal ? 300u << 20 : (50u << 20) + random_below(450u << 20);
        sends[i] = (struct bench_send){gpus[i / 3], gpus[i / 3 ^ 1u << i % 3], bytes};
    }
}

static struct hop_schedule *to_schedule(const struct hop_topology *topology, const struct bench_send *sends)
{
    struct hop_diag diag;
    struct hop_schedule *schedule = hop_schedule_create("halo");
    for (uint32_t i = 0; i < SENDS; i++) {
        (void)hop_schedule_copy(schedule, hop_topology_node(topology, sends[i].from)->name,
                                hop_topology_node(topology, sends[i].to)->name, sends[i].bytes, NULL, 0);
    }
    must(hop_schedule_finish(schedule, &schedule, &diag), &diag);
    return schedule;
}

/* Every source's three sends in a random order. */
static void shuffle(struct bench_send sends[SENDS])
{
    for (uint32_t source = 0; source < SENDS; source += 3) {
        for (uint32_t i = 2; i > 0; i--) {
            uint32_t other = random_below(i + 1);
            struct bench_send kept = sends[source + i];
            sends[source + i] = sends[source + other];
            sends[source + other] = kept;
        }
    }
}

static double predict(const struct hop_topology *topology, const char *model, const struct hop_schedule *schedule)
{
    struct hop_diag diag;
    struct hop_network *network;
    struct hop_timeline *timeline;
    const struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS};
    must(hop_network_create(topology, model, &network, &diag), &diag);
    must(hop_simulate(network, schedule, &options, &timeline, &diag), &diag);
    double makespan_s = hop_timeline_makespan_s(timeline);
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    return makespan_s;
}

/* ---- all orders ---- */

static void check_value(const char *what, double value_s, double units)
{
    expect(fabs(value_s / UNIT_S - units) < 1e-6, "%s order: %.9g units, not %.9g", what, value_s / UNIT_S, units);
}

static void check_distribution(const struct hop_topology *topology, const struct hop_order_distribution *d, bool equal)
{
    expect(d->complete && d->orders == ORDERS, "%.0f orders, not %.0f", d->orders, ORDERS);
    double fastest_s = predict(topology, NULL, d->fastest.schedule),
           slowest_s = predict(topology, NULL, d->slowest.schedule);
    expect(fabs(fastest_s / d->counts[0].value_s - 1) < 1e-9, "the fastest order takes %.12g s when played, not %.12g",
           fastest_s, d->counts[0].value_s);
    expect(fabs(slowest_s / d->counts[d->count - 1].value_s - 1) < 1e-9,
           "the slowest order takes %.12g s when played, not %.12g", slowest_s, d->counts[d->count - 1].value_s);
    if (!equal)
        return;
    check_value("fastest", d->fastest.value_s, 5);
    check_value("median", hop_order_quantile(d, 0.5), 8.921769);
    check_value("slowest", d->slowest.value_s, 12.867723);
    expect(d->clean == 236560, "%.0f clean orders, not 236560", d->clean);
}

static double enumerate(const struct hop_topology *topology, const struct hop_schedule *schedule, bool check,
                        bool equal)
{
    struct hop_diag diag;
    struct hop_order_distribution *distribution;
    const struct hop_order_options options = {.threads = 1};
    double start = now_s();
    must(hop_order_enumerate(topology, schedule, &options, &distribution, &diag), &diag);
    double time_s = now_s() - start;
    if (check)
        check_distribution(topology, distribution, equal);
    hop_order_distribution_destroy(distribution);
    return time_s;
}

/* Seconds that SimGrid takes for an order. */
static double play_batch(const struct bench_send *given)
{
    struct bench_send sends[SENDS];
    memcpy(sends, given, sizeof sends);
    double start = now_s();
    for (unsigned i = 0; i < BATCH; i++) {
        shuffle(sends);
        (void)bench_simgrid_play(sends, SENDS);
    }
    return (now_s() - start) / BATCH;
}

static void bench_all_orders(const struct hop_topology *topology, bool equal, double target_ms)
{
    struct bench_send sends[SENDS];
    double times[RUNS], ratios[RUNS];
    char what[128];
    make_halo(topology, equal, sends);
    struct hop_schedule *schedule = to_schedule(topology, sends);
    (void)enumerate(topology, schedule, true, equal);
    if (BENCH_HAS_SIMGRID) {
        double ours_s = predict(topology, "fair", schedule), theirs_s = bench_simgrid_play(sends, SENDS);
        expect(fabs(ours_s / theirs_s - 1) < 1e-6, "SimGrid says %.9g s, model fair %.9g s", theirs_s, ours_s);
    }
    for (unsigned r = 0; r < RUNS; r++) {
        double theirs_s = BENCH_HAS_SIMGRID ? play_batch(sends) : 0;
        times[r] = enumerate(topology, schedule, false, equal);
        ratios[r] = theirs_s * ORDERS / times[r];
    }
    (void)snprintf(what, sizeof what, "all %.0f orders of a 2x2x2 halo on t2, %s sizes, median of %d", ORDERS,
                   equal ? "equal" : "random", RUNS);
    line(what, 1e3 * median(times, RUNS), target_ms, "ms");
    if (BENCH_HAS_SIMGRID) {
        (void)snprintf(what, sizeof what, "  SimGrid, playing each, takes so many times as long (from %d)",
                       RUNS * BATCH);
        printf("%-64s %9.0f x\n", what, median(ratios, RUNS));
    }
    hop_schedule_destroy(schedule);
}

/* ---- main ---- */

static void bench(void *topology)
{
    printf("%-64s %12s %12s\n", "figure (processor time)", "measured", "target");
    bench_all_orders(topology, true, 30);
    bench_all_orders(topology, false, 250);
    printf("\n");
}

int main(int argc, char **argv)
{
    struct hop_diag diag;
    struct hop_topology *topology;
    must(hop_topology_load("t2", &topology, &diag), &diag);
    must(hop_topology_set(topology, "tau=0.2", &diag), &diag);
    bench_within_simgrid(argc, argv, topology, bench, topology);
    hop_topology_destroy(topology);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
