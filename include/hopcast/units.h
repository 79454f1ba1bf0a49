/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Quantities as people write them: "300MiB", "1.5ms", "11.6GiB/s", "200Gbit/s".
 *
 * Bytes are uint64_t, seconds and bytes per second double. kB, MB ... EB are powers of ten, KiB, MiB ...
 * EiB powers of two; a size without a unit is bytes, times and rates other than 0 need one. Sizes are whole bytes. The decimal point is a
 * point in every locale.
 */
#ifndef HOPCAST_UNITS_H
#define HOPCAST_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "hopcast/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest size that is accepted anywhere: 1 EiB. */
#define HOP_BYTES_MAX ((uint64_t)1 << 60)

/* Each parses the whole of text (length bytes, not necessarily terminated). The diagnostic's place
 * is left empty: only the caller knows it. Negative, infinite and NaN values are refused. */
HOP_API enum hop_status hop_parse_bytes(const char *text, size_t length, uint64_t *bytes, struct hop_diag *diag);
HOP_API enum hop_status hop_parse_seconds(const char *text, size_t length, double *seconds, struct hop_diag *diag);
HOP_API enum hop_status hop_parse_rate(const char *text, size_t length, double *rate_Bps, struct hop_diag *diag);

/* Each writes a short text that the matching parser reads back to the very same value, and returns
 * buffer. 32 bytes always suffice. */
HOP_API char *hop_format_bytes(uint64_t bytes, char *buffer, size_t size);
HOP_API char *hop_format_seconds(double seconds, char *buffer, size_t size);

/* For eyes only, four significant digits: "1.234 MB", "12.44 GB/s", "25.28 ms". */
HOP_API char *hop_show_bytes(double bytes, char *buffer, size_t size);
HOP_API char *hop_show_rate(double rate_Bps, char *buffer, size_t size);
HOP_API char *hop_show_seconds(double seconds, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
