/* SPDX-License-Identifier: BSD-3-Clause */
/* Bound: which buffers are the caller's own memory, and what a launch does with them at its beginning and end. */
#include "run/bindings.h"

#include "run/kernel_copy.h"

#define WINDOW_BYTES 4096u               /* the kernel's call takes longer than two copies of so much */
#define EAGER_BYTES 8192u                /* of a rank's memory, all buffers once */
#define SETS_BYTES (UINT64_C(256) << 10) /* of all sets of that and of flags */

/* ---- kinds ---- */

/* Who has to do with which buffer. Without pipelining, all are the caller's where none has a name of the caller's. */
static void mark(struct hop_layout *layout, bool pipelined)
{
    bool named = pipelined;
    for (uint32_t b = 0; b < layout->buffer_count; b++)
        named = named || hop_layout_is_callers(layout->buffers[b].name);
    for (uint32_t b = 0; b < layout->buffer_count; b++) {
        struct hop_run_buffer *buffer = &layout->buffers[b];
        buffer->callers = !named || hop_layout_is_callers(buffer->name);
        buffer->scratch = buffer->scratch && !buffer->callers;
    }
    for (uint32_t i = 0; i < layout->op_count; i++) {
        const struct hop_run_op *run = &layout->ops[i];
        for (uint32_t p = 0; p < run->reads + run->writes; p++) {
            struct hop_run_buffer *buffer = &layout->buffers[layout->places[run->first + p].buffer];
            bool others = !run->crosses && run->owner != buffer->rank;
            buffer->shared = buffer->shared || others;
            buffer->filled = buffer->filled || (others && p >= run->reads);
        }
    }
}

/* The emulator, threads that copy and GPUs have windows only. */
static uint8_t kind_of(const struct hop_program *program, const struct hop_run_buffer *buffer)
{
    if (!program->immediate || !program->mapped)
        return HOP_BUFFER_WINDOW;
    return !buffer->shared ? HOP_BUFFER_OWN : buffer->bytes <= WINDOW_BYTES ? HOP_BUFFER_WINDOW : HOP_BUFFER_DIRECT;
}

/* Whether bytes are read that nothing has written before, in an order that the schedule allows; of large windows any
 * read counts. */
static void find_given(struct hop_program *program)
{
    struct hop_layout *layout = &program->layout;
    char **seen = hop_program_alloc(program, layout->buffer_count, sizeof *seen);
    for (uint32_t i = 0; seen && i < layout->op_count; i++) {
        const struct hop_run_op *run = &layout->ops[layout->order[i]];
        uint64_t bytes = hop_schedule_op(program->schedule, layout->order[i])->bytes;
        for (uint32_t p = 0; p < run->reads + run->writes && hop_program_is_fine(program); p++) {
            const struct hop_run_place *place = &layout->places[run->first + p];
            struct hop_run_buffer *buffer = &layout->buffers[place->buffer];
            if (!buffer->callers || buffer->kind == HOP_BUFFER_OWN || bytes == 0)
                continue;
            bool small = buffer->bytes <= WINDOW_BYTES;
            if (small && !seen[place->buffer])
                seen[place->buffer] = hop_program_alloc(program, buffer->bytes, 1);
            if (small && seen[place->buffer] && p >= run->reads)
                memset(seen[place->buffer] + place->offset, 1, bytes);
            else if (p < run->reads)
                buffer->given = buffer->given || !small || !seen[place->buffer] ||
                                memchr(seen[place->buffer] + place->offset, 0, bytes);
        }
    }
}

/* ---- eager slots ---- */

