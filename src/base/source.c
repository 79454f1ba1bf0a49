/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading whole inputs. */
#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* A byte order mark says nothing in UTF-8. */
static void drop_byte_order_mark(struct hop_source *source)
{
    if (source->size >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0) {
        source->size -= 3;
        memmove(source->text, source->text + 3, source->size + 1);
    }
}

static enum hop_status read_all(FILE *file, const char *path, struct hop_source *source, struct hop_diag *diag)
{
    size_t capacity = 0;
    for (;;) {
        if (source->size + 1 >= capacity) {
            capacity = capacity ? capacity * 2 : 1 << 16;
            char *grown = realloc(source->text, capacity);
            if (!grown)
                return hop_fail_memory(diag);
            source->text = grown;
        }
        size_t got = fread(source->text + source->size, 1, capacity - 1 - source->size, file);
        source->size += got;
        if (source->size > HOP_SOURCE_LIMIT) {
            hop_fail(diag, HOP_ERR_LIMIT, "the input is larger than %zu bytes", HOP_SOURCE_LIMIT);
            hop_diag_place(diag, "%s", path);
            return HOP_ERR_LIMIT;
        }
        if (got == 0) {
            if (ferror(file)) {
                enum hop_status status =
                    hop_fail(diag, hop_status_of_error(errno), "cannot read: %s", strerror(errno));
                hop_diag_place(diag, "%s", path);
                return status;
            }
            break;
        }
    }
    source->text[source->size] = '\0';
    return HOP_OK;
}

enum hop_status hop_source_load_bytes(const char *path, struct hop_source *source, struct hop_diag *diag)
{
    bool standard = strcmp(path, "-") == 0;
    const char *shown = standard ? "(standard input)" : path;
    struct stat info;
    FILE *file = standard ? stdin : fopen(path, "rb");
    if (!file || (!standard && fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode))) {
        enum hop_status status = file ? hop_fail(diag, HOP_ERR_IO, "cannot open: it is a directory")
                                      : hop_fail(diag, hop_status_of_error(errno), "cannot open: %s", strerror(errno));
        hop_diag_place(diag, "%s", shown);
        if (file)
            (void)fclose(file);
        return status;
    }
    struct hop_source loaded = {0};
    enum hop_status status = read_all(file, shown, &loaded, diag);
    if (!standard)
        (void)fclose(file);
    if (status == HOP_OK) {
        loaded.name = hop_text_quote(strdup(shown));
        if (!loaded.name)
            status = hop_fail_memory(diag);
    }
    if (status == HOP_OK)
        *source = loaded;
    else
        hop_source_finish(&loaded);
    return status;
}

enum hop_status hop_source_load(const char *path, struct hop_source *source, struct hop_diag *diag)
{
    enum hop_status status = hop_source_load_bytes(path, source, diag);
    if (status == HOP_OK)
        drop_byte_order_mark(source);
    return status;
}

enum hop_status hop_source_copy(const char *name, const char *text, size_t size, struct hop_source *source,
                                struct hop_diag *diag)
{
    struct hop_source copy = {hop_text_quote(strdup(name)), malloc(size + 1), size};
    if (!copy.name || !copy.text) {
        hop_source_finish(&copy);
        return hop_fail_memory(diag);
    }
    memcpy(copy.text, text, size);
    copy.text[size] = '\0';
    drop_byte_order_mark(&copy);
    *source = copy;
    return HOP_OK;
}

void hop_source_finish(struct hop_source *source)
{
    free(source->name);
    free(source->text);
    *source = (struct hop_source){0};
}

bool hop_source_mentions(const struct hop_source *source, const char *text)
{
    const size_t head = (size_t)64 << 10;
    return memmem(source->text, source->size < head ? source->size : head, text, strlen(text)) != NULL;
}

const char *hop_source_title(const struct hop_source *source)
{
    const char *slash = strrchr(source->name, '/');
    return slash && slash[1] ? slash + 1 : source->name;
}
