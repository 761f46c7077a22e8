"""report.html: a single file that works offline."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from compare.experiment.experiment import Run
from compare.metrics.cells import Cell, by_scenario, schemes_of
from compare.report.content import (
    FEW_SCENARIOS,
    Comparison,
    ScenarioPage,
    headlines,
    rate_tables,
    scenario_page,
    title_of,
)
from compare.report.figures import ScenarioFigures, scenario_figures
from compare.report.plots.figure import Figure
from compare.report.plots.markers import glyph
from compare.report.sweeps import sweep_figures
from compare.statistics.estimates import CONFIDENCE, MIN_VALUES, RESAMPLES
from compare.statistics.numbers import DIMENSIONLESS, counted, name_and_unit, number
from compare.statistics.winners import WINNERS_NOTE, Winners
from compare.statistics.winning_rates import COST_HEADS, COST_NOTE
from env.network.scenario import Scenario

FOLDER = Path(__file__).resolve().parent
# Content security policy: nothing from elsewhere; plotly writes styles into the page
POLICY = ("default-src 'none'", "style-src 'unsafe-inline'", "base-uri 'none'", "form-action 'none'")


@dataclass(frozen=True)
class Page:
    """A scenario's page for the template. figures_id: of the element with the data of its figures."""

    content: ScenarioPage
    figures: ScenarioFigures
    before: str
    after: str
    figures_id: str
    network_rows: list[dict[str, Any]]
    network_caption: str
    tc: list[str]
    flow_rows: list[dict[str, Any]]
    oracle_packets: int
    figures_json: Markup

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self.content.name

    @property
    def scenario(self) -> Scenario:
        """The scenario."""
        return self.content.scenario


def render_report(comparison: Comparison) -> str:
    """Return the text of report.html."""
    jinja = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters |= {
        "number": number,
        "name_and_unit": name_and_unit,
        "counted": counted,
        "glyph": glyph,
    }
    jinja.globals["dimensionless"] = DIMENSIONLESS
    cells = comparison.cells
    winners = Winners(comparison.comparisons)
    pages = list(_pages(comparison, winners))
    sweeps = sweep_figures(comparison.experiment.sweep, cells)
    scripts = [get_plotlyjs(), (FOLDER / "report.js").read_text()]
    folders: dict[str, list[str]] = {}
    for page in pages:
        folders.setdefault(page.name.rpartition("/")[0], []).append(page.name)

    def run_name(cell: Cell, seed: int) -> str:
        return comparison.run_name(Run(cell.scenario, cell.scheme, seed)) + "/"

    return jinja.get_template("report.html.j2").render(
        title=title_of(comparison),
        experiment=comparison.experiment,
        schemes=schemes_of(cells),
        pages=pages,
        folders=folders,
        claims={page.name: page.scenario.claim for page in pages},
        sections=[section for section in comparison.sections if not section.scenario],
        headlines=headlines(cells, winners),
        sweeps=sweeps,
        sweeps_json=_json([figure for sweep in sweeps for figure in sweep.figures]),
        rates=rate_tables(cells),
        cost_heads=COST_HEADS,
        cost_note=COST_NOTE,
        few_scenarios=FEW_SCENARIOS,
        published_rows=sum(bool(line.published) for page in pages for line in page.content.group_lines),
        winners_note=WINNERS_NOTE,
        confidence=round(100 * CONFIDENCE),
        resamples=f"{RESAMPLES:,}",
        min_values=MIN_VALUES,
        failed=[(cell, seed, error) for cell in cells for seed, error in sorted(cell.failed.items())],
        incomplete=[cell for cell in cells if cell.missing],
        missing=sum(len(cell.missing) for cell in cells),
        done=sum(len(cell.seeds) for cell in cells),
        run_name=run_name,
        environment=comparison.environment,
        modules=_modules(comparison.environment),
        models=_models(comparison.environment),
        environment_json=json.dumps(comparison.environment, indent=1),
        css=Markup((FOLDER / "report.css").read_text()),
        policy="; ".join((*POLICY, f"script-src {' '.join(map(_source, scripts))}")),
        scripts=map(Markup, scripts),
    )


def _source(script: str) -> str:
    """Return the source expression that allows this inline script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _pages(comparison: Comparison, winners: Winners) -> Iterator[Page]:
    parts = by_scenario(comparison.cells)
    names = list(parts)
    for index, (name, cells) in enumerate(parts.items()):
        content = scenario_page(comparison, name, cells, winners)
        figures = scenario_figures(content)
        network = dict(getattr(content.scenario, content.scenario.kind))
        tc = list(network.pop("tc", []))
        kind = content.scenario.kind.capitalize()
        yield Page(
            content=content,
            figures=figures,
            before=names[index - 1] if index else "",
            after=names[index + 1] if index + 1 < len(names) else "",
            figures_id=f"figures-{index + 1}",
            network_rows=[{"duration_s": f"{content.scenario.duration_s:g}"} | _plain(network)],
            network_caption=f"{kind}; all other parameters have their defaults (docs/reference/file-formats.md)",
            tc=tc,
            flow_rows=_flow_rows(content.scenario),
            oracle_packets=int(comparison.environment.get("oracle_packets", {}).get(name, 0)),
            figures_json=_json(figures.in_order()),
        )


def _modules(environment: dict[str, Any]) -> list[dict[str, str]]:
    """Return a row per scheme and module."""
    parameters = environment.get("parameters", {})
    return [
        {
            "scheme": scheme,
            "module": module,
            "SHA-256": digest,
            "parameters": _listed(parameters.get(scheme, {}).get(module, {})),
        }
        for scheme, modules in environment.get("modules", {}).items()
        for module, digest in modules.items()
    ]


def _models(environment: dict[str, Any]) -> list[dict[str, str]]:
    """Return a row per model of NDM."""
    all_facts = {name: facts for models in environment.get("models", {}).values() for name, facts in models.items()}
    return [{"scheme": name, **facts} for name, facts in all_facts.items()]


def _json(figures: list[Figure]) -> Markup:
    """Return the figures as JSON, escaped for a script element."""
    text = json.dumps([figure.spec for figure in figures], separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace("&", "\\u0026"))


def _plain(network: dict[str, Any]) -> dict[str, str]:
    return {key: f"{value:g}" if isinstance(value, float) else _listed(value) for key, value in network.items()}


def _listed(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "; ".join(map(_listed, value))
    return ", ".join(f"{key} {part}" for key, part in value.items()) if isinstance(value, dict) else str(value)


def _flow_rows(scenario: Scenario) -> list[dict[str, Any]]:
    """Return the scenario's flows as rows; none for a single bulk flow."""
    rows = [asdict(flow) for flow in scenario.flows]
    if len(rows) == 1 and rows[0]["kind"] == "bulk" and rows[0]["count"] == 1:
        return []
    keys = [key for key in rows[0] if key == "scheme" or any(row[key] != rows[0][key] or row[key] for row in rows)]
    return [{key: f"{row[key]:g}" if isinstance(row[key], float) else row[key] for key in keys} for row in rows]
