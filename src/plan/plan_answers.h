/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the steps of a plan have found, as text, by what they were asked: a plan that goes on asks the same again, and is where it
 * was as soon as it has heard all answers. The file (--checkpoint):
 *
 *     hopcast-plan-checkpoint 1
 *     fingerprint 8f0c52a1b7d3e694       of exchange, machine, options and version
 *     answer 9d3c0b5d1c2a7e44 57         a question's hash, and how many bytes answer it, which follow; a line's end
 *     0.126 0.12 0.12 ...                numbers, - for what is infinite, and often a schedule behind them
 *     end 3b5c9f0de2a14477               hash of all before
 */
#ifndef HOP_PLAN_ANSWERS_H
#define HOP_PLAN_ANSWERS_H

#include "base/base.h"

struct hop_plan_answer {
    uint64_t key;
    const char *text;
    size_t size;
};

struct hop_plan_answers {
    const char *path; /* NULL: nothing is kept */
    double every_s, saved_s;
    struct hop_source source;      /* the file, as it was */
    struct hop_plan_answer *known; /* of it, by key */
    uint32_t count;
    struct hop_buffer log; /* the file, as it will be, without its end */
    uint64_t heard;        /* answers that were asked for and known */
    struct hop_arena arena;
};

/* The head of a file; the path must outlive it. */
enum hop_status hop_plan_answers_begin(struct hop_plan_answers *answers, const char *path, double every_s,
                                       uint64_t fingerprint, struct hop_diag *diag);
/* The source's text stays, and is the answers' also where this fails: refused with place, fault and expectation. */
enum hop_status hop_plan_answers_read(struct hop_plan_answers *answers, struct hop_source source,
                                      struct hop_diag *diag);
void hop_plan_answers_finish(struct hop_plan_answers *answers);

/* The last one in the file; NULL: there is none. */
const struct hop_plan_answer *hop_plan_answers_find(struct hop_plan_answers *answers, uint64_t key);
void hop_plan_answers_add(struct hop_plan_answers *answers, const struct hop_plan_answer *answer);
/* Writes the file, whole or not at all; `now`: else only if it is time to. */
enum hop_status hop_plan_answers_save(struct hop_plan_answers *answers, bool now, struct hop_diag *diag);

/* ---- their texts ---- */

void hop_plan_put_value(struct hop_buffer *out, double value); /* from 0 to INFINITY */
void hop_plan_put_whole(struct hop_buffer *out, uint64_t value);

struct hop_plan_reading {
    const char *at, *end;
    bool failed; /* sticky: what was read is 0 */
    bool lacks;  /* memory, so that nobody knows whether it is right */
};
double hop_plan_get_value(struct hop_plan_reading *in);
uint64_t hop_plan_get_whole(struct hop_plan_reading *in, uint64_t most);
/* So many bytes behind the line. */
const char *hop_plan_get_bytes(struct hop_plan_reading *in, size_t size);

#endif
