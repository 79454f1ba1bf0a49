/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether all ranks are about to do the same: else they would write where others have no memory, or wait for what nobody
 * sends. */
#include <inttypes.h>
#include <stdio.h>

#include "base/random.h"
#include "run/program.h"
#include "topology/topology.h"

enum { ITEMS = HOP_SLOT_BYTES / sizeof(uint64_t), NAMED_RANKS = 8 };

/* "ranks 1, 2 and 5 have another seed than rank 0: 3, not 1" */
static enum hop_status fail_differing(const struct hop_team *team, const struct hop_agreement *item,
                                      const uint64_t *values, uint32_t stride, struct hop_diag *diag)
{
    char ranks[NAMED_RANKS * 8 + 32] = "", numbers[64] = "";
    uint32_t differing = 0, named = 0, first = 0;
    for (uint32_t r = team->size - 1; r > 0; r--) {
        differing += values[(size_t)r * stride] != values[0];
        first = values[(size_t)r * stride] != values[0] ? r : first;
    }
    for (uint32_t r = first; r < team->size && named < NAMED_RANKS; r++) {
        size_t used = strlen(ranks);
        if (values[(size_t)r * stride] == values[0])
            continue;
        named++;
        (void)snprintf(ranks + used, sizeof ranks - used, "%s%u",
                       named == 1           ? ""
                       : named == differing ? " and "
                                            : ", ",
                       r);
    }
    if (!item->hashed)
        (void)snprintf(numbers, sizeof numbers, ": %" PRIu64 ", not %" PRIu64, values[(size_t)first * stride],
                       values[0]);
    return hop_fail(diag, HOP_ERR_INVALID,
                    "rank%s %s%s %s another %s than rank 0%s\nthe same schedule and the same options on all ranks",
                    differing == 1 ? "" : "s", ranks, named < differing ? " and more" : "",
                    differing == 1 ? "has" : "have", item->what, numbers);
}

enum hop_status hop_team_agree(struct hop_team *team, const struct hop_agreement *items, uint32_t count,
                               struct hop_diag *diag)
{
    uint64_t mine[ITEMS];
    if (count > ITEMS)
        return hop_fail(diag, HOP_ERR_LIMIT, "%u values to agree on\n%d at most", count, (int)ITEMS);
    for (uint32_t i = 0; i < count; i++)
        mine[i] = items[i].value;
    uint64_t *all = calloc((size_t)team->size * count + 1, sizeof *all);
    enum hop_status status = all ? hop_team_gather(team, mine, all, count * sizeof *mine, diag) : hop_fail_memory(diag);
    for (uint32_t i = 0; i < count && status == HOP_OK; i++) {
        for (uint32_t r = 1; r < team->size && status == HOP_OK; r++) {
            if (all[(size_t)r * count + i] != all[i])
                status = fail_differing(team, &items[i], all + i, count, diag);
        }
    }
    free(all);
    return status;
}

/* ---- hashes ---- */

static void mix(uint64_t *hash, uint64_t value)
{
    *hash = hop_draw_from(*hash ^ value);
}

static void mix_real(uint64_t *hash, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    mix(hash, bits);
}

/* NULL is none, which is another one than "". */
static void mix_text(uint64_t *hash, const char *text)
{
    mix(hash, text != NULL);
    for (; text && *text; text++)
        *hash = *hash * 131 + (unsigned char)*text;
    mix(hash, 0);
}

static void mix_place(uint64_t *hash, const struct hop_place *place)
{
    mix_text(hash, place->device);
    mix_text(hash, place->buffer);
    mix(hash, place->offset_bytes);
    mix(hash, (uint64_t)place->rank);
}

static void mix_op(uint64_t *hash, const struct hop_op *op)
{
    mix_text(hash, op->name);
    mix(hash, (uint64_t)op->kind << 32 | (uint64_t)op->via << 24 | (uint64_t)op->reduce << 16 |
                  (uint64_t)op->type << 8 | (uint64_t)op->any_source << 1 | op->any_tag);
    mix(hash, (uint64_t)op->tag << 32 | (uint32_t)op->by);
    mix(hash, op->bytes);
    mix(hash, op->packet_bytes);
    mix_real(hash, op->duration_s);
    mix_real(hash, op->at_s);
    mix_place(hash, &op->from);
    mix_place(hash, &op->to);
    for (uint32_t i = 0; i < op->input_count; i++)
        mix_place(hash, &op->inputs[i]);
    for (uint32_t i = 0; i < op->output_count; i++)
        mix_place(hash, &op->outputs[i]);
    for (uint32_t i = 0; i < op->after_count; i++)
        mix(hash, op->after[i]);
    for (uint32_t i = 0; i < op->after_start_count; i++)
        mix(hash, ~(uint64_t)op->after_start[i]);
}

static uint64_t hash_schedule(const struct hop_schedule *schedule, uint64_t *bytes)
{
    uint64_t hash = hop_schedule_queue_ready(schedule);
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        mix_op(&hash, op);
        *bytes += op->bytes;
    }
    return hash;
}

static uint64_t hash_topology(const struct hop_topology *topology)
{
    uint64_t hash = topology != NULL;
    for (uint32_t l = 0; topology && l < hop_topology_link_count(topology); l++) {
        const struct hop_link *link = hop_topology_link(topology, l);
        mix_real(&hash, link->capacity_Bps[0]);
        mix_real(&hash, link->capacity_Bps[1]);
        mix_real(&hash, link->latency_s);
    }
    return hash;
}

/* Way of copies, and all that the emulated links and streams go by. */
static uint64_t hash_options(const struct hop_program_options *o)
{
    uint64_t hash = 0;
    mix(&hash, (uint64_t)o->copies << 2 | (uint64_t)o->pipelined << 1 | o->record | (uint64_t)o->bound << 8);
    mix(&hash, o->mix ? (uint64_t)o->mix->staged << 32 | o->mix->of : 0);
    mix(&hash, o->mix ? o->mix->packet_bytes : 0);
    mix(&hash, o->engines);
    mix_real(&hash, o->emulate ? o->slower : 0);
    mix(&hash, o->chunk_bytes);
    mix(&hash, o->buffer_bytes);
    mix(&hash, o->definition ? o->definition->vector_bytes << 1 | 1 : 0);
    mix(&hash, o->definition_ranks);
    return hash;
}

enum hop_status hop_program_agree(const struct hop_program *program, struct hop_diag *diag)
{
    const struct hop_program_options *o = &program->options;
    uint64_t bytes = 0, device = 0, schedule = hash_schedule(program->schedule, &bytes);
    mix_text(&device, o->device ? o->device : hop_device_at(0)->name);
    const struct hop_agreement items[] = {
        {"number of programs before", program->number, false},
        {"number of operations", hop_schedule_count(program->schedule), false},
        {"sum of their bytes", bytes, false},
        {"schedule", schedule, true},
        {"device", device, true},
        {"emulated topology", hash_topology(o->emulate), true},
        {"packet size", o->packet_bytes, false},
        {"way of running (copies, engines, emulated links, pipelined, recorded, bound)", hash_options(o), true},
    };
    return hop_team_agree(program->team, items, HOP_COUNT(items), diag);
}
