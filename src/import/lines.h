/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines and words of terminal output: what the readers of nvidia-smi, rocm-smi and ibnetdiscover text and of what
 * benchmarks print share.
 *
 * Everything that is not printable ASCII separates words, and so do colour codes, also those that lost their escape
 * byte on the way through a clipboard ("[4mGPU0").
 */
#ifndef HOP_IMPORT_SMI_TEXT_H
#define HOP_IMPORT_SMI_TEXT_H

#include "base/base.h"

#define HOP_WORDS_LIMIT 1024u /* of one line; the rest is dropped */
#define HOP_WORD_MAX 63u      /* characters of a word that are kept as a name */

struct hop_word {
    const char *text; /* in the source, not terminated */
    uint32_t length;
    uint32_t column; /* 1-based */
};

struct hop_lines {
    const struct hop_source *source;
    struct hop_failure *failure; /* of what reads them, after which there are no more lines; NULL: they are read on */
    size_t next;      /* where the next line begins */
    uint32_t line;    /* number of the line just read, 1-based */
    const char *text; /* the line just read */
    uint32_t length;
    struct hop_word words[HOP_WORDS_LIMIT];
    uint32_t count;
    const char *at, *end; /* what of the line was taken so far, and its end */
};

void hop_lines_init(struct hop_lines *lines, const struct hop_source *source);
/* Reads the next line that has words; false at the end, where line is that of the end of the text. */
bool hop_lines_next(struct hop_lines *lines);
void hop_lines_place(const struct hop_lines *lines, uint32_t column, struct hop_diag *diag);
/* The failure, at a column of the line just read. */
void hop_lines_refuse(const struct hop_lines *lines, enum hop_status status, uint32_t column, const char *format, ...)
    HOP_PRINTF(4, 5);
/* The column of the first word, or behind the text where there is no line. */
uint32_t hop_lines_column(const struct hop_lines *lines, bool more);

bool hop_word_is(const struct hop_word *word, const char *text);
/* Up to 40 characters of it, for diagnostics: "%.*s". */
#define HOP_WORD_SHOWN(word) (int)((word)->length < 40 ? (word)->length : 40), (word)->text
/* The digits that follow prefix and end the word: their value, at most 999999999; -1: the word has another form. */
int hop_word_number(const struct hop_word *word, const char *prefix);
/* Digits that are the whole word: what they say is below 2^64. */
bool hop_word_whole(const struct hop_word *word, uint64_t *value);
/* A decimal number that is the whole word, at least 0; false: the word is none, or not finite. */
bool hop_word_decimal(const struct hop_word *word, double *value);
/* A cell of a matrix of rates: NAN where it says N/A, nan or inf, or what no link does (below 1e-6 or above 1e6 GB/s);
 * false: it says something else. */
bool hop_word_rate(const struct hop_word *word, double *value);
/* Whether the line just read contains a text. */
bool hop_lines_hold(const struct hop_lines *lines, const char *text);

/* ---- from left to right ---- */

/* What stands next, blanks before it apart; nothing is taken where something else does. */
bool hop_lines_take(struct hop_lines *lines, const char *word);
bool hop_lines_number(struct hop_lines *lines, unsigned base, uint64_t high, uint64_t *value);
bool hop_lines_quoted(struct hop_lines *lines, const char **start, size_t *length); /* between quotation marks */
/* Skips to just behind the first `word` that follows; false: there is none. */
bool hop_lines_skip_to(struct hop_lines *lines, const char *word);
/* The column where the next thing stands. */
uint32_t hop_lines_here(const struct hop_lines *lines);
/* A failure there: what is wrong, a line feed, what was expected. */
void hop_lines_wrong(const struct hop_lines *lines, const char *message);
/* What must stand next; nothing after a failure. */
void hop_lines_need(struct hop_lines *lines, const char *word, const char *message);
uint64_t hop_lines_need_number(struct hop_lines *lines, unsigned base, uint64_t high, const char *message);

#endif
