#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A campaign of signals: KILL, TERM, INT or STOP, and HUP or QUIT where hopcast is the launcher, to a rank or the launcher of a run, at any moment from fork to exit.

usage: ends.py HOPCAST [COUNT [SEED]]        HOPCAST_MPI_PATH: the folder of the shims

Launched by hopcast itself and by the MPIs that are there. Each time every rank ends within the timeout and 3 s, and no process
or name in /dev/shm is left, but for those of ranks of an mpirun that were all killed at once: the next run removes them. Ranks whose mpirun
stands still first end what they do. hopcast's own launcher ends with 1 and names the rank, unless it got the signal itself or all was done already; an mpirun ends with anything
but 0. HOPCAST_SOAK: 500 of them, and the times count; else 6, which end at all.

Exit status: 0 as expected, 1 not.
"""
import concurrent.futures
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

hopcast = os.path.abspath(sys.argv[1])
soak = bool(os.environ.get("HOPCAST_SOAK"))
count = int(sys.argv[2]) if len(sys.argv) > 2 else 500 if soak else 6
seed = int(sys.argv[3]) if len(sys.argv) > 3 else 17
TIMEOUT_S, MORE_S = 2, 3
PATIENCE_S = TIMEOUT_S + MORE_S if soak else 120  # a busy machine delays all
RANKS = 3
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSTOP)
MORE_SIGNALS = (signal.SIGHUP, signal.SIGQUIT)  # of which an mpirun makes what it likes
work = tempfile.mkdtemp()
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_orte_tmpdir_base=work,
                  OMPI_MCA_btl_vader_backing_directory=work, LC_ALL="C")
shims = os.environ.get("HOPCAST_MPI_PATH", os.path.dirname(hopcast))
RUN = [hopcast, "run", "allreduce", "--algorithm", "ring", "--bytes", "64KiB", "--timeout", str(TIMEOUT_S)]
launchers = {"own": RUN + ["-n", str(RANKS)]}
for mpi, more in (("openmpi", ["--oversubscribe"]), ("mpich", [])):
    if shutil.which("mpirun." + mpi) and os.path.exists(os.path.join(shims, "hopcast-%s.so" % mpi)):
        launchers[mpi] = ["mpirun." + mpi] + more + ["-n", str(RANKS)] + RUN
    else:
        print("skip: there is no mpirun.%s or no shim for it" % mpi)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


class Trial:
    """One run, and the processes of hopcast in it: pid -> its rank, or -1 for the own launcher."""

    def __init__(self, number, launcher):
        draw = random.Random("%d %d" % (seed, number))
        self.mark = b"ENDS_OF=%d.%d" % (os.getpid(), number)
        self.own, self.seen, self.gone = launcher == "own", {}, set()
        self.output = open(os.path.join(work, "out%d" % number), "w+")
        nodes = draw.choice(([], [], ["--node-size", "1"], ["--node-size", "2"])) if launcher != "own" else []
        self.job = subprocess.Popen(launchers[launcher] + nodes + ["--repeat", str(draw.choice((1, 200)))],
                                    stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output,
                                    env=dict(os.environ, ENDS_OF=self.mark.decode().split("=")[1]))

    def look(self):
        """The ranks that live now; those that only wait to be collected do not."""
        pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and int(entry) >= self.job.pid]
        alive = set()
        for pid in pids:
            fields = read("/proc/%d/stat" % pid).rsplit(b")", 1)[-1].split()
            if not fields or fields[0] in b"ZX" or pid in self.gone:
                continue
            if pid not in self.seen:
                environ = read("/proc/%d/environ" % pid).split(b"\0")
                try:
                    ours = self.mark in environ and os.readlink("/proc/%d/exe" % pid) == hopcast
                except OSError:
                    ours = False
                if not ours:
                    continue
                ranks = [e.split(b"=")[1] for e in environ if e.split(b"=")[0] in (b"OMPI_COMM_WORLD_RANK", b"PMI_RANK")]
                forked = sum(1 for rank in self.seen.values() if rank >= 0)
                self.seen[pid] = int(ranks[0]) if ranks else -1 if pid == self.job.pid else forked
            if pid != self.job.pid or not self.own:
                alive.add(pid)
        self.gone |= {pid for pid in self.seen if pid not in alive and pid != self.job.pid}
        return alive

    def names(self):
        return [name for pid in self.seen for name in glob.glob("/dev/shm/hopcast-%d-*" % pid)]

    def text(self):
        self.output.seek(0)
        return self.output.read()


def undisturbed(launcher, number):
    """How long it takes."""
    begun = time.monotonic()
    trial = Trial(-1 - number, launcher)
    if trial.job.wait(120) != 0:
        raise SystemExit("FAIL %s does not run: %s" % (launcher, trial.text()))
    return time.monotonic() - begun


def find_faults(trial, status, to_launcher, victim, took_s, left, done, more_s):
    rank = trial.seen.get(victim, -1)
    text, faults = trial.text(), []
    if left:
        faults.append("left after %.1f s: %s" % (took_s, left))
    elif took_s > PATIENCE_S + more_s:
        faults.append("took %.1f s" % took_s)
    if not to_launcher and not done:
        if trial.own and (status != 1 or not re.search(r"rank %d\b" % rank, text)) and "every byte" not in text:
            faults.append("exit status %s, rank %d is not named" % (status, rank))
        if not trial.own and status == 0 and "every byte" not in text:
            faults.append("exit status 0")
    if trial.names() and trial.own:
        faults.append("names are left: %s" % trial.names())
    return faults


def run_one(number, launcher, sent, to_launcher, moment, rank, more_s):
    trial = Trial(number, launcher)
    begun = time.monotonic()
    victim = None
    while trial.job.poll() is None and victim is None:
        alive = sorted(trial.look())
        if time.monotonic() - begun >= moment:
            victim = trial.job.pid if to_launcher else alive[rank % len(alive)] if alive else None
        if victim is not None:
            try:
                os.kill(victim, sent)
            except ProcessLookupError:
                victim = None
        time.sleep(0.002)
    signalled = time.monotonic()
    stopped_launcher = victim is not None and to_launcher and sent == signal.SIGSTOP
    left = trial.look()
    while left and time.monotonic() - signalled < PATIENCE_S + 30:
        time.sleep(0.02)
        left = trial.look()
    took_s = time.monotonic() - signalled
    try:  # an mpirun whose rank died before it had heard of it may wait for it for ever: that is not ours
        trial.job.wait(0 if stopped_launcher else 5 if soak else 30)
    except subprocess.TimeoutExpired:
        pass
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if stopped_launcher and not left and took_s > PATIENCE_S + more_s > PATIENCE_S:
        more_s = 3 * undisturbed(launcher, 1 + number)  # the machine has become busier
    done = victim is None
    if trial.job.poll() is None:
        if trial.own and not stopped_launcher:
            left = left | {trial.job.pid}
        trial.job.kill()
    status = trial.job.wait()
    faults = find_faults(trial, status, to_launcher, victim, took_s, left, done, more_s)
    what = "%3d %-7s %s to %s after %.3f s: %.2f s, status %s" % (
        number, launcher, signal.Signals(sent).name, "launcher" if to_launcher else "rank %s" % trial.seen.get(victim, "-"),
        moment, took_s, status)
    return what, faults, trial, took_s


def draw(takes_s):
    trials = []
    for number in range(count):
        launcher = list(launchers)[number % len(launchers)]
        sent, to_launcher = random.choice(SIGNALS + MORE_SIGNALS * (launcher == "own")), random.random() < 0.3
        more_s = 3 * takes_s[launcher] if sent == signal.SIGSTOP and to_launcher and launcher != "own" else 0
        trials.append((number, launcher, sent, to_launcher, random.uniform(0, 1.05 * takes_s[launcher]), random.randrange(RANKS), more_s))
    return trials


def main():
    random.seed(seed)
    takes_s = {launcher: min(undisturbed(launcher, 0) for _ in range(2)) for launcher in launchers}
    failures, pids, slowest = 0, [], 0
    with concurrent.futures.ThreadPoolExecutor(2 if soak else 6) as pool:
        for what, faults, trial, took_s in pool.map(lambda trial: run_one(*trial), draw(takes_s)):
            slowest = max(slowest, took_s)
            pids += list(trial.seen)
            failures += bool(faults)
            if faults or soak:
                print(what, *(["FAIL", *faults, trial.text()[-600:]] if faults else []), flush=True)
    subprocess.run([hopcast, "run", "barrier", "-n", "2"], stdout=subprocess.DEVNULL, check=True)
    names = [name for pid in pids for name in glob.glob("/dev/shm/hopcast-%d-*" % pid)]
    if names:
        failures += 1
        print("FAIL the next run leaves", names)
    print("%d signals, the slowest end after %.1f s, %d failures" % (count, slowest, failures))
    return 1 if failures else 0


try:
    sys.exit(main())
finally:
    shutil.rmtree(work, ignore_errors=True)
