"""One learning flow in one lab: begins runs, answers observations, judges intervals. Both environments are made of it.

Nothing here waits except receive() and stop(), so that several labs can advance side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from env import schema
from env.lab import Lab, LabError, Observation, VirtualLab
from env.network.path import Path
from env.profile import LEARNER, SNAPSHOT, EpisodeConfig, EpisodeFlow, Profile, load_profile, scenario_episode_config
from env.reference import FlowReference, run_origin_us
from env.reward import OUTCOME, Outcome, between, compute_reward
from env.sampler import PathSampler

SCHEME = "ndm_gym"  # the congestion control that asks the host
SNAPSHOT_SCHEME = "ndm_snapshot"  # the one that has the lab's player ask its second model
# Virtual. The host ends an episode; only a flow that has been stalled for so long beyond it ends by itself.
GRACE_S = 5.0
FEATURE_SCALE = np.float32(2.0**-schema.FEATURE_FRAC)
OPTIONS = ("scenario", "path")
FIRST_LEARNER = EpisodeFlow(LEARNER)
INFO = (*OUTCOME, "cwnd", "now_us", "interval_us")  # what `info` holds of an interval, besides the path

BootLab = Callable[[int], Lab]


def boot_lab(seed: int) -> Lab:
    """Return a virtual lab that is starting; its first command waits for it. Raises env.lab.LabMissing."""
    lab = VirtualLab(seed=seed)
    lab.start()
    return lab


def learner_flows(episode_config: EpisodeConfig, scheme: str, end_s: float) -> list[dict[str, Any]]:
    """Return the flows that have the policy, for a `run` command, under a congestion control; all last until end_s."""
    return [_flow(scheme, learner, end_s) for learner in episode_config.learners]


def rival_flows(episode_config: EpisodeConfig, end_s: float) -> list[dict[str, Any]]:
    """Return the flows that have congestion controls of their own; all last until end_s."""
    return [
        _flow(SNAPSHOT_SCHEME if rival.scheme == SNAPSHOT else rival.scheme, rival, end_s)
        for rival in episode_config.rivals
    ]


def _flow(scheme: str, other: EpisodeFlow, end_s: float) -> dict[str, Any]:
    return {"scheme": scheme, "start_s": other.start_s, "duration_s": end_s - other.start_s, "client": other.client}


class Interval(NamedTuple):
    """What became of one decision. features: Q12, [10]; over: the episode ended with it."""

    features: tuple[int, ...]
    outcome: Outcome
    after: Observation
    interval_us: int
    over: bool

    @property
    def reward(self) -> float:
        """The sum of the components."""
        return float(self.outcome.reward)

    def numbers(self) -> tuple[float, ...]:
        """Return the values of INFO, in its order."""
        return (*map(float, self.outcome.numbers().values()), self.after.cwnd, self.after.now_us, self.interval_us)


class Episode:
    """The episodes of one lab, one after the other.

    profile: name, or a Profile. decisions, duration_s (virtual): length of an episode, None: the profile's.
    Raises env.profile.ProfileError, ValueError.
    """

    def __init__(
        self,
        profile: str | Profile,
        decisions: int | None = None,
        duration_s: float | None = None,
        boot: BootLab = boot_lab,
    ) -> None:
        self.profile = load_profile(profile) if isinstance(profile, str) else profile
        self.sampler = PathSampler(self.profile)
        self.decisions = self.profile.episode_decisions if decisions is None else decisions
        self.duration_s = self.profile.episode_s if duration_s is None else duration_s
        if self.decisions < 1:
            raise ValueError(f"episode_decisions is {self.decisions}; it must be at least 1")
        if not self.duration_s > 0:
            raise ValueError(f"episode_s is {self.duration_s:g}; it must be above 0 seconds")
        self.lab: Lab | None = None
        self.episode_config = EpisodeConfig(Path())
        self.path_features: npt.NDArray[np.float32] = self.episode_config.features()  # [PATH_FEATURES]
        self._boot = boot
        self._reference = FlowReference(self.episode_config, FIRST_LEARNER)
        self._fresh_seed: int | None = None  # of a lab that prepare() has booted and that has run nothing
        self._running = False  # a run has begun and its Reply has not come
        self._waiting = False  # the next frame is the lab's
        self._last: Observation | None = None
        self._flow = 0  # the newest flow that this lab has asked for
        self._ended_flow = 0  # flows count up; those up to here belong to earlier runs
        self._start_us = 0  # of the first observation, on the lab's clock
        self._origin_us = 0  # of the run
        self._decided = 0

    # -- between episodes ----------------------------------------------------------------------------------------

    def begin(
        self, rng: np.random.Generator, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        """Draw a path and send the run. With a seed the lab boots anew, so that all that follows is repeatable.

        options: {"scenario": name} or {"path": {...}} instead of a path of the profile. Raises ValueError for others,
        env.network.scenario.ScenarioError, env.network.path.PathError, env.lab.LabError.
        """
        episode_config = self._choose(rng, options).alone()  # one agent decides: other learners do not run
        if seed is not None and seed != self._fresh_seed:
            self.close()
        if self.lab is None:
            self.lab = self._boot(int(rng.integers(2**31)) if seed is None else seed)
        self.stop()
        self.episode_config = episode_config
        self.path_features = episode_config.features()
        self._reference = FlowReference(episode_config, FIRST_LEARNER)
        self._weights = episode_config.reward or self.profile.reward
        duration_s = self.duration_s + GRACE_S
        flows = [*learner_flows(episode_config, SCHEME, duration_s), *rival_flows(episode_config, duration_s)]
        self._fresh_seed = None
        self._last = None
        self._decided = 0
        self._running = self._waiting = True
        for module in episode_config.modules:
            self.lab.load(module)
        self.lab.begin_run(episode_config.path, flows, duration_s)

    def prepare(self, seed: int) -> None:
        """Boot for a begin() with this seed: several labs come up side by side."""
        self.close()
        self.lab = self._boot(seed)
        self._fresh_seed = seed

    def _choose(self, rng: np.random.Generator, options: Mapping[str, Any] | None) -> EpisodeConfig:
        unknown = [key for key in options or () if key not in OPTIONS]
        if unknown or (options and len(options) > 1):
            raise ValueError(f"reset options are {dict(options or {})}; it takes one of {', '.join(OPTIONS)}")
        if options and "scenario" in options:
            return scenario_episode_config(options["scenario"])
        if options:
            path = options["path"]
            return EpisodeConfig(path if isinstance(path, Path) else Path.from_dict(dict(path)))
        return self.sampler.draw(rng)

    def stop(self) -> None:
        """End the run, if there is one, and wait for its Reply. Afterwards the lab takes the next command."""
        while self._running:
            if not self._waiting:
                self.end()
            self._take()

    def end(self) -> None:
        """Answer the last observation with the end of the episode; only the Reply comes after it."""
        assert self.lab is not None
        self._waiting = True
        self.lab.act(0.0, 0.0, stop=True)

    @property
    def running(self) -> bool:
        """False once the lab is ready for the next begin()."""
        return self._running

    def close(self) -> None:
        """End the lab; begin() boots another."""
        if self.lab is not None:
            self.lab.close()
        self.lab = None
        self._flow = self._ended_flow = 0
        self._fresh_seed = None
        self._running = self._waiting = False

    # -- within an episode ---------------------------------------------------------------------------------------

    def _take(self) -> Observation | None:
        """Wait for a frame; None: it was the Reply, the run is over."""
        assert self.lab is not None
        frame = self.lab.receive()
        while isinstance(frame, Observation) and frame.flow <= self._ended_flow:
            self.lab.act(0.0, 0.0)  # a connection of an earlier run that is still closing: nobody's decision
            frame = self.lab.receive()
        self._waiting = False
        if isinstance(frame, Observation):
            self._flow = frame.flow
            return frame
        self._running = False
        self._ended_flow = self._flow
        return None

    def receive_first(self) -> Observation:
        """Wait for the first observation of the run. Raises LabError."""
        first = self._take()
        if first is None:
            raise LabError(f"the flow ended before its first decision, on {self.episode_config.path}")
        self._last = first
        self._start_us = first.now_us
        self._origin_us = run_origin_us(first.now_us)
        return first

    def act(self, cwnd_log2: float, pacing: float) -> None:
        """Send a decision, two numbers in [-1, 1]."""
        assert self.lab is not None
        self._waiting = True
        self.lab.act(cwnd_log2, pacing)

    def receive_end(self) -> None:
        """Wait for the Reply after end(). Raises LabError."""
        if self._take() is not None:
            raise LabError("the lab asked for a decision after the end of the episode")

    def receive(self) -> Interval:
        """Wait for what became of the decision. Raises LabError."""
        before = self._last
        assert before is not None
        after = self._take()
        self._decided += 1
        if after is None:  # stalled to the end of the run: nothing has come through since the last observation
            end_us = max(self._start_us + round((self.duration_s + GRACE_S) * 1e6), before.now_us + 1)
            after = before._replace(now_us=end_us)
            over = True
        else:
            over = self._decided >= self.decisions or after.now_us - self._start_us >= self.duration_s * 1e6
        self._last = after
        reference = self._reference.of_interval(
            (before.now_us - self._origin_us) / 1e6, (after.now_us - self._origin_us) / 1e6
        )
        outcome = compute_reward(between(before, after), reference, self._weights)
        return Interval(after.features, outcome, after, after.now_us - before.now_us, over)
