/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast sweep: from words to cases. A list of values is V,V,... where a V may be a range:
 *
 *     LOW:HIGH:STEP       10GB/s:50GB/s:10GB/s
 *     LOW:HIGH*FACTOR     64KiB:1MiB*2
 *
 * Topologies vary slowest, then models, assignments (the first --set slowest), maps, sizes, and schedules fastest, so
 * that neighbours share a network. A schedule that names ranks is placed once for each topology and map.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sweep.h"

enum { VALUES_MAX = 1 << 20 };

void sweep_cut_line(const char *line, struct tool_words *words)
{
    char *word = tool_alloc(strlen(line), 1);
    for (;;) {
        size_t length = 0;
        char quote = 0;
        line += strspn(line, " \t\r\n");
        if (!*line || *line == '#')
            return;
        for (; *line && (quote || !strchr(" \t\r\n", *line)); line++) {
            if (quote ? *line == quote : *line == '\'' || *line == '"')
                quote = quote ? 0 : *line;
            else
                word[length++] = *line;
        }
        word[length] = '\0';
        if (quote)
            tool_bad_usage(&tool_sweep, "a quote (%c) that does not end", quote);
        tool_words_add(words, word);
    }
}

/* ---- values ---- */

enum kind { NUMBER, RATE, SECONDS, BYTES, TEXT };

static enum kind read_value(const char *text, double *value)
{
    char *end;
    uint64_t bytes;
    *value = strtod(text, &end);
    if (end != text && !*end && isfinite(*value))
        return NUMBER;
    if (hop_parse_rate(text, strlen(text), value, NULL) == HOP_OK)
        return RATE;
    if (hop_parse_seconds(text, strlen(text), value, NULL) == HOP_OK)
        return SECONDS;
    if (hop_parse_bytes(text, strlen(text), &bytes, NULL) == HOP_OK) {
        *value = (double)bytes;
        return BYTES;
    }
    return TEXT;
}

bool sweep_number(const char *text, double *value)
{
    return read_value(text, value) != TEXT;
}

