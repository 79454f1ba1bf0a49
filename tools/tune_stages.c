/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast tune stages: packets and overlap of transfers of several steps, by a closed form; three ways to gather. */
#include "options_shared.h"
#include "tune.h"

#include <math.h>
#include <string.h>

enum { GATHERS = 64, COLUMN = 9, INDENT = 10, LINE = 110 };

struct request {
    struct tool_given given;
    const char *table, *topology, *model, *output;
    struct tool_words sets, places, rates, groups, gathers;
    struct tool_sizes sizes, packets;
    bool json;
};

static const struct tool_option table[] = {
    OPTION(NULL, 0, TEXT, AT(request, table), "STEPS", NULL, .once = true, .use = USE_INPUT),
    OPTION("step", 0, LIST, AT(request, rates), "NAME=LATENCY+RATE",
           "a step, in their order, instead of a table, as in read=10us+12GB/s", .excludes = "on"),
    SHARED(on, AT(request, topology), .needs = "through"),
    OPTION("through", 0, NAMES, AT(request, places), "DEVICES",
           "of the topology: the steps lead from each to the next, each predicted alone, as in gpu0,host0,gpu4",
           .needs = "on"),
    SHARED(model, AT(request, model), .needs = "on"),
    SHARED(set, AT(request, sets), .needs = "on"),
    OPTION("sizes", 0, SIZES, AT(request, sizes), "LIST",
           "of a transfer, or of all that a gather brings to its root: SIZE,... or LOW:HIGH*FACTOR (64KiB:64MiB*4)"),
    OPTION("packets", 0, SIZES, AT(request, packets), "LIST",
           "beside the whole in one (the sizes at which steps were measured; without any, 64KiB:16MiB*2)"),
    OPTION("groups", 0, LIST, AT(request, groups), "N/...",
           "how many steps are in each of the groups that overlap: 2/1 is the third beside the first two (every "
           "grouping)"),
    OPTION("gather", 0, NAMES, AT(request, gathers), "NODESxDEVICES",
           "what gathers on the root of so many nodes take: the first step reads a device, the second is the network",
           .excludes = "packets groups"),
    SHARED(json, AT(request, json), .help = "all of it, for machines (docs/tune_stages.schema.json)"),
    SHARED(output, AT(request, output), .help = "also write what the steps take as a table"),
    END_OF_OPTIONS,
};

struct work {
    struct hop_network *network; /* NULL: the steps are not a topology's */
    struct hop_stages *stages;
    struct hop_stages_options options;
    hop_stages_overlap overlaps[TOOL_SIZES];
    struct hop_stages_gather gathers[GATHERS * TOOL_SIZES];
    uint32_t gather_count;
    const uint64_t *sizes;
    uint32_t size_count;
    const char *through; /* the devices, with commas between */
};

/* Five digits, as tables of times need them where some are a hundred times the others. */
static const char *show_time(double time_s)
{
    static const char *const units[] = {"s", "ms", "us", "ns"};
    unsigned unit = 0;
    for (; unit < 3 && time_s > 0 && time_s < 1; unit++)
        time_s *= 1e3;
    return isnan(time_s) ? "-" : tool_text("%.5g %s", time_s, units[unit]);
}

/* ---- what steps take ---- */

/* The options --step are a table of their own. */
static void read_rates(const struct request *r, struct work *w)
{
    const char *names = "steps", *rates = "any";
    for (uint32_t i = 0; i < r->rates.count; i++) {
        const char *equals = strchr(r->rates.at[i], '=');
        if (!equals)
            tool_bad_usage(&tool_tune_stages, "--step %s: NAME=LATENCY+RATE is expected, as in read=10us+12GB/s",
                           r->rates.at[i]);
        names = tool_text("%s %.*s", names, (int)(equals - r->rates.at[i]), r->rates.at[i]);
        rates = tool_text("%s %s", rates, equals + 1);
    }
    const char *text = tool_text("%s\n%s\n", names, rates);
    tool_try(hop_stages_parse("--step", text, strlen(text), &w->stages, &tool_diag));
}

