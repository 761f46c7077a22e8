"""One run of the evolution strategy, from its configuration to its last checkpoint: progress, metrics, interruption.

What training/loop.py is for PPO. Every metric written here is explained in docs/reference/metrics.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from env.lab import Lab, VirtualLab
from env.profile import PathSampler
from env.reward import OUTCOME
from export import checkpoint
from export.model_file import model_file
from export.quantize import FloatPolicy, quantize
from export.verify import verify
from training.cma import CmaOptions, Evolution, Floats, to_policy
from training.config import TrainConfig
from training.evaluation import MODULE, Evaluation, Trial, TrialLabs, draw_trials
from training.fitness import run_fitness, scores
from training.loop import StopRequest, claimed
from training.run_folder.recorder import Recorder


def train(
    config: TrainConfig,
    folder: Path,
    saved: dict[str, Any] | None,
    boot: Callable[[], Lab] | None = None,
) -> bool:
    """Train in ``folder``, from its checkpoint ``saved`` if given; True when it came to its end, False when stopped.

    boot: makes a lab with tcp_ndm, not yet begun; by default one as the configuration says.

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
    labs = TrialLabs(config.lab.workers, boot or (lambda: _lab(config)), config.profile.reward)

    def state() -> dict[str, Any]:
        return {"policy": to_policy(evolution.mean), "strategy": evolution.state(), "decisions": decisions}

    with claimed(folder), stop.listen(), Recorder(config, folder, saved and saved["card"]) as recorder, labs:
        recorder.begin(state())
        bar = tqdm(total=options.generations, initial=evolution.generation, unit=" generations", dynamic_ncols=True)
        with bar:
            while evolution.generation < options.generations:
                began = time.perf_counter()
                trials = draw_trials(
                    sampler, config.seed, evolution.generation, options.paths, options.run_s, options.run_rtts
                )
                candidates = evolution.ask()
                models = (
                    model_file(to_policy(weights), f"generation-{evolution.generation}", config.profile.name)
                    for weights in (evolution.mean, *candidates)
                )
                evaluations = labs.evaluate(models, trials, stop)
                if evaluations is None:
                    return False
                fitness = fitness_of(evaluations, options.guard_penalty)  # [1 + C, P]
                evolution.tell(candidates, scores(fitness[1:]))
                decisions += sum(run.decisions for one in evaluations for run in one.results)
                metrics = {
                    **describe(evaluations, fitness),
                    **describe_speed(evaluations, trials, time.perf_counter() - began, labs.workers),
                    "charts/generation": float(evolution.generation),
                    "strategy/sigma": evolution.sigma,
                    "strategy/spread": evolution.spread,
                }
                recorder.follow(state(), metrics, len(evaluations) * sum(trial.duration_s for trial in trials))
                bar.update()
                bar.set_postfix_str(_summary(metrics), refresh=False)
                _warn_of_hangs(evaluations, evolution.generation)
        _warn_of_export(evolution.mean)
        recorder.finished()
    return True


def fitness_of(evaluations: Sequence[Evaluation], guard_penalty: float) -> Floats:
    """Return the fitness of each candidate on each path, [C, P]."""
    return np.array(
        [[run_fitness(run.outcomes, run.guarded, guard_penalty) for run in one.results] for one in evaluations]
    )


def describe(evaluations: Sequence[Evaluation], fitness: Floats) -> dict[str, float]:
    """The metrics of a generation; the first evaluation and row of ``fitness`` [1 + C, P] are the mean's."""
    flows = [outcome for run in evaluations[0].results for outcome in run.outcomes]
    numbers = [flow.numbers() for flow in flows]
    charts = {
        f"charts/{name.replace('/', '_')}": float(np.mean([np.mean(flow[name]) for flow in numbers]))
        for name in OUTCOME
    }
    overall = fitness[1:].mean(axis=1)  # [C]
    guarded = [run.guarded / len(run.outcomes) for one in evaluations[1:] for run in one.results]
    return charts | {
        "charts/reward": float(fitness[0].mean()),
        "charts/guarded": float(np.mean([run.guarded / len(run.outcomes) for run in evaluations[0].results])),
        "population/best": float(overall.max()),
        "population/median": float(np.median(overall)),
        "population/mean": float(overall.mean()),
        "population/worst": float(overall.min()),
        "population/guarded": float(np.mean(guarded)),
        "population/hung": float(sum(run.hung for one in evaluations for run in one.results)),
    }


def describe_speed(
    evaluations: Sequence[Evaluation], trials: Sequence[Trial], wall_s: float, workers: int
) -> dict[str, float]:
    """The metrics of how fast a generation was; ``wall_s``: all of it."""
    virtual_s = len(evaluations) * sum(trial.duration_s for trial in trials)
    decisions = sum(run.decisions for one in evaluations for run in one.results)
    return {
        "charts/evaluations_per_s": len(evaluations) / wall_s,
        "charts/decisions_per_s": decisions / wall_s,
        "charts/virtual_speedup": virtual_s / wall_s / workers,
        "charts/lab_share": sum(one.lab_s for one in evaluations) / wall_s / workers,
    }


def _warn_of_hangs(evaluations: Sequence[Evaluation], generation: int) -> None:
    """Say it when trials were given up: by the wall clock, so a resumed run may differ from here on."""
    hung = sum(run.hung for one in evaluations for run in one.results)
    if hung:
        tqdm.write(
            f"train.py: generation {generation}: {hung} trials were given up after lab.timeout_s; on a machine that is "
            "busy with other work raise it, or else lower algo.sigma",
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


def _lab(config: TrainConfig) -> Lab:
    return VirtualLab(
        seed=config.seed, modules=(MODULE,), memory_mb=config.lab.memory_mb, timeout_s=config.lab.timeout_s
    )


def _summary(charts: dict[str, float]) -> str:
    """The right end of the progress bar."""
    return (
        f"{charts['charts/virtual_speedup']:.0f}x real time, fitness {charts['charts/reward']:.3f}, "
        f"best {charts['population/best']:.3f}, goodput {charts['charts/goodput_mbps']:.1f} Mbit/s, "
        f"queueing delay {charts['charts/queueing_delay_ms']:.1f} ms"
    )
