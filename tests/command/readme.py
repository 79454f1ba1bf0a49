#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What README.md shows a command print is what the command prints.

    readme.py HOPCAST README [FOLDER]

In a fenced block a line "$ hopcast ..." is followed by its output, up to "...", the end of the block or the next command.
Commands run in FOLDER, that of the README if there is none.
"""
import os
import shlex
import subprocess
import sys


def shown_sessions(text):
    """(command, lines shown, whether that is all) for each."""
    for block in text.split("```")[1::2]:
        for session in ("\n" + block).split("\n$ ")[1:]:
            command, *lines = session.rstrip("\n").split("\n")
            whole = lines[-1:] != ["..."]
            yield command, lines if whole else lines[:-1], whole


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: readme.py HOPCAST README [FOLDER]")
    hopcast, readme = os.path.abspath(sys.argv[1]), sys.argv[2]
    folder = sys.argv[3] if len(sys.argv) == 4 else os.path.dirname(os.path.abspath(readme))
    checked = failed = 0
    with open(readme, encoding="utf-8") as file:
        sessions = list(shown_sessions(file.read()))
    for command, lines, whole in sessions:
        words = shlex.split(command)
        assert words[0] == "hopcast", command
        printed = subprocess.run([hopcast, *words[1:]], stdout=subprocess.PIPE, text=True, cwd=folder).stdout.splitlines()
        checked += 1
        if (printed if whole else printed[:len(lines)]) != lines:
            failed += 1
            print(f"$ {command}\nREADME shows:", *lines, "printed is:", *printed, sep="\n")
    print(f"{checked} sessions of the README, {failed} differ")
    return 1 if failed or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
