"""Search a policy's weights by the joint score: CMA-ES, with the target `development` as fitness.

    python -m studies.learning.score_search results/search/gains datasets/models/mixed --weights gains
    python -m studies.learning.score_search results/search/neuron rules/one_neuron.yaml --weights named

A training maximizes a reward, which is a sum over decisions. A candidate of this search is what would ship, an int16
model in the kernel, and its fitness is the joint score (compare/targets/tables.py). Nothing is drawn
anew within a run, so a candidate can hold a window for a hundred round trips. The algorithm is that of Hansen and
Ostermeier, "Completely Derandomized Self-Adaptation in Evolution Strategies", 2001, in the library cmaes
(setup/requirements/dev.txt).

FOLDER/mean.yaml is the mean of the last generation, FOLDER/best.yaml the candidate with the highest score so far:
rules, which compare.py and `make export-weights` take. FOLDER/generations.csv has a row per generation. The same
command continues an interrupted search.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from torch import Tensor

from compare.command.measurement import Interrupted, Measurement
from compare.command.progress import terminal
from compare.experiment.config import CompareConfig
from compare.experiment.experiment import plan_of
from compare.metrics.cells import Cell
from compare.targets.catalogue import TARGETS
from compare.targets.evidence import Evidence
from compare.targets.tables import WORST_MARGIN, TargetTable
from compare.targets.target import Target
from env.command import command
from env.errors import UserError
from env.files import write_atomically
from env.lab import LabError
from export.checkpoint import POLICY_TENSORS
from export.integer.model import Float64 as Floats
from export.integer.quantize import FloatPolicy
from export.pipeline import build_model, find_policy, measure
from studies.learning.rule_text import rule_text

DEVELOPMENT = TARGETS["development"]
TABLE, IDENTITY = "generations.csv", "search.json"
MEAN, BEST = "mean.yaml", "best.yaml"
# What may change.
WEIGHTS = {
    "readout": "the weights of the actions",
    "named": "the weights that are not zero, so that a rule keeps its form",
}


@dataclass(frozen=True)
class Search:
    """The settings of a search.

    start: the policy before it. steps: what a step of 1 in each of its k dimensions adds to them, [n, k]. seeds: runs
    per scenario. seed: of the candidates. target: its joint score is the fitness.
    """

    folder: Path
    start: FloatPolicy
    steps: Floats
    generations: int
    candidates: int
    sigma: float
    seeds: int
    seed: int
    target: Target = DEVELOPMENT

    def policy(self, point: Floats) -> dict[str, Tensor]:
        """Return the state dict of the policy at a point [k] of the search, float32 as in a checkpoint."""
        weights = vector(self.start) + self.steps @ point
        parts = [getattr(self.start, entry.name) for entry in fields(self.start)]
        ends = np.cumsum([part.size for part in parts])[:-1]
        w, u, b, v, c = (
            torch.tensor(piece.reshape(part.shape), dtype=torch.float32)
            for piece, part in zip(np.split(weights, ends), parts, strict=True)
        )
        return dict(zip(POLICY_TENSORS, (w, u, b, torch.zeros_like(b), v, c), strict=True))


class JointScores:
    """The joint scores of models over some seeds. The schemes that set thresholds are measured once, into a folder.

    Raises UserError, and Interrupted on Ctrl-C, as Measurement does.
    """

    def __init__(self, folder: Path, seeds: int, console: Console, target: Target = DEVELOPMENT) -> None:
        self._seeds, self._console, self._target = seeds, console, target
        self._references = self._measure(folder, target.references)

    def of(self, folder: Path, policies: Sequence[Path]) -> list[float]:
        """Measure rules into a folder, and delete the runs. Returns WORST_MARGIN where the export refuses one."""
        schemes = {policy: f"ndm@{policy}" for policy in policies if _exports(policy)}
        cells = self._measure(folder, list(schemes.values())) if schemes else []
        table = TargetTable(self._target, Evidence([*self._references, *cells]))
        scores = {policy: table.score(scheme).mean for policy, scheme in schemes.items()}
        # after the scores, which read the runs: 50 MB a policy, and the next ones may have the same names
        shutil.rmtree(folder, ignore_errors=True)
        return [scores.get(policy, WORST_MARGIN) for policy in policies]

    def _measure(self, folder: Path, schemes: Sequence[str]) -> list[Cell]:
        planned = plan_of(self._target.make(), list(schemes), self._seeds, None, self._target.sample_ms)
        with Measurement(CompareConfig(), planned).completed(folder, self._console) as completed:
            return completed.cells


def _exports(policy: Path) -> bool:
    try:
        build_model(policy)
    except UserError:
        return False
    return True


def search(settings: Search, console: Console) -> None:
    """Make the missing generations. Raises UserError, and Interrupted on Ctrl-C."""
    import cmaes  # here, because it imports scipy.stats

    strategy = cmaes.CMA(
        mean=np.zeros(settings.steps.shape[1]), sigma=settings.sigma, population_size=settings.candidates
    )
    _check_folder(settings)
    known = _read(settings)
    joint = JointScores(settings.folder / "references", settings.seeds, console, settings.target)
    best = max((max(row[1:]) for row in known), default=-np.inf)
    for generation in range(settings.generations):
        strategy.reseed_rng(int(np.random.SeedSequence([settings.seed, generation]).generate_state(1)[0]))
        points = [strategy.ask() for _ in range(settings.candidates)]
        if generation < len(known):
            _, *scores = known[generation]
        else:
            files = [
                _write(settings, f"candidate_{i:02d}.yaml", point) for i, point in enumerate([strategy.mean, *points])
            ]
            of_mean, *scores = joint.of(settings.folder / "candidates", files)
            if max(scores) > best:
                best = max(scores)
                _write(settings, BEST, points[int(np.argmax(scores))])
            _append(settings, generation, [of_mean, *scores])
            console.print(
                f"generation {generation + 1} of {settings.generations}: mean {of_mean:.3f}, candidates "
                f"{np.median(scores):.3f} (median) to {max(scores):.3f}",
                highlight=False,
            )
        strategy.tell([(point, -score) for point, score in zip(points, scores, strict=True)])
        _write(settings, MEAN, strategy.mean)


def _check_folder(settings: Search) -> None:
    """Write what the search is, so that no other one continues it. Raises UserError for the folder of another."""
    what = {
        "start": hashlib.sha256(vector(settings.start).tobytes()).hexdigest(),
        "steps": hashlib.sha256(settings.steps.tobytes()).hexdigest(),
        "candidates": settings.candidates,
        "sigma": settings.sigma,
        "seeds": settings.seeds,
        "seed": settings.seed,
        "target": settings.target.name,
    }
    file = settings.folder / IDENTITY
    if not file.exists():
        write_atomically(file, json.dumps(what, indent=1).encode())
        return
    before = json.loads(file.read_text())
    if other := [name for name, value in what.items() if before.get(name) != value]:
        raise UserError(
            f"{settings.folder} holds a search with other settings ({', '.join(other)}): give another folder"
        )


def _write(settings: Search, name: str, point: Floats) -> Path:
    about = f"A point of a search by the joint score ({settings.folder.name})"
    file = settings.folder / name
    write_atomically(file, rule_text(settings.policy(point), about).encode())
    return file


def _head(settings: Search) -> list[str]:
    return ["generation", "mean", *(f"candidate_{i + 1:02d}" for i in range(settings.candidates))]


def _read(settings: Search) -> list[list[float]]:
    """Return the stored scores of each generation: the mean's, then the candidates'. Raises UserError."""
    file = settings.folder / TABLE
    if not file.exists():
        return []
    _, *rows = csv.reader(file.read_text().splitlines())
    return [[float(score) for score in row[1:]] for row in rows]


def _append(settings: Search, generation: int, scores: Sequence[float]) -> None:
    file = settings.folder / TABLE
    text = file.read_text() if file.exists() else ",".join(_head(settings)) + "\n"
    row = [str(generation + 1), *(repr(float(score)) for score in scores)]
    write_atomically(file, (text + ",".join(row) + "\n").encode())


def parse(argv: Sequence[str]) -> Search:
    """Return the settings. Raises UserError, also for a start that cannot be read."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.learning.score_search", description="Search a policy's weights by the joint score."
    )
    parser.add_argument("folder", type=Path, help="folder of the results")
    parser.add_argument("start", help="run, model folder or rule to start from: datasets/models/mixed, rules/NAME.yaml")
    kinds = "; ".join(f"{name}: {text}" for name, text in WEIGHTS.items())
    parser.add_argument("--weights", choices=WEIGHTS, default="readout", help=f"what changes. {kinds}")
    parser.add_argument("--generations", type=int, default=20)
    parser.add_argument("--candidates", type=int, default=11, help="of a generation")
    parser.add_argument("--sigma", type=float, default=0.1, help="first step, of a weight's magnitude")
    parser.add_argument("--seeds", type=int, default=1, help="runs per scenario")
    parser.add_argument("--seed", type=int, default=1, help="of the candidates")
    given = parser.parse_args(argv)
    if given.generations < 1 or given.candidates < 4 or not 0 < given.sigma <= 1:
        raise UserError("a search has at least 1 generation of 4 candidates, and a sigma above 0, at most 1")
    policy = measure(find_policy(given.start)).policy
    steps = steps_of(policy, given.weights)
    if steps.shape[1] < 2:
        raise UserError(f"--weights {given.weights}: {given.start} has {steps.shape[1]} of them; CMA-ES needs two")
    return Search(
        given.folder.resolve(), policy, steps, given.generations, given.candidates, given.sigma, given.seeds, given.seed
    )


