/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast predict: what its files share. predict.c reads options and predicts, predict_show.c shows one case, predict_compare.c several. */
#ifndef HOP_PREDICT_H
#define HOP_PREDICT_H

#include "tool.h"

/* A schedule on a topology under a choice of models (NULL: the default), predicted. */
struct prediction {
    const struct hop_topology *topology;
    const struct hop_schedule *schedule; /* placed, where the one given names ranks */
    const char *models;
    bool sources_unlimited;
    enum hop_fidelity fidelity;
    uint64_t rows; /* of the table, those that end last; 0: not said */
    struct hop_network *network;
    struct hop_timeline *timeline;
    struct hop_uncertainty *range; /* of its makespan; NULL: not asked for */
    char label[160];
};

/* A directed link and its share of what it could have carried until the makespan. */
struct busy_link {
    uint32_t link;
    double use;
    struct hop_link_use detail;
};

/* The links in use, the busiest first, *count of them. */
struct busy_link *predict_busy_links(const struct prediction *p, uint32_t *count);

/* What times of a table are shown in: ms, or us where the longest is below 1 ms. */
struct time_unit {
    const char *name;
    double a_second; /* so many of them */
};
struct time_unit predict_unit(double longest_s);

/* predict_faults.c: what --fault says, for a topology; what came of it. */
struct hop_fault *predict_read_faults(const struct hop_topology *topology, const struct tool_words *texts);
uint64_t predict_lost_bytes(const struct prediction *p);
void predict_show_faults(const struct prediction *p);

void predict_show_table(const struct prediction *p);
/* predict_risks.c: what it puts at risk that no model predicts, if anything. */
void predict_show_risks(const struct prediction *p);
/* Refuses a name that is neither in the schedule nor in what it became. */
void predict_check_name(const struct hop_schedule *given, const struct hop_schedule *became, const char *id);
void predict_show_explanation(const struct prediction *p, const char *id);
/* ranges: gains are held against them; see hop_gain_options. */
void predict_show_side_by_side(const struct prediction *cases, uint32_t count, bool ranges, uint64_t max_effort);

#endif
