#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""SIGINT and SIGTERM: the best so far, the round that runs, or an end of all; and the second Ctrl-C.

usage: interrupt.py HOPCAST

Signals go to the process alone, as kill sends them (a terminal's reach its children as well), once it catches them. Exit
status: 0 as expected, 1 not.
"""
import fcntl
import glob
import os
import signal
import subprocess
import sys
import tempfile
import time

hopcast = os.path.abspath(sys.argv[1])
work = tempfile.mkdtemp()
PATIENCE_S = 120  # against a hang
failures = 0


def check(holds, what):
    global failures
    if not holds:
        failures += 1
        print("FAIL", what)


def wait_until(holds, what):
    begun = time.monotonic()
    while not holds():
        if time.monotonic() - begun > PATIENCE_S:
            raise SystemExit("FAIL waited in vain until " + what)
        time.sleep(0.01)


def catches(pid, number):
    """Has the process a handler for the signal?"""
    for line in open("/proc/%d/status" % pid):
        if line.startswith("SigCgt:"):
            return int(line.split()[1], 16) >> (number - 1) & 1
    return False


def start(*arguments, **more):
    job = subprocess.Popen([hopcast, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=work, **more)
    wait_until(lambda: job.poll() is not None or catches(job.pid, signal.SIGINT), "%s catches signals" % arguments[0])
    if job.returncode is not None:
        raise SystemExit("FAIL %s ended with %d: %s" % (arguments[0], job.returncode, job.communicate()[1]))
    return job


def children(pid):
    try:
        return open("/proc/%d/task/%d/children" % (pid, pid)).read().split()
    except FileNotFoundError:
        return []


def end(job, name, status):
    try:
        out, err = job.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        job.kill()
        raise SystemExit("FAIL %s does not end" % name)
    check(job.returncode == status, "%s ended with %s, not %s: %s" % (name, job.returncode, status, err[-500:]))
    return out, err


def searches():
    """One press, although it may arrive twice; also before the search has begun."""
    for delay_s in (0, 0.3):
        for number in (signal.SIGINT, signal.SIGTERM):
            job = start("map", "stencil:4x4", "--on", "helios", "--max-operations", "1000000000000", "-o", "best.map")
            time.sleep(delay_s)
            for _ in range(2):
                job.send_signal(number)
                time.sleep(0.002)
            out, _ = end(job, "map", 0)
            check("the search was stopped" in out, "map does not say that it was stopped: " + out)
            check(os.path.getsize(os.path.join(work, "best.map")) > 0, "map wrote no mapping")
            os.unlink(os.path.join(work, "best.map"))
    subprocess.run([hopcast, "make", "halo:4x2x2", "--bytes", "3MiB", "--on", "helios", "-o", os.path.join(work, "halo.hop")], check=True)
    best = os.path.join(work, "best.hop")
    job = start("order", "halo.hop", "--on", "helios", "--time-limit", "60min", "-o", best)
    wait_until(lambda: os.path.exists(best) or job.poll() is not None, "order has found something")
    job.send_signal(signal.SIGINT)
    out, _ = end(job, "order", 0)
    check("stopped by a signal" in out, "order does not say that it was stopped: " + out)


def second_press():
    """A later second one ends a program that does not come to an answer: here it writes where nobody reads."""
    job = start("map", "stencil:4x4", "--on", "helios", "--max-operations", "1000000000000", "--json")
    fcntl.fcntl(job.stdout, 1031, 4096)  # F_SETPIPE_SZ: less than it prints, and nobody reads
    job.send_signal(signal.SIGINT)
    presses = 1
    while job.poll() is None and presses < PATIENCE_S:
        time.sleep(1)
        job.send_signal(signal.SIGINT)
        presses += 1
    end(job, "map", -signal.SIGINT)


def ranks():
    """The launcher is told; its ranks end, and nothing of them stays."""
    for number in (signal.SIGINT, signal.SIGTERM):
        for more in ((), ("--in-process",)):
            job = start("run", "allreduce", "-n", "3", "--bytes", "1MiB", "--repeat", "10000000", *more)
            if not more:
                wait_until(lambda: len(children(job.pid)) == 3 or job.poll() is not None, "run has started its ranks")
            ranks_of = children(job.pid)
            time.sleep(0.3)
            job.send_signal(number)
            _, err = end(job, "run", 1)
            check(err.count("stopped by a signal") == 1, "run says: " + err)
            check(not any(os.path.exists("/proc/" + pid) for pid in ranks_of), "ranks of run are left")
            check(not glob.glob("/dev/shm/hopcast-%d-*" % job.pid), "run leaves names in /dev/shm")


def making():
    """While a schedule of millions is made, of which nothing would be left, a signal ends what makes it at once."""
    for number in (signal.SIGINT, signal.SIGTERM):
        many = ["make", "allreduce", "-n", "1024", "--algorithm", "ring", "--bytes", "4MiB", "-o", "many.hop"]
        job = subprocess.Popen([hopcast, *many], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=work)
        time.sleep(0.3)
        job.send_signal(number)
        end(job, "make", -number)
        check("many.hop" not in os.listdir(work), "a file is left")


def measuring():
    """What was measured until then counts, if it is enough."""
    job = start("measure", "--devices", "2", "--time", "86400", "--force", "-o", "rows.csv")
    wait_until(lambda: len(children(job.pid)) == 2 or job.poll() is not None, "measure has started its ranks")
    time.sleep(0.3)
    job.send_signal(signal.SIGINT)
    out, _ = end(job, "measure", 0)
    check("unsteady rows" in out, "measure shows nothing: " + out)
    check(os.path.getsize(os.path.join(work, "rows.csv")) > 0, "measure wrote no rows")


def one_rank():
    """A signal that a rank gets, and neither the launcher nor rank 0, is meant for all; also while they start."""
    for number in (signal.SIGINT, signal.SIGTERM):
        job = start("measure", "--devices", "3", "--time", "86400", "--force", "-o", "rows.csv")
        wait_until(lambda: len(children(job.pid)) == 3 or job.poll() is not None, "measure has started its ranks")
        os.kill(int(children(job.pid)[2]), number)
        end(job, "measure", 0)
        job = start("run", "allreduce", "-n", "3", "--repeat", "10000000")
        wait_until(lambda: len(children(job.pid)) == 3 or job.poll() is not None, "run has started its ranks")
        os.kill(int(children(job.pid)[2]), number)
        _, err = end(job, "run", 1)
        check(err.count("stopped by a signal") == 1, "run says: " + err)


def inherited():
    """Who starts hopcast may ignore SIGCHLD or block signals, and hand that on: no status of a rank is lost, and a signal ends all."""
    def ignoring():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    def blocking():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD})

    for before in (ignoring, blocking):
        for status, arguments in ((1, ["launch", "-n", "3", "false"]), (0, ["launch", "-n", "3", "true"]),
                                  (1, ["run", "allreduce", "-n", "2", "--algorithm", "gsb", "--fault", "kill 1 g.r1"]),
                                  (0, ["run", "allreduce", "-n", "2"])):
            done = subprocess.run([hopcast, *arguments], preexec_fn=before, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            check(done.returncode == status, "%s, %s: ended with %s: %s" % (arguments, before.__name__, done.returncode, done.stderr))
    for number in (signal.SIGINT, signal.SIGTERM):
        job = start("launch", "-n", "2", "sleep", str(PATIENCE_S), preexec_fn=blocking)
        job.send_signal(number)
        _, err = end(job, "launch", 1)
        check("stopped by a signal" in err, "launch says: " + err)


for part in (inherited, searches, second_press, ranks, making, measuring, one_rank):
    part()
sys.exit(1 if failures else 0)
