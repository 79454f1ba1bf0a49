/* SPDX-License-Identifier: BSD-3-Clause */
/* Device: what moves the bytes when a schedule is run. */
#ifndef HOPCAST_DEVICE_H
#define HOPCAST_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "hopcast/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A back end. */
struct hop_device_facts {
    const char *name;   /* "host", "cuda", "hip" */
    const char *what;   /* it is, in a few words */
    bool on_processors; /* they copy: ranks may be threads, engines may copy for them, copies can be emulated */
};
/* Back ends by index, NULL past the last; the first is taken unless another is named. They are the library's, for good.
 */
HOP_API const struct hop_device_facts *hop_device_at(size_t index);
/* By name, NULL: the first. HOP_ERR_INVALID: there is none. */
HOP_API enum hop_status hop_device_named(const char *name, const struct hop_device_facts **device,
                                         struct hop_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
