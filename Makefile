# Build, show, test and check Fairwind. `make` builds; `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

# rustup's folder is not on the path of every non-interactive shell.
export PATH := $(PATH):$(HOME)/.cargo/bin

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
VENV := $(TARGET)/test-tools

.PHONY: all pgo demo test test-tools fuzz fidelity record peers lint help

# One static file: it runs on every Linux of the processor. It is glibc's: nothing here needs what glibc loads at run time.
build = $(CARGO) rustc --release --package fairwind --bin fairwind $1 -- -C target-feature=+crt-static $2

# Small functions call one another all the time. Inlined up to three times the usual size, an event takes 2 to 7 % fewer instructions,
# and the file is a quarter larger. A profile knows better which calls matter.
INLINE := -C llvm-args=-inline-threshold=700

all: ## Build the command, one static file: target/release/fairwind
	$(call build,,$(INLINE))

# The compiler learns from the examples and some programs which ways are taken, and builds anew.
PGO := $(abspath $(TARGET))/pgo
LEARN := $(wildcard examples/*.json) hackbench schbench tbench volano perf-pipe:loops=100000 stress-ng:cpu=64

pgo: ## Build it from a profile of itself: takes twice as long, and what is called most is inlined
	rustup component add llvm-tools
	rm -rf $(PGO)/raw
	RUSTFLAGS="-C profile-generate=$(PGO)/raw" $(call build,--target-dir $(PGO)/learning)
	for kernel in 6.1 6.12; do
		for workload in $(LEARN); do
			LLVM_PROFILE_FILE=$(PGO)/raw/run-%p.profraw $(PGO)/learning/release/fairwind run $$workload -m 2x8x2 -k $$kernel >/dev/null
		done
	done
	"$$(rustc --print sysroot)"/lib/rustlib/*/bin/llvm-profdata merge --output $(PGO)/learned.profdata $(PGO)/raw/run-*.profraw
	RUSTFLAGS="-C profile-use=$(PGO)/learned.profdata" $(call build)

demo: all ## Run an example: a container throttled though it is below its limit
	$(TARGET)/release/fairwind run examples/throttled.json

test: test-tools ## Install what the tests need, and run all tests
	PATH="$(abspath $(VENV))/bin:$$PATH" $(CARGO) test --workspace

fuzz: ## Damage recordings at random and check them, for SECONDS=60
	FUZZ_SECONDS=$(or $(SECONDS),60) FUZZ_SEED=$${FUZZ_SEED:-$$(date +%s)} $(CARGO) test --package fairwind-check --test fuzz -- --nocapture

fidelity: ## Write the agreement table of docs/fidelity.md anew
	WRITE_FIDELITY=1 $(CARGO) test --quiet --package fairwind-check --test fidelity_page

record: ## Record the kept recordings anew in QEMU, or RECORDING=wakers-smt-6.12 alone
	recordings/record $(addprefix recordings/,$(or $(RECORDING),$(notdir $(patsubst %/trace.txt.xz,%,$(wildcard recordings/*/trace.txt.xz)))))

peers: all ## Measure beside SimSo, SimPy and the real kernel's perf bench
	peers/measure $(TARGET)/peers $(abspath $(TARGET))/release/fairwind

lint: ## Clippy without warnings, and the format
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) fmt --all --check

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

# The tests read traces back with trace-cmd and with Perfetto's own message classes for Python, and count with valgrind.
PERFETTO := import google.protobuf, perfetto.protos.perfetto.trace.perfetto_trace_pb2
as_root = $(if $(filter 0,$(shell id -u)),,sudo )

test-tools:
	@missing=
	command -v trace-cmd >/dev/null || missing+=" trace-cmd"
	command -v valgrind >/dev/null || missing+=" valgrind"
	if ! PATH="$(abspath $(VENV))/bin:$$PATH" python3 -c '$(PERFETTO)' 2>/dev/null; then
		command -v python3 >/dev/null || missing+=" python3"
		python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=" python3-venv"
		perfetto=missing
	fi
	if [[ -n $$missing ]]; then
		echo "installing:$$missing"
		$(as_root)env DEBIAN_FRONTEND=noninteractive apt-get update -qq
		$(as_root)env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $$missing
	fi
	if [[ -n $${perfetto-} ]]; then
		echo "installing Perfetto's Python package into $(VENV)"
		python3 -m venv --clear "$(VENV)"
		"$(VENV)/bin/python3" -m pip install --quiet --disable-pip-version-check protobuf perfetto
	fi

.ONESHELL:
