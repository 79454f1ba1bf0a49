/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast measure: microbenchmarks as measurement CSV, and, on request, the machine file fitted to them. */
#include "measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alone.h"
#include "calibrate.h"
#include "ranks.h"

enum { SETS_MAX = 64, CHUNK_BYTES = 4096 };

struct options {
    const char *on, *emulate, *output, *raw, *fit, *model;
    char *sets[SETS_MAX];
    int set_count;
    uint64_t devices, sizes[HOP_MEASURE_SIZES_MAX];
    bool json, force, slower_given;
    struct hop_measure_options measure;
};

static const struct option long_options[] = {
    {"devices", required_argument, NULL, 'n'},
    {"device", required_argument, NULL, 'D'},
    {"on", required_argument, NULL, 't'},
    {"set", required_argument, NULL, 's'},
    {"emulate", required_argument, NULL, 'u'},
    {"slower", required_argument, NULL, 'w'},
    {"chunk", required_argument, NULL, 'C'},
    {"buffer", required_argument, NULL, 'B'},
    {"what", required_argument, NULL, 'W'},
    {"sizes", required_argument, NULL, 'z'},
    {"time", required_argument, NULL, 'T'},
    {"seed", required_argument, NULL, 'x'},
    {"threads", no_argument, NULL, 'H'},
    {"pin", no_argument, NULL, 'P'},
    {"timeout", required_argument, NULL, 'o' + 256},
    {"raw", required_argument, NULL, 'r'},
    {"fit", required_argument, NULL, 'f'},
    {"model", required_argument, NULL, 'm'},
    {"force", no_argument, NULL, 'F'},
    {"json", no_argument, NULL, 'j'},
    {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* ---- options ---- */

/* Words, separated by commas. */
static bool read_kinds(const char *text, uint32_t *kinds)
{
    *kinds = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        unsigned kind = 0;
        while (kind < HOP_MEASURE_KINDS &&
               (strlen(hop_measure_kind_name((enum hop_measure_kind)kind)) != length ||
                strncmp(hop_measure_kind_name((enum hop_measure_kind)kind), at, length) != 0))
            kind++;
        if (kind == HOP_MEASURE_KINDS) {
            tool_bad_usage(&tool_measure,
                           "--what: there is no '%.*s'; expected pairs, reads, together, engines, reduce, memory",
                           (int)length, at);
            return false;
        }
        *kinds |= 1u << kind;
        at += length;
        if (!*at)
            return true;
    }
}

static bool read_sizes(struct options *o, const char *text)
{
    struct hop_measure_options *m = &o->measure;
    m->size_count = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        struct hop_diag diag;
        uint64_t size;
        if (hop_parse_bytes(at, length, &size, &diag) != HOP_OK || size == 0) {
            tool_bad_usage(&tool_measure, "--sizes: '%.*s' is no size, such as 64KiB", (int)length, at);
            return false;
        }
        if (m->size_count > 0 && size <= o->sizes[m->size_count - 1]) {
            tool_bad_usage(&tool_measure, "--sizes: '%.*s' is not above the size before it", (int)length, at);
            return false;
        }
        if (m->size_count == HOP_MEASURE_SIZES_MAX) {
            tool_bad_usage(&tool_measure, "--sizes: more than %d sizes", HOP_MEASURE_SIZES_MAX);
            return false;
        }
        o->sizes[m->size_count++] = size;
        at += length;
        if (!*at)
            break;
    }
    m->sizes = o->sizes;
    return true;
}

