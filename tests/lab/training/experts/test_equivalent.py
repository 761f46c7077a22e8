"""The action that is equivalent to a scheme's window and rate, against what the module computes."""

from __future__ import annotations

import numpy as np
import pytest

from env import schema
from env.lab import Lab, Observation, Reply
from env.network.path import Path as NetworkPath
from export.integer.native import Native
from tests.support.labs import shared_lab, traced_decisions
from training.experts.equivalent import clipped, equivalent_actions


def test_equivalent_action_inverts_the_modules_window() -> None:
    native, rng = Native(), np.random.default_rng(1)
    cwnd_fp = rng.integers(4 << 8, 1 << 24, 2000).astype(np.uint32)
    did = rng.integers(-(1 << 14), 1 << 14, cwnd_fp.size).astype(np.int16)
    after = native.next_cwnd(cwnd_fp, did) / 256
    for before, action, reached in zip(cwnd_fp / 256, did / 2**schema.ACTION_FRAC, after, strict=True):
        window = np.array([before, reached])
        computed = equivalent_actions(window, window, np.full(2, 1e3), np.full(2, 1448.0), sets_rate=False)[0, 0]
        # the root is rounded down, windows to 1/256 packet, which matters more where a sixteenth of the window stays
        assert computed == pytest.approx(action, abs=4e-3 if action > -0.5 else 2e-2)


lab = shared_lab("tcp_ndm", "tcp_expert", setup="echo ndm >/sys/module/tcp_expert/parameters/scheme")


def test_equivalent_action_of_ndm_is_its_action(lab: Lab) -> None:
    path = NetworkPath(rate_mbps=50, rtt_ms=40, buffer_bdp=1)
    lab.begin_run(path, [{"scheme": "expert_ndm", "start_s": 0.0, "duration_s": 15.0}], 15.0, trace=True)
    seen = []
    while isinstance(frame := lab.receive(), Observation):
        seen.append(frame)
        lab.act(0.0, 0.0)
    assert isinstance(frame, Reply)
    did = np.array([decision.action for decision in traced_decisions(frame.result["trace"])])
    did = did[:-1] / 2**schema.ACTION_FRAC
    cwnd, rate, srtt_us, mss = (
        np.array([getattr(o, name) for o in seen], np.float64) for name in ("cwnd", "pacing_rate", "srtt_us", "mss")
    )
    computed = clipped(equivalent_actions(cwnd, rate, srtt_us, mss))
    assert len(computed) == len(did) > 200
    # an observation's window is a whole number of packets, NDM's has fractions; from a loss to the next decision, and
    # after a time-out, the kernel's window is not the flow's (kernel/ndm/ndm_recovery.h)
    lost = np.diff([o.lost for o in seen], prepend=0) > 0
    recovers = lost | np.array([o.ca_state >= 3 for o in seen])
    usual = ~(recovers[:-1] | recovers[1:])
    # the window doubles until two signs of a queue or a loss (kernel/ndm/ndm_slow_start.h)
    features = np.array([o.features for o in seen])[:-1].T / 2**schema.FEATURE_FRAC
    rtt_ratio, loss_rate, rtt_gradient, delivery_ratio, inflight_ratio = features[[0, 5, 7, 8, 9]]
    signs = (rtt_ratio >= 1 / 8) | (rtt_gradient >= 1 / 8) | (loss_rate > 0)
    assert 1 <= signs.argmax() < 20
    usual[: signs.argmax() + 3] = False
    rounding = np.log2(1 + 1 / np.minimum(cwnd[:-1], cwnd[1:]))
    held_back = (computed[:, 0] < did[:, 0] - rounding) & (did[:, 0] > 0)  # growth needs a window that is used up
    # in company, for 32 decisions, an observation has the queue times cwnd / 64 (kernel/ndm/ndm_company.h)
    scale = np.clip(cwnd[:-1] / 64, 1 / 2, 2)
    delivered = np.diff([o.delivered for o in seen], prepend=0)[:-1]
    shows = (rtt_ratio / scale > 1 / 8) & (delivery_ratio < 13 / 16) & (delivered >= 16)
    company = np.convolve(shows, np.ones(32))[: shows.size] > 0
    queue = np.where(company, rtt_ratio / scale, rtt_ratio)
    # on a path without a queue a small step counts as one up (kernel/ndm/ndm_control.h)
    empty = (queue < 1 / 32) | ((queue < 1 / 8) & (inflight_ratio < 1))
    hesitates = (did[:, 0] > -1 / 4) & (did[:, 0] < 1 / 16) & empty
    held_back |= (computed[:, 0] > did[:, 0]) & hesitates
    close = np.abs(computed[:, 0] - did[:, 0]) <= rounding + 1e-3
    # a drain leaves three quarters of the window or less, for two decisions (kernel/ndm/ndm_drain.h)
    begins = computed[:, 0] < did[:, 0] - 0.25
    drained = begins | np.roll(begins, 1) | np.roll(begins, 2)
    assert 1 <= begins.sum() < len(begins) / 30
    assert (close | held_back)[usual & ~drained].all()
    assert close[usual & ~hesitates].mean() > 0.9
    assert np.abs(computed[:, 1] - did[:, 1])[usual].max() < 0.01
    assert np.ptp(did[:, 0]) > 0.3, "a constant policy shows nothing"
