"""The tables of one flow on the terminal: what a person wants to know, in one table, at 80 columns."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from compare.command.progress import terminal
from compare.experiment.experiment import plan
from compare.experiment.run_files import pack
from compare.experiment.store import Store
from compare.metrics.cells import read_cells
from compare.report import render_markdown, render_report
from compare.report.terminal import print_tables
from compare.statistics.estimates import estimate
from compare.statistics.numbers import interval, number
from tests.support.report import comparison
from tests.support.results import recorded

CLOSE = (0.998, 0.9981, 0.9983)  # of three seeds: their interval and their means differ in the fourth digit only


def made(folder: Path, seeds: int = 3, failed: bool = False) -> Store:
    """Runs of two schemes whose goodputs read alike in three digits."""
    store = Store(folder)
    experiment = plan(["bottleneck"], ["cubic", "ndm"], seeds, None, 50)
    with store.claim(experiment):
        for run in experiment.runs():
            if failed and run == experiment.runs()[-1]:
                store.save_error(run, "LabError: the guest panicked")
                continue
            result = recorded()
            flow = result.flows[0]
            share = CLOSE[run.seed - 1] * (1.0 if run.scheme.name == "cubic" else 1.0006)
            flow.received_bytes = int(flow.received_bytes * share)
            flow.receiver.rows[:, flow.receiver.columns.index("bytes")] *= share
            store.save(run, pack(result))
    return store


def printed(store: Store, width: int = 80) -> str:
    text = io.StringIO()
    print_tables(Console(file=text, width=width), comparison(store))
    return text.getvalue()


def test_eighty_columns_have_one_table_and_two_lines(tmp_path: Path) -> None:
    text = printed(made(tmp_path))
    assert text.count("scheme") == 1
    rows = [line.split() for line in text.splitlines()]
    assert next(row for row in rows if row[:1] == ["scheme"])[:5] == ["scheme", "Mbit/s", "ms", "ms", "1/MB"]
    assert "cwnd" not in text
    assert "cwnd" in printed(made(tmp_path / "wide"), width=120)
    below = text[text.rindex(" \n") :].split("\n")
    assert len([line for line in below if line.strip()]) <= 2


def test_a_failed_run_stands_in_the_table(tmp_path: Path) -> None:
    assert "failed" not in printed(made(tmp_path / "good"))
    assert "1 failed" in printed(made(tmp_path / "bad", failed=True))


def test_few_seeds_say_what_more_would_show(tmp_path: Path) -> None:
    text = printed(made(tmp_path, seeds=1))
    assert "1 seed; from seeds=3 on" in text
    assert "±" not in text


def test_a_winner_never_reads_like_a_loser(tmp_path: Path) -> None:
    store = made(tmp_path)
    shown = comparison(store)
    means = {cell.scheme.name: estimate(cell.values["goodput"]).mean for cell in read_cells(shown.experiment, store)}
    assert number(means["ndm"]) == number(means["cubic"])
    texts = {name: number(mean, 4) for name, mean in means.items()}
    assert texts["ndm"] != texts["cubic"]
    terminal = printed(store)
    assert f"*{texts['ndm']}" in terminal
    assert f" {texts['cubic']}" in terminal
    assert f"**{texts['ndm']}** (" in render_markdown(shown)
    assert f">{texts['cubic']}<small>" in render_report(shown)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((18.70, 18.71, 18.72), "±0.0083"),
        ((17.0, 18.0, 20.0), "17.3 to 20"),
        ((18.7, 18.7, 18.7), "no spread"),
        ((18.7, 18.8), "2 runs: no interval"),
    ],
)
def test_interval_never_reads_from_a_value_to_itself(values: tuple[float, ...], text: str) -> None:
    assert interval(estimate(values)) == text


def test_columns_of_the_environment_set_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert terminal().width == 120
    monkeypatch.setenv("COLUMNS", "80")
    assert terminal().width == 80
