#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""On a terminal no line is wider than it, at 60, 80 and 200 columns and with names of 40 characters; a line of progress leaves nothing of the one
before; what machines read is the same as in a pipe, where tables have all their columns.

    screen.py HOPCAST

Exit 0: so it is; 1: not.
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

LONG = "n" * 40
WIDTHS = (60, 80, 200)
SCHEDULE = f"""a: gpu0 -> gpu1 64MiB
{LONG}: gpu0 -> gpu4 64MiB
b: gpu1 -> gpu5 64MiB
c: gpu0 -> gpu3 1MiB via staged after a
"""
TOPOLOGY = f"""{{"hopcast_topology": 1, "name": "two-of-{LONG}", "nodes": [{{"name": "root0", "kind": "root"}},
{{"name": "{LONG}0", "kind": "gpu", "label": "{LONG}"}}, {{"name": "{LONG}1", "kind": "gpu"}}, {{"name": "gpu0", "kind": "gpu"}}, {{"name": "gpu1", "kind": "gpu"}}],
"links": [""" + ", ".join(f'{{"from": "{name}", "to": "root0", "kind": "pcie", "generation": 4, "width": 16}}' for name in (LONG + "0", LONG + "1", "gpu0", "gpu1")) + "]}"
SHOWN = [
    "predict a.hop --on t2", "predict a.hop -e 'a: gpu0 -> gpu1 1MiB' --on t2", "predict a.hop --on t2 --gantt", f"predict a.hop --on t2 --explain {LONG}",
    "predict -e 'gpu0 -> gpu1 1MiB' --on unknown.txt", "predict -e 'gpu0 -> gpu1 64KiB' --on t2 --fidelity packet",
    f"predict -e '{LONG}0 -> {LONG}1 1MiB' --on long.json", "predict a.hop --on t2 --range all",
    "topology long.json", "topology t2", "topology t2 --parameters", "topology unknown.txt", "topology unknown.txt --lint",
    "topology t2 --route gpu0 gpu5", "topology --help", "plan --help", "--help",
    "order a.hop --on t2", "order a.hop --on t2 --all", 
    "map halo:4x2 --on t2 --draw", "map a.hop --on t2",
    "tune puts --on apenet:2", "tune stages s.steps --sizes 1MiB", "tune collective allreduce --on t2 --sizes 64KiB -n 4",
    "compare m.csv --on t2 --all", "calibrate m.csv --on t2", "sweep -e 'gpu0 -> gpu1 1MiB' --on t2 --scale-bytes 1:4*2 --best 3 -o s.csv",
    "make allreduce --list", "make halo", "traffic halo:4x2", "predict nowhere.hop --on t2", f"predict --on t2 {LONG} {LONG} {LONG}", f"predict -e '{LONG} -> {LONG} 1MiB' --on t2",
]
ONCE = [  # which take longer, on the narrowest one
    "run allreduce -n 2 --bytes 1KiB --on t2 --in-process --predict", "tune paths --on t2 --sizes 1KiB --packets 1KiB", "plan a.hop --on t2 --keep --robust",
    "plan allreduce --bytes 1KiB --on t2 -n 2", "order a.hop --on t2 --robust",
]
SAME = ["predict a.hop --on t2 --json", "topology t2 --json", "make halo:4x2,bytes=1MiB --on t2", "order a.hop --on t2 --json | sed 's/elapsed_s.*//'", "export json a.hop",
        "topology t2 --format svg", "topology t2 --format dot"]
PIPE = {"predict a.hop --on t2": "transfer size queued start end alone lost mostly", "plan a.hop --on t2 --keep": "step time gain by all models"}


def shown(text):
    """The lines that a terminal shows, without colours, and what a line written over another leaves of it."""
    lines, left = [], []
    for line in re.sub(r"\x1b\[[0-9;]*[mK]", "", text).replace("\r\n", "\n").split("\n"):
        cells = ""
        for part in line.split("\r"):
            if part.strip() and cells[len(part):].strip():
                left.append(f"{part!r} leaves {cells[len(part):]!r}")
            cells = part + cells[len(part):]
        lines.append(cells)
    return lines, left


