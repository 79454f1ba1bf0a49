#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""libhopcast_mpi.so counts what a program does, exactly: counted.py openmpi|mpich BUILD PATTERNS [PART...]

Everything under mpirun, with 4 ranks unless said otherwise."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../command"))
from under_mpi import build, check, fake_cuda, hopcast, mpi, run_parts, start, work  # noqa: E402

patterns, library = os.path.abspath(sys.argv[3]), os.path.join(build, "libhopcast_mpi.so")
os.environ.pop("HOPCAST_MPI_PATH", None)


def run(program, *arguments, ranks=4, options=(), preload=library, **environment):
    """Its result, and the folder in which it ran."""
    folder = tempfile.mkdtemp(dir=work)
    done = start(*options, "-n", str(ranks), program, *(a.replace("FOLDER", folder) for a in arguments), cwd=folder,
                 LD_PRELOAD=preload, **environment)
    return done, folder


def traffic(folder, name="hopcast-traffic.json"):
    try:
        with open(os.path.join(folder, name)) as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def told(document):
    """(class, from, to) -> bytes and messages."""
    sums = collections.defaultdict(lambda: [0, 0])
    for pair in document["pairs"]:
        if "host_bytes" not in pair:
            continue  # what was received
        at = sums[pair["class"], pair["from"], pair["to"]]
        at[0] += pair["host_bytes"] + pair["device_bytes"]
        at[1] += pair["host_messages"] + pair["device_messages"]
    return dict(sums)


def expected(folder, ranks=4):
    sums = collections.defaultdict(lambda: [0, 0])
    for rank in range(ranks):
        with open(os.path.join(folder, f"expected.{rank}")) as file:
            for line in file:
                kind, source, to, size, messages = line.split()
                at = sums[kind, int(source), int(to)]
                at[0] += int(size)
                at[1] += int(messages)
    return dict(sums)


def same(document, wanted, what):
    found = told(document) if document else {}
    wrong = [f"{key}: {found.get(key)}, not {wanted.get(key)}" for key in sorted(set(found) | set(wanted))
             if found.get(key) != wanted.get(key)]
    check(wanted and not wrong, f"{what}: " + "; ".join(wrong[:8]))


def counted(mode, **how):
    done, folder = run(patterns, "FOLDER", mode, **how)
    document = traffic(folder)
    if check(done.returncode == 0 and not done.stderr.strip() and document, f"{mode} runs: {done.stderr[:2000]}"):
        same(document, expected(folder, how.get("ranks", 4)), mode)
        sizes = sum(row["messages"] for row in document["sizes"])
        check(sizes == sum(messages for _, messages in told(document).values()), f"{mode}: sizes of all messages")
    return document, folder


SIZES = {"B": 1, "kB": 10 ** 3, "MB": 10 ** 6, "KiB": 2 ** 10, "MiB": 2 ** 20}
ROUNDS = re.compile(r"\.(I?[Bb]arrier\w*|Comm_\w+|Cart_\w+|Graph_\w+|Dist_\w+|Intercomm_\w+|Win_\w+|answer)(\.\d+)?$")


def recorded(folder, what, name="run.hop"):
    """The schedule moves between any two ranks what the traffic file says, and both ends of a message say so."""
    wanted, sent, taken = (collections.defaultdict(lambda: [0, 0]) for _ in range(3))
    for (_, source, to), (size, messages) in told(traffic(folder)).items():
        if source != to:
            wanted[source, to][0] += size
            wanted[source, to][1] += messages
    with open(os.path.join(folder, name)) as file:
        for line in file:
            row = re.match(r"(\S+): (send |receive |)(?:\d@)?rank(\d+) -> (?:\d@)?rank(\d+) (\d+)(\w+)", line)
            for ends in ([] if not row or ROUNDS.search(row[1]) else [sent] if row[2] == "send " else [taken] if row[2] else
                         [sent, taken]):
                ends[int(row[3]), int(row[4])][0] += int(row[5]) * SIZES[row[6]]
                ends[int(row[3]), int(row[4])][1] += 1
    check(wanted and sent == wanted and taken == wanted, f"{what}: recorded {dict(sent)}, {dict(taken)}, not {dict(wanted)}")


