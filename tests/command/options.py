#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Help, manual pages and completions name the same options of every command, the forms that options come in are read, and every option
changes what a command says or writes, or is refused.

    options.py HOPCAST SOURCE_FOLDER

Exit 0: so it is; 1: not.
"""
import os
import re
import subprocess
import sys
import tempfile

FORMER = [  # refused, with the name that they have now
    (["make", "halo", "--on", "t2", "--grid", "4x2"], "part of the pattern"),
    (["predict", "a.hop", "--on", "t2", "--packet", "payload=128B"], "--packet-set"),
    (["run", "allreduce", "--threads"], "--in-process"),
    (["measure", "-n", "2"], "--devices"),
    (["tune", "copies", "-n", "2", "--collective", "allreduce"], "a word"),
    (["tune", "collective", "allreduce", "--measured", "--threads"], "--in-process"),
]
A, B = ["predict", "-e", "a: gpu0 -> gpu1 1MiB", "--on", "t2"], ["export", "json", "-e", "a: gpu0 -> gpu1 1MiB"]
SAME = [  # lines that mean the same
    [A + ["--rows", "1"], A + ["--rows=1"], A + ["--ro", "1"], ["predict", "--on=t2", "-ea: gpu0 -> gpu1 1MiB", "--rows", "1"]],
    [A + ["--gantt", "--ascii"], A + ["-g", "--asc"], ["predict", "-g", "--ascii", "--on", "t2", "-e", "a: gpu0 -> gpu1 1MiB"]],
    [A + ["-j"], A + ["--json"], A + ["--js"]],
    [A + ["--set", "tau=0.2"], A + ["-stau=0.2"], A + ["-s", "tau=0.2"], A + ["--set=tau=0.2"]],
    [["topology", "t2", "-p"], ["topology", "-p", "t2"], ["topology", "-p", "--", "t2"]],
    [["topology", "t2", "-fjson"], ["topology", "-f", "json", "t2"], ["topology", "t2", "-j"]],
    [B, ["export", "-e", "a: gpu0 -> gpu1 1MiB", "json"], ["export", "--expr", "a: gpu0 -> gpu1 1MiB", "--", "json"]],
    [["tune", "paths", "--on", "t2", "--sizes", "1MiB", "--pattern", "pairs", "--copy-latency", time] for time in ("0.0005", "500us", "0.5ms")],
]
REFUSED = [
    (A + ["--o", "x"], "ambiguous: --on or --output"),
    (A + ["--json=1"], "--json takes no value"),
    (A + ["--rows"], "--rows needs a value"),
    (A + ["--gant", "-gx"], "no option -x"),
    (A + ["--exlpain", "a"], "is --explain meant?"),
    (A + ["--ascii"], "--ascii goes with --gantt"),
    (["predict", "-", "--on", "-"], "read once"),
    (["order", *A[1:], "--json", "-o", "-"], "standard output takes one of"),
    (["run", "allreduce", "-n", "2", "--timeout", "5 s."], "--timeout"),
]
FOUR = "a: gpu0 -> gpu2 3MiB; b: gpu1 -> gpu4 2MiB; c: gpu0 -> gpu5 1MiB after b"
P, G = ["predict", "-e", FOUR, "--on", "t2"], ["make", "graphs", "--on", "t2", "--max-transfers", "1"]
PCIE, IB, RUN = "{source}/data/measurements/pcie-2016.csv", "{source}/data/measurements/infiniband-2011.csv", ["run", "--device", "host", "-n", "3"]
WALKED = [  # lines to which every option of their command is added, one at a time
    P, [*P, "--on", "t1"], [*P, "--model", "pcie", "--model", "credit"], [*P, "-e", "a: gpu0 -> gpu4 3MiB"], [*P, "--fidelity", "packet"],
    [*P, "--gantt"], [*P, "--json"], [*P, "--explain", "c"], ["make", "halo:4x2"], ["make", "halo:4x2", "--on", "t2"],
    ["make", "allgather", "-n", "4"], ["make", "allreduce", "--on", "t2"], ["make", "barrier", "-n", "4"], ["make", "alltoall", "--on", "t2"], G,
    [*G, "--list"], ["topology", "t2", "--parameters"], ["export", "json", "-e", FOUR], ["traffic", "halo:4x2"], ["order", "-e", FOUR, "--on", "t2"],
    ["map", "halo:4x2", "--on", "t2"], ["tune", "paths", "--on", "t2", "--pattern", "alltoall,order=shift"],
    ["tune", "collective", "allreduce", "--on", "t2", "--sizes", "64KiB"],
    ["topology", "t2"], ["topology", "t2", "--lint"], ["topology", "t2", "--route", "gpu0", "gpu4"], ["topology", "--list"], ["topology", "--parameters"],
    ["topology", "torus:3x3x1", "--deadlock", "none"], ["export", "goal", "-e", "a: rank0 -> rank1 3MiB"],
    ["plan", "alltoall:2", "--on", "t1", "--max-nodes", "50"],
    ["plan", "allreduce", "--bytes", "64KiB", "-n", "3", "--on", "t1", "--max-nodes", "50", "--gap", "50%"],
    ["sweep", "-e", FOUR, "--on", "t2"], ["sweep", "-e", FOUR, "--on", "t2", "--json"], ["compare", PCIE, "--on", "t2"], ["compare", PCIE, PCIE],
    ["calibrate", PCIE, "--on", "t2", "--folds", "0"], ["calibrate", "--penalties", IB, "--on", "ib-9node"], ["measure", "--on", "t2", "--suggest", "3"],
    ["measure", "--devices", "3", "--sizes", "64B", "--time", "1ms", "--what", "pairs", "--device", "host", "--force"],
    [*RUN, "allgather", "--bytes", "64KiB"], [*RUN, "-e", "a: rank0 -> rank1 64KiB; b: rank1 -> rank2 64KiB; c: rank0 -> rank1 1KiB"],
    ["launch", "-n", "1", "sh", "-c", "echo rank; env | grep ^SHMEM; cat"],
    ["tune", "stages", "--step", "read=10us+12GB/s", "--step", "write=8us+13GB/s"], ["tune", "stages", "--on", "t2", "--through", "gpu0,host0,gpu4"],
    ["tune", "puts", "--on", "apenet:2"], ["tune", "puts", "--figures"],
    ["tune", "copies", "-n", "3", "--in-process", "--sizes", "4KiB", "--packets", "128KiB", "--rounds", "1", "--device", "host"],
]
VALUES = {"SIZE": "3KiB", "N": "2", "K": "2", "TIME": "7us", "FILE": "out", "DIR": "dir", "NAME=VALUE": "link_latency=3us"}
TIMED = "only times depend on it, which differ from run to run"
NO_EFFECT = {  # that is right: an option of the lines that begin so
    ("make", "--set"): "a machine's rates and latencies are none of a schedule's, and a wrong one is refused",
    ("topology t2 --lint", "--set"): "latencies are no findings", ("topology torus:3x3x1 --deadlock", "--set"): "nor circles",
    ("calibrate --penalties", "--set"): "penalties are of times alone", ("measure --on t2 --suggest", "--set"): "a fit finds latencies",
    ("order", "--threads"): "the answer is the same whatever the threads", ("order", "--seed"): "what is proved needs no luck",
    ("order", "--allow-unclean"): "no order of these loads a link above its limit", ("order", "--max-nodes"): "a state proves it",
    ("plan", "--threads"): "as of order", ("plan", "--seed"): "all placements are looked at", ("plan", "--allow-unclean"): "as of order",
    ("plan allreduce", "--no-waits"): "its steps wait for each other, not its sources", ("map", "--seed"): "what is proved needs no luck",
    ("sweep", "--keep-going"): "no case fails", ("compare", "--bytes"): "all rows have theirs", ("compare", "--all"): "the rows are few",
    ("compare", "--sources-unlimited"): "no source has two transfers", ("calibrate", "--bytes"): "all rows have theirs",
    ("calibrate", "--kinds"): "2 is what it is", ("run", "--seed"): "other numbers, of which all are checked",
    ("run", "--in-process"): TIMED, ("run", "--pin"): TIMED, ("run", "--engines"): TIMED, ("measure", "--pin"): TIMED, ("measure", "--in-process"): TIMED,
    ("tune copies", "--pin"): TIMED, ("tune copies", "--engines"): TIMED,
    ("tune copies", "--devices"): "host memory is one device, by any name",
    ("measure", "--seed"): TIMED, ("run", "--in-place"): TIMED, ("run", "--packet"): "no copy of these is staged, which others on GPUs may be",
    ("run --device host -n 3 -e", "--bound"): TIMED, ("launch", "--patience"): "it is no PE that would wait", ("launch", "--pin"): "of a single rank",
}
SHELL = """{completion}
COMP_WORDS=({words}) COMP_CWORD={index}
_hopcast
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


