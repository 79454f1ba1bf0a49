/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams: what the programs of a launch read and write. */
#ifndef HOP_RUN_STREAMS_H
#define HOP_RUN_STREAMS_H

#include "base/base.h"
#include "hopcast/run.h"

struct hop_streams;

/* As the options say: whose standard input is the launcher's, and whether lines come whole. */
enum hop_status hop_streams_create(const struct hop_launch_options *options, struct hop_streams **streams,
                                   struct hop_diag *diag);
/* Of a rank that is about to become its program: they are its own from here on. false: errno says why not. */
bool hop_streams_take(struct hop_streams *streams, uint32_t rank);
/* The rank has been started. */
void hop_streams_given(struct hop_streams *streams, uint32_t rank);
/* All have been: a thread passes on what they read and write. */
enum hop_status hop_streams_begin(struct hop_streams *streams, struct hop_diag *diag);
/* All have ended: what they wrote is passed on to its end, unless `stop` is set while nobody reads it. NULL is allowed. */
void hop_streams_destroy(struct hop_streams *streams);

#endif
