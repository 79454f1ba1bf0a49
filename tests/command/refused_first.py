#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What can be refused is refused before anything is computed: refused_first.py HOPCAST SOURCE_FOLDER

Each command has a part that takes much longer than a second of a processor, and one, behind it, that is refused, whatever comes
out. It may have one second, after which the kernel ends it."""
import os
import resource
import subprocess
import sys
import tempfile

# The command, what it says, and where that is. big.hop and h8.hop are made here; NOWHERE is a folder that there is not.
PACKETS = ["predict", "big.hop", "--on", "torus:8x8x8", "--fidelity", "packet"]
MAP = ["stencil:32x32", "--on", "torus:16x8x8", "--start", "random"]
TUNE = ["tune", "collective", "allreduce,broadcast", "--on", "torus:8x8x8", "--sizes", "64KiB:1GiB*2"]
MEASURED = ["tune", "collective", "allreduce,broadcast", "--measured", "-n", "2", "--rounds", "1000"]
REFUSED = [
    (["tune", "puts", "--on", "apenet:2", "--sizes", "100MB,200MB,300MB"], "pieces of 65536 bytes are too many"),
    (["tune", "puts", "--on", "apenet:2", "--sizes", "256MiB,1GiB,2GiB", "--method", "direct"], "puts of 2147483648 bytes"),
    (["tune", "puts", "--on", "apenet:2", "--sizes", "256MiB", "--method", "direct", "--svg", "NOWHERE/x"], "cannot write"),
    ([*PACKETS, "--explain", "unknown"], "--explain: there is no operation 'unknown'"),
    ([*PACKETS, "--json", "--trace", "NOWHERE/x"], "cannot write"),
    ([*PACKETS, "--on", "t2"], "topology t2 has no device"),
    ([*PACKETS, "far.hop"], "has no device 'node512'"),
    ([*PACKETS, "--fault", "lose node0 -> node9999 at 20us"], "--fault"),
    (["predict", "big.hop", "--on", "torus:8x8x8", "--model", "fair", "--model", "pcie"], "model pcie rules no domain"),
    (["map", *MAP, "--launch", "rankfile"], "rankfile"),
    (["map", *MAP, "--launch", "openmpi", "--hosts", "a,b"], "--hosts names 2"),
    (["map", *MAP, "--launch", "openmpi", "--hosts", "n[1-3]"], "is no host name"),
    (["map", *MAP, "-o", "NOWHERE/x"], "cannot write"),
    (["map", *MAP, "--launch-dir", "NOWHERE/x"], "No such file"),
    (["plan", "stencil:16x16", "--on", "torus:8x8x4", "--launch", "vllm"], "vllm"),
    (["plan", "stencil:16x16", "--on", "torus:8x8x4", "--placement", "NOWHERE/x"], "cannot write"),
    (["order", "-e", "; ".join(f"t{i}: gpu{i % 4} -> gpu{4 + i // 4 % 4} {i + 1}MiB" for i in range(24)), "--on", "t2", "--mark", "unknown"],
     "there is no operation 'unknown'"),
    ([*TUNE, "--root", "999"], "the root 999 is no rank"),
    ([*TUNE, "--algorithms", "ring,unknown"], "--algorithms unknown"),
    ([*TUNE, "-o", "NOWHERE/x"], "cannot write"),
    ([*MEASURED, "--root", "99"], "the root 99 is no rank"),
    ([*MEASURED, "--sizes", "16MiB,1PiB"], "longer than 64 TiB"),
    (["tune", "copies", "-n", "2", "--rounds", "1000", "--sizes", "16MiB,1PiB"], "longer than 64 TiB"),
    (["tune", "copies", "-n", "2", "--rounds", "1000", "-o", "NOWHERE/x"], "cannot write"),
    (["tune", "paths", "--on", "helios", "--schedule", "big.hop", "--evaluations", "1000000"], "topology helios has no device"),
    (["tune", "paths", "--on", "helios", "-p", "pairs", "-o", "NOWHERE/x", "--evaluations", "1000000"], "cannot write"),
    (["calibrate", "data/measurements/pcie-2016.csv", "--on", "t2", "-o", "NOWHERE/x"], "cannot write"),
    (["calibrate", "data/measurements/pcie-2016.csv", "data/measurements/pcie-2016.csv", "NOWHERE/x", "--on", "t2"], "cannot open"),
    (["sweep", "big.hop", "--on", "torus:8x8x8", "--set", "link_bandwidth=1GB/s:9GB/s:0.01GB/s", "-o", "NOWHERE/x"], "cannot write"),
    (["measure", "--devices", "2", "--time", "9s", "--fit", "NOWHERE/x"], "cannot write"),
    (["measure", "--devices", "2", "--time", "9s", "--sizes", "4KiB,1PiB"], "longer than 64 TiB"),
    (["run", "allreduce", "--ranks", "2", "--bytes", "1GiB", "--csv", "NOWHERE/x"], "cannot write"),
]


def main():
    hopcast, source = (os.path.abspath(path) for path in sys.argv[1:])
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        for name, grid in (("big.hop", "8x8x8"), ("far.hop", "16x8x8")):
            subprocess.run([hopcast, "make", f"halo:{grid},bytes=64MiB", "--on", f"torus:{grid}", "-o", os.path.join(work, name)], check=True)
        os.symlink(os.path.join(source, "data"), os.path.join(work, "data"))
        for arguments, says in REFUSED:
            arguments = [a.replace("NOWHERE", work + "/nowhere") for a in arguments]
            done = subprocess.run([hopcast, *arguments], capture_output=True, text=True, cwd=work, stdin=subprocess.DEVNULL, timeout=100,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (1, 1)))
            if done.returncode != 2 or says not in done.stderr or done.stdout:
                failures += 1
                print("FAIL", " ".join(arguments), f"exit status {done.returncode}: {done.stdout[:200]}{done.stderr[:300]}")
    print(f"{len(REFUSED)} refusals, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
