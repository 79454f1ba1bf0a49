/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as Chakra traces: refused with a diagnostic, or read; then the schedule's text reads back to the same text.
 * The first byte says how many ranks (1 to 4) and how collectives are made; each rank has the same trace, or, with bit
 * 2, the ranks share the rest between them in equal pieces.
 */
#include "fuzz.h"

#include <string.h>

#include "hopcast/trace.h"

enum { RANKS = 4 };

static const char *const choices[] = {"allreduce=ring", "allreduce=doubling,broadcast=chain",
                                      "allreduce=direct,allgather=direct", "reduce-scatter=direct"};

static void check(const struct hop_schedule *schedule)
{
    struct hop_schedule *again;
    struct hop_diag diag;
    char *text = hop_schedule_to_text(schedule);
    MUST(text);
    if (hop_schedule_parse("again", text, strlen(text), &again, &diag) != HOP_OK) {
        fprintf(stderr, "%s: %s (%s)\n%s\n", diag.place, diag.what, diag.expected, text);
        abort();
    }
    char *same = hop_schedule_to_text(again);
    const char *first = strstr(text, "queue ready"), *second = same ? strstr(same, "queue ready") : NULL;
    MUST(first && second && strcmp(first, second) == 0); /* comments are not kept */
    free(same);
    free(text);
    hop_schedule_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[RANKS] = {"f.0.et", "f.1.et", "f.2.et", "f.3.et"};
    struct hop_trace_options options = {.control = size > 0 ? (enum hop_trace_control)(data[0] >> 5 & 1)
                                                            : HOP_TRACE_CONTROL_AUTO};
    struct hop_schedule *schedule;
    struct hop_diag diag = {0};
    if (size == 0)
        return 0;
    uint32_t ranks = 1 + data[0] % RANKS;
    bool share = (data[0] & 4) != 0;
    MUST(hop_trace_options_parse(choices[(data[0] >> 3) % 4], &options, &diag) == HOP_OK);
    const void *traces[RANKS];
    size_t sizes[RANKS], piece = (size - 1) / ranks;
    for (uint32_t r = 0; r < ranks; r++) {
        traces[r] = data + 1 + (share ? r * piece : 0);
        sizes[r] = share ? piece : size - 1;
    }
    if (hop_schedule_parse_chakra(names, traces, sizes, ranks, &options, &schedule, &diag) != HOP_OK) {
        MUST(is_said(diag.what) && (is_said(diag.place) || diag.status == HOP_ERR_MEMORY));
        return 0;
    }
    check(schedule);
    hop_schedule_destroy(schedule);
    return 0;
}
