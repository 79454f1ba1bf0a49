/* SPDX-License-Identifier: BSD-3-Clause */
/* Options that several subcommands have. */
#include "options_shared.h"

#include <string.h>

#include "tool.h"

/* ---- input ---- */

/* 'f' and a file, or 'e' and a text. */
static void take_source(const struct tool_taking *t, char *text)
{
    struct tool_words *sources = t->to;
    if (t->option->high && sources->count == t->option->high)
        tool_bad_usage(t->command, "one schedule at a time");
    tool_words_add(sources, tool_text("%c%s", t->option->letter == 'e' ? 'e' : 'f', text));
}

const struct tool_option option_schedule = {.kind = OPTION_CALL,
                                            .use = USE_INPUT,
                                            .argument = "SCHEDULE",
                                            .take = take_source},
                         option_expression =
                             OPTION("expression", 'e', CALL, .at = 0, "TEXT",
                                    "a schedule as text, operations separated by ';'", .take = take_source);
const struct tool_option option_on = OPTION(
    "on", 0, TEXT, .at = 0, "TOPOLOGY", "a built-in machine, a fabric such as star:16, a file of any dialect, or live",
    .use = USE_INPUT, .once = true);
static void take_name(const struct tool_taking *t, char *text)
{
    *(*t->option->name == 'g' ? &tool_beside.gpu : &tool_beside.cpu) = text;
}

const struct tool_option option_gpu =
                             OPTION("gpu", 0, CALL, .at = 0, "NAME",
                                    "what the GPUs are, as nvidia-smi says (H100): rates that a capture leaves "
                                    "out follow (docs/uncalibrated.md)",
                                    .take = take_name, .once = true),
                         option_cpu = OPTION("cpu", 0, CALL, .at = 0, "NAME",
                                             "what the processors are, as lscpu says (EPYC 9575F)", .take = take_name,
                                             .once = true);
const struct tool_option option_set =
    OPTION("set", 's', LIST, .at = 0, "NAME=VALUE", "change the topology, as in tau=0.2 (see hopcast topology --help)");
const struct tool_option option_model =
    OPTION("model", 'm', TEXT, .at = 0, "MODEL",
           "{models}; of all domains that it can rule, or DOMAIN=MODEL,... by domain (pcie*: all)", .once = true);
const struct tool_option option_map = OPTION("map", 0, TEXT, .at = 0, "MAP",
                                             "where the ranks of a schedule go: packed (default), cyclic, or a file "
                                             "(hop_placement(3))",
                                             .use = USE_INPUT, .once = true);
const struct tool_option option_collective =
    OPTION("collective", 0, TEXT, .at = 0, "KIND=ALGORITHM,...",
           "how collectives of Chakra traces are made (docs/traces.md)", .once = true);
const struct tool_option option_sources_unlimited =
    FLAG("sources-unlimited", 0, .at = 0, "every source starts all its ready transfers at once (step A off)");

/* ---- output ---- */

const struct tool_option option_json = FLAG("json", 'j', .at = 0, NULL);
const struct tool_option option_output =
    OPTION("output", 'o', TEXT, .at = 0, "FILE", "write there instead of to standard output", .use = USE_OUTPUT);
const struct tool_option option_gantt = FLAG("gantt", 'g', .at = 0, "draw the timeline");
const struct tool_option option_ascii = FLAG("ascii", 0, .at = 0, "keep to ASCII");
const struct tool_option option_trace =
    OPTION("trace", 0, TEXT, .at = 0, "FILE", "also write a trace that Perfetto opens", .use = USE_OUTPUT);
const struct tool_option option_rows = OPTION("rows", 0, WHOLE, .at = 0, "N", NULL, .high = UINT32_MAX);

/* ---- searches ---- */

#define GAP_MAX 1000.0

static void take_gap(const struct tool_taking *t, char *text)
{
    char *end;
    double number = strtod(text, &end);
    bool fine = end != text && (strcmp(end, "%") == 0 || *end == '\0');
    if (fine && *end == '%')
        number /= 100;
    if (!fine || !(number >= 0 && number <= GAP_MAX))
        tool_bad_usage(t->command, "--gap cannot be '%s': a share such as 1%% or 0.01 is expected", text);
    *(double *)t->to = number;
}

const struct tool_option option_gap = OPTION(
    "gap", 0, CALL, .at = 0, "SHARE",
    "good enough: stop once the best is proved to be within that (1%, or 0.01) of the best possible", .take = take_gap);

/* ---- launchers ---- */

static const char *launch_at(unsigned index)
{
    const struct hop_launch_form *form = hop_launch_form_at(index);
    return form ? form->name : NULL;
}

static const char *launch_is(unsigned index)
{
    return hop_launch_form_at(index)->what;
}

const struct tool_option option_launch = OPTION("launch", 0, CHOICE, .at = 0, "FORM", "print one of {choices}",
                                                .use = USE_PRINT, .choice_at = launch_at, .choice_is = launch_is);
const struct tool_option option_launch_dir =
    OPTION("launch-dir", 0, TEXT, .at = 0, "DIR", "write all of them (docs/launch.md)");
