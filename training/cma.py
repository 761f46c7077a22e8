"""The evolution strategy: CMA-ES on the weights of the policy, by ranks of whole runs. The algorithm, not the labs.

CMA-ES (Hansen and Ostermeier, 2001) draws the candidates of a generation from a Gaussian, and moves its mean, its step
size and its covariance to where the better half came from. It wants no gradient: a candidate is judged as what ships,
the int16 model in the kernel, rounding, clamping and guard included. The covariance is diagonal by default (sep-CMA-ES:
Ros and Hansen, "A Simple Modification in CMA-ES Achieving Linear Time and Space Complexity", 2008): a full one of n
weights takes some n^2 evaluations to learn, and n is 170 for 8 units and 466 for 16.

A generation's random numbers are a function of the run's seed and the generation alone: a resumed run draws the
candidates that an uninterrupted one would have.

Letters of shapes: C candidates of a generation, n weights, H recurrent units, D observation (10), A action (2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from cmaes import CMA, SepCMA
from torch import Tensor

from env.schema import HIDDEN_MAX
from training.learner import LearnerOptions
from training.policy import ACTION_SIZE, OBSERVATION_SIZE, initial_policy

Floats = npt.NDArray[np.float64]

STRATEGIES = {"diagonal": SepCMA, "full": CMA}
SIGMA_NEW = 0.05  # from a new network; 0.1 learns as fast and ends lower, 0.4 ends in lively recurrences
SIGMA_START = 0.03  # from a trained one: about what turns no decision of it round
# Not of the state: what the options say, the generator, which each generation seeds, and memory for the library's own
# stopping rule, which is not used here.
_NOT_KEPT = ("_bounds", "_rng", "_funhist_values")


@dataclass
class CmaOptions(LearnerOptions):
    """Options of the algorithm: ``algo.<name>=`` on the command line of train.py.

    Raises ValueError for a value outside its range.
    """

    kind: str = "cma"
    generations: int = 300  # length of the training; 0 saves the network that it starts with
    population: int = 24  # candidates of a generation, besides the mean
    paths: int = 8  # drawn from the profile for each generation, the same for all its candidates
    run_s: float = 4.0  # virtual seconds of a run, at least
    run_rtts: float = 60.0  # base round trips of a run, at least; the profile's episode_s is the most it lasts
    start: str | None = None  # run folder whose weights it starts with, PPO's or its own; else a new network
    hidden: int = 8  # recurrent units of a new network, 1 to 16
    sigma: float | None = None  # first step size; default 0.05 from a new network, 0.03 with start=
    covariance: str = "diagonal"  # of the candidates: diagonal, or full
    weight_limit: float = 8.0  # largest magnitude of a weight, so that int16 keeps 12 fraction bits
    guard_penalty: float = 1.0  # what a connection that the guard has taken from the policy costs its run

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


class Evolution:
    """The strategy. start: the policy's state dict (training/policy.py) to begin with; None: a new network of the seed.

    Raises ValueError when start has no such network.
    """

    def __init__(self, options: CmaOptions, seed: int, start: Mapping[str, Tensor] | None = None) -> None:
        begun = initial_policy(options.hidden, seed).state_dict() if start is None else start
        limit = options.weight_limit
        mean = np.clip(to_vector(begun), -limit, limit)  # [n]
        sigma = options.sigma or (SIGMA_NEW if start is None else SIGMA_START)
        self.options = options
        self.seed = seed
        self.hidden = hidden_of(mean)
        self._strategy: Any = STRATEGIES[options.covariance](
            mean=mean,
            sigma=sigma,
            bounds=np.tile([-limit, limit], (mean.size, 1)),
            population_size=options.population,
        )

    @property
    def generation(self) -> int:
        """How many generations are over."""
        return int(self._strategy.generation)

    @property
    def mean(self) -> Floats:
        """The weights at the middle of the candidates, [n]: the policy that is saved."""
        # the library's bounds are on candidates: their mean lies within them too, but for rounding
        limit = self.options.weight_limit
        return np.asarray(np.clip(self._strategy.mean, -limit, limit))

    @property
    def sigma(self) -> float:
        """The step size: the standard deviation of a weight is sigma times that of its own (see spread)."""
        return float(self._strategy._sigma)

    @property
    def spread(self) -> float:
        """Median standard deviation of a weight among the candidates."""
        covariance = self._strategy._C
        variances = covariance if covariance.ndim == 1 else np.diag(covariance)
        return self.sigma * float(np.median(np.sqrt(variances)))

    def ask(self) -> list[Floats]:
        """Return the candidates of the next generation, C of [n]; the same ones until tell()."""
        number = np.random.SeedSequence([self.seed, self.generation]).generate_state(1)[0]
        self._strategy.reseed_rng(int(number))
        return [self._strategy.ask() for _ in range(self.options.population)]

    def tell(self, candidates: Sequence[Floats], scores: Floats) -> None:
        """End the generation; scores [C]: the larger the better, only their order counts."""
        self._strategy.tell([(weights, -float(score)) for weights, score in zip(candidates, scores, strict=True)])

    # ---- remember ----

    def state(self) -> dict[str, Any]:
        """Everything that `restore` needs to go on, as plain numbers and tensors.

        What the library gives to pickle would not do: it keeps one half of a covariance that is symmetric but for
        rounding errors.
        """
        return {
            name: torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else _plain(value)
            for name, value in vars(self._strategy).items()
            if name not in _NOT_KEPT
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`. Raises ValueError when it is of other sizes or of another version of the library."""
        differing = sorted({*state, *_NOT_KEPT} ^ set(vars(self._strategy)))
        if differing:
            raise ValueError(
                f"the checkpoint's strategy does not fit algo.covariance={self.options.covariance} of this version of "
                f"cmaes: {', '.join(differing)}"
            )
        for name, option in (("_n_dim", to_size(self.hidden)), ("_popsize", self.options.population)):
            if state[name] != option:
                raise ValueError(f"the checkpoint's strategy has {name} {state[name]}, not {option} as in the options")
        for name, value in state.items():
            setattr(self._strategy, name, value.numpy().copy() if isinstance(value, Tensor) else value)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


# ---- weights as one vector ----


def to_size(hidden: int) -> int:
    """Return n, how many weights a network of so many units has."""
    return hidden * (OBSERVATION_SIZE + hidden + 1) + ACTION_SIZE * (hidden + 1)


def hidden_of(vector: Floats) -> int:
    """Return H of a vector of weights [n]. Raises ValueError when no network has so many."""
    for hidden in range(1, HIDDEN_MAX + 1):
        if to_size(hidden) == vector.size:
            return hidden
    raise ValueError(f"no network has {vector.size} weights")


def to_vector(policy: Mapping[str, Tensor]) -> Floats:
    """Return a policy's weights as one vector [n]; its two biases, which only count as a sum, are one."""
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
    """Return the state dict of the policy with these weights [n], in float32 as a checkpoint has it."""
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
