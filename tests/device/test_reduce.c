/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions on the processor against the definition at struct hop_reduction, bit by bit: an element at a time here,
 * halves by a table of all their values. Each is done by the plain kernels, by the processor's best and past the
 * caches.
 */
#include "device/reduce_host.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

#include "base/base.h"

/* ---- halves by their definition ---- */

/* All that are not negative, ascending, as their encodings do, up to and with the infinity, which stands for the power
 * of two that would come next: what is nearest to that becomes the infinity. */
struct halves {
    int exponent_bits, fraction_bits;
    uint32_t infinity;
    double value[0x7f81];
};
static struct halves f16 = {.exponent_bits = 5, .fraction_bits = 10}, bf16 = {.exponent_bits = 8, .fraction_bits = 7};

static void fill(struct halves *h)
{
    int bias = (1 << (h->exponent_bits - 1)) - 1, ones = 1 << h->fraction_bits;
    h->infinity = (uint32_t)((1 << h->exponent_bits) - 1) << h->fraction_bits;
    for (uint32_t code = 0; code <= h->infinity; code++) {
        int exponent = (int)code / ones, fraction = (int)code % ones;
        h->value[code] = exponent ? ldexp(ones + fraction, exponent - bias - h->fraction_bits)
                                  : ldexp(fraction, 1 - bias - h->fraction_bits);
    }
}

static bool is_nan_code(const struct halves *h, uint32_t code)
{
    return (code & 0x7fff) > h->infinity;
}

static float decode(const struct halves *h, uint16_t code)
{
    uint32_t size = code & 0x7fff;
    double value = is_nan_code(h, code) ? NAN : size == h->infinity ? INFINITY : h->value[size];
    return (float)(code & 0x8000 ? -value : value);
}

static uint16_t encode(const struct halves *h, float number)
{
    double size = fabs((double)number);
    uint16_t sign = signbit(number) ? 0x8000 : 0;
    uint32_t low = 0, high = h->infinity;
    if (isnan(number))
        return (uint16_t)(sign | 0x7fff);
    if (size >= h->value[h->infinity])
        return (uint16_t)(sign | h->infinity);
    while (high - low > 1) { /* value[low] <= size < value[high] */
        uint32_t middle = (low + high) / 2;
        *(h->value[middle] <= size ? &low : &high) = middle;
    }
    double below = size - h->value[low], above = h->value[high] - size;
    bool up = above < below || (above == below && low % 2);
    return (uint16_t)(sign | (up ? high : low));
}

/* ---- an element by the definition ---- */

union element {
    double f64;
    float f32;
    uint16_t half;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
};

static union element load(const void *array, enum hop_type type, uint64_t index)
{
    union element e = {.u64 = 0};
    memcpy(&e, (const char *)array + index * hop_type_bytes(type), hop_type_bytes(type));
    return e;
}

#define JOIN(a, b)                                                                                                     \
    (reduce == HOP_REDUCE_SUM    ? (a) + (b)                                                                           \
     : reduce == HOP_REDUCE_PROD ? (a) * (b)                                                                           \
     : reduce == HOP_REDUCE_MIN  ? ((b) < (a) ? (b) : (a))                                                             \
                                 : ((b) > (a) ? (b) : (a)))

static bool is_signed(enum hop_type type)
{
    return type == HOP_TYPE_I8 || type == HOP_TYPE_I16 || type == HOP_TYPE_I32 || type == HOP_TYPE_I64;
}

/* All in 64 bits, of which those of the element are kept. */
static uint64_t widened(enum hop_type type, union element e)
{
    int shift = 64 - 8 * (int)hop_type_bytes(type);
    return is_signed(type) ? (uint64_t)((int64_t)(e.u64 << shift) >> shift) : e.u64 << shift >> shift;
}

static uint64_t join_whole(enum hop_reduce reduce, enum hop_type type, uint64_t a, uint64_t b)
{
    switch (reduce) {
    case HOP_REDUCE_SUM:
        return a + b;
    case HOP_REDUCE_PROD:
        return a * b;
    case HOP_REDUCE_AND:
        return a & b;
    case HOP_REDUCE_OR:
        return a | b;
    case HOP_REDUCE_XOR:
        return a ^ b;
    default:
        break;
    }
    if (is_signed(type))
        return (uint64_t)JOIN((int64_t)a, (int64_t)b);
    return JOIN(a, b);
}

