#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""HOPCAST_MAP puts ranks onto devices, cores and NICs: mapped.py openmpi|mpich BUILD PROGRAM

Over the stand-in for the CUDA driver, whose devices and their order tests/fake_cuda/driver.c says."""
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../command"))
from under_mpi import build, check, fake_cuda, hopcast, mpi, run_parts, start, work  # noqa: E402

program, library = os.path.abspath(sys.argv[3]), os.path.join(build, "libhopcast_mpi.so")
BUSES = ["07", "0f", "47", "4e", "87", "90", "b7", "bd"]
ALL = sorted(os.sched_getaffinity(0))
os.environ.update(OMPI_MCA_hwloc_base_binding_policy="none", HOPCAST_MPI_TRAFFIC="none", HOPCAST_CUDA_LIBRARY=fake_cuda)
for name in ("HOPCAST_MPI_PATH", "HOPCAST_TOPOLOGY", "HOPCAST_MAP", "UCX_NET_DEVICES", "CUDA_VISIBLE_DEVICES"):
    os.environ.pop(name, None)


def write(name, text):
    path = os.path.join(work, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return path


def bus(gpu):
    return f"0000:{BUSES[gpu]}:00.0"


def run(ranks, words=(), **environment):
    """Its result, and what each rank said: a word's value by the word."""
    done = start("-n", str(ranks), program, *words, **{"LD_PRELOAD": library, "HOPCAST_VERBOSE": "1", **environment})
    said = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if words[0] != "rank":  # UCX, of a NIC that is none
            continue
        said[int(words[1])] = dict(zip(words[2::2], words[3::2]))
    return done, said


