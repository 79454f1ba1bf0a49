/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of option tables: see options.h. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "options_shared.h"
#include "tool.h"

/* ---- words ---- */

void tool_words_add(struct tool_words *words, const char *text)
{
    TOOL_GROW(words->at, words->count + 1);
    words->at[words->count++] = tool_text("%s", text);
}

/* The next of some words with spaces between; *words moves behind it. 0: there is none. */
static size_t next_word(const char **words, const char **word)
{
    *word = *words + strspn(*words, " ");
    size_t length = strcspn(*word, " ");
    *words = *word + length;
    return length;
}

bool tool_choice(const char *choices, const char *text, size_t length, unsigned *place)
{
    const char *word;
    size_t its;
    for (*place = 0; (its = next_word(&choices, &word)); ++*place) {
        if (its == length && memcmp(word, text, length) == 0)
            return true;
    }
    return false;
}

bool tool_has_word(const char *words, const char *word)
{
    unsigned place;
    return words && tool_choice(words, word, strlen(word), &place);
}

/* "a, b or c", each behind a prefix. */
static const char *list_words(const char *words, const char *prefix, const char *last)
{
    const char *word, *text = "";
    size_t length;
    while ((length = next_word(&words, &word)))
        text = tool_text("%s%s%s%.*s", text,
                         !*text                      ? ""
                         : words[strspn(words, " ")] ? ", "
                                                     : last,
                         prefix, (int)length, word);
    return text;
}

const char *tool_nearest_word(const char *words, const char *word)
{
    const char *known, *found = NULL;
    size_t length;
    unsigned least = strlen(word) > 3 ? 3 : 2; /* of a short one, two letters are most of it */
    while ((length = next_word(&words, &known))) {
        const char *name = tool_text("%.*s", (int)length, known);
        unsigned far =
            strlen(word) > 1 && strncmp(word, name, strlen(word)) == 0 ? 1 : hop_text_distance(word, name, 3);
        found = far < least ? name : found;
        least = far < least ? far : least;
    }
    return found;
}

/* ---- the table ---- */

/* The choices that are asked for by index, as words. */
static const char *gather_choices(const struct tool_option *option)
{
    const char *name, *words = "";
    for (unsigned i = 0; (name = option->choice_at(i)) && strcmp(name, "?") != 0; i++)
        words = tool_text("%s%s%s", words, i ? " " : "", name);
    return words;
}

/* The entry with what it shares. */
static struct tool_option resolve(const struct tool_option *entry)
{
    if (!entry->shared)
        return *entry;
    struct tool_option option = *entry->shared;
    option.at = entry->at;
    bool several = entry->kind == OPTION_LIST || entry->kind == OPTION_NAMES; /* of which the shared one takes one */
    option.once = entry->once || (option.once && !several);
    option.use = entry->use ? entry->use : option.use;
    option.argument = entry->argument ? entry->argument : option.argument;
    option.help = entry->help ? entry->help : option.help;
    option.needs = entry->needs ? entry->needs : option.needs;
    option.excludes = entry->excludes ? entry->excludes : option.excludes;
    option.missing = entry->missing ? entry->missing : option.missing;
    option.kind = entry->kind ? entry->kind : option.kind;
    option.low = entry->low ? entry->low : option.low;
    option.high = entry->high ? entry->high : option.high;
    return option;
}

const struct tool_option *tool_table(const struct tool_command *command)
{
    static const struct tool_command *of;
    static struct tool_option table[TOOL_OPTIONS + 2];
    if (of == command)
        return table;
    of = command;
    size_t count = 0;
    for (const struct tool_option *entry = command->options; entry && (entry->kind || entry->shared); entry++) {
        struct tool_option *option = &table[count++];
        *option = resolve(entry);
        if (option->choice_at)
            option->choices = gather_choices(option);
        if (option->name && strcmp(option->name, "on") == 0) { /* who takes a machine can be told what is in it */
            table[count++] = option_gpu;
            table[count++] = option_cpu;
        }
    }
    const char *machine = "on"; /* what names one, without which --gpu and --cpu say nothing */
    for (size_t i = 0; i < count; i++) {
        if (table[i].name && strcmp(table[i].name, "emulate") == 0)
            machine = "on emulate";
        else if (!table[i].name && table[i].argument && strcmp(table[i].argument, "SOURCE") == 0)
            machine = NULL; /* a word may */
    }
    for (size_t i = 0; i < count; i++) {
        if (table[i].take == option_gpu.take)
            table[i].needs = machine;
    }
    table[count] = (struct tool_option){.name = "help", .letter = 'h', .kind = OPTION_HELP};
    table[count + 1] = (struct tool_option){.kind = OPTION_END};
    return table;
}

