/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strict reading of JSON. Every value knows where it stands, so that a diagnostic names a place:
 *
 *     "box.json:7:12"                     where the text is no JSON
 *     "box.json: /links/3/capacity_Bps"   a JSON pointer (RFC 6901) where the JSON is no topology or schedule
 *
 * A reader asks for what it expects, step by step from the document down, and returns the first status that is not
 * HOP_OK.
 */
#ifndef HOP_BASE_JSON_H
#define HOP_BASE_JSON_H

#include <jansson.h>

#include "base/base.h"

/* A value and where it stands. Parents must outlive their children, as local variables of nested functions do. */
struct hop_json {
    const json_t *value;           /* NULL: an optional key that is absent */
    const struct hop_json *parent; /* NULL: the document */
    const char *key;               /* its key; the file's name for the document; NULL in an array */
    size_t index;                  /* in an array */
};

/* A key that an object may have. */
struct hop_json_key {
    const char *name;
    bool required;
};

/* Parses a source, which must outlive the document. Duplicate keys and text after the end are refused. */
enum hop_status hop_json_load(const struct hop_source *source, struct hop_json *document, struct hop_diag *diag);
void hop_json_finish(struct hop_json *document);

/* Whether the first character that is not white space opens an object. */
bool hop_json_detect(const struct hop_source *source);
/* Whether the document is an object that says {format: version}; a diagnostic says what else it seems to be. */
enum hop_status hop_json_check_format(const struct hop_json *document, const char *format, int version,
                                      struct hop_diag *diag);

/* An object's members in the order of `keys`; unknown and missing keys are refused. */
enum hop_status hop_json_object(const struct hop_json *at, const struct hop_json_key *keys, uint32_t count,
                                struct hop_json *members, struct hop_diag *diag);
/* An array's length, at least `least`, and its i-th element. */
enum hop_status hop_json_array(const struct hop_json *at, size_t least, size_t *count, struct hop_diag *diag);
struct hop_json hop_json_element(const struct hop_json *array, size_t index);

/* The texts are the document's. A name has no control characters. */
enum hop_status hop_json_string(const struct hop_json *at, const char **text, struct hop_diag *diag);
enum hop_status hop_json_name(const struct hop_json *at, const char **text, struct hop_diag *diag);
enum hop_status hop_json_number(const struct hop_json *at, double low, double high, double *value,
                                struct hop_diag *diag);
enum hop_status hop_json_whole(const struct hop_json *at, uint64_t low, uint64_t high, uint64_t *value,
                               struct hop_diag *diag);
/* The index of a text among `count` names. */
enum hop_status hop_json_choice(const struct hop_json *at, const char *(*name)(const void *context, uint32_t index),
                                const void *context, uint32_t count, uint32_t *choice, struct hop_diag *diag);

/* For what only the caller can judge: fills the diagnostic at a value; hop_diag_expect may follow. */
enum hop_status hop_json_fail(const struct hop_json *at, struct hop_diag *diag, enum hop_status status,
                              const char *format, ...) HOP_PRINTF(4, 5);
/* Gives a diagnostic that somebody else filled its place. */
void hop_json_place(const struct hop_json *at, struct hop_diag *diag);

#endif
