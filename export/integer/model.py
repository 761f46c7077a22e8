"""The integer model, the form of a quantized policy that all file formats share.

Letters: H hidden units (1 to ``schema.HIDDEN_MAX``), I inputs, O outputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from env import schema
from env.errors import UserError

FORMAT = 1  # NDM_MODEL_FORMAT in kernel/ndm/ndm_core.h: layout and meaning of the numbers below
FRAC_MAX = 22  # more than 15 for rows of small weights: a new policy's read-out weights are below 0.01
ENVELOPE_MAX = 1024  # bytes of the text about the paths of the training
INPUTS = len(schema.FEATURES)
OUTPUTS = len(schema.ACTIONS)

Int16 = NDArray[np.int16]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


@dataclass(frozen=True)
class Provenance:
    """The origin of a model's weights; every exported file contains it."""

    name: str  # of the model; by default that of the run
    profile: str  # name of the profile of the training
    sha256: str  # of the float policy, as in its checkpoint
    git_revision: str
    decisions: int  # seen in training
    envelope: str = ""  # the paths that it was trained on, in words: export/formats/envelope.py
    training: str = ""  # the essentials of the run's card (training/run_folder/card.py), JSON; not in the blob


def with_all_inputs(columns: Int16, origin: str) -> Int16:
    """Return columns (N, inputs of a model) as (N, I), with zeros for the inputs that were appended after the model.

    origin: its name for errors. Raises UserError for a number of inputs that no model of this schema version has.
    """
    count = columns.shape[1]
    if not schema.INPUTS_MIN <= count <= INPUTS:
        raise UserError(
            f"{origin} has {count} inputs; this version has {INPUTS} and requires the first {schema.INPUTS_MIN}"
        )
    return np.pad(columns, ((0, 0), (0, INPUTS - count)))


@dataclass(frozen=True)
class IntegerModel:
    """Weights of the integer network; a number n of row r stands for ``n / 2**frac[r]``.

    Raises UserError for a wrong shape, type or number of fraction bits.
    """

    row_frac: tuple[int, ...]  # (H), 0 to 22
    out_frac: tuple[int, ...]  # (O), 0 to 22
    w: Int16  # (H, I)
    u: Int16  # (H, H)
    b: Int16  # (H)
    v: Int16  # (O, H)
    c: Int16  # (O)

    def __post_init__(self) -> None:
        hidden = self.hidden
        if not 1 <= hidden <= schema.HIDDEN_MAX:
            raise UserError(f"a model has 1 to {schema.HIDDEN_MAX} hidden units, not {hidden}")
        shapes = {"w": (hidden, INPUTS), "u": (hidden, hidden), "b": (hidden,), "v": (OUTPUTS, hidden), "c": (OUTPUTS,)}
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array.shape != shape or array.dtype != np.int16:
                raise UserError(f"{name} must be int16 of shape {shape}, not {array.dtype} of shape {array.shape}")
        if len(self.out_frac) != OUTPUTS:
            raise UserError(f"out_frac must have {OUTPUTS} entries, not {len(self.out_frac)}")
        for name in ("row_frac", "out_frac"):
            for frac in getattr(self, name):
                if not 0 <= frac <= FRAC_MAX:
                    raise UserError(f"{name} must lie in 0 to {FRAC_MAX}, not {frac}")

    @property
    def hidden(self) -> int:
        """H, the number of recurrent units."""
        return len(self.row_frac)
