#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Collectives done by hopcast under an MPI program: collectives.py openmpi|mpich BUILD PROGRAM [PART...]

The program computes what has to come out; it has to be the same with and without. Each start is dear, so that one run holds all
kinds, types, operations, roots and communicators; with HOPCAST_SOAK=1 every type with every operation, and more ranks."""
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../command"))
from under_mpi import PATIENCE_S, build, check, fake_cuda, hopcast, launcher, mpi, run_parts, start, work  # noqa: E402

program, library, soak = os.path.abspath(sys.argv[3]), os.path.join(build, "libhopcast_mpi.so"), bool(os.environ.get("HOPCAST_SOAK"))
os.environ.update(HOPCAST_MPI_TRAFFIC="none", HOPCAST_VERBOSE="1")
os.environ.pop("HOPCAST_MPI_PATH", None)
STAY = {"OMPI_MCA_orte_enable_recovery": "1"}  # its launcher does not end the others before they say why


def run(*mode, ranks=2, preload=library, **environment):
    return start("-n", str(ranks), program, *mode, timeout=600, LD_PRELOAD=preload, **environment)


def ours(done):
    """How many collectives of rank 0 hopcast did."""
    told = re.search(r"hopcast did (\d+) collectives", done.stderr)
    return int(told[1]) if told else 0


def same_results():
    for ranks in (2, 3, 4) if soak and mpi == "openmpi" else (2, 3) if soak else (2,):
        full = ["full"] if soak and ranks == 2 else []  # a schedule for each takes long where ranks share processors
        done = run("all", *full, ranks=ranks, HOPCAST_MPI_COLLECTIVES="all")
        check(done.returncode == 0 and ours(done) > 1000, f"all of {ranks} ranks: {done.stderr[:1000]}")
        if soak and mpi != "mpich":  # whose own allgatherv takes one type on all ranks for granted
            done = run("all", *full, ranks=ranks, preload="")
            check(done.returncode == 0, f"the library's own, {ranks} ranks: {done.stderr[:1000]}")


def several_machines():
    """Ranks in a row as machines, and in turns, as MPICH plays them; sums in the order of ranks are done otherwise."""
    if mpi == "openmpi":
        done = run("machines", *["more"] * soak, ranks=4, HOPCAST_MPI_COLLECTIVES="all", HOPCAST_NODE_SIZE="2")
        check(done.returncode == 0 and ours(done) > (1000 if soak else 200), f"on two machines: {done.stderr[:1000]}")
    if not soak:
        return
    for how in {"HOPCAST_NODE_SIZE": "2"}, {"MPIR_CVAR_NUM_CLIQUES": "2"}:
        if mpi == "mpich":
            done = run("machines", "more", ranks=3, HOPCAST_MPI_COLLECTIVES="all", **how)
            check(done.returncode == 0 and ours(done) > 1000, f"on machines, {how}: {done.stderr[:1000]}")
    for mode, least, more in (("order", 12, {"HOPCAST_MPI_REPRODUCIBLE": "1"}), ("threads", 100, {}),
                              ("device", 1, {"HOPCAST_CUDA_LIBRARY": fake_cuda})):
        done = run(mode, ranks=3, HOPCAST_MPI_COLLECTIVES="all", HOPCAST_NODE_SIZE="2", **more)
        check(done.returncode == 0 and ours(done) >= least, f"{mode}, on two machines: {done.stderr[:1000]}")
    done = run("die", ranks=3, HOPCAST_MPI_COLLECTIVES="all", HOPCAST_NODE_SIZE="2", **STAY)
    check("on a communicator of 2 ranks: rank 1 died" in done.stderr if mpi == "openmpi" else done.returncode != 0,
          f"one of two machines loses a rank: {done.stderr[:1500]}")


def threads():
    if soak:
        done = run("threads", ranks=3, HOPCAST_MPI_COLLECTIVES="all")
        check(done.returncode == 0 and ours(done) > 100, f"threads: {done.stderr[:1000]}")


def device():
    if not soak:
        return
    done = run("device", HOPCAST_MPI_COLLECTIVES="all", HOPCAST_CUDA_LIBRARY=fake_cuda)
    check(done.returncode == 0 and ours(done) > 0, f"host beside device: {done.stderr[:1000]}")


def order():
    """The same bits by schedules and by the library's messages, since the program compares with the sum in order of ranks."""
    for how in ("all", "") if soak else ("all",):
        done = run("order", ranks=3, HOPCAST_MPI_COLLECTIVES=how, HOPCAST_MPI_REPRODUCIBLE="1")
        check(done.returncode == 0 and ours(done) >= 12, f"in order, '{how}': {done.stderr[:1000]}")


