/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Feeds files, and the files of folders, to a fuzz target once each: seeds and found crashes as ordinary tests.
 *
 *     replay fuzz_NAME FILE_OR_FOLDER...
 */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static struct replay_target *targets;

void replay_register(struct replay_target *target)
{
    target->next = targets;
    targets = target;
}

static int replay_file(const struct replay_target *target, const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t size = 0, capacity = 0, got;
    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    do {
        capacity += 1 << 16;
        data = realloc(data, capacity);
        MUST(data);
        got = fread(data + size, 1, capacity - size, file);
        size += got;
    } while (got > 0);
    fclose(file);
    printf("%s\n", path);
    fflush(stdout);
    uint8_t *exact = malloc(size ? size : 1); /* so that a sanitizer sees every step past the end */
    MUST(exact);
    memcpy(exact, data, size);
    free(data);
    target->feed(exact, size);
    free(exact);
    return 0;
}

static int replay_folder(const struct replay_target *target, const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort), failed = 0, files = 0;
    if (count < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    for (int i = 0; i < count; i++) {
        char file[4096];
        if (entries[i]->d_name[0] != '.') {
            (void)snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
            failed |= replay_file(target, file);
            files++;
        }
        free(entries[i]);
    }
    free(entries);
    if (files == 0)
        fprintf(stderr, "%s: no files\n", path);
    return failed || files == 0;
}

int main(int argc, char **argv)
{
    const struct replay_target *target = targets;
    while (argc > 2 && target && strcmp(target->name, argv[1]) != 0)
        target = target->next;
    if (argc < 3 || !target) {
        fprintf(stderr, "usage: replay fuzz_NAME FILE_OR_FOLDER...\n");
        return 2;
    }
    int failed = 0;
    for (int i = 2; i < argc; i++) {
        struct stat status;
        if (stat(argv[i], &status) == 0 && S_ISDIR(status.st_mode))
            failed |= replay_folder(target, argv[i]);
        else
            failed |= replay_file(target, argv[i]);
    }
    return failed;
}
