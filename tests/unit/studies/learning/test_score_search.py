"""The settings of a search by the joint score."""

from pathlib import Path

import numpy as np
import pytest

from env.errors import UserError
from export.integer.quantize import FloatPolicy
from studies.learning.score_search import main, parse, vector

MODEL, RULE = "datasets/models/mixed", "rules/one_neuron.yaml"


@pytest.mark.parametrize(
    ("start", "weights", "tuned"),
    [
        (MODEL, "readout", 34),
        (RULE, "named", 4),
    ],
)
def test_what_a_search_changes(tmp_path: Path, start: str, weights: str, tuned: int) -> None:
    settings = parse([str(tmp_path), start, "--weights", weights])
    before = vector(settings.start)
    assert settings.steps.shape == (before.size, tuned)
    moved, still = (
        vector(FloatPolicy.from_state_dict(settings.policy(np.full(tuned, size)))).astype(np.float32)
        for size in (0.1, 0.0)
    )
    assert set(np.flatnonzero(moved != still)) == set(np.flatnonzero(settings.steps.any(axis=1)))
    assert settings.steps.any(axis=0).all()
    assert np.array_equal(still, before.astype(np.float32))


def test_steps_are_as_large_as_the_weights(tmp_path: Path) -> None:
    settings = parse([str(tmp_path), RULE, "--weights", "named"])
    # loss_rate, inflight_ratio, bias, growth; the last one is smaller than the median
    assert settings.steps.sum(axis=0) == pytest.approx([7.9, 2.2, 2.4, 2.2])


@pytest.mark.parametrize("wrong", [["--generations", "0"], ["--candidates", "3"], ["--sigma", "2"]])
def test_numbers_that_make_no_search(tmp_path: Path, wrong: list[str]) -> None:
    with pytest.raises(UserError, match="at least 1 generation of 4 candidates"):
        parse([str(tmp_path), RULE, *wrong])


def test_too_few_weights(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has 0 of them; CMA-ES needs two"):
        parse([str(tmp_path), "rules/constant.yaml", "--weights", "named"])


def test_an_unknown_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), "rules/on_neuron.yaml"]) == 1
    assert "did you mean rules/one_neuron.yaml" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
