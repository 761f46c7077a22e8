"""Certify in which share of a situation a network itself acts safely, without the rules of the control law.

The method is interval bound propagation on the integer network, with branch and bound. A cell is a box of inputs and
recurrent states, in integers. The bounds on its action are exact sums over intervals, as in export/checks/proof.py.
Each step of ndm_core_step() is monotonic, so they hold for each input and state of the cell. A cell is *certified*
where the bounds prove the property, and *violated* where they exclude it. Otherwise it is cut in half across the input
or state that moves the action most, at most CUTS times.

The whole box has 10 inputs and up to 32 states, too many for all cells. The shares of the box are therefore estimated:
POINTS random points choose the half that is followed at each cut. The verdict on a point's cell is a proof. Only the
shares have a statistical error, of at most 1.1 percentage points (one standard deviation).

The idea is Canopy's (EuroSys 2026), which certifies a congestion controller of floating point in user space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from env import schema
from env.errors import UserError
from export.integer import reference, tables
from export.integer.model import INPUTS, Int16, Int64, IntegerModel

POINTS = 2048
CUTS = 128
MOST_VIOLATED = 0.8  # of each box; an export refuses a network that violates more

# Each window of two to three packets grows from this growth on (Q14, kernel/ndm/ndm_window.h).
SMALLEST_GROWS = -9186

_FULL = tuple((field.low, field.high) for field in schema.FEATURES)
_STATE = tables.TANH[-1]  # |h| is at most this
_CONGESTION = next(i for i, field in enumerate(schema.FEATURES) if field.name == "congestion")


@dataclass(frozen=True)
class Property:
    """What a network should do in a situation.

    situation, action, rule: in words, the situation, what the network should ask for, and the rule of the control law
    (docs/explanation/control-law.md) for a network that asks for something else. inputs: the situation, low and high
    of each input that it limits. at_most, at_least: of the action growth, Q14.
    """

    name: str
    situation: str
    action: str
    rule: str
    inputs: dict[str, tuple[float, float]]
    at_most: int = 1 << schema.ACTION_FRAC
    at_least: int = -(1 << schema.ACTION_FRAC)

    def box(self) -> tuple[Int64, Int64]:
        """Return the least and largest value of each input (I), FEATURE_FRAC fraction bits."""
        limits = [self.inputs.get(field.name, full) for field, full in zip(schema.FEATURES, _FULL, strict=True)]
        ends = np.rint(np.array(limits) * 2**schema.FEATURE_FRAC).astype(np.int64)
        return ends[:, 0], ends[:, 1]


PROPERTIES = (
    Property(
        "half_lost",
        "half of the packets are lost beyond twice the path's own share",
        "a factor of at most 1",
        "bound: the second such round trip of eight cuts the window",
        {"loss_rate": (0.5, 1.0)},
        at_most=0,
    ),
    Property(
        "long_queue",
        "the RTT is twice the minimum, without a loss beyond that share",
        "a factor of at most 1",
        "drain: the flow's part of the queue is emptied",
        {"rtt_ratio": (1.0, schema.FEATURE_LIMIT), "loss_rate": (0.0, 0.0)},
        at_most=0,
    ),
    Property(
        "empty_path",
        "the RTT is below 1.1 times the minimum, without a loss beyond that share",
        "growth from two packets",
        "window: no action holds it on an empty path",
        {"rtt_ratio": (0.0, 0.1), "loss_rate": (0.0, 0.0)},
        at_least=SMALLEST_GROWS,
    ),
)


@dataclass(frozen=True)
class Certificate:
    """The shares of a property's box, from 0 to 1. What is neither certified nor violated is undecided."""

    name: str
    certified: float
    violated: float

    @property
    def undecided(self) -> float:
        """The share of cells that CUTS cuts did not decide."""
        return max(0.0, 1 - self.certified - self.violated)


