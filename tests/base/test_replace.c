/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are there whole or not at all. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/replace.h"
#include "test.h"

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[4][sizeof folder + 256];
    static unsigned next;
    char *made = path[next++ % 4];
    (void)snprintf(made, sizeof path[0], "%s/%s", folder, name);
    return made;
}

static int make_folder(void **state)
{
    (void)state;
    (void)strcpy(folder, "/tmp/hopcast-replace-XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

/* Removes what is in it; how many files that were. */
static unsigned clear_folder(void)
{
    unsigned count = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (entry->d_name[0] != '.')
            count += unlink(in_folder(entry->d_name)) == 0;
    }
    (void)closedir(entries);
    return count;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)clear_folder();
    return rmdir(folder);
}

static void assert_holds(const char *name, const char *text)
{
    char held[256] = "";
    FILE *file = fopen(in_folder(name), "r");
    assert_non_null(file);
    (void)!fread(held, 1, sizeof held - 1, file);
    (void)fclose(file);
    assert_string_equal(held, text);
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static mode_t mode_of(const char *name)
{
    struct stat info;
    assert_int_equal(stat(in_folder(name), &info), 0);
    return info.st_mode & 0777;
}

static void a_new_file_is_as_any_and_an_old_one_keeps_its_mode(void **state)
{
    (void)state;
    mode_t before = umask(027);
    assert_true(hop_replace_file(in_folder("new"), "one"));
    (void)umask(before);
    assert_int_equal(mode_of("new"), 0640);
    assert_int_equal(chmod(in_folder("new"), 0604), 0);
    assert_true(hop_replace_file(in_folder("new"), "two"));
    assert_int_equal(mode_of("new"), 0604);
    assert_holds("new", "two");
    assert_int_equal(clear_folder(), 1);
}

static void a_link_stays_and_none_is_followed_by_the_temporary_file(void **state)
{
    char guess[64];
    (void)state;
    put("real", "old");
    put("victim", "precious");
    assert_int_equal(symlink("real", in_folder("link")), 0);
    (void)snprintf(guess, sizeof guess, "real.%ld.tmp", (long)getpid());
    assert_int_equal(symlink("victim", in_folder(guess)), 0);
    assert_int_equal(symlink("victim", in_folder("real.new")), 0);
    assert_true(hop_replace_file(in_folder("link"), "text"));
    assert_holds("real", "text");
    assert_holds("link", "text");
    assert_holds("victim", "precious");
    struct stat info;
    assert_int_equal(lstat(in_folder("link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(clear_folder(), 5);
}

/* No more than 10 bytes may be written to a file, as on a disk that is full. */
static int write_too_much(void)
{
    const struct rlimit limit = {10, 10};
    sigset_t waiting;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 2;
    if (hop_replace_file(in_folder("file"), "more than these ten bytes") || errno != EFBIG)
        return 1;
    return sigpending(&waiting) == 0 && sigismember(&waiting, SIGXFSZ) == 0 ? 0 : 3;
}

static void in_child(int (*body)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(body());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void what_cannot_be_written_whole_leaves_what_was_there(void **state)
{
    (void)state;
    put("file", "old");
    in_child(write_too_much); /* which is told, and lives */
    assert_holds("file", "old");
    struct hop_replacing r;
    assert_true(hop_replacing_begin(&r, in_folder("file")));
    assert_int_equal(write(r.file, "new", 3), 3);
    assert_holds("file", "old");
    assert_false(hop_replacing_end(&r, false));
    assert_holds("file", "old");
    assert_int_equal(clear_folder(), 1);
}

static void a_link_that_dangles_gets_its_target_and_a_circle_is_refused(void **state)
{
    struct stat info;
    (void)state;
    assert_int_equal(symlink("second", in_folder("first")), 0);
    assert_int_equal(symlink(in_folder("target"), in_folder("second")), 0);
    assert_true(hop_can_replace(in_folder("first")));
    assert_true(hop_replace_file(in_folder("first"), "text"));
    assert_int_equal(lstat(in_folder("first"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(lstat(in_folder("target"), &info), 0);
    assert_true(S_ISREG(info.st_mode));
    assert_holds("target", "text");
    assert_int_equal(symlink("circle", in_folder("circle")), 0);
    assert_int_equal(symlink("nowhere/file", in_folder("lost")), 0);
    assert_int_equal(symlink("folder/", in_folder("slash")), 0);
    const struct {
        const char *name;
        int why;
    } refused[] = {{"circle", ELOOP}, {"lost", ENOENT}, {"slash", EISDIR}, {"folder/", EISDIR}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_false(hop_replace_file(in_folder(refused[i].name), "text"));
        assert_int_equal(errno, refused[i].why);
    }
    assert_int_equal(clear_folder(), 6);
}

/* What is being written has no name, so that nothing is left of a process that is killed meanwhile. */
static int replace_unseen(void)
{
    struct hop_replacing r;
    put("old", "old");
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "new" : "old";
        if (!hop_replacing_begin(&r, in_folder(name)) || !hop_replacing_write(&r, "text", 4) || clear_folder() != 1)
            return 1;
        put("old", "old");
        if (!hop_replacing_end(&r, true))
            return 2;
        assert_holds(name, "text");
    }
    return clear_folder() == 2 ? 0 : 3;
}

/* As on a file system that has no files without a name. */
static int replace_unseen_elsewhere(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof program / sizeof *program, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0 ||
        open(folder, O_TMPFILE | O_WRONLY, 0600) >= 0 || errno != EOPNOTSUPP)
        return 4;
    int result = replace_unseen();
    return result ? result : write_too_much();
}

static void what_is_not_whole_has_no_name(void **state)
{
    (void)state;
    in_child(replace_unseen);
    in_child(replace_unseen_elsewhere);
}

static void what_cannot_be_replaced_is_told_before(void **state)
{
    (void)state;
    assert_true(hop_can_replace(in_folder("new")));
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_true(hop_can_replace(in_folder("pipe"))); /* and does not wait for a reader */
    assert_false(hop_can_replace(folder));
    assert_false(hop_can_replace(""));
    assert_false(hop_can_replace(in_folder("nowhere/new")));
    assert_int_equal(clear_folder(), 1);
}

TEST_GROUP(replace)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(a_new_file_is_as_any_and_an_old_one_keeps_its_mode),
        TEST(a_link_stays_and_none_is_followed_by_the_temporary_file),
        TEST(what_cannot_be_written_whole_leaves_what_was_there),
        TEST(a_link_that_dangles_gets_its_target_and_a_circle_is_refused),
        TEST(what_is_not_whole_has_no_name),
        TEST(what_cannot_be_replaced_is_told_before),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
