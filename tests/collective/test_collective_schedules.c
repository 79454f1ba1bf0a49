/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives as schedules, carried out: an interpreter with memory of its own runs each schedule's copies and
 * reductions in random orders that the dependencies allow, and what every rank ends with is compared with what the
 * collective is defined to give. Besides, any two operations of which one writes what the other touches must be
 * ordered.
 */
#include "test.h"

#include "base/base.h"
#include "collective/collective_levels.h"
#include "hopcast/collective.h"

enum { RANKS = 16, BUFFERS = 40, ROUNDS = 2, OPS = 4000 };

/* ---- definitions ---- */

struct wanted {
    enum hop_collective_kind kind;
    uint32_t n, root;
    uint64_t count; /* elements of the vector */
    enum hop_type type;
    enum hop_reduce reduce;
    bool in_place;
};

static uint32_t rings; /* of an allreduce by ring */
static bool in_a_line; /* a bucket's grid is n x 1 x 1, or 1 x n x 1 */

static uint64_t width(enum hop_type type)
{
    return hop_type_bytes(type);
}

/* Part p of `total` elements, as the header says: elements in front of it. */
static uint64_t start_of(uint64_t total, uint32_t n, uint32_t p)
{
    uint64_t start = 0;
    for (uint32_t i = 0; i < p; i++)
        start += total / n + (i < total % n);
    return start;
}

static uint64_t size_of(uint64_t total, uint32_t n, uint32_t p)
{
    return total / n + (p < total % n);
}

/* Elements that a rank puts in, and gets. */
static uint64_t puts_in(const struct wanted *w, uint32_t r)
{
    bool root_only = w->kind == HOP_COLLECTIVE_BROADCAST || w->kind == HOP_COLLECTIVE_SCATTER;
    bool part_only = w->kind == HOP_COLLECTIVE_ALLGATHER || w->kind == HOP_COLLECTIVE_GATHER;
    return root_only && r != w->root ? 0 : part_only ? size_of(w->count, w->n, r) : w->count;
}

static uint64_t gets(const struct wanted *w, uint32_t r)
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
        return size_of(w->count, w->n, r);
    case HOP_COLLECTIVE_ALLTOALL:
        return w->n * size_of(w->count, w->n, r);
    default:
        return 0;
    }
}

/* In place: where in "data" what it puts in begins, and what it gets. */
static uint64_t in_begins(const struct wanted *w, uint32_t r)
{
    bool whole =
        w->in_place && (w->kind == HOP_COLLECTIVE_ALLGATHER || (w->kind == HOP_COLLECTIVE_GATHER && r == w->root));
    return whole ? start_of(w->count, w->n, r) : 0;
}

static uint64_t out_begins(const struct wanted *w, uint32_t r)
{
    return w->in_place && w->kind == HOP_COLLECTIVE_SCATTER && r == w->root ? start_of(w->count, w->n, r) : 0;
}

/* ---- elements ---- */

static double number_at(enum hop_type type, const unsigned char *at)
{
    double f64;
    float f32;
    int32_t i32;
    int64_t i64;
    uint16_t half;
    switch (type) {
    case HOP_TYPE_F64:
        memcpy(&f64, at, sizeof f64);
        return f64;
    case HOP_TYPE_F32:
        memcpy(&f32, at, sizeof f32);
        return (double)f32;
    case HOP_TYPE_I32:
        memcpy(&i32, at, sizeof i32);
        return i32;
    case HOP_TYPE_I64:
        memcpy(&i64, at, sizeof i64);
        return (double)i64;
    default: /* never reduced here: only moved */
        memcpy(&half, at, sizeof half);
        return half;
    }
}

static bool mixing; /* an operator for which order and brackets matter, in place of all */

static uint64_t combine_whole(enum hop_reduce reduce, int64_t a, int64_t b)
{
    if (mixing)
        return 3 * (uint64_t)a + 5 * (uint64_t)b;
    switch (reduce) {
    case HOP_REDUCE_SUM:
        return (uint64_t)a + (uint64_t)b;
    case HOP_REDUCE_PROD:
        return (uint64_t)a * (uint64_t)b;
    case HOP_REDUCE_MIN:
        return (uint64_t)(b < a ? b : a);
    default:
        return (uint64_t)(b > a ? b : a);
    }
}

static double combine_real(enum hop_reduce reduce, double a, double b)
{
    switch (reduce) {
    case HOP_REDUCE_SUM:
        return a + b;
    case HOP_REDUCE_PROD:
        return a * b;
    case HOP_REDUCE_MIN:
        return b < a ? b : a;
    default:
        return b > a ? b : a;
    }
}

/* a := a op b */
static void combine(enum hop_reduce reduce, enum hop_type type, unsigned char *a, const unsigned char *b)
{
    if (type == HOP_TYPE_I32) {
        int32_t x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        uint32_t sum = (uint32_t)combine_whole(reduce, x, y);
        memcpy(a, &sum, sizeof sum);
    } else if (type == HOP_TYPE_I64) {
        int64_t x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        uint64_t sum = combine_whole(reduce, x, y);
        memcpy(a, &sum, sizeof sum);
    } else if (type == HOP_TYPE_F32) {
        float sum = (float)combine_real(reduce, number_at(type, a), number_at(type, b));
        memcpy(a, &sum, sizeof sum);
    } else {
        assert_int_equal(type, HOP_TYPE_F64);
        double sum = combine_real(reduce, number_at(type, a), number_at(type, b));
        memcpy(a, &sum, sizeof sum);
    }
}

static void draw(enum hop_type type, unsigned char *at)
{
    uint32_t bits[2] = {random_below(UINT32_MAX), random_below(UINT32_MAX)};
    float f32 = (float)(0.5 + random_below(1000) / 1000.0);
    double f64 = 0.5 + random_below(1000000) / 1e6;
    if (type == HOP_TYPE_F32)
        memcpy(at, &f32, sizeof f32);
    else if (type == HOP_TYPE_F64)
        memcpy(at, &f64, sizeof f64);
    else
        memcpy(at, bits, width(type));
}

/* ---- memory ---- */

struct buffer {
    uint32_t rank;
    const char *name;
    unsigned char *bytes;
    uint64_t size; /* the largest offset touched; users' buffers: what they must have */
};
struct memory {
    struct buffer buffers[RANKS * BUFFERS];
    uint32_t count;
};

static struct buffer *find_buffer(struct memory *memory, uint32_t rank, const char *name)
{
    for (uint32_t b = 0; b < memory->count; b++) {
        if (memory->buffers[b].rank == rank && strcmp(memory->buffers[b].name, name) == 0)
            return &memory->buffers[b];
    }
    assert_true(memory->count < RANKS * BUFFERS);
    memory->buffers[memory->count] = (struct buffer){.rank = rank, .name = name};
    return &memory->buffers[memory->count++];
}

