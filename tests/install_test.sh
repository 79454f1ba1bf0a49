#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs a finished build into a temporary prefix and uses it the way others do.
#
#   tests/install_test.sh BUILD_FOLDER
#
# HOPCAST_UPDATE_GOLDEN=1 rewrites tests/exports.txt, the list of exported symbols.
set -u
export LC_ALL=C

build=$(cd "$1" && pwd) || exit 2
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
failures=0

ok() { echo "ok    $1"; }
bad() {
    echo "FAIL  $1"
    failures=$((failures + 1))
}
# check NAME COMMAND...: the command succeeds; its output is shown when it does not
check() {
    local name=$1
    shift
    if "$@" >"$work/log" 2>&1; then ok "$name"; else
        bad "$name"
        sed 's/^/      /' "$work/log" | tail -n 30
    fi
}

# The list of what was installed is the user's, for `make uninstall`: it is as it was afterwards.
manifest=$build/install_manifest.txt
cp "$manifest" "$work/manifest" 2>/dev/null
trap 'rm -f "$manifest"; [ ! -f "$work/manifest" ] || cp "$work/manifest" "$manifest"; rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$prefix" >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
library=$(dirname "$(find "$prefix" -name libhopcast.so)")
export PKG_CONFIG_PATH=$library/pkgconfig

# ---- an example outside the tree, linked in four ways, prints the same ----

cp -r "$source/examples/predict_halo" "$work/example"
rm -f "$work/example/predict_halo" "$work/example/predict_halo_static"
for kind in shared static; do
    check "the example builds with CMake's package, $kind" bash -c "
        cmake -S '$work/example' -B '$work/cmake-$kind' -DCMAKE_PREFIX_PATH='$prefix' -DHOPCAST_KIND=$kind &&
        cmake --build '$work/cmake-$kind'"
done
check "the example builds with pkg-config, shared" make -C "$work/example" predict_halo
check "the example builds with pkg-config, static" make -C "$work/example" static

run() { LD_LIBRARY_PATH=$library "$@" >"$work/$(basename "$(dirname "$1")")-$(basename "$1").out" 2>&1; }
for program in cmake-shared/predict_halo cmake-static/predict_halo example/predict_halo example/predict_halo_static; do
    check "$program runs" run "$work/$program"
done
check "all four print the same" bash -c "set -e; for f in '$work'/*.out; do cmp '$work/cmake-shared-predict_halo.out' \"\$f\"; done"
check "they print a makespan" grep -q '^makespan ' "$work/cmake-shared-predict_halo.out"
if ldd "$work/cmake-static/predict_halo" "$work/example/predict_halo_static" | grep -q libhopcast; then
    bad "the static programs need no libhopcast.so"
else
    ok "the static programs need no libhopcast.so"
fi
check "a program that stores the library's folder runs without LD_LIBRARY_PATH" bash -c "
    cd '$work/example' && ${CC:-cc} predict_halo.c \$(pkg-config --cflags --libs hopcast) \\
        -Wl,-rpath,\$(pkg-config --variable=libdir hopcast) -o rpath && ./rpath"
"$work/cmake-static/predict_halo" nowhere >"$work/nowhere" 2>&1
check "the example says what is wrong, with no empty place before it" grep -q '^predict_halo: [^:]' "$work/nowhere"
check "the installed command answers" "$prefix/bin/hopcast" --version

# ---- OpenSHMEM programs, by what is installed ----

cp "$source/tests/shmem/calls.c" "$work/calls.c"
echo 'int main() { shmem_init(); shmem_long_p((long *)shmem_malloc(8), 1, 0); shmem_finalize(); }' >"$work/plus.cc"
check "hopcast-shmemcc compiles" env -C "$work" "$prefix/bin/hopcast-shmemcc" -Wall -Werror -o calls calls.c
check "hopcast-shmemrun runs it" "$prefix/bin/hopcast-shmemrun" -n 2 --heap 64M "$work/calls"
ln -s "$prefix/bin/hopcast-shmemc++" "$work/by_a_link"
check "hopcast-shmemc++ does, by a link to it" env -C "$work" ./by_a_link -Wall -include mpp/shmem.h -o plus plus.cc
check "what it made runs alone" "$work/plus"
if ldd "$work/calls" | grep libhopcast_shmem | grep -qF "$prefix"; then ok "it uses the library of its folder"; else
    bad "it uses the library of its folder"
