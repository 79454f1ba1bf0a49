/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz targets in one program (replay.c): each, called FUZZ_TARGET there, tells its name before main. */
#ifndef HOP_REPLAY_H
#define HOP_REPLAY_H

#include <stddef.h>
#include <stdint.h>

struct replay_target {
    const char *name;
    int (*feed)(const uint8_t *data, size_t size);
    struct replay_target *next;
};
void replay_register(struct replay_target *target);

#ifdef FUZZ_TARGET
#define LLVMFuzzerTestOneInput FUZZ_TARGET
#define FUZZ_TEXT(name) FUZZ_TEXT_(name)
#define FUZZ_TEXT_(name) #name
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((constructor)) static void register_target(void)
{
    static struct replay_target target = {FUZZ_TEXT(FUZZ_TARGET), FUZZ_TARGET, NULL};
    replay_register(&target);
}
#endif

#endif
