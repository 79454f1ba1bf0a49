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
WALKED = [  # lines to which every option of their command is added, one at a time
    P, [*P, "--on", "t1"], [*P, "--model", "pcie", "--model", "credit"], [*P, "-e", "a: gpu0 -> gpu4 3MiB"], [*P, "--fidelity", "packet"],
    [*P, "--gantt"], [*P, "--json"], [*P, "--explain", "c"], ["make", "halo:4x2"], ["make", "halo:4x2", "--on", "t2"],
    ["make", "allgather", "-n", "4"], ["make", "allreduce", "--on", "t2"], ["make", "barrier", "-n", "4"], ["make", "alltoall", "--on", "t2"], G,
    [*G, "--list"], ["topology", "t2", "--parameters"], ["export", "json", "-e", FOUR], ["traffic", "halo:4x2"], ["order", "-e", FOUR, "--on", "t2"],
    ["map", "halo:4x2", "--on", "t2"], ["tune", "paths", "--on", "t2", "--pattern", "alltoall,order=shift"],
    ["tune", "collective", "allreduce", "--on", "t2", "--sizes", "64KiB"],
]
VALUES = {"SIZE": "3KiB", "N": "2", "K": "2", "TIME": "7us", "FILE": "out", "DIR": "dir", "NAME=VALUE": "tau=0.3"}
NO_EFFECT = {  # that is right
    ("make", "--set"): "a machine's rates and latencies are none of a schedule's, and a wrong one is refused",
    ("order", "--threads"): "the answer is the same whatever the threads", ("order", "--seed"): "what is proved needs no luck",
    ("order", "--allow-unclean"): "no order of these loads a link above its limit",
}
SHELL = """{completion}
COMP_WORDS=({words}) COMP_CWORD={index}
_hopcast
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


class Checker:
    def __init__(self, command, source):
        self.command, self.source, self.wrong = os.path.abspath(command), source, []

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
        """What it says, but for the line that repeats the command, and every file that it writes."""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([self.command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                  text=True, check=False, cwd=folder)
            files = {}
            for where, _, names in os.walk(folder):
                for name in names:
                    with open(os.path.join(where, name), "rb") as file:
                        files[name] = file.read()
        return done.returncode, re.sub(r"# hopcast make .*|hopcast make [^\"]*", "", done.stdout), files

    def check_effects(self):
        for line in WALKED:
            plain, name = self.outcome(line), " ".join(line[:2]) if line[0] == "tune" else line[0]
            self.expect(plain[0] == 0, f"{line}: {plain[1][:300]}")
            shown = self.run([*name.split(), "--help"]).stdout
            for option, value in re.findall(r"^  (?:-.|  )[, ] (--[a-z-]+)(?: (\S+))?", shown, re.M):
                if option == "--help" or option in line or (name, option) in NO_EFFECT:
                    continue
                given = [option, VALUES.get(value, value)] if value.isupper() or value in VALUES else [option]
                got = self.outcome([*line, *given])
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
