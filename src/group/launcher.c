/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which launcher started this process, told by the environment it sets, and the shim for its MPI, found and loaded.
 *
 * A shim is looked for in HOPCAST_MPI_PATH when that is set; else beside the library and the program, in hopcast/
 * there, in the library folder beside the program's, and where hopcast was installed. A process that no launcher
 * started looks for nothing.
 */
#include "group/group.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#ifndef HOP_MPI_FROM_BIN
#define HOP_MPI_FROM_BIN "../lib/hopcast" /* the installed shims, from the folder of the command */
#endif
#ifndef HOP_MPI_DIR
#define HOP_MPI_DIR "/usr/local/lib/hopcast"
#endif

enum { SIZE_LIMIT = 1 << 24 }; /* ranks */

#define OPENMPI "openmpi" /* the carrier is what HOPCAST_MPI says of it; the file is hopcast-openmpi.so */
#define MPICH "mpich"

static const struct {
    const char *rank, *size;
    const char *carriers[2];
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {OPENMPI, NULL}}, /* mpirun of Open MPI */
    {"PMI_RANK", "PMI_SIZE", {MPICH, NULL}},                           /* Hydra, and srun --mpi=pmi2 */
    {"PMIX_RANK", NULL, {OPENMPI, MPICH}},                             /* srun --mpi=pmix: any MPI may be meant */
};

static const struct {
    const char *carrier, *title, *packages;
} known[] = {
    {OPENMPI, "Open MPI", "libopenmpi-dev"},
    {MPICH, "MPICH", "libmpich-dev"},
};

static int size_of(const char *variable)
{
    const char *text = variable ? getenv(variable) : NULL;
    long size = text ? strtol(text, NULL, 10) : 0;
    return size > 0 && size <= SIZE_LIMIT ? (int)size : 0;
}

enum hop_status hop_launch_detect(struct hop_group_launch *launch, struct hop_diag *diag)
{
    const char *forced = getenv("HOPCAST_MPI");
    struct hop_group_launch found = {.rank = "?", .size = 1};
    for (size_t i = 0; i < HOP_COUNT(launchers) && !found.carriers[0]; i++) {
        if (getenv(launchers[i].rank))
            found = (struct hop_group_launch){.carriers = {launchers[i].carriers[0], launchers[i].carriers[1]},
                                              .variable = launchers[i].rank,
                                              .rank = getenv(launchers[i].rank),
                                              .size = size_of(launchers[i].size)};
    }
    if (forced && strcmp(forced, "none") == 0) {
        found = (struct hop_group_launch){.rank = "?", .size = 1};
    } else if (forced && forced[0]) {
        found = (struct hop_group_launch){
            .variable = "HOPCAST_MPI", .rank = found.rank, .size = found.carriers[0] ? found.size : 0};
        for (size_t i = 0; i < HOP_COUNT(known); i++) {
            if (strcmp(forced, known[i].carrier) == 0)
                found.carriers[0] = known[i].carrier;
        }
        if (strchr(forced, '/'))
            found.carriers[0] = forced;
        if (!found.carriers[0])
            return hop_fail(diag, HOP_ERR_INVALID,
                            "HOPCAST_MPI is '%s' in the environment\nopenmpi, mpich, none, or the path of a shim "
                            "compiled for another MPI, with a / in it",
                            forced);
    }
    *launch = found;
    return HOP_OK;
}

/* ---- loading ---- */

enum { FOLDER_LIMIT = 8 };

struct folders {
    char paths[FOLDER_LIMIT][PATH_MAX];
    unsigned count;
};

