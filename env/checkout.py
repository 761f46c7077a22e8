"""Where the checkout and its folders are. Standard library only: the guest imports this too."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "configs"
DATASETS = ROOT / "datasets"
DOCS = ROOT / "docs"
KERNEL = ROOT / "kernel"
BUILD = ROOT / "build"
# exported models, and what is built with them: modules, libndm.so; the tests have a folder of their own
MODEL_BUILD = Path(os.environ.get("NDM_MODEL_BUILD") or BUILD).absolute()
RUNS = ROOT / "runs"
RESULTS = ROOT / "results"
