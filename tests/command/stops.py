#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Searches that are stopped at any moment between their begin and their natural end, by time, by states and by a signal, with every
output that the command's option table has: the best so far stands there, whole.

    stops.py HOPCAST

With HOPCAST_SOAK=1 each search is stopped at 40 moments in each way with each output, else at two. Exit 0: as documented; 1: not.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HOPCAST = os.path.abspath(sys.argv[1])
SOAK = os.environ.get("HOPCAST_SOAK")
MOMENTS = 40 if SOAK else 2
PATIENCE_S = 600  # against a hang

# The command, what limits its states, where its answer has the number that it came to, and the number of ranks.
SEARCHES = [
    (["plan", "allreduce", "--bytes", "1.5MiB", "--on", "t1"], "--max-nodes", "nodes", 8),
    (["plan", "across.hop", "--on", "helios", "--keep"], "--max-nodes", "nodes", 4),
    (["order", "order.hop", "--on", "t2"], "--max-nodes", "nodes", 8),
    (["map", "order.hop", "--on", "t2"], "--max-operations", "operations_simulated", 8),
]
if SOAK:
    SEARCHES += [
        (["plan", "halo:2x2x2", "--on", "t2", "--robust"], "--max-nodes", "nodes", 8),
        (["plan", "broadcast", "--bytes", "4MiB", "--on", "helios", "-n", "4"], "--max-nodes", "nodes", 4),
        (["plan", "order.hop", "--on", "t2", "--way", "staged"], "--max-nodes", "nodes", 8),
        (["order", "order.hop", "--on", "t2", "--robust"], "--max-nodes", "nodes", 8),
        (["map", "stencil:4x2", "--on", "helios", "--exclude", "gpu0"], "--max-operations", "operations_simulated", 8),
    ]
# What options that show or write something are given: a file's name, False: nothing; None: they go with something else alone.
OUTPUTS = {"--output": "out", "--placement": "out.map", "--svg": "out.svg", "--launch-dir": "launch", "--placed": "out.placed",
           "--quiet": False, "--draw": False, "--gantt": False, "--json": None, "--launch": None, "--ascii": None, "--histogram": None,
           "--hosts": None, "--program": None}
failures = []


def expect(holds, command, what):
    if not holds:
        failures.append(f"{' '.join(command)}: {what}")


