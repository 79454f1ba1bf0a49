/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as faults, a line each, of a small torus whose protection and queues the first byte chooses: refused with a
 * diagnostic, or simulated to an end, with every byte delivered or told to be lost.
 */
#include "fuzz.h"

#include "hopcast/hopcast.h"

#include <math.h>
#include <string.h>

enum { FAULTS_MOST = 16 };

static uint32_t read_faults(const struct hop_topology *topology, char *text, struct hop_fault *faults)
{
    struct hop_diag diag;
    uint32_t count = 0;
    for (char *line = text, *end; line && count < FAULTS_MOST; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        if (hop_fault_read(topology, line, &faults[count], &diag) == HOP_OK)
            count++;
        else
            MUST(is_said(diag.what));
    }
    return count;
}

static void check(const struct hop_timeline *timeline)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(timeline);
    MUST(isfinite(hop_timeline_makespan_s(timeline)));
    for (uint32_t op = 0; op < hop_schedule_count(schedule); op++) {
        struct hop_delivery delivery = hop_timeline_delivery(timeline, op);
        MUST(delivery.delivered_bytes + delivery.lost_bytes == hop_schedule_op(schedule, op)->bytes);
        MUST((delivery.lost_bytes > 0) == (delivery.reason != NULL));
    }
}

static void simulate(struct hop_topology *topology, const struct hop_packet_options *packet)
{
    static const char text[] =
        "a: node0 -> node1 1KiB; b: node1 -> node5 2KiB; c: node2 -> node3 300 after a; "
        "d: node4 -> node0 1KiB; e: node5 -> node3 1KiB; f: node3 -> node2 2KiB; g: node0 -> node1 64 after f";
    const struct hop_simulate_options options = {
        .detail = HOP_DETAIL_SEGMENTS, .fidelity = HOP_FIDELITY_PACKET, .packet = packet};
    struct hop_schedule *schedule;
    struct hop_network *network;
    struct hop_timeline *timeline;
    struct hop_diag diag;
    MUST(hop_schedule_parse("faults", text, sizeof text - 1, &schedule, &diag) == HOP_OK);
    MUST(hop_network_create(topology, NULL, &network, &diag) == HOP_OK);
    if (hop_simulate(network, schedule, &options, &timeline, &diag) == HOP_OK) {
        check(timeline);
        no_nan(hop_timeline_to_json(timeline, NULL, false), NULL, 0);
        hop_timeline_destroy(timeline);
    } else {
        MUST(is_said(diag.what));
    }
    hop_network_destroy(network);
    hop_schedule_destroy(schedule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hop_topology *topology;
    struct hop_diag diag;
    struct hop_fault faults[FAULTS_MOST];
    if (size == 0)
        return 0;
    char *text = malloc(size);
    MUST(text && hop_topology_load("torus:3x2,link=1GB/s,latency=20ns", &topology, &diag) == HOP_OK);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    const struct hop_packet_options packet = {.payload_bytes = 64,
                                              .buffer_bytes = 128 + 64 * (data[0] >> 4 & 3),
                                              .rings = (enum hop_ring_protection)(data[0] % 3),
                                              .queues = (enum hop_packet_queues)((data[0] >> 2) % 3),
                                              .faults = faults,
                                              .fault_count = read_faults(topology, text, faults)};
    simulate(topology, &packet);
    hop_topology_destroy(topology);
    free(text);
    return 0;
}
