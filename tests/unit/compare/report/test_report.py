"""The report of a comparison: its HTML and Markdown, figures, links and failures."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import plotly.graph_objects as go
import pytest
from markdown_it import MarkdownIt
from markupsafe import escape
from matplotlib.patches import Polygon

from compare.command.progress import terminal
from compare.experiment.experiment import plan
from compare.experiment.run_files import pack
from compare.experiment.store import Store
from compare.report import render_markdown, render_report
from compare.report.given import Entry, Section, Table
from compare.report.plots.throughput_delay_plot import confidence_ellipse
from compare.statistics.estimates import estimate_of
from compare.statistics.numbers import number
from compare.targets.catalogue import TARGETS
from compare.targets.evidence import Evidence
from compare.targets.section import target_section
from compare.targets.tables import TargetTable
from tests.support.report import ENVIRONMENT, CheckedPage, comparison
from tests.support.results import recorded


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Good, failed and missing runs; the recorded run stands for both schemes."""
    store = Store(tmp_path_factory.mktemp("results"))
    experiment = plan(["stress", "bottleneck"], ["cubic", "ndm"], 3, None, 50)
    with store.claim(experiment):
        for run in experiment.runs()[:-2]:
            result = recorded()
            result.flows[0].received_bytes += 1_000_000 * run.seed
            store.save(run, pack(result))
        store.save_error(experiment.runs()[-1], "<b>panic</b> & halt | stop")
    return store


@pytest.fixture(scope="module")
def html(store: Store) -> str:
    return render_report(comparison(store))


@pytest.fixture(scope="module")
def page(html: str) -> CheckedPage:
    page = CheckedPage()
    page.feed(html)
    return page


def test_links_lead_into_report_or_to_files(page: CheckedPage, store: Store) -> None:
    assert not page.open
    within = [link for link in page.links if link.startswith("#")]
    assert {link[1:] for link in within} <= set(page.ids)
    files = set(page.links) - set(within)
    assert "runs/stress/cubic/seed-002/" in files
    written = {"report.md", "summary.csv", "comparisons.csv", "environment.json"}
    assert all((store.folder / file).exists() for file in files - written)


def test_ids_are_unique_and_scenarios_have_pages(page: CheckedPage) -> None:
    assert len(set(page.ids)) == len(page.ids)
    assert {"overview", "scenario/stress", "scenario/bottleneck", "environment"} <= set(page.ids)


def test_nothing_is_loaded_from_elsewhere(html: str) -> None:
    text = re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)  # plotly names places that it never asks here
    assert not re.search(r"https?://|//[a-z]+\.[a-z]|url\(|@import| src=", text)


def test_tables_have_captions_and_scopes(page: CheckedPage) -> None:
    assert page.tables == page.captions > 8
    assert set(page.scopes) <= {"row", "col"}


def test_failed_and_missing_runs_are_shown_escaped(html: str) -> None:
    assert "1 failed</strong>" in html
    assert "1 missing</strong>" in html
    assert "&lt;b&gt;panic&lt;/b&gt; &amp; halt" in html
    assert "<b>panic" not in html


def test_published_figures_stand_beside_ours(html: str) -> None:
    table = html[html.index('aria-label="Published figures of stress"') :]
    rows = re.findall(r"<th scope=\"row\">cubic</th>.*?</tr>", table, re.DOTALL)
    assert len(rows) == 4
    goodput, sender, retransmits, zero_seconds = rows
    assert "<td>17.9</td>" in goodput  # our three made runs: 17.8, 19.4 and 21
    assert "<td>18.7</td>" in sender
    assert all('class="yes">yes' in row for row in (goodput, sender))
    assert "<td>144</td>" in retransmits  # in 40 s; ours lasted 5 s
    assert all('class="no">no' in row for row in (retransmits, zero_seconds))
    assert "not measured here" in table  # ndm_v1


