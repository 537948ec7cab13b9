# What a newcomer, a developer and a build machine type. Needs GNU make and Python 3.11 or later; `make` lists the targets.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

VENV := .venv
RUN := $(VENV)/bin/python
LOCK := requirements-dev.lock
PIP := $(RUN) -m pip --disable-pip-version-check --quiet
# What $(1), extras, need of the lock file: downloads are checked against its hashes. No lock file (LOCK=) means no check.
LOCKED = $(if $(LOCK),$(RUN) .ci/locked.py $(1) >$(VENV)/locked.txt && $(PIP) $(2) --require-hashes --requirement $(VENV)/locked.txt)
# Installing compiles nothing: of 700 MB little is ever loaded, and what is loaded is compiled then, and kept.
define install
@$(call LOCKED,$(1),install --no-compile)
@$(PIP) install --no-compile $(if $(LOCK),--no-deps) --editable '.[$(1)]'
endef
WHEEL = $$(ls -t $(CURDIR)/dist/cloister-*-cp*.whl | head -1)
unexport PYTHONDONTWRITEBYTECODE
BASELINE = export $$($(RUN) -c "from cloister.kernels.compiling import baseline_environment as one; print(one())")
ARGS :=
VERIFYING := tests/unit/verification tests/unit/release tests/unit/cli/test_cli_verify.py tests/unit/shapes \
    tests/properties/test_every_form.py tests/properties/test_verified_rules.py tests/properties/test_table_statements.py \
    -k "verif or mask or every_form or rules or statements or forg or tamper"
EXTRAS :=

# The newest Python that runs and is not too old; `make PYTHON=/path/to/python3 ...` takes another one.
PYTHON ?= $(shell for python in python3.14 python3.13 python3.12 python3.11 python3; do \
    $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$python; break; }; \
    done)

.PHONY: help demo test coverage mutants soak lint format docs docs-versions bench bench-pruning bench-scale house wheel wheel-check release-check publish-check bundle lock clean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/installed ## Make an example hospital in ./demo, protect it in four shapes, print what was released
	@$(RUN) -m cloister demo demo

# One process more than there are processors: some tests wait for others.
test: $(VENV)/installed-dev ## Run the whole test suite (ARGS="-k hierarchy" for a part of it)
	@$(RUN) -m pytest --numprocesses $$($(RUN) -c "import os; print((os.cpu_count() or 1) + 1)") --dist worksteal $(ARGS)

# What is measured, and the floor, is in pyproject.toml.
coverage: $(VENV)/installed-dev ## Run the tests of verifiers and masking, and see that they reach most of that code
	@$(RUN) -m pytest --numprocesses auto --dist worksteal --cov --cov-report=term $(VERIFYING)

mutants: $(VENV)/installed-dev ## See that tests notice forty small changes of kernels, verifiers and masking (hours)
	@$(RUN) -m benchmarks.development.mutants $(ARGS)

soak: $(VENV)/installed-dev ## Try to break every promise for an hour, at random (SOAK_S=600 for ten minutes; SOAK_SEED repeats)
	@$(RUN) -m tests.soak

lint: $(VENV)/installed-dev ## Check style, format and types
	@failed=0; \
	for check in "ruff check --no-cache" "ruff format --check" "mypy --strict"; do \
	    echo "$$check"; $(RUN) -m $$check || failed=1; \
	done; \
	exit $$failed

format: $(VENV)/installed-dev ## Bring the code into its format
	$(RUN) -m ruff check --fix
	$(RUN) -m ruff format

docs: $(VENV)/installed-docs ## Make the documentation in ./build/docs: pages, and the reference from the code
	@$(RUN) docs/command_line.py
	@$(RUN) -m sphinx --quiet --fail-on-warning --keep-going --doctree-dir build/doctrees docs build/docs
	@echo "Documentation: build/docs/index.html"

docs-versions: docs ## Make in ./build/site the documentation of every released version and of this one
	@PYTHON=$(RUN) .ci/docs-versions

