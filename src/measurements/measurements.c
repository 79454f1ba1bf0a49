/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurements from files: which reader knows a file, and rows gathered into groups. */
#include "measurements/measurements.h"

#include "base/json.h"

#include <stdio.h>

enum { TEXT_MAX = 4096 };

static const struct hop_measurements_reader *const readers[] = {
    &hop_reader_p2p,
    &hop_reader_nvbandwidth,
    &hop_reader_nccl_tests,
    &hop_reader_osu,
};

static enum hop_status read_any(const struct hop_source *source, struct hop_measurements *made, struct hop_diag *diag)
{
    for (size_t i = 0; i < HOP_COUNT(readers) && !hop_measurements_is_csv(source); i++) {
        if (readers[i]->detect(source))
            return readers[i]->read(source, made, diag);
    }
    return hop_json_detect(source) ? hop_measurements_read_prediction(source, made, diag)
                                   : hop_measurements_read_csv(source, made, diag);
}

/* ---- rows to groups ---- */

static enum hop_status gather(struct hop_measurements *m, struct hop_diag *diag)
{
    if (m->count == 0) {
        hop_fail(diag, HOP_ERR_INVALID, "there is no measurement");
        hop_diag_place(diag, "%s", m->name);
        hop_diag_expect(diag, "at least one transfer");
        return HOP_ERR_INVALID;
    }
    m->rows = malloc(((size_t)m->count + 1) * sizeof *m->rows);
    if (!m->rows)
        return hop_fail_memory(diag);
    uint32_t first = 0;
    for (uint32_t g = 0; g < m->group_count; g++) {
        m->groups[g].first = first;
        first += m->groups[g].count;
        m->groups[g].count = 0;
    }
    for (uint32_t i = 0; i < m->count; i++) {
        struct hop_measurement_rows *group = &m->groups[m->group_of[i]];
        m->rows[group->first + group->count++] = i;
    }
    return HOP_OK;
}

static enum hop_status read_source(const struct hop_source *source, struct hop_measurements **measurements,
                                   struct hop_diag *diag)
{
    struct hop_measurements *made = calloc(1, sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    made->name = hop_arena_string(&made->arena, source->name, strlen(source->name));
    enum hop_status status = made->name ? read_any(source, made, diag) : hop_fail_memory(diag);
    if (status == HOP_OK)
        status = gather(made, diag);
    if (status == HOP_OK)
        *measurements = made;
    else
        hop_measurements_destroy(made);
    return status;
}

enum hop_status hop_measurements_load(const char *path, struct hop_measurements **measurements, struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_source_load(path, &source, diag);
    if (status != HOP_OK)
        return status;
    status = read_source(&source, measurements, diag);
    hop_source_finish(&source);
    return status;
}

enum hop_status hop_measurements_parse(const char *name, const char *text, size_t size,
                                       struct hop_measurements **measurements, struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_source_copy(name, text, size, &source, diag);
    if (status != HOP_OK)
        return status;
    status = read_source(&source, measurements, diag);
    hop_source_finish(&source);
    return status;
}

/* Appends the rows of one file to those of others. */
static enum hop_status append(struct hop_measurements *made, const struct hop_measurements *file, bool first,
                              struct hop_diag *diag)
{
    const char *slash = strrchr(file->name, '/'), *stem = slash ? slash + 1 : file->name;
    char text[2 * TEXT_MAX];
    const char *const at = hop_arena_string(&made->arena, file->name, strlen(file->name));
    for (uint32_t i = 0; i < file->count; i++) {
        struct hop_measurement row = file->list[i];
        const char **strings[] = {&row.transfer, &row.from, &row.to, &row.notes};
        if (made->count == HOP_MEASUREMENTS_MAX)
            return hop_fail(diag, HOP_ERR_LIMIT, "more than %u transfers in all files", HOP_MEASUREMENTS_MAX);
        for (size_t s = 0; s < HOP_COUNT(strings); s++)
            *strings[s] = hop_arena_string(&made->arena, *strings[s], strlen(*strings[s]));
        int length = first ? snprintf(text, sizeof text, "%s", row.group)
                           : snprintf(text, sizeof text, "%.4000s:%s", stem, row.group);
        row.group = hop_arena_string(&made->arena, text, (size_t)length);
        row.file = at;
        if (made->arena.failed)
            return hop_fail_memory(diag);
        enum hop_status status = hop_measurements_add(made, &row, diag);
        if (status != HOP_OK)
            return status;
    }
    return HOP_OK;
}

enum hop_status hop_measurements_load_all(const char *const *paths, uint32_t count,
                                          struct hop_measurements **measurements, struct hop_diag *diag)
{
    if (count == 1)
        return hop_measurements_load(paths[0], measurements, diag);
    struct hop_measurements *made = calloc(1, sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < count && status == HOP_OK; i++) {
        struct hop_measurements *file = NULL;
        status = hop_measurements_load(paths[i], &file, diag);
        if (status == HOP_OK && i == 0)
            made->name = hop_arena_string(&made->arena, file->name, strlen(file->name));
        if (status == HOP_OK)
            status = made->name ? append(made, file, i == 0, diag) : hop_fail_memory(diag);
        hop_measurements_destroy(file);
    }
    if (status == HOP_OK)
        status = gather(made, diag);
    if (status == HOP_OK)
        *measurements = made;
    else
        hop_measurements_destroy(made);
    return status;
}

void hop_measurements_destroy(struct hop_measurements *measurements)
{
    if (!measurements)
        return;
    free(measurements->list);
    free(measurements->groups);
    free(measurements->group_of);
    free(measurements->rows);
    hop_names_finish(&measurements->names);
    hop_names_finish(&measurements->runs);
    hop_arena_finish(&measurements->arena);
    free(measurements);
}

const char *hop_measurements_name(const struct hop_measurements *measurements)
{
    return measurements->name;
}

uint32_t hop_measurements_count(const struct hop_measurements *measurements)
{
    return measurements->count;
}

const struct hop_measurement *hop_measurements_at(const struct hop_measurements *measurements, uint32_t index)
{
    return &measurements->list[index];
}

uint32_t hop_measurements_group_count(const struct hop_measurements *measurements)
{
    return measurements->group_count;
}

struct hop_measurement_group hop_measurements_group(const struct hop_measurements *measurements, uint32_t group)
{
    const struct hop_measurement_rows *g = &measurements->groups[group];
    return (struct hop_measurement_group){g->name, measurements->rows + g->first, g->count};
}
