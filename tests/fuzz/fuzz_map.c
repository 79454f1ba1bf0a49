/* SPDX-License-Identifier: BSD-3-Clause */
/* Any lines as what ranks are kept on ("!NAME": excluded) when seven ranks of a ring are mapped onto eight GPUs:
 * refused with a diagnostic, or every rank sits on a device of its own that is not excluded; so it does under each
 * solver. */
#include "fuzz.h"

#include "hopcast/map.h"
#include "hopcast/pattern.h"

#include <string.h>

enum { LINES = 16, RANKS = 7 };

static void check(const struct hop_topology *t2, const struct hop_map_result *result,
                  const struct hop_map_options *options)
{
    bool taken[64] = {false};
    for (uint32_t r = 0; r < result->ranks; r++) {
        uint32_t device = result->seats[r].device;
        MUST(device < 64 && !taken[device]);
        taken[device] = true;
        for (uint32_t i = 0; i < options->excluded_count; i++)
            MUST(strcmp(hop_topology_node(t2, device)->name, options->excluded[i]) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hop_topology *t2;
    struct hop_traffic *traffic;
    const char *keep[LINES], *excluded[LINES];
    char text[512] = "";
    memcpy(text, data, size < sizeof text - 1 ? size : sizeof text - 1);
    struct hop_map_options options = {
        .metric = HOP_MAP_DISTANCE, .keep = keep, .excluded = excluded, .no_simulation = true};
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (*line == '!' && options.excluded_count < LINES)
            excluded[options.excluded_count++] = line + 1;
        else if (options.keep_count < LINES)
            keep[options.keep_count++] = line;
    }
    MUST(hop_topology_load("t2", &t2, NULL) == HOP_OK);
    MUST(hop_pattern_traffic("ring:7", HOP_MEMORY_DEVICE, &traffic, NULL) == HOP_OK);
    bool first = false;
    for (unsigned solver = HOP_MAP_AUTO; solver <= HOP_MAP_EXCHANGE; solver++) {
        struct hop_map_result *result;
        struct hop_diag diag = {0};
        options.solver = solver;
        if (solver == HOP_MAP_SCOTCH && !hop_map_has_scotch())
            continue;
        bool mapped = hop_map(t2, traffic, &options, &result, &diag) == HOP_OK;
        first = solver == HOP_MAP_AUTO ? mapped : first;
        MUST(mapped == first);
        if (mapped) {
            MUST(result->ranks == RANKS);
            check(t2, result, &options);
            hop_map_result_destroy(result);
        } else {
            MUST(is_said(diag.what) && is_said(diag.expected));
        }
    }
    hop_traffic_destroy(traffic);
    hop_topology_destroy(t2);
    return 0;
}
