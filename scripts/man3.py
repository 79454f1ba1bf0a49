#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Section 3 of the manual, made of the public headers: man3.py VERSION FOLDER HEADER...

hop_X.3 says what hopcast/X.h says; every function and every structure has a page of its name that leads there."""
import os
import re
import sys

COMMENT = re.compile(r"/\*(.*?)\*/", re.S)
FUNCTION = re.compile(r"\b(hop_\w+)\(")
STRUCTURE = re.compile(r"^(?:struct|enum) (hop_\w+)(?: \{|;$)", re.M)


def quoted(line):
    """Text for roff: nothing in it is a request or an escape."""
    line = line.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    return "\\&" + line if line[:1] in ".'" or line.startswith("\\(aq") else line


def prose(text):
    """A comment's lines: paragraphs, and lines as they stand where they are indented."""
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in text.split("\n")]
    out, kept = [], False
    for line in lines:
        stands = line.startswith("    ")
        if stands != kept:
            out.append(".EX" if stands else ".EE\n.PP")
            kept = stands
        out.append(quoted(line if stands else line.strip()) if line.strip() else ("" if stands else ".PP"))
    if kept:
        out.append(".EE")
    while out and out[0] in ("", ".PP"):
        out.pop(0)
    while out and out[-1] in ("", ".PP"):
        out.pop()
    return out


def items(text):
    """(comment, code) of each declaration, or of declarations that stand together below one comment."""
    found, comment, code = [], None, []

    def close():
        nonlocal comment, code
        if comment or code:
            found.append((comment, code))
        comment, code = None, []

    at = 0
    while at < len(text):
        end = text.find("\n", at)
        line = text[at:end]
        if line.startswith("/*"):
            stop = text.index("*/", at) + 2
            if code:
                close()
            comment = (comment + "\n\n" if comment else "") + text[at + 2:stop - 2].strip()
            at = text.index("\n", stop) + 1
            continue
        if not line.strip():
            close()
        elif not re.match(r"#(if|endif|undef|else)|extern \"C\"|^}$", line) or (code and line == "}"):
            code.append(line)
        at = end + 1
    close()
    return found


def page(version, stem, text):
    head = COMMENT.search(text[text.index("*/") + 2:]).group(1)
    body = text[text.index(head) + len(head) + 2:]
    body = body[:body.rindex("#endif")]
    title = re.sub(r"\s+", " ", re.sub(r"^\s*\* ?", "", head, flags=re.M).strip()).split(". ")[0].rstrip(".")
    title = re.sub(r"^\w+: ", "", title)
    out = [f'.TH "hop_{stem}" "3" "" "hopcast {version}" "Library"', ".SH NAME", quoted(f"hop_{stem} - {title}"),
           ".SH SYNOPSIS", f".B #include <hopcast/{stem}.h>", ".SH DESCRIPTION", *prose(head), ".SH DECLARATIONS"]
    for comment, code in items(body):
        code = [line for line in code if not re.match(r"#(define HOPCAST_|include)", line)]
        if not code and not comment:
            continue
        code = [quoted(line.replace("HOP_API ", "")) for line in code]
        out += [".PP", ".EX", *code, ".EE"] if code else []
        out += [".RS 4", *prose(comment), ".RE"] if comment and code else [".PP", *prose(comment)] if comment else []
    return "\n".join(out + [".SH SEE ALSO", ".BR libhopcast (3)", ""])


def main():
    version, folder, headers = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    for old in os.listdir(folder):
        os.remove(os.path.join(folder, old))
    stems = {os.path.basename(header)[:-2] for header in headers} - {"hopcast"}
    pages = {f"hop_{stem}" for stem in stems}
    for header in headers:
        stem = os.path.basename(header)[:-2]
        if stem not in stems:
            continue
        text = open(header, encoding="utf-8").read()
        with open(os.path.join(folder, f"hop_{stem}.3"), "w", encoding="utf-8") as out:
            out.write(page(version, stem, text))
        code = COMMENT.sub("", text)
        for name in set(FUNCTION.findall(code)) | set(STRUCTURE.findall(code)):
            if name not in pages:
                pages.add(name)
                with open(os.path.join(folder, f"{name}.3"), "w", encoding="utf-8") as out:
                    out.write(f".so man3/hop_{stem}.3\n")


if __name__ == "__main__":
    main()