static union element define_whole(const struct hop_reduction *r, uint64_t index)
{
    union element value = {.u64 = widened(r->type, load(r->inputs[0], r->type, index))}, kept = {.u64 = 0};
    for (uint32_t i = 1; i < r->input_count; i++)
        value.u64 = join_whole(r->reduce, r->type, value.u64, widened(r->type, load(r->inputs[i], r->type, index)));
    memcpy(&kept, &value, hop_type_bytes(r->type));
    return kept;
}

static union element define_half(const struct hop_reduction *r, const struct halves *h, uint64_t index)
{
    const enum hop_reduce reduce = r->reduce;
    union element result = load(r->inputs[0], r->type, index);
    float value = decode(h, result.half);
    for (uint32_t i = 1; i < r->input_count; i++) {
        float next = decode(h, load(r->inputs[i], r->type, index).half);
        value = JOIN(value, next);
    }
    if (r->input_count > 1)
        result.half = encode(h, value);
    return result;
}

static union element define(const struct hop_reduction *r, uint64_t index)
{
    const enum hop_reduce reduce = r->reduce;
    if (r->type == HOP_TYPE_F16 || r->type == HOP_TYPE_BF16)
        return define_half(r, r->type == HOP_TYPE_F16 ? &f16 : &bf16, index);
    if (hop_type_is_whole(r->type))
        return define_whole(r, index);
    union element value = load(r->inputs[0], r->type, index);
    for (uint32_t i = 1; i < r->input_count; i++) {
        union element next = load(r->inputs[i], r->type, index);
        if (r->type == HOP_TYPE_F64)
            value.f64 = JOIN(value.f64, next.f64);
        else
            value.f32 = JOIN(value.f32, next.f32);
    }
    return value;
}

static bool is_nan(enum hop_type type, union element e)
{
    return type == HOP_TYPE_F64    ? isnan(e.f64)
           : type == HOP_TYPE_F32  ? isnan(e.f32)
           : type == HOP_TYPE_F16  ? is_nan_code(&f16, e.half)
           : type == HOP_TYPE_BF16 ? is_nan_code(&bf16, e.half)
                                   : false;
}

/* Which NaN a sum is, is not defined; f32 and f64 minima are inputs to the bit. */
static bool is_same(const struct hop_reduction *r, union element a, union element b)
{
    bool chosen = r->input_count == 1 || ((r->reduce == HOP_REDUCE_MIN || r->reduce == HOP_REDUCE_MAX) &&
                                          (r->type == HOP_TYPE_F32 || r->type == HOP_TYPE_F64));
    return memcmp(&a, &b, hop_type_bytes(r->type)) == 0 || (!chosen && is_nan(r->type, a) && is_nan(r->type, b));
}

/* ---- data ---- */

static uint64_t random_bits(void)
{
    return (uint64_t)random_below(1u << 22) << 44 ^ (uint64_t)random_below(1u << 22) << 22 ^ random_below(1u << 22);
}

/* By their upper bits: zeroes, infinities, quiet and signalling NaNs, numbers next to the smallest and the largest. */
static uint64_t special(enum hop_type type)
{
    static const int exponent_bits[HOP_TYPE_COUNT] = {
        [HOP_TYPE_F64] = 11, [HOP_TYPE_F32] = 8, [HOP_TYPE_F16] = 5, [HOP_TYPE_BF16] = 8};
    int width = 8 * (int)hop_type_bytes(type), fraction = width - 1 - exponent_bits[type];
    uint64_t infinity = (((uint64_t)1 << exponent_bits[type]) - 1) << fraction, one = 1, sign = one << (width - 1);
    const uint64_t sizes[] = {0,
                              1,
                              2,
                              (one << fraction) - 1,
                              one << fraction,
                              infinity >> 1,
                              infinity - 1,
                              infinity,
                              infinity + 1,
                              infinity | one << (fraction - 1)};
    uint64_t size = sizes[random_below(HOP_COUNT(sizes))];
    return random_below(2) ? size : size | sign;
}

