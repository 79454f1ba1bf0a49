#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every row of docs/claims.md that names a command holds figures which that command prints.

    claims.py HOPCAST PAGE

A row is | claim | printed | ours | input | how |. Where the last cell is a command (in backticks), it runs in a shell in the
project's root, and each word of the third cell has to stand in what it prints, as a whole word.
"""
import os
import re
import subprocess
import sys


def rows(text):
    """(claim, ours, command) of each row whose last cell is a command."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        command = re.fullmatch(r"`(.*hopcast .*)`", cells[-1]) if cells else None
        if command:
            assert len(cells) == 5, f"five cells are expected: {line}"
            yield cells[0], cells[2], command[1].replace("\\|", "|")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: claims.py HOPCAST PAGE")
    hopcast, page = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    environment = os.environ | {"PATH": os.path.dirname(hopcast) + os.pathsep + os.environ["PATH"]}
    root = os.path.dirname(os.path.dirname(page))
    with open(page, encoding="utf-8") as file:
        claims = list(rows(file.read()))
    printed, failed = {}, 0
    for claim, ours, command in claims:
        if command not in printed:
            result = subprocess.run(["bash", "-o", "pipefail", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    text=True, cwd=root, env=environment)
            printed[command] = result.stdout if result.returncode == 0 else f"exit status {result.returncode}"
        words = set(printed[command].split()) | set(re.findall(r"[\w.,]*\w", printed[command]))
        missing = [word for word in ours.split() if word not in words]
        if missing or not ours:
            failed += 1
            print(f"{claim}\n$ {command}\nis expected to print {ours}, not there: {missing}\n{printed[command]}")
    print(f"{len(claims)} rows with a command, {failed} differ")
    return 1 if failed or not claims else 0


if __name__ == "__main__":
    sys.exit(main())
