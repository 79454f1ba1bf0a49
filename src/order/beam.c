/* SPDX-License-Identifier: BSD-3-Clause */
/* Beam search: levels are taken from a pool while states wait in them; what was chosen is kept as a tree of steps. */
#include "order/beam.h"

#include <math.h>

#include "base/heap.h"
#include "base/random.h"

struct step { /* a source takes a send, having rested until another one's end, HOP_NONE: not rested */
    uint32_t op, after;
};

struct node { /* what led to a state: its choices at one instant, and the node before */
    uint32_t parent, first, count;
};

/* A state waiting in a level: [ item | choices[slots] | state ]. */
struct item {
    double score;
    uint64_t hash;
    uint32_t parent; /* node */
    uint32_t count;  /* choices */
    uint32_t level;
};

struct level {
    uint32_t count;
    uint32_t *heap; /* the worst first: places of items */
    char *items;
    uint64_t *seen; /* hashes of what came here */
    struct level *next_free;
};

struct beam {
    const struct hop_problem *p;
    struct hop_sets *sets;
    const struct hop_beam_options *options;
    struct hop_arena arena; /* of all but the levels */
    size_t choices_at, state_at, item_size;
    uint32_t table;        /* size of seen */
    struct level **levels; /* by number */
    uint32_t level_count;
    struct level *free;
    struct item *made;      /* the child in hand */
    struct hop_state *base; /* the state whose children are being made */
    uint32_t *offer;        /* options of the free sources, one after another */
    struct choice {
        uint32_t source, first, count, drawn;
    } * choice;
    uint32_t choice_count;
    double *pressure;        /* per bound */
    double *worth;           /* per operation: of a byte */
    uint16_t *flow;          /* per slot, of a set that is being chosen */
    uint32_t *slot_op;
    struct step *steps;
    uint32_t step_count;
    struct node *nodes;
    uint32_t node_count;
    uint64_t rng, visited, polled;
    uint32_t deepest; /* level */
    double cut, best;
    uint32_t best_node;
    bool stopped, done, kept; /* kept: the last child was below the cut */
};
enum { POLL_NODES = 16, DRAWS = 10, ALL = 3 /* for each sample */, BLIND = 8 /* one draw of so many is */ };

static struct step *choices_of(const struct beam *b, struct item *item)
{
    return (struct step *)((char *)item + b->choices_at);
}

static struct hop_state *state_of(const struct beam *b, struct item *item)
{
    return (struct hop_state *)((char *)item + b->state_at);
}

/* ---- levels ---- */

static void free_level(struct level *level)
{
    if (!level)
        return;
    free(level->heap);
    free(level->items);
    free(level->seen);
    free(level);
}

static struct level *take_level(struct beam *b)
{
    struct level *level = b->free;
    if (level) {
        b->free = level->next_free;
        level->count = 0;
        memset(level->seen, 0, b->table * sizeof *level->seen);
        return level;
    }
    level = calloc(1, sizeof *level);
    if (!level)
        return NULL;
    level->heap = malloc(b->options->width * sizeof *level->heap);
    level->items = malloc(b->options->width * b->item_size);
    level->seen = calloc(b->table, sizeof *level->seen);
    if (!level->heap || !level->items || !level->seen) {
        free_level(level);
        return NULL;
    }
    return level;
}

static struct item *item_at(const struct beam *b, const struct level *level, uint32_t place)
{
    return (struct item *)(level->items + place * b->item_size);
}

/* What a level's heap is ordered by. */
struct ranking {
    const struct beam *beam;
    const struct level *level;
};

#define WORSE(r, x, y) (item_at((r).beam, (r).level, x)->score > item_at((r).beam, (r).level, y)->score)
HOP_HEAP(worst, 2, struct ranking, uint32_t, WORSE, HOP_HEAP_PUT);

static bool is_new(const struct beam *b, struct level *level, uint64_t hash)
{
    uint32_t at = (uint32_t)hash & (b->table - 1);
    for (uint32_t tries = 0; tries < 16 && level->seen[at]; tries++, at = (at + 1) & (b->table - 1)) {
        if (level->seen[at] == hash)
            return false;
    }
    level->seen[at] = hash; /* a crowded table forgets one */
    return true;
}

