# make demo: the main job, on a fresh machine. make test: everything that must hold.
PYTHON ?= python3
BIN = .venv/bin

.PHONY: demo test test-gpu check format resolve clean

demo: .venv/ready
	@$(BIN)/unspool demo

test: check
	$(BIN)/pytest

# On a CUDA machine, with the Python that has torch and Triton there: nothing is installed.
test-gpu:
	PYTHONPATH=src:. TRITON_INTERPRET=0 $(PYTHON) -m tests.gpu

check: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: .venv/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Whether the install resolves on every system and Python that the README names: needs the index.
resolve: .venv/ready
	.ci/resolve

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Unspool needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf .venv .cache build dist .pytest_cache .ruff_cache .hypothesis
