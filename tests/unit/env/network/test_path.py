"""Paths and scenarios: what can be built, and what is refused before anything runs."""

from __future__ import annotations

from pathlib import Path as FilePath

import pytest

from env.errors import UserError
from env.network import scenario as scenarios
from env.network.path import Path
from env.network.scenario import load_scenario, scenario_names
from env.network.traces.format import load_trace
from env.network.traffic.endpoints import low_water_bytes


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
        ("loss_burst_packets", 0.5, "loss_burst_packets is 0.5; it must lie between 1 and 10000"),
        ("loss_burst_packets", 3, "loss_pct is 0; with loss_burst_packets it must lie above 0"),
        ("police_mbps", 5, "police_mbps is 5, police_burst_kb 0; a policer needs both"),
        ("jitter_reorders", False, "jitter_reorders is false, but jitter_ms is 0"),
        ("jitter_reorders", "no", "jitter_reorders is 'no'; it must be true or false"),
        ("reorder_gap", 5, "reorder_gap need reorder_pct above 0"),
        ("reorder_gap", 2.5, "reorder_gap is 2.5; it must be a whole number from 1 to 10000"),
        ("ack_buffer_packets", 0, "ack_buffer_packets is 0; it must lie between 1"),
        ("ecn", True, "ecn is true, but qdisc pfifo marks nothing; fq_codel, cake, red and step do"),
        ("qdisc", "step", "mark_ms is 0 with qdisc step"),
        ("mark_ms", 5, "mark_ms is 5 with qdisc pfifo"),
        ("client_extra_rtt_ms", (0, -5), "client_extra_rtt_ms is -5"),
        ("client_extra_rtt_ms", (0,) * 33, "client_extra_rtt_ms has 33 clients; at most 32 are possible"),
        ("trace", "held_out/lte", "trace 'held_out/lte' is unknown: did you mean held_out/lte-"),
        ("trace", 5, "trace is 5; it must be the name"),
        ("steps", ({"at_s": 3},), "the step at 3 s changes nothing; it may change rate_mbps, rtt_ms, loss_pct"),
        ("steps", ({"rate_mbps": 3},), "is not a step; a step has at_s"),
        ("steps", ({"at_s": 3, "rate": 5},), "'rate' is not a field of a step: did you mean rate_mbps"),
        ("steps", ({"at_s": 3, "rate_mbps": -5},), "rate_mbps of the step at 3 s is -5"),
        ("steps", ({"at_s": 3, "loss_pct": 5}, {"at_s": 3, "rtt_ms": 5}), "the step at 3 s follows one at 3 s"),
    ],
)
def test_a_path_that_cannot_be_built_is_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Path.from_dict({field: value})


