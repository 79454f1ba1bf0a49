#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sessions with the command, as its users type them, against what they are expected to print.

    transcripts.py HOPCAST [--update] [NAME ...]

transcripts/NAME.txt is a session:

    ## a remark
    $ hopcast predict -e 'gpu0 -> gpu1 1MiB' --on t2 | head -1
    what it prints, standard output and standard error merged
    [exit 2]

A command is a line behind "$ ", continued by lines behind "> "; then comes what it prints, "[exit N]" where N is not 0, and an empty
line. A line "\\" says that the output's last line has no end.

Each session runs in a temporary folder of its own with copies of data/ and examples/, through sh, hopcast first on the path, in the
locale C, without a terminal; $GPUS is the stand-in for the driver of GPUs in the build tree of the command. --update writes what is printed now into the files: read the difference before it is committed.
Exit 0: as expected; 1: not.
"""
import difflib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

NO_NUMBER = re.compile(r"(?<![\w.:/'=])[-+]?(nan|inf)(?![\w'/])", re.I)  # what is refused is quoted: 'nan', tau=nan
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TIME_LIMIT_S = 240  # for a command that takes seconds, on a busy machine and under sanitizers: it hangs


def no_number(text):
    """The line of an output that holds nan or inf as a number, or None: what is meant by them is said in words."""
    return next((f"a number that is none: {line}" for line in text.splitlines() if NO_NUMBER.search(line)), None)


def read_session(text):
    """The remarks and commands of a session, each a list of lines as they stand there; what was printed is left out."""
    parts = []
    for line in text.splitlines():
        if line.startswith("## "):
            parts.append([line])
        elif line.startswith("$ "):
            parts.append([line])
            continues = True
            continue
        elif line.startswith("> ") and continues:
            parts[-1].append(line)
            continue
        continues = False
    return parts


def environment(command, folder):
    keep = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
    bin_folder = os.path.join(folder, "bin")
    os.mkdir(bin_folder)
    os.symlink(command, os.path.join(bin_folder, "hopcast"))
    path = bin_folder + os.pathsep + os.environ.get("PATH", os.defpath)
    stand_in = os.path.join(os.path.dirname(command), "tests", "fake_cuda", "lib", "libcuda.so.1")
    return {"PATH": path, "LC_ALL": "C", "HOME": folder, "GPUS": stand_in, **keep}


def run(lines, folder, env):
    """What one command prints, as lines of a session."""
    with subprocess.Popen(["/bin/sh", "-c", "\n".join(lines)], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True) as shell:
        try:
            output = shell.communicate(timeout=TIME_LIMIT_S)[0]
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            output = shell.communicate()[0] + f"[still running after {TIME_LIMIT_S} s]\n".encode()
    printed = output.decode("utf-8", "backslashreplace").split("\n")
    if printed[-1]:
        printed.append("\\")
    else:
        printed.pop()
    if shell.returncode:
        printed.append(f"[exit {shell.returncode}]")
    return printed


def play(path, command):
    """The session's text with what its commands print now."""
    with open(path, encoding="utf-8") as file:
        expected = file.read()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        env = environment(command, folder)
        work = os.path.join(folder, "work")
        os.mkdir(work)
        for name in "data", "examples":
            shutil.copytree(os.path.join(ROOT, name), os.path.join(work, name))
        for part in read_session(expected):
            lines += part
            if part[0].startswith("$ "):
                lines += run([line[2:] for line in part], work, env) + [""]
    return expected, "\n".join(lines) + "\n"


def main():
    arguments = sys.argv[1:]
    update = "--update" in arguments
    arguments = [a for a in arguments if a != "--update"]
    if not arguments or any(a.startswith("-") for a in arguments):
        sys.exit("usage: transcripts.py HOPCAST [--update] [NAME ...]")
    command = os.path.abspath(arguments[0])
    names = arguments[1:] or sorted(n[:-4] for n in os.listdir(os.path.join(HERE, "transcripts")) if n.endswith(".txt"))
    failed = 0
    for name in names:
        path = os.path.join(HERE, "transcripts", name + ".txt")
        expected, printed = play(path, command)
        answers = "\n".join(line for line in printed.splitlines() if not line.startswith(("$ ", "> ", "## ")))
        if no_number(answers):
            failed += 1
            print(f"FAILED  {name}: {no_number(answers)}")
        elif expected == printed:
            print(f"ok      {name}")
        elif update:
            with open(path, "w", encoding="utf-8") as file:
                file.write(printed)
            print(f"written {name}")
        else:
            failed += 1
            print(f"FAILED  {name}")
            sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), printed.splitlines(True), "expected", "printed"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
