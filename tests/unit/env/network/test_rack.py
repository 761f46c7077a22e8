"""Racks and the flows in them: what can be built, and what is refused before anything runs."""

from __future__ import annotations

from pathlib import Path as FilePath

import pytest

from env.errors import UserError
from env.network import scenario as scenarios
from env.network.path import Path
from env.network.rack import Rack
from env.network.scenario import load_scenario
from env.network.topology.links import host_commands, port_commands, wire_options
from env.network.topology.shaper import Shaper

# name -> clients, servers, flows per pair of client and server by size of the request or write, bytes
PAPER = {
    "1s1c1fr": (1, 1, {1 << 20: 1}),
    "1s1c1fs": (1, 1, {1 << 18: 1}),
    "1s2c1fr": (2, 1, {1 << 20: 1}),
    "1s2c1fs": (2, 1, {1 << 18: 1}),
    "1s4c8fr": (4, 1, {1 << 20: 8}),
    "1s4c8fs": (4, 1, {1 << 18: 8}),
    "1s4c16fr": (4, 1, {1 << 20: 16}),
    "2s3c3fvr": (3, 2, {10240: 1, 1 << 20: 2}),
    "2s3c5fr": (3, 2, {10240: 1, 1 << 20: 4}),
}


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("clients", 0, "clients is 0; it must lie between 1 and 32"),
        ("servers", 1.5, "servers is 1.5; it must be a whole number from 1 to 32"),
        ("rate_mbps", float("inf"), "rate_mbps is inf; it must lie between 1 and 100000"),
        ("rtt_us", "fast", "rtt_us is 'fast'; it must be a number from 1 to"),
        ("buffer_kb", 1, "buffer_kb is 1; it must lie between 10"),
        ("gso_max_bytes", 1000, "gso_max_bytes is 1000; it must lie between 1500 and 65536"),
        ("rate_mbs", 3, "'rate_mbs' is not a field of a rack: did you mean rate_mbps"),
    ],
)
def test_a_rack_that_cannot_be_built_is_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Rack.from_dict({field: value})


def test_dictionaries_are_lossless_and_name_the_network() -> None:
    rack = Rack(clients=3, servers=2, rtt_us=30, gso_max_bytes=16384)
    assert rack.as_dict()["topology"] == "rack-3c2s"
    assert Rack.from_dict(rack.as_dict()) == rack


def test_links_carry_full_frames_at_wire_rate() -> None:
    rack = Rack(rate_mbps=10_000, rtt_us=25, buffer_kb=1500)
    # 1514 of the 1538 bytes that a frame takes
    rate = "rate 9843953186bit"
    assert host_commands(rack, "nic")[1] == Shaper("nic", 1, 9_843_953_186, 1514, rack.gso_max_bytes)
    assert rate in wire_options(rack)
    assert "delay 12.500us" in wire_options(rack)
    (port,) = port_commands(rack, "port")
    assert rate in port
    assert port.endswith("limit 1500000")
    # what the qdisc counts for the largest packet: 45 full segments, a header for each
    assert rack.packet_bytes >= 45 * 1514


@pytest.mark.parametrize(("name", "shape"), PAPER.items())
def test_the_papers_experiments_are_as_the_paper_says(name: str, shape: tuple[int, int, dict[int, int]]) -> None:
    clients, servers, per_pair = shape
    scenario = load_scenario(f"nv/{name}")
    rack = scenario.network
    assert isinstance(rack, Rack)
    assert (rack.clients, rack.servers, rack.rate_mbps) == (clients, servers, 10_000)
    assert 20 <= rack.rtt_us <= 30
    flows = scenario.flows_with("nv")
    for client in range(1, clients + 1):
        for server in range(1, servers + 1):
            pair = [f["size_bytes"] for f in flows if (f["client"], f["server"]) == (client, server)]
            assert {size: pair.count(size) for size in pair} == per_pair
    assert len(flows) == clients * servers * sum(per_pair.values())
    assert {f["kind"] for f in flows} == {"stream" if name.endswith("fs") else "request"}
    assert {(f["scheme"], f["start_s"], f["duration_s"]) for f in flows} == {("nv", 0, scenario.duration_s)}


@pytest.mark.parametrize("name", ["1s2c1fsp", "1s2c1fvrp", "1s2c1fvrp_cubic"])
def test_partial_flow_scales_with_the_duration(name: str) -> None:
    scenario = load_scenario(f"nv/{name}")
    first, second = scenario.flows_with("nv")
    assert (first["start_s"], first["duration_s"]) == (0, scenario.duration_s)
    assert 0 < second["start_s"] < second["start_s"] + second["duration_s"] < scenario.duration_s
    other = scenario.lasting(300)
    scenarios.check_scenario(other)
    factor = 300 / scenario.duration_s
    later = other.flows_with("nv")[1]
    assert later["start_s"] == pytest.approx(second["start_s"] * factor)
    assert later["duration_s"] == pytest.approx(second["duration_s"] * factor)


def test_five_minutes_are_five_minutes_for_every_flow() -> None:
    scenario = load_scenario("nv/2s3c5fr").lasting(300)
    scenarios.check_scenario(scenario)
    assert {flow["duration_s"] for flow in scenario.flows_with("nv")} == {300}


def test_rack_scenario_has_no_path() -> None:
    with pytest.raises(UserError, match="nv/1s1c1fs is a rack; choose a scenario with a path"):
        load_scenario("nv/1s1c1fs").network_path()
    assert isinstance(load_scenario("bottleneck").network, Path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("duration_s: 5", "needs one of path, rack, chain, and has none"),
        ("duration_s: 5\npath: {}\nrack: {}", "needs one of path, rack, chain, and has path and rack"),
        ("duration_s: 5\nrack: {rate_mbps: 0}", "rate_mbps is 0; it must lie between 1"),
        ("duration_s: 5\nrack: {}\nflows: [{client: 2}]", "a flow has client 2; the network has 1, counted from 1"),
        ("duration_s: 5\npath: {}\nflows: [{server: 0}]", "a flow has server 0; the network has 1"),
        ("duration_s: 5\nrack: {}\nflows: [{kind: rpc}]", "kind 'rpc' is unknown; it is one of bulk, stream, request"),
        ("duration_s: 5\nrack: {}\nflows: [{kind: request}]", "size_bytes is 0; a request flow has one from 1 to"),
        ("duration_s: 5\nrack: {}\nflows: [{size_bytes: 9}]", "size_bytes is 9; a bulk flow has no size"),
        ("duration_s: 5\nrack: {}\nflows: [{count: 0}]", "count is 0; it must be at least 1"),
        ("duration_s: 5\nrack: {}\nflows: [{count: 1200}]", "it has 1200 flows; at most 1000 are possible"),
        ("duration_s: 5\nrack: {}\nstagger_ms: -1", "stagger_ms is -1; it must lie between 0 and 1000"),
        ("duration_s: 5\nrack: {}\nstagger_ms: 900\nflows: [{start_s: 4.5}]", "does not lie within the run of 5 s"),
    ],
)
def test_a_bad_scenario_is_refused(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    (tmp_path / "bad.yaml").write_text(f"name: bad\nclaim: none\n{text}\n")
    monkeypatch.setattr(scenarios, "FOLDER", tmp_path)
    with pytest.raises(UserError, match=message):
        load_scenario("bad")
