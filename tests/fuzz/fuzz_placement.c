/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a placement: refused with a diagnostic, or read; then every rank has a device, and a schedule can be placed or not. */
#include "fuzz.h"

#include "hopcast/placement.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] = "rank0 -> rank1 1MiB; s: send rank1 -> rank2 4; work rank0 1us";
    struct hop_placement *placement;
    struct hop_schedule *schedule, *placed;
    struct hop_diag diag;
    if (hop_placement_parse("input", (const char *)data, size, &placement, &diag) != HOP_OK) {
        MUST(diag.what[0] && diag.place[0]);
        return 0;
    }
    MUST(hop_placement_count(placement) > 0);
    for (uint32_t r = 0; r < hop_placement_count(placement); r++)
        MUST(hop_placement_device(placement, r) && hop_placement_device(placement, r)[0]);
    MUST(hop_schedule_parse("schedule", text, sizeof text - 1, &schedule, &diag) == HOP_OK);
    if (hop_placement_apply(placement, schedule, &placed, &diag) == HOP_OK)
        hop_schedule_destroy(placed);
    else
        MUST(diag.what[0] && diag.place[0]);
    hop_schedule_destroy(schedule);
    hop_placement_destroy(placement);
    return 0;
}
