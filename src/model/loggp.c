/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model loggp: links have no part in it. Messages occupy CPUs and NICs one after the other, which an executor of its
 * own does (src/simulate/messages.h); here is only what a byte of a lone transfer takes, for whoever asks for rates.
 */
#include "model/model.h"

static void *create(const struct hop_links *links)
{
    double *rate_Bps = malloc(sizeof *rate_Bps);
    double gap_s = hop_topology_parameter(links->topology, "loggp_G")->value;
    if (rate_Bps)
        *rate_Bps = gap_s > 1e-18 ? 1 / gap_s : 1e18;
    return rate_Bps;
}

static bool rates(void *state, const struct hop_leg *legs, uint32_t count, struct hop_share *shares)
{
    const double *rate_Bps = state;
    for (uint32_t f = 0; f < count; f++)
        shares[f] = legs[f].cap_Bps < *rate_Bps
                        ? (struct hop_share){legs[f].cap_Bps, HOP_RULE_OTHER_DOMAIN, HOP_NONE, HOP_NONE}
                        : (struct hop_share){*rate_Bps, HOP_RULE_FULL, HOP_NONE, HOP_NONE};
    return true;
}

const struct hop_model hop_model_loggp = {
    .name = "loggp",
    .summary = "LogGP messages over CPUs and NICs, as LogGOPSim runs GOAL schedules",
    .serial = true,
    .create = create,
    .destroy = free,
    .rates = rates,
};
