#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hosts that are network namespaces (bench/namespaces.py): a schedule runs across them with every byte as it should be,
and nothing of them stays when the script that made them fails or is ended.

    hosts.py HOPCAST

Exit 0: so it is; 1: not; 77: skipped, since there is no Open MPI or no namespaces may be made.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench"))
import namespaces  # noqa: E402

MARK = f"HOPCAST_HOSTS_TEST={os.getpid()}"
EXCHANGE = """there: 0@node0 -> 3@node3 300kB
back: 3@node3 -> 0@node0 300kB
aside: 1@node1 -> 2@node2 300kB
on: 2@node2 -> 0@node0 100kB after aside
"""


def tree(folder, queue):
    net = namespaces.Tree(folder, hosts=4, leaves=2, mbit=800, queue=queue)
    net.build()
    return net


def runs(hopcast, folder):
    schedule, result = f"{folder}/exchange.hop", f"{folder}/run.json"
    with open(schedule, "w", encoding="utf-8") as file:
        file.write(EXCHANGE)
    net = tree(folder, "port")
    net.remove()
    net = tree(folder, "flow")
    net.run([hopcast, "run", schedule, "--json", "-o", result, "--timeout", "60"], range(4), **namespaces.UNASKED)
    with open(result, encoding="utf-8") as file:
        return sorted(t["id"] for t in json.load(file)["transfers"]) == ["aside", "back", "on", "there"]


def stays(folder, how):
    """A process in a host and one outside, and then the script fails or waits for its end."""
    tree(folder, "flow")
    subprocess.Popen(["ip", "netns", "exec", "h1", "sleep", "1000"])
    subprocess.Popen(["sleep", "1000"])
    print("ready", flush=True)
    if how == "fails":
        raise OSError("as the test has it")
    time.sleep(1000)


def left():
    """Processes that have the mark."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if MARK.encode() in file.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def is_gone(hopcast, how, number):
    with tempfile.TemporaryDirectory() as folder:
        name, value = MARK.split("=")
        child = subprocess.Popen([sys.executable, __file__, hopcast, folder, how], env={**os.environ, name: value},
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        child.stdout.readline()
        were = len(left())
        if number:
            child.send_signal(number)
        status = child.wait()
        until = time.monotonic() + 20
        while left() and time.monotonic() < until:
            time.sleep(0.02)
        gone = were >= 3 and not left() and status == (-number if number else 1)
        print(f"{'ok' if gone else 'FAILED'}      {how}: status {status}, processes {were}, then {len(left())}")
        return gone


def main():
    hopcast = os.path.abspath(sys.argv[1])
    if len(sys.argv) > 2:
        namespaces.enter()
        folder, how = sys.argv[2:]
        if how == "runs":
            return 0 if runs(hopcast, folder) else 1
        return stays(folder, how)
    reason = namespaces.why_not(hopcast)
    if reason:
        print(f"skipped: {reason}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        fine = subprocess.run([sys.executable, __file__, hopcast, folder, "runs"], check=False).returncode == 0
    print(f"{'ok' if fine else 'FAILED'}      runs")
    for how, number in (("fails", 0), ("SIGTERM", signal.SIGTERM), ("SIGKILL", signal.SIGKILL)):
        fine = is_gone(hopcast, how, number) and fine
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
