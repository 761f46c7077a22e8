"""Scripts and segments as text, and segments as bytes: no lab needed."""

from __future__ import annotations

import socket

import pytest

from tests.support.behaviour.script import ScriptError, parse_script
from tests.support.behaviour.segment import Side, from_bytes, parse_segment, to_bytes

TESTED = Side(socket.inet_aton("192.0.2.1"), 50000, 4_294_967_000, 4_294_967_290)  # its numbers wrap within the test
PEER = Side(socket.inet_aton("192.0.2.2"), 80, 1_000_000, 500_000)


@pytest.mark.parametrize(
    "text",
    [
        "S 0:0(0) win 64240 <mss 1460,sackOK,TS val 0 ecr 0,wscale 7>",
        "[ect0] W. 1:1449(1448) ack 1 win 502 <TS val 20 ecr 1000>",
        "[ce] PE. 3000:3001(1) ack 77 win 0 <sack 2897:4345 5793:7241,TS val 20 ecr 1000>",
        "FR. 1:1(0) ack 1 win 1",
    ],
)
def test_segment_survives_text_and_bytes(text: str) -> None:
    segment = parse_segment(text)
    packet = to_bytes(segment, PEER, TESTED)
    assert str(segment) == text
    assert str(from_bytes(packet, PEER, TESTED)) == text
    for covered in (packet[:20], packet[12:20] + bytes((0, 6)) + (len(packet) - 20).to_bytes(2) + packet[20:]):
        padded = covered + bytes(len(covered) % 2)
        total = sum(int.from_bytes(padded[i : i + 2]) for i in range(0, len(padded), 2))
        assert total % 0xFFFF == 0, "a right checksum makes the ones' complement sum 0"


def test_only_named_fields_of_a_segment_count() -> None:
    seen = parse_segment("[ect0] P. 1:1449(1448) ack 1 win 502 <sack 5:9,TS val 20 ecr 1000>")
    for text in (". 1:1449(1448)", "P. 1:1449(1448) ack 1", "[ect0] . 1:1449(1448) win 502 <TS val 20>"):
        assert parse_segment(text).difference(seen) == "", text
    for text, what in (
        ("W. 1:1449(1448)", "flags"),
        (". 1:1448(1447)", "sequence numbers"),
        (". 1449:2897(1448)", "sequence numbers"),
        (". 1:1449(1448) ack 2", "ack"),
        (". 1:1449(1448) win 501", "win"),
        ("[not-ect] . 1:1449(1448)", "ecn"),
        (". 1:1449(1448) <sack 5:10>", "option sack"),
        (". 1:1449(1448) <TS val 21>", "option val"),
    ):
        assert parse_segment(text).difference(seen) == what


def test_times_are_absolute_or_after_the_event_above() -> None:
    events = parse_script("+.5 connect // a comment\n\n.75 write 10\n+0.25 write 3\n")
    assert [(event.line, event.time_ns) for event in events] == [(1, 5e8), (3, 7.5e8), (4, 1e9)]


def test_one_line_stands_for_many_segments() -> None:
    sent = parse_script("+1 > . 1:3001(3000) ack 1 by 1448 every .001")
    assert [(event.time_ns, str(event.segment)) for event in sent] == [
        (1_000_000_000, ". 1:1449(1448) ack 1"),
        (1_001_000_000, ". 1449:2897(1448) ack 1"),
        (1_002_000_000, ". 2897:3001(104) ack 1"),
    ]
    acks = parse_script("+1 < . 1:1(0) ack 3001 from 1 by 1448")
    assert [event.segment.ack for event in acks if event.segment] == [1449, 2897, 3001]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("connect", "does not begin with a time"),
        ("+0 connectt", "'connectt' is unknown; an event is < or > or one of model, sysctl, started, connect"),
        ("+0 write", "write takes 1 arguments, not 0"),
        ("+0 info cwnd", "info NAME=VALUE"),
        ("+0 > . 1:1449(1000)", "from 1 to 1449 are 1448 bytes, not 1000"),
        ("+0 > nonsense", "is no segment, such as"),
        ("+0 > [some] . 1:1(0)", "ECN is one of not-ect, ect1, ect0, ce"),
        ("+0 > . 1:1(0) <window 3>", "option 'window 3' is unknown"),
        ("+0 < . 1:1(0) ack 9 by 3", "`by` cuts a payload"),
    ],
)
def test_a_wrong_line_is_named(line: str, problem: str) -> None:
    with pytest.raises(ScriptError, match="line 2: ") as error:
        parse_script(f"// the first\n{line}")
    assert problem in str(error.value)


def test_time_does_not_go_back() -> None:
    with pytest.raises(ScriptError, match=r"line 2: \.5 s is before the event above, 1 s"):
        parse_script("1 connect\n.5 connect")
