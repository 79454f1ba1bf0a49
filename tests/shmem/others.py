#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Other projects' OpenSHMEM tests, compiled unchanged and run: others.py BUILD FOLDER [-n 2,4] [-j JOBS] [--long]
[--mpirun openmpi|mpich [--node-size K]] [--keep WHERE] [PATTERN...]

FOLDER holds checkouts of openshmem-org's tests-sos, tests-cray, tests-mellanox and tests-uh, and of its specification (as
spec), as far as they are there; PATTERN chooses programs as suite/name. What is known not to pass stands in KNOWN with its
reason (docs/shmem.md has them, too). --long: also what copies for minutes. --mpirun starts them by that instead of hopcast-shmemrun, and --node-size makes every K PEs a
machine of their own. --keep: what was compiled stays in that folder, and is taken from there. Exit status 1: another one failed, or one of those passes."""
import argparse
import concurrent.futures
import fnmatch
import glob
import os
import re
import subprocess
import sys
import tempfile

TIMEOUT_S = 600  # 4 PEs on 2 processors meet slowly
NB = "calls shmemx_*_put_nb, an extension of Cray's"
SHORT = "calls atomics of short, which the specification does not have"
FEW = "puts to PE 2: needs 3 PEs"
SANDIA = "uses an extension of Sandia OpenSHMEM's: "
# Program, numbers of PEs (empty: all; 0: it does not compile), reason.
KNOWN = [
    *((f"sos/shmemx/{name}", (), SANDIA + what) for name, what in (
        ("*_ibput", "shmemx_ibput, now shmem_ibput"), ("*_ibget", "shmemx_ibget, now shmem_ibget"),
        ("perf_counter", "shmemx_pcntr_*"), ("shmemx_team_node", "SHMEMX_TEAM_NODE"),
        ("shmem_malloc_with_hints", "SHMEMX_MALLOC_NO_BARRIER"), ("signal_*", "shmemx_signal_*, now shmem_signal_*"),
        ("*scan*", "shmemx_*scan, now shmem_*scan"), ("gettid_register", "shmemx_register_gettid"))),
    ("spec/hybrid_mpi_*", (), "calls MPI, too"),
    ("spec/pshmem_*", (), "a part of a program"),
    ("spec/shmem_scan_example", (), "a function without main"),
    ("spec/shmem_fence_example", (2,), FEW),
    ("spec/shmem_quiet_example", (2,), FEW),
    ("cray/shmem_broadcast_all", (), "includes mpp/shmemx.h for an extension of Cray's"),
    ("cray/shmem_*put_nb*", (), NB),
    ("cray/shmem_type_put_nb", (), NB),
    ("cray/shmem_finc_*", (), SHORT),
    ("cray/shmem_swap_only", (), SHORT),
    ("cray/align", (), "its own fault: writes to what shmem_align gave for 63, which is no power of two"),
]
# Programs whose exit status is their own, and each list of arguments that one is run with.
STATUS = {"spec/shmem_global_exit_example": 1, "uh/test_shmem_global_exit": 99}
ARGUMENTS = {"mellanox/oshmem_test": [["exec", "--task=" + t] for t in ("atomic", "coll", "lock", "sync", "stride", "misc")]}
# They copy for minutes: without --long they are compiled only.
LONG = ["uh/*_performance", "sos/performance/shmem_perf_suite/*"]


def files_in(folder, pattern="*.c", flags=()):
    """Each file is a program."""
    for path in sorted(glob.glob(os.path.join(folder, pattern))):
        yield os.path.splitext(os.path.basename(path))[0], [path], list(flags)


def automake(folder, without):
    """(name, sources, flags) by the folder's Makefile.am, without what stands under conditions that have such a word."""
    with open(os.path.join(folder, "Makefile.am")) as file:
        text = file.read().replace("\\\n", " ")
    names, depth, skipped = [], 0, 0
    for line in text.splitlines():
        if line.startswith("if "):
            depth += 1
            skipped = skipped or (depth if "!" not in line and any(word in line for word in without) else 0)
        elif line.startswith("endif"):
            depth -= 1
            skipped = skipped if skipped <= depth else 0
        elif line.startswith("check_PROGRAMS") and not skipped:
            names += line.split("=", 1)[1].split()
    for name in names:
        key = re.sub(r"\W", "_", name)
        sources = re.search(rf"^{key}_SOURCES *= *(.*)$", text, re.M)
        flags = re.search(rf"^{key}_CFLAGS *= *(.*)$", text, re.M)
        cpp = os.path.exists(os.path.join(folder, name + ".cpp"))
        found = [s for s in (sources.group(1).split() if sources else [name + (".cpp" if cpp else ".c")])
                 if not s.endswith(".h")]
        own = [f.replace("$(AM_OPENMP_CFLAGS)", "-fopenmp") for f in (flags.group(1).split() if flags else [])
               if f.startswith("-D") or "OPENMP" in f]
        yield name, [os.path.join(folder, s) for s in found], own


def sos(folder):
    common = ["-I" + os.path.join(folder, "test", "performance", "shmem_perf_suite"), "-I" + os.path.join(folder, "test", "include"), "-DENABLE_SHMEMX_TESTS", "-DENABLE_DEPRECATED_TESTS",
              "-DHAVE_CONFIG_H=0", "-DENABLE_THREADS"]
    for part in ("unit", "shmemx", "spec-example", "apps", "performance/shmem_perf_suite", "performance/tests"):
        for name, sources, flags in automake(os.path.join(folder, "test", part), ("FORTRAN", "PORTALS", "PMI_MPI")):
            yield f"{part}/{name}", sources, [*common, *flags]


