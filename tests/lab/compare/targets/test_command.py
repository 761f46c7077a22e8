"""The command compare.py targets=..., on the real lab."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from compare.command.targets import draw_targets
from tests.support.commands import compare

OPTIONS = ["targets=[fairness,changes]", "schemes=[ndm]", "seeds=1", "duration_s=8"]


def test_targets_are_measured_continued_and_drawn_again(tmp_path: Path) -> None:
    output, _ = compare(*OPTIONS, f"output_dir={tmp_path}")
    last = output.splitlines()[-1]
    assert last.startswith("targets met by ndm: ")
    assert " of 9: " in last
    rows = list(csv.DictReader((tmp_path / "targets.csv").open()))
    assert {row["target"] for row in rows} == {"fairness", "changes"}
    # bbr is measured where it gives a threshold
    assert {row["scheme"] for row in rows if row["target"] == "changes"} == {"ndm", "bbr"}
    assert {row["scheme"] for row in rows if row["target"] == "fairness"} == {"ndm"}
    for row in rows:
        assert (row["n"], row["failed"]) == ("1", "0"), row
        assert math.isfinite(float(row["figure"]))
        assert row["met"] in ("yes", "no")
    up = {row["scenario"]: float(row["figure"]) for row in rows if row["requirement"] == "up"}
    # a model that never answers counts all round trips of 40 ms until the next step or the end
    assert 0 <= up["change/rate_up"] <= 5 / 0.04
    assert 0 <= up["change/rate_steps"] <= 8 / 6 / 0.04
    shares = {row["requirement"]: float(row["figure"]) for row in rows if row["scenario"] == "compete/cubic_1v1"}
    # both shares are of half the link
    assert 0.5 < shares["beside_cubic"] + shares["left_to_cubic"] <= 2.1
    report = (tmp_path / "changes" / "report.html").read_text()
    assert "Target changes: every scheme" in report
    text = (tmp_path / "targets.md").read_text()

    again, _ = compare(*OPTIONS, f"output_dir={tmp_path}")
    assert "virtual seconds in" not in again
    assert again.splitlines()[-1] == last
    assert draw_targets(tmp_path) == 0
    assert (tmp_path / "targets.md").read_text().split("targets met")[0] == text.split("targets met")[0]
