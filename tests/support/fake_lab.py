"""A lab without a kernel, for the order of frames alone; what a network does is tested on the real one (marker lab)."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

from env.lab import Observation, Reply
from env.network.path import Path
from env.schema import FEATURES, FIRST_SOURCE_PORT

INTERVAL_US = 40_000


class FakeLab:
    """Answers a run with `decisions` observations, then a Reply; fails when the host breaks the order.

    It counts what it is asked for; `stalled_after` observations the flow ends by itself. `late`: the flow of an earlier
    run asks once more when the next run has begun.
    """

    def __init__(self, seed: int, stalled_after: int = 10**9, late: int = 0) -> None:
        self.seed = seed
        self.late = late
        self.stalled_after = stalled_after
        self.runs: list[tuple[Path, Sequence[dict[str, Any]], float]] = []
        self.actions: list[tuple[float, float]] = []
        self.closed = False
        self._host, self._guest = socket.socketpair()
        self._frames: list[Observation | Reply] = []
        self._now_us = 1_000_000
        self._decision = 0
        self._asked = False

    def fileno(self) -> int:
        return self._host.fileno()

    def close(self) -> None:
        self.closed = True
        self._host.close()
        self._guest.close()

    def begin_run(self, path: Path, flows: Sequence[dict[str, Any]], duration_s: float) -> None:
        assert not self._frames, "a command before the last frame was taken"
        assert not self._asked, "a command while a run goes on"
        self.runs.append((path, flows, duration_s))
        self._decision = 0
        if self.late and len(self.runs) > 1:
            self._ask(flow=len(self.runs) - 1)
            self._decision = -1  # the answer to it is followed by decision 0
        else:
            self._ask()

    def act(self, growth: float, pacing: float, *, stop: bool = False) -> None:
        assert self._asked, "an action that nobody asked for"
        self._asked = False
        if stop or self._decision == self.stalled_after:
            self._put(Reply({}))
            return
        if self._decision < 0:
            assert (growth, pacing) == (0.0, 0.0), "a decision for a flow that is over"
            self._decision = 0
        else:
            self.actions.append((growth, pacing))
        self._ask()

    def receive(self) -> Observation | Reply:
        self._host.recv(1)
        frame = self._frames.pop(0)
        self._asked = isinstance(frame, Observation)
        return frame

    def _ask(self, flow: int | None = None) -> None:
        self._now_us += INTERVAL_US
        acked = self._decision * 100_000  # 20 Mbit/s
        features = tuple(range(self._decision, self._decision + len(FEATURES)))
        self._put(
            Observation(
                now_us=self._now_us,
                bytes_acked=acked,
                pacing_rate=2_500_000,
                flow=len(self.runs) if flow is None else flow,
                decision=self._decision,
                interval_us=INTERVAL_US,
                rtt_us=40_000,
                srtt_us=40_000,
                min_rtt_us=40_000,
                cwnd=70,
                inflight=66,
                delivered=self._decision * 66,
                lost=0,
                retransmitted=0,
                mss=1448,
                features=features,
                ca_state=0,
                port=FIRST_SOURCE_PORT,
            )
        )
        self._decision += 1

    def _put(self, frame: Observation | Reply) -> None:
        self._frames.append(frame)
        self._guest.send(b"x")
