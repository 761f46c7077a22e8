# NDM-TCP. `make` alone prints this help; it is written from the lines with two hashes.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
PYTHON := .venv/bin/python
export PYTHONPATH := $(CURDIR)

RUN ?=
KDIR ?=
KERNEL_SRC ?=
NDM_CACHE ?= $(HOME)/.cache/ndm-tcp
export NDM_CACHE KERNEL_SRC

KERNEL_SOURCES := $(wildcard kernel/*.c kernel/*.h kernel/Kbuild kernel/compat/* kernel/build.sh)
FLOW_SOURCES := $(wildcard env/network/flow/*.c env/network/flow/*.h)
USER_SOURCES := $(wildcard kernel/user/*.c kernel/user/include/*/*.h kernel/*.h)

.PHONY: help
help: ## this help
	@echo "NDM-TCP: learned TCP congestion control, trained on the real Linux stack in virtual time"
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | while IFS=$$'\t' read -r name text; do printf '  %-16s %s\n' "make $$name" "$$text"; done

.PHONY: quickstart
quickstart: ## the main job from nothing: set up, train a small model, export it, rebuild the module, compare
	@setup/quickstart.sh

.PHONY: setup
setup: packages .venv/installed ## install what is missing: the distribution's packages (asks for root only then), .venv

.PHONY: packages
packages:
	@/usr/bin/python3 setup/packages.py

.venv/installed: requirements.txt
	@echo "setup: .venv with the packages of requirements.txt"
	@test -x $(PYTHON) || /usr/bin/python3 -m venv .venv
	@.venv/bin/pip install --disable-pip-version-check --requirement requirements.txt
	@cp requirements.txt $@

.PHONY: lab-kernel
lab-kernel: ## build the lab kernel, user-mode Linux in virtual time (KERNEL_SRC= another tree or tarball)
	@/usr/bin/python3 kernel/lab/build.py

build/lab-kernel/manifest.json:
	@/usr/bin/python3 kernel/lab/build.py

.PHONY: module
ifeq ($(KDIR),)
module: build/modules/lab/built build/flow build/libndm.so ## rebuild the kernel modules for the lab (KDIR= for a stock kernel) with the exported model
else
module:
	@kernel/build.sh build/modules/$$(make -s -C $(KDIR) kernelrelease) $(KDIR)
endif

build/modules/lab/built: $(KERNEL_SOURCES) build/lab-kernel/manifest.json
	@kernel/build.sh build/modules/lab build/lab-kernel/tree
	@touch $@

build/flow: $(FLOW_SOURCES)
	@mkdir -p build
	$(CC) -O2 -Wall -Wextra -static -o $@ $(filter %.c,$^)

build/libndm.so: $(USER_SOURCES)
	@mkdir -p build
	$(CC) -O2 -Wall -Wextra -Wno-sign-compare -shared -fPIC -Ikernel/user/include -Ikernel -o $@ kernel/user/*.c

.PHONY: export-weights
export-weights: .venv/installed ## write the int16 header, ONNX, blob and golden vectors of a run (RUN=runs/NAME, default the latest)
	@$(PYTHON) -m export $(if $(RUN),--run $(RUN))

.PHONY: bench-env
bench-env: setup module ## speed of the environment: decisions per second and virtual seconds per second
	@$(PYTHON) -m env.bench

.PHONY: test
test: setup module ## the test suite
	@$(PYTHON) -m pytest

.PHONY: lint
lint: setup module ## ruff, mypy, generated files, sparse, checkpatch, warnings on stock kernels
	@/usr/bin/python3 setup/packages.py lint
	@.venv/bin/ruff check
	@.venv/bin/ruff format --check
	@$(PYTHON) -m mypy
	@$(PYTHON) -m env.schema --check
	@$(PYTHON) -m export.tables --check
	@kernel/lint.sh

.PHONY: format
format: .venv/installed ## format the Python sources
	@.venv/bin/ruff format
	@.venv/bin/ruff check --fix

.PHONY: clean
clean: ## delete what was built here (not the lab kernel's cache, runs or results)
	@rm -rf build .mypy_cache .ruff_cache .pytest_cache
