/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The traffic file. What each rank sends to rank 0, one after the other:
 *
 *     who it is, sizes, and how many of | rows, one a pair and class | places that it called from
 */
#include "mpi/traffic_file.h"

#include "base/json_write.h"
#include "base/replace.h"
#include "mpi/say.h"
#include "mpi/summary.h"
#include "mpi/ticks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static const char *const class_names[CLASS_COUNT] = {"point_to_point", "collective", "neighbourhood", "one_sided",
                                                     "one_sided"};

struct rank_part {
    char host[64];
    double seconds;
    uint64_t elsewhere_bytes; /* to and from other jobs */
    uint64_t row_count;
    uint32_t site_count;
    uint64_t sizes[CLASS_COUNT][SIZE_BINS];
};

struct rank_row {
    int32_t from, to;
    uint32_t class;
    struct hop_mpi_cell cell;
};

/* What one rank has. */
struct rank_counts {
    struct rank_part *part;
    struct rank_row *rows;
    struct hop_mpi_sites sites;
};

struct file {
    const struct hop_mpi_run *run;
    struct hop_buffer pairs, processes;
    struct hop_mpi_sum calls[HOP_MPI_CALL_COUNT];
    struct hop_mpi_sites sites;
    uint64_t sizes[CLASS_COUNT][SIZE_BINS];
    uint64_t elsewhere_bytes, bytes, messages;
    struct hop_mpi_rank_time least, most; /* in MPI */
};

/* ---- a rank's part ---- */

