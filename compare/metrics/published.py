"""The published figures: datasets/published/, with their source."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from compare.errors import CompareError
from env.checkout import DATASETS

FIGURES = DATASETS / "published" / "figures.yaml"


@dataclass(frozen=True)
class PublishedRun:
    """One published run. Bitrates in Mbit/s; transfers in MiB; zero_intervals None: not published."""

    scenario: str
    scheme: str
    run: int
    tested_s: float
    sender_mbps: float
    receiver_mbps: float
    sender_mib: float
    receiver_mib: float
    retransmits: int
    duration_s: float | None = None
    zero_intervals: int | None = None

    def figures(self) -> list[tuple[str, str, float]]:
        """Return (what it is called, the metric that it stands beside, value) for every figure with a counterpart."""
        figures = [
            ("goodput, receiver side", "goodput", self.receiver_mbps),
            ("bitrate, sender side", "goodput", self.sender_mbps),
            ("retransmits", "retransmits", float(self.retransmits)),
        ]
        if self.zero_intervals is not None:
            figures.append(("zero seconds", "zero_seconds", float(self.zero_intervals)))
        return figures


def load_published(file: Path = FIGURES) -> list[PublishedRun]:
    """Read all published runs; raises CompareError when the file is missing or not as it should be."""
    try:
        tests: list[dict[str, Any]] = yaml.safe_load(file.read_text())
        return [
            PublishedRun(scenario=test["scenario"], tested_s=test["tested_s"], **run)
            for test in tests
            for run in test["runs"]
        ]
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise CompareError(f"{file}: published figures cannot be read: {error}") from error
