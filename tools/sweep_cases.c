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
#include "sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 1 << 20 };

/* ---- words ---- */

bool sweep_add_word(struct sweep_words *words, const char *text)
{
    if (words->count == words->capacity) {
        uint32_t capacity = words->capacity ? words->capacity * 2 : 8;
        char **grown = realloc(words->at, capacity * sizeof *grown);
        if (!grown)
            return tool_out_of_memory() == TOOL_OK;
        words->at = grown;
        words->capacity = capacity;
    }
    words->at[words->count] = strdup(text);
    if (!words->at[words->count])
        return tool_out_of_memory() == TOOL_OK;
    words->count++;
    return true;
}

bool sweep_add_list(struct sweep_words *words, const char *list)
{
    char *copy = strdup(list), *next;
    bool added = copy || tool_out_of_memory() == TOOL_OK;
    for (char *item = copy; item && added; item = next) {
        next = strchr(item, ',');
        if (next)
            *next++ = '\0';
        added = *item ? sweep_add_word(words, item)
                      : tool_bad_usage(&tool_sweep, "an empty value in '%s'", list) == TOOL_OK;
    }
    free(copy);
    return added;
}

void sweep_free_words(struct sweep_words *words)
{
    for (uint32_t i = 0; i < words->count; i++)
        free(words->at[i]);
    free(words->at);
    *words = (struct sweep_words){0};
}

void sweep_free_product(struct sweep_product *product)
{
    sweep_free_words(&product->schedules);
    sweep_free_words(&product->machines);
    sweep_free_words(&product->models);
    sweep_free_words(&product->sets);
    sweep_free_words(&product->maps);
    sweep_free_words(&product->sizes);
    sweep_free_words(&product->scales);
}

int sweep_cut_line(const char *line, struct sweep_words *words)
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
        else if (!sweep_add_word(words, word))
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

static int expand_range(char *range, struct sweep_words *values)
{
    char *first = strchr(range, ':'), *second = strpbrk(first + 1, ":*"), text[64];
    double low, high, step;
    char whole[160];
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
    for (uint32_t i = 0;; i++) {
        double value = range_value(low, step, factor, i);
        if (value > high * (1 + 1e-12))
            return TOOL_OK;
        if (i == VALUES_MAX)
            return tool_bad_usage(&tool_sweep, "'%s' has more than %d values", whole, VALUES_MAX);
        write_value(kind, value, text, sizeof text);
        if (!sweep_add_word(values, text))
            return TOOL_BAD;
    }
}

