#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every function, generic name and constant of OpenSHMEM 1.6 is there, with its type: names.py BUILD

Compiles a C and a C++ file with an assertion of type for each function and calls of each generic name, with and without
a context, for each type; and looks for the functions and their profiling names among the library's symbols."""
import os
import subprocess
import sys
import tempfile

ROWS = """char char, signed_char schar, short short, int int, long long, long_long longlong, ptrdiff_t ptrdiff,
unsigned_char uchar, unsigned_short ushort, unsigned_int uint, unsigned_long ulong, unsigned_long_long ulonglong,
int8_t int8, int16_t int16, int32_t int32, int64_t int64, uint8_t uint8, uint16_t uint16, uint32_t uint32,
uint64_t uint64, size_t size, float float, double double, long_double longdouble,
double__Complex complexd, float__Complex complexf"""
TYPE = {name: type.replace("__", " _").replace("_", " ") if "_t" not in type else type
        for type, name in (row.split() for row in ROWS.split(","))}
TYPE.update(complexd="double _Complex", complexf="float _Complex")
STANDARD = "int long longlong uint ulong ulonglong int32 int64 uint32 uint64 size ptrdiff".split()
OLD = "short int long longlong".split()
CLASS = {
    "rma": [n for n in TYPE if not n.startswith("complex")],
    "amo": STANDARD,
    "ext": STANDARD + ["float", "double"],
    "bit": "uint ulong ulonglong int32 int64 uint32 uint64".split(),
    "old": STANDARD + ["short", "ushort"],
    "redb": "uchar ushort uint ulong ulonglong int8 int16 int32 int64 uint8 uint16 uint32 uint64 size".split(),
    "reds": list(TYPE),
    "oldb": OLD,
    "oldm": OLD + ["float", "double", "longdouble"],
    "olds": OLD + ["float", "double", "longdouble", "complexd", "complexf"],
    "size": ["8", "16", "32", "64", "128"],
    "half": ["32", "64"],
}
# class, letters, result, name, parameters; $: the type; %: its name, or the size. c: also on a context, as
# shmem_ctx_NAME; g: also without the type's name. The specification's synopses and its tables of types.
MOVE, STEPS = "$ *, const $ *, size_t", "$ *, const $ *, ptrdiff_t, ptrdiff_t, size_t"
SIGNAL, TEAM, SET = MOVE + ", uint64_t *, uint64_t, int", "shmem_team_t, " + MOVE, "int, int, int, long *"
API = [row.split(None, 3) for row in f"""
rma cg void %_put({MOVE}, int)
rma cg void %_get({MOVE}, int)
rma cg void %_put_nbi({MOVE}, int)
rma cg void %_get_nbi({MOVE}, int)
rma cg void %_put_signal({SIGNAL}, int)
rma cg void %_put_signal_nbi({SIGNAL}, int)
rma cg void %_iput({STEPS}, int)
rma cg void %_iget({STEPS}, int)
rma cg void %_ibput({STEPS}, size_t, int)
rma cg void %_ibget({STEPS}, size_t, int)
rma cg void %_p($ *, $, int)
rma cg $ %_g(const $ *, int)
size c void put%({MOVE}, int)
size c void get%({MOVE}, int)
size c void put%_nbi({MOVE}, int)
size c void get%_nbi({MOVE}, int)
size c void put%_signal({SIGNAL}, int)
size c void put%_signal_nbi({SIGNAL}, int)
size c void iput%({STEPS}, int)
size c void iget%({STEPS}, int)
size c void ibput%({STEPS}, size_t, int)
size c void ibget%({STEPS}, size_t, int)
- c void putmem({MOVE}, int)
- c void getmem({MOVE}, int)
- c void putmem_nbi({MOVE}, int)
- c void getmem_nbi({MOVE}, int)
- c void putmem_signal({SIGNAL}, int)
- c void putmem_signal_nbi({SIGNAL}, int)
ext cg $ %_atomic_fetch(const $ *, int)
ext cg void %_atomic_set($ *, $, int)
ext cg $ %_atomic_swap($ *, $, int)
ext cg void %_atomic_fetch_nbi($ *, const $ *, int)
ext cg void %_atomic_swap_nbi($ *, $ *, $, int)
amo cg $ %_atomic_compare_swap($ *, $, $, int)
amo cg void %_atomic_compare_swap_nbi($ *, $ *, $, $, int)
amo cg $ %_atomic_fetch_inc($ *, int)
amo cg void %_atomic_fetch_inc_nbi($ *, $ *, int)
amo cg void %_atomic_inc($ *, int)
amo cg $ %_atomic_fetch_add($ *, $, int)
amo cg void %_atomic_fetch_add_nbi($ *, $ *, $, int)
amo cg void %_atomic_add($ *, $, int)
bit cg void %_atomic_and($ *, $, int)
bit cg void %_atomic_or($ *, $, int)
bit cg void %_atomic_xor($ *, $, int)
bit cg $ %_atomic_fetch_and($ *, $, int)
bit cg $ %_atomic_fetch_or($ *, $, int)
bit cg $ %_atomic_fetch_xor($ *, $, int)
bit cg void %_atomic_fetch_and_nbi($ *, $ *, $, int)
bit cg void %_atomic_fetch_or_nbi($ *, $ *, $, int)
bit cg void %_atomic_fetch_xor_nbi($ *, $ *, $, int)
ext g $ %_fetch(const $ *, int)
ext g void %_set($ *, $, int)
ext g $ %_swap($ *, $, int)
amo g $ %_cswap($ *, $, $, int)
amo g $ %_finc($ *, int)
amo g void %_inc($ *, int)
amo g $ %_fadd($ *, $, int)
amo g void %_add($ *, $, int)
- c void signal_set(uint64_t *, uint64_t, int)
- c void signal_add(uint64_t *, uint64_t, int)
- - uint64_t signal_fetch(const uint64_t *)
- - uint64_t signal_wait_until(uint64_t *, int, uint64_t)
amo g void %_wait_until($ *, int, $)
amo g int %_test($ *, int, $)
amo g void %_wait_until_all($ *, size_t, const int *, int, $)
amo g size_t %_wait_until_any($ *, size_t, const int *, int, $)
amo g size_t %_wait_until_some($ *, size_t, size_t *, const int *, int, $)
amo g void %_wait_until_all_vector($ *, size_t, const int *, int, const $ *)
amo g size_t %_wait_until_any_vector($ *, size_t, const int *, int, const $ *)
amo g size_t %_wait_until_some_vector($ *, size_t, size_t *, const int *, int, const $ *)
amo g int %_test_all($ *, size_t, const int *, int, $)
amo g size_t %_test_any($ *, size_t, const int *, int, $)
amo g size_t %_test_some($ *, size_t, size_t *, const int *, int, $)
amo g int %_test_all_vector($ *, size_t, const int *, int, const $ *)
amo g size_t %_test_any_vector($ *, size_t, const int *, int, const $ *)
amo g size_t %_test_some_vector($ *, size_t, size_t *, const int *, int, const $ *)
old - void %_wait($ *, $)
- - void wait(long *, long)
rma g int %_broadcast({TEAM}, int)
rma g int %_collect({TEAM})
rma g int %_fcollect({TEAM})
rma g int %_alltoall({TEAM})
rma g int %_alltoalls(shmem_team_t, {STEPS})
- - int broadcastmem({TEAM}, int)
- - int collectmem({TEAM})
- - int fcollectmem({TEAM})
- - int alltoallmem({TEAM})
- - int alltoallsmem(shmem_team_t, {STEPS})
half - void broadcast%({MOVE}, int, {SET})
half - void collect%({MOVE}, {SET})
half - void fcollect%({MOVE}, {SET})
half - void alltoall%({MOVE}, {SET})
half - void alltoalls%({STEPS}, {SET})
redb g int %_and_reduce({TEAM})
redb g int %_or_reduce({TEAM})
redb g int %_xor_reduce({TEAM})
rma g int %_max_reduce({TEAM})
rma g int %_min_reduce({TEAM})
reds g int %_sum_reduce({TEAM})
reds g int %_prod_reduce({TEAM})
reds g int %_sum_inscan({TEAM})
reds g int %_sum_exscan({TEAM})
oldb - void %_and_to_all($ *, const $ *, int, int, int, int, $ *, long *)
oldb - void %_or_to_all($ *, const $ *, int, int, int, int, $ *, long *)
oldb - void %_xor_to_all($ *, const $ *, int, int, int, int, $ *, long *)
oldm - void %_max_to_all($ *, const $ *, int, int, int, int, $ *, long *)
oldm - void %_min_to_all($ *, const $ *, int, int, int, int, $ *, long *)
olds - void %_sum_to_all($ *, const $ *, int, int, int, int, $ *, long *)
olds - void %_prod_to_all($ *, const $ *, int, int, int, int, $ *, long *)
- - void init(void)
- - int init_thread(int, int *)
- - void query_thread(int *)
- - void query_initialized(int *)
- - void finalize(void)
- - void global_exit(int)
- - void pcontrol(int, ...)
- - int my_pe(void)
- - int n_pes(void)
- - int pe_accessible(int)
- - int addr_accessible(const void *, int)
- - void* ptr(const void *, int)
- - void info_get_version(int *, int *)
- - void info_get_name(char *)
- - void* malloc(size_t)
- - void* malloc_with_hints(size_t, long)
- - void* calloc(size_t, size_t)
- - void* align(size_t, size_t)
- - void* realloc(void *, size_t)
- - void free(void *)
- - int team_my_pe(shmem_team_t)
- - int team_n_pes(shmem_team_t)
- - void* team_ptr(shmem_team_t, const void *, int)
- - int team_get_config(shmem_team_t, long, shmem_team_config_t *)
- - int team_translate_pe(shmem_team_t, int, shmem_team_t)
- - int team_split_strided(shmem_team_t, int, int, int, const shmem_team_config_t *, long, shmem_team_t *)
- - int team_split_2d(shmem_team_t, int, const shmem_team_config_t *, long, shmem_team_t *, \
const shmem_team_config_t *, long, shmem_team_t *)
- - void team_destroy(shmem_team_t)
- - int team_create_ctx(shmem_team_t, long, shmem_ctx_t *)
- - int ctx_create(long, shmem_ctx_t *)
- - void ctx_destroy(shmem_ctx_t)
- - int ctx_get_team(shmem_ctx_t, shmem_team_t *)
- - void ctx_session_start(shmem_ctx_t, long, const shmem_ctx_session_config_t *, long)
- - void ctx_session_stop(shmem_ctx_t)
- - void fence(void)
- - void ctx_fence(shmem_ctx_t)
- - void quiet(void)
- - void ctx_quiet(shmem_ctx_t)
- c void pe_quiet(const int *, size_t)
- - void barrier_all(void)
- - void sync_all(void)
- - int team_sync(shmem_team_t)
- - void barrier({SET})
- - void sync({SET})
- - void set_lock(long *)
- - void clear_lock(long *)
- - int test_lock(long *)
""".strip().splitlines()]
# Generic names whose types are not in their first argument: those of a context, or of a team.
CALLS = ["shmem_sync((shmem_team_t)0)", "shmem_sync(0, 0, 1, (long *)0)", "shmem_sync(SHMEM_TEAM_WORLD)",
         *(f"shmem_signal_{op}({ctx}(uint64_t *)0, (uint64_t)0, 0)" for op in ("set", "add")
           for ctx in ("", "(shmem_ctx_t)0, ")),
         "shmem_wait_until((long *)0, SHMEM_CMP_EQ, 0L)", "shmem_pe_quiet((const int *)0, (size_t)0)",
         "start_pes(0)", "shmem_p(SHMEM_CTX_DEFAULT, (double *)0, 1, 0)", "shmem_p((double *)0, 1, 0)",
         "shmem_put((int *)0, (int *)0, 1, 0)", "shmem_atomic_add((size_t *)0, 1, 0)",
         "shmem_sum_reduce(SHMEM_TEAM_WORLD, (float *)0, (float *)0, 1)"]
