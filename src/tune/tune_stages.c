/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers of several steps in packets: the closed form of Aggarwal et al. 2011 (include/hopcast/tune.h has it), the
 * packets and the overlap that make it least, and gathers by their three approaches. Nothing is allocated.
 */
#include "tune/tune.h"

#include <math.h>
#include <stdio.h>

/* ---- what is given ---- */

static enum hop_status check_stage(const struct hop_stage *stage, uint32_t number, struct hop_diag *diag)
{
    bool rated =
        stage->rate_Bps > 0 && isfinite(stage->rate_Bps) && stage->latency_s >= 0 && isfinite(stage->latency_s);
    bool fine = stage->name && (stage->times ? stage->time_count > 0 && stage->time_count <= HOP_STAGE_TIMES : rated);
    for (uint32_t i = 0; fine && stage->times && i < stage->time_count; i++) {
        const struct hop_stage_time *time = &stage->times[i];
        fine = time->bytes > 0 && time->bytes <= HOP_BYTES_MAX && time->time_s >= 0 && isfinite(time->time_s) &&
               (i == 0 || time->bytes > time[-1].bytes);
    }
    if (fine)
        return HOP_OK;
    return hop_fail(
        diag, HOP_ERR_INVALID,
        "step %u (%.40s) does not say what it takes\n1 to %d times by ascending sizes, or a latency and a rate",
        number + 1, stage->name ? stage->name : "without a name", HOP_STAGE_TIMES);
}

static enum hop_status check(const struct hop_stages *stages, uint64_t bytes, const struct hop_stages_options *options,
                             struct hop_diag *diag)
{
    if (stages->count == 0 || stages->count > HOP_STAGES_MAX)
        return hop_fail(diag, HOP_ERR_INVALID, "a transfer of %u steps\n1 to %d steps", stages->count, HOP_STAGES_MAX);
    for (uint32_t i = 0; i < stages->count; i++)
        HOP_CHECK(check_stage(&stages->stages[i], i, diag));
    if (bytes == 0 || bytes > HOP_BYTES_MAX)
        return hop_fail(diag, HOP_ERR_INVALID, "a transfer of %llu bytes\n1 byte to 1 EiB", (unsigned long long)bytes);
    if (options->packets)
        HOP_CHECK(hop_tune_check_sizes("packet sizes", options->packets, options->packet_count, diag));
    if (options->overlaps && options->overlap_count == 0)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "a list of overlaps that is empty\nat least one, 0 where none is possible");
    for (uint32_t i = 0; options->overlaps && i < options->overlap_count; i++) {
        if (options->overlaps[i] >> (stages->count - 1))
            return hop_fail(diag, HOP_ERR_INVALID, "overlap %u of %u steps\na bit for each step but the last, as in %u",
                            options->overlaps[i], stages->count, (1u << (stages->count - 1)) - 1);
    }
    return HOP_OK;
}

/* ---- the closed form ---- */

/* The first time of at least so many bytes. */
static uint32_t find_time(const struct hop_stage *stage, uint64_t bytes)
{
    uint32_t i = 0;
    while (i < stage->time_count && stage->times[i].bytes < bytes)
        i++;
    return i;
}

double hop_stage_time_s(const struct hop_stage *stage, uint64_t bytes)
{
    if (!stage->times)
        return stage->latency_s + (double)bytes / stage->rate_Bps;
    uint32_t i = find_time(stage, bytes);
    const struct hop_stage_time *above = &stage->times[i];
    if (i == stage->time_count)
        return NAN;
    if (i == 0 || above->bytes == bytes)
        return above->time_s;
    double share = (double)(bytes - above[-1].bytes) / (double)(above->bytes - above[-1].bytes);
    return above[-1].time_s + share * (above->time_s - above[-1].time_s);
}

/* Sum and slowest of the groups' times for one packet. */
struct groups {
    double sum_s, slowest_s;
    uint32_t slowest, count;
};

