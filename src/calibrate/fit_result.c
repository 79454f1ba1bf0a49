/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fit says of its values: how sure they are, where they stand, which groups determine them. */
#include "calibrate/fit.h"

#include <math.h>
#include <stdio.h>

enum { NAMED_MAX = 8 };

/* One standard deviation of a value: where the cost, taken as a parabola through three points, rises by one half. */
static double uncertainty_of(struct hop_fitting *f, const struct hop_knob *knob)
{
    struct hop_knob_range range = hop_knob_bounds(f, knob);
    double step = knob->kind == HOP_KNOB_LATENCY ? 2e-6 : 0.01 * knob->value, here = hop_fit_sum(f, knob, f->cost);
    double below = hop_fit_try(f, knob, hop_max(range.low, knob->value - step));
    double above = hop_fit_try(f, knob, hop_min(range.high, knob->value + step));
    hop_knob_set(f, knob, knob->value);
    bool one_sided = knob->value + step > range.high || knob->value - step < range.low;
    double bend = one_sided ? 2 * hop_max(below - here, above - here) : below + above - 2 * here;
    return bend > 1e-6 ? step / sqrt(bend) : NAN;
}

/* The groups whose cost changes most when the value does. */
static void name_groups(struct hop_fitting *f, const struct hop_knob *knob, const char **names,
                        struct hop_fit_parameter *parameter)
{
    double *change = f->trial;
    hop_fit_try(f, knob, knob->kind == HOP_KNOB_LATENCY ? knob->value + 5e-6 : knob->value * 0.97);
    for (uint32_t g = 0; g < f->groups; g++) {
        change[g] = hop_fit_touches(f, knob, g) ? fabs(f->trial[g] - f->cost[g]) : 0;
        parameter->group_count += change[g] > 0.01;
    }
    while (parameter->named_count < NAMED_MAX) {
        uint32_t most = 0;
        for (uint32_t g = 1; g < f->groups; g++)
            most = change[g] > change[most] ? g : most;
        if (change[most] <= 0.01)
            break;
        names[parameter->named_count++] = hop_measurements_group(f->measurements, most).name;
        change[most] = 0;
    }
    hop_knob_set(f, knob, knob->value);
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

static void write_parameter(struct hop_fitting *f, const struct hop_knob *knob, struct hop_arena *arena,
                            struct hop_fit_parameter *p)
{
    static const char *const units[] = {"B/s", "1", "1", "s", "1"};
    bool tau = knob->kind == HOP_KNOB_CROSSING;
    const char *name = tau ? knob->what + strlen("1 - ") : knob->what;
    const char **places = hop_arena_alloc(arena, (knob->count + 1) * sizeof *places);
    const char **groups = hop_arena_alloc(arena, NAMED_MAX * sizeof *groups);
    *p = (struct hop_fit_parameter){.name = hop_arena_string(arena, name, strlen(name)),
                                    .unit = units[knob->kind],
                                    .value = tau ? 1 - knob->value : knob->value,
                                    .given = tau ? 1 - knob->given : knob->given,
                                    .gain = knob->gain,
                                    .places = places,
                                    .place_count =
                                        knob->kind == HOP_KNOB_LATENCY || knob->kind == HOP_KNOB_HOST ? 0 : knob->count,
                                    .determined_by = groups};
    if (!places || !groups)
        return;
    for (uint32_t i = 0; i < p->place_count; i++)
        places[i] = place_name(f, knob, knob->members[i], arena);
    p->uncertainty = uncertainty_of(f, knob);
    name_groups(f, knob, groups, p);
}

void hop_fit_write_parameters(struct hop_fitting *f, struct hop_fitted *r)
{
    struct hop_fit_parameter *list = hop_arena_alloc(&r->arena, (f->knob_count + 1) * sizeof *list);
    for (uint32_t k = 0; list && k < f->knob_count; k++) {
        if (f->knobs[k].count > 0)
            write_parameter(f, &f->knobs[k], &r->arena, &list[r->public.parameter_count++]);
    }
    r->public.parameters = list;
    if (r->arena.failed)
        hop_failure_set(f->failure, HOP_ERR_MEMORY, "out of memory");
}
