/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a checkpoint: refused with a diagnostic, or read; then what it says fits the search that it belongs to. */
#include "fuzz.h"

#include "order/checkpoint.h"

#include <math.h>
#include <string.h>

enum { TASKS = 12, RECORDS = 3 };
#define FINGERPRINT 0x0123456789abcdefu

static const char schedule_text[] = "a: gpu0 -> gpu1 10\nb: gpu0 -> gpu2 20\nc: gpu0 -> gpu3 30 after a\n"
                                    "d: gpu1 -> gpu0 10\ne: gpu1 -> gpu5 20\nf: work gpu1 5us after b\n";

static struct hop_problem *problem; /* made once, for all inputs */

static void make_problem(void)
{
    struct hop_topology *topology;
    struct hop_schedule *schedule;
    static const struct hop_order_options options;
    MUST(hop_topology_load("t2", &topology, NULL) == HOP_OK);
    MUST(hop_schedule_parse("fuzz", schedule_text, strlen(schedule_text), &schedule, NULL) == HOP_OK);
    MUST(hop_problem_create(topology, schedule, &options, &problem, NULL) == HOP_OK);
}

static void check(const struct hop_checkpoint *c, const struct hop_checkpoint_part *part)
{
    uint64_t done = 0;
    for (uint64_t t = 0; t < TASKS; t++) {
        MUST(c->done[t] == HOP_TASK_OPEN || c->done[t] == HOP_TASK_DONE);
        done += c->done[t] == HOP_TASK_DONE;
    }
    MUST(done == part->totals.tasks_done);
    for (uint32_t i = 0; i < part->count; i++)
        MUST(isfinite(part->counts[i].value));
    for (uint32_t k = 0; k < RECORDS; k++)
        MUST(!isnan(c->records[k].value) && hop_sequence_check(problem, &c->records[k].sequence));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hop_source source;
    struct hop_diag diag = {0};
    struct hop_record_kept records[RECORDS];
    struct hop_checkpoint_part part = {0};
    uint8_t done[TASKS] = {0};
    if (!problem)
        make_problem();
    struct hop_checkpoint checkpoint = {.problem = problem,
                                        .kind = "search",
                                        .fingerprint = FINGERPRINT,
                                        .tasks = TASKS,
                                        .done = done,
                                        .records = records,
                                        .record_count = RECORDS};
    for (uint32_t k = 0; k < RECORDS; k++) {
        records[k].value = INFINITY;
        MUST(hop_sequence_create(problem, &records[k].sequence, NULL) == HOP_OK);
    }
    MUST(hop_source_copy("input", (const char *)data, size, &source, NULL) == HOP_OK);
    enum hop_status status = hop_checkpoint_parse(&source, &checkpoint, HOP_TASK_DONE, &part, &diag);
    if (status != HOP_OK)
        MUST(is_said(diag.what) && strncmp(diag.place, "input:", 6) == 0 && is_said(diag.expected));
    check(&checkpoint, &part);
    hop_source_finish(&source);
    for (uint32_t k = 0; k < RECORDS; k++)
        hop_sequence_finish(&records[k].sequence);
    free(part.counts);
    return 0;
}