static union element draw(enum hop_type type)
{
    union element e = {.u64 = random_bits()};
    int small = (int)random_below(2001) - 1000;
    uint32_t kind = random_below(8);
    if (hop_type_is_whole(type)) {
        if (kind < 3)
            e.i64 = small;
        return e;
    }
    if (kind == 0)
        e.u64 = special(type);
    else if (kind < 6 && type == HOP_TYPE_F64)
        e.f64 = small / 7.0;
    else if (kind < 6 && type == HOP_TYPE_F32)
        e.f32 = (float)small / 7;
    else if (kind < 6)
        e.half = encode(type == HOP_TYPE_F16 ? &f16 : &bf16, (float)small / 64);
    return e;
}

/* ---- arrays, each with bytes around it that nobody may touch ---- */

enum { MOST = 4097, AROUND = 64, MOST_INPUTS = 9, MOST_OUTPUTS = 3, ARRAYS = MOST_INPUTS + MOST_OUTPUTS };

/* Inputs, then outputs, `room` bytes each. */
static _Alignas(64) unsigned char drawn[ARRAYS * ((MOST * 8 + 2 * AROUND + 63) / 64 * 64)], before[sizeof drawn],
    expected[sizeof drawn], worked[sizeof drawn];
static size_t room;

/* Where an array begins in its room, and which outputs are inputs. */
struct layout {
    uint32_t start[ARRAYS];
    const void *inputs[MOST_INPUTS];
    void *outputs[MOST_OUTPUTS];
};

static void draw_arrays(enum hop_type type, uint64_t count)
{
    uint64_t size = hop_type_bytes(type);
    room = (count * size + 2 * AROUND + 63) / 64 * 64;
    memset(drawn, 0xa5, ARRAYS * room);
    for (uint32_t i = 0; i < MOST_INPUTS; i++) {
        for (uint64_t e = 0; e < count; e++) {
            union element element = draw(type);
            memcpy(drawn + i * room + AROUND + e * size, &element, size);
        }
    }
}

static uint32_t draw_start(uint64_t size)
{
    return AROUND + random_below(32 / (uint32_t)size) * (uint32_t)size;
}

/* Half of the time the outputs are aligned as each other. */
static void lay_out(struct layout *layout, uint64_t size, uint64_t count, uint32_t inputs, uint32_t outputs)
{
    bool alike = random_below(2), taken[MOST_INPUTS] = {false};
    uint32_t shared = draw_start(size);
    memset(before, 0xa5, ARRAYS * room);
    for (uint32_t a = 0; a < ARRAYS; a++)
        layout->start[a] = alike && a >= MOST_INPUTS ? shared : draw_start(size);
    for (uint32_t i = 0; i < inputs; i++) {
        memcpy(before + i * room + layout->start[i], drawn + i * room + AROUND, count * size);
        layout->inputs[i] = worked + i * room + layout->start[i];
    }
    for (uint32_t o = 0; o < outputs; o++) {
        uint32_t input = random_below(inputs), array = MOST_INPUTS + o;
        if (inputs > 1 && random_below(3) == 0 && !taken[input]) {
            taken[input] = true;
            array = input;
        }
        layout->outputs[o] = worked + array * room + layout->start[array];
    }
}

static const uint64_t pasts[] = {UINT64_MAX, UINT64_MAX, 1};
static const char *const paths[] = {"plain", "best", "past the caches"};

static void check_arrays(const struct hop_reduction *work, const char *path)
{
    const size_t size = hop_type_bytes(work->type);
    for (uint32_t o = 0; o < work->output_count; o++) {
        size_t at = (size_t)((unsigned char *)work->outputs[o] - worked);
        for (uint64_t e = 0; e < work->count; e++) {
            union element x = load(worked + at, work->type, e), y = load(expected + at, work->type, e);
            if (!is_same(work, x, y))
                fail_msg("%s: %s %s of %u to %u, element %llu of %llu: %llx, not %llx", path,
                         hop_reduce_name(work->reduce), hop_type_name(work->type), work->input_count,
                         work->output_count, (unsigned long long)e, (unsigned long long)work->count,
                         (unsigned long long)x.u64, (unsigned long long)y.u64);
        }
        memcpy(worked + at, expected + at, work->count * size);
    }
    if (memcmp(worked, expected, ARRAYS * room) != 0)
        fail_msg("%s: %s %s of %u to %u writes where no output is", path, hop_reduce_name(work->reduce),
                 hop_type_name(work->type), work->input_count, work->output_count);
}

