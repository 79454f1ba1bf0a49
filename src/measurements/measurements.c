/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurements from files: which reader knows a file, and rows gathered into groups. */
#include "measurements/measurements.h"

#include "base/json.h"

static const struct hop_measurements_reader *const readers[] = {
    &hop_reader_p2p,
    &hop_reader_nvbandwidth,
    &hop_reader_nccl_tests,
    &hop_reader_osu,
    &hop_reader_bandwidth_test,
    &hop_reader_transferbench,
    &hop_reader_rocm_bandwidth,
};

static struct hop_measurements *create(const char *name, struct hop_diag *diag)
{
    struct hop_measurements *made = calloc(1, sizeof *made);
    if (made) {
        made->failure.diag = diag;
        made->name = hop_arena_string(&made->arena, name, strlen(name));
    }
    return made;
}

static void read_any(const struct hop_source *source, struct hop_measurements *made)
{
    for (size_t i = 0; i < HOP_COUNT(readers) && !hop_measurements_is_csv(source); i++) {
        if (readers[i]->detect(source)) {
            readers[i]->read(source, made);
            return;
        }
    }
    if (hop_json_detect(source))
        hop_measurements_read_prediction(source, made);
    else
        hop_measurements_read_csv(source, made);
}

/* ---- rows to groups ---- */

static void gather(struct hop_measurements *m)
{
    uint32_t first = 0;
    if (m->count == 0 && !m->arena.failed)
        hop_measurements_refuse(m, HOP_ERR_INVALID, 0, 0, "there is no measurement\nat least one transfer");
    m->rows = hop_arena_alloc(&m->arena, ((size_t)m->count + 1) * sizeof *m->rows);
    for (uint32_t g = 0; g < m->group_count; g++) {
        m->groups[g].first = first;
        first += m->groups[g].count;
        m->groups[g].count = 0;
    }
    for (uint32_t i = 0; m->rows && i < m->count; i++) {
        struct hop_measurement_rows *group = &m->groups[m->group_of[i]];
        m->rows[group->first + group->count++] = i;
    }
}

/* made NULL: out of memory */
static enum hop_status end(struct hop_measurements *made, struct hop_measurements **measurements, struct hop_diag *diag)
{
    if (!made)
        return hop_fail_memory(diag);
    gather(made);
    if (made->arena.failed)
        hop_failure_set(&made->failure, HOP_ERR_MEMORY, "out of memory");
    enum hop_status status = made->failure.status;
    made->failure.diag = NULL;
    if (status == HOP_OK)
        *measurements = made;
    else
        hop_measurements_destroy(made);
    return status;
}

/* What is left out, counted, in place of its kind. */
static void count_notes(struct hop_measurements *m)
{
    for (uint32_t i = 0; i < m->note_count; i++) {
        struct hop_measurements_note *note = &m->notes[i];
        if (note->count > 0)
            note->text = hop_measurements_text(m, "%s: %u, the first in line %u", note->text, note->count, note->line);
        m->arena.failed |= !note->text;
    }
}

enum hop_status hop_measurements_read(const char *name, const char *text, size_t size,
                                      const struct hop_measurements_options *options,
                                      struct hop_measurements **measurements, struct hop_diag *diag)
{
    struct hop_source source;
    struct hop_measurements_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    HOP_CHECK(text ? hop_source_copy(name, text, size, &source, diag) : hop_source_load(name, &source, diag));
    struct hop_measurements *made = create(source.name, diag);
    if (made && made->name) {
        made->options = own;
        read_any(&source, made);
        count_notes(made);
    }
    hop_source_finish(&source);
    return end(made, measurements, diag);
}

enum hop_status hop_measurements_load(const char *path, struct hop_measurements **measurements, struct hop_diag *diag)
{
    return hop_measurements_read(path, NULL, 0, NULL, measurements, diag);
}

enum hop_status hop_measurements_parse(const char *name, const char *text, size_t size,
                                       struct hop_measurements **measurements, struct hop_diag *diag)
{
    return hop_measurements_read(name, text ? text : "", size, NULL, measurements, diag);
}

/* Appends the rows of one file to those of others. */
static void append(struct hop_measurements *made, const struct hop_measurements *file, bool first)
{
    const char *slash = strrchr(file->name, '/'), *stem = slash ? slash + 1 : file->name;
    const char *const at = hop_arena_string(&made->arena, file->name, strlen(file->name));
    for (uint32_t i = 0; i < file->count && hop_measurements_good(made); i++) {
        struct hop_measurement row = file->list[i];
        const char **strings[] = {&row.transfer, &row.from, &row.to, &row.notes};
        if (made->count == HOP_MEASUREMENTS_MAX)
            hop_failure_set(&made->failure, HOP_ERR_LIMIT, "more than %u transfers in all files", HOP_MEASUREMENTS_MAX);
        for (size_t s = 0; s < HOP_COUNT(strings); s++)
            *strings[s] = hop_arena_string(&made->arena, *strings[s], strlen(*strings[s]));
        row.group = first ? hop_measurements_text(made, "%s", row.group)
                          : hop_measurements_text(made, "%.4000s:%s", stem, row.group);
        row.file = at;
        hop_measurements_add(made, &row);
    }
    for (uint32_t i = 0; i < file->note_count; i++)
        hop_measurements_leave_out(made, 0, hop_measurements_text(made, "%.4000s: %s", stem, file->notes[i].text));
}

enum hop_status hop_measurements_join(const struct hop_measurements *const *parts, uint32_t count,
                                      struct hop_measurements **measurements, struct hop_diag *diag)
{
    struct hop_measurements *made = create(parts[0]->name, diag);
    for (uint32_t i = 0; i < count && made; i++)
        append(made, parts[i], i == 0);
    return end(made, measurements, diag);
}

enum hop_status hop_measurements_load_all(const char *const *paths, uint32_t count,
                                          struct hop_measurements **measurements, struct hop_diag *diag)
{
    if (count == 1)
        return hop_measurements_load(paths[0], measurements, diag);
    struct hop_measurements *made = create(count ? paths[0] : "", diag);
    for (uint32_t i = 0; i < count && made && hop_measurements_good(made); i++) {
        struct hop_measurements *file = NULL;
        made->failure.status = hop_measurements_load(paths[i], &file, diag);
        if (!file)
            break;
        if (i == 0)
            made->name = hop_arena_string(&made->arena, file->name, strlen(file->name));
        append(made, file, i == 0);
        hop_measurements_destroy(file);
    }
    return end(made, measurements, diag);
}

void hop_measurements_destroy(struct hop_measurements *measurements)
{
    if (!measurements)
        return;
    hop_names_finish(&measurements->names);
    hop_names_finish(&measurements->runs);
    hop_arena_finish(&measurements->arena);
    free(measurements);
}

const char *hop_measurements_name(const struct hop_measurements *measurements)
{
    return measurements->name;
}

const char *hop_measurements_note(const struct hop_measurements *measurements, uint32_t index)
{
    return index < measurements->note_count ? measurements->notes[index].text : NULL;
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
