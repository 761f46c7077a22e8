"""Chains of links: what can be built, and what is refused before anything runs."""

from __future__ import annotations

from pathlib import Path as FilePath

import pytest

from env.errors import UserError
from env.network import scenario as scenarios
from env.network.chain import Chain, ChainLink
from env.network.networks import network_from_dict, topology_name
from env.network.path import Path
from env.network.rack import Rack
from env.network.scenario import load_scenario

CHAIN = Chain((ChainLink(rate_mbps=20, delay_ms=5), ChainLink(rate_mbps=10, delay_ms=15, buffer_bdp=2)))


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([], r"links is \[\]; it must be a list of 1 to 8 links"),
        ("fast", "links is 'fast'; it must be a list of 1 to 8 links"),
        ([{}] * 9, "it must be a list of 1 to 8 links"),
        ([{}, 20], "link 2: 20 is not a link, such as {rate_mbps: 20, delay_ms: 10}"),
        ([{}, {"rate_mbps": 0}], "link 2: rate_mbps is 0; it must lie between 0.01 and 100000"),
        ([{"delay_ms": "far"}], "link 1: delay_ms is 'far'; it must be a number from 0 to 1000"),
        ([{"loss_pct": 101}], "link 1: loss_pct is 101; it must lie between 0 and 100"),
        ([{"buffer_bdp": -1}], "link 1: buffer_bdp is -1; it must lie between 0 and 1000"),
        ([{"qdisc": "step"}], "link 1: qdisc 'step' is unknown; it is one of pfifo, fq_codel, cake, red, fq"),
        ([{"rtt_ms": 10}], "link 1: 'rtt_ms' is not a field of a link"),
        ([{"rate_mbs": 10}], "link 1: 'rate_mbs' is not a field of a link: did you mean rate_mbps"),
    ],
)
def test_chain_that_cannot_be_built_is_refused(links: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Chain.from_dict({"links": links})


def test_unknown_field_of_a_chain_is_refused() -> None:
    with pytest.raises(UserError, match="'link' is not a field of a chain: did you mean links"):
        Chain.from_dict({"link": [{}]})


def test_dictionaries_are_lossless_for_each_kind() -> None:
    for network, name in ((CHAIN, "chain-2"), (Rack(clients=2), "rack-2c1s"), (Path(), "router")):
        assert network_from_dict(network.as_dict()) == network
        assert topology_name(network) == name


def test_buffers_count_the_round_trip_of_all_links() -> None:
    assert CHAIN.rtt_ms == 40
    first, second = (CHAIN.link_path(i) for i in range(2))
    assert first.buffer_packets == 67, "20 Mbit/s, 40 ms: 100 kB"
    assert second.buffer_packets == 67, "twice 10 Mbit/s, 40 ms"


def test_routes_and_round_trips_of_flows() -> None:
    assert list(CHAIN.route(1, 3)) == [0, 1]
    assert list(CHAIN.route(2, 3)) == [1]
    assert CHAIN.base_rtt_ms(2, 3) == pytest.approx(30 + 1514 * 8 / 10e3)
    assert CHAIN.base_rtt_ms(1, 3) == pytest.approx(40 + 1514 * 8 / 20e3 + 1514 * 8 / 10e3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chain: {links: [{}]}\npath: {}", "it needs one of path, rack, chain, and has path and chain"),
        ("chain: {}", r"scenario bad: links is \(\); it must be a list of 1 to 8 links"),
        ("chain: {links: [{}]}", "a flow has client 1 and server 1; .* must be a later one, at most 2"),
        ("chain: {links: [{}, {}]}\nflows: [{client: 3, server: 2}]", "a flow has client 3 and server 2"),
        ("chain: {links: [{}]}\nflows: [{server: 3}]", "a flow has server 3; the network has 2, counted from 1"),
    ],
)
def test_bad_chain_scenario_is_refused(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    (tmp_path / "bad.yaml").write_text(f"name: bad\nclaim: none\nduration_s: 5\n{text}\n")
    monkeypatch.setattr(scenarios, "FOLDER", tmp_path)
    with pytest.raises(UserError, match=message):
        load_scenario("bad")


def test_chain_scenario_has_no_path() -> None:
    with pytest.raises(UserError, match="chain/parking_lot is a chain; choose a scenario with a path"):
        load_scenario("chain/parking_lot").network_path()
