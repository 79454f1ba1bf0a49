/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fit says of its values: how sure they are, where they stand, which groups determine them. */
#include "calibrate/fit.h"

#include <math.h>
#include <stdio.h>

enum { NAMED_MAX = 8 };

/* One standard deviation of a value: where the cost, taken as a parabola through three points, rises by one half. */
static enum hop_status uncertainty_of(struct hop_fitting *f, const struct hop_knob *knob, double *deviation,
                                      struct hop_diag *diag)
{
    double here = hop_fit_sum(f, knob, f->cost), below, above, low, high;
    double step = knob->kind == HOP_KNOB_LATENCY ? 2e-6 : 0.01 * knob->value;
    hop_knob_bounds(f, knob, &low, &high);
    enum hop_status status = hop_fit_try(f, knob, hop_max(low, knob->value - step), &below, diag);
    if (status == HOP_OK)
        status = hop_fit_try(f, knob, hop_min(high, knob->value + step), &above, diag);
    if (status == HOP_OK)
        status = hop_knob_set(f, knob, knob->value, diag);
    if (status != HOP_OK)
        return status;
    bool one_sided = knob->value + step > high || knob->value - step < low;
    double bend = one_sided ? 2 * hop_max(below - here, above - here) : below + above - 2 * here;
    *deviation = bend > 1e-6 ? step / sqrt(bend) : NAN;
    return HOP_OK;
}

/* The groups whose cost changes most when the value does. */
static enum hop_status name_groups(struct hop_fitting *f, const struct hop_knob *knob, struct hop_arena *arena,
                                   struct hop_fit_parameter *parameter, struct hop_diag *diag)
{
    double cost, *change = hop_arena_alloc(arena, (f->groups + 1) * sizeof *change);
    const char **names = hop_arena_alloc(arena, NAMED_MAX * sizeof *names);
    if (!change || !names)
        return hop_fail_memory(diag);
    double value = knob->kind == HOP_KNOB_LATENCY ? knob->value + 5e-6 : knob->value * 0.97;
    enum hop_status status = hop_fit_try(f, knob, value, &cost, diag);
    for (uint32_t g = 0; g < f->groups && status == HOP_OK; g++) {
        change[g] = hop_fit_touches(f, knob, g) ? fabs(f->trial[g] - f->cost[g]) : 0;
        parameter->group_count += change[g] > 0.01;
    }
    parameter->determined_by = names;
    while (status == HOP_OK && parameter->named_count < NAMED_MAX) {
        uint32_t most = 0;
        for (uint32_t g = 1; g < f->groups; g++)
            most = change[g] > change[most] ? g : most;
        if (change[most] <= 0.01)
            break;
        names[parameter->named_count++] = hop_measurements_group(f->measurements, most).name;
        change[most] = 0;
    }
    return status == HOP_OK ? hop_knob_set(f, knob, knob->value, diag) : status;
}

static const char *place_name(const struct hop_fitting *f, const struct hop_knob *knob, uint32_t member,
                              struct hop_arena *arena)
{
    char text[192];
    if (knob->kind == HOP_KNOB_CROSSING)
        (void)snprintf(text, sizeof text, "%s--%s",
                       hop_topology_node(f->topology, f->roots[member / f->root_count])->name,
                       hop_topology_node(f->topology, f->roots[member % f->root_count])->name);
    else
        (void)hop_topology_link_name(f->topology, member, text, sizeof text);
    return hop_arena_string(arena, text, strlen(text));
}

static enum hop_status write_parameter(struct hop_fitting *f, const struct hop_knob *knob, struct hop_fitted *r,
                                       struct hop_fit_parameter *p, struct hop_diag *diag)
{
    static const char *const units[] = {"B/s", "1", "1", "s", "1"};
    bool tau = knob->kind == HOP_KNOB_CROSSING;
    const char *name = tau ? knob->what + strlen("1 - ") : knob->what;
    const char **places = hop_arena_alloc(&r->arena, (knob->count + 1) * sizeof *places);
    *p = (struct hop_fit_parameter){
        .name = hop_arena_string(&r->arena, name, strlen(name)),
        .unit = units[knob->kind],
        .value = tau ? 1 - knob->value : knob->value,
        .given = tau ? 1 - knob->given : knob->given,
        .gain = knob->gain,
        .places = places,
        .place_count = knob->kind == HOP_KNOB_LATENCY || knob->kind == HOP_KNOB_HOST ? 0 : knob->count};
    for (uint32_t i = 0; places && i < p->place_count; i++)
        places[i] = place_name(f, knob, knob->members[i], &r->arena);
    if (r->arena.failed)
        return hop_fail_memory(diag);
    enum hop_status status = uncertainty_of(f, knob, &p->uncertainty, diag);
    return status == HOP_OK ? name_groups(f, knob, &r->arena, p, diag) : status;
}

enum hop_status hop_fit_write_parameters(struct hop_fitting *f, struct hop_fitted *r, struct hop_diag *diag)
{
    struct hop_fit_parameter *list = hop_arena_alloc(&r->arena, (f->knob_count + 1) * sizeof *list);
    enum hop_status status = list ? HOP_OK : hop_fail_memory(diag);
    for (uint32_t k = 0; k < f->knob_count && status == HOP_OK; k++) {
        if (f->knobs[k].count > 0)
            status = write_parameter(f, &f->knobs[k], r, &list[r->public.parameter_count++], diag);
    }
    r->public.parameters = list;
    return status;
}