/* The shortest that reads back the same. */
static void write_value(enum kind kind, double value, char *buffer, size_t size)
{
    static const char *const units[] = {"", "B/s", "s", "B"};
    if (kind == BYTES) {
        (void)snprintf(buffer, size, "%.0fB", round(value));
        return;
    }
    for (int digits = 12; digits <= 17; digits++) {
        (void)snprintf(buffer, size, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break;
    }
    (void)snprintf(buffer + strlen(buffer), size - strlen(buffer), "%s", units[kind]);
}

static _Noreturn void bad_range(const char *range)
{
    tool_bad_usage(&tool_sweep,
                   "'%s' is no range: LOW:HIGH:STEP or LOW:HIGH*FACTOR is expected, as in 10GB/s:50GB/s:10GB/s or "
                   "64KiB:1MiB*2, LOW <= HIGH, STEP > 0, FACTOR > 1, LOW > 0 with a factor",
                   range);
}

/* i-th value of a range; a step of 0.1 goes 0.1 0.2 0.3, not 0.30000000000000004. */
static double range_value(double low, double step, bool factor, uint32_t i)
{
    char text[40];
    double value = factor ? low * pow(step, i) : low + step * i;
    (void)snprintf(text, sizeof text, "%.14g", value);
    return strtod(text, NULL);
}

/* The values of one --set, as assignments, or of --bytes or --scale-bytes. */
struct values {
    const char **at;
    double *numbers; /* of the last two */
    uint32_t count;
};

/* name: with its '=', of an assignment; else "". */
static void add_value(struct values *values, const char *name, const char *value)
{
    TOOL_GROW(values->at, values->count + 1);
    values->at[values->count++] = tool_text("%s%s", name, value);
}

static void expand_range(struct values *values, const char *name, char *range)
{
    char *first = strchr(range, ':'), *second = strpbrk(first + 1, ":*"), text[64];
    const char *whole = tool_text("%s", range);
    double low, high, step;
    if (!second)
        bad_range(whole);
    bool factor = *second == '*';
    *first = *second = '\0';
    enum kind kind = read_value(range, &low), kind_high = read_value(first + 1, &high),
              kind_step = read_value(second + 1, &step);
    bool same = kind == kind_high && (factor ? kind_step == NUMBER : kind_step == kind);
    if (!same || kind == TEXT || !(low <= high) || !(factor ? step > 1 && low > 0 : step > 0))
        bad_range(whole);
    for (uint32_t i = 0;; i++) {
        double value = range_value(low, step, factor, i);
        if (value > high * (1 + 1e-12))
            return;
        if (i == VALUES_MAX)
            tool_bad_usage(&tool_sweep, "'%s' has more than %d values", whole, VALUES_MAX);
        write_value(kind, value, text, sizeof text);
        add_value(values, name, text);
    }
}

/* V,V,... */
static void expand(struct values *values, const char *name, const char *text)
{
    for (char *item = tool_text("%s", text), *next; item; item = next) {
        next = strchr(item, ',');
        if (next)
            *next++ = '\0';
        if (!*item)
            tool_bad_usage(&tool_sweep, "an empty value in '%s'", text);
        if (strchr(item, ':'))
            expand_range(values, name, item);
        else
            add_value(values, name, item);
    }
}

const char *sweep_value(const struct sweep_case *one, const char *name)
{
    size_t length = strlen(name);
    for (uint32_t i = 0; i < one->assignment_count; i++) {
        if (strncmp(one->assignments[i], name, length) == 0 && one->assignments[i][length] == '=')
            return one->assignments[i] + length + 1;
    }
    return NULL;
}

/* ---- schedules, topologies and maps, each read once ---- */

/* Where nouns come from. The last three: what is to be placed, as indices. */
struct origin {
    struct sweep_list *list;
    struct hop_sweep *sweep;
    uint32_t schedule, machine, map;
};

/* What has that name, loaded when it is new. */
static struct sweep_noun *find_noun(struct sweep_nouns *nouns, const char *name,
                                    void *(*load)(const char *, const struct origin *, uint32_t *),
                                    const struct origin *origin)
{
    uint32_t at = hop_names_get(&nouns->names, name);
    if (at != UINT32_MAX)
        return &nouns->at[at];
    struct sweep_noun noun = {.name = tool_text("%s", name), .index = HOP_NONE};
    TOOL_GROW(nouns->at, nouns->count + 1);
    if (!hop_names_put(&nouns->names, noun.name, nouns->count))
        tool_out_of_memory();
    noun.it = load(name, origin, &noun.index);
    nouns->at[nouns->count] = noun;
    return &nouns->at[nouns->count++];
}

static void *load_schedule(const char *name, const struct origin *origin, uint32_t *index)
{
    struct hop_schedule *schedule = tool_read_schedule(name, origin->list->collective);
    if (!hop_schedule_ranks(schedule))
        tool_try(hop_sweep_add_schedule(origin->sweep, schedule, index, &tool_diag));
    return schedule;
}

static void *load_map(const char *name, const struct origin *origin, uint32_t *index)
{
    struct tool_map *map = tool_alloc(1, sizeof *map);
    (void)origin;
    (void)index;
    *map = tool_map_load(name);
    return map;
}

static void *load_machine(const char *name, const struct origin *origin, uint32_t *index)
{
    struct hop_topology *topology = tool_load_topology(name, NULL);
    tool_try(hop_sweep_add_topology(origin->sweep, topology, index, &tool_diag));
    return topology;
}

/* With --keep-going what cannot be placed is a case that fails: it has no schedule here, and in the sweep the one
 * that names ranks, which no topology has. */
struct placed {
    struct hop_schedule *schedule;
    struct hop_diag refusal;
};

static void *load_placed(const char *name, const struct origin *origin, uint32_t *index)
{
    struct sweep_list *list = origin->list;
    struct placed *placed = tool_alloc(1, sizeof *placed);
    const struct hop_schedule *given = list->schedules.at[origin->schedule].it;
    (void)name;
    enum hop_status status = tool_map_place(list->maps.at[origin->map].it, list->machines.at[origin->machine].it, given,
                                            &placed->schedule, &placed->refusal);
    if (status != HOP_OK && (status == HOP_ERR_MEMORY || !list->keep_going))
        tool_fail(&placed->refusal);
    tool_try(hop_sweep_add_schedule(origin->sweep, status == HOP_OK ? placed->schedule : given, index, &tool_diag));
    return placed;
}

/* ---- the product ---- */

/* One product, taken apart. */
struct crossing {
    const struct sweep_product *product;
    struct values *sets, sizes, scales;
    uint64_t combinations, total; /* of assignments; of all */
};

static void add_column(struct sweep_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->columns.count; i++) {
        if (strcmp(list->columns.at[i], name) == 0)
            return;
    }
    tool_words_add(&list->columns, name);
}

