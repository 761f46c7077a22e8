"""Populations side by side: which seeds are compared, and what the export says of each run."""

from __future__ import annotations

from pathlib import Path

from export.pipeline import measure
from studies.learning.side_by_side import side_by_side
from tests.support.runs import made_up, rows, write_run
from training.sweeps.population import Population


def test_seeds_are_compared_and_refused_runs_marked(tmp_path: Path) -> None:
    plain = Population(
        "plain",
        (
            made_up(tmp_path / "plain-1", 1, [0.25] * 5 + [1.0] * 5),
            made_up(tmp_path / "plain-2", 2, [0.5] * 10),
            made_up(tmp_path / "plain-3", 3, [], "failed: the guest died"),
        ),
    )
    other = Population(
        "lively",
        (
            made_up(tmp_path / "lively-2", 2, [0.75] * 10),
            made_up(tmp_path / "lively-3", 3, [1.0] * 10),
            made_up(tmp_path / "lively-4", 4, [1.0] * 10),
        ),
    )
    for run, scale in ((plain.runs[0], 1.0), (plain.runs[1], 1.0), (other.runs[0], 60.0)):
        write_run(run, scale=scale)
    small, large = (max(row.max_error_pct for row in measure(run).agreement) for run in (plain.runs[0], other.runs[0]))
    assert 0 < small < 0.5 < large
    head, _, *body = rows(side_by_side([plain, other]))
    assert head[4] == "last tenth less plain's"
    assert body == [
        ["plain", "1, 2, 3", "0.250, 0.500, –", "1.000, 0.500, –", "", f"{small:.4f}, {small:.4f}, –"],
        [
            "lively",
            "2, 3, 4",
            "0.750, 1.000, 1.000",
            "0.750, 1.000, 1.000",
            "+0.250, –, –",
            f"{large:.4f} (refused), –, –",
        ],
    ]
