/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Content-based image retrieval: which of many images are most like one of them? The application of SHMEM+ (Aggarwal et
 * al. 2011, section 4), over the memory spaces of libhopcast_shmem.
 *
 *     hopcast-shmemrun -n 4 cbir [--help]
 *
 * A PE stands for a node and has some accelerators, each with memory of its own. PEs put their images there, say GO
 * and wait for DONE; accelerators compute 4 bytes of similarity an image; PE 0 gathers them, in three ways, and
 * sorts. This is done with 1, 2, 4 ... of the PEs. One table says what each part took beside what the model of
 * docs/stages.md predicts from the times of single steps. Each ranking is compared with that of a serial program:
 * exit status 1 if one differs.
 */
#define _GNU_SOURCE
#include "accelerator.h"

#include <getopt.h>
#include <hopcast/tune.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { ACCELERATORS_MOST = 16, APPROACHES = 3, TURNS = 5, PIECE_IMAGES = 64, BEST_SHOWN = 5 };
#define MIB 1048576.0
#define BYTES_MOST (UINT64_C(1) << 40) /* of a step */

static struct {
    uint32_t images, accelerators, query;
    const char *folder, *steps;
    double read_rate, write_rate, latency, rate;
    size_t total;
} options = {.images = 22000,
             .accelerators = 4,
             .read_rate = MIB / 1e-3, /* as of Novo-G: 1 MiB takes 1 ms out, 3.5 ms in, and each copy 1 ms besides */
             .write_rate = MIB / 3.5e-3,
             .latency = 1e-3,
             .rate = 1000};

static int me, pes;
static struct images images;
static struct accelerator accelerators[ACCELERATORS_MOST];
static struct hop_stages *profile;
static uint8_t *results;   /* of all accelerators, on PE 0; symmetric */
static uint8_t *collected; /* of this PE's */

struct times {
    double put_s, compute_s, gather_s[APPROACHES], sort_s;
};
static struct {
    uint32_t *similarities, *order, query[FEATURES];
    double compute_s, sort_s;
} serial; /* PE 0 */

static void fail(const char *what)
{
    (void)fprintf(stderr, "cbir: %s\n", what);
    shmem_global_exit(2);
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        fail("out of memory");
    return memory;
}

static void read_image(uint32_t number, uint8_t *pixels)
{
    if (!images_read(&images, number, pixels))
        fail(images.error);
}

/* ---- who has what: accelerator k of `count` has the images from first_of(k, count) on ---- */

static uint32_t first_of(uint32_t k, uint32_t count)
{
    return (uint32_t)((uint64_t)options.images * k / count);
}

static uint32_t images_of(uint32_t k, uint32_t count)
{
    return first_of(k + 1, count) - first_of(k, count);
}

/* Bytes that are gathered of each: 4 an image, or more if more in all were asked for. */
static size_t part_of(uint32_t count)
{
    size_t needed = (size_t)(options.images / count + 1) * sizeof(uint32_t), asked = options.total / count;
    return needed > asked ? needed : asked;
}

/* ---- ranking: most similar first, of equals the first ---- */

static const uint32_t *ranked; /* qsort has no context */

static int by_similarity(const void *a, const void *b)
{
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    if (ranked[i] != ranked[j])
        return ranked[i] < ranked[j] ? 1 : -1;
    return i < j ? -1 : 1;
}

static double rank(const uint32_t *similarities, uint32_t *order)
{
    double begun_s = now_s();
    for (uint32_t i = 0; i < options.images; i++)
        order[i] = i;
    ranked = similarities;
    qsort(order, options.images, sizeof *order, by_similarity);
    return now_s() - begun_s;
}

/* ---- the serial program ---- */

static void find_query(void)
{
    uint8_t *pixels = allocate(IMAGE_BYTES);
    read_image(options.query, pixels);
    features_of(pixels, serial.query);
    free(pixels);
}

