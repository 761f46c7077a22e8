"""Steps one learner in one lab: begins episodes, sends decisions, computes rewards. Both environments use it.

Only receive(), receive_first(), receive_end() and stop() wait, so that several labs can advance side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from env.errors import UserError
from env.lab import Lab, LabError, Observation, VirtualLab
from env.network.path import Path
from env.profile import EpisodeConfig, PathSampler, Profile, load_profile, scenario_episode_config
from env.profile.episode_config import FIRST_LEARNER
from env.profile.flows import GRACE_S, learner_flows, load_rivals, rival_flows
from env.reference import FlowReference, run_origin_us
from env.reward import Outcome, between, compute_reward

OPTIONS = ("scenario", "path")

BootLab = Callable[[int], Lab]


def boot_lab(seed: int) -> Lab:
    """Return a virtual lab that is booting; its first command waits for the boot. Raises env.lab.LabMissing."""
    lab = VirtualLab(seed=seed)
    lab.start()
    return lab


class Interval(NamedTuple):
    """The interval after a decision. features: Q12, [D]. over: whether the episode ends with this interval."""

    features: tuple[int, ...]
    outcome: Outcome
    after: Observation
    interval_us: int
    over: bool

    @property
    def reward(self) -> float:
        """The sum of the weighted terms."""
        return float(self.outcome.reward)

    def numbers(self) -> tuple[float, ...]:
        """Return the values of env.spaces.INFO, in its order."""
        return (*map(float, self.outcome.numbers().values()), self.after.cwnd, self.after.now_us, self.interval_us)


class Episode:
    """The episodes of one lab, one after the other.

    profile: a name in configs/profile, the path of a .yaml file, or a Profile. decisions, duration_s: length of an
    episode, the latter in virtual seconds; None for the profile's. Raises UserError.
    """

    def __init__(
        self,
        profile: str | Profile,
        decisions: int | None = None,
        duration_s: float | None = None,
        boot: BootLab = boot_lab,
    ) -> None:
        self.profile = profile if isinstance(profile, Profile) else load_profile(str(profile))
        self.sampler = PathSampler(self.profile)
        self.decisions = self.profile.episode_decisions if decisions is None else decisions
        self.duration_s = self.profile.episode_s if duration_s is None else duration_s
        if self.decisions < 1:
            raise UserError(f"episode_decisions is {self.decisions}; it must be at least 1")
        if not self.duration_s > 0:
            raise UserError(f"episode_s is {self.duration_s:g}; it must be above 0 seconds")
        self.lab: Lab | None = None
        self.config = EpisodeConfig(Path())  # of the current episode
        self.path_features: npt.NDArray[np.float32] = self.config.features()  # [PATH_FEATURES]
        self._boot = boot
        self._reference = FlowReference(self.config, FIRST_LEARNER)
        self._fresh_seed: int | None = None  # of a lab that prepare() has booted and that has not run anything
        self._running = False  # a run has begun and its Reply has not arrived
        self._waiting = False  # for the lab's next frame
        self._last: Observation | None = None
        self._flow = 0  # number of the newest flow that has asked for a decision
        self._ended_flow = 0  # flows up to this number belong to earlier runs
        self._start_us = 0  # of the first observation, on the lab's clock
        self._origin_us = 0  # of the run
        self._decisions = 0  # in this episode

    # -- between episodes ----------------------------------------------------------------------------------------

    def begin(
        self, rng: np.random.Generator, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        """Draw an episode and start its run. With a seed the lab boots anew, so that everything afterwards is
        repeatable.

        options: {"scenario": name} or {"path": {...}} instead of an episode of the profile. Raises UserError for other
        options, scenarios and paths, env.lab.LabError.
        """
        config = self._choose(rng, options).alone()  # one agent decides: other learners do not run
        if seed is not None and seed != self._fresh_seed:
            self.close()
        if self.lab is None:
            self.lab = self._boot(int(rng.integers(2**31)) if seed is None else seed)
        self.stop()
        self.config = config
        self.path_features = config.features()
        self._reference = FlowReference(config, FIRST_LEARNER)
        self._weights = config.reward or self.profile.reward
        duration_s = self.duration_s + GRACE_S
        flows = [*learner_flows(config, duration_s), *rival_flows(config, duration_s)]
        self._fresh_seed = None
        self._last = None
        self._decisions = 0
        self._running = self._waiting = True
        load_rivals(self.lab, config)
        self.lab.begin_run(config.path, flows, duration_s)

    def prepare(self, seed: int) -> None:
        """Boot the lab for a begin() with this seed, so that several labs boot side by side."""
        self.close()
        self.lab = self._boot(seed)
        self._fresh_seed = seed

    def _choose(self, rng: np.random.Generator, options: Mapping[str, Any] | None) -> EpisodeConfig:
        unknown = [key for key in options or () if key not in OPTIONS]
        if unknown or (options and len(options) > 1):
            raise UserError(f"the options of reset() are {dict(options or {})}; it takes one of {', '.join(OPTIONS)}")
        if options and "scenario" in options:
            return scenario_episode_config(options["scenario"])
        if options:
            path = options["path"]
            return EpisodeConfig(path if isinstance(path, Path) else Path.from_dict(dict(path)))
        return self.sampler.draw(rng)

    def stop(self) -> None:
        """End the current run, if there is one, and wait for its Reply. Afterwards the lab takes the next command."""
        while self._running:
            if not self._waiting:
                self.end()
            self._take()

    def end(self) -> None:
        """Answer the last observation with the end of the episode; only the Reply follows."""
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
        """Wait for a frame and return it; None for the Reply, which ends the run."""
        assert self.lab is not None
        frame = self.lab.receive()
        while isinstance(frame, Observation) and frame.flow <= self._ended_flow:
            self.lab.act(0.0, 0.0)  # a connection of an earlier run is still closing; its decision does not matter
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
            raise LabError(f"the flow ended before its first decision, on {self.config.path}")
        self._last = first
        self._start_us = first.now_us
        self._origin_us = run_origin_us(first.now_us)
        return first

    def act(self, growth: float, pacing: float) -> None:
        """Send a decision, two numbers in [-1, 1]."""
        assert self.lab is not None
        self._waiting = True
        self.lab.act(growth, pacing)

    def receive_end(self) -> None:
        """Wait for the Reply after end(). Raises LabError."""
        if self._take() is not None:
            raise LabError("the lab asked for a decision after the end of the episode")

    def receive(self) -> Interval:
        """Wait for the end of the interval after the decision, and return it. Raises LabError."""
        before = self._last
        assert before is not None
        after = self._take()
        self._decisions += 1
        if after is None:  # stalled until the end of the run: nothing was delivered after the last observation
            end_us = max(self._start_us + round((self.duration_s + GRACE_S) * 1e6), before.now_us + 1)
            after = before._replace(now_us=end_us)
            over = True
        else:
            over = self._decisions >= self.decisions or after.now_us - self._start_us >= self.duration_s * 1e6
        self._last = after
        reference = self._reference.of_interval(
            (before.now_us - self._origin_us) / 1e6, (after.now_us - self._origin_us) / 1e6
        )
        outcome = compute_reward(between(before, after), reference, self._weights)
        return Interval(after.features, outcome, after, after.now_us - before.now_us, over)
