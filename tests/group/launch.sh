#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs tests/group/rank.c under a launcher.
#
#   launch.sh openmpi|mpich RANK_PROGRAM ring RANKS
#   launch.sh openmpi|mpich RANK_PROGRAM kill VICTIM told|finds|dies [LAUNCHER_OPTION...]
#   launch.sh openmpi|mpich RANK_PROGRAM signal TERM|INT|KILL told|dies
#
# kill: four ranks search, one gets SIGKILL; signal: the launcher gets a signal. What rank 0 then learns is a matter of the launcher: it is
# `told` by a signal, it `finds` out by itself, or it `dies` of a SIGKILL too. In every case the best result is in its file and nobody is
# left: not because of the ranks' own timeout, which is longer than this test waits, except where rank 0 finds out by it.
# HOPCAST_MPI_PATH is the folder of the shims. Exit status: 0 as expected, 1 not, 77 skipped.
set -u
export LC_ALL=C

mpi=$1
rank=$2
what=$3
argument=$4
shift 4
launcher=mpirun.$mpi
outcome=${1:-}
[ "$what" = ring ] || shift
work=$(mktemp -d) || exit 2
patience_s=120 # a busy machine's; nothing is as slow
job=

finish() {
    local status=$?
    [ -z "$job" ] || kill -KILL "$job" 2>/dev/null
    for file in "$work"/pid.[0-9]; do
        [ -s "$file" ] && kill -KILL "$(cat "$file")" 2>/dev/null
    done
    rm -rf "$work"
    exit "$status"
}
trap finish EXIT

fail() {
    echo "FAIL  $*"
    [ -s "$work/best" ] && sed 's/^/      best: /' "$work/best"
    [ -s "$work/log" ] && tail -n 20 "$work/log" | sed 's/^/      /'
    exit 1
}

skip() {
    echo "skip  $*"
    exit 77
}
command -v "$launcher" >/dev/null || skip "there is no $launcher"
[ -e "$HOPCAST_MPI_PATH/hopcast-$mpi.so" ] || skip "there is no hopcast-$mpi.so: it was not built"
options=("$@")
if [ "$mpi" = openmpi ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    options+=(--oversubscribe)
    export OMPI_MCA_btl_vader_backing_directory=$work # what the killed leave behind goes with it
fi
[ "$outcome" = finds ] && export RANK_TIMEOUT_S=6 || export RANK_TIMEOUT_S=1000

if [ "$what" = ring ]; then
    timeout -k 5 $((2 * patience_s)) "$launcher" "${options[@]}" -n "$argument" "$rank" ring "$argument" >"$work/log" 2>&1 || fail "the launcher ended with status $?"
    carrier=$([ "$argument" = 1 ] && echo none || echo "$mpi")
    grep -qx "done: $argument ranks, $carrier" "$work/log" || fail "the ranks did not say that they are done"
    [ "$(wc -l <"$work/log")" = 2 ] || fail "a launcher or an MPI said something"
    cat "$work/log"
    exit 0
fi

# alive PID: it is there and no zombie
alive() { [ -r "/proc/$1/stat" ] && ! grep -q '^[^)]*) Z' "/proc/$1/stat" 2>/dev/null; }
best() { sed -n 's/^best //p' "$work/best" 2>/dev/null; }
# await WHAT CONDITION...: until it holds; fails with the message after patience_s
await() {
    local end=$((SECONDS + patience_s)) message=$1
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || fail "$message"
        sleep 0.02
    done
}
searching() {
    alive "$job" || fail "the launcher ended"
    [ -s "$work/pid.0" ] && [ -s "$work/pid.1" ] && [ -s "$work/pid.2" ] && [ -s "$work/pid.3" ] && [ "$(best || echo 0)" -ge 20 ] 2>/dev/null
}
ended() { grep -q "^ended by $1" "$work/best"; }
all_gone() {
    for file in "$work"/pid.[0-9]; do
        ! alive "$(cat "$file")" || return 1
    done
    ! alive "$job"
}

# Ranks search until somebody is killed, and all are gone.
search_and_kill() {
    rm -f "$work"/pid.* "$work/best"
    "$launcher" "${options[@]}" -n 4 "$rank" search "$work" >"$work/log" 2>&1 &
    job=$!
    await "the ranks do not search" searching
    sleep 0.5
    before=$(best)
    if [ "$what" = kill ]; then kill -KILL "$(cat "$work/pid.$argument")"; else kill "-$argument" "$job"; fi
    start=$(date +%s%N)
    await "a process is left" all_gone
    gone=$((($(date +%s%N) - start) / 1000000))
}

search_and_kill
# Open MPI kills all ranks soon after it asked them to end: how soon may be too soon on a busy machine.
for grace_s in 5 20; do
    [ "$mpi" = openmpi ] && [ "$outcome" = told ] && ! ended "a signal" || break
    export OMPI_MCA_odls_base_sigkill_timeout=$grace_s
    search_and_kill
done
case $outcome in
told) ended "a signal" || fail "rank 0 did not end by a signal" ;;
finds) ended "rank $argument" || fail "rank 0 did not end by itself" ;;
esac
[ "$(best)" -ge "$before" ] || fail "the best result is older than the kill: $(best), was $before"
echo "all gone after $gone ms: $(sed -n 2p "$work/best")"
