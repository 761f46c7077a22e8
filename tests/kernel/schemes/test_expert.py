"""tcp_expert.ko: a congestion control does the same watched and unwatched; the inputs are those that NDM would have."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from env.lab import Lab, Observation, Reply
from env.lab.reports import kernel_log
from env.network.path import Path
from tests.support.guest import shell
from tests.support.labs import checked_lab, shared_lab

SCHEME = "/sys/module/tcp_expert/parameters/scheme"
CALLBACKS = "/sys/module/tcp_expert/parameters/callbacks"
AVAILABLE = "/proc/sys/net/ipv4/tcp_available_congestion_control"
TRACED = re.compile(r"decision=(\d+) x=([-\d,]+)")
# fast recoveries, time-outs, and both of them undone
LOSSY = Path(rate_mbps=20, rtt_ms=40, buffer_bdp=1, loss_pct=0.5, jitter_ms=4)
BAD = Path(rate_mbps=20, rtt_ms=40, buffer_bdp=0.5, loss_pct=5, loss_burst_packets=8, jitter_ms=10)
MARKING = Path(rate_mbps=20, rtt_ms=40, buffer_bdp=2, qdisc="red", ecn=True)


@dataclass
class Run:
    """One run: what was told of it while it went on, and its result."""

    observations: list[Observation]
    result: dict[str, Any]

    def bytes(self) -> str:
        """Everything that the run left but for the schemes' names and the trace."""
        flows = [{name: value for name, value in flow.items() if name != "scheme"} for flow in self.result["flows"]]
        left = {name: value for name, value in self.result.items() if name != "trace"}
        return json.dumps(left | {"flows": flows}, sort_keys=True)


def play(lab: Lab, schemes: list[str], path: Path = LOSSY, duration_s: float = 15.0) -> Run:
    """Run flows side by side, always as the first run of a lab, and answer whoever asks."""
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


lab = shared_lab(
    *("tcp_ndm", "tcp_nv", "tcp_window", "tcp_expert"),
    setup="echo 16 >/sys/module/tcp_window/parameters/packets",
)


@pytest.mark.parametrize("scheme", ["cubic", "bbr", "illinois", "nv", "cwnd_16"])
def test_a_watched_scheme_leaves_the_same_bytes(lab: Lab, scheme: str) -> None:
    alone, watched = play(lab, [scheme, "cubic"]), play(lab, [expert(lab, scheme), "cubic"])
    assert watched.bytes() == alone.bytes()
    assert not alone.observations
    assert [seen.decision for seen in watched.observations] == list(range(len(watched.observations)))
    assert len(watched.observations) > 200


@pytest.mark.parametrize(
    ("path", "first_drain"), [(LOSSY, 16), (BAD, None), (MARKING, 32)], ids=["lossy", "bad", "marking"]
)
def test_the_inputs_are_those_that_ndm_has_itself(lab: Lab, path: Path, first_drain: int | None) -> None:
    run = play(lab, [expert(lab, "ndm")], path)
    traced = [TRACED.search(line) for line in run.result["trace"]]
    expected = [tuple(int(x) for x in match[2].split(",")) for match in traced if match]
    assert len(expected) > 100
    # from the first drain on NDM's own measurements know of the standing queue, which no expert looks for
    told = len(expected) if first_drain is None else first_drain + 2
    assert [seen.features for seen in run.observations][:told] == expected[:told]
    assert len(run.observations) == len(expected)


@pytest.mark.parametrize(
    ("scheme", "path"), [("bbr", LOSSY), ("bbr", BAD), ("ndm", MARKING)], ids=["lossy", "bad", "marking"]
)
def test_callbacks_tell_what_cong_control_is_told(scheme: str, path: Path) -> None:
    """How a scheme without cong_control() is measured, tried on those that have it."""
    told = []
    for callbacks in (0, 1):
        with checked_lab("tcp_ndm", "tcp_expert") as running:
            shell(running, f"echo {callbacks} >{CALLBACKS}")
            told.append(play(running, [expert(running, scheme)], path, 10.0).observations)
    assert len(told[0]) > 100
    assert told[0] == told[1]


def test_flows_are_told_apart(lab: Lab) -> None:
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
def test_what_cannot_be_watched_is_refused_by_name(lab: Lab, scheme: str, why: str) -> None:
    before = shell(lab, f"cat {AVAILABLE}")
    assert lab.call("shell", command=f"echo '{scheme}' >{SCHEME}")["status"] != 0
    assert kernel_log(lab).splitlines()[-1].endswith(f"tcp_expert: scheme={scheme} is refused: {why}")
    assert shell(lab, f"cat {AVAILABLE}") == before


def test_nothing_stays_when_it_is_unloaded(variant: str) -> None:
    with checked_lab("tcp_nv", "tcp_expert", variant=variant, leaks=True) as running:
        flows = [expert(running, scheme) for scheme in ("cubic", "bbr", "nv")]
        play(running, flows, BAD, 5.0)
        # sockets that wait for their last timers hold the modules
        shell(running, "sleep 300; rmmod tcp_expert && rmmod tcp_nv")
        assert "expert" not in shell(running, f"cat {AVAILABLE}")