static bool is_users(const char *name)
{
    return strcmp(name, "in") == 0 || strcmp(name, "out") == 0 || strcmp(name, "data") == 0;
}

/* A scratch buffer grows to what is touched; a user's has its size. */
static void touch(struct memory *memory, const struct hop_place *place, uint64_t bytes)
{
    assert_true(place->rank >= 0 && place->buffer);
    struct buffer *buffer = find_buffer(memory, (uint32_t)place->rank, place->buffer);
    uint64_t end = place->offset_bytes + bytes;
    if (is_users(place->buffer))
        assert_true(end <= buffer->size);
    else if (end > buffer->size)
        buffer->size = end;
}

/* Places read, then places written. */
static uint32_t list_places(const struct hop_op *op, const struct hop_place **places, uint32_t *reads)
{
    uint32_t count = 0;
    if (op->kind == HOP_OP_COPY) {
        places[count++] = &op->from;
    } else {
        for (uint32_t i = 0; i < op->input_count; i++)
            places[count++] = &op->inputs[i];
    }
    *reads = count;
    places[count++] = &op->to;
    for (uint32_t i = 0; i < op->output_count; i++)
        places[count++] = &op->outputs[i];
    return count;
}

static void add_users(struct memory *memory, const struct wanted *w)
{
    for (uint32_t r = 0; r < w->n; r++) {
        uint64_t in = (in_begins(w, r) + puts_in(w, r)) * width(w->type),
                 out = (out_begins(w, r) + gets(w, r)) * width(w->type);
        if (w->in_place) {
            find_buffer(memory, r, "data")->size = in > out ? in : out;
        } else {
            find_buffer(memory, r, "in")->size = in;
            find_buffer(memory, r, "out")->size = out;
        }
    }
}

static void make_memory(struct memory *memory, const struct wanted *w, const struct hop_schedule *schedule)
{
    const struct hop_place *places[2 * 64 + 2];
    memory->count = 0;
    add_users(memory, w);
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        uint32_t reads, count = list_places(op, places, &reads);
        assert_true(reads <= 64 && count - reads <= 64);
        for (uint32_t k = 0; k < count; k++)
            touch(memory, places[k], op->bytes);
    }
    for (uint32_t b = 0; b < memory->count; b++) {
        memory->buffers[b].bytes = malloc(memory->buffers[b].size + 1);
        assert_non_null(memory->buffers[b].bytes);
        for (uint64_t i = 0; i < memory->buffers[b].size; i++)
            memory->buffers[b].bytes[i] = (unsigned char)(0xa5 + 31 * i); /* rubbish */
    }
}

static void free_memory(struct memory *memory)
{
    for (uint32_t b = 0; b < memory->count; b++)
        free(memory->buffers[b].bytes);
}

static unsigned char *bytes_at(struct memory *memory, const struct hop_place *place)
{
    return find_buffer(memory, (uint32_t)place->rank, place->buffer)->bytes + place->offset_bytes;
}

/* ---- carrying out ---- */

static void carry_out(struct memory *memory, const struct hop_op *op)
{
    const struct hop_place *places[2 * 64 + 2];
    uint32_t reads, count = list_places(op, places, &reads);
    unsigned char *result = malloc(op->bytes + 1);
    memcpy(result, bytes_at(memory, places[0]), op->bytes);
    for (uint32_t i = 1; i < reads; i++) {
        const unsigned char *more = bytes_at(memory, places[i]);
        for (uint64_t at = 0; at < op->bytes; at += width(op->type))
            combine(op->reduce, op->type, result + at, more + at);
    }
    for (uint32_t i = reads; i < count; i++)
        memcpy(bytes_at(memory, places[i]), result, op->bytes);
    free(result);
}

/* All operations, each time one of those that may go, drawn at random. */
static void run_in_random_order(struct memory *memory, const struct hop_schedule *schedule)
{
    uint32_t count = hop_schedule_count(schedule), left = count, ready_count = 0;
    uint32_t *waits = calloc(count + 1, sizeof *waits), *ready = calloc(count + 1, sizeof *ready);
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        waits[i] = op->after_count;
        for (uint32_t k = 0; k < op->after_count; k++)
            assert_true(op->after[k] < i); /* in file order nothing can wait for itself */
        if (waits[i] == 0)
            ready[ready_count++] = i;
    }
    while (ready_count > 0) {
        uint32_t drawn = random_below(ready_count), now = ready[drawn];
        ready[drawn] = ready[--ready_count];
        carry_out(memory, hop_schedule_op(schedule, now));
        left--;
        for (uint32_t i = now + 1; i < count; i++) {
            const struct hop_op *op = hop_schedule_op(schedule, i);
            for (uint32_t k = 0; k < op->after_count; k++) {
                if (op->after[k] == now && --waits[i] == 0)
                    ready[ready_count++] = i;
            }
        }
    }
    assert_int_equal(left, 0);
    free(waits);
    free(ready);
}

/* ---- what each rank must end with ---- */

/* inputs[r]: what r puts in. */
static void expect(const struct wanted *w, unsigned char *const *inputs, uint32_t r, unsigned char *result)
{
    uint64_t size = width(w->type), mine = start_of(w->count, w->n, r), part = size_of(w->count, w->n, r);
    switch (w->kind) {
    case HOP_COLLECTIVE_ALLREDUCE:
    case HOP_COLLECTIVE_REDUCE:
    case HOP_COLLECTIVE_REDUCE_SCATTER: {
        bool scatter = w->kind == HOP_COLLECTIVE_REDUCE_SCATTER;
        uint64_t from = scatter ? mine : 0;
        for (uint64_t i = 0; i < gets(w, r); i++) {
            memcpy(result + i * size, inputs[0] + (from + i) * size, size);
            for (uint32_t k = 1; k < w->n; k++)
                combine(w->reduce, w->type, result + i * size, inputs[k] + (from + i) * size);
        }
        break;
    }
    case HOP_COLLECTIVE_BROADCAST:
        memcpy(result, inputs[w->root], w->count * size);
        break;
    case HOP_COLLECTIVE_ALLGATHER:
    case HOP_COLLECTIVE_GATHER:
        for (uint32_t k = 0; gets(w, r) > 0 && k < w->n; k++)
            memcpy(result + start_of(w->count, w->n, k) * size, inputs[k], size_of(w->count, w->n, k) * size);
        break;
    case HOP_COLLECTIVE_SCATTER:
        memcpy(result, inputs[w->root] + mine * size, part * size);
        break;
    case HOP_COLLECTIVE_ALLTOALL:
        for (uint32_t k = 0; k < w->n; k++)
            memcpy(result + k * part * size, inputs[k] + mine * size, part * size);
        break;
    default:
        break;
    }
}

