#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every command with little memory: each allocation fails in turn (fail.c).

    campaign.py HOPCAST FAIL.so [--all | --runs N] [NAME ...]

What is accepted is exit status 2 with a message that says memory, or the very same output; no signal, no hang, no other output or message.
Files ({out}) are there whole or not at all. --all
lets every allocation fail, alone and with all that follow, of a command with more than 2000 the first of each place and each n-th;
else those that are the first of their place in the program do, evenly
drawn from all commands so that there are N runs (default: all of them). hwloc
and SCOTCH, which break when they get no memory, get theirs. Exit status: 0 as accepted, 1 not.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIME_LIMIT_S = 60
EACH = 2000
SCHEDULE = "a: gpu0 -> gpu1 1MiB; b: gpu0 -> gpu2 2MiB after a; c: gpu1 -> gpu2 1MiB"
DATA = os.path.join(ROOT, "data")
CORPUS = os.path.join(ROOT, "tests/fuzz/corpus/measurements")

# Small, and printing the same each time.
CASES = {
    "topology": ["topology", "t2"],
    "topology-json": ["topology", "t2", "--json"],
    "topology-svg": ["topology", "t2", "--format", "svg"],
    "topology-dot": ["topology", "t2", "--format", "dot"],
    "parameters": ["topology", "t2", "--parameters", "--set", "tau=0.2"],
    "route": ["topology", "t2", "--route", "gpu0", "gpu5"],
    "fabric": ["topology", "fat-tree:leaves=2,spines=1,hosts=2", "--json"],
    "hwloc": ["topology", DATA + "/topologies/hwloc-2socket-3gpu.xml"],
    "nccl": ["topology", DATA + "/topologies/nccl-two-switch.xml", "--json"],
    "ibnetdiscover": ["topology", DATA + "/topologies/ibnetdiscover-rails.txt", "--routes", DATA + "/topologies/ibnetdiscover-rails.lfts"],
    "smi": ["topology", DATA + "/topologies/smi-two-socket-pairs.txt"],
    "rocm": ["topology", DATA + "/topologies/rocm-xgmi-square.txt", "--json"],
    "cluster": ["topology", DATA + "/clusters/two-dgx-a100.json"],
    "lint": ["topology", "t2", "--lint"],
    "lint-json": ["topology", DATA + "/topologies/nccl-two-switch.xml", "--lint", "--json"],
    "lint-measured": ["topology", "t2", "--lint", "--measurements", DATA + "/measurements/pcie-2016.csv"],
    "predict": ["predict", "-e", SCHEDULE, "--on", "t2"],
    "predict-json": ["predict", "-e", SCHEDULE, "--on", "t2", "--json"],
    "predict-gantt": ["predict", "-e", SCHEDULE, "--on", "t2", "--gantt"],
    "predict-explain": ["predict", "-e", SCHEDULE, "--on", "t2", "--explain", "a"],
    "predict-many": ["predict", "-e", SCHEDULE, "--on", "t2", "--on", "dgx-1", "--model", "pcie", "--model", "credit"],
    "predict-packet": ["predict", "-e", "gpu0 -> gpu1 64KiB; gpu0 -> gpu2 64KiB", "--on", "t2", "--fidelity", "packet"],
    "predict-fault": ["predict", "-e", "a: node0 -> node1 64KiB; b: node2 -> node3 64KiB", "--on", "torus:4x4,link=1GB/s,latency=100ns",
                      "--fidelity", "packet", "--fault", "link router0.0--router1.0 at 10us"],
    "predict-goal": ["predict", DATA + "/schedules/ring4.goal", "--on", "t2"],
    "make": ["make", "halo:2x2x2", "--on", "t2"],
    "make-allreduce": ["make", "allreduce", "--on", "t2"],
    "order": ["order", "-e", SCHEDULE, "--on", "t2", "--threads", "1"],
    "order-all": ["order", "-e", SCHEDULE, "--on", "t2", "--all", "--threads", "1"],
    "map": ["map", "ring:4", "--on", "t2"],
    "map-matrix": ["map", DATA + "/traffic/ring8-symmetric.mtx", "--on", "t2", "--json"],
    "sweep": ["sweep", "-e", SCHEDULE, "--on", "t2", "--bytes", "1MiB,2MiB"],
    "sweep-json": ["sweep", "-e", SCHEDULE, "--on", "t2", "--set", "tau=0.1,0.2", "--json"],
    "export-goal": ["export", "goal", "-e", SCHEDULE, "--on", "t2"],
    "export-hop": ["export", "hop", DATA + "/schedules/ring4.goal"],
    "export-json": ["export", "json", "-e", SCHEDULE],
    "compare": ["compare", DATA + "/measurements/pcie-2016.csv", "--on", "t2"],
    "compare-transferbench": ["compare", CORPUS + "/transferbench.txt", "--on", "t2"],
    "compare-bandwidth-test": ["compare", CORPUS + "/bandwidth-test.txt", "--on", "t2"],
    "compare-nvbandwidth": ["compare", CORPUS + "/nvbandwidth-sums.txt", "--on", "t2"],
    "compare-rocm": ["compare", CORPUS + "/rocm-bandwidth.txt", "--on", "t2"],
    "compare-json": ["compare", DATA + "/measurements/pcie-2016.csv", "--on", "t2", "--json"],
    "calibrate": ["calibrate", DATA + "/measurements/pcie-2016.csv", "--on", "t2"],
    "tune-paths": ["tune", "paths", "--on", "t2", "--pattern", "ring:8", "--sizes", "1MiB", "--packets", "1MiB", "--evaluations", "50"],
    "tune-stages": ["tune", "stages", "--on", "t2", "--through", "gpu0,host0,gpu4", "--sizes", "1MiB", "--packets", "256KiB"],
    "tune-stages-table": ["tune", "stages", os.path.join(DATA, "steps/novo-g-gather.steps"), "--gather", "2x2", "--json"],
    "tune-collective": ["tune", "collective", "broadcast", "--on", "t2", "--sizes", "1MiB", "--segments", "64KiB"],
    "run": ["run", "-e", "a: 0@gpu0:x -> 1@gpu1:x 4KiB", "--in-process", "--json", "-o", "/dev/null"],
    "calibrate-o": ["calibrate", DATA + "/measurements/pcie-2016.csv", "--on", "t2", "-o", "{out}/fitted.json"],
    "plan": ["plan", "ring:3,bytes=1MiB", "--on", "t2", "--way", "p2p", "--keep", "-o", "{out}/plan.hop"],
    "map-o": ["map", "ring:4", "--on", "dgx-1", "--metric", "distance", "--solver", "exact", "-o", "{out}/map"],
    "traffic": ["traffic", DATA + "/traffic/halo8-profile.csv"],
    "order-o": ["order", "-e", SCHEDULE, "--on", "t2", "--threads", "1", "-o", "{out}/order.hop"],
    "sweep-o": ["sweep", "-e", SCHEDULE, "--on", "t2", "--bytes", "1MiB,2MiB", "-o", "{out}/sweep.csv"],
    "tune-puts": ["tune", "puts", "--on", "apenet:2x1x1", "--sizes", "32KiB", "--json"],
    "completion": ["completion", "bash"],
    "help": ["predict", "--help"],
}
# Libraries that break when they get no memory.
SPARED = {"hwloc": "libhwloc", "map": "libscotch", "map-matrix": "libscotch"}
# What differs from run to run.
VARIES = re.compile(rb"(found in|searched for|proved in|in all) [^,\n]*|\"elapsed_s\": ?[^,\n]*")


