"""Draws episodes from a profile: from all of it, from the easy middle of its ranges, or around an episode."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from env.held_out import outside_bands
from env.network.path import Path
from env.network.step import Step
from env.profile import (
    DRAWN_FIELDS,
    LEARNER,
    SNAPSHOT,
    STAND_IN,
    EpisodeConfig,
    EpisodeFlow,
    PathMix,
    Profile,
    check_profile,
    scenario_episode_config,
    with_jitter,
)
from env.ranges import around, middle


class PathSampler:
    """Draws episodes from a checked profile; no number of them lies in a held-out band.

    snapshots: whether who plays has any of the learner; else the rival SNAPSHOT is STAND_IN.
    """

    def __init__(self, profile: Profile, snapshots: bool = False) -> None:
        check_profile(profile)
        self.profile = profile
        self._snapshots = snapshots
        self._parts = list(profile.paths)
        weights = np.array([mix.weight for mix in profile.paths.values()])  # [number of parts]
        self._chances = weights / weights.sum()
        self._episode_configs = {
            part: scenario_episode_config(mix.scenario)._replace(reward=mix.reward, part=part)
            for part, mix in profile.paths.items()
            if mix.scenario is not None
        }

    def draw(self, rng: np.random.Generator, width: float = 1.0) -> EpisodeConfig:
        """Return the next episode; all randomness comes from `rng`.

        width: of each range, the share around its easy middle that numbers are drawn from (env.ranges.middle).
        """
        part = self._parts[int(rng.choice(len(self._parts), p=self._chances))]
        if part in self._episode_configs:
            return self._episode_configs[part]
        return self._draw_part(part, middle(self.profile.paths[part], width), rng)

    def draw_near(self, episode_config: EpisodeConfig, factor: float, rng: np.random.Generator) -> EpisodeConfig:
        """Return an episode like one that was drawn: of the same part, each number within a factor (env.ranges.around).

        The episode of a scenario is the same again. Raises KeyError for an episode of another profile.
        """
        mix = self.profile.paths[episode_config.part]
        return (
            episode_config
            if mix.scenario
            else self._draw_part(episode_config.part, around(mix, episode_config, factor), rng)
        )

    def _draw_part(self, part: str, mix: PathMix, rng: np.random.Generator) -> EpisodeConfig:
        numbers = {name: outside_bands(name, functools.partial(getattr(mix, name).draw, rng)) for name in DRAWN_FIELDS}
        ratio = mix.jitter_ratio.draw(rng) or 0.0
        known: dict[str, Any] = {name: value for name, value in numbers.items() if value is not None}
        if mix.traces:
            known["trace"] = mix.traces[int(rng.integers(len(mix.traces)))]
        episode_config = EpisodeConfig(with_jitter(Path(qdisc=mix.qdisc, **known), ratio), reward=mix.reward, part=part)
        return self._with_steps(self._with_others(episode_config, mix, rng), mix, rng)

    def _with_others(self, episode_config: EpisodeConfig, mix: PathMix, rng: np.random.Generator) -> EpisodeConfig:
        schemes = [LEARNER] * (round(mix.learners.draw(rng) or 1) - 1)
        if mix.rivals and rng.random() < mix.rival_chance:
            rival = mix.rivals[int(rng.integers(len(mix.rivals)))]
            if rival == SNAPSHOT and not self._snapshots:
                rival = STAND_IN
            schemes += [rival] * round(mix.rival_count.draw(rng) or 1)
        path, clients = episode_config.path, 1
        ratio = mix.extra_rtt_ratio.draw(rng) or 0.0
        if ratio and schemes:
            path, clients = replace(path, client_extra_rtt_ms=(0.0, ratio * path.rtt_ms)), 2
        starts = [float(rng.uniform(0, mix.start_spread_s)) if mix.start_spread_s else 0.0 for _ in schemes]
        others = tuple(
            EpisodeFlow(scheme, start_s, (i + 1) % clients + 1)
            for i, (scheme, start_s) in enumerate(zip(schemes, starts, strict=True))
        )
        return episode_config._replace(path=path, others=others)

    def _with_steps(self, episode_config: EpisodeConfig, mix: PathMix, rng: np.random.Generator) -> EpisodeConfig:
        if not mix.rate_step.bounds():
            return episode_config
        # an episode ends after its decisions or its seconds; round trips are not much longer than the path's
        end_s = min(
            self.profile.episode_s, self.profile.decisions_on(episode_config.path) * episode_config.path.rtt_ms / 1e3
        )
        count = round(mix.rate_steps.draw(rng) or 1)
        steps = []
        for i in range(count):
            factor = mix.rate_step.draw(rng)
            assert factor is not None, "bounds() are those of what can be drawn"
            at_s = (i + float(rng.uniform(0.2, 0.8))) / count * end_s
            steps.append(Step(at_s, rate_mbps=episode_config.path.rate_mbps * factor))
        return episode_config._replace(path=replace(episode_config.path, steps=tuple(steps)))
