"""The models that scripts name: what they do to a window, whatever they see, can be worked out by hand.

Each says one growth for ever. Without a queue a window w becomes 33/32 w + 3 * 2^growth (kernel/ndm/ndm_window.h):

    least     10 -> 11.8 -> 13.7 -> 15.6
    middle    10 -> 13.3 -> 16.7 -> 20.2
    most      10 -> 16.3 -> 22.8 -> 29.5
"""

from __future__ import annotations

from tests.support.models import constant

_ONE = 1 << 14  # of the read-out

MODELS = {"least": constant(-_ONE, 0), "middle": constant(0, 0), "most": constant(_ONE, 0)}
