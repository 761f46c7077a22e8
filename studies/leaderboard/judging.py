"""Judges stored comparisons of targets for the leaderboard: each scheme alone beside the same three others."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

from compare.experiment.store import EXPERIMENT, Store
from compare.metrics.cells import Cell
from compare.statistics.verdict import Verdict
from compare.targets.catalogue import TARGETS
from compare.targets.evidence import Evidence, competes
from compare.targets.requirement import InEachScenario, Judgement
from compare.targets.stored import stored_targets
from compare.targets.tables import TargetTable
from compare.targets.target import Target
from env.checkout import ROOT
from env.errors import UserError
from env.network.schemes import Scheme
from export.zoo import ZOO
from studies.leaderboard.stored_scores import Figure, Score

# the peers of every scheme, so that a new row changes no other
YARDSTICKS = ("reno", "cubic", "bbr")
DEFAULT = "ndm"  # the congestion control of the first model in the module
_ZOO = ZOO.relative_to(ROOT)
RANKED = tuple(target.name for target in TARGETS.values() if target.in_all)


def judged(folder: Path, only: Sequence[str] = ()) -> Iterator[tuple[Score, list[Figure]]]:
    """Yield score and figures of each scheme in the stored targets of a folder; raises UserError.

    only: names of schemes, as in compare.py or without the path of a user's own; all schemes where it is empty. Schemes
    without a finished run are left out, and targets of which runs are missing.
    """
    found = False
    for target, store, _, cells in stored_targets(folder):
        if target.name in RANKED and store.environment():
            found = True
            yield from _of_target(target, store, cells, only)
    if not found:
        raise UserError(f"{folder} holds no finished target of the leaderboard: {', '.join(RANKED)}")


def _of_target(
    target: Target, store: Store, cells: Sequence[Cell], only: Sequence[str]
) -> Iterator[tuple[Score, list[Figure]]]:
    schemes = {cell.scheme.name: cell.scheme for cell in cells if competes(cell.scheme)}
    missing = [name for name in YARDSTICKS if name not in schemes]
    if missing:
        raise UserError(f"{store.folder} lacks {', '.join(missing)}: the leaderboard judges beside them")
    for scheme in schemes.values():
        if only and not {scheme.name, scheme.short_name} & {*only}:
            continue
        beside = {scheme.name, *YARDSTICKS}
        evidence = Evidence([cell for cell in cells if cell.scheme.name in beside or cell.scheme.is_oracle])
        if any(cell.seeds for cell in evidence.cells([scheme.name])):
            yield _judge(target, store, evidence, scheme)


def _judge(target: Target, store: Store, evidence: Evidence, scheme: Scheme) -> tuple[Score, list[Figure]]:
    table, environment = TargetTable(target, evidence), store.environment()
    runs, score = table.run_scores(scheme.name), table.score(scheme.name)
    verdicts, cells = table.verdicts(scheme.name), evidence.cells([scheme.name])
    described = environment["models"].get(scheme.name, {})
    row = Score(
        target=target.name,
        scheme=board_name(scheme, described),
        label=_label(scheme, described),
        model_sha256=next((str(model["sha256"]) for model in described.values()), ""),
        score=score.mean,
        sd=statistics.stdev(runs) if len(runs) > 1 else None,
        lo=score.lo,
        hi=score.hi,
        met=sum(verdict is Verdict.MET for verdict in verdicts.values()),
        requirements=len(verdicts),
        seeds=store.experiment().seeds,
        failed=sum(len(cell.failed) for cell in cells),
        kernel=_kernel(scheme, environment["kernel"]),
        revision=str(environment["git_revision"]),
        date=date.fromtimestamp((store.folder / EXPERIMENT).stat().st_mtime).isoformat(),
    )
    return row, [_figure(row, target, evidence, scheme, one) for one in table.judgements(scheme.name)]


def board_name(scheme: Scheme, models: Mapping[str, Mapping[str, str]]) -> str:
    """Return a scheme's name on the leaderboard: a model by its own name, a user's own without its path."""
    if scheme.name == DEFAULT and models:
        return f"{DEFAULT}@{' '.join(model['name'] for model in models.values())}"
    return scheme.short_name.replace(f"@{_ZOO}/", "@")


def _label(scheme: Scheme, models: Mapping[str, Mapping[str, str]]) -> str:
    if scheme.name == DEFAULT:
        return f"{scheme.label} {board_name(scheme, models).partition('@')[2]}"
    return scheme.label.replace(f"{_ZOO}/", "")


def _kernel(scheme: Scheme, kernels: Sequence[str]) -> str:
    releases = ", ".join(sorted({kernel.split()[0] for kernel in kernels}))
    return f"{releases} ({scheme.kernel})" if scheme.kernel else releases


def _figure(row: Score, target: Target, evidence: Evidence, scheme: Scheme, judgement: Judgement) -> Figure:
    figure = judgement.figure
    deviation = _deviation(target, evidence, scheme, judgement)
    mean, lo, hi = (None, None, None) if figure is None else (figure.mean, figure.lo, figure.hi)
    return Figure(
        target=target.name,
        requirement=judgement.requirement,
        scenario=judgement.scenario,
        scheme=row.scheme,
        unit=judgement.unit,
        mean=mean,
        sd=deviation,
        lo=lo,
        hi=hi,
        n=0 if figure is None else figure.n,
        threshold=str(judgement.bound or ""),
        margin=judgement.margin if math.isfinite(judgement.margin) else None,
        verdict=judgement.verdict.value,
    )


def _deviation(target: Target, evidence: Evidence, scheme: Scheme, judgement: Judgement) -> float | None:
    """Return the standard deviation of a figure over the seeds; None where it has no value per seed, or only one."""
    requirement = next(one for one in target.requirements if one.name == judgement.requirement)
    if not isinstance(requirement, InEachScenario):
        return None
    values = [*evidence.values(judgement.scenario, scheme.name, requirement.figure).values()]
    deviation = statistics.stdev(values) if len(values) > 1 else math.nan
    return deviation if math.isfinite(deviation) else None
