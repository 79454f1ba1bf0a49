/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the Graph500 reference (github.com/graph500/graph500) calls instead of a search of its own, linked with its program on
 * one process: it hands its edges and roots to another program, and that one's parents to its validator.
 *
 *     first   GRAPH500_EDGES and GRAPH500_ROOTS name files to write: pairs of 32 bits; 64 bits each, the first root twice
 *     then    GRAPH500_PARENTS names a file to read: for each root it and the parents of all vertices, 64 bits each
 */
#include "common.h"
#include "csr_reference.h"

#include "aml.h"

#include <stdio.h>
#include <stdlib.h>

oned_csr_graph g;        /* of which the reference asks who has no neighbours */
int64_t *column;         /* what COLUMN() reads */
unsigned int *rowstarts; /* and the validator */
static int64_t *parents;
static FILE *roots, *given;

static FILE *file_of(const char *variable, const char *mode)
{
    const char *path = getenv(variable);
    FILE *file = path ? fopen(path, mode) : NULL;
    if (path && !file) {
        perror(path);
        exit(1);
    }
    return file;
}

void make_graph_data_structure(const tuple_graph *const graph)
{
    FILE *edges = file_of("GRAPH500_EDGES", "wb");
    for (int64_t e = 0; edges && e < graph->edgememory_size; e++) {
        const uint32_t ends[2] = {(uint32_t)get_v0_from_edge(&graph->edgememory[e]),
                                  (uint32_t)get_v1_from_edge(&graph->edgememory[e])};
        if (fwrite(ends, sizeof ends, 1, edges) != 1)
            exit(1);
    }
    if (edges && fclose(edges) != 0)
        exit(1);
    roots = file_of("GRAPH500_ROOTS", "wb");
    given = file_of("GRAPH500_PARENTS", "rb");
    convert_graph_to_oned_csr(graph, &g);
    column = g.column;
    rowstarts = g.rowstarts;
}

void run_bfs(int64_t root, int64_t *predecessors)
{
    const size_t vertices = (size_t)g.tg->nglobaledges / 16,
                 known = vertices < g.nlocalverts ? vertices : g.nlocalverts;
    int64_t of;
    parents = predecessors;
    if (roots && (fwrite(&root, sizeof root, 1, roots) != 1 || fflush(roots) != 0))
        exit(1);
    if (!given)
        return;
    rewind(given);
    while (fread(&of, sizeof of, 1, given) == 1 && of != root)
        fseek(given, (long)(vertices * sizeof of), SEEK_CUR);
    if (of != root || fread(predecessors, sizeof of, known, given) != known) {
        fprintf(stderr, "no parents of root %lld\n", (long long)root);
        exit(1);
    }
}

/* Each edge at its larger end. */
void get_edge_count_for_teps(int64_t *edges)
{
    *edges = 0;
    for (size_t v = 0; v < g.nlocalverts; v++) {
        for (int64_t e = g.rowstarts[v]; parents[v] != -1 && e < g.rowstarts[v + 1]; e++)
            *edges += COLUMN(e) <= (int64_t)v;
    }
}

void clean_pred(int64_t *predecessors)
{
    for (size_t v = 0; v < g.nlocalverts; v++)
        predecessors[v] = -1;
}

void free_graph_data_structure(void)
{
    free_oned_csr_graph(&g);
}

size_t get_nlocalverts_for_pred(void)
{
    return g.nlocalverts;
}
