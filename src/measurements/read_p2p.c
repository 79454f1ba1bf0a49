/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurements from p2pBandwidthLatencyTest (CUDA samples): a group for each cell off the diagonal.
 *
 * A cell of a one-way matrix is one copy that ran alone. Until the matrices were called "(P2P Writes)" it goes from the
 * GPU of the column to that of the row, since then the other way round; "(P2P Reads)" are run by the receiver and go
 * from the column to the row. A cell of a two-way matrix is the sum of two copies that ran together: half of it each.
 * Each run begins with the name of the sample in brackets; what stands before the first is of the first.
 */
#include "measurements/measurements.h"
#include "import/p2p_text.h"

#include <math.h>
#include <stdio.h>

#define GB 1e9

static const struct {
    enum hop_p2p_matrix matrix;
    const char *group;
    bool two_way, enabled, reads;
} kinds[] = {
    {HOP_P2P_ONE_WAY, "uni-enabled", false, true, false},
    {HOP_P2P_ONE_WAY_READS, "uni-reads", false, true, true},
    {HOP_P2P_ONE_WAY_DISABLED, "uni-disabled", false, false, false},
    {HOP_P2P_TWO_WAY, "bidir-enabled", true, true, false},
    {HOP_P2P_TWO_WAY_DISABLED, "bidir-disabled", true, false, false},
};

static const char *way_of(const struct hop_p2p *p2p, size_t kind, uint32_t row, uint32_t column)
{
    if (!kinds[kind].enabled)
        return "P2P disabled; staged through host memory";
    if (hop_p2p_staged(p2p, row, column))
        return "no P2P access; staged through host memory";
    return kinds[kind].reads ? "P2P enabled; pulled by the receiver" : "P2P enabled";
}

static void add_cell(struct hop_row_builder *b, const struct hop_p2p *p2p, size_t kind, uint32_t row, uint32_t column)
{
    const struct hop_p2p_cell *cell = hop_p2p_at(p2p, kinds[kind].matrix, row, column);
    const char *way = way_of(p2p, kind, row, column);
    char names[2][16];
    if (isnan(cell->value))
        return;
    bool from_row = kinds[kind].two_way || (p2p->from_row && !kinds[kind].reads);
    (void)snprintf(names[0], sizeof names[0], "gpu%u", from_row ? row : column);
    (void)snprintf(names[1], sizeof names[1], "gpu%u", from_row ? column : row);
    b->line = cell->line;
    b->column = cell->column;
    if (!kinds[kind].two_way) {
        hop_rows_group(b, "%s:%s>%s", kinds[kind].group, names[0], names[1]);
        hop_rows_add(b, (const char *[]){names[0], names[1]}, 0, cell->value * GB, "alone; %s", way);
        return;
    }
    hop_rows_group(b, "%s:%s-%s:cell%u.%u", kinds[kind].group, names[0], names[1], row, column);
    for (unsigned back = 0; back < 2; back++)
        hop_rows_add(b, (const char *[]){names[back], names[1 - back]}, 0, cell->value * GB / 2,
                     "half of printed two-way sum %.10g; %s", cell->value, way);
}

static void read_run(const struct hop_source *source, uint32_t lines, struct hop_p2p *p2p, struct hop_measurements *m)
{
    struct hop_row_builder b = {.made = m};
    m->failure.status = hop_p2p_read(source, lines, p2p, m->failure.diag);
    for (size_t k = 0; k < HOP_COUNT(kinds); k++) {
        for (uint32_t row = 0; row < p2p->count && p2p->matrix[kinds[k].matrix] && hop_measurements_good(m); row++) {
            for (uint32_t column = 0; column < p2p->count; column++) {
                if (row != column)
                    add_cell(&b, p2p, k, row, column);
            }
        }
    }
    hop_p2p_finish(p2p);
}

static void read_p2p(const struct hop_source *source, struct hop_measurements *m)
{
    static const char banner[] = HOP_P2P_BANNER;
    struct hop_p2p *p2p = hop_arena_alloc(&m->arena, sizeof *p2p);
    const char *end = source->text + source->size, *begin = source->text;
    const char *next = memmem(begin, source->size, banner, sizeof banner - 1);
    uint32_t lines = 0;
    while (p2p && begin && hop_measurements_good(m)) {
        if (next)
            next = memmem(next + 1, (size_t)(end - next - 1), banner, sizeof banner - 1);
        struct hop_source run = *source;
        run.text = (char *)begin; /* it is only read */
        run.size = (size_t)((next ? next : end) - begin);
        read_run(&run, lines, p2p, m);
        for (const char *c = begin; c < begin + run.size; c++)
            lines += *c == '\n';
        begin = next;
    }
    if (hop_measurements_good(m) && m->count == 0)
        hop_measurements_refuse(m, HOP_ERR_INVALID, 0, 0,
                                "there is no bandwidth between two GPUs\na bandwidth matrix of two GPUs or more");
}

const struct hop_measurements_reader hop_reader_p2p = {hop_p2p_detect, read_p2p};