static void assert_same(const struct wanted *w, const char *what, const unsigned char *got, const unsigned char *want,
                        uint64_t count)
{
    bool real = w->type == HOP_TYPE_F32 || w->type == HOP_TYPE_F64;
    bool reduces = w->kind == HOP_COLLECTIVE_ALLREDUCE || w->kind == HOP_COLLECTIVE_REDUCE ||
                   w->kind == HOP_COLLECTIVE_REDUCE_SCATTER;
    uint64_t size = width(w->type);
    if (!real || !reduces) {
        if (memcmp(got, want, count * size) != 0)
            fail_msg("%s: wrong bytes", what);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        double a = number_at(w->type, got + i * size), b = number_at(w->type, want + i * size);
        if (!(a - b <= 1e-5 * b && b - a <= 1e-5 * b)) /* all are above 0 */
            fail_msg("%s: element %llu is %g, not %g", what, (unsigned long long)i, a, b);
    }
}

static void check_results(const struct wanted *w, const char *what, const struct hop_schedule *schedule)
{
    struct memory memory;
    unsigned char *inputs[RANKS], *first[RANKS] = {NULL};
    uint64_t size = width(w->type);
    for (uint32_t r = 0; r < w->n; r++) {
        inputs[r] = malloc(puts_in(w, r) * size + 1);
        for (uint64_t i = 0; i < puts_in(w, r); i++)
            draw(w->type, inputs[r] + i * size);
    }
    for (int round = 0; round < ROUNDS; round++) {
        make_memory(&memory, w, schedule);
        for (uint32_t r = 0; r < w->n; r++)
            memcpy(find_buffer(&memory, r, w->in_place ? "data" : "in")->bytes + in_begins(w, r) * size, inputs[r],
                   puts_in(w, r) * size);
        run_in_random_order(&memory, schedule);
        for (uint32_t r = 0; r < w->n; r++) {
            uint64_t count = gets(w, r);
            unsigned char *want = malloc(count * size + 1);
            const unsigned char *got =
                find_buffer(&memory, r, w->in_place ? "data" : "out")->bytes + out_begins(w, r) * size;
            expect(w, inputs, r, want);
            assert_same(w, what, got, want, count);
            if (round == 0) { /* the order of execution must not show in a single bit */
                memcpy(want, got, count * size);
                first[r] = want;
            } else {
                if (memcmp(first[r], got, count * size) != 0)
                    fail_msg("%s: another order of execution gives other bits", what);
                free(want);
            }
            if (w->kind == HOP_COLLECTIVE_ALLREDUCE && memcmp(first[0], got, count * size) != 0)
                fail_msg("%s: ranks end with different bits", what);
            if (!w->in_place && memcmp(find_buffer(&memory, r, "in")->bytes, inputs[r], puts_in(w, r) * size) != 0)
                fail_msg("%s: what was put in has changed", what);
        }
        free_memory(&memory);
    }
    for (uint32_t r = 0; r < w->n; r++) {
        free(inputs[r]);
        free(first[r]);
    }
}

/* ---- races ---- */

struct access {
    const char *buffer;
    uint32_t rank, op;
    uint64_t begin, end;
    bool writes;
};

/* Bit i of before[op]: operation i has ended when op starts. */
static uint64_t *find_before(const struct hop_schedule *schedule, uint32_t *words)
{
    uint32_t count = hop_schedule_count(schedule);
    *words = count / 64 + 1;
    uint64_t *before = calloc((size_t)count * *words + 1, sizeof *before);
    assert_non_null(before);
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        uint64_t *mine = before + (size_t)i * *words;
        for (uint32_t k = 0; k < op->after_count; k++) {
            const uint64_t *theirs = before + (size_t)op->after[k] * *words;
            for (uint32_t word = 0; word < *words; word++)
                mine[word] |= theirs[word];
            mine[op->after[k] / 64] |= 1ull << op->after[k] % 64;
        }
    }
    return before;
}

static int by_place(const void *a, const void *b)
{
    const struct access *x = a, *y = b;
    int names = strcmp(x->buffer, y->buffer);
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
           : names            ? names
                              : (x->begin > y->begin) - (x->begin < y->begin);
}

static void check_races(const char *what, const struct hop_schedule *schedule)
{
    const struct hop_place *places[2 * 64 + 2];
    uint32_t words, count = 0, capacity = 0;
    uint64_t *before = find_before(schedule, &words);
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++)
        capacity += 2 + hop_schedule_op(schedule, i)->input_count + hop_schedule_op(schedule, i)->output_count;
    struct access *all = calloc(capacity + 1, sizeof *all);
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        uint32_t reads, touched = list_places(op, places, &reads);
        for (uint32_t k = 0; k < touched; k++)
            all[count++] = (struct access){places[k]->buffer,       (uint32_t)places[k]->rank,           i,
                                           places[k]->offset_bytes, places[k]->offset_bytes + op->bytes, k >= reads};
    }
    qsort(all, count, sizeof *all, by_place);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = i + 1; k < count && all[k].rank == all[i].rank && strcmp(all[k].buffer, all[i].buffer) == 0 &&
                                 all[k].begin < all[i].end;
             k++) {
            const struct access *a = &all[i], *b = &all[k];
            if (a->op == b->op) { /* an output may be an input, whole; nothing else may overlap */
                bool same = a->begin == b->begin && a->writes != b->writes;
                if (!same && (a->writes || b->writes))
                    fail_msg("%s: %s overlaps itself", what, hop_schedule_op(schedule, a->op)->name);
                continue;
            }
            uint32_t first = a->op < b->op ? a->op : b->op, second = a->op < b->op ? b->op : a->op;
            if ((a->writes || b->writes) && !(before[(size_t)second * words + first / 64] >> first % 64 & 1))
                fail_msg("%s: %s and %s touch the same bytes, in any order", what,
                         hop_schedule_op(schedule, first)->name, hop_schedule_op(schedule, second)->name);
        }
    }
    free(all);
    free(before);
}

/* ---- barriers ---- */

static uint32_t performer(const struct hop_op *op)
{
    return (uint32_t)(op->by >= 0 ? op->by : op->kind == HOP_OP_COPY ? op->from.rank : op->to.rank);
}

/* A rank has come once it performs anything; it may go when all that it performs or is given has ended. */
static void check_barrier(const char *what, uint32_t n, const struct hop_schedule *schedule)
{
    uint32_t words, known[RANKS];
    uint64_t *before = find_before(schedule, &words);
    for (uint32_t r = 0; r < n; r++)
        known[r] = 1u << r;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        uint32_t told = 1u << performer(op);
        for (uint32_t k = 0; k < i; k++) {
            if (before[(size_t)i * words + k / 64] >> k % 64 & 1)
                told |= 1u << performer(hop_schedule_op(schedule, k));
        }
        known[performer(op)] |= told;
        known[op->to.rank] |= told;
    }
    for (uint32_t r = 0; r < n; r++) {
        if (known[r] != (1u << n) - 1)
            fail_msg("%s: rank %u goes before all have come", what, r);
    }
    free(before);
}

