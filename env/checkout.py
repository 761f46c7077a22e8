"""Where the checkout and its folders are. Standard library only: the guest imports this too."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "configs"
DATASETS = ROOT / "datasets"
DOCS = ROOT / "docs"
KERNEL = ROOT / "kernel"
BUILD = ROOT / "build"
RUNS = ROOT / "runs"
RESULTS = ROOT / "results"
