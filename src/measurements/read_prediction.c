/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a prediction (docs/prediction.schema.json) as timings: the time of a transfer is its end. */
#include "base/json.h"
#include "measurements/measurements.h"

#include <math.h>

#define TIME_MOST 1e18

/* A member that must be there. */
static enum hop_status member(const struct hop_json *object, const char *key, struct hop_json *found,
                              struct hop_diag *diag)
{
    if (!json_is_object(object->value)) {
        hop_json_fail(object, diag, HOP_ERR_INVALID, "this is no object");
        hop_diag_expect(diag, "an object, {...}");
        return HOP_ERR_INVALID;
    }
    *found = (struct hop_json){json_object_get(object->value, key), object, key, 0};
    if (!found->value)
        return hop_json_fail(object, diag, HOP_ERR_INVALID, "the key '%s' is missing", key);
    return HOP_OK;
}

static enum hop_status read_name(const struct hop_json *object, const char *key, struct hop_measurements *m,
                                 const char **name, struct hop_diag *diag)
{
    struct hop_json at;
    const char *text = NULL;
    enum hop_status status = member(object, key, &at, diag);
    if (status == HOP_OK)
        status = hop_json_name(&at, &text, diag);
    if (status == HOP_OK && !text[0])
        status = hop_json_fail(&at, diag, HOP_ERR_INVALID, "this name is empty");
    if (status != HOP_OK)
        return status;
    *name = hop_arena_string(&m->arena, text, strlen(text));
    return *name ? HOP_OK : hop_fail_memory(diag);
}

static enum hop_status read_transfer(const struct hop_json *at, struct hop_measurements *m, uint32_t index,
                                     struct hop_diag *diag)
{
    struct hop_measurement row = {.group = m->name,
                                  .notes = "",
                                  .rate_Bps = NAN,
                                  .time_s = NAN,
                                  .line = index + 1,
                                  .from_column = 1,
                                  .to_column = 1};
    struct hop_json bytes, end;
    double end_s = 0;
    if (json_is_object(at->value) && json_object_get(at->value, "parent")) /* a packet; the whole stands before it */
        return HOP_OK;
    enum hop_status status = read_name(at, "id", m, &row.transfer, diag);
    if (status == HOP_OK)
        status = read_name(at, "from", m, &row.from, diag);
    if (status == HOP_OK)
        status = read_name(at, "to", m, &row.to, diag);
    if (status == HOP_OK && strcmp(row.from, row.to) == 0)
        status = hop_json_fail(at, diag, HOP_ERR_INVALID, "the transfer goes from %.40s to itself", row.from);
    if (status == HOP_OK)
        status = member(at, "bytes", &bytes, diag);
    if (status == HOP_OK)
        status = hop_json_whole(&bytes, 0, HOP_BYTES_MAX, &row.bytes, diag);
    if (status == HOP_OK)
        status = member(at, "end_s", &end, diag);
    if (status == HOP_OK)
        status = hop_json_number(&end, 0, TIME_MOST, &end_s, diag);
    if (status == HOP_OK && row.bytes > 0 && end_s >= 1e-18) {
        row.time_s = end_s;
        row.rate_Bps = (double)row.bytes / end_s;
    }
    return status == HOP_OK ? hop_measurements_add(m, &row, diag) : status;
}

enum hop_status hop_measurements_read_prediction(const struct hop_source *source, struct hop_measurements *m,
                                                 struct hop_diag *diag)
{
    struct hop_json document, transfers;
    size_t count = 0;
    enum hop_status status = hop_json_load(source, &document, diag);
    if (status != HOP_OK)
        return status;
    status = hop_json_check_format(&document, "hopcast_prediction", 1, diag);
    if (status == HOP_OK)
        status = member(&document, "transfers", &transfers, diag);
    if (status == HOP_OK)
        status = hop_json_array(&transfers, 1, &count, diag);
    if (status == HOP_OK && count > HOP_MEASUREMENTS_MAX)
        status = hop_json_fail(&transfers, diag, HOP_ERR_LIMIT, "more than %u transfers", HOP_MEASUREMENTS_MAX);
    for (size_t i = 0; i < count && status == HOP_OK; i++) {
        struct hop_json at = hop_json_element(&transfers, i);
        status = read_transfer(&at, m, (uint32_t)i, diag);
    }
    hop_json_finish(&document);
    return status;
}