/* ---- all of them ---- */

enum { PLACEMENTS = 6 };

/* Where n ranks sit: one device, two uneven ones, two in turn, one each, two nodes uneven, two nodes in turn. */
static void place_ranks(uint32_t placement, uint32_t n, char (*names)[24], const char **devices)
{
    for (uint32_t r = 0; r < n; r++) {
        uint32_t third = r * 3 / n;
        const char *format[PLACEMENTS] = {"gpu0", "gpu%u", "gpu%u", "gpu%u", "node%u.gpu%u", "node%u.gpu%u"};
        uint32_t first[PLACEMENTS] = {0, third > 0, r % 2, r, third > 1, r % 2},
                 second = placement == 4 ? third : r / 2 % 2;
        (void)snprintf(names[r], sizeof names[r], format[placement], first[placement], second);
        devices[r] = names[r];
    }
}

static struct hop_schedule *make(const struct wanted *w, const char *algorithm, uint64_t segment_bytes,
                                 uint32_t placement)
{
    char names[RANKS][24];
    const char *devices[RANKS];
    place_ranks(placement, w->n, names, devices);
    struct hop_ranks ranks = {devices, w->n};
    uint32_t orders[3 * RANKS];
    for (uint32_t i = 0; i < rings * w->n; i++) { /* shuffled */
        uint32_t other = i - random_below(i % w->n + 1);
        orders[i] = orders[other];
        orders[other] = i % w->n;
    }
    struct hop_collective_options options = {.kind = w->kind,
                                             .algorithm = algorithm,
                                             .rings = rings,
                                             .orders = orders,
                                             .vector_bytes = w->count * width(w->type),
                                             .reduce = w->reduce,
                                             .type = w->type,
                                             .root = w->root,
                                             .in_place = w->in_place,
                                             .segment_bytes = segment_bytes,
                                             .callers = w->count % 2};
    if (in_a_line)
        memcpy(options.grid, w->count % 2 ? (uint32_t[]){w->n, 1, 1} : (uint32_t[]){1, w->n, 1}, sizeof options.grid);
    struct hop_schedule *schedule = NULL;
    struct hop_diag diag = {0};
    if (hop_make_collective(&ranks, &options, &schedule, &diag) != HOP_OK)
        fail_msg("%s by %s, %u ranks: %s (%s)", hop_collective_name(w->kind), algorithm ? algorithm : "default", w->n,
                 diag.what, diag.expected);
    struct hop_collective_size size; /* was known before */
    CHECK(hop_collective_count(&ranks, &options, &size, D));
    assert_int_equal(size.count, hop_schedule_count(schedule));
    return schedule;
}

static bool can_cut(enum hop_collective_kind kind, const char *algorithm)
{
    const char *device = "gpu0";
    struct hop_ranks ranks = {&device, 1};
    struct hop_collective_options options = {
        .kind = kind, .algorithm = algorithm, .type = HOP_TYPE_I32, .segment_bytes = 64};
    struct hop_schedule *schedule = NULL;
    enum hop_status status = hop_make_collective(&ranks, &options, &schedule, NULL);
    hop_schedule_destroy(status == HOP_OK ? schedule : NULL);
    return status == HOP_OK;
}

static void check_one(struct wanted w, const char *algorithm, uint64_t segment_bytes, uint32_t placement)
{
    char what[200];
    (void)snprintf(what, sizeof what, "%s by %s, %u ranks, %llu of %s %s, root %u, segments of %llu, placement %u%s",
                   hop_collective_name(w.kind), algorithm ? algorithm : "default", w.n, (unsigned long long)w.count,
                   hop_type_name(w.type), hop_reduce_name(w.reduce), w.root, (unsigned long long)segment_bytes,
                   placement, w.in_place ? ", in place" : "");
    struct hop_schedule *schedule = make(&w, algorithm, segment_bytes, placement);
    assert_true(hop_schedule_count(schedule) < OPS);
    check_races(what, schedule);
    if (w.kind == HOP_COLLECTIVE_BARRIER)
        check_barrier(what, w.n, schedule);
    else
        check_results(&w, what, schedule);
    if (w.count == 0 && w.kind != HOP_COLLECTIVE_BARRIER)
        assert_int_equal(hop_schedule_count(schedule), 0);
    hop_schedule_destroy(schedule);
}

static void check_algorithm(enum hop_collective_kind kind, const char *algorithm)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16};
    static const enum hop_type types[] = {HOP_TYPE_I32, HOP_TYPE_I64, HOP_TYPE_F32, HOP_TYPE_F64};
    bool cuts = algorithm && can_cut(kind, algorithm); /* a default may be one that cannot */
    for (size_t s = 0; s < HOP_COUNT(sizes); s += REPEATED(1, 4)) {
        uint32_t n = sizes[s];
        const uint64_t counts[] = {0, 1, n - 1, n, 7, 64, 1000};
        for (uint32_t placement = 0; placement < PLACEMENTS; placement++) {
            for (size_t c = 0; c < HOP_COUNT(counts); c++) {
                if (counts[c] == 1000 && random_below(4) > 0)
                    continue;
                static const uint64_t segments[] = {0, 4, 200, 1 << 20};
                uint64_t segment = cuts ? segments[random_below(HOP_COUNT(segments))] : 0;
                if (segment == 4 && counts[c] >= 64) /* not thousands of them */
                    segment = 16 * counts[c] / 10;
                struct wanted w = {.kind = kind,
                                   .n = n,
                                   .root = random_below(n),
                                   .count = counts[c],
                                   .type = types[random_below(HOP_COUNT(types))],
                                   .reduce = (enum hop_reduce)random_below(HOP_REDUCE_AND),
                                   .in_place = random_below(2)};
                check_one(w, algorithm, segment, placement);
                rings = 1 + random_below(3);
                if (kind == HOP_COLLECTIVE_ALLREDUCE && algorithm && strcmp(algorithm, "ring") == 0)
                    check_one(w, algorithm, segment, placement);
                rings = 0;
                in_a_line = algorithm && strcmp(algorithm, "bucket") == 0;
                if (in_a_line)
                    check_one(w, algorithm, segment, placement);
                in_a_line = false;
            }
        }
    }
}

static void every_algorithm_gives_what_its_collective_is_defined_to(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < HOP_COLLECTIVE_COUNT; kind++) {
        const char *name, *summary;
        bool levels;
        size_t i = 0;
        for (; hop_collective_algorithm(kind, i, &name, &summary, &levels); i++) {
            assert_true(strlen(summary) > 10 && strlen(summary) < 90);
            check_algorithm(kind, name);
        }
        assert_true(i >= 3);
        check_algorithm(kind, NULL);
    }
}

