/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two ways to order share. */
#include "order/order.h"

#include "base/random.h"

enum hop_status hop_order_check(const struct hop_order_options *o, struct hop_diag *diag)
{
    if (!(o->time_limit_s >= 0) || !(o->gap >= 0) || !(o->checkpoint_s >= 0) || !(o->cut_s >= 0))
        return hop_fail(diag, HOP_ERR_INVALID, "a time limit, gap, cut or interval that is negative or no number");
    return HOP_OK;
}

enum hop_status hop_order_fingerprint(const struct hop_problem *p, const struct hop_order_options *options,
                                      const char *mode, uint64_t *fingerprint, struct hop_diag *diag)
{
    uint64_t hash = HOP_HASH_BEGIN;
    char *topology = hop_topology_to_json(p->topology), *schedule = hop_schedule_to_text(p->schedule);
    const uint64_t numbers[] = {options->objective, options->allow_unclean, options->no_waits, options->count,
                                options->seed};
    hash = hop_hash(hash, mode, strlen(mode));
    bool known = topology && schedule;
    if (known)
        hash = hop_hash(hop_hash(hash, topology, strlen(topology)), schedule, strlen(schedule));
    if (options->models)
        hash = hop_hash(hash, options->models, strlen(options->models));
    hash = hop_hash(hash, numbers, sizeof numbers);
    hash = hop_hash(hash, options->marked, options->marked_count * sizeof *options->marked);
    free(topology);
    free(schedule);
    *fingerprint = hash;
    return known ? HOP_OK : hop_fail_memory(diag);
}
