"""Training profiles: which paths a policy learns on, and what it is rewarded for.

A profile is configs/profile/NAME.yaml, read into the dataclasses below. It is a mixture: the next path comes from one
of its `paths` with a chance proportional to `weight`, and each number of it is drawn from its own distribution::

    paths:
      clean:
        weight: 3
        rate_mbps: {log_uniform: [1, 200]}
        loss_pct: {choice: [0, 1]}
      stress:
        weight: 1
        scenario: stress          # a path of configs/scenario, as it is
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException
from yaml import YAMLError

from env.checkout import CONFIGS
from env.held_out import TRACES, in_band, is_held_out, within_band
from env.near import did_you_mean
from env.network.path import PACKET_BYTES, Path, PathError
from env.network.scenario import UNDER_TEST, ScenarioError, load_scenario
from env.network.schemes import SCHEMES
from env.network.step import Step
from env.reward import RewardWeights

FOLDER = CONFIGS / "profile"
MOST_FLOWS = 32  # of one kind in an episode
MOST_STEPS = 32  # of the rate, in an episode
FEWEST_DECISIONS = 64  # of an episode that its packets make shorter
SNAPSHOT = "snapshot"  # a rival that is an older version of the learner, played in the kernel beside it
STAND_IN = "ndm"  # for a snapshot where there is none: the model that was exported last
_RIVALS = {scheme.name: scheme.module for scheme in SCHEMES.values() if scheme.rival}
# Schemes that may be rivals, with the module that a lab loads for them; "": the lab kernel has it. The critic's inputs
# are in this order: the kernel's own, the snapshot, those of modules, the stand-in.
RIVALS = (
    {name: module for name, module in _RIVALS.items() if not module}
    | {SNAPSHOT: ""}
    | {name: module for name, module in _RIVALS.items() if module and name != STAND_IN}
    | {STAND_IN: _RIVALS[STAND_IN]}
)
LEARNER = "learner"  # the scheme of a flow that has the policy
DRAWN_FIELDS = ("rate_mbps", "rtt_ms", "buffer_bdp", "loss_pct", "duplicate_pct", "reorder_pct")
PATH_FEATURES = (
    "log_rate",  # -1 at 1 Mbit/s, 1 at 1 Gbit/s
    "log_rtt",  # base RTT: -1 at 10 ms, 1 at 300 ms
    "log_buffer",  # -0.67 at 0.25 BDP, 0 at 1, 1 at 8
    "loss",  # 0 without random loss, 1 at 2 %
    "jitter",  # jitter over one-way delay, 1 at twice the delay
    "reference_rtt",  # log2 of the mean RTT without a queue over the base RTT
    "loopback",  # 1 for the published loopback tests: packets of 64 KB
    "others",  # other flows on the path, 1 at four
)


class ProfileError(ValueError):
    """A profile that is unknown or cannot be used; the message names the bad value and the right ones."""


@dataclass
class Draw:
    """A distribution of one number; exactly one field is set. No field at all: the path's default."""

    fixed: float | None = None
    choice: list[float] | None = None
    uniform: list[float] | None = None  # [low, high]
    log_uniform: list[float] | None = None  # [low, high], low above 0

    def bounds(self) -> tuple[float, float] | None:
        """Return the smallest and the largest value it can give; None for the path's default."""
        if self.fixed is not None:
            return self.fixed, self.fixed
        values = self.choice or self.uniform or self.log_uniform
        return (min(values), max(values)) if values else None

    def draw(self, rng: np.random.Generator) -> float | None:
        """Return a value; None for the path's default."""
        if self.fixed is not None:
            return self.fixed
        if self.choice is not None:
            return self.choice[int(rng.integers(len(self.choice)))]
        if self.uniform is not None:
            low, high = self.uniform
            return float(rng.uniform(low, high))
        if self.log_uniform is not None:
            low, high = self.log_uniform
            value = math.exp(rng.uniform(math.log(low), math.log(high)))
            return min(max(value, low), high)  # exp(log(x)) may miss x by a rounding error
        return None


