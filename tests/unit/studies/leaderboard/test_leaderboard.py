"""The leaderboard: places, stored scores, and the command line's refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from env.network.schemes import find_scheme
from studies.leaderboard.__main__ import main
from studies.leaderboard.judging import board_name
from studies.leaderboard.page import board, place, published
from studies.leaderboard.stored_scores import Figure, Score, read_figures, read_scores, store


def score(scheme: str, mean: float, lo: float | None, hi: float | None, target: str = "loss") -> Score:
    return Score(target, scheme, scheme, "", mean, 0.1, lo, hi, 1, 1, 3, 0, "6.12.117", "a" * 40, "2026-11-27")


def figure(scheme: str, mean: float, verdict: str) -> Figure:
    return Figure("loss", "used", "loss/1pct", scheme, "%", mean, 1.0, mean - 1, mean + 1, 3, verdict)


FIRST, LEVEL, LAST = score("a", 0.2, 0.1, 0.25), score("b", 0.15, 0.05, 0.2), score("c", -0.5, -0.6, -0.4)


def test_overlapping_intervals_share_a_place() -> None:
    field = [FIRST, LEVEL, LAST]
    assert [place(one, field) for one in field] == [1, 1, 3]


def test_place_without_an_interval_counts_the_mean() -> None:
    field = [score("a", 0.2, None, None), score("b", 0.1, None, None)]
    assert [place(one, field) for one in field] == [1, 2]


def test_rows_of_a_scheme_are_replaced(tmp_path: Path) -> None:
    store([FIRST, LAST], [figure("a", 91, "yes"), figure("c", 50, "no")], tmp_path)
    newer = score("a", 0.1, 0.0, 0.2)
    store([newer], [figure("a", 90, "open")], tmp_path)
    assert read_scores(tmp_path) == [newer, LAST]
    assert [(one.scheme, one.mean, one.verdict) for one in read_figures(tmp_path)] == [
        ("a", 90, "open"),
        ("c", 50, "no"),
    ]


def test_scores_without_deviation_are_read_back(tmp_path: Path) -> None:
    lone = Score("loss", "a", "A", "", 0.125, None, None, None, 0, 1, 1, 0, "6.12.117", "b" * 40, "2026-11-27")
    store([lone], [], tmp_path)
    assert read_scores(tmp_path) == [lone]


def test_board_orders_by_mean_score() -> None:
    text = board([LAST, FIRST, score("d", 0.3, 0.2, 0.4, "harm")], [figure("a", 91, "yes")])
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert rows[2].startswith("| – |"), "a scheme without all targets has no place in the first table"
    assert "| 1 | a | 0.200 (0.100 to 0.250) |" in text
    assert "| 2 | c | -0.500 (-0.600 to -0.400) |" in text
    assert "Not measured for the leaderboard: `published`" in text


def test_published_figures_are_marked_and_sourced() -> None:
    rows = published().splitlines()[2:]
    assert rows
    for row in rows:
        assert "(theirs)" in row
        assert "](https://" in row


def test_models_and_own_schemes_have_short_names() -> None:
    assert board_name(find_scheme("ndm@datasets/models/mixed"), {}) == "ndm@mixed"
    assert board_name(find_scheme("mine@some/where/tcp_mine.c"), {}) == "mine"
    assert board_name(find_scheme("ndm"), {"ndm": {"name": "mixed"}}) == "ndm@mixed"


def test_folder_without_targets_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["add", str(tmp_path)]) == 1
    assert "holds no targets: give the output_dir of a comparison with targets=" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["enter", "cubik"], "did you mean cubic?"),
        (["enter", "cubic", "--targets", "los"], "did you mean loss?"),
        (["enter", "cubic", "--targets", "development"], "target 'development' is not ranked"),
    ],
)
def test_wrong_name_is_refused_at_once(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 1
    assert message in capsys.readouterr().err
