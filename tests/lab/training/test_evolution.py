"""The evolution strategy in the lab: it learns, and neither an interruption nor a dying lab changes its result."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from env.checkout import ROOT
from env.lab import Lab, LabError, RunResult, VirtualLab
from env.network.path import Path as NetworkPath
from env.pool import LabPool
from env.profile import EpisodeConfig, EpisodeFlow, load_profile
from env.reward import RewardWeights
from export import checkpoint
from export.formats.model_file import model_file
from export.pipeline import build_model
from tests.support.commands import train as train_command
from training import loop
from training.cma import CmaOptions
from training.options import LabOptions, TrainConfig
from training.policy import INITIAL_ACTION, initial_policy, to_policy, to_vector
from training.run_folder import curves
from training.sampling.evaluation import Evaluation, EvaluationRun, evaluate
from training.sampling.generation_sampler import GenerationSampler

GENERATIONS = 4


def boot() -> Lab:
    return VirtualLab(seed=7)


def config(folder: Path, workers: int = 1, **algo: Any) -> TrainConfig:
    options = {"generations": GENERATIONS, "population": 8, "paths": 1, "run_s": 2.0, "run_rtts": 1.0, **algo}
    return TrainConfig(
        profile=load_profile("bottleneck"),
        algo=CmaOptions(**options),
        lab=LabOptions(workers=workers),
        seed=7,
        runs=str(folder),
    )


def train(config: TrainConfig, folder: Path, saved: dict[str, Any] | None, boot: Callable[[], Lab] = boot) -> bool:
    with LabPool(config.lab.workers, boot) as pool:
        return loop.train(config, folder, saved, GenerationSampler(config, pool))


def evaluated(model: tuple[bytes, str], *runs: EvaluationRun, boot: Callable[[], Lab] = boot) -> list[Evaluation]:
    """The evaluations of one candidate."""
    with LabPool(1, boot) as pool:
        evaluations = evaluate(pool, [model], runs, RewardWeights())
    assert evaluations is not None
    return list(evaluations[0])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train without an interruption."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    assert train(config(folder.parent), folder, None)
    return folder


def assert_same(one: Path, two: Path) -> None:
    first, second = checkpoint.load(one), checkpoint.load(two)
    assert first["sha256"] == second["sha256"]
    assert first["decisions"] == second["decisions"] > 0
    assert set(first["learner"]["strategy"]) == set(second["learner"]["strategy"])
    for name, value in first["learner"]["strategy"].items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(value, second["learner"]["strategy"][name]), name
        else:
            assert value == second["learner"]["strategy"][name], name
    charts = [curves.read_metrics(run) for run in (one, two)]
    for name in ("charts/reward", "population/best", "charts/goodput_mbps"):
        np.testing.assert_array_equal(charts[0][name].decisions, charts[1][name].decisions)
        np.testing.assert_array_equal(charts[0][name].values, charts[1][name].values)


class Watched(VirtualLab):
    """A lab that calls a function before one of its runs."""

    at_run, what, runs = 0, staticmethod(lambda _: None), 0

    def run(self, *arguments: Any, **options: Any) -> RunResult:
        type(self).runs += 1
        if type(self).runs == self.at_run:
            type(self).what(self)
        return super().run(*arguments, **options)


def watched(at_run: int, what: Callable[[Lab], object]) -> Callable[[], Lab]:
    kind = type("Watched", (Watched,), {"at_run": at_run, "what": staticmethod(what), "runs": 0})
    return lambda: kind(seed=7)


def test_rivals_of_modules_are_there() -> None:
    episode_config = EpisodeConfig(NetworkPath(rate_mbps=20, rtt_ms=40), (EpisodeFlow("nv", 0.2),))
    model = model_file(initial_policy(8, 1).state_dict(), "x", "x")
    [evaluation] = evaluated(model, EvaluationRun(episode_config, 1, 1.0))
    assert evaluation.decisions > 0


def test_strategy_learns_from_an_untrained_network(whole: Path) -> None:
    fitness = curves.read_metrics(whole)["charts/reward"].values
    goodput = curves.read_metrics(whole)["charts/goodput_mbps"].values
    assert len(fitness) == GENERATIONS
    assert fitness[-1] > fitness[0] + 0.2
    assert goodput[-1] > 2 * goodput[0]  # an untrained policy keeps the window of slow start


def test_run_writes_a_card(whole: Path) -> None:
    card = json.loads((whole / "card.json").read_text())
    assert card["status"] == "finished"
    assert card["config"]["algo"]["kind"] == "cma"
    assert card["virtual_s"] == GENERATIONS * 9 * 2.0


def test_trained_policy_can_be_exported(whole: Path) -> None:
    exported = build_model(whole)
    saved = checkpoint.load(whole)
    assert exported.provenance.sha256 == saved["sha256"]
    assert exported.provenance.decisions == saved["decisions"]
    blob, sha256 = model_file(saved["policy"], "x", "bottleneck")
    assert sha256 == saved["sha256"]
    assert len(blob) > 500


def interrupt(lab: Lab) -> None:
    """Interrupt the training, and hold the lab's run up until the training closes the lab."""
    os.kill(os.getpid(), signal.SIGINT)
    deadline_s = time.monotonic() + 60
    while lab.pid and time.monotonic() < deadline_s:
        time.sleep(0.01)


