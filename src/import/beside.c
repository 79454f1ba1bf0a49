/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What people paste beside a table of pairs, before or after it: the names that `nvidia-smi -L`,
 * `rocm-smi --showproductname` and `lscpu` print. Trusted; names given with the source count more.
 *
 *     GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)
 *     GPU[0]          : Card Series:          AMD Instinct MI300X
 *     Model name:                             AMD EPYC 9575F 64-Core Processor
 *     Socket(s):                              2
 *
 * Notes say what of it means nothing: unknown names, GPUs that the table lacks or that are named twice, a second processor.
 */
#include "import/facts.h"
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

static void name_gpu(struct hop_relations *relations, int number, const char *name, struct hop_build *build)
{
    bool found = false;
    for (uint32_t i = 0; i < relations->count && number >= 0; i++) {
        struct hop_related *device = &relations->devices[i];
        const struct hop_word title = {device->title, (uint32_t)strlen(device->title), 0};
        if (device->kind != HOP_NODE_GPU || hop_word_number(&title, "GPU") != number)
            continue;
        if (device->label && strcmp(device->label, name) != 0)
            hop_build_note(build, "GPU %d is named twice beside the table: %s, then %s, which is taken", number,
                           device->label, name);
        else if (device->label)
            hop_build_note(build, "GPU %d is named twice beside the table", number);
        device->label = name;
        found = true;
    }
    if (!found && number >= 0)
        hop_build_note(build, "beside the table stands a GPU %d, which the table lacks: left out", number);
}

static void name_processor(struct hop_relations *relations, const char *name, struct hop_build *build)
{
    if (!relations->cpu)
        relations->cpu = name;
    else if (strcmp(relations->cpu, name) != 0)
        hop_build_note(build, "two processors are named beside the table: %s, which is taken, and %s", relations->cpu,
                       name);
}

/* Names of which nothing is known, the first of each run of equal ones, and GPUs without a name beside others with one. */
static void check_names(const struct hop_relations *relations, struct hop_build *build)
{
    uint32_t named = 0, gpus = 0, unknown = 0;
    const char *first = NULL;
    for (uint32_t i = 0; i < relations->count; i++) {
        const char *name = relations->devices[i].label;
        if (relations->devices[i].kind != HOP_NODE_GPU)
            continue;
        gpus++;
        named += name != NULL;
        if (!name || hop_gpu_facts(name))
            continue;
        unknown++;
        first = first ? first : name;
    }
    if (unknown > 0 && !build->gpu)
        hop_build_note(build, "nothing is known of the names of %u GPUs, such as %s: --gpu NAME says what they are",
                       unknown, first);
    if (named > 0 && named < gpus && !build->gpu)
        hop_build_note(build, "only %u of the %u GPUs of the table are named beside it", named, gpus);
    if (relations->cpu && !build->cpu && !hop_cpu_facts(relations->cpu))
        hop_build_note(build, "nothing is known of the processor %s: --cpu NAME says what it is", relations->cpu);
}

static void read_line(struct hop_relations *relations, const struct hop_lines *lines, struct hop_build *build)
{
    struct hop_word first = lines->words[0], second = lines->words[1];
    bool series = lines->count > 4 && hop_word_is(&lines->words[2], "Card") &&
                  (hop_word_is(&lines->words[3], "Series:") || hop_word_is(&lines->words[3], "series:"));
    if (hop_word_is(&first, "Model") && hop_word_is(&second, "name:"))
        name_processor(relations, rest_behind(lines, 1, "\n", build), build);
    if (hop_word_is(&first, "Socket(s):"))
        relations->one_socket = hop_word_is(&second, "1");
    if (hop_word_is(&first, "GPU") && second.text[second.length - 1] == ':') {
        second.length--;
        name_gpu(relations, hop_word_number(&second, ""), rest_behind(lines, 1, "(UUID", build), build);
    }
    if (series && first.text[first.length - 1] == ']') {
        first.length--;
        name_gpu(relations, hop_word_number(&first, "GPU["), rest_behind(lines, 3, "\n", build), build);
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
    if (hop_build_ok(build))
        check_names(relations, build);
}
