/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a schedule: .hop text, or JSON when the first character is a brace. */
#include "schedule/schedule.h"

static enum hop_status read_source(const struct hop_source *source, struct hop_schedule **schedule, struct hop_diag *diag)
{
    size_t start = strspn(source->text, " \t\r\n");
    struct hop_schedule *read;
    enum hop_status status = source->text[start] == '{' ? hop_schedule_read_json(source, &read, diag)
                                                        : hop_schedule_read_text(source, &read, diag);
    if (status != HOP_OK)
        return status;
    status = hop_schedule_finish(read, diag);
    if (status != HOP_OK) {
        hop_schedule_destroy(read);
        return status;
    }
    *schedule = read;
    return HOP_OK;
}

enum hop_status hop_schedule_parse(const char *name, const char *text, size_t size, struct hop_schedule **schedule,
                                   struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_source_copy(name, text, size, &source, diag);
    if (status != HOP_OK)
        return status;
    status = read_source(&source, schedule, diag);
    hop_source_finish(&source);
    return status;
}

enum hop_status hop_schedule_load(const char *path, struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_source_load(path, &source, diag);
    if (status != HOP_OK)
        return status;
    status = read_source(&source, schedule, diag);
    hop_source_finish(&source);
    return status;
}
