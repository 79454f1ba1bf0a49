/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic as a matrix: row r is what rank r sends, column c what rank c receives, host and device memory beside each
 * other on one logarithmic scale of colours. Bars at the right and below are the sums, what each sends and receives.
 * Where there are more ranks than cells, as many neighbours as needed share one. Lengths are in pixels.
 */
#include <math.h>
#include <stdio.h>

#include "hopcast/traffic.h"
#include "report/draw.h"

enum { CELLS_MOST = 128, LEVELS = 32 };

#define LEFT 76.0
#define TOP 104.0
#define SIDE_MOST 512.0
#define SIDE_LEAST 224.0
#define CELL_MOST 28.0
#define BARS 46.0
#define GAP 8.0 /* between matrix and bars */
#define BETWEEN 132.0
#define LEGEND 78.0

struct matrix {
    const struct hop_traffic *traffic;
    uint32_t ranks, per, cells; /* ranks; of a cell; cells a row */
    double *bytes[HOP_MEMORY_COUNT], *sent[HOP_MEMORY_COUNT], *received[HOP_MEMORY_COUNT];
    double low, high, sum; /* of a cell; the fullest sum of a row or column */
    double side, cell;
};

/* ---- numbers ---- */

static bool make_room(struct matrix *m)
{
    bool fine = true;
    for (unsigned memory = 0; memory < HOP_MEMORY_COUNT; memory++) {
        m->bytes[memory] = calloc((size_t)m->cells * m->cells, sizeof(double));
        m->sent[memory] = calloc(m->cells, sizeof(double));
        m->received[memory] = calloc(m->cells, sizeof(double));
        fine = fine && m->bytes[memory] && m->sent[memory] && m->received[memory];
    }
    return fine;
}

static void fill(struct matrix *m)
{
    const struct hop_traffic_flow *flows = hop_traffic_flows(m->traffic);
    for (uint32_t i = 0; i < hop_traffic_count(m->traffic); i++) {
        uint32_t from = flows[i].from / m->per, to = flows[i].to / m->per;
        for (unsigned memory = 0; memory < HOP_MEMORY_COUNT; memory++) {
            double bytes = (double)flows[i].bytes[memory];
            m->bytes[memory][from * m->cells + to] += bytes;
            m->sent[memory][from] += bytes;
            m->received[memory][to] += bytes;
        }
    }
    m->low = INFINITY;
    for (unsigned memory = 0; memory < HOP_MEMORY_COUNT; memory++) {
        for (uint32_t i = 0; i < m->cells * m->cells; i++) {
            m->high = fmax(m->high, m->bytes[memory][i]);
            m->low = m->bytes[memory][i] > 0 ? fmin(m->low, m->bytes[memory][i]) : m->low;
        }
        for (uint32_t i = 0; i < m->cells; i++)
            m->sum = fmax(m->sum, fmax(m->sent[memory][i], m->received[memory][i]));
    }
}

/* 0 to 1 */
static double height(const struct matrix *m, double bytes)
{
    return m->high > m->low ? log(bytes / m->low) / log(m->high / m->low) : 1;
}

/* From pale yellow over green and blue to dark violet, ever darker. */
static void colour_at(double at, char colour[8])
{
    static const unsigned char along[][3] = {{0xf3, 0xf3, 0xc4}, {0xa9, 0xdc, 0x9b}, {0x4f, 0xb8, 0xa0},
                                             {0x2b, 0x82, 0x9e}, {0x35, 0x4b, 0x8c}, {0x3b, 0x0f, 0x54}};
    double scaled = at * (HOP_COUNT(along) - 1);
    unsigned below = (unsigned)fmin(scaled, HOP_COUNT(along) - 2), part[3];
    for (unsigned c = 0; c < 3; c++)
        part[c] = (unsigned)lround(along[below][c] + (scaled - below) * (along[below + 1][c] - along[below][c])) & 0xff;
    (void)snprintf(colour, 8, "#%02x%02x%02x", part[0], part[1], part[2]);
}

/* ---- drawing ---- */

/* All cells of one colour are one path. */
static void draw_cells(struct hop_buffer *out, const struct matrix *m, unsigned memory, double left)
{
    double gap = m->cell >= 8 ? 1 : 0, width = m->cell - gap;
    for (unsigned level = 0; level < LEVELS; level++) {
        char colour[8];
        bool any = false;
        colour_at((double)level / (LEVELS - 1), colour);
        for (uint32_t i = 0; i < m->cells * m->cells; i++) {
            double bytes = m->bytes[memory][i];
            if (!(bytes > 0) || (unsigned)lround(height(m, bytes) * (LEVELS - 1)) != level)
                continue;
            hop_svg(out, any ? "M%.2f %.2fh%.2fv%.2fh-%.2fz" : "<path d='M%.2f %.2fh%.2fv%.2fh-%.2fz",
                    left + (i % m->cells) * m->cell, TOP + (i / m->cells) * m->cell, width, width, width);
            any = true;
        }
        if (any)
            hop_svg(out, "' fill='%s'/>\n", colour);
    }
}

