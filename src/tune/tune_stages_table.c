/* SPDX-License-Identifier: BSD-3-Clause */
/* What the steps of a transfer take: read from a table, written as one, predicted on a topology. docs/stages.md. */
#include <stdio.h>

#include "base/fields.h"
#include "tune/tune.h"

/* What is read or predicted; its caller sees the first member. */
struct made {
    struct hop_stages stages;
    struct hop_stage list[HOP_STAGES_MAX];
    struct hop_stage_time times[HOP_STAGES_MAX][HOP_STAGE_TIMES];
    char names[HOP_STAGES_MAX][HOP_STAGE_NAME_SIZE];
};

static struct made *create(void)
{
    struct made *made = calloc(1, sizeof *made);
    if (made)
        made->stages.stages = made->list;
    return made;
}

void hop_stages_destroy(struct hop_stages *stages)
{
    free(stages);
}

static void add_stage(struct made *made, const char *name, size_t length)
{
    uint32_t s = made->stages.count++;
    (void)snprintf(made->names[s], sizeof made->names[s], "%.*s", (int)length, name);
    made->list[s].name = made->names[s];
}

static void add_time(struct made *made, uint32_t s, uint64_t bytes, double time_s)
{
    struct hop_stage *stage = &made->list[s];
    made->times[s][stage->time_count++] = (struct hop_stage_time){bytes, time_s};
    stage->times = made->times[s];
}

/* ---- reading ---- */

static void read_head(struct hop_fields *fields, struct made *made)
{
    static const char *const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    struct hop_field word = hop_fields_word(fields);
    if (!hop_field_is(word, "steps"))
        hop_fields_refuse(fields, word, "table of steps", "steps NAME ..., as in steps read network write");
    while ((word = hop_fields_word(fields)).length > 0 && fields->failure->status == HOP_OK) {
        if (word.length >= HOP_STAGE_NAME_SIZE || strspn(word.text, letters) < word.length)
            hop_fields_refuse(fields, word, "name of a step", "up to 31 letters, digits, '_', '.' and '-'");
        else if (made->stages.count == HOP_STAGES_MAX)
            hop_fields_fail(fields, word.text, HOP_ERR_LIMIT, "too many steps\nat most %d", HOP_STAGES_MAX);
        else
            add_stage(made, word.text, word.length);
    }
    if (made->stages.count == 0)
        hop_fields_refuse(fields, word, "name of a step", "steps NAME ..., as in steps read network write");
}

/* LATENCY+RATE. */
static void read_rate(struct hop_fields *fields, struct hop_field word, struct hop_stage *stage)
{
    size_t length = 1;
    while (length < word.length && (word.text[length] != '+' || (word.text[length - 1] | ' ') == 'e'))
        length++;
    if (length >= word.length) {
        hop_fields_refuse(fields, word, "latency and rate", "LATENCY+RATE, such as 10us+12GB/s");
        return;
    }
    const char *rate = word.text + length + 1;
    struct hop_diag *diag = fields->failure->diag;
    hop_fields_check(fields, word.text, hop_parse_seconds(word.text, length, &stage->latency_s, diag));
    if (fields->failure->status == HOP_OK)
        hop_fields_check(fields, rate, hop_parse_rate(rate, word.length - length - 1, &stage->rate_Bps, diag));
    if (stage->rate_Bps <= 0)
        hop_fields_fail(fields, rate, HOP_ERR_INVALID, "a step that moves nothing\na rate above 0, such as 12GB/s");
}

/* A row's word for one step; bytes 0: of any size. */
static void read_cell(struct hop_fields *fields, struct made *made, uint32_t s, uint64_t bytes)
{
    struct hop_stage *stage = &made->list[s];
    struct hop_field word = hop_fields_word(fields);
    double time_s = 0;
    if (word.length == 0)
        hop_fields_refuse(fields, word, "time of a step", "one for each step, - where it was not measured");
    if (word.length == 0 || hop_field_is(word, "-"))
        return;
    if (stage->rate_Bps > 0 || (bytes == 0 && stage->times)) {
        hop_fields_fail(fields, word.text, HOP_ERR_INVALID,
                        "%s has times of its own and a rate for any size\none or the other, and - for what it has not",
                        stage->name);
    } else if (bytes == 0) {
        read_rate(fields, word, stage);
    } else if (stage->time_count == HOP_STAGE_TIMES) {
        hop_fields_fail(fields, word.text, HOP_ERR_LIMIT, "too many sizes\nat most %d", HOP_STAGE_TIMES);
    } else if (stage->times && stage->times[stage->time_count - 1].bytes >= bytes) {
        hop_fields_fail(fields, fields->start, HOP_ERR_INVALID,
                        "the size is not above the last one of %s\nsizes that ascend", stage->name);
    } else {
        hop_fields_check(fields, word.text, hop_parse_seconds(word.text, word.length, &time_s, fields->failure->diag));
        add_time(made, s, bytes, time_s);
    }
}

