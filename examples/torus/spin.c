/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Over-relaxation of the Heisenberg spin glass, as in the APEnet+ paper (Ammendola et al. 2013): spins are vectors of
 * length 1 on a lattice of SIDE x SIDE x SIDE sites, joined to their six neighbours by random bonds J, and
 *
 *     h = sum of J s over the neighbours,    s becomes 2 (s h) / (h h) h - s
 *
 * which turns s about h by half a turn, so that the energy stays. Spins of one colour of the chessboard have
 * neighbours of the other one only: a step updates one colour, then the other. Ranks have planes of the lattice, in a
 * row. Of each colour the planes at the borders are updated first, and put to the neighbours while those between are
 * updated.
 *
 *     hopcast launch -n 4 spin_apenet --side 64 --steps 20 [--torus 2x2x1] [--place gpu] [--check]
 *     hopcast-shmemrun -n 4 spin_shmem  ...
 *
 * --place: borders lie in the host's memory or in a GPU's (link.h). --check: each rank does all planes alone, too, and
 * compares the bits of its own. Exit status 1 if they differ, or the energy changes by more than 1e-12 a spin.
 *
 * --record FILE: the steps as a schedule for hopcast predict, GPUs' memory being put directly or through the host's
 * (--p2p). On the GPU that is assumed an update of a spin takes
 *
 *     spin-time + sum over all --beyond BYTES:SECONDS of SECONDS x max(0, 1 - BYTES / what the GPU holds)
 *
 * where it holds a spin and three bonds, of --spin-bytes each, of all sites of its planes and of the two beside them: of
 * a lattice that is swept from end to end, what is beyond a capacity is fetched anew. --work: all, or that of borders
 * alone, or none, for what the paper calls T_bnd + T_net and T_net. --no-overlap: borders are put after all spins are
 * updated, as by a library whose copies wait for what the GPU does.
 */
#include "link.h"

#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRIFT_MOST 1e-12 /* of the energy of a spin, which is of the order of 1 */

struct vector {
    double v[3];
};

/* Planes first to first + planes - 1, each with one more below and above that is a neighbour's. */
struct lattice {
    uint32_t side, first, planes;
    struct vector *spins; /* [1 + plane][y][x] */
    double (*bonds)[3];   /* to x + 1, y + 1, z + 1; from the plane below on */
};

enum { LEVELS_MOST = 4 };

static struct {
    uint32_t side, steps, spin_bytes;
    uint64_t seed;
    const char *torus, *place, *record, *p2p, *work;
    double spin_s; /* that a GPU takes for a spin, in what is recorded */
    struct level {
        double bytes, seconds;
    } levels[LEVELS_MOST]; /* what it takes more beyond them */
    uint32_t level_count;
    int check, only_record, no_overlap;
} options = {.side = 32,
             .steps = 10,
             .spin_bytes = sizeof(struct vector),
             .seed = 1,
             .p2p = "on",
             .work = "all",
             .spin_s = 1e-9};

static struct vector *half_plane; /* to and from memory of link.h */

/* ---- what is drawn of a site, whoever has it ---- */

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static double uniform(uint64_t site, uint32_t number)
{
    return ((double)(mix(mix(options.seed * 16 + number) ^ site) >> 11) + 0.5) * 0x1p-53;
}

static double gaussian(uint64_t site, uint32_t number)
{
    return sqrt(-2 * log(uniform(site, number))) * cos(2 * 3.14159265358979323846 * uniform(site, number + 1));
}

static void draw(struct lattice *l, uint32_t plane)
{
    const size_t area = (size_t)l->side * l->side;
    const uint64_t z = (l->first + l->side + plane - 1) % l->side;
    for (size_t i = 0; i < area; i++) {
        struct vector *s = &l->spins[plane * area + i];
        double length = 0;
        for (uint32_t c = 0; c < 3; c++) {
            s->v[c] = gaussian(z * area + i, 2 * c);
            length += s->v[c] * s->v[c];
            if (plane <= l->planes)
                l->bonds[plane * area + i][c] = gaussian(z * area + i, 6 + 2 * c);
        }
        for (uint32_t c = 0; c < 3; c++)
            s->v[c] /= sqrt(length);
    }
}

static void create(struct lattice *l, uint32_t first, uint32_t planes)
{
    const size_t area = (size_t)options.side * options.side;
    *l = (struct lattice){.side = options.side, .first = first, .planes = planes};
    l->spins = malloc((planes + 2) * area * sizeof *l->spins);
    l->bonds = malloc((planes + 1) * area * sizeof *l->bonds);
    if (!l->spins || !l->bonds)
        link_fail("out of memory", "");
    for (uint32_t p = 0; p < planes + 2; p++)
        draw(l, p);
}

