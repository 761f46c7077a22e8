"""The last lines of compare.py targets=...: the requirements that each scheme meets, over all targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compare.statistics.numbers import counted, interval
from compare.statistics.verdict import Verdict
from compare.targets.tables import TargetTable

Verdicts = dict[str, Verdict]  # by target.requirement


def last_lines(tables: Sequence[TargetTable], schemes: Sequence[str]) -> list[str]:
    """Return the lines that sum up all targets.

    The requirements that each scheme meets, then those that each recipe meets; what was not measured counts as not met.
    Then the joint scores.
    """
    met: dict[str, Verdicts] = {scheme: {} for scheme in schemes}
    of_recipes: dict[str, Verdicts] = {}
    for table in tables:
        for scheme in (scheme.name for scheme in table.schemes if scheme.name in met):
            met[scheme] |= _named(table, table.verdicts(scheme))
        for name, verdicts in table.recipe_verdicts().items():
            of_recipes.setdefault(f"the recipe {name}", {}).update(_named(table, verdicts))
    lines = [_met(name, verdicts) for name, verdicts in (met | of_recipes).items()]
    for table in (table for table in tables if table.target.scored):
        texts = [f"{scheme.name} {score.mean:.3f} ({interval(score)})" for scheme, score in table.scores()]
        lines.append(f"joint score: {', '.join(texts)}")
    return lines


def _named(table: TargetTable, verdicts: Mapping[str, Verdict]) -> Verdicts:
    return {f"{table.target.name}.{requirement}": verdict for requirement, verdict in verdicts.items()}


def _met(name: str, verdicts: Verdicts) -> str:
    met = [requirement for requirement, verdict in verdicts.items() if verdict is Verdict.MET]
    unmeasured = [requirement for requirement, verdict in verdicts.items() if verdict is Verdict.NOT_MEASURED]
    text = f"targets met by {name}: {len(met)} of {len(verdicts)}: {', '.join(met) or 'none'}"
    if unmeasured:
        text += f" ({counted(len(unmeasured), 'requirement')} not measured: {', '.join(unmeasured)})"
    return text
