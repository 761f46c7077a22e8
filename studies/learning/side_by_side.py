"""Compare populations seed by seed: their rewards, and the error of their int16 models.

With the same seed, two variants train on the same paths. The effect of a variant is therefore the difference per seed,
not the difference of two medians.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from env.markdown import markdown_table
from export.checkpoint import checkpoint_path
from export.pipeline import measure
from training.run_folder.curves import Curve, read_metrics
from training.sweeps.population import FIRST_THIRD, LAST, REWARD, Population, seed_of

NO_VALUE = "–"  # a run without an update or a checkpoint, or a seed that the first population lacks


def side_by_side(populations: Sequence[Population]) -> str:
    """Return a Markdown table with a row per population; each cell has a value per run, in the order of the seeds.

    "(refused)" marks a run that fails the export's gate. Raises UserError for a run that does not exist,
    UserError, also for weights that do not fit the integer network.
    """
    first = populations[0]
    head = ["variant", "seeds", "reward, first third", "reward, last tenth", f"last tenth less {first.name}'s"]
    head += ["float against int16: largest error, % of the output's range"]
    rewards = {run: read_metrics(run).get(REWARD) for population in populations for run in population.runs}
    of_first = {seed_of(run): _mean(rewards[run], LAST) for run in first.runs}
    rows = []
    for population in populations:
        early, late, differences, errors = [], [], [], []
        for run in population.runs:
            end, other = _mean(rewards[run], LAST), of_first.get(seed_of(run))
            early.append(_formatted(_mean(rewards[run], FIRST_THIRD), "{:.3f}"))
            late.append(_formatted(end, "{:.3f}"))
            differences.append(_formatted(None if end is None or other is None else end - other, "{:+.3f}"))
            errors.append(_largest_error(run))
        seeds = [str(seed_of(run)) for run in population.runs]
        cells = (seeds, early, late, [] if population is first else differences, errors)
        rows.append([population.name, *(", ".join(values) for values in cells)])
    return markdown_table(head, rows) + "\n"


def _mean(reward: Curve | None, part: tuple[float, float]) -> float | None:
    return None if reward is None else reward.part(*part)


def _formatted(value: float | None, form: str) -> str:
    return NO_VALUE if value is None else form.format(value)


def _largest_error(run: Path) -> str:
    if not checkpoint_path(run).is_file():
        return NO_VALUE
    agreement = measure(run).agreement
    refused = " (refused)" if any(row.failures() for row in agreement) else ""
    return f"{max(row.max_error_pct for row in agreement):.4f}{refused}"