def predicted(path, ranks, model="loggp"):
    done = subprocess.run([hopcast, "predict", path, "--on", f"star:{ranks}", "--model", model, "--json",
                           "--range", "none"], capture_output=True, text=True)
    check(done.returncode == 0, f"predict {path}: {done.stderr}")
    return json.loads(done.stdout) if done.returncode == 0 else None


# ---- parts ----

def calls():
    document, folder = counted("calls")
    _, small = counted("calls", ranks=3, HOPCAST_MPI_RECORD="run.hop")
    recorded(small, "calls")
    for model in ("loggp", "fair"):
        predicted(os.path.join(small, "run.hop"), 3, model)
    waiting = traffic(small)["waiting"]
    check(len(waiting["ranks"]) == 3 and all(
        0 <= row["late_sender_seconds"] + row["late_receiver_seconds"] + row["collective_seconds"] <= row["seconds"] * (1 + 1e-9)
        for row in waiting["ranks"] + waiting["calls"]), f"waiting is a part of the time: {waiting}")
    numbers = {row["name"]: row["calls"] for row in document["calls"]}
    check(numbers.get("MPI_Bcast") == 4 * 4 + 4 and numbers.get("MPI_Send_init") == 8, f"calls by name: {numbers}")
    written = [row["bytes"] for row in document["calls"] if row["name"] == "MPI_File_write_at_all"]
    check(written == [4000], f"bytes written: {written}")
    done, named = run(patterns, "FOLDER", "point", HOPCAST_VERBOSE="1", HOPCAST_MPI_TRAFFIC="own name.json")
    check(traffic(named, "own name.json") and os.listdir(named).count("hopcast-traffic.json") == 0 and
          re.search(r"4 ranks on .*in own name.json\n.*call .*\n(.*\n)*  MPI_Ssend +4 ", done.stderr), f"a summary: {done.stderr}")
    between = sum(size for (_, source, to), (size, _) in told(document).items() if source != to)
    mapped = subprocess.run([hopcast, "map", os.path.join(folder, "hopcast-traffic.json"), "--on", "t2"],
                            capture_output=True, text=True)
    check(f"0B of device traffic, {between}B of host traffic" in mapped.stdout, f"map reads it: {mapped.stdout}{mapped.stderr}")


def repeat():
    """Among more ranks than eight, where a collective that comes again is counted and not decomposed anew."""
    counted("repeat", ranks=10)


def rare():
    """What a record may get wrong: it has no circle, and each message meets its own receive."""
    done, folder = run(patterns, "FOLDER", "rare", ranks=3, HOPCAST_MPI_RECORD="run.hop", HOPCAST_MPI_RECORD_TIMES="times.csv",
                       HOPCAST_MPI_WAITING="0")
    check(done.returncode == 0 and not done.stderr.strip(), f"rare calls: {done.stderr}")
    recorded(folder, "rare calls")
    predicted(os.path.join(folder, "run.hop"), 3)
    with open(os.path.join(folder, "times.csv")) as file:
        check("MPI_Mrecv" in file.read(), "receiving what was found is no computation")
    with open(os.path.join(folder, "run.hop")) as file:
        check("left out:" not in file.read(), "all of it meets its own")
    waited = traffic(folder)["waiting"]["ranks"][1]["late_sender_seconds"]
    check(mpi == "openmpi" or waited > 0.1, f"partitions that are late: {waited} s")
    done, folder = run(patterns, "FOLDER", "rare", ranks=3, HOPCAST_MPI_RECORD="nowhere/run.hop", HOPCAST_MPI_RECORD_TIMES="times.csv")
    check(done.returncode == 0 and "nowhere/run.hop cannot be written" in done.stderr and done.stderr.count("\n") == 1 and traffic(folder) and
          not os.path.exists(os.path.join(folder, "times.csv")), f"a folder that is not there: {done.stderr}")