static bool is_set(const struct tool_given *given, size_t index)
{
    return given->bits[index / 64] >> index % 64 & 1;
}

bool tool_given(const struct tool_given *given, const char *name)
{
    const struct tool_option *table = tool_table(given->command);
    for (size_t i = 0; table[i].kind; i++) {
        if (table[i].name && strcmp(table[i].name, name) == 0)
            return is_set(given, i);
    }
    return false;
}

const char *tool_given_beyond(const struct tool_given *given, const char *names)
{
    const struct tool_option *table = tool_table(given->command);
    for (size_t i = 0; table[i].kind; i++) {
        if (table[i].name && is_set(given, i) && !tool_has_word(names, table[i].name))
            return table[i].name;
    }
    return NULL;
}

/* As messages name it: --json, -n, SCHEDULE. */
static const char *name_of(const struct tool_option *o)
{
    return o->name ? tool_text("--%s", o->name) : o->letter ? tool_text("-%c", o->letter) : o->argument;
}

/* ---- values ---- */

bool tool_seconds(const char *text, double *seconds, struct hop_diag *diag)
{
    char *end;
    *seconds = strtod(text, &end);
    if (*text && !*end && isdigit((unsigned char)text[strspn(text, ".")]) && isfinite(*seconds))
        return true;
    return hop_parse_seconds(text, strlen(text), seconds, diag) == HOP_OK;
}

uint64_t tool_whole(const struct tool_command *command, const char *what, const char *text, uint64_t low, uint64_t high)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno || number < low || number > high)
        tool_bad_usage(command, "%s cannot be '%s': a whole number from %llu to %llu is expected", what, text,
                       (unsigned long long)low, (unsigned long long)high);
    return number;
}

/* Says what is expected of an option, behind "--rows cannot be 'x': ". */
static _Noreturn void refuse(const struct tool_taking *t, const char *text, const char *expected)
{
    tool_bad_usage(t->command, "%s cannot be '%.80s': %s is expected", name_of(t->option), text, expected);
}

static void take_status(const struct tool_taking *t, bool taken)
{
    if (!taken)
        tool_bad_usage(t->command, "%s: %s; %s is expected", name_of(t->option), tool_diag.what, tool_diag.expected);
}

static void take_whole(const struct tool_taking *t, char *text)
{
    const struct tool_option *o = t->option;
    uint64_t most = o->high ? o->high : o->kind == OPTION_COUNT ? UINT32_MAX : UINT64_MAX;
    uint64_t value = tool_whole(t->command, name_of(o), text, o->low, most);
    if (o->kind == OPTION_COUNT)
        *(uint32_t *)t->to = (uint32_t)value;
    else
        *(uint64_t *)t->to = value;
}

static void take_number(const struct tool_taking *t, char *text)
{
    char *end;
    double number = strtod(text, &end), least = t->option->least, most = t->option->most;
    if (!*text || *end || !(number >= least && number <= most))
        refuse(t, text, tool_text("a number from %g to %g", least, most));
    *(double *)t->to = number;
}

static void take_time(const struct tool_taking *t, char *text)
{
    double least = t->option->least, most = t->option->most ? t->option->most : INFINITY, seconds;
    take_status(t, tool_seconds(text, &seconds, &tool_diag));
    if (!(seconds >= least && seconds <= most))
        refuse(t, text,
               isfinite(most) ? tool_text("a time from %s to %s", SECONDS(least), SECONDS(most))
                              : tool_text("a time %s, such as 10s,", least > 0 ? "above 0" : "of 0 or more"));
    *(double *)t->to = seconds;
}

static void take_size(const struct tool_taking *t, char *text)
{
    uint64_t bytes;
    take_status(t, hop_parse_bytes(text, strlen(text), &bytes, &tool_diag) == HOP_OK);
    if (bytes < t->option->low)
        refuse(t, text, "a size such as 64MiB");
    *(uint64_t *)t->to = bytes;
}