static bool take_option(struct options *o, int option)
{
    struct hop_measure_options *m = &o->measure;
    switch (option) {
    case 'n':
        return tool_whole(&tool_measure, "--devices", optarg, 1, HOP_MEASURE_DEVICES_MAX, &o->devices);
    case 'D':
        m->program.device = optarg;
        return true;
    case 't':
        o->on = optarg;
        return true;
    case 's':
        if (o->set_count == SETS_MAX)
            return tool_bad_usage(&tool_measure, "more than %d assignments", SETS_MAX) == TOOL_OK;
        o->sets[o->set_count++] = optarg;
        return true;
    case 'u':
        o->emulate = optarg;
        return true;
    case 'w':
        o->slower_given = true;
        return tool_number(&tool_measure, "--slower", optarg, 1, 1e9, &m->program.slower);
    case 'C':
        return tool_bytes(&tool_measure, "--chunk", optarg, &m->program.chunk_bytes);
    case 'B':
        return tool_bytes(&tool_measure, "--buffer", optarg, &m->program.buffer_bytes);
    case 'W':
        return read_kinds(optarg, &m->kinds);
    case 'z':
        return read_sizes(o, optarg);
    case 'T':
        return tool_number(&tool_measure, "--time", optarg, 0.001, 86400, &m->time_s);
    case 'x':
        return tool_whole(&tool_measure, "--seed", optarg, 0, UINT64_MAX, &m->seed);
    case 'H':
        m->launch.threads = true;
        return true;
    case 'P':
        m->launch.pin = true;
        return true;
    case 'o' + 256:
        return tool_number(&tool_measure, "--timeout", optarg, 0.1, 1e6, &m->launch.timeout_s);
    case 'r':
        o->raw = optarg;
        return true;
    case 'f':
        o->fit = optarg;
        return true;
    case 'm':
        o->model = optarg;
        return true;
    case 'F':
        o->force = true;
        return true;
    case 'j':
        o->json = true;
        return true;
    case 'o':
        o->output = optarg;
        return true;
    default:
        return false;
    }
}

static int check_options(const struct options *o)
{
    const struct hop_program_options *plan = &o->measure.program;
    if (o->on && o->emulate)
        return tool_bad_usage(&tool_measure, "--emulate names the topology already: --on goes without it");
    if (!o->on && !o->emulate && o->devices == 0)
        return tool_bad_usage(&tool_measure,
                              "how many devices is missing: -n DEVICES, --on TOPOLOGY or --emulate TOPOLOGY");
    if (!o->on && !o->emulate && o->set_count > 0)
        return tool_bad_usage(&tool_measure, "--set goes with --on TOPOLOGY or --emulate TOPOLOGY");
    if (!o->emulate && (o->slower_given || plan->chunk_bytes || plan->buffer_bytes))
        return tool_bad_usage(&tool_measure, "--slower, --chunk and --buffer go with --emulate TOPOLOGY");
    if (plan->buffer_bytes && plan->buffer_bytes < (plan->chunk_bytes ? plan->chunk_bytes : CHUNK_BYTES))
        return tool_bad_usage(&tool_measure,
                              "--buffer is less than a chunk (--chunk, 4KiB): a link's buffer holds one at least");
    if (plan->device && strcmp(plan->device, "host") != 0 && strcmp(plan->device, "cuda") != 0)
        return tool_bad_usage(&tool_measure, "--device %.60s: expected host or cuda", plan->device);
    if (plan->device && strcmp(plan->device, "host") != 0 && (o->emulate || o->measure.launch.threads))
        return tool_bad_usage(&tool_measure, "--emulate and --threads go with the device host");
    if (o->model && !o->fit)
        return tool_bad_usage(&tool_measure, "--model says how to fit: --fit MACHINE.json is missing");
    if (o->json && o->fit)
        return tool_bad_usage(&tool_measure, "--json and --fit both print: one at a time");
    if ((o->output && strcmp(o->output, "-") == 0) || (o->raw && strcmp(o->raw, "-") == 0) ||
        (o->fit && strcmp(o->fit, "-") == 0))
        return tool_bad_usage(&tool_measure,
                              "--output, --raw and --fit need files: standard output shows what was found");
    return TOOL_OK;
}

/* Before time is spent on what could not be written. */
static int check_outputs(const struct options *o)
{
    const char *const files[] = {o->output, o->raw, o->fit};
    int status = TOOL_OK;
    for (size_t i = 0; i < sizeof files / sizeof files[0] && status == TOOL_OK; i++)
        status = tool_check_output(files[i]);
    return status;
}

