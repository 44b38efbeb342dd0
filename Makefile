# `make` alone lists the targets. Everything runs in a virtual environment of the project's own, which the first
# target that needs it creates. GNU make 3.81 or newer.

# The interpreter that creates the environment; empty: the first Python >= 3.11 among the usual names.
PYTHON ?=
# Handed to pytest: make test PYTEST_ARGS="-k formats"
PYTEST_ARGS ?=

# Each process of the tests gets one half of the files, then takes from what others have left. So most fixtures of a file are
# made once.
BESIDE := -n auto --dist worksteal
VENV := .venv
# PyTorch takes 5 GB with its CUDA libraries, so it has an environment of its own.
TORCH_VENV := .venv-torch
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev
INSTALLED_TORCH := $(TORCH_VENV)/.installed
# The site's generator needs nothing of the project, and the project nothing of it.
SITE_VENV := .venv-site
INSTALLED_SITE := $(SITE_VENV)/.installed
NEEDS_TORCH := 05-training-without-the-hardware
TORCH_NOTEBOOK := 'tests/notebooks/test_notebooks.py::test_runs_without_error_or_warning[$(NEEDS_TORCH)]'
CANDIDATES = $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python)
IS_SUPPORTED := import sys; sys.exit(sys.version_info < (3, 11))

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-all test-slow test-torch lint types format notebooks bench site site-data site-notebooks explorer \
    explorer-data smtlib check-native wheel clean
# Two targets at once would run two pips in one environment.
.NOTPARALLEL:
# Every process of the tests would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(INSTALLED_DEV) ## create the virtual environment with everything for development

demo: $(INSTALLED) ## show a difference between two GPU generations, proved and replayed
	@$(BIN)/mmaproof demo

test: $(INSTALLED_DEV) ## run the tests of every change: minutes (PYTEST_ARGS="..." is passed on)
	$(BIN)/pytest $(BESIDE) $(PYTEST_ARGS)

test-all: $(INSTALLED_DEV) ## run what a merge needs: whole catalogue, long proofs, notebooks: minutes
	$(BIN)/pytest $(BESIDE) --all $(PYTEST_ARGS)

test-slow: $(INSTALLED_DEV) ## run every test: hours
	$(BIN)/pytest $(BESIDE) --slow $(PYTEST_ARGS)

test-torch: $(INSTALLED_TORCH) ## run the tests of mmaproof.torch and its notebook; installs PyTorch into .venv-torch (5 GB)
	$(TORCH_VENV)/bin/pytest $(BESIDE) --all tests/pytorch $(TORCH_NOTEBOOK) $(PYTEST_ARGS)

lint: $(INSTALLED_DEV) ## check format and lint rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(INSTALLED_DEV) ## check types (mypy, strict)
	$(BIN)/mypy

format: $(INSTALLED_DEV) ## rewrite the sources in the project's format
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

notebooks: $(INSTALLED_DEV) ## run every notebook from top to bottom (their files stay as they are)
	@files=$$(ls notebooks/*.ipynb 2> /dev/null); \
	if ! $(BIN)/python -c 'import torch' 2> /dev/null; then \
	    echo "left out, because PyTorch is not installed: $(NEEDS_TORCH) (make test-torch runs it)"; \
	    files=$$(echo "$$files" | grep -v '/$(NEEDS_TORCH)\.ipynb$$'); \
	fi; \
	if [ -n "$$files" ]; then $(BIN)/jupyter-execute $$files; else echo "notebooks/ holds no notebook to run"; fi

bench: $(INSTALLED_DEV) ## run the benchmarks
	@if ls benchmarks/*.py > /dev/null 2>&1; then \
	    for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python "$$file" || exit; done; \
	else \
	    echo "benchmarks/ holds no benchmark"; \
	fi

site: $(INSTALLED_SITE) site-notebooks ## build the documentation with notebooks and explorer into build/site (REPOSITORY=https://... links it)
	$(BIN)/mmaproof explore --build --folder build/explorer || echo "the site has no explorer: Pyodide cannot be had here"
	$(BIN)/python -m mmaproof.explain.pages.site $(REPOSITORY)
	NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/mkdocs build --strict --quiet --config-file build/mkdocs.yml
	$(BIN)/python tests/support/site_links.py build/site
	$(BIN)/python tests/support/site_search.py build/site

site-data: $(INSTALLED) ## bring up to date what pages say of all units; goes on where it was interrupted (all of it: hours)
	$(BIN)/python -m mmaproof.explain.pages.units explain/pages/data/units.json

site-notebooks: $(INSTALLED_DEV) ## execute the notebooks for the site, into build/notebooks: minutes
	mkdir -p build/notebooks
	for file in notebooks/*.ipynb; do \
	    case $$file in */$(NEEDS_TORCH).ipynb) continue;; esac; \
	    if [ build/notebooks/$$(basename $$file) -nt $$file ]; then continue; fi; \
	    $(BIN)/jupyter-execute --output=../build/notebooks/$$(basename $$file) $$file || exit; \
	done