/* At all sizes that a packet can have: those of packets and of whole transfers. */
static void predict(const struct request *r, struct work *w)
{
    static const struct tool_sizes usual = {
        {1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22, 1 << 23, 1 << 24}, 9};
    const struct tool_sizes *packets = r->packets.count ? &r->packets : &usual;
    static uint64_t sizes[2 * TOOL_SIZES];
    uint32_t count = 0;
    for (uint32_t p = 0, s = 0; p < packets->count || s < w->size_count;) {
        bool packet = s == w->size_count || (p < packets->count && packets->at[p] <= w->sizes[s]);
        uint64_t next = packet ? packets->at[p++] : w->sizes[s++];
        if (count == 0 || sizes[count - 1] < next)
            sizes[count++] = next;
    }
    w->options.packets = packets->at;
    w->options.packet_count = packets->count;
    w->network = tool_network(tool_load_topology(r->topology, &r->sets), r->model);
    for (uint32_t i = 0; i < r->places.count; i++)
        w->through = i ? tool_text("%s,%s", w->through, r->places.at[i]) : r->places.at[0];
    tool_try_at(hop_stages_predict(w->network, (const char *const *)r->places.at, r->places.count, sizes, count,
                                   &w->stages, &tool_diag),
                "--through %.180s", w->through);
}

static void load_steps(const struct request *r, struct work *w)
{
    if ((r->table != NULL) + (r->rates.count > 0) + (r->topology != NULL) != 1)
        tool_bad_usage(&tool_tune_stages, "what do the steps take? A table STEPS, or --step, or --on with --through");
    if (r->table)
        tool_try_file(hop_stages_load(r->table, &w->stages, &tool_diag), "a table of steps (docs/stages.md)");
    else if (r->topology)
        predict(r, w);
    else
        read_rates(r, w);
}

/* ---- what is asked ---- */

/* 2/1: two steps, and a third that overlaps them. */
static hop_stages_overlap read_groups(const struct work *w, const char *text)
{
    hop_stages_overlap overlap = 0;
    uint32_t steps = 0;
    for (const char *at = text; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL) {
        size_t length = strcspn(at, "/");
        steps += length == 1 && *at > '0' && *at <= '0' + HOP_STAGES_MAX ? (uint32_t)(*at - '0') : 100;
        if (steps < w->stages->count)
            overlap |= 1u << (steps - 1);
    }
    if (steps != w->stages->count)
        tool_bad_usage(&tool_tune_stages, "--groups %s: numbers of steps with '/' between, %u together", text,
                       w->stages->count);
    return overlap;
}

static void read_overlaps(const struct request *r, struct work *w)
{
    if (r->groups.count > TOOL_SIZES)
        tool_bad_usage(&tool_tune_stages, "more than %d groupings", TOOL_SIZES);
    for (uint32_t i = 0; i < r->groups.count; i++)
        w->overlaps[i] = read_groups(w, r->groups.at[i]);
    w->options.overlaps = r->groups.count ? w->overlaps : NULL;
    w->options.overlap_count = r->groups.count;
}

static void read_gathers(const struct request *r, struct work *w)
{
    if (r->gathers.count > GATHERS)
        tool_bad_usage(&tool_tune_stages, "more than %d gathers", GATHERS);
    for (uint32_t i = 0; i < r->gathers.count; i++) {
        const char *text = r->gathers.at[i], *by = strchr(text, 'x');
        if (!by)
            tool_bad_usage(&tool_tune_stages, "--gather %s: NODESxDEVICES is expected, as in 16x4", text);
        uint64_t nodes = tool_whole(&tool_tune_stages, "--gather, nodes", tool_text("%.*s", (int)(by - text), text), 1,
                                    1u << 20),
                 devices = tool_whole(&tool_tune_stages, "--gather, devices", by + 1, 1, 1u << 20);
        for (uint32_t s = 0; s < w->size_count; s++) {
            struct hop_stages_gather *g = &w->gathers[w->gather_count++];
            *g = (struct hop_stages_gather){.nodes = (uint32_t)nodes,
                                            .devices = (uint32_t)devices,
                                            .bytes = (w->sizes[s] - 1) / (nodes * devices) + 1};
            tool_try(hop_stages_gather(w->stages, g, &tool_diag));
        }
    }
}

