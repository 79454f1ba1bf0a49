/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is made of option tables: help, completions for shells, and manual pages. A page comes on standard input with
 * lines `@options COMMAND`, behind which options with more to say than their line of help follow as `@--name` and
 * indented text.
 */
#include "options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

enum { COLUMN = 26, WIDTH = 110 };

/* Has a line of its own in help. */
static bool is_shown(const struct tool_option *option)
{
    return option->name && option->kind != OPTION_GONE && option->kind != OPTION_HELP;
}

/* "TEXT", "hop|json"; NULL: it has no value. */
static const char *argument_of(const struct tool_option *option)
{
    if (option->argument || !option->choices)
        return option->argument;
    char *text = tool_text("%s%s", option->choices, option->kind == OPTION_CHOICES ? ",..." : "");
    for (char *c = text; *c; c++)
        *c = *c == ' ' ? '|' : *c;
    return text;
}

/* The models that there are, with what they rule unless told otherwise. */
static const char *list_models(void)
{
    const struct hop_model_facts *model;
    const char *text = "";
    for (size_t i = 0; (model = hop_model_at(i)); i++) {
        const char *rules = model->by_default;
        text = tool_text("%s%s%s%s", text, i ? ", " : "", model->name,
                         rules ? tool_text(" (by default of %.*s)", (int)strcspn(rules, ":"), rules) : "");
    }
    return text;
}

/* The choices of an option, with what each is. */
static const char *list_choices(const struct tool_option *option)
{
    const char *word = option->choices, *text = "";
    for (unsigned i = 0; *word; i++) {
        size_t length = strcspn(word, " ");
        const char *is = option->choice_is ? option->choice_is(i) : NULL;
        text = tool_text("%s%s%.*s%s", text, i ? ", " : "", (int)length, word, is ? tool_text(" (%s)", is) : "");
        word += length + strspn(word + length, " ");
    }
    return text;
}

/* The line of help, "{models}" or "{choices}" replaced. */
static const char *help_of(const struct tool_option *option)
{
    const char *mark = strchr(option->help, '{');
    return mark ? tool_text("%.*s%s%s", (int)(mark - option->help), option->help,
                            option->choices ? list_choices(option) : list_models(), strchr(mark, '}') + 1)
                : option->help;
}

static bool is_repeatable(const struct tool_option *option)
{
    return option->kind == OPTION_LIST || option->kind == OPTION_NAMES;
}

/* ---- help ---- */

static void print_option(const struct tool_option *option)
{
    const char *argument = argument_of(option);
    int length = printf(option->letter ? "  -%c, " : "      ", option->letter);
    length += printf("--%s%s%s", option->name, argument ? " " : "", argument ? argument : "");
    if (length >= COLUMN)
        length = printf("\n") - 1;
    printf("%*s", COLUMN - length, "");
    tool_print_wrapped(tool_text("%s%s", help_of(option), is_repeatable(option) ? "; may be repeated" : ""), COLUMN,
                       WIDTH);
}

void tool_help(const struct tool_command *command)
{
    printf("usage: hopcast %s %s\n\n%s", command->name, command->usage, command->about);
    for (const struct tool_option *option = tool_table(command); option->kind; option++) {
        if (option->kind == OPTION_HEADING)
            printf("\n%s\n", option->help);
        else if (is_shown(option))
            print_option(option);
    }
    printf("%s%s", command->options ? "\n" : "", command->notes);
    tool_end(TOOL_OK);
}

/* ---- commands ---- */

/* Calls for every command that has options, those of tune among them. */
static void for_each(const struct tool_command *const *commands, void (*visit)(const struct tool_command *command))
{
    for (; *commands; commands++) {
        if ((*commands)->options)
            visit(*commands);
        if ((*commands)->parts)
            for_each((*commands)->parts, visit);
    }
}

static const struct tool_command *find(const struct tool_command *const *commands, const char *name)
{
    const struct tool_command *found = NULL;
    for (; *commands && !found; commands++) {
        if (strcmp((*commands)->name, name) == 0)
            found = *commands;
        else if ((*commands)->parts)
            found = find((*commands)->parts, name);
    }
    return found;
}

/* What a value can be, as words for a shell; files where it says nothing. */
static void print_values(const struct tool_option *option)
{
    const char *name, *summary, *argument = option->argument ? option->argument : "";
    if (option->choices)
        printf("%s", option->choices);
    bool machine = strcmp(argument, "TOPOLOGY") == 0 || strcmp(argument, "SOURCE") == 0;
    for (size_t i = 0; machine && hop_topology_builtin(i, &name, &summary); i++)
        printf("%s ", name);
    for (size_t i = 0; strcmp(argument, "MODEL") == 0 && hop_model_at(i); i++)
        printf("%s ", hop_model_at(i)->name);
    for (unsigned k = 0; strstr(argument, "COLLECTIVE") && k < HOP_COLLECTIVE_COUNT; k++)
        printf("%s ", hop_collective_name((enum hop_collective_kind)k));
}

