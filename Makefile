PYTHON ?= python3

.PHONY: setup check fix golden bench

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
	pytest tests/golden --update-golden

bench:            ## every benchmark, ratios printed
	for script in benchmarks/*.py; do python $$script; done
