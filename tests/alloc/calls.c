/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every function of tests/exports.txt, but those that allocate nothing (calls_pure.txt), while one allocation after the
 * other fails (calls.h): the library's own, by the linker's --wrap, and those of jansson and libxml2, which are asked to
 * take ours. What is accepted of a call is the status for memory with its message, or the very same answer as with
 * memory. Under AddressSanitizer nothing may leak, either.
 *
 *     calls EXPORTS PURE [--places N] [NAME ...]   every allocation of each case, of a case with more than 2000 the first
 *                                                  of each place and each n-th; or N that are the first of their place
 *     calls --at N[+] NAME                         that one (with those that follow), in this process
 */
#include <dlfcn.h>
#include <errno.h>
#include <jansson.h>
#include <libxml/xmlmemory.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"
#include "places.h"

enum { TIME_LIMIT_S = 120, NAMES = 1024, LENGTH = 4096, CASES = 512, ANSWER = 1 << 22, EACH = 2000 };

/* ---- the allocator ---- */

static atomic_bool armed;
static atomic_ulong number;
static unsigned long fails_at;
static bool and_later, listing;
static atomic_ulong failures;
static struct places places;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strndup(const char *text, size_t most);
char *__wrap_strdup(const char *text);

/* For a debugger's breakpoint. */
__attribute__((noinline)) static void failed_here(void)
{
    errno = ENOMEM;
}

__attribute__((noinline)) static bool fails(void)
{
    static _Thread_local bool inside;
    if (!atomic_load(&armed) || inside)
        return false;
    unsigned long n = atomic_fetch_add(&number, 1) + 1;
    if (listing) {
        inside = true;
        places_note(&places, n, 3);
        inside = false;
    }
    if (!fails_at || (and_later ? n < fails_at : n != fails_at))
        return false;
    atomic_fetch_add(&failures, 1);
    failed_here();
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails() ? NULL : __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

char *__wrap_strndup(const char *text, size_t most)
{
    size_t length = strnlen(text, most);
    char *made = __wrap_malloc(length + 1);
    if (made) {
        memcpy(made, text, length);
        made[length] = '\0';
    }
    return made;
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, strlen(text));
}

/* ---- a run of a case ---- */

struct hop_diag calls_diag;
/* Shared with the parent: what was called, how far a case has come, and what was wrong. */
static struct shared {
    char names[NAMES][64];
    unsigned name_count;
    unsigned long at, count, tries;
    unsigned faults, runs, place_count;
} * shared;
static const struct calls_case *current;
static char call[96];
static bool failed, bad;
static char *answer, *expected;
static size_t answer_length;

static void fault(const char *format, ...) HOP_PRINTF(1, 2);
static void fault(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("FAIL  %s --at %lu%s: %s: ", current->name, fails_at, and_later ? "+" : "", call);
    vprintf(format, arguments);
    printf("\n");
    fflush(stdout);
    va_end(arguments);
    bad = true;
    shared->faults++;
}

void calls_begin(const char *text)
{
    size_t length = strcspn(text, "(");
    (void)snprintf(call, sizeof call, "%.*s", (int)length, text);
    unsigned i = 0;
    while (i < shared->name_count && strcmp(shared->names[i], call) != 0)
        i++;
    if (i == shared->name_count && i < NAMES)
        (void)snprintf(shared->names[shared->name_count++], sizeof shared->names[0], "%.63s", call);
    calls_diag = (struct hop_diag){0};
    atomic_store(&armed, true);
}

void calls_end(void)
{
    atomic_store(&armed, false);
}

/* A builder that lacked memory once may say so from then on. */
static bool lacked(void)
{
    return atomic_load(&failures) > 0;
}

