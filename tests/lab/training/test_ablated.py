"""A training with ablated inputs, interrupted, resumed and exported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from env.schema import FEATURES
from export import checkpoint
from export.pipeline import build_model
from tests.support.commands import train

NAMES = [feature.name for feature in FEATURES]
BLIND = ["rtt_variation", "rtt_gradient"]
UNSEEN = [NAMES.index(name) for name in BLIND]
SEEN = [i for i in range(len(NAMES)) if i not in UNSEEN]


@pytest.mark.timeout(900)
def test_a_training_interrupted_and_resumed_exports_zeros(tmp_path: Path) -> None:
    run = tmp_path / "cut"
    words = ["profile=bottleneck", "debug=smoke", f"algo.blind=[{','.join(BLIND)}]", "algo.recurrent=false"]
    train(*words, f"runs={tmp_path}", "name=cut", "algo.total_decisions=1000")
    before = checkpoint.load(run)
    train(f"resume={run}", "algo.total_decisions=2000")
    after = checkpoint.load(run)
    assert after["decisions"] > before["decisions"]
    assert after["sha256"] != before["sha256"]
    model = build_model(run).model
    assert not model.w[:, UNSEEN].any()
    assert not model.u.any()
    assert np.count_nonzero(model.w[:, SEEN].any(axis=0)) == len(SEEN)
    assert not after["policy"]["rnn.weight_hh_l0"].any()
    assert not after["policy"]["rnn.weight_ih_l0"][:, UNSEEN].any()
    _, errors = train(f"resume={run}", "algo.total_decisions=3000", "algo.blind=[entropy]", status=1)
    assert "set these options in a new run" in errors
