"""The message that sets a link's rate."""

from __future__ import annotations

import struct

import pytest

from env.network.topology.bottleneck import shaper
from env.network.topology.shaper import TICK_NS, Shaper


@pytest.mark.parametrize("rate_mbps", [8.5, 10, 20, 33.3, 100, 1000, 40_000])
def test_a_link_saves_up_for_a_microsecond(rate_mbps: float) -> None:
    assert shaper("out", rate_mbps, burst_us=1).burst_ticks * TICK_NS == 960


@pytest.mark.parametrize(("rate_mbps", "byte_us"), [(1, 8), (0.1, 80), (3, 2)])
def test_a_slow_link_saves_up_for_a_byte(rate_mbps: float, byte_us: int) -> None:
    assert shaper("out", rate_mbps, burst_us=1).burst_ticks == byte_us * 1000 // TICK_NS


def test_the_message_is_that_of_tc() -> None:
    # what `strace tc class add dev lo parent 2: classid 2:1 htb rate 20000000bit burst 3 cburst 3 quantum 1514` of
    # iproute2 6.1 shows, without its tables of transmission times and what describes them
    link = "00000000 01000000 01000200 00000200 00000000"
    kind = "08000100 68746200"
    rate = "00010000 00000000 a0252600"
    options = f"34000200 30000100 {rate} {rate} 0f000000 0f000000 ea050000 00000000 00000000"
    message = Shaper("lo", 2, 20_000_000, burst_bytes=3, quantum_bytes=1514).request(interface=1)
    assert message == bytes.fromhex(link + kind + options)


def test_a_rate_beyond_32_bits_has_64() -> None:
    message = Shaper("lo", 2, 40_000_000_000, burst_bytes=5001, quantum_bytes=1514).request(1)
    assert message.endswith(struct.pack("=HHQ", 12, 6, 5_000_000_000) + struct.pack("=HHQ", 12, 7, 5_000_000_000))
    assert message.count(b"\xff\xff\xff\xff") == 2
