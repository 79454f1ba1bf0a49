/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast amb, which is also installed as hopcast-amb: the Accelerated MPI Benchmark under any launcher. */
#include <string.h>

#include "options_shared.h"
#include "tool.h"

enum { ITERATIONS = 100, WARM_UP = 10 };

struct request {
    struct tool_given given;
    struct tool_words hosts, devices;
    struct tool_sizes sizes;
    double weight;
    const char *device;
    uint32_t iterations, warm_up, staging;
    bool wrap, validate, quick, json;
};

static const char *const staging_words[] = {"auto", "always", "never"};

static const char *staging_at(unsigned index)
{
    return index < HOP_COUNT(staging_words) ? staging_words[index] : NULL;
}

static const struct tool_option table[] = {
    OPTION("host-pattern", 0, LIST, AT(request, hosts), "PATTERN",
           "among buffers of the host: 2d, 3d, coll with a grid that fits (all three), any other of docs/generators.md "
           "such as stencil:8x2,wrap, or none"),
    OPTION("device-pattern", 0, LIST, AT(request, devices), "PATTERN",
           "among buffers of devices at the same time; every one is run with every one of the host"),
    OPTION("sizes", 'm', SIZES, AT(request, sizes), "LIST",
           "of a message, or of the vector that coll, alltoall, scatter or gather cuts, ascending: SIZE,... or "
           "LOW:HIGH*FACTOR (256B,64KiB,1MiB)", .high = TOOL_SIZES),
    OPTION("weight", 0, NUMBER, AT(request, weight), "W",
           "2d and 3d: so many times the bytes along the first dimension, 3 in the thesis (1)", .least = 1e-6,
           .most = 1e6),
    FLAG("wrap", 0, AT(request, wrap), "2d and 3d: the ends of every dimension are neighbours"),
    OPTION("iterations", 'i', COUNT, AT(request, iterations), "N", "that are timed (100)", .low = 1),
    OPTION("warmup", 'x', COUNT, AT(request, warm_up), "N", "and N before, not timed (10)"),
    FLAG("validate", 'c', AT(request, validate),
         "compare every byte that arrives with what its sender sends, in every timed iteration"),
    FLAG("quick", 'q', AT(request, quick), "is all in order: --validate, one iteration and none before, unless given"),
    SHARED(device, AT(request, device),
           .help = "whose memory the device pattern is among: cuda (default), hip, or host where there is none"),
    OPTION("staging", 0, CHOICE, AT(request, staging), NULL,
           "copies between device and host by the benchmark, part of the time: auto (default), where the MPI does not "
           "take addresses of devices",
           .choice_at = staging_at),
    SHARED(json, AT(request, json), .help = "everything, for machines (docs/amb.schema.json)"),
    END_OF_OPTIONS,
};

/* ---- what it prints ---- */

struct shown {
    const struct request *request;
    const struct hop_amb_job *job;
    const char *host, *device; /* of the table that is being printed */
};

static void print_row(const struct hop_amb_row *row, void *context)
{
    struct shown *shown = context;
    bool validated = shown->request->validate;
    if (shown->job->rank != 0 || shown->request->json)
        return;
    if (shown->host != row->host || shown->device != row->device) {
        printf("\n# Host pattern %s, device pattern %s\n%-10s%18s%18s%18s%12s%s\n", row->host, row->device, "# Size",
               "Avg Latency(us)", "Min Latency(us)", "Max Latency(us)", "Iterations", validated ? "  Validation" : "");
        shown->host = row->host;
        shown->device = row->device;
    }
    printf("%-10llu%18.2f%18.2f%18.2f%12u%s\n", (unsigned long long)row->size_bytes, 1e6 * row->avg_s, 1e6 * row->min_s,
           1e6 * row->max_s, row->iterations,
           !validated         ? ""
           : row->wrong_bytes ? "        Fail"
                              : "        Pass");
    (void)fflush(stdout);
}

static void print_end(const struct hop_amb_result *result)
{
    bool host = strcmp(result->device, "host") == 0, none = strcmp(result->device, "none") == 0;
    printf("\n# Device buffers: %s%s\n",
           none   ? "none"
           : host ? "of the host, as --device host asks for: no device takes part"
                  : result->device,
           none || host     ? ""
           : result->staged ? ", staged through memory of the host by this benchmark"
                            : ", their addresses handed to MPI");
    if (result->validated && !result->wrong_bytes)
        printf("# Every byte as it should be\n");
}