static void destroy(struct lattice *l)
{
    free(l->spins);
    free(l->bonds);
}

/* ---- a colour of a plane ---- */

static void add(struct vector *h, double bond, const struct vector *s)
{
    for (int c = 0; c < 3; c++)
        h->v[c] += bond * s->v[c];
}

static double product(const struct vector *a, const struct vector *b)
{
    return a->v[0] * b->v[0] + a->v[1] * b->v[1] + a->v[2] * b->v[2];
}

/* The field at a site, in one order of additions. */
static struct vector field(const struct lattice *l, uint32_t plane, uint32_t y, uint32_t x)
{
    const size_t side = l->side, area = side * side, row = plane * area + y * side, at = row + x;
    const size_t left = row + (x + side - 1) % side, right = row + (x + 1) % side;
    const size_t front = plane * area + (y + side - 1) % side * side + x,
                 back = plane * area + (y + 1) % side * side + x;
    struct vector h = {{0, 0, 0}};
    add(&h, l->bonds[left][0], &l->spins[left]);
    add(&h, l->bonds[at][0], &l->spins[right]);
    add(&h, l->bonds[front][1], &l->spins[front]);
    add(&h, l->bonds[at][1], &l->spins[back]);
    add(&h, l->bonds[at - area][2], &l->spins[at - area]);
    add(&h, l->bonds[at][2], &l->spins[at + area]);
    return h;
}

/* Where a colour begins in a row. */
static uint32_t first_of(const struct lattice *l, uint32_t plane, uint32_t y, uint32_t colour)
{
    return (l->first + l->side + plane - 1 + y + colour) % 2;
}

static void update(struct lattice *l, uint32_t plane, uint32_t colour)
{
    for (uint32_t y = 0; y < l->side; y++) {
        for (uint32_t x = first_of(l, plane, y, colour); x < l->side; x += 2) {
            struct vector *s = &l->spins[((size_t)plane * l->side + y) * l->side + x];
            const struct vector h = field(l, plane, y, x);
            const double hh = product(&h, &h), factor = hh > 0 ? 2 * product(s, &h) / hh : 0;
            for (int c = 0; c < 3 && hh > 0; c++)
                s->v[c] = factor * h.v[c] - s->v[c];
        }
    }
}

/* Of the bonds to x + 1, y + 1 and z + 1. */
static double energy_of(const struct lattice *l, uint32_t plane)
{
    const size_t side = l->side, area = side * side;
    double energy = 0;
    for (size_t y = 0; y < side; y++) {
        for (size_t x = 0; x < side; x++) {
            const size_t at = plane * area + y * side + x;
            struct vector h = {{0, 0, 0}};
            add(&h, l->bonds[at][0], &l->spins[plane * area + y * side + (x + 1) % side]);
            add(&h, l->bonds[at][1], &l->spins[plane * area + (y + 1) % side * side + x]);
            add(&h, l->bonds[at][2], &l->spins[at + area]);
            energy -= product(&l->spins[at], &h);
        }
    }
    return energy;
}

/* ---- borders ---- */

/* In the memory that others put to, and in that to put from: of either neighbour (0: below) and colour, half a plane. */
static size_t half_bytes(void)
{
    return (size_t)options.side * options.side / 2 * options.spin_bytes;
}

static size_t border(uint32_t neighbour, uint32_t colour)
{
    return (2 * neighbour + colour) * half_bytes();
}

static void copy_half(struct lattice *l, uint32_t plane, uint32_t colour, struct vector *half, int packs)
{
    for (uint32_t y = 0; y < l->side; y++) {
        for (uint32_t x = first_of(l, plane, y, colour); x < l->side; x += 2, half++) {
            struct vector *s = &l->spins[((size_t)plane * l->side + y) * l->side + x];
            if (packs)
                *half = *s;
            else
                *s = *half;
        }
    }
}

/* 0: below. */
static int neighbour_rank(uint32_t neighbour)
{
    return (link_rank() + (neighbour ? 1 : link_size() - 1)) % link_size();
}

static void send_border(struct lattice *l, uint32_t neighbour, uint32_t colour)
{
    copy_half(l, neighbour ? l->planes : 1, colour, half_plane, 1);
    link_write(border(neighbour, colour), half_plane, half_bytes());
    link_put(neighbour_rank(neighbour), border(!neighbour, colour), border(neighbour, colour), half_bytes());
}

static void take_border(struct lattice *l, uint32_t neighbour, uint32_t colour)
{
    link_read(half_plane, border(neighbour, colour), half_bytes());
    copy_half(l, neighbour ? l->planes + 1 : 0, colour, half_plane, 0);
}

