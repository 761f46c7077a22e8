"""One run of the evolution strategy, from its configuration to its last checkpoint: progress, metrics, interruption.

What training/loop.py is for PPO. Every metric written here is explained in docs/reference/metrics.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from env.pool import Pool
from env.profile import PathSampler
from env.reward import OUTCOME
from export import checkpoint
from export.model_file import model_file
from export.quantize import FloatPolicy, quantize
from export.verify import verify
from training.cma import CmaOptions, Evolution, Floats, to_policy
from training.config import TrainConfig
from training.evaluation import Evaluation, EvaluationRun, draw_runs, evaluate
from training.fitness import run_fitness, scores
from training.loop import StopRequest, claimed
from training.run_folder.recorder import Recorder

Evaluations = Sequence[tuple[Evaluation, ...]]  # of each model, in each run


def train(config: TrainConfig, folder: Path, saved: dict[str, Any] | None, pool: Pool) -> bool:
    """Train in ``folder``, from its checkpoint ``saved`` if given; True when it came to its end, False when stopped.

    pool: labs in which the candidates are evaluated.

    Raises training.loop.RunError (the folder is in use), CheckpointError (no run to start from; a full disk, the last
    checkpoint is unharmed), ValueError (a strategy that does not fit the checkpoint) and env.lab's LabError.
    """
    options = config.algo
    assert isinstance(options, CmaOptions)
    torch.set_num_threads(1)  # the labs need the cores
    evolution, decisions = _begin(options, config.seed, saved)
    sampler = PathSampler(config.profile)
    if saved is None:
        folder.mkdir(parents=True)
    stop = StopRequest()

    def state() -> dict[str, Any]:
        return {"policy": to_policy(evolution.mean), "strategy": evolution.state(), "decisions": decisions}

    with claimed(folder), stop.listen(), Recorder(config, folder, saved and saved["card"]) as recorder:
        recorder.begin(state())
        bar = tqdm(total=options.generations, initial=evolution.generation, unit=" generations", dynamic_ncols=True)
        with bar:
            while evolution.generation < options.generations:
                began, busy_s = time.perf_counter(), pool.busy_s
                runs = draw_runs(
                    sampler, config.seed, evolution.generation, options.paths, options.run_s, options.run_rtts
                )
                candidates = evolution.ask()
                models = (
                    model_file(to_policy(weights), f"generation-{evolution.generation}", config.profile.name)
                    for weights in (evolution.mean, *candidates)
                )
                evaluations = evaluate(pool, models, runs, config.profile.reward, stop)
                if evaluations is None:
                    return False
                fitness = fitness_of(evaluations, options.guard_penalty)  # [1 + C, P]
                evolution.tell(candidates, scores(fitness[1:]))
                decisions += sum(evaluation.decisions for row in evaluations for evaluation in row)
                metrics = {
                    **describe(evaluations, fitness),
                    **describe_speed(
                        evaluations, runs, time.perf_counter() - began, pool.busy_s - busy_s, pool.workers
                    ),
                    "charts/generation": float(evolution.generation),
                    "strategy/sigma": evolution.sigma,
                    "strategy/spread": evolution.spread,
                }
                recorder.follow(state(), metrics, len(evaluations) * sum(run.duration_s for run in runs))
                bar.update()
                bar.set_postfix_str(_summary(metrics), refresh=False)
                _warn_of_hangs(evaluations, evolution.generation)
        _warn_of_export(evolution.mean)
        recorder.finished()
    return True


def fitness_of(evaluations: Evaluations, guard_penalty: float) -> Floats:
    """Return the fitness of each candidate on each path, [C, P]."""
    return np.array(
        [
            [run_fitness(evaluation.outcomes, evaluation.guarded, guard_penalty) for evaluation in row]
            for row in evaluations
        ]
    )


def describe(evaluations: Evaluations, fitness: Floats) -> dict[str, float]:
    """The metrics of a generation; the first evaluation and row of ``fitness`` [1 + C, P] are the mean's."""
    numbers = [outcome.numbers() for evaluation in evaluations[0] for outcome in evaluation.outcomes]
    charts = {
        f"charts/{name.replace('/', '_')}": float(np.mean([np.mean(flow[name]) for flow in numbers]))
        for name in OUTCOME
    }
    overall = fitness[1:].mean(axis=1)  # [C]
    guarded = [evaluation.guarded / len(evaluation.outcomes) for row in evaluations[1:] for evaluation in row]
    return charts | {
        "charts/reward": float(fitness[0].mean()),
        "charts/guarded": float(
            np.mean([evaluation.guarded / len(evaluation.outcomes) for evaluation in evaluations[0]])
        ),
        "population/best": float(overall.max()),
        "population/median": float(np.median(overall)),
        "population/mean": float(overall.mean()),
        "population/worst": float(overall.min()),
        "population/guarded": float(np.mean(guarded)),
        "population/hung": float(sum(evaluation.hung for row in evaluations for evaluation in row)),
    }


def describe_speed(
    evaluations: Evaluations, runs: Sequence[EvaluationRun], wall_s: float, busy_s: float, workers: int
) -> dict[str, float]:
    """The metrics of how fast a generation was; ``wall_s``: of it; ``busy_s``: of the labs in it."""
    virtual_s = len(evaluations) * sum(run.duration_s for run in runs)
    decisions = sum(evaluation.decisions for row in evaluations for evaluation in row)
    return {
        "charts/evaluations_per_s": len(evaluations) / wall_s,
        "charts/decisions_per_s": decisions / wall_s,
        "charts/virtual_speedup": virtual_s / wall_s / workers,
        "charts/lab_share": busy_s / wall_s / workers,
    }


def _warn_of_hangs(evaluations: Evaluations, generation: int) -> None:
    """Warn of failed evaluations: the wall clock decides them, so a resumed run may differ from here on."""
    hung = sum(evaluation.hung for row in evaluations for evaluation in row)
    if hung:
        tqdm.write(
            f"train.py: generation {generation}: {hung} evaluations failed, because labs hung for lab.timeout_s; on a "
            "machine that is busy with other work raise it, or else lower algo.sigma",
            file=sys.stderr,
        )


def _warn_of_export(weights: Floats) -> None:
    """Say it when the policy is past the gate of make export-weights, which the kernel does not care about."""
    policy = FloatPolicy.from_state_dict(to_policy(weights))
    failures = [failure for row in verify(policy, quantize(policy)) for failure in row.failures()]
    if failures:
        print(
            f"train.py: float and int16 disagree past the gate, so make export-weights will refuse this policy: "
            f"{'; '.join(failures)}. Train on with a lower algo.sigma or algo.weight_limit",
            file=sys.stderr,
        )


def _begin(options: CmaOptions, seed: int, saved: dict[str, Any] | None) -> tuple[Evolution, int]:
    """Return the strategy and the decisions so far: of a checkpoint, of a run to start from, or new."""
    if saved is not None:
        evolution = Evolution(options, seed, saved["policy"])
        evolution.restore(saved["strategy"])
        return evolution, int(saved["decisions"])
    if options.start is None:
        return Evolution(options, seed), 0
    begun = checkpoint.load(Path(options.start))
    return Evolution(options, seed, begun["policy"]), 0


def _summary(charts: dict[str, float]) -> str:
    """The right end of the progress bar."""
    return (
        f"{charts['charts/virtual_speedup']:.0f}x real time, fitness {charts['charts/reward']:.3f}, "
        f"best {charts['population/best']:.3f}, goodput {charts['charts/goodput_mbps']:.1f} Mbit/s, "
        f"queueing delay {charts['charts/queueing_delay_ms']:.1f} ms"
    )
