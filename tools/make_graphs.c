/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast make graphs: all congestion graphs of a topology, counted, listed, or each in a file. */
#include "make.h"

#include <inttypes.h>

enum { FILES_MAX = 99999 };

/* What the visitor keeps between graphs. */
struct gathering {
    const struct request *request;
    uint32_t size;
    uint64_t of_size, number;
};

static void print_size(const struct gathering *g)
{
    printf("%9" PRIu32 "  %12" PRIu64 "\n", g->size, g->of_size);
    (void)fflush(stdout); /* the next size takes longer */
}

static bool count_graph(const struct hop_schedule *graph, void *context)
{
    struct gathering *g = context;
    uint32_t size = hop_schedule_count(graph);
    if (size != g->size) {
        if (g->size)
            print_size(g);
        g->size = size;
        g->of_size = 0;
    }
    g->of_size++;
    return true;
}

static bool list_graph(const struct hop_schedule *graph, void *context)
{
    (void)context;
    for (uint32_t i = 0; i < hop_schedule_count(graph); i++) {
        const struct hop_op *op = hop_schedule_op(graph, i);
        printf("%s%s -> %s %s", i ? "; " : "", op->from.device, op->to.device, BYTES(op->bytes));
    }
    if (putchar('\n') == EOF)
        tool_end(TOOL_OK); /* which says so */
    return true;
}

static bool file_graph(const struct hop_schedule *graph, void *context)
{
    struct gathering *g = context;
    const struct request *r = g->request;
    bool json = r->format == MAKE_JSON;
    char path[4096], command[480];
    if (++g->number > FILES_MAX)
        tool_bad_usage(&tool_make, "there are more than %d graphs, too many for files; --list prints any number",
                       FILES_MAX);
    (void)snprintf(path, sizeof path, "%s/graph-%05" PRIu64 ".%s", r->output_dir, g->number, json ? "json" : "hop");
    make_show_command(r, command, sizeof command);
    if (json)
        tool_write_text(path, hop_schedule_to_json(graph));
    else
        tool_write_remarked(path, graph, command, NULL);
    return true;
}

void make_run_graphs(struct request *r)
{
    struct gathering g = {.request = r};
    uint64_t count;
    if (r->output_dir)
        tool_make_directory(r->output_dir);
    hop_graph_visitor *each = r->output_dir ? file_graph : r->list ? list_graph : count_graph;
    if (each == count_graph)
        printf("transfers        graphs\n");
    tool_try(hop_make_graphs(&r->ranks, r->topology, r->max_transfers, r->bytes, each, &g, &count, &tool_diag));
    if (each == count_graph && g.size)
        print_size(&g);
    if (each == count_graph)
        printf("%9s  %12" PRIu64 "\n", "all", count);
}
