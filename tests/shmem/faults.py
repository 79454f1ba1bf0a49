#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""OpenSHMEM programs that go wrong (faults.c), and PEs that die: faults.py BUILD [COUNT [SEED]]

Calls that are wrong end all PEs with a message that names the PE, the call, what is wrong and what was expected. A PE that leaves
while the others wait for it ends them, too; one that leaves while another works does not. Of COUNT
programs a PE dies, or the launcher gets a signal, at a random moment: the others end, the message names the dead one, the exit
status is not 0, and no process and no name in /dev/shm is left. HOPCAST_SOAK: 300 of them, and each within 5 s; else 12, which
end at all."""
import concurrent.futures
import glob
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

SOAK = bool(os.environ.get("HOPCAST_SOAK"))
PATIENCE_S = 5 if SOAK else 100  # a busy machine delays all
SYMMETRIC = r"bytes at \S+ are not symmetric\n  expected: memory of shmem_malloc"
SAME = r"(rank|PE) 1 .*\n  expected: the same"
# faults.c's WHAT: the call, and the message
WRONG = {
    "unequal": ("malloc", r"PE 1 allocates 200 bytes.*\n  expected: all PEs allocate"),
    "unequal_free": ("free", r"PE 1 frees the block at.*\n  expected: all PEs allocate"),
    "bytes": ("long_sum_reduce", SAME),
    "kind": ("(long_broadcast|barrier_all)", SAME),
    "root": ("long_broadcast", SAME),
    "operation": ("long_(max|min)_reduce", SAME),
    "stack": ("long_put", SYMMETRIC),
    "null": ("long_p", SYMMETRIC),
    "beyond": ("putmem", SYMMETRIC),
    "negative": ("long_get", SYMMETRIC),
    "overflow": ("long_put", SYMMETRIC),
    "stride": ("long_iput", r"the stride is -8 bytes\n  expected: 1 element or more"),
    "pe": ("long_p", r"there is no PE 3\n  expected: 0 to 2"),
    "negative_pe": ("long_g", r"there is no PE -1\n  expected: 0 to 2"),
    "amo_pe": ("long_atomic_inc", r"there is no PE 99\n  expected: 0 to 2"),
    "signal": ("long_put_signal", SYMMETRIC),
    "lock": ("set_lock", SYMMETRIC),
    "unlocked": ("clear_lock", r"nobody has the lock at \S+\n  expected: a lock"),
    "cmp": ("long_wait_until", r"77 is no comparison\n  expected: SHMEM_CMP_EQ"),
    "context": ("ctx_long_p", r"the context is SHMEM_CTX_INVALID\n  expected: a context"),
    "dead_context": ("ctx_long_p", r"\S+ is no context\n  expected: what shmem_ctx_create gave"),
    "team": ("team_my_pe", r"\S+ is no team\n  expected: what shmem_team_split_strided gave"),
    "free": ("free", r"nothing that is in use begins at \S+\n  expected: what shmem_malloc"),
    "set": ("barrier", r"4 PEs from 0 on, a stride of 2\^3 apart, are not among the 3\n  expected: PEs that there are"),
    "dest": ("long_sum_reduce", SYMMETRIC),
}
ANY_PE = {"unequal", "unequal_free", "bytes", "kind", "root", "operation"}
# PE 1 ends with 0, returns or finalizes, while others wait for it in what needs it.
LEAVES = [(place, how) for place in ("wait", "test", "barrier", "pair") for how in ("exits", "returns", "finalizes")]
LEAVES += [("reduce", "exits"), ("malloc", "returns"), ("split", "finalizes")]
PATIENCE = {"HOPCAST_PATIENCE": "0.2"}
WELL = (["early"], ["exhaust"], ["bear"], ["thread"], ["repeat"], ["apart", "3"], ["apart", "5"])
PLACES = ("barrier", "puts", "wait", "test", "reduce", "malloc", "lock", "split", "again", "after")
HOWS = ("kill", "segv", "abort", "_exit", "exit")


class Job:
    """A program under the launcher; its processes are known by a mark in their environment."""
    number = 0

    def __init__(self, *arguments, **environment):
        Job.number += 1
        self.mark = f"FAULTS_OF={os.getpid()}.{Job.number}".encode()
        name, value = self.mark.decode().split("=")
        self.seen = set()
        self.output = tempfile.TemporaryFile("w+")
        self.launcher = subprocess.Popen([hopcast, "launch", "-n", "3", "--heap", "64M", program, *arguments],
                                         stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output,
                                         env=dict(os.environ, LC_ALL="C", **{name: value}, **environment))

    def look(self):
        """The processes that live."""
        alive = set()
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) < self.launcher.pid:
                continue
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    ours = self.mark in file.read().split(b"\0")
                with open(f"/proc/{entry}/stat") as file:
                    ours = ours and file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
            except OSError:
                continue
            if ours:
                alive.add(int(entry))
        self.seen |= alive
        return alive

    def end(self, patience_s=PATIENCE_S + 30):
        """(exit status, None: it does not end; what it said)"""
        try:
            self.launcher.wait(patience_s)
        except subprocess.TimeoutExpired:
            for pid in self.look():
                os.kill(pid, signal.SIGKILL)
            self.launcher.wait()
            return None, self.text()
        return self.launcher.returncode, self.text()

    def text(self):
        self.output.seek(0)
        return self.output.read()

    def names(self):
        return [name for pid in self.seen | {self.launcher.pid} for name in glob.glob(f"/dev/shm/hopcast-{pid}-*")]


def call_wrongly(what):
    call, message = WRONG[what]
    status, said = Job(what, SHMEM_DEBUG="1").end()
    who = r"PE \d" if what in ANY_PE else "PE 1"
    fine = status not in (0, None) and re.search(f"hopcast: {who}, shmem_{call}: .*{message}", said)
    return what, [] if fine else [f"exit status {status}: {said}"]


def go_well(arguments):
    status, said = Job(*arguments, **PATIENCE).end()
    return " ".join(arguments), [] if status == 0 else [f"exit status {status}: {said}"]


def leave(place, how):
    status, said = Job(place, how, **PATIENCE).end()
    fine = status not in (0, None) and re.search("^hopcast: rank 1 has finished or ended with status 0, and all others", said)
    return f"{place}, PE 1 {how}", [] if fine else [f"exit status {status}: {said}"]


def spoil_profile():
    """A stored profile that is cut, of something else or nonsense is told, measured again and stored whole."""
    with tempfile.TemporaryDirectory() as folder:
        faults = []
        status, said = Job("space", HOPCAST_SHMEM_PROFILES=folder).end()
        path = glob.glob(folder + "/*.steps")[0]
        whole = open(path).read()
        key, head, rest = whole.split("\n", 2)
        cases = {"": "another", key + "\nnonsense\n": "damaged", f"{key}\n{head}\n": "damaged",
                 f"{key}\nsteps copy read\n1KiB 1us 1us\n": "damaged", f"{key}\n{head}\n{rest[:30]}": "damaged",
                 whole.replace("read", "reed", 1): "damaged", "# other\n" + whole: "another"}
        for text, word in cases.items():
            with open(path, "w") as file:
                file.write(text)
            status, said = Job("space", HOPCAST_SHMEM_PROFILES=folder).end()
            again = open(path).read().split("\n", 2)
            if status != 0 or f"is {word}" not in said.replace("of another", "another") or again[:2] != [key, head]:
                faults.append(f"{text!r}: exit status {status}: {said}")
        status, said = Job("space", HOPCAST_SHMEM_PROFILES=folder).end()
        return "profile", faults if status == 0 and not said else faults + [f"a whole one: {status}: {said}"]


def die(number):
    """A PE, by itself after a while, or the launcher, by a signal."""
    draw = random.Random(f"{seed} {number}")
    place, how = PLACES[number % len(PLACES)], draw.choice(HOWS)
    moment_us = int(10 ** draw.uniform(2, 5.7))
    sent = draw.choice((None, None, None, signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
    job = Job(place, *((how, str(moment_us)) if not sent else ("none", "2000000000")) if place != "after" else (how,))
    begun = time.monotonic()
    while sent and time.monotonic() - begun < moment_us / 1e6:
        time.sleep(0.0005)
    if sent:
        job.look()
        job.launcher.send_signal(sent)
    begun = time.monotonic() + (0 if sent else moment_us / 1e6)
    faults = []
    status, said = job.end()
    while job.look() and time.monotonic() - begun < PATIENCE_S:
        time.sleep(0.01)
    took_s = time.monotonic() - begun
    if status is None or job.look() or took_s > PATIENCE_S:
        faults.append(f"processes left or late: {took_s:.1f} s, {job.look()}")
    died = place != "after" or sent
    if status == 0:
        faults.append("exit status 0")
    if not sent and not re.search(r"(rank|PE) 1\b", said) and (place != "after" or how not in ("exit", "_exit")):
        faults.append("PE 1 is not named: " + said)
    caught = sent in (signal.SIGTERM, signal.SIGINT) and status != -sent  # else it had only begun
    if caught and place != "after" and "stopped by a signal" not in said:
        faults.append("no word of the signal: " + said)
    if place == "after" and sent:  # it may have ended before
        faults = [f for f in faults if f != "exit status 0"]
    if sent != signal.SIGKILL and job.names():
        faults.append(f"names are left: {job.names()}")
    what = f"{number}: {place}, {sent.name + ' to the launcher' if sent else how} after {moment_us} us: {took_s:.1f} s, {status}"
    return what, [f"{f} ({said})" for f in faults] if died or faults else []


def main():
    failures, slowest = 0, 0
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        tasks = [pool.submit(call_wrongly, what) for what in WRONG]
        tasks += [pool.submit(go_well, arguments) for arguments in WELL]
        tasks += [pool.submit(leave, *case) for case in LEAVES]
        tasks.append(pool.submit(spoil_profile))
        tasks += [pool.submit(die, number) for number in range(count)]
        for task in tasks:
            what, faults = task.result()
            failures += bool(faults)
            if faults or SOAK:
                print(what, *(["FAIL", *faults] if faults else []), flush=True)
    # What was left by those whose launcher was killed, the next one removes.
    Job("apart", "1").end()
    left = glob.glob("/dev/shm/hopcast-*")
    gone = [name for name in left if not os.path.exists("/proc/" + name.split("-")[1])]
    if gone:
        failures += 1
        print("FAIL names of processes that are gone:", gone)
    print(f"{len(WRONG)} wrong calls, {len(LEAVES)} PEs that leave, {len(WELL)} programs that go well, {count} ends, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    build = os.path.abspath(sys.argv[1])
    hopcast = os.path.join(build, "hopcast")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 300 if SOAK else 12
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    with tempfile.TemporaryDirectory() as work:
        program = os.path.join(work, "faults")
        subprocess.run([os.path.join(build, "hopcast-shmemcc"), "-O1", "-pthread",
                        os.path.join(os.path.dirname(os.path.abspath(__file__)), "faults.c"), "-o", program], check=True)
        sys.exit(main())
