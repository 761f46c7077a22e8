"""A curriculum: ranges that widen, hard episodes that are chosen where an algorithm of the kernel beats the policy, and
connections without a start.

Where some connections of a profile skip slow start (profile.skip_slow_start_prob), all of them do in the first part of
a training: a policy that is given its window learns late to win one (docs/results/history.md).

Hard episodes are after Genet (Xia et al., "Genet: automatic curriculum generation for learning adaptation in
networking", SIGCOMM 2022): what a policy can still learn shows where a rule-based baseline has more reward than it. In
a *contest* every so many updates

1. episodes are drawn from the whole profile, and on each of them the policy plays, without noise, and so does every
   scheme, with the same random numbers, measured and judged interval by interval as the policy is (env/expert.py);
2. the policy plays again on the hard episodes of before: where it has caught up, they are none any more;
3. those with the largest *gap*, the best scheme's mean reward of a decision minus the policy's, are the hard episodes
   from then on. A share of the episodes is drawn around them.

Genet searches by Bayesian optimisation and mixes for good; here the episodes are few and of a dozen kinds, so they are
drawn at random, and a hard episode stays only as long as it is one.

A contest is played beside the next batch and counts from the update after that one, however long either takes. So all
is a function of the seed and of what has been learned, and a resumed training goes on as it would have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from env import schema
from env.expert import Expert
from env.near import did_you_mean
from env.pool import Pool, wait_all
from env.profile import RIVALS, SNAPSHOT, EpisodeConfig, PathSampler, Profile
from env.rollout import Rollout, RolloutJob, RolloutTask
from export.model_file import model_file
from training.curriculum.cases import Case, hardest
from training.rollouts import SamplingState, draw_snapshot

USUAL = ("bbr", "cubic", "illinois")
NO_TEACHERS = (SNAPSHOT, "dctcp")  # dctcp needs ECN
SHARES = ("start_width", "whole_after", "skip_slow_start_until", "hard_share", "cost")  # options from 0 to 1
CONTEST = 1  # what a contest's random numbers begin with, besides seed and update: a batch's do without


@dataclass
class CurriculumOptions:
    """What the paths of a training are drawn from as it goes on: ``curriculum.<name>=``.

    Raises ValueError for a value outside its range.
    """

    start_width: float = 1.0  # share of each range that is drawn from at first, around its easy middle; 1: all of it
    whole_after: float = 0.5  # share of the training after which it has widened, linearly, to the whole range
    skip_slow_start_until: float = 0.65  # share of the training in which no connection has a start, if some never have
    hard_share: float = 0.0  # of the episodes that are drawn around hard episodes; 0: there are no contests
    schemes: list[str] | None = None  # [a,b,...] of a contest, besides the policy; default: [bbr,cubic,illinois]
    every: int = 10  # updates from one contest to the next
    cost: float = 0.05  # most decisions of a contest, over those of the batches since the last one
    most_hard: int = 8  # hard episodes at a time, if half of a contest's decisions are enough to judge them again
    vary: float = 1.3  # a hard episode's numbers are drawn within this factor, up and down

    def __post_init__(self) -> None:
        for name in SHARES:
            value = getattr(self, name)
            if not 0 <= value <= 1 or (name == "start_width" and not value):
                least = "above 0" if name == "start_width" else "at least 0"
                raise ValueError(f"curriculum.{name} is {value}; it must be {least} and at most 1")
        for name in ("every", "most_hard"):
            if getattr(self, name) < 1:
                raise ValueError(f"curriculum.{name} is {getattr(self, name)}; it must be at least 1")
        if not self.vary > 1:
            raise ValueError(f"curriculum.vary is {self.vary}; it must be above 1")
        _check_schemes(self.played)

    @property
    def played(self) -> tuple[str, ...]:
        """The schemes of a contest."""
        return USUAL if self.schemes is None else tuple(self.schemes)

    @property
    def changes_anything(self) -> bool:
        """Whether episodes are drawn otherwise than from the whole profile."""
        return self.start_width < 1 or self.hard_share > 0

    def width(self, done: float) -> float:
        """Return the share of each range that is drawn from. done: how much of the training is over, 0 to 1."""
        if done >= self.whole_after:
            return 1.0
        return self.start_width + (1 - self.start_width) * done / self.whole_after


def _check_schemes(schemes: Sequence[str]) -> None:
    known = [name for name in RIVALS if name not in NO_TEACHERS]
    if not schemes or len(set(schemes)) < len(schemes):
        raise ValueError(f"curriculum.schemes is {list(schemes)}; it has one or more of {', '.join(known)}, each once")
    for scheme in schemes:
        if scheme not in known:
            hint = did_you_mean(scheme, known, most=1)
            raise ValueError(f"curriculum.schemes has {scheme!r}: {hint}They are {', '.join(known)}.")


class Contest(NamedTuple):
    """One that is under way. policy: a state dict.

    rollouts: of each new case the policy's and the schemes'; then, of each hard case, the policy's.
    """

    update: int
    policy: Mapping[str, Tensor]
    new: tuple[Case, ...]
    rollouts: list[Future[Rollout]]


class Curriculum:
    """What the batches of a training are drawn from, as it goes on.

    ``seed``: of everything. ``decisions``: of a batch. ``pool``: labs of the contests; None: no contests.
    """

    def __init__(
        self, options: CurriculumOptions, profile: Profile, seed: int, decisions: int, pool: Pool | None
    ) -> None:
        self.hard: tuple[Case, ...] = ()  # the largest gap first
        self.promoted: tuple[Case, ...] = ()  # that the newest update has chosen
        self._options = options
        self._width = 1.0  # of the newest batch
        self._profile = profile
        self._sampler = PathSampler(profile, snapshots=True)
        self._seed = seed
        self._budget = options.cost * options.every * decisions
        self._pool = pool
        self._teachers = [Expert(name, name, RIVALS[name]) for name in options.played]
        self._contest: Contest | None = None
        self._busy_s = 0.0  # of the labs, in contests

    def sampling_state(self, done: float, snapshots: tuple[bytes, ...]) -> SamplingState:
        """Return what the next batch is drawn from. done: how much of the training is over, 0 to 1."""
        options = self._options
        hard = tuple(case.episode_config for case in self.hard)
        self._width = options.width(done)
        started = self._profile.skip_slow_start_prob
        if started and done < options.skip_slow_start_until:
            started = 1.0
        return SamplingState(self._width, hard, options.hard_share, options.vary, snapshots, started)

    def follow(
        self,
        update: int,
        policy: Mapping[str, Tensor],
        snapshots: tuple[bytes, ...],
        should_stop: Callable[[], bool],
    ) -> dict[str, float] | None:
        """Take note of an update; returns the metrics ``curriculum/...``, or None when `should_stop` said so.

        update: how many there have been. policy: its weights now, a state dict. Raises env.lab's LabError.
        """
        self.promoted = ()
        metrics = {"curriculum/width": self._width} if self._options.start_width < 1 else {}
        if self._pool is None:
            return metrics
        if self._contest is not None:
            if not wait_all(self._contest.rollouts, should_stop):
                return None
            metrics |= self._judge(self._contest)
            self._contest = None
        if update % self._options.every == 0:
            model, _ = model_file(policy, f"contest-{update}", self._profile.name)
            self._submit(update, policy, model, self._draw(update, model, snapshots))
        return metrics | {
            "curriculum/hard": float(len(self.hard)),
            "curriculum/share": self._busy_s / max(self._pool.busy_s, 1e-9),
        }

    # ---- a contest ----

    def _draw(self, update: int, model: bytes, snapshots: tuple[bytes, ...]) -> tuple[Case, ...]:
        """Return new cases, as many as the budget has decisions for besides the hard ones."""
        rng = np.random.default_rng((self._seed, update, CONTEST))
        left = self._budget - sum(self._decisions(case.episode_config) for case in self.hard)
        cases: list[Case] = []
        while True:
            episode_config = self._sampler.draw(rng)
            left -= self._decisions(episode_config) * (1 + len(self._teachers))
            if cases and left < 0:
                return tuple(cases)
            snapshot = draw_snapshot(episode_config, snapshots or (model,), rng)
            cases.append(Case(episode_config, int(rng.integers(2**63)), snapshot, update))

    def _submit(self, update: int, policy: Mapping[str, Tensor], model: bytes, new: tuple[Case, ...]) -> None:
        jobs = [self._job(model, case, expert) for case in new for expert in (None, *self._teachers)]
        jobs += [self._job(model, case, None) for case in self.hard]
        assert self._pool is not None
        self._contest = Contest(update, policy, new, self._pool.submit(jobs))

    def _decisions(self, episode_config: EpisodeConfig) -> int:
        return self._profile.decisions_on(episode_config.path) * len(episode_config.learners)

    def _job(self, model: bytes, case: Case, expert: Expert | None) -> RolloutJob:
        silence = np.zeros((0, 0, len(schema.ACTIONS)), np.int16)
        decisions, seconds = self._decisions(case.episode_config), self._profile.episode_s
        task = RolloutTask(model, case.episode_config, case.seed, silence, decisions, seconds, expert, case.snapshot)
        return RolloutJob(task, self._profile.reward)

    def _judge(self, contest: Contest) -> dict[str, float]:
        """Choose the hard episodes from the rollouts of a contest."""
        rollouts = [future.result() for future in contest.rollouts]
        self._busy_s += sum(rollout.lab_s for rollout in rollouts)
        rewards = iter([mean_reward(rollout) for rollout in rollouts])
        new = []
        for case in contest.new:
            ours = next(rewards)
            theirs = {expert.name: next(rewards) for expert in self._teachers}
            best = max(theirs, key=theirs.__getitem__)
            new.append(replace(case, scheme=best, theirs=theirs[best], ours=ours))
        again = [replace(case, ours=next(rewards)) for case in self.hard]
        self.hard = self._affordable(hardest([*again, *new], self._options.most_hard))
        self.promoted = tuple(case for case in self.hard if case in new)
        gaps = [case.gap for case in new]
        won = [case.scheme if case.gap > 0 else "policy" for case in new]
        return {
            "curriculum/gap_median": float(np.median(gaps)),
            "curriculum/gap_worst": max(gaps),
            **{f"curriculum/won_{name}": won.count(name) / len(won) for name in ("policy", *self._options.played)},
        }

    def _affordable(self, cases: Sequence[Case]) -> tuple[Case, ...]:
        """Return the first of them, at least one: judging them again takes no more than half of the next contest."""
        spent = np.cumsum([self._decisions(case.episode_config) for case in cases])
        return tuple(cases[: max(1, int(np.searchsorted(spent, self._budget / 2, side="right")))])

    # ---- remember ----

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs: a contest that is under way is played again, which gives the same."""
        contest = None
        if self._contest is not None:
            contest = {
                "update": self._contest.update,
                "policy": dict(self._contest.policy),
                "new": [case.as_dict() for case in self._contest.new],
            }
        return {"hard": [case.as_dict() for case in self.hard], "contest": contest}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`."""
        self.hard = tuple(Case.from_dict(case) for case in state["hard"])
        contest = state["contest"]
        if contest is not None and self._pool is not None:
            new = tuple(Case.from_dict(case) for case in contest["new"])
            model, _ = model_file(contest["policy"], f"contest-{contest['update']}", self._profile.name)
            self._submit(contest["update"], contest["policy"], model, new)


def mean_reward(rollout: Rollout) -> float:
    """Return the mean reward of a decision; 0, as for no goodput, where no connection made two decisions."""
    rewards = [trajectory.rewards for trajectory in rollout.trajectories]
    return float(np.concatenate(rewards).mean()) if rewards else 0.0
