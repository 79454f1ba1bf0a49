/* SPDX-License-Identifier: BSD-3-Clause */
/* Credit-based flow control, of which model server is the extended form. */
#ifndef HOP_MODEL_CREDIT_H
#define HOP_MODEL_CREDIT_H

#include "model/model.h"

#define HOP_CREDIT_COST 8 /* times the rounds of fair */

/* What model server adds: two-way capacities, and these. */
struct hop_credit_server {
    bool pull;          /* parameter host_pull */
    double host_duplex; /* parameter host_duplex */
};

/* State of hop_credit_rates, in the arena; server: NULL for model credit. NULL: out of memory. */
void *hop_credit_create(const struct hop_links *links, const struct hop_credit_server *server, struct hop_arena *arena);
bool hop_credit_rates(void *state, const struct hop_leg *legs, uint32_t count, struct hop_share *shares);

#endif