/* Of the words of a command that are no options. */
static void print_word_values(const struct tool_command *command)
{
    for (const struct tool_option *option = tool_table(command); option->kind; option++) {
        if (!option->name && !option->letter)
            print_values(option);
    }
}

/* ---- bash ---- */

static void print_bash_options(const struct tool_command *command)
{
    printf("    '%s') options='", command->name);
    for (const struct tool_option *option = tool_table(command); option->kind; option++) {
        if (is_shown(option))
            printf("--%s ", option->name);
    }
    printf("--help' values='");
    print_word_values(command);
    printf("' ;;\n");
}

static void print_bash_values(const struct tool_command *command)
{
    for (const struct tool_option *option = tool_table(command); option->kind; option++) {
        if (!is_shown(option) || !argument_of(option))
            continue;
        printf("    '%s --%s'", command->name, option->name);
        if (option->letter)
            printf("|'%s -%c'", command->name, option->letter);
        printf(") values='");
        print_values(option);
        printf("' taken=%s ;;\n", option->choices ? "choice" : "value");
    }
}

static void print_names(const struct tool_command *const *commands)
{
    for (; *commands; commands++) {
        const char *space = strchr((*commands)->name, ' ');
        printf("%s ", space ? space + 1 : (*commands)->name);
    }
}

/* Those of the parts of every command that has some, between two texts of which the first names it. */
static void print_parts(const struct tool_command *const *commands, const char *format, const char *end)
{
    for (; *commands; commands++) {
        if (!(*commands)->parts)
            continue;
        printf(format, (*commands)->name);
        print_names((*commands)->parts);
        printf("%s", end);
    }
}

static void print_bash(const struct tool_command *const *commands)
{
    printf("# bash completion of hopcast: eval \"$(hopcast completion bash)\"\n_hopcast()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
           "    local options='' values='' taken=''\n"
           "    [[ $word == '=' ]] && word=''\n"
           "    [[ $before == '=' ]] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
           "    if (( COMP_CWORD == 1 )); then COMPREPLY=($(compgen -W '");
    print_names(commands);
    printf("' -- \"$word\")); return; fi\n");
    print_parts(commands,
                "    if [[ $command == %s ]]; then\n        if (( COMP_CWORD == 2 )); then COMPREPLY=($(compgen -W '",
                "' -- \"$word\")); return; fi\n        command+=\" ${COMP_WORDS[2]}\"\n    fi\n");
    printf("    case $command in\n");
    for_each(commands, print_bash_options);
    printf("    esac\n    case \"$command $before\" in\n");
    for_each(commands, print_bash_values);
    printf("    esac\n"
           "    if [[ $word == -* && -z $taken ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
           "    else COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
           "        [[ $taken == choice ]] || COMPREPLY+=($(compgen -f -- \"$word\"))\n"
           "    fi\n}\ncomplete -o filenames -F _hopcast hopcast\n");
}

/* ---- zsh ---- */

/* Inside single quotes, and inside the brackets of _arguments. */
static void print_zsh_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            printf("'\\''");
        else
            printf(strchr("[]:\\", *text) ? "\\%c" : "%c", *text);
    }
}

static void print_zsh_option(const struct tool_option *option)
{
    const char *argument = argument_of(option);
    printf("            ");
    if (is_repeatable(option))
        printf("'*'");
    if (option->letter)
        printf("{-%c,--%s}", option->letter, option->name);
    else
        printf("--%s", option->name);
    printf("'%s[", argument && !option->letter ? "=" : "");
    print_zsh_text(help_of(option));
    printf("]");
    if (argument) {
        printf(":");
        print_zsh_text(argument);
        printf(":{compadd -- ");
        print_values(option);
        printf("; _files}");
    }
    printf("' \\\n");
}

static void print_zsh_command(const struct tool_command *command)
{
    printf("    '%s')\n        _arguments -s \\\n", command->name);
    for (const struct tool_option *option = tool_table(command); option->kind; option++) {
        if (is_shown(option))
            print_zsh_option(option);
    }
    printf("            '*:argument:{compadd -- ");
    print_word_values(command);
    printf("; _files}' ;;\n");
}

static void print_zsh(const struct tool_command *const *commands)
{
    printf("#compdef hopcast\n_hopcast()\n{\n    local command=$words[2]\n"
           "    if (( CURRENT == 2 )); then compadd -- ");
    print_names(commands);
    printf("; return; fi\n");
    print_parts(commands, "    if [[ $command == %s ]]; then\n        if (( CURRENT == 3 )); then compadd -- ",
                "; return; fi\n        command+=\" $words[3]\"; shift words; (( CURRENT-- ))\n    fi\n");
    printf("    shift words; (( CURRENT-- ))\n    case $command in\n");
    for_each(commands, print_zsh_command);
    printf(
        "    esac\n}\nif [ \"$funcstack[1]\" = _hopcast ]; then _hopcast \"$@\"; else compdef _hopcast hopcast; fi\n");
}

/* ---- manual pages ---- */

/* scdoc: what is not to be markup has a backslash. */
static void print_escaped(const char *text)
{
    for (; *text; text++)
        printf(strchr("_*\\#~<>", *text) ? "\\%c" : "%c", *text);
}