/* ---- the answer ---- */

static void print_way(const struct work *w, uint64_t bytes, const struct hop_stages_way *way, bool best)
{
    printf("%c %8s %8s %9llu", best ? '*' : ' ', tool_short_bytes(bytes),
           way->packet_bytes ? tool_short_bytes(way->packet_bytes) : "whole", (unsigned long long)way->packets);
    for (uint32_t s = 0; s < w->stages->count; s++)
        printf("  %*s", COLUMN, show_time(way->steps_s[s]));
    char overlap[HOP_STAGES_REASON_SIZE];
    bool overlaps = way->packets > 1 && !isnan(way->time_s);
    printf("  %*s  %11s%s%s\n", COLUMN, show_time(way->time_s),
           way->time_s > 0 ? RATE((double)bytes / way->time_s) : "-", overlaps ? "  " : "",
           overlaps ? hop_stages_show_overlap(w->stages, way->overlap, overlap, sizeof overlap) : "");
}

/* The words of hopcast make for a transfer in its best packets. */
static const char *show_pattern(const struct work *w, uint64_t bytes, const struct hop_stages_way *way)
{
    const char *groups = "";
    uint32_t first = 0;
    for (uint32_t s = 0; s < w->stages->count; s++) {
        if (s + 1 < w->stages->count && !(way->overlap >> s & 1))
            continue;
        groups = tool_text("%s%s%u", groups, *groups ? "/" : "", s + 1 - first);
        first = s + 1;
    }
    return tool_text("staged:%u,bytes=%s,packet=%s,groups=%s", w->stages->count + 1, BYTES(bytes),
                     BYTES(way->packet_bytes ? way->packet_bytes : bytes), groups);
}

/* What the same takes where steps may share links. */
static double simulate(const struct request *r, const struct work *w, const char *pattern)
{
    const struct hop_ranks ranks = {(const char *const *)r->places.at, r->places.count};
    struct hop_schedule *schedule;
    struct hop_timeline *timeline;
    tool_try(hop_pattern_schedule(pattern, &ranks, 1, &schedule, &tool_diag));
    tool_try(hop_simulate(w->network, schedule, NULL, &timeline, &tool_diag));
    double makespan_s = hop_timeline_makespan_s(timeline);
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(schedule);
    return makespan_s;
}

/* Whether anything is known of it. */
static bool print_transfer(const struct work *w, uint64_t bytes, struct hop_stages_choice *choice)
{
    struct hop_stages_way ways[HOP_STAGE_TIMES + 1];
    uint32_t count;
    tool_try(hop_stages_ways(w->stages, bytes, &w->options, ways, &count, &tool_diag));
    bool known = hop_stages_choose(w->stages, bytes, &w->options, choice, NULL) == HOP_OK;
    for (uint32_t i = 0; i < count; i++)
        print_way(w, bytes, &ways[i], known && ways[i].packet_bytes == choice->best.packet_bytes);
    return known;
}

static bool print_transfers(const struct request *r, const struct work *w)
{
    struct hop_stages_choice choices[TOOL_SIZES];
    bool known[TOOL_SIZES], any = false;
    printf("  %8s %8s %9s", "bytes", "packet", "packets");
    for (uint32_t s = 0; s < w->stages->count; s++)
        printf("  %*.20s", COLUMN, w->stages->stages[s].name);
    printf("  %*s  %11s  what overlaps\n", COLUMN, "time", "rate");
    for (uint32_t i = 0; i < w->size_count; i++) {
        known[i] = print_transfer(w, w->sizes[i], &choices[i]);
        any = any || known[i];
    }
    printf("\n");
    for (uint32_t i = 0; i < w->size_count; i++) {
        const char *size = tool_short_bytes(w->sizes[i]), *pattern;
        printf("%-9s ", size);
        tool_print_wrapped(known[i] ? choices[i].reason : "not known: steps were measured at smaller sizes only",
                           INDENT, LINE);
        if (!known[i] || !w->network)
            continue;
        pattern = show_pattern(w, w->sizes[i], &choices[i].best);
        printf("%*ssimulated, steps sharing links: %s\n%*shopcast make %s --devices %s\n", INDENT, "",
               show_time(simulate(r, w, pattern)), INDENT, "", pattern, w->through);
    }
    return any;
}

