/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a placement: refused with a diagnostic, or read; then every rank has a device, and a schedule can be placed or not. */
#include "fuzz.h"

#include "base/numa.h"
#include "hopcast/placement.h"

#include <string.h>

static void check(const struct hop_rank_place *at)
{
    MUST(at->device[0] && (at->cpu == HOP_NONE || at->cpu < 65536));
    MUST(!at->bus_id || hop_pci_address(at->bus_id) != UINT64_MAX);
    MUST(!at->nic || at->nic[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] = "rank0 -> rank1 1MiB; s: send rank1 -> rank2 4; work rank0 1us";
    struct hop_placement *placement;
    struct hop_schedule *schedule, *placed;
    struct hop_diag diag;
    if (hop_placement_parse("input", (const char *)data, size, &placement, &diag) != HOP_OK) {
        MUST(is_said(diag.what) && is_said(diag.place));
        return 0;
    }
    MUST(hop_placement_count(placement) > 0);
    for (uint32_t r = 0; r < hop_placement_count(placement); r++)
        check(hop_placement_at(placement, r));
    MUST(hop_schedule_parse("schedule", text, sizeof text - 1, &schedule, &diag) == HOP_OK);
    if (hop_placement_apply(placement, schedule, &placed, &diag) == HOP_OK)
        hop_schedule_destroy(placed);
    else
        MUST(is_said(diag.what) && is_said(diag.place));
    hop_schedule_destroy(schedule);
    hop_placement_destroy(placement);
    return 0;
}
