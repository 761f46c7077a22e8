"""`NdmTcp-v1` over several labs that advance side by side, each in its own process.

Letters of shapes: N workers, D observation, A action, P description of the path (8), M numbers in info.
"""

from __future__ import annotations

import select
from enum import Enum
from typing import Any, ClassVar

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from env.errors import UserError
from env.gym.episode import BootLab, Episode, Interval, boot_lab
from env.lab import LabError
from env.profile import PATH_FEATURES, Profile
from env.spaces import FEATURE_SCALE, INFO, FloatArray, action_space, checked_actions, observation_space

BoolArray = npt.NDArray[np.bool_]
HUNG_MS = 150_000  # wall time without a frame from any lab; longer than a lab's own limit, whose error says more


class Phase(Enum):
    """The frame or decision that a worker is waiting for."""

    FIRST = 0  # the first observation of an episode
    INTERVAL = 1  # the observation after a decision
    END = 2  # the Reply after the end of an episode
    READY = 3  # the next decision


class NdmVectorEnv(VectorEnv[FloatArray, FloatArray, npt.NDArray[Any]]):
    """`num_envs` labs; env.gym.ndm_env.NdmEnv documents observation, action, reward and the other arguments.

    The autoreset mode is SAME_STEP: when an episode ends, step() returns the first observation of the next one. The
    last observation is `infos["final_obs"][n]`, and the last info is in `infos["final_info"]`. Worker n has the seed
    `seed + n` and equals a single environment with that seed. reset() without a seed draws the workers' seeds for the
    paths from `np_random`. Arrays in infos are [N], `path` is [N, P]; the mask of `name` is `_name`.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "autoreset_mode": AutoresetMode.SAME_STEP,
        "render_modes": [],
    }

    def __init__(
        self,
        num_envs: int = 1,
        profile: str | Profile = "mixed",
        episode_decisions: int | None = None,
        episode_s: float | None = None,
        boot: BootLab = boot_lab,
        render_mode: None = None,
    ) -> None:
        if num_envs < 1:
            raise UserError(f"num_envs is {num_envs}; it must be at least 1")
        super().__init__()
        self.num_envs = num_envs
        self.single_observation_space = observation_space()
        self.single_action_space = action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.render_mode = render_mode
        self._episodes = [Episode(profile, episode_decisions, episode_s, boot) for _ in range(num_envs)]
        self._generators = [seeding.np_random(n)[0] for n in range(num_envs)]
        self._phases = [Phase.READY] * num_envs
        self._active = False
        self._all = np.ones(num_envs, np.bool_)  # [N]
        self._all.flags.writeable = False
        self._paths = np.zeros((num_envs, len(PATH_FEATURES)), np.float32)  # [N, P]
        self._features: list[tuple[int, ...]] = [()] * num_envs  # N of D
        self._starts = [(0, 0)] * num_envs  # N of cwnd, now_us, of the first observation
        self._intervals: list[Interval | None] = [None] * num_envs
        self._by_descriptor: dict[int, int] = {}
        self._poller = select.poll()

    # -- gymnasium -----------------------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """Begin an episode in every worker; return observations [N, D] and infos."""
        super().reset(seed=seed)
        self._active = False
        for n, episode in enumerate(self._episodes):
            if seed is not None:
                self._generators[n] = seeding.np_random(seed + n)[0]
                episode.prepare(seed + n)
            else:
                self._generators[n] = seeding.np_random(int(self.np_random.integers(2**31)))[0]
        for n, episode in enumerate(self._episodes):
            episode.begin(self._generators[n], None if seed is None else seed + n, options)
            self._phases[n] = Phase.FIRST
            self._update_path(n)
        self._watch()
        self._wait()
        self._active = True
        return self._observations(), self._path_info() | self._start_info(self._all)

    def step(
        self, actions: FloatArray
    ) -> tuple[FloatArray, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Take an action in every worker, [N, A]; return observations [N, D], rewards, terminations, truncations [N]
        and infos.
        """
        if not self._active:
            raise gymnasium.error.ResetNeeded("step() before the first reset(), or after an error: call reset()")
        decisions = checked_actions(actions, self.action_space).tolist()
        self._active = False
        for n, (growth, pacing) in enumerate(decisions):
            self._phases[n] = Phase.INTERVAL
            self._episodes[n].act(growth, pacing)
        self._wait()
        self._active = True

        intervals = [interval for interval in self._intervals if interval is not None]
        rewards = np.array([interval.reward for interval in intervals])  # [N]
        numbers = np.array([interval.numbers() for interval in intervals]).T  # [M, N]
        over: BoolArray = np.array([interval.over for interval in intervals])  # [N]
        if over.any():
            infos = self._end_info(over, numbers, intervals)
        else:
            infos = dict(zip(INFO, numbers, strict=True)) | dict.fromkeys(_MASKS, self._all)
        return self._observations(), rewards, np.zeros(self.num_envs, np.bool_), over, infos | self._path_info()

    def close_extras(self, **_: Any) -> None:
        """End all labs."""
        self._active = False
        for episode in self._episodes:
            episode.close()
        self._watch()

    # -- the labs ------------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Advance all labs until each is ready for the next decision."""
        busy = self.num_envs
        while busy:
            ready = self._poller.poll(HUNG_MS)
            if not ready:
                raise LabError(f"no lab answered within {HUNG_MS // 1000} s")
            for descriptor, _ in ready:
                n = self._by_descriptor[descriptor]
                self._advance(n)
                busy -= self._phases[n] is Phase.READY

    def _advance(self, n: int) -> None:
        """Take the frame that worker n is waiting for, and send the next one."""
        episode, phase = self._episodes[n], self._phases[n]
        if phase is Phase.INTERVAL:
            interval = episode.receive()
            self._intervals[n] = interval
            self._features[n] = interval.features
            if not interval.over:
                self._phases[n] = Phase.READY
            elif episode.running:
                episode.end()
                self._phases[n] = Phase.END
            else:
                self._begin_next(n)
        elif phase is Phase.END:
            episode.receive_end()
            self._begin_next(n)
        else:
            first = episode.receive_first()
            self._features[n] = first.features
            self._starts[n] = first.cwnd, first.now_us
            self._phases[n] = Phase.READY

    def _begin_next(self, n: int) -> None:
        self._episodes[n].begin(self._generators[n])
        self._phases[n] = Phase.FIRST
        self._update_path(n)

    def _update_path(self, n: int) -> None:
        self._paths = self._paths.copy()  # the caller keeps the old array
        self._paths[n] = self._episodes[n].path_features

    def _watch(self) -> None:
        """Poll the labs that are open now."""
        self._poller = select.poll()
        self._by_descriptor = {}
        for n, episode in enumerate(self._episodes):
            if episode.lab is not None:
                descriptor = episode.lab.fileno()
                self._by_descriptor[descriptor] = n
                self._poller.register(descriptor, select.POLLIN)

    # -- observations and infos ----------------------------------------------------------------------------------

    def _observations(self) -> FloatArray:
        """Return a new array [N, D]."""
        return np.array(self._features, np.float32) * FEATURE_SCALE

    def _path_info(self) -> dict[str, Any]:
        return {"path": self._paths, "_path": self._all}

    def _start_info(self, begun: BoolArray) -> dict[str, Any]:
        starts = np.array(self._starts, np.float64)  # [N, 2]
        return {"cwnd": starts[:, 0], "_cwnd": begun, "now_us": starts[:, 1], "_now_us": begun}

    def _end_info(self, over: BoolArray, numbers: npt.NDArray[np.float64], intervals: list[Interval]) -> dict[str, Any]:
        """Return infos where episodes ended: over [N], numbers [M, N]. Their numbers go to final_info."""
        going = ~over  # [N]
        infos: dict[str, Any] = {}
        final: dict[str, Any] = {}
        for name, mask, values in zip(INFO, _MASKS, numbers, strict=True):
            infos[name], infos[mask] = np.where(going, values, 0.0), going
            final[name], final[mask] = np.where(over, values, 0.0), over
        starts = self._start_info(self._all)
        for name in ("cwnd", "now_us"):
            infos[name] = np.where(over, starts[name], infos[name])
            infos[f"_{name}"] = self._all
        final_obs = np.full(self.num_envs, None, dtype=object)
        for n in np.flatnonzero(over):
            final_obs[n] = np.array(intervals[n].features, np.float32) * FEATURE_SCALE
        return infos | {"final_obs": final_obs, "_final_obs": over, "final_info": final, "_final_info": over}


_MASKS = tuple(f"_{name}" for name in INFO)
