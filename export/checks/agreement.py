"""Float against int16: the error of the quantized network, and the gate that a model must pass to be exported.

Letters: N independent connections, T steps, I inputs, O outputs. Errors are in per cent of the output range from
-1 to 1, so a difference of 0.02 is 1 %. Both networks get the same int16 inputs and clamp outputs to [-1, 1].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from env import schema
from export.integer import reference
from export.integer.model import INPUTS, Float64, Int16, IntegerModel
from export.integer.quantize import FloatPolicy

MEAN_LIMIT_PCT = 0.1
MAX_LIMIT_PCT = 0.5
SIGN_LIMIT_PCT = 99.9

SINGLE_STEPS = 65_536  # for each kind of inputs: 131,072 in total
ROLLOUTS = 64  # for each kind of inputs
ROLLOUT_STEPS = 1_000

_OUTPUT_RANGE = 2.0
_ONE_OUTPUT_UNIT = 2.0**-schema.ACTION_FRAC
_LOW = np.array([field.low for field in schema.FEATURES])  # (I)
_HIGH = np.array([field.high for field in schema.FEATURES])  # (I)


@dataclass(frozen=True)
class Agreement:
    """Float against int16 over one set of inputs."""

    inputs: str  # name of the set of inputs
    decisions: int
    mean_error_pct: float
    max_error_pct: float
    sign_agreement_pct: float

    def failures(self) -> list[str]:
        """Return the figures that fail the gate, as text; empty if all pass. NaN fails."""
        failures = []
        if not self.mean_error_pct <= MEAN_LIMIT_PCT:
            failures.append(f"{self.inputs}: mean error {self.mean_error_pct:.4f} % (at most {MEAN_LIMIT_PCT} %)")
        if not self.max_error_pct <= MAX_LIMIT_PCT:
            failures.append(f"{self.inputs}: maximum error {self.max_error_pct:.4f} % (at most {MAX_LIMIT_PCT} %)")
        if not self.sign_agreement_pct >= SIGN_LIMIT_PCT:
            failures.append(
                f"{self.inputs}: sign agreement {self.sign_agreement_pct:.3f} % (at least {SIGN_LIMIT_PCT} %)"
            )
        return failures


def verify(policy: FloatPolicy, model: IntegerModel, seed: int = 1) -> list[Agreement]:
    """Compare on single decisions from random states and on rollouts. The result depends only on the seed."""
    rng = np.random.default_rng(seed)
    uniform = rng.random((SINGLE_STEPS, INPUTS))  # (N, I)
    return [
        _single("single, whole range", policy, model, _whole_range(uniform), rng),
        _single("single, usual", policy, model, _usual(uniform), rng),
        _rollouts("rollouts, whole range", policy, model, (_whole_range(u) for u in _noise(rng))),
        _rollouts("rollouts, usual", policy, model, (_usual(u) for u in _walk(rng))),
    ]


def _fixed(values: Float64) -> Int16:
    return np.floor(np.clip(values, _LOW, _HIGH) * 2.0**schema.FEATURE_FRAC + 0.5).astype(np.int16)


def _whole_range(uniform: Float64) -> Int16:
    """Inputs (N, I) spread evenly over the schema's ranges, from numbers in [0, 1)."""
    return _fixed(_LOW + uniform * (_HIGH - _LOW))


def _usual(uniform: Float64) -> Int16:
    """Inputs (N, I) distributed as on real connections (small ratios, rare loss), from numbers in [0, 1).

    An input without a distribution of its own is mostly small: the cube of a number spread evenly over its range.
    """
    u = dict(zip((field.name for field in schema.FEATURES), uniform.T, strict=True))
    exponential = {name: -np.log1p(-values) for name, values in u.items()}
    centred = u["rtt_gradient"] - 0.5
    largest = np.maximum(-_LOW, _HIGH)  # (I)
    cubes = (_LOW + uniform * (_HIGH - _LOW)) ** 3 / largest**2  # (N, I)
    columns = dict(zip(u, cubes.T, strict=True)) | {
        "rtt_ratio": 0.7 * exponential["rtt_ratio"],
        "entropy": u["entropy"],
        "queue_floor": np.floor(2 * exponential["queue_floor"]) / 4,
        "congestion": np.where(u["congestion"] < 0.2, 1.0, -1.0),
        "plasticity": u["plasticity"] ** 2,
        "loss_rate": np.where(u["loss_rate"] < 0.7, 0.0, (u["loss_rate"] - 0.7) ** 2 * 10),
        "rtt_variation": 0.2 * exponential["rtt_variation"],
        "rtt_gradient": -0.2 * np.sign(centred) * np.log1p(-2 * np.abs(centred) * 0.999_999),
        "delivery_ratio": u["delivery_ratio"] ** 0.3,
        "inflight_ratio": 0.7 + 0.8 * exponential["inflight_ratio"],
    }
    return _fixed(np.stack(list(columns.values()), axis=1))