/* -1: help was asked for. */
static int read_options(struct options *o, int argc, char **argv)
{
    *o = (struct options){.measure = {.seed = 1}};
    o->measure.program.slower = 100;
    tool_options_begin();
    for (int option; (option = tool_option(&tool_measure, argc, argv, ":n:s:m:jo:h", long_options)) != -1;) {
        if (option == 'h')
            return -1;
        if (option == '?' || !take_option(o, option))
            return TOOL_BAD;
    }
    if (optind < argc)
        return tool_bad_usage(&tool_measure, "'%s' is one argument too many", argv[optind]);
    return check_options(o);
}

/* ---- what becomes of the rows ---- */

/* A device's memory is no link: what was measured of it is a parameter. */
static int fit(const struct options *o, struct hop_topology *topology, const struct hop_measure_result *result,
               const char *csv)
{
    struct hop_measurements *measurements = NULL;
    struct hop_diag diag;
    struct calibrate_request request = {.output = o->fit, .model = o->model};
    if (!o->model && !o->on && !o->emulate)
        request.model = "fair"; /* no tree of links is known that the default is about */
    if (!csv)
        return tool_bad_usage(&tool_measure, "--fit needs copies between devices: two devices, and pairs among --what");
    if (!isnan(result->memory_Bps) &&
        hop_topology_set_parameter(topology, "reduce_rate", result->memory_Bps, "measured by hopcast measure",
                                   result->memory_spread_Bps, &diag) != HOP_OK)
        return tool_fail(&diag);
    if (hop_topology_add_note(topology,
                              "fitted to %u rows measured by hopcast measure%s, %u samples of each, seed %llu",
                              result->row_count, result->emulated ? " on emulated links" : "", result->rounds,
                              (unsigned long long)o->measure.seed) != HOP_OK)
        return tool_out_of_memory();
    if (hop_measurements_parse("measured", csv, strlen(csv), &measurements, &diag) != HOP_OK)
        return tool_fail(&diag);
    printf("\n");
    int status = calibrate_fit_measurements(&request, topology, measurements);
    hop_measurements_destroy(measurements);
    return status;
}

static int write_text(const char *path, char *text)
{
    int status = text ? tool_write(path, text) : tool_out_of_memory();
    free(text);
    return status;
}

static int too_noisy(const struct hop_measure_result *result)
{
    fprintf(
        stderr,
        "hopcast: the machine was too noisy: %u of %u rows scatter (MAD above %g %% of the median) or drifted "
        "meanwhile\n"
        "  expected: a machine with nothing else to do, fewer devices than processors, or more --time; --raw FILE has "
        "the samples, --force writes all the same\n",
        result->unsteady, result->row_count, 100 * HOP_UNSTEADY_MAD);
    return TOOL_NEGATIVE;
}

static int too_few(const struct hop_measure_result *result)
{
    fprintf(stderr,
            "hopcast: stopped after %u samples of each row\n"
            "  expected: %d at least; --force writes all the same\n",
            result->rounds, HOP_MEASURE_SAMPLES_LEAST);
    return TOOL_NEGATIVE;
}

static int conclude(const struct options *o, struct hop_topology *topology, const struct hop_measure_result *result)
{
    bool few = result->rounds < HOP_MEASURE_SAMPLES_LEAST;
    bool keep = (!result->too_noisy && !few) || o->force;
    char *csv = hop_measure_to_csv(result);
    int status = TOOL_OK;
    if (o->json)
        status = write_text(NULL, hop_measure_to_json(result));
    else
        measure_show(result, o->measure.time_s);
    if (status == TOOL_OK && o->raw)
        status = write_text(o->raw, hop_measure_to_raw(result));
    if (status == TOOL_OK && o->output && keep)
        status = csv ? tool_write(o->output, csv)
                     : tool_bad_usage(&tool_measure,
                                      "--output has nothing to write: no copies between devices were measured");
    if (status == TOOL_OK && o->fit && keep)
        status = fit(o, topology, result, csv);
    free(csv);
    if (status == TOOL_OK && few && !o->force)
        return too_few(result);
    if (status == TOOL_OK && result->too_noisy && !o->force)
        return too_noisy(result);
    return status;
}

/* ---- the command ---- */

struct shown {
    struct tool_progress progress;
    tool_progress_show *show;
};

