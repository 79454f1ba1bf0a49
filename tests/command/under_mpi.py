# SPDX-License-Identifier: BSD-3-Clause
"""What the tests under mpirun share: which mpirun, what they found wrong, whose processes are there.

Every program that imports this is called `NAME.py openmpi|mpich HOPCAST|BUILD ...`, by the command or the folder where it is. No outcome depends on how long something takes: waits
are for a state, and PATIENCE_S, after which they give up, is longer than a busy machine takes for anything here.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 240
mpi, hopcast = sys.argv[1], os.path.abspath(sys.argv[2])
if os.path.isdir(hopcast):
    hopcast = os.path.join(hopcast, "hopcast")
build = os.path.dirname(hopcast)
fake_cuda = os.path.join(build, "tests", "fake_cuda", "lib", "libcuda.so.1")
briefly = "briefly" in sys.argv[3:]  # under sanitizers each start takes seconds
launcher = "mpirun." + mpi
_shim = os.path.join(os.environ.get("HOPCAST_MPI_PATH", build), "hopcast-%s.so" % mpi)
if not shutil.which(launcher) or not os.path.exists(_shim):
    print("skip: there is no %s or no %s" % (launcher, _shim))
    sys.exit(77)
work = tempfile.mkdtemp()
# What Open MPI keeps in files goes with the folder, whoever was killed, and no other mpirun meets it there.
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_orte_tmpdir_base=work,
                  OMPI_MCA_btl_vader_backing_directory=work, OMPI_MCA_rmaps_base_oversubscribe="1", LC_ALL="C")
_failures = 0


def check(holds, what):
    global _failures
    if not holds:
        _failures += 1
        print("FAIL", what, flush=True)
    return holds


def run_parts(*parts, asked=()):
    """All of them, or those of these names, and ends the program."""
    try:
        for part in [part for part in parts if not asked or part.__name__ in asked]:
            begin = time.time()
            part()
            print("%-14s %5.1f s" % (part.__name__, time.time() - begin), flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print("%d failures" % _failures)
    sys.exit(1 if _failures else 0)


def start(*words, cwd=work, timeout=PATIENCE_S, **environment):
    """The launcher with these words of its own and variables more, until it ends."""
    return subprocess.run([launcher, *words], capture_output=True, text=True, timeout=timeout, cwd=cwd,
                          env={**os.environ, **environment})


def command(ranks, *arguments, options=()):
    """hopcast on so many ranks; 0: without a launcher."""
    return ([launcher, *options, "-n", str(ranks)] if ranks else []) + [hopcast] + list(arguments)


def wait_until(condition):
    """Whether it came true."""
    end = time.time() + PATIENCE_S
    while not condition():
        if time.time() > end:
            return False
        time.sleep(0.05)
    return True


def finish(job):
    """What the launcher wrote to standard error until it ended."""
    try:
        return job.communicate(timeout=PATIENCE_S)[1]
    except subprocess.TimeoutExpired:
        check(False, "the launcher ends")
        job.kill()
        return job.communicate()[1]


def _parent(pid):
    """0: there is none."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return int(file.read().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def is_hopcast(pid):
    try:
        return os.readlink("/proc/%d/exe" % pid) == hopcast
    except OSError:
        return False


def ranks_of(job):
    """The processes below the job's that are hopcast by now."""
    parents = {int(entry): _parent(int(entry)) for entry in os.listdir("/proc") if entry.isdigit()}
    found, below = [], [job.pid]
    while below:
        parent = below.pop()
        below += [pid for pid in parents if parents[pid] == parent]
        found += [parent] if is_hopcast(parent) else []
    return sorted(found)


def catches(pid, number):
    """The process has a handler for the signal."""
    try:
        with open("/proc/%d/status" % pid) as file:
            caught = [line.split()[1] for line in file if line.startswith("SigCgt:")]
    except OSError:
        return False
    return bool(caught) and bool(int(caught[0], 16) >> (number - 1) & 1)


def check_gone(ranks):
    """None of these is left, a moment after their launcher. Ends those that are."""
    gone = wait_until(lambda: not any(is_hopcast(pid) for pid in ranks))
    check(gone, "nobody is left")
    for pid in ranks:
        if not gone and is_hopcast(pid):
            os.kill(pid, signal.SIGKILL)
