/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast tune collective: the tables. Each algorithm is shown at its best segments, as how many times the winner's time it
 * takes.
 */
#include "tune.h"

#include <math.h>
#include <string.h>

enum { LINE = 118, FIXED = 20, COLUMNS = 64 };

/* An algorithm: candidates first to last - 1, which differ in their segments. */
struct column {
    uint32_t first, last;
    double nearest; /* the least that it is behind the winner at any size */
    bool shown;
};

/* "chain/64KiB" */
static const char *show_candidate(const struct hop_tune_candidate *candidate)
{
    return candidate->segment_bytes
               ? tool_text("%s/%s", candidate->algorithm, tool_short_bytes(candidate->segment_bytes))
               : candidate->algorithm;
}

/* Of the longest winner's name. */
static int by_width(const struct hop_tuned_collective *tuned)
{
    int width = 2;
    for (uint32_t s = 0; s < tuned->span_count; s++) {
        int length = (int)strlen(show_candidate(&tuned->candidates[tuned->spans[s].candidate]));
        width = length > width ? length : width;
    }
    return width;
}

/* ---- columns ---- */

/* The candidate of a column that is fastest at a size; HOP_NONE: none was made. */
static uint32_t fastest(const struct column *column, const struct hop_tune_size *size)
{
    uint32_t best = HOP_NONE;
    for (uint32_t c = column->first; c < column->last; c++) {
        if (!isnan(size->times[c].time_s) && (best == HOP_NONE || size->times[c].time_s < size->times[best].time_s))
            best = c;
    }
    return best;
}

static double behind(const struct column *column, const struct hop_tune_size *size)
{
    uint32_t own = fastest(column, size);
    double best_s = size->times[size->winner].time_s;
    return own == HOP_NONE ? NAN : best_s > 0 ? size->times[own].time_s / best_s : 1;
}

static uint32_t find_columns(const struct hop_tuned_collective *tuned, struct column *columns)
{
    uint32_t count = 0;
    for (uint32_t c = 0; c < tuned->candidate_count; c++) {
        if (count > 0 &&
            strcmp(tuned->candidates[c].algorithm, tuned->candidates[columns[count - 1].first].algorithm) == 0) {
            columns[count - 1].last = c + 1;
            continue;
        }
        if (count < COLUMNS)
            columns[count++] = (struct column){c, c + 1, INFINITY, false};
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t s = 0; s < tuned->size_count; s++) {
            double factor = behind(&columns[i], &tuned->sizes[s]);
            columns[i].nearest = factor < columns[i].nearest ? factor : columns[i].nearest; /* not for NAN */
        }
    }
    return count;
}

static int column_width(const struct hop_tuned_collective *tuned, const struct column *column)
{
    int length = (int)strlen(tuned->candidates[column->first].algorithm);
    return length > 6 ? length : 6;
}

/* Those that come nearest to winning, as many as a line holds. */
static void choose_columns(const struct hop_tuned_collective *tuned, struct column *columns, uint32_t count)
{
    for (int room = LINE - FIXED - by_width(tuned);;) {
        uint32_t next = HOP_NONE;
        for (uint32_t i = 0; i < count; i++) {
            if (!columns[i].shown && isfinite(columns[i].nearest) &&
                (next == HOP_NONE || columns[i].nearest < columns[next].nearest))
                next = i;
        }
        if (next == HOP_NONE || (room -= column_width(tuned, &columns[next]) + 1) < 0)
            return;
        columns[next].shown = true;
    }
}

/* ---- sizes ---- */

static void print_size(const struct hop_tuned_collective *tuned, const struct hop_tune_size *size,
                       const struct column *columns, uint32_t count)
{
    const struct hop_tune_time *best = &size->times[size->winner];
    printf("%8s %10s  %-*s", tuned->kind == HOP_COLLECTIVE_BARRIER ? "-" : tool_short_bytes(size->vector_bytes),
           SECONDS(best->time_s), by_width(tuned), show_candidate(&tuned->candidates[size->winner]));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t own = fastest(&columns[i], size);
        char cell[32] = "-";
        if (!columns[i].shown)
            continue;
        if (size->winner >= columns[i].first && size->winner < columns[i].last)
            (void)snprintf(cell, sizeof cell, "*");
        else if (own != HOP_NONE)
            (void)snprintf(cell, sizeof cell, "%s%s", FIXED(behind(&columns[i], size), 2),
                           tuned->measured && size->times[own].low_s <= best->high_s ? "~" : "");
        printf(" %*s", column_width(tuned, &columns[i]), cell);
    }
    printf("\n");
}

