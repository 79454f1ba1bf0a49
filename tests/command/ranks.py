#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hopcast order under mpirun: the same answers with any number of ranks, checkpoints across them, a killed rank.

usage: ranks.py openmpi|mpich HOPCAST        HOPCAST_MPI_PATH: the folder of the shims

Exit status: 0 as expected, 1 not, 77 there is no such launcher or shim.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

mpi, hopcast = sys.argv[1], os.path.abspath(sys.argv[2])
launcher = "mpirun." + mpi
shim = os.path.join(os.environ.get("HOPCAST_MPI_PATH", os.path.dirname(hopcast)), "hopcast-%s.so" % mpi)
if not shutil.which(launcher) or not os.path.exists(shim):
    print("skip: there is no %s or no %s" % (launcher, shim))
    sys.exit(77)
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", LC_ALL="C")
work = tempfile.mkdtemp()
failures = 0


def check(holds, what):
    global failures
    if not holds:
        failures += 1
        print("FAIL", what)


def command(ranks, *arguments):
    start = [launcher] + (["--oversubscribe"] if mpi == "openmpi" else []) + ["-n", str(ranks)] if ranks else []
    return start + [hopcast] + list(arguments)


def run(ranks, *arguments):
    done = subprocess.run(command(ranks, *arguments), capture_output=True, text=True, timeout=120)
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
    for key in ("elapsed_s", "nodes", "sets"):
        answer.pop(key, None)
    return answer


def same_answers():
    small = uneven("small.hop", "t2", 3, "halo", "--grid", "2x2x2")
    alone = without_times(run(0, "order", small, "--on", "t2", "--json"))
    everything = without_times(run(0, "order", small, "--on", "t2", "--all", "--json"))
    check(alone["value_s"] == everything["fastest_clean"]["value_s"], "exact and exhaustive agree")
    for ranks in (2, 4):
        check(without_times(run(ranks, "order", small, "--on", "t2", "--json")) == alone, "%d ranks find what one finds" % ranks)
        check(without_times(run(ranks, "order", small, "--on", "t2", "--all", "--json")) == everything,
              "%d ranks count what one counts" % ranks)


def checkpoints():
    """What four ranks saved, two and then one go on from; nothing counts twice."""
    flat = uneven("flat.hop", "t2", 5, "halo", "--grid", "4x2")
    whole = without_times(run(0, "order", flat, "--on", "t2", "--all", "--json"))
    saved = os.path.join(work, "saved")
    for ranks in (4, 2, 0):
        check(without_times(run(ranks, "order", flat, "--on", "t2", "--all", "--json", "--checkpoint", saved)) == whole,
              "%d ranks go on from the checkpoint" % ranks)


def children(pid):
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open("/proc/%s/stat" % entry) as file:
                if entry.isdigit() and int(file.read().rsplit(")", 1)[1].split()[1]) == pid:
                    found += [int(entry)] + children(int(entry))
        except (OSError, IndexError, ValueError):
            pass
    return found


def is_hopcast(pid):
    try:
        return os.readlink("/proc/%d/exe" % pid) == hopcast
    except OSError:
        return False


def killed_rank():
    """A rank dies in a long search: the best so far is in the file, and nobody is left."""
    large = uneven("large.hop", "cs-storm", 11, "alltoall")
    best = os.path.join(work, "best.hop")
    job = subprocess.Popen(command(3, "order", large, "--on", "cs-storm", "-o", best, "--time-limit", "100s"),
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.time() + 40
    while time.time() < end and not os.path.exists(best) and job.poll() is None:
        time.sleep(0.1)
    check(os.path.exists(best), "the best order is written while the search runs")
    if job.poll() is not None:
        check(False, "the search goes on until a rank is killed")
        return
    ranks = [pid for pid in children(job.pid) if is_hopcast(pid)]
    check(len(ranks) == 3, "three ranks run, %d are there" % len(ranks))
    os.kill(ranks[-1], signal.SIGKILL)
    begin = time.time()
    try:
        job.wait(timeout=30)
    except subprocess.TimeoutExpired:
        check(False, "the launcher ends after a rank was killed")
        job.kill()
    check(job.returncode != 0, "the launcher says that something went wrong")
    time.sleep(1)
    check(not [pid for pid in ranks if is_hopcast(pid)], "nobody is left")
    predicted = subprocess.run([hopcast, "predict", best, "--on", "cs-storm", "--json"], capture_output=True, text=True)
    check(predicted.returncode == 0 and json.loads(predicted.stdout)["makespan_s"] > 0, "the file holds a whole schedule")
    print("a killed rank ended it all after %.1f s" % (time.time() - begin - 1))


try:
    same_answers()
    checkpoints()
    killed_rank()
finally:
    shutil.rmtree(work, ignore_errors=True)
print("%d failures" % failures)
sys.exit(1 if failures else 0)