/* Words in capitals are placeholders, the rest stands as it is: _NAME_=_VALUE_, *hop*|*json*. */
static void print_argument(const char *text)
{
    while (*text) {
        size_t capitals = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), plain = 0;
        while (islower((unsigned char)text[plain]) ||
               (plain && (isdigit((unsigned char)text[plain]) || text[plain] == '-')))
            plain++;
        if (capitals || plain)
            printf(capitals ? "_%.*s_" : "*%.*s*", (int)(capitals + plain), text);
        else
            putchar(*text);
        text += capitals + plain ? capitals + plain : 1;
    }
}

/* The page's own text about an option, its lines indented; NULL: it has none. */
static const char *own_text(const char *page, const char *name, size_t *length)
{
    char mark[80];
    (void)snprintf(mark, sizeof mark, "@--%s\n", name);
    for (const char *line = page; *line && strncmp(line, "@options", 8) != 0; line += strcspn(line, "\n") + 1) {
        if (strncmp(line, mark, strlen(mark)) == 0) {
            line += strlen(mark);
            const char *end = line;
            while (*end == '\t')
                end += strcspn(end, "\n") + 1;
            *length = (size_t)(end - line);
            return line;
        }
        if (!strchr(line, '\n'))
            break;
    }
    return NULL;
}

static void print_man_option(const struct tool_option *option, const char *page)
{
    const char *argument = argument_of(option), *own;
    size_t length = 0;
    if (option->letter)
        printf("*-%c*, ", option->letter);
    printf("*--%s*", option->name);
    if (argument) {
        putchar(' ');
        print_argument(argument);
    }
    printf("\n");
    own = own_text(page, option->name, &length);
    if (own) {
        printf("%.*s\n", (int)length, own);
        return;
    }
    const char *help = help_of(option);
    printf("\t%c",
           help != option->help ? help[0] : toupper((unsigned char)help[0])); /* a model's name stays as it is */
    print_escaped(help + 1);
    printf("%s.\n\n", is_repeatable(option) ? "; may be repeated" : "");
}

static void print_paragraph(const char *text)
{
    for (; *text; text += strcspn(text, "\n") + (strchr(text, '\n') != NULL)) {
        char line[200];
        (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
        print_escaped(line);
        putchar('\n');
    }
    putchar('\n');
}

/* The options of a command; rest: what follows in the page. False: a text there is about no option of it. */
static bool print_man_options(const struct tool_command *command, const char *rest)
{
    for (const struct tool_option *option = tool_table(command); option->kind; option++) {
        if (option->kind == OPTION_HEADING)
            print_paragraph(option->help);
        else if (is_shown(option))
            print_man_option(option, rest);
    }
    for (const char *line = rest; *line && strncmp(line, "@options", 8) != 0;
         line += strcspn(line, "\n") + (*line != '\0')) {
        char name[80];
        bool known = strncmp(line, "@--", 3) != 0;
        (void)snprintf(name, sizeof name, "%.*s", (int)(strcspn(line, "\n") > 3 ? strcspn(line, "\n") - 3 : 0),
                       line + 3);
        for (const struct tool_option *option = tool_table(command); !known && option->kind; option++) {
            known = is_shown(option) && strcmp(option->name, name) == 0;
        }
        if (!known) {
            fprintf(stderr, "hopcast: the page speaks of --%s, which hopcast %s has not\n", name, command->name);
            return false;
        }
        if (!strchr(line, '\n'))
            break;
    }
    return true;
}

static int print_page(const struct tool_command *const *commands)
{
    char *page = NULL;
    size_t size = 0;
    ssize_t length = getdelim(&page, &size, '\0', stdin);
    bool own = false, fine = length >= 0;
    for (char *line = page, *next; fine && line && *line; line = next) {
        size_t end = strcspn(line, "\n");
        next = line + end + (line[end] == '\n');
        if (strncmp(line, "@options ", 9) == 0) {
            line[end] = '\0';
            const struct tool_command *command = find(commands, line + 9);
            fine = command && print_man_options(command, next);
        } else if (*line == '@') {
            own = true;
        } else if (!own || *line != '\t') {
            own = own && !end; /* the empty line behind the text of an option */
            if (!own)
                printf("%.*s\n", (int)end, line);
            own = false;
        }
    }
    free(page);
    return fine ? TOOL_OK : TOOL_BAD;
}

void tool_completion(const struct tool_command *const *commands, int argc, char **argv)
{
    const char *form = argc == 2 ? argv[1] : "";
    if (strcmp(form, "man") == 0)
        tool_end(print_page(commands));
    if (strcmp(form, "bash") == 0) {
        print_bash(commands);
        tool_end(TOOL_OK);
    }
    if (strcmp(form, "zsh") == 0) {
        print_zsh(commands);
        tool_end(TOOL_OK);
    }
    fprintf(stderr, "hopcast completion: expected bash or zsh, as in: eval \"$(hopcast completion bash)\"\n");
    tool_end(TOOL_BAD);
}