@dataclass
class PathMix:
    """One part of a mixture: the paths of a kind, or the one path of a scenario.

    jitter_ratio: the standard deviation of netem's delay over the one-way base delay. learners: how many flows have the
    policy. rivals: with the chance rival_chance, rival_count flows of one of these schemes are there too. All flows but
    the first begin within start_spread_s. extra_rtt_ratio: every second flow has a base RTT longer by so many times it.
    rate_step: at some time of the episode the rate becomes so many times what it was; rate_steps: this happens so many
    times, once in each of as many equal parts, to so many times the first rate. traces: the link follows one of these
    in place of a rate. reward: the weights on these paths, in place of the profile's.
    """

    weight: float = 1.0
    scenario: str | None = None
    rate_mbps: Draw = field(default_factory=Draw)
    rtt_ms: Draw = field(default_factory=Draw)
    buffer_bdp: Draw = field(default_factory=Draw)
    loss_pct: Draw = field(default_factory=Draw)
    duplicate_pct: Draw = field(default_factory=Draw)
    reorder_pct: Draw = field(default_factory=Draw)
    jitter_ratio: Draw = field(default_factory=Draw)
    qdisc: str = "pfifo"
    learners: Draw = field(default_factory=Draw)
    rivals: list[str] = field(default_factory=list)
    rival_chance: float = 1.0
    rival_count: Draw = field(default_factory=Draw)
    start_spread_s: float = 0.0
    extra_rtt_ratio: Draw = field(default_factory=Draw)
    rate_step: Draw = field(default_factory=Draw)
    rate_steps: Draw = field(default_factory=Draw)
    traces: list[str] = field(default_factory=list)
    reward: RewardWeights | None = None


@dataclass
class Profile:
    """What configs/profile/NAME.yaml may hold; the first line of each file is the command that uses it."""

    name: str = MISSING
    paths: dict[str, PathMix] = MISSING
    reward: RewardWeights = field(default_factory=RewardWeights)
    episode_decisions: int = 256
    episode_s: float = 60.0  # virtual
    episode_packets: float | None = None  # that a full link carries in an episode; on long ones it has fewer decisions
    skip_slow_start_prob: float = 0.0  # of each learner to have its start behind it at once, as after an early loss

    def decisions_on(self, path: Path) -> int:
        """Return the decisions of each learner in an episode: a long fast path costs as much time as its packets."""
        if self.episode_packets is None or path.topology == "loopback":  # packets of 64 KB
            return self.episode_decisions
        packets = max(path.bdp_bytes / PACKET_BYTES, 1.0)  # of a round trip, which may take no time
        fitting = min(self.episode_packets / packets, self.episode_decisions)
        return max(round(fitting), min(FEWEST_DECISIONS, self.episode_decisions))


class EpisodeFlow(NamedTuple):
    """A flow beside the first learner. scheme: LEARNER, or a congestion control. client: counted from 1."""

    scheme: str
    start_s: float = 0.0
    client: int = 1


