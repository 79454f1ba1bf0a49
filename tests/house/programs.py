#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks, which the tests do not build, are at least correct C and C++: programs.py SOURCE CC CXX
A program whose libraries are not here is skipped by name."""
import os
import subprocess
import sys


def fault(compiler, standard, root, path):
    """What the compiler says of a program, "" if nothing; None where a header of another project is missing."""
    told = subprocess.run([compiler, standard, "-fsyntax-only", "-D_GNU_SOURCE", f'-DBENCH_SOURCE_DIR="{root}"',
                           '-DBENCH_COMMAND="hopcast"', f"-I{root}/include", f"-I{root}/src",
                           *(["-DBENCH_HAVE_SIMGRID"] if "simgrid" in os.path.basename(path) else []), path],
                          capture_output=True, text=True)
    if told.returncode == 0:
        return ""
    missing = [line for line in told.stderr.splitlines() if "No such file or directory" in line]
    return None if missing and not any("hopcast/" in line.split("fatal error:")[-1] for line in missing) else told.stderr


def main():
    root, cc, cxx = sys.argv[1:]
    names = sorted(name for name in os.listdir(os.path.join(root, "bench")) if name.endswith((".c", ".cc")))
    told = {name: fault(cc if name.endswith(".c") else cxx, "-std=gnu17" if name.endswith(".c") else "-std=gnu++17", root,
                        os.path.join(root, "bench", name)) for name in names}
    skipped = [name for name, text in told.items() if text is None]
    wrong = [f"bench/{name}:\n{text}" for name, text in told.items() if text]
    broken = subprocess.run([cc, "-fsyntax-only", "-x", "c", "-"], input="int main(void) { return; }", capture_output=True,
                            text=True)
    if not broken.stderr:
        wrong.append(f"{cc} finds no fault in what is wrong")
    for name in skipped:
        print(f"bench/{name} needs a header that is not here")
    print("\n".join(wrong + [f"{len(names)} programs, {len(skipped)} skipped: {len(wrong)} faults"]))
    return 1 if wrong or len(skipped) == len(names) else 0


if __name__ == "__main__":
    sys.exit(main())
