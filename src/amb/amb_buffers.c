/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the host, and a device's beside it. */
#include "amb/amb.h"

enum { PAGE = 4096 };

static enum hop_status make_pair(struct hop_amb_buffers *b, uint64_t bytes, char **host, void **device,
                                 struct hop_diag *diag)
{
    uint64_t pages = bytes / PAGE + 1;
    *host = aligned_alloc(PAGE, (size_t)pages * PAGE);
    if (!*host)
        return hop_fail_memory(diag);
    memset(*host, 0, (size_t)pages * PAGE);
    if (!b->device || !bytes)
        return HOP_OK;
    (void)b->device->ops->register_host(b->device, *host, pages * PAGE, NULL); /* copies are slower without it */
    return b->device->ops->allocate(b->device, bytes, device, diag);
}

enum hop_status hop_amb_buffers_make(struct hop_amb_buffers *b, struct hop_diag *diag)
{
    b->failure = (struct hop_failure){&b->diag, HOP_OK};
    HOP_CHECK(make_pair(b, b->out_bytes, &b->out, &b->device_out, diag));
    return make_pair(b, b->in_bytes, &b->in, &b->device_in, diag);
}

static void finish_pair(struct hop_amb_buffers *b, char *host, void *device)
{
    if (b->device && host)
        b->device->ops->unregister_host(b->device, host);
    if (device)
        b->device->ops->free(b->device, device);
    free(host);
}

void hop_amb_buffers_finish(struct hop_amb_buffers *b)
{
    finish_pair(b, b->out, b->device_out);
    finish_pair(b, b->in, b->device_in);
    b->out = b->in = b->device_out = b->device_in = NULL;
}

static void copy(struct hop_amb_buffers *b, void *to, const void *from, uint64_t bytes)
{
    const struct hop_device_copy what = {.to = to, .from = from, .bytes = bytes, .way = HOP_NO_WAY};
    if (b->device && bytes && b->failure.status == HOP_OK)
        b->failure.status = b->device->ops->copy(b->device, HOP_STREAM_NOW, &what, b->failure.diag);
}

/* The host's copy is forgotten, so that what MPI gets came from the device. */
void hop_amb_buffers_load(struct hop_amb_buffers *b)
{
    copy(b, b->device_out, b->out, b->out_bytes);
    if (b->device)
        memset(b->out, 0, (size_t)b->out_bytes);
}

void hop_amb_buffers_unload(struct hop_amb_buffers *b)
{
    if (b->device)
        memset(b->in, 0, (size_t)b->in_bytes);
    copy(b, b->in, b->device_in, b->in_bytes);
}

const char *hop_amb_source(const struct hop_amb_buffers *b)
{
    return b->device && !b->staged ? b->device_out : b->out;
}

char *hop_amb_target(const struct hop_amb_buffers *b)
{
    return b->device && !b->staged ? b->device_in : b->in;
}

void hop_amb_before(struct hop_amb_buffers *b)
{
    if (b->staged)
        copy(b, b->out, b->device_out, b->out_bytes);
}

void hop_amb_after(struct hop_amb_buffers *b)
{
    if (b->staged)
        copy(b, b->device_in, b->in, b->in_bytes);
}
