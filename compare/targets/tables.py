"""What became of the targets, as tables: for Markdown, HTML and CSV alike."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.statistics.numbers import counted
from compare.targets.catalogue import Target
from compare.targets.evidence import Evidence, is_model
from compare.targets.requirement import Judgement, all_met, worst
from env.network.schemes import Scheme

COLUMNS = (
    "target", "requirement", "scenario", "scheme", "unit", "figure", "lo", "hi", "n", "failed",
    "at_least", "at_most", "from", "met", "margin",
)  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """A requirement and a scheme: met in all scenarios, missed in one, or (None) not measured.

    text: the scenario that decides it, with figure, threshold and verdict.
    """

    met: bool | None
    text: str


class TargetTable:
    """A target, judged for every scheme that competes."""

    def __init__(self, target: Target, evidence: Evidence) -> None:
        self.target = target
        self.schemes: list[Scheme] = evidence.schemes
        self._judged = {
            (requirement.name, scheme.name): requirement.judge(evidence, scheme.name)
            for requirement in target.requirements
            for scheme in self.schemes
        }

    @property
    def heads(self) -> list[str]:
        """The requirements, with their units."""
        return [f"{one.text}{f', {one.unit}' if one.unit else ''}" for one in self.target.requirements]

    def judgements(self, scheme: str) -> list[Judgement]:
        """Return the judgements of a scheme, by requirement and scenario."""
        return [one for requirement in self.target.requirements for one in self._judged[requirement.name, scheme]]

    def rows(self) -> list[tuple[Scheme, list[Verdict]]]:
        """Return a row per scheme, a verdict per requirement."""
        return [
            (
                scheme,
                [_verdict(self._judged[requirement.name, scheme.name]) for requirement in self.target.requirements],
            )
            for scheme in self.schemes
        ]

    def met(self, scheme: str) -> dict[str, bool | None]:
        """Return requirement to whether a scheme meets it."""
        return {one.name: all_met(self._judged[one.name, scheme]) for one in self.target.requirements}

    def detailed(self) -> list[Scheme]:
        """Return the schemes whose figures are shown for each scenario: models, or the first scheme without one."""
        return [scheme for scheme in self.schemes if is_model(scheme)] or self.schemes[:1]


def _verdict(judgements: Sequence[Judgement]) -> Verdict:
    met, decides = all_met(judgements), worst(judgements)
    text = f"{decides.shown} {decides.bound or ''}".strip() + f": {decides.verdict}"
    if len(judgements) > 1:
        kept = sum(one.met is True for one in judgements)
        text = f"{kept} of {len(judgements)}; {decides.scenario}: {text}"
    return Verdict(met, text)


def markdown(table: TargetTable, level: int = 2) -> str:
    """Return a target's tables: every scheme at its worst scenario, and models in every scenario."""
    lines = [f"{'#' * level} {table.target.name}: {table.target.title}", ""]
    lines += _lines(
        ["Scheme", *table.heads],
        [[scheme.label, *(_marked(one) for one in verdicts)] for scheme, verdicts in table.rows()],
    )
    for scheme in table.detailed():
        judged = table.judgements(scheme.name)
        texts = {one.name: one.text for one in table.target.requirements}
        lines += ["", f"{scheme.label} in every scenario:", ""]
        lines += _lines(
            ["Requirement", "Scenario", "Figure", "Threshold", "Verdict"],
            [[texts[o.requirement], o.scenario, _figure(o), str(o.bound or "–"), o.verdict] for o in judged],
        )
    return "\n".join(lines) + "\n"


def _figure(judgement: Judgement) -> str:
    return f"{judgement.shown}{f', {judgement.unit}' if judgement.unit and judgement.figure else ''}"


def _marked(verdict: Verdict) -> str:
    return f"**{verdict.text}**" if verdict.met else verdict.text


def _lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)]


def csv_text(tables: Sequence[TargetTable]) -> str:
    """Return the text of targets.csv: a row per requirement, scenario and scheme."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for table in tables:
        for scheme in table.schemes:
            for one in table.judgements(scheme.name):
                figure, bound = one.figure, one.bound
                numbers = [None] * 3 if figure is None else [figure.mean, figure.lo, figure.hi]
                ends = [None, None] if bound is None else [bound.low, bound.high]
                writer.writerow(
                    [
                        table.target.name, one.requirement, one.scenario, one.scheme, one.unit,
                        *map(_number, numbers), 0 if figure is None else figure.n, one.failed,
                        *map(_number, ends), "" if bound is None else bound.said,
                        {True: "yes", False: "no", None: ""}[one.met], _number(one.margin),
                    ]
                )  # fmt: skip
    return text.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None or value != value else f"{value:.6g}"


def last_lines(tables: Sequence[TargetTable], schemes: Sequence[str]) -> list[str]:
    """Return a line per scheme: how many requirements it meets, and which ones; what was not measured counts as no."""
    lines = []
    for scheme in schemes:
        met: Mapping[str, bool | None] = {
            f"{table.target.name}.{name}": found
            for table in tables
            if scheme in (one.name for one in table.schemes)
            for name, found in table.met(scheme).items()
        }
        kept = [name for name, found in met.items() if found]
        unmeasured = [name for name, found in met.items() if found is None]
        text = f"targets met by {scheme}: {len(kept)} of {len(met)}: {', '.join(kept) or 'none'}"
        if unmeasured:
            text += f" ({counted(len(unmeasured), 'requirement')} not measured: {', '.join(unmeasured)})"
        lines.append(text)
    return lines