/* Whether some rank that takes part needs no word of any other: only such a rank can run ahead. */
static bool runs_ahead(struct hop_program *program)
{
    const struct hop_layout *layout = &program->layout;
    enum { PART = 1, HEARS = 2 };
    char *ranks = hop_program_alloc(program, layout->ranks, 1);
    bool ahead = false;
    for (uint32_t i = 0; ranks && i < layout->op_count; i++) {
        const struct hop_run_op *run = &layout->ops[i];
        const struct hop_op *op = hop_schedule_op(program->schedule, i);
        ranks[run->begins_at] |= PART;
        for (uint32_t a = 0; a < run->after_count; a++)
            ranks[run->begins_at] |=
                layout->ops[layout->after[run->after_first + a]].ends_at != run->begins_at ? HEARS : 0;
        for (uint32_t a = 0; a < op->after_start_count; a++)
            ranks[run->begins_at] |= layout->ops[op->after_start[a]].begins_at != run->begins_at ? HEARS : 0;
        for (uint32_t p = 0; p < run->reads + run->writes; p++) {
            const struct hop_run_buffer *buffer = &layout->buffers[layout->places[run->first + p].buffer];
            bool others = buffer->rank != run->owner;
            ranks[buffer->rank] |= others && buffer->filled ? HEARS | PART : others ? PART : 0;
            ranks[run->owner] |= others && buffer->given ? HEARS : 0;
        }
    }
    for (uint32_t r = 0; ranks && r < layout->ranks; r++)
        ahead = ahead || ranks[r] == PART;
    return ahead;
}

static uint32_t count_sets(struct hop_program *program)
{
    const struct hop_layout *layout = &program->layout;
    uint64_t most = 0, flags = layout->op_count * sizeof(struct hop_flag);
    uint32_t sets = HOP_SETS_MOST;
    bool direct = false;
    for (uint32_t b = 0; b < layout->buffer_count; b++)
        direct = direct || layout->buffers[b].kind == HOP_BUFFER_DIRECT;
    for (uint32_t r = 0; r < layout->ranks; r++)
        most = layout->rank_bytes[r] > most ? layout->rank_bytes[r] : most;
    if (!program->options.pipelined)
        return 1;
    if (direct || most > EAGER_BYTES || !program->immediate || program->emulator || program->copies ||
        program->options.record || program->team->nodes > 1 || !runs_ahead(program))
        return 2;
    while (sets > 2 && sets * (most + flags) > SETS_BYTES)
        sets /= 2;
    return sets;
}

/* ---- all together ---- */

void hop_bound_plan(struct hop_program *program)
{
    struct hop_layout *layout = &program->layout;
    bool may = true, needed = false;
    program->sets = program->options.pipelined ? 2 : 1;
    if (!program->options.bound || !hop_program_is_fine(program))
        return;
    program->bound = hop_program_alloc(program, 1, sizeof *program->bound);
    mark(layout, program->options.pipelined);
    if (program->immediate)
        (void)HOP_TEAM(program, hop_kernel_ask, &may);
    for (uint32_t b = 0; b < layout->buffer_count; b++) {
        struct hop_run_buffer *buffer = &layout->buffers[b];
        buffer->kind = buffer->callers ? kind_of(program, buffer) : HOP_BUFFER_PROGRAM;
        buffer->scratch = buffer->scratch || (buffer->kind == HOP_BUFFER_WINDOW && program->options.pipelined);
        buffer->held = buffer->kind == HOP_BUFFER_PROGRAM || buffer->kind == HOP_BUFFER_WINDOW ||
                       (buffer->kind == HOP_BUFFER_DIRECT && !may);
        if (buffer->kind == HOP_BUFFER_DIRECT && buffer->held)
            memcpy(program->note, program->team->unreached, sizeof program->note);
        needed = needed || buffer->kind == HOP_BUFFER_DIRECT || buffer->kind == HOP_BUFFER_OWN;
    }
    find_given(program);
    (void)HOP_TRY(program, hop_layout_arrange(layout, 1, &program->failure));
    program->sets = hop_program_is_fine(program) ? count_sets(program) : 1;
    (void)HOP_TRY(program, hop_layout_arrange(layout, program->sets, &program->failure));
    if (needed && hop_program_is_fine(program) && !(program->bounce = aligned_alloc(4096, HOP_BOUNCE_BYTES)))
        (void)hop_fail_memory(&program->failure);
}

size_t hop_bound_shared_size(const struct hop_program *program)
{
    return program->bound ? program->layout.buffer_count * sizeof(struct hop_published) : 0;
}

/* ---- what lies where ---- */

static bool is_in_order(const struct hop_program *program, const struct hop_run_buffer *buffer,
                        const struct hop_window_part *part)
{
    return (char *)part->places[0] == (char *)program->memory + buffer->offset + part->offset;
}

