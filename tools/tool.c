/* SPDX-License-Identifier: BSD-3-Clause */
/* What the subcommands share. */
#include "tool.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/clock.h"

int tool_bad_usage(const struct tool_command *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "hopcast %s: ", command->name);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n`hopcast %s --help` shows how it is used\n", command->name);
    va_end(arguments);
    return TOOL_BAD;
}

/* Texts may quote files: what would move a terminal's cursor becomes a question mark. */
static void put_plainly(const char *text)
{
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, stderr);
}

int tool_fail(const struct hop_diag *diag)
{
    tool_memory_told();
    fputs("hopcast: ", stderr);
    put_plainly(diag->place);
    fputs(diag->place[0] ? ": " : "", stderr);
    put_plainly(diag->what);
    if (diag->expected[0]) {
        fputs("\n  expected: ", stderr);
        put_plainly(diag->expected);
    }
    fputc('\n', stderr);
    /* Nothing was wrong with what was asked for when a process is lost, or all are stopped. */
    return diag->status == HOP_ERR_LOST || diag->status == HOP_ERR_STOPPED ? TOOL_NEGATIVE : TOOL_BAD;
}

int tool_out_of_memory(void)
{
    tool_memory_told();
    fprintf(stderr, "hopcast: out of memory\n");
    return TOOL_BAD;
}

static enum hop_status load(const char *source, const char *routes, struct hop_topology **topology,
                            struct hop_diag *diag)
{
    return routes ? hop_topology_load_routed(source, routes, topology, diag)
                  : hop_topology_load(source, topology, diag);
}

int tool_load_routed(const char *source, const char *routes, const struct tool_words *sets,
                     struct hop_topology **topology)
{
    struct hop_diag diag;
    struct hop_topology *loaded;
    if (load(source, routes, &loaded, &diag) != HOP_OK)
        return tool_fail(&diag);
    for (uint32_t i = 0; sets && i < sets->count; i++) {
        if (hop_topology_set(loaded, sets->at[i], &diag) != HOP_OK) {
            if (!diag.place[0])
                (void)snprintf(diag.place, sizeof diag.place, "--set %.80s", sets->at[i]);
            hop_topology_destroy(loaded);
            return tool_fail(&diag);
        }
    }
    *topology = loaded;
    return TOOL_OK;
}

int tool_load_topology(const char *source, const struct tool_words *sets, struct hop_topology **topology)
{
    return tool_load_routed(source, NULL, sets, topology);
}

int tool_read_schedule(const char *source, const char *collective, struct hop_schedule **schedule)
{
    struct hop_diag diag;
    struct hop_trace_options trace = {0};
    struct hop_schedule *loaded;
    bool is_text = *source == 'e';
    const char *name = is_text ? "(-e)" : ++source;
    if (collective && hop_trace_options_parse(collective, &trace, &diag) != HOP_OK) {
        (void)snprintf(diag.place, sizeof diag.place, "--collective");
        return tool_fail(&diag);
    }
    enum hop_status status = is_text ? hop_schedule_parse(name, source + 1, strlen(source + 1), &loaded, &diag)
                                     : hop_schedule_load_with(source, &trace, &loaded, &diag);
    if (status != HOP_OK)
        return tool_fail(&diag);
    if (hop_schedule_count(loaded) == 0) {
        fprintf(
            stderr,
            "hopcast: %s: the schedule holds no operation\n  expected: at least one, such as a: gpu0 -> gpu1 1MiB\n",
            name);
        hop_schedule_destroy(loaded);
        return TOOL_BAD;
    }
    *schedule = loaded;
    return TOOL_OK;
}

const char *tool_source_name(const char *source)
{
    return *source == 'e' ? "-e" : source + 1;
}

int tool_place(const char *map, const struct hop_topology *topology, struct hop_schedule **schedule)
{
    struct tool_map where;
    struct hop_schedule *placed = NULL;
    int status = tool_map_load(map, &where);
    THEN(status, tool_map_apply(&where, topology, *schedule, &placed));
    tool_map_finish(&where);
    if (placed) {
        hop_schedule_destroy(*schedule);
        *schedule = placed;
    }
    return status;
}

