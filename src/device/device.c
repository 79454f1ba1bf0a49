/* SPDX-License-Identifier: BSD-3-Clause */
/* The back ends. */
#include "device/device.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"

static const struct hop_device_ops *const devices[] = {&hop_device_host, &hop_device_cuda, &hop_device_hip};

const struct hop_device_facts *hop_device_at(size_t index)
{
    return index < HOP_COUNT(devices) ? &devices[index]->facts : NULL;
}

enum hop_status hop_device_named(const char *name, const struct hop_device_facts **device, struct hop_diag *diag)
{
    char names[200];
    size_t used = 0;
    for (size_t i = 0; i < HOP_COUNT(devices) && used < sizeof names; i++) {
        *device = &devices[i]->facts;
        if (!name || strcmp((*device)->name, name) == 0)
            return HOP_OK;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? " or " : "", (*device)->name);
    }
    return hop_fail(diag, HOP_ERR_INVALID, "there is no device back end '%.50s'\n%s", name, names);
}
