"""The markers of env/network/schemes.py, for plotly, and as shapes for tables and buttons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from env.network.schemes import Scheme


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


class Marker(NamedTuple):
    """symbol: plotly's name. outline: of the shape, from -9 to 9 with y downwards. thin: lines without an area."""

    symbol: str
    outline: Sequence[tuple[float, float]]
    thin: bool = False


# By matplotlib's letter for the marker, or by plotly's name where matplotlib has none.
MARKERS = {
    "o": Marker("circle", _regular(24)),
    "s": Marker("square", [(-7.5, -7.5), (7.5, -7.5), (7.5, 7.5), (-7.5, 7.5)]),
    "^": Marker("triangle-up", _regular(3)),
    "v": Marker("triangle-down", _regular(3, 0.5)),
    "<": Marker("triangle-left", _regular(3, 0.75)),
    ">": Marker("triangle-right", _regular(3, 0.25)),
    "D": Marker("diamond", _regular(4)),
    "d": Marker("diamond-tall", [(0, -9), (5, 0), (0, 9), (-5, 0)]),
    "p": Marker("pentagon", _regular(5)),
    "h": Marker("hexagon2", _regular(6, 1 / 12)),
    "H": Marker("hexagon", _regular(6)),
    "8": Marker("octagon", _regular(8, 1 / 16)),
    "P": Marker("cross", _cross(0)),
    "X": Marker("x", _cross(1 / 8)),
    "*": Marker("star", _regular(5, inner=0.45)),
    "+": Marker("cross-thin-open", _spokes(4, 0), thin=True),
    "1": Marker("y-down-open", _spokes(3, 0.5), thin=True),
    "2": Marker("y-up-open", _spokes(3, 0), thin=True),
    "3": Marker("y-left-open", _spokes(3, 0.75), thin=True),
    "4": Marker("y-right-open", _spokes(3, 0.25), thin=True),
}
_BY_SYMBOL: dict[str, Sequence[tuple[float, float]]] = {
    "diamond-wide": [(-9, 0), (0, -5), (9, 0), (0, 5)],
    "hourglass": [(-7.5, -9), (7.5, -9), (-7.5, 9), (7.5, 9)],
    "bowtie": [(-9, -7.5), (-9, 7.5), (9, -7.5), (9, 7.5)],
    "hexagram": _regular(6, inner=0.58),
    "star-diamond": _regular(4, inner=0.4),
    "star-square": _regular(4, 1 / 8, inner=0.4),
    "star-triangle-up": _regular(3, inner=0.25),
    "star-triangle-down": _regular(3, 0.5, inner=0.25),
    "triangle-ne": [(-7.5, -7.5), (7.5, -7.5), (7.5, 7.5)],
    "triangle-se": [(7.5, -7.5), (7.5, 7.5), (-7.5, 7.5)],
    "triangle-sw": [(7.5, 7.5), (-7.5, 7.5), (-7.5, -7.5)],
    "triangle-nw": [(-7.5, 7.5), (-7.5, -7.5), (7.5, -7.5)],
}
MARKERS |= {symbol: Marker(symbol, outline) for symbol, outline in _BY_SYMBOL.items()}


def glyph(scheme: Scheme) -> Markup:
    """Return the scheme's marker in its colour as a small SVG, hidden from screen readers: the name is beside it."""
    marker = MARKERS[scheme.marker]
    points = " ".join(f"{x:.3g},{y:.3g}" for x, y in marker.outline)
    return Markup(
        '<svg class="glyph" viewBox="-10 -10 20 20" aria-hidden="true" focusable="false">'
        '<polygon points="{}" fill="{}" stroke="{}" stroke-width="{}"/></svg>'
    ).format(points, scheme.colour, scheme.colour, 4 if marker.thin else 0)
