/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding a cycle, or an order: depth first with a stack of our own, every node and edge once. A node met again while it is
 * on the stack closes a cycle; one that is left stands behind all that it waits for. */
#include "base/base.h"

struct step {
    uint32_t node, next; /* next: which of its edges is followed next */
};

enum { UNSEEN, ON_STACK, DONE };

enum hop_status hop_cycle_find(uint32_t count, hop_waits_for *waits_for, const void *context, uint32_t *order,
                               uint32_t **cycle, uint32_t *length, struct hop_diag *diag)
{
    struct step *stack = malloc(((size_t)count + 1) * sizeof *stack);
    unsigned char *seen = calloc((size_t)count + 1, 1);
    enum hop_status status = stack && seen ? HOP_OK : hop_fail_memory(diag);
    uint32_t depth = 0;
    *cycle = NULL;
    *length = 0;
    for (uint32_t start = 0; start < count && status == HOP_OK && *length == 0; start++) {
        if (seen[start] != UNSEEN)
            continue;
        seen[start] = ON_STACK;
        stack[depth++] = (struct step){start, 0};
        while (depth > 0 && *length == 0) {
            struct step *top = &stack[depth - 1];
            uint32_t other = waits_for(context, top->node, top->next++);
            if (other == UINT32_MAX) {
                seen[top->node] = DONE;
                if (order)
                    *order++ = top->node;
                depth--;
            } else if (seen[other] == UNSEEN) {
                seen[other] = ON_STACK;
                stack[depth++] = (struct step){other, 0};
            } else if (seen[other] == ON_STACK) {
                uint32_t first = depth - 1;
                while (stack[first].node != other)
                    first--;
                *length = depth - first;
                *cycle = malloc(*length * sizeof **cycle);
                for (uint32_t i = 0; *cycle && i < *length; i++)
                    (*cycle)[i] = stack[first + i].node;
                status = *cycle ? HOP_OK : hop_fail_memory(diag);
            }
        }
    }
    free(stack);
    free(seen);
    return status;
}
