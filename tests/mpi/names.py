#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The table of wrapped calls beside each MPI's header and library: names.py SOURCE CC HEADER[=LIBRARY]...

Every function of an mpi.h that takes a buffer and a type, and moves data by a communicator, window, file or message, is in
the table; and each call of the table that the header has takes as many arguments as there, with counts, types and so on
where its roles say. A header of the standard ABI says the same as src/mpi/mpi_abi.h, too."""
import os
import re
import subprocess
import sys
import tempfile

# Not data between ranks: packing, and what describes or makes objects.
OTHERS = re.compile(r"P?MPI_(Pack|Unpack|Reduce_local|Type_|Register|Sizeof|Status_|Win_create|Get_count|Get_elements|Op_)")
ROLES = {"s": r"void \*|void\*", "r": r"void \*|void\*", "n": r"^(int|MPI_Count)\b[^*\[]*$", "m": r"^(int|MPI_Count)\b[^*\[]*$",
         "N": r"^(int|MPI_Count)\b[^*\[]*$", "p": r"^int\b[^*\[]*$", "d": r"^int (dest|root|target_rank|rank)$", "t": r"^MPI_Datatype\b[^*\[]*$",
         "u": r"^MPI_Datatype\b[^*\[]*$", "v": r"^(const )?(int|MPI_Count)\b.*[*\[]", "k": r"^(const )?(int|MPI_Count)\b.*[*\[]",
         "T": r"MPI_Datatype\b.*[*\[]", "U": r"MPI_Datatype\b.*[*\[]", "c": r"^MPI_Comm\b", "w": r"^MPI_Win\b", "o": r"^MPI_Op\b",
         "Q": r"^MPI_Request ?\*", "q": r"^MPI_Request ?\*", "W": r"^MPI_Request ?\*", "R": r"^MPI_Request .*\[", "l": r"^int (in)?count$",
         "f": r"^int (source|dest)$", "g": r"^int (send)?tag$", "h": r"^int (recv)?tag$", "S": r"^MPI_Status ?\*", "A": r"^MPI_Status .*[*\[]",
         "F": r"^int ?\* ?(flag|completed)$", "O": r"^int ?\* ?outcount$", "I": r"^int ?(\* ?ind(ex|x)|.*ind.*\[\])$",
         "M": r"^MPI_Message ?\*", "b": r"void ?\*", "G": r"^MPI_Group\b", "C": r"^MPI_Comm ?\*", "X": r"^MPI_Win ?\*|^void ?\* ?win", "V": r"^MPI_Win ?\*", ".": r""}


def table(source, compiler):
    """name -> roles"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.c")
        with open(path, "w") as file:
            file.write('#include "mpi/calls.h"\n#include <stdio.h>\n#define SAY(arity, name, kind, roles) '
                       'puts(#name " " roles);\nint main(void) { HOP_MPI_CALLS(SAY) return 0; }\n')
        subprocess.run([compiler, "-I" + os.path.join(source, "src"), path, "-o", path[:-2]], check=True)
        told = subprocess.run([path[:-2]], capture_output=True, text=True, check=True).stdout
    return {line.split(" ")[0]: line.split(" ")[1] for line in told.splitlines()}


def functions(header):
    """name -> parameters, of a header and those beside it that it includes."""
    text = ""
    folder = os.path.dirname(header)
    for name in [os.path.basename(header), "mpi_proto.h", "mpio.h", "mpi-ext.h"]:
        if os.path.exists(os.path.join(folder, name)):
            with open(os.path.join(folder, name), errors="replace") as file:
                text += file.read()
    for at, _, names in os.walk(os.path.join(folder, "openmpi")):
        for name in names:
            if name.endswith("_c.h"):  # extensions
                with open(os.path.join(at, name), errors="replace") as file:
                    text += file.read()
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    found = re.findall(r"\bint\s+(MPIX?_\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)", text)
    return {name: [" ".join(p.split()) for p in parameters.split(",")] for name, parameters in found}


