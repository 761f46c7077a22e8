"""The published figures of the earlier tests: they are complete and agree with each other."""

from __future__ import annotations

import csv
from collections import defaultdict

import pytest

from compare.published.runs import FIGURES, PublishedRun, load_published
from env.network.scenario import load_scenario

RUNS = load_published()
MIB_TO_MBIT = 2**20 * 8 / 1e6


def test_published_runs_are_complete_and_as_long() -> None:
    runs = defaultdict(list)
    for run in RUNS:
        assert load_scenario(run.scenario).duration_s == run.tested_s
        runs[run.scenario].append(run.scheme)
    assert runs["stress"] == runs["delay_moderate"] == ["ndm_v1", "cubic", "reno", "bbr"]
    assert runs["delay_extreme"] == ["ndm_v1", "cubic", "reno", "reno", "bbr"]
    assert runs["fiber"] == ["ndm_v1", "cubic", "reno"]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.scenario}-{run.scheme}-{run.run}")
def test_published_transfer_and_bitrate_say_the_same(run: PublishedRun) -> None:
    assert run.sender_mib * MIB_TO_MBIT / run.tested_s == pytest.approx(run.sender_mbps, rel=0.006)
    assert run.receiver_mib * MIB_TO_MBIT / (run.duration_s or run.tested_s) == pytest.approx(
        run.receiver_mbps, rel=0.01
    )


def test_tables_of_seconds_add_up_to_figures() -> None:
    with (FIGURES.parent / "intervals.csv").open() as file:
        rows = list(csv.DictReader(file))
    for run in RUNS:
        of_run = [row for row in rows if (row["scenario"], row["scheme"]) == (run.scenario, run.scheme)]
        if run.scenario not in ("stress", "fiber"):
            assert not of_run  # the article on delay has no tables
            continue
        assert [int(row["from_s"]) for row in of_run] == list(range(int(run.tested_s)))
        assert sum(int(row["retransmits"]) for row in of_run) == run.retransmits
        assert sum(float(row["transfer_mib"]) for row in of_run) == pytest.approx(run.sender_mib, rel=0.01)
        assert sum(float(row["bitrate_mbps"]) == 0 for row in of_run) == run.zero_intervals
