"""The markers of env/network/schemes.py: plotly's names, and shapes for tables and buttons."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from env.network.schemes import Scheme

SYMBOLS = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "v": "triangle-down",
    "<": "triangle-left",
    ">": "triangle-right",
    "D": "diamond",
    "d": "diamond-tall",
    "p": "pentagon",
    "h": "hexagon2",
    "H": "hexagon",
    "8": "octagon",
    "P": "cross",
    "X": "x",
    "*": "star",
    "+": "cross-thin-open",
    "1": "y-down-open",
    "2": "y-up-open",
    "3": "y-left-open",
    "4": "y-right-open",
}
THIN = frozenset("+1234")  # markers of lines, without an area


def _regular(corners: int, turned: float = 0.0, inner: float = 1.0) -> list[tuple[float, float]]:
    """Return the corners of a polygon of radius 9 around 0; inner: radius of corners between them, of the outer one."""
    points = []
    for corner in range(2 * corners if inner < 1 else corners):
        angle = 2 * math.pi * (corner / (2 * corners if inner < 1 else corners) + turned) - math.pi / 2
        radius = 9.0 * (inner if inner < 1 and corner % 2 else 1.0)
        points.append((radius * math.cos(angle), radius * math.sin(angle)))
    return points


def _cross(turned: float) -> list[tuple[float, float]]:
    arms = [(-3, -9), (3, -9), (3, -3), (9, -3), (9, 3), (3, 3), (3, 9), (-3, 9), (-3, 3), (-9, 3), (-9, -3), (-3, -3)]
    sine, cosine = math.sin(2 * math.pi * turned), math.cos(2 * math.pi * turned)
    return [(x * cosine - y * sine, x * sine + y * cosine) for x, y in arms]


def _spokes(arms: int, turned: float) -> list[tuple[float, float]]:
    """Return lines from the middle to the ends and back."""
    ends = _regular(arms, turned)
    return [point for end in ends for point in ((0.0, 0.0), end, (0.0, 0.0))]


_SHAPES: dict[str, Sequence[tuple[float, float]]] = {
    "o": _regular(24),
    "s": [(-7.5, -7.5), (7.5, -7.5), (7.5, 7.5), (-7.5, 7.5)],
    "^": _regular(3),
    "v": _regular(3, 0.5),
    "<": _regular(3, 0.75),
    ">": _regular(3, 0.25),
    "D": _regular(4),
    "d": [(0, -9), (5, 0), (0, 9), (-5, 0)],
    "p": _regular(5),
    "h": _regular(6, 1 / 12),
    "H": _regular(6),
    "8": _regular(8, 1 / 16),
    "P": _cross(0),
    "X": _cross(1 / 8),
    "*": _regular(5, inner=0.45),
    "+": _spokes(4, 0),
    "1": _spokes(3, 0.5),
    "2": _spokes(3, 0),
    "3": _spokes(3, 0.75),
    "4": _spokes(3, 0.25),
}


def glyph(scheme: Scheme) -> Markup:
    """Return the scheme's marker in its colour as a small SVG, hidden from screen readers: the name is beside it."""
    points = " ".join(f"{x:.3g},{y:.3g}" for x, y in _SHAPES[scheme.marker])
    return Markup(
        '<svg class="glyph" viewBox="-10 -10 20 20" aria-hidden="true" focusable="false">'
        '<polygon points="{}" fill="{}" stroke="{}" stroke-width="{}"/></svg>'
    ).format(points, scheme.colour, scheme.colour, 4 if scheme.marker in THIN else 0)
