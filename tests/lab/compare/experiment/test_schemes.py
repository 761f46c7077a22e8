"""Schemes that need more than a name, in the lab: models side by side, rivals, and the oracle's search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compare.experiment.store import Store
from compare.experiment.window_search import SCOUTS, SEEDS
from tests.support.commands import compare


def results(folder: Path) -> dict[str, dict[str, Any]]:
    """Return run.json by scheme, of a comparison with one run per scheme."""
    store = Store(folder)
    runs = store.experiment().runs()
    return {run.scheme.name: json.loads((folder / store.run_name(run) / "run.json").read_text()) for run in runs}


def test_models_and_a_window_meet_a_rival(tmp_path: Path) -> None:
    schemes = "schemes=[ndm,ndm@untrained,window@50]"
    common = ["scenario=compete/cubic_1v1", "seeds=1", "duration_s=5", "jobs=1"]
    compare(*common, schemes, "rival=ndm@untrained-2", f"output_dir={tmp_path / 'rival'}")
    scenario = "compete/cubic_1v1+ndm@untrained-2"
    algorithms = {}
    beside_rival = results(tmp_path / "rival")
    for scheme, result in beside_rival.items():
        flows, models = result["flows"], result["environment"]["models"]
        assert [flow["scheme"] for flow in flows] == [scheme, "ndm@untrained-2"]
        assert all(flow["received_bytes"] > 50_000 for flow in flows)
        algorithms |= {flow["scheme"]: flow["algorithm"] for flow in flows}
        assert set(models) == {"ndm@untrained-2", scheme} - {"window@50"}
        assert len({facts["sha256"] for facts in models.values()}) == len(models), "two flows have the same model"
    assert len(set(algorithms.values())) == len(algorithms) == 4
    assert algorithms["window@50"] == "cwnd_50"
    assert {f"{scenario},{name}" for name in ("ndm", "ndm@untrained", "window@50")} <= {
        ",".join(line.split(",")[:2]) for line in (tmp_path / "rival" / "summary.csv").read_text().splitlines()
    }
    # the run does not depend on the other modules that are loaded
    compare(*common, "schemes=[ndm]", "rival=ndm@untrained-2", f"output_dir={tmp_path / 'alone'}")
    assert results(tmp_path / "alone")["ndm"] == beside_rival["ndm"]


def test_oracle_is_the_best_window_and_search_continues(tmp_path: Path) -> None:
    options = ["scenario=queue/shallow", "schemes=[oracle,cubic]", "seeds=1", "duration_s=5", f"output_dir={tmp_path}"]
    printed, _ = compare(*options)
    file = tmp_path / "oracle.json"
    text = file.read_text()
    entry = json.loads(text)["scenarios"]["queue/shallow"]
    means = {int(n): sum(tried.values()) / len(tried) for n, tried in entry["goodput_mbps"].items()}
    assert all(set(map(int, tried)) >= set(SEEDS[:SCOUTS]) for tried in entry["goodput_mbps"].values())
    best = entry["packets"]
    assert means[best] >= 0.99 * max(means.values())
    assert all(mbps < 0.99 * max(means.values()) for n, mbps in means.items() if n < best)
    # below the path's 166 packets goodput is proportional to the window
    assert 140 < best < 230
    assert means[8] == pytest.approx(8 / 4 * means[4], rel=0.1)
    assert f"oracle: {best} packets in queue/shallow; {len(means)} windows tried" in printed
    [flow] = results(tmp_path)["oracle"]["flows"]
    assert (flow["scheme"], flow["algorithm"]) == ("oracle", f"cwnd_{best}")
    assert json.loads((tmp_path / "environment.json").read_text())["oracle_packets"] == {"queue/shallow": best}

    assert f"{len(means)} windows tried, 0 virtual seconds" in compare(*options)[0], "the search ran again"
    assert file.read_text() == text
    # after Ctrl-C the figures of some runs are missing
    cut = json.loads(text)
    for packets in (1, 64, best):
        cut["scenarios"]["queue/shallow"]["goodput_mbps"][str(packets)].pop(str(SEEDS[1]))
    file.write_text(json.dumps(cut))
    compare(*options)
    assert file.read_text() == text

    file.write_text(text[: len(text) // 2])
    _, errors = compare(*options, status=1)
    assert "oracle.json is damaged" in errors
    assert len(errors.strip().splitlines()) == 1
