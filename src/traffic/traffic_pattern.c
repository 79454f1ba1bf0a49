/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic of well-known patterns, by name: NAME:EXTENTxEXTENTx...[,SETTING]...
 *
 *     stencil:4x4,weight=3,wrap      2-D, 5-point; three times the bytes along the first dimension; ends joined
 *     coll:4x2x2                     an alltoall in each of the four groups of four ranks along the first dimension
 *
 * Ranks are numbered as MPI_Cart_create numbers them, the last dimension running fastest: rank = (x Y + y) Z + z. With
 * order=column the first one does, as in hop_make_halo: rank = x + X (y + Y z).
 */
#include "traffic/traffic.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { DIMENSIONS = 6 };

struct pattern {
    const struct kind *kind;
    const char *text;
    struct hop_diag *diag;
    unsigned dimensions;
    uint32_t extent[DIMENSIONS];
    uint32_t stride[DIMENSIONS]; /* between ranks that are neighbours along a dimension */
    uint32_t ranks;
    double weight[DIMENSIONS];
    uint64_t bytes, weighted[DIMENSIONS]; /* of one message, along a dimension */
    enum hop_memory memory;
    bool wrap, column;
    unsigned given; /* settings, a bit each */
};

typedef enum hop_status maker(const struct pattern *p, struct hop_traffic *traffic);

/* ---- making ---- */

static enum hop_status add(const struct pattern *p, struct hop_traffic *traffic, uint32_t from, uint32_t to,
                           uint64_t bytes)
{
    enum hop_status status = hop_traffic_add(traffic, from, to, p->memory, bytes, 1, p->diag);
    if (status != HOP_OK)
        hop_diag_place(p->diag, "%.200s", p->text);
    return status;
}

/* Two ways that lead to the same neighbour are one message. */
static enum hop_status make_stencil(const struct pattern *p, struct hop_traffic *traffic)
{
    enum hop_status status = HOP_OK;
    for (uint32_t r = 0; r < p->ranks && status == HOP_OK; r++) {
        for (unsigned d = 0; d < p->dimensions && status == HOP_OK; d++) {
            uint32_t extent = p->extent[d], stride = p->stride[d], at = r / stride % extent, base = r - at * stride;
            bool around = p->wrap && extent > 2;
            if (at > 0 || around)
                status = add(p, traffic, r, base + (at + extent - 1) % extent * stride, p->weighted[d]);
            if (status == HOP_OK && (at + 1 < extent || around))
                status = add(p, traffic, r, base + (at + 1) % extent * stride, p->weighted[d]);
        }
    }
    return status;
}

/* In every group of ranks that differ in the first coordinate only. */
static enum hop_status make_groups(const struct pattern *p, struct hop_traffic *traffic)
{
    enum hop_status status = HOP_OK;
    uint32_t extent = p->extent[0], stride = p->stride[0];
    for (uint32_t r = 0; r < p->ranks; r++) {
        uint32_t base = r - r / stride % extent * stride;
        for (uint32_t i = 0; i < extent && status == HOP_OK; i++)
            status = add(p, traffic, r, base + i * stride, p->bytes);
    }
    return status;
}

static enum hop_status make_ring(const struct pattern *p, struct hop_traffic *traffic)
{
    enum hop_status status = HOP_OK;
    for (uint32_t r = 0; r < p->ranks && status == HOP_OK; r++)
        status = add(p, traffic, r, (r + 1) % p->ranks, p->bytes);
    return status;
}

static uint64_t stencil_flows(const struct pattern *p)
{
    return (uint64_t)p->ranks * 2 * p->dimensions;
}

static uint64_t group_flows(const struct pattern *p)
{
    return (uint64_t)p->ranks * (p->extent[0] - 1);
}

static uint64_t ring_flows(const struct pattern *p)
{
    return p->ranks;
}

