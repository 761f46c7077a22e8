"""The proof that a model cannot overflow: safe, tight, and refused where it does not hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env import schema
from env.errors import UserError
from export.checks.proof import ANY_S16, Interval, prove
from export.formats.header import render_header
from export.integer import reference
from export.integer.model import INPUTS, OUTPUTS, IntegerModel, Provenance
from tests.support.models import random_model

SEEDS = st.integers(0, 2**32 - 1)


def test_tanh_is_monotonic() -> None:
    """As kernel/ndm/ndm_math.h says."""
    ends = (-8 << schema.HIDDEN_FRAC, (8 << schema.HIDDEN_FRAC) + 1)
    assert (np.diff(reference.tanh(np.arange(*ends, dtype=np.int64)).astype(np.int64)) >= 0).all()


def accumulators(model: IntegerModel, h: np.ndarray, x: np.ndarray) -> list[int]:
    """Every value that acc takes in ndm_core_step(), in Python's integers."""
    sums = []
    for w, u, b, frac in zip(model.w.tolist(), model.u.tolist(), model.b.tolist(), model.row_frac, strict=True):
        acc = 0
        for weight, value in zip(w, x.tolist(), strict=True):
            acc += weight * value
            sums.append(acc)
        acc *= 8
        sums.append(acc)
        for weight, value in zip(u, h.tolist(), strict=True):
            acc += weight * value
            sums.append(acc)
        acc += b << 15
        sums += [acc, acc + (1 << frac >> 1)]
    following, _ = reference.step(model, h[None, :], x[None, :])
    for v, c, frac in zip(model.v.tolist(), model.c.tolist(), model.out_frac, strict=True):
        acc = 0
        for weight, value in zip(v, following[0].tolist(), strict=True):
            acc += weight * value
            sums.append(acc)
        acc += c << 15
        sums += [acc, acc + (1 << (frac + 1) >> 1)]
    return sums


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_no_input_and_no_state_passes_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    bound = prove(model).accumulator
    ends = np.array([-32768, 32767], np.int16)
    for _ in range(20):
        h, x = rng.choice(ends, model.hidden), rng.choice(ends, INPUTS)
        assert max(map(abs, accumulators(model, h, x))) <= bound


def test_the_bound_is_met() -> None:
    """A row of positive weights reaches the bound with the smallest inputs and states."""
    rng = np.random.default_rng(1)
    rows = {
        "w": np.full((4, INPUTS), 3000, np.int16),
        "u": np.full((4, 4), 2000, np.int16),
        "b": np.full(4, -5, np.int16),
        "v": np.zeros((OUTPUTS, 4), np.int16),
        "c": np.zeros(OUTPUTS, np.int16),
        "row_frac": (0,) * 4,
    }
    model = random_model(rng, **rows)
    h, x = np.full(4, -32768, np.int16), np.full(INPUTS, -32768, np.int16)
    assert max(map(abs, accumulators(model, h, x))) == prove(model).accumulator
    assert prove(model).accumulator == 8 * INPUTS * 3000 * 32768 + 4 * 2000 * 32768 + 5 * 32768


def test_worst_weights_have_bits_to_spare() -> None:
    rng = np.random.default_rng(1)
    hidden = schema.HIDDEN_MAX
    worst = {name: np.full(shape, -32768, np.int16) for name, shape in (("w", (hidden, INPUTS)), ("b", (hidden,)))}
    worst |= {"u": np.full((hidden, hidden), -32768, np.int16), "row_frac": (22,) * hidden}
    proof = prove(random_model(rng, hidden, **worst))
    assert proof.accumulator <= (8 * INPUTS + 33) << 30  # what kernel/ndm/ndm_core.h says
    assert all(step.spare_bits >= 0 for step in proof.steps)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("row_frac", (0, 0, 63, 0), "row_frac is 63"),
        ("out_frac", (0, 70), "out_frac is 71"),
        ("row_frac", (62, 0, 0, -1), "row_frac is -1"),
    ],
)
def test_model_without_a_proof_is_not_exported(field: str, value: tuple[int, ...], message: str) -> None:
    model = random_model(np.random.default_rng(1))
    object.__setattr__(model, field, value)  # past the model's own checks
    with pytest.raises(UserError, match=message):
        prove(model)
    with pytest.raises(UserError, match="could overflow"):
        render_header(model, Provenance("x", "y", "0" * 64, "z", 1))


def test_wider_weights_are_refused() -> None:
    model = random_model(np.random.default_rng(1))
    object.__setattr__(model, "w", np.full((4, INPUTS), 1 << 17))
    with pytest.raises(UserError, match=r"w\[r\]\[i\] \* x\[i\] may be .* and has 32 bits"):
        prove(model)


def test_intervals() -> None:
    assert ANY_S16.times(-2) == Interval(-65534, 65536)
    assert Interval(-3, 5).right(1) == Interval(-2, 2)
    assert Interval(-30, 5).clamped(4) == Interval(-4, 4)
    assert Interval(-30, -9).clamped(4) == Interval(-4, -4)
