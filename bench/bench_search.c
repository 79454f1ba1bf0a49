/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How soon the search for the best order answers: hop_order_search as a whole, from a schedule in memory, one thread.
 *
 *     bench_search [SEEDS] [SECONDS]       default: 20 seeds, and at most 10 s for what is stopped by the clock
 *
 * Times in the tables are medians and maxima over the seeds. A gap is (best - bound) / bound. A missed target is no failure: the machine may be
 * slow or busy. A result that contradicts its own bound is.
 */
#include "hopcast/hopcast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIT_BYTES (300ull << 20)
#define CAPACITY_BPS ((double)UNIT_BYTES / 25.2829e-3)
enum { SEEDS_MAX = 100, GPUS_MAX = 64 };

static void die(const char *what)
{
    fprintf(stderr, "bench_search: %s\n", what);
    exit(2);
}

/* ---- machines ---- */

static uint32_t add_node(struct hop_topology *t, enum hop_node_kind kind, const char *name, unsigned number)
{
    char text[32];
    uint32_t index;
    (void)snprintf(text, sizeof text, "%s%u", name, number);
    struct hop_node node = hop_node_default(kind, text);
    if (hop_topology_add_node(t, &node, &index, NULL) != HOP_OK)
        die("no node");
    return index;
}

static void add_link(struct hop_topology *t, enum hop_link_kind kind, uint32_t from, uint32_t to, double share)
{
    struct hop_link link = hop_link_default(kind, from, to);
    link.capacity_Bps[0] = link.capacity_Bps[1] = share * CAPACITY_BPS;
    if (hop_topology_add_link(t, &link, NULL, NULL) != HOP_OK)
        die("no link");
}

/* Root complexes, each with `switches` switches of two boards of two GPUs, joined in pairs by socket links. */
static struct hop_topology *machine(unsigned roots, unsigned switches, double socket)
{
    struct hop_topology *t = hop_topology_create("bench");
    uint32_t root[8];
    unsigned plx = 0, board = 0, gpu = 0;
    for (unsigned r = 0; r < roots; r++) {
        root[r] = add_node(t, HOP_NODE_ROOT, "root", r);
        for (unsigned s = 0; s < switches; s++) {
            uint32_t top = add_node(t, HOP_NODE_SWITCH, "switch", plx++);
            add_link(t, HOP_LINK_PCIE, top, root[r], 1);
            for (unsigned b = 0; b < 2; b++) {
                uint32_t middle = add_node(t, HOP_NODE_SWITCH, "board", board++);
                add_link(t, HOP_LINK_PCIE, middle, top, 1);
                for (unsigned g = 0; g < 2; g++)
                    add_link(t, HOP_LINK_PCIE, add_node(t, HOP_NODE_GPU, "gpu", gpu++), middle, 1);
            }
        }
        for (unsigned a = 0; a < r; a++)
            add_link(t, HOP_LINK_SOCKET, root[a], root[r], socket);
    }
    if (hop_topology_finish(t, NULL) != HOP_OK || hop_topology_set(t, "tau=0.2", NULL) != HOP_OK)
        die("no machine");
    return t;
}

/* ---- schedules ---- */

static struct hop_ranks ranks(unsigned count)
{
    static char names[GPUS_MAX][8];
    static const char *list[GPUS_MAX];
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "gpu%u", i);
        list[i] = names[i];
    }
    return (struct hop_ranks){list, count};
}

/* The same transfers with sizes from half to one and a half of theirs; seed 0: equal. */
static struct hop_schedule *uneven(struct hop_schedule *from, uint64_t seed)
{
    if (seed == 0)
        return from;
    struct hop_schedule *to = hop_schedule_create("uneven");
    for (uint32_t i = 0; i < hop_schedule_count(from); i++) {
        struct hop_op op = *hop_schedule_op(from, i);
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        op.bytes = (uint64_t)((double)op.bytes * (0.5 + (double)(seed >> 11) * 0x1p-53));
        (void)hop_schedule_add(to, &op);
    }
    if (hop_schedule_finish(to, &to, NULL) != HOP_OK)
        die("no schedule");
    hop_schedule_destroy(from);
    return to;
}

/* Extents 0: all-to-all. */
static struct hop_schedule *exchange(unsigned gpus, const uint32_t *extent, uint64_t seed)
{
    struct hop_ranks all = ranks(gpus);
    struct hop_schedule *made;
    struct hop_grid grid = {.dimensions = extent && extent[2] > 1 ? 3 : 2};
    if (extent)
        memcpy(grid.extent, extent, sizeof grid.extent);
    enum hop_status status = extent ? hop_make_halo(&all, &grid, UNIT_BYTES, &made, NULL)
                                    : hop_make_alltoall(&all, HOP_ALLTOALL_NAIVE, UNIT_BYTES, &made, NULL);
    if (status != HOP_OK)
        die("no schedule");
    return uneven(made, seed);
}

/* ---- measuring ---- */

