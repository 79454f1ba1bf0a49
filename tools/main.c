/* SPDX-License-Identifier: BSD-3-Clause */
/* The command: picks the subcommand. */
#include <string.h>

#include "tool.h"

static const struct tool_command *const commands[] = {
    &tool_topology, &tool_predict, &tool_make,      &tool_plan,  &tool_order,  &tool_map_command, &tool_run,
    &tool_measure,  &tool_compare, &tool_calibrate, &tool_sweep, &tool_export, &tool_tune,        NULL};

static void usage(FILE *stream)
{
    fprintf(stream, "hopcast %s - how long do these transfers take together, and why\n\n", hop_version());
    fprintf(stream, "usage: hopcast COMMAND [ARGUMENT ...]\n\n");
    for (size_t i = 0; commands[i]; i++)
        fprintf(stream, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(stream,
            "\nhopcast COMMAND --help shows a command's options and an example; hopcast --version the version.\n"
            "eval \"$(hopcast completion bash)\" (or zsh) lets the shell complete them.\nTry:\n"
            "  hopcast predict -e 'gpu0 -> gpu2 300MiB; gpu1 -> gpu4 300MiB' --on t2\n");
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    tool_watch_memory();
    if (argc < 2) {
        usage(stderr);
        return TOOL_BAD;
    }
    static char asked[] = "--help";
    bool help = strcmp(word, "help") == 0;
    if (help && argc > 2) { /* help tune paths: tune paths --help */
        memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof *argv);
        argv[argc - 1] = asked;
        word = argv[1];
    } else if (help || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        usage(stdout);
        tool_end(TOOL_OK);
    }
    if (strcmp(word, "--version") == 0) {
        printf("hopcast %s\n", hop_version());
        tool_end(TOOL_OK);
    }
    if (strcmp(word, "completion") == 0)
        tool_completion(commands, argc - 1, argv + 1);
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(word, commands[i]->name) == 0)
            tool_end(commands[i]->run(argc - 1, argv + 1));
    }
    fprintf(stderr, "hopcast: there is no %s '%s'\n", word[0] == '-' ? "option" : "command", word);
    fprintf(stderr, "  expected: ");
    for (size_t i = 0; commands[i]; i++)
        fprintf(stderr, "%s%s", i ? ", " : "", commands[i]->name);
    fprintf(stderr, "; `hopcast --help` says what they do\n");
    return TOOL_BAD;
}