/* In the process of rank 0. */
static void show_progress(double done, void *context)
{
    struct shown *shown = context;
    if (done >= 1)
        tool_progress_end(&shown->progress);
    else
        shown->show(done, &shown->progress);
}

static int load(const struct options *o, struct hop_topology **topology)
{
    struct hop_diag diag;
    if (o->on || o->emulate)
        return tool_load_topology(o->on ? o->on : o->emulate,
                                  &(struct tool_words){(char **)o->sets, (uint32_t)o->set_count, 0}, topology);
    return hop_measure_flat((uint32_t)o->devices, topology, &diag) == HOP_OK ? TOOL_OK : tool_fail(&diag);
}

static int run(int argc, char **argv)
{
    static struct options o;
    struct hop_topology *topology = NULL;
    struct hop_measure_result *result = NULL;
    struct hop_diag diag;
    struct shown shown;
    int status = read_options(&o, argc, argv);
    if (status == -1)
        return tool_help(&tool_measure);
    if (status == TOOL_OK)
        status = alone_check(&tool_measure);
    if (status == TOOL_OK)
        status = check_outputs(&o);
    if (status == TOOL_OK)
        status = load(&o, &topology);
    if (status != TOOL_OK)
        return status;
    o.measure.topology = topology;
    o.measure.devices = (uint32_t)o.devices;
    o.measure.program.emulate = o.emulate ? topology : NULL;
    ranks_catch();
    o.measure.launch.stop = &ranks_stop;
    shown.show = tool_progress_begin(&shown.progress, "of the time for measuring");
    o.measure.progress = shown.show ? show_progress : NULL;
    o.measure.context = &shown;
    status = hop_measure(&o.measure, &result, &diag) == HOP_OK ? conclude(&o, topology, result) : tool_fail(&diag);
    hop_measure_result_destroy(result);
    hop_topology_destroy(topology);
    return status;
}

const struct tool_command tool_measure = {
    .name = "measure",
    .summary = "time copies and reductions, alone and together",
    .usage = "-n DEVICES | --on TOPOLOGY | --emulate TOPOLOGY [OPTION ...]",
    .help = "A process for each device; rounds in which everything is measured once, in an order that changes, until "
            "the time\n"
            "is up. A row's value is the median. -o writes what `hopcast calibrate` and `hopcast compare` read.\n"
            "\n"
            "  -n, --devices N         how many; without a topology nothing else is assumed about them\n"
            "      --on TOPOLOGY       what the devices are wired to: its GPUs\n"
            "  -s, --set NAME=VALUE    change the topology (see hopcast topology --help); may be repeated\n"
            "      --device NAME       host (default) or cuda\n"
            "      --emulate TOPOLOGY  copies go through its links, in real time, slowed down (docs/emulated.md)\n"
            "      --slower X          so many times (100); --chunk SIZE (4KiB), --buffer SIZE of a link (32 chunks; 1 "
            "at least)\n"
            "      --what LIST         of pairs, reads, together, engines, reduce, memory (default: all)\n"
            "      --sizes LIST        of copies, ascending (64B,4KiB,64KiB,1MiB,8MiB); the largest where several go "
            "at once\n"
            "      --time S            begin rounds for so many seconds (20), or until Ctrl-C; but until there are 3 "
            "samples\n"
            "      --seed N            other orders, other couples (1)\n"
            "      --threads           ranks are threads of one process; --pin: each on a processor of its own\n"
            "      --timeout S         a rank that does not move for so many seconds is lost (10)\n"
            "      --fit FILE          fit the topology to the rows and write it as a machine file\n"
            "  -m, --model NAME        with it: the model that is to predict them (server; without a topology fair)\n"
            "      --raw FILE          every sample, as CSV\n"
            "      --force             write all the same when the machine was too noisy\n"
            "  -j, --json              everything, for machines (docs/measure.schema.json)\n"
            "  -o, --output FILE       the rows, as measurement CSV\n"
            "\n"
            "Exit status 1: the machine was too noisy (docs/measure.md); nothing but --raw was written.\n"
            "\n"
            "example: hopcast measure -n 2 -o rows.csv --fit machine.json\n",
    .run = run,
};
