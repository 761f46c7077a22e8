"""Measure what training buys: classes of policies in one control law, and the law without its parts.

    python -m studies.learning.attribution results/attribution                  # hours; the same command continues
    python -m studies.learning.attribution results/attribution --only linear no-drains --seeds 1 2
    python -m studies.learning.attribution results/attribution --only --beside ndm@runs/a  # no training
    python -m studies.learning.attribution results/attribution --table          # of what has been measured

Each kind of policy is trained on the profile `mixed` with some seeds, into FOLDER/runs/KIND, and measured on the target
`development` (docs/results/targets.md), into FOLDER/KIND. A kind of the law without a part is trained and measured in a
checkout of its own (changed_law.py). FOLDER/law has the shipped network, the rules of configs/rules and
the schemes that set thresholds. The table goes to FOLDER/attribution.md. Finished trainings and runs are kept, also
those of an older law: a new law needs a new folder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from compare.statistics.estimates import Estimate, estimate
from compare.statistics.hierarchical import hierarchical_estimate
from compare.statistics.numbers import interval
from compare.targets.catalogue import TARGETS
from compare.targets.evidence import Evidence
from compare.targets.recipes import population
from compare.targets.stored import stored_targets
from compare.targets.tables import TargetTable
from env.checkout import ROOT
from env.command import command
from env.errors import UserError
from env.files import write_atomically
from env.markdown import markdown_table
from export.rule import rule_names
from studies.learning.ablation import Variant, run_to_end, train
from studies.learning.changed_law import PARTS, changed_checkout

DEVELOPMENT = TARGETS["development"]
TABLE = "attribution.md"
LAW = "law"  # the comparison of what is not trained here
DECISIONS = 2_000_000
BESIDE = ["ndm", *(f"ndm@{name}" for name in rule_names()), "ndm@untrained", *DEVELOPMENT.references]


@dataclass(frozen=True)
class Kind:
    """A kind of policy. about: for people. options: of train.py. without: parts of the law that are off."""

    about: str
    options: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


KINDS = {
    "linear": Kind("2 units without memory", ("algo.hidden=2", "algo.recurrent=false")),
    "memoryless-4": Kind("4 units without memory", ("algo.hidden=4", "algo.recurrent=false")),
    "memoryless-16": Kind("16 units without memory", ("algo.hidden=16", "algo.recurrent=false")),
    "recurrent-8": Kind("8 recurrent units", ("algo.hidden=8",)),
    "recurrent-16": Kind("16 recurrent units", ("algo.hidden=16",)),
    "recurrent-32": Kind("32 recurrent units", ("algo.hidden=32",)),
    "no-slow-start": Kind("16 recurrent units, no slow start", without=("slow start",)),
    "no-drains": Kind("16 recurrent units, no drains", without=("drains",)),
    "no-contest": Kind("16 recurrent units, no contest", without=("contest",)),
    "no-parts": Kind("16 recurrent units, none of the three", without=tuple(PARTS)),
}


@dataclass(frozen=True)
class Study:
    """The settings. seeds: of the trainings. runs: of each scenario. beside: more schemes of the law as it is."""

    folder: Path
    kinds: Sequence[str]
    seeds: Sequence[int]
    decisions: int
    runs: int
    beside: Sequence[str] = ()


def attribute(study: Study) -> None:
    """Train and measure what is not measured yet. Raises UserError, and KeyboardInterrupt."""
    folder = study.folder.resolve()
    measure(ROOT, folder / LAW, [*study.beside, *BESIDE], study.runs)
    for name in study.kinds:
        kind = KINDS[name]
        checkout = changed_checkout(name, kind.without) if kind.without else ROOT
        common = ["profile=mixed", f"algo.total_decisions={study.decisions}"]
        if not train(folder / "runs", common, Variant(name, kind.options), study.seeds, checkout):
            raise UserError(f"a training of {name} failed; the same command tries again")
        schemes = [f"ndm@{folder / 'runs' / name / f'{name}-{seed}'}" for seed in study.seeds]
        # the runs of schemes that set thresholds are the same in any law
        measure(checkout, folder / name, [*schemes, *DEVELOPMENT.references], study.runs, f"reuse={folder / LAW}")


def measure(checkout: Path, output: Path, schemes: Sequence[str], runs: int, *options: str) -> None:
    """Run the comparison of a checkout; raises UserError if it fails, KeyboardInterrupt on Ctrl-C."""
    settings = ["targets=development", f"seeds={runs}", f"schemes=[{','.join(schemes)}]", f"output_dir={output}"]
    if run_to_end(["compare.py", *settings, *options], checkout):
        raise UserError(f"the comparison of {output} failed")


def table(folder: Path) -> str:
    """Return the joint scores of all that has been measured, the highest first; raises UserError if nothing has.

    A kind's score is the mean of its trainings', with the interval over training seeds and runs. Other policies have
    the interval over runs. The difference to the best rule is taken run by run.
    """
    measured = [
        (stored.name == LAW, TargetTable(target, Evidence(cells)))
        for stored in sorted(path for path in folder.glob("*") if (path / DEVELOPMENT.name).is_dir())
        for target, _, _, cells in stored_targets(stored)
    ]
    rule = max((best_rule(one) for law, one in measured if law), key=fmean, default=[])
    rows = [row for law, one in measured for row in rows_of(one, rule, references=law)]
    if not rows:
        raise UserError(f"{folder} holds no measured policy")
    heads = ["policy", "joint score", "above the best rule", "each training"]
    heads += [f"`{one.name}`" for one in DEVELOPMENT.requirements]
    return markdown_table(heads, [row for _, row in sorted(rows, key=lambda pair: -pair[0])], left=1)


def best_rule(measured: TargetTable) -> list[float]:
    """Return the scores of each run of the rule with the highest joint score; nothing if there is no rule."""
    rules = [scheme.name for scheme in measured.schemes if scheme.name in {f"ndm@{name}" for name in rule_names()}]
    return max(map(measured.run_scores, rules), key=fmean, default=[])


def rows_of(measured: TargetTable, rule: Sequence[float] = (), *, references: bool) -> list[tuple[float, list[str]]]:
    """Return score and row of each kind, and of each other scheme.

    rule: scores of each run of the best rule. references: also of those that set thresholds.
    """
    groups: dict[str, list[str]] = {}
    labels: dict[str, str] = {}
    for scheme in measured.schemes:
        if scheme.name in DEVELOPMENT.references and not references:
            continue
        kind = population(scheme)
        groups.setdefault(kind or scheme.name, []).append(scheme.name)
        labels.setdefault(kind or scheme.name, _label(kind) or scheme.label)
    rows = []
    for name, members in groups.items():
        runs = list(map(measured.run_scores, members))
        score = _estimate(runs)
        parts = [fmean(of_one) for of_one in zip(*map(measured.margins, members), strict=True)]
        each = [f"{fmean(of_one):.3f}" for of_one in runs] if len(members) > 1 else []
        above = ""
        if rule and all(len(of_one) == len(rule) and of_one != rule for of_one in runs):
            above = _shown(_estimate([[a - b for a, b in zip(of_one, rule, strict=True)] for of_one in runs]))
        row = [labels[name], _shown(score), above, ", ".join(each), *(f"{part:.2f}" for part in parts)]
        rows.append((score.mean, row))
    return rows


def _estimate(runs: list[list[float]]) -> Estimate:
    """The mean of several trainings, or of the runs of one policy."""
    return hierarchical_estimate(runs) if len(runs) > 1 else estimate(runs[0])


def _shown(one: Estimate) -> str:
    return f"{one.mean:.3f} ({interval(one)})"


def _label(kind: str) -> str:
    return KINDS[kind].about if kind in KINDS else kind and f"NDM {kind}"


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the command line's settings; exits with 2 for invalid ones."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.learning.attribution",
        description="Measure what training buys.",
        epilog="kinds: " + "; ".join(f"{name}: {kind.about}" for name, kind in KINDS.items()),
    )
    parser.add_argument("folder", type=Path, help="for trainings, runs and table")
    kinds = list(KINDS)
    parser.add_argument("--only", nargs="*", choices=kinds, default=kinds, metavar="KIND", help="these kinds, or none")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="of the trainings (default: 1 2 3)")
    parser.add_argument("--decisions", type=int, default=DECISIONS, help="of a training (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="of each scenario (default: %(default)s)")
    parser.add_argument("--beside", nargs="+", default=[], metavar="SCHEME", help="more schemes, as in compare.py")
    parser.add_argument("--table", action="store_true", help="train and measure nothing, only write the table")
    return parser.parse_args(argv)


@command("attribution", OSError)
def main(argv: Sequence[str]) -> int:
    """The command line; returns the exit status."""
    given = parse(argv)
    try:
        if not given.table:
            attribute(Study(given.folder, given.only, given.seeds, given.decisions, given.runs, given.beside))
        text = table(given.folder)
        write_atomically(given.folder / TABLE, f"{text}\n".encode())
    except KeyboardInterrupt:
        print("attribution: interrupted; the same command continues", file=sys.stderr)
        return 130
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
