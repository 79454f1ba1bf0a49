/* SPDX-License-Identifier: BSD-3-Clause */
/* What the subcommands share. */
#include "tool.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct hop_diag tool_diag;
struct hop_arena tool_arena;
const char *tool_where;
bool tool_hushed;
static int (*leave_others)(int status);

/* ---- the end ---- */

void tool_at_end(int (*leave)(int status))
{
    leave_others = leave;
}

void tool_end(int status)
{
    int (*leave)(int) = leave_others;
    leave_others = NULL;
    if (leave)
        status = leave(status);
    exit(tool_finish(status));
}

static char *HOP_PRINTF(1, 0) make_text(const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *made = tool_alloc((size_t)length + 1, 1);
    (void)vsnprintf(made, (size_t)length + 1, format, arguments);
    return made;
}

static _Noreturn void end_badly(int status)
{
    if (tool_where)
        fprintf(stderr, "  %s\n", hop_text_quote(tool_text("%s", tool_where)));
    tool_end(status);
}

void tool_bad_usage(const struct tool_command *command, const char *format, ...)
{
    va_list arguments;
    if (tool_memory_lacked())
        tool_out_of_memory();
    va_start(arguments, format);
    if (!tool_hushed)
        tool_put_message(tool_text("hopcast %s: %s", command->name, hop_text_quote(make_text(format, arguments))));
    if (!tool_hushed)
        fprintf(stderr, "`hopcast %s --help` shows how it is used\n", command->name);
    va_end(arguments);
    end_badly(TOOL_BAD);
}

int tool_say(const struct hop_diag *diag)
{
    tool_memory_told();
    if (tool_memory_lacked()) { /* of which another failure may come */
        fprintf(stderr, "hopcast: out of memory\n");
        return TOOL_BAD;
    }
    if (!tool_hushed)
        tool_put_message(tool_text("hopcast: %s%s%s", diag->place, diag->place[0] ? ": " : "", diag->what));
    if (!tool_hushed && diag->expected[0])
        tool_put_message(tool_text("  expected: %s", diag->expected));
    /* Nothing was wrong with what was asked for when a process is lost, or all are stopped. */
    return diag->status == HOP_ERR_LOST || diag->status == HOP_ERR_STOPPED ? TOOL_NEGATIVE : TOOL_BAD;
}

void tool_warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tool_put_message(tool_text("hopcast: %s", hop_text_quote(make_text(format, arguments))));
    va_end(arguments);
}

void tool_fail(const struct hop_diag *diag)
{
    end_badly(tool_say(diag));
}

void tool_out_of_memory(void)
{
    tool_memory_told();
    fprintf(stderr, "hopcast: out of memory\n");
    end_badly(TOOL_BAD);
}

void tool_try(enum hop_status status)
{
    if (status != HOP_OK)
        tool_fail(&tool_diag);
}

void tool_try_at(enum hop_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (status != HOP_OK && !tool_diag.place[0])
        hop_diag_place(&tool_diag, "%s", make_text(format, arguments));
    va_end(arguments);
    tool_try(status);
}

void tool_try_file(enum hop_status status, const char *expected)
{
    if (status == HOP_ERR_IO && !tool_diag.expected[0])
        hop_diag_expect(&tool_diag, "%s", expected);
    tool_try(status);
}

void *tool_alloc(size_t count, size_t size)
{
    void *made = count < SIZE_MAX / (size + 1) ? hop_arena_alloc(&tool_arena, count * size + 1) : NULL;
    if (!made)
        tool_out_of_memory();
    return made;
}

uint32_t tool_counted(uint32_t count)
{
    if (count == HOP_NONE)
        tool_out_of_memory();
    return count;
}

void *tool_have(void *made)
{
    static void **all;
    static size_t count;
    if (!made)
        tool_out_of_memory();
    TOOL_GROW(all, count + 1);
    return all[count++] = made;
}

char *tool_text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *made = make_text(format, arguments);
    va_end(arguments);
    return made;
}

/* ---- input ---- */

struct hop_beside tool_beside;

struct hop_topology *tool_load_routed(const char *source, const char *routes, const struct tool_words *sets)
{
    struct hop_topology *topology;
    struct hop_beside beside = tool_beside;
    beside.routes = routes;
    tool_try(hop_topology_load_with(source, &beside, &topology, &tool_diag));
    if (hop_topology_lacks(topology))
        tool_warn("warning: %s is a skeleton and lacks %s", hop_topology_name(topology), hop_topology_lacks(topology));
    for (uint32_t i = 0; sets && i < sets->count; i++)
        tool_try_at(hop_topology_set(topology, sets->at[i], &tool_diag), "--set %.80s", sets->at[i]);
    return tool_have(topology);
}

