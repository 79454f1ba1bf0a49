/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast map: what others take: the placement, drawings, launchers' files. */
#include "map.h"

#include <string.h>

/* ---- drawings ---- */

struct hop_link_load *map_loads(const struct map_input *input, const struct hop_map_result *result)
{
    size_t count = 2 * (size_t)hop_topology_link_count(input->topology);
    struct hop_link_load *loads = tool_alloc(count, sizeof *loads);
    for (size_t l = 0; l < count; l++)
        loads[l] = (struct hop_link_load){result->before.load_s[l], result->after.load_s[l]};
    return loads;
}

/* "1,5": the ranks of a device, the first ten or so; NULL: none. */
static const char *ranks_of(const struct map_notes *notes, uint32_t node, bool after)
{
    const char *text = NULL;
    for (uint32_t r = 0; r < notes->result->ranks && (!text || strlen(text) < 32); r++) {
        if ((after ? notes->result->seats[r].device : notes->before[r]) == node)
            text = text ? tool_text("%s,%u", text, r) : tool_text("%u", r);
    }
    return text;
}

const char *map_note(uint32_t node, void *context)
{
    const char *before = ranks_of(context, node, false), *after = ranks_of(context, node, true);
    return before || after ? tool_text("rank %s -> %s", before ? before : "-", after ? after : "-") : NULL;
}

static const char *note_of(uint32_t node, bool after, void *context)
{
    const char *ranks = ranks_of(context, node, after);
    return ranks ? tool_text("rank %s", ranks) : NULL;
}

static void write_svg(const struct map_request *request, const struct map_input *input,
                      const struct hop_map_result *result)
{
    struct map_notes notes = {.result = result, .before = result->before_devices};
    const struct hop_loads_options options = {.note = map_note, .note_of = note_of, .context = &notes};
    tool_write_text(request->svg, hop_topology_to_loads_svg(input->topology, map_loads(input, result), &options));
}

/* ---- the placement ---- */

/* A name in a remark: on one line. */
static const char *clean(const char *name, char *text, size_t size)
{
    (void)snprintf(text, size, "%s", name);
    return hop_text_quote(text);
}

static void write_placement(const struct map_request *request, const struct hop_map_result *result)
{
    struct hop_buffer text = {0};
    char value[32], source[160], machine[160];
    double after = result->after.metric[result->metric];
    if (hop_map_metric_at(result->metric)->is_time)
        hop_show_seconds(after, value, sizeof value);
    else
        (void)snprintf(value, sizeof value, "%.6g", after);
    hop_buffer_printf(&text, "# hopcast %s %s --on %s\n", request->command->name,
                      clean(request->source, source, sizeof source), clean(request->machine, machine, sizeof machine));
    if (!request->remark)
        hop_buffer_printf(&text, "# %s %s\n", hop_map_metric_at(result->metric)->name, value);
    else
        hop_buffer_printf(&text, "# %s\n", request->remark);
    for (uint32_t r = 0; r < result->ranks; r++) {
        const struct hop_seat *seat = &result->seats[r];
        hop_buffer_printf(&text, "%u %s", r, hop_placement_device(result->placement, r));
        if (seat->bus_id)
            hop_buffer_printf(&text, " bus=%s", seat->bus_id);
        if (seat->nic)
            hop_buffer_printf(&text, " nic=%s", seat->nic);
        if (seat->processor != HOP_NONE)
            hop_buffer_printf(&text, " cpu=%u", seat->processor);
        hop_buffer_puts(&text, "\n");
    }
    tool_write_text(request->output, hop_buffer_take(&text));
}

/* The host memory of a rank, "rank3.host", becomes the one nearest to its device. */
static void place_host(struct hop_place *place, const struct map_input *input, const struct hop_map_result *result)
{
    uint32_t rank;
    if (!place->device || !devices_host_rank(place->device, &rank) || rank >= result->ranks)
        return;
    uint32_t host;
    tool_try(hop_topology_nearest_host(input->topology, result->seats[rank].device, &host, &tool_diag));
    if (host != HOP_NONE)
        place->device = hop_topology_node(input->topology, host)->name;
}

