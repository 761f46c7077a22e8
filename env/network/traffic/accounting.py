"""Bytes are accounted for: what a flow has sent is what has been received and what is in flight."""

from __future__ import annotations


class TrafficError(RuntimeError):
    """A traffic program that failed, or a flow whose bytes do not add up; the message says which and how."""


def check_accounts(
    flow: str, sent_bytes: int, received_bytes: int, inflight_bytes: int, acked_bytes: int, slack_bytes: int = 0
) -> None:
    """Raise TrafficError when a flow has lost or made up bytes.

    sent_bytes: sent at least once, by the sender's TCP. received_bytes: read by the receiving application, at the same
    virtual instant. inflight_bytes: what has arrived after that instant without having been sent after it.
    acked_bytes: acknowledged at that instant; no receiver acknowledges what it has not got.
    slack_bytes: what may have passed between the looks of the two ends, where they do not look at the same instant.
    """
    accounts = f"sent {sent_bytes}, received {received_bytes}, in flight {inflight_bytes} bytes"
    if sent_bytes != received_bytes + inflight_bytes:
        difference = sent_bytes - received_bytes - inflight_bytes
        raise TrafficError(f"{flow}: {accounts}: {difference} bytes are unaccounted for")
    if inflight_bytes < -slack_bytes:
        raise TrafficError(f"{flow}: {accounts}: it received more than was sent")
    if acked_bytes > received_bytes + slack_bytes:
        raise TrafficError(f"{flow}: {accounts}, but {acked_bytes} bytes were acknowledged: more than was received")
