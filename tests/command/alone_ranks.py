#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What of measure, tune and run does not go with mpirun: refused once, by rank 0, whatever files it would have written.

usage: alone_ranks.py openmpi|mpich HOPCAST        HOPCAST_MPI_PATH: the folder of the shims

Exit status: 0 as expected, 1 not, 77 there is no such launcher or shim.
"""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from under_mpi import PATIENCE_S, check, command, hopcast, run_parts, work  # noqa: E402

FILE = os.path.join(work, "written")


def refused(ranks, says, *arguments):
    done = subprocess.run(command(ranks, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    check(done.returncode == 2 and done.stderr.count(says) == 1, "%d ranks: %s ended with %d: %s" %
          (ranks, arguments, done.returncode, done.stderr[-600:]))
    check(not os.path.exists(FILE), "%s wrote a file" % (arguments,))


def ranks_of_their_own():
    for arguments in (("measure", "--devices", "2", "-o", FILE, "--time", "86400"), ("tune", "copies", "-n", "2", "-o", FILE),
                      ("tune", "collective", "allreduce", "--measured", "-n", "2", "-o", FILE)):
        refused(3, "mpirun started 3 of it", *arguments)


def alone():
    """One process under mpirun works like one without."""
    done = subprocess.run(command(1, "tune", "copies", "-n", "2", "--sizes", "4KiB", "--rounds", "1", "-o", FILE),
                          stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    check(done.returncode == 0 and os.path.exists(FILE), "tune copies of one process: " + done.stderr)
    if os.path.exists(FILE):
        os.remove(FILE)


def options_of_run():
    refused(3, "mpirun started 3 ranks", "run", "allreduce", "-n", "2")
    refused(3, "not by mpirun", "run", "allreduce", "--in-process")
    refused(3, "not by mpirun", "run", "allreduce", "--pin")
    refused(1, "--node-size is for several ranks", "run", "allreduce", "--node-size", "1")
    refused(2, "cannot write", "run", "allreduce", "--json", "-o", os.path.join(work, "no-such-folder", "x"))
    refused(2, "says where 1 ranks are", "run", "allreduce", "--map", one_rank())


def one_machine_lacks_a_file():
    """The ranks that have it do not wait for the one that has not."""
    path = os.path.join(work, "a.hop")
    with open(path, "w", encoding="utf-8") as file:
        file.write("a: 0@gpu0 -> 1@gpu1 1KiB\n")
    starts = command(2, "run", path)
    own = starts[:starts.index("-n")]  # mpirun and its options
    there, lacks = ["-n", "1", hopcast, "run", path], ["-n", "1", hopcast, "run", path + ".not"]
    for first, second, says in ((there, lacks, "rank 1 cannot run what rank 0 can"), (lacks, there, "is neither a file")):
        done = subprocess.run(own + first + [":"] + second, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
        check(done.returncode == 2 and done.stderr.count(says) == 1, "a file is missing: ended with %d: %s" %
              (done.returncode, done.stderr[-600:]))


def one_rank():
    path = os.path.join(work, "one.map")
    with open(path, "w", encoding="utf-8") as file:
        file.write("0 gpu0\n")
    return path


run_parts(ranks_of_their_own, alone, options_of_run, one_machine_lacks_a_file)
