#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hopcast run where something is missing or full: files that may be open, memory, standard output, ranks that stand still.

usage: run_limits.py HOPCAST

Each run ends by itself, with the exit status that its kind of failure has and a message that says what was missing. With the
launchers of MPI that are there, also losses between machines. No outcome depends on how long something takes. Exit status: 0
as expected, 1 not.
"""
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

hopcast = os.path.abspath(sys.argv[1])
work = tempfile.mkdtemp()
PATIENCE_S = 240  # against a hang
failures = 0
shims = os.environ.get("HOPCAST_MPI_PATH", os.path.dirname(hopcast))
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_orte_tmpdir_base=work,
                  OMPI_MCA_btl_vader_backing_directory=work, LC_ALL="C")


def check(holds, what):
    global failures
    if not holds:
        failures += 1
        print("FAIL", what, flush=True)


def run(*arguments, files=None, under=(), **how):
    """The exit status and what is on standard error. files: so many may be open."""
    limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))) if files else None
    how.setdefault("stdout", subprocess.DEVNULL)
    job = subprocess.Popen(list(under) + [hopcast, "run"] + list(arguments), stderr=subprocess.PIPE, text=True, preexec_fn=limit, **how)
    try:
        err = job.communicate(timeout=PATIENCE_S)[1]
    except subprocess.TimeoutExpired:
        job.kill()
        raise SystemExit("FAIL run %s does not end" % " ".join(arguments))
    return job.returncode, err


def expect(status, texts, *arguments, **how):
    ended, err = run(*arguments, **how)
    for text in texts:
        check(text in err, "run %s: '%s' is not in: %s" % (" ".join(arguments), text, err))
    check(ended == status, "run %s ended with %s, not %s: %s" % (" ".join(arguments), ended, status, err))
    return err


def files():
    """More ranks than files that may be open."""
    expect(0, (), "allreduce", "-n", "40", "--bytes", "1KiB", files=20)


def memory():
    err = expect(2, ("bytes of shared memory for the buffers of 4 ranks: ", "/dev/shm"), "allreduce", "-n", "4", "--bytes", "1024GiB")
    check("moved" not in err, "nobody is lost: " + err)


def crowd():
    """Many more ranks than processors work, or are refused at once where they would be at it for long."""
    expect(0, (), "barrier", "-n", "300" if os.environ.get("HOPCAST_SOAK") else "100", "--rows", "1")
    expect(2, ("allreduce by ring among 400 ranks would have at least 159600 operations", "times --timeout"), "allreduce", "--algorithm", "ring", "-n", "400",
           "--timeout", "0.1")


def output():
    """As with every other command: what cannot be written is said, and who does not read ends it quietly."""
    for more in ((), ("--json",), ("--gantt",), ("--in-process",)):
        with open("/dev/full", "w") as full:
            expect(2, ("cannot write to standard output: No space left",), "allreduce", "-n", "3", *more, stdout=full)
        closed = subprocess.run(["sh", "-c", 'exec "$0" run allreduce -n 3 "$@" >&-', hopcast, *more], stderr=subprocess.PIPE, text=True,
                                timeout=PATIENCE_S)
        check(closed.returncode == 2 and "cannot write to standard output" in closed.stderr,
              "closed output, %s: %d %s" % (more, closed.returncode, closed.stderr))
        if "--in-process" in more:
            continue
        reading, writing = os.pipe()
        os.close(reading)
        ended, err = run("allreduce", "-n", "3", *more, stdout=writing)
        os.close(writing)
        check(ended in (-signal.SIGPIPE, 128 + signal.SIGPIPE) and err == "", "nobody reads, %s: %s %s" % (more, ended, err))


def faults():
    for text, what in (("kill 9 g.r1", "rank 9 has no part in operation 'g.r1'"), ("kill 2 g.r1", "rank 2 has no part"),
                       ("kill 0 nosuch", "no operation 'nosuch'")):
        expect(2, ("no fault '%s'" % text, what), "allreduce", "-n", "3", "--algorithm", "gsb", "--fault", text)
    for what in ("kill", "stop"):
        expect(2, ("no fault", "threads"), "allreduce", "-n", "3", "--algorithm", "gsb", "--in-process", "--fault", what + " 1 g.r1")
    expect(1, ("nothing has moved", "rank 1 in operation 'g.r1'"), "allreduce", "-n", "3", "--algorithm", "gsb", "--copies", "dynamic",
           "--delay", "peer=never", "--delay", "staged=never", "--timeout", "2")


def ends(mpi, status):
    """MPICH's mpirun kills those who still run when the first has ended, and may tell of that."""
    return (status,) if mpi == "openmpi" else (status, 9)


def run_started(timeout_s, *arguments, **how):
    """As run, with the first of some timeouts in which MPI starts, which takes its time on a busy machine."""
    while True:
        ended, err = run(*arguments, "--timeout", str(timeout_s), **how)
        if "has not started" not in err or timeout_s > 60:
            return ended, err
        timeout_s *= 3


def machines():
    """--timeout counts between machines, and who shares one with the lost tells the others what it was doing."""
    for mpi in ("openmpi", "mpich") if os.environ.get("HOPCAST_SOAK") else ("openmpi",):
        if not shutil.which("mpirun." + mpi) or not os.path.exists(os.path.join(shims, "hopcast-%s.so" % mpi)):
            print("skip: %s" % mpi)
            continue
        under = ["mpirun." + mpi] + (["--oversubscribe"] if mpi == "openmpi" else []) + ["-n", "4"]
        ended, err = run_started(6, "allreduce", "--algorithm", "gsb", "--node-size", "2", "--fault", "stop 2 g.r2", under=under)
        check(re.search("hopcast: rank 2 has not moved for [0-9]+ s in operation 'g.r2'", err), "%s, a rank stands still: %s" % (mpi, err))
        check(ended in ends(mpi, 1), "%s, a rank stands still: exit status %d" % (mpi, ended))
        ended, err = run_started(2, "allreduce", "--algorithm", "gsb", "--node-size", "1", "--fault", "stop 2 g.r2", under=under)
        check(re.search("hopcast: rank 2 .*for [0-9]+ s", err), "%s, a machine stands still: %s" % (mpi, err))
        ended, err = run("allreduce", "--algorithm", "gsb", "--node-size", "2", "--fault", "kill 3 g.r2", under=under)
        check(ended in ends(mpi, 2) and "rank 3 has no part" in err, "%s, refused: %d %s" % (mpi, ended, err))
        if mpi == "openmpi":  # the other kills all at once
            ended, err = run("allreduce", "--algorithm", "gsb", "--node-size", "2", "--fault", "kill 2 g.r2", under=under)
            check("hopcast: rank 2 died in operation 'g.r2'" in err and "stopped" not in err, "a rank dies: " + err)


try:
    for part in (files, memory, crowd, output, faults, machines):
        part()
finally:
    shutil.rmtree(work, ignore_errors=True)
print("%d failures" % failures)
sys.exit(1 if failures else 0)
