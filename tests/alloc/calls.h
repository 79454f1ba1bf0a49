/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every public function with little memory. A case makes what it needs, CALLs, and gives back everything; allocations
 * fail only in what stands between the parentheses of CALL, MAKE and DO (calls.c).
 *
 *     static void parse(void)
 *     {
 *         struct hop_schedule *schedule = NULL;
 *         if (CALL(hop_schedule_parse("-", TEXT, strlen(TEXT), &schedule, DIAG)))
 *             SAY(hop_schedule_to_text(schedule));
 *         hop_schedule_destroy(schedule);
 *     }
 */
#ifndef HOP_ALLOC_CALLS_H
#define HOP_ALLOC_CALLS_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hopcast/hopcast.h"

/* Its status is HOP_OK, which is returned, or that for memory, its message in DIAG. */
#define CALL(...) (calls_begin(#__VA_ARGS__), calls_status(__VA_ARGS__))
/* Of what returns something new: NULL, which only lacking memory may cause, or that. */
#define MAKE(...) (calls_begin(#__VA_ARGS__), calls_made(__VA_ARGS__))
/* Of a number that is HOP_NONE where memory lacks; it is part of the answer. */
#define COUNT(...) (calls_begin(#__VA_ARGS__), calls_counted(__VA_ARGS__))
/* Of what cannot say that memory lacks, or says so later. */
#define DO(...) (calls_begin(#__VA_ARGS__), (void)(__VA_ARGS__), calls_end())
/* The answer, which is the same whenever all calls of the case end well. A new text, which is freed; or as printf. */
#define SAY(text) calls_say(text)
/* A new text from a writer that is itself CALLed, and then said. */
#define WRITE(...) SAY(MAKE(__VA_ARGS__))
/* What must end well, outside of CALL: a fault of the case itself, if it does not. */
#define NEED(...) calls_need((__VA_ARGS__), #__VA_ARGS__)
#define DIAG (&calls_diag)
/* Stands for "as it was before", behind a CALL that failed; both texts are new ones, which are freed. */
#define SAME(before, now) calls_same((before), (now))

extern struct hop_diag calls_diag;
void calls_begin(const char *call);
void calls_end(void);
bool calls_status(enum hop_status status);
void *calls_made(void *made);
void calls_counted(uint32_t count);
void calls_say(char *text);
void calls_sayf(const char *format, ...) HOP_PRINTF(1, 2);
void calls_need(bool good, const char *what);
void calls_same(char *before, char *now);

struct calls_case {
    const char *name;
    void (*run)(void);
    bool apart; /* each time in a process of its own: it is possible once in a process */
};
#define CASE(function)                                                                                                 \
    {                                                                                                                  \
#function, function, false                                                                                     \
    }
extern const struct calls_case calls_of_nouns[], calls_of_answers[], calls_of_running[];

/* What several cases need, made once: a small machine, a schedule on its devices, measurements of it. */
struct hop_topology *calls_machine(void);
struct hop_schedule *calls_schedule(void);
struct hop_measurements *calls_measured(void);
#define SCHEDULE "a: gpu0 -> gpu1 1MiB; b: gpu0 -> gpu2 2MiB after a; c: gpu1 -> gpu2 1MiB; d: gpu3 -> gpu1 1MiB"

#endif
