/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives as schedules: which algorithm at which level, then its moves as operations.
 *
 * An algorithm's name, or up to three joined by '-' for a hierarchy: within a device, across the devices of a node,
 * across nodes.
 */
#include <inttypes.h>
#include <stdio.h>

#include "collective/collective_levels.h"
#include "pattern/make.h"
#include "topology/servers.h"

enum { SMALL_BYTES = 64 << 10 }; /* of what a rank puts in: below it rounds count more than bytes: doubling and bruck, else ring */

/* ---- devices and nodes ---- */

/* A number for each rank: that of the first one on the same node, as `nodes` or their devices' names have it, and with the
 * same number `within` it (NULL: all have). */
static enum hop_status number_nodes(const struct hop_ranks *ranks, const uint32_t *nodes, const uint32_t *within,
                                    struct hop_arena *arena, uint32_t *number, struct hop_diag *diag)
{
    struct hop_names seen = {0};
    bool fine = true;
    for (uint32_t r = 0; r < ranks->count && fine; r++) {
        char text[80];
        if (nodes)
            (void)snprintf(text, sizeof text, "%" PRIu32 " %" PRIu32, nodes[r], within ? within[r] : 0);
        else
            (void)snprintf(text, sizeof text, "%.*s", (int)hop_server_length(ranks->devices[r]), ranks->devices[r]);
        const char *name = hop_arena_string(arena, text, strlen(text));
        uint32_t first = name ? hop_names_get(&seen, name) : 0;
        number[r] = first != UINT32_MAX ? first : r;
        fine = name && (first != UINT32_MAX || hop_names_put(&seen, name, r));
    }
    hop_names_finish(&seen);
    return fine ? HOP_OK : hop_fail_memory(diag);
}

static bool all_apart(const uint32_t *number, uint32_t count)
{
    uint32_t r = 0;
    while (r < count && number[r] == r)
        r++;
    return r == count;
}

static bool all_together(const uint32_t *number, uint32_t count)
{
    uint32_t r = 0;
    while (r < count && number[r] == 0)
        r++;
    return r == count;
}

/* ---- which algorithm ---- */

/* A barrier in levels is an allgather of one byte each, and that by bruck is what is called dissemination. */
static enum hop_algorithm across_of_barrier(enum hop_algorithm algorithm)
{
    return algorithm == HOP_ALGORITHM_DISSEMINATION ? HOP_ALGORITHM_BRUCK : algorithm;
}

/* Among ranks that share nothing. */
static enum hop_algorithm default_across(const struct hop_collective_options *options, uint32_t ranks)
{
    if (options->kind == HOP_COLLECTIVE_ALLREDUCE && options->vector_bytes < SMALL_BYTES)
        return HOP_ALGORITHM_DOUBLING;
    if (options->kind == HOP_COLLECTIVE_ALLGATHER && options->vector_bytes / ranks < SMALL_BYTES)
        return HOP_ALGORITHM_BRUCK;
    return hop_collective_default(options->kind);
}

/* In the callers' memory of one host what lies with another rank is read by the kernel, at a third of the speed of memory
 * that is shared: it is read once, by whoever needs it, or its owner puts it into shared memory while others work. */
static enum hop_algorithm default_of_callers(const struct hop_collective_options *options, uint32_t ranks)
{
    enum { BRIEF = 8 << 10, ALONE = 96 << 10, LONG = 2 << 20 };
    switch (options->kind) {
    case HOP_COLLECTIVE_ALLREDUCE:
        return options->vector_bytes <= BRIEF ? HOP_ALGORITHM_DOUBLING
               : ranks <= 2            ? HOP_ALGORITHM_TWO_SHOT
                                       : HOP_ALGORITHM_DIRECT;
    case HOP_COLLECTIVE_REDUCE:
        return ranks <= 2 && options->vector_bytes <= ALONE ? HOP_ALGORITHM_ONE_SHOT : HOP_ALGORITHM_BINOMIAL;
    case HOP_COLLECTIVE_REDUCE_SCATTER:
        return ranks <= 2 ? HOP_ALGORITHM_ONE_SHOT : HOP_ALGORITHM_DIRECT;
    case HOP_COLLECTIVE_BROADCAST:
        return options->vector_bytes < LONG ? HOP_ALGORITHM_BINOMIAL : HOP_ALGORITHM_BTB;
    case HOP_COLLECTIVE_ALLGATHER:
    case HOP_COLLECTIVE_ALLTOALL:
    case HOP_COLLECTIVE_GATHER:
        return HOP_ALGORITHM_DIRECT;
    default:
        return HOP_ALGORITHM_GSB;
    }
}

