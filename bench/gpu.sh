#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Everything about a real GPU in one go, in less than 8 minutes: builds, checks the kernels against the processor,
# measures.
#
#   bench/gpu.sh [FOLDER]      default build/gpu; what it prints is in FOLDER/report.md too, to go into docs/gpu.md
#
# It needs a C compiler, nvcc and the driver, no other library: the device and what it stands on are compiled from the
# list below. Each step has a limit of seconds; one that fails does not stop the next. Exit status: how many failed.
# With HOPCAST_CUDA_LIBRARY naming the stand-in of tests/fake_cuda the script itself can be tried without a GPU.
set -u
cd "$(dirname "$0")/.." || exit 1
folder=${1:-build/gpu}
mkdir -p "$folder"
exec > >(tee "$folder/report.md") 2>&1
failed=0

step() { # TITLE SECONDS COMMAND...
    local title=$1 limit=$2 started=$SECONDS status
    shift 2
    printf '\n### %s\n\n' "$title"
    timeout -k 5 "$limit" "$@"
    status=$?
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
        -o "$folder/cuda_reduce.fatbin" src/device/cuda_reduce.cu &&
        echo "kernels for $architecture: $(stat -c %s "$folder/cuda_reduce.fatbin") bytes"
}

# Functions that nothing here calls are dropped, and with them what they would need.
build_program() {
    local kernels=()
    [ -s "$folder/cuda_reduce.fatbin" ] && kernels=("-DHOP_CUDA_FATBIN=\"$(realpath "$folder/cuda_reduce.fatbin")\"")
    "${CC:-cc}" -std=c17 -D_GNU_SOURCE -O2 -DNDEBUG -ffunction-sections -fdata-sections -Wl,--gc-sections \
        "${kernels[@]}" -Iinclude -Isrc -o "$folder/gpu_device" bench/gpu_device.c src/device/*.c \
        src/base/arena.c src/base/diag.c src/base/shared.c src/base/source.c src/schedule/schedule.c -lm -lpthread -ldl
}

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
program=$folder/gpu_device
rm -f "$program" "$folder/cuda_reduce.fatbin"
export -f describe build_kernels build_program
export nvcc folder

step "The machine" 20 bash -c describe
step "Building the kernels" 60 bash -c build_kernels
step "Building the program" 60 bash -c build_program
step "Kernels against the processor" 90 "$program" check
step "Inside the device" 70 "$program" memory
step "Latencies" 20 "$program" latency
step "Between processes" 30 "$program" processes
step "Between host and device" 50 "$program" host

# Here: collectives among processes, with the command (HOPCAST=path of one built for this machine).

printf '\n%s steps failed, %s s\n' "$failed" "$SECONDS"
exit "$failed"
