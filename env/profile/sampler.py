"""Draws episodes from a profile."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from env.network.path import Path
from env.network.step import Step
from env.profile.checks import check_profile
from env.profile.episode_config import LEARNER, SNAPSHOT, STAND_IN, EpisodeConfig, EpisodeFlow, scenario_episode_config
from env.profile.held_out import outside_bands
from env.profile.mixture import DRAWN_FIELDS, MixtureComponent, Profile, with_jitter
from env.profile.own_rivals import own_rivals, with_own_rivals


class PathSampler:
    """Draws episodes from a checked profile. None of their numbers lies in a held-out band.

    snapshots: whether the rollouts have a model for the rival SNAPSHOT; if not, STAND_IN replaces it. Raises
    UserError and env.lab.LabError when a rival that the user brings cannot be built or loaded.
    """

    def __init__(self, profile: Profile, snapshots: bool = False) -> None:
        check_profile(profile)
        self.profile = profile
        self.own_rivals = own_rivals(profile)
        self._snapshots = snapshots
        self._names = list(profile.paths)  # of the components
        weights = np.array([component.weight for component in profile.paths.values()])  # [components]
        self._probabilities = weights / weights.sum()
        self._scenarios = {
            name: with_own_rivals(
                scenario_episode_config(component.scenario)._replace(reward=component.reward, component=name),
                self.own_rivals,
            )
            for name, component in profile.paths.items()
            if component.scenario is not None
        }

    def draw(self, rng: np.random.Generator) -> EpisodeConfig:
        """Return the next episode; all randomness comes from `rng`."""
        name = self._names[int(rng.choice(len(self._names), p=self._probabilities))]
        if name in self._scenarios:
            return self._scenarios[name]
        return self._draw_from(name, self.profile.paths[name], rng)

    def _draw_from(self, name: str, component: MixtureComponent, rng: np.random.Generator) -> EpisodeConfig:
        draws = component.draws()
        drawn = {field: outside_bands(field, functools.partial(draws[field].draw, rng)) for field in DRAWN_FIELDS}
        jitter_ratio = component.jitter_ratio.draw(rng) or 0.0
        in_order = bool(component.jitter_in_order_prob) and rng.random() < component.jitter_in_order_prob
        numbers: dict[str, Any] = {field: value for field, value in drawn.items() if value is not None}
        if component.traces:
            numbers["trace"] = component.traces[int(rng.integers(len(component.traces)))]
        path = with_jitter(Path(qdisc=component.qdisc, **numbers), jitter_ratio, in_order)
        config = EpisodeConfig(path, reward=component.reward, component=name)
        return self._with_steps(self._with_other_flows(config, component, rng), component, rng)

    def _with_other_flows(
        self, config: EpisodeConfig, component: MixtureComponent, rng: np.random.Generator
    ) -> EpisodeConfig:
        schemes = [LEARNER] * (round(component.learners.draw(rng) or 1) - 1)
        if component.rivals and rng.random() < component.rival_chance:
            rival = component.rivals[int(rng.integers(len(component.rivals)))]
            if rival == SNAPSHOT and not self._snapshots:
                rival = STAND_IN
            schemes += [rival] * round(component.rival_count.draw(rng) or 1)
        path, clients = config.path, 1
        ratio = component.extra_rtt_ratio.draw(rng) or 0.0
        if ratio and schemes:
            path, clients = replace(path, client_extra_rtt_ms=(0.0, ratio * path.rtt_ms)), 2
        spread_s = component.start_spread_s
        starts_s = [float(rng.uniform(0, spread_s)) if spread_s else 0.0 for _ in schemes]
        flows = tuple(
            EpisodeFlow(scheme, start_s, (i + 1) % clients + 1)
            for i, (scheme, start_s) in enumerate(zip(schemes, starts_s, strict=True))
        )
        return with_own_rivals(config._replace(path=path, other_flows=flows), self.own_rivals)

    def _with_steps(
        self, config: EpisodeConfig, component: MixtureComponent, rng: np.random.Generator
    ) -> EpisodeConfig:
        if not component.rate_step.bounds():
            return config
        path = config.path
        # an episode ends after its decisions or its seconds; round trips are not much longer than the path's
        end_s = min(self.profile.episode_s, self.profile.decisions_on(path) * path.rtt_ms / 1e3)
        count = round(component.rate_steps.draw(rng) or 1)
        steps = []
        for i in range(count):
            factor = component.rate_step.draw(rng)
            assert factor is not None, "bounds() are those of a distribution"
            at_s = (i + float(rng.uniform(0.2, 0.8))) / count * end_s
            steps.append(Step(at_s, rate_mbps=path.rate_mbps * factor))
        return config._replace(path=replace(path, steps=tuple(steps)))
