/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank takes its seat: its device, the cores near that, its NIC. */
#include "mpi/engine/mapping.h"

#include "base/numa.h"
#include "import/cores.h"
#include "topology/servers.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>

static const char nic_variable[] = "UCX_NET_DEVICES";

static struct {
    struct hop_cores_binding cores;
    bool nic; /* the variable is ours */
} taken;

const char *hop_mapping_machine(void)
{
    const char *named = getenv("HOPCAST_TOPOLOGY");
    return named && named[0] ? named : "live";
}

static void HOP_PRINTF(2, 3) add(struct hop_mpi_seated *seated, const char *format, ...)
{
    size_t length = strlen(seated->text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(seated->text + length, sizeof seated->text - length, format, arguments);
    va_end(arguments);
}

/* ---- which device a name is ---- */

static uint32_t find_device(const struct hop_topology *t, const char *name)
{
    size_t length = hop_server_length(name);
    const char *own = length ? name + length + 1 : name;
    uint32_t found = hop_topology_find(t, name);
    for (uint32_t n = 0; n < hop_topology_node_count(t) && found == HOP_NONE; n++) {
        if (hop_node_is_device(hop_topology_node(t, n)->kind) && strcmp(hop_topology_name_in_server(t, n), own) == 0)
            found = n; /* machines are alike */
    }
    return found;
}

/* Its bus id, or its number among the GPUs of its server. */
static void describe(const struct hop_topology *t, uint32_t device, struct hop_mpi_seat *seat)
{
    const struct hop_node *node = hop_topology_node(t, device);
    if (node->bus_id && hop_pci_address(node->bus_id) != UINT64_MAX)
        (void)snprintf(seat->bus_id, sizeof seat->bus_id, "%s", node->bus_id);
    for (uint32_t n = 0; n < hop_topology_node_count(t); n++) {
        bool beside = hop_topology_node(t, n)->kind == HOP_NODE_GPU &&
                      hop_topology_server_of(t, n) == hop_topology_server_of(t, device);
        seat->of += beside;
        seat->index += beside && n < device;
    }
}

/* What the map does not say of its device, the topology does. A NIC is none to work on. */
static enum hop_status resolve(struct hop_mpi_seat *seat, struct hop_diag *diag)
{
    struct hop_topology *t;
    if (!seat->device[0] || seat->bus_id[0] || seat->of > 0)
        return HOP_OK;
    HOP_CHECK(hop_topology_load(hop_mapping_machine(), &t, diag));
    uint32_t device = find_device(t, seat->device);
    enum hop_status status = device == HOP_NONE ? hop_topology_device(t, seat->device, &device, diag) : HOP_OK;
    enum hop_node_kind kind = status == HOP_OK ? hop_topology_node(t, device)->kind : HOP_NODE_NIC;
    if (status == HOP_OK && kind == HOP_NODE_GPU)
        describe(t, device, seat);
    else if (status == HOP_OK && kind == HOP_NODE_NIC)
        seat->device[0] = '\0';
    else if (status == HOP_OK)
        status = hop_fail(diag, HOP_ERR_INVALID,
                          "%s is no GPU\na rank's device is a GPU, or a NIC where there are none", seat->device);
    hop_topology_destroy(t);
    return status;
}

/* ---- cores ---- */

static void sit_on_cores(const struct hop_mpi_seat *seat, int numa, struct hop_mpi_seated *seated)
{
    const struct hop_cores_wish wish = {seat->cpu, seat->count ? -1 : numa, seat->first, seat->count};
    struct hop_diag diag;
    if (wish.cpu == HOP_NONE && wish.numa < 0 && wish.count == 0)
        return;
    if (hop_cores_bind(&wish, &taken.cores, &diag) != HOP_OK) {
        add(seated, "; no cores: %s", diag.what);
        return;
    }
    const struct hop_cores_binding *cores = &taken.cores;
    seated->bound_apart = cores->how == HOP_CORES_ELSEWHERE;
    switch (cores->how) {
    case HOP_CORES_BOUND:
        add(seated, "; processors %s", cores->now);
        break;
    case HOP_CORES_WITHIN:
        add(seated, "; processors %s, as it was started", cores->now);
        break;
    case HOP_CORES_ELSEWHERE:
        add(seated, "; on processors %s, as it was started, not on %s", cores->now, cores->wanted);
        break;
    case HOP_CORES_ABSENT:
        if (seat->cpu != HOP_NONE)
            add(seated, "; processors as it was started: there is no processor %u", seat->cpu);
        break;
    case HOP_CORES_REFUSED:
        add(seated, "; processors as it was started: the system refuses %s", cores->wanted);
        break;
    }
}

/* ---- the NIC ---- */

/* /sys, or what stands for it. */
static const char *sys(void)
{
    const char *named = getenv("HOPCAST_SYS");
    return named && named[0] ? named : "/sys";
}

static bool is_active(const char *name, int port)
{
    char path[256], state[32] = "";
    (void)snprintf(path, sizeof path, "%.100s/class/infiniband/%.64s/ports/%d/state", sys(), name, port);
    FILE *file = fopen(path, "re");
    bool active = file && fgets(state, (int)sizeof state, file) && strstr(state, "ACTIVE");
    if (file)
        (void)fclose(file);
    return active;
}

/* As RDMA names it and its first active port, "mlx5_2:1"; false: there is no such thing here. What has other
 * networks is left to the MPI: not every one of them reaches every machine. */
static bool name_nic(const char *nic, char *value, size_t size)
{
    uint64_t at = hop_pci_address(nic);
    char path[256], name[64] = "";
    (void)snprintf(path, sizeof path, "%.100s/bus/pci/devices/%04x:%02x:%02x.%x/infiniband", sys(),
                   (unsigned)(at >> 16), (unsigned)(at >> 8 & 255), (unsigned)(at >> 3 & 31), (unsigned)(at & 7));
    DIR *folder = at == UINT64_MAX ? NULL : opendir(path);
    if (at == UINT64_MAX)
        (void)snprintf(name, sizeof name, "%s", nic);
    for (const struct dirent *entry; folder && !name[0] && (entry = readdir(folder)) != NULL;)
        (void)snprintf(name, sizeof name, "%.60s", entry->d_name[0] == '.' ? "" : entry->d_name);
    if (folder)
        (void)closedir(folder);
    int port = 1;
    while (name[0] && port < 4 && !is_active(name, port))
        port++;
    (void)snprintf(value, size, "%s:%d", name, port);
    return name[0] && port < 4;
}

static void sit_at_nic(const struct hop_mpi_seat *seat, bool before_mpi, struct hop_mpi_seated *seated)
{
    const char *set = getenv(nic_variable);
    char value[80];
    if (!seat->nic[0])
        return;
    if (!name_nic(seat->nic, value, sizeof value)) {
        add(seated, "; NIC left to the MPI: %s is none with RDMA and an active port", seat->nic);
    } else if (set && strcmp(set, value) != 0) {
        add(seated, "; NIC %s, as %s was before, not %s", set, nic_variable, value);
    } else if (!before_mpi) {
        add(seated, "; near NIC %s, of which the MPI was not told before it began", value);
    } else {
        taken.nic = !set;
        (void)setenv(nic_variable, value, 1);
        add(seated, "; NIC %s", value);
    }
}

/* ---- all of it ---- */

static enum hop_status sit_at_device(const struct hop_mpi_seat *seat, int *numa, struct hop_mpi_seated *seated,
                                     struct hop_diag *diag)
{
    struct hop_mapped_device device;
    if (!seat->device[0]) {
        *numa = seat->nic[0] ? hop_numa_of_pci(hop_pci_address(seat->nic)) : -1;
        add(seated, "no device");
        return HOP_OK;
    }
    enum hop_status status =
        hop_mapped_device_choose(seat->bus_id[0] ? seat->bus_id : NULL, seat->index, seat->of, &device, diag);
    if (status == HOP_ERR_UNSUPPORTED) {
        char why[sizeof diag->what];
        memcpy(why, diag->what, sizeof why);
        diag->place[0] = '\0';
        (void)hop_fail(diag, status, "the map has %s here, and there is %.300s\nthe driver, or the map of this machine",
                       seat->device, why);
    }
    if (status != HOP_OK)
        return status;
    seated->chosen_before = device.earlier[0];
    *numa = device.earlier[0] ? -1 : device.numa;
    if (device.earlier[0])
        add(seated, "%s, whose context was there before MPI_Init, not %s (%s)", device.earlier, seat->device,
            device.bus_id);
    else
        add(seated, "%s at %s, device %d of the %d that it sees", seat->device, device.bus_id, device.ordinal,
            device.visible);
    return HOP_OK;
}

void hop_mapping_sit(const struct hop_mpi_seat *seat, bool before_mpi, struct hop_mpi_seated *seated)
{
    struct hop_mpi_seat own = *seat;
    struct hop_diag diag = {0};
    int numa = -1;
    *seated = (struct hop_mpi_seated){.fine = false};
    if (resolve(&own, &diag) != HOP_OK || sit_at_device(&own, &numa, seated, &diag) != HOP_OK) {
        seated->text[0] = '\0';
        add(seated, "%s%s%s%s%s", diag.place, diag.place[0] ? ": " : "", diag.what,
            diag.expected[0] ? "; expected: " : "", diag.expected);
        return;
    }
    seated->fine = true;
    sit_on_cores(&own, numa, seated);
    sit_at_nic(&own, before_mpi, seated);
}

void hop_mapping_stand_up(void)
{
    hop_mapped_device_drop();
    hop_cores_release(&taken.cores);
    taken.cores.how = HOP_CORES_ABSENT;
    if (taken.nic)
        (void)unsetenv(nic_variable);
    taken.nic = false;
}
