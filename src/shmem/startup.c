/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Startup: PEs meet, get their symmetric memory, and part.
 *
 *     hopcast-shmemrun    starts them on this machine and says by the environment which session they join
 *     mpirun              a group of Open MPI or MPICH, on one machine or several
 *     neither             one PE
 *
 * A program may begin again after its end: the team stays until then, and is used again.
 */
#include "shmem/far.h"
#include "shmem/spaces.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

static struct {
    uint32_t begun; /* init calls without their finalize */
    int level;
    bool leaves;
    pid_t pid; /* of the PE, not of a process that it forked; 0: it has not begun yet */
    struct hop_group *group;
    struct hop_team *before; /* of the world that has ended */
} startup;

/* ---- meeting ---- */

#define PATIENCE_S 30.0

static enum hop_status read_patience(double *patience_s, struct hop_diag *diag)
{
    const char *text = getenv("HOPCAST_PATIENCE");
    char *end = NULL;
    *patience_s = text && *text ? hop_text_number(text, &end) : PATIENCE_S;
    if (end && (end == text || *end || !(*patience_s >= 0)))
        return hop_fail(diag, HOP_ERR_INVALID, "HOPCAST_PATIENCE=%s is no time\nseconds, 0: for ever", text);
    return HOP_OK;
}

static enum hop_status join(struct hop_diag *diag)
{
    const struct hop_team_options options = {.timeout_s = INFINITY}; /* PEs may compute for as long as they like */
    hop_shmem.team = startup.before;
    if (startup.before)
        hop_team_begin_again(startup.before);
    startup.before = NULL;
    if (hop_shmem.team)
        return HOP_OK;
    double leave_s;
    HOP_CHECK(read_patience(&leave_s, diag));
    enum hop_status status = hop_team_start(&options, &startup.group, &hop_shmem.team, diag);
    if (status == HOP_OK)
        hop_shmem.team->leave_s = leave_s;
    hop_shmem.alone = startup.group != NULL;
    return status;
}

/* ---- parting ---- */

static void take_leave(void)
{
    if (hop_shmem.team->nodes == 1)
        HOP_SHMEM_NEED("shmem_finalize", hop_team_leave(hop_shmem.team, &diag_));
    else
        pshmem_barrier_all();
    hop_shmem_spaces_destroy();
    hop_shmem_far_destroy();
    hop_shmem_teams_destroy();
    hop_shmem_data_destroy();
    hop_shmem_heap_destroy();
    HOP_SHMEM_NEED("shmem_finalize", hop_team_finish(hop_shmem.team, &diag_));
    startup.before = hop_shmem.team;
    hop_shmem.team = NULL;
    hop_shmem.pes = 0;
}

/* Who ends without finalize ends well all the same if it says so; else the others end, too. */
static void at_exit(int status, void *context)
{
    struct hop_diag diag;
    (void)context;
    if (startup.leaves || getpid() != startup.pid)
        return;
    if (startup.begun > 0 && status != 0) {
        (void)hop_fail(&diag, HOP_ERR_LOST, "PE %u ended with exit status %d before shmem_finalize", hop_shmem.pe,
                       status);
        hop_team_abort(hop_shmem.team, &diag);
        if (hop_shmem.team->group) {
            (void)fflush(NULL);
            hop_group_leave(startup.group);
            _exit(status);
        }
        return;
    }
    if (startup.begun > 0)
        take_leave();
    startup.begun = 0;
    hop_team_destroy(startup.before);
    startup.before = NULL;
    if (startup.group)
        (void)hop_group_finish(startup.group, NULL);
}

/* ---- the interface ---- */

