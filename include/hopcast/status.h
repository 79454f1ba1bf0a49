/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Status codes and diagnostics.
 *
 * Every call that can fail returns an enum hop_status, HOP_OK being 0, and takes a struct hop_diag
 * as its last parameter, which may be NULL. Who detects an error fills the diagnostic; callers
 * only pass it on. Outputs are set on success only. The library never prints and never exits.
 */
#ifndef HOPCAST_STATUS_H
#define HOPCAST_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HOP_API __attribute__((visibility("default")))
#define HOP_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define HOP_API
#define HOP_PRINTF(text, first)
#endif

/* One line a code: enumerator, short text. */
#define HOP_STATUS_LIST(X)                                                                         \
    X(HOP_OK, "ok")                                                                                \
    X(HOP_ERR_MEMORY, "out of memory")                                                             \
    X(HOP_ERR_IO, "cannot read or write")                                                          \
    X(HOP_ERR_SYNTAX, "malformed input")                                                           \
    X(HOP_ERR_INVALID, "invalid input")                                                            \
    X(HOP_ERR_LIMIT, "limit exceeded")                                                             \
    X(HOP_ERR_NOT_FOUND, "not found")                                                              \
    X(HOP_ERR_NO_ROUTE, "no route")                                                                \
    X(HOP_ERR_DEADLOCK, "deadlock")                                                                \
    X(HOP_ERR_UNSUPPORTED, "not supported in this build")                                          \
    X(HOP_ERR_LOST, "a process of the group was lost")                                             \
    X(HOP_ERR_STOPPED, "stopped")

enum hop_status {
#define HOP_STATUS_ENUM(code, text) code,
    HOP_STATUS_LIST(HOP_STATUS_ENUM)
#undef HOP_STATUS_ENUM
};

/* Where, what, and what was expected; each a text, empty when there is nothing to say. */
struct hop_diag {
    enum hop_status status;
    char place[224];    /* "file:line:column", "file: /json/pointer", "file:line: <element>" */
    char what[448];     /* what is wrong */
    char expected[320]; /* what was expected, or what to do */
};

/* The short text of a code; "unknown status" for a value that is none. */
HOP_API const char *hop_status_text(enum hop_status status);

/* The version that a program was compiled with. Programs of one MAJOR.MINOR work with every library of that. */
#define HOP_VERSION_MAJOR 0
#define HOP_VERSION_MINOR 1
#define HOP_VERSION_PATCH 0

/* The version of the library that it runs with, as in "0.1.0".
 *
 * Structures of options begin with their size, so that programs and libraries of different versions understand each other:
 * `struct hop_order_options o = {.size = sizeof o, ...}`. Fields may come at the end in later versions, all zero being
 * what was before. Size 0 stands for the fields of version 0.1. A library refuses (HOP_ERR_UNSUPPORTED) fields that it
 * does not know and that are not zero. Structures of options that stand inside others keep their length while MAJOR.MINOR
 * stays the same. */
HOP_API const char *hop_version(void);

#ifdef __cplusplus
}
#endif
#endif
