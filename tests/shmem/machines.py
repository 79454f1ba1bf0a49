#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""OpenSHMEM programs that go wrong on several machines (faults.c), which PEs of this one stand for: machines.py BUILD MPI

Wrong calls end all PEs with the message that faults.py expects, said once; programs that go well do so. HOPCAST_SOAK: all of
them, and a PE that is killed where the launcher lets the others live (Open MPI), which they find out by themselves."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from faults import ANY_PE, PLACES, WELL, WRONG  # noqa: E402

SOAK = bool(os.environ.get("HOPCAST_SOAK"))
WRONGLY = list(WRONG) if SOAK else ["unequal", "root", "stack", "amo_pe"]
PATIENCE_S = 120


def start(*arguments, options=()):
    """(exit status, what was said, seconds)"""
    begun = time.monotonic()
    allowed = ["--allow-run-as-root", "--oversubscribe"] if mpi == "openmpi" else []
    environment = dict(os.environ, LC_ALL="C", HOPCAST_MPI_PATH=build, HOPCAST_NODE_SIZE="1", SHMEM_DEBUG="1",
                       SHMEM_SYMMETRIC_SIZE="64M")
    by_rank = ["sh", "-c", 'FAULTS_RANK=${OMPI_COMM_WORLD_RANK:-$PMI_RANK} exec "$@"', "sh"]
    done = subprocess.run(["mpirun." + mpi, *allowed, *options, "-n", "3", *by_rank, program, *arguments], env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, errors="replace")
    return done.returncode, done.stdout + done.stderr, time.monotonic() - begun


def call_wrongly(what):
    call, message = WRONG[what]
    status, said, _ = start(what)
    who = r"PE \d" if what in ANY_PE else "PE 1"
    message = message.replace(r"\n  expected", "; expected")
    return status != 0 and re.search(f"hopcast-shmem: {who}, shmem_{call}: .*{message}", said), status, said


def die(place):
    """Without a launcher that ends the others: after the 10 s that a PE may be silent."""
    status, said, took_s = start(place, "kill", "3000000", options=["--enable-recovery"])
    return took_s < 60 and "rank 1 was not heard of" in said, status, said


def main():
    tasks = [(call_wrongly, what) for what in WRONGLY]
    tasks += [(lambda a: (lambda r: (r[0] == 0, *r[:2]))(start(*a)), a) for a in (WELL if SOAK else [["thread"]])]
    tasks += [(die, place) for place in PLACES if SOAK and mpi == "openmpi" and place != "after"]
    failures = 0
    for task, what in tasks:
        fine, status, said = task(what)
        failures += not fine
        if not fine:
            print(f"FAIL {what}: exit status {status}: {said}")
    print(f"{len(tasks)} programs, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    build, mpi = os.path.abspath(sys.argv[1]), sys.argv[2]
    if not shutil.which("mpirun." + mpi) or not os.path.exists(os.path.join(build, f"hopcast-{mpi}.so")):
        sys.exit(77)
    with tempfile.TemporaryDirectory() as work:
        program = os.path.join(work, "faults")
        subprocess.run([os.path.join(build, "hopcast-shmemcc"), "-O1", "-pthread",
                        os.path.join(os.path.dirname(os.path.abspath(__file__)), "faults.c"), "-o", program], check=True)
        sys.exit(main())
