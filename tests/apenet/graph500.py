#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Searches of examples/torus on a graph of the Graph500 reference's own generator, validated by the specification's rules:
graph500.py BUILD FOLDER [SCALE [RANKS]]

FOLDER has graph500_reference_bfs, as it was built, which writes the edges (TMPFILE) and says how many edges its searches reach.
bfs_apenet and bfs_shmem search the graph from 64 roots with RANKS ranks. Each tree that they find must span what its root
reaches, along edges of the graph from one level to the next, and reach as many edges; with one fault it must not pass."""
import array
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOTS = 64


def draw(work):
    """The edges, a list of ends, and the edges that most of the reference's searches reach."""
    path = os.path.join(work, "packed")
    mpirun = shutil.which("mpirun.openmpi")
    start = [mpirun, "--allow-run-as-root", "-n", "1"] if mpirun else []
    done = subprocess.run([*start, os.path.join(folder, "graph500_reference_bfs"), str(scale)], capture_output=True, text=True,
                          env=dict(os.environ, TMPFILE=path, REUSEFILE="1"))
    reached = re.search(r"median_nedge:\s+(\S+)", done.stdout)
    if not reached:
        sys.exit(f"graph500_reference_bfs: {done.returncode}: {done.stdout}{done.stderr}")
    with open(path, "rb") as file:  # 48 bits an end: the low halves, and then both high ones
        edges = [(a | (high & 0xffff) << 32, b | high >> 16 << 32) for a, b, high in struct.iter_unpack("=III", file.read())]
    return edges, int(float(reached.group(1)))


def search(interface, work, edges, roots):
    """The parents that it finds, for each root."""
    parents, paths = os.path.join(work, interface), [os.path.join(work, name) for name in ("edges", "roots")]
    for path, code, values in zip(paths, "Iq", ([end for edge in edges for end in edge], roots)):
        with open(path, "wb") as file:
            array.array(code, values).tofile(file)
    done = subprocess.run([os.path.join(build, "hopcast"), "launch", "-n", ranks, os.path.join(build, "tests", f"bfs_{interface}"),
                           "--scale", str(scale), "--roots", str(len(roots)), "--edges", paths[0], "--from", paths[1], "--to", parents],
                          capture_output=True, text=True)
    print(done.stdout + done.stderr, end="")
    found = array.array("q")
    with open(parents, "rb") as file:
        found.frombytes(file.read())
    rows = [found[at:at + (1 << scale) + 1] for at in range(0, len(found), (1 << scale) + 1)]
    if done.returncode != 0 or [row[0] for row in rows] != roots:
        sys.exit(f"bfs_{interface} did not search from all roots")
    return [row[1:] for row in rows]


def fault(root, parents, edges, pairs):
    """What is wrong with a tree, "" if nothing; and how many edges it reaches, loops apart."""
    level = [-1] * len(parents)
    if parents[root] != root:
        return "the root is not its own parent", 0
    level[root] = 0
    for vertex in range(len(parents)):
        way = []
        while parents[vertex] >= 0 and level[vertex] < 0 and len(way) <= len(parents):
            way.append(vertex)
            vertex = parents[vertex]
        if level[vertex] < 0 and way:
            return f"vertex {way[0]} does not come from the root", 0
        for below in reversed(way):
            if (min(below, parents[below]), max(below, parents[below])) not in pairs:
                return f"vertex {below} and its parent have no edge", 0
            level[below] = level[parents[below]] + 1
    for a, b in edges:
        if (level[a] < 0) != (level[b] < 0) or abs(level[a] - level[b]) > 1:
            return f"edge {a}, {b} leads from level {level[a]} to {level[b]}", 0
    return "", sum(level[a] >= 0 and a != b for a, b in edges)


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        edges, most_reach = draw(work)
        pairs = {(min(edge), max(edge)) for edge in edges}
        ends = sorted({end for edge in edges if edge[0] != edge[1] for end in edge})
        roots = random.Random(scale).sample(ends, ROOTS)
        for interface in ("apenet", "shmem"):
            trees = search(interface, work, edges, roots)
            judged = [fault(root, tree, edges, pairs) for root, tree in zip(roots, trees)]
            wrong = [said for said, _ in judged if said]
            reach = sorted(count for _, count in judged)[ROOTS // 2]
            failures += bool(wrong) or reach != most_reach
            print(f"{interface}: {len(wrong)} of {ROOTS} trees are wrong {wrong[:1]}; they reach {reach} edges, the reference {most_reach}")
            # One vertex that is its own parent, and one that another level's vertex is the parent of.
            root, tree = roots[-1], trees[-1]
            leaf = max(v for v in range(len(tree)) if tree[v] >= 0 and v != root)
            for parent in (leaf, next(v for v in range(len(tree)) if tree[v] >= 0 and (min(v, leaf), max(v, leaf)) not in pairs)):
                spoilt = tree[:leaf] + array.array("q", [parent]) + tree[leaf + 1:]
                failures += not fault(root, spoilt, edges, pairs)[0]
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    build, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    scale = int(sys.argv[3]) if len(sys.argv) > 3 else 14
    ranks = sys.argv[4] if len(sys.argv) > 4 else "4"
    sys.exit(main())
