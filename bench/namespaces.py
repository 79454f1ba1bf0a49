# SPDX-License-Identifier: BSD-3-Clause
"""Several hosts on one machine: a tree of network namespaces in which Open MPI runs over TCP.

    reason = namespaces.why_not(hopcast)
    namespaces.enter()                             at the start of a script, where there is no reason against it
    net = namespaces.Tree(folder)
    net.build()
    net.run([hopcast, "run", ...], [0, 3, 5])      rank 0 on host 0, rank 1 on host 3, ...

    spine --- leaf0 --- h0, h1, ...       leaves and the spine are bridges, cables are pairs of virtual cards, each of
          --- leaf1 --- ...               which sends at the rate of the link

The script and all that it starts run in namespaces of their own (network, mounts, process numbers): when it ends, in
whatever way, the kernel ends the processes and removes hosts, links and switches. Root is not needed where users may
have namespaces.

Queues in front of a link, QUEUES:
    flow   a short queue for each pair of hosts, served in turn, and before them what is short (acknowledgements), as
           fq_codel does. Networks of clusters come near that: short queues, shares kept even by credits or marks
    port   one queue for all, which drops what does not fit into it: the plainest switch. What shares there are is up to
           TCP
Packets are of so many segments: 6 are about the jumbo frames of clusters, and take less of the processor than 1.
"""
import ctypes
import os
import shutil
import signal
import subprocess
import sys

INSIDE = "HOPCAST_NAMESPACES"
TOOLS = ("ip", "tc", "mount", "hostname", "unshare", "mpirun.openmpi")
NET = "10.77.0"
QUEUES = ("flow", "port")
FLOW_LIMIT_S, PORT_LIMIT_S = 3e-3, 10e-3  # what a queue holds takes so long to send
BURST, FRAME = "8kb", "1514"
SETTINGS = ("net.ipv4.tcp_congestion_control=reno", "net.ipv4.tcp_no_metrics_save=1",
            "net.ipv4.tcp_rmem=4096 4194304 8388608")  # what arrives finds room, however late its reader wakes up
# A message goes without asking first: the answer to the question would wait behind what the other one sends. A thread
# takes what comes: TCP acknowledges to a rank that seldom looks only when it looks.
UNASKED = {**{f"btl_tcp_{name}": str(5 << 20) for name in ("eager_limit", "rndv_eager_limit", "max_send_size")},
           "btl_tcp_progress_thread": "1"}
OWN_PLACES = ("/run", "/dev/shm")  # names of hosts, files of Open MPI and of ranks: they go, too
PR_SET_PDEATHSIG = 1


