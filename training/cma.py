"""CMA-ES: an evolution strategy on the weights of the policy, by the ranks of whole runs.

The whole learner is in this file, top to bottom: options, metrics, what a generation runs in the lab, then the
strategy. `Cma.update` is one generation. Reward of a run: training/fitness.py; runs in the lab: training/evaluation.py.

CMA-ES (Hansen and Ostermeier, "Completely Derandomized Self-Adaptation in Evolution Strategies", 2001) draws the
candidates of a generation from a Gaussian, and moves its mean, step size and covariance towards the better half. It
needs no gradient: a candidate is evaluated as it would ship, the int16 model in the kernel, with its rounding, clamps
and guard. The covariance is diagonal by default (sep-CMA-ES: Ros and Hansen, "A Simple Modification in CMA-ES Achieving
Linear Time and Space Complexity", 2008): a full one of n weights takes about n^2 evaluations to learn, and n is 170 for
8 units and 466 for 16.

All candidates of a generation run on the same paths with the same random numbers. What a generation draws is a function
of the run's seed and the generation's number: a resumed run has the candidates and paths of an uninterrupted one.

Letters of shapes: C candidates of a generation, P paths of a generation, n weights, H recurrent units, D observation
(10), A action (2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from cmaes import CMA, SepCMA
from torch import Tensor

from env.option_help import option
from env.pool import Pool
from env.profile import PathSampler
from env.reward import OUTCOME
from env.schema import HIDDEN_MAX
from export import checkpoint
from export.checks.agreement import verify
from export.formats.model_file import model_file
from export.integer.quantize import FloatPolicy, quantize
from training.evaluation import MODULE, Evaluation, draw_runs, evaluate
from training.fitness import run_fitness, scores
from training.learner import Progress, Sample
from training.metrics import OUTCOME_METRICS, Metric
from training.options import LearnerOptions, TrainConfig
from training.policy import ACTION_SIZE, OBSERVATION_SIZE, initial_policy

Floats = npt.NDArray[np.float64]
Evaluations = Sequence[tuple[Evaluation, ...]]  # of each model, in each run

STRATEGIES = {"diagonal": SepCMA, "full": CMA}
SIGMA_NEW = 0.05  # from a new network; 0.1 learns as fast and ends lower, 0.4 ends in chaotic recurrences
SIGMA_START = 0.03  # from a trained network: changes none of its decisions fundamentally
# Attributes of the library's strategy that no checkpoint holds: what the options say, the generator, which each
# generation seeds, and the memory of the library's own stopping rule, which is not used here.
_NOT_SAVED = ("_bounds", "_rng", "_funhist_values")


@dataclass
class CmaOptions(LearnerOptions):
    """Options of CMA-ES: ``algo.<name>=`` on the command line. Raises ValueError for a value outside its range."""

    kind: str = "cma"
    generations: int = option(300, "generations of the whole training; 0 saves the network that it starts with")
    population: int = option(24, "candidates of a generation, besides the mean")
    paths: int = option(8, "paths drawn from the profile for a generation, the same for all its candidates")
    run_s: float = option(4.0, "virtual seconds of a run, at least")
    run_rtts: float = option(60.0, "base round trips of a run, at least; a run never exceeds the profile's episode_s")
    start: str | None = option(None, "run folder of any learner with the policy to start from; default: a new network")
    hidden: int = option(8, "recurrent units of a new network, 1 to 16")
    sigma: float | None = option(None, "initial step size; default 0.05 from a new network, 0.03 with start=")
    covariance: str = option("diagonal", "covariance of the candidates: diagonal, or full")
    weight_limit: float = option(8.0, "largest magnitude of a weight, so that int16 keeps 12 fraction bits")
    guard_penalty: float = option(1.0, "reduction of a run's fitness per flow that the guard takes from the policy")

    def __post_init__(self) -> None:
        for name in ("run_s", "run_rtts", "weight_limit"):
            if not getattr(self, name) > 0:
                raise ValueError(f"algo.{name} is {getattr(self, name)}; it must be above 0")
        for name in ("generations", "guard_penalty"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"algo.{name} is {getattr(self, name)}; it must not be negative")
        if self.population < 2:
            raise ValueError(f"algo.population is {self.population}; it must be at least 2, for one to be better")
        if self.paths < 1:
            raise ValueError(f"algo.paths is {self.paths}; it must be at least 1")
        if not 1 <= self.hidden <= HIDDEN_MAX:
            raise ValueError(f"algo.hidden is {self.hidden}; the kernel's network takes 1 to {HIDDEN_MAX}")
        if self.sigma is not None and not self.sigma > 0:
            raise ValueError(f"algo.sigma is {self.sigma}; it must be above 0")
        if self.covariance not in STRATEGIES:
            raise ValueError(f"algo.covariance is {self.covariance!r}; it is one of {', '.join(STRATEGIES)}")


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
    Metric("strategy/sigma", "", "step size"),
    Metric("strategy/weight_std", "", "median standard deviation of a weight among the candidates"),
)


class Candidates(NamedTuple):
    """What runs in a generation: weights [n] of the mean, and of each candidate."""

    generation: int
    mean: Floats
    drawn: list[Floats]


class GenerationSampler:
    """Evaluates generations in the labs of a pool."""

    modules = (MODULE, "lab_gate", "sch_linktrace")
    hard_cases: Sequence[dict[str, Any]] = ()

    def __init__(self, config: TrainConfig, pool: Pool) -> None:
        self.workers = pool.workers
        self.warnings: list[str] = []
        self._options = _options(config)
        self._seed = config.seed
        self._weights = config.profile.reward
        self._paths = PathSampler(config.profile)
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
        """See training.learner.Sampler. The sample's data is an evaluation of the mean, then one of each candidate."""
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
                "machine that is busy with other work raise it, otherwise lower algo.sigma"
            )
        virtual_s = len(evaluations) * sum(run.duration_s for run in runs)
        return Sample(evaluations, self._next, decisions, virtual_s, {})

    def observe(self, policy: Mapping[str, Tensor], should_stop: Callable[[], bool]) -> dict[str, float]:
        """See training.learner.Sampler."""
        del policy, should_stop
        return {}

    def state(self) -> dict[str, Any]:
        """See training.learner.Sampler: a generation's trials follow from the seed and its number."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See training.learner.Sampler."""
        del state


