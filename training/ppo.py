"""Recurrent PPO with back-propagation through time, for a task that never ends.

Proximal policy optimisation (Schulman et al., 2017) with generalised advantage estimation (Schulman et al., 2016), in
the manner of CleanRL: the whole algorithm is here, top to bottom. `Ppo.collect` plays, `Ppo.advantages` judges,
`Ppo.update` learns; training/run.py calls them in turn.

An episode of this task ends because its time is up, never because anything died: the value of what would have come
next is the critic's estimate at the final observation. That falls out of how a rollout is cut: into *stretches*, runs
of decisions of one environment within one episode. Each stretch ends with one more observation (the episode's last, or
the one the rollout stopped at), which is only looked at by the critic. Only a true termination makes its value zero.

The letters of shapes are in training/policy.py; L is the length of the longest stretch.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from torch import nn

from env.schema import ACTIONS
from training.policy import (
    ACTION_SIZE,
    OBSERVATION_SIZE,
    Critic,
    FloatArray,
    Policy,
    PolicyRunner,
    gaussian_entropy,
    gaussian_log_probability,
)

IntArray = npt.NDArray[np.int64]
Infos = dict[str, Any]


POSITIVE = (  # options that must be above 0
    "rollout_decisions",
    "sequence_length",
    "epochs",
    "minibatches",
    "critic_units",
    "learning_rate",
    "critic_learning_rate",
    "clip",
    "target_kl",
    "gradient_limit",
    "initial_std",
    "final_std",
    "minimum_std",
    "weight_limit",
)


@dataclass
class PpoOptions:
    """Options of the algorithm: ``algo.<name>=`` on the command line of train.py.

    Raises ValueError for a value outside its range.
    """

    total_decisions: int = 400_000  # length of the training, over all environments; 0 saves the untrained network
    rollout_decisions: int = 4096  # decisions between two updates, over all environments
    sequence_length: int = 64  # decisions the gradient flows back through
    epochs: int = 4  # passes over a rollout
    minibatches: int = 4  # gradient steps in a pass
    hidden: int = 8  # recurrent units of the policy, 1 to 16
    critic_units: int = 64  # units of each layer of the critic, which only training sees
    learning_rate: float = 3e-3  # Adam, policy; falls linearly to zero at the end of training
    critic_learning_rate: float = 1e-3  # Adam, critic; falls in the same way
    gamma: float = 0.98  # discount per decision, which is a round trip: looks about 1 / (1 - gamma) of them ahead
    gae_lambda: float = 0.95  # weight of measured over estimated returns in the advantage
    clip: float = 0.2  # largest change of a decision's probability ratio that is rewarded
    target_kl: float = 0.02  # an update ends early when the policy has moved further than 1.5 times this, in nats
    entropy: float = 0.0  # weight of the exploration bonus
    gradient_limit: float = 0.5  # largest norm of the gradient, policy and critic each
    initial_std: float = 0.3  # exploration at the start, in units of the action (log2 of the factor on cwnd)
    final_std: float = 0.1  # most exploration left at the end; in between the limit falls geometrically
    minimum_std: float = 0.02  # least exploration at any time
    bound: float = 0.1  # weight of the penalty on mean actions outside [-1, 1], where they would be clamped
    weight_limit: float = 8.0  # largest magnitude of a policy weight, so that int16 keeps 12 fraction bits
    value_rate: float = 0.05  # how fast the critic's normalisation follows the returns, per rollout

    def __post_init__(self) -> None:
        for name in POSITIVE:
            if not getattr(self, name) > 0:
                raise ValueError(f"algo.{name} is {getattr(self, name)}; it must be above 0")
        for name in ("total_decisions", "entropy", "bound"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"algo.{name} is {getattr(self, name)}; it must not be negative")
        for name in ("gamma", "gae_lambda", "value_rate"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"algo.{name} is {getattr(self, name)}; it must be above 0 and at most 1")
        if self.minimum_std > min(self.initial_std, self.final_std):
            raise ValueError(f"algo.minimum_std is {self.minimum_std}; it must not be above initial_std or final_std")


@dataclass
class Rollout:
    """What the environments went through between two updates. Row t * N + n of an array is decision t of environment n.

    ``infos`` holds what the environment measured: name to one number a decision [T * N], NaN where it said nothing.
    """

    observations: FloatArray  # [T * N, D]
    paths: FloatArray  # [T * N, P]
    actions: FloatArray  # [T * N, A], before the environment clips them
    rewards: FloatArray  # [T * N]
    states: FloatArray  # [T * N, H], the policy's state before the observation
    infos: dict[str, npt.NDArray[np.float64]]
    stretches: list[IntArray] = field(default_factory=list)  # rows of each stretch, in order
    tails: list[FloatArray] = field(default_factory=list)  # [D], the observation after each stretch
    terminated: list[bool] = field(default_factory=list)  # whether nothing comes after the stretch
    ended: list[bool] = field(default_factory=list)  # whether the episode ended with the stretch
    environments: list[int] = field(default_factory=list)  # of each stretch


class Ppo:
    """The learner: networks, optimizer and the environments' current state.

    Arguments: ``env`` with `AutoresetMode.SAME_STEP`; ``options``; ``seed`` of weights, exploration and environments;
    ``should_stop``, asked between decisions, abandons the rollout.

    Raises ValueError when the environment's spaces or autoreset mode do not fit.
    """

    def __init__(
        self, env: VectorEnv, options: PpoOptions, seed: int, should_stop: Callable[[], bool] = lambda: False
    ) -> None:
        if env.metadata.get("autoreset_mode") != AutoresetMode.SAME_STEP:
            raise ValueError(f"the environment's autoreset mode is {env.metadata.get('autoreset_mode')}, not SAME_STEP")
        for space, size in ((env.single_observation_space, OBSERVATION_SIZE), (env.single_action_space, ACTION_SIZE)):
            if space.shape != (size,):
                raise ValueError(f"the environment has a space of shape {space.shape} where {(size,)} is needed")
        torch.manual_seed(seed)
        random.seed(seed)
        self.env = env
        self.options = options
        self.should_stop = should_stop
        self.rng = np.random.default_rng(seed)
        self.decisions = 0
        self.steps = max(1, options.rollout_decisions // env.num_envs)  # T
        observations, infos = env.reset(seed=seed)
        self._begin(observations, infos)

        self.policy = Policy(options.hidden)
        self.log_std = nn.Parameter(torch.full((len(ACTIONS),), float(np.log(options.initial_std))))
        self.critic = Critic(self.paths.shape[1], options.critic_units)
        self.optimizer = torch.optim.Adam(
            [
                {"params": [*self.policy.parameters(), self.log_std], "lr": options.learning_rate},
                {"params": list(self.critic.parameters()), "lr": options.critic_learning_rate},
            ],
            eps=1e-5,
        )
        self.memory = np.zeros((env.num_envs, options.critic_units), np.float32)  # [N, G], the critic's

    def _begin(self, observations: FloatArray, infos: Infos) -> None:
        """Start from the first observations of new episodes."""
        self.observations = observations  # [N, D]
        self.paths = _paths(infos, observations.shape[0])  # [N, P]
        self.states = np.zeros((observations.shape[0], self.options.hidden), np.float32)  # [N, H]

    # ---- play ----

    def collect(self) -> Rollout | None:
        """Play T decisions in every environment; None when `should_stop` said so on the way."""
        steps, count = self.steps, self.env.num_envs
        runner = PolicyRunner(self.policy.state_dict())
        noise = np.exp(self.log_std.detach().numpy()) * self.rng.standard_normal(
            (steps, count, ACTION_SIZE), dtype=np.float32
        )  # [T, N, A]
        observations = np.empty((steps, count, OBSERVATION_SIZE), np.float32)
        paths = np.empty((steps, count, self.paths.shape[1]), np.float32)
        actions = np.empty((steps, count, ACTION_SIZE), np.float32)
        rewards = np.empty((steps, count), np.float32)
        states = np.empty((steps, count, runner.hidden), np.float32)
        measured: dict[str, npt.NDArray[np.float64]] = {}
        rollout = Rollout(observations, paths, actions, rewards, states, measured)
        begun = np.zeros(count, np.int64)  # step at which the current stretch of each environment began

        def end_stretch(n: int, stop: int, tail: FloatArray, terminated: bool, ended: bool) -> None:
            rollout.stretches.append(np.arange(begun[n], stop) * count + n)
            rollout.tails.append(np.array(tail, np.float32))
            rollout.terminated.append(terminated)
            rollout.ended.append(ended)
            rollout.environments.append(n)
            begun[n] = stop

        for t in range(steps):
            if self.should_stop():
                return None
            observations[t], paths[t], states[t] = self.observations, self.paths, self.states
            means, self.states = runner(self.observations, self.states)
            actions[t] = means + noise[t]
            self.observations, rewards[t], terminated, truncated, infos = self.env.step(actions[t])
            ended = np.logical_or(terminated, truncated)  # [N]
            _measure(measured, infos, ended, t, steps)
            if ended.any():
                for n in np.flatnonzero(ended).tolist():
                    end_stretch(n, t + 1, infos["final_obs"][n], bool(terminated[n]), True)
                self.states[ended] = 0
                self.paths = _paths(infos, count, self.paths)
        for n in range(count):
            if begun[n] < steps:
                end_stretch(n, steps, self.observations[n], False, False)
        rows = steps * count
        rollout.observations = observations.reshape(rows, -1)
        rollout.paths = paths.reshape(rows, -1)
        rollout.actions = actions.reshape(rows, -1)
        rollout.rewards = rewards.reshape(rows)
        rollout.states = states.reshape(rows, -1)
        rollout.infos = {name: values.reshape(rows) for name, values in measured.items()}
        return rollout

    # ---- judge ----

    @torch.inference_mode()
    def advantages(self, rollout: Rollout) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Run the critic over every stretch; return advantages [T * N], returns [T * N] and its memory [T * N, G].

        The memory is the one before each observation. The memory after the last one is kept for the next rollout
        where the episode goes on.
        """
        lengths = np.array([rows.size for rows in rollout.stretches])
        longest, count = int(lengths.max()), lengths.size  # L, S
        rows = _pad(rollout.stretches)  # [L, S]
        last = np.arange(count)
        observations = np.zeros((longest + 1, count, OBSERVATION_SIZE), np.float32)
        observations[:-1] = rollout.observations[rows]
        observations[lengths, last] = rollout.tails
        paths = np.zeros((longest + 1, count, rollout.paths.shape[1]), np.float32)
        paths[:-1] = rollout.paths[rows]
        paths[lengths, last] = paths[lengths - 1, last]
        first_memory = np.zeros((count, self.memory.shape[1]), np.float32)  # [S, G]
        for s, (n, stretch) in enumerate(zip(rollout.environments, rollout.stretches, strict=True)):
            if stretch[0] < self.env.num_envs:  # goes on from the last rollout; zero at the start of an episode
                first_memory[s] = self.memory[n]

        normalised, after = self.critic(
            torch.from_numpy(observations), torch.from_numpy(paths), torch.from_numpy(first_memory)
        )
        values = (normalised * self.critic.scale + self.critic.shift).numpy()  # [L + 1, S]
        values[lengths, last] *= ~np.array(rollout.terminated)
        memories = np.concatenate((first_memory[None], after.numpy()))  # [L + 2, S, G]: before each observation
        for s, n in enumerate(rollout.environments):
            if rollout.ended[s]:
                self.memory[n] = 0
            else:
                self.memory[n] = memories[lengths[s], s]

        rewards = np.zeros((longest, count), np.float32)
        rewards[:] = rollout.rewards[rows]
        advantages = np.zeros((longest + 1, count), np.float32)
        options = self.options
        for t in reversed(range(longest)):
            delta = rewards[t] + options.gamma * values[t + 1] - values[t]  # [S]
            advantages[t] = delta + options.gamma * options.gae_lambda * advantages[t + 1]
            advantages[t] *= t < lengths  # padding
        flat_advantages = np.empty_like(rollout.rewards)
        flat_values = np.empty_like(rollout.rewards)
        flat_memory = np.empty((rollout.rewards.size, self.memory.shape[1]), np.float32)
        for s, stretch in enumerate(rollout.stretches):
            flat_advantages[stretch] = advantages[: stretch.size, s]
            flat_values[stretch] = values[: stretch.size, s]
            flat_memory[stretch] = memories[: stretch.size, s]
        return flat_advantages, flat_advantages + flat_values, flat_memory

    # ---- learn ----

    def update(self, rollout: Rollout) -> dict[str, float]:
        """One PPO update from a rollout; returns the metrics ``losses/...``."""
        options = self.options
        self._anneal()
        measured_advantages, measured_returns, memories = self.advantages(rollout)
        returns = torch.from_numpy(measured_returns)
        unexplained = float(np.var(measured_advantages) / max(float(np.var(measured_returns)), 1e-12))
        self.critic.follow(returns, options.value_rate)
        targets = (returns - self.critic.shift) / self.critic.scale  # [T * N]
        advantages = torch.from_numpy(measured_advantages)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        observations, paths = torch.from_numpy(rollout.observations), torch.from_numpy(rollout.paths)
        actions, states = torch.from_numpy(rollout.actions), torch.from_numpy(rollout.states)
        critic_memory = torch.from_numpy(memories)

        length = options.sequence_length
        sequences = [rows[i : i + length] for rows in rollout.stretches for i in range(0, rows.size, length)]
        index = torch.from_numpy(_pad(sequences))  # [K, S]; padding repeats row 0 of the rollout
        played = torch.from_numpy(_pad([np.ones(rows.size, np.int64) for rows in sequences])).bool()  # [K, S]
        with torch.inference_mode():
            old_log_std = self.log_std.detach().clone()
            old_means = self.policy(observations[index], states[index[0]])
            old = gaussian_log_probability(actions[index], old_means, old_log_std)  # [K, S]

        metrics: dict[str, list[float]] = {}
        moved = 0.0
        for _ in range(options.epochs):
            order = torch.from_numpy(self.rng.permutation(len(sequences)))
            for batch in order.chunk(min(options.minibatches, len(sequences))):
                rows, mask = index[:, batch], played[:, batch]  # [K, S]
                means = self.policy(observations[rows], states[rows[0]])  # [K, S, A]
                log_ratio = gaussian_log_probability(actions[rows], means, self.log_std) - old[:, batch]
                log_ratio = log_ratio[mask]
                ratio = log_ratio.exp()
                advantage = advantages[rows][mask]
                gain = torch.min(ratio * advantage, ratio.clamp(1 - options.clip, 1 + options.clip) * advantage).mean()
                outside = (means[mask].abs() - 1).clamp(min=0).square().mean()
                entropy = gaussian_entropy(self.log_std)
                values, _ = self.critic(observations[rows], paths[rows], critic_memory[rows[0]])  # [K, S]
                value_loss = 0.5 * (values - targets[rows])[mask].square().mean()
                loss = -gain + options.bound * outside - options.entropy * entropy + value_loss

                self.optimizer.zero_grad()
                loss.backward()
                for group in self.optimizer.param_groups:
                    nn.utils.clip_grad_norm_(group["params"], options.gradient_limit)
                self.optimizer.step()
                with torch.no_grad():
                    for weight in self.policy.parameters():
                        weight.clamp_(-options.weight_limit, options.weight_limit)
                    moved = float((ratio - 1 - log_ratio).mean())  # http://joschu.net/blog/kl-approx.html
                    for name, value in {
                        "policy": -gain,
                        "value": value_loss,
                        "bound": outside,
                        "entropy": entropy,
                        "clip_fraction": ((ratio - 1).abs() > options.clip).float().mean(),
                    }.items():
                        metrics.setdefault(name, []).append(float(value))
                metrics.setdefault("approx_kl", []).append(moved)
            if moved > 1.5 * options.target_kl:
                break
        self.decisions += rollout.rewards.size
        std = self.log_std.detach().exp()
        return {
            **{f"losses/{name}": float(np.mean(values)) for name, values in metrics.items()},
            "losses/explained_variance": 1 - unexplained,
            "losses/learning_rate": float(self.optimizer.param_groups[0]["lr"]),
            "losses/gradient_steps": float(len(metrics["policy"])),
            **{f"losses/std_{action.name}": float(std[a]) for a, action in enumerate(ACTIONS)},
        }

    def _anneal(self) -> None:
        """Set learning rates and the limits of exploration by how much of the training is over."""
        options = self.options
        done = min(1.0, self.decisions / max(1, options.total_decisions))
        rates = (options.learning_rate, options.critic_learning_rate)
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * (1 - done)
        most = options.initial_std ** (1 - done) * options.final_std**done
        with torch.no_grad():
            self.log_std.clamp_(float(np.log(options.minimum_std)), float(np.log(max(most, options.minimum_std))))

    # ---- remember ----

    def state(self) -> dict[str, Any]:
        """Everything that `restore` needs to go on, as a checkpoint holds it (training/checkpoint.py)."""
        return {
            "policy": {name: tensor.detach().clone() for name, tensor in self.policy.state_dict().items()},
            "log_std": self.log_std.detach().clone(),
            "critic": {name: tensor.detach().clone() for name, tensor in self.critic.state_dict().items()},
            "optimizer": self.optimizer.state_dict(),
            "random_states": {
                "python": random.getstate(),
                "numpy": self.rng.bit_generator.state,
                "torch": torch.get_rng_state(),
                "env": self.env.np_random.bit_generator.state,
            },
            "decisions": self.decisions,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`; every environment starts a new episode, as none can be entered half-way.

        Raises ValueError when the networks have other sizes than ``options`` say.
        """
        try:
            self.policy.load_state_dict(state["policy"])
            self.critic.load_state_dict(state["critic"])
        except RuntimeError as error:
            raise ValueError(f"the checkpoint's networks do not fit this configuration: {error}") from error
        with torch.no_grad():
            self.log_std.copy_(state["log_std"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.decisions = state["decisions"]
        states = state["random_states"]
        random.setstate(states["python"])
        self.rng.bit_generator.state = states["numpy"]
        torch.set_rng_state(states["torch"])
        self.env.np_random.bit_generator.state = states["env"]
        self._begin(*self.env.reset())
        self.memory[:] = 0


def _pad(pieces: list[IntArray]) -> IntArray:
    """Pieces of different lengths side by side, [longest, number of pieces], padded with zeros."""
    padded = np.zeros((max(piece.size for piece in pieces), len(pieces)), np.int64)
    for column, piece in enumerate(pieces):
        padded[: piece.size, column] = piece
    return padded


def _paths(infos: Infos, count: int, known: FloatArray | None = None) -> FloatArray:
    """Description of the paths, [N, P]: from ``infos["path"]`` where it is given, else as known; P = 0 without any."""
    if "path" not in infos:
        return np.zeros((count, 0), np.float32) if known is None else known
    paths = np.asarray(infos["path"], np.float32)
    if known is None:
        return paths
    return np.where(np.asarray(infos["_path"])[:, None], paths, known)


def _measure(
    measured: dict[str, npt.NDArray[np.float64]], infos: Infos, ended: npt.NDArray[np.bool_], t: int, steps: int
) -> None:
    """File the numbers of one step [N] under ``measured[name][t]``.

    Where an episode ended, the step's own numbers are in ``final_info``: the rest already describes the next episode.
    """
    final = infos.get("final_info", {})
    for name, values in (infos | final).items():
        if name.startswith("_") or not isinstance(values, np.ndarray) or values.shape != ended.shape:
            continue
        if values.dtype == object:
            continue
        rows = measured.setdefault(name, np.full((steps, ended.size), np.nan))
        if name in infos:
            told = infos.get(f"_{name}", True) & ~ended
            rows[t] = np.where(told, infos[name], np.nan)
        if name in final:
            rows[t][ended] = np.asarray(final[name], np.float64)[ended]