def plugin():
    """An MPI that a plugin brings along, for itself."""
    folder, compiler = tempfile.mkdtemp(dir=work), shutil.which("mpicc." + mpi)
    if not compiler:
        print("no mpicc: no plugin")
        return
    sources = {"plugin.c": "#include <mpi.h>\nint run(void) { char b[5] = \"\"; int r; MPI_Init(0, 0); MPI_Comm_rank(MPI_COMM_WORLD, &r);\n"
                           "    if (r == 0) MPI_Send(b, 5, MPI_BYTE, 1, 0, MPI_COMM_WORLD);\n"
                           "    else MPI_Recv(b, 5, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n    return MPI_Finalize(); }\n",
               "program.c": "#include <dlfcn.h>\nint main(int c, char **v) { void *p = dlopen(v[1], RTLD_NOW | RTLD_LOCAL); (void)c;\n"
                            "    return p ? ((int (*)(void))dlsym(p, \"run\"))() : 9; }\n"}
    for name, text in sources.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    subprocess.run([compiler, "-shared", "-fPIC", folder + "/plugin.c", "-o", folder + "/plugin.so"], check=True)
    subprocess.run([shutil.which("cc") or "gcc", folder + "/program.c", "-o", folder + "/program", "-ldl"], check=True)
    done, where = run(folder + "/program", folder + "/plugin.so", ranks=2)
    if check(done.returncode == 0 and not done.stderr.strip(), f"a plugin's MPI: {done.returncode} {done.stderr}"):
        same(traffic(where), {("point_to_point", 0, 1): [5, 1]}, "a plugin's MPI")


def chain():
    """Without what was computed, each link takes what LogGP says."""
    _, folder = counted("chain", HOPCAST_MPI_RECORD="run.hop", HOPCAST_MPI_RECORD_TIMES="times.csv")
    recorded(folder, "chain")
    with open(os.path.join(folder, "times.csv")) as file:
        rows = [line.rstrip("\n").split(",") for line in file]
    begins = {(row[0], row[2]): float(row[3]) for row in rows[1:]}
    check(rows[0] == ["rank", "call", "function", "begin_s", "took_s"] and
          all(begins["0", "MPI_Send"] < begins[rank, "MPI_Recv"] + float(row[4]) for rank in "123" for row in rows[1:]
              if row[0] == rank and row[2] == "MPI_Recv"), f"times of calls: {rows}")
    path, ends = os.path.join(folder, "run.hop"), {}
    with open(path) as file:
        text = re.sub(r"(work rank\d+) \S+", r"\1 0s", file.read())
    with open(path, "w") as file:
        file.write(text)
    latency, overhead, byte = 2500e-9, 1500e-9, 6e-9  # loggp_L, loggp_o, loggp_G
    for op in (predicted(path, 4) or {"others": []})["others"]:
        row = re.fullmatch(r"r(\d)\.0\.Recv", op["id"])
        if row:
            ends[int(row[1])] = op["end_s"]
    wanted = {rank: rank * (latency + 2 * overhead + 999 * byte) for rank in (1, 2, 3)}
    check(sorted(ends) == [1, 2, 3] and all(abs(ends[rank] - wanted[rank]) < 1e-12 for rank in ends), f"a chain ends at {ends}, not {wanted}")


