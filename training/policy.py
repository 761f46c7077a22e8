"""The two networks: the recurrent policy that ships, and the critic that only training sees.

Letters of shapes, here and in training/ppo.py::

    T  decisions in a rollout, per environment      N  environments side by side
    K  decisions in a sequence (padded)             S  sequences in a batch
    D  observation, 10                              A  action, 2
    H  recurrent units of the policy                I  inputs of the critic
    P  description of the path (privileged: only the critic sees it)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from env.near import did_you_mean
from env.schema import ACTIONS, FEATURES, HIDDEN_MAX

OBSERVATION_SIZE = len(FEATURES)
ACTION_SIZE = len(ACTIONS)
# The action by which a window of ten packets, with which a connection begins (RFC 6928), stays: ndm_window.h.
START = (math.log2((10 - 1 - math.sqrt(10) / 4) / 10), 0.0)
FADING = (1 / 4, 1 / 16, 1 / 64)  # per decision, of the critic's averages


class Policy(nn.Module):
    """The network that is exported: ``h' = tanh(W x + U h + b)``, then a linear read-out of the two actions.

    The mean action is the read-out clamped to [-1, 1]. The recurrent state starts at zero for each connection.
    A new policy says `START` whatever it sees, nearly: cwnd stays at about ten packets, paced neutrally.

    blind: names of inputs (env.schema.FEATURES) that it does not see. recurrent: whether it remembers. The weights of
    what it lacks are zero and get no gradient, so that they stay zero under any optimizer, and in int16: what ships is
    the same network. All others begin as they would without.

    Raises ValueError when ``hidden`` is not between 1 and ``schema.HIDDEN_MAX``, and for an unknown input.
    """

    def __init__(self, hidden: int = 8, blind: Sequence[str] = (), recurrent: bool = True) -> None:
        super().__init__()
        check_inputs(blind)
        if not 1 <= hidden <= HIDDEN_MAX:
            raise ValueError(f"hidden is {hidden}; the kernel's network takes 1 to {HIDDEN_MAX} recurrent units")
        self.rnn = nn.RNN(OBSERVATION_SIZE, hidden, nonlinearity="tanh")
        self.readout = nn.Linear(hidden, ACTION_SIZE)
        with torch.no_grad():
            # Below 1, so that memories fade and rounding errors of the int16 network fade with them.
            for name, weight in self.rnn.named_parameters():
                if name.startswith("bias"):
                    nn.init.zeros_(weight)
                else:
                    nn.init.orthogonal_(weight, gain=0.7 if name == "weight_hh_l0" else 1.0)
            nn.init.orthogonal_(self.readout.weight, gain=0.01)
            self.readout.bias.copy_(torch.tensor(START))
        seen = torch.tensor([float(feature.name not in blind) for feature in FEATURES])  # [D]
        if blind:
            _keep_zero(self.rnn.get_parameter("weight_ih_l0"), seen.expand(hidden, -1))
        if not recurrent:
            _keep_zero(self.rnn.get_parameter("weight_hh_l0"), torch.zeros(hidden, hidden))
        self._kept = {"rnn.weight_ih_l0": seen, "rnn.weight_hh_l0": torch.tensor(float(recurrent))}

    def check_kept(self, weights: Mapping[str, Tensor]) -> None:
        """Raise ValueError for weights (a state dict) that are not zero where this policy's must be."""
        for name, kept in self._kept.items():
            if (weights[name] * (1 - kept)).any():
                raise ValueError(
                    f"{name} has weights of what algo.blind or algo.recurrent=false takes away: both are of a new run"
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


def _keep_zero(weight: nn.Parameter, kept: Tensor) -> None:
    """Make a weight zero where ``kept`` is, and its gradient from now on. Both of the same shape."""
    with torch.no_grad():
        weight.mul_(kept)
    weight.register_hook(lambda gradient: gradient * kept)  # type: ignore[no-untyped-call]


def check_inputs(names: Sequence[str]) -> None:
    """Raise ValueError for a name that is no input of the network."""
    known = [feature.name for feature in FEATURES]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known, most=1)
            raise ValueError(f"algo.blind names {name!r}: {hint}The inputs are {', '.join(known)}")


def initial_policy(hidden: int, seed: int) -> Policy:
    """Return the policy with which a training of this seed begins, for seeds from 0 to 2**64 - 1.

    torch's own generator is left as it is.
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Policy(hidden)


class Critic(nn.Module):
    """Value of the state, seen with more than the policy has: averages of the past, and the privileged.

    An asymmetric critic (Pinto et al., "Asymmetric Actor Critic for Image-Based Robot Learning", 2017): only the
    policy must get by with what a sender can measure. What has been is told by averages that fade at `FADING` rates,
    which cost nothing to learn through; a GRU in their place took four fifths of an update's time. Values are in units
    of reward; ``scale`` and ``shift`` follow the returns (see `follow`), so that the network itself always fits numbers
    around zero of size one.
    """

    shift: Tensor
    scale: Tensor
    weight: Tensor

    def __init__(self, privileged: int, units: int = 64) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(OBSERVATION_SIZE * (1 + len(FADING)) + privileged, units),
            nn.Tanh(),
            nn.Linear(units, units),
            nn.Tanh(),
            nn.Linear(units, 1),
        )
        self.register_buffer("shift", torch.zeros(()))
        self.register_buffer("scale", torch.ones(()))
        self.register_buffer("weight", torch.zeros(()))  # rollouts seen so far, for the bias of a young average

    def forward(self, inputs: Tensor) -> Tensor:
        """Inputs [..., I] to normalised values [...]."""
        values: Tensor = self.body(inputs).squeeze(-1)
        return values

    @staticmethod
    def inputs(observations: Tensor, privileged: Tensor) -> Tensor:
        """Observations [K, S, D] of connections from their begin and privileged [K, S, P] to inputs [K, S, I].

        An average begins with zero, so that the first inputs also tell how young the connection is.
        """
        rates = torch.tensor(FADING)[:, None]  # [F, 1]
        averages = torch.empty(*observations.shape[:2], len(FADING), observations.shape[2])  # [K, S, F, D]
        average = torch.zeros(averages.shape[1:])  # [S, F, D]
        for t, observation in enumerate(observations):
            average = torch.lerp(average, observation[:, None], rates)
            averages[t] = average
        return torch.cat((observations, averages.flatten(2), privileged), dim=-1)

    def follow(self, returns: Tensor, rate: float) -> None:
        """Move the normalisation towards these returns [any shape] and keep what the network says unchanged.

        The last layer is rescaled against the change (PopArt: van Hasselt et al., "Learning values across many
        orders of magnitude", 2016).
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
