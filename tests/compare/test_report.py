from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from compare.experiment import plan
from compare.published import load_published
from compare.report import Comparison, render_report
from compare.store import Store
from compare.summary import beside_published, read_cells
from tests.compare.recorded import recorded

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Checked(HTMLParser):
    """Fails on tags that do not match; collects ids, references and table headers."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.scopes: list[str | None] = []
        self.tables = self.captions = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [found["id"]] if found.get("id") else []
        self.links += [value for name in ("href", "src", "xlink:href") if (value := found.get(name))]
        self.tables += tag == "table"
        self.captions += tag == "caption"
        if tag == "th":
            self.scopes.append(found.get("scope"))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A report with good, failed and missing runs; the recorded run stands for both schemes."""
    store = Store(tmp_path_factory.mktemp("results"))
    experiment = plan(["stress", "bottleneck"], ["cubic", "ndm"], 2, None, 50)
    for run in experiment.runs()[:-2]:
        result: dict[str, Any] = recorded()
        result["flows"][0]["received_bytes"] += 1_000_000 * run.seed
        store.save(run, result)
    store.save_error(experiment.runs()[-1], "<b>panic</b> & halt")
    cells = read_cells(experiment, store)
    return render_report(Comparison(experiment, cells, beside_published(cells, load_published()), [], {}))


def test_the_report_is_whole_and_needs_no_network(html: str) -> None:
    page = Checked()
    page.feed(html)
    assert not page.open
    assert page.links
    assert all(link.startswith("#") for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert not re.search(r"url\((?!#)|@import|<script", html)


def test_tables_have_captions_and_scopes(html: str) -> None:
    page = Checked()
    page.feed(html)
    assert page.tables == page.captions == 3  # two scenarios, one of them with published figures
    assert set(page.scopes) == {"row", "col"}


def test_failed_runs_are_counted_shown_and_harmless(html: str) -> None:
    assert "<strong>1 failed</strong>" in html
    assert "1 not yet run" in html
    assert "&lt;b&gt;panic&lt;/b&gt; &amp; halt" in html
    assert "<b>panic" not in html


def test_published_figures_stand_beside_ours(html: str) -> None:
    table = html[html.index("Published single runs") :]
    rows = re.findall(r"<th scope=\"row\">cubic</th>.*?</tr>", table, re.DOTALL)
    assert len(rows) == 4
    goodput, sender, retransmits, zero_seconds = rows
    assert "<td>17.9</td>" in goodput  # our two made runs: 17.8 and 19.4
    assert "<td>18.7</td>" in sender
    assert all('class="yes">yes' in row for row in (goodput, sender))
    assert "<td>144</td>" in retransmits  # in 40 s; ours lasted 5 s
    assert all('class="no">no' in row for row in (retransmits, zero_seconds))
    assert "not measured here" in table  # ndm_v1


def test_pictures_take_the_colours_of_the_page(html: str) -> None:
    assert html.count("<svg") >= 8
    assert "currentColor" in html
    assert "#010203" not in html
    assert "#000000" not in re.sub(r"<style.*?</style>", "", html, flags=re.DOTALL)


def test_a_report_is_the_same_every_time(tmp_path: Path) -> None:
    store, experiment = Store(tmp_path), plan(["stress"], ["cubic"], 1, None, 50)
    store.save(experiment.runs()[0], recorded())
    cells = read_cells(experiment, store)
    first, second = (render_report(Comparison(experiment, cells, [], [], {})) for _ in range(2))
    assert first == second
