#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Nothing that the command quotes, of its command line or of a file, moves a terminal's cursor, and no output holds nan or inf.

Values that no option takes, and files into whose words control characters and bytes that are no UTF-8 were put, go to every command; whatever it
answers must be printable UTF-8.

    quotes.py HOPCAST SOURCE_FOLDER

Exit 0: so it is; 1: not.
"""
import concurrent.futures
import glob
import itertools
import os
import re
import subprocess
import sys

from transcripts import no_number

MARKS = (b"\x1b[31m", b"\xc2\x9b31m", b"\xff\x7f")
PLACES = 3  # in each file
FOR_FILES = [  # the corpus or folder of files, and what reads them
    ("tests/fuzz/corpus/topology/*", ["topology"]),
    ("tests/fuzz/corpus/topology/*", ["predict", "-e", "gpu0 -> gpu1 1MiB", "--on"]),
    ("tests/fuzz/corpus/schedule/*", ["predict", "--on", "t2"]),
    ("tests/fuzz/corpus/goal/*", ["export", "json"]),
    ("tests/fuzz/corpus/measurements/*", ["compare", "--all", "--on", "t2"]),
    ("tests/fuzz/corpus/traffic/*", ["map", "--on", "t2"]),
    ("tests/fuzz/corpus/stages/*", ["tune", "stages"]),
    ("tests/fuzz/corpus/placement/*", ["predict", "-e", "rank0 -> rank1 1MiB", "--on", "t2", "--map"]),
    ("tests/fuzz/corpus/copies_table/*", ["run", "-e", "gpu0 -> gpu1 1MiB", "--copies"]),
    ("tests/fuzz/corpus/faults/*", ["predict", "-e", "gpu0 -> gpu1 1MiB", "--on", "t2", "--fidelity", "packet", "--faults"]),
    ("data/measurements/*.csv", ["calibrate", "--on", "t2"]),
    ("data/topologies/*.txt", ["topology", "--lint"]),
]


def wrong_with(output):
    """What of an output a terminal would not show as it is, or None."""
    try:
        text = output.decode()
    except UnicodeDecodeError as error:
        return f"bytes that are no UTF-8: {output[error.start - 40:error.end + 10]!r}"
    found = re.search(r".{0,40}[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    return f"a control character: {found.group()!r}" if found else no_number(text)


def spoilt(data, mark):
    """Copies of a file with the mark inside a word."""
    words = [m.start() + 1 for m in re.finditer(rb"[A-Za-z_]{2,}", data)]
    step = max(1, len(words) // PLACES)
    for place in words[step // 2::step][:PLACES]:
        yield data[:place] + mark + data[place:]


class Checker:
    def __init__(self, command, source):
        self.command, self.source = os.path.abspath(command).encode(), source

    def options(self):
        completion = subprocess.run([self.command, "completion", "bash"], stdout=subprocess.PIPE, text=True, check=True).stdout
        for name, options in re.findall(r"^    '([a-z ]+)'\) options='([^']*)'", completion, re.M):
            for i, option in enumerate(options.split()):
                words = [word.encode() for word in name.split()]
                yield words + [option.encode(), MARKS[i % len(MARKS)]], None
                if i < len(MARKS):
                    yield words + [b"--" + MARKS[i]], None
                    yield words + [MARKS[i], MARKS[i], MARKS[i]], None

    def files(self):
        for pattern, words in FOR_FILES:
            for i, path in enumerate(sorted(glob.glob(os.path.join(self.source, pattern)))):
                with open(path, "rb") as file:
                    data = file.read()
                for spoilt_data in spoilt(data, MARKS[i % len(MARKS)]):
                    yield [word.encode() for word in words] + [b"-"], spoilt_data

    def check(self, case):
        words, given = case
        ran = subprocess.run([self.command, *words], input=given or b"", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                             env={**os.environ, "LC_ALL": "C"}, timeout=240)
        wrong = f"it ended with {ran.returncode}" if ran.returncode not in (0, 1, 2) else wrong_with(ran.stdout)
        return wrong and f"hopcast {b' '.join(words)!r}{'' if given is None else ' of ' + repr(given[:2000])}: {wrong}"


def main():
    checker = Checker(sys.argv[1], sys.argv[2])
    cases = list(itertools.chain(checker.options(), checker.files()))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [found for found in pool.map(checker.check, cases) if found]
    print("\n".join(wrong[:40]))
    print(f"{len(cases)} commands, {len(wrong)} with an output that is not fit to be shown")
    return 1 if wrong or len(cases) < 300 else 0


if __name__ == "__main__":
    sys.exit(main())
