"""Paths and scenarios: what can be built, and what is refused before anything runs."""

from __future__ import annotations

from pathlib import Path as FilePath

import pytest

from env.network import scenario as scenarios
from env.network.endpoints import low_water_bytes
from env.network.links import bottleneck_commands
from env.network.path import Path, PathError
from env.network.scenario import ScenarioError, load_scenario, scenario_names


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("rate_mbps", -1.0, "rate_mbps is -1; it must lie between 0.01"),
        ("rate_mbps", float("nan"), "rate_mbps is nan; it must be a number"),
        ("rtt_ms", -0.5, "rtt_ms is -0.5"),
        ("loss_pct", 101.0, "loss_pct is 101"),
        ("jitter_ms", "much", "jitter_ms is 'much'"),
        ("topology", "star", "one of router, loopback"),
        ("qdisc", "pie", "one of pfifo, fq_codel"),
        ("tc", ("tc qdisc add dev lo root netem delay 1ms",), "for topology loopback"),
    ],
)
def test_a_path_that_cannot_be_built_is_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(PathError, match=message):
        Path.from_dict({field: value})


@pytest.mark.parametrize(
    ("tc", "message"),
    [
        ((), "needs its tc commands"),
        (("ip link set lo down",), "no tc command for lo"),
        (("tc qdisc add dev eth0 root netem",), "no tc command for lo"),
        (("tc qdisc add dev lo root netem delay -5ms",), "delay -5ms .* is negative"),
    ],
)
def test_loopback_commands_are_checked(tc: tuple[str, ...], message: str) -> None:
    with pytest.raises(PathError, match=message):
        Path(topology="loopback", tc=tc)


def test_unknown_fields_list_the_right_ones() -> None:
    with pytest.raises(PathError, match="'bandwidth' is no field of a path; the fields are topology, rate_mbps"):
        Path.from_dict({"bandwidth": 20})


def test_dictionaries_are_lossless() -> None:
    path = Path(rate_mbps=3, rtt_ms=17, buffer_bdp=0.3, loss_pct=1.5, jitter_ms=2)
    assert Path.from_dict(path.as_dict()) == path


@pytest.mark.parametrize(("rate_mbps", "buffer_bdp", "packets"), [(20, 1, 67), (20, 8, 529), (1, 0.25, 4)])
def test_buffers_count_full_packets_and_at_least_four(rate_mbps: float, buffer_bdp: float, packets: int) -> None:
    assert Path(rate_mbps=rate_mbps, rtt_ms=40, buffer_bdp=buffer_bdp).buffer_packets == packets


def test_the_bottleneck_has_one_queue_with_an_explicit_limit() -> None:
    commands = bottleneck_commands(Path(rate_mbps=20, rtt_ms=40, loss_pct=1), "out", "back")
    assert "netem limit 1000000 delay 20.000ms loss 1%" in commands[0]
    assert "rate 20000000bit" in commands[2]
    assert commands[3].endswith("pfifo limit 67")
    assert commands[4] == "qdisc add dev back root handle 1: netem limit 1000000 delay 20.000ms"


def test_low_water_follows_the_rate_within_bounds() -> None:
    assert low_water_bytes("loopback", 20) == 0
    assert low_water_bytes("router", 0.1) == 1 << 16
    assert low_water_bytes("router", 10) == 625_000
    assert low_water_bytes("router", 10_000) == 1 << 20


def test_every_scenario_loads_and_begins_with_its_launch_command() -> None:
    names = scenario_names()
    assert {"stress", "fiber", "delay_extreme", "delay_moderate", "bottleneck"} <= set(names)
    for name in names:
        scenario = load_scenario(name)
        assert scenario.name == name
        first = (scenarios.FOLDER / f"{name}.yaml").read_text().splitlines()[0]
        assert first == f"# python compare.py scenario={name}"


def test_the_published_tests_are_as_published() -> None:
    assert load_scenario("stress").network_path().tc == (
        "tc qdisc add dev lo root handle 1: htb default 1 r2q 50",
        "tc class add dev lo parent 1: classid 1:1 htb rate 20mbit ceil 20mbit",
        "tc qdisc add dev lo parent 1:1 handle 10: netem delay 20ms 50ms distribution normal loss 0.5% 0.2% "
        "duplicate 0.1% reorder 0.1% 50%",
    )
    durations = {
        name: load_scenario(name).duration_s for name in ("stress", "fiber", "delay_extreme", "delay_moderate")
    }
    assert durations == {"stress": 40, "fiber": 10, "delay_extreme": 40, "delay_moderate": 60}


def test_unknown_scenarios_get_near_matches() -> None:
    with pytest.raises(ScenarioError, match="scenario 'stres' is unknown: did you mean stress"):
        load_scenario("stres")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("path: {rate_mbps: 20, rtt_ms: -3}\nduration_s: 5", "rtt_ms is -3"),
        ("path: {qdisc: pie}\nduration_s: 5", "qdisc 'pie' is unknown"),
        ("path: {}\nduration_s: -5", "duration_s is -5; it must be positive"),
        ("path: {}\nduration_s: soon", "duration_s"),
        ("path: {}\nduration_s: 5\nlength: 3", "length"),
        ("path: {}\nduration_s: 5\nflows: [{scheme: cubic}]", "no flow has the scheme under_test"),
        ("path: {}\nduration_s: 5\nflows: [{start_s: 9}]", "does not lie within the run of 5 s"),
    ],
)
def test_a_bad_scenario_is_refused(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    (tmp_path / "bad.yaml").write_text(f"name: bad\nclaim: none\n{text}\n")
    monkeypatch.setattr(scenarios, "FOLDER", tmp_path)
    with pytest.raises(ScenarioError, match=message):
        load_scenario("bad")