int tool_load_input(const struct tool_input *input, struct hop_topology **topology, struct hop_schedule **schedule)
{
    int status = input->machine ? tool_load_topology(input->machine, &input->sets, topology) : TOOL_OK;
    THEN(status, tool_read_schedule(input->schedules.at[0], input->collective, schedule));
    return status == TOOL_OK && *topology ? tool_place(input->map, *topology, schedule) : status;
}

int tool_map_load(const char *choice, struct tool_map *map)
{
    struct hop_diag diag;
    *map = (struct tool_map){HOP_PLACEMENT_PACKED, NULL};
    if (!choice || strcmp(choice, "packed") == 0)
        return TOOL_OK;
    if (strcmp(choice, "cyclic") == 0) {
        map->order = HOP_PLACEMENT_CYCLIC;
        return TOOL_OK;
    }
    enum hop_status status = hop_placement_load(choice, &map->file, &diag);
    if (status == HOP_ERR_IO)
        (void)snprintf(diag.expected, sizeof diag.expected, "packed, cyclic, or a file with a line for every rank");
    return status == HOP_OK ? TOOL_OK : tool_fail(&diag);
}

void tool_map_finish(struct tool_map *map)
{
    hop_placement_destroy(map->file);
    map->file = NULL;
}

enum hop_status tool_map_place(const struct tool_map *map, const struct hop_topology *topology,
                               const struct hop_schedule *schedule, struct hop_schedule **placed, struct hop_diag *diag)
{
    struct hop_placement *made = NULL;
    uint32_t ranks = hop_schedule_ranks(schedule);
    enum hop_status status = HOP_OK;
    *placed = NULL;
    if (ranks == 0 && map->file) {
        (void)snprintf(diag->place, sizeof diag->place, "%.180s", hop_schedule_name(schedule));
        (void)snprintf(diag->what, sizeof diag->what,
                       "the schedule names no rank that the placement could put on a device");
        (void)snprintf(diag->expected, sizeof diag->expected, "ranks, such as rank0, or no --map");
        return diag->status = HOP_ERR_INVALID;
    }
    if (ranks == 0)
        return HOP_OK;
    if (map->file)
        status = hop_placement_check(map->file, topology, ranks, diag);
    else
        status = hop_placement_make(topology, ranks, map->order, &made, diag);
    if (status != HOP_OK && !diag->place[0])
        (void)snprintf(diag->place, sizeof diag->place, "%.180s", hop_schedule_name(schedule));
    THEN(status, hop_placement_apply(map->file ? map->file : made, schedule, placed, diag));
    hop_placement_destroy(made);
    return status;
}

int tool_map_apply(const struct tool_map *map, const struct hop_topology *topology, const struct hop_schedule *schedule,
                   struct hop_schedule **placed)
{
    struct hop_diag diag;
    return tool_map_place(map, topology, schedule, placed, &diag) == HOP_OK ? TOOL_OK : tool_fail(&diag);
}

