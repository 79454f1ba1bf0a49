#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The tree as docs/architecture.md has it: rooms.py SOURCE OBJECTS COMPILER [INCLUDE FOLDER...]

Rooms are the folders of src/, in the order of the page; files include and call only their own room and lower ones, and
files of one room do not call each other in circles. Tags and file names are there once, and one unit includes every
header. What the libraries say on standard error they say a line at a time. OBJECTS holds the libraries' object files, one a source (nm tells who calls whom). Each rule is tried on a case
that breaks it, so that none can fall silent."""
import collections
import os
import re
import subprocess
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
TAG = re.compile(r'^(?:typedef\s+)?\s*(?:struct|union|enum)\s+(\w+)\s*\{', re.M)
SAID = re.compile(r'\bfprintf\(\s*stderr,\s*((?:"(?:[^"\\]|\\.)*"|PRI\w+|\s)+)')


def rooms_of(page):
    block = re.search(r"<!-- rooms -->(.*?)<!-- end of rooms -->", page, re.S).group(1)
    return re.findall(r"^\| (\w+) \|", block, re.M)[1:]  # the first is the head


def sources(root):
    found = {}
    for folder in ("src", "include/hopcast"):
        for at, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                if name.endswith((".c", ".h")):
                    path = os.path.join(at, name)
                    found[os.path.relpath(path, root)] = open(path, encoding="utf-8").read()
    return found


def room(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" else None


# ---- rules: each returns a list of sentences ----

def folders(order, texts):
    there = {room(path) for path in texts} - {None}
    return [f"src/{name} is no room of docs/architecture.md" for name in sorted(there - set(order))] + \
           [f"docs/architecture.md has a room {name}, which is no folder of src/" for name in order if name not in there]


def includes(order, texts):
    place = {name: i for i, name in enumerate(order)}
    wrong = []
    for path, text in sorted(texts.items()):
        for name in INCLUDE.findall(text):
            other = room("src/" + name) if "src/" + name in texts else None
            if room(path) in place and other in place and place[other] > place[room(path)]:
                wrong.append(f"{path} includes {name} of the higher room {other}")
            if room(path) is None and other:
                wrong.append(f"the public {path} includes the private {name}")
    return wrong


def calls(order, edges):
    place = {name: i for i, name in enumerate(order)}
    return [f"{user} calls {name} of {owner}, a higher room" for user, owner, name in sorted(edges)
            if room(user) in place and room(owner) in place and place[room(owner)] > place[room(user)]]


def circles(edges):
    """Strongly connected sets of files, each of one room by the rules above."""
    after = collections.defaultdict(set)
    for user, owner, _ in edges:
        if user != owner:
            after[user].add(owner)
    number, low, stack, on, found = {}, {}, [], set(), []

    def visit(v):
        number[v] = low[v] = len(number)
        stack.append(v)
        on.add(v)
        for w in sorted(after[v]):
            if w not in number:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], number[w])
        if low[v] == number[v]:
            members = []
            while not members or members[-1] != v:
                members.append(stack.pop())
                on.discard(members[-1])
            if len(members) > 1:
                found.append("files call each other in a circle: " + ", ".join(sorted(members)))

    for v in sorted(after):
        if v not in number:
            visit(v)
    return found


def tags(texts):
    where = collections.defaultdict(set)
    for path, text in texts.items():
        if path.endswith(".h"):
            for tag in TAG.findall(text):
                where[tag].add(path)
    return [f"{tag} is defined in {' and '.join(sorted(paths))}" for tag, paths in sorted(where.items()) if len(paths) > 1]


def names(texts):
    where = collections.defaultdict(list)
    for path in texts:
        if path.startswith("src/"):
            where[os.path.basename(path)].append(path)
    return [f"{name} is the name of {' and '.join(sorted(paths))}" for name, paths in sorted(where.items()) if len(paths) > 1]


def pieces(texts):
    """A line on standard error is written in one piece: other ranks write there, too."""
    found = []
    for path, text in texts.items():
        starts = [match.group(1) for match in SAID.finditer(text) if not match.group(1).rstrip().endswith('\\n"')]
        found += [f"{path} writes a piece of a line to stderr: {said.strip()[:60]}" for said in starts]
        found += [f"{path} writes a piece of a line to stderr: {said}" for said in re.findall(r"\bvfprintf\(stderr|\bfputc\([^;]*stderr", text)]
    return found


# ---- what the compiler knows ----

def edges_of(objects, texts):
    """(user, owner, function) of every call across files of the library."""
    owner, wanted, source_of = {}, [], {}
    for at, _, files in os.walk(objects):
        for path in (os.path.join(at, file) for file in files if file.endswith(".o")):
            source = path[path.index("/src/") + 1:-2] if "/src/" in path else None
            if source in texts:  # else an old object
                source_of[path] = source
    told = subprocess.run(["nm", "-A", *source_of], capture_output=True, text=True, check=True).stdout if source_of else ""
    for line in told.splitlines():
        path, _, symbol = line.partition(".o:")
        kind, name = symbol.split()[-2:]
        if kind == "T":
            owner[name] = source_of[path + ".o"]
        elif kind == "U":
            wanted.append((source_of[path + ".o"], name))
    return {(source, owner[name], name) for source, name in wanted if name in owner and owner[name] != source}


def one_unit(root, texts, compiler, folders_of_others):
    """One unit with every header of the library."""
    headers = sorted(path for path in texts if path.endswith(".h"))
    text = "".join(f'#include "{re.sub("^(src|include)/", "", path)}"\n' for path in headers)
    with tempfile.NamedTemporaryFile("w", suffix=".c") as unit:
        unit.write(text)
        unit.flush()
        flags = [f"-I{folder}" for folder in folders_of_others]
        made = subprocess.run([compiler, "-std=c17", "-D_GNU_SOURCE", "-fsyntax-only", "-I", f"{root}/src", "-I",
                               f"{root}/include", "-I", f"{root}/include/hopcast-shmem", *flags, unit.name], capture_output=True, text=True, check=False)
    return [] if made.returncode == 0 else ["one unit cannot include every header:\n" + made.stderr[:3000]]


def broken_cases():
    """Each rule finds what breaks it."""
    order = ["low", "high"]
    cases = {
        "folders": folders(order, {"src/low/a.c": "", "src/attic/b.c": ""}),
        "includes": includes(order, {"src/low/a.c": '#include "high/b.h"\n', "src/high/b.h": ""}),
        "private": includes(order, {"include/hopcast/a.h": '#include "high/b.h"\n', "src/high/b.h": ""}),
        "calls": calls(order, {("src/low/a.c", "src/high/b.c", "f")}),
        "circles": circles({("src/low/a.c", "src/low/b.c", "f"), ("src/low/b.c", "src/low/a.c", "g")}),
        "tags": tags({"src/low/a.h": "struct x {\n};\n", "src/low/b.h": "struct x {\n};\n"}),
        "pieces": pieces({"src/low/a.c": 'fprintf(stderr, "half a line ");\n'}),
        "names": names({"src/low/a.c": "", "src/high/a.c": ""}),
    }
    return [f"the rule '{name}' finds nothing where it is broken" for name, found in cases.items() if not found]


def main():
    root, objects, compiler = sys.argv[1:4]
    order = rooms_of(open(os.path.join(root, "docs/architecture.md"), encoding="utf-8").read())
    texts = sources(root)
    edges = edges_of(objects, texts)
    wrong = broken_cases() + folders(order, texts) + includes(order, texts) + calls(order, edges) + circles(edges) + \
        tags(texts) + names(texts) + pieces(texts) + one_unit(root, texts, compiler, sys.argv[4:])
    if len(edges) < len(order):
        wrong.append(f"{objects} holds no object files of the library")
    for sentence in wrong:
        print(sentence)
    print(f"{len(order)} rooms, {len(texts)} files, {len(edges)} calls across files: {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
