"""The scenarios of the winning rates: held out, many, and the same every time."""

from __future__ import annotations

from compare.statistics.winning_rates import is_friendliness, is_single_flow
from compare.targets.catalogue.held_out import COMPETING, MAX_PACKETS, PAIRS, SINGLES, held_out_scenarios
from env.network.path import Path
from env.profile.held_out import held_out_bands, in_band, is_held_out

SCENARIOS = held_out_scenarios()
PATHS = [scenario.network_path() for scenario in SCENARIOS]


def test_at_least_200_scenarios_count() -> None:
    assert len(SCENARIOS) == SINGLES + PAIRS
    assert SINGLES >= 200
    assert sum(map(is_single_flow, SCENARIOS)) == SINGLES
    assert sum(map(is_friendliness, SCENARIOS)) == PAIRS
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS)
    assert len(set(PATHS)) == len(PATHS)


def test_every_path_is_held_out() -> None:
    assert all(map(is_held_out, PATHS))
    for path in PATHS:
        assert in_band("rtt_ms", path.rtt_ms)
        assert in_band("buffer_bdp", path.buffer_bdp)
        assert path.trace.startswith("held_out/") or in_band("rate_mbps", path.rate_mbps)


def test_every_band_is_reached() -> None:
    for name, bands in held_out_bands().items():
        values = [getattr(path, name) for path in PATHS if not path.trace]
        assert all(any(low <= value <= high for value in values) for low, high in bands), name


def test_draw_repeats_and_extends() -> None:
    assert held_out_scenarios() == SCENARIOS
    assert held_out_scenarios(3, 2) == (*SCENARIOS[:3], *SCENARIOS[SINGLES : SINGLES + 2])


def test_all_kinds_are_there() -> None:
    alone: list[Path] = PATHS[:SINGLES]
    for kind in (
        [path for path in alone if path.trace],
        [path for path in alone if path.loss_pct],
        [path for path in alone if path.jitter_ms],
        [path for path in alone if not (path.trace or path.loss_pct or path.jitter_ms)],
    ):
        assert len(kind) >= SINGLES / 20
    rivals = [flow.scheme for scenario in SCENARIOS[SINGLES:] for flow in scenario.flows[1:]]
    assert set(rivals) == set(COMPETING)
    assert rivals.count("cubic") > PAIRS / 3


def test_a_run_of_all_of_them_is_affordable() -> None:
    """Megabits that are sent at most, which is what the lab takes its time for: about 2,500 of them a second a core."""
    assert max(path.bdp_bytes / 1514 + path.buffer_packets for path in PATHS) <= MAX_PACKETS
    megabits = sum(path.rate_mbps * scenario.duration_s for path, scenario in zip(PATHS, SCENARIOS, strict=True))
    assert megabits / 2500 < 180