class Command:
    def __init__(self, name, hopcast, shim, folder):
        self.name, self.shim, self.folder = name, shim, folder
        self.out = os.path.join(folder, "out")
        self.arguments = [hopcast] + [argument.replace("{out}", self.out) for argument in CASES[name]]
        self.list = os.path.join(folder, "list")
        self.spared = {"HOP_FAIL_BUT": SPARED[name]} if name in SPARED else {}  # slow: it looks at callers

    def run(self, **fails):
        """How it ends, what it prints, without how long it took, and what it says."""
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": self.folder, "LD_PRELOAD": self.shim, **fails}
        environment.update(self.spared)
        shutil.rmtree(self.out, ignore_errors=True)
        os.mkdir(self.out)
        try:
            done = subprocess.run(self.arguments, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            return None, "", "does not end"
        return done.returncode, VARIES.sub(b"", done.stdout), done.stderr.decode(errors="backslashreplace")

    def written(self):
        """The files that it left, without how long it took."""
        files = {}
        for folder, _, names in os.walk(self.out):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    files[name] = VARIES.sub(b"", file.read())
        return files

    def plan(self):
        """Its output when nothing fails, how many allocations there are, and the first of each place."""
        self.status, self.output, said = self.run()
        self.files = self.written()
        if said or self.status not in (0, 1) or self.run()[1] != self.output or self.written() != self.files:
            raise SystemExit("%s is no example: status %s %s" % (self.name, self.status, said))
        self.run(HOP_FAIL_LIST=self.list)
        with open(self.list, encoding="ascii") as file:
            self.count, *self.places = [int(line) for line in file]

    def all(self):
        """Every allocation, or of very many the first of each place and each n-th."""
        nth = -(-self.count // EACH) or 1
        return sorted(set(range(1, self.count + 1, nth)) | set(self.places if nth > 1 else ()))

    def fault(self, at):
        """What is wrong when that one fails; empty: nothing."""
        status, output, said = self.run(HOP_FAIL_AT=at)
        files = self.written()
        if status is None:
            return said
        if status == self.status and output == self.output and files == self.files:
            return ""
        for name, text in files.items():
            if text != self.files.get(name):
                return "a file that is not whole: " + name
        if status == 0:
            return "exit 0, and another output: " + difference(self.output, output)
        if status < 0 or status >= 128:
            return "signal %d: %s" % (-status if status < 0 else status - 128, said[-300:])
        if status != 2 or "memory" not in said:
            return "exit %d, and not a word of memory: %s" % (status, said[:200])
        return ""


def difference(a, b):
    for x, y in zip(a.splitlines() + [b"(end)"], b.splitlines() + [b"(end)"]):
        if x != y:
            return "%r instead of %r" % (y[:120], x[:120])
    return "more lines"


def main():
    arguments = sys.argv[1:]
    everything = "--all" in arguments
    runs = 1 << 30
    if "--runs" in arguments:
        at = arguments.index("--runs")
        runs = int(arguments[at + 1])
        del arguments[at:at + 2]
    arguments = [a for a in arguments if a != "--all"]
    if len(arguments) < 2:
        sys.exit(__doc__)
    folder = tempfile.mkdtemp()
    commands = [Command(name, os.path.abspath(arguments[0]), os.path.abspath(arguments[1]), folder) for name in arguments[2:] or CASES]
    faults = done = 0
    try:
        for command in commands:
            command.plan()
        step = 1 if everything else max(1, -(-sum(len(c.places) for c in commands) // runs))
        for number, command in enumerate(commands):
            trials = [str(n) + s for n in command.all() for s in ("", "+")] if everything else [
                str(n) + "+" * (i % 2) for i, n in enumerate(command.places[number % step::step])]
            found = {}
            for at in trials:
                fault = command.fault(at)
                done += 1
                if fault:
                    found.setdefault(fault, []).append(at)
            for fault, where in found.items():
                faults += 1
                print("FAIL  %s: HOP_FAIL_AT=%s%s: %s" % (command.name, where[0], " and %d more" % (len(where) - 1) if where[1:] else "", fault),
                      flush=True)
            print("%-18s %6d allocations, %5d places, %5d tried" % (command.name, command.count, len(command.places), len(trials)), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("%d commands, %d runs, %d faults" % (len(commands), done, faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