static void check_shape(enum hop_reduce reduce, enum hop_type type, uint64_t count, uint32_t inputs, uint32_t outputs)
{
    const uint64_t size = hop_type_bytes(type);
    struct layout layout;
    lay_out(&layout, size, count, inputs, outputs);
    const struct hop_reduction work = {reduce, type, count, layout.inputs, layout.outputs, inputs, outputs};
    memcpy(worked, before, ARRAYS * room);
    memcpy(expected, before, ARRAYS * room);
    for (uint64_t e = 0; e < count; e++) {
        union element value = define(&work, e);
        for (uint32_t o = 0; o < outputs; o++)
            memcpy(expected + ((unsigned char *)layout.outputs[o] - worked) + e * size, &value, size);
    }
    for (unsigned p = 0; p < HOP_COUNT(paths); p++) {
        memcpy(worked, before, ARRAYS * room);
        hop_reduce_on_host_choose(p == 0, pasts[p]);
        CHECK(hop_reduce_on_host(&work, D));
        check_arrays(&work, paths[p]);
    }
    hop_reduce_on_host_choose(false, 0);
}

static void every_operator_type_and_shape_gives_the_bits_of_the_definition(void **state)
{
    static const uint64_t counts[] = {0, 1, 3, 7, 8, 9, 31, 1000, MOST};
    (void)state;
    for (int type = 0; type < HOP_TYPE_COUNT; type++) {
        for (size_t c = 0; c < HOP_COUNT(counts); c++) {
            draw_arrays((enum hop_type)type, counts[c]);
            for (int reduce = 0; reduce < HOP_REDUCE_COUNT; reduce++) {
                for (uint32_t inputs = 1; hop_reduce_suits(reduce, type) && inputs <= MOST_INPUTS; inputs++) {
                    for (uint32_t outputs = 1; outputs <= MOST_OUTPUTS; outputs++)
                        check_shape((enum hop_reduce)reduce, (enum hop_type)type, counts[c], inputs, outputs);
                }
            }
        }
    }
}

/* ---- figures by hand ---- */

static void on_every_path(const struct hop_reduction *work, uint64_t result)
{
    const uint64_t bytes = hop_type_bytes(work->type);
    unsigned char arrays[4][16 * 8];
    const void *inputs[3];
    void *output = arrays[3];
    struct hop_reduction many = *work; /* the same element 13 times, so that vectors and their rests both meet it */
    many.count = 13;
    many.inputs = inputs;
    many.outputs = &output;
    for (uint32_t i = 0; i < work->input_count; i++) {
        inputs[i] = arrays[i];
        for (unsigned e = 0; e < 13; e++)
            memcpy(arrays[i] + e * bytes, work->inputs[i], bytes);
    }
    for (unsigned p = 0; p < HOP_COUNT(paths); p++) {
        hop_reduce_on_host_choose(p == 0, pasts[p]);
        CHECK(hop_reduce_on_host(&many, D));
        for (unsigned e = 0; e < 13; e++)
            assert_int_equal(load(output, work->type, e).u64, result);
    }
    hop_reduce_on_host_choose(false, 0);
}

static void three(enum hop_reduce reduce, enum hop_type type, uint64_t a, uint64_t b, uint64_t c, uint64_t result)
{
    const void *inputs[] = {&a, &b, &c};
    const struct hop_reduction work = {reduce, type, 1, inputs, NULL, 3, 1};
    on_every_path(&work, result);
}

