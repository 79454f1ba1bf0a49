/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices on the command line: see devices.h. */
#include "devices.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int devices_add(const struct tool_command *command, const char *name, size_t length, struct device_list *devices)
{
    if (length == 0 || length >= DEVICE_NAME_SIZE)
        return tool_bad_usage(command,
                              "--devices names no device at '%.*s'; names with commas between are expected, "
                              "such as gpu0,gpu4 or gpu0-7",
                              (int)(length < 80 ? length : 80), name);
    if (devices->count == DEVICES_MAX)
        return tool_bad_usage(command, "more than %d devices take part", DEVICES_MAX);
    if (devices->count == devices->capacity) {
        uint32_t capacity = devices->capacity ? 2 * devices->capacity : 64;
        void *grown = realloc(devices->names, capacity * sizeof *devices->names);
        if (!grown)
            return tool_out_of_memory();
        devices->names = grown;
        devices->capacity = capacity;
    }
    char *kept = devices->names[devices->count++];
    memcpy(kept, name, length);
    kept[length] = '\0';
    return TOOL_OK;
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

static int add_item(const struct tool_command *command, const char *item, size_t length,
                    const struct hop_topology *topology, struct device_list *devices)
{
    char name[DEVICE_NAME_SIZE + 16];
    size_t prefix;
    unsigned first, last;
    int width, status = TOOL_OK;
    if (length >= DEVICE_NAME_SIZE || !split_range(item, length, &prefix, &first, &last, &width))
        return devices_add(command, item, length, devices);
    (void)snprintf(name, sizeof name, "%.*s", (int)length, item);
    if (topology && hop_topology_find(topology, name) != HOP_NONE) /* a name that looks like a range */
        return devices_add(command, item, length, devices);
    if (first > last)
        return tool_bad_usage(command, "--devices: the range '%s' goes down; it is written lowest first", name);
    for (unsigned i = first; i <= last && status == TOOL_OK; i++) {
        int written = snprintf(name, sizeof name, "%.*s%0*u", (int)prefix, item, width, i);
        status = devices_add(command, name, (size_t)written, devices);
    }
    return status;
}

/* Whether that is a device of the topology; else *diag, with no place, says what it is instead, and what may be meant. */
static bool is_device(const struct hop_topology *topology, const char *name, struct hop_diag *diag)
{
    uint32_t node = hop_topology_find(topology, name);
    if (node != HOP_NONE && hop_node_is_device(hop_topology_node(topology, node)->kind))
        return true;
    const char *near = node == HOP_NONE ? hop_topology_nearest(topology, name) : NULL, *some = near;
    for (uint32_t n = 0; n < hop_topology_node_count(topology) && !some; n++) {
        if (hop_node_is_device(hop_topology_node(topology, n)->kind))
            some = hop_topology_node(topology, n)->name;
    }
    *diag = (struct hop_diag){.status = HOP_ERR_NOT_FOUND};
    if (node == HOP_NONE)
        (void)snprintf(diag->what, sizeof diag->what, "topology %.100s has no device '%.100s'",
                       hop_topology_name(topology), name);
    else
        (void)snprintf(diag->what, sizeof diag->what, "'%.100s' is a %s, not a device", name,
                       hop_node_kind_name(hop_topology_node(topology, node)->kind));
    (void)snprintf(diag->expected, sizeof diag->expected, "%s%.100s%s `hopcast topology SOURCE` shows all devices",
                   near ? "'" : "a device, such as ", some ? some : "none: it has no device", near ? "'?" : ";");
    return false;
}

bool devices_host_rank(const char *name, uint32_t *rank)
{
    int end = 0;
    return sscanf(name, "rank%9u.host%n", rank, &end) == 1 && end > 0 && name[end] == '\0';
}

static bool has_place(const struct hop_topology *topology, const struct hop_schedule *schedule, uint32_t index,
                      const struct hop_place *place, struct hop_diag *diag)
{
    uint32_t rank;
    int end = 0;
    if (!place->device || (sscanf(place->device, "rank%9u%n", &rank, &end) == 1 && place->device[end] == '\0') ||
        devices_host_rank(place->device, &rank) || is_device(topology, place->device, diag))
        return true;
    (void)hop_schedule_place(schedule, index, place->column, diag->place, sizeof diag->place);
    return false;
}

bool devices_have_all(const struct hop_topology *topology, const struct hop_schedule *schedule, struct hop_diag *diag)
{
    bool fine = true;
    for (uint32_t i = 0; i < hop_schedule_count(schedule) && fine; i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        for (uint32_t p = 0; p < op->input_count && fine; p++)
            fine = has_place(topology, schedule, i, &op->inputs[p], diag);
        fine = fine && has_place(topology, schedule, i, &op->from, diag) &&
               has_place(topology, schedule, i, &op->to, diag);
        for (uint32_t p = 0; p < op->output_count && fine; p++)
            fine = has_place(topology, schedule, i, &op->outputs[p], diag);
    }
    return fine;
}

static int check_devices(const struct tool_command *command, const struct hop_topology *topology,
                         const struct device_list *devices)
{
    struct hop_diag diag;
    for (uint32_t i = 0; i < devices->count; i++) {
        if (!is_device(topology, devices->names[i], &diag))
            return tool_bad_usage(command, "--devices: %s; expected: %s", diag.what, diag.expected);
    }
    return TOOL_OK;
}

static int devices_listed(const struct tool_command *command, const char *list, const struct hop_topology *topology,
                          struct device_list *devices)
{
    int status = TOOL_OK;
    const char *at = list;
    for (bool more = true; more && status == TOOL_OK;) {
        size_t length = strcspn(at, ",");
        status = add_item(command, at, length, topology, devices);
        more = at[length] == ',';
        at += length + 1;
    }
    return status == TOOL_OK && topology ? check_devices(command, topology, devices) : status;
}

int devices_of(const struct tool_command *command, const struct hop_topology *topology, struct device_list *devices)
{
    const enum hop_node_kind kinds[] = {HOP_NODE_GPU, HOP_NODE_NIC};
    int status = TOOL_OK;
    for (size_t k = 0; k < 2 && devices->count == 0; k++) {
        for (uint32_t n = 0; n < hop_topology_node_count(topology) && status == TOOL_OK; n++) {
            const struct hop_node *node = hop_topology_node(topology, n);
            if (node->kind == kinds[k])
                status = devices_add(command, node->name, strlen(node->name), devices);
        }
    }
    if (status == TOOL_OK && devices->count == 0)
        return tool_bad_usage(command, "topology %s has no gpu and no nic: --devices says which devices take part",
                              hop_topology_name(topology));
    return status;
}

int devices_find(const struct tool_command *command, const struct hop_topology *topology, const char *list,
                 struct device_list *devices)
{
    if (list)
        return devices_listed(command, list, topology, devices);
    return topology ? devices_of(command, topology, devices) : devices_add(command, "host0", 5, devices);
}

const char **devices_spread(const struct device_list *devices, uint32_t ranks, uint32_t each)
{
    const char **spread = calloc((size_t)ranks + 1, sizeof *spread);
    uint64_t used = ranks < devices->count ? ranks : devices->count;
    for (uint32_t r = 0; spread && r < ranks; r++)
        spread[r] = devices->names[each ? r / each : r * used / ranks];
    return spread;
}

void devices_finish(struct device_list *devices)
{
    free(devices->names);
    *devices = (struct device_list){0};
}
