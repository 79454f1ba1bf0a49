/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cores: hwloc's tree, which is trusted, flattened to what a mapping needs. A level counts where it splits groups of
 * cores that the levels above it left together; the distance of two cores is the number of counting levels that part
 * them, an ultrametric.
 */
#include "import/cores.h"

#ifdef HOP_HAVE_HWLOC

#include <unistd.h>

#include "import/hwloc_load.h"

enum { CORE_LIMIT = 2048 };

/* The outermost object at this depth or deeper that holds the core. A machine's branches need not have all levels. */
static hwloc_obj_t holder(hwloc_obj_t core, int depth)
{
    while (core->parent && core->parent->depth >= depth)
        core = core->parent;
    return core;
}

/* Adds a level to the distances if it splits what the ones counted so far do not. groups[c] is the first core of core
 * c's group, by those levels before and by this one too after. Objects hold adjacent cores of hwloc's order. */
static void add_level(hwloc_obj_t *list, int depth, struct hop_cores *cores, uint32_t *groups)
{
    uint32_t count = cores->count;
    bool splits = false;
    for (uint32_t c = 1; c < count; c++)
        splits = splits || (groups[c] == groups[c - 1] && holder(list[c], depth) != holder(list[c - 1], depth));
    if (!splits)
        return;
    for (uint32_t c = 1; c < count; c++)
        groups[c] = holder(list[c], depth) == holder(list[c - 1], depth) ? groups[c - 1] : c;
    for (uint32_t a = 0; a < count; a++) {
        for (uint32_t b = 0; b < count; b++)
            cores->distance[(size_t)a * count + b] += groups[a] != groups[b];
    }
}

static void describe(hwloc_topology_t machine, hwloc_obj_t *list, struct hop_cores *cores)
{
    unsigned in_package = 0;
    for (uint32_t c = 0; c < cores->count; c++) {
        hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(machine, HWLOC_OBJ_PACKAGE, list[c]);
        unsigned number = package ? package->logical_index : 0;
        in_package = c > 0 && number == cores->list[c - 1].package ? in_package + 1 : 0;
        cores->list[c] = (struct hop_core){
            .package = number,
            .in_package = in_package,
            .logical = c,
            .os = (unsigned)hwloc_bitmap_first(list[c]->cpuset),
            .numa = list[c]->nodeset ? hwloc_bitmap_first(list[c]->nodeset) : -1,
        };
    }
}

/* One block of memory. */
static struct hop_cores *allocate(size_t count)
{
    struct hop_cores *made = calloc(1, sizeof *made + count * count * sizeof(double) + count * sizeof *made->list);
    if (!made)
        return NULL;
    made->count = (uint32_t)count;
    made->distance = (double *)(made + 1);
    made->list = (struct hop_core *)(made->distance + count * count);
    return made;
}

static enum hop_status read_cores(hwloc_topology_t machine, struct hop_cores **cores, struct hop_diag *diag)
{
    /* Some virtual machines show no cores; their processing units stand for them. */
    hwloc_obj_type_t type = hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    int count = hwloc_get_nbobjs_by_type(machine, type), depth = hwloc_get_type_depth(machine, type);
    hwloc_obj_t list[CORE_LIMIT];
    uint32_t groups[CORE_LIMIT] = {0};
    if (count <= 0 || count > CORE_LIMIT)
        return hop_fail(diag, HOP_ERR_LIMIT, "the machine has %d cores\n1 to %d", count, CORE_LIMIT);
    struct hop_cores *made = allocate((size_t)count);
    if (!made)
        return hop_fail_memory(diag);
    for (int c = 0; c < count; c++)
        list[c] = hwloc_get_obj_by_type(machine, type, (unsigned)c);
    describe(machine, list, made);
    for (int d = 1; d <= depth; d++)
        add_level(list, d, made, groups);
    *cores = made;
    return HOP_OK;
}

/* What is no file and does not look like the name of one is a description. */
static bool is_file(const char *source)
{
    size_t length = strlen(source);
    return strcmp(source, "-") == 0 || strchr(source, '/') || access(source, F_OK) == 0 ||
           (length > 4 && strcmp(source + length - 4, ".xml") == 0);
}

static enum hop_status open_machine(const char *source, struct hop_hwloc *hwloc, struct hop_diag *diag)
{
    struct hop_source text;
    if (strcmp(source, "live") == 0)
        return hop_hwloc_open_live(hwloc, diag);
    if (!is_file(source))
        return hop_hwloc_open_synthetic(source, hwloc, diag);
    enum hop_status status = hop_source_load(source, &text, diag);
    if (status != HOP_OK)
        return status;
    status = hop_hwloc_open_xml(&text, hwloc, diag);
    hop_source_finish(&text);
    return status;
}

enum hop_status hop_cores_load(const char *source, struct hop_cores **cores, struct hop_diag *diag)
{
    struct hop_hwloc hwloc;
    enum hop_status status = open_machine(source, &hwloc, diag);
    if (status != HOP_OK)
        return status;
    status = read_cores(hwloc.machine, cores, diag);
    if (status != HOP_OK)
        hop_diag_place(diag, "%.150s", source);
    hop_hwloc_close(&hwloc);
    return status;
}

#else

enum hop_status hop_cores_load(const char *source, struct hop_cores **cores, struct hop_diag *diag)
{
    (void)cores;
    hop_fail(diag, HOP_ERR_UNSUPPORTED, "this build has no hwloc, which knows the cores of machines");
    hop_diag_place(diag, "%.150s", source);
    hop_diag_expect(diag, "a build where CMake finds hwloc 2 (Debian: libhwloc-dev)");
    return HOP_ERR_UNSUPPORTED;
}

#endif

void hop_cores_destroy(struct hop_cores *cores)
{
    free(cores);
}
