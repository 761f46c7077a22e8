"""Holds what was seen to what a script says, and shows where they part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tests.support.behaviour.segment import parse_segment

if TYPE_CHECKING:
    from tests.support.behaviour.script import Event
    from tests.support.behaviour.segment import Segment

TOLERANCE_NS = 20_000  # programs look at the clock, 256 ns a look, and times in scripts are rounded
CLOSE = 0.001  # fractions: a step of an input's fixed point is 0.00024
CONTEXT = 6  # segments shown before the first difference


class Difference(NamedTuple):
    """at_ns: of what was expected or seen, the earlier. position: of the segment seen, where it is about one."""

    at_ns: int
    text: str
    position: int | None


def find_difference(events: list[Event], played: dict[str, Any]) -> str:
    """Return the first difference between a script's events and what play.py printed, or "" when there is none."""
    seen = [(int(at_ns), parse_segment(text)) for at_ns, text in played["seen"]]
    firsts = [_first_wrong_segment(events, seen), _first_wrong_check(events, played["checks"])]
    differences = [difference for difference in firsts if difference]
    if not differences:
        return ""
    at_ns, text, position = min(differences, key=lambda difference: difference.at_ns)
    last = position if position is not None else sum(1 for when, _ in seen if when <= at_ns)
    shown = [f"  {'->' if i == position else '  '} {_s(when)}  > {what}" for i, (when, what) in enumerate(seen)]
    if position == len(seen):
        shown.append("  -> (nothing more)")
    return "\n".join([text, "seen, around it:", *shown[max(0, last - CONTEXT) : last + 4]])


def _first_wrong_segment(events: list[Event], seen: list[tuple[int, Segment]]) -> Difference | None:
    expected = [(event, event.segment) for event in _in_time(events) if event.kind == ">" and event.segment]
    for position, ((event, wanted), (at_ns, segment)) in enumerate(zip(expected, seen, strict=False)):
        what = wanted.difference(segment)
        if not what and abs(at_ns - event.time_ns) > TOLERANCE_NS:
            what = "time"
        if what:
            text = f"line {event.line}: expected at {_s(event.time_ns)}: {event}   (differs in: {what})"
            return Difference(min(at_ns, event.time_ns), text, position)
    if len(expected) > len(seen):
        event, _ = expected[len(seen)]
        return Difference(event.time_ns, f"line {event.line}: expected at {_s(event.time_ns)}: {event}", len(seen))
    if len(seen) > len(expected):
        return Difference(seen[len(expected)][0], "expected: nothing more", len(expected))
    return None


def _first_wrong_check(events: list[Event], checks: list[dict[str, Any]]) -> Difference | None:
    for event, check in zip((event for event in _in_time(events) if event.kind == "check"), checks, strict=True):
        wrong = _wrong_values(event, check["values"])
        if wrong:
            text = f"line {event.line}: expected at {_s(event.time_ns)}: {event}\n  seen: {wrong}"
            return Difference(event.time_ns, text, None)
    return None


def _in_time(events: list[Event]) -> list[Event]:
    return sorted(events, key=lambda event: event.time_ns)


def _wrong_values(event: Event, values: dict[str, Any]) -> str:
    wrong = []
    for word in event.words[1:]:
        name, _, wanted = word.partition("=")
        if name not in values:
            return f"no {name}; there are {', '.join(f'{key}={value}' for key, value in values.items())}"
        actual = values[name]
        low, between, high = wanted.partition("..")
        if between:
            equal = float(low) <= actual <= float(high)
        else:
            equal = abs(float(wanted) - actual) <= CLOSE if isinstance(actual, float) else str(actual) == wanted
        if not equal:
            wrong.append(f"{name}={actual:.5g}" if isinstance(actual, float) else f"{name}={actual}")
    return " ".join(wrong)


def _s(time_ns: int) -> str:
    return f"{time_ns / 1e9:.6f} s"
