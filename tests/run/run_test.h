/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of running share: calls that must succeed within a rank, and what a collective is defined to give.
 *
 * A rank may be a thread, where cmocka's jumps must not be used: it says what is wrong on standard error and returns 1,
 * which hop_launch hands on.
 *
 * Elements are drawn from where they are, so that every rank can work out what any rank puts in, and what it must get:
 * whole numbers, and of reals so few that every sum and product is exact in every type. So bits can be compared
 * whatever the order of a reduction is.
 */
#ifndef HOP_RUN_TEST_H
#define HOP_RUN_TEST_H

#include <dirent.h>
#include <time.h>

#include "hopcast/collective.h"
#include "hopcast/run.h"
#include "run/hooks.h"
#include "test.h"

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        struct hop_diag diag_ = {0};                                                                                   \
        if ((call) != HOP_OK) {                                                                                        \
            fprintf(stderr, "rank %u: %s: %s: %s (%s)\n", hop_team_rank(team), #call, diag_.place, diag_.what,         \
                    diag_.expected);                                                                                   \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)
#define REQUIRE(holds)                                                                                                 \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            fprintf(stderr, "rank %u: %s:%d: not so: %s\n", hop_team_rank(team), __FILE__, __LINE__, #holds);          \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

/* ---- on another back end ---- */

/* HOPCAST_TEST_DEVICE names it: what says no device and emulates nothing runs there, each rank a process, since a GPU's driver
 * does not survive fork. */
static inline const char *tested_device(void)
{
    return getenv("HOPCAST_TEST_DEVICE");
}

static inline enum hop_status create_there(struct hop_team *team, const struct hop_schedule *schedule,
                                           const struct hop_program_options *options, const struct hop_run_hooks *hooks,
                                           struct hop_program **program, struct hop_diag *diag)
{
    struct hop_program_options own = {0};
    if (options)
        own = *options;
    if (!own.device && !own.emulate)
        own.device = tested_device();
    return hop_program_create_hooked(team, schedule, &own, hooks, program, diag);
}

static inline enum hop_status launch_there(const struct hop_launch_options *options, hop_rank_body *body, void *context,
                                           int *result, struct hop_diag *diag)
{
    struct hop_launch_options own = *options;
    own.threads = own.threads && !tested_device();
    return hop_launch(&own, body, context, result, diag);
}

/* Of threads that share a test's memory, and of the host's memory. */
#define NOT_THERE()                                                                                                    \
    do {                                                                                                               \
        if (tested_device())                                                                                           \
            skip();                                                                                                    \
    } while (0)

#define hop_program_create(team, schedule, options, program, diag)                                                     \
    create_there(team, schedule, options, NULL, program, diag)
#define hop_program_create_hooked create_there
#define hop_launch launch_there

/* Runs the body on so many ranks; all must do well. */
static inline void launch(uint32_t ranks, bool threads, hop_rank_body *body, void *context)
{
    struct hop_launch_options options = {.ranks = ranks, .threads = threads, .timeout_s = 60};
    int result = -1;
    CHECK(hop_launch(&options, body, context, &result, D));
    assert_int_equal(result, 0);
}

/* Names of ours, of any process, in the shared memory of this machine whose process is this one or one of its
 * children: the others belong to tests that run at the same time. */
static inline unsigned count_names(long pid)
{
    char prefix[64];
    unsigned count = 0;
    (void)snprintf(prefix, sizeof prefix, "hopcast-%ld-", pid);
    DIR *folder = opendir("/dev/shm");
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    if (folder)
        (void)closedir(folder);
    return count;
}

