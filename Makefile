# Two commands on a fresh machine: `make verify` and `make test`.
# Each makes .venv first (with virtualenv through pip where the venv module is missing), and installs what it needs:
# `make verify` the extra `verify`, `make test` all extras of the package and the tools of its tests, and `make doors`,
# `make browser`, `make docs` and others a group of pyproject.toml more.

PYTHON ?= python3
VENV   := .venv
ifeq ($(OS),Windows_NT)
PROGRAMS := Scripts
else
PROGRAMS := bin
endif
BIN    := $(VENV)/$(PROGRAMS)
# What is installed in .venv: what the commands of the package need, also what its tests need, also what the
# tests with other packages need.
VERIFY := $(VENV)/.installed-verify
STAMP  := $(VENV)/.installed
DOORS  := $(VENV)/.installed-doors
# Options for `make verify` and `make bench`; e.g. `make verify ARGS="--designs 10000"`.
ARGS   ?=
# Two processes; a file of tests stays in one of them as far as possible, so that its kernels are compiled once.
PARALLEL := -n 2 --dist worksteal

.PHONY: verify ledger guarantee diversity networks test slow doors bounds without-numba test-minimum neural dropin \
	formal docs browser bench bench-scale notebooks attack lock locked dist dist-compiled packaging release-check reliability \
	lint types check doctest install clean

verify: $(VERIFY)
	$(BIN)/sparselin verify $(ARGS)

# Every claim of the papers, with the cases that the stored ledger has; e.g. `make ledger ARGS="--paper LN"`.
ledger: $(VERIFY)
	$(BIN)/sparselin ledger $(ARGS)

# How far greedy selection is from the best subset, and what is guaranteed; e.g. `make guarantee ARGS="--quick"`.
guarantee: $(VERIFY)
	$(BIN)/sparselin guarantee $(ARGS)

# Figure 1 of the spectral paper, on MNIST if SPARSELIN_DATA names its folder, else on scikit-learn's digits.
diversity: $(VERIFY)
	$(BIN)/python -m proofs_checks.experiments.diversity $(ARGS)

# The tables of Sequential Attention and LassoNet again, in some hours; e.g. `make networks ARGS=--quick`.
networks: $(VERIFY)
	$(BIN)/python -c 'import torch'
	$(BIN)/python -m proofs_checks.experiments.networks $(ARGS)

test: lint types check doctest

# The tests with the lowest versions that pyproject.toml allows, also those of `make doors`, in an environment of
# their own.
test-minimum: $(VERIFY)
	$(BIN)/python -m venv $(VENV)-minimum
	$(BIN)/python tests/minimum.py > $(VENV)-minimum/constraints.txt
	$(VENV)-minimum/$(PROGRAMS)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)-minimum/$(PROGRAMS)/python -m pip install --quiet --constraint $(VENV)-minimum/constraints.txt \
	    --editable '.[all]' --group test --group doors
	$(VENV)-minimum/$(PROGRAMS)/pytest -q $(PARALLEL) --ignore tests/browser tests

# Networks: these tests skip without PyTorch, which the rest does not need (pip install torch). Two processes on two
# cores have one thread each.
neural: export OMP_NUM_THREADS = 1
neural: $(STAMP)
	$(BIN)/python -c 'import torch'
	$(BIN)/pytest -q $(PARALLEL) tests/neural 'tests/pages/test_notebooks.py::test_notebook_runs_with_its_solutions[10_networks_that_choose]'
	$(BIN)/pytest -q $(PARALLEL) --doctest-modules sparselin/neural proofs_checks/experiments/networks \
	    docs/guide/networks.md --doctest-glob='*.md'

# All methods with checks of bounds: their kernels are compiled for it, into a cache of their own. Two minutes.
bounds: $(STAMP)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/bounds $(BIN)/pytest -q $(PARALLEL) -m "not slow" \
	    tests/every_method/test_methods.py -k give_the_bits