/* An alltoall is one group along its only dimension. */
static const struct kind {
    const char *name, *example, *spelling, *summary;
    maker *make;
    uint64_t (*flows)(const struct pattern *p); /* at most */
    unsigned dimensions;                        /* at most */
    bool weights;                               /* and wrap */
} kinds[] = {
    {"stencil", "stencil:4x4", "stencil:AxBx...[,weight=W][,weights=U/V/...][,wrap]",
     "bytes to every face neighbour in a grid, W times as many along the first dimension", make_stencil, stencil_flows,
     DIMENSIONS, true},
    {"halo", "halo:2x2x2", "halo:AxBx...[,weight=W][,weights=U/V/...][,wrap]", "another name for stencil", make_stencil,
     stencil_flows, DIMENSIONS, true},
    {"coll", "coll:4x2x2", "coll:AxBx...", "an alltoall in every group along the first dimension of a grid",
     make_groups, group_flows, DIMENSIONS, false},
    {"ring", "ring:8", "ring:N", "bytes to the next rank, the last sends to the first", make_ring, ring_flows, 1,
     false},
    {"alltoall", "alltoall:16", "alltoall:N", "bytes to every other rank", make_groups, group_flows, 1, false},
};

/* ---- reading ---- */

static const char *const settings[] = {"weight", "weights", "wrap", "bytes", "memory", "order"};
enum setting { WEIGHT, WEIGHTS, WRAP, BYTES, MEMORY, ORDER, SETTINGS };

static enum hop_status refuse(const struct pattern *p, enum hop_status status, struct hop_field piece,
                              const char *problem, const char *expected)
{
    char text[HOP_FIELD_SIZE];
    hop_fail(p->diag, status, "'%s' %s\n%s", hop_field_show(piece, text), problem, expected);
    hop_diag_place(p->diag, "%.200s", p->text);
    return status;
}

/* The piece up to the next of `ends`, or the end; *next goes behind it. false: there was none left. */
static bool cut(const char **next, char ends, struct hop_field *piece)
{
    if (!*next)
        return false;
    const char *end = strchr(*next, ends);
    *piece = (struct hop_field){*next, end ? (size_t)(end - *next) : strlen(*next)};
    *next = end ? end + 1 : NULL;
    return true;
}

static bool read_extent(struct hop_field piece, uint32_t *extent)
{
    uint32_t value = 0;
    for (size_t i = 0; i < piece.length; i++) {
        if (piece.text[i] < '0' || piece.text[i] > '9')
            return false;
        value = value > HOP_TRAFFIC_RANKS ? value : value * 10 + (uint32_t)(piece.text[i] - '0');
    }
    *extent = value;
    return piece.length > 0 && value > 0;
}

static enum hop_status read_grid(struct pattern *p, struct hop_field grid)
{
    uint64_t ranks = 1;
    char expected[96];
    (void)snprintf(expected, sizeof expected, "1 to %u extents above 0, 'x' between, as in %s", p->kind->dimensions,
                   p->kind->example);
    if (p->kind->dimensions == 1)
        (void)snprintf(expected, sizeof expected, "a number of ranks, as in %s", p->kind->example);
    for (size_t i = 0; i < grid.length || i == 0;) {
        const char *x = memchr(grid.text + i, 'x', grid.length - i);
        struct hop_field piece = {grid.text + i, x ? (size_t)(x - grid.text) - i : grid.length - i};
        if (p->dimensions == p->kind->dimensions || !read_extent(piece, &p->extent[p->dimensions]) ||
            (x && x + 1 == grid.text + grid.length))
            return refuse(p, HOP_ERR_SYNTAX, grid, "is no such grid", expected);
        ranks *= p->extent[p->dimensions++];
        if (ranks > HOP_TRAFFIC_RANKS) {
            (void)snprintf(expected, sizeof expected, "at most %u ranks", HOP_TRAFFIC_RANKS);
            return refuse(p, HOP_ERR_LIMIT, grid, "has too many ranks", expected);
        }
        i += piece.length + 1;
    }
    p->ranks = (uint32_t)ranks;
    return HOP_OK;
}

static bool read_weight(struct hop_field piece, double *weight)
{
    char copy[32], *end;
    if (piece.length == 0 || piece.length >= sizeof copy)
        return false;
    memcpy(copy, piece.text, piece.length);
    copy[piece.length] = '\0';
    *weight = hop_text_number(copy, &end);
    return !*end && copy[strspn(copy, "0123456789.e+-")] == '\0' && *weight > 0 && isfinite(*weight);
}