static void choose(const struct hop_collective_options *options, const struct hop_moves *moves,
                   struct hop_levels *levels)
{
    enum hop_collective_kind kind = options->kind;
    bool apart = all_apart(moves->device, moves->ranks), together = all_together(moves->device, moves->ranks);
    levels->count = 1;
    levels->algorithm[0] = default_across(options, moves->ranks);
    if (!apart && together && options->callers && options->kind != HOP_COLLECTIVE_BARRIER) {
        levels->algorithm[0] = default_of_callers(options, moves->ranks);
    } else if (!apart && together) {
        bool reads = hop_collective_has(kind, HOP_ALGORITHM_ONE_SHOT) && moves->ranks <= HOP_MOVE_PLACES;
        levels->algorithm[0] = reads ? HOP_ALGORITHM_ONE_SHOT : HOP_ALGORITHM_GSB;
    } else if (!apart && hop_levels_inside(kind, HOP_ALGORITHM_GSB)) {
        levels->count = 2;
        levels->algorithm[0] = HOP_ALGORITHM_GSB;
        levels->algorithm[1] = HOP_ALGORITHM_BTB;
    }
}

static enum hop_status refuse_name(const struct hop_collective_options *options, const char *name, size_t length,
                                   struct hop_diag *diag)
{
    char known[256];
    return hop_fail(diag, HOP_ERR_INVALID, "no %s can be made by '%.*s'\n%s, or two or three joined by '-'",
                    hop_collective_name(options->kind), (int)(length < 60 ? length : 60), name,
                    hop_collective_list(options->kind, known, sizeof known));
}

/* In a hierarchy; an inner level stands alone where the outer ones vanish, so it must make the collective itself. */
static bool can_be_level(enum hop_collective_kind kind, enum hop_algorithm algorithm)
{
    return kind == HOP_COLLECTIVE_BARRIER ? hop_collective_has(HOP_COLLECTIVE_ALLGATHER, across_of_barrier(algorithm))
                                          : hop_collective_has(kind, algorithm);
}

/* The diagnostic says what may be there. */
static enum hop_status refuse_level(const struct hop_collective_options *options, enum hop_algorithm algorithm,
                                    bool last, struct hop_diag *diag)
{
    char known[256] = "";
    size_t used = 0;
    enum hop_collective_kind kind = options->kind;
    for (unsigned a = HOP_ALGORITHM_DEFAULT + 1; a < HOP_ALGORITHM_COUNT; a++) {
        if (can_be_level(kind, (enum hop_algorithm)a) && (last || hop_levels_inside(kind, (enum hop_algorithm)a)))
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "",
                                     hop_algorithm_name((enum hop_algorithm)a));
    }
    return hop_fail(diag, HOP_ERR_INVALID, "%s cannot be %s a hierarchy for %s\nthere one of %s",
                    hop_algorithm_name(algorithm), last ? "outermost in" : "inside", hop_collective_name(kind), known);
}

/* The algorithm that a text begins with, its name ended by '-' or the text's end; COUNT: none. */
static enum hop_algorithm first_name(const char *text)
{
    for (unsigned a = HOP_ALGORITHM_DEFAULT + 1; a < HOP_ALGORITHM_COUNT; a++) {
        size_t length = strlen(hop_algorithm_name((enum hop_algorithm)a));
        if (strncmp(text, hop_algorithm_name((enum hop_algorithm)a), length) == 0 &&
            (text[length] == '\0' || text[length] == '-'))
            return (enum hop_algorithm)a;
    }
    return HOP_ALGORITHM_COUNT;
}

static enum hop_status read_names(const struct hop_collective_options *options, struct hop_levels *levels,
                                  struct hop_diag *diag)
{
    const char *text = options->algorithm;
    levels->count = 0;
    for (const char *at = text;;) {
        enum hop_algorithm algorithm = first_name(at);
        if (algorithm == HOP_ALGORITHM_COUNT || levels->count == HOP_LEVELS)
            return refuse_name(options, text, strlen(text), diag);
        levels->algorithm[levels->count++] = algorithm;
        at += strlen(hop_algorithm_name(algorithm));
        if (*at == '\0')
            return HOP_OK;
        at++;
    }
}

