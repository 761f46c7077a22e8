"""No profile draws what is held out, and the bands are what they say."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import yaml

from env.errors import UserError
from env.network.path import Path
from env.network.scenario import load_scenario
from env.profile import PathSampler, load_profile, profile_from_config, profile_names
from env.profile.held_out import (
    BANDED,
    draw_in_band,
    held_out_bands,
    in_band,
    is_held_out,
    outside_bands,
    read_bands,
    within_band,
)

WIDE = {"log_uniform": [0.1, 1000]}


def test_bands_lie_inside_and_outside_the_mixed_ranges() -> None:
    ranges = {"rate_mbps": (1, 200), "rtt_ms": (10, 300), "buffer_bdp": (0.25, 8)}
    for name, (low, high) in ranges.items():
        bands = held_out_bands()[name]
        assert bands[0][1] < low
        assert bands[-1][0] > high
        assert all(low < begin and end < high for begin, end in bands[1:-1])


@pytest.mark.parametrize("name", profile_names())
def test_no_profile_draws_from_a_band(name: str) -> None:
    profile = load_profile(name)
    sampler, rng = PathSampler(profile), np.random.default_rng(1)
    given = {mix.scenario for mix in profile.paths.values()} - {None}
    of_scenarios = [load_scenario(scenario).network_path() for scenario in given if scenario]
    for _ in range(3000):
        path = sampler.draw(rng).path
        assert not is_held_out(path)
        if path not in of_scenarios:
            assert not [field for field in BANDED if in_band(field, getattr(path, field))], path


def test_profile_over_all_bands_avoids_them() -> None:
    everything = {"name": "wide", "paths": {"all": dict.fromkeys(BANDED, WIDE)}}
    sampler, rng = PathSampler(profile_from_config(everything)), np.random.default_rng(1)
    paths = [sampler.draw(rng).path for _ in range(1000)]
    for field in BANDED:
        values = [getattr(path, field) for path in paths]
        assert not any(in_band(field, value) for value in values)
        # on both sides of every band
        for (_, end), (begin, _) in itertools.pairwise(held_out_bands()[field]):
            assert any(end < value < begin for value in values)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"rate_mbps": {"fixed": 7}}, "paths.p.rate_mbps is 7: configs/held_out.yaml keeps 0.5 to 0.8, 6 to 9, "),
        ({"rtt_ms": {"choice": [20, 15, 70]}}, "paths.p.rtt_ms is 15, 70: configs/held_out.yaml keeps"),
        (
            {"buffer_bdp": {"log_uniform": [0.65, 0.7]}},
            "buffer_bdp is from 0.65 to 0.7: configs/held_out.yaml keeps",
        ),
        ({"scenario": "access/lte"}, "scenario access/lte is held out"),
    ],
)
def test_held_out_profile_is_refused(part: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        profile_from_config({"name": "bad", "paths": {"p": part}})


def test_profiles_outside_the_bands_are_accepted() -> None:
    for part in ({"rate_mbps": {"choice": [10, 20]}}, {"rate_mbps": {"uniform": [5, 7]}}, {"loss_pct": {"fixed": 0.7}}):
        profile_from_config({"name": "good", "paths": {"p": part}})


def test_path_is_held_out_with_all_numbers() -> None:
    inside = {"rate_mbps": 7.0, "rtt_ms": 70.0, "buffer_bdp": 0.7}
    assert is_held_out(Path(**inside))
    for name in BANDED:
        assert not is_held_out(Path(**(inside | {name: 1.0 if name != "rtt_ms" else 100.0})))
    assert is_held_out(Path(trace="held_out/wifi"))
    assert not is_held_out(Path(trace="train/wifi"))
    assert not is_held_out(load_scenario("stress").network_path())


def test_band_ends_belong_to_the_band() -> None:
    low, high = held_out_bands()["rate_mbps"][1]
    assert in_band("rate_mbps", low)
    assert in_band("rate_mbps", high)
    assert not in_band("rate_mbps", high * 1.001)
    assert within_band("rate_mbps", low, high)
    assert not within_band("rate_mbps", low * 0.99, high)
    assert not in_band("loss_pct", 7.0)


def test_values_are_drawn_again_until_they_lie_outside() -> None:
    values = iter([7.0, 7.5, 12.0])
    assert outside_bands("rate_mbps", lambda: next(values)) == 12.0
    assert outside_bands("rate_mbps", lambda: None) is None


def test_draws_reach_every_band_and_nothing_else() -> None:
    rng = np.random.default_rng(1)
    for name in BANDED:
        values = [draw_in_band(name, rng) for _ in range(500)]
        assert all(in_band(name, value) for value in values)
        for low, high in held_out_bands()[name]:
            assert any(low <= value <= high for value in values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rate_mbps": [[2, 1]]}, "0 < low < high"),
        ({"rate_mbps": []}, "must have a band"),
        ({"rate_mbps": [[0, 1]]}, "0 < low < high"),
        ({"rate_mbps": [[1, 2], [2, 3]]}, "must be in ascending order and not touch"),
        ({"rate_mbps": [1, 2]}, r"a list of \[low, high\]"),
        ({"rate": [[1, 2]]}, "its keys must be rate_mbps"),
    ],
)
def test_invalid_bands_are_refused(change: dict[str, Any], message: str) -> None:
    good = {key: [[1, 2], [3, 4]] for key in BANDED}
    assert read_bands(yaml.safe_dump(good))["rtt_ms"] == ((1, 2), (3, 4))
    with pytest.raises(UserError, match=message):
        read_bands(yaml.safe_dump(good | change))