static void say(void)
{
    if (getenv("SHMEM_VERSION") && hop_shmem.pe == 0)
        (void)printf("hopcast %s, OpenSHMEM %d.%d\n", hop_version(), SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
    if (getenv("SHMEM_INFO") && hop_shmem.pe == 0)
        (void)printf("SHMEM_SYMMETRIC_SIZE  bytes of the symmetric heap, as in 64M or 1.5G: %zu\n"
                     "SHMEM_DEBUG           compares what PEs say in each collective: %s\n"
                     "SHMEMX_EXPLAIN        says how transfers between memories go, and why: %s\n"
                     "SHMEM_VERSION         prints the version\n"
                     "SHMEM_INFO            prints this\n",
                     hop_shmem.segments[HOP_SHMEM_HEAP].bytes, hop_shmem.debug ? "yes" : "no",
                     hop_shmem.explains ? "yes" : "no");
}

HOP_SHMEM_API(int, init_thread, (int requested, int *provided))
{
    if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE)
        return -1;
    if (startup.begun++ > 0) {
        pshmem_barrier_all();
        *provided = startup.level;
        return 0;
    }
    *provided = startup.level = requested;
    HOP_SHMEM_NEED("shmem_init", join(&diag_));
    hop_shmem.pe = hop_team_rank(hop_shmem.team);
    hop_shmem.pes = hop_team_size(hop_shmem.team);
    hop_shmem.debug = getenv("SHMEM_DEBUG") != NULL;
    hop_shmem.explains = getenv("SHMEMX_EXPLAIN") != NULL;
    if (!startup.pid)
        (void)on_exit(at_exit, NULL);
    startup.pid = getpid();
    hop_shmem_heap_create();
    hop_shmem_data_create();
    hop_shmem_far_create();
    hop_shmem_teams_create();
    say();
    return 0;
}

HOP_SHMEM_API(void, init, (void))
{
    int provided;
    (void)pshmem_init_thread(SHMEM_THREAD_SINGLE, &provided);
}

void start_pes(int npes)
{
    (void)npes;
    if (startup.begun == 0)
        pshmem_init();
}

HOP_SHMEM_API(void, finalize, (void))
{
    if (startup.begun == 0)
        return;
    if (startup.begun > 1)
        pshmem_barrier_all();
    else
        take_leave();
    startup.begun--;
}

void pshmem_global_exit(int status)
{
    if (!hop_shmem.pes)
        exit(status);
    startup.leaves = true;
    (void)fflush(NULL);
    hop_board_end(hop_shmem.team->board, status);
    if (hop_shmem.team->group) {
        hop_shmem_far_exit(status);
        (void)hop_group_finish(startup.group, NULL);
    } else if (hop_shmem.alone && hop_shmem.pes > 1) {
        struct hop_diag diag;
        (void)hop_fail(&diag, HOP_ERR_LOST, "PE %u called shmem_global_exit(%d)", hop_shmem.pe, status);
        hop_team_abort(hop_shmem.team, &diag);
    }
    exit(status);
}
void shmem_global_exit(int status) __attribute__((weak, alias("pshmem_global_exit")));

HOP_SHMEM_API(void, query_thread, (int *provided))
{
    *provided = startup.level;
}

HOP_SHMEM_API(void, query_initialized, (int *initialized))
{
    *initialized = startup.begun > 0;
}

/* For profilers, which replace it. */
HOP_SHMEM_API(void, pcontrol, (int level, ...))
{
    (void)level;
}

HOP_SHMEM_API(int, my_pe, (void))
{
    return (int)hop_shmem.pe;
}

HOP_SHMEM_API(int, n_pes, (void))
{
    return (int)hop_shmem.pes;
}

int _my_pe(void)
{
    return pshmem_my_pe();
}

int _num_pes(void)
{
    return pshmem_n_pes();
}

HOP_SHMEM_API(void, info_get_version, (int *major, int *minor))
{
    *major = SHMEM_MAJOR_VERSION;
    *minor = SHMEM_MINOR_VERSION;
}

HOP_SHMEM_API(void, info_get_name, (char *name))
{
    (void)snprintf(name, SHMEM_MAX_NAME_LEN, "%s", SHMEM_VENDOR_STRING);
}

void shmem_set_cache_inv(void)
{
}

void shmem_set_cache_line_inv(void *dest)
{
    (void)dest;
}

void shmem_clear_cache_inv(void)
{
}

void shmem_clear_cache_line_inv(void *dest)
{
    (void)dest;
}

void shmem_udcflush(void)
{
}

void shmem_udcflush_line(void *dest)
{
    (void)dest;
}
