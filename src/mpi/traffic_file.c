/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The traffic file. What each rank sends to rank 0, one after the other:
 *
 *     who it is and how many rows | calls | sizes | rows, one a pair and class
 */
#include "mpi/traffic_file.h"

#include "base/json_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static const char *const class_names[CLASS_COUNT] = {"point_to_point", "collective", "neighbourhood", "one_sided",
                                                     "one_sided"};
#define ROW_NAME(arity, name, kind, roles) #name,
static const char *const call_names[] = {HOP_MPI_CALLS(ROW_NAME)};

struct rank_part {
    char host[64];
    double seconds;
    uint64_t elsewhere_bytes; /* to and from other jobs */
    uint64_t row_count;
    struct hop_mpi_call_sum calls[HOP_MPI_CALL_COUNT];
    uint64_t sizes[CLASS_COUNT][SIZE_BINS];
};

struct rank_row {
    int32_t from, to;
    uint32_t class;
    struct hop_mpi_cell cell;
};

struct file {
    const struct hop_mpi_run *run;
    struct hop_buffer pairs, processes;
    struct hop_mpi_call_sum calls[HOP_MPI_CALL_COUNT];
    uint64_t sizes[CLASS_COUNT][SIZE_BINS];
    uint64_t elsewhere_bytes, bytes, messages;
};

/* ---- a rank's part ---- */

static bool is_used(const struct hop_mpi_cell *cell)
{
    return cell->messages[MEMORY_HOST] + cell->messages[MEMORY_DEVICE] > 0;
}

static uint64_t elsewhere(void)
{
    const struct hop_mpi_cell *cells = hop_counts_peer(-1);
    uint64_t bytes = 0;
    for (unsigned c = 0; cells && c < CLASS_COUNT; c++)
        bytes += cells[c].bytes[MEMORY_HOST] + cells[c].bytes[MEMORY_DEVICE];
    return bytes;
}

/* Rows, of which there is room for `most`; how many there are. */
static uint64_t list_rows(const struct hop_mpi_run *run, struct rank_row *rows, uint64_t most)
{
    uint64_t count = 0;
    for (int peer = 0; peer < run->ranks; peer++) {
        const struct hop_mpi_cell *cells = hop_counts_peer(peer);
        for (unsigned c = 0; cells && c < CLASS_COUNT; c++) {
            bool away = c != CLASS_FETCHED;
            if (is_used(&cells[c]) && count < most)
                rows[count] = (struct rank_row){away ? run->rank : peer, away ? peer : run->rank, c, cells[c]};
            count += is_used(&cells[c]);
        }
    }
    return count;
}

/* The rows are the caller's. NULL and no rows: no memory. */
static struct rank_part *own_part(const struct hop_mpi_run *run, struct rank_row **rows)
{
    struct rank_part *part = calloc(1, sizeof *part);
    uint64_t most = list_rows(run, NULL, 0);
    *rows = calloc(most + 1, sizeof **rows);
    if (!part)
        return NULL;
    part->seconds = run->seconds;
    part->elsewhere_bytes = elsewhere();
    (void)gethostname(part->host, sizeof part->host - 1);
    memcpy(part->calls, hop_counts_calls(), sizeof part->calls);
    memcpy(part->sizes, hop_counts_sizes(), sizeof part->sizes);
    if (*rows) {
        uint64_t count = list_rows(run, *rows, most); /* other threads may still add */
        part->row_count = count < most ? count : most;
    }
    return part;
}

/* ---- the file ---- */

static void put_rows(struct file *file, const struct rank_row *rows, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t *bytes = rows[i].cell.bytes, *messages = rows[i].cell.messages;
        hop_json_put(&file->pairs,
                     "\n    {from:%d,to:%d,class:%s,host_bytes:%llu,device_bytes:%llu,host_messages:%llu,"
                     "device_messages:%llu}",
                     rows[i].from, rows[i].to, class_names[rows[i].class], (unsigned long long)bytes[MEMORY_HOST],
                     (unsigned long long)bytes[MEMORY_DEVICE], (unsigned long long)messages[MEMORY_HOST],
                     (unsigned long long)messages[MEMORY_DEVICE]);
        file->bytes += bytes[MEMORY_HOST] + bytes[MEMORY_DEVICE];
        file->messages += messages[MEMORY_HOST] + messages[MEMORY_DEVICE];
    }
}

