/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profile of a space: what each step takes by size, measured by PE 0 in less than 2 s and stored in a file, by which
 * hop_stages_choose then chooses packets and overlap.
 *
 * The file says in its first line of what it is: versions, machine, processor and the space. One that says something else is
 * stale, which is told, and measured anew.
 */
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/numa.h"
#include "base/replace.h"
#include "shmem/far.h"
#include "shmem/spaces.h"

#define BUDGET_S 1.5
enum { TEXT_BYTES = 16384, KEY_BYTES = 512, TURNS_LEAST = 3, TURNS_MOST = 30 };
#define ENOUGH_S 0.008 /* of one step at one size */

static const char *const names[HOP_SHMEM_STEPS] = {"copy", "read", "write", "served-read", "served-write", "network"};
static const uint64_t sizes[] = {1 << 10,   4 << 10, 16 << 10, 64 << 10, 128 << 10, 256 << 10,
                                 512 << 10, 1 << 20, 2 << 20,  4 << 20,  8 << 20};

/* ---- of what it is ---- */

static void describe(const hop_shmem_space *space, char key[KEY_BYTES])
{
    static const char *const kinds[] = {"host", "accelerator", "cuda", "hip"};
    char cpu[128], host[65] = "";
    struct hop_device_properties properties;
    hop_processor_name(cpu, sizeof cpu);
    (void)gethostname(host, sizeof host - 1);
    space->ops->properties(space->own, &properties);
    (void)snprintf(
        key, KEY_BYTES, "# hopcast-shmem profile 1, hopcast %s, %s, %s, %ld processors, %s (%s), %u machines, %g %g %g",
        hop_version(), host, cpu, sysconf(_SC_NPROCESSORS_ONLN), kinds[space->config.memkind], properties.name,
        hop_shmem.team->nodes, space->config.read_rate, space->config.write_rate, space->config.latency);
}

/* Of a space that is smaller than all sizes its own is the first. */
static uint64_t size_at(const hop_shmem_space *space, size_t s)
{
    return s == 0 && space->config.sheap_size < sizes[0] ? space->config.sheap_size : sizes[s];
}

/* A small space has a file of its own, since no more than itself is measured. */
static uint64_t largest(const hop_shmem_space *space)
{
    size_t s = HOP_COUNT(sizes) - 1;
    while (s > 0 && sizes[s] > space->config.sheap_size)
        s--;
    return size_at(space, s);
}

