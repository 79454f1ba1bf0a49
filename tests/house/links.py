#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Guides: what they link to is there, docs/README.md names each of them, and docs/gpu.md each function of a driver: links.py SOURCE"""
import os
import re
import sys

LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def pages(root):
    found = ["README.md"]
    for at, _, names in os.walk(os.path.join(root, "docs")):
        found += [os.path.relpath(os.path.join(at, name), root) for name in names if name.endswith(".md")]
    return sorted(found)


def targets(page, text):
    return {os.path.normpath(os.path.join(os.path.dirname(page), link)) for link in LINK.findall(text)}


def functions_not_told(header, page):
    """Of a GPU's driver: those that the library calls and the page says nothing of."""
    rows = "\n".join(line.split("|")[1] for line in page.splitlines() if line.startswith("|") and line.count("|") > 2)
    return [name for name in re.findall(r"^    X\((cu\w+),", header, re.M) if not re.search(rf"\b{name}\b", rows)]


def main():
    root = sys.argv[1]
    texts = {page: open(os.path.join(root, page), encoding="utf-8").read() for page in pages(root)}
    wrong = [f"{page} links to {link}, which is not there" for page, text in texts.items()
             for link in sorted(targets(page, text)) if not os.path.exists(os.path.join(root, link))]
    index = targets("docs/README.md", texts["docs/README.md"])
    wrong += [f"docs/README.md does not name {page}" for page in texts
              if page.startswith("docs/") and page != "docs/README.md" and page not in index]
    if targets("docs/a.md", "[x](../b.md) [y](c/d.md#e)") != {"b.md", "docs/c/d.md"}:
        wrong.append("links are not found")
    header = open(os.path.join(root, "src/device/gpu_driver.h"), encoding="utf-8").read()
    wrong += [f"docs/gpu.md does not say what {name} is relied on for"
              for name in functions_not_told(header, texts["docs/gpu.md"])]
    if functions_not_told("    X(cuA, a)\n    X(cuB, b)\n", "| cuA | x |\n") != ["cuB"]:
        wrong.append("functions are not found")
    print("\n".join(wrong + [f"{len(texts)} pages: {len(wrong)} faults"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