class EpisodeConfig(NamedTuple):
    """What an episode runs on: the path, the flows beside the first learner, and what counts there.

    part: of the mixture, that it was drawn from.
    """

    path: Path
    others: tuple[EpisodeFlow, ...] = ()
    reward: RewardWeights | None = None  # None: the profile's
    part: str = ""

    @property
    def rivals(self) -> tuple[EpisodeFlow, ...]:
        """The others that are no learners."""
        return tuple(other for other in self.others if other.scheme != LEARNER)

    def alone(self) -> EpisodeConfig:
        """Return the episode with the first learner and the rivals only, as the Gymnasium environments run it."""
        return self._replace(others=self.rivals)

    @property
    def modules(self) -> tuple[str, ...]:
        """Kernel modules that the rivals need."""
        return tuple(sorted({RIVALS.get(rival.scheme, "") for rival in self.rivals} - {""}))

    @property
    def has_snapshot(self) -> bool:
        """Whether an older version of the learner is among the rivals."""
        return any(rival.scheme == SNAPSHOT for rival in self.rivals)

    @property
    def learners(self) -> tuple[EpisodeFlow, ...]:
        """All learners, the first one too."""
        return (EpisodeFlow(LEARNER), *(other for other in self.others if other.scheme == LEARNER))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for a file; from_dict reads it."""
        return {
            "path": self.path.as_dict(),
            "others": [list(other) for other in self.others],
            "reward": None if self.reward is None else asdict(self.reward),
            "part": self.part,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EpisodeConfig:
        """Return the episode of as_dict(). Raises PathError, KeyError, TypeError for what is none."""
        reward = None if data["reward"] is None else RewardWeights(**data["reward"])
        others = tuple(EpisodeFlow(*other) for other in data["others"])
        return cls(Path.from_dict(dict(data["path"])), others, reward, data.get("part", ""))

    def features(self) -> npt.NDArray[np.float32]:
        """Return [len(PATH_FEATURES)] numbers of about -1 to 1, for a critic that may know the path."""
        path = self.path
        one_way_ms = max(path.rtt_ms / 2, 1e-3)
        return np.array(
            [
                (math.log10(path.rate_mbps) - 1.5) / 1.5,
                (math.log10(max(path.rtt_ms, 0.01)) - 1.7386) / 0.7386,
                math.log2(max(path.buffer_bdp, 1e-3)) / 3,
                path.loss_pct / 2,
                path.jitter_ms / one_way_ms / 2,
                math.log2(path.reference_rtt_ms / path.rtt_ms) if path.reference_rtt_ms and path.rtt_ms else 0.0,
                float(path.topology == "loopback"),
                len(self.others) / 4,
            ],
            np.float32,
        )


def with_jitter(path: Path, ratio: float) -> Path:
    """Return the router path with jitter of `ratio` times its one-way delay, and the mean RTT that follows."""
    if not ratio:
        return path
    one_way_ms = path.rtt_ms / 2
    known = path.as_dict() | {
        "jitter_ms": ratio * one_way_ms,
        "reference_rtt_ms": one_way_ms + mean_positive_normal(one_way_ms, ratio * one_way_ms),
    }
    return Path.from_dict(known)


def mean_positive_normal(mean: float, deviation: float) -> float:
    """Return the mean of max(0, N(mean, deviation)): netem sends a packet with a negative delay at once."""
    z = mean / deviation
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return mean * 0.5 * (1 + math.erf(z / math.sqrt(2))) + deviation * density


def scenario_episode_config(name: str) -> EpisodeConfig:
    """Return the path of a scenario and its flows, which must be bulk. Raises ScenarioError."""
    scenario = load_scenario(name)
    flows = [flow for flow in scenario.flows for _ in range(flow.count)]
    if any(flow.kind != "bulk" for flow in flows):
        raise ScenarioError(f"scenario {name} has a flow that is not bulk; a learner and those beside it are")
    first = next(i for i, flow in enumerate(flows) if flow.scheme == UNDER_TEST)
    others = tuple(
        EpisodeFlow(LEARNER if flow.scheme == UNDER_TEST else flow.scheme, flow.start_s, flow.client)
        for flow in (*flows[:first], *flows[first + 1 :])
    )
    return EpisodeConfig(scenario.network_path(), others)


def profile_names() -> list[str]:
    """Return the names of all profiles, sorted."""
    return sorted(file.stem for file in FOLDER.glob("*.yaml"))


def load_profile(name: str) -> Profile:
    """Read and check one profile.

    Raises ProfileError: unknown name (with the right ones), wrong key or type (with the right ones), a distribution
    that gives no path.
    """
    file = FOLDER / f"{name}.yaml"
    if not file.is_file():
        names = profile_names()
        hint = did_you_mean(name, names, most=1)
        raise ProfileError(f"profile {name!r} is unknown: {hint}The profiles are {', '.join(names)}.")
    try:
        loaded = OmegaConf.load(file)
    except (YAMLError, OSError) as error:
        raise ProfileError(f"{file}: {error}") from error
    if not isinstance(loaded, DictConfig):
        raise ProfileError(f"{file}: not a profile; its keys are {', '.join(f.name for f in fields(Profile))}")
    return profile_from_config(loaded)


def profile_from_config(config: DictConfig | Mapping[str, Any]) -> Profile:
    """Return the checked profile of a mapping, such as Hydra's group `profile`. Raises ProfileError."""
    try:
        profile = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Profile), config))
    except MissingMandatoryValue as error:
        raise ProfileError(f"a profile needs `name` and `paths`: {_first_line(error)}") from error
    except OmegaConfBaseException as error:
        raise ProfileError(_explain(error)) from error
    assert isinstance(profile, Profile)
    check_profile(profile)
    return profile


