"""Evaluates generations of candidates for a learner without gradients, and computes their metrics.

The learner draws the weights of candidates, and uses only their fitness (training/sampling/fitness.py). All candidates
of a generation run on the same paths with the same random numbers. The runs are a function of the training's seed and
the generation's number, so that a resumed training repeats them with the same result.

Letters of shapes: C candidates of a generation, P paths of a generation, n weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from env.options import option
from env.pool import Pool
from env.profile import PathSampler
from env.reward import OUTCOME
from export.formats.model_file import model_file
from training.learner import Sample
from training.metrics import OUTCOME_METRICS, Metric
from training.options import LearnerOptions, TrainConfig
from training.policy import Floats, to_policy
from training.sampling.evaluation import MODULE, Evaluation, draw_runs, evaluate
from training.sampling.fitness import run_fitness

Evaluations = Sequence[tuple[Evaluation, ...]]  # of each model, in each run


@dataclass
class GenerationOptions(LearnerOptions):
    """Options of every learner that has a GenerationSampler."""

    generations: int = option(300, "generations of the whole training; 0 saves the network that it starts with", ge=0)
    population: int = option(24, "candidates of a generation, besides the mean", ge=2)
    paths: int = option(8, "paths drawn from the profile for a generation, the same for all its candidates", ge=1)
    run_s: float = option(4.0, "virtual seconds of a run, at least", gt=0)
    run_rtts: float = option(
        60.0, "base round trips of a run, at least; a run never exceeds the profile's episode_s", gt=0
    )
    guard_penalty: float = option(
        1.0, "reduction of a run's fitness per flow that the guard takes from the policy", ge=0
    )


METRICS = (
    Metric("charts/generation", "", "generations that are complete"),
    Metric("charts/reward", "", "fitness of the generation's mean, mean over its paths"),
    *OUTCOME_METRICS,  # of the mean's flows
    Metric("charts/guarded", "", "share of the mean's flows that the guard has taken from the policy"),
    Metric("population/best", "", "highest fitness of a candidate, mean over the paths"),
    Metric("population/median", "", "median fitness of the candidates"),
    Metric("population/mean", "", "mean fitness of the candidates"),
    Metric("population/worst", "", "lowest fitness of a candidate"),
    Metric("population/guarded", "", "share of the candidates' flows that the guard has taken from the policy"),
    Metric("population/hung", "", "evaluations that failed because a lab hung"),
)


class Candidates(NamedTuple):
    """The models of a generation: weights [n] of the mean, whose flows the charts show, and of each candidate."""

    generation: int
    mean: Floats
    drawn: list[Floats]


class GenerationSampler:
    """Evaluates generations in the labs of a pool."""

    def __init__(self, config: TrainConfig, pool: Pool) -> None:
        self.workers = pool.workers
        self.warnings: list[str] = []
        assert isinstance(config.algo, GenerationOptions)
        self._options = config.algo
        self._seed = config.seed
        self._weights = config.profile.reward
        self._paths = PathSampler(config.profile)
        self.modules = (MODULE, *(str(rival.module.file) for rival in self._paths.own_rivals))
        self._pool = pool
        self._next: Candidates

    @property
    def seconds(self) -> dict[str, float]:
        """See training.learner.Sampler."""
        return {"lab": self._pool.busy_s / self.workers}

    def submit(self, behaviour: Candidates, share: float) -> None:
        """See training.learner.Sampler."""
        del share
        self._next = behaviour

    def take(self, should_stop: Callable[[], bool]) -> Sample | None:
        """See training.learner.Sampler. The sample's data is the fitness [1 + C, P] of the mean and the candidates."""
        options, (generation, mean, drawn) = self._options, self._next
        runs = draw_runs(self._paths, self._seed, generation, options.paths, options.run_s, options.run_rtts)
        models = (
            model_file(to_policy(weights), f"generation-{generation}", self._paths.profile.name)
            for weights in (mean, *drawn)
        )
        evaluations = evaluate(self._pool, models, runs, self._weights, should_stop)
        if evaluations is None:
            return None
        decisions = sum(evaluation.decisions for row in evaluations for evaluation in row)
        hung = sum(evaluation.hung for row in evaluations for evaluation in row)
        self.warnings = []
        if hung:  # the wall clock decides this, so that a resumed run may differ from here on
            self.warnings.append(
                f"generation {generation}: {hung} evaluations failed, because labs hung for lab.timeout_s; on a "
                "machine that is busy with other work raise it, otherwise draw candidates nearer to the mean"
            )
        virtual_s = len(evaluations) * sum(run.duration_s for run in runs)
        fitness = fitness_of(evaluations, options.guard_penalty)
        metrics = {"charts/generation": generation + 1.0, **describe(evaluations, fitness)}
        return Sample(fitness, self._next, decisions, virtual_s, metrics)

    def observe(self, policy: Mapping[str, Tensor]) -> None:
        """See training.learner.Sampler."""
        del policy

    def state(self) -> dict[str, Any]:
        """See training.learner.Sampler. Empty: a generation's runs follow from the seed and its number."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See training.learner.Sampler."""
        del state


def fitness_of(evaluations: Evaluations, guard_penalty: float) -> Floats:
    """Return the fitness of each model on each path, [1 + C, P]."""
    return np.array(
        [
            [run_fitness(evaluation.outcomes, evaluation.guarded, guard_penalty) for evaluation in row]
            for row in evaluations
        ]
    )


def describe(evaluations: Evaluations, fitness: Floats) -> dict[str, float]:
    """Return the metrics of a generation; the first row of evaluations and fitness [1 + C, P] is the mean's."""
    flows = [outcome.numbers() for evaluation in evaluations[0] for outcome in evaluation.outcomes]
    charts = {
        f"charts/{name.replace('/', '_')}": float(np.mean([np.mean(flow[name]) for flow in flows])) for name in OUTCOME
    }
    overall = fitness[1:].mean(axis=1)  # [C]
    guarded = [[evaluation.guarded / len(evaluation.outcomes) for evaluation in row] for row in evaluations]
    return charts | {
        "charts/reward": float(fitness[0].mean()),
        "charts/guarded": float(np.mean(guarded[0])),
        "population/best": float(overall.max()),
        "population/median": float(np.median(overall)),
        "population/mean": float(overall.mean()),
        "population/worst": float(overall.min()),
        "population/guarded": float(np.mean(guarded[1:])),
        "population/hung": float(sum(evaluation.hung for row in evaluations for evaluation in row)),
    }
