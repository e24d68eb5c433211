# Every target does its own set-up on a fresh machine.
PYTHON ?= python3
BIN := .venv/bin
RETRY := for i in 1 2 3; do
AGAIN := && break || { [ $$i -lt 3 ] && sleep 5; }; done

.PHONY: help venv demo test check format docs parity bench real-js e2e clean

help: ## what there is
	@grep -E '^[a-z0-9-]+:.*##' Makefile | sed 's/:.*## /\t/'

.venv/ready: requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(RETRY) $(BIN)/pip install --quiet --disable-pip-version-check -r requirements/dev.txt $(AGAIN)
	$(RETRY) $(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e . $(AGAIN)
	touch $@

.venv-e2e/ready: requirements/e2e.txt
	$(PYTHON) -m venv .venv-e2e
	$(RETRY) .venv-e2e/bin/pip install --quiet --disable-pip-version-check -r requirements/e2e.txt $(AGAIN)
	touch $@

# npm reads the pinned versions from the lock file; its cache is its own.
.venv-e2e/node/ready: requirements/node/package.json requirements/node/package-lock.json
	mkdir -p .venv-e2e/node
	cp requirements/node/package.json requirements/node/package-lock.json .venv-e2e/node/
	$(RETRY) (cd .venv-e2e/node && npm ci --no-audit --no-fund --loglevel error) $(AGAIN)
	touch $@

venv: .venv/ready ## the development environment, pinned

demo: .venv/ready ## a real run in a throw-away repository: a liar, a worker, accept
	$(BIN)/python tools/demo.py

test: .venv/ready ## all tests (real clients where they are found)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal $(ARGS)

check: .venv/ready ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: .venv/ready ## format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/ready ## the generated parts of docs/
	$(BIN)/python tools/diagram.py
	$(BIN)/python tools/parity.py
	$(BIN)/python tools/blocks.py

parity: .venv/ready ## break what each row of docs/parity.md rests on, and see its test fail
	$(BIN)/python tools/parity.py --kill

bench: .venv/ready ## what donewhen adds, as ratios within one run; fails on a missed bound
	$(BIN)/python bench/run.py

real-js: .venv/ready ## judge on real JavaScript and TypeScript packages of the registry
	$(BIN)/python tools/real_js.py

e2e: .venv-e2e/ready .venv-e2e/node/ready ## the real agent clients and JavaScript tools that tests drive

clean: ## environments and caches
	rm -rf .venv .venv-e2e .mypy_cache .pytest_cache .ruff_cache .hypothesis
