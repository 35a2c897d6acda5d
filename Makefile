# Needs Python 3.11+, git and make; everything else is installed into .venv.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
TESTS ?= tests

.PHONY: help install demo test check unit quick clean

help: ## What can be made
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

install: .venv/installed ## Install orchestrate and its embedded graph into .venv

demo: .venv/installed ## Watch a plan execute and a spiral be stopped; needs no key, database or Docker
	@$(BIN)/orchestrate demo

test: check unit ## Everything that CI runs: checks, then all tests

check: .venv/developed ## Lint, formatting, strict types, import direction
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: .venv/developed ## All tests, and what they cover (TESTS=tests/guards for some)
	$(BIN)/pytest -n auto $(if $(filter tests,$(TESTS)),--cov --cov-fail-under=90) $(TESTS)

quick: .venv/developed ## Two thirds of the tests, those without a graph server, in a minute or two: for every change
	$(BIN)/pytest -n auto $(addprefix tests/,domain planning guards gates engine agents config replay house)

clean: ## Remove what was installed and cached
	rm -rf .venv .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name one with PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv .venv

.venv/installed: EXTRAS :=
.venv/developed: EXTRAS := dev,
.venv/installed .venv/developed: pyproject.toml | .venv/bin/python
	@echo "Installing into .venv, once; this may take a minute." >&2
	@$(BIN)/pip install -q --disable-pip-version-check -e '.[$(EXTRAS)embedded]' || { \
		echo "No embedded graph for this machine: installing without it. Set NEO4J_URI to use a Neo4j." >&2; \
		$(BIN)/pip install -q --disable-pip-version-check -e '.[$(EXTRAS:,=)]'; }
	@touch .venv/installed $@
