/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices of the ranks of a machine: which one each rank has, and which of them reach each other's memory. That is asked
 * before anything is mapped, and every rank knows all answers, so that all agree which copies go through host memory.
 */
#include <stdio.h>

#include "base/numa.h"
#include "run/program.h"

/* ---- which device ---- */

/* Of the first buffer of this rank; NULL: it has none. */
static const char *device_of(const struct hop_program *program, uint32_t rank)
{
    const struct hop_layout *layout = &program->layout;
    for (uint32_t b = 0; b < layout->buffer_count; b++) {
        if (layout->buffers[b].rank == rank)
            return layout->buffers[b].device;
    }
    return NULL;
}

/* The number in "gpu3" or "node0.gpu3"; false: it has none, or is a rank that nothing puts on a device. */
static bool number_in(const char *name, uint32_t *number)
{
    const char *end = name ? name + strlen(name) : NULL, *digits = end;
    while (name && digits > name && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    if (!name || !*digits || strncmp(name, "rank", 4) == 0)
        return false;
    *number = (uint32_t)strtoul(digits, NULL, 10);
    return true;
}

void hop_program_seek(struct hop_program *program, uint32_t count, struct hop_device_options *options)
{
    const struct hop_topology *machine = program->options.machine;
    const char *name = device_of(program, program->team->rank);
    uint32_t node = machine && name ? hop_topology_find(machine, name) : HOP_NONE;
    if (node != HOP_NONE && count != UINT32_MAX && hop_topology_node(machine, node)->kind == HOP_NODE_GPU)
        options->place = hop_topology_node(machine, node)->bus_id;
    if (options->place || !hop_program_is_fine(program))
        return;
    if (!number_in(name, &options->index))
        options->index = program->team->local % count;
    if (options->index >= count)
        (void)HOP_TRY(program,
                      hop_fail(&program->failure, HOP_ERR_NOT_FOUND,
                               "%s: of %s devices the driver shows %u to this process\n"
                               "0 to %u, in the order of their bus ids; or a topology (--on), whose bus ids say "
                               "which one is meant",
                               name, program->ops->facts.name, count, count - 1));
}

/* ---- whom it reaches ---- */

struct seat {
    char place[16];
};

static bool *reach(const struct hop_program *program, uint32_t rank, uint32_t other)
{
    const struct hop_team *team = program->team;
    return &program->reach[team->local_of[rank] * team->local_size + team->local_of[other]];
}

bool hop_program_reaches(const struct hop_program *program, uint32_t op)
{
    const struct hop_run_op *run = &program->layout.ops[op];
    bool all = true;
    for (uint32_t p = 0; program->reach && !run->crosses && p < run->reads + run->writes; p++) {
        uint32_t rank = hop_layout_rank(&program->layout, run, p);
        all = all && (program->team->node_of[rank] != program->team->node_of[program->team->rank] ||
                      *reach(program, run->owner, rank));
    }
    return all;
}

bool hop_program_reaches_rank(const struct hop_program *program, uint32_t rank)
{
    return !program->reach || *reach(program, program->team->rank, rank);
}

static void ask(struct hop_program *program, const struct seat *seats)
{
    struct hop_team *team = program->team;
    unsigned char row[HOP_RANKS_MAX / 8] = {0};
    size_t size = (team->local_size + 7) / 8;
    unsigned char *rows = hop_program_alloc(program, team->local_size, size);
    program->reach = hop_program_alloc(program, (size_t)team->local_size * team->local_size, sizeof *program->reach);
    for (uint32_t l = 0; l < team->local_size && hop_program_is_fine(program); l++) {
        bool reaches = l == team->local;
        if (!reaches)
            (void)HOP_DEVICE(program, reaches, seats[l].place, &reaches);
        row[l / 8] |= (unsigned char)(reaches << l % 8);
    }
    if (!HOP_TEAM(program, hop_team_exchange, row, rows, size))
        return;
    for (uint32_t a = 0; a < team->local_size; a++) {
        for (uint32_t b = 0; b < team->local_size; b++)
            program->reach[a * team->local_size + b] = rows[a * size + b / 8] >> b % 8 & 1;
    }
}

/* Copies find another way; a reduction has none. What is said of the copies: the first, and how many. */
static void look_at_operations(struct hop_program *program)
{
    const struct hop_layout *layout = &program->layout;
    uint32_t copies = 0, first = 0;
    char where[192];
    for (uint32_t i = 0; i < layout->op_count && hop_program_is_fine(program); i++) {
        const struct hop_op *op = hop_schedule_op(program->schedule, i);
        const struct hop_run_op *run = &layout->ops[i];
        if (program->team->node_of[run->owner] != program->team->node_of[program->team->rank] ||
            hop_program_reaches(program, i))
            continue;
        if (op->kind != HOP_OP_REDUCE) {
            first = copies++ == 0 ? i : first;
            continue;
        }
        (void)HOP_TRY(program, hop_fail(&program->failure, HOP_ERR_UNSUPPORTED,
                                        "'%s' reads or writes memory that the device of rank %u (%s) has no access to\n"
                                        "reductions of what was copied to their own device first, as `ring` has them",
                                        op->name, run->owner, device_of(program, run->owner)));
        hop_diag_place(&program->failure, "%s", hop_schedule_place(program->schedule, i, 0, where, sizeof where));
    }
    if (copies == 0 || !hop_program_is_fine(program))
        return;
    const struct hop_op *op = hop_schedule_op(program->schedule, first);
    (void)snprintf(program->note, sizeof program->note,
                   "%u of %u operations copy between devices without access to each other's memory, such as %.40s and "
                   "%.40s: they go through host memory",
                   copies, layout->op_count, op->from.device, op->to.device);
}

void hop_program_reach(struct hop_program *program)
{
    struct hop_team *team = program->team;
    struct hop_device_properties properties;
    struct seat mine, *seats = hop_program_alloc(program, team->local_size, sizeof *seats);
    if (!hop_program_is_fine(program) || program->mapped || team->local_size == 1)
        return;
    program->ops->properties(program->device, &properties);
    memcpy(mine.place, properties.place, sizeof mine.place);
    if (HOP_TEAM(program, hop_team_exchange, &mine, seats, sizeof mine))
        ask(program, seats);
    if (hop_program_is_fine(program))
        look_at_operations(program);
}
