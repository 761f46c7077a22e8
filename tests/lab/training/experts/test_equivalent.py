"""The action equivalent to a scheme's window and rate, beside what the module computes."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

from env import schema
from env.lab import Observation, Reply, VirtualLab
from env.network.path import Path as NetworkPath
from export.integer.native import Native
from training.experts.equivalent import cut, equivalent_actions

TRACED = re.compile(r"decision=(\d+) x=[-\d,]+ action=(-?\d+),(-?\d+)")


def test_the_equivalent_action_undoes_what_the_module_computes() -> None:
    native, rng = Native(), np.random.default_rng(1)
    cwnd_fp = rng.integers(4 << 8, 1 << 24, 2000).astype(np.uint32)
    did = rng.integers(-(1 << 14), 1 << 14, cwnd_fp.size).astype(np.int16)
    after = native.next_cwnd(cwnd_fp, did) / 256
    for before, action, reached in zip(cwnd_fp / 256, did / 2**schema.ACTION_FRAC, after, strict=True):
        window = np.array([before, reached])
        found = equivalent_actions(window, window, np.full(2, 1e3), np.full(2, 1448.0), sets_rate=False)[0, 0]
        assert found == pytest.approx(action, abs=4e-3)  # the root is cut to a whole number, windows to 1/256 packet


def test_the_equivalent_action_of_ndm_is_what_it_did() -> None:
    path = NetworkPath(rate_mbps=50, rtt_ms=40, buffer_bdp=1, loss_pct=0.2)
    with VirtualLab(seed=1, modules=("tcp_ndm", "tcp_expert")) as lab:
        lab.call("shell", command="echo ndm >/sys/module/tcp_expert/parameters/scheme")
        lab.begin_run(path, [{"scheme": "expert_ndm", "start_s": 0.0, "duration_s": 15.0}], 15.0, trace=True)
        seen = []
        while isinstance(frame := lab.receive(), Observation):
            seen.append(frame)
            lab.act(0.0, 0.0)
    assert isinstance(frame, Reply)
    matches = [TRACED.search(line) for line in frame.result["trace"]]
    did = np.array([[int(match[2]), int(match[3])] for match in matches if match])[:-1] / 2**schema.ACTION_FRAC
    cwnd, rate, srtt_us, mss = (
        np.array([getattr(o, name) for o in seen], np.float64) for name in ("cwnd", "pacing_rate", "srtt_us", "mss")
    )
    found = cut(equivalent_actions(cwnd, rate, srtt_us, mss))
    assert len(found) == len(did) > 200
    # the window of an observation is a whole number of packets, NDM's own has fractions; time-outs are the kernel's
    usual = np.array([after.ca_state < 4 and before.ca_state < 4 for before, after in pairwise(seen)])
    # until the first sign of a queue or a loss the window doubles, whatever NDM says (kernel/ndm/ndm_slow_start.h)
    rtt_ratio, loss_rate, rtt_gradient = np.array([o.features for o in seen])[:-1, [0, 5, 7]].T / 2**schema.FEATURE_FRAC
    signs = (rtt_ratio >= 1 / 8) | (rtt_gradient >= 1 / 8) | (loss_rate > 0)
    assert 1 <= signs.argmax() < 20
    usual[: signs.argmax()] = False
    rounding = np.log2(1 + 1 / np.minimum(cwnd[:-1], cwnd[1:]))
    held_back = (found[:, 0] < did[:, 0] - rounding) & (did[:, 0] > 0)  # growth needs a window that is used up
    close = np.abs(found[:, 0] - did[:, 0]) <= rounding + 1e-3
    drained = np.isin(np.arange(len(found)) % 64, [0, 1, 2, 16, 17, 18, 32, 33, 34])  # its window was half, for a while
    assert (close | held_back)[usual & ~drained].all()
    assert close[usual].mean() > 0.9
    assert np.abs(found[:, 1] - did[:, 1])[usual].max() < 0.01
    assert np.ptp(did[:, 0]) > 0.3, "a policy that always says the same shows nothing"
