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

static bool is_pattern(const char *source)
{
    const char *spelling, *summary, *colon = strchr(source, ':');
    size_t length = colon ? (size_t)(colon - source) : strlen(source);
    for (size_t i = 0; hop_traffic_pattern_at(i, &spelling, &summary); i++) {
        if (strncmp(spelling, source, length) == 0 && (spelling[length] == ':' || spelling[length] == '\0'))
            return true;
    }
    return false;
}

/* ---- schedules ---- */

/* Whether a place of it says a rank. */
static bool has_ranks(const struct hop_schedule *schedule)
{
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        if ((op->from.device && op->from.rank >= 0) || (op->to.device && op->to.rank >= 0))
            return true;
    }
    return false;
}

/* Between ranks from here on; where it was is what to compare with. */
static int take_schedule(struct hop_schedule *schedule, struct map_input *input)
{
    struct hop_diag diag;
    input->on_devices = !has_ranks(schedule);
    enum hop_status status = hop_placement_lift(schedule, &input->exchange, &input->start, &diag);
    hop_schedule_destroy(schedule);
    if (status == HOP_OK)
        status = hop_traffic_of_schedule(input->exchange, &input->traffic, &diag);
    return status == HOP_OK ? TOOL_OK : tool_fail(&diag);
}

static int read_schedule(const char *source, const char *text, size_t size, struct map_input *input)
{
    struct hop_schedule *schedule;
    struct hop_diag diag;
    if (strcmp(source, "-") != 0) {
        int status = tool_load_schedule(source, false, NULL, &schedule);
        return status == TOOL_OK ? take_schedule(schedule, input) : status;
    }
    if (hop_schedule_parse(source, text, size, &schedule, &diag) != HOP_OK)
        return tool_fail(&diag);
    return take_schedule(schedule, input);
}

/* ---- all ---- */

static int read_one(const char *source, enum hop_memory memory, bool schedules, struct map_input *input,
                    struct hop_traffic **traffic)
{
    struct hop_diag diag;
    size_t size = 0;
    if (is_pattern(source)) {
        if (hop_traffic_pattern(source, memory, traffic, &diag) == HOP_OK)
            return TOOL_OK;
        return tool_fail(&diag);
    }
    char *text = read_start(source, &size);
    enum hop_status status = HOP_OK;
    int answer = TOOL_OK;
    if (text && text[strspn(text, " \t\r\n")] == '\0') {
        free(text);
        (void)snprintf(diag.place, sizeof diag.place, "%.200s", source);
        (void)snprintf(diag.what, sizeof diag.what, "the file is empty");
        (void)snprintf(diag.expected, sizeof diag.expected, "traffic (docs/traffic.md) or a schedule");
        return tool_fail(&diag);
    }
    if (!text || !schedules || hop_traffic_detect(text, size)) {
        status = text && strcmp(source, "-") == 0 ? hop_traffic_parse(source, text, size, memory, traffic, &diag)
                                                  : hop_traffic_load(source, memory, traffic, &diag);
        if (status == HOP_ERR_IO && !diag.expected[0])
            (void)snprintf(
                diag.expected, sizeof diag.expected,
                "a traffic file, a schedule, or a pattern: stencil:4x4, halo:2x2x2, coll:4x2x2, ring:8, alltoall:16");
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

/* ---- the placement to compare with ---- */

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Ranks on GPUs (NICs where there are none) drawn at random, each once. */
static int draw_placement(const struct map_input *input, uint64_t seed, struct hop_placement **drawn)
{
    const struct hop_topology *t = input->topology;
    uint32_t nodes = hop_topology_node_count(t), ranks = hop_traffic_ranks(input->traffic), count = 0;
    const char **names = calloc((size_t)nodes + 1, sizeof *names);
    char *text = malloc((size_t)ranks * 80 + 1);
    struct hop_diag diag = {.what = "", .place = ""};
    for (unsigned kind = 0; names && text && count == 0 && kind < 2; kind++) {
        for (uint32_t n = 0; n < nodes; n++) {
            if (hop_topology_node(t, n)->kind == (kind ? HOP_NODE_NIC : HOP_NODE_GPU))
                names[count++] = hop_topology_node(t, n)->name;
        }
    }
    size_t used = 0;
    for (uint32_t r = 0; text && r < ranks && r < count; r++) {
        uint32_t pick = r + (uint32_t)(next_random(&seed) % (count - r));
        const char *name = names[pick];
        names[pick] = names[r];
        used += (size_t)snprintf(text + used, 80, "%u %.63s\n", r, name);
    }
    int status = names && text ? TOOL_OK : tool_out_of_memory();
    if (status == TOOL_OK && ranks > count)
        status =
            tool_bad_usage(&tool_map_command,
                           "--start random gives every rank a device of its own: %u ranks, %u devices", ranks, count);
    if (status == TOOL_OK && hop_placement_parse("random", text, used, drawn, &diag) != HOP_OK)
        status = tool_fail(&diag);
    free(text);
    free(names);
    return status;
}

int map_read_start(const struct map_request *request, struct map_input *input)
{
    struct hop_diag diag;
    struct hop_placement *start = NULL;
    const char *choice = request->start;
    uint64_t seed = 1;
    int status = TOOL_OK;
    if (!choice)
        return TOOL_OK;
    if (strncmp(choice, "random", 6) == 0 && (choice[6] == '\0' || choice[6] == '=')) {
        if (choice[6] && !tool_whole(&tool_map_command, "--start random=SEED", choice + 7, 0, UINT64_MAX, &seed))
            return TOOL_BAD;
        status = draw_placement(input, seed, &start);
    } else if (strcmp(choice, "cyclic") == 0) {
        if (hop_placement_make(input->topology, hop_traffic_ranks(input->traffic), HOP_PLACEMENT_CYCLIC, &start,
                               &diag) != HOP_OK)
            status = tool_fail(&diag);
    } else if (strcmp(choice, "packed") != 0) {
        enum hop_status read = hop_placement_load(choice, &start, &diag);
        if (read == HOP_ERR_IO)
            (void)snprintf(diag.expected, sizeof diag.expected,
                           "packed, cyclic, random=SEED, or a file with a line for every rank");
        status = read == HOP_OK ? TOOL_OK : tool_fail(&diag);
    }
    if (status != TOOL_OK)
        return status;
    hop_placement_destroy(input->start);
    input->start = start;
    return TOOL_OK;
}
