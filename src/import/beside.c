/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What people paste beside a table of pairs, before or after it: the names that `nvidia-smi -L`,
 * `rocm-smi --showproductname` and `lscpu` print. Trusted; names given with the source count more.
 *
 *     GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)
 *     GPU[0]          : Card Series:          AMD Instinct MI300X
 *     Model name:                             AMD EPYC 9575F 64-Core Processor
 *     Socket(s):                              2
 */
#include "import/infer.h"
#include "import/lines.h"

enum { NAME_MOST = 100 };

/* What follows word i of the line, up to a text or the line's end. */
static const char *rest_behind(const struct hop_lines *lines, uint32_t i, const char *until, struct hop_build *build)
{
    const char *start = lines->words[i].text + lines->words[i].length, *end = lines->text + lines->length;
    const char *stop = memmem(start, (size_t)(end - start), until, strlen(until));
    end = stop ? stop : end;
    while (start < end && (unsigned char)*start <= ' ')
        start++;
    while (end > start && (unsigned char)end[-1] <= ' ')
        end--;
    char name[NAME_MOST + 1] = "";
    for (size_t k = 0; k < NAME_MOST && start + k < end; k++)
        name[k] = start[k] < ' ' || start[k] > '~' ? '?' : start[k];
    return hop_build_text(build, "%s", name);
}

static void name_gpu(struct hop_relations *relations, int number, const char *name)
{
    for (uint32_t i = 0; i < relations->count; i++) {
        struct hop_related *device = &relations->devices[i];
        const struct hop_word title = {device->title, (uint32_t)strlen(device->title), 0};
        if (device->kind == HOP_NODE_GPU && number >= 0 && hop_word_number(&title, "GPU") == number)
            device->label = name;
    }
}

static void read_line(struct hop_relations *relations, const struct hop_lines *lines, struct hop_build *build)
{
    struct hop_word first = lines->words[0], second = lines->words[1];
    bool series = lines->count > 4 && hop_word_is(&lines->words[2], "Card") &&
                  (hop_word_is(&lines->words[3], "Series:") || hop_word_is(&lines->words[3], "series:"));
    if (hop_word_is(&first, "Model") && hop_word_is(&second, "name:") && !relations->cpu)
        relations->cpu = rest_behind(lines, 1, "\n", build);
    if (hop_word_is(&first, "Socket(s):"))
        relations->one_socket = hop_word_is(&second, "1");
    if (hop_word_is(&first, "GPU") && second.text[second.length - 1] == ':') {
        second.length--;
        name_gpu(relations, hop_word_number(&second, ""), rest_behind(lines, 1, "(UUID", build));
    }
    if (series && first.text[first.length - 1] == ']') {
        first.length--;
        name_gpu(relations, hop_word_number(&first, "GPU["), rest_behind(lines, 3, "\n", build));
    }
}

void hop_relations_read_names(struct hop_relations *relations, const struct hop_source *source, struct hop_build *build)
{
    struct hop_lines lines;
    hop_lines_init(&lines, source);
    while (hop_build_ok(build) && hop_lines_next(&lines)) {
        if (lines.count > 1)
            read_line(relations, &lines, build);
    }
}
