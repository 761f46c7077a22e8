"""A run from start to end on a small world: folder, interruption, resumption, metrics, curves."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from env.checkout import git_revision
from env.errors import UserError
from env.profile import load_profile
from env.spaces import INFO
from env.trajectory import Trajectory
from export import checkpoint
from tests.support.training.toys import Array, FluidQueue, ToyRolloutWorkers, ToyVector
from training.loop import claimed, new_run_folder, train
from training.options import TrainConfig
from training.ppo import PpoOptions
from training.run_folder import curves
from training.run_folder.card import describe_lab
from training.sampling.rollout_sampler import BehaviourPolicy, RolloutSampler, describe
from training.sampling.rollouts import SamplingState


class Queues(FluidQueue):
    """Told in the words of the real environment."""

    def describe(self) -> dict[str, Any]:
        described = super().describe()
        return {
            "path": described["path"],
            "goodput_share": described["share"],
            "queueing_delay_ms": described["queue"],
            "interval_us": np.full(self.num_envs, 40_000.0),
        }


class Disturbed(Queues):
    """Something happens with one of its steps: `disturb` is called."""

    def __init__(self, at_step: int, disturb: Callable[[], None]) -> None:
        super().__init__()
        self.left = at_step
        self.disturb = disturb

    def step(self, actions: Array) -> Any:
        if not self.left:
            self.disturb()
        self.left -= 1
        return super().step(actions)


def run_training(
    config: TrainConfig, folder: Path, saved: Mapping[str, Any] | None = None, world: ToyVector | None = None
) -> bool:
    workers = ToyRolloutWorkers(world or Queues(), 640, seed=7)
    return train(config, folder, saved, RolloutSampler(config, workers))


def config(folder: Path, **algo: Any) -> TrainConfig:
    return TrainConfig(
        profile=load_profile("bottleneck"),
        algo=PpoOptions(**{"total_decisions": 2560, "rollout_decisions": 640, **algo}),
        seed=7,
        runs=str(folder),
        checkpoint_every=10,
    )


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def fail() -> None:
    raise RuntimeError("the guest died")


@pytest.mark.parametrize("overlap", [True, False])
def test_interrupted_run_is_the_uninterrupted_one(tmp_path: Path, overlap: bool) -> None:
    """Four rollouts of 40 steps; interrupted or failed at a step drawn anew each time: the same weights to the bit."""
    chosen = config(tmp_path, overlap=overlap)
    assert run_training(chosen, tmp_path / "whole")
    for number in range(2):
        parts = tmp_path / f"parts-{number}"
        at_step = int(np.random.default_rng().integers(40 * number, 160))  # a new run whose first batch fails is none
        if number:
            with pytest.raises(RuntimeError, match="the guest died"):
                run_training(chosen, parts, None, Disturbed(at_step, fail))
        else:
            assert run_training(chosen, parts, None, Disturbed(at_step, interrupt)) == (at_step == 159)
        saved = checkpoint.load(parts)
        # with the last step of a rollout Ctrl-C comes too late to lose it
        assert saved["decisions"] == (at_step + (not number)) // 40 * 640, at_step
        assert run_training(chosen, parts, saved)
        one, two = checkpoint.load(tmp_path / "whole"), checkpoint.load(parts)
        assert one["decisions"] == two["decisions"] == 2560
        assert one["sha256"] == two["sha256"], f"interrupted at step {at_step}"
        for name, tensor in one["learner"]["critic"].items():
            assert torch.equal(tensor, two["learner"]["critic"][name])
        assert one["learner"]["random_states"]["numpy"] == two["learner"]["random_states"]["numpy"]


class RecordingWorkers:
    """Records the order of the calls."""

    workers, seconds = 1, {"lab": 0.0}

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.taken = 0

    def submit(self, _: Mapping[str, torch.Tensor], log_std: torch.Tensor, batch: int, __: SamplingState) -> None:
        self.calls.append(f"batch {batch} by policy {int(log_std)}")

    def take(self, _: Callable[[], bool]) -> list[Trajectory]:
        self.calls.append(f"take {self.taken}")
        self.taken += 1
        nothing = np.zeros((2, 0), np.float32)
        return [Trajectory(nothing, nothing, np.zeros(2, np.float32), nothing, dict.fromkeys(INFO, np.ones(2)))]


@pytest.mark.parametrize("overlap", [True, False])
def test_the_policy_is_one_update_behind_with_overlap(tmp_path: Path, overlap: bool) -> None:
    def sampler() -> tuple[RolloutSampler, list[str]]:
        workers: Any = RecordingWorkers()
        return RolloutSampler(config(tmp_path, overlap=overlap), workers), workers.calls

    one, calls = sampler()
    for update in range(3):
        one.submit(BehaviourPolicy({}, torch.tensor(update)), 0.0)
        assert one.updates == update
        sample = one.take(lambda: False)
        assert sample is not None
        assert int(sample.behaviour.log_std) == (max(0, update - 1) if overlap else update)
    submitted = [call for call in calls if call.startswith("batch")]
    if overlap:
        assert submitted == [f"batch {batch} by policy {policy}" for batch, policy in enumerate((0, 0, 1, 2))]
    else:
        assert submitted == [f"batch {batch} by policy {batch}" for batch in range(3)]
    two, repeated = sampler()
    two.restore(one.state())
    for resumed in (one, two):
        resumed.submit(BehaviourPolicy({}, torch.tensor(3)), 0.0)
    under_way = ["batch 3 by policy 2", "batch 4 by policy 3"] if overlap else ["batch 3 by policy 3"]
    assert repeated == under_way
    assert calls[-1] == under_way[-1]


def test_signal_handlers_are_given_back(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    run_training(config(tmp_path), tmp_path / "run")
    assert signal.getsignal(signal.SIGINT) is before


def test_lab_failure_loses_no_update(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="the guest died"):
        run_training(config(tmp_path), tmp_path / "run", None, Disturbed(3 * 40 + 1, fail))
    assert checkpoint.load(tmp_path / "run")["decisions"] == 1920


def test_nothing_is_left_of_a_run_that_did_not_begin(tmp_path: Path) -> None:
    for at_step in (0, 39):
        with pytest.raises(RuntimeError, match="the guest died"):
            run_training(config(tmp_path), tmp_path / "runs" / "new", None, Disturbed(at_step, fail))
        assert list((tmp_path / "runs").iterdir()) == []
    assert not run_training(config(tmp_path), tmp_path / "stopped", None, Disturbed(0, interrupt))
    with pytest.raises(RuntimeError, match="the guest died"):
        run_training(config(tmp_path), tmp_path / "stopped", checkpoint.load(tmp_path / "stopped"), Disturbed(0, fail))
    assert checkpoint.load(tmp_path / "stopped")["decisions"] == 0, "a resumed run stays"


def test_error_without_text_loses_no_update(tmp_path: Path) -> None:
    def out_of_memory() -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        run_training(config(tmp_path), tmp_path / "run", None, Disturbed(2 * 40, out_of_memory))
    assert checkpoint.load(tmp_path / "run")["decisions"] == 1280
    assert json.loads((tmp_path / "run" / "card.json").read_text())["status"] == "failed: MemoryError"


def test_state_is_saved_before_the_curve_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def out_of_memory(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(curves, "draw", out_of_memory)
    with pytest.raises(MemoryError):
        run_training(config(tmp_path), tmp_path / "run")
    assert checkpoint.load(tmp_path / "run")["decisions"] == 2560


class Diverging(Queues):
    """Its rewards are no numbers from a step on."""

    def act(self, actions: Array) -> Array:
        rewards = super().act(actions)
        return rewards if self.left > 0 else rewards * np.float32(np.nan)

    def step(self, actions: Array) -> Any:
        self.left -= 1
        return super().step(actions)

    left = 2 * 40 + 1


@pytest.mark.parametrize("every", [1, 10])
def test_diverged_training_keeps_the_last_good_checkpoint(tmp_path: Path, every: int) -> None:
    chosen = config(tmp_path)
    chosen.checkpoint_every = every
    run = tmp_path / "a run"
    with pytest.raises(UserError, match=r"diverged; .*a run keeps the checkpoint of 1,280 decisions: .*'resume=\""):
        run_training(chosen, run, None, Diverging())
    good = checkpoint.load(run)
    assert good["decisions"] == 1280
    assert all(tensor.isfinite().all() for tensor in (*good["policy"].values(), *good["learner"]["critic"].values()))
    assert json.loads((run / "card.json").read_text())["status"].startswith("failed: ")
    assert run_training(chosen, run, good), "from there on it can be trained"


def test_nothing_left_to_train_changes_nothing(tmp_path: Path) -> None:
    chosen, run = config(tmp_path), tmp_path / "run"
    run_training(chosen, run)
    before = {file: file.read_bytes() for file in run.rglob("*") if file.is_file()}
    for total in (2560, 1000):
        with pytest.raises(UserError, match=r"made 2,560 of .*: nothing is left .*algo\.start=.*run name=NAME"):
            run_training(config(tmp_path, total_decisions=total), run, checkpoint.load(run))
    assert {file: file.read_bytes() for file in run.rglob("*") if file.is_file()} == before
    saved = checkpoint.load(run)
    saved["card"]["status"] = "running"  # killed after the last update
    assert run_training(chosen, run, saved)
    assert json.loads((run / "card.json").read_text())["status"] == "finished"


def test_full_disk_keeps_the_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """fsync fails as on a full disk, from the second checkpoint on."""
    real, calls = os.fsync, 0

    def fsync(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 8:  # config.yaml, the first checkpoint and the card's two files: file and folder each
            raise OSError(28, os.strerror(28))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(UserError, match="No space left on device; the previous one is unharmed"):
        run_training(config(tmp_path), tmp_path / "run")
    assert checkpoint.load(tmp_path / "run")["decisions"] == 0


def test_second_run_in_a_folder_is_refused(tmp_path: Path) -> None:
    chosen = config(tmp_path)
    chosen.name = "mine"
    folder = new_run_folder(chosen)
    assert folder == tmp_path / "mine"
    run_training(chosen, folder)
    before = (folder / "checkpoint.pt").read_bytes()
    with pytest.raises(UserError, match=r"exists already.*resume="):
        new_run_folder(chosen)
    with claimed(folder), pytest.raises(UserError, match="another process is training"):
        run_training(chosen, folder, checkpoint.load(folder))
    assert (folder / "checkpoint.pt").read_bytes() == before


def test_resume_without_an_appended_input_is_refused(tmp_path: Path) -> None:
    chosen, run = config(tmp_path), tmp_path / "run"
    run_training(chosen, run)
    saved = checkpoint.load(run)
    saved["policy"]["rnn.weight_ih_l0"][:, -1] = 0  # as load() does
    with pytest.raises(UserError, match=f"algo.start={run}"):
        run_training(chosen, run, saved)


def test_zero_decisions_saves_the_untrained_network(tmp_path: Path) -> None:
    assert run_training(config(tmp_path, total_decisions=0), tmp_path / "run")
    assert checkpoint.load(tmp_path / "run")["decisions"] == 0


def test_metrics_and_curves(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run_training(config(tmp_path), run)
    metrics = curves.read_metrics(run)
    share = metrics["charts/goodput_share"]
    assert share.decisions.tolist() == [640, 1280, 1920, 2560]
    assert ((share.values > 0) & (share.values <= 1)).all()
    returns, rewards = metrics["charts/episodic_return"].values, metrics["charts/reward"].values
    np.testing.assert_allclose(returns, rewards * 40, rtol=1e-4)  # a rollout is one episode of 40 steps
    curves.draw({"run": [run]}, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_metrics_of_each_mixture_component() -> None:
    def episode(part: str, reward: float, interval_us: float, share: float) -> Trajectory:
        nothing = np.zeros((5, 0), np.float32)
        infos = {name: np.full(4, 7.0) for name in INFO}
        infos |= {"interval_us": np.full(4, interval_us), "goodput_share": np.full(4, share)}
        return Trajectory(nothing, nothing[:4], np.full(4, reward, np.float32), nothing, infos, part)

    charts = describe([episode("a", 1, 1000, 0.2), episode("b", 3, 1000, 0.6), episode("b", 5, 3000, 1.0)])
    components = {name: value for name, value in charts.items() if name.startswith("components/")}
    assert components == pytest.approx(
        {
            "components/a/reward": 1,
            "components/a/goodput_share": 0.2,
            "components/a/queueing_delay_ms": 7,
            "components/b/reward": 4,
            "components/b/goodput_share": 0.9,
            "components/b/queueing_delay_ms": 7,
        }
    )


def test_card_says_what_the_run_was(tmp_path: Path) -> None:
    run = tmp_path / "run"
    chosen = config(tmp_path)
    assert not run_training(chosen, run, None, Disturbed(2 * 40 + 7, interrupt))
    card = json.loads((run / "card.json").read_text())
    assert (card["status"], card["resumed"], card["decisions"]) == ("interrupted", 0, 1280)
    assert run_training(chosen, run, checkpoint.load(run))
    again = json.loads((run / "card.json").read_text())
    assert (again["status"], again["resumed"], again["decisions"]) == ("finished", 1, 2560)
    assert again["config"] == asdict(chosen)
    assert again["git_revision"] == git_revision()
    assert again["lab"] == describe_lab(())
    assert again["wall_s"] > card["wall_s"] > 0
    assert again["virtual_s"] == pytest.approx(2560 * 0.04)
    rewards = curves.read_metrics(run)["charts/reward"].values
    assert again["metrics"]["charts/reward"] == pytest.approx(rewards[-1])
    text = (run / "card.md").read_text()
    for expected in (
        *again["commands"],
        "| status | finished |",
        "| seed | 7 |",
        "| resumed | 1 times |",
        "(curve.png)",
    ):
        assert expected in text
    assert (run / "curve.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(RuntimeError):
        run_training(chosen, tmp_path / "failed", None, Disturbed(40, fail))
    assert json.loads((tmp_path / "failed" / "card.json").read_text())["status"] == "failed: the guest died"


def test_alarm_is_printed_on_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = config(tmp_path, total_decisions=640 * 11, initial_std=0.3, final_std=0.3, minimum_std=0.3)
    run_training(chosen, tmp_path / "run")
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("train.py: ")]
    assert len(lines) == 2
    assert lines[0].startswith(
        "train.py: charts/std_growth has been 0.3, its lower limit algo.minimum_std, for 10 updates"
    )
    rows = curves.read_metrics(tmp_path / "run")["alarms/minimum_pacing"].values
    assert rows.tolist() == list(range(1, 12))
