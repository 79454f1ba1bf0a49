#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hopcast-amb under mpirun: what it exchanges is the pattern's, and ends well whatever is wrong.

    exchanged.py openmpi|mpich BUILD SOURCE PART...

Exit status: 0 as expected, 1 not, 77 there is no such launcher or shim."""
import collections
import functools
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../command"))
from under_mpi import build, check, fake_cuda, hopcast, mpi, run_parts, start, work  # noqa: E402

source, command = os.path.abspath(sys.argv[3]), os.path.join(build, "hopcast-amb")
os.environ["HOPCAST_FAKE_CUDA_DELAY"] = "0"
for name in ("HOPCAST_MPI", "HOPCAST_CUDA_LIBRARY"):
    os.environ.pop(name, None)


def run(*words, **environment):
    """Under the launcher: words are its own from -n on."""
    folder = tempfile.mkdtemp(dir=work)
    return start(*words, cwd=folder, **environment), folder


@functools.cache
def made(pattern, size):
    """(from, to) -> bytes and messages, as `hopcast make` has the pattern."""
    text = subprocess.run([hopcast, "make", pattern, "--bytes", str(size)], capture_output=True, text=True, check=True).stdout
    sums = collections.defaultdict(lambda: [0, 0])
    for a, b, copied in re.findall(r"^\S+: +rank(\d+) -> rank(\d+) (\S+)", text, re.M):
        factor = {"B": 1, "kB": 1000, "KiB": 1024, "MB": 1000 ** 2, "MiB": 1024 ** 2}
        number, unit = re.fullmatch(r"(\d+)(\D*)", copied).groups()
        sums[int(a), int(b)][0] += int(number) * factor[unit or "B"]
        sums[int(a), int(b)][1] += 1
    return sums


def exchanges(ranks, wanted, *options):
    """All nine pairs with the profiler before it; device buffers are the stand-in's, so staged: they, too, leave from the host."""
    done, folder = run("-n", str(ranks), command, "--quick", "--json", *options, HOPCAST_CUDA_LIBRARY=fake_cuda,
                       LD_PRELOAD=os.path.join(build, "libhopcast_mpi.so"))
    if not check(done.returncode == 0, f"{ranks} ranks: {done.returncode} {done.stderr[:1000]}"):
        return None
    result, patterns = json.loads(done.stdout), sorted(wanted)
    rows = result["rows"]
    check([(row["host"], row["device"]) for row in rows[::len(rows) // 9]] == [(h, d) for h in wanted for d in wanted],
          f"the pairs: {rows}")
    check(result["device"] == "Stand-in 0" and result["staged"] and result["validated"] and result["wrong_bytes"] == 0,
          f"how: {result['device']} {result['wrong_bytes']}")
    sums = collections.defaultdict(lambda: [0, 0])
    for row in rows:
        for memory in ("host", "device"):
            flows = made(row[memory], row["size_bytes"])
            check(sum(size for size, _ in flows.values()) == row[memory + "_bytes"], f"bytes of {row}")
            for (a, b), (size, messages) in flows.items():
                at = sums["collective" if row[memory].startswith("coll") else "point_to_point", a, b]
                at[0] += size
                at[1] += messages
    with open(os.path.join(folder, "hopcast-traffic.json")) as file:
        pairs = json.load(file)["pairs"]
    found = {(p["class"], p["from"], p["to"]): [p.get("host_bytes", 0), p.get("host_messages", 0)] for p in pairs if p["from"] != p["to"]}
    differ = [f"{key}: {found.get(key)}, not {sums.get(key)}" for key in sorted(set(found) | set(sums)) if found.get(key) != sums.get(key)]
    check(sums and not differ, f"traffic of {patterns}: {differ[:5]}")
    machine = "t2" if ranks <= 8 else os.path.join(source, "data", "clusters", "four-helios.json")
    mapped = subprocess.run([hopcast, "map", os.path.join(folder, "hopcast-traffic.json"), "--on", machine, "--metric", "bandwidth"],
                            capture_output=True, text=True)
    check(mapped.returncode == 0 and "of host traffic" in mapped.stdout, f"map takes its traffic: {mapped.stderr[:500]}")
    return result


# ---- parts ----

def few():
    exchanges(4, ["stencil:2x2,weight=3", "stencil:1x2x2,weight=3", "coll:2x2x1"], "--sizes", "100B,5000B", "--weight", "3")


def thesis():
    """16 and 64 ranks with the grids that the thesis prints."""
    result = exchanges(16, ["stencil:4x4", "stencil:2x2x4", "coll:4x2x2"])
    try:
        import jsonschema
        with open(os.path.join(source, "docs", "amb.schema.json")) as file:
            jsonschema.validate(result, json.load(file))
    except ImportError:
        print("no module jsonschema: the schema is not tried")
    exchanges(16, ["stencil:4x4,weight=3,wrap", "stencil:2x2x4,weight=3,wrap", "coll:4x2x2"], "--weight", "3", "--wrap")
    exchanges(64, ["stencil:8x8", "stencil:4x4x4", "coll:4x4x4"], "--sizes", "256")


TWO, FAKE = ("-n", "2", command, "--quick"), {"HOPCAST_CUDA_LIBRARY": fake_cuda}
REFUSALS = [
    ((*TWO, "--host-pattern", "stencil:4x4", "--device", "host"), {}, "stencil:4x4 has 16 ranks, and the job 2"),
    (("-n", "1", command, "-q", ":", "-n", "1", "env", "HOPCAST_FAKE_CUDA_FAIL=work:4=700", command, "-q"), FAKE, "hopcast: rank 1, cuda"),
    ((*TWO, "--wrapp"), {}, "is --wrap meant?"),
    (("-n", "1", command, "-q", ":", "-n", "1", "env", "HOPCAST_FAKE_CUDA_FAIL=cuMemAlloc:2=2", command, "-q"), FAKE, "hopcast: rank 1, cuda"),
    (("-n", "1", command, "--device", "host", ":", "-n", "1", command, "--device", "host", "--sizes", "4KiB"), {},
     "not all ranks were given the same options"),
    ((*TWO,), {"HOPCAST_CUDA_LIBRARY": "/nowhere"}, "or --device host"),
    ((*TWO, "--host-pattern", "none", "--device-pattern", "none"), {}, "both patterns are none"),
]


def refuses(cases):
    """On all ranks, with one message, at once."""
    for words, environment, message in cases:
        done, _ = run(*words, **environment)
        check(done.returncode == 2 and done.stderr.count(message) == 1, f"{words[2:]}: {done.returncode} {done.stderr[:800]}")


def refused():
    refuses(REFUSALS[:3])


def refused_too():
    refuses(REFUSALS[3:])


def library(name, changes, members):
    """One for this MPI as docs/processes.md has it, with members of its table changed."""
    text, made_of = os.path.join(work, name + ".c"), os.path.join(work, name + ".so")
    with open(text, "w") as file:
        file.write("#define hop_amb_mpi_table its_table\n#include \"amb/mpi/amb_shim.c\"\n#undef hop_amb_mpi_table\n" + changes +
                   "const void *hop_amb_mpi_table(void)\n{\n    static struct hop_amb_mpi own;\n    own = *(const struct hop_amb_mpi *)its_table();\n" +
                   "".join(f"    own.{member} = {member}_changed;\n" for member in members) + "    return &own;\n}\n")
    subprocess.run(["mpicc." + mpi, "-w", "-shared", "-fPIC", "-I" + os.path.join(source, "src"), "-o", made_of, text,
                    os.path.join(source, "src", "group", "mpi", "shim.c")], check=True)
    return made_of


def wrong():
    """An MPI that changes a byte of each message from rank 1."""
    changed = library("changes", "static void send_changed(const void *bytes, size_t size, int to, int tag)\n"
                      "{\n    if (to == 0)\n        *(char *)bytes ^= 1;\n    send(bytes, size, to, tag);\n}\n", ["send"])
    done, _ = run("-n", "2", command, "--quick", "--host-pattern", "2d", "--device-pattern", "none", HOPCAST_MPI=changed)
    check(done.returncode == 1 and "3 bytes that arrived are not what was sent" in done.stderr and done.stdout.count("Fail") == 3,
          f"changed bytes: {done.returncode} {done.stdout} {done.stderr}")


def straight():
    """An MPI that takes addresses of devices, those of the stand-in: nothing is staged, and the profiler knows whose memory it is.
    And ranks that are mapped."""
    takes = library("takes", "#define SEEN(address) ((void *)((size_t)(address) & (((size_t)1 << 47) - 1)))\n"
                    "static bool start_changed(struct hop_amb_world *world)\n{\n    bool fine = start(world);\n    world->takes_devices = true;\n"
                    "    return fine;\n}\n"
                    "static void receive_changed(void *to, size_t size, int from, int tag)\n{\n    receive(SEEN(to), size, from, tag);\n}\n"
                    "static void send_changed(const void *from, size_t size, int to, int tag)\n{\n    send(SEEN(from), size, to, tag);\n}\n"
                    "static void alltoall_changed(const void *from, void *to, size_t size, uint64_t group)\n"
                    "{\n    alltoall(SEEN(from), SEEN(to), size, group);\n}\n", ["start", "receive", "send", "alltoall"])
    done, folder = run("-n", "4", command, "-q", "--json", "--host-pattern", "ring:4", "--device-pattern", "3d", "--device-pattern", "coll", "--sizes",
                       "5000B", HOPCAST_CUDA_LIBRARY=fake_cuda, HOPCAST_MPI=takes, LD_PRELOAD=os.path.join(build, "libhopcast_mpi.so"))
    if not check(done.returncode == 0, f"straight: {done.returncode} {done.stderr[:1000]}"):
        return
    result = json.loads(done.stdout)
    check(not result["staged"] and result["takes_devices"] and result["carrier"] == takes and result["wrong_bytes"] == 0, f"straight: {result}")
    sums = {memory: collections.Counter() for memory in ("host", "device")}
    for memory, patterns in (("host", ["ring:4"] * 2), ("device", ["stencil:1x2x2", "coll:2x2x1"])):
        for pattern in patterns:
            for pair, (size, _) in made(pattern, 5000).items():
                sums[memory][pair] += size
    with open(os.path.join(folder, "hopcast-traffic.json")) as file:
        pairs = json.load(file)["pairs"]
    for memory, wanted in sums.items():
        found = collections.Counter()
        for pair in pairs:
            found[pair["from"], pair["to"]] += pair.get(memory + "_bytes", 0) if pair["from"] != pair["to"] else 0
        check(+found == wanted, f"traffic of {memory} memory: {found}, not {wanted}")
    with open(os.path.join(work, "a.map"), "w") as file:
        file.write("0 gpu5 bus=0000:90:00.0\n1 gpu1 bus=0000:0f:00.0\n")
    done, _ = run("-n", "2", command, "-q", "--json", "--sizes", "256B", HOPCAST_CUDA_LIBRARY=fake_cuda, HOPCAST_MPI_TRAFFIC="none",
                  HOPCAST_MAP=os.path.join(work, "a.map"), LD_PRELOAD=os.path.join(build, "libhopcast_mpi.so"))
    check(done.returncode == 0 and json.loads(done.stdout)["device"] == "Stand-in 5", f"mapped: {done.stdout} {done.stderr}")


run_parts(few, thesis, refused, refused_too, wrong, straight, asked=sys.argv[4:])
