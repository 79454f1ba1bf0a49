/* SPDX-License-Identifier: BSD-3-Clause */
/* The job, and each pair of patterns with each size. */
#include "amb/amb.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/random.h"
#include "group/group.h"
#include "hopcast/pattern.h"

struct hop_amb {
    struct hop_amb_job job;
    const struct hop_amb_mpi *mpi;
    uint32_t place;
};

/* ---- the job ---- */

uint32_t hop_amb_rank_told(void)
{
    struct hop_group_launch launch;
    return hop_launch_detect(&launch, NULL) == HOP_OK ? (uint32_t)strtoul(launch.rank, NULL, 10) : 0;
}

enum hop_status hop_amb_start(struct hop_amb **amb, struct hop_diag *diag)
{
    const struct hop_launch_table wanted = {HOP_AMB_MPI_SYMBOL, HOP_AMB_MPI_VERSION};
    struct hop_group_launch launch;
    struct hop_amb_world world = {0};
    const void *table = NULL;
    const char *carrier = NULL;
    HOP_CHECK(hop_launch_detect(&launch, diag));
    if (!launch.carriers[0])
        return hop_fail(diag, HOP_ERR_INVALID,
                        "no MPI has started this process\nmpirun -n 16 before it; HOPCAST_MPI says which MPI is meant "
                        "where the environment does not");
    HOP_CHECK(hop_launch_load(&launch, &wanted, &table, &carrier, diag));
    struct hop_amb *made = calloc(1, sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    made->mpi = table;
    if (!made->mpi->start(&world)) {
        free(made);
        return hop_fail(diag, HOP_ERR_INVALID, "this process has started MPI already\na process of its own");
    }
    made->place = (uint32_t)world.place;
    made->job = (struct hop_amb_job){.carrier = carrier,
                                     .rank = (uint32_t)world.rank,
                                     .ranks = (uint32_t)world.size,
                                     .hosts = (uint32_t)world.hosts,
                                     .takes_devices = world.takes_devices};
    memcpy(made->job.library, world.library, sizeof made->job.library);
    /* One that was started by the other MPI's launcher believes to be alone. */
    if (launch.size && (uint32_t)launch.size != made->job.ranks) {
        enum hop_status status =
            hop_fail(diag, HOP_ERR_INVALID, "the launcher started %d ranks, but %s sees %u\nthe mpirun of the same MPI",
                     launch.size, carrier, made->job.ranks);
        hop_amb_finish(made);
        return status;
    }
    *amb = made;
    return HOP_OK;
}

const struct hop_amb_job *hop_amb_job(const struct hop_amb *amb)
{
    return &amb->job;
}

void hop_amb_finish(struct hop_amb *amb)
{
    if (!amb)
        return;
    amb->mpi->finish();
    free(amb);
}

/* ---- all ranks alike ---- */

/* What came of a step on this rank becomes what came of it on all: the failure of the lowest rank that failed. */
static enum hop_status agree(const struct hop_amb *amb, enum hop_status status, struct hop_diag *diag)
{
    double failed = status != HOP_OK, ranks = amb->job.ranks, first = failed ? ranks - amb->job.rank : 0;
    amb->mpi->largest(&first, 1);
    if (!(first > 0))
        return HOP_OK;
    int root = (int)(ranks - first);
    amb->mpi->sum(&failed, 1);
    amb->mpi->broadcast(diag, sizeof *diag, root);
    if (failed < ranks) {
        char place[sizeof diag->place];
        memcpy(place, diag->place, sizeof place);
        hop_diag_place(diag, "rank %d%s%.180s", root, place[0] ? ", " : "", place);
    }
    return diag->status;
}

static uint64_t hash_words(uint64_t hash, const char *const *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        hash = hop_hash(hash, words[i], strlen(words[i]) + 1);
    return hash;
}

/* Ranks that differ in what they are about to do would wait for each other for ever. */
static enum hop_status same_options(const struct hop_amb *amb, const struct hop_amb_options *o, struct hop_diag *diag)
{
    const double numbers[] = {o->weight,     o->wrap,         o->iterations, o->warm_up,        o->validate,
                              o->host_count, o->device_count, o->size_count, (double)o->staging};
    const char *device = o->device;
    uint64_t hash = hash_words(HOP_HASH_BEGIN, o->hosts, o->host_count);
    hash = hash_words(hash, o->devices, o->device_count);
    hash = hash_words(hop_hash(hash, numbers, sizeof numbers), &device, 1);
    hash = hop_hash(hash, o->sizes, o->size_count * sizeof *o->sizes);
    double ends[] = {(double)(hash >> 32), -(double)(hash >> 32), (double)(uint32_t)hash, -(double)(uint32_t)hash};
    amb->mpi->largest(ends, HOP_COUNT(ends));
    if (ends[0] + ends[1] != 0 || ends[2] + ends[3] != 0)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "not all ranks were given the same options\none command for all of them");
    return HOP_OK;
}

