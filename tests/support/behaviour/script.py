"""A script: what a peer sends, when, and what the kernel under test must do. A line is an event:

    // a comment
    +0      model least                                   what is called on the kernel under test, see CALLS
    +0      connect
    +0      > S 0:0(0) win 64240 <mss 1460,sackOK,TS val 0,wscale 7>      it must send this, now
    +.020   < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 7>        the peer sends this
    +0      > . 1:1(0) ack 1
    +.030   info cwnd=10 ca_state=Open                    fields of TCP_INFO must be these
    +0      decision number=0 srtt_us=19990..20010        and those of the newest decision, from its tracepoint

`+s` is the time in seconds after the event above, `s` after the beginning. Segments are written as segment.py says.
The peer's get time stamps unless they bring their own, and its windows go out as they stand. Many segments in a line,
of one size each, or ACKs of so many bytes each:

    +0      > . 1:14481(14480) ack 1 by 1448 every .00158
    +.020   < . 1:1(0) ack 14481 win 1000 from 1 by 2896 every .00316

The kernel under test must send each segment that a script expects, in this order, and no other before the end of the
script, which is its last event. Standard library only: the guest imports this module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tests.support.behaviour.segment import Segment, parse_segment

# what is called -> numbers of arguments
CALLS = {
    "model": 1,  # NAME: the model that decides, NAME.bin of models.py
    "sysctl": 2,  # NAME VALUE, below net.ipv4
    "started": 0,  # the connection will be past its start: what is known of the peer is an ssthresh of 2
    "connect": 0,  # with the congestion control ndm
    "write": 1,  # BYTES
    "choose": 1,  # NAME: another congestion control in mid-connection
}
CHECKS = ("info", "decision")
_LINE = re.compile(r"(\+?)(\d*\.?\d+)\s+(.*)")
_MANY = re.compile(r"(.*?)(?: from (\d+))? by (\d+)(?: every (\d*\.?\d+))?")


@dataclass(frozen=True)
class Event:
    """line: from 1. time_ns: since the beginning. kind: "<", ">", "call" or "check"; the segment, or the words."""

    line: int
    time_ns: int
    kind: str
    segment: Segment | None = None
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {self.segment}" if self.segment else " ".join(self.words)


class ScriptError(Exception):
    """A line that cannot be read; the message names it."""


def parse_script(text: str) -> list[Event]:
    """Return the events in the order of the script. Raises ScriptError."""
    events: list[Event] = []
    now_ns = 0
    for number, whole in enumerate(text.splitlines(), 1):
        line = whole.split("//")[0].strip()
        if not line:
            continue
        match = _LINE.fullmatch(line)
        if not match:
            raise ScriptError(f"line {number}: {line!r} does not begin with a time, such as +.020")
        at_ns = round(float(match[2]) * 1e9) + (now_ns if match[1] else 0)
        if at_ns < now_ns:
            raise ScriptError(f"line {number}: {match[2]} s is before the event above, {now_ns / 1e9:g} s")
        now_ns = at_ns
        try:
            events += _parse_event(number, now_ns, match[3])
        except ValueError as error:
            raise ScriptError(f"line {number}: {error}") from None
    return events


def _parse_event(line: int, time_ns: int, text: str) -> list[Event]:
    if text[0] in "<>":
        return _parse_segments(line, time_ns, text[0], text[1:].strip())
    words = tuple(text.split())
    if words[0] in CHECKS:
        if len(words) < 2 or not all(re.fullmatch(r"\w+=[\w.+-]+", word) for word in words[1:]):
            raise ValueError(f"{text!r} must be written as {words[0]} NAME=VALUE ...")
        return [Event(line, time_ns, "check", words=words)]
    if words[0] not in CALLS:
        raise ValueError(f"{words[0]!r} is unknown; an event is < or > or one of {', '.join((*CALLS, *CHECKS))}")
    if len(words) - 1 != CALLS[words[0]]:
        raise ValueError(f"{words[0]} takes {CALLS[words[0]]} arguments, not {len(words) - 1}")
    return [Event(line, time_ns, "call", words=words)]


def _parse_segments(line: int, time_ns: int, kind: str, text: str) -> list[Event]:
    many = _MANY.fullmatch(text)
    segment = parse_segment(many[1] if many else text)
    if not many:
        return [Event(line, time_ns, kind, segment)]
    size, every_ns = int(many[3]), round(float(many[4] or 0) * 1e9)
    if segment.length:
        starts = range(segment.seq, segment.seq + segment.length, size)
        end = segment.seq + segment.length
        each = [replace(segment, seq=start, length=min(size, end - start)) for start in starts]
    elif segment.ack is not None and many[2]:
        acks = [*range(int(many[2]) + size, segment.ack, size), segment.ack]
        each = [replace(segment, ack=ack) for ack in acks]
    else:
        raise ValueError(f"{text!r}: `by` cuts a payload, or with `from` the bytes acknowledged")
    return [Event(line, time_ns + i * every_ns, kind, one) for i, one in enumerate(each)]