fi
for way in pkg-config cmake; do
    mkdir "$work/by-$way"
    cat >"$work/by-$way/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.20)
project(plus CXX)
find_package(hopcast REQUIRED COMPONENTS shmem)
add_executable(plus ../plus.cc)
target_compile_options(plus PRIVATE -include mpp/shmem.h)
target_link_libraries(plus PRIVATE hopcast::shmem)
CMAKE
    by_pkg_config="${CXX:-c++} -include mpp/shmem.h plus.cc -o by-pkg-config/plus \$(pkg-config --cflags --libs hopcast-shmem) -Wl,-rpath,$library"
    by_cmake="cmake -S by-cmake -B by-cmake -DCMAKE_PREFIX_PATH='$prefix' && cmake --build by-cmake"
    [ $way = cmake ] && build_it=$by_cmake || build_it=$by_pkg_config
    check "an OpenSHMEM program builds by $way" env -C "$work" bash -c "$build_it"
    check "it runs" "$prefix/bin/hopcast-shmemrun" -n 2 --heap 64M "$work/by-$way/plus"
done
cp -r "$source/examples/shmem" "$work/search"
check "the search for images builds" env -C "$work/search" PATH="$prefix/bin:$PATH" make
check "it finds what a serial program finds" env HOPCAST_SHMEM_PROFILES="$work" LD_LIBRARY_PATH="$library" \
    "$prefix/bin/hopcast-shmemrun" -n 2 --heap 16M "$work/search/cbir" --images 50 --latency 1e-5

cp -r "$source/examples/torus" "$work/torus"
check "the programs over cards and over OpenSHMEM build" env -C "$work/torus" PATH="$prefix/bin:$PATH" make
check "a spin glass is what one rank makes of it" env LD_LIBRARY_PATH="$library" \
    "$prefix/bin/hopcast" launch -n 2 "$work/torus/spin_apenet" --side 8 --steps 2 --check

# ---- a library for another MPI, of what is installed (docs/processes.md) ----

if command -v mpicc >/dev/null; then
    check "a library for an MPI compiles" mpicc -shared -fPIC -I"$prefix/share/hopcast/mpi" -o "$work/hopcast-mine.so" \
        "$prefix/share/hopcast/mpi/group/mpi/shim.c" "$prefix/share/hopcast/mpi/amb/mpi/amb_shim.c"
    check "hopcast-amb runs with it, in one rank" env HOPCAST_MPI="$work/hopcast-mine.so" \
        "$prefix/bin/hopcast-amb" --quick --device host
fi

# ---- every public header compiles alone ----