/* ---- what a GPU would take ---- */

/* A colour of some planes, of a rank that has `held`. */
static double time_of(uint32_t planes, uint32_t held)
{
    const double area = (double)options.side * options.side, bytes = (held + 2) * area * 2 * options.spin_bytes;
    double spin_s = options.spin_s;
    for (uint32_t i = 0; i < options.level_count; i++)
        spin_s += options.levels[i].seconds * fmax(0, 1 - options.levels[i].bytes / bytes);
    return planes * area / 2 * spin_s;
}

static void record_bulk(uint32_t planes)
{
    const int counts = strcmp(options.work, "all") == 0;
    link_record_work(counts && planes > 2 ? time_of(planes - 2, planes) : 0);
}

static void record_before_puts(uint32_t planes)
{
    link_record_work(strcmp(options.work, "none") == 0 ? 0 : time_of(planes > 1 ? 2 : 1, planes));
    if (options.no_overlap)
        record_bulk(planes);
}

static void record_after_puts(uint32_t planes)
{
    if (!options.no_overlap)
        record_bulk(planes);
}

/* ---- a colour of the lattice ---- */

static double half_step(struct lattice *l, uint32_t colour)
{
    update(l, 1, colour);
    if (l->planes > 1)
        update(l, l->planes, colour);
    record_before_puts(l->planes);
    send_border(l, 0, colour);
    send_border(l, 1, colour);
    record_after_puts(l->planes);
    for (uint32_t p = 2; p < l->planes; p++)
        update(l, p, colour);
    const double begun_s = link_now_s();
    link_wait(neighbour_rank(0));
    link_wait(neighbour_rank(1));
    const double waited_s = link_now_s() - begun_s;
    take_border(l, 0, colour);
    take_border(l, 1, colour);
    return waited_s;
}

/* The sum over planes from the first to the last, as one rank has it. */
static double energy(const struct lattice *l)
{
    double sum = 0, mine = 0, *all = calloc((size_t)link_size(), sizeof *all);
    if (!all)
        link_fail("out of memory", "");
    for (uint32_t z = 0, p = 1; z < l->side; z++) {
        const int has = z >= l->first && z < l->first + l->planes;
        mine = has ? energy_of(l, p++) : 0;
        link_gather(&mine, sizeof mine, all);
        for (int r = 0; r < link_size(); r++)
            sum += all[r];
    }
    free(all);
    return sum;
}

/* ---- one rank alone ---- */

static void wrap(struct lattice *l)
{
    const size_t area = (size_t)l->side * l->side;
    memcpy(l->spins, l->spins + l->planes * area, area * sizeof *l->spins);
    memcpy(l->spins + (l->planes + 1) * area, l->spins + area, area * sizeof *l->spins);
}

static int is_same(const struct lattice *mine)
{
    const size_t area = (size_t)mine->side * mine->side;
    struct lattice all;
    create(&all, 0, options.side);
    for (uint32_t half = 0; half < 2 * options.steps; half++) {
        for (uint32_t p = 1; p <= all.planes; p++)
            update(&all, p, half % 2);
        wrap(&all);
    }
    int same = memcmp(all.spins + (1 + mine->first) * area, mine->spins + area,
                      mine->planes * area * sizeof *mine->spins) == 0;
    destroy(&all);
    return same;
}

/* ---- the program ---- */

static int say(double before, double after, double took_s, double waited_s, int same)
{
    const double sites = pow(options.side, 3), drift = fabs(after - before) / sites;
    if (link_rank() == 0) {
        (void)printf("%u^3 spins on %d ranks, %u steps of over-relaxation, by %s\n", options.side, link_size(),
                     options.steps, link_name());
        (void)printf("energy a spin %.12f, then %.12f: %.1e of difference\n", before / sites, after / sites, drift);
        (void)printf("%.0f ps a spin and update, %.0f %% of it waiting; %zu bytes put a rank and step\n",
                     1e12 * took_s / sites / options.steps, 100 * waited_s / took_s, 4 * half_bytes());
        if (options.check)
            (void)printf("bits %s those of one rank alone\n", same ? "are" : "are NOT");
    }
    return drift > DRIFT_MOST || !same;
}

/* The steps without a lattice, which may be larger than memory. */
static int record_alone(uint32_t planes)
{
    link_record_begin(options.record, options.p2p);
    for (uint32_t half = 0; half < 2 * options.steps; half++) {
        record_before_puts(planes);
        for (uint32_t neighbour = 0; neighbour < 2; neighbour++)
            link_record_put(neighbour_rank(neighbour), half_bytes(), 0);
        record_after_puts(planes);
        for (uint32_t neighbour = 0; neighbour < 2; neighbour++)
            link_record_wait(neighbour_rank(neighbour));
    }
    link_record_end();
    return 0;
}

