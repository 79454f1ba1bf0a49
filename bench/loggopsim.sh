#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Model loggp beside LogGOPSim: schedules of its generator through both, with five sets of parameters, then their speed.
#
#   LOGGOPSIM=/folder/with/LogGOPSim,txt2bin,schedgen bench/loggopsim.sh BENCH_MESSAGES [LARGEST_ALLTOALL]
#
# BENCH_MESSAGES is the built bench_messages. Without LogGOPSim, which is not part of the project, this is skipped. Times are
# CPU seconds. Its largest alltoall is 256 ranks unless said otherwise: its time grows with the cube of the ranks (512: a
# minute or more).
set -u
ours=${1:?bench_messages}
largest=${2:-256}
there=${LOGGOPSIM:-}
for program in LogGOPSim txt2bin schedgen; do
    if [ ! -x "$there/$program" ]; then
        echo "skipped: there is no $program in \$LOGGOPSIM (${there:-not set})"
        exit 0
    fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
equal=0 differ=0 none=0

# "Host N: T" lines of both, or the highest time where LogGOPSim prints no more.
compare() { # NAME L o g G O S
    "$there/LogGOPSim" -L "$2" -o "$3" -g "$4" -G "$5" -O "$6" -S "$7" -f "$work/$1.bin" > "$work/theirs" 2>&1
    "$ours" "$work/$1.goal" "$2" "$3" "$4" "$5" "$6" "$7" > "$work/ours" 2>&1
    if grep -q '^Host ' "$work/theirs"; then
        grep '^Host ' "$work/theirs" > "$work/a"
        grep '^Host ' "$work/ours" > "$work/b"
    else
        sed -n 's/^Maximum finishing time at host [0-9]*: \([0-9]*\).*/\1/p' "$work/theirs" > "$work/a"
        sed -n 's/^Maximum: //p' "$work/ours" > "$work/b"
    fi
    if [ ! -s "$work/a" ]; then
        none=$((none + 1))
        echo "  $1 ($2 $3 $4 $5 $6 $7): LogGOPSim does not finish; ours: $(sed -n 's/^Maximum: //p' "$work/ours") ns"
    elif cmp -s "$work/a" "$work/b"; then
        equal=$((equal + 1))
    else
        differ=$((differ + 1))
        echo "  $1 ($2 $3 $4 $5 $6 $7): DIFFERS"
    fi
}

generate() { # NAME ARGUMENTS
    local name=$1
    shift
    "$there/schedgen" "$@" -o "$work/$name.goal" > "$work/log" 2>&1 &&
        "$there/txt2bin" -i "$work/$name.goal" -o "$work/$name.bin" >> "$work/log" 2>&1
}

echo "finish times:"
while read -r name arguments; do
    # shellcheck disable=SC2086
    generate "$name" $arguments || { echo "  $name: cannot be generated"; continue; }
    compare "$name" 2500 1500 1000 6 0 65535
    compare "$name" 1000 200 700 3 0 256
    compare "$name" 7000 300 50 1 2 1500
    compare "$name" 0 0 4000 0 5 0
    compare "$name" 123 4567 89 10 10 2000
done << 'LIST'
reduce8 -p binomialtreereduce -s 8 -d 1024
reduce20 -p binomialtreereduce -s 20 -d 1024
bcast8 -p binomialtreebcast -s 8 -d 4096
bcast64 -p binomialtreebcast -s 64 -d 100
tree15 -p binarytreebcast -s 15 -d 2000
nway2_9 -p nwaydissemination -s 9 -d 64 --nway 2
nway3_16 -p nwaydissemination -s 16 -d 1000 --nway 3
pipeline6 -p pipelinedring -s 6 -d 10000 --segmentsize 1500
pipelinedep6 -p pipelinedringdep -s 6 -d 10000 --segmentsize 1500
double7 -p doublering -s 7 -d 5000
gather12 -p gather -s 12 -d 3000
gather40 -p gather -s 40 -d 3000
scatter12 -p scatter -s 12 -d 3000
barrier8 -p linbarrier -s 8
dissemination16 -p dissemination -s 16 -d 1
dissemination100 -p dissemination -s 100 -d 777
alltoall8 -p linear_alltoall -s 8 -d 512
alltoall12 -p linear_alltoall -s 12 -d 512
alltoall32 -p linear_alltoall -s 32 -d 2048
doubling8 -p allreduce_recdoub -s 8 -d 65536
doubling64 -p allreduce_recdoub -s 64 -d 65536
ring8 -p allreduce_ring -s 8 -d 8192
ring64 -p allreduce_ring -s 64 -d 131072
resnet8 -p resnet -s 8
LIST
echo "  $equal equal, $differ differ, $none without a result of LogGOPSim"

echo "speed (CPU seconds; LogGOPSim: whole process without txt2bin; ours: reading the text, compiling, running):"
speed() { # NAME RUN_THEIRS ARGUMENTS
    local name=$1 theirs="-" ratio="-" load compile run events rest
    local run_theirs=$2
    shift 2
    generate "$name" "$@" || return
    if [ "$run_theirs" = yes ]; then
        TIMEFORMAT='%U %S'
        theirs=$({ time "$there/LogGOPSim" -b -f "$work/$name.bin" > "$work/theirs" 2>&1; } 2>&1 | awk '{ print $1 + $2 }')
    fi
    read -r _ load _ compile _ run _ events rest < <("$ours" "$work/$name.goal" 2500 1500 1000 6 0 65535 | tail -1)
    [ "$theirs" = - ] || ratio=$(awk "BEGIN { printf \"%.1f\", $theirs / ($compile + $run) }")
    printf '  %-14s LogGOPSim %8s   ours %7.3f %7.3f %7.3f   %5.2f M events/s   without reading %s times as fast' "$name" "$theirs" \
        "$load" "$compile" "$run" "$(awk "BEGIN { print $events / $run / 1e6 }")" "$ratio"
    if [ "$run_theirs" = yes ] && grep -q elements "$work/theirs"; then
        printf ' (LogGOPSim stopped after %s of %s events)' "$(sed -n 's/.*Events: \([0-9]*\).*/\1/p' "$work/theirs")" "$events"
    fi
    printf '\n'
    rm -f "$work/$name.goal" "$work/$name.bin"
}
speed ring1024 yes -p allreduce_ring -s 1024 -d 1048576
for ranks in 128 256 512 1024; do
    speed "alltoall$ranks" "$([ "$ranks" -le "$largest" ] && echo yes || echo no)" -p linear_alltoall -s "$ranks" -d 1024
done
[ "$differ" -eq 0 ]
