/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices on the command line: see devices.h. */
#include "devices.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void devices_add(const struct tool_command *command, const char *name, size_t length, struct device_list *devices)
{
    if (length == 0 || length >= DEVICE_NAME_SIZE)
        tool_bad_usage(command,
                       "--devices names no device at '%.*s'; names with commas between are expected, "
                       "such as gpu0,gpu4 or gpu0-7",
                       (int)(length < 80 ? length : 80), name);
    if (devices->count == DEVICES_MAX)
        tool_bad_usage(command, "more than %d devices take part", DEVICES_MAX);
    TOOL_GROW(devices->names, devices->count + 1);
    devices->names[devices->count++] = tool_text("%.*s", (int)length, name);
}

/* "gpu0-7": the parts of a range, or false. A leading zero in its first number asks for numbers of that width. */
static bool split_range(const char *item, size_t length, size_t *prefix, unsigned *first, unsigned *last, int *width)
{
    size_t end = length, dash, start;
    while (end > 0 && isdigit((unsigned char)item[end - 1]))
        end--;
    if (end == 0 || end == length || length - end > 9 || item[end - 1] != '-')
        return false;
    dash = start = end - 1;
    while (start > 0 && isdigit((unsigned char)item[start - 1]))
        start--;
    if (start == dash || start == 0 || dash - start > 9)
        return false;
    *prefix = start;
    *first = (unsigned)strtoul(item + start, NULL, 10);
    *last = (unsigned)strtoul(item + end, NULL, 10);
    *width = item[start] == '0' ? (int)(dash - start) : 1;
    return true;
}

static void add_item(const struct tool_command *command, const char *item, size_t length,
                     const struct hop_topology *topology, struct device_list *devices)
{
    char name[DEVICE_NAME_SIZE + 16];
    size_t prefix;
    unsigned first, last;
    int width;
    (void)snprintf(name, sizeof name, "%.*s", (int)length, item);
    if (length >= DEVICE_NAME_SIZE || !split_range(item, length, &prefix, &first, &last, &width) ||
        (topology && hop_topology_find(topology, name) != HOP_NONE)) { /* a name that looks like a range */
        devices_add(command, item, length, devices);
        return;
    }
    if (first > last)
        tool_bad_usage(command, "--devices: the range '%s' goes down; it is written lowest first", name);
    for (unsigned i = first; i <= last; i++) {
        int written = snprintf(name, sizeof name, "%.*s%0*u", (int)prefix, item, width, i);
        devices_add(command, name, (size_t)written, devices);
    }
}

/* Whether that is a device of the topology; else tool_diag says what it is instead, and what may be meant. */
static bool is_device(const struct hop_topology *topology, const char *name)
{
    return hop_topology_device(topology, name, NULL, &tool_diag) == HOP_OK;
}

bool devices_host_rank(const char *name, uint32_t *rank)
{
    int end = 0;
    return sscanf(name, "rank%9u.host%n", rank, &end) == 1 && end > 0 && name[end] == '\0';
}

static void check_place(const struct hop_topology *topology, const struct hop_schedule *schedule, uint32_t index,
                        const struct hop_place *place)
{
    uint32_t rank;
    int end = 0;
    if (!place->device || (sscanf(place->device, "rank%9u%n", &rank, &end) == 1 && place->device[end] == '\0') ||
        devices_host_rank(place->device, &rank) || is_device(topology, place->device))
        return;
    (void)hop_schedule_place(schedule, index, place->column, tool_diag.place, sizeof tool_diag.place);
    tool_fail(&tool_diag);
}

void devices_check_all(const struct hop_topology *topology, const struct hop_schedule *schedule)
{
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        for (uint32_t p = 0; p < op->input_count; p++)
            check_place(topology, schedule, i, &op->inputs[p]);
        check_place(topology, schedule, i, &op->from);
        check_place(topology, schedule, i, &op->to);
        for (uint32_t p = 0; p < op->output_count; p++)
            check_place(topology, schedule, i, &op->outputs[p]);
    }
}

void devices_of(const struct tool_command *command, const struct hop_topology *topology, struct device_list *devices)
{
    const enum hop_node_kind kinds[] = {HOP_NODE_GPU, HOP_NODE_NIC};
    for (size_t k = 0; k < 2 && devices->count == 0; k++) {
        for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) {
            const struct hop_node *node = hop_topology_node(topology, n);
            if (node->kind == kinds[k])
                devices_add(command, node->name, strlen(node->name), devices);
        }
    }
    if (devices->count == 0)
        tool_bad_usage(command, "topology %s has no gpu and no nic: --devices says which devices take part",
                       hop_topology_name(topology));
}

void devices_find(const struct tool_command *command, const struct hop_topology *topology, const char *list,
                  struct device_list *devices)
{
    if (!list && topology)
        devices_of(command, topology, devices);
    else if (!list)
        devices_add(command, "host0", 5, devices);
    for (size_t length; list; list = list[length] ? list + length + 1 : NULL) {
        length = strcspn(list, ",");
        add_item(command, list, length, topology, devices);
    }
    for (uint32_t i = 0; topology && i < devices->count; i++) {
        if (!is_device(topology, devices->names[i]))
            tool_bad_usage(command, "--devices: %s; expected: %s", tool_diag.what, tool_diag.expected);
    }
}

const char **devices_spread(const struct device_list *devices, uint32_t ranks, uint32_t each)
{
    const char **spread = tool_alloc(ranks, sizeof *spread);
    uint64_t used = ranks < devices->count ? ranks : devices->count;
    for (uint32_t r = 0; r < ranks; r++)
        spread[r] = devices->names[each ? r / each : r * used / ranks];
    return spread;
}