CONSTANTS = [f"{old}SHMEM_{name}" for old, names in (
    ("", "MAJOR_VERSION MINOR_VERSION MAX_NAME_LEN THREAD_SINGLE THREAD_FUNNELED THREAD_SERIALIZED THREAD_MULTIPLE "
         "CTX_SERIALIZED CTX_PRIVATE CTX_NOSTORE CTX_DEFAULT CTX_INVALID CTX_SESSION_BATCH CTX_SESSION_TOTAL_OPS "
         "TEAM_WORLD TEAM_SHARED TEAM_INVALID TEAM_NUM_CONTEXTS MALLOC_ATOMICS_REMOTE MALLOC_SIGNAL_REMOTE SIGNAL_SET "
         "SIGNAL_ADD SYNC_SIZE ALLTOALL_SYNC_SIZE ALLTOALLS_SYNC_SIZE"),
    ("_", "MAJOR_VERSION MINOR_VERSION MAX_NAME_LEN"),
    *((old, "CMP_EQ CMP_NE CMP_GT CMP_GE CMP_LT CMP_LE SYNC_VALUE BARRIER_SYNC_SIZE BCAST_SYNC_SIZE COLLECT_SYNC_SIZE "
            "REDUCE_SYNC_SIZE REDUCE_MIN_WRKDATA_SIZE") for old in ("", "_"))) for name in names.split()]