static int compare_parts(const void *a, const void *b)
{
    const struct hop_window_part *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Those that touch become one, unless they lie beside flags. */
static uint32_t join_parts(const struct hop_program *program, const struct hop_run_buffer *buffer,
                           struct hop_window_part *parts, uint32_t count)
{
    uint32_t kept = 0;
    if (count)
        qsort(parts, count, sizeof *parts, compare_parts);
    for (uint32_t i = 0; i < count; i++) {
        struct hop_window_part *last = kept ? &parts[kept - 1] : NULL, *next = &parts[i];
        uint64_t end = last ? last->offset + last->bytes : 0;
        if (last && next->offset <= end && is_in_order(program, buffer, last) && is_in_order(program, buffer, next))
            last->bytes = next->offset + next->bytes > end ? next->offset + next->bytes - last->offset : last->bytes;
        else
            parts[kept++] = *next;
    }
    return kept;
}

static void add_part(struct hop_program *program, struct hop_window_part **parts, uint32_t *count, uint32_t op,
                     uint32_t p)
{
    uint64_t offset = program->layout.places[program->layout.ops[op].first + p].offset;
    void **places = hop_program_alloc(program, program->sets, sizeof *places);
    if (!places || !HOP_GROW(&program->arena, *parts, *count + 1u)) {
        (void)HOP_TRY(program, hop_fail_memory(&program->failure));
        return;
    }
    for (uint32_t set = 0; set < program->sets; set++)
        places[set] = hop_program_place(program, op, p, set);
    (*parts)[(*count)++] = (struct hop_window_part){offset, hop_schedule_op(program->schedule, op)->bytes, places};
}

static void add_place(struct hop_program *program, struct hop_bound_buffer *own, uint32_t op, uint32_t p)
{
    const struct hop_run_op *run = &program->layout.ops[op];
    const struct hop_run_place *place = &program->layout.places[run->first + p];
    const struct hop_run_buffer *buffer = &program->layout.buffers[place->buffer];
    uint64_t bytes = hop_schedule_op(program->schedule, op)->bytes;
    uint32_t step = program->step_of[op];
    if (bytes > 0 && buffer->held && p >= run->reads)
        add_part(program, &own->out, &own->out_count, op, p);
    else if (bytes > 0 && buffer->held && buffer->given)
        add_part(program, &own->in, &own->in_count, op, p);
    if (step == HOP_NONE || buffer->kind == HOP_BUFFER_WINDOW)
        return;
    if (HOP_GROW(&program->arena, own->slots, own->slot_count + 1u))
        own->slots[own->slot_count++] = (struct hop_bound_slot){step, p, place->offset};
    else
        (void)HOP_TRY(program, hop_fail_memory(&program->failure));
}

void hop_bound_create(struct hop_program *program)
{
    struct hop_layout *layout = &program->layout;
    struct hop_bound *bound = program->bound;
    uint32_t *number = bound ? hop_program_alloc(program, layout->buffer_count, sizeof *number) : NULL;
    if (!number)
        return;
    bound->own = hop_program_alloc(program, layout->buffer_count, sizeof *bound->own);
    for (uint32_t b = 0; b < layout->buffer_count && bound->own; b++) {
        number[b] = bound->own_count;
        if (layout->buffers[b].callers && layout->buffers[b].rank == program->team->rank)
            bound->own[bound->own_count++].buffer = b;
    }
    for (uint32_t i = 0; i < layout->op_count && hop_program_is_fine(program); i++) {
        const struct hop_run_op *run = &layout->ops[i];
        struct hop_run_step *step = program->step_of[i] == HOP_NONE ? NULL : &program->steps[program->step_of[i]];
        for (uint32_t p = 0; p < run->reads + run->writes && hop_program_is_fine(program); p++) {
            uint32_t b = layout->places[run->first + p].buffer;
            const struct hop_run_buffer *buffer = &layout->buffers[b];
            if (!buffer->callers)
                continue;
            if (step && !step->far && buffer->kind != HOP_BUFFER_WINDOW)
                step->far = hop_program_alloc(program, run->reads + run->writes, sizeof *step->far);
            if (buffer->rank == program->team->rank)
                add_place(program, &bound->own[number[b]], i, p);
        }
    }
    for (uint32_t i = 0; i < bound->own_count && hop_program_is_fine(program); i++) {
        struct hop_bound_buffer *own = &bound->own[i];
        own->pointed = hop_program_alloc(program, program->sets, sizeof *own->pointed);
        own->in_count = join_parts(program, &layout->buffers[own->buffer], own->in, own->in_count);
        own->out_count = join_parts(program, &layout->buffers[own->buffer], own->out, own->out_count);
    }
}

/* ---- binding ---- */

static struct hop_bound_buffer *own_of(const struct hop_program *program, const struct hop_run_buffer *buffer)
{
    struct hop_bound *bound = program->bound;
    for (uint32_t i = 0; i < bound->own_count; i++) {
        if (&program->layout.buffers[bound->own[i].buffer] == buffer)
            return &bound->own[i];
    }
    return NULL;
}

char *hop_bound_address(const struct hop_program *program, const struct hop_run_buffer *buffer)
{
    return own_of(program, buffer)->address;
}

enum hop_status hop_bound_missing(const struct hop_program *program, const struct hop_run_buffer *buffer,
                                  struct hop_diag *diag)
{
    return hop_fail(diag, HOP_ERR_INVALID,
                    "buffer %s of rank %u is not bound\nhop_program_bind before the first launch", buffer->name,
                    program->team->rank);
}

static const struct hop_run_buffer *buffer_of(const struct hop_program *program, const struct hop_bound_buffer *own)
{
    return &program->layout.buffers[own->buffer];
}

/* Two that overlap, one of them written. */
static enum hop_status check_overlap(const struct hop_program *program, struct hop_diag *diag)
{
    const struct hop_bound *bound = program->bound;
    for (uint32_t i = 0; i < bound->own_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const struct hop_run_buffer *a = buffer_of(program, &bound->own[k]),
                                        *b = buffer_of(program, &bound->own[i]);
            uintptr_t first = (uintptr_t)bound->own[k].address, second = (uintptr_t)bound->own[i].address;
            if (first && second && first < second + b->bytes && second < first + a->bytes && (a->written || b->written))
                return hop_fail(diag, HOP_ERR_INVALID,
                                "buffers %s and %s of rank %u overlap, and one of them is written\n"
                                "memory of their own, or a schedule that works in place (buffer data)",
                                a->name, b->name, program->team->rank);
        }
    }
    return HOP_OK;
}

