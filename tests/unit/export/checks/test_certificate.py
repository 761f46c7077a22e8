"""The certificates: bounds that hold for each point of a cell, shares that agree with sampling, refused networks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env import schema
from env.errors import UserError
from export.checks.certificate import (
    MOST_VIOLATED,
    PROPERTIES,
    Certificate,
    action_bounds,
    certify,
    require_certified,
    table,
)
from export.integer import reference
from export.integer.model import INPUTS
from tests.support.models import constant, random_model

ONE = 1 << schema.ACTION_FRAC


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, schema.HIDDEN_MAX), st.integers(0, 15))
def test_bounds_hold_for_each_point_of_a_cell(seed: int, hidden: int, shift: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_model(rng, hidden)
    ends = np.sort(rng.integers(-32768, 32768, (2, 1, INPUTS + hidden)), axis=0)
    low, high = ends[0], ends[0] + (ends[1] - ends[0] >> shift)
    points = rng.integers(low, high, (200, INPUTS + hidden), endpoint=True).astype(np.int16)
    _, actions = reference.step(model, points[:, INPUTS:], points[:, :INPUTS])
    lowest, highest = action_bounds(model, low, high)
    assert lowest[0] <= actions[:, 0].min()
    assert actions[:, 0].max() <= highest[0]


def test_the_bounds_of_a_point_are_its_action() -> None:
    rng = np.random.default_rng(1)
    model = random_model(rng, 8)
    points = rng.integers(-32768, 32768, (100, INPUTS + 8))
    _, actions = reference.step(model, points[:, INPUTS:].astype(np.int16), points[:, :INPUTS].astype(np.int16))
    for bound in action_bounds(model, points, points):
        assert bound.tolist() == actions[:, 0].tolist()


def test_tanh_is_monotonic() -> None:
    """This is what makes the bounds hold."""
    ends = (-8 << schema.HIDDEN_FRAC, (8 << schema.HIDDEN_FRAC) + 1)
    assert (np.diff(reference.tanh(np.arange(*ends, dtype=np.int64)).astype(np.int64)) >= 0).all()


@pytest.mark.parametrize(
    ("growth", "certified"),
    [(0, (1, 1, 1)), (1, (0, 0, 1)), (ONE, (0, 0, 1)), (-9186, (1, 1, 1)), (-9187, (1, 1, 0)), (-ONE, (1, 1, 0))],
)
def test_constant_actions_are_decided_everywhere(growth: int, certified: tuple[int, ...]) -> None:
    certificates = certify(constant(growth, 0), points=64)
    assert tuple(each.certified for each in certificates) == certified
    assert all(each.certified + each.violated == 1 for each in certificates)


def test_shares_agree_with_sampled_points() -> None:
    rng = np.random.default_rng(3)
    points = 4000
    for _ in range(5):
        # scales with which tanh is not saturated everywhere
        model = random_model(rng, 3, row_frac=(15,) * 3, out_frac=(16, 16))
        for certificate, each in zip(certify(model, points=1000), PROPERTIES, strict=True):
            low, high = each.box()
            x = rng.integers(low, high, (points, INPUTS), endpoint=True).astype(np.int16)
            x[:, 3] = rng.choice([-4096, 4096], points)
            h = rng.integers(-32767, 32768, (points, 3)).astype(np.int16)
            action = reference.step(model, h, x)[1][:, 0]
            share = ((action >= each.at_least) & (action <= each.at_most)).mean()
            assert certificate.undecided < 0.5
            assert certificate.certified - 0.06 <= share <= 1 - certificate.violated + 0.06, (certificate, share)


def test_more_cuts_decide_more() -> None:
    model = random_model(np.random.default_rng(5), 4, row_frac=(15,) * 4, out_frac=(16, 16))
    few, many = (certify(model, points=500, cuts=cuts) for cuts in (4, 64))
    for rough, fine in zip(few, many, strict=True):
        assert rough.certified <= fine.certified
        assert rough.violated <= fine.violated
    assert sum(each.undecided for each in many) < sum(each.undecided for each in few)


def test_situations_are_those_of_their_texts() -> None:
    lost, queue, empty = (each.box() for each in PROPERTIES)
    names = [field.name for field in schema.FEATURES]
    loss, rtt = names.index("loss_rate"), names.index("rtt_ratio")
    assert (lost[0][loss], lost[1][loss]) == (2048, 4096)
    assert (queue[0][rtt], queue[1][rtt], queue[0][loss], queue[1][loss]) == (4096, 32767, 0, 0)
    assert (empty[0][rtt], empty[1][rtt], empty[0][loss], empty[1][loss]) == (0, 410, 0, 0)


def test_a_network_that_violates_too_much_is_refused() -> None:
    good = [Certificate(each.name, 0.0, MOST_VIOLATED) for each in PROPERTIES]
    require_certified(good, "x")
    bad = [*good[:1], Certificate("long_queue", 0.1, MOST_VIOLATED + 0.01), *good[2:]]
    with pytest.raises(UserError, match=r"x is not exported: where the RTT is twice .* in 81% of .* 80%"):
        require_certified(bad, "x")


def test_table_has_a_row_for_each_property() -> None:
    head, rows = table([Certificate(each.name, 0.5, 0.125) for each in PROPERTIES])
    assert len(head) == 6
    assert [row[2:5] for row in rows] == [["50.0%", "12.5%", "37.5%"]] * 3
