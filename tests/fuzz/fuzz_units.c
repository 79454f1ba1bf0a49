/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a quantity: refused with a diagnostic, or read, written and read back to the same value; and as a PCI
 * address. */
#include "fuzz.h"

#include "base/numa.h"
#include "hopcast/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void read_address(const uint8_t *data, size_t size)
{
    char text[64], again[32];
    size_t length = size < sizeof text - 1 ? size : sizeof text - 1;
    memcpy(text, data, length);
    text[length] = '\0';
    uint64_t address = hop_pci_address(text);
    (void)snprintf(again, sizeof again, "%x:%02x:%02x.%x", (unsigned)(address >> 16), (unsigned)(address >> 8 & 255),
                   (unsigned)(address >> 3 & 31), (unsigned)(address & 7));
    MUST(address == UINT64_MAX || hop_pci_address(again) == address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    char buffer[32];
    uint64_t bytes, bytes_again;
    double value, again;
    struct hop_diag diag;

    read_address(data, size);
    if (hop_parse_bytes(text, size, &bytes, &diag) == HOP_OK) {
        MUST(bytes <= HOP_BYTES_MAX);
        MUST(hop_format_bytes(bytes, buffer, sizeof buffer) == buffer);
        MUST(hop_parse_bytes(buffer, strlen(buffer), &bytes_again, NULL) == HOP_OK && bytes_again == bytes);
    } else {
        MUST(is_said(diag.what));
    }
    if (hop_parse_seconds(text, size, &value, &diag) == HOP_OK) {
        MUST(isfinite(value) && value >= 0);
        MUST(hop_format_seconds(value, buffer, sizeof buffer) == buffer);
        MUST(hop_parse_seconds(buffer, strlen(buffer), &again, NULL) == HOP_OK && again == value);
        (void)hop_show_seconds(value, buffer, sizeof buffer);
    } else {
        MUST(is_said(diag.what));
    }
    if (hop_parse_rate(text, size, &value, &diag) == HOP_OK) {
        MUST(isfinite(value) && value >= 0);
        (void)hop_show_rate(value, buffer, sizeof buffer);
    } else {
        MUST(is_said(diag.what));
    }
    return 0;
}
