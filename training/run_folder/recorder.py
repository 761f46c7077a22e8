"""Writes the folder of a training: TensorBoard events, checkpoints, the card and the learning curve."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch
from omegaconf import OmegaConf
from torch import Tensor
from torch.utils._pytree import tree_leaves
from torch.utils.tensorboard import SummaryWriter

from env.errors import UserError, first_line
from env.files import write_atomically
from env.options import argument
from export import checkpoint
from export.integer.quantize import FloatPolicy, quantize
from training.options import TrainConfig
from training.run_folder.card import CURVE_NAME, Card

PICTURE_S = 60.0  # wall time between two drawings of the curve; one takes about a second


class Recorder:
    """Writes a run's folder. At the end of the `with` block, also after an error, it saves the newest state.

    card: of the checkpoint from which the run continues. modules: as for describe_lab(). Raises
    UserError; the last checkpoint is then unharmed.
    """

    def __init__(
        self, config: TrainConfig, folder: Path, card: Mapping[str, Any] | None, modules: Iterable[str]
    ) -> None:
        self._folder = folder
        self._every, self._milestones = config.checkpoint_every, config.milestones
        self._config = asdict(config)
        self._card = Card.of(folder.name, self._config, card, modules)
        self._wall_s = self._card.wall_s - time.monotonic()
        self._state: dict[str, Any] | None = None
        self._writer: SummaryWriter | None = None
        self._updates = 0
        self._drawn = time.monotonic()

    def begin(self, state: dict[str, Any]) -> None:
        """Save the state before the first update."""
        write_atomically(self._folder / "config.yaml", OmegaConf.to_yaml(OmegaConf.create(self._config)).encode())
        # TensorBoard drops points from this step on: those after the checkpoint, which the run repeats
        decisions = state["decisions"]
        self._writer = SummaryWriter(str(self._folder), purge_step=decisions + 1 if decisions else None)
        self._state = state
        if self._card.lab_changed:
            print(
                "train.py: the lab's kernel or modules have changed since the run began: from now on its result may "
                "differ from that of an uninterrupted run",
                file=sys.stderr,
            )
        self._save()

    def update(self, state: dict[str, Any], metrics: dict[str, float], virtual_s: float) -> None:
        """Record an update: the state after it, its metrics, the virtual time of its episodes.

        Raises UserError, and keeps the state before it, when the policy cannot be exported or a number is not finite.
        """
        assert self._writer is not None
        assert self._state is not None
        leaves = [leaf for leaf in tree_leaves(state["learner"]) if isinstance(leaf, float | Tensor)]
        try:
            quantize(FloatPolicy.from_state_dict(state["policy"]))
            if not all(torch.as_tensor(leaf).isfinite().all() for leaf in leaves):
                raise UserError("the learner's state has numbers that are not finite: the training diverged")
        except UserError as error:
            raise UserError(
                f"{error}; {self._folder} keeps the checkpoint of {self._state['decisions']:,} decisions: continue it "
                f"by {argument('resume', self._folder)} with a lower algo.learning_rate="
            ) from error
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, state["decisions"])
        self._state = state
        self._card.metrics = metrics
        self._card.virtual_s += virtual_s
        self._updates += 1
        if self._updates % self._every == 0:
            self._save()
            if time.monotonic() - self._drawn > PICTURE_S:
                self._draw()

    def milestones_at(self, share: float) -> int:
        """Return the number of milestones of a training of which a share, 0 to 1, is done."""
        return int(share * self._milestones + 1e-9)

    def keep(self) -> None:
        """Keep the newest policy as a milestone. It exports like a run, but cannot be resumed."""
        assert self._state is not None
        folder = self._folder / checkpoint.MILESTONES / f"{self._state['decisions']:09d}"
        folder.mkdir(parents=True, exist_ok=True)
        content = {**self._state, "learner": {}, "sampler": {}, "config": self._config, "card": self._card.facts()}
        checkpoint.save(folder, content)

    def finished(self) -> None:
        """Record that the training is complete."""
        self._card.status = "finished"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._state is None:
            return
        failed = error is not None and not isinstance(error, KeyboardInterrupt)
        if self._card.status != "finished":
            self._card.status = "failed" if failed else "interrupted"
        try:
            self._save()  # first, and after an error, too: it must not cost the updates since the last checkpoint
            if error is not None and failed:
                self._card.status = f"failed: {first_line(error)}"
            if self._updates:
                self._draw()
            self._card.write(self._folder)
        finally:
            self._close()

    def _save(self) -> None:
        assert self._state is not None
        self._card.decisions = self._state["decisions"]
        self._card.wall_s = self._wall_s + time.monotonic()
        checkpoint.save(self._folder, {**self._state, "config": self._config, "card": self._card.facts()})
        self._card.write(self._folder)

    def _draw(self) -> None:
        from training.run_folder import curves  # matplotlib takes a second to load

        assert self._writer is not None
        try:
            self._writer.flush()
            curves.draw({self._folder.name: [self._folder]}, self._folder / CURVE_NAME)
        except OSError as error:  # the curve can be drawn later
            print(f"{self._folder / CURVE_NAME} could not be written: {error.strerror}", file=sys.stderr)
        self._drawn = time.monotonic()

    def _close(self) -> None:
        assert self._writer is not None
        try:
            self._writer.close()
        except OSError as error:  # the weights are safe in the checkpoint
            print(f"the last metrics could not be written to {self._folder}: {error.strerror}", file=sys.stderr)