static struct groups group(const double *steps_s, uint32_t count, hop_stages_overlap overlap)
{
    struct groups groups = {.slowest_s = -1};
    for (uint32_t first = 0, i = 0; i < count; first = ++i, groups.count++) {
        double group_s = steps_s[i];
        while (i + 1 < count && !(overlap >> i & 1))
            group_s += steps_s[++i];
        groups.sum_s += group_s;
        if (group_s > groups.slowest_s) {
            groups.slowest_s = group_s;
            groups.slowest = first;
        }
    }
    return groups;
}

static double pipeline_s(const struct groups *groups, uint64_t packets)
{
    return groups->sum_s + (double)(packets - 1) * groups->slowest_s;
}

static void find_steps(const struct hop_stages *stages, uint64_t bytes, double *steps_s)
{
    for (uint32_t i = 0; i < stages->count; i++)
        steps_s[i] = hop_stage_time_s(&stages->stages[i], bytes);
}

double hop_stages_time_s(const struct hop_stages *stages, hop_stages_overlap overlap, uint64_t bytes,
                         uint64_t packet_bytes)
{
    uint64_t packets = hop_tune_packets_of(bytes, packet_bytes);
    double steps_s[HOP_STAGES_MAX];
    find_steps(stages, packets > 1 ? packet_bytes : bytes, steps_s);
    struct groups groups = group(steps_s, stages->count, overlap);
    return pipeline_s(&groups, packets);
}

/* ---- ways ---- */

static bool is_guessed(const struct hop_stage *stage, uint64_t bytes)
{
    uint32_t i = stage->times ? find_time(stage, bytes) : stage->time_count;
    return i < stage->time_count && stage->times[i].bytes != bytes;
}

static struct hop_stages_way find_way(const struct hop_stages *stages, uint64_t bytes, uint64_t packet_bytes,
                                      const struct hop_stages_options *options)
{
    uint64_t packets = hop_tune_packets_of(bytes, packet_bytes), each = packets > 1 ? packet_bytes : bytes;
    uint32_t choices = options->overlaps ? options->overlap_count : 1u << (stages->count - 1), fewest = HOP_NONE;
    struct hop_stages_way way = {
        .packet_bytes = packets > 1 ? packet_bytes : 0, .packets = packets, .time_s = INFINITY};
    find_steps(stages, each, way.steps_s);
    for (uint32_t s = 0; s < stages->count; s++)
        way.guessed = way.guessed || is_guessed(&stages->stages[s], each);
    for (uint32_t c = 0; c < choices; c++) {
        hop_stages_overlap overlap = options->overlaps ? options->overlaps[c] : c;
        struct groups groups = group(way.steps_s, stages->count, overlap);
        double time_s = pipeline_s(&groups, packets);
        if (hop_tune_less(way.time_s, time_s) || (groups.count >= fewest && !hop_tune_less(time_s, way.time_s)))
            continue;
        way.time_s = time_s;
        way.overlap = overlap;
        way.slowest = groups.slowest;
        fewest = groups.count;
    }
    return way;
}

/* The sizes at which steps were measured; where none was, those that are usual. */
static uint32_t list_packets(const struct hop_stages *stages, uint64_t *packets)
{
    uint32_t count = 0;
    for (uint64_t last = 0; count < HOP_STAGE_TIMES; last = packets[count - 1]) {
        uint64_t next = UINT64_MAX;
        for (uint32_t s = 0; s < stages->count; s++) {
            const struct hop_stage *stage = &stages->stages[s];
            uint32_t i = stage->times ? find_time(stage, last + 1) : 0;
            if (stage->times && i < stage->time_count && stage->times[i].bytes < next)
                next = stage->times[i].bytes;
        }
        if (next == UINT64_MAX)
            break;
        packets[count++] = next;
    }
    if (count > 0)
        return count;
    for (uint64_t size = 1 << 16; size <= 1 << 24; size *= 2)
        packets[count++] = size;
    return count;
}