/* SIZE, or LOW:HIGH*FACTOR: where it begins and ends, and what leads from one size to the next. */
static bool read_range(char *item, uint64_t *low, uint64_t *high, uint64_t *factor)
{
    char *colon = strchr(item, ':'), *star = colon ? strchr(colon, '*') : NULL, *end = NULL;
    *factor = star ? strtoull(star + 1, &end, 10) : 2;
    if ((colon && !star) || (star && (!isdigit((unsigned char)star[1]) || *end || *factor < 2 || *factor > 1 << 20)))
        return false;
    if (!colon)
        return hop_parse_bytes(item, strlen(item), low, NULL) == HOP_OK && (*high = *low) > 0;
    return hop_parse_bytes(item, (size_t)(colon - item), low, NULL) == HOP_OK && *low > 0 &&
           hop_parse_bytes(colon + 1, (size_t)(star - colon - 1), high, NULL) == HOP_OK && *low <= *high;
}

static void take_sizes(const struct tool_taking *t, char *text)
{
    struct tool_sizes *sizes = t->to;
    uint64_t low, high, factor, most = t->option->high ? t->option->high : TOOL_SIZES;
    char item[64];
    sizes->count = 0;
    for (const char *from = text;; from++) {
        size_t length = strcspn(from, ",");
        (void)snprintf(item, sizeof item, "%.*s", (int)length, from);
        if (length >= sizeof item || !read_range(item, &low, &high, &factor))
            refuse(t, text, "SIZE,... such as 4KiB,64KiB or LOW:HIGH*FACTOR such as 4KiB:16MiB*4");
        for (uint64_t size = low;; size *= factor) {
            if (sizes->count && size <= sizes->at[sizes->count - 1])
                refuse(t, text, "one size above the other");
            if (sizes->count == most)
                refuse(t, text, tool_text("a list of %u sizes at most", (unsigned)most));
            sizes->at[sizes->count++] = size;
            if (size > high / factor)
                break;
        }
        from += length;
        if (!*from)
            return;
    }
}

static void take_choice(const struct tool_taking *t, char *text)
{
    unsigned place, chosen = 0;
    bool several = t->option->kind == OPTION_CHOICES;
    for (const char *from = text;; from++) {
        size_t length = several ? strcspn(from, ",") : strlen(from);
        if (!tool_choice(t->option->choices, from, length, &place))
            refuse(t, text,
                   tool_text("%s%s", several ? "one or several of " : "",
                             list_words(t->option->choices, "", several ? " and " : " or ")));
        chosen = several ? chosen | 1u << place : place;
        from += length;
        if (!*from)
            break;
    }
    *(unsigned *)t->to = chosen;
}

static void take_names(const struct tool_taking *t, char *text)
{
    for (const char *from = text;; from++) {
        from += strspn(from, " ");
        size_t length = strcspn(from, ",");
        if (length == 0 || length >= 256)
            refuse(t, text, "one name or several, with commas between,");
        tool_words_add(t->to, tool_text("%.*s", (int)length, from));
        from += length;
        if (!*from)
            return;
    }
}

static void take_flag(const struct tool_taking *t, char *text)
{
    (void)text;
    *(bool *)t->to = true;
}

static void take_text(const struct tool_taking *t, char *text)
{
    *(const char **)t->to = text;
}

static void take_one_more(const struct tool_taking *t, char *text)
{
    tool_words_add(t->to, text);
}

static void take(const struct tool_taking *t, char *text)
{
    static void (*const by_kind[])(const struct tool_taking *t, char *text) = {
        [OPTION_FLAG] = take_flag,     [OPTION_TEXT] = take_text,     [OPTION_LIST] = take_one_more,
        [OPTION_NAMES] = take_names,   [OPTION_WHOLE] = take_whole,   [OPTION_COUNT] = take_whole,
        [OPTION_NUMBER] = take_number, [OPTION_TIME] = take_time,     [OPTION_SIZE] = take_size,
        [OPTION_SIZES] = take_sizes,   [OPTION_CHOICE] = take_choice, [OPTION_CHOICES] = take_choice,
    };
    (t->option->kind == OPTION_CALL ? t->option->take : by_kind[t->option->kind])(t, text);
}

