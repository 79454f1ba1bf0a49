/* SPDX-License-Identifier: BSD-3-Clause */
/* Hooks: faults and delays that a program runs with, for tests and for `hopcast run --fault --delay`. */
#ifndef HOP_RUN_HOOKS_H
#define HOP_RUN_HOOKS_H

#include "hopcast/run.h"

struct hop_run_hooks {
    double delay_s[2]; /* before each peer, each staged copy whose mechanism is chosen while it runs; INFINITY: it never
                        * happens. Emulated: of the emulated machine */
    const char
        *fault; /* "kill RANK OPERATION" or "stop RANK OPERATION", a signal before that; of a rank that performs it
                        * and is a process of its own; NULL: none */
};

/* hop_program_create, with hooks (NULL: none), which are copied; the fault must outlive the program. */
enum hop_status hop_program_create_hooked(struct hop_team *team, const struct hop_schedule *schedule,
                                          const struct hop_program_options *options, const struct hop_run_hooks *hooks,
                                          struct hop_program **program, struct hop_diag *diag);

#endif
