/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a schedule: .hop text, JSON when the first character is a brace, GOAL when the first word is num_ranks;
 * Chakra traces by their names, or when it is no text. */
#include "schedule/schedule.h"
#include "trace/chakra.h"
#include "trace/goal.h"

static enum hop_status read_source(const struct hop_source *source, struct hop_schedule **schedule,
                                   struct hop_diag *diag)
{
    const char *start = source->text + strspn(source->text, " \t\r\n");
    if (*start == '<' || *start == '[') { /* what is surely no schedule is named for what it is */
        hop_fail(diag, HOP_ERR_SYNTAX,
                 "this is %s\noperations such as 'a: gpu0 -> gpu1 1MiB', one a line, schedule JSON or GOAL",
                 *start == '<' ? "XML, not a schedule" : "JSON, but not an object");
        hop_diag_place(diag, "%s:1:1", source->name);
        return HOP_ERR_SYNTAX;
    }
    if (*start == '{') {
        struct hop_schedule *read = NULL;
        enum hop_status status = hop_schedule_read_json(source, &read, diag);
        return status == HOP_OK ? hop_schedule_finish(read, schedule, diag) : status;
    }
    bool goal = hop_goal_detect(start);
    return hop_schedule_finish(goal ? hop_schedule_read_goal(source) : hop_schedule_read_text(source), schedule, diag);
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
    return hop_schedule_load_with(path, NULL, schedule, diag);
}

enum hop_status hop_schedule_load_with(const char *path, const struct hop_trace_options *options,
                                       struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct hop_source source;
    if (hop_chakra_is(path, NULL))
        return hop_schedule_load_chakra(path, options, schedule, diag);
    enum hop_status status = hop_source_load(path, &source, diag);
    if (status != HOP_OK)
        return status;
    if (strcmp(path, "-") != 0 && hop_chakra_is(path, &source)) {
        hop_source_finish(&source);
        return hop_schedule_load_chakra(path, options, schedule, diag);
    }
    status = read_source(&source, schedule, diag);
    hop_source_finish(&source);
    return status;
}
