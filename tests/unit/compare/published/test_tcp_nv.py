"""The tables of the TCP-NV paper: they are complete and consistent."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict

import pytest

from compare.published.tcp_nv import PublishedRow, load_tables, published_values

ROWS = load_tables()
SCHEMES = ("reno", "cubic", "nv", "cdg")
FLOWS = {"nv/2s3c3fvr": {"1M": 12, "10K": 6}, "nv/2s3c5fr": {"1M": 24, "10K": 6}}
CLIENTS = 4  # of tables 4 to 6
# The paper's own slip: 308.6 us for the whole experiment, 169.0 and 160.5 us for its two sorts of flows.
SLIP = ("nv/2s3c3fvr", "nv", "rtt")


def experiments() -> list[list[PublishedRow]]:
    """The rows of each experiment and scheme, the whole experiment first."""
    by_experiment: dict[tuple[str, str], list[PublishedRow]] = defaultdict(list)
    for row in ROWS:
        by_experiment[row.scenario, row.scheme].append(row)
    return [sorted(rows, key=lambda row: row.group) for rows in by_experiment.values()]


def test_every_row_of_every_table_is_there() -> None:
    assert Counter(row.table for row in ROWS) == {1: 8, 2: 8, 3: 12, 4: 8, 5: 8, 6: 8, 7: 12}
    for rows in experiments():
        assert rows[0].group == ""
    for scenario in {row.scenario for row in ROWS}:
        assert {row.scheme for row in ROWS if row.scenario == scenario} == set(SCHEMES)
    assert Counter(row.group for row in ROWS) == {"": 36, "client": 12, "1M": 8, "10K": 8}
    assert {row.duration_s for row in ROWS if row.table == 7} == {300.0}
    assert {row.duration_s for row in ROWS if row.table != 7} == {None}


@pytest.mark.parametrize("rows", experiments(), ids=lambda rows: f"{rows[0].scenario[3:]}-{rows[0].scheme}")
def test_experiment_row_is_sum_or_mean_of_flows(rows: list[PublishedRow]) -> None:
    """Which rows are sums and which are means over flows is read off here, not assumed; it also finds a wrong digit."""
    whole, *parts = rows
    if not parts:
        assert "rate_min" not in whole.figures or whole.figures["rate"] == pytest.approx(
            whole.figures["rate_min"] + whole.figures["rate_max"], abs=1.5
        )
        return
    counts = FLOWS.get(whole.scenario, {"client": CLIENTS})
    assert [part.group for part in parts] == sorted(counts)
    weights = [counts[part.group] for part in parts]
    for name in ("rate", "retrans_total"):
        total = sum(n * part.figures[name] for n, part in zip(weights, parts, strict=True))
        assert total == pytest.approx(whole.figures[name], rel=0.001, abs=4), name
    for name in ("cwnd", "rtt", "mean_latency", "p99_latency"):
        mean = sum(n * part.figures[name] for n, part in zip(weights, parts, strict=True)) / sum(weights)
        slip = (whole.scenario, whole.scheme, name) == SLIP
        assert (mean == pytest.approx(whole.figures[name], rel=0.002)) is not slip, name


def test_figures_are_numbers_within_their_limits() -> None:
    for row in ROWS:
        figures = row.figures
        assert all(0 <= value < math.inf for value in figures.values()), row
        assert figures.get("rate_min", 0) <= figures.get("rate_max", math.inf), row
        assert figures.get("rate_max", 0) <= figures.get("rate", math.inf), row
        assert figures.get("retrans_pct", 0) <= 100, row


def test_experiments_are_strings_that_appear_once() -> None:
    numbers = [row.experiment for row in ROWS]
    assert len(set(numbers)) == len(numbers)
    assert all(re.fullmatch(r"\d{4}\.\d{1,2}", number) for number in numbers)


def test_values_stand_beside_both_packet_sizes() -> None:
    beside = [one for one in published_values(ROWS) if one.name == "1102.0"]
    assert [one.scenario for one in beside] == ["nv/1s2c1fr", "nv_frames/1s2c1fr"]
    assert beside[0].source == "table 2 of the TCP-NV paper, two clients and one flow per client"
