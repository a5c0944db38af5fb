PYTHON ?= python3

.PHONY: setup check fix golden bench fidelity

setup:            ## a virtual environment in .venv with everything that development needs
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install -e '.[dev]'

check:            ## what a change must pass
	ruff format --check .
	ruff check .
	mypy
	pytest

fix:              ## what can be mended by machine
	ruff format .
	ruff check --fix .

golden:           ## rewrite the expected halves of golden files; read the diff before you commit it
	pytest tests/unit/inline/test_golden.py --update-golden

bench:            ## ours and the peers side by side, ratios printed; a few minutes each
	python benchmarks/sandbox.py
	python benchmarks/inline.py

fidelity:         ## programs beside their originals: generated packages, then real ones; hours
	python benchmarks/generated_packages.py
	python benchmarks/fidelity.py development unseen