/* As many as dimensions, with '/' or 'x' between. */
static enum hop_status read_weights(struct pattern *p, struct hop_field value)
{
    char expected[64];
    unsigned d = 0;
    bool fine = true;
    for (size_t i = 0; fine && i <= value.length; d++) {
        size_t length = 0;
        while (i + length < value.length && value.text[i + length] != '/' && value.text[i + length] != 'x')
            length++;
        fine = d < p->dimensions && read_weight((struct hop_field){value.text + i, length}, &p->weight[d]);
        i += length + 1;
    }
    if (fine && d == p->dimensions)
        return HOP_OK;
    (void)snprintf(expected, sizeof expected, "%u numbers above 0, '/' between", p->dimensions);
    return refuse(p, HOP_ERR_SYNTAX, value, "are no weights of this grid", expected);
}

static enum hop_status read_bytes(struct pattern *p, struct hop_field value)
{
    enum hop_status status = hop_parse_bytes(value.text, value.length, &p->bytes, p->diag);
    if (status == HOP_OK && p->bytes == 0)
        return refuse(p, HOP_ERR_INVALID, value, "moves nothing", "a size above 0, such as bytes=1MiB");
    if (status != HOP_OK)
        hop_diag_place(p->diag, "%.200s", p->text);
    return status;
}

static enum hop_status read_value(struct pattern *p, enum setting setting, struct hop_field value)
{
    switch (setting) {
    case WEIGHT:
        return read_weight(value, &p->weight[0])
                   ? HOP_OK
                   : refuse(p, HOP_ERR_SYNTAX, value, "is no weight", "a number above 0, as in weight=3");
    case WEIGHTS:
        return read_weights(p, value);
    case BYTES:
        return read_bytes(p, value);
    case MEMORY:
        p->memory = hop_field_is(value, "host") ? HOP_MEMORY_HOST : HOP_MEMORY_DEVICE;
        if (hop_field_is(value, "host") || hop_field_is(value, "device"))
            return HOP_OK;
        return refuse(p, HOP_ERR_SYNTAX, value, "is no kind of memory", "memory=host or memory=device");
    case ORDER:
        p->column = hop_field_is(value, "column");
        if (p->column || hop_field_is(value, "row"))
            return HOP_OK;
        return refuse(p, HOP_ERR_SYNTAX, value, "is no order",
                      "order=row, the last dimension runs fastest, or order=column, the first does");
    default:
        p->wrap = true;
        return HOP_OK;
    }
}

static bool applies(const struct pattern *p, enum setting setting)
{
    return p->kind->weights || setting > WRAP;
}

static const char *setting_at(const void *context, uint32_t index)
{
    return applies(context, (enum setting)index) ? settings[index] : NULL;
}

static enum hop_status refuse_setting(const struct pattern *p, struct hop_field piece, struct hop_field name)
{
    char text[HOP_FIELD_SIZE], problem[64], expected[128];
    uint32_t near = hop_text_nearest(hop_field_show(name, text), setting_at, p, SETTINGS);
    (void)snprintf(problem, sizeof problem, "is no setting of %s", p->kind->name);
    (void)snprintf(expected, sizeof expected, "%s%s%s%sbytes=SIZE, memory=host|device, order=row|column",
                   near == UINT32_MAX ? "" : "'", near == UINT32_MAX ? "" : settings[near],
                   near == UINT32_MAX ? "" : "'? There are ",
                   p->kind->weights ? "weight=W, weights=U/V/..., wrap, " : "");
    return refuse(p, HOP_ERR_SYNTAX, piece, problem, expected);
}

/* NAME=VALUE, or `wrap`. */
static enum hop_status read_setting(struct pattern *p, struct hop_field piece)
{
    const char *equals = memchr(piece.text, '=', piece.length);
    struct hop_field name = {piece.text, equals ? (size_t)(equals - piece.text) : piece.length};
    struct hop_field value = {equals ? equals + 1 : piece.text, equals ? piece.length - name.length - 1 : 0};
    unsigned s = 0;
    while (s < SETTINGS && !hop_field_is(name, settings[s]))
        s++;
    if (s == SETTINGS || !applies(p, (enum setting)s))
        return refuse_setting(p, piece, name);
    if ((equals == NULL) != (s == WRAP))
        return refuse(p, HOP_ERR_SYNTAX, piece, s == WRAP ? "has a value" : "has no value",
                      s == WRAP ? "wrap alone" : "a setting such as bytes=1MiB");
    unsigned weights = 1u << WEIGHT | 1u << WEIGHTS, same = s <= WEIGHTS ? weights : 1u << s;
    if (p->given & same)
        return refuse(p, HOP_ERR_INVALID, piece, "comes second", "every setting once, and weight or weights");
    p->given |= 1u << s;
    return read_value(p, (enum setting)s, value);
}

