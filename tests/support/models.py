"""Integer models: random ones, any for hypothesis, and those that no training gives."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import numpy as np
from hypothesis import strategies as st

from env import schema
from env.lab import Lab
from export.formats.blob import write_blob
from export.integer.model import FRAC_MAX, INPUTS, OUTPUTS, Int16, IntegerModel, Provenance
from tests.support.guest import shell

HIDDEN = 4
BAD_SCALES = {"row_frac": (12,) * HIDDEN, "out_frac": (14,) * OUTPUTS}
INT16_ENDS = np.array([-32768, -32767, -1, 0, 1, 32767], np.int16)


def random_model(rng: np.random.Generator, hidden: int = HIDDEN, *, ends: bool = False, **fields: Any) -> IntegerModel:
    """Return a model with weights from all of int16, or from its ends only; fields: those that are given."""

    def numbers(*shape: int) -> Int16:
        return rng.choice(INT16_ENDS, shape) if ends else rng.integers(-32768, 32768, shape).astype(np.int16)

    arrays = {"w": numbers(hidden, INPUTS), "u": numbers(hidden, hidden), "b": numbers(hidden)}
    arrays |= {"v": numbers(OUTPUTS, hidden), "c": numbers(OUTPUTS)}
    fracs = {
        name: tuple(rng.integers(0, FRAC_MAX + 1, n).tolist())
        for name, n in (("row_frac", hidden), ("out_frac", OUTPUTS))
    }
    return IntegerModel(**(arrays | fracs | fields))


# Hypothesis chooses the size and the kind, NumPy the numbers: whole arrays follow from a seed.
any_model = st.builds(
    lambda seed, hidden, ends: random_model(np.random.default_rng(seed), hidden, ends=ends),
    st.integers(0, 2**32 - 1), st.integers(1, schema.HIDDEN_MAX), st.booleans(),
)  # fmt: skip


def filled(weight: int) -> IntegerModel:
    """Return a model whose weights are all the same."""
    model = random_model(np.random.default_rng(0), **BAD_SCALES)
    for array in (model.w, model.u, model.b, model.v, model.c):
        array[:] = weight
    return model


def constant(growth: int, pacing: int) -> IntegerModel:
    """Return a model with two constant outputs, Q14."""
    model = filled(0)
    model.c[:] = growth, pacing
    return model


def burst() -> IntegerModel:
    """Return a model that adds the most to the window twice, then the least, and so on."""
    model = filled(0)
    # three units pass a positive value around, which begins at the first
    for unit in range(3):
        model.u[unit, unit - 1 if unit else 2] = 4 << 12
    model.b[:3] = 1 << 11, -(1 << 11), -(1 << 11)
    model.v[:, 0] = -32768
    return model


BAD_MODELS = {
    "highest": filled(32767),
    "lowest": filled(-32767),
    "zero": filled(0),
    "grow": constant(16384, 16384),
    "creep": constant(800, 0),  # a little more than no opinion
    "shrink": constant(-16384, -16384),
    **{f"random-{seed}": random_model(np.random.default_rng(seed), **BAD_SCALES) for seed in range(3)},
}

# policies that want more than the path has, whatever other flows need
GREEDY_MODELS = {name: BAD_MODELS[name] for name in ("highest", "grow", "creep")} | {"burst": burst()}


SLOTS = "/sys/module/tcp_ndm/parameters/slots"


def with_sha256(content: bytes | bytearray) -> bytes:
    """Return a model file with the SHA-256 that its other bytes have."""
    return bytes(content[:-32]) + hashlib.sha256(content[:-32]).digest()


def use_model(lab: Lab, name: str) -> None:
    """Let ndm decide by a model: builtin, or the file of this name that the firmware loader finds."""
    shell(lab, f"echo +ndm {name} >{SLOTS}")


def put_firmware(lab: Lab, files: dict[str, bytes]) -> None:
    """Give the lab's firmware loader a folder with the files."""
    shell(lab, "mkdir -p /tmp/firmware && printf /tmp/firmware >/sys/module/firmware_class/parameters/path")
    for name, content in files.items():
        shell(lab, f"echo {base64.b64encode(content).decode()} | base64 -d >/tmp/firmware/{name}")


def model_file(name: str) -> bytes:
    """Return a model file of this name: a model of its own, whose weights follow from the name."""
    model = random_model(np.random.default_rng(list(name.encode())), **BAD_SCALES)
    return write_blob(model, Provenance(name, "none", "0" * 64, "none", 0))


def put_models(lab: Lab, models: dict[str, IntegerModel]) -> None:
    """Give the lab's firmware loader a folder with the models as NAME.bin."""
    facts = {name: Provenance(name, "none", "0" * 64, "none", 0) for name in models}
    put_firmware(lab, {f"{name}.bin": write_blob(model, facts[name]) for name, model in models.items()})
