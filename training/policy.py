"""The two networks: the recurrent policy, which is exported, and the critic, which exists only in training.

Letters of shapes, here and in training/ppo.py::

    T  decisions in a rollout, per environment      N  environments side by side
    K  decisions in a sequence (padded)             S  sequences in a batch
    D  observation                                  A  action
    H  recurrent units of the policy                I  inputs of the critic
    P  privileged observation: only the critic sees it
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from env.errors import UserError, suggest
from env.schema import ACTIONS, FEATURES, HIDDEN_MAX

OBSERVATION_SIZE = len(FEATURES)
ACTION_SIZE = len(ACTIONS)
INITIAL_ACTION = (0.0, 0.0)  # the law as it is without a policy: ndm_window.h
AVERAGE_RATES = (1 / 4, 1 / 16, 1 / 64)  # per decision, of the critic's exponential averages


class Policy(nn.Module):
    """The network that is exported: ``h' = tanh(W x + U h + b)``, then a linear read-out of the two actions.

    The mean action is the read-out clamped to [-1, 1]. The recurrent state is zero when a connection begins. A new
    policy's action is close to `INITIAL_ACTION` for any input.

    blind: names of inputs (env.schema.FEATURES) that are masked. recurrent: False masks the recurrent weights. Masked
    weights are zero and get no gradient, so that they stay zero with any optimizer and in int16; the exported network
    has the same shape. The other weights have the same initial values with and without a mask.

    Raises UserError when ``hidden`` is not between 1 and ``schema.HIDDEN_MAX``, and for an unknown input.
    """

    def __init__(self, hidden: int = 8, blind: Sequence[str] = (), recurrent: bool = True) -> None:
        super().__init__()
        check_inputs(blind)
        if not 1 <= hidden <= HIDDEN_MAX:
            raise UserError(f"hidden is {hidden}; the kernel's network takes 1 to {HIDDEN_MAX} recurrent units")
        self.rnn = nn.RNN(OBSERVATION_SIZE, hidden, nonlinearity="tanh")
        self.readout = nn.Linear(hidden, ACTION_SIZE)
        with torch.no_grad():
            # Recurrent gain below 1: the state decays, and with it the rounding errors of the int16 network.
            for name, weight in self.rnn.named_parameters():
                if name.startswith("bias"):
                    nn.init.zeros_(weight)
                else:
                    nn.init.orthogonal_(weight, gain=0.7 if name == "weight_hh_l0" else 1.0)
            nn.init.orthogonal_(self.readout.weight, gain=0.01)
            self.readout.bias.copy_(torch.tensor(INITIAL_ACTION))
        visible = torch.tensor([float(feature.name not in blind) for feature in FEATURES])  # [D]
        if blind:
            _mask(self.rnn.get_parameter("weight_ih_l0"), visible.expand(hidden, -1))
        if not recurrent:
            _mask(self.rnn.get_parameter("weight_hh_l0"), torch.zeros(hidden, hidden))
        self._masks = {"rnn.weight_ih_l0": visible, "rnn.weight_hh_l0": torch.tensor(float(recurrent))}

    def check_masked(self, weights: Mapping[str, Tensor]) -> None:
        """Raise UserError for weights (a state dict) that are not zero where this policy masks them."""
        for name, mask in self._masks.items():
            if (weights[name] * (1 - mask)).any():
                raise UserError(
                    f"{name} has weights that algo.blind or algo.recurrent=false masks: set these options in a new run"
                )

    @property
    def hidden(self) -> int:
        """Number of recurrent units, H."""
        return int(self.rnn.hidden_size)

    def forward(self, observations: Tensor, state: Tensor) -> Tensor:
        """Observations [K, S, D] and the state before the first of them [S, H] to unclamped mean actions [K, S, A]."""
        states, _ = self.rnn(observations, state.unsqueeze(0))  # [K, S, H]
        means: Tensor = self.readout(states)
        return means


def _mask(weight: nn.Parameter, mask: Tensor) -> None:
    """Set a weight, and its gradient from now on, to zero where the mask of the same shape is zero."""
    with torch.no_grad():
        weight.mul_(mask)
    weight.register_hook(lambda gradient: gradient * mask)


def check_inputs(names: Sequence[str]) -> None:
    """Raise UserError for a name that is no input of the network."""
    known = [feature.name for feature in FEATURES]
    for name in names:
        if name not in known:
            hint = suggest(name, known, limit=1)
            raise UserError(f"algo.blind: input {name!r} is unknown{hint}The inputs are {', '.join(known)}")


def initial_policy(hidden: int, seed: int) -> Policy:
    """Return the initial policy of a training with this seed, 0 to 2**64 - 1. torch's own generator is unaffected."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Policy(hidden)


