"""Colours and markers: all differ, can be drawn, and a new scheme gets its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import plotly.graph_objects as go
import pytest
from PIL import Image

from compare.experiment.experiment import plan
from compare.experiment.run_files import pack
from compare.experiment.store import Store
from compare.report import render_report
from compare.report.plots.figure import marker
from compare.report.plots.markers import glyph
from env.network import schemes
from env.network.schemes import FREE_LOOKS, SCHEMES, Scheme, find_schemes, with_looks
from studies.documents.overview import draw_overview
from tests.support.report import comparison
from tests.support.results import recorded


def test_every_look_differs() -> None:
    further = [*(f"ndm@runs/{i}" for i in range(4)), *(f"window@{i}" for i in range(1, 5))]
    taken = {scheme.marker for scheme in SCHEMES.values()}
    free = [Scheme(marker, marker, "", colour, marker) for colour, marker in FREE_LOOKS if marker not in taken]
    every = [*SCHEMES.values(), *find_schemes(further), *free]
    for looks in (
        [scheme.colour for scheme in every],
        [scheme.marker for scheme in every],
        [marker(scheme)["symbol"] for scheme in every],
        [glyph(replace(scheme, colour="black")) for scheme in every],
    ):
        assert len(set(looks)) == len(every)
    for scheme in every:
        go.Scatter(marker=marker(scheme))  # raises ValueError for a symbol or colour that plotly does not know


def test_new_scheme_needs_one_line_to_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = Scheme("new_cc", "New CC", "new_cc", module="tcp_new_cc")
    table = with_looks([*SCHEMES.values(), line])
    assert len({scheme.marker for scheme in table.values()}) == len(table)
    monkeypatch.setattr(schemes, "SCHEMES", table)
    store = Store(tmp_path / "results")
    experiment = plan(["stress"], ["cubic", "new_cc"], 2, None, 50)
    with store.claim(experiment):
        for run in experiment.runs():
            store.save(run, pack(recorded()))
    drawn = comparison(store)
    colour = table["new_cc"].colour
    html = render_report(drawn)
    assert "New CC" in html
    assert colour in html
    assert draw_overview(drawn.cells, tmp_path / "overview.png") == 1
    with Image.open(tmp_path / "overview.png") as picture:
        shown = {shade for _, shade in picture.convert("RGB").getcolors(1 << 24) or []}
    assert tuple(bytes.fromhex(colour.removeprefix("#"))) in shown
