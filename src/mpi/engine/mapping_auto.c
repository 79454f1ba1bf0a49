/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Seats by a profile of the program and the machine as it is now, in one step. The launcher has put ranks onto
 * machines, which are alike; on each, its ranks get devices by the traffic among them, or cores where there are no
 * GPUs.
 */
#include "mpi/engine/mapping.h"

#include "base/numa.h"
#include "device/gpu.h"
#include "hopcast/map.h"
#include "import/cores.h"

#include <stdio.h>

enum { OPERATIONS = 100000 }; /* to be simulated at most: a fraction of a second, and the same each time */
#define LIMIT_S 10.0          /* in case that each takes long */

struct maker {
    const struct hop_mpi_view *views;
    const struct hop_traffic *traffic;
    const struct hop_topology *topology;
    uint32_t ranks, *local, local_count; /* of the machine that is being mapped */
    uint32_t *gpus, gpu_count;           /* of the topology */
    struct hop_mpi_seat *seats;
    struct hop_mpi_made *made;
    struct hop_diag *diag;
};

/* ---- what a rank sees ---- */

void hop_mapping_look(struct hop_mpi_view *view)
{
    const struct hop_gpu *driver;
    int count = 0;
    view->gpus = 0;
    if (hop_mapped_driver(&driver, NULL) != HOP_OK || driver->cuDeviceGetCount(&count) != 0)
        return;
    for (int i = 0; i < count && i < HOP_MAPPING_SEEN; i++) {
        char text[32] = "";
        int number = i;
        if (driver->cuDeviceGet(&number, i) == 0 && driver->cuDeviceGetPCIBusId(text, (int)sizeof text, number) == 0)
            view->places[view->gpus++] = hop_pci_address(text);
    }
}

static bool sees(const struct hop_mpi_view *view, const struct hop_node *gpu)
{
    uint64_t place = gpu->bus_id ? hop_pci_address(gpu->bus_id) : UINT64_MAX;
    bool seen = false;
    for (uint32_t i = 0; i < view->gpus; i++)
        seen = seen || view->places[i] == place;
    return seen && place != UINT64_MAX;
}

static uint32_t count_seen(const struct maker *m, uint32_t rank)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < m->gpu_count; g++)
        count += sees(&m->views[rank], hop_topology_node(m->topology, m->gpus[g]));
    return count;
}

/* ---- one machine ---- */

/* Traffic among its ranks, by their numbers there. */
static enum hop_status part_traffic(const struct maker *m, struct hop_traffic **part)
{
    const struct hop_traffic_flow *flows = hop_traffic_flows(m->traffic);
    uint32_t *number = malloc(((size_t)m->ranks + 1) * sizeof *number);
    enum hop_status status = number ? hop_traffic_create(m->local_count, part, m->diag) : hop_fail_memory(m->diag);
    for (uint32_t r = 0; status == HOP_OK && r < m->ranks; r++)
        number[r] = HOP_NONE;
    for (uint32_t i = 0; status == HOP_OK && i < m->local_count; i++)
        number[m->local[i]] = i;
    for (uint32_t f = 0; status == HOP_OK && f < hop_traffic_count(m->traffic); f++) {
        uint32_t from = number[flows[f].from], to = number[flows[f].to];
        for (int k = 0; k < HOP_MEMORY_COUNT && status == HOP_OK && from != HOP_NONE && to != HOP_NONE; k++) {
            if (flows[f].bytes[k])
                status = hop_traffic_add(*part, from, to, (enum hop_memory)k, flows[f].bytes[k], flows[f].messages[k],
                                         m->diag);
        }
    }
    free(number);
    return status;
}

/* "3=gpu0,gpu5": those that it sees, where it does not see all. */
static enum hop_status keep_to_visible(const struct maker *m, struct hop_arena *arena, const char **keep,
                                       uint32_t *count)
{
    for (uint32_t i = 0; i < m->local_count; i++) {
        struct hop_buffer text = {0};
        uint32_t rank = m->local[i], seen = count_seen(m, rank);
        if (seen == 0 && m->views[rank].gpus != m->gpu_count)
            return hop_fail(m->diag, HOP_ERR_INVALID,
                            "rank %u sees %u GPUs, and none of the %u of the topology\n"
                            "the topology of the machine that it runs on, with the PCI addresses of its GPUs",
                            rank, m->views[rank].gpus, m->gpu_count);
        if (seen == 0 || seen == m->gpu_count)
            continue;
        hop_buffer_printf(&text, "%u", i);
        for (uint32_t g = 0, put = 0; g < m->gpu_count; g++) {
            const struct hop_node *gpu = hop_topology_node(m->topology, m->gpus[g]);
            if (sees(&m->views[rank], gpu))
                hop_buffer_printf(&text, "%c%s", put++ ? ',' : '=', gpu->name);
        }
        keep[*count] = text.failed ? NULL : hop_arena_string(arena, text.text, text.length);
        hop_buffer_finish(&text);
        if (!keep[(*count)++])
            return hop_fail_memory(m->diag);
    }
    return HOP_OK;
}

