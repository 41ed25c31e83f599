# Needs only python3 (3.11 or newer), python3-venv and make; everything else is installed into $(VENV).
PYTHON ?= python3
VENV   ?= .venv
RUN     = $(VENV)/bin/python
STAMP   = $(VENV)/.installed
# Exact versions with hashes. `make setup PINS=` takes the newest that pyproject.toml allows.
PIP     = $(RUN) -m pip install --quiet --disable-pip-version-check
PINS   ?= requirements/dev.txt
# The tests that only read the tree; `make check READ=` leaves them to `make test`, which has them too.
READ   ?= tests/house tests/docs

# Runs every command, also after one that failed, and fails if any did: all complaints at once.
every = failed=; for command in $(1); do echo "$$command"; $$command || failed="$$failed\n  $$command"; done; \
  [ -z "$$failed" ] || { printf "failed:$$failed\n" >&2; exit 1; }

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-check test check format pictures pins clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|' 2>/dev/null \
	  || grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST)

setup: $(STAMP) ## create the virtual environment (once, about a minute)

demo: $(STAMP) ## run the example: web pages and a worker; Ctrl-C stops everything
	@$(RUN) manage.py demo $(ARGS)

demo-check: $(STAMP) ## start the example and drive its acceptance table over HTTP
	@$(RUN) manage.py demo --check --port 0 $(ARGS)

test: $(STAMP) ## the whole suite: SQLite, PostgreSQL and the running example side by side (ARGS go to pytest)
	@$(RUN) -m tests -q $(ARGS)

check: $(STAMP) ## formatting, lint, types, import floors, migrations, system checks, docs
	@$(call every, \
	  "$(RUN) -m ruff format --check ." \
	  "$(RUN) -m ruff check ." \
	  "$(RUN) -m mypy" \
	  "$(VENV)/bin/lint-imports --no-logo" \
	  "$(RUN) manage.py makemigrations --check --dry-run" \
	  "$(RUN) manage.py check --fail-level WARNING" \
	  "$(RUN) docs/generate.py --check" \
	  $(if $(READ),"$(RUN) -m pytest -q $(READ)"))

format: $(STAMP) ## put the code into the shape that `check` asks for
	$(RUN) -m ruff format .
	$(RUN) -m ruff check --fix .

pictures: $(STAMP) ## make the documentation's pictures anew, with Chromium
	@LIFECYCLE_PICTURES=make $(RUN) -m pytest -q tests/browser/test_pictures.py

pins: $(STAMP) ## look up the newest versions that pyproject.toml allows, and pin them
	@$(PIP) uv
	$(VENV)/bin/uv pip compile --quiet --universal --upgrade --generate-hashes --no-header --no-annotate \
	  --python-version 3.11 --extra dev --output-file requirements/dev.txt pyproject.toml

clean: ## remove the virtual environment and everything that was generated
	rm -rf $(VENV) .nox var build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A half-made environment (Debian without python3-venv leaves one) has no stamp and is made anew; a changed
# pyproject.toml only installs what changed.
$(STAMP): pyproject.toml $(PINS)
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("Python 3.11 or newer is needed, %s is %d.%d. Try: make $(MAKECMDGOALS) PYTHON=python3.12" % (sys.executable, *v[:2]))'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo 'The venv module of $(PYTHON) is incomplete. Debian, Ubuntu: sudo apt install python3-venv' >&2; exit 1; }
	@echo 'Installing into $(VENV) (once, about a minute) ...'
	@test -f $@ || $(PYTHON) -m venv --clear $(VENV)
	@$(PIP) $(if $(PINS),--require-hashes --requirement $(PINS),--editable '.[dev]')
	@$(if $(PINS),$(PIP) --no-deps --no-build-isolation --editable .)
	@touch $@
