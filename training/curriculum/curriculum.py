"""A curriculum: widening ranges, hard episodes on which a kernel algorithm beats the policy, and skipped slow start.

If some connections of a profile skip slow start (profile.skip_slow_start_prob), all connections skip it in the first
part of a training. Otherwise slow start opens the window, and the policy learns late to open it by itself
(docs/results/history.md).

Hard episodes follow Genet (Xia et al., "Genet: automatic curriculum generation for learning adaptation in networking",
SIGCOMM 2022): an episode is worth training on where a rule-based baseline has a higher reward. Every `every` updates
there is a *contest*:

1. New episodes are drawn from the whole profile. On each, the policy runs without noise, and every scheme of the
   contest runs with the same random numbers. Schemes are measured and rewarded per interval like the policy
   (env/expert.py).
2. The policy runs again on the current hard episodes. Episodes on which it has caught up are dropped.
3. The episodes with the largest *gap* become the hard episodes. The gap is the best scheme's mean reward of a decision
   minus the policy's. A share of the following episodes is drawn around the hard ones.

Genet searches by Bayesian optimisation and never drops an episode. Here episodes are drawn at random, because a contest
affords only a few of them, from a dozen mixture components. An episode stays only while its gap is positive.

A contest runs in parallel with the next batch. Its result takes effect at the following update, however long either
takes, so the curriculum depends only on the seed and the updates, and a resumed training continues identically.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from env import schema
from env.expert import DEFAULT_EXPERTS, Expert
from env.near import suggest
from env.options import check_limits, option
from env.pool import Pool, wait_all
from env.profile import RIVALS, SNAPSHOT, EpisodeConfig, PathSampler, Profile
from env.rollout import Rollout, RolloutJob, RolloutTask
from export.formats.model_file import model_file
from training.curriculum.cases import Case, hardest
from training.metrics import Metric
from training.sampling.rollouts import SamplingState, draw_snapshot

NO_EXPERTS = (SNAPSHOT, "dctcp")  # rivals that cannot compete; dctcp needs ECN
CONTEST = 1  # part of the seed of a contest, so that it differs from the seed of a batch

METRICS = (
    Metric("curriculum/width", "", "share of each range that the newest batch is drawn from"),
    Metric("curriculum/hard", "", "number of hard episodes"),
    Metric("curriculum/share", "", "share of the labs' busy time that contests took, since the command began"),
    Metric("curriculum/gap_median", "", "median gap of the newest contest's new episodes"),
    Metric("curriculum/gap_worst", "", "largest gap of the newest contest's new episodes"),
    Metric(
        "curriculum/won_NAME", "", "share of these episodes on which that algorithm, or `policy`, has the most reward"
    ),
)


@dataclass
class CurriculumOptions:
    """The distribution of a training's episodes over its progress: options ``curriculum.<name>=``.

    Raises ValueError for a value outside its limits.
    """

    start_width: float = option(
        1.0, "initial share of each range to draw from, around its easy middle; 1: the whole range", gt=0, le=1
    )
    whole_after: float = option(0.5, "share of the training over which the ranges widen linearly to 1", ge=0, le=1)
    skip_slow_start_until: float = option(
        0.65,
        "share of the training in which all connections skip slow start, if the profile has some that do",
        ge=0,
        le=1,
    )
    hard_share: float = option(
        0.0, "share of the episodes that are drawn around hard episodes; 0: no contests", ge=0, le=1
    )
    schemes: list[str] | None = option(
        None, "schemes [a,b,...] that compete with the policy; default: [bbr,cubic,illinois]"
    )
    every: int = option(10, "updates from one contest to the next", ge=1)
    cost: float = option(
        0.05,
        "decisions of a contest, at most, over the decisions of the batches between two contests",
        ge=0,
        le=1,
    )
    most_hard: int = option(
        8, "number of hard episodes, at most; running them takes no more than half of a contest", ge=1
    )
    vary: float = option(1.3, "numbers of a hard episode vary within this factor, up and down", gt=1)

    def __post_init__(self) -> None:
        check_limits(self, "curriculum.")
        _check_schemes(self.competitors)

    @property
    def competitors(self) -> tuple[str, ...]:
        """The schemes of a contest."""
        return DEFAULT_EXPERTS if self.schemes is None else tuple(self.schemes)

    @property
    def changes_anything(self) -> bool:
        """Whether some batches are not drawn from the whole profile."""
        return self.start_width < 1 or self.hard_share > 0

    def width(self, done: float) -> float:
        """Return the share of each range to draw from. done: share of the training that is done, 0 to 1."""
        if done >= self.whole_after:
            return 1.0
        return self.start_width + (1 - self.start_width) * done / self.whole_after


def _check_schemes(schemes: Sequence[str]) -> None:
    known = [name for name in RIVALS if name not in NO_EXPERTS]
    if not schemes or len(set(schemes)) < len(schemes):
        raise ValueError(f"curriculum.schemes is {list(schemes)}; name one or more of {', '.join(known)}, each once")
    for scheme in schemes:
        if scheme not in known:
            hint = suggest(scheme, known, limit=1)
            raise ValueError(f"curriculum.schemes: {scheme!r} is unknown{hint}The schemes are {', '.join(known)}.")


class Contest(NamedTuple):
    """A contest that the labs run. policy: a state dict.

    rollouts: for each new case the policy's and each scheme's; then, for each hard case, the policy's.
    """

    update: int
    policy: Mapping[str, Tensor]
    new: tuple[Case, ...]
    rollouts: list[Future[Rollout]]


class Curriculum:
    """Makes the sampling states of a training's batches, and runs its contests.

    seed: of the run. decisions: of a batch. pool: labs for the contests; None for no contests.
    """

    def __init__(
        self, options: CurriculumOptions, profile: Profile, seed: int, decisions: int, pool: Pool | None
    ) -> None:
        self.hard: tuple[Case, ...] = ()  # hard episodes, the largest gap first
        self.promoted: tuple[Case, ...] = ()  # the cases that became hard with the newest update
        self._options = options
        self._width = 1.0  # of the newest batch
        self._profile = profile
        self._sampler = PathSampler(profile, snapshots=True)
        self._seed = seed
        self._budget = options.cost * options.every * decisions
        self._pool = pool
        self._experts = [Expert(name, name, RIVALS[name]) for name in options.competitors]
        self._contest: Contest | None = None
        self._busy_s = 0.0  # wall seconds of contests, summed over the labs

    def sampling_state(self, done: float, snapshots: tuple[bytes, ...]) -> SamplingState:
        """Return the sampling state of the next batch. done: share of the training that is done, 0 to 1."""
        options = self._options
        hard = tuple(case.episode_config for case in self.hard)
        self._width = options.width(done)
        skip_prob = self._profile.skip_slow_start_prob
        if skip_prob and done < options.skip_slow_start_until:
            skip_prob = 1.0
        return SamplingState(self._width, hard, options.hard_share, options.vary, snapshots, skip_prob)

    def observe(
        self,
        update: int,
        policy: Mapping[str, Tensor],
        snapshots: tuple[bytes, ...],
        should_stop: Callable[[], bool],
    ) -> dict[str, float] | None:
        """Observe an update, run contests, and return metrics; None if `should_stop` returned true while waiting.

        update: the number of updates so far. policy: its weights, a state dict. Raises env.lab.LabError.
        """
        self.promoted = ()
        metrics = {"curriculum/width": self._width} if self._options.start_width < 1 else {}
        if self._pool is None:
            return metrics
        if self._contest is not None:
            if not wait_all(self._contest.rollouts, should_stop):
                return None
            metrics |= self._choose(self._contest)
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
        """Return new cases: as many as the budget of decisions allows after the hard ones, at least one."""
        rng = np.random.default_rng((self._seed, update, CONTEST))
        budget = self._budget - sum(self._decisions(case.episode_config) for case in self.hard)
        cases: list[Case] = []
        while True:
            episode_config = self._sampler.draw(rng)
            budget -= self._decisions(episode_config) * (1 + len(self._experts))
            if cases and budget < 0:
                return tuple(cases)
            snapshot = draw_snapshot(episode_config, snapshots or (model,), rng)
            cases.append(Case(episode_config, int(rng.integers(2**63)), snapshot, update))

    def _submit(self, update: int, policy: Mapping[str, Tensor], model: bytes, new: tuple[Case, ...]) -> None:
        jobs = [self._job(model, case, expert) for case in new for expert in (None, *self._experts)]
        jobs += [self._job(model, case, None) for case in self.hard]
        assert self._pool is not None
        self._contest = Contest(update, policy, new, self._pool.submit(jobs))

    def _decisions(self, episode_config: EpisodeConfig) -> int:
        return self._profile.decisions_on(episode_config.path) * len(episode_config.learners)

    def _job(self, model: bytes, case: Case, expert: Expert | None) -> RolloutJob:
        no_noise = np.zeros((0, 0, len(schema.ACTIONS)), np.int16)
        decisions, seconds = self._decisions(case.episode_config), self._profile.episode_s
        task = RolloutTask(model, case.episode_config, case.seed, no_noise, decisions, seconds, expert, case.snapshot)
        return RolloutJob(task, self._profile.reward)

    def _choose(self, contest: Contest) -> dict[str, float]:
        """Choose the hard episodes from the rollouts of a contest, and return metrics."""
        rollouts = [future.result() for future in contest.rollouts]
        self._busy_s += sum(rollout.lab_s for rollout in rollouts)
        rewards = iter([mean_reward(rollout) for rollout in rollouts])  # in the order of Contest.rollouts
        new = []
        for case in contest.new:
            policy_reward = next(rewards)
            scheme_rewards = {expert.name: next(rewards) for expert in self._experts}
            best = max(scheme_rewards, key=scheme_rewards.__getitem__)
            new.append(replace(case, scheme=best, scheme_reward=scheme_rewards[best], policy_reward=policy_reward))
        current = [replace(case, policy_reward=next(rewards)) for case in self.hard]
        self.hard = self._affordable(hardest([*current, *new], self._options.most_hard))
        self.promoted = tuple(case for case in self.hard if case in new)
        gaps = [case.gap for case in new]
        winners = [case.scheme if case.gap > 0 else "policy" for case in new]
        names = ("policy", *self._options.competitors)
        return {
            "curriculum/gap_median": float(np.median(gaps)),
            "curriculum/gap_worst": max(gaps),
            **{f"curriculum/won_{name}": winners.count(name) / len(winners) for name in names},
        }

    def _affordable(self, cases: Sequence[Case]) -> tuple[Case, ...]:
        """Return the first cases that fit into half of the decisions of the next contest; at least one."""
        spent = np.cumsum([self._decisions(case.episode_config) for case in cases])
        return tuple(cases[: max(1, int(np.searchsorted(spent, self._budget / 2, side="right")))])

    # ---- checkpoint ----

    def state(self) -> dict[str, Any]:
        """Return the state for `restore`, which repeats an unfinished contest with the same result."""
        contest = None
        if self._contest is not None:
            contest = {
                "update": self._contest.update,
                "policy": dict(self._contest.policy),
                "new": [case.as_dict() for case in self._contest.new],
            }
        return {"hard": [case.as_dict() for case in self.hard], "contest": contest}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`."""
        self.hard = tuple(self._case(case) for case in state["hard"])
        contest = state["contest"]
        if contest is not None and self._pool is not None:
            new = tuple(self._case(case) for case in contest["new"])
            model, _ = model_file(contest["policy"], f"contest-{contest['update']}", self._profile.name)
            self._submit(contest["update"], contest["policy"], model, new)

    def _case(self, data: Mapping[str, Any]) -> Case:
        case = Case.from_dict(data)
        return replace(case, episode_config=self._sampler.with_own_rivals(case.episode_config))


def mean_reward(rollout: Rollout) -> float:
    """Return the mean reward of a decision; 0, the reward of no goodput, if no connection made two decisions."""
    rewards = [trajectory.rewards for trajectory in rollout.trajectories]
    return float(np.concatenate(rewards).mean()) if rewards else 0.0