void tool_assign(const struct tool_taking *taking, const struct tool_option *settings, char *text)
{
    const char *known = "";
    size_t length = strcspn(text, "=");
    for (const struct tool_option *o = settings; o->kind; o++) {
        if (text[length] && strlen(o->argument) == length && memcmp(o->argument, text, length) == 0) {
            struct tool_option setting = *o;
            setting.argument = tool_text("--%s %s", taking->option->name, o->argument);
            take(&(struct tool_taking){taking->command, &setting, (char *)taking->to + o->at}, text + length + 1);
            return;
        }
        known = tool_text("%s%s= ", known, o->argument);
    }
    refuse(taking, text, list_words(known, "", " or "));
}

/* ---- the command line ---- */

struct reading {
    const struct tool_command *command;
    const struct tool_option *table;
    int argc, next;
    char **argv;
    char *request;
    struct tool_given *given;
};

/* Standard input and standard output have one use each. */
static void note_use(const struct reading *r, const struct tool_option *o, const char *text)
{
    struct tool_given *g = r->given;
    bool dash = text && strcmp(text, "-") == 0, reads = o->use == USE_INPUT && dash;
    bool prints = o->use == USE_PRINT || (o->use == USE_OUTPUT && dash);
    const char *name = name_of(o);
    if (o->use == USE_FILE && dash)
        tool_bad_usage(r->command, "%s needs a file: standard output shows what was found", name);
    if ((o->use == USE_OUTPUT || o->use == USE_FILE) && !dash && g->output_count < HOP_COUNT(g->outputs))
        g->outputs[g->output_count++] = text;
    const char **owner = reads ? &g->input : &g->printer;
    if (!reads && !prints)
        return;
    if (*owner && reads)
        tool_bad_usage(r->command, "standard input (-) is read once: by %s or by %s", *owner,
                       strcmp(*owner, name) == 0 ? "another" : name);
    if (*owner && strcmp(*owner, name) != 0)
        tool_bad_usage(r->command, "standard output takes one of %s and %s%s", *owner, name, dash ? " -" : "");
    *owner = name;
}

/* Takes an option with its value. */
static void apply(struct reading *r, const struct tool_option *o, char *text)
{
    const struct tool_taking taking = {r->command, o, r->request + o->at};
    size_t index = (size_t)(o - r->table);
    if (o->once && is_set(r->given, index) && o->name)
        tool_bad_usage(r->command, "--%s is given twice", o->name);
    if (o->once && is_set(r->given, index))
        tool_bad_usage(r->command, "'%.80s' is too much: one %s is expected", text, o->argument);
    note_use(r, o, text);
    take(&taking, text);
    r->given->bits[index / 64] |= UINT64_C(1) << index % 64;
}

static bool has_value(const struct tool_option *o)
{
    return o->kind != OPTION_FLAG && o->kind != OPTION_GONE && o->kind != OPTION_HELP;
}

/* Takes an option that was found; name: as it was given; value: behind it in the same word, or NULL. */
static void found(struct reading *r, const struct tool_option *o, const char *name, char *value)
{
    if (o->kind == OPTION_HELP)
        tool_help(r->command);
    if (o->kind == OPTION_GONE)
        tool_bad_usage(r->command, "option %s is now %s", name, o->help);
    if (value && !has_value(o))
        tool_bad_usage(r->command, "option %s takes no value", name);
    if (!value && has_value(o)) {
        if (r->next == r->argc)
            tool_bad_usage(r->command, "option %s needs a value", name);
        value = r->argv[r->next++];
    }
    apply(r, o, value);
}

/* The first of the options that begin so, NULL: none does; *names: of all, with spaces between. */
static const struct tool_option *find_long(const struct reading *r, const char *start, const char **names)
{
    const struct tool_option *hit = NULL;
    *names = "";
    for (const struct tool_option *o = r->table; o->kind; o++) {
        if (!o->name || o->kind == OPTION_GONE || strncmp(o->name, start, strlen(start)) != 0)
            continue;
        hit = hit ? hit : o;
        *names = tool_text("%s%s%s", *names, **names ? " " : "", o->name);
    }
    return hit;
}

