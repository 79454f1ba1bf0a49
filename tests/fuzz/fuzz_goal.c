/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes behind num_ranks as GOAL: refused with a diagnostic, or read; then its text reads back to the same, and
 * what is written as
 * GOAL reads back with as many operations. */
#include "fuzz.h"

#include "hopcast/schedule.h"

#include <string.h>

static struct hop_schedule *again(const char *written)
{
    struct hop_schedule *schedule;
    struct hop_diag diag;
    if (hop_schedule_parse("again", written, strlen(written), &schedule, &diag) != HOP_OK) {
        fprintf(stderr, "%s: %s (%s)\n%s\n", diag.place, diag.what, diag.expected, written);
        abort();
    }
    return schedule;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char head[] = "num_ranks ";
    struct hop_schedule *schedule;
    struct hop_diag diag;
    char *input = malloc(sizeof head + size);
    MUST(input);
    memcpy(input, head, sizeof head - 1);
    if (size)
        memcpy(input + sizeof head - 1, data, size);
    enum hop_status status = hop_schedule_parse("input", input, sizeof head - 1 + size, &schedule, &diag);
    free(input);
    if (status != HOP_OK) {
        MUST(is_said(diag.what) && is_said(diag.place));
        return 0;
    }
    char *text = hop_schedule_to_text(schedule), *goal = NULL;
    MUST(text);
    struct hop_schedule *same = again(text);
    char *same_text = hop_schedule_to_text(same);
    MUST(same_text && strcmp(text, same_text) == 0);
    hop_schedule_destroy(same);
    MUST(hop_schedule_to_goal(schedule, 0, &goal, &diag) == HOP_OK);
    same = again(goal);
    MUST(hop_schedule_count(same) == hop_schedule_count(schedule));
    hop_schedule_destroy(same);
    hop_schedule_destroy(schedule);
    free(same_text);
    free(text);
    free(goal);
    return 0;
}