def clocks():
    """Ranks whose clocks are 1000 s apart wait for each other no longer than others."""
    own = ["unshare", "-T", "--monotonic", "1000", "--fork"]
    if not shutil.which("unshare") or subprocess.run([*own, "true"], capture_output=True).returncode:
        print("no time namespaces here: clocks are not tried")
        return
    folder = tempfile.mkdtemp(dir=work)
    done = start("-n", "2", patterns, folder, "chain", ":", "-n", "1", *own, patterns, folder, "chain", cwd=folder, LD_PRELOAD=library,
                 HOPCAST_MPI_RECORD="run.hop")
    if check(done.returncode == 0, f"clocks apart: {done.stderr}"):
        recorded(folder, "clocks apart")
        with open(os.path.join(folder, "run.hop")) as file:
            measured = float(re.search(r"# measured (\S+) s", file.read())[1])
        waited = sum(row["late_sender_seconds"] + row["late_receiver_seconds"] for row in traffic(folder)["waiting"]["ranks"])
        check(measured < 500 and waited < 500, f"clocks apart: {measured} s, {waited} s of it waiting")


def threads():
    """And the place of their calls: each thread's are put together, and so are those of processes at other addresses."""
    document, folder = counted("threads", ranks=2, HOPCAST_MPI_RECORD="run.json")
    predicted(os.path.join(folder, "run.json"), 2)
    sites = [site for site in document["sites"] if site["name"] == "MPI_Send"]
    if check(len(sites) == 1 and (sites[0]["calls"], sites[0]["ranks"]) == (2 * 3 * 200, 2), f"one place: {sites}") and shutil.which("addr2line"):
        named = subprocess.run(["addr2line", "-fe", sites[0]["module"], hex(sites[0]["offset"])], capture_output=True, text=True)
        check(named.stdout.startswith("many\n"), f"its function: {named}")
    for row in document["calls"]:
        check(row["calls"] == sum(site["calls"] for site in document["sites"] if site["name"] == row["name"]) and
              row["least_seconds"] <= row["seconds"] / row["ranks"] * (1 + 1e-9) <= row["most_seconds"] * (1 + 1e-6), f"places of {row}")


def sessions():
    """Without MPI_Init."""
    if mpi != "mpich":
        return
    counted("sessions", HOPCAST_MPI_COLLECTIVES="all")
    done, folder = run(patterns, "FOLDER", "alone")
    check(done.returncode == 0 and "no communicator of all ranks" in done.stderr and done.stderr.count("\n") == 1 and
          traffic(folder) is None, f"no communicator of all: {done.stderr}")


def device():
    """Over the stand-in for either driver, loaded when something has been sent already."""
    for variable, library in (("HOPCAST_CUDA_LIBRARY", "libcuda.so.1"), ("HOPCAST_HIP_LIBRARY", "libcuda.so.1")):
        done, folder = run(patterns, "FOLDER", "device", ranks=2, **{variable: os.path.join(build, "tests", "fake_cuda", "lib", library)})
        found = collections.defaultdict(lambda: [0, 0])
        for row in (traffic(folder) or {"pairs": []})["pairs"]:
            for name, prefix in (("host", "host"), ("device", "device"), ("received", "to_device")):
                if row.get(prefix + "_messages"):
                    at = found[row["class"] + "." + name, row["from"], row["to"]]
                    at[0] += row[prefix + "_bytes"]
                    at[1] += row[prefix + "_messages"]
        wanted = expected(folder, 2)
        check(done.returncode == 0 and wanted and found == wanted, f"{variable}: {done.stderr[:500]}\n{dict(found)}, not\n{wanted}")


def ends_early():
    done, folder = run(patterns, "FOLDER", "abort")
    document = traffic(folder, "hopcast-traffic.json.rank1")
    check(done.returncode != 0 and traffic(folder) is None, "an abort is one")
    if check(document and document["ended"] == "MPI_Abort", "what rank 1 had counted is kept"):
        wanted = {key: value for key, value in expected(folder).items() if key[1] == 1}
        same(document, wanted, "abort")
    done, folder = run(patterns, "FOLDER", "handler")
    document = traffic(folder, "hopcast-traffic.json.rank1")
    check(document and document["ended"] == "MPI_Abort", f"an abort inside a call: {done} {os.listdir(folder)}")
    done, folder = run(patterns, "FOLDER", "killed")
    document = traffic(folder, "hopcast-traffic.json.rank1")
    if check(document and document["ended"] == "signal 15", f"what a rank that was killed had counted: {done} {os.listdir(folder)}"):
        same(document, {key: value for key, value in expected(folder).items() if key[1] == 1}, "killed")
    check("rank 2 ended by signal" not in done.stderr, f"the program's own handler: {done.stderr}")
    links = [os.path.join(work, f"exit.rank{r}") for r in range(4)]
    for r, link in enumerate(links):
        os.symlink("/dev/null", link)
    done, folder = run(patterns, "FOLDER", "exit", HOPCAST_MPI_TRAFFIC=os.path.join(work, "exit"))
    check("ended by no MPI_Finalize" in done.stderr and all(map(os.path.islink, links)), f"devices stay: {done.stderr}")


