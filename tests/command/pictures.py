#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""In every kind of picture no text leaves the page or the box that it stands in, and no two texts lie on each other.

Texts are taken to be as wide as DejaVu Sans sets them, which is wider than most.

    pictures.py HOPCAST

Exit 0: so it is; 1: not.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

NARROW, WIDE = "ijlI.,:;'|!()[]f t/-", "mwMW%@—"
LONG = "n" * 40
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILES = {
    "traffic.csv": "from,to,host_bytes,device_bytes\n0,1,1,100000000\n1,2,12345678,7\n2,3,98765432,1023\n",
    "two.hop": f"{LONG}: gpu0 -> gpu1 64MiB\n" + "".join(f"t{i}.{k}: gpu{i} -> gpu{(i + k) % 4} {8 + 3 * i + k}MiB\n" for i in range(4) for k in (1, 2, 3)),
    "long.json": f'{{"hopcast_topology": 1, "name": "two-of-{LONG}", "nodes": [{{"name": "root0", "kind": "root"}}, {{"name": "{LONG}0", "kind": "gpu", "label": "{LONG}"}},'
                 f' {{"name": "{LONG}1", "kind": "gpu"}}, {{"name": "gpu2", "kind": "gpu"}}], "links": [{{"from": "gpu2", "to": "root0", "kind": "pcie", "generation": 4, "width": 16}},{{"from": "{LONG}0", "to": "root0", "kind": "pcie", "generation": 4, "width": 16}},'
                 f' {{"from": "{LONG}1", "to": "root0", "kind": "pcie", "generation": 3, "width": 8}}]}}',
    LONG + ".csv": "from,to,host_bytes,device_bytes\n0,1,1,1000\n",
    LONG + ".hop": f"a: {LONG}0 -> {LONG}1 64MiB\nb: {LONG}0 -> gpu2 64MiB\nc: gpu2 -> {LONG}0 64MiB\n",
}
PICTURES = [  # the kinds of pictures, what writes them to the file P
    "topology t2 --format svg -o P", "topology dgx-1 --format svg -o P", "topology dgx-a100 --format svg -o P", "topology long.json --format svg -o P",
    "topology data/clusters/four-dgx-a100.json --format svg -o P", "topology data/clusters/four-helios.json --format svg -o P",
    "topology data/topologies/nccl-xgmi-hive.xml --format svg -o P", "topology data/topologies/hwloc-2socket-3gpu.xml --format svg -o P",
    "traffic traffic.csv --svg P", "traffic halo:4x2 --svg P", "traffic ring:300 --svg P", f"traffic {LONG}.csv --svg P",
    "order two.hop --on t2 --svg P", "order two.hop --on t2 --all --histogram P", 
    f"order {LONG}.hop --on long.json --svg P", f"plan {LONG}.hop --on long.json --svg P", f"map {LONG}.hop --on long.json --svg P", "order two.hop --on t2 --all --svg P", "order -e 'gpu0 -> gpu1 1MiB; gpu0 -> gpu2 1MiB' --on t2 --all --svg P",
    "plan two.hop --on t2 --keep --svg P", "map halo:4x2 --on t2 --svg P", "map halo:8 --on data/clusters/two-dgx-a100.json --svg P --solver exchange",
    "compare data/measurements/pcie-2016.csv --on cs-storm --svg P", "compare data/measurements/infiniband-2011.csv --on ib-9node --model infiniband --model fair --svg P",
    "tune puts --on apenet:2 --svg P",
]


def advance(text):
    """In em."""
    return sum(0.36 if c in NARROW else 0.95 if c in WIDE else 0.69 if c.isupper() else 0.62 for c in text)


class Text:
    def __init__(self, text, x, y, size, anchor, turned, bold):
        self.text = text
        width, up, down = advance(text) * size * (1.1 if bold else 1), 0.74 * size, 0.2 * size
        before = width * {"start": 0, "middle": 0.5, "end": 1}[anchor]
        self.left, self.right, self.top, self.bottom = (x - up, x + down, y - width + before, y + before) if turned else \
            (x - before, x - before + width, y - up, y + down)

    def meets(self, other):
        return self.left < other.right - 0.5 and other.left < self.right - 0.5 and self.top < other.bottom - 0.5 and other.top < self.bottom - 0.5

    def __repr__(self):
        return f"{self.text!r} ({self.left:.0f} to {self.right:.0f}, {self.top:.0f} to {self.bottom:.0f})"


def collect(node, x, y, texts, boxes):
    """Texts and boxes of a drawing, moved by translations above them."""
    moved = re.match(r"translate\(([-\d.]+)[ ,]+([-\d.]+)\)", node.get("transform", ""))
    x, y = (x + float(moved.group(1)), y + float(moved.group(2))) if moved else (x, y)
    name = node.tag.split("}")[-1]
    if name == "text" and (node.text or "").strip():
        texts.append(Text(node.text, x + float(node.get("x", 0)), y + float(node.get("y", 0)), float(node.get("font-size", 16)), node.get("text-anchor", "start"),
                          "rotate(-90)" in node.get("transform", ""), node.get("font-weight") == "bold"))
    if name == "rect" and node.get("width") != "100%":
        boxes.append((x + float(node.get("x", 0)), y + float(node.get("y", 0)), float(node.get("width")), float(node.get("height")), node.get("stroke")))
    for child in node:
        collect(child, x, y, texts, boxes)


def wrong_with(svg):
    page = ElementTree.fromstring(svg)
    width, height = float(page.get("width")), float(page.get("height"))
    texts, boxes, wrong = [], [], []
    collect(page, 0, 0, texts, boxes)
    for i, text in enumerate(texts):
        if text.left < -0.5 or text.right > width + 0.5 or text.top < -0.5 or text.bottom > height + 0.5:
            wrong.append(f"{text} leaves the page, {width:.0f} x {height:.0f}")
        middle, across = (text.left + text.right) / 2, (text.top + text.bottom) / 2
        for left, top, wide, high, stroke in boxes:
            inside = left < middle < left + wide and top < across < top + high
            if inside and stroke and stroke != "none" and 12 < high < 60 and (text.left < left - 0.5 or text.right > left + wide + 0.5):
                wrong.append(f"{text} leaves its box, {left:.0f} to {left + wide:.0f}")
        wrong += [f"{text} lies on {other}" for other in texts[i + 1:] if text.meets(other)]
    if not texts:
        wrong.append("there is no text")
    if width > 4000 or height > 4000:
        wrong.append(f"it is {width:.0f} x {height:.0f}, which no screen or page shows")
    return wrong


def main():
    command, wrong = os.path.abspath(sys.argv[1]), 0
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(ROOT, "data"), os.path.join(folder, "data"))
        for name, text in FILES.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        for line in PICTURES:
            ran = subprocess.run(["/bin/sh", "-c", f"rm -f P; exec {command} {line}"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            path = os.path.join(folder, "P")
            if not os.path.exists(path):
                print(f"hopcast {line}: no picture: {ran.stdout[:300]}")
                wrong += 1
                continue
            with open(path, encoding="utf-8") as file:
                found = wrong_with(file.read())
            wrong += len(found)
            print(f"hopcast {line}: {len(found) or 'nothing'} wrong" + "".join(f"\n    {what}" for what in found[:6]))
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "golden", "*.svg"))):
        with open(path, encoding="utf-8") as file:
            found = wrong_with(file.read())
        wrong += len(found)
        print(f"{os.path.basename(path)}: {len(found) or 'nothing'} wrong" + "".join(f"\n    {what}" for what in found[:6]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