class Checker:
    def __init__(self, command, source):
        self.command, self.source, self.wrong = os.path.abspath(command), os.path.abspath(source), []

    def run(self, arguments, given=""):
        return subprocess.run([self.command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, input=given, text=True, check=False)

    def expect(self, fine, what):
        if not fine:
            self.wrong.append(what)

    def names(self, completion):
        """The options of every command, as the completion for bash has them."""
        return {name: set(options.split()) for name, options in re.findall(r"^    '([a-z ]+)'\) options='([^']*)'", completion, re.M)}

    def check_texts(self, completion):
        for name, options in self.names(completion).items():
            shown = self.run([*name.split(), "--help"])
            lines = re.findall(r"^  (?:-.|  )[, ] (--[a-z-]+)", shown.stdout, re.M)
            self.expect(set(lines) == options - {"--help"}, f"{name} --help: {set(lines) ^ (options - {'--help'})}")
            path = os.path.join(self.source, "man", f"hopcast-{name.split(maxsplit=1)[0]}.1.scd")
            with open(path, encoding="utf-8") as file:
                page = self.run(["completion", "man"], file.read())
            terms = set(re.findall(r"^(?:\*-.\*, )?\*(--[a-z-]+)\*", page.stdout, re.M))
            self.expect(page.returncode == 0 and options - {"--help"} <= terms, f"{path} lacks {options - {'--help'} - terms}")
            print(f"{name}: {len(options)} options")

    def outcome(self, arguments):
        """What it says, but for what repeats the command or tells how long it took, and every file that it writes. Of what is timed all
        numbers are left out."""
        arguments = [word.format(source=self.source) if word.startswith("{source}") else word for word in arguments]
        timed = arguments[0] in ("run", "measure") or arguments[:2] == ["tune", "copies"]

        def kept(text):
            text = re.sub(rb"# hopcast make .*|hopcast make [^\"]*|found in [^,\n]*|\"(elapsed|found)_s\": ?[^,\n]*", b"", text)
            return re.sub(rb": too noisy|[-0-9][0-9.e-]*|\b([nmu]?s|[kMGT]?B/s)\b|\s+", b"", text) if timed else text

        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([self.command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, input=b"given", check=False,
                                  cwd=folder)
            files = {}
            for where, _, names in os.walk(folder):
                for name in names:
                    with open(os.path.join(where, name), "rb") as file:
                        files[name] = kept(file.read())
        return done.returncode, kept(done.stdout), files

    def is_excused(self, line, option):
        return any(option == its and (" ".join(line) + " ").startswith(start + " ") for start, its in NO_EFFECT)

    def check_effects(self):
        for line in WALKED:
            plain, name = self.outcome(line), " ".join(line[:2]) if line[0] == "tune" else line[0]
            self.expect(plain[0] == (1 if "--penalties" in line else 0), f"{line}: {plain[1][:300]}")
            self.expect(line[0] in ("run", "measure") or line[1] == "copies" or plain == self.outcome(line), f"{line}: its output differs from run to run")
            shown = self.run([*name.split(), "--help"]).stdout
            for option, value in re.findall(r"^  (?:-.|  )[, ] (--[a-z-]+)(?: (\S+))?", shown, re.M):
                if option == "--help" or option in line or self.is_excused(line, option):
                    continue
                given = [option, VALUES.get(value, value)] if value.isupper() or value in VALUES else [option]
                got = self.outcome([*line[:3], *given, *line[3:]] if name == "launch" else [*line, *given])
                self.expect(got[0] == 2 or got != plain, f"{' '.join(line)}: {' '.join(given)} does nothing")

    def complete(self, completion, words):
        text = SHELL.format(completion=completion, words=" ".join(f"'{word}'" for word in words), index=len(words) - 1)
        return subprocess.run(["bash", "-c", text], stdout=subprocess.PIPE, text=True, check=True).stdout.split()

    def check_bash(self, completion):
        for words, expected in ((["hopcast", "pre"], ["predict"]), (["hopcast", "tune", "pa"], ["paths"]),
                                (["hopcast", "predict", "--on", "dgx"], ["dgx-1", "dgx-a100", "dgx-b200"]), (["hopcast", "predict", "--gan"], ["--gantt"]),
                                (["hopcast", "predict", "--fidelity", "=", "pa"], ["packet"]), (["hopcast", "run", "allr"], ["allreduce"]),
                                (["hopcast", "predict", "-m", "infiniband-"], ["infiniband-full"])):
            got = self.complete(completion, words)
            self.expect(got == expected, f"completing {words}: {got}, expected {expected}")

    def check_forms(self):
        for former, new in FORMER:
            done = self.run(former)
            self.expect(done.returncode == 2 and " is now " in done.stdout and new in done.stdout, f"{former}: {done.stdout}")
        for lines in SAME:
            outputs = [self.run(line) for line in lines]
            for line, done in zip(lines, outputs):
                same = done.returncode == 0 and re.sub(r"hopcast make [^\n]*", "", done.stdout) == re.sub(r"hopcast make [^\n]*", "", outputs[0].stdout)
                self.expect(same, f"{line} is not as {lines[0]}: {done.stdout[:300]}")
        for line, message in REFUSED:
            done = self.run(line)
            self.expect(done.returncode == 2 and message in done.stdout, f"{line}: {done.stdout}")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: options.py HOPCAST SOURCE_FOLDER")
    checker = Checker(sys.argv[1], sys.argv[2])
    completion = checker.run(["completion", "bash"]).stdout
    checker.check_texts(completion)
    checker.check_bash(completion)
    checker.check_forms()
    checker.check_effects()
    print("\n".join(checker.wrong), end="\n" if checker.wrong else "")
    return 1 if checker.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
