# SPDX-License-Identifier: BSD-3-Clause
"""What the benchmarks that run schedules share (emulated, hosts, loop, plan_runs): commands, errors of predicted times; and
pages that benchmarks write into."""
import json
import math
import os
import subprocess
import sys


class Commands:
    """Of hopcast; what they write is kept in a folder, and what is there is not done again."""

    def __init__(self, hopcast, folder):
        self.hopcast, self.folder, self.failed = hopcast, folder, []
        os.makedirs(folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self, *arguments, may_be=(0,)):
        """A command that fails is tried once more, and said at the end."""
        for _ in range(2):
            done = subprocess.run([self.hopcast, *arguments], capture_output=True, text=True, check=False)
            if done.returncode in may_be:
                return done
            self.failed.append(f"{' '.join(arguments)}: {done.stderr.strip()}")
        sys.exit(f"{' '.join(arguments)}\n{done.stderr}{done.stdout[-2000:]}")

    def once(self, name, *arguments, may_be=(0,), output="-o"):
        """Runs a command that writes a file, unless the file is there; its text."""
        path = self.path(name)
        if not os.path.exists(path):
            if output:
                self.command(*arguments, output, path + ".part", may_be=may_be)
            else:
                text = self.command(*arguments, may_be=may_be).stdout
                with open(path + ".part", "w", encoding="utf-8") as file:
                    file.write(text)
            os.replace(path + ".part", path)
        with open(path, encoding="utf-8") as file:
            return file.read()


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def lateness(timeline):
    """How late a copy was asked for at most, as a share of the whole run: after all that it waited for had ended, and
    the copy before it from the same device. It is this machine that was late then, not the links."""
    free, late = {}, 0
    for t in timeline["transfers"]:
        late = max(late, t["start_s"] - max(t["ready_s"], free.get(t["from"], 0)))
        free[t["from"]] = t["end_s"]
    return late / timeline["makespan_s"]


def ends(timeline):
    return {t["id"]: t["end_s"] for t in timeline["transfers"]}


def errors(predicted, measured):
    p, m = ends(predicted), ends(measured)
    return [p[name] / m[name] - 1 for name in m]


def quantile(values, share):
    return sorted(values)[max(math.ceil(share * len(values) - 1e-9), 1) - 1]


def interval(values):
    """Of the median: the narrowest pair of order statistics that holds it with 95 %."""
    n, low = len(values), 0
    while low + 1 < n - low - 1 and 2 * sum(math.comb(n, k) for k in range(low + 2)) / 2 ** n <= 0.05:
        low += 1
    ordered = sorted(values)
    return ordered[low], ordered[n - 1 - low]


def print_table(title, rows):
    """rows: (name, errors of copies, errors of makespans)"""
    print(f"\n{title}\n")
    print("| predicted by | copies | mean | median, absolute | 90 % within | worst | within 5 % | 10 % | 15 % | "
          "makespan, median absolute |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, each, spans in rows:
        size = [abs(e) for e in each]
        share = [100 * sum(s <= bound for s in size) / len(size) for bound in (0.05, 0.10, 0.15)]
        print(f"| {name} | {len(each)} | {100 * sum(each) / len(each):+.1f} % | {100 * quantile(size, 0.5):.1f} % | "
              f"{100 * quantile(size, 0.9):.1f} % | {100 * max(each, key=abs):+.1f} % | {share[0]:.0f} % | "
              f"{share[1]:.0f} % | "
              f"{share[2]:.0f} % | {100 * quantile([abs(e) for e in spans], 0.5):.1f} % |")
    sys.stdout.flush()


def update(path, maker, text):
    """Puts it into a page, between the marks <!-- made by bench/MAKER --> and <!-- end -->."""
    begin, end = f"<!-- made by bench/{maker} -->", "<!-- end -->"
    with open(path, encoding="utf-8") as file:
        old = file.read()
    if begin not in old or end not in old:
        sys.exit(f"{maker}: {path} lacks the marks {begin} and {end}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(old[:old.index(begin) + len(begin)] + "\n\n" + text + "\n" + old[old.index(end):])


def say_steady(text):
    """Of the rows that `hopcast measure` wrote."""
    rows = text.splitlines()[1:]
    unsteady = sum("unsteady" in row for row in rows)
    noisy = ": too noisy, to be done again on a machine with nothing else to do" if unsteady > 0.1 * len(rows) else ""
    print(f"\n{unsteady} of {len(rows)} measured rows were unsteady{noisy}.")
