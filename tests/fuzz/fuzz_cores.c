/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a synthetic description of a machine, and as hwloc XML: refused with a diagnostic, or read; then the
 * cores are numbered and their distances an ultrametric. */
#include "fuzz.h"

#include "import/cores.h"

#include <string.h>
#include <unistd.h>

static void look_at(const struct hop_cores *cores)
{
    uint32_t n = cores->count;
    MUST(n > 0);
    for (uint32_t a = 0; a < n; a++) {
        const struct hop_core *core = &cores->list[a];
        MUST(core->logical == a && core->in_package <= a && core->package <= a);
        MUST(cores->distance[(size_t)a * n + a] == 0);
    }
    uint32_t some = n < 24 ? n : 24; /* the cube of more takes too long */
    for (uint32_t a = 0; a < some; a++) {
        for (uint32_t b = 0; b < some; b++) {
            double ab = cores->distance[(size_t)a * n + b];
            MUST(ab == cores->distance[(size_t)b * n + a] && (a == b || ab >= 1));
            for (uint32_t c = 0; c < some; c++) {
                double ac = cores->distance[(size_t)a * n + c], cb = cores->distance[(size_t)c * n + b];
                MUST(ab <= (ac > cb ? ac : cb));
            }
        }
    }
}

static void load(const char *source)
{
    struct hop_cores *cores;
    struct hop_diag diag;
    if (hop_cores_load(source, &cores, &diag) != HOP_OK) {
        MUST(is_said(diag.what) && is_said(diag.place));
        return;
    }
    look_at(cores);
    hop_cores_destroy(cores);
}

static void load_file(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/fuzz_cores.XXXXXX";
    int file = mkstemp(path);
    MUST(file >= 0 && write(file, data, size) == (ssize_t)size);
    close(file);
    load(path);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] == '<') {
        load_file(data, size);
        return 0;
    }
    char *text = malloc(size + 1);
    MUST(text);
    memcpy(text, data, size);
    text[size] = '\0';
    /* Names of files are for the file system to refuse, and live would be this machine. */
    if (!strchr(text, '/') && strcmp(text, "live") != 0 && strcmp(text, "-") != 0 && access(text, F_OK) != 0)
        load(text);
    free(text);
    return 0;
}