/* ---- what is asked for ---- */

struct run {
    struct hop_amb *amb;
    struct hop_amb_options options;
    struct hop_arena arena; /* the result's */
    struct hop_amb_result *result;
    const char **hosts, **devices;
    struct hop_device *device; /* NULL: no pattern has any, or it is the host */
};

/* The result, and all that it says. */
struct kept {
    struct hop_amb_result result;
    struct hop_arena arena;
};

static enum hop_status expand(struct run *run, const char *const *words, uint32_t count, const char ***expanded,
                              struct hop_diag *diag)
{
    const struct hop_amb_options *o = &run->options;
    *expanded = hop_arena_alloc(&run->arena, count * sizeof **expanded + 1);
    for (uint32_t i = 0; i < count && !run->arena.failed; i++) {
        const char *text = hop_amb_words(&run->arena, words[i], run->amb->job.ranks, o->weight, o->wrap);
        uint32_t ranks = run->amb->job.ranks;
        if (!text)
            return hop_fail_memory(diag);
        (*expanded)[i] = text;
        if (strcmp(text, HOP_AMB_NONE) == 0)
            continue;
        HOP_CHECK(hop_pattern_ranks(text, ranks, &ranks, diag));
        if (ranks != run->amb->job.ranks)
            return hop_fail(diag, HOP_ERR_INVALID, "%s has %u ranks, and the job %u\nas many ranks as the pattern has",
                            text, ranks, run->amb->job.ranks);
    }
    return run->arena.failed ? hop_fail_memory(diag) : HOP_OK;
}

static bool has_any(const char *const *words, uint32_t count)
{
    bool has = false;
    for (uint32_t i = 0; i < count; i++)
        has = has || strcmp(words[i], HOP_AMB_NONE) != 0;
    return has;
}

static enum hop_status prepare(struct run *run, struct hop_diag *diag)
{
    const struct hop_amb_options *o = &run->options;
    if (o->iterations == 0 || o->size_count == 0 || o->host_count == 0 || o->device_count == 0)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "nothing is asked for\na pattern of each kind, a size and an iteration at least");
    HOP_CHECK(expand(run, o->hosts, o->host_count, &run->hosts, diag));
    HOP_CHECK(expand(run, o->devices, o->device_count, &run->devices, diag));
    if (!has_any(run->hosts, o->host_count) && !has_any(run->devices, o->device_count))
        return hop_fail(diag, HOP_ERR_INVALID, "both patterns are none\none of them at least");
    uint32_t rows = o->host_count * o->device_count * o->size_count;
    run->result->rows = hop_arena_alloc(&run->arena, rows * sizeof *run->result->rows);
    return run->arena.failed ? hop_fail_memory(diag) : HOP_OK;
}

/* By libhopcast_mpi, which then has made its device the current one. */
static bool is_mapped(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    return getenv("HOPCAST_MAP") && preloaded && strstr(preloaded, "libhopcast_mpi");
}

/* The one that libhopcast_mpi has mapped this rank to; else, of those that this process sees, the one that has its place
 * among the ranks of its host. */
static enum hop_status open_device(struct run *run, struct hop_diag *diag)
{
    const char *name = run->options.device;
    const struct hop_device_facts *facts;
    struct hop_amb_result *result = run->result;
    struct hop_device_properties properties;
    uint32_t count = 0;
    (void)snprintf(result->device, sizeof result->device, "none");
    HOP_CHECK(hop_device_named(name, &facts, diag));
    if (!has_any(run->devices, run->options.device_count))
        return HOP_OK;
    (void)snprintf(result->device, sizeof result->device, "%s", facts->name);
    if (facts->on_processors)
        return HOP_OK;
    const struct hop_device_ops *ops = hop_device_ops_of(facts);
    enum hop_status status = ops->count(&count, diag);
    if (status == HOP_OK && count == 0)
        status = hop_fail(diag, HOP_ERR_NOT_FOUND, "this process sees no %s device", facts->name);
    if (status != HOP_OK) {
        hop_diag_expect(diag, "a %s device, or --device host: the device pattern over buffers of the host, too",
                        facts->name);
        return status;
    }
    const struct hop_device_options options = {.index = run->amb->place % count,
                                               .current = is_mapped()};
    HOP_CHECK(ops->open(&options, &run->device, diag));
    ops->properties(run->device, &properties);
    memcpy(result->device, properties.name, sizeof result->device);
    result->staged = !properties.mapped && (run->options.staging == HOP_AMB_STAGED ||
                                            (run->options.staging == HOP_AMB_STAGED_IF_NEEDED &&
                                             !(run->amb->job.takes_devices && strcmp(facts->name, "cuda") == 0)));
    return HOP_OK;
}