struct figure {
    const char *what;
    unsigned roots, switches;
    double socket;
    uint32_t extent[3]; /* 0: all-to-all */
    bool random_sizes, proof; /* proof: the optimum itself must be proved, of orders without waits, not only a gap */
    double gap;         /* target; the search stops there */
    double time_s;      /* target */
    unsigned seeds;     /* at most */
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool measure(const struct figure *f, unsigned seeds, double limit_s)
{
    struct hop_topology *topology = machine(f->roots, f->switches, f->socket);
    unsigned gpus = 4 * f->roots * f->switches, runs = seeds < f->seeds ? seeds : f->seeds, held = 0;
    double time[SEEDS_MAX], gap[SEEDS_MAX], bound = 0, value = 0;
    bool sound = true;
    for (unsigned i = 0; i < runs; i++) {
        struct hop_schedule *schedule = exchange(gpus, f->extent[0] ? f->extent : NULL, f->random_sizes ? i + 1 : 0);
        struct hop_order_options options = {.threads = 1, .seed = i, .no_waits = f->proof, .gap = f->proof ? 0 : f->gap};
        struct hop_order_result *result;
        struct hop_diag diag;
        options.time_limit_s = f->time_s > 0.2 ? (f->time_s < limit_s ? f->time_s : limit_s) : 0; /* a clock needs a thread that watches it */
        if (hop_order_search(topology, schedule, &options, &result, &diag) != HOP_OK)
            die(diag.what);
        time[i] = result->elapsed_s;
        bound = f->proof ? result->bound_s : result->floor_s;
        value = result->value_s;
        gap[i] = value / bound - 1;
        held += gap[i] <= f->gap + 1e-9 && time[i] <= f->time_s * 1.02;
        sound = sound && value >= result->floor_s * (1 - 1e-9);
        hop_order_result_destroy(result);
        hop_schedule_destroy(schedule);
    }
    hop_topology_destroy(topology);
    qsort(time, runs, sizeof *time, ascending);
    qsort(gap, runs, sizeof *gap, ascending);
    printf("%-47s %7.2f %7.2f %9.1f %9.1f %8.2f %8.2f %9.0f %7.1f  %u of %u\n", f->what, value * CAPACITY_BPS / (double)UNIT_BYTES,
           bound * CAPACITY_BPS / (double)UNIT_BYTES, time[runs / 2] * 1e3, time[runs - 1] * 1e3, gap[runs / 2] * 100, gap[runs - 1] * 100,
           f->time_s * 1e3, f->gap * 100, held, runs);
    fflush(stdout);
    if (!sound)
        printf("a value lies below its bound\n");
    return sound;
}

int main(int argc, char **argv)
{
    unsigned seeds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 20;
    double limit_s = argc > 2 ? strtod(argv[2], NULL) : 10;
    static const struct figure figures[] = {
        {"8 GPUs, 3-D halo, equal sizes, proof", 1, 2, 1, {2, 2, 2}, false, true, 0, 0.008, 20},
        {"8 GPUs, 3-D halo, random sizes, proof", 1, 2, 1, {2, 2, 2}, true, true, 0, 0.1, 20},
        {"8 GPUs, 2-D halo, random sizes, proof", 1, 2, 1, {4, 2, 1}, true, true, 0, 0.1, 20},
        {"16 GPUs, 1 root, all-to-all, equal", 1, 4, 1, {0}, false, false, 0, 0.05, 20},
        {"16 GPUs, 2 roots, socket 1.0, all-to-all, equal", 2, 2, 1, {0}, false, false, 0, 0.05, 20},
        {"16 GPUs, 2 roots, socket 0.5, all-to-all, equal", 2, 2, 0.5, {0}, false, false, 0, 0.05, 20},
        {"16 GPUs, 2 roots, halo 4x4, equal", 2, 2, 1, {4, 4, 1}, false, false, 0, 0.02, 20},
        {"16 GPUs, 2 roots, halo 4x2x2, equal", 2, 2, 1, {4, 2, 2}, false, false, 0, 0.02, 20},
        {"16 GPUs, 2 roots, halo 4x4, random sizes", 2, 2, 1, {4, 4, 1}, true, false, 0.01, 10, 20},
        {"16 GPUs, 2 roots, halo 4x2x2, random sizes", 2, 2, 1, {4, 2, 2}, true, false, 0.01, 10, 20},
        {"16 GPUs, 2 roots, all-to-all, random sizes", 2, 2, 1, {0}, true, false, 0.1, 10, 5},
        {"16 GPUs, 2 roots, all-to-all, random sizes", 2, 2, 1, {0}, true, false, 0.05, 60, 3},
        {"32 GPUs, 4 roots, all-to-all, equal", 4, 2, 1, {0}, false, false, 0, 5, 5},
        {"32 GPUs, 2 roots, all-to-all, equal", 2, 4, 1, {0}, false, false, 0.01, 30, 3},
        {"64 GPUs, 4 roots, all-to-all, equal", 4, 4, 1, {0}, false, false, 0.05, 60, 2},
    };
    bool sound = true;
    if (seeds < 1 || seeds > SEEDS_MAX || !(limit_s > 0)) {
        fprintf(stderr, "usage: bench_search [SEEDS] [SECONDS]\n");
        return 2;
    }
    printf("%-47s %7s %7s %9s %9s %8s %8s %9s %7s\n", "search, one thread, at tau 0.2", "value", "bound", "ms median", "ms most",
           "gap % md", "most", "target ms", "gap %");
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        sound = measure(&figures[i], seeds, limit_s) && sound;
    return sound ? 0 : 1;
}
