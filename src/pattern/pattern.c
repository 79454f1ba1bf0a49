/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Patterns in words: NAME[:GRID][,SETTING]...
 *
 *     stencil:4x4,weight=3,wrap      2-D, 5-point; three times the bytes along the first dimension; ends joined
 *     coll:4x2x2                     an alltoall in each of the four groups of four ranks along the first dimension
 *
 * Grids are numbered as MPI_Cart_create does, the last dimension running fastest: rank = (x Y + y) Z + z. With
 * order=column, and where no grid is named, the first one does: rank = x + X (y + Y z).
 */
#include "pattern/make.h"

#include <math.h>
#include <stdio.h>

#include "base/fields.h"
#include "traffic/traffic.h"

static const struct hop_pattern_kind *const kinds[] = {
    &hop_pattern_stencil,  &hop_pattern_halo,    &hop_pattern_coll,   &hop_pattern_ring,
    &hop_pattern_alltoall, &hop_pattern_scatter, &hop_pattern_gather, &hop_pattern_neighbours,
    &hop_pattern_pairs,    &hop_pattern_random,  &hop_pattern_staged, &hop_pattern_staged_gather,
};

struct reader {
    struct hop_pattern *pattern;
    const char *text;
    uint32_t devices; /* 0: not known */
    unsigned given;   /* settings, a bit each */
    struct hop_failure failure;
};

/* ---- settings ---- */

typedef bool taker(struct reader *r, struct hop_field value, void *to);

static bool read_real(struct hop_field value, double *number)
{
    char copy[32], *end;
    if (value.length == 0 || value.length >= sizeof copy)
        return false;
    memcpy(copy, value.text, value.length);
    copy[value.length] = '\0';
    *number = hop_text_number(copy, &end);
    return !*end && copy[strspn(copy, "0123456789.e+-")] == '\0' && *number >= 0 && isfinite(*number);
}

static bool take_weight(struct reader *r, struct hop_field value, void *to)
{
    (void)r;
    return read_real(value, to) && *(double *)to > 0;
}

/* As many as dimensions, with '/' or 'x' between. */
static bool take_weights(struct reader *r, struct hop_field value, void *to)
{
    double *weights = to;
    unsigned d = 0, dimensions = r->pattern->grid.dimensions;
    bool fine = true;
    for (size_t i = 0; fine && i <= value.length; d++) {
        size_t length = 0;
        while (i + length < value.length && value.text[i + length] != '/' && value.text[i + length] != 'x')
            length++;
        const struct hop_field one = {value.text + i, length};
        fine = d < dimensions && take_weight(r, one, &weights[d]);
        i += length + 1;
    }
    if (!fine || d < dimensions)
        hop_failure_set(&r->failure, HOP_ERR_SYNTAX,
                        "'%.*s' are no weights of this grid\n%u numbers above 0, '/' between",
                        (int)(value.length < 40 ? value.length : 40), value.text, dimensions);
    return true;
}

/* Steps of each group, with '/' between, as in 2/1; 32 of them at most. */
static bool take_groups(struct reader *r, struct hop_field value, void *to)
{
    struct hop_pattern *p = r->pattern;
    (void)to;
    for (size_t i = 0; i <= value.length;) {
        const char *slash = memchr(value.text + i, '/', value.length - i);
        struct hop_field one = {value.text + i, slash ? (size_t)(slash - value.text) - i : value.length - i};
        uint64_t steps;
        if (!hop_field_whole(one, &steps) || steps == 0 || steps > 32 - p->grouped)
            return false;
        p->grouped += (uint32_t)steps;
        p->overlap |= 1u << (p->grouped - 1);
        p->group_count++;
        i += one.length + 1;
    }
    return true;
}

static bool take_flag(struct reader *r, struct hop_field value, void *to)
{
    (void)r;
    *(bool *)to = true;
    return !value.text;
}

static bool take_bytes(struct reader *r, struct hop_field value, void *to)
{
    r->failure.status = hop_parse_bytes(value.text, value.length, to, r->failure.diag);
    return r->failure.status != HOP_OK || *(uint64_t *)to > 0;
}

static bool take_time(struct reader *r, struct hop_field value, void *to)
{
    r->failure.status = hop_parse_seconds(value.text, value.length, to, r->failure.diag);
    return true;
}

static bool take_seed(struct reader *r, struct hop_field value, void *to)
{
    (void)r;
    return hop_field_whole(value, to);
}

