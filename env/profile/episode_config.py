"""The configuration of one episode: a path, the flows on it, and the weights of its reward."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from env.errors import UserError
from env.network.path import Path
from env.network.scenario import UNDER_TEST, load_scenario
from env.network.schemes import SCHEMES
from env.own_module import OwnModule
from env.reward import RewardWeights

LEARNER = "learner"  # the scheme of a flow that the policy controls
SNAPSHOT = "snapshot"  # a rival that an older version of the policy controls, in the kernel
STAND_IN = "ndm"  # replaces SNAPSHOT where there is no older version: the model that was exported last
# Schemes that a rival may have, with the kernel module that a lab loads for each; "" for those in the lab's kernel.
RIVALS = {scheme.name: scheme.module for scheme in SCHEMES.values() if not scheme.is_oracle} | {SNAPSHOT: ""}
PATH_FEATURES = (
    "log_rate",  # -1 at 1 Mbit/s, 1 at 1 Gbit/s
    "log_rtt",  # base RTT: -1 at 10 ms, 1 at 300 ms
    "log_buffer",  # -0.67 at 0.25 BDP, 0 at 1, 1 at 8
    "loss",  # 0 without random loss, 1 at 2 %
    "jitter",  # jitter over one-way delay, 1 at twice the delay
    "reference_rtt",  # log2 of the mean RTT without a queue over the base RTT
    "loopback",  # 1 for the published loopback tests: packets of 64 KB
    "others",  # other flows on the path, 1 at four
)


class EpisodeFlow(NamedTuple):
    """A flow of an episode. scheme: LEARNER, a key of RIVALS, or that of an OwnRival. client: counted from 1."""

    scheme: str
    start_s: float = 0.0
    client: int = 1


class OwnRival(NamedTuple):
    """A rival that the user brings. scheme: NAME@PATH, as in env/network/own_scheme.py. module: ready to be loaded."""

    scheme: str
    module: OwnModule


FIRST_LEARNER = EpisodeFlow(LEARNER)  # part of every episode


class EpisodeConfig(NamedTuple):
    """The configuration of an episode.

    other_flows: further learners beside FIRST_LEARNER, and rivals. reward: None for the profile's weights. component:
    name of the mixture component that the episode was drawn from. own_rivals: those of the rivals' schemes that the
    user brings.
    """

    path: Path
    other_flows: tuple[EpisodeFlow, ...] = ()
    reward: RewardWeights | None = None
    component: str = ""
    own_rivals: tuple[OwnRival, ...] = ()

    @property
    def learners(self) -> tuple[EpisodeFlow, ...]:
        """All flows that the policy controls."""
        return (FIRST_LEARNER, *(flow for flow in self.other_flows if flow.scheme == LEARNER))

    @property
    def rivals(self) -> tuple[EpisodeFlow, ...]:
        """All flows that the policy does not control."""
        return tuple(flow for flow in self.other_flows if flow.scheme != LEARNER)

    @property
    def modules(self) -> dict[str, str]:
        """Kernel modules that the rivals need, names or files, and the parameters of each."""
        names = sorted({RIVALS.get(rival.scheme, "") for rival in self.rivals} - {""})
        own = {str(rival.module.file): rival.module.parameters for rival in self.own_rivals}
        return dict.fromkeys(names, "") | own

    @property
    def has_snapshot(self) -> bool:
        """Whether a rival is an older version of the policy."""
        return any(rival.scheme == SNAPSHOT for rival in self.rivals)

    def alone(self) -> EpisodeConfig:
        """Return the episode with the first learner and the rivals only, as the Gymnasium environments run it."""
        return self._replace(other_flows=self.rivals)

    def features(self) -> npt.NDArray[np.float32]:
        """Return [len(PATH_FEATURES)] numbers of about -1 to 1, for a critic that may know the path."""
        path = self.path
        one_way_ms = max(path.rtt_ms / 2, 1e-3)
        return np.array(
            [
                (math.log10(path.rate_mbps) - 1.5) / 1.5,
                (math.log10(max(path.rtt_ms, 0.01)) - 1.7386) / 0.7386,
                math.log2(max(path.buffer_bdp, 1e-3)) / 3,
                path.loss_pct / 2,
                path.jitter_ms / one_way_ms / 2,
                math.log2(path.reference_rtt_ms / path.rtt_ms) if path.reference_rtt_ms and path.rtt_ms else 0.0,
                float(path.topology == "loopback"),
                len(self.other_flows) / 4,
            ],
            np.float32,
        )


def scenario_episode_config(name: str) -> EpisodeConfig:
    """Return the path and the flows of a scenario. Raises UserError when the scenario has a flow that is not bulk.

    The flows under test are learners; the first of them counts as FIRST_LEARNER.
    """
    scenario = load_scenario(name)
    flows = [flow for flow in scenario.flows for _ in range(flow.count)]
    if any(flow.kind != "bulk" for flow in flows):
        raise UserError(f"scenario {name} has a flow that is not bulk; in an episode all flows are bulk")
    first = next(i for i, flow in enumerate(flows) if flow.scheme == UNDER_TEST)
    other_flows = tuple(
        EpisodeFlow(LEARNER if flow.scheme == UNDER_TEST else flow.scheme, flow.start_s, flow.client)
        for flow in (*flows[:first], *flows[first + 1 :])
    )
    return EpisodeConfig(scenario.network_path(), other_flows)