def only_some_ranks():
    """The job ends, whichever rank it is that has the library."""
    for first in (True, False):
        folder = tempfile.mkdtemp(dir=work)
        parts = [["-n", "1", "env", "LD_PRELOAD=" + library * has, patterns, folder, "point"] for has in (first, not first)]
        done = start(*parts[0], ":", *parts[1], cwd=folder, HOPCAST_MPI_PATIENCE="1")
        check(done.returncode != 0 and "not all ranks have it" in done.stderr and traffic(folder) is None,
              f"rank {int(not first)} alone has the library: {done}")


def beside_others():
    """No MPI, another one, half an installation."""
    quiet = subprocess.run(["sh", "-c", "echo here"], capture_output=True, text=True, cwd=work,
                           env={**os.environ, "LD_PRELOAD": library, "HOPCAST_VERBOSE": "1"})
    check((quiet.returncode, quiet.stdout, quiet.stderr) == (0, "here\n", ""), f"without MPI: {quiet}")
    alone = shutil.copy(library, work)
    done, folder = run(patterns, "FOLDER", "point", preload=alone)
    check(done.returncode == 0 and f"hopcast-mpi-{mpi}.so is missing" in done.stderr and done.stderr.count("\n") == 1 and
          traffic(folder) is None, f"without the shim: {done.stderr}")
    folder = tempfile.mkdtemp(dir=work)
    source, program = os.path.join(folder, "mpi.c"), os.path.join(folder, "program.c")
    with open(source, "w") as file:
        file.write("#include <stdio.h>\n#include <string.h>\n" + "".join(
            f"int {p}MPI_Init(int *c, char ***v) {{ (void)c; (void)v; return 0; }}\n"
            f"int {p}MPI_Send(const void *b, int n, int t, int d, int g, int c) {{ (void)b; (void)t; (void)c;\n"
            f"    printf(\"sent %d to %d as %d\\n\", n, d, g); return 0; }}\n"
            f"int {p}MPI_Finalize(void) {{ return 0; }}\n" for p in ("", "P")) +
            "int PMPI_Get_library_version(char *t, int *n) { strcpy(t, \"Other MPI 1.0\"); *n = 13; return 0; }\n")
    with open(program, "w") as file:
        file.write("int MPI_Init(int *, char ***); int MPI_Send(const void *, int, int, int, int, int);\n"
                   "int MPI_Finalize(void);\nint main(void) { MPI_Init(0, 0); MPI_Send(\"\", 5, 1, -2, 7, 1);\n"
                   "    return MPI_Finalize(); }\n")
    compiler = shutil.which("cc") or shutil.which("gcc")
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", folder + "/libother.so"], check=True)
    subprocess.run([compiler, program, "-o", folder + "/program", "-L" + folder, "-lother", "-Wl,-rpath," + folder], check=True)
    done = subprocess.run([folder + "/program"], capture_output=True, text=True, cwd=folder,
                          env={**os.environ, "LD_PRELOAD": library})
    check(done.returncode == 0 and done.stdout == "sent 5 to -2 as 7\n" and "Other MPI 1.0 is not known" in done.stderr and
          done.stderr.count("\n") == 1 and not os.path.exists(folder + "/hopcast-traffic.json"), f"another MPI: {done}")