static void every_hierarchy_gives_what_its_collective_is_defined_to(void **state)
{
    (void)state;
    static const struct {
        int kind; /* -1: all */
        const char *algorithm;
    } rows[] = {
        {-1, "gsb-gsb"},
        {-1, "gsb-btb"},
        {-1, "btb-gsb"},
        {-1, "btb-btb"},
        {-1, "gsb-btb-gsb"},
        {-1, "btb-gsb-btb"},
        {HOP_COLLECTIVE_ALLREDUCE, "gsb-btb-ring"},
        {HOP_COLLECTIVE_ALLREDUCE, "gsb-ring"},
        {HOP_COLLECTIVE_ALLREDUCE, "btb-gsb-doubling"},
        {HOP_COLLECTIVE_ALLREDUCE, "binomial-gsb-rabenseifner"},
        {HOP_COLLECTIVE_ALLREDUCE, "gsb-one-shot"},
        {HOP_COLLECTIVE_ALLREDUCE, "gsb-btb-two-shot"},
        {HOP_COLLECTIVE_ALLGATHER, "gsb-btb-ring"},
        {HOP_COLLECTIVE_ALLGATHER, "btb-bruck"},
        {HOP_COLLECTIVE_ALLGATHER, "gsb-gsb-direct"},
        {HOP_COLLECTIVE_REDUCE_SCATTER, "gsb-btb-ring"},
        {HOP_COLLECTIVE_REDUCE_SCATTER, "btb-one-shot"},
        {HOP_COLLECTIVE_REDUCE_SCATTER, "gsb-gsb-direct"},
        {HOP_COLLECTIVE_BROADCAST, "chain-binomial-direct"},
        {HOP_COLLECTIVE_REDUCE, "one-shot-chain"},
        {HOP_COLLECTIVE_REDUCE, "gsb-one-shot-binomial"},
        {HOP_COLLECTIVE_GATHER, "direct-binomial"},
        {HOP_COLLECTIVE_SCATTER, "binomial-direct"},
        {HOP_COLLECTIVE_BARRIER, "gsb-btb-dissemination"},
        {HOP_COLLECTIVE_BARRIER, "btb-dissemination"},
        {HOP_COLLECTIVE_BARRIER, "gsb-bruck"},
    };
    for (size_t i = 0; i < HOP_COUNT(rows); i++) {
        for (unsigned kind = 0; kind < HOP_COLLECTIVE_COUNT; kind++) {
            if (rows[i].kind >= 0 ? (unsigned)rows[i].kind == kind : kind != HOP_COLLECTIVE_ALLTOALL)
                check_algorithm(kind, rows[i].algorithm);
        }
    }
}

/* All that moves without reducing takes any element. */
static void elements_of_two_bytes_are_moved_whole(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 9; n++) {
        struct wanted w = {HOP_COLLECTIVE_ALLTOALL, n, 0, 2 * n + 1, HOP_TYPE_F16, HOP_REDUCE_SUM, n % 2};
        check_one(w, "pairwise", 0, 3);
        w.kind = HOP_COLLECTIVE_ALLGATHER;
        check_one(w, "bruck", 0, 2);
        w.kind = HOP_COLLECTIVE_BROADCAST;
        check_one(w, "chain", 6, 4);
    }
}

/* ---- order ---- */

/* results[r]: the vector that rank r of an allreduce ends with. */
static void run_allreduce(const char *algorithm, uint32_t n, uint64_t count, uint32_t placement, bool in_place,
                          int64_t (*results)[64])
{
    struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, n, 0, count, HOP_TYPE_I64, HOP_REDUCE_SUM, in_place};
    struct hop_schedule *schedule = make(&w, algorithm, 0, placement);
    struct memory memory;
    make_memory(&memory, &w, schedule);
    for (uint32_t r = 0; r < n; r++) {
        for (uint64_t i = 0; i < count; i++) {
            int64_t value = (int64_t)((r + 1) * 1000003u + i * 7919u);
            memcpy(find_buffer(&memory, r, in_place ? "data" : "in")->bytes + i * 8, &value, 8);
        }
    }
    run_in_random_order(&memory, schedule);
    for (uint32_t r = 0; r < n; r++)
        memcpy(results[r], find_buffer(&memory, r, in_place ? "data" : "out")->bytes, count * 8);
    free_memory(&memory);
    hop_schedule_destroy(schedule);
}

/* Whoever sums with whom, and in which order, must not hang on where ranks sit, nor differ between ranks: else floating
 * point results would. */
static void the_order_of_a_reduction_depends_on_algorithm_and_ranks_alone(void **state)
{
    (void)state;
    const char *name, *summary;
    bool levels;
    mixing = true;
    for (size_t a = 0; hop_collective_algorithm(HOP_COLLECTIVE_ALLREDUCE, a, &name, &summary, &levels); a++) {
        for (uint32_t n = 2; n <= RANKS; n++) {
            int64_t first[RANKS][64], other[RANKS][64];
            run_allreduce(name, n, 48, 3, false, first);
            for (uint32_t r = 1; r < n; r++)
                assert_memory_equal(first[0], first[r], 48 * 8);
            for (uint32_t placement = 0; placement < PLACEMENTS; placement++) {
                run_allreduce(name, n, 48, placement, placement % 2, other);
                for (uint32_t r = 0; r < n; r++)
                    assert_memory_equal(first[0], other[r], 48 * 8);
            }
        }
    }
    mixing = false;
}

/* ---- closed forms ---- */

/* Bytes of copies out of a rank's device memory to another device. */
static uint64_t bytes_sent(const struct hop_schedule *schedule, uint32_t rank)
{
    uint64_t sent = 0;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        if (op->kind == HOP_OP_COPY && op->from.rank == (int32_t)rank && strcmp(op->from.device, op->to.device) != 0)
            sent += op->bytes;
    }
    return sent;
}

static uint32_t count_kind_of(const struct hop_schedule *schedule, enum hop_op_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++)
        count += hop_schedule_op(schedule, i)->kind == kind;
    return count;
}

/* The most copies between devices one after the other. */
static uint32_t rounds_of(const struct hop_schedule *schedule)
{
    uint32_t *depth = calloc(hop_schedule_count(schedule) + 1, sizeof *depth), longest = 0;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        for (uint32_t k = 0; k < op->after_count; k++)
            depth[i] = depth[op->after[k]] > depth[i] ? depth[op->after[k]] : depth[i];
        depth[i] += op->kind == HOP_OP_COPY && strcmp(op->from.device, op->to.device) != 0;
        longest = depth[i] > longest ? depth[i] : longest;
    }
    free(depth);
    return longest;
}