class Checker:
    def __init__(self, command, folder):
        self.folder, self.wrong = folder, []
        os.makedirs(os.path.join(folder, "bin"))
        os.symlink(os.path.abspath(command), os.path.join(folder, "bin", "hopcast"))
        self.env = {"PATH": os.path.join(folder, "bin") + os.pathsep + os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": folder}

    def on_terminal(self, line, columns):
        ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        with subprocess.Popen(["/bin/sh", "-c", "hopcast " + line], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=its, stderr=its):
            os.close(its)
            parts = []
            try:
                while part := os.read(ours, 1 << 16):
                    parts.append(part)
            except OSError:  # nobody has the terminal any more
                pass
        os.close(ours)
        return b"".join(parts).decode()

    def in_pipe(self, line):
        return subprocess.run(["/bin/sh", "-c", "hopcast " + line], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False).stdout.decode()

    def expect(self, fine, what):
        if not fine:
            self.wrong.append(what)

    def check_width(self, line, columns):
        lines, left = shown(self.on_terminal(line, columns))
        wide = [at for at in lines if len(at) > columns]
        self.expect(not wide, f"hopcast {line} on {columns} columns: {len(wide)} lines of up to {max(map(len, lines))}\n    " + "\n    ".join(wide[:3]))
        self.expect(not left, f"hopcast {line}: {left[:2]}")
        self.expect(any(at.strip() for at in lines), f"hopcast {line}: nothing")

    def check_progress(self):
        """A search that is long enough for some lines, of which a later one is shorter."""
        line = "plan six.hop --on t2 --time-limit 1.4s"
        text = self.on_terminal(line, 60)
        left = shown(text)[1]
        self.expect(not left, f"hopcast {line}: {left[:2]}")
        self.expect(all(len(part) <= 60 for at in text.split("\r\n") for part in at.split("\r")), f"hopcast {line}: progress is wider than 60 columns")
        self.expect(not re.search(r"\de[+-]?\d+ %", text), f"hopcast {line}: a share as a power of ten")


def main():
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(sys.argv[1], folder)
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        with open(os.path.join(root, "data", "topologies", "smi-every-label.txt"), encoding="utf-8") as file:
            unknown = file.read()
        with open(os.path.join(root, "data", "steps", "novo-g-gather.steps"), encoding="utf-8") as file:
            steps = file.read()
        files = {"a.hop": SCHEDULE, "long.json": TOPOLOGY, "unknown.txt": unknown, "s.steps": steps,
                 "six.hop": "".join(f"t{i}.{k}: gpu{i} -> gpu{(i + k) % 8} {64 + 3 * i + 7 * k}MiB\n" for i in range(8) for k in range(1, 8)),
                 "m.csv": f"transfer,from,to,bytes,concurrent_group,measured_GBps,notes\n{LONG},gpu0,gpu1,64MiB,,12.1,\nb,gpu0,gpu4,64MiB,g,6.1,\nc,gpu1,gpu5,64MiB,g,6.2,\n"}
        for name, text in files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        for line in SHOWN:
            for columns in WIDTHS:
                checker.check_width(line, columns)
        for line in ONCE:
            checker.check_width(line, min(WIDTHS))
        for line in SAME:
            checker.expect(checker.on_terminal(line, 60).replace("\r\n", "\n") == checker.in_pipe(line), f"hopcast {line} is not the same on a terminal")
        for line, titles in PIPE.items():
            printed = checker.in_pipe(line)
            checker.expect(re.search(titles.replace(" ", " +(?:us +|ms +)?"), printed), f"hopcast {line} in a pipe lacks a column of '{titles}'")
        checker.check_progress()
        print("\n".join(checker.wrong))
        print(f"{len(SHOWN) * len(WIDTHS) + len(ONCE) + len(SAME)} outputs on terminals, {len(checker.wrong)} wrong")
        return 1 if checker.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
