/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Base: what every room uses. Diagnostics, an arena, growing arrays, strings, a name table, input texts, output buffers.
 */
#ifndef HOP_BASE_H
#define HOP_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hopcast/status.h"
#include "hopcast/units.h"

#define HOP_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Of numbers, never NaN: unlike fmin and fmax these are single instructions. */
static inline double hop_min(double a, double b)
{
    return a < b ? a : b;
}

static inline double hop_max(double a, double b)
{
    return a > b ? a : b;
}

/* ---- diagnostics (diag.c) ---- */

/* Fills what, and behind a line feed in the format expected: "this is no LMC\na number from 0 to 7". The place becomes
 * empty. Returns status, so that `return hop_fail(...)` reads well. diag may be NULL. */
enum hop_status hop_fail(struct hop_diag *diag, enum hop_status status, const char *format, ...) HOP_PRINTF(3, 4);
enum hop_status hop_fail_with(struct hop_diag *diag, enum hop_status status, const char *format, va_list arguments);
/* Adds to a diagnostic just filled. */
void hop_diag_place(struct hop_diag *diag, const char *format, ...) HOP_PRINTF(2, 3);
void hop_diag_expect(struct hop_diag *diag, const char *format, ...) HOP_PRINTF(2, 3);
enum hop_status hop_fail_memory(struct hop_diag *diag);
/* Returns the status of a system call that failed with this errno: HOP_ERR_MEMORY where memory lacked, else HOP_ERR_IO. */
enum hop_status hop_status_of_error(int error);

/* Leaves the function with the status of a call that fails. */
#define HOP_CHECK(call)                                                                                                \
    do {                                                                                                               \
        enum hop_status status_ = (call);                                                                              \
        if (status_ != HOP_OK)                                                                                         \
            return status_;                                                                                            \
    } while (0)

/* The caller's options, which begin with their size, as this library knows them: `own` of `size` bytes. NULL and what an
 * older program does not have leave own as it is; what only a newer library knows must be zero. */
enum hop_status hop_options_take(void *own, size_t size, const void *given, struct hop_diag *diag);

/* A work of many steps and its first failure, which sticks: later ones are not kept, steps after it do nothing or may do
 * anything, and who began the work asks once, at its end. */
struct hop_failure {
    struct hop_diag *diag;
    enum hop_status status;
};
void hop_failure_set(struct hop_failure *failure, enum hop_status status, const char *format, ...) HOP_PRINTF(3, 4);
/* The place of a failure just set, unless it has one. */
void hop_failure_place(struct hop_failure *failure, const char *format, ...) HOP_PRINTF(2, 3);
/* Whether all is well; that there is no room is a failure. */
bool hop_failure_none(struct hop_failure *failure, bool room);

/* ---- arena (arena.c) ---- */

/*
 * Blocks from the heap, handed out in pieces, all freed at once:
 *
 *     first -> [ block | used ... free ] -> [ block ] -> NULL
 *
 * failed is sticky: reserve several things, check once.
 */
struct hop_arena {
    struct hop_arena_block *first;
    struct hop_arena_array *arrays;
    bool failed;
};
void *hop_arena_alloc(struct hop_arena *arena, size_t size); /* zeroed, aligned for any type; NULL: out of memory */
void *hop_arena_copy(struct hop_arena *arena, const void *data, size_t size);
/* Short things of millions lie close together: */
char *hop_arena_string(struct hop_arena *arena, const char *text, size_t length);
uint32_t *hop_arena_numbers(struct hop_arena *arena, const uint32_t *numbers, size_t count);
void hop_arena_reset(struct hop_arena *arena); /* empties it, keeping one block for what comes next, and arrays */
void hop_arena_finish(struct hop_arena *arena);

/* An array of the arena's that grows: at least `need` items behind a pointer that is NULL at first. Items that come are zero.
 * The arena knows how many there are, and frees them with all the rest. */
struct hop_arena_array {
    struct hop_arena_array *next, *before;
    size_t capacity, size;
    max_align_t items[];
};
bool hop_arena_grow(struct hop_arena *arena, void *array, size_t need, size_t size); /* false: failed */
static inline bool hop_arena_has(const void *items, size_t need)
{
    return items && ((const struct hop_arena_array *)items)[-1].capacity >= need;
}
/* HOP_GROW(&arena, p, 10): p[0 .. 10) are there. */
#define HOP_GROW(arena, array, need)                                                                                   \
    (hop_arena_has((array), (need)) || hop_arena_grow((arena), &(array), (need), sizeof *(array)))

/* ---- order ---- */

/* -1, 0, 1 */
#define HOP_ORDER(a, b) (((a) > (b)) - ((a) < (b)))
/* For qsort and bsearch: numbers of a type, the least first (ascending.c). */
int hop_ascending_u32(const void *a, const void *b);
int hop_ascending_u64(const void *a, const void *b);
int hop_ascending_double(const void *a, const void *b);

/* ---- growing arrays ---- */

/* Makes room for `need` elements of `size` bytes in *array, doubling; false: out of memory or more than 2^31 of them. */
bool hop_grow(void *array, uint32_t *capacity, uint32_t need, size_t size);

/* ---- disjoint sets ---- */

/* set[i] leads to the lowest member of i's set, itself at first. */
static inline uint32_t hop_set_find(uint32_t *set, uint32_t i)
{
    while (set[i] != i)
        i = set[i] = set[set[i]];
    return i;
}

