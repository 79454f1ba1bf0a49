#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `hopcast plan` says to be faster is faster when it is run: on emulated links, the schedule as given and as
planned.

    plan_runs.py HOPCAST

The links run in real time, so on a busy machine a run may be late; then it is tried again, four times as slow. Exit 0:
faster; 1: not, however slow, or a byte was wrong. bench/plan_runs is the long form.
"""
import json
import subprocess
import sys
import tempfile

CASES = (("t2", "halo:4x2"), ("pcie-8gpu-2root", "coll:2x2x2"))
RUN_S, SLOWEST = 0.1, 64  # that the planned one takes at first; times as slow at most


def hopcast(*arguments):
    return subprocess.run([sys.argv[1], *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def is_faster(folder, machine, predicted_s):
    """Bytes are checked, too: a wrong one is an error."""
    slow = 1
    while slow <= SLOWEST:
        slower = str(round(slow * RUN_S / predicted_s))
        given, planned = (json.loads(hopcast("run", f"{folder}/{name}.hop", "--emulate", machine, "--slower", slower,
                                             "--timeout", "60", "--json"))["makespan_s"]
                          for name in ("given", "planned"))
        if given > 1.02 * planned:
            return True
        slow *= 4
    return False


def main():
    failed = 0
    for machine, exchange in CASES:
        with tempfile.TemporaryDirectory() as folder:
            hopcast("make", exchange, "--on", machine, "--bytes", "256KiB", "-o", f"{folder}/given.hop")
            hopcast("plan", f"{folder}/given.hop", "--on", machine, "--max-nodes", "20000", "-q", "-o",
                    f"{folder}/planned.hop")
            given_s, planned_s = (json.loads(hopcast("predict", f"{folder}/{name}.hop", "--on", machine, "--range",
                                                     "none", "--json"))["makespan_s"]
                                  for name in ("given", "planned"))
            fine = given_s > 1.5 * planned_s and is_faster(folder, machine, planned_s)
            print(f"{'ok' if fine else 'FAILED'}      {exchange} on {machine}: {given_s / planned_s:.2f} times as fast "
                  "is predicted")
            failed += not fine
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
