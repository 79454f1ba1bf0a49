/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocations that fail are remembered, the library's own and those of jansson and libxml2: some code goes on without
 * the memory, and what it then says may be wrong and what it prints may lack something. So from then on no message but that one is
 * given, and no file is written. The linker puts the __wrap functions in the place of those
 * that they are called like. A large request is another matter: whoever makes it has a smaller way.
 */
#include <jansson.h>
#include <libxml/xmlmemory.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

enum { LARGE = 1 << 24 };

static atomic_bool failed, told;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strndup(const char *text, size_t most);
char *__wrap_strdup(const char *text);

static void *remember(void *memory, size_t count, size_t size)
{
    if (!memory && size && count && count < LARGE / size)
        atomic_store(&failed, true);
    return memory;
}

void *__wrap_malloc(size_t size)
{
    return remember(__real_malloc(size), 1, size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return remember(__real_calloc(count, size), count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return remember(__real_realloc(memory, size), 1, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return remember(__real_aligned_alloc(alignment, size), 1, size);
}

char *__wrap_strndup(const char *text, size_t most)
{
    size_t length = strnlen(text, most);
    char *made = __wrap_malloc(length + 1);
    if (made) {
        memcpy(made, text, length);
        made[length] = '\0';
    }
    return made;
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, strlen(text));
}

void tool_watch_memory(void)
{
    json_set_alloc_funcs(__wrap_malloc, free);
    (void)xmlMemSetup(free, __wrap_malloc, __wrap_realloc, __wrap_strdup);
}

void tool_memory_told(void)
{
    atomic_store(&told, true);
}

bool tool_memory_lacked(void)
{
    return atomic_load(&failed);
}

int tool_memory_verdict(int status)
{
    if (!atomic_load(&failed) || (atomic_load(&told) && status != TOOL_OK))
        return status;
    if (!atomic_load(&told))
        fprintf(stderr, "hopcast: out of memory: what was printed may lack something\n");
    return TOOL_BAD;
}
