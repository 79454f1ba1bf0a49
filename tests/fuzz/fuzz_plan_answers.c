/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a checkpoint of a plan: refused with a diagnostic, or read; then its answers are found, and numbers read from them. The
 * hash at the end is put right first, so that bytes are looked at behind it, too. */
#include "fuzz.h"

#include "base/random.h"
#include "plan/plan_answers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FINGERPRINT 0x0123456789abcdefu
enum { HASH_DIGITS = 16 };

static void put_hash_right(struct hop_source *source)
{
    char digits[HASH_DIGITS + 1];
    char *end = source->size > HASH_DIGITS + 5 ? source->text + source->size - HASH_DIGITS - 5 : NULL;
    if (!end || memcmp(end, "end ", 4) != 0)
        return;
    (void)snprintf(digits, sizeof digits, "%016" PRIx64,
                   hop_hash(HOP_HASH_BEGIN, source->text, (size_t)(end - source->text)));
    memcpy(end + 4, digits, HASH_DIGITS);
}

static void read_numbers(const struct hop_plan_answer *answer)
{
    struct hop_plan_reading in = {answer->text, answer->text + answer->size, false, false};
    for (unsigned i = 0; !in.failed; i++) {
        const char *before = in.at;
        double value = i % 3 == 0 ? hop_plan_get_value(&in) : 0;
        uint64_t whole = i % 3 ? hop_plan_get_whole(&in, 1000) : 0;
        MUST(value >= 0 && whole <= 1000 && in.at <= in.end && (in.failed || in.at > before));
    }
    MUST(hop_plan_get_value(&in) == 0 && hop_plan_get_bytes(&in, 0) == NULL);
}

static void check(struct hop_plan_answers *a)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const struct hop_plan_answer *found = hop_plan_answers_find(a, a->known[i].key);
        MUST(found && found->key == a->known[i].key && found->text >= a->known[i].text);
        MUST(found->text >= a->source.text && found->text + found->size < a->source.text + a->source.size);
        read_numbers(found);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hop_plan_answers answers;
    struct hop_source source;
    struct hop_diag diag = {0};
    MUST(hop_plan_answers_begin(&answers, "output", 0, FINGERPRINT, NULL) == HOP_OK);
    MUST(hop_source_copy("input", (const char *)data, size, &source, NULL) == HOP_OK);
    put_hash_right(&source);
    if (hop_plan_answers_read(&answers, source, &diag) == HOP_OK)
        check(&answers);
    else
        MUST(is_said(diag.what) && strncmp(diag.place, "input:", 6) == 0 && is_said(diag.expected));
    hop_plan_answers_finish(&answers);
    return 0;
}
