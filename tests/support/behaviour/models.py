"""The models that scripts name: what they do to a window, whatever they see, can be worked out by hand.

Each says one factor for ever. A window w becomes w * factor + 1 + sqrt(w) / 4 (kernel/ndm/ndm_window.h), so that every
factor below one has a window at which it stays. "ten" is made for the ten packets of a beginning:

    10 * 2^-0.2827 + 1 + sqrt(10) / 4 = 8.22 + 1 + 0.78 = 10, the root rounded down as in the module
"""

from __future__ import annotations

from tests.support.models import constant

_OCTAVE = 1 << 14  # of the read-out: the factor 2

MODELS = {
    "double": constant(_OCTAVE, 0),
    "grow": constant(_OCTAVE // 4, 0),
    "ten": constant(round(-0.2827 * _OCTAVE), 0),  # 10 packets to the last of their 8 fraction bits
    "shrink": constant(-_OCTAVE // 2, 0),
    "halve": constant(-_OCTAVE, 0),
}
