/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast order: processes that share the work. Rank 0 reads the input, prints and writes; the others get the topology and the schedule
 * from it, so that standard input and files on one machine are enough.
 *
 * A message of rank 0 is the length of the topology's JSON (a text of 20 digits), that JSON, and the schedule's text; an empty one says
 * that there is nothing to do.
 */
#include "order.h"
#include "ranks.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_INPUT = 1000, LENGTH_DIGITS = 20 };
#define WAIT_S 0.5

void order_group_send(struct hop_group *group, const struct order_input *input)
{
    if (hop_group_size(group) == 1)
        return;
    char *topology = tool_have(hop_topology_to_json(input->topology));
    char *schedule = tool_have(hop_schedule_to_text(input->schedule));
    char *message = tool_text("%0*zu%s%s", (int)LENGTH_DIGITS, strlen(topology), topology, schedule);
    for (int rank = 1; rank < hop_group_size(group); rank++)
        tool_try(hop_group_send(group, rank, TAG_INPUT, message, strlen(message), &tool_diag));
    free(topology);
    free(schedule);
}

void order_group_give_up(struct hop_group *group)
{
    for (int rank = 1; rank < hop_group_size(group); rank++)
        (void)hop_group_send(group, rank, TAG_INPUT, "", 0, NULL);
}

static bool read_input(const struct hop_group_message *message, struct order_input *input)
{
    const char *bytes = message->bytes;
    char digits[LENGTH_DIGITS + 1] = "";
    if (message->size_bytes < LENGTH_DIGITS)
        return false;
    memcpy(digits, bytes, LENGTH_DIGITS);
    size_t rest = message->size_bytes - LENGTH_DIGITS, length = strtoull(digits, NULL, 10);
    return length <= rest &&
           hop_topology_parse("topology", bytes + LENGTH_DIGITS, length, &input->topology, NULL) == HOP_OK &&
           hop_schedule_parse("schedule", bytes + LENGTH_DIGITS + length, rest - length, &input->schedule, NULL) ==
               HOP_OK;
}

bool order_group_receive(struct hop_group *group, struct order_input *input)
{
    struct hop_group_message message;
    while (!hop_group_receive(group, WAIT_S, &message)) {
        if (ranks_stop || hop_group_lost(group, NULL) >= 0)
            return false;
    }
    bool read = read_input(&message, input);
    free(message.bytes);
    return read;
}
