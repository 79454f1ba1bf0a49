#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""
What `hopcast map --launch-dir` writes, run by the launchers themselves: every rank must be on its node, see its device
and, where cores are known, run on its core.

The launchers start their daemons by a stand-in for ssh, which runs them here and says in FAKE_HOST where they would be;
SLURM gets a controller and two daemons of this test's own. So two nodes are played on one machine, with its cores.

    launchers.py openmpi|mpich|slurm HOPCAST

Exit 77 (skipped) without the launcher; for SLURM also without root, munged, slurmctld, slurmd or device files.
"""
import collections
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

launcher, hopcast = sys.argv[1], os.path.abspath(sys.argv[2])
source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLUSTER = os.path.join(source, "data", "clusters", "two-dgx-a100.json")
GPUS = 8  # of each of its nodes, and of the lone machine
LIMIT_S = 240  # for a command that takes a second: it hangs
failures = 0

# What each rank prints. In a batch job SLURM's variables are there under other launchers, too.
SHOW = """\
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}}
cores=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
echo "rank $rank on ${FAKE_HOST:-${SLURMD_NODENAME:-localhost}} cores $cores devices ${CUDA_VISIBLE_DEVICES-all}"
"""
# ssh's stand-in: HOST COMMAND... Daemons of one machine would meet in its folder for temporary files.
FAKE_SSH = """\
#!/bin/sh
FAKE_HOST=$1
TMPDIR=$(dirname "$0")/$1
export FAKE_HOST TMPDIR
mkdir -p "$TMPDIR"
shift
exec sh -c "$*"
"""

# Machine, hosts, where each rank must be: the constraints make the mapping what this table says.
#   name: (topology, hosts, [(node, device) of rank 0, 1, ...], more options)
CASES = {
    "lone": ("dgx-a100", ["localhost"], [(0, 3), (0, 1), (0, 6), (0, 0)], []),
    "shared": ("dgx-a100", ["localhost"], [(0, 3), (0, 3), (0, 1), (0, 1)], ["--ranks-per-device", "2"]),
    "turn": (CLUSTER, ["alpha", "beta"], [(0, 3), (1, 1), (0, 0), (1, 6)], []),
    "blocks": (CLUSTER, ["alpha", "beta"], [(0, 3), (0, 1), (1, 3), (1, 1)], []),
    "uneven": (CLUSTER, ["alpha", "beta"], [(1, 5), (0, 2), (1, 4)], []),
    "swapped": (CLUSTER, ["beta", "alpha"], [(1, 0), (0, 7), (0, 6), (1, 2)], []),
}


def check(holds, what):
    global failures
    if not holds:
        failures += 1
        print("FAIL", what)
    return holds


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def numbers(text):
    """0-2,5 as a set."""
    found = set()
    for part in text.split(","):
        ends = [int(n) for n in part.split("-")]
        found.update(range(ends[0], ends[-1] + 1))
    return found


def write(path, text, mode=0o644):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def map_files(name, folder, cores):
    """The files of a case, written by the command; {} where it failed."""
    topology, hosts, seats, more = CASES[name]
    command = [hopcast, "map", "ring:%d" % len(seats), "--on", topology, "--no-simulation", "--metric", "distance",
               "--launch-dir", folder, "--hosts", ",".join(hosts), "--program", "sh ./show.sh"] + more
    for rank, (node, device) in enumerate(seats):
        device = "gpu%d" % device if len(hosts) == 1 else "node%d.gpu%d" % (node, device)
        command += ["--keep", "%d=%s" % (rank, device)]
    done = subprocess.run(command + (["--cores", "live"] if cores else []), capture_output=True, text=True, timeout=LIMIT_S)
    return check(done.returncode == 0, "%s: %s ended with %d: %s" % (name, command, done.returncode, done.stderr))


def core_numbers(folder):
    """The operating system's number of every rank's core, as devices.sh has it."""
    with open(os.path.join(folder, "devices.sh")) as file:
        return {int(r): int(c) for r, c in re.findall(r"^(\d+)\).*hop_core=(\d+)", file.read(), re.M)}


def look_at(name, folder, cores, done):
    _, hosts, seats, _ = CASES[name]
    seen = {int(rank): (host, numbers(allowed), devices) for rank, host, allowed, devices in
            re.findall(r"^rank (\d+) on (\S+) cores (\S+) devices (\S*)$", done.stdout, re.M)}
    what = "%s, %s cores" % (name, "with" if cores else "without")
    check(done.returncode == 0 and sorted(seen) == list(range(len(seats))),
          "%s: status %d, ranks %s\n%s%s" % (what, done.returncode, sorted(seen), done.stdout, done.stderr[-2000:]))
    where = core_numbers(folder) if cores else {}
    check(len(where) == (len(seats) if cores else 0), "%s: every rank has a core" % what)
    for rank, (host, allowed, devices) in seen.items():
        node, device = seats[rank]
        check(host == hosts[node], "%s: rank %d is on %s, not %s" % (what, rank, host, hosts[node]))
        check(devices == str(device), "%s: rank %d sees %s, not %d" % (what, rank, devices, device))
        if cores and rank in where:
            # A launcher may bind to all threads of the core.
            with open("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list" % where[rank]) as file:
                threads = numbers(file.read().strip())
            check(where[rank] in allowed and allowed <= threads,
                  "%s: rank %d runs on %s, not %d" % (what, rank, sorted(allowed), where[rank]))
    return len(seen)


# ---- mpirun ----

def run_mpirun(work, folder):
    return subprocess.run(["sh", os.path.join(folder, launcher + ".sh")], cwd=work, capture_output=True, text=True,
                          timeout=LIMIT_S)


def prepare_mpirun(work):
    program = "mpirun." + launcher
    if not shutil.which(program):
        skip("there is no " + program)
    os.mkdir(os.path.join(work, "bin"))
    write(os.path.join(work, "bin", "mpirun"), '#!/bin/sh\nexec %s "$@"\n' % shutil.which(program), 0o755)
    remote = os.path.join(work, "remote")  # Open MPI has options of its own for one named ssh
    write(remote, FAKE_SSH, 0o755)
    os.environ["PATH"] = os.path.join(work, "bin") + ":" + os.environ["PATH"]
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", LC_ALL="C",
                      OMPI_MCA_plm_rsh_agent=remote, OMPI_MCA_plm_rsh_no_tree_spawn="1", OMPI_MCA_routed="direct",
                      HYDRA_LAUNCHER="rsh", HYDRA_LAUNCHER_EXEC=remote)


# ---- SLURM ----

CONF = """\
ClusterName=hopcast
SlurmctldHost=%(host)s(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=%(port)d
AuthType=auth/munge
AuthInfo=socket=%(work)s/munge.sock
StateSaveLocation=%(work)s/state
SlurmdSpoolDir=%(work)s/spool_%%n
SlurmctldPidFile=%(work)s/slurmctld.pid
SlurmdPidFile=%(work)s/slurmd_%%n.pid
SlurmctldLogFile=%(work)s/slurmctld.log
SlurmdLogFile=%(work)s/slurmd_%%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
GresTypes=gpu
MpiDefault=none
ReturnToService=2
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=alpha NodeHostname=%(host)s NodeAddr=127.0.0.1 Port=%(first)d CPUs=%(cpus)d Gres=gpu:%(gpus)d State=UNKNOWN
NodeName=beta NodeHostname=%(host)s NodeAddr=127.0.0.1 Port=%(second)d CPUs=%(cpus)d Gres=gpu:%(gpus)d State=UNKNOWN
NodeName=localhost NodeHostname=%(host)s NodeAddr=127.0.0.1 Port=%(third)d CPUs=%(cpus)d Gres=gpu:%(gpus)d State=UNKNOWN
PartitionName=all Nodes=alpha,beta,localhost Default=YES State=UP OverSubscribe=EXCLUSIVE
"""


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def prepare_slurm(work):
    for tool in ("salloc", "srun", "slurmctld", "slurmd", "munged"):
        if not shutil.which(tool):
            skip("there is no " + tool)
    if os.geteuid() != 0:
        skip("daemons of several nodes want root")
    try:
        for gpu in range(GPUS):
            os.mknod(os.path.join(work, "gpu%d" % gpu), 0o020644, os.makedev(1, 3))
    except OSError as error:
        skip("no device files can be made: %s" % error)
    ports = free_ports(4)
    write(os.path.join(work, "slurm.conf"),
          CONF % {"host": socket.gethostname().split(".")[0], "work": work, "port": ports[0], "first": ports[1],
                  "second": ports[2], "third": ports[3], "cpus": os.sysconf("SC_NPROCESSORS_CONF"), "gpus": GPUS})
    write(os.path.join(work, "gres.conf"), "Name=gpu File=%s/gpu[0-%d]\n" % (work, GPUS - 1))
    write(os.path.join(work, "cgroup.conf"), "CgroupAutomount=no\n")
    os.mkdir(os.path.join(work, "state"))
    with open(os.path.join(work, "munge.key"), "wb") as file:
        os.fchmod(file.fileno(), 0o400)
        file.write(os.urandom(128))
    os.environ.update(SLURM_CONF=os.path.join(work, "slurm.conf"), LC_ALL="C")
    munge = ["munged", "--force", "--num-threads=2"] + ["--%s=%s/munge.%s" % (option, work, end) for option, end in (
        ("socket", "sock"), ("key-file", "key"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed"))]
    for command in (munge, ["slurmctld", "-i"], ["slurmd", "-N", "alpha"], ["slurmd", "-N", "beta"],
                    ["slurmd", "-N", "localhost"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
        if done.returncode != 0:
            stop_slurm(work)
            skip("%s does not start here: %s" % (command[0], done.stderr[-500:]))
    for _ in range(600):
        done = subprocess.run(["sinfo", "-h", "-o", "%T %D"], capture_output=True, text=True, timeout=LIMIT_S)
        if done.stdout.split() == ["idle", "3"]:
            return
        time.sleep(0.2)
    stop_slurm(work)
    skip("the nodes never become idle: %s" % done.stdout)


def stop_slurm(work):
    """The daemons that wrote their numbers there, and no others."""
    for name in ("slurmd_alpha", "slurmd_beta", "slurmd_localhost", "slurmctld", "munge"):
        try:
            with open(os.path.join(work, name + ".pid")) as file:
                pid = int(file.read())
            os.kill(pid, signal.SIGTERM)
            for _ in range(100):
                os.kill(pid, 0)
                time.sleep(0.05)
        except (OSError, ValueError):
            pass


def run_slurm(work, folder):
    """As the script's own comment says."""
    script = os.path.join(folder, "slurm.sh")
    with open(script) as file:
        line = re.search(r"^#     (salloc .*) sh slurm.sh$", file.read(), re.M)
    check(line is not None, "the script says how it is run")
    return subprocess.run(line.group(1).split() + ["--quiet", "sh", script], cwd=work, capture_output=True, text=True,
                          timeout=LIMIT_S)


# ---- all ----

def stranger(work, folder):
    """A rank more than there are in the map says so; nobody starts."""
    line = ["mpirun", "-n", "5"] + (["--oversubscribe"] if launcher == "openmpi" else [])
    done = subprocess.run(line + ["sh", os.path.join(folder, "devices.sh"), "sh", "./show.sh"], cwd=work,
                          capture_output=True, text=True, timeout=LIMIT_S)
    check(done.returncode != 0 and "rank '4' is not among those mapped, 0 to 3" in done.stderr + done.stdout,
          "a stranger is refused: %d %s" % (done.returncode, done.stderr[-500:]))


def with_and_without_cores():
    """Cores must be known to the command, and be ours to run on."""
    done = subprocess.run([hopcast, "map", "ring:2", "--on", "dgx-a100", "--no-simulation", "--metric", "distance",
                           "--cores", "core:2 pu:1"], capture_output=True, text=True, timeout=LIMIT_S)
    if "this build has no hwloc" in done.stderr:
        print("no cores: hopcast was built without hwloc")
    elif len(os.sched_getaffinity(0)) < os.sysconf("SC_NPROCESSORS_CONF"):
        print("no cores: this process may not run on all processors")
    else:
        return (True, False)
    return (False,)


def everything(work, run):
    write(os.path.join(work, "show.sh"), SHOW)
    ranks = 0
    for name, cores in itertools.product(CASES, with_and_without_cores()):
        folder = os.path.join(work, "the %s%s" % (name, "" if cores else " without cores"))
        begin = time.time()
        most = max(collections.Counter(node for node, _ in CASES[name][2]).values())
        if launcher == "slurm" and not cores and most > os.sysconf("SC_NPROCESSORS_CONF"):
            continue  # srun refuses more tasks than processors
        if map_files(name, folder, cores):
            ranks += look_at(name, folder, cores, run(work, folder))
        print("%-8s %-13s %5.1f s" % (name, "cores" if cores else "without cores", time.time() - begin))
    if launcher != "slurm":
        stranger(work, os.path.join(work, "the lone without cores"))
    print("%d ranks, %d failures" % (ranks, failures))


def main():
    work = tempfile.mkdtemp(prefix="launchers")
    try:
        if launcher == "slurm":
            prepare_slurm(work)
            try:
                everything(work, run_slurm)
            finally:
                stop_slurm(work)
        else:
            prepare_mpirun(work)
            everything(work, run_mpirun)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(1 if failures else 0)


main()
