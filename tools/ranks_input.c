/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that share one input. Rank 0 reads it, prints and writes; the others get from it what it has read, so that standard input and
 * files on one machine are enough.
 *
 * A message of rank 0 is the topology, the schedule and the placement, each as the length of its text (20 digits), 0 where there is
 * none, and that text; an empty one says that there is nothing to do.
 */
#include "ranks.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_INPUT = 1000, LENGTH_DIGITS = 20 };
#define WAIT_S 0.5

static void send_all(struct hop_group *group, const char *message)
{
    for (int rank = 1; rank < hop_group_size(group); rank++)
        (void)hop_group_send(group, rank, TAG_INPUT, message, strlen(message), NULL); /* a lost rank shows later */
}

static struct hop_group *waiting;

static int give_up(int status)
{
    send_all(waiting, "");
    return ranks_end(waiting, status);
}

void ranks_read(struct hop_group *group)
{
    waiting = group;
    tool_at_end(give_up);
}

static void add_text(struct hop_buffer *message, char *text)
{
    hop_buffer_printf(message, "%0*zu%s", (int)LENGTH_DIGITS, text ? strlen(text) : 0, text ? text : "");
    free(text);
}

static char *list_places(const struct hop_placement *placement)
{
    struct hop_buffer text = {0};
    for (uint32_t r = 0; r < hop_placement_count(placement); r++)
        hop_buffer_printf(&text, "%u %s\n", r, hop_placement_device(placement, r));
    return tool_have(hop_buffer_take(&text));
}

void ranks_send_input(struct hop_group *group, const struct ranks_input *input)
{
    struct hop_buffer message = {0};
    if (hop_group_size(group) > 1) {
        add_text(&message, tool_have(hop_topology_to_json(input->topology)));
        add_text(&message, input->schedule ? tool_have(hop_schedule_to_text(input->schedule)) : NULL);
        add_text(&message, input->placement ? list_places(input->placement) : NULL);
        char *text = tool_have(hop_buffer_take(&message));
        send_all(group, text);
        free(text);
    }
    ranks_end_with(group);
}

/* *text NULL: it is empty. */
static bool next_text(const char **at, const char *end, const char **text, size_t *size)
{
    char digits[LENGTH_DIGITS + 1] = "";
    if (end - *at < LENGTH_DIGITS)
        return false;
    memcpy(digits, *at, LENGTH_DIGITS);
    *size = strtoull(digits, NULL, 10);
    *at += LENGTH_DIGITS;
    if (*size > (size_t)(end - *at))
        return false;
    *text = *size ? *at : NULL;
    *at += *size;
    return true;
}

static bool read_input(const struct hop_group_message *message, struct ranks_input *input)
{
    const char *at = message->bytes, *end = at + message->size_bytes, *text;
    size_t size;
    return next_text(&at, end, &text, &size) && text &&
           hop_topology_parse("topology", text, size, &input->topology, NULL) == HOP_OK &&
           next_text(&at, end, &text, &size) &&
           (!text || hop_schedule_parse("schedule", text, size, &input->schedule, NULL) == HOP_OK) &&
           next_text(&at, end, &text, &size) &&
           (!text || hop_placement_parse("placement", text, size, &input->placement, NULL) == HOP_OK);
}

bool ranks_receive_input(struct hop_group *group, struct ranks_input *input)
{
    struct hop_group_message message;
    *input = (struct ranks_input){0};
    while (!hop_group_receive(group, WAIT_S, &message)) {
        if (ranks_stop || hop_group_lost(group, NULL) >= 0)
            return false;
    }
    bool read = read_input(&message, input);
    free(message.bytes);
    return read;
}

int ranks_lost(struct hop_group *group, int rank)
{
    struct hop_diag diag = {.what = ""};
    (void)hop_group_lost(group, &diag);
    fflush(stdout);
    tool_warn("rank %d was lost%s%s; what stands above is the best until then", rank, diag.what[0] ? ": " : "",
              diag.what);
    return TOOL_NEGATIVE;
}
