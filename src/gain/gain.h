/* SPDX-License-Identifier: BSD-3-Clause */
/* A gain that several have. */
#ifndef HOP_GAIN_H
#define HOP_GAIN_H

#include "hopcast/gain.h"

/* The same once more: it is there until as many have destroyed it as have it. NULL is allowed. */
struct hop_gain *hop_gain_share(const struct hop_gain *gain);

#endif