static inline void hop_set_join(uint32_t *set, uint32_t i, uint32_t j)
{
    uint32_t a = hop_set_find(set, i), b = hop_set_find(set, j);
    set[a > b ? a : b] = a > b ? b : a;
}

/* ---- cycles and orders (cycle.c) ---- */

/* The i-th node that a node waits for, UINT32_MAX past the last. */
typedef uint32_t hop_waits_for(const void *context, uint32_t node, uint32_t i);
/* Looks for a cycle among nodes 0 .. count - 1: *length is 0 when there is none, else cycle[0] waits for cycle[1] and so on, the last
 * for cycle[0]; the caller frees it. Without one, `order` (NULL: not asked) gets all nodes, each behind what it waits for. */
enum hop_status hop_cycle_find(uint32_t count, hop_waits_for *waits_for, const void *context, uint32_t *order,
                               uint32_t **cycle, uint32_t *length, struct hop_diag *diag);

/* ---- name table (names.c) ---- */

/* Maps texts to indices; the texts belong to the caller and must stay. */
struct hop_name_entry {
    const char *key;      /* NULL: free */
    uint32_t hash, value; /* the hash spares looking at texts that differ */
};
struct hop_names {
    struct hop_name_entry *entries;
    uint32_t slots, used;
};
uint32_t hop_names_hash(const char *key);
bool hop_names_put(struct hop_names *names, const char *key, uint32_t value); /* false: out of memory */
uint32_t hop_names_get(const struct hop_names *names, const char *key);       /* UINT32_MAX: none */
void hop_names_empty(struct hop_names *names);                                /* for others */
void hop_names_finish(struct hop_names *names);

/* Edit distance with transposition, blind to case, no more than `limit` + 1. */
unsigned hop_text_distance(const char *a, const char *b, unsigned limit);
/* The nearest of `count` candidates (NULL: passed over) to a misspelt name, by index, UINT32_MAX when none is near. */
uint32_t hop_text_nearest(const char *name, const char *(*candidate)(const void *context, uint32_t index),
                          const void *context, uint32_t count);

/* strtod with a decimal point, whatever the locale of the program around us. */
double hop_text_number(const char *text, char **end);

unsigned hop_text_digit(char c); /* hexadecimal, 16: it is none */

/* Writes a number's digits, 20 at most and no NUL; returns where they end. */
char *hop_text_put_number(char *at, uint64_t number);

/* A quotient or share for people, with so many decimals; "-" where it is none, as of what takes no time (units.c). */
char *hop_show_fixed(double value, int decimals, char *buffer, size_t size);
/* A share in per cent with so many digits, all of those before the point, and never as a power of ten. */
char *hop_show_percent(double share, int digits, char *buffer, size_t size);

/* The bytes of the UTF-8 character at text, 0: none is well formed there. */
unsigned hop_text_utf8(const char *text);
/* The same of a character that a terminal shows; 0 for a control character (C0, DEL, C1), too, which would move its cursor. */
unsigned hop_text_shown(const char *text);
/* Makes a text fit to be quoted in messages and answers: what is not shown becomes '?', here and in place. NULL stays so. */
char *hop_text_quote(char *text);

/* ---- input texts (source.c) ---- */

/* A whole input in memory, always followed by a NUL byte. */
struct hop_source {
    char *name;
    char *text;
    size_t size;
};
#define HOP_SOURCE_LIMIT ((size_t)1 << 30) /* bytes of one input */
/* path "-": standard input. */
enum hop_status hop_source_load(const char *path, struct hop_source *source, struct hop_diag *diag);
enum hop_status hop_source_copy(const char *name, const char *text, size_t size, struct hop_source *source,
                                struct hop_diag *diag);
/* Without dropping a byte order mark, for inputs that are no text. */
enum hop_status hop_source_load_bytes(const char *path, struct hop_source *source, struct hop_diag *diag);
void hop_source_finish(struct hop_source *source);
/* Whether a text stands in its first 64 KiB, where detecting a dialect looks. */
bool hop_source_mentions(const struct hop_source *source, const char *text);
const char *hop_source_title(const struct hop_source *source); /* its name without folders */

/* gzip.c: what begins like a gzip file is replaced by what it holds, up to HOP_SOURCE_LIMIT. */
bool hop_source_is_gzip(const struct hop_source *source);
enum hop_status hop_source_unpack(struct hop_source *source, struct hop_diag *diag);

/* ---- output buffers (buffer.c) ---- */

/* A text that grows; failed is sticky. */
struct hop_buffer {
    char *text;
    size_t length, capacity;
    bool failed;
};
void hop_buffer_add(struct hop_buffer *buffer, const char *text, size_t length);
void hop_buffer_puts(struct hop_buffer *buffer, const char *text);
void hop_buffer_printf(struct hop_buffer *buffer, const char *format, ...) HOP_PRINTF(2, 3);
void hop_buffer_number(struct hop_buffer *buffer, uint64_t number); /* printf takes ten times as long */
void hop_buffer_json_string(struct hop_buffer *buffer,
                            const char *text); /* quoted, escaped, bytes that are no UTF-8 replaced; NULL: null */
void hop_buffer_json_number(struct hop_buffer *buffer,
                            double value); /* shortest that reads back the same; not finite: null */
void hop_buffer_xml(struct hop_buffer *buffer, const char *text); /* escaped */
char *hop_buffer_take(struct hop_buffer *buffer); /* the text, the caller's now; NULL (and freed) when failed */
void hop_buffer_finish(struct hop_buffer *buffer);

#endif
