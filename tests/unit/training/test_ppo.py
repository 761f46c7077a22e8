"""The algorithm's parts by hand and on small worlds; tests/lab/training/test_ppo_learns.py has the learning."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from env.privileged import PRIVILEGED
from env.trajectory import Trajectory
from tests.support.training.toy_training import learn
from tests.support.training.toys import FluidQueue, PolicyRunner
from training.learner import Sample
from training.policy import (
    AVERAGE_RATES,
    OBSERVATION_SIZE,
    Critic,
    Policy,
    gaussian_divergence,
    gaussian_log_probability,
)
from training.ppo import MAX_IMPORTANCE_WEIGHT, BehaviourPolicy, Ppo, PpoOptions


def sample(episodes: list[Trajectory], behaviour: BehaviourPolicy) -> Sample:
    return Sample(episodes, behaviour, 0, 0.0, {})


def constant_critic(ppo: Ppo, value: float) -> None:
    """Make the critic say ``value`` everywhere."""
    last = ppo.critic.body[-1]
    assert isinstance(last, torch.nn.Linear)
    with torch.no_grad():
        last.weight.zero_()
        last.bias.fill_(value)


def episode(decisions: int, rng: np.random.Generator, privileged: int = 0) -> Trajectory:
    """One with random observations and actions, and a reward of 1 for each decision."""
    return Trajectory(
        rng.standard_normal((decisions + 1, OBSERVATION_SIZE), np.float32),
        0.3 * rng.standard_normal((decisions, 2), np.float32),
        np.ones(decisions, np.float32),
        rng.standard_normal((decisions + 1, privileged), np.float32),
        {},
    )


def test_advantages_by_hand() -> None:
    """Episodes of 3 and 5 steps, values 7: delta = 1 + 0.5 * 7 - 7 = -2.5, then GAE with 0.5 * 0.5 back to the end."""
    ppo = Ppo(PpoOptions(gamma=0.5, gae_lambda=0.5), seed=0, privileged=0)
    constant_critic(ppo, 7.0)
    rng = np.random.default_rng(0)
    advantages, returns, inputs = ppo.advantages([episode(3, rng), episode(5, rng)])
    end, before_end, first = -2.5, -2.5 * 1.25, -2.5 * 1.3125
    np.testing.assert_allclose(advantages[:, 0], [first, before_end, end, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(advantages[2:, 1], [first, before_end, end], rtol=1e-6)
    np.testing.assert_allclose(returns[:3, 0], advantages[:3, 0] + 7, rtol=1e-6)
    assert inputs.shape == (6, 2, OBSERVATION_SIZE * (1 + len(AVERAGE_RATES)))


def test_company_changes_no_advantage() -> None:
    """An episode is judged alone as it is beside longer ones."""
    ppo = Ppo(PpoOptions(), seed=0, privileged=3)
    rng = np.random.default_rng(0)
    short, long = episode(30, rng, 3), episode(90, rng, 3)
    alone, _, _ = ppo.advantages([short])
    beside, _, _ = ppo.advantages([long, short])
    torch.testing.assert_close(beside[:30, 1], alone[:, 0])
    assert not beside[30:, 1].any()


def test_all_components_count_alike_whatever_their_scale() -> None:
    """Ten times the rewards in one part move the policy as the same ones do: it is the part's weight that counts."""

    def moved(factor: float) -> torch.Tensor:
        ppo, rng = Ppo(ONE_STEP, seed=3, privileged=0), np.random.default_rng(0)
        constant_critic(ppo, 0.0)
        calm = [episode(40, rng)._replace(component="calm") for _ in range(4)]
        wild = [episode(40, rng)._replace(component="wild") for _ in range(2)]
        calm, wild = ([e._replace(rewards=rng.standard_normal(40, np.float32)) for e in part] for part in (calm, wild))
        wild = [e._replace(rewards=np.float32(factor) * e.rewards) for e in wild]
        ppo.update(sample([*calm, *wild], ppo.behaviour()))
        return torch.cat([weight.flatten() for weight in ppo.policy.parameters()]).detach()

    torch.testing.assert_close(moved(10.0), moved(1.0), atol=1e-5, rtol=1e-4)


