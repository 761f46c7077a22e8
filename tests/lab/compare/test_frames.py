"""compare() from Python: data frames, time series and figures; and the examples of the documentation."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from compare import compare
from env.checkout import DOCS
from env.errors import UserError
from tests.support.commands import run_python


def test_comparison_returns_its_runs_as_frames(tmp_path: Path) -> None:
    result = compare("loss/1pct", ["ndm", "cubic"], seeds=3, duration_s=3, output_dir=str(tmp_path / "results"))
    goodput = result.runs[result.runs.metric == "goodput"].groupby("scheme").value
    mean = result.summary[result.summary.metric == "goodput"].set_index("scheme")["mean"]
    assert list(goodput.count()) == [3, 3]
    assert {name: round(value, 3) for name, value in goodput.mean().items()} == {
        name: round(value, 3) for name, value in mean.items()
    }
    assert result.failed.empty
    assert {"ndm", "cubic"} == set(result.comparisons.scheme_a) | set(result.comparisons.scheme_b)
    series = result.series("ndm", seed=2)
    assert series.t_s.iloc[-1] == pytest.approx(3, abs=0.1)
    assert series.cwnd.min() >= 2
    assert result.series("NDM", seed=2).equals(series), "the label names the scheme too"
    figures = result.figures()
    assert len(figures) > 3
    assert not re.search('olor":"(ink|soft|surface)"', figures[0].to_json()), "the page's colours are replaced"
    assert "<table" in result._repr_html_()
    stored = compare("loss/1pct", ["ndm", "cubic"], seeds=3, duration_s=3, output_dir=str(tmp_path / "results"))
    assert stored.runs.equals(result.runs)
    for wrong, problem in (
        (lambda: result.series("bbr"), "scheme is 'bbr'; the comparison has ndm, cubic"),
        (lambda: result.series("ndm", seed=4), r"seed is 4; loss/1pct, ndm has results of \[1, 2, 3\]"),
        (lambda: result.series("ndm", flow=1), "has flows 0 to 0, not 1"),
        (lambda: result.plot("stress"), "scenario is 'stress'; the comparison has loss/1pct"),
    ):
        with pytest.raises(UserError, match=problem):
            wrong()


def test_list_of_values_is_a_sweep(tmp_path: Path) -> None:
    result = compare("bottleneck", "reno", seeds=1, duration_s=3, path={"rate_mbps": [5, 10]}, output_dir=str(tmp_path))
    goodput = result.runs[result.runs.metric == "goodput"].set_index("scenario").value
    assert 4 < goodput["bottleneck+rate_mbps=5"] < 5
    assert 8 < goodput["bottleneck+rate_mbps=10"] < 10


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"scenario": "botleneck"}, "did you mean bottleneck"),
        ({"schemes": "cubik"}, "did you mean cubic"),
        ({"sedes": 3}, "sedes is unknown: did you mean seeds"),
        ({"seeds": "many"}, "seeds is 'many'; it must be a whole number"),
        ({"targets": "all"}, "targets is for the command compare.py"),
        ({"path.rate_mbps": 5}, 'from Python it is path={"rate_mbps": 5}'),
        ({"path": {"rate_mbps": [5, 5]}}, "path.rate_mbps has the value 5 twice"),
        ({"path": {"rate_mbps": []}}, "path.rate_mbps has no value"),
    ],
)
def test_wrong_options_are_named(options: dict[str, object], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        compare(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(file.name for file in (DOCS / "examples").glob("*.py")))
def test_examples_print_what_they_say(name: str) -> None:
    printed, _ = run_python(str(DOCS / "examples" / name))
    values = {
        "lab.py": lambda: [float(printed.split()[0])],
        "comparison.py": lambda: [float(word) for line in printed.splitlines()[2:5] for word in line.split()[1:]],
    }[name]()
    assert values
    assert all(math.isfinite(value) and 1 < value < 20 for value in values)
