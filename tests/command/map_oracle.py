#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hopcast map against an oracle that knows nothing of its code.

usage: map_oracle.py HOPCAST [CASES [FIRST]]        120 cases from number 0; a case depends on its number alone

Every case draws a topology, a traffic and options, asks `hopcast map --json -o FILE`, and checks from the files alone:
rooms and restrictions, the numbers of ranks and devices, every metric and the load of every link (over routes found
here), the simulated time (`hopcast predict` of the exchange written out here), and what is claimed: never worse than
the start, bounds and proofs against all assignments. Restrictions that cannot hold are told by a flow computed here.

Exit status: 0 as expected, 1 not. Files of a case that fails are kept, and its command is shown.
"""
import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

hopcast = os.path.abspath(sys.argv[1])
CASES = int(sys.argv[2]) if len(sys.argv) > 2 else 120
FIRST = int(sys.argv[3]) if len(sys.argv) > 3 else 0
SUMS = ("latency", "bandwidth", "distance")
METRICS = SUMS + ("congestion", "simulated")
NETWORK = ("infiniband", "ethernet")
DEVICES = ("gpu", "host", "nic", "nvme", "fpga")
gaps = {} # by metric: how far answers of solver auto are from the least of all
MOST_ASSIGNMENTS = 700  # that are simulated one by one
LIMIT_S = 120           # for a command that takes parts of a second: it hangs
MOST_STEPS = 400000     # of a search through all assignments
os.environ.update(LC_ALL="C")
os.environ.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")


class Mismatch(Exception):
    pass


def check(holds, *what):
    if not holds:
        raise Mismatch(" ".join(str(w) for w in what))


def near(a, b, tolerance=1e-9):
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


def call(arguments, statuses=(0,), text=None):
    try:
        done = subprocess.run([hopcast] + arguments, capture_output=True, text=True, timeout=LIMIT_S, input=text)
    except subprocess.TimeoutExpired:
        raise Mismatch("does not end: " + " ".join(arguments)) from None
    said = done.stderr
    check("Sanitizer" not in said and "runtime error" not in said, "a sanitizer reports", arguments, said[-3000:])
    check(done.returncode in statuses, "status", done.returncode, "of", " ".join(arguments), said[-1500:])
    return done


# ---- topologies ----

class Topology:
    """Nodes, links with a capacity each way, and ways that this file finds by itself."""

    def __init__(self, name):
        self.name, self.nodes, self.links, self.parameters, self.rows = name, [], [], {}, []
        self.kind, self.ways = {}, {}

    def node(self, name, kind, **more):
        self.nodes.append(dict(name=name, kind=kind, **more))
        self.kind[name] = kind
        return name

    def link(self, a, b, kind, capacity, latency, **more):
        both = capacity if isinstance(capacity, list) else [capacity, capacity]
        self.links.append(dict({"from": a, "to": b, "kind": kind, "latency_s": latency, "capacity_Bps": both}, **more))

    def write(self, path):
        text = {"hopcast_topology": 1, "name": self.name, "nodes": self.nodes, "links": self.links}
        if self.parameters:
            text["parameters"] = {key: {"value": value} for key, value in self.parameters.items()}
        if self.rows:
            text["routes"] = self.rows
        with open(path, "w", encoding="utf-8") as file:
            json.dump(text, file, indent=1)
        self.path = path
        self.index()

    def index(self):
        self.at = {n["name"]: [] for n in self.nodes}
        for i, l in enumerate(self.links):
            self.at[l["from"]].append((i, 0, l["to"]))
            self.at[l["to"]].append((i, 1, l["from"]))
        self.order = {n["name"]: i for i, n in enumerate(self.nodes)}
        self.row = {}
        for row in self.rows:
            over = row["over"].split("->")
            for to in row["to"]:
                self.row[over[0], to] = over[1]

    def shortest(self, a, b, kinds):
        """All ways of fewest links over links of these kinds, no device between."""
        ends, level = [[(a, ())]], {a: 0}
        while ends[-1] and not any(n == b for n, _ in ends[-1]):
            step = []
            for n, way in ends[-1]:
                if n != a and self.kind[n] in DEVICES:
                    continue
                for i, d, to in self.at[n]:
                    if self.links[i]["kind"] in kinds and level.get(to, len(ends)) == len(ends):
                        level[to] = len(ends)
                        step.append((to, way + ((i, d),)))
            ends.append(step)
        return [way for n, way in ends[-1] if n == b]

    def over_fabric(self, a, b):
        if not self.rows:
            return self.shortest(a, b, NETWORK)
        way, here = [], a
        while here != b:
            to = self.row.get((here, b)) if self.kind[here] == "fabric" else None
            steps = [(i, d, n) for i, d, n in self.at[here] if self.links[i]["kind"] in NETWORK and to in (None, n)]
            check(len(steps) == 1, "the oracle's own fabric is ambiguous at", here)
            way.append(steps[0][:2])
            here = steps[0][2]
        return [tuple(way)]

    def capacity(self, way):
        return min(self.links[i]["capacity_Bps"][d] for i, d in way)

    def route(self, a, b):
        if (a, b) not in self.ways:
            self.ways[a, b] = self.find(a, b)
        return self.ways[a, b]

    def find(self, a, b):
        inside = ("pcie", "memory", "socket", "chip")
        ways = self.shortest(a, b, ("nvlink",)) or self.shortest(a, b, inside + ("nvlink",))
        if not ways:
            for leave in [n for n in self.kind if self.kind[n] == "nic"]:
                out = self.shortest(a, leave, inside) if leave != a else [()]
                for enter in [n for n in self.kind if self.kind[n] == "nic"] if out else []:
                    into = self.shortest(enter, b, inside) if enter != b else [()]
                    if enter != leave and into:
                        ways += [out[0] + way + into[0] for way in self.over_fabric(leave, enter)]
        if not ways:
            return None
        fewest = min(len(way) for way in ways)
        ways = [way for way in ways if len(way) == fewest]
        widest = max(self.capacity(way) for way in ways)
        ways = [way for way in ways if self.capacity(way) == widest]
        if len(ways) == 1:
            return ways[0]
        told = self.told(a, b)[0]
        check(told in ways, "the way from", a, "to", b, "is none of the shortest and widest")
        return told

    def told(self, a, b):
        answer = json.loads(call(["topology", self.path, "--route", a, b, "--json"]).stdout)
        way = []
        for l in answer["links"]:
            hit = [(i, d) for i, d, n in self.at[l["from"]] if n == l["to"] and self.links[i]["kind"] == l["kind"]]
            check(len(hit) == 1, "a link of the way is told twice or not there", l)
            way.append(hit[0])
        return tuple(way), answer

    def ceiling(self, way):
        """By the highest level that a way over PCIe reaches: several switches, a root complex, another socket."""
        switches, crossed, socket = 0, False, False
        for i, d in way:
            l = self.links[i]
            end = l["to"] if d == 0 else l["from"]
            switches += l["kind"] == "pcie" and self.kind[end] == "switch"
            crossed = crossed or (l["kind"] == "pcie" and self.kind[end] == "root")
            socket = socket or l["kind"] == "socket"
        if any(self.links[i]["kind"] in NETWORK + ("nvlink",) for i, _ in way):
            return float("inf")
        level = "ceiling_socket" if socket else "ceiling_root" if crossed else "ceiling_switch" if switches > 1 else ""
        return self.parameters.get(level, float("inf"))

    def latency(self, way):
        return sum(self.links[i]["latency_s"] for i, _ in way)

    def rate(self, way):
        return min(self.capacity(way), self.ceiling(way))

    def near_host(self, device):
        best = None
        for n in self.nodes:
            if n["kind"] == "host":
                ways = self.shortest(device, n["name"], ("pcie", "memory", "socket", "chip"))
                if ways and (best is None or len(ways[0]) < best[0]):
                    best = (len(ways[0]), n["name"])
        return best[1] if best else None


def draw_capacity(rng, wide):
    one = rng.choice([4e9, 8e9, 12.5e9, 16e9, 25e9, 31.4159e9]) * (2 if wide else 1)
    return [one, rng.choice([one, one / 2, 5e9])] if rng.random() < 0.25 else [one, one]


def grow(rng, t, prefix, gpus, latency, nics):
    """One server: sockets, below each a random tree of switches with GPUs as leaves, and NICs."""
    roots = []
    for s in range(rng.choice([1, 1, 2])):
        root = t.node("%sroot%d" % (prefix, s), "root", numa=s)
        roots.append(root)
        t.node("%shost%d" % (prefix, s), "host", numa=s)
        t.link("%shost%d" % (prefix, s), root, "memory", [1e11, 9e10], latency())
    if len(roots) == 2:
        t.link(roots[0], roots[1], "socket", draw_capacity(rng, False), latency())
    inner = list(roots)
    for i in range(rng.randrange(0, 4)):
        up = rng.choice(inner)
        inner.append(t.node("%sswitch%d" % (prefix, i), "switch"))
        t.link(inner[-1], up, "pcie", draw_capacity(rng, rng.random() < 0.4), latency())
    bus = rng.sample(range(256), gpus)
    named = rng.random() < 0.4
    for g in range(gpus):
        more = {"bus_id": "0000:%02x:00.0" % bus[g]} if named else {}
        device = t.node("%sgpu%d" % (prefix, g), "gpu", **more)
        t.link(device, rng.choice(inner), "pcie", draw_capacity(rng, False), latency())
    for n in range(nics):
        t.node("%snic%d" % (prefix, n), "nic")
        t.link("%snic%d" % (prefix, n), rng.choice(inner), "pcie", draw_capacity(rng, False), latency())
    accelerate(rng, t, prefix, gpus, latency)


def accelerate(rng, t, prefix, gpus, latency):
    kind = rng.choice(["none", "none", "pairs", "switch"])
    if kind == "pairs":
        for a in range(gpus):
            for b in range(a):
                if rng.random() < 0.3:
                    t.link("%sgpu%d" % (prefix, a), "%sgpu%d" % (prefix, b), "nvlink", draw_capacity(rng, True), latency())
    elif kind == "switch":
        t.node(prefix + "nvswitch", "switch")
        for g in range(gpus):
            if rng.random() < 0.8:
                t.link("%sgpu%d" % (prefix, g), prefix + "nvswitch", "nvlink", draw_capacity(rng, True), latency())


def wire(rng, t, nics, latency):
    """A star, or a fat tree of two levels whose rows are given."""
    if rng.random() < 0.5 or len(nics) < 3:
        t.node("net0", "fabric")
        for nic in nics:
            t.link(nic, "net0", "infiniband", draw_capacity(rng, False), latency())
        return
    leaves, spines = rng.randrange(2, 4), rng.randrange(1, 3)
    for l in range(leaves):
        t.node("leaf%d" % l, "fabric")
    for s in range(spines):
        t.node("spine%d" % s, "fabric")
        for l in range(leaves):
            t.link("leaf%d" % l, "spine%d" % s, "infiniband", draw_capacity(rng, False), latency())
    of = {nic: i % leaves if i < leaves else rng.randrange(leaves) for i, nic in enumerate(nics)}
    for nic in nics:
        t.link(nic, "leaf%d" % of[nic], "infiniband", draw_capacity(rng, False), latency())
    for i, nic in enumerate(nics):
        for l in range(leaves):
            t.rows.append({"over": "leaf%d->%s" % (l, nic if of[nic] == l else "spine%d" % (i % spines)), "to": [nic]})
        for s in range(spines):
            t.rows.append({"over": "spine%d->leaf%d" % (s, of[nic]), "to": [nic]})


def draw_topology(rng):
    t = Topology("drawn")
    timed = rng.choice([0, 0, 1, 1, 2])
    def latency():
        return 0 if timed == 0 else 1e-6 if timed == 1 else rng.choice([5e-7, 1e-6, 3e-6])
    shape = rng.choice(["server", "server", "server", "cluster", "cluster", "fabric"])
    if shape == "server":
        grow(rng, t, "", rng.choice([1, 2, 3, 4, 5, 6, 6, 7, 8, 8, 10, 14]), latency, rng.choice([0, 0, 1]))
    elif shape == "cluster":
        nics = []
        for n in range(rng.randrange(2, 5)):
            ports = rng.choice([1, 1, 1, 2])
            name = rng.choice(["node%d", "n-%d"]) % n
            grow(rng, t, name + ".", rng.choice([1, 2, 2, 3, 4]), latency, ports)
            nics += ["%s.nic%d" % (name, i) for i in range(ports)]
        wire(rng, t, nics, latency)
    else:
        dotted = rng.random() < 0.5
        nics = [t.node("h%d.nic" % i if dotted else "h%d" % i, "nic") for i in range(rng.randrange(2, 8))]
        wire(rng, t, nics, latency)
    if shape != "fabric" and rng.random() < 0.3:
        top = rng.choice([3e9, 9e9, 2e10])
        t.parameters = {"ceiling_switch": top, "ceiling_root": top * 0.7, "ceiling_socket": top * 0.6}
    return t


# ---- traffic ----

class Traffic:
    """flows[a, b] = [device bytes, host bytes, device messages, host messages]"""

    def __init__(self, ranks):
        self.ranks, self.flows = ranks, {}

    def add(self, a, b, memory, size, messages=0):
        if a != b and size:
            flow = self.flows.setdefault((a, b), [0, 0, 0, 0])
            flow[memory] += size
            flow[2 + memory] += messages

    def relabelled(self, new):
        made = Traffic(self.ranks)
        for (a, b), flow in self.flows.items():
            made.flows[new[a], new[b]] = list(flow)
        return made

    def scaled(self, factor):
        made = Traffic(self.ranks)
        for pair, flow in self.flows.items():
            made.flows[pair] = [flow[0] * factor, flow[1] * factor, flow[2], flow[3]]
        return made

    def write_profile(self, path, rng=None):
        rows = [(a, b) + tuple(flow) for (a, b), flow in sorted(self.flows.items())]
        if rng:
            rng.shuffle(rows)
        with open(path, "w", encoding="utf-8") as file:
            file.write("# ranks %d\nfrom,to,device_bytes,host_bytes,device_messages,host_messages\n" % self.ranks)
            for row in rows:
                file.write(",".join(str(x) for x in row) + "\n")

    def write_matrix(self, path, memory, market):
        with open(path, "w", encoding="utf-8") as file:
            if market:
                some = [(p, f[memory]) for p, f in self.flows.items() if f[memory]]
                file.write("%%%%MatrixMarket matrix coordinate integer general\n%d %d %d\n" % (self.ranks, self.ranks, len(some)))
                for (a, b), size in some:
                    file.write("%d %d %d\n" % (a + 1, b + 1, size))
                return
            for a in range(self.ranks):
                file.write(",".join(str(self.flows.get((a, b), [0, 0])[memory]) for b in range(self.ranks)) + "\n")

    def schedule(self, devices, hosts):
        lines = []
        for r in range(self.ranks):
            for memory, where, suffix in ((0, devices, ""), (1, hosts, ".host")):
                for (a, b), flow in sorted(self.flows.items()):
                    if a == r and flow[memory]:
                        lines.append("r%d.to%d%s: %d@%s -> %d@%s %d" % (a, b, suffix, a, where[a], b, where[b], flow[memory]))
        return "\n".join(lines) + "\n"


def draw_traffic(rng, ranks, hosts):
    t = Traffic(ranks)
    density = rng.choice([0.15, 0.4, 0.7, 1.0])
    sizes = rng.choice([[1 << 20], [1 << 16, 1 << 20, 5 << 20], [1, 1000, 12345, 7654321]])
    counted = rng.random() < 0.5
    for a in range(ranks):
        for b in range(ranks):
            if rng.random() < density:
                t.add(a, b, 0, rng.choice(sizes), rng.randrange(1, 9) if counted else 0)
            if hosts and rng.random() < density / 2:
                t.add(a, b, 1, rng.choice(sizes), rng.randrange(0, 3) if counted else 0)
    if rng.random() < 0.2 and ranks > 2: # a regular pattern, whose symmetry solvers make use of
        t.flows.clear()
        for a in range(ranks):
            t.add(a, (a + 1) % ranks, 0, 1 << 20)
            if rng.random() < 0.5:
                t.add((a + 1) % ranks, a, 0, 1 << 20)
    return t


# ---- a case ----

class Case:
    def __init__(self, number, folder):
        self.rng = rng = random.Random(number * 7919 + 1)
        self.number, self.folder = number, folder
        self.topology = draw_topology(rng)
        self.topology.write(self.file("topology.json"))
        self.find_places()
        self.draw_options()

    def file(self, name):
        return os.path.join(self.folder, name)

    def find_places(self):
        t = self.topology
        kind = "gpu" if "gpu" in t.kind.values() else "nic"
        devices = [n for n in t.nodes if n["kind"] == kind]
        self.gpus = kind == "gpu"
        self.node_names = []
        for n in devices:
            name = self.node_of(n["name"])
            if name not in self.node_names:
                self.node_names.append(name)
        self.places = [n["name"] for name in self.node_names for n in devices if self.node_of(n["name"]) == name]
        self.node = [self.node_names.index(self.node_of(p)) for p in self.places]
        self.host = [t.near_host(p) for p in self.places]
        self.bus_of = bus = {n["name"]: n.get("bus_id") for n in devices}
        self.local = {}
        for i in range(len(self.node_names)):
            mine = [p for p, n in zip(self.places, self.node) if n == i]
            if all(bus[p] for p in mine):
                mine.sort(key=lambda p: bus[p])
            self.local.update({p: k for k, p in enumerate(mine)})

    @staticmethod
    def node_of(device):
        return device.split(".")[0] if "." in device else "localhost"

    def draw_options(self):
        rng, count = self.rng, len(self.places)
        self.each = rng.choice([1, 1, 1, 2, 3])
        most = count * self.each
        self.ranks = rng.randrange(1, most + 1) if most <= 8 or rng.random() < 0.3 else rng.randrange(2, 9)
        self.ranks += rng.random() < 0.03
        self.per_node = rng.randrange(1, self.ranks + 1) if rng.random() < (0.25 if len(self.node_names) > 1 else 0.05) else None
        self.excluded = []
        if rng.random() < 0.3:
            self.excluded = rng.sample(self.places, rng.randrange(1, 1 + max(1, count // 3)))
            if rng.random() < 0.2:
                self.excluded.append(rng.choice(self.node_names))
        self.keep = []
        if rng.random() < 0.4:
            for _ in range(rng.randrange(1, 5)):
                who = sorted(rng.sample(range(self.ranks), rng.randrange(1, 1 + min(3, self.ranks))))
                where = rng.sample(self.places, rng.randrange(1, 1 + min(4, count)))
                if rng.random() < 0.4:
                    where = rng.sample(self.node_names, rng.randrange(1, 1 + len(self.node_names)))
                self.keep.append((who, where))
        if len(self.node_names) > 1 and rng.random() < 0.35:
            self.draw_tight()
        self.metric = rng.choice(METRICS + ("congestion", "bandwidth"))
        self.solver = rng.choice(["auto"] * 5 + ["exchange", "exact", "scotch"])
        self.phases = [] if rng.random() < 0.8 else rng.sample(["nodes", "devices", "refine"], rng.randrange(1, 4))
        self.cores = rng.choice([None, None, None, (1, 8), (2, 4), (2, 7)])
        self.simulates = self.metric == "simulated" or rng.random() < 0.7
        self.traffic = draw_traffic(rng, self.ranks, all(self.host) and rng.random() < 0.5)
        self.form = rng.choice(["profile", "matrix", "market", "two", "schedule"])
        self.start = rng.choice([None, None, "cyclic", "random=%d" % rng.randrange(99), "file"])
        if self.start == "file":
            self.start_places = [rng.randrange(count) for _ in range(self.ranks)]
            if rng.random() < 0.6:
                spots = [p for p in range(count) for _ in range(self.each)]
                rng.shuffle(spots)
                self.start_places = (spots * 2)[:self.ranks]

    def draw_tight(self):
        """Nearly as many ranks as nodes take, most of them kept on some nodes: hard to tell whether it can hold."""
        rng, names = self.rng, self.node_names
        self.per_node = rng.randrange(1, 4)
        size = [sum(n == i for n in self.node) * self.each for i in range(len(names))]
        self.ranks = max(1, sum(min(s, self.per_node) for s in size) - rng.choice([0, 0, 1]))
        self.excluded = []
        self.keep = []
        for r in range(self.ranks):
            if rng.random() < 0.7:
                where = rng.sample(names, rng.randrange(1, 1 + min(2, len(names))))
                self.keep.append(([r], where if rng.random() < 0.6 else rng.sample(self.places, rng.randrange(1, 4) if len(self.places) > 3 else 1)))

    # What may be where.

    def prepare(self):
        self.room = [0 if p in self.excluded or self.node_names[n] in self.excluded else self.each
                     for p, n in zip(self.places, self.node)]
        self.node_room = []
        for i in range(len(self.node_names)):
            room = sum(r for r, n in zip(self.room, self.node) if n == i)
            self.node_room.append(min(room, self.per_node) if self.per_node else room)
        self.allowed = []
        for r in range(self.ranks):
            mine = {p for p in range(len(self.places)) if self.room[p]}
            for who, where in self.keep:
                if r in who:
                    mine &= {p for p in range(len(self.places))
                             if self.places[p] in where or self.node_names[self.node[p]] in where}
            self.allowed.append(mine)
        self.tables = {m: self.table(m) for m in SUMS}

    def fits(self, place):
        return (all(p in self.allowed[r] for r, p in enumerate(place)) and
                all(place.count(p) <= self.room[p] for p in set(place)) and
                all(sum(self.node[p] == i for p in place) <= self.node_room[i] for i in range(len(self.node_room))))

    def feasible(self):
        """A flow from ranks to devices to nodes, one augmenting way after the other."""
        seat, load, node_load = [None] * self.ranks, [0] * len(self.places), [0] * len(self.node_room)
        for start in range(self.ranks):
            # states: ("r", rank), ("p", place), ("n", node)
            came, queue, end = {("r", start): None}, [("r", start)], None
            while queue and end is None:
                what, i = here = queue.pop(0)
                step = []
                if what == "r":
                    step = [("p", p) for p in self.allowed[i] if seat[i] != p]
                elif what == "p":
                    step = [("r", r) for r in range(self.ranks) if seat[r] == i]
                    if load[i] < self.room[i]:
                        step.append(("n", self.node[i]))
                else:
                    if node_load[i] < self.node_room[i]:
                        end = here
                    step = [("p", p) for p in range(len(self.places)) if self.node[p] == i and load[p] > 0]
                for s in step:
                    if s not in came:
                        came[s] = here
                        queue.append(s)
            if end is None:
                return False
            node_load[end[1]] += 1
            here = end
            while came[here] is not None:
                before = came[here]
                if before[0] == "r":
                    seat[before[1]] = here[1]
                elif before[0] == "p" and here[0] == "n":
                    load[before[1]] += 1
                elif before[0] == "n":
                    load[here[1]] -= 1
                here = before
        return True

    # Metrics.

    def one_way(self, metric, a, b):
        t = self.topology
        way = t.route(self.places[a], self.places[b])
        check(way is not None, "the oracle's own topology has no way from", self.places[a], "to", self.places[b])
        return t.latency(way) if metric == "latency" else len(way) if metric == "distance" else 1 / t.rate(way)

    def table(self, metric):
        n = len(self.places)
        table = [[0.0] * n for _ in range(n)]
        for a in range(n):
            for b in range(n):
                if a != b:
                    table[a][b] = (self.one_way(metric, a, b) + self.one_way(metric, b, a)) / 2
        return table

    def known(self, metric):
        return metric not in SUMS or any(any(row) for row in self.tables[metric])

    def weights(self, metric):
        """Of pairs: what counts on devices, and between nodes."""
        made = {}
        known = all((flow[2] or not flow[0]) and (flow[3] or not flow[1]) for flow in self.traffic.flows.values())
        for pair, flow in self.traffic.flows.items():
            device, host = flow[0], flow[1]
            if metric == "latency" and known:
                device, host = flow[2], flow[3]
            made[pair] = (device, host)
        return made

    def sum_of(self, metric, place):
        total = 0
        for (a, b), (device, host) in self.weights(metric).items():
            x, y = place[a], place[b]
            total += (device + (host if self.node[x] != self.node[y] else 0)) * self.tables[metric][x][y]
        return total

    def hops(self, x, y):
        """Of a pair of places: the links of device traffic, and of host traffic."""
        if (x, y) not in self.hop_table:
            t = self.topology
            device = t.route(self.places[x], self.places[y]) if x != y else ()
            host = t.route(self.host[x], self.host[y]) if self.host[x] and self.host[y] and self.host[x] != self.host[y] else ()
            self.hop_table[x, y] = (device, host)
        return self.hop_table[x, y]

    hop_table = None

    def loads(self, place):
        if self.hop_table is None:
            self.hop_table = {}
        loads = {}
        for (a, b), flow in self.traffic.flows.items():
            for way, size in zip(self.hops(place[a], place[b]), flow):
                for link in way if size else ():
                    loads[link] = loads.get(link, 0) + size
        return {(i, d): size / self.topology.links[i]["capacity_Bps"][d] for (i, d), size in loads.items()}

    def exchange(self, place):
        devices, hosts = [self.places[p] for p in place], [self.host[p] for p in place]
        if self.form != "schedule":
            return self.traffic.schedule(devices, hosts)
        lines = []
        for name, a, b, memory, size, after in self.copies:
            where = hosts if memory else devices
            lines.append("%s: %d@%s -> %d@%s %d%s" % (name, a, where[a], b, where[b], size, " after " + after if after else ""))
        return "\n".join(lines) + "\n"

    def predicted(self, place):
        if not self.traffic.flows:
            return 0
        path = self.file("exchange.hop")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.exchange(place))
        return json.loads(call(["predict", path, "--on", self.topology.path, "--json"]).stdout)["makespan_s"]

    # All assignments.

    def assignments(self):
        place, made = [], []
        def go():
            if len(place) == self.ranks:
                made.append(list(place))
                return len(made) <= MOST_ASSIGNMENTS
            for p in sorted(self.allowed[len(place)]):
                if place.count(p) < self.room[p] and sum(self.node[q] == self.node[p] for q in place) < self.node_room[self.node[p]]:
                    place.append(p)
                    fine = go()
                    place.pop()
                    if not fine:
                        return False
            return True
        return made if go() else None

    def least_sum(self, metric):
        weights, table, node = self.weights(metric), self.tables[metric], self.node
        pairs = [[(a + b - r, w) for (a, b), w in weights.items() if max(a, b) == r] for r in range(self.ranks)]
        def add(r, p, place, value):
            for other, (device, host) in pairs[r]:
                q = place[other]
                value += (device + (host if node[q] != node[p] else 0)) * table[q][p]
            return value
        return self.least(add, 0.0)

    def least_congestion(self):
        if self.hop_table is None:
            self.hop_table = {}
        flows, links = self.traffic.flows, self.topology.links
        pairs = [[(a, b, f) for (a, b), f in flows.items() if max(a, b) == r] for r in range(self.ranks)]
        def add(r, p, place, loads):
            loads = dict(loads)
            for a, b, flow in pairs[r]:
                x, y = p if a == r else place[a], p if b == r else place[b]
                for way, size in zip(self.hops(x, y), flow):
                    for i, d in way if size else ():
                        loads[i, d] = loads.get((i, d), 0) + size / links[i]["capacity_Bps"][d]
            return loads
        return self.least(add, {}, lambda loads: max(loads.values(), default=0))

    def least(self, add, nothing, value_of=lambda value: value):
        """Depth first through all assignments but those that already cost more; None: too many."""
        place, load, node_load = [], [0] * len(self.places), [0] * len(self.node_room)
        best, steps = [float("inf")], [0]
        def go(value):
            r = len(place)
            if r == self.ranks:
                best[0] = min(best[0], value_of(value))
                return
            for p in self.allowed[r]:
                n = self.node[p]
                if load[p] == self.room[p] or node_load[n] == self.node_room[n] or steps[0] > MOST_STEPS:
                    continue
                steps[0] += 1
                more = add(r, p, place, value)
                if value_of(more) >= best[0]:
                    continue
                place.append(p)
                load[p] += 1
                node_load[n] += 1
                go(more)
                place.pop()
                load[p] -= 1
                node_load[n] -= 1
        go(nothing)
        return best[0] if steps[0] <= MOST_STEPS else None

    def least_simulated(self):
        places = self.assignments() if self.traffic.flows else None
        if not places:
            return None
        arguments = []
        for place in places:
            arguments += ["-e", self.exchange(place).strip().replace("\n", "; ")]
        if sum(len(a) + 9 for a in arguments) > 1500000:
            return None
        rows = csv.DictReader(call(["sweep"] + arguments + ["--on", self.topology.path]).stdout.splitlines())
        return min(float(row["makespan_s"]) for row in rows)

    # Asking.

    def write_traffic(self, traffic, name):
        path = self.file(name)
        if self.form == "profile":
            traffic.write_profile(path + ".csv", self.rng)
            return [path + ".csv"]
        if self.form == "schedule":
            with open(path + ".hop", "w", encoding="utf-8") as file:
                for name, a, b, memory, size, after in self.copies:
                    suffix = ".host" if memory else ""
                    file.write("%s: %d@rank%d%s -> %d@rank%d%s %d%s\n" % (name, a, a, suffix, b, b, suffix, size, " after " + after if after else ""))
            return [path + ".hop"]
        market = ".mtx" if self.form == "market" else ".csv"
        traffic.write_matrix(path + market, 0, self.form == "market")
        if self.form != "two":
            return [path + market]
        traffic.write_matrix(path + "-host" + market, 1, False)
        return [path + market, "--host", path + "-host" + market]

    def settle_form(self):
        """What a form cannot say is taken out of the traffic."""
        flows = self.traffic.flows
        if self.form == "schedule" and not (flows and any(self.ranks - 1 in pair for pair in flows)):
            self.form = "profile"
        if self.form in ("matrix", "market"):
            for flow in flows.values():
                flow[1] = 0
        if self.form in ("matrix", "market", "two"):
            for flow in flows.values():
                flow[2] = flow[3] = 0
        if self.form == "schedule":
            self.copies = []
            for (a, b), flow in sorted(flows.items(), key=lambda item: self.rng.random()):
                for memory in (0, 1):
                    if flow[memory]:
                        after = self.rng.choice(self.copies)[0] if self.copies and self.rng.random() < 0.3 else None
                        self.copies.append(("c%d" % len(self.copies), a, b, memory, flow[memory], after))
                        flow[2 + memory] = 1
                    else:
                        flow[2 + memory] = 0
        for pair in [pair for pair in flows if not any(flows[pair][:2])]:
            del flows[pair]

    def options(self):
        made = ["--on", self.topology.path, "--metric", self.metric, "--solver", self.solver, "--max-operations", "40000"]
        made += ["--ranks-per-device", str(self.each)] if self.each > 1 else []
        made += ["--ranks-per-node", str(self.per_node)] if self.per_node else []
        made += ["--exclude", ",".join(self.excluded)] if self.excluded else []
        self.keep_texts = []
        for who, where in self.keep:
            ranks = ",".join(map(str, who))
            if len(who) > 1 and who == list(range(who[0], who[-1] + 1)):
                ranks = "%d-%d" % (who[0], who[-1])
            self.keep_texts.append(ranks + "=" + ",".join(where))
            made += ["--keep", self.keep_texts[-1]]
        made += ["--cores", "package:%d core:%d pu:1" % self.cores] if self.cores else []
        made += ["--phase", ",".join(self.phases)] if self.phases else []
        made += [] if self.simulates else ["--no-simulation"]
        if self.start == "file":
            with open(self.file("start.map"), "w", encoding="utf-8") as file:
                for r, p in enumerate(self.start_places):
                    file.write("%d %s\n" % (r, self.places[p]))
            made += ["--start", self.file("start.map")]
        elif self.start:
            made += ["--start", self.start]
        return made

    def ask(self, traffic, statuses=(0, 2)):
        self.command = ["map"] + traffic + self.options() + ["--json", "-o", self.file("out.map")]
        return call(self.command, statuses)

    def packed(self):
        place = []
        for i in range(len(self.node_room)):
            left = self.node_room[i]
            for p in [p for p in range(len(self.places)) if self.node[p] == i]:
                take = min(self.room[p], left, self.ranks - len(place))
                place += [p] * take
                left -= take
        return place

    def run(self):
        self.prepare()
        self.settle_form()
        if self.topology.links:
            self.check_routes()
        if os.path.exists(self.file("out.map")):
            os.unlink(self.file("out.map"))
        done = self.ask(self.write_traffic(self.traffic, "traffic"))
        if done.returncode == 2:
            return self.check_refusal(done)
        check(self.feasible(), "a mapping is given where none can hold")
        answer = json.loads(done.stdout)
        place, before = self.check_seats(answer)
        self.check_cores(answer)
        self.check_scores(answer, place, before)
        self.check_claims(answer, place, before)
        self.check_relatives(answer)
        return "proved" if answer["proved"] else "mapped"

    # Checking.

    def check_routes(self):
        t = self.topology
        for _ in range(2):
            a, b = self.rng.choice(self.places), self.rng.choice(self.places)
            if a != b:
                way, told = t.told(a, b)
                check(way == t.route(a, b), "the way from", a, "to", b, "is", told)
                check(near(told["capacity_Bps"], t.capacity(way)), "its capacity", told)
                check(near(told["latency_s"], t.latency(way)), "its latency", told)
                ceiling = told["ceiling_Bps"]
                check((float("inf") if ceiling is None else ceiling) == t.ceiling(way), "its ceiling", told, t.ceiling(way))

    def check_refusal(self, done):
        said = done.stderr
        check(done.stdout == "" and not os.path.exists(self.file("out.map")), "nothing is written where it is refused")
        check("expected" in said, "a refusal says what was expected:", said)
        most = 16 if self.metric == "congestion" else 12
        if self.solver == "exact" and (len(self.node_names) > 1 or self.ranks > most or len(self.places) > most):
            return "refused: exact"
        many = re.search(r"(\S+) placements of \d+ ranks, (\d+) operations each, are too many", said)
        if self.solver == "exact" and self.metric == "simulated" and many:
            check(float(many.group(1)) * int(many.group(2)) > 2e8, "no more than the guide says can be tried:", said)
            return "refused: exact"
        if not self.feasible():
            if sum(self.node_room) >= self.ranks and "no " not in said:
                check(any(text in said for text in self.keep_texts), "a restriction that cannot hold is named:", said)
            return "refused: restrictions"
        if self.start_known() is not None and not self.fits(self.start_known()) and self.phases and not {"nodes", "devices"} <= set(self.phases):
            check("start" in said, "a start that cannot stay:", said)
            return "refused: start"
        if self.start and self.start != "file" and self.phases and not {"nodes", "devices"} <= set(self.phases) and "start" in said:
            return "refused: start"
        if self.solver == "scotch" and "no SCOTCH" in said:
            return "refused: no SCOTCH"
        raise Mismatch("refused, though it can hold: " + said)

    def start_known(self):
        """Packed, where that keeps to the restrictions; else only that it does is known."""
        if self.start is None:
            return self.packed() if self.fits(self.packed()) else None
        return self.start_places if self.start == "file" else None

    def check_seats(self, answer):
        rows = answer["ranks"]
        check([row["rank"] for row in rows] == list(range(self.ranks)), "every rank once, in order")
        place = [self.places.index(row["device"]) for row in rows]
        before = [self.places.index(row["before"]) for row in rows]
        check(self.fits(place), "rooms and restrictions hold:", [self.places[p] for p in place])
        seen = [0] * len(self.node_names)
        for row, p in zip(rows, place):
            n = self.node[p]
            check(row["node"] == self.node_names[n], "the node of", row)
            check(row["local_rank"] == seen[n], "the local rank of", row)
            check(row.get("local_device") == (self.local[self.places[p]] if self.gpus else None), "the local device of", row)
            seen[n] += 1
        nodes = [(n["name"], n["devices"], n["ranks"]) for n in answer["nodes"]]
        expected = [(name, sum(1 for p in range(len(self.places)) if self.node[p] == i and self.room[p]), seen[i])
                    for i, name in enumerate(self.node_names)]
        check(nodes == expected, "nodes", nodes, expected)
        with open(self.file("out.map"), encoding="utf-8") as file:
            lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
        check([line[:2] for line in lines] == [[str(r), self.places[p]] for r, p in enumerate(place)], "the placement file", lines)
        for line, p in zip(lines, place):  # what more it says of a rank's place
            said = dict(word.split("=", 1) for word in line[2:])
            check(set(said) <= {"bus", "nic", "cpu"}, "the words of the placement file", line)
            check(said.get("bus") == self.bus_of.get(self.places[p]), "the bus of the placement file", line)
        known = self.start_known()
        check(known is None or before == known, "the start", before, known)
        check(self.start is not None or self.fits(before), "the implicit start keeps to restrictions", before)
        if self.start not in (None, "file"):
            self.check_rooms(before)
        check(answer["device_bytes"] == sum(f[0] for f in self.traffic.flows.values()), "device bytes")
        check(answer["host_bytes"] == sum(f[1] for f in self.traffic.flows.values()), "host bytes")
        if self.start == "cyclic":
            self.check_cyclic(before)
        if self.phases and self.fits(before):
            if not {"nodes", "refine"} & set(self.phases):
                check([self.node[p] for p in place] == [self.node[p] for p in before], "without phase nodes ranks stay on their nodes")
            if not {"nodes", "refine", "devices"} & set(self.phases):
                check(place == before, "without phases for devices ranks stay on them")
        return place, before

    def check_rooms(self, before):
        """A start that is made goes by rooms and exclusions, not by what is kept."""
        check(all(before.count(p) <= self.room[p] for p in set(before)), "rooms of devices at the start", before)
        nodes = [self.node[p] for p in before]
        check(all(nodes.count(n) <= self.node_room[n] for n in set(nodes)), "rooms of nodes at the start", before)

    def check_cyclic(self, before):
        expected, k = [], 0
        while len(expected) < self.ranks:
            for i in range(len(self.node_names)):
                mine = [p for p in range(len(self.places)) if self.node[p] == i for _ in range(self.room[p])]
                expected += mine[:self.node_room[i]][k:k + 1]
            k += 1
        check(before == expected[:self.ranks], "the cyclic start", before, expected)

    def check_cores(self, answer):
        taken, load = {}, {}
        for row in answer["ranks"]:
            load[row["node"]] = load.get(row["node"], 0) + 1
        for row in answer["ranks"]:
            if not self.cores or self.phases:
                check("core" not in row, "no core is told:", row)
                continue
            packages, each = self.cores
            check(0 <= row["core"] < packages * each, "the core of", row)
            check((row["package"], row["core_in_package"], row["processor"]) == (row["core"] // each, row["core"] % each, row["core"]),
                  "the numbers of the core of", row)
            key = row["node"], row["core"]
            taken[key] = taken.get(key, 0) + 1
            check(taken[key] <= -(-load[row["node"]] // (packages * each)), "too many ranks on a core:", row)
        if self.cores and not self.phases and self.cores[0] == 2 and self.ranks <= 8:
            self.check_packages(answer)

    def check_packages(self, answer):
        """Host traffic between packages is the least that there is: every way to halve a node's ranks is tried."""
        each = self.cores[1]
        for name in self.node_names:
            ranks = [row["rank"] for row in answer["ranks"] if row["node"] == name]
            package = {row["rank"]: row.get("package") for row in answer["ranks"]}
            flows = [(a, b, f[1]) for (a, b), f in self.traffic.flows.items() if a in ranks and b in ranks and f[1]]
            cut = sum(size for a, b, size in flows if package[a] != package[b])
            least = None
            for side in range(1 << len(ranks)):
                of = {r: side >> i & 1 for i, r in enumerate(ranks)}
                if max(sum(of.values()), len(ranks) - sum(of.values())) <= each:
                    value = sum(size for a, b, size in flows if of[a] != of[b])
                    least = value if least is None or value < least else least
            check(cut <= least or self.solver not in ("auto", "exact"), "host traffic between packages of", name, cut, "least", least)

    def check_scores(self, answer, place, before):
        for when, where in (("before", before), ("after", place)):
            told = answer[when]
            for metric in SUMS:
                value = self.sum_of(metric, where)
                if told[metric] is None:
                    check(not self.known(metric), metric, when, "is not told")
                else:
                    check(near(told[metric], value), metric, when, "told", told[metric], "is", value)
            loads = self.loads(where)
            check(near(told["congestion"], max(loads.values(), default=0)), "congestion", when, told["congestion"], max(loads.values(), default=0))
            links = {(l["from"], l["to"], l["kind"]): l[when + "_s"] for l in answer["links"]}
            for (i, d), load in loads.items():
                l = self.topology.links[i]
                key = (l["from"], l["to"]) if d == 0 else (l["to"], l["from"])
                check(near(links.pop(key + (l["kind"],), -1), load), "the load of", key, when, "is", load)
            check(all(load == 0 for load in links.values()), "links that carry nothing", when, links)
            if self.simulates:
                check(near(told["simulated"], self.predicted(where)), "simulated", when, told["simulated"], self.predicted(where))
            else:
                check(told["simulated"] is None, "nothing is simulated", when)
        check(len(answer["links"]) == len(set(self.loads(place)) | set(self.loads(before))), "links that carry something")

    def check_claims(self, answer, place, before):
        metric = answer["metric"]
        check(metric == self.metric or (metric, self.metric) == ("distance", "latency") and not self.known("latency"), "the metric", metric)
        value, first = answer["after"][metric], answer["before"][metric]
        check(answer["complete"], "nobody stopped it")
        check(near(answer["gain"], first / value if value > 0 and first > 0 else 1) or value == 0, "gain", answer["gain"], first, value)
        whole = not self.phases or {"nodes", "devices", "refine"} <= set(self.phases)
        if self.fits(before):
            check(value <= first * (1 + 1e-9), "worse than the start", value, first)
            if value >= first * (1 - 1e-9) and not self.loads_gain(metric, place, before):
                check(place == before, "as good as the start, and ranks have moved", place, before)
        if answer["bound"] is not None:
            check(answer["bound"] <= value * (1 + 1e-9), "bound", answer["bound"], "above the value", value)
        check(not answer["proved"] or value == 0 or answer["bound"] is not None and near(answer["bound"], value), "proved without a bound", answer["bound"], value)
        if self.solver == "exact" and whole and metric != "simulated":
            check(answer["proved"], "exact without a proof")
        if self.ranks > 7 or metric == "simulated" and not answer["proved"]:
            return
        least = self.least_simulated() if metric == "simulated" else self.least_congestion() if metric == "congestion" else self.least_sum(metric)
        if least is None:
            return
        check(value >= least * (1 - 1e-9), "better than all assignments", value, least)
        check((answer["bound"] or 0) <= least * (1 + 1e-9), "bound", answer["bound"], "above the least of all", least)
        check(not answer["proved"] or near(value, least), "proved", value, "but the least of all is", least)
        if self.solver == "auto" and whole and least > 0:
            gaps.setdefault(metric, []).append((value / least, self.number))

    def loads_gain(self, metric, place, before):
        """By a sum, of equal placements that with less full links is taken."""
        after, first = self.loads(place), self.loads(before)
        return metric in SUMS and (max(after.values(), default=0) < max(first.values(), default=0) * (1 - 1e-9) or
                                   sum(x * x for x in after.values()) < sum(x * x for x in first.values()) * (1 - 1e-9))

    def check_relatives(self, answer):
        """The same again; and what must change in a known way when the input does."""
        rng, metric = self.rng, answer["metric"]
        which = rng.randrange(5)
        if which == 0:
            again = json.loads(self.ask(self.write_traffic(self.traffic, "traffic"), (0,)).stdout)
            again["elapsed_s"] = answer["elapsed_s"]
            check(again == answer, "another answer the second time")
            return
        if answer["proved"] and which == 1:
            command = list(self.command)
            command[command.index("--solver") + 1] = "exchange"
            other = json.loads(call(command).stdout)
            check(other["after"][metric] >= answer["after"][metric] * (1 - 1e-9), "a better one than the proved one is found", other["after"][metric])
        if not answer["proved"] or metric == "simulated" or self.form == "schedule":
            return
        kept, kept_traffic, kept_keep, factor = self.topology, self.traffic, self.keep, None
        told_start, self.start = self.start, None
        if which == 1:
            new = list(range(self.ranks))
            rng.shuffle(new)
            self.traffic, factor = self.traffic.relabelled(new), 1
            self.keep = [(sorted(new[r] for r in who), where) for who, where in self.keep]
        elif which == 2 and metric != "latency":
            self.traffic, factor = self.traffic.scaled(2), 2
        elif which in (3, 4) and metric == "congestion" and not self.topology.rows and len(self.topology.links):
            wider = rng.choice(self.topology.links) # ways may change only where several are as short
            if sum(k == "nic" for k in self.topology.kind.values()) <= len(self.node_names):
                wider["capacity_Bps"] = [2 * c for c in wider["capacity_Bps"]]
                self.topology.write(self.file("wider.json"))
                factor = 0
        if factor is not None:
            done = self.ask(self.write_traffic(self.traffic, "changed"), (0,))
            other = json.loads(done.stdout)
            value, was = other["after"][metric], answer["after"][metric]
            if other["proved"] and factor:
                check(near(value, factor * was), ["", "relabelled", "doubled"][which], value, "was", was)
            elif other["proved"]:
                check(value <= was * (1 + 1e-9), "more capacity, more congestion", value, "was", was)
        self.topology, self.traffic, self.keep, self.start = kept, kept_traffic, kept_keep, told_start


def main():
    failures, counts = 0, {}
    for number in range(FIRST, FIRST + CASES):
        folder = tempfile.mkdtemp(prefix="map_oracle_%d_" % number)
        case = None
        try:
            case = Case(number, folder)
            what = case.run()
            counts[what] = counts.get(what, 0) + 1
            shutil.rmtree(folder)
        except Mismatch as error:
            failures += 1
            print("FAIL case %d: %s\n  files: %s" % (number, error, folder))
            if case and hasattr(case, "command"):
                print("  hopcast " + " ".join("'%s'" % a if " " in a else a for a in case.command), flush=True)
    print(", ".join("%s %d" % item for item in sorted(counts.items())))
    for metric, all_of in sorted(gaps.items()):
        print("%s: %d of %d answers of solver auto are the best, the worst %.3f times that (case %d)" %
              ((metric, sum(gap < 1 + 1e-9 for gap, _ in all_of), len(all_of)) + max(all_of)))
    print("%d failures in %d cases" % (failures, CASES))
    return 1 if failures else 0


sys.exit(main())
