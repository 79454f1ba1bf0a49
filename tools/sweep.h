/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast sweep: the parts of the command.
 *
 *     sweep.c         options, the run
 *     sweep_cases.c   from words (command line, lines of --cases) to the list of cases
 *     sweep_show.c    rows, table
 */
#ifndef HOP_TOOL_SWEEP_H
#define HOP_TOOL_SWEEP_H

#include "base/base.h"
#include "base/json_write.h"
#include "base/replace.h"
#include "tool.h"

/* What is crossed with what, as it was written. A schedule is "f" and a file, or "e" and a text. */
enum sweep_axis {
    SWEEP_SCHEDULES,
    SWEEP_MACHINES,
    SWEEP_MODELS,
    SWEEP_SETS,
    SWEEP_MAPS,
    SWEEP_SIZES,
    SWEEP_SCALES,
    SWEEP_AXES
};
struct sweep_product {
    struct tool_words of[SWEEP_AXES];
};

/* ---- the list of cases ---- */

struct sweep_case {
    const char *schedule, *machine, *model, *map; /* schedule without its letter; model, map NULL: default */
    const char *const *assignments;
    const struct hop_schedule *noun;
    uint32_t assignment_count;
    bool resize;
    uint64_t bytes;
    double scale;                   /* 0: not said */
    const struct hop_diag *refusal; /* why its ranks have no place there, NULL: they have */
};

/* What has a name and is read once. */
struct sweep_nouns {
    struct hop_names names;
    struct sweep_noun {
        const char *name;
        void *it;       /* a schedule, topology, map */
        uint32_t index; /* in the sweep; HOP_NONE: not there, its ranks have no place yet */
    } * at;
    uint32_t count;
};

struct sweep_list {
    struct sweep_case *cases;
    uint32_t count;
    struct tool_words columns; /* names that are assigned to, in the order in which they first appear */
    bool has_map, has_bytes, has_scale;
    /* how it is read; collective: the value of --collective, or NULL */
    const char *collective;
    bool keep_going;
    /* what is behind it: placed has schedules that name ranks, on their devices */
    struct sweep_nouns schedules, machines, maps, placed;
};

/* Adds the cross product to the list and the sweep, loading what is new. */
void sweep_add_product(struct sweep_list *list, struct hop_sweep *sweep, const struct sweep_product *product);
/* The words of a line, as a shell cuts them: spaces, quotes, '#' starts a comment. */
void sweep_cut_line(const char *line, struct tool_words *words);
/* The value of an assignment in SI units; false: it is no number. */
bool sweep_number(const char *text, double *value);
/* The value that a case gives to a name, NULL: none. */
const char *sweep_value(const struct sweep_case *one, const char *name);

/* ---- rows ---- */

struct sweep_show {
    const struct sweep_list *list;
    bool json;
    int file; /* descriptor of CSV, -1: not yet */
    const char *path;
    struct hop_replacing replacing; /* of CSV into a file */
    struct hop_buffer out; /* not yet written (CSV), or all rows (JSON) */
    bool begun, failed;
    double flushed_s;
    struct sweep_rank {
        double makespan_s, rate_Bps;
        uint32_t index;
    } * ranking; /* of all cases, complete so far */
    uint32_t ranked;
};
void sweep_show_open(struct sweep_show *show, const char *path);
/* False: it cannot be written, said so. Other processes wait: it does not end the command. */
bool sweep_show_result(struct sweep_show *show, uint32_t index, const struct hop_sweep_result *result);
/* False: not all could be written, said so. */
bool sweep_show_close(struct sweep_show *show, const struct hop_sweep_summary *summary, bool fine);
void sweep_show_best(struct sweep_show *show, FILE *stream, uint32_t count);
/* "s.hop on t2, credit, tau=0.2" */
const char *sweep_describe(const struct sweep_list *list, uint32_t index);

#endif
