/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mapping of the job: rank 0 reads or makes it, hands it out, hears what came of it and says so.
 *
 * A map that cannot be kept to ends the job where it begins, as launchers do with a rankfile: in a program that relies
 * on it all ranks would else share the first device.
 */
#include "mpi/engine/mapping.h"

#include "mpi/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* Faults of ranks that are told one by one; how long launchers may take to hand on what was said. */
enum { SHOWN = 4, EXIT_CODE = 2, PATIENCE_S = 60, HAND_ON_US = 200000 };
static const char automatic[] = "auto:";

static const struct hop_mpi_job *job;
static bool mapped;
static struct {
    bool took; /* before the MPI began */
    struct hop_mpi_seat seat;
    struct hop_mpi_seated seated;
} early;

/* What rank 0 tells all. */
struct verdict {
    bool fine, required;
};

static bool is_automatic(const char *map)
{
    return strncmp(map, automatic, sizeof automatic - 1) == 0;
}

static void say(const char *format, ...) HOP_PRINTF(1, 2);
static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    hop_mpi_say(format, arguments);
    va_end(arguments);
}

/* ---- before the MPI begins ---- */

/* As launchers say it; negative: they do not. */
static int rank_told(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    const char *text = NULL;
    char *end = NULL;
    for (size_t i = 0; i < HOP_COUNT(names) && (!text || !text[0]); i++)
        text = getenv(names[i]);
    long rank = text && text[0] ? strtol(text, &end, 10) : -1;
    return rank >= 0 && rank <= INT32_MAX && !*end ? (int)rank : -1;
}

void hop_mapping_before(const char *map)
{
    int rank = rank_told();
    struct hop_mpi_seat *seats = NULL;
    uint32_t ranks = 0;
    if (!map)
        hop_mapping_stand_up();
    if (!map || rank < 0 || is_automatic(map) || hop_mapping_read(map, &seats, &ranks, NULL) != HOP_OK)
        return;
    if ((uint32_t)rank < ranks) {
        early.took = true;
        early.seat = seats[rank];
        hop_mapping_sit(&early.seat, true, &early.seated);
    }
    free(seats);
}

/* ---- seats ---- */

static enum hop_status read_seats(const struct hop_mpi_view *views, struct hop_mpi_seat *seats, struct hop_diag *diag)
{
    const char *path = job->asked[ASKED_MAP];
    struct hop_mpi_seat *read = NULL;
    uint32_t ranks = 0, own = (uint32_t)job->ranks;
    int *machines = malloc(own * sizeof *machines);
    enum hop_status status = machines ? hop_mapping_read(path, &read, &ranks, diag) : hop_fail_memory(diag);
    for (uint32_t r = 0; status == HOP_OK && r < own; r++)
        machines[r] = views[r].machine;
    if (status == HOP_OK && ranks != own) {
        status = hop_fail(diag, HOP_ERR_INVALID,
                          "the map is of %u ranks, the job has %u\na job of %u ranks, or a map of %u (hopcast map)",
                          ranks, own, ranks, own);
        hop_diag_place(diag, "%.200s", path);
    }
    if (status == HOP_OK) {
        memcpy(seats, read, own * sizeof *seats);
        status = hop_mapping_check_machines(seats, own, machines, diag);
    }
    free(machines);
    free(read);
    return status;
}

static enum hop_status make_seats(const struct hop_mpi_view *views, struct hop_mpi_seat *seats, struct hop_diag *diag)
{
    struct hop_mpi_made made = {0};
    const char *map = job->asked[ASKED_MAP];
    for (int r = 0; r < job->ranks; r++)
        seats[r].cpu = HOP_NONE;
    if (!is_automatic(map))
        return read_seats(views, seats, diag);
    HOP_CHECK(hop_mapping_make(map + sizeof automatic - 1, views, (uint32_t)job->ranks, seats, &made, diag));
    if (made.cut)
        say("the search for a mapping was ended by its time limit; the next run may map otherwise");
    if (job->verbose)
        say("%s", made.text);
    return HOP_OK;
}

/* Rank 0's seats at every rank; false: the same everywhere, and told. */
static bool hand_out(const struct hop_mpi_view *views, struct hop_mpi_seat *seats, struct verdict *verdict)
{
    struct hop_diag diag = {0};
    if (job->rank == 0) {
        verdict->fine = make_seats(views, seats, &diag) == HOP_OK;
        if (!verdict->fine)
            say("HOPCAST_MAP=%s: %s%s%s%s%s", job->asked[ASKED_MAP], diag.place, diag.place[0] ? ": " : "", diag.what,
                diag.expected[0] ? "\n  expected: " : "", diag.expected);
    }
    return job->mpi->broadcast(verdict, sizeof *verdict) == 0 && verdict->fine &&
           job->mpi->broadcast(seats, (size_t)job->ranks * sizeof *seats) == 0;
}

/* ---- what came of it ---- */

static void say_faults(const struct hop_mpi_seated *all)
{
    int shown[SHOWN], count = 0, more = 0;
    for (int r = 0; r < job->ranks; r++) {
        bool told = all[r].fine;
        for (int i = 0; i < count && !told; i++)
            told = strcmp(all[shown[i]].text, all[r].text) == 0;
        if (!told && count < SHOWN)
            shown[count++] = r;
        else
            more += !all[r].fine;
    }
    for (int i = 0; i < count; i++)
        say("HOPCAST_MAP=%s: rank %d on %s: %s", job->asked[ASKED_MAP], shown[i], all[shown[i]].host,
            all[shown[i]].text);
    if (more > 0)
        say("HOPCAST_MAP=%s: and so %d more rank%s", job->asked[ASKED_MAP], more, more == 1 ? "" : "s");
}