def functions():
    """(name, result, parameters, name without a type or None)"""
    for group, letters, result, rest in API:
        pattern, parameters = rest.rstrip(")").split("(", 1)
        for kind in CLASS.get(group, [""]):
            type = TYPE.get(kind, "void")
            own = [text.replace("$", type) for text in (result.replace("void*", "void *"), parameters)]
            plain = pattern.replace("%_", "") if "g" in letters else None
            yield ("shmem_" + pattern.replace("%", kind), *own, plain and "shmem_" + plain)
            if "c" in letters:
                yield ("shmem_ctx_" + pattern.replace("%", kind), own[0], "shmem_ctx_t, " + own[1],
                       plain and "shmem_" + plain)


def program(plus):
    same = '_Static_assert(_Generic(&({0}), {1} (*)({2}): 1, default: 0), "{0}");'
    if plus:
        same = "static {1} (*const {0}_)({2}) = {0};"
    gives = "std::is_same<decltype({0}), {1}>::value" if plus else "_Generic(({0}), {1}: 1, default: 0)"
    claim = "static_assert" if plus else "_Static_assert"
    lines = ["#include <shmem.h>", "#include <shmem.h>", "#include <pshmem.h>"] + ["#include <type_traits>"] * plus
    calls = []
    for name, result, parameters, plain in functions():
        for each in (name, "p" + name):
            lines.append(same.format(each, result, parameters))
        if plain:
            call = f'{plain}({", ".join(f"({p})0" for p in parameters.split(", "))})'
            calls.append(call + ";")
            if result != "void":
                lines.append(f'{claim}({gives.format(call, result)}, "{plain} of {parameters}");')
    lines += ["void calls(void);", "void calls(void)", "{", *calls, *(c + ";" for c in CALLS), "}"]
    lines += [f"static const long {c}_ = (long)({c});" for c in CONSTANTS]
    lines += ['static const char vendor[] = SHMEM_VENDOR_STRING _SHMEM_VENDOR_STRING;']
    return "\n".join(lines) + "\n"


def main():
    build, wrong = os.path.abspath(sys.argv[1]), []
    with tempfile.TemporaryDirectory() as folder:
        for plus in (False, True):
            source = os.path.join(folder, "names.cpp" if plus else "names.c")
            with open(source, "w") as file:
                file.write(program(plus))
            done = subprocess.run([os.path.join(build, "hopcast-shmemc++" if plus else "hopcast-shmemcc"), "-O0", "-w",
                                   "-std=c++11" if plus else "-std=c11", "-fsyntax-only", source],
                                  capture_output=True, text=True)
            wrong += [line for line in done.stderr.splitlines() if "error" in line] if done.returncode else []
    library = os.path.join(build, "libhopcast_shmem.so")
    there = set(line.split()[-1] for line in subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                                                            capture_output=True, text=True).stdout.splitlines())
    names = [name for name, *_ in functions()]
    wrong += [f"{p}{name} is not in {library}" for name in names for p in ("", "p") if p + name not in there]
    wrong += ["start_pes is missing"] * ("start_pes" not in there)
    print("\n".join(wrong[:40] + [f"{len(names)} functions, {len(CONSTANTS)} constants, {len(wrong)} wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
