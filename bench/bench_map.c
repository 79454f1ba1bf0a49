/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How good and how quick the solvers of assignments are, beside each other: the tables of bench/map.
 *
 *     bench_map small    200 random instances of 8 to 12 places, against the proved optimum
 *     bench_map large    64 to 4,096 ranks on 8-device nodes under leaf switches, against SCOTCH's map
 *     bench_map sixteen  how long 16 ranks take
 *
 * Every solver starts from the same random assignment. A solver whose answer does not fit, whose value is not that of
 * its answer, or that beats a proved optimum is a failure (exit status 1); a missed target is none.
 */
#include "assign/assign.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { INSTANCES = 200, PLACES_MAX = 4096, SIXTEEN_RUNS = 101 };

static void die(const char *what)
{
    fprintf(stderr, "bench_map: %s\n", what);
    exit(2);
}

static void *take(void *block)
{
    if (!block)
        die("out of memory");
    return block;
}

/* Of the processor: others that use it do not matter. */
static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* On a terminal only, and over itself. */
static void progress(const char *what, unsigned done, unsigned of)
{
    static double last;
    if (!isatty(STDERR_FILENO) || (done < of && now() - last < 0.2))
        return;
    last = now();
    if (done < of)
        fprintf(stderr, "\r%s: %u of %u\033[K", what, done, of);
    else
        fprintf(stderr, "\r\033[K");
}

/* ---- instances ---- */

struct pair {
    uint32_t a, b;
    double weight;
};

struct instance {
    struct hop_graph graph;
    struct hop_places places;
    struct hop_assign problem;
    struct pair *pairs; /* while it is made */
    size_t pair_count, pair_room;
    uint32_t *first, *to, *room, *group, *group_first;
    double *weight, *inner, *outer;
    const double **tables;
};

static void finish(struct instance *it)
{
    free(it->pairs);
    free(it->first);
    free(it->to);
    free(it->room);
    free(it->group);
    free(it->group_first);
    free(it->weight);
    free(it->inner);
    free(it->outer);
    free(it->tables);
}

static void add_pair(struct instance *it, uint32_t a, uint32_t b, double weight)
{
    if (it->pair_count == it->pair_room) {
        it->pair_room = it->pair_room ? 2 * it->pair_room : 64;
        it->pairs = take(realloc(it->pairs, it->pair_room * sizeof *it->pairs));
    }
    it->pairs[it->pair_count++] = (struct pair){a, b, weight};
}

static int by_ends(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return x->b < y->b ? -1 : x->b > y->b;
}

/* Rows of the pairs added, those added twice joined. */
static void finish_graph(struct instance *it, uint32_t items) /* the instance must stay where it is */
{
    size_t given = it->pair_count, kept = 0;
    for (size_t i = 0; i < given; i++)
        add_pair(it, it->pairs[i].b, it->pairs[i].a, it->pairs[i].weight);
    qsort(it->pairs, it->pair_count, sizeof *it->pairs, by_ends);
    for (size_t i = 0; i < it->pair_count; i++) {
        if (kept > 0 && by_ends(&it->pairs[kept - 1], &it->pairs[i]) == 0)
            it->pairs[kept - 1].weight += it->pairs[i].weight;
        else
            it->pairs[kept++] = it->pairs[i];
    }
    it->first = take(calloc(items + 2, sizeof *it->first));
    it->to = take(malloc((kept + 1) * sizeof *it->to));
    it->weight = take(malloc((kept + 1) * sizeof *it->weight));
    for (size_t i = 0; i < kept; i++) {
        it->first[it->pairs[i].a + 1]++;
        it->to[i] = it->pairs[i].b;
        it->weight[i] = it->pairs[i].weight;
    }
    for (uint32_t i = 0; i < items; i++)
        it->first[i + 1] += it->first[i];
    it->graph = (struct hop_graph){.count = items, .first = it->first, .to = it->to, .weight = it->weight};
    it->problem = (struct hop_assign){.graph = &it->graph, .places = &it->places, .seed = 1};
}

