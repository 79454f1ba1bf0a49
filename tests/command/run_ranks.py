#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hopcast run under mpirun: one machine and several (--node-size), algorithms and hierarchies, whoever runs ahead, a killed rank.

usage: run_ranks.py openmpi|mpich HOPCAST        HOPCAST_MPI_PATH: the folder of the shims

Exit status: 0 as expected, 1 not, 77 there is no such launcher or shim.
"""
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from under_mpi import PATIENCE_S, briefly, check, command, finish, hopcast, run_parts, wait_until  # noqa: E402


def start(ranks, *arguments):
    how = ["run"] if arguments[0] == "-e" else ["run", "-n", str(ranks)]
    job = subprocess.Popen(command(ranks, *how, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        job.output, job.errors = job.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        check(False, "%d ranks: %s ends" % (ranks, arguments))
        job.kill()
        job.output, job.errors = job.communicate()
    return job


def works(ranks, *arguments):
    done = start(ranks, *arguments)
    check(done.returncode == 0 and "wrong" not in done.errors,
          "%d ranks: %s ended with %d: %s" % (ranks, arguments, done.returncode, done.errors[-600:]))
    return done.output


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
            size = () if name == "barrier" else ("--bytes", "4000")
            text = works(4, name, "--algorithm", algorithm, *size, "--repeat", "20", *nodes)
            check("every byte as it should be" in text, "%s by %s %s: %s" % (name, algorithm, nodes, text[-300:]))


def across_nodes():
    for algorithm in ("gsb-btb-ring", "btb-gsb-doubling"):
        works(4, "allreduce", "--algorithm", algorithm, "--bytes", "1MiB", "--devices",
              "node0.gpu0,node0.gpu1,node1.gpu0,node1.gpu1", "--node-size", "2", "--repeat", "20")
    for name, *algorithm in (("allreduce",), ("reduce",), ("reduce-scatter", "--algorithm", "one-shot")):  # no algorithm's reductions leave a machine
        works(4, name, *algorithm, "--bytes", "64KiB", "--node-size", "2")
    wrong = start(2, "-e", "r: reduce sum f32 1@gpu0:a 0@gpu0:b -> 0@gpu0:b 4KiB", "--node-size", "1")
    check(re.search("^hopcast: .*'r' is performed by rank 0 and touches memory of rank 1, on another machine\n  expected: copies between machines and",
                    wrong.errors, re.M), "a message is whole, whichever rank says it: %s" % wrong.errors)
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


def marked(mark):
    """Our processes, of all that the machine has, that were started with it in their environment."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.readlink("/proc/%s/exe" % entry) == hopcast:
                with open("/proc/%s/environ" % entry, "rb") as file:
                    found += [entry] if mark.encode() in file.read().split(b"\0") else []
        except OSError:
            pass
    return found


def killed():
    """A death is not noticed by the timeout, which is longer than this test waits."""
    mark = "RUN_RANKS_OF=%d" % os.getpid()
    os.environ.update([mark.split("=")])
    for nodes in ((), ("--node-size", "2")):
        done = start(4, "allreduce", "--algorithm", "ring", "--bytes", "1MiB", "--timeout", str(4 * PATIENCE_S), "--fault", "kill 2 s1.r2", *nodes)
        check(done.returncode != 0, "%s: a killed rank is no success" % (nodes,))
        check(wait_until(lambda: not marked(mark)), "%s: nobody is left: %s" % (nodes, marked(mark)))
    works(2, "allreduce", "--bytes", "4KiB")


def refused():
    done = start(2, "-e", "a: 0@gpu0:x -> 3@gpu0:x 1KiB")
    check(done.returncode != 0 and done.errors.count("4 ranks") == 1, "too few ranks, said once: %s" % done.errors)


def differing(first, second, *texts):
    """Ranks that are given different things say so, and none of them runs anything."""
    pair = [["run", "allreduce", "--algorithm", "ring", "--timeout", str(4 * PATIENCE_S), *more] for more in (first, second)]
    job = subprocess.Popen(command(2, *pair[0]) + [":", "-n", "2", hopcast] + pair[1], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    errors = finish(job)
    check(job.returncode in (2, 9), "%s beside %s ended with %d" % (first, second, job.returncode))  # MPICH kills who still runs
    for text in texts:
        check(text in errors, "%s beside %s: '%s' is not in: %s" % (first, second, text, errors[-600:]))


def agree():
    differing(("--bytes", "1KiB"), ("--bytes", "16MiB"), "ranks 2 and 3 have another sum of their bytes than rank 0: 150994944, not 9216")
    differing((), ("--algorithm", "gsb"), "ranks 2 and 3 have another number of operations than rank 0: 7, not 36")
    differing(("--node-size", "2"), ("--node-size", "1"), "rank 2 has another size of a node than rank 0: 1, not 2")
    if os.environ.get("HOPCAST_SOAK"):
        differing(("--bytes", "1KiB", "--no-check"), ("--bytes", "2KiB", "--no-check"), "ranks 2 and 3 have another sum of their bytes")
        differing(("--repeat", "5"), ("--repeat", "6"), "ranks 2 and 3 have another number of launches than rank 0: 6, not 5")


run_parts(*([across_nodes, refused] if briefly else [machines, across_nodes, killed, refused, agree]))
