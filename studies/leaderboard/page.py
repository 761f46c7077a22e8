"""The tables of docs/results/leaderboard.md, from the stored scores and from what others have published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import yaml

from compare.statistics.numbers import number
from compare.targets.catalogue import TARGETS
from env.checkout import DATASETS
from env.markdown import markdown_table
from studies.leaderboard.judging import RANKED
from studies.leaderboard.stored_scores import Figure, Score

PUBLISHED = DATASETS / "published" / "learned.yaml"


@dataclass(frozen=True)
class Row:
    """A scheme over all targets. total: the mean of its scores, over the targets that all schemes of the board have."""

    scheme: str
    label: str
    scores: Mapping[str, Score]

    def total(self, targets: Sequence[str]) -> float:
        """Return the mean score over targets."""
        return fmean(self.scores[target].score for target in targets)

    @property
    def met(self) -> int:
        """Number of requirements met in all targets."""
        return sum(score.met for score in self.scores.values())


def place(score: Score, others: Sequence[Score]) -> int:
    """Return a scheme's place on a target: one more than the schemes whose interval lies above its own."""
    high = score.score if score.hi is None else score.hi
    return 1 + sum((other.score if other.lo is None else other.lo) > high for other in others)


def board(scores: Sequence[Score], figures: Sequence[Figure]) -> str:
    """Return the overview and the table of each target."""
    measured = [target for target in RANKED if any(score.target == target for score in scores)]
    by_scheme: dict[str, dict[str, Score]] = {}
    for score in scores:
        by_scheme.setdefault(score.scheme, {})[score.target] = score
    rows = [Row(name, next(iter(of_one.values())).label, of_one) for name, of_one in by_scheme.items()]
    complete = [row for row in rows if all(target in row.scores for target in measured)]
    complete.sort(key=lambda row: -row.total(measured))
    partial = [row for row in rows if row not in complete]
    lines = [_overview(complete, partial, measured, scores), ""]
    for target in measured:
        lines += [f"### {target}: {TARGETS[target].title}", "", _target(target, scores, figures), ""]
    missing = [target for target in RANKED if target not in measured]
    if missing:
        names = ", ".join(f"`{target}`" for target in missing)
        lines += [f"Not measured for the leaderboard: {names}; [targets.md](targets.md) has ten schemes there.", ""]
    lines += _origin(scores)
    return "\n".join(lines) + "\n"


def _overview(complete: Sequence[Row], partial: Sequence[Row], measured: Sequence[str], scores: Sequence[Score]) -> str:
    cells = []
    for position, row in enumerate([*complete, *partial], 1):
        whole = row in complete
        total = f"{row.total(measured):.3f}" if whole else "–"
        asked = sum(score.requirements for score in row.scores.values())
        cells.append([str(position) if whole else "–", row.label, total, f"{row.met} of {asked}"])
        for target in measured:
            own = row.scores.get(target)
            others = [score for score in scores if score.target == target]
            cells[-1].append("–" if own is None else str(place(own, others)))
    heads = ["", "scheme", "mean score", "requirements met", *(f"`{target}`" for target in measured)]
    return markdown_table(heads, cells, left=2)


def _target(target: str, scores: Sequence[Score], figures: Sequence[Figure]) -> str:
    ranked = sorted((score for score in scores if score.target == target), key=lambda score: -score.score)
    names = [requirement.name for requirement in TARGETS[target].requirements]
    cells = []
    for score in ranked:
        own = [figure for figure in figures if figure.target == target and figure.scheme == score.scheme]
        met = [_met([figure for figure in own if figure.requirement == name]) for name in names]
        failed = f"; {score.failed} failed" if score.failed else ""
        text = score.text() + failed
        cells.append([str(place(score, ranked)), score.label, text, *met])
    return markdown_table(["place", "scheme", "score", *(f"`{name}`" for name in names)], cells, left=2)


def _met(figures: Sequence[Figure]) -> str:
    """Return in how many scenarios a requirement is met; the figure itself where there is one scenario."""
    met = sum(figure.verdict == "yes" for figure in figures)
    if len(figures) == 1 and (figure := figures[0]).mean is not None:
        unit = f" {figure.unit}" if figure.unit else ""
        ends = "" if figure.lo is None or figure.hi is None else f" ({number(figure.lo)} to {number(figure.hi)})"
        text = f"{number(figure.mean)}{ends}{unit}"
        return f"**{text}**" if met else text
    return f"**{met} of {len(figures)}**" if figures and met == len(figures) else f"{met} of {len(figures)}"


def _origin(scores: Sequence[Score]) -> list[str]:
    """Return a sentence on where the rows come from."""
    seeds = sorted({score.seeds for score in scores})
    revisions = sorted({score.revision[:7] for score in scores})
    kernels = sorted({score.kernel for score in scores})
    dates = sorted({score.date for score in scores})
    return [
        f"Seeds of a target: {', '.join(map(str, seeds))}. Lab kernels: {', '.join(kernels)}. "
        f"Revisions: {', '.join(revisions)}. Dates: {', '.join(dates)}.",
    ]


def published(file: Path = PUBLISHED) -> str:
    """Return the table of the figures that others have published, marked as theirs."""
    rows = [
        [
            f"{entry['paper']} (theirs)",
            str(entry["scheme"]),
            str(entry["figure"]),
            str(entry["value"]),
            str(entry["paths"]),
            str(entry["differs"]),
            f"[{entry['citation']}]({entry['url']})",
        ]
        for entry in yaml.safe_load(file.read_text())
    ]
    return markdown_table(["paper", "scheme", "figure", "value", "on", "what differs from ours", "source"], rows) + "\n"
