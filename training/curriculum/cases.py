"""Cases of a curriculum: episodes, and how much better an algorithm of the kernel was there; and their file.

hard_cases.jsonl in a run's folder has a line for every case that was ever chosen, as `Case.told` gives it.
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
    """An episode of a contest, and what came of it.

    seed: of the network's randomness. snapshot: model file of the rivals that are one. update: after which it was first
    played. scheme: the best of them, with `theirs` its mean reward of a decision; ours: the policy's.
    """

    episode_config: EpisodeConfig
    seed: int
    snapshot: bytes
    update: int
    scheme: str = ""
    theirs: float = 0.0
    ours: float = 0.0

    @property
    def gap(self) -> float:
        """How much better the scheme is; not above 0 where the policy is."""
        return self.theirs - self.ours

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for a checkpoint; from_dict reads it."""
        # no bytes at all are nothing that torch.load(weights_only=True) would take
        return {**self.__dict__, "episode_config": self.episode_config.as_dict(), "snapshot": self.snapshot or None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Case:
        """Return the case of as_dict()."""
        return cls(
            **{
                **data,
                "episode_config": EpisodeConfig.from_dict(data["episode_config"]),
                "snapshot": data["snapshot"] or b"",
            }
        )

    def told(self) -> dict[str, Any]:
        """Return what people read of it, plain data: of the path what is not the default."""
        usual = type(self.episode_config.path)().as_dict()
        path = {name: value for name, value in self.episode_config.path.as_dict().items() if value != usual[name]}
        return {
            "update": self.update,
            "gap": round(self.gap, 4),
            "scheme": self.scheme,
            "reward_scheme": round(self.theirs, 4),
            "reward_policy": round(self.ours, 4),
            "part": self.episode_config.component,
            "path": path,
            "others": [other._asdict() for other in self.episode_config.other_flows],
            "seed": self.seed,
        }


def hardest(cases: Sequence[Case], most: int) -> tuple[Case, ...]:
    """Return those with the largest gaps above 0, the largest first."""
    return tuple(sorted((case for case in cases if case.gap > 0), key=lambda case: -case.gap)[:most])


def describe_case(told: Mapping[str, Any]) -> str:
    """Return an episode of `Case.told` in a line: the profile's part, the numbers of its path, who else is there."""
    numbers = [
        f"{name} {value:.4g}" for name, value in told["path"].items() if name in DRAWN_FIELDS or name == "jitter_ms"
    ]
    steps = [
        f"{name} {value:.4g} from {step['at_s']:.3g} s"
        for step in told["path"].get("steps", ())
        for name, value in step.items()
        if name != "at_s" and value is not None
    ]
    beside = [other["scheme"] for other in told["others"]]
    return ", ".join([told["part"], *numbers, *steps, *([f"beside {' '.join(beside)}"] if beside else [])])


def keep_until(folder: Path, update: int) -> None:
    """Drop the lines that were chosen after an update: a training that goes on from there chooses them again.

    Raises CheckpointError.
    """
    file = folder / FILE_NAME
    if file.is_file():
        lines = file.read_text().splitlines(keepends=True)
        kept = [line for line in lines if line.endswith("\n") and json.loads(line)["chosen"] <= update]
        write_atomically(file, "".join(kept).encode())


def append(folder: Path, update: int, cases: Iterable[Case]) -> None:
    """Write down the cases that an update has chosen."""
    lines = [json.dumps({"chosen": update, **case.told()}) + "\n" for case in cases]
    if lines:
        with (folder / FILE_NAME).open("a") as file:
            file.write("".join(lines))