static void put_rank(struct file *file, int rank, const struct rank_part *part)
{
    uint64_t time_ns = 0;
    for (unsigned c = 0; c < HOP_MPI_CALL_COUNT; c++) {
        file->calls[c].calls += part->calls[c].calls;
        file->calls[c].bytes += part->calls[c].bytes;
        file->calls[c].time_ns += part->calls[c].time_ns;
        time_ns += part->calls[c].time_ns;
    }
    for (unsigned c = 0; c < CLASS_COUNT; c++) {
        for (unsigned b = 0; b < SIZE_BINS; b++)
            file->sizes[c][b] += part->sizes[c][b];
    }
    file->elsewhere_bytes += part->elsewhere_bytes;
    hop_json_put(&file->processes, "\n    {rank:%d,host:%s,seconds:%g,mpi_seconds:%g}", rank, part->host, part->seconds,
                 (double)time_ns * 1e-9);
}

static void put_calls(struct hop_buffer *out, const struct file *file)
{
    for (unsigned c = 0; c < HOP_MPI_CALL_COUNT; c++) {
        if (file->calls[c].calls)
            hop_json_put(out, "\n    {name:%s,calls:%llu,bytes:%llu,seconds:%g}", call_names[c],
                         (unsigned long long)file->calls[c].calls, (unsigned long long)file->calls[c].bytes,
                         (double)file->calls[c].time_ns * 1e-9);
    }
}

/* One-sided ones of both directions together. */
static uint64_t of_size(const struct file *file, unsigned class, unsigned bin)
{
    return file->sizes[class][bin] + (class == CLASS_ONE_SIDED ? file->sizes[CLASS_FETCHED][bin] : 0);
}

static void put_sizes(struct hop_buffer *out, const struct file *file)
{
    for (unsigned c = 0; c < CLASS_FETCHED; c++) {
        for (unsigned b = 0; b < SIZE_BINS; b++) {
            if (of_size(file, c, b))
                hop_json_put(out, "\n    {class:%s,from_bytes:%llu,messages:%llu}", class_names[c],
                             b ? 1ull << (b - 1) : 0ull, (unsigned long long)of_size(file, c, b));
        }
    }
}

static void compose(struct hop_buffer *out, struct file *file)
{
    hop_json_put(out,
                 "{\n  hopcast_traffic:1,\n  ranks:%d,\n  ended:%s,\n  mpi:%s,\n  seconds:%g,\n  elsewhere_bytes:%llu",
                 file->run->ranks, file->run->ended ? file->run->ended : "MPI_Finalize", file->run->library,
                 file->run->seconds, (unsigned long long)file->elsewhere_bytes);
    hop_json_put(out, ",\n  pairs:[");
    hop_buffer_add(out, file->pairs.text, file->pairs.length);
    hop_json_put(out, "],\n  calls:[");
    put_calls(out, file);
    hop_json_put(out, "],\n  sizes:[");
    put_sizes(out, file);
    hop_json_put(out, "],\n  processes:[");
    hop_buffer_add(out, file->processes.text, file->processes.length);
    hop_json_put(out, "]\n}\n");
    out->failed = out->failed || file->pairs.failed || file->processes.failed;
}

/* Under another name first, so that there is never half a file. */
static void write_file(struct file *file, const char *path)
{
    char other[4096];
    struct hop_buffer out = {0};
    compose(&out, file);
    (void)snprintf(other, sizeof other, "%s.%ld", path, (long)getpid());
    FILE *stream = out.failed ? NULL : fopen(other, "w");
    bool fine = stream && fwrite(out.text, 1, out.length, stream) == out.length;
    fine = stream && fclose(stream) == 0 && fine && rename(other, path) == 0;
    if (!fine)
        (void)fprintf(stderr, "libhopcast_mpi.so: no traffic file %s: %s\n", path,
                      out.failed ? "out of memory" : strerror(errno));
    if (stream && !fine)
        (void)unlink(other);
    hop_buffer_finish(&out);
}

static const char *file_name(void)
{
    const char *name = getenv("HOPCAST_MPI_TRAFFIC");
    return name && name[0] ? name : "hopcast-traffic.json";
}

/* ---- a summary ---- */

