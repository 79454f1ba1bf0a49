/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NVLink from NVML: every active link of every GPU is asked where it leads, which is trusted, and equal pairs are
 * bonded. A link whose other end is hidden is taken to lead to an NVSwitch, as in virtual machines.
 */
#include "import/nvml.h"

#include <dlfcn.h>
#include <stdio.h>

enum { GPU_LIMIT = 256, LINK_LIMIT = 64, VENDOR_IBM = 0x1014 };

struct gpu {
    struct hop_nvml_device *device;
    struct hop_nvml_pci pci;
    uint32_t node; /* in the topology */
};

/* What one GPU's active links lead to. */
struct peers {
    unsigned gpu[GPU_LIMIT]; /* links to that GPU */
    unsigned nvswitch;       /* links to any NVSwitch */
    unsigned processor;      /* links to a POWER processor, which are not read */
    unsigned generation;
};

bool hop_nvml_open(struct hop_nvml *nvml)
{
    struct hop_nvml opened = {.library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)};
    if (!opened.library)
        return false;
    int (*init)(void) = NULL;
    const struct {
        const char *symbol;
        void *slot;
    } functions[] = {
        {"nvmlInit_v2", &init},
        {"nvmlShutdown", &opened.shutdown},
        {"nvmlDeviceGetCount_v2", &opened.device_count},
        {"nvmlDeviceGetHandleByIndex_v2", &opened.device_by_index},
        {"nvmlDeviceGetPciInfo_v3", &opened.pci_info},
        {"nvmlDeviceGetName", &opened.name},
        {"nvmlDeviceGetNvLinkState", &opened.link_state},
        {"nvmlDeviceGetNvLinkRemotePciInfo_v2", &opened.link_remote},
        {"nvmlDeviceGetNvLinkVersion", &opened.link_version},
    };
    bool complete = true;
    for (size_t i = 0; i < HOP_COUNT(functions); i++) {
        void *symbol = dlsym(opened.library, functions[i].symbol);
        memcpy(functions[i].slot, &symbol, sizeof symbol); /* ISO C has no cast from object to function pointer */
        complete = complete && symbol;
    }
    if (!complete || init() != 0) {
        (void)dlclose(opened.library);
        return false;
    }
    *nvml = opened;
    return true;
}

void hop_nvml_close(struct hop_nvml *nvml)
{
    (void)nvml->shutdown();
    (void)dlclose(nvml->library);
    *nvml = (struct hop_nvml){0};
}

static bool same_address(const struct hop_nvml_pci *a, const struct hop_nvml_pci *b)
{
    return a->domain == b->domain && a->bus == b->bus && a->device == b->device;
}

static uint32_t find_node(const struct hop_topology *topology, const struct hop_nvml_pci *pci)
{
    for (uint32_t n = 0; n < topology->node_count; n++) {
        const struct hop_node *node = &topology->nodes[n];
        struct hop_nvml_pci at;
        if (node->kind == HOP_NODE_GPU && node->bus_id &&
            sscanf(node->bus_id, "%x:%x:%x", &at.domain, &at.bus, &at.device) == 3 && same_address(&at, pci))
            return n;
    }
    return HOP_NONE;
}

/* The GPUs that both the library and the topology know. */
static unsigned find_gpus(const struct hop_nvml *nvml, struct hop_topology *topology, struct gpu *gpus)
{
    unsigned listed = 0, count = 0;
    if (nvml->device_count(&listed) != 0)
        return 0;
    for (unsigned i = 0; i < listed && count < GPU_LIMIT; i++) {
        struct gpu *gpu = &gpus[count];
        char name[96] = "";
        if (nvml->device_by_index(i, &gpu->device) != 0 || nvml->pci_info(gpu->device, &gpu->pci) != 0)
            continue;
        gpu->node = find_node(topology, &gpu->pci);
        if (gpu->node == HOP_NONE)
            continue;
        count++;
        if (nvml->name(gpu->device, name, sizeof name - 1) == 0 && name[0])
            topology->nodes[gpu->node].label = hop_arena_string(&topology->arena, name, strlen(name));
    }
    return count;
}

static unsigned generation_of(unsigned version)
{
    /* The library numbers its versions 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0 from 1. */
    static const unsigned generations[] = {0, 1, 2, 2, 3, 3, 4, 5};
    return version < HOP_COUNT(generations) ? generations[version] : 0;
}

static void ask_links(const struct hop_nvml *nvml, const struct gpu *gpus, unsigned count, unsigned own,
                      struct peers *peers)
{
    *peers = (struct peers){0};
    for (unsigned link = 0; link < LINK_LIMIT; link++) {
        unsigned active = 0, version = 0, other = 0;
        struct hop_nvml_pci remote = {0};
        if (nvml->link_state(gpus[own].device, link, &active) != 0)
            return; /* past the last link */
        if (active != 1)
            continue;
        if (nvml->link_version(gpus[own].device, link, &version) == 0)
            peers->generation = generation_of(version);
        /* An active link whose other end is hidden leads to an NVSwitch that a virtual machine does not see. */
        bool told = nvml->link_remote(gpus[own].device, link, &remote) == 0;
        while (other < count && !(told && same_address(&remote, &gpus[other].pci)))
            other++;
        if (other < count)
            peers->gpu[other]++;
        else if (told && (remote.device_id & 0xffff) == VENDOR_IBM)
            peers->processor++;
        else
            peers->nvswitch++;
    }
}

static void add_nvlinks(struct hop_build *build, uint32_t from, uint32_t to, unsigned generation, unsigned links)
{
    struct hop_link link = hop_link_default(HOP_LINK_NVLINK, from, to);
    link.generation = generation;
    link.count = links;
    if (links > 0)
        hop_build_link(build, &link);
}

void hop_nvml_read(const struct hop_nvml *nvml, struct hop_build *build)
{
    struct gpu gpus[GPU_LIMIT];
    unsigned processor = 0, count = hop_build_ok(build) ? find_gpus(nvml, build->topology, gpus) : 0;
    uint32_t nvswitch = HOP_NONE;
    for (unsigned i = 0; i < count; i++) {
        struct peers peers;
        ask_links(nvml, gpus, count, i, &peers);
        processor += peers.processor;
        for (unsigned j = i + 1; j < count; j++) /* the other end tells the same links again */
            add_nvlinks(build, gpus[i].node, gpus[j].node, peers.generation, peers.gpu[j]);
        if (peers.nvswitch && nvswitch == HOP_NONE)
            nvswitch = hop_build_nvswitch(build, 0, "NVSwitch, all planes as one");
        add_nvlinks(build, gpus[i].node, nvswitch, peers.generation, peers.nvswitch);
    }
    if (processor > 0)
        hop_build_note(build, "left out: %u NVLinks to processors", processor);
}
