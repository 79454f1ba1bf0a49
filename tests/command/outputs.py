#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every output of every command that cannot be written: an exit status of 2, a message, and nothing left.

    outputs.py HOPCAST SOURCE_FOLDER

Help tells which options take a file or a folder; each of them is in READ or in WRITTEN here, else the test fails. An output goes
to a full disk, to a folder in which nothing may be made, and to a file beyond the limit of its size (ulimit -f); it goes well
while standard output is full or closed; and it goes well while the command's other outputs go to a full disk. No file, no
temporary file and no shared memory stay. A link that leads to itself is refused.

Exit 0: so it is; 1: not.
"""
import concurrent.futures
import ctypes
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

COPIES = ["-e", "a: gpu0 -> gpu1 1MiB; b: gpu0 -> gpu2 1MiB"]
RUN = ["run", "-e", "a: 0@gpu0:x -> 1@gpu1:x 4KiB"]
MEASURE = ["measure", "--devices", "2", "--what", "pairs", "--sizes", "4KiB,64KiB", "--time", "1ms", "--force"]
TABLE = "data/measurements/pcie-2016.csv"
READ = {"topology --routes", "topology --measurements", "measure --measured", "calibrate --penalties", "sweep --cases", "tune paths --schedule"}
# What a command is tried with; {} is the output. Those in one line are written together.
WRITTEN = {
    "topology": [(["topology", "t2"], {"--output": []})],
    "predict": [(["predict", *COPIES, "--on", "t2"], {"--trace": [], "--output": ["--json"]})],
    "make": [(["make", "ring:4", "--on", "t2"], {"--output": []}),
             (["make", "graphs", "--on", "t2", "--max-transfers", "2"], {"--output-dir": []})],
    "plan": [(["plan", "halo:2x2", "--on", "t2", "--max-nodes", "100"],
              {"--output": [], "--placement": [], "--svg": [], "--launch-dir": []}),
             (["plan", "halo:2x2", "--on", "t2", "--max-nodes", "100"], {"--checkpoint": []})],
    "order": [(["order", *COPIES, "--on", "t2"], {"--output": [], "--svg": []}),
              (["order", *COPIES, "--on", "t2", "--all"], {"--histogram": []}),
              (["order", "data/schedules/halo3-slowest.hop", "--on", "t2", "--threads", "1", "--max-nodes", "9"], {"--checkpoint": []})],
    "map": [(["map", "ring:4", "--on", "t2"], {"--svg": [], "--output": [], "--launch-dir": []}),
            (["map", "data/schedules/ring4.goal", "--on", "t2"], {"--placed": []})],
    "run": [(RUN, {"--output": ["--json"], "--csv": [], "--trace": []}), (RUN, {"--save": []})],
    "measure": [(MEASURE, {"--fit": [], "--raw": [], "--output": []})],
    "compare": [(["compare", TABLE, "--on", "t2"], {"--svg": [], "--output": ["--json"]})],
    "calibrate": [(["calibrate", TABLE, "--on", "t2", "--folds", "0"], {"--output": []}),
                  (["calibrate", TABLE, "--on", "t2", "--draws", "1"], {"--curve": []})],
    "sweep": [(["sweep", *COPIES, "--on", "t2"], {"--output": []})],
    "export": [(["export", "json", *COPIES], {"--output": []})],
    "traffic": [(["traffic", "data/traffic/halo8-profile.csv"], {"--svg": [], "--output": []})],
    "tune paths": [(["tune", "paths", "--on", "t2", "--pattern", "ring:4", "--sizes", "1MiB", "--packets", "1MiB", "--evaluations", "9"],
                    {"--output": []})],
    "tune stages": [(["tune", "stages", "--on", "t2", "--through", "gpu0,host0,gpu4", "--sizes", "1MiB", "--packets", "256KiB"],
                     {"--output": []})],
    "tune copies": [(["tune", "copies", "allreduce", "-n", "2", "--sizes", "4KiB", "--packets", "4KiB", "--rounds", "3"], {"--output": []})],
    "tune collective": [(["tune", "collective", "broadcast", "--on", "t2", "--sizes", "1MiB"], {"--output": []})],
    "tune puts": [(["tune", "puts", "--on", "apenet:2", "--sizes", "4KiB"], {"--svg": []}),
                  (["tune", "puts", "--on", "apenet:2", "--from", "gpu0", "--to", "gpu1", "--sizes", "4KiB", "--method", "direct"],
                   {"--output": []})],
}
FOLDERS = {"--output-dir", "--launch-dir", "--save"}
AT_ONCE = {"order --output", "plan --checkpoint", "order --checkpoint"}  # kept while the search goes on, whatever comes
CAP_DAC_OVERRIDE, PR_CAPBSET_DROP = 1, 24


def as_no_superuser():
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


def within_a_byte():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))


class Trial:
    """A command with one of its outputs, in a folder of its own."""

    def __init__(self, command, work, name, arguments, outputs, option):
        self.command, self.name, self.option, self.wrong = command, f"{name} {option}", option, []
        self.arguments, self.outputs = arguments, outputs
        self.folder = tempfile.mkdtemp(dir=work)
        self.locked = tempfile.mkdtemp(dir=work)
        os.chmod(self.locked, 0o555)
        self.circle = self.folder + ".circle"

    def line(self, path, others=()):
        words = [self.option, path, *self.outputs[self.option]]
        for i, other in enumerate(others):
            words += [other, os.path.join(self.folder, f"other{i}"), *self.outputs[other]]
        return [self.command, *self.arguments, *words]

    def left(self):
        return sorted(os.listdir(self.folder))

    def run(self, what, line, **more):
        """Its exit status and what it said."""
        before = more.pop("preexec_fn", None)
        job = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=more.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE,
                               text=True, preexec_fn=before, **more)
        out, said = job.communicate(timeout=120)
        names = [name for name in os.listdir("/dev/shm") if name.startswith(f"hopcast-{job.pid}-")]
        self.expect(not names, what, f"leaves {names} in shared memory")
        return job.returncode, out, said

    def expect(self, fine, what, message):
        if not fine:
            self.wrong.append(f"{self.name}, {what}: {message}")

    def refused(self, what, line, reason=".", **more):
        status, _, said = self.run(what, line, **more)
        self.expect(status == 2, what, f"exit status {status}, {said!r}")
        self.expect(re.search(reason, said), what, f"says {said!r}")
        self.expect(not self.left(), what, f"leaves {self.left()}")
        for name in self.left():
            path = os.path.join(self.folder, name)
            (shutil.rmtree if os.path.isdir(path) else os.unlink)(path)

    def try_all(self):
        folder, good = self.option in FOLDERS, os.path.join(self.folder, "out")
        status, out, said = self.run("as it should be", self.line(good))
        self.expect(status == 0 and os.path.exists(good), "as it should be", f"exit status {status}, {said!r}")
        if not folder:
            self.expect(self.left() == ["out"], "as it should be", f"leaves {self.left()}")
        if self.wrong:
            return self.wrong
        (shutil.rmtree if folder else os.unlink)(good)
        if out and not folder and self.name not in AT_ONCE:
            with open("/dev/full", "w") as full:
                self.refused("standard output full", self.line(good), "cannot write to standard output", stdout=full)
            self.refused("standard output closed", self.line(good), "cannot write to standard output",
                         stdout=None, preexec_fn=lambda: os.close(1))
        self.refused("a folder without permission", self.line(os.path.join(self.locked, "out")), "Permission denied", preexec_fn=as_no_superuser)
        self.expect(not os.listdir(self.locked), "a folder without permission", "something is there")
        if folder:
            return self.wrong
        if self.name not in AT_ONCE:  # beside them a file is made, which /dev has no place for
            others = [other for other in self.outputs if other != self.option and f"{self.name.rsplit(' ', 1)[0]} {other}" not in AT_ONCE
                      and other not in FOLDERS]
            self.refused("a full disk", self.line("/dev/full", others), "No space left on device")
        self.refused("a limit of its size", self.line(good), "File too large", preexec_fn=within_a_byte)
        os.symlink(os.path.basename(self.circle), self.circle)
        self.refused("links in a circle", self.line(self.circle), "Too many levels of symbolic links")
        return self.wrong


def written(help_text):
    """The options that take a file or a folder."""
    return re.findall(r"^  (?:-.|  )[, ] (--[a-z-]+) (?:FILE|DIR)\b", help_text, re.M)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: outputs.py HOPCAST SOURCE_FOLDER")
    command = os.path.abspath(sys.argv[1])
    os.chdir(sys.argv[2])
    os.environ["LC_ALL"] = "C"
    completion = subprocess.run([command, "completion", "bash"], stdout=subprocess.PIPE, text=True, check=True).stdout
    wrong = []
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(2) as pool:
        trials = [Trial(command, work, name, arguments, outputs, option)
                  for name, lines in WRITTEN.items() for arguments, outputs in lines for option in outputs]
        tried = {trial.name for trial in trials}
        for name in re.findall(r"^    '([a-z ]+)'\) options=", completion, re.M):
            shown = subprocess.run([command, *name.split(), "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
            wrong += [f"{name} {option} is not tried here" for option in written(shown) if not {f"{name} {option}"} & (READ | tried)]
        for found in pool.map(Trial.try_all, trials):
            wrong += found
    print("\n".join([*wrong, f"{len(trials)} outputs, {len(wrong)} failures"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
