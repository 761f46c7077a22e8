"""report.md: the tables of the report as text."""

from __future__ import annotations

from collections.abc import Sequence

from compare.metrics.cells import Cell, by_scenario, schemes_of
from compare.report.content import (
    Comparison,
    Headline,
    RateTable,
    ScenarioPage,
    ScenarioTable,
    Value,
    headlines,
    rate_tables,
    scenario_page,
    title_of,
)
from compare.statistics.estimates import CONFIDENCE, MIN_VALUES
from compare.statistics.numbers import counted, name_and_unit, number
from compare.statistics.winners import WINNERS_NOTE, Winners
from compare.statistics.winning_rates import COST_HEADS, COST_NOTE
from env.markdown import code, markdown_table, plain


def render_markdown(comparison: Comparison) -> str:
    """Return the text of report.md."""
    winners = Winners(comparison.comparisons)
    lines = [f"# {plain(title_of(comparison))}", "", _counts(comparison)]
    lines += _sections(comparison, first=True)
    lines += _front(comparison, winners)
    lines += _sections(comparison, first=False)
    for name, part in by_scenario(comparison.cells).items():
        page = scenario_page(comparison, name, part, winners)
        lines += ["", *_scenario(page)]
    lines += ["", "## Environment", "", *_environment(comparison)]
    return "\n".join(lines) + "\n"


def _sections(comparison: Comparison, first: bool) -> list[str]:
    sections = [one for one in comparison.sections if not one.scenario and one.first == first]
    return [line for section in sections for line in ("", section.markdown().rstrip())]


def _counts(comparison: Comparison) -> str:
    cells = comparison.cells
    failed = sum(len(cell.failed) for cell in cells)
    missing = sum(len(cell.missing) for cell in cells)
    done = sum(len(cell.seeds) for cell in cells)
    return (
        f"{counted(comparison.experiment.seeds, 'seed')}: {counted(done, 'finished run')}, **{failed} failed**, "
        f"**{missing} missing**. Mean over the seeds and, in brackets, the bootstrap {100 * CONFIDENCE:.0f} % interval "
        f"of the mean, which needs {MIN_VALUES} runs. {WINNERS_NOTE}"
    )


def _front(comparison: Comparison, winners: Winners) -> list[str]:
    lines = []
    for headline in headlines(comparison.cells, winners):
        lines += ["", f"## {headline.title}", *_headline(headline, comparison)]
    for rates in rate_tables(comparison.cells):
        lines += ["", f"## Winning rate, {rates.kind}", "", *_rates(rates)]
    return lines


def _headline(headline: Headline, comparison: Comparison) -> list[str]:
    labels = [scheme.label for scheme in schemes_of(comparison.cells)]
    lines = []
    for table in headline.tables:
        rows = [[name, *map(_value, values)] for name, values in table.rows]
        lines += [
            "",
            f"{name_and_unit(table.metric)}: {table.metric.meaning}.",
            "",
            _table(["Scenario", *labels], rows),
        ]
    return lines


def _scenario(page: ScenarioPage) -> list[str]:
    lines = [f"## {plain(page.name)}", "", f"{plain(page.scenario.claim)}.", ""]
    if not page.measured:
        lines.append("This scenario has no finished run.")
    elif page.group_lines:
        lines += [_group_table(page)]
        lines += ["", _scheme_table(page.sharing)] if page.sharing.metrics else []
    else:
        lines += [_scheme_table(page.table)]
    for cell in page.cells:
        lines += _failures(cell)
    return lines


def _failures(cell: Cell) -> list[str]:
    name, lines = plain(cell.scheme.label), []
    for seed, error in cell.failed.items():
        lines += ["", f"Failed: {name}, seed {seed}: {plain(error)}"]
    if cell.missing:
        lines += ["", f"Missing: {name}, seed {', '.join(map(str, cell.missing))}"]
    return lines


def _scheme_table(table: ScenarioTable) -> str:
    heads = ["Scheme", *map(name_and_unit, table.metrics), "Runs"]
    return _table(heads, [[cell.scheme.label, *map(_value, values), _runs(cell)] for cell, values in table.rows])


def _group_table(page: ScenarioPage) -> str:
    body = []
    for line in page.group_lines:
        body.append([line.cell.scheme.label, line.flows, *map(_value, line.values), _runs(line.cell)])
        if line.published:
            shown = ["" if figure is None else number(figure) for figure in line.published]
            body.append(["*published*", line.name, *shown, ""])
    return _table(["Scheme", "Flows", *map(name_and_unit, page.group_metrics), "Runs"], body, left=2)


def _rates(table: RateTable) -> list[str]:
    rows = []
    for scheme, rate in table.rows:
        lo_hi = rate.rate.interval
        shown = "–" if lo_hi is None else f"{number(100 * lo_hi[0])} to {number(100 * lo_hi[1])}"
        numbers = [str(len(rate.won)), str(len(rate.counted)), *rate.costs]
        rows.append([scheme.label, number(100 * rate.rate.mean), shown, *numbers])
    caption = f"A scheme wins a scenario when {table.won_if}. {COST_NOTE}"
    return [caption, "", _table(["Scheme", "Winning rate, %", "Interval, %", "Won", "Counted", *COST_HEADS], rows)]


def _environment(comparison: Comparison) -> list[str]:
    environment = comparison.environment
    if not environment:
        return ["There is no environment.json: the comparison was interrupted before its end."]
    experiment = comparison.experiment
    lines = [
        code(environment["command"]),
        "",
        plain(
            f"Lab kernel {', '.join(environment['kernel'])}; sources at {environment['git_revision']}; seeds 1 to "
            f"{experiment.seeds}, a sample every {experiment.sample_ms} ms. Everything else: environment.json."
        ),
    ]
    for name, modules in environment.get("modules", {}).items():
        for module, digest in modules.items():
            model = environment.get("models", {}).get(name, {}).get(name)
            weights = f", weights of the model `{plain(model['sha256'])}`" if model else ""
            lines += ["", f"{plain(name)}: {plain(module)} `{plain(digest)}`{weights}"]
    return lines


def _runs(cell: Cell) -> str:
    failed = f", {len(cell.failed)} failed" if cell.failed else ""
    missing = f", {len(cell.missing)} missing" if cell.missing else ""
    return f"{len(cell.seeds)}{failed}{missing}"


def _value(value: Value) -> str:
    if value.estimate is None:
        return "–"
    return f"{f'**{value.mean}**' if value.wins else value.mean} ({value.interval})"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a table with escaped cells. left: the number of columns aligned to the left."""
    return markdown_table([*map(plain, heads)], [[*map(plain, row)] for row in rows], left)