static int run(void)
{
    const uint64_t side = options.side, rank = (uint64_t)link_rank(), size = (uint64_t)link_size();
    const uint32_t first = (uint32_t)(side * rank / size), end = (uint32_t)(side * (rank + 1) / size);
    struct lattice l;
    double waited_s = 0;
    if (options.only_record)
        return record_alone(end - first);
    half_plane = malloc(half_bytes());
    if (!half_plane || first == end)
        link_fail(half_plane ? "more ranks than planes" : "out of memory", "");
    create(&l, first, end - first);
    const double before = energy(&l), begun_s = link_now_s();
    if (options.record)
        link_record_begin(options.record, options.p2p);
    for (uint32_t half = 0; half < 2 * options.steps; half++)
        waited_s += half_step(&l, half % 2);
    const double took_s = link_now_s() - begun_s;
    if (options.record)
        link_record_end();
    const double after = energy(&l);
    int same = !options.check || is_same(&l), *all = calloc((size_t)size, sizeof *all);
    if (!all)
        link_fail("out of memory", "");
    link_gather(&same, sizeof same, all);
    for (uint64_t r = 0; r < size; r++)
        same = same && all[r];
    int status = say(before, after, took_s, waited_s, same);
    destroy(&l);
    free(half_plane);
    free(all);
    return status;
}

static int usage(void)
{
    (void)fprintf(
        stderr, "spin [--side N, even] [--steps N] [--seed N] [--torus XxYxZ] [--place host|gpu|cuda|hip] [--check]\n"
                "    [--record FILE [--only-record [--spin-bytes N]]] [--p2p on|rx|off|copies] [--spin-time SECONDS]\n"
                "    [--beyond BYTES:SECONDS ...] [--work all|borders|none] [--no-overlap]\n");
    return 2;
}

static int read_level(const char *text)
{
    struct level *level = &options.levels[options.level_count];
    return options.level_count < LEVELS_MOST && sscanf(text, "%lf:%lf", &level->bytes, &level->seconds) == 2 &&
           level->bytes >= 0 && level->seconds >= 0 && ++options.level_count;
}

static int is_sound(void)
{
    const int counts =
        strcmp(options.work, "all") == 0 || strcmp(options.work, "borders") == 0 || strcmp(options.work, "none") == 0;
    return counts && options.side >= 2 && options.side % 2 == 0 && options.side <= 1024 && options.steps >= 1 &&
           (!options.only_record || options.record) &&
           (options.only_record || options.spin_bytes == sizeof(struct vector));
}

static int read_options(int argc, char **argv)
{
    static const struct option known[] = {{"side", required_argument, NULL, 'l'},
                                          {"steps", required_argument, NULL, 'n'},
                                          {"spin-bytes", required_argument, NULL, 'b'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"torus", required_argument, NULL, 't'},
                                          {"place", required_argument, NULL, 'm'},
                                          {"record", required_argument, NULL, 'r'},
                                          {"p2p", required_argument, NULL, 'p'},
                                          {"work", required_argument, NULL, 'k'},
                                          {"spin-time", required_argument, NULL, 'w'},
                                          {"beyond", required_argument, NULL, 'c'},
                                          {"check", no_argument, &options.check, 1},
                                          {"only-record", no_argument, &options.only_record, 1},
                                          {"no-overlap", no_argument, &options.no_overlap, 1},
                                          {NULL, 0, NULL, 0}};
    static const char number_of[] = "lnb", text_of[] = "tmrpk";
    uint32_t *const numbers[] = {&options.side, &options.steps, &options.spin_bytes};
    const char **const texts[] = {&options.torus, &options.place, &options.record, &options.p2p, &options.work};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        const char *number = option ? strchr(number_of, option) : NULL, *text = option ? strchr(text_of, option) : NULL;
        if (option == '?' || (option == 'c' && !read_level(optarg)))
            return 0;
        if (option == 's')
            options.seed = strtoull(optarg, NULL, 10);
        if (option == 'w')
            options.spin_s = strtod(optarg, NULL);
        if (number)
            *numbers[number - number_of] = (uint32_t)strtoul(optarg, NULL, 10);
        if (text)
            *texts[text - text_of] = optarg;
    }
    return optind == argc && is_sound();
}

int main(int argc, char **argv)
{
    if (!read_options(argc, argv))
        return usage();
    const size_t borders = options.only_record ? 0 : 4 * half_bytes();
    link_begin(&(struct link_needs){.in = borders, .out = borders, .torus = options.torus, .place = options.place});
    int status = run();
    link_end();
    return status;
}
