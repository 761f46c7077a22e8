"""The tables of a target, in Markdown."""

from __future__ import annotations

from compare.statistics.numbers import interval, number
from compare.statistics.verdict import Verdict
from compare.targets.requirement import Judgement
from compare.targets.tables import Decision, TargetTable
from env.markdown import markdown_table


def target_markdown(table: TargetTable, level: int = 2) -> str:
    """Return a target's tables: every scheme at its worst scenario, and models in every scenario."""
    rows = [[scheme.label, *map(_decision, decisions)] for scheme, decisions in table.rows()]
    lines = [f"{'#' * level} {table.target.name}: {table.target.title}", ""]
    lines += [markdown_table(["Scheme", *table.heads], rows)]
    texts = {requirement.name: requirement.text for requirement in table.target.requirements}
    for scheme in table.detailed():
        rows = [
            [texts[one.requirement], one.scenario, _figure(one), str(one.bound or "–"), _reach(one), one.statement]
            for one in table.judgements(scheme.name)
        ]
        lines += ["", f"{scheme.label} in every scenario:", ""]
        lines += [markdown_table(["Requirement", "Scenario", "Figure", "Threshold", "At best", "Verdict"], rows)]
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


def _reach(judgement: Judgement) -> str:
    return "–" if judgement.reach is None else number(judgement.reach)


def _decision(decision: Decision) -> str:
    return f"**{decision.text}**" if decision.verdict is Verdict.MET else decision.text
