# Build, show, test and check Fairwind. `make` builds; `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

# rustup's folder is not on the path of every non-interactive shell.
export PATH := $(PATH):$(HOME)/.cargo/bin

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
VENV := $(TARGET)/test-tools

.PHONY: all learned quick demo test test-tools fuzz fidelity record peers lint help

# One static file: it runs on every Linux of the processor. It is glibc's: nothing here needs what glibc loads at run time.
build = $(CARGO) rustc --release --package fairwind --bin fairwind $1 -- -C target-feature=+crt-static

PGO := $(abspath $(TARGET))/pgo
PROFILE := $(PGO)/learned.profdata
SOURCES := $(shell find crates/*/src machines studies -name '*.rs' -o -name '*.toml') Cargo.toml Cargo.lock

all: ## Build the command, one static file: target/release/fairwind
	@if command -v rustup >/dev/null && rustup component add llvm-tools; then
		$(MAKE) --no-print-directory learned
	else
		echo "llvm-tools of rustup are missing: building without a profile, for a slower command" >&2
		$(MAKE) --no-print-directory quick
	fi

quick: ## Build it in half the time, for a slower command
	$(call build)

# The compiler builds the command twice: first one that counts what is called, to learn from runs of it which ways are taken. What
# is called often is inlined then, and what is hardly ever run lies apart, so that the rest stays in the first cache. The first one
# is not linked as a whole, which changes no count and takes less time.
COUNT := -C profile-generate=$(PGO)/raw -C lto=off -C linker-plugin-lto=no -C embed-bitcode=no -C debuginfo=0
FAIRWIND := $(PGO)/learning/release/fairwind
CHECKED := $(addsuffix -6.1,forks own-policies threads v2-groups weights) $(addsuffix -6.12,averages-smp grouped-policies limits many-cpus yields) \
	group-perf-6.18
LEARN := $(wildcard examples/*.json) hackbench schbench tbench volano perf-pipe:loops=100000 stress-ng:cpu=64

learned: $(PROFILE)
	RUSTFLAGS="-C profile-use=$(PROFILE)" $(call build)

$(PROFILE): $(SOURCES)
	RUSTFLAGS="$(COUNT)" $(call build,--target-dir $(PGO)/learning)
	rm -rf $(PGO)/raw
	export LLVM_PROFILE_FILE=$(PGO)/raw/run-%p.profraw
	for kernel in 6.1 6.12; do
		for workload in $(LEARN); do
			$(FAIRWIND) run $$workload -m 2x8x2 -k $$kernel >/dev/null
		done
		$(FAIRWIND) run netperf:pairs=40,duration=100ms -m spr-2x60 -k $$kernel >/dev/null
		for trace in dat pftrace txt; do
			$(FAIRWIND) run schbench -m 2x8x2 -k $$kernel --duration 1s --trace $(PGO)/schbench.$$trace >/dev/null
		done
	done
	for recording in $(CHECKED); do
		$(FAIRWIND) check recordings/$$recording >/dev/null
	done
	"$$(rustc --print sysroot)"/lib/rustlib/*/bin/llvm-profdata merge --output $@ $(PGO)/raw/run-*.profraw

demo: all ## Run an example: a container throttled though it is below its limit
	$(TARGET)/release/fairwind run examples/throttled.json

test: test-tools ## Install what the tests need, and run all tests
	PATH="$(abspath $(VENV))/bin:$$PATH" $(CARGO) test --workspace

fuzz: ## Damage recordings at random and check them, for SECONDS=60
	FUZZ_SECONDS=$(or $(SECONDS),60) FUZZ_SEED=$${FUZZ_SEED:-$$(date +%s)} $(CARGO) test --package fairwind-check --test fuzz -- --nocapture

fidelity: ## Write the agreement table of docs/fidelity.md anew
	WRITE_FIDELITY=1 $(CARGO) test --quiet --package fairwind-check --test recordings page

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
