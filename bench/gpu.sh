#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Everything about a real GPU in one go, in less than 8 minutes: builds, checks the kernels against the processor,
# measures.
#
#   bench/gpu.sh [FOLDER]      default build/gpu; what it prints is in FOLDER/report.md too, to go into docs/gpu.md
#
# It needs a C compiler, nvcc and the driver, no other library: of the rooms that devices, runs and collectives stand on,
# the files that need none are compiled. Each step has a limit of seconds, and all have one together; one that fails does not
# stop the next. Exit status: how many failed. FOLDER/link has the copies between host and device as measurements and
# schedules, for `hopcast compare` and `hopcast calibrate` on a machine that has those.
#
# With HOPCAST_CUDA_LIBRARY naming the stand-in of tests/fake_cuda the script itself can be tried without a GPU;
# HOPCAST_GPU_SECONDS shortens the tables of allreduce, HOPCAST_GPUS says how many GPUs there are where nvidia-smi is not.
set -u
cd "$(dirname "$0")/.." || exit 1
folder=${1:-build/gpu}
mkdir -p "$folder"
exec 3>&2 > >(tee "$folder/report.md") 2>&1
failed=0
all_seconds=465

step() { # TITLE SECONDS COMMAND...
    local title=$1 limit=$2 started=$SECONDS status
    shift 2
    printf '\n### %s\n\n' "$title"
    [ "$limit" -le $((all_seconds - SECONDS)) ] || limit=$((all_seconds - SECONDS))
    if [ "$limit" -lt 5 ]; then
        printf 'FAILED: no time is left\n'
        failed=$((failed + 1))
        return
    fi
    timeout -k 5 "$limit" "$@" 2> >(tee "$folder/errors" >&3) # progress is not for the report
    status=$?
    [ $status -eq 0 ] || { sleep 0.2 && tail -5 "$folder/errors"; }
    case $status in
    0) printf '\n(%s s)\n' $((SECONDS - started)) ;;
    124 | 137) printf '\nFAILED: not done after %s s\n' "$limit" ;;
    *) printf '\nFAILED: status %s\n' "$status" ;;
    esac
    [ $status -eq 0 ] || failed=$((failed + 1))
}

describe() {
    date -u '+%Y-%m-%d %H:%M UTC'
    grep -m 1 'model name' /proc/cpuinfo | sed 's/.*: //'
    echo "$(nproc) processors"
    df -h /dev/shm | tail -1
    nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap,pcie.link.gen.current,pcie.link.width.current \
        --format=csv,noheader || true
    nvidia-smi topo -m || true
    "$nvcc" --version | tail -2 || true
}

build_kernels() {
    local architecture
    architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null | head -1 | tr -d '. ')
    case $architecture in
    [0-9]*) architecture=sm_$architecture ;;
    *) architecture=sm_80 ;; # and what the driver makes of it
    esac
    "$nvcc" -fatbin -Xfatbin -compress-all -std=c++17 -O3 -fmad=false -arch="$architecture" -Isrc \
        -o "$folder/gpu_reduce.fatbin" src/device/gpu_reduce.cu &&
        echo "kernels for $architecture: $(stat -c %s "$folder/gpu_reduce.fatbin") bytes"
}

# Functions that nothing here calls are dropped, and with them what they would need.
sources() {
    grep -LE '<(jansson|libxml|hwloc|zlib|scotch)|base/json\.h' \
        src/{base,topology,schedule,pattern,collective,model,group,device,run}/*.c
    printf 'bench/%s.c\n' gpu_device gpu_allreduce
}

build_programs() {
    local flags=(-std=c17 -D_GNU_SOURCE -O2 -DNDEBUG -ffunction-sections -fdata-sections -Iinclude -Isrc)
    [ -s "$folder/gpu_reduce.fatbin" ] && flags+=("-DHOP_GPU_IMAGE_CUDA=\"$(realpath "$folder/gpu_reduce.fatbin")\"")
    local source objects=$folder/objects failed=0
    rm -rf "$objects"
    mkdir -p "$objects"
    for source in $(sources); do
        while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || failed=1; done
        "${CC:-cc}" "${flags[@]}" -c -o "$objects/$(echo "${source%.c}" | tr / _).o" "$source" &
    done
    while [ "$(jobs -p | wc -l)" -gt 0 ]; do wait -n || break; done
    for program in gpu_device gpu_allreduce; do
        "${CC:-cc}" -Wl,--gc-sections -o "$folder/$program" "$objects/bench_$program.o" "$objects"/src_*.o \
            -lm -lpthread -ldl || failed=1
    done
    [ $failed -eq 0 ] && echo "$(sources | wc -l) files compiled"
}

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
program=$folder/gpu_device
allreduce=$folder/gpu_allreduce
rm -f "$program" "$allreduce" "$folder/gpu_reduce.fatbin"
mkdir -p "$folder/link"
export -f describe build_kernels build_programs sources
export nvcc folder

step "The machine" 20 bash -c describe
step "Building the kernels" 60 bash -c build_kernels
step "Building the programs" 90 bash -c build_programs
step "Kernels against the processor" 60 "$program" check
step "Inside the device" 60 "$program" memory
gpus=$(nvidia-smi --query-gpu=index --format=csv,noheader 2> /dev/null | grep -c .) # all of them, whatever is shown to us
[ -n "${CUDA_VISIBLE_DEVICES-}" ] && gpus=$(echo "$CUDA_VISIBLE_DEVICES" | tr , '\n' | grep -c .)
gpus=${HOPCAST_GPUS:-$gpus}
[ "$gpus" -le 16 ] || gpus=16
[ "$gpus" -ge 1 ] || gpus=1
step "Allreduce, every type against the processor" 30 "$allreduce" types "$gpus"
if [ "$gpus" -gt 1 ]; then
    step "Between each two of $gpus GPUs" 60 "$allreduce" pairs "$gpus"
    seconds=${HOPCAST_GPU_SECONDS:-40}
    step "Allreduce among $gpus GPUs" $((seconds + 15)) "$allreduce" table "$gpus" "$seconds" "$gpus"
fi
for ranks in 2 4 8 16; do
    seconds=${HOPCAST_GPU_SECONDS:-$((20 + 3 * ranks))}
    step "Allreduce among $ranks processes on one GPU" $((seconds + 15)) "$allreduce" table $ranks "$seconds" 1
done
step "Latencies" 20 "$program" latency
step "Between processes" 30 "$program" processes
step "Between host and device" 50 "$program" host "$folder/link"

printf '\n%s steps failed, %s s\n' "$failed" "$SECONDS"
exit "$failed"
