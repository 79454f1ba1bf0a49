#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A small random GOAL program whose receives are from any source, of any tag, both, or neither, one of these a rank.

    loggopsim_any.py SEED > program.goal

It always ends: messages are numbered, a rank's operations stand by those numbers and wait for earlier ones only, and its
receives are posted in order. It is small, since LogGOPSim puts more than 16 operations that begin together in no certain order.
"""
import random
import sys

rng = random.Random(int(sys.argv[1]))
ranks = rng.randint(2, 6)
tags = [rng.choice((None, 3)) for _ in range(ranks)]  # of all messages to a rank; None: each its own
source, tag = ([rng.random() < 0.7 for _ in range(ranks)] for _ in range(2))
blocks = [[] for _ in range(ranks)]
for _ in range(rng.randint(1, 14)):
    a, b = rng.sample(range(ranks), 2)
    size, cpu, number = rng.choice((1, 8, 100, 4096, 65535)), rng.randint(0, 1), rng.randint(0, 2)
    if tag[b] is False or tags[b] is not None:  # else a receive by source might wait for what another has taken
        number = 3
    blocks[a].append("send %db to %d tag %d cpu %d" % (size, b, number, cpu))
    blocks[b].append("recv %db from %d tag %d cpu %d" % (size, -1 if source[b] else a, -1 if tag[b] else number, cpu))
    if rng.random() < 0.4:
        blocks[rng.randrange(ranks)].append("calc %d" % rng.randint(0, 20000))
print("num_ranks", ranks)
for rank, block in enumerate(blocks):
    print("rank %d {" % rank)
    last = 0
    for i, line in enumerate(block, 1):
        print("l%d: %s" % (i, line))
        if i > 1 and rng.random() < 0.35:
            print("l%d %srequires l%d" % (i, rng.choice(("", "i")), rng.randint(max(1, i - 3), i - 1)))
        if line.startswith("recv"):
            if last:
                print("l%d irequires l%d" % (i, last))
            last = i
    print("}")