def unshared():
    user = ["--map-root-user"] if os.geteuid() else []
    return ["unshare", *user, "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


def why_not(hopcast):
    """Why there can be no hosts here; empty if there can, or are."""
    if os.environ.get(INSIDE):
        return ""
    for tool in TOOLS:
        if not shutil.which(tool):
            return f"there is no {tool}"
    beside = os.path.dirname(os.path.abspath(hopcast))
    folders = (os.environ.get("HOPCAST_MPI_PATH", ""), beside, os.path.join(beside, "hopcast"))
    if not any(os.path.exists(os.path.join(folder, "hopcast-openmpi.so")) for folder in folders):
        return f"there is no hopcast-openmpi.so beside {hopcast}"
    tried = subprocess.run([*unshared(), "ip", "link", "add", "name", "tried", "type", "bridge"], capture_output=True,
                           text=True, check=False)
    return f"namespaces are not allowed: {tried.stderr.strip()}" if tried.returncode else ""


def command(*words, lines=()):
    """Lines: what a batch reads."""
    done = subprocess.run(words, input="".join(f"{line}\n" for line in lines), capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def enter():
    """Goes on in namespaces of its own, as the child of a process that waits for it and has its exit status."""
    if os.environ.get(INSIDE):
        for place in OWN_PLACES:
            command("mount", "-t", "tmpfs", "tmpfs", place)
        command("hostname", "switches")
        return
    with subprocess.Popen([*unshared(), sys.executable, *sys.argv], env={**os.environ, INSIDE: "1"},
                          preexec_fn=die_with_parent) as child:
        got = []

        def end(number, _):
            got.append(number)
            child.kill()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, end)
        status = child.wait()
        if got:
            signal.signal(got[0], signal.SIG_DFL)
            os.kill(os.getpid(), got[0])
        sys.exit(status)


class Tree:
    """Hosts h0, h1, ... below leaves with one uplink each to a spine; links of one rate both ways."""

    def __init__(self, folder, hosts=8, leaves=4, mbit=200, queue="flow", segments=6):
        self.hosts, self.leaves, self.mbit, self.queue, self.segments = hosts, leaves, mbit, queue, segments
        self.agent = os.path.join(os.path.abspath(folder), "agent")
        self.hostfile = os.path.join(os.path.abspath(folder), "hostfile")

    def topology(self, latency="0us"):
        return (f"fat-tree:leaves={self.leaves},spines=1,hosts={self.hosts // self.leaves},up=1,"
                f"link={self.mbit / 8:g}MB/s,latency={latency},kind=ethernet")

    def below(self, leaf):
        each = self.hosts // self.leaves
        return range(leaf * each, leaf * each + each)

    def shape(self, interface, senders, receivers, space=None):
        """The end of a cable that these send over to those."""
        rate = f"{self.mbit}mbit"
        limit = round(self.mbit * 1e6 / 8 * (PORT_LIMIT_S if self.queue == "port" else FLOW_LIMIT_S))
        if self.queue == "port":
            lines = [f"qdisc add dev {interface} root tbf rate {rate} burst 32kb limit {limit}"]
        else:
            htb = f"htb ceil {rate} burst {BURST} cburst {BURST} quantum {FRAME} rate"
            lines = [f"qdisc add dev {interface} root handle 1: htb default 2",
                     f"class add dev {interface} parent 1: classid 1:1 {htb} {rate}",
                     f"class add dev {interface} parent 1:1 classid 1:2 {htb} 1mbit prio 0",
                     f"filter add dev {interface} parent 1: protocol ip prio 1 u32 match u16 0 0xff80 at 2 flowid 1:2"]
            pairs = [(a, b) for a in senders for b in receivers if a != b]
            for number, (a, b) in enumerate(pairs, 16):
                lines += [f"class add dev {interface} parent 1:1 classid 1:{number:x} {htb} 64kbit prio 1",
                          f"qdisc add dev {interface} parent 1:{number:x} bfifo limit {limit}",
                          f"filter add dev {interface} parent 1: protocol ip prio 2 u32 match ip src {NET}.{a + 1}/32 "
                          f"match ip dst {NET}.{b + 1}/32 flowid 1:{number:x}"]
        command("tc", *(("-n", space) if space else ()), "-batch", "-", lines=lines)
        command("ip", *(("-n", space) if space else ()), "link", "set", interface, "gso_max_segs", str(self.segments),
                "up")

    def build(self):
        everyone = range(self.hosts)
        switches = ["spine", *(f"leaf{leaf}" for leaf in range(self.leaves))]
        command("ip", "-batch", "-", lines=["link set lo up", *(f"link add {s} type bridge" for s in switches),
                                            *(f"link set {s} up" for s in switches),
                                            f"address add {NET}.254/24 dev spine"])
        for leaf in range(self.leaves):
            inside = self.below(leaf)
            outside = [i for i in everyone if i not in inside]
            command("ip", "-batch", "-", lines=[f"link add up{leaf} type veth peer name down{leaf}",
                                                f"link set up{leaf} master leaf{leaf}",
                                                f"link set down{leaf} master spine"])
            self.shape(f"up{leaf}", inside, outside)
            self.shape(f"down{leaf}", outside, inside)
            for i in inside:
                self.add_host(i, leaf)
                self.shape(f"port{i}", everyone, [i])
                self.shape("eth0", [i], everyone, f"h{i}")
        with open(self.agent, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nhost=$1; shift\n'
                       'exec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"\n')
        os.chmod(self.agent, 0o755)

    def remove(self):
        """To build another one; at the end of the script all goes by itself."""
        command("ip", "-all", "netns", "delete")
        gone = [f"port{i}" for i in range(self.hosts)] + [f"up{leaf}" for leaf in range(self.leaves)]
        gone += ["spine", *(f"leaf{leaf}" for leaf in range(self.leaves))]
        subprocess.run(["ip", "-force", "-batch", "-"], input="".join(f"link delete {name}\n" for name in gone),
                       text=True, capture_output=True, check=False)  # some went with their namespace

    def add_host(self, i, leaf):
        address = f"{NET}.{i + 1}"
        command("ip", "-batch", "-", lines=[f"netns add h{i}", f"link add port{i} type veth peer name eth0 netns h{i}",
                                            f"link set port{i} master leaf{leaf}"])
        # what was lost is sent again after 20 ms, not after the 200 that a launch here takes
        command("ip", "-n", f"h{i}", "-batch", "-",
                lines=["link set lo up", f"address add {address}/24 dev eth0", "link set eth0 up",
                       f"route change {NET}.0/24 dev eth0 src {address} rto_min 20ms"])
        command("ip", "netns", "exec", f"h{i}", "sysctl", "-q", "-w", *SETTINGS)

    def run(self, words, placed, timeout_s=600, **settings):
        """A command under mpirun, rank r on host placed[r], with settings of Open MPI's; what it printed."""
        with open(self.hostfile, "w", encoding="utf-8") as file:
            file.write("".join(f"h{host}\n" for host in placed))
        settings = {"rmaps": "seq", "plm": "rsh", "plm_rsh_agent": self.agent, "orte_tmpdir_base": OWN_PLACES[0],
                    "routed": "direct", "pml": "ob1", "btl": "tcp,self", "btl_tcp_if_include": f"{NET}.0/24",
                    "oob_tcp_if_include": f"{NET}.0/24", **settings}
        words = ["mpirun.openmpi", "-n", str(len(placed)), "--allow-run-as-root", "--oversubscribe", "--hostfile",
                 self.hostfile, *(word for name, value in settings.items() for word in ("--mca", name, value)), *words]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=timeout_s)
        if done.returncode:
            raise OSError(f"{' '.join(words)}\n{done.stdout[-500:]}{done.stderr[-1500:]}")
        return done.stdout
