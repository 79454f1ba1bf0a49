#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""
hopcast against InfiniBand's own management tools on a simulated fabric.

A fat tree is described to ibsim, OpenSM gives it LIDs and forwarding tables (three routing engines), ibnetdiscover and
dump_lfts (or ibroute, switch by switch) print it, and hopcast reads what they print. Its counts must be those of the
tree, and its ways those that ibtracert finds hop by hop in the switches' tables.

    ibsim.py HOPCAST [KEEP]      KEEP: a folder that the captures are copied to

Exit 77 (skipped) without root, ibsim, opensm or infiniband-diags.
"""
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOOLS = ["ibsim", "opensm", "ibnetdiscover", "ibroute", "ibtracert"]
LEAVES, SPINES, HOSTS = 4, 3, 5  # hosts of a leaf
CABLES = 2                       # between a leaf and a spine, in the tree of the last engine
PAIRS = 20                       # ways that are compared, for each engine


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def network(cables):
    """The tree in ibsim's language. Port numbers of leaves: hosts, then spines."""
    text = []
    for spine in range(SPINES):
        text.append(f'Switch {LEAVES * cables} "spine{spine}"')
        for leaf in range(LEAVES):
            for c in range(cables):
                text.append(f'[{leaf * cables + c + 1}] "leaf{leaf}"[{HOSTS + spine * cables + c + 1}]')
        text.append("")
    for leaf in range(LEAVES):
        text.append(f'Switch {HOSTS + SPINES * cables} "leaf{leaf}"')
        for host in range(HOSTS):
            text.append(f'[{host + 1}] "node{leaf * HOSTS + host:02d}"[1]')
        for spine in range(SPINES):
            for c in range(cables):
                text.append(f'[{HOSTS + spine * cables + c + 1}] "spine{spine}"[{leaf * cables + c + 1}]')
        text.append("")
    for node in range(LEAVES * HOSTS):
        text += [f'Hca 1 "node{node:02d}"', f'[1] "leaf{node // HOSTS}"[{node % HOSTS + 1}]', ""]
    return "\n".join(text) + "\n"


class Fabric:
    """ibsim with OpenSM's work done, in a folder of its own."""

    def __init__(self, preload, folder, name, cables, engine):
        self.folder, self.name = folder, name
        net = os.path.join(folder, name + ".sim")
        with open(net, "w", encoding="ascii") as out:
            out.write(network(cables))
        self.environment = dict(os.environ, IBSIM_SOCKNAME=f"hopcast-{os.getpid()}-{name}", OSM_TMP_DIR=folder, OSM_CACHE_DIR=folder,
                                LC_ALL="C")
        self.process = subprocess.Popen(["ibsim", "-s", "-n", net], cwd=folder, env=self.environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.environment["LD_PRELOAD"] = preload
        self.environment["SIM_HOST"] = "node00"  # where the tools run; up/down reaches every switch from a host only
        self.await_server()
        log = self.run("opensm", "-o", "-e", "-R", engine, "-f", os.path.join(folder, name + ".log"))
        if "Entering MASTER" not in log:
            self.close()
            skip("opensm found no subnet: " + log[-300:])

    def await_server(self):
        """Until it listens, on sockets with names of their own, or has ended: then nothing will be found."""
        while self.process.poll() is None:
            with open("/proc/net/unix", encoding="utf-8") as file:
                if self.environment["IBSIM_SOCKNAME"] in file.read():
                    return
            time.sleep(0.02)

    def run(self, *command):
        done = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, timeout=120,
                              encoding="utf-8", errors="replace", check=False)
        return done.stdout

    def write(self, suffix, text):
        path = os.path.join(self.folder, self.name + suffix)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def lids(net):
    """LID by host, read apart from hopcast."""
    found = {}
    name = None
    for line in net.splitlines():
        node = re.match(r'Ca\s+\d+ "[^"]*"\s+# "([^"]*)"', line)
        if node:
            name = node.group(1)
        elif name and line.startswith("["):
            found[name] = int(re.search(r"# lid (\d+)", line).group(1))
        elif not line.startswith("["):
            name = None
    return found


