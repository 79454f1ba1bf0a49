#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""libhopcast_mpi.so beside an MPI of the standard ABI, known by MPI_Abi_get_version: standard.py BUILD PROGRAM"""
import json
import os
import subprocess
import sys
import tempfile

build, program = map(os.path.abspath, sys.argv[1:3])
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run([program], cwd=folder, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LD_PRELOAD": os.path.join(build, "libhopcast_mpi.so")})
    if done.returncode or done.stderr:
        sys.exit(f"{done}")
    with open(os.path.join(folder, "hopcast-traffic.json")) as file:
        traffic = json.load(file)
found = {(row["class"], row["from"], row["to"]): (row["host_bytes"], row["host_messages"]) for row in traffic["pairs"]}
wanted = {("point_to_point", 0, 2): (40, 1), ("point_to_point", 0, 3): (40, 1)}
wanted.update({("collective", 0, to): (7 + 12 + 8 * (to == 1), 2 + (to == 1)) for to in (1, 2, 3)})
if found != wanted or traffic["mpi"] != "stand-in 1.0" or traffic["ranks"] != 4:
    sys.exit(f"{found}, not {wanted}; {traffic['mpi']}")
print("counted by the standard ABI")
