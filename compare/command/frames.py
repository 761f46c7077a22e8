"""A comparison for programs and notebooks: its runs as data frames, its figures as plotly's.

from compare import compare

result = compare("bottleneck", ["ndm", "cubic"], seeds=3)
result.summary
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from omegaconf import OmegaConf
from rich.console import Console

from compare.command.comparison import complete
from compare.experiment.config import CompareConfig, read_config
from compare.metrics.cells import Cell, by_scenario
from compare.metrics.series import flow_series
from compare.report import Comparison
from compare.report.content import scenario_page
from compare.report.figures import scenario_figures
from compare.report.plots.figure import INK, SOFT, SURFACE
from compare.statistics.winners import Winners
from env.config_errors import explained
from env.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plotly.graph_objects import Figure

COLOURS = {INK: "#222222", SOFT: "#888888", SURFACE: "#ffffff"}
OTHER_COMMANDS = ("targets", "report")  # of compare.py


@dataclass(frozen=True)
class ComparedRuns:
    """The runs of a comparison, which are also in a folder with the report.

    summary: a row per scenario, scheme and metric: unit, mean, its 95 % interval lo to hi, number of runs n. runs: a
    row per run and metric, with the seed and the value. comparisons: a row per pair of schemes (compare.py's
    comparisons.csv). failed: a row per run that failed, with its error.
    """

    folder: Path
    summary: pd.DataFrame
    runs: pd.DataFrame
    comparisons: pd.DataFrame
    failed: pd.DataFrame
    content: Comparison

    def series(self, scheme: str, scenario: str | None = None, seed: int = 1, flow: int = 0) -> pd.DataFrame:
        """Return a flow's time series (compare/metrics/series.py), a row per sample. scheme: its name, or its label
        in tables. scenario: None for the only one.

        Raises UserError for a run or a flow that there is not.
        """
        cell = self._cell(scheme, scenario)
        if seed not in cell.seeds:
            raise UserError(f"seed is {seed}; {cell.scenario.name}, {scheme} has results of {cell.seeds}")
        flows = cell.result(seed).flows
        if not 0 <= flow < len(flows):
            raise UserError(f"{cell.scenario.name} has flows 0 to {len(flows) - 1}, not {flow}")
        return pd.DataFrame(flow_series(flows[flow]))

    def figures(self, scenario: str | None = None) -> list[Figure]:
        """Return the figures of a scenario's page in the report, to be shown in a notebook."""
        import plotly.graph_objects as go  # takes a second

        name = self._scenario(scenario)
        winners = Winners(self.content.comparisons)
        page = scenario_page(self.content, name, by_scenario(self.content.cells)[name], winners)
        figures = []
        for figure in scenario_figures(page).in_order():
            drawn = go.Figure(_coloured(figure.spec))
            drawn.update_layout(title=figure.title)
            figures.append(drawn)
        return figures

    def plot(self, scenario: str | None = None) -> Figure:
        """Return the first figure of a scenario: goodput against delay where the scenario has one flow."""
        return self.figures(scenario)[0]

    def _repr_html_(self) -> str:
        return str(self.summary.to_html(max_rows=40))

    def _scenario(self, name: str | None) -> str:
        names = list(by_scenario(self.content.cells))
        if name is None and len(names) == 1:
            return names[0]
        if name not in names:
            raise UserError(f"scenario is {name!r}; the comparison has {', '.join(names)}")
        return name

    def _cell(self, scheme: str, scenario: str | None) -> Cell:
        cells = by_scenario(self.content.cells)[self._scenario(scenario)]
        for cell in cells:
            if scheme in (cell.scheme.name, cell.scheme.label):
                return cell
        raise UserError(f"scheme is {scheme!r}; the comparison has {', '.join(cell.scheme.name for cell in cells)}")


def compare(
    scenario: str | Sequence[str] = "bottleneck", schemes: str | Sequence[str] | None = None, **options: Any
) -> ComparedRuns:
    """Compare schemes in scenarios, as compare.py does. options: those of compare.py, such as seeds=3.

    path={"rate_mbps": 50} changes the scenarios as path.rate_mbps=50 does there; a list of values is a sweep. A run
    that is stored in output_dir is not made again. Raises UserError for wrong options before the first run.
    """
    if other := [name for name in OTHER_COMMANDS if name in options]:
        raise UserError(f"{other[0]} is for the command compare.py; compare() makes runs of scenarios")
    if dotted := [name for name in options if "." in name]:
        network, _, field = dotted[0].partition(".")
        raise UserError(f'{dotted[0]} is unknown; from Python it is {network}={{"{field}": {options[dotted[0]]!r}}}')
    given = {"scenario": _listed(scenario), "schemes": None if schemes is None else _listed(schemes)} | options
    composed = OmegaConf.structured(CompareConfig)
    with explained():
        composed.merge_with(given)
    completed, content = complete(read_config(composed), Console(quiet=True))
    frames = {
        name: pd.read_csv(io.StringIO((completed.store.folder / f"{name}.csv").read_text()))
        for name in ("summary", "comparisons")
    }
    cells = completed.cells
    return ComparedRuns(
        completed.store.folder, frames["summary"], _runs(cells), frames["comparisons"], _failed(cells), content
    )


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _runs(cells: Sequence[Cell]) -> pd.DataFrame:
    rows = [
        (cell.scenario.name, cell.scheme.name, seed, metric.name, metric.unit, value)
        for cell in cells
        for metric in cell.metrics
        for seed, value in zip(cell.seeds, cell.values[metric.name], strict=True)
    ]
    return pd.DataFrame(rows, columns=["scenario", "scheme", "seed", "metric", "unit", "value"])


def _failed(cells: Sequence[Cell]) -> pd.DataFrame:
    rows = [
        (cell.scenario.name, cell.scheme.name, seed, error) for cell in cells for seed, error in cell.failed.items()
    ]
    return pd.DataFrame(rows, columns=["scenario", "scheme", "seed", "error"])


def _coloured(spec: Any) -> Any:
    """Return a figure's data with colours in place of the page's."""
    if isinstance(spec, dict):
        return {key: _coloured(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return [_coloured(value) for value in spec]
    return COLOURS.get(spec, spec) if isinstance(spec, str) else spec
