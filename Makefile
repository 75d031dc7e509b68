# Needs Python 3.10+ and make. Everything else goes into a virtual environment of the project's own:
#   make test PYTHON=python3.12 VENV=.venv-3.12    the same with another interpreter

PYTHON ?= python3
VENV ?= .venv
COVERAGE ?= --cov --cov-report=term --cov-fail-under=95

RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip --disable-pip-version-check -qq
PEERS := tests/e2e/ts tests/e2e/peers
CONFORMANCE := tests/conformance
# The 1.x release of this package, which cannot share an environment with ours.
V1_VENV := .venv-peers

# Keeps the type checker from asking a registry whether a newer one exists.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: help demo test check types-examples format e2e dependents conformance bench clean

help:
	@echo "make demo     run examples/demo.py, a server and a client over HTTP, over stdio and in memory"
	@echo "make test     unit tests with branch coverage of src"
	@echo "make check    formatting, lint, types (3.10 and 3.13), layers"
	@echo "make types-examples  the examples, and what type checkers know of programs, with pyright and mypy, both strict"
	@echo "make format   rewrite the sources as make check wants them"
	@echo "make e2e      real processes, sockets and other SDKs (needs Node.js 20+ and npm)"
	@echo "make dependents  programs from PyPI on this package, each in an environment under build/ (takes a while at first)"
	@echo "make conformance  the official suite, both roles, every revision (needs npm; Linux on x64)"
	@echo "make bench    measure against the reference package, side by side (takes a while; ARGS=--quick)"
	@echo "make clean    remove environments, caches and builds"

demo: $(VENV)/.project
	@$(RUN) examples/demo.py

test: $(VENV)/.dev
	@$(RUN) -m pytest -n 3 -m "not e2e" $(COVERAGE) $(ARGS)

check: $(VENV)/.dev $(VENV)/.node
	@$(RUN) -m ruff format --check .
	@$(RUN) -m ruff check --no-cache .
	@$(RUN) -m pyright
	@$(RUN) -m pyright --pythonversion 3.13
	@$(VENV)/bin/lint-imports --no-cache --no-logo

types-examples: $(VENV)/.dev $(VENV)/.node
	@$(RUN) tests/typing/check_programs.py examples tests/typing $(ARGS)

format: $(VENV)/.dev
	@$(RUN) -m ruff check --fix .
	@$(RUN) -m ruff format .

e2e: $(VENV)/.dev $(PEERS:=/node_modules/.package-lock.json) $(V1_VENV)/.created
	@$(RUN) -m pytest -m e2e tests/e2e $(ARGS)

dependents: $(VENV)/.dev
	@$(RUN) -m pytest -n 2 --dist loadfile -m e2e tests/dependents $(ARGS)

conformance: $(VENV)/.project $(CONFORMANCE)/node_modules/.package-lock.json
	@$(RUN) $(CONFORMANCE)/run.py $(ARGS)

bench: $(VENV)/.project
	@$(RUN) benchmarks/run.py $(ARGS)

clean:
	rm -rf .venv .venv-* .bench dist build .coverage* .pytest_cache .ruff_cache .hypothesis $(PEERS:=/node_modules) $(CONFORMANCE)/node_modules

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.10 or newer is needed: make PYTHON=..." if sys.version_info < (3, 10) else 0)'
	@echo "Creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade pip
	@touch $@

$(VENV)/.project: $(VENV)/.created pyproject.toml
	@echo "Installing the project into $(VENV) (again only when pyproject.toml changes)"
	@$(PIP) install --editable ".[cli]"
	@touch $@

$(VENV)/.dev: $(VENV)/.project
	@echo "Installing the development tools into $(VENV) (again only when pyproject.toml changes)"
	@$(PIP) install --group dev
	@touch $@

# The type checker runs on Node.js: the one on PATH, else one from a wheel.
$(VENV)/.node: $(VENV)/.dev
	@command -v node >/dev/null || { echo "Installing Node.js into $(VENV)"; $(PIP) install "pyright[nodejs]"; }
	@touch $@

$(V1_VENV)/.created: tests/e2e/peers/requirements.txt
	@echo "Creating $(V1_VENV) with an older release of this package"
	@$(PYTHON) -m venv --clear $(V1_VENV)
	@$(V1_VENV)/bin/python -m pip --disable-pip-version-check -qq install -r $<
	@touch $@

%/node_modules/.package-lock.json: %/package-lock.json
	@echo "Installing the packages of $*"
	@npm ci --silent --prefix $*
	@touch $@
