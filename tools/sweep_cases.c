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

int sweep_cut_line(const char *line, struct tool_words *words)
{
    char *word = malloc(strlen(line) + 1);
    int status = word ? TOOL_OK : tool_out_of_memory();
    while (status == TOOL_OK) {
        size_t length = 0;
        char quote = 0;
        line += strspn(line, " \t\r\n");
        if (!*line || *line == '#')
            break;
        for (; *line && (quote || !strchr(" \t\r\n", *line)); line++) {
            if (quote ? *line == quote : *line == '\'' || *line == '"')
                quote = quote ? 0 : *line;
            else
                word[length++] = *line;
        }
        word[length] = '\0';
        if (quote)
            status = tool_bad_usage(&tool_sweep, "a quote (%c) that does not end", quote);
        else if (!tool_words_add(words, word))
            status = TOOL_BAD;
    }
    free(word);
    return status;
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

static int bad_range(const char *range)
{
    return tool_bad_usage(
        &tool_sweep,
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
static int add_value(struct sweep_list *list, struct values *values, const char *name, const char *value)
{
    size_t size = strlen(name) + strlen(value) + 1;
    char *text = hop_arena_alloc(&list->arena, size);
    if (!text || !HOP_GROW(&list->arena, values->at, values->count + 1))
        return tool_out_of_memory();
    (void)snprintf(text, size, "%s%s", name, value);
    values->at[values->count++] = text;
    return TOOL_OK;
}

static int expand_range(struct sweep_list *list, struct values *values, const char *name, char *range)
{
    char *first = strchr(range, ':'), *second = strpbrk(first + 1, ":*"), text[64], whole[160];
    double low, high, step;
    int status = TOOL_OK;
    (void)snprintf(whole, sizeof whole, "%s", range);
    if (!second)
        return bad_range(whole);
    bool factor = *second == '*';
    *first = *second = '\0';
    enum kind kind = read_value(range, &low), kind_high = read_value(first + 1, &high),
              kind_step = read_value(second + 1, &step);
    bool same = kind == kind_high && (factor ? kind_step == NUMBER : kind_step == kind);
    if (!same || kind == TEXT || !(low <= high) || !(factor ? step > 1 && low > 0 : step > 0))
        return bad_range(whole);
    for (uint32_t i = 0; status == TOOL_OK; i++) {
        double value = range_value(low, step, factor, i);
        if (value > high * (1 + 1e-12))
            break;
        if (i == VALUES_MAX)
            return tool_bad_usage(&tool_sweep, "'%s' has more than %d values", whole, VALUES_MAX);
        write_value(kind, value, text, sizeof text);
        status = add_value(list, values, name, text);
    }
    return status;
}

/* V,V,... */
static int expand(struct sweep_list *list, struct values *values, const char *name, const char *text)
{
    char *copy = hop_arena_string(&list->arena, text, strlen(text)), *next;
    int status = copy ? TOOL_OK : tool_out_of_memory();
    for (char *item = copy; item && status == TOOL_OK; item = next) {
        next = strchr(item, ',');
        if (next)
            *next++ = '\0';
        if (!*item)
            status = tool_bad_usage(&tool_sweep, "an empty value in '%s'", text);
        else
            status = strchr(item, ':') ? expand_range(list, values, name, item) : add_value(list, values, name, item);
    }
    return status;
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

/* What has that name, loaded when it is new; NULL: it failed, said so. */
static struct sweep_noun *find_noun(struct sweep_nouns *nouns, const char *name,
                                    void *(*load)(const char *, const struct origin *, uint32_t *),
                                    const struct origin *origin)
{
    struct hop_arena *arena = &origin->list->arena;
    uint32_t at = hop_names_get(&nouns->names, name);
    if (at != UINT32_MAX)
        return &nouns->at[at];
    struct sweep_noun noun = {.name = hop_arena_string(arena, name, strlen(name)), .index = HOP_NONE};
    if (!noun.name || !HOP_GROW(arena, nouns->at, nouns->count + 1) ||
        !hop_names_put(&nouns->names, noun.name, nouns->count)) {
        (void)tool_out_of_memory();
        return NULL;
    }
    noun.it = load(name, origin, &noun.index);
    if (!noun.it)
        return NULL;
    nouns->at[nouns->count] = noun;
    return &nouns->at[nouns->count++];
}

static struct hop_schedule *add_schedule(struct hop_schedule *schedule, struct hop_sweep *sweep, uint32_t *index)
{
    struct hop_diag diag;
    if (hop_sweep_add_schedule(sweep, schedule, index, &diag) == HOP_OK)
        return schedule;
    hop_schedule_destroy(schedule);
    (void)tool_fail(&diag);
    return NULL;
}

static void *load_schedule(const char *name, const struct origin *origin, uint32_t *index)
{
    struct hop_schedule *schedule = NULL;
    if (tool_read_schedule(name, origin->list->collective, &schedule) != TOOL_OK)
        return NULL;
    return hop_schedule_ranks(schedule) ? schedule : add_schedule(schedule, origin->sweep, index);
}

static void *load_map(const char *name, const struct origin *origin, uint32_t *index)
{
    struct tool_map *map = hop_arena_alloc(&origin->list->arena, sizeof *map);
    (void)index;
    if (!map)
        (void)tool_out_of_memory();
    return map && tool_map_load(name, map) == TOOL_OK ? map : NULL;
}

/* With --keep-going what cannot be placed is a case that fails: it has no schedule here, and in the sweep the one
 * that names ranks, which no topology has. */
struct placed {
    struct hop_schedule *schedule;
    struct hop_diag refusal;
};

static bool refuse(const struct origin *origin, uint32_t *index)
{
    struct hop_diag diag;
    return hop_sweep_add_schedule(origin->sweep, origin->list->schedules.at[origin->schedule].it, index, &diag) ==
           HOP_OK;
}

static void *load_placed(const char *name, const struct origin *origin, uint32_t *index)
{
    struct sweep_list *list = origin->list;
    struct placed *placed = hop_arena_alloc(&list->arena, sizeof *placed);
    (void)name;
    if (!placed) {
        (void)tool_out_of_memory();
        return NULL;
    }
    enum hop_status status =
        tool_map_place(list->maps.at[origin->map].it, list->machines.at[origin->machine].it,
                       list->schedules.at[origin->schedule].it, &placed->schedule, &placed->refusal);
    if (status == HOP_OK && add_schedule(placed->schedule, origin->sweep, index))
        return placed;
    if (status != HOP_OK && status != HOP_ERR_MEMORY && list->keep_going && refuse(origin, index))
        return placed;
    if (status != HOP_OK)
        (void)tool_fail(&placed->refusal);
    return NULL;
}

static void *load_machine(const char *name, const struct origin *origin, uint32_t *index)
{
    struct hop_diag diag;
    struct hop_topology *topology = NULL;
    if (tool_load_topology(name, NULL, &topology) != TOOL_OK)
        return NULL;
    if (hop_sweep_add_topology(origin->sweep, topology, index, &diag) == HOP_OK)
        return topology;
    hop_topology_destroy(topology);
    (void)tool_fail(&diag);
    return NULL;
}

/* ---- the product ---- */

/* One product, taken apart. */
struct crossing {
    const struct sweep_product *product;
    struct values *sets, sizes, scales;
    uint64_t combinations, total; /* of assignments; of all */
};

static int add_column(struct sweep_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->columns.count; i++) {
        if (strcmp(list->columns.at[i], name) == 0)
            return TOOL_OK;
    }
    return tool_words_add(&list->columns, name) ? TOOL_OK : TOOL_BAD;
}

/* The i-th --set. */
static int read_set(struct sweep_list *list, const struct tool_words *sets, uint32_t i, struct values *values)
{
    const char *set = sets->at[i];
    size_t length = strcspn(set, "=");
    if (!set[length] || length == 0)
        return tool_bad_usage(&tool_sweep, "--set '%s': NAME=VALUE,... is expected, as in tau=0.1,0.2", set);
    for (uint32_t k = 0; k < i; k++) {
        if (strncmp(sets->at[k], set, length + 1) == 0)
            return tool_bad_usage(&tool_sweep,
                                  "--set %.*s is given twice; several values stand in one, separated by commas",
                                  (int)length, set);
    }
    char *name = hop_arena_string(&list->arena, set, length + 1);
    if (!name)
        return tool_out_of_memory();
    int status = expand(list, values, name, set + length + 1);
    name[length] = '\0';
    return status == TOOL_OK ? add_column(list, name) : status;
}

/* Sizes or factors as numbers. */
static int read_numbers(struct sweep_list *list, const struct tool_words *lists, const char *option, bool bytes,
                        struct values *values)
{
    int status = TOOL_OK;
    for (uint32_t i = 0; i < lists->count && status == TOOL_OK; i++)
        status = expand(list, values, "", lists->at[i]);
    if (status == TOOL_OK && !HOP_GROW(&list->arena, values->numbers, values->count + 1))
        status = tool_out_of_memory();
    for (uint32_t i = 0; i < values->count && status == TOOL_OK; i++) {
        enum kind kind = read_value(values->at[i], &values->numbers[i]);
        double value = values->numbers[i];
        if (bytes ? !((kind == BYTES || kind == NUMBER) && value >= 0 && value <= 0x1p60 && value == floor(value))
                  : !(kind == NUMBER && value > 0 && value <= 1e18))
            status = tool_bad_usage(&tool_sweep, "%s cannot be '%s': %s is expected", option, values->at[i],
                                    bytes ? "a size such as 64KiB" : "a factor above 0");
    }
    return status;
}

static void multiply(uint64_t *product, uint32_t factor)
{
    uint64_t most = (uint64_t)HOP_SWEEP_CASES_MAX + 1;
    *product *= factor ? factor : 1;
    *product = *product < most ? *product : most;
}

static int read_crossing(struct sweep_list *list, struct crossing *c)
{
    const struct tool_words *of = c->product->of;
    const enum sweep_axis others[] = {SWEEP_SCHEDULES, SWEEP_MACHINES, SWEEP_MODELS, SWEEP_MAPS};
    int status = HOP_GROW(&list->arena, c->sets, of[SWEEP_SETS].count + 1) ? TOOL_OK : tool_out_of_memory();
    for (uint32_t i = 0; i < of[SWEEP_SETS].count && status == TOOL_OK; i++)
        status = read_set(list, &of[SWEEP_SETS], i, &c->sets[i]);
    THEN(status, read_numbers(list, &of[SWEEP_SIZES], "--bytes", true, &c->sizes));
    THEN(status, read_numbers(list, &of[SWEEP_SCALES], "--scale-bytes", false, &c->scales));
    if (status != TOOL_OK)
        return status;
    c->combinations = 1;
    for (uint32_t i = 0; i < of[SWEEP_SETS].count; i++)
        multiply(&c->combinations, c->sets[i].count);
    c->total = c->combinations;
    for (size_t i = 0; i < HOP_COUNT(others); i++)
        multiply(&c->total, of[others[i]].count);
    multiply(&c->total, c->sizes.count);
    multiply(&c->total, c->scales.count);
    if (list->count + c->total > HOP_SWEEP_CASES_MAX)
        return tool_bad_usage(&tool_sweep, "more than %u cases", HOP_SWEEP_CASES_MAX);
    list->has_map = list->has_map || of[SWEEP_MAPS].count;
    list->has_bytes = list->has_bytes || c->sizes.count;
    list->has_scale = list->has_scale || c->scales.count;
    return HOP_GROW(&list->arena, list->cases, list->count + c->total) ? TOOL_OK : tool_out_of_memory();
}

/* The i-th combination of assignments, the first --set varying slowest. */
static const char **make_combination(struct sweep_list *list, const struct crossing *c, uint64_t i)
{
    uint32_t count = c->product->of[SWEEP_SETS].count;
    const char **made = hop_arena_alloc(&list->arena, (count + 1) * sizeof *made);
    for (uint32_t k = count; made && k-- > 0;) {
        made[k] = c->sets[k].at[i % c->sets[k].count];
        i /= c->sets[k].count;
    }
    return made;
}

/* The schedule on the devices of the origin's topology; *index: in the sweep. */
static int set_placed(struct sweep_case *one, struct origin *origin, uint32_t *index)
{
    struct sweep_list *list = origin->list;
    char key[64];
    const struct sweep_noun *map = find_noun(&list->maps, one->map ? one->map : "packed", load_map, origin);
    if (!map)
        return TOOL_BAD;
    origin->map = (uint32_t)(map - list->maps.at);
    (void)snprintf(key, sizeof key, "%" PRIu32 " %" PRIu32 " %" PRIu32, origin->schedule, origin->machine, origin->map);
    const struct sweep_noun *noun = find_noun(&list->placed, key, load_placed, origin);
    if (!noun)
        return TOOL_BAD;
    const struct placed *placed = noun->it;
    *index = noun->index;
    one->noun = placed->schedule;
    one->refusal = placed->schedule ? NULL : &placed->refusal;
    return TOOL_OK;
}

static int set_schedule(struct sweep_case *one, const char *name, struct origin *origin, uint32_t *index)
{
    const struct sweep_noun *noun = find_noun(&origin->list->schedules, name, load_schedule, origin);
    if (!noun)
        return TOOL_BAD;
    one->schedule = noun->name + 1;
    one->noun = noun->it;
    one->refusal = NULL;
    *index = noun->index;
    origin->schedule = (uint32_t)(noun - origin->list->schedules.at);
    return *index == HOP_NONE ? set_placed(one, origin, index) : TOOL_OK;
}

/* A digit of a number whose digits have other bases each: the least one, which is taken off. */
static uint32_t take_digit(uint64_t *rest, uint32_t base)
{
    uint32_t digit = base ? (uint32_t)(*rest % base) : 0;
    *rest /= base ? base : 1;
    return digit;
}

/* The i-th case; *one: the one before, whose names and assignments are taken over where they are the same. */
static int add_case(struct origin *origin, const struct crossing *c, uint64_t i, struct sweep_case *one)
{
    struct sweep_list *list = origin->list;
    const struct tool_words *of = c->product->of;
    uint64_t rest = i;
    const char *schedule = of[SWEEP_SCHEDULES].at[take_digit(&rest, of[SWEEP_SCHEDULES].count)];
    uint32_t scale = take_digit(&rest, c->scales.count), size = take_digit(&rest, c->sizes.count);
    bool new_map = i % c->product->of[SWEEP_SCHEDULES].count == 0 && scale == 0 && size == 0;
    uint32_t map = take_digit(&rest, of[SWEEP_MAPS].count);
    if (new_map && map == 0) {
        uint64_t combination = rest % c->combinations, model = rest / c->combinations, machine = model;
        one->assignments = make_combination(list, c, combination);
        uint32_t m = take_digit(&machine, of[SWEEP_MODELS].count);
        one->model = of[SWEEP_MODELS].count
                         ? hop_arena_string(&list->arena, of[SWEEP_MODELS].at[m], strlen(of[SWEEP_MODELS].at[m]))
                         : NULL;
        const struct sweep_noun *noun =
            find_noun(&list->machines, of[SWEEP_MACHINES].at[machine], load_machine, origin);
        if (!noun)
            return TOOL_BAD;
        origin->machine = (uint32_t)(noun - list->machines.at);
        one->machine = noun->name;
    }
    if (new_map)
        one->map = of[SWEEP_MAPS].count
                       ? hop_arena_string(&list->arena, of[SWEEP_MAPS].at[map], strlen(of[SWEEP_MAPS].at[map]))
                       : NULL;
    one->resize = c->sizes.count > 0;
    one->bytes = one->resize ? (uint64_t)c->sizes.numbers[size] : 0;
    one->scale = c->scales.count ? c->scales.numbers[scale] : 0;
    struct hop_diag diag;
    struct hop_sweep_case added = {.models = one->model,
                                   .assignments = one->assignments,
                                   .assignment_count = one->assignment_count,
                                   .resize = one->resize,
                                   .bytes = one->bytes,
                                   .scale = one->scale};
    if (list->arena.failed)
        return tool_out_of_memory();
    if (set_schedule(one, schedule, origin, &added.schedule) != TOOL_OK)
        return TOOL_BAD;
    added.topology = list->machines.at[origin->machine].index;
    if (hop_sweep_add(origin->sweep, &added, &diag) != HOP_OK)
        return tool_fail(&diag);
    list->cases[list->count++] = *one;
    return TOOL_OK;
}

int sweep_add_product(struct sweep_list *list, struct hop_sweep *sweep, const struct sweep_product *product)
{
    struct crossing c = {.product = product};
    struct origin origin = {.list = list, .sweep = sweep};
    struct sweep_case one = {.assignment_count = product->of[SWEEP_SETS].count};
    int status = read_crossing(list, &c);
    for (uint64_t i = 0; i < c.total && status == TOOL_OK; i++)
        status = add_case(&origin, &c, i, &one);
    return status;
}

void sweep_free_list(struct sweep_list *list)
{
    struct sweep_nouns *const all[] = {&list->schedules, &list->machines, &list->maps, &list->placed};
    for (uint32_t i = 0; i < list->schedules.count; i++)
        hop_schedule_destroy(list->schedules.at[i].it);
    for (uint32_t i = 0; i < list->machines.count; i++)
        hop_topology_destroy(list->machines.at[i].it);
    for (uint32_t i = 0; i < list->maps.count; i++)
        tool_map_finish(list->maps.at[i].it);
    for (uint32_t i = 0; i < list->placed.count; i++)
        hop_schedule_destroy(((struct placed *)list->placed.at[i].it)->schedule);
    for (size_t i = 0; i < HOP_COUNT(all); i++)
        hop_names_finish(&all[i]->names);
    tool_words_free(&list->columns);
    hop_arena_finish(&list->arena);
    *list = (struct sweep_list){0};
}
