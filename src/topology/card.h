/* SPDX-License-Identifier: BSD-3-Clause */
/* Network cards that move packets themselves: see card.c. */
#ifndef HOP_TOPOLOGY_CARD_H
#define HOP_TOPOLOGY_CARD_H

#include "topology/topology.h"

enum hop_status hop_card_check(const struct hop_card *card, const char *node, struct hop_diag *diag);
/* The engine through which a packet from one device to another takes a directed link: the link leads to a card from inside the server, or
 * from one into it. *card: its node. NULL: none. */
const struct hop_card_engine *hop_card_engine_of(const struct hop_topology *topology, uint32_t from, uint32_t to,
                                                 uint32_t directed, uint32_t *card);
/* The least of the rates of the cards on a route; INFINITY: there is none. */
double hop_card_ceiling_Bps(const struct hop_topology *topology, const struct hop_route *route);
/* Bytes of a packet in simulations of packets: parameter packet_payload where somebody said it, else pcie_payload. */
double hop_packet_bytes(const struct hop_topology *topology);

#endif
