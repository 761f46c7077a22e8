"""report.md: the tables of the report for those who read text."""

from __future__ import annotations

from collections.abc import Sequence

from compare.group_table import GroupRow
from compare.metrics import Metric
from compare.numbers import counted, interval, name_and_unit, number
from compare.report.content import (
    Comparison,
    Headline,
    ScenarioPage,
    ScenarioTable,
    Value,
    by_scenario,
    headlines,
    scenario_page,
    schemes_of,
    title_of,
)
from compare.statistics import CONFIDENCE, MIN_VALUES, Estimate
from compare.summary import Beside, Cell


def render_markdown(comparison: Comparison) -> str:
    """Return the text of report.md."""
    cells = comparison.cells
    failed = sum(len(cell.failed) for cell in cells)
    missing = sum(len(cell.missing) for cell in cells)
    done = sum(len(cell.seeds) for cell in cells)
    lines = [
        f"# {title_of(comparison)}",
        "",
        f"{counted(comparison.experiment.seeds, 'seed')}: {counted(done, 'finished run')}, **{failed} failed**, "
        f"**{missing} missing**. Mean over the seeds and, in brackets, the bootstrap {100 * CONFIDENCE:.0f} % interval "
        f"of the mean, which needs {MIN_VALUES} runs. Winners are bold.",
    ]
    for headline in headlines(cells):
        lines += ["", f"## {headline.title}", *_headline(headline, comparison)]
    if comparison.beside:
        lines += ["", "## Published against measured", "", *_beside(comparison.beside)]
    for name, part in by_scenario(cells).items():
        lines += ["", *_scenario(scenario_page(comparison, name, part, drawn=False))]
    lines += ["", "## Environment", "", *_environment(comparison)]
    return "\n".join(lines) + "\n"


def _headline(headline: Headline, comparison: Comparison) -> list[str]:
    labels = [scheme.label for scheme in schemes_of(comparison.cells)]
    lines = []
    for table in headline.tables:
        rows = [[name, *map(_value, values)] for name, values in table.rows]
        lines += [
            "",
            f"{name_and_unit(table.metric)}: {table.metric.meaning}.",
            "",
            *_table(["Scenario", *labels], rows),
        ]
    return lines


def _scenario(page: ScenarioPage) -> list[str]:
    lines = [f"## {page.name}", "", f"{page.scenario.claim}.", "", f"    python compare.py scenario={page.name}", ""]
    if not page.measured:
        lines.append("No run of this scenario is there.")
    elif page.group_rows:
        lines += _group_table(page.group_rows, page.group_columns, page.group_best)
    else:
        lines += _scheme_table(page.table)
    for cell in page.cells:
        for seed, error in cell.failed.items():
            lines += ["", f"Failed: {cell.scheme.label}, seed {seed}: {_plain(error)}"]
        if cell.missing:
            lines += ["", f"Missing: {cell.scheme.label}, seed {', '.join(map(str, cell.missing))}"]
    return lines


def _scheme_table(table: ScenarioTable) -> list[str]:
    heads = ["Scheme", *map(name_and_unit, table.metrics), "Runs"]
    return _table(heads, [[cell.scheme.label, *map(_value, values), _runs(cell)] for cell, values in table.rows])


def _group_table(rows: Sequence[GroupRow], columns: Sequence[Metric], best: set[tuple[str, str, str]]) -> list[str]:
    body = []
    for row in rows:
        values = [
            _value(Value(row.measured.get(metric.name), (row.cell.scheme.name, row.group.label, metric.name) in best))
            for metric in columns
        ]
        body.append([row.cell.scheme.label, row.group.title, *values, _runs(row.cell)])
        if row.published:
            figures = [row.figure(metric.name) for metric in columns]
            shown = ["" if figure is None else number(figure) for figure in figures]
            body.append(["*published*", row.published.experiment, *shown, ""])
    return _table(["Scheme", "Flows", *map(name_and_unit, columns), "Runs"], body, left=2)


def _beside(rows: Sequence[Beside]) -> list[str]:
    heads = ["Scenario", "Scheme", "Figure", "Run", "Published", "Measured mean", "Smallest to largest", "Inside"]
    body = []
    for row in rows:
        measured = ["not measured here", "", ""]
        if row.measured is not None:
            spread = f"{number(row.measured.minimum)} to {number(row.measured.maximum)} (n = {row.measured.n})"
            measured = [number(row.measured.mean), spread, "yes" if row.inside else "no"]
        unit = "" if row.unit == "count" else f", {row.unit}"
        body.append([row.scenario, row.scheme, f"{row.figure}{unit}", str(row.run), number(row.published), *measured])
    return _table(heads, body, left=3)


def _environment(comparison: Comparison) -> list[str]:
    environment = comparison.environment
    if not environment:
        return ["environment.json is not there yet: the comparison was interrupted before its end."]
    experiment = comparison.experiment
    lines = [
        f"    {environment['command']}",
        "",
        f"Lab kernel {', '.join(environment['kernel'])}; sources at {environment['git_revision']}; seeds 1 to "
        f"{experiment.seeds}, a sample every {experiment.sample_ms} ms. All else: environment.json.",
    ]
    for kind in ("models", "modules"):
        for name, content in environment.get(kind, {}).items():
            hashes = content.items() if isinstance(content, dict) else [("", content)]
            lines += ["", f"{name}: " + ", ".join(f"{key} `{value}`" for key, value in hashes)]
    return lines


def _runs(cell: Cell) -> str:
    failed = f", {len(cell.failed)} failed" if cell.failed else ""
    missing = f", {len(cell.missing)} missing" if cell.missing else ""
    return f"{len(cell.seeds)}{failed}{missing}"


def _value(value: Value) -> str:
    return "–" if value.found is None else _written(value.found, value.best)


def _written(found: Estimate, best: bool) -> str:
    mean = number(found.mean)
    return f"{f'**{mean}**' if best else mean} ({interval(found)})"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return a table, its first columns to the left and the others to the right."""
    rule = ["---" if index < left else "---:" for index in range(len(heads))]
    return [f"| {' | '.join(map(_plain, row))} |" for row in (heads, rule, *rows)]


def _plain(text: str) -> str:
    """Return a text on one line in which nothing is taken for a table's border or a tag."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
