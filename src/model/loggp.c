/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model loggp: links have no part in it. Messages occupy CPUs and NICs one after the other, which an executor of its
 * own does (src/simulate/messages.h); here is only what a byte of a lone transfer takes, for whoever asks for rates.
 */
#include "model/model.h"

static void *create(const struct hop_links *links, struct hop_arena *arena)
{
    double *rate_Bps = hop_arena_alloc(arena, sizeof *rate_Bps);
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

#define LOGGP(key, default_value, its_unit, meaning)                                                                   \
    {                                                                                                                  \
        .name = "loggp_" key, .value = default_value, .unit = its_unit,                                                \
        .origin = "LogGP: " meaning " (default of LogGOPSim)", .most = 1e9                                             \
    }
static const struct hop_parameter_rule parameters[] = {
    LOGGP("L", 2500e-9, "s", "latency of a message"),
    LOGGP("o", 1500e-9, "s", "CPU time of a message at either side"),
    LOGGP("g", 1000e-9, "s", "gap, NIC time of a message"),
    LOGGP("G", 6e-9, "s/B", "NIC time of each byte but the first"),
    LOGGP("O", 0, "s/B", "CPU time of each byte but the first"),
    {.name = "loggp_A",
     .unit = "1",
     .origin =
         "LogGP: what acknowledgements of a message take of the other direction of its NICs, as a share of what its "
         "bytes take: none until measured",
     .most = 1,
     .expected = "0 to 1"},
    {.name = "loggp_E",
     .unit = "s/B",
     .origin = "LogGP: CPU time at either side of each byte but the first of a message up to loggp_S, which is copied "
               "into a buffer and out of it: none until measured",
     .most = 1e9},
    {.name = "loggp_R",
     .unit = "s",
     .origin = "LogGP: CPU time that a message longer than loggp_S takes its receiver besides, which reads it from the "
               "sender's memory, whose send ends then: none until measured",
     .most = 1e9},
    {.name = "loggp_S",
     .value = 65535,
     .unit = "B",
     .origin = "longest message that is sent before its receive waits for it (default of LogGOPSim)",
     .most = 0x1p60},
};
const struct hop_parameter_table hop_loggp_parameters = {parameters, HOP_COUNT(parameters)};

const struct hop_model hop_model_loggp = {
    .facts = {.name = "loggp",
              .summary = "LogGP messages over CPUs and NICs, as LogGOPSim runs GOAL schedules",
              .is_serial = true,
              .cost = 1},
    .create = create,
    .rates = rates,
};