static uint32_t log2_up(uint32_t n)
{
    uint32_t rounds = 0;
    while (1u << rounds < n)
        rounds++;
    return rounds;
}

static void what_ranks_send_follows_the_closed_forms(void **state)
{
    (void)state;
    static const struct {
        const char *algorithm;
        bool powers_only;
    } rows[] = {{"ring", false}, {"two-shot", false}, {"rabenseifner", true}, {"doubling", true}, {"one-shot", false}};
    for (uint32_t n = 2; n <= RANKS; n++) {
        for (size_t i = 0; i < HOP_COUNT(rows); i++) {
            if (rows[i].powers_only && (n & (n - 1)) != 0)
                continue;
            struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, n, 0, 1000 * n, HOP_TYPE_F32, HOP_REDUCE_SUM, false};
            struct hop_schedule *schedule = make(&w, rows[i].algorithm, 0, 3);
            uint64_t all = 4000ull * n, part = 4000;
            uint64_t sent[] = {2 * (n - 1) * part, 2 * (n - 1) * part, 2 * (n - 1) * part, log2_up(n) * all,
                               (n - 1) * all};
            uint32_t rounds[] = {2 * (n - 1), 2, 2 * log2_up(n), log2_up(n), 1};
            for (uint32_t r = 0; r < n; r++)
                assert_int_equal(bytes_sent(schedule, r), sent[i]);
            assert_int_equal(rounds_of(schedule), rounds[i]);
            hop_schedule_destroy(schedule);
        }
    }
}

static void one_shot_on_one_device_is_one_reduction_and_no_copy(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= RANKS; n++) {
        struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, n, 0, 1000, HOP_TYPE_F32, HOP_REDUCE_SUM, false};
        struct hop_schedule *schedule = make(&w, "one-shot", 0, 0);
        assert_int_equal(hop_schedule_count(schedule), 1);
        assert_int_equal(hop_schedule_op(schedule, 0)->input_count, n);
        assert_int_equal(hop_schedule_op(schedule, 0)->output_count, n - 1);
        hop_schedule_destroy(schedule);
        schedule = make(&w, "two-shot", 0, 0);
        assert_int_equal(hop_schedule_count(schedule), n);
        assert_int_equal(count_kind_of(schedule, HOP_OP_REDUCE), n);
        hop_schedule_destroy(schedule);
    }
}

/* One reduction of n inputs at the leader; everyone else copies in and copies out itself. */
static void gsb_copies_in_reduces_once_and_copies_out(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= RANKS; n++) {
        struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, n, 0, 1000, HOP_TYPE_F32, HOP_REDUCE_SUM, false};
        struct hop_schedule *schedule = make(&w, "gsb", 0, 0);
        assert_int_equal(count_kind_of(schedule, HOP_OP_COPY), 2 * (n - 1));
        assert_int_equal(count_kind_of(schedule, HOP_OP_REDUCE), 1);
        for (uint32_t r = 1; r < n; r++) {
            char name[24];
            (void)snprintf(name, sizeof name, "g.r%u", r);
            const struct hop_op *in = hop_schedule_op(schedule, hop_schedule_find(schedule, name));
            assert_int_equal(in->from.rank, r);
            assert_int_equal(in->by, -1);
            (void)snprintf(name, sizeof name, "out.r%u", r);
            const struct hop_op *out = hop_schedule_op(schedule, hop_schedule_find(schedule, name));
            assert_int_equal(out->by, r);
            assert_int_equal(out->after_count, 1);
        }
        hop_schedule_destroy(schedule);
    }
}

static void chains_go_in_segments_of_the_size_asked_for(void **state)
{
    (void)state;
    struct wanted w = {HOP_COLLECTIVE_BROADCAST, 4, 1, 1000, HOP_TYPE_F32, HOP_REDUCE_SUM, true};
    struct hop_schedule *schedule = make(&w, "chain", 1500, 3); /* 375 elements */
    assert_int_equal(hop_schedule_count(schedule), 3 * 3);
    assert_int_equal(rounds_of(schedule), 3); /* segments go side by side */
    assert_int_equal(hop_schedule_op(schedule, 8)->bytes, 1000);
    hop_schedule_destroy(schedule);
}

/* Across devices and nodes only leaders send, each its node's or device's result once. */
static void hierarchies_cross_nodes_once(void **state)
{
    (void)state;
    struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, 12, 0, 600, HOP_TYPE_I32, HOP_REDUCE_SUM, false};
    struct hop_schedule *schedule = make(&w, "gsb-btb-ring", 0, 4); /* node0: gpu0, gpu1; node1: gpu2; 4 ranks each */
    uint64_t between_nodes = 0, between_devices = 0;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        if (op->kind != HOP_OP_COPY || strcmp(op->from.device, op->to.device) == 0)
            continue;
        assert_true(op->from.rank % 4 == 0 && op->to.rank % 4 == 0);
        *(strncmp(op->from.device, op->to.device, 5) == 0 ? &between_devices : &between_nodes) += op->bytes;
    }
    assert_int_equal(between_nodes, 2 * 2400);   /* a ring of two: half there and half back, twice */
    assert_int_equal(between_devices, 2 * 2400); /* up and down */
    hop_schedule_destroy(schedule);
}

static void more_inputs_than_a_reduction_takes_are_reduced_in_turn(void **state)
{
    (void)state;
    const char *devices[200];
    for (uint32_t r = 0; r < 200; r++)
        devices[r] = "gpu0";
    struct hop_ranks ranks = {devices, 200};
    struct hop_collective_options options = {.algorithm = "one-shot", .vector_bytes = 64, .type = HOP_TYPE_I32};
    struct hop_schedule *schedule = NULL;
    CHECK(hop_make_collective(&ranks, &options, &schedule, D));
    uint32_t inputs = 0, outputs = 0;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        assert_true(op->input_count <= 64 && op->output_count < 64);
        for (uint32_t k = 0; k < op->input_count; k++)
            inputs += strcmp(op->inputs[k].buffer, "in") == 0;
        outputs += strcmp(op->to.buffer, "out") == 0 ? 1 + op->output_count : 0;
    }
    assert_int_equal(inputs, 200);
    assert_int_equal(outputs, 200);
    check_races("one-shot of 200", schedule);
    hop_schedule_destroy(schedule);
}

/* ---- nodes, names, refusals ---- */

