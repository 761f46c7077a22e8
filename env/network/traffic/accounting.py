"""Checks that every byte that a flow has sent is either received or in flight."""

from __future__ import annotations


class TrafficError(RuntimeError):
    """The traffic program failed, or the bytes of a flow do not add up; the message says how."""


def check_accounts(
    flow: str, sent_bytes: int, received_bytes: int, inflight_bytes: int, acked_bytes: int, slack_bytes: int = 0
) -> None:
    """Raise TrafficError when a flow's counters contradict each other.

    sent_bytes: sent at least once by the sender's TCP. received_bytes: read by the receiving application at the same
    instant. inflight_bytes: sent before that instant and read after it. acked_bytes: acknowledged at that instant; they
    cannot exceed the received bytes. slack_bytes: possible difference if the two ends are not sampled at the same
    instant.
    """
    accounts = f"sent {sent_bytes}, received {received_bytes}, in flight {inflight_bytes} bytes"
    if sent_bytes != received_bytes + inflight_bytes:
        difference = sent_bytes - received_bytes - inflight_bytes
        raise TrafficError(f"{flow}: {accounts}: {difference} bytes are unaccounted for")
    if inflight_bytes < -slack_bytes:
        raise TrafficError(f"{flow}: {accounts}: it received more than was sent")
    if acked_bytes > received_bytes + slack_bytes:
        raise TrafficError(f"{flow}: {accounts}, but {acked_bytes} bytes were acknowledged: more than was received")
