"""A run from start to end on a small world: folder, interruption, resumption, metrics, curves."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from toys import Array, FluidQueue

from env.profile import load_profile
from training import checkpoint, curves
from training.checkpoint import CheckpointError
from training.config import LabOptions, TrainConfig
from training.ppo import PpoOptions
from training.run import RunError, locked, new_run_folder, train


class SameQueues(FluidQueue):
    """The same paths in every episode, so that a resumed run can meet what a continuous one met."""

    def begin(self, mask: Any) -> None:
        self.bdp[:] = np.linspace(30, 100, self.num_envs)
        self.cwnd[mask] = self.previous[mask] = self.best[mask] = 10.0

    def describe(self) -> dict[str, Any]:
        told = super().describe()
        return {
            "path": told["path"],
            "goodput_share": told["share"],
            "queueing_delay_ms": told["queue"],
            "interval_us": np.full(self.num_envs, 40_000.0),
        }


def config(folder: Path, **algo: Any) -> TrainConfig:
    options = {"total_decisions": 2560, "rollout_decisions": 640, **algo}
    return TrainConfig(
        profile=load_profile("bottleneck"), algo=PpoOptions(**options), lab=LabOptions(), seed=7, runs=str(folder)
    )


def test_resume_equals_continuous(tmp_path: Path) -> None:
    """Stopped after two of four updates and taken up by a new process: the same weights in the end, bit for bit.

    Rollouts are whole episodes here; otherwise the resumed one would begin new episodes where the other went on.
    """
    assert train(config(tmp_path), SameQueues(), tmp_path / "whole", None)

    class Interrupted(SameQueues):
        steps = 0

        def step(self, actions: Array) -> Any:
            self.steps += 1
            if self.steps == 2 * 40 + 15:  # in the middle of the third rollout
                os.kill(os.getpid(), signal.SIGINT)
            return super().step(actions)

    assert not train(config(tmp_path), Interrupted(), tmp_path / "parts", None)
    saved = checkpoint.load(tmp_path / "parts")
    assert saved["decisions"] == 1280
    assert train(config(tmp_path), SameQueues(), tmp_path / "parts", saved)
    one, two = checkpoint.load(tmp_path / "whole"), checkpoint.load(tmp_path / "parts")
    assert one["decisions"] == two["decisions"] == 2560
    assert one["sha256"] == two["sha256"]
    for name, tensor in one["critic"].items():
        assert torch.equal(tensor, two["critic"][name])
    assert one["random_states"]["numpy"] == two["random_states"]["numpy"]


def test_signal_handlers_are_given_back(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    train(config(tmp_path), SameQueues(), tmp_path / "run", None)
    assert signal.getsignal(signal.SIGINT) is before


def test_lab_failure_loses_no_update(tmp_path: Path) -> None:
    class Failing(SameQueues):
        steps = 0

        def step(self, actions: Array) -> Any:
            self.steps += 1
            if self.steps == 3 * 40 + 1:
                raise RuntimeError("the guest died")
            return super().step(actions)

    with pytest.raises(RuntimeError, match="the guest died"):
        train(config(tmp_path), Failing(), tmp_path / "run", None)
    assert checkpoint.load(tmp_path / "run")["decisions"] == 1920


def test_full_disk_keeps_the_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """fsync fails as on a full disk, from the second checkpoint on."""
    real, calls = os.fsync, 0

    def fsync(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 4:  # config.yaml and the first checkpoint: file and folder each
            raise OSError(28, os.strerror(28))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(CheckpointError, match="No space left on device; the previous one is unharmed"):
        train(config(tmp_path), SameQueues(), tmp_path / "run", None)
    assert checkpoint.load(tmp_path / "run")["decisions"] == 0


def test_second_run_in_a_folder_is_refused(tmp_path: Path) -> None:
    chosen = config(tmp_path)
    chosen.name = "mine"
    folder = new_run_folder(chosen)
    assert folder == tmp_path / "mine"
    train(chosen, SameQueues(), folder, None)
    before = (folder / "checkpoint.pt").read_bytes()
    with pytest.raises(RunError, match=r"already there.*resume="):
        new_run_folder(chosen)
    with locked(folder), pytest.raises(RunError, match="another process is training"):
        train(chosen, SameQueues(), folder, checkpoint.load(folder))
    assert (folder / "checkpoint.pt").read_bytes() == before


def test_zero_decisions_saves_the_untrained_network(tmp_path: Path) -> None:
    assert train(config(tmp_path, total_decisions=0), SameQueues(), tmp_path / "run", None)
    assert checkpoint.load(tmp_path / "run")["decisions"] == 0


def test_metrics_and_curves(tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(config(tmp_path), SameQueues(), run, None)
    decisions, shares = curves.read_metric(run, "charts/goodput_share")
    assert decisions.tolist() == [640, 1280, 1920, 2560]
    assert ((shares > 0) & (shares <= 1)).all()
    _, returns = curves.read_metric(run, "charts/episode_return")
    _, rewards = curves.read_metric(run, "charts/reward")
    np.testing.assert_allclose(returns, rewards * 40, rtol=1e-4)  # a rollout is one episode of 40 steps
    assert curves.main([str(run), "--output", str(tmp_path / "curve.png")]) == 0
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_every_metric_is_explained(tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(config(tmp_path), SameQueues(), run, None)
    text = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run))
    events.Reload()
    assert [tag for tag in events.Tags()["scalars"] if f"`{tag}`" not in text] == []


def test_curves_name_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert curves.main([str(tmp_path / "nix"), "--output", str(tmp_path / "curve.png")]) == 1
    assert f"there is no run {tmp_path / 'nix'}" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert curves.main([str(tmp_path / "empty"), "--output", str(tmp_path / "curve.png")]) == 1
    assert "has no metric charts/goodput_share" in capsys.readouterr().err