def test_component_advantage_rms_is_averaged_and_saved() -> None:
    ppo, rng = Ppo(PpoOptions(value_rate=0.1), seed=0, privileged=0), np.random.default_rng(0)
    episodes = [episode(50, rng)._replace(component="a")]
    played = torch.ones(50, 1, dtype=torch.bool)
    for size in (3.0, 3.0, 1.0):
        advantages = torch.full((50, 1), size)
        ppo._normalize_components(advantages, played, episodes)
    usual = math.sqrt((9 * 0.1 * 0.9 * 0.9 + 9 * 0.1 * 0.9 + 0.1) / (1 - 0.9**3))
    assert float(advantages[0, 0]) == pytest.approx(1 / usual, rel=1e-6)
    other = Ppo(PpoOptions(value_rate=0.1), seed=0, privileged=0)
    other.restore(ppo.state())
    assert other.advantage_rms == ppo.advantage_rms


ONE_STEP = PpoOptions(epochs=1, minibatches=1, sequence_length=16, hidden=16)


def test_before_the_first_step_nothing_has_moved() -> None:
    """Each sequence begins with the memory that its policy had there, so the ratio to the policy that played is 1."""
    ppo = Ppo(ONE_STEP, seed=3, privileged=0)
    rng = np.random.default_rng(0)
    with torch.no_grad():
        ppo.policy.readout.weight.normal_()
    episodes = [episode(decisions, rng) for decisions in (50, 16, 33, 1)]
    metrics = ppo.update(sample(episodes, ppo.behaviour()))
    assert metrics["losses/approx_kl"] == pytest.approx(0, abs=1e-6)
    assert metrics["losses/behaviour_kl"] == pytest.approx(0, abs=1e-6)
    assert metrics["losses/policy_loss"] == pytest.approx(0, abs=1e-6)
    assert ppo.decisions == 100


def test_decisions_of_another_policy_are_weighted() -> None:
    """Another one played, with another exploration: weights are what the densities say, decision by decision."""
    ppo = Ppo(ONE_STEP, seed=3, privileged=0)
    rng = np.random.default_rng(0)
    episodes = [episode(decisions, rng) for decisions in (50, 16, 33)]
    torch.manual_seed(9)
    other = BehaviourPolicy(Policy(16).state_dict(), torch.tensor([-1.0, -1.5]))
    differences = []
    for played in episodes:
        observations, actions = torch.from_numpy(played.observations[:-1, None]), torch.from_numpy(played.actions)
        densities = []
        for behaviour in (ppo.behaviour(), other):
            policy = Policy(16)
            policy.load_state_dict(behaviour.weights)
            with torch.no_grad():
                means = policy(observations, torch.zeros(1, 16))[:, 0]
            densities.append(gaussian_log_probability(actions, means, behaviour.log_std))
        differences.append(densities[0] - densities[1])
    log_ratio = torch.cat(differences)
    assert float(log_ratio.abs().mean()) > 0.1
    advantages, _, _ = ppo.advantages(episodes)
    advantage = torch.cat([advantages[: len(played.rewards), e] for e, played in enumerate(episodes)])
    advantage = (advantage - advantage.mean()) / advantage.std()
    metrics = ppo.update(sample(episodes, other))
    assert metrics["losses/behaviour_kl"] == pytest.approx(float((log_ratio.exp() - 1 - log_ratio).mean()), rel=1e-4)
    expected = -float((log_ratio.exp().clamp(max=MAX_IMPORTANCE_WEIGHT) * advantage).mean())
    assert metrics["losses/policy_loss"] == pytest.approx(expected, rel=1e-3)
    assert metrics["losses/approx_kl"] == pytest.approx(0, abs=1e-6), "the policy itself has not moved"


def test_divergence_is_that_of_the_densities() -> None:
    torch.manual_seed(0)
    means, other_means = torch.zeros(1, 2), torch.tensor([[0.2, -0.1]])
    log_std, other_log_std = torch.tensor([-1.0, -1.5]), torch.tensor([-1.2, -1.4])
    drawn = means + log_std.exp() * torch.randn(400_000, 2)
    sampled = gaussian_log_probability(drawn, means, log_std) - gaussian_log_probability(
        drawn, other_means, other_log_std
    )
    exact = gaussian_divergence(means, log_std, other_means, other_log_std)
    assert float(exact) == pytest.approx(float(sampled.mean()), rel=0.02)


def test_mean_actions_at_a_bound_are_counted() -> None:
    ppo = Ppo(ONE_STEP, seed=3, privileged=0)
    with torch.no_grad():
        ppo.policy.readout.bias.copy_(torch.tensor([1.5, 0.0]))
    metrics = ppo.update(sample([episode(50, np.random.default_rng(0))], ppo.behaviour()))
    assert metrics["charts/at_bound_growth"] == 1
    assert metrics["charts/at_bound_pacing"] == 0


