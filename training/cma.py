"""CMA-ES: an evolution strategy that optimizes the weights of the policy by the ranks of whole runs.

The whole learner is in this file, top to bottom: options, metrics, then the strategy. `Cma.update` is one generation.
training/sampling/generation_sampler.py evaluates a generation in the lab.

CMA-ES (Hansen and Ostermeier, "Completely Derandomized Self-Adaptation in Evolution Strategies", 2001) draws the
candidates of a generation from a Gaussian, and moves its mean, step size and covariance towards the better half. It
needs no gradient: a candidate is evaluated as it would ship, the int16 model in the kernel, with its rounding, clamps
and guard. The covariance is diagonal by default (sep-CMA-ES: Ros and Hansen, "A Simple Modification in CMA-ES Achieving
Linear Time and Space Complexity", 2008): a full one of n weights takes about n^2 evaluations to learn, and n is a few
hundred.

All candidates of a generation run on the same paths with the same random numbers. Candidates and paths are a function
of the run's seed and the generation's number, so a resumed run has those of an uninterrupted one.

Letters of shapes: C candidates of a generation, P paths of a generation, n weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from env.options import option
from env.pool import Pool
from env.schema import HIDDEN_MAX
from export import checkpoint
from export.checks.agreement import verify
from export.integer.quantize import FloatPolicy, quantize
from export.zoo import find_checkpoint
from training.learner import Progress, Sample
from training.metrics import Metric
from training.options import TrainConfig
from training.policy import Floats, initial_policy, to_policy, to_vector
from training.sampling import generation_sampler
from training.sampling.fitness import scores
from training.sampling.generation_sampler import Candidates, GenerationOptions, GenerationSampler

STRATEGIES = {"diagonal": "SepCMA", "full": "CMA"}  # classes of the library cmaes
SIGMA_NEW = 0.05  # from a new network; 0.1 learns as fast and ends lower, 0.4 ends in chaotic recurrences
SIGMA_START = 0.03  # from a trained network: changes none of its decisions fundamentally
# Attributes of the library's strategy that no checkpoint holds: the bounds, which the options give; the generator,
# which each generation seeds; and the history of the library's stopping rule, which is not used here.
_NOT_SAVED = ("_bounds", "_rng", "_funhist_values")


@dataclass
class CmaOptions(GenerationOptions):
    """Options of CMA-ES: ``algo.<name>=`` on the command line. Raises ValueError for a value outside its limits."""

    kind: str = "cma"
    start: str | None = option(
        None, "model of the zoo or run folder of any learner with the policy to start from; default: a new network"
    )
    hidden: int = option(8, "recurrent units of a new network, 1 to 32", ge=1, le=HIDDEN_MAX)
    sigma: float | None = option(None, "initial step size; default 0.05 from a new network, 0.03 with start=", gt=0)
    covariance: str = option("diagonal", "covariance of the candidates: diagonal, or full")
    weight_limit: float = option(8.0, "largest magnitude of a weight, so that int16 keeps 12 fraction bits", gt=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.covariance not in STRATEGIES:
            raise ValueError(f"algo.covariance is {self.covariance!r}; it is one of {', '.join(STRATEGIES)}")


METRICS = (
    *generation_sampler.METRICS,
    Metric("strategy/sigma", "", "step size"),
    Metric("strategy/weight_std", "", "median standard deviation of a weight among the candidates"),
)


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
        import cmaes  # only here: it imports scipy.stats, which would take a third of each start of train.py

        limit = self.options.weight_limit
        self._strategy: Any = getattr(cmaes, STRATEGIES[self.options.covariance])(
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
    def sampler(cls, config: TrainConfig, pool: Pool) -> GenerationSampler:
        """See training.learner.Learner."""
        return GenerationSampler(config, pool)

    def begin(self, config: TrainConfig) -> None:
        """See training.learner.Learner: starts from algo.start."""
        del config
        if self.options.start is not None:
            weights = checkpoint.load(find_checkpoint(self.options.start))["policy"]
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
        """Complete a generation from the fitness of its candidates; returns metrics."""
        behaviour: Candidates = sample.behaviour
        fitness: Floats = sample.data  # [1 + C, P], of the mean and the candidates
        self.tell(behaviour.drawn, scores(fitness[1:]))
        self.decisions += sample.decisions
        done, total, _ = self.progress
        self.warnings = export_failures(self.mean) if done >= total else []
        return {"strategy/sigma": self.sigma, "strategy/weight_std": self.weight_std}

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


def export_failures(weights: Floats) -> list[str]:
    """Return a warning if `make export-weights` would refuse these weights [n] for their rounding, else nothing."""
    policy = FloatPolicy.from_state_dict(to_policy(weights))
    failures = [failure for row in verify(policy, quantize(policy)) for failure in row.failures()]
    if not failures:
        return []
    return [
        f"float and int16 differ by more than make export-weights accepts: {'; '.join(failures)}. Train on with a "
        "lower algo.sigma or algo.weight_limit"
    ]
