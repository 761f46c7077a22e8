"""Web traffic: the sizes and pauses that are drawn, and the flows in the lab."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from env.checkout import ROOT
from env.lab import Lab
from env.network.path import Path as NetworkPath
from tests.support.labs import shared_lab
from tests.support.tools import compile_library

HEADER = ROOT / "env" / "network" / "traffic" / "flow" / "web.h"
DRAWS = 200_000
WEB = {"scheme": "cubic", "start_s": 0, "duration_s": 20, "kind": "web", "size_bytes": 50_000, "pause_s": 0.5}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Compile web.h into a library."""
    source = tmp_path_factory.mktemp("web") / "web.c"
    source.write_text(
        f"""#include "{HEADER}"
        void sizes(uint64_t seed, size_t mean, int n, double *to) {{ while (n--) *to++ = web_size(&seed, mean); }}
        void pauses(uint64_t seed, int n, double *to) {{ while (n--) *to++ = web_exponential(&seed); }}
        """
    )
    return ctypes.CDLL(str(compile_library(source, source.parent)))


def drawn(library: ctypes.CDLL, seed: int, mean: int) -> np.ndarray:
    to = np.empty(DRAWS)
    library.sizes(ctypes.c_uint64(seed), ctypes.c_size_t(mean), DRAWS, to.ctypes.data_as(ctypes.c_void_p))
    return to


def test_sizes_have_the_mean_and_a_heavy_tail(library: ctypes.CDLL) -> None:
    sizes = drawn(library, 1, 90_000)
    # 200,000 draws with a deviation of 6 times the mean: one standard error is 1.4 %
    assert sizes.mean() == pytest.approx(90_000, rel=0.05)
    assert sizes.min() >= 10_000
    assert sizes.max() < 10_000 * 2**11
    for octave in range(1, 8):
        assert (sizes >= 10_000 * 2**octave).mean() == pytest.approx(0.5**octave, rel=0.1)


def test_the_same_seed_draws_the_same_sizes(library: ctypes.CDLL) -> None:
    assert (drawn(library, 7, 5000) == drawn(library, 7, 5000)).all()
    assert (drawn(library, 7, 5000) != drawn(library, 8, 5000)).any()
    assert drawn(library, 7, 1).min() >= 1


def test_pauses_are_exponential(library: ctypes.CDLL) -> None:
    to = np.empty(DRAWS)
    library.pauses(ctypes.c_uint64(3), DRAWS, to.ctypes.data_as(ctypes.c_void_p))
    assert to.mean() == pytest.approx(1, rel=0.02)
    assert to.std() == pytest.approx(1, rel=0.03)
    for time in (0.1, 0.5, 1.5, 3, 5):
        assert (to > time).mean() == pytest.approx(np.exp(-time), rel=0.1)


lab = shared_lab()


def test_users_pause_and_wait_for_replies(lab: Lab) -> None:
    result = lab.run(NetworkPath(rate_mbps=100, rtt_ms=20), [WEB] * 8, 20.0)
    assert len({flow.seed for flow in result.flows}) == 8
    for flow in result.flows:
        latency = flow.latency
        assert latency is not None
        # 20 s hold about 30 pauses of 0.5 s with transfers of 0.2 s
        assert 12 <= latency.count <= 60
        assert latency.histogram[0][1] >= 20_000, "a transfer takes at least one round trip"
        assert flow.received_bytes > latency.count * 50_000 / 9


def test_small_transfers_take_one_round_trip(lab: Lab) -> None:
    small = WEB | {"size_bytes": 900}
    latency = lab.run(NetworkPath(rate_mbps=100, rtt_ms=20), [small], 20.0).flows[0].latency
    assert latency is not None
    assert latency.p50_us == pytest.approx(20_000, rel=0.05)
