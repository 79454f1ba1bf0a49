/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast measure: microbenchmarks as measurement CSV, and, on request, the machine file fitted to them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate.h"
#include "measure.h"
#include "options_shared.h"
#include "ranks.h"

struct request {
    struct tool_given given;
    const char *on, *emulate, *output, *raw, *fit, *model;
    struct tool_words sets, measured;
    struct tool_sizes sizes;
    bool json, force;
    uint32_t suggest;
    struct hop_measure_options measure;
};

static const char *kind_at(unsigned index)
{
    return hop_measure_kind_name((enum hop_measure_kind)index);
}

static const struct tool_option table[] = {
    OPTION("devices", 0, COUNT, AT(request, measure.devices), "N",
           "how many; without a topology nothing else is assumed about them", .low = 1,
           .high = HOP_MEASURE_DEVICES_MAX),
    {.letter = 'n', .kind = OPTION_GONE, .help = "--devices: -n is a number of ranks"},
    SHARED(on, AT(request, on), .help = "what the devices are wired to: its GPUs"),
    SHARED(set, AT(request, sets), .needs = "on emulate"),
    SHARED(device, AT(request, measure.program.device)),
    SHARED(emulate, AT(request, emulate)),
    SHARED(slower, AT(request, measure.program.slower), .help = "emulated links are so many times as slow (100)"),
    SHARED(chunk, AT(request, measure.program.chunk_bytes)),
    SHARED(buffer, AT(request, measure.program.buffer_bytes)),
    OPTION("what", 0, CHOICES, AT(request, measure.kinds), NULL, "what is measured (all)", .choice_at = kind_at),
    OPTION("sizes", 0, SIZES, AT(request, sizes), "LIST",
           "of copies, ascending: SIZE,... or LOW:HIGH*FACTOR (64B,4KiB,64KiB,1MiB,8MiB); the largest where several go "
           "at once",
           .high = HOP_MEASURE_SIZES_MAX),
    OPTION("time", 0, TIME, AT(request, measure.time_s), "TIME",
           "begin rounds for so long (20s), or until Ctrl-C; but until there are 3 samples", .least = 0.001,
           .most = 86400),
    SHARED(seed, AT(request, measure.seed), .help = "other orders, other couples (1)"),
    SHARED(in_process, AT(request, measure.launch.threads)),
    SHARED(was_threads, .at = 0),
    SHARED(pin, AT(request, measure.launch.pin)),
    SHARED(timeout, AT(request, measure.launch.timeout_s)),
    OPTION("fit", 0, TEXT, AT(request, fit), "FILE", "fit the topology to the rows and write it as a machine file",
           .use = USE_FILE),
    SHARED(model, AT(request, model), .needs = "fit suggest",
           .help = "with --fit, --suggest: the model that is to predict them (server; without a topology fair)"),
    OPTION("raw", 0, TEXT, AT(request, raw), "FILE", "every sample, as CSV", .use = USE_FILE),
    OPTION("suggest", 0, COUNT, AT(request, suggest), "N",
           "measure nothing: the N measurements, transfers alone or together, that would determine most about --on "
           "TOPOLOGY; "
           "with --output as measurement CSV to be filled in",
           .low = 1, .high = 1000, .needs = "on",
           .excludes =
               "emulate fit raw json devices what sizes time seed device chunk buffer force in-process pin timeout"),
    OPTION("measured", 0, LIST, AT(request, measured), "FILE",
           "with --suggest: rows that are known already, which are not asked for", .use = USE_INPUT,
           .needs = "suggest"),
    FLAG("force", 0, AT(request, force),
         "write also what has fewer than 3 samples; exit status 0 also when the machine was too noisy"),
    SHARED(json, AT(request, json), .excludes = "fit", .help = "everything, for machines (docs/measure.schema.json)"),
    SHARED(output, AT(request, output), .use = USE_FILE, .help = "the rows, as measurement CSV"),
    END_OF_OPTIONS,
};