def a_rank_is_killed():
    """MPICH's launcher ends all at once, and says so; Open MPI's is told to leave that to them."""
    done = run("die", ranks=3, HOPCAST_MPI_COLLECTIVES="all", **STAY)
    check("allreduce on a communicator of 3 ranks: rank 1 died" in done.stderr if mpi == "openmpi" else done.returncode != 0,
          f"a killed rank ends the job: {done.stderr[:1500]}")


SIZES = "# sizes: whole vectors, as nccl-tests prints them\n"


def small_to_the_library():
    """A table of this machine and MPI, as tune: writes it, that leaves to the library what is short."""
    with open("/proc/cpuinfo") as file:
        name = re.search(r"model name\s*: (.*)", file.read())
    version = re.search(r"\d+\.\d+[.\w]*", subprocess.run([launcher, "--version"], capture_output=True, text=True).stdout)[0]
    own = subprocess.run([hopcast, "--version"], capture_output=True, text=True).stdout.split()[-1]
    return (f"# machine: {name[1] if name else 'unknown'}, {os.sysconf('SC_NPROCESSORS_ONLN')} processors\n"
            f"# mpi: {'Open MPI v' if mpi == 'openmpi' else 'MPICH Version: '}{version}\n# hopcast: {own}\n{SIZES}" +
            "".join(f"{kind} 2 0B library\n{kind} 2 1MiB default\n" for kind in ("gather", "scatter", "allgather", "allreduce")) +
            "reduce-scatter 2 0B library\nreduce-scatter 2 4KiB default\n")


def tables():
    """Of another machine, of nothing, and of none: the library does it all, and the program runs; so by one that says so."""
    cases = {"foreign": (SIZES + "# machine: a toaster, 1 processors\n# mpi: x\n# hopcast: 1\nallreduce 2 0B default\n",
                         "it is for machine: a toaster"),
             "old": (small_to_the_library().replace(SIZES, ""), "does not say what its sizes are"),
             "broken": ("# machine: x\nallreduce 2 0B default\nallreduce two 0B ring\n", "broken:3:"),
             "wrong": ("allreduce 2 0B sideways\n", "wrong:1:"),
             "headless": (SIZES + "allreduce 2 0B default\n", "does not say for which"), "empty": ("", "no rows"), "missing": (None, "missing")}
    cases["own"] = (small_to_the_library(), None)
    for name, (text, says) in cases.items():
        if name not in ("foreign", "own") and not soak:
            continue
        if text is not None:
            with open(os.path.join(work, name), "w") as file:
                file.write(text)
        done = run("order", *["counts"] * (name == "own"), HOPCAST_MPI_COLLECTIVES=os.path.join(work, name))
        refused = "the library does all" in done.stderr
        check(done.returncode == 0 and (ours(done) > 10) == (name == "own") and (refused and says in done.stderr if says else not refused),
              f"table {name}: {done.stderr[:1000]}")


def rows_of(table):
    with open(table) if os.path.exists(table) else open(os.devnull) as file:
        lines = file.read().splitlines()
    return lines, [line.split("#")[0].split() for line in lines if not line.startswith("#")]


