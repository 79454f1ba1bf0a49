/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast make: the devices that take part, listed (with ranges such as gpu0-7) or those of the topology. */
#include "make.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int add_device(struct request *r, const char *name, size_t length)
{
    if (length == 0 || length >= NAME_SIZE)
        return tool_bad_usage(&tool_make, "--devices '%s' names no device at '%.*s'", r->device_list,
                              (int)(length < 80 ? length : 80), name);
    if (r->ranks.count == DEVICES_MAX)
        return tool_bad_usage(&tool_make, "more than %d devices take part", DEVICES_MAX);
    if (r->ranks.count == r->name_capacity) {
        uint32_t capacity = r->name_capacity ? 2 * r->name_capacity : 64;
        void *grown = realloc(r->names, capacity * sizeof *r->names);
        if (!grown)
            return tool_out_of_memory();
        r->names = grown;
        r->name_capacity = capacity;
    }
    char *kept = r->names[r->ranks.count++];
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

static int add_item(struct request *r, const char *item, size_t length)
{
    char name[NAME_SIZE + 16];
    size_t prefix;
    unsigned first, last;
    int width, status = TOOL_OK;
    if (length >= NAME_SIZE || !split_range(item, length, &prefix, &first, &last, &width))
        return add_device(r, item, length);
    (void)snprintf(name, sizeof name, "%.*s", (int)length, item);
    if (r->topology && hop_topology_find(r->topology, name) != HOP_NONE) /* a name that looks like a range */
        return add_device(r, item, length);
    if (first > last)
        return tool_bad_usage(&tool_make, "--devices: the range '%s' goes down; it is written lowest first", name);
    for (unsigned i = first; i <= last && status == TOOL_OK; i++) {
        int written = snprintf(name, sizeof name, "%.*s%0*u", (int)prefix, item, width, i);
        status = add_device(r, name, (size_t)written);
    }
    return status;
}

/* Every device is one of the topology's. */
static int check_devices(const struct request *r)
{
    for (uint32_t i = 0; i < r->ranks.count; i++) {
        const char *name = r->names[i];
        uint32_t node = hop_topology_find(r->topology, name);
        if (node != HOP_NONE && hop_node_is_device(hop_topology_node(r->topology, node)->kind))
            continue;
        const char *nearest = hop_topology_nearest(r->topology, name);
        if (node != HOP_NONE)
            return tool_bad_usage(&tool_make, "--devices: %s is no device but a node of kind %s", name,
                                  hop_node_kind_name(hop_topology_node(r->topology, node)->kind));
        return tool_bad_usage(&tool_make, "--devices: topology %s has no device '%s'%s%s%s",
                              hop_topology_name(r->topology), name, nearest ? "; is " : "", nearest ? nearest : "",
                              nearest ? " meant?" : "");
    }
    return TOOL_OK;
}

int make_find_devices(struct request *r)
{
    int status = TOOL_OK;
    if (r->device_list) {
        const char *at = r->device_list;
        for (bool more = true; more && status == TOOL_OK;) {
            size_t length = strcspn(at, ",");
            status = add_item(r, at, length);
            more = at[length] == ',';
            at += length + 1;
        }
        if (status == TOOL_OK && r->topology)
            status = check_devices(r);
    } else {
        const enum hop_node_kind kinds[] = {HOP_NODE_GPU,
                                            HOP_NODE_NIC}; /* a bare fabric has no GPUs, but ports of hosts */
        for (size_t k = 0; k < 2 && r->ranks.count == 0; k++) {
            for (uint32_t n = 0; n < hop_topology_node_count(r->topology) && status == TOOL_OK; n++) {
                const struct hop_node *node = hop_topology_node(r->topology, n);
                if (node->kind == kinds[k])
                    status = add_device(r, node->name, strlen(node->name));
            }
        }
        if (status == TOOL_OK && r->ranks.count == 0)
            return tool_bad_usage(&tool_make,
                                  "topology %s has no gpu and no nic: --devices says which devices take part",
                                  hop_topology_name(r->topology));
    }
    if (status != TOOL_OK)
        return status;
    r->devices = malloc(r->ranks.count * sizeof *r->devices);
    if (!r->devices)
        return tool_out_of_memory();
    for (uint32_t i = 0; i < r->ranks.count; i++)
        r->devices[i] = r->names[i];
    r->ranks.devices = r->devices;
    return TOOL_OK;
}