static bool print_gathers(const struct work *w)
{
    bool any = false;
    printf("%6s %8s %9s  %9s %9s %9s  %10s  %10s  %10s  best\n", "nodes", "devices", "of each", "read", "put",
           "put all", "approach 1", "approach 2", "approach 3");
    for (uint32_t i = 0; i < w->gather_count; i++) {
        const struct hop_stages_gather *g = &w->gathers[i];
        printf("%6u %8u %9s  %9s %9s %9s  %10s  %10s  %10s  %.*s%s\n", g->nodes, g->devices, tool_short_bytes(g->bytes),
               show_time(g->read_s), show_time(g->put_s), show_time(g->put_all_s), show_time(g->time_s[0]),
               show_time(g->time_s[1]), show_time(g->time_s[2]), (int)strcspn(g->reason, ","), g->reason,
               g->guessed && !isnan(g->time_s[g->best]) ? ", measured at other sizes" : "");
        any = any || !isnan(g->time_s[g->best]);
    }
    printf("1: the root gets from one device after the other; 2: every node puts device by device; 3: every node "
           "collects,\n"
           "then puts. put: of one device's bytes, put all: of all of a node's\n");
    return any;
}

/* ---- the command ---- */

static int run(int argc, char **argv)
{
    static const uint64_t usual[] = {1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26};
    static struct request r;
    static struct work w;
    tool_read(&tool_tune_stages, argc, argv, &r);
    tool_check_outputs(&r.given);
    w.options.packets = r.packets.count ? r.packets.at : NULL;
    w.options.packet_count = r.packets.count;
    w.sizes = r.sizes.count ? r.sizes.at : usual;
    w.size_count = r.sizes.count ? r.sizes.count : HOP_COUNT(usual);
    load_steps(&r, &w);
    read_overlaps(&r, &w);
    read_gathers(&r, &w);
    if (r.output)
        tool_write_text(r.output, hop_stages_to_text(w.stages));
    if (r.json) {
        tool_write_text(NULL, hop_stages_to_json(w.stages, &w.options, w.sizes, w.gather_count ? 0 : w.size_count,
                                                 w.gathers, w.gather_count));
        return TOOL_OK;
    }
    return (w.gather_count ? print_gathers(&w) : print_transfers(&r, &w)) ? TOOL_OK : TOOL_NEGATIVE;
}

const struct tool_command tool_tune_stages = {
    .name = "tune stages",
    .summary = "packets and overlap of transfers of several steps",
    .usage = "STEPS|--step NAME=LATENCY+RATE ...|--on TOPOLOGY --through DEVICES [OPTION ...]",
    .about =
        "A transfer that takes several steps, such as device to host, host to host, host to device: in packets of "
        "which\n"
        "size is it fastest, and which steps are to overlap? From what each step takes by size, with steps of a group\n"
        "behind each other and groups overlapping: T = sum of the groups + (packets - 1) x the slowest group, every\n"
        "packet charged in full (Aggarwal et al. 2011).\n"
        "\n"
        "STEPS is a table (docs/stages.md); data/steps has those of that paper.\n"
        "\n",
    .options = table,
    .notes = "Exit status 1: of no size is anything known.\n"
             "\n"
             "example: hopcast tune stages --step read=10us+12GB/s --step network=3us+23GB/s --step write=8us+13GB/s\n",
    .run = run,
};
