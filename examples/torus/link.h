/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Link: what the programs of this folder need of a network, put and wait, over two interfaces. A program is linked with
 * one of them, and knows nothing of which.
 *
 *     link_apenet.c    cards in a torus (hopcast/apenet.h): hopcast launch -n 4 ./spin_apenet, or mpirun
 *     link_shmem.c     OpenSHMEM: hopcast-shmemrun -n 4 ./spin_shmem, or mpirun
 *     link.c           what both have in common
 *     record.c         what goes over it, as a schedule
 *
 * All ranks call link_begin, link_gather, link_barrier and link_end, in the same order. What goes wrong ends the
 * program.
 */
#ifndef LINK_H
#define LINK_H

#include <stddef.h>

enum { LINK_GATHER_BYTES = 64 };

/* Memory on each rank, zeroed, aligned to a page, that all others put to: of so many bytes, and so many more for each
 * rank that there is. torus: "4x2x1"; NULL: a ring. */
void link_begin(size_t bytes, size_t bytes_a_rank, const char *torus);
void link_end(void);
int link_rank(void);
int link_size(void);
const char *link_name(void); /* "card", "OpenSHMEM" */
char *link_memory(void);
/* To so many bytes from the beginning of a rank's memory. The source may change once that rank's answer has come,
 * whatever that is in the program; from one rank to another puts arrive in order. */
void link_put(int to, size_t offset, const void *source, size_t bytes);
/* For one more put of that rank. */
void link_wait(int from);
/* What each rank has, at most LINK_GATHER_BYTES, for all of them: all[r * bytes]. */
void link_gather(const void *mine, size_t bytes, void *all);
void link_barrier(void);
/* ---- what a program sends, as a schedule for hopcast predict (record.c) ---- */

/* From here to link_record_end, puts, waits and work are noted; then rank 0 writes them all to the file, rank r as
 * gpu<r> with host<r>. p2p: "on", puts from GPU to GPU; "rx", out of GPUs through the host's memory; "off", into
 * them, too. */
void link_record_begin(const char *path, const char *p2p);
void link_record_end(void);
/* Work that takes so long on a GPU, behind all that was waited for before; what is put later waits for it. */
void link_record_work(double seconds);
/* For link.c. */
void link_record_put(int to, size_t bytes);
void link_record_wait(int from);

_Noreturn void link_fail(const char *what, const char *why);
double link_now_s(void);

/* ---- of the two interfaces ---- */

char *link_open(size_t bytes, size_t bytes_a_rank, const char *torus);
void link_close(void);
void link_put_bytes(int to, size_t offset, const void *source, size_t bytes);
void link_wait_for(int from);

#endif