/* Groups of `size` places each with room for one item, alike inside. */
static void make_places(struct instance *it, uint32_t groups, uint32_t size)
{
    uint32_t count = groups * size;
    it->room = take(malloc(count * sizeof *it->room));
    it->group = take(malloc(count * sizeof *it->group));
    it->group_first = take(malloc(((size_t)groups + 1) * sizeof *it->group_first));
    it->tables = take(malloc(groups * sizeof *it->tables));
    it->inner = take(calloc((size_t)size * size, sizeof *it->inner));
    it->outer = take(calloc((size_t)groups * groups, sizeof *it->outer));
    for (uint32_t p = 0; p < count; p++) {
        it->room[p] = 1;
        it->group[p] = p / size;
    }
    for (uint32_t g = 0; g <= groups; g++)
        it->group_first[g] = g * size;
    for (uint32_t g = 0; g < groups; g++)
        it->tables[g] = it->inner;
    it->places = (struct hop_places){.count = count,
                                     .room = it->room,
                                     .groups = groups,
                                     .group = it->group,
                                     .first = it->group_first,
                                     .inner = it->tables,
                                     .outer = it->outer};
}

static void set_inner(struct instance *it, uint32_t a, uint32_t b, double distance)
{
    uint32_t size = it->group_first[1];
    it->inner[a * size + b] = it->inner[b * size + a] = distance;
}

/* Places split at random into two or three parts, again and again, the distance falling with every split. */
static void split_tree(struct instance *it, uint32_t from, uint32_t to, double distance, uint64_t *rng)
{
    uint32_t parts = 2 + (to - from > 5 ? hop_draw_below(rng, 2) : 0);
    if (to - from < 2)
        return;
    for (uint32_t a = from; a < to; a++) {
        for (uint32_t b = a + 1; b < to; b++)
            set_inner(it, a, b, distance);
    }
    for (uint32_t k = 0, next = from; k < parts; k++) {
        uint32_t begin = next;
        next = k + 1 == parts ? to : from + (to - from) * (k + 1) / parts;
        split_tree(it, begin, next, distance * (0.3 + 0.5 * hop_draw_unit(rng)), rng);
    }
}

enum shape { TREE, NVLINK, RANDOM, SHAPES };
static const char *const shape_names[] = {"tree", "NVLink", "random"};

/* NVLink: a ring and chords of one link, some of two; the rest goes through PCIe. */
static void small_places(struct instance *it, enum shape shape, uint32_t count, uint64_t *rng)
{
    make_places(it, 1, count);
    if (shape == TREE)
        split_tree(it, 0, count, 8, rng);
    for (uint32_t a = 0; a < count && shape != TREE; a++) {
        for (uint32_t b = a + 1; b < count; b++) {
            bool ring = b == a + 1 || (a == 0 && b + 1 == count), chord = hop_draw_below(rng, 3) == 0;
            double nvlink = ring || chord ? 1 + hop_draw_below(rng, 2) : 5 + hop_draw_below(rng, 2);
            set_inner(it, a, b, shape == NVLINK ? nvlink : 1 + 9 * hop_draw_unit(rng));
        }
    }
}

static void small_instance(struct instance *it, unsigned i)
{
    uint64_t rng = 1000 + i;
    *it = (struct instance){0};
    uint32_t places = 8 + hop_draw_below(&rng, 5);
    uint32_t items = places - (hop_draw_below(&rng, 4) == 0 ? 1 + hop_draw_below(&rng, 2) : 0);
    double density = i / SHAPES % 2 == 0 ? 3.0 / (items - 1) : 1;
    small_places(it, i % SHAPES, places, &rng);
    add_pair(it, 0, 1, 1);
    for (uint32_t a = 0; a < items; a++) {
        for (uint32_t b = a + 1; b < items; b++) {
            if (hop_draw_unit(&rng) < density)
                add_pair(it, a, b, exp(log(100) * hop_draw_unit(&rng)));
        }
    }
    finish_graph(it, items);
}