@pytest.mark.parametrize(
    ("tc", "message"),
    [
        ((), "needs its tc commands"),
        (("ip link set lo down",), "is not a tc command for lo"),
        (("tc qdisc add dev eth0 root netem",), "is not a tc command for lo"),
        (("tc qdisc add dev lo root netem delay -5ms",), "delay -5ms .* is negative"),
        (("tc qdisc add dev lo root netem\ntc qdisc del dev lo root",), "is not a tc command of one line"),
        (("tc qdisc add dev lo root netem \\",), "is not a tc command of one line"),
    ],
)
def test_loopback_commands_are_checked(tc: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Path(topology="loopback", tc=tc)


def test_unknown_fields_list_the_right_ones() -> None:
    with pytest.raises(UserError, match=r"'bandwidth' is not a field of a path\. The fields are topology, rate_mbps"):
        Path.from_dict({"bandwidth": 20})


def test_dictionaries_are_lossless() -> None:
    path = Path(rate_mbps=3, rtt_ms=17, buffer_bdp=0.3, loss_pct=1.5, jitter_ms=2)
    assert Path.from_dict(path.as_dict()) == path


def test_what_contradicts_is_refused() -> None:
    with pytest.raises(UserError, match="rate_mbps is 30, but trace train/wifi sets the rate"):
        Path(trace="train/wifi", rate_mbps=30)
    with pytest.raises(UserError, match="qdisc is fq_codel; the queue in front of a trace is pfifo"):
        Path(trace="train/wifi", qdisc="fq_codel")
    with pytest.raises(UserError, match="a step changes rate_mbps, but the path has a trace"):
        Path.from_dict({"trace": "train/wifi", "steps": [{"at_s": 1, "rate_mbps": 5}]})
    with pytest.raises(UserError, match="loss_pct is for topology router"):
        Path(topology="loopback", tc=("tc qdisc add dev lo root netem delay 1ms",), loss_pct=1)
    with pytest.raises(UserError, match="qdisc step only marks packets; it needs ecn: true"):
        Path(qdisc="step", mark_ms=5)


def test_a_trace_gives_the_rate_and_the_buffer() -> None:
    path = Path(trace="held_out/lte-walking", rtt_ms=50, buffer_bdp=2)
    assert path.rate_mbps == pytest.approx(load_trace("held_out/lte-walking").mean_mbps * 1514 / 1500)
    assert path.reference_mbps == path.rate_mbps
    assert path.buffer_packets == pytest.approx(2 * path.rate_mbps * 1e6 / 8 * 0.05 / 1514, abs=1)
    assert Path.from_dict(path.as_dict()) == path


def test_trace_file_has_an_absolute_name(tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.trace").write_text("1\n2\n")
    monkeypatch.chdir(tmp_path)
    assert Path(trace="mine.trace").trace == str(tmp_path / "mine.trace")
    (tmp_path / "mine.trace").write_text("2\n1\n")
    with pytest.raises(UserError, match=r"mine\.trace:2: 1 comes after 2"):
        Path(trace="mine.trace")


def test_paths_of_several_clients_are_separate_networks() -> None:
    assert Path().network == "router"
    path = Path(client_extra_rtt_ms=(0, 40, 120))
    assert (path.clients, path.network) == (3, "router-3c")


def test_steps_change_the_path_one_after_the_other() -> None:
    path = Path.from_dict({"steps": [{"at_s": 3, "rate_mbps": 5}, {"at_s": 4, "rtt_ms": 80, "loss_pct": 1}]})
    first = path.after(path.steps[0])
    second = first.after(path.steps[1])
    assert (first.rate_mbps, first.rtt_ms, first.loss_pct) == (5, 40, 0)
    assert (second.rate_mbps, second.rtt_ms, second.loss_pct) == (5, 80, 1)
    assert Path.from_dict(path.as_dict()) == path


@pytest.mark.parametrize(("rate_mbps", "buffer_bdp", "packets"), [(20, 1, 67), (20, 8, 529), (1, 0.25, 4)])
def test_buffers_count_full_packets_and_at_least_four(rate_mbps: float, buffer_bdp: float, packets: int) -> None:
    assert Path(rate_mbps=rate_mbps, rtt_ms=40, buffer_bdp=buffer_bdp).buffer_packets == packets


def test_low_water_follows_the_rate_within_bounds() -> None:
    assert low_water_bytes("loopback", 20, 1) == 0
    assert low_water_bytes("router", 0.1, 1) == 1 << 16
    assert low_water_bytes("router", 10, 1) == 625_000
    assert low_water_bytes("router", 10_000, 1) == low_water_bytes("router", 10_000, 100) == 1 << 20
    assert low_water_bytes("router", 10_000, 1000) == (1 << 20) // 10


def test_scenarios_load_and_show_their_command() -> None:
    names = scenario_names()
    assert {"stress", "fiber", "delay_extreme", "delay_moderate", "bottleneck"} <= set(names)
    assert [load_scenario(name).name for name in names] == names
    documents = {file: file.read_text().split("---\n") for file in scenarios.FOLDER.rglob("*.yaml")}
    firsts = {text.splitlines()[0]: file for file, texts in documents.items() for text in texts}
    assert sorted(firsts) == [f"# python compare.py scenario={name}" for name in names]
    for name in names:
        file = firsts[f"# python compare.py scenario={name}"]
        assert f"{name}/".startswith(f"{file.relative_to(scenarios.FOLDER).with_suffix('')}/")


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


def test_another_length_moves_flows_and_steps_alike(tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "path: {steps: [{at_s: 4, rtt_ms: 9}]}\nduration_s: 10\nflows: [{start_s: 5, duration_s: 2}]"
    (tmp_path / "moved.yaml").write_text(f"name: moved\nclaim: none\n{text}\n")
    monkeypatch.setattr(scenarios, "FOLDER", tmp_path)
    short = load_scenario("moved").lasting(1)
    assert short.network_path().steps[0].at_s == pytest.approx(0.4)
    assert (short.flows[0].start_s, short.flows[0].duration_s) == (0.5, pytest.approx(0.2))


def test_a_scenario_is_called_as_its_file(tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenarios, "FOLDER", tmp_path)
    (tmp_path / "copy.yaml").write_text("name: stress\nclaim: none\nduration_s: 1\npath: {}\n")
    with pytest.raises(UserError, match="its name is 'stress'; it must be that of the file, 'copy'"):
        load_scenario("copy")


def test_unknown_scenarios_get_near_matches() -> None:
    with pytest.raises(UserError, match="scenario 'stres' is unknown: did you mean stress"):
        load_scenario("stres")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("path: {rate_mbps: 20, rtt_ms: -3}\nduration_s: 5", "rtt_ms is -3"),
        ("path: {qdisc: pie}\nduration_s: 5", "qdisc 'pie' is unknown"),
        ("path: {}\nduration_s: -5", "duration_s is -5; it must be positive"),
        ("path: {}\nduration_s: .nan", "duration_s is nan; it must be positive, and at most 86400"),
        ("path: {}\nduration_s: 1e12", r"duration_s is 1e\+12; it must be positive, and at most 86400"),
        ("path: {}\nduration_s: 5\nflows: [{start_s: .nan}]", "a flow from nan s for 0 s does not lie within the run"),
        ("path: {}\nduration_s: 5\nflows: [{duration_s: .nan}]", "a flow from 0 s for nan s does not lie within"),
        (f"path: {{rate_mbps: 1{'0' * 400}}}\nduration_s: 5", "rate_mbps is too large; it must lie between 0.01 and"),
        (f"path: {{}}\nduration_s: 1{'0' * 400}", "int too large"),
        ("path: {loss_pct: 0,5}\nduration_s: 5", r"path\.5: a number is no key; decimals have a point, as in 0\.5"),
        ("path:\n  loss_pct: 0,5\nduration_s: 5", "'0,5'; it must be a number from 0 to 100; decimals have a point"),
        ("path: {}\nduration_s: 0,5", "duration_s is '0,5'; it must be a number; decimals have a point"),
        ("path: []\nduration_s: 5", r"path is \[\]; it must be a mapping of keys"),
        (
            "path: {}\nduration_s: 5\nflows: {scheme: under_test}",
            "flows is {'scheme': 'under_test'}; it must be a list, each entry of which begins with '- '",
        ),
        ("path: {}\nduration_s: 5\nflows: [cubic]", r"flows\[0\] is 'cubic'; it must be a mapping of keys"),
        (
            "path: {}\nduration_s: 5\nflows: [{}, {scheme: no}]",
            r"flows\[1\]\.scheme is read as False, which is no text: put it into quotes",
        ),
        ("path: {}\nduration_s: 5\nschemes: [on]", r"schemes\[0\] is read as True, which is no text"),
        (
            "path: {trace: train/wifi, queue_packets: 9}\nduration_s: 5",
            "'queue_packets' is not a field of a path: did you mean buffer_bdp",
        ),
        ("path: {delay_ms: 9}\nduration_s: 5", "'delay_ms' is not a field of a path: did you mean rtt_ms"),
        ("rack: {queue_kb: 9}\nduration_s: 5", "'queue_kb' is not a field of a rack: did you mean buffer_kb"),
        ("path: {}\nduration_s: soon", "duration_s"),
        ("path: {}\nduration_s: 5\nlength: 3", "length"),
        ("path: {}\nduration_s: 5\nflows: [{scheme: cubic}]", "no flow has the scheme under_test"),
        (
            "path: {}\nduration_s: 5\nflows: [{kind: web, size_bytes: 9}]",
            "pause_ms is 0; it lies between 0 and 10000000",
        ),
        ("path: {}\nduration_s: 5\nflows: [{pause_ms: 9}]", "pause_ms is 9 for kind bulk; only web and request"),
        ("path: {}\nduration_s: 5\nflows: [{receive_buffer_kb: 213}]", "receive_buffer_kb is 213"),
        ("path: {ack_filter: true}\nduration_s: 5", "ack_filter is true, but ack_rate_mbps is 0"),
        ("path: {}\nduration_s: 5\nflows: [{pause_ms: 9}]", "pause_ms is 9 for kind bulk"),
        (
            "path: {}\nduration_s: 5\nflows: [{kind: web, pause_ms: 9, size_bytes: 262145}]",
            "size_bytes is 262145; a web flow has one from 1 to 262144",
        ),
        ("path: {}\nduration_s: 5\nflows: [{start_s: 9}]", "does not lie within the run of 5 s"),
        ("path: {steps: [{at_s: 5, rtt_ms: 9}]}\nduration_s: 5", "the step at 5 s does not lie within the run of 5 s"),
        (
            "path: {client_extra_rtt_ms: [0, 9]}\nduration_s: 5\nflows: [{client: 3}]",
            "a flow has client 3; the network",
        ),
    ],
)
def test_a_bad_scenario_is_refused(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    (tmp_path / "bad.yaml").write_text(f"name: bad\nclaim: none\n{text}\n")
    monkeypatch.setattr(scenarios, "FOLDER", tmp_path)
    with pytest.raises(UserError, match=message):
        load_scenario("bad")
