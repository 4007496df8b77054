# make demo    set up, then the main job on embedded defaults
# make studio  the same, then look at it in the browser
# make docs    set up, then the documentation as a site in site/
# make test    set up, then every check and test (what .ci/run calls)
# make quick   lint and the fast tests, for the inner loop
# make audit   known weaknesses in our code and in what we depend on
# make bench   the speed benchmarks that need no peer environment
.PHONY: demo studio page docs test quick fast lint types web partners audit bench clean
.DEFAULT_GOAL := help

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/.ready
JOBS ?= 2

help:
	@sed -n 's/^# \(make.*\)/\1/p' Makefile

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Corporeal needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || \
	  { echo "python -m venv failed: on Debian, install the package python3-venv first"; exit 2; }
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[dev]'
	@$(BIN)/python -c 'import ctypes; ctypes.CDLL("libEGL.so.1")' 2>/dev/null || \
	  sh tools/install_opengl.sh
	@touch $(READY)

# Studio's page: TypeScript, built into the Python package.
PAGE := src/corporeal/studio/page/index.html

PAGE_PARTS := $(shell find web/src web/openapi -name node_modules -prune -o -type f -print) \
  $(shell find src/corporeal/studio -name '*.py')

$(PAGE): $(READY) web/package-lock.json web/index.html web/vite.config.ts tools/write_openapi.py $(PAGE_PARTS)
	sh tools/build_page.sh
	@touch $(PAGE)

page: $(PAGE)

demo: $(READY) $(PAGE)
	$(BIN)/corporeal demo --out out/demo

studio: $(READY) $(PAGE)
	@test -e out/demo/corporeal.toml || $(BIN)/corporeal demo --out out/demo
	$(BIN)/corporeal studio out/demo --open

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo 'open site/index.html; with search: $(BIN)/python -m http.server --directory site'

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

# The build checks the types of the page; this checks its style and runs its own tests.
web: $(PAGE)
	cd web && PATH="$$PATH:$(CURDIR)/.venv/bin" npm run --silent lint
	cd web && PATH="$$PATH:$(CURDIR)/.venv/bin" npm test --silent

quick: lint fast

# Other people's programs, in environments of their own that the last tests need. They are made
# while lint, types and the fast tests run; a test that comes too early waits for its own.
PARTNERS := seaweedfs pre_commit lerobot train tfds robomimic lerobot_v21 ray mlflow mlcroissant

partners: $(READY)
	$(BIN)/python -m bench.partners $(PARTNERS)

test: $(READY) $(PAGE)
	@mkdir -p .cache
	@sh tools/install_chromium.sh
	@sh tools/install_ffmpeg.sh
	@nice $(MAKE) --no-print-directory partners > .cache/partners.log 2>&1 & \
	  $(MAKE) --no-print-directory lint types web fast
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadgroup -m 'slow and not alone'
	$(BIN)/python -m pytest -q -m alone

fast: $(READY)
	$(BIN)/python -m pytest -q -n $(JOBS) -m 'not slow'

audit: $(READY)
	@BIN=$(BIN) sh tools/audit.sh

bench: $(READY)
	$(BIN)/python -m bench.episode --peers none
	$(BIN)/python -m bench.kinematics

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis out site web/node_modules web/openapi/node_modules src/corporeal/studio/page