def test_figures_are_valid_and_have_alternative_texts(page: CheckedPage) -> None:
    figures = [figure for text in page.json for figure in json.loads(text)]
    assert len(figures) + 2 == len(page.alternatives) >= 14  # the overview shows two of them again
    for figure in figures:
        text = re.sub(r'"(ink|soft|surface)"', '"#000000"', json.dumps(figure))
        drawn = json.loads(text)
        go.Figure(data=drawn["data"], layout=drawn["layout"])  # raises on an unknown property
        assert drawn["data"]
    assert all(re.search(r"\d", alternative) for alternative in page.alternatives)


def test_timelines_are_decimated_and_share_their_instants(page: CheckedPage) -> None:
    timelines = [figure for text in page.json for figure in json.loads(text) if "panels" in figure]
    assert len(timelines) == 2
    for figure in timelines:
        lengths = {len(trace["y"]) for trace in figure["data"]}
        assert lengths == {len(figure["x"])}
        assert max(lengths) <= 300


def test_ellipse_covers_the_mean_at_its_confidence() -> None:
    generator = np.random.default_rng(1)
    mixing = np.array([[3.0, 0.0], [2.0, 0.5]])
    inside = 0
    for _ in range(300):
        x, y = mixing @ generator.normal(size=(2, 10))  # their means are 0
        outline = confidence_ellipse(x, y)
        assert outline is not None
        inside += Polygon(np.column_stack(outline)).contains_point((0.0, 0.0))
    assert 0.91 <= inside / 300 <= 0.985


def test_two_seeds_or_equal_ones_have_no_ellipse() -> None:
    assert confidence_ellipse(np.array([1.0, 2.0]), np.array([1.0, 3.0])) is None
    assert confidence_ellipse(np.ones(5), np.ones(5)) is None


def test_a_report_is_the_same_every_time(store: Store) -> None:
    assert render_report(comparison(store)) == render_report(comparison(store))
    assert render_markdown(comparison(store)) == render_markdown(comparison(store))


