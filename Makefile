# Two commands to know: `make demo` and `make test`. Both set up their environment by themselves.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
MINUTES ?= 5
SEED ?= 0
PIP = $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt

.PHONY: help setup demo torture package reproduce pages test test-slow test-browser check format lint types docs bench cover clean

help:
	@echo "make demo          set up, generate a small world, train, explain (about two minutes warm)"
	@echo "make test          set up and run the test suite"
	@echo "make test-slow     the tests that train for long; with CEREC_DATA=folder also those on real data"
	@echo "make test-browser  the page in a real Chromium (installs Debian's chromium when missing)"
	@echo "make torture       faults on purpose: kills, full disks, damaged files, raw sockets (MINUTES=5)"
	@echo "make package       wheel and sdist, tried in clean environments on every Python that is here"
	@echo "make reproduce     the paper's tables and figures on a small world (a few minutes)"
	@echo "make pages         the pages of docs/results, from the files in results"
	@echo "make check         lint, types, layers, docs: what a commit must pass beside the tests"
	@echo "make bench         the benchmarks, ratios against named alternatives"
	@echo "make docs          the documentation site in docs/_build/html"

setup: $(VENV)/.base
$(VENV)/.base: pyproject.toml constraints.txt
	@echo "setting up $(VENV) (a minute or two, once) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) -e ".[agent,bench,serve]"
	@touch $@
$(VENV)/.test: $(VENV)/.base
	@$(PIP) -e ".[agent,bench,serve,test]"
	@touch $@
$(VENV)/.dev: $(VENV)/.test
	@$(PIP) -e ".[agent,bench,serve,test,dev]"
	@touch $@
$(VENV)/.browser: $(VENV)/.test
	@$(PIP) -e ".[agent,bench,serve,test,browser]"
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium >/dev/null; }
	@touch $@

demo: $(VENV)/.base
	@$(BIN)/cerec demo

torture: $(VENV)/.test
	@cd tests && PYTHONPATH=../src:. nice ../$(BIN)/python -m torture --minutes $(MINUTES) --seed $(SEED)

package:
	@.ci/package

reproduce: $(VENV)/.base
	@$(BIN)/cerec bench run all --quick

pages: $(VENV)/.base
	@$(BIN)/cerec bench run all --page-only --pages docs/results

test: $(VENV)/.test
	@$(BIN)/python -m pytest -m "not slow and not data and not browser" -n auto

test-slow: $(VENV)/.test
	@$(BIN)/python -m pytest -m "(slow or data) and not browser" -n auto

test-browser: $(VENV)/.browser
	@$(BIN)/python -m pytest -m "browser"

check: lint types docs $(VENV)/.dev
	@$(BIN)/python -m pytest tests/test_layers.py

format: $(VENV)/.dev
	@$(BIN)/ruff format src tests benchmarks
	@$(BIN)/ruff check --fix src tests benchmarks

lint: $(VENV)/.dev
	@$(BIN)/ruff format --check src tests benchmarks
	@$(BIN)/ruff check src tests benchmarks

types: $(VENV)/.dev
	@$(BIN)/mypy

docs: $(VENV)/.dev
	@$(BIN)/python -m sphinx -q -W -b html docs docs/_build/html

bench: $(VENV)/.test
	@$(BIN)/python benchmarks/all.py

cover: $(VENV)/.test
	@$(BIN)/python -m coverage run -m pytest -m "not slow and not data and not browser"
	@$(BIN)/python -m coverage report --skip-covered

clean:
	@rm -rf $(VENV) build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find src -name '*.nb[ic]' -delete