static bool take_count(struct reader *r, struct hop_field value, void *to)
{
    uint64_t number;
    bool fine = hop_field_whole(value, &number) && number <= UINT32_MAX;
    (void)r;
    *(uint32_t *)to = fine ? (uint32_t)number : 0;
    return fine;
}

static bool take_chance(struct reader *r, struct hop_field value, void *to)
{
    (void)r;
    return read_real(value, to) && *(double *)to <= 1;
}

/* Which of some words; their number: none of them. */
static unsigned word_of(struct hop_field value, const char *const *words, unsigned count)
{
    unsigned i = 0;
    while (i < count && !hop_field_is(value, words[i]))
        i++;
    return i;
}

static bool take_memory(struct reader *r, struct hop_field value, void *to)
{
    static const char *const words[HOP_MEMORY_COUNT] = {[HOP_MEMORY_DEVICE] = "device", [HOP_MEMORY_HOST] = "host"};
    (void)r;
    *(enum hop_memory *)to = (enum hop_memory)word_of(value, words, HOP_MEMORY_COUNT);
    return *(enum hop_memory *)to < HOP_MEMORY_COUNT;
}

static bool take_numbering(struct reader *r, struct hop_field value, void *to)
{
    (void)r;
    *(bool *)to = hop_field_is(value, "row");
    return *(bool *)to || hop_field_is(value, "column");
}

static bool take_order(struct reader *r, struct hop_field value, void *to)
{
    static const char *const words[] = {"naive", "shift", "xor"};
    (void)r;
    *(enum hop_alltoall *)to = (enum hop_alltoall)word_of(value, words, HOP_COUNT(words));
    return *(enum hop_alltoall *)to < HOP_COUNT(words);
}

#define MEMBER(name) offsetof(struct hop_pattern, name)
static const struct setting {
    const char *name, *of; /* kinds, with spaces between; NULL: all */
    size_t at;
    taker *take;
    const char *wrong, *expected;
} settings[] = {
    {"weight", "stencil halo", MEMBER(grid.weight), take_weight, "is no weight", "a number above 0, as in weight=3"},
    {"weights", "stencil halo", MEMBER(grid.weight), take_weights, "", ""},
    {"wrap", "stencil halo", MEMBER(grid.wrap), take_flag, "has a value", "wrap alone"},
    {"steps", "stencil", MEMBER(steps), take_count, "is no number of steps", "a whole number, as in steps=10"},
    {"work", "stencil", MEMBER(work_s), take_time, "", ""},
    {"order", "stencil halo coll", MEMBER(grid.row), take_numbering, "is no order",
     "order=row, the last dimension runs fastest, or order=column, the first does"},
    {"order", "alltoall", MEMBER(order), take_order, "is no order", "order=naive, order=shift or order=xor"},
    {"rounds", "ring", MEMBER(rounds), take_count, "is no number of rounds", "a whole number, as in rounds=7"},
    {"root", "scatter gather", MEMBER(root), take_count, "is no rank", "a whole number, as in root=0"},
    {"transfers", "random", MEMBER(random.transfers), take_count, "is no number of transfers", "such as transfers=20"},
    {"seed", "random", MEMBER(random.seed), take_seed, "is no seed", "a whole number, as in seed=1"},
    {"min-bytes", "random", MEMBER(random.min_bytes), take_bytes, "moves nothing", "a size above 0"},
    {"max-bytes", "random", MEMBER(random.max_bytes), take_bytes, "moves nothing", "a size above 0"},
    {"distinct-sources", "random", MEMBER(random.distinct_sources), take_flag, "has a value", "distinct-sources alone"},
    {"distinct-edges", "random", MEMBER(random.distinct_edges), take_flag, "has a value", "distinct-edges alone"},
    {"depend", "random", MEMBER(random.depend), take_chance, "is no chance", "0 to 1, as in depend=0.5"},
    {"packet", "staged", MEMBER(packet_bytes), take_bytes, "moves nothing", "a size above 0, such as packet=2MiB"},
    {"groups", "staged", 0, take_groups, "are no groups of steps",
     "how many steps each has, 32 together, as in groups=2/1"},
    {"approach", "staged-gather", MEMBER(approach), take_count, "is no approach", "approach=1, 2 or 3"},
    {"bytes", NULL, MEMBER(bytes), take_bytes, "moves nothing", "a size above 0, such as bytes=1MiB"},
    {"memory", NULL, MEMBER(memory), take_memory, "is no kind of memory", "memory=host or memory=device"},
};
enum { SETTINGS = sizeof settings / sizeof *settings, WEIGHT = 0, WEIGHTS = 1 };