def outputs_of(command, arguments):
    """All that fit together, and JSON alone."""
    text = subprocess.run([HOPCAST, command, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    shown = text.split("What is shown:")[1].split("\n\n")[0]
    options = re.findall(r"^  (?:-.|  )[, ] (--[a-z-]+)", shown, re.M)
    unknown = [option for option in options if option not in OUTPUTS]
    expect(not unknown, [command], f"options that this test knows nothing of: {unknown}")
    files = []
    for option in options:
        refused = option == "--svg" and "--robust" in arguments and command == "order"
        refused |= option == "--placed" and not arguments[1].endswith(".hop")
        if OUTPUTS.get(option) is not None and not refused:
            files += [option, OUTPUTS[option]] if OUTPUTS[option] else [option]
    return [files, ["--json"]]


def start(command, folder):
    return subprocess.Popen([HOPCAST, *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(job, command):
    try:
        out, err = job.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        job.kill()
        job.communicate()
        expect(False, command, "does not end")
        return "", "", 0
    return out, err, job.returncode


def catches(pid):
    try:
        for line in open(f"/proc/{pid}/status", encoding="ascii"):
            if line.startswith("SigCgt:"):
                return int(line.split()[1], 16) >> (signal.SIGINT - 1) & 1
    except (FileNotFoundError, ProcessLookupError):
        pass
    return False


def interrupt(job, delay_s):
    while job.poll() is None and not catches(job.pid):
        time.sleep(0.002)
    time.sleep(delay_s)
    if job.poll() is None:
        job.send_signal(signal.SIGINT)


def check_files(command, folder, ranks, found):
    names = {OUTPUTS[option] for option in command if OUTPUTS.get(option)}
    there = set(os.listdir(folder)) - {"order.hop", "across.hop"}
    needs_best = {"out", "out.svg"} if not found else set()
    expect(names - needs_best <= there and there <= names, command, f"files {sorted(there)}, not {sorted(names)}")
    for name in sorted(there - {"launch"}):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        if name.endswith(".svg"):
            expect(text.startswith("<svg") and text.endswith("</svg>\n"), command, f"{name} is not whole")
        elif name == "out.map" or (name == "out" and command[0] == "map"):
            lines = [line for line in text.splitlines() if not line.startswith("#")]
            expect(len(lines) == ranks, command, f"{name} has {len(lines)} ranks")
        else:
            machine = command[command.index("--on") + 1]
            done = subprocess.run([HOPCAST, "predict", name, "--on", machine, "--range", "none"], cwd=folder, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
            expect(done.returncode == 0, command, f"{name} cannot be predicted: {done.stdout[-300:]}")


def check_answer(command, answer, ranks):
    """It is not worse than what was given, and nothing was lost on the way."""
    if command[0] == "plan":
        given, value = answer["ladder"][0]["value_s"], answer["value_s"]
        expect(value is None or (answer["best"] and given is not None and value <= given * (1 + 1e-9)), command,
               f"the plan takes {value}, what was given {given}")
    elif command[0] == "order":
        expect(answer["best"] is not None, command, "there is no best order")
    else:
        expect(len(answer["ranks"]) == ranks, command, "there is no mapping")


def stop(search, outputs, way, moment, ranks, limit, natural_s, natural_states, made):
    command = [*search, *outputs]
    if way == "time":
        command += ["--time-limit", f"{max(1e-6, moment * natural_s):.6f}s"]
    if way == "states":
        command += [limit, str(int(moment * natural_states) + 1)]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in made.items():
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(text)
        job = start(command, folder)
        if way == "signal":
            interrupt(job, moment * natural_s)
        out, err, status = end(job, command)
        command.append(f"({way} at {moment:.3f} of {natural_s:.2f} s)")
        expect(status == 0 or (status == 1 and command[0] == "plan"), command, f"ended with {status}: {err[-300:]}")
        if status in (0, 1) and "--json" in command:
            check_answer(command, json.loads(out), ranks)
        elif status in (0, 1):
            expect("found in" in out or command[0] != "plan", command, f"printed {out[-300:]}")
            check_files(command, folder, ranks, status == 0)


def main():
    made = {"across.hop": "gpu0 -> gpu4 16MiB\ngpu4 -> gpu0 16MiB\ngpu1 -> gpu5 16MiB\ngpu5 -> gpu1 16MiB\n",
            "order.hop": subprocess.run([HOPCAST, "make", "halo:2x2x2,order=column", "--on", "t2", "--bytes", "3MiB"],
                                        stdout=subprocess.PIPE, text=True, check=True).stdout}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in made.items():
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(text)
        for search, limit, states, ranks in SEARCHES:
            begun_s = time.monotonic()
            job = start([*search, "--json", *([] if SOAK else [limit, "20000"])], folder)
            out, err, status = end(job, search)
            natural_s = time.monotonic() - begun_s
            expect(status == 0, search, f"ended with {status}: {err}")
            if status != 0:
                continue
            natural_states = json.loads(out)[states]
            for i in range(MOMENTS):
                for k, way in enumerate(("time", "states", "signal")):
                    for o, outputs in enumerate(outputs_of(search[0], search)):
                        if SOAK or (i + k) % 2 == o:
                            stop(search, outputs, way, i / MOMENTS + 1 / (2 * MOMENTS), ranks, limit, natural_s, natural_states, made)
            print(f"{' '.join(search)}: {natural_s:.2f} s, {natural_states:.0f} states")
    for failure in failures:
        print("FAIL", failure)
    return 1 if failures else 0


sys.exit(main())