/* base/rest, when that folder is there and not yet listed. */
static void add_folder(struct folders *folders, const char *base, const char *rest)
{
    char path[2 * PATH_MAX], real[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", base, rest) >= (int)sizeof path || !realpath(path, real))
        return;
    for (unsigned i = 0; i < folders->count; i++) {
        if (strcmp(folders->paths[i], real) == 0)
            return;
    }
    if (folders->count < FOLDER_LIMIT)
        memcpy(folders->paths[folders->count++], real, sizeof real);
}

/* Around the library or program of that path. */
static void add_home(struct folders *folders, const char *path)
{
    char real[PATH_MAX], *slash;
    if (!realpath(path, real) || !(slash = strrchr(real, '/')))
        return;
    *slash = '\0';
    add_folder(folders, real, ".");
    add_folder(folders, real, "hopcast");
    add_folder(folders, real, HOP_MPI_FROM_BIN);
}

static void list_folders(struct folders *folders)
{
    static const char own = 0;
    Dl_info info;
    folders->count = 0;
    if (dladdr(&own, &info) && info.dli_fname && strchr(info.dli_fname, '/'))
        add_home(folders, info.dli_fname);
    add_home(folders, "/proc/self/exe");
    add_folder(folders, HOP_MPI_DIR, ".");
}

static enum hop_status load(const char *path, const struct hop_launch_table *wanted, const void **table,
                            struct hop_diag *diag)
{
    /* Open MPI's own plug-ins look for its symbols among the global ones. Never closed: MPI leaves handlers behind. */
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        return hop_fail(diag, HOP_ERR_UNSUPPORTED, "%s does not load: %s\nthe MPI that it was built with", path,
                        dlerror());
    const void *(*get)(void) = NULL;
    void *symbol = dlsym(library, wanted->symbol);
    memcpy(&get, &symbol, sizeof symbol); /* ISO C has no cast from object to function pointer */
    if (!get || *(const int *)get() != wanted->version)
        return hop_fail(diag, HOP_ERR_UNSUPPORTED,
                        "%s belongs to another version of hopcast\nthe one that was installed with this hopcast %s",
                        path, hop_version());
    *table = get();
    return HOP_OK;
}

static enum hop_status fail_missing(const struct hop_group_launch *launch, const struct folders *folders,
                                    struct hop_diag *diag)
{
    size_t i = 0;
    while (strcmp(known[i].carrier, launch->carriers[0]) != 0)
        i++;
    struct hop_buffer list = {0};
    for (unsigned f = 0; f < folders->count; f++)
        hop_buffer_printf(&list, "%s%s", f ? ", " : "", folders->paths[f]);
    (void)hop_fail(diag, HOP_ERR_UNSUPPORTED,
                   "%s is set, so %s started this process, but there is no hopcast-%s.so in %s\nhopcast built with %s "
                   "present (Debian: %s), HOPCAST_MPI_PATH as the folder of hopcast-%s.so, or HOPCAST_MPI=none for "
                   "processes that do not work together",
                   launch->variable, known[i].title, known[i].carrier,
                   list.length && !list.failed ? list.text : "any known folder", known[i].title, known[i].packages,
                   known[i].carrier);
    hop_buffer_finish(&list);
    return HOP_ERR_UNSUPPORTED;
}

enum hop_status hop_launch_load(const struct hop_group_launch *launch, const struct hop_launch_table *wanted,
                                const void **table, const char **carrier, struct hop_diag *diag)
{
    enum hop_status status = HOP_ERR_NOT_FOUND;
    *carrier = launch->carriers[0];
    if (strchr(*carrier, '/'))
        return load(*carrier, wanted, table, diag);
    const char *forced = getenv("HOPCAST_MPI_PATH");
    struct folders *folders = calloc(1, sizeof *folders);
    if (!folders)
        return hop_fail_memory(diag);
    if (forced && forced[0])
        (void)snprintf(folders->paths[folders->count++], sizeof folders->paths[0], "%s", forced);
    else
        list_folders(folders);
    for (size_t c = 0; c < HOP_COUNT(launch->carriers) && launch->carriers[c] && status == HOP_ERR_NOT_FOUND; c++) {
        for (unsigned f = 0; f < folders->count && status == HOP_ERR_NOT_FOUND; f++) {
            char path[PATH_MAX + 64];
            (void)snprintf(path, sizeof path, "%s/hopcast-%s.so", folders->paths[f], launch->carriers[c]);
            if (access(path, F_OK) == 0)
                status = load(path, wanted, table, diag);
            if (status == HOP_OK)
                *carrier = launch->carriers[c];
        }
    }
    if (status == HOP_ERR_NOT_FOUND)
        status = fail_missing(launch, folders, diag);
    free(folders);
    return status;
}
