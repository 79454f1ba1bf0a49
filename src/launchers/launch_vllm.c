/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vLLM: its workers take the visible devices in their order, and each sets what its libraries read of NICs from a list
 * of pairs of PCI addresses, GPU=NIC (vllm-project/vllm, pull request 42083).
 */
#include "base/numa.h"
#include "launchers/launch_plan.h"

/* In the form that vLLM compares, 0000:4e:00.0; false: it is none. */
static bool put_address(struct hop_buffer *out, const char *text)
{
    uint64_t at = text ? hop_pci_address(text) : UINT64_MAX;
    if (at != UINT64_MAX)
        hop_buffer_printf(out, "%04x:%02x:%02x.%x", (unsigned)(at >> 16), (unsigned)(at >> 8 & 255),
                          (unsigned)(at >> 3 & 31), (unsigned)(at & 7));
    return at != UINT64_MAX;
}

/* Each GPU once, where all ranks' GPUs and NICs are known and no GPU has another NIC on another node. */
static bool put_pairs(struct hop_launch_plan *launch, struct hop_buffer *pairs)
{
    const struct hop_map_result *result = launch->result;
    struct hop_names nics = {0}; /* of a GPU: the first rank that has it */
    bool fine = true;
    for (uint32_t r = 0; r < result->ranks && fine; r++) {
        const struct hop_seat *seat = &result->seats[r];
        uint32_t other = seat->bus_id ? hop_names_get(&nics, seat->bus_id) : UINT32_MAX;
        fine = seat->bus_id && seat->nic && hop_pci_address(seat->nic) != UINT64_MAX;
        if (fine && other != UINT32_MAX) {
            fine = strcmp(result->seats[other].nic, seat->nic) == 0;
        } else if (fine) {
            launch->out.failed |= !hop_names_put(&nics, seat->bus_id, r);
            hop_buffer_puts(pairs, pairs->length ? "," : "");
            fine = put_address(pairs, seat->bus_id);
            hop_buffer_puts(pairs, "=");
            fine = fine && put_address(pairs, seat->nic);
        }
    }
    launch->out.failed |= pairs->failed;
    hop_names_finish(&nics);
    return fine;
}

static bool are_different(const struct hop_launch_list *list)
{
    bool different = true;
    for (uint32_t i = 0; i < list->length; i++) {
        for (uint32_t j = 0; j < i; j++)
            different = different && list->items[i] != list->items[j];
    }
    return different;
}

static enum hop_status write_vllm(struct hop_launch_plan *launch)
{
    struct hop_launch_list devices;
    struct hop_buffer pairs = {0};
    hop_buffer_puts(&launch->out,
                    "# Devices in the order of the ranks, and the NIC of each:\n#     . ./vllm.sh; vllm serve ...\n");
    if (hop_launch_common(launch, HOP_LAUNCH_DEVICE, &devices) && are_different(&devices)) {
        hop_launch_add_list(launch, "export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=", &devices);
        hop_buffer_puts(&launch->out, "\n");
    } else {
        hop_buffer_puts(&launch->out, "# No order: ranks share devices, or the nodes' orders differ.\n");
    }
    if (put_pairs(launch, &pairs))
        hop_buffer_printf(&launch->out,
                          "export VLLM_GPU_NIC_PCIE_MAPPING=%s\n"
                          "export VLLM_NIC_SELECTION_VARS=UCX_NET_DEVICES:1,NVSHMEM_HCA_LIST:1,NCCL_IB_HCA:1\n",
                          pairs.text);
    else
        hop_buffer_puts(&launch->out,
                        "# No NICs: there is no choice of them, the topology does not tell their PCI addresses, or "
                        "those of the nodes differ.\n");
    hop_buffer_finish(&pairs);
    return HOP_OK;
}

const struct hop_launch_writer hop_launch_vllm = {.form = {.name = "vllm",
                                                           .file = "vllm.sh",
                                                           .what = "vLLM: the order of GPUs and the NIC of each",
                                                           .names_devices = true},
                                                  .write = write_vllm};
