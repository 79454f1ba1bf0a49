#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The main job on real input: a halo exchange on a public 8-GPU PCIe machine, then the paper's fastest and slowest order,
# and the search for the best.
#
#   scripts/demo.sh HOPCAST OUTPUT_FOLDER
set -eu
hopcast=$1
out=$2
machine=data/machines/wrx90-8gpu-2switch.json
mkdir -p "$out"

say() {
    printf '\n\033[1m%s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[01]m//g'; fi
}
run() {
    say "\$ hopcast $*"
    "$hopcast" "$@"
}

say "1. The machine: eight GPUs below two PCIe switches."
run topology "$machine"

say "2. Every GPU sends 64 MiB to each of its three neighbours. When does each transfer end, and what did it lose where?"
run make halo:2x2x2,order=column --bytes 64MiB --on "$machine" -o "$out/halo.hop"
run predict "$out/halo.hop" --on "$machine" --trace "$out/halo.trace.json"

say "3. The same as a timeline."
run predict "$out/halo.hop" --on "$machine" --gantt

say "4. What held r3.z+ back?"
run predict "$out/halo.hop" --on "$machine" --explain r3.z+

say "5. Does the order of sends matter? The fastest and the slowest of all 1,679,616 orders on one socket of a Cray CS-Storm."
run predict data/schedules/halo3-fastest.hop data/schedules/halo3-slowest.hop --on t2 --set tau=0.2

say "6. The best of them, found and proved; then all orders of a smaller exchange, and where the given one stands."
run order data/schedules/halo3-slowest.hop --on t2 --set tau=0.2 -o "$out/best.hop" --svg "$out/best.svg"
run make halo:4x2,order=column --bytes 300MiB --on t2 -o "$out/halo2.hop"
run order "$out/halo2.hop" --on t2 --set tau=0.2 --all --histogram "$out/histogram.svg"

say "7. Two DGX A100 on one InfiniBand switch: which way does a transfer take, and what do eight at once get?"
cluster=data/clusters/two-dgx-a100.json
run topology "$cluster" --route node0.gpu3 node1.gpu3
"$hopcast" make gather,root=8,bytes=256MiB --on "$cluster" --devices node0.gpu0-7,node1.gpu0 -o "$out/gather.hop"
run predict "$out/gather.hop" --on "$cluster"

say "8. A fabric as its subnet manager routes it, and the published InfiniBand contention model beside the paper's measurements."
run topology data/topologies/ibnetdiscover-rails.txt --routes data/topologies/ibnetdiscover-rails.lfts
run compare data/measurements/infiniband-2011.csv --on ib-9node --model infiniband --model fair

say "9. What is wrong or slow on that machine? And its parameters, found again from measurements (synthetic ones; yours come from nvbandwidth)."
"$hopcast" topology "$machine" --lint || true
run calibrate data/measurements/two-switch-synthetic.csv --on "$machine" -o "$out/machine.json"

say "10. The same schedules, executed: an allreduce among four processes, each byte checked; then on the links of that machine, emulated."
run make allreduce -n 4 --algorithm ring --bytes 1MiB --devices gpu0-3 -o "$out/allreduce.hop"
run predict "$out/allreduce.hop" --on "$machine" -m credit
run run "$out/allreduce.hop" --rows 8
run run "$out/allreduce.hop" --emulate "$machine" -m credit --predict --rows 8

say "11. Which rank should have which GPU? The halo of step 2, mapped onto that machine, proved; every link's load before and after."
run map halo:2x2x2,bytes=64MiB --on "$machine" --draw -o "$out/best.map" --svg "$out/loads.svg"

"$hopcast" topology "$machine" --format svg -o "$out/machine.svg"
say "Written: $out/halo.hop (the schedule), $out/halo.trace.json (open it in Perfetto), $out/machine.svg (the machine, drawn),"
say "$out/best.hop and $out/best.svg (the best order and its steps), $out/histogram.svg (all orders), $out/machine.json (the fit),"
say "$out/best.map (the placement, for --map) and $out/loads.svg (what its links carry, before and after)"
