/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast calibrate FILE ... --on TOPOLOGY: fits, shows what was found and how well it predicts, writes the machine
 * file. */
#include "calibrate.h"

#include <math.h>
#include <string.h>

static void print_value(double value, const char *unit)
{
    char text[48];
    if (isnan(value))
        (void)snprintf(text, sizeof text, "?");
    else if (strcmp(unit, "B/s") == 0)
        (void)hop_show_rate(value, text, sizeof text);
    else if (strcmp(unit, "s") == 0)
        (void)hop_show_seconds(value, text, sizeof text);
    else
        (void)snprintf(text, sizeof text, "%.4f", value);
    printf(" %12s", text);
}

static void print_parameters(const struct hop_fit_result *result)
{
    printf("%-46s %12s %12s %12s %12s %7s %9s %7s  %s\n", "parameter", "value", "low", "high", "given", "places",
           "inherited", "groups", "determined most by");
    for (uint32_t i = 0; i < result->parameter_count; i++) {
        const struct hop_fit_parameter *p = &result->parameters[i];
        printf("%-46.46s", p->name);
        print_value(p->value, p->unit);
        print_value(p->low, p->unit);
        print_value(p->high, p->unit);
        print_value(p->given, p->unit);
        printf(" %7u %9u %7u  ", p->place_count, p->inherited_count, p->group_count);
        for (uint32_t n = 0; n < p->named_count && n < 3; n++)
            printf("%s%.24s", n ? ", " : "", p->determined_by[n]);
        printf("%s\n", p->named_count ? "" : "-");
    }
    uint32_t unsteady = 0, rows = hop_measurements_count(result->measurements);
    for (uint32_t i = 0; i < rows; i++)
        unsteady += hop_measurements_at(result->measurements, i)->spread > 0;
    if (unsteady)
        printf("\nnote: %u of %u rows are marked unsteady: they count less, by what their samples spread\n", unsteady,
               rows);
    if (result->spoilt)
        printf("\nnote: %u group%s that nothing predicts, before the fit or after, %s worse now, most of all %s\n",
               result->spoilt_count, result->spoilt_count == 1 ? "" : "s", result->spoilt_count == 1 ? "is" : "are",
               result->spoilt);
}

/* Links inside switch chips, or between root complexes of one socket, found or given. */
static void print_joined(const struct hop_topology *topology, enum hop_link_kind kind, const char *what)
{
    bool any = false;
    for (uint32_t l = 0; l < hop_topology_link_count(topology); l++) {
        const struct hop_link *link = hop_topology_link(topology, l);
        const struct hop_node *from = hop_topology_node(topology, link->ends[0]),
                              *to = hop_topology_node(topology, link->ends[1]);
        if (link->kind != kind || from->kind != to->kind ||
            (kind == HOP_LINK_SOCKET && (!link->parameter || strcmp(link->parameter, "on_die") != 0)))
            continue;
        printf("%s %s--%s", any ? "," : what, from->name, to->name);
        any = true;
    }
    if (any)
        printf("\n");
}

static void print_errors(const char *name, const struct hop_compare_errors *e)
{
    if (e->count == 0)
        return;
    printf("%-28s %7u %8.2f %% %8.2f %% %8.2f %% %7.1f %% %7.1f %% %7.1f %%\n", name, e->count, 100 * e->median,
           100 * e->p90, 100 * e->worst, 100 * e->within[0], 100 * e->within[1], 100 * e->within[2]);
}

static void print_comparison(const struct hop_comparison *c)
{
    uint32_t last = c->candidate_count - 1;
    printf("\n%-28s %7s %10s %10s %10s %9s %9s %9s\n", "errors of groups", "groups", "median", "90 %", "worst",
           "in 5 %", "in 10 %", "in 15 %");
    for (uint32_t i = 0; i <= last; i++)
        print_errors(c->candidates[i].name, &c->candidates[i].groups);
    tool_print_ranges(&c->candidates[last]);
    printf("\n%s, by effect\n", c->candidates[last].name);
    for (uint32_t e = 0; e < c->effect_count; e++)
        print_errors(c->effects[e].name, &c->effects[e].errors[last]);
}

/* `server` rules PCIe and two-way links; a machine that has neither yet, such as a network, is fitted by its own models: `fair`,
 * and `server` where links turn out to carry less both ways at once. */