def table(certificates: Sequence[Certificate]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of a table of the certificates of `certify`."""
    rows = [
        [each.situation, each.action, *(f"{share:.1%}" for share in shares), each.rule]
        for each, shares in zip(PROPERTIES, ((c.certified, c.violated, c.undecided) for c in certificates), strict=True)
    ]
    return ["where", "the network asks for", "certified", "violated", "undecided", "otherwise"], rows


def certify(model: IntegerModel, points: int = POINTS, cuts: int = CUTS) -> tuple[Certificate, ...]:
    """Return the certificate of each property: about a second for 16 units."""
    return tuple(_certify(model, each, points, cuts) for each in PROPERTIES)


def refusals(certificates: Sequence[Certificate]) -> list[str]:
    """Return why a network is not exported: the situations in which it violates more than MOST_VIOLATED."""
    return [
        f"where {each.situation}, the network should ask for {each.action}, and does not in {certificate.violated:.0%} "
        f"of all inputs and states (at most {MOST_VIOLATED:.0%})"
        for certificate, each in zip(certificates, PROPERTIES, strict=True)
        if certificate.violated > MOST_VIOLATED
    ]


def require_certified(certificates: Sequence[Certificate], origin: str) -> None:
    """Raise UserError for a network that has a refusal. origin: for the message."""
    if found := refusals(certificates):
        raise UserError(
            f"{origin} is not exported: {'; '.join(found)}. Train on, or change the rule; see "
            "docs/explanation/proof.md. Nothing was written."
        )


def action_bounds(model: IntegerModel, low: Int64, high: Int64) -> tuple[Int64, Int64]:
    """Return the least and largest growth (N), Q14, of cells from low (N, I + H) to high (N, I + H)."""
    first = _states(model, low, high)
    last = _states(model, high, low)
    return _growth(model, first, last), _growth(model, last, first)


def _certify(model: IntegerModel, each: Property, points: int, cuts: int) -> Certificate:
    rng = np.random.default_rng(0)  # one draw for all models, so that equal weights have equal certificates
    least, largest = each.box()
    low = np.tile(np.concatenate([least, np.full(model.hidden, -_STATE)]), (points, 1))
    high = np.tile(np.concatenate([largest, np.full(model.hidden, _STATE)]), (points, 1))
    point = rng.integers(low, high, endpoint=True)
    point[:, _CONGESTION] = rng.choice([low[0, _CONGESTION], high[0, _CONGESTION]], points)  # it is -1 or 1
    influence = _influence(model)
    certified = violated = 0
    for cut in range(cuts + 1):
        lowest, highest = action_bounds(model, low, high)
        holds = (lowest >= each.at_least) & (highest <= each.at_most)
        fails = (highest < each.at_least) | (lowest > each.at_most)
        certified += int(holds.sum())
        violated += int(fails.sum())
        open_cells = ~(holds | fails)
        low, high, point = low[open_cells], high[open_cells], point[open_cells]
        if cut < cuts and len(low):
            _halve(low, high, point, influence)
    return Certificate(each.name, certified / points, violated / points)


def _halve(low: Int64, high: Int64, point: Int64, influence: NDArray[np.float64]) -> None:
    """Cut each cell in half across what moves the action most, and keep the half with its point."""
    rows = np.arange(len(low))
    across = ((high - low) * influence).argmax(axis=1)
    middle = (low[rows, across] + high[rows, across]) >> 1
    upper = point[rows, across] > middle
    low[rows[upper], across[upper]] = middle[upper] + 1
    high[rows[~upper], across[~upper]] = middle[~upper]


def _influence(model: IntegerModel) -> NDArray[np.float64]:
    """Return how much one step of each input and state (I + H) moves the action at most, up to a common factor."""
    scale = np.abs(model.v[0]) / 2.0 ** np.array(model.row_frac)  # (H)
    inputs = scale @ np.abs(model.w.astype(np.float64)) * 2 ** (schema.HIDDEN_FRAC - schema.FEATURE_FRAC)
    return np.concatenate([inputs, scale @ np.abs(model.u.astype(np.float64))])


def _states(model: IntegerModel, low: Int64, high: Int64) -> Int64:
    """Return the least state (N, H) that follows cells; with low and high exchanged, the largest."""
    acc = _least_sums(model.w, low[:, :INPUTS], high[:, :INPUTS]) << (schema.HIDDEN_FRAC - schema.FEATURE_FRAC)
    return reference.next_state(model, acc + _least_sums(model.u, low[:, INPUTS:], high[:, INPUTS:])).astype(np.int64)


def _growth(model: IntegerModel, low: Int64, high: Int64) -> Int64:
    """Return the least growth (N) of states from low to high (N, H); with these exchanged, the largest."""
    return reference.outputs(model, _least_sums(model.v, low, high))[:, 0].astype(np.int64)


def _least_sums(weights: Int16, low: Int64, high: Int64) -> Int64:
    """Return the least products (N, R) of weights (R, C) with values from low to high (N, C)."""
    wide = weights.T.astype(np.int64)
    return low @ np.maximum(wide, 0) + high @ np.minimum(wide, 0)
