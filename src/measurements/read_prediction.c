/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a prediction (docs/prediction.schema.json) as timings: the time of a transfer is its end. */
#include "base/json.h"
#include "measurements/measurements.h"

#include <math.h>

#define TIME_MOST 1e18

static const char *read_name(const struct hop_json *object, const char *key, struct hop_measurements *m)
{
    const struct hop_json at = hop_json_member(object, key, true);
    const char *text = hop_json_name(&at);
    if (text && !text[0])
        hop_json_fail(&at, HOP_ERR_INVALID, "this name is empty");
    return text ? hop_arena_string(&m->arena, text, strlen(text)) : NULL;
}

static void read_transfer(const struct hop_json *at, struct hop_measurements *m, uint32_t index)
{
    if (json_is_object(at->value) && json_object_get(at->value, "parent")) /* a packet; the whole stands before it */
        return;
    struct hop_measurement row = {.group = m->name,
                                  .notes = "",
                                  .rate_Bps = NAN,
                                  .time_s = NAN,
                                  .line = index + 1,
                                  .from_column = 1,
                                  .to_column = 1};
    row.transfer = read_name(at, "id", m);
    row.from = read_name(at, "from", m);
    row.to = read_name(at, "to", m);
    const struct hop_json bytes = hop_json_member(at, "bytes", true);
    row.bytes = hop_json_whole(&bytes, 0, HOP_BYTES_MAX, 0, NULL);
    const struct hop_json end = hop_json_member(at, "end_s", true);
    double end_s = hop_json_number(&end, 0, TIME_MOST, 0, NULL);
    if (row.bytes > 0 && end_s >= 1e-18) {
        row.time_s = end_s;
        row.rate_Bps = (double)row.bytes / end_s;
    }
    if (row.from && row.to && strcmp(row.from, row.to) != 0) /* within a device it is no transfer of a group */
        hop_measurements_add(m, &row);
}

void hop_measurements_read_prediction(const struct hop_source *source, struct hop_measurements *m)
{
    struct hop_json document;
    hop_json_load(source, &document, &m->failure);
    hop_json_check_format(&document, "hopcast_prediction", 1);
    const struct hop_json transfers = hop_json_member(&document, "transfers", true);
    size_t count = hop_json_array(&transfers, 1);
    if (count > HOP_MEASUREMENTS_MAX)
        hop_json_fail(&transfers, HOP_ERR_LIMIT, "more than %u transfers", HOP_MEASUREMENTS_MAX);
    for (size_t i = 0; i < count && hop_measurements_good(m); i++) {
        const struct hop_json at = hop_json_element(&transfers, i);
        read_transfer(&at, m, (uint32_t)i);
    }
    hop_json_finish(&document);
}