/* The i-th --set. */
static void read_set(struct sweep_list *list, const struct tool_words *sets, uint32_t i, struct values *values)
{
    const char *set = sets->at[i];
    size_t length = strcspn(set, "=");
    if (!set[length] || length == 0)
        tool_bad_usage(&tool_sweep, "--set '%s': NAME=VALUE,... is expected, as in tau=0.1,0.2", set);
    for (uint32_t k = 0; k < i; k++) {
        if (strncmp(sets->at[k], set, length + 1) == 0)
            tool_bad_usage(&tool_sweep, "--set %.*s is given twice; several values stand in one, separated by commas",
                           (int)length, set);
    }
    expand(values, tool_text("%.*s=", (int)length, set), set + length + 1);
    add_column(list, tool_text("%.*s", (int)length, set));
}

/* Sizes or factors as numbers. */
static void read_numbers(const struct tool_words *lists, const char *option, bool bytes, struct values *values)
{
    for (uint32_t i = 0; i < lists->count; i++)
        expand(values, "", lists->at[i]);
    values->numbers = tool_alloc(values->count, sizeof *values->numbers);
    for (uint32_t i = 0; i < values->count; i++) {
        enum kind kind = read_value(values->at[i], &values->numbers[i]);
        double value = values->numbers[i];
        if (bytes ? !((kind == BYTES || kind == NUMBER) && value >= 0 && value <= 0x1p60 && value == floor(value))
                  : !(kind == NUMBER && value > 0 && value <= 1e18))
            tool_bad_usage(&tool_sweep, "%s cannot be '%s': %s is expected", option, values->at[i],
                           bytes ? "a size such as 64KiB" : "a factor above 0");
    }
}

static void multiply(uint64_t *product, uint32_t factor)
{
    uint64_t most = (uint64_t)HOP_SWEEP_CASES_MAX + 1;
    *product *= factor ? factor : 1;
    *product = *product < most ? *product : most;
}

static void read_crossing(struct sweep_list *list, struct crossing *c)
{
    const struct tool_words *of = c->product->of;
    const enum sweep_axis others[] = {SWEEP_SCHEDULES, SWEEP_MACHINES, SWEEP_MODELS, SWEEP_MAPS};
    c->sets = tool_alloc(of[SWEEP_SETS].count, sizeof *c->sets);
    c->combinations = 1;
    for (uint32_t i = 0; i < of[SWEEP_SETS].count; i++) {
        read_set(list, &of[SWEEP_SETS], i, &c->sets[i]);
        multiply(&c->combinations, c->sets[i].count);
    }
    read_numbers(&of[SWEEP_SIZES], "--bytes", true, &c->sizes);
    read_numbers(&of[SWEEP_SCALES], "--scale-bytes", false, &c->scales);
    c->total = c->combinations;
    for (size_t i = 0; i < HOP_COUNT(others); i++)
        multiply(&c->total, of[others[i]].count);
    multiply(&c->total, c->sizes.count);
    multiply(&c->total, c->scales.count);
    if (list->count + c->total > HOP_SWEEP_CASES_MAX)
        tool_bad_usage(&tool_sweep, "more than %u cases", HOP_SWEEP_CASES_MAX);
    list->has_map = list->has_map || of[SWEEP_MAPS].count;
    list->has_bytes = list->has_bytes || c->sizes.count;
    list->has_scale = list->has_scale || c->scales.count;
    TOOL_GROW(list->cases, list->count + c->total);
}

/* The i-th combination of assignments, the first --set varying slowest. */
static const char **make_combination(const struct crossing *c, uint64_t i)
{
    uint32_t count = c->product->of[SWEEP_SETS].count;
    const char **made = tool_alloc(count, sizeof *made);
    for (uint32_t k = count; k-- > 0;) {
        made[k] = c->sets[k].at[i % c->sets[k].count];
        i /= c->sets[k].count;
    }
    return made;
}

