/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files of a set of Chakra traces: NAME.RANK.et, or NAME.RANK.et.gz, one a rank, all in one folder. Any of them,
 * their folder, or folder/NAME finds them all.
 */
#include "trace/chakra.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/protobuf.h"

/* What a file name says. */
struct file_name {
    size_t stem; /* bytes of NAME; 0: no such name */
    uint32_t rank;
};

static bool ends_with(const char *text, size_t length, const char *end)
{
    return length > strlen(end) && memcmp(text + length - strlen(end), end, strlen(end)) == 0;
}

/* Length without ".et" or ".et.gz"; 0: it has neither. */
static size_t without_ending(const char *name)
{
    size_t length = strlen(name);
    return ends_with(name, length, ".et") ? length - 3 : ends_with(name, length, ".et.gz") ? length - 6 : 0;
}

static struct file_name split_name(const char *name)
{
    enum { DIGITS = 6 };
    struct file_name split = {0};
    size_t end = without_ending(name), dot = end;
    while (dot > 0 && isdigit((unsigned char)name[dot - 1]))
        dot--;
    if (dot < 2 || dot == end || end - dot > DIGITS || name[dot - 1] != '.')
        return split;
    for (size_t i = dot; i < end; i++)
        split.rank = split.rank * 10 + (uint32_t)(name[i] - '0');
    split.stem = dot - 1;
    return split;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Where the files are, and what their names begin with. */
struct set {
    char *folder; /* with its last '/', or empty */
    char *stem;   /* NULL: not known yet */
    char **paths; /* by rank */
    uint32_t count, capacity;
};

static void finish_set(struct set *set)
{
    for (uint32_t r = 0; r < set->count; r++)
        free(set->paths[r]);
    free(set->paths);
    free(set->folder);
    free(set->stem);
}

static enum hop_status refuse(struct hop_diag *diag, enum hop_status status, const char *path)
{
    hop_diag_place(diag, "%.220s", path);
    hop_diag_expect(diag, "one set of files NAME.0.et, NAME.1.et, ..., one for each rank");
    return status;
}

/* One file of the folder. */
static enum hop_status take(struct set *set, const char *name, struct hop_diag *diag)
{
    struct file_name split = split_name(name);
    bool same = set->stem && strlen(set->stem) == split.stem && memcmp(set->stem, name, split.stem) == 0;
    if (split.stem == 0)
        return HOP_OK;
    if (!set->stem) {
        set->stem = strndup(name, split.stem);
        if (!set->stem)
            return hop_fail_memory(diag);
    } else if (!same) {
        hop_fail(diag, HOP_ERR_INVALID, "there are traces of several programs: %.80s.*.et and %.80s", set->stem, name);
        return HOP_ERR_INVALID;
    }
    if (split.rank >= HOP_CHAKRA_RANKS)
        return hop_fail(diag, HOP_ERR_LIMIT, "%.80s: a rank above %u", name, HOP_CHAKRA_RANKS - 1);
    uint32_t before = set->capacity;
    if (!hop_grow(&set->paths, &set->capacity, split.rank + 1, sizeof *set->paths))
        return hop_fail_memory(diag);
    memset(set->paths + before, 0, (set->capacity - before) * sizeof *set->paths);
    if (set->count <= split.rank)
        set->count = split.rank + 1;
    if (set->paths[split.rank])
        return hop_fail(diag, HOP_ERR_INVALID, "rank %u has two traces: %.80s and %.80s", split.rank,
                        base_name(set->paths[split.rank]), name);
    if (asprintf(&set->paths[split.rank], "%s%s", set->folder, name) < 0) {
        set->paths[split.rank] = NULL;
        return hop_fail_memory(diag);
    }
    return HOP_OK;
}

/* With a stem only its files; without one, the folder must hold one set. */
static enum hop_status scan(struct set *set, const char *path, struct hop_diag *diag)
{
    struct dirent **entries;
    int count = scandir(set->folder[0] ? set->folder : ".", &entries, NULL, alphasort);
    if (count < 0) {
        return refuse(diag, hop_fail(diag, hop_status_of_error(errno), "cannot read the folder: %s", strerror(errno)),
                      path);
    }
    enum hop_status status = HOP_OK;
    bool any = set->stem == NULL;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        size_t stem = split_name(name).stem;
        if (status == HOP_OK && (any || (stem == strlen(set->stem) && memcmp(name, set->stem, stem) == 0)))
            status = take(set, name, diag);
        free(entries[i]);
    }
    free(entries);
    if (status == HOP_OK && set->count == 0 && any) {
        hop_fail(diag, HOP_ERR_IO, "cannot open: it is a directory"); /* as for any other schedule */
        hop_diag_place(diag, "%.220s", path);
        return HOP_ERR_IO;
    }
    if (status == HOP_OK && set->count == 0)
        status = hop_fail(diag, HOP_ERR_IO, "cannot open: no file %.80s.0.et", set->stem);
    for (uint32_t r = 0; r < set->count && status == HOP_OK; r++) {
        if (!set->paths[r])
            status = hop_fail(diag, HOP_ERR_INVALID, "rank %u has no trace: no file %.80s.%u.et, but one of rank %u", r,
                              set->stem, r, set->count - 1);
    }
    return status == HOP_OK || status == HOP_ERR_MEMORY ? status : refuse(diag, status, path);
}

