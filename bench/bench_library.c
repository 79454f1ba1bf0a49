/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What users wait for: reading a large topology, and predicting many transfers through the command.
 *
 * Prints one line a figure, with its target and whether it held. A missed target is no failure: the machine may be slow
 * or busy. A command that fails is.
 */
#include "hopcast/hopcast.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { IMPORTS = 101, TRANSFERS = 100000, RUNS = 5 };

static void heading(void)
{
    printf("%-64s %12s %12s\n", "figure", "measured", "target");
}

static void line(const char *what, double value, double target, const char *unit)
{
    printf("%-64s %9.2f %-2s %9g %-2s  %s\n", what, value, unit, target, unit, value <= target ? "held" : "missed");
    fflush(stdout);
}

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_library: %s\n", what);
    exit(2);
}

/* ---- importing ---- */

/* The largest file of a folder that reads as a topology; false when there is none. */
static bool largest_topology(const char *folder, char *largest, size_t size, long *bytes)
{
    DIR *directory = opendir(folder);
    *bytes = -1;
    if (!directory)
        return false;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char path[4096];
        struct stat status;
        struct hop_topology *topology;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= *bytes ||
            hop_topology_load(path, &topology, NULL) != HOP_OK)
            continue;
        hop_topology_destroy(topology);
        *bytes = (long)status.st_size;
        (void)snprintf(largest, size, "%s", path);
    }
    closedir(directory);
    return *bytes >= 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void bench_import(void)
{
    static const char *const folders[] = {BENCH_SOURCE_DIR "/../shared/topologies", BENCH_SOURCE_DIR "/data"};
    char path[4096], what[128];
    double times[IMPORTS];
    long bytes;
    if (!largest_topology(folders[0], path, sizeof path, &bytes) &&
        !largest_topology(folders[1], path, sizeof path, &bytes)) {
        printf("%-64s skipped: no topology lies in ../shared/topologies or bench/data\n",
               "importing the largest sample topology");
        return;
    }
    for (int i = 0; i < IMPORTS; i++) {
        struct hop_topology *topology;
        double start = now_s();
        if (hop_topology_load(path, &topology, NULL) != HOP_OK)
            die("a topology that was read before cannot be read again");
        times[i] = now_s() - start;
        hop_topology_destroy(topology);
    }
    qsort(times, IMPORTS, sizeof times[0], by_value);
    (void)snprintf(what, sizeof what, "import %.40s (%ld kB), median of %d", strrchr(path, '/') + 1, bytes / 1000,
                   IMPORTS);
    line(what, 1e3 * times[IMPORTS / 2], 5, "ms");
}

/* ---- predicting ---- */

/* Independent transfers between random GPUs of the CS-Storm, 1 to 64 MiB. */
static void write_transfers(const char *path)
{
    FILE *file = fopen(path, "w");
    uint64_t random = 88172645463325252u; /* xorshift64 */
    if (!file)
        die("cannot write a temporary file");
    for (int i = 0; i < TRANSFERS; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        unsigned from = (unsigned)(random >> 8) % 16, to = (from + 1 + (unsigned)(random >> 16) % 15) % 16;
        fprintf(file, "t%d: gpu%u -> gpu%u %u\n", i, from, to, (1u << 20) + (unsigned)(random >> 32) % (63u << 20));
    }
    if (fclose(file) != 0)
        die("cannot write a temporary file");
}

/* Runs the command with its output thrown away. */
static void run_command(char *const *arguments, double *wall_s, double *peak_bytes)
{
    struct rusage usage;
    int status;
    double start = now_s();
    pid_t child = fork();
    if (child < 0)
        die("cannot fork");
    if (child == 0) {
        int nothing = open("/dev/null", O_WRONLY);
        if (nothing >= 0)
            dup2(nothing, STDOUT_FILENO);
        execv(arguments[0], arguments);
        _exit(127);
    }
    if (wait4(child, &status, 0, &usage) != child || status != 0)
        die("hopcast predict failed");
    *wall_s = now_s() - start;
    *peak_bytes = 1024.0 * (double)usage.ru_maxrss;
}

static void bench_predict(void)
{
    char path[] = "/tmp/hopcast-bench-XXXXXX";
    int file = mkstemp(path);
    if (file < 0)
        die("cannot create a temporary file");
    close(file);
    write_transfers(path);
    char *arguments[] = {BENCH_COMMAND, "predict", path, "--on", "cs-storm", NULL};
    char what[128];
    double wall_s = 0, peak_bytes = 0;
    for (int i = 0; i < RUNS; i++) { /* the best: other load only ever adds */
        double once_s, once_bytes;
        run_command(arguments, &once_s, &once_bytes);
        wall_s = i == 0 || once_s < wall_s ? once_s : wall_s;
        peak_bytes = once_bytes > peak_bytes ? once_bytes : peak_bytes;
    }
    (void)snprintf(what, sizeof what, "predict %d transfers on cs-storm: wall time, best of %d", TRANSFERS, RUNS);
    line(what, wall_s, 2, "s");
    (void)snprintf(what, sizeof what, "predict %d transfers on cs-storm: peak memory, worst of %d", TRANSFERS, RUNS);
    line(what, 1e-6 * peak_bytes, 200, "MB");
    (void)remove(path);
}

int main(void)
{
    heading();
    bench_import();
    bench_predict();
    printf("\n");
    return EXIT_SUCCESS;
}