static void nodes_may_be_told(void **state)
{
    (void)state;
    const char *devices[4] = {"a", "b", "c", "d"};
    const uint32_t nodes[4] = {7, 7, 3, 3};
    struct hop_ranks ranks = {devices, 4};
    struct hop_collective_options options = {
        .algorithm = "gsb-gsb-gsb", .vector_bytes = 64, .type = HOP_TYPE_I32, .nodes = nodes};
    struct hop_schedule *schedule = NULL;
    CHECK(hop_make_collective(&ranks, &options, &schedule, D));
    assert_int_not_equal(hop_schedule_find(schedule, "node.g.r1"), HOP_NONE);
    assert_int_not_equal(hop_schedule_find(schedule, "net.g.r2"), HOP_NONE);
    hop_schedule_destroy(schedule);
    options.nodes = NULL; /* names without a dot: one node */
    CHECK(hop_make_collective(&ranks, &options, &schedule, D));
    assert_int_not_equal(hop_schedule_find(schedule, "node.g.r3"), HOP_NONE);
    assert_int_equal(hop_schedule_find(schedule, "net.g.r2"), HOP_NONE);
    hop_schedule_destroy(schedule);
}

/* Two nodes may each have a device of one name: no reduction reads another node's memory, by whatever algorithm. */
static void check_reductions(enum hop_collective_kind kind, const char *algorithm)
{
    const char *devices[4] = {"host0", "host0", "host0", "host0"};
    const uint32_t nodes[4] = {0, 0, 1, 1};
    struct hop_ranks ranks = {devices, 4};
    struct hop_collective_options options = {
        .kind = kind, .algorithm = algorithm, .vector_bytes = 64, .type = HOP_TYPE_I32, .nodes = nodes};
    struct hop_schedule *schedule = NULL;
    CHECK(hop_make_collective(&ranks, &options, &schedule, D));
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        for (uint32_t p = 0; op->kind == HOP_OP_REDUCE && p < op->input_count; p++)
            assert_int_equal(nodes[op->inputs[p].rank], nodes[op->to.rank]);
        for (uint32_t p = 0; op->kind == HOP_OP_REDUCE && p < op->output_count; p++)
            assert_int_equal(nodes[op->outputs[p].rank], nodes[op->to.rank]);
    }
    hop_schedule_destroy(schedule);
}

static void reductions_stay_on_the_nodes_that_are_told(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < HOP_COLLECTIVE_COUNT; kind++) {
        const char *name, *summary;
        bool levels;
        for (size_t i = 0; hop_collective_algorithm(kind, i, &name, &summary, &levels); i++)
            check_reductions(kind, name);
        check_reductions(kind, NULL);
    }
}

/* Of two nodes of two devices with two ranks each; NULL: refused. */
static bool can_be_made(enum hop_collective_kind kind, const char *algorithm, char by[HOP_ALGORITHM_NAME_SIZE])
{
    const char *devices[8] = {"a.0", "a.0", "a.1", "a.1", "b.0", "b.0", "b.1", "b.1"};
    struct hop_ranks ranks = {devices, 8};
    struct hop_collective_options options = {
        .kind = kind, .algorithm = algorithm, .vector_bytes = 1 << 20, .type = HOP_TYPE_I32};
    struct hop_schedule *schedule = NULL;
    struct hop_diag diag;
    bool made = hop_make_collective_by(&ranks, &options, by, &schedule, &diag) == HOP_OK;
    hop_schedule_destroy(schedule);
    return made;
}

/* What the list of algorithms says of hierarchies: any outermost, those with `levels` inside. */
static void every_listed_algorithm_may_be_where_the_list_says(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < HOP_COLLECTIVE_COUNT; kind++) {
        const char *name, *summary;
        bool levels;
        for (size_t i = 0; hop_collective_algorithm(kind, i, &name, &summary, &levels); i++) {
            char joined[HOP_ALGORITHM_NAME_SIZE], by[HOP_ALGORITHM_NAME_SIZE];
            (void)snprintf(joined, sizeof joined, "gsb-btb-%.40s", name);
            assert_int_equal(can_be_made(kind, joined, by), kind != HOP_COLLECTIVE_ALLTOALL);
            if (kind != HOP_COLLECTIVE_ALLTOALL)
                assert_string_equal(by, joined);
            (void)snprintf(joined, sizeof joined, "%.40s-btb-gsb", name);
            assert_int_equal(can_be_made(kind, joined, by), levels && kind != HOP_COLLECTIVE_ALLTOALL);
        }
    }
}

/* docs/collectives.md, Algorithms, default. */
static void what_was_taken_is_told(void **state)
{
    (void)state;
    char by[HOP_ALGORITHM_NAME_SIZE] = "as it was";
    assert_true(can_be_made(HOP_COLLECTIVE_ALLREDUCE, NULL, by));
    assert_string_equal(by, "gsb-btb-ring");
    assert_true(can_be_made(HOP_COLLECTIVE_ALLREDUCE, "gsb-btb", by));
    assert_string_equal(by, "gsb-btb-ring");
    assert_true(can_be_made(HOP_COLLECTIVE_BARRIER, "default", by));
    assert_string_equal(by, "gsb-btb-dissemination");
    assert_true(can_be_made(HOP_COLLECTIVE_ALLTOALL, NULL, by));
    assert_string_equal(by, "direct");
    assert_true(can_be_made(HOP_COLLECTIVE_ALLREDUCE, "ring", NULL));
    assert_false(can_be_made(HOP_COLLECTIVE_ALLREDUCE, "pairwise", by));
    assert_string_equal(by, "direct");
}

