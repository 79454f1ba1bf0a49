/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of programs that were compiled with another version of the headers. */
#include "base/base.h"

enum hop_status hop_options_take(void *own, size_t size, const void *given, struct hop_diag *diag)
{
    size_t told = 0;
    if (!given)
        return HOP_OK;
    memcpy(&told, given, sizeof told);
    if (told == 0)
        told = size;
    if (told < sizeof told)
        return hop_fail(diag, HOP_ERR_INVALID, "options of %zu bytes\nsizeof the structure, or 0", told);
    for (const unsigned char *byte = given, *end = byte + told, *new = byte + size; new < end; new ++) {
        if (*new != 0)
            return hop_fail(
                diag, HOP_ERR_UNSUPPORTED,
                "options of %zu bytes set what this library, version %s, does not know\na library as new as the "
                "headers of the program",
                told, hop_version());
    }
    memcpy(own, given, told < size ? told : size);
    memcpy(own, &size, sizeof size);
    return HOP_OK;
}
