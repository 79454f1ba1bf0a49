/* SPDX-License-Identifier: BSD-3-Clause */
/* Which MPI is in the process, told by what it calls itself, and the shim for it. */
#include "mpi/mpi_layer.h"

#include "base/base.h"
#include "base/clock.h"
#include "mpi/device_memory.h"
#include "mpi/killed.h"
#include "mpi/mpi_engine.h"
#include "mpi/persistent.h"
#include "mpi/received.h"
#include "mpi/repeats.h"
#include "mpi/say.h"
#include "mpi/ticks.h"
#include "mpi/traffic_file.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>

static struct {
    const struct hop_mpi_shim *mpi;
    int rank, ranks;
    double begin_s;
    pid_t process;                       /* a child that it forks is another */
    char library[8192];                  /* as the standard ABI wants it */
    const struct hop_mpi_engine *engine; /* NULL: nobody asked for it */
    bool uncounted, records;
} layer;
static bool on;
bool hop_layer_quick, hop_layer_takes[HOP_MPI_CALL_COUNT];
unsigned hop_layer_epoch = 1;
static const struct hop_mpi_engine *minds_threads; /* until the process ends */

/* How the versions begin that are known to work alike, and the shim for them. */
static const struct {
    const char *begins, *shim;
} known[] = {
    {"Open MPI v4.", "openmpi"},
    {"Open MPI v5.", "openmpi"},
    {"MPICH Version:\t3.", "mpich"},
    {"MPICH Version:\t4.", "mpich"},
};

bool hop_layer_is_on(void)
{
    return __atomic_load_n(&on, __ATOMIC_ACQUIRE);
}

/* ---- finding things ---- */

static const char *own_path(void)
{
    static const char own = 0;
    Dl_info info;
    return dladdr(&own, &info) && info.dli_fname ? info.dli_fname : "";
}

/* Where programs load their MPI themselves (Python does), it is not behind this library in the order of symbols. */
static void *find_loaded(const char *name)
{
    struct link_map *map = NULL;
    void *self = dlopen(NULL, RTLD_LAZY), *found = NULL;
    if (self && dlinfo(self, RTLD_DI_LINKMAP, &map) == 0) {
        for (; map && !found; map = map->l_next) {
            void *library = map->l_name[0] && strcmp(map->l_name, own_path()) != 0
                                ? dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD)
                                : NULL;
            found = library ? dlsym(library, name) : NULL;
        }
    }
    return found;
}

void *hop_layer_next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    return found ? found : find_loaded(name);
}

