/* SPDX-License-Identifier: BSD-3-Clause */
/* What the writers of launchers' files share. */
#include "launchers/launch_plan.h"

/* As one word of a shell: what needs it in single quotes. */
static void add_word(struct hop_buffer *out, const char *text)
{
    if (text[strspn(text, HOP_LAUNCH_ALPHANUMERIC "._-+,:@%/=")] == '\0') {
        hop_buffer_puts(out, text);
        return;
    }
    hop_buffer_puts(out, "'");
    for (; *text; text++) {
        if (*text == '\'')
            hop_buffer_puts(out, "'\\''");
        else
            hop_buffer_add(out, text, 1);
    }
    hop_buffer_puts(out, "'");
}

const char *hop_launch_host(const struct hop_launch_plan *launch, uint32_t rank)
{
    return launch->hosts[launch->result->seats[rank].node];
}

void hop_launch_add_file(struct hop_launch_plan *launch, const char *file)
{
    const char *folder = launch->directory;
    struct hop_buffer path = {0};
    hop_buffer_printf(&path, "%s%s%s%s", folder[0] == '-' ? "./" : "", folder, /* no option */
                      folder[strlen(folder) - 1] == '/' ? "" : "/", file);
    add_word(&launch->out, path.failed ? "" : path.text);
    launch->out.failed |= path.failed;
    hop_buffer_finish(&path);
}

void hop_launch_add_program(struct hop_launch_plan *launch, bool through_script)
{
    if (through_script) {
        hop_buffer_puts(&launch->out, " sh ");
        hop_launch_add_file(launch, HOP_LAUNCH_SCRIPT);
    }
    hop_buffer_printf(&launch->out, " %s\n", launch->program);
}

bool hop_launch_in_blocks(const struct hop_launch_plan *launch)
{
    const struct hop_map_result *result = launch->result;
    uint32_t blocks = 1;
    for (uint32_t r = 1; r < result->ranks; r++)
        blocks += result->seats[r].node != result->seats[r - 1].node;
    return blocks == launch->used_nodes;
}

static uint32_t item_of(const struct hop_seat *seat, enum hop_launch_item item)
{
    return item == HOP_LAUNCH_DEVICE ? seat->local_device : seat->processor;
}

bool hop_launch_common(struct hop_launch_plan *launch, enum hop_launch_item item, struct hop_launch_list *list)
{
    const struct hop_map_result *result = launch->result;
    uint32_t *next = hop_arena_alloc(&launch->arena, result->node_count * sizeof *next); /* ranks of a node so far */
    bool same = true;
    *list = (struct hop_launch_list){hop_arena_alloc(&launch->arena, result->ranks * sizeof *list->items), 0};
    for (uint32_t r = 0; r < result->ranks && same && !launch->arena.failed; r++) {
        const struct hop_seat *seat = &result->seats[r];
        uint32_t place = next[seat->node]++, own = item_of(seat, item);
        if (place == list->length)
            list->items[list->length++] = own;
        same = list->items[place] == own;
    }
    list->length = same ? list->length : 0;
    return list->length > 0;
}

void hop_launch_add_list(struct hop_launch_plan *launch, const char *name, const struct hop_launch_list *list)
{
    for (uint32_t i = 0; i < list->length; i++)
        hop_buffer_printf(&launch->out, "%s%u", i == 0 ? name : ",", list->items[i]);
}
