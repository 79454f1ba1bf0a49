/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as traffic: refused with a diagnostic, or read; then its flows are in order and its text says the same.
 * As a pattern and as a schedule, too. */
#include "fuzz.h"

#include "hopcast/pattern.h"
#include "hopcast/traffic.h"

#include <string.h>

static void check(const struct hop_traffic *traffic)
{
    uint64_t sum[HOP_MEMORY_COUNT] = {0};
    const struct hop_traffic_flow *flows = hop_traffic_flows(traffic);
    for (uint32_t i = 0; i < hop_traffic_count(traffic); i++) {
        MUST(flows[i].from < hop_traffic_ranks(traffic) && flows[i].to < hop_traffic_ranks(traffic));
        MUST(flows[i].from != flows[i].to && flows[i].bytes[0] + flows[i].bytes[1] > 0);
        MUST(i == 0 || flows[i - 1].from < flows[i].from ||
             (flows[i - 1].from == flows[i].from && flows[i - 1].to < flows[i].to));
        for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++)
            sum[m] += flows[i].bytes[m];
    }
    for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++)
        MUST(sum[m] == hop_traffic_bytes(traffic, (enum hop_memory)m));
}

static void check_text(const struct hop_traffic *traffic)
{
    struct hop_traffic *again;
    char *text = hop_traffic_to_text(traffic);
    MUST(text && hop_traffic_detect(text, strlen(text)));
    uint32_t count = hop_traffic_count(traffic);
    MUST(hop_traffic_parse("again", text, strlen(text), HOP_MEMORY_HOST, &again, NULL) == HOP_OK);
    MUST(hop_traffic_ranks(again) == hop_traffic_ranks(traffic) && hop_traffic_count(again) == count);
    MUST(count == 0 ||
         memcmp(hop_traffic_flows(again), hop_traffic_flows(traffic), count * sizeof *hop_traffic_flows(traffic)) == 0);
    hop_traffic_destroy(again);
    free(text);
}

static void try_schedule(const char *text, size_t size)
{
    struct hop_schedule *schedule;
    struct hop_traffic *traffic;
    struct hop_diag diag;
    if (hop_schedule_parse("input", text, size, &schedule, NULL) != HOP_OK)
        return;
    if (hop_traffic_of_schedule(schedule, &traffic, &diag) == HOP_OK) {
        check(traffic);
        hop_traffic_destroy(traffic);
    } else {
        MUST(is_said(diag.what) && is_said(diag.place));
    }
    hop_schedule_destroy(schedule);
}

/* Grids of small extents only: what is large is right, and takes memory. */
static void try_pattern(const uint8_t *data, size_t size)
{
    char text[128];
    struct hop_traffic *traffic;
    struct hop_diag diag;
    size_t digits = 0, crosses = 0;
    if (size >= sizeof text)
        return;
    for (size_t i = 0; i < size; i++) {
        digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
        crosses += data[i] == 'x';
        if (digits > 2 || crosses > 2)
            return;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    if (hop_pattern_traffic(text, HOP_MEMORY_DEVICE, &traffic, &diag) == HOP_OK) {
        check(traffic);
        hop_traffic_destroy(traffic);
    } else {
        MUST(is_said(diag.what) && is_said(diag.expected));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hop_traffic *traffic;
    struct hop_diag diag;
    const char *text = (const char *)data;
    enum hop_status status = hop_traffic_parse("input", text, size, HOP_MEMORY_DEVICE, &traffic, &diag);
    MUST(status != HOP_OK || hop_traffic_detect(text, size));
    if (status == HOP_OK) {
        check(traffic);
        check_text(traffic);
        hop_traffic_destroy(traffic);
    } else {
        MUST(is_said(diag.what) && is_said(diag.place) && is_said(diag.expected));
    }
    try_schedule(text, size);
    try_pattern(data, size);
    return 0;
}
