# Everything runs as `.venv/bin/python -m …`: scripts in .venv/bin name their Python by
# its full path, which breaks in folders with unusual names.
PYTHON ?= python3
PORT ?= 8000
PREFIX ?= /
NB ?=
# Asked for torch first: its builds for the CPU are a tenth of the usual size on Linux.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
RUN := .venv/bin/python -m
export PYTHONUTF8 := 1

.DEFAULT_GOAL := help
.PHONY: help book serve test quick check sync outputs bench clean setup-book setup-dev

help: ## print these lines
	@echo "From Token to Context: what make can do"
	@sed -n 's/^\([a-z]*\):.*## /  make \1|/p' Makefile | awk -F'|' '{printf "%-15s %s\n", $$1, $$2}'

book: setup-book ## set up, build _build/html, print the address to open
	@$(RUN) tools.build

serve: setup-book ## serve the built book (PORT=8000, PREFIX=/x/ for a sub-path)
	@exec $(RUN) tools.serve --port "$(PORT)" --prefix "$(PREFIX)"

test: setup-dev ## set up and run every check; takes minutes
	@$(RUN) tools.gates test

quick: setup-dev ## the checks without the build and without running the chapters
	@$(RUN) tools.gates quick

check: setup-dev ## style, types, kept cells, stored outputs, numbers in prose
	@$(RUN) tools.gates check

sync: setup-book ## rewrite the kept cells of the chapters from contextual/
	@$(RUN) tools.sync

outputs: setup-book ## run the chapters, store compared outputs (NB=01_tokens for one)
	@$(RUN) tools.outputs $(NB)

bench: setup-dev ## measure the package against the tools people use
	@$(RUN) benchmarks

clean: ## remove what was built; .venv stays
	@rm -rf _build .pytest_cache .mypy_cache .ruff_cache .hypothesis contextual.egg-info

setup-book setup-dev: setup-%:
	@command -v "$(PYTHON)" >/dev/null || { echo "There is no $(PYTHON): install Python 3.11 or newer, or name one: make PYTHON=python3.12 book"; exit 1; }
	@"$(PYTHON)" tools/setup.py $* --torch-index "$(TORCH_INDEX)"