static void read_row(struct hop_fields *fields, struct made *made)
{
    struct hop_field size = hop_fields_word(fields);
    bool any = hop_field_is(size, "any");
    fields->next = any ? fields->next : size.text;
    uint64_t bytes = any ? 0 : hop_fields_bytes(fields, "size");
    if (!any && bytes == 0)
        hop_fields_fail(fields, size.text, HOP_ERR_INVALID, "a size of nothing\n1 byte or more, or any");
    for (uint32_t s = 0; s < made->stages.count && fields->failure->status == HOP_OK; s++)
        read_cell(fields, made, s, bytes);
    hop_fields_end(fields, "a time for each step, remarks after a #");
}

static void read_table(const struct hop_source *source, struct made *made, struct hop_failure *failure)
{
    struct hop_fields fields;
    hop_fields_begin(&fields, source, failure);
    while (hop_fields_next(&fields)) {
        const char *start = fields.next;
        if (hop_fields_word(&fields).length == 0)
            continue;
        fields.next = start;
        if (made->stages.count == 0)
            read_head(&fields, made);
        else
            read_row(&fields, made);
    }
    for (uint32_t s = 0; s < made->stages.count; s++) {
        if (!made->list[s].times && made->list[s].rate_Bps == 0)
            hop_fields_fail(&fields, fields.start, HOP_ERR_INVALID,
                            "nothing says what %s takes\na row such as 1MiB 0.2ms ..., or any 10us+12GB/s ...",
                            made->list[s].name);
    }
    if (made->stages.count == 0)
        hop_fields_fail(&fields, fields.start, HOP_ERR_SYNTAX,
                        "there is no step\nsteps NAME ..., and below rows of a size and a time for each");
}

static enum hop_status read_source(struct hop_source *source, struct hop_stages **stages, struct hop_diag *diag)
{
    struct made *made = create();
    struct hop_failure failure = {diag, made ? HOP_OK : hop_fail_memory(diag)};
    if (made)
        read_table(source, made, &failure);
    hop_source_finish(source);
    if (failure.status == HOP_OK)
        *stages = &made->stages;
    else
        free(made);
    return failure.status;
}

enum hop_status hop_stages_load(const char *path, struct hop_stages **stages, struct hop_diag *diag)
{
    struct hop_source source;
    HOP_CHECK(hop_source_load(path, &source, diag));
    return read_source(&source, stages, diag);
}

enum hop_status hop_stages_parse(const char *name, const char *text, size_t size, struct hop_stages **stages,
                                 struct hop_diag *diag)
{
    struct hop_source source;
    HOP_CHECK(hop_source_copy(name, text, size, &source, diag));
    return read_source(&source, stages, diag);
}

/* ---- writing ---- */

static void put_rates(struct hop_buffer *out, const struct hop_stages *stages)
{
    bool any = false;
    for (uint32_t s = 0; s < stages->count; s++)
        any = any || !stages->stages[s].times;
    if (!any)
        return;
    hop_buffer_printf(out, "%-8s", "any");
    for (uint32_t s = 0; s < stages->count; s++) {
        const struct hop_stage *stage = &stages->stages[s];
        char latency[32];
        hop_buffer_printf(out, "  %s",
                          stage->times ? "-" : hop_format_seconds(stage->latency_s, latency, sizeof latency));
        if (stage->times)
            continue;
        hop_buffer_puts(out, "+");
        hop_buffer_json_number(out, stage->rate_Bps);
        hop_buffer_puts(out, "B/s");
    }
    hop_buffer_puts(out, "\n");
}