/* ---- checking ---- */

static enum hop_status weigh(struct pattern *p)
{
    for (unsigned d = 0; d < p->dimensions; d++) {
        double product = (double)p->bytes * p->weight[d];
        if (product > (double)HOP_BYTES_MAX || product < 0.5) {
            hop_fail(p->diag, HOP_ERR_LIMIT,
                     "%" PRIu64 " bytes times a weight of %g are %g\n1 byte to 2^60 bytes (1 EiB) a message", p->bytes,
                     p->weight[d], product);
            hop_diag_place(p->diag, "%.200s", p->text);
            return HOP_ERR_LIMIT;
        }
        /* bytes itself where nothing is to be weighed: a double holds 53 bits only */
        p->weighted[d] = p->weight[d] == 1 ? p->bytes : (uint64_t)round(product);
    }
    return HOP_OK;
}

static void lay_out(struct pattern *p)
{
    uint32_t stride = 1;
    for (unsigned i = 0; i < p->dimensions; i++) {
        unsigned d = p->column ? i : p->dimensions - 1 - i;
        p->stride[d] = stride;
        stride *= p->extent[d];
    }
}

static enum hop_status check_flows(const struct pattern *p)
{
    uint64_t flows = p->kind->flows(p);
    if (flows <= HOP_TRAFFIC_FLOWS)
        return HOP_OK;
    hop_fail(p->diag, HOP_ERR_LIMIT, "%" PRIu64 " pairs of ranks would exchange something\nat most %u", flows,
             HOP_TRAFFIC_FLOWS);
    hop_diag_place(p->diag, "%.200s", p->text);
    return HOP_ERR_LIMIT;
}

static const char *name_at(const void *context, uint32_t index)
{
    (void)context;
    return kinds[index].name;
}

static enum hop_status find_kind(struct pattern *p, struct hop_field name)
{
    char text[HOP_FIELD_SIZE], expected[96];
    for (size_t k = 0; k < HOP_COUNT(kinds) && !p->kind; k++) {
        if (hop_field_is(name, kinds[k].name))
            p->kind = &kinds[k];
    }
    if (p->kind)
        return HOP_OK;
    uint32_t near = hop_text_nearest(hop_field_show(name, text), name_at, NULL, HOP_COUNT(kinds));
    (void)snprintf(expected, sizeof expected, "%s%s%s", near == UINT32_MAX ? "" : kinds[near].example,
                   near == UINT32_MAX ? "" : "? ", "stencil, halo, coll, ring or alltoall, then ':' and a grid");
    return refuse(p, HOP_ERR_NOT_FOUND, name, "is no pattern", expected);
}

static enum hop_status read_all(struct pattern *p)
{
    const char *next = p->text;
    struct hop_field name = {"", 0}, piece = {"", 0};
    (void)cut(&next, ':', &name);
    enum hop_status status = find_kind(p, name);
    if (status != HOP_OK)
        return status;
    (void)cut(&next, ',', &piece);
    status = read_grid(p, piece);
    while (status == HOP_OK && cut(&next, ',', &piece))
        status = read_setting(p, piece);
    if (status == HOP_OK)
        status = weigh(p);
    lay_out(p);
    return status == HOP_OK ? check_flows(p) : status;
}

enum hop_status hop_traffic_pattern(const char *text, enum hop_memory memory, struct hop_traffic **traffic,
                                    struct hop_diag *diag)
{
    struct pattern p = {.text = text, .diag = diag, .bytes = 1 << 20, .memory = memory};
    for (unsigned d = 0; d < DIMENSIONS; d++)
        p.weight[d] = 1;
    enum hop_status status = hop_traffic_check_memory(memory, diag);
    struct hop_traffic *made = NULL;
    if (status == HOP_OK)
        status = read_all(&p);
    if (status == HOP_OK)
        status = hop_traffic_create(p.ranks, &made, diag);
    if (status == HOP_OK)
        status = p.kind->make(&p, made);
    if (status == HOP_OK)
        *traffic = made;
    else
        hop_traffic_destroy(made);
    return status;
}

bool hop_traffic_pattern_at(size_t index, const char **spelling, const char **summary)
{
    if (index >= HOP_COUNT(kinds))
        return false;
    *spelling = kinds[index].spelling;
    *summary = kinds[index].summary;
    return true;
}
