/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast map: what is to be mapped. */
#include "map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { READ_STEP = 1 << 16, DETECT_LIMIT = 1 << 16 };

/* ---- which form ---- */

/* The first bytes of a file, all of standard input. NULL: it cannot be read. */
static char *read_start(const char *source, size_t *size)
{
    bool all = strcmp(source, "-") == 0;
    FILE *file = all ? stdin : fopen(source, "rb");
    char *text = NULL;
    size_t used = 0;
    while (file && !ferror(file) && !feof(file) && (all || used < DETECT_LIMIT)) {
        char *more = realloc(text, used + READ_STEP + 1);
        if (!more)
            break;
        text = more;
        used += fread(text + used, 1, READ_STEP, file);
        text[used] = '\0';
    }
    if (file && ferror(file)) { /* a directory: whoever reads it for good says so */
        free(text);
        text = NULL;
    }
    if (file && !all)
        (void)fclose(file);
    *size = used;
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
static int take_schedule(struct hop_schedule *schedule, struct map_input *input)
{
    struct hop_diag diag;
    input->on_devices = !has_ranks(schedule);
    bool there = devices_have_all(input->topology, schedule, &diag);
    enum hop_status status =
        there ? hop_placement_lift(schedule, &input->exchange, &input->start, &diag) : HOP_ERR_NOT_FOUND;
    hop_schedule_destroy(schedule);
    THEN(status, hop_traffic_of_schedule(input->exchange, &input->traffic, &diag));
    return status == HOP_OK ? TOOL_OK : tool_fail(&diag);
}

static const char what_is_read[] =
    "a traffic file, a schedule, or a pattern: stencil:4x4, halo:2x2x2, coll:4x2x2, ring:8, alltoall:16";

static int read_schedule(const char *source, const char *text, size_t size, struct map_input *input)
{
    struct hop_schedule *schedule;
    struct hop_diag diag;
    if (strcmp(source, "-") != 0) {
        char *file;
        int status =
            asprintf(&file, "f%s", source) < 0 ? tool_out_of_memory() : tool_read_schedule(file, NULL, &schedule);
        free(file);
        return status == TOOL_OK ? take_schedule(schedule, input) : status;
    }
    if (hop_schedule_parse(source, text, size, &schedule, &diag) != HOP_OK)
        return tool_fail(&diag);
    return take_schedule(schedule, input);
}

/* Of what is no file that can be read: the files of a set of traces are found by what their names begin with, or by
 * their folder. */
static int read_traces(const char *source, struct map_input *input)
{
    struct hop_schedule *schedule;
    struct hop_diag diag;
    const struct hop_trace_options options = {0};
    enum hop_status status = hop_schedule_load_with(source, &options, &schedule, &diag);
    if (status == HOP_ERR_IO && !diag.expected[0])
        (void)snprintf(diag.expected, sizeof diag.expected, "%s", what_is_read);
    return status == HOP_OK ? take_schedule(schedule, input) : tool_fail(&diag);
}

/* ---- all ---- */

/* Nothing can be made of it: there is nothing, or nothing but NUL bytes. */
static bool is_nothing(const char *source, const char *text, size_t size, struct hop_diag *diag)
{
    size_t i = 0, zeros = 0;
    for (; text && i < size && strchr(" \t\r\n", text[i]); i++) /* which finds the end of that text, too */
        zeros += text[i] == '\0';
    if (!text || i < size)
        return false;
    (void)snprintf(diag->place, sizeof diag->place, "%.200s", source);
    (void)snprintf(diag->what, sizeof diag->what, zeros ? "there are only NUL bytes" : "the file is empty");
    (void)snprintf(diag->expected, sizeof diag->expected, "traffic (docs/traffic.md) or a schedule");
    diag->status = HOP_ERR_SYNTAX;
    return true;
}

static int read_one(const char *source, enum hop_memory memory, bool schedules, struct map_input *input,
                    struct hop_traffic **traffic)
{
    struct hop_diag diag;
    size_t size = 0;
    if (hop_pattern_is(source)) {
        if (hop_pattern_traffic(source, memory, traffic, &diag) == HOP_OK)
            return TOOL_OK;
        return tool_fail(&diag);
    }
    char *text = read_start(source, &size);
    enum hop_status status = HOP_OK;
    int answer = TOOL_OK;
    if (is_nothing(source, text, size, &diag)) {
        answer = tool_fail(&diag);
    } else if (!text && schedules) {
        answer = read_traces(source, input);
    } else if (!text || !schedules || hop_traffic_detect(text, size)) {
        status = text && strcmp(source, "-") == 0 ? hop_traffic_parse(source, text, size, memory, traffic, &diag)
                                                  : hop_traffic_load(source, memory, traffic, &diag);
        if (status == HOP_ERR_IO && !diag.expected[0])
            (void)snprintf(diag.expected, sizeof diag.expected, "%s", what_is_read);
        answer = status == HOP_OK ? TOOL_OK : tool_fail(&diag);
    } else {
        answer = read_schedule(source, text, size, input);
    }
    free(text);
    return answer;
}

int map_read_traffic(const struct map_request *request, struct map_input *input)
{
    struct hop_traffic *host = NULL;
    struct hop_diag diag;
    if (!request->source[0])
        return tool_bad_usage(&tool_map_command, "TRAFFIC is empty: a traffic file, a schedule, a pattern such as "
                                                 "stencil:4x4, or -");
    int status = read_one(request->source, request->memory, true, input, &input->traffic);
    if (status != TOOL_OK || !request->host)
        return status;
    status = read_one(request->host, HOP_MEMORY_HOST, false, input, &host);
    if (status != TOOL_OK)
        return status;
    if (input->exchange) { /* what is simulated would lack it */
        hop_traffic_destroy(host);
        return tool_bad_usage(&tool_map_command, "--host goes with traffic, not with a schedule, which says itself "
                                                 "what moves between hosts");
    }
    if (hop_traffic_ranks(host) > hop_traffic_ranks(input->traffic)) { /* the wider one takes the other in */
        struct hop_traffic *device = input->traffic;
        input->traffic = host;
        host = device;
    }
    if (hop_traffic_merge(input->traffic, host, &diag) != HOP_OK)
        status = tool_fail(&diag);
    hop_traffic_destroy(host);
    return status;
}
