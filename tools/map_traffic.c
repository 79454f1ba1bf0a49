/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast map: what is to be mapped. */
#include "map.h"

#include <string.h>

enum { READ_STEP = 1 << 16, DETECT_LIMIT = 1 << 16 };

/* ---- which form ---- */

/* The first bytes of a file, all of standard input. NULL: it cannot be read. */
static char *read_start(const char *source, size_t *size)
{
    bool all = strcmp(source, "-") == 0;
    FILE *file = all ? stdin : fopen(source, "rb");
    char *text = NULL;
    *size = 0;
    while (file && !ferror(file) && !feof(file) && (all || *size < DETECT_LIMIT)) {
        TOOL_GROW(text, *size + READ_STEP + 1);
        *size += fread(text + *size, 1, READ_STEP, file);
        text[*size] = '\0';
    }
    if (file && ferror(file)) /* a directory: whoever reads it for good says so */
        text = NULL;
    if (file && !all)
        (void)fclose(file);
    return text;
}

/* ---- schedules ---- */

/* Whether a place of it says a rank. */
static bool has_ranks(const struct hop_schedule *schedule)
{
    uint32_t rank;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        for (unsigned end = 0; end < 2; end++) {
            const struct hop_place *place = end ? &op->to : &op->from;
            if (place->device && (place->rank >= 0 || devices_host_rank(place->device, &rank)))
                return true;
        }
    }
    return false;
}

/* Between ranks from here on; where it was is what to compare with. */
static void take_schedule(struct hop_schedule *schedule, struct map_input *input)
{
    input->on_devices = !has_ranks(schedule);
    devices_check_all(input->topology, schedule);
    tool_try(hop_placement_lift(schedule, &input->exchange, &input->start, &tool_diag));
    hop_schedule_destroy(schedule);
    tool_try(hop_traffic_of_schedule(input->exchange, &input->traffic, &tool_diag));
}

/* What cannot be opened may have been meant to be something else. */
static void check_read(enum hop_status status, const char *source)
{
    if (status == HOP_ERR_IO)
        tool_expect_schedule("a traffic file, a schedule, or a pattern: stencil:4x4, halo:2x2x2, coll:4x2x2, "
                             "ring:8, alltoall:16",
                             source);
    tool_try(status);
}

/* Of what is no file that can be read (text NULL), the files of a set of traces are found by what their names begin
 * with, or by their folder. */
static void read_schedule(const char *source, const char *text, size_t size, struct map_input *input)
{
    struct hop_schedule *schedule;
    const struct hop_trace_options options = {0};
    if (text && strcmp(source, "-") != 0)
        schedule = tool_read_schedule(tool_text("f%s", source), NULL);
    else
        check_read(text ? hop_schedule_parse(source, text, size, &schedule, &tool_diag)
                        : hop_schedule_load_with(source, &options, &schedule, &tool_diag),
                   source);
    take_schedule(schedule, input);
}

/* ---- all ---- */

/* Nothing can be made of it where there is nothing, or nothing but NUL bytes. */
static void check_content(const char *source, const char *text, size_t size)
{
    size_t i = 0, zeros = 0;
    for (; text && i < size && strchr(" \t\r\n", text[i]); i++) /* which finds the end of that text, too */
        zeros += text[i] == '\0';
    if (text && i == size)
        tool_try_at(hop_fail(&tool_diag, HOP_ERR_SYNTAX, "%s\ntraffic (docs/traffic.md) or a schedule",
                             zeros ? "there are only NUL bytes" : "the file is empty"),
                    "%.200s", source);
}

static struct hop_traffic *read_one(const char *source, enum hop_memory memory, bool schedules, struct map_input *input)
{
    struct hop_traffic *traffic;
    size_t size = 0;
    if (hop_pattern_is(source)) {
        tool_try(hop_pattern_traffic(source, memory, &traffic, &tool_diag));
        return tool_have(traffic);
    }
    const char *text = read_start(source, &size);
    check_content(source, text, size);
    if (schedules && (!text || !hop_traffic_detect(text, size))) {
        read_schedule(source, text, size, input);
        return input->traffic;
    }
    check_read(text && strcmp(source, "-") == 0 ? hop_traffic_parse(source, text, size, memory, &traffic, &tool_diag)
                                                : hop_traffic_load(source, memory, &traffic, &tool_diag),
               source);
    return tool_have(traffic);
}

/* The source; "alltoall,bytes=1MiB" among 8 ranks is "alltoall:8,bytes=1MiB". */
static const char *with_ranks(const struct map_request *request)
{
    size_t length = strcspn(request->source, ":,");
    if (!request->ranks)
        return request->source;
    if (!hop_pattern_is(request->source) || request->source[length] == ':')
        tool_bad_usage(request->command,
                       "-n %u goes with a pattern that does not say its ranks, as in 'alltoall -n %u'", request->ranks,
                       request->ranks);
    return tool_text("%.*s:%u%s", (int)length, request->source, request->ranks, request->source + length);
}

void map_read_traffic(const struct map_request *request, struct map_input *input)
{
    if (!request->source[0])
        tool_bad_usage(request->command, "%s is empty: a traffic file, a schedule, a pattern such as stencil:4x4, or -",
                       request->command->options[0].argument);
    input->traffic = read_one(with_ranks(request), request->memory, true, input);
    if (!request->host)
        return;
    struct hop_traffic *host = read_one(request->host, HOP_MEMORY_HOST, false, input);
    if (input->exchange) /* what is simulated would lack it */
        tool_bad_usage(request->command, "--host goes with traffic, not with a schedule, which says itself "
                                         "what moves between hosts");
    if (hop_traffic_ranks(host) > hop_traffic_ranks(input->traffic)) { /* the wider one takes the other in */
        struct hop_traffic *device = input->traffic;
        input->traffic = host;
        host = device;
    }
    tool_try(hop_traffic_merge(input->traffic, host, &tool_diag));
    hop_traffic_destroy(host);
}

void map_read_start(struct map_request *r, struct map_input *input)
{
    const char *choice = r->start;
    if (!choice)
        return;
    input->start = NULL;
    r->options.start_seed = 1;
    if (strcmp(choice, "cyclic") == 0) {
        r->options.start_order = HOP_MAP_CYCLIC;
    } else if (strncmp(choice, "random", 6) == 0 && (choice[6] == '\0' || choice[6] == '=')) {
        r->options.start_order = HOP_MAP_RANDOM;
        if (choice[6])
            r->options.start_seed = tool_whole(r->command, "--start random=SEED", choice + 7, 0, UINT64_MAX);
    } else if (strcmp(choice, "packed") != 0) {
        tool_try_file(hop_placement_load(choice, &input->start, &tool_diag),
                      "packed, cyclic, random=SEED, or a file with a line for every rank");
    }
}