def fortran():
    """Each of its three interfaces counts once, and says MPI_IN_PLACE, MPI_BOTTOM and MPI_STATUS_IGNORE in its own way; the places
    are those of the program, not of the binding."""
    compiler = shutil.which("mpifort." + mpi)
    if not compiler:
        print("no mpifort." + mpi + ": Fortran is not tried")
        return
    for name, head in (("mpif.h", ""), ("mpi", "use mpi"), ("mpi_f08", "use mpi_f08")):
        folder = tempfile.mkdtemp(dir=work)
        include = "include 'mpif.h'" if not head else ""
        kind = "type(MPI_Datatype)" if name == "mpi_f08" else "integer"
        request = "type(MPI_Request)" if name == "mpi_f08" else "integer"
        with open(folder + "/p.f90", "w") as file:
            file.write(f"""program p
{head}
implicit none
{include}
integer :: e, r, n
integer, save, target :: a(10), b(40)
integer(kind=MPI_ADDRESS_KIND) :: places(1)
{kind} :: absolute
{request} :: q
a = 1
call MPI_Init(e)
call MPI_Comm_rank(MPI_COMM_WORLD, r, e)
call MPI_Comm_size(MPI_COMM_WORLD, n, e)
call MPI_Get_address(a, places(1), e)
call MPI_Type_create_hindexed(1, [3], places, MPI_INTEGER, absolute, e)
call MPI_Type_commit(absolute, e)
if (r == 0) call MPI_Send(MPI_BOTTOM, 1, absolute, 1, 0, MPI_COMM_WORLD, e)
if (r == 0) call MPI_Isend(a, 10, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, q, e)
if (r == 0) call MPI_Wait(q, MPI_STATUS_IGNORE, e)
if (r == 1) call MPI_Recv(b, 10, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)
if (r == 1) call MPI_Recv(b, 10, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)
call MPI_Gather(a, 2, MPI_INTEGER, b, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
call MPI_Allreduce(MPI_IN_PLACE, a, 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 5, MPI_INTEGER, MPI_COMM_WORLD, e)
call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 7, MPI_INTEGER, MPI_COMM_WORLD, e)
call MPI_Type_free(absolute, e)
call MPI_Finalize(e)
end program
""")
        made = subprocess.run([compiler, "-fallow-argument-mismatch", "p.f90", "-o", "p"], capture_output=True, text=True, cwd=folder)
        if made.returncode:
            print(f"{name} does not compile here: {made.stderr[:200]}")
            continue
        done, ran = run(folder + "/p")
        wanted = {("point_to_point", 0, 1): [12 + 40, 2]}
        for source in range(4):
            for to in range(4):
                if source != to:
                    wanted["collective", source, to] = [16 + 20 + 28 + 8 * (to == 0), 4 + (to == 0)]
        document = traffic(ran)
        check(done.returncode == 0, f"Fortran by {name} runs: {done.stderr[:500]}")
        same(document, wanted, f"Fortran by {name}")
        behind = {site["module"] for site in (document or {"sites": []})["sites"]}
        check(behind == {os.path.realpath(folder + "/p")[-159:]}, f"places of Fortran by {name}: {behind}")