def check_profile(profile: Profile) -> None:
    """Raise ProfileError when an episode could not be drawn from the profile."""
    what = f"profile {profile.name}"
    if profile.episode_decisions < 1 or not profile.episode_s > 0:
        raise ProfileError(
            f"{what}: episode_decisions is {profile.episode_decisions} and episode_s {profile.episode_s:g}; "
            "they must be at least 1 and above 0"
        )
    if profile.episode_packets is not None and not profile.episode_packets > 0:
        raise ProfileError(f"{what}: episode_packets is {profile.episode_packets:g}; it must be above 0")
    if not 0 <= profile.skip_slow_start_prob <= 1:
        raise ProfileError(
            f"{what}: skip_slow_start_prob is {profile.skip_slow_start_prob:g}; it must lie between 0 and 1"
        )
    _check_reward(f"{what}: reward", profile.reward)
    for name, mix in profile.paths.items():
        _check_mix(f"{what}: paths.{name}", mix)
    if not sum(mix.weight for mix in profile.paths.values()) > 0:
        raise ProfileError(f"{what}: no path has a weight above 0")


def _check_reward(what: str, reward: RewardWeights) -> None:
    for entry in fields(reward):
        value = getattr(reward, entry.name)
        if not 0 <= value < math.inf:
            raise ProfileError(f"{what}.{entry.name} is {value:g}; it must not be negative")


def _check_mix(what: str, mix: PathMix) -> None:
    if not 0 <= mix.weight < math.inf:
        raise ProfileError(f"{what}.weight is {mix.weight:g}; it must not be negative")
    if not 0 <= mix.rival_chance <= 1:
        raise ProfileError(f"{what}.rival_chance is {mix.rival_chance:g}; it must lie between 0 and 1")
    if mix.reward is not None:
        _check_reward(f"{what}.reward", mix.reward)
    draws = {entry.name: draw for entry in fields(mix) if isinstance(draw := getattr(mix, entry.name), Draw)}
    for name, draw in draws.items():
        _check_draw(f"{what}.{name}", draw)
        _check_outside(f"{what}.{name}", name, draw)
    if mix.scenario is not None:
        given = [name for name, draw in draws.items() if draw.bounds()]
        given += [name for name in ("rivals", "traces", "start_spread_s") if getattr(mix, name)]
        if given:
            raise ProfileError(f"{what}: scenario {mix.scenario} already says {', '.join(given)}")
        try:
            episode_config = scenario_episode_config(mix.scenario)
        except ScenarioError as error:
            raise ProfileError(f"{what}: {error}") from error
        if is_held_out(episode_config.path):
            raise ProfileError(f"{what}: scenario {mix.scenario} is held out from training: env/held_out.py")
        return
    _check_others(what, mix)
    _check_steps(what, mix)
    for trace in mix.traces:
        if trace.startswith(TRACES):
            raise ProfileError(f"{what}: trace {trace} is held out from training: env/held_out.py")
    for end, trace in itertools.product((0, 1), mix.traces or [""]):  # all smallest, then all largest values
        numbers: dict[str, Any] = {name: bounds[end] for name in DRAWN_FIELDS if (bounds := draws[name].bounds())}
        try:
            path = with_jitter(
                Path(qdisc=mix.qdisc, trace=trace, **numbers), (mix.jitter_ratio.bounds() or (0.0, 0.0))[end]
            )
            if bounds := mix.rate_step.bounds():
                replace(path, steps=(Step(1.0, rate_mbps=path.rate_mbps * bounds[end]),))
        except PathError as error:
            raise ProfileError(f"{what}: {error}") from error