struct hop_topology *tool_load_topology(const char *source, const struct tool_words *sets)
{
    return tool_load_routed(source, NULL, sets);
}

void tool_note_measurements(const struct hop_measurements *measurements)
{
    const char *note;
    for (uint32_t i = 0; (note = hop_measurements_note(measurements, i)); i++)
        tool_warn("warning: %s: %s", hop_measurements_name(measurements), note);
}

struct hop_measurements *tool_load_measurements(const char *path, const struct hop_topology *topology)
{
    struct hop_measurements_options options = {.collectives = topology != NULL};
    struct hop_measurements *measurements;
    uint32_t nodes = topology ? hop_topology_node_count(topology) : 0;
    const char **gpus = tool_alloc(nodes + 1, sizeof *gpus);
    for (uint32_t n = 0; n < nodes; n++) {
        if (hop_topology_node(topology, n)->kind == HOP_NODE_GPU)
            gpus[options.gpu_count++] = hop_topology_node(topology, n)->name;
    }
    options.gpus = options.gpu_count ? gpus : NULL;
    tool_try_file(hop_measurements_read(path, NULL, 0, &options, &measurements, &tool_diag), MEASUREMENTS_ARE_EXPECTED);
    tool_note_measurements(measurements);
    return tool_have(measurements);
}

struct hop_network *tool_network(const struct hop_topology *topology, const char *models)
{
    struct hop_network *network;
    tool_try(hop_network_create(topology, models, &network, &tool_diag));
    return tool_have(network);
}

void tool_expect_schedule(const char *expected, const char *name)
{
    enum hop_collective_kind kind;
    bool made = hop_pattern_is(name) || tool_collective(name, strlen(name), &kind);
    if (!tool_diag.expected[0])
        hop_diag_expect(&tool_diag, "%s%s", expected,
                        made ? tool_text("; `hopcast make %s%s -o FILE` writes one", name,
                                         strchr(name, ':') ? "" : " --on TOPOLOGY")
                             : "");
}

struct hop_schedule *tool_read_schedule(const char *source, const char *collective)
{
    struct hop_trace_options trace = {0};
    struct hop_schedule *schedule;
    bool is_text = *source == 'e';
    const char *name = is_text ? "(-e)" : ++source;
    if (collective && hop_trace_options_parse(collective, &trace, &tool_diag) != HOP_OK) {
        hop_diag_place(&tool_diag, "--collective");
        tool_fail(&tool_diag);
    }
    enum hop_status status = is_text ? hop_schedule_parse(name, source + 1, strlen(source + 1), &schedule, &tool_diag)
                                     : hop_schedule_load_with(source, &trace, &schedule, &tool_diag);
    if (status == HOP_ERR_IO && !is_text && strcmp(source, "-") != 0)
        tool_expect_schedule("a schedule's file, - or -e 'gpu0 -> gpu1 1MiB'", source);
    tool_try(status);
    if (hop_schedule_count(schedule) == 0)
        tool_try_at(hop_fail(&tool_diag, HOP_ERR_INVALID,
                             "the schedule holds no operation\nat least one, such as a: gpu0 -> gpu1 1MiB"),
                    "%s", name);
    return tool_have(schedule);
}

const char *tool_source_name(const char *source)
{
    return *source == 'e' ? "-e" : source + 1;
}

struct hop_schedule *tool_place(const char *map, const struct hop_topology *topology, struct hop_schedule *schedule)
{
    const struct tool_map where = tool_map_load(map);
    struct hop_schedule *placed;
    tool_try(tool_map_place(&where, topology, schedule, &placed, &tool_diag));
    if (!placed)
        return schedule;
    hop_schedule_destroy(schedule);
    return tool_have(placed);
}

struct hop_schedule *tool_load_input(const struct tool_input *input, struct hop_topology **topology)
{
    *topology = input->machine ? tool_load_topology(input->machine, &input->sets) : NULL;
    struct hop_schedule *schedule = tool_read_schedule(input->schedules.at[0], input->collective);
    return *topology ? tool_place(input->map, *topology, schedule) : schedule;
}

