"""Golden vectors: inputs with the exact integer outputs, which every implementation of the core must reproduce.

Both kernel/ndm/ndm_core.h and export/integer/reference.py are tested with ``datasets/golden/core.json``, which does not
depend on any training::

    python -m export.formats.golden            # writes datasets/golden/core.json
    python -m export.formats.golden --check    # exits with 1 if the reference computes other outputs

Regenerate only when the arithmetic of docs/reference/kernel-interface.md changes on purpose, and then raise VERSION.

Letters: T steps, H hidden units, I inputs, O outputs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from env import schema
from env.checkout import DATASETS
from env.errors import UserError
from env.files import generate
from export.integer import reference
from export.integer.model import FORMAT, FRAC_MAX, INPUTS, OUTPUTS, Int16, IntegerModel, with_all_inputs

MAGIC = "ndm-golden"
VERSION = 1
FILE = DATASETS / "golden" / "core.json"
REGENERATE = "python -m export.formats.golden"

Rollout = Callable[[IntegerModel, Int16, Int16], tuple[Int16, Int16]]


@dataclass(frozen=True)
class Vector:
    """One sequence through one model."""

    name: str
    model: IntegerModel
    x: Int16  # (T, I) inputs, Q12
    h: Int16  # (H) state before the first step, Q15
    outputs: Int16  # (T, O) expected, Q14
    last_h: Int16  # (H) expected state after the last step, Q15


def make_vector(name: str, model: IntegerModel, x: Int16, h: Int16) -> Vector:
    """Return the vector with the outputs that the reference computes."""
    outputs, last_h = reference.rollout(model, x, h)
    return Vector(name=name, model=model, x=x, h=h, outputs=outputs, last_h=last_h)


def model_vectors(model: IntegerModel, seed: int = 1) -> list[Vector]:
    """Return vectors for one exported model: random inputs over the whole range, extremes, and an impulse."""
    rng = np.random.default_rng(seed)
    zero = np.zeros(model.hidden, np.int16)
    quiet = np.zeros((64, INPUTS), np.int16)
    quiet[0] = 1 << schema.FEATURE_FRAC
    return [
        make_vector("random inputs", model, _random_inputs(rng, 256), zero),
        make_vector("extreme inputs", model, _extreme(rng, (64, INPUTS)), _extreme(rng, (model.hidden,))),
        make_vector("one impulse, then silence", model, quiet, zero),
    ]


def core_vectors() -> list[Vector]:
    """Return vectors of the core: several sizes and scales, weights and inputs at the ends of int16."""
    rng = np.random.default_rng(20)
    vectors = []
    for hidden in (1, 2, 8, 15, 16):
        model = _random_model(rng, hidden)
        x, h = _random_inputs(rng, 48), rng.integers(-32767, 32768, hidden).astype(np.int16)
        vectors.append(make_vector(f"random weights, {hidden} units", model, x, h))
    for frac in (0, 7, 15, FRAC_MAX):
        model = _extreme_model(rng, schema.HIDDEN_MAX, frac)
        x, h = _extreme(rng, (16, INPUTS)), _extreme(rng, (schema.HIDDEN_MAX,))
        vectors.append(make_vector(f"weights and inputs +-32767, {frac} fraction bits", model, x, h))
    for weight, sign in ((32767, "highest"), (-32768, "lowest")):
        full = np.full
        model = IntegerModel(
            row_frac=(FRAC_MAX,) * schema.HIDDEN_MAX,
            out_frac=(FRAC_MAX,) * OUTPUTS,
            w=full((schema.HIDDEN_MAX, INPUTS), weight, np.int16),
            u=full((schema.HIDDEN_MAX, schema.HIDDEN_MAX), weight, np.int16),
            b=full(schema.HIDDEN_MAX, weight, np.int16),
            v=full((OUTPUTS, schema.HIDDEN_MAX), weight, np.int16),
            c=full(OUTPUTS, weight, np.int16),
        )
        x = full((4, INPUTS), -32768, np.int16)
        vectors.append(make_vector(f"every number the {sign}", model, x, full(schema.HIDDEN_MAX, -32768, np.int16)))
    return vectors


def render(vectors: Sequence[Vector]) -> str:
    """Return the text of a golden file."""
    content = {
        "magic": MAGIC,
        "version": VERSION,
        "model_format": FORMAT,
        "schema": schema.SCHEMA_VERSION,
        "regenerate": REGENERATE,
        "vectors": [_vector_to_json(vector) for vector in vectors],
    }
    # each innermost list on its own line keeps the file small and its diffs readable
    return _dump(content, 0) + "\n"


def parse(text: str, origin: str) -> list[Vector]:
    """Read a golden file. origin: its name for errors. Raises UserError for a file of another version or kind."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise UserError(f"{origin} is no golden file ({error}); regenerate it: {REGENERATE}") from error
    if not isinstance(content, dict) or content.get("magic") != MAGIC:
        raise UserError(f"{origin} is no golden file: its magic is not {MAGIC!r}; regenerate it: {REGENERATE}")
    for key, wanted in (("version", VERSION), ("model_format", FORMAT), ("schema", schema.SCHEMA_VERSION)):
        if content.get(key) != wanted:
            raise UserError(f"{origin} has {key} {content.get(key)!r}, this version {wanted}: run {REGENERATE}")
    try:
        return [_vector_from_json(vector, origin) for vector in content["vectors"]]
    except UserError:
        raise
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        raise UserError(f"{origin} is damaged ({error!r}); regenerate it: {REGENERATE}") from error


