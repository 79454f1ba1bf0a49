#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Allreduce on tori, by hopcast and by ASTRA-sim: bench/torus_astra.py HOPCAST [ASTRA_SIM]

ASTRA_SIM is its analytical simulator that knows no congestion (AstraSim_Analytical_Congestion_Unaware), which alone has several dimensions;
without it the other columns are printed. Hosts feed all links of their router, reductions and software take no time, and a message between
neighbours takes the latency that the row says (ASTRA-sim's of one link; here a third for each of the three links).
"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile

RATE = 12.5e9  # of a link and direction, bytes/s
GIB = 2**30  # ASTRA-sim's GB
MIB = 2**20


def varint(n):
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(body):
    return varint(len(body)) + body


def trace(bytes_):
    """A Chakra trace (schema 0.0.4) of one allreduce."""
    is_cpu = field(1, b"is_cpu_op") + field(27, 0)
    kind = field(1, b"comm_type") + field(9, 0)
    size = field(1, b"comm_size") + field(9, bytes_)
    node = field(1, 0) + field(2, b"allreduce") + field(3, 7) + field(10, is_cpu) + field(10, kind) + field(10, size)
    return message(field(1, b"0.0.4")) + message(node)


def astra_us(astra, shape, bytes_, latency_ns, splits):
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(text if isinstance(text, bytes) else text.encode())
            return os.path.join(folder, name)
        for rank in range(math.prod(shape)):
            write(f"all.{rank}.et", trace(bytes_))
        ring = ["ring"] * len(shape)
        system = {"scheduling-policy": "LIFO", "endpoint-delay": 1, "active-chunks-per-dimension": 1,
                  "preferred-dataset-splits": splits, "all-reduce-implementation": ring,
                  "all-gather-implementation": ring, "reduce-scatter-implementation": ring,
                  "all-to-all-implementation": ring, "collective-optimization": "localBWAware",
                  "local-mem-bw": 1000000, "boost-mode": 0}
        dims = len(shape)
        network = (f"topology: [ {', '.join(['Ring'] * dims)} ]\nnpus_count: [ {', '.join(map(str, shape))} ]\n"
                   f"bandwidth: [ {', '.join([repr(RATE / GIB)] * dims)} ]\n"
                   f"latency: [ {', '.join([str(float(latency_ns))] * dims)} ]\n")
        done = subprocess.run(
            [astra, "--workload-configuration=" + os.path.join(folder, "all"),
             "--system-configuration=" + write("system.json", json.dumps(system)),
             "--remote-memory-configuration=" + write("memory.json", '{"memory-type": "NO_MEMORY_EXPANSION"}'),
             "--network-configuration=" + write("network.yml", network)],
            capture_output=True, text=True, cwd=folder)
        if done.returncode:
            sys.exit(f"{astra} failed: {done.stderr[-1000:]}{done.stdout[-1000:]}")
        cycles = re.findall(r"finished,? (\d+) cycles", done.stdout)
        if not cycles:
            sys.exit(f"ASTRA-sim said no time: {done.stdout[-500:]}")
        return max(map(int, cycles)) / 1000


def hopcast_us(hopcast, shape, collective, bytes_, latency_ns, *options):
    on = f"torus:{'x'.join(map(str, shape))},host=10TB/s,link=12.5GB/s,latency={latency_ns / 3}ns"
    quiet = ["--set", "nic_latency=0", "--set", "network_overhead=0", "--set", "reduce_rate=1000TB/s"]
    made = subprocess.run([hopcast, "make", collective, "--algorithm", "bucket", "--bytes", str(bytes_), "--on", on],
                          capture_output=True, text=True, check=True).stdout
    told = subprocess.run([hopcast, "predict", "-", "--on", on, "--json", "--range", "none", *quiet, *options],
                          input=made, capture_output=True, text=True, check=True).stdout
    return json.loads(told)["makespan_s"] * 1e6


def main():
    hopcast, astra = sys.argv[1], os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
    packets = ("--fidelity", "packet", "--packet-set", "payload=4096")
    print("| torus | vector | latency | ring per dimension | closed form | ASTRA-sim, 1 chunk | ASTRA-sim, 64 chunks | bucket | "
          "closed form | bucket, packets |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for shape, bytes_, latency_ns in (((4, 4, 4), 64 * MIB, 0), ((4, 4, 4), 64 * MIB, 600), ((4, 4, 4), 96 * 1024, 600),
                                      ((2, 4, 8), 64 * MIB, 0), ((2, 4, 8), 96 * 1024, 600)):
        n, rounds = math.prod(shape), sum(shape) - len(shape)
        part = bytes_ // n
        ring = (hopcast_us(hopcast, shape, "reduce-scatter", bytes_, latency_ns) +
                hopcast_us(hopcast, shape, "allgather", part, latency_ns))
        moved = 2 * bytes_ * (n - 1) / n / RATE * 1e6
        late = 2 * rounds * latency_ns / 1000
        sim = [f"{astra_us(astra, shape, bytes_, latency_ns, splits):.1f}" if astra else "-" for splits in (1, 64)]
        bucket = hopcast_us(hopcast, shape, "allreduce", bytes_, latency_ns)
        packet = hopcast_us(hopcast, shape, "allreduce", bytes_, latency_ns, *packets)
        print(f"| {'x'.join(map(str, shape))} | {bytes_ // 1024} KiB | {latency_ns} ns | {ring:.1f} | {moved + late:.1f} | "
              f"{sim[0]} | {sim[1]} | {bucket:.1f} | {moved / (2 * len(shape)) + late:.1f} | {packet:.1f} |", flush=True)


main()
