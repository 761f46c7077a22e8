"""The table of `make -C studies bench`, and what it refuses before it measures."""

from __future__ import annotations

from pathlib import Path

import pytest

from env.errors import UserError
from studies.speed import revisions
from studies.speed.revision_measure import Measured
from studies.speed.revisions import Pair, checkout, main, row


def test_row_has_the_medians_and_the_median_of_the_ratios() -> None:
    """The second pair was measured on a busy machine: it moves neither the ratio nor the medians."""
    pairs = [
        Pair(Measured(4.0, "us", "a"), Measured(2.0, "us", "a")),
        Pair(Measured(9.0, "us", "a"), Measured(4.4, "us", "a")),
        Pair(Measured(4.2, "us", "a"), Measured(2.2, "us", "a")),
    ]
    assert row("packet", pairs)[1:] == ["us", "4.2", "2.2", "0.50", "0.49 to 0.52", "yes"]


def test_row_says_when_results_differ_in_one_pair() -> None:
    same, other = Measured(1.0, "us", "a"), Measured(1.0, "us", "b")
    assert row("packet", [Pair(same, same), Pair(same, other)])[-1] == "no"
    assert row("boot", [Pair(Measured(1.0, "s"), Measured(1.0, "s"))])[-1] == ""


def test_unknown_revision_is_an_error_that_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match="nosuch"):
        checkout("nosuch")
    assert main(["--old", "nosuch", "--only", "packet"]) == 1
    assert "nosuch" in capsys.readouterr().err


def test_unknown_measurement_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "packets"])
    assert "packet" in capsys.readouterr().err


def test_command_that_takes_too_long_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revisions, "TIMEOUT_S", 0.1)
    with pytest.raises(UserError, match=r"sleep 5 took more than .* minutes in "):
        revisions.output_of(["sleep", "5"], tmp_path)
