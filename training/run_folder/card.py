"""The card of a run: its commands, configuration, sources, lab, status and newest metrics.

card.json has everything, card.md a page for people; both are rewritten at every checkpoint, which holds the same facts.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from env.checkout import git_revision
from env.files import write_atomically
from env.lab.virtual import KERNEL
from env.markdown import code, markdown_table, plain
from env.pool import lab_files

JSON_NAME = "card.json"
TEXT_NAME = "card.md"
CURVE_NAME = "curve.png"
# in card.md
METRICS = (
    *("charts/reward", "charts/goodput_share", "charts/queueing_delay_ms", "charts/loss_rate"),
    "losses/explained_variance",
)


@dataclass
class Card:
    """The facts of a card. Times are sums over all resumptions; ``config`` is resolved, as plain data."""

    name: str
    config: dict[str, Any]
    commands: list[str]  # the command that began the run, and those that resumed it
    git_revision: str  # of the newest command
    lab: dict[str, Any]  # of the newest command: describe_lab()
    status: str = "running"  # interrupted, finished, "failed: ..."; a killed run stays "running"
    decisions: int = 0
    wall_s: float = 0.0
    virtual_s: float = 0.0  # sum over all connections
    metrics: dict[str, float] = field(default_factory=dict)  # of the newest update
    lab_changed: bool = False  # whether some command had another lab than the command before

    @classmethod
    def of(cls, name: str, config: dict[str, Any], saved: Mapping[str, Any] | None, modules: Iterable[str]) -> Card:
        """Return the card of a new run, or of one that continues from the card ``saved`` (`facts`).

        modules: as for describe_lab().
        """
        program, *arguments = sys.argv  # without its folder, which may be a private one
        command = shlex.join([Path(sys.executable).name, Path(program).name, *arguments])
        card = cls(name, config, [command], git_revision(), describe_lab(modules))
        if saved is not None:
            card.commands = [*saved["commands"], command]
            card.lab_changed = saved["lab_changed"] or saved["lab"] != card.lab
            for entry in ("decisions", "wall_s", "virtual_s", "metrics"):
                setattr(card, entry, saved[entry])
        return card

    @property
    def resumed(self) -> int:
        """How often the run was resumed."""
        return len(self.commands) - 1

    def facts(self) -> dict[str, Any]:
        """Return what a checkpoint stores of the card: all but what it has itself."""
        return {name: value for name, value in asdict(self).items() if name not in ("config", "git_revision")}

    def write(self, folder: Path) -> None:
        """Write card.json and card.md. Raises UserError."""
        facts = {**asdict(self), "resumed": self.resumed, "decisions_per_s": self.decisions_per_s}
        write_atomically(folder / JSON_NAME, (json.dumps(facts, indent=2) + "\n").encode())
        write_atomically(folder / TEXT_NAME, self.text((folder / CURVE_NAME).is_file()).encode())

    @property
    def decisions_per_s(self) -> float:
        """Decisions per wall second, with boots and the work that interruptions lost."""
        return self.decisions / self.wall_s if self.wall_s else 0.0

    def text(self, curve: bool) -> str:
        """Return card.md; ``curve``: whether there is a picture of the learning curve."""
        rows = {
            "status": self.status,
            "profile": self.config["profile"]["name"],
            "seed": self.config["seed"],
            "decisions": f"{self.decisions:,}",
            "wall time": f"{self.wall_s / 60:.1f} min",
            "virtual time": f"{self.virtual_s / 3600:.1f} h, sum over all connections",
            "decisions per wall second": f"{self.decisions_per_s:.0f}",
            "resumed": f"{self.resumed} times",
            "sources": self.git_revision,
            "lab kernel": self.lab["release"] if self.lab else "none",
        }
        shown = [name for name in METRICS if name in self.metrics]
        return "\n".join(
            [
                f"# {plain(self.name)}",
                "",
                *map(code, self.commands),
                "",
                _table(("", ""), rows),
                "",
                *([f"![Learning curve]({CURVE_NAME})", ""] if curve else []),
                "In the newest update:",
                "",
                _table(("metric", "value"), {f"`{name}`": f"{self.metrics[name]:.5g}" for name in shown}),
                "",
                f"{JSON_NAME} has all metrics, config.yaml the whole configuration.",
                "",
            ]
        )


def describe_lab(modules: Iterable[str]) -> dict[str, Any]:
    """Return what the labs run on: release, SHA-256 of the kernel's manifest and of each module.

    modules: names, besides those that are always loaded. Empty where no lab kernel is built.
    """
    manifest = KERNEL.with_name("manifest.json")
    if not manifest.is_file():
        return {}
    content = manifest.read_bytes()
    files = lab_files(modules)
    return {
        "release": json.loads(content)["release"],
        "manifest_sha256": hashlib.sha256(content).hexdigest(),
        "modules": {file.stem: sha256 for file, sha256 in files.items() if file.suffix == ".ko"},
    }


def _table(head: tuple[str, str], rows: Mapping[str, Any]) -> str:
    return markdown_table(head, [[name, plain(str(value))] for name, value in rows.items()])