bench: $(VENV)/installed-dev ## Measure the search, the methods for code sets and assessments (real data if CLOISTER_DATA names their folder)
	@$(RUN) -m benchmarks.development.tables $(ARGS)
	@$(RUN) -m benchmarks.papers.disassociation bars
	@$(RUN) -m benchmarks.papers.generalization bars
	@test -z "$$CLOISTER_DATA" || $(RUN) -m benchmarks.papers.trajectories bars
	@$(RUN) -m benchmarks.papers.claims bars
	@$(RUN) -m benchmarks.development.against_arx
	@$(RUN) -m benchmarks.development.assess
	@$(RUN) -m benchmarks.scale.goals

bench-pruning: $(VENV)/installed-bench ## Repeat the published comparison of searches for docs/benchmarks (some twenty minutes)
	@$(RUN) -m benchmarks.papers.pruning --seconds 120 $(ARGS)

bench-scale: $(VENV)/installed-dev ## Measure files of up to 100 million records, and PostgreSQL with 5 million (some half an hour; ARGS=spark for Spark)
	@$(RUN) -m benchmarks.scale.files --bars $(if $(ARGS),$(ARGS),memory duckdb postgresql)

house: $(VENV)/usable ## Print the size of the code base, and check the limits on how it is written
	@$(RUN) -m benchmarks.development.house