static const char *choose_model(const struct calibrate_request *r, const struct hop_topology *topology)
{
    struct hop_network *network = NULL;
    enum hop_status status = r->model ? HOP_OK : hop_network_create(topology, "server", &network, &tool_diag);
    hop_network_destroy(network);
    if (status == HOP_ERR_MEMORY)
        tool_out_of_memory();
    if (status == HOP_OK)
        return r->model;
    tool_warn("the model is fair: %s", tool_diag.what);
    return "";
}

/* How good with how little. */
static void show_curve(const struct calibrate_request *r, const struct hop_topology *topology,
                       const struct hop_measurements *measurements)
{
    static const uint32_t counts[] = {5, 10, 20, 40};
    struct hop_curve_point points[HOP_CURVE_POINTS_MAX];
    struct tool_progress progress;
    uint32_t count;
    struct hop_fit_options options = {.model = choose_model(r, topology),
                                      .compare = r->compare,
                                      .kinds = (uint32_t)r->kinds,
                                      .progress = tool_progress_begin(&progress, "fits that are done"),
                                      .context = &progress};
    enum hop_status done =
        hop_calibrate_curve(measurements, topology, &options, counts, sizeof counts / sizeof *counts,
                            r->draws ? (uint32_t)r->draws : CALIBRATE_DRAWS, points, &count, &tool_diag);
    tool_progress_end(&progress);
    tool_try(done);
    printf("%-12s %10s %10s %10s %20s %10s %10s %10s\n", "groups", "suggested", "median", "random", "least to most",
           "median", "in stages", "median");
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_curve_point *p = &points[i];
        printf("%-12u %8.1f %% %8.2f %% %8.1f %% %9.1f to %5.1f %% %8.2f %% %8.1f %% %8.2f %%\n", p->count,
               100 * p->suggested, 100 * p->suggested_error, 100 * p->random, 100 * p->random_least,
               100 * p->random_most, 100 * p->random_error, 100 * p->staged, 100 * p->staged_error);
    }
    printf(
        "shares of all %u groups that are predicted within 15 %%, and their median error, by fits to so many of them;\n"
        "in stages: the second half was suggested after a fit to the first half\n",
        count ? points[count - 1].count : 0);
    tool_write_text(r->curve, hop_curve_to_svg(points, count, hop_topology_name(topology)));
}

void calibrate_fit_measurements(const struct calibrate_request *r, const struct hop_topology *topology,
                                const struct hop_measurements *measurements)
{
    struct hop_fit_result *result;
    struct tool_progress progress;
    bool given = r->folds != UINT64_MAX;
    struct hop_fit_options options = {.model = choose_model(r, topology),
                                      .folds = given ? (uint32_t)r->folds : CALIBRATE_FOLDS,
                                      .alone = r->alone,
                                      .compare = r->compare,
                                      .kinds = (uint32_t)r->kinds,
                                      .progress = tool_progress_begin(&progress, "fits that are done"),
                                      .context = &progress};
    if (!given && hop_measurements_group_count(measurements) < options.folds)
        options.folds = 0; /* too few to hold any out */
    enum hop_status done = hop_calibrate_fit(measurements, topology, &options, &result, &tool_diag);
    tool_progress_end(&progress);
    tool_try(done);
    if (r->json) {
        tool_write_text(NULL, hop_fit_result_to_json(result));
    } else {
        print_parameters(result);
        print_joined(result->topology, HOP_LINK_CHIP, "\nparts of one switch chip:");
        print_joined(result->topology, HOP_LINK_SOCKET, "\nroot complexes with a port to each other:");
        print_comparison(result->comparison);
    }
    if (r->output)
        tool_write_text(r->output, hop_topology_to_json(result->topology));
    hop_fit_result_destroy(result);
}

void calibrate_fit(const struct calibrate_request *r, const struct hop_topology *topology)
{
    struct hop_measurements *measurements;
    tool_try_file(
        hop_measurements_load_all((const char *const *)r->files.at, r->files.count, &measurements, &tool_diag),
        MEASUREMENTS_ARE_EXPECTED);
    tool_note_measurements(measurements);
    if (r->curve)
        show_curve(r, topology, measurements);
    else
        calibrate_fit_measurements(r, topology, measurements);
    hop_measurements_destroy(measurements);
}