static void say_seats(const struct hop_mpi_seated *all)
{
    int before = 0, first_before = 0, apart = 0, first_apart = 0;
    for (int r = job->ranks - 1; r >= 0; r--) {
        before += all[r].chosen_before;
        apart += all[r].bound_apart;
        first_before = all[r].chosen_before ? r : first_before;
        first_apart = all[r].bound_apart ? r : first_apart;
    }
    for (int r = 0; r < job->ranks && job->verbose; r++)
        say("rank %d on %s: %s", r, all[r].host, all[r].text);
    if (before > 0)
        say("%d of %d ranks had a context on another device before MPI_Init and stay there: rank %d on %s", before,
            job->ranks, first_before, all[first_before].text);
    if (apart > 0)
        say("%d of %d ranks stay on the processors on which they were started, which are not the map's (rank %d "
            "first); mpirun "
            "--bind-to none leaves them to it",
            apart, job->ranks, first_apart);
}

/* Whether all ranks sit. */
static bool agree(const struct hop_mpi_seated *own, struct verdict *verdict)
{
    struct hop_mpi_seated *all = job->rank == 0 ? calloc((size_t)job->ranks, sizeof *all) : NULL;
    bool room = job->mpi->all_agree(job->rank > 0 || all);
    if (room && job->mpi->gather(own, sizeof *own, all) == 0 && job->rank == 0) {
        for (int r = 0; r < job->ranks; r++)
            verdict->fine = verdict->fine && all[r].fine;
        if (verdict->fine)
            say_seats(all);
        else
            say_faults(all);
    }
    free(all);
    return room && job->mpi->broadcast(verdict, sizeof *verdict) == 0 && verdict->fine;
}

/* Rank 0 has told why. */
static void go_without(const struct verdict *verdict)
{
    hop_mapping_stand_up();
    if (job->rank == 0 && verdict->required) {
        (void)usleep(HAND_ON_US);
        job->mpi->give_up(EXIT_CODE);
    } else if (job->rank == 0) {
        say("the program runs unmapped, as HOPCAST_MAP_REQUIRED=0 allows");
    } else if (verdict->required) {
        (void)sleep(PATIENCE_S); /* rank 0 ends all */
        job->mpi->give_up(EXIT_CODE);
    }
}

void hop_mapping_begin(const struct hop_mpi_job *now)
{
    const char *required = getenv("HOPCAST_MAP_REQUIRED");
    struct verdict verdict = {true, !required || strcmp(required, "0") != 0};
    struct hop_mpi_view own = {.machine = now->mpi->machine()}, *views = NULL;
    struct hop_mpi_seat *seats = calloc((size_t)now->ranks, sizeof *seats);
    job = now;
    if (job->mpi->is_spawned()) { /* a map is of the job that spawned it */
        hop_mapping_stand_up();
        if (job->rank == 0 && job->verbose)
            say("this job was spawned by another, of which HOPCAST_MAP is: it stays unmapped");
        free(seats);
        return;
    }
    own.machine = own.machine < 0 ? job->rank : own.machine;
    if (is_automatic(job->asked[ASKED_MAP]))
        hop_mapping_look(&own);
    if (job->rank == 0)
        views = calloc((size_t)job->ranks, sizeof *views);
    bool room =
        job->mpi->all_agree(seats && (job->rank > 0 || views)) && job->mpi->gather(&own, sizeof own, views) == 0;
    if (room && hand_out(views, seats, &verdict)) {
        bool is_early = early.took && memcmp(&early.seat, &seats[job->rank], sizeof early.seat) == 0;
        if (early.took && !is_early)
            hop_mapping_stand_up();
        if (!is_early)
            hop_mapping_sit(&seats[job->rank], false, &early.seated);
        (void)gethostname(early.seated.host, sizeof early.seated.host - 1);
        mapped = agree(&early.seated, &verdict);
    }
    if (!mapped)
        go_without(&verdict);
    free(views);
    free(seats);
}

void hop_mapping_look_on(void)
{
    if (mapped)
        hop_mapped_device_look(job->verbose, job->rank);
}

void hop_mapping_end(void)
{
    char own[32] = "", *all = job && job->rank == 0 ? calloc((size_t)job->ranks, sizeof own) : NULL;
    int count = 0, first = 0;
    if (!mapped)
        return;
    hop_mapped_device_look(job->verbose, job->rank);
    (void)snprintf(own, sizeof own, "%s", hop_mapped_device_other() ? hop_mapped_device_other() : "");
    if (job->mpi->all_agree(job->rank > 0 || all) && job->mpi->gather(own, sizeof own, all) == 0 && job->rank == 0) {
        for (int r = job->ranks - 1; r >= 0; r--) {
            count += all[(size_t)r * sizeof own] != '\0';
            first = all[(size_t)r * sizeof own] ? r : first;
        }
        if (count > 0)
            say("the program chose other devices than the map's itself on %d of %d ranks: rank %d %s", count,
                job->ranks, first, &all[(size_t)first * sizeof own]);
    }
    free(all);
    mapped = false;
}