static void run_serial(void)
{
    uint32_t features[FEATURES];
    uint8_t *pixels = allocate(IMAGE_BYTES);
    serial.similarities = allocate(options.images * sizeof *serial.similarities);
    serial.order = allocate(options.images * sizeof *serial.order);
    for (uint32_t i = 0; i < options.images; i++) {
        read_image(i, pixels);
        double begun_s = now_s();
        features_of(pixels, features);
        serial.similarities[i] = similarity_of(features, serial.query);
        serial.compute_s += now_s() - begun_s;
    }
    serial.sort_s = INFINITY;
    for (int turn = 0; turn < TURNS; turn++)
        serial.sort_s = fmin(serial.sort_s, rank(serial.similarities, serial.order));
    free(pixels);
}

/* ---- the parallel program, on PEs 0 to nodes - 1 ---- */

static uint8_t *read_share(uint32_t nodes)
{
    uint32_t count = nodes * options.accelerators, begin = first_of((uint32_t)me * options.accelerators, count),
             end = first_of((uint32_t)(me + 1) * options.accelerators, count);
    uint8_t *pixels = allocate((size_t)(end - begin) * IMAGE_BYTES);
    for (uint32_t i = begin; i < end; i++)
        read_image(i, pixels + (size_t)(i - begin) * IMAGE_BYTES);
    return pixels;
}

static void put_images(const struct accelerator *to, const uint8_t *pixels, uint32_t count)
{
    struct job job = {.count = count};
    memcpy(job.query, serial.query, sizeof job.query);
    shmem_putmem(&to->job->count, &job.count, sizeof job - offsetof(struct job, count), me);
    for (uint32_t i = 0; i < count; i += PIECE_IMAGES) {
        uint32_t piece = count - i < PIECE_IMAGES ? count - i : PIECE_IMAGES;
        shmem_putmem(to->images + (size_t)i * IMAGE_BYTES, pixels + (size_t)i * IMAGE_BYTES,
                     (size_t)piece * IMAGE_BYTES, me);
    }
}

static void put_share(const uint8_t *pixels, uint32_t nodes)
{
    for (uint32_t a = 0; a < options.accelerators; a++) {
        uint32_t mine = images_of((uint32_t)me * options.accelerators + a, nodes * options.accelerators);
        put_images(&accelerators[a], pixels, mine);
        pixels += (size_t)mine * IMAGE_BYTES;
    }
}

/* Whether one of them was late. */
static bool compute(uint32_t number)
{
    bool late = false;
    for (uint32_t a = 0; a < options.accelerators; a++)
        accelerator_go(&accelerators[a], number);
    for (uint32_t a = 0; a < options.accelerators; a++)
        late = accelerator_wait(&accelerators[a], number) || late;
    return late;
}

/* Approach 1: the root gets from one accelerator after the other. */
static void root_gets(uint32_t nodes, size_t part)
{
    for (uint32_t k = 0; me == 0 && k < nodes * options.accelerators; k++)
        shmem_getmem(results + k * part, accelerators[k % options.accelerators].similarities, part,
                     (int)(k / options.accelerators));
}

/* Approach 2: every PE puts, one accelerator's after the other's. */
static void all_put(uint32_t nodes, size_t part)
{
    (void)nodes;
    for (uint32_t a = 0; a < options.accelerators; a++)
        shmem_putmem(results + ((uint32_t)me * options.accelerators + a) * part, accelerators[a].similarities, part, 0);
}

/* Approach 3: every PE collects its accelerators', then puts them together. */
static void all_collect(uint32_t nodes, size_t part)
{
    (void)nodes;
    for (uint32_t a = 0; a < options.accelerators; a++)
        shmem_getmem(collected + a * part, accelerators[a].similarities, part, me);
    shmem_putmem(results + (uint32_t)me * options.accelerators * part, collected, options.accelerators * part, 0);
}

static void (*const approaches[APPROACHES])(uint32_t nodes, size_t part) = {root_gets, all_put, all_collect};