static void halves_are_rounded_once(void **state)
{
    (void)state;
    /* 2048 + 1 lies between two halves, 2048 + 1 + 1 is one. */
    three(HOP_REDUCE_SUM, HOP_TYPE_F16, 0x6800, 0x3c00, 0, 0x6800);
    three(HOP_REDUCE_SUM, HOP_TYPE_F16, 0x6800, 0x3c00, 0x3c00, 0x6801);
    three(HOP_REDUCE_SUM, HOP_TYPE_F16, 0x6801, 0x3c00, 0, 0x6802);      /* 2050 + 1: a tie, up to even */
    three(HOP_REDUCE_SUM, HOP_TYPE_F16, 0x7bff, 0x7bff, 0xfbff, 0x7bff); /* 65504 + 65504 - 65504: beyond and back */
    three(HOP_REDUCE_SUM, HOP_TYPE_F16, 0x7bff, 0x4b80, 0, 0x7bff);      /* 65504 + 15 */
    three(HOP_REDUCE_SUM, HOP_TYPE_F16, 0x7bff, 0x4c00, 0, 0x7c00);      /* 65504 + 16: the infinity */
    three(HOP_REDUCE_PROD, HOP_TYPE_F16, 0x0001, 0x3800, 0x3c00, 0);     /* half of the smallest: a tie, to zero */
    three(HOP_REDUCE_PROD, HOP_TYPE_F16, 0x0003, 0x3800, 0x3c00, 2);     /* 1.5 of it: a tie, to 2 */
    three(HOP_REDUCE_PROD, HOP_TYPE_F16, 0x8001, 0x3400, 0x3c00, 0x8000);
    three(HOP_REDUCE_SUM, HOP_TYPE_BF16, 0x4380, 0x3f80, 0, 0x4380); /* 256 + 1 */
    three(HOP_REDUCE_SUM, HOP_TYPE_BF16, 0x4380, 0x3f80, 0x3f80, 0x4381);
    three(HOP_REDUCE_SUM, HOP_TYPE_BF16, 0x4381, 0x3f80, 0, 0x4382);
    three(HOP_REDUCE_PROD, HOP_TYPE_BF16, 0x7f7f, 0x4000, 0x3f80, 0x7f80);
    three(HOP_REDUCE_SUM, HOP_TYPE_BF16, 0x0001, 0x0001, 0x8001, 0x0001); /* denormal */
}

static void integers_wrap_and_the_earlier_of_equals_stays(void **state)
{
    (void)state;
    three(HOP_REDUCE_SUM, HOP_TYPE_I32, 0x7fffffff, 1, 0, 0x80000000);
    three(HOP_REDUCE_PROD, HOP_TYPE_I32, 0x10001, 0x10001, 1, 0x20001);
    three(HOP_REDUCE_SUM, HOP_TYPE_I8, 0x7f, 1, 0, 0x80);
    three(HOP_REDUCE_PROD, HOP_TYPE_U16, 0xffff, 0xffff, 1, 1);
    three(HOP_REDUCE_MIN, HOP_TYPE_I8, 0x7f, 0x80, 0, 0x80);
    three(HOP_REDUCE_MIN, HOP_TYPE_U8, 0x7f, 0x80, 1, 1);
    three(HOP_REDUCE_MAX, HOP_TYPE_U64, 1, UINT64_MAX, 2, UINT64_MAX);
    three(HOP_REDUCE_AND, HOP_TYPE_I32, 0xff00ff00, 0x0ff00ff0, 0xffffffff, 0x0f000f00);
    three(HOP_REDUCE_OR, HOP_TYPE_U16, 0x0101, 0x1010, 0, 0x1111);
    three(HOP_REDUCE_XOR, HOP_TYPE_I64, 0x0f, 0xf0, 0xff, 0);
    three(HOP_REDUCE_SUM, HOP_TYPE_I64, INT64_MAX, 2, 0, (uint64_t)INT64_MAX + 2);
    three(HOP_REDUCE_PROD, HOP_TYPE_I64, 0x100000001, 0x100000001, 1, 0x200000001);
    three(HOP_REDUCE_PROD, HOP_TYPE_I64, (uint64_t)-3, (uint64_t)-5, (uint64_t)-7, (uint64_t)-105);
    three(HOP_REDUCE_MIN, HOP_TYPE_I64, 1, (uint64_t)-1, (uint64_t)1 << 33, (uint64_t)-1);
    const uint64_t minus = (uint64_t)1 << 63, nan = 0x7ff8000000000000, two = 0x4000000000000000;
    three(HOP_REDUCE_MIN, HOP_TYPE_F64, 0, minus, 0, 0);
    three(HOP_REDUCE_MIN, HOP_TYPE_F64, minus, 0, 0, minus);
    three(HOP_REDUCE_MAX, HOP_TYPE_F64, minus, 0, minus, minus);
    three(HOP_REDUCE_MIN, HOP_TYPE_F64, two, nan, minus, minus);
    three(HOP_REDUCE_MAX, HOP_TYPE_F64, two, nan, minus, two);
    three(HOP_REDUCE_MAX, HOP_TYPE_F64, nan, two, two, nan);
}