def test_markdown_has_the_same_tables(store: Store) -> None:
    text = render_markdown(comparison(store))
    rows = [[entry.strip() for entry in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    assert ["Scheme", "Goodput, Mbit/s"] in [row[:2] for row in rows]
    stress = rows[rows.index(["Scenario", "Cubic", "NDM"]) + 2]
    assert re.fullmatch(r"(\*\*)?19\.4(\*\*)? \(17\.8 to 21\)", stress[1])
    widths = [len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line[:1] == "|"]
    assert all(width > 3 for width in widths)
    assert "Failed: NDM, seed 3: &lt;b>panic" in text
    assert "Missing: Cubic, seed 3" in text


def test_winning_rates_stand_beside_their_cost(store: Store, html: str) -> None:
    text = render_markdown(comparison(store))
    heads, _, *rows = text[text.index("| Scheme | Winning rate, %") :].splitlines()[:4]
    assert heads.endswith("| Retransmits per MB | Winning rate up to 100 per MB, % |")
    assert [row.split(" | ")[-2:] for row in rows] == [["2.7", "100 |"]] * 2
    assert html.count("<td>2.7</td><td>100</td></tr>") == 2


def test_every_page_shows_the_command_that_was_run(store: Store) -> None:
    command = "python compare.py 'scenario=[stress,bottleneck]' 'schemes=[cubic,ndm]'"
    shown = replace(comparison(store), environment={**ENVIRONMENT, "command": command})
    html, text = render_report(shown), render_markdown(shown)
    assert f"    {command}\n" in text
    commands = re.findall(r'<code class="command">(.*?)</code>', html)
    assert commands == [str(escape(command))] * 3  # both scenarios' pages, and Environment


def test_overview_of_few_scenarios_has_their_figures(html: str) -> None:
    overview = html[html.index('id="overview"') : html.index('id="scenario/stress"')]
    assert re.findall(r'data-of="([\w-]+)" data-index="(\d)"', overview) == [("figures-1", "0"), ("figures-2", "0")]


def test_policy_allows_the_scripts_of_the_page_and_nothing_remote(html: str) -> None:
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="(.*?)">', html)
    rules = {name: values for name, *values in (rule.split() for rule in unescape(policy).split("; "))}
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
    assert set(rules) == {"default-src", "base-uri", "form-action", "script-src", "style-src"}
    assert rules["style-src"] == ["'unsafe-inline'"]
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert rules["script-src"] == [f"'sha256-{digest}'" for digest in hashes]
    assert len(hashes) == 2
    assert html.index("Content-Security-Policy") < html.index("<style") < html.index("<script")


EVIL = "<img src=//h/x onerror=alert(1)> ![x](//h/y) [z](//h/z) `|` \\[a](//h)\n# heading"


def test_foreign_text_is_only_text_in_html_and_markdown(store: Store) -> None:
    shown = comparison(store)
    renamed = {}
    for scenario in shown.experiment.scenarios:
        renamed[scenario.name] = replace(scenario, name=f"{scenario.name} {EVIL}", claim=EVIL)
    cells = [
        replace(cell, scenario=renamed[cell.scenario.name], scheme=replace(cell.scheme, label=f"L {EVIL}"))
        for cell in shown.cells
    ]
    experiment = replace(shown.experiment, scenarios=tuple(renamed.values()))
    environment = {
        **ENVIRONMENT,
        "command": f"python compare.py\n{EVIL}",
        "kernel": [EVIL],
        "git_revision": EVIL,
        "modules": {f"ndm {EVIL}": {EVIL: EVIL}},
        "models": {f"ndm {EVIL}": {f"ndm {EVIL}": {"name": EVIL, "sha256": EVIL}}},
    }
    section = Section(EVIL, [Table(EVIL, EVIL, [EVIL, EVIL], [[Entry(EVIL), Entry(EVIL, bold=True)]])])
    evil = replace(shown, experiment=experiment, cells=cells, environment=environment, sections=[section])
    page = CheckedPage()
    page.feed(render_report(evil))
    assert not page.open
    assert not any("//h" in link for link in page.links if not link.startswith(("#scenario/", "runs/")))
    parsed = MarkdownIt("gfm-like", {"linkify": False}).parse(render_markdown(evil))
    tokens = [token for block in parsed for token in (block, *(block.children or ()))]
    assert {"html_block", "html_inline", "image", "link_open"} & {token.type for token in tokens} == set()
    texts = [token.content for token in tokens if token.type == "text"]
    assert sum("<img src=//h/x onerror=alert(1)>" in text for text in texts) >= 5
    assert [token.tag for token in tokens if token.type == "heading_open"].count("h1") == 1


def test_target_comes_first_with_every_scheme(store: Store) -> None:
    shown = comparison(store)
    shown = replace(shown, sections=[target_section(TargetTable(TARGETS["stress"], Evidence(shown.cells)))])
    html, text = render_report(shown), render_markdown(shown)
    assert html.index("Target stress: every scheme") < html.index('id="headline-1"')
    assert "Target stress: NDM" in html
    assert "Target stress: Cubic" not in html
    assert text.index("## stress: The published stress test, in 40 seeds") < text.index("## One flow")
    cubic = next(cell for cell in shown.cells if (cell.scenario.name, cell.scheme.name) == ("stress", "cubic"))
    threshold = f"{number(estimate_of(cubic, 'goodput').mean)} (cubic)"
    for page in (html, text):
        assert threshold in page
        assert "At best" in page
    assert "Target stress" not in render_report(replace(shown, sections=[]))


def test_terminal_writes_control_characters_out(capsys: pytest.CaptureFixture[str]) -> None:
    terminal().print("a: \x1b]0;x\x07 [bold]b[/bold]", highlight=False)
    assert capsys.readouterr().out == "a: \\x1b]0;x\\x07 b\n"