static void say_calls(const struct file *file, double all_s, double mpi_s)
{
    bool said[HOP_MPI_CALL_COUNT] = {0};
    (void)fprintf(stderr, "  %-28s %12s %12s %7s %7s %12s\n", "call", "calls", "seconds", "app %", "MPI %",
                  "bytes a call");
    for (unsigned i = 0; i < 20; i++) {
        unsigned most = HOP_MPI_CALL_COUNT;
        for (unsigned c = 0; c < HOP_MPI_CALL_COUNT; c++) {
            if (!said[c] && file->calls[c].calls &&
                (most == HOP_MPI_CALL_COUNT || file->calls[c].time_ns > file->calls[most].time_ns))
                most = c;
        }
        if (most == HOP_MPI_CALL_COUNT)
            return;
        const struct hop_mpi_call_sum *sum = &file->calls[most];
        double seconds = (double)sum->time_ns * 1e-9;
        said[most] = true;
        (void)fprintf(stderr, "  %-28s %12" PRIu64 " %12.6f %7.2f %7.2f %12.1f\n", call_names[most], sum->calls,
                      seconds, all_s > 0 ? 100 * seconds / all_s : 0, mpi_s > 0 ? 100 * seconds / mpi_s : 0,
                      (double)sum->bytes / (double)sum->calls);
    }
}

static void say_summary(const struct file *file)
{
    const char *verbose = getenv("HOPCAST_VERBOSE");
    double mpi_s = 0, all_s = file->run->seconds * file->run->ranks;
    if (!verbose || !verbose[0] || strcmp(verbose, "0") == 0)
        return;
    for (unsigned c = 0; c < HOP_MPI_CALL_COUNT; c++)
        mpi_s += (double)file->calls[c].time_ns * 1e-9;
    (void)fprintf(stderr,
                  "libhopcast_mpi.so: %d ranks on %s for %.3f s, %.1f %% of it in MPI; %" PRIu64 " messages of %" PRIu64
                  " bytes in all; in %s\n",
                  file->run->ranks, file->run->library, file->run->seconds, all_s > 0 ? 100 * mpi_s / all_s : 0,
                  file->messages, file->bytes, file_name());
    say_calls(file, all_s, mpi_s);
}

/* ---- all ranks, or one ---- */

static void finish(struct file *file)
{
    hop_buffer_finish(&file->pairs);
    hop_buffer_finish(&file->processes);
    free(file);
}

static bool receive_rank(struct file *file, int rank)
{
    struct rank_part *part = calloc(1, sizeof *part);
    struct rank_row *rows = NULL;
    bool fine = part && file->run->mpi->receive(rank, part, sizeof *part) == 0 &&
                (rows = calloc(part->row_count + 1, sizeof *rows)) &&
                file->run->mpi->receive(rank, rows, part->row_count * sizeof *rows) == 0;
    if (fine) {
        put_rows(file, rows, part->row_count);
        put_rank(file, rank, part);
    }
    free(rows);
    free(part);
    return fine;
}

void hop_traffic_file_of_all(const struct hop_mpi_run *run)
{
    struct rank_row *rows = NULL;
    struct rank_part *part = own_part(run, &rows);
    struct file *file = calloc(1, sizeof *file);
    bool fine = part && file;
    if (fine && run->rank > 0) {
        fine = run->mpi->send(part, sizeof *part) == 0 && run->mpi->send(rows, part->row_count * sizeof *rows) == 0;
    } else if (fine) {
        file->run = run;
        put_rows(file, rows, part->row_count);
        put_rank(file, 0, part);
        for (int r = 1; r < run->ranks && fine; r++)
            fine = receive_rank(file, r);
        write_file(file, file_name());
        say_summary(file);
    }
    if (!fine)
        (void)fprintf(stderr, "libhopcast_mpi.so: rank %d's traffic is lost: no memory or no connection\n", run->rank);
    free(part);
    free(rows);
    if (file)
        finish(file);
}

void hop_traffic_file_of_one(const struct hop_mpi_run *run)
{
    char path[4096];
    struct rank_row *rows = NULL;
    struct rank_part *part = own_part(run, &rows);
    struct file *file = calloc(1, sizeof *file);
    (void)snprintf(path, sizeof path, "%s.rank%d", file_name(), run->rank);
    if (part && file) {
        file->run = run;
        put_rows(file, rows, part->row_count);
        put_rank(file, run->rank, part);
        write_file(file, path);
        (void)fprintf(stderr, "libhopcast_mpi.so: rank %d ended by %s: what it had counted is in %s\n", run->rank,
                      run->ended, path);
    }
    free(part);
    free(rows);
    if (file)
        finish(file);
}
