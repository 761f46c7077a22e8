"""What a model was trained for, as its files say it."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from env.profile import load_profile, profile_names
from export.formats.envelope import describe
from export.integer.model import ENVELOPE_MAX


def test_ranges_rivals_and_traces_are_described() -> None:
    text = describe(asdict(load_profile("wireless")))
    assert "lossy: rate_mbps 2..60, rtt_ms 10..150, buffer_bdp 0.5..8, loss_pct 0..2, jitter_ratio 0.05..0.5" in text
    assert "rate_step 0.1..10" in text
    assert "learners 1|2|3, traces train/lte-driving|train/wifi|train/5g-walking, beside cubic|bbr" in text
    assert describe(asdict(load_profile("bottleneck"))) == "scenario bottleneck"


@pytest.mark.parametrize("name", profile_names())
def test_every_profile_fits_a_model_file(name: str) -> None:
    profile = load_profile(name)
    text = describe(asdict(profile))
    assert text.isascii()
    assert len(text) <= ENVELOPE_MAX
    assert text.count(";") == len(profile.paths) - 1