/* The schedule, and its index in the sweep; where it names ranks, on the devices of the origin's topology. */
static uint32_t set_schedule(struct sweep_case *one, const char *name, struct origin *origin)
{
    struct sweep_list *list = origin->list;
    const struct sweep_noun *noun = find_noun(&list->schedules, name, load_schedule, origin);
    one->schedule = noun->name + 1;
    one->noun = noun->it;
    one->refusal = NULL;
    if (noun->index != HOP_NONE)
        return noun->index;
    origin->schedule = (uint32_t)(noun - list->schedules.at);
    const struct sweep_noun *map = find_noun(&list->maps, one->map ? one->map : "packed", load_map, origin);
    origin->map = (uint32_t)(map - list->maps.at);
    noun = find_noun(&list->placed,
                     tool_text("%" PRIu32 " %" PRIu32 " %" PRIu32, origin->schedule, origin->machine, origin->map),
                     load_placed, origin);
    const struct placed *placed = noun->it;
    one->noun = placed->schedule;
    one->refusal = placed->schedule ? NULL : &placed->refusal;
    return noun->index;
}

/* A digit of a number whose digits have other bases each: the least one, which is taken off. */
static uint32_t take_digit(uint64_t *rest, uint32_t base)
{
    uint32_t digit = base ? (uint32_t)(*rest % base) : 0;
    *rest /= base ? base : 1;
    return digit;
}

/* The i-th case; *one: the one before, whose names and assignments are taken over where they are the same. */
static void add_case(struct origin *origin, const struct crossing *c, uint64_t i, struct sweep_case *one)
{
    struct sweep_list *list = origin->list;
    const struct tool_words *of = c->product->of;
    uint64_t rest = i;
    const char *schedule = of[SWEEP_SCHEDULES].at[take_digit(&rest, of[SWEEP_SCHEDULES].count)];
    uint32_t scale = take_digit(&rest, c->scales.count), size = take_digit(&rest, c->sizes.count);
    bool new_map = i % of[SWEEP_SCHEDULES].count == 0 && scale == 0 && size == 0;
    uint32_t map = take_digit(&rest, of[SWEEP_MAPS].count);
    if (new_map && map == 0) {
        uint64_t combination = rest % c->combinations, machine = rest / c->combinations;
        uint32_t model = take_digit(&machine, of[SWEEP_MODELS].count);
        one->assignments = make_combination(c, combination);
        one->model = of[SWEEP_MODELS].count ? tool_text("%s", of[SWEEP_MODELS].at[model]) : NULL;
        const struct sweep_noun *noun =
            find_noun(&list->machines, of[SWEEP_MACHINES].at[machine], load_machine, origin);
        origin->machine = (uint32_t)(noun - list->machines.at);
        one->machine = noun->name;
    }
    if (new_map)
        one->map = of[SWEEP_MAPS].count ? tool_text("%s", of[SWEEP_MAPS].at[map]) : NULL;
    one->resize = c->sizes.count > 0;
    one->bytes = one->resize ? (uint64_t)c->sizes.numbers[size] : 0;
    one->scale = c->scales.count ? c->scales.numbers[scale] : 0;
    struct hop_sweep_case added = {.models = one->model,
                                   .assignments = one->assignments,
                                   .assignment_count = one->assignment_count,
                                   .resize = one->resize,
                                   .bytes = one->bytes,
                                   .scale = one->scale};
    added.schedule = set_schedule(one, schedule, origin);
    added.topology = list->machines.at[origin->machine].index;
    tool_try(hop_sweep_add(origin->sweep, &added, &tool_diag));
    list->cases[list->count++] = *one;
}

void sweep_add_product(struct sweep_list *list, struct hop_sweep *sweep, const struct sweep_product *product)
{
    struct crossing c = {.product = product};
    struct origin origin = {.list = list, .sweep = sweep};
    struct sweep_case one = {.assignment_count = product->of[SWEEP_SETS].count};
    read_crossing(list, &c);
    for (uint64_t i = 0; i < c.total; i++)
        add_case(&origin, &c, i, &one);
}
