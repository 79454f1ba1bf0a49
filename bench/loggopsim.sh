#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Model loggp beside LogGOPSim: schedules of its generator through both, with five sets of parameters, then their speed.
#
#   make bench      (or configure with -DHOPCAST_BUILD_BENCH=ON and build bench_messages)
#   LOGGOPSIM=FOLDER bench/loggopsim.sh build/bench/bench/bench_messages [LARGEST_ALLTOALL]
#
# FOLDER holds LogGOPSim's programs LogGOPSim, txt2bin and schedgen (github.com/spcl/LogGOPSim), as they were built. They
# are not part of the project: without them this is skipped. Exit status: 0 all finish times agree, or skipped; 1 not.
#
# Times are CPU seconds. LogGOPSim's side: txt2bin, which makes its binary form of the text; LogGOPSim itself, the whole
# process; its events a second over that process. Our side: reading the text, compiling, the loop of events; events a second
# of the loop. Then two ratios: from the text to the finish times, all of both sides; and without reading the text, LogGOPSim
# over compiling and loop. LogGOPSim gives its own loop in whole seconds only, so it has no column; it is nearly all of the
# process where that takes seconds.
#
# The ring of 1,024 is one that LogGOPSim does not finish: its generator gives every message the same tag, its sort is not
# stable, and so a receive is matched too early. It stops after some of the events, and only the events a second compare.
# Its largest alltoall is 256 ranks unless said otherwise: its time grows with the cube of the ranks (512: more than a
# minute, 1,024: ten times that).
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

# Receives from any source and of any tag. Messages do not wait for their receives here, whose sizes LogGOPSim would ask.
equal=0 any_differ=$differ
for seed in $(seq 100); do
    python3 "$(dirname "$0")/loggopsim_any.py" "$seed" > "$work/any$seed.goal"
    "$there/txt2bin" -i "$work/any$seed.goal" -o "$work/any$seed.bin" > "$work/log" 2>&1
    compare "any$seed" 2500 1500 1000 6 0 65535
    compare "any$seed" 0 0 4000 0 5 65535
    compare "any$seed" 7000 300 50 1 2 65535
done
echo "  any source, any tag: $equal equal, $((differ - any_differ)) differ"

cpu_seconds() { # COMMAND ...: its CPU seconds
    local TIMEFORMAT='%U %S'
    { time "$@" > "$work/theirs" 2>&1; } 2>&1 | awk '{ print $1 + $2 }'
}

speed() { # NAME RUN_THEIRS ARGUMENTS
    local name=$1 run_theirs=$2 convert="-" theirs="-" done="" load compile run events
    shift 2
    "$there/schedgen" "$@" -o "$work/$name.goal" > "$work/log" 2>&1 || { echo "$name: cannot be generated"; return; }
    if [ "$run_theirs" = yes ]; then
        convert=$(cpu_seconds "$there/txt2bin" -i "$work/$name.goal" -o "$work/$name.bin")
        theirs=$(cpu_seconds "$there/LogGOPSim" -b -f "$work/$name.bin")
        done=$(sed -n 's/.*Events: \([0-9]*\).*/\1/p' "$work/theirs")
    fi
    read -r _ load _ compile _ run _ events < <("$ours" "$work/$name.goal" 2500 1500 1000 6 0 65535 | tail -1)
    awk -v name="$name" -v convert="$convert" -v theirs="$theirs" -v done="$done" -v load="$load" -v compile="$compile" \
        -v run="$run" -v events="$events" 'BEGIN {
        ours = sprintf("| %8.3f %8.3f %8.3f %10.2f", load, compile, run, events / run / 1e6)
        if (theirs == "-")
            printf "%-12s %10d | %8s %8s %10s %s |\n", name, events, "-", "-", "-", ours
        else if (done < events)
            printf "%-12s %10d | %8.3f %8.3f %10.3f %s | stopped after %d events: %.1f times the events a second\n", name,
                events, convert, theirs, done / theirs / 1e6, ours, done, events / (compile + run) / (done / theirs)
        else
            printf "%-12s %10d | %8.3f %8.3f %10.3f %s | %10.1f %12.1f\n", name, events, convert, theirs,
                done / theirs / 1e6, ours, (convert + theirs) / (load + compile + run), theirs / (compile + run)
    }'
    rm -f "$work/$name.goal" "$work/$name.bin"
}
echo "speed (CPU seconds, million events a second, times as fast):"
printf '%-23s | %-28s | %-37s | %s\n' "" LogGOPSim ours "ours to LogGOPSim"
printf '%-12s %10s | %8s %8s %10s | %8s %8s %8s %10s | %10s %12s\n' schedule events txt2bin process "M events/s" \
    reading compiling loop "M events/s" "from text" "without text"
speed ring1024 yes -p allreduce_ring -s 1024 -d 1048576
for ranks in 128 256 512 1024; do
    speed "alltoall$ranks" "$([ "$ranks" -le "$largest" ] && echo yes || echo no)" -p linear_alltoall -s "$ranks" -d 1024
done
[ "$differ" -eq 0 ]