/* Finds the set, or the lone file. */
static enum hop_status find_set(const char *path, struct set *set, struct hop_diag *diag)
{
    struct stat info;
    const char *name = base_name(path);
    bool there = stat(path, &info) == 0, folder = there && S_ISDIR(info.st_mode);
    struct file_name split = split_name(name);
    if (folder) {
        if (asprintf(&set->folder, "%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/") < 0)
            set->folder = NULL;
        return set->folder ? scan(set, path, diag) : hop_fail_memory(diag);
    }
    set->folder = strndup(path, (size_t)(name - path));
    if (there && split.stem == 0) { /* rank 0's, whatever its name */
        set->stem = strndup(name, without_ending(name) ? without_ending(name) : strlen(name));
        set->paths = calloc(1, sizeof *set->paths);
        if (set->paths)
            set->count = (set->paths[0] = strdup(path)) != NULL;
        return set->folder && set->stem && set->count ? HOP_OK : hop_fail_memory(diag);
    }
    set->stem = strndup(name, split.stem ? split.stem : strlen(name));
    return set->folder && set->stem ? scan(set, path, diag) : hop_fail_memory(diag);
}

/* Whether rank 0's file is there. */
static bool begins_set(const char *path, const char *ending)
{
    struct stat info;
    char *first;
    if (asprintf(&first, "%s%s", path, ending) < 0)
        return false;
    bool there = stat(first, &info) == 0;
    free(first);
    return there;
}

bool hop_chakra_is(const char *path, const struct hop_source *source)
{
    enum { LOOKED_AT = 64 };
    struct stat info;
    if (!source) {
        bool there = stat(path, &info) == 0;
        if (there || without_ending(base_name(path)) > 0)
            return !there || S_ISDIR(info.st_mode) || without_ending(base_name(path)) > 0;
        return begins_set(path, ".0.et") || begins_set(path, ".0.et.gz");
    }
    bool text = true;
    for (size_t i = 0; i < source->size && i < LOOKED_AT; i++) {
        unsigned char c = (unsigned char)source->text[i];
        text = text && (c >= ' ' || isspace(c));
    }
    struct hop_failure failure = {0};
    struct hop_protobuf_wire wire = {"", (const uint8_t *)source->text, 0, source->size, &failure}, message;
    bool begins = hop_wire_message(&wire, &message) && message.at < message.end &&
                  (message.data[message.at] == 0x0a || message.data[message.at] == 0x12); /* version, or an attribute */
    return (!text && begins) || hop_source_is_gzip(source);
}

enum hop_status hop_schedule_load_chakra(const char *path, const struct hop_trace_options *options,
                                         struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct set set = {0};
    enum hop_status status = path[0] ? find_set(path, &set, diag) : hop_fail(diag, HOP_ERR_IO, "no file is named");
    struct hop_source *sources = status == HOP_OK ? calloc(set.count + 1, sizeof *sources) : NULL;
    if (status == HOP_OK && !sources)
        status = hop_fail_memory(diag);
    for (uint32_t r = 0; r < set.count && status == HOP_OK; r++) {
        status = hop_source_load_bytes(set.paths[r], &sources[r], diag);
        if (status == HOP_OK)
            status = hop_source_unpack(&sources[r], diag);
    }
    if (status == HOP_OK)
        status = hop_chakra_schedule(set.stem, sources, set.count, options, schedule, diag);
    for (uint32_t r = 0; sources && r < set.count; r++)
        hop_source_finish(&sources[r]);
    free(sources);
    finish_set(&set);
    return status;
}

enum hop_status hop_schedule_parse_chakra(const char *const *names, const void *const *data, const size_t *sizes,
                                          uint32_t ranks, const struct hop_trace_options *options,
                                          struct hop_schedule **schedule, struct hop_diag *diag)
{
    if (ranks == 0 || ranks > HOP_CHAKRA_RANKS)
        return hop_fail(diag, HOP_ERR_LIMIT, "traces of %u ranks; expected 1 to %u", ranks, HOP_CHAKRA_RANKS);
    struct hop_source *sources = calloc(ranks, sizeof *sources);
    enum hop_status status = sources ? HOP_OK : hop_fail_memory(diag);
    for (uint32_t r = 0; r < ranks && status == HOP_OK; r++) {
        sources[r] = (struct hop_source){strdup(names[r]), malloc(sizes[r] + 1), sizes[r]};
        if (!sources[r].name || !sources[r].text) {
            status = hop_fail_memory(diag);
            break;
        }
        memcpy(sources[r].text, data[r], sizes[r]);
        sources[r].text[sizes[r]] = '\0';
        status = hop_source_unpack(&sources[r], diag);
    }
    if (status == HOP_OK)
        status = hop_chakra_schedule(names[0], sources, ranks, options, schedule, diag);
    for (uint32_t r = 0; sources && r < ranks; r++)
        hop_source_finish(&sources[r]);
    free(sources);
    return status;
}
