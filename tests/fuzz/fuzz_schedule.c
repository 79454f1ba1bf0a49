/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a schedule: refused with a diagnostic, or read; then its text and its JSON read back to the same text.
 */
#include "fuzz.h"

#include "hopcast/collective.h"
#include "hopcast/schedule.h"

#include <string.h>

static void check_same(const char *text, char *written)
{
    struct hop_schedule *again;
    struct hop_diag diag;
    MUST(written);
    if (hop_schedule_parse("again", written, strlen(written), &again, &diag) != HOP_OK) {
        fprintf(stderr, "%s: %s (%s)\n%s\n", diag.place, diag.what, diag.expected, written);
        abort();
    }
    char *same = hop_schedule_to_text(again);
    MUST(same);
    if (strcmp(same, text) != 0) {
        fprintf(stderr, "---- this\n%s\n---- became this\n%s\n", text, same);
        abort();
    }
    free(same);
    free(written);
    hop_schedule_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hop_schedule *schedule;
    struct hop_diag diag;
    if (hop_schedule_parse("input", (const char *)data, size, &schedule, &diag) != HOP_OK) {
        MUST(is_said(diag.what) && is_said(diag.place));
        return 0;
    }
    struct hop_collective_options says;
    uint32_t ranks;
    MUST(!hop_schedule_collective(schedule, &says, &ranks) || says.root < ranks);
    char *text = hop_schedule_to_text(schedule);
    MUST(text);
    check_same(text, hop_schedule_to_text(schedule));
    check_same(text, hop_schedule_to_json(schedule));
    free(text);
    hop_schedule_destroy(schedule);
    return 0;
}