# Tests of the engine in an environment without Numba, where everything runs interpreted. Two minutes.
ENGINE := engine/test_omp lasso/test_lasso_path lasso/test_dual_polytope lasso/test_sequential_lasso \
	engine/test_positive guarantees/test_coherence
without-numba: $(STAMP)
	$(BIN)/python -m venv $(VENV)-without-numba
	$(VENV)-without-numba/$(PROGRAMS)/python -m pip install --quiet numpy scipy scikit-learn threadpoolctl lazy-loader \
	    python-flint pandas hypothesis pytest pytest-xdist
	$(VENV)-without-numba/$(PROGRAMS)/python -m pip install --quiet --no-deps --editable .
	$(VENV)-without-numba/$(PROGRAMS)/pytest -q $(PARALLEL) -m "not slow" $(ENGINE:%=tests/%.py)

# scikit-learn's own tests with our estimators in place of its, in a minute or two.
dropin: $(STAMP)
	$(BIN)/python -m tests.dropin -n 2 $(ARGS)

# The theorems in Coq, and what each depends on: nothing. Debian 12: coq, libcoq-mathcomp-algebra,
# libcoq-mathcomp-real-closed. A minute or two.
formal:
	$(MAKE) --no-print-directory -C proofs_checks/formal

# The site, in docs/_build/html, its links in docs/_build/external-links.txt, in a few minutes and without PyTorch.
# A warning is an error.
docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/pytest -q tests/pages/test_site.py tests/pages/test_ledger_page.py
	$(BIN)/sphinx-build -W --keep-going -n -q -c docs -d docs/_build/doctrees . docs/_build/html $(ARGS)

# The explorer, and the site if `make docs` has made it, in headless Chromium: needs chromium and chromedriver.
browser: $(STAMP)
	$(BIN)/python -m pip install --quiet --group browser
	$(BIN)/pytest -q tests/browser

# Beside the peers, in an hour with ARGS="--seeds 0 1 2"; e.g. `make bench ARGS="--quick --case omp"`.
bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[plot]' --group bench
	$(BIN)/python -m benchmarks $(ARGS)

# Data longer than memory, by `sl.compress`, in some ten minutes; e.g. `make bench-scale ARGS="--case overlap"`.
bench-scale: $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[scale]' --group bench
	$(BIN)/python -m benchmarks.scale $(ARGS)

# All notebooks from the top, their outputs stored.
notebooks: $(STAMP)
	$(BIN)/python tests/notebooks.py

# Hard designs against exact oracles, fresh ones each time; e.g. `make attack ARGS="--minutes 60"`.
attack: $(STAMP)
	$(BIN)/python -m tests.attacks $(ARGS)

# Contradictions between answers to one problem in all rounding modes; e.g. `make reliability ARGS="--minutes 2"`.
reliability: $(STAMP)
	$(BIN)/python -m pip install --quiet --group reliability
	$(BIN)/python -m tests.reliability $(ARGS)

# The versions for development again, and the bill of materials of the environment that they make.
lock: $(STAMP)
	$(BIN)/python -m pip install --quiet --group release
	$(BIN)/uv pip compile --quiet --no-header --universal --python-version 3.11 --format pylock.toml pyproject.toml \
	    --extra all --extra scale --extra notebooks --group dev --group doors --group browser \
	    --group docs --output-file $(VENV)/pylock.toml
	$(BIN)/python -m tests.lock $(VENV)/pylock.toml > /dev/null
	$(MAKE) --no-print-directory locked
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --short-PURLs --output-reproducible \
	    --output-file $(VENV)/sbom.json $(VENV)-locked/$(PROGRAMS)/python
	$(BIN)/python -m tests.lock $(VENV)/sbom.json > /dev/null

# The wheel and the sdist, in dist/.
dist: $(STAMP)
	rm -rf dist
	$(BIN)/python -m hatchling build

