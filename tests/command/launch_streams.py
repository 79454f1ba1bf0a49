#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What programs of hopcast launch read and write: launch_streams.py HOPCAST

Standard input is one rank's, all of it every rank's, or nobody's, from a pipe and from a file. Lines that ranks write in blocks come
whole, in a pipe and in a file, beside what standard error has, and a reader that goes ends all."""
import collections
import os
import subprocess
import sys
import tempfile

RANKS = 3
LINES = "".join(f"{i} {'x' * (i * 37 % 9000)}\n" for i in range(400))  # of up to two blocks, 1.6 MB: more than pipes hold
COUNT = ["sh", "-c", "echo $HOPCAST_RANK $(cksum)"]
# As a rank ends a block in the middle of a line, others do so, too.
WRITE = ["awk", "BEGIN { line = sprintf(\"%8000s\", \"\"); gsub(\" \", ENVIRON[\"HOPCAST_RANK\"], line);"
         " for (i = 0; i < 300; i++) print substr(line, 1, 1 + i * 37 % 8000); printf \"%s\", \"the end\" }"]
faults = []


def expect(holds, what, *said):
    if not holds:
        faults.append(what)
        print("FAIL", what, *(text[:500] for text in said))


def launch(*arguments, **options):
    return subprocess.run([hopcast, "launch", "-n", str(RANKS), *arguments], text=True, timeout=100, **options)


def sum_of(text):
    return subprocess.run(["cksum"], input=text, capture_output=True, text=True).stdout.strip()


def read():
    whole, empty = sum_of(LINES), sum_of("")
    with tempfile.TemporaryFile("w+") as file:
        file.write(LINES)
        for who, has in (("0", [0]), ("2", [2]), ("all", [0, 1, 2]), ("none", [])):
            wanted = [f"{rank} {whole if rank in has else empty}" for rank in range(RANKS)]
            for kind in ("pipe", "file"):
                file.seek(0)
                source = {"input": LINES} if kind == "pipe" else {"stdin": file}
                done = launch(*(["--stdin", who] if who != "0" else []), *COUNT, capture_output=True, **source)
                expect(sorted(done.stdout.splitlines()) == wanted, f"--stdin {who}, a {kind}", done.stdout, done.stderr)
    # Who does not read, or not to the end, keeps nobody from it.
    done = launch("--stdin", "all", "sh", "-c", "[ $HOPCAST_RANK = 2 ] && cksum || head -n $HOPCAST_RANK >/dev/null",
                  input=LINES, capture_output=True)
    expect(done.returncode == 0 and done.stdout.strip() == whole, "one of them reads", done.stdout, done.stderr)


def write():
    wanted = {str(rank)[0] * (1 + i * 37 % 8000) for rank in range(RANKS) for i in range(300)}
    with tempfile.TemporaryFile("w+") as file:
        for kind in ("pipe", "file", "both"):
            # "both": standard error is the same file, and a program's order of the two stays.
            program = WRITE if kind != "both" else ["sh", "-c", "echo out; echo err >&2; echo out again"]
            where = {"stdout": file, "stderr": subprocess.STDOUT} if kind != "pipe" else {"stdout": subprocess.PIPE}
            file.seek(0)
            file.truncate()
            done = launch(*program, stdin=subprocess.DEVNULL, **where)
            file.seek(0)
            said = done.stdout if kind == "pipe" else file.read()
            if kind == "both":
                lines = collections.Counter(said.splitlines())
                expect(lines == {"out": RANKS, "err": RANKS, "out again": RANKS}, "both in one file", said)
                continue
            ends = said.count("the end")
            lines = collections.Counter(said.replace("the end", "").splitlines())
            cut = sum(count for line, count in lines.items() if line not in wanted)
            expect(ends == RANKS and not cut and sum(lines.values()) == RANKS * 300, f"lines in a {kind}", f"{cut} cut of {sum(lines.values())}, {ends} ends")
    reader = subprocess.run(["sh", "-c", '"$@" | head -n 1', "sh", hopcast, "launch", "-n", str(RANKS), "yes"],
                            capture_output=True, text=True, timeout=100)
    expect(reader.stdout == "y\n" and "signal 13" in reader.stderr, "a reader goes", reader.stdout, reader.stderr)


if __name__ == "__main__":
    hopcast = os.path.abspath(sys.argv[1])
    read()
    write()
    sys.exit(1 if faults else 0)
