"""tc and the traffic program, which stay from run to run: their errors are reported and do not affect the next run."""

from __future__ import annotations

import pytest

from env.lab import GuestFailed, Lab
from env.network.path import Path
from env.network.topology.links import MAX_LINES
from tests.support.guest import kill, pids
from tests.support.labs import shared_lab

NETEM = "tc qdisc add dev lo root netem delay 5ms 1ms loss 1%"
FLOW = {"scheme": "cubic", "start_s": 0, "duration_s": 1}


def loopback(*commands: str) -> Path:
    return Path(topology="loopback", reference_mbps=100, tc=commands)


lab = shared_lab()


def received(lab: Lab, path: Path) -> int:
    """Make a run with seed 7; return its bytes, which depend on every loss."""
    lab.begin_run(path, [FLOW], 1.0, seed=7)
    bytes_: int = lab.receive().result["flows"][0]["received_bytes"]
    return bytes_


@pytest.fixture(scope="module")
def expected(lab: Lab) -> int:
    return received(lab, loopback(NETEM))


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        (("tc qdisc add dev lo root netem delay soon",), 'delay soon\nIllegal "latency"'),
        ((NETEM, NETEM), "Exclusivity flag on, cannot modify"),
        (("tc qdisc add dev lo root nosuch",), "Specified qdisc kind is unknown"),
        (("tc qdisc add dev lo root tbf rate 1mbit",), 'the "burst" parameter is mandatory'),
        (("tc qdisc bring lo", NETEM), 'Command "bring" is unknown'),
    ],
)
def test_command_that_tc_refuses_is_reported(lab: Lab, expected: int, commands: tuple[str, ...], message: str) -> None:
    with pytest.raises(GuestFailed) as caught:
        lab.run(loopback(*commands), [FLOW], 1.0)
    assert "LinkError: h0: tc failed:\n" in str(caught.value)
    assert message in str(caught.value)
    assert received(lab, loopback(NETEM)) == expected


def test_tc_that_ended_is_replaced(lab: Lab, expected: int) -> None:
    kill(lab, "tc")
    with pytest.raises(GuestFailed, match=r"(?s)LinkError: h0: tc failed.*tc ended with -9"):
        lab.run(loopback(NETEM), [FLOW], 1.0)
    assert received(lab, loopback(NETEM)) == expected


def test_tc_that_grew_is_replaced_between_runs(lab: Lab, expected: int) -> None:
    """tc keeps four kilobytes of each command, which would fill a lab's memory after hours of training."""
    first = pids(lab, "tc")
    nothing = ["tc qdisc add dev lo root pfifo limit 5", "tc qdisc del dev lo root"]
    assert received(lab, loopback(*nothing * (MAX_LINES // 2), NETEM)) == expected
    assert pids(lab, "tc") == first, "tc was replaced within a run"
    assert received(lab, loopback(NETEM)) == expected
    second = pids(lab, "tc")
    assert second != first
    assert received(lab, loopback(NETEM)) == expected
    assert pids(lab, "tc") == second


def test_traffic_program_that_ended_is_replaced(lab: Lab, expected: int) -> None:
    kill(lab, "flow")
    with pytest.raises(GuestFailed, match=r"TrafficError: the traffic program failed \(-9\)"):
        lab.run(loopback(NETEM), [FLOW], 1.0)
    assert received(lab, loopback(NETEM)) == expected
    with pytest.raises(GuestFailed, match=r"the kernel has no congestion control nosuch; it has .*cubic"):
        lab.run(loopback(NETEM), [FLOW | {"scheme": "nosuch"}], 1.0)
    assert received(lab, loopback(NETEM)) == expected


def test_run_without_flows_is_refused(lab: Lab) -> None:
    with pytest.raises(GuestFailed, match="TrafficError: a run has no flows"):
        lab.run(Path(), [], 1.0)
