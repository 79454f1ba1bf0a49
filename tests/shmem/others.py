#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Other projects' OpenSHMEM programs, run as they were built: others.py BUILD FOLDER [-n 2,4] [-j JOBS] [--long]
[--mpirun openmpi|mpich [--node-size K]] [PATTERN...]

FOLDER holds programs by suite, such as sos/unit/hello of openshmem-org's tests-sos, linked with any build of libhopcast_shmem: they
run with that of BUILD. PATTERN chooses some of them. What is known not to pass stands in KNOWN with its reason (docs/shmem.md has
them, too). --long: also what copies for minutes. --mpirun starts them by that instead of hopcast-shmemrun, and --node-size makes every
K PEs a machine of their own. Exit status 1: another one failed, or one of those passes."""
import argparse
import concurrent.futures
import fnmatch
import os
import re
import subprocess
import sys
import tempfile

TIMEOUT_S = 600  # 4 PEs on 2 processors meet slowly
FEW = "puts to PE 2: needs 3 PEs"
# Program, numbers of PEs (empty: all), reason.
KNOWN = [
    ("spec/shmem_fence_example", (2,), FEW),
    ("spec/shmem_quiet_example", (2,), FEW),
    ("cray/align", (), "its own fault: writes to what shmem_align gave for 63, which is no power of two"),
]
# Programs whose exit status is their own, and each list of arguments that one is run with.
STATUS = {"spec/shmem_global_exit_example": 1, "uh/test_shmem_global_exit": 99}
ARGUMENTS = {"mellanox/oshmem_test": [["exec", "--task=" + t] for t in ("atomic", "coll", "lock", "sync", "stride", "misc")]}
# They copy for minutes, and run with --long.
LONG = ["uh/*_performance", "sos/performance/shmem_perf_suite/*"]


def programs_in(folder):
    for path, _, names in os.walk(folder):
        for name in names:
            whole = os.path.join(path, name)
            if os.access(whole, os.X_OK):
                yield os.path.relpath(whole, folder)


def starter(o):
    """The command that starts PEs, up to their number, and its environment."""
    environment = dict(os.environ, HOPCAST_MPI_PATH=o.build, LD_LIBRARY_PATH=o.build)
    if o.node_size:
        environment["HOPCAST_NODE_SIZE"] = str(o.node_size)
    if not o.mpirun:
        return [os.path.join(o.build, "hopcast-shmemrun"), "-n"], environment
    allowed = ["--allow-run-as-root", "--oversubscribe"] if o.mpirun == "openmpi" else []
    return ["mpirun." + o.mpirun, *allowed, "-n"], environment


def run(start, folder, name, pes, timeout_s):
    """What went wrong, with any of its arguments."""
    said = (run_once(start, folder, name, arguments, pes, timeout_s) for arguments in ARGUMENTS.get(name, [[]]))
    return next(filter(None, said), "")


def run_once(start, folder, name, arguments, pes, timeout_s):
    command = [*start[0], str(pes), os.path.join(folder, name), *arguments]
    with tempfile.TemporaryDirectory() as own:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, stdin=subprocess.DEVNULL,
                                  cwd=own, errors="replace", env=start[1])
        except subprocess.TimeoutExpired:
            return f"no end within {timeout_s} s"
    said = (done.stdout[-2000:] + done.stderr[-2000:]).strip()
    if done.returncode != STATUS.get(name, 0):
        return f"exit status {done.returncode}: {said[-600:]}"
    return said[-600:] if re.search(r"^.{0,40}FAIL", done.stdout + done.stderr, re.M) else ""


def known(name, pes):
    """The reason why it does not pass with so many PEs."""
    for pattern, numbers, reason in KNOWN:
        if fnmatch.fnmatchcase(name, pattern) and (not numbers or pes in numbers):
            return reason
    return None


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("build")
    arguments.add_argument("folder")
    arguments.add_argument("-n", default="2,4")
    arguments.add_argument("-j", type=int, default=2)
    arguments.add_argument("--long", action="store_true")
    arguments.add_argument("--timeout", type=int, default=TIMEOUT_S)
    arguments.add_argument("--mpirun", choices=("openmpi", "mpich"))
    arguments.add_argument("--node-size", type=int)
    arguments.add_argument("patterns", nargs="*", default=["*"])
    o = arguments.parse_intermixed_args()
    o.build, o.folder = os.path.abspath(o.build), os.path.abspath(o.folder)
    pes = [int(n) for n in o.n.split(",")]
    chosen = [name for name in sorted(programs_in(o.folder)) if any(fnmatch.fnmatchcase(name, p) for p in o.patterns)
              and (o.long or not any(fnmatch.fnmatchcase(name, p) for p in LONG))]
    counts, wrong = {}, []
    with concurrent.futures.ThreadPoolExecutor(o.j) as pool:
        cases = [(name, n) for name in chosen for n in pes]
        for name, n, said in pool.map(lambda c: (*c, run(starter(o), o.folder, *c, o.timeout)), cases):
            reason, suite = known(name, n), name.split("/")[0]
            result = ("failed" if not reason else "known") if said else ("passed" if not reason else "passes, though known")
            counts.setdefault((suite, n), {}).setdefault(result, 0)
            counts[suite, n][result] += 1
            if result not in ("passed", "known"):
                wrong.append(name)
                print(f"{name}, {n} PEs: {result}: {said or reason}", flush=True)
    for (suite, n), numbers in sorted(counts.items()):
        print(f"{suite}, {n} PEs:", ", ".join(f"{v} {k}" for k, v in numbers.items()))
    if not chosen:
        print(f"there is no such program in {o.folder}")
    return 1 if wrong or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
