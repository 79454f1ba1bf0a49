/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast traffic: who sends how much to whom. */
#include <string.h>

#include "options_shared.h"
#include "tool.h"

struct request {
    struct tool_given given;
    struct tool_words files;
    enum hop_memory memory;
    uint64_t pairs;
    const char *svg, *output;
};

static const struct tool_option table[] = {
    {.kind = OPTION_LIST,
     .use = USE_INPUT,
     .argument = "TRAFFIC",
     AT(request, files),
     .missing = "TRAFFIC is missing: a traffic file, a pattern such as stencil:4x4, or -"},
    OPTION("memory", 0, CHOICE, AT(request, memory), NULL,
           "what the bytes of TRAFFIC are, where it does not say (device)", .choices = "device host"),
    OPTION("pairs", 0, WHOLE, AT(request, pairs), "N", "how many of the pairs with most bytes are shown (10)"),
    OPTION("svg", 0, TEXT, AT(request, svg), "FILE", "the matrix as a drawing", .use = USE_OUTPUT),
    SHARED(output, AT(request, output), .help = "all of it as a profile (CSV), which hopcast reads"),
    END_OF_OPTIONS,
};

#define SHOWN(bytes) hop_show_bytes((double)(bytes), (char[32]){0}, 32)

static uint64_t bytes_of(const struct hop_traffic_flow *flow)
{
    return flow->bytes[HOP_MEMORY_HOST] + flow->bytes[HOP_MEMORY_DEVICE];
}

static int by_bytes(const void *a, const void *b)
{
    const struct hop_traffic_flow *x = a, *y = b;
    int order = HOP_ORDER(bytes_of(y), bytes_of(x));
    order = order ? order : HOP_ORDER(x->from, y->from);
    return order ? order : HOP_ORDER(x->to, y->to);
}

static void show(const struct hop_traffic *traffic, uint64_t most)
{
    uint32_t count = hop_traffic_count(traffic);
    struct hop_traffic_flow *flows = tool_alloc(count + 1, sizeof *flows);
    if (count) {
        memcpy(flows, hop_traffic_flows(traffic), count * sizeof *flows);
        qsort(flows, count, sizeof *flows, by_bytes);
    }
    uint64_t host = hop_traffic_bytes(traffic, HOP_MEMORY_HOST), device = hop_traffic_bytes(traffic, HOP_MEMORY_DEVICE);
    printf("%u ranks, %u pairs; %s of host memory, %s of device memory\n", hop_traffic_ranks(traffic), count,
           SHOWN(host), SHOWN(device));
    for (uint32_t i = 0; i < count && i < most; i++) {
        const struct hop_traffic_flow *f = &flows[i];
        printf("%s%6u -> %-6u %12s host, %12s device\n", i ? "" : "those with most bytes:\n", f->from, f->to,
               SHOWN(f->bytes[HOP_MEMORY_HOST]), SHOWN(f->bytes[HOP_MEMORY_DEVICE]));
    }
}

static int run(int argc, char **argv)
{
    static struct request r = {.pairs = 10};
    struct hop_traffic *all = NULL;
    tool_read(&tool_traffic, argc, argv, &r);
    for (uint32_t i = 0; i < r.files.count; i++) {
        struct hop_traffic *one;
        const char *source = r.files.at[i];
        if (hop_pattern_is(source))
            tool_try(hop_pattern_traffic(source, r.memory, &one, &tool_diag));
        else
            tool_try_file(hop_traffic_load(source, r.memory, &one, &tool_diag),
                          "a traffic file or a pattern (docs/traffic.md)");
        bool larger = all && hop_traffic_ranks(one) > hop_traffic_ranks(all);
        struct hop_traffic *less = larger ? all : one;
        all = !all || larger ? one : all;
        if (less == all)
            continue;
        tool_try(hop_traffic_merge(all, less, &tool_diag));
        hop_traffic_destroy(less);
    }
    if (r.output)
        tool_write_text(r.output, hop_traffic_to_text(all));
    if (r.svg)
        tool_write_text(r.svg, hop_traffic_to_svg(all, r.files.count == 1 ? r.files.at[0] : "several files"));
    if (!r.output && !r.svg)
        show(all, r.pairs);
    hop_traffic_destroy(all);
    return TOOL_OK;
}

const struct tool_command tool_traffic = {
    .name = "traffic",
    .summary = "who sends how much to whom: as a table, a drawing, or a profile",
    .usage = "TRAFFIC ... [OPTION ...]",
    .about = "Shows traffic between ranks, as libhopcast_mpi writes it or in another form of docs/traffic.md. Several\n"
             "files, such as those that the ranks of an aborted job leave, are added up.\n",
    .options = table,
    .notes = "example: hopcast traffic hopcast-traffic.json --svg traffic.svg\n",
    .run = run,
};
