/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast export: a schedule in another form. */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { SET_LIMIT = 256 };

enum format { GOAL, HOP, JSON, FORMAT_COUNT };
static const char *const formats[FORMAT_COUNT] = {"goal", "hop", "json"};

struct request {
    enum format format;
    const char *source;
    bool is_text;
    const char *machine, *map, *collective, *output;
    char *sets[SET_LIMIT];
    int set_count;
};

static int out_of_place(const char *option)
{
    return tool_bad_usage(&tool_export, "%s goes with --on TOPOLOGY", option);
}

static int check(const struct request *r)
{
    int dashes = !r->is_text && strcmp(r->source, "-") == 0;
    dashes += r->machine && strcmp(r->machine, "-") == 0;
    dashes += r->map && strcmp(r->map, "-") == 0;
    if (dashes > 1)
        return tool_bad_usage(
            &tool_export, "standard input (-) is read once: the schedule, the topology or the map can come from it");
    if (r->map && !r->machine)
        return out_of_place("--map");
    return r->set_count && !r->machine ? out_of_place("--set") : TOOL_OK;
}

static int read_arguments(struct request *r, int argc, char **argv)
{
    if (optind == argc)
        return tool_bad_usage(&tool_export, "a format is missing: goal, hop or json");
    const char *format = argv[optind++];
    while (r->format < FORMAT_COUNT && strcmp(format, formats[r->format]) != 0)
        r->format++;
    if (r->format == FORMAT_COUNT)
        return tool_bad_usage(&tool_export, "there is no format '%s': goal, hop or json is expected", format);
    if (optind < argc && r->is_text)
        return tool_bad_usage(&tool_export, "one schedule at a time");
    if (optind < argc)
        r->source = argv[optind++];
    if (!r->source)
        return tool_bad_usage(&tool_export, "a schedule is missing (a file, - or -e 'gpu0 -> gpu1 1MiB')");
    return optind < argc ? tool_bad_usage(&tool_export, "one schedule at a time") : check(r);
}

static int read_options(struct request *r, int argc, char **argv)
{
    static const struct option options[] = {
        {"expression", required_argument, NULL, 'e'},
        {"on", required_argument, NULL, 't'},
        {"map", required_argument, NULL, 'M'},
        {"collective", required_argument, NULL, 'K'},
        {"set", required_argument, NULL, 's'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    tool_options_begin();
    for (int option; (option = tool_option(&tool_export, argc, argv, ":e:s:o:h", options)) != -1;) {
        switch (option) {
        case 'e':
            if (r->is_text)
                return tool_bad_usage(&tool_export, "one schedule at a time");
            r->source = optarg;
            r->is_text = true;
            break;
        case 't':
            r->machine = optarg;
            break;
        case 'M':
            r->map = optarg;
            break;
        case 'K':
            r->collective = optarg;
            break;
        case 's':
            if (r->set_count == SET_LIMIT)
                return tool_bad_usage(&tool_export, "more than %d --set", SET_LIMIT);
            r->sets[r->set_count++] = optarg;
            break;
        case 'o':
            r->output = optarg;
            break;
        case 'h':
            return -1;
        default:
            return TOOL_BAD;
        }
    }
    return read_arguments(r, argc, argv);
}

/* Ranks become devices where a topology is given; GOAL has ranks itself, so there only with --map. */
static int place(const struct request *r, const struct hop_topology *topology, struct hop_schedule **schedule)
{
    struct tool_map map;
    struct hop_schedule *placed = NULL;
    if (!topology || (r->format == GOAL && !r->map))
        return TOOL_OK;
    int status = tool_map_load(r->map, &map);
    if (status == TOOL_OK)
        status = tool_map_apply(&map, topology, *schedule, &placed);
    tool_map_finish(&map);
    if (placed) {
        hop_schedule_destroy(*schedule);
        *schedule = placed;
    }
    return status;
}

static int write_out(const struct request *r, const struct hop_topology *topology, const struct hop_schedule *schedule)
{
    struct hop_diag diag;
    char *text = NULL;
    if (r->format == GOAL) {
        double reduce_rate = topology ? hop_topology_parameter(topology, "reduce_rate")->value : 0;
        if (hop_schedule_to_goal(schedule, reduce_rate, &text, &diag) != HOP_OK)
            return tool_fail(&diag);
    } else {
        text = r->format == HOP ? hop_schedule_to_text(schedule) : hop_schedule_to_json(schedule);
    }
    int status = text ? tool_write(r->output, text) : tool_out_of_memory();
    free(text);
    return status;
}

static int run(int argc, char **argv)
{
    static struct request r;
    struct hop_topology *topology = NULL;
    struct hop_schedule *schedule = NULL;
    int status = read_options(&r, argc, argv);
    if (status == -1)
        return tool_help(&tool_export);
    if (status == TOOL_OK && r.machine)
        status = tool_load_topology(r.machine, r.sets, r.set_count, &topology);
    if (status == TOOL_OK)
        status = tool_load_schedule(r.source, r.is_text, r.collective, &schedule);
    if (status == TOOL_OK)
        status = place(&r, topology, &schedule);
    if (status == TOOL_OK)
        status = write_out(&r, topology, schedule);
    hop_schedule_destroy(schedule);
    hop_topology_destroy(topology);
    return status;
}

const struct tool_command tool_export = {
    .name = "export",
    .summary = "a schedule in another form: GOAL, .hop, JSON",
    .usage = "goal|hop|json SCHEDULE [OPTION ...]",
    .help =
        "Writes a schedule in the form named first. SCHEDULE is a .hop, JSON or GOAL file, a\n"
        "Chakra trace, or - for standard input.\n"
        "\n"
        "  -e, --expression TEXT   a schedule as text, operations separated by ';'\n"
        "      --on TOPOLOGY       put the schedule's ranks on this machine; for goal, what reductions take there\n"
        "      --map MAP           where its ranks go: packed (default), cyclic, or a file (hop_placement(3))\n"
        "      --collective KIND=ALGORITHM,...  how collectives of Chakra traces are made (docs/traces.md)\n"
        "  -s, --set NAME=VALUE    change the topology, as in reduce_rate=400GB/s; may be repeated\n"
        "  -o, --output FILE       write there instead of to standard output\n"
        "\n"
        "example: hopcast make alltoall --on t2 --bytes 1MiB | hopcast export goal - -o alltoall.goal\n",
    .run = run,
};