static bool is_used(const struct hop_mpi_cell *cell)
{
    return cell->messages[MEMORY_HOST] + cell->messages[MEMORY_DEVICE] + cell->to_device_messages > 0;
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

/* false: no memory. */
static bool count_own(const struct hop_mpi_run *run, struct rank_counts *own)
{
    uint64_t most = list_rows(run, NULL, 0);
    struct rank_part *part = own->part = calloc(1, sizeof *part);
    own->rows = calloc(most + 1, sizeof *own->rows);
    hop_sites_own(&own->sites, hop_ticks_rate());
    if (!part || !own->rows)
        return false;
    part->seconds = run->seconds;
    part->elsewhere_bytes = elsewhere();
    (void)gethostname(part->host, sizeof part->host - 1);
    hop_counts_sizes(part->sizes);
    uint64_t count = list_rows(run, own->rows, most); /* other threads may still add */
    part->row_count = count < most ? count : most;
    part->site_count = own->sites.count;
    return true;
}

static void drop(struct rank_counts *counts)
{
    free(counts->part);
    free(counts->rows);
    free(counts->sites.items);
}

/* ---- the file ---- */

/* What a rank sent, or fetched; and what it received into a device's memory, of which the sender does not know. */
static void put_row(struct file *file, const struct rank_row *row)
{
    const struct hop_mpi_cell *cell = &row->cell;
    const uint64_t *bytes = cell->bytes, *messages = cell->messages;
    bool fetched = row->class == CLASS_FETCHED && messages[MEMORY_DEVICE];
    if (messages[MEMORY_HOST] + messages[MEMORY_DEVICE])
        hop_json_put(&file->pairs,
                     "\n    {from:%d,to:%d,class:%s,host_bytes:%llu,device_bytes:%llu,host_messages:%llu,"
                     "device_messages:%llu",
                     row->from, row->to, class_names[row->class], (unsigned long long)bytes[MEMORY_HOST],
                     (unsigned long long)bytes[MEMORY_DEVICE], (unsigned long long)messages[MEMORY_HOST],
                     (unsigned long long)messages[MEMORY_DEVICE]);
    if (messages[MEMORY_HOST] + messages[MEMORY_DEVICE] && !fetched)
        hop_json_put(&file->pairs, "}");
    bool put = row->class == CLASS_ONE_SIDED;
    if (cell->to_device_messages)
        hop_json_put(&file->pairs, "\n    {from:%d,to:%d,class:%s", put ? row->from : row->to,
                     put ? row->to : row->from, class_names[row->class]);
    if (cell->to_device_messages || fetched)
        hop_json_put(&file->pairs, "to_device_bytes:%llu,to_device_messages:%llu}",
                     (unsigned long long)(fetched ? bytes[MEMORY_DEVICE] : cell->to_device_bytes),
                     (unsigned long long)(fetched ? messages[MEMORY_DEVICE] : cell->to_device_messages));
    file->bytes += bytes[MEMORY_HOST] + bytes[MEMORY_DEVICE];
    file->messages += messages[MEMORY_HOST] + messages[MEMORY_DEVICE];
}

/* Its functions, of the places that it called them from. */
static double put_sums(struct file *file, const struct hop_mpi_sites *sites)
{
    struct hop_mpi_sum sums[HOP_MPI_CALL_COUNT] = {0};
    double seconds = 0;
    for (uint32_t i = 0; i < sites->count; i++) {
        struct hop_mpi_sum *sum = &sums[sites->items[i].call];
        hop_sum_add(sum, &sites->items[i].sum);
        seconds += sites->items[i].sum.seconds;
        sum->ranks = 1;
        sum->least_s = sum->most_s = sum->seconds;
    }
    for (unsigned c = 0; c < HOP_MPI_CALL_COUNT; c++) {
        if (sums[c].calls)
            hop_sum_add(&file->calls[c], &sums[c]);
    }
    return seconds;
}

static void put_rank(struct file *file, int rank, const struct rank_counts *counts)
{
    const struct rank_part *part = counts->part;
    double seconds = put_sums(file, &counts->sites);
    for (unsigned c = 0; c < CLASS_COUNT; c++) {
        for (unsigned b = 0; b < SIZE_BINS; b++)
            file->sizes[c][b] += part->sizes[c][b];
    }
    if (!file->processes.length || seconds < file->least.seconds)
        file->least = (struct hop_mpi_rank_time){rank, seconds};
    if (!file->processes.length || seconds > file->most.seconds)
        file->most = (struct hop_mpi_rank_time){rank, seconds};
    file->elsewhere_bytes += part->elsewhere_bytes;
    for (uint64_t i = 0; i < part->row_count; i++)
        put_row(file, &counts->rows[i]);
    hop_sites_add(&file->sites, counts->sites.items, counts->sites.count);
    hop_json_put(&file->processes, "\n    {rank:%d,host:%s,seconds:%g,mpi_seconds:%g}", rank, part->host, part->seconds,
                 seconds);
}

/* Behind the name, and where there is one the place. */
static void put_sum(struct hop_buffer *out, const struct hop_mpi_sum *sum)
{
    hop_json_put(out, "calls:%llu,bytes:%llu,seconds:%g,ranks:%u,least_seconds:%g,most_seconds:%g}",
                 (unsigned long long)sum->calls, (unsigned long long)sum->bytes, sum->seconds, sum->ranks, sum->least_s,
                 sum->most_s);
}

static void put_calls(struct hop_buffer *out, const struct file *file)
{
    for (unsigned c = 0; c < HOP_MPI_CALL_COUNT; c++) {
        if (file->calls[c].calls) {
            hop_json_put(out, "\n    {name:%s", hop_mpi_rows[c].name);
            put_sum(out, &file->calls[c]);
        }
    }
}

static void put_sites(struct hop_buffer *out, const struct hop_mpi_sites *sites)
{
    for (uint32_t i = 0; i < sites->count; i++) {
        const struct hop_mpi_place *place = &sites->items[i].place;
        hop_json_put(out, "\n    {name:%s,module:%s,offset:%llu", hop_mpi_rows[sites->items[i].call].name,
                     place->module, (unsigned long long)place->offset);
        if (place->function[0])
            hop_json_put(out, "function:%s", place->function);
        put_sum(out, &sites->items[i].sum);
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
    hop_json_put(out, "],\n  sites:[");
    put_sites(out, &file->sites);
    hop_json_put(out, "],\n  sizes:[");
    put_sizes(out, file);
    hop_json_put(out, "],\n  processes:[");
    hop_buffer_add(out, file->processes.text, file->processes.length);
    hop_buffer_puts(out, "]");
    if (file->run->more)
        hop_buffer_puts(out, file->run->more);
    hop_buffer_puts(out, "\n}\n");
    out->failed = out->failed || file->pairs.failed || file->processes.failed || file->sites.failed;
}

static void write_file(struct file *file, const char *path)
{
    struct hop_buffer out = {0};
    hop_sites_finish(&file->sites);
    compose(&out, file);
    if (out.failed || !hop_replace_file(path, out.text))
        hop_mpi_tell("no traffic file %s: %s", path, out.failed ? "out of memory" : strerror(errno));
    hop_buffer_finish(&out);
}

/* A job that another one started has a name of its own. */
static const char *file_name(const struct hop_mpi_run *run)
{
    static char path[3900];
    const char *own = getenv("HOPCAST_MPI_TRAFFIC"), *name = own && own[0] ? own : "hopcast-traffic.json";
    if (!run->mpi->is_spawned())
        return name;
    (void)snprintf(path, sizeof path, "%s.job%ld", name, (long)getpid());
    return path;
}

static void say_summary(const struct file *file)
{
    struct hop_mpi_summary summary = {.library = file->run->library,
                                      .file = file_name(file->run),
                                      .ranks = file->run->ranks,
                                      .seconds = file->run->seconds,
                                      .messages = file->messages,
                                      .bytes = file->bytes,
                                      .calls = file->calls,
                                      .sites = &file->sites,
                                      .least = file->least,
                                      .most = file->most,
                                      .more = file->run->summary};
    hop_summary_say(&summary);
}

/* ---- all ranks, or one ---- */

static void finish(struct file *file)
{
    hop_buffer_finish(&file->pairs);
    hop_buffer_finish(&file->processes);
    free(file->sites.items);
    free(file);
}

static bool send_own(const struct hop_mpi_shim *mpi, const struct rank_counts *own)
{
    return mpi->send(own->part, sizeof *own->part) == 0 &&
           mpi->send(own->rows, own->part->row_count * sizeof *own->rows) == 0 &&
           mpi->send(own->sites.items, own->part->site_count * sizeof *own->sites.items) == 0;
}

static bool receive_rank(struct file *file, int rank)
{
    const struct hop_mpi_shim *mpi = file->run->mpi;
    struct rank_counts its = {.part = calloc(1, sizeof *its.part)};
    bool fine = its.part && mpi->receive(rank, its.part, sizeof *its.part) == 0 &&
                (its.rows = calloc(its.part->row_count + 1, sizeof *its.rows)) &&
                (its.sites.items = calloc((size_t)its.part->site_count + 1, sizeof *its.sites.items)) &&
                mpi->receive(rank, its.rows, its.part->row_count * sizeof *its.rows) == 0 &&
                mpi->receive(rank, its.sites.items, its.part->site_count * sizeof *its.sites.items) == 0;
    if (fine) {
        its.sites.count = its.part->site_count;
        put_rank(file, rank, &its);
    }
    drop(&its);
    return fine;
}

void hop_traffic_file_of_all(const struct hop_mpi_run *run)
{
    struct rank_counts own = {0};
    struct file *file = calloc(1, sizeof *file);
    bool fine = count_own(run, &own) && file;
    if (fine && run->rank > 0) {
        fine = send_own(run->mpi, &own);
    } else if (fine) {
        file->run = run;
        put_rank(file, 0, &own);
        for (int r = 1; r < run->ranks && fine; r++)
            fine = receive_rank(file, r);
        write_file(file, file_name(run));
        say_summary(file);
    }
    if (!fine)
        hop_mpi_tell("rank %d's traffic is lost: no memory or no connection", run->rank);
    drop(&own);
    if (file)
        finish(file);
}

void hop_traffic_file_of_one(const struct hop_mpi_run *run)
{
    char path[4096];
    struct rank_counts own = {0};
    struct file *file = calloc(1, sizeof *file);
    (void)snprintf(path, sizeof path, "%s.rank%d", file_name(run), run->rank);
    if (count_own(run, &own) && file) {
        file->run = run;
        put_rank(file, run->rank, &own);
        write_file(file, path);
        hop_mpi_tell("rank %d ended by %s: what it had counted is in %s", run->rank, run->ended, path);
    }
    drop(&own);
    if (file)
        finish(file);
}
