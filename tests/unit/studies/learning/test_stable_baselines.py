"""The table and the command line of the comparison with Stable-Baselines3."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.learning.precision import Means
from studies.learning.stable_baselines import Row, main, table


def test_row_has_both_results_side_by_side() -> None:
    row = Row("a", "stress", Means(17.251, 40.5, 0.8), Means(9.5, 3.125, 0.61))
    assert table([row]).splitlines()[2:] == ["| a | stress | 17.25 | 9.50 | 40.50 | 3.12 | 0.800 | 0.610 |"]


def test_wrong_words_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([str(tmp_path / "nix")]) == 1
    assert "baseline: there is no run" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([str(tmp_path), "--seeds", "0"])
    assert "seeds is 0" in capsys.readouterr().err
