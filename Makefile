# The doors to the project. Each target sets up what it needs first.
.DEFAULT_GOAL := help
.PHONY: help setup demo figures install test docs test-docs test-aarch64 lint format sanitize fuzz bench bench-gpu clean

PYTHON := .venv/bin/python

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## install all that any target needs
	@tools/setup build test docs browser lint fuzz bench

demo:  ## smooth a noisy scene and write out/demo.png
	@tools/setup build
	@cmake --preset release -DTAUTSTRING_CUDA=OFF > /dev/null
	@cmake --build --preset release --target tautstring_cli tautstring_demo
	@mkdir -p out
	@build/release/examples/tautstring_demo out/demo.png
	@echo "the command: build/release/cli/tautstring; make install puts it into PREFIX/bin"

figures: demo  ## redraw the pictures of README and of the home page
	@cp out/demo.png docs/images/noisy_lowpass_tv.png
	@git status --short docs/images

PREFIX ?= $(HOME)/.local

install:  ## install the command, headers and library; PREFIX=... is where (~/.local)
	@tools/setup build
	@cmake --preset release -DTAUTSTRING_CUDA=OFF > /dev/null
	@cmake --build --preset release
	@cmake --install build/release --prefix $(PREFIX) > /dev/null
	@$(PREFIX)/bin/tautstring --version && echo "installed in $(PREFIX)/bin"

# Without CUDA: the C++ tests cover its kernels, and compiling them takes minutes.
PIP_INSTALL := $(PYTHON) -m pip install --quiet --no-build-isolation --no-deps
INSTALL_PACKAGES := $(PIP_INSTALL) --config-settings=build-dir=build/python \
  --config-settings=cmake.define.TAUTSTRING_CUDA=OFF . \
  && $(PIP_INSTALL) --config-settings=build-dir=../build/tasks ./tasks

test:  ## build and run all tests
	@tools/setup build test
	cmake --preset dev -DTAUTSTRING_LIBTORCH=ON -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON)
	cmake --build --preset dev
	ctest --preset dev
	$(INSTALL_PACKAGES)
	TAUTSTRING_DENOISE=$(CURDIR)/build/dev/examples/tautstring_denoise OMP_NUM_THREADS=1 \
	  $(PYTHON) -m pytest --numprocesses=auto --maxprocesses=8

docs:  ## build the site in out/site; a warning or a broken link is an error
	@tools/setup build test docs
	$(INSTALL_PACKAGES)
	@emcmake cmake -S docs/browser -B build/browser -G Ninja > /dev/null
	@cmake --build build/browser
	$(PYTHON) -m sphinx -W --keep-going -q docs out/site
	@echo "site: out/site/index.html"

test-docs: docs  ## test the page that runs the solver, in headless Chromium
	@tools/setup browser
	TAUTSTRING_CPU=portable $(PYTHON) -m pytest tests/site

# The cross compiler must not find the headers of this machine: those of Highway, which are the same
# for all, are linked to; GoogleTest is compiled. qemu can neither start threads in a
# forked child nor run itself anew.
ARM_LIBRARIES := build/aarch64-libraries
QEMU := qemu-aarch64 -L /usr/aarch64-linux-gnu

test-aarch64:  ## compile the core and its tests for 64-bit ARM, and run them under qemu
	@tools/setup build test aarch64
	@mkdir -p $(ARM_LIBRARIES)/include && ln -sfn /usr/include/hwy $(ARM_LIBRARIES)/include/hwy
	@cmake -S /usr/src/googletest -B build/aarch64-googletest -G Ninja -DCMAKE_BUILD_TYPE=Release \
	  -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DBUILD_GMOCK=OFF \
	  -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
	  -DCMAKE_INSTALL_PREFIX=$(CURDIR)/$(ARM_LIBRARIES) > /dev/null
	@cmake --build build/aarch64-googletest --target install > /dev/null
	cmake --preset aarch64
	cmake --build --preset aarch64 --target tautstring_tests tautstring_doc_tests
	$(QEMU) build/aarch64/tests/docs/tautstring_doc_tests --gtest_brief=1
	seq 0 $$(($$(nproc) - 1)) | xargs -P "$$(nproc)" -I SHARD env GTEST_TOTAL_SHARDS="$$(nproc)" \
	  GTEST_SHARD_INDEX=SHARD $(QEMU) build/aarch64/tests/cpp/tautstring_tests --gtest_brief=1 \
	  --gtest_filter=-*RunsInAForkedChild:CpuTargets.*