static void draw_sums(struct hop_buffer *out, const struct matrix *m, unsigned memory, double left)
{
    double width = fmax(m->cell - (m->cell >= 8 ? 1 : 0), 0.5);
    for (uint32_t i = 0; i < m->cells; i++) {
        double at = i * m->cell, sent = m->sent[memory][i] / m->sum * BARS,
               got = m->received[memory][i] / m->sum * BARS;
        if (sent > 0)
            hop_svg_bar(out, left + m->side + GAP, TOP + at + width, sent, width, "#94a3b8");
        if (got > 0)
            hop_svg_bar(out, left + at, TOP + m->side + GAP + got, width, got, "#94a3b8");
    }
    hop_svg_text(out, left + m->side + GAP, TOP - 6, "start", 9, "sends");
    hop_svg_text(out, left - 6, TOP + m->side + GAP + 9, "end", 9, "receives");
}

static void draw_ranks(struct hop_buffer *out, const struct matrix *m, double left)
{
    uint32_t step = (uint32_t)fmax(hop_tick_step(m->ranks, 12), m->per);
    hop_svg(out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='none' stroke='#cbd5e1'/>\n", left - 1,
            TOP - 1, m->side + 1, m->side + 1);
    for (uint32_t rank = 0; rank < m->ranks; rank += step) {
        double at = ((double)rank / m->per + 0.5) * m->cell;
        char number[16];
        (void)snprintf(number, sizeof number, "%u", rank);
        hop_svg_text(out, left + at, TOP - 6, "middle", 10, number);
        hop_svg_text(out, left - 6, TOP + at + 3.5, "end", 10, number);
    }
    hop_svg_text(out, left + m->side / 2, TOP - 20, "middle", 11, "to rank");
    hop_svg(out,
            "<text transform='translate(%.1f %.1f) rotate(-90)' text-anchor='middle' font-size='11' fill='" INK
            "'>from rank</text>\n",
            left - 42, TOP + m->side / 2);
}

static void draw_legend(struct hop_buffer *out, const struct matrix *m, double y)
{
    struct hop_axis axis = {.left = LEFT, .width = fmin(m->side, 320), .low = 0, .high = 1, .ticks = 4};
    for (unsigned level = 0; level < LEVELS; level++) {
        char colour[8];
        colour_at((double)level / (LEVELS - 1), colour);
        hop_svg_bar(out, axis.left + level * axis.width / LEVELS, y + 12, axis.width / LEVELS + 0.3, 12, colour);
    }
    hop_svg(out, "\n");
    unsigned step = axis.width < 320 ? 2 : 1; /* figures need so much room */
    for (unsigned tick = 0; tick <= 4 && m->high > 0; tick += step) {
        char text[32];
        if (m->high > m->low || tick == 4)
            (void)hop_show_bytes(rint(m->low * pow(m->high / m->low, tick / 4.0)), text, sizeof text);
        else
            continue;
        hop_svg_text(out, hop_axis_x(&axis, tick / 4.0), y + 26,
                     tick == 0   ? "start"
                     : tick == 4 ? "end"
                                 : "middle",
                     10, text);
    }
    hop_svg_text(out, axis.left, y + 42, "start", 10,
                 m->per > 1 ? "a cell's bytes; several ranks share one"
                            : "bytes from one rank to another; white: none");
}

static void draw(struct hop_buffer *out, const struct matrix *m, const char *title)
{
    static const char *const names[] = {[HOP_MEMORY_HOST] = "host memory", [HOP_MEMORY_DEVICE] = "device memory"};
    static const enum hop_memory order[] = {HOP_MEMORY_HOST, HOP_MEMORY_DEVICE};
    double left = LEFT;
    hop_svg(out,
            "<text x='24' y='48' font-size='11' fill='" INK_PALE
            "'>%u ranks, %u pairs that exchange something</text>\n",
            m->ranks, hop_traffic_count(m->traffic));
    for (unsigned i = 0; i < HOP_COUNT(order); i++) {
        uint64_t bytes = hop_traffic_bytes(m->traffic, order[i]);
        if (!bytes && (i || hop_traffic_bytes(m->traffic, order[1])))
            continue;
        hop_svg(out, "<text x='%.1f' y='%.1f' font-size='12' font-weight='bold' fill='" INK "'>%s: %s</text>\n", left,
                TOP - 34, names[order[i]], hop_show_bytes((double)bytes, (char[32]){0}, 32));
        draw_cells(out, m, order[i], left);
        draw_sums(out, m, order[i], left);
        draw_ranks(out, m, left);
        left += m->side + BETWEEN;
    }
    double bottom = TOP + m->side + GAP + BARS + 20;
    double width = fmax(left - BETWEEN + GAP + BARS + 24, 420);
    draw_legend(out, m, bottom);
    hop_svg_title(out, 24, 30, width, title);
    hop_svg_page(out, width, bottom + LEGEND - 24);
}

char *hop_traffic_to_svg(const struct hop_traffic *traffic, const char *title)
{
    struct hop_buffer out = {0};
    struct matrix m = {.traffic = traffic, .ranks = hop_traffic_ranks(traffic)};
    m.per = (m.ranks + CELLS_MOST - 1) / CELLS_MOST;
    m.cells = (m.ranks + m.per - 1) / m.per;
    m.side = fmin(fmax(m.cells * CELL_MOST, SIDE_LEAST), SIDE_MOST);
    m.cell = m.side / m.cells;
    out.failed = !make_room(&m);
    if (!out.failed) {
        fill(&m);
        draw(&out, &m, title);
    }
    for (unsigned memory = 0; memory < HOP_MEMORY_COUNT; memory++) {
        free(m.bytes[memory]);
        free(m.sent[memory]);
        free(m.received[memory]);
    }
    return hop_buffer_take(&out);
}
