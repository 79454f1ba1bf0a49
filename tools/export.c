/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast export: a schedule in another form. */
#include "options_shared.h"
#include "tool.h"

enum format { GOAL, HOP, JSON };

struct request {
    struct tool_given given;
    struct tool_input input;
    const char *output;
    enum format format;
};

static const struct tool_option table[] = {
    {.kind = OPTION_CHOICE,
     .choices = "goal hop json",
     .once = true,
     .argument = "FORMAT",
     AT(request, format),
     .missing = "a format is missing: goal, hop or json"},
    SHARED(schedule, AT(request, input.schedules), .high = 1, .missing = SCHEDULE_IS_MISSING),
    SHARED(expression, AT(request, input.schedules), .high = 1),
    SHARED(on, AT(request, input.machine),
           .help = "put the schedule's ranks on this machine; for goal, what reductions take there"),
    SHARED(map, AT(request, input.map), .needs = "on"),
    SHARED(collective, AT(request, input.collective)),
    SHARED(set, AT(request, input.sets), .needs = "on"),
    SHARED(output, AT(request, output)),
    END_OF_OPTIONS,
};

static int run(int argc, char **argv)
{
    static struct request r;
    char *text = NULL;
    tool_read(&tool_export, argc, argv, &r);
    struct hop_topology *topology = r.input.machine ? tool_load_topology(r.input.machine, &r.input.sets) : NULL;
    struct hop_schedule *schedule = tool_read_schedule(r.input.schedules.at[0], r.input.collective);
    if (topology && (r.format != GOAL || r.input.map)) /* GOAL has ranks itself */
        schedule = tool_place(r.input.map, topology, schedule);
    if (r.format == HOP) {
        tool_write_schedule(r.output, schedule);
        return TOOL_OK;
    }
    if (r.format == GOAL)
        tool_try(hop_schedule_to_goal(schedule, topology ? hop_topology_parameter(topology, "reduce_rate")->value : 0,
                                      &text, &tool_diag));
    else
        text = hop_schedule_to_json(schedule);
    tool_write_text(r.output, text);
    return TOOL_OK;
}

const struct tool_command tool_export = {
    .name = "export",
    .summary = "a schedule in another form: GOAL, .hop, JSON",
    .usage = "goal|hop|json SCHEDULE [OPTION ...]",
    .about = "Writes a schedule in the form named first. " SCHEDULE_IS "\n",
    .options = table,
    .notes = "example: hopcast make alltoall --on t2 --bytes 1MiB | hopcast export goal - -o alltoall.goal\n",
    .run = run,
};