# A wheel that brings its kernels compiled for x86-64-v3, in dist/, in three minutes. It is for the version of Python
# and the platforms of the installed Numba, and needs this version of Numba; with another it compiles when needed, as usual.
dist-compiled: $(STAMP)
	HATCH_BUILD_HOOK_ENABLE_CUSTOM=true $(BIN)/python -m hatchling build --target wheel

# Everything around the code: built twice and compared, the recipe, the workflow, the metadata.
packaging: $(STAMP)
	$(BIN)/python -m pip install --quiet --group release
	$(BIN)/yamllint --strict --config-file release/yamllint.yml .github .pre-commit-config.yaml CITATION.cff release
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms $(addprefix .github/ISSUE_TEMPLATE/,bug.yml claim.yml wrong_answer.yml)
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/zizmor --quiet --offline --persona auditor .github
	$(BIN)/repo-review .
	$(BIN)/pytest -q tests/project/test_release.py tests/project/test_package.py -k 'release or wheel'

# What a release needs; it fails while a blank is left that only a person can fill in.
release-check: packaging
	$(BIN)/python -m tests.release

# An environment with the versions of release/pylock.toml, in .venv-locked.
locked: $(STAMP)
	$(BIN)/python -m venv $(VENV)-locked
	$(BIN)/python -m tests.lock > $(VENV)-locked/requirements.txt
	$(VENV)-locked/$(PROGRAMS)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)-locked/$(PROGRAMS)/python -m pip install --quiet --require-hashes --requirement $(VENV)-locked/requirements.txt
	$(VENV)-locked/$(PROGRAMS)/python -m pip install --quiet --no-deps --editable .

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy
	$(BIN)/mypy --strict --no-warn-unused-ignores tests/typed_calls.py

check: $(STAMP)
	$(BIN)/pytest -q $(PARALLEL) -m "not slow" --ignore tests/browser tests proofs_checks

# Notebooks, the gallery, the benchmark at a toy size, the proof assistant, and other tests of many seconds each. To
# import all files of tests takes half a minute, so it is done with those that name the mark.
slow: $(STAMP)
	$(BIN)/pytest -q $(PARALLEL) -m slow $(shell grep -rl --include='test_*.py' mark.slow tests proofs_checks)

# The tests with other packages: chaospy, dask, duckdb, openturns, pysindy and zarr. Without them `make test` skips
# these tests; here a missing package is an error.
doors: $(DOORS)
	$(BIN)/python -c 'import chaospy, pysindy'
	$(BIN)/pytest -q $(PARALLEL) -m door $(shell grep -rl --include='test_*.py' mark.door tests)
	$(BIN)/pytest -q $(PARALLEL) --doctest-modules sparselin/estimators/sindy.py docs/guide/chaos.md docs/guide/sindy.md \
	    $(wildcard docs/upstream/pysindy*.md) --doctest-glob='*.md'

doctest: $(STAMP)
	$(BIN)/pytest -q $(PARALLEL) --doctest-modules sparselin proofs_checks/experiments README.md docs --doctest-glob='*.md'

install: $(STAMP)

$(VERIFY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	    { rm -rf $(VENV); $(PYTHON) -m pip --version && \
	      { $(PYTHON) -m virtualenv --version >/dev/null 2>&1 || \
	        $(PYTHON) -m pip install --user --quiet virtualenv || \
	        $(PYTHON) -m pip install --user --quiet --break-system-packages virtualenv; } && \
	      $(PYTHON) -m virtualenv --quiet $(VENV); }
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[verify]'
	touch $@

$(STAMP): $(VERIFY)
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	touch $@

$(DOORS): $(STAMP)
	$(BIN)/python -m pip install --quiet --group doors
	touch $@

clean:
	$(MAKE) --no-print-directory -C proofs_checks/formal clean
	rm -rf $(VENV) $(VENV)-minimum $(VENV)-locked dist report docs/_build docs/made
