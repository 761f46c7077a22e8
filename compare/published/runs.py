"""The published single runs of datasets/published/figures.yaml, compared with the measured ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml

from compare.metrics.cells import Cell
from compare.metrics.flow_metrics import METRICS
from compare.report.given import Entry, Published, Section, Table
from compare.statistics.estimates import estimate_of, inside_spread
from compare.statistics.numbers import number
from compare.statistics.verdict import Verdict
from env.checkout import DATASETS

FIGURES = DATASETS / "published" / "figures.yaml"
TITLE = "Published against measured"
NOTE = (
    "Published: single runs of iperf3 on the loopback device of a virtual machine, Linux 6.11. The articles’ headlines "
    "give the sender’s bitrate, which includes data left in the send buffer at the end; compare goodput with the "
    "receiver’s bitrate. A published run is inside if it lies between the smallest and the largest value of the seeds "
    "measured here."
)
HEADS = ("Scenario", "Scheme", "Figure", "Run", "Published", "Measured mean", "Smallest to largest", "Inside")


@dataclass(frozen=True)
class PublishedRun:
    """One published run. zero_intervals: None if it was not published."""

    scenario: str
    scheme: str
    run: int
    tested_s: float
    sender_mbps: float
    receiver_mbps: float
    sender_mib: float
    receiver_mib: float
    retransmits: int
    duration_s: float | None = None
    zero_intervals: int | None = None

    def values(self) -> dict[str, float]:
        """Return the published values by the comparison's metrics."""
        values = {"goodput": self.receiver_mbps, "retransmits": float(self.retransmits)}
        return values if self.zero_intervals is None else values | {"zero_seconds": float(self.zero_intervals)}

    def figures(self) -> list[tuple[str, str, float]]:
        """Return (name, metric of the comparison, value) for every figure that the comparison has as a metric."""
        named = {"goodput": "goodput, receiver side", "retransmits": "retransmits", "zero_seconds": "zero seconds"}
        figures = [(named[metric], metric, value) for metric, value in self.values().items()]
        return [figures[0], ("bitrate, sender side", "goodput", self.sender_mbps), *figures[1:]]


def load_published() -> list[PublishedRun]:
    """Read all published runs."""
    return [
        PublishedRun(scenario=test["scenario"], tested_s=test["tested_s"], **run)
        for test in yaml.safe_load(FIGURES.read_text())
        for run in test["runs"]
    ]


def comparable(cells: Sequence[Cell], runs: Sequence[PublishedRun]) -> list[PublishedRun]:
    """Return the runs of the compared scenarios, also of schemes that were not measured.

    Scenarios with a changed duration are left out, because counts depend on it.
    """
    duration_s = {cell.scenario.name: cell.scenario.duration_s for cell in cells}
    return [run for run in runs if duration_s.get(run.scenario) == run.tested_s]


def published_values(runs: Sequence[PublishedRun]) -> list[Published]:
    """Return the values that stand beside the measured ones."""
    return [Published(run.scenario, run.scheme, run.values()) for run in runs]


def sections(cells: Sequence[Cell], runs: Sequence[PublishedRun]) -> list[Section]:
    """Return the section about all runs, and one for each scenario; none without a run."""
    measured = {(cell.scenario.name, cell.scheme.name): cell for cell in cells}
    rows = {run: list(_rows(run, measured.get((run.scenario, run.scheme)))) for run in runs}
    caption = "Published single runs and the seeds measured here"
    if not rows:
        return []
    everything = [row for of_run in rows.values() for row in of_run]
    made = [Section(TITLE, [Table(TITLE, caption, HEADS, everything, left=3)], NOTE)]
    for scenario in dict.fromkeys(run.scenario for run in runs):
        of_scenario = [row[1:] for run, of_run in rows.items() for row in of_run if run.scenario == scenario]
        table = Table(f"Published figures of {scenario}", caption, HEADS[1:], of_scenario, left=2)
        made.append(Section(TITLE, [table], NOTE, scenario))
    return made


def _rows(run: PublishedRun, cell: Cell | None) -> Iterator[list[Entry]]:
    units = {metric.name: metric.unit for metric in METRICS}
    for figure, metric, value in run.figures():
        estimate = None if cell is None else estimate_of(cell, metric)
        measured = [Entry("not measured here"), Entry(""), Entry("")]
        if estimate is not None:
            verdict = Verdict.of(inside_spread(value, estimate)).value
            spread = f"{number(estimate.minimum)} to {number(estimate.maximum)} (n = {estimate.n})"
            measured = [Entry(number(estimate.mean)), Entry(spread), Entry(verdict, verdict)]
        unit = "" if units[metric] == "count" else f", {units[metric]}"
        texts = (run.scenario, run.scheme, f"{figure}{unit}", str(run.run), number(value))
        yield [*map(Entry, texts), *measured]
