"""The frames between the host and a guest, packed and unpacked. env/schema.py defines their layout."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from env import schema
from env.lab.errors import BrokenFrame, GuestFailed

if TYPE_CHECKING:
    import numpy.typing as npt

STEP = np.dtype(schema.STEP_DTYPE)

_ACTION_SCALE = 1 << schema.ACTION_FRAC
_ACTION_HEADER = schema.FRAME_HEADER.pack(schema.ACTION.size, schema.FRAME_ACTION, 0)


class Observation(NamedTuple):
    """What a learning flow reports at a decision. Fields and units are those of schema.OBSERVATION_LAYOUT."""

    now_us: int
    bytes_acked: int
    pacing_rate: int
    flow: int
    decision: int
    interval_us: int
    rtt_us: int
    srtt_us: int
    min_rtt_us: int
    cwnd: int
    inflight: int
    delivered: int
    lost: int
    retransmitted: int
    mss: int
    features: tuple[int, ...]
    ca_state: int
    port: int


_FEATURES_BEGIN = Observation._fields.index("features")
_FEATURES_END = _FEATURES_BEGIN + len(schema.FEATURES)
_FIELDS_END = len(Observation._fields) + len(schema.FEATURES) - 1  # padding may follow


class Reply(NamedTuple):
    """The agent's answer to a command."""

    result: Any


class Record(NamedTuple):
    """The decisions of a run's learning flows, each a row of schema.STEP_DTYPE, in order of time."""

    steps: npt.NDArray[np.void]


class RolloutPlan(NamedTuple):
    """What the guest needs to decide for a run's learning flows itself: `begin_run(plan=...)`.

    model: a model file (export.formats.blob). noise: int16 [flow, decision, action], ACTION_FRAC fraction bits, added
    to the model's output; there is no noise beyond its end. snapshot: a model file for the ndm_snapshot flows, which
    have no noise and are not recorded; without it they hold their windows. skip_slow_start: the flows, counted from 0
    as they open, that skip slow start (kernel/ndm/ndm_slow_start.h).

    The run ends `duration_s` after the first observation, after `steps` observations of all flows together, or when a
    window exceeds `max_cwnd` packets.
    """

    model: bytes
    noise: npt.NDArray[np.int16]
    steps: int
    duration_s: float
    max_cwnd: int = (1 << 32) - 1
    snapshot: bytes = b""
    skip_slow_start: tuple[int, ...] = ()


Frame = Observation | Record | Reply


def command_frame(command: str, arguments: dict[str, Any]) -> bytes:
    """Return the COMMAND frame that calls a command of the agent."""
    return _frame(schema.FRAME_COMMAND, json.dumps({"call": command, "args": arguments}).encode())


def plan_frame(plan: RolloutPlan) -> bytes:
    """Return the PLAN frame."""
    flows, decisions, _ = plan.noise.shape
    duration_us = round(plan.duration_s * 1e6)
    sizes = (len(plan.model), plan.max_cwnd, len(plan.snapshot))
    skip_slow_start = sum(1 << flow for flow in plan.skip_slow_start)
    head = schema.PLAN.pack(duration_us, skip_slow_start, plan.steps, flows, decisions, *sizes)
    return _frame(schema.FRAME_PLAN, head + plan.model + plan.snapshot + plan.noise.astype("<i2").tobytes())


def action_frame(growth: float, pacing: float, stop: bool) -> bytes:
    """Return the ACTION frame; actions outside [-1, 1] are clipped."""
    actions = (round(min(max(action, -1.0), 1.0) * _ACTION_SCALE) for action in (growth, pacing))
    return _ACTION_HEADER + schema.ACTION.pack(*actions, stop, False)


def _frame(kind: int, payload: bytes) -> bytes:
    return schema.FRAME_HEADER.pack(len(payload), kind, 0) + payload


class FrameReader:
    """Assembles frames from the guest's bytes."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Append bytes from the guest."""
        self._buffer += data

    def next_frame(self) -> Frame | None:
        """Return the next frame, or None when more bytes are needed.

        Raises BrokenFrame for bytes that are not a frame, GuestFailed for the reply to a command that failed.
        """
        buffer = self._buffer
        begin = schema.FRAME_HEADER.size
        if len(buffer) < begin:
            return None
        length, kind, _ = schema.FRAME_HEADER.unpack_from(buffer)
        if length > schema.FRAME_MAX:
            raise BrokenFrame(kind, length)
        end = begin + length
        if len(buffer) < end:
            return None
        if kind == schema.FRAME_OBSERVATION and length == schema.OBSERVATION.size:
            fields = schema.OBSERVATION.unpack_from(buffer, begin)
            del buffer[:end]
            features = fields[_FEATURES_BEGIN:_FEATURES_END]
            return Observation._make((*fields[:_FEATURES_BEGIN], features, *fields[_FEATURES_END:_FIELDS_END]))
        payload = bytes(buffer[begin:end])
        del buffer[:end]
        if kind == schema.FRAME_RECORD and length % STEP.itemsize == 0:
            return Record(np.frombuffer(payload, STEP))
        if kind == schema.FRAME_REPLY:
            return _read_reply(payload)
        raise BrokenFrame(kind, length)


def _read_reply(payload: bytes) -> Reply:
    reply = json.loads(payload)
    if not reply["ok"]:
        trace = f"\n--- in the guest ---\n{reply['traceback']}" if "traceback" in reply else ""
        raise GuestFailed(f"{reply['error']}{trace}")
    return Reply(reply["result"])