for header in "$source"/include/hopcast/*.h; do
    name=hopcast/$(basename "$header")
    echo "#include <$name>" >"$work/one.c"
    cp "$work/one.c" "$work/one.cc"
    check "$name compiles alone, C17" \
        "${CC:-cc}" -std=c17 -pedantic-errors -Wall -Wextra -Werror -I"$prefix/include" -fsyntax-only "$work/one.c"
    check "$name compiles alone, C++17" \
        "${CXX:-c++}" -std=c++17 -pedantic-errors -Wall -Wextra -Werror -I"$prefix/include" -fsyntax-only "$work/one.cc"
done

# ---- the shared library exports what the list says, and nothing else ----

nm -D --defined-only "$library/libhopcast.so" | awk '{print $NF}' | sort >"$work/exports.txt"
if [ "${HOPCAST_UPDATE_GOLDEN:-}" = 1 ]; then
    cp "$work/exports.txt" "$source/tests/exports.txt"
fi
check "every exported symbol starts with hop_" bash -c "! grep -v '^hop_' '$work/exports.txt'"
check "exports are those of tests/exports.txt" diff -u "$source/tests/exports.txt" "$work/exports.txt"
grep -ohE '\bhop_[A-Za-z0-9_]+\(' "$source"/include/hopcast/*.h | tr -d '(' | sort -u >"$work/names"
check "every exported symbol stands in a public header" bash -c "! comm -23 '$work/exports.txt' '$work/names' | grep ."
grep -hE '^HOP_API' -A 3 "$source"/include/hopcast/*.h | tr '\n' ' ' | sed 's/HOP_API/\n/g' |
    grep -oE '^[^(;]*\bhop_[A-Za-z0-9_]+\(' | grep -oE 'hop_[A-Za-z0-9_]+\($' | tr -d '(' | sort -u >"$work/declared"
check "every declared function is exported" bash -c "! comm -23 '$work/declared' '$work/exports.txt' | grep ."

# ---- what optimised builds have against errors of memory (cmake/hardening.cmake) ----

# has FILE PATTERN PROGRAM...: a line of what the program says of the file matches
has() { "${@:3}" "$1" 2>/dev/null | grep -E -q -- "$2"; }
if grep -q '^HOPCAST_HARDEN:BOOL=ON' "$build/CMakeCache.txt" && grep -Eq '^CMAKE_BUILD_TYPE:[A-Z]*=(Release|RelWithDebInfo|MinSizeRel)$' "$build/CMakeCache.txt"; then
    find "$prefix/bin" "$library" -type f | while read -r file; do
        has "$file" ' (EXEC|DYN) ' readelf -h || continue
        has "$file" 'GNU_RELRO' readelf -lW && has "$file" 'BIND_NOW' readelf -d || echo "$file: tables of addresses stay writable"
        has "$file" 'GNU_STACK .* RW ' readelf -lW || echo "$file: the stack is executable"
        has "$file" ' DYN ' readelf -h || echo "$file: always at the same address"
        has "$file" '__stack_chk_fail' nm -D || echo "$file: the stack is not protected"
        has "$file" '__[a-z]+_chk(@|$)' nm -D || echo "$file: calls of the C library are not checked"
        ! has "$file" "RUNPATH.*($build|$source)" readelf -d || echo "$file: looks into the folder that it was built in"
        echo "$file" >>"$work/elves"
    done >"$work/missing"
    check "what is installed is hardened" bash -c "! grep . '$work/missing' && grep -q libhopcast_mpi '$work/elves'"
    if echo 'int f(void) { return 1; }' | "${CC:-cc}" -fcf-protection -xc -c - -o "$work/f.o" 2>/dev/null &&
        has "$work/f.o" 'IBT, SHSTK' readelf -n; then
        objects=$(ar t "$library/libhopcast.a" | wc -l)
        check "every object has landing places for jumps" test "$(readelf -n "$library/libhopcast.a" | grep -c 'IBT, SHSTK')" = "$objects"
    fi
fi

# ---- documents and manual pages ----

documents=$prefix/share/doc/hopcast
(cd "$source/docs" && find . -name '*.md' -o -name '*.schema.json') | while read -r name; do
    test -s "$documents/$name" || echo "$name"
done >"$work/missing"
check "every guide and schema is installed" bash -c "! grep . '$work/missing'"
grep -ohE 'share/doc/hopcast/[a-z0-9_./]+[a-z]' "$source"/man/*.scd "$source"/tools/*.c "$source"/src/*/*.c | sort -u | while read -r name; do
    test -s "$prefix/$name" || echo "$name"
done >"$work/missing"
grep -ohE '\bdocs/[a-z0-9_./]+\.(md|json)' "$source"/README.md "$source"/tools/*.c "$source"/src/*/*.c | sort -u | while read -r name; do
    test -s "$documents/${name#docs/}" || echo "$name"
