/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel copies: between processes, where the kernel allows it. */
#include "run/kernel_copy.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"

#define CALL_BYTES (UINT64_C(16) << 20) /* between two beats */

/* ---- asking ---- */

struct probe {
    long pid;
    const void *address;
    uint64_t magic;
};

struct answer {
    bool may;
    uint32_t rank; /* that cannot be read */
    int error;
};

static ssize_t call(bool reads, long pid, void *here, void *there, size_t bytes)
{
    const struct iovec local = {here, bytes}, far = {there, bytes};
    return reads ? process_vm_readv((pid_t)pid, &local, 1, &far, 1, 0)
                 : process_vm_writev((pid_t)pid, &local, 1, &far, 1, 0);
}

/* Different in every process, also in one that was forked; the same in all threads of one. */
static uint64_t draw_magic(void)
{
    static atomic_uint_fast64_t first;
    uint_fast64_t random, known = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random || random == 0)
        random = hop_now_ns();
    if (!atomic_compare_exchange_strong(&first, &known, random))
        random = known;
    return hop_draw_from(random ^ (uint64_t)getpid() << 1);
}

/* By number a process of another PID namespace may be meant: the bytes tell. */
static struct answer try_all(struct hop_team *team, const struct probe *all)
{
    struct answer answer = {.may = true};
    for (uint32_t l = 0; l < team->local_size && answer.may; l++) {
        uint64_t got = 0;
        bool same = all[l].pid == all[team->local].pid && all[l].magic == all[team->local].magic;
        team->far_pid[l] = same ? 0 : all[l].pid;
        errno = 0;
        bool read =
            same || (call(true, all[l].pid, &got, (void *)(uintptr_t)all[l].address, sizeof got) == sizeof got &&
                     got == all[l].magic);
        if (!read)
            answer = (struct answer){false, team->rank_of[l], errno};
    }
    return answer;
}

enum hop_status hop_kernel_ask(struct hop_team *team, bool *may, struct hop_diag *diag)
{
    uint64_t magic = draw_magic();
    struct probe *all = calloc(team->local_size, sizeof *all), mine = {(long)getpid(), &magic, magic};
    struct answer *answers = calloc(team->local_size, sizeof *answers), answer;
    enum hop_status status = all && answers ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK && !team->asked) {
        (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* Yama asks for it, others have no such call */
        status = hop_team_exchange(team, &mine, all, sizeof mine, diag);
        answer = try_all(team, all);
        if (status == HOP_OK)
            status = hop_team_exchange(team, &answer, answers, sizeof answer, diag);
        team->asked = status == HOP_OK;
        team->reaches = true;
        for (uint32_t l = 0; l < team->local_size && status == HOP_OK && team->reaches; l++) {
            team->reaches = answers[l].may;
            if (!answers[l].may)
                (void)snprintf(team->unreached, sizeof team->unreached,
                               "rank %u cannot read the memory of rank %u (process_vm_readv: %s): bound buffers outside "
                               "of shared regions go through shared memory, two copies more",
                               team->rank_of[l], answers[l].rank,
                               answers[l].error ? strerror(answers[l].error) : "another process has its number");
        }
    }
    free(all);
    free(answers);
    *may = team->reaches;
    return status;
}

/* ---- copying ---- */

/* A process that is gone is missed by all: that is the reason, once it is found. */
static void fail(struct hop_program *program, long pid, int error)
{
    struct hop_team_wait wait = {0};
    double until_s = hop_now_s() + program->team->timeout_s;
    while (error == ESRCH && hop_now_s() < until_s) {
        if (!hop_team_turn(program->team, &wait)) {
            (void)hop_team_fail(program->team, &program->failure);
            return;
        }
        hop_team_look(program->team);
    }
    (void)hop_fail(&program->failure, HOP_ERR_INVALID,
                   "rank %u cannot reach the caller's memory in process %ld: %s\n"
                   "bound memory that stays mapped, readable and writable until it is bound anew",
                   program->team->rank, pid, strerror(error));
}

static void carry(struct hop_program *program, bool reads, long pid, char *here, char *there, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes && hop_program_is_fine(program);) {
        uint64_t piece = bytes - at < CALL_BYTES ? bytes - at : CALL_BYTES;
        ssize_t done = call(reads, pid, here + at, there + at, piece);
        if (done > 0)
            at += (uint64_t)done;
        else if (!(done < 0 && errno == EINTR))
            fail(program, pid, done < 0 ? errno : EFAULT);
        if (at < bytes)
            hop_team_beat(program->team);
    }
}

void hop_kernel_copy(struct hop_program *program, struct hop_kernel_place to, struct hop_kernel_place from, uint64_t bytes)
{
    if (!from.pid && !to.pid) {
        memcpy(to.address, from.address, bytes);
    } else if (!from.pid) {
        carry(program, false, to.pid, from.address, to.address, bytes);
    } else if (!to.pid) {
        carry(program, true, from.pid, to.address, from.address, bytes);
    } else {
        for (uint64_t at = 0, piece; at < bytes && hop_program_is_fine(program); at += piece) {
            piece = bytes - at < HOP_BOUNCE_BYTES ? bytes - at : HOP_BOUNCE_BYTES;
            carry(program, true, from.pid, program->bounce, from.address + at, piece);
            carry(program, false, to.pid, program->bounce, to.address + at, piece);
        }
    }
}