void tool_print_models(FILE *out, const struct hop_topology *topology, const struct hop_network *network,
                       const bool *used)
{
    enum { LISTED = 8 };
    uint32_t domains = hop_topology_domain_count(topology), count = 0;
    bool *left = calloc((size_t)domains + 1, sizeof *left);
    for (uint32_t d = 0; left && d < domains; d++)
        count += left[d] = !used || used[d];
    for (uint32_t d = 0; left && d < domains; d++) {
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
    free(left);
}

char *tool_credit_instead(const struct hop_topology *topology, const struct hop_network *network, const char *models)
{
    struct hop_buffer text = {0};
    bool published = false;
    hop_buffer_puts(&text, models ? models : "");
    for (uint32_t d = 0; d < hop_topology_domain_count(topology); d++) {
        const char *beside = hop_network_model_facts(network, d)->beside;
        if (beside)
            hop_buffer_printf(&text, "%s%s=%s", text.length ? "," : "", hop_topology_domain(topology, d)->name, beside);
        published = published || beside;
    }
    if (published)
        return hop_buffer_take(&text);
    hop_buffer_finish(&text);
    return NULL;
}

struct tool_ticker tool_tick_begin(void)
{
    return (struct tool_ticker){.terminal = isatty(STDERR_FILENO), .begun_s = hop_now_s()};
}

bool tool_tick(struct tool_ticker *t)
{
    double now_s = t->terminal ? hop_now_s() : 0, shown_s = t->shown ? t->shown_s : t->begun_s;
    if (!t->terminal || now_s - t->begun_s < 1 || now_s - shown_s < 0.25)
        return false;
    t->passed_s = now_s - shown_s;
    t->shown_s = now_s;
    return t->shown = true;
}

void tool_tick_end(const struct tool_ticker *t)
{
    if (t->shown)
        fprintf(stderr, "\r%76s\r", "");
}

static void show_progress(double done, void *context)
{
    struct tool_progress *progress = context;
    if (done >= 1) { /* perhaps in another process than the one that ends it */
        tool_progress_end(progress);
        progress->ticker.shown = false;
    } else if (tool_tick(&progress->ticker)) {
        fprintf(stderr, "\r%-40.40s %3.0f %%", progress->what, done * 100);
    }
}

tool_progress_show *tool_progress_begin(struct tool_progress *progress, const char *what)
{
    *progress = (struct tool_progress){what, tool_tick_begin()};
    return progress->ticker.terminal ? show_progress : NULL;
}

void tool_progress_end(const struct tool_progress *progress)
{
    tool_tick_end(&progress->ticker);
}

bool tool_colour(FILE *stream)
{
    const char *no = getenv("NO_COLOR");
    return isatty(fileno(stream)) && !(no && *no);
}

unsigned tool_columns(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
        return size.ws_col;
    return 100;
}

char *tool_show_bytes(uint64_t bytes, char *text, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t u = 0;
    for (; value >= 1024 && u + 1 < HOP_COUNT(units); u++)
        value /= 1024;
    (void)snprintf(text, size, "%.4g%s", value, units[u]);
    return text;
}

int tool_write_remarked(const char *path, const struct hop_schedule *schedule, const char *remark, const char *second)
{
    struct hop_diag diag;
    struct hop_schedule *copy = NULL;
    char *text = hop_schedule_to_text(schedule), *remarked = NULL;
    enum hop_status status =
        text ? hop_schedule_parse(hop_schedule_name(schedule), text, strlen(text), &copy, &diag) : HOP_ERR_MEMORY;
    free(text);
    if (status != HOP_OK)
        return status == HOP_ERR_MEMORY ? tool_out_of_memory() : tool_fail(&diag);
    hop_schedule_add_comment(copy, "%s", remark);
    if (second)
        hop_schedule_add_comment(copy, "%s", second);
    remarked = hop_schedule_to_text(copy);
    hop_schedule_destroy(copy);
    return tool_write_text(path, remarked);
}

int tool_check_program(const struct tool_command *command, const struct hop_program_options *program, bool threads,
                       bool emulated)
{
    enum { CHUNK_BYTES = 4096 };
    const struct hop_device_facts *device;
    struct hop_diag diag;
    uint64_t chunk_bytes = program->chunk_bytes ? program->chunk_bytes : CHUNK_BYTES;
    if (program->buffer_bytes && program->buffer_bytes < chunk_bytes)
        return tool_bad_usage(command,
                              "--buffer is less than a chunk (--chunk, 4KiB): a link's buffer holds one at least");
    if (hop_device_named(program->device, &device, &diag) != HOP_OK)
        return tool_bad_usage(command, "--device %.60s: expected %s", program->device, diag.expected);
    if (!device->on_processors && (emulated || threads || program->engines))
        return tool_bad_usage(command, "--%s goes with the device %s",
                              emulated  ? "emulate"
                              : threads ? "in-process"
                                        : "engines",
                              hop_device_at(0)->name);
    return TOOL_OK;
}

void tool_print_wrapped(const char *text, unsigned indent, unsigned width)
{
    unsigned column = indent;
    for (bool first = true; *text; first = false) {
        size_t length = strcspn(text, " ");
        if (!first && column + 1 + length > width) {
            printf("\n%*s", (int)indent, "");
            column = indent;
            first = true;
        }
        printf("%s%.*s", first ? "" : " ", (int)length, text);
        column += (unsigned)length + !first;
        text += length + (text[length] == ' ');
    }
    printf("\n");
}