static void take_seats(const struct maker *m, const struct hop_map_result *result)
{
    for (uint32_t i = 0; i < m->local_count; i++) {
        const struct hop_seat *from = &result->seats[i];
        struct hop_mpi_seat *seat = &m->seats[m->local[i]];
        const struct hop_node *device = hop_topology_node(m->topology, from->device);
        (void)snprintf(seat->device, sizeof seat->device, "%s", device->name);
        if (sees(&m->views[m->local[i]], device))
            (void)snprintf(seat->bus_id, sizeof seat->bus_id, "%s", device->bus_id);
        seat->index = from->local_device;
        seat->of = m->gpu_count;
        (void)snprintf(seat->nic, sizeof seat->nic, "%s", from->nic ? from->nic : "");
    }
}

static void tell(const struct maker *m, const struct hop_map_result *result)
{
    char before[32], after[32], elapsed[32];
    hop_show_seconds(result->before.metric[result->metric], before, sizeof before);
    hop_show_seconds(result->after.metric[result->metric], after, sizeof after);
    m->made->cut = m->made->cut || !result->complete;
    hop_show_seconds(result->elapsed_s, elapsed, sizeof elapsed);
    if (!m->made->text[0]) /* of the first machine */
        (void)snprintf(m->made->text, sizeof m->made->text,
                       "mapped in %s: the traffic among ranks takes %s there, %s on devices in the order of ranks",
                       elapsed, after, before);
}

/* Several ranks a device as soon as there are too few that they may have. */
static enum hop_status map_devices(const struct maker *m, const struct hop_traffic *part)
{
    struct hop_arena arena = {0};
    struct hop_map_result *result = NULL;
    const char **keep = hop_arena_alloc(&arena, (size_t)m->local_count * sizeof *keep);
    struct hop_map_options options = {.size = sizeof options,
                                      .metric = HOP_MAP_SIMULATED,
                                      .keep = keep,
                                      .seed = 1,
                                      .max_operations = OPERATIONS,
                                      .time_limit_s = LIMIT_S};
    enum hop_status status = keep ? keep_to_visible(m, &arena, keep, &options.keep_count) : hop_fail_memory(m->diag);
    options.ranks_per_device = (m->local_count + m->gpu_count - 1) / m->gpu_count;
    if (status == HOP_OK)
        status = hop_map(m->topology, part, &options, &result, m->diag);
    while (status == HOP_ERR_INVALID && options.keep_count > 0 && options.ranks_per_device++ < m->local_count)
        status = hop_map(m->topology, part, &options, &result, m->diag);
    if (status == HOP_OK) {
        take_seats(m, result);
        tell(m, result);
    }
    hop_map_result_destroy(result);
    hop_arena_finish(&arena);
    return status;
}

/* ---- cores, where there are no GPUs ---- */

/* A machine of which nothing matters but that ranks have a place. */
static enum hop_status make_bare(struct hop_topology **made, struct hop_diag *diag)
{
    struct hop_topology *t = hop_topology_create("cores");
    struct hop_node root = hop_node_default(HOP_NODE_ROOT, "root0"), host = hop_node_default(HOP_NODE_HOST, "host0"),
                    nic = hop_node_default(HOP_NODE_NIC, "nic0");
    struct hop_link memory = hop_link_default(HOP_LINK_MEMORY, 1, 0), bus = hop_link_default(HOP_LINK_PCIE, 2, 0);
    enum hop_status status = t ? hop_topology_add_node(t, &root, NULL, diag) : hop_fail_memory(diag);
    bus.generation = 3;
    bus.width = 16;
    if (status == HOP_OK)
        status = hop_topology_add_node(t, &host, NULL, diag);
    if (status == HOP_OK)
        status = hop_topology_add_node(t, &nic, NULL, diag);
    if (status == HOP_OK)
        status = hop_topology_add_link(t, &memory, NULL, diag);
    if (status == HOP_OK)
        status = hop_topology_add_link(t, &bus, NULL, diag);
    if (status == HOP_OK)
        status = hop_topology_finish(t, diag);
    if (status == HOP_OK)
        *made = t;
    else
        hop_topology_destroy(t);
    return status;
}

/* In the order of the cores that they got, each has an equal share of all, so that its threads have cores, too. */
static void share_cores(const struct maker *m, const struct hop_map_result *result, uint32_t cores)
{
    for (uint32_t i = 0; i < m->local_count; i++) {
        uint32_t before = 0;
        for (uint32_t j = 0; j < m->local_count; j++)
            before += result->seats[j].core < result->seats[i].core;
        uint32_t first = (uint32_t)((uint64_t)before * cores / m->local_count),
                 end = (uint32_t)((uint64_t)(before + 1) * cores / m->local_count);
        m->seats[m->local[i]].first = first;
        m->seats[m->local[i]].count = end - first;
    }
}