struct tool_map tool_map_load(const char *choice)
{
    struct tool_map map = {HOP_PLACEMENT_PACKED, NULL};
    if (!choice || strcmp(choice, "packed") == 0)
        return map;
    if (strcmp(choice, "cyclic") == 0)
        return (struct tool_map){HOP_PLACEMENT_CYCLIC, NULL};
    tool_try_file(hop_placement_load(choice, &map.file, &tool_diag),
                  "packed, cyclic, or a file with a line for every rank");
    (void)tool_have(map.file);
    return map;
}

enum hop_status tool_map_place(const struct tool_map *map, const struct hop_topology *topology,
                               const struct hop_schedule *schedule, struct hop_schedule **placed, struct hop_diag *diag)
{
    struct hop_placement *made = NULL;
    uint32_t ranks = hop_schedule_ranks(schedule);
    enum hop_status status = HOP_OK;
    *placed = NULL;
    if (ranks == 0 && !map->file)
        return HOP_OK;
    if (ranks == 0)
        status = hop_fail(diag, HOP_ERR_INVALID,
                          "the schedule names no rank that the placement could put on a device\n"
                          "ranks, such as rank0, or no --map");
    else if (map->file)
        status = hop_placement_check(map->file, topology, ranks, diag);
    else
        status = hop_placement_make(topology, ranks, map->order, &made, diag);
    if (status != HOP_OK && !diag->place[0])
        hop_diag_place(diag, "%.180s", hop_schedule_name(schedule));
    if (status == HOP_OK)
        status = hop_placement_apply(map->file ? map->file : made, schedule, placed, diag);
    hop_placement_destroy(made);
    return status;
}

/* ---- words ---- */

void tool_print_models(FILE *out, const struct hop_topology *topology, const struct hop_network *network,
                       const bool *used)
{
    enum { LISTED = 8 };
    uint32_t domains = hop_topology_domain_count(topology), count = 0;
    bool *left = tool_alloc(domains, sizeof *left);
    for (uint32_t d = 0; d < domains; d++)
        count += left[d] = !used || used[d];
    for (uint32_t d = 0; d < domains; d++) {
        const struct hop_domain *domain = hop_topology_domain(topology, d);
        const char *model = hop_network_model(network, d);
        uint32_t alike = 1;
        if (!left[d])
            continue;
        for (uint32_t e = d + 1; count > LISTED && e < domains; e++) {
            if (left[e] && strcmp(hop_topology_domain(topology, e)->family, domain->family) == 0 &&
                strcmp(hop_network_model(network, e), model) == 0) {
                left[e] = false;
                alike++;
            }
        }
        if (alike > 1)
            fprintf(out, ", %u domains of %s: model %s", alike, domain->family, model);
        else
            fprintf(out, ", %s: model %s", domain->name, model);
    }
}

const char *tool_short_bytes(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t u = 0;
    for (; value >= 1024 && u + 1 < HOP_COUNT(units); u++)
        value /= 1024;
    return tool_text("%.4g%s", value, units[u]);
}

void tool_print(FILE *out, char *text)
{
    fputs(tool_have(text), out);
    free(text);
}

void tool_check_program(const struct tool_command *command, const struct hop_program_options *program, bool threads,
                        bool emulated)
{
    enum { CHUNK_BYTES = 4096 };
    const struct hop_device_facts *device;
    uint64_t chunk_bytes = program->chunk_bytes ? program->chunk_bytes : CHUNK_BYTES;
    if (program->buffer_bytes && program->buffer_bytes < chunk_bytes)
        tool_bad_usage(command, "--buffer is less than a chunk (--chunk, 4KiB): a link's buffer holds one at least");
    if (hop_device_named(program->device, &device, &tool_diag) != HOP_OK)
        tool_bad_usage(command, "--device %.60s: expected %s", program->device, tool_diag.expected);
    if (!device->on_processors && (emulated || threads || program->engines))
        tool_bad_usage(command, "--%s goes with the device %s",
                       emulated  ? "emulate"
                       : threads ? "in-process"
                                 : "engines",
                       hop_device_at(0)->name);
}

void tool_print_ranges(const struct hop_compare_summary *summary)
{
    if (summary->ranges > 0)
        printf("%u of %u groups lie in their 90 %% ranges (%s), which are %.2f times as high as low in the median\n",
               summary->in_range, summary->ranges, summary->name, summary->wide);
}
