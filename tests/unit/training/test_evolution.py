"""The strategy without labs: weights as a vector, what it finds, what it remembers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.support.training.toys import PolicyRunner
from training.cma import Cma, CmaOptions
from training.policy import OBSERVATION_SIZE, Floats, Policy, initial_policy, to_policy, to_vector, weight_count
from training.sampling.fitness import scores


@pytest.mark.parametrize("hidden", [1, 8, 16])
def test_a_policy_and_its_vector_decide_alike(hidden: int) -> None:
    torch.manual_seed(3)
    policy = Policy(hidden)
    with torch.no_grad():
        for weight in policy.parameters():
            weight.normal_()
    vector = to_vector(policy.state_dict())
    biases = hidden  # of the input; those of the recurrence are added to them
    assert vector.shape == (sum(weight.numel() for weight in policy.parameters()) - biases,) == (weight_count(hidden),)
    again = to_policy(vector)
    policy.load_state_dict(again)  # the names and shapes of a policy
    observations = np.random.default_rng(1).standard_normal((5, OBSERVATION_SIZE)).astype(np.float32)
    one, two = PolicyRunner(policy.state_dict()), PolicyRunner(again)
    state = one.initial_state(5)
    for _ in range(3):
        actions, following = one(observations, state)
        same, state = two(observations, state)
        np.testing.assert_array_equal(actions, same)
        np.testing.assert_array_equal(following, state)
    np.testing.assert_allclose(to_vector(again), vector, rtol=1e-6)


def test_biases_count_as_their_sum() -> None:
    policy = {name: tensor.clone() for name, tensor in initial_policy(4, 1).state_dict().items()}
    policy["rnn.bias_ih_l0"] += 0.25
    policy["rnn.bias_hh_l0"] += 0.5
    again = to_policy(to_vector(policy))
    assert again["rnn.bias_ih_l0"].tolist() == [0.75] * 4
    assert again["rnn.bias_hh_l0"].tolist() == [0.0] * 4


def test_a_vector_that_is_no_network_is_refused() -> None:
    size = weight_count(8) + 1
    with pytest.raises(ValueError, match=f"no network has {size} weights"):
        to_policy(np.zeros(size))


def toy_fitness(candidates: list[Floats], target: Floats) -> Floats:
    """Two paths [C, 2] of very different scales, with the optimum where the weights are the target."""
    distance = [float(np.square(weights - target).sum()) for weights in candidates]
    return np.array([[-one, -1000 * one + 7] for one in distance])


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_it_finds_the_weights_that_score_best(covariance: str) -> None:
    options = CmaOptions(hidden=1, population=12, covariance=covariance, sigma=0.1)
    evolution = Cma(options, seed=5)
    begun, target = evolution.mean, evolution.mean + np.linspace(-1, 1, weight_count(1))
    for _ in range(60):
        candidates = evolution.ask()
        evolution.tell(candidates, scores(toy_fitness(candidates, target)))
    assert evolution.generation == 60
    assert np.abs(evolution.mean - target).max() < 0.2 * np.abs(begun - target).max()


def test_search_starts_from_initial_or_given_policy() -> None:
    new = Cma(CmaOptions(hidden=8), seed=3)
    np.testing.assert_array_equal(new.mean, to_vector(initial_policy(8, 3).state_dict()))
    given = initial_policy(4, 9).state_dict()
    evolution = Cma(CmaOptions(hidden=8), seed=3, weights=given)
    np.testing.assert_array_equal(evolution.mean, to_vector(given))
    assert evolution.sigma < new.sigma
    assert Cma(CmaOptions(sigma=0.5), seed=3, weights=given).sigma == 0.5


def test_weights_stay_within_the_limit() -> None:
    evolution = Cma(CmaOptions(hidden=1, sigma=2.0, weight_limit=1.0, population=8), seed=1)
    for _ in range(10):
        candidates = evolution.ask()
        assert np.abs(candidates).max() <= 1.0
        evolution.tell(candidates, np.array([weights.sum() for weights in candidates]))
        assert np.abs(evolution.mean).max() <= 1.0


def generations(evolution: Cma, count: int) -> list[Floats]:
    target = np.linspace(-1, 1, weight_count(1))
    drawn = []
    for _ in range(count):
        candidates = evolution.ask()
        drawn += candidates
        evolution.tell(candidates, scores(toy_fitness(candidates, target)))
    return drawn


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_restored_it_draws_what_it_would_have_drawn(covariance: str, tmp_path: Any) -> None:
    options = CmaOptions(hidden=1, population=6, covariance=covariance)
    whole = Cma(options, seed=5)
    expected = generations(whole, 8)
    half = Cma(options, seed=5)
    drawn = generations(half, 4)
    half.ask()  # a generation that was interrupted
    torch.save(half.state(), tmp_path / "state")
    restored = Cma(options, seed=5)
    restored.restore(torch.load(tmp_path / "state", weights_only=True))
    assert restored.generation == 4
    drawn += generations(restored, 4)
    np.testing.assert_array_equal(drawn, expected)
    np.testing.assert_array_equal(restored.mean, whole.mean)
    assert restored.sigma == whole.sigma


def test_a_state_of_other_options_is_refused() -> None:
    state = Cma(CmaOptions(hidden=2, population=6), seed=5).state()
    with pytest.raises(ValueError, match=r"algo\.population is 7, but the checkpoint's strategy has 6"):
        Cma(CmaOptions(hidden=2, population=7), seed=5).restore(state)
    with pytest.raises(ValueError, match=r"algo\.covariance=full"):
        Cma(CmaOptions(hidden=2, population=6, covariance="full"), seed=5).restore(state)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ({"population": 1}, "algo.population is 1"),
        ({"paths": 0}, "algo.paths is 0"),
        ({"sigma": 0.0}, "algo.sigma is 0"),
        ({"hidden": 33}, "algo.hidden is 33"),
        ({"covariance": "round"}, "algo.covariance is 'round'; it is one of diagonal, full"),
        ({"run_s": 0.0}, "algo.run_s is 0"),
        ({"generations": -1}, "algo.generations is -1"),
    ],
)
def test_options_out_of_range(option: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        CmaOptions(**option)
