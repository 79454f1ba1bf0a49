/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes: x first, then y, then z, each the shorter way round, upwards where both are equally long, as on the topology
 * torus:XxYxZ (fabric/make_torus.c). Between two positions of a dimension of 2 there are two links: upwards is another
 * one from either.
 */
#include "apenet/apenet.h"

void hop_apenet_coordinates(const struct hop_apenet_torus *torus, uint32_t rank, uint32_t position[HOP_APENET_AXES])
{
    for (unsigned a = 0; a < HOP_APENET_AXES; a++) {
        position[a] = rank % torus->extent[a];
        rank /= torus->extent[a];
    }
}

uint32_t hop_apenet_rank_at(const struct hop_apenet_torus *torus, const uint32_t position[HOP_APENET_AXES])
{
    return position[0] + torus->extent[0] * (position[1] + torus->extent[1] * position[2]);
}

unsigned hop_apenet_direction(const struct hop_apenet_torus *torus, uint32_t at, uint32_t to)
{
    uint32_t here[HOP_APENET_AXES], there[HOP_APENET_AXES];
    hop_apenet_coordinates(torus, at, here);
    hop_apenet_coordinates(torus, to, there);
    for (unsigned a = 0; a < HOP_APENET_AXES; a++) {
        uint32_t ahead = (there[a] + torus->extent[a] - here[a]) % torus->extent[a];
        if (ahead != 0)
            return 2 * a + (2 * ahead > torus->extent[a]);
    }
    return HOP_APENET_HERE;
}

uint32_t hop_apenet_neighbour(const struct hop_apenet_torus *torus, uint32_t rank, unsigned direction)
{
    uint32_t position[HOP_APENET_AXES], extent = torus->extent[direction / 2];
    hop_apenet_coordinates(torus, rank, position);
    position[direction / 2] = (position[direction / 2] + (direction % 2 ? extent - 1 : 1)) % extent;
    return hop_apenet_rank_at(torus, position);
}

/* The dateline is the link between the last position and the first. */
unsigned hop_apenet_channel(const struct hop_apenet_torus *torus, uint32_t at, unsigned direction, unsigned before,
                            unsigned channel)
{
    uint32_t position[HOP_APENET_AXES], last = torus->extent[direction / 2] - 1;
    if (torus->rings != HOP_RING_DATELINE)
        return 0;
    hop_apenet_coordinates(torus, at, position);
    if (position[direction / 2] == (direction % 2 ? 0 : last))
        return 1;
    return before == direction ? channel : 0;
}

unsigned hop_apenet_need(const struct hop_apenet_torus *torus, unsigned direction, unsigned before)
{
    return torus->rings == HOP_RING_BUBBLE && before != direction ? 2 : 1;
}

const char *hop_apenet_direction_name(unsigned direction)
{
    static const char *const names[] = {"x+", "x-", "y+", "y-", "z+", "z-"};
    return names[direction];
}