def steps_of(policy: FloatPolicy, what: str) -> Floats:
    """Return what a step of 1 in each dimension of a search adds to the weights, [n, k]. what: of WEIGHTS.

    The step of a weight is its magnitude, at least the median of all that change.
    """
    start = vector(policy)
    tuned = np.flatnonzero(start)
    if what == "readout":
        tuned = np.arange(start.size - policy.v.size - policy.c.size, start.size)
    magnitudes = np.abs(start[tuned])
    steps = np.zeros((start.size, tuned.size))
    steps[tuned, np.arange(tuned.size)] = np.maximum(magnitudes, np.median(magnitudes))
    return steps


def vector(policy: FloatPolicy) -> Floats:
    """Return all weights [n]: of the inputs, the last state, the biases, the actions, and the actions' biases."""
    return np.concatenate([getattr(policy, entry.name).ravel() for entry in fields(policy)])


@command("score_search", LabError, OSError)
def main(argv: Sequence[str]) -> int:
    """The command line; returns the exit status."""
    try:
        settings = parse(argv)
        settings.folder.mkdir(parents=True, exist_ok=True)
        search(settings, terminal())
    except Interrupted as error:
        print(f"score_search: {error}", file=sys.stderr)
        return 130
    print(f"{settings.folder / MEAN}, {settings.folder / BEST}, {settings.folder / TABLE}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
