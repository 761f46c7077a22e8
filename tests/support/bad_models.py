"""Models that no training would give: what the guard is there for."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import numpy as np

from export.formats.blob import write_blob
from export.integer.model import INPUTS, OUTPUTS, Int16, IntegerModel, Provenance
from tests.support.guest import shell

if TYPE_CHECKING:
    from env.lab import Lab

HIDDEN = 4
GROW = (16384, 0)  # read-out biases, Q14: twice the window in every round


def filled(weight: int) -> IntegerModel:
    """Every weight the same."""
    return made(lambda *shape: np.full(shape, weight, np.int16))


def random(seed: int) -> IntegerModel:
    """Weights drawn from all of int16."""
    rng = np.random.default_rng(seed)
    return made(lambda *shape: rng.integers(-32768, 32768, shape).astype(np.int16))


def constant(cwnd_log2: int, pacing: int) -> IntegerModel:
    """Two outputs, Q14, whatever the inputs."""
    model = filled(0)
    model.c[:] = cwnd_log2, pacing
    return model


def made(draw: object) -> IntegerModel:
    """A model whose arrays come from draw(*shape)."""
    assert callable(draw)
    w, u, b = draw(HIDDEN, INPUTS), draw(HIDDEN, HIDDEN), draw(HIDDEN)
    v, c = draw(OUTPUTS, HIDDEN), draw(OUTPUTS)
    arrays: tuple[Int16, ...] = (w, u, b, v, c)
    return IntegerModel((12,) * HIDDEN, (14,) * OUTPUTS, *arrays)


BAD_MODELS = {
    "highest": filled(32767),
    "lowest": filled(-32767),
    "zero": filled(0),
    "grow": constant(16384, 16384),
    "creep": constant(800, 0),  # 3 % a round
    "shrink": constant(-16384, -16384),
    "random-0": random(0),
    "random-1": random(1),
    "random-2": random(2),
}


def put_models(lab: Lab, models: dict[str, IntegerModel]) -> None:
    """Give the lab's firmware loader a folder with the models as NAME.bin."""
    shell(lab, "mkdir -p /tmp/firmware && printf /tmp/firmware >/sys/module/firmware_class/parameters/path")
    for name, model in models.items():
        content = write_blob(model, Provenance(name, "none", "0" * 64, "none", 0))
        shell(lab, f"echo {base64.b64encode(content).decode()} | base64 -d >/tmp/firmware/{name}.bin")
