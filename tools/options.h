/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options of subcommands: a table each. The command line is read by it, help shows it, shells complete by it
 * (`hopcast completion bash`), and the manual pages set it.
 */
#ifndef HOP_TOOL_OPTIONS_H
#define HOP_TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hopcast/status.h"

struct tool_command;

enum { TOOL_SIZES = 64, TOOL_OPTIONS = 126 };

/* What a value is, and what it is stored as. */
enum tool_option_kind {
    OPTION_END,     /* of the table, unless the entry is a shared one */
    OPTION_HEADING, /* help: a line above those that follow */
    OPTION_FLAG,    /* none; bool */
    OPTION_TEXT,    /* const char *, of argv */
    OPTION_LIST,    /* struct tool_words, one more each time */
    OPTION_NAMES,   /* struct tool_words, names with commas between, none of them empty */
    OPTION_WHOLE,   /* low to high; uint64_t */
    OPTION_COUNT,   /* low to high; uint32_t */
    OPTION_NUMBER,  /* least to most; double */
    OPTION_TIME,    /* with a unit or in seconds, least to most; double, in seconds */
    OPTION_SIZE,    /* bytes, low at least; uint64_t */
    OPTION_SIZES,   /* SIZE and LOW:HIGH*FACTOR with commas between, ascending, `high` at most; struct tool_sizes */
    OPTION_CHOICE,  /* one of the choices; an enumeration, by its place among them */
    OPTION_CHOICES, /* choices with commas between; unsigned, a bit each */
    OPTION_CALL,    /* what `take` makes of it */
    OPTION_HELP,    /* --help, which every table has */
    OPTION_GONE     /* a former spelling: refused, `help` says what it is called now */
};

/* What is behind a value that may be "-". */
enum tool_option_use {
    USE_NOTHING,
    USE_INPUT,  /* a file that is read, -: standard input, which only one can have */
    USE_OUTPUT, /* a file that is written, -: standard output, which only one can have */
    USE_FILE,   /* a file that is written, never standard output */
    USE_PRINT   /* it prints to standard output, whatever its value */
};

struct tool_taking {
    const struct tool_command *command;
    const struct tool_option *option;
    void *to;
};

struct tool_option {
    const char *name; /* after "--"; neither name nor letter: words that are no options */
    char letter;
    enum tool_option_kind kind;
    enum tool_option_use use;
    bool once;            /* a second one is refused; else the last counts */
    size_t at;            /* where its value goes: offset in the request */
    const char *argument; /* as help names the value; of choices: NULL, they are named themselves */
    const char *help;
    uint64_t low, high;
    double least, most;
    const char *choices; /* with spaces between, */
    /* or by index, NULL or "?" behind the last; with what each is, which help says for {choices}. */
    const char *(*choice_at)(unsigned index), *(*choice_is)(unsigned index);
    const char *needs, *excludes; /* names with spaces between: one of them must, none may be there, too */
    const char *missing;          /* not NULL: it must be given; else this is said */
    void (*take)(const struct tool_taking *taking, char *text);
    const struct tool_option *shared; /* says all that this entry does not */
};
#define AT(type, member) .at = offsetof(struct type, member)
/* An entry: long name, letter or 0, kind, where its value goes, how help names the value, help, further members. */
#define OPTION(LONG, LETTER, KIND, WHERE, ARGUMENT, ...)                                                               \
    {                                                                                                                  \
        .name = LONG, .letter = LETTER, .kind = OPTION_##KIND, WHERE, .argument = ARGUMENT, .help = __VA_ARGS__        \
    }
#define FLAG(LONG, LETTER, WHERE, ...) OPTION(LONG, LETTER, FLAG, WHERE, NULL, __VA_ARGS__)
#define SHARED(OPTION, ...)                                                                                            \
    {                                                                                                                  \
        .shared = &option_##OPTION, __VA_ARGS__                                                                        \
    }
#define HEADING(TEXT)                                                                                                  \
    {                                                                                                                  \
        .kind = OPTION_HEADING, .help = TEXT                                                                           \
    }
#define GONE(LONG, NEW)                                                                                                \
    {                                                                                                                  \
        .name = LONG, .kind = OPTION_GONE, .help = NEW                                                                 \
    }
#define END_OF_OPTIONS                                                                                                 \
    {                                                                                                                  \
        .kind = OPTION_END                                                                                             \
    }

struct tool_words {
    char **at; /* copies */
    uint32_t count;
};
void tool_words_add(struct tool_words *words, const char *text);

struct tool_sizes {
    uint64_t at[TOOL_SIZES];
    uint32_t count;
};

/* What was given: the first member of every request. */
struct tool_given {
    const struct tool_command *command;
    uint64_t bits[2]; /* a bit for each entry of the table */
    struct tool_words words;
    const char *outputs[8], *input, *printer; /* files to write; what has standard input, standard output */
    uint32_t output_count;
};
bool tool_given(const struct tool_given *given, const char *name);
/* The first option given that is not among the names (with spaces between); NULL: all are. */
const char *tool_given_beyond(const struct tool_given *given, const char *names);
/* Reads the command line into the request by the command's table; --help ends the command. */
void tool_read(const struct tool_command *command, int argc, char **argv, void *request);
/* NAME=VALUE, by a table of settings whose names stand as arguments; to: what they are members of. */
void tool_assign(const struct tool_taking *taking, const struct tool_option *settings, char *text);
/* Whether all files can be written, told before long work. */
void tool_check_outputs(const struct tool_given *given);
/* The command's entries with what they share, --help, and OPTION_END; until it is asked for another command's. */
const struct tool_option *tool_table(const struct tool_command *command);
bool tool_has_word(const char *words, const char *word); /* words: with spaces between, may be NULL */

/* Numbers elsewhere than in options; `what` is said in messages. */
uint64_t tool_whole(const struct tool_command *command, const char *what, const char *text, uint64_t low,
                    uint64_t high);
bool tool_seconds(const char *text, double *seconds, struct hop_diag *diag); /* with a unit, or plain seconds */
bool tool_choice(const char *choices, const char *text, size_t length, unsigned *place);
/* The word that is nearest to one that is none; NULL: none is near. */
const char *tool_nearest_word(const char *words, const char *word);

/* Prints usage and help, and ends. */
_Noreturn void tool_help(const struct tool_command *command);
/* `hopcast completion bash|zsh`, and man, which fills a page: see options_show.c. */
_Noreturn void tool_completion(const struct tool_command *const *commands, int argc, char **argv);

#endif
