# SPDX-License-Identifier: BSD-3-Clause
# The usual verbs over the CMake presets. PREFIX and DESTDIR as everywhere; FUZZ_SECONDS is for each fuzzer.

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 600

# Building and installing need no cmocka; the tests do and say so.
TESTS = $(shell pkg-config --exists cmocka && echo ON || echo OFF)
FUZZERS = $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
HOPCAST = build/release/hopcast

.PHONY: all demo test bench soak fuzz install uninstall clean setup

all:
	cmake --preset release -DHOPCAST_BUILD_TESTS=$(TESTS) -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	cmake --build --preset release --target product

setup:
	scripts/setup.sh test

# Installs what is missing as root, else says what to install.
demo:
	scripts/setup.sh build
	$(MAKE) --no-print-directory all
	scripts/demo.sh $(HOPCAST) build/demo

# Everything twice: as it is installed, and under AddressSanitizer and UBSan.
test:
	scripts/setup.sh test
	cmake --preset release -DHOPCAST_BUILD_TESTS=ON
	cmake --build --preset release
	cmake --preset asan
	cmake --build --preset asan
	scripts/test.sh build/asan build/release

bench:
	scripts/setup.sh bench
	cmake --preset bench
	cmake --build --preset bench
	cmake --build --preset bench --target run-bench

# What is too long for every day: simulations against each other, the oracles' and campaigns' long forms, every test
# under MPICH.
soak:
	scripts/setup.sh test
	scripts/setup.sh bench
	cmake --preset release -DHOPCAST_BUILD_TESTS=ON
	cmake --build --preset release
	cmake --preset bench
	cmake --build --preset bench --target run-soak
	scripts/test.sh --soak build/release

# New inputs stay in build/fuzz/corpus, crashes in build/fuzz/crashes; a crash fails the target after all have run.
fuzz:
	scripts/setup.sh fuzz
	cmake --preset fuzz
	cmake --build --preset fuzz
	@mkdir -p build/fuzz/crashes; failed=; for name in $(FUZZERS); do \
	    mkdir -p build/fuzz/corpus/$$name; echo "== fuzz_$$name, $(FUZZ_SECONDS) s"; \
	    build/fuzz/tests/fuzz/fuzz_$$name -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
	        -print_final_stats=1 -verbosity=0 -artifact_prefix=build/fuzz/crashes/$$name- \
	        build/fuzz/corpus/$$name tests/fuzz/corpus/$$name || failed="$$failed $$name"; \
	done; if [ -n "$$failed" ]; then echo "crashed:$$failed; see build/fuzz/crashes"; exit 1; fi

install: all
	DESTDIR='$(DESTDIR)' cmake --install build/release

# What the last `make install` of this tree wrote.
uninstall:
	DESTDIR='$(DESTDIR)' cmake -DPREFIX='$(PREFIX)' -P cmake/uninstall.cmake build/release

clean:
	rm -rf build
