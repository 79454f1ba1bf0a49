/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as forwarding tables behind a small fabric of two switches: refused with a diagnostic, or read, and then
 * every pair of devices has a way that ends.
 */
#include "fuzz.h"

#include "hopcast/hopcast.h"

#include <string.h>

static const char fabric[] = "Switch 4 \"S-1\" # \"rail0\" base port 0 lid 1 lmc 0\n"
                             "[1] \"H-10\"[1](11) # \"node0\" lid 2 4xEDR\n"
                             "[2] \"H-20\"[1](21) # \"node1\" lid 4 4xEDR\n"
                             "[3] \"S-2\"[3] # \"rail1\" lid 3 4xEDR\n"
                             "[4] \"S-2\"[4] # \"rail1\" lid 3 4xEDR\n"
                             "Switch 4 \"S-2\" # \"rail1\" base port 0 lid 3 lmc 0\n"
                             "[1] \"H-20\"[2](22) # \"node1\" lid 6 4xEDR\n"
                             "[3] \"S-1\"[3] # \"rail0\" lid 1 4xEDR\n"
                             "[4] \"S-1\"[4] # \"rail0\" lid 1 4xEDR\n"
                             "Ca 1 \"H-10\" # \"node0\"\n"
                             "[1](11) \"S-1\"[1] # lid 2 lmc 0 \"rail0\" lid 1 4xEDR\n"
                             "Ca 2 \"H-20\" # \"node1\"\n"
                             "[1](21) \"S-1\"[2] # lid 4 lmc 1 \"rail0\" lid 1 4xEDR\n"
                             "[2](22) \"S-2\"[1] # lid 6 lmc 0 \"rail1\" lid 3 4xEDR\n"
                             "Unicast lids [0x0-0x6] of switch ";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hop_topology *topology;
    struct hop_diag diag;
    char *text = malloc(sizeof fabric + size);
    MUST(text);
    memcpy(text, fabric, sizeof fabric - 1);
    memcpy(text + sizeof fabric - 1, data, size);
    enum hop_status status = hop_topology_parse("input", text, sizeof fabric - 1 + size, &topology, &diag);
    free(text);
    if (status != HOP_OK) {
        MUST(is_said(diag.what) && is_said(diag.place));
        return 0;
    }
    struct hop_router *router = hop_router_create(topology);
    MUST(router);
    static const char *const names[] = {"node0", "node1.p1", "node1.p2"};
    for (size_t i = 0; i < 9; i++) {
        uint32_t route, from = hop_topology_find(topology, names[i / 3]),
                        to = hop_topology_find(topology, names[i % 3]);
        MUST(from != HOP_NONE && to != HOP_NONE);
        if (from == to)
            continue;
        MUST(hop_router_find(router, from, to, &route, &diag) == HOP_OK);
        MUST(hop_router_route(router, route)->link_count <= 3);
    }
    hop_router_destroy(router);
    hop_topology_destroy(topology);
    return 0;
}
