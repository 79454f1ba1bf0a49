#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every option that a subcommand accepts stands in its help, and every option in its help is accepted.

    options.py HOPCAST SOURCE_FOLDER

Accepted options are read from the getopt tables of tools/COMMAND.c. Exit 0: so it is; 1: not.
"""
import os
import re
import subprocess
import sys


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: options.py HOPCAST SOURCE_FOLDER")
    command, tools = os.path.abspath(sys.argv[1]), os.path.join(sys.argv[2], "tools")
    wrong = []
    for name in sorted(os.listdir(tools)):
        with open(os.path.join(tools, name), encoding="utf-8") as file:
            accepted = set(re.findall(r'\{"([a-z-]+)",\s*(?:no|required)_argument', file.read()))
        if not accepted:
            continue
        subcommand = name[:-2].replace("_", " ")  # tune_paths.c: hopcast tune paths
        done = subprocess.run([command, *subcommand.split(), "--help"], stdout=subprocess.PIPE, text=True, check=True)
        text = re.sub(r"`[^`]*`", "", done.stdout)  # other commands
        text = re.sub(r"hopcast (?!" + subcommand + r"\b)[a-z]+ [^\n;|)]*", "", text)
        shown = set(re.findall(r"(?<![\w-])--([a-z][a-z-]*)", text))
        wrong += [f"hopcast {subcommand} --help does not show --{option}" for option in sorted(accepted - shown - {"help"})]
        wrong += [f"hopcast {subcommand} does not accept --{option}, which its help shows" for option in sorted(shown - accepted)]
        print(f"{subcommand}: {len(accepted)} options")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