def test_interruption_in_a_generation_changes_nothing(whole: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert not train(config(tmp_path), run, None, watched(2 * 9 + 5, interrupt))
    saved = checkpoint.load(run)
    assert saved["learner"]["strategy"]["_g"] == 2
    assert train(config(tmp_path), run, saved)
    assert_same(run, whole)


def test_resumed_run_may_have_more_labs(whole: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert train(config(tmp_path, generations=2), run, None)
    assert train(config(tmp_path, workers=2), run, checkpoint.load(run))
    assert_same(run, whole)


def test_dying_lab_changes_nothing(whole: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert train(config(tmp_path), run, None, watched(13, lambda lab: os.kill(lab.pid, signal.SIGKILL)))
    assert_same(run, whole)


def test_dying_labs_end_training_with_a_checkpoint(tmp_path: Path) -> None:
    class Dying(VirtualLab):
        def run(self, *arguments: Any, **options: Any) -> RunResult:
            os.kill(self.pid, signal.SIGKILL)
            return super().run(*arguments, **options)

    run = tmp_path / "run"
    with pytest.raises(LabError, match="the lab kernel ended"):
        train(config(tmp_path), run, None, lambda: Dying(seed=7))
    assert checkpoint.load(run)["learner"]["strategy"]["_g"] == 0


def test_run_ends_when_the_guard_intervenes() -> None:
    run = EvaluationRun(EpisodeConfig(NetworkPath()), seed=5, duration_s=4.0)
    shrink = {name: torch.zeros_like(tensor) for name, tensor in initial_policy(2, 1).state_dict().items()}
    shrink["readout.bias"] = torch.tensor((-1.0, 0.0))  # the smallest window
    stay = shrink | {"readout.bias": torch.tensor((-0.096, INITIAL_ACTION[1]))}
    models = [model_file(shrink, "shrink", "none"), model_file(stay, "stay", "none")]
    with LabPool(1, boot) as pool:
        evaluations = evaluate(pool, models, [run, run], RewardWeights())
    assert evaluations is not None
    for evaluation in evaluations[0]:
        assert evaluation.guarded == 1
        # the run was over soon after three seconds; two packets in each round trip are 0.6 Mbit/s
        assert np.asarray(evaluation.outcomes[0].performance.goodput_mbps)[-1] < 0.1
        assert np.asarray(evaluation.outcomes[0].performance.goodput_mbps)[0] > 1
    for evaluation in evaluations[1]:
        assert evaluation.guarded == 0
        # it would hold forty packets, and grows where there is no queue: nearly the link's 19 Mbit/s
        assert np.asarray(evaluation.outcomes[0].performance.goodput_mbps)[-1] == pytest.approx(18, abs=1)
        assert evaluation.decisions > 50


def test_all_learners_of_a_run_are_evaluated() -> None:
    episode_config = EpisodeConfig(NetworkPath(), (EpisodeFlow("learner", 1.0), EpisodeFlow("cubic", 0.5)))
    policy = checkpoint.load(ROOT / "datasets" / "models" / "mixed")["policy"]
    [evaluation] = evaluated(model_file(policy, "mixed", "mixed"), EvaluationRun(episode_config, 3, 4.0))
    outcomes = evaluation.outcomes
    assert [len(np.asarray(outcome.terms["goodput"])) for outcome in outcomes] == [4, 3]
    assert all(1 < np.mean(outcome.performance.goodput_mbps) < 19 for outcome in outcomes)


def test_failed_evaluation_has_the_lowest_fitness(monkeypatch: pytest.MonkeyPatch) -> None:
    from training.sampling.fitness import run_fitness

    def stop(lab: Lab) -> None:
        lab.timeout_s = 1.0
        os.killpg(lab.pid, signal.SIGSTOP)

    monkeypatch.setattr("env.pool.slot.MAX_HANGS", 1)
    model = model_file(to_policy(to_vector(initial_policy(2, 1).state_dict())), "x", "none")
    run = EvaluationRun(EpisodeConfig(NetworkPath()), 5, 1.0)
    hung, after = evaluated(model, run, run, boot=watched(1, stop))
    assert hung.hung
    assert not after.hung
    worst, normal = (run_fitness(evaluation.outcomes, evaluation.guarded, 1.0) for evaluation in (hung, after))
    assert worst < -3 < normal


def test_command_line_trains_and_resumes(tmp_path: Path) -> None:
    small = ["algo=cma", "profile=bottleneck", "debug=smoke", f"runs={tmp_path}"]
    assert "make export-weights" in train_command(*small, "name=es", "algo.generations=1")[0]
    train_command(f"resume={tmp_path}/es", "algo.generations=2")
    assert checkpoint.load(tmp_path / "es")["learner"]["strategy"]["_g"] == 2
    train_command(*small, "name=more", "algo.generations=0", f"algo.start={tmp_path}/es")
    saved = [checkpoint.load(tmp_path / name) for name in ("es", "more")]
    assert saved[0]["sha256"] == saved[1]["sha256"]