/* ---- one pair with one size ---- */

struct half {
    struct hop_amb_side side;
    struct hop_amb_buffers buffers;
    uint64_t group; /* of those that do an alltoall together */
};

struct pair {
    struct half half[HOP_MEMORY_COUNT];
    struct hop_arena arena;
};

/* Host first. */
static const enum hop_memory order[] = {HOP_MEMORY_HOST, HOP_MEMORY_DEVICE};

static enum hop_status make_pair(struct run *run, struct pair *pair, const struct hop_amb_row *row,
                                 struct hop_diag *diag)
{
    for (unsigned i = 0; i < HOP_COUNT(order); i++) {
        struct half *half = &pair->half[order[i]];
        bool device = order[i] == HOP_MEMORY_DEVICE && run->device;
        const char *words = i ? row->device : row->host;
        uint32_t parts = 1;
        if (has_any(&words, 1))
            HOP_CHECK(hop_pattern_parts(words, run->amb->job.ranks, &parts, diag));
        HOP_CHECK(hop_amb_side_make(words, row->size_bytes / parts, order[i], run->amb->job.rank, &pair->arena,
                                    &half->side, diag));
        half->buffers.device = device ? run->device : NULL;
        half->buffers.staged = device && run->result->staged;
        half->buffers.out_bytes = half->side.out_bytes;
        half->buffers.in_bytes = half->side.in_bytes;
        HOP_CHECK(hop_amb_buffers_make(&half->buffers, diag));
    }
    return HOP_OK;
}

static void post_receives(const struct hop_amb_mpi *mpi, const struct half *half)
{
    const struct hop_amb_side *side = &half->side;
    char *target = hop_amb_target(&half->buffers);
    for (uint32_t i = 0; !side->together && i < side->from_count; i++)
        mpi->receive(target + side->from[i].offset, (size_t)side->from[i].bytes, (int)side->from[i].rank,
                     (int)side->memory);
}

static void post_sends(const struct hop_amb_mpi *mpi, const struct half *half)
{
    const struct hop_amb_side *side = &half->side;
    const char *source = hop_amb_source(&half->buffers);
    if (side->together && side->to_count)
        mpi->alltoall(source, hop_amb_target(&half->buffers), (size_t)side->to[0].bytes, half->group);
    for (uint32_t i = 0; !side->together && i < side->to_count; i++)
        mpi->send(source + side->to[i].offset, (size_t)side->to[i].bytes, (int)side->to[i].rank, (int)side->memory);
}

static void exchange(const struct hop_amb_mpi *mpi, struct pair *pair)
{
    for (unsigned i = 0; i < HOP_COUNT(order); i++)
        post_receives(mpi, &pair->half[order[i]]);
    for (unsigned i = 0; i < HOP_COUNT(order); i++) {
        hop_amb_before(&pair->half[order[i]].buffers);
        post_sends(mpi, &pair->half[order[i]]);
    }
    mpi->complete();
    hop_amb_after(&pair->half[HOP_MEMORY_DEVICE].buffers);
}

static void fill(struct pair *pair, uint64_t iteration)
{
    for (unsigned i = 0; i < HOP_COUNT(order); i++) {
        struct half *half = &pair->half[order[i]];
        hop_amb_fill(&half->side, iteration, half->buffers.out);
        hop_amb_buffers_load(&half->buffers);
    }
}

static uint64_t wrong(struct pair *pair, uint64_t iteration)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < HOP_COUNT(order); i++) {
        struct half *half = &pair->half[order[i]];
        hop_amb_buffers_unload(&half->buffers);
        bytes += hop_amb_wrong(&half->side, iteration, half->buffers.in);
    }
    return bytes;
}