lint:  ## check format and code: clang-format, clang-tidy, ruff, mypy
	@tools/setup build test lint
	@cmake --preset lint > /dev/null
	tools/lint $(LINT)

format:  ## rewrite all sources in the project's format
	@tools/setup lint test
	git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format -i
	$(PYTHON) -m ruff check --fix --quiet
	$(PYTHON) -m ruff format --quiet

sanitize:  ## run the C++ tests under the address, undefined and thread sanitizers
	@tools/setup build test
	for preset in asan tsan; do \
	  cmake --preset $$preset && cmake --build --preset $$preset && ctest --preset $$preset || exit 1; \
	done

fuzz:  ## build the library with clang and run each fuzz target for a few seconds
	@tools/setup build fuzz
	cmake --preset fuzz
	cmake --build --preset fuzz --target tautstring_fuzz
	tests/fuzz/run build/fuzz/tests/fuzz

BENCH_CPU := build/release/bench/cpu/tautstring_bench_cpu --peers=build/peers
STUDY := PYTHONPATH=bench $(PYTHON) -m study --peers=build/peers
PHOTO :=

bench:  ## time the CPU solver beside other libraries; tables, a page and JSON in out/
	@tools/setup build test bench
	@bench/peers/install build/peers
	cmake --preset release -DTAUTSTRING_BENCH=ON -DTAUTSTRING_CUDA=OFF
	cmake --build --preset release --target tautstring_bench_cpu
	@mkdir -p out
	$(BENCH_CPU) --photo="$(PHOTO)" --benchmark_out=out/bench_cpu.json
	TAUTSTRING_CPU=avx2 $(BENCH_CPU) --benchmark_filter=^rows/ --benchmark_out=out/bench_cpu_avx2.json
	@python3 bench/report.py --markdown out/bench_cpu.json out/bench_cpu_avx2.json > out/bench_cpu.md
	@python3 bench/report.py --save out out/bench_cpu.json out/bench_cpu_avx2.json
	$(INSTALL_PACKAGES)
	$(STUDY) --device=cpu --json=out/study_cpu.json
	@python3 bench/report.py --save out out/study_cpu.json
	@build/peers/bin/python bench/study_page.py out out/study_cpu.json

bench-gpu:  ## time the CUDA solver beside a plain copy, on a GPU; tables, a page and JSON in out/
	@tools/setup build test bench
	@bench/peers/install build/peers
	cmake --preset release -DTAUTSTRING_BENCH=ON -DTAUTSTRING_CUDA=ON -DTAUTSTRING_CUDA_ARCHS=native
	cmake --build --preset release --target tautstring_bench_cuda
	@mkdir -p out && rm -f out/bench_cuda.json
	build/release/bench/cuda/tautstring_bench_cuda --json=out/bench_cuda.json; status=$$?; \
	  [ ! -e out/bench_cuda.json ] || python3 bench/report.py --save out out/bench_cuda.json; \
	  exit $$status
	$(PIP_INSTALL) --config-settings=build-dir=build/python-cuda \
	  --config-settings=cmake.define.TAUTSTRING_CUDA=ON .
	$(PIP_INSTALL) --config-settings=build-dir=../build/tasks ./tasks
	$(STUDY) --device=cuda --json=out/study_cuda.json
	@python3 bench/report.py --save out out/study_cuda.json
	@build/peers/bin/python bench/study_page.py out out/study_cuda.json

clean:  ## remove all that was built
	rm -rf build out .venv
