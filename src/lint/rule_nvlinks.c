/* SPDX-License-Identifier: BSD-3-Clause */
/* Lint: GPUs with fewer NVLinks than others of their model in the same server. */
#include "lint/lint.h"

/* Its NVLinks, those to an NVSwitch included. */
static unsigned bonds(const struct hop_lint *l, uint32_t gpu, double *rate_Bps)
{
    uint32_t count;
    const uint32_t *links = hop_topology_links_of(l->topology, gpu, &count);
    unsigned sum = 0;
    *rate_Bps = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_link *link = hop_topology_link(l->topology, links[i]);
        if (link->kind != HOP_LINK_NVLINK)
            continue;
        sum += link->count ? link->count : 1;
        *rate_Bps += hop_lint_capacity(link);
    }
    return sum;
}

static void tell(struct hop_lint *l, uint32_t gpu, uint32_t other)
{
    struct hop_lint_text text = {0};
    double rate, other_rate;
    unsigned own = bonds(l, gpu, &rate), most = bonds(l, other, &other_rate);
    hop_buffer_puts(&text.subject, hop_lint_name(l, gpu));
    hop_buffer_printf(&text.evidence, "it has %u NVLink%s, %s of the same model has %u", own, own == 1 ? "" : "s",
                      hop_lint_name(l, other), most);
    if (own)
        hop_buffer_printf(&text.effect,
                          "over NVLink it sends %s at most, the other one %s; rings and trees run at the lower rate",
                          hop_lint_rate(l, rate), hop_lint_rate(l, other_rate));
    else
        hop_buffer_puts(&text.effect, "its peer traffic goes over PCIe, and with it collectives over all GPUs");
    hop_lint_add(
        l, HOP_LINT_NVLINK_MISSING, own ? HOP_LINT_WARNING : HOP_LINT_INFO, &text,
        "`nvidia-smi nvlink -s` lists inactive links: reseat the bridge or the GPU, look for NVLink errors in the "
        "kernel log");
}

void hop_lint_rule_nvlinks(struct hop_lint *l, uint32_t server)
{
    struct hop_lint_nodes gpus = hop_lint_nodes_of(l, server, HOP_NODE_GPU);
    double rate;
    for (uint32_t i = 0; i < gpus.count; i++) {
        uint32_t richest = gpus.list[i];
        for (uint32_t k = 0; k < gpus.count; k++) {
            if (hop_lint_same_model(l, gpus.list[i], gpus.list[k]) &&
                bonds(l, gpus.list[k], &rate) > bonds(l, richest, &rate))
                richest = gpus.list[k];
        }
        if (richest != gpus.list[i])
            tell(l, gpus.list[i], richest);
    }
}
