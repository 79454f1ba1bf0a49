/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of option tables: see options.h. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "tool.h"

/* ---- words ---- */

bool tool_words_add(struct tool_words *words, const char *text)
{
    if (words->count == words->capacity) {
        uint32_t capacity = words->capacity ? words->capacity * 2 : 8;
        char **grown = realloc(words->at, capacity * sizeof *grown);
        if (!grown)
            return tool_out_of_memory() == TOOL_OK;
        words->at = grown;
        words->capacity = capacity;
    }
    words->at[words->count] = strdup(text);
    if (!words->at[words->count])
        return tool_out_of_memory() == TOOL_OK;
    words->count++;
    return true;
}

void tool_words_free(struct tool_words *words)
{
    for (uint32_t i = 0; i < words->count; i++)
        free(words->at[i]);
    free(words->at);
    *words = (struct tool_words){0};
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
static const char *list_words(const char *words, const char *prefix, const char *last, char *text, size_t size)
{
    const char *word;
    size_t length, used = 0;
    text[0] = '\0';
    for (bool first = true; (length = next_word(&words, &word)) && used < size; first = false)
        used += (size_t)snprintf(text + used, size - used, "%s%s%.*s",
                                 first                       ? ""
                                 : words[strspn(words, " ")] ? ", "
                                                             : last,
                                 prefix, (int)length, word);
    return text;
}

const char *tool_nearest_word(const char *words, const char *word, char *text, size_t size)
{
    const char *known;
    size_t length;
    unsigned least = 3;
    bool found = false;
    while ((length = next_word(&words, &known))) {
        char name[32];
        (void)snprintf(name, sizeof name, "%.*s", (int)length, known);
        unsigned far =
            strlen(word) > 1 && strncmp(word, name, strlen(word)) == 0 ? 1 : hop_text_distance(word, name, 3);
        if (far >= least)
            continue;
        least = far;
        found = true;
        (void)snprintf(text, size, "%s", name);
    }
    return found ? text : NULL;
}

/* ---- the table ---- */

enum { CHOICES_ROOM = 1000 }; /* all that a command has, with spaces between */

/* The choices that are asked for by index, as words in the room that is left. */
static const char *gather_choices(const struct tool_option *option, char *room, size_t *used)
{
    const char *name, *words = room + *used;
    for (unsigned i = 0; (name = option->choice_at(i)) && strcmp(name, "?") != 0 && *used < CHOICES_ROOM; i++)
        *used += (size_t)snprintf(room + *used, CHOICES_ROOM - *used, "%s%s", i ? " " : "", name);
    ++*used;
    return words;
}

/* The entry with what it shares. */
static struct tool_option resolve(const struct tool_option *entry)
{
    if (!entry->shared)
        return *entry;
    struct tool_option option = *entry->shared;
    option.at = entry->at;
    option.once = entry->once || option.once;
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
    static char choices[CHOICES_ROOM];
    if (of == command)
        return table;
    of = command;
    size_t count = 0, used = 0;
    for (const struct tool_option *entry = command->options; entry && (entry->kind || entry->shared); entry++) {
        struct tool_option *option = &table[count++];
        *option = resolve(entry);
        if (option->choice_at)
            option->choices = gather_choices(option, choices, &used);
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
static const char *name_of(const struct tool_option *option, char *text, size_t size)
{
    if (option->name)
        (void)snprintf(text, size, "--%s", option->name);
    else if (option->letter)
        (void)snprintf(text, size, "-%c", option->letter);
    else
        (void)snprintf(text, size, "%s", option->argument);
    return text;
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

bool tool_whole(const struct tool_command *command, const char *what, const char *text, uint64_t low, uint64_t high,
                uint64_t *value)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (isdigit((unsigned char)text[0]) && !*end && !errno && number >= low && number <= high) {
        *value = number;
        return true;
    }
    tool_bad_usage(command, "%s cannot be '%s': a whole number from %llu to %llu is expected", what, text,
                   (unsigned long long)low, (unsigned long long)high);
    return false;
}

/* Says what is expected of an option, behind "--rows cannot be 'x': "; false. */
static bool refuse(const struct tool_taking *t, const char *text, const char *expected)
{
    char name[64];
    tool_bad_usage(t->command, "%s cannot be '%.80s': %s is expected", name_of(t->option, name, sizeof name), text,
                   expected);
    return false;
}

static bool refuse_diag(const struct tool_taking *t, const struct hop_diag *diag)
{
    char name[64];
    tool_bad_usage(t->command, "%s: %s; %s is expected", name_of(t->option, name, sizeof name), diag->what,
                   diag->expected);
    return false;
}

static bool take_whole(const struct tool_taking *t, const char *text)
{
    const struct tool_option *o = t->option;
    char name[64];
    uint64_t value;
    if (!tool_whole(t->command, name_of(o, name, sizeof name), text, o->low,
                    o->high                   ? o->high
                    : o->kind == OPTION_COUNT ? UINT32_MAX
                                              : UINT64_MAX,
                    &value))
        return false;
    if (o->kind == OPTION_COUNT)
        *(uint32_t *)t->to = (uint32_t)value;
    else
        *(uint64_t *)t->to = value;
    return true;
}

static bool take_number(const struct tool_taking *t, const char *text)
{
    char *end, expected[80];
    double number = strtod(text, &end);
    (void)snprintf(expected, sizeof expected, "a number from %g to %g", t->option->least, t->option->most);
    if (!*text || *end || !(number >= t->option->least && number <= t->option->most))
        return refuse(t, text, expected);
    *(double *)t->to = number;
    return true;
}

static bool take_time(const struct tool_taking *t, const char *text)
{
    char expected[120];
    double least = t->option->least, most = t->option->most ? t->option->most : INFINITY, seconds;
    struct hop_diag diag;
    if (!tool_seconds(text, &seconds, &diag))
        return refuse_diag(t, &diag);
    if (isfinite(most))
        (void)snprintf(expected, sizeof expected, "a time from %s to %s", SECONDS(least), SECONDS(most));
    else
        (void)snprintf(expected, sizeof expected, "a time %s, such as 10s,", least > 0 ? "above 0" : "of 0 or more");
    if (!(seconds >= least && seconds <= most))
        return refuse(t, text, expected);
    *(double *)t->to = seconds;
    return true;
}

static bool take_size(const struct tool_taking *t, const char *text)
{
    uint64_t bytes;
    struct hop_diag diag;
    if (hop_parse_bytes(text, strlen(text), &bytes, &diag) != HOP_OK)
        return refuse_diag(t, &diag);
    if (bytes < t->option->low)
        return refuse(t, text, "a size such as 64MiB");
    *(uint64_t *)t->to = bytes;
    return true;
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

static bool take_sizes(const struct tool_taking *t, const char *text)
{
    struct tool_sizes *sizes = t->to;
    uint64_t low, high, factor, most = t->option->high ? t->option->high : TOOL_SIZES;
    char item[64], expected[120];
    sizes->count = 0;
    for (const char *from = text;; from++) {
        size_t length = strcspn(from, ",");
        (void)snprintf(item, sizeof item, "%.*s", (int)length, from);
        if (length >= sizeof item || !read_range(item, &low, &high, &factor))
            return refuse(t, text, "SIZE,... such as 4KiB,64KiB or LOW:HIGH*FACTOR such as 4KiB:16MiB*4");
        for (uint64_t size = low;; size *= factor) {
            if (sizes->count && size <= sizes->at[sizes->count - 1])
                return refuse(t, text, "one size above the other");
            (void)snprintf(expected, sizeof expected, "a list of %u sizes at most", (unsigned)most);
            if (sizes->count == most)
                return refuse(t, text, expected);
            sizes->at[sizes->count++] = size;
            if (size > high / factor)
                break;
        }
        from += length;
        if (!*from)
            return true;
    }
}

static bool take_choice(const struct tool_taking *t, const char *text)
{
    char expected[200];
    unsigned place, chosen = 0;
    bool several = t->option->kind == OPTION_CHOICES;
    for (const char *from = text;; from++) {
        size_t length = several ? strcspn(from, ",") : strlen(from);
        if (!tool_choice(t->option->choices, from, length, &place)) {
            int used = snprintf(expected, sizeof expected, "%s", several ? "one or several of " : "");
            list_words(t->option->choices, "", several ? " and " : " or ", expected + used,
                       sizeof expected - (size_t)used);
            return refuse(t, text, expected);
        }
        chosen = several ? chosen | 1u << place : place;
        from += length;
        if (!*from)
            break;
    }
    *(unsigned *)t->to = chosen;
    return true;
}

static bool take_names(const struct tool_taking *t, const char *text)
{
    char name[256];
    for (const char *from = text;; from++) {
        from += strspn(from, " ");
        size_t length = strcspn(from, ",");
        (void)snprintf(name, sizeof name, "%.*s", (int)length, from);
        if (length == 0 || length >= sizeof name)
            return refuse(t, text, "one name or several, with commas between,");
        if (!tool_words_add(t->to, name))
            return false;
        from += length;
        if (!*from)
            return true;
    }
}

static bool take(const struct tool_taking *t, char *text)
{
    switch (t->option->kind) {
    case OPTION_FLAG:
        return *(bool *)t->to = true;
    case OPTION_TEXT:
        *(const char **)t->to = text;
        return true;
    case OPTION_LIST:
        return tool_words_add(t->to, text);
    case OPTION_NAMES:
        return take_names(t, text);
    case OPTION_WHOLE:
    case OPTION_COUNT:
        return take_whole(t, text);
    case OPTION_NUMBER:
        return take_number(t, text);
    case OPTION_TIME:
        return take_time(t, text);
    case OPTION_SIZE:
        return take_size(t, text);
    case OPTION_SIZES:
        return take_sizes(t, text);
    case OPTION_CHOICE:
    case OPTION_CHOICES:
        return take_choice(t, text);
    default:
        return t->option->take(t, text);
    }
}

bool tool_assign(const struct tool_taking *taking, const struct tool_option *settings, char *text)
{
    char known[256] = "", list[256];
    size_t length = strcspn(text, "="), used = 0;
    for (const struct tool_option *o = settings; o->kind; o++) {
        if (text[length] && strlen(o->argument) == length && memcmp(o->argument, text, length) == 0) {
            char name[64];
            struct tool_option setting = *o;
            (void)snprintf(name, sizeof name, "--%s %s", taking->option->name, o->argument);
            setting.argument = name;
            return take(&(struct tool_taking){taking->command, &setting, (char *)taking->to + o->at},
                        text + length + 1);
        }
        used += (size_t)snprintf(known + used, sizeof known - used, "%s= ", o->argument);
    }
    return refuse(taking, text, list_words(known, "", " or ", list, sizeof list));
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
static bool note_use(const struct reading *r, const struct tool_option *o, const char *text)
{
    struct tool_given *g = r->given;
    char name[64];
    bool dash = text && strcmp(text, "-") == 0, reads = o->use == USE_INPUT && dash;
    bool prints = o->use == USE_PRINT || (o->use == USE_OUTPUT && dash);
    name_of(o, name, sizeof name);
    if (o->use == USE_FILE && dash)
        return tool_bad_usage(r->command, "%s needs a file: standard output shows what was found", name) == TOOL_OK;
    if ((o->use == USE_OUTPUT || o->use == USE_FILE) && !dash &&
        g->output_count < sizeof g->outputs / sizeof g->outputs[0])
        g->outputs[g->output_count++] = text;
    const char **owner = reads ? &g->input : prints ? &g->printer : NULL;
    char *its_name = reads ? g->input_name : g->printer_name;
    if (!owner)
        return true;
    if (*owner && reads)
        return tool_bad_usage(r->command, "standard input (-) is read once: by %s or by %s", its_name,
                              strcmp(its_name, name) == 0 ? "another" : name) == TOOL_OK;
    if (*owner && strcmp(its_name, name) != 0)
        return tool_bad_usage(r->command, "standard output takes one of %s and %s%s", its_name, name,
                              dash ? " -" : "") == TOOL_OK;
    *owner = its_name;
    (void)snprintf(its_name, sizeof g->input_name, "%.31s", name);
    return true;
}

/* Takes an option with its value. */
static int apply(struct reading *r, const struct tool_option *o, char *text)
{
    const struct tool_taking taking = {r->command, o, r->request + o->at};
    size_t index = (size_t)(o - r->table);
    if (o->once && is_set(r->given, index))
        return o->name ? tool_bad_usage(r->command, "--%s is given twice", o->name)
                       : tool_bad_usage(r->command, "'%.80s' is too much: one %s is expected", text, o->argument);
    if (!note_use(r, o, text) || !take(&taking, text))
        return TOOL_BAD;
    r->given->bits[index / 64] |= UINT64_C(1) << index % 64;
    return TOOL_OK;
}

static bool has_value(const struct tool_option *o)
{
    return o->kind != OPTION_FLAG && o->kind != OPTION_GONE && o->kind != OPTION_HELP;
}

/* Takes an option that was found; name: as it was given; value: behind it in the same word, or NULL. */
static int found(struct reading *r, const struct tool_option *o, const char *name, char *value)
{
    if (o->kind == OPTION_HELP)
        return tool_help(r->command);
    if (o->kind == OPTION_GONE)
        return tool_bad_usage(r->command, "option %s is now %s", name, o->help);
    if (value && !has_value(o))
        return tool_bad_usage(r->command, "option %s takes no value", name);
    if (!value && has_value(o)) {
        if (r->next == r->argc)
            return tool_bad_usage(r->command, "option %s needs a value", name);
        value = r->argv[r->next++];
    }
    return apply(r, o, value);
}

/* The names of the options that begin so, with spaces between, and the first of them; NULL: none does. */
static const struct tool_option *find_long(const struct reading *r, const char *start, char *names, size_t size)
{
    const struct tool_option *hit = NULL;
    size_t length = strlen(start), used = 0;
    names[0] = '\0';
    for (const struct tool_option *o = r->table; o->kind && used < size; o++) {
        if (!o->name || o->kind == OPTION_GONE || strncmp(o->name, start, length) != 0)
            continue;
        hit = hit ? hit : o;
        used += (size_t)snprintf(names + used, size - used, "%s%s", used ? " " : "", o->name);
    }
    return hit;
}

/* word: behind "--". A name may be cut short as long as it is one option's. */
static int read_long(struct reading *r, char *word)
{
    char *equals = strchr(word, '='), name[64], shown[66], names[2048], text[2048], nearest[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    (void)snprintf(shown, sizeof shown, "--%s", name);
    for (const struct tool_option *o = r->table; o->kind; o++) {
        if (o->name && strcmp(o->name, name) == 0)
            return found(r, o, shown, equals ? equals + 1 : NULL);
    }
    const struct tool_option *hit = name[0] ? find_long(r, name, names, sizeof names) : NULL;
    if (hit && !strchr(names, ' '))
        return found(r, hit, shown, equals ? equals + 1 : NULL);
    if (hit)
        return tool_bad_usage(r->command, "option %s is ambiguous: %s", shown,
                              list_words(names, "--", " or ", text, sizeof text));
    (void)find_long(r, "", names, sizeof names);
    bool near = tool_nearest_word(names, name, nearest, sizeof nearest);
    return tool_bad_usage(r->command, "there is no option %s%s%s%s", shown, near ? " (is --" : "", near ? nearest : "",
                          near ? " meant?)" : "");
}

/* word: behind "-", several flags and at the end one with a value perhaps. */
static int read_letters(struct reading *r, char *word)
{
    int status = TOOL_OK;
    for (bool more = true; more && *word && status == TOOL_OK;) {
        char name[3] = {'-', *word++, '\0'};
        const struct tool_option *o = r->table;
        while (o->kind && o->letter != name[1])
            o++;
        if (!o->kind)
            return tool_bad_usage(r->command, "there is no option %s", name);
        more = !has_value(o);
        status = found(r, o, name, *word && !more ? word : NULL);
    }
    return status;
}

/* Takes words that are no options. */
static bool is_place(const struct tool_option *o)
{
    return !o->name && !o->letter && o->kind != OPTION_HEADING;
}

/* Words that are no options go where the table says, in their order. */
static int take_words(struct reading *r)
{
    const struct tool_words *words = &r->given->words;
    const struct tool_option *place = NULL;
    int status = TOOL_OK;
    for (uint32_t i = 0; i < words->count && status == TOOL_OK; i++) {
        const struct tool_option *next = place ? place + 1 : r->table;
        while (next->kind && !is_place(next))
            next++;
        if (next->kind && (!place || place->once))
            place = next;
        status = place ? apply(r, place, words->at[i])
                       : tool_bad_usage(r->command, "'%.80s' is one argument too many", words->at[i]);
    }
    return status;
}

/* Whether it, or what is stored in the same place, was given. */
static bool is_there(const struct reading *r, size_t at)
{
    bool there = false;
    for (size_t i = 0; r->table[i].kind; i++)
        there = there || (is_set(r->given, i) && r->table[i].at == at);
    return there;
}

static bool any_given(const struct tool_given *given, const char *names, char *found, size_t size)
{
    const char *word;
    size_t length;
    while ((length = next_word(&names, &word))) {
        (void)snprintf(found, size, "%.*s", (int)length, word);
        if (tool_given(given, found))
            return true;
    }
    return false;
}

/* What must go with others, must not, or is missing. */
static int check(const struct reading *r)
{
    char name[64], other[64], text[240];
    for (const struct tool_option *o = r->table; o->kind; o++) {
        bool given = is_set(r->given, (size_t)(o - r->table));
        name_of(o, name, sizeof name);
        if (!given && o->missing && !is_there(r, o->at))
            return tool_bad_usage(r->command, "%s", o->missing);
        if (given && o->needs && !any_given(r->given, o->needs, other, sizeof other))
            return tool_bad_usage(r->command, "%s goes with %s", name,
                                  list_words(o->needs, "--", " or ", text, sizeof text));
        if (given && o->excludes && any_given(r->given, o->excludes, other, sizeof other))
            return tool_bad_usage(r->command, "%s and --%s do not go together", name, other);
    }
    return TOOL_OK;
}

int tool_read(const struct tool_command *command, int argc, char **argv, void *request)
{
    struct reading r = {command, tool_table(command), argc, 1, argv, request, request};
    bool options = true;
    int status = TOOL_OK;
    r.given->command = command;
    while (r.next < argc && status == TOOL_OK) {
        char *word = argv[r.next++];
        if (!options || word[0] != '-' || !word[1])
            status = tool_words_add(&r.given->words, word) ? TOOL_OK : TOOL_BAD;
        else if (strcmp(word, "--") == 0)
            options = false;
        else
            status = word[1] == '-' ? read_long(&r, word + 2) : read_letters(&r, word + 1);
    }
    THEN(status, take_words(&r));
    return status == TOOL_OK ? check(&r) : status;
}

int tool_check_outputs(const struct tool_given *given)
{
    int status = TOOL_OK;
    for (uint32_t i = 0; i < given->output_count && status == TOOL_OK; i++)
        status = tool_check_output(given->outputs[i]);
    return status;
}