/* What lay there before does not pass for a result. */
static double gather(shmem_team_t team, int approach, uint32_t nodes, size_t part)
{
    if (me == 0)
        memset(results, 0xff, nodes * options.accelerators * part);
    shmem_team_sync(team);
    double begun_s = now_s();
    approaches[approach](nodes, part);
    shmem_quiet();
    shmem_team_sync(team);
    return now_s() - begun_s;
}

/* On PE 0: sorts what was gathered, and says whether it is what the serial program found. */
static bool check(uint32_t count, size_t part, double *sort_s)
{
    uint32_t *similarities = allocate(options.images * sizeof *similarities),
             *order = allocate(options.images * sizeof *order);
    for (uint32_t k = 0; k < count; k++)
        memcpy(similarities + first_of(k, count), results + k * part, images_of(k, count) * sizeof *similarities);
    *sort_s = rank(similarities, order);
    bool same = memcmp(similarities, serial.similarities, options.images * sizeof *similarities) == 0 &&
                memcmp(order, serial.order, options.images * sizeof *order) == 0;
    free(similarities);
    free(order);
    return same;
}

static bool any(shmem_team_t team, bool here)
{
    static int mine, of_all;
    mine = here;
    shmem_team_sync(team);
    shmem_int_max_reduce(team, &of_all, &mine, 1);
    return of_all != 0;
}

static void run_parallel(shmem_team_t team, uint32_t nodes, uint32_t number, struct times *took, bool *late, bool *same)
{
    size_t part = part_of(nodes * options.accelerators);
    uint8_t *pixels = read_share(nodes);
    shmem_team_sync(team);
    double begun_s = now_s();
    put_share(pixels, nodes);
    shmem_team_sync(team);
    double put_s = now_s();
    *late = compute(number);
    shmem_team_sync(team);
    *took = (struct times){.put_s = put_s - begun_s, .compute_s = now_s() - put_s, .sort_s = INFINITY};
    free(pixels);
    *late = any(team, *late);
    for (int a = 0; a < APPROACHES; a++) {
        double sort_s = 0;
        took->gather_s[a] = INFINITY;
        for (int turn = 0; turn < TURNS; turn++)
            took->gather_s[a] = fmin(took->gather_s[a], gather(team, a, nodes, part));
        if (me == 0)
            same[a] = check(nodes * options.accelerators, part, &sort_s);
        took->sort_s = fmin(took->sort_s, sort_s);
    }
}

/* ---- prediction ---- */

static struct hop_stage measured_step(const char *name)
{
    for (uint32_t i = 0; i < profile->count; i++) {
        if (strcmp(profile->stages[i].name, name) == 0)
            return profile->stages[i];
    }
    fail("the profile lacks a step");
    return (struct hop_stage){0};
}

/* A space is measured up to its own size, and PEs put and gather more than that at a time: what lies beyond the largest size
 * goes on as it went from the one before. The caller frees its times. */
static struct hop_stage step(const char *name)
{
    struct hop_stage step = measured_step(name);
    const uint32_t count = step.time_count;
    struct hop_stage_time *times = allocate((count + 1) * sizeof *times), last = step.times[count - 1],
                          before = count > 1 ? step.times[count - 2] : (struct hop_stage_time){0};
    const double slope = (last.time_s - before.time_s) / (double)(last.bytes - before.bytes);
    memcpy(times, step.times, count * sizeof *times);
    times[count] = (struct hop_stage_time){BYTES_MOST, last.time_s + slope * (double)(BYTES_MOST - last.bytes)};
    step.times = times;
    step.time_count++;
    return step;
}

static double time_of(const char *name, uint64_t bytes)
{
    const struct hop_stage it = step(name);
    const double time_s = hop_stage_time_s(&it, bytes);
    free((void *)(uintptr_t)it.times);
    return time_s;
}

