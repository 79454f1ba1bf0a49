#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hopcast order and plan under mpirun: the same answers with any number of ranks, checkpoints across them, a killed rank.

usage: ranks.py openmpi|mpich HOPCAST        HOPCAST_MPI_PATH: the folder of the shims

Exit status: 0 as expected, 1 not, 77 there is no such launcher or shim.
"""
import json
import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from under_mpi import PATIENCE_S, check, check_gone, command, finish, hopcast, ranks_of, run_parts, wait_until, work  # noqa: E402


def run(ranks, *arguments):
    done = subprocess.run(command(ranks, *arguments), capture_output=True, text=True, timeout=PATIENCE_S)
    check(done.returncode == 0, "%d ranks: %s ended with %d: %s" % (ranks, arguments, done.returncode, done.stderr[-500:]))
    return done.stdout


def uneven(name, machine, seed, *pattern):
    """An exchange whose sizes differ, as a file."""
    text = subprocess.run([hopcast, "make", *pattern, "--on", machine], capture_output=True, text=True, check=True).stdout
    numbers = iter(range(seed, 100000000, 7919))
    text = re.sub(r"\b1MiB", lambda _: "%dKiB" % (512 + next(numbers) * 31 % 1024), text)
    path = os.path.join(work, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def without_times(text):
    answer = json.loads(text)
    for key in ("elapsed_s", "nodes", "sets", "recalled"):
        answer.pop(key, None)
    return answer


def same_answers():
    small = uneven("small.hop", "t2", 3, "halo:2x2x2" if os.environ.get("HOPCAST_SOAK") else "halo:4x2")
    alone = without_times(run(0, "order", small, "--on", "t2", "--json"))
    everything = without_times(run(0, "order", small, "--on", "t2", "--all", "--json"))
    exact = without_times(run(0, "order", small, "--on", "t2", "--json", "--no-waits"))
    check(exact["value_s"] == everything["fastest_clean"]["value_s"] >= alone["value_s"], "exact and exhaustive agree")
    check(without_times(run(4, "order", small, "--on", "t2", "--json")) == alone, "4 ranks find what one finds")
    check(without_times(run(2, "order", small, "--on", "t2", "--all", "--json")) == everything, "2 ranks count what one counts")


def checkpoints():
    """What four ranks saved, two and then one go on from; nothing counts twice."""
    flat = uneven("flat.hop", "t2", 5, "halo:4x2")
    whole = without_times(run(0, "order", flat, "--on", "t2", "--all", "--json"))
    saved = os.path.join(work, "saved")
    for ranks in (4, 2, 0):
        check(without_times(run(ranks, "order", flat, "--on", "t2", "--all", "--json", "--checkpoint", saved)) == whole,
              "%d ranks go on from the checkpoint" % ranks)


def killed_rank():
    """A rank dies in a long search: the best so far is in the file, and nobody is left."""
    large = uneven("large.hop", "cs-storm", 11, "alltoall")
    best = os.path.join(work, "best.hop")
    job = subprocess.Popen(command(3, "order", large, "--on", "cs-storm", "-o", best, "--time-limit", "%ds" % (2 * PATIENCE_S)),
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: os.path.exists(best) or job.poll() is not None)
    check(os.path.exists(best), "the best order is written while the search runs")
    ranks = ranks_of(job)
    if check(job.poll() is None, "the search goes on until a rank is killed") and check(len(ranks) == 3, "three ranks run, these are there: %s" % ranks):
        os.kill(ranks[-1], signal.SIGKILL)
    said = finish(job)
    check(job.returncode != 0, "the launcher says that something went wrong: %s" % said)
    check_gone(ranks)
    predicted = subprocess.run([hopcast, "predict", best, "--on", "cs-storm", "--json"], capture_output=True, text=True)
    check(predicted.returncode == 0 and json.loads(predicted.stdout)["makespan_s"] > 0, "the file holds a whole schedule")


def plans():
    """Where all placements are looked at, where lanes anneal, and where algorithms are chosen."""
    soak = bool(os.environ.get("HOPCAST_SOAK"))
    for asked in (["halo:2x2x2", "--on", "t2", "--max-nodes", "3000"],
                  ["halo:4x3", "--on", "cs-storm", "--max-nodes", "6000"],
                  ["allreduce", "-n", "3", "--bytes", "1MiB", "--on", "t2", "--max-nodes", "500"])[:3 if soak else 2]:
        alone = without_times(run(0, "plan", *asked, "--json"))
        saved = os.path.join(work, "plan-" + asked[0])
        check(without_times(run(3, "plan", *asked, "--json", "--checkpoint", saved)) == alone, "3 ranks plan %s as one" % asked[0])
        resumed = run(2, "plan", *asked, "--json", "--checkpoint", saved)
        check(without_times(resumed) == alone, "2 ranks go on with %s as one" % asked[0])
        check(json.loads(resumed)["recalled"] > 0, "%s is in the checkpoint" % asked[0])
    # Against the clock each rank has lanes of its own: a plan comes of them, and the next run has no worse one.
    asked = ["halo:4x3", "--on", "cs-storm", "--time-limit", "300ms", "--json", "--checkpoint", os.path.join(work, "plan-lanes")]
    values = [json.loads(run(ranks, "plan", *asked))["value_s"] for ranks in (3, 2)]
    check(values[1] <= values[0], "2 ranks go on with lanes of 3: %s" % values)


def killed_rank_of_plan():
    """Killed while all search: the others are gone, the checkpoint is whole."""
    saved = os.path.join(work, "plan-killed")
    asked = ["plan", "halo:4x4", "--on", "cs-storm", "--checkpoint", saved, "--checkpoint-every", "10ms"]
    job = subprocess.Popen(command(3, *asked, "--time-limit", "%ds" % (2 * PATIENCE_S)), stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, text=True)
    wait_until(lambda: os.path.exists(saved) or job.poll() is not None)
    ranks = ranks_of(job)
    if check(job.poll() is None and len(ranks) == 3, "three ranks plan until one is killed, these are there: %s" % ranks):
        os.kill(ranks[-1], signal.SIGKILL)
    said = finish(job)
    check(job.returncode != 0, "the launcher says that something went wrong: %s" % said)
    check_gone(ranks)
    run(0, *asked[:-2], "--max-nodes", "1000")


run_parts(same_answers, checkpoints, killed_rank, plans, killed_rank_of_plan)