static void a_schedule_reads_back_from_its_text(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < HOP_COLLECTIVE_COUNT; kind++) {
        struct wanted w = {kind, 7, 2, 700, HOP_TYPE_F32, HOP_REDUCE_MAX, false};
        struct hop_schedule *schedule = make(&w, NULL, 0, 1), *again = NULL;
        char *text = hop_schedule_to_text(schedule);
        assert_true(text[0] == '#');
        CHECK(hop_schedule_parse("again", text, strlen(text), &again, D));
        char *second = hop_schedule_to_text(again);
        assert_non_null(strstr(text, second)); /* comments are not kept */
        free(text);
        free(second);
        hop_schedule_destroy(schedule);
        hop_schedule_destroy(again);
    }
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const uint32_t twice[] = {0, 1, 2, 1};
    static const struct {
        struct hop_collective_options options;
        const char *part; /* of the diagnostic */
        uint32_t ranks;
    } rows[] = {
        {{.kind = HOP_COLLECTIVE_ALLREDUCE, .algorithm = "tree"}, "no allreduce can be made by 'tree'", 4},
        {{.kind = HOP_COLLECTIVE_ALLREDUCE, .algorithm = "gsb-"}, "no allreduce can be made by 'gsb-'", 4},
        {{.kind = HOP_COLLECTIVE_ALLREDUCE, .algorithm = ""}, "no allreduce can be made by ''", 4},
        {{.kind = HOP_COLLECTIVE_ALLREDUCE, .algorithm = "gsb-gsb-gsb-gsb"}, "no allreduce", 4},
        {{.kind = HOP_COLLECTIVE_ALLREDUCE, .algorithm = "chain"}, "no allreduce can be made by 'chain'", 4},
        {{.kind = HOP_COLLECTIVE_ALLREDUCE, .algorithm = "ring-gsb"}, "ring cannot be inside", 4},
        {{.kind = HOP_COLLECTIVE_ALLTOALL, .algorithm = "gsb-gsb"}, "not made in levels", 4},
        {{.kind = HOP_COLLECTIVE_ALLREDUCE, .algorithm = "ring", .segment_bytes = 8}, "segment by segment", 4},
        {{.kind = HOP_COLLECTIVE_REDUCE, .root = 4}, "root 4 is no rank", 4},
        {{.kind = HOP_COLLECTIVE_ALLREDUCE, .vector_bytes = 6, .type = HOP_TYPE_F32}, "no whole number of f32", 4},
        {{.kind = HOP_COLLECTIVE_ALLGATHER, .vector_bytes = (uint64_t)1 << 60}, "bytes among 4 ranks", 4},
        {{.kind = HOP_COLLECTIVE_ALLREDUCE, .type = HOP_TYPE_COUNT}, "unknown", 4},
        {{.kind = HOP_COLLECTIVE_ALLREDUCE}, "0 devices", 0},
        {{.kind = HOP_COLLECTIVE_ALLGATHER, .algorithm = "ring", .rings = 1, .orders = twice}, "something else", 4},
        {{.kind = HOP_COLLECTIVE_ALLREDUCE, .algorithm = "ring", .rings = 1, .orders = twice}, "each rank once", 4},
        {{.kind = HOP_COLLECTIVE_ALLREDUCE, .algorithm = "ring", .rings = 17, .orders = twice}, "17 rings", 4},
        {{.kind = HOP_COLLECTIVE_ALLREDUCE, .algorithm = "bucket", .grid = {2, 3, 1}}, "2 x 3 x 1", 4},
    };
    static const char *const devices[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < HOP_COUNT(rows); i++) {
        struct hop_ranks ranks = {devices, rows[i].ranks};
        struct hop_schedule *schedule = NULL;
        struct hop_diag diag = {0};
        assert_int_not_equal(hop_make_collective(&ranks, &rows[i].options, &schedule, &diag), HOP_OK);
        if (!strstr(diag.what, rows[i].part))
            fail_msg("'%s' does not say '%s'", diag.what, rows[i].part);
        assert_null(schedule);
    }
    static const char *many[4000];
    for (size_t r = 0; r < HOP_COUNT(many); r++)
        many[r] = "gpu0";
    struct hop_ranks crowd = {many, HOP_COUNT(many)};
    struct hop_collective_options options = {.kind = HOP_COLLECTIVE_ALLTOALL, .algorithm = "direct", .vector_bytes = 1 << 20};
    struct hop_schedule *schedule = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_make_collective(&crowd, &options, &schedule, &diag), HOP_ERR_LIMIT);
    assert_non_null(strstr(diag.what, "4000 ranks would have at least 15996000 operations"));
    const char *wrong[] = {"a", "b c"};
    struct hop_ranks ranks = {wrong, 2};
    options = (struct hop_collective_options){.kind = HOP_COLLECTIVE_BARRIER};
    assert_int_equal(hop_make_collective(&ranks, &options, &schedule, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.what, "b c"));
}

/* A vector of 2^34 elements in segments of 16, 2^30 of them: up the tree a copy and a reduction of each member but the
 * root, and a copy down. */
static void more_than_can_be_is_refused_with_its_number(void **state)
{
    (void)state;
    static const char *devices[1 << 20];
    for (size_t r = 0; r < HOP_COUNT(devices); r++)
        devices[r] = "gpu0";
    static const struct {
        struct hop_collective_options options;
        uint32_t ranks;
        const char *number;
    } rows[] = {
        {{.kind = HOP_COLLECTIVE_ALLREDUCE,
          .algorithm = "btb",
          .vector_bytes = UINT64_C(64) << 30,
          .type = HOP_TYPE_F32,
          .segment_bytes = 64},
         64,
         "allreduce by btb among 64 ranks would have 202937204736 operations"},
        {{.kind = HOP_COLLECTIVE_BROADCAST, .algorithm = "chain", .vector_bytes = 4 << 20, .type = HOP_TYPE_F32},
         1 << 20,
         "1048576 ranks would have 1099510579201 operations"}, /* and the root's own copy */
        {{.kind = HOP_COLLECTIVE_BROADCAST,
          .algorithm = "chain",
          .vector_bytes = UINT64_C(1) << 40,
          .type = HOP_TYPE_F16,
          .segment_bytes = 2},
         1 << 20,
         "would have 576460202547609601 operations"},
        {{.kind = HOP_COLLECTIVE_ALLREDUCE, .algorithm = "ring", .vector_bytes = 4, .type = HOP_TYPE_F32},
         1 << 20,
         "goes through 1099510579200 pairs"},
        {{.kind = HOP_COLLECTIVE_ALLTOALL, .algorithm = "gsb", .vector_bytes = 4, .type = HOP_TYPE_F32},
         1 << 20,
         "goes through 1099510579200 pairs"},
    };
    for (size_t i = 0; i < HOP_COUNT(rows); i++) {
        struct hop_ranks ranks = {devices, rows[i].ranks};
        struct hop_schedule *schedule;
        struct hop_diag diag = {0};
        assert_int_equal(hop_make_collective(&ranks, &rows[i].options, &schedule, &diag), HOP_ERR_LIMIT);
        if (!strstr(diag.what, rows[i].number))
            fail_msg("'%s' does not say '%s'", diag.what, rows[i].number);
    }
}

TEST_GROUP(collective_schedules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_gives_what_its_collective_is_defined_to),
        cmocka_unit_test(every_hierarchy_gives_what_its_collective_is_defined_to),
        cmocka_unit_test(elements_of_two_bytes_are_moved_whole),
        cmocka_unit_test(the_order_of_a_reduction_depends_on_algorithm_and_ranks_alone),
        cmocka_unit_test(what_ranks_send_follows_the_closed_forms),
        cmocka_unit_test(one_shot_on_one_device_is_one_reduction_and_no_copy),
        cmocka_unit_test(gsb_copies_in_reduces_once_and_copies_out),
        cmocka_unit_test(chains_go_in_segments_of_the_size_asked_for),
        cmocka_unit_test(hierarchies_cross_nodes_once),
        cmocka_unit_test(more_inputs_than_a_reduction_takes_are_reduced_in_turn),
        cmocka_unit_test(nodes_may_be_told),
        cmocka_unit_test(reductions_stay_on_the_nodes_that_are_told),
        cmocka_unit_test(every_listed_algorithm_may_be_where_the_list_says),
        cmocka_unit_test(what_was_taken_is_told),
        cmocka_unit_test(a_schedule_reads_back_from_its_text),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(more_than_can_be_is_refused_with_its_number),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
