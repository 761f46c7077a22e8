"""Prove for given weights that ndm_core_step() never overflows and that its outputs stay in range.

The proof is interval arithmetic over kernel/ndm/ndm_core.h, expression by expression. Each expression gets the interval
of its values over all int16 inputs and recurrent states, and this interval must lie within the expression's C type.
Multiplication with a constant and addition of independent terms are exact on intervals, and shift and clamp are
monotonic. Some input therefore reaches each end of the first sums: the bound is not only safe but tight
(tests/unit/export/test_proof.py reaches it).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from env import schema
from env.errors import UserError
from export.integer import reference, tables
from export.integer.model import IntegerModel

S16, S32, S64 = 16, 32, 64  # C types by their bits, all signed


@dataclass(frozen=True)
class Interval:
    """All integers from low to high."""

    low: int
    high: int

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def times(self, factor: int) -> Interval:
        """Return the products with a constant."""
        ends = sorted((self.low * factor, self.high * factor))
        return Interval(*ends)

    def right(self, shift: int) -> Interval:
        """Return the arithmetic right shifts."""
        return Interval(self.low >> shift, self.high >> shift)

    def clamped(self, limit: int) -> Interval:
        """Return the values clamped to -limit to limit."""
        return Interval(max(-limit, min(limit, self.low)), max(-limit, min(limit, self.high)))

    def joined(self, other: Interval) -> Interval:
        """Return the smallest interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    @property
    def largest(self) -> int:
        """The largest magnitude."""
        return max(abs(self.low), abs(self.high))


ANY_S16 = Interval(-(1 << 15), (1 << 15) - 1)


@dataclass(frozen=True)
class Step:
    """One expression of ndm_core_step() over all rows. bits: size of its C type."""

    expression: str
    values: Interval
    bits: int

    @property
    def spare_bits(self) -> int:
        """How many times the largest value could be doubled within the type."""
        return self.bits - 1 - self.values.largest.bit_length()


@dataclass(frozen=True)
class Proof:
    """The intervals of all expressions, each within its type. accumulator: upper bound of |acc|."""

    steps: tuple[Step, ...]
    accumulator: int


def prove(model: IntegerModel) -> Proof:
    """Return the proof for all int16 inputs and states. Raises UserError that names what could overflow."""
    steps: dict[str, Step] = {}

    def holds(expression: str, values: Interval, bits: int) -> Interval:
        earlier = steps.get(expression)
        steps[expression] = Step(expression, values if earlier is None else earlier.values.joined(values), bits)
        if not (-(1 << (bits - 1)) <= values.low and values.high < 1 << (bits - 1)):
            raise UserError(
                f"the model could overflow: {expression} may be {values.low} to {values.high}, and has {bits} bits"
            )
        return values

    def dot(name: str, weights: list[int], values: Interval, acc: Interval) -> Interval:
        even = [*weights, *[0] * (len(weights) % 2)]
        for pair in zip(even[::2], even[1::2], strict=True):
            products = [holds(name, values.times(weight), S32) for weight in pair]
            both = functools.reduce(Interval.__add__, products)
            holds(f"two of {name}, less 1", both + Interval(-1, -1), S32)
            for product in products:
                acc = holds(f"sum of {name}", acc + product, S64)
        return acc

    def rounded(acc: Interval, shift: int, name: str) -> Interval:
        if not 0 <= shift < S64 - 1:
            raise UserError(f"the model could overflow: {name} is {shift}; a shift of 64 bits takes 0 to 62")
        if not shift:
            return acc
        half = Interval(1 << (shift - 1), 1 << (shift - 1))
        return holds("acc + ((1LL << shift) >> 1)", acc + half, S64).right(shift)

    none = Interval(0, 0)
    hidden = Interval(0, 0)
    for w, u, b, frac in zip(model.w.tolist(), model.u.tolist(), model.b.tolist(), model.row_frac, strict=True):
        acc = dot("w[r][i] * x[i]", w, ANY_S16, none)
        acc = holds("sum *= 1 << 3", acc.times(1 << (schema.HIDDEN_FRAC - schema.FEATURE_FRAC)), S64)
        acc = dot("u[r][j] * h[j]", u, ANY_S16, acc)
        acc = holds("sum + b[r]", acc + Interval(b, b).times(1 << schema.HIDDEN_FRAC), S64)
        before = rounded(acc, frac, "row_frac").clamped(tables.TANH_LIMIT << schema.HIDDEN_FRAC)
        hidden = hidden.joined(holds("h[r] = ndm_tanh()", _tanh(holds("x of ndm_tanh()", before, S32)), S16))
    holds("(table[i + 1] - y) * fraction + half", _tanh_product(), S32)
    for v, c, frac in zip(model.v.tolist(), model.c.tolist(), model.out_frac, strict=True):
        acc = dot("v[k][j] * h'[j]", v, hidden, none)
        acc = holds("sum + c[k]", acc + Interval(c, c).times(1 << schema.HIDDEN_FRAC), S64)
        out = rounded(acc, frac + schema.HIDDEN_FRAC - schema.ACTION_FRAC, "out_frac")
        holds("out[k]", out.clamped(1 << schema.ACTION_FRAC), S16)
    largest = max(step.values.largest for step in steps.values() if step.expression.startswith(("sum", "acc")))
    return Proof(tuple(steps.values()), largest)


@functools.cache  # most rows reach both limits of tanh's argument, so the interval repeats
def _tanh(values: Interval) -> Interval:
    """Return the range of ndm_tanh() from all its values, because interpolation need not be monotonic."""
    results = reference.tanh(np.arange(values.low, values.high + 1, dtype=np.int64))
    return Interval(int(results.min()), int(results.max()))


def _tanh_product() -> Interval:
    """Return the largest intermediate product of ndm_tanh() over its whole table."""
    steps = np.diff(np.array(tables.TANH, dtype=np.int64))
    shift = schema.HIDDEN_FRAC - tables.TANH_STEPS_LOG2
    most = ((1 << shift) - 1) * np.array([steps.min(), steps.max()]) + (1 << (shift - 1))
    return Interval(min(0, int(most[0])), int(most[1]))