/* Steps of this rank work there from the next launch on; others see it once they know that that was entered. */
static void point(struct hop_program *program, struct hop_bound_buffer *own)
{
    const struct hop_run_buffer *buffer = buffer_of(program, own);
    char *address = own->address;
    own->region = buffer->kind == HOP_BUFFER_DIRECT ? hop_region_of(program->team, address, buffer->bytes) : 0;
    if (own->region == 0 && buffer->kind == HOP_BUFFER_DIRECT && buffer->held)
        own->region = HOP_AT_WINDOW;
    if (own->region == HOP_AT_WINDOW)
        address = (char *)program->memory + buffer->offset;
    own->base = address;
    if (buffer->kind != HOP_BUFFER_DIRECT)
        return;
    struct hop_published *published = &program->bound->published[own->buffer];
    bool region = own->region != HOP_AT_POINTER && own->region != HOP_AT_WINDOW;
    published->region = own->region;
    published->where = region ? (uint64_t)(address - program->team->regions[own->region - 1].own) : (uintptr_t)address;
}

static bool is_complete(const struct hop_program *program, const struct hop_run_buffer **missing)
{
    for (uint32_t i = 0; i < program->bound->own_count; i++) {
        *missing = buffer_of(program, &program->bound->own[i]);
        if (!program->bound->own[i].address && (*missing)->bytes > 0)
            return false;
    }
    return true;
}

