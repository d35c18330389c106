# The two commands of a newcomer: make demo, make test. Each makes .venv first; nothing but Python 3.11+ is needed.

PYTHON ?= python3
BIN := .venv/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-all test-browser lint bench peers clean

demo: .venv/ready  ## train a ViT on scikit-learn's digits and leave a run's folder with a page
	$(BIN)/vitlab train digits

test: .venv/ready-dev  ## the fast tests, on both of two cores
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -q

test-all: .venv/ready-dev .venv/ready-browser .venv-peers/ready  ## the slow ones too: training, peers, browser
	$(BIN)/python -m pytest -q -m "slow or not slow"

test-browser: .venv/ready-dev .venv/ready-browser  ## the pages, opened in Chromium
	$(BIN)/python -m pytest -q -m slow tests/browser

lint: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready-dev .venv-peers/ready  ## the tables under benchmarks/; leave the machine alone meanwhile
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

peers: .venv-peers/ready  ## timm and torchvision in an environment of their own, for parity and benchmarks

clean:
	rm -rf .venv .venv-peers

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/ready: .venv/bin/python pyproject.toml constraints.txt
	$(INSTALL) -e .
	touch $@

.venv/ready-dev: .venv/bin/python pyproject.toml constraints.txt
	$(INSTALL) -e ".[dev]"
	touch $@ .venv/ready

.venv/ready-browser: .venv/ready-dev
	$(INSTALL) -e ".[dev,browser]"
	touch $@

# torchvision's wheel does not load beside a CPU-only torch, and one that is merely installed breaks Lightning.
.venv-peers/ready: constraints-peers.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-peers.txt \
		torch safetensors huggingface-hub pyyaml numpy pillow
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-peers.txt --no-deps \
		torchvision timm vit-pytorch einops
	touch $@
