"""The tables of docs/results that come from the stored scores and figures: leaderboard, and targets of one model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from compare.targets.catalogue import TARGETS
from env.markdown import markdown_table
from env.network.schemes import SCHEMES
from studies.leaderboard.judging import RANKED
from studies.leaderboard.stored_scores import Figure, Score

MODEL = "ndm@mixed"  # the shipped one
VERDICTS = {"yes": "met", "open": "open", "no": "missed", "": "not measured"}


def leaderboard(scores: Sequence[Score]) -> str:
    """Return a row per scheme: mean score, requirements met, and the joint score of each target, the best first."""
    targets = [target for target in RANKED if any(score.target == target for score in scores)]
    by_scheme: dict[str, dict[str, Score]] = {}
    for score in scores:
        by_scheme.setdefault(score.scheme, {})[score.target] = score
    means = {
        scheme: fmean(score.score for score in own.values()) if len(own) == len(targets) else None
        for scheme, own in by_scheme.items()
    }
    rows = []
    for scheme, own in sorted(by_scheme.items(), key=lambda pair: -(means[pair[0]] or -math.inf)):
        mean, any_score = means[scheme], next(iter(own.values()))
        met, asked = sum(one.met for one in own.values()), sum(one.requirements for one in own.values())
        shown = [f"{own[target].score:.2f}" if target in own else "–" for target in targets]
        rows.append([any_score.label, "–" if mean is None else f"{mean:.3f}", f"{met} of {asked}", *shown])
    heads = ["scheme", "mean score", "targets met", *(f"`{target}`" for target in targets)]
    return f"{markdown_table(heads, rows, left=1)}\n\n{_origin(scores)}\n"


def _origin(scores: Sequence[Score]) -> str:
    kernels, dates = (sorted({getattr(score, name) for score in scores}) for name in ("kernel", "date"))
    revisions = sorted({score.revision[:7] for score in scores})
    return f"Lab kernels: {', '.join(kernels)}. Revisions: {', '.join(revisions)}. Dates: {', '.join(dates)}."


def targets(scores: Sequence[Score], figures: Sequence[Figure], model: str = MODEL) -> str:
    """Return a row per requirement: its text, where the model meets it, its worst scenario, the best peer."""
    labels = {score.scheme: score.label for score in scores}
    rows = []
    for name in RANKED:
        for requirement in TARGETS[name].requirements:
            asked = [one for one in figures if (one.target, one.requirement) == (name, requirement.name)]
            own = [one for one in asked if one.scheme == model]
            if not own:
                continue
            at = min(own, key=_severity)
            met = sum(one.verdict == "yes" for one in own)
            verdict = VERDICTS[at.verdict]
            rows.append(
                [
                    f"`{name}.{requirement.name}`",
                    requirement.text,
                    f"{met} of {len(own)}",
                    f"{at.scenario}: {at.shown}{f'; {at.threshold}' if at.threshold else ''}",
                    f"**{verdict}**" if verdict == "met" else verdict,
                    _best_peer(at, asked, labels),
                ]
            )
    heads = ["requirement", "asks for", "met in", f"{labels.get(model, model)} in its worst scenario", "there"]
    return markdown_table([*heads, "best peer there"], rows) + "\n"


def _severity(figure: Figure) -> tuple[int, float]:
    """Return what the worst scenario has the least of: the verdict, then the margin."""
    return ["", "no", "open", "yes"].index(figure.verdict), math.inf if figure.margin is None else figure.margin


def _best_peer(at: Figure, asked: Sequence[Figure], labels: dict[str, str]) -> str:
    """Return the kernel's congestion control with the best figure in a scenario, and that figure.

    None where the compared schemes change the figure (a winning rate), which then has no threshold here.
    """
    if not at.threshold:
        return "–"
    peers = [
        one
        for one in asked
        if (one.scenario, one.unit) == (at.scenario, at.unit)
        and one.mean is not None
        and (name := one.scheme.partition("%")[0]) in SCHEMES
        and not name.startswith("ndm")
    ]
    if not peers:
        return "–"
    if " to " in at.threshold:  # of the fair share, which is 1
        best = min(peers, key=lambda one: abs((one.mean or 0.0) - 1))
    else:
        sign = -1 if at.threshold.startswith(("≤", "<")) else 1
        best = max(peers, key=lambda one: sign * (one.mean or 0.0))
    return f"{labels[best.scheme]} {best.shown}"
