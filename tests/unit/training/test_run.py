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

from env.checkout import ROOT
from env.profile import load_profile
from env.trajectory import Trajectory
from export import checkpoint
from export.checkpoint import CheckpointError
from tests.support.toys import Array, FluidQueue, ToyPlayer, ToyVector
from training.config import TrainConfig
from training.loop import Batches, RunError, claimed, describe, new_run_folder, train
from training.ppo import Behaviour, PpoOptions
from training.rollouts import SamplingState
from training.run_folder import curves
from training.run_folder.card import describe_lab


class Queues(FluidQueue):
    """Told in the words of the real environment."""

    def describe(self) -> dict[str, Any]:
        told = super().describe()
        return {
            "path": told["path"],
            "goodput_share": told["share"],
            "queueing_delay_ms": told["queue"],
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


def player(world: ToyVector | None = None) -> ToyPlayer:
    return ToyPlayer(Queues() if world is None else world, 640, seed=7)


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
    assert train(chosen, player(), tmp_path / "whole", None)
    for number in range(2):
        parts = tmp_path / f"parts-{number}"
        at_step = int(np.random.default_rng().integers(160))
        if number:
            with pytest.raises(RuntimeError, match="the guest died"):
                train(chosen, player(Disturbed(at_step, fail)), parts, None)
        else:
            assert train(chosen, player(Disturbed(at_step, interrupt)), parts, None) == (at_step == 159)
        saved = checkpoint.load(parts)
        # with the last step of a rollout Ctrl-C comes too late to lose it
        assert saved["decisions"] == (at_step + (not number)) // 40 * 640, at_step
        assert train(chosen, player(), parts, saved)
        one, two = checkpoint.load(tmp_path / "whole"), checkpoint.load(parts)
        assert one["decisions"] == two["decisions"] == 2560
        assert one["sha256"] == two["sha256"], f"interrupted at step {at_step}"
        for name, tensor in one["critic"].items():
            assert torch.equal(tensor, two["critic"][name])
        assert one["random_states"]["numpy"] == two["random_states"]["numpy"]


class Noting:
    """A player that notes what it is asked."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.taken = 0

    def submit(
        self, _: Mapping[str, torch.Tensor], log_std: torch.Tensor, batch: int, sampling_state: SamplingState
    ) -> None:
        assert sampling_state.vary == 1 + int(log_std)
        self.notes.append(f"{batch} played by {int(log_std)}")

    def take(self, _: Callable[[], bool]) -> list[Trajectory] | None:
        self.notes.append(f"take {self.taken}")
        self.taken += 1
        return []


@pytest.mark.parametrize(
    ("overlap", "notes"),
    [
        (True, ["0 played by 0", "1 played by 0", "take 0", "2 played by 1", "take 1", "3 played by 2", "take 2"]),
        (False, ["0 played by 0", "take 0", "1 played by 1", "take 1", "2 played by 2", "take 2"]),
    ],
)
def test_policy_is_one_update_behind_with_overlap(overlap: bool, notes: list[str]) -> None:
    noting: Any = Noting()
    batches = Batches(noting, overlap)
    for update in range(3):
        batches.submit(Behaviour({}, torch.tensor(update)), SamplingState(vary=1 + update))
        assert batches.taken == update
        assert batches.take(lambda: False) is not None
    assert noting.notes == notes
    resumed: Any = Noting()
    again = Batches(resumed, overlap)
    again.restore(batches.state())
    again.submit(Behaviour({}, torch.tensor(3)), SamplingState(vary=4))
    batches.submit(Behaviour({}, torch.tensor(3)), SamplingState(vary=4))
    under_way = ["3 played by 2", "4 played by 3"] if overlap else ["3 played by 3"]
    assert resumed.notes == under_way
    assert noting.notes[-len(under_way) :][-1] == under_way[-1]


def test_signal_handlers_are_given_back(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    train(config(tmp_path), player(), tmp_path / "run", None)
    assert signal.getsignal(signal.SIGINT) is before


def test_lab_failure_loses_no_update(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="the guest died"):
        train(config(tmp_path), player(Disturbed(3 * 40 + 1, fail)), tmp_path / "run", None)
    assert checkpoint.load(tmp_path / "run")["decisions"] == 1920


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
    with pytest.raises(CheckpointError, match="No space left on device; the previous one is unharmed"):
        train(config(tmp_path), player(), tmp_path / "run", None)
    assert checkpoint.load(tmp_path / "run")["decisions"] == 0


def test_second_run_in_a_folder_is_refused(tmp_path: Path) -> None:
    chosen = config(tmp_path)
    chosen.name = "mine"
    folder = new_run_folder(chosen)
    assert folder == tmp_path / "mine"
    train(chosen, player(), folder, None)
    before = (folder / "checkpoint.pt").read_bytes()
    with pytest.raises(RunError, match=r"already there.*resume="):
        new_run_folder(chosen)
    with claimed(folder), pytest.raises(RunError, match="another process is training"):
        train(chosen, player(), folder, checkpoint.load(folder))
    assert (folder / "checkpoint.pt").read_bytes() == before


def test_zero_decisions_saves_the_untrained_network(tmp_path: Path) -> None:
    assert train(config(tmp_path, total_decisions=0), player(), tmp_path / "run", None)
    assert checkpoint.load(tmp_path / "run")["decisions"] == 0


def test_metrics_and_curves(tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(config(tmp_path), player(), run, None)
    decisions, shares = curves.read_metric(run, "charts/goodput_share")
    assert decisions.tolist() == [640, 1280, 1920, 2560]
    assert ((shares > 0) & (shares <= 1)).all()
    _, returns = curves.read_metric(run, "charts/episode_return")
    _, rewards = curves.read_metric(run, "charts/reward")
    np.testing.assert_allclose(returns, rewards * 40, rtol=1e-4)  # a rollout is one episode of 40 steps
    curves.draw({"run": [run]}, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_parts_of_the_profile_are_told_each() -> None:
    def episode(part: str, reward: float, interval_us: float, share: float) -> Trajectory:
        nothing = np.zeros((5, 0), np.float32)
        infos = {"interval_us": np.full(4, interval_us), "goodput_share": np.full(4, share)}
        infos["queueing_delay_ms"] = np.full(4, 7.0)
        return Trajectory(nothing, nothing[:4], np.full(4, reward, np.float32), nothing, infos, part)

    charts = describe([episode("a", 1, 1000, 0.2), episode("b", 3, 1000, 0.6), episode("b", 5, 3000, 1.0)])
    told = {name: value for name, value in charts.items() if name.startswith("parts/")}
    assert told == pytest.approx(
        {
            "parts/a/reward": 1,
            "parts/a/goodput_share": 0.2,
            "parts/a/queueing_delay_ms": 7,
            "parts/b/reward": 4,
            "parts/b/goodput_share": 0.9,
            "parts/b/queueing_delay_ms": 7,
        }
    )


def test_every_metric_is_explained(tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(config(tmp_path), player(), run, None)
    text = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run))
    events.Reload()
    assert [tag for tag in events.Tags()["scalars"] if f"`{tag}`" not in text] == []


def test_card_says_what_the_run_was(tmp_path: Path) -> None:
    run = tmp_path / "run"
    chosen = config(tmp_path)
    assert not train(chosen, player(Disturbed(2 * 40 + 7, interrupt)), run, None)
    card = json.loads((run / "card.json").read_text())
    assert (card["status"], card["resumed"], card["decisions"]) == ("interrupted", 0, 1280)
    assert train(chosen, player(), run, checkpoint.load(run))
    again = json.loads((run / "card.json").read_text())
    assert (again["status"], again["resumed"], again["decisions"]) == ("finished", 1, 2560)
    assert again["config"] == asdict(chosen)
    assert again["git_revision"] == checkpoint.git_revision()
    assert again["lab"] == describe_lab("ppo")
    assert again["wall_s"] > card["wall_s"] > 0
    assert again["virtual_s"] == pytest.approx(2560 * 0.04)
    _, rewards = curves.read_metric(run, "charts/reward")
    assert again["metrics"]["charts/reward"] == pytest.approx(rewards[-1])
    text = (run / "card.md").read_text()
    for said in (*again["commands"], "| status | finished |", "| seed | 7 |", "| resumed | 1 times |", "(curve.png)"):
        assert said in text
    assert (run / "curve.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(RuntimeError):
        train(chosen, player(Disturbed(0, fail)), tmp_path / "failed", None)
    assert json.loads((tmp_path / "failed" / "card.json").read_text())["status"] == "failed: the guest died"


def test_alarm_is_told_on_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = config(tmp_path, total_decisions=640 * 11, initial_std=0.3, final_std=0.3, minimum_std=0.3)
    train(chosen, player(), tmp_path / "run", None)
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("train.py: ")]
    assert len(told) == 2
    assert told[0].startswith("train.py: losses/std_cwnd_log2 has been 0.3, its floor algo.minimum_std, for 10 updates")
    _, rows = curves.read_metric(tmp_path / "run", "alarms/floor_pacing")
    assert rows.tolist() == list(range(1, 12))
