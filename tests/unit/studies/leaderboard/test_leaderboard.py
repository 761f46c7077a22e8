"""The leaderboard: its tables, stored scores, and the command line's refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from env.network.schemes import find_scheme
from studies.leaderboard.__main__ import main
from studies.leaderboard.judging import board_name
from studies.leaderboard.page import leaderboard, targets
from studies.leaderboard.stored_scores import Figure, Score, read_figures, read_scores, store


def score(scheme: str, mean: float, lo: float | None, hi: float | None, target: str = "loss") -> Score:
    return Score(target, scheme, scheme, "", mean, 0.1, lo, hi, 1, 1, 3, 0, "6.12.117", "a" * 40, "2026-11-27")


def figure(scheme: str, mean: float, verdict: str, scenario: str = "loss/1pct") -> Figure:
    margin = (mean - 90) / 90
    return Figure("loss", "used", scenario, scheme, "%", mean, 1.0, mean - 1, mean + 1, 3, "≥ 90", margin, verdict)


FIRST, LEVEL, LAST = score("a", 0.2, 0.1, 0.25), score("b", 0.15, 0.05, 0.2), score("c", -0.5, -0.6, -0.4)


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


def test_leaderboard_orders_by_mean_score() -> None:
    rows = leaderboard([LAST, FIRST, score("d", 0.3, 0.2, 0.4, "harm")]).splitlines()[2:5]
    assert "| a | – | 1 of 1 | 0.20 | – |" in rows, "a scheme without all targets has no mean score"
    rows = leaderboard([LAST, FIRST]).splitlines()[2:4]
    assert rows == ["| a | 0.200 | 1 of 1 | 0.20 |", "| c | -0.500 | 1 of 1 | -0.50 |"]


def test_targets_show_the_worst_scenario_and_the_best_peer_there() -> None:
    figures = [
        figure("ndm@mixed", 93, "yes"),
        figure("ndm@mixed", 85, "no", "loss/2pct"),
        figure("ndm@mixed", 80, "no", "loss/0_5pct"),
        figure("bbr", 94, "yes", "loss/0_5pct"),
        figure("cubic", 4, "no", "loss/0_5pct"),
        figure("mine", 99, "yes", "loss/0_5pct"),
    ]
    [row] = targets([score("bbr", 0, 0, 0), score("cubic", 0, 0, 0)], figures).splitlines()[2:]
    assert row == (
        "| `loss.used` | utilisation at least 90 % of the rate that loss leaves | 1 of 3 | "
        "loss/0_5pct: 80 (79 to 81) %; ≥ 90 | missed | bbr 94 (93 to 95) % |"
    )


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
