"""The tables of the TCP-NV paper: they are complete, consistent, and refused when damaged."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from compare.errors import CompareError
from compare.report.tables.paper import TABLES, PublishedRow, load_tables

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


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((0, "columns", 4), "cwmd", "column cwmd is unknown"),
        ((0, "rows", 0, 0), 1001.0, 'exp is 1001.0; it must be a string such as "1025.10"'),
        ((0, "rows", 0, 0), "1002.0", "1002.0 appears twice"),
        ((0, "rows", 0, 4), "many", "table 1, 1001.0: cwnd is 'many'"),
        ((0, "rows", 0, 4), -1.0, "cwnd is -1"),
        ((0, "rows", 0), ["1001.0"], "has 1 fields, the table 9 columns"),
        ((1, "rows", 0, 7), 9999.0, "rate_min 9999 is above rate_max 4667"),
        ((3, "rows", 0, 10), 101.0, "retransPkts% is 101"),
        ((0, "title"), None, None),
    ],
)
def test_a_damaged_table_is_refused_by_name(
    tmp_path: Path, path: tuple[Any, ...], value: Any, message: str | None
) -> None:
    tables = yaml.safe_load(TABLES.read_text())
    place = tables
    for step in path[:-1]:
        place = place[step]
    if message is None:
        del place[path[-1]]
        message = "cannot be read.*title"
    else:
        place[path[-1]] = value
    file = tmp_path / "tcp_nv.yaml"
    file.write_text(yaml.safe_dump(tables))
    with pytest.raises(CompareError, match=message.replace("(", r"\(")):
        load_tables(file)