def traced(fabric, source, target):
    """The nodes on the way, as ibtracert prints them."""
    text = fabric.run("ibtracert", str(source), str(target))
    nodes = re.findall(r'^From ca .*"([^"]*)"$|^\[\d+\] -> .*"([^"]*)"$', text, re.M)
    return [a or b for a, b in nodes]


def hopcast(*arguments):
    return subprocess.run([HOPCAST, "topology", *arguments], capture_output=True, encoding="utf-8", check=False)


def check(fabric, engine, cables, by_switch, draw):
    net = fabric.run("ibnetdiscover")
    lid_of = lids(net)
    if by_switch:  # ibroute, one switch after the other
        switches = re.findall(r'^Switch\s+\d+ "[^"]*"\s+# "[^"]*" base port 0 lid (\d+)', net, re.M)
        tables = "".join(fabric.run("ibroute", lid) for lid in switches)
    else:
        tables = fabric.run("dump_lfts")
    net_file, table_file = fabric.write("-net.txt", net), fabric.write(".lfts", tables)
    both = fabric.write("-both.txt", net + tables)

    shown = hopcast(net_file, "--routes", table_file, "--json")
    assert shown.returncode == 0, shown.stderr
    topology = json.loads(shown.stdout)
    count = lambda kind: sum(node["kind"] == kind for node in topology["nodes"])
    assert count("nic") == LEAVES * HOSTS, shown.stdout
    assert count("fabric") == LEAVES + SPINES, shown.stdout
    assert len(topology["links"]) == LEAVES * (HOSTS + SPINES), shown.stdout
    assert sum(link.get("count", 1) for link in topology["links"]) == LEAVES * (HOSTS + SPINES * cables), shown.stdout
    same = hopcast(both, "--json")
    assert same.returncode == 0, same.stderr
    assert json.loads(same.stdout) == dict(topology, name=os.path.basename(both)), "one file and two differ"

    differ = 0
    for _ in range(PAIRS):
        source, target = draw.sample(sorted(lid_of), 2)
        expected = traced(fabric, lid_of[source], lid_of[target])
        assert expected[0] == source and expected[-1] == target, expected
        way = hopcast(both, "--route", source, target, "--json")
        assert way.returncode == 0, way.stderr
        links = json.loads(way.stdout)["links"]
        assert [link["from"] for link in links] + [links[-1]["to"]] == expected, (engine, expected, links)
        computed = hopcast(net_file, "--route", source, target, "--json")
        assert computed.returncode == 0, computed.stderr
        differ += json.loads(computed.stdout)["links"] != links
    print(f"{engine}, {cables} cable(s), {'ibroute' if by_switch else 'dump_lfts'}: {PAIRS} ways as ibtracert finds them, "
          f"{differ} of them not the ones that hopcast computes without tables")


def main():
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    preload = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so") + glob.glob("/usr/lib*/umad2sim/libumad2sim.so")
    if missing or not preload:
        skip("not installed: " + " ".join(missing or ["libumad2sim"]))
    if os.geteuid() != 0:
        skip("the simulator needs root")
    draw = random.Random(20)
    for number, (engine, cables) in enumerate([("minhop", 1), ("updn", 1), ("ftree", CABLES)]):
        with tempfile.TemporaryDirectory(prefix="hopcast-ibsim-") as folder:
            fabric = Fabric(preload[0], folder, "fat-tree-" + engine, cables, engine)
            try:
                by_switch = number == 1 or not shutil.which("dump_lfts")
                check(fabric, engine, cables, by_switch, draw)
                if len(sys.argv) > 2:
                    for path in glob.glob(os.path.join(folder, "*-net.txt")) + glob.glob(os.path.join(folder, "*.lfts")):
                        shutil.copy(path, sys.argv[2])
            finally:
                fabric.close()


if __name__ == "__main__":
    HOPCAST = os.path.abspath(sys.argv[1])
    main()