static void print_left_out(const struct hop_tuned_collective *tuned, const struct column *columns, uint32_t count)
{
    uint32_t hidden = 0, refused = 0;
    for (uint32_t i = 0; i < count; i++) {
        hidden += !columns[i].shown && isfinite(columns[i].nearest);
        refused += !isfinite(columns[i].nearest);
    }
    if (hidden)
        printf("%u more algorithms do not win (--json shows all)\n", hidden);
    for (uint32_t i = 0; i < count && refused; i++) {
        const struct hop_tune_candidate *candidate = &tuned->candidates[columns[i].first];
        if (!isfinite(columns[i].nearest))
            printf("not by %s: %s\n", candidate->algorithm, candidate->refused ? candidate->refused : "no time");
    }
}

static void print_rounded(const struct hop_tuned_collective *tuned)
{
    char bytes[32], asked[32];
    const char *before = "sizes are rounded down to whole elements in each rank's part:";
    for (uint32_t s = 0; s < tuned->size_count; s++) {
        const struct hop_tune_size *size = &tuned->sizes[s];
        if (size->vector_bytes == size->asked_bytes)
            continue;
        printf("%s %s from %s", before, hop_format_bytes(size->vector_bytes, bytes, sizeof bytes),
               hop_format_bytes(size->asked_bytes, asked, sizeof asked));
        before = ",";
    }
    if (*before == ',')
        printf("\n");
}

/* ---- who wins from where on, and why ---- */

static void print_why(const struct hop_network *network, const struct hop_tuned_collective *tuned,
                      const struct hop_tune_size *size)
{
    printf("  %s", size->vector_bytes ? tool_text("at %s: ", tool_short_bytes(size->vector_bytes)) : "");
    if (size->link != HOP_NONE)
        printf("%s is in use longest, %.0f %% of the time", LINK(hop_network_topology(network), size->link),
               100 * size->link_busy);
    else
        printf("no link is in use");
    if (size->rule != HOP_RULE_FULL)
        printf("; lost most to: %s", hop_rule_text(size->rule));
    if (size->gain.models)
        printf("\n%10sover %s: %s", "", tuned->candidates[size->second].algorithm,
               hop_gain_words(&size->gain, (char[112]){0}, 112));
}

static void print_spans(const struct hop_network *network, const struct hop_tuned_collective *tuned)
{
    printf("%8s  by\n", "from");
    for (uint32_t s = 0; s < tuned->span_count; s++) {
        const struct hop_tune_span *span = &tuned->spans[s];
        printf("%8s  %-*s", tool_short_bytes(span->from_vector_bytes), network ? by_width(tuned) : 1,
               show_candidate(&tuned->candidates[span->candidate]));
        if (network)
            print_why(network, tuned, &tuned->sizes[span->size]);
        printf("\n");
    }
}

static void print_collective(const struct hop_network *network, const struct hop_tuned_collective *tuned)
{
    struct column columns[COLUMNS];
    uint32_t count = find_columns(tuned, columns);
    choose_columns(tuned, columns, count);
    printf("\n%s, %u ranks\n%8s %10s  %-*s", hop_collective_name(tuned->kind), tuned->ranks, "size", "time",
           by_width(tuned), "by");
    for (uint32_t i = 0; i < count; i++) {
        if (columns[i].shown)
            printf(" %*s", column_width(tuned, &columns[i]), tuned->candidates[columns[i].first].algorithm);
    }
    printf("\n");
    for (uint32_t s = 0; s < tuned->size_count; s++)
        print_size(tuned, &tuned->sizes[s], columns, count);
    print_rounded(tuned);
    print_left_out(tuned, columns, count);
    print_spans(network, tuned);
}

void tune_collective_print(const struct hop_network *network, const struct tune_collective_head *head,
                           const struct hop_tuned_collective *const *tuned, uint32_t count)
{
    printf("%s; %s\n", head->machine, head->data);
    for (uint32_t i = 0; i < count; i++)
        print_collective(network, tuned[i]);
    printf("\n* wins; others: how many times its time they take, each at its best segments (name/size)%s\n",
           network ? "" : ";\n~ their quartiles overlap");
    if (head->rounds_are_free)
        printf("note: %s\n", head->rounds_are_free);
    if (head->lacks)
        printf("note: %s\n", head->lacks);
}