bool calls_status(enum hop_status status)
{
    calls_end();
    if (status == HOP_OK)
        return true;
    failed = true;
    if (!lacked())
        fault("%s without a failed allocation: %s%s%s", hop_status_text(status), calls_diag.place,
              calls_diag.place[0] ? ": " : "", calls_diag.what);
    else if (status != HOP_ERR_MEMORY)
        fault("'%s', not the status for memory: %s: %s", hop_status_text(status), calls_diag.place, calls_diag.what);
    else if (calls_diag.status != HOP_ERR_MEMORY || !strstr(calls_diag.what, "memory"))
        fault("the status for memory, and as its message (%s) '%s'", hop_status_text(calls_diag.status),
              calls_diag.what);
    return false;
}

void *calls_made(void *made)
{
    calls_end();
    if (!made) {
        failed = true;
        if (!lacked())
            fault("NULL without a failed allocation");
    }
    return made;
}

void calls_counted(uint32_t count)
{
    if (calls_made(count == HOP_NONE ? NULL : &calls_diag))
        calls_sayf("%u", count);
}

static void say(const char *text)
{
    size_t length = strlen(text);
    if (answer_length + length + 2 > ANSWER)
        return;
    memcpy(answer + answer_length, text, length);
    answer_length += length;
    answer[answer_length++] = '\n';
    answer[answer_length] = '\0';
}

void calls_say(char *text)
{
    if (text)
        say(text);
    free(text);
}

void calls_sayf(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say(text);
}

void calls_need(bool good, const char *what)
{
    if (!good) {
        printf("FAIL  %s: the case itself: %s: %s: %s\n", current->name, what, calls_diag.place, calls_diag.what);
        fflush(stdout);
        _exit(3);
    }
}

void calls_same(char *before, char *now)
{
    if (!before || !now || strcmp(before, now) != 0)
        fault("it failed and changed something");
    free(before);
    free(now);
}

static void first_difference(void)
{
    size_t i = 0, line = 0;
    for (; answer[i] && answer[i] == expected[i]; i++)
        line = answer[i] == '\n' ? i + 1 : line;
    fault("ends well with another answer: '%.100s' instead of '%.100s'", answer + line, expected + line);
}

static bool run(const struct calls_case *one, unsigned long at, bool later)
{
    current = one;
    fails_at = at;
    and_later = later;
    answer_length = 0;
    answer[0] = '\0';
    failed = bad = false;
    atomic_store(&number, 0);
    atomic_store(&failures, 0);
    one->run();
    if (at && !failed && strcmp(answer, expected) != 0)
        first_difference();
    return !bad;
}

/* What the answer is, how many allocations there are, and which are the first of their places. */
static void learn(const struct calls_case *one)
{
    if (!one->apart)
        (void)run(one, 0, false); /* what the library keeps for good is there from then on */
    places.first_count = 0;
    memset(places.seen, 0, sizeof places.seen);
    listing = true;
    (void)run(one, 0, false);
    listing = false;
    memcpy(expected, answer, answer_length + 1);
    shared->count = atomic_load(&number);
    shared->place_count = places.first_count;
    shared->runs++;
}

/* ---- all cases ---- */

static const struct calls_case *cases[CASES];
static unsigned case_count;

static void gather(const struct calls_case *list)
{
    for (; list->name; list++)
        cases[case_count++] = list;
}

/* Tries are numbered: allocations, alone and with all that follow, or `most` of the places, evenly drawn. A case with
 * more than EACH allocations has the first of each place, then each n-th allocation. */
static unsigned long most;

static unsigned long step(void)
{
    return (shared->count + EACH - 1) / EACH;
}

static unsigned long place_tries(void)
{
    return step() > 1 ? places.first_count : 0;
}

static unsigned long count_tries(void)
{
    if (most)
        return most < places.first_count ? most : places.first_count;
    return shared->count ? 2 * (place_tries() + (shared->count + step() - 1) / step()) : 0;
}

static void one_try(const struct calls_case *one, unsigned long k)
{
    unsigned long i = k / 2;
    shared->runs++;
    if (most)
        (void)run(one, places.firsts[k * places.first_count / shared->tries], k % 2);
    else
        (void)run(one, i < place_tries() ? places.firsts[i] : (i - place_tries()) * step() + 1, k % 2);
}