/* Each ring has every rank once. */
static enum hop_status check_rings(const struct hop_ranks *ranks, const struct hop_collective_options *options,
                                   const struct hop_levels *levels, struct hop_moves *moves, struct hop_diag *diag)
{
    if (options->rings == 0)
        return HOP_OK;
    if (options->kind != HOP_COLLECTIVE_ALLREDUCE || levels->count != 1 || levels->algorithm[0] != HOP_ALGORITHM_RING)
        return hop_fail(diag, HOP_ERR_INVALID, "rings of something else than an allreduce by ring\nno orders of rings");
    if (options->rings > HOP_RINGS || !options->orders)
        return hop_fail(diag, HOP_ERR_INVALID, "%u rings\nup to %d, and the order of ranks of each", options->rings,
                        HOP_RINGS);
    uint32_t *seen = hop_moves_room(moves, ranks->count, sizeof *seen); /* 1 + the last ring that has it */
    for (uint32_t i = 0; seen && i < options->rings * ranks->count; i++) {
        uint32_t rank = options->orders[i], ring = i / ranks->count;
        if (rank >= ranks->count || seen[rank] == ring + 1)
            return hop_fail(diag, HOP_ERR_INVALID, "ring %u does not have each rank once\nall of 0 to %u", ring,
                            ranks->count - 1);
        seen[rank] = ring + 1;
    }
    return moves->failure.status;
}

static enum hop_status check_grid(const struct hop_ranks *ranks, const struct hop_collective_options *options,
                                  struct hop_diag *diag)
{
    const uint32_t *grid = options->grid;
    if ((!grid[0] && !grid[1] && !grid[2]) || (uint64_t)grid[0] * grid[1] * grid[2] == ranks->count)
        return HOP_OK;
    return hop_fail(diag, HOP_ERR_INVALID, "a grid of %u x %u x %u is not one of %u ranks\na product of %u", grid[0],
                    grid[1], grid[2], ranks->count, ranks->count);
}

void hop_collective_grid(const struct hop_topology *topology, const struct hop_ranks *ranks,
                         uint32_t grid[HOP_COLLECTIVE_GRID])
{
    uint32_t routers = 0, links[HOP_COLLECTIVE_GRID] = {0}, rings[HOP_COLLECTIVE_GRID] = {0}, last = HOP_NONE;
    memset(grid, 0, HOP_COLLECTIVE_GRID * sizeof *grid);
    for (uint32_t l = 0; l < hop_topology_link_count(topology); l++) {
        const struct hop_link *link = hop_topology_link(topology, l);
        if (link->dimension == 0 || link->dimension > HOP_COLLECTIVE_GRID)
            continue;
        links[link->dimension - 1]++;
        rings[link->dimension - 1] += link->dateline;
    }
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++)
        routers += hop_topology_node(topology, n)->kind == HOP_NODE_FABRIC;
    for (uint32_t r = 0; r < ranks->count; r++) {
        uint32_t node = hop_topology_find(topology, ranks->devices[r]);
        if (node == HOP_NONE || (last != HOP_NONE && node <= last) || routers != ranks->count)
            return;
        last = node;
    }
    uint64_t product = 1;
    uint32_t found[HOP_COLLECTIVE_GRID];
    for (uint32_t d = 0; d < HOP_COLLECTIVE_GRID; d++) {
        found[d] = rings[d] ? links[d] / rings[d] : links[d] ? 2 : 1;
        product *= found[d];
    }
    if (product == ranks->count)
        memcpy(grid, found, sizeof found);
}

/* Every level's algorithm makes what happens there; segments only where all of them go segment by segment. */
static enum hop_status check_levels(const struct hop_collective_options *options, const struct hop_levels *levels,
                                    struct hop_diag *diag)
{
    enum hop_collective_kind kind = options->kind;
    bool cuts = false;
    for (uint32_t l = 0; l < levels->count; l++) {
        enum hop_algorithm algorithm = levels->algorithm[l];
        const char *name = hop_algorithm_name(algorithm);
        bool last = l + 1 == levels->count;
        if (levels->count > 1 && kind == HOP_COLLECTIVE_ALLTOALL)
            return hop_fail(diag, HOP_ERR_INVALID, "alltoall is not made in levels\none algorithm, such as pairwise");
        if (levels->count == 1 && !hop_collective_has(kind, algorithm))
            return refuse_name(options, name, strlen(name), diag);
        if (levels->count > 1 && (!can_be_level(kind, algorithm) || (!last && !hop_levels_inside(kind, algorithm))))
            return refuse_level(options, algorithm, last, diag);
        cuts = cuts || hop_collective_cuts(kind, algorithm);
    }
    if (options->segment_bytes && !cuts)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "%s by %s does not go segment by segment\nno size of segments, or such as broadcast by chain",
                        hop_collective_name(kind), hop_algorithm_name(levels->algorithm[levels->count - 1]));
    return HOP_OK;
}