/* ---- the command ---- */

static struct hop_amb *of_command;

static int leave(int status)
{
    status = tool_finish(status);
    hop_amb_finish(of_command);
    return status;
}

static void read_options(int argc, char **argv, struct request *r)
{
    static char *kinds[] = {"2d", "3d", "coll"};
    static const struct tool_sizes sizes = {{256, 64 * 1024, 1024 * 1024}, 3};
    const struct tool_words all = {kinds, HOP_COUNT(kinds)};
    tool_hushed = hop_amb_rank_told() > 0; /* what is wrong with the command is the same for all ranks */
    tool_read(&tool_amb, argc, argv, r);
    tool_hushed = false;
    r->hosts = r->hosts.count ? r->hosts : all;
    r->devices = r->devices.count ? r->devices : all;
    r->sizes = r->sizes.count ? r->sizes : sizes;
    r->validate = r->validate || r->quick;
    if (!tool_given(&r->given, "iterations"))
        r->iterations = r->quick ? 1 : ITERATIONS;
    if (!tool_given(&r->given, "warmup"))
        r->warm_up = r->quick ? 0 : WARM_UP;
}

static int run(int argc, char **argv)
{
    static struct request r;
    struct hop_amb_result *result;
    read_options(argc, argv, &r);
    tool_hushed = hop_amb_rank_told() > 0;
    tool_try(hop_amb_start(&of_command, &tool_diag));
    const struct hop_amb_job *job = hop_amb_job(of_command);
    struct shown shown = {.request = &r, .job = job};
    tool_hushed = job->rank > 0;
    tool_at_end(leave);
    if (job->rank == 0 && !r.json)
        printf("# hopcast-amb %s: Accelerated MPI Benchmark\n# %.*s; ranks: %u, hosts: %u; iterations: %u, after %u to "
               "warm up\n",
               hop_version(), (int)strcspn(job->library, ","), job->library, job->ranks, job->hosts, r.iterations,
               r.warm_up);
    const struct hop_amb_options options = {
        .size = sizeof options,
        .hosts = (const char *const *)r.hosts.at,
        .host_count = r.hosts.count,
        .devices = (const char *const *)r.devices.at,
        .device_count = r.devices.count,
        .sizes = r.sizes.at,
        .size_count = r.sizes.count,
        .weight = r.weight,
        .wrap = r.wrap,
        .iterations = r.iterations,
        .warm_up = r.warm_up,
        .validate = r.validate,
        .device = r.device,
        .staging = (enum hop_amb_staging)r.staging,
        .row_done = print_row,
        .context = &shown,
    };
    tool_try(hop_amb_run(of_command, &options, &result, &tool_diag));
    int status = result->wrong_bytes ? TOOL_NEGATIVE : TOOL_OK;
    if (job->rank == 0 && r.json)
        tool_write_text(NULL, hop_amb_to_json(result));
    else if (job->rank == 0)
        print_end(result);
    if (job->rank == 0 && result->wrong_bytes)
        tool_warn("%llu bytes that arrived are not what was sent", (unsigned long long)result->wrong_bytes);
    hop_amb_result_destroy(result);
    return status;
}

const struct tool_command tool_amb = {
    .name = "amb",
    .summary = "the Accelerated MPI Benchmark: patterns among hosts and devices, at once",
    .usage = "[OPTION ...]",
    .about =
        "Under an MPI's launcher: mpirun -n 16 hopcast-amb, which is the same as hopcast amb. All pairs of a pattern\n"
        "among buffers of the host and one among buffers of devices are exchanged at once by MPI's own calls; the\n"
        "time of an exchange is that from a barrier on, the mean of a rank's iterations; of the ranks the mean, the\n"
        "least and the largest (docs/amb.md).\n",
    .notes = "Exit status: 0 done, 1 a byte that arrived was wrong, 2 it could not be done.\n"
             "example: mpirun -n 16 hopcast-amb --quick --device host\n",
    .options = table,
    .run = run,
};
