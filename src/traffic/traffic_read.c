/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading traffic: which form a text has, told by how it begins.
 *
 *     %%MatrixMarket ...                  Matrix Market
 *     names of columns                    a profile
 *     {"hopcast_traffic":                 what libhopcast_mpi wrote
 *     numbers, or names above numbers     a byte matrix
 */
#include "traffic/traffic.h"

#include <strings.h>

enum form { NOTHING, PROFILE, MATRIX, MARKET, JSON };

/* Whether a banner begins there, however well it goes on. */
static bool is_market(const struct hop_source *source)
{
    static const char banner[] = "MatrixMarket";
    size_t marks = 0;
    while (marks < source->size && source->text[marks] == '%')
        marks++;
    return marks > 0 && source->size - marks >= sizeof banner - 1 &&
           strncasecmp(source->text + marks, banner, sizeof banner - 1) == 0;
}

/* By the first two lines that are neither empty nor comments; *lacking: memory is. */
static enum form detect(const struct hop_source *source, bool *lacking)
{
    struct hop_failure failure = {0};
    struct hop_cells first, second;
    enum form form = NOTHING;
    *lacking = false;
    if (is_market(source))
        return MARKET;
    if (hop_traffic_json_detect(source))
        return JSON;
    hop_cells_begin(&first, source, &failure);
    hop_cells_begin(&second, source, &failure);
    bool one = hop_cells_next(&first), two = hop_cells_next(&second) && hop_cells_next(&second);
    if (failure.status == HOP_ERR_LIMIT) /* a line too long for any other form: its reader says so */
        form = MATRIX;
    else if (failure.status == HOP_OK && one && hop_profile_detect(&first))
        form = PROFILE;
    else if (failure.status == HOP_OK && one && hop_matrix_detect(&first, two ? &second : NULL))
        form = MATRIX;
    hop_cells_finish(&first);
    hop_cells_finish(&second);
    *lacking = failure.status == HOP_ERR_MEMORY;
    return *lacking ? NOTHING : form;
}

bool hop_traffic_detect(const char *text, size_t size)
{
    static const char mark[3] = "\xef\xbb\xbf";
    size_t skipped = size >= sizeof mark && memcmp(text, mark, sizeof mark) == 0 ? sizeof mark : 0;
    struct hop_source source = {"", (char *)text + skipped, size - skipped}; /* it is only read */
    bool lacking;
    return detect(&source, &lacking) != NOTHING || lacking;
}

/* Takes the source. */
static enum hop_status read_source(struct hop_source *source, enum hop_memory memory, struct hop_traffic **traffic,
                                   struct hop_diag *diag)
{
    struct hop_traffic *made = NULL;
    struct hop_failure failure = {diag, hop_traffic_create(1, &made, diag)};
    bool lacking = false;
    enum form form = failure.status == HOP_OK ? detect(source, &lacking) : NOTHING;
    (void)hop_failure_none(&failure, !lacking);
    if (form == PROFILE)
        hop_traffic_read_profile(source, made, &failure);
    else if (form == MATRIX)
        hop_traffic_read_matrix(source, memory, made, &failure);
    else if (form == MARKET)
        hop_traffic_read_market(source, memory, made, &failure);
    else if (form == JSON)
        hop_traffic_read_json(source, made, &failure);
    else
        hop_failure_set(&failure, HOP_ERR_SYNTAX,
                        "this is no traffic\n"
                        "a profile (a line 'from,to,host_bytes,device_bytes', then a row for each pair), a matrix of "
                        "bytes, a Matrix Market file, or what libhopcast_mpi wrote");
    hop_failure_place(&failure, "%.180s:1:1", source->name);
    hop_source_finish(source);
    if (failure.status == HOP_OK)
        *traffic = made;
    else
        hop_traffic_destroy(made);
    return failure.status;
}

enum hop_status hop_traffic_load(const char *path, enum hop_memory memory, struct hop_traffic **traffic,
                                 struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_traffic_check_memory(memory, diag);
    if (status == HOP_OK)
        status = hop_source_load(path, &source, diag);
    return status == HOP_OK ? read_source(&source, memory, traffic, diag) : status;
}

enum hop_status hop_traffic_parse(const char *name, const char *text, size_t size, enum hop_memory memory,
                                  struct hop_traffic **traffic, struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_traffic_check_memory(memory, diag);
    if (status == HOP_OK)
        status = hop_source_copy(name, text, size, &source, diag);
    return status == HOP_OK ? read_source(&source, memory, traffic, diag) : status;
}