class Cma:
    """The learner: the strategy, around a new network of the seed.

    weights: a policy's state dict (training/policy.py) to begin with. Raises ValueError when it is no such network.
    """

    OPTIONS = CmaOptions
    DEBUG: ClassVar = {
        "quick": {"generations": 20},
        "smoke": {"generations": 2, "population": 4, "paths": 2, "run_s": 0.5, "run_rtts": 5},
    }
    TITLE = "CMA-ES"
    METRICS = METRICS
    HAS_CURRICULUM = False

    def __init__(self, options: CmaOptions, seed: int, weights: Mapping[str, Tensor] | None = None) -> None:
        self.options = options
        self.seed = seed
        self.decisions = 0
        self.warnings: list[str] = []
        new = weights is None
        policy = initial_policy(options.hidden, seed).state_dict() if weights is None else weights
        self._set_strategy(to_vector(policy), options.sigma or (SIGMA_NEW if new else SIGMA_START))

    def _set_strategy(self, mean: Floats, sigma: float) -> None:
        """Begin a strategy at a mean [n]."""
        limit = self.options.weight_limit
        self._strategy: Any = STRATEGIES[self.options.covariance](
            mean=np.clip(mean, -limit, limit),
            sigma=sigma,
            bounds=np.tile([-limit, limit], (mean.size, 1)),
            population_size=self.options.population,
        )

    @classmethod
    def build(cls, config: TrainConfig) -> Cma:
        """See training.learner.Learner."""
        return cls(_options(config), config.seed)

    @classmethod
    def sampler(cls, config: TrainConfig, folder: Path, pool: Pool) -> GenerationSampler:
        """See training.learner.Learner."""
        del folder
        return GenerationSampler(config, pool)

    def begin(self, config: TrainConfig) -> None:
        """See training.learner.Learner: starts from algo.start."""
        del config
        if self.options.start is not None:
            weights = checkpoint.load(Path(self.options.start))["policy"]
            self._set_strategy(to_vector(weights), self.options.sigma or SIGMA_START)

    @property
    def progress(self) -> Progress:
        """See training.learner.Learner."""
        return Progress(self.generation, self.options.generations, "generations")

    @property
    def generation(self) -> int:
        """Generations that are complete."""
        return int(self._strategy.generation)

    @property
    def mean(self) -> Floats:
        """The mean of the candidates' weights, [n]: the policy that is saved."""
        # the library keeps candidates within its bounds, but their mean only up to rounding
        limit = self.options.weight_limit
        return np.asarray(np.clip(self._strategy.mean, -limit, limit))

    @property
    def sigma(self) -> float:
        """The step size."""
        return float(self._strategy._sigma)

    @property
    def weight_std(self) -> float:
        """Median standard deviation of a weight among the candidates."""
        covariance = self._strategy._C
        variances = covariance if covariance.ndim == 1 else np.diag(covariance)
        return self.sigma * float(np.median(np.sqrt(variances)))

    @property
    def policy_weights(self) -> dict[str, Tensor]:
        """See training.learner.Learner."""
        return to_policy(self.mean)

    # ---- one generation ----

    def behaviour(self) -> Candidates:
        """Return the next generation."""
        return Candidates(self.generation, self.mean, self.ask())

    def ask(self) -> list[Floats]:
        """Return the candidates of the next generation, C of [n]; the same ones until tell()."""
        number = np.random.SeedSequence([self.seed, self.generation]).generate_state(1)[0]
        self._strategy.reseed_rng(int(number))
        return [self._strategy.ask() for _ in range(self.options.population)]

    def tell(self, candidates: Sequence[Floats], scores: Floats) -> None:
        """Complete the generation; scores [C]: higher is better, and only their order counts."""
        self._strategy.tell([(weights, -float(score)) for weights, score in zip(candidates, scores, strict=True)])

    def update(self, sample: Sample) -> dict[str, float]:
        """Complete a generation from the evaluations of its mean and candidates; returns metrics."""
        evaluations: Evaluations = sample.data
        behaviour: Candidates = sample.behaviour
        fitness = fitness_of(evaluations, self.options.guard_penalty)  # [1 + C, P]
        self.tell(behaviour.drawn, scores(fitness[1:]))
        self.decisions += sample.decisions
        done, total, _ = self.progress
        self.warnings = export_failures(self.mean) if done >= total else []
        return describe(evaluations, fitness) | {
            "charts/generation": float(self.generation),
            "strategy/sigma": self.sigma,
            "strategy/weight_std": self.weight_std,
        }

    # ---- checkpoint ----

    def state(self) -> dict[str, Any]:
        """See training.learner.Learner.

        The strategy is saved as plain numbers and tensors: the library's own pickle keeps one half of a covariance
        that is symmetric only up to rounding errors.
        """
        strategy = {
            name: torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else _plain(value)
            for name, value in vars(self._strategy).items()
            if name not in _NOT_SAVED
        }
        return {"policy": self.policy_weights, "decisions": self.decisions, "learner": {"strategy": strategy}}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """See training.learner.Learner. Raises ValueError, too, for another version of the library."""
        strategy = saved["learner"]["strategy"]
        self._set_strategy(to_vector(saved["policy"]), SIGMA_NEW)
        differing = sorted({*strategy, *_NOT_SAVED} ^ set(vars(self._strategy)))
        if differing:
            raise ValueError(
                f"the checkpoint's strategy does not fit algo.covariance={self.options.covariance} of this version of "
                f"cmaes: {', '.join(differing)}"
            )
        if strategy["_popsize"] != self.options.population:
            raise ValueError(
                f"algo.population is {self.options.population}, but the checkpoint's strategy has "
                f"{strategy['_popsize']}: a resumed run keeps its population"
            )
        for name, value in strategy.items():
            setattr(self._strategy, name, value.numpy().copy() if isinstance(value, Tensor) else value)
        self.decisions = int(saved["decisions"])