enum hop_status hop_bound_set(struct hop_program *program, const struct hop_binding *bindings, uint32_t count,
                              const struct hop_run_buffer *(*find)(const struct hop_program *program, uint32_t handle),
                              struct hop_diag *diag)
{
    const struct hop_run_buffer *missing;
    for (uint32_t i = 0; i < count; i++) {
        struct hop_bound_buffer *own = own_of(program, find(program, bindings[i].buffer));
        own->before = own->address;
        own->address = bindings[i].address;
    }
    enum hop_status status = check_overlap(program, diag);
    for (uint32_t i = count; i-- > 0;) {
        struct hop_bound_buffer *own = own_of(program, find(program, bindings[i].buffer));
        if (status != HOP_OK)
            own->address = own->before;
        else if (own->address != own->before)
            point(program, own);
    }
    program->bound->complete = is_complete(program, &missing);
    return status;
}

/* ---- a launch ---- */

static void move(struct hop_program *program, void *to, const void *from, uint64_t bytes)
{
    const struct hop_device_copy copy = {to, from, bytes, HOP_NO_WAY, NULL};
    if (program->mapped && bytes <= WINDOW_BYTES)
        memcpy(to, from, bytes);
    else
        (void)HOP_DEVICE(program, copy, HOP_STREAM_NOW, &copy);
}

/* Of the launch's set: there may be many, of which most see several changes at once. */
static void update_places(struct hop_program *program, struct hop_bound_buffer *own, uint64_t set)
{
    for (uint32_t i = 0; i < own->slot_count; i++) {
        struct hop_run_step *step = &program->steps[own->slots[i].step];
        step->places[set * (step->reads + step->writes) + own->slots[i].place] = own->base + own->slots[i].offset;
    }
    own->pointed[set] = own->base;
}

static bool has_window(const struct hop_program *program, const struct hop_bound_buffer *own)
{
    return buffer_of(program, own)->kind == HOP_BUFFER_WINDOW || own->region == HOP_AT_WINDOW;
}

void hop_bound_enter(struct hop_program *program)
{
    const struct hop_bound *bound = program->bound;
    const struct hop_run_buffer *missing;
    uint64_t set = program->launch & (program->sets - 1);
    if (!bound->complete && !is_complete(program, &missing))
        (void)hop_bound_missing(program, missing, &program->failure);
    for (uint32_t i = 0; i < bound->own_count && hop_program_is_fine(program); i++) {
        struct hop_bound_buffer *own = &bound->own[i];
        if (own->pointed[set] != own->base)
            update_places(program, own, set);
        for (uint32_t k = 0; k < own->in_count && has_window(program, own); k++)
            move(program, own->in[k].places[set], own->address + own->in[k].offset, own->in[k].bytes);
    }
}

void hop_bound_leave(struct hop_program *program)
{
    const struct hop_bound *bound = program->bound;
    uint64_t set = program->launch & (program->sets - 1);
    for (uint32_t i = 0; i < bound->own_count && hop_program_is_fine(program); i++) {
        const struct hop_bound_buffer *own = &bound->own[i];
        for (uint32_t k = 0; k < own->out_count && has_window(program, own); k++)
            move(program, own->address + own->out[k].offset, own->out[k].places[set], own->out[k].bytes);
    }
}

void hop_bound_resolve(struct hop_program *program, struct hop_run_step *step)
{
    const struct hop_layout *layout = &program->layout;
    const struct hop_run_op *run = &layout->ops[step->op];
    const struct hop_team *team = program->team;
    void **places = hop_step_places(program, step);
    for (uint32_t p = 0; p < step->reads + step->writes; p++) {
        const struct hop_run_place *place = &layout->places[run->first + p];
        const struct hop_run_buffer *buffer = &layout->buffers[place->buffer];
        const struct hop_published *published = &program->bound->published[place->buffer];
        if (buffer->kind != HOP_BUFFER_DIRECT || buffer->rank == team->rank ||
            team->node_of[buffer->rank] != team->node_of[team->rank])
            continue;
        uint32_t local = team->local_of[buffer->rank];
        char *base = (char *)(uintptr_t)published->where;
        step->far[p] = published->region == HOP_AT_POINTER ? team->far_pid[local] : 0;
        if (published->region == HOP_AT_WINDOW)
            base = (char *)program->bases[buffer->rank] + buffer->offset;
        else if (published->region != HOP_AT_POINTER)
            base = (char *)team->regions[published->region - 1].parts[local].memory + published->where;
        places[p] = base + place->offset;
    }
}
