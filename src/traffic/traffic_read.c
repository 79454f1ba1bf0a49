/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading traffic: which form a text has, told by how it begins.
 *
 *     %%MatrixMarket ...                  Matrix Market
 *     names of columns                    a profile
 *     numbers, or names above numbers     a byte matrix
 */
#include "traffic/traffic.h"

#include <strings.h>

enum form { NOTHING, PROFILE, MATRIX, MARKET };

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

/* By the first two lines that are neither empty nor comments. */
static enum form detect(const struct hop_source *source)
{
    struct hop_cells first, second;
    bool one = false, two = false;
    enum form form = NOTHING;
    if (is_market(source))
        return MARKET;
    hop_cells_begin(&first, source, NULL);
    hop_cells_begin(&second, source, NULL);
    enum hop_status status = hop_cells_next(&first, &one);
    for (unsigned line = 0; line < 2 && status == HOP_OK; line++)
        status = hop_cells_next(&second, &two);
    if (status == HOP_ERR_LIMIT) /* a line too long for any other form: its reader says so */
        form = MATRIX;
    else if (status == HOP_OK && one && hop_profile_detect(&first))
        form = PROFILE;
    else if (status == HOP_OK && one && hop_matrix_detect(&first, two ? &second : NULL))
        form = MATRIX;
    hop_cells_finish(&first);
    hop_cells_finish(&second);
    return form;
}

bool hop_traffic_detect(const char *text, size_t size)
{
    static const char mark[3] = "\xef\xbb\xbf";
    size_t skipped = size >= sizeof mark && memcmp(text, mark, sizeof mark) == 0 ? sizeof mark : 0;
    struct hop_source source = {"", (char *)text + skipped, size - skipped}; /* it is only read */
    return detect(&source) != NOTHING;
}

static enum hop_status read_form(const struct hop_source *source, enum hop_memory memory, struct hop_traffic *traffic,
                                 struct hop_diag *diag)
{
    switch (detect(source)) {
    case PROFILE:
        return hop_traffic_read_profile(source, traffic, diag);
    case MATRIX:
        return hop_traffic_read_matrix(source, memory, traffic, diag);
    case MARKET:
        return hop_traffic_read_market(source, memory, traffic, diag);
    case NOTHING:
        break;
    }
    hop_fail(diag, HOP_ERR_SYNTAX,
             "this is no traffic\na profile (a line 'from,to,host_bytes,device_bytes', then a row for each pair), a "
             "matrix of bytes, or a Matrix Market file");
    hop_diag_place(diag, "%.180s:1:1", source->name);
    return HOP_ERR_SYNTAX;
}

/* Takes the source. */
static enum hop_status read_source(struct hop_source *source, enum hop_memory memory, struct hop_traffic **traffic,
                                   struct hop_diag *diag)
{
    struct hop_traffic *made = NULL;
    enum hop_status status = hop_traffic_create(1, &made, diag);
    if (status == HOP_OK)
        status = read_form(source, memory, made, diag);
    hop_source_finish(source);
    if (status == HOP_OK)
        *traffic = made;
    else
        hop_traffic_destroy(made);
    return status;
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