const struct tool_option option_hosts =
    OPTION("hosts", 0, NAMES, .at = 0, "NAMES", "of the nodes, for launchers", .needs = "launch launch-dir");
const struct tool_option option_program =
    OPTION("program", 0, TEXT, .at = 0, "COMMAND", "that is launched", .needs = "launch launch-dir");

/* ---- a collective ---- */

static const char *reduce_at(unsigned index)
{
    return hop_reduce_name((enum hop_reduce)index);
}

static const char *type_at(unsigned index)
{
    return hop_type_name((enum hop_type)index);
}

const struct tool_option option_algorithm = OPTION("algorithm", 0, TEXT, .at = 0, "NAME",
                                                   "such as ring or gsb-btb (`hopcast make allreduce --list`); "
                                                   "auto=FILE: what the table says that `hopcast tune collective -o "
                                                   "FILE` wrote");
const struct tool_option option_bytes = OPTION("bytes", 0, SIZE, .at = 0, "SIZE", NULL);
const struct tool_option option_operator =
    OPTION("operator", 0, CHOICE, .at = 0, NULL, "of reductions (sum)", .choice_at = reduce_at);
const struct tool_option option_type =
    OPTION("type", 0, CHOICE, .at = 0, NULL, "of the elements (f32)", .choice_at = type_at);
const struct tool_option option_root =
    OPTION("root", 0, COUNT, .at = 0, "RANK", "of reduce, broadcast, gather, scatter (0)", .high = HOP_RANKS_MAX - 1);
const struct tool_option option_in_place = FLAG("in-place", 0, .at = 0, "one buffer in and out");
const struct tool_option option_segment =
    OPTION("segment", 0, SIZE, .at = 0, "SIZE", "pipelined in pieces of this size (chain, binomial, btb, gsb)");
const struct tool_option option_ranks =
    OPTION("ranks", 'n', COUNT, .at = 0, "N", "how many ranks; they fill the devices in order (default: one a device)",
           .low = 1, .high = HOP_RANKS_MAX);
const struct tool_option option_devices =
    OPTION("devices", 0, TEXT, .at = 0, "LIST", "that the ranks share, such as gpu0,gpu4 or gpu0-7");

/* ---- processes that move real bytes ---- */

static const char *device_at(unsigned index)
{
    const struct hop_device_facts *device = hop_device_at(index);
    return device ? device->name : NULL;
}

static const char *device_is(unsigned index)
{
    return hop_device_at(index)->what;
}

const struct tool_option option_device = OPTION("device", 0, TEXT, .at = 0, "NAME", "{choices}; the first by default",
                                                .choice_at = device_at, .choice_is = device_is);
const struct tool_option option_engines = OPTION(
    "engines", 0, COUNT, .at = 0, "N",
    "host: N threads of each rank, 6 at most, copy, and one reduces; 0 (default): the rank itself does", .high = 6);
const struct tool_option option_emulate = OPTION("emulate", 0, TEXT, .at = 0, "TOPOLOGY",
                                                 "copies go through its links, in real time, slowed down "
                                                 "(docs/emulated.md)",
                                                 .use = USE_INPUT, .excludes = "on");
const struct tool_option option_slower =
    OPTION("slower", 0, NUMBER, .at = 0, "X", "emulated links are so many times as slow", .least = 1, .most = 1e9,
           .needs = "emulate");
const struct tool_option option_chunk = OPTION(
    "chunk", 0, SIZE, .at = 0, "SIZE", "what an emulated link carries at a time (4KiB)", .low = 1, .needs = "emulate");
const struct tool_option option_buffer = OPTION(
    "buffer", 0, SIZE, .at = 0, "SIZE", "of an emulated link (32 chunks; 1 at least)", .low = 1, .needs = "emulate");
const struct tool_option option_in_process = FLAG("in-process", 0, .at = 0, "ranks are threads of this one process");
const struct tool_option option_was_threads = GONE("threads", "--in-process");
const struct tool_option option_pin = FLAG("pin", 0, .at = 0, "each rank on a processor of its own");
const struct tool_option option_timeout =
    OPTION("timeout", 0, TIME, .at = 0, "TIME", "a rank that does not move for so long is lost (10s)", .least = 0.1,
           .most = 1e6);
const struct tool_option option_seed = OPTION("seed", 0, WHOLE, .at = 0, "N", NULL);

/* ---- measurements ---- */

/* NAME and DEVICE, one after the other. */
static void take_rename(const struct tool_taking *t, char *text)
{
    char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        tool_bad_usage(t->command, "--name cannot be '%s': NAME=DEVICE is expected", text);
    tool_words_add(t->to, tool_text("%.*s", (int)(equals - text), text));
    tool_words_add(t->to, equals + 1);
}

const struct tool_option option_name = OPTION("name", 0, CALL, .at = 0, "NAME=DEVICE",
                                              "what the measurements call NAME is DEVICE in the topology; may be "
                                              "repeated",
                                              .take = take_rename);
const struct tool_option option_case_bytes =
    OPTION("bytes", 0, SIZE, .at = 0, "SIZE", "of transfers that do not state theirs (256MiB)", .low = 1);
