/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An accelerator of a PE: a memory space, and a program that works on nothing else.
 *
 *     its memory   | GO | DONE | how many images, features of the query | images ... | similarities ... |
 *
 * The program is loaded at the start. It waits for GO to become another number than before, works, and writes that
 * number to DONE. The PE writes GO by a put and reads DONE by gets, as in SHMEM+ (Aggarwal et al. 2011, section 4).
 * The program is a thread that stands in for the circuit of an FPGA or the kernel of a GPU.
 */
#ifndef CBIR_ACCELERATOR_H
#define CBIR_ACCELERATOR_H

#include <pthread.h>
#include <shmemx.h>

#include "similarity.h"

struct job {
    uint32_t go, done;
    uint32_t late; /* whether the work took longer than the rate says */
    uint32_t count;
    uint32_t query[FEATURES];
};

struct accelerator {
    shmemx_space_t space;
    /* Addresses in its memory, which the PE only puts to and gets from. */
    struct job *job;
    uint8_t *images, *similarities; /* 4 bytes an image */
    size_t image_bytes;             /* that this PE's will ever hold */
    double rate;                    /* images/s; 0: as fast as the processor */
    pthread_t program;
};

/* All PEs; room for so many images, of which this PE uses so many, and for bytes of results. False: there is no such
 * space, or no thread. */
bool accelerator_open(struct accelerator *accelerator, const shmemx_space_config_t *kind, uint32_t images,
                      uint32_t used, size_t result_bytes, double rate);
void accelerator_close(struct accelerator *accelerator); /* all PEs */
/* The PE's: puts the number, which begins with 2, where GO is; waits until DONE is that number; whether it was late. */
void accelerator_go(const struct accelerator *accelerator, uint32_t number);
bool accelerator_wait(const struct accelerator *accelerator, uint32_t number);

double now_s(void);

#endif
