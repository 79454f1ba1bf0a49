/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages on their way, and queues of them. */
#include "group/group.h"

struct hop_message *hop_message_create(int peer, int tag, const void *bytes, size_t size_bytes)
{
    struct hop_message *message = calloc(1, sizeof *message);
    if (!message)
        return NULL;
    *message =
        (struct hop_message){.peer = peer, .tag = tag, .size_bytes = size_bytes, .bytes = malloc(size_bytes + 1)};
    if (!message->bytes) {
        free(message);
        return NULL;
    }
    if (bytes && size_bytes)
        memcpy(message->bytes, bytes, size_bytes);
    message->bytes[size_bytes] = '\0';
    return message;
}

void hop_message_destroy(struct hop_message *message)
{
    if (message)
        free(message->bytes);
    free(message);
}

void hop_messages_init(struct hop_mail *queue)
{
    *queue = (struct hop_mail){.end = &queue->first};
}

void hop_messages_put(struct hop_mail *queue, struct hop_message *message)
{
    message->next = NULL;
    *queue->end = message;
    queue->end = &message->next;
    queue->bytes += message->size_bytes;
    queue->count++;
}

struct hop_message *hop_messages_take(struct hop_mail *queue, struct hop_message **at)
{
    struct hop_message *message = *at;
    if (!message)
        return NULL;
    *at = message->next;
    if (!*at)
        queue->end = at;
    queue->bytes -= message->size_bytes;
    queue->count--;
    return message;
}

void hop_messages_finish(struct hop_mail *queue)
{
    struct hop_message *message;
    while ((message = hop_messages_take(queue, &queue->first)) != NULL)
        hop_message_destroy(message);
}