static enum hop_status map_cores(const struct maker *m, const struct hop_traffic *part)
{
    struct hop_map_options options = {.size = sizeof options,
                                      .metric = HOP_MAP_DISTANCE,
                                      .phases = HOP_MAP_CORES,
                                      .ranks_per_device = m->local_count,
                                      .cores = "live",
                                      .seed = 1,
                                      .time_limit_s = LIMIT_S,
                                      .no_simulation = true};
    struct hop_topology *bare = NULL;
    struct hop_map_result *result = NULL;
    struct hop_cores *cores = NULL;
    enum hop_status status = hop_cores_load("live", &cores, m->diag);
    if (status == HOP_OK && cores->count >= m->local_count)
        status = make_bare(&bare, m->diag);
    if (bare)
        status = hop_map(bare, part, &options, &result, m->diag);
    if (result) {
        share_cores(m, result, cores->count);
        m->made->cut = m->made->cut || !result->complete;
    }
    if (!m->made->text[0])
        (void)snprintf(m->made->text, sizeof m->made->text, "cores only%s: %s",
                       result ? "" : ", and these are fewer than ranks, which stay as they were started",
                       !m->gpu_count ? "there are no GPUs"
                       : !hop_traffic_bytes(m->traffic, HOP_MEMORY_DEVICE)
                           ? "the profile has no traffic of device memory"
                           : "not all ranks have a CUDA driver, or HIP");
    hop_map_result_destroy(result);
    hop_topology_destroy(bare);
    hop_cores_destroy(cores);
    return status;
}

/* ---- all machines ---- */

static enum hop_status map_machine(struct maker *m)
{
    struct hop_traffic *part = NULL;
    bool devices = m->gpu_count > 0 && hop_traffic_bytes(m->traffic, HOP_MEMORY_DEVICE) > 0;
    for (uint32_t i = 0; i < m->local_count; i++)
        devices = devices && m->views[m->local[i]].gpus > 0;
    enum hop_status status = part_traffic(m, &part);
    if (status == HOP_OK)
        status = devices ? map_devices(m, part) : map_cores(m, part);
    hop_traffic_destroy(part);
    return status;
}

static enum hop_status find_gpus(struct maker *m, struct hop_arena *arena)
{
    m->gpus = hop_arena_alloc(arena, ((size_t)hop_topology_node_count(m->topology) + 1) * sizeof *m->gpus);
    m->local = hop_arena_alloc(arena, ((size_t)m->ranks + 1) * sizeof *m->local);
    if (arena->failed)
        return hop_fail_memory(m->diag);
    for (uint32_t n = 0; n < hop_topology_node_count(m->topology); n++) {
        if (hop_topology_node(m->topology, n)->kind != HOP_NODE_GPU)
            continue;
        m->gpus[m->gpu_count++] = n;
        if (hop_topology_server_of(m->topology, n) != hop_topology_server_of(m->topology, m->gpus[0]))
            return hop_fail(m->diag, HOP_ERR_INVALID,
                            "%s has several machines\nthe topology of one of them (HOPCAST_TOPOLOGY), which are alike",
                            hop_mapping_machine());
    }
    return HOP_OK;
}

static enum hop_status map_all(struct maker *m, struct hop_arena *arena)
{
    HOP_CHECK(find_gpus(m, arena));
    for (uint32_t leader = 0; leader < m->ranks; leader++) {
        m->local_count = 0;
        for (uint32_t r = 0; r < m->ranks; r++) {
            if (m->views[r].machine == (int)leader)
                m->local[m->local_count++] = r;
        }
        if (m->local_count > 0)
            HOP_CHECK(map_machine(m));
    }
    return HOP_OK;
}

enum hop_status hop_mapping_make(const char *profile, const struct hop_mpi_view *views, uint32_t ranks,
                                 struct hop_mpi_seat *seats, struct hop_mpi_made *made, struct hop_diag *diag)
{
    struct maker m = {.views = views, .ranks = ranks, .seats = seats, .made = made, .diag = diag};
    struct hop_arena arena = {0};
    struct hop_traffic *traffic = NULL;
    struct hop_topology *topology = NULL;
    enum hop_status status = hop_traffic_load(profile, HOP_MEMORY_DEVICE, &traffic, diag);
    if (status == HOP_OK && hop_traffic_ranks(traffic) != ranks) {
        status = hop_fail(
            diag, HOP_ERR_INVALID,
            "the profile is of %u ranks, the job has %u\na profile of this program with %u ranks, or a job of %u",
            hop_traffic_ranks(traffic), ranks, ranks, hop_traffic_ranks(traffic));
        hop_diag_place(diag, "%.200s", profile);
    }
    if (status == HOP_OK)
        status = hop_topology_load(hop_mapping_machine(), &topology, diag);
    m.traffic = traffic;
    m.topology = topology;
    if (status == HOP_OK)
        status = map_all(&m, &arena);
    hop_topology_destroy(topology);
    hop_traffic_destroy(traffic);
    hop_arena_finish(&arena);
    return status;
}