done >>"$work/missing"
check "every document that a page, the README or a message names is installed" bash -c "! grep . '$work/missing'"

if [ -d "$prefix/share/man/man3" ]; then
    while read -r name; do
        test -s "$prefix/share/man/man3/$name.3" || echo "$name"
    done <"$source/tests/exports.txt" >"$work/missing"
    check "every exported function has a manual page" bash -c "! grep . '$work/missing'"
    # what a page shows, without spaces and roff's escapes
    cat "$prefix"/share/man/man3/hop_*.3 | sed 's/\\-/-/g; s/\\(aq/'"'"'/g; s/\\&//g' | tr -d ' \t\n' >"$work/pages"
    cat "$source"/include/hopcast/*.h | tr '\n' ' ' | sed 's/HOP_API/\n&/g' | grep -E '^HOP_API [^#]*;' |
        sed -E 's/^HOP_API //; s/;.*//' | tr -d ' \t' | while read -r prototype; do
        grep -qF -- "$prototype;" "$work/pages" || echo "$prototype"
    done >"$work/missing"
    check "the manual pages show every prototype as the headers do" bash -c "! grep . '$work/missing'"
fi
check "the library's name holds what its package promises" bash -c "
    readelf -d '$library/libhopcast.so' | grep -q 'SONAME.*libhopcast.so.$("$prefix/bin/hopcast" --version | grep -oE '[0-9]+\.[0-9]+' | head -1)\]'"
cat >"$work/version.c" <<'C'
#include <hopcast/hopcast.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    char compiled[32];
    snprintf(compiled, sizeof compiled, "%d.%d.%d", HOP_VERSION_MAJOR, HOP_VERSION_MINOR, HOP_VERSION_PATCH);
    return strcmp(compiled, hop_version()) != 0;
}
C
check "the macros and the library tell one version" bash -c "
    ${CC:-cc} '$work/version.c' \$(pkg-config --cflags --libs hopcast) -Wl,-rpath,'$library' -o '$work/version' && '$work/version'"

pages=$(find "$prefix" -path '*/man/man*' -type f -exec grep -L '^\.so ' {} +)
if [ -z "$pages" ] || ! command -v man >/dev/null; then
    echo "skip  manual pages: scdoc or man is missing"
else
    for page in $pages; do
        MANWIDTH=100 man -l --warnings "$page" 2>"$work/warnings" >"$work/page"
        if [ -s "$work/page" ] && [ ! -s "$work/warnings" ]; then ok "$(basename "$page") renders"; else
            bad "$(basename "$page") renders"
            head -n 5 "$work/warnings"
        fi
    done
fi

check "manual pages do not tell the day of the build" bash -c "! grep -rE '^\.TH .*\"[0-9]{4}-[0-9]{2}-[0-9]{2}\"' '$prefix/share/man'"

# ---- taken away again ----

touch "$prefix/share/doc/hopcast/mine"
check "another prefix than that of the installation is refused" bash -c "
    ! cmake -DPREFIX='$work/other' -P '$source/cmake/uninstall.cmake' '$build' && test -x '$prefix/bin/hopcast'"
check "what was installed is taken away" cmake -DPREFIX="$prefix" -P "$source/cmake/uninstall.cmake" "$build"
check "nothing is left but what is not ours" test "$(find "$prefix" ! -type d)" = "$prefix/share/doc/hopcast/mine"
check "folders of ours that are empty are gone" test "$(find "$prefix" -type d -name '*hopcast*')" = "$prefix/share/doc/hopcast"
check "a second time says that there is nothing" bash -c "cmake -P '$source/cmake/uninstall.cmake' '$build' 2>&1 | grep 'install_manifest.txt is missing'"

[ "$failures" -eq 0 ] || echo "$failures failed"
[ "$failures" -eq 0 ]
