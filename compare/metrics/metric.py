"""What a metric is, and units that all metrics use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BYTES_PER_MB = 1e6
BITS_PER_MBIT = 1e6


@dataclass(frozen=True)
class Metric:
    """A metric. better: 1 when more is better, -1 when less is, 0 for neither. meaning: a caption for tables."""

    name: str
    unit: str
    title: str
    better: int
    meaning: str
