# The README's two commands are `make demo` and `make test`; each makes the environment it needs.
PYTHON ?= python3
SOURCES := pyproject.toml $(wildcard setup.py) $(shell find src -name '*.py' -o -name '*.c' -o -name '*.h' -o -name '*.toml' -o -name '*.pddl' -o -name '*.json' -o -name '*.html' -o -name '*.safetensors')
PIP := -m pip install --quiet --disable-pip-version-check

DOMAINS := blocksworld logistics labyrinth sokoban

.PHONY: demo test models $(DOMAINS:%=model-%) lint types docs unit base clean

demo: .venv/stamp  ## solve one problem of each domain and show the plans
	.venv/bin/oclgen demo

test: lint types docs unit base  ## everything that must hold before a change lands

models: $(DOMAINS:%=model-%)  ## make the shipped models anew: hours, resumable; see scripts/make_model.sh

$(DOMAINS:%=model-%): model-%: .venv-dev/stamp
	PATH="$(CURDIR)/.venv-dev/bin:$$PATH" scripts/make_model.sh $*

lint: .venv-dev/stamp
	.venv-dev/bin/ruff check .
	.venv-dev/bin/ruff format --check .

types: .venv-dev/stamp
	.venv-dev/bin/mypy

docs: .venv-dev/stamp  ## the documents as a site in build/site; a warning is an error
	NO_MKDOCS_2_WARNING=1 .venv-dev/bin/mkdocs build --strict --quiet

unit: .venv-dev/stamp
	OMP_NUM_THREADS=1 .venv-dev/bin/pytest -n 2 --dist worksteal

base: .venv-base/stamp  ## the searches and `solve` must work where torch is not installed
	! .venv-base/bin/python -c 'import torch' 2>/dev/null
	OMP_NUM_THREADS=1 .venv-base/bin/pytest -n 2 tests/search tests/test_demo.py tests/test_solve.py tests/test_layers.py

.venv/stamp: $(SOURCES)
	$(PYTHON) -m venv .venv
	.venv/bin/python $(PIP) .
	touch $@

.venv-base/stamp: $(SOURCES)
	$(PYTHON) -m venv .venv-base
	.venv-base/bin/python $(PIP) --editable . pytest pytest-xdist hypothesis
	touch $@

.venv-dev/stamp: pyproject.toml $(wildcard setup.py) $(shell find src -name '*.c' -o -name '*.h')
	$(PYTHON) -m venv .venv-dev
	.venv-dev/bin/python $(PIP) --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .venv-base .venv-dev build src/*.egg-info
