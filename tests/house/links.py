#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Guides: what they link to is there, and docs/README.md names each of them: links.py SOURCE"""
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
    print("\n".join(wrong + [f"{len(texts)} pages: {len(wrong)} faults"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