def mellanox(folder):
    """One program of many cases. Not run: basic, which asks shrealloc for more of what it has freed; data, reduce and
    analysis, which take minutes; what needs MPI."""
    top = os.path.join(folder, "verifier")
    with open(os.path.join(top, "Makefile.am")) as file:
        sources = re.findall(r"^oshmem_test_SOURCES \+?= (.*)$", file.read().replace("\\\n", " "), re.M)
    paths = [os.path.join(top, s) for line in sources for s in line.split()
             if not s.startswith(("mix/", "nbi/osh_nbi_tc"))]  # with MPI
    yield "oshmem_test", paths, ["-I" + top, "-I" + os.path.join(top, "cmn"), "-DHAVE_ALLTOALL", "-DHAVE_UNISTD_H", "-DCHECK_ACTIVE_SET",
                                 "-DPACKAGE_VERSION=\"1\""]


def cray(folder):
    flags = ["-DHAVE_SHORT", "-DHAVE_LONG_LONG", "-DHAVE_LONG_DOUBLE", "-DHAVE_SET_CACHE_INV", "-DNEEDS_FINALIZE"]
    yield from files_in(os.path.join(folder, "sma1"), flags=flags)
    yield from files_in(os.path.join(folder, "sma2"), "*.cpp", flags)


SUITES = {
    "sos": ("tests-sos", sos),
    "spec": ("spec", lambda folder: files_in(os.path.join(folder, "example_code"), flags=["-fopenmp"])),
    "cray": ("tests-cray", cray),
    "mellanox": ("tests-mellanox", mellanox),
    "uh": ("tests-uh", lambda folder: [*files_in(os.path.join(folder, "feature_tests", "C")),
                                       *files_in(os.path.join(folder, "performance_tests", "micro_benchmarks"))]),
}


def build(build_folder, name, sources, flags, where):
    plus = any(s.endswith(".cpp") for s in sources)
    compiler = os.path.join(build_folder, "hopcast-shmemc++" if plus else "hopcast-shmemcc")
    program = os.path.join(where, name.replace("/", "+"))
    if os.path.exists(program):
        return True, ""
    command = [compiler, "-O1", "-w", "-pthread", *flags, "-I" + where, *sources, "-lm", "-o", program]
    done = subprocess.run(command, capture_output=True, text=True)
    errors = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
    return done.returncode == 0, "; ".join(errors[:3])


def starter(o):
    """The command that starts PEs, up to their number, and its environment."""
    environment = dict(os.environ, HOPCAST_MPI_PATH=o.build)
    if o.node_size:
        environment["HOPCAST_NODE_SIZE"] = str(o.node_size)
    if not o.mpirun:
        return [os.path.join(o.build, "hopcast-shmemrun"), "-n"], environment
    allowed = ["--allow-run-as-root", "--oversubscribe"] if o.mpirun == "openmpi" else []
    return ["mpirun." + o.mpirun, *allowed, "-n"], environment


def run(start, where, name, pes, timeout_s):
    """What went wrong, with any of its arguments."""
    said = (run_once(start, where, name, arguments, pes, timeout_s) for arguments in ARGUMENTS.get(name, [[]]))
    return next(filter(None, said), "")


def run_once(start, where, name, arguments, pes, timeout_s):
    program = os.path.join(os.path.abspath(where), name.replace("/", "+"))
    command = [*start[0], str(pes), program, *arguments]
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
    """The reason why it does not pass with so many PEs (0: does not compile)."""
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
    arguments.add_argument("--keep")
    arguments.add_argument("patterns", nargs="*", default=["*"])
    o = arguments.parse_intermixed_args()
    o.build = os.path.abspath(o.build)
    pes, chosen = [int(n) for n in o.n.split(",")], []
    for suite, (place, programs) in SUITES.items():
        folder = os.path.join(o.folder, place)
        if not os.path.isdir(folder):
            print(f"{suite}: no {folder}, left out")
            continue
        chosen += [(f"{suite}/{name}", sources, flags) for name, sources, flags in programs(folder)
                   if any(fnmatch.fnmatchcase(f"{suite}/{name}", p) for p in o.patterns)]
    counts, wrong = {}, []

    def judge(suite, name, n, said):
        reason = known(name, n)
        result = ("failed" if not reason else "known") if said else ("passed" if not reason else "passes, though known")
        counts.setdefault((suite, n), {}).setdefault(result, 0)
        counts[suite, n][result] += 1
        if result not in ("passed", "known"):
            wrong.append(name)
            print(f"{name}, {n} PEs: {result}: {said or reason}", flush=True)

    with tempfile.TemporaryDirectory() as where, concurrent.futures.ThreadPoolExecutor(o.j) as pool:
        where = o.keep or where
        os.makedirs(where, exist_ok=True)
        open(os.path.join(where, "config.h"), "w").close()  # what their configure would write
        built = list(pool.map(lambda p: (p[0], *build(o.build, *p, where)), chosen))
        for name, fine, said in built:
            judge(name.split("/")[0], name, 0, "" if fine else said) if not fine else None
        cases = [(name, n) for name, fine, _ in built
                 if fine and (o.long or not any(fnmatch.fnmatchcase(name, p) for p in LONG)) for n in pes]
        results = pool.map(lambda c: (*c, run(starter(o), where, *c, o.timeout)), cases)
        for name, n, said in results:
            judge(name.split("/")[0], name, n, said)
    for (suite, n), numbers in sorted(counts.items()):
        print(f"{suite}, {f'{n} PEs' if n else 'not compiled'}:", ", ".join(f"{v} {k}" for k, v in numbers.items()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