static int go_through(const struct calls_case *one, unsigned long from)
{
    learn(one);
    shared->tries = count_tries();
    for (unsigned long k = from; k < shared->tries; k++) {
        (void)alarm(TIME_LIMIT_S);
        shared->at = k;
        one_try(one, k);
        if (one->apart)
            break;
    }
    return 0;
}

/* In a process of its own, and after what ended that, the rest in another one. */
static void try_case(const struct calls_case *one)
{
    unsigned long from = 0;
    bool goes_on = true;
    shared->runs = shared->tries = 0;
    while (goes_on) {
        int status = 0;
        shared->at = from;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            exit(go_through(one, from));
        (void)waitpid(child, &status, 0);
        bool fine = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!fine) {
            shared->faults++;
            printf("FAIL  %s: try %lu ends by %s %d\n", one->name, shared->at, WIFSIGNALED(status) ? "signal" : "exit",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        }
        from = shared->at + 1;
        goes_on = (one->apart || !fine) && from < shared->tries;
    }
    printf("%-28s %6lu allocations, %4u places, %5u runs\n", one->name, shared->count, shared->place_count,
           shared->runs);
}

/* Whether every exported function was called or is listed as one that allocates nothing, and none of those is called. */
static void check_names(const char *exports, const char *pure)
{
    char name[128];
    for (int list = 0; list < 2; list++) {
        FILE *file = fopen(list ? pure : exports, "r");
        while (file && fscanf(file, "%127s", name) == 1) {
            if (name[0] == '#') {
                (void)!fscanf(file, "%*[^\n]");
                continue;
            }
            bool called = false, listed = false;
            for (unsigned i = 0; i < shared->name_count; i++)
                called = called || strcmp(shared->names[i], name) == 0;
            char other[128];
            FILE *again = fopen(list ? exports : pure, "r");
            while (again && fscanf(again, "%127s", other) == 1)
                listed = listed || strcmp(other, name) == 0;
            if (again)
                (void)fclose(again);
            if (list ? called || !listed : !called && !listed) {
                printf("FAIL  %s: %s\n", name,
                       !list    ? "no case of tests/alloc/calls_*.c calls it, and tests/alloc/calls_pure.txt has it not"
                       : called ? "a case calls it, so that tests/alloc/calls_pure.txt must not have it"
                                : "tests/alloc/calls_pure.txt has it, and tests/exports.txt has it not");
                shared->faults++;
            }
        }
        if (file)
            (void)fclose(file);
        else
            shared->faults++;
    }
}

static const struct calls_case *find(const char *name)
{
    for (unsigned i = 0; i < case_count; i++) {
        if (strcmp(cases[i]->name, name) == 0)
            return cases[i];
    }
    printf("no case is called %s\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    json_set_alloc_funcs(__wrap_malloc, free);
    (void)xmlMemSetup(free, __wrap_malloc, __wrap_realloc, __wrap_strdup);
    void *caller[1];
    (void)backtrace(caller, 1); /* loads what it needs */
    gather(calls_of_nouns);
    gather(calls_of_answers);
    gather(calls_of_running);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    answer = malloc(ANSWER);
    expected = malloc(ANSWER);
    if (argc < 3)
        return 2;
    if (strcmp(argv[1], "--at") == 0 && argc == 4) {
        learn(find(argv[3]));
        return run(find(argv[3]), strtoul(argv[2], NULL, 10), strchr(argv[2], '+')) ? 0 : 1;
    }
    int at = 3;
    if (argc > 4 && strcmp(argv[3], "--places") == 0) {
        most = strtoul(argv[4], NULL, 10);
        at = 5;
    }
    for (unsigned i = 0; i < case_count && argc == at; i++)
        try_case(cases[i]);
    for (int i = at; i < argc; i++)
        try_case(find(argv[i]));
    if (argc == at)
        check_names(argv[1], argv[2]);
    printf("%u cases, %u faults\n", case_count, shared->faults);
    free(answer);
    free(expected);
    return shared->faults ? 1 : 0;
}