static int expand(const char *list, struct sweep_words *values)
{
    char *copy = strdup(list), *next;
    int status = copy ? TOOL_OK : tool_out_of_memory();
    for (char *item = copy; item && status == TOOL_OK; item = next) {
        next = strchr(item, ',');
        if (next)
            *next++ = '\0';
        if (!*item)
            status = tool_bad_usage(&tool_sweep, "an empty value in '%s'", list);
        else if (strchr(item, ':'))
            status = expand_range(item, values);
        else
            status = sweep_add_word(values, item) ? TOOL_OK : TOOL_BAD;
    }
    free(copy);
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

static uint32_t hash(const char *text)
{
    uint32_t h = 2166136261u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

static uint32_t *find_slot(const struct sweep_nouns *nouns, const char *name)
{
    uint32_t at = hash(name) & (nouns->slot_count - 1);
    while (nouns->slots[at] && strcmp(nouns->names[nouns->slots[at] - 1], name) != 0)
        at = (at + 1) & (nouns->slot_count - 1);
    return &nouns->slots[at];
}

static bool make_room(struct sweep_nouns *nouns)
{
    if (nouns->count < nouns->capacity)
        return true;
    uint32_t capacity = nouns->capacity ? nouns->capacity * 2 : 16;
    char **names = realloc(nouns->names, capacity * sizeof *names);
    nouns->names = names ? names : nouns->names;
    void **things = realloc(nouns->nouns, capacity * sizeof *things);
    nouns->nouns = things ? things : nouns->nouns;
    uint32_t *indices = realloc(nouns->indices, capacity * sizeof *indices);
    nouns->indices = indices ? indices : nouns->indices;
    uint32_t *slots = calloc((size_t)capacity * 4, sizeof *slots);
    if (!names || !things || !indices || !slots) {
        free(slots);
        return tool_out_of_memory() == TOOL_OK;
    }
    free(nouns->slots);
    nouns->slots = slots;
    nouns->slot_count = capacity * 4;
    nouns->capacity = capacity;
    for (uint32_t i = 0; i < nouns->count; i++)
        *find_slot(nouns, nouns->names[i]) = i + 1;
    return true;
}

/* Where nouns come from. The last three: what is to be placed, as indices. */
struct origin {
    struct sweep_list *list;
    struct hop_sweep *sweep;
    uint32_t schedule, machine, map;
};

/* What has that name, loaded when it is new; -1: it failed, said so. */
static int64_t find_noun(struct sweep_nouns *nouns, const char *name,
                         void *(*load)(const char *, const struct origin *, uint32_t *), const struct origin *origin)
{
    if (!make_room(nouns))
        return -1;
    uint32_t *slot = find_slot(nouns, name);
    if (*slot)
        return *slot - 1;
    char *copy = strdup(name);
    void *noun = copy ? load(name, origin, &nouns->indices[nouns->count]) : NULL;
    if (!noun) {
        free(copy);
        return -1;
    }
    nouns->names[nouns->count] = copy;
    nouns->nouns[nouns->count] = noun;
    *slot = ++nouns->count;
    return *slot - 1;
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
    *index = HOP_NONE;
    if (tool_load_schedule(name + 1, *name == 'e', origin->list->collective, &schedule) != TOOL_OK)
        return NULL;
    return hop_schedule_ranks(schedule) ? schedule : add_schedule(schedule, origin->sweep, index);
}

static void *load_map(const char *name, const struct origin *origin, uint32_t *index)
{
    struct tool_map *map = calloc(1, sizeof *map);
    (void)origin;
    *index = HOP_NONE;
    if (!map)
        (void)tool_out_of_memory();
    else if (tool_map_load(name, map) == TOOL_OK)
        return map;
    free(map);
    return NULL;
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
    return hop_sweep_add_schedule(origin->sweep, origin->list->schedules.nouns[origin->schedule], index, &diag) ==
           HOP_OK;
}

static void *load_placed(const char *name, const struct origin *origin, uint32_t *index)
{
    struct sweep_list *list = origin->list;
    struct placed *placed = calloc(1, sizeof *placed);
    (void)name;
    *index = HOP_NONE;
    if (!placed) {
        (void)tool_out_of_memory();
        return NULL;
    }
    enum hop_status status =
        tool_map_place(list->maps.nouns[origin->map], list->machines.nouns[origin->machine],
                       list->schedules.nouns[origin->schedule], &placed->schedule, &placed->refusal);
    if (status == HOP_OK && add_schedule(placed->schedule, origin->sweep, index))
        return placed;
    if (status != HOP_OK && status != HOP_ERR_MEMORY && list->keep_going && refuse(origin, index))
        return placed;
    if (status != HOP_OK)
        (void)tool_fail(&placed->refusal);
    free(placed);
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

/* Memory that lives as long as the list. */
static void *keep(struct sweep_list *list, size_t size)
{
    if (list->block_count == list->block_capacity) {
        uint32_t capacity = list->block_capacity ? list->block_capacity * 2 : 16;
        void **grown = realloc(list->blocks, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        list->blocks = grown;
        list->block_capacity = capacity;
    }
    void *block = calloc(1, size + 1);
    if (block)
        list->blocks[list->block_count++] = block;
    return block;
}

static char *keep_text(struct sweep_list *list, const char *a, const char *b, const char *c)
{
    size_t size = strlen(a) + strlen(b) + strlen(c) + 1;
    char *text = keep(list, size);
    if (text)
        (void)snprintf(text, size, "%s%s%s", a, b, c);
    return text;
}

/* All values of one --set, as assignments. */
struct axis {
    char **assignments;
    uint32_t count;
};

static int add_column(struct sweep_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->columns.count; i++) {
        if (strcmp(list->columns.at[i], name) == 0)
            return TOOL_OK;
    }
    return sweep_add_word(&list->columns, name) ? TOOL_OK : TOOL_BAD;
}

static int make_axis(struct sweep_list *list, const char *set, struct axis *axis)
{
    struct sweep_words values = {0};
    const char *equals = strchr(set, '=');
    if (!equals || equals == set)
        return tool_bad_usage(&tool_sweep, "--set '%s': NAME=VALUE,... is expected, as in tau=0.1,0.2", set);
    char *name = keep_text(list, set, "", "");
    if (!name)
        return tool_out_of_memory();
    name[equals - set] = '\0';
    int status = expand(equals + 1, &values);
    if (status == TOOL_OK)
        status = add_column(list, name);
    axis->count = values.count;
    axis->assignments = status == TOOL_OK ? keep(list, values.count * sizeof *axis->assignments) : NULL;
    for (uint32_t i = 0; axis->assignments && i < values.count; i++) {
        axis->assignments[i] = keep_text(list, name, "=", values.at[i]);
        if (!axis->assignments[i])
            axis->assignments = NULL;
    }
    sweep_free_words(&values);
    return status == TOOL_OK && !axis->assignments ? tool_out_of_memory() : status;
}

static int make_axes(struct sweep_list *list, const struct sweep_words *sets, struct axis *axes)
{
    for (uint32_t i = 0; i < sets->count; i++) {
        size_t length = strcspn(sets->at[i], "=");
        for (uint32_t k = 0; k < i; k++) {
            if (strcspn(sets->at[k], "=") == length && memcmp(sets->at[k], sets->at[i], length) == 0)
                return tool_bad_usage(&tool_sweep,
                                      "--set %.*s is given twice; several values stand in one, separated by commas",
                                      (int)length, sets->at[i]);
        }
        int status = make_axis(list, sets->at[i], &axes[i]);
        if (status != TOOL_OK)
            return status;
    }
    return TOOL_OK;
}

static bool is_too_many(uint64_t *product, uint64_t factor)
{
    *product *= factor;
    return *product > HOP_SWEEP_CASES_MAX;
}

/* Sizes or factors as numbers. */
static int expand_numbers(const struct sweep_words *lists, const char *option, bool bytes, double **numbers,
                          uint32_t *count)
{
    struct sweep_words values = {0};
    int status = TOOL_OK;
    for (uint32_t i = 0; i < lists->count && status == TOOL_OK; i++)
        status = expand(lists->at[i], &values);
    *numbers = malloc((values.count + 1) * sizeof **numbers);
    if (!*numbers && status == TOOL_OK)
        status = tool_out_of_memory();
    for (uint32_t i = 0; i < values.count && status == TOOL_OK; i++) {
        enum kind kind = read_value(values.at[i], &(*numbers)[i]);
        double value = (*numbers)[i];
        if (bytes ? !((kind == BYTES || kind == NUMBER) && value >= 0 && value <= 0x1p60 && value == floor(value))
                  : !(kind == NUMBER && value > 0 && value <= 1e18))
            status = tool_bad_usage(&tool_sweep, "%s cannot be '%s': %s is expected", option, values.at[i],
                                    bytes ? "a size such as 64KiB" : "a factor above 0");
    }
    *count = values.count;
    sweep_free_words(&values);
    return status;
}

static bool grow_cases(struct sweep_list *list, uint64_t more)
{
    uint64_t need = list->count + more;
    if (need <= list->capacity)
        return true;
    uint64_t capacity = need > 2 * (uint64_t)list->capacity ? need : 2 * (uint64_t)list->capacity;
    struct sweep_case *grown = realloc(list->cases, capacity * sizeof *grown);
    if (!grown)
        return false;
    list->cases = grown;
    list->capacity = (uint32_t)capacity;
    return true;
}

static int add_case(struct sweep_list *list, struct hop_sweep *sweep, const struct sweep_case *one, uint32_t schedule,
                    uint32_t machine)
{
    struct hop_diag diag;
    const struct hop_sweep_case added = {.schedule = schedule,
                                         .topology = machine,
                                         .models = one->model,
                                         .assignments = one->assignments,
                                         .assignment_count = one->assignment_count,
                                         .resize = one->resize,
                                         .bytes = one->bytes,
                                         .scale = one->scale};
    if (hop_sweep_add(sweep, &added, &diag) != HOP_OK)
        return tool_fail(&diag);
    list->cases[list->count++] = *one;
    return TOOL_OK;
}

/* One product, taken apart. */
struct crossing {
    struct axis *axes;
    uint32_t axis_count;
    double *sizes, *scales;
    uint32_t size_count, scale_count;
    uint64_t combinations;
};

static int read_crossing(struct sweep_list *list, const struct sweep_product *p, struct crossing *c)
{
    c->axes = calloc(p->sets.count + 1, sizeof *c->axes);
    c->axis_count = p->sets.count;
    int status = c->axes ? make_axes(list, &p->sets, c->axes) : tool_out_of_memory();
    if (status == TOOL_OK)
        status = expand_numbers(&p->sizes, "--bytes", true, &c->sizes, &c->size_count);
    if (status == TOOL_OK)
        status = expand_numbers(&p->scales, "--scale-bytes", false, &c->scales, &c->scale_count);
    if (status != TOOL_OK)
        return status;
    uint64_t total = 1;
    c->combinations = 1;
    bool many = false;
    for (uint32_t i = 0; i < c->axis_count && !many; i++)
        many = is_too_many(&c->combinations, c->axes[i].count);
    many = many || is_too_many(&total, c->combinations) || is_too_many(&total, p->schedules.count) ||
           is_too_many(&total, p->machines.count) || is_too_many(&total, p->models.count ? p->models.count : 1) ||
           is_too_many(&total, p->maps.count ? p->maps.count : 1) ||
           is_too_many(&total, c->size_count ? c->size_count : 1) ||
           is_too_many(&total, c->scale_count ? c->scale_count : 1);
    if (many || list->count + total > HOP_SWEEP_CASES_MAX)
        return tool_bad_usage(&tool_sweep, "more than %u cases", HOP_SWEEP_CASES_MAX);
    list->has_map = list->has_map || p->maps.count;
    list->has_bytes = list->has_bytes || c->size_count;
    list->has_scale = list->has_scale || c->scale_count;
    return grow_cases(list, total) ? TOOL_OK : tool_out_of_memory();
}

/* The i-th combination of assignments, the first --set varying slowest. */
static const char **make_combination(struct sweep_list *list, const struct crossing *c, uint64_t i)
{
    const char **made = keep(list, c->axis_count * sizeof *made);
    for (uint32_t k = c->axis_count; made && k-- > 0;) {
        made[k] = c->axes[k].assignments[i % c->axes[k].count];
        i /= c->axes[k].count;
    }
    return made;
}

/* The schedule on the devices of the origin's topology; *index: in the sweep. */
static int set_placed(struct sweep_case *one, struct origin *origin, uint32_t *index)
{
    struct sweep_list *list = origin->list;
    char key[64];
    int64_t map = find_noun(&list->maps, one->map ? one->map : "packed", load_map, origin);
    if (map < 0)
        return TOOL_BAD;
    origin->map = (uint32_t)map;
    (void)snprintf(key, sizeof key, "%" PRIu32 " %" PRIu32 " %" PRIu32, origin->schedule, origin->machine, origin->map);
    int64_t at = find_noun(&list->placed, key, load_placed, origin);
    if (at < 0)
        return TOOL_BAD;
    const struct placed *placed = list->placed.nouns[at];
    *index = list->placed.indices[at];
    one->noun = placed->schedule;
    one->refusal = placed->schedule ? NULL : &placed->refusal;
    return TOOL_OK;
}

static int set_schedule(struct sweep_case *one, const char *name, struct origin *origin, uint32_t *index)
{
    struct sweep_list *list = origin->list;
    int64_t at = find_noun(&list->schedules, name, load_schedule, origin);
    if (at < 0)
        return TOOL_BAD;
    one->schedule = list->schedules.names[at] + 1;
    one->noun = list->schedules.nouns[at];
    one->refusal = NULL;
    *index = list->schedules.indices[at];
    if (*index != HOP_NONE)
        return TOOL_OK;
    origin->schedule = (uint32_t)at;
    return set_placed(one, origin, index);
}

static int cross_sizes(struct origin *origin, const struct sweep_product *p, const struct crossing *c,
                       struct sweep_case one)
{
    struct sweep_list *list = origin->list;
    int status = TOOL_OK;
    for (uint32_t b = 0; b < (c->size_count ? c->size_count : 1) && status == TOOL_OK; b++) {
        one.resize = c->size_count > 0;
        one.bytes = one.resize ? (uint64_t)c->sizes[b] : 0;
        for (uint32_t f = 0; f < (c->scale_count ? c->scale_count : 1) && status == TOOL_OK; f++) {
            one.scale = c->scale_count ? c->scales[f] : 0;
            for (uint32_t s = 0; s < p->schedules.count && status == TOOL_OK; s++) {
                uint32_t schedule;
                status = set_schedule(&one, p->schedules.at[s], origin, &schedule);
                if (status == TOOL_OK)
                    status = add_case(list, origin->sweep, &one, schedule, list->machines.indices[origin->machine]);
            }
        }
    }
    return status;
}

static int cross_maps(struct origin *origin, const struct sweep_product *p, const struct crossing *c,
                      struct sweep_case one)
{
    int status = p->maps.count ? TOOL_OK : cross_sizes(origin, p, c, one);
    for (uint32_t i = 0; i < p->maps.count && status == TOOL_OK; i++) {
        one.map = keep_text(origin->list, p->maps.at[i], "", "");
        status = one.map ? cross_sizes(origin, p, c, one) : tool_out_of_memory();
    }
    return status;
}

static int cross(struct sweep_list *list, struct hop_sweep *sweep, const struct sweep_product *p,
                 const struct crossing *c)
{
    struct origin origin = {.list = list, .sweep = sweep};
    int status = TOOL_OK;
    for (uint32_t t = 0; t < p->machines.count && status == TOOL_OK; t++) {
        int64_t at = find_noun(&list->machines, p->machines.at[t], load_machine, &origin);
        if (at < 0)
            return TOOL_BAD;
        origin.machine = (uint32_t)at;
        for (uint32_t m = 0; m < (p->models.count ? p->models.count : 1) && status == TOOL_OK; m++) {
            char *model = p->models.count ? keep_text(list, p->models.at[m], "", "") : NULL;
            if (p->models.count && !model)
                return tool_out_of_memory();
            for (uint64_t i = 0; i < c->combinations && status == TOOL_OK; i++) {
                const char **assignments = make_combination(list, c, i);
                if (!assignments)
                    return tool_out_of_memory();
                status = cross_maps(&origin, p, c,
                                    (struct sweep_case){.machine = list->machines.names[at],
                                                        .model = model,
                                                        .assignments = assignments,
                                                        .assignment_count = c->axis_count});
            }
        }
    }
    return status;
}

int sweep_add_product(struct sweep_list *list, struct hop_sweep *sweep, const struct sweep_product *product)
{
    struct crossing c = {0};
    int status = read_crossing(list, product, &c);
    if (status == TOOL_OK)
        status = cross(list, sweep, product, &c);
    free(c.axes);
    free(c.sizes);
    free(c.scales);
    return status;
}

static void free_nouns(struct sweep_nouns *nouns)
{
    for (uint32_t i = 0; i < nouns->count; i++)
        free(nouns->names[i]);
    free(nouns->names);
    free(nouns->nouns);
    free(nouns->indices);
    free(nouns->slots);
}

void sweep_free_list(struct sweep_list *list)
{
    for (uint32_t i = 0; i < list->schedules.count; i++)
        hop_schedule_destroy(list->schedules.nouns[i]);
    for (uint32_t i = 0; i < list->machines.count; i++)
        hop_topology_destroy(list->machines.nouns[i]);
    for (uint32_t i = 0; i < list->maps.count; i++) {
        tool_map_finish(list->maps.nouns[i]);
        free(list->maps.nouns[i]);
    }
    for (uint32_t i = 0; i < list->placed.count; i++) {
        struct placed *placed = list->placed.nouns[i];
        hop_schedule_destroy(placed->schedule);
        free(placed);
    }
    free_nouns(&list->schedules);
    free_nouns(&list->machines);
    free_nouns(&list->maps);
    free_nouns(&list->placed);
    for (uint32_t i = 0; i < list->block_count; i++)
        free(list->blocks[i]);
    free(list->blocks);
    free(list->cases);
    sweep_free_words(&list->columns);
    *list = (struct sweep_list){0};
}