static void check(const struct request *r)
{
    if (!r->on && !r->emulate && r->measure.devices == 0)
        tool_bad_usage(&tool_measure, "how many devices is missing: --devices N, --on TOPOLOGY or --emulate TOPOLOGY");
    tool_check_program(&tool_measure, &r->measure.program, r->measure.launch.threads, r->emulate);
}

/* ---- what becomes of the rows ---- */

/* A device's memory is no link: what was measured of it is a parameter. */
static void fit(const struct request *r, struct hop_topology *topology, const struct hop_measure_result *result,
                const char *csv)
{
    struct hop_measurements *measurements;
    struct calibrate_request request = {.output = r->fit, .model = r->model, .folds = UINT64_MAX};
    if (!r->model && !r->on && !r->emulate)
        request.model = "fair"; /* no tree of links is known that the default is about */
    if (!csv)
        tool_bad_usage(&tool_measure, "--fit needs copies between devices: two devices, and pairs among --what");
    if (!isnan(result->memory_Bps))
        tool_try(hop_topology_set_parameter(topology, "reduce_rate", result->memory_Bps, "measured by hopcast measure",
                                            result->memory_spread_Bps, &tool_diag));
    if (hop_topology_add_note(topology,
                              "fitted to %u rows measured by hopcast measure%s, %u samples of each, seed %llu",
                              result->row_count, result->emulated ? " on emulated links" : "", result->rounds,
                              (unsigned long long)r->measure.seed) != HOP_OK)
        tool_out_of_memory();
    tool_try(hop_measurements_parse("measured", csv, strlen(csv), &measurements, &tool_diag));
    printf("\n");
    calibrate_fit_measurements(&request, topology, measurements);
    hop_measurements_destroy(measurements);
}

static int too_noisy(const struct hop_measure_result *result)
{
    (void)hop_fail(
        &tool_diag, HOP_ERR_STOPPED,
        "the machine was noisy: %u of %u rows scatter (MAD above %g %% of the median) or drifted meanwhile; "
        "they are marked, and count less in a fit\n"
        "a machine with nothing else to do, fewer devices than processors, or more --time; --raw FILE has the samples",
        result->unsteady, result->row_count, 100 * HOP_UNSTEADY_MAD);
    return tool_say(&tool_diag);
}

static int too_few(const struct hop_measure_result *result)
{
    (void)hop_fail(&tool_diag, HOP_ERR_STOPPED,
                   "stopped after %u samples of each row\n%d at least; --force writes all the same", result->rounds,
                   HOP_MEASURE_SAMPLES_LEAST);
    return tool_say(&tool_diag);
}

static int conclude(const struct request *r, struct hop_topology *topology, const struct hop_measure_result *result)
{
    bool few = result->rounds < HOP_MEASURE_SAMPLES_LEAST;
    bool keep = !few || r->force;
    char *csv = hop_measure_to_csv(result);
    if (r->json)
        tool_write_text(NULL, hop_measure_to_json(result));
    else
        measure_show(result, r->measure.time_s);
    if (r->raw)
        tool_write_text(r->raw, hop_measure_to_raw(result));
    if (r->output && keep && !csv)
        tool_bad_usage(&tool_measure, "--output has nothing to write: no copies between devices were measured");
    if (r->output && keep)
        tool_write(r->output, csv);
    if (r->fit && keep)
        fit(r, topology, result, csv);
    free(csv);
    return !keep ? too_few(result) : result->too_noisy && !r->force ? too_noisy(result) : TOOL_OK;
}

/* ---- what to measure ---- */

