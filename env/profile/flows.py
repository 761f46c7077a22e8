"""The flows of an episode, as the lab's `run` command takes them."""

from __future__ import annotations

from typing import Any

from env.lab import Lab
from env.profile.episode_config import SNAPSHOT, EpisodeConfig, EpisodeFlow

SCHEME = "ndm_gym"  # the congestion control that takes its decisions from outside the kernel
SNAPSHOT_SCHEME = "ndm_snapshot"  # the congestion control that runs the second model of the lab's rollout
# Virtual seconds. The host or the rollout ends an episode; a flow that has stalled then ends by itself so much later.
GRACE_S = 5.0


def learner_flows(config: EpisodeConfig, end_s: float) -> list[dict[str, Any]]:
    """Return the learners; all last until end_s."""
    return [_flow(SCHEME, learner, end_s) for learner in config.learners]


def rival_flows(config: EpisodeConfig, end_s: float) -> list[dict[str, Any]]:
    """Return the rivals; all last until end_s."""
    algorithms = {SNAPSHOT: SNAPSHOT_SCHEME} | {own.scheme: own.module.algorithm for own in config.own_rivals}
    return [_flow(algorithms.get(rival.scheme, rival.scheme), rival, end_s) for rival in config.rivals]


def load_rivals(lab: Lab, config: EpisodeConfig) -> None:
    """Load the kernel modules that the rivals need. Raises env.lab.LabError."""
    for module, parameters in config.modules.items():
        lab.load(module, parameters)


def _flow(scheme: str, flow: EpisodeFlow, end_s: float) -> dict[str, Any]:
    return {"scheme": scheme, "start_s": flow.start_s, "duration_s": end_s - flow.start_s, "client": flow.client}