/* The option that a word behind "--" names, which may be cut short as long as it is one option's. */
static const struct tool_option *find_named(const struct reading *r, const char *name)
{
    const char *names;
    for (const struct tool_option *o = r->table; o->kind; o++) {
        if (o->name && strcmp(o->name, name) == 0)
            return o;
    }
    const struct tool_option *hit = name[0] ? find_long(r, name, &names) : NULL;
    if (hit && strchr(names, ' '))
        tool_bad_usage(r->command, "option --%s is ambiguous: %s", name, list_words(names, "--", " or "));
    if (hit)
        return hit;
    (void)find_long(r, "", &names);
    const char *near = tool_nearest_word(names, name);
    tool_bad_usage(r->command, "there is no option --%s%s", name, near ? tool_text(" (is --%s meant?)", near) : "");
}

/* word: behind "--". */
static void read_long(struct reading *r, char *word)
{
    char *equals = strchr(word, '='), *name = tool_text("--%.*s", (int)strcspn(word, "="), word);
    found(r, find_named(r, name + 2), name, equals ? equals + 1 : NULL);
}

/* word: behind "-", several flags and at the end one with a value perhaps. */
static void read_letters(struct reading *r, char *word)
{
    for (bool more = true; more && *word;) {
        char name[3] = {'-', *word++, '\0'};
        const struct tool_option *o = r->table;
        while (o->kind && o->letter != name[1])
            o++;
        if (!o->kind)
            tool_bad_usage(r->command, "there is no option %s", name);
        more = !has_value(o);
        found(r, o, name, *word && !more ? word : NULL);
    }
}

/* Takes words that are no options. */
static bool is_place(const struct tool_option *o)
{
    return !o->name && !o->letter && o->kind != OPTION_HEADING;
}

/* Words that are no options go where the table says, in their order. */
static void take_words(struct reading *r)
{
    const struct tool_words *words = &r->given->words;
    const struct tool_option *place = NULL;
    for (uint32_t i = 0; i < words->count; i++) {
        const struct tool_option *next = place ? place + 1 : r->table;
        while (next->kind && !is_place(next))
            next++;
        if (next->kind && (!place || place->once))
            place = next;
        if (!place)
            tool_bad_usage(r->command, "'%.80s' is one argument too many", words->at[i]);
        apply(r, place, words->at[i]);
    }
}

/* Whether it, or what is stored in the same place, was given. */
static bool is_there(const struct reading *r, size_t at)
{
    bool there = false;
    for (size_t i = 0; r->table[i].kind; i++)
        there = there || (is_set(r->given, i) && r->table[i].at == at);
    return there;
}

/* The first of the names that was given; NULL: none was. */
static const char *any_given(const struct tool_given *given, const char *names)
{
    const char *word;
    size_t length;
    while ((length = next_word(&names, &word))) {
        const char *name = tool_text("%.*s", (int)length, word);
        if (tool_given(given, name))
            return name;
    }
    return NULL;
}

/* What must go with others, must not, or is missing. */
static void check(const struct reading *r)
{
    for (const struct tool_option *o = r->table; o->kind; o++) {
        bool given = is_set(r->given, (size_t)(o - r->table));
        const char *other = given && o->excludes ? any_given(r->given, o->excludes) : NULL;
        if (!given && o->missing && !is_there(r, o->at))
            tool_bad_usage(r->command, "%s", o->missing);
        if (given && o->needs && !any_given(r->given, o->needs))
            tool_bad_usage(r->command, "%s goes with %s", name_of(o), list_words(o->needs, "--", " or "));
        if (other)
            tool_bad_usage(r->command, "%s and --%s do not go together", name_of(o), other);
    }
}

void tool_read(const struct tool_command *command, int argc, char **argv, void *request)
{
    struct reading r = {command, tool_table(command), argc, 1, argv, request, request};
    bool options = true;
    r.given->command = command;
    while (r.next < argc) {
        char *word = argv[r.next++];
        options = options && !(command->starts_program && r.given->words.count > 0);
        if (!options || word[0] != '-' || !word[1])
            tool_words_add(&r.given->words, word);
        else if (strcmp(word, "--") == 0)
            options = false;
        else if (word[1] == '-')
            read_long(&r, word + 2);
        else
            read_letters(&r, word + 1);
    }
    take_words(&r);
    check(&r);
}

void tool_check_outputs(const struct tool_given *given)
{
    for (uint32_t i = 0; i < given->output_count; i++)
        tool_check_output(given->outputs[i]);
}