static void suggest(const struct request *r, const struct hop_topology *topology)
{
    struct hop_suggestion *s;
    struct hop_measurements *measured = NULL;
    struct hop_fit_options options = {.model = r->model};
    struct hop_network *network = NULL;
    enum hop_status fits = r->model ? HOP_OK : hop_network_create(topology, "server", &network, &tool_diag);
    if (fits == HOP_ERR_MEMORY)
        tool_out_of_memory();
    if (fits != HOP_OK)
        options.model = "fair"; /* neither PCIe nor two-way links */
    hop_network_destroy(network);
    if (r->measured.count)
        tool_try_file(
            hop_measurements_load_all((const char *const *)r->measured.at, r->measured.count, &measured, &tool_diag),
            MEASUREMENTS_ARE_EXPECTED);
    if (measured)
        tool_note_measurements(measured);
    tool_try(hop_calibrate_suggest(topology, NULL, measured, &options, r->suggest, &s, &tool_diag));
    printf("%u of %u measurements", s->count, hop_measurements_group_count(s->candidates));
    if (measured)
        printf(" beside %u that are known", hop_measurements_group_count(measured));
    printf("; predictions of all may be off by %.1f %% before\n\n%4s %10s  %s\n", 100 * s->unsure_before, "",
           "off then", "copies at once");
    for (uint32_t i = 0; i < s->count; i++) {
        struct hop_measurement_group rows = hop_measurements_group(s->candidates, s->groups[i]);
        printf("%4u %8.1f %%  ", i + 1, 100 * s->unsure[i]);
        for (uint32_t k = 0; k < rows.count; k++) {
            const struct hop_measurement *m = hop_measurements_at(s->candidates, rows.rows[k]);
            printf("%s%s -> %s", k ? "; " : "", m->from, m->to);
        }
        printf("\n");
    }
    if (r->output)
        tool_write_text(r->output, hop_suggestion_to_csv(s));
    hop_suggestion_destroy(s);
    hop_measurements_destroy(measured);
}

/* ---- the command ---- */

static struct hop_topology *load(const struct request *r)
{
    struct hop_topology *topology;
    if (r->on || r->emulate)
        return tool_load_topology(r->on ? r->on : r->emulate, &r->sets);
    tool_try(hop_measure_flat(r->measure.devices, &topology, &tool_diag));
    return tool_have(topology);
}

static int run(int argc, char **argv)
{
    static struct request r = {.measure = {.seed = 1, .program = {.slower = 100}}};
    struct hop_measure_options *m = &r.measure;
    struct hop_measure_result *result;
    struct tool_progress progress;
    tool_read(&tool_measure, argc, argv, &r);
    check(&r);
    ranks_alone(&tool_measure);
    tool_check_outputs(&r.given);
    struct hop_topology *topology = load(&r);
    if (r.suggest) {
        suggest(&r, topology);
        return TOOL_OK;
    }
    m->topology = topology;
    m->sizes = r.sizes.count ? r.sizes.at : NULL;
    m->size_count = r.sizes.count;
    m->program.emulate = r.emulate ? topology : NULL;
    ranks_catch();
    m->launch.stop = &ranks_stop;
    m->progress = tool_progress_begin(&progress, "of the time for measuring");
    m->context = &progress;
    tool_try(hop_measure(m, &result, &tool_diag));
    int status = conclude(&r, topology, result);
    hop_measure_result_destroy(result);
    return status;
}

const struct tool_command tool_measure = {
    .name = "measure",
    .summary = "time copies and reductions, alone and together",
    .usage = "--devices N | --on TOPOLOGY | --emulate TOPOLOGY [OPTION ...]",
    .about =
        "A process for each device; rounds in which everything is measured once, in an order that changes, until\n"
        "the time is up. A row's value is the median. -o writes what `hopcast calibrate` and `hopcast compare` read.\n"
        "\n",
    .options = table,
    .notes =
        "Exit status 1: the machine was noisy (docs/measure.md): what was measured is written, noisy rows are marked.\n"
        "\n"
        "example: hopcast measure --devices 2 -o rows.csv --fit machine.json\n",
    .run = run,
};
