"""The guard: it takes a connection from a policy that does harm, and leaves the shipped model alone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from env.lab import Lab, RunResult
from env.network.path import Path
from env.network.scenario import load_scenario
from tests.support.guest import shell
from tests.support.labs import shared_lab
from tests.support.models import BAD_MODELS, put_models

pytestmark = pytest.mark.timeout(900)
FOLDER = "/sys/module/tcp_ndm/ndm"
PATH = Path(rate_mbps=20, rtt_ms=40, buffer_bdp=1)
GUARD_LINE = re.compile(r"ndm_guard: flow=\d+ verdict=(\d) cwnd=\d+ srtt_us=\d+ ca=ndm")
# The constant policies that do harm: verdict 1 is growth ("zero" grows by the window's addition alone), 2 starvation.
CAUGHT = {"highest": 1, "zero": 1, "grow": 1, "creep": 1, "shrink": 2}


lab = shared_lab("tcp_ndm", seed=5, both_kernels=True, timeout_s=400, setup=lambda lab: put_models(lab, BAD_MODELS))


def use(lab: Lab, model: str) -> None:
    shell(lab, f"echo {model} >{FOLDER}/model")


def counter(lab: Lab, name: str) -> int:
    return int(shell(lab, f"cat {FOLDER}/counters/{name}"))


def run(lab: Lab, *schemes: str, duration_s: float = 30.0, **options: Any) -> RunResult:
    """Flows that start 3 s apart and end together, over PATH."""
    flows = [
        {"scheme": scheme, "start_s": 3.0 * i, "duration_s": duration_s - 3.0 * i} for i, scheme in enumerate(schemes)
    ]
    return lab.run(PATH, flows, duration_s, seed=1, **options)


@pytest.fixture(scope="module")
def reno(lab: Lab) -> tuple[int, int]:
    """Bytes that reno gets alone, and that cubic gets beside it."""
    alone, beside = run(lab, "reno", sample_ms=0), run(lab, "cubic", "reno", sample_ms=0)
    return alone.flows[0].received_bytes, beside.flows[0].received_bytes


# in the sanitizer kernel a window that doubles in every round takes minutes; the next tests are enough there
@pytest.mark.parametrize("lab", ["lab"], indirect=True)
@pytest.mark.parametrize("name", BAD_MODELS)
def test_bad_model_leaves_cubic_its_share(lab: Lab, reno: tuple[int, int], name: str) -> None:
    """With -s it prints the table of docs/explanation/control-law.md, in Mbit/s."""
    use(lab, f"{name}.bin")
    before = counter(lab, "guard_interventions")
    alone = run(lab, "ndm", sample_ms=0).flows[0].received_bytes
    if name in CAUGHT:
        assert counter(lab, "guard_interventions") == before + 1
        assert alone > 0.9 * reno[0], "the connection is as good as Reno's"
    beside = run(lab, "cubic", "ndm", sample_ms=0)
    fell = counter(lab, "guard_interventions") - before
    shares = [alone, *(flow.received_bytes for flow in beside.flows)]
    print("".join(f"| {cell} " for cell in (name, *(f"{share * 8 / 30e6:.1f}" for share in shares), fell)) + "|")
    # beside Reno, Cubic gets 12.4 Mbit/s; without the guard it gets 2.3 beside "highest" and "grow"
    assert beside.flows[0].received_bytes > 0.65 * reno[1]


@pytest.mark.parametrize(("name", "verdict"), CAUGHT.items())
def test_guard_gives_the_connection_to_reno_for_good(lab: Lab, name: str, verdict: int) -> None:
    use(lab, f"{name}.bin")
    decisions = counter(lab, "decisions")
    shell(lab, "echo 1 >/sys/kernel/tracing/events/ndm/ndm_guard/enable")
    shell(lab, "echo >/sys/kernel/tracing/trace")
    result = run(lab, "ndm", sample_ms=100)
    interventions = GUARD_LINE.findall(shell(lab, "cat /sys/kernel/tracing/trace"))
    shell(lab, "echo 0 >/sys/kernel/tracing/events/ndm/ndm_guard/enable")
    assert interventions == [str(verdict)]
    asked = counter(lab, "decisions") - decisions
    assert 16 <= asked < 150, "of some 700 round trips"
    cwnd = result.flows[0].sender["cwnd"][-50:]
    assert 40 < cwnd.max() < 150, "a sawtooth below the 132 packets of BDP and buffer"
    assert (cwnd[1:] <= cwnd[:-1] + 5).all(), "one packet a round trip, of which there are one or two in 100 ms"


def test_next_model_gets_the_connection_back(lab: Lab) -> None:
    use(lab, "grow.bin")
    before, decisions = counter(lab, "guard_interventions"), counter(lab, "decisions")
    caught = f"[ $(cat {FOLDER}/counters/guard_interventions) -gt {before} ]"
    shell(lab, f"(until {caught}; do sleep 1; done; sleep 5; echo builtin >{FOLDER}/model) >/dev/null 2>&1 & true")
    run(lab, "ndm", duration_s=40.0, sample_ms=0)
    assert counter(lab, "guard_interventions") == before + 1
    assert shell(lab, f"cat {FOLDER}/model") == "builtin"
    assert counter(lab, "decisions") - decisions > 300


@pytest.mark.parametrize("lab", ["lab"], indirect=True)
@pytest.mark.parametrize("name", ["stress", "delay_extreme", "bottleneck", "fiber", "loss/2pct", "compete/cubic_1v1"])
def test_shipped_model_keeps_its_connections(lab: Lab, name: str) -> None:
    use(lab, "builtin")
    before = counter(lab, "guard_interventions")
    scenario = load_scenario(name)
    lab.run(scenario.network(), scenario.flows_with("ndm"), min(scenario.duration_s, 20), sample_ms=0, seed=2)
    assert counter(lab, "guard_interventions") == before
