/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantities with units, read and written. */
#include "base/base.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>

struct unit {
    const char *name;
    double factor;
};

static const struct unit byte_units[] = {
    {"B", 1},     {"kB", 1e3},     {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},    {"PB", 1e15},
    {"EB", 1e18}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"PiB", 0x1p50}, {"EiB", 0x1p60},
};
static const struct unit second_units[] = {
    {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"min", 60},
};
static const struct unit rate_units[] = {
    {"B/s", 1},        {"kB/s", 1e3},     {"MB/s", 1e6},     {"GB/s", 1e9},     {"TB/s", 1e12},
    {"KiB/s", 0x1p10}, {"MiB/s", 0x1p20}, {"GiB/s", 0x1p30}, {"TiB/s", 0x1p40}, {"bit/s", 0.125},
    {"kbit/s", 125},   {"Mbit/s", 125e3}, {"Gbit/s", 125e6}, {"Tbit/s", 125e9},
};

/* A quantity: its number and the factor of its unit. kind is for the diagnostic. */
static enum hop_status parse(const char *text, size_t length, const struct unit *units, size_t unit_count,
                             const char *kind, double *number, double *factor, struct hop_diag *diag)
{
    char copy[64];
    if (length == 0 || length >= sizeof copy) {
        hop_fail(diag, HOP_ERR_SYNTAX, length ? "the %s is too long" : "a %s is missing", kind);
        goto expected;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    size_t digits = strspn(copy, "0123456789.");
    size_t exponent = 0;
    if (digits && (copy[digits] == 'e' || copy[digits] == 'E')) {
        size_t sign = copy[digits + 1] == '-' || copy[digits + 1] == '+';
        size_t run = strspn(copy + digits + 1 + sign, "0123456789");
        exponent = run ? 1 + sign + run : 0;
    }
    if (digits == 0) {
        hop_fail(diag, HOP_ERR_SYNTAX, copy[0] == '-' ? "the %s '%s' is negative" : "'%s%s' is no %s",
                 copy[0] == '-' ? kind : "", copy, kind);
        goto expected;
    }
    char *end;
    double value = hop_text_number(copy, &end);
    if (end != copy + digits + exponent || !isfinite(value) || strlen(copy) != length) {
        hop_fail(diag, HOP_ERR_SYNTAX, "'%s' is no %s", copy, kind);
        goto expected;
    }
    const char *name = end + strspn(end, " \t");
    if (*name == '\0' && (units == byte_units || value == 0)) {
        *number = value;
        *factor = 1;
        return HOP_OK;
    }
    if (*name == '\0') {
        hop_fail(diag, HOP_ERR_SYNTAX, "the %s '%s' has no unit", kind, copy);
        goto expected;
    }
    for (size_t i = 0; i < unit_count; i++) {
        if (strcmp(name, units[i].name) == 0) {
            *number = value;
            *factor = units[i].factor;
            return HOP_OK;
        }
    }
    hop_fail(diag, HOP_ERR_SYNTAX, "unknown unit '%s' in the %s '%s'", name, kind, copy);
expected:
    if (units == byte_units)
        hop_diag_expect(diag, "a size such as 4096, 300MiB or 1.5GB (units B kB MB ... EB KiB MiB ... EiB)");
    else if (units == second_units)
        hop_diag_expect(diag, "a time such as 30us or 1.5ms (units s ms us ns min)");
    else
        hop_diag_expect(diag, "a rate such as 12.4GB/s or 200Gbit/s (units B/s kB/s ... TiB/s, bit/s ... Tbit/s)");
    return HOP_ERR_SYNTAX;
}

/* Of the usual form, a whole number of up to 15 digits and perhaps a unit; false: it may be another one. */
static bool parse_plain(const char *text, size_t length, uint64_t *bytes)
{
    uint64_t whole = 0, factor = 0, product;
    size_t digits = 0;
    for (; digits < length && digits < 15 && text[digits] >= '0' && text[digits] <= '9'; digits++)
        whole = whole * 10 + (uint64_t)(text[digits] - '0');
    size_t rest = length - digits;
    for (size_t i = 0; i < HOP_COUNT(byte_units) && !factor; i++) {
        const char *name = byte_units[i].name;
        if (rest == 0 || (name[0] == text[digits] && strlen(name) == rest && memcmp(name, text + digits, rest) == 0))
            factor = (uint64_t)byte_units[i].factor;
    }
    if (digits == 0 || !factor || __builtin_mul_overflow(whole, factor, &product) || product > (uint64_t)HOP_BYTES_MAX)
        return false;
    *bytes = product;
    return true;
}

enum hop_status hop_parse_bytes(const char *text, size_t length, uint64_t *bytes, struct hop_diag *diag)
{
    double number, factor;
    if (parse_plain(text, length, bytes))
        return HOP_OK;
    enum hop_status status = parse(text, length, byte_units, HOP_COUNT(byte_units), "size", &number, &factor, diag);
    if (status != HOP_OK)
        return status;
    /* Whole numbers are kept exactly, also above 2^53. */
    if (memchr(text, '.', length) == NULL && memchr(text, 'e', length) == NULL && memchr(text, 'E', length) == NULL) {
        unsigned long long whole = 0, scale = (unsigned long long)factor;
        for (size_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++) {
            if (__builtin_mul_overflow(whole, 10ull, &whole) ||
                __builtin_add_overflow(whole, (unsigned long long)(text[i] - '0'), &whole))
                goto too_large;
        }
        if (__builtin_mul_overflow(whole, scale, &whole))
            goto too_large;
        if (whole > (unsigned long long)HOP_BYTES_MAX)
            goto too_large;
        *bytes = whole;
        return HOP_OK;
    }
    if (number * factor > (double)HOP_BYTES_MAX)
        goto too_large;
    if (factor == 1 && number != floor(number))
        return hop_fail(diag, HOP_ERR_SYNTAX,
                        "'%.*s' is no whole number of bytes\nwhole bytes, or a larger unit such as kB or MiB",
                        (int)length, text);
    *bytes = (uint64_t)round(number * factor);
    return HOP_OK;
too_large:
    return hop_fail(diag, HOP_ERR_LIMIT, "the size '%.*s' is too large\nat most 2^60 bytes (1 EiB)", (int)length, text);
}

static enum hop_status parse_real(const char *text, size_t length, const struct unit *units, size_t unit_count,
                                  const char *kind, double *value, struct hop_diag *diag)
{
    double number, factor;
    enum hop_status status = parse(text, length, units, unit_count, kind, &number, &factor, diag);
    if (status != HOP_OK)
        return status;
    if (number * factor > 1e18)
        return hop_fail(diag, HOP_ERR_LIMIT, "the %s '%.*s' is too large\nat most 1e18", kind, (int)length, text);
    /* Decimal fractions of a second divide, so that 1.5ms is the double nearest to 0.0015. */
    *value = factor < 1 && factor != 0.125 ? number / round(1 / factor) : number * factor;
    return HOP_OK;
}

enum hop_status hop_parse_seconds(const char *text, size_t length, double *seconds, struct hop_diag *diag)
{
    return parse_real(text, length, second_units, HOP_COUNT(second_units), "time", seconds, diag);
}

enum hop_status hop_parse_rate(const char *text, size_t length, double *rate_Bps, struct hop_diag *diag)
{
    return parse_real(text, length, rate_units, HOP_COUNT(rate_units), "rate", rate_Bps, diag);
}

char *hop_format_bytes(uint64_t bytes, char *buffer, size_t size)
{
    static const char *const binary[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    static const char *const decimal[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    uint64_t by_1024 = bytes, by_1000 = bytes;
    unsigned unit_1024 = 0, unit_1000 = 0;
    for (; unit_1024 < 6 && bytes && by_1024 % 1024 == 0; unit_1024++)
        by_1024 /= 1024;
    for (; unit_1000 < 6 && bytes && by_1000 % 1000 == 0; unit_1000++)
        by_1000 /= 1000;
    bool round = unit_1000 > 0 && by_1000 < by_1024; /* 1GB rather than 1000000000B or 976562.5KiB */
    char text[32];
    (void)strcpy(hop_text_put_number(text, round ? by_1000 : by_1024), round ? decimal[unit_1000] : binary[unit_1024]);
    if (size > 0)
        *stpncpy(buffer, text, size - 1) = '\0';
    return buffer;
}

/* The shortest decimal of seconds * factor that reads back the same with that unit; false: none without an exponent. */
static bool format_in(double seconds, const struct unit *scale, bool exponent, char *buffer, size_t size)
{
    for (int digits = 1; digits <= 17; digits++) {
        char number[32];
        double back;
        (void)snprintf(number, sizeof number, "%.*g", digits, seconds * scale->factor);
        if (!exponent && strchr(number, 'e'))
            continue;
        (void)snprintf(buffer, size, "%s%s", number, scale->name);
        if (hop_parse_seconds(buffer, strlen(buffer), &back, NULL) == HOP_OK && back == seconds)
            return true;
    }
    return false;
}

char *hop_format_seconds(double seconds, char *buffer, size_t size)
{
    static const struct unit scales[] = {{"s", 1}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}};
    unsigned scale = 0;
    while (scale < 3 && seconds > 0 && seconds * scales[scale].factor < 1)
        scale++;
    locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    if (!format_in(seconds, &scales[scale], false, buffer, size) &&
        !format_in(seconds, &scales[0], false, buffer, size))
        (void)format_in(seconds, &scales[0], true, buffer, size); /* plain seconds always read back */
    (void)uselocale(before);
    return buffer;
}

char *hop_show_fixed(double value, int decimals, char *buffer, size_t size)
{
    if (isfinite(value))
        (void)snprintf(buffer, size, "%.*f", decimals, value);
    else
        (void)snprintf(buffer, size, "-");
    return buffer;
}

char *hop_show_percent(double share, int digits, char *buffer, size_t size)
{
    double percent = 100 * share, least = 1e-4;
    if (!isfinite(percent) || fabs(percent) >= pow(10, digits) - 0.5) /* from where on %g would write 1e+02 */
        return hop_show_fixed(percent, 0, buffer, size);
    (void)snprintf(buffer, size, "%.*g", digits, percent > 0 && percent < least ? least : percent);
    return buffer;
}

static char *show(double value, const char *const *units, unsigned count, double base, char *buffer, size_t size)
{
    unsigned unit = 0;
    if (!isfinite(value))
        return hop_show_fixed(value, 0, buffer, size);
    while (unit + 1 < count && value >= 999.95) {
        value /= base;
        unit++;
    }
    int decimals = value >= 99.995 ? 1 : value >= 9.9995 ? 2 : 3;
    (void)snprintf(buffer, size, "%.*f %s", decimals, value, units[unit]);
    return buffer;
}

char *hop_show_bytes(double bytes, char *buffer, size_t size)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    if (bytes < 1000 && bytes == floor(bytes)) {
        (void)snprintf(buffer, size, "%.0f B", bytes);
        return buffer;
    }
    return show(bytes, units, 7, 1e3, buffer, size);
}

char *hop_show_rate(double rate_Bps, char *buffer, size_t size)
{
    static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
    return show(rate_Bps, units, 5, 1e3, buffer, size);
}

char *hop_show_seconds(double seconds, char *buffer, size_t size)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    if (seconds == 0) {
        (void)snprintf(buffer, size, "0 s");
        return buffer;
    }
    return show(seconds * 1e9, units, 4, 1e3, buffer, size);
}
