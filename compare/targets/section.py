"""The section about a judged target in a report, and in targets.md."""

from __future__ import annotations

from compare.report.given import Entry, Section, Table
from compare.statistics.numbers import number
from compare.statistics.verdict import Verdict
from compare.targets.recipes import RecipeJudgement
from compare.targets.requirement import Judgement
from compare.targets.tables import TargetTable

_WORDS = {
    Verdict.MET: "met",
    Verdict.OPEN: "open",
    Verdict.MISSED: "missed",
    Verdict.NOT_MEASURED: "not measured",
}
_DETAILS = ("Requirement", "Scenario", "Figure", "Threshold", "At best", "Verdict")
_RECIPE = ("Requirement", "Scenario", "Median (all)", "Threshold", "Margin, %", "Verdict")


def target_section(table: TargetTable) -> Section:
    """Return a target's tables: every scheme at its worst scenario, and models in every scenario."""
    name, texts = table.target.name, {one.name: one.text for one in table.target.requirements}
    rows = [
        [Entry(scheme.label, scheme=scheme)]
        + [Entry(one.text, one.verdict.value, bold=one.verdict is Verdict.MET) for one in decisions]
        for scheme, decisions in table.rows()
    ]
    caption = "The deciding scenario, with figure, threshold and verdict"
    tables = [Table(f"Target {name}: every scheme", caption, ["Scheme", *table.heads], rows)]
    for scheme in table.detailed():
        rows = [_detail(one, texts[one.requirement]) for one in table.judgements(scheme.name)]
        tables.append(Table(f"Target {name}: {scheme.label}", f"{scheme.label} in every scenario", _DETAILS, rows))
    for recipe, judgements in table.recipes.items():
        rows = [_recipe(one, texts[one.requirement]) for one in judgements]
        caption = f"The recipe {recipe}, over its training seeds"
        tables.append(Table(f"Target {name}: recipe {recipe}", caption, _RECIPE, rows))
    return Section(f"{name}: {table.target.title}", tables, first=True)


def _detail(judgement: Judgement, requirement: str) -> list[Entry]:
    unit = f", {judgement.unit}" if judgement.unit and judgement.figure else ""
    texts = (
        requirement,
        judgement.scenario,
        f"{judgement.shown}{unit}",
        str(judgement.bound or "–"),
        judgement.at_best,
    )
    return [*map(Entry, texts), Entry(judgement.statement, judgement.verdict.value)]


def _recipe(judgement: RecipeJudgement, requirement: str) -> list[Entry]:
    figures = ", ".join(map(number, sorted(judgement.figures)))
    margin = judgement.margin
    shown = "–" if margin is None else f"{100 * margin.mean:.1f}"
    if margin is not None and margin.interval is not None:
        shown += " ({:.1f} to {:.1f})".format(*(100 * end for end in margin.interval))
    unit = f", {judgement.unit}" if judgement.unit else ""
    median = f"{number(judgement.median)} ({figures}){unit}"
    texts = (requirement, judgement.scenario, median, str(judgement.bound or "–"), shown)
    return [*map(Entry, texts), Entry(_WORDS[judgement.verdict], judgement.verdict.value)]