/* Nodes of 8 devices at distance 1; 16 nodes share a leaf switch: 3 apart, and 5 across leaf switches. */
static void fat_tree(struct instance *it, uint32_t devices)
{
    uint32_t nodes = devices / 8;
    make_places(it, nodes, 8);
    for (uint32_t a = 0; a < 8; a++) {
        for (uint32_t b = a + 1; b < 8; b++)
            set_inner(it, a, b, 1);
    }
    for (uint32_t g = 0; g < nodes; g++) {
        for (uint32_t h = 0; h < nodes; h++)
            it->outer[(size_t)g * nodes + h] = g / 16 == h / 16 ? 3 : 5;
    }
}

enum pattern { STENCIL, GEOMETRIC, SPARSE, PATTERNS };
static const char *const pattern_names[] = {"3-D stencil", "random geometric", "random sparse"};

static void stencil(struct instance *it, uint32_t ranks)
{
    uint32_t x = 1, y, z;
    while (x * x * x < ranks)
        x *= 2;
    y = 1;
    while (y * y < ranks / x)
        y *= 2;
    z = ranks / x / y;
    for (uint32_t r = 0; r < ranks; r++) {
        uint32_t i = r / y / z, j = r / z % y, k = r % z;
        if (i + 1 < x)
            add_pair(it, r, r + y * z, 1);
        if (j + 1 < y)
            add_pair(it, r, r + z, 1);
        if (k + 1 < z)
            add_pair(it, r, r + 1, 1);
    }
}

/* Points in a square; those nearer than what makes 8 neighbours on average, the nearer the more. */
static void geometric(struct instance *it, uint32_t ranks, uint64_t *rng)
{
    double *x = take(malloc(2 * ranks * sizeof *x)), *y = x + ranks, reach = sqrt(8 / (3.14159265 * ranks));
    for (uint32_t r = 0; r < ranks; r++) {
        x[r] = hop_draw_unit(rng);
        y[r] = hop_draw_unit(rng);
        for (uint32_t s = 0; s < r; s++) {
            double distance = hypot(x[r] - x[s], y[r] - y[s]);
            if (distance < reach)
                add_pair(it, s, r, 1 + 9 * (1 - distance / reach));
        }
    }
    free(x);
}

static void large_instance(struct instance *it, enum pattern pattern, uint32_t ranks)
{
    uint64_t rng = ranks + pattern;
    *it = (struct instance){0};
    fat_tree(it, ranks);
    if (pattern == STENCIL)
        stencil(it, ranks);
    if (pattern == GEOMETRIC)
        geometric(it, ranks, &rng);
    for (uint32_t k = 0; k < 4 * ranks && pattern == SPARSE; k++) {
        uint32_t a = hop_draw_below(&rng, ranks), b = hop_draw_below(&rng, ranks);
        if (a != b)
            add_pair(it, a, b, 1 + 9 * hop_draw_unit(&rng));
    }
    finish_graph(it, ranks);
}

/* ---- solvers ---- */

typedef enum hop_status solver(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                               struct hop_diag *diag);

enum { EXACT, SCOTCH, GREEDY, GREEDY_EXCHANGE, SCOTCH_EXCHANGE, SOLVERS };
static const char *const solver_names[] = {"exact", "SCOTCH", "greedy", "greedy + exchange", "SCOTCH + exchange"};

struct answer {
    double value, seconds;
};

static bool failed;

static void one(solver *call, const struct instance *it, uint32_t *place, double *value)
{
    struct hop_diag diag = {0};
    struct hop_assigned result;
    if (call(&it->problem, place, &result, &diag) != HOP_OK)
        die(diag.what);
    if (call == hop_assign_exact && !result.proved) {
        fprintf(stderr, "bench_map: an optimum without a proof\n");
        failed = true;
    }
    *value = result.value;
}

