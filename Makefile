# Every target makes the virtual environment .venv itself; `make clean` removes it.

PYTHON ?= python3
REPO ?=
SRT_SLURM ?=
BIN := .venv/bin
STAMP := .venv/.installed
UPSTREAM = $(if $(SRT_SLURM),--upstream NVIDIA/srt-slurm=$(SRT_SLURM))

.PHONY: all check test lint bench docs real cases e2e system clean
all: lint test

$(STAMP): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

# The demo repository has seeded defects, so status 1 is what a sound check gives; 2 and 3 are failures.
check: $(STAMP)
	$(BIN)/reviewbot -C fixtures/demo check; status=$$?; test $$status -le 1

# What tests need of the system; without it they are skipped. bubblewrap walls in the bash that the trace tests compare with, slurm-wlm and munge are the
# cluster of the sweep tests (nothing is started outside of a test's folder), chromium shows the page of a sweep.
PACKAGES = $(if $(shell command -v bwrap),,bubblewrap) $(if $(shell command -v sbatch && command -v munged || ls /usr/sbin/munged 2>/dev/null),,slurm-wlm munge) $(if $(shell command -v chromium),,chromium)
APT = apt-get install -y -q --no-install-recommends
system:
	@packages="$(strip $(PACKAGES))"; if [ -z "$$packages" ]; then exit 0; fi; export DEBIAN_FRONTEND=noninteractive; \
	if command -v apt-get >/dev/null 2>&1 && [ "$$(id -u)" = 0 ]; then $(APT) $$packages || { apt-get update -q && $(APT) $$packages; }; \
	elif command -v apt-get >/dev/null 2>&1 && sudo -n true 2>/dev/null; then sudo -E $(APT) $$packages || { sudo apt-get update -q && sudo -E $(APT) $$packages; }; \
	else echo "$$packages cannot be installed without root: tests that need it are skipped"; fi || \
	echo "$$packages could not be installed: tests that need it are skipped"

test: $(STAMP) system
	$(BIN)/python -m pytest

lint: $(STAMP)
	$(BIN)/ruff check reviewbot rules tests
	$(BIN)/mypy

docs: $(STAMP)
	$(BIN)/python -m reviewbot.docs

# Time of a whole check without a cache: of REPO where it is given, of the demo repository otherwise.
bench: $(STAMP)
	@root="$(if $(REPO),$(REPO),fixtures/demo)"; echo "check of $$root, three times"; \
	for i in 1 2 3; do ( time $(BIN)/reviewbot -C "$$root" check --no-cache $(UPSTREAM) >/dev/null; ) 2>&1 | grep real; done; true
	$(BIN)/python tests/bench_sweep.py

# A real benchmark repository: make real REPO=/path/to/clone [SRT_SLURM=/path/to/clone]
real: $(STAMP)
	@if [ -z "$(REPO)" ]; then echo "make real: nothing to do: name a clone of a benchmark repository with REPO=PATH"; \
	elif [ ! -d "$(REPO)" ]; then echo "make real: nothing to do: $(REPO) is not a directory"; \
	else $(BIN)/reviewbot -C "$(REPO)" check $(UPSTREAM); status=$$?; test $$status -le 1; fi

# Tests over the history of a real benchmark repository: make cases REPO=/path/to/clone
cases: $(STAMP)
	@if [ -z "$(REPO)" ]; then echo "make cases: nothing to do: name a clone of a benchmark repository with REPO=PATH"; \
	elif [ ! -d "$(REPO)" ]; then echo "make cases: nothing to do: $(REPO) is not a directory"; \
	elif [ ! -d tests/cases ]; then echo "make cases: nothing to do: there is no tests/cases"; \
	else REPO="$(abspath $(REPO))" SRT_SLURM="$(abspath $(SRT_SLURM))" $(BIN)/python -m pytest tests/cases; fi

# The demo's points with AIPerf as the client, and recipes through `srtctl apply --mock` of a clone: make e2e [SRT_SLURM=/path/to/clone]
e2e: $(STAMP)
	E2E=1 SRT_SLURM="$(abspath $(SRT_SLURM))" $(BIN)/python -m pytest tests/e2e

clean:
	rm -rf .venv .venv-aiperf .venv-srtctl build dist *.egg-info
