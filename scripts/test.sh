#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs the tests of build trees and says on the last line how many passed, failed and were skipped, all trees together.
#
#   scripts/test.sh [--soak] BUILD...
#
# --soak: those that are too long for every day, and no others. ctest counts quarters of processors, of which a test
# that waits claims fewer than one that computes (tests/CMakeLists.txt).
set -u
# What was freed is kept for a while: 256 MiB as a rule, which costs more time than it finds faults in programs this small.
export ASAN_OPTIONS=quarantine_size_mb=16${ASAN_OPTIONS:+:$ASAN_OPTIONS}

QUARTERS=4
choice=-LE
if [ "${1:-}" = --soak ]; then
    choice=-L
    shift
fi
passed=0
failed=0
skipped=0
for build in "$@"; do
    report=$build/tests.xml
    rm -f "$report"
    ctest --test-dir "$build" "$choice" soak -j $((QUARTERS * $(nproc))) --output-on-failure --output-junit tests.xml
    all=$(sed -n 's/^[[:space:]]*tests="\([0-9]*\)".*/\1/p' "$report" | head -n 1)
    well=$(grep -c '^[[:space:]]*<testcase .* status="run">' "$report")
    idle=$(grep -cE '^[[:space:]]*(<skipped message="SKIP_RETURN_CODE=77"/>|<testcase .* status="disabled">)' "$report")
    passed=$((passed + ${well:-0}))
    skipped=$((skipped + ${idle:-0}))
    [ "${all:-0}" -gt 0 ] && bad=$((all - well - idle)) || bad=1 # whatever else became of a test
    failed=$((failed + bad))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
