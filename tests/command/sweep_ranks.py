#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hopcast sweep under mpirun: the same bytes with any number of ranks, errors, a killed rank, a stop.

usage: sweep_ranks.py openmpi|mpich HOPCAST        HOPCAST_MPI_PATH: the folder of the shims

Exit status: 0 as expected, 1 not, 77 there is no such launcher or shim.
"""
import csv
import glob
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from under_mpi import PATIENCE_S, catches, check, check_gone, command, finish, hopcast, mpi, ranks_of, run_parts, wait_until, work  # noqa: E402

CLUSTER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../data/clusters/two-dgx-a100.json")
soak = bool(os.environ.get("HOPCAST_SOAK"))
LONG = ["--on", "cs-storm", "--set", "tau=0.00001:0.9:0.00001"]  # minutes of work; what follows sees the first second of it


def run(ranks, *arguments, status=0, text=None):
    done = subprocess.run(command(ranks, "sweep", *arguments), capture_output=True, text=True, timeout=PATIENCE_S, input=text)
    check(done.returncode == status, "%d ranks: %s ended with %d: %s" % (ranks, arguments, done.returncode, done.stderr[-500:]))
    return done


def make(name, *arguments):
    path = os.path.join(work, name)
    subprocess.run([hopcast, "make", *arguments, "-o", path], check=True, capture_output=True)
    return path


def same_bytes():
    files = [make("r%d.hop" % i, "random,transfers=8,seed=%d,min-bytes=1MiB,max-bytes=64MiB" % i, "--on", "t2")
             for i in range(1, 41)]
    wide = make("wide.hop", "alltoall", "--on", "cs-storm", "--bytes", "1MiB")
    ring = os.path.join(work, "ring.goal")
    with open(ring, "w", encoding="utf-8") as file:
        file.write("num_ranks 4\n")
        for rank in range(4):
            file.write("rank %d {\na: send 65536b to %d\nb: recv 65536b from %d\nc: send 9b to %d\nc requires b\nrecv 9b from %d\n}\n" %
                       (rank, (rank + 1) % 4, (rank + 3) % 4, (rank + 1) % 4, (rank + 3) % 4))
    sweeps = {
        "many small ones": files + ["--on", "t2", "--set", "tau=0.05:0.2:0.05", "--model", "pcie", "--model", "credit"],
        "sizes": files[:5] + ["--on", "t2", "--bytes", "4KiB:1MiB*4", "--scale-bytes", "0.5,1", "--sources-unlimited"],
        "few large ones": [wide, "--on", "cs-storm", "--set", "tau=0.1:0.3:0.02"],
        "some fail": files[:10] + ["-e", "gpu0 -> gpu9 1MiB", "-e", "a: gpu0 -> gpu1 1 after b; b: gpu0 -> gpu2 1", "--on", "t2", "--set",
                                   "tau=0.1,0.2,5,0.3", "--keep-going"],
        "as JSON": files + ["--on", "t2", "--on", "cs-storm", "--json"],
        "ranks on devices": [ring, "-e", "rank0 -> rank2 1MiB", "--on", "t2", "--on", CLUSTER, "--map", "packed,cyclic", "--set",
                             "tau=0.1:0.3:0.1", "--bytes", "4KiB,1MiB"],
    }
    for name, arguments in sweeps.items():
        status = 1 if name == "some fail" else 0
        alone = run(0, *arguments, status=status)
        for ranks in (1, 2, 4) if name == "many small ones" or soak else (4,):
            # Open MPI adds its own words, never to standard output
            done = run(ranks, *arguments, status=status)
            check(done.stdout == alone.stdout and len(alone.stdout) > 1000, "%s: %d ranks write what one writes" % (name, ranks))
    failed = [row for row in csv.DictReader(run(0, *sweeps["some fail"], status=1).stdout.splitlines()) if row["error"]]
    check(len(failed) == 4 * 2 + 10, "18 of 48 fail, %d do" % len(failed))
    text = open(files[0], encoding="utf-8").read()
    alone = run(0, "-", "--on", "t2", text=text).stdout
    check(run(3, "-", "--on", "t2", text=text).stdout == alone, "rank 0 shares standard input")


def errors():
    """Before anything runs, and within: the first culprit in order, and the rows before it."""
    bad = ["-e", "gpu0 -> gpu1 1MiB", "-e", "gpu0 -> gpu9 1MiB", "--on", "t2", "--set", "tau=0.1:0.3:0.1"]
    for ranks in (0, 3):
        done = run(ranks, *bad, status=2)
        check(done.stdout == "" and "case 2 (gpu0 -> gpu9 1MiB on t2, tau=0.1)" in done.stderr and "gpu9" in done.stderr.split("\n", 1)[1],
              "%d ranks: a missing device is found early: %s" % (ranks, done.stderr))
        done = run(ranks, "no-such-file.hop", "--on", "t2", status=2)
        check("no-such-file.hop" in done.stderr, "%d ranks: a missing file: %s" % (ranks, done.stderr))
        run(ranks, "--no-such-option", status=2)
        check(run(ranks, "--help").stdout.count("usage: hopcast sweep") == 1, "help is shown once")
    stuck = ["-e", "gpu0 -> gpu1 1MiB", "-e", "a: gpu0 -> gpu1 1 after b; b: gpu0 -> gpu2 1", "--on", "t2", "--on", "t1"]
    alone = run(0, *stuck, status=2)
    check(len(alone.stdout.splitlines()) == 2 and "case 2 " in alone.stderr, "the rows before a deadlock are written: %s" % alone.stdout)
    check(run(3, *stuck, status=2).stdout == alone.stdout, "by three ranks, too")


def rank_of(pid):
    with open("/proc/%d/environ" % pid, "rb") as file:
        variables = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)
    return int(variables.get(b"OMPI_COMM_WORLD_RANK", variables.get(b"PMI_RANK", b"-1")))


def rows_are_right(path, wide, complete):
    """Whole lines, in order, each what a single process says."""
    if not check(os.listdir(os.path.dirname(path)) == [os.path.basename(path)], "the file is there once the sweep has ended, and no other"):
        return
    with open(path, newline="") as file:
        text = file.read()
    rows = list(csv.DictReader(text.splitlines()))
    check(text.endswith("\n") and rows, "the file holds whole lines, and some")
    numbers = [int(row["case"]) for row in rows]
    check(numbers == sorted(set(numbers)), "cases stand in order, once")
    for row in (rows[0], rows[len(rows) // 2], rows[-1]):
        alone = run(0, wide, "--on", "cs-storm", "--set", "tau=" + row["tau"]).stdout.splitlines()
        check(alone[1].split(",")[1:] == [row[key] for key in row][1:], "case %s is what it is alone" % row["case"])
    if complete:
        check(numbers == list(range(1, len(rows) + 1)), "no case is missing")


def has_rows(path, ranks):
    """In the file that has no name until the sweep has ended; nor has it any other."""
    check(not os.listdir(os.path.dirname(path)), "a file without a name has none")
    for pid in ranks:
        for name in glob.glob("/proc/%s/fd/*" % pid):
            try:
                if os.readlink(name).startswith(os.path.dirname(path) + "/#") and os.stat(name).st_size > 20000:
                    return True
            except OSError:
                pass
    return False


def output(name):
    """In a folder of its own."""
    os.makedirs(os.path.join(work, name), exist_ok=True)
    return os.path.join(work, name, "rows.csv")


def start(wide, path, options=()):
    """A sweep by four ranks, once some rows are in the file, and its ranks."""
    job = subprocess.Popen(command(4, "sweep", wide, *LONG, "-o", path, options=options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(wait_until(lambda: has_rows(path, ranks_of(job)) or job.poll() is not None), "rows are written")
    check(job.poll() is None, "the sweep goes on")
    return job, ranks_of(job)


def kill_a_rank(wide, path, options):
    """What is said when rank 2 of 4 dies."""
    job, ranks = start(wide, path, options)
    victims = [pid for pid in ranks if rank_of(pid) == 2]
    if check(len(ranks) == 4 and len(victims) == 1, "four ranks run, %d are there" % len(ranks)):
        os.kill(victims[0], signal.SIGKILL)
    said = finish(job)
    check_gone(ranks)
    return job.returncode, said


def killed_rank():
    """Rank 2 dies: it is named where its launcher lets rank 0 live, and then complete rows are in the file; nobody is left."""
    wide = make("kill.hop", "alltoall", "--on", "cs-storm", "--bytes", "1MiB")
    path = output("default")
    if mpi == "mpich":
        status, _ = kill_a_rank(wide, path, [])
        check(status != 0, "the launcher says that something went wrong")
        check(not os.listdir(os.path.dirname(path)), "a killed rank 0 leaves nothing")
        return
    # The launcher kills all soon after it asked them to end: how soon may be too soon on a busy machine.
    for grace_s in (1, 5, 20):
        if os.path.exists(path):
            os.unlink(path)
        status, said = kill_a_rank(wide, path, ["--mca", "odls_base_sigkill_timeout", str(grace_s)])
        check(status != 0, "the launcher says that something went wrong")
        if "cases are complete" in said:
            break
    check("rank 2 was lost" in said and "rank 2 had cases" in said and "cases are complete" in said, "rank 2 is named: %s" % said)
    rows_are_right(path, wide, False)
    path = output("recovery")
    _, said = kill_a_rank(wide, path, ["--enable-recovery"])
    check("rank 2 was lost" in said and "rank 2 had cases" in said and "cases are complete" in said, "recovery: rank 2 is named: %s" % said)
    rows_are_right(path, wide, False)


def is_under_way(job):
    """It has a handler and, by the time on a processor, some cases."""
    with open("/proc/%d/stat" % job.pid) as file:
        ticks = int(file.read().rsplit(")", 1)[1].split()[11])
    return catches(job.pid, signal.SIGINT) and ticks > 2 * os.sysconf("SC_CLK_TCK")


def stopped():
    """SIGTERM to the launcher; SIGINT to a sweep without one, whose exit status is 1."""
    wide = make("stop.hop", "alltoall", "--on", "cs-storm", "--bytes", "1MiB")
    path = output("stop")
    job, ranks = start(wide, path)
    job.send_signal(signal.SIGTERM)
    said = finish(job)
    check_gone(ranks)
    check("was lost" not in said, "nobody is lost when all are stopped: %s" % said)
    rows_are_right(path, wide, False)
    for extra in ([], ["--json"]):
        path = output("alone" + "".join(extra))
        job = subprocess.Popen(command(0, "sweep", wide, *LONG, "-o", path, *extra), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: job.poll() is not None or is_under_way(job) and (extra or has_rows(path, [job.pid])))
        check(job.poll() is None, "the sweep goes on")
        job.send_signal(signal.SIGINT)
        said = finish(job)
        check(job.returncode == 1 and "cases are complete" in said, "a stop is exit status 1, said so: %d %s" % (job.returncode, said))
        if extra:
            answer = json.load(open(path))
            check(answer["complete"] is False and len(answer["cases"]) > 0, "JSON says that it is not complete")
        else:
            rows_are_right(path, wide, True)


run_parts(same_bytes, errors, killed_rank, stopped)