class Critic(nn.Module):
    """State value from more than the policy observes: averages of past observations, and the privileged observation.

    An asymmetric critic (Pinto et al., "Asymmetric Actor Critic for Image-Based Robot Learning", 2017): only the policy
    is limited to what a sender can measure. Exponential averages at `AVERAGE_RATES` stand for the past; they need no
    back-propagation through time, where a GRU took four fifths of an update's time. Values are in units of reward:
    ``shift`` and ``scale`` normalise the returns (see `update_normalization`), so that the network itself fits numbers
    of mean zero and deviation one.
    """

    shift: Tensor
    scale: Tensor
    weight: Tensor

    def __init__(self, privileged: int, units: int = 64) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(OBSERVATION_SIZE * (1 + len(AVERAGE_RATES)) + privileged, units),
            nn.Tanh(),
            nn.Linear(units, units),
            nn.Tanh(),
            nn.Linear(units, 1),
        )
        self.register_buffer("shift", torch.zeros(()))
        self.register_buffer("scale", torch.ones(()))
        self.register_buffer("weight", torch.zeros(()))  # batches so far, which correct the bias of a new average

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Load a state dict; inputs that were appended to the schema after it get weight 0.

        Raises RuntimeError when it is not that of such a critic.
        """
        name = "body.0.weight"
        weight, blocks = weights[name], 1 + len(AVERAGE_RATES)  # columns: blocks of D each, then the privileged ones
        end = weight.shape[1] - (self.state_dict()[name].shape[1] - blocks * OBSERVATION_SIZE)
        seen = weight[:, :end].reshape(len(weight), blocks, -1)
        seen = functional.pad(seen, (0, OBSERVATION_SIZE - seen.shape[2]))
        self.load_state_dict({**weights, name: torch.cat((seen.flatten(1), weight[:, end:]), dim=1)})

    def forward(self, inputs: Tensor) -> Tensor:
        """Inputs [..., I] to normalised values [...]."""
        values: Tensor = self.body(inputs).squeeze(-1)
        return values

    @staticmethod
    def inputs(observations: Tensor, privileged: Tensor) -> Tensor:
        """Observations [K, S, D] of connections from their beginning and privileged [K, S, P] to inputs [K, S, I].

        The averages begin at zero, so that the first inputs also show the age of the connection.
        """
        rates = torch.tensor(AVERAGE_RATES)[:, None]  # [F, 1]
        averages = torch.empty(*observations.shape[:2], len(AVERAGE_RATES), observations.shape[2])  # [K, S, F, D]
        average = torch.zeros(averages.shape[1:])  # [S, F, D]
        for t, observation in enumerate(observations):
            average = torch.lerp(average, observation[:, None], rates)
            averages[t] = average
        return torch.cat((observations, averages.flatten(2), privileged), dim=-1)

    def update_normalization(self, returns: Tensor, rate: float) -> None:
        """Move shift and scale towards these returns [any shape], without changing the critic's values.

        The last layer is rescaled against the change (PopArt: van Hasselt et al., "Learning values across many orders
        of magnitude", 2016).
        """
        self.weight.add_(1)
        rate = max(rate, 1 / float(self.weight))
        shift = torch.lerp(self.shift, returns.mean(), rate)
        square = torch.lerp(self.scale**2 + self.shift**2, (returns**2).mean(), rate)
        scale = (square - shift**2).clamp(min=1e-4).sqrt()
        last = self.body[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            last.weight.mul_(self.scale / scale)
            last.bias.mul_(self.scale).add_(self.shift - shift).div_(scale)
        self.shift.copy_(shift)
        self.scale.copy_(scale)


def gaussian_log_probability(actions: Tensor, means: Tensor, log_std: Tensor) -> Tensor:
    """Log density [...] of actions [..., A] under a diagonal Gaussian with means [..., A] and log_std [A]."""
    z = (actions - means) * torch.exp(-log_std)
    density: Tensor = (-0.5 * z**2 - log_std - 0.5 * math.log(2 * math.pi)).sum(-1)
    return density


def gaussian_entropy(log_std: Tensor) -> Tensor:
    """Differential entropy in nats, a scalar, of a diagonal Gaussian with log_std [A]."""
    return (log_std + 0.5 * math.log(2 * math.pi * math.e)).sum()


def gaussian_divergence(means: Tensor, log_std: Tensor, other_means: Tensor, other_log_std: Tensor) -> Tensor:
    """Mean Kullback-Leibler divergence in nats, a scalar, of diagonal Gaussians from others; means [..., A]."""
    square = (2 * log_std).exp() + (means - other_means) ** 2
    divergence: Tensor = (other_log_std - log_std + 0.5 * square * (-2 * other_log_std).exp() - 0.5).sum(-1).mean()
    return divergence
