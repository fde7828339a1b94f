# Two commands from nothing: `make demo` and `make test`.
# Each makes the environment in .venv first, if it is not there yet.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# A real browser for the tests of the pages: the first of these that is there, or one
# that is installed if we may. Without it those tests are left out, and say so; with
# CI=true they fail instead.
CHROMIUM = $(shell command -v chromium chromium-browser google-chrome | head -n 1)

.PHONY: demo test lint types tests reference reliability-files reliability-kills reliability-limits findings mutation browser clean

demo: $(READY)
	$(BIN)/modernnca demo

test: lint types tests

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

# One thread in each: small matrices gain nothing from more. Three workers suit two cores,
# for many tests wait: for a process to start, for a cluster, for a lock.
tests: $(READY) browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 3 --dist worksteal $(ARGS)

# The stored reference predictions, to 1e-6; on the kind of processor that stored them.
reference: $(READY)
	MODERNNCA_REFERENCE=strict OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/reference

# The campaigns of docs/reliability.md, some ten minutes to an hour each; RUNS and CASES
# make them shorter. Their figures are written beside the scripts.
CASES ?= 12000
RUNS ?= 100

reliability-files: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -W ignore reliability/files.py --cases $(CASES) --write reliability/files.json

reliability-kills: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -W ignore reliability/kills.py --runs $(RUNS) --write reliability/kills.json

# The campaigns of docs/reliability_limits.md: about an hour on an idle machine.
reliability-limits: $(READY)
	$(BIN)/python reliability/fuzzed_tables.py --write reliability/fuzzed_tables.json
	$(BIN)/python reliability/time_limits.py --write reliability/time_limits.json
	$(BIN)/python reliability/memory_growth.py --write reliability/memory_growth.json

# The page of the findings, from the records in benchmarks/.
findings: $(READY)
	$(BIN)/python benchmarks/findings.py

# Change the code at random places, and count how many changes the tests notice: hours.
MUTANTS ?= 80
mutation: $(READY)
	$(BIN)/python tools/mutate.py --mutants $(MUTANTS) --write tools/mutation.json

browser:
	@if [ -z "$(CHROMIUM)" ]; then \
	  (apt-get install -y -q chromium || (apt-get update -q && apt-get install -y -q chromium)) >/dev/null 2>&1 \
	  || echo "No Chromium is here and none could be installed: the tests of the pages are left out. The way out: install chromium, then run make test again."; \
	fi

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"modernnca needs Python 3.11 or newer; {sys.executable} is {v.major}.{v.minor}. Name another with: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip -c constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
# The public model, for the parity tests: the wheel alone, since its dependencies
# are a whole benchmark and the one file that is read needs torch only.
	$(BIN)/python -m pip install --quiet --no-deps tabarena==0.1.0
	@touch $(READY)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
