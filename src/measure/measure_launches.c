/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repeated launches of one schedule: the medians of its operations' times, and its copies as measurement CSV. Copies
 * that all start at once are a group, as one that was measured; of other schedules each copy has its own start and end,
 * as in a trace.
 */
#include <math.h>

#include "measure/measure.h"
#include "schedule/schedule.h"

/* ---- medians ---- */

enum {
    READY = offsetof(struct hop_measured_op, ready_s),
    START = offsetof(struct hop_measured_op, start_s),
    END = offsetof(struct hop_measured_op, end_s),
    NOTHING = -1
};

static double time_of(const struct hop_measured_op *op, int which)
{
    return which == NOTHING ? 0 : *(const double *)((const char *)op + which);
}

/* Of one time of an operation, counted from another one. */
static struct hop_sample_summary summarise(const struct hop_measured_op *samples, uint32_t ops, uint32_t launches,
                                           int which, int from)
{
    double values[HOP_SAMPLES_MAX];
    struct hop_sample_summary summary;
    for (uint32_t l = 0; l < launches; l++)
        values[l] = time_of(&samples[(size_t)l * ops], which) - time_of(&samples[(size_t)l * ops], from);
    hop_samples_summarise(values, launches, &summary);
    return summary;
}

void hop_launches_summarise(const struct hop_measured_op *samples, uint32_t ops, uint32_t launches,
                            struct hop_measured_op *medians, struct hop_sample_summary *took_s)
{
    for (uint32_t i = 0; i < ops; i++) {
        const struct hop_measured_op *own = samples + i;
        bool known = true;
        for (uint32_t l = 0; l < launches; l++)
            known = known && isfinite(own[(size_t)l * ops].end_s) && isfinite(own[(size_t)l * ops].start_s);
        medians[i] = own[(size_t)(launches - 1) * ops];
        took_s[i] = (struct hop_sample_summary){0};
        if (!known)
            continue;
        took_s[i] = summarise(own, ops, launches, END, START);
        medians[i].ready_s = summarise(own, ops, launches, READY, NOTHING).median;
        medians[i].start_s = summarise(own, ops, launches, START, NOTHING).median;
        medians[i].end_s = summarise(own, ops, launches, END, NOTHING).median;
    }
}

/* ---- CSV ---- */

static bool is_between(const struct hop_op *op)
{
    return op->kind == HOP_OP_COPY && strcmp(op->from.device, op->to.device) != 0;
}

static bool is_pulled(const struct hop_op *op)
{
    return hop_op_engine_place(op) == &op->to;
}

/* Every device to every other one: readers take such a group for a benchmark's, of which nobody knows the order. */
static bool is_all_to_all(const struct hop_schedule *schedule)
{
    uint32_t count = hop_schedule_count(schedule), devices = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = hop_schedule_op(schedule, i)->from.device;
        uint32_t before = 0;
        while (before < i && strcmp(hop_schedule_op(schedule, before)->from.device, name) != 0)
            before++;
        devices += before == i;
    }
    return devices > 2 && count == devices * (devices - 1);
}

/* Whether nothing but copies happens, performed by their sources, all of which may start at once. */
static bool is_group(const struct hop_schedule *schedule)
{
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        if (!is_between(op) || op->after_count || op->after_start_count || op->at_s > 0 || is_pulled(op))
            return false;
    }
    return !is_all_to_all(schedule);
}

/* RFC 4180: a quote in a field is doubled. */
static void put_field(struct hop_buffer *out, const char *text)
{
    hop_buffer_puts(out, "\"");
    for (; *text; text++)
        hop_buffer_printf(out, *text == '"' ? "\"\"" : "%c", *text);
    hop_buffer_puts(out, "\",");
}

static void put_times(struct hop_buffer *out, const struct hop_op *op, const struct hop_measured_op *measured,
                      const struct hop_sample_summary *took_s, double began_s, bool group)
{
    hop_buffer_json_number(out, measured->end_s - (group ? began_s : measured->start_s));
    hop_buffer_puts(out, ",\"");
    if (!group) {
        hop_buffer_puts(out, "start_us=");
        hop_buffer_json_number(out, measured->start_s * 1e6);
        hop_buffer_puts(out, " end_us=");
        hop_buffer_json_number(out, measured->end_s * 1e6);
        hop_buffer_puts(out, "; ");
    }
    if (is_pulled(op))
        hop_buffer_printf(out, "pulled by %s; ", op->to.device);
    hop_buffer_printf(
        out, "%s%u launches; it took %.4g to %.4g s in the median (%.3g %%); MAD %s %%; %u outliers%s\"\n",
        measured->via == HOP_VIA_STAGED ? "staged through host memory; " : "", took_s->count, took_s->low, took_s->high,
        100 * took_s->confidence, hop_show_percent(took_s->mad / took_s->median, 2, (char[40]){0}, 40),
        took_s->outliers, took_s->mad > HOP_UNSTEADY_MAD * took_s->median ? "; unsteady" : "");
}

char *hop_launches_to_csv(const struct hop_schedule *schedule, const struct hop_measured_op *medians,
                          const struct hop_sample_summary *took_s)
{
    struct hop_buffer out = {0};
    uint32_t count = hop_schedule_count(schedule), rows = 0;
    bool group = is_group(schedule);
    double began_s = INFINITY;
    hop_buffer_puts(&out, "transfer,from,to,bytes,concurrent_group,measured_s,notes\n");
    for (uint32_t i = 0; i < count; i++)
        began_s = hop_min(began_s, medians[i].start_s);
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        if (!is_between(op) || took_s[i].count == 0 || !(took_s[i].median > 0))
            continue;
        put_field(&out, op->name);
        hop_buffer_printf(&out, "%s,%s,%llu,", op->from.device, op->to.device, (unsigned long long)op->bytes);
        put_field(&out, hop_schedule_name(schedule));
        put_times(&out, op, &medians[i], &took_s[i], began_s, group);
        rows++;
    }
    if (rows == 0)
        hop_buffer_finish(&out);
    return rows ? hop_buffer_take(&out) : NULL;
}
