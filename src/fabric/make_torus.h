/* SPDX-License-Identifier: BSD-3-Clause */
/* What generators of tori share: see make_torus.c. */
#ifndef HOP_FABRIC_MAKE_TORUS_H
#define HOP_FABRIC_MAKE_TORUS_H

#include "fabric/make_fabric.h"

enum { HOP_TORUS_DIMENSIONS = 3 };

struct hop_torus {
    uint32_t first_host, first_router; /* nodes */
    uint32_t dimensions, extent[HOP_TORUS_DIMENSIONS], stride[HOP_TORUS_DIMENSIONS];
    uint32_t positions;
    uint32_t twist;    /* who passes the end of x goes on so much further in y */
    uint32_t *upwards; /* [position * HOP_TORUS_DIMENSIONS + dimension]: link to the next position */
};

/* Hosts of that name and a number, routers and links, by the maker's shape. */
bool hop_torus_build(struct hop_fabric_maker *maker, const char *host, struct hop_torus *torus);
/* Its rule of forwarding; the context is the torus. */
uint32_t hop_torus_next(const void *torus, uint32_t node, uint32_t host);

#endif