/* ---- making ---- */

enum hop_status hop_collective_check_options(const struct hop_ranks *ranks,
                                             const struct hop_collective_options *options, struct hop_diag *diag)
{
    if ((unsigned)options->kind >= HOP_COLLECTIVE_COUNT || (unsigned)options->reduce >= HOP_REDUCE_COUNT ||
        (unsigned)options->type >= HOP_TYPE_COUNT)
        return hop_fail(diag, HOP_ERR_INVALID, "a collective has an unknown kind, operator or type");
    if (hop_collective_reduces(options->kind) && !hop_reduce_suits(options->reduce, options->type))
        return hop_fail(diag, HOP_ERR_INVALID, "no %s of %s\nsum, prod, min or max, or an integer type",
                        hop_reduce_name(options->reduce), hop_type_name(options->type));
    if (hop_collective_is_rooted(options->kind) && options->root >= ranks->count)
        return hop_fail(diag, HOP_ERR_INVALID, "the root %u is no rank\na rank from 0 to %u", options->root,
                        ranks->count - 1);
    if (options->kind != HOP_COLLECTIVE_BARRIER && options->vector_bytes % hop_type_bytes(options->type) != 0)
        return hop_fail(diag, HOP_ERR_INVALID, "%" PRIu64 " bytes are no whole number of %s\na multiple of %" PRIu64,
                        options->vector_bytes, hop_type_name(options->type), hop_type_bytes(options->type));
    return HOP_OK;
}

/* The names of all levels, joined. */
static void name_levels(const struct hop_levels *levels, char *name, size_t size)
{
    size_t used = 0;
    for (uint32_t l = 0; l < levels->count && used < size; l++)
        used +=
            (size_t)snprintf(name + used, size - used, "%s%s", l ? "-" : "", hop_algorithm_name(levels->algorithm[l]));
}

static void make(struct hop_moves *moves, const struct hop_collective_options *options, const struct hop_levels *levels)
{
    struct hop_job job, flags;
    enum hop_collective_kind kind = options->kind;
    uint64_t width = moves->width, bytes = options->vector_bytes;
    bool barrier = kind == HOP_COLLECTIVE_BARRIER;
    if (barrier)
        moves->width = 1, bytes = 0;
    if (!hop_job_begin(&job, moves, kind, bytes, hop_collective_is_rooted(kind) ? options->root : 0, options->in_place))
        return;
    job.segment = options->segment_bytes / width + (options->segment_bytes % width != 0);
    if (job.n == 1) {
        hop_job_copy(&job, HOP_PHASE("own"), 0, job.in[0], 0, job.out[0], 0, job.total);
    } else if (levels->count == 1) {
        if (options->rings)
            hop_job_cut_rings(&job, options->rings, options->orders);
        job.grid = options->grid[0] ? options->grid : NULL;
        hop_collective_maker(kind, levels->algorithm[0])(&job);
    } else if (barrier) {
        hop_job_flags(&job, &flags);
        struct hop_levels across = *levels;
        across.algorithm[levels->count - 1] = across_of_barrier(levels->algorithm[levels->count - 1]);
        if (hop_moves_ok(moves))
            hop_levels_make(&flags, HOP_COLLECTIVE_ALLGATHER, &across);
    } else {
        hop_levels_make(&job, kind, levels);
    }
}

/* A device may have many ranks. */
static enum hop_status check_devices(const struct hop_ranks *ranks, struct hop_diag *diag)
{
    for (uint32_t r = 0; r < ranks->count && ranks->count <= HOP_RANK_LIMIT; r++) {
        struct hop_ranks one = {&ranks->devices[r], 1};
        enum hop_status status = hop_make_check_ranks(&one, diag);
        if (status != HOP_OK)
            return status;
    }
    return ranks->count >= 1 && ranks->count <= HOP_RANK_LIMIT ? HOP_OK : hop_make_check_ranks(ranks, diag);
}

