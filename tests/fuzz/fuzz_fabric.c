/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the options of a generated fabric: built, with routes from its first host to all, or refused with a
 * diagnostic. Numbers of more than two digits are left out, since large fabrics are slow and no news.
 */
#include "fuzz.h"

#include "fabric/make_fabric.h"
#include "topology/topology.h"

static bool is_small(const char *source)
{
    size_t digits = 0, numbers = 0;
    for (const char *c = source; *c; c++) {
        digits = *c >= '0' && *c <= '9' ? digits + 1 : 0;
        numbers += digits == 2;
        if (digits > 2)
            return false;
    }
    return numbers <= 1; /* two-digit numbers multiply */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hop_topology *topology;
    struct hop_diag diag = {0};
    char source[256];
    if (size >= sizeof source)
        return 0;
    memcpy(source, data, size);
    source[size] = '\0';
    source[strcspn(source, "\n")] = '\0';
    if (!hop_topology_is_generated(source) || !is_small(source))
        return 0;
    struct hop_build build;
    hop_build_begin(&build, source, &diag);
    hop_topology_generate(source, &build);
    if (hop_build_end(&build, &topology) != HOP_OK) {
        MUST(is_said(diag.what) && is_said(diag.place) && is_said(diag.expected));
        return 0;
    }
    MUST(hop_topology_finish(topology, &diag) == HOP_OK);
    struct hop_router *router = hop_router_create(topology);
    MUST(router);
    for (uint32_t to = 1; to < topology->node_count && topology->nodes[to].kind == HOP_NODE_NIC; to++) {
        uint32_t index;
        MUST(hop_router_find(router, 0, to, &index, &diag) == HOP_OK);
    }
    hop_router_destroy(router);
    hop_topology_destroy(topology);
    return 0;
}