wheel: $(VENV)/installed ## Build in ./dist a wheel for this platform and Python that carries its compiled kernels, and one for any
	@echo "Compiling all kernels for the processors that the wheel is for (a minute or two) ..."
	@rm -rf build/kernels build/demo && mkdir -p build
	@$(BASELINE) NUMBA_CACHE_DIR=$(CURDIR)/build/kernels && \
	    $(RUN) -c "from cloister.kernels.compiling import compile_all; compile_all()" && \
	    $(RUN) -m cloister demo build/demo --patients 100 --quiet
	@$(PIP) wheel --no-deps --wheel-dir dist .
	@CLOISTER_KERNELS=$$(echo $(CURDIR)/build/kernels/sources-*) $(PIP) wheel --no-deps --wheel-dir dist .
	@rm -rf build/kernels build/demo
	@ls dist/*.whl

# As on a fresh machine: an empty home, and no compiler or anything else on the path.
wheel-check: wheel ## See that the wheel, installed in an empty environment, protects a table in a minute and compiles nothing
	@rm -rf build/check && $(RUN) -m venv build/check && mkdir build/check/home
	@$(call LOCKED,,--python build/check install)
	@build/check/bin/python -m pip install --quiet --disable-pip-version-check "$(WHEEL)"
	@cd build/check && bin/python -c "from cloister.testing import hospital_patients as made; made().write_csv('patients.csv')" && \
	    alone="env -i HOME=$$PWD/home PATH=$$PWD/bin" && \
	    bin/python -c "import subprocess, sys; subprocess.run(sys.argv[1:], timeout=60, check=True)" \
	        $$alone bin/cloister protect table patients.csv -k 5 --qi age=interval:10,20,40/top=80/bottom=0 --qi sex \
	        --undecided drop --out release && \
	    $$alone bin/cloister verify release && $$alone bin/cloister demo demo
	@found=$$(find build/check/home build/check/cache -name '*.nbc' 2>/dev/null | wc -l); \
	    echo "compiled after installing: $$found kernels"; test $$found = 0
	@rm -rf build/check

release-check: $(VENV)/installed-release ## See that a release can be made: changes, and an sdist that passes its tests where there is no network
	@PYTHON=$(RUN) .ci/release-check

publish-check: $(VENV)/installed-release ## See that the package index would take what is in ./dist
	@$(RUN) .ci/publish-check

bundle: $(VENV)/usable ## Collect in ./bundle all that an installation without a network needs (EXTRAS=ui,postgresql for the application and a driver)
	@$(MAKE) --no-print-directory wheel
	@rm -rf bundle && mkdir bundle
	@echo "Collecting wheels into ./bundle ..."
	@$(call LOCKED,$(EXTRAS),wheel --wheel-dir bundle)
	@$(PIP) wheel --wheel-dir bundle $(if $(LOCK),--no-deps) "$(WHEEL)$(if $(EXTRAS),[$(EXTRAS)])"
	@$(RUN) -c "$$DESCRIBE_BUNDLE"
	@echo "bundle: $$(ls bundle/*.whl | wc -l) wheels, $$(du -sh bundle | cut -f1). bundle/README.md says how to install them."

lock: $(VENV)/usable ## Choose the versions of requirements-dev.lock anew, from the package index as configured
	@$(PIP) install uv
	@$(RUN) -m uv --quiet pip compile --universal --upgrade --python-version 3.11 --all-extras --no-emit-package cloister \
	    --no-emit-index-url --no-emit-find-links --generate-hashes --no-strip-extras --custom-compile-command "make lock" --output-file $(LOCK) pyproject.toml
	@if grep -nE '://|@ |^-' $(LOCK); then echo "$(LOCK) names a place, but must hold versions only."; exit 1; fi

clean: ## Remove whatever these targets made, the environment included
	rm -rf $(VENV) demo bundle build dist .hypothesis .mypy_cache .ruff_cache .pytest_cache .coverage
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment: made once, and installed into again whenever pyproject.toml or the lock file changes.

$(VENV)/usable:
	@if ! $(RUN) -m pip --version >/dev/null 2>&1; then \
	    if [ -z "$(PYTHON)" ]; then \
	        echo "No Python 3.11 or later with venv and pip was found. Install one (on Debian: python3 and python3-venv)," >&2; \
	        echo "or name it: make PYTHON=/path/to/python3 ..." >&2; \
	        exit 1; \
	    fi; \
	    echo "Making $(VENV) with $$($(PYTHON) --version) ..."; \
	    $(PYTHON) -m venv --clear $(VENV); \
	fi
	@touch $@

$(VENV)/installed: $(VENV)/usable pyproject.toml $(LOCK)
	@echo "Installing cloister into $(VENV) (some 300 MB; a minute or two with a fast network) ..."
	$(call install,ui)
	@touch $@

$(VENV)/installed-dev: $(VENV)/usable pyproject.toml $(LOCK)
	@echo "Installing cloister with its development tools into $(VENV) ..."
	$(call install,dev)
	@touch $@ $(VENV)/installed

$(VENV)/installed-docs: $(VENV)/usable pyproject.toml $(LOCK)
	@echo "Installing cloister with what makes its documentation into $(VENV) ..."
	$(call install,docs)
	@touch $@

# What runs tables on Spark, in tests as well; it needs Java. Tests of it are skipped where it is not installed.
$(VENV)/installed-spark: $(VENV)/installed-dev
	@echo "Installing Spark (some 500 MB) into $(VENV) ..."
	$(call install,spark)
	@touch $@

# What reads and writes files of Excel, Stata, SPSS and SAS. Tests of it are skipped where it is not installed.
$(VENV)/installed-files: $(VENV)/installed-dev
	@echo "Installing readers of Excel, Stata, SPSS and SAS into $(VENV) ..."
	$(call install,files)
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed-dev
	@echo "Installing what the figures of the benchmarks need into $(VENV) ..."
	$(call install,bench)
	@touch $@

$(VENV)/installed-release: $(VENV)/installed-dev
	@echo "Installing what a release is made and checked with into $(VENV) ..."
	$(call install,release)
	@touch $@

define DESCRIBE_BUNDLE
import hashlib, pathlib, platform, sys
bundle = pathlib.Path("bundle")
wheels = sorted(bundle.glob("*.whl"))
python = f"{sys.version_info.major}.{sys.version_info.minor}"
versions = ["==".join(wheel.name.split("-")[:2]) for wheel in wheels]
(bundle / "constraints.txt").write_text("".join(f"{version}\n" for version in versions))
(bundle / "README.md").write_text(f"""# cloister, to be installed without a network

For Python {python} on {platform.system()} {platform.machine()}: wheels are particular to both. In this folder:

    sha256sum --check SHA256SUMS
    python{python} -m venv cloister-env
    cloister-env/bin/pip install --no-index --find-links . --constraint constraints.txt cloister

Then: cloister-env/bin/cloister demo
""")
files = [*wheels, bundle / "constraints.txt", bundle / "README.md"]
sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
(bundle / "SHA256SUMS").write_text("".join(sums))
endef
export DESCRIBE_BUNDLE