/* The shim finds the MPI among all libraries, which one that a plugin brought along is not in, as Python's are. */
static void show_to_all(void)
{
    Dl_info info;
    void *symbol = hop_layer_next("PMPI_Get_library_version");
    if (symbol && dladdr(symbol, &info) && info.dli_fname)
        (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
}

/* Beside this library, in hopcast/ there, or where HOPCAST_MPI_PATH says. */
static void *load(const char *name, const char *of)
{
    const char *forced = getenv("HOPCAST_MPI_PATH"), *slash = strrchr(own_path(), '/');
    int length = slash ? (int)(slash - own_path()) : 1;
    const char *own = slash ? own_path() : ".";
    char path[PATH_MAX + 64];
    void *library = NULL;
    for (int way = forced && forced[0] ? 0 : 1; way < 3 && !library; way++) {
        (void)snprintf(path, sizeof path, "%.*s%s/hopcast-mpi-%s.so", way ? length : PATH_MAX, way ? own : forced,
                       way == 2 ? "/hopcast" : "", name);
        if (access(path, F_OK) == 0)
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return library ? dlsym(library, of) : NULL;
}

static const struct hop_mpi_shim *load_shim(const char *name)
{
    const struct hop_mpi_shim *(*table)(void) = NULL;
    show_to_all();
    void *symbol = load(name, HOP_MPI_SHIM_SYMBOL);
    memcpy(&table, &symbol, sizeof symbol); /* ISO C has no cast from object to function pointer */
    return table && table()->version == HOP_MPI_SHIM_VERSION ? table() : NULL;
}

static const struct hop_mpi_engine *load_engine(void)
{
    const struct hop_mpi_engine *(*table)(void) = NULL;
    void *symbol = load("engine", HOP_MPI_ENGINE_SYMBOL);
    memcpy(&table, &symbol, sizeof symbol);
    bool fits = table && table()->version == HOP_MPI_ENGINE_VERSION && table()->calls == HOP_MPI_CALL_COUNT;
    return fits ? table() : NULL;
}

/* ---- beginning ---- */

/* Once a job, as far as launchers tell. */
static void say(const char *format, ...) HOP_PRINTF(1, 2);
static void say(const char *format, ...)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    for (size_t i = 0; i < HOP_COUNT(names); i++) {
        const char *rank = getenv(names[i]);
        if (rank && strcmp(rank, "0") != 0)
            return;
    }
    va_list arguments;
    va_start(arguments, format);
    hop_mpi_say(format, arguments);
    va_end(arguments);
}

/* The standard ABI of MPI 5: an MPI that has it only beside one of its own says -1 in the library of its own. */
static bool keeps_to_standard(void)
{
    int (*version)(int *major, int *minor) = NULL;
    int major = -1, minor = -1;
    void *symbol = hop_layer_next("PMPI_Abi_get_version");
    memcpy(&version, &symbol, sizeof symbol);
    return version && version(&major, &minor) == 0 && major == 1;
}

static const struct hop_mpi_shim *find_shim(void)
{
    int (*version)(char *text, int *length) = NULL;
    int length = 0;
    void *symbol = hop_layer_next("PMPI_Get_library_version");
    memcpy(&version, &symbol, sizeof symbol);
    if (!version || sizeof layer.library < 2 || version(layer.library, &length) != 0)
        (void)snprintf(layer.library, sizeof layer.library, "an MPI that does not say which");
    layer.library[sizeof layer.library - 1] = '\0';
    const char *shim = keeps_to_standard() ? "standard" : NULL;
    for (size_t i = 0; i < HOP_COUNT(known) && !shim; i++)
        shim = strncmp(layer.library, known[i].begins, strlen(known[i].begins)) == 0 ? known[i].shim : NULL;
    layer.library[strcspn(layer.library, "\n,")] = '\0';
    char *tab = strchr(layer.library, '\t'); /* "MPICH Version:\t4.0.2" */
    if (tab)
        *tab = ' ';
    if (!shim) {
        say("%s is not known here (Open MPI 4, MPICH 4 and the standard ABI of MPI 5 are); the program runs without "
            "being profiled",
            layer.library);
        return NULL;
    }
    const struct hop_mpi_shim *mpi = load_shim(shim);
    if (!mpi)
        say("hopcast-mpi-%s.so is missing beside it, or is another version's; the program runs without being "
            "profiled",
            shim);
    return mpi;
}

/* Once: it tells what it misses. */
static const struct hop_mpi_shim *recognise(void)
{
    static const struct hop_mpi_shim *found;
    static bool looked;
    if (!looked)
        found = find_shim();
    looked = true;
    return found;
}

/* ---- the engine ---- */

static char asked[HOP_MPI_ASKED_COUNT][HOP_MPI_ASKED_SIZE];

static bool reads_asked(void)
{
    static const char *const names[] = {
#define NAME(code, name) name,
        HOP_MPI_ASKED_LIST(NAME)
#undef NAME
    };
    bool any = false;
    for (int i = 0; i < HOP_MPI_ASKED_COUNT; i++) {
        const char *value = getenv(names[i]);
        (void)snprintf(asked[i], sizeof asked[i], "%s", value ? value : "");
        any = any || asked[i][0];
    }
    return any;
}

static bool says(const char *name, const char *value)
{
    const char *own = getenv(name);
    return own && strcmp(own, value) == 0;
}

static void give_up(const char *why)
{
    hop_layer_break_off(why);
    layer.mpi->give_up(1);
}

static void forget(void)
{
    if (__atomic_add_fetch(&hop_layer_epoch, 1, __ATOMIC_ACQ_REL) == 0)
        (void)__atomic_add_fetch(&hop_layer_epoch, 1, __ATOMIC_ACQ_REL);
}

static const struct hop_mpi_engine *prepared; /* NULL: nothing was asked for here before MPI_Init */

/* What rank 0's environment says counts for all of them. */
static void begin_asked(void)
{
    struct {
        bool uncounted, engine;
    } wish = {says("HOPCAST_MPI_TRAFFIC", "none"), layer.rank == 0 && reads_asked()};
    struct hop_mpi_job job = {layer.mpi, layer.rank, layer.ranks, layer.library, asked, says("HOPCAST_VERBOSE", "1"),
                              give_up,   forget};
    static struct hop_mpi_job kept;
    if (layer.mpi->broadcast(&wish, sizeof wish) != 0)
        return;
    layer.uncounted = wish.uncounted;
    if (!wish.engine || layer.mpi->broadcast(asked, sizeof asked) != 0)
        return;
    const struct hop_mpi_engine *engine = load_engine();
    if (!layer.mpi->all_agree(engine != NULL)) {
        say("hopcast-mpi-engine.so is missing beside it on some host, or is another version's; the program runs on %s "
            "alone",
            layer.library);
        return;
    }
    kept = job;
    engine->begin(&kept, hop_layer_takes);
    layer.engine = engine;
    layer.records = engine->record(&kept);
    __atomic_store_n(&minds_threads, engine, __ATOMIC_RELEASE);
}

static void begin_engine(void)
{
    forget();
    begin_asked();
    __atomic_store_n(&hop_layer_quick, layer.uncounted && !layer.records && !asked[ASKED_MAP][0], __ATOMIC_RELEASE);
    if (prepared && !(layer.engine && asked[ASKED_MAP][0]))
        prepared->before(NULL);
}

bool hop_layer_records(void)
{
    return layer.records;
}

const uintptr_t *hop_layer_enter(enum hop_mpi_call call, const uintptr_t *arguments)
{
    return layer.records ? layer.engine->enter(call, arguments) : arguments;
}

void hop_layer_leave(enum hop_mpi_call call, const uintptr_t *arguments, uint64_t end_ns, bool paused)
{
    if (layer.records)
        layer.engine->leave(call, arguments, end_ns, paused);
}

void hop_layer_prepare(void)
{
    const char *map = getenv("HOPCAST_MAP");
    prepared = map && map[0] && recognise() ? load_engine() : NULL;
    if (prepared)
        prepared->before(map);
}

void hop_layer_look(void)
{
    if (layer.engine)
        layer.engine->look();
}

bool hop_layer_takes_thread(const void *routine)
{
    const struct hop_mpi_engine *engine = __atomic_load_n(&minds_threads, __ATOMIC_ACQUIRE);
    return engine && engine->takes_thread(routine);
}

void hop_layer_thread(void)
{
    minds_threads->thread();
}

bool hop_layer_counts(void)
{
    return !layer.uncounted;
}

enum hop_mpi_whose hop_layer_instead(enum hop_mpi_call call, const uintptr_t *arguments, int *error)
{
    return layer.engine->instead(call, arguments, error);
}

int hop_layer_ranks(uintptr_t comm)
{
    const struct hop_mpi_ranks *ranks = layer.mpi->ranks(comm);
    return ranks && !ranks->inter ? ranks->size : INT_MAX;
}

void hop_layer_comm_free(uintptr_t comm)
{
    forget();
    if (layer.engine)
        layer.engine->comm_free(layer.mpi->comm_at(comm, 0));
}

/* On a communicator of a session; 0: MPI_COMM_WORLD. */
static void begin(const struct hop_mpi_shim *mpi, uintptr_t comm)
{
    if (!mpi->begin(comm, &layer.rank, &layer.ranks)) {
        hop_mpi_tell("not all ranks have it preloaded, so the job ends; mpirun of Open MPI hands it on "
                     "by -x LD_PRELOAD");
        mpi->give_up(1);
    }
    if (!hop_counts_begin(layer.ranks))
        return;
    hop_repeats_begin(layer.ranks);
    layer.mpi = mpi;
    layer.begin_s = hop_now_s();
    hop_ticks_begin();
    hop_rows_begin();
    layer.process = getpid();
    begin_engine();
    __atomic_store_n(&on, true, __ATOMIC_RELEASE);
    if (hop_layer_counts())
        hop_killed_begin(hop_layer_break_off);
}

void hop_layer_begin(void)
{
    const struct hop_mpi_shim *mpi = recognise();
    if (mpi)
        begin(mpi, 0);
}

/* ---- sessions ---- */

/* What is not MPI_COMM_WORLD's is counted from the first communicator on that all ranks make of a session. */
static struct {
    int open; /* that the program has */
    bool counted, seen;
    const struct hop_mpi_shim *mpi;
} sessions;

void hop_layer_session(void)
{
    if (__atomic_fetch_add(&sessions.open, 1, __ATOMIC_ACQ_REL) > 0 || sessions.seen || hop_layer_is_on())
        return;
    sessions.seen = true;
    sessions.mpi = recognise();
    if (sessions.mpi && !sessions.mpi->is_whole)
        say("%s has sessions, which are not known here: the program runs without being profiled", layer.library);
}

void hop_layer_session_comm(uintptr_t comm)
{
    const struct hop_mpi_shim *mpi = sessions.mpi;
    if (!mpi || !mpi->is_whole || sessions.counted || hop_layer_is_on() || !mpi->is_whole(mpi->comm_at(comm, 0)))
        return;
    sessions.counted = true;
    begin(mpi, mpi->comm_at(comm, 0));
}

void hop_layer_session_end(void)
{
    if (__atomic_sub_fetch(&sessions.open, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (sessions.counted && hop_layer_is_on()) {
        hop_layer_end();
        layer.mpi->end();
    } else if (sessions.mpi && sessions.mpi->is_whole && !sessions.counted && !layer.mpi) {
        say("%s: no communicator of all ranks was made of a session; the program ran without being profiled",
            layer.library);
    }
}

/* ---- counting ---- */

void hop_layer_request_free(uintptr_t request)
{
    hop_persistent_forget(layer.mpi->request_at(request, 0));
}

static bool may_end_receives(const struct hop_mpi_row *row)
{
    return row->kind == KIND_COMPLETE || row->kind == KIND_RECEIVE || row->kind == KIND_POINT ||
           row->kind == KIND_FREE || row->kind == KIND_MPROBE || hop_has_role(row, 'M');
}

const uintptr_t *hop_layer_receiving(const struct hop_mpi_row *row, const uintptr_t *arguments)
{
    return may_end_receives(row) ? hop_received_enter(layer.mpi, row, arguments) : arguments;
}

/* A rank that puts something into a window knows then what it goes into. Of ranks of another job nobody knows whether
 * they have this library. */
static void tell_memory(const struct hop_mpi_row *row, const uintptr_t *arguments)
{
    uintptr_t comm = *hop_role(row, arguments, 'c');
    const struct hop_mpi_ranks *ranks = layer.mpi->ranks(comm);
    for (int r = 0; ranks && ranks->world && r < ranks->size; r++)
        ranks = ranks->world[r] < 0 ? NULL : ranks;
    if (ranks)
        layer.mpi->window_memory(layer.mpi->window_at(*hop_role(row, arguments, 'X'), 0), comm,
                                 hop_mpi_memory_of((const void *)*hop_role(row, arguments, 'b')) == MEMORY_DEVICE);
}

void hop_layer_received(const struct hop_mpi_row *row, const uintptr_t *arguments, bool paused)
{
    if (hop_has_role(row, 'b'))
        tell_memory(row, arguments);
    if (may_end_receives(row) && row->kind != KIND_FREE)
        hop_received_leave(layer.mpi, row, arguments, paused);
}

void hop_layer_describe(const struct hop_mpi_row *row, const uintptr_t *arguments)
{
    const uintptr_t *made = hop_role(row, arguments, 'Q');
    struct hop_mpi_messages kept = {0};
    if (!made)
        return;
    (void)hop_mpi_decompose(layer.mpi, row, arguments, hop_mpi_keep, &kept);
    hop_persistent_add(layer.mpi->request_at(*made, 0), &kept);
}

uint64_t hop_layer_count(const struct hop_mpi_row *row, const uintptr_t *arguments)
{
    uint64_t bytes = 0;
    if (hop_has_role(row, 'Q'))
        return 0; /* it is counted each time that it is started */
    if (row->kind == KIND_START)
        return hop_persistent_start(layer.mpi->request_at(arguments[0], 0));
    for (int i = 0; row->kind == KIND_START_ALL && i < (int)arguments[0]; i++)
        bytes += hop_persistent_start(layer.mpi->request_at(arguments[1], i));
    if (row->kind == KIND_START_ALL)
        return bytes;
    return hop_repeats_count(layer.mpi, row, arguments);
}

/* ---- ending ---- */

static struct hop_mpi_run describe(const char *ended)
{
    return (struct hop_mpi_run){layer.mpi, layer.rank, layer.ranks, layer.library, hop_now_s() - layer.begin_s,
                                ended,     NULL,       NULL};
}

/* Only one thread gets to write. */
static bool turn_off(void)
{
    __atomic_store_n(&hop_layer_quick, false, __ATOMIC_RELEASE);
    forget(); /* what goes to the MPI straight */
    return __atomic_exchange_n(&on, false, __ATOMIC_ACQ_REL);
}

void hop_layer_end(void)
{
    struct hop_mpi_run run = describe(NULL);
    if (!turn_off())
        return;
    layer.records = false;
    if (layer.engine) {
        layer.engine->end();
        run.more = layer.engine->told_json();
        run.summary = layer.engine->told_text();
    }
    if (hop_layer_counts()) {
        hop_repeats_end();
        hop_traffic_file_of_all(&run);
        hop_killed_end();
    }
    if (layer.engine)
        layer.engine->write();
}

void hop_layer_break_off(const char *why)
{
    struct hop_mpi_run run = describe(why);
    if (layer.process == getpid() && turn_off() && hop_layer_counts()) {
        hop_repeats_end();
        hop_traffic_file_of_one(&run);
    }
}
