"""Writes the folder of a training: TensorBoard events, checkpoints, the card and the learning curve."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from omegaconf import OmegaConf
from torch.utils.tensorboard import SummaryWriter

from env.errors import UserError
from env.files import write_atomically
from export import checkpoint
from export.checks.certificate import certify, refusals
from export.integer.quantize import FloatPolicy, quantize
from training.options import TrainConfig
from training.run_folder.card import CURVE_NAME, Card

MILESTONES = "milestones"  # folder of a run, with a folder DECISIONS/ for each policy that is kept
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
        """Record an update: the state after it, its metrics, the virtual time of its episodes."""
        assert self._writer is not None
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, state["decisions"])
        self._state = state
        self._card.metrics = metrics
        self._card.virtual_s += virtual_s
        self._updates += 1
        if self._updates % self._every == 0:
            if time.monotonic() - self._drawn > PICTURE_S:
                self._draw()
            self._save()

    def milestones_at(self, share: float) -> int:
        """Return the number of milestones of a training of which a share, 0 to 1, is done."""
        return int(share * self._milestones + 1e-9)

    def keep(self) -> None:
        """Keep the newest policy as a milestone. It exports like a run, but cannot be resumed."""
        assert self._state is not None
        folder = self._folder / MILESTONES / f"{self._state['decisions']:09d}"
        folder.mkdir(parents=True, exist_ok=True)
        content = {**self._state, "learner": {}, "sampler": {}, "config": self._config, "card": self._card.facts()}
        checkpoint.save(folder, content)

    def finished(self) -> None:
        """Record that the training is complete, and what its network is certified for."""
        assert self._state is not None
        self._card.status = "finished"
        try:
            model = quantize(FloatPolicy.from_state_dict(self._state["policy"]))
        except UserError as error:
            print(f"train.py: the policy cannot be exported: {error}", file=sys.stderr)
        else:
            certificates = certify(model)
            self._card.certificates = [asdict(certificate) for certificate in certificates]
            for refusal in refusals(certificates):
                print(f"train.py: make export-weights refuses this policy: {refusal}", file=sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._state is None:
            return
        if self._card.status != "finished":
            failed = error is not None and not isinstance(error, KeyboardInterrupt)
            self._card.status = f"failed: {str(error).splitlines()[0]}" if failed else "interrupted"
        if self._updates:
            self._draw()
        try:
            self._save()  # after an error, too: a lab that died must not cost the updates since the last checkpoint
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
            print(f"{self._folder / CURVE_NAME} could not be written: {os.strerror(error.errno or 0)}", file=sys.stderr)
        self._drawn = time.monotonic()

    def _close(self) -> None:
        assert self._writer is not None
        try:
            self._writer.close()
        except OSError as error:  # the weights are safe in the checkpoint
            print(
                f"the last metrics could not be written to {self._folder}: {os.strerror(error.errno or 0)}",
                file=sys.stderr,
            )