/* Equations 5 to 10; what PE 0 gets of other PEs, their devices read to order, of its own it reads itself. */
static void predict_gather(uint32_t nodes, double time_s[APPROACHES])
{
    struct hop_stage there[] = {step("served-read"), step("copy")}, here[] = {step("read"), there[1]};
    struct hop_stages_gather got = {
        .nodes = nodes, .devices = options.accelerators, .bytes = part_of(nodes * options.accelerators)};
    struct hop_stages_gather put = got;
    struct hop_diag diag;
    if (hop_stages_gather(&(struct hop_stages){there, 2}, &got, &diag) != HOP_OK ||
        hop_stages_gather(&(struct hop_stages){here, 2}, &put, &diag) != HOP_OK)
        fail(diag.what);
    time_s[0] = got.time_s[0] - options.accelerators * (got.read_s - put.read_s);
    time_s[1] = put.time_s[1];
    time_s[2] = put.time_s[2];
    for (int i = 0; i < 2; i++)
        free((void *)(uintptr_t)there[i].times);
    free((void *)(uintptr_t)here[0].times);
}

/* Images piece by piece, with as many words before them as a job has. */
static double predict_put(uint32_t count)
{
    uint32_t pieces = count / PIECE_IMAGES, last = count % PIECE_IMAGES;
    return time_of("write", sizeof(struct job)) + (pieces ? pieces * time_of("write", PIECE_IMAGES * IMAGE_BYTES) : 0) +
           (last ? time_of("write", last * IMAGE_BYTES) : 0);
}

/* The first one works from its GO on; when it is done, the DONE of each is read. */
static double predict_compute(uint32_t nodes, uint32_t count)
{
    double sharing = fmax(1, nodes * options.accelerators / (double)sysconf(_SC_NPROCESSORS_ONLN));
    double each_s = options.rate > 0 ? 1 / options.rate : serial.compute_s / options.images * sharing;
    return time_of("write", 4) + count * each_s + options.accelerators * time_of("read", 8);
}

/* As of a PE whose accelerators all have most images. */
static void predict(uint32_t nodes, struct times *times)
{
    uint32_t count = nodes * options.accelerators, most = (options.images + count - 1) / count;
    *times = (struct times){.put_s = options.accelerators * predict_put(most),
                            .compute_s = predict_compute(nodes, most),
                            .sort_s = serial.sort_s};
    predict_gather(nodes, times->gather_s);
}

/* ---- the table ---- */

static void print_head(void)
{
    printf("%u images of %d x %d, %s%s\n", options.images, IMAGE_SIDE, IMAGE_SIDE,
           options.folder ? "cut from files of " : "textures made from their numbers (--folder: of real images)",
           options.folder ? options.folder : "");
    printf("serial program: %.1f ms on one processor, %.1f ms of them sorting\n",
           (serial.compute_s + serial.sort_s) * 1e3, serial.sort_s * 1e3);
    printf("accelerators: out %.1f MB/s, in %.1f MB/s, %.0f us a copy, ", options.read_rate / 1e6,
           options.write_rate / 1e6, options.latency * 1e6);
    if (options.rate > 0)
        printf("%.0f images/s\n\n", options.rate);
    else
        printf("images as fast as the processors\n\n");
    printf("all times in ms, predicted and measured\n");
    printf("%3s %5s %7s %8s %15s %17s %17s %17s %13s  %s\n", "PEs", "accel", "bytes", "approach", "put images",
           "compute", "gather", "whole", "speed-up", "ranking");
}

static double whole(const struct times *times, int approach)
{
    return times->put_s + times->compute_s + times->gather_s[approach] + times->sort_s;
}

static void print_pair(int width, int digits, double said, double took)
{
    printf(" %*.*f %*.*f", width, digits, said, width, digits, took);
}

static void print_row(uint32_t nodes, int a, const struct times *said, const struct times *took, bool same)
{
    static struct times first[2]; /* on one PE */
    if (nodes == 1) {
        first[0] = *said;
        first[1] = *took;
    }
    printf("%3u %5u %7zu %8d", nodes, nodes * options.accelerators, part_of(nodes * options.accelerators), a + 1);
    print_pair(8, 1, said->put_s * 1e3, took->put_s * 1e3);
    print_pair(8, 1, said->compute_s * 1e3, took->compute_s * 1e3);
    print_pair(8, 2, said->gather_s[a] * 1e3, took->gather_s[a] * 1e3);
    print_pair(8, 1, whole(said, a) * 1e3, whole(took, a) * 1e3);
    print_pair(6, 2, whole(&first[0], a) / whole(said, a), whole(&first[1], a) / whole(took, a));
    printf("  %s\n", same ? "same" : "DIFFERS");
}

