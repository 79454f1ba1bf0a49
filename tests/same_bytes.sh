#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds the tree once more, in another folder and on another day, and compares all that is installed.
#
#   tests/same_bytes.sh BUILD_FOLDER
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/a/folder/of/another/length"
tar -C "$source" --exclude=./build --exclude=./.git -cf - . | tar -C "$work/a/folder/of/another/length" -xf -
cd "$work/a/folder/of/another/length"
setting() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
arguments=()
for name in CMAKE_BUILD_TYPE CMAKE_INSTALL_PREFIX CMAKE_C_COMPILER CMAKE_CXX_COMPILER CMAKE_C_FLAGS CMAKE_CXX_FLAGS HOPCAST_HARDEN HOPCAST_CUDA HOPCAST_HIP; do
    arguments+=("-D$name=$(setting $name)")
done
export CCACHE_DISABLE=1 SOURCE_DATE_EPOCH=86400 # the second day of 1970
cmake -G Ninja -S . -B out -DHOPCAST_BUILD_TESTS=OFF "${arguments[@]}" >"$work/log" 2>&1 && cmake --build out --target product >>"$work/log" 2>&1 ||
    { tail -n 30 "$work/log"; exit 1; }
for pair in "first=$build" "second=$PWD/out"; do
    # A list of what was installed lies in the build folder, as tests/install_test.sh says.
    folder=${pair#*=}
    [ ! -f "$folder/install_manifest.txt" ] || cp "$folder/install_manifest.txt" "$work/manifest"
    DESTDIR=$work/${pair%%=*} cmake --install "$folder" >/dev/null
    rm "$folder/install_manifest.txt"
    [ ! -f "$work/manifest" ] || mv "$work/manifest" "$folder/install_manifest.txt"
done
count=$(find "$work/first" -type f | wc -l)
[ "$count" -gt 200 ] || { echo "only $count files were installed"; exit 1; }
diff -r "$work/first" "$work/second" && echo "$count files are the same"