/* A row of what was measured at the least size from `from` on; returns that size, 0: there is none. */
static uint64_t put_row(struct hop_buffer *out, const struct hop_stages *stages, uint64_t from)
{
    const struct hop_stage_time *at[HOP_STAGES_MAX] = {NULL};
    uint64_t bytes = 0;
    char text[32];
    for (uint32_t s = 0; s < stages->count; s++) {
        const struct hop_stage *stage = &stages->stages[s];
        uint32_t i = 0;
        while (stage->times && i < stage->time_count && stage->times[i].bytes < from)
            i++;
        at[s] = stage->times && i < stage->time_count ? &stage->times[i] : NULL;
        bytes = at[s] && (bytes == 0 || at[s]->bytes < bytes) ? at[s]->bytes : bytes;
    }
    if (bytes == 0)
        return 0;
    hop_buffer_printf(out, "%-8s", hop_format_bytes(bytes, text, sizeof text));
    for (uint32_t s = 0; s < stages->count; s++)
        hop_buffer_printf(out, "  %8s",
                          at[s] && at[s]->bytes == bytes ? hop_format_seconds(at[s]->time_s, text, sizeof text) : "-");
    hop_buffer_puts(out, "\n");
    return bytes;
}

char *hop_stages_to_text(const struct hop_stages *stages)
{
    struct hop_buffer out = {0};
    hop_buffer_puts(&out, "steps   ");
    for (uint32_t s = 0; s < stages->count; s++)
        hop_buffer_printf(&out, "  %8s", stages->stages[s].name);
    hop_buffer_puts(&out, "\n");
    put_rates(&out, stages);
    for (uint64_t bytes = 1; bytes > 0 && !out.failed; bytes += bytes > 0)
        bytes = put_row(&out, stages, bytes);
    return hop_buffer_take(&out);
}

/* ---- predicting ---- */

/* What a copy from one place to the next does, by what the two are. */
static const char *name_step(const struct hop_topology *topology, const char *from, const char *to)
{
    uint32_t a = hop_topology_find(topology, from), b = hop_topology_find(topology, to);
    bool out = a != HOP_NONE && hop_topology_node(topology, a)->kind == HOP_NODE_HOST,
         in = b != HOP_NONE && hop_topology_node(topology, b)->kind == HOP_NODE_HOST;
    return out && in ? "network" : in ? "read" : out ? "write" : "copy";
}

static enum hop_status predict_step(struct hop_network *network, const char *const *ends, uint64_t bytes,
                                    double *time_s, struct hop_diag *diag)
{
    const struct hop_tune_options options = {0};
    struct hop_tune_score score = {0};
    struct hop_schedule *schedule = hop_schedule_create("step");
    (void)hop_schedule_copy(schedule, ends[0], ends[1], bytes, NULL, 0);
    enum hop_status status = hop_schedule_finish(schedule, &schedule, diag);
    if (status == HOP_OK) {
        status = hop_tune_simulate(network, schedule, &options, &score, diag);
        hop_schedule_destroy(schedule);
    }
    if (status != HOP_OK && status != HOP_ERR_MEMORY)
        hop_diag_place(diag, "%.100s -> %.100s", ends[0], ends[1]);
    *time_s = score.makespan_s;
    return status;
}

static enum hop_status check_places(const char *const *places, uint32_t count, struct hop_diag *diag)
{
    if (count < 2 || count > HOP_STAGES_MAX + 1)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "a transfer by way of %u place%s\n2 to %d devices, as in gpu0,host0,gpu4", count,
                        count == 1 ? "" : "s", HOP_STAGES_MAX + 1);
    for (uint32_t p = 0; p < count; p++) {
        for (uint32_t before = 0; before < p; before++) {
            if (strcmp(places[p], places[before]) == 0)
                return hop_fail(diag, HOP_ERR_INVALID, "a transfer that comes by %.100s twice\nevery device once",
                                places[p]);
        }
    }
    return HOP_OK;
}

enum hop_status hop_stages_predict(struct hop_network *network, const char *const *places, uint32_t place_count,
                                   const uint64_t *sizes, uint32_t size_count, struct hop_stages **stages,
                                   struct hop_diag *diag)
{
    HOP_CHECK(check_places(places, place_count, diag));
    HOP_CHECK(hop_tune_check_sizes("sizes", sizes, size_count, diag));
    struct made *made = create();
    enum hop_status status = made ? HOP_OK : hop_fail_memory(diag);
    for (uint32_t s = 0; s + 1 < place_count && status == HOP_OK; s++) {
        const char *name = name_step(hop_network_topology(network), places[s], places[s + 1]);
        add_stage(made, name, strlen(name));
        for (uint32_t i = 0; i < size_count && status == HOP_OK; i++) {
            double time_s;
            status = predict_step(network, &places[s], sizes[i], &time_s, diag);
            if (status == HOP_OK)
                add_time(made, s, sizes[i], time_s);
        }
    }
    if (status == HOP_OK)
        *stages = &made->stages;
    else
        free(made);
    return status;
}
