"""The tables of a target, in Markdown."""

from __future__ import annotations

from compare.statistics.numbers import interval, number
from compare.statistics.verdict import Verdict
from compare.targets.recipes import RecipeJudgement
from compare.targets.requirement import Judgement
from compare.targets.tables import Decision, TargetTable
from env.markdown import markdown_table

_WORDS = {
    Verdict.MET: "met",
    Verdict.OPEN: "open",
    Verdict.MISSED: "missed",
    Verdict.NOT_MEASURED: "not measured",
}


def target_markdown(table: TargetTable, level: int = 2) -> str:
    """Return a target's tables: every scheme at its worst scenario, and models in every scenario."""
    rows = [[scheme.label, *map(_decision, decisions)] for scheme, decisions in table.rows()]
    lines = [f"{'#' * level} {table.target.name}: {table.target.title}", ""]
    lines += [markdown_table(["Scheme", *table.heads], rows)]
    texts = {requirement.name: requirement.text for requirement in table.target.requirements}
    for scheme in table.detailed():
        rows = [
            [texts[one.requirement], one.scenario, _figure(one), str(one.bound or "–"), one.at_best, one.statement]
            for one in table.judgements(scheme.name)
        ]
        lines += ["", f"{scheme.label} in every scenario:", ""]
        lines += [markdown_table(["Requirement", "Scenario", "Figure", "Threshold", "At best", "Verdict"], rows)]
    for name, judgements in table.recipes.items():
        rows = [[texts[one.requirement], one.scenario, *_recipe(one)] for one in judgements]
        lines += ["", f"The recipe `{name}`, over its training seeds:", ""]
        heads = ["Requirement", "Scenario", "Median (all)", "Threshold", "Margin, %", "Verdict"]
        lines += [markdown_table(heads, rows)]
    return "\n".join(lines) + "\n"


def score_markdown(table: TargetTable) -> str:
    """Return the joint scores of a target that has them, the highest first, and what each requirement adds."""
    rows = [
        [scheme.label, f"{score.mean:.3f} ({interval(score)})", *(f"{one:.2f}" for one in table.margins(scheme.name))]
        for scheme, score in table.scores()
    ]
    names = [f"`{requirement.name}`" for requirement in table.target.requirements]
    return markdown_table(["Scheme", "Joint score", *names], rows, left=1) + "\n"


def _figure(judgement: Judgement) -> str:
    return f"{judgement.shown}{f', {judgement.unit}' if judgement.unit and judgement.figure else ''}"


def _recipe(judgement: RecipeJudgement) -> list[str]:
    figures = ", ".join(map(number, sorted(judgement.figures)))
    margin = judgement.margin
    shown = "–" if margin is None else f"{100 * margin.mean:.1f}"
    if margin is not None and margin.interval is not None:
        shown += " ({:.1f} to {:.1f})".format(*(100 * end for end in margin.interval))
    unit = f", {judgement.unit}" if judgement.unit else ""
    return [
        f"{number(judgement.median)} ({figures}){unit}",
        str(judgement.bound or "–"),
        shown,
        _WORDS[judgement.verdict],
    ]


def _decision(decision: Decision) -> str:
    return f"**{decision.text}**" if decision.verdict is Verdict.MET else decision.text
