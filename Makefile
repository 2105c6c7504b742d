# Everything is installed into .venv, pinned by requirements.lock; the rest is the command line
# `tightwire`, which `.venv/bin/tightwire --help` explains.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup demo test verilog report experiments lint clean prerequisites

help: ## show this table
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(INSTALLED) ## simulate two codecs on real gradients and write a report that a browser opens
	@$(BIN)/tightwire demo

test: $(INSTALLED) lint ## lint and run all tests, on two cores
	@$(BIN)/pytest -n 2 --dist loadgroup

verilog: $(INSTALLED) ## write build/codec_16.v, the codec of 16 lanes, and lint it
	@$(BIN)/tightwire verilog codec --lanes 16 -o build/codec_16.v --lint

report: $(INSTALLED) ## synthesise for UltraScale+ and ECP5 and write docs/results.md
	@$(BIN)/tightwire report

experiments: $(INSTALLED) ## train small models under every codec, into build/experiments; minutes
	@$(BIN)/python -c "import torch, sklearn" 2>/dev/null || { \
		echo "Installing PyTorch into $(VENV) ..."; \
		$(PIP) install torch==2.13.0 scikit-learn==1.9.1; }
	@$(BIN)/python -m tightwire_sim.experiments

lint: $(INSTALLED) ## check the Python with ruff
	@$(BIN)/ruff check --quiet --output-format concise hw sim tests

setup: $(INSTALLED) ## only install into .venv; the others do that by themselves

clean: ## remove what was generated, but not .venv
	@rm -rf build .pytest_cache .ruff_cache
	@find hw sim tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): requirements.lock pyproject.toml | prerequisites
	@echo "Installing the pinned packages into $(VENV), which takes a minute or two ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --requirement requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

prerequisites:
	@command -v $(PYTHON) >/dev/null || \
		{ echo "missing: $(PYTHON) (Debian: apt-get install python3 python3-venv)" >&2; exit 1; }
	@$(PYTHON) -I hw/tightwire/tools/prerequisites.py