def test_the_same_episodes_give_the_same_weights() -> None:
    def weights() -> torch.Tensor:
        ppo = Ppo(PpoOptions(), seed=3, privileged=2)
        rng = np.random.default_rng(0)
        for _ in range(3):
            ppo.update(sample([episode(decisions, rng, 2) for decisions in (200, 256, 100)], ppo.behaviour()))
        return torch.cat([weight.detach().flatten() for weight in ppo.policy.parameters()])

    assert torch.equal(weights(), weights())


def test_another_trainings_networks_are_a_beginning() -> None:
    """Its policy and its critic, and neither its exploration nor how far it had come."""
    env = FluidQueue()
    old, _ = learn(env, PpoOptions(total_decisions=20_000))
    new = Ppo(PpoOptions(initial_std=0.2), 5, len(PRIVILEGED))
    new.start_from(old.state())
    assert all(torch.equal(weight, old.policy.state_dict()[name]) for name, weight in new.policy.state_dict().items())
    assert all(torch.equal(weight, old.critic.state_dict()[name]) for name, weight in new.critic.state_dict().items())
    assert new.log_std.exp().tolist() == pytest.approx([0.2, 0.2])
    assert new.decisions == 0
    with pytest.raises(ValueError, match="PPO starts only from a run of PPO"):
        new.start_from({"policy": old.policy.state_dict(), "learner": {}})
    with pytest.raises(ValueError, match=r"do not fit this configuration: they have algo.hidden=8 and ") as caught:
        Ppo(PpoOptions(hidden=4), 5, 0).start_from(old.state())
    assert "\n" not in str(caught.value)


def test_runner_equals_the_network() -> None:
    """NumPy for playing, torch for learning: the same numbers, step by step."""
    torch.manual_seed(0)
    policy = Policy(hidden=16)
    with torch.no_grad():
        policy.readout.weight.normal_()
        policy.rnn.bias_hh_l0.normal_()
    observations = np.random.default_rng(0).normal(size=(20, 3, OBSERVATION_SIZE)).astype(np.float32)
    with torch.no_grad():
        expected = policy(torch.from_numpy(observations), torch.zeros(3, 16)).numpy()
    runner = PolicyRunner(policy.state_dict())
    state = runner.initial_state(3)
    for t in range(20):
        means, state = runner(observations[t], state)
        np.testing.assert_allclose(means, expected[t], atol=1e-5)


def test_normalisation_keeps_the_critics_opinion() -> None:
    torch.manual_seed(0)
    critic = Critic(privileged=2)
    inputs = critic.inputs(torch.randn(6, 4, OBSERVATION_SIZE), torch.randn(6, 4, 2))
    with torch.no_grad():
        before = critic(inputs) * critic.scale + critic.shift
        critic.update_normalization(torch.randn(1000) * 30 + 50, rate=0.5)
        after = critic(inputs) * critic.scale + critic.shift
    torch.testing.assert_close(after, before, atol=1e-4, rtol=1e-4)
    assert float(critic.scale) == pytest.approx(30, rel=0.1)
    assert float(critic.shift) == pytest.approx(50, rel=0.1)


def test_an_appended_input_does_not_change_the_critic() -> None:
    torch.manual_seed(0)
    critic, again = Critic(privileged=2), Critic(privileged=2)
    weights = critic.state_dict()
    inputs = critic.inputs(torch.randn(6, 4, OBSERVATION_SIZE), torch.randn(6, 4, 2))
    appended = [block * OBSERVATION_SIZE - 1 for block in range(1, 2 + len(AVERAGE_RATES))]
    weights["body.0.weight"][:, appended] = 0
    columns = [column for column in range(inputs.shape[-1]) if column not in appended]
    again.load({**weights, "body.0.weight": weights["body.0.weight"][:, columns]})
    assert torch.equal(again(inputs), critic(inputs))
    with pytest.raises(RuntimeError):
        again.load(Critic(privileged=2, units=8).state_dict())


def test_weights_stay_within_int16_range() -> None:
    ppo, _ = learn(FluidQueue(), PpoOptions(total_decisions=20_000, learning_rate=0.1, weight_limit=0.5))
    for weight in ppo.policy.parameters():
        assert weight.abs().max() <= 0.5


@pytest.mark.parametrize(
    ("name", "value"), [("gamma", 1.5), ("epochs", 0), ("clip", float("nan")), ("total_decisions", -1), ("hidden", 33)]
)
def test_options_out_of_range_are_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        Ppo(PpoOptions(**{name: value}), seed=0, privileged=0)
