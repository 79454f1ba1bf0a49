/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * JSON written after a template that looks like what it makes:
 *
 *     hop_json_put(out, "\n  {name:%s,bytes:%u,clean:%hhu,times_s:[", name, bytes, clean);
 *     for (i = 0; i < count; i++)
 *         hop_json_put(out, "%g", times_s[i]);
 *     hop_json_put(out, "]}");
 *
 * A comma is put wherever one is missing, so that no element needs to know whether it is the first. Failures stick to
 * the buffer.
 */
#ifndef HOP_BASE_JSON_WRITE_H
#define HOP_BASE_JSON_WRITE_H

#include "base/base.h"

/*
 * Words before a colon are names of members, other words stand as they are, white space stays where it is (behind the
 * comma). %s: a text, NULL is null; as a name where a colon follows. %g: the shortest number that reads back the same,
 * null when it is not finite; %.17g: all its digits. %d, %u, %lu, %llu: whole numbers. %hhu: true or false.
 */
void hop_json_put(struct hop_buffer *out, const char *format, ...) HOP_PRINTF(2, 3);
/* A whole document as a value, which is freed; NULL: its making failed. */
void hop_json_embed(struct hop_buffer *out, char *document);

#endif
