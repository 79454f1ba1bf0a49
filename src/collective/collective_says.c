/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a schedule says that it is: the sentence at the head of a collective's schedule, written and read.
 *
 *     reduce by binomial: 3 ranks, 1MiB, max of i32, root 2, in place
 *     allgather by ring: 4 ranks, 4MiB gathered of f32
 *
 * An allgather or gather without the word "gathered" is from a time when that was the size of a rank's part.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "collective/collective.h"
#include "schedule/schedule.h"

static const char gathered[] = " gathered";

void hop_collective_say(struct hop_schedule *schedule, uint32_t ranks, const struct hop_collective_options *options,
                        const char *name)
{
    char bytes[32], extra[160] = "", segment[32];
    const char *plural = ranks == 1 ? "" : "s";
    enum hop_collective_kind kind = options->kind;
    size_t used = 0;
    if (kind == HOP_COLLECTIVE_BARRIER) {
        hop_schedule_add_comment(schedule, "barrier by %s: %u rank%s", name, ranks, plural);
        return;
    }
    if (hop_collective_reduces(kind))
        used += (size_t)snprintf(extra, sizeof extra, ", %s", hop_reduce_name(options->reduce));
    used += (size_t)snprintf(extra + used, sizeof extra - used, " of %s", hop_type_name(options->type));
    if (hop_collective_is_rooted(kind))
        used += (size_t)snprintf(extra + used, sizeof extra - used, ", root %u", options->root);
    if (options->in_place)
        used += (size_t)snprintf(extra + used, sizeof extra - used, ", in place");
    if (options->rings)
        used += (size_t)snprintf(extra + used, sizeof extra - used, ", over %u rings", options->rings);
    if (options->segment_bytes)
        (void)snprintf(extra + used, sizeof extra - used, ", segments of %s",
                       hop_format_bytes(options->segment_bytes, segment, sizeof segment));
    hop_schedule_add_comment(schedule, "%s by %s: %u rank%s, %s%s%s", hop_collective_name(kind), name, ranks, plural,
                             hop_format_bytes(options->vector_bytes, bytes, sizeof bytes),
                             hop_collective_gathers(kind) ? gathered : "", extra);
}

/* The index of a name in a list, `count`: it is not there. */
static unsigned find(const char *name, const char *(*listed)(const void *context, uint32_t index), unsigned count)
{
    unsigned i = 0;
    while (i < count && strcmp(listed(NULL, i), name) != 0)
        i++;
    return i;
}

static const char *collective_listed(const void *context, uint32_t index)
{
    return (void)context, hop_collective_name((enum hop_collective_kind)index);
}

/* What stands behind the size: ", max of i32, root 2, in place", or " of i32 ..." where nothing is reduced. */
static bool read_rest(const char *rest, struct hop_collective_options *what)
{
    char reduce[16], type[16];
    bool reduces = hop_collective_reduces(what->kind);
    if (reduces ? sscanf(rest, ", %15[a-z] of %15[a-z0-9]", reduce, type) != 2
                : sscanf(rest, " of %15[a-z0-9]", type) != 1)
        return false;
    const char *root = strstr(rest, ", root ");
    what->type = (enum hop_type)find(type, hop_type_listed, HOP_TYPE_COUNT);
    what->reduce = reduces ? (enum hop_reduce)find(reduce, hop_reduce_listed, HOP_REDUCE_COUNT) : HOP_REDUCE_SUM;
    what->root = root ? (uint32_t)strtoul(root + 7, NULL, 10) : 0;
    what->in_place = strstr(rest, ", in place") != NULL;
    return what->type < HOP_TYPE_COUNT && hop_reduce_suits(what->reduce, what->type) &&
           what->vector_bytes % hop_type_bytes(what->type) == 0;
}

static bool read(const char *text, struct hop_collective_options *what, uint32_t *ranks)
{
    char kind[32], size[32];
    int at = 0, end = 0;
    if (sscanf(text, "%31s by %*[^:]: %" SCNu32 " rank%n", kind, ranks, &at) != 2 || at == 0)
        return false;
    what->kind = (enum hop_collective_kind)find(kind, collective_listed, HOP_COLLECTIVE_COUNT);
    at += text[at] == 's';
    if (what->kind == HOP_COLLECTIVE_BARRIER)
        return text[at] == '\0';
    if (what->kind == HOP_COLLECTIVE_COUNT || sscanf(text + at, ", %31[0-9A-Za-z]%n", size, &end) != 1 ||
        hop_parse_bytes(size, strlen(size), &what->vector_bytes, NULL) != HOP_OK)
        return false;
    const char *rest = text + at + end;
    if (strncmp(rest, gathered, strlen(gathered)) == 0)
        rest += strlen(gathered);
    else if (hop_collective_gathers(what->kind))
        what->vector_bytes *= *ranks;
    return read_rest(rest, what);
}

bool hop_schedule_collective(const struct hop_schedule *schedule, struct hop_collective_options *what, uint32_t *ranks)
{
    struct hop_collective_options said = {0};
    uint32_t among = 0;
    if (schedule->comment_count == 0 || !read(schedule->comments[0], &said, &among) || said.root >= among)
        return false;
    *what = said;
    *ranks = among;
    return true;
}
