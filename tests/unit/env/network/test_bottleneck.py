"""The tc commands of a router path."""

from __future__ import annotations

from pathlib import Path as FilePath

import pytest

from env.network.clock import VIRTUAL
from env.network.path import Path
from env.network.topology.bottleneck import (
    delay_commands,
    gilbert_pct,
    netem_options,
    queue_options,
    shaper,
    step_commands,
    toward_receiver_commands,
    toward_sender_commands,
)
from env.network.topology.shaper import Shaper


def test_bottleneck_has_one_queue_with_a_limit() -> None:
    path = Path(rate_mbps=20, rtt_ms=40, loss_pct=1)
    commands = toward_receiver_commands(path, "out")
    assert str(commands[0]).endswith("netem limit 1000000 delay 20.000ms loss 1%")
    assert commands[2] == Shaper("out", 2, rate_bits=20_000_000, burst_bytes=3, quantum_bytes=1514)
    assert str(commands[3]).endswith("pfifo limit 67")
    assert toward_sender_commands(path, "back", 30) == [
        "qdisc add dev back root handle 1: netem limit 1000000 delay 50.000ms"
    ]


def test_a_trace_stands_in_place_of_the_shaper() -> None:
    commands = toward_receiver_commands(Path(trace="train/wifi"), "out")
    assert commands[1:] == ["qdisc add dev out parent 1: handle 2: linktrace"]


def test_return_path_with_rate_has_a_queue() -> None:
    commands = toward_sender_commands(Path(ack_rate_mbps=0.5, ack_buffer_packets=30), "back", 0)
    assert commands[2] == Shaper("back", 2, rate_bits=500_000, burst_bytes=1, quantum_bytes=1514)
    assert str(commands[3]).endswith("pfifo limit 30")


def test_impairments_in_netems_words() -> None:
    path = Path(jitter_ms=5, jitter_reorders=False, duplicate_pct=1, reorder_pct=25, reorder_correlation_pct=50)
    assert netem_options(path, 20) == (
        "limit 1000000 delay 20.000ms 5.000ms distribution normal duplicate 1% reorder 25% 50% rate 100gbit"
    )
    assert netem_options(Path(reorder_pct=25, reorder_gap=5), 1).endswith("reorder 25% gap 5")
    assert netem_options(Path(loss_pct=1, loss_burst_packets=4), 1).endswith("loss gemodel 0.252525% 25%")


@pytest.mark.parametrize(("loss_pct", "burst_packets"), [(1, 4), (5, 1.5), (0.1, 20), (50, 2)])
def test_gilberts_chances_give_loss_and_length_of_bursts(loss_pct: float, burst_packets: float) -> None:
    enter_pct, leave_pct = gilbert_pct(loss_pct, burst_packets)
    assert 100 * enter_pct / (enter_pct + leave_pct) == pytest.approx(loss_pct)
    assert 100 / leave_pct == pytest.approx(burst_packets)
    assert 0 < enter_pct <= 100


def test_a_step_changes_what_differs_and_nothing_else() -> None:
    path = Path.from_dict(
        {"client_extra_rtt_ms": [0, 60], "steps": [{"at_s": 1, "rate_mbps": 5}, {"at_s": 2, "rtt_ms": 100}]}
    )
    first = path.after(path.steps[0])
    assert step_commands(path, first, "out", ["b1", "b2"]) == [shaper("out", 5, VIRTUAL.burst_us)]
    assert step_commands(first, first.after(path.steps[1]), "out", ["b1", "b2"]) == [
        "qdisc change dev out root handle 1: netem limit 1000000 delay 50.000ms",
        "qdisc change dev b1 root handle 1: netem limit 1000000 delay 50.000ms",
        "qdisc change dev b2 root handle 1: netem limit 1000000 delay 110.000ms",
    ]


def test_marking_queues() -> None:
    assert queue_options(Path(qdisc="red", ecn=True)).endswith(" ecn")
    assert not queue_options(Path(qdisc="red")).endswith(" ecn")
    assert "ce_threshold 5ms ecn" in queue_options(Path(qdisc="step", ecn=True, mark_ms=5))


def test_a_delay_trace_sets_both_directions_in_order(tmp_path: FilePath) -> None:
    file = tmp_path / "mine.delay"
    file.write_text("5\n15\n")
    path = Path(delay_trace=str(file), client_extra_rtt_ms=(0, 30), ack_burst_ms=10)
    assert "netem limit 1000000 delay 5.000ms rate 100gbit" in str(toward_receiver_commands(path, "out")[0])
    assert str(toward_sender_commands(path, "back", 30)[0]).endswith(
        "delay 35.000ms slot 4.000ms 16.000ms rate 100gbit"
    )
    assert delay_commands(path, 15, "out", ["a", "b"]) == [
        "qdisc change dev out root handle 1: netem limit 1000000 delay 15.000ms rate 100gbit",
        "qdisc change dev a root handle 1: netem limit 1000000 delay 15.000ms slot 4.000ms 16.000ms rate 100gbit",
        "qdisc change dev b root handle 1: netem limit 1000000 delay 45.000ms slot 4.000ms 16.000ms rate 100gbit",
    ]