def _check_others(what: str, mix: PathMix) -> None:
    for scheme in mix.rivals:
        if scheme not in RIVALS:
            hint = did_you_mean(scheme, RIVALS, most=1)
            raise ProfileError(f"{what}.rivals: {scheme!r} is unknown: {hint}They are {', '.join(RIVALS)}.")
    for name in ("learners", "rival_count"):
        low, high = getattr(mix, name).bounds() or (1, 1)
        if not 1 <= low <= high <= MOST_FLOWS:
            raise ProfileError(f"{what}.{name} goes from {low:g} to {high:g}; there are 1 to {MOST_FLOWS}")
    if not mix.start_spread_s >= 0:
        raise ProfileError(f"{what}.start_spread_s is {mix.start_spread_s:g}; it must not be negative")
    low, _ = mix.extra_rtt_ratio.bounds() or (0.0, 0.0)
    if low < 0:
        raise ProfileError(f"{what}.extra_rtt_ratio is {low:g}; it must not be negative")


def _check_steps(what: str, mix: PathMix) -> None:
    bounds = mix.rate_steps.bounds()
    if bounds and not mix.rate_step.bounds():
        raise ProfileError(f"{what}.rate_steps is given without rate_step: how many times the rate is after a step")
    low, high = bounds or (1, 1)
    if not 1 <= low <= high <= MOST_STEPS:
        raise ProfileError(f"{what}.rate_steps goes from {low:g} to {high:g}; there are 1 to {MOST_STEPS}")


def _check_draw(what: str, draw: Draw) -> None:
    given = [entry.name for entry in fields(Draw) if getattr(draw, entry.name) is not None]
    if len(given) > 1:
        raise ProfileError(f"{what} has {' and '.join(given)}; it takes one of {', '.join(_keys(Draw))}")
    if draw.choice is not None and not draw.choice:
        raise ProfileError(f"{what}.choice is empty")
    for name in ("uniform", "log_uniform"):
        ends = getattr(draw, name)
        if ends is not None and not (len(ends) == 2 and ends[0] <= ends[1]):
            raise ProfileError(f"{what}.{name} is {ends}; it must be [low, high]")
    if draw.log_uniform is not None and not draw.log_uniform[0] > 0:
        raise ProfileError(f"{what}.log_uniform is {draw.log_uniform}; a logarithm needs a low above 0")


def _check_outside(what: str, name: str, draw: Draw) -> None:
    values = draw.choice or ([] if draw.fixed is None else [draw.fixed])
    held = [f"{value:g}" for value in values if in_band(name, value)]
    bounds = draw.bounds()
    if not values and bounds and within_band(name, *bounds):
        held = [f"from {bounds[0]:g} to {bounds[1]:g}"]
    if held:
        raise ProfileError(f"{what} is {', '.join(held)}: held out from training by configs/held_out.yaml")


def _keys(kind: type[Any]) -> list[str]:
    return [entry.name for entry in fields(kind)]


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _explain(error: OmegaConfBaseException) -> str:
    """Return OmegaConf's message with the place and, for a wrong key, the right ones."""
    place = error.full_key or "the profile"
    text = f"{place}: {_first_line(error)}"
    kind = error.object_type
    if isinstance(kind, type) and is_dataclass(kind):
        text += f"; the keys there are {', '.join(_keys(kind))}"
    return text
