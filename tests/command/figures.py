#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The printed figures of papers, and the levels of Helios, obtained as a user obtains them: from the command line.

    figures.py HOPCAST

Every figure is asked of `hopcast predict --json`, `hopcast make`, `hopcast topology --json` or `hopcast tune stages --json` and stands beside what was
printed, within the rounding of the print. One line a figure; exit 1 if one misses.

"Martinasso" is M. Martinasso, G. Kwasniewski, S. R. Alam, T. C. Schulthess, T. Hoefler: A PCIe congestion-aware performance model
for densely populated accelerator servers, SC 2016. Its 300 MB and 11.6 GB/s are MiB and GiB. Figures of model `credit`, and those
that the paper does not print with all their digits, come from this project: a second implementation and a packet-level
simulation of the same assumptions.

"Aggarwal" is V. Aggarwal, C. Yoon, A. George, H. Lam, G. Stitt: Performance Modeling for Multilevel Communication in SHMEM+, 2011.
Its K and M are KiB and MiB, its MB/s 1e6 bytes a second.
"""
import collections
import json
import math
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIZE = "300MiB"
ALONE_S = 0.0252829  # 300 MiB without congestion
B = 300 * 2**20 / ALONE_S
PAPER_TAU = ("--set", "tau=0.2")  # of the worked example; 1 - 1/1.21 is the default of t1 and t2
TABLE = "0->2 1->4 3->2 6->4"


class Figures:
    """Asks the command, and prints what it says beside what was printed."""

    def __init__(self, command):
        self.command = command
        self.misses = 0
        self.count = 0

    def run(self, *arguments):
        done = subprocess.run([self.command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"hopcast {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
        return done.stdout

    def predict(self, schedule, topology, *options):
        """schedule: a file of data/, or transfers such as "0->2 1->4"."""
        if schedule.endswith(".hop"):
            what = [os.path.join(ROOT, schedule)]
        else:
            transfers = [pair.split("->") for pair in schedule.split()]
            what = ["-e", "; ".join(f"{s}to{d}: gpu{s} -> gpu{d} {SIZE}" for s, d in transfers)]
        return json.loads(self.run("predict", *what, "--on", topology, "--json", "--intervals", *options))

    def times(self, *arguments):
        """When each transfer ends, in units of one alone without congestion."""
        return [t["end_s"] / ALONE_S for t in self.predict(*arguments)["transfers"]]

    def check(self, what, printed, ours, tolerance, source):
        ok = math.isfinite(ours) and abs(ours - printed) <= tolerance
        self.count += 1
        self.misses += not ok
        print(f"{what:<52} printed {printed:>9.7g}  ours {ours:>9.7g}  {'ok' if ok else 'MISS':<4}  {source}")

    def check_all(self, names, printed, ours, tolerance, source, what):
        if len(ours) != len(names):
            sys.exit(f"{what}: {len(ours)} values for {len(names)}")
        for name, p, o in zip(names, printed, ours):
            self.check(f"{what}: {name}", p, o, tolerance, source)


def factors(prediction, index=0):
    """What each transfer gets of B in one of the intervals, in the order of the schedule."""
    active = {a["id"]: a["rate_Bps"] / B for a in prediction["intervals"][index]["active"]}
    return [active[t["id"]] for t in prediction["transfers"] if t["id"] in active]


class Machine:
    """A small topology in JSON; capacities in units of B."""

    def __init__(self, name):
        self.name = name
        self.nodes = []
        self.links = []

    def add(self, name, kind, above=None, up=1.0, down=1.0):
        self.nodes.append({"name": name, "kind": kind})
        if above:
            self.links.append({"from": name, "to": above, "kind": "pcie", "capacity_Bps": [up * B, down * B]})
        return self

    def write(self, folder):
        path = os.path.join(folder, self.name + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"hopcast_topology": 1, "name": self.name, "models": "pcie", "nodes": self.nodes, "links": self.links}, file)
        return path


def bandwidth(f):
    section = "Martinasso, section VII"
    t2 = json.loads(f.run("topology", "t2", "--json"))
    pcie = [link for link in t2["links"] if link["kind"] == "pcie"]
    f.check("links of t2 of that capacity", 14, len([1 for link in pcie if abs(link["capacity_Bps"] / B - 1) < 1e-9]), 0,
            "Martinasso, figure 1")
    f.check("B of a link, GiB/s", 11.6, pcie[0]["capacity_Bps"] / 2**30, 0.05, section)
    for topology in "t1", "t2":
        alone = f.predict("0->1", topology)
        f.check(f"{topology}: 300 MiB without congestion, ms", 25.2829, alone["makespan_s"] * 1e3, 5e-5, "Martinasso, section VII (T_ref)")
        f.check(f"{topology}: 300 MiB in that time, GiB/s", 11.6, 300 / 1024 / alone["makespan_s"], 0.05, section)
    f.check("4->1 alone, default tau", 1.21, f.times("4->1", "t2")[0], 0.005, section)
    f.check("4->1 alone, share of B, tau 0.2", 0.8, factors(f.predict("4->1", "t2", *PAPER_TAU))[0], 1e-9,
            "Martinasso, equation 7: min(1/1 - tau, 1)")


def worked_example(f):
    names = TABLE.split()
    example = f.predict(TABLE, "t2", *PAPER_TAU)
    f.check_all(names, [0.3, 0.3, 0.7, 0.7], factors(example), 1e-9, "Martinasso, table I, step D", "t2")
    f.check_all(names[:2], [0.5, 0.5], factors(example, 1), 1e-9, "Martinasso, table II, step 2", "t2, the two left")
    ends = [t["end_s"] * 1e3 for t in example["transfers"]]
    f.check_all(names, [65, 65, 36, 36], ends, 0.5, "Martinasso, table II", "t2, ms")
    # The paper's "data remaining" of 128 MB is what has been sent by then.
    sent = [i["active"][0]["rate_Bps"] * (i["end_s"] - i["start_s"]) / 2**20 for i in example["intervals"]]
    f.check("t2: 0->2 has sent at 36 ms, MiB", 128, sent[0], 1, "Martinasso, table II")
    f.check("t2: 0->2 sends after that, MiB", 172, sent[1], 1, "Martinasso, section VI")
    f.check("t2: 0->2 sends after that for, ms", 29, ends[0] - ends[2], 0.5, "Martinasso, section VI")


def steps_of_the_worked_example(f, folder):
    """Steps B and C, which D hides. What the step leaves is what a transfer gets where no later step touches it."""
    pair = f.predict("0->2 1->4", "t2", *PAPER_TAU)
    f.check_all(["0->2", "1->4"], [0.5, 0.5], factors(pair), 1e-9, "Martinasso, table I, step B", "t2, the pair alone")
    # 0 and 1 below boards of their own, with half the bandwidth: they arrive as after B, and share no link for D to act on.
    machine = Machine("steps").add("root0", "root").add("switch0", "switch", "root0").add("switch1", "switch", "root0")
    for i in 0, 1:
        machine.add(f"half{i}", "switch", "switch0").add(f"gpu{i}", "gpu", f"half{i}", up=0.5)
    machine.add("board1", "switch", "switch0").add("gpu2", "gpu", "board1").add("gpu3", "gpu", "board1")
    machine.add("board2", "switch", "switch1").add("gpu4", "gpu", "board2")
    machine.add("board3", "switch", "switch1").add("gpu6", "gpu", "board3")
    shares = factors(f.predict(TABLE, machine.write(folder), *PAPER_TAU))
    f.check_all(TABLE.split(), [0.5, 0.3, 0.5, 0.7], shares, 1e-9, "Martinasso, table I, step C", "apart")


def example_1(f, folder):
    """0.6 + 0.4 and 0.3 + 0.5 into one up port. Links of these widths make the factors; each source enters the switch
    by a port of its own, since behind a shared one head-of-line blocking (step D) would change what B gave."""
    machine = Machine("example1").add("root0", "root").add("top", "switch", "root0").add("port6", "switch", "top")
    for i, share in enumerate((0.6, 0.4, 0.3, 0.5)):
        machine.add(f"gpu{i}", "gpu", "port6", up=share)
        machine.add(f"gpu{i + 4}", "gpu", "top")
    shares = factors(f.predict("0->4 1->5 2->6 3->7", machine.write(folder), *PAPER_TAU))
    f.check_all("abcd", [0.33, 0.22, 0.17, 0.28], shares, 0.005, "Martinasso, example 1", "up port")


def example_2(f, folder):
    """0.7, which crossed the root complex, and 0.9 into one down port. Alone in the root complex 0.7 passes: 1 - tau is 0.8."""
    machine = Machine("example2").add("root0", "root").add("switch0", "switch", "root0").add("switch1", "switch", "root0")
    machine.add("gpu0", "gpu", "switch0", up=0.7).add("gpu1", "gpu", "switch1", up=0.9).add("gpu2", "gpu", "switch1")
    path = machine.write(folder)
    for pair, arriving in ("0->2", 0.7), ("1->2", 0.9):
        f.check(f"down port, {pair} arrives with", arriving, factors(f.predict(pair, path, *PAPER_TAU))[0], 1e-9,
                "Martinasso, example 2")
    shares = factors(f.predict("0->2 1->2", path, *PAPER_TAU))
    f.check_all("ab", [0.3, 0.7], shares, 1e-9, "Martinasso, example 2", "down port")


def conflicts(f):
    """Section III.B: what each kind of conflict costs."""
    section = "Martinasso, section III.B"
    credit = ("--model", "credit")
    f.check("pcie, tau 0.2: 0->1 beside 4->1", 1 / 0.7, f.times("0->1 4->1", "t2", *PAPER_TAU)[0], 1e-9,
            "Martinasso, equation 7: min(1/2 + tau, 1)")
    f.check("pcie, tau 0.2: the same, as measured", 1.44, f.times("0->1 4->1", "t2", *PAPER_TAU)[0], 0.015, section)
    f.check("credit: 0->1 beside 4->1", 1.440, f.times("0->1 4->1", "t2", *credit)[0], 0.0005, section + " (fitted)")
    f.check("credit: 4->1 alone", 1.21, f.times("4->1", "t2", *credit)[0], 0.005, section)
    for model in "pcie", "credit":
        for pair in "0->1 2->1", "0->3 1->2":
            for name, time in zip(pair.split(), f.times(pair, "t2", "--model", model)):
                f.check(f"{model}: {name} of {pair.replace(' ', ' and ')}", 2, time, 1e-6, section + ": halved")


def credit_figures(f):
    project = "this project, model credit"
    ends = [t["end_s"] * 1e3 for t in f.predict(TABLE, "t2", "--model", "credit")["transfers"]]
    f.check_all(TABLE.split(), [68.6, 68.6, 33.8, 36.4], ends, 0.05, project, "credit, ms")
    pattern = "2->7 0->2 1->6 3->6"
    f.check_all(pattern.split(), [3.63, 2.42, 2.42, 3.63], f.times(pattern, "t2", "--model", "credit"), 0.005, project,
                "credit, the pattern that tells them apart")
    f.check_all(pattern.split(), [3.63, 3.00, 3.42, 3.63], f.times(pattern, "t2", "--model", "pcie"), 0.005,
                "this project, model pcie", "pcie, that pattern")


def halos(f):
    for grid, printed, section in ("4x2", 20736, "VIII.A"), ("2x2x2", 1679616, "VIII.B"):
        made = json.loads(f.run("make", f"halo:{grid}", "--on", "t2", "--bytes", SIZE, "--format", "json"))
        sends = collections.Counter(op["from"] for op in made["operations"])
        f.check(f"halo {grid}: orders of all GPUs' sends", printed, math.prod(math.factorial(n) for n in sends.values()), 0,
                "Martinasso, section " + section)
    fastest, slowest = (f.predict(f"data/schedules/halo3-{which}.hop", "t2", *PAPER_TAU)["makespan_s"] / ALONE_S
                        for which in ("fastest", "slowest"))
    project = "this project, all orders counted"
    f.check("halo 2x2x2: the fastest order", 5.0, fastest, 5e-5, project)
    f.check("halo 2x2x2: the slowest order", 12.8677, slowest, 5e-5, project)
    f.check("halo 2x2x2: slowest to fastest", 2.57, slowest / fastest, 0.005, "Martinasso, section VIII.B")
    f.check("halo 2x2x2: slowest to fastest", 2.5735, slowest / fastest, 5e-5, project)


def helios_levels(f):
    """Lone transfers by the level that they reach: a board, switches, the root complex, the socket link."""
    board = f.predict("0->1", "helios")["makespan_s"]
    levels = {"switches": ("0->2", 2.47), "root complex": ("0->4", 4.22), "socket link": ("0->8", 4.47)}
    for level, (pair, printed) in levels.items():
        f.check(f"helios: board over {level}, bandwidth", printed, f.predict(pair, "helios")["makespan_s"] / board, 1e-6,
                "Faraji 2018, Fig. 6.3")


# Contention graphs of Martinasso and Mehaut 2011: transfers by name, sources and receivers by letter.
FIGURE_2 = (("a->b a->c a->d", [3, 3, 3]), ("a->b a->c a->d d->b d->c", [4, 4, 4, 2.66, 2.66]),
            ("a->b a->c d->b e->c", [4, 4, 1.33, 1.33]))
FIGURE_3 = "1->X 1->P 1->Q 2->X 2->Y 3->Y"
FIGURE_4A = "1->X 1->Y 2->X 3->X 4->Y"
FIGURE_4B = "1->X 1->Y 2->X 3->X 4->X"
IB_ALONE_S = 0.010706  # 20 MiB without contention


def contention(f, graph, *options):
    """All transfers of a graph, 20 MiB each, together; vertices become nodes in the order of their appearance."""
    pairs = [pair.split("->") for pair in graph.split()]
    nodes = {vertex: f"node{i}" for i, vertex in enumerate(dict.fromkeys(v for pair in pairs for v in pair))}
    text = "; ".join(f"{'abcdef'[i]}: {nodes[s]} -> {nodes[d]} 20MiB" for i, (s, d) in enumerate(pairs))
    return json.loads(f.run("predict", "-e", text, "--on", "ib-9node", "--model", "infiniband", "--json", "--intervals", *options))


def penalties(prediction, index=0):
    rate = 20 * 2**20 / IB_ALONE_S
    active = {a["id"]: rate / a["rate_Bps"] for a in prediction["intervals"][index]["active"]}
    return [active[t["id"]] for t in prediction["transfers"] if t["id"] in active]


def infiniband(f):
    """Printed penalties are cut, not rounded, to two digits: 2.66, 1.33, 3.33."""
    paper = "Martinasso and Mehaut 2011, figure "
    for i, (graph, printed) in enumerate(FIGURE_2):
        f.check_all("abcdef"[:len(printed)], printed, [math.floor(100 * p + 1e-6) / 100 for p in penalties(contention(f, graph))],
                    1e-9, paper + "2", f"graph {i + 1}, penalty")
    figure_3 = contention(f, FIGURE_3)
    for index, (names, printed) in enumerate((("abcdef", [3.5] * 3 + [3.33, 3.33, 1.5]), ("abcde", [3.5] * 3 + [2.33, 2.33]),
                                              ("abc", [3] * 3))):
        f.check_all(names, printed, [math.floor(100 * p + 1e-6) / 100 for p in penalties(figure_3, index)], 1e-9, paper + "3",
                    f"step {index + 1}, penalty")
    times = ((FIGURE_3, [0.0363749] * 3 + [0.0297984] * 2 + [0.0160590], "3", 5.1e-8),
             (FIGURE_4A, [0.036132] * 2 + [0.026765] * 2 + [0.013382], "4, graph A", 1e-6),
             (FIGURE_4B, [0.043894] * 2 + [0.037471] * 3, "4, graph B", 1e-6))
    for graph, printed, name, digit in times:
        ends = [t["end_s"] for t in contention(f, graph)["transfers"]]
        f.check_all("abcdef"[:len(printed)], printed, ends, digit, paper + name, "time in s")
    graph_a = contention(f, FIGURE_4A)
    f.check_all("abcde", [5, 5, 2.5, 2.5, 1.25], penalties(graph_a), 1e-9, paper + "4 (e: its time; 1.5 is printed)", "graph A, step 1")
    f.check_all("abcd", [4, 4, 2.5, 2.5], penalties(graph_a, 1), 1e-9, paper + "4", "graph A, step 2")
    graph_b = contention(f, FIGURE_4B)
    f.check_all("abcde", [5, 5, 3.5, 3.5, 3.5], penalties(graph_b), 1e-9, paper + "4", "graph B, step 1")
    f.check_all("ab", [2, 2], penalties(graph_b, 1), 1e-9, paper + "4", "graph B, step 2")
    sent = [i["active"][0]["rate_Bps"] * (i["end_s"] - i["start_s"]) for i in figure_3["intervals"]]
    f.check("a has sent in step 1, bytes", 8987820, sent[0], 100, "Martinasso and Mehaut 2011, section 5")
    f.check("a has left after step 1, bytes", 11983700, 20 * 2**20 - sent[0], 100, paper + "3")
    f.check("a has left after step 2, bytes", 4294170, 20 * 2**20 - sent[0] - sent[1], 100, paper + "3")
    f.check("a lone transfer, s", IB_ALONE_S, contention(f, "a->b")["makespan_s"], 1e-9, "Martinasso and Mehaut 2011, section 5")


# D and, for each packet size, N, T in ms and MB/s
AGGARWAL_3 = {
    "2MiB": [(1, 4.55, 115.2), (1, 7.72, 135.8), (1, 12.45, 168.4), (2, 20.45, 205.1), (4, 36.45, 230.1), (8, 68.45, 245.1), (16, 132.45, 253.3)],
    "512KiB": [(1, 4.55, 115.2), (2, 7.56, 138.7), (4, 13.58, 154.4), (8, 25.62, 163.7), (16, 49.70, 168.8), (32, 97.86, 171.4), (64, 194.18, 172.8)],
}
# nodes and devices a node: approaches 1, 2 and 3, in ms
AGGARWAL_1 = {(1, 1): (8.14, 8.14, 8.14), (2, 1): (12.74, 7.81, 7.81), (4, 1): (16.07, 7.28, 7.28), (8, 1): (20.39, 7.02, 7.02), (16, 1): (29.71, 7.06, 7.06)}
AGGARWAL_2 = {(1, 4): (11.72, 11.72, 11.72), (2, 4): (18.20, 10.56, 10.52), (4, 4): (28.60, 10.48, 10.39), (8, 4): (45.28, 10.56, 10.07),
              (16, 4): (85.36, 10.96, 10.51)}
# Table 5, slower DMA engine, from 1K to 16M: bytes of a packet, 0: in one piece. At 32M it has 8M, whose steps are not printed.
AGGARWAL_5 = [0] * 7 + [2**19, 0] + [2**21] * 3
AGGARWAL_5_SIZES = "1KiB,4KiB,16KiB,64KiB,128KiB,256KiB,512KiB,1MiB,2MiB,4MiB,8MiB,16MiB"


def staged(f):
    def stages(table, *arguments):
        return json.loads(f.run("tune", "stages", os.path.join(ROOT, "data/steps", table), *arguments, "--json"))

    for packet, printed in AGGARWAL_3.items():
        transfers = stages("novo-g-transfer.steps", "--sizes", "512KiB:32MiB*2", "--packets", packet, "--groups", "2/1")["transfers"]
        if len(transfers) != len(printed):
            sys.exit(f"table 3: {len(transfers)} sizes for {len(printed)}")
        for transfer, (packets, ms, rate) in zip(transfers, printed):
            way, what = transfer["ways"][-1], f"{transfer['bytes'] >> 10} KiB in packets of {packet}"
            f.check(what + ": N", packets, way["packets"], 0, "Aggarwal, table 3")
            f.check(what + ": ms", ms, 1e3 * way["time_s"], 1e-9, "Aggarwal, table 3")
            f.check(what + ": MB/s", rate, 1e-6 * way["rate_Bps"], 0.05, "Aggarwal, table 3")
    for name, table in (("table 1", AGGARWAL_1), ("tables 2a, 2b", AGGARWAL_2)):
        shapes = ",".join(f"{nodes}x{devices}" for nodes, devices in table)
        gathers = stages("novo-g-gather.steps", "--gather", shapes, "--sizes", "8MiB")["gathers"]
        for gather, (shape, printed) in zip(gathers, table.items(), strict=True):
            ms = [1e3 * time_s for time_s in gather["time_s"]]
            f.check_all("123", printed, ms, 1e-9, "Aggarwal, " + name, f"gather of {shape[0]} x {shape[1]}, approach")
    transfers = stages("novo-g-transfer.steps", "--sizes", AGGARWAL_5_SIZES)["transfers"]
    for transfer, packet in zip(transfers, AGGARWAL_5, strict=True):
        best = transfer["ways"][transfer["best"]]["packet_bytes"]
        f.check(f"best packet at {transfer['bytes'] >> 10} KiB", packet, best or 0, 0, "Aggarwal, table 5")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: figures.py HOPCAST")
    f = Figures(os.path.abspath(sys.argv[1]))
    with tempfile.TemporaryDirectory() as folder:
        bandwidth(f)
        worked_example(f)
        steps_of_the_worked_example(f, folder)
        example_1(f, folder)
        example_2(f, folder)
        conflicts(f)
        credit_figures(f)
        halos(f)
        helios_levels(f)
        infiniband(f)
        staged(f)
    print(f"{f.count} figures, {f.misses} missed")
    return 1 if f.misses else 0


if __name__ == "__main__":
    sys.exit(main())