# Neither in a header as functions, nor moving anything: conversions of handles, callbacks, clocks.
APART = re.compile(r"MPI_(T_\w+|\w+_[cf]2[cf]|\w+_FN(_NULL)?|\w+_F90|Wti(ck|me)|Aint_(add|diff))$")


def exported(library, there, roles):
    """What a library exports and nobody says the parameters of; and what it exports under one name of two."""
    told = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"^\w+ [TW] (P?MPIX?_[A-Z]\w*)", told, flags=re.M))
    wrong = [f"{library} exports {name}, which no header of it declares" for name in sorted(names)
             if name[0] == "M" and name not in there and not APART.match(name)]
    if len(names) < 500:
        wrong.append(f"{library} exports only {len(names)} functions: it was not understood")
    return wrong + [f"{library} has no P{name}" for name in roles if name in names and "P" + name not in names]


def moves(name, parameters):
    types = " ; ".join(parameters)
    return not OTHERS.match(name) and "void" in types and re.search(r"\bMPI_Datatype\b", types) and \
        re.search(r"\bMPI_(Comm|Win|File|Message)\b", types)


def standard(source, compiler, header):
    """Where src/mpi/mpi_abi.h and a header of the standard ABI differ: constants, types and prototypes."""
    with open(os.path.join(source, "src", "mpi", "mpi_abi.h")) as file:
        own = file.read()
    names = re.findall(r"^#define (MPI_\w+) ", own, flags=re.M)
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        values = []
        for include in (header, os.path.join(source, "src", "mpi", "mpi_abi.h")):
            path = os.path.join(folder, "values.c")
            with open(path, "w") as file:
                file.write(f'#include "{include}"\n#include <stdio.h>\nint main(void) {{\n' + "".join(
                    f'printf("%ld\\n", (long){name});\n' for name in names) + 'printf("%zu\\n", sizeof(MPI_Status)); }\n')
            subprocess.run([compiler, path, "-o", path[:-2]], check=True)
            values.append(subprocess.run([path[:-2]], capture_output=True, text=True, check=True).stdout.split())
        wrong += [f"{name} is {theirs}, not {ours}" for name, theirs, ours in zip(names + ["size of a status"], *values) if theirs != ours]
        both = os.path.join(folder, "both.c")
        with open(both, "w") as file:
            file.write(f'#include "{header}"\n' + re.sub(r"#define MPI_.*|typedef [^;{]*;|typedef struct {[^}]*}[^;]*;", "", own))
        told = subprocess.run([compiler, "-fsyntax-only", both], capture_output=True, text=True)
        wrong += [line for line in told.stderr.splitlines() if "error" in line]
    return wrong


def main():
    source, compiler, headers, wrong = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:], []
    roles = table(source, compiler)
    for header in headers:
        header, _, library = header.partition("=")
        there = functions(header)
        if library:
            wrong += exported(library, there, roles)
        with open(header, errors="replace") as file:
            if "MPI_ABI_VERSION" in file.read():
                wrong += standard(source, compiler, header)
        moving = [name for name, parameters in there.items() if moves(name, parameters)]
        wrong += [f"{header} has {name}, which is not wrapped" for name in moving if name not in roles]
        if len(moving) < 100:
            wrong.append(f"{header} has only {len(moving)} functions that move data: it was not understood")
        for name in sorted(set(there) & set(roles)):
            parameters = [p for p in there[name] if p != "void"]
            if name == "MPI_Pcontrol":
                continue  # the rest is the MPI's own matter
            if len(parameters) != len(roles[name]):
                wrong.append(f"{name} has {len(parameters)} parameters, not {len(roles[name])}")
            wrong += [f"{name}: '{role}' is no '{parameter}'" for role, parameter in zip(roles[name], parameters)
                      if not re.search(ROLES[role], parameter)]
        print(f"{header}: {len(there)} functions, {len(moving)} move data, {len(set(there) & set(roles))} are wrapped")
    print("\n".join(wrong[:60] + [f"{len(roles)} rows, {len(wrong)} wrong"]))
    return 1 if wrong else 0 if headers else 77


if __name__ == "__main__":
    sys.exit(main())