/* Keeps the child in hand if its level has room for it or something worse. */
static bool keep(struct beam *b)
{
    struct item *made = b->made;
    struct level **slot = &b->levels[made->level], *level = *slot ? *slot : take_level(b);
    if (!level)
        return false;
    *slot = level;
    bool full = level->count == b->options->width;
    if (full && item_at(b, level, level->heap[0])->score <= made->score)
        return true;
    if (!is_new(b, level, made->hash))
        return true;
    uint32_t place = full ? level->heap[0] : level->count;
    memcpy(item_at(b, level, place), made, b->item_size);
    if (full)
        worst_down((struct ranking){b, level}, level->heap, level->count, 0, place);
    else
        worst_up((struct ranking){b, level}, level->heap, level->count++, place);
    return true;
}

/* ---- children ---- */

/* Squared until the power is not below `least`. */
static double raise(double x, double least)
{
    for (double k = 1; k < least; k *= 2)
        x *= x;
    return x;
}

/* The bound, and the score. */
static double judge(const struct beam *b, const struct hop_state *state, double *bound)
{
    const struct hop_problem *p = b->p;
    const double *rest = hop_state_rest_of(p, state);
    *bound = hop_state_bound(p, state);
    if (p->objective == HOP_ORDER_MEAN || b->options->spread <= 0)
        return *bound;
    double most = 0, sum = 0;
    for (uint32_t i = 0; i < p->bound_count; i++) /* what only guides counts in the score, too */
        most = hop_max(most, rest[i]);
    for (uint32_t i = 0; i < p->bound_count; i++)
        sum += raise((state->now_s + rest[i]) / (state->now_s + most), b->options->spread);
    return (state->now_s + most) * pow(sum / p->bound_count, 1 / b->options->spread);
}

