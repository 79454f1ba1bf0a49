/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strict reading of JSON. Every value knows where it stands, so that a diagnostic names a place:
 *
 *     "box.json:7:12"                     where the text is no JSON
 *     "box.json: /links/3/capacity_Bps"   a JSON pointer (RFC 6901) where the JSON is no topology or schedule
 *
 * A reader asks for what it expects, step by step from the document down. The first failure sticks: what is asked for
 * after it is as if it were absent, arrays are empty, and who loaded the document asks once.
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
    struct hop_failure *failure;   /* of the whole document */
};

/* A key that an object may have. */
struct hop_json_key {
    const char *name;
    bool required;
};

/* Works as json_loadb does, and returns NULL with the error's code json_error_out_of_memory wherever memory lacked, which jansson
 * need not say. */
json_t *hop_json_parse(const char *text, size_t size, size_t flags, json_error_t *error);
/* Parses a source, which must outlive the document. Duplicate keys and text after the end are refused. */
void hop_json_load(const struct hop_source *source, struct hop_json *document, struct hop_failure *failure);
void hop_json_finish(struct hop_json *document);

/* Whether the first character that is not white space opens an object. */
bool hop_json_detect(const struct hop_source *source);
/* Whether the document is an object that says {format: version}; a diagnostic says what else it seems to be. */
void hop_json_check_format(const struct hop_json *document, const char *format, int version);

/* An object's members in the order of `keys`; unknown and missing keys are refused. */
void hop_json_object(const struct hop_json *at, const struct hop_json_key *keys, uint32_t count,
                     struct hop_json *members);
/* One member of an object that may have others. */
struct hop_json hop_json_member(const struct hop_json *object, const char *key, bool required);
/* An array's length, at least `least`, and its i-th element. */
size_t hop_json_array(const struct hop_json *at, size_t least);
struct hop_json hop_json_element(const struct hop_json *array, size_t index);

/* What is absent is `otherwise`, a text NULL. The texts are the document's; a name has no control characters. A range
 * that is expected may be said in other words. */
const char *hop_json_string(const struct hop_json *at);
const char *hop_json_name(const struct hop_json *at);
double hop_json_number(const struct hop_json *at, double low, double high, double otherwise, const char *expected);
uint64_t hop_json_whole(const struct hop_json *at, uint64_t low, uint64_t high, uint64_t otherwise,
                        const char *expected);
/* true or false; what is absent is false. */
bool hop_json_flag(const struct hop_json *at);
/* The index of a text among `count` names. */
uint32_t hop_json_choice(const struct hop_json *at, const char *(*name)(const void *context, uint32_t index),
                         const void *context, uint32_t count, uint32_t otherwise);

/* For what only the caller can judge: a failure at a value. */
void hop_json_fail(const struct hop_json *at, enum hop_status status, const char *format, ...) HOP_PRINTF(3, 4);
/* The place of a failure that has none, as those of adding to a topology. */
void hop_json_settle(const struct hop_json *at);
/* What another call returned, which has filled the diagnostic: a failure at a value. */
void hop_json_check(const struct hop_json *at, enum hop_status status);

#endif
