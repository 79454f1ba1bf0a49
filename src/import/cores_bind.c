/* SPDX-License-Identifier: BSD-3-Clause */
/* Binding this process to cores of this machine, by hwloc, within what whoever started it has left it. */
#include "import/cores.h"

#ifdef HOP_HAVE_HWLOC

#include <errno.h>

#include "import/hwloc_load.h"

static hwloc_obj_type_t core_type(hwloc_topology_t machine)
{
    return hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

static void add_wanted(hwloc_topology_t machine, const struct hop_cores_wish *wish, hwloc_bitmap_t wanted)
{
    hwloc_obj_type_t type = core_type(machine);
    hwloc_obj_t unit = wish->cpu == HOP_NONE ? NULL : hwloc_get_pu_obj_by_os_index(machine, wish->cpu);
    hwloc_obj_t core = unit && type == HWLOC_OBJ_CORE ? hwloc_get_ancestor_obj_by_type(machine, type, unit) : unit;
    hwloc_obj_t node = wish->cpu == HOP_NONE && wish->numa >= 0
                           ? hwloc_get_numanode_obj_by_os_index(machine, (unsigned)wish->numa)
                           : NULL;
    if (core || node)
        (void)hwloc_bitmap_or(wanted, wanted, core ? core->cpuset : node->cpuset);
    for (uint32_t i = 0; wish->cpu == HOP_NONE && wish->numa < 0 && i < wish->count; i++) {
        hwloc_obj_t one = hwloc_get_obj_by_type(machine, type, wish->first + i);
        if (one)
            (void)hwloc_bitmap_or(wanted, wanted, one->cpuset);
    }
}

static void bind(hwloc_topology_t machine, hwloc_bitmap_t wanted, hwloc_bitmap_t own, struct hop_cores_binding *done)
{
    (void)hwloc_bitmap_list_snprintf(done->wanted, sizeof done->wanted, wanted);
    (void)hwloc_bitmap_list_snprintf(done->before, sizeof done->before, own);
    if (hwloc_bitmap_iszero(wanted))
        done->how = HOP_CORES_ABSENT;
    else if (!hwloc_bitmap_intersects(wanted, own))
        done->how = HOP_CORES_ELSEWHERE;
    else if (hwloc_bitmap_isincluded(own, wanted))
        done->how = HOP_CORES_WITHIN;
    else {
        (void)hwloc_bitmap_and(wanted, wanted, own);
        done->how =
            hwloc_set_cpubind(machine, wanted, HWLOC_CPUBIND_PROCESS) == 0 ? HOP_CORES_BOUND : HOP_CORES_REFUSED;
    }
    if (hwloc_get_cpubind(machine, own, HWLOC_CPUBIND_THREAD) == 0)
        (void)hwloc_bitmap_list_snprintf(done->now, sizeof done->now, own);
}

enum hop_status hop_cores_bind(const struct hop_cores_wish *wish, struct hop_cores_binding *done, struct hop_diag *diag)
{
    struct hop_hwloc hwloc;
    *done = (struct hop_cores_binding){.how = HOP_CORES_ABSENT};
    HOP_CHECK(hop_hwloc_open_live(&hwloc, diag));
    hwloc_bitmap_t wanted = hwloc_bitmap_alloc(), own = hwloc_bitmap_alloc();
    enum hop_status status = wanted && own ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK && hwloc_get_cpubind(hwloc.machine, own, HWLOC_CPUBIND_THREAD) != 0)
        status = hop_fail(diag, HOP_ERR_UNSUPPORTED,
                          "the system does not say where this process may run: %s\n"
                          "a system on which hwloc can bind",
                          strerror(errno));
    if (status == HOP_OK) {
        add_wanted(hwloc.machine, wish, wanted);
        bind(hwloc.machine, wanted, own, done);
    }
    hwloc_bitmap_free(wanted);
    hwloc_bitmap_free(own);
    hop_hwloc_close(&hwloc);
    return status;
}

void hop_cores_release(const struct hop_cores_binding *done)
{
    struct hop_hwloc hwloc;
    hwloc_bitmap_t before = hwloc_bitmap_alloc();
    if (done->how == HOP_CORES_BOUND && before && hwloc_bitmap_list_sscanf(before, done->before) == 0 &&
        hop_hwloc_open_live(&hwloc, NULL) == HOP_OK) {
        (void)hwloc_set_cpubind(hwloc.machine, before, HWLOC_CPUBIND_PROCESS);
        hop_hwloc_close(&hwloc);
    }
    hwloc_bitmap_free(before);
}

#else

enum hop_status hop_cores_bind(const struct hop_cores_wish *wish, struct hop_cores_binding *done, struct hop_diag *diag)
{
    (void)wish;
    *done = (struct hop_cores_binding){.how = HOP_CORES_ABSENT};
    return hop_fail(diag, HOP_ERR_UNSUPPORTED,
                    "this build has no hwloc, which knows the cores of machines\n"
                    "a build where CMake finds hwloc 2 (Debian: libhwloc-dev)");
}

void hop_cores_release(const struct hop_cores_binding *done)
{
    (void)done;
}

#endif