def cxx():
    """The binding to C++ that both still bring along."""
    compiler, folder = shutil.which("mpicxx." + mpi), tempfile.mkdtemp(dir=work)
    with open(folder + "/p.cc", "w") as file:
        file.write("""#include <mpi.h>
int main(int count, char **words)
{
    MPI::Init(count, words);
    char bytes[64] = "";
    int rank = MPI::COMM_WORLD.Get_rank(), ranks = MPI::COMM_WORLD.Get_size();
    MPI::Request request = MPI::COMM_WORLD.Isend(bytes, 10, MPI::BYTE, (rank + 1) % ranks, 0);
    MPI::COMM_WORLD.Recv(bytes + 20, 10, MPI::BYTE, (rank + ranks - 1) % ranks, 0);
    request.Wait();
    MPI::COMM_WORLD.Bcast(bytes, 7, MPI::BYTE, 0);
    MPI::Finalize();
}
""")
    made = compiler and subprocess.run([compiler, "p.cc", "-o", "p"], capture_output=True, text=True, cwd=folder)
    if not made or made.returncode:
        print("no binding to C++: it is not tried")
        return
    done, ran = run(folder + "/p", ranks=2)
    check(done.returncode == 0, f"C++ runs: {done.stderr[:500]}")
    same(traffic(ran), {("point_to_point", 0, 1): [10, 1], ("point_to_point", 1, 0): [10, 1], ("collective", 0, 1): [7, 1]}, "C++")


def spawned():
    """A job that another one starts writes a file of its own; what goes between them stands in both."""
    done, folder = run(patterns, "FOLDER", "spawn", ranks=2, HOPCAST_MPI_RECORD="run.hop", HOPCAST_MPI_REPRODUCIBLE="1")
    if "Error in spawn call" in done.stderr:
        print("this MPI starts no other job here, with or without the library: spawning is not tried")
        return
    names = [name for name in os.listdir(folder) if name.startswith("hopcast-traffic.json.job")]
    if not check(done.returncode == 0 and len(names) == 1, f"spawning runs: {done.stderr[:1000]} {names}"):
        return
    for name, elsewhere in (("hopcast-traffic.json", 100 + 2 * 11 + 2 * 2 * 4), (names[0], 30 + 2 * 2 * 4)):
        document = traffic(folder, name)
        check(document["ranks"] == 2 and document["elsewhere_bytes"] == elsewhere, f"to the other job, {name}: {document['elsewhere_bytes']}")
        same(document, {("collective", 0, 1): [4, 1], ("collective", 1, 0): [4, 1]}, f"within one of two jobs, {name}")
    names = [name for name in os.listdir(folder) if name.startswith("run.")]
    check(len(names) == 2, f"a schedule each: {names}")
    for name in names:
        recorded(folder, f"one of two jobs, {name}", name)


def monitoring():
    """Open MPI's own count of messages, pair by pair."""
    if mpi != "openmpi" or "pml monitoring" not in re.sub(r"MCA +", "", subprocess.run(
            ["ompi_info"], capture_output=True, text=True).stdout).replace("pml: monitoring", "pml monitoring"):
        print("no component pml monitoring: not compared")
        return
    document, _ = counted("plain")
    # Without the library, whose own messages it would see; it does not see persistent ones.
    done, folder = run(patterns, "FOLDER", "plain", preload="", options=[
        "--mca", "pml_monitoring_enable", "2", "--mca", "pml_monitoring_enable_output", "3", "--mca",
        "pml_monitoring_filename", "own"])
    theirs = {}
    for name in sorted(os.listdir(folder)):
        if not re.fullmatch(r"own\.\d+\.prof", name):
            continue
        with open(os.path.join(folder, name)) as file:
            for line in file:
                row = re.match(r"E\s+(\d+)\s+(\d+)\s+(\d+) bytes\s+(\d+) msgs", line)
                if row:
                    theirs["point_to_point", int(row[1]), int(row[2])] = [int(row[3]), int(row[4])]
    if check(done.returncode == 0 and theirs and document, f"monitoring runs: {done.stderr[:500]} {os.listdir(folder)}"):
        same(document, theirs, "as pml monitoring")


PARTS = [calls, repeat, rare, plugin, chain, clocks, threads, sessions, device, ends_early, only_some_ranks, beside_others, fortran, cxx, spawned, monitoring]
SOAKED = [clocks, threads, only_some_ranks, cxx, spawned]  # of Open MPI; all of MPICH is
run_parts(*(part for part in PARTS if sys.argv[4:] or part not in SOAKED or mpi == "mpich"), asked=sys.argv[4:])
