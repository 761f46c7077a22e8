"""PPO learns on small worlds what it must, and treats the end of an episode rightly."""

from __future__ import annotations

from tests.support.training.toy_training import learn, play_mean, untrained
from tests.support.training.toys import Endless, FluidQueue, RememberCue
from training.ppo import PpoOptions


def test_learns_to_remember() -> None:
    """Without memory no policy scores above -0.225 (right at the first of ten steps, blind afterwards)."""
    env = RememberCue()
    ppo, _ = learn(env, PpoOptions(total_decisions=80_000, gamma=0.9))
    reward, _ = play_mean(ppo, env)
    assert reward > -0.01


def test_learns_to_fill_a_queue_just_enough() -> None:
    """From ten packets to an unknown BDP of 20 to 200; each change is seen a round trip late."""
    env = FluidQueue()
    worst, before = play_mean(untrained(env, PpoOptions())[0], env)
    ppo, _ = learn(env, PpoOptions(total_decisions=160_000))
    reward, after = play_mean(ppo, env)
    assert worst < 0.3
    assert before["share"] < 0.3
    assert reward > 0.6  # five seeds reach 0.65 to 0.81
    assert after["share"] > 0.9
    assert after["queue"] < 0.2


def test_truncation_is_no_death() -> None:
    """A reward of 1 for ever is worth 1 / (1 - gamma) = 10; with deaths every 5 steps it would be worth 1 to 4.1."""
    env = Endless()
    options = PpoOptions(total_decisions=20_000, rollout_decisions=512, gamma=0.9, gae_lambda=0.9)
    ppo, episodes = learn(env, options)
    _, returns, _ = ppo.advantages(episodes)
    assert returns.min() > 9
    assert returns.max() < 11