enum hop_status hop_stages_ways(const struct hop_stages *stages, uint64_t bytes, const struct hop_stages_options *given,
                                struct hop_stages_way *ways, uint32_t *count, struct hop_diag *diag)
{
    struct hop_stages_options options = {0};
    uint64_t own[HOP_STAGE_TIMES];
    HOP_CHECK(hop_options_take(&options, sizeof options, given, diag));
    HOP_CHECK(check(stages, bytes, &options, diag));
    if (!options.packets) {
        options.packets = own;
        options.packet_count = list_packets(stages, own);
    }
    *count = 0;
    ways[(*count)++] = find_way(stages, bytes, 0, &options);
    for (uint32_t p = 0; p < options.packet_count && options.packets[p] < bytes; p++)
        ways[(*count)++] = find_way(stages, bytes, options.packets[p], &options);
    return HOP_OK;
}

/* ---- choosing ---- */

char *hop_stages_show_overlap(const struct hop_stages *stages, hop_stages_overlap overlap, char *buffer, size_t size)
{
    size_t used = 0;
    for (uint32_t i = 0; i < stages->count && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%.*s",
                                 i == 0                   ? ""
                                 : overlap >> (i - 1) & 1 ? " | "
                                                          : ", ",
                                 HOP_STAGE_NAME_SIZE - 1, stages->stages[i].name);
    return buffer;
}

static bool is_better(const struct hop_stages_way *a, const struct hop_stages_way *b)
{
    return hop_tune_less(a->time_s, b->time_s) || (!hop_tune_less(b->time_s, a->time_s) && a->packets < b->packets);
}

/* A text that grows in a buffer of fixed size; what does not fit is cut off. */
struct sentence {
    char *text;
    size_t used;
};

static void say(struct sentence *s, const char *format, ...) HOP_PRINTF(2, 3);
static void say(struct sentence *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(s->text + s->used, HOP_STAGES_REASON_SIZE - s->used, format, arguments);
    va_end(arguments);
    s->used += (size_t)length;
    if (s->used >= HOP_STAGES_REASON_SIZE)
        s->used = HOP_STAGES_REASON_SIZE - 1;
}

static void say_way(struct sentence *s, const struct hop_stages_way *way)
{
    char bytes[32], time[32];
    if (way->packet_bytes)
        say(s, "%llu packets of %s", (unsigned long long)way->packets,
            hop_format_bytes(way->packet_bytes, bytes, sizeof bytes));
    else
        say(s, "whole");
    say(s, ", %s", hop_show_seconds(way->time_s, time, sizeof time));
}

/* The steps of the group that takes longest. */
static void say_pace(struct sentence *s, const struct hop_stages *stages, const struct hop_stages_way *way)
{
    uint32_t i = way->slowest;
    double time_s = way->steps_s[i];
    char time[32];
    say(s, "%s", stages->stages[i].name);
    for (; i + 1 < stages->count && !(way->overlap >> i & 1); i++) {
        say(s, " and %s", stages->stages[i + 1].name);
        time_s += way->steps_s[i + 1];
    }
    say(s, " take%s longest, %s a packet", i == way->slowest ? "s" : "", hop_show_seconds(time_s, time, sizeof time));
}

static void explain(const struct hop_stages *stages, const struct hop_stages_way *ways, uint32_t count,
                    struct hop_stages_choice *choice)
{
    const struct hop_stages_way *best = &choice->best, *second = NULL;
    struct sentence s = {choice->reason, 0};
    char text[HOP_STAGES_REASON_SIZE];
    for (uint32_t w = 0; w < count; w++) {
        if (!isnan(ways[w].time_s) && ways[w].packets != best->packets && (!second || is_better(&ways[w], second)))
            second = &ways[w];
    }
    say_way(&s, best);
    say(&s, ": ");
    if (best->packets == 1) {
        say(&s, second ? "cutting gains nothing" : "there is nothing to cut it into");
    } else {
        say_pace(&s, stages, best);
        if (best->overlap)
            say(&s, " (%s)", hop_stages_show_overlap(stages, best->overlap, text, sizeof text));
    }
    if (isnan(choice->whole.time_s))
        say(&s, "; whole is beyond what was measured");
    if (second) {
        say(&s, "; next ");
        say_way(&s, second);
    }
    if (best->guessed)
        say(&s, "; measured at other sizes");
}