/* The schedule on its new devices: copies and messages; a reduction has no place in host memory. */
static void write_placed(const struct map_request *request, const struct map_input *input,
                         const struct hop_map_result *result)
{
    struct hop_schedule *from, *placed;
    tool_try(hop_placement_apply(result->placement, input->exchange, &from, &tool_diag));
    struct hop_schedule *made = hop_schedule_create(hop_schedule_name(from));
    hop_schedule_set_queue_ready(made, hop_schedule_queue_ready(from));
    for (uint32_t i = 0; i < hop_schedule_count(from); i++) {
        struct hop_op op = *hop_schedule_op(from, i);
        place_host(&op.from, input, result);
        place_host(&op.to, input, result);
        (void)hop_schedule_add(made, &op);
    }
    tool_try(hop_schedule_finish(made, &placed, &tool_diag));
    tool_write_schedule(request->placed, placed);
    hop_schedule_destroy(placed);
    hop_schedule_destroy(from);
}

/* ---- launchers ---- */

static char *launch_text(const struct map_request *request, const struct hop_map_result *result,
                         const struct hop_launch_form *form)
{
    char *text;
    const struct hop_launch_names names = {
        .hosts = (const char *const *)request->hosts.at, .program = request->program, .directory = request->directory};
    if (request->hosts.count && request->hosts.count != result->node_count)
        tool_bad_usage(request->command, "--hosts names %u, %s has %u node%s", request->hosts.count, request->machine,
                       result->node_count, result->node_count == 1 ? "" : "s");
    tool_try_at(hop_map_launch(result, form->name, &names, &text, &tool_diag), "--launch %s", form->name);
    return text;
}

/* Every form that can say this mapping has a file; NULL: this one cannot. */
static const char *launch_file(const struct map_request *request, const struct hop_map_result *result,
                               const struct hop_launch_form *form)
{
    bool cores = result->seats[0].core != HOP_NONE, devices = result->seats[0].local_device != HOP_NONE;
    bool fits =
        (cores || !form->names_cores) && (devices || !form->names_devices) && (cores || devices || !form->names_either);
    return fits ? tool_text("%s/%s", request->directory, form->file) : NULL;
}

static void write_launch_files(const struct map_request *request, const struct hop_map_result *result)
{
    const struct hop_launch_form *form;
    for (size_t f = 0; (form = hop_launch_form_at(f)); f++) {
        const char *path = launch_file(request, result, form);
        if (path)
            tool_write_text(path, launch_text(request, result, form));
    }
}

/* A mapping that is made at once has the nodes and cores of the one that is sought; where there is none, the search says
 * so. */
static struct hop_map_result *map_at_once(const struct map_request *request, const struct map_input *input)
{
    struct hop_map_options quick = request->options;
    struct hop_map_result *result = NULL;
    if (!input->traffic)
        return NULL;
    quick.metric = HOP_MAP_DISTANCE;
    quick.solver = HOP_MAP_EXCHANGE;
    quick.max_operations = 1;
    quick.no_simulation = true;
    quick.start = input->start;
    quick.excluded = (const char *const *)request->excluded.at;
    quick.excluded_count = request->excluded.count;
    quick.keep = (const char *const *)request->keep.at;
    quick.keep_count = request->keep.count;
    return hop_map(input->topology, input->traffic, &quick, &result, NULL) == HOP_OK ? result : NULL;
}

void map_check_files(const struct map_request *request, const struct map_input *input)
{
    const struct hop_launch_form *form;
    tool_check_outputs(&request->given);
    bool one = tool_given(&request->given, "launch");
    if (request->directory)
        tool_make_directory(request->directory);
    struct hop_map_result *result = one || request->directory ? map_at_once(request, input) : NULL;
    for (size_t f = 0; result && request->directory && (form = hop_launch_form_at(f)); f++) {
        const char *path = launch_file(request, result, form);
        tool_check_output(path);
        if (path)
            free(launch_text(request, result, form));
    }
    if (result && one)
        free(launch_text(request, result, hop_launch_form_at(request->launch)));
    hop_map_result_destroy(result);
}

void map_write_files(const struct map_request *request, const struct map_input *input,
                     const struct hop_map_result *result)
{
    if (request->output)
        write_placement(request, result);
    if (request->placed)
        write_placed(request, input, result);
    if (request->svg)
        write_svg(request, input, result);
    if (request->directory)
        write_launch_files(request, result);
    if (tool_given(&request->given, "launch"))
        tool_write_text(NULL, launch_text(request, result, hop_launch_form_at(request->launch)));
}
