"""What all learners' options have in common."""

from __future__ import annotations

from dataclasses import dataclass

from omegaconf import MISSING


@dataclass
class LearnerOptions:
    """Options of a learner, ``algo.<name>=`` on the command line; each learner declares its own beside itself."""

    kind: str = MISSING  # which learner: ppo or cma; algo= chooses it