def tuned_in_time():
    """When the time is over there is a table of what was found by then, which is used; so there is when the job is killed."""
    table = os.path.join(work, "limited")
    done = run("order", HOPCAST_MPI_COLLECTIVES=f"tune:{table},1s")
    lines, rows = rows_of(table)
    check(done.returncode == 0 and "is written, and used from here on" in done.stderr and "library does all" not in done.stderr,
          f"tuned in a second: {done.stderr[:1000]}")
    check([line.split(":")[0] for line in lines[:3]] == ["# machine", "# mpi", "# hopcast"] and
          len({row[0] for row in rows if row[1:3] == ["2", "0B"]}) == 9, f"rows of a table made in a second: {lines}")
    check(any("the time was over in pass" in line for line in lines), f"a table made in a second says so: {lines}")
    if not soak:
        return
    table = os.path.join(work, "killed")
    job = subprocess.Popen([launcher, "-n", "2", program, "order"], stderr=subprocess.PIPE, text=True, cwd=work,
                           env={**os.environ, "LD_PRELOAD": library, "HOPCAST_MPI_COLLECTIVES": "tune:" + table})
    begin = time.time()
    while not os.path.exists(table) and job.poll() is None and time.time() < begin + PATIENCE_S:
        time.sleep(0.05)
    job.terminate()
    said = job.communicate()[1]
    check("is written" not in said and len(rows_of(table)[1]) >= 9, f"a job that is killed while it tunes: {said[:1000]}")
    done = run("order", HOPCAST_MPI_COLLECTIVES=table)
    check(done.returncode == 0 and "library does all" not in done.stderr, f"its table is used: {done.stderr[:1000]}")
    done = run("order", HOPCAST_MPI_COLLECTIVES=f"tune:{table},1x")
    check(done.returncode == 0 and "'1x' is no time to tune in" in done.stderr, f"no time: {done.stderr[:1000]}")


def tuned():
    """A table is made and used at once, on one machine and over two; and one of two minds, by its head, sends neighbours in size
    different ways."""
    if not soak:
        return
    table = os.path.join(work, "tuned")
    done = run("order", ranks=3, HOPCAST_MPI_COLLECTIVES=f"tune:{table},60s", HOPCAST_NODE_SIZE="2")
    lines, rows = rows_of(table)
    head = [line for line in lines if re.match("# (machine|mpi|hopcast|sizes):", line)]
    check(done.returncode == 0 and "is written, and used from here on" in done.stderr, f"tuned: {done.stderr[:1000]}")
    check(len(lines) > 12 and {row[0] for row in rows} >= {"allreduce", "broadcast", "barrier", "neighbours"} and
          all(row[3] == "library" or (row[3] == "hierarchical") == (row[1] == "3") for row in rows), f"rows of a tuned table: {lines}")
    with open(table, "w") as file:
        file.write("\n".join(head) + "\n")
        for kind in ("allreduce", "reduce", "reduce-scatter", "broadcast", "allgather", "alltoall", "gather", "scatter"):
            for i, size in enumerate((0, 8, 64, 1000, 5000, 40000, 100000)):
                file.write(f"{kind} 2 {size}B {('library', 'default')[i % 2]}\n")
    done = run("all", "full", HOPCAST_MPI_COLLECTIVES=table)
    check(done.returncode == 0 and ours(done) > 1000, f"a table of two minds: {done.stderr[:1000]}")
    with open(table, "w") as file:
        file.write("\n".join(head) + "\nneighbours 3 0B hierarchical\nneighbours 3 65B library\nallreduce 3 0B hierarchical\nbcast 3 0B default\n")
    for size, least, most in ("2", 10, 1000), ("1", 0, 0), ("3", 1, 1000):
        done = run("again", ranks=3, HOPCAST_MPI_COLLECTIVES=table, HOPCAST_NODE_SIZE=size)
        check(done.returncode == 0 and least <= ours(done) <= most, f"a table for machines of {size}: {done.stderr[:1000]}")


def set_up_on_one_side():
    """A rank that cannot reach the others' shared memory: all of them leave it to the library."""
    if not soak or mpi != "openmpi" or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        return
    script = os.path.join(work, "apart")
    with open(script, "w") as file:
        file.write('#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 1 ] || exec "$@"\n'
                   'exec unshare -m sh -c \'mount -t tmpfs none /dev/shm && exec "$@"\' sh "$@"\n')
    os.chmod(script, 0o755)
    done = start("-n", "2", script, program, "order", LD_PRELOAD=library, HOPCAST_MPI_COLLECTIVES="all")
    check(done.returncode == 0 and "hopcast did 0 collectives" in done.stderr, f"a rank apart: {done.stderr[:1000]}")


run_parts(same_results, several_machines, threads, device, order, a_rank_is_killed, tables, tuned_in_time, tuned, set_up_on_one_side, asked=sys.argv[4:])
