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
 *
 * A rank puts out of one piece of memory into the others' other piece. Both are the host's or a GPU's; the program gets
 * at them by link_write and link_read alone, so that it need not know.
 */
#ifndef LINK_H
#define LINK_H

#include <stddef.h>

enum { LINK_GATHER_BYTES = 64 };

struct link_needs {
    size_t in, in_a_rank; /* bytes, zeroed, that others put to: so many, and so many more for each rank that there is */
    size_t out, out_a_rank; /* to put from */
    const char *torus;      /* "4x2x1"; NULL: a ring */
    const char *place;      /* host (NULL); gpu: one in software; cuda or hip: the first one of that driver */
};
void link_begin(const struct link_needs *needs);
void link_end(void);
int link_rank(void);
int link_size(void);
const char *link_name(void); /* "card", "OpenSHMEM" */
/* Between what others put to, or this rank puts from, and memory of the program. */
void link_read(void *to, size_t in, size_t bytes);
void link_write(size_t out, const void *from, size_t bytes);
/* From and to so many bytes from the beginning. The source may change once that rank's answer has come, whatever that
 * is in the program; from one rank to another puts arrive in order. */
void link_put(int to, size_t in, size_t out, size_t bytes);
/* For one more put of that rank. */
void link_wait(int from);
/* What each rank has, at most LINK_GATHER_BYTES, for all of them: all[r * bytes]. */
void link_gather(const void *mine, size_t bytes, void *all);
void link_barrier(void);

/* ---- what a program sends, as a schedule for hopcast predict (record.c) ---- */

/* From here to link_record_end, puts, waits and work are noted; then rank 0 writes them all to the file, rank r as
 * gpu<r> with host<r>. p2p: "on", puts from GPU to GPU; "rx", out of GPUs through the host's memory; "off", into
 * them, too. "copies": no cards, but a network of hosts whose library copies out of and into GPUs; rank r is
 * node<r>.gpu0 with node<r>.host0, as in a cluster. */
void link_record_begin(const char *path, const char *p2p);
void link_record_end(void);
/* Work that takes so long on a GPU, behind all that was waited for before; what is put later waits for it. */
void link_record_work(double seconds);
/* For link.c, and for programs that send nothing. Of the host: what is gathered lies there, whatever the program's
 * memory is. */
void link_record_put(int to, size_t bytes, int of_host);
void link_record_wait(int from);
void link_record_gather(size_t bytes);

_Noreturn void link_fail(const char *what, const char *why);
double link_now_s(void);

/* ---- of the two interfaces ---- */

void link_open(const struct link_needs *needs);
void link_close(void);
void link_put_bytes(int to, size_t in, size_t out, size_t bytes);
void link_wait_for(int from);

#endif
