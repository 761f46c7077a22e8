"""tcp_expert.ko: watching a congestion control does not change it, and gives the inputs that NDM would have."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from env.lab import Lab, Observation, Reply
from env.network.path import Path
from env.schema import FEATURE_FRAC, FEATURES
from kernel.kunit.reports import kernel_log
from tests.support.guest import algorithms, shell
from tests.support.labs import checked_lab, shared_lab, traced_decisions

SCHEME = "/sys/module/tcp_expert/parameters/scheme"
CALLBACKS = "/sys/module/tcp_expert/parameters/callbacks"
# fast recoveries, time-outs, and both of them undone
LOSSY = Path(rate_mbps=20, rtt_ms=40, buffer_bdp=1, loss_pct=0.5, jitter_ms=4)
BAD = Path(rate_mbps=20, rtt_ms=40, buffer_bdp=0.5, loss_pct=5, loss_burst_packets=8, jitter_ms=10)
MARKING = Path(rate_mbps=20, rtt_ms=40, buffer_bdp=2, qdisc="red", ecn=True)


@dataclass
class Run:
    """One run: the observations that its experts sent, and its result."""

    observations: list[Observation]
    result: dict[str, Any]

    def bytes(self) -> str:
        """Return the result without the schemes' names and the trace."""
        flows = [{name: value for name, value in flow.items() if name != "scheme"} for flow in self.result["flows"]]
        rest = {name: value for name, value in self.result.items() if name != "trace"}
        return json.dumps(rest | {"flows": flows}, sort_keys=True)


def play(lab: Lab, schemes: list[str], path: Path = LOSSY, duration_s: float = 15.0) -> Run:
    """Run flows side by side with the same seed and answer their observations."""
    flows = [{"scheme": scheme, "start_s": 0.0, "duration_s": duration_s} for scheme in schemes]
    lab.begin_run(path, flows, duration_s, seed=7, sample_ms=10, trace=True)
    observations = []
    while not isinstance(frame := lab.receive(), Reply):
        observations.append(frame)
        lab.act(1.0, -1.0)  # which must not matter
    return Run(observations, frame.result)


def expert(lab: Lab, scheme: str) -> str:
    shell(lab, f"echo {scheme} >{SCHEME}")
    return f"expert_{scheme}"


WINDOW = "echo 16 >/sys/module/tcp_window/parameters/packets"
lab = shared_lab("tcp_ndm", "tcp_nv", "tcp_window", "tcp_expert", setup=WINDOW)


@pytest.mark.parametrize("scheme", ["cubic", "bbr", "illinois", "nv", "cwnd_16"])
def test_watched_scheme_leaves_the_same_bytes(lab: Lab, scheme: str) -> None:
    alone, watched = play(lab, [scheme, "cubic"]), play(lab, [expert(lab, scheme), "cubic"])
    assert watched.bytes() == alone.bytes()
    assert not alone.observations
    assert [seen.decision for seen in watched.observations] == list(range(len(watched.observations)))
    assert len(watched.observations) > 200


# what the network sees scaled in company (kernel/ndm/ndm_company.h), and the input without a queue, Q12
NO_QUEUE = {"rtt_ratio": 0, "inflight_ratio": 1 << FEATURE_FRAC}
QUEUES = {i: NO_QUEUE[field.name] for i, field in enumerate(FEATURES) if field.name in NO_QUEUE}


def as_measured(index: int, scaled: int, packets: int) -> float:
    """Return the queue, Q12, that the network sees as `scaled` in company, with a window of so many packets."""
    return (scaled - QUEUES[index]) / min(max(packets / 64, 1 / 2), 2)


@pytest.mark.parametrize(
    ("path", "first_drain"), [(LOSSY, 8), (BAD, 190), (MARKING, 8)], ids=["lossy", "bad", "marking"]
)
def test_observed_inputs_are_those_of_ndm(lab: Lab, path: Path, first_drain: int) -> None:
    run = play(lab, [expert(lab, "ndm")], path)
    decisions = traced_decisions(run.result["trace"])
    assert len(decisions) > 100
    # in its first drain NDM measures the standing queue and not the wait, as an expert does, which has no drains
    same = first_drain + 1
    for seen, decision in zip(run.observations[:same], decisions[:same], strict=True):
        different = {i for i in range(len(FEATURES)) if seen.features[i] != decision.x[i]}
        assert different <= QUEUES.keys()
        for i in different:
            queue = as_measured(i, seen.features[i], seen.cwnd)
            # the window of the trace has lost its fraction; each product was rounded down, up to 2 before the scale
            smallest, largest = (as_measured(i, decision.x[i], decision.cwnd + more) for more in (1, 0))
            assert smallest - 2 <= queue <= largest + 2
    # it ends a few intervals early that an expert does not
    assert len(run.observations) == pytest.approx(len(decisions), rel=0.01)


@pytest.mark.parametrize(
    ("scheme", "path"), [("bbr", LOSSY), ("bbr", BAD), ("ndm", MARKING)], ids=["lossy", "bad", "marking"]
)
def test_callbacks_measure_what_cong_control_measures(scheme: str, path: Path) -> None:
    """Schemes with cong_control() are measured as those without are, by callbacks."""
    observations = []
    for callbacks in (0, 1):
        with checked_lab("tcp_ndm", "tcp_expert") as running:
            shell(running, f"echo {callbacks} >{CALLBACKS}")
            seen = play(running, [expert(running, scheme)], path, 10.0).observations
            # pkts_acked() comes before NDM's answer to a mark, cong_control() after it
            observations.append([observation._replace(cwnd=0) for observation in seen])
    assert len(observations[0]) > 100
    assert observations[0] == observations[1]


def test_flows_are_kept_apart(lab: Lab) -> None:
    bbr, cubic = expert(lab, "bbr"), expert(lab, "cubic")
    observations = play(lab, [bbr, cubic, cubic]).observations
    flows = sorted({seen.flow for seen in observations})
    assert len(flows) == 3
    for flow in flows:
        of_flow = [seen for seen in observations if seen.flow == flow]
        assert [seen.decision for seen in of_flow] == list(range(len(of_flow)))
        assert all(after.delivered >= before.delivered for before, after in pairwise(of_flow))


@pytest.mark.parametrize(
    ("scheme", "why"),
    [
        ("vega", "this kernel has no such congestion control"),
        ("dctcp", "it needs ECN"),
        ("longer_than_8", "write the name of a congestion control, of 1 to 8 characters, once the module is loaded"),
        ("", "write the name of a congestion control, of 1 to 8 characters, once the module is loaded"),
    ],
)
def test_scheme_that_cannot_be_watched_is_refused(lab: Lab, scheme: str, why: str) -> None:
    before = algorithms(lab)
    assert lab.call("shell", command=f"echo '{scheme}' >{SCHEME}")["status"] != 0
    assert kernel_log(lab).splitlines()[-1].endswith(f"tcp_expert: scheme={scheme} is refused: {why}")
    assert algorithms(lab) == before


def test_nothing_stays_after_unloading(variant: str) -> None:
    with checked_lab("tcp_nv", "tcp_expert", variant=variant, leaks=True) as running:
        flows = [expert(running, scheme) for scheme in ("cubic", "bbr", "nv")]
        play(running, flows, BAD, 5.0)
        # sockets that still wait for their last timers keep the modules in use
        shell(running, "sleep 300; rmmod tcp_expert && rmmod tcp_nv")
        assert not any("expert" in name for name in algorithms(running))
