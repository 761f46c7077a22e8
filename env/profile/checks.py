"""Checks that episodes can be drawn from a profile, and that nothing in it is held out from training."""

from __future__ import annotations

import itertools
import math
from dataclasses import fields, replace
from typing import Any

from env.errors import UserError, in_context, suggest
from env.network.own_scheme import FORM
from env.network.path import Path
from env.network.step import Step
from env.options import check_limits
from env.profile.episode_config import RIVALS, scenario_episode_config
from env.profile.held_out import RECORDED, TRACES, held_out_bands, in_band, is_held_out, within_band
from env.profile.mixture import DRAWN_FIELDS, Draw, MixtureComponent, Profile, with_jitter
from env.profile.own_rivals import check_own_rival, is_own
from env.reward import RewardWeights

MAX_FLOWS = 32  # of one kind in an episode
MAX_STEPS = 32  # of the rate, in an episode


def check_profile(profile: Profile) -> None:
    """Raise UserError when an episode cannot be drawn from the profile."""
    where = f"profile {profile.name}"
    check_limits(profile, f"{where}: ")
    _check_reward(f"{where}: reward", profile.reward)
    for name, component in profile.paths.items():
        _check_component(f"{where}: paths.{name}", component)
    if not sum(component.weight for component in profile.paths.values()) > 0:
        raise UserError(f"{where}: no path has a weight above 0")


def _check_reward(where: str, reward: RewardWeights) -> None:
    for entry in fields(reward):
        _check_not_negative(f"{where}.{entry.name}", getattr(reward, entry.name))


def _check_component(where: str, component: MixtureComponent) -> None:
    _check_not_negative(f"{where}.weight", component.weight)
    for name in ("rival_chance", "jitter_in_order_prob"):
        if not 0 <= getattr(component, name) <= 1:
            value = getattr(component, name)
            raise UserError(f"{where}.{name} is {value:g}; it must be at least 0 and at most 1")
    if component.reward is not None:
        _check_reward(f"{where}.reward", component.reward)
    for name, draw in component.draws().items():
        _check_draw(f"{where}.{name}", draw)
        _check_outside_bands(f"{where}.{name}", name, draw)
    if component.scenario is not None:
        _check_scenario(where, component, component.scenario)
        return
    _check_flows(where, component)
    _check_steps(where, component)
    for trace in component.traces:
        if trace.startswith((TRACES, RECORDED)):
            raise UserError(f"{where}: trace {trace} is held out from training: env/profile/held_out.py")
    _check_paths(where, component)


def _check_scenario(where: str, component: MixtureComponent, scenario: str) -> None:
    given = [name for name, draw in component.draws().items() if draw.bounds()]
    given += [name for name in ("rivals", "traces", "start_spread_s") if getattr(component, name)]
    if given:
        raise UserError(f"{where}: scenario {scenario} sets {', '.join(given)} itself; leave them out")
    with in_context(where):
        config = scenario_episode_config(scenario)
    for rival in config.rivals:
        _check_rival(where, rival.scheme)
    if is_held_out(config.path):
        raise UserError(f"{where}: scenario {scenario} is held out from training: env/profile/held_out.py")


def _check_flows(where: str, component: MixtureComponent) -> None:
    for scheme in component.rivals:
        _check_rival(f"{where}.rivals", scheme)
    for name in ("learners", "rival_count"):
        _check_count(f"{where}.{name}", getattr(component, name), MAX_FLOWS)
    _check_not_negative(f"{where}.start_spread_s", component.start_spread_s)
    low, _ = component.extra_rtt_ratio.bounds() or (0.0, 0.0)
    _check_not_negative(f"{where}.extra_rtt_ratio", low)


def _check_rival(where: str, scheme: str) -> None:
    if is_own(scheme):
        check_own_rival(where, scheme)
    elif scheme not in RIVALS:
        hint = suggest(scheme, RIVALS, limit=1)
        raise UserError(f"{where}: {scheme!r} is unknown{hint}The rivals are {', '.join(RIVALS)}, and {FORM}.")


def _check_steps(where: str, component: MixtureComponent) -> None:
    if component.rate_steps.bounds() and not component.rate_step.bounds():
        raise UserError(f"{where}.rate_steps is given without rate_step, the factor on the rate at a step")
    _check_count(f"{where}.rate_steps", component.rate_steps, MAX_STEPS)


def _check_paths(where: str, component: MixtureComponent) -> None:
    """Raise UserError unless the path of all smallest values and the path of all largest values are valid."""
    draws = component.draws()
    for end, trace in itertools.product((0, 1), component.traces or [""]):
        numbers: dict[str, Any] = {name: bounds[end] for name in DRAWN_FIELDS if (bounds := draws[name].bounds())}
        jitter_ratio = (component.jitter_ratio.bounds() or (0.0, 0.0))[end]
        with in_context(where):
            path = with_jitter(Path(qdisc=component.qdisc, trace=trace, **numbers), jitter_ratio)
            if bounds := component.rate_step.bounds():
                replace(path, steps=(Step(1.0, rate_mbps=path.rate_mbps * bounds[end]),))


def _check_draw(where: str, draw: Draw) -> None:
    known = [entry.name for entry in fields(Draw)]
    given = [name for name in known if getattr(draw, name) is not None]
    if len(given) > 1:
        raise UserError(f"{where} has {' and '.join(given)}; it takes one of {', '.join(known)}")
    if draw.choice is not None and not draw.choice:
        raise UserError(f"{where}.choice is empty; it needs at least one value")
    for name in ("uniform", "log_uniform"):
        ends = getattr(draw, name)
        if ends is not None and not (len(ends) == 2 and ends[0] <= ends[1]):
            raise UserError(f"{where}.{name} is {ends}; it must be [low, high]")
    if draw.log_uniform is not None and not draw.log_uniform[0] > 0:
        raise UserError(f"{where}.log_uniform is {draw.log_uniform}; a logarithm needs a low above 0")


def _check_outside_bands(where: str, name: str, draw: Draw) -> None:
    values = draw.choice or ([] if draw.fixed is None else [draw.fixed])
    held_out = [f"{value:g}" for value in values if in_band(name, value)]
    bounds = draw.bounds()
    if not values and bounds and within_band(name, *bounds):
        held_out = [f"from {bounds[0]:g} to {bounds[1]:g}"]
    if held_out:
        bands = ", ".join(f"{low:g} to {high:g}" for low, high in held_out_bands()[name])
        raise UserError(
            f"{where} is {', '.join(held_out)}: configs/held_out.yaml keeps {bands} for evaluation; choose other values"
        )


def _check_count(where: str, draw: Draw, maximum: int) -> None:
    low, high = draw.bounds() or (1, 1)
    if not 1 <= low <= high <= maximum:
        raise UserError(f"{where} goes from {low:g} to {high:g}; it must lie between 1 and {maximum}")


def _check_not_negative(where: str, value: float) -> None:
    if not 0 <= value < math.inf:
        raise UserError(f"{where} is {value:g}; it must be finite and not negative")
