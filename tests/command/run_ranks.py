#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hopcast run under mpirun: one machine and several (--node-size), algorithms and hierarchies, whoever runs ahead, a killed rank.

usage: run_ranks.py openmpi|mpich HOPCAST        HOPCAST_MPI_PATH: the folder of the shims

Exit status: 0 as expected, 1 not, 77 there is no such launcher or shim.
"""
import json
import os
import shutil
import subprocess
import sys
import time

mpi, hopcast = sys.argv[1], os.path.abspath(sys.argv[2])
launcher = "mpirun." + mpi
shim = os.path.join(os.environ.get("HOPCAST_MPI_PATH", os.path.dirname(hopcast)), "hopcast-%s.so" % mpi)
if not shutil.which(launcher) or not os.path.exists(shim):
    print("skip: there is no %s or no %s" % (launcher, shim))
    sys.exit(77)
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", LC_ALL="C")
failures = 0


def check(holds, what):
    global failures
    if not holds:
        failures += 1
        print("FAIL", what)


def start(ranks, *arguments):
    command = [launcher] + (["--oversubscribe"] if mpi == "openmpi" else []) + ["-n", str(ranks), hopcast, "run"]
    if arguments[0] != "-e":
        command += ["-n", str(ranks)]
    begin = time.time()
    try:
        done = subprocess.run(command + list(arguments), capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        check(False, "%d ranks: %s never ends" % (ranks, arguments))
        return None, 60
    return done, time.time() - begin


def works(ranks, *arguments):
    done, _ = start(ranks, *arguments)
    if done is None:
        return ""
    check(done.returncode == 0 and "wrong" not in done.stderr,
          "%d ranks: %s ended with %d: %s" % (ranks, arguments, done.returncode, done.stderr[-600:]))
    return done.stdout


def machines():
    """Every byte as it should be, wherever the machines' borders are; launches follow each other at once."""
    collectives = {"allreduce": ("ring", "doubling", "gsb-btb"), "broadcast": ("chain",), "reduce": ("gsb",),
                   "scatter": ("direct",), "gather": ("direct",), "allgather": ("bruck",), "reduce-scatter": ("ring",),
                   "alltoall": ("pairwise",), "barrier": ("dissemination",)}
    turn = 0
    for name, algorithms in collectives.items():
        for algorithm in algorithms:
            turn += 1
            nodes = [(), ("--node-size", "2"), ("--node-size", "1"), ("--node-size", "3")][turn % 4]
            text = works(4, name, "--algorithm", algorithm, "--bytes", "4000", "--repeat", "50", *nodes)
            check("every byte as it should be" in text, "%s by %s %s: %s" % (name, algorithm, nodes, text[-300:]))


def across_nodes():
    for algorithm in ("gsb-btb-ring", "btb-gsb-doubling"):
        works(4, "allreduce", "--algorithm", algorithm, "--bytes", "1MiB", "--devices",
              "node0.gpu0,node0.gpu1,node1.gpu0,node1.gpu1", "--node-size", "2", "--repeat", "20")
    answer = works(4, "allreduce", "--algorithm", "ring", "--bytes", "64KiB", "--node-size", "2", "--json")
    transfers = json.loads(answer)["transfers"] if answer else []
    check(transfers and all(0 <= t["start_s"] <= t["end_s"] for t in transfers), "times of both machines are there")
    # What a text can say, between machines too: whoever performs it, whatever it waits for.
    for text in ("a: 0@gpu0:x -> 1@gpu1:y 9MiB by 1; b: 1@gpu1:y -> 0@gpu0:z 5MiB by 1 after a",
                 "a: send 0@gpu0 -> 1@gpu1 1MiB; b: send 1@gpu1 -> 0@gpu0 1MiB; c: receive 1@gpu1 -> 0@gpu0 1MiB after a; "
                 "d: receive 0@gpu0 -> 1@gpu1 1MiB after b",
                 "a: 0@gpu0 -> 1@gpu1 0B; b: 1@gpu1 -> 0@gpu0 3B after a",
                 "a: work 0@gpu0 5ms; b: 1@gpu1 -> 0@gpu0 4KiB after-start a; c: work 1@gpu1 1ms after-start b"):
        works(2, "-e", text, "--node-size", "1")


def killed():
    for nodes in ((), ("--node-size", "2")):
        done, took = start(4, "allreduce", "--algorithm", "ring", "--bytes", "1MiB", "--timeout", "2", "--fault", "kill 2 s1.r2", *nodes)
        if done is None:
            continue
        check(done.returncode != 0, "%s: a killed rank is no success" % (nodes,))
        check(took < 30, "%s: it ends, after %.1f s" % (nodes, took))
    time.sleep(1)
    left = subprocess.run(["pgrep", "-x", "-f", hopcast + " run allreduce.*kill 2.*"], capture_output=True, text=True).stdout
    check(not left.strip(), "nobody is left: %s" % left)
    works(2, "allreduce", "--bytes", "4KiB")


def refused():
    done, _ = start(2, "-e", "a: 0@gpu0:x -> 3@gpu0:x 1KiB")
    check(done is not None and done.returncode != 0 and done.stderr.count("4 ranks") == 1, "too few ranks, said once: %s" % (done and done.stderr))


begin = time.time()
for part in (machines, across_nodes, killed, refused):
    part()
    print("%-14s %5.1f s" % (part.__name__, time.time() - begin))
print("%d failures" % failures)
sys.exit(1 if failures else 0)