static void measure(const struct run *run, struct pair *pair, struct hop_amb_row *row)
{
    const struct hop_amb_mpi *mpi = run->amb->mpi;
    const struct hop_amb_options *o = &run->options;
    double sum_s = 0, wrong_bytes = 0;
    fill(pair, 0);
    for (uint32_t i = 0; i < o->warm_up; i++)
        exchange(mpi, pair);
    for (uint32_t i = 1; i <= o->iterations; i++) {
        if (o->validate)
            fill(pair, i);
        mpi->barrier();
        mpi->watch(true);
        double begin_s = hop_now_s();
        exchange(mpi, pair);
        sum_s += hop_now_s() - begin_s;
        mpi->watch(false);
        wrong_bytes += o->validate ? (double)wrong(pair, i) : 0;
    }
    double mean_s = sum_s / o->iterations, ends_s[] = {mean_s, -mean_s}, sums[] = {mean_s, wrong_bytes};
    mpi->largest(ends_s, HOP_COUNT(ends_s));
    mpi->sum(sums, HOP_COUNT(sums));
    row->max_s = ends_s[0];
    row->min_s = -ends_s[1];
    row->avg_s = sums[0] / run->amb->job.ranks;
    row->wrong_bytes = (uint64_t)sums[1];
    row->iterations = o->iterations;
}

static enum hop_status run_row(struct run *run, struct hop_amb_row *row, struct hop_diag *diag)
{
    const struct hop_amb_mpi *mpi = run->amb->mpi;
    struct pair pair = {0};
    struct half *halves = pair.half;
    enum hop_status status = agree(run->amb, make_pair(run, &pair, row, diag), diag);
    if (status == HOP_OK) {
        for (unsigned i = 0; i < HOP_COUNT(order); i++) {
            struct half *half = &halves[order[i]];
            if (half->side.together)
                half->group = mpi->split(half->side.to_count ? (int)half->side.colour : -1);
        }
        row->host_bytes = halves[HOP_MEMORY_HOST].side.all_bytes;
        row->device_bytes = halves[HOP_MEMORY_DEVICE].side.all_bytes;
        measure(run, &pair, row);
        for (unsigned i = 0; i < HOP_COUNT(order); i++) {
            if (halves[order[i]].side.together)
                mpi->forget(halves[order[i]].group);
        }
        struct hop_amb_buffers *device = &halves[HOP_MEMORY_DEVICE].buffers;
        *diag = device->failure.status == HOP_OK ? *diag : device->diag;
        status = agree(run->amb, device->failure.status, diag);
    }
    for (unsigned i = 0; i < HOP_COUNT(order); i++)
        hop_amb_buffers_finish(&halves[order[i]].buffers);
    hop_arena_finish(&pair.arena);
    return status;
}

static enum hop_status run_all(struct run *run, struct hop_diag *diag)
{
    const struct hop_amb_options *o = &run->options;
    struct hop_amb_result *result = run->result;
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < o->host_count * o->device_count * o->size_count && status == HOP_OK; i++) {
        struct hop_amb_row *row = &result->rows[result->row_count];
        row->host = run->hosts[i / o->size_count / o->device_count];
        row->device = run->devices[i / o->size_count % o->device_count];
        row->size_bytes = o->sizes[i % o->size_count];
        if (!has_any(&row->host, 1) && !has_any(&row->device, 1))
            continue;
        status = run_row(run, row, diag);
        result->wrong_bytes += row->wrong_bytes;
        result->row_count++;
        if (status == HOP_OK && o->row_done)
            o->row_done(row, o->context);
    }
    return status;
}

enum hop_status hop_amb_run(struct hop_amb *amb, const struct hop_amb_options *options, struct hop_amb_result **result,
                            struct hop_diag *diag)
{
    struct hop_diag own = {0}, *said = diag ? diag : &own;
    struct run run = {.amb = amb};
    enum hop_status status = hop_options_take(&run.options, sizeof run.options, options, said);
    run.options.device = run.options.device ? run.options.device : "cuda";
    HOP_CHECK(agree(amb, status, said));
    HOP_CHECK(same_options(amb, &run.options, said));
    struct kept *kept = calloc(1, sizeof *kept);
    status = agree(amb, kept ? HOP_OK : hop_fail_memory(said), said);
    if (status != HOP_OK) {
        free(kept);
        return status;
    }
    run.result = &kept->result;
    *run.result = (struct hop_amb_result){.job = amb->job,
                                          .validated = run.options.validate,
                                          .iterations = run.options.iterations,
                                          .warm_up = run.options.warm_up};
    status = agree(amb, prepare(&run, said), said);
    if (status == HOP_OK)
        status = agree(amb, open_device(&run, said), said);
    if (status == HOP_OK)
        status = run_all(&run, said);
    if (run.device)
        run.device->ops->close(run.device);
    kept->arena = run.arena;
    if (status == HOP_OK)
        *result = &kept->result;
    else
        hop_amb_result_destroy(&kept->result);
    return status;
}

void hop_amb_result_destroy(struct hop_amb_result *result)
{
    struct kept *kept = (struct kept *)result; /* whose first member it is */
    if (!kept)
        return;
    hop_arena_finish(&kept->arena);
    free(kept);
}
