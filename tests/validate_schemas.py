#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Validates what the command writes against docs/*.schema.json.

usage: validate_schemas.py HOPCAST PROJECT_ROOT

Topologies: every built-in machine and every file of data/. Schedules: one of each pattern, and JSON files of data/.
Predictions: some of each kind of operation and rule. Orders: searches and distributions. Documents that are wrong must be
refused by the schema and by the command alike. Exit status: 0 fine, 1 something is not, 77 skipped (no module jsonschema; Debian: python3-jsonschema).
"""
import json
import pathlib
import re
import subprocess
import sys
import warnings

try:
    import jsonschema
except ImportError:
    print("skipped: the Python module jsonschema is missing (Debian: python3-jsonschema)")
    sys.exit(77)

KINDS = ("topology", "schedule", "prediction", "order", "sweep", "comparison", "penalties", "cluster", "lint", "tune_paths", "tune_collective", "tune_copies", "tune_stages", "tune_puts", "fit", "measure", "map", "plan", "traffic")
TOPOLOGY_SUFFIXES = (".json", ".xml", ".txt")

SCHEDULES = [
    ["make", "ring:8", "--on", "t2", "--bytes", "1MiB"],
    ["make", "halo", "--on", "t2", "--bytes", "1MiB"],
    ["make", "alltoall", "--on", "dgx-1", "--bytes", "64KiB"],
]
PREDICTIONS = [
    ("gpu0 -> gpu2 300MiB", "t2"),
    ("gpu0 -> gpu2 300MiB; gpu1 -> gpu4 300MiB; gpu3 -> gpu2 300MiB", "t2"),
    ("a: gpu0 -> gpu2 300MiB; b: gpu0 -> gpu4 1MiB at 1ms; c: gpu1 -> gpu4 0 after a after-start b", "t2"),
    ("c: gpu3 -> gpu2 5MiB via staged 2MiB; d: gpu1 -> gpu4 1MiB via auto", "t2"),
    ("d: reduce sum f32 gpu2:x gpu2:y -> gpu2:x 1MiB; e: work gpu2 30us after d; f: gpu2 -> gpu5 1MiB after e", "t2"),
    ("gpu0 -> gpu3 1GiB; gpu1 -> gpu3 1GiB; nic0 -> gpu3 1GiB", "dgx-a100"),
    ("gpu0 -> gpu6 1GiB; gpu0 -> gpu4 1GiB; host0 -> gpu4 1GiB", "dgx-1"),
    ("node0 -> node2 1MiB; node1 -> node2 1MiB", "star:4", "--model", "infiniband"),
    ("node0 -> node2 1MiB; node1 -> node2 1MiB", "star:4", "--model", "loggp"),
    ("gpu0 -> gpu7 1MiB; gpu1 -> gpu5 1MiB", "data/topologies/smi-every-label.txt"),
    ("node0 -> node1 64KiB; node2 -> node3 64KiB", "torus:3x3", "--fidelity", "packet", "--fault", "link router0.0--router1.0 at 1us"),
]
RUNS = [
    ["-e", "a: gpu0 -> gpu1 1MiB; b: gpu1 -> gpu2 5MiB via staged 2MiB after a; w: work gpu1 1us; s: send gpu0 -> gpu2 3; r: receive gpu0 -> gpu2 3"],
    ["allreduce", "-n", "3", "--algorithm", "gsb", "--bytes", "4KiB", "--copies", "dynamic"],
    ["allreduce", "-n", "2", "--bytes", "4KiB", "--repeat", "3"],
    ["-e", "gpu0 -> gpu2 64KiB; gpu1 -> gpu4 64KiB", "--emulate", "t2"],
]
LINTS = [["t1"], ["t2"], ["dgx-1"], ["star:4"], ["data/topologies/nccl-cloud-traps.xml"], ["data/topologies/smi-two-socket-pairs.txt"],
         ["data/topologies/smi-every-label.txt"], ["t2", "--measurements", "data/measurements/pcie-2016.csv"]]
HALO = "data/schedules/halo3-slowest.hop"
PAIR = "a: gpu0 -> gpu1 64MiB; b: gpu0 -> gpu4 3MiB; c: gpu1 -> gpu0 1MiB; d: gpu1 -> gpu5 1MiB after b"
UNCLEAN = "gpu2 -> gpu6 10MiB; gpu7 -> gpu2 10MiB; gpu5 -> gpu0 10MiB; gpu1 -> gpu2 10MiB; gpu0 -> gpu7 10MiB; gpu7 -> gpu4 10MiB"  # every order is
ORDERS = [
    [HALO, "--on", "t2", "--set", "tau=0.2", "--count"],
    [HALO, "--on", "t2", "--max-nodes", "1", "--allow-unclean"],
    [HALO, "--on", "t2", "--robust"],
    [HALO, "--on", "t2", "--all"],
    ["-e", PAIR, "--on", "t2", "--mark", "b,c", "--chunks", "2"],
    ["-e", PAIR, "--on", "t2", "--objective", "mean", "--all"],
    ["-e", UNCLEAN, "--on", "t2", "--no-waits"],
    ["-e", UNCLEAN, "--on", "t2", "--all"],
]
SWEEPS = [
    [HALO, "--on", "t2", "--on", "cs-storm", "--model", "credit", "--set", "tau=0.1,0.2", "--scale-bytes", "0.5,2"],
    ["-e", "gpu0 -> gpu1 1MiB", "-e", "gpu0 -> gpu9 1", "-e", "work gpu0 1us", "--on", "t2", "--set", "gpu0.engines=1,unlimited", "--bytes", "0,1",
     "--keep-going"],
    ["-e", "rank0 -> rank1 1MiB", "-e", "rank0 -> rank9 1MiB", "--on", "t2", "--on", "cs-storm", "--map", "packed,cyclic", "--keep-going"],
]
MEASURED = "data/measurements/infiniband-2011.csv"
COMPARISONS = [
    [MEASURED, "--on", "ib-9node", "--model", "infiniband", "--model", "fair"],
    ["data/measurements/pcie-2016.csv", "--on", "t2"],
    [MEASURED, MEASURED],
]
MAPS = [
    ["stencil:2x2x2", "--on", "t2"],
    ["stencil:4x4,wrap", "--on", "helios", "--metric", "congestion", "--solver", "exact"],
    ["ring:4", "--on", "dgx-1", "--metric", "latency", "--no-simulation"],
    ["coll:4x2x2", "--on", "data/clusters/two-dgx-a100.json", "--host", "stencil:4x4", "--metric", "bandwidth", "--cores", "package:2 core:4 pu:1"],
    ["ring:4", "--on", "star:4"],
    ["data/traffic/halo8-profile.csv", "--on", "t2", "--max-operations", "3000"],
]
PLANS = [
    ["halo:2x2", "--on", "t2", "--max-nodes", "20000"],
    [HALO, "--on", "t2", "--keep", "--no-waits", "--max-nodes", "5000"],
    ["ring:4", "--on", "dgx-1", "--robust"],
    ["halo:2x2x2", "--on", "t2", "--robust", "--max-nodes", "20000"],
    ["allreduce", "--bytes", "64KiB", "-n", "4", "--on", "t2", "--max-nodes", "20000"],
]
TUNED_COLLECTIVES = [
    ["all", "--on", "t2", "--sizes", "4,1MiB"],
    ["broadcast,barrier", "--on", "data/clusters/two-dgx-a100.json", "-n", "20", "--sizes", "64KiB"],
    ["allreduce,gather", "--measured", "-n", "2", "--in-process", "--sizes", "8", "--rounds", "1", "--algorithms", "gsb,ring,direct"],
]
TUNED_PATHS = [
    ["--on", "helios", "--copy-latency", "10us", "--pattern", "pairs", "--pattern", "neighbours"],
    ["--on", "t1", "--sizes", "1MiB", "--pattern", "ring,rounds=7"],
    ["--on", "dgx-1", "--sizes", "64KiB:16MiB*16", "--schedule", HALO],
]
NOVO_G = "data/steps/novo-g-"
TUNED_STAGES = [
    [NOVO_G + "transfer.steps"],
    [NOVO_G + "gather.steps", "--gather", "1x4,16x1", "--sizes", "8MiB,1GiB"],
    ["--step", "read=10us+12GB/s", "--step", "network=0+23GB/s", "--groups", "1/1", "--sizes", "1,1MiB"],
    ["--on", "data/clusters/two-dgx-a100.json", "--through", "node0.gpu0,node0.host0,node1.host0,node1.gpu0", "--sizes", "1MiB"],
]
FITS = [
    ["data/measurements/two-switch-synthetic.csv", "--on", "data/machines/wrx90-8gpu-2switch.json"],
    ["data/measurements/pcie-2016.csv", "--on", "t2", "--folds", "0", "--model", "credit"],
]
PENALTIES = [[MEASURED], [MEASURED, "--fill", "--on", "ib-9node"]]

NODES = [{"name": "gpu0", "kind": "gpu"}, {"name": "root0", "kind": "root"}]
LINK = {"from": "gpu0", "to": "root0", "kind": "pcie", "generation": 3, "width": 16}
GENERATED = ["star:4", "fat-tree:radix=4,levels=3", "dragonfly:groups=3,routers=2,hosts=1", "torus:3x2", "apenet:2,version=2,window=8KiB"]
TOPOLOGY = {"hopcast_topology": 1, "name": "x", "nodes": NODES, "links": [LINK]}
COPY = {"id": "a", "kind": "copy", "from": "gpu0", "to": "gpu1", "bytes": 1}
SCHEDULE = {"hopcast_schedule": 1, "operations": [COPY]}


def node(**members):
    return TOPOLOGY | {"nodes": [NODES[0] | members, NODES[1]]}


def link(**members):
    return TOPOLOGY | {"links": [LINK | members]}


def copy(**members):
    return SCHEDULE | {"operations": [COPY | members]}


TWO_ROOTS = TOPOLOGY | {"nodes": NODES + [{"name": "root1", "kind": "root"}]}
SWITCHES = [{"name": "switch0", "kind": "switch"}, {"name": "switch1", "kind": "switch"}]
CHIP = TOPOLOGY | {"nodes": NODES + SWITCHES, "links": [LINK, {"from": "switch0", "to": "switch1", "kind": "chip"}]}

RIGHT_TOPOLOGIES = [
    TOPOLOGY,
    node(label="x", bus_id="0000:01:00.0", numa=0, engines=2),
    node(engines="unlimited"),
    link(capacity_Bps=1.5, origin="me", latency_s=0, count=2),
    link(capacity_Bps=[1, None], parameter="socket_amd"),
    TOPOLOGY | {"parameters": {"tau": {"value": 0, "origin": "", "uncertainty": 0.1}}, "notes": ["a", ""]},
    TOPOLOGY | {"nodes": [NODES[0], NODES[1] | {"tau": 0.5}]},
    node(accelerator_engines="unlimited", engines=1),
    link(duplex_Bps=1e9),
    link(duplex_Bps=[1e9, None]),
    link(duplex_Bps=[None, None]),
    TWO_ROOTS | {"crossings": []},
    TWO_ROOTS | {"crossings": [{"roots": ["root1", "root0"], "tau": 0}]},
    CHIP,
]
WRONG_TOPOLOGIES = [
    TOPOLOGY | {"hopcast_topology": 2},
    TOPOLOGY | {"x": 1},
    TOPOLOGY | {"nodes": []},
    TOPOLOGY | {"notes": "a"},
    TOPOLOGY | {"parameters": {"tau": 0.2}},
    {key: value for key, value in TOPOLOGY.items() if key != "links"},
    node(kind="cpu"),
    node(engines=0),
    node(numa=-1),
    node(tau=0.1),
    TOPOLOGY | {"nodes": NODES + [{"name": "a--b", "kind": "gpu"}]},
    TOPOLOGY | {"nodes": NODES + [{"name": "-a", "kind": "gpu"}]},
    TOPOLOGY | {"nodes": NODES + [{"name": "a:b", "kind": "gpu"}]},
    link(capacity="12GB/s"),
    link(capacity_Bps="12GB/s"),
    link(capacity_Bps=0),
    link(capacity_Bps=[1]),
    link(capacity_Bps=None),
    link(generation=65),
    link(latency_s=-1),
    link(origin="me"),
    node(accelerator_engines=0),
    node(accelerator_engines="many"),
    link(duplex_Bps=0),
    link(duplex_Bps=[1, 2, 3]),
    link(duplex_Bps="10GB/s"),
    TWO_ROOTS | {"crossings": [{"roots": ["root0"], "tau": 0.1}]},
    TWO_ROOTS | {"crossings": [{"roots": ["root0", "root0"], "tau": 0.1}]},
    TWO_ROOTS | {"crossings": [{"roots": ["root0", "root1"], "tau": 1}]},
    TWO_ROOTS | {"crossings": [{"roots": ["root0", "root1"]}]},
    TWO_ROOTS | {"crossings": [{"roots": ["root0", "root1"], "tau": 0.1, "x": 1}]},
]
CLUSTER = {"cluster": "c", "nodes": [{"machine": "host"}, {"machine": "dgx-1", "count": 2, "name": "fat"}], "fabric": "star:9"}
RIGHT_CLUSTERS = [
    CLUSTER,
    CLUSTER | {"ports": {}},
    CLUSTER | {"ports": {"node0.nic0": "node8", "fat*.nic[1-2]": None, "fat*.nic0": "switch0"}},
]
WRONG_CLUSTERS = [
    CLUSTER | {"x": 1},
    CLUSTER | {"nodes": []},
    CLUSTER | {"nodes": [{"count": 2}]},
    CLUSTER | {"nodes": [{"machine": "host", "count": 0}]},
    CLUSTER | {"nodes": [{"machine": "host", "name": "-a"}]},
    CLUSTER | {"nodes": [{"machine": "-"}]},
    CLUSTER | {"fabric": {"source": "net.txt"}},
    CLUSTER | {"fabric": 7},
    CLUSTER | {"ports": {"node0.nic0": 1}},
    {key: value for key, value in CLUSTER.items() if key != "fabric"},
]
RIGHT_SCHEDULES = [
    SCHEDULE,
    SCHEDULE | {"name": "x", "queue": "ready"},
    copy(via="staged", packet_bytes=1, at_s=0.5, after=[], after_start=[]),
    copy(bytes=2**60, **{"from": "3@gpu0:x+4096"}),
    SCHEDULE | {"operations": [COPY | {"kind": "send", "tag": 7, "cpu": 1, "nic": 65535},
                               COPY | {"kind": "receive", "id": "b", "tag": 7, "after_start": ["c"]},
                               {"kind": "work", "id": "c", "device": "gpu1", "duration_s": 0, "cpu": 2}]},
]
WRONG_SCHEDULES = [
    SCHEDULE | {"hopcast_schedule": "1"},
    SCHEDULE | {"queue": "fifo"},
    SCHEDULE | {"operations": [{}]},
    copy(kind="signal"),
    copy(tag=1),
    copy(kind="send", tag=2**32),
    copy(kind="send", cpu=65536),
    copy(kind="receive", nic=-1),
    copy(kind="send", via="p2p"),
    copy(bytes=2**60 + 1),
    copy(bytes=1.5),
    copy(bytes="1MiB"),
    copy(to="gpu 1"),
    copy(id="a b"),
    copy(id="after"),
    copy(packet_bytes=5),
    copy(via="staged", packet_bytes=0),
    copy(device="gpu0"),
    copy(after="a"),
]


class Checker:
    def __init__(self, command, root):
        self.command = str(pathlib.Path(command).resolve())
        self.root = pathlib.Path(root)
        self.checked = 0
        self.failures = 0
        self.validators = {}
        for kind in KINDS:
            path = (self.root / "docs" / f"{kind}.schema.json").resolve()
            schema = json.loads(path.read_text())
            jsonschema.Draft202012Validator.check_schema(schema)
            # a schema beside it is named by its file
            warnings.simplefilter("ignore", DeprecationWarning)  # its successor is newer than Debian 12
            resolver = jsonschema.RefResolver(path.as_uri(), schema)
            self.validators[kind] = jsonschema.Draft202012Validator(schema, resolver=resolver)

    def fail(self, what, message):
        self.failures += 1
        print(f"FAILED {what}: {message}")

    def run(self, arguments, text=None):
        return subprocess.run([self.command, *arguments], input=text, capture_output=True, text=True, timeout=120, cwd=self.root)

    def validate(self, kind, what, document):
        self.checked += 1
        for error in list(self.validators[kind].iter_errors(document))[:3]:
            place = "/" + "/".join(str(part) for part in error.absolute_path)
            self.fail(what, f"{kind} schema, at {place}: {error.message[:300]}")

    def output(self, kind, arguments):
        """Runs the command and validates the JSON that it prints."""
        what = "hopcast " + " ".join(arguments)
        done = self.run(arguments)
        if done.returncode == 2 and "this build has no" in done.stderr:
            print(f"skipped {what}: {done.stderr.strip()}")
            return
        if done.returncode != 0 and not (kind in ("order", "sweep", "penalties", "lint", "tune_paths") and done.returncode == 1):  # 1: no clean order, a failed case, a missing graph
            self.fail(what, f"exit status {done.returncode}: {done.stderr.strip()}")
            return
        try:
            document = json.loads(done.stdout)
        except json.JSONDecodeError as error:
            self.fail(what, f"no JSON: {error}")
            return
        self.validate(kind, what, document)
        if kind in ("order", "plan") and document.get("best"):
            self.validate("schedule", what + ", best", document["best"])
        if kind == "fit":
            self.validate("comparison", what + ", comparison", document["comparison"])
        for pattern in document["patterns"] if kind == "tune_paths" else ():
            self.validate("schedule", what + ", best", pattern["best"])

    def builtins(self):
        done = self.run(["topology", "--list"])
        names = [line.split()[0] for line in done.stdout.split("\n\n")[0].splitlines()]  # generators follow
        if done.returncode != 0 or "t2" not in names:
            self.fail("hopcast topology --list", "does not list t2")
        return names

    def rules(self):
        """Every rule that a header knows can stand in what is printed, and no other."""
        for kind, header, names in ("prediction", "model.h", r'X\(HOP_RULE_\w+, "([a-z-]+)"'), ("lint", "lint.h", r'X\(HOP_LINT_\w+, "([a-z-]+)"'):
            known = re.findall(names, (self.root / "include/hopcast" / header).read_text())
            listed = self.validators[kind].schema["$defs"]["rule"]["enum"]
            self.checked += 1
            if not known or set(known) != set(listed):
                self.fail(f"{kind}.schema.json", f"its rules are not those of hopcast/{header}: {set(known) ^ set(listed)}")

    def data_file(self, path):
        if path.suffix == ".json":
            document = json.loads(path.read_text())
            kind = next((kind for kind in KINDS if f"hopcast_{kind}" in document or (kind == "cluster" and kind in document)), None)
            if kind:
                self.validate(kind, path, document)
            if kind not in ("topology", "cluster"):
                return
        self.output("topology", ["topology", str(path), "--format", "json"])

    def judge(self, kind, arguments, documents, right):
        """The schema and the command must be of one opinion."""
        for document in documents:
            text = json.dumps(document)
            self.checked += 1
            if self.validators[kind].is_valid(document) != right:
                self.fail(text, f"the {kind} schema is of the wrong opinion")
            if (self.run(arguments, text).returncode == 0) != right:
                self.fail(text, f"`hopcast {' '.join(arguments)}` is of the wrong opinion")


def main():
    if len(sys.argv) != 3:
        print("usage: validate_schemas.py HOPCAST PROJECT_ROOT", file=sys.stderr)
        return 2
    checker = Checker(sys.argv[1], sys.argv[2])
    for name in checker.builtins() + GENERATED:
        checker.output("topology", ["topology", name, "--format", "json"])
    for path in sorted((checker.root / "data").rglob("*")):
        if path.is_file() and path.suffix in TOPOLOGY_SUFFIXES:
            checker.data_file(path)
    for arguments in SCHEDULES:
        checker.output("schedule", [*arguments, "--format", "json"])
    for text, topology, *more in PREDICTIONS:
        checker.output("prediction", ["predict", "-e", text, "--on", topology, *more, "--json"])
        checker.output("prediction", ["predict", "-e", text, "--on", topology, *more, "--json", "--intervals"])
    for arguments in RUNS:
        checker.output("prediction", ["run", *arguments, "--json"])
    checker.rules()
    for arguments in LINTS:
        checker.output("lint", ["topology", *arguments, "--lint", "--json"])
    for arguments in ORDERS:
        checker.output("order", ["order", *arguments, "--json"])
    for arguments in SWEEPS:
        checker.output("sweep", ["sweep", *arguments, "--json"])
    for arguments in COMPARISONS:
        checker.output("comparison", ["compare", *arguments, "--json"])
    for arguments in PENALTIES:
        checker.output("penalties", ["calibrate", "--penalties", *arguments, "--json"])
    for arguments in FITS:
        checker.output("fit", ["calibrate", *arguments, "--json"])
    for arguments in TUNED_PATHS:
        checker.output("tune_paths", ["tune", "paths", *arguments, "--json"])
    for arguments in TUNED_STAGES:
        checker.output("tune_stages", ["tune", "stages", *arguments, "--json"])
    checker.output("tune_puts", ["tune", "puts", "--on", "apenet:2", "--sizes", "32,1MiB", "--json"])
    for arguments in TUNED_COLLECTIVES:
        checker.output("tune_collective", ["tune", "collective", *arguments, "--json"])
    checker.output("tune_copies", ["tune", "copies", "allreduce", "-n", "2", "--sizes", "4KiB,64KiB", "--rounds", "1", "--json"])
    for arguments in MAPS:
        checker.output("map", ["map", *arguments, "--json"])
    for arguments in PLANS:
        checker.output("plan", ["plan", *arguments, "--json"])
    for arguments in (["--devices", "2"], ["--devices", "1"], ["--on", "t2", "--devices", "2"]):
        checker.output("measure", ["measure", *arguments, "--sizes", "64B,4KiB", "--time", "0.01", "--force", "--json"])
    from_input = ["topology", "-", "--format", "json"]
    checker.judge("topology", from_input, RIGHT_TOPOLOGIES, True)
    checker.judge("topology", from_input, WRONG_TOPOLOGIES, False)
    checker.judge("cluster", from_input, RIGHT_CLUSTERS, True)
    checker.judge("cluster", from_input, WRONG_CLUSTERS, False)
    from_input = ["predict", "-", "--on", "t2", "--json"]
    checker.judge("schedule", from_input, RIGHT_SCHEDULES, True)
    checker.judge("schedule", from_input, WRONG_SCHEDULES, False)
    print(f"{checker.checked} documents, {checker.failures} failures")
    return 1 if checker.failures else 0


if __name__ == "__main__":
    sys.exit(main())
