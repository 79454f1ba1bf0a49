/* SPDX-License-Identifier: BSD-3-Clause */
/* The command: picks the subcommand. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "tool.h"

static const struct tool_command *const commands[] = {
    &tool_topology, &tool_predict, &tool_make,    &tool_plan,      &tool_order, &tool_map_command,
    &tool_run,      &tool_measure, &tool_compare, &tool_calibrate, &tool_sweep, &tool_export,
    &tool_tune,     &tool_launch,  &tool_amb,     &tool_traffic,   NULL};

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

static int run(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    tool_watch_memory();
    tool_watch_streams();
    tool_screen_begin();
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
    const char *names = "";
    for (size_t i = 0; commands[i]; i++)
        names = tool_text("%s%s%s", names, i ? ", " : "", commands[i]->name);
    (void)hop_fail(&tool_diag, HOP_ERR_NOT_FOUND, "there is no %s '%.80s'\n%s; `hopcast --help` says what they do",
                   word[0] == '-' ? "option" : "command", word, names);
    return tool_say(&tool_diag);
}

/* ---- a stack that is large enough ---- */

enum { STACK_LEAST = 1 << 20, STACK = 8 << 20 };

static struct {
    ucontext_t here, there;
    int argc, status;
    char **argv;
} call;

static void run_there(void)
{
    call.status = run(call.argc, call.argv);
}

/* Where the limit (ulimit -s) allows less than the searches and libraries take, the command has a stack of its own, and
 * so have its threads. */
int main(int argc, char **argv)
{
    struct rlimit limit;
    pthread_attr_t threads;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= STACK_LEAST)
        return run(argc, argv);
    if (pthread_getattr_default_np(&threads) == 0) {
        (void)pthread_attr_setstacksize(&threads, STACK);
        (void)pthread_setattr_default_np(&threads);
        (void)pthread_attr_destroy(&threads);
    }
    void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED || getcontext(&call.there) != 0)
        return run(argc, argv);
    call.argc = argc;
    call.argv = argv;
    call.there.uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK};
    call.there.uc_link = &call.here;
    makecontext(&call.there, run_there, 0);
    return swapcontext(&call.here, &call.there) == 0 ? call.status : run(argc, argv);
}