# A build folder left by an earlier wheel would put modules that were deleted since into the new one.
wheel: $(INSTALLED) ## build the wheel into dist/
	rm -rf build
	$(BIN)/python -m pip wheel --quiet --quiet --disable-pip-version-check --no-input --no-deps --wheel-dir dist .

explorer: $(INSTALLED) ## build the explorer into build/explorer, a folder of static files (npm fetches Pyodide, 13 MB)
	@$(BIN)/mmaproof explore --build --folder build/explorer

explorer-data: $(INSTALLED) ## compute the examples of the explorer anew (minutes)
	$(BIN)/python -m mmaproof.generators.examples explain/explorer/data/examples.json

smtlib: $(INSTALLED) ## write 200 questions as benchmarks of SMT solvers, with their status, into build/smtlib
	@$(BIN)/python benchmarks/smtlib/write.py build/smtlib

check-native: $(INSTALLED_DEV) ## prove that compiled operations compute their designs, for a unit of each kind of step
	@$(BIN)/python benchmarks/check_native.py

clean: ## remove what was built and cached (the environments .venv and .venv-torch stay)
	rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . \( -path ./$(VENV) -o -path ./$(TORCH_VENV) \) -prune -o -type d \( -name __pycache__ -o -name .ipynb_checkpoints \) -exec rm -rf {} +

# The stamps are newer than pyproject.toml once its packages and dependencies are installed; sources need no
# new installation, because it is editable.
define install
@$(BIN)/python -c '$(IS_SUPPORTED)' || { \
    echo "$(VENV) holds a Python older than 3.11: remove that folder and run make again" >&2; exit 1; }
@$(BIN)/python -c 'import pip' 2> /dev/null || { \
    echo "$(VENV) holds no pip (was its creation interrupted?): remove that folder and run make again" >&2; exit 1; }
@echo "installing .$(1) into $(VENV) (a minute or two the first time)" >&2
@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-input --editable '.$(1)'
endef

$(INSTALLED): pyproject.toml | $(BIN)/python
	$(call install,)
	@touch $@

$(INSTALLED_DEV): pyproject.toml | $(BIN)/python
	$(call install,[dev])
	@touch $(INSTALLED) $@

$(INSTALLED_TORCH): pyproject.toml | $(BIN)/python
	@test -x $(TORCH_VENV)/bin/python || $(BIN)/python -m venv $(TORCH_VENV)
	@echo "installing .[dev,torch] into $(TORCH_VENV) (minutes, and 5 GB, the first time)" >&2
	@$(TORCH_VENV)/bin/python -m pip install --quiet --quiet --disable-pip-version-check --no-input --editable '.[dev,torch]'
	@touch $@

$(INSTALLED_SITE): pyproject.toml | $(BIN)/python
	@test -x $(SITE_VENV)/bin/python || $(BIN)/python -m venv $(SITE_VENV)
	@echo "installing the dependency group site into $(SITE_VENV)" >&2
	@$(SITE_VENV)/bin/python -m pip install --quiet --quiet --disable-pip-version-check --no-input 'pip>=25.1'
	@$(SITE_VENV)/bin/python -m pip install --quiet --quiet --disable-pip-version-check --no-input --group site
	@touch $@

# A name may be there and not run (a version manager's stand-in), so each candidate is tried, not looked up.
$(BIN)/python:
	@old=''; lacking=''; \
	for candidate in $(CANDIDATES); do \
	    version=$$("$$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null) || continue; \
	    if ! "$$candidate" -c '$(IS_SUPPORTED)'; then \
	        old="$$old $$candidate ($$version)"; continue; \
	    fi; \
	    if ! "$$candidate" -c 'import ensurepip, venv' 2> /dev/null; then \
	        lacking="$$lacking python$$version-venv"; continue; \
	    fi; \
	    echo "creating $(VENV) with $$candidate (Python $$version)" >&2; \
	    exec "$$candidate" -m venv $(VENV); \
	done; \
	if [ -n "$$lacking" ]; then \
	    set -- $$lacking; \
	    echo "This Python cannot create virtual environments (its module ensurepip is missing)." >&2; \
	    echo "On Debian and Ubuntu: apt install $$1" >&2; \
	elif [ -n "$$old" ]; then \
	    echo "mmaproof needs Python 3.11 or newer; found:$$old." >&2; \
	    echo "Name another one: make PYTHON=/path/to/python3" >&2; \
	else \
	    echo "mmaproof needs Python 3.11 or newer; none of these runs: $(CANDIDATES)." >&2; \
	    echo "Name one: make PYTHON=/path/to/python3" >&2; \
	fi; \
	exit 1