static struct answer solve(unsigned which, const struct instance *it)
{
    static uint32_t place[PLACES_MAX];
    uint32_t items = it->graph.count, places = it->places.count;
    uint64_t rng = 5;
    uint32_t order[PLACES_MAX];
    struct answer answer;
    for (uint32_t p = 0; p < places; p++) {
        uint32_t other = hop_draw_below(&rng, p + 1);
        order[p] = order[other];
        order[other] = p;
    }
    memcpy(place, order, items * sizeof *place);
    double start = now();
    if (which == EXACT)
        one(hop_assign_exact, it, place, &answer.value);
    if (which == SCOTCH || which == SCOTCH_EXCHANGE)
        one(hop_assign_scotch, it, place, &answer.value);
    if (which == GREEDY || which == GREEDY_EXCHANGE)
        one(hop_assign_greedy, it, place, &answer.value);
    if (which >= GREEDY_EXCHANGE)
        one(hop_assign_exchange, it, place, &answer.value);
    answer.seconds = now() - start;
    double value = hop_assign_value(&it->problem, place);
    uint32_t *used = malloc(((size_t)it->places.count + it->places.groups + 1) * sizeof *used);
    bool fits = used && hop_assign_fits(&it->problem, place, used);
    free(used);
    if (!fits || fabs(value - answer.value) > 1e-9 * value) {
        fprintf(stderr, "bench_map: %s gave a wrong answer\n", solver_names[which]);
        failed = true;
    }
    return answer;
}

static bool usable(unsigned which)
{
    return hop_assign_has_scotch() || (which != SCOTCH && which != SCOTCH_EXCHANGE);
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_size);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static const char *held(bool yes)
{
    return yes ? "held" : "missed";
}

/* ---- tables ---- */

static double ratios[SOLVERS][INSTANCES], times[SOLVERS][INSTANCES];

static void small_row(unsigned which, int shape)
{
    double sum = 0, worst = 0, best = 0, part[INSTANCES], seconds[INSTANCES];
    size_t count = 0;
    for (unsigned i = 0; i < INSTANCES; i++) {
        if (shape != SHAPES && (int)(i % SHAPES) != shape)
            continue;
        sum += ratios[which][i];
        worst = hop_max(worst, ratios[which][i]);
        best += ratios[which][i] < 1 + 1e-9;
        part[count] = ratios[which][i];
        seconds[count++] = times[which][i];
    }
    printf("| %s | %s | %zu | %.4f | %.4f | %.4f | %.0f %% | %.3f |\n", shape == SHAPES ? "all" : shape_names[shape],
           solver_names[which], count, sum / (double)count, median(part, count), worst, 100 * best / (double)count,
           1e3 * median(seconds, count));
}

static void small(void)
{
    for (unsigned i = 0; i < INSTANCES; i++) {
        progress("small instances", i, INSTANCES);
        struct instance it;
        small_instance(&it, i);
        double optimum = 0;
        for (unsigned which = EXACT; which < SOLVERS; which++) {
            if (!usable(which))
                continue;
            struct answer answer = solve(which, &it);
            optimum = which == EXACT ? answer.value : optimum;
            ratios[which][i] = answer.value / optimum;
            times[which][i] = answer.seconds;
            if (answer.value < optimum * (1 - 1e-9)) {
                fprintf(stderr, "bench_map: instance %u: %s beats the optimum\n", i, solver_names[which]);
                failed = true;
            }
        }
        finish(&it);
    }
    progress("", 1, 1);
    printf("| distances | solver | instances | mean of value / optimum | median | worst | optimal | median ms |\n"
           "| --- | --- | --: | --: | --: | --: | --: | --: |\n");
    for (int shape = TREE; shape <= SHAPES; shape++) {
        for (unsigned which = EXACT; which < SOLVERS; which++) {
            if (usable(which))
                small_row(which, shape);
        }
    }
}

/* Values of one row, and what they say about the targets. */
struct against {
    double ours;   /* without SCOTCH, over SCOTCH's: the largest */
    double theirs; /* SCOTCH's over the best of all: the largest */
    double longest_s;
};

