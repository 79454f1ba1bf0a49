/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast make graphs: all congestion graphs of a topology, counted, listed, or each in a file. */
#include "make.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MAX = 99999 };

/* What the visitor keeps between graphs. */
struct gathering {
    const struct request *request;
    uint32_t size;
    uint64_t of_size, number;
    int status;
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
    struct gathering *g = context;
    for (uint32_t i = 0; i < hop_schedule_count(graph); i++) {
        const struct hop_op *op = hop_schedule_op(graph, i);
        printf("%s%s -> %s %s", i ? "; " : "", op->from.device, op->to.device, BYTES(op->bytes));
    }
    if (putchar('\n') == EOF)
        g->status = TOOL_BAD;
    return g->status == TOOL_OK;
}

/* The text of a graph's file, the command at its head; NULL: out of memory. */
static char *graph_text(const struct request *r, const struct hop_schedule *graph)
{
    if (r->format == MAKE_JSON)
        return hop_schedule_to_json(graph);
    char command[480], *text = hop_schedule_to_text(graph);
    size_t size = text ? strlen(text) + sizeof command + 8 : 0;
    char *whole = text ? malloc(size) : NULL;
    make_show_command(r, command, sizeof command);
    if (whole)
        (void)snprintf(whole, size, "# %s\n%s", command, text);
    free(text);
    return whole;
}

static bool file_graph(const struct hop_schedule *graph, void *context)
{
    struct gathering *g = context;
    if (++g->number > FILES_MAX) {
        g->status = tool_bad_usage(
            &tool_make, "there are more than %d graphs, too many for files; --list prints any number", FILES_MAX);
        return false;
    }
    size_t size = strlen(g->request->output_dir) + 32;
    char *path = malloc(size);
    char *text = graph_text(g->request, graph);
    if (path && text) {
        (void)snprintf(path, size, "%s/graph-%05" PRIu64 ".%s", g->request->output_dir, g->number,
                       g->request->format == MAKE_JSON ? "json" : "hop");
        g->status = tool_write(path, text);
    } else {
        g->status = tool_out_of_memory();
    }
    free(path);
    free(text);
    return g->status == TOOL_OK;
}

int make_run_graphs(struct request *r)
{
    struct hop_diag diag;
    struct gathering g = {.request = r, .status = TOOL_OK};
    uint64_t count;
    if (r->output_dir && mkdir(r->output_dir, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "hopcast: cannot make the directory %s: %s\n", r->output_dir, strerror(errno));
        return TOOL_BAD;
    }
    hop_graph_visitor *each = r->output_dir ? file_graph : r->list ? list_graph : count_graph;
    if (each == count_graph)
        printf("transfers        graphs\n");
    enum hop_status status =
        hop_make_graphs(&r->ranks, r->topology, r->max_transfers, r->bytes, each, &g, &count, &diag);
    if (g.status == TOOL_OK && status != HOP_OK)
        return tool_fail(&diag);
    if (g.status == TOOL_OK && each == count_graph) {
        if (g.size)
            print_size(&g);
        printf("%9s  %12" PRIu64 "\n", "all", count);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "hopcast: cannot write to standard output: %s\n", strerror(errno));
        return TOOL_BAD;
    }
    return g.status;
}
