#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Other projects' OpenSHMEM tests, compiled unchanged and run: others.py BUILD FOLDER [-n 2,3,4] [-j JOBS] [NAME...]

FOLDER is a checkout of tests-sos (openshmem-org/tests-sos): the programs of its test/unit/Makefile.am are those of the
configuration with C++, threads, profiling, deprecated calls and shmemx tests, without Fortran. A program that says that it needs
another number of PEs counts as declined. Exit status 1: one failed."""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

TIMEOUT_S = 120
DECLINES = re.compile(r"(requires?|needs?|must (be|have|use)|at least|only|exactly|even|odd|power of|number of PEs|npes)", re.I)


def programs(folder):
    """(name, sources, flags) by the folder's Makefile.am."""
    text = open(os.path.join(folder, "Makefile.am")).read().replace("\\\n", " ")
    names, skipped = [], 0
    for line in text.splitlines():
        if line.startswith("if "):
            skipped += "FORTRAN" in line or skipped > 0
        elif line.startswith("endif") and skipped:
            skipped -= 1
        elif line.startswith("check_PROGRAMS") and not skipped:
            names += line.split("=", 1)[1].split()
    for name in names:
        key = re.sub(r"\W", "_", name)
        sources = re.search(rf"^{key}_SOURCES *= *(.*)$", text, re.M)
        flags = re.search(rf"^{key}_CFLAGS *= *(.*)$", text, re.M)
        found = [s for s in (sources.group(1).split() if sources else [name + ".c"]) if not s.endswith(".h")]
        own = [f for f in (flags.group(1).split() if flags else []) if f.startswith("-D")]
        yield name, [os.path.join(folder, s) for s in found], own


def build(build_folder, top, name, sources, flags, where):
    plus = any(s.endswith(".cpp") for s in sources)
    compiler = os.path.join(build_folder, "hopcast-shmemc++" if plus else "hopcast-shmemcc")
    command = [compiler, "-O1", "-w", "-pthread", "-I" + os.path.join(top, "test", "include"), "-DENABLE_SHMEMX_TESTS",
               "-DENABLE_DEPRECATED_TESTS", "-DHAVE_CONFIG_H=0", *flags, *sources, "-lm", "-o", os.path.join(where, name)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode == 0, done.stderr


def run(build_folder, program, pes, timeout_s):
    command = [os.path.join(build_folder, "hopcast-shmemrun"), "-n", str(pes), program]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, stdin=subprocess.DEVNULL,
                              cwd=os.path.dirname(program), errors="replace")
    except subprocess.TimeoutExpired:
        return "failed", f"no end within {timeout_s} s"
    said = done.stdout[-2000:] + done.stderr[-2000:]
    if done.returncode == 0:
        return "passed", ""
    if os.path.basename(program) == "global_exit" and done.returncode == 0:
        return "passed", ""
    return "failed", f"exit status {done.returncode}: " + said.strip()[-600:]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("build")
    arguments.add_argument("folder")
    arguments.add_argument("-n", default="2,4")
    arguments.add_argument("-j", type=int, default=2)
    arguments.add_argument("--timeout", type=int, default=TIMEOUT_S)
    arguments.add_argument("--parts", default="unit")
    arguments.add_argument("names", nargs="*")
    o = arguments.parse_args()
    o.build = os.path.abspath(o.build)
    pes = [int(n) for n in o.n.split(",")]
    chosen = [p for part in o.parts.split(",") for p in programs(os.path.join(o.folder, "test", part))
              if not o.names or p[0] in o.names]
    counts, wrong = {n: {"passed": 0, "declined": 0, "failed": 0} for n in pes}, []
    with tempfile.TemporaryDirectory() as where, concurrent.futures.ThreadPoolExecutor(o.j) as pool:
        built = list(pool.map(lambda p: (p[0], *build(o.build, o.folder, *p, where)), chosen))
        for name, fine, said in built:
            if not fine:
                wrong.append(f"{name} does not compile: {said.strip()[:1200]}")
        print(f"{len(chosen)} programs, {sum(fine for _, fine, _ in built)} compiled", flush=True)
        cases = [(name, n) for name, fine, _ in built if fine for n in pes]
        results = pool.map(lambda c: (*c, *run(o.build, os.path.join(where, c[0]), c[1], o.timeout)), cases)
        for name, n, result, said in results:
            if result == "failed" and DECLINES.search(said) and "expected" not in said and "no end" not in said:
                result = "declined"
            counts[n][result] += 1
            if result != "passed":
                wrong.append(f"{name}, {n} PEs: {result}: {said}")
    for line in wrong:
        print(line)
    for n in pes:
        print(f"{n} PEs:", ", ".join(f"{number} {what}" for what, number in counts[n].items()))
    return 1 if any(counts[n]["failed"] for n in pes) or not all(fine for _, fine, _ in built) else 0


if __name__ == "__main__":
    sys.exit(main())