static bool applies(const struct hop_pattern *p, const struct setting *setting)
{
    size_t length = strlen(p->kind->name);
    for (const char *at = setting->of; at && (at = strstr(at, p->kind->name)); at += length) {
        if ((at == setting->of || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    }
    return !setting->of;
}

static unsigned find_setting(const struct reader *r, const char *name)
{
    unsigned s = 0;
    while (s < SETTINGS && !(applies(r->pattern, &settings[s]) && strcmp(settings[s].name, name) == 0))
        s++;
    return s;
}

static bool is_given(const struct reader *r, const char *name)
{
    unsigned s = find_setting(r, name);
    return s < SETTINGS && r->given >> s & 1;
}

/* ---- reading ---- */

static void refuse(struct reader *r, enum hop_status status, struct hop_field piece, const char *problem,
                   const char *expected)
{
    char text[HOP_FIELD_SIZE];
    hop_failure_set(&r->failure, status, "'%s' %s\n%s", hop_field_show(piece, text), problem, expected);
}

static const char *setting_at(const void *context, uint32_t index)
{
    return applies(context, &settings[index]) ? settings[index].name : NULL;
}

static void refuse_setting(struct reader *r, struct hop_field piece, const char *name)
{
    char problem[64], expected[192] = "";
    uint32_t near = hop_text_nearest(name, setting_at, r->pattern, SETTINGS);
    size_t used = 0;
    if (near != UINT32_MAX)
        used = (size_t)snprintf(expected, sizeof expected, "'%s'? There are ", settings[near].name);
    for (unsigned s = 0, listed = 0; s < SETTINGS; s++) {
        if (applies(r->pattern, &settings[s]))
            used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%s", listed++ ? ", " : "",
                                     settings[s].name);
    }
    (void)snprintf(problem, sizeof problem, "is no setting of %s", r->pattern->kind->name);
    refuse(r, HOP_ERR_SYNTAX, piece, problem, expected);
}

/* NAME=VALUE, or NAME alone. */
static void read_setting(struct reader *r, struct hop_field piece)
{
    const char *equals = memchr(piece.text, '=', piece.length);
    struct hop_field name = {piece.text, equals ? (size_t)(equals - piece.text) : piece.length};
    struct hop_field value = {equals ? equals + 1 : NULL, equals ? piece.length - name.length - 1 : 0};
    char text[HOP_FIELD_SIZE];
    unsigned s = find_setting(r, hop_field_show(name, text));
    if (s == SETTINGS) {
        refuse_setting(r, piece, text);
        return;
    }
    unsigned weights = 1u << WEIGHT | 1u << WEIGHTS, same = s <= WEIGHTS ? weights : 1u << s;
    if (r->given & same)
        refuse(r, HOP_ERR_INVALID, piece, "comes second", "every setting once, and weight or weights");
    r->given |= 1u << s;
    if (!equals && settings[s].take != take_flag)
        refuse(r, HOP_ERR_SYNTAX, piece, "has no value", "a setting such as bytes=1MiB");
    else if (r->failure.status == HOP_OK && !settings[s].take(r, value, (char *)r->pattern + settings[s].at))
        refuse(r, settings[s].take == take_bytes ? HOP_ERR_INVALID : HOP_ERR_SYNTAX, equals ? value : piece,
               settings[s].wrong, settings[s].expected);
}

static void read_grid(struct reader *r, struct hop_field text)
{
    struct hop_grid *grid = &r->pattern->grid;
    unsigned most = r->pattern->kind->dimensions;
    const char *name = r->pattern->kind->name;
    uint64_t ranks = 1, extent = 1;
    char expected[96];
    if (most == 1)
        (void)snprintf(expected, sizeof expected, "a number of ranks, as in %s:8", name);
    else
        (void)snprintf(expected, sizeof expected, "1 to %u extents above 0, 'x' between, as in %s:4x4", most, name);
    for (size_t i = 0; (i < text.length || i == 0) && r->failure.status == HOP_OK;) {
        const char *x = memchr(text.text + i, 'x', text.length - i);
        struct hop_field piece = {text.text + i, x ? (size_t)(x - text.text) - i : text.length - i};
        if (grid->dimensions == most || !hop_field_whole(piece, &extent) || extent == 0 ||
            (x && x + 1 == text.text + text.length)) {
            if (text.length == 0)
                hop_failure_set(&r->failure, HOP_ERR_SYNTAX, "%s does not say how many ranks\n%s", name, expected);
            else
                refuse(r, HOP_ERR_SYNTAX, text, "is no such grid", expected);
            return;
        }
        ranks = extent > HOP_TRAFFIC_RANKS ? extent : ranks * extent;
        grid->extent[grid->dimensions++] = (uint32_t)extent;
        if (ranks > HOP_TRAFFIC_RANKS)
            hop_failure_set(&r->failure, HOP_ERR_LIMIT, "'%.*s' has too many ranks\nat most %u ranks",
                            (int)(text.length < 40 ? text.length : 40), text.text, HOP_TRAFFIC_RANKS);
        i += piece.length + 1;
    }
    r->pattern->ranks = (uint32_t)ranks;
}

/* Without a grid: all devices, in one dimension or as square as their number allows: 8 is 4x2. */
static void choose_grid(struct reader *r)
{
    struct hop_grid *grid = &r->pattern->grid;
    uint32_t n = r->devices, narrow = 1;
    if (n == 0 || r->pattern->kind == &hop_pattern_coll || r->pattern->kind == &hop_pattern_staged_gather) {
        read_grid(r, (struct hop_field){"", 0});
        return;
    }
    for (uint32_t d = 2; r->pattern->kind->dimensions > 1 && (uint64_t)d * d <= n; d++)
        narrow = n % d == 0 ? d : narrow;
    grid->dimensions = r->pattern->kind->dimensions > 1 ? 2 : 1;
    grid->extent[0] = n / narrow;
    grid->extent[1] = narrow;
    grid->row = false;
    r->pattern->ranks = n;
}

/* Words that once meant several rounds or steps must say how many, or who takes part. */
static void check_alone(struct reader *r)
{
    const struct hop_pattern *p = r->pattern;
    if (p->kind == &hop_pattern_ring && !is_given(r, "rounds"))
        hop_failure_set(&r->failure, HOP_ERR_INVALID,
                        "'ring' alone does not say how often it goes round\nring,rounds=%u, or ring:%u for once",
                        p->ranks > 1 ? p->ranks - 1 : 1, p->ranks);
    if (p->kind == &hop_pattern_stencil && !is_given(r, "steps"))
        hop_failure_set(&r->failure, HOP_ERR_INVALID,
                        "'stencil' alone does not say how many steps it has\nstencil,steps=10, or stencil,steps=1");
}

static const char *name_at(const void *context, uint32_t index)
{
    (void)context;
    return kinds[index]->name;
}

static void find_kind(struct reader *r, struct hop_field name)
{
    char text[HOP_FIELD_SIZE], expected[224];
    for (size_t k = 0; k < HOP_COUNT(kinds); k++) {
        if (hop_field_is(name, kinds[k]->name))
            r->pattern->kind = kinds[k];
    }
    if (r->pattern->kind)
        return;
    uint32_t near = hop_text_nearest(hop_field_show(name, text), name_at, NULL, HOP_COUNT(kinds));
    size_t used = 0;
    if (near != UINT32_MAX)
        used = (size_t)snprintf(expected, sizeof expected, "%s:%s? There are ", kinds[near]->name,
                                kinds[near]->dimensions > 1 ? "4x4" : "8");
    for (size_t k = 0; k < HOP_COUNT(kinds); k++)
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%s", k ? ", " : "", kinds[k]->name);
    refuse(r, HOP_ERR_NOT_FOUND, name, "is no pattern", expected);
}

/* The piece up to the next comma, or the end; *next goes behind it. */
static struct hop_field cut(const char **next)
{
    struct hop_field piece = {*next, strcspn(*next, ",")};
    *next = piece.text[piece.length] ? piece.text + piece.length + 1 : NULL;
    return piece;
}

/* Everything but what the bytes come to, which check sees. */
static enum hop_status read_words(const char *text, uint32_t devices, struct hop_pattern *p, struct hop_diag *diag)
{
    struct reader r = {.pattern = p, .text = text, .devices = devices, .failure.diag = diag};
    struct hop_field name = {text, strcspn(text, ":,")};
    const char *next = text + name.length;
    bool bare = *next != ':';
    *p = (struct hop_pattern){
        .steps = 1, .rounds = 1, .work_s = 30e-6, .random.seed = 1, .grid.row = true, .approach = 1};
    find_kind(&r, name);
    if (p->kind && bare)
        choose_grid(&r);
    next = *next ? next + 1 : NULL;
    if (p->kind && !bare)
        read_grid(&r, cut(&next));
    while (next && r.failure.status == HOP_OK)
        read_setting(&r, cut(&next));
    if (bare && r.failure.status == HOP_OK)
        check_alone(&r);
    p->bytes_said = p->kind && is_given(&r, "bytes");
    p->memory_said = p->kind && is_given(&r, "memory");
    if (p->kind && !is_given(&r, "transfers"))
        p->random.transfers = p->ranks;
    hop_failure_place(&r.failure, "%.200s", text);
    return r.failure.status;
}

/* What the words left open. */
static void set_bytes(struct hop_pattern *p, uint64_t bytes)
{
    if (!p->bytes_said)
        p->bytes = bytes;
    if (p->random.min_bytes == 0)
        p->random.min_bytes = p->bytes;
    if (p->random.max_bytes == 0)
        p->random.max_bytes = p->bytes > p->random.min_bytes ? p->bytes : p->random.min_bytes;
}

static enum hop_status place(const char *text, enum hop_status status, struct hop_diag *diag)
{
    if (status != HOP_OK && status != HOP_ERR_MEMORY)
        hop_diag_place(diag, "%.200s", text);
    return status;
}

/* ---- the interface ---- */

bool hop_pattern_at(size_t index, const char **spelling, const char **summary)
{
    if (index >= HOP_COUNT(kinds))
        return false;
    *spelling = kinds[index]->spelling;
    *summary = kinds[index]->summary;
    return true;
}

bool hop_pattern_is(const char *text)
{
    const struct hop_field name = {text, strcspn(text, ":,")};
    bool known = false;
    for (size_t k = 0; k < HOP_COUNT(kinds); k++)
        known = known || hop_field_is(name, kinds[k]->name);
    return known;
}

enum hop_status hop_pattern_ranks(const char *text, uint32_t devices, uint32_t *ranks, struct hop_diag *diag)
{
    struct hop_pattern p;
    enum hop_status status = read_words(text, devices, &p, diag);
    if (status == HOP_OK)
        *ranks = p.ranks;
    return status;
}

/* Whether it is a collective, whose vector is cut into a message for each rank along the first dimension. */
static bool cuts(const struct hop_pattern_kind *kind)
{
    return kind == &hop_pattern_alltoall || kind == &hop_pattern_scatter || kind == &hop_pattern_gather ||
           kind == &hop_pattern_coll;
}

enum hop_status hop_pattern_parts(const char *text, uint32_t devices, uint32_t *parts, struct hop_diag *diag)
{
    struct hop_pattern p;
    HOP_CHECK(read_words(text, devices, &p, diag));
    *parts = cuts(p.kind) ? p.grid.extent[0] : 1;
    return HOP_OK;
}

enum hop_status hop_pattern_schedule(const char *text, const struct hop_ranks *ranks, uint64_t bytes,
                                     struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct hop_pattern p;
    enum hop_status status = read_words(text, ranks->count, &p, diag);
    if (status != HOP_OK)
        return status;
    set_bytes(&p, bytes);
    if (p.memory_said) {
        hop_fail(diag, HOP_ERR_INVALID, "memory is a setting of traffic\nhost memory as devices, such as host0,host1");
        return place(text, HOP_ERR_INVALID, diag);
    }
    if (p.ranks != ranks->count) {
        hop_fail(diag, HOP_ERR_INVALID, "the pattern has %u ranks, but %u devices take part\na device for every rank",
                 p.ranks, ranks->count);
        return place(text, HOP_ERR_INVALID, diag);
    }
    return place(text, hop_make_schedule(&p, p.kind, ranks, schedule, diag), diag);
}

enum hop_status hop_pattern_traffic(const char *text, enum hop_memory memory, struct hop_traffic **traffic,
                                    struct hop_diag *diag)
{
    struct hop_pattern p;
    struct hop_traffic *made = NULL;
    enum hop_status status = hop_traffic_check_memory(memory, diag);
    if (status == HOP_OK)
        status = read_words(text, 0, &p, diag);
    if (status != HOP_OK)
        return status;
    set_bytes(&p, 1 << 20);
    status = p.kind->check(&p, diag);
    if (status == HOP_OK && p.messages > HOP_TRAFFIC_FLOWS)
        status = hop_fail(diag, HOP_ERR_LIMIT, "%llu messages would be exchanged\nat most %u",
                          (unsigned long long)p.messages, HOP_TRAFFIC_FLOWS);
    if (status == HOP_OK)
        status = hop_traffic_create(p.ranks, &made, diag);
    struct hop_pattern_sink maker = {
        .traffic = made, .memory = p.memory_said ? p.memory : memory, .failure = {diag, status}};
    if (status == HOP_OK)
        p.kind->make(&p, &maker);
    if (maker.failure.status == HOP_OK)
        *traffic = made;
    else
        hop_traffic_destroy(made);
    return place(text, maker.failure.status, diag);
}
