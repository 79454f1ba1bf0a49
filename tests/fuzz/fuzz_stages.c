/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a table of steps: refused with a diagnostic, or read; then what is written reads back to the same text,
 * and what is chosen for a size takes what the closed form says, and is explained. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "hopcast/tune.h"
#include "hopcast/units.h"

static void check_choice(const struct hop_stages *stages, uint64_t bytes)
{
    struct hop_stages_choice choice;
    struct hop_stages_gather gather = {.nodes = 3, .devices = 2, .bytes = bytes};
    struct hop_diag diag;
    if (hop_stages_choose(stages, bytes, NULL, &choice, &diag) == HOP_OK) {
        const struct hop_stages_way *best = &choice.best;
        MUST(best->time_s == hop_stages_time_s(stages, best->overlap, bytes, best->packet_bytes));
        MUST(choice.reason[0] && memchr(choice.reason, '\0', sizeof choice.reason));
        MUST(isnan(choice.whole.time_s) || best->time_s <= choice.whole.time_s * (1 + 1e-9));
    } else {
        MUST(is_said(diag.what));
    }
    if (hop_stages_gather(stages, &gather, &diag) == HOP_OK)
        MUST(gather.reason[0] && gather.best < 3);
    else
        MUST(stages->count < 2 && is_said(diag.what));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hop_stages *stages, *same;
    struct hop_diag diag;
    if (hop_stages_parse("input", (const char *)data, size, &stages, &diag) != HOP_OK) {
        MUST(is_said(diag.what) && is_said(diag.place));
        return 0;
    }
    char *text = hop_stages_to_text(stages), *again = NULL;
    MUST(text);
    MUST(hop_stages_parse("again", text, strlen(text), &same, &diag) == HOP_OK);
    again = hop_stages_to_text(same);
    MUST(again && strcmp(text, again) == 0);
    for (uint64_t bytes = 1; bytes <= HOP_BYTES_MAX / 4; bytes *= 33)
        check_choice(stages, bytes);
    hop_stages_destroy(same);
    hop_stages_destroy(stages);
    free(text);
    free(again);
    return 0;
}