static void print_best(void)
{
    printf("\nmost like image %u:\n", options.query);
    for (uint32_t i = 0; i < BEST_SHOWN && i < options.images; i++) {
        const char *file = images_file(&images, serial.order[i]);
        printf("%10u %5.1f %%  %s\n", serial.order[i], 100.0 * serial.similarities[serial.order[i]] / SIMILARITY_MOST,
               file ? file : "");
    }
}

/* With so many PEs; whether all rankings are right, which PE 0 knows. */
static bool try_with(uint32_t nodes, uint32_t number)
{
    struct times said, took;
    bool late = false, same[APPROACHES] = {true, true, true};
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, (int)nodes, NULL, 0, &team);
    if (team != SHMEM_TEAM_INVALID) {
        run_parallel(team, nodes, number, &took, &late, same);
        shmem_team_destroy(team);
    }
    shmem_barrier_all();
    if (me != 0)
        return true;
    predict(nodes, &said);
    for (int a = 0; a < APPROACHES; a++)
        print_row(nodes, a, &said, &took, same[a]);
    if (late)
        printf("%3s computing took longer than the accelerators' rate: too few processors for this many\n", "");
    (void)fflush(stdout);
    return same[0] && same[1] && same[2];
}

/* ---- starting ---- */

static _Noreturn void usage(int status)
{
    (void)fprintf(status ? stderr : stdout,
                  "usage: hopcast-shmemrun -n PES cbir [OPTION ...]\n"
                  "  --images N         images that are searched (22000)\n"
                  "  --folder FOLDER    cut from its images: .pgm, .ppm, .png; else textures\n"
                  "  --query N          which image is looked for (0)\n"
                  "  --accelerators G   of each PE (4, at most %d)\n"
                  "  --rate R           images/s of an accelerator (1000); 0: as fast as the processors\n"
                  "  --read R           bytes/s out of an accelerator (1.05e9)\n"
                  "  --write R          bytes/s into it (3.0e8)\n"
                  "  --latency S        seconds of each copy besides (1e-3)\n"
                  "  --gather BYTES     bytes that are gathered in all, if more than 4 an image\n"
                  "  --steps FILE       write the steps of a gather there, for `hopcast tune stages FILE --gather`\n",
                  ACCELERATORS_MOST);
    exit(status);
}

static double number_of(const char *text, const char *what, double least, double most)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= least && value <= most)) {
        (void)fprintf(stderr, "cbir: --%s %s: expected a number from %g to %g\n", what, text, least, most);
        exit(2);
    }
    return value;
}

static void read_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"images", 1, NULL, 'n'}, {"folder", 1, NULL, 'f'}, {"query", 1, NULL, 'q'}, {"accelerators", 1, NULL, 'g'},
        {"rate", 1, NULL, 'c'},   {"read", 1, NULL, 'r'},   {"write", 1, NULL, 'w'}, {"latency", 1, NULL, 'l'},
        {"gather", 1, NULL, 'b'}, {"steps", 1, NULL, 's'},  {"help", 0, NULL, 'h'},  {0}};
    for (int c, at; (c = getopt_long(argc, argv, "", known, &at)) != -1;) {
        switch (c) {
        case 'n':
            options.images = (uint32_t)number_of(optarg, "images", 1, 1e8);
            break;
        case 'f':
            options.folder = optarg;
            break;
        case 'q':
            options.query = (uint32_t)number_of(optarg, "query", 0, 1e8);
            break;
        case 'g':
            options.accelerators = (uint32_t)number_of(optarg, "accelerators", 1, ACCELERATORS_MOST);
            break;
        case 'c':
            options.rate = number_of(optarg, "rate", 0, 1e9);
            break;
        case 'r':
            options.read_rate = number_of(optarg, "read", 0, 1e12);
            break;
        case 'w':
            options.write_rate = number_of(optarg, "write", 0, 1e12);
            break;
        case 'l':
            options.latency = number_of(optarg, "latency", 0, 1);
            break;
        case 'b':
            options.total = (size_t)number_of(optarg, "gather", 0, 1e9);
            break;
        case 's':
            options.steps = optarg;
            break;
        default:
            usage(c == 'h' ? 0 : 2);
        }
    }
    if (optind < argc)
        usage(2);
    if (options.query >= options.images) {
        (void)fprintf(stderr, "cbir: --query %u: expected one of the %u images\n", options.query, options.images);
        exit(2);
    }
}

