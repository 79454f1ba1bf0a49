/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast predict: the options of --fidelity packet. */
#include "predict.h"

#include <string.h>

static bool take_bytes(const char *name, const char *value, uint64_t *bytes)
{
    struct hop_diag diag;
    if (hop_parse_bytes(value, strlen(value), bytes, &diag) == HOP_OK && *bytes > 0)
        return true;
    (void)tool_bad_usage(&tool_predict, "--packet %s=%s: expected a size, such as 8KiB", name, value);
    return false;
}

static bool take_seconds(const char *name, const char *value, double *seconds)
{
    struct hop_diag diag;
    if (hop_parse_seconds(value, strlen(value), seconds, &diag) == HOP_OK)
        return true;
    (void)tool_bad_usage(&tool_predict, "--packet %s=%s: expected a time, such as 200ns", name, value);
    return false;
}

static bool take_queues(const char *value, enum hop_packet_queues *queues)
{
    static const char *const names[] = {
        [HOP_PACKET_SHARED] = "shared", [HOP_PACKET_FIFO] = "fifo", [HOP_PACKET_PER_TRANSFER] = "per-transfer"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(value, names[i]) == 0) {
            *queues = (enum hop_packet_queues)i;
            return true;
        }
    }
    (void)tool_bad_usage(&tool_predict, "--packet queues=%s: expected shared, fifo or per-transfer", value);
    return false;
}

bool predict_packet_set(struct hop_packet_options *packet, const char *assignment)
{
    const char *value = strchr(assignment, '=');
    size_t length = value ? (size_t)(value - assignment) : 0;
    char name[16] = "";
    if (length < sizeof name)
        memcpy(name, assignment, length);
    value = value ? value + 1 : "";
    if (strcmp(name, "payload") == 0)
        return take_bytes(name, value, &packet->payload_bytes);
    if (strcmp(name, "buffer") == 0)
        return take_bytes(name, value, &packet->buffer_bytes);
    if (strcmp(name, "read") == 0)
        return take_bytes(name, value, &packet->read_bytes);
    if (strcmp(name, "credit-delay") == 0)
        return take_seconds(name, value, &packet->credit_delay_s);
    if (strcmp(name, "startup") == 0)
        return take_seconds(name, value, &packet->startup_s);
    if (strcmp(name, "queues") == 0)
        return take_queues(value, &packet->queues);
    (void)tool_bad_usage(
        &tool_predict,
        "--packet %.60s: expected payload=, buffer=, read=, credit-delay=, startup= or queues=", assignment);
    return false;
}