def machine():
    """The stand-in's eight GPUs, each two and a NIC below a switch, those without bus ids in a second file."""
    nodes, links = [], []
    for r in range(2):
        nodes += [{"name": f"root{r}", "kind": "root", "numa": r}, {"name": f"host{r}", "kind": "host", "numa": r}]
        links.append({"from": f"host{r}", "to": f"root{r}", "kind": "memory"})
    links.append({"from": "root0", "to": "root1", "kind": "socket"})
    for s in range(4):
        nodes += [{"name": f"switch{s}", "kind": "switch"}, {"name": f"nic{s}", "kind": "nic", "label": f"mlx5_{s}"}]
        links += [{"from": f"switch{s}", "to": f"root{s // 2}", "kind": "pcie", "generation": 4, "width": 16},
                  {"from": f"nic{s}", "to": f"switch{s}", "kind": "pcie", "generation": 4, "width": 16}]
    for g in range(8):
        nodes.append({"name": f"gpu{g}", "kind": "gpu", "bus_id": bus(g), "numa": g // 4})
        links.append({"from": f"gpu{g}", "to": f"switch{g // 2}", "kind": "pcie", "generation": 4, "width": 16})
    whole = write("machine.json", json.dumps({"hopcast_topology": 1, "name": "stand-in", "nodes": nodes, "links": links}))
    for node in nodes:
        node.pop("bus_id", None)
    bare = write("bare.json", json.dumps({"hopcast_topology": 1, "name": "stand-in", "nodes": nodes, "links": links}))
    return whole, bare


def profile(name, ranks, pairs, memory="device"):
    other = "host" if memory == "device" else "device"
    rows = [{"from": a, "to": b, "class": "point_to_point", memory + "_bytes": 1 << 26, other + "_bytes": 0,
             memory + "_messages": 64, other + "_messages": 0} for pair in pairs for a, b in (pair, pair[::-1])]
    return write(name, json.dumps({"hopcast_traffic": 1, "ranks": ranks, "ended": "MPI_Finalize", "mpi": "x", "seconds": 1,
                                   "elsewhere_bytes": 0, "pairs": rows, "calls": [], "sizes": [], "processes": []}))


def everywhere(gpu):
    place = bus(gpu).upper()
    return {"first": place, "old": place, "new": place, "standard": place}


def has(said, rank, wanted, what):
    own = said.get(rank, {})
    check(all(own.get(key) == value for key, value in wanted.items()), f"{what}: rank {rank} is {own}, not {wanted}")


# ---- parts ----

def from_file():
    """All threads have the device; what is hidden stays so, what the program chooses stays, before and after MPI_Init."""
    write("sys/class/infiniband/mlx5_2/ports/1/state", "1: DOWN\n")
    write("sys/class/infiniband/mlx5_2/ports/2/state", "4: ACTIVE\n")
    write("a.map", f"0 gpu3 bus={bus(3)} nic=mlx5_2 cpu={ALL[-1]}\n1 gpu0 bus={bus(0)}\n2 gpu5 bus={bus(5)} nic=mlx5_7\n"
          f"3 gpu6 bus={bus(6)} cpu={ALL[0]}\n")
    done, said = run(4, ["1:before=4", "2:chooses=1", "3:hidden=7,6"], HOPCAST_MAP="a.map", HOPCAST_SYS=work + "/sys")
    told = done.stderr
    check(done.returncode == 0, f"runs: {told}")
    has(said, 0, {**everywhere(3), "processors": str(ALL[-1]), "nic": "mlx5_2:2", "visible": "-"}, "by its bus id")
    has(said, 1, {"first": bus(5).upper(), "new": "0!", "nic": "-"}, "a context before MPI_Init")
    has(said, 2, {**everywhere(5), "first": bus(0).upper(), "nic": "-"}, "a later choice")
    has(said, 3, {**everywhere(6), "processors": str(ALL[0]), "visible": "7,6"}, "hidden devices")
    check(len(re.findall(r"^libhopcast_mpi.so: rank \d on \S+: ", told, re.M)) == 4, f"a line a rank: {told}")
    for words in ("device 0 of the 2 that it sees", "1 of 4 ranks had a context on another device before MPI_Init",
                  f"rank 2: the program chose {bus(0).upper()} itself, not {bus(5).upper()}", "mlx5_7 is none with RDMA",
                  "chose other devices than the map's itself on 1 of 4 ranks: rank 2"):
        check(words in told, f"'{words}' is said: {told}")


def of_amd():
    """Where there is no CUDA driver, by HIP's: the stand-in is that, too."""
    write("a.map", f"0 gpu3 bus={bus(3)}\n1 gpu0 bus={bus(0)}\n2 gpu5 bus={bus(5)}\n")
    done, said = run(3, ["1:before=4", "2:chooses=1"], HOPCAST_MAP="a.map", HOPCAST_CUDA_LIBRARY="/none", HOPCAST_HIP_LIBRARY=fake_cuda)
    check(done.returncode == 0, f"runs over HIP: {done.stderr}")
    has(said, 0, everywhere(3), "by its bus id over HIP")
    has(said, 1, {"first": bus(5).upper()}, "a device of HIP's before MPI_Init")
    has(said, 2, {**everywhere(5), "first": bus(0).upper()}, "a later choice over HIP")


def by_names():
    """As `hopcast map` writes it of a topology that has no bus ids."""
    whole, bare = machine()
    made = subprocess.run([hopcast, "map", profile("pair.json", 2, [(0, 1)]), "--on", bare, "--keep", "0=gpu7",
                           "--keep", "1=gpu2", "-q", "-o", os.path.join(work, "n.map")], capture_output=True, text=True)
    check(made.returncode == 0, f"map: {made.stderr}")
    done, said = run(2, HOPCAST_MAP="n.map", HOPCAST_TOPOLOGY=bare, HOPCAST_VERBOSE="0")
    has(said, 0, everywhere(7), "the eighth device")
    has(said, 1, everywhere(2), "the third device")
    check(done.returncode == 0 and not re.search("libhopcast", done.stderr), f"nothing is said: {done.stderr}")


def in_one_step():
    """The pairs that talk are below one switch, each rank on a device that it sees."""
    whole, _ = machine()
    found = {gpu: {"first": bus(gpu).upper()} for gpu in range(8)}
    talk = profile("talk.json", 4, [(0, 2), (1, 3)])
    done, said = run(4, ["1:hidden=1,0,3"], HOPCAST_MAP="auto:" + talk, HOPCAST_TOPOLOGY=whole)
    seats = {rank: next((gpu for gpu in found if said[rank]["first"] == found[gpu]["first"]), None) for rank in said}
    if check(done.returncode == 0 and len(said) == 4 and None not in seats.values(), f"auto runs: {done.stderr} {said}"):
        check(len(set(seats.values())) == 4 and seats[1] in (0, 1, 2), f"each has its own that it sees: {seats}")
        check(seats[0] // 2 == seats[2] // 2 and seats[1] // 2 == seats[3] // 2, f"pairs below a switch: {seats}")
        check("near NIC" in done.stderr or "is none with RDMA" in done.stderr, f"the NIC is said: {done.stderr}")
    host = profile("host.json", 2, [(0, 1)], "host")
    done, said = run(2, HOPCAST_MAP="auto:" + host)
    if len(ALL) == os.cpu_count() and len(ALL) > 1:
        check(not set(said[0]["processors"].split(",")) & set(said[1]["processors"].split(",")) and
              "cores only" in done.stderr, f"cores apart: {said} {done.stderr}")


def some_ask():
    """Rank 0's environment counts, whatever the others' says."""
    if "-a" not in sys.argv:
        return
    write("two.map", f"0 gpu3 bus={bus(3)} cpu={ALL[0]}\n1 gpu1 bus={bus(1)} cpu={ALL[-1]}\n")
    for asks in (0, 1):
        parts = [["-n", "1", "env", "HOPCAST_MAP=" + "two.map" * (asks == rank), program] for rank in range(2)]
        done = start(*parts[0], ":", *parts[1], LD_PRELOAD=library)
        said = {int(line.split()[1]): line for line in done.stdout.splitlines() if line.startswith("rank ")}
        wanted = ["0!", "0!"] if asks else [bus(3).upper(), bus(1).upper()]
        check(done.returncode == 0 and len(said) == 2 and all(f" first {wanted[r]} old {wanted[r]} " in said[r] for r in range(2)),
              f"rank {asks} asks: {said} {done.stderr}")


def several_machines():
    """As MPICH plays them: each rank keeps to its own."""
    if mpi != "mpich":
        return
    whole, _ = machine()
    talk = profile("talk.json", 4, [(0, 1), (2, 3), (0, 2)])
    done, said = run(4, HOPCAST_MAP="auto:" + talk, HOPCAST_TOPOLOGY=whole, MPIR_CVAR_NUM_CLIQUES="2")
    devices = [said.get(rank, {}).get("first") for rank in range(4)]
    check(done.returncode == 0 and devices[0] == devices[1] != devices[2] == devices[3] and None not in devices,
          f"two machines, ranks in turn: {devices} {done.stderr}")
    write("two.map", "".join(f"{r} node{n}.gpu{g} bus={bus(g)}\n" for r, n, g in ((0, 0, 1), (1, 1, 1), (2, 0, 3), (3, 1, 4))))
    done, said = run(4, HOPCAST_MAP="two.map", MPIR_CVAR_NUM_CLIQUES="2")
    check(done.returncode == 0 and [said[r]["first"] for r in range(4)] == [bus(g).upper() for g in (1, 1, 3, 4)],
          f"as the map has them: {said} {done.stderr}")
    for nodes, words in (((0, 0, 1, 1), "ranks 0 and 1 are on two machines, and the map has both on node0"),
                         ((0, 1, 1, 1), "ranks 0 and 2 are on the same machine, and the map has them on node0 and node1")):
        write("other.map", "".join(f"{r} node{n}.gpu{r} bus={bus(r)}\n" for r, n in enumerate(nodes)))
        done, said = run(4, HOPCAST_MAP="other.map", MPIR_CVAR_NUM_CLIQUES="2")
        check(done.returncode == 2 and not said and words in done.stderr, f"{nodes}: {done.stderr}")


def faults():
    """The job ends where it begins, told why once; or runs unmapped where that is allowed."""
    whole, bare = machine()
    profile("three.json", 3, [(0, 1)])
    write("three.map", "0 gpu0\n1 gpu1\n2 gpu2\n")
    write("torn.map", "0 gpu1 bus=0000:0f:00.0\n1 gpu3 bus=00\n")
    write("foreign.map", "0 gpu1 bus=0000:0f:00.0\n1 gpu3 bus=0000:aa:00.0\n")
    write("nodes.map", "0 node0.gpu1\n1 node1.gpu1\n")
    write("far.map", "0 gpu0\n1 gpu9\n")
    write("torn.json", '{"hopcast_traffic": 1, "ranks": 2, "pairs": [')
    cases = [("none.map", {}, r"none\.map: .*No such file"), ("torn.map", {}, r"torn\.map:2:12: '00' is no PCI address\n  expected: "),
             ("three.map", {}, r"three\.map: the map is of 3 ranks, the job has 2\n  expected: a job of 3 ranks"),
             ("foreign.map", {}, r"rank 1 on \S+: the CUDA driver shows no device at 0000:aa:00\.0 to this process; expected: one of"),
             ("foreign.map", {"CUDA_VISIBLE_DEVICES": "3"}, r"rank 0 on \S+: the CUDA driver shows no device at 0000:0f:00\.0"),
             ("foreign.map", {"HOPCAST_CUDA_LIBRARY": "/none"}, r"rank 0 on \S+: the map has gpu1 here, and there is no CUDA driver"),
             ("far.map", {"HOPCAST_TOPOLOGY": whole}, r"rank 1 on \S+: topology stand-in has no device 'gpu9'"),
             ("three.map", {"HOPCAST_TOPOLOGY": "none.json", "RANKS": "3"}, r"rank 0 on \S+: 'none\.json' is neither"),
             ("nodes.map", {}, r"ranks 0 and 1 are on the same machine, and the map has them on node0 and node1"),
             ("far.map", {"HOPCAST_TOPOLOGY": bare, "CUDA_VISIBLE_DEVICES": "3,2"}, r"tells no PCI addresses, and the driver shows 2"),
             ("auto:three.json", {}, r"three\.json: the profile is of 3 ranks, the job has 2\n"),
             ("auto:torn.json", {}, r"torn\.json:1:\d+"), ("auto:none.json", {}, r"none\.json: .*No such file")]
    for number, (named, more, words) in enumerate(cases):
        if number not in (3, 10) and "-a" not in sys.argv:
            continue
        done, said = run(int(more.pop("RANKS", "2")), HOPCAST_MAP=named, **more)
        check(done.returncode == 2 and not said and len(re.findall(words, done.stderr)) == 1,
              f"{named} {more}: {done.returncode} {done.stdout} {done.stderr}")
    done, said = run(2, HOPCAST_MAP="torn.map", HOPCAST_MAP_REQUIRED="0", HOPCAST_VERBOSE="0")
    check(done.returncode == 0 and [said[r]["first"] for r in range(2)] == ["0!", "0!"] and
          done.stderr.count("libhopcast_mpi.so: ") == 2 and "the program runs unmapped" in done.stderr,
          f"unmapped: {said} {done.stderr}")


asked = [word for word in sys.argv[4:] if word != "-a"]
run_parts(from_file, *[of_amd] * ("-a" in sys.argv or bool(asked)), by_names, in_one_step, some_ask, several_machines, faults, asked=asked)