def _noise(rng: np.random.Generator) -> Iterator[Float64]:
    """Yield T times independent numbers (N, I) in [0, 1)."""
    for _ in range(ROLLOUT_STEPS):
        yield rng.random((ROLLOUTS, INPUTS))


def _walk(rng: np.random.Generator) -> Iterator[Float64]:
    """Yield T times numbers (N, I) in [0, 1): random walks with various strides, reflected at the ends."""
    position = rng.random((ROLLOUTS, INPUTS)) * 2
    stride = np.exp2(rng.uniform(-8, 0, (ROLLOUTS, INPUTS)))
    for _ in range(ROLLOUT_STEPS):
        position = (position + stride * rng.standard_normal(position.shape)) % 2
        yield np.abs(position - 1) * (1 - 2**-53)


def _single(name: str, policy: FloatPolicy, model: IntegerModel, x: Int16, rng: np.random.Generator) -> Agreement:
    h = rng.integers(-32767, 32768, (len(x), model.hidden)).astype(np.int16)  # (N, H)
    h[::2] = np.sign(h[::2]) * (32767 - np.abs(h[::2]) // 64)  # half of the states saturated, as trained ones often are
    return _agreement(name, *_outputs(policy, model, h.astype(np.float64) / 2**schema.HIDDEN_FRAC, h, x)[:2])


def _rollouts(name: str, policy: FloatPolicy, model: IntegerModel, steps: Iterator[Int16]) -> Agreement:
    exact: list[Float64] = []
    integer: list[Int16] = []
    h: Float64 | None = None
    h_int: Int16 | None = None
    for x in steps:  # (N, I); each side carries its own state
        if h is None or h_int is None:
            h, h_int = np.zeros((len(x), policy.hidden)), np.zeros((len(x), model.hidden), np.int16)
        y, y_int, h, h_int = _outputs(policy, model, h, h_int, x)
        exact.append(y)
        integer.append(y_int)
    return _agreement(name, np.stack(exact), np.stack(integer))


def _outputs(
    policy: FloatPolicy, model: IntegerModel, h: Float64, h_int: Int16, x: Int16
) -> tuple[Float64, Int16, Float64, Int16]:
    """One step of both: h, h_int (N, H), x (N, I) -> outputs (N, O), float and Q14, and the next states (N, H)."""
    h, y = policy.step(h, x.astype(np.float64) / 2**schema.FEATURE_FRAC)
    h_int, y_int = reference.step(model, h_int, x)
    return y, y_int, h, h_int


def _agreement(name: str, exact: Float64, integer: Int16) -> Agreement:
    """Compare outputs of one shape (..., O).

    An exact output smaller than one unit of the integer format has no sign: it agrees with -1, 0 and 1.
    """
    error_pct = np.abs(exact - integer * _ONE_OUTPUT_UNIT) / _OUTPUT_RANGE * 100
    no_sign = np.abs(exact) < _ONE_OUTPUT_UNIT
    agrees: NDArray[np.bool_] = np.where(
        no_sign, np.abs(integer.astype(np.int64)) <= 1, np.sign(exact) == np.sign(integer)
    )
    return Agreement(
        inputs=name,
        decisions=int(exact.size // exact.shape[-1]),
        mean_error_pct=float(error_pct.mean()),
        max_error_pct=float(error_pct.max()),
        sign_agreement_pct=float(agrees.mean() * 100),
    )