LEARNER = Cma


def _options(config: TrainConfig) -> CmaOptions:
    assert isinstance(config.algo, CmaOptions)
    return config.algo


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


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


def export_failures(weights: Floats) -> list[str]:
    """Return a warning when `make export-weights` would refuse the policy with these weights [n]."""
    policy = FloatPolicy.from_state_dict(to_policy(weights))
    failures = [failure for row in verify(policy, quantize(policy)) for failure in row.failures()]
    if not failures:
        return []
    return [
        f"float and int16 differ by more than make export-weights accepts: {'; '.join(failures)}. Train on with a "
        "lower algo.sigma or algo.weight_limit"
    ]


# ---- weights as one vector ----


def to_size(hidden: int) -> int:
    """Return n, the number of weights of a network with so many recurrent units."""
    return hidden * (OBSERVATION_SIZE + hidden + 1) + ACTION_SIZE * (hidden + 1)


def hidden_of(vector: Floats) -> int:
    """Return H of a vector of weights [n]. Raises ValueError when no network has n weights."""
    for hidden in range(1, HIDDEN_MAX + 1):
        if to_size(hidden) == vector.size:
            return hidden
    raise ValueError(f"no network has {vector.size} weights")


def to_vector(policy: Mapping[str, Tensor]) -> Floats:
    """Return a policy's weights as one vector [n]; its two biases, of which only the sum matters, are one entry."""
    arrays = {name: tensor.detach().cpu().numpy().astype(np.float64) for name, tensor in policy.items()}
    return np.concatenate(
        [
            arrays["rnn.weight_ih_l0"].ravel(),
            arrays["rnn.weight_hh_l0"].ravel(),
            arrays["rnn.bias_ih_l0"] + arrays["rnn.bias_hh_l0"],
            arrays["readout.weight"].ravel(),
            arrays["readout.bias"],
        ]
    )


def to_policy(vector: Floats) -> dict[str, Tensor]:
    """Return the state dict of the policy with these weights [n], in float32 as in a checkpoint."""
    h = hidden_of(vector)
    shapes = {
        "rnn.weight_ih_l0": (h, OBSERVATION_SIZE),
        "rnn.weight_hh_l0": (h, h),
        "rnn.bias_ih_l0": (h,),
        "readout.weight": (ACTION_SIZE, h),
        "readout.bias": (ACTION_SIZE,),
    }
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])[:-1]
    pieces = np.split(vector.astype(np.float32), ends)
    policy = {
        name: torch.from_numpy(piece.reshape(shape).copy())
        for (name, shape), piece in zip(shapes.items(), pieces, strict=True)
    }
    return policy | {"rnn.bias_hh_l0": torch.zeros(h)}
