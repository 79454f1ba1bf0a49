/* SPDX-License-Identifier: BSD-3-Clause */
/* Inputs compressed with gzip, unpacked in memory; several members one after the other are one text. */
#include "base/base.h"

bool hop_source_is_gzip(const struct hop_source *source)
{
    return source->size >= 2 && memcmp(source->text, "\x1f\x8b", 2) == 0;
}

#ifdef HOP_HAVE_ZLIB
#include <zlib.h>

/* Appends what the stream yields; *done: its input is used up. */
static enum hop_status inflate_all(z_stream *stream, struct hop_source *out, const char *name, struct hop_diag *diag)
{
    size_t capacity = 0;
    int result = Z_OK;
    for (;;) {
        if (out->size + 1 >= capacity) {
            capacity = capacity ? capacity * 2 : 1 << 16;
            char *grown = realloc(out->text, capacity);
            if (!grown)
                return hop_fail_memory(diag);
            out->text = grown;
        }
        stream->next_out = (Bytef *)out->text + out->size;
        stream->avail_out = (uInt)(capacity - 1 - out->size);
        uInt room = stream->avail_out;
        result = inflate(stream, Z_NO_FLUSH);
        out->size += room - stream->avail_out;
        out->text[out->size] = '\0';
        if (out->size > HOP_SOURCE_LIMIT) {
            hop_fail(diag, HOP_ERR_LIMIT, "the unpacked input is larger than %zu bytes", HOP_SOURCE_LIMIT);
            hop_diag_place(diag, "%.200s", name);
            return HOP_ERR_LIMIT;
        }
        if (result == Z_STREAM_END && stream->avail_in == 0)
            return HOP_OK;
        if (result == Z_STREAM_END)
            result = inflateReset(stream);
        if (result != Z_OK)
            break;
    }
    if (result == Z_MEM_ERROR)
        return hop_fail_memory(diag);
    hop_fail(diag, HOP_ERR_SYNTAX,
             result == Z_BUF_ERROR ? "the compressed input ends too early" : "the compressed input is damaged");
    hop_diag_place(diag, "%.180s: byte 0x%lx", name, stream->total_in);
    hop_diag_expect(diag, "a whole gzip file");
    return HOP_ERR_SYNTAX;
}

enum hop_status hop_source_unpack(struct hop_source *source, struct hop_diag *diag)
{
    enum { GZIP = 15 + 16 }; /* the largest window, with gzip's header and check sum */
    z_stream stream = {.next_in = (Bytef *)source->text, .avail_in = (uInt)source->size};
    struct hop_source out = {0};
    if (!hop_source_is_gzip(source))
        return HOP_OK;
    if (inflateInit2(&stream, GZIP) != Z_OK)
        return hop_fail_memory(diag);
    enum hop_status status = inflate_all(&stream, &out, source->name, diag);
    (void)inflateEnd(&stream);
    if (status == HOP_OK) {
        free(source->text);
        source->text = out.text;
        source->size = out.size;
    } else {
        free(out.text);
    }
    return status;
}
#else
enum hop_status hop_source_unpack(struct hop_source *source, struct hop_diag *diag)
{
    if (!hop_source_is_gzip(source))
        return HOP_OK;
    hop_fail(diag, HOP_ERR_UNSUPPORTED, "this build cannot read compressed files: it was made without zlib");
    hop_diag_place(diag, "%.200s", source->name);
    hop_diag_expect(diag, "a file unpacked with gunzip, or a build with zlib (Debian: zlib1g-dev)");
    return HOP_ERR_UNSUPPORTED;
}
#endif
