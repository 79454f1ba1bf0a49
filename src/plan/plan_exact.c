/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All placements: of each class, what its loads and then the search of its orders rule out, until nothing is left that
 * could be better than the best.
 *
 *     without waits, few states a class -> more states -> ... -> with waits, few states a class -> ...
 *
 * Each round looks at the classes that are open, the most promising first, some at once. What these may not know of each
 * other does not depend on threads.
 */
#include "plan/plan.h"

enum { FIRST_NODES = 4000, MORE = 16, TOGETHER = 16, LAST_WORK = 20000000 };

struct class
{
    uint32_t code;
    bool tried;
    double with_s, without_s; /* no order takes less; the second: none without waits */
};

struct exact {
    struct hop_plan_work *work;
    struct hop_plan_classes classes;
    struct class *list;
    uint32_t *places; /* of those that are tried together */
    bool *tried;      /* of a class: its orders were searched */
    uint32_t count;
};

static int by_bound(const void *a, const void *b)
{
    const struct class *x = a, *y = b;
    return x->with_s != y->with_s ? HOP_ORDER(x->with_s, y->with_s) : HOP_ORDER(x->code, y->code);
}

static double bound_of(const struct class *class, bool waits)
{
    return waits ? class->with_s : class->without_s;
}

static bool is_open(const struct exact *e, const struct class *class, bool waits)
{
    return bound_of(class, waits) < HOP_PLAN_BETTER(e->work->best_s);
}

/* What is known of all placements. */
static double least(const struct exact *e, bool waits)
{
    double least_s = INFINITY;
    for (uint32_t i = 0; i < e->count; i++)
        least_s = hop_min(least_s, bound_of(&e->list[i], waits));
    return hop_min(least_s, e->work->best_s);
}

static void learn(struct class *class, double floor_s, double bound_s, bool no_waits)
{
    class->with_s = hop_max(class->with_s, no_waits ? floor_s : hop_max(floor_s, bound_s));
    class->without_s = hop_max(hop_max(class->without_s, bound_s), class->with_s);
    class->tried = true;
}

/* Several classes at once, all below one cut. */
static enum hop_status try_together(struct exact *e, struct class **chosen, uint32_t count, bool waits, uint64_t nodes)
{
    struct hop_plan_try tries[TOGETHER] = {0};
    uint64_t most = e->work->left / count + 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *place = e->places + (size_t)i * e->work->ranks;
        hop_plan_decode(&e->classes, chosen[i]->code, place);
        tries[i] =
            (struct hop_plan_try){.place = place,
                                  .cut_s = e->work->best_s,
                                  .no_waits = !waits,
                                  .max_nodes = nodes < most ? nodes : most,
                                  .time_limit_s = e->work->options.time_limit_s > 0 ? hop_plan_time_left(e->work) : 0};
    }
    enum hop_status status = hop_plan_try_all(e->work, tries, count);
    for (uint32_t i = 0; i < count; i++) {
        if (status == HOP_OK && tries[i].nodes) /* else it was not begun */
            learn(chosen[i], tries[i].floor_s, tries[i].bound_s, tries[i].no_waits);
        (void)hop_plan_take(e->work, &tries[i]);
    }
    return status;
}

/* *open: whether some class is left at which more states may help. */
static enum hop_status round_of(struct exact *e, bool waits, uint64_t nodes, bool *open)
{
    struct class *chosen[TOGETHER];
    enum hop_status status = HOP_OK;
    *open = false;
    for (uint32_t i = 0; i < e->count && status == HOP_OK && hop_plan_goes_on(e->work);) {
        uint32_t count = 0, most = hop_plan_at_once(e->work, TOGETHER);
        for (; i < e->count && count < most; i++) {
            if (is_open(e, &e->list[i], waits))
                chosen[count++] = &e->list[i];
        }
        if (count)
            status = try_together(e, chosen, count, waits, nodes);
        for (uint32_t k = 0; k < count; k++)
            *open = *open || is_open(e, chosen[k], waits);
        e->work->floor_s = hop_max(e->work->floor_s, least(e, !e->work->options.no_waits));
    }
    return status;
}

static enum hop_status rounds(struct exact *e)
{
    enum hop_status status = HOP_OK;
    bool limited = e->work->options.max_nodes || e->work->options.time_limit_s > 0;
    uint64_t most =
        limited ? UINT64_MAX / MORE : FIRST_NODES * MORE + LAST_WORK / hop_schedule_count(e->work->exchange);
    for (unsigned waits = 0; waits < (e->work->options.no_waits || e->work->by_ready ? 1 : 2); waits++) {
        bool open = true;
        for (uint64_t nodes = FIRST_NODES; status == HOP_OK && open && nodes <= most && hop_plan_goes_on(e->work);
             nodes *= MORE)
            status = round_of(e, waits, nodes, &open);
    }
    return status;
}

static enum hop_status list_classes(struct exact *e, struct hop_plan_loads *loads, struct hop_diag *diag)
{
    struct hop_plan_work *work = e->work;
    HOP_CHECK(hop_plan_classes_find(work, &e->classes, diag));
    e->count = e->classes.count;
    e->list = malloc(((size_t)e->count + 1) * sizeof *e->list);
    e->places = malloc(TOGETHER * (size_t)(work->ranks + 1) * sizeof *e->places);
    if (!e->list || !e->places)
        return hop_fail_memory(diag);
    for (uint32_t i = 0; i < e->count; i++) {
        hop_plan_decode(&e->classes, e->classes.codes[i], e->places);
        double load_s = loads->flow_count ? hop_plan_load(loads, e->places, NULL) : 0;
        e->list[i] = (struct class){e->classes.codes[i], false, load_s, load_s};
        hop_plan_pool_add(work, e->places, load_s);
    }
    for (uint32_t k = 0; k < work->known_count; k++) {
        uint32_t at = e->classes.class_of[hop_plan_encode(&e->classes, work->known[k].place)];
        if (at != HOP_NONE)
            learn(&e->list[at], work->known[k].floor_s, work->known[k].bound_s, work->options.no_waits);
    }
    qsort(e->list, e->count, sizeof *e->list, by_bound);
    work->result->classes = e->count;
    return HOP_OK;
}

static void tell_result(const struct exact *e)
{
    struct hop_plan_result *r = e->work->result;
    for (uint32_t i = 0; i < e->count; i++) {
        r->searched += e->list[i].tried;
        r->bounded += !e->list[i].tried && !is_open(e, &e->list[i], !e->work->options.no_waits);
    }
    r->without_s = least(e, false);
    r->bound_s = least(e, !e->work->options.no_waits);
}

enum hop_status hop_plan_exact(struct hop_plan_work *work, struct hop_plan_loads *loads, struct hop_diag *diag)
{
    struct exact e = {.work = work};
    work->phase = "placements";
    enum hop_status status = list_classes(&e, loads, diag);
    bool alone = e.count == 1 && work->known_count && !work->options.max_nodes && !(work->options.time_limit_s > 0);
    if (status == HOP_OK && !alone) /* one alone was searched to its end */
        status = rounds(&e);
    if (status == HOP_OK)
        tell_result(&e);
    free(e.classes.codes);
    free(e.classes.class_of);
    free(e.list);
    free(e.places);
    return status;
}