static void large_row(const struct instance *it, const char *traffic, struct against *against)
{
    uint32_t ordered[PLACES_MAX], ranks = it->graph.count;
    struct answer answers[SOLVERS];
    double own = INFINITY, best = INFINITY;
    for (uint32_t r = 0; r < ranks; r++)
        ordered[r] = r;
    for (unsigned which = SCOTCH; which < SOLVERS; which++) {
        if (!usable(which))
            continue;
        answers[which] = solve(which, it);
        best = hop_min(best, answers[which].value);
        if (which != SCOTCH && which != SCOTCH_EXCHANGE)
            own = hop_min(own, answers[which].value);
        against->longest_s = hop_max(against->longest_s, answers[which].seconds);
    }
    double unit = hop_assign_has_scotch() ? answers[SCOTCH].value : own;
    printf("| %u | %s | %.3f |", ranks, traffic, hop_assign_value(&it->problem, ordered) / unit);
    for (unsigned which = SCOTCH; which < SOLVERS; which++) {
        if (usable(which))
            printf(" %.3f, %.3f s |", answers[which].value / unit, answers[which].seconds);
        else
            printf(" |");
    }
    printf("\n");
    (void)fflush(stdout);
    against->ours = hop_max(against->ours, own / unit);
    against->theirs = hop_max(against->theirs, unit / best);
}

static void large(void)
{
    static const uint32_t sizes[] = {64, 256, 1024, 4096};
    struct against against = {0};
    unsigned done = 0;
    printf("| ranks | traffic | in order |");
    for (unsigned which = SCOTCH; which < SOLVERS; which++)
        printf(" %s |", solver_names[which]);
    printf("\n| --: | --- | --: |");
    for (unsigned which = SCOTCH; which < SOLVERS; which++)
        printf(" --: |");
    printf("\n");
    for (size_t s = 0; s < HOP_COUNT(sizes); s++) {
        for (enum pattern pattern = STENCIL; pattern < PATTERNS; pattern++) {
            struct instance it;
            progress("large instances", done++, PATTERNS * HOP_COUNT(sizes));
            large_instance(&it, pattern, sizes[s]);
            large_row(&it, pattern_names[pattern], &against);
            finish(&it);
        }
    }
    progress("", 1, 1);
    printf("\n");
    if (hop_assign_has_scotch()) {
        printf("The best without SCOTCH is at most %.3f times SCOTCH's value, target 1.25: %s\n", against.ours,
               held(against.ours <= 1.25));
        printf("SCOTCH's value is at most %.3f times the best of all\n", against.theirs);
    }
    printf("The longest took %.2f s, target 10 s for 4,096 ranks: %s\n", against.longest_s,
           held(against.longest_s < 10));
}

/* The 16 places of a machine of two sockets, two switches each, two boards of two devices on each. */
static void sixteen(void)
{
    static const double apart[] = {0, 1, 2, 3, 3, 4, 4, 4, 4};
    struct instance it = {0};
    double seconds[SIXTEEN_RUNS];
    make_places(&it, 1, 16);
    for (uint32_t a = 0; a < 16; a++) {
        for (uint32_t b = a + 1; b < 16; b++)
            set_inner(&it, a, b, apart[(a ^ b) / 2 + 1]);
    }
    stencil(&it, 16);
    finish_graph(&it, 16);
    printf("| solver | value | median ms of %d |\n| --- | --: | --: |\n", SIXTEEN_RUNS);
    double worst = 0;
    for (unsigned which = SCOTCH; which < SOLVERS; which++) {
        struct answer answer = {0};
        if (!usable(which))
            continue;
        for (unsigned i = 0; i < SIXTEEN_RUNS; i++) {
            answer = solve(which, &it);
            seconds[i] = answer.seconds;
        }
        double middle = 1e3 * median(seconds, SIXTEEN_RUNS);
        worst = hop_max(worst, middle);
        printf("| %s | %g | %.3f |\n", solver_names[which], answer.value, middle);
    }
    printf("\nMapping 16 ranks takes up to %.2f ms, target 5 ms: %s\n", worst, held(worst < 5));
    finish(&it);
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    if (strcmp(what, "small") == 0)
        small();
    else if (strcmp(what, "large") == 0)
        large();
    else if (strcmp(what, "sixteen") == 0)
        sixteen();
    else
        die("usage: bench_map small|large|sixteen");
    return failed;
}
