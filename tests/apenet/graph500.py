#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Searches of examples/torus on graphs of the Graph500 reference's own generator, validated by its own validator:
graph500.py BUILD CHECKOUT [SCALE [RANKS]]

CHECKOUT is of github.com/graph500/graph500; nothing is written there. Its program is built with graph500.c in place of its
search, writes edges and 64 roots, and validates the parents that bfs_apenet and bfs_shmem find with RANKS ranks. Parents
with one fault must not pass."""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOTS = 64


def build(work):
    sources = ["src/main.c", "src/utils.c", "src/validate.c", "src/csr_reference.c", "aml/aml.c"] + \
        [f"generator/{name}.c" for name in ("graph_generator", "make_graph", "splittable_mrg", "utils")]
    program = os.path.join(work, "reference")
    subprocess.run([shutil.which("mpicc.openmpi") or "mpicc", "-O2", "-w", "-fcommon", "-fgnu89-inline", "-Drestrict=__restrict__",
                    "-DGRAPH_GENERATOR_MPI", "-DREUSE_CSR_FOR_VALIDATION", f"-I{checkout}/src", f"-I{checkout}/aml",
                    os.path.join(os.path.dirname(os.path.abspath(__file__)), "graph500.c"),
                    *[os.path.join(checkout, name) for name in sources], "-o", program, "-lm", "-lpthread"], check=True)
    return program


def reference(program, **environment):
    """What it prints, and whether it found all valid."""
    done = subprocess.run(["mpirun.openmpi", "--allow-run-as-root", "-n", "1", program, str(scale)], capture_output=True,
                          text=True, env=dict(os.environ, **environment))
    said = done.stdout + done.stderr
    return said, done.returncode == 0 and "Validation" not in said and f"NBFS:                           {ROOTS}" in said


def search(interface, work, edges, roots):
    parents = os.path.join(work, interface)
    program = os.path.join(folder, "tests", f"bfs_{interface}")
    done = subprocess.run([os.path.join(folder, "hopcast"), "launch", "-n", ranks, program, "--scale", str(scale), "--roots",
                           str(ROOTS), "--edges", edges, "--from", roots, "--to", parents], capture_output=True, text=True)
    print(done.stdout + done.stderr, end="")
    return parents if done.returncode == 0 else None


def spoil(parents):
    """Another parent, of the last root's last vertex that has one: the vertex itself."""
    with open(parents, "r+b") as file:
        at = ((ROOTS - 1) << scale) + ROOTS
        file.seek(8 * (at - 1))
        root, = struct.unpack("q", file.read(8))
        for vertex in reversed(range(1 << scale)):
            file.seek(8 * (at + vertex))
            if vertex != root and struct.unpack("q", file.read(8))[0] >= 0:
                file.seek(8 * (at + vertex))
                file.write(struct.pack("q", vertex))
                return


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        program = build(work)
        edges, roots = os.path.join(work, "edges"), os.path.join(work, "roots")
        reference(program, GRAPH500_EDGES=edges, GRAPH500_ROOTS=roots, SKIP_VALIDATION="1")
        with open(roots, "rb") as file:
            again = file.read()[8:]  # the first one is searched twice
        with open(roots, "wb") as file:
            file.write(again)
        for interface in ("apenet", "shmem"):
            parents = search(interface, work, edges, roots)
            said, fine = reference(program, GRAPH500_PARENTS=parents) if parents else ("", False)
            edges_of = re.search(r"mean_nedge:\s+(\S+)", said)
            print(f"{interface}: {'valid' if fine else 'NOT valid: ' + said}, mean of edges {edges_of and edges_of.group(1)}")
            failures += not fine
        if parents:
            spoil(parents)
            _, fine = reference(program, GRAPH500_PARENTS=parents)
            print(f"with one fault: {'valid, which is WRONG' if fine else 'not valid'}")
            failures += fine
    return 1 if failures else 0


if __name__ == "__main__":
    folder, checkout = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    scale = int(sys.argv[3]) if len(sys.argv) > 3 else 14
    ranks = sys.argv[4] if len(sys.argv) > 4 else "4"
    if not shutil.which("mpirun.openmpi"):
        sys.exit(77)
    sys.exit(main())
