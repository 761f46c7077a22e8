"""The stored scores of schemes on the targets: the files of datasets/leaderboard.

scores.csv has a row per target and scheme, figures.csv one per target, requirement, scenario and scheme.
`python -m studies.leaderboard` writes them; the leaderboard and the cards of the models read them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from compare.statistics.numbers import number
from env.checkout import DATASETS
from env.files import write_atomically

FOLDER = DATASETS / "leaderboard"
SCORES, FIGURES = "scores.csv", "figures.csv"


@dataclass(frozen=True)
class Score:
    """The joint score of one scheme on one target, over the seeds: mean, deviation, and 95 % interval if there is one.

    scheme: its name, without the path of a user's own. model_sha256: of NDM's weights, else empty. met: of the
    requirements. seeds: of the comparison. kernel: the lab's release. revision: of the sources. date: of the runs.
    """

    target: str
    scheme: str
    label: str
    model_sha256: str
    score: float
    sd: float | None
    lo: float | None
    hi: float | None
    met: int
    requirements: int
    seeds: int
    failed: int
    kernel: str
    revision: str
    date: str

    def text(self) -> str:
        """Return the score with its interval, for a table."""
        ends = "" if self.lo is None or self.hi is None else f" ({self.lo:.3f} to {self.hi:.3f})"
        return f"{self.score:.3f}{ends}"


@dataclass(frozen=True)
class Figure:
    """The figure of one requirement in one scenario, over n seeds.

    threshold: as text, with the scheme that sets it. margin: the distance to it as a share of it, negative beyond it.
    Both are empty in rows from before these columns, where another comparison had set the threshold. verdict: yes,
    open, no, or nothing.
    """

    target: str
    requirement: str
    scenario: str
    scheme: str
    unit: str
    mean: float | None
    sd: float | None
    lo: float | None
    hi: float | None
    n: int
    threshold: str
    margin: float | None
    verdict: str

    @property
    def shown(self) -> str:
        """The mean with its interval and unit, for a table."""
        if self.mean is None:
            return "–"
        ends = "" if self.lo is None or self.hi is None else f" ({number(self.lo)} to {number(self.hi)})"
        return f"{number(self.mean)}{ends}{f' {self.unit}' if self.unit else ''}"


Row = TypeVar("Row", Score, Figure)


def read_scores(folder: Path = FOLDER) -> list[Score]:
    """Return the rows of scores.csv; none where there is no file."""
    return _read(Score, folder / SCORES)


def read_figures(folder: Path = FOLDER) -> list[Figure]:
    """Return the rows of figures.csv; none where there is no file."""
    return _read(Figure, folder / FIGURES)


def store(scores: Iterable[Score], figures: Iterable[Figure], folder: Path = FOLDER) -> None:
    """Add rows to the files; those of the same target and scheme are replaced. Raises UserError."""
    folder.mkdir(parents=True, exist_ok=True)
    new_scores, new_figures = list(scores), list(figures)
    replaced = {(row.target, row.scheme) for row in new_scores}
    old_scores = [row for row in read_scores(folder) if (row.target, row.scheme) not in replaced]
    old_figures = [row for row in read_figures(folder) if (row.target, row.scheme) not in replaced]
    write_atomically(folder / SCORES, _text(Score, sorted([*old_scores, *new_scores], key=_key)).encode())
    write_atomically(folder / FIGURES, _text(Figure, sorted([*old_figures, *new_figures], key=_key)).encode())


def _key(row: Score | Figure) -> tuple[str, str]:
    return (row.target, row.scheme)


def _read(kind: type[Row], file: Path) -> list[Row]:
    if not file.is_file():
        return []
    with file.open(newline="") as lines:
        return [kind(**_values(kind, row)) for row in csv.DictReader(lines)]


def _values(kind: type[Row], row: dict[str, str]) -> dict[str, Any]:
    return {field.name: _value(str(field.type), row[field.name]) for field in fields(kind)}


def _value(kind: str, text: str) -> str | float | None:
    if kind == "str":
        return text
    if kind == "int":
        return int(text)
    return float(text) if text else None


def _text(kind: type[Row], rows: Iterable[Row]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(kind))
    writer.writerows([_cell(value) for value in asdict(row).values()] for row in rows)
    return text.getvalue()


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
