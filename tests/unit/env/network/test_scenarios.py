"""The scenarios that ship, as a set."""

from __future__ import annotations

from env.network.path import Path
from env.network.scenario import load_scenario, scenario_names
from env.network.traces.format import load_trace
from studies.reference import scenarios


def test_the_page_has_each_claim_once() -> None:
    text = scenarios.render()
    assert "| loss/bursts | Losses in bursts of 5 packets" in text
    assert (
        "| loss/0_1pct, loss/0_5pct, loss/1pct, loss/2pct, loss/5pct | N % of random loss is not congestion, " in text
    )
    assert "and the 20 Mbit/s link stays full |" in text
    assert all(text.count(f" {name}") >= 1 for name in scenario_names())


def paths(folder: str) -> dict[str, Path]:
    names = [name for name in scenario_names() if name.startswith(f"{folder}/")]
    return {name.removeprefix(f"{folder}/"): load_scenario(name).network_path() for name in names}


def test_the_ranges_are_covered() -> None:
    delays = sorted(path.rtt_ms for path in paths("delay").values())
    assert (delays[0], delays[-1]) == (10, 500)
    losses = sorted(path.loss_pct for path in paths("loss").values() if path.loss_pct)
    assert (losses[0], losses[-1]) == (0.1, 5)
    rates = sorted(path.rate_mbps for path in paths("rate").values())
    assert (rates[0], rates[-1]) == (1, 1000)
    queues = paths("queue")
    assert {path.qdisc for path in queues.values()} >= {"pfifo", "fq_codel", "cake", "red", "step"}
    buffers = sorted(path.buffer_bdp for path in queues.values())
    assert (buffers[0], buffers[-1]) == (0.2, 8)
    unequal = [path.client_extra_rtt_ms for path in paths("compete").values() if path.clients > 1]
    assert sorted((20 + far) / 20 for _, far in unequal) == [2, 4, 8]


def test_scenarios_use_traces_that_no_training_sees() -> None:
    traces = {
        path.trace for name in scenario_names() if (path := load_scenario(name).network) and isinstance(path, Path)
    }
    used = traces - {""}
    assert used
    assert all(trace.startswith(("held_out/", "recorded/")) for trace in used)
    assert all(load_trace(trace).duration_ms >= 30_000 for trace in used)