def mismatches(vectors: Sequence[Vector], rollout: Rollout) -> list[str]:
    """Run every vector, and return a line for each one whose outputs differ, with the command that regenerates it."""
    differences = []
    for vector in vectors:
        outputs, last_h = rollout(vector.model, vector.x, vector.h)
        wrong = np.flatnonzero((outputs != vector.outputs).any(axis=1))
        if wrong.size:
            t = int(wrong[0])
            differences.append(
                f"{vector.name}: step {t} gives {outputs[t].tolist()}, golden is {vector.outputs[t].tolist()}; "
                f"if the arithmetic changed on purpose: {REGENERATE}"
            )
        elif (last_h != vector.last_h).any():
            differences.append(
                f"{vector.name}: the last state is {last_h.tolist()}, golden is {vector.last_h.tolist()}; "
                f"if the arithmetic changed on purpose: {REGENERATE}"
            )
    return differences


def _random_inputs(rng: np.random.Generator, steps: int) -> Int16:
    scale = 2 ** rng.integers(4, 16, (steps, 1))  # every magnitude equally often
    return (rng.uniform(-1, 1, (steps, INPUTS)) * (scale - 1)).astype(np.int16)


def _extreme(rng: np.random.Generator, shape: tuple[int, ...]) -> Int16:
    return rng.choice(np.array([-32767, 32767], np.int16), shape)


def _random_model(rng: np.random.Generator, hidden: int) -> IntegerModel:
    def weights(*shape: int) -> Int16:
        return rng.integers(-32767, 32768, shape).astype(np.int16)

    return IntegerModel(
        row_frac=tuple(int(f) for f in rng.integers(12, 16, hidden)),
        out_frac=tuple(int(f) for f in rng.integers(12, 16, OUTPUTS)),
        w=weights(hidden, INPUTS) // np.int16(8),
        u=weights(hidden, hidden),
        b=weights(hidden),
        v=weights(OUTPUTS, hidden) // np.int16(4),
        c=weights(OUTPUTS) // np.int16(4),
    )


def _extreme_model(rng: np.random.Generator, hidden: int, frac: int) -> IntegerModel:
    return IntegerModel(
        row_frac=(frac,) * hidden,
        out_frac=(frac,) * OUTPUTS,
        w=_extreme(rng, (hidden, INPUTS)),
        u=_extreme(rng, (hidden, hidden)),
        b=_extreme(rng, (hidden,)),
        v=_extreme(rng, (OUTPUTS, hidden)),
        c=_extreme(rng, (OUTPUTS,)),
    )


def _vector_to_json(vector: Vector) -> dict[str, Any]:
    model = vector.model
    return {
        "name": vector.name,
        "row_frac": list(model.row_frac),
        "out_frac": list(model.out_frac),
        **{name: getattr(model, name).tolist() for name in ("w", "u", "b", "v", "c")},
        **{name: getattr(vector, name).tolist() for name in ("x", "h", "outputs", "last_h")},
    }


def _vector_from_json(content: dict[str, Any], origin: str) -> Vector:
    def array(name: str) -> Int16:
        return np.array(content[name], dtype=np.int16)

    model = IntegerModel(
        row_frac=tuple(content["row_frac"]),
        out_frac=tuple(content["out_frac"]),
        w=with_all_inputs(array("w"), origin),
        **{name: array(name) for name in ("u", "b", "v", "c")},
    )
    x = with_all_inputs(array("x"), origin)
    vector = Vector(content["name"], model, x, array("h"), array("outputs"), array("last_h"))
    shapes = {
        "h": (model.hidden,),
        "outputs": (len(vector.x), OUTPUTS),
        "last_h": (model.hidden,),
    }
    for name, shape in shapes.items():
        if getattr(vector, name).shape != shape:
            raise ValueError(f"{name} of {vector.name!r} has shape {getattr(vector, name).shape}, not {shape}")
    return vector


def _dump(value: Any, depth: int) -> str:
    pad, end = "  " * (depth + 1), "  " * depth
    if isinstance(value, dict):
        body = ",\n".join(f"{pad}{json.dumps(k)}: {_dump(v, depth + 1)}" for k, v in value.items())
        return f"{{\n{body}\n{end}}}"
    if isinstance(value, list) and value and isinstance(value[0], (dict, list)):
        return "[\n" + ",\n".join(pad + _dump(v, depth + 1) for v in value) + f"\n{end}]"
    return json.dumps(value)


if __name__ == "__main__":
    sys.exit(generate(REGENERATE, {FILE: lambda: render(core_vectors())}, sys.argv[1:]))
