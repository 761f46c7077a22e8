"""Cases of a curriculum: episodes with the rewards of the policy and of the kernel's congestion controls on them.

hard_cases.jsonl in a run's folder has one line for every case that became hard, in the form of `Case.describe`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from env.files import write_atomically
from env.profile import DRAWN_FIELDS, EpisodeConfig

FILE_NAME = "hard_cases.jsonl"


@dataclass(frozen=True)
class Case:
    """An episode of a contest, and its result.

    seed: of the network's randomness. snapshot: model file of the rivals that run a snapshot. update: number of updates
    before the first contest. scheme: the scheme with the highest reward. scheme_reward, policy_reward: mean reward of a
    decision.
    """

    episode_config: EpisodeConfig
    seed: int
    snapshot: bytes
    update: int
    scheme: str = ""
    scheme_reward: float = 0.0
    policy_reward: float = 0.0

    @property
    def gap(self) -> float:
        """The scheme's mean reward minus the policy's."""
        return self.scheme_reward - self.policy_reward

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for a checkpoint; from_dict reads it."""
        # torch.load(weights_only=True) refuses empty bytes
        return {**self.__dict__, "episode_config": self.episode_config.as_dict(), "snapshot": self.snapshot or None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Case:
        """Return the case from the plain data of as_dict()."""
        return cls(
            **{
                **data,
                "episode_config": EpisodeConfig.from_dict(data["episode_config"]),
                "snapshot": data["snapshot"] or b"",
            }
        )

    def describe(self) -> dict[str, Any]:
        """Return plain data for the card and the file, with those fields of the path that are not the defaults."""
        default = type(self.episode_config.path)().as_dict()
        path = {name: value for name, value in self.episode_config.path.as_dict().items() if value != default[name]}
        return {
            "update": self.update,
            "gap": round(self.gap, 4),
            "scheme": self.scheme,
            "scheme_reward": round(self.scheme_reward, 4),
            "policy_reward": round(self.policy_reward, 4),
            "component": self.episode_config.component,
            "path": path,
            "others": [other._asdict() for other in self.episode_config.other_flows],
            "seed": self.seed,
        }


def hardest(cases: Sequence[Case], limit: int) -> tuple[Case, ...]:
    """Return up to `limit` cases with the largest gaps above 0, the largest first."""
    return tuple(sorted((case for case in cases if case.gap > 0), key=lambda case: -case.gap)[:limit])


def summary(case: Mapping[str, Any]) -> str:
    """Return one line about the data of `Case.describe`: mixture component, path parameters, competing flows."""
    numbers = [
        f"{name} {value:.4g}" for name, value in case["path"].items() if name in DRAWN_FIELDS or name == "jitter_ms"
    ]
    steps = [
        f"{name} {value:.4g} from {step['at_s']:.3g} s"
        for step in case["path"].get("steps", ())
        for name, value in step.items()
        if name != "at_s" and value is not None
    ]
    competing = [flow["scheme"] for flow in case["others"]]
    return ", ".join([case["component"], *numbers, *steps, *([f"beside {' '.join(competing)}"] if competing else [])])


def delete_after(folder: Path, update: int) -> None:
    """Delete the cases that were chosen after this update; a training that resumes from it chooses them again.

    Raises env.files.WriteError.
    """
    file = folder / FILE_NAME
    if file.is_file():
        lines = file.read_text().splitlines(keepends=True)
        remaining = [line for line in lines if line.endswith("\n") and json.loads(line)["chosen"] <= update]
        write_atomically(file, "".join(remaining).encode())


def append(folder: Path, update: int, cases: Iterable[Case]) -> None:
    """Append the cases that were chosen with this update to the file."""
    lines = [json.dumps({"chosen": update, **case.describe()}) + "\n" for case in cases]
    if lines:
        with (folder / FILE_NAME).open("a") as file:
            file.write("".join(lines))