/* 0 is added to each, so that all encodings are read and written. */
static void every_half_survives(void **state)
{
    static uint16_t codes[65536], zeroes[65536], results[65536];
    const void *inputs[] = {codes, zeroes};
    void *output = results;
    (void)state;
    for (uint32_t c = 0; c < 65536; c++) {
        codes[c] = (uint16_t)c;
        zeroes[c] = 0x8000; /* -0: it changes nothing, not even -0 */
    }
    for (unsigned p = 0; p < 2 * HOP_COUNT(paths); p++) {
        const enum hop_type type = p % 2 ? HOP_TYPE_BF16 : HOP_TYPE_F16;
        const struct hop_reduction work = {HOP_REDUCE_SUM, type, 65536, inputs, &output, 2, 1};
        hop_reduce_on_host_choose(p / 2 == 0, pasts[p / 2]);
        CHECK(hop_reduce_on_host(&work, D));
        for (uint32_t c = 0; c < 65536; c++) {
            uint32_t quiet = is_nan_code(p % 2 ? &bf16 : &f16, c) ? (p % 2 ? 0x40 : 0x200) : 0;
            assert_int_equal(results[c], c | quiet);
        }
    }
    hop_reduce_on_host_choose(false, 0);
}

/* ---- limits ---- */

static void as_many_places_as_are_allowed(void **state)
{
    static int32_t arrays[2 * HOP_REDUCTION_PLACES][100];
    const void *inputs[HOP_REDUCTION_PLACES + 1] = {0};
    void *outputs[HOP_REDUCTION_PLACES + 1] = {0};
    struct hop_reduction work = {HOP_REDUCE_SUM,       HOP_TYPE_I32,        100, inputs, outputs,
                                 HOP_REDUCTION_PLACES, HOP_REDUCTION_PLACES};
    struct hop_diag diag;
    (void)state;
    for (int i = 0; i < HOP_REDUCTION_PLACES; i++) {
        inputs[i] = arrays[i];
        outputs[i] = arrays[HOP_REDUCTION_PLACES + i];
        for (int e = 0; e < 100; e++)
            arrays[i][e] = i * e;
    }
    CHECK(hop_reduce_on_host(&work, D));
    for (int i = 0; i < HOP_REDUCTION_PLACES; i++) {
        for (int e = 0; e < 100; e++)
            assert_int_equal(arrays[HOP_REDUCTION_PLACES + i][e], e * (63 * 64 / 2));
    }
    const uint32_t counts[][2] = {{0, 1}, {1, 0}, {HOP_REDUCTION_PLACES + 1, 1}, {1, HOP_REDUCTION_PLACES + 1}};
    for (size_t c = 0; c < HOP_COUNT(counts); c++) {
        work.input_count = counts[c][0];
        work.output_count = counts[c][1];
        assert_int_equal(hop_reduce_on_host(&work, &diag), HOP_ERR_LIMIT);
        assert_non_null(strstr(diag.expected, "1 to 64"));
    }
}

/* Larger than what stays in the caches, at sizes and addresses that are no multiples of anything. */
static void large_ones_are_whole(void **state)
{
    enum { BYTES = (24 << 20) + 100 };
    unsigned char *from = malloc(BYTES + 64), *to = malloc(BYTES + 64);
    (void)state;
    assert_true(from && to);
    for (size_t i = 0; i < BYTES + 64; i++)
        from[i] = (unsigned char)(i * 2654435761u >> 13);
    for (size_t shift = 0; shift < 40; shift += 13) {
        size_t bytes = BYTES - 3 * shift;
        memset(to, 0x5a, BYTES + 64);
        hop_copy_on_host(to + shift, from + shift / 2, bytes);
        assert_memory_equal(to + shift, from + shift / 2, bytes);
        for (size_t i = 0; i < BYTES + 64; i++) {
            if (i < shift || i >= shift + bytes)
                assert_int_equal(to[i], 0x5a);
        }
    }
    free(from);
    free(to);
}

static int set_up(void **state)
{
    (void)state;
    fill(&f16);
    fill(&bf16);
    return 0;
}

TEST_GROUP(reduce)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_type_and_shape_gives_the_bits_of_the_definition),
        cmocka_unit_test(halves_are_rounded_once),
        cmocka_unit_test(integers_wrap_and_the_earlier_of_equals_stays),
        cmocka_unit_test(every_half_survives),
        cmocka_unit_test(as_many_places_as_are_allowed),
        cmocka_unit_test(large_ones_are_whole),
    };
    return RUN_TESTS(tests, set_up, NULL);
}
