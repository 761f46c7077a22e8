"""The models that scripts name: what they do to a window, whatever they see, can be worked out by hand."""

from __future__ import annotations

from tests.kernel.bad_models import constant

_OCTAVE = 1 << 14  # of the read-out: twice the window with every decision

MODELS = {
    "double": constant(_OCTAVE, 0),
    "grow": constant(_OCTAVE // 4, 0),
    "hold": constant(0, 0),
    "shrink": constant(-_OCTAVE // 4, 0),
    "halve": constant(-_OCTAVE, 0),
}
