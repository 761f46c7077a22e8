# NDM-TCP. `make` alone prints the targets; their text is what follows two hashes. Fuzzing, releases and studies have
# Makefiles of their own: kernel/fuzz, packaging, studies.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
# NDM_PYTHON: a Python that has the packages of requirements.txt, in place of .venv's
PYTHON := $(if $(NDM_PYTHON),"$(NDM_PYTHON)",.venv/bin/python)
PROGRESS := setup/progress.sh
PIP_INSTALL := flock .venv $(PROGRESS) setup $(PYTHON) -m pip install --disable-pip-version-check
export PYTHONPATH := $(CURDIR)

# Before anything is built or installed: the folder's name, then what was given on the command line.
BAD_LETTERS := $(shell pwd -P | tr -d 'A-Za-z0-9/._+@~\200-\377\n-' | tr '[:space:]' _)
ifneq ($(BAD_LETTERS),)
$(error "$(CURDIR)" has a space or a sign that make cannot have: in a folder's name only letters, digits and . _ + @ ~ - are right)
endif
did_you_mean = $(shell /usr/bin/python3 -c 'import difflib, sys; print(*["did you mean " + word + "? " for word in \
	difflib.get_close_matches(sys.argv[1], sys.argv[2:], 1)])' $(1) $(2))
VARIABLES := ARCH CC CFLAGS CHECK COMPARE_ARGS CONTAINER_ARGS CPPFLAGS CROSS_COMPILE DESTDIR HOST JOBS KBUILD_FLAGS KDIR KERNEL \
	KERNEL_SRC LDFLAGS LLVM MIRROR MODEL NAME NDM_CACHE NDM_MODEL_BUILD NDM_PYTHON OLD PIP_EXTRA_INDEX_URL PIP_INDEX_URL PROFILE RUN \
	RUNS SECONDS SOURCE_DATE_EPOCH TRAIN_ARGS VERSION
UNKNOWN := $(filter-out $(VARIABLES),$(foreach name,$(.VARIABLES),$(if $(filter command line,$(origin $(name))),$(name))))
ifneq ($(UNKNOWN),)
$(error $(firstword $(UNKNOWN))= is unknown: $(call did_you_mean,$(firstword $(UNKNOWN)),$(VARIABLES))The variables are $(VARIABLES))
endif

RUN ?=
TRAIN_ARGS ?=
NAME ?=
MODEL ?=
KDIR ?=
KERNEL_SRC ?=
NDM_CACHE ?= $(HOME)/.cache/ndm-tcp
export NDM_CACHE KERNEL_SRC

# Exported models, and what is built with them. The tests have a folder of their own, in which nothing is exported.
MODEL_BUILD := $(or $(NDM_MODEL_BUILD),build)
MODULES := $(MODEL_BUILD)/modules
EXPORTED := $(wildcard $(addprefix $(MODEL_BUILD)/exported,/ /models/ /ndm_weights.h /models/*.h))
KERNEL_SOURCES := $(wildcard kernel/*.h kernel/Kbuild kernel/VERSION kernel/build.sh kernel/sources.sh \
	$(foreach folder,compat lab models ndm ndm/tcp nv schemes,kernel/$(folder)/*.[ch]))
# how a lab kernel is built
KERNEL_RECIPE := $(wildcard kernel/lab/uml/patches/*.patch kernel/lab/uml/*.[hs]* kernel/lab/uml/*.py)
FLOW_SOURCES := $(wildcard env/network/traffic/flow/*.c env/network/traffic/flow/*.h) kernel/lab/lab_traffic.h
KUNIT_SOURCES := $(wildcard kernel/kunit/*.c)
USER_SOURCES := $(wildcard kernel/user/include/*/*.h kernel/*.h kernel/models/*.h kernel/ndm/*.h kernel/ndm/tcp/*.h kernel/nv/*.h)

# by reader: `## train: text`, `use`, `test` or `ship`
THIS = $(filter-out ./,$(dir $(firstword $(MAKEFILE_LIST))))
.PHONY: help
help:
	@for group in train use test ship; do \
		sed -nE "s|^([a-z-]+):.*## $$group: |  make$(THIS:%/= -C %) \1\t|p" $(firstword $(MAKEFILE_LIST)) | expand -t 23 | \
			sed "1i\\\n$$group"; \
	done

.PHONY: quickstart
quickstart: ## train: from a fresh checkout to a report: set up, train a small model, export it, compare it
	@TRAIN_ARGS="$(TRAIN_ARGS)" setup/quickstart.sh

.PHONY: setup
setup: packages .venv/installed-dev ## train: install missing packages of the distribution (asks for root only then) and .venv

.PHONY: ray
ray: .venv/installed-ray ## train: install Ray, for runner=ray and hydra/launcher=ray

# mike calls mkdocs by its name; the note that Material for MkDocs prints is about its successor
MKDOCS = PATH="$(CURDIR)/.venv/bin:$$PATH" NO_MKDOCS_2_WARNING=1
DOCS_CONFIG := --config-file packaging/site/mkdocs.yml

.PHONY: docs
docs: .venv/installed-docs ## ship: build the site of docs/ into build/site; a broken link, anchor or reference is an error
	@$(MKDOCS) .venv/bin/mkdocs build --quiet --strict $(DOCS_CONFIG)
	@echo "built: build/site/index.html"

.PHONY: packages
packages:
	@/usr/bin/python3 setup/packages.py

# pip would compile 13,000 Python files, which takes longer than to install them; these imports compile the tenth that is used
IMPORTED := gymnasium, hydra, matplotlib.figure, onnxruntime, pandas, plotly.graph_objects, pyarrow.parquet, rich.progress, \
	scipy.stats, torch.utils.tensorboard

# ndm-tcp.pth: a script in any folder finds the packages of this tree
.venv/installed: requirements.txt
	@echo "setup: $(or $(NDM_PYTHON),.venv) with the packages of requirements.txt"
	@mkdir -p .venv
	@flock .venv sh -c 'test -x $(PYTHON) || /usr/bin/python3 -m venv .venv'
	@$(PIP_INSTALL) --no-compile --requirement requirements.txt
	@env -u PYTHONDONTWRITEBYTECODE $(PYTHON) -c "import $(IMPORTED)"
	@$(if $(NDM_PYTHON),,for folder in .venv/lib/python3*/site-packages; do echo ../../../.. >$$folder/ndm-tcp.pth; done)
	@cp requirements.txt $@

# what some targets need besides: dev (tests, lint), docs, ray, vm, wheel
.venv/installed-%: setup/requirements/%.txt .venv/installed
	@$(PIP_INSTALL) --requirement $<
	@cp $< $@

.PHONY: lab-kernel
lab-kernel: ## train: build the lab kernel, user-mode Linux in virtual time (KERNEL_SRC= another source, KERNEL= a second one's name)
	@/usr/bin/python3 kernel/lab/uml/build.py $(if $(KERNEL),--name $(KERNEL))

.PHONY: lab-kernel-key
lab-kernel-key: # print key=HASH of the lab kernel, by which CI keeps ~/.cache/ndm-tcp (needs `make packages`)
	@echo "key=$$(/usr/bin/python3 kernel/lab/uml/build.py --key)"

# KERNEL_SRC is the source of the kernel that KERNEL names, and of no other
BUILD_OWN_KERNEL := $(if $(KERNEL),KERNEL_SRC= )/usr/bin/python3 kernel/lab/uml/build.py

build/lab-kernel/manifest.json: kernel/lab/uml/lab.config kernel/lab/uml/scripts.config $(KERNEL_RECIPE)
	@$(BUILD_OWN_KERNEL)
	@touch -c $@

.PHONY: sanitizer
sanitizer: build/modules/sanitizer/built # build the lab kernel with KASAN, UBSAN, lockdep, kmemleak and KUnit, and its modules

build/sanitizer-kernel/manifest.json: kernel/lab/uml/sanitizer.config kernel/lab/uml/lab.config $(KERNEL_RECIPE)
	@$(BUILD_OWN_KERNEL) --variant sanitizer
	@touch -c $@

build/modules/sanitizer/built: $(KERNEL_SOURCES) $(KUNIT_SOURCES) build/sanitizer-kernel/manifest.json
	@NDM_MODEL_BUILD=build/test KBUILD_FLAGS=NDM_KUNIT=y kernel/build.sh $(@D) build/sanitizer-kernel/tree
	@touch $@

ifneq ($(MODEL),)
MODEL_NAMES := $(sort $(basename $(notdir $(wildcard kernel/models/*.h $(MODEL_BUILD)/exported/models/*.h))))
UNKNOWN_MODEL := $(firstword $(filter-out $(MODEL_NAMES),$(MODEL:ndm@%=%)))
ifneq ($(UNKNOWN_MODEL),)
$(error there is no model "$(UNKNOWN_MODEL)": $(call did_you_mean,"$(UNKNOWN_MODEL)",$(MODEL_NAMES))There are $(MODEL_NAMES); make export-weights adds one)
endif
.PHONY: selection
selection: .venv/installed
	@$(PYTHON) -m export.selection "$(MODEL)"
EXPORTED += selection
endif

# further kernels of the lab: make lab-kernel KERNEL=NAME, also together with `make module`
NEW_KERNEL := $(if $(filter lab-kernel,$(MAKECMDGOALS)),$(KERNEL))
OTHER_KERNELS = $(sort $(notdir $(wildcard build/lab-kernels/*)) $(NEW_KERNEL))
ifneq ($(NEW_KERNEL),)
build/lab-kernels/$(NEW_KERNEL)/manifest.json: | lab-kernel
endif

.PHONY: module
ifeq ($(KDIR),)
module: $(MODULES)/lab/built $(OTHER_KERNELS:%=$(MODULES)/lab-%/built) build/flow build/init ## train: build the kernel modules for the lab, with the exported model (MODEL=mixed another one, KDIR= a stock kernel)
else
module: $(EXPORTED) build/flow build/pulse
	@release=$$(kernel/release.sh $(KDIR)); kernel/build.sh $(MODULES)/$$release $(KDIR)
endif

.PHONY: install
install: ## use: install tcp_ndm by DKMS for the running kernel and later ones; `make uninstall` removes it (root; KDIR= another)
	@kernel/install.sh install $(KDIR)

.PHONY: uninstall
uninstall: # remove the files of make install (root)
	@kernel/install.sh uninstall

$(MODULES)/lab/built: $(KERNEL_SOURCES) $(EXPORTED) build/lab-kernel/manifest.json
	@kernel/build.sh $(@D) build/lab-kernel/tree
	@touch $@

$(MODULES)/lab-%/built: $(KERNEL_SOURCES) $(EXPORTED) build/lab-kernels/%/manifest.json
	@kernel/build.sh $(@D) build/lab-kernels/$*/tree
	@touch $@

build/flow: $(FLOW_SOURCES)
	@mkdir -p build
	$(CC) -O2 -Wall -Wextra -static -Ikernel/lab -o $@ $(filter %.c,$^)

build/init: env/lab/guest/init.c
	@mkdir -p build
	$(CC) -O2 -Wall -Wextra -static -o $@ $<

build/pulse: env/lab/pulse/pulse.c
	@mkdir -p build
	$(CC) -O2 -Wall -Wextra -static -o $@ $<

# the C core in user space, for the tests
$(MODEL_BUILD)/libndm.so: $(wildcard tests/support/kernel/library/*.c) $(USER_SOURCES) kernel/sources.sh $(EXPORTED)
	@kernel/sources.sh $(@D)/sources
	$(CC) -O2 -Wall -Wextra -Wno-sign-compare -shared -fPIC -Ikernel/user/include -I$(@D)/sources -o $@ $(filter tests/%.c,$^)

BPF_SOURCES := $(wildcard kernel/bpf/*.[ch] kernel/bpf/*.sh $(foreach folder,compat linux net,kernel/bpf/include/$(folder)/*.h))
CTL_SOURCES := $(wildcard kernel/ctl/*.[ch])

.PHONY: bpf
bpf: packages-bpf $(MODEL_BUILD)/bpf/ndm.bpf.o build/ndmctl ## use: build NDM as a BPF program for every kernel with BTF, and ndmctl, which loads it

.PHONY: packages-bpf
packages-bpf:
	@/usr/bin/python3 setup/packages.py bpf

$(MODEL_BUILD)/bpf/ndm.bpf.o: $(BPF_SOURCES) $(USER_SOURCES) kernel/sources.sh $(EXPORTED)
	@kernel/bpf/build.sh $(@D)

build/ndmctl: $(CTL_SOURCES) $(BPF_SOURCES) $(USER_SOURCES)
	@mkdir -p build
	$(CC) -O2 -Wall -Wextra -Wno-sign-compare -D_GNU_SOURCE -Ikernel/user/include -Ikernel -Ikernel/bpf \
		$(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ kernel/ctl/*.c -lbpf -lelf -lcrypto

.PHONY: install-bpf
install-bpf: bpf ## use: install them with the models, a man page and a systemd unit; `make uninstall-bpf` removes them (root; DESTDIR=)
	@kernel/ctl/install.sh install
	@echo "installed: ndmctl load, or systemctl enable --now ndm; man ndmctl"

.PHONY: uninstall-bpf
uninstall-bpf: # remove the files of make install-bpf (root; DESTDIR=)
	@kernel/ctl/install.sh uninstall

.PHONY: deb
deb: ## ship: build the Debian packages ndm-tcp (BPF program, ndmctl) and ndm-tcp-dkms (module) into build/deb
	@/usr/bin/python3 setup/packages.py deb
	@packaging/debian/build.sh build/deb

.PHONY: export-weights
export-weights: .venv/installed ## train: write a run's int16 header, ONNX, model file and golden vectors (RUN=runs/NAME, default the latest; NAME=)
	@$(PYTHON) -m export $(if $(RUN),--run "$(RUN)") $(if $(NAME),--name "$(NAME)")

.PHONY: verify-model
verify-model: setup module ## train: prove that the exported weights cannot overflow
	@$(PYTHON) -m export.verify_model

.PHONY: bench-env
bench-env: setup module ## train: measure the speed of the environment: decisions and virtual seconds per second
	@$(PYTHON) -m studies.speed.environment

# processes, each with one thread on a core of its own
JOBS ?= 2
PYTEST := OMP_NUM_THREADS=1 $(PYTHON) -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

.PHONY: test-unit
test-unit: .venv/installed-dev ## test: the tests without lab, compiler and browser (a minute)
	@$(PYTEST) tests/unit

.PHONY: test
test: setup module bpf ## test: all tests without the sanitizer kernel, QEMU, Ray, a browser and studies (16 minutes; JOBS=8 on 8 cores)
	@/usr/bin/python3 setup/packages.py tests
	@$(PYTEST) tests/unit tests/lab tests/kernel

.PHONY: test-all
test-all: setup ray .venv/installed-docs .venv/installed-wheel module sanitizer vm-newest ## test: all tests but those of a release, as CI runs them
	@/usr/bin/python3 setup/packages.py tests slow
	@$(PYTEST) --sanitizer tests/unit tests/lab tests/kernel tests/slow

.PHONY: kunit
kunit: setup sanitizer module ## test: unit tests of the modules inside the sanitizer kernel
	@$(PYTHON) kernel/kunit/run.py

.PHONY: vm-kernel
vm-kernel: setup module bpf build/pulse .venv/installed-vm ## train: prepare the VM lab: QEMU, the distribution's kernels (unpacked, not installed), modules for them
	@/usr/bin/python3 setup/packages.py vm
	@$(PYTHON) -m env.lab.stock.kernel
	@NDM_MODEL_BUILD=build/test $(PYTHON) -m env.lab.stock.kernel >/dev/null

.PHONY: vm-newest
vm-newest: vm-kernel # prepare the newest kernel of Debian's backports for the VM lab (downloads it; Debian only)
	@/usr/bin/python3 setup/packages.py newest
	@$(PYTHON) -m kernel.ports.newest
	@NDM_MODEL_BUILD=build/test $(PYTHON) -m kernel.ports.newest >/dev/null

.PHONY: fuzz
fuzz: ## test: fuzz whatever reads foreign data, and the arithmetic, with ASan and UBSan (SECONDS=60 or RUNS= each)
	@$(MAKE) --no-print-directory -f kernel/fuzz/Makefile fuzz

.PHONY: lint
lint: setup .venv/installed-docs module ## test: ruff, mypy, import-linter, reuse, sparse, checkpatch, zizmor; generated files; stock kernels
	@/usr/bin/python3 setup/packages.py lint
	@! git grep --line-number --extended-regexp '^(<<<<<<<|>>>>>>>)( |$$)' # what a merge leaves
	@$(PYTHON) -m ruff check
	@$(PYTHON) -m ruff format --check
	@$(PYTHON) -m mypy
	@$(PYTHON) -c "from importlinter.cli import lint_imports_command as lint; lint()" --no-cache
	@$(PYTHON) -m reuse lint --lines
	@$(PYTHON) -c "from cffconvert.cli.cli import cli; cli()" --validate >/dev/null
	@$(MAKE) --no-print-directory generate CHECK=--check
	@kernel/lint.sh
	@"$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("scripts"))')/zizmor" --offline --no-progress --quiet --strict-collection .github/workflows

CHECK ?=

.PHONY: generate
generate: .venv/installed ## test: rewrite the generated files, which CONTRIBUTING.md lists (CHECK=--check: compare only)
	@$(PYTHON) -m env.schema $(CHECK)
	@$(PYTHON) -m export.integer.tables $(CHECK)
	@$(PYTHON) -m export.formats.golden $(CHECK)
	@$(PYTHON) -m export.formats.manifest $(CHECK)
	@$(PYTHON) -m env.network.traces catalogue $(CHECK)
	@$(PYTHON) -m studies.reference $(CHECK)
	@$(PYTHON) -m studies.leaderboard $(CHECK)
	@$(PYTHON) -m studies.leaderboard.card $(CHECK)

.PHONY: ports
ports: setup ## test: build the modules for arm64 and the newest kernel, without a warning (downloads headers; Debian only)
	@/usr/bin/python3 setup/packages.py ports
	@$(PYTHON) -m kernel.ports.build

.PHONY: format
format: .venv/installed-dev ## test: format the Python sources
	@$(PYTHON) -m ruff format
	@$(PYTHON) -m ruff check --fix

.PHONY: clean
clean: ## test: delete built and exported files (not the lab kernel's cache, runs or results)
	@rm -rf build .mypy_cache .ruff_cache .pytest_cache
