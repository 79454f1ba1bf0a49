/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables as text: a row a line, words between blanks, a remark behind a '#'. What is wrong, where, and what was expected is
 * the first failure, which sticks: from there on nothing is read.
 */
#ifndef HOP_BASE_FIELDS_H
#define HOP_BASE_FIELDS_H

#include "base/base.h"

struct hop_field {
    const char *text;
    size_t length; /* 0: there is none */
};

struct hop_fields {
    const struct hop_source *source;
    struct hop_failure *failure;
    uint32_t number;                /* of the line, from 1 */
    const char *start, *next, *end; /* of the line, its next word, its words */
    const char *remark;             /* behind the '#', NULL: none */
    size_t remark_length;
    const char *rest; /* the lines behind it */
};

void hop_fields_begin(struct hop_fields *fields, const struct hop_source *source, struct hop_failure *failure);
bool hop_fields_next(struct hop_fields *fields); /* false: past the last, or that failed */

struct hop_field hop_fields_word(struct hop_fields *fields);
bool hop_field_is(struct hop_field word, const char *text);
bool hop_field_is_any_case(struct hop_field word, const char *text);
/* Digits alone, and what they say is below 2^64. */
bool hop_field_whole(struct hop_field word, uint64_t *value);
/* Up to 40 characters of it, for diagnostics and look-ups. */
enum { HOP_FIELD_SIZE = 41 };
char *hop_field_show(struct hop_field word, char text[HOP_FIELD_SIZE]);

/* What is wrong at a place of the line. */
void hop_fields_fail(const struct hop_fields *fields, const char *where, enum hop_status status, const char *format,
                     ...) HOP_PRINTF(4, 5);
/* The status of what another function made of it, which filled the failure's diagnostic; its place is here. */
void hop_fields_check(const struct hop_fields *fields, const char *where, enum hop_status status);
/* What stands there is no `what`, or is missing. */
void hop_fields_refuse(const struct hop_fields *fields, struct hop_field word, const char *what, const char *expected);
/* 0 where that failed. */
uint32_t hop_fields_count(struct hop_fields *fields, const char *what, uint32_t least, uint32_t most);
uint64_t hop_fields_bytes(struct hop_fields *fields, const char *what);
/* Nothing more stands in the line. */
void hop_fields_end(struct hop_fields *fields, const char *expected);

/* A text's copy without blanks at both ends; control characters become blanks. NULL: out of memory. */
char *hop_text_clean(struct hop_arena *arena, const char *text, size_t length);

#endif
