# The two commands of a newcomer are `make demo` and `make test`; everything else is for those who change sayso.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
DEMO := demo
# Many containers tell Python to keep no bytecode; then each of the hundreds of processes here compiles sayso again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup demo test check lint fast-checks test-gpu fuzz browser bench docs site clean

setup: $(STAMP)

# One virtual environment, with every version that is not free pinned in constraints.txt (torch above all).
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

# The README's own commands, in a fresh folder of this name.
demo: $(STAMP)
	rm -rf $(DEMO)
	$(BIN)/python docs/walkthrough.py .

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(BIN)/python tests/run_gpu.py --check

fast-checks: lint
	$(BIN)/mypy

# Two test processes with one thread each: four threads on two cores only wait for each other.
check: fast-checks
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal -m "not slow"

# Types are checked beside the tests: alone they would leave a core idle. Three test processes keep two cores busy,
# because slow tests often wait for a server, a cluster or a browser.
test: lint browser
	$(BIN)/mypy & types=$$!; OMP_NUM_THREADS=1 $(BIN)/pytest -n 3 --dist worksteal --durations=12; tests=$$?; wait $$types && exit $$tests

# On a machine with a GPU, where any Python with torch, triton, pytest and hypothesis does: GPU_PYTHON=python3.
GPU_PYTHON ?= $(BIN)/python
test-gpu:
	$(GPU_PYTHON) tests/run_gpu.py

# The property tests with new random examples, for as long as asked: make fuzz SECONDS=3600
SECONDS ?= 600
fuzz: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python tests/fuzz.py --seconds $(SECONDS)

# The browser that the pages are tested in. Where it cannot be installed, its tests say so; in CI they fail.
browser:
	@command -v chromium > /dev/null || { apt-get update -qq && apt-get install -y -qq chromium; } \
	  || echo "no chromium here and no way to install it: the tests in a browser are left out" >&2

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
