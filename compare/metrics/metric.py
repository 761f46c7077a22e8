"""The Metric class, and what the functions of all metrics use."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BYTES_PER_MB = 1e6
BITS_PER_MBIT = 1e6


@dataclass(frozen=True)
class Metric:
    """A metric. better: 1 if more is better, -1 if less is, 0 if neither. meaning: a caption for tables."""

    name: str
    unit: str
    title: str
    better: int
    meaning: str


def finite_mean(values: Iterable[float]) -> float:
    """Return the mean of the finite values; NaN if there are none."""
    finite = [value for value in values if math.isfinite(value)]
    return float(sum(finite) / len(finite)) if finite else math.nan