static inline uint64_t scramble(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* ---- definitions of collectives ---- */

struct wanted {
    enum hop_collective_kind kind;
    uint32_t n, root;
    uint64_t count; /* elements of the vector */
    enum hop_type type;
    enum hop_reduce reduce;
    bool in_place;
};

static inline bool reduces(const struct wanted *w)
{
    return w->kind == HOP_COLLECTIVE_ALLREDUCE || w->kind == HOP_COLLECTIVE_REDUCE ||
           w->kind == HOP_COLLECTIVE_REDUCE_SCATTER;
}

/* Part p of the vector: how many elements it has, and how many are before it. */
static inline uint64_t part_size(const struct wanted *w, uint32_t p)
{
    return w->count / w->n + (p < w->count % w->n);
}

static inline uint64_t part_start(const struct wanted *w, uint32_t p)
{
    uint64_t start = 0;
    for (uint32_t i = 0; i < p; i++)
        start += part_size(w, i);
    return start;
}

/* Elements that a rank puts in, and gets. */
static inline uint64_t puts_in(const struct wanted *w, uint32_t r)
{
    bool root_only = w->kind == HOP_COLLECTIVE_BROADCAST || w->kind == HOP_COLLECTIVE_SCATTER;
    bool part_only = w->kind == HOP_COLLECTIVE_ALLGATHER || w->kind == HOP_COLLECTIVE_GATHER;
    return w->kind == HOP_COLLECTIVE_BARRIER || (root_only && r != w->root) ? 0 : part_only ? part_size(w, r) : w->count;
}

static inline uint64_t gets(const struct wanted *w, uint32_t r)
{
    switch (w->kind) {
    case HOP_COLLECTIVE_ALLREDUCE:
    case HOP_COLLECTIVE_BROADCAST:
    case HOP_COLLECTIVE_ALLGATHER:
        return w->count;
    case HOP_COLLECTIVE_REDUCE:
    case HOP_COLLECTIVE_GATHER:
        return r == w->root ? w->count : 0;
    case HOP_COLLECTIVE_SCATTER:
    case HOP_COLLECTIVE_REDUCE_SCATTER:
        return part_size(w, r);
    case HOP_COLLECTIVE_ALLTOALL:
        return w->n * part_size(w, r);
    default:
        return 0;
    }
}

/* In place: where in "data" what it puts in begins, and what it gets. */
static inline uint64_t in_begins(const struct wanted *w, uint32_t r)
{
    bool whole = w->kind == HOP_COLLECTIVE_ALLGATHER || (w->kind == HOP_COLLECTIVE_GATHER && r == w->root);
    return w->in_place && whole ? part_start(w, r) : 0;
}

static inline uint64_t out_begins(const struct wanted *w, uint32_t r)
{
    return w->in_place && w->kind == HOP_COLLECTIVE_SCATTER && r == w->root ? part_start(w, r) : 0;
}

/* ---- elements ---- */

/* Whole numbers of a type in its own bits; of f16 and bf16 small ones only. */
static inline void put_number(enum hop_type type, int64_t value, unsigned char *at)
{
    double f64 = (double)value;
    float f32 = (float)value;
    uint32_t i32 = (uint32_t)value, bits;
    uint16_t half;
    memcpy(&bits, &f32, sizeof bits);
    switch (type) {
    case HOP_TYPE_F64:
        memcpy(at, &f64, sizeof f64);
        break;
    case HOP_TYPE_F32:
        memcpy(at, &f32, sizeof f32);
        break;
    case HOP_TYPE_F16: /* from the f32: the exponent's bias is 15, not 127, and 13 bits of the fraction are 0 */
        half = (uint16_t)(value == 0 ? 0 : (bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - (112u << 10)));
        memcpy(at, &half, sizeof half);
        break;
    case HOP_TYPE_BF16:
        half = (uint16_t)(bits >> 16);
        memcpy(at, &half, sizeof half);
        break;
    case HOP_TYPE_I32:
    case HOP_TYPE_U32:
        memcpy(at, &i32, sizeof i32);
        break;
    case HOP_TYPE_I16:
    case HOP_TYPE_U16:
        half = (uint16_t)i32;
        memcpy(at, &half, sizeof half);
        break;
    case HOP_TYPE_I8:
    case HOP_TYPE_U8:
        *at = (unsigned char)i32;
        break;
    default:
        memcpy(at, &value, sizeof value);
        break;
    }
}

static inline bool has_sign(enum hop_type type)
{
    return type != HOP_TYPE_U8 && type != HOP_TYPE_U16 && type != HOP_TYPE_U32 && type != HOP_TYPE_U64;
}

/* The turn-th operator that the type has. */
static inline enum hop_reduce operator_for(enum hop_type type, uint32_t turn)
{
    return (enum hop_reduce)(turn % (uint32_t)(hop_type_is_whole(type) ? HOP_REDUCE_COUNT : HOP_REDUCE_AND));
}

/* Element i of what a rank puts in. Any number of a whole type; of reals -8 to 8, to be multiplied 1 or 2. */
static inline int64_t drawn(const struct wanted *w, uint64_t seed, uint32_t rank, uint64_t i)
{
    uint64_t random = scramble(scramble(seed * 64 + rank) + i);
    if (hop_type_is_whole(w->type)) {
        unsigned shift = 64 - 8 * (unsigned)hop_type_bytes(w->type);
        return has_sign(w->type) ? (int64_t)(random << shift) >> shift : (int64_t)(random << shift >> shift);
    }
    return w->reduce == HOP_REDUCE_PROD ? 1 + (int64_t)(random & 1) : (int64_t)(random % 17) - 8;
}

static inline int64_t combined(const struct wanted *w, uint64_t seed, uint64_t i)
{
    int64_t sum = drawn(w, seed, 0, i);
    for (uint32_t r = 1; r < w->n; r++) {
        int64_t more = drawn(w, seed, r, i);
        if (w->reduce == HOP_REDUCE_SUM)
            sum = (int64_t)((uint64_t)sum + (uint64_t)more);
        else if (w->reduce == HOP_REDUCE_PROD)
            sum = (int64_t)((uint64_t)sum * (uint64_t)more);
        else if (w->reduce == HOP_REDUCE_AND)
            sum &= more;
        else if (w->reduce == HOP_REDUCE_OR)
            sum |= more;
        else if (w->reduce == HOP_REDUCE_XOR)
            sum ^= more;
        else if ((has_sign(w->type) ? more < sum : (uint64_t)more < (uint64_t)sum) == (w->reduce == HOP_REDUCE_MIN))
            sum = more;
    }
    return sum;
}

/* Element i of what rank r must get. */
static inline int64_t expected(const struct wanted *w, uint64_t seed, uint32_t r, uint64_t i)
{
    uint32_t from = 0;
    switch (w->kind) {
    case HOP_COLLECTIVE_ALLREDUCE:
    case HOP_COLLECTIVE_REDUCE:
        return combined(w, seed, i);
    case HOP_COLLECTIVE_REDUCE_SCATTER:
        return combined(w, seed, part_start(w, r) + i);
    case HOP_COLLECTIVE_BROADCAST:
        return drawn(w, seed, w->root, i);
    case HOP_COLLECTIVE_SCATTER:
        return drawn(w, seed, w->root, part_start(w, r) + i);
    case HOP_COLLECTIVE_ALLTOALL:
        return drawn(w, seed, (uint32_t)(i / part_size(w, r)), part_start(w, r) + i % part_size(w, r));
    default: /* gathers */
        while (part_start(w, from + 1) <= i)
            from++;
        return drawn(w, seed, from, i - part_start(w, from));
    }
}

/* ---- a rank's memory and the program's buffers ---- */

static inline uint32_t find_plan_buffer(const struct hop_program *program, const char *name, uint64_t *bytes)
{
    uint32_t buffer = hop_program_find(program, name);
    *bytes = 0; /* nothing touches it */
    (void)hop_program_buffer(program, buffer, &name, bytes);
    return buffer;
}

/* A program's buffer is as long as what the schedule touches; what is behind that stays as it is in `image`. */
static inline enum hop_status write_image(struct hop_program *program, const char *name, const unsigned char *image,
                                          uint64_t size, struct hop_diag *diag)
{
    uint64_t bytes;
    uint32_t buffer = find_plan_buffer(program, name, &bytes);
    bytes = bytes < size ? bytes : size;
    return bytes ? hop_program_write(program, buffer, 0, image, bytes, diag) : HOP_OK;
}

static inline enum hop_status read_image(struct hop_program *program, const char *name, unsigned char *image,
                                         uint64_t size, struct hop_diag *diag)
{
    uint64_t bytes;
    uint32_t buffer = find_plan_buffer(program, name, &bytes);
    bytes = bytes < size ? bytes : size;
    return bytes ? hop_program_read(program, buffer, 0, image, bytes, diag) : HOP_OK;
}

struct images {
    unsigned char *in, *out; /* in place: the same memory */
    uint64_t in_bytes, out_bytes;
    uint32_t skew; /* bytes that they begin off what is aligned */
};

/* What the rank puts in, and rubbish where its results go. */
static inline bool make_images(struct images *images, const struct wanted *w, uint64_t seed, uint32_t r)
{
    uint64_t width = hop_type_bytes(w->type), in = (in_begins(w, r) + puts_in(w, r)) * width;
    uint64_t out = (out_begins(w, r) + gets(w, r)) * width, both = in > out ? in : out;
    images->in_bytes = w->in_place ? both : in;
    images->out_bytes = w->in_place ? both : out;
    images->skew = seed % 3 == 1 ? 1 + (uint32_t)(seed + r) % 8 : 0;
    images->in = malloc(images->in_bytes + 16);
    images->out = w->in_place ? images->in : malloc(images->out_bytes + 16);
    if (!images->in || !images->out)
        return false;
    images->in += images->skew;
    images->out += images->skew;
    memset(images->in, 0xa5, images->in_bytes);
    memset(images->out, 0x5a, images->out_bytes);
    for (uint64_t i = 0; i < puts_in(w, r); i++)
        put_number(w->type, drawn(w, seed, r, i), images->in + (in_begins(w, r) + i) * width);
    return true;
}

static inline void free_images(const struct wanted *w, struct images *images)
{
    free(images->in - images->skew);
    if (!w->in_place)
        free(images->out - images->skew);
}

/* The program works on the images themselves. */
static inline enum hop_status bind_images(struct hop_program *program, bool in_place, const struct images *images,
                                          struct hop_diag *diag)
{
    struct hop_binding bindings[2];
    uint32_t count = 0;
    if (hop_program_find(program, in_place ? "data" : "in") != UINT32_MAX)
        bindings[count++] = (struct hop_binding){hop_program_find(program, in_place ? "data" : "in"), images->in};
    if (!in_place && hop_program_find(program, "out") != UINT32_MAX)
        bindings[count++] = (struct hop_binding){hop_program_find(program, "out"), images->out};
    return hop_program_bind(program, bindings, count, diag);
}

/* One launch with data of its own; what came of it must be right to the last bit. 0: it is. */
static inline int launch_and_compare(struct hop_team *team, struct hop_program *program, const struct wanted *w,
                                     const char *what, uint64_t seed, void (*between)(void), bool bound)
{
    struct images images;
    uint32_t r = hop_team_rank(team);
    uint64_t width = hop_type_bytes(w->type);
    unsigned char right[8];
    int wrong = 0;
    REQUIRE(make_images(&images, w, seed, r));
    if (bound)
        TRY(bind_images(program, w->in_place, &images, D));
    else
        TRY(write_image(program, w->in_place ? "data" : "in", images.in, images.in_bytes, D));
    if (!w->in_place && !bound)
        TRY(write_image(program, "out", images.out, images.out_bytes, D));
    if (between)
        between();
    TRY(hop_program_run(program, D));
    if (between)
        between();
    if (!bound)
        TRY(read_image(program, w->in_place ? "data" : "out", images.out, images.out_bytes, D));
    for (uint64_t i = 0; i < gets(w, r) && !wrong; i++) {
        put_number(w->type, expected(w, seed, r, i), right);
        wrong = memcmp(right, images.out + (out_begins(w, r) + i) * width, width) != 0;
        if (wrong)
            fprintf(stderr, "%s: rank %u: element %llu of launch %llu is wrong\n", what, r, (unsigned long long)i,
                    (unsigned long long)seed);
    }
    if (!w->in_place) {
        if (!bound)
            TRY(read_image(program, "in", images.in, images.in_bytes, D));
        for (uint64_t i = 0; i < puts_in(w, r) && !wrong; i++) {
            put_number(w->type, drawn(w, seed, r, i), right);
            wrong = memcmp(right, images.in + i * width, width) != 0;
            if (wrong)
                fprintf(stderr, "%s: rank %u: what was put in has changed\n", what, r);
        }
    }
    free_images(w, &images);
    return wrong;
}

/* ---- schedules of collectives ---- */

/* One device for all, two in turn, one each, or two machines by name, taken in turn. */
enum { PLACEMENTS = 4, RANKS_MOST = 16 };
static inline enum hop_status make_collective(const struct wanted *w, const char *algorithm, uint64_t segment,
                                              uint32_t placement, struct hop_schedule **schedule, struct hop_diag *diag)
{
    char names[RANKS_MOST][24];
    const char *devices[RANKS_MOST];
    for (uint32_t r = 0; r < w->n; r++) {
        const uint32_t number[PLACEMENTS] = {0, r % 2, r % 8, r / 2 % 2};
        if (placement == 3)
            (void)snprintf(names[r], sizeof names[r], "node%u.gpu%u", r % 2, number[placement]);
        else
            (void)snprintf(names[r], sizeof names[r], "gpu%u", number[placement]);
        devices[r] = names[r];
    }
    struct hop_ranks ranks = {devices, w->n};
    struct hop_collective_options options = {.kind = w->kind,
                                             .algorithm = algorithm,
                                             .vector_bytes = w->count * hop_type_bytes(w->type),
                                             .reduce = w->reduce,
                                             .type = w->type,
                                             .root = w->root,
                                             .in_place = w->in_place,
                                             .segment_bytes = segment};
    return hop_make_collective(&ranks, &options, schedule, diag);
}

/* All algorithms of a collective and, where it has them, some hierarchies; NULL past the last. name has room for 64. */
static inline bool algorithm_at(enum hop_collective_kind kind, size_t index, char *name)
{
    static const char *const hierarchies[] = {"gsb-gsb", "gsb-btb", "btb-gsb", "btb-btb", "gsb-btb-btb", "btb-gsb-gsb"};
    const char *known, *summary;
    bool levels = false, some = false;
    size_t i = 0;
    for (; hop_collective_algorithm(kind, i, &known, &summary, &levels); i++) {
        some = some || levels;
        if (i == index) {
            (void)snprintf(name, 64, "%s", known);
            return true;
        }
    }
    if (!some || index - i >= sizeof hierarchies / sizeof hierarchies[0])
        return false;
    (void)snprintf(name, 64, "%s", hierarchies[index - i]);
    return true;
}

#endif
