# Every target does its own set-up: the first one takes some minutes, later ones none.
# make PYTHON=… names the interpreter, CMAKE_ARGS=… adds options for llama.cpp; see docs/models.md.

.DEFAULT_GOAL := help
# Python must store its bytecode, or each process would compile it again; some container images disable this.
export PYTHONDONTWRITEBYTECODE :=
# Two targets at the same time would both run apt-get and pip.
.NOTPARALLEL:
.PHONY: help setup demo llm test test-tools test-train test-long test-image image soak chaos \
	lint docs reference packages test-package release release-check lock clean

# Marks of the steps of .ci/setup: packages for captions; also for language models; also for the tests.
DEMO := .venv/.demo
LLM := .venv/.llm
READY := .venv/.tests
# A virtual environment holds absolute paths: after the checkout was moved it has to be made again.
ifneq ($(shell cat $(DEMO) 2>/dev/null),$(CURDIR))
.PHONY: $(DEMO) $(LLM) $(READY)
endif

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20

setup: $(DEMO) ## make .venv with the packages for captions; no compiler is needed

llm: $(LLM) ## add llama.cpp for language models; it is compiled (2 to 4 minutes)

$(DEMO) $(LLM) $(READY): requirements.lock scorers.lock voices.lock pyproject.toml .ci/setup .ci/llama.cmake
	@.ci/setup $(@:.venv/.%=%)

TO := Portuguese

demo: $(DEMO) ## caption a recorded English reading in Portuguese; another language: make demo TO=German
	@.venv/bin/surtitle demo --to $(TO)

# Before the set-up, which takes minutes, so that missing programs are reported at once.
test-tools:
	@.ci/test_tools

# More at a time than two processors, because tests also wait for clocks and other programs.
test: test-tools $(READY) ## run the tests, four at a time
	.venv/bin/pytest -n 4 -m 'not long' --no-loadscope-reorder --ignore tests/train --ignore tests/package

test-long: test-tools $(READY) ## run the long tests, try more examples, and kill runs and clusters 350 times (35 minutes)
	.venv/bin/pytest -n 2 -m long --ignore tests/train --ignore tests/package
	SURTITLE_EXAMPLES=300 .venv/bin/pytest -n 2 tests/operators tests/connectors tests/fuzz
	SURTITLE_KILLS=200 .venv/bin/pytest tests/flows/captions/test_recovery.py
	SURTITLE_CLUSTER_KILLS=12 SURTITLE_JOB_KILLS=20 SURTITLE_OUTAGE_S=20 .venv/bin/pytest -n 0 \
		tests/flows/captions/test_cluster.py tests/flows/kafka

# Separate from the rest, because PyTorch is large: half a gigabyte for a CPU, several for a GPU.
test-train: $(READY) .venv/train ## train tiny models and compare them with llama.cpp (2 minutes, and PyTorch's download)
	PYTHONPATH=.venv/train .venv/bin/pytest -n 0 tests/train

TORCH := torch==2.13.0
.venv/train: pyproject.toml
	.venv/bin/python -m pip --disable-pip-version-check install --quiet --upgrade --target $@ \
		'$(TORCH)' 'transformers>=5.24' 'peft>=0.17' 'accelerate>=1.10'
	@touch $@

image: ## build a container image of the server of rooms, with docker (some minutes)
	docker build -f deploy/Containerfile -t surtitle .

test-image: $(READY) ## build the image with docker or podman, start it and send it requests (some minutes)
	.venv/bin/python -m tests.deploy.image

soak: $(READY) ## replay 12 hours of speech and check that memory use does not grow (25 minutes)
	.venv/bin/python -m tests.hours toy --segments 6000
	.venv/bin/python -m tests.hours real --segments 1000

# SURTITLE_CHAOS_SEED=… begins with a seed that failed.
chaos: test-tools $(READY) ## disturb runs with signals, and check that they end cleanly and continue (10 minutes)
	.venv/bin/python -m tests.chaos

lint: $(READY) ## check style, types and the direction of imports
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	@# Other systems have other parts of the standard library.
	.venv/bin/mypy --platform win32 --cache-dir .mypy_cache/win32 flows operators connectors
	.venv/bin/mypy --platform darwin --cache-dir .mypy_cache/darwin flows operators connectors
	.venv/bin/lint-imports
	.venv/bin/python -m pip check

# Every warning is an error, such as a link or an anchor that leads nowhere.
docs: $(READY) .venv/docs ## build the documentation site into site/ (a minute)
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=.venv/docs:.ci .venv/bin/python -m mkdocs build --strict
	@echo "docs: open site/index.html"

.venv/docs: docs.lock
	rm -rf $@
	.venv/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes --no-deps \
		--only-binary :all: --target $@ -r docs.lock
	@touch $@

reference: $(READY) ## write the pages of docs/reference/ that come from the code
	PYTHONPATH=.:.ci .venv/bin/python -m reference

packages: $(DEMO) ## build the wheel and the source distribution, in dist/
	.venv/bin/uv --no-config build --quiet --no-build-isolation --python .venv/bin/python \
		--clear --no-create-gitignore --out-dir dist

test-package: packages $(READY) ## install the packages in clean environments, and test them there (5 minutes)
	.venv/bin/pytest -n 0 tests/package

release-check: $(READY)
	PYTHONPATH=.ci .venv/bin/python -m release check

# See CONTRIBUTING.md; make release DRY_RUN=1 does everything except the tag.
release: release-check lint test docs test-package ## check everything, build the packages and tag the commit (half an hour)
	cd dist && sha256sum surtitle-* >SHA256SUMS
	PYTHONPATH=.ci .venv/bin/python -m release $(if $(DRY_RUN),rehearse,tag)

# Any uv that is installed will do: .venv cannot be updated before the lock.
.venv/bin/uv:
	@.ci/setup demo

COMPILE := .venv/bin/uv --no-config pip compile --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' --quiet

lock: .venv/bin/uv ## resolve requirements.lock again; with newer versions: make lock UPGRADE=--upgrade
	$(COMPILE) $(UPGRADE) pyproject.toml --extra azure --extra bench --extra kafka --extra llm --extra media --extra sherpa --extra vosk --extra whisper \
		--group setup --group build --group dev --output-file requirements.lock
	$(COMPILE) $(UPGRADE) --group scorers --no-deps --output-file scorers.lock
	$(COMPILE) $(UPGRADE) --group voices --no-deps --output-file voices.lock
	$(COMPILE) $(UPGRADE) --group docs --output-file docs.lock

clean: ## remove .venv, builds and caches of tools
	rm -rf .venv build dist site *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
