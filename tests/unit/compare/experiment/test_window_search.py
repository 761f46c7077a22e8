"""The search for the best constant window, on paths whose answer is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from compare.experiment.window_search import RESOLUTION, SEEDS, WindowSearch, largest_window
from env.network.chain import Chain, ChainLink
from env.network.path import Path
from env.network.rack import Rack
from env.network.scenario import load_scenario


def searched(mbps: Callable[[int, int], float | None], most: int) -> WindowSearch:
    """Search with what a window and a seed give."""
    search = WindowSearch(most)
    while runs := search.next_runs():
        for packets, seed in runs:
            assert 1 <= packets <= most
            assert seed not in search.tried.setdefault(packets, {}), "nothing is run twice"
            search.tried[packets][seed] = mbps(packets, seed)
    return search


@pytest.mark.parametrize("pipe", [1, 2, 7, 31, 67, 100, 640, 900])
def test_search_finds_the_window_that_fills_the_path(pipe: int) -> None:
    search = searched(lambda packets, _: min(packets, pipe) / pipe, 1000)
    best = search.best()
    assert best is not None
    assert 0.99 * pipe <= best <= max(RESOLUTION * pipe, pipe + 1)
    assert len(search.tried) <= 20


@pytest.mark.parametrize("peak", [3, 8, 21, 50, 90])
def test_search_finds_a_peak_between_powers_of_two(peak: int) -> None:
    # falling on both sides, as goodput does where a larger window overruns a small buffer
    best = searched(lambda packets, _: 1 / (1 + math.log2(packets / peak) ** 2), 97).best()
    assert best is not None
    assert peak / RESOLUTION - 1 <= best <= peak * RESOLUTION + 1


def test_the_smallest_of_windows_that_give_as_much() -> None:
    search = searched(lambda *_: 5.0, 500)
    assert (search.best(), len(search.tried)) == (1, 10), "flat: the powers of two say it all"


def test_window_with_failed_run_is_not_chosen() -> None:
    assert searched(lambda packets, _: None if packets == 64 else min(packets, 64), 64).best() == pytest.approx(
        61, abs=4
    )
    assert searched(lambda *_: None, 64).best() is None


def test_three_seeds_are_enough_when_they_agree() -> None:
    assert {len(seeds) for seeds in searched(lambda packets, _: min(packets, 40), 300).tried.values()} == {3}


def test_noisy_windows_are_run_with_more_seeds() -> None:
    def noisy(packets: int, seed: int) -> float:
        """Ten is the best, but two of the three scouts are unlucky with it."""
        return 10 - abs(math.log2(packets / 10)) - (3 if seed in SEEDS[:2] and 5 < packets < 18 else 0)

    search = searched(noisy, 97)
    assert search.best() in (9, 10, 11)
    assert len(search.tried[1]) == 3, "windows that cannot win are not tried again"
    assert search.tried == searched(noisy, 97).tried, "the same goodputs lead to the same windows"


def test_what_is_tried_is_bounded_by_the_path() -> None:
    # 20 Mbit/s x 40 ms is 66 frames, and as many wait
    assert largest_window(Path(rate_mbps=20, rtt_ms=40, buffer_bdp=1)) == pytest.approx(2 * 133, abs=3)
    faster = {"rate_mbps": 20, "rtt_ms": 40, "buffer_bdp": 1, "steps": [{"at_s": 1, "rate_mbps": 200}]}
    assert largest_window(Path.from_dict(faster)) == pytest.approx(2 * (660 + 67), abs=3)
    assert largest_window(Path(rate_mbps=0.01, rtt_ms=0, buffer_bdp=0)) == 2 * 4
    assert largest_window(load_scenario("fiber").network) == 97, "6 MB of receive buffer in segments of 64 KB"
    assert largest_window(Path(rate_mbps=100_000, rtt_ms=20_000)) < 1_000_000
    assert 2000 < largest_window(Rack()) < 3000
    chain = Chain((ChainLink(rate_mbps=20, delay_ms=10), ChainLink(rate_mbps=10, delay_ms=10)))
    assert largest_window(chain) == pytest.approx(2 * (66 + 67 + 34), abs=3)


def test_search_and_comparison_share_no_seeds() -> None:
    from compare.experiment.experiment import MAX_SEEDS

    assert min(SEEDS) > MAX_SEEDS
