"""A congestion control of the user's own gets its row on the leaderboard."""

from __future__ import annotations

from pathlib import Path

from studies.leaderboard.__main__ import add
from studies.leaderboard.page import leaderboard
from studies.leaderboard.stored_scores import read_figures, read_scores
from tests.support.commands import compare

AIMD = Path("tests/support/own/tcp_aimd.c")


def test_own_scheme_gets_a_row_and_no_other_changes(tmp_path: Path) -> None:
    runs, stored = tmp_path / "runs", tmp_path / "board"
    options = ["targets=[loss]", "seeds=1", "duration_s=3", f"output_dir={runs}"]
    compare(*options, f"schemes=[mine@{AIMD},reno,cubic,bbr]")
    assert add(runs, ["mine"], stored) == ["mine"]
    [score] = read_scores(stored)
    assert (score.target, score.scheme, score.requirements, score.failed) == ("loss", "mine", 1, 0)
    assert -1 <= score.score <= 0.25
    assert len(read_figures(stored)) == 6
    alone = score

    assert set(add(runs, stored=stored)) == {"mine", "reno", "cubic", "bbr"}
    again = {one.scheme: one for one in read_scores(stored)}
    assert again["mine"] == alone, "each is judged beside the same three"
    text = leaderboard(read_scores(stored))
    assert "| mine |" in text
    assert str(AIMD) not in text