static uint64_t hash_of(const struct beam *b, const struct hop_state *state, double bound)
{
    const uint64_t *started = (const uint64_t *)((const char *)state + b->p->started_at);
    uint64_t hash = state->key * 0x9e3779b97f4a7c15u;
    for (uint32_t w = 0; w < b->p->word_count; w++)
        hash = (hash ^ started[w] ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
    hash ^= (uint64_t)llround(state->now_s / bound * 0x1p24) * 0x94d049bb133111ebu;
    return hash ? hash ^ hash >> 31 : 1;
}

/* Keeps what led to an item; its number among the nodes, HOP_NONE: out of memory. */
static uint32_t add_node(struct beam *b, struct item *item)
{
    if (!HOP_GROW(&b->arena, b->steps, (size_t)b->step_count + item->count + 1) ||
        !HOP_GROW(&b->arena, b->nodes, (size_t)b->node_count + 1))
        return HOP_NONE;
    memcpy(b->steps + b->step_count, choices_of(b, item), item->count * sizeof *b->steps);
    b->nodes[b->node_count] = (struct node){item->parent, b->step_count, item->count};
    b->step_count += item->count;
    return b->node_count++;
}

static void remember_best(struct beam *b, double value)
{
    uint32_t node = value < b->best ? add_node(b, b->made) : HOP_NONE;
    if (node == HOP_NONE)
        return;
    b->best = value;
    b->best_node = node;
    b->cut = hop_min(b->cut, value);
}

/* The state of the child in hand moves on until something is to be chosen again. */
static enum hop_status move(struct beam *b)
{
    struct hop_state *state = state_of(b, b->made);
    enum hop_advanced advanced;
    b->kept = false;
    do {
        advanced = hop_state_advance(b->p, b->sets, state);
        b->visited++;
    } while (advanced == HOP_ADVANCED && hop_state_choice(b->p, state) == HOP_NONE &&
             hop_state_bound(b->p, state) < b->cut);
    if (advanced == HOP_ADVANCED_FAILED)
        return HOP_ERR_LIMIT;
    if (advanced == HOP_ADVANCED_END)
        remember_best(b, hop_state_value(b->p, state));
    if (advanced != HOP_ADVANCED)
        return HOP_OK;
    double bound, score = judge(b, state, &bound);
    if (bound >= b->cut)
        return HOP_OK;
    b->kept = true;
    b->made->score = score * (1 + b->options->jitter * hop_draw_unit(&b->rng));
    b->made->hash = hash_of(b, state, bound);
    b->made->level += state->ended;
    b->deepest = b->made->level > b->deepest ? b->made->level : b->deepest;
    return keep(b) ? HOP_OK : HOP_ERR_MEMORY;
}

/* Takes what was drawn for every free source. Taking can make others free (operations without bytes): they take their
 * first option. */
static enum hop_status make_child(struct beam *b, const struct hop_state *from, uint32_t parent, uint32_t level)
{
    struct hop_state *state = state_of(b, b->made);
    struct step *steps = choices_of(b, b->made);
    memcpy(state, from, b->p->state_size);
    b->made->parent = parent;
    b->made->count = 0;
    b->made->level = level - from->ended;
    for (uint32_t c = 0; c < b->choice_count; c++) {
        const struct choice *choice = &b->choice[c];
        if (choice->drawn == choice->count) {
            hop_state_rest(b->p, state, choice->source);
            continue;
        }
        uint32_t op = b->offer[choice->first + choice->drawn];
        steps[b->made->count++] = (struct step){op, hop_state_take(b->p, state, op)};
        b->made->level++;
    }
    for (uint32_t s; (s = hop_state_choice(b->p, state)) != HOP_NONE;) {
        uint32_t n = hop_state_options(b->p, state, s, b->offer + b->p->op_count);
        uint32_t op = b->offer[b->p->op_count + hop_draw_below(&b->rng, n)];
        steps[b->made->count++] = (struct step){op, hop_state_take(b->p, state, op)};
        b->made->level++;
    }
    return move(b);
}

/* Which sources are free, and what each can take. Sources with several free slots are asked once; make_child deals
 * with the rest. */
static void list_choices(struct beam *b, const struct hop_state *from)
{
    uint32_t used = 0;
    memcpy(b->base, from, b->p->state_size);
    b->choice_count = 0;
    for (uint32_t s; (s = hop_state_choice(b->p, b->base)) != HOP_NONE;) {
        uint32_t n = hop_state_options(b->p, b->base, s, b->offer + used);
        b->choice[b->choice_count++] = (struct choice){s, used, n, 0};
        used += n;
        hop_state_rest(b->p, b->base, s);
    }
}

/* ---- choosing well ---- */

/* How hard each bound presses, near the largest, 1; far from it, nothing; and what a byte of each operation relieves.
 * For a mean of ends: the
 * shorter, the better. */
static void find_pressure(struct beam *b, const struct hop_state *state)
{
    const struct hop_problem *p = b->p;
    for (uint32_t op = 0; op < p->op_count && p->objective == HOP_ORDER_MEAN; op++)
        b->worth[op] = p->ops[op].bytes > 0 ? 1 / p->ops[op].bytes : 0;
    if (p->objective == HOP_ORDER_MEAN)
        return;
    double most = 0;
    const double *rest = hop_state_rest_of(p, state);
    for (uint32_t i = 0; i < p->bound_count; i++)
        most = hop_max(most, rest[i]);
    for (uint32_t i = 0; i < p->bound_count; i++)
        b->pressure[i] = raise((state->now_s + rest[i]) / (state->now_s + most), b->options->press);
    for (uint32_t op = 0; op < p->op_count; op++) {
        b->worth[op] = 0;
        for (uint32_t w = p->ops[op].first_weight; w < p->ops[op + 1].first_weight; w++)
            b->worth[op] += p->weights[w].per_byte_s * b->pressure[p->weights[w].bound];
    }
}

/* What the active set is worth: the bytes that flow in a second, each by the pressure on its links. Below 0: not
 * clean; NAN: failed. */
static double worth_of(struct beam *b, uint64_t key, const uint16_t *flow, const uint32_t *slot_op)
{
    const struct hop_set *set = hop_sets_find(b->sets, key, flow);
    double sum = 0;
    if (!set)
        return NAN;
    if (b->p->clean && !set->clean)
        return -1;
    for (uint32_t slot = 0; slot < b->p->slot_count; slot++)
        sum += flow[slot] ? b->worth[slot_op[slot]] * set->rate[slot] : 0;
    return sum;
}

/* Draws a choice for every free source, one after another, each the one that adds most to what is there; rests when
 * all of them take away. */
static bool draw_well(struct beam *b, const struct hop_state *from, double noise)
{
    const struct hop_problem *p = b->p;
    uint16_t *flow = b->flow;
    uint32_t *slot_op = b->slot_op;
    uint64_t key = from->key;
    memcpy(flow, hop_state_flow(p, from), p->slot_count * sizeof *flow);
    memcpy(slot_op, hop_state_op(p, from), p->slot_count * sizeof *slot_op);
    for (uint32_t c = b->choice_count; c-- > 1;) { /* in random order */
        uint32_t other = hop_draw_below(&b->rng, c + 1);
        struct choice swap = b->choice[c];
        b->choice[c] = b->choice[other];
        b->choice[other] = swap;
    }
    double now = worth_of(b, key, flow, slot_op);
    for (uint32_t c = 0; c < b->choice_count; c++) {
        struct choice *choice = &b->choice[c];
        uint32_t slot = p->sources[choice->source].slot;
        double best = b->options->rests ? 0 : -INFINITY, most = now;
        choice->drawn = b->options->rests ? choice->count : 0;
        for (uint32_t i = 0; i < choice->count; i++) {
            uint32_t op = b->offer[choice->first + i], class = p->ops[op].class_index;
            if (class == HOP_NONE || flow[slot]) {
                choice->drawn = hop_draw_below(&b->rng, choice->count);
                break;
            }
            double then = now; /* what only holds its source adds nothing */
            if (p->simple || hop_state_is_ready(p, from, &p->ops[op])) {
                flow[slot] = (uint16_t)(class + 1);
                slot_op[slot] = op;
                then = worth_of(b, key + hop_sets_key(slot, class + 1), flow, slot_op);
                flow[slot] = 0;
            }
            if (isnan(then))
                return false;
            double gain = (then - now) * (1 + noise * hop_draw_unit(&b->rng));
            if (then == now) /* no bound counts it: it may begin or not */
                gain = hop_draw_below(&b->rng, 2) * 1e-300;
            if (then >= 0 && gain > best) {
                best = gain;
                most = then;
                choice->drawn = i;
            }
        }
        uint32_t op = choice->drawn < choice->count ? b->offer[choice->first + choice->drawn] : HOP_NONE;
        if (op != HOP_NONE && !flow[slot] && p->ops[op].class_index != HOP_NONE &&
            (p->simple || hop_state_is_ready(p, from, &p->ops[op]))) {
            flow[slot] = (uint16_t)(p->ops[op].class_index + 1);
            slot_op[slot] = op;
            key += hop_sets_key(slot, flow[slot]);
            now = most;
        }
    }
    return true;
}

static enum hop_status expand(struct beam *b, struct item *item, uint32_t level)
{
    struct hop_state *from = state_of(b, item);
    uint32_t parent = add_node(b, item);
    if (parent == HOP_NONE)
        return HOP_ERR_MEMORY;
    list_choices(b, from);
    double product = 1;
    bool rests = b->options->rests;
    for (uint32_t c = 0; c < b->choice_count; c++)
        product *= b->choice[c].count + rests;
    enum hop_status status = HOP_OK;
    bool all = product <= ALL * b->options->samples;
    uint32_t most = all ? (uint32_t)product : DRAWS * b->options->samples;
    bool well = !all && b->options->noise > 0;
    if (well)
        find_pressure(b, from);
    for (uint32_t k = 0, kept = 0; k < most && (all || kept < b->options->samples) && status == HOP_OK; k++) {
        bool blind = !well || k % BLIND == BLIND - 1;
        if (!blind && !draw_well(b, from, k ? b->options->noise : 0))
            return HOP_ERR_LIMIT;
        for (uint32_t c = 0, rest = k; c < b->choice_count && blind; c++) {
            struct choice *choice = &b->choice[c];
            uint32_t n = choice->count + rests;
            if (all)
                choice->drawn = rest % n;
            else
                choice->drawn = hop_draw_below(&b->rng, choice->count);
            rest /= n;
        }
        status = make_child(b, from, parent, level);
        kept += b->kept;
    }
    return status;
}

/* ---- the search ---- */

static bool create(struct beam *b)
{
    const struct hop_problem *p = b->p;
    size_t ops = (size_t)p->op_count + 1;
    b->choices_at = sizeof(struct item);
    b->state_at = (b->choices_at + (ops + p->source_count) * sizeof(struct step) + 63) & ~(size_t)63;
    if (p->simple) /* a source chooses once at an instant */
        b->state_at = (b->choices_at + ((size_t)p->source_count + 1) * sizeof(struct step) + 63) & ~(size_t)63;
    b->item_size = b->state_at + p->state_size;
    b->table = 64;
    while (b->table < 4 * b->options->width)
        b->table *= 2;
    b->level_count = 2 * p->op_count + 2;
    b->levels = hop_arena_alloc(&b->arena, b->level_count * sizeof(struct level *));
    b->made = hop_arena_alloc(&b->arena, b->item_size);
    b->base = hop_arena_alloc(&b->arena, p->state_size);
    b->offer = hop_arena_alloc(&b->arena, 2 * ops * sizeof *b->offer);
    b->choice = hop_arena_alloc(&b->arena, ((size_t)p->source_count + 1) * sizeof *b->choice);
    b->pressure = hop_arena_alloc(&b->arena, ((size_t)p->bound_count + 1) * sizeof *b->pressure);
    b->worth = hop_arena_alloc(&b->arena, ops * sizeof *b->worth);
    b->flow = hop_arena_alloc(&b->arena, ((size_t)p->slot_count + 1) * sizeof *b->flow);
    b->slot_op = hop_arena_alloc(&b->arena, ((size_t)p->slot_count + 1) * sizeof *b->slot_op);
    return !b->arena.failed;
}

static void destroy(struct beam *b)
{
    for (uint32_t l = 0; b->levels && l < b->level_count; l++)
        free_level(b->levels[l]);
    while (b->free) {
        struct level *next = b->free->next_free;
        free_level(b->free);
        b->free = next;
    }
    hop_arena_finish(&b->arena);
}

/* From the last choices to the first, each source's from the back. */
static void write_best(const struct beam *b, struct hop_sequence *sequence)
{
    const struct hop_problem *p = b->p;
    uint32_t *place = b->offer; /* per source: past the next to be written */
    for (uint32_t s = 0; s < p->source_count; s++)
        place[s] = p->sources[s].first + p->sources[s].count;
    for (uint32_t n = b->best_node; n != HOP_NONE; n = b->nodes[n].parent) {
        for (uint32_t i = b->nodes[n].count; i-- > 0;) {
            struct step step = b->steps[b->nodes[n].first + i];
            sequence->order[--place[p->ops[step.op].source]] = step.op;
            sequence->after[step.op] = step.after;
        }
    }
}

static bool must_stop(struct beam *b)
{
    if (b->visited >= b->options->max_nodes)
        return true;
    if (!b->options->poll || b->visited - b->polled < POLL_NODES)
        return false;
    uint64_t since = b->visited - b->polled;
    b->polled = b->visited;
    return !b->options->poll(b->options->context, since);
}

static enum hop_status run(struct beam *b)
{
    struct hop_state *first = state_of(b, b->made);
    hop_state_begin(b->p, first);
    enum hop_status status = HOP_OK;
    b->made->parent = HOP_NONE;
    if (hop_state_choice(b->p, first) == HOP_NONE)
        status = move(b);
    else
        status = keep(b) ? HOP_OK : HOP_ERR_MEMORY;
    for (uint32_t l = 0; l < b->level_count && status == HOP_OK && !b->stopped && !b->done; l++) {
        struct level *level = b->levels[l];
        for (uint32_t i = 0; level && i < level->count && status == HOP_OK && !b->stopped && !b->done; i++) {
            status = expand(b, item_at(b, level, i), l);
            b->done = b->best <= b->options->enough;
            b->stopped = !b->done && must_stop(b);
        }
        if (level) {
            level->next_free = b->free;
            b->free = level;
            b->levels[l] = NULL;
        }
    }
    return status;
}

enum hop_status hop_beam_search(const struct hop_problem *p, struct hop_sets *sets,
                                const struct hop_beam_options *options, struct hop_sequence *sequence,
                                struct hop_beam_result *result, struct hop_diag *diag)
{
    struct beam b = {
        .p = p, .sets = sets, .options = options, .rng = options->seed, .cut = options->cut, .best = INFINITY};
    enum hop_status status = create(&b) ? run(&b) : HOP_ERR_MEMORY;
    if (status == HOP_ERR_MEMORY)
        hop_fail_memory(diag);
    else if (status != HOP_OK)
        status = hop_sets_status(sets, diag);
    if (status == HOP_OK) {
        double depth = b.best < INFINITY ? 1 : b.deepest / (2.0 * p->op_count);
        *result = (struct hop_beam_result){b.best, depth, b.visited};
        if (b.best < INFINITY)
            write_best(&b, sequence);
    }
    destroy(&b);
    return status;
}