/* False: there is no place for it. */
static bool path_of(const hop_shmem_space *space, char *path, size_t size)
{
    const char *own = getenv("HOPCAST_SHMEM_PROFILES"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int used = own     ? snprintf(path, size, "%s", own)
               : cache ? snprintf(path, size, "%s/hopcast", cache)
               : home  ? snprintf(path, size, "%s/.cache/hopcast", home)
                       : -1;
    if (used <= 0 || (size_t)used >= size)
        return false;
    for (char *at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    (void)mkdir(path, 0700);
    int more = snprintf(path + used, size - (size_t)used, "/shmem-%d-%g-%g-%g-%llu-%u.steps",
                        (int)space->config.memkind, space->config.read_rate, space->config.write_rate,
                        space->config.latency, (unsigned long long)largest(space), hop_shmem.team->nodes);
    return more > 0 && (size_t)(used + more) < size;
}

/* ---- measuring ---- */

/* The first PE of another machine; -1: there is none. */
static int first_far(void)
{
    uint32_t pe = 0;
    while (pe < hop_shmem.pes && !hop_shmem_is_far((int)pe))
        pe++;
    return pe < hop_shmem.pes ? (int)pe : -1;
}

static int steps_measured(void)
{
    return first_far() < 0 ? HOP_SHMEM_NETWORK : HOP_SHMEM_STEPS;
}

static void *scratch; /* symmetric, where there is a network */

static void do_step(hop_shmem_space *space, enum hop_shmem_step step, char *memory, size_t bytes)
{
    static const char who[] = "shmemx_tune";
    switch (step) {
    case HOP_SHMEM_COPY:
        memcpy(hop_shmem_slot(0), memory, bytes);
        break;
    case HOP_SHMEM_READ:
        hop_shmem_space_copy(space, hop_shmem_slot(0), space->begin, bytes, who);
        break;
    case HOP_SHMEM_WRITE:
        hop_shmem_space_copy(space, space->begin, hop_shmem_slot(0), bytes, who);
        break;
    case HOP_SHMEM_NETWORK:
        hop_shmem_far_put(scratch, memory, bytes, first_far(), who);
        hop_shmem_far_quiet();
        break;
    default:
        hop_shmem_order((int)hop_shmem.pe, 1, step == HOP_SHMEM_SERVED_WRITE, space, 0, bytes);
        hop_shmem_order_wait((int)hop_shmem.pe, 1);
    }
}

/* The least of a few: what is more was somebody else's doing. */
static double measure_step(hop_shmem_space *space, enum hop_shmem_step step, char *memory, size_t bytes)
{
    double least_s = INFINITY, spent_s = 0;
    for (int turn = 0; turn < TURNS_MOST && (turn < TURNS_LEAST || spent_s < ENOUGH_S); turn++) {
        double begun_s = hop_now_s();
        do_step(space, step, memory, bytes);
        double took_s = hop_now_s() - begun_s;
        least_s = hop_min(least_s, took_s);
        spent_s += took_s;
    }
    return least_s;
}

/* Sizes for which there is time; how many. */
static size_t measure_sizes(hop_shmem_space *space, size_t most, char *memory, double (*times_s)[HOP_SHMEM_STEPS])
{
    double begun_s = hop_now_s(), last_s = 0;
    size_t s = 0;
    for (; s < HOP_COUNT(sizes) && size_at(space, s) <= most; s++) {
        double now_s = hop_now_s();
        if (s > 0 && now_s - begun_s + 3 * last_s > BUDGET_S)
            break;
        for (int step = 0; step < steps_measured(); step++)
            times_s[s][step] = hop_max(measure_step(space, (enum hop_shmem_step)step, memory, size_at(space, s)), 1e-9);
        last_s = hop_now_s() - now_s;
    }
    for (size_t i = s; i-- > 1;) { /* fewer bytes take no longer */
        for (int step = 0; step < steps_measured(); step++)
            times_s[i - 1][step] = hop_min(times_s[i - 1][step], times_s[i][step]);
    }
    return s;
}

/* What lies at the beginning of the space is put back. */
static void measure(hop_shmem_space *space, char *text)
{
    size_t most = largest(space);
    double times_s[HOP_COUNT(sizes)][HOP_SHMEM_STEPS];
    char *memory = malloc(most), *was = malloc(most);
    if (!memory || !was)
        hop_shmem_die("shmemx_tune", "out of memory");
    hop_shmem_space_copy(space, was, space->begin, most, "shmemx_tune");
    memset(memory, 1, most);
    size_t count = measure_sizes(space, most, memory, times_s), used = (size_t)snprintf(text, TEXT_BYTES, "steps");
    for (int step = 0; step < steps_measured(); step++)
        used += (size_t)snprintf(text + used, TEXT_BYTES - used, " %s", names[step]);
    for (size_t s = 0; s < count; s++) {
        used += (size_t)snprintf(text + used, TEXT_BYTES - used, "\n%lluB", (unsigned long long)size_at(space, s));
        for (int step = 0; step < steps_measured(); step++)
            used += (size_t)snprintf(text + used, TEXT_BYTES - used, " %.6gs", times_s[s][step]);
    }
    (void)snprintf(text + used, TEXT_BYTES - used, "\n");
    hop_shmem_space_copy(space, space->begin, was, most, "shmemx_tune");
    free(was);
    free(memory);
}

/* ---- storing ---- */

/* A text with every step at some size. */
static bool is_whole(const char *text)
{
    struct hop_stages *stages = NULL;
    bool whole = hop_stages_parse("profile", text, strlen(text), &stages, NULL) == HOP_OK &&
                 stages->count == (uint32_t)steps_measured();
    for (uint32_t i = 0; whole && i < stages->count; i++)
        whole = strcmp(stages->stages[i].name, names[i]) == 0 && stages->stages[i].time_count > 0;
    hop_stages_destroy(stages);
    return whole;
}

static bool load(const char *path, const char *key, char *text)
{
    struct hop_source source;
    if (hop_source_load(path, &source, NULL) != HOP_OK)
        return false;
    size_t length = strlen(key);
    bool ours = source.size > length && memcmp(source.text, key, length) == 0 && source.text[length] == '\n',
         whole = source.size < TEXT_BYTES && is_whole(source.text);
    if (!ours || !whole)
        (void)fprintf(stderr, "hopcast-shmem: %s is %s: measured again\n", path,
                      ours ? "damaged" : "of another machine, version or space");
    else
        memcpy(text, source.text, source.size + 1);
    hop_source_finish(&source);
    return ours && whole;
}

static void find_or_measure(hop_shmem_space *space, bool again, char *text)
{
    char path[1024], key[KEY_BYTES];
    bool stored = path_of(space, path, sizeof path);
    describe(space, key);
    if (stored && !again && load(path, key, text))
        return;
    size_t used = (size_t)snprintf(text, TEXT_BYTES, "%s\n", key);
    measure(space, text + used);
    if (stored)
        (void)hop_replace_file(path, text); /* else it is measured again next time */
}

void hop_shmem_profile(hop_shmem_space *space, bool again, void *symmetric)
{
    static const char who[] = "shmemx_tune";
    struct shmem_internal_team *world = hop_shmem_team(SHMEM_TEAM_WORLD, who);
    const struct hop_plan_shape shape = {.kind = HOP_COLLECTIVE_BROADCAST, .type = HOP_TYPE_U8, .vector_bytes = TEXT_BYTES};
    char *text = calloc(2, TEXT_BYTES);
    if (!text)
        hop_shmem_die(who, "out of memory");
    scratch = symmetric;
    if (hop_shmem.pe == 0)
        find_or_measure(space, again, text);
    if (hop_shmem.pes > 1)
        hop_shmem_run(world, &shape, text, text, who);
    hop_stages_destroy(space->profile);
    space->profile = NULL;
    HOP_SHMEM_NEED(who, hop_stages_parse("profile", text, strlen(text), &space->profile, &diag_));
    free(text);
}

/* ---- choosing ---- */

void hop_shmem_choose(hop_shmem_space *space, const enum hop_shmem_step *steps, uint32_t count, size_t bytes,
                      size_t most, shmemx_choice_t *choice)
{
    static const hop_stages_overlap overlaps[][2] = {{0, 0}, {0, 1}, {0, 3}};
    const struct hop_stages_options options = {.overlaps = overlaps[count - 1], .overlap_count = 2};
    struct hop_stage all[3];
    const struct hop_stages stages = {all, count};
    struct hop_stages_choice made;
    bool forced = space->forced != SIZE_MAX;
    *choice = (shmemx_choice_t){0};
    for (uint32_t i = 0; i < count; i++)
        all[i] = space->profile->stages[steps[i]];
    if (!forced)
        HOP_SHMEM_NEED("choosing packets", hop_stages_choose(&stages, bytes, &options, &made, &diag_));
    size_t packet = forced ? space->forced : made.best.packet_bytes;
    choice->overlaps = forced ? packet != 0 && packet < bytes : made.best.overlap != 0;
    if (packet == 0 || packet > most) /* whole, as far as there is room for it */
        packet = !choice->overlaps && bytes <= HOP_SHMEM_SLOTS * most ? 0 : most;
    choice->packet_bytes = packet < bytes ? packet : 0;
    choice->predicted_s =
        forced ? hop_stages_time_s(&stages, choice->overlaps ? overlaps[count - 1][1] : 0, bytes, choice->packet_bytes)
               : made.best.time_s;
    (void)snprintf(choice->reason, sizeof choice->reason, "%s", forced ? "shmemx_set_packet says so" : made.reason);
}