/* Which algorithm at which level, among which ranks. */
static enum hop_status find_levels(const struct hop_ranks *ranks, const struct hop_collective_options *options,
                                   struct hop_moves *moves, struct hop_levels *levels, struct hop_diag *diag)
{
    uint32_t *nodes = hop_moves_room(moves, ranks->count, sizeof *nodes);
    HOP_CHECK(moves->failure.status);
    HOP_CHECK(number_nodes(ranks, options->nodes, NULL, &moves->arena, nodes, diag));
    if (options->nodes) /* two nodes may each have a device of that name */
        HOP_CHECK(number_nodes(ranks, options->nodes, moves->device, &moves->arena, moves->device, diag));
    if (options->algorithm && strcmp(options->algorithm, "default") != 0)
        HOP_CHECK(read_names(options, levels, diag));
    else
        choose(options, moves, levels);
    /* across nodes as across the devices of one, where that algorithm cannot be inside */
    if (levels->count == 2 && !all_together(nodes, ranks->count) &&
        hop_levels_inside(options->kind, levels->algorithm[1]))
        levels->algorithm[levels->count++] = default_across(options, ranks->count);
    levels->group[0] = moves->device;
    levels->group[1] = nodes;
    HOP_CHECK(check_rings(ranks, options, levels, moves, diag));
    HOP_CHECK(check_grid(ranks, options, diag));
    return check_levels(options, levels, diag);
}

static uint64_t most_of(const struct hop_collective_options *options)
{
    uint64_t most = options->operations_most;
    return most > 0 && most < HOP_MAKE_LIMIT ? most : HOP_MAKE_LIMIT;
}

enum hop_status hop_collective_count(const struct hop_ranks *ranks, const struct hop_collective_options *options,
                                     struct hop_collective_size *size, struct hop_diag *diag)
{
    struct hop_moves moves;
    struct hop_levels levels = {0};
    *size = (struct hop_collective_size){.by = ""};
    HOP_CHECK(check_devices(ranks, diag));
    HOP_CHECK(hop_collective_check_options(ranks, options, diag));
    hop_moves_begin_count(&moves, ranks, options->type, diag);
    enum hop_status status = find_levels(ranks, options, &moves, &levels, diag);
    name_levels(&levels, size->by, sizeof size->by);
    size->count = levels.count == 1 ? hop_collective_pairs(options->kind, levels.algorithm[0], ranks->count) : 0;
    size->at_least = size->count > most_of(options) && options->vector_bytes / moves.width >= ranks->count;
    if (status == HOP_OK && !size->at_least) {
        hop_moves_look(&moves, size->count);
        status = moves.failure.status;
    }
    if (status == HOP_OK && !size->at_least) {
        make(&moves, options, &levels);
        status = moves.failure.status;
        size->count = moves.counted;
    }
    (void)hop_moves_end(&moves);
    return status;
}

enum hop_status hop_make_collective_by(const struct hop_ranks *ranks, const struct hop_collective_options *options,
                                       char by[HOP_ALGORITHM_NAME_SIZE], struct hop_schedule **schedule,
                                       struct hop_diag *diag)
{
    struct hop_collective_options own = {0};
    struct hop_collective_size size;
    char name[64], what[160];
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    options = &own;
    HOP_CHECK(hop_collective_count(ranks, options, &size, diag));
    (void)snprintf(what, sizeof what, "%s by %s among %u ranks", hop_collective_name(options->kind), size.by,
                   ranks->count);
    if (hop_schedule_check_count(what, size.at_least, size.count, most_of(options), diag) != HOP_OK) {
        size_t used = diag ? strlen(diag->expected) : 0;
        if (diag)
            (void)snprintf(diag->expected + used, sizeof diag->expected - used,
                           ": fewer ranks, larger segments, or an algorithm with fewer copies");
        return HOP_ERR_LIMIT;
    }
    (void)snprintf(name, sizeof name, "%s-%u", hop_collective_name(options->kind), ranks->count);
    struct hop_schedule *made = hop_schedule_create(name);
    if (!made)
        return hop_fail_memory(diag);
    struct hop_moves moves;
    struct hop_levels levels = {0};
    hop_moves_begin_schedule(&moves, made, ranks, options->reduce, options->type, options->in_place, diag);
    enum hop_status status = find_levels(ranks, options, &moves, &levels, diag);
    hop_collective_say(made, ranks->count, options, size.by);
    if (status == HOP_OK) {
        make(&moves, options, &levels);
        status = moves.failure.status;
    }
    (void)hop_moves_end(&moves);
    status = hop_schedule_end(made, status, schedule, diag);
    if (status == HOP_OK && by)
        memcpy(by, size.by, sizeof size.by);
    return status;
}

enum hop_status hop_make_collective(const struct hop_ranks *ranks, const struct hop_collective_options *options,
                                    struct hop_schedule **schedule, struct hop_diag *diag)
{
    return hop_make_collective_by(ranks, options, NULL, schedule, diag);
}
