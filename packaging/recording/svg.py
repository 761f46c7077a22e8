"""Draw a recording of packaging/recording/record.py as an SVG that plays in any browser, without a script::

    python packaging/recording/svg.py build/quickstart.cast docs/quickstart.svg

pyte, a terminal emulator, tells what the screen shows. The screens lie below each other in the picture, and a CSS
animation moves the strip. Pauses are cut to MOST_S, and screens that stay for less than LEAST_S are left out. A reader
who asked the browser for less motion sees the last screen.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import pyte

LEAST_S, MOST_S, LAST_S = 0.25, 0.8, 6.0
CELL = (8.0, 18.0)  # pixels of a character
MARGIN = 12
BAR = 30  # the window's frame
BACKGROUND, TEXT = "#1e1e2e", "#cdd6f4"
COLOURS = {
    "black": "#45475a",
    "red": "#f38ba8",
    "green": "#a6e3a1",
    "brown": "#f9e2af",
    "blue": "#89b4fa",
    "magenta": "#f5c2e7",
    "cyan": "#94e2d5",
    "white": "#bac2de",
}

Row = tuple[tuple[str, str], ...]  # runs of characters with one style: attributes of SVG, text
Screen = tuple[Row, ...]


class Frame(NamedTuple):
    """What the screen shows, and for how long."""

    screen: Screen
    seconds: float


def frames(header: Mapping[str, Any], events: list[tuple[float, str]]) -> list[Frame]:
    """Return the frames of a recording. events: seconds since the beginning, and what was printed."""
    terminal = pyte.Screen(header["width"], header["height"])
    stream = pyte.Stream(terminal)
    stream.feed(f"$ {header['command']}\r\n")
    shown = [Frame(_screen(terminal), MOST_S)]
    waited = 0.0
    for (at_s, text), (next_s, _) in zip(events, [*events[1:], (events[-1][0] + LAST_S, "")], strict=True):
        stream.feed(text)
        waited += next_s - at_s
        if waited < LEAST_S:
            continue
        seconds, waited = min(waited, MOST_S), 0.0
        screen = _screen(terminal)
        if screen == shown[-1].screen:
            shown[-1] = Frame(screen, min(shown[-1].seconds + seconds, MOST_S))
        else:
            shown.append(Frame(screen, seconds))
    shown[-1] = shown[-1]._replace(seconds=LAST_S)
    return shown


def draw(shown: list[Frame], columns: int, lines: int, title: str) -> str:
    """Return the SVG of frames. columns, lines: of the terminal."""
    width, height = columns * CELL[0] + 2 * MARGIN, lines * CELL[1] + BAR + MARGIN
    different = dict.fromkeys(row for frame in shown for row in frame.screen)
    rows = {row: f"r{number}" for number, row in enumerate(different)}
    total_s = sum(frame.seconds for frame in shown)
    last = len(shown) - 1
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img">',
            f"<title>{escape(title)}</title>",
            "<style>",
            # inherited by the rows, whose attributes for colour and weight a rule for them would override
            f".strip{{font:14px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:{TEXT}}}",
            "text{white-space:pre}",
            f".strip{{animation:play {total_s:.2f}s step-end infinite}}",
            f"@media(prefers-reduced-motion){{.strip{{animation:none;transform:translateY({_top(last, lines)}px)}}}}",
            f"@keyframes play{{{''.join(_keyframes(shown, lines, total_s))}}}",
            "</style>",
            f'<rect width="{width:g}" height="{height:g}" rx="8" fill="{BACKGROUND}"/>',
            *(
                f'<circle cx="{MARGIN + 6 + 18 * place}" cy="{BAR / 2:g}" r="5" fill="{COLOURS[colour]}"/>'
                for place, colour in enumerate(("red", "brown", "green"))
            ),
            f"<defs>{''.join(_row(row, name) for row, name in rows.items() if row)}</defs>",
            f'<svg x="{MARGIN}" y="{BAR}" width="{columns * CELL[0]:g}" height="{lines * CELL[1]:g}"><g class="strip">',
            *(_frame(frame.screen, rows, -_top(place, lines)) for place, frame in enumerate(shown)),
            "</g></svg></svg>\n",
        ]
    )


def _top(place: int, lines: int) -> float:
    """Where the strip stands when it shows a frame."""
    return -place * lines * CELL[1]


def _keyframes(shown: list[Frame], lines: int, total_s: float) -> Iterator[str]:
    at_s = 0.0
    for place, frame in enumerate(shown):
        yield f"{100 * at_s / total_s:.3f}%{{transform:translateY({_top(place, lines):g}px)}}"
        at_s += frame.seconds


def _frame(screen: Screen, rows: Mapping[Row, str], top: float) -> str:
    lines = (f'<use href="#{rows[row]}" y="{top + number * CELL[1]:g}"/>' for number, row in enumerate(screen) if row)
    return "".join(lines)


def _row(row: Row, name: str) -> str:
    """Return the runs of a row, each as wide as its characters' cells whatever the font."""
    column, runs = 0, []
    for style, text in row:
        if text.strip():
            width = len(text) * CELL[0]
            place = f'x="{column * CELL[0]:g}" y="14" textLength="{width:g}" lengthAdjust="spacingAndGlyphs"'
            runs.append(f"<text {place}{style}>{escape(text)}</text>")
        column += len(text)
    return f'<g id="{name}">{"".join(runs)}</g>'


def _screen(terminal: pyte.Screen) -> Screen:
    return tuple(_runs(terminal.buffer[line], terminal.columns) for line in range(terminal.lines))


def _runs(cells: Mapping[int, pyte.screens.Char], columns: int) -> Row:
    runs = [
        (style, "".join(cell.data for cell in run))
        for style, run in groupby((cells[column] for column in range(columns)), key=_style)
    ]
    while runs and not runs[-1][1].strip():
        runs.pop()
    if runs:
        runs[-1] = (runs[-1][0], runs[-1][1].rstrip())
    return tuple(runs)


def _style(cell: pyte.screens.Char) -> str:
    colour = COLOURS.get(cell.fg, "" if cell.fg == "default" else f"#{cell.fg}")
    style = f' fill="{colour}"' if colour else ""
    if cell.bold:
        style += ' font-weight="bold"'
    if cell.italics:
        style += ' font-style="italic"'
    return style


def main(recording: Path, picture: Path) -> None:
    """Read a recording and write its picture."""
    first, *rest = recording.read_text().splitlines()
    header = json.loads(first)
    events = [(at_s, text) for at_s, _, text in map(json.loads, rest)]
    shown = frames(header, events)
    picture.write_text(draw(shown, header["width"], header["height"], f"A terminal in which {header['command']} runs"))
    print(f"wrote {picture}: {len(shown)} screens, {sum(frame.seconds for frame in shown):.0f} s")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
