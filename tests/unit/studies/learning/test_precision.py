"""Float against int16: both sides meet the same network, so that what differs is the arithmetic alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.learning.precision import Means, Row, main, table


def test_table_has_means_and_largest_difference() -> None:
    rows = [
        Row("a", [Means(10, 1, 0.5), Means(12, 3, 0.7)], [Means(10, 1, 0.5), Means(11, 7, 0.6)]),
        Row("b", [Means(1, 1, 0.5)], [Means(3, 1, 0.25)]),
    ]
    assert table(rows).splitlines()[2:] == [
        "| a | 11.00 | 10.50 | 1.00 | 2.00 | 4.00 | 4.00 | 0.6000 | 0.5500 | 0.1000 |",
        "| b | 1.00 | 3.00 | 2.00 | 1.00 | 1.00 | 0.00 | 0.5000 | 0.2500 | 0.2500 |",
        "| **largest** |  |  | 2.00 |  |  | 4.00 |  |  | 0.2500 |",
    ]


def test_invalid_arguments_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([str(tmp_path / "nix")]) == 1
    assert "precision: there is no run" in capsys.readouterr().err
