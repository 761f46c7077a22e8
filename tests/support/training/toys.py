"""Small worlds with the interface of the real environment, fast enough to learn in seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from torch import Tensor

from env.privileged import PRIVILEGED
from env.spaces import INFO
from env.trajectory import Trajectory
from training.policy import OBSERVATION_SIZE
from training.sampling.rollouts import SamplingState

Array = npt.NDArray[np.float32]


class ToyVector(VectorEnv[Array, Array, Array]):
    """N copies of a world whose episodes are truncated after ``horizon`` steps.

    A world defines `begin`, which gives the environments in ``mask`` [N] a new episode; `look`, the observations
    [N, D]; and `act`, which takes actions [N, 2] clipped to [-1, 1] and returns rewards [N].
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(self, num_envs: int, horizon: int) -> None:
        self.num_envs = num_envs
        self.horizon = horizon
        self.single_observation_space = spaces.Box(-8, 8, (OBSERVATION_SIZE,), np.float32)
        self.single_action_space = spaces.Box(-1, 1, (2,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.age = np.zeros(num_envs, np.int64)

    def begin(self, mask: npt.NDArray[np.bool_]) -> None:
        raise NotImplementedError

    def look(self) -> Array:
        raise NotImplementedError

    def act(self, actions: Array) -> Array:
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        """Entries of info, each [N] or [N, ...]."""
        return {}

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> tuple[Array, dict[str, Any]]:
        if seed is not None:
            assert isinstance(seed, int)
            super().reset(seed=seed)
        everyone = np.ones(self.num_envs, bool)
        self.age[:] = 0
        self.begin(everyone)
        return self.look(), self._infos(everyone)

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        rewards = self.act(np.clip(actions, -1, 1))
        self.age += 1
        ended = self.age >= self.horizon
        everyone = np.ones(self.num_envs, bool)
        infos = self._infos(everyone)
        if ended.any():
            observations = self.look()
            infos["final_obs"] = np.array(
                [row if end else None for row, end in zip(observations, ended, strict=True)], object
            )
            infos["_final_obs"] = ended
            infos["final_info"] = self._infos(ended)
            self.age[ended] = 0
            self.begin(ended)
            infos |= self._infos(everyone)
        return self.look(), rewards.astype(np.float32), np.zeros(self.num_envs, bool), ended, infos

    def _infos(self, mask: npt.NDArray[np.bool_]) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        for name, value in self.describe().items():
            infos[name], infos[f"_{name}"] = np.array(value), mask.copy()
        return infos


class PolicyRunner:
    """One decision of several connections at a time, in NumPy. Holds a copy of the weights."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        def array(name: str) -> Array:
            return weights[name].detach().cpu().numpy().astype(np.float32)

        self._w = array("rnn.weight_ih_l0").T.copy()  # [D, H]
        self._u = array("rnn.weight_hh_l0").T.copy()  # [H, H]
        self._b = array("rnn.bias_ih_l0") + array("rnn.bias_hh_l0")  # [H]
        self._v = array("readout.weight").T.copy()  # [H, A]
        self._c = array("readout.bias")  # [A]
        self.hidden = int(self._b.size)

    def initial_state(self, environments: int) -> Array:
        """State of new connections, [N, H]."""
        return np.zeros((environments, self.hidden), np.float32)

    def __call__(self, observations: Array, state: Array) -> tuple[Array, Array]:
        """Observations [N, D] and state [N, H] to unclamped mean actions [N, A] and the next state [N, H]."""
        state = np.tanh(observations @ self._w + state @ self._u + self._b)
        return state @ self._v + self._c, state


class ToyRolloutWorkers:
    """Runs whole episodes of a world in lock-step; the same arguments give the same batch k every time."""

    def __init__(self, world: ToyVector, decisions: int, seed: int = 0) -> None:
        self.world = world
        self.seed = seed
        self.rounds = max(1, round(decisions / (world.num_envs * world.horizon)))
        self.workers = world.num_envs
        self.seconds = {"lab": 0.0, "policy": 0.0}
        self.begun: deque[tuple[PolicyRunner, Any, int]] = deque()

    def submit(self, weights: Mapping[str, Tensor], log_std: Tensor, batch: int, _: SamplingState) -> None:
        self.begun.append((PolicyRunner(weights), np.exp(log_std.numpy()), batch))

    def take(self, should_stop: Callable[[], bool]) -> list[Trajectory] | None:
        runner, std, batch = self.begun.popleft()
        rng = np.random.default_rng((self.seed, batch))
        episodes: list[Trajectory] = []
        for _ in range(self.rounds):
            trajectories = self.rollout(runner, std, rng, should_stop)
            if trajectories is None:
                return None
            episodes += trajectories
        return episodes

    def rollout(
        self, runner: PolicyRunner, std: Array, rng: np.random.Generator, should_stop: Callable[[], bool]
    ) -> list[Trajectory] | None:
        world = self.world
        look, infos = world.reset(seed=int(rng.integers(2**31)))
        noise = std * rng.standard_normal((world.horizon, world.num_envs, 2), np.float32)
        state = runner.initial_state(world.num_envs)
        privileged = np.zeros((world.num_envs, len(PRIVILEGED)), np.float32)
        if "path" in infos:
            privileged[:, : infos["path"].shape[1]] = infos["path"]
        observations, actions, rewards, measured = [look], [], [], []
        for t in range(world.horizon):
            if should_stop():
                return None
            means, state = runner(look, state)
            actions.append(means + noise[t])
            look, reward, _, ended, infos = world.step(actions[-1])
            last = ended.all()
            observations.append(np.array(infos["final_obs"].tolist(), np.float32) if last else look)
            info = infos["final_info"] if last else infos
            rewards.append(reward)
            measured.append({name: info[name] for name in info if name[0] != "_" and info[name].shape == reward.shape})
        return [
            Trajectory(
                np.array([o[n] for o in observations]),
                np.array([a[n] for a in actions]),
                np.array([r[n] for r in rewards]),
                np.repeat(privileged[n][None], len(observations), axis=0),
                {name: np.array([float(m[name][n]) if name in m else 1.0 for m in measured]) for name in INFO},
            )
            for n in range(world.num_envs)
        ]

    def close(self) -> None:
        pass


class RememberCue(ToyVector):
    """The first observation shows a cue of -1 or 1; every action of the episode should be half of it.

    Only a policy that remembers can score: rewards are -(action - cue / 2)^2, so holding still gives -0.25 a step.
    """

    def __init__(self, num_envs: int = 32, horizon: int = 10) -> None:
        super().__init__(num_envs, horizon)
        self.cue = np.zeros(num_envs, np.float32)

    def begin(self, mask: npt.NDArray[np.bool_]) -> None:
        self.cue[mask] = self.np_random.choice([-1.0, 1.0], int(mask.sum()))

    def look(self) -> Array:
        observations = np.zeros((self.num_envs, OBSERVATION_SIZE), np.float32)
        observations[:, 0] = np.where(self.age == 0, self.cue, 0)
        return observations

    def act(self, actions: Array) -> Array:
        return -((actions[:, 0] - self.cue / 2) ** 2)


class FluidQueue(ToyVector):
    """One flow through a bottleneck, one decision per round trip, observed one round trip late.

    The BDP is drawn between 20 and 200 packets, unseen by the policy; cwnd starts at 10 packets. Reward: share of the
    link in use minus queueing delay in base RTTs. A perfect policy ends near 1; holding cwnd ends at 10 / BDP.
    """

    def __init__(self, num_envs: int = 16, horizon: int = 40) -> None:
        super().__init__(num_envs, horizon)
        self.bdp = np.ones(num_envs)
        self.cwnd = np.full(num_envs, 10.0)
        self.previous = self.cwnd.copy()
        self.best = np.ones(num_envs)

    def begin(self, mask: npt.NDArray[np.bool_]) -> None:
        self.bdp[mask] = 20 * 10 ** self.np_random.random(int(mask.sum()))
        self.cwnd[mask] = self.previous[mask] = self.best[mask] = 10.0

    @property
    def share(self) -> npt.NDArray[np.float64]:
        """Share of the link that the last acknowledged window used, [N]."""
        return np.minimum(1, self.previous / self.bdp)

    @property
    def queue(self) -> npt.NDArray[np.float64]:
        """Queueing delay that the last acknowledged window saw, in base RTTs, [N]."""
        return np.clip(self.previous / self.bdp - 1, 0, 2)

    def look(self) -> Array:
        observations = np.zeros((self.num_envs, OBSERVATION_SIZE), np.float32)
        observations[:, 0] = self.queue
        observations[:, 8] = np.minimum(self.previous, self.bdp) / self.best
        observations[:, 9] = np.minimum(self.cwnd / np.minimum(self.previous, self.bdp), 8)
        return observations

    def act(self, actions: Array) -> Array:
        self.previous = self.cwnd
        self.cwnd = np.clip(self.cwnd * 2.0 ** actions[:, 0], 1, 1000)
        self.best = np.maximum(self.best, np.minimum(self.previous, self.bdp))
        return (self.share - self.queue).astype(np.float32)

    def describe(self) -> dict[str, Any]:
        return {"path": np.log10(self.bdp)[:, None].astype(np.float32), "share": self.share, "queue": self.queue}


class Endless(ToyVector):
    """Reward 1 whatever happens: the value of every state is 1 / (1 - gamma), if truncation is no death."""

    def __init__(self, num_envs: int = 8, horizon: int = 5) -> None:
        super().__init__(num_envs, horizon)

    def begin(self, mask: npt.NDArray[np.bool_]) -> None:
        pass

    def look(self) -> Array:
        return np.zeros((self.num_envs, OBSERVATION_SIZE), np.float32)

    def act(self, actions: Array) -> Array:  # noqa: ARG002
        return np.ones(self.num_envs, np.float32)