enum hop_status hop_stages_choose(const struct hop_stages *stages, uint64_t bytes,
                                  const struct hop_stages_options *options, struct hop_stages_choice *choice,
                                  struct hop_diag *diag)
{
    struct hop_stages_way ways[HOP_STAGE_TIMES + 1];
    const struct hop_stages_way *best = NULL;
    uint32_t count;
    HOP_CHECK(hop_stages_ways(stages, bytes, options, ways, &count, diag));
    for (uint32_t w = 0; w < count; w++) {
        if (!isnan(ways[w].time_s) && (!best || is_better(&ways[w], best)))
            best = &ways[w];
    }
    if (!best)
        return hop_fail(diag, HOP_ERR_NOT_FOUND,
                        "no step was measured at %llu bytes or more, nor at any packet size\n"
                        "packet sizes at which all steps were measured",
                        (unsigned long long)bytes);
    choice->best = *best;
    choice->whole = ways[0];
    explain(stages, ways, count, choice);
    return HOP_OK;
}

/* ---- gathers ---- */

static void explain_gather(struct hop_stages_gather *g)
{
    static const char *const ways[] = {"the root gets from one device after the other",
                                       "every node puts device by device", "every node collects, then puts"};
    struct sentence s = {g->reason, 0};
    char time[32];
    g->reason[0] = '\0';
    if (isnan(g->time_s[g->best])) {
        say(&s, "not known: beyond what was measured");
        return;
    }
    say(&s, "approach %u, %s: %s", g->best + 1, hop_show_seconds(g->time_s[g->best], time, sizeof time), ways[g->best]);
    for (uint32_t a = 0; a < 3; a++) {
        if (a != g->best && !hop_tune_less(g->time_s[g->best], g->time_s[a]) && !isnan(g->time_s[a]))
            say(&s, "; approach %u takes as long", a + 1);
    }
    if (g->guessed)
        say(&s, "; measured at other sizes");
    if (isnan(g->put_all_s) && g->nodes > 1)
        say(&s, "; approach 3 is not known: the network was not measured at so many bytes");
}

enum hop_status hop_stages_gather(const struct hop_stages *stages, struct hop_stages_gather *g, struct hop_diag *diag)
{
    const struct hop_stages_options none = {0};
    HOP_CHECK(check(stages, g->bytes, &none, diag));
    if (stages->count < 2 || g->nodes == 0 || g->devices == 0 || g->devices > HOP_BYTES_MAX / g->bytes)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "no gather is made of nodes: %u, devices: %u, steps: %u\n"
                        "a node and a device at least, and two steps: reading and the network",
                        g->nodes, g->devices, stages->count);
    double others = g->nodes - 1, devices = g->devices;
    uint64_t all = g->bytes * g->devices;
    g->read_s = hop_stage_time_s(&stages->stages[0], g->bytes);
    g->put_s = hop_stage_time_s(&stages->stages[1], g->bytes);
    g->put_all_s = hop_stage_time_s(&stages->stages[1], all);
    g->guessed = is_guessed(&stages->stages[0], g->bytes) ||
                 (g->nodes > 1 && (is_guessed(&stages->stages[1], g->bytes) || is_guessed(&stages->stages[1], all)));
    double put_s = others > 0 ? others * g->put_s : 0, put_all_s = others > 0 ? others * g->put_all_s : 0;
    g->time_s[0] = devices * (others * g->read_s + put_s + g->read_s);
    g->time_s[1] = devices * (g->read_s + put_s);
    g->time_s[2] = devices * g->read_s + put_all_s;
    g->best = 0;
    for (uint32_t a = 1; a < 3; a++) {
        if (isnan(g->time_s[g->best]) || hop_tune_less(g->time_s[a], g->time_s[g->best]))
            g->best = a;
    }
    explain_gather(g);
    return HOP_OK;
}