/* Results of all, of as many PEs as need most. */
static void allocate_results(void)
{
    size_t most = 0;
    for (uint32_t nodes = 1; nodes <= (uint32_t)pes; nodes++) {
        size_t bytes = nodes * options.accelerators * part_of(nodes * options.accelerators);
        most = bytes > most ? bytes : most;
    }
    results = shmem_malloc(most);
    if (!results)
        fail("no room for the results in the symmetric heap: hopcast-shmemrun --heap");
    collected = allocate(options.accelerators * part_of(options.accelerators));
}

static void write_steps(const char *path)
{
    struct hop_stage of_gather[] = {measured_step("read"), measured_step("copy")};
    char *text = hop_stages_to_text(&(struct hop_stages){of_gather, 2});
    FILE *file = text ? fopen(path, "w") : NULL;
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        fail("the file of --steps cannot be written");
    free(text);
}

/* 1, 2, 4 ... PEs, and all of them. */
static uint32_t after(uint32_t nodes)
{
    return nodes < (uint32_t)pes && 2 * nodes > (uint32_t)pes ? (uint32_t)pes : 2 * nodes;
}

/* The least number of PEs of which this one is one; the fewer, the more images each has. */
static uint32_t first_use(void)
{
    uint32_t nodes = 1;
    while (nodes <= (uint32_t)me)
        nodes = after(nodes);
    return nodes;
}

static void open_all(void)
{
    const shmemx_space_config_t kind = {.memkind = SHMEMX_MEM_ACCELERATOR,
                                        .read_rate = options.read_rate,
                                        .write_rate = options.write_rate,
                                        .latency = options.latency};
    uint32_t most = options.images / options.accelerators + 1,
             used = options.images / (first_use() * options.accelerators) + 1;
    struct hop_diag diag;
    for (uint32_t a = 0; a < options.accelerators; a++) {
        if (!accelerator_open(&accelerators[a], &kind, most, used, part_of(options.accelerators), options.rate))
            fail("there is no room for an accelerator: fewer --images or PEs");
    }
    char *text = shmemx_profile(accelerators[0].space);
    if (hop_stages_parse("profile", text, strlen(text), &profile, &diag) != HOP_OK)
        fail(diag.what);
    free(text);
}

static void close_all(void)
{
    for (uint32_t a = 0; a < options.accelerators; a++)
        accelerator_close(&accelerators[a]);
    hop_stages_destroy(profile);
    images_close(&images);
    shmem_free(results);
    free(collected);
    free(serial.similarities);
    free(serial.order);
}

int main(int argc, char **argv)
{
    bool fine = true;
    read_options(argc, argv);
    shmem_init();
    me = shmem_my_pe();
    pes = shmem_n_pes();
    if (!images_open(&images, options.folder, options.images))
        fail(images.error);
    open_all();
    allocate_results();
    find_query();
    if (me == 0) {
        run_serial();
        print_head();
        if (options.steps)
            write_steps(options.steps);
    }
    shmem_barrier_all();
    uint32_t number = 2;
    for (uint32_t nodes = 1; nodes <= (uint32_t)pes; nodes = after(nodes))
        fine = try_with(nodes, number++) && fine;
    if (me == 0)
        print_best();
    close_all();
    shmem_finalize();
    return fine ? 0 : 1;
}
